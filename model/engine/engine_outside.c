/* SPDX-License-Identifier: GPL-2.0-only */
#include "engine_outside.h"

#include "engine.h"

#include <string.h>

void engine_outside_init(struct engine_outside *outside)
{
    memset(outside, 0, sizeof *outside);
}

bool engine_outside_push(struct engine_outside *outside, struct wire_frame *frame)
{
    struct engine_outside_queue *queue = &outside->queue[frame->prio];

    WIRE_ASSERT(frame->prio < WIRE_CLASSES);
    if (outside->queued_bytes > ENGINE_OUTSIDE_BYTES)
        return false;
    frame->next = NULL;
    frame->ready_ps = outside->next_number++;
    if (queue->first == NULL)
        queue->first = frame;
    else
        queue->last->next = frame;
    queue->last = frame;
    outside->queued_bytes += frame->frame_bytes;
    outside->waiting |= 1u << frame->prio;
    return true;
}

uint64_t engine_outside_tx_next(const struct engine_outside *outside, uint32_t ready_classes)
{
    return (outside->waiting & ready_classes) != 0 ? 0 : WIRE_NEVER;
}

struct wire_frame *engine_outside_tx(struct engine_outside *outside, uint32_t ready_classes)
{
    struct engine_outside_queue *queue = NULL;
    struct wire_frame *first;

    for (uint32_t c = 0; c < WIRE_CLASSES; c++) {
        if ((outside->waiting & ready_classes & 1u << c) != 0 &&
            (queue == NULL || outside->queue[c].first->ready_ps < queue->first->ready_ps))
            queue = &outside->queue[c];
    }
    if (queue == NULL)
        return NULL;
    first = queue->first;
    queue->first = first->next;
    if (queue->first == NULL)
        outside->waiting &= ~(1u << first->prio);
    first->next = NULL;
    WIRE_ASSERT(outside->queued_bytes >= first->frame_bytes);
    outside->queued_bytes -= first->frame_bytes;
    return first;
}
