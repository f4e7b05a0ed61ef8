/* SPDX-License-Identifier: GPL-2.0-only */
/* Keys and regions: who may touch which byte. */
#include "check.h"
#include "rnic_table_mr.h"

static struct rnic_mem mem;
static struct rnic_table_mr table;
static void *memory;

static void begin(void)
{
    memory = aligned_alloc(64, 1 << 20);
    CHECK(memory != NULL);
    mem = (struct rnic_mem){0};
    table = (struct rnic_table_mr){0};
    rnic_mem_add(&mem, memory, 1 << 20);
}

static struct rnic_mr *region(uint32_t pd, uint64_t va, uint64_t length, uint32_t access)
{
    struct rnic_mr *mr;

    CHECK_EQ(rnic_table_mr_add(&table, &mem, 1000, &mr), 0);
    mr->pd = pd;
    mr->va = va;
    mr->length = length;
    mr->access = access;
    return mr;
}

/* A slot that is used again has another key. */
static void a_key_is_never_the_one_its_slot_had_before(void)
{
    uint32_t before = 0;
    bool seen[256] = {false};

    begin();
    for (uint32_t i = 0; i < 256; i++) {
        struct rnic_mr *mr = region(1, 0, 10, 0);
        uint32_t key = mr->key;

        CHECK(key != before);
        CHECK(!seen[key & 0xFF]); /* all variants are used before one comes again */
        seen[key & 0xFF] = true;
        CHECK(rnic_table_mr_find(&table, key) == mr);
        CHECK(rnic_table_mr_find(&table, before) == NULL || i == 0);
        rnic_table_mr_remove(&table, mr);
        CHECK(rnic_table_mr_find(&table, key) == NULL);
        before = key;
    }
    CHECK_EQ(table.n, 1); /* the slot was used again each time */
    free(memory);
}

static void only_the_whole_key_opens_a_region(void)
{
    struct rnic_mr *mr[5];

    begin();
    for (uint32_t i = 0; i < 5; i++)
        mr[i] = region(1, 0, 10, 0);
    for (uint32_t i = 0; i < 5; i++)
        for (uint32_t bit = 0; bit < 32; bit++)
            CHECK(rnic_table_mr_find(&table, mr[i]->key ^ 1u << bit) != mr[i]);
    CHECK(rnic_table_mr_find(&table, 0xFFFFFFFF) == NULL);
    free(memory);
}

static void bounds_to_the_byte(void)
{
    static const struct {
        uint64_t va, bytes;
        bool inside;
    } cases[] = {
        {0x1000, 1, true},          {0x1000, 0x1000, true},
        {0x1FFF, 1, true},          {0x1FFF, 2, false},
        {0x2000, 1, false},         {0xFFF, 1, false},
        {0xFFF, 2, false},          {0x1000, 0x1001, false},
        {0x1001, 0x1000, false},    {0, UINT64_MAX, false},
        {UINT64_MAX, 1, false},     {0x1000, UINT64_MAX, false},
        {UINT64_MAX - 1, 8, false}, {0x1800, UINT64_MAX - 0x7FF, false},
    };
    struct rnic_mr *mr;

    begin();
    mr = region(1, 0x1000, 0x1000, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_EQ(rnic_table_mr_check(&table, mr->key, 1, 0, cases[i].va, cases[i].bytes) == mr,
                 cases[i].inside);
    free(memory);
}

static void every_permission_and_the_domain(void)
{
    begin();
    for (uint32_t has = 0; has < 16; has++) {
        struct rnic_mr *mr = region(3, 0, 100, has);

        for (uint32_t asks = 0; asks < 16; asks++)
            for (uint32_t pd = 2; pd < 5; pd++)
                CHECK_EQ(rnic_table_mr_check(&table, mr->key, pd, asks, 0, 100) != NULL,
                         pd == 3 && (has & asks) == asks);
    }
    free(memory);
}

static void domains_come_and_go(void)
{
    uint32_t pd[3], again;

    begin();
    for (uint32_t i = 0; i < 3; i++)
        CHECK_EQ(rnic_table_mr_pd_alloc(&table, &mem, &pd[i]), 0);
    CHECK(pd[0] != pd[1] && pd[1] != pd[2] && pd[0] != 0);
    rnic_table_mr_pd(&table, pd[1])->refs++;
    CHECK_EQ(rnic_table_mr_pd_free(&table, pd[1]), RNIC_ERR_BUSY);
    rnic_table_mr_pd(&table, pd[1])->refs--;
    CHECK_EQ(rnic_table_mr_pd_free(&table, pd[1]), 0);
    CHECK(rnic_table_mr_pd(&table, pd[1]) == NULL);
    CHECK_EQ(rnic_table_mr_pd_alloc(&table, &mem, &again), 0);
    CHECK_EQ(again, pd[1]);
    CHECK_EQ(rnic_table_mr_pd(&table, again)->refs, 0);
    free(memory);
}

static void the_limit_and_the_arena_are_named(void)
{
    struct rnic_mem empty = {0};
    struct rnic_mr *mr;
    uint32_t pd;

    begin();
    CHECK_EQ(rnic_table_mr_add(&table, &mem, 1, &mr), 0);
    CHECK_EQ(rnic_table_mr_add(&table, &mem, 1, &mr), RNIC_ERR_LIMIT);
    table = (struct rnic_table_mr){0};
    CHECK_EQ(rnic_table_mr_add(&table, &empty, 1, &mr), RNIC_ERR_NOMEM);
    CHECK_EQ(rnic_table_mr_pd_alloc(&table, &empty, &pd), RNIC_ERR_NOMEM);
    CHECK_EQ(table.live, 0);
    free(memory);
}

CHECK_SUITE(table_mr, CHECK_CASE(a_key_is_never_the_one_its_slot_had_before),
            CHECK_CASE(only_the_whole_key_opens_a_region), CHECK_CASE(bounds_to_the_byte),
            CHECK_CASE(every_permission_and_the_domain), CHECK_CASE(domains_come_and_go),
            CHECK_CASE(the_limit_and_the_arena_are_named))
