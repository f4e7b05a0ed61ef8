/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_cq_write.h"

static void cq_give_event(struct rnic_cq *cq, struct rnic_cq_event *events, uint32_t qpn,
                          uint64_t time_ps)
{
    cq->event_pending = true;
    rnic_cq_event_push(
        events, &(struct rnic_event){
                    .type = RNIC_EVENT_CQ, .cq = cq->number, .qpn = qpn, .time_ps = time_ps});
}

static void cq_notify(struct rnic_cq *cq, struct rnic_cq_event *events, const struct rnic_cqe *cqe,
                      uint64_t event_latency_ps)
{
    bool fires =
        cq->arm == RNIC_CQ_ARMED || (cq->arm == RNIC_CQ_ARMED_SOLICITED &&
                                     (cqe->solicited || cqe->wc.status != RNIC_WC_SUCCESS));

    if (!fires)
        return;
    cq->arm = RNIC_CQ_IDLE;
    if (cq->event_pending)
        cq->event_again_ps = cqe->visible_ps + event_latency_ps;
    else
        cq_give_event(cq, events, cqe->wc.qp_num, cqe->visible_ps + event_latency_ps);
}

void rnic_cq_write_arm(struct rnic_cq *cq, struct rnic_cq_event *events, bool solicited_only,
                       uint64_t event_latency_ps, uint64_t now_ps)
{
    uint32_t at = cq->head;

    if (!solicited_only)
        cq->arm = RNIC_CQ_ARMED;
    else if (cq->arm == RNIC_CQ_IDLE)
        cq->arm = RNIC_CQ_ARMED_SOLICITED; /* armed for any stays armed for any */
    while (at != cq->tail && cq->cqes[(at - 1) & cq->mask].visible_ps > now_ps)
        at--;
    for (; at != cq->head && cq->arm != RNIC_CQ_IDLE; at++)
        if (!cq->cqes[at & cq->mask].discarded)
            cq_notify(cq, events, &cq->cqes[at & cq->mask], event_latency_ps);
}

void rnic_cq_write_event_taken(struct rnic_cq *cq, struct rnic_cq_event *events)
{
    uint64_t again_ps = cq->event_again_ps;

    cq->event_pending = false;
    cq->event_again_ps = WIRE_NEVER;
    if (again_ps != WIRE_NEVER)
        cq_give_event(cq, events, 0, again_ps);
}

bool rnic_cq_write(struct rnic_cq *cq, struct rnic_table_cq *table, struct rnic_dma *dma,
                   struct rnic_cq_event *events, const struct rnic_cq_write_params *params,
                   struct rnic_cqe *cqe, uint64_t data_ps)
{
    uint64_t ready_ps = rnic_cache_get(&table->cache, &cq->cache, data_ps);

    if (cq->overflown || cq->head - cq->tail > cq->mask) {
        if (!cq->overflown)
            rnic_cq_event_push(events, &(struct rnic_event){.type = RNIC_EVENT_CQ_ERR,
                                                            .cq = cq->number,
                                                            .qpn = cqe->wc.qp_num,
                                                            .time_ps = ready_ps});
        cq->overflown = true;
        return false;
    }
    cqe->visible_ps =
        wire_max_ps(rnic_dma_write(dma, ready_ps, params->cqe_bytes), cq->last_visible_ps);
    cq->last_visible_ps = cqe->visible_ps;
    cq->cqes[cq->head++ & cq->mask] = *cqe;
    cq_notify(cq, events, cqe, params->event_latency_ps);
    if (rnic_cq_event_wanted(events, RNIC_EVENT_COMPLETION))
        rnic_cq_event_push(
            events, &(struct rnic_event){.type = RNIC_EVENT_COMPLETION,
                                         .cq = cq->number,
                                         .qpn = cqe->wc.qp_num,
                                         .value = cqe->wc.status,
                                         .time_ps = cqe->visible_ps + params->poll_latency_ps});
    return true;
}
