/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_tx_replay.h"

#define REPLAY_TIMEOUT_UNIT_PS 4096000u /* 4.096 us */
#define REPLAY_RNR_INFINITE 7u

/* The one invariant of this file; every entry point checks it after a change. */
static void replay_check(const struct rnic_tx_replay *replay)
{
    WIRE_ASSERT(wire_psn_diff(replay->psn_next, replay->psn_una) >= 0);
    WIRE_ASSERT(wire_psn_diff(replay->psn_sent, replay->psn_next) >= 0);
    WIRE_ASSERT(replay->retry_left <= replay->retry_max);
    WIRE_ASSERT(!replay->rnr_wait || replay->deadline_ps != WIRE_NEVER);
    WIRE_ASSERT(replay->reads == 0 || wire_psn_diff(replay->psn_read, replay->psn_una) >= 0);
    if (replay->psn_sent.v == replay->psn_una.v)
        WIRE_ASSERT(replay->deadline_ps == WIRE_NEVER);
}

/* When a timer that was started at `armed_ps` runs out. */
static uint64_t replay_runs_out(const struct rnic_tx_replay *replay, uint64_t armed_ps)
{
    if (replay->selective && rnic_tx_replay_in_flight(replay) <= replay->low_packets)
        return armed_ps + replay->low_timeout_ps;
    return replay->timeout_ps == 0 ? WIRE_NEVER : armed_ps + replay->timeout_ps;
}

static uint64_t replay_deadline_ps(struct rnic_tx_replay *replay, uint64_t now_ps)
{
    replay->armed_ps = now_ps;
    return replay_runs_out(replay, now_ps);
}

static void replay_rearm(struct rnic_tx_replay *replay, uint64_t now_ps)
{
    bool idle = replay->psn_next.v == replay->psn_una.v;

    replay->rnr_wait = false;
    replay->deadline_ps = idle ? WIRE_NEVER : replay_deadline_ps(replay, now_ps);
}

static void replay_set(struct rnic_tx_replay *replay, uint8_t timeout, uint8_t retry_cnt,
                       uint8_t rnr_retry)
{
    WIRE_ASSERT(timeout < 32 && retry_cnt < 8 && rnr_retry < 8);
    replay->retry_max = replay->retry_left = retry_cnt;
    replay->rnr_max = replay->rnr_left = rnr_retry;
    if (!replay->selective) /* that has its own */
        replay->timeout_ps = timeout == 0 ? 0 : (uint64_t)REPLAY_TIMEOUT_UNIT_PS << timeout;
}

void rnic_tx_replay_init(struct rnic_tx_replay *replay, wire_psn psn, uint8_t timeout,
                         uint8_t retry_cnt, uint8_t rnr_retry)
{
    *replay = (struct rnic_tx_replay){
        .psn_una = psn,
        .psn_next = psn,
        .psn_sent = psn,
        .deadline_ps = WIRE_NEVER,
    };
    replay_set(replay, timeout, retry_cnt, rnr_retry);
}

void rnic_tx_replay_change(struct rnic_tx_replay *replay, uint8_t timeout, uint8_t retry_cnt,
                           uint8_t rnr_retry, uint64_t now_ps)
{
    replay_set(replay, timeout, retry_cnt, rnr_retry);
    if (!replay->selective && !replay->rnr_wait && rnic_tx_replay_in_flight(replay) > 0)
        replay->deadline_ps = replay_deadline_ps(replay, now_ps);
    replay_check(replay);
}

void rnic_tx_replay_stop(struct rnic_tx_replay *replay)
{
    replay->psn_una = replay->psn_next = replay->psn_sent;
    replay->reads = 0;
    replay->rnr_wait = false;
    replay->deadline_ps = WIRE_NEVER;
}

uint64_t rnic_tx_replay_rnr_ps(uint8_t code)
{
    static const uint32_t units_10us[32] = {65536, 1,    2,    3,     4,     6,     8,     12,
                                            16,    24,   32,   48,    64,    96,    128,   192,
                                            256,   384,  512,  768,   1024,  1536,  2048,  3072,
                                            4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

    return units_10us[code & 31] * (uint64_t)10000000;
}

bool rnic_tx_replay_record(struct rnic_tx_replay *replay, uint32_t psns, uint64_t now_ps)
{
    bool again = wire_psn_diff(replay->psn_sent, replay->psn_next) > 0;

    WIRE_ASSERT(!replay->rnr_wait);
    replay->psn_next = wire_psn_add(replay->psn_next, psns);
    if (!again)
        replay->psn_sent = replay->psn_next;
    if (replay->deadline_ps == WIRE_NEVER)
        replay->deadline_ps = replay_deadline_ps(replay, now_ps);
    replay_check(replay);
    return again;
}

void rnic_tx_replay_selective(struct rnic_tx_replay *replay, uint64_t high_ps, uint64_t low_ps,
                              uint32_t low_packets)
{
    replay->selective = true;
    replay->timeout_ps = high_ps;
    replay->low_timeout_ps = low_ps;
    replay->low_packets = low_packets;
}

void rnic_tx_replay_alive(struct rnic_tx_replay *replay, uint64_t now_ps)
{
    if (!replay->rnr_wait && replay->deadline_ps != WIRE_NEVER)
        replay->deadline_ps = replay_deadline_ps(replay, now_ps);
}

void rnic_tx_replay_resent(struct rnic_tx_replay *replay, uint64_t now_ps)
{
    WIRE_ASSERT(replay->selective && !replay->rnr_wait);
    if (replay->deadline_ps == WIRE_NEVER)
        replay->deadline_ps = replay_deadline_ps(replay, now_ps);
}

/* Everything before `psn` is acknowledged; true when that is news. */
static bool replay_advance(struct rnic_tx_replay *replay, wire_psn psn, uint64_t now_ps)
{
    if (wire_psn_diff(psn, replay->psn_una) <= 0)
        return false;
    replay->psn_una = psn;
    if (wire_psn_diff(psn, replay->psn_next) > 0)
        replay->psn_next = psn; /* it had arrived before the replay reached it */
    replay->nak_seen = false;
    replay->retry_left = replay->retry_max; /* progress earns the retries back */
    replay->rnr_left = replay->rnr_max;
    replay_rearm(replay, now_ps);
    return true;
}

bool rnic_tx_replay_refusable(const struct rnic_tx_replay *replay, wire_psn psn)
{
    return wire_psn_diff(psn, replay->psn_una) >= 0 && wire_psn_diff(psn, replay->psn_sent) < 0;
}

void rnic_tx_replay_read_sent(struct rnic_tx_replay *replay, wire_psn psn)
{
    if (replay->reads++ == 0)
        replay->psn_read = psn;
}

/* Send again from psn_una; the timer waits for the first of it. */
static void replay_go_back(struct rnic_tx_replay *replay)
{
    if (!replay->selective)
        replay->psn_next = replay->psn_una;
    replay->deadline_ps = WIRE_NEVER;
}

enum rnic_tx_replay_verdict rnic_tx_replay_lost(struct rnic_tx_replay *replay)
{
    if (replay->rnr_wait || replay->nak_seen)
        return RNIC_TX_REPLAY_NOTHING;
    if (!replay->patient && replay->retry_left == 0)
        return RNIC_TX_REPLAY_RETRY_EXC;
    if (!replay->patient) {
        replay->retry_left--;
        replay->nak_seen = true;
    }
    replay_go_back(replay);
    replay_check(replay);
    return RNIC_TX_REPLAY_RESEND;
}

/* All before psn_read is acknowledged, and its response was lost. */
static enum rnic_tx_replay_verdict replay_implied_nak(struct rnic_tx_replay *replay,
                                                      uint64_t now_ps)
{
    (void)replay_advance(replay, replay->psn_read, now_ps);
    return rnic_tx_replay_lost(replay);
}

void rnic_tx_replay_read_done(struct rnic_tx_replay *replay, bool ends, wire_psn next,
                              uint64_t now_ps)
{
    wire_psn una = wire_psn_add(replay->psn_read, 1);

    WIRE_ASSERT(replay->reads > 0 && replay->psn_una.v == replay->psn_read.v);
    if (!ends)
        replay->psn_read = una;
    else if (--replay->reads > 0)
        replay->psn_read = next;
    (void)replay_advance(replay, una, now_ps);
    replay_check(replay);
}

enum rnic_tx_replay_response rnic_tx_replay_response(struct rnic_tx_replay *replay, wire_psn psn,
                                                     uint64_t now_ps)
{
    if (!rnic_tx_replay_refusable(replay, psn))
        return RNIC_TX_REPLAY_STALE;
    if (replay->reads == 0 || wire_psn_diff(psn, replay->psn_read) < 0)
        return RNIC_TX_REPLAY_UNASKED;
    if (psn.v != replay->psn_read.v)
        return RNIC_TX_REPLAY_GAP;
    (void)replay_advance(replay, psn, now_ps);
    return RNIC_TX_REPLAY_EXPECTED;
}

enum rnic_tx_replay_verdict rnic_tx_replay_ack(struct rnic_tx_replay *replay, wire_psn psn,
                                               uint64_t now_ps)
{
    wire_psn una = wire_psn_add(psn, 1);

    if (wire_psn_diff(una, replay->psn_sent) > 0)
        return RNIC_TX_REPLAY_NOTHING; /* ghost: acknowledges what we never sent */
    if (rnic_tx_replay_owed(replay, una))
        return replay_implied_nak(replay, now_ps);
    if (!replay_advance(replay, una, now_ps))
        return RNIC_TX_REPLAY_NOTHING; /* stale */
    replay_check(replay);
    return RNIC_TX_REPLAY_PROGRESS;
}

enum rnic_tx_replay_verdict rnic_tx_replay_nak(struct rnic_tx_replay *replay, wire_psn psn,
                                               uint64_t now_ps)
{
    WIRE_ASSERT(rnic_tx_replay_refusable(replay, psn));
    if (rnic_tx_replay_owed(replay, psn))
        return replay_implied_nak(replay, now_ps);
    (void)replay_advance(replay, psn, now_ps);
    return rnic_tx_replay_lost(replay);
}

enum rnic_tx_replay_verdict rnic_tx_replay_rnr(struct rnic_tx_replay *replay, wire_psn psn,
                                               uint8_t code, uint64_t now_ps)
{
    WIRE_ASSERT(rnic_tx_replay_refusable(replay, psn));
    if (rnic_tx_replay_owed(replay, psn))
        return replay_implied_nak(replay, now_ps); /* the READ again, then this one */
    (void)replay_advance(replay, psn, now_ps);
    if (replay->rnr_wait)
        return RNIC_TX_REPLAY_NOTHING; /* repeated: the wait already runs */
    if (replay->rnr_left == 0)
        return RNIC_TX_REPLAY_RNR_EXC;
    if (replay->rnr_max != REPLAY_RNR_INFINITE)
        replay->rnr_left--;
    replay->nak_seen = false;
    replay_go_back(replay);
    replay->rnr_wait = true;
    replay->deadline_ps = now_ps + rnic_tx_replay_rnr_ps(code);
    replay_check(replay);
    return RNIC_TX_REPLAY_WAIT;
}

enum rnic_tx_replay_verdict rnic_tx_replay_expired(struct rnic_tx_replay *replay, uint64_t now_ps)
{
    WIRE_ASSERT(replay->deadline_ps <= now_ps);
    if (replay->selective && !replay->rnr_wait) {
        replay->deadline_ps = replay_runs_out(replay, replay->armed_ps);
        if (replay->deadline_ps > now_ps)
            return RNIC_TX_REPLAY_NOTHING;
    }
    if (!replay->rnr_wait) { /* an RNR wait costs no retry */
        if (replay->retry_left == 0)
            return RNIC_TX_REPLAY_RETRY_EXC;
        replay->retry_left--;
    }
    replay->rnr_wait = false;
    replay->nak_seen = false;
    replay_go_back(replay);
    replay_check(replay);
    return RNIC_TX_REPLAY_RESEND;
}
