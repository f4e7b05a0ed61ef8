/* SPDX-License-Identifier: GPL-2.0-only */
#include "fabric_route.h"

#include <stdlib.h>
#include <string.h>

#include "wire_rng.h"

void fabric_route_init(struct fabric_route *route, uint64_t seed, uint64_t stream)
{
    struct wire_rng rng = wire_rng_init(seed, stream);

    *route = (struct fabric_route){.entries = NULL};
    route->secret[0] = wire_rng_next(&rng);
    route->secret[1] = wire_rng_next(&rng) | 1u << 31; /* never 0 after the sport's 16 bits */
}

void fabric_route_free(struct fabric_route *route)
{
    free(route->entries);
    free(route->groups);
    route->entries = NULL;
    route->groups = NULL;
    route->entry_count = 0;
}

/* Room for station @p dest. @return 0, -1: out of memory. */
static int route_grow_entries(struct fabric_route *route, uint32_t dest)
{
    uint32_t count = route->entry_count > 0 ? route->entry_count : 16;
    struct fabric_route_entry *entries;

    if (dest < route->entry_count)
        return 0;
    while (count <= dest)
        count *= 2;
    entries = realloc(route->entries, count * sizeof(*entries));
    if (entries == NULL)
        return -1;
    memset(entries + route->entry_count, 0, (count - route->entry_count) * sizeof(*entries));
    route->entries = entries;
    route->entry_count = count;
    return 0;
}

/* Store a list of ports, unless it is the one stored last. @return 0, -1: out of memory. */
static int route_add_group(struct fabric_route *route, const uint16_t *ports, uint32_t n)
{
    uint64_t need = (uint64_t)route->group_used + n;
    uint64_t capacity = route->group_capacity > 0 ? route->group_capacity : 64;

    if (route->last_n == n &&
        memcmp(route->groups + route->last_group, ports, n * sizeof(*ports)) == 0)
        return 0;
    if (need > UINT32_MAX / 2)
        return -1;
    while (capacity < need)
        capacity *= 2;
    if (capacity > route->group_capacity) {
        uint16_t *groups = realloc(route->groups, capacity * sizeof(*groups));

        if (groups == NULL)
            return -1;
        route->groups = groups;
        route->group_capacity = (uint32_t)capacity;
    }
    memcpy(route->groups + route->group_used, ports, n * sizeof(*ports));
    route->last_group = route->group_used;
    route->last_n = n;
    route->group_used = (uint32_t)need;
    return 0;
}

int fabric_route_add(struct fabric_route *route, uint32_t dest, const uint16_t *ports, uint32_t n)
{
    struct fabric_route_entry entry = {0, (uint16_t)n, n > 0 ? ports[0] : 0};

    WIRE_ASSERT(n <= UINT16_MAX);
    if (dest >= FABRIC_ROUTE_STATIONS || route_grow_entries(route, dest) != 0)
        return -1;
    if (n > 1) {
        if (route_add_group(route, ports, n) != 0)
            return -1;
        entry.group = route->last_group;
    }
    route->entries[dest] = entry;
    return 0;
}

/* Both halves of a product, folded into one. */
static uint64_t route_fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 u128;
    u128 product = (u128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint32_t fabric_route_hash(const struct fabric_route *route, const struct wire_frame *frame,
                           uint32_t n)
{
    uint64_t ends = (uint64_t)frame->src << 32 | frame->dst;
    uint64_t sport = frame->kind == WIRE_KIND_ROCE && (frame->flags & WIRE_FRAME_ROCE_V1) == 0
                         ? frame->udp_sport
                         : 0; /* RoCEv1 and opaque frames have none */
    uint64_t mixed = route_fold(ends ^ route->secret[0], sport ^ route->secret[1]);

    /* One folding leaves flows that differ by small steps on a lattice; the second breaks it. */
    mixed = route_fold(mixed, 0x9E3779B97F4A7C15u);
    WIRE_ASSERT(n > 1);
    return (uint32_t)(((mixed >> 32) * n) >> 32);
}
