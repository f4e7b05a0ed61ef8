/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Address handles: where a UD request goes.
 *
 * Owns   the handles
 * Spec   IBTA Vol 1 11.2.2
 * Cost   O(1) a look-up
 */
#ifndef RNIC_TABLE_AH_H
#define RNIC_TABLE_AH_H

#include "rnic_mem.h"
#include "rnic_path.h"

struct rnic_ah {
    struct rnic_av av;
    uint32_t pd;        /* 0: free slot */
    uint32_t next_free; /* number; 0: none */
};

struct rnic_table_ah {
    struct rnic_ah *ah; /* number - 1 */
    uint32_t n, cap;
    uint32_t free; /* number of the free slot to use next; 0: none */
};

/** @return 0 or RNIC_ERR_NOMEM */
int rnic_table_ah_add(struct rnic_table_ah *table, struct rnic_mem *mem, uint32_t pd,
                      const struct rnic_av *av, uint32_t *number);

void rnic_table_ah_remove(struct rnic_table_ah *table, uint32_t number);

/** @return the handle, or NULL. */
static inline struct rnic_ah *rnic_table_ah_find(const struct rnic_table_ah *table, uint32_t number)
{
    if (number == 0 || number > table->n || table->ah[number - 1].pd == 0)
        return NULL;
    return &table->ah[number - 1];
}

#endif
