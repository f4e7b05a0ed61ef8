/* SPDX-License-Identifier: GPL-2.0-only */
/* First free interval, against a reference that keeps every picosecond as a bit. */
#include "check.h"
#include "rnic_server.h"
#include "wire_rng.h"

#define SPAN 4096u
#define SEED 1u

/* Earliest start >= in with `service` free units in a row. */
static uint64_t reference_pass(uint8_t *busy, uint64_t in, uint64_t service)
{
    uint64_t run = 0, at = in;

    for (; run < service; at++)
        run = busy[at] ? 0 : run + 1;
    memset(busy + at - service, 1, service);
    return at - service;
}

static void the_first_free_interval_is_taken(void)
{
    struct wire_rng rng = wire_rng_init(SEED, 0);
    static uint8_t busy[4 * SPAN];

    printf("seed %u\n", SEED);
    for (uint32_t round = 0; round < 300; round++) {
        struct rnic_server server = {0};
        uint64_t most = 1 + wire_rng_next(&rng) % 40;

        memset(busy, 0, sizeof busy);
        for (uint32_t i = 0; i < 100; i++) { /* no more than it remembers */
            uint64_t in = wire_rng_next(&rng) % SPAN, service = 1 + wire_rng_next(&rng) % most;

            CHECK_EQ(rnic_server_pass(&server, in, service), reference_pass(busy, in, service));
            for (uint32_t k = 1; k < server.n; k++) /* sorted, not touching */
                CHECK(server.busy[k - 1].end_ps < server.busy[k].start_ps);
        }
        CHECK_EQ(server.forgotten, 0);
    }
}

static void calls_in_order_queue_up_behind_each_other(void)
{
    struct rnic_server server = {0};

    for (uint64_t i = 0; i < 10000; i++)
        CHECK_EQ(rnic_server_pass(&server, 5, 7), 5 + 7 * i);
    CHECK_EQ(server.n, 1);
}

/* A booking in the far future delays nothing that is called after it for now. */
static void a_far_booking_delays_nobody_now(void)
{
    struct rnic_server server = {0};

    CHECK_EQ(rnic_server_pass(&server, 1000000, 10), 1000000);
    CHECK_EQ(rnic_server_pass(&server, 100, 10), 100);
    CHECK_EQ(rnic_server_pass(&server, 105, 10), 110);
    CHECK_EQ(rnic_server_pass(&server, 999995, 10), 1000010);
}

static void what_needs_no_time_never_waits(void)
{
    struct rnic_server server = {0};

    CHECK_EQ(rnic_server_pass(&server, 10, 100), 10);
    CHECK_EQ(rnic_server_pass(&server, 50, 0), 50);
    CHECK_EQ(server.n, 1);
}

/* With the ring full the oldest interval goes, and that is counted. */
static void a_full_ring_forgets_the_oldest(void)
{
    struct rnic_server server = {0};

    for (uint64_t i = 0; i < RNIC_SERVER_INTERVALS; i++)
        CHECK_EQ(rnic_server_pass(&server, 100 * i, 10), 100 * i);
    CHECK_EQ(server.forgotten, 0);
    CHECK_EQ(rnic_server_pass(&server, 100 * RNIC_SERVER_INTERVALS, 10),
             100 * RNIC_SERVER_INTERVALS);
    CHECK_EQ(server.forgotten, 1);
    CHECK_EQ(server.n, RNIC_SERVER_INTERVALS);
    CHECK_EQ(server.busy[0].start_ps, 100);
    CHECK_EQ(rnic_server_pass(&server, 0, 10), 0); /* older than all that is remembered */
    CHECK_EQ(server.forgotten, 2);
    CHECK_EQ(server.busy[0].start_ps, 100);
    CHECK_EQ(rnic_server_pass(&server, 105, 10), 110); /* joined: no room needed */
    CHECK_EQ(server.n, RNIC_SERVER_INTERVALS);
}

static void a_stage_keeps_its_order(void)
{
    struct rnic_stage stage = {0};

    CHECK_EQ(rnic_stage_pass(&stage, 1000, 10, 200), 1200);
    CHECK_EQ(rnic_stage_pass(&stage, 1000, 10, 200), 1210);
    CHECK_EQ(rnic_stage_pass(&stage, 500, 10, 200), 1220); /* came later, however early it was */
    CHECK_EQ(rnic_stage_pass(&stage, 5000, 10, 200), 5200);
}

CHECK_SUITE(server, CHECK_CASE(the_first_free_interval_is_taken),
            CHECK_CASE(calls_in_order_queue_up_behind_each_other),
            CHECK_CASE(a_far_booking_delays_nobody_now), CHECK_CASE(what_needs_no_time_never_waits),
            CHECK_CASE(a_full_ring_forgets_the_oldest), CHECK_CASE(a_stage_keeps_its_order))
