/* SPDX-License-Identifier: GPL-2.0-only */
/* The marker: who may be marked, how often, on which queue length, out of which random stream. */
#include "fabric_port.h"
#include "fabric_rig.h"

static struct fabric_ecn marker(uint64_t kmin_bytes, uint64_t kmax_bytes, double pmax)
{
    struct fabric_ecn ecn;

    ecn.rng = wire_rng_init(7, 42);
    fabric_ecn_init(&ecn, kmin_bytes, kmax_bytes, pmax);
    return ecn;
}

static struct wire_frame ect_frame(uint8_t tos)
{
    struct wire_frame frame = {.kind = WIRE_KIND_ROCE, .tos = tos, .frame_bytes = 1106};

    return frame;
}

/* Marked out of @p n ECT(0) frames at @p queue_bytes. */
static int marked(struct fabric_ecn *ecn, uint64_t queue_bytes, int n)
{
    int count = 0;

    for (int i = 0; i < n; i++) {
        struct wire_frame frame = ect_frame(WIRE_ECN_ECT0);

        count += fabric_ecn_mark(ecn, &frame, queue_bytes);
    }
    return count;
}

/* A34: 0 stays 0, ECT(0) and ECT(1) become CE, CE stays CE and is not counted; DSCP is kept. */
static void only_ect_is_marked(void)
{
    static const uint8_t expected[] = {0, 3, 3, 3};

    for (uint8_t codepoint = 0; codepoint < 4; codepoint++) {
        struct fabric_ecn ecn = marker(1000, 2000, 0.5);
        struct wire_frame frame = ect_frame((uint8_t)(26u << 2 | codepoint));
        bool hit = fabric_ecn_mark(&ecn, &frame, 2001);

        CHECK_EQ(hit, codepoint == WIRE_ECN_ECT0 || codepoint == WIRE_ECN_ECT1);
        CHECK_EQ(frame.tos, 26 << 2 | expected[codepoint]);
    }
}

static void rocev1_has_no_ecn(void)
{
    struct fabric_ecn ecn = marker(1000, 2000, 0.5);
    struct wire_frame frame = ect_frame(WIRE_ECN_ECT0);

    frame.flags = WIRE_FRAME_ROCE_V1;
    CHECK(!fabric_ecn_mark(&ecn, &frame, 5000));
    CHECK_EQ(frame.tos, WIRE_ECN_ECT0);
    frame.kind = WIRE_KIND_OPAQUE; /* there the flag means nothing */
    CHECK(fabric_ecn_mark(&ecn, &frame, 5000));
}

static void curve_has_its_corners_where_they_belong(void)
{
    struct fabric_ecn ecn = marker(1000, 2000, 0.5);
    uint64_t before = ecn.rng.state;

    CHECK_EQ(marked(&ecn, 0, 100), 0);
    CHECK_EQ(marked(&ecn, 1000, 100), 0);                /* Kmin itself: 0 */
    CHECK_EQ(marked(&ecn, 2001, 100), 100);              /* the jump to 1 comes above Kmax */
    CHECK_EQ(ecn.rng.state, before);                     /* sure things draw nothing */
    CHECK_NEAR(marked(&ecn, 2000, 10000), 5000, 4 * 50); /* at Kmax: pmax */
    CHECK(ecn.rng.state != before);
}

/* A36: pmax 0.2 at the midpoint: a tenth of 10,000 within four sigma (30). */
static void midpoint_marks_half_of_pmax(void)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct fabric_ecn ecn = marker(400000, 1600000, 0.2);

        ecn.rng = wire_rng_init(seed, 3);
        CHECK_NEAR(marked(&ecn, 1000000, 10000), 1000, 4 * 30);
    }
}

static void certain_and_impossible_never_draw(void)
{
    struct fabric_ecn never = marker(1000, 2000, 0.0);
    struct fabric_ecn step = marker(1500, 1500, 0.3); /* Kmin = Kmax: a step, no division by 0 */
    struct fabric_ecn sure = marker(1000, 2000, 1.0);
    uint64_t before = never.rng.state;

    CHECK_EQ(marked(&never, 1999, 100), 0);
    CHECK_EQ(marked(&step, 1500, 100), 0);
    CHECK_EQ(marked(&step, 1501, 100), 100);
    CHECK_EQ(marked(&sure, 2000, 100), 100);
    CHECK_EQ(never.rng.state, before);
    CHECK_EQ(step.rng.state, before);
    CHECK_EQ(sure.rng.state, before);
}

static void off_marks_nothing(void)
{
    struct fabric_ecn ecn = marker(0, 0, 1.0);

    CHECK_EQ(marked(&ecn, 1, 1), 1);
    fabric_ecn_off(&ecn);
    CHECK_EQ(marked(&ecn, UINT64_MAX, 10), 0);
}

/* ---- in the switch ---- */

static struct fabric_params ecn_params(uint64_t at)
{
    struct fabric_params params = rig_params();

    params.ecn_kmin_bytes = 3000;
    params.ecn_kmax_bytes = 3000;
    params.ecn_at = at;
    return params;
}

/* Six frames of 1000 B queue up and leave. @return bit i: frame i was marked. */
static uint32_t marks_of_six(uint64_t at)
{
    struct fabric_params params = ecn_params(at);
    struct rig rig = rig_start(&params, 2);
    uint32_t marks = 0;

    for (int i = 0; i < 6; i++)
        CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1000, 0), WIRE_DROP_NONE);
    for (int i = 0; i < 6; i++) {
        struct wire_frame *frame = rig_tx(&rig, 1, 0, RIG_ALL);

        CHECK(frame != NULL);
        marks |= (uint32_t)((frame->tos & WIRE_ECN_MASK) == WIRE_ECN_CE) << i;
        rig_free(&rig, frame);
    }
    CHECK_EQ(fabric_query_counters(rig.sw)->ecn_marked, __builtin_popcount(marks));
    rig_stop(&rig);
    return marks;
}

static void dequeue_sees_what_is_left_behind(void)
{
    CHECK_EQ(marks_of_six(0), 0x3); /* 5000 and 4000 behind them; 3000 is not above Kmin */
}

static void enqueue_sees_what_was_there_before(void)
{
    CHECK_EQ(marks_of_six(1), 0x30); /* 4000 and 5000 before them */
}

static void queue_length_is_that_of_the_class(void)
{
    struct fabric_params params = ecn_params(0);
    struct rig rig = rig_start(&params, 2);

    for (int i = 0; i < 3; i++) {
        CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1200, 0), WIRE_DROP_NONE);
        CHECK_EQ(rig_rx(&rig, 0, 1, 4, 1200, 0), WIRE_DROP_NONE);
    }
    CHECK_EQ(rig_drain(&rig, 1, 0), 6);
    CHECK_EQ(fabric_query_counters(rig.sw)->ecn_marked, 0);
    rig_stop(&rig);
}

static void ecn_off_is_off(void)
{
    struct fabric_params params = ecn_params(0);
    struct rig rig;

    params.ecn = 0;
    params.ecn_kmin_bytes = 1; /* would be refused if it were on */
    params.ecn_kmax_bytes = 0;
    rig = rig_start(&params, 2);
    for (int i = 0; i < 6; i++)
        CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1000, 0), WIRE_DROP_NONE);
    CHECK_EQ(rig_drain(&rig, 1, 0), 6);
    CHECK_EQ(fabric_query_counters(rig.sw)->ecn_marked, 0);
    rig_stop(&rig);
}

static void kmin_above_kmax_is_refused(void)
{
    struct fabric_params params = ecn_params(0);
    struct rig rig;
    char why[200];

    params.ecn_kmin_bytes = 5000;
    rig = rig_make(&params, 2);
    CHECK_EQ(fabric_start(rig.sw, why, sizeof(why)), -1);
    CHECK_STR(why, "ecn_kmin 5000 B is 2000 B above ecn_kmax 3000 B");
    rig_stop(&rig);
}

static void thresholds_scale_with_the_rate_when_told_so(void)
{
    for (uint64_t per = 0; per <= 25; per += 25) {
        struct fabric_params params = ecn_params(0); /* 3000 B: at 25G if per, so 12000 at 100G */
        struct rig rig;
        uint64_t expected = per == 0 ? 16 : 7;

        params.ecn_per_rate_bps = per * RIG_G;
        rig = rig_start(&params, 2);
        for (int i = 0; i < 20; i++)
            CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1000, 0), WIRE_DROP_NONE);
        CHECK_EQ(rig_drain(&rig, 1, 0), 20);
        CHECK_EQ(fabric_query_counters(rig.sw)->ecn_marked, expected);
        rig_stop(&rig);
    }
}

/* A35: there is no table that could lack a speed (40G has its thresholds) or fall with it. */
static void thresholds_never_fall_with_the_rate(void)
{
    static const uint64_t speeds[] = {1, 10, 25, 40, 50, 100, 200, 400, 800, 1600};
    enum { SPEEDS = sizeof speeds / sizeof speeds[0] };

    for (uint64_t per = 0; per <= 100; per += 100) {
        struct fabric_params params = rig_params();
        struct rig rig;

        params.ecn_per_rate_bps = per * RIG_G;
        params.buffer_bytes = 1000000000;
        rig = rig_make(&params, SPEEDS);
        for (uint32_t i = 0; i < SPEEDS; i++) {
            struct fabric_port_config config = rig_port_config(i);

            config.rate_bps = speeds[i] * RIG_G;
            fabric_port_set(rig.sw, i, &config);
        }
        CHECK_EQ(fabric_start(rig.sw, NULL, 0), 0);
        for (uint32_t i = 0; i < SPEEDS; i++) {
            const struct fabric_ecn *ecn = &rig.sw->ports[i].ecn;
            uint64_t share = per == 0 ? 100 : speeds[i];

            CHECK_EQ(ecn->kmin_bytes, 4000 * share);
            CHECK_EQ(ecn->kmax_bytes, 16000 * share);
            CHECK(ecn->slope > 0);
        }
        rig_stop(&rig);
    }
}

/* Pattern of marks at two ports that see the same traffic in another order. */
static void ports_have_streams_of_their_own(void)
{
    uint64_t patterns[2][2] = {{0}};

    for (int order = 0; order < 2; order++) {
        struct fabric_params params = rig_params();
        struct rig rig;

        params.ecn_kmin_bytes = 0;
        params.ecn_kmax_bytes = 2000;
        params.ecn_pmax = 1;
        rig = rig_start(&params, 3);
        for (uint32_t port = 1; port <= 2; port++)
            CHECK_EQ(rig_rx(&rig, 0, port, 3, 1000, 0), WIRE_DROP_NONE);
        for (int i = 0; i < 128; i++) { /* always 1000 B behind: one half */
            uint32_t port = order == 0 ? 1 + (uint32_t)i / 64 : 1 + (uint32_t)i % 2;
            struct wire_frame *frame;

            CHECK_EQ(rig_rx(&rig, 0, port, 3, 1000, 0), WIRE_DROP_NONE);
            frame = rig_tx(&rig, port, 0, RIG_ALL);
            patterns[order][port - 1] =
                patterns[order][port - 1] << 1 | ((frame->tos & WIRE_ECN_MASK) == WIRE_ECN_CE);
            rig_free(&rig, frame);
        }
        rig_stop(&rig);
    }
    CHECK(patterns[0][0] == patterns[1][0] && patterns[0][1] == patterns[1][1]);
    CHECK(patterns[0][0] != patterns[0][1]);
    CHECK(patterns[0][0] != 0 && patterns[0][0] != UINT64_MAX);
}

CHECK_SUITE(ecn, CHECK_CASE(only_ect_is_marked), CHECK_CASE(rocev1_has_no_ecn),
            CHECK_CASE(curve_has_its_corners_where_they_belong),
            CHECK_CASE(midpoint_marks_half_of_pmax), CHECK_CASE(certain_and_impossible_never_draw),
            CHECK_CASE(off_marks_nothing), CHECK_CASE(dequeue_sees_what_is_left_behind),
            CHECK_CASE(enqueue_sees_what_was_there_before),
            CHECK_CASE(queue_length_is_that_of_the_class), CHECK_CASE(ecn_off_is_off),
            CHECK_CASE(kmin_above_kmax_is_refused),
            CHECK_CASE(thresholds_scale_with_the_rate_when_told_so),
            CHECK_CASE(thresholds_never_fall_with_the_rate),
            CHECK_CASE(ports_have_streams_of_their_own))
