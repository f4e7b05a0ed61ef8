/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * CNP generation: the DCQCN notification point of one queue pair.
 *
 * The first CE packet is answered by a CNP at once and opens a window of one interval. CE packets
 * inside it are only remembered; at its end one CNP is sent if there was any, and the next window
 * begins, else the window closes. So a queue pair sends at most one CNP per interval, and the last
 * CE packet of a burst is answered too.
 *
 * Place  after rx_parse has found the queue pair of a CE packet; CNPs go to the control queue of
 *        tx_sched
 * In     CE packets, window ends
 * Out    true: send one CNP to the peer of this queue pair now
 * Owns   struct rnic_rx_cnp_state of each queue pair; all zeros is the state of a new one
 * Spec   DCQCN15 ("Congestion Control for Large-Scale RDMA Deployments"), section 3, NP algorithm
 * Cost   O(1), no timer of its own: all windows of a card have the same length, so a FIFO of the
 *        queue pairs with an open window is in the order of their ends. The device keeps it:
 *        _ce is true and the window is open then: append; _window_end is true: move to the back;
 *        false: remove. A queue pair is in the FIFO exactly while its window is open.
 *
 * Order at one instant: window ends first, then CE packets. The device runs the ends that are due
 * (rnic_rx_cnp_due) before it reports a CE packet.
 */
#ifndef RNIC_RX_CNP_H
#define RNIC_RX_CNP_H

#include "wire_types.h"

struct rnic_rx_cnp_state {
    uint64_t window_end_ps; /* 0: no window is open */
    bool ce_seen;           /* a CE packet came since the window began */
};

static inline bool rnic_rx_cnp_open(const struct rnic_rx_cnp_state *state)
{
    return state->window_end_ps != 0;
}

/** An open window has ended by @p now_ps: rnic_rx_cnp_window_end must be called. */
static inline bool rnic_rx_cnp_due(const struct rnic_rx_cnp_state *state, uint64_t now_ps)
{
    return state->window_end_ps != 0 && state->window_end_ps <= now_ps;
}

/**
 * A packet with CE arrived for the queue pair.
 *
 * @param interval_ps  shortest time between two CNPs, the same in every call; 0: a CNP for every CE
 *                     packet, no window is ever opened
 * @return true: send a CNP now; a window of @p interval_ps is open from now on. false: remembered.
 *         With a window that was due and not ended the packet counts for that window.
 */
bool rnic_rx_cnp_ce(struct rnic_rx_cnp_state *state, uint64_t interval_ps, uint64_t now_ps);

/**
 * The open window has ended; @p now_ps is its end or later.
 *
 * @return true: send a CNP now, the next window ends at @p now_ps + @p interval_ps. false: closed.
 */
bool rnic_rx_cnp_window_end(struct rnic_rx_cnp_state *state, uint64_t interval_ps, uint64_t now_ps);

#endif
