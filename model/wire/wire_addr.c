/* SPDX-License-Identifier: GPL-2.0-only */
#include "wire_addr.h"

#include <string.h>

#define DEFAULT_STATIONS 0xFFFFFFu /* station + 1 has 24 bits */

static const uint8_t mac_prefix[3] = {0x02, 0, 0};
static const uint8_t gid_prefix[13] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10};

/* The explicit entry of a station, or NULL. */
static const struct wire_station *addr_entry(const struct wire_addr_book *book, uint32_t id)
{
    if (book == NULL || book->n == 0)
        return NULL;
    WIRE_ASSERT(book->entries != NULL);
    if (id < book->n && book->entries[id].id == id)
        return &book->entries[id];
    for (size_t i = 0; i < book->n; i++) {
        if (book->entries[i].id == id)
            return &book->entries[i];
    }
    return NULL;
}

struct wire_station wire_addr_station(const struct wire_addr_book *book, uint32_t id)
{
    const struct wire_station *entry = addr_entry(book, id);
    struct wire_station station = {.id = id};
    uint32_t number = id + 1;

    if (entry != NULL)
        return *entry;
    if (id == WIRE_STATION_BROADCAST) {
        memset(station.mac, 0xFF, sizeof(station.mac));
        memset(station.gid + 10, 0xFF, 6);
        return station;
    }
    WIRE_ASSERT(id < DEFAULT_STATIONS);
    memcpy(station.mac, mac_prefix, sizeof(mac_prefix));
    memcpy(station.gid, gid_prefix, sizeof(gid_prefix));
    for (unsigned i = 0; i < 3; i++) {
        uint8_t byte = (uint8_t)(number >> (16 - 8 * i));

        station.mac[3 + i] = byte;
        station.gid[13 + i] = byte;
    }
    return station;
}

/* Station whose default addresses end in these three bytes; NONE when it has others. */
static uint32_t addr_default(const struct wire_addr_book *book, const uint8_t low[3])
{
    uint32_t number = (uint32_t)low[0] << 16 | (uint32_t)low[1] << 8 | low[2];

    if (number == 0 || addr_entry(book, number - 1) != NULL)
        return WIRE_STATION_NONE;
    return number - 1;
}

uint32_t wire_addr_by_gid(const struct wire_addr_book *book, const uint8_t gid[16])
{
    static const uint8_t everyone[16] = {0, 0, 0,    0,    0,    0,    0,    0,
                                         0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

    for (size_t i = 0; book != NULL && i < book->n; i++) {
        if (memcmp(book->entries[i].gid, gid, 16) == 0)
            return book->entries[i].id;
    }
    if (memcmp(gid, gid_prefix, sizeof(gid_prefix)) == 0)
        return addr_default(book, gid + 13);
    return memcmp(gid, everyone, 16) == 0 ? WIRE_STATION_BROADCAST : WIRE_STATION_NONE;
}

uint32_t wire_addr_by_mac(const struct wire_addr_book *book, const uint8_t mac[6])
{
    if (mac[0] & 1)
        return WIRE_STATION_BROADCAST;
    for (size_t i = 0; book != NULL && i < book->n; i++) {
        if (memcmp(book->entries[i].mac, mac, 6) == 0)
            return book->entries[i].id;
    }
    if (memcmp(mac, mac_prefix, sizeof(mac_prefix)) == 0)
        return addr_default(book, mac + 3);
    return WIRE_STATION_NONE;
}

bool wire_addr_is_link_local(const uint8_t mac[6])
{
    static const uint8_t reserved[5] = {0x01, 0x80, 0xC2, 0x00, 0x00};

    return memcmp(mac, reserved, sizeof(reserved)) == 0 && mac[5] < 0x10;
}
