/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The address book: a station is a small integer, here stand its MAC and GID.
 *
 * Every port of the simulation is a station (its number is the engine's port number), so a switch
 * routes by table index and hashes nothing. A station nobody set has the default addresses:
 * MAC 02:00:00:hh:mm:ll and IPv4 10.hh.mm.ll with hhmmll = station + 1, GID ::ffff:10.hh.mm.ll.
 *
 * Owns   the explicit entries (array given by the owner of the book)
 * Cost   O(1) with no explicit entries, or forward with entry i for station i; else linear in them
 */
#ifndef WIRE_ADDR_H
#define WIRE_ADDR_H

#include "wire_frame.h"

struct wire_station {
    uint32_t id;
    uint8_t mac[6];
    uint8_t gid[16]; /* IPv4 a.b.c.d is ::ffff:a.b.c.d */
};

struct wire_addr_book {
    const struct wire_station *entries; /* explicit ones, any order; may be NULL */
    size_t n;
};

/**
 * Addresses of station @p id: the explicit entry, else the default ones. WIRE_STATION_BROADCAST has
 * ff:ff:ff:ff:ff:ff and 255.255.255.255; other ids are below 2^24 - 1 or have an entry.
 */
struct wire_station wire_addr_station(const struct wire_addr_book *book, uint32_t id);

/**
 * Explicit entries come first; a default address counts only for a station without one.
 * @return station with this GID, or WIRE_STATION_NONE.
 */
uint32_t wire_addr_by_gid(const struct wire_addr_book *book, const uint8_t gid[16]);

/**
 * Whether frames to @p mac go to the other end of a line and no further: MAC control, LLDP,
 * spanning tree. Spec: IEEE 802.1D table 7-10, 01-80-C2-00-00-00 to 0F.
 */
bool wire_addr_is_link_local(const uint8_t mac[6]);

/** @return station with this MAC, WIRE_STATION_BROADCAST for group addresses, or _NONE. */
uint32_t wire_addr_by_mac(const struct wire_addr_book *book, const uint8_t mac[6]);

#endif
