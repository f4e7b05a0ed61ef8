/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The engine: one timing wheel, links, MACs and the frame pool; moves frames between cards,
 * switches and what is outside in time.
 *
 * One tie-break everywhere: time, then port, then rank (arrivals first), then a sequence number of
 * that port; one random stream per port. So results do not depend on who drives it or how often it
 * is peeked.
 * Port numbers are stations. What ns-3 or a test adds: two hooks and a user event.
 *
 * Owns   ports, links, the wheel, the frame pool. Cards and switches are the caller's.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include "fabric_switch.h"
#include "rnic_device.h"
#include "wire_addr.h"

/* X(field, unit, default, min, max, source, text, names) */
#define ENGINE_LINK_PARAMS(X)                                                                      \
    X(rate_bps, RATE, 100000000000, 1000000, 100000000000000, "choice: 100G", "Rate of the link",  \
      NULL)                                                                                        \
    X(delay_ps, TIME, 1000000, 0, 1000000000000000, "HPCC: 1 us", "Propagation delay", NULL)       \
    X(loss, RATIO, 0, 0, 1, "choice", "Probability that a frame (PFC too) is lost on the line",    \
      NULL)                                                                                        \
    X(pause_reaction_ps, TIME, 0, 0, 1000000000,                                                   \
      "802.3 31B: at most 394 quanta at 100G; 0 as in "                                            \
      "peers",                                                                                     \
      "From a pause frame's last bit until the MAC stops", NULL)

struct engine_link_params {
    ENGINE_LINK_PARAMS(WIRE_PARAM_FIELD)
};
extern const struct wire_param engine_link_param_table[];
extern const size_t engine_link_param_count;

#define ENGINE_OUTSIDE_BYTES (4u << 20) /* about the transmit queue of a host's card */

struct engine;

struct engine_config {
    uint64_t seed;
    bool wire;                         /* encode at every link and go on with what was decoded */
    uint32_t payload_bytes;            /* bytes of a frame's payload slot; 0: phantom memory only */
    const struct wire_addr_book *book; /* NULL: default addresses */
};

struct engine *engine_create(const struct engine_config *config); /* NULL: out of memory */
/** Frees every frame, wherever it is, but no card or switch; calls none, so they may be gone. */
void engine_destroy(struct engine *engine);

/**
 * Add a card as the next port.
 * @return its port number (= station), WIRE_STATION_NONE: out of memory or of the 2^22 numbers.
 */
uint32_t engine_add_nic(struct engine *engine, struct rnic_device *dev);
/** Number the next engine_add_nic or engine_add_switch will return: the station to configure. */
uint32_t engine_next_port(const struct engine *engine);
/**
 * Add a port as the next one whose frames come from outside of the simulation and go there: no
 * card, no switch. It has a line and a MAC like any, and obeys pause frames.
 * @return its port number (= station), WIRE_STATION_NONE: out of memory or numbers.
 */
uint32_t engine_add_outside(struct engine *engine);
/**
 * A frame of engine_frame_alloc() comes in from outside at @p port, which sends it on its line at
 * engine_now_ps or as soon as it may: those of one class in order, and of several classes that may
 * leave the one that came first. All fields of line 0 must be set; kind is ROCE or OPAQUE. From a
 * hook or user event it leaves right after the current event at the earliest.
 * @return false: more than ENGINE_OUTSIDE_BYTES wait already, the frame is still the caller's.
 */
bool engine_outside_send(struct engine *engine, uint32_t port, struct wire_frame *frame);
/** Add a switch as the next @p ports ports, in order. @return the first of them, or as above. */
uint32_t engine_add_switch(struct engine *engine, struct fabric_switch *sw, uint32_t ports);

/**
 * Join two ports. @p ab holds for frames from @p a to @p b, @p ba for the others.
 * Also tells a switch at either end its port's rate, delay and peer (fabric_port_set) with
 * @p max_frame_bytes. @p ab->pause_reaction_ps is the MAC's of @p a. What waits leaves now.
 * @return 0, -1: a port does not exist or is already connected, or a parameter is out of range.
 */
int engine_connect(struct engine *engine, uint32_t a, uint32_t b,
                   const struct engine_link_params *ab, const struct engine_link_params *ba,
                   uint32_t max_frame_bytes);

/**
 * The line at @p port goes down or comes up, both directions, at engine_now_ps. Lost is what was on
 * it when it went down, and all that begins before it is up again, pause frames too
 * (WIRE_DROP_LINK_DOWN). Nobody notices at once: MACs send on, routes stay.
 * @return 0, -1: no such port, or it is not connected.
 */
int engine_set_line(struct engine *engine, uint32_t port, bool up);

/** Time of the earliest event, WIRE_NEVER: none. Changes nothing. */
uint64_t engine_next_ps(const struct engine *engine);
/** Time up to which the engine has run. */
uint64_t engine_now_ps(const struct engine *engine);
/** When a frame last arrived, whoever drives and watches; 0: never. */
uint64_t engine_last_ps(const struct engine *engine);

/**
 * Run every event at or before @p until_ps, then stand at until_ps (not when WIRE_NEVER).
 * Stops early after engine_stop(). @return events run.
 */
uint64_t engine_run(struct engine *engine, uint64_t until_ps);
/** Run the events of the earliest timestamp only. @return events run. */
uint64_t engine_run_one(struct engine *engine);
/** From a hook or user event: end engine_run after the current event. */
void engine_stop(struct engine *engine);

/**
 * A card was touched from outside at engine_now_ps (a verb, rnic_post_raw): look again. From a hook
 * or user event it is looked at right after the current event; else now.
 */
void engine_touch(struct engine *engine, uint32_t port);

/** Call @p fn(ctx, time) at @p when_ps >= engine_now_ps, ordered as an event of @p port. */
void engine_at(struct engine *engine, uint32_t port, uint64_t when_ps,
               void (*fn)(void *ctx, uint64_t now_ps), void *ctx);

/** A blank frame of the pool; with payload slot when the pool has bytes. NULL: out of memory. */
struct wire_frame *engine_frame_alloc(struct engine *engine);
void engine_frame_free(struct engine *engine, struct wire_frame *frame);

enum engine_trace_type {
    ENGINE_TRACE_TX,    /* first bit leaves; frame valid */
    ENGINE_TRACE_RX,    /* last bit arrived, before the device sees it; frame valid */
    ENGINE_TRACE_DROP,  /* frame valid, drop says why */
    ENGINE_TRACE_PAUSE, /* MAC state: a class of this port was paused or resumed by its peer */
    ENGINE_TRACE_FABRIC /* fabric valid: a record of the switch */
};
struct engine_trace {
    enum engine_trace_type type;
    uint32_t port;
    uint64_t time_ps;
    const struct wire_frame *frame;
    enum wire_drop drop;
    uint32_t paused_classes;
    const struct fabric_event *fabric;
};

struct engine_hooks {
    void *ctx;
    /** An event of a card, at its time: every one rnic_event yields. */
    void (*nic_event)(void *ctx, uint32_t port, const struct rnic_event *event);
    /** An opaque frame arrived at a card; frame->opaque may be taken (set it to NULL). */
    void (*opaque_rx)(void *ctx, uint32_t port, struct wire_frame *frame);
    /**
     * A frame arrived at a port of engine_add_outside, for whomever it is; it is freed after the
     * call. Without this hook it is dropped (WIRE_DROP_NO_LISTENER).
     */
    void (*outside_rx)(void *ctx, uint32_t port, const struct wire_frame *frame);
    /** An opaque frame is freed with its opaque still in it. */
    void (*opaque_free)(void *ctx, void *opaque);
    /** Another one like it, for a copy of its frame; NULL: a copy carries none. */
    void *(*opaque_copy)(void *ctx, const void *opaque);
    /** Trace records of the types in trace_mask. Must not touch the engine. */
    void (*trace)(void *ctx, const struct engine_trace *record);
    uint32_t trace_mask; /* bit of enum engine_trace_type */
};
/** May be called at any time; nothing of what happened before is told. */
void engine_set_hooks(struct engine *engine, const struct engine_hooks *hooks);
/** Bit set of traces wanted at one port only is the hook's business; this sets the mask. */
void engine_set_trace_mask(struct engine *engine, uint32_t mask);

struct engine_port_counters {
    uint64_t tx_frames, tx_bytes;    /* put on the line, pause frames apart */
    uint64_t rx_frames;              /* arrived whole and taken by the device */
    uint64_t pause_tx, pause_rx;     /* PFC frames */
    uint64_t busy_ps;                /* time the line was busy, gap included */
    uint64_t paused_ps;              /* time at least one class was paused, summed */
    uint64_t drops[WIRE_DROP_COUNT]; /* frames that ended at this port (or its link), by reason */
};
const struct engine_port_counters *engine_query_port(const struct engine *engine, uint32_t port);
/** counters.busy_ps without what is still to come of the frame on the line. */
uint64_t engine_query_busy_ps(const struct engine *engine, uint32_t port);

/* Conservation, RoCE and opaque frames: sent + copied = delivered + drops + in_flight. */
struct engine_counters {
    uint64_t events;
    uint64_t packet_hops;      /* frames that crossed a link, pause frames apart */
    uint64_t frames_sent;      /* by cards and from outside */
    uint64_t frames_copied;    /* made where a bridge floods, the frame that came apart */
    uint64_t frames_delivered; /* to cards, taken by them (acknowledges too), and to outside */
    uint64_t drops[WIRE_DROP_COUNT];
    uint64_t pause_frames_sent, pause_frames_lost;
    uint64_t frames_in_flight; /* counted by walking the wheel's arrivals and the switches */
};
void engine_query(const struct engine *engine, struct engine_counters *counters);
/** Does the equation above hold now? */
bool engine_check_conservation(const struct engine *engine);

uint32_t engine_ports(const struct engine *engine);
uint32_t engine_peer(const struct engine *engine, uint32_t port); /* WIRE_STATION_NONE */
/** Bit c set: class c of this port may send now. */
uint32_t engine_ready_classes(const struct engine *engine, uint32_t port);

#endif
