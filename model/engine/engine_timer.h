/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * A deadline that may move, with at most a few events in the wheel that stand for it.
 *
 * A deadline that moves later costs nothing: the event armed already fires, sees the deadline and
 * arms again. One that moves earlier arms a new event and parks the later one, to be used again.
 *
 * Owns   struct engine_timer, struct engine_timer_parked; the events are the wheel's
 * Cost   O(1)
 */
#ifndef ENGINE_TIMER_H
#define ENGINE_TIMER_H

#include "wire_types.h"

#define ENGINE_TIMER_PARKED 3u

struct engine_timer {
    uint64_t deadline_ps; /* WIRE_NEVER: not wanted */
    uint64_t armed_ps;    /* earliest event in the wheel that stands for it; WIRE_NEVER: none */
};

/* Later events in the wheel, earliest first, WIRE_NEVER after them. */
struct engine_timer_parked {
    uint64_t at_ps[ENGINE_TIMER_PARKED];
};

void engine_timer_init(struct engine_timer *timer, struct engine_timer_parked *parked);
void engine_timer_park(struct engine_timer_parked *parked, uint64_t at_ps);

/** Move the deadline. @return true: schedule an event at timer->armed_ps. */
static inline bool engine_timer_set(struct engine_timer *timer, struct engine_timer_parked *parked,
                                    uint64_t deadline_ps)
{
    timer->deadline_ps = deadline_ps;
    if (deadline_ps >= timer->armed_ps)
        return false;
    if (timer->armed_ps != WIRE_NEVER)
        engine_timer_park(parked, timer->armed_ps);
    timer->armed_ps = deadline_ps;
    return true;
}

enum engine_timer_verdict {
    ENGINE_TIMER_RUN,   /* the deadline: it is now cleared */
    ENGINE_TIMER_STALE, /* nothing is wanted now */
    ENGINE_TIMER_AGAIN  /* too early: schedule an event at timer->armed_ps */
};

/** An event of the timer fires at @p now_ps. */
enum engine_timer_verdict engine_timer_fire(struct engine_timer *timer,
                                            struct engine_timer_parked *parked, uint64_t now_ps);

#endif
