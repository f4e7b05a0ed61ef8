/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_path.h"

#include "wire_frame.h"

#define PATH_SPORT_BASE 0xC000u

bool rnic_path_valid(const struct rnic_av *av)
{
    return av->hop_limit != 0 && av->dest_station < WIRE_STATION_BROADCAST &&
           !(av->roce_v1 && av->ipv6);
}

/*
 * UDP source port as Linux computes it for all drivers (rdma_get_udp_sport): a flow label folded
 * from both queue pair numbers, the same at both ends.
 */
static uint16_t path_sport(uint32_t lqpn, uint32_t rqpn)
{
    uint64_t v = (uint64_t)lqpn * rqpn;
    uint32_t label;

    v ^= v >> 20;
    v ^= v >> 40;
    label = (uint32_t)v & 0xFFFFF;
    return (uint16_t)(PATH_SPORT_BASE | ((label & 0x3FFF) ^ ((label & 0xFC000) >> 14)));
}

struct rnic_path rnic_path_make(const struct rnic_av *av, uint32_t lqpn, uint32_t rqpn)
{
    return (struct rnic_path){
        .dest_station = av->dest_station,
        .next_hop = av->next_hop,
        .udp_sport = av->udp_sport != 0 ? av->udp_sport : path_sport(lqpn, rqpn),
        .tos = av->traffic_class & 0xFCu,
        .ttl = av->hop_limit,
        .frame_flags =
            (uint8_t)((av->ipv6 ? WIRE_FRAME_IPV6 : 0) | (av->roce_v1 ? WIRE_FRAME_ROCE_V1 : 0)),
    };
}
