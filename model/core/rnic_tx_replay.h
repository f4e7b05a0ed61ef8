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
 * READs and atomics are acknowledged by their responses alone: psn_una can not pass the first one
 * that is missing (psn_read), and an answer to anything behind it means that it was lost (implied
 * NAK): send again from there, a READ from its first missing byte.
 *
 * Place  between TX build and the wire; acknowledges reach it from the receive-response walk
 * Owns   qp->replay
 * Spec   IBTA Vol 1 9.7.6.1.3 (timeout), 9.7.5.2.8 (RNR NAK), C9-140 ff. (retry counters),
 *        9.7.5.1.9 (implied NAK)
 * Cost   O(1) a call
 */
#ifndef RNIC_TX_REPLAY_H
#define RNIC_TX_REPLAY_H

#include "wire_types.h"

struct rnic_tx_replay {
    wire_psn psn_una;  /* oldest unacknowledged */
    wire_psn psn_next; /* next to be sent; before psn_sent during a replay */
    wire_psn psn_sent; /* one beyond the newest ever sent */
    wire_psn psn_read; /* first response missing of the oldest READ or atomic, while reads > 0 */
    uint32_t reads;    /* READs and atomics sent and not complete */
    bool nak_seen;     /* psn_una is being sent again: cleared by progress or a timeout */
    bool rnr_wait;     /* deadline_ps is the end of an RNR wait: nothing may be sent */
    uint8_t retry_max, retry_left;
    uint8_t rnr_max, rnr_left; /* 7: without end */
    bool patient;              /* go-back-0: the same NAK comes after every pass, and uses up no
                                  retry: there is no progress that would give it back */
    bool selective;            /* a loss does not move psn_next: rnic_tx_sack knows what is lost */
    uint32_t low_packets;      /* selective: with at most so many in flight ... */
    uint64_t low_timeout_ps;   /* ... this is the timeout */
    uint64_t armed_ps;         /* since when the timer runs */
    uint64_t timeout_ps;       /* 4.096 us << exponent; 0: no timer */
    uint64_t deadline_ps;      /* WIRE_NEVER while nothing is in flight and no RNR wait */
};

enum rnic_tx_replay_verdict {
    RNIC_TX_REPLAY_NOTHING,   /* stale, ghost or already being replayed: ignore */
    RNIC_TX_REPLAY_PROGRESS,  /* psn_una moved */
    RNIC_TX_REPLAY_RESEND,    /* psn_next went back to psn_una (unless selective): send again */
    RNIC_TX_REPLAY_WAIT,      /* RNR wait began: send nothing until the deadline */
    RNIC_TX_REPLAY_RETRY_EXC, /* complete with RETRY_EXC_ERR */
    RNIC_TX_REPLAY_RNR_EXC,   /* complete with RNR_RETRY_EXC_ERR */
};

/** Fresh state at the transition to RTS. @param timeout exponent 0..31 */
void rnic_tx_replay_init(struct rnic_tx_replay *replay, wire_psn psn, uint8_t timeout,
                         uint8_t retry_cnt, uint8_t rnr_retry);

/** From now on selective repeat with its own two timeouts. */
void rnic_tx_replay_selective(struct rnic_tx_replay *replay, uint64_t high_ps, uint64_t low_ps,
                              uint32_t low_packets);

/** The peer answers, though nothing is acknowledged by it: the retry timer starts again. */
void rnic_tx_replay_alive(struct rnic_tx_replay *replay, uint64_t now_ps);

/** Selective: a lost packet is sent again at @p now_ps. */
void rnic_tx_replay_resent(struct rnic_tx_replay *replay, uint64_t now_ps);

/** The peer misses psn_una: once a loss event. @return RESEND, RETRY_EXC, or NOTHING: repeated. */
enum rnic_tx_replay_verdict rnic_tx_replay_lost(struct rnic_tx_replay *replay);

/**
 * SQD: timer and counters of rnic_tx_replay_init anew, in the middle of things. A timer that runs
 * starts again; an RNR wait goes on; selective repeat keeps its timeouts.
 */
void rnic_tx_replay_change(struct rnic_tx_replay *replay, uint8_t timeout, uint8_t retry_cnt,
                           uint8_t rnr_retry, uint64_t now_ps);

/** Nothing is waited for any more (error, reset): all that was sent is over. */
void rnic_tx_replay_stop(struct rnic_tx_replay *replay);

/** RNR timer code 0..31 in picoseconds (IBTA table 45; code 0 is the longest). */
uint64_t rnic_tx_replay_rnr_ps(uint8_t code);

/** Packets sent and not acknowledged. */
static inline uint32_t rnic_tx_replay_in_flight(const struct rnic_tx_replay *replay)
{
    return (uint32_t)wire_psn_diff(replay->psn_next, replay->psn_una);
}

/**
 * The packet psn_next, which takes @p psns PSNs (a READ: those of its responses), leaves at
 * @p now_ps; starts the timer if it was idle.
 * @return true when it is a retransmission.
 */
bool rnic_tx_replay_record(struct rnic_tx_replay *replay, uint32_t psns, uint64_t now_ps);

/** UC, UD: a packet is sent and that is all. */
static inline void rnic_tx_replay_unreliable(struct rnic_tx_replay *replay)
{
    replay->psn_una = replay->psn_next = replay->psn_sent = wire_psn_add(replay->psn_sent, 1);
}

/** A READ or atomic is sent for the first time, its first response has @p psn. */
void rnic_tx_replay_read_sent(struct rnic_tx_replay *replay, wire_psn psn);

/**
 * The response psn_read is in host memory.
 * @param ends  it was the last of its request
 * @param next  of the next READ or atomic that was sent, if there is one (reads > 1)
 */
void rnic_tx_replay_read_done(struct rnic_tx_replay *replay, bool ends, wire_psn next,
                              uint64_t now_ps);

/** What a READ or atomic response with @p psn is (any value is legal: it is the peer's). */
enum rnic_tx_replay_response {
    RNIC_TX_REPLAY_STALE,    /* outside what is in flight: ignore */
    RNIC_TX_REPLAY_EXPECTED, /* psn_read: all before it is acknowledged now */
    RNIC_TX_REPLAY_GAP,      /* responses before it were lost: rnic_tx_replay_ack it */
    RNIC_TX_REPLAY_UNASKED,  /* in flight, but no READ or atomic */
};
enum rnic_tx_replay_response rnic_tx_replay_response(struct rnic_tx_replay *replay, wire_psn psn,
                                                     uint64_t now_ps);

/**
 * Acknowledge of everything up to and including @p psn (any value is legal: it is the peer's).
 * @return PROGRESS; NOTHING: stale or ghost; RESEND or RETRY_EXC: an implied NAK of psn_read.
 */
enum rnic_tx_replay_verdict rnic_tx_replay_ack(struct rnic_tx_replay *replay, wire_psn psn,
                                               uint64_t now_ps);

/**
 * NAK of any kind, or RNR NAK, names @p psn: is it in flight? A refusal outside the flight is
 * stale or forged. What lies before @p psn is acknowledged by it.
 */
bool rnic_tx_replay_refusable(const struct rnic_tx_replay *replay, wire_psn psn);

/** Does a READ or atomic before @p psn still miss a response? Then that comes first. */
static inline bool rnic_tx_replay_owed(const struct rnic_tx_replay *replay, wire_psn psn)
{
    return replay->reads > 0 && wire_psn_diff(psn, replay->psn_read) > 0;
}

/** NAK sequence error at @p psn (refusable). @return RESEND, RETRY_EXC, or NOTHING: repeated. */
enum rnic_tx_replay_verdict rnic_tx_replay_nak(struct rnic_tx_replay *replay, wire_psn psn,
                                               uint64_t now_ps);

/** RNR NAK at @p psn (refusable), timer @p code. @return WAIT, RNR_EXC, or NOTHING: repeated. */
enum rnic_tx_replay_verdict rnic_tx_replay_rnr(struct rnic_tx_replay *replay, wire_psn psn,
                                               uint8_t code, uint64_t now_ps);

/**
 * The deadline passed. @return RESEND (timeout, or end of an RNR wait), RETRY_EXC, or NOTHING:
 * selective repeat waits longer, for there is more in flight than when the timer was started.
 */
enum rnic_tx_replay_verdict rnic_tx_replay_expired(struct rnic_tx_replay *replay, uint64_t now_ps);

#endif
