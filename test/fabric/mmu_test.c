/* SPDX-License-Identifier: GPL-2.0-only */
/* The shared buffer: parts, thresholds, headroom, drops, and that all comes back. */
#include "fabric_mmu.h"
#include "fabric_rig.h"

/* ---- the block alone ---- */

static void steady_state_takes_alpha_of_one_plus_alpha(void)
{
    static const double alphas[] = {0.0625, 0.125, 1.0, 8.0};

    for (size_t i = 0; i < sizeof(alphas) / sizeof(alphas[0]); i++) {
        for (uint32_t m = 1; m <= 4; m++) { /* m queues: each alpha / (1 + m alpha) */
            struct fabric_mmu mmu = {.pool_bytes = 9000000, .alpha = alphas[i]};
            struct fabric_mmu_ingress in[4] = {{0, 0}};
            double share = alphas[i] / (1 + m * alphas[i]) * 9e6;
            bool more = true;

            while (more) {
                more = false;
                for (uint32_t q = 0; q < m; q++)
                    more |= fabric_mmu_admit_lossless(&mmu, &in[q], 100, 0);
            }
            for (uint32_t q = 0; q < m; q++)
                CHECK_NEAR(in[q].used_bytes, share, 100.0 * (1 + alphas[i]));
        }
    }
}

static void alpha_above_one_never_exceeds_the_pool(void)
{
    struct fabric_mmu mmu = {.pool_bytes = 10000, .alpha = 1024, .lossy_alpha = 1024};
    struct fabric_mmu_ingress in[2] = {{0, 0}};

    CHECK(fabric_mmu_admit_lossless(&mmu, &in[0], 9000, 0));
    CHECK(!fabric_mmu_admit_lossless(&mmu, &in[0], 1001, 0));
    CHECK(!fabric_mmu_admit_lossy(&mmu, &in[1], 1001, 0));
    CHECK(fabric_mmu_admit_lossless(&mmu, &in[0], 1000, 0));
    CHECK_EQ(fabric_mmu_free_bytes(&mmu), 0);
}

static void reserve_is_filled_before_the_pool(void)
{
    struct fabric_mmu mmu = {.pool_bytes = 10000, .alpha = 1, .reserved_bytes = 1000};
    struct fabric_mmu_ingress in = {0, 0};

    CHECK(fabric_mmu_admit_lossless(&mmu, &in, 900, 0));
    CHECK_EQ(mmu.pool_used_bytes, 0);
    CHECK(fabric_mmu_admit_lossless(&mmu, &in, 900, 0));
    CHECK_EQ(mmu.pool_used_bytes, 800);
    fabric_mmu_release(&mmu, &in, 900);
    CHECK_EQ(mmu.pool_used_bytes, 0);
    CHECK_EQ(mmu.held_bytes, 900);
}

/* A full pool is not a reason to pause or to drop what lives in its reserve. */
static void reserve_is_a_guarantee(void)
{
    struct fabric_mmu mmu = {
        .pool_bytes = 1000, .alpha = 8, .lossy_alpha = 8, .reserved_bytes = 500};
    struct fabric_mmu_ingress hog = {0, 0}, calm = {0, 0}, lossy = {0, 0};

    CHECK(fabric_mmu_admit_lossless(&mmu, &hog, 1500, 0));
    CHECK_EQ(fabric_mmu_free_bytes(&mmu), 0);
    CHECK(fabric_mmu_wants_pause(&mmu, &hog));
    CHECK(fabric_mmu_admit_lossless(&mmu, &calm, 500, 0));
    CHECK(!fabric_mmu_wants_pause(&mmu, &calm));
    CHECK(fabric_mmu_wants_resume(&mmu, &calm));
    CHECK(fabric_mmu_admit_lossy(&mmu, &lossy, 500, 1000000));
    CHECK(!fabric_mmu_admit_lossy(&mmu, &lossy, 1, 0));
}

static void headroom_fills_last_and_empties_first(void)
{
    struct fabric_mmu mmu = {.pool_bytes = 4000, .alpha = 1, .xon_offset_bytes = 500};
    struct fabric_mmu_ingress in = {0, 0};

    CHECK(fabric_mmu_admit_lossless(&mmu, &in, 1000, 1500));
    CHECK(!fabric_mmu_wants_pause(&mmu, &in)); /* 1000 < 3000 */
    CHECK(fabric_mmu_admit_lossless(&mmu, &in, 1000, 1500));
    CHECK(fabric_mmu_wants_pause(&mmu, &in)); /* 2000 >= 2000 */
    CHECK(fabric_mmu_admit_lossless(&mmu, &in, 1000, 1500));
    CHECK_EQ(in.headroom_bytes, 1000);
    CHECK_EQ(in.used_bytes, 2000);
    CHECK(!fabric_mmu_admit_lossless(&mmu, &in, 501, 1500)); /* both full */
    CHECK(fabric_mmu_admit_lossless(&mmu, &in, 500, 1500));
    CHECK_EQ(mmu.held_bytes, 3500);

    fabric_mmu_release(&mmu, &in, 1000); /* all of it out of headroom */
    CHECK_EQ(in.headroom_bytes, 500);
    CHECK(fabric_mmu_wants_pause(&mmu, &in));
    fabric_mmu_release(&mmu, &in, 1000);
    CHECK_EQ(in.headroom_bytes, 0);
    CHECK_EQ(in.used_bytes, 1500);
    CHECK(fabric_mmu_wants_resume(&mmu, &in)); /* 1500 + 500 <= 2500 */
    fabric_mmu_release(&mmu, &in, 1500);
    CHECK_EQ(mmu.held_bytes + mmu.pool_used_bytes, 0);
}

static void resume_waits_for_headroom_and_offset(void)
{
    struct fabric_mmu mmu = {.pool_bytes = 4000, .alpha = 1, .xon_offset_bytes = 500};
    struct fabric_mmu_ingress in = {.used_bytes = 1750};

    mmu.pool_used_bytes = mmu.held_bytes = 1750; /* threshold 2250 */
    CHECK(fabric_mmu_wants_resume(&mmu, &in));
    mmu.xon_offset_bytes = 501;
    CHECK(!fabric_mmu_wants_resume(&mmu, &in));
    mmu.xon_offset_bytes = 0;
    in.headroom_bytes = 1;
    CHECK(!fabric_mmu_wants_resume(&mmu, &in));
    mmu.xon_offset_bytes = 1000000;
    in = (struct fabric_mmu_ingress){0, 0};
    CHECK(fabric_mmu_wants_resume(&mmu, &in)); /* nothing used: resume whatever the offset */
}

/* The formula of fabric_mmu.h, written again. */
static void headroom_follows_the_full_formula(void)
{
    struct fabric_mmu_link link = {.rate_bps = (uint64_t)100 * RIG_G,
                                   .delay_ps = 1500000,
                                   .peer_reaction_ps = 2017280,
                                   .max_frame_bytes = 4200};

    CHECK_EQ(fabric_mmu_headroom_bytes(&link), 3 * 4200 + 20 + 84 + 2 * 15360 + 2 * 18750 + 25216);
    link.peer_reaction_ps = 0;
    link.delay_ps = 0;
    CHECK_EQ(fabric_mmu_headroom_bytes(&link), 3 * 4200 + 104 + 2 * 15360);
    link.rate_bps = (uint64_t)40 * RIG_G;
    CHECK_EQ(fabric_mmu_headroom_bytes(&link), 3 * 4200 + 104 + 2 * 3072);
    CHECK_EQ(fabric_mmu_interface_bytes((uint64_t)25 * RIG_G), 768);
    CHECK_EQ(fabric_mmu_interface_bytes((uint64_t)10 * RIG_G), 1024);
    CHECK_EQ(fabric_mmu_interface_bytes((uint64_t)800 * RIG_G), 15360);
    link.delay_ps = 1000000000000000u; /* 1000 s: no buffer holds it, and no sum may wrap */
    link.rate_bps = 100000000000000u;
    CHECK(fabric_mmu_headroom_bytes(&link) >= 10000000000000u);
}

/* ---- in the switch ---- */

static void lossless_never_drops_until_headroom_is_full(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig;

    params.buffer_bytes = 100000;
    params.headroom_bytes = 10000;
    params.alpha = 1;
    rig = rig_start(&params, 2); /* pool 80000: one ingress may have 40000 */
    for (int i = 0; i < 50; i++)
        CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1000, 0), WIRE_DROP_NONE);
    CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1000, 0), WIRE_DROP_BUFFER);
    CHECK_EQ(fabric_query_counters(rig.sw)->drops[WIRE_DROP_BUFFER], 1);
    CHECK_EQ(fabric_query_counters(rig.sw)->peak_buffer_bytes, 50000);
    CHECK_EQ(rig_drain(&rig, 1, 0), 50);
    rig_check_conservation(&rig);
    rig_stop(&rig);
}

/* A32: headroom belongs to the port and class, not to the port. */
static void three_lossless_classes_full_on_one_port_lose_nothing(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig;

    params.buffer_bytes = 200000;
    params.headroom_bytes = 20000;
    params.lossless_classes = 1 << 1 | 1 << 3 | 1 << 5;
    rig = rig_start(&params, 2); /* pool 80000 */
    for (uint8_t prio = 1; prio <= 5; prio = (uint8_t)(prio + 2)) {
        struct wire_frame *frame;
        int sent = 0;

        do { /* a sender that never knew of PFC until its pause leaves */
            CHECK_EQ(rig_rx(&rig, 0, 1, prio, 1000, 0), WIRE_DROP_NONE);
            CHECK(++sent < 1000);
            frame = rig_tx(&rig, 0, 0, RIG_ALL);
        } while (frame == NULL);
        CHECK_EQ(frame->pause_enabled, 1 << prio);
        rig_free(&rig, frame);
    }
    for (uint8_t prio = 1; prio <= 5; prio = (uint8_t)(prio + 2)) {
        for (int i = 0; i < 20; i++) /* and what is under way fills all three headrooms */
            CHECK_EQ(rig_rx(&rig, 0, 1, prio, 1000, 0), WIRE_DROP_NONE);
    }
    CHECK_EQ(rig_drops(&rig), 0);
    rig_stop(&rig);
}

static void lossy_class_drops_at_its_egress_threshold(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig;

    params.buffer_bytes = 100000;
    params.lossless = 0;
    params.lossy_alpha = 1;
    rig = rig_start(&params, 3); /* PFC off: no headroom, all is pool; one queue may have half */
    for (int i = 0; i < 25; i++) {
        CHECK_EQ(rig_rx(&rig, 0, 2, 3, 1000, 0), WIRE_DROP_NONE);
        CHECK_EQ(rig_rx(&rig, 1, 2, 3, 1000, 0), WIRE_DROP_NONE);
    }
    CHECK_EQ(rig_rx(&rig, 0, 2, 3, 1000, 0), WIRE_DROP_BUFFER);
    CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1000, 0), WIRE_DROP_NONE); /* the other queue is empty */
    CHECK_EQ(rig_pull(&rig, 0, 0), -1);                       /* and nobody was paused */
    CHECK_EQ(rig_pull(&rig, 2, 0), 3);
    CHECK_EQ(rig_rx(&rig, 0, 2, 3, 1000, 0), WIRE_DROP_NONE);
    CHECK_EQ(fabric_query_counters(rig.sw)->pauses, 0);
    rig_check_conservation(&rig);
    rig_stop(&rig);
}

static void lossy_and_lossless_live_side_by_side(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig;
    int lost = 0;

    params.buffer_bytes = 200000;
    params.headroom_bytes = 30000;
    rig = rig_start(&params, 2);
    for (int i = 0; i < 1000; i++)
        lost += rig_rx(&rig, 0, 1, 0, 1000, 0) == WIRE_DROP_BUFFER;
    CHECK(lost > 0);
    CHECK_EQ(fabric_queue_bytes(rig.sw, 1, 0), 70000); /* half of the pool of 140000 */
    for (int i = 0; i < 38; i++) /* threshold: x <= (70 - x) / 8 is 7 frames; headroom 30; 1 more */
        CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1000, 0), i < 37 ? WIRE_DROP_NONE : WIRE_DROP_BUFFER);
    rig_stop(&rig);
}

static void everything_comes_back_when_empty(void)
{
    struct fabric_params params = rig_params();
    struct rig rig;

    params.buffer_bytes = 300000;
    params.headroom_bytes = 5000;
    rig = rig_start(&params, 4);
    for (int round = 0; round < 3; round++) {
        int taken = 0;

        for (uint32_t i = 0; i < 2000; i++) {
            struct wire_frame *frame = rig_data(&rig, i % 3, 3, (uint8_t)(i % 8), 1000 + i % 77);

            if (i % 10 == 0)
                frame->ttl = 1; /* drops before the MMU leave no trace there either */
            if (fabric_rx(rig.sw, i % 3, frame, 0) == WIRE_DROP_NONE)
                taken++;
            else
                rig_free(&rig, frame);
        }
        CHECK(fabric_query_counters(rig.sw)->drops[WIRE_DROP_BUFFER] > 0);
        CHECK(fabric_query_counters(rig.sw)->drops[WIRE_DROP_TTL] > 0);
        CHECK_EQ(rig_drain(&rig, 3, 0), taken);
        CHECK(fabric_flush(rig.sw) == NULL); /* asserts that buffer and pool are at 0 */
        rig_check_conservation(&rig);
    }
    rig_stop(&rig);
}

/* ---- does it fit ---- */

static void start_names_the_sum_the_buffer_and_what_is_missing(void)
{
    struct fabric_params params = rig_params();
    struct rig rig;
    char why[200];

    params.buffer_bytes = 100000;
    params.headroom_bytes = 10000;
    params.lossless_classes = 1 << 3 | 1 << 4;
    rig = rig_make(&params, 3);
    CHECK_EQ(fabric_start(rig.sw, why, sizeof(why)), -1);
    CHECK_STR(why,
              "reserved 98304 B (3 ports x 8 classes x 4096 B) + headroom 60000 B (3 ports x 2 "
              "lossless classes) = 158304 B, but buffer is 100000 B: 58304 B missing");
    rig_stop(&rig);

    params.buffer_bytes = 158304; /* just so: a pool of 0 */
    rig = rig_start(&params, 3);
    rig_stop(&rig);
    params.buffer_bytes = 158303;
    rig = rig_make(&params, 3);
    CHECK_EQ(fabric_start(rig.sw, why, sizeof(why)), -1);
    CHECK(strstr(why, ": 1 B missing") != NULL);
    CHECK_EQ(fabric_start(rig.sw, why, 4), -1); /* a short buffer is cut, not overrun */
    CHECK_EQ(strlen(why), 3);
    rig_stop(&rig);
}

static void unconnected_ports_need_no_buffer(void)
{
    struct fabric_params params = rig_params();
    struct rig rig;

    params.buffer_bytes = 2 * 8 * 4096 + 2 * 10000;
    params.headroom_bytes = 10000;
    rig = rig_make(&params, 3);
    for (uint32_t i = 1; i < 2; i++) {
        struct fabric_port_config config = rig_port_config(i);

        config.peer_station = WIRE_STATION_NONE;
        fabric_port_set(rig.sw, i, &config);
    }
    CHECK_EQ(fabric_start(rig.sw, NULL, 0), 0);
    rig_stop(&rig);
}

/* scenarios/incast-16.toml: 17 ports of 100G, 1 us, 12 MB, path MTU 1024: fits with room left */
static void incast_of_sixteen_fits_twelve_megabytes(void)
{
    struct fabric_params params = rig_params();
    struct rig rig;

    params.buffer_bytes = 12000000;
    rig = rig_start(&params, 17);
    for (uint32_t i = 0; i < 1600; i++)
        CHECK_EQ(rig_rx(&rig, 1 + i % 16, 0, 3, 1106, 0), WIRE_DROP_NONE);
    rig_stop(&rig);
    params.buffer_bytes = 2000000; /* sum of the parts: below 2 MB */
    rig = rig_start(&params, 17);
    rig_stop(&rig);
}

CHECK_SUITE(mmu, CHECK_CASE(steady_state_takes_alpha_of_one_plus_alpha),
            CHECK_CASE(alpha_above_one_never_exceeds_the_pool),
            CHECK_CASE(reserve_is_filled_before_the_pool), CHECK_CASE(reserve_is_a_guarantee),
            CHECK_CASE(headroom_fills_last_and_empties_first),
            CHECK_CASE(resume_waits_for_headroom_and_offset),
            CHECK_CASE(headroom_follows_the_full_formula),
            CHECK_CASE(lossless_never_drops_until_headroom_is_full),
            CHECK_CASE(three_lossless_classes_full_on_one_port_lose_nothing),
            CHECK_CASE(lossy_class_drops_at_its_egress_threshold),
            CHECK_CASE(lossy_and_lossless_live_side_by_side),
            CHECK_CASE(everything_comes_back_when_empty),
            CHECK_CASE(start_names_the_sum_the_buffer_and_what_is_missing),
            CHECK_CASE(unconnected_ports_need_no_buffer),
            CHECK_CASE(incast_of_sixteen_fits_twelve_megabytes))
