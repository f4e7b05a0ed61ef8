/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The one cache: QP, MR, page and CQ tables are four uses of it.
 *
 * The full table lives in host memory; the card holds a working set of `capacity` entries. An entry
 * stands inside its object, so a hit is one test and one store. A miss books a fetch and leaves
 * `ready_ps` in the entry: a second access waits for the same fetch. Eviction is CLOCK (second
 * chance). Capacity 0 means everything is on chip.
 *
 * Owns   the slots (array of the card's arena, as long as there are objects, at most capacity) and
 *        every entry's slot number
 * Cost   hit O(1); miss O(1) amortised
 */
#ifndef RNIC_CACHE_H
#define RNIC_CACHE_H

#include "rnic_mem.h"
#include "rnic_server.h"

struct rnic_cache_entry {
    uint64_t ready_ps;   /* on chip from then on */
    uint32_t slot;       /* slot number + 1; 0: not on chip */
    uint32_t referenced; /* CLOCK bit */
};

struct rnic_cache {
    struct rnic_cache_entry **slots;
    uint32_t slots_cap, used, hand;
    uint32_t capacity;           /* 0: unlimited */
    uint64_t miss_ps;            /* latency of a fetch */
    uint64_t fetch_service_ps;   /* miss_ps / fetches in flight at once */
    struct rnic_server *fetcher; /* shared by all tables of the card */
    uint64_t hits, misses, evictions;
};

/** Have slots for @p objects objects (or capacity). @return false: out of memory. */
bool rnic_cache_reserve(struct rnic_cache *cache, struct rnic_mem *mem, uint32_t objects);

/** Out-of-line part of rnic_cache_get. */
uint64_t rnic_cache_miss(struct rnic_cache *cache, struct rnic_cache_entry *entry, uint64_t in_ps);

/** @return time from which the entry can be used by an access that comes at @p in_ps. */
static inline uint64_t rnic_cache_get(struct rnic_cache *cache, struct rnic_cache_entry *entry,
                                      uint64_t in_ps)
{
    if (cache->capacity == 0)
        return in_ps;
    if (entry->slot == 0)
        return rnic_cache_miss(cache, entry, in_ps);
    cache->hits++;
    entry->referenced = 1;
    return wire_max_ps(in_ps, entry->ready_ps);
}

/** The object dies or was invalidated: forget it. */
void rnic_cache_forget(struct rnic_cache *cache, struct rnic_cache_entry *entry);

#endif
