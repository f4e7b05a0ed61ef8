/* SPDX-License-Identifier: GPL-2.0-only */
/* CQE generation on the tables alone: times never go back, and each arming gives one event. */
#include "check.h"
#include "rnic_cq_write.h"
#include "wire_rng.h"

#define SEED 9u

static struct rnic_mem mem;
static struct rnic_table_cq table;
static struct rnic_cq_event events;
static struct rnic_dma dma;
static struct rnic_cq *cq;
static void *memory;
static const struct rnic_cq_write_params params = {
    .cqe_bytes = 64, .event_latency_ps = 1000, .poll_latency_ps = 10};

static void begin(uint32_t entries)
{
    struct rnic_params p = rnic_params_ideal();
    uint32_t number;

    memory = aligned_alloc(64, 1 << 20);
    CHECK(memory != NULL);
    mem = (struct rnic_mem){0};
    table = (struct rnic_table_cq){0};
    events = (struct rnic_cq_event){0};
    rnic_mem_add(&mem, memory, 1 << 20);
    p.dma_write_latency_ps = 300;
    rnic_dma_init(&dma, &p);
    CHECK(rnic_cq_event_reserve(&events, &mem, 10));
    CHECK_EQ(rnic_table_cq_add(&table, &mem, 10, entries, &number), 0);
    cq = rnic_table_cq_find(&table, number);
}

static bool write_one(enum rnic_wc_status status, bool solicited, uint64_t data_ps)
{
    struct rnic_cqe cqe = {.wc = {.status = status, .qp_num = 3}, .solicited = solicited};

    return rnic_cq_write(cq, &table, &dma, &events, &params, &cqe, data_ps);
}

/* Take all events up to a time. */
static uint32_t take(enum rnic_event_type type, uint64_t now_ps)
{
    struct rnic_event event;
    uint32_t n = 0;

    while (rnic_cq_event_pop(&events, now_ps, &event)) {
        if (event.type == RNIC_EVENT_CQ)
            rnic_cq_write_event_taken(cq, &events);
        n += event.type == type;
    }
    return n;
}

static void visibility_never_goes_back_and_never_before_the_data(void)
{
    struct wire_rng rng = wire_rng_init(SEED, 0);
    uint64_t last_ps = 0;

    printf("seed %u\n", SEED);
    begin(4096);
    for (uint32_t i = 0; i < 4096; i++) {
        uint64_t data_ps = wire_rng_next(&rng) % 100000;

        CHECK(write_one(RNIC_WC_SUCCESS, false, data_ps));
        CHECK(cq->cqes[i].visible_ps >= data_ps + 300);
        CHECK(cq->cqes[i].visible_ps >= last_ps);
        CHECK(cq->cqes[i].visible_ps == data_ps + 300 || cq->cqes[i].visible_ps == last_ps);
        last_ps = cq->cqes[i].visible_ps;
    }
    free(memory);
}

static void a_full_cq_loses_the_completion_and_says_so_once(void)
{
    begin(3); /* rounded up to four */
    for (uint32_t i = 0; i < 4; i++)
        CHECK(write_one(RNIC_WC_SUCCESS, false, i));
    CHECK(!write_one(RNIC_WC_SUCCESS, false, 5));
    CHECK(!write_one(RNIC_WC_SUCCESS, false, 6));
    CHECK_EQ(take(RNIC_EVENT_CQ_ERR, 1000000), 1);
    CHECK_EQ(cq->head, 4);
    cq->tail = 2;
    CHECK(!write_one(RNIC_WC_SUCCESS, false, 7)); /* unusable from then on */
    free(memory);
}

static void arming(void)
{
    begin(64);
    CHECK(write_one(RNIC_WC_SUCCESS, false, 0)); /* visible at 300 */
    rnic_cq_write_arm(cq, &events, false, params.event_latency_ps, 300);
    CHECK_EQ(take(RNIC_EVENT_CQ, 1000000), 0); /* it was visible already */
    CHECK(write_one(RNIC_WC_SUCCESS, false, 400));
    CHECK(write_one(RNIC_WC_SUCCESS, false, 500));
    CHECK_EQ(take(RNIC_EVENT_CQ, 1699), 0);
    CHECK_EQ(take(RNIC_EVENT_CQ, 1700), 1);
    CHECK_EQ(take(RNIC_EVENT_CQ, 1000000), 0);
    free(memory);
}

/* Under way when it is armed: the event is not lost. */
static void arming_covers_what_is_not_visible_yet(void)
{
    begin(64);
    CHECK(write_one(RNIC_WC_SUCCESS, false, 0));
    CHECK(write_one(RNIC_WC_SUCCESS, false, 500));
    CHECK(write_one(RNIC_WC_SUCCESS, true, 900));
    rnic_cq_write_arm(cq, &events, false, params.event_latency_ps, 299);
    CHECK_EQ(take(RNIC_EVENT_CQ, 1299), 0);
    CHECK_EQ(take(RNIC_EVENT_CQ, 1300), 1);
    rnic_cq_write_arm(cq, &events, false, params.event_latency_ps, 300);
    CHECK_EQ(take(RNIC_EVENT_CQ, 1799), 0);
    CHECK_EQ(take(RNIC_EVENT_CQ, 1800), 1);
    rnic_cq_write_arm(cq, &events, true, params.event_latency_ps, 300);
    CHECK_EQ(take(RNIC_EVENT_CQ, 2199), 0); /* the solicited one */
    CHECK_EQ(take(RNIC_EVENT_CQ, 2200), 1);
    rnic_cq_write_arm(cq, &events, true, params.event_latency_ps, 1200);
    CHECK_EQ(take(RNIC_EVENT_CQ, 1000000), 0);
    free(memory);
}

static void a_discarded_completion_wakes_nobody(void)
{
    begin(64);
    CHECK(write_one(RNIC_WC_SUCCESS, false, 0));
    rnic_table_cq_discard(cq, 3);
    rnic_cq_write_arm(cq, &events, false, params.event_latency_ps, 0);
    CHECK_EQ(take(RNIC_EVENT_CQ, 1000000), 0);
    free(memory);
}

static void solicited_and_errors(void)
{
    begin(64);
    rnic_cq_write_arm(cq, &events, true, params.event_latency_ps, 0);
    CHECK(write_one(RNIC_WC_SUCCESS, false, 0));
    CHECK_EQ(take(RNIC_EVENT_CQ, 1000000), 0);
    CHECK(write_one(RNIC_WC_SUCCESS, true, 0));
    CHECK_EQ(take(RNIC_EVENT_CQ, 1000000), 1);
    rnic_cq_write_arm(cq, &events, true, params.event_latency_ps, 1000000);
    CHECK(write_one(RNIC_WC_WR_FLUSH_ERR, false, 0));
    CHECK_EQ(take(RNIC_EVENT_CQ, 3000000), 1);
    rnic_cq_write_arm(cq, &events, false, params.event_latency_ps, 3000000);
    rnic_cq_write_arm(cq, &events, true, params.event_latency_ps, 3000000);
    CHECK(write_one(RNIC_WC_SUCCESS, false, 4000000)); /* armed for any stays armed for any */
    CHECK_EQ(take(RNIC_EVENT_CQ, 9000000), 1);
    free(memory);
}

/* Armed again before the first event was taken: the second follows, and no more than one waits. */
static void events_of_a_cq_are_coalesced(void)
{
    begin(64);
    for (uint32_t i = 0; i < 20; i++) {
        rnic_cq_write_arm(cq, &events, false, params.event_latency_ps, 1000 * i);
        CHECK(write_one(RNIC_WC_SUCCESS, false, 1000 * i));
        CHECK(events.n <= 1);
    }
    CHECK_EQ(take(RNIC_EVENT_CQ, 1000000), 2);
    free(memory);
}

CHECK_SUITE(cq_write, CHECK_CASE(visibility_never_goes_back_and_never_before_the_data),
            CHECK_CASE(a_full_cq_loses_the_completion_and_says_so_once), CHECK_CASE(arming),
            CHECK_CASE(arming_covers_what_is_not_visible_yet),
            CHECK_CASE(a_discarded_completion_wakes_nobody), CHECK_CASE(solicited_and_errors),
            CHECK_CASE(events_of_a_cq_are_coalesced))
