/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Routing table: destination station to egress port, one of several by a hash of the flow.
 *
 * Place  after admission checks of the header, before the MMU
 * In     destination station; source, destination and UDP source port for the hash
 * Out    egress port
 * Owns   the table and the switch's two hash secrets
 * Spec   RFC 2992 (hash, then divide the hash space); all a RoCEv2 flow varies is its UDP source
 *        port, so the 5-tuple is source, destination and that
 * Cost   one table read; with several ports two 128-bit multiplications
 *
 * Ports are entries, not neighbours: two links to the same switch are two entries.
 */
#ifndef FABRIC_ROUTE_H
#define FABRIC_ROUTE_H

#include "wire_frame.h"

#define FABRIC_ROUTE_STATIONS (1u << 24) /* default addresses hold 24 bits of station */
#define FABRIC_ROUTE_NONE UINT32_MAX

struct fabric_route_entry {
    uint32_t group; /* n > 1: index of the first port in groups[] */
    uint16_t n;     /* 0: no route */
    uint16_t port;  /* n == 1 */
};

struct fabric_route {
    struct fabric_route_entry *entries; /* by destination station */
    uint32_t entry_count;
    uint32_t group_used, group_capacity;
    uint16_t *groups;
    uint32_t last_group, last_n; /* the group added last: neighbours in the table often share it */
    uint64_t secret[2];
};

/** Empty table whose hash is stream @p stream of @p seed. */
void fabric_route_init(struct fabric_route *route, uint64_t seed, uint64_t stream);
void fabric_route_free(struct fabric_route *route);

/**
 * Frames to @p dest leave by one of ports[0 .. n); n = 0 withdraws the route.
 * @return 0, -1: out of memory, or dest >= FABRIC_ROUTE_STATIONS; nothing changed.
 */
int fabric_route_add(struct fabric_route *route, uint32_t dest, const uint16_t *ports, uint32_t n);

/* Which of the n > 1 ports of a route a flow takes. */
uint32_t fabric_route_hash(const struct fabric_route *route, const struct wire_frame *frame,
                           uint32_t n);

/** @return egress port for @p frame to station @p dest, or FABRIC_ROUTE_NONE. */
static inline uint32_t fabric_route_lookup(const struct fabric_route *route, uint32_t dest,
                                           const struct wire_frame *frame)
{
    const struct fabric_route_entry *entry;

    if (WIRE_UNLIKELY(dest >= route->entry_count))
        return FABRIC_ROUTE_NONE;
    entry = &route->entries[dest];
    if (WIRE_LIKELY(entry->n == 1))
        return entry->port;
    if (WIRE_UNLIKELY(entry->n == 0))
        return FABRIC_ROUTE_NONE;
    return route->groups[entry->group + fabric_route_hash(route, frame, entry->n)];
}

#endif
