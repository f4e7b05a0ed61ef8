/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * PFC: what we want of a port's peer, what we told it, and the pause frame that closes the gap.
 *
 * Place  beside the MMU: it decides pause and resume, the ingress port's MAC sends the frame
 * In     pause and resume decisions per class; the time
 * Out    pause frames with quanta (0 resumes); when a pause must be sent again
 * Owns   struct fabric_pfc of every port, and the refresh times
 * Spec   IEEE 802.1Qbb, 802.1Q clause 36; a new quanta value replaces the running timer
 * Cost   decisions O(1); a refresh that fires and the last resume of a port: O(ports)
 *
 * A pause frame waits while `paused` differs from `told`, or while a pause must be refreshed. A
 * decision taken back before its frame was sent leaves nothing to send. All classes of a port that
 * wait share one frame, and all its pauses are refreshed together, when the oldest must be.
 */
#ifndef FABRIC_PFC_H
#define FABRIC_PFC_H

#include "wire_frame.h"

struct fabric_pfc {
    uint8_t paused; /* bit c: class c must not be sent to us */
    uint8_t told;   /* bit c: the last frame sent to the peer paused class c */
    uint8_t due;    /* subset of told: to be sent again, or resumed by now */
};

/* Refresh times of all ports of a switch. */
struct fabric_pfc_clock {
    uint64_t *refresh_ps;  /* by port; WIRE_NEVER: nothing to refresh */
    uint64_t *interval_ps; /* by port: from a pause frame to its refresh */
    uint32_t ports;
    uint64_t next_ps; /* least of refresh_ps */
};

struct fabric_pfc_sent { /* bit c: class c was ... by a pause frame */
    uint8_t paused, refreshed, resumed;
};

static inline void fabric_pfc_pause(struct fabric_pfc *pfc, uint32_t prio)
{
    pfc->paused |= (uint8_t)(1u << prio);
}

static inline void fabric_pfc_resume(struct fabric_pfc *pfc, uint32_t prio)
{
    pfc->paused &= (uint8_t) ~(1u << prio);
}

/** Classes whose peer must hear from us: bit set, 0: no pause frame waits. */
static inline uint32_t fabric_pfc_pending(const struct fabric_pfc *pfc)
{
    return (uint32_t)(pfc->paused ^ pfc->told) | pfc->due;
}

/**
 * From a pause of @p quanta until its refresh at a port of @p rate_bps: @p share of its time, but
 * early enough that a frame of @p max_frame_bytes in the way does not let it run out (unless
 * a frame takes longer than the whole pause).
 */
uint64_t fabric_pfc_interval_ps(uint16_t quanta, double share, uint64_t rate_bps,
                                uint32_t max_frame_bytes);

/** @return 0, -1: out of memory. Every interval is 0 until set. */
int fabric_pfc_clock_init(struct fabric_pfc_clock *clock, uint32_t ports);
void fabric_pfc_clock_free(struct fabric_pfc_clock *clock);

/**
 * Fill @p frame with all that waits at @p port and leave at @p now_ps; arms the refresh.
 * Every field a MAC or the codec reads is written, the payload slot is left alone.
 */
struct fabric_pfc_sent fabric_pfc_build(struct fabric_pfc *pfc, struct fabric_pfc_clock *clock,
                                        uint32_t port, uint16_t quanta, uint64_t now_ps,
                                        struct wire_frame *frame);

/**
 * Take the next port whose refresh time is at or before @p now_ps, from port @p from on.
 * @return its number, its refresh time being gone; clock->ports: no more, next_ps is right again.
 */
uint32_t fabric_pfc_expire(struct fabric_pfc_clock *clock, uint32_t from, uint64_t now_ps);

#endif
