/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Replay buffer and retry timer: what was sent, not yet acknowledged, and until when we wait.
 *
 * The replay buffer keeps a reference, not a copy: PSN to work request is arithmetic, and a
 * retransmission fetches its payload from host memory again, as hardware does (go-back-N).
 *
 *   psn_una           psn_next            psn_sent
 *      |-- in flight --|-- sent before, to be sent again --|
 *
 * Place  between TX build and the wire; acknowledges reach it from the receive-response walk
 * Owns   qp->replay
 * Spec   IBTA Vol 1 9.7.6.1.3 (timeout), 9.7.5.2.8 (RNR NAK), C9-140 ff. (retry counters)
 * Cost   O(1) a call
 */
#ifndef RNIC_TX_REPLAY_H
#define RNIC_TX_REPLAY_H

#include "wire_types.h"

struct rnic_tx_replay {
    wire_psn psn_una;  /* oldest unacknowledged */
    wire_psn psn_next; /* next to be sent; before psn_sent during a replay */
    wire_psn psn_sent; /* one beyond the newest ever sent */
    wire_psn nak_psn;  /* sequence NAK already acted on, while nak_seen */
    bool nak_seen;     /* one replay per loss event: cleared by progress or a timeout */
    bool rnr_wait;     /* deadline_ps is the end of an RNR wait: nothing may be sent */
    uint8_t retry_max, retry_left;
    uint8_t rnr_max, rnr_left; /* 7: without end */
    uint64_t timeout_ps;       /* 4.096 us << exponent; 0: no timer */
    uint64_t deadline_ps;      /* WIRE_NEVER while nothing is in flight and no RNR wait */
};

enum rnic_tx_replay_verdict {
    RNIC_TX_REPLAY_NOTHING,   /* stale, ghost or already being replayed: ignore */
    RNIC_TX_REPLAY_PROGRESS,  /* psn_una moved */
    RNIC_TX_REPLAY_RESEND,    /* psn_next went back to psn_una: send again */
    RNIC_TX_REPLAY_WAIT,      /* RNR wait began: send nothing until the deadline */
    RNIC_TX_REPLAY_RETRY_EXC, /* complete with RETRY_EXC_ERR */
    RNIC_TX_REPLAY_RNR_EXC,   /* complete with RNR_RETRY_EXC_ERR */
};

/** Fresh state at the transition to RTS. @param timeout exponent 0..31 */
void rnic_tx_replay_init(struct rnic_tx_replay *replay, wire_psn psn, uint8_t timeout,
                         uint8_t retry_cnt, uint8_t rnr_retry);

/** RNR timer code 0..31 in picoseconds (IBTA table 45; code 0 is the longest). */
uint64_t rnic_tx_replay_rnr_ps(uint8_t code);

/** Packets sent and not acknowledged. */
static inline uint32_t rnic_tx_replay_in_flight(const struct rnic_tx_replay *replay)
{
    return (uint32_t)wire_psn_diff(replay->psn_next, replay->psn_una);
}

/**
 * The packet psn_next leaves at @p now_ps; starts the timer if it was idle.
 * @return true when it is a retransmission.
 */
bool rnic_tx_replay_record(struct rnic_tx_replay *replay, uint64_t now_ps);

/**
 * Acknowledge of everything up to and including @p psn (any value is legal: it is the peer's).
 * @return PROGRESS, or NOTHING: stale or ghost.
 */
enum rnic_tx_replay_verdict rnic_tx_replay_ack(struct rnic_tx_replay *replay, wire_psn psn,
                                               uint64_t now_ps);

/**
 * NAK of any kind, or RNR NAK, names @p psn: is it in flight? A refusal outside the flight is
 * stale or forged. What lies before @p psn is acknowledged by it.
 */
bool rnic_tx_replay_refusable(const struct rnic_tx_replay *replay, wire_psn psn);

/** NAK sequence error at @p psn (refusable). @return RESEND, RETRY_EXC, or NOTHING: repeated. */
enum rnic_tx_replay_verdict rnic_tx_replay_nak(struct rnic_tx_replay *replay, wire_psn psn,
                                               uint64_t now_ps);

/** RNR NAK at @p psn (refusable), timer @p code. @return WAIT, RNR_EXC, or NOTHING: repeated. */
enum rnic_tx_replay_verdict rnic_tx_replay_rnr(struct rnic_tx_replay *replay, wire_psn psn,
                                               uint8_t code, uint64_t now_ps);

/** The deadline passed. @return RESEND (timeout, or end of an RNR wait) or RETRY_EXC. */
enum rnic_tx_replay_verdict rnic_tx_replay_expired(struct rnic_tx_replay *replay, uint64_t now_ps);

#endif
