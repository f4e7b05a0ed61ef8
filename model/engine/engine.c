/* SPDX-License-Identifier: GPL-2.0-only */
#include "engine_state.h"

#include <stdlib.h>
#include <string.h>

#define CACHE_LINE 64u
#define PORTS_AT_FIRST 16u

struct engine *engine_create(const struct engine_config *config)
{
    struct engine *engine = calloc(1, sizeof *engine);

    if (engine == NULL)
        return NULL;
    engine->wheel = malloc(sizeof *engine->wheel);
    if (engine->wheel == NULL || !engine_wheel_init(engine->wheel)) {
        free(engine->wheel);
        free(engine);
        return NULL;
    }
    engine->seed = config->seed;
    engine->wire = config->wire;
    engine->book = config->book;
    engine_pool_init(&engine->pool, config->payload_bytes);
    return engine;
}

static void destroy_visit(void *ctx, const struct engine_event *event)
{
    (void)ctx;
    if (event->kind == ENGINE_KIND_USER)
        free(event->ptr);
}

void engine_destroy(struct engine *engine)
{
    if (engine == NULL)
        return;
    WIRE_ASSERT(!engine->busy);
    engine_wheel_walk(engine->wheel, destroy_visit, NULL);
    while (engine->user_free != NULL) {
        struct engine_user *user = engine->user_free;

        engine->user_free = user->next;
        free(user);
    }
    engine_wheel_fini(engine->wheel);
    free(engine->wheel);
    engine_pool_fini(&engine->pool);
    for (uint32_t p = 0; p < engine->n_ports; p++) {
        if ((engine->macs[p].flags & ENGINE_MAC_OUTSIDE) != 0)
            free(engine->macs[p].outside); /* what waits there went with the pool */
    }
    free(engine->macs);
    free(engine->ports);
    free(engine->dirty);
    free(engine);
}

/* ---- ports ---- */

/* Room for @p more ports. @return false: out of memory or numbers, nothing changed. */
static bool ports_reserve(struct engine *engine, uint32_t more)
{
    uint32_t size = engine->ports_size > 0 ? engine->ports_size : PORTS_AT_FIRST;
    struct engine_mac *macs;
    struct engine_port *ports;
    uint32_t *dirty;

    WIRE_ASSERT(engine->dirty_n == 0);
    if (more > ENGINE_PORTS_MAX - engine->n_ports)
        return false;
    while (size < engine->n_ports + more)
        size *= 2;
    if (size == engine->ports_size)
        return true;
    macs = aligned_alloc(CACHE_LINE, size * sizeof *macs);
    ports = malloc(size * sizeof *ports);
    dirty = malloc(size * sizeof *dirty);
    if (macs == NULL || ports == NULL || dirty == NULL) {
        free(macs);
        free(ports);
        free(dirty);
        return false;
    }
    if (engine->n_ports > 0) {
        memcpy(macs, engine->macs, engine->n_ports * sizeof *macs);
        memcpy(ports, engine->ports, engine->n_ports * sizeof *ports);
    }
    free(engine->macs);
    free(engine->ports);
    free(engine->dirty);
    engine->macs = macs;
    engine->ports = ports;
    engine->dirty = dirty;
    engine->ports_size = size;
    return true;
}

static void port_init(struct engine *engine, uint32_t device_port)
{
    uint32_t port = engine->n_ports++;
    struct engine_port *cold = &engine->ports[port];

    memset(cold, 0, sizeof *cold);
    engine_mac_init(&engine->macs[port], &cold->pause);
    engine_timer_init(&cold->wake, &cold->wake_parked);
    engine_timer_init(&engine->macs[port].kick, &cold->kick_parked);
    cold->link.rng = engine_link_rng(engine->seed, port);
    cold->device_port = device_port;
    engine->macs[port].local_port = port - device_port;
}

uint32_t engine_add_nic(struct engine *engine, struct rnic_device *dev)
{
    uint32_t port = engine->n_ports;

    WIRE_ASSERT(!engine->busy);
    if (!ports_reserve(engine, 1))
        return WIRE_STATION_NONE;
    port_init(engine, port);
    engine->macs[port].nic = dev;
    return port;
}

uint32_t engine_next_port(const struct engine *engine)
{
    return engine->n_ports;
}

uint32_t engine_add_outside(struct engine *engine)
{
    struct engine_outside *outside = malloc(sizeof *outside);
    uint32_t port = engine->n_ports;

    WIRE_ASSERT(!engine->busy);
    if (outside == NULL || !ports_reserve(engine, 1)) {
        free(outside);
        return WIRE_STATION_NONE;
    }
    engine_outside_init(outside);
    port_init(engine, port);
    engine->macs[port].outside = outside;
    engine->macs[port].flags = ENGINE_MAC_OUTSIDE;
    return port;
}

uint32_t engine_add_switch(struct engine *engine, struct fabric_switch *sw, uint32_t ports)
{
    uint32_t first = engine->n_ports;

    WIRE_ASSERT(!engine->busy);
    WIRE_ASSERT(ports > 0);
    if (!ports_reserve(engine, ports))
        return WIRE_STATION_NONE;
    for (uint32_t i = 0; i < ports; i++) {
        port_init(engine, first);
        engine->macs[first + i].sw = sw;
        engine->macs[first + i].flags = ENGINE_MAC_SWITCH;
        if (fabric_is_bridge(sw))
            engine->macs[first + i].flags |= ENGINE_MAC_BRIDGE;
    }
    if ((engine->trace_mask >> ENGINE_TRACE_FABRIC & 1) != 0)
        fabric_trace_enable(sw, UINT32_MAX);
    return first;
}

/* Port @p port sends by @p out and receives what was sent by @p in. */
static void port_connect(struct engine *engine, uint32_t port, uint32_t peer,
                         const struct engine_link_params *out, const struct engine_link_params *in,
                         uint32_t max_frame_bytes)
{
    struct engine_mac *mac = &engine->macs[port];
    struct engine_port *cold = &engine->ports[port];

    mac->peer = peer;
    mac->delay_ps = out->delay_ps;
    mac->ps_per_byte = engine_link_ps_per_byte(out->rate_bps);
    cold->link.rate_bps = out->rate_bps;
    cold->link.loss = in->loss;
    cold->pause.rate_bps = out->rate_bps;
    cold->pause.reaction_ps = out->pause_reaction_ps;
    if (in->loss > 0)
        mac->flags |= ENGINE_MAC_LOSSY;
    if ((mac->flags & ENGINE_MAC_SWITCH) != 0) {
        struct fabric_port_config config = {.station = port,
                                            .peer_station = peer,
                                            .rate_bps = out->rate_bps,
                                            .delay_ps = wire_max_ps(out->delay_ps, in->delay_ps),
                                            .peer_reaction_ps = in->pause_reaction_ps,
                                            .max_frame_bytes = max_frame_bytes};

        fabric_port_set(mac->sw, mac->local_port, &config);
    }
}

int engine_connect(struct engine *engine, uint32_t a, uint32_t b,
                   const struct engine_link_params *ab, const struct engine_link_params *ba,
                   uint32_t max_frame_bytes)
{
    const struct wire_param *table = engine_link_param_table;

    if (a >= engine->n_ports || b >= engine->n_ports || a == b)
        return -1;
    if (engine->macs[a].peer != WIRE_STATION_NONE || engine->macs[b].peer != WIRE_STATION_NONE)
        return -1;
    if (wire_param_check(table, engine_link_param_count, ab) != NULL ||
        wire_param_check(table, engine_link_param_count, ba) != NULL)
        return -1;
    port_connect(engine, a, b, ab, ba, max_frame_bytes);
    port_connect(engine, b, a, ba, ab, max_frame_bytes);
    if ((engine->macs[a].flags & ENGINE_MAC_SWITCH) == 0)
        engine_touch(engine, a); /* what already waits may leave now; a switch may not run yet */
    if ((engine->macs[b].flags & ENGINE_MAC_SWITCH) == 0)
        engine_touch(engine, b);
    return 0;
}

int engine_set_line(struct engine *engine, uint32_t port, bool up)
{
    uint32_t ends[2] = {port, WIRE_STATION_NONE};

    if (port >= engine->n_ports || engine->macs[port].peer == WIRE_STATION_NONE)
        return -1;
    ends[1] = engine->macs[port].peer;
    for (size_t i = 0; i < 2; i++) {
        struct engine_link *link = &engine->ports[ends[i]].link;

        if (up && link->down)
            link->up_ps = engine->now_ps;
        link->down = !up;
        engine->macs[ends[i]].flags |= ENGINE_MAC_LOSSY;
    }
    return 0;
}

uint32_t engine_ports(const struct engine *engine)
{
    return engine->n_ports;
}

uint32_t engine_peer(const struct engine *engine, uint32_t port)
{
    WIRE_ASSERT(port < engine->n_ports);
    return engine->macs[port].peer;
}

uint32_t engine_ready_classes(const struct engine *engine, uint32_t port)
{
    WIRE_ASSERT(port < engine->n_ports);
    return engine->macs[port].ready;
}

/* ---- from outside and from hooks ---- */

void engine_touch(struct engine *engine, uint32_t port)
{
    struct engine_mac *mac = &engine->macs[port];

    WIRE_ASSERT(port < engine->n_ports);
    if (!engine->busy) {
        engine->busy = true;
        engine_run_look(engine, port);
        engine_run_serve(engine);
        engine->busy = false;
    } else if ((mac->flags & ENGINE_MAC_DIRTY) == 0) {
        uint32_t last = engine->dirty_first + engine->dirty_n++;

        WIRE_ASSERT(engine->dirty_n <= engine->ports_size);
        mac->flags |= ENGINE_MAC_DIRTY;
        engine->dirty[last < engine->ports_size ? last : last - engine->ports_size] = port;
    }
}

bool engine_outside_send(struct engine *engine, uint32_t port, struct wire_frame *frame)
{
    struct engine_mac *mac = &engine->macs[port];

    WIRE_ASSERT(port < engine->n_ports && (mac->flags & ENGINE_MAC_OUTSIDE) != 0);
    WIRE_ASSERT(frame->kind == WIRE_KIND_ROCE || frame->kind == WIRE_KIND_OPAQUE);
    if (!engine_outside_push(mac->outside, frame))
        return false;
    engine_touch(engine, port);
    return true;
}

void engine_at(struct engine *engine, uint32_t port, uint64_t when_ps,
               void (*fn)(void *ctx, uint64_t now_ps), void *ctx)
{
    struct engine_user *user = engine->user_free;

    WIRE_ASSERT(port < engine->n_ports);
    WIRE_ASSERT(when_ps >= engine->now_ps);
    if (user != NULL)
        engine->user_free = user->next;
    else
        user = malloc(sizeof *user);
    if (user == NULL)
        abort();
    *user = (struct engine_user){.fn = fn, .ctx = ctx};
    engine_run_schedule(engine, port, ENGINE_RANK_LOCAL, ENGINE_KIND_USER, when_ps, user);
}

struct wire_frame *engine_frame_alloc(struct engine *engine)
{
    return engine_pool_alloc(&engine->pool);
}

void engine_frame_free(struct engine *engine, struct wire_frame *frame)
{
    engine_pool_free(&engine->pool, frame);
}

void engine_set_hooks(struct engine *engine, const struct engine_hooks *hooks)
{
    engine->hooks = *hooks;
    engine->pool.opaque_free = hooks->opaque_free;
    engine->pool.opaque_copy = hooks->opaque_copy;
    engine->pool.opaque_ctx = hooks->ctx;
    engine_set_trace_mask(engine, hooks->trace_mask);
}

void engine_set_trace_mask(struct engine *engine, uint32_t mask)
{
    uint32_t changed = engine->trace_mask ^ mask;

    engine->trace_mask = mask;
    if ((changed >> ENGINE_TRACE_FABRIC & 1) == 0)
        return;
    for (uint32_t p = 0; p < engine->n_ports; p++) {
        if ((engine->macs[p].flags & ENGINE_MAC_SWITCH) != 0 && engine->macs[p].local_port == 0)
            fabric_trace_enable(engine->macs[p].sw,
                                (mask >> ENGINE_TRACE_FABRIC & 1) != 0 ? UINT32_MAX : 0);
    }
}
