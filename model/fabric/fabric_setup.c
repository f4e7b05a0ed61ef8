/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Making a switch: memory, ports, routes, and the sum that must fit the buffer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_port.h"

/* Random streams of a run: of a port's marks its station, of its line 2^32 more. This is above. */
#define ECMP_STREAM ((uint64_t)2 << 32)

static uint32_t setup_count_bits(uint32_t mask)
{
    return (uint32_t)__builtin_popcount(mask);
}

/* The lowest class that is not in @p mask, WIRE_CLASSES: all are. */
static uint32_t setup_first_clear(uint32_t mask)
{
    uint32_t prio = 0;

    while (prio < WIRE_CLASSES && (mask >> prio & 1) != 0)
        prio++;
    return prio;
}

/* Arrays with one entry a port, and the table of a bridge. @return 0, -1: out of memory. */
static int setup_alloc(struct fabric_switch *sw, uint32_t ports)
{
    size_t ports_bytes = ports * sizeof(*sw->ports);
    size_t lanes_bytes = ports * sizeof(*sw->lanes) * WIRE_CLASSES;

    sw->ports = aligned_alloc(FABRIC_LINE_BYTES, ports_bytes);
    sw->lanes = aligned_alloc(FABRIC_LINE_BYTES, lanes_bytes);
    sw->configs = calloc(ports, sizeof(*sw->configs));
    if (sw->ports == NULL || sw->lanes == NULL || sw->configs == NULL)
        return -1;
    memset(sw->ports, 0, ports_bytes);
    memset(sw->lanes, 0, lanes_bytes);
    if (sw->params.l2 && sw->params.l2_learn &&
        fabric_bridge_init(&sw->bridge, (uint32_t)sw->params.l2_entries, sw->params.l2_age_ps) != 0)
        return -1;
    if (fabric_pfc_clock_init(&sw->clock, ports) != 0 || fabric_trace_init(&sw->trace) != 0)
        return -1;
    for (uint32_t i = 0; i < ports; i++) {
        sw->ports[i].station = WIRE_STATION_NONE;
        sw->ports[i].peer_station = WIRE_STATION_NONE;
        sw->configs[i].station = WIRE_STATION_NONE;
        sw->configs[i].peer_station = WIRE_STATION_NONE;
        fabric_ecn_off(&sw->ports[i].ecn);
    }
    return 0;
}

struct fabric_switch *fabric_create(const struct fabric_params *params, uint32_t ports,
                                    uint64_t seed, uint32_t number)
{
    struct fabric_switch *sw;

    if (ports == 0 || ports > FABRIC_PORTS_MAX ||
        wire_param_check(fabric_param_table, fabric_param_count, params) != NULL)
        return NULL;
    sw = calloc(1, sizeof(*sw));
    if (sw == NULL)
        return NULL;
    if (params->ecmp_seed != 0)
        fabric_route_init(&sw->route, params->ecmp_seed, ECMP_STREAM);
    else
        fabric_route_init(&sw->route, seed, ECMP_STREAM + number);
    sw->params = *params;
    if (setup_alloc(sw, ports) != 0) {
        fabric_destroy(sw);
        return NULL;
    }
    sw->port_count = ports;
    sw->seed = seed;
    sw->lossless = params->lossless ? (uint32_t)params->lossless_classes : 0;
    sw->flood_class = setup_first_clear(sw->lossless);
    sw->strict = (uint32_t)params->strict_classes;
    sw->kick_head = FABRIC_KICK_NONE;
    sw->l2 = params->l2 != 0;
    sw->mark_at_enqueue = params->ecn_at == 1;
    sw->quanta = (uint16_t)params->pause_quanta;
    sw->latency_ps = params->latency_ps;
    sw->quantum_bytes = params->dwrr_quantum_bytes;
    sw->mmu.reserved_bytes = params->reserved_bytes;
    sw->mmu.xon_offset_bytes = params->xon_offset_bytes;
    sw->mmu.alpha = params->alpha;
    sw->mmu.lossy_alpha = params->lossy_alpha;
    return sw;
}

void fabric_destroy(struct fabric_switch *sw)
{
    if (sw == NULL)
        return;
    fabric_trace_free(&sw->trace);
    fabric_pfc_clock_free(&sw->clock);
    fabric_route_free(&sw->route);
    fabric_bridge_free(&sw->bridge);
    free(sw->configs);
    free(sw->lanes);
    free(sw->ports);
    free(sw);
}

void fabric_port_set(struct fabric_switch *sw, uint32_t port,
                     const struct fabric_port_config *config)
{
    WIRE_ASSERT(port < sw->port_count && !sw->started);
    WIRE_ASSERT(config->peer_station == WIRE_STATION_NONE ||
                (config->rate_bps > 0 && config->max_frame_bytes > 0));
    sw->configs[port] = *config;
    sw->ports[port].station = config->station;
    sw->ports[port].peer_station = config->peer_station;
    sw->ports[port].ecn.rng = wire_rng_init(sw->seed, config->station);
}

int fabric_route_set(struct fabric_switch *sw, uint32_t dest, const uint16_t *ports, uint32_t n)
{
    if (n > UINT16_MAX)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        if (ports[i] >= sw->port_count)
            return -1;
    }
    return fabric_route_add(&sw->route, dest, ports, n);
}

void fabric_learn(struct fabric_switch *sw, uint32_t station, uint32_t port)
{
    WIRE_ASSERT(port < sw->port_count);
    if (sw->bridge.entries != NULL)
        fabric_bridge_learn(&sw->bridge, station, port, 0);
}

/* ---- start ---- */

static uint64_t setup_scale(uint64_t bytes, uint64_t rate_bps, uint64_t per_rate_bps)
{
    __extension__ typedef unsigned __int128 u128;
    u128 scaled = per_rate_bps == 0 ? bytes : (u128)bytes * rate_bps / per_rate_bps;

    return scaled < UINT64_MAX ? (uint64_t)scaled : UINT64_MAX - 1;
}

/* What follows from the rate of one connected port. */
static void setup_start_port(struct fabric_switch *sw, uint32_t number)
{
    const struct fabric_params *params = &sw->params;
    const struct fabric_port_config *config = &sw->configs[number];
    struct fabric_port *port = &sw->ports[number];
    const struct fabric_mmu_link link = {.rate_bps = config->rate_bps,
                                         .delay_ps = config->delay_ps,
                                         .peer_reaction_ps = config->peer_reaction_ps,
                                         .max_frame_bytes = config->max_frame_bytes};

    port->headroom_bytes = params->headroom_bytes;
    if (params->headroom_bytes == 0)
        port->headroom_bytes = fabric_mmu_headroom_bytes(&link);
    sw->clock.interval_ps[number] = fabric_pfc_interval_ps(
        sw->quanta, params->pause_refresh, config->rate_bps, config->max_frame_bytes);
    if (params->ecn)
        fabric_ecn_init(
            &port->ecn,
            setup_scale(params->ecn_kmin_bytes, config->rate_bps, params->ecn_per_rate_bps),
            setup_scale(params->ecn_kmax_bytes, config->rate_bps, params->ecn_per_rate_bps),
            params->ecn_pmax);
}

int fabric_start(struct fabric_switch *sw, char *why, size_t size)
{
    const struct fabric_params *params = &sw->params;
    uint64_t reserved, headroom = 0, sum;
    uint32_t connected = 0, lossless = setup_count_bits(sw->lossless);

    WIRE_ASSERT(!sw->started);
    if (params->ecn && params->ecn_kmin_bytes > params->ecn_kmax_bytes) {
        snprintf(why, size, "ecn_kmin %" PRIu64 " B is %" PRIu64 " B above ecn_kmax %" PRIu64 " B",
                 params->ecn_kmin_bytes, params->ecn_kmin_bytes - params->ecn_kmax_bytes,
                 params->ecn_kmax_bytes);
        return -1;
    }
    for (uint32_t i = 0; i < sw->port_count; i++) {
        if (sw->ports[i].peer_station == WIRE_STATION_NONE)
            continue;
        setup_start_port(sw, i);
        headroom += sw->ports[i].headroom_bytes * lossless;
        connected++;
    }
    reserved = (uint64_t)connected * WIRE_CLASSES * params->reserved_bytes;
    sum = reserved + headroom;
    if (sum > params->buffer_bytes) {
        snprintf(why, size,
                 "reserved %" PRIu64 " B (%" PRIu32 " ports x %u classes x %" PRIu64
                 " B) + headroom %" PRIu64 " B (%" PRIu32 " ports x %" PRIu32
                 " lossless classes) = %" PRIu64 " B, but buffer is %" PRIu64 " B: %" PRIu64
                 " B missing",
                 reserved, connected, WIRE_CLASSES, params->reserved_bytes, headroom, connected,
                 lossless, sum, params->buffer_bytes, sum - params->buffer_bytes);
        return -1;
    }
    sw->mmu.pool_bytes = params->buffer_bytes - sum;
    sw->started = true;
    return 0;
}
