/* SPDX-License-Identifier: GPL-2.0-only */
#include "fabric_bridge.h"

#include <stdlib.h>

int fabric_bridge_init(struct fabric_bridge *bridge, uint32_t limit, uint64_t age_ps)
{
    uint32_t slots = 16;

    WIRE_ASSERT(limit > 0 && limit <= 1u << 24);
    while (slots < 2 * limit)
        slots *= 2;
    *bridge = (struct fabric_bridge){.slots = slots, .limit = limit, .age_ps = age_ps};
    bridge->entries = malloc(slots * sizeof(*bridge->entries));
    if (bridge->entries == NULL)
        return -1;
    for (uint32_t i = 0; i < slots; i++)
        bridge->entries[i].station = WIRE_STATION_NONE;
    return 0;
}

void fabric_bridge_free(struct fabric_bridge *bridge)
{
    free(bridge->entries);
    bridge->entries = NULL;
}

/* Stations are small and dense: a product spreads them, its high bits are the best. */
static uint32_t bridge_slot(const struct fabric_bridge *bridge, uint32_t station)
{
    return (uint32_t)((station * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (bridge->slots - 1);
}

static bool bridge_aged(const struct fabric_bridge *bridge, const struct fabric_bridge_entry *entry,
                        uint64_t now_ps)
{
    return bridge->age_ps > 0 && now_ps - entry->seen_ps > bridge->age_ps;
}

/*
 * The station's entry, else the first on its way that has aged, else the free one at the end. Slots
 * are never emptied, so a walk to the first free one meets a station wherever it stands.
 */
static struct fabric_bridge_entry *bridge_place(const struct fabric_bridge *bridge,
                                                uint32_t station, uint64_t now_ps)
{
    struct fabric_bridge_entry *old = NULL;

    for (uint32_t i = bridge_slot(bridge, station);; i = (i + 1) & (bridge->slots - 1)) {
        struct fabric_bridge_entry *entry = &bridge->entries[i];

        if (entry->station == station)
            return entry;
        if (entry->station == WIRE_STATION_NONE)
            return old != NULL ? old : entry;
        if (old == NULL && bridge_aged(bridge, entry, now_ps))
            old = entry;
    }
}

void fabric_bridge_learn(struct fabric_bridge *bridge, uint32_t station, uint32_t port,
                         uint64_t now_ps)
{
    struct fabric_bridge_entry *entry;

    if (station >= WIRE_STATION_BROADCAST)
        return;
    entry = bridge_place(bridge, station, now_ps);
    if (entry->station == WIRE_STATION_NONE) {
        if (bridge->used == bridge->limit)
            return;
        bridge->used++;
    }
    *entry = (struct fabric_bridge_entry){.station = station, .port = port, .seen_ps = now_ps};
}

uint32_t fabric_bridge_lookup(const struct fabric_bridge *bridge, uint32_t station, uint64_t now_ps)
{
    const struct fabric_bridge_entry *entry;

    if (station >= WIRE_STATION_BROADCAST)
        return FABRIC_BRIDGE_NONE;
    entry = bridge_place(bridge, station, now_ps);
    if (entry->station != station || bridge_aged(bridge, entry, now_ps))
        return FABRIC_BRIDGE_NONE;
    return entry->port;
}
