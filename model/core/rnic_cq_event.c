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

void rnic_cq_event_push(struct rnic_cq_event *events, const struct rnic_event *event)
{
    struct rnic_cq_event_entry *heap = events->heap;
    struct rnic_cq_event_entry fresh;
    uint32_t at = events->n;

    if (event->type >= RNIC_EVENT_PLACED) { /* a trace record */
        if (!rnic_cq_event_wanted(events, event->type))
            return;
        if (events->n + events->reserved >= events->cap) {
            events->trace_lost++;
            return;
        }
    }
    WIRE_ASSERT(events->n < events->cap);
    fresh = (struct rnic_cq_event_entry){*event, events->arrivals++};
    events->n++;
    while (at > 0 && entry_less(&fresh, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = fresh;
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
