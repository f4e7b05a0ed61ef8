/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The way to a peer: what an address vector comes to in every packet's headers.
 *
 * Made once, when a queue pair or an address handle gets its address vector; copied as a whole to
 * where packets are made (queue pair, UD work request, control record).
 */
#ifndef RNIC_PATH_H
#define RNIC_PATH_H

#include "rnic_verbs.h"

struct rnic_path {
    uint32_t dest_station, next_hop;
    uint16_t udp_sport;
    uint8_t tos; /* DSCP << 2 */
    uint8_t ttl;
    uint8_t frame_flags; /* WIRE_FRAME_IPV6, WIRE_FRAME_ROCE_V1 */
};

/** Is the address vector one that packets can be made from? */
bool rnic_path_valid(const struct rnic_av *av);

/** Path of @p av; the UDP source port follows from both queue pair numbers when av says 0. */
struct rnic_path rnic_path_make(const struct rnic_av *av, uint32_t lqpn, uint32_t rqpn);

/** Traffic class of a ToS: DSCP >> 3. */
static inline uint8_t rnic_path_prio(uint8_t tos)
{
    return tos >> 5;
}

#endif
