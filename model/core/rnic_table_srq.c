/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_table_srq.h"

#include <string.h>

int rnic_table_srq_add(struct rnic_table_srq *table, struct rnic_mem *mem, uint32_t max_srq,
                       const struct rnic_srq_attr *attr, struct rnic_srq **srq_out)
{
    size_t stride = sizeof(struct rnic_rqe) + attr->max_sge * sizeof(struct rnic_sge);
    size_t own = (sizeof(struct rnic_srq) + 63) & ~(size_t)63;
    size_t bytes = own + rnic_ring_bytes(attr->max_wr, stride);
    void *array = table->srq;
    struct rnic_srq *srq;
    uint32_t i = table->live == table->n ? table->n : 0;

    if (table->live == max_srq)
        return RNIC_ERR_LIMIT;
    while (i < table->n && table->srq[i] != NULL)
        i++;
    if (!rnic_mem_grow(mem, &array, &table->cap, i + 1, sizeof table->srq[0]))
        return RNIC_ERR_NOMEM;
    table->srq = array;
    srq = rnic_mem_alloc(mem, bytes);
    if (srq == NULL)
        return RNIC_ERR_NOMEM;
    srq->number = i + 1;
    srq->max_sge = attr->max_sge;
    srq->limit = attr->limit;
    srq->block_bytes = bytes;
    rnic_ring_init(&srq->ring, (uint8_t *)srq + own, attr->max_wr, stride);
    table->srq[i] = srq;
    table->n = i == table->n ? i + 1 : table->n;
    table->live++;
    *srq_out = srq;
    return 0;
}

void rnic_table_srq_remove(struct rnic_table_srq *table, struct rnic_mem *mem, struct rnic_srq *srq)
{
    WIRE_ASSERT(table->srq[srq->number - 1] == srq && srq->refs == 0);
    table->srq[srq->number - 1] = NULL;
    table->live--;
    rnic_mem_free(mem, srq, srq->block_bytes);
}

bool rnic_table_srq_take(struct rnic_srq *srq, struct rnic_ring *rq, struct rnic_cq_event *events,
                         uint64_t now_ps)
{
    uint32_t left = srq->ring.head - srq->ring.tail;

    WIRE_ASSERT(!rnic_ring_full(rq) && rq->stride == srq->ring.stride);
    if (left == 0)
        return false;
    memcpy(rnic_ring_at(rq, rq->head), rnic_ring_at(&srq->ring, srq->ring.tail), rq->stride);
    rq->head++;
    srq->ring.tail++;
    if (left - 1 < srq->limit) {
        srq->limit = 0;
        rnic_cq_event_push(events, &(struct rnic_event){.type = RNIC_EVENT_SRQ_LIMIT,
                                                        .srq = srq->number,
                                                        .time_ps = now_ps});
    }
    return true;
}
