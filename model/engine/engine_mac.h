/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The MAC of a port: until when it is busy, which classes its peer has paused, its one armed kick.
 *
 * The same MAC drives a card, a switch and what comes from outside. Line 0 of a port is all that a
 * frame passing reads.
 *
 * Pause    a PFC frame takes effect its reaction time after its last bit: quanta of 512 bit times
 *          from then, a new value replaces the running timer, 0 resumes. Legacy PAUSE: all classes.
 *
 * Owns   struct engine_mac, struct engine_pause of each port
 * Spec   IEEE 802.3 annex 31B (PAUSE), 802.1Qbb (PFC)
 */
#ifndef ENGINE_MAC_H
#define ENGINE_MAC_H

#include "engine_timer.h"
#include "wire_frame.h"

/* ---- line 0 ---- */

enum {
    ENGINE_MAC_SWITCH = 1,   /* device is a switch; neither this nor OUTSIDE: a card */
    ENGINE_MAC_DIRTY = 2,    /* in the list of cards to look at */
    ENGINE_MAC_LOSSY = 4,    /* frames that come in may be lost: share, or line down */
    ENGINE_MAC_BRIDGE = 8,   /* device is a switch that bridges: it may flood */
    ENGINE_MAC_OUTSIDE = 16, /* no device: frames come from outside and go there */
};

struct engine_outside;

struct engine_mac {
    uint64_t free_ps; /* the line can take the next frame */
    struct engine_timer kick;
    uint64_t delay_ps;    /* outgoing direction */
    uint32_t ps_per_byte; /* outgoing; 0: not whole, the exact helper is used */
    uint32_t peer;        /* WIRE_STATION_NONE: unconnected */
    union {
        struct rnic_device *nic;
        struct fabric_switch *sw;
        struct engine_outside *outside;
    };
    uint64_t seq;        /* of the next event that belongs to this port */
    uint32_t local_port; /* number inside the switch */
    uint8_t ready;       /* classes that are not paused */
    uint8_t flags;       /* ENGINE_MAC_* */
};

static_assert(sizeof(struct engine_mac) == 64, "what a hop reads of a port is one cache line");

/* ---- pause ---- */

#define ENGINE_ALL_CLASSES 0xFFu

struct engine_pause {
    uint64_t until_ps[WIRE_CLASSES]; /* valid while the class is not ready */
    uint64_t rate_bps;               /* the quanta's clock: this port's rate */
    uint64_t reaction_ps;
    uint64_t since_ps;  /* start of the running stretch with at least one class paused */
    uint64_t paused_ps; /* finished stretches */
    struct engine_timer timer;
    struct engine_timer_parked parked;
};

void engine_mac_init(struct engine_mac *mac, struct engine_pause *pause);

/** Take a PFC or PAUSE frame at @p now_ps, reaction over. @return classes that changed state. */
uint32_t engine_mac_pause(struct engine_mac *mac, struct engine_pause *pause,
                          const struct wire_frame *frame, uint64_t now_ps);

/** End the pauses that run out at @p now_ps or before. @return classes that changed state. */
uint32_t engine_mac_expire(struct engine_mac *mac, struct engine_pause *pause, uint64_t now_ps);

/** First end of a pause, WIRE_NEVER: none runs. */
uint64_t engine_mac_expiry_ps(const struct engine_mac *mac, const struct engine_pause *pause);

/** Time with at least one class paused, up to @p now_ps. */
uint64_t engine_mac_paused_ps(const struct engine_mac *mac, const struct engine_pause *pause,
                              uint64_t now_ps);

static inline bool engine_mac_is_pause(const struct wire_frame *frame)
{
    return frame->kind == WIRE_KIND_PFC || frame->kind == WIRE_KIND_PAUSE;
}

#endif
