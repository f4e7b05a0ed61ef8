/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_cq_event.h"

bool rnic_cq_event_reserve(struct rnic_cq_event *events, struct rnic_mem *mem, uint32_t sure)
{
    void *heap = events->heap;

    if (!rnic_mem_grow(mem, &heap, &events->cap, sure + RNIC_CQ_EVENT_TRACES,
                       sizeof events->heap[0]))
        return false;
    events->heap = heap;
    events->reserved = sure;
    return true;
}

static bool entry_less(const struct rnic_cq_event_entry *a, const struct rnic_cq_event_entry *b)
{
    if (a->event.time_ps != b->event.time_ps)
        return a->event.time_ps < b->event.time_ps;
    return a->order < b->order;
}

static void event_insert(struct rnic_cq_event *events, const struct rnic_cq_event_entry *fresh)
{
    struct rnic_cq_event_entry *heap = events->heap;
    uint32_t at = events->n++;

    while (at > 0 && entry_less(fresh, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = *fresh;
}

static bool event_is_of_cq(const struct rnic_event *event, uint32_t cq)
{
    return (event->type == RNIC_EVENT_CQ || event->type == RNIC_EVENT_CQ_ERR) && event->cq == cq;
}

static bool event_is_of_qp(const struct rnic_event *event, uint32_t qpn)
{
    return (event->type == RNIC_EVENT_QP_FATAL || event->type == RNIC_EVENT_QP_REQ_ERR ||
            event->type == RNIC_EVENT_QP_ACCESS_ERR || event->type == RNIC_EVENT_COMM_EST ||
            event->type == RNIC_EVENT_SQ_DRAINED || event->type == RNIC_EVENT_LAST_WQE) &&
           event->qpn == qpn;
}

static bool event_is_drained(const struct rnic_event *event, uint32_t qpn)
{
    return event->type == RNIC_EVENT_SQ_DRAINED && event->qpn == qpn;
}

static bool event_is_of_srq(const struct rnic_event *event, uint32_t srq)
{
    return event->type == RNIC_EVENT_SRQ_LIMIT && event->srq == srq;
}

/* Build the heap again without what `drop` names; in place, since it only gets smaller. */
static void event_filter(struct rnic_cq_event *events,
                         bool (*drop)(const struct rnic_event *event, uint32_t number),
                         uint32_t number)
{
    uint32_t n = events->n;

    events->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct rnic_cq_event_entry entry = events->heap[i];

        if (!drop(&entry.event, number))
            event_insert(events, &entry);
    }
}

void rnic_cq_event_push(struct rnic_cq_event *events, const struct rnic_event *event)
{
    if (event->type >= RNIC_EVENT_PLACED) { /* a trace record */
        /* Passages come by the packet: they may not crowd out what is told once a message. */
        bool passage = event->type == RNIC_EVENT_PASSAGE;
        uint32_t kept = passage ? RNIC_CQ_EVENT_TRACES / 2 : 0;

        if (!rnic_cq_event_wanted(events, event->type))
            return;
        if (events->n + events->reserved + kept >= events->cap) {
            ++*(passage ? &events->passages_lost : &events->trace_lost);
            return;
        }
    }
    if (event->type == RNIC_EVENT_SQ_DRAINED)
        event_filter(events, event_is_drained, event->qpn);
    else if (event->type == RNIC_EVENT_SRQ_LIMIT)
        event_filter(events, event_is_of_srq, event->srq);
    WIRE_ASSERT(events->n < events->cap);
    event_insert(events, &(struct rnic_cq_event_entry){*event, events->arrivals++});
}

void rnic_cq_event_forget_cq(struct rnic_cq_event *events, uint32_t cq)
{
    event_filter(events, event_is_of_cq, cq);
}

void rnic_cq_event_forget_srq(struct rnic_cq_event *events, uint32_t srq)
{
    event_filter(events, event_is_of_srq, srq);
}

void rnic_cq_event_forget_qp(struct rnic_cq_event *events, uint32_t qpn)
{
    event_filter(events, event_is_of_qp, qpn);
}

bool rnic_cq_event_pop(struct rnic_cq_event *events, uint64_t now_ps, struct rnic_event *event)
{
    struct rnic_cq_event_entry *heap = events->heap;
    uint32_t at = 0;

    if (rnic_cq_event_next_ps(events) > now_ps)
        return false;
    *event = heap[0].event;
    events->n--;
    for (;;) { /* sink the last entry from the root */
        uint32_t child = 2 * at + 1;

        if (child >= events->n)
            break;
        if (child + 1 < events->n && entry_less(&heap[child + 1], &heap[child]))
            child++;
        if (!entry_less(&heap[child], &heap[events->n]))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = heap[events->n];
    return true;
}
