/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_cache.h"

bool rnic_cache_reserve(struct rnic_cache *cache, struct rnic_mem *mem, uint32_t objects)
{
    uint32_t need = objects < cache->capacity ? objects : cache->capacity;
    void *slots = cache->slots;

    if (!rnic_mem_grow(mem, &slots, &cache->slots_cap, need, sizeof cache->slots[0]))
        return false;
    cache->slots = slots;
    return true;
}

/* Slot of an entry that goes off chip: the first without a second chance. */
static uint32_t cache_evict(struct rnic_cache *cache)
{
    for (;;) {
        uint32_t slot = cache->hand;
        struct rnic_cache_entry *victim = cache->slots[slot];

        cache->hand = slot + 1 == cache->used ? 0 : slot + 1;
        if (!victim->referenced) {
            victim->slot = 0;
            cache->evictions++;
            return slot;
        }
        victim->referenced = 0;
    }
}

uint64_t rnic_cache_miss(struct rnic_cache *cache, struct rnic_cache_entry *entry, uint64_t in_ps)
{
    uint32_t slot;

    WIRE_ASSERT(entry->slot == 0);
    cache->misses++;
    if (cache->used < cache->capacity) {
        WIRE_ASSERT(cache->used < cache->slots_cap);
        slot = cache->used++;
    } else {
        slot = cache_evict(cache);
    }
    cache->slots[slot] = entry;
    entry->slot = slot + 1;
    entry->referenced = 1;
    entry->ready_ps =
        rnic_server_pass(cache->fetcher, in_ps, cache->fetch_service_ps) + cache->miss_ps;
    return entry->ready_ps;
}

void rnic_cache_forget(struct rnic_cache *cache, struct rnic_cache_entry *entry)
{
    uint32_t last;

    if (entry->slot == 0)
        return;
    last = --cache->used;
    cache->slots[entry->slot - 1] = cache->slots[last];
    cache->slots[entry->slot - 1]->slot = entry->slot;
    if (cache->hand >= cache->used)
        cache->hand = 0;
    entry->slot = 0;
    entry->referenced = 0;
}
