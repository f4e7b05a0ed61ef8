/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * No congestion control: the line is the only limit and a CNP is ignored.
 */
#include "rnic_cc.h"

static void none_init(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                      uint64_t now_ps)
{
    (void)now_ps;
    WIRE_ASSERT(config->line_bps > 0);
    *state = (struct rnic_cc_state){.next_send_ps = 0, .limited = false};
}

static void none_cnp(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                     uint64_t now_ps)
{
    (void)config;
    (void)now_ps;
    WIRE_ASSERT(!state->limited);
}

static void none_sent(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                      uint32_t line_bytes, uint64_t now_ps)
{
    (void)config;
    (void)line_bytes;
    (void)now_ps;
    WIRE_ASSERT(!state->limited);
}

static uint64_t none_rate_bps(const struct rnic_cc_config *config,
                              const struct rnic_cc_state *state, uint64_t now_ps)
{
    (void)state;
    (void)now_ps;
    return config->line_bps;
}

static double none_alpha(const struct rnic_cc_config *config, const struct rnic_cc_state *state,
                         uint64_t now_ps)
{
    (void)config;
    (void)state;
    (void)now_ps;
    return 0.0;
}

const struct rnic_cc_ops rnic_cc_none = {
    .name = "none",
    .init = none_init,
    .cnp = none_cnp,
    .sent = none_sent,
    .rate_bps = none_rate_bps,
    .alpha = none_alpha,
};
