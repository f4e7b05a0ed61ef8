/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The switch's own storage: ports and lanes, a cache line each, and the switch around them.
 *
 * A lane is one port and class, with what each block keeps of it. A frame that crosses the switch
 * touches the line of its ingress port, of its egress port, and one lane of each.
 *
 * Owns   nothing by itself: every member belongs to the block whose type it has
 */
#ifndef FABRIC_PORT_H
#define FABRIC_PORT_H

#include <stdalign.h>

#include "fabric_bridge.h"
#include "fabric_ecn.h"
#include "fabric_mmu.h"
#include "fabric_pfc.h"
#include "fabric_route.h"
#include "fabric_sched.h"
#include "fabric_switch.h"
#include "fabric_trace.h"

#define FABRIC_LINE_BYTES 64u
#define FABRIC_PORTS_MAX 65535u /* frame->in_port has 16 bits */
#define FABRIC_KICK_NONE UINT32_MAX

struct fabric_lane {
    alignas(FABRIC_LINE_BYTES) struct fabric_sched_queue queue; /* as egress */
    struct fabric_mmu_ingress ingress;                          /* as ingress */
};

struct fabric_port {
    alignas(FABRIC_LINE_BYTES) uint32_t station;
    uint32_t peer_station; /* WIRE_STATION_NONE: unconnected */
    uint32_t kick_next;    /* next port in the list of kicked ones */
    uint8_t waiting;       /* bit c: queue of class c is not empty */
    uint8_t turn;          /* DWRR */
    bool kicked;           /* is in the list */
    struct fabric_pfc pfc;
    uint64_t headroom_bytes; /* limit of each lossless class */
    struct fabric_ecn ecn;
};

static_assert(sizeof(struct fabric_lane) == FABRIC_LINE_BYTES, "a lane is one cache line");
static_assert(sizeof(struct fabric_port) == FABRIC_LINE_BYTES, "a port is one cache line");

struct fabric_switch {
    struct fabric_port *ports;
    struct fabric_lane *lanes; /* [port * WIRE_CLASSES + class] */
    uint32_t port_count;
    uint32_t lossless; /* bit c: class c is lossless; 0 with PFC off */
    uint32_t strict;
    uint32_t kick_head, kick_tail; /* oldest first; FABRIC_KICK_NONE */
    uint32_t trace_mask;
    uint32_t flood_class; /* class flooded frames are charged to; WIRE_CLASSES: their own */
    bool l2, mark_at_enqueue, started;
    uint16_t quanta;
    uint64_t seed;
    uint64_t latency_ps;
    uint64_t quantum_bytes;
    struct fabric_mmu mmu;
    struct fabric_route route;
    struct fabric_bridge bridge;
    struct fabric_pfc_clock clock;
    struct fabric_counters counters;
    struct fabric_params params;
    struct fabric_port_config *configs; /* by port */
    struct fabric_trace trace;
};

static inline struct fabric_lane *fabric_port_lane(const struct fabric_switch *sw, uint32_t port,
                                                   uint32_t prio)
{
    WIRE_ASSERT(port < sw->port_count && prio < WIRE_CLASSES);
    return &sw->lanes[(size_t)port * WIRE_CLASSES + prio];
}

/** Note that a pull at @p port may succeed earlier than before. */
static inline void fabric_port_kick(struct fabric_switch *sw, uint32_t number)
{
    struct fabric_port *port = &sw->ports[number];

    if (port->kicked)
        return;
    port->kicked = true;
    port->kick_next = FABRIC_KICK_NONE;
    if (sw->kick_head == FABRIC_KICK_NONE)
        sw->kick_head = number;
    else
        sw->ports[sw->kick_tail].kick_next = number;
    sw->kick_tail = number;
}

#endif
