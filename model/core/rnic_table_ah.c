/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_table_ah.h"

int rnic_table_ah_add(struct rnic_table_ah *table, struct rnic_mem *mem, uint32_t pd,
                      const struct rnic_av *av, uint32_t *number)
{
    void *array = table->ah;
    uint32_t i = table->free;

    WIRE_ASSERT(pd != 0);
    if (i != 0) {
        table->free = table->ah[i - 1].next_free;
    } else {
        if (!rnic_mem_grow(mem, &array, &table->cap, table->n + 1, sizeof table->ah[0]))
            return RNIC_ERR_NOMEM;
        table->ah = array;
        i = ++table->n;
    }
    table->ah[i - 1] = (struct rnic_ah){.av = *av, .pd = pd};
    *number = i;
    return 0;
}

void rnic_table_ah_remove(struct rnic_table_ah *table, uint32_t number)
{
    WIRE_ASSERT(rnic_table_ah_find(table, number) != NULL);
    table->ah[number - 1] = (struct rnic_ah){.next_free = table->free};
    table->free = number;
}
