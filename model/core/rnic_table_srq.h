/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Shared receive queues: one ring of receive requests for many queue pairs.
 *
 * A queue pair that opens a message takes the request at the head into its own receive queue, which
 * has one slot then; from there on nothing is different from an own queue.
 *
 * Owns   the rings and their limit
 * Spec   IBTA Vol 1 10.2.9 (SRQ), 11.5.2.4 (last WQE reached, limit reached)
 * Cost   O(1) a request
 */
#ifndef RNIC_TABLE_SRQ_H
#define RNIC_TABLE_SRQ_H

#include "rnic_cq_event.h"
#include "rnic_mem.h"
#include "rnic_ring.h"

struct rnic_srq {
    struct rnic_ring ring;
    uint32_t number;
    uint32_t pd;
    uint32_t refs; /* queue pairs that use it */
    uint32_t max_sge;
    uint32_t limit; /* 0: not armed */
    size_t block_bytes;
};

struct rnic_table_srq {
    struct rnic_srq **srq; /* number - 1; NULL: none */
    uint32_t n, cap, live;
};

/** @return 0, RNIC_ERR_LIMIT or RNIC_ERR_NOMEM */
int rnic_table_srq_add(struct rnic_table_srq *table, struct rnic_mem *mem, uint32_t max_srq,
                       const struct rnic_srq_attr *attr, struct rnic_srq **srq);
void rnic_table_srq_remove(struct rnic_table_srq *table, struct rnic_mem *mem,
                           struct rnic_srq *srq);

/** @return the queue, or NULL. */
static inline struct rnic_srq *rnic_table_srq_find(const struct rnic_table_srq *table,
                                                   uint32_t number)
{
    return number >= 1 && number <= table->n ? table->srq[number - 1] : NULL;
}

/**
 * Move the request at the head to @p rq, a ring with a free slot of the same size; gives the limit
 * event when fewer than the limit are left. @return false: the queue is empty.
 */
bool rnic_table_srq_take(struct rnic_srq *srq, struct rnic_ring *rq, struct rnic_cq_event *events,
                         uint64_t now_ps);

#endif
