/* SPDX-License-Identifier: GPL-2.0-only */
/* The rate limiter passes on what its control says and spares it the packets of a free flow. */
#include "check.h"
#include "rnic_tx_rate.h"

static unsigned spy_sent, spy_cnps;

static void spy_init(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                     uint64_t now_ps)
{
    (void)config;
    *state = (struct rnic_cc_state){.limited = false};
    state->words[0] = now_ps;
}

static void spy_cnp(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                    uint64_t now_ps)
{
    (void)config;
    spy_cnps++;
    state->limited = true;
    state->next_send_ps = now_ps;
}

static void spy_packet(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                       uint32_t line_bytes, uint64_t now_ps)
{
    (void)config;
    spy_sent++;
    state->next_send_ps = now_ps + line_bytes;
}

static uint64_t spy_rate_bps(const struct rnic_cc_config *config, const struct rnic_cc_state *state,
                             uint64_t now_ps)
{
    (void)state;
    return config->line_bps - now_ps;
}

static double spy_alpha(const struct rnic_cc_config *config, const struct rnic_cc_state *state,
                        uint64_t now_ps)
{
    (void)config;
    (void)state;
    return 1.0 / (double)now_ps;
}

static const struct rnic_cc_ops spy = {"spy",      spy_init,     spy_cnp,
                                       spy_packet, spy_rate_bps, spy_alpha};

static void a_free_flow_never_enters_the_control(void)
{
    struct rnic_cc_config config = {.line_bps = 1000};
    struct rnic_cc_state state;

    rnic_tx_rate_init(&spy, &config, &state, 7);
    CHECK_EQ(state.words[0], 7);
    state.next_send_ps = 12345; /* means nothing while not limited */
    CHECK_EQ(rnic_tx_rate_eligible_ps(&state), 0);
    rnic_tx_rate_sent(&spy, &config, &state, 100, 8);
    CHECK_EQ(spy_sent, 0);
}

static void a_limited_flow_asks_its_control(void)
{
    struct rnic_cc_config config = {.line_bps = 1000};
    struct rnic_cc_state state;

    rnic_tx_rate_init(&spy, &config, &state, 0);
    rnic_tx_rate_cnp(&spy, &config, &state, 50);
    CHECK_EQ(spy_cnps, 1);
    CHECK_EQ(rnic_tx_rate_eligible_ps(&state), 50);
    rnic_tx_rate_sent(&spy, &config, &state, 100, 60);
    CHECK_EQ(spy_sent, 1);
    CHECK_EQ(rnic_tx_rate_eligible_ps(&state), 160);
    CHECK_EQ(rnic_tx_rate_bps(&spy, &config, &state, 10), 990);
    CHECK_NEAR(rnic_tx_rate_alpha(&spy, &config, &state, 4), 0.25, 0.0);
}

static void every_control_starts_at_line_rate(void)
{
    struct rnic_cc_config config = {.line_bps = 400000000000,
                                    .dcqcn = rnic_dcqcn_presets[0].params};

    for (size_t i = 0; rnic_cc_all[i]; i++) {
        struct rnic_cc_state state;

        memset(&state, 0xA5, sizeof state);
        rnic_tx_rate_init(rnic_cc_all[i], &config, &state, 9);
        CHECK_EQ(rnic_tx_rate_eligible_ps(&state), 0);
        CHECK_EQ(rnic_tx_rate_bps(rnic_cc_all[i], &config, &state, 1000000000), 400000000000);
        rnic_tx_rate_sent(rnic_cc_all[i], &config, &state, 4186, 9);
        CHECK_EQ(rnic_tx_rate_eligible_ps(&state), 0);
    }
}

CHECK_SUITE(tx_rate, CHECK_CASE(a_free_flow_never_enters_the_control),
            CHECK_CASE(a_limited_flow_asks_its_control),
            CHECK_CASE(every_control_starts_at_line_rate))
