/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * CQ storage: completion queues in host memory and their contexts on the card.
 *
 * A completion becomes visible at its own time, and these times never go back within a CQ, so a
 * poll at `now` shows a prefix of what was written.
 *
 * Owns   completion queues and their cache
 * Spec   IBTA Vol 1 11.2.6, 11.3.1 (ibv_poll_cq, ibv_req_notify_cq)
 * Cost   O(1) a completion
 */
#ifndef RNIC_TABLE_CQ_H
#define RNIC_TABLE_CQ_H

#include "rnic_cache.h"
#include "rnic_verbs.h"

struct rnic_cqe {
    struct rnic_wc wc;
    uint64_t visible_ps;
    uint32_t sq_next; /* send queue slots before this index are free once it was polled */
    bool is_send;
    bool solicited;
    bool discarded; /* its queue pair was reset or destroyed */
};

enum rnic_cq_arm { RNIC_CQ_IDLE, RNIC_CQ_ARMED, RNIC_CQ_ARMED_SOLICITED };

struct rnic_cq {
    struct rnic_cqe *cqes;
    uint32_t mask, head, tail;
    uint32_t refs; /* queue pairs that use it */
    uint32_t number;
    uint64_t last_visible_ps;
    bool used, overflown;
    bool event_pending;      /* one RNIC_EVENT_CQ waits to be taken */
    uint64_t event_again_ps; /* completion that came while one waited; WIRE_NEVER: none */
    uint8_t arm;             /* enum rnic_cq_arm */
    struct rnic_cache_entry cache;
};

struct rnic_table_cq {
    struct rnic_cq **cq; /* number - 1 */
    uint32_t n, cap, live;
    struct rnic_cache cache;
};

int rnic_table_cq_add(struct rnic_table_cq *table, struct rnic_mem *mem, uint32_t max_cq,
                      uint32_t entries, uint32_t *number);
int rnic_table_cq_remove(struct rnic_table_cq *table, struct rnic_mem *mem, uint32_t number);

/** @return the CQ, or NULL. */
static inline struct rnic_cq *rnic_table_cq_find(const struct rnic_table_cq *table, uint32_t number)
{
    if (number == 0 || number > table->n)
        return NULL;
    return table->cq[number - 1]->used ? table->cq[number - 1] : NULL;
}

/** Drop the unpolled completions of queue pair @p qpn, as its reset asks. */
void rnic_table_cq_discard(struct rnic_cq *cq, uint32_t qpn);

#endif
