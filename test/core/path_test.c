/* SPDX-License-Identifier: GPL-2.0-only */
/* The way to a peer: from an address vector to what stands in every header. */
#include "check.h"
#include "rnic_path.h"
#include "wire_frame.h"

static const struct rnic_av good = {.dest_station = 9,
                                    .next_hop = 700,
                                    .traffic_class = 0x6B, /* the ECN bits are not its own */
                                    .hop_limit = 17,
                                    .udp_sport = 0xC123};

static void which_address_vectors_are_none(void)
{
    struct rnic_av av = good;

    CHECK(rnic_path_valid(&av));
    av.hop_limit = 0;
    CHECK(!rnic_path_valid(&av));
    av = good;
    av.dest_station = WIRE_STATION_NONE;
    CHECK(!rnic_path_valid(&av));
    av.dest_station = WIRE_STATION_BROADCAST;
    CHECK(!rnic_path_valid(&av));
    av = good;
    av.ipv6 = true;
    CHECK(rnic_path_valid(&av));
    av.roce_v1 = true;
    CHECK(!rnic_path_valid(&av)); /* v1 has GIDs of IPv4 here */
    av.ipv6 = false;
    CHECK(rnic_path_valid(&av));
}

static void every_field_is_in_its_place(void)
{
    struct rnic_av av = good;
    struct rnic_path path = rnic_path_make(&av, 1, 2);

    CHECK_EQ(path.dest_station, 9);
    CHECK_EQ(path.next_hop, 700);
    CHECK_EQ(path.udp_sport, 0xC123);
    CHECK_EQ(path.tos, 0x68);
    CHECK_EQ(path.ttl, 17);
    CHECK_EQ(path.frame_flags, 0);
    CHECK_EQ(rnic_path_prio(path.tos), 3);
    av.ipv6 = true;
    CHECK_EQ(rnic_path_make(&av, 1, 2).frame_flags, WIRE_FRAME_IPV6);
    av.ipv6 = false;
    av.roce_v1 = true;
    CHECK_EQ(rnic_path_make(&av, 1, 2).frame_flags, WIRE_FRAME_ROCE_V1);
}

/* rdma_get_udp_sport of Linux: the same at both ends, in 0xC000 .. 0xFFFF. */
static void the_source_port_is_folded_from_both_numbers(void)
{
    static const uint32_t pairs[][2] = {{2, 3}, {0x123456, 0x654321}, {0xFFFFFF, 0xFFFFFF}, {5, 0}};
    struct rnic_av av = good;

    av.udp_sport = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        uint64_t v = (uint64_t)pairs[i][0] * pairs[i][1];
        uint32_t label, sport;

        v ^= v >> 20;
        v ^= v >> 40;
        label = (uint32_t)v & 0xFFFFF;
        sport = 0xC000 | ((label & 0x3FFF) ^ ((label & 0xFC000) >> 14));
        CHECK_EQ(rnic_path_make(&av, pairs[i][0], pairs[i][1]).udp_sport, sport);
        CHECK_EQ(rnic_path_make(&av, pairs[i][1], pairs[i][0]).udp_sport, sport);
        CHECK(sport >= 0xC000 && sport <= 0xFFFF);
    }
}

CHECK_SUITE(path, CHECK_CASE(which_address_vectors_are_none),
            CHECK_CASE(every_field_is_in_its_place),
            CHECK_CASE(the_source_port_is_folded_from_both_numbers))
