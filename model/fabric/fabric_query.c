/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a caller may ask of a switch between two frames: counters, lengths, frames held, records.
 */
#include "fabric_port.h"

const struct fabric_counters *fabric_query_counters(const struct fabric_switch *sw)
{
    return &sw->counters;
}

uint64_t fabric_query_pool_bytes(const struct fabric_switch *sw)
{
    return sw->mmu.pool_bytes;
}

uint64_t fabric_queue_bytes(const struct fabric_switch *sw, uint32_t port, uint32_t prio)
{
    return fabric_port_lane(sw, port, prio)->queue.bytes;
}

uint64_t fabric_queue_peak_bytes(const struct fabric_switch *sw, uint32_t port, uint32_t prio)
{
    return fabric_port_lane(sw, port, prio)->queue.peak_bytes;
}

uint64_t fabric_frames_held(const struct fabric_switch *sw)
{
    uint64_t held = 0;

    for (uint32_t port = 0; port < sw->port_count; port++) {
        for (uint32_t prio = 0; prio < WIRE_CLASSES; prio++) {
            const struct wire_frame *frame = fabric_port_lane(sw, port, prio)->queue.head;

            for (; frame != NULL; frame = frame->next)
                held++;
        }
    }
    return held;
}

struct wire_frame *fabric_flush(struct fabric_switch *sw)
{
    for (uint32_t i = 0; i < sw->port_count; i++) {
        struct fabric_port *port = &sw->ports[i];
        struct fabric_sched_queue *queue;
        struct wire_frame *frame;
        uint32_t prio;

        if (port->waiting == 0)
            continue;
        prio = (uint32_t)__builtin_ctz(port->waiting);
        queue = &fabric_port_lane(sw, i, prio)->queue;
        frame = fabric_sched_pop(queue);
        if (queue->head == NULL)
            port->waiting &= (uint8_t) ~(1u << prio);
        fabric_mmu_release(&sw->mmu,
                           &fabric_port_lane(sw, frame->in_port, frame->in_charge)->ingress,
                           frame->frame_bytes);
        return frame;
    }
    WIRE_ASSERT(sw->mmu.held_bytes == 0 && sw->mmu.pool_used_bytes == 0);
    return NULL;
}

bool fabric_event(struct fabric_switch *sw, uint64_t now_ps, struct fabric_event *event)
{
    return fabric_trace_take(&sw->trace, now_ps, event);
}

void fabric_trace_enable(struct fabric_switch *sw, uint32_t mask)
{
    sw->trace_mask = mask & ~(1u << FABRIC_EVENT_NONE);
}
