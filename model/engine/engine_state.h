/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * What the files of the engine share: its state, the order of events, the trace test.
 *
 * Order at one time: port, then rank (arrivals, then changes of the pause state, then timers of the
 * card or switch, then the port's own doing), then the port's sequence. So what has arrived by t,
 * and what a timer decides at t, is seen before a MAC starts at t.
 * Arrivals need no sequence: on one line no two end at the same time. So what a port does depends
 * on its own history only, not on who scheduled first.
 *
 * Not part of the contract: nothing outside this folder includes it.
 */
#ifndef ENGINE_STATE_H
#define ENGINE_STATE_H

#include "engine.h"
#include "engine_link.h"
#include "engine_mac.h"
#include "engine_outside.h"
#include "engine_pool.h"
#include "engine_wheel.h"

enum engine_kind {
    ENGINE_KIND_ARRIVAL, /* ptr: frame, its last bit arrives */
    ENGINE_KIND_PAUSE,   /* ptr: pause frame, takes effect */
    ENGINE_KIND_EXPIRE,  /* a pause may run out */
    ENGINE_KIND_KICK,    /* MAC free and something waits */
    ENGINE_KIND_WAKE,    /* timer of a card or switch */
    ENGINE_KIND_USER,    /* ptr: struct engine_user */
};

enum engine_rank {
    ENGINE_RANK_ARRIVAL,
    ENGINE_RANK_PAUSE,
    ENGINE_RANK_WAKE, /* apart: a card that is traced is woken more often */
    ENGINE_RANK_LOCAL
};

#define ENGINE_ORDER_PORT_SHIFT 42u
#define ENGINE_ORDER_RANK_SHIFT 40u
#define ENGINE_PORTS_MAX (1u << (64u - ENGINE_ORDER_PORT_SHIFT))
#define ENGINE_SEQ_MAX ((UINT64_C(1) << ENGINE_ORDER_RANK_SHIFT) - 1)

struct engine_user {
    void (*fn)(void *ctx, uint64_t now_ps);
    void *ctx;
    struct engine_user *next; /* free list */
};

/* All of a port that most hops do not read. Those of the device are its first port's. */
struct engine_port {
    struct engine_port_counters counters;
    struct engine_link link;
    struct engine_timer_parked kick_parked;
    struct engine_pause pause;
    uint32_t device_port;  /* first port of the card or switch this port belongs to */
    uint32_t wake_repeats; /* wakes in a row at one time */
    uint64_t wake_ps;      /* the last one */
    struct engine_timer wake;
    struct engine_timer_parked wake_parked;
};

struct engine {
    uint64_t now_ps;
    uint64_t last_ps;           /* last arrival */
    struct engine_wheel *wheel; /* apart: a peek may remember its answer */
    struct engine_mac *macs;    /* line 0 of each port */
    struct engine_port *ports;  /* the rest */
    uint32_t n_ports, ports_size;
    uint32_t trace_mask;
    bool busy;    /* inside an event or a touch: a touch waits in the dirty list */
    bool running; /* inside engine_run: a kick for now may be run at once */
    bool stop;
    bool wire;
    uint64_t events, packet_hops, frames_sent, frames_copied, frames_delivered;
    uint64_t unwanted; /* events in the wheel of device timers that are off */
    struct engine_pool pool;
    struct wire_frame *blank; /* kept for the next pull, or NULL */
    uint32_t *dirty;          /* ring of ports to look at, each at most once: ports_size entries */
    uint32_t dirty_first, dirty_n;
    struct engine_hooks hooks;
    struct engine_user *user_free;
    uint64_t seed;
    const struct wire_addr_book *book;
    uint64_t drops[WIRE_DROP_COUNT];
    uint64_t pause_frames_sent, pause_frames_lost;
    uint8_t bytes[ENGINE_LINK_BYTES]; /* scratch of `wire` */
};

static inline uint32_t engine_event_port(const struct engine_event *event)
{
    return (uint32_t)(event->order >> ENGINE_ORDER_PORT_SHIFT);
}

/* Look at port @p port's device after a call on it; drains its events into the hooks. */
void engine_run_look(struct engine *engine, uint32_t port);
/* Look at the ports that hooks have touched meanwhile, until there are none. */
void engine_run_serve(struct engine *engine);

/* Schedule an event of a port; every rank but ARRIVAL takes its next sequence number. */
static inline void engine_run_schedule(struct engine *engine, uint32_t port, enum engine_rank rank,
                                       enum engine_kind kind, uint64_t when_ps, void *ptr)
{
    uint64_t seq = rank == ENGINE_RANK_ARRIVAL ? 0 : engine->macs[port].seq++;
    uint64_t order =
        (uint64_t)port << ENGINE_ORDER_PORT_SHIFT | (uint64_t)rank << ENGINE_ORDER_RANK_SHIFT | seq;

    WIRE_ASSERT(when_ps >= engine->now_ps && when_ps != WIRE_NEVER);
    WIRE_ASSERT(seq <= ENGINE_SEQ_MAX);
    engine_wheel_add(engine->wheel, when_ps, order, kind, ptr);
}

#endif
