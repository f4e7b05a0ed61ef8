/* SPDX-License-Identifier: GPL-2.0-only */
/* The address book: defaults by formula, explicit entries before them. */
#include "check.h"
#include "wire_addr.h"

static void defaults_by_number(void)
{
    static const uint8_t mac[6] = {2, 0, 0, 0x01, 0x02, 0x03};
    static const uint8_t gid[16] = {[10] = 0xFF, 0xFF, 10, 1, 2, 3};
    struct wire_station station = wire_addr_station(NULL, 0x010203 - 1);

    CHECK_EQ(station.id, 0x010202);
    CHECK_BYTES(station.mac, mac, 6);
    CHECK_BYTES(station.gid, gid, 16);
    CHECK_EQ(wire_addr_by_mac(NULL, mac), 0x010202);
    CHECK_EQ(wire_addr_by_gid(NULL, gid), 0x010202);
}

static void both_ways_for_every_station(void)
{
    static const struct wire_addr_book empty = {NULL, 0};

    for (uint32_t id = 0; id < 0xFFFFFF; id += id < 70000 ? 1 : 997) {
        struct wire_station station = wire_addr_station(&empty, id);

        CHECK_EQ(wire_addr_by_mac(&empty, station.mac), id);
        CHECK_EQ(wire_addr_by_gid(&empty, station.gid), id);
    }
}

static void everybody_and_nobody(void)
{
    static const uint8_t zero_mac[6] = {2, 0, 0, 0, 0, 0}, other[6] = {4, 0, 0, 0, 0, 1};
    static const uint8_t pause[6] = {0x01, 0x80, 0xC2, 0, 0, 1}, near[6] = {2, 0, 1, 0, 0, 1};
    static const uint8_t zero_gid[16] = {[10] = 0xFF, 0xFF, 10, 0, 0, 0};
    static const uint8_t net11[16] = {[10] = 0xFF, 0xFF, 11, 0, 0, 1};
    static const uint8_t not_mapped[16] = {[12] = 10, 0, 0, 1};
    struct wire_station all = wire_addr_station(NULL, WIRE_STATION_BROADCAST);

    CHECK_EQ(wire_addr_by_mac(NULL, all.mac), WIRE_STATION_BROADCAST);
    CHECK_EQ(wire_addr_by_gid(NULL, all.gid), WIRE_STATION_BROADCAST);
    CHECK_EQ(all.mac[0] & all.mac[5] & all.gid[12] & all.gid[15], 0xFF);
    CHECK_EQ(wire_addr_by_mac(NULL, pause), WIRE_STATION_BROADCAST);
    CHECK_EQ(wire_addr_by_mac(NULL, zero_mac), WIRE_STATION_NONE);
    CHECK_EQ(wire_addr_by_mac(NULL, other), WIRE_STATION_NONE);
    CHECK_EQ(wire_addr_by_mac(NULL, near), WIRE_STATION_NONE);
    CHECK_EQ(wire_addr_by_gid(NULL, zero_gid), WIRE_STATION_NONE);
    CHECK_EQ(wire_addr_by_gid(NULL, net11), WIRE_STATION_NONE);
    CHECK_EQ(wire_addr_by_gid(NULL, not_mapped), WIRE_STATION_NONE);
}

/* Station 1 stands at its own index, 5 does not and has taken the addresses of station 0. */
static const struct wire_station entries[] = {
    {5, {2, 0, 0, 0, 0, 1}, {[10] = 0xFF, 0xFF, 10, 0, 0, 1}},
    {1, {0, 1, 2, 3, 4, 5}, {0x20, 0x01, [15] = 1}},
};
static const struct wire_addr_book book = {entries, 2};

static void entries_come_first(void)
{
    struct wire_station five = wire_addr_station(&book, 5), one = wire_addr_station(&book, 1);

    CHECK_BYTES(five.mac, entries[0].mac, 6);
    CHECK_BYTES(one.gid, entries[1].gid, 16);
    CHECK_EQ(one.id, 1);
    CHECK_EQ(wire_addr_by_mac(&book, entries[0].mac), 5);
    CHECK_EQ(wire_addr_by_gid(&book, entries[0].gid), 5);
    CHECK_EQ(wire_addr_by_mac(&book, entries[1].mac), 1);
    CHECK_EQ(wire_addr_by_gid(&book, entries[1].gid), 1);
}

static void an_entry_gives_up_the_default(void)
{
    struct wire_station one = wire_addr_station(NULL, 1), two = wire_addr_station(NULL, 2);

    CHECK_EQ(wire_addr_by_mac(&book, one.mac), WIRE_STATION_NONE);
    CHECK_EQ(wire_addr_by_gid(&book, one.gid), WIRE_STATION_NONE);
    CHECK_EQ(wire_addr_by_mac(&book, two.mac), 2); /* others keep theirs */
    CHECK_EQ(wire_addr_by_gid(&book, two.gid), 2);
}

static void link_local_groups(void)
{
    uint8_t mac[6] = {0x01, 0x80, 0xC2, 0x00, 0x00, 0x00};

    for (unsigned last = 0; last < 256; last++) {
        mac[5] = (uint8_t)last;
        CHECK_EQ(wire_addr_is_link_local(mac), last < 0x10);
    }
    mac[5] = 0;
    for (unsigned i = 0; i < 5; i++) { /* nothing near them is */
        mac[i] ^= 2;
        CHECK(!wire_addr_is_link_local(mac));
        mac[i] ^= 2;
    }
}

CHECK_SUITE(addr, CHECK_CASE(link_local_groups), CHECK_CASE(defaults_by_number),
            CHECK_CASE(both_ways_for_every_station), CHECK_CASE(everybody_and_nobody),
            CHECK_CASE(entries_come_first), CHECK_CASE(an_entry_gives_up_the_default))
