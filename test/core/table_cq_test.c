/* SPDX-License-Identifier: GPL-2.0-only */
/* Completion queues as a table: numbers, references, memory, discarding. */
#include "check.h"
#include "rnic_table_cq.h"

static struct rnic_mem mem;
static struct rnic_table_cq table;
static void *memory;

static void begin(void)
{
    memory = aligned_alloc(64, 1 << 18);
    CHECK(memory != NULL);
    mem = (struct rnic_mem){0};
    table = (struct rnic_table_cq){0};
    rnic_mem_add(&mem, memory, 1 << 18);
}

static void numbers_begin_at_1_and_are_used_again(void)
{
    uint32_t number[3], again;

    begin();
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_EQ(rnic_table_cq_add(&table, &mem, 3, 10, &number[i]), 0);
        CHECK_EQ(number[i], i + 1);
        CHECK_EQ(rnic_table_cq_find(&table, number[i])->mask, 15);
    }
    CHECK_EQ(rnic_table_cq_add(&table, &mem, 3, 10, &again), RNIC_ERR_LIMIT);
    CHECK(rnic_table_cq_find(&table, 0) == NULL);
    CHECK(rnic_table_cq_find(&table, 4) == NULL);
    CHECK_EQ(rnic_table_cq_remove(&table, &mem, 2), 0);
    CHECK(rnic_table_cq_find(&table, 2) == NULL);
    CHECK_EQ(rnic_table_cq_remove(&table, &mem, 2), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_table_cq_add(&table, &mem, 3, 1, &again), 0);
    CHECK_EQ(again, 2);
    CHECK_EQ(rnic_table_cq_find(&table, 2)->mask, 0);
    CHECK_EQ(rnic_table_cq_find(&table, 2)->head, 0);
    free(memory);
}

static void a_cq_in_use_stays(void)
{
    uint32_t number;

    begin();
    CHECK_EQ(rnic_table_cq_add(&table, &mem, 3, 10, &number), 0);
    rnic_table_cq_find(&table, number)->refs = 1;
    CHECK_EQ(rnic_table_cq_remove(&table, &mem, number), RNIC_ERR_BUSY);
    CHECK(rnic_table_cq_find(&table, number) != NULL);
    rnic_table_cq_find(&table, number)->refs = 0;
    CHECK_EQ(rnic_table_cq_remove(&table, &mem, number), 0);
    free(memory);
}

/* Too little memory: nothing is there, and the same call works later. */
static void no_memory_leaves_no_half_made_cq(void)
{
    static uint8_t more[1 << 20] __attribute__((aligned(64)));
    uint32_t number;

    begin();
    CHECK_EQ(rnic_table_cq_add(&table, &mem, 3, 8192, &number), RNIC_ERR_NOMEM);
    CHECK_EQ(table.live, 0);
    CHECK(rnic_table_cq_find(&table, 1) == NULL);
    CHECK(mem.wanted <= sizeof more);
    rnic_mem_add(&mem, more, mem.wanted);
    CHECK_EQ(rnic_table_cq_add(&table, &mem, 3, 8192, &number), 0);
    CHECK_EQ(number, 1);
    free(memory);
}

static void discarding_names_one_queue_pair(void)
{
    struct rnic_cq *cq;
    uint32_t number;

    begin();
    CHECK_EQ(rnic_table_cq_add(&table, &mem, 3, 8, &number), 0);
    cq = rnic_table_cq_find(&table, number);
    cq->tail = cq->head = 0xFFFFFFFE; /* over the wrap of the counters */
    for (uint32_t i = 0; i < 8; i++)
        cq->cqes[cq->head++ & cq->mask] = (struct rnic_cqe){.wc = {.qp_num = i % 2}};
    cq->tail += 2; /* these were polled */
    rnic_table_cq_discard(cq, 1);
    for (uint32_t i = 0; i < 8; i++)
        CHECK_EQ(cq->cqes[(0xFFFFFFFE + i) & cq->mask].discarded, i >= 2 && i % 2);
    free(memory);
}

CHECK_SUITE(table_cq, CHECK_CASE(numbers_begin_at_1_and_are_used_again),
            CHECK_CASE(a_cq_in_use_stays), CHECK_CASE(no_memory_leaves_no_half_made_cq),
            CHECK_CASE(discarding_names_one_queue_pair))
