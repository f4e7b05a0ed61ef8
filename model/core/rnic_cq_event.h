/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Event and interrupt: what the card tells its host and its observers, each at its time.
 *
 * Owns   a small heap of pending events, ordered by time, then by order of arrival
 * Out    rnic_event(); the earliest time is part of rnic_next_wake()
 * Cost   O(log n) an event; nothing for a trace type that is not enabled. An event that must not
 *        be lost always finds room (rnic_cq_event_reserve); a trace record that finds none is
 *        counted as lost, passages apart: they come by the packet.
 */
#ifndef RNIC_CQ_EVENT_H
#define RNIC_CQ_EVENT_H

#include "rnic_device.h"
#include "rnic_mem.h"

#define RNIC_CQ_EVENT_TRACES 256u /* trace records that fit before the caller drains */

struct rnic_cq_event_entry {
    struct rnic_event event;
    uint64_t order; /* arrival number, for ties */
};

struct rnic_cq_event {
    struct rnic_cq_event_entry *heap;
    uint32_t n, cap;
    uint32_t reserved; /* of cap: for events that must not be lost */
    uint64_t arrivals;
    uint32_t trace_mask;                /* bit t: trace type t is wanted */
    uint64_t trace_lost, passages_lost; /* passages are counted apart */
};

/** Have room for @p sure events besides the trace records. @return false: out of memory. */
bool rnic_cq_event_reserve(struct rnic_cq_event *events, struct rnic_mem *mem, uint32_t sure);

/**
 * Record an event for event->time_ps; trace types only when wanted. SQ_DRAINED and SRQ_LIMIT can
 * come again before they are taken: of each a queue has one waiting, the newest.
 */
void rnic_cq_event_push(struct rnic_cq_event *events, const struct rnic_event *event);

/** The CQ is destroyed: what waits to be told of it is forgotten. */
void rnic_cq_event_forget_cq(struct rnic_cq_event *events, uint32_t cq);
/** The shared receive queue is destroyed: the same. */
void rnic_cq_event_forget_srq(struct rnic_cq_event *events, uint32_t srq);
/** The queue pair is reset or destroyed: the same. */
void rnic_cq_event_forget_qp(struct rnic_cq_event *events, uint32_t qpn);

static inline bool rnic_cq_event_wanted(const struct rnic_cq_event *events,
                                        enum rnic_event_type type)
{
    return WIRE_UNLIKELY(events->trace_mask >> type & 1);
}

static inline uint64_t rnic_cq_event_next_ps(const struct rnic_cq_event *events)
{
    return events->n > 0 ? events->heap[0].event.time_ps : WIRE_NEVER;
}

/** Take the earliest event at or before @p now_ps. @return false: none. */
bool rnic_cq_event_pop(struct rnic_cq_event *events, uint64_t now_ps, struct rnic_event *event);

#endif
