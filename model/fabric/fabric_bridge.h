/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The stations a bridge has learned: behind which port a frame of theirs was last seen.
 *
 * Place  instead of the routing table, after it: a route that was set is a static entry and wins
 * In     source station and port of every frame that comes in; destination station
 * Out    a port, or none: the frame is flooded
 * Owns   the table, of a fixed size
 * Spec   IEEE 802.1D 7.8 (learning), 7.9 (ageing: default 300 s)
 * Cost   one hash and a short walk; ageing costs no timer: an entry's age is looked at when read
 *
 * A full table learns nobody new but in place of an entry that has aged; frames to those are
 * flooded. Nothing here finds loops: there is no spanning tree, the topology must be one.
 */
#ifndef FABRIC_BRIDGE_H
#define FABRIC_BRIDGE_H

#include "wire_frame.h"

#define FABRIC_BRIDGE_NONE UINT32_MAX

struct fabric_bridge_entry {
    uint32_t station; /* WIRE_STATION_NONE: free, and never used before */
    uint32_t port;
    uint64_t seen_ps; /* its last frame */
};

struct fabric_bridge {
    struct fabric_bridge_entry *entries; /* NULL: learns nothing */
    uint32_t slots;                      /* a power of two, at least twice the limit */
    uint32_t used, limit;
    uint64_t age_ps; /* 0: never */
};

/** Empty table of at most @p limit stations. @return 0, -1: out of memory. */
int fabric_bridge_init(struct fabric_bridge *bridge, uint32_t limit, uint64_t age_ps);
void fabric_bridge_free(struct fabric_bridge *bridge);

/**
 * A frame of @p station came in at @p port: it is there now, wherever it was before.
 * Group addresses and unknown stations are not learned.
 */
void fabric_bridge_learn(struct fabric_bridge *bridge, uint32_t station, uint32_t port,
                         uint64_t now_ps);

/** @return port of @p station, or FABRIC_BRIDGE_NONE: never seen, or not for age_ps. */
uint32_t fabric_bridge_lookup(const struct fabric_bridge *bridge, uint32_t station,
                              uint64_t now_ps);

#endif
