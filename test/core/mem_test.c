/* SPDX-License-Identifier: GPL-2.0-only */
/* The arena against a map of who owns which bytes. */
#include "check.h"
#include "rnic_mem.h"
#include "wire_rng.h"

#define ARENA_BYTES (1u << 20)
#define SEED 20260801u

struct owned {
    uint8_t *block;
    size_t bytes;
    uint8_t mark;
};

static void *arena(size_t bytes)
{
    void *memory = aligned_alloc(64, bytes);

    CHECK(memory != NULL);
    memset(memory, 0xEE, bytes);
    return memory;
}

static void an_empty_arena_says_what_it_wants(void)
{
    struct rnic_mem mem = {0};
    void *memory;

    CHECK(rnic_mem_alloc(&mem, 1000) == NULL);
    CHECK_EQ(mem.wanted, 1024);
    memory = arena(mem.wanted);
    rnic_mem_add(&mem, memory, mem.wanted);
    CHECK(rnic_mem_alloc(&mem, 1000) == memory); /* exactly that is enough */
    CHECK(rnic_mem_alloc(&mem, 1) == NULL);
    CHECK_EQ(mem.wanted, 64);
    free(memory);
}

static void every_byte_given_can_be_used(void)
{
    struct rnic_mem mem = {0};
    uint8_t *memory = arena(64 * 1001);
    uint32_t n = 0;

    rnic_mem_add(&mem, memory, 64 * 1001);
    while (rnic_mem_alloc(&mem, 64) != NULL)
        n++;
    CHECK_EQ(n, 1001);
    free(memory);
}

static void blocks_are_zeroed_aligned_and_apart(void)
{
    struct rnic_mem mem = {0};
    struct wire_rng rng = wire_rng_init(SEED, 0);
    static struct owned owned[500];
    uint8_t *memory = arena(ARENA_BYTES);
    uint32_t n = 0;

    printf("seed %u\n", SEED);
    rnic_mem_add(&mem, memory, ARENA_BYTES);
    for (uint32_t step = 0; step < 20000; step++) {
        if (n > 0 && (n == 500 || wire_rng_next(&rng) % 2)) {
            struct owned *o = &owned[wire_rng_next(&rng) % n];

            for (size_t i = 0; i < o->bytes; i++)
                CHECK_EQ(o->block[i], o->mark); /* nobody else wrote here */
            rnic_mem_free(&mem, o->block, o->bytes);
            *o = owned[--n];
        } else {
            size_t bytes = 1 + (size_t)(wire_rng_next(&rng) % (wire_rng_next(&rng) % 4096 + 1));
            uint8_t *block = rnic_mem_alloc(&mem, bytes);

            if (block == NULL)
                continue;
            CHECK_EQ((uintptr_t)block % 64, 0);
            CHECK(block >= memory && block + bytes <= memory + ARENA_BYTES);
            for (size_t i = 0; i < bytes; i++)
                CHECK_EQ(block[i], 0);
            owned[n] = (struct owned){block, bytes, (uint8_t)(1 + step % 255)};
            memset(block, owned[n].mark, bytes);
            n++;
        }
    }
    CHECK(n > 0);
    free(memory);
}

static void a_freed_block_serves_its_size_again(void)
{
    struct rnic_mem mem = {0};
    void *memory = arena(4096), *first;

    rnic_mem_add(&mem, memory, 4096);
    first = rnic_mem_alloc(&mem, 2000);
    rnic_mem_free(&mem, first, 2000);
    CHECK(rnic_mem_alloc(&mem, 2000) == first);
    rnic_mem_free(&mem, NULL, 100); /* allowed */
    free(memory);
}

static void growing_keeps_what_is_there(void)
{
    struct rnic_mem mem = {0};
    void *memory = arena(65536), *array = NULL;
    uint32_t cap = 0, n = 0;

    rnic_mem_add(&mem, memory, 65536);
    for (; n < 1000; n++) {
        CHECK(rnic_mem_grow(&mem, &array, &cap, n + 1, sizeof(uint32_t)));
        CHECK(cap > n);
        ((uint32_t *)array)[n] = n * 7;
    }
    for (uint32_t i = 0; i < 1000; i++)
        CHECK_EQ(((uint32_t *)array)[i], i * 7);
    CHECK(!rnic_mem_grow(&mem, &array, &cap, 1000000, sizeof(uint32_t)));
    CHECK_EQ(((uint32_t *)array)[999], 999 * 7); /* as it was */
    CHECK_EQ(mem.wanted, 4u << 20);
    free(memory);
}

CHECK_SUITE(mem, CHECK_CASE(an_empty_arena_says_what_it_wants),
            CHECK_CASE(every_byte_given_can_be_used),
            CHECK_CASE(blocks_are_zeroed_aligned_and_apart),
            CHECK_CASE(a_freed_block_serves_its_size_again),
            CHECK_CASE(growing_keeps_what_is_there))
