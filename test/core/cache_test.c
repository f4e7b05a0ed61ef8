/* SPDX-License-Identifier: GPL-2.0-only */
/* The cache against a plain model of CLOCK; and what a miss costs. */
#include "check.h"
#include "rnic_cache.h"
#include "wire_rng.h"

#define OBJECTS 40u
#define SEED 3u

static struct rnic_mem mem;
static void *memory;

static void begin(void)
{
    memory = aligned_alloc(64, 65536);
    CHECK(memory != NULL);
    mem = (struct rnic_mem){0};
    rnic_mem_add(&mem, memory, 65536);
}

static void end(void)
{
    free(memory);
}

/* Second chance, written down as a list of who is in, in the order of their slots. */
struct model {
    uint32_t in[OBJECTS], n, hand, capacity;
    bool referenced[OBJECTS];
    uint64_t hits, misses;
};

static void model_get(struct model *m, uint32_t object)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (m->in[i] == object) {
            m->hits++;
            m->referenced[object] = true;
            return;
        }
    m->misses++;
    m->referenced[object] = true;
    if (m->n < m->capacity) {
        m->in[m->n++] = object;
        return;
    }
    while (m->referenced[m->in[m->hand]]) {
        m->referenced[m->in[m->hand]] = false;
        m->hand = (m->hand + 1) % m->n;
    }
    m->in[m->hand] = object;
    m->hand = (m->hand + 1) % m->n;
}

/* The last slot moves into the hole. */
static void model_forget(struct model *m, uint32_t object)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (m->in[i] == object) {
            m->in[i] = m->in[--m->n];
            if (m->hand >= m->n)
                m->hand = 0;
            return;
        }
}

static void hits_and_misses_are_those_of_clock(void)
{
    struct wire_rng rng = wire_rng_init(SEED, 0);

    printf("seed %u\n", SEED);
    for (uint32_t capacity = 1; capacity <= 24; capacity++) {
        struct rnic_server fetcher = {0};
        struct rnic_cache cache = {
            .capacity = capacity, .miss_ps = 100, .fetch_service_ps = 0, .fetcher = &fetcher};
        struct rnic_cache_entry entries[OBJECTS] = {{0}};
        struct model model = {.capacity = capacity};

        begin();
        CHECK(rnic_cache_reserve(&cache, &mem, OBJECTS));
        for (uint32_t i = 0; i < 5000; i++) {
            uint32_t object = (uint32_t)(wire_rng_next(&rng) % OBJECTS);

            if (wire_rng_next(&rng) % 16 == 0) {
                rnic_cache_forget(&cache, &entries[object]);
                model_forget(&model, object);
            } else {
                (void)rnic_cache_get(&cache, &entries[object], 1000 * i);
                model_get(&model, object);
            }
            CHECK_EQ(cache.hits, model.hits);
            CHECK_EQ(cache.misses, model.misses);
            CHECK_EQ(cache.used, model.n);
        }
        for (uint32_t object = 0; object < OBJECTS; object++) {
            bool in = false;

            for (uint32_t i = 0; i < model.n; i++)
                in |= model.in[i] == object;
            CHECK_EQ(entries[object].slot != 0, in);
        }
        end();
    }
}

static void a_second_access_waits_for_the_same_fetch(void)
{
    struct rnic_server fetcher = {0};
    struct rnic_cache cache = {
        .capacity = 4, .miss_ps = 550000, .fetch_service_ps = 34375, .fetcher = &fetcher};
    struct rnic_cache_entry entry = {0};

    begin();
    CHECK(rnic_cache_reserve(&cache, &mem, 1));
    CHECK_EQ(rnic_cache_get(&cache, &entry, 1000), 551000);
    CHECK_EQ(rnic_cache_get(&cache, &entry, 2000), 551000);
    CHECK_EQ(rnic_cache_get(&cache, &entry, 551000), 551000);
    CHECK_EQ(rnic_cache_get(&cache, &entry, 600000), 600000);
    CHECK_EQ(cache.misses, 1);
    CHECK_EQ(cache.hits, 3);
    end();
}

/* Sixteen fetches in flight: the seventeenth waits for a fetcher. */
static void misses_share_the_fetchers(void)
{
    struct rnic_server fetcher = {0};
    struct rnic_cache cache = {
        .capacity = 64, .miss_ps = 1600, .fetch_service_ps = 100, .fetcher = &fetcher};
    struct rnic_cache_entry entries[OBJECTS] = {{0}};

    begin();
    CHECK(rnic_cache_reserve(&cache, &mem, OBJECTS));
    for (uint32_t i = 0; i < OBJECTS; i++)
        CHECK_EQ(rnic_cache_get(&cache, &entries[i], 0), 1600 + 100 * i);
    end();
}

static void capacity_0_is_everything_on_chip(void)
{
    struct rnic_cache cache = {.capacity = 0, .miss_ps = 550000};
    struct rnic_cache_entry entry = {0};

    begin();
    CHECK(rnic_cache_reserve(&cache, &mem, 1000000));
    CHECK_EQ(rnic_cache_get(&cache, &entry, 77), 77);
    CHECK_EQ(cache.misses, 0);
    CHECK(cache.slots == NULL); /* and costs no memory */
    end();
}

static void storage_grows_with_objects_not_with_capacity(void)
{
    struct rnic_cache cache = {.capacity = 1000000};

    begin();
    CHECK(rnic_cache_reserve(&cache, &mem, 10));
    CHECK(cache.slots_cap >= 10 && cache.slots_cap <= 20);
    CHECK(rnic_cache_reserve(&cache, &mem, 100));
    CHECK(cache.slots_cap >= 100 && cache.slots_cap <= 200);
    CHECK(!rnic_cache_reserve(&cache, &mem, 900000));
    CHECK(mem.wanted >= 900000 * sizeof(void *));
    end();
}

/* In turn over one more than it holds: each access is a miss. */
static void one_more_than_fits_in_turn_misses_always(void)
{
    struct rnic_server fetcher = {0};
    struct rnic_cache cache = {.capacity = 16, .miss_ps = 1, .fetcher = &fetcher};
    struct rnic_cache_entry entries[17] = {{0}};

    begin();
    CHECK(rnic_cache_reserve(&cache, &mem, 17));
    for (uint32_t i = 0; i < 17 * 10; i++)
        (void)rnic_cache_get(&cache, &entries[i % 17], i);
    CHECK_EQ(cache.misses, 170);
    CHECK_EQ(cache.evictions, 170 - 16);
    end();
}

CHECK_SUITE(cache, CHECK_CASE(hits_and_misses_are_those_of_clock),
            CHECK_CASE(a_second_access_waits_for_the_same_fetch),
            CHECK_CASE(misses_share_the_fetchers), CHECK_CASE(capacity_0_is_everything_on_chip),
            CHECK_CASE(storage_grows_with_objects_not_with_capacity),
            CHECK_CASE(one_more_than_fits_in_turn_misses_always))
