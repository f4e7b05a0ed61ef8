/* SPDX-License-Identifier: GPL-2.0-only */
#include "fabric_pfc.h"

#include <stdlib.h>

#define PAUSE_FRAME_BYTES 64u

uint64_t fabric_pfc_interval_ps(uint16_t quanta, double share, uint64_t rate_bps,
                                uint32_t max_frame_bytes)
{
    uint64_t pause_ps = wire_line_time_ps((uint64_t)quanta * WIRE_PAUSE_QUANTUM_BYTES, rate_bps);
    uint64_t frame_ps = wire_line_time_ps((uint64_t)max_frame_bytes + WIRE_GAP_BYTES, rate_bps);
    uint64_t interval_ps = (uint64_t)(share * (double)pause_ps);

    WIRE_ASSERT(quanta > 0);
    WIRE_ASSERT(share > 0.0 && share <= 1.0);
    if (pause_ps > frame_ps)
        interval_ps = wire_min_ps(interval_ps, pause_ps - frame_ps);
    return wire_max_ps(interval_ps, 1);
}

int fabric_pfc_clock_init(struct fabric_pfc_clock *clock, uint32_t ports)
{
    clock->refresh_ps = malloc(ports * sizeof(*clock->refresh_ps));
    clock->interval_ps = calloc(ports, sizeof(*clock->interval_ps));
    clock->ports = ports;
    clock->next_ps = WIRE_NEVER;
    if (clock->refresh_ps == NULL || clock->interval_ps == NULL)
        return -1;
    for (uint32_t i = 0; i < ports; i++)
        clock->refresh_ps[i] = WIRE_NEVER;
    return 0;
}

void fabric_pfc_clock_free(struct fabric_pfc_clock *clock)
{
    free(clock->refresh_ps);
    free(clock->interval_ps);
    clock->refresh_ps = NULL;
    clock->interval_ps = NULL;
}

static void pfc_recompute_next(struct fabric_pfc_clock *clock)
{
    uint64_t next_ps = WIRE_NEVER;

    for (uint32_t i = 0; i < clock->ports; i++)
        next_ps = wire_min_ps(next_ps, clock->refresh_ps[i]);
    clock->next_ps = next_ps;
}

static void pfc_set_refresh(struct fabric_pfc_clock *clock, uint32_t port, uint64_t when_ps)
{
    uint64_t before_ps = clock->refresh_ps[port];

    clock->refresh_ps[port] = when_ps;
    if (when_ps <= clock->next_ps)
        clock->next_ps = when_ps;
    else if (before_ps == clock->next_ps && before_ps != WIRE_NEVER)
        pfc_recompute_next(clock);
}

/* The fields of a pause frame; all that could be left of the blank's former life is cleared. */
static void pfc_fill(struct wire_frame *frame, uint32_t enabled, uint32_t paused, uint16_t quanta)
{
    frame->next = NULL;
    frame->frame_bytes = PAUSE_FRAME_BYTES;
    frame->src = WIRE_STATION_NONE;
    frame->dst = WIRE_STATION_NONE;
    frame->dest_qpn = 0;
    frame->udp_sport = 0;
    frame->ip_id = 0;
    frame->vlan_tci = 0;
    frame->pkey = 0;
    frame->kind = WIRE_KIND_PFC;
    frame->opcode = 0;
    frame->tos = 0;
    frame->ttl = 0;
    frame->prio = WIRE_CLASSES - 1;
    frame->flags = 0;
    frame->payload_bytes = 0;
    frame->pause_enabled = (uint16_t)enabled;
    for (uint32_t prio = 0; prio < WIRE_CLASSES; prio++)
        frame->pause_quanta[prio] = (enabled & paused) >> prio & 1 ? quanta : 0;
}

struct fabric_pfc_sent fabric_pfc_build(struct fabric_pfc *pfc, struct fabric_pfc_clock *clock,
                                        uint32_t port, uint16_t quanta, uint64_t now_ps,
                                        struct wire_frame *frame)
{
    uint32_t pending = fabric_pfc_pending(pfc);
    struct fabric_pfc_sent sent = {
        .paused = (uint8_t)(pfc->paused & ~pfc->told),
        .refreshed = pfc->due & pfc->paused,
        .resumed = (uint8_t)(pfc->told & ~pfc->paused),
    };
    uint64_t refresh_ps = clock->refresh_ps[port];

    WIRE_ASSERT(pending != 0);
    WIRE_ASSERT((pfc->due & ~pfc->told) == 0);
    pfc_fill(frame, pending, pfc->paused, quanta);
    pfc->told = pfc->paused;
    pfc->due = 0;
    if (pfc->told == 0)
        refresh_ps = WIRE_NEVER;
    else if (refresh_ps == WIRE_NEVER)
        refresh_ps = now_ps + clock->interval_ps[port];
    pfc_set_refresh(clock, port, refresh_ps);
    return sent;
}

uint32_t fabric_pfc_expire(struct fabric_pfc_clock *clock, uint32_t from, uint64_t now_ps)
{
    if (clock->next_ps <= now_ps) {
        for (uint32_t port = from; port < clock->ports; port++) {
            if (clock->refresh_ps[port] <= now_ps) {
                clock->refresh_ps[port] = WIRE_NEVER;
                return port;
            }
        }
        pfc_recompute_next(clock);
    }
    return clock->ports;
}
