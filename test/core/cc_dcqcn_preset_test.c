/* SPDX-License-Identifier: GPL-2.0-only */
/* The presets of DCQCN: their values, and the steps of each against numbers worked out by hand. */
#include "check.h"
#include "rnic_cc.h"
#include "wire_rng.h"

#define GBPS UINT64_C(1000000000)
#define US UINT64_C(1000000)

static const struct rnic_dcqcn_preset *preset_of(const char *name)
{
    const struct rnic_dcqcn_preset *preset = rnic_dcqcn_presets;

    while (preset->name && strcmp(preset->name, name) != 0)
        preset++;
    CHECK(preset->name != NULL);
    return preset;
}

static struct rnic_cc_config config_of(const char *preset, uint64_t line_bps)
{
    return (struct rnic_cc_config){.line_bps = line_bps, .dcqcn = preset_of(preset)->params};
}

static struct rnic_cc_state start(const struct rnic_cc_config *config)
{
    struct rnic_cc_state state;

    memset(&state, 0xA5, sizeof state);
    rnic_cc_dcqcn.init(config, &state, 0);
    return state;
}

static double rate_gbps(const struct rnic_cc_config *config, const struct rnic_cc_state *state,
                        uint64_t at_ps)
{
    return (double)rnic_cc_dcqcn.rate_bps(config, state, at_ps) / 1e9;
}

static const struct rnic_dcqcn_preset_value *value_of(const struct rnic_dcqcn_preset_value *values,
                                                      const char *field)
{
    while (values->field && strcmp(values->field, field) != 0)
        values++;
    return values->field ? values : NULL;
}

/* A preset sets every field; one that is not the table's default has a source of its own. */
static void every_value_of_a_preset_has_its_source(void)
{
    static const char *const names[] = {"paper-2015", "nvidia", "hpcc-sim"};

    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        const struct rnic_dcqcn_preset *preset = &rnic_dcqcn_presets[n];
        size_t listed = 0;

        CHECK_STR(preset->name, names[n]);
        CHECK(preset->text && preset->cnp_source);
        CHECK(wire_param_check(rnic_dcqcn_param_table, rnic_dcqcn_param_count, &preset->params) ==
              NULL);
        for (size_t i = 0; i < rnic_dcqcn_param_count; i++) {
            const struct wire_param *entry = &rnic_dcqcn_param_table[i];
            double value = wire_param_get(entry, &preset->params);
            const struct rnic_dcqcn_preset_value *said = value_of(preset->values, entry->field);

            CHECK_NEAR(value, said ? said->value : entry->def, 0.0);
            CHECK(!said || strlen(said->source) > 0);
            listed += said != NULL;
        }
        for (size_t i = 0; preset->values[i].field; i++, listed--)
            CHECK(listed > 0); /* no name that the table does not have */
        CHECK_EQ(listed, 0);
    }
    CHECK(rnic_dcqcn_presets[3].name == NULL);
    CHECK_EQ(preset_of("paper-2015")->cnp_interval_ps, 50 * US);
    CHECK_EQ(preset_of("nvidia")->cnp_interval_ps, 4 * US);
    CHECK_EQ(preset_of("hpcc-sim")->cnp_interval_ps, 0);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        hash = (hash ^ (value >> 8 * i & 0xFF)) * UINT64_C(0x100000001B3);
    return hash;
}

/* The number is what the control gave when the paper's form was the only one it had. */
static void the_paper_is_bit_for_bit_what_it_was_alone(void)
{
    struct rnic_cc_config config = config_of("paper-2015", 40 * GBPS);
    struct rnic_cc_state state = start(&config);
    struct wire_rng rng = wire_rng_init(20150817, 1);
    uint64_t now_ps = 0, hash = UINT64_C(0xCBF29CE484222325);

    for (int i = 0; i < 200000; i++) {
        if (wire_rng_next(&rng) % 500 == 0) {
            now_ps += wire_rng_next(&rng) % 200000;
            rnic_cc_dcqcn.cnp(&config, &state, now_ps);
        } else {
            if (state.limited)
                now_ps = wire_max_ps(now_ps, state.next_send_ps);
            now_ps += wire_rng_next(&rng) % 1000 == 0 ? 3000000000 : wire_rng_next(&rng) % 300000;
            rnic_cc_dcqcn.sent(&config, &state, 1106, now_ps);
        }
        hash = mix(hash, state.limited ? state.next_send_ps : 0);
        hash = mix(hash, rnic_cc_dcqcn.rate_bps(&config, &state, now_ps));
        hash = mix(hash, state.dcqcn.target_q16);
        hash = mix(hash, state.dcqcn.alpha_q31);
        hash = mix(hash, (uint64_t)state.dcqcn.timer_count << 16 | state.dcqcn.byte_count);
    }
    CHECK_EQ(hash, UINT64_C(0x170B844C416F41E2));
}

/* First CNP: alpha 1, nothing else; four decays, then the first check cuts, 4 us + 1 ns later. */
static void hpcc_cuts_one_interval_and_a_nanosecond_later(void)
{
    struct rnic_cc_config config = config_of("hpcc-sim", 100 * GBPS);
    struct rnic_cc_state state = start(&config);
    double g = 1.0 / 256, alpha = (1 - g) * (1 - g) * (1 - g) * (1 - g), rate;

    rnic_cc_dcqcn.cnp(&config, &state, 10 * US);
    CHECK(state.limited);
    CHECK_NEAR(rnic_cc_dcqcn.alpha(&config, &state, 11 * US - 1), 1.0, 0.0);
    CHECK_NEAR(rnic_cc_dcqcn.alpha(&config, &state, 11 * US), 1 - g, 1e-9);
    CHECK_NEAR(rate_gbps(&config, &state, 14 * US + 999), 100.0, 0.0);
    rate = 100 * (1 - alpha / 2);
    CHECK_NEAR(rate_gbps(&config, &state, 14 * US + 1000), rate, 1e-6);

    /* CNPs noted meanwhile move alpha at its next expiry and cut once, at the next check. */
    rnic_cc_dcqcn.cnp(&config, &state, 15 * US + 500);
    rnic_cc_dcqcn.cnp(&config, &state, 15 * US + 600);
    alpha *= 1 - g; /* at 15 us */
    CHECK_NEAR(rnic_cc_dcqcn.alpha(&config, &state, 15 * US + 700), alpha, 1e-9);
    alpha = alpha * (1 - g) + g;
    CHECK_NEAR(rnic_cc_dcqcn.alpha(&config, &state, 16 * US), alpha, 1e-9);
    alpha *= (1 - g) * (1 - g);
    CHECK_NEAR(rate_gbps(&config, &state, 18 * US + 999), rate, 1e-6);
    rate *= 1 - alpha / 2;
    CHECK_NEAR(rate_gbps(&config, &state, 18 * US + 1000), rate, 1e-6);
    CHECK_NEAR(rate_gbps(&config, &state, 22 * US + 1000), rate, 1e-6); /* none since */
}

/* No increase since the last cut: the target stays. One: it becomes the rate. Stages 0, 1, 2. */
static void hpcc_clamps_after_an_increase_and_counts_after_the_test(void)
{
    struct rnic_cc_config config = config_of("hpcc-sim", 100 * GBPS);
    struct rnic_cc_state state = start(&config);
    uint64_t cut_ps = 4 * US + 1000;
    double rate, target = 100.0;

    config.dcqcn.alpha_timer_ps = 1000000 * US; /* alpha stays 1: each cut halves */
    state = start(&config);
    rnic_cc_dcqcn.cnp(&config, &state, 0);
    rnic_cc_dcqcn.cnp(&config, &state, cut_ps + 1);
    rnic_cc_dcqcn.cnp(&config, &state, cut_ps + 4 * US + 1);
    cut_ps += 8 * US;
    rate = 12.5;
    CHECK_NEAR(rate_gbps(&config, &state, cut_ps), rate, 1e-9);
    rnic_cc_dcqcn.sent(&config, &state, 1106, cut_ps);
    CHECK_EQ(state.dcqcn.target_q16, (100 * GBPS) << 16);
    rate = (rate + target) / 2; /* stage 0 < F = 1 */
    CHECK_NEAR(rate_gbps(&config, &state, cut_ps + 300 * US), rate, 1e-9);

    rnic_cc_dcqcn.cnp(&config, &state, cut_ps + 300 * US + 1);
    cut_ps += 304 * US;
    target = rate; /* one increase since the cut */
    rate /= 2;
    CHECK_NEAR(rate_gbps(&config, &state, cut_ps), rate, 1e-9);
    rate = (rate + target) / 2;
    CHECK_NEAR(rate_gbps(&config, &state, cut_ps + 300 * US), rate, 1e-9);
    target += 0.020; /* stage 1 == F: R_AI is 5 Mb/s x 100 / 25 */
    rate = (rate + target) / 2;
    CHECK_NEAR(rate_gbps(&config, &state, cut_ps + 600 * US), rate, 1e-8);
    for (unsigned i = 3; i < 6; i++) { /* beyond: R_HAI is 50 Mb/s x 100 / 25, once each */
        target += 0.200;
        rate = (rate + target) / 2;
        CHECK_NEAR(rate_gbps(&config, &state, cut_ps + i * 300 * US), rate, 1e-8);
    }
}

/* At one instant the increase comes before the check; 300 us is a multiple of 4 us. */
static void an_increase_comes_before_the_check(void)
{
    struct rnic_cc_config config = config_of("hpcc-sim", 100 * GBPS);
    struct rnic_cc_state state = start(&config);
    uint64_t cut_ps = 4 * US + 1000, both_ps = cut_ps + 300 * US;

    config.dcqcn.alpha_timer_ps = 1000000 * US;
    state = start(&config);
    rnic_cc_dcqcn.cnp(&config, &state, 0);
    rnic_cc_dcqcn.cnp(&config, &state, both_ps - 1);
    CHECK_NEAR(rate_gbps(&config, &state, both_ps - 1), 50.0, 0.0);
    CHECK_NEAR(rate_gbps(&config, &state, both_ps), 37.5, 0.0); /* (50 + 100) / 2 / 2 */
    rnic_cc_dcqcn.sent(&config, &state, 1106, both_ps);
    CHECK_EQ(state.dcqcn.target_q16, (75 * GBPS) << 16); /* that increase made the clamp hold */
}

/* A gap that a check falls into: 10000 bytes at 100G are 800 ns, half of it before the cut. */
static void a_check_in_a_gap_stretches_its_rest(void)
{
    struct rnic_cc_config config = config_of("hpcc-sim", 100 * GBPS);
    struct rnic_cc_state state;

    config.dcqcn.alpha_timer_ps = 1000000 * US;
    state = start(&config);
    rnic_cc_dcqcn.cnp(&config, &state, 0);
    rnic_cc_dcqcn.sent(&config, &state, 10000, 3601000);
    CHECK_EQ(state.next_send_ps, 4401000 + 400000);
    CHECK_EQ(state.dcqcn.pending_ps, 4401000);
}

/* Alpha in 1024ths, rounded down: 1023, 1018, 1013, 1008, 1003; with CNPs 1019/1024 x + 5. */
static void nvidia_has_ten_bits_of_alpha(void)
{
    static const unsigned quiet[] = {1023, 1018, 1013, 1008, 1003, 998};
    struct rnic_cc_config config = config_of("nvidia", 100 * GBPS);
    struct rnic_cc_state state = start(&config);

    rnic_cc_dcqcn.cnp(&config, &state, 0);
    for (unsigned i = 0; i < 6; i++)
        CHECK_NEAR(rnic_cc_dcqcn.alpha(&config, &state, i * US), quiet[i] / 1024.0, 0.0);
    CHECK_NEAR(rate_gbps(&config, &state, 4 * US - 1), 100.0, 0.0);
    CHECK_NEAR(rate_gbps(&config, &state, 4 * US), 100 * (1 - 1003.0 / 2048), 1e-9);
    rnic_cc_dcqcn.cnp(&config, &state, 5 * US);
    CHECK_NEAR(rnic_cc_dcqcn.alpha(&config, &state, 6 * US), (998 * 1019 / 1024 + 5) / 1024.0, 0.0);
    CHECK_NEAR(rnic_cc_dcqcn.alpha(&config, &state, 2000 * US), 0.0, 0.0); /* it ends at 0 */
}

/* rpg_gd 9 takes up to twice the rate; min_dec_fac leaves half of it, or what it says. */
static void a_cut_leaves_its_share(void)
{
    struct rnic_cc_config config = config_of("nvidia", 100 * GBPS);
    struct rnic_cc_state state;

    config.dcqcn.alpha_timer_ps = 1000000 * US;
    config.dcqcn.rpg_gd = 9;
    state = start(&config);
    rnic_cc_dcqcn.cnp(&config, &state, 0);
    CHECK_NEAR(rate_gbps(&config, &state, 4 * US), 50.0, 0.0);
    config.dcqcn.min_dec_fac = 0.98;
    CHECK_NEAR(rate_gbps(&config, &state, 4 * US), 98.0, 1e-6);
    config.dcqcn.min_dec_fac = 0;
    CHECK_NEAR(rate_gbps(&config, &state, 4 * US), 0.001, 0.0); /* rpg_min_rate */
    config.dcqcn.rpg_gd = 12;
    CHECK_NEAR(rate_gbps(&config, &state, 4 * US), 100 * (1 - 1023.0 / 4096), 1e-9);
}

/* With clamp after_byte_increase the timer's increases do not move the target, bytes do. */
static void the_clamp_may_ask_for_bytes(void)
{
    struct rnic_cc_config config = config_of("nvidia", 100 * GBPS);
    struct rnic_cc_state state, by_bytes;

    config.dcqcn.clamp = 2;
    config.dcqcn.byte_counter_bytes = 32767;
    config.dcqcn.alpha_timer_ps = 1000000 * US;
    state = start(&config);
    rnic_cc_dcqcn.cnp(&config, &state, 0);
    rnic_cc_dcqcn.cnp(&config, &state, 5 * US);
    rnic_cc_dcqcn.sent(&config, &state, 100, 9 * US); /* both cuts made: about 25G, target 100G */
    by_bytes = state;
    rnic_cc_dcqcn.sent(&config, &by_bytes, 32767, 10 * US);
    CHECK_EQ(by_bytes.dcqcn.byte_count, 1);
    rnic_cc_dcqcn.cnp(&config, &state, 400 * US);
    rnic_cc_dcqcn.sent(&config, &state, 100, 404 * US);
    CHECK_EQ(state.dcqcn.target_q16, (100 * GBPS) << 16);
    rnic_cc_dcqcn.cnp(&config, &by_bytes, 11 * US);
    rnic_cc_dcqcn.sent(&config, &by_bytes, 100, 12 * US);
    CHECK(by_bytes.dcqcn.target_q16 < (70 * GBPS) << 16);
}

CHECK_SUITE(cc_dcqcn_preset, CHECK_CASE(every_value_of_a_preset_has_its_source),
            CHECK_CASE(the_paper_is_bit_for_bit_what_it_was_alone),
            CHECK_CASE(hpcc_cuts_one_interval_and_a_nanosecond_later),
            CHECK_CASE(hpcc_clamps_after_an_increase_and_counts_after_the_test),
            CHECK_CASE(an_increase_comes_before_the_check),
            CHECK_CASE(a_check_in_a_gap_stretches_its_rest),
            CHECK_CASE(nvidia_has_ten_bits_of_alpha), CHECK_CASE(a_cut_leaves_its_share),
            CHECK_CASE(the_clamp_may_ask_for_bytes))
