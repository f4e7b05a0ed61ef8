/* SPDX-License-Identifier: GPL-2.0-only */
#include "engine_mac.h"

#include <string.h>

void engine_mac_init(struct engine_mac *mac, struct engine_pause *pause)
{
    memset(mac, 0, sizeof *mac);
    memset(pause, 0, sizeof *pause);
    mac->peer = WIRE_STATION_NONE;
    mac->ready = ENGINE_ALL_CLASSES;
    mac->kick.deadline_ps = mac->kick.armed_ps = WIRE_NEVER;
    engine_timer_init(&pause->timer, &pause->parked);
}

/* The one place where the mask changes: keeps the sum of paused time. */
static uint32_t mac_set_ready(struct engine_mac *mac, struct engine_pause *pause, uint32_t ready,
                              uint64_t now_ps)
{
    uint32_t changed = mac->ready ^ ready;

    WIRE_ASSERT(ready <= ENGINE_ALL_CLASSES);
    if (mac->ready == ENGINE_ALL_CLASSES && ready != ENGINE_ALL_CLASSES)
        pause->since_ps = now_ps;
    if (mac->ready != ENGINE_ALL_CLASSES && ready == ENGINE_ALL_CLASSES)
        pause->paused_ps += now_ps - pause->since_ps;
    mac->ready = (uint8_t)ready;
    return changed;
}

uint32_t engine_mac_pause(struct engine_mac *mac, struct engine_pause *pause,
                          const struct wire_frame *frame, uint64_t now_ps)
{
    bool legacy = frame->kind == WIRE_KIND_PAUSE;
    uint32_t enabled = legacy ? ENGINE_ALL_CLASSES : frame->pause_enabled & ENGINE_ALL_CLASSES;
    uint32_t ready = mac->ready;

    WIRE_ASSERT(engine_mac_is_pause(frame));
    for (uint32_t c = 0; c < WIRE_CLASSES; c++) {
        uint64_t quanta = frame->pause_quanta[legacy ? 0 : c];

        if ((enabled >> c & 1) == 0)
            continue;
        ready = quanta != 0 ? ready & ~(1u << c) : ready | 1u << c;
        pause->until_ps[c] =
            now_ps + wire_line_time_ps(quanta * WIRE_PAUSE_QUANTUM_BYTES, pause->rate_bps);
    }
    return mac_set_ready(mac, pause, ready, now_ps);
}

uint32_t engine_mac_expire(struct engine_mac *mac, struct engine_pause *pause, uint64_t now_ps)
{
    uint32_t ready = mac->ready;

    for (uint32_t c = 0; c < WIRE_CLASSES; c++) {
        if (pause->until_ps[c] <= now_ps)
            ready |= 1u << c;
    }
    return mac_set_ready(mac, pause, ready, now_ps);
}

uint64_t engine_mac_expiry_ps(const struct engine_mac *mac, const struct engine_pause *pause)
{
    uint64_t first_ps = WIRE_NEVER;

    for (uint32_t c = 0; c < WIRE_CLASSES; c++) {
        if ((mac->ready >> c & 1) == 0)
            first_ps = wire_min_ps(first_ps, pause->until_ps[c]);
    }
    return first_ps;
}

uint64_t engine_mac_paused_ps(const struct engine_mac *mac, const struct engine_pause *pause,
                              uint64_t now_ps)
{
    if (mac->ready == ENGINE_ALL_CLASSES)
        return pause->paused_ps;
    WIRE_ASSERT(now_ps >= pause->since_ps);
    return pause->paused_ps + now_ps - pause->since_ps;
}
