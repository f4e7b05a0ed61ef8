/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Egress scheduler of one port: which of its eight queues sends next.
 *
 * Place  between the queues of a port and its MAC
 * In     classes that wait, may be sent and are ready
 * Out    a class
 * Owns   struct fabric_sched_queue (the queues themselves: linked through frame->next)
 * Spec   IEEE 802.1Qaz: strict classes first, highest number first; the others share by deficit
 *        round robin (Shreedhar and Varghese, SIGCOMM '95), weight 1 each
 * Cost   O(1) for strict classes or when one class waits; else O(frame / quantum) rounds
 *
 * A class that is alone is served without touching its deficit: the line was free.
 */
#ifndef FABRIC_SCHED_H
#define FABRIC_SCHED_H

#include "wire_frame.h"

struct fabric_sched_queue {
    struct wire_frame *head, *tail; /* oldest first; tail is only valid while head != NULL */
    uint64_t bytes;
    uint64_t peak_bytes;
    uint64_t deficit_bytes; /* may be sent in this round */
};

struct fabric_lane; /* fabric_port.h: the state of one port and class, queue among it */

/* Deficit round robin over the classes of @p mask, at least two. @p turn: whose turn it is. */
uint32_t fabric_sched_pick_dwrr(struct fabric_lane *lanes, uint8_t *turn, uint32_t mask,
                                uint64_t quantum_bytes);

/** Class to serve of the non-empty @p mask; the caller takes that queue's head. */
static inline uint32_t fabric_sched_pick(struct fabric_lane *lanes, uint8_t *turn, uint32_t mask,
                                         uint32_t strict, uint64_t quantum_bytes)
{
    WIRE_ASSERT(mask != 0);
    if ((mask & strict) != 0)
        return 31u - (uint32_t)__builtin_clz(mask & strict);
    if (WIRE_LIKELY((mask & (mask - 1)) == 0))
        return (uint32_t)__builtin_ctz(mask);
    return fabric_sched_pick_dwrr(lanes, turn, mask, quantum_bytes);
}

/** Append. @return true: the queue was empty. */
static inline bool fabric_sched_push(struct fabric_sched_queue *queue, struct wire_frame *frame)
{
    bool first = queue->head == NULL;

    frame->next = NULL;
    if (first)
        queue->head = frame;
    else
        queue->tail->next = frame;
    queue->tail = frame;
    queue->bytes += frame->frame_bytes;
    if (queue->bytes > queue->peak_bytes)
        queue->peak_bytes = queue->bytes;
    return first;
}

/** Take the oldest; the queue is not empty. */
static inline struct wire_frame *fabric_sched_pop(struct fabric_sched_queue *queue)
{
    struct wire_frame *frame = queue->head;

    WIRE_ASSERT(frame != NULL && queue->bytes >= frame->frame_bytes);
    queue->head = frame->next;
    queue->bytes -= frame->frame_bytes;
    if (queue->head == NULL) {
        queue->deficit_bytes = 0; /* credit is not kept over idle times */
        WIRE_ASSERT(queue->bytes == 0);
    }
    frame->next = NULL;
    return frame;
}

#endif
