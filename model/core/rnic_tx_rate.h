/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Rate limiter: when a queue pair's next packet may leave, as its congestion control says.
 *
 * Place  asked by tx_sched before a queue pair is eligible; told by the transmit walk what left and
 *        by the receive walk of each CNP
 * In     line bytes of a packet (frame + FCS + 20), CNPs
 * Out    the earliest send time of the queue pair
 * Owns   struct rnic_cc_state of each queue pair; the only caller of struct rnic_cc_ops
 * Cost   a queue pair that is not limited: one test per packet
 */
#ifndef RNIC_TX_RATE_H
#define RNIC_TX_RATE_H

#include "rnic_cc.h"

/** A queue pair starts (again) at @p now_ps, at line rate. */
void rnic_tx_rate_init(const struct rnic_cc_ops *ops, const struct rnic_cc_config *config,
                       struct rnic_cc_state *state, uint64_t now_ps);

/** Current rate in bits a second, for traces; changes nothing. */
uint64_t rnic_tx_rate_bps(const struct rnic_cc_ops *ops, const struct rnic_cc_config *config,
                          const struct rnic_cc_state *state, uint64_t now_ps);

/** The control's congestion estimate in 0..1 (DCQCN: alpha), for traces; changes nothing. */
double rnic_tx_rate_alpha(const struct rnic_cc_ops *ops, const struct rnic_cc_config *config,
                          const struct rnic_cc_state *state, uint64_t now_ps);

/**
 * @return the time before which the queue pair must not send, in picoseconds; 0 when only the line
 *         limits it. A time that is past means now. Holds until the next _sent or _cnp.
 */
static inline uint64_t rnic_tx_rate_eligible_ps(const struct rnic_cc_state *state)
{
    return state->limited ? state->next_send_ps : 0;
}

/**
 * A packet of @p line_bytes was scheduled at @p now_ps, not before rnic_tx_rate_eligible_ps (if it
 * is before, its gap is added to the one that is pending).
 */
static inline void rnic_tx_rate_sent(const struct rnic_cc_ops *ops,
                                     const struct rnic_cc_config *config,
                                     struct rnic_cc_state *state, uint32_t line_bytes,
                                     uint64_t now_ps)
{
    if (state->limited)
        ops->sent(config, state, line_bytes, now_ps);
}

/** A CNP for the queue pair arrived. Read rnic_tx_rate_eligible_ps again: it may have moved. */
static inline void rnic_tx_rate_cnp(const struct rnic_cc_ops *ops,
                                    const struct rnic_cc_config *config,
                                    struct rnic_cc_state *state, uint64_t now_ps)
{
    ops->cnp(config, state, now_ps);
}

#endif
