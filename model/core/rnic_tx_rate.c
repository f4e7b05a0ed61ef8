/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_tx_rate.h"

void rnic_tx_rate_init(const struct rnic_cc_ops *ops, const struct rnic_cc_config *config,
                       struct rnic_cc_state *state, uint64_t now_ps)
{
    WIRE_ASSERT(ops && config && state);
    ops->init(config, state, now_ps);
    WIRE_ASSERT(state->limited || state->next_send_ps == 0);
}

uint64_t rnic_tx_rate_bps(const struct rnic_cc_ops *ops, const struct rnic_cc_config *config,
                          const struct rnic_cc_state *state, uint64_t now_ps)
{
    uint64_t rate_bps = ops->rate_bps(config, state, now_ps);

    WIRE_ASSERT(rate_bps > 0 && rate_bps <= config->line_bps);
    return rate_bps;
}

double rnic_tx_rate_alpha(const struct rnic_cc_ops *ops, const struct rnic_cc_config *config,
                          const struct rnic_cc_state *state, uint64_t now_ps)
{
    double alpha = ops->alpha(config, state, now_ps);

    WIRE_ASSERT(alpha >= 0.0 && alpha <= 1.0);
    return alpha;
}
