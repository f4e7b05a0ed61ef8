/* SPDX-License-Identifier: GPL-2.0-only */
/* Pause frames: what they say, when they leave, when they are sent again, when they are not. */
#include "fabric_pfc.h"
#include "fabric_rig.h"

#define QUANTUM_PS 5120u                                      /* 512 bit times at 100G */
#define REFRESH_PS (65535u / 2 * QUANTUM_PS + QUANTUM_PS / 2) /* half of 65535 quanta */

/* One lossless ingress may hold 4000 B; 10000 B of headroom; XON at 3000 B. */
static struct fabric_params pfc_params(void)
{
    struct fabric_params params = rig_plain_params();

    params.alpha = 1;
    params.xon_offset_bytes = 1000;
    params.headroom_bytes = 10000;
    params.lossless_classes = 1 << 3 | 1 << 4;
    params.buffer_bytes = 3 * 2 * 10000 + 8000;
    return params;
}

static void fill(struct rig *rig, uint32_t src, uint8_t prio, int frames, uint64_t now_ps)
{
    for (int i = 0; i < frames; i++)
        CHECK_EQ(rig_rx(rig, src, 2, prio, 1000, now_ps), WIRE_DROP_NONE);
}

static void drain(struct rig *rig, int frames, uint64_t now_ps)
{
    for (int i = 0; i < frames; i++)
        CHECK(rig_pull(rig, 2, now_ps) < (int)WIRE_CLASSES);
}

/* A pause frame of @p port with exactly @p enabled, quanta where @p paused. */
static void expect_pause(struct rig *rig, uint32_t port, uint64_t now_ps, uint32_t enabled,
                         uint32_t paused, uint16_t quanta)
{
    struct wire_frame *frame = rig_tx(rig, port, now_ps, 0);

    CHECK(frame != NULL);
    CHECK_EQ(frame->kind, WIRE_KIND_PFC);
    CHECK_EQ(frame->pause_enabled, enabled);
    for (uint32_t prio = 0; prio < WIRE_CLASSES; prio++)
        CHECK_EQ(frame->pause_quanta[prio], (paused >> prio & 1) != 0 ? quanta : 0);
    rig_free(rig, frame);
}

static void pause_frame_has_every_field_of_802_1qbb(void)
{
    struct fabric_params params = pfc_params();
    struct rig rig = rig_start(&params, 3);
    struct wire_frame *frame;

    fill(&rig, 0, 3, 3, 0);
    CHECK(rig_tx(&rig, 0, 0, RIG_ALL) == NULL); /* 3000 < 8000 - 3000 */
    fill(&rig, 0, 3, 1, 0);                     /* 4000 >= 4000 */
    frame = rig_tx(&rig, 0, 0, 0); /* no class may send: pause frames do all the same */
    CHECK(frame != NULL);
    CHECK_EQ(frame->kind, WIRE_KIND_PFC);
    CHECK_EQ(frame->frame_bytes, 64);
    CHECK_EQ(frame->prio, 7);
    CHECK_EQ(frame->flags, 0);
    CHECK_EQ(frame->eth_src, RIG_SW_STATION(0));
    CHECK_EQ(frame->eth_dst, WIRE_STATION_BROADCAST);
    CHECK_EQ(frame->pause_enabled, 1 << 3);
    CHECK_EQ(frame->pause_quanta[3], 65535);
    CHECK_EQ(frame->pause_quanta[4], 0);
    CHECK_EQ(frame->tos, 0);
    CHECK_EQ(frame->payload_bytes, 0);
    rig_free(&rig, frame);
    CHECK(rig_tx(&rig, 0, 0, RIG_ALL) == NULL); /* said once */
    CHECK_EQ(fabric_query_counters(rig.sw)->pauses, 1);
    CHECK_EQ(fabric_query_counters(rig.sw)->tx_frames, 0);
    rig_stop(&rig);
}

static void pause_goes_before_data(void)
{
    struct fabric_params params = pfc_params();
    struct rig rig = rig_start(&params, 3);

    CHECK_EQ(rig_rx(&rig, 1, 0, 7, 500, 0), WIRE_DROP_NONE); /* strict class waits at port 0 */
    fill(&rig, 0, 3, 4, 0);
    CHECK_EQ(fabric_tx_next(rig.sw, 0, 0), 0);
    CHECK_EQ(rig_pull(&rig, 0, 0), 8);
    CHECK_EQ(rig_pull(&rig, 0, 0), 7);
    rig_stop(&rig);
}

static void classes_that_wait_share_one_frame(void)
{
    struct fabric_params params = pfc_params();
    struct rig rig = rig_start(&params, 3);

    fill(&rig, 0, 3, 4, 0);
    fill(&rig, 0, 4, 3, 0);
    expect_pause(&rig, 0, 0, 1 << 3 | 1 << 4, 1 << 3 | 1 << 4, 65535);
    CHECK(rig_tx(&rig, 0, 0, RIG_ALL) == NULL);
    CHECK_EQ(fabric_query_counters(rig.sw)->pauses, 2);
    rig_stop(&rig);
}

static void resume_and_pause_of_two_classes_share_one_frame(void)
{
    struct fabric_params params = pfc_params();
    struct rig rig = rig_start(&params, 3);

    fill(&rig, 0, 3, 4, 0);
    expect_pause(&rig, 0, 0, 1 << 3, 1 << 3, 65535);
    drain(&rig, 4, 0);
    fill(&rig, 0, 4, 4, 0);
    expect_pause(&rig, 0, 0, 1 << 3 | 1 << 4, 1 << 4, 65535);
    CHECK_EQ(fabric_query_counters(rig.sw)->pauses, 2);
    CHECK_EQ(fabric_query_counters(rig.sw)->resumes, 1);
    rig_stop(&rig);
}

static void resume_when_below_the_offset_with_quanta_zero(void)
{
    struct fabric_params params = pfc_params();
    struct rig rig = rig_start(&params, 3);

    fill(&rig, 0, 3, 5, 0); /* the fifth is in headroom */
    expect_pause(&rig, 0, 0, 1 << 3, 1 << 3, 65535);
    drain(&rig, 1, 10); /* headroom empty; 4000 + 1000 > 4000 */
    CHECK(rig_tx(&rig, 0, 10, RIG_ALL) == NULL);
    drain(&rig, 1, 20); /* 3000 + 1000 <= 5000 */
    expect_pause(&rig, 0, 20, 1 << 3, 0, 0);
    CHECK_EQ(fabric_query_counters(rig.sw)->resumes, 1);
    CHECK_EQ(fabric_next_wake(rig.sw), WIRE_NEVER); /* nothing left to refresh */
    rig_stop(&rig);
}

static void pause_taken_back_before_it_left_is_never_sent(void)
{
    struct fabric_params params = pfc_params();
    struct rig rig = rig_start(&params, 3);

    fill(&rig, 0, 3, 4, 0);
    CHECK_EQ(fabric_tx_next(rig.sw, 0, 0), 0);
    drain(&rig, 4, 0);
    CHECK_EQ(fabric_tx_next(rig.sw, 0, 0), WIRE_NEVER);
    CHECK(rig_tx(&rig, 0, 0, RIG_ALL) == NULL);
    CHECK_EQ(fabric_query_counters(rig.sw)->pauses + fabric_query_counters(rig.sw)->resumes, 0);
    rig_stop(&rig);
}

static void resume_taken_back_before_it_left_is_never_sent(void)
{
    struct fabric_params params = pfc_params();
    struct rig rig = rig_start(&params, 3);

    fill(&rig, 0, 3, 4, 0);
    expect_pause(&rig, 0, 7, 1 << 3, 1 << 3, 65535);
    drain(&rig, 4, 8);
    fill(&rig, 0, 3, 4, 9);
    CHECK(rig_tx(&rig, 0, 9, RIG_ALL) == NULL); /* the peer still is paused, by the first frame */
    CHECK_EQ(fabric_next_wake(rig.sw), 7 + REFRESH_PS);
    rig_stop(&rig);
}

static void refresh_comes_before_the_quanta_run_out(void)
{
    struct fabric_params params = pfc_params();
    struct rig rig = rig_start(&params, 3);
    uint64_t when_ps = 1000;

    fill(&rig, 0, 3, 4, 500);
    CHECK_EQ(fabric_next_wake(rig.sw), WIRE_NEVER); /* the clock starts when the frame leaves */
    expect_pause(&rig, 0, when_ps, 1 << 3, 1 << 3, 65535);
    CHECK_EQ(fabric_next_kick(rig.sw), 2);
    CHECK_EQ(fabric_next_kick(rig.sw), 0);
    for (int i = 1; i <= 5; i++) {
        when_ps += REFRESH_PS;
        CHECK_EQ(fabric_next_wake(rig.sw), when_ps);
        fabric_wake(rig.sw, when_ps - 1); /* too early: nothing */
        CHECK_EQ(fabric_next_kick(rig.sw), -1);
        CHECK(rig_tx(&rig, 0, when_ps - 1, RIG_ALL) == NULL);
        fabric_wake(rig.sw, when_ps);
        CHECK_EQ(fabric_next_wake(rig.sw), WIRE_NEVER);
        CHECK_EQ(fabric_next_kick(rig.sw), 0);
        CHECK_EQ(fabric_next_kick(rig.sw), -1);
        when_ps += 100; /* the MAC was busy */
        expect_pause(&rig, 0, when_ps, 1 << 3, 1 << 3, 65535);
    }
    CHECK_EQ(fabric_query_counters(rig.sw)->pauses, 1);
    CHECK_EQ(fabric_query_counters(rig.sw)->pause_refreshes, 5);
    rig_stop(&rig);
}

/* Between the wake and the pull the class resumed, or resumed and paused again. */
static void refresh_that_is_overtaken_by_a_resume(void)
{
    struct fabric_params params = pfc_params();
    struct rig rig = rig_start(&params, 3);

    fill(&rig, 0, 3, 4, 0);
    expect_pause(&rig, 0, 0, 1 << 3, 1 << 3, 65535);
    fabric_wake(rig.sw, REFRESH_PS);
    drain(&rig, 4, REFRESH_PS);
    fill(&rig, 0, 3, 4, REFRESH_PS);
    expect_pause(&rig, 0, REFRESH_PS + 1, 1 << 3, 1 << 3, 65535); /* the refresh is not lost */
    CHECK_EQ(fabric_next_wake(rig.sw), 2 * REFRESH_PS + 1);
    fabric_wake(rig.sw, 2 * REFRESH_PS + 1);
    drain(&rig, 4, 2 * REFRESH_PS + 1);
    expect_pause(&rig, 0, 2 * REFRESH_PS + 2, 1 << 3, 0, 0); /* one frame, and it resumes */
    CHECK(rig_tx(&rig, 0, 2 * REFRESH_PS + 2, RIG_ALL) == NULL);
    CHECK_EQ(fabric_next_wake(rig.sw), WIRE_NEVER);
    CHECK_EQ(fabric_query_counters(rig.sw)->pauses, 1);
    CHECK_EQ(fabric_query_counters(rig.sw)->pause_refreshes, 1);
    CHECK_EQ(fabric_query_counters(rig.sw)->resumes, 1);
    rig_stop(&rig);
}

static void ports_refresh_each_at_its_own_time(void)
{
    struct fabric_params params = pfc_params();
    struct rig rig = rig_make(&params, 3);
    struct fabric_port_config fast = rig_port_config(1);

    fast.rate_bps *= 4; /* quanta are bit times: a quarter of the time */
    fabric_port_set(rig.sw, 1, &fast);
    CHECK_EQ(fabric_start(rig.sw, NULL, 0), 0);
    fill(&rig, 0, 3, 4, 0);
    fill(&rig, 1, 3, 3, 0); /* threshold has fallen */
    expect_pause(&rig, 0, 0, 1 << 3, 1 << 3, 65535);
    expect_pause(&rig, 1, 0, 1 << 3, 1 << 3, 65535);
    while (fabric_next_kick(rig.sw) >= 0)
        ;
    CHECK_EQ(fabric_next_wake(rig.sw), REFRESH_PS / 4);
    fabric_wake(rig.sw, REFRESH_PS / 4);
    CHECK_EQ(fabric_next_kick(rig.sw), 1);
    CHECK_EQ(fabric_next_kick(rig.sw), -1);
    CHECK_EQ(fabric_next_wake(rig.sw), REFRESH_PS); /* port 0's */
    fabric_wake(rig.sw, REFRESH_PS);
    CHECK_EQ(fabric_next_kick(rig.sw), 0);
    CHECK_EQ(fabric_next_wake(rig.sw), WIRE_NEVER);
    rig_stop(&rig);
}

/* All pauses of a port share the refresh of the oldest; each is told as often as it must. */
static void two_classes_of_a_port_refresh_together(void)
{
    struct fabric_params params = pfc_params();
    struct rig rig = rig_start(&params, 3);

    fill(&rig, 0, 3, 4, 0);
    expect_pause(&rig, 0, 0, 1 << 3, 1 << 3, 65535);
    fill(&rig, 0, 4, 3, 0);
    expect_pause(&rig, 0, 5000, 1 << 4, 1 << 4, 65535);
    CHECK_EQ(fabric_next_wake(rig.sw), REFRESH_PS);
    fabric_wake(rig.sw, REFRESH_PS);
    expect_pause(&rig, 0, REFRESH_PS, 1 << 3 | 1 << 4, 1 << 3 | 1 << 4, 65535);
    CHECK_EQ(fabric_query_counters(rig.sw)->pause_refreshes, 2);
    CHECK_EQ(fabric_next_wake(rig.sw), 2 * REFRESH_PS);
    rig_stop(&rig);
}

static void quanta_are_the_parameter(void)
{
    struct fabric_params params = pfc_params();
    struct rig rig;

    params.pause_quanta = 1000;
    params.pause_refresh = 0.25;
    rig = rig_start(&params, 3);
    fill(&rig, 0, 3, 4, 0);
    expect_pause(&rig, 0, 0, 1 << 3, 1 << 3, 1000);
    CHECK_EQ(fabric_next_wake(rig.sw), 250 * QUANTUM_PS);
    rig_stop(&rig);
}

/* A33's numbers, and room for one frame in the way. */
static void interval_is_a_share_of_the_pause_time(void)
{
    uint64_t g100 = (uint64_t)100 * RIG_G;

    CHECK_EQ(fabric_pfc_interval_ps(65535, 0.5, g100, 1106), 335539200 / 2);
    CHECK_EQ(fabric_pfc_interval_ps(65535, 0.5, 4 * g100, 1106), 83884800 / 2);
    CHECK_EQ(fabric_pfc_interval_ps(65535, 1.0, g100, 4200), 335539200 - 4220 * 80);
    CHECK_EQ(fabric_pfc_interval_ps(100, 0.5, g100, 4200), 512000 - 4220 * 80);
    CHECK_EQ(fabric_pfc_interval_ps(10, 0.5, g100, 4200), 25600);         /* hopeless: as told */
    CHECK_EQ(fabric_pfc_interval_ps(1, 0.01, 100000000000000u, 4200), 1); /* never 0 */
}

static void every_kind_of_lossy_class_is_never_paused(void)
{
    struct fabric_params params = pfc_params();
    struct rig rig = rig_start(&params, 3);

    for (int i = 0; i < 100; i++)
        (void)rig_rx(&rig, 0, 2, 0, 1000, 0);
    CHECK(rig_tx(&rig, 0, 0, RIG_ALL) == NULL);
    rig_stop(&rig);
    params.lossless = 0; /* PFC off altogether */
    rig = rig_start(&params, 3);
    for (int i = 0; i < 100; i++)
        (void)rig_rx(&rig, 0, 2, 3, 1000, 0);
    CHECK(rig_tx(&rig, 0, 0, RIG_ALL) == NULL);
    CHECK(rig_drops(&rig) > 0);
    rig_stop(&rig);
}

CHECK_SUITE(pfc, CHECK_CASE(pause_frame_has_every_field_of_802_1qbb),
            CHECK_CASE(pause_goes_before_data), CHECK_CASE(classes_that_wait_share_one_frame),
            CHECK_CASE(resume_and_pause_of_two_classes_share_one_frame),
            CHECK_CASE(resume_when_below_the_offset_with_quanta_zero),
            CHECK_CASE(pause_taken_back_before_it_left_is_never_sent),
            CHECK_CASE(resume_taken_back_before_it_left_is_never_sent),
            CHECK_CASE(refresh_comes_before_the_quanta_run_out),
            CHECK_CASE(refresh_that_is_overtaken_by_a_resume),
            CHECK_CASE(ports_refresh_each_at_its_own_time),
            CHECK_CASE(two_classes_of_a_port_refresh_together),
            CHECK_CASE(quanta_are_the_parameter), CHECK_CASE(interval_is_a_share_of_the_pause_time),
            CHECK_CASE(every_kind_of_lossy_class_is_never_paused))
