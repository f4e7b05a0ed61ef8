/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters, and the walk that makes conservation a check instead of a subtraction. */
#include "engine_state.h"

#include <string.h>

static void query_visit(void *ctx, const struct engine_event *event)
{
    uint64_t *in_flight = ctx;

    if (event->kind == ENGINE_KIND_ARRIVAL && !engine_mac_is_pause(event->ptr))
        ++*in_flight;
}

/* Frames on the lines and in the switches; one inside a card has not been sent yet. */
static uint64_t query_in_flight(const struct engine *engine)
{
    uint64_t in_flight = 0;

    engine_wheel_walk(engine->wheel, query_visit, &in_flight);
    for (uint32_t p = 0; p < engine->n_ports; p++) {
        const struct engine_mac *mac = &engine->macs[p];

        if ((mac->flags & ENGINE_MAC_SWITCH) != 0 && mac->local_port == 0)
            in_flight += fabric_frames_held(mac->sw);
    }
    return in_flight;
}

void engine_query(const struct engine *engine, struct engine_counters *counters)
{
    *counters = (struct engine_counters){
        .events = engine->events,
        .packet_hops = engine->packet_hops,
        .frames_sent = engine->frames_sent,
        .frames_copied = engine->frames_copied,
        .frames_delivered = engine->frames_delivered,
        .pause_frames_sent = engine->pause_frames_sent,
        .pause_frames_lost = engine->pause_frames_lost,
        .frames_in_flight = query_in_flight(engine),
    };
    memcpy(counters->drops, engine->drops, sizeof counters->drops);
}

bool engine_check_conservation(const struct engine *engine)
{
    struct engine_counters counters;
    uint64_t ended;

    engine_query(engine, &counters);
    ended = counters.frames_delivered + counters.frames_in_flight;
    for (uint32_t d = WIRE_DROP_NONE + 1; d < WIRE_DROP_COUNT; d++)
        ended += counters.drops[d];
    return counters.frames_sent + counters.frames_copied == ended;
}

const struct engine_port_counters *engine_query_port(const struct engine *engine, uint32_t port)
{
    struct engine_port *cold = &engine->ports[port];

    WIRE_ASSERT(port < engine->n_ports);
    cold->counters.paused_ps =
        engine_mac_paused_ps(&engine->macs[port], &cold->pause, engine->now_ps);
    return &cold->counters;
}

uint64_t engine_query_busy_ps(const struct engine *engine, uint32_t port)
{
    uint64_t busy_ps = engine_query_port(engine, port)->busy_ps;
    uint64_t free_ps = engine->macs[port].free_ps;

    return free_ps > engine->now_ps ? busy_ps - (free_ps - engine->now_ps) : busy_ps;
}
