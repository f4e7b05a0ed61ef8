/* SPDX-License-Identifier: GPL-2.0-only */
/* The DCQCN reaction point against numbers worked out by hand. */
#include "check.h"
#include "rnic_cc.h"

#include <math.h>

#define GBPS UINT64_C(1000000000)
#define US UINT64_C(1000000)
#define SECOND UINT64_C(1000000000000)

static struct rnic_cc_config config_of(uint64_t line_bps)
{
    CHECK_STR(rnic_dcqcn_presets[0].name, "paper-2015");
    return (struct rnic_cc_config){.line_bps = line_bps, .dcqcn = rnic_dcqcn_presets[0].params};
}

static struct rnic_cc_state start(const struct rnic_cc_config *config)
{
    struct rnic_cc_state state;

    memset(&state, 0xA5, sizeof state);
    rnic_cc_dcqcn.init(config, &state, 0);
    return state;
}

static void the_preset_holds_the_papers_values(void)
{
    struct rnic_dcqcn_params p = rnic_dcqcn_presets[0].params;

    CHECK_NEAR(p.g, 1.0 / 256, 0.0);
    CHECK_NEAR(p.initial_alpha, 1.0, 0.0);
    CHECK_EQ(p.alpha_timer_ps, 55 * US);
    CHECK_EQ(p.increase_timer_ps, 55 * US);
    CHECK_EQ(p.byte_counter_bytes, 10000000);
    CHECK_EQ(p.fast_recovery, 5);
    CHECK_EQ(p.rai_bps, 40000000);
    CHECK_EQ(p.rhai_bps, 0);
    CHECK_EQ(p.min_rate_bps, 100000000);
    CHECK_EQ(p.step_per_rate_bps, 0);
    CHECK_EQ(p.stage_counted, 0);
    CHECK_EQ(p.hyper_scaled, 1);
    CHECK_EQ(p.cut_interval_ps, 0);
    CHECK_EQ(p.clamp, 0);
    CHECK_EQ(p.alpha_bits, 31);
    CHECK_EQ(p.rpg_gd, 11);
    CHECK_NEAR(p.min_dec_fac, 0.0, 0.0);
    CHECK_EQ(rnic_dcqcn_param_count, 18);
    CHECK_STR(rnic_dcqcn_param_table[0].field, "g");
    CHECK_EQ(rnic_dcqcn_param_table[8].offset, offsetof(struct rnic_dcqcn_params, min_rate_bps));
}

/* A44: the smallest gain that is allowed still moves alpha. */
static void the_gain_is_never_0(void)
{
    struct rnic_cc_config config = config_of(40 * GBPS);
    struct rnic_cc_state state;

    config.dcqcn.g = rnic_dcqcn_param_table[0].min;
    config.dcqcn.initial_alpha = 0.5;
    state = start(&config);
    rnic_cc_dcqcn.cnp(&config, &state, 0);
    CHECK_NEAR(rnic_cc_dcqcn.alpha(&config, &state, 0), 0.5 + 0.5 / 65536, 1e-9);
    CHECK_NEAR(rnic_cc_dcqcn.alpha(&config, &state, 55 * US),
               (0.5 + 0.5 / 65536) * (1 - 1.0 / 65536), 1e-9);
}

/* A45: the cut uses the old alpha. */
static void a_cnp_cuts_before_it_updates_alpha(void)
{
    struct rnic_cc_config config = config_of(40 * GBPS);
    struct rnic_cc_state state;

    config.dcqcn.initial_alpha = 0.5;
    state = start(&config);
    CHECK(!state.limited);
    CHECK_EQ(rnic_cc_dcqcn.rate_bps(&config, &state, SECOND), 40 * GBPS);
    CHECK_NEAR(rnic_cc_dcqcn.alpha(&config, &state, SECOND), 0.5, 0.0); /* waits for a CNP */
    rnic_cc_dcqcn.cnp(&config, &state, 7 * US);
    CHECK(state.limited);
    CHECK_EQ(state.next_send_ps, 0);
    CHECK_EQ(rnic_cc_dcqcn.rate_bps(&config, &state, 7 * US), 30 * GBPS);
    CHECK_NEAR(rnic_cc_dcqcn.alpha(&config, &state, 7 * US), 0.501953125, 0.0);
    CHECK_EQ(state.dcqcn.target_q16, (40 * GBPS) << 16);
    rnic_cc_dcqcn.cnp(&config, &state, 8 * US); /* the target is always the old rate */
    CHECK_EQ(state.dcqcn.target_q16, (30 * GBPS) << 16);
    CHECK_EQ(rnic_cc_dcqcn.rate_bps(&config, &state, 8 * US), 22470703125);
}

/* A46: what an increase event that leaves (T, BC) does to RT, from either event. */
static void the_stage_depends_on_both_counters(void)
{
    static const struct {
        uint16_t t, bc;
        uint64_t rai_steps, rhai_steps;
    } cases[] = {{4, 4, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {4, 1, 0, 0}, {5, 0, 1, 0},
                 {0, 5, 1, 0}, {5, 5, 1, 0}, {5, 9, 1, 0}, {9, 3, 1, 0}, {3, 9, 1, 0},
                 {9, 5, 1, 0}, {6, 6, 0, 1}, {6, 9, 0, 1}, {7, 9, 0, 2}, {20, 15, 0, 10}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int rhai = 0; rhai < 2; rhai++) {
            struct rnic_cc_config config = config_of(100 * GBPS);
            struct rnic_cc_state state, by_bytes;
            uint64_t steps_bps =
                cases[i].rai_steps * 40000000 + cases[i].rhai_steps * (rhai ? 7000000 : 0);

            if (!rhai && cases[i].rhai_steps > 0)
                steps_bps = 40000000; /* hyper increase off: additive increase goes on */
            config.dcqcn.rhai_bps = rhai ? 7000000 : 0;
            state = start(&config);
            rnic_cc_dcqcn.cnp(&config, &state, 0);
            rnic_cc_dcqcn.cnp(&config, &state, 0);
            by_bytes = state;
            CHECK_EQ(state.dcqcn.target_q16, (50 * GBPS) << 16);
            if (cases[i].t > 0) {
                state.dcqcn.timer_count = (uint16_t)(cases[i].t - 1);
                state.dcqcn.byte_count = cases[i].bc;
                rnic_cc_dcqcn.sent(&config, &state, 100, 55 * US);
                CHECK_EQ(state.dcqcn.timer_count, cases[i].t);
                CHECK_EQ(state.dcqcn.target_q16, (50 * GBPS + steps_bps) << 16);
            }
            if (cases[i].bc > 0) {
                by_bytes.dcqcn.timer_count = cases[i].t;
                by_bytes.dcqcn.byte_count = (uint16_t)(cases[i].bc - 1);
                by_bytes.dcqcn.counted_bytes = 10000000 - 99;
                rnic_cc_dcqcn.sent(&config, &by_bytes, 100, 10 * US);
                CHECK_EQ(by_bytes.dcqcn.byte_count, cases[i].bc);
                CHECK_EQ(by_bytes.dcqcn.counted_bytes, 1); /* what is over is not lost */
                CHECK_EQ(by_bytes.dcqcn.target_q16, (50 * GBPS + steps_bps) << 16);
            }
        }
    }
}

/* 40G, alpha 1: 20, 30, 35, 37.5, 38.75, then RT is at the line: 39.375, 39.6875 ... 40. */
static void recovery_follows_the_timer_and_ends_in_a_release(void)
{
    struct rnic_cc_config config = config_of(40 * GBPS);
    struct rnic_cc_state state = start(&config), waiting;
    uint64_t missing_q16 = (20 * GBPS) << 16, events = 0;

    rnic_cc_dcqcn.cnp(&config, &state, 3);
    waiting = state;
    while (state.limited) {
        uint64_t at_ps = 3 + ++events * 55 * US;

        CHECK_EQ(rnic_cc_dcqcn.rate_bps(&config, &state, at_ps - 1),
                 ((40 * GBPS << 16) - missing_q16) >> 16);
        missing_q16 = (missing_q16 + 1) / 2;
        rnic_cc_dcqcn.sent(&config, &state, 1000, at_ps);
        CHECK_EQ(state.limited, missing_q16 > 65536); /* 1 bit/s */
    }
    CHECK_EQ(events, 35); /* 20e9 / 2^35 < 1 */
    CHECK_EQ(state.next_send_ps, 0);
    CHECK_EQ(rnic_cc_dcqcn.rate_bps(&config, &state, SECOND), 40 * GBPS);
    CHECK_EQ(rnic_cc_dcqcn.rate_bps(&config, &waiting, 3 + 35 * 55 * US), 40 * GBPS);
    CHECK_EQ(rnic_cc_dcqcn.rate_bps(&config, &waiting, 3 + 35 * 55 * US - 1), 40 * GBPS - 2);

    /* Released: nothing is paced or counted, alpha decays on and the next cut uses it. */
    rnic_cc_dcqcn.sent(&config, &state, 20000000, SECOND);
    CHECK(!state.limited);
    CHECK_EQ(state.dcqcn.counted_bytes, 0);
    rnic_cc_dcqcn.cnp(&config, &state, 3 + 256 * 55 * US);
    CHECK_NEAR((double)rnic_cc_dcqcn.rate_bps(&config, &state, 3 + 256 * 55 * US),
               40e9 * (1 - pow(255.0 / 256, 256) / 2), 40e9 * 1e-6);
    CHECK_EQ(state.dcqcn.target_q16, (40 * GBPS) << 16);
}

static void many_cnps_end_at_the_minimum_rate(void)
{
    struct rnic_cc_config config = config_of(100 * GBPS);
    struct rnic_cc_state state = start(&config);
    uint64_t last_bps = 100 * GBPS;

    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t rate_bps, now_ps = i * 1000;

        rnic_cc_dcqcn.cnp(&config, &state, now_ps);
        rnic_cc_dcqcn.sent(&config, &state, 1106, now_ps);
        rate_bps = rnic_cc_dcqcn.rate_bps(&config, &state, now_ps);
        CHECK(rate_bps <= last_bps && rate_bps >= 100000000);
        last_bps = rate_bps;
    }
    CHECK_EQ(last_bps, 100000000);
    CHECK_NEAR(rnic_cc_dcqcn.alpha(&config, &state, 100000000), 1.0, 0.0);

    config = config_of(50000000); /* a line slower than Rmin is not raised to it */
    state = start(&config);
    rnic_cc_dcqcn.cnp(&config, &state, 0);
    CHECK_EQ(rnic_cc_dcqcn.rate_bps(&config, &state, 0), 50000000);
}

/* 5000 bytes at 20G are 2 us; RC becomes 30G after 1 us: the other 1 us shrinks to 2/3 us. */
static void a_gap_is_rescaled_at_each_change_of_the_rate(void)
{
    struct rnic_cc_config config = config_of(40 * GBPS);
    struct rnic_cc_state state;

    config.dcqcn.increase_timer_ps = 1 * US;
    state = start(&config);
    rnic_cc_dcqcn.cnp(&config, &state, 0);
    rnic_cc_dcqcn.sent(&config, &state, 5000, 0);
    CHECK_EQ(state.next_send_ps, 1666667);
    CHECK_EQ(state.dcqcn.pending_ps, 2 * US);

    /* CNP in the gap: 1.5 us at 20G are 3 us at 10G; 15G after 1 us, 17.5G after another. */
    rnic_cc_dcqcn.cnp(&config, &state, 500000);
    CHECK_EQ(state.dcqcn.pending_ps, 3500000);
    CHECK_EQ(state.next_send_ps, 2785715);
}

static void a_gap_outlives_a_release(void)
{
    struct rnic_cc_config config = config_of(40 * GBPS);
    struct rnic_cc_state state;

    config.dcqcn.increase_timer_ps = 100000;
    state = start(&config);
    rnic_cc_dcqcn.cnp(&config, &state, 0);
    rnic_cc_dcqcn.sent(&config, &state, 50000, 0); /* 20 us at 20G; released after 3.5 us */
    CHECK(state.limited);
    CHECK(state.next_send_ps > 10 * US && state.next_send_ps < 10200000); /* 10 us at 40G */
    rnic_cc_dcqcn.cnp(&config, &state, 5 * US);
    CHECK_EQ(state.dcqcn.target_q16, (40 * GBPS) << 16);
    CHECK(state.dcqcn.pending_ps > 15 * US && state.dcqcn.pending_ps < 15400000);
}

static void the_gap_is_the_line_time_at_the_rate(void)
{
    static const uint32_t sizes[] = {84, 98, 1106, 4186, 9238};
    struct rnic_cc_config config = config_of(100 * GBPS);

    config.dcqcn.increase_timer_ps = SECOND;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct rnic_cc_state state = start(&config);
        uint64_t rate_bps = 100 * GBPS;

        for (int cuts = 1; cuts <= 10; cuts++) { /* 50, 25, 12.5 ... 0.1 Gb/s */
            rnic_cc_dcqcn.cnp(&config, &state, 0);
            rate_bps = rate_bps / 2 > 100000000 ? rate_bps / 2 : 100000000;
            state.next_send_ps = state.dcqcn.pending_ps = 0;
            rnic_cc_dcqcn.sent(&config, &state, sizes[i], 1000);
            CHECK_NEAR((double)state.next_send_ps,
                       (double)(1000 + wire_line_time_ps(sizes[i], rate_bps)), 1.0);
        }
    }
}

/* 10^13 expiries of each timer: would not end if they were walked one by one. */
static void long_idle_is_cheap(void)
{
    struct rnic_cc_config config = config_of(800 * GBPS);
    struct rnic_cc_state state;

    config.dcqcn.alpha_timer_ps = config.dcqcn.increase_timer_ps = 100000;
    for (uint64_t rai_bps = 0; rai_bps <= 3; rai_bps++) {
        config.dcqcn.rai_bps = rai_bps;
        state = start(&config);
        for (int i = 0; i < 20; i++)
            rnic_cc_dcqcn.cnp(&config, &state, 0);
        for (int i = 0; i < 1000; i++) { /* RC = 100M, RT = 100M: RAI once per 100 ns */
            uint64_t expected_bps = 100000000 + rai_bps * (10000000 - 6);

            CHECK_NEAR((double)rnic_cc_dcqcn.rate_bps(&config, &state, SECOND),
                       (double)expected_bps, 8.0);
        }
        CHECK_NEAR(rnic_cc_dcqcn.alpha(&config, &state, 1000000 * SECOND), 0.0, 0.0);
        CHECK_EQ(rnic_cc_dcqcn.rate_bps(&config, &state, 1000000 * SECOND),
                 rai_bps > 0 ? 800 * GBPS : 100000000);
        rnic_cc_dcqcn.sent(&config, &state, 1106, 1000000 * SECOND);
        CHECK_EQ(state.limited, rai_bps == 0);
    }
}

/* RAI 1 bit/s, RT 5 and RC 6 bit/s below the line: the fifth expiry brings RC within 1 bit/s. */
static void skipping_stops_short_of_the_release(void)
{
    struct rnic_cc_config config = config_of(40 * GBPS);
    struct rnic_cc_state state;

    config.dcqcn.rai_bps = 1;
    state = start(&config);
    rnic_cc_dcqcn.cnp(&config, &state, 0);
    state.dcqcn.target_q16 = (40 * GBPS - 5) << 16;
    state.dcqcn.rate_q16 = (40 * GBPS - 6) << 16;
    state.dcqcn.timer_count = 10;
    for (uint64_t n = 1; n < 5; n++)
        CHECK_EQ(rnic_cc_dcqcn.rate_bps(&config, &state, n * 55 * US), 40 * GBPS - 6 + n);
    CHECK_EQ(rnic_cc_dcqcn.rate_bps(&config, &state, 5 * 55 * US - 1), 40 * GBPS - 2);
    CHECK_EQ(rnic_cc_dcqcn.rate_bps(&config, &state, 5 * 55 * US), 40 * GBPS);
    rnic_cc_dcqcn.sent(&config, &state, 84, 5 * 55 * US);
    CHECK(!state.limited);
}

CHECK_SUITE(cc_dcqcn, CHECK_CASE(the_preset_holds_the_papers_values),
            CHECK_CASE(the_gain_is_never_0), CHECK_CASE(a_cnp_cuts_before_it_updates_alpha),
            CHECK_CASE(the_stage_depends_on_both_counters),
            CHECK_CASE(recovery_follows_the_timer_and_ends_in_a_release),
            CHECK_CASE(many_cnps_end_at_the_minimum_rate),
            CHECK_CASE(a_gap_is_rescaled_at_each_change_of_the_rate),
            CHECK_CASE(a_gap_outlives_a_release), CHECK_CASE(the_gap_is_the_line_time_at_the_rate),
            CHECK_CASE(long_idle_is_cheap), CHECK_CASE(skipping_stops_short_of_the_release))
