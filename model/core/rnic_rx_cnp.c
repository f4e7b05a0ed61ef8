/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_rx_cnp.h"

bool rnic_rx_cnp_ce(struct rnic_rx_cnp_state *state, uint64_t interval_ps, uint64_t now_ps)
{
    WIRE_ASSERT(rnic_rx_cnp_open(state) || !state->ce_seen);
    WIRE_ASSERT(now_ps < WIRE_NEVER - interval_ps);
    if (rnic_rx_cnp_open(state)) {
        state->ce_seen = true;
        return false;
    }
    if (interval_ps > 0)
        state->window_end_ps = now_ps + interval_ps;
    return true;
}

bool rnic_rx_cnp_window_end(struct rnic_rx_cnp_state *state, uint64_t interval_ps, uint64_t now_ps)
{
    bool send = state->ce_seen;

    WIRE_ASSERT(interval_ps > 0);
    WIRE_ASSERT(rnic_rx_cnp_due(state, now_ps));
    state->window_end_ps = send ? now_ps + interval_ps : 0;
    state->ce_seen = false;
    return send;
}
