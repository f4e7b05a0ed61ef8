/* SPDX-License-Identifier: GPL-2.0-only */
/* The card's life: made from its parameters, given memory, asked for events and counters. */
#include "rnic_cq_write.h"
#include "rnic_internal.h"

#include <string.h>

bool rnic_event(struct rnic_device *dev, uint64_t now_ps, struct rnic_event *event)
{
    struct rnic_cq *cq;

    if (!rnic_cq_event_pop(&dev->events, now_ps, event))
        return false;
    if (event->type == RNIC_EVENT_CQ) {
        cq = rnic_table_cq_find(&dev->cqs, event->cq);
        if (cq != NULL)
            rnic_cq_write_event_taken(cq, &dev->events);
    }
    return true;
}

void rnic_trace_enable(struct rnic_device *dev, uint32_t mask)
{
    dev->events.trace_mask = mask;
}

const struct rnic_counters *rnic_query_counters(struct rnic_device *dev)
{
    struct rnic_counters *counters = &dev->counters;

    counters->trace_lost = dev->events.trace_lost;
    counters->passages_lost = dev->events.passages_lost;
    counters->control_lost = dev->control.lost;
    counters->qp_hits = dev->qps.cache.hits;
    counters->qp_misses = dev->qps.cache.misses;
    counters->mr_hits = dev->mrs.cache.hits;
    counters->mr_misses = dev->mrs.cache.misses;
    counters->page_hits = dev->pages.cache.hits;
    counters->page_misses = dev->pages.cache.misses;
    counters->cq_hits = dev->cqs.cache.hits;
    counters->cq_misses = dev->cqs.cache.misses;
    return counters;
}

uint32_t rnic_frames_held(const struct rnic_device *dev)
{
    return rnic_tx_sched_frames(&dev->sched);
}

const char *rnic_block_name(enum rnic_block block)
{
    static const char *const names[RNIC_BLOCKS] = {
        "ring",     "tx_sched",  "table_qp", "table_mr", "table_page", "dma",
        "tx_build", "tx_replay", "tx_rate",  "rx_parse", "rx_check",   "rx_place",
        "rx_cnp",   "table_cq",  "cq_write", "cq_event"};

    return (unsigned)block < RNIC_BLOCKS ? names[block] : "unknown block";
}

/* First arena: control records, events and the TX FIFO's pull times at their largest. */
#define DEVICE_ARENA_BYTES 65536u

static size_t device_own_bytes(void)
{
    return (sizeof(struct rnic_device) + 63) & ~(size_t)63;
}

size_t rnic_device_bytes(void)
{
    return device_own_bytes() + DEVICE_ARENA_BYTES;
}

static void device_cache(struct rnic_device *dev, struct rnic_cache *cache, uint64_t entries)
{
    *cache = (struct rnic_cache){
        .capacity = (uint32_t)entries,
        .miss_ps = dev->params.cache_miss_ps,
        .fetch_service_ps = dev->params.cache_miss_ps / dev->params.cache_fetchers,
        .fetcher = &dev->fetcher,
    };
}

struct rnic_device *rnic_device_init(void *memory, const struct rnic_config *config)
{
    struct rnic_device *dev = memory;

    WIRE_ASSERT(((uintptr_t)memory & 63) == 0);
    if (wire_param_check(rnic_param_table, rnic_param_count, &config->params) != NULL ||
        config->cc == NULL || config->cc_config.line_bps == 0 ||
        (config->params.page_bytes & (config->params.page_bytes - 1)) != 0)
        return NULL;
    memset(dev, 0, sizeof *dev);
    dev->params = config->params;
    dev->cc = config->cc;
    dev->cc_config = config->cc_config;
    dev->station = config->station;
    dev->book = config->book;
    dev->retry_wake_ps = WIRE_NEVER;
    dev->build = (struct rnic_tx_build_params){
        .station = dev->station,
        .ack_every = (uint32_t)dev->params.ack_every,
        .ecn_bits = dev->params.ecn ? WIRE_ECN_ECT0 : WIRE_ECN_NOT_ECT,
    };
    dev->path = (struct rnic_access_path){
        .mrs = &dev->mrs, .pages = &dev->pages, .dma = &dev->dma, .atomics = dev->atomics};
    rnic_mem_add(&dev->mem, (uint8_t *)memory + device_own_bytes(), DEVICE_ARENA_BYTES);
    rnic_dma_init(&dev->dma, &dev->params);
    device_cache(dev, &dev->qps.cache, dev->params.qp_cache_entries);
    device_cache(dev, &dev->mrs.cache, dev->params.mr_cache_entries);
    device_cache(dev, &dev->pages.cache, dev->params.page_cache_entries);
    device_cache(dev, &dev->cqs.cache, dev->params.cq_cache_entries);
    dev->pages.page_shift = (uint32_t)(63 - __builtin_clzll(dev->params.page_bytes));
    if (!rnic_tx_control_init(&dev->control, &dev->mem) ||
        !rnic_tx_sched_init(&dev->sched, &dev->mem, &dev->params, &dev->dma) ||
        !rnic_cq_event_reserve(&dev->events, &dev->mem, 0))
        return NULL;
    return dev;
}

void rnic_mem_give(struct rnic_device *dev, void *memory, size_t bytes)
{
    rnic_mem_add(&dev->mem, memory, bytes);
}

size_t rnic_mem_wanted(const struct rnic_device *dev)
{
    return dev->mem.wanted;
}
