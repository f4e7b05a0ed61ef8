/* SPDX-License-Identifier: GPL-2.0-only */
/* Address handles: numbers that are found exactly while they live. */
#include "check.h"
#include "rnic_table_ah.h"

static struct rnic_mem mem;
static struct rnic_table_ah table;
static void *memory;

static void begin(void)
{
    memory = aligned_alloc(64, 65536);
    CHECK(memory != NULL);
    mem = (struct rnic_mem){0};
    table = (struct rnic_table_ah){0};
    rnic_mem_add(&mem, memory, 65536);
}

static void handles_come_and_go(void)
{
    uint32_t number[100], again;

    begin();
    CHECK(rnic_table_ah_find(&table, 0) == NULL);
    CHECK(rnic_table_ah_find(&table, 1) == NULL);
    for (uint32_t i = 0; i < 100; i++) {
        const struct rnic_av av = {.dest_station = i};

        CHECK_EQ(rnic_table_ah_add(&table, &mem, 7, &av, &number[i]), 0);
        CHECK(number[i] != 0);
    }
    for (uint32_t i = 0; i < 100; i++) {
        CHECK_EQ(rnic_table_ah_find(&table, number[i])->av.dest_station, i);
        CHECK_EQ(rnic_table_ah_find(&table, number[i])->pd, 7);
    }
    CHECK(rnic_table_ah_find(&table, 101) == NULL);
    CHECK(rnic_table_ah_find(&table, UINT32_MAX) == NULL);
    for (uint32_t i = 0; i < 100; i += 2)
        rnic_table_ah_remove(&table, number[i]);
    for (uint32_t i = 0; i < 100; i++)
        CHECK_EQ(rnic_table_ah_find(&table, number[i]) != NULL, i % 2 == 1);
    for (uint32_t i = 0; i < 50; i++) { /* the free ones first */
        const struct rnic_av av = {.dest_station = 1000};

        CHECK_EQ(rnic_table_ah_add(&table, &mem, 8, &av, &again), 0);
        CHECK(again <= 100);
        CHECK_EQ(rnic_table_ah_find(&table, again)->av.dest_station, 1000);
    }
    CHECK_EQ(rnic_table_ah_find(&table, number[1])->av.dest_station, 1);
    CHECK_EQ(table.n, 100);
    free(memory);
}

static void an_empty_arena_is_named(void)
{
    struct rnic_mem empty = {0};
    const struct rnic_av av = {0};
    uint32_t number = 5;

    table = (struct rnic_table_ah){0};
    CHECK_EQ(rnic_table_ah_add(&table, &empty, 1, &av, &number), RNIC_ERR_NOMEM);
    CHECK_EQ(number, 5);
    CHECK_EQ(table.n, 0);
    CHECK(empty.wanted > 0);
}

CHECK_SUITE(table_ah, CHECK_CASE(handles_come_and_go), CHECK_CASE(an_empty_arena_is_named))
