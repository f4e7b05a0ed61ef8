/* SPDX-License-Identifier: GPL-2.0-only */
/* Translations: how many pages an access touches, and what they cost when they are not here. */
#include "check.h"
#include "rnic_table_page.h"

static struct rnic_mem mem;
static struct rnic_server fetcher;
static struct rnic_table_page table;
static void *memory;

static void begin(uint32_t capacity)
{
    memory = aligned_alloc(64, 1 << 20);
    CHECK(memory != NULL);
    mem = (struct rnic_mem){0};
    fetcher = (struct rnic_server){0};
    table = (struct rnic_table_page){
        .page_shift = 12, .cache = {.capacity = capacity, .miss_ps = 1000, .fetcher = &fetcher}};
    rnic_mem_add(&mem, memory, 1 << 20);
}

/* Pages touched = last page - first page + 1, wherever the region begins. */
static void an_access_touches_its_pages_and_no_other(void)
{
    static const uint64_t starts[] = {0, 1, 4095, 4096, 0x7F0000000FFF};
    static const uint32_t sizes[] = {1, 2, 4095, 4096, 4097, 8192, 8193, 20000};

    for (size_t s = 0; s < sizeof starts / sizeof starts[0]; s++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            for (uint64_t offset = 0; offset < 10000; offset += 1365) {
                struct rnic_mr mr = {.va = starts[s], .length = 40000};
                uint64_t va = mr.va + offset;
                uint64_t pages = ((va + sizes[i] - 1) >> 12) - (va >> 12) + 1;

                begin(100);
                CHECK(rnic_table_page_add(&table, &mem, &mr));
                CHECK_EQ(rnic_table_page_ready(&table, &mr, va, sizes[i], 50), 1050);
                CHECK_EQ(table.cache.misses, pages);
                CHECK_EQ(rnic_table_page_ready(&table, &mr, va, sizes[i], 2000), 2000);
                CHECK_EQ(table.cache.hits, pages);
                rnic_table_page_remove(&table, &mem, &mr);
                CHECK_EQ(table.live, 0);
                CHECK_EQ(table.cache.used, 0);
                free(memory);
            }
}

static void the_ends_of_a_region_have_pages(void)
{
    struct rnic_mr mr = {.va = 4000, .length = 200}; /* touches two */

    begin(100);
    CHECK(rnic_table_page_add(&table, &mem, &mr));
    CHECK_EQ(mr.n_pages, 2);
    (void)rnic_table_page_ready(&table, &mr, 4000, 200, 0);
    CHECK_EQ(table.cache.misses, 2);
    (void)rnic_table_page_ready(&table, &mr, 4199, 1, 0);
    CHECK_EQ(table.cache.hits, 1);
    free(memory);
}

static void an_unlimited_cache_keeps_no_pages(void)
{
    struct rnic_mr mr = {.va = 0, .length = (uint64_t)1 << 60};

    begin(0);
    CHECK(rnic_table_page_add(&table, &mem, &mr));
    CHECK(mr.pages == NULL);
    CHECK_EQ(rnic_table_page_ready(&table, &mr, 0, 1 << 30, 5), 5);
    rnic_table_page_remove(&table, &mem, &mr);
    free(memory);
}

static void a_region_too_large_for_memory_is_refused(void)
{
    struct rnic_mr mr = {.va = 0, .length = (uint64_t)1 << 60};

    begin(100);
    CHECK(!rnic_table_page_add(&table, &mem, &mr));
    CHECK_EQ(table.live, 0);
    mr.length = (uint64_t)1 << 30; /* 2^18 pages of 16 B: more than there is */
    CHECK(!rnic_table_page_add(&table, &mem, &mr));
    CHECK(mem.wanted >= (1 << 18) * sizeof(struct rnic_cache_entry));
    CHECK_EQ(table.live, 0);
    free(memory);
}

CHECK_SUITE(table_page, CHECK_CASE(an_access_touches_its_pages_and_no_other),
            CHECK_CASE(the_ends_of_a_region_have_pages),
            CHECK_CASE(an_unlimited_cache_keeps_no_pages),
            CHECK_CASE(a_region_too_large_for_memory_is_refused))
