/* SPDX-License-Identifier: GPL-2.0-only */
/* Who sends next: strict classes, shares, pauses, frames not ready. */
#include "fabric_rig.h"

/* Bytes each class got while all of @p bytes (0: class absent) are kept backlogged. */
static void shares(uint64_t quantum_bytes, const uint32_t bytes[8], uint32_t ready, int pulls,
                   uint64_t got[8])
{
    struct fabric_params params = rig_plain_params();
    struct rig rig;

    params.dwrr_quantum_bytes = quantum_bytes;
    params.lossless = 0;
    params.strict_classes = 192;
    rig = rig_start(&params, 2);
    memset(got, 0, 8 * sizeof(got[0]));
    for (uint8_t prio = 0; prio < 8; prio++)
        for (int i = 0; i < 2 && bytes[prio] > 0; i++)
            CHECK_EQ(rig_rx(&rig, 0, 1, prio, bytes[prio], 0), WIRE_DROP_NONE);
    for (int i = 0; i < pulls; i++) {
        struct wire_frame *frame = rig_tx(&rig, 1, 0, ready);

        CHECK(frame != NULL);
        got[frame->prio] += frame->frame_bytes;
        CHECK_EQ(rig_rx(&rig, 0, 1, frame->prio, frame->frame_bytes, 0), WIRE_DROP_NONE);
        rig_free(&rig, frame);
    }
    rig_stop(&rig);
}

static void dwrr_shares_bytes_not_frames(void)
{
    static const uint32_t bytes[8] = {64, 1106, 9216, 4200, 333, 0, 0, 0};
    uint64_t got[8], sum = 0;

    for (uint64_t quantum = 64; quantum < 100000; quantum *= 5) {
        shares(quantum, bytes, RIG_ALL, 200000, got);
        sum = got[0] + got[1] + got[2] + got[3] + got[4];
        for (int prio = 0; prio < 5; prio++) /* no more than a quantum and a frame apart */
            CHECK_NEAR(got[prio], (double)sum / 5, (double)quantum + 9216);
    }
}

/* What a class did not use of its turn before it ran empty is not there when it comes back. */
static void credit_is_not_kept_over_idle_times(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig;

    params.dwrr_quantum_bytes = 10000;
    rig = rig_start(&params, 2);
    CHECK_EQ(rig_rx(&rig, 0, 1, 0, 1000, 0), WIRE_DROP_NONE);
    for (int i = 0; i < 12; i++)
        CHECK_EQ(rig_rx(&rig, 0, 1, 1, 1000, 0), WIRE_DROP_NONE);
    for (int i = 0; i < 13; i++) /* ten of class 1, the one of class 0, the rest */
        CHECK_EQ(rig_pull(&rig, 1, 0), i == 10 ? 0 : 1);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(rig_rx(&rig, 0, 1, 0, 1000, 0), WIRE_DROP_NONE);
        CHECK_EQ(rig_rx(&rig, 0, 1, 1, 1000, 0), WIRE_DROP_NONE);
    }
    for (int i = 0; i < 40; i++)
        CHECK_EQ(rig_pull(&rig, 1, 0), i % 20 < 10 ? 1 : 0);
    rig_stop(&rig);
}

static void strict_classes_starve_the_rest_highest_first(void)
{
    static const uint32_t bytes[8] = {100, 100, 100, 100, 100, 100, 100, 100};
    uint64_t got[8];

    shares(4200, bytes, RIG_ALL, 1000, got);
    CHECK_EQ(got[7], 100000);
    shares(4200, bytes, 0x7F, 1000, got); /* class 7 paused */
    CHECK_EQ(got[6], 100000);
    shares(4200, bytes, 0x3F, 6000, got);
    for (int prio = 0; prio < 6; prio++)
        CHECK_NEAR(got[prio], 100000, 4200);
}

static void strict_order_one_by_one(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig = rig_start(&params, 2);

    CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1000, 0), WIRE_DROP_NONE);
    CHECK_EQ(rig_rx(&rig, 0, 1, 6, 1000, 0), WIRE_DROP_NONE);
    CHECK_EQ(rig_rx(&rig, 0, 1, 7, 1000, 0), WIRE_DROP_NONE);
    CHECK_EQ(rig_pull(&rig, 1, 0), 7);
    CHECK_EQ(rig_pull(&rig, 1, 0), 6);
    CHECK_EQ(rig_pull(&rig, 1, 0), 3);
    CHECK_EQ(rig_pull(&rig, 1, 0), -1);
    rig_stop(&rig);
    params.strict_classes = 0; /* nobody is strict: 7 is a class as any other */
    rig = rig_start(&params, 2);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(rig_rx(&rig, 0, 1, 3, 4200, 0), WIRE_DROP_NONE);
        CHECK_EQ(rig_rx(&rig, 0, 1, 7, 4200, 0), WIRE_DROP_NONE);
    }
    for (int i = 0; i < 10; i++)
        CHECK_EQ(rig_pull(&rig, 1, 0) + rig_pull(&rig, 1, 0), 10);
    rig_stop(&rig);
}

static void a_paused_class_is_passed_over_and_keeps_its_order(void)
{
    static const uint32_t bytes[8] = {1000, 1000, 0, 1000, 0, 0, 0, 0};
    uint64_t got[8];

    shares(4200, bytes, RIG_ALL & ~(1u << 3), 2000, got);
    CHECK_EQ(got[3], 0);
    CHECK_NEAR(got[0], 1000000, 5200);
    CHECK_NEAR(got[1], 1000000, 5200);
    shares(4200, bytes, 1u << 3, 10, got);
    CHECK_EQ(got[3], 10000);
}

static void nothing_ready_nothing_sent(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig = rig_start(&params, 2);

    CHECK_EQ(fabric_tx_next(rig.sw, 1, RIG_ALL), WIRE_NEVER);
    CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1000, 5), WIRE_DROP_NONE);
    CHECK_EQ(fabric_tx_next(rig.sw, 1, RIG_ALL & ~8u), WIRE_NEVER);
    CHECK(rig_tx(&rig, 1, 5, RIG_ALL & ~8u) == NULL);
    CHECK(fabric_tx_next(rig.sw, 1, 8) <= 5);
    CHECK_EQ(rig_pull(&rig, 1, 5), 3);
    rig_stop(&rig);
}

static void latency_holds_every_frame_back(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig;

    params.latency_ps = 300000;
    rig = rig_start(&params, 2);
    CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1000, 1000), WIRE_DROP_NONE);
    CHECK_EQ(rig_rx(&rig, 0, 1, 7, 1000, 2000), WIRE_DROP_NONE);
    CHECK_EQ(rig_rx(&rig, 0, 1, 0, 1000, 3000), WIRE_DROP_NONE);
    CHECK_EQ(fabric_tx_next(rig.sw, 1, RIG_ALL), 301000);
    CHECK_EQ(fabric_tx_next(rig.sw, 1, 1 << 0), 303000);
    CHECK(rig_tx(&rig, 1, 300999, RIG_ALL) == NULL);
    CHECK_EQ(rig_pull(&rig, 1, 301000), 3); /* strict class 7 is not ready yet */
    CHECK_EQ(rig_pull(&rig, 1, 301000), -1);
    CHECK_EQ(fabric_tx_next(rig.sw, 1, RIG_ALL), 302000);
    CHECK_EQ(rig_pull(&rig, 1, 303000), 7);
    CHECK_EQ(rig_pull(&rig, 1, 303000), 0);
    CHECK_EQ(fabric_tx_next(rig.sw, 1, RIG_ALL), WIRE_NEVER);
    rig_stop(&rig);
}

static void a_class_is_first_in_first_out(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig = rig_start(&params, 4);

    for (uint32_t i = 0; i < 300; i++)
        CHECK_EQ(rig_rx(&rig, i % 3, 3, 3, 100 + i, 0), WIRE_DROP_NONE);
    for (uint32_t i = 0; i < 300; i++) {
        struct wire_frame *frame = rig_tx(&rig, 3, 0, RIG_ALL);

        CHECK_EQ(frame->frame_bytes, 100 + i);
        CHECK_EQ(frame->src, i % 3);
        rig_free(&rig, frame);
    }
    rig_stop(&rig);
}

CHECK_SUITE(sched, CHECK_CASE(dwrr_shares_bytes_not_frames),
            CHECK_CASE(credit_is_not_kept_over_idle_times),
            CHECK_CASE(strict_classes_starve_the_rest_highest_first),
            CHECK_CASE(strict_order_one_by_one),
            CHECK_CASE(a_paused_class_is_passed_over_and_keeps_its_order),
            CHECK_CASE(nothing_ready_nothing_sent), CHECK_CASE(latency_holds_every_frame_back),
            CHECK_CASE(a_class_is_first_in_first_out))
