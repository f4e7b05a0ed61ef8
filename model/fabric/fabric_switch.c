/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The switch's wiring: two straight walks, fabric_rx and fabric_tx. What each stop decides stands
 * in its own file; nothing here but the order.
 */
#include "fabric_port.h"

/* ---- records ---- */

static void switch_trace(struct fabric_switch *sw, enum fabric_event_type type, uint32_t port,
                         uint32_t prio, uint64_t now_ps, uint64_t queue_bytes)
{
    struct fabric_event event = {.type = type,
                                 .port = port,
                                 .prio = (uint8_t)prio,
                                 .time_ps = now_ps,
                                 .queue_bytes = queue_bytes};

    if (WIRE_LIKELY((sw->trace_mask >> type & 1) == 0))
        return;
    if (!fabric_trace_put(&sw->trace, &event))
        sw->counters.trace_lost++;
}

static void switch_mark(struct fabric_switch *sw, uint32_t port, struct wire_frame *frame,
                        uint64_t queue_bytes, uint64_t now_ps)
{
    if (!fabric_ecn_mark(&sw->ports[port].ecn, frame, queue_bytes))
        return;
    sw->counters.ecn_marked++;
    switch_trace(sw, FABRIC_EVENT_ECN, port, frame->prio, now_ps, queue_bytes);
}

/* ---- a frame comes in ---- */

static enum wire_drop switch_route(const struct fabric_switch *sw, uint32_t in_port,
                                   const struct wire_frame *frame, uint32_t *out_port)
{
    uint32_t port;

    if (!sw->l2) {
        if (frame->kind == WIRE_KIND_ROCE && (frame->flags & WIRE_FRAME_ROCE_V1) != 0)
            return WIRE_DROP_ROCE_V1_ROUTED;
        if (frame->ttl <= 1)
            return WIRE_DROP_TTL;
    }
    port = fabric_route_lookup(&sw->route, sw->l2 ? frame->eth_dst : frame->dst, frame);
    if (port == FABRIC_ROUTE_NONE || sw->ports[port].peer_station == WIRE_STATION_NONE)
        return WIRE_DROP_NO_ROUTE;
    if (sw->l2 && port == in_port)
        return WIRE_DROP_NO_ROUTE; /* a bridge never sends back where a frame came from */
    *out_port = port;
    return WIRE_DROP_NONE;
}

static bool switch_admit(struct fabric_switch *sw, uint32_t in_port, const struct wire_frame *frame,
                         uint64_t queue_bytes)
{
    struct fabric_mmu_ingress *ingress = &fabric_port_lane(sw, in_port, frame->prio)->ingress;
    uint64_t bytes = frame->frame_bytes;

    if (WIRE_LIKELY((sw->lossless >> frame->prio & 1) != 0))
        return fabric_mmu_admit_lossless(&sw->mmu, ingress, bytes,
                                         sw->ports[in_port].headroom_bytes);
    return fabric_mmu_admit_lossy(&sw->mmu, ingress, bytes, queue_bytes);
}

/* After a frame was charged: must its ingress class pause? */
static void switch_check_pause(struct fabric_switch *sw, uint32_t in_port, uint32_t prio)
{
    struct fabric_pfc *pfc = &sw->ports[in_port].pfc;

    if (((sw->lossless & ~(uint32_t)pfc->paused) >> prio & 1) == 0)
        return;
    if (WIRE_LIKELY(
            !fabric_mmu_wants_pause(&sw->mmu, &fabric_port_lane(sw, in_port, prio)->ingress)))
        return;
    fabric_pfc_pause(pfc, prio);
    fabric_port_kick(sw, in_port);
}

static void switch_note_peaks(struct fabric_counters *counters, uint64_t held_bytes,
                              uint64_t queue_bytes)
{
    if (held_bytes > counters->peak_buffer_bytes)
        counters->peak_buffer_bytes = held_bytes;
    if (queue_bytes > counters->peak_queue_bytes)
        counters->peak_queue_bytes = queue_bytes;
}

enum wire_drop fabric_rx(struct fabric_switch *sw, uint32_t port, struct wire_frame *frame,
                         uint64_t now_ps)
{
    uint32_t prio = frame->prio, out_port = 0;
    struct fabric_port *out;
    struct fabric_lane *lane;
    enum wire_drop drop;

    WIRE_ASSERT(sw->started && port < sw->port_count && prio < WIRE_CLASSES);
    WIRE_ASSERT(frame->kind == WIRE_KIND_ROCE || frame->kind == WIRE_KIND_OPAQUE);
    sw->counters.rx_frames++;

    drop = switch_route(sw, port, frame, &out_port);
    if (WIRE_UNLIKELY(drop != WIRE_DROP_NONE)) {
        sw->counters.drops[drop]++;
        return drop;
    }
    out = &sw->ports[out_port];
    lane = fabric_port_lane(sw, out_port, prio);
    if (WIRE_UNLIKELY(!switch_admit(sw, port, frame, lane->queue.bytes))) {
        sw->counters.drops[WIRE_DROP_BUFFER]++;
        return WIRE_DROP_BUFFER;
    }
    frame->in_port = (uint16_t)port;
    frame->in_charge = frame->frame_bytes;
    frame->ready_ps = now_ps + sw->latency_ps;
    if (!sw->l2) {
        frame->ttl--;
        frame->eth_src = out->station;
        frame->eth_dst = out->peer_station;
    }
    if (sw->mark_at_enqueue)
        switch_mark(sw, out_port, frame, lane->queue.bytes, now_ps);
    if (fabric_sched_push(&lane->queue, frame)) {
        out->waiting |= (uint8_t)(1u << prio);
        fabric_port_kick(sw, out_port);
    }
    switch_note_peaks(&sw->counters, sw->mmu.held_bytes, lane->queue.bytes);
    switch_check_pause(sw, port, prio);
    return WIRE_DROP_NONE;
}

/* ---- a frame goes out ---- */

/* Classes of @p mask whose oldest frame may leave at @p now_ps. */
static uint32_t switch_ready(const struct fabric_lane *lanes, uint32_t mask, uint64_t now_ps)
{
    uint32_t ready = 0;

    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        uint32_t prio = (uint32_t)__builtin_ctz(rest);

        if (lanes[prio].queue.head->ready_ps <= now_ps)
            ready |= 1u << prio;
    }
    return ready;
}

static void switch_send_pause(struct fabric_switch *sw, uint32_t number, uint64_t now_ps,
                              struct wire_frame *frame)
{
    struct fabric_port *port = &sw->ports[number];
    struct fabric_pfc_sent sent =
        fabric_pfc_build(&port->pfc, &sw->clock, number, sw->quanta, now_ps, frame);

    frame->eth_src = port->station;
    frame->eth_dst = WIRE_STATION_BROADCAST; /* the MAC control group address */
    for (uint32_t prio = 0; prio < WIRE_CLASSES; prio++) {
        const struct fabric_mmu_ingress *in = &fabric_port_lane(sw, number, prio)->ingress;
        uint64_t held_bytes = in->used_bytes + in->headroom_bytes;
        uint32_t bit = 1u << prio;

        sw->counters.pause_refreshes += (sent.refreshed & bit) != 0;
        if ((sent.paused & bit) != 0) {
            sw->counters.pauses++;
            switch_trace(sw, FABRIC_EVENT_PAUSE, number, prio, now_ps, held_bytes);
        } else if ((sent.resumed & bit) != 0) {
            sw->counters.resumes++;
            switch_trace(sw, FABRIC_EVENT_RESUME, number, prio, now_ps, held_bytes);
        }
    }
}

/* Give back what a frame was charged; its ingress class may resume now. */
static void switch_release(struct fabric_switch *sw, const struct wire_frame *frame)
{
    uint32_t in_port = frame->in_port, prio = frame->prio;
    struct fabric_mmu_ingress *ingress = &fabric_port_lane(sw, in_port, prio)->ingress;
    struct fabric_pfc *pfc = &sw->ports[in_port].pfc;

    WIRE_ASSERT(frame->in_charge == frame->frame_bytes);
    fabric_mmu_release(&sw->mmu, ingress, frame->in_charge);
    if (WIRE_LIKELY((pfc->paused >> prio & 1) == 0) || !fabric_mmu_wants_resume(&sw->mmu, ingress))
        return;
    fabric_pfc_resume(pfc, prio);
    fabric_port_kick(sw, in_port);
}

bool fabric_tx(struct fabric_switch *sw, uint32_t port, uint64_t now_ps, uint32_t ready_classes,
               struct wire_frame **frame, struct wire_frame **spare)
{
    struct fabric_port *out = &sw->ports[port];
    struct fabric_lane *lanes = fabric_port_lane(sw, port, 0);
    uint32_t mask = out->waiting & ready_classes, prio;
    struct fabric_sched_queue *queue;
    struct wire_frame *sent;

    WIRE_ASSERT(sw->started);
    *spare = NULL;
    if (WIRE_UNLIKELY(fabric_pfc_pending(&out->pfc) != 0)) {
        WIRE_ASSERT(*frame != NULL);
        switch_send_pause(sw, port, now_ps, *frame);
        return true;
    }
    if (sw->latency_ps > 0)
        mask = switch_ready(lanes, mask, now_ps);
    if (mask == 0)
        return false;

    prio = fabric_sched_pick(lanes, &out->turn, mask, sw->strict, sw->quantum_bytes);
    queue = &lanes[prio].queue;
    sent = fabric_sched_pop(queue);
    WIRE_ASSERT(sent->prio == prio && sent->ready_ps <= now_ps);
    if (queue->head == NULL)
        out->waiting &= (uint8_t) ~(1u << prio);
    if (!sw->mark_at_enqueue)
        switch_mark(sw, port, sent, queue->bytes, now_ps);
    switch_release(sw, sent);
    sw->counters.tx_frames++;
    *spare = *frame;
    *frame = sent;
    return true;
}

uint64_t fabric_tx_next(const struct fabric_switch *sw, uint32_t port, uint32_t ready_classes)
{
    const struct fabric_port *out = &sw->ports[port];
    const struct fabric_lane *lanes = fabric_port_lane(sw, port, 0);
    uint64_t next_ps = WIRE_NEVER;

    if (WIRE_UNLIKELY(fabric_pfc_pending(&out->pfc) != 0))
        return 0;
    if ((out->waiting & ready_classes) != 0 && sw->latency_ps == 0)
        return 0;
    for (uint32_t rest = out->waiting & ready_classes; rest != 0; rest &= rest - 1)
        next_ps = wire_min_ps(next_ps, lanes[__builtin_ctz(rest)].queue.head->ready_ps);
    return next_ps;
}

/* ---- what the caller must do next ---- */

int fabric_next_kick(struct fabric_switch *sw)
{
    uint32_t number = sw->kick_head;
    struct fabric_port *port;

    if (number == FABRIC_KICK_NONE)
        return -1;
    port = &sw->ports[number];
    WIRE_ASSERT(port->kicked);
    port->kicked = false;
    sw->kick_head = port->kick_next;
    return (int)number;
}

uint64_t fabric_next_wake(const struct fabric_switch *sw)
{
    return sw->clock.next_ps;
}

void fabric_wake(struct fabric_switch *sw, uint64_t now_ps)
{
    uint32_t number = fabric_pfc_expire(&sw->clock, 0, now_ps);

    while (number < sw->port_count) {
        sw->ports[number].pfc.due = sw->ports[number].pfc.told;
        fabric_port_kick(sw, number);
        number = fabric_pfc_expire(&sw->clock, number + 1, now_ps);
    }
}
