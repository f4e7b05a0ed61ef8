/* SPDX-License-Identifier: GPL-2.0-only */
#include "fabric_sched.h"

#include "fabric_port.h"

/* The class of @p mask that follows @p after, round about. */
static uint32_t sched_next_class(uint32_t mask, uint32_t after)
{
    uint32_t later = mask & ~((2u << after) - 1);

    return (uint32_t)__builtin_ctz(later != 0 ? later : mask);
}

/* Send the head of @p queue out of its deficit, if that is enough. */
static bool sched_afford(struct fabric_sched_queue *queue)
{
    if (queue->deficit_bytes < queue->head->frame_bytes)
        return false;
    queue->deficit_bytes -= queue->head->frame_bytes;
    return true;
}

uint32_t fabric_sched_pick_dwrr(struct fabric_lane *lanes, uint8_t *turn, uint32_t mask,
                                uint64_t quantum_bytes)
{
    uint32_t prio = *turn;

    WIRE_ASSERT((mask & (mask - 1)) != 0 && mask >> WIRE_CLASSES == 0);
    WIRE_ASSERT(prio < WIRE_CLASSES && quantum_bytes > 0);
    if ((mask >> prio & 1) != 0 && sched_afford(&lanes[prio].queue))
        return prio;
    do { /* ends: every round adds a quantum to every class */
        prio = sched_next_class(mask, prio);
        lanes[prio].queue.deficit_bytes += quantum_bytes;
    } while (!sched_afford(&lanes[prio].queue));
    *turn = (uint8_t)prio;
    return prio;
}
