/* SPDX-License-Identifier: GPL-2.0-only */
/* The heap of events: order, room, what is forgotten. */
#include "check.h"
#include "rnic_cq_event.h"
#include "wire_rng.h"

#define SEED 2u

static struct rnic_mem mem;
static struct rnic_cq_event events;
static void *memory;

static void begin(uint32_t sure)
{
    memory = aligned_alloc(64, 1 << 20);
    CHECK(memory != NULL);
    mem = (struct rnic_mem){0};
    events = (struct rnic_cq_event){0};
    rnic_mem_add(&mem, memory, 1 << 20);
    CHECK(rnic_cq_event_reserve(&events, &mem, sure));
}

static void push(enum rnic_event_type type, uint32_t number, uint64_t time_ps, uint64_t value)
{
    rnic_cq_event_push(
        &events,
        &(struct rnic_event){
            .type = type, .qpn = number, .cq = number, .time_ps = time_ps, .value = value});
}

/* By time, and at one time in the order they came. */
static void events_come_out_in_order(void)
{
    struct wire_rng rng = wire_rng_init(SEED, 0);

    printf("seed %u\n", SEED);
    begin(1000);
    for (uint32_t round = 0; round < 100; round++) {
        uint64_t last_ps = 0, last_value = 0;
        struct rnic_event event;
        uint32_t n = 1 + (uint32_t)(wire_rng_next(&rng) % 1000);

        for (uint32_t i = 0; i < n; i++)
            push(RNIC_EVENT_CQ, 1, wire_rng_next(&rng) % 50, i);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t next_ps = rnic_cq_event_next_ps(&events);

            if (next_ps > 0)
                CHECK(!rnic_cq_event_pop(&events, next_ps - 1, &event));
            CHECK(rnic_cq_event_pop(&events, next_ps, &event));
            CHECK_EQ(event.time_ps, next_ps);
            CHECK(event.time_ps > last_ps || event.value >= last_value);
            last_ps = event.time_ps;
            last_value = event.value;
        }
        CHECK_EQ(rnic_cq_event_next_ps(&events), WIRE_NEVER);
    }
    free(memory);
}

static void a_trace_record_needs_its_bit(void)
{
    begin(4);
    push(RNIC_EVENT_PLACED, 1, 0, 0);
    CHECK_EQ(events.n, 0);
    events.trace_mask = 1u << RNIC_EVENT_PLACED;
    push(RNIC_EVENT_PLACED, 1, 0, 0);
    push(RNIC_EVENT_CNP_TX, 1, 0, 0);
    CHECK_EQ(events.n, 1);
    CHECK(rnic_cq_event_wanted(&events, RNIC_EVENT_PLACED));
    CHECK(!rnic_cq_event_wanted(&events, RNIC_EVENT_PASSAGE));
    free(memory);
}

/* A flood of trace records leaves room for what must not be lost. */
static void trace_records_never_push_out_a_sure_one(void)
{
    struct rnic_event event;
    uint32_t sure = 0, kept;

    begin(100);
    events.trace_mask = ~0u;
    for (uint32_t i = 0; i < 10000; i++)
        push(RNIC_EVENT_PASSAGE, 1, 0, 0);
    CHECK(events.passages_lost > 0);
    CHECK_EQ(events.trace_lost, 0);
    CHECK_EQ(events.n + events.passages_lost, 10000);
    CHECK(events.n >= RNIC_CQ_EVENT_TRACES);
    kept = events.n;
    for (uint32_t i = 0; i < 10000; i++) /* told once a message: these have room of their own */
        push(RNIC_EVENT_PLACED, 1, 0, 0);
    CHECK(events.n >= kept + RNIC_CQ_EVENT_TRACES / 2);
    CHECK_EQ(events.n + events.trace_lost, kept + 10000);
    CHECK_EQ(kept + events.passages_lost, 10000);
    for (uint32_t i = 0; i < 100; i++)
        push(RNIC_EVENT_QP_FATAL, i, 1, 0);
    while (rnic_cq_event_pop(&events, 1, &event))
        sure += event.type == RNIC_EVENT_QP_FATAL;
    CHECK_EQ(sure, 100);
    free(memory);
}

static void what_is_forgotten_is_exactly_that(void)
{
    struct wire_rng rng = wire_rng_init(SEED, 1);
    static const enum rnic_event_type types[] = {
        RNIC_EVENT_CQ,         RNIC_EVENT_CQ_ERR,        RNIC_EVENT_QP_FATAL,
        RNIC_EVENT_QP_REQ_ERR, RNIC_EVENT_QP_ACCESS_ERR, RNIC_EVENT_COMM_EST,
        RNIC_EVENT_LAST_WQE,   RNIC_EVENT_PLACED};

    begin(1000);
    events.trace_mask = ~0u;
    for (uint32_t round = 0; round < 50; round++) {
        uint32_t left = 0, seen = 0;
        uint64_t last_ps = 0;
        struct rnic_event event;

        for (uint32_t i = 0; i < 60; i++) {
            enum rnic_event_type type = types[wire_rng_next(&rng) % 8];
            uint32_t number = (uint32_t)(wire_rng_next(&rng) % 3);
            bool of_cq = type == RNIC_EVENT_CQ || type == RNIC_EVENT_CQ_ERR;
            bool goes = type != RNIC_EVENT_PLACED && (of_cq ? number == 1 : number == 2);

            left += !goes;
            push(type, number, wire_rng_next(&rng) % 100, 0);
        }
        rnic_cq_event_forget_cq(&events, 1);
        rnic_cq_event_forget_qp(&events, 2);
        while (rnic_cq_event_pop(&events, 100, &event)) {
            CHECK(event.time_ps >= last_ps);
            last_ps = event.time_ps;
            seen++;
            if (event.type == RNIC_EVENT_CQ || event.type == RNIC_EVENT_CQ_ERR)
                CHECK(event.cq != 1);
            else if (event.type != RNIC_EVENT_PLACED)
                CHECK(event.qpn != 2);
        }
        CHECK_EQ(seen, left);
    }
    free(memory);
}

/* Drained and limit may come again before they are taken: the newest of each queue waits. */
static void what_repeats_waits_once(void)
{
    struct rnic_event event;

    begin(6);
    for (uint64_t i = 1; i <= 1000; i++) {
        push(RNIC_EVENT_SQ_DRAINED, 7, i, 0);
        push(RNIC_EVENT_SQ_DRAINED, 8, i, 0);
        rnic_cq_event_push(
            &events, &(struct rnic_event){.type = RNIC_EVENT_SRQ_LIMIT, .srq = 7, .time_ps = i});
    }
    push(RNIC_EVENT_LAST_WQE, 7, 2000, 0);
    CHECK_EQ(events.n, 4);
    CHECK(!rnic_cq_event_pop(&events, 999, &event));
    rnic_cq_event_forget_qp(&events, 8);
    CHECK(rnic_cq_event_pop(&events, 1000, &event));
    CHECK_EQ(event.type, RNIC_EVENT_SQ_DRAINED);
    CHECK_EQ(event.qpn, 7);
    rnic_cq_event_forget_srq(&events, 8); /* another one */
    CHECK(rnic_cq_event_pop(&events, 1000, &event));
    CHECK_EQ(event.type, RNIC_EVENT_SRQ_LIMIT);
    CHECK_EQ(event.srq, 7);
    rnic_cq_event_push(&events, &event);
    rnic_cq_event_forget_srq(&events, 7);
    rnic_cq_event_forget_qp(&events, 7);
    CHECK(!rnic_cq_event_pop(&events, 3000, &event));
    free(memory);
}

CHECK_SUITE(cq_event, CHECK_CASE(what_repeats_waits_once), CHECK_CASE(events_come_out_in_order),
            CHECK_CASE(a_trace_record_needs_its_bit),
            CHECK_CASE(trace_records_never_push_out_a_sure_one),
            CHECK_CASE(what_is_forgotten_is_exactly_that))
