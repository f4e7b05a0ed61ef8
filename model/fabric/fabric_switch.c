/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The switch's wiring: two straight walks, fabric_rx (or fabric_rx_flood) and fabric_tx.
 * What each stop decides stands in its own file; nothing here but the order.
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

/* Port a bridge sends the frame to, or FABRIC_PORT_NONE: to none or to all others. */
static uint32_t switch_bridge(const struct fabric_switch *sw, const struct wire_frame *frame,
                              uint64_t now_ps)
{
    uint32_t port = fabric_route_lookup(&sw->route, frame->eth_dst, frame);

    if (port == FABRIC_ROUTE_NONE && sw->bridge.entries != NULL)
        port = fabric_bridge_lookup(&sw->bridge, frame->eth_dst, now_ps);
    return port;
}

static enum wire_drop switch_route(const struct fabric_switch *sw, uint32_t in_port,
                                   const struct wire_frame *frame, uint64_t now_ps,
                                   uint32_t *out_port)
{
    uint32_t port;

    if (WIRE_UNLIKELY(sw->l2)) {
        port = switch_bridge(sw, frame, now_ps);
        if (port == in_port)
            return WIRE_DROP_L2_FILTER;
    } else {
        if (frame->kind == WIRE_KIND_ROCE && (frame->flags & WIRE_FRAME_ROCE_V1) != 0)
            return WIRE_DROP_ROCE_V1_ROUTED;
        if (frame->ttl <= 1)
            return WIRE_DROP_TTL;
        port = fabric_route_lookup(&sw->route, frame->dst, frame);
    }
    if (port == FABRIC_ROUTE_NONE || sw->ports[port].peer_station == WIRE_STATION_NONE)
        return WIRE_DROP_NO_ROUTE;
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

/* Into the egress queue; it is admitted, and class @p charge of its ingress was charged. */
WIRE_HOT void switch_enqueue(struct fabric_switch *sw, uint32_t in_port, uint32_t charge,
                             uint32_t out_port, struct wire_frame *frame, uint64_t now_ps)
{
    uint32_t prio = frame->prio;
    struct fabric_lane *lane = fabric_port_lane(sw, out_port, prio);
    struct fabric_port *out = &sw->ports[out_port];

    frame->in_port = (uint16_t)in_port;
    frame->in_charge = charge;
    frame->ready_ps = now_ps + sw->latency_ps;
    if (WIRE_LIKELY(!sw->l2)) {
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
}

static enum wire_drop switch_drop(struct fabric_switch *sw, enum wire_drop drop)
{
    sw->counters.drops[drop]++;
    return drop;
}

/* What every frame that comes in is checked for and counted as. */
static void switch_note_rx(struct fabric_switch *sw, uint32_t port, const struct wire_frame *frame,
                           uint64_t now_ps)
{
    WIRE_ASSERT(sw->started && port < sw->port_count && frame->prio < WIRE_CLASSES);
    WIRE_ASSERT(frame->kind == WIRE_KIND_ROCE || frame->kind == WIRE_KIND_OPAQUE);
    sw->counters.rx_frames++;
    if (WIRE_UNLIKELY(sw->bridge.entries != NULL))
        fabric_bridge_learn(&sw->bridge, frame->eth_src, port, now_ps);
}

enum wire_drop fabric_rx(struct fabric_switch *sw, uint32_t port, struct wire_frame *frame,
                         uint64_t now_ps)
{
    uint32_t prio = frame->prio, out_port = 0;
    enum wire_drop drop;

    switch_note_rx(sw, port, frame, now_ps);
    drop = switch_route(sw, port, frame, now_ps, &out_port);
    if (WIRE_UNLIKELY(drop != WIRE_DROP_NONE))
        return switch_drop(sw, drop);
    if (WIRE_UNLIKELY(
            !switch_admit(sw, port, frame, fabric_port_lane(sw, out_port, prio)->queue.bytes)))
        return switch_drop(sw, WIRE_DROP_BUFFER);
    switch_enqueue(sw, port, prio, out_port, frame, now_ps);
    switch_check_pause(sw, port, prio);
    return WIRE_DROP_NONE;
}

/* ---- a frame is flooded ---- */

bool fabric_is_bridge(const struct fabric_switch *sw)
{
    return sw->l2;
}

uint32_t fabric_flood_next(const struct fabric_switch *sw, uint32_t port,
                           const struct wire_frame *frame, uint32_t from, uint64_t now_ps)
{
    bool group = frame->eth_dst == WIRE_STATION_BROADCAST;

    if (!group &&
        (sw->bridge.entries == NULL || switch_bridge(sw, frame, now_ps) != FABRIC_PORT_NONE))
        return FABRIC_PORT_NONE;
    for (uint32_t out = from; sw->l2 && out < sw->port_count; out++) {
        if (out != port && sw->ports[out].peer_station != WIRE_STATION_NONE)
            return out;
    }
    return FABRIC_PORT_NONE;
}

enum wire_drop fabric_rx_flood(struct fabric_switch *sw, uint32_t port, uint32_t out,
                               struct wire_frame *frame, uint64_t now_ps)
{
    uint32_t charge = sw->flood_class < WIRE_CLASSES ? sw->flood_class : frame->prio;
    struct fabric_mmu_ingress *ingress = &fabric_port_lane(sw, port, charge)->ingress;

    WIRE_ASSERT(sw->l2 && out != port && sw->ports[out].peer_station != WIRE_STATION_NONE);
    switch_note_rx(sw, port, frame, now_ps);
    sw->counters.flooded++;
    if (!fabric_mmu_admit_lossy(&sw->mmu, ingress, frame->frame_bytes,
                                fabric_port_lane(sw, out, frame->prio)->queue.bytes))
        return switch_drop(sw, WIRE_DROP_BUFFER);
    switch_enqueue(sw, port, charge, out, frame, now_ps);
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
    uint32_t in_port = frame->in_port, prio = frame->in_charge;
    struct fabric_mmu_ingress *ingress = &fabric_port_lane(sw, in_port, prio)->ingress;
    struct fabric_pfc *pfc = &sw->ports[in_port].pfc;

    fabric_mmu_release(&sw->mmu, ingress, frame->frame_bytes);
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
