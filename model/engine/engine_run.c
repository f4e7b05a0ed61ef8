/* SPDX-License-Identifier: GPL-2.0-only */
/* The run loop: what happens at each kind of event. Everything a frame passes is in this file. */
#include "engine_state.h"

#include <stdlib.h>

#define WAKE_REPEATS_MAX 1000000u /* wakes of one device at one time: beyond it, it is stuck */

/* ---- traces ---- */

static void run_trace_emit(struct engine *engine, struct engine_trace record)
{
    record.time_ps = engine->now_ps;
    if (engine->hooks.trace != NULL)
        engine->hooks.trace(engine->hooks.ctx, &record);
}

static inline bool run_traced(const struct engine *engine, enum engine_trace_type type)
{
    return WIRE_UNLIKELY((engine->trace_mask >> type & 1) != 0);
}

static void run_trace_fabric(struct engine *engine, uint32_t first)
{
    struct fabric_event event;

    while (fabric_event(engine->macs[first].sw, engine->now_ps, &event)) {
        struct engine_trace record = {
            .type = ENGINE_TRACE_FABRIC, .port = first + event.port, .fabric = &event};

        run_trace_emit(engine, record);
    }
}

/* ---- looking at a device after a call ---- */

static uint64_t run_tx_next(const struct engine *engine, uint32_t port)
{
    const struct engine_mac *mac = &engine->macs[port];

    if ((mac->flags & ENGINE_MAC_SWITCH) != 0)
        return fabric_tx_next(mac->sw, mac->local_port, mac->ready);
    if (WIRE_UNLIKELY((mac->flags & ENGINE_MAC_OUTSIDE) != 0))
        return engine_outside_tx_next(mac->outside, mac->ready);
    return rnic_tx_next(mac->nic, mac->ready);
}

static void run_pull(struct engine *engine, uint32_t port);

/* A kick armed for now would be the very next event. */
static inline bool run_quiet(const struct engine *engine)
{
    return engine->running && !engine->stop && engine->dirty_n == 0 &&
           engine_wheel_quiet(engine->wheel, engine->now_ps);
}

/*
 * Arm the port's kick for the next pull that may succeed, none when nothing waits. When that is now
 * and it is the only thing left to do now (@p only: nothing else in this call), it is done at once
 * instead: the same order, an event less for every frame that finds its egress idle.
 * @return true: it was done, and the device looked at again after it.
 */
static bool run_set_kick_new(struct engine *engine, uint32_t port, bool only)
{
    struct engine_mac *mac = &engine->macs[port];
    uint64_t next_ps;

    if (mac->peer == WIRE_STATION_NONE)
        return false;
    next_ps = run_tx_next(engine, port);
    if (only && next_ps <= engine->now_ps && mac->free_ps <= engine->now_ps && run_quiet(engine)) {
        run_pull(engine, port);
        return true;
    }
    next_ps = wire_max_ps(next_ps, wire_max_ps(mac->free_ps, engine->now_ps));
    if (engine_timer_set(&mac->kick, &engine->ports[port].kick_parked, next_ps))
        engine_run_schedule(engine, port, ENGINE_RANK_LOCAL, ENGINE_KIND_KICK, next_ps, NULL);
    return false;
}

/* The same, when the kick that is armed may not be the right one. */
static inline bool run_set_kick(struct engine *engine, uint32_t port, bool only)
{
    const struct engine_mac *mac = &engine->macs[port];

    if (mac->free_ps > engine->now_ps && mac->kick.deadline_ps == mac->free_ps)
        return false; /* it will pull as soon as it can */
    return run_set_kick_new(engine, port, only);
}

/* Events in the wheel that stand for a device's timer. */
static uint32_t run_wake_events(const struct engine_port *cold)
{
    uint32_t n = cold->wake.armed_ps != WIRE_NEVER ? 1 : 0;

    for (uint32_t i = 0; i < ENGINE_TIMER_PARKED; i++)
        n += cold->wake_parked.at_ps[i] != WIRE_NEVER ? 1 : 0;
    return n;
}

static inline void run_set_wake(struct engine *engine, uint32_t device_port, uint64_t wake_ps)
{
    struct engine_port *cold = &engine->ports[device_port];

    if (wake_ps == cold->wake.deadline_ps)
        return;
    if (wake_ps == WIRE_NEVER)
        engine->unwanted += run_wake_events(cold);
    else if (cold->wake.deadline_ps == WIRE_NEVER)
        engine->unwanted -= run_wake_events(cold);
    wake_ps = wire_max_ps(wake_ps, engine->now_ps);
    if (engine_timer_set(&cold->wake, &cold->wake_parked, wake_ps))
        engine_run_schedule(engine, device_port, ENGINE_RANK_WAKE, ENGINE_KIND_WAKE, wake_ps, NULL);
}

static inline void run_look_switch(struct engine *engine, uint32_t first)
{
    struct fabric_switch *sw = engine->macs[first].sw;
    int kicked = fabric_next_kick(sw);
    bool only = true;

    if (run_traced(engine, ENGINE_TRACE_FABRIC))
        run_trace_fabric(engine, first);
    while (kicked >= 0) {
        int next = fabric_next_kick(sw);

        only = only && next < 0;
        run_set_kick(engine, first + (uint32_t)kicked, only);
        kicked = next >= 0 ? next : fabric_next_kick(sw);
    }
    run_set_wake(engine, first, fabric_next_wake(sw));
}

static inline void run_look_nic(struct engine *engine, uint32_t port)
{
    struct rnic_device *nic = engine->macs[port].nic;
    uint64_t wake_ps = rnic_next_wake(nic);
    struct rnic_event event;

    if (wake_ps <= engine->now_ps) { /* events that are visible are part of it */
        while (rnic_event(nic, engine->now_ps, &event)) {
            if (engine->hooks.nic_event != NULL)
                engine->hooks.nic_event(engine->hooks.ctx, port, &event);
        }
        wake_ps = rnic_next_wake(nic);
    }
    if (!run_set_kick(engine, port, true))
        run_set_wake(engine, port, wake_ps);
}

/* Outside has no timer and no events. */
WIRE_COLD void run_look_outside(struct engine *engine, uint32_t port)
{
    (void)run_set_kick(engine, port, true);
}

void engine_run_look(struct engine *engine, uint32_t port)
{
    WIRE_ASSERT(engine->busy);
    if (WIRE_UNLIKELY((engine->macs[port].flags & ENGINE_MAC_OUTSIDE) != 0)) {
        run_look_outside(engine, port);
        return;
    }
    if ((engine->macs[port].flags & ENGINE_MAC_SWITCH) == 0) {
        run_look_nic(engine, port);
        return;
    }
    run_set_kick(engine, port, false);
    run_look_switch(engine, engine->ports[port].device_port);
}

void engine_run_serve(struct engine *engine)
{
    WIRE_ASSERT(engine->busy);
    while (engine->dirty_n > 0) {
        uint32_t port = engine->dirty[engine->dirty_first++];

        if (engine->dirty_first == engine->ports_size)
            engine->dirty_first = 0;
        engine->dirty_n--;
        engine->macs[port].flags &= (uint8_t)~ENGINE_MAC_DIRTY;
        engine_run_look(engine, port);
    }
}

/* ---- sending ---- */

WIRE_HOT void run_transmit(struct engine *engine, uint32_t port, struct wire_frame *frame)
{
    struct engine_mac *mac = &engine->macs[port];
    struct engine_port *cold = &engine->ports[port];
    uint64_t bytes = frame->frame_bytes;
    uint64_t line_ps, busy_ps;

    WIRE_ASSERT(bytes > 0);
    if (WIRE_LIKELY(mac->ps_per_byte != 0)) {
        line_ps = (bytes + WIRE_PREAMBLE_BYTES) * mac->ps_per_byte;
        busy_ps = (bytes + WIRE_GAP_BYTES) * mac->ps_per_byte;
    } else {
        line_ps = wire_line_time_ps(bytes + WIRE_PREAMBLE_BYTES, cold->link.rate_bps);
        busy_ps = wire_line_time_ps(bytes + WIRE_GAP_BYTES, cold->link.rate_bps);
    }
    mac->free_ps = engine->now_ps + busy_ps;
    cold->counters.busy_ps += busy_ps;
    if (WIRE_UNLIKELY(engine_mac_is_pause(frame))) {
        cold->counters.pause_tx++;
        engine->pause_frames_sent++;
    } else {
        cold->counters.tx_frames++;
        cold->counters.tx_bytes += bytes;
        if ((mac->flags & ENGINE_MAC_SWITCH) == 0)
            engine->frames_sent++;
    }
    if (run_traced(engine, ENGINE_TRACE_TX))
        run_trace_emit(
            engine, (struct engine_trace){.type = ENGINE_TRACE_TX, .port = port, .frame = frame});
    engine_run_schedule(engine, mac->peer, ENGINE_RANK_ARRIVAL, ENGINE_KIND_ARRIVAL,
                        engine->now_ps + line_ps + mac->delay_ps, frame);
}

/* As run_pull; what is outside fills no blank. */
WIRE_COLD void run_pull_outside(struct engine *engine, uint32_t port)
{
    struct engine_mac *mac = &engine->macs[port];
    struct wire_frame *frame = engine_outside_tx(mac->outside, mac->ready);

    if (frame != NULL)
        run_transmit(engine, port, frame);
    WIRE_ASSERT(frame != NULL || run_tx_next(engine, port) > engine->now_ps);
    run_look_outside(engine, port);
}

/* The MAC is free and something may be ready: pull one frame and start it. */
static void run_pull(struct engine *engine, uint32_t port)
{
    struct engine_mac *mac = &engine->macs[port];
    struct wire_frame *frame = engine->blank;
    struct wire_frame *spare = NULL;
    bool is_switch = (mac->flags & ENGINE_MAC_SWITCH) != 0;
    bool sent;

    WIRE_ASSERT(mac->free_ps <= engine->now_ps);
    if (WIRE_UNLIKELY((mac->flags & ENGINE_MAC_OUTSIDE) != 0)) {
        run_pull_outside(engine, port);
        return;
    }
    if (frame == NULL) {
        frame = engine_pool_alloc(&engine->pool);
        if (frame == NULL)
            abort();
    }
    if (is_switch)
        sent = fabric_tx(mac->sw, mac->local_port, engine->now_ps, mac->ready, &frame, &spare);
    else
        sent = rnic_tx(mac->nic, engine->now_ps, mac->ready, &frame, &spare);
    if (WIRE_LIKELY(sent))
        run_transmit(engine, port, frame);
    else if (frame != NULL)
        engine_pool_free(&engine->pool, frame); /* maybe written to: no blank any more */
    engine->blank = spare;                      /* for the next pull */
    /* Else it would never end; a kept blank is one class less to ask for. */
    WIRE_ASSERT(sent || frame == NULL || run_tx_next(engine, port) > engine->now_ps);
    if (!is_switch) {
        run_look_nic(engine, port);
        return;
    }
    (void)run_set_kick_new(engine, port, false); /* the one that was armed is this one */
    run_look_switch(engine, engine->ports[port].device_port);
}

/* ---- receiving ---- */

static void run_drop(struct engine *engine, uint32_t port, struct wire_frame *frame,
                     enum wire_drop drop)
{
    WIRE_ASSERT(drop > WIRE_DROP_NONE && drop < WIRE_DROP_COUNT);
    if (engine_mac_is_pause(frame)) {
        engine->pause_frames_lost++;
    } else {
        engine->ports[port].counters.drops[drop]++;
        engine->drops[drop]++;
    }
    if (run_traced(engine, ENGINE_TRACE_DROP))
        run_trace_emit(engine,
                       (struct engine_trace){
                           .type = ENGINE_TRACE_DROP, .port = port, .frame = frame, .drop = drop});
    engine_pool_free(&engine->pool, frame);
}

/* The pause state of a port may have changed: arm its next expiry, kick it if it did. */
static void run_pause_changed(struct engine *engine, uint32_t port, uint32_t changed)
{
    struct engine_mac *mac = &engine->macs[port];
    struct engine_pause *pause = &engine->ports[port].pause;
    uint64_t expiry_ps = engine_mac_expiry_ps(mac, pause);

    if (engine_timer_set(&pause->timer, &pause->parked, expiry_ps))
        engine_run_schedule(engine, port, ENGINE_RANK_PAUSE, ENGINE_KIND_EXPIRE, expiry_ps, NULL);
    if (changed == 0)
        return;
    if (run_traced(engine, ENGINE_TRACE_PAUSE))
        run_trace_emit(engine, (struct engine_trace){.type = ENGINE_TRACE_PAUSE,
                                                     .port = port,
                                                     .paused_classes = ENGINE_ALL_CLASSES &
                                                                       ~(uint32_t)mac->ready});
    mac->kick.deadline_ps = WIRE_NEVER; /* what was armed may be for a class that waits now */
    run_set_kick(engine, port, true);
}

static void run_pause(struct engine *engine, uint32_t port, struct wire_frame *frame)
{
    uint32_t changed =
        engine_mac_pause(&engine->macs[port], &engine->ports[port].pause, frame, engine->now_ps);

    engine_pool_free(&engine->pool, frame);
    run_pause_changed(engine, port, changed);
}

/* A pause frame ends here, at the MAC. */
static void run_receive_pause(struct engine *engine, uint32_t port, struct wire_frame *frame)
{
    struct engine_port *cold = &engine->ports[port];

    cold->counters.pause_rx++;
    if (cold->pause.reaction_ps == 0)
        run_pause(engine, port, frame);
    else
        engine_run_schedule(engine, port, ENGINE_RANK_PAUSE, ENGINE_KIND_PAUSE,
                            engine->now_ps + cold->pause.reaction_ps, frame);
}

/* A bridge sends the frame out at several ports: the last gets itself, the others copies. */
static void run_flood(struct engine *engine, uint32_t port, struct wire_frame *frame, uint32_t out)
{
    struct engine_mac *mac = &engine->macs[port];
    struct wire_frame *one = NULL;

    engine->ports[port].counters.rx_frames++;
    for (uint32_t next; one != frame; out = next) {
        enum wire_drop drop;

        next = fabric_flood_next(mac->sw, mac->local_port, frame, out + 1, engine->now_ps);
        one = next == FABRIC_PORT_NONE ? frame : engine_pool_copy(&engine->pool, frame);
        if (one == NULL)
            abort();
        if (one != frame)
            engine->frames_copied++;
        drop = fabric_rx_flood(mac->sw, mac->local_port, out, one, engine->now_ps);
        if (drop != WIRE_DROP_NONE)
            run_drop(engine, port, one, drop);
    }
}

/* A bridge sends out at several ports what it does not know. @return false: it knows */
WIRE_COLD bool run_bridge(struct engine *engine, uint32_t port, struct wire_frame *frame)
{
    struct engine_mac *mac = &engine->macs[port];
    uint32_t out = fabric_flood_next(mac->sw, mac->local_port, frame, 0, engine->now_ps);

    if (out == FABRIC_PORT_NONE)
        return false;
    run_flood(engine, port, frame, out);
    return true;
}

static void run_receive_switch(struct engine *engine, uint32_t port, struct wire_frame *frame)
{
    struct engine_mac *mac = &engine->macs[port];

    if (WIRE_LIKELY((mac->flags & ENGINE_MAC_BRIDGE) == 0) || !run_bridge(engine, port, frame)) {
        enum wire_drop drop = fabric_rx(mac->sw, mac->local_port, frame, engine->now_ps);

        if (WIRE_LIKELY(drop == WIRE_DROP_NONE))
            engine->ports[port].counters.rx_frames++;
        else
            run_drop(engine, port, frame, drop);
    }
    run_look_switch(engine, engine->ports[port].device_port);
}

/* The MAC's filter: a bridge that floods sends to cards what is not for them. */
static inline bool run_is_for(uint32_t port, const struct wire_frame *frame)
{
    return frame->eth_dst == port || frame->eth_dst == WIRE_STATION_BROADCAST;
}

/* Somebody else's packet: up to the host. */
static enum wire_drop run_opaque(struct engine *engine, uint32_t port, struct wire_frame *frame)
{
    if (!run_is_for(port, frame))
        return WIRE_DROP_DEST_MAC; /* of RoCE frames the card says so itself */
    if (engine->hooks.opaque_rx != NULL)
        engine->hooks.opaque_rx(engine->hooks.ctx, port, frame);
    return frame->opaque != NULL ? WIRE_DROP_NO_LISTENER : WIRE_DROP_NONE;
}

static void run_receive_nic(struct engine *engine, uint32_t port, struct wire_frame *frame)
{
    enum wire_drop drop = rnic_rx(engine->macs[port].nic, frame, engine->now_ps);

    if (WIRE_UNLIKELY(frame->kind == WIRE_KIND_OPAQUE) && drop == WIRE_DROP_NONE)
        drop = run_opaque(engine, port, frame);
    if (WIRE_LIKELY(drop == WIRE_DROP_NONE)) {
        engine->ports[port].counters.rx_frames++;
        engine->frames_delivered++;
        engine_pool_free(&engine->pool, frame);
    } else {
        run_drop(engine, port, frame, drop);
    }
    run_look_nic(engine, port);
}

/* To whoever is outside. What he sends meanwhile makes the port wait to be looked at. */
WIRE_COLD void run_receive_outside(struct engine *engine, uint32_t port, struct wire_frame *frame)
{
    if (engine->hooks.outside_rx == NULL) {
        run_drop(engine, port, frame, WIRE_DROP_NO_LISTENER);
        return;
    }
    engine->ports[port].counters.rx_frames++;
    engine->frames_delivered++; /* before: the hook may ask for the counters */
    engine->hooks.outside_rx(engine->hooks.ctx, port, frame);
    engine_pool_free(&engine->pool, frame);
}

/* The line at this port is lossy, or is or was down. */
static enum wire_drop run_lossy_line(struct engine *engine, uint32_t port,
                                     const struct wire_frame *frame)
{
    struct engine_link *link = &engine->ports[port].link;
    uint32_t from = engine->macs[port].peer;
    uint64_t bytes = (uint64_t)frame->frame_bytes + WIRE_PREAMBLE_BYTES;
    uint64_t flight_ps =
        engine->macs[from].delay_ps + wire_line_time_ps(bytes, engine->ports[from].link.rate_bps);

    if (engine_link_breaks(link, engine->now_ps - flight_ps))
        return WIRE_DROP_LINK_DOWN;
    return engine_link_loses(link) ? WIRE_DROP_LINK_LOSS : WIRE_DROP_NONE;
}

/* What the line did to a frame, and what its bytes say. */
static enum wire_drop run_line(struct engine *engine, uint32_t port, struct wire_frame *frame)
{
    if ((engine->macs[port].flags & ENGINE_MAC_LOSSY) != 0) {
        enum wire_drop drop = run_lossy_line(engine, port, frame);

        if (drop != WIRE_DROP_NONE)
            return drop;
    }
    if (!engine_mac_is_pause(frame))
        engine->packet_hops++;
    if (WIRE_UNLIKELY((frame->flags & WIRE_FRAME_CORRUPT) != 0))
        return WIRE_DROP_FCS;
    if (WIRE_UNLIKELY(engine->wire))
        return engine_link_transit(frame, engine->book, engine->bytes);
    return WIRE_DROP_NONE;
}

static void run_arrival(struct engine *engine, uint32_t port, struct wire_frame *frame)
{
    enum wire_drop drop = run_line(engine, port, frame);

    engine->last_ps = engine->now_ps;
    if (WIRE_UNLIKELY(drop != WIRE_DROP_NONE)) {
        run_drop(engine, port, frame, drop);
        return;
    }
    if (run_traced(engine, ENGINE_TRACE_RX))
        run_trace_emit(
            engine, (struct engine_trace){.type = ENGINE_TRACE_RX, .port = port, .frame = frame});
    if (WIRE_UNLIKELY(engine_mac_is_pause(frame)))
        run_receive_pause(engine, port, frame);
    else if ((engine->macs[port].flags & ENGINE_MAC_SWITCH) != 0)
        run_receive_switch(engine, port, frame);
    else if (WIRE_UNLIKELY((engine->macs[port].flags & ENGINE_MAC_OUTSIDE) != 0))
        run_receive_outside(engine, port, frame);
    else
        run_receive_nic(engine, port, frame);
}

/* ---- the other events ---- */

/* An event of a timer: arm it again when it came too early. @return true: it is the deadline. */
static bool run_timer(struct engine *engine, const struct engine_event *event,
                      enum engine_rank rank, struct engine_timer *timer,
                      struct engine_timer_parked *parked)
{
    enum engine_timer_verdict verdict = engine_timer_fire(timer, parked, engine->now_ps);

    if (verdict == ENGINE_TIMER_AGAIN)
        engine_run_schedule(engine, engine_event_port(event), rank, event->kind, timer->armed_ps,
                            NULL);
    return verdict == ENGINE_TIMER_RUN;
}

static void run_wake(struct engine *engine, uint32_t port)
{
    struct engine_mac *mac = &engine->macs[port];
    struct engine_port *cold = &engine->ports[port];

    cold->wake_repeats = cold->wake_ps == engine->now_ps ? cold->wake_repeats + 1 : 0;
    cold->wake_ps = engine->now_ps;
    WIRE_ASSERT(cold->wake_repeats < WAKE_REPEATS_MAX);
    if ((mac->flags & ENGINE_MAC_SWITCH) != 0) {
        fabric_wake(mac->sw, engine->now_ps);
        run_look_switch(engine, port);
    } else {
        rnic_wake(mac->nic, engine->now_ps);
        run_look_nic(engine, port);
    }
}

/* An event of a device's timer; when the timer is off, its events are counted as unwanted. */
static void run_wake_event(struct engine *engine, const struct engine_event *event, uint32_t port)
{
    struct engine_port *cold = &engine->ports[port];
    bool run;

    if (cold->wake.deadline_ps == WIRE_NEVER)
        engine->unwanted -= run_wake_events(cold);
    run = run_timer(engine, event, ENGINE_RANK_WAKE, &cold->wake, &cold->wake_parked);
    if (cold->wake.deadline_ps == WIRE_NEVER)
        engine->unwanted += run_wake_events(cold);
    if (run)
        run_wake(engine, port);
}

static void run_user(struct engine *engine, struct engine_user *user)
{
    void (*fn)(void *ctx, uint64_t now_ps) = user->fn;
    void *ctx = user->ctx;

    user->next = engine->user_free;
    engine->user_free = user;
    fn(ctx, engine->now_ps);
}

static void run_event(struct engine *engine, const struct engine_event *event)
{
    uint32_t port = engine_event_port(event);
    struct engine_port *cold = &engine->ports[port];

    WIRE_ASSERT(port < engine->n_ports);
    switch ((enum engine_kind)event->kind) {
    case ENGINE_KIND_ARRIVAL:
        run_arrival(engine, port, event->ptr);
        break;
    case ENGINE_KIND_KICK:
        if (run_timer(engine, event, ENGINE_RANK_LOCAL, &engine->macs[port].kick,
                      &cold->kick_parked))
            run_pull(engine, port);
        break;
    case ENGINE_KIND_WAKE:
        run_wake_event(engine, event, port);
        break;
    case ENGINE_KIND_PAUSE:
        run_pause(engine, port, event->ptr);
        break;
    case ENGINE_KIND_EXPIRE:
        if (run_timer(engine, event, ENGINE_RANK_PAUSE, &cold->pause.timer, &cold->pause.parked))
            run_pause_changed(engine, port,
                              engine_mac_expire(&engine->macs[port], &cold->pause, engine->now_ps));
        break;
    case ENGINE_KIND_USER:
        run_user(engine, event->ptr);
        break;
    }
    if (WIRE_UNLIKELY(engine->dirty_n > 0))
        engine_run_serve(engine);
}

/* All that is left are events of timers that were switched off: nothing will happen any more. */
static inline bool run_is_over(const struct engine *engine)
{
    return engine->wheel->pending == engine->unwanted;
}

/* ---- contract ---- */

uint64_t engine_run(struct engine *engine, uint64_t until_ps)
{
    struct engine_event event;
    uint64_t ran = 0;

    WIRE_ASSERT(!engine->busy);
    WIRE_ASSERT(until_ps >= engine->now_ps);
    engine->busy = engine->running = true;
    engine->stop = false;
    while (!engine->stop && !(until_ps == WIRE_NEVER && run_is_over(engine)) &&
           engine_wheel_pop(engine->wheel, until_ps, &event)) {
        WIRE_ASSERT(event.time_ps >= engine->now_ps);
        engine->now_ps = event.time_ps;
        run_event(engine, &event);
        ran++;
    }
    engine->busy = engine->running = false;
    engine->events += ran;
    if (!engine->stop && until_ps != WIRE_NEVER) {
        engine->now_ps = until_ps;
        engine_wheel_advance(engine->wheel, until_ps);
    }
    return ran;
}

uint64_t engine_run_one(struct engine *engine)
{
    uint64_t next_ps = engine_next_ps(engine);

    return next_ps != WIRE_NEVER ? engine_run(engine, next_ps) : 0;
}

uint64_t engine_next_ps(const struct engine *engine)
{
    return run_is_over(engine) ? WIRE_NEVER : engine_wheel_peek_ps(engine->wheel);
}

uint64_t engine_now_ps(const struct engine *engine)
{
    return engine->now_ps;
}

void engine_stop(struct engine *engine)
{
    engine->stop = true;
}

uint64_t engine_last_ps(const struct engine *engine)
{
    return engine->last_ps;
}
