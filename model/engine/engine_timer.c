/* SPDX-License-Identifier: GPL-2.0-only */
#include "engine_timer.h"

void engine_timer_init(struct engine_timer *timer, struct engine_timer_parked *parked)
{
    timer->deadline_ps = timer->armed_ps = WIRE_NEVER;
    for (uint32_t i = 0; i < ENGINE_TIMER_PARKED; i++)
        parked->at_ps[i] = WIRE_NEVER;
}

/* Put in front; the last one is forgotten when all are in use, its event will be found stale. */
void engine_timer_park(struct engine_timer_parked *parked, uint64_t at_ps)
{
    WIRE_ASSERT(at_ps <= parked->at_ps[0]);
    for (uint32_t i = ENGINE_TIMER_PARKED - 1; i > 0; i--)
        parked->at_ps[i] = parked->at_ps[i - 1];
    parked->at_ps[0] = at_ps;
}

static uint64_t timer_unpark(struct engine_timer_parked *parked)
{
    uint64_t at_ps = parked->at_ps[0];

    if (WIRE_LIKELY(at_ps == WIRE_NEVER))
        return at_ps;
    for (uint32_t i = 1; i < ENGINE_TIMER_PARKED; i++)
        parked->at_ps[i - 1] = parked->at_ps[i];
    parked->at_ps[ENGINE_TIMER_PARKED - 1] = WIRE_NEVER;
    return at_ps;
}

enum engine_timer_verdict engine_timer_fire(struct engine_timer *timer,
                                            struct engine_timer_parked *parked, uint64_t now_ps)
{
    WIRE_ASSERT(now_ps <= timer->armed_ps);
    WIRE_ASSERT(timer->armed_ps <= timer->deadline_ps);
    if (now_ps != timer->armed_ps)
        return ENGINE_TIMER_STALE; /* one that was forgotten */
    timer->armed_ps = timer_unpark(parked);
    if (timer->deadline_ps == now_ps) {
        timer->deadline_ps = WIRE_NEVER;
        return ENGINE_TIMER_RUN;
    }
    return engine_timer_set(timer, parked, timer->deadline_ps) ? ENGINE_TIMER_AGAIN
                                                               : ENGINE_TIMER_STALE;
}
