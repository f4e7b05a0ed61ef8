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
    if (replay->psn_sent.v == replay->psn_una.v)
        WIRE_ASSERT(replay->deadline_ps == WIRE_NEVER);
}

static void replay_rearm(struct rnic_tx_replay *replay, uint64_t now_ps)
{
    bool idle = replay->psn_next.v == replay->psn_una.v;

    replay->rnr_wait = false;
    replay->deadline_ps =
        idle || replay->timeout_ps == 0 ? WIRE_NEVER : now_ps + replay->timeout_ps;
}

void rnic_tx_replay_init(struct rnic_tx_replay *replay, wire_psn psn, uint8_t timeout,
                         uint8_t retry_cnt, uint8_t rnr_retry)
{
    WIRE_ASSERT(timeout < 32 && retry_cnt < 8 && rnr_retry < 8);
    *replay = (struct rnic_tx_replay){
        .psn_una = psn,
        .psn_next = psn,
        .psn_sent = psn,
        .retry_max = retry_cnt,
        .retry_left = retry_cnt,
        .rnr_max = rnr_retry,
        .rnr_left = rnr_retry,
        .timeout_ps = timeout == 0 ? 0 : (uint64_t)REPLAY_TIMEOUT_UNIT_PS << timeout,
        .deadline_ps = WIRE_NEVER,
    };
}

uint64_t rnic_tx_replay_rnr_ps(uint8_t code)
{
    static const uint32_t units_10us[32] = {65536, 1,    2,    3,     4,     6,     8,     12,
                                            16,    24,   32,   48,    64,    96,    128,   192,
                                            256,   384,  512,  768,   1024,  1536,  2048,  3072,
                                            4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

    return units_10us[code & 31] * (uint64_t)10000000;
}

bool rnic_tx_replay_record(struct rnic_tx_replay *replay, uint64_t now_ps)
{
    bool again = wire_psn_diff(replay->psn_sent, replay->psn_next) > 0;

    WIRE_ASSERT(!replay->rnr_wait);
    replay->psn_next = wire_psn_add(replay->psn_next, 1);
    if (!again)
        replay->psn_sent = replay->psn_next;
    if (replay->deadline_ps == WIRE_NEVER && replay->timeout_ps != 0)
        replay->deadline_ps = now_ps + replay->timeout_ps;
    replay_check(replay);
    return again;
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

enum rnic_tx_replay_verdict rnic_tx_replay_ack(struct rnic_tx_replay *replay, wire_psn psn,
                                               uint64_t now_ps)
{
    wire_psn una = wire_psn_add(psn, 1);

    if (wire_psn_diff(una, replay->psn_sent) > 0)
        return RNIC_TX_REPLAY_NOTHING; /* ghost: acknowledges what we never sent */
    if (!replay_advance(replay, una, now_ps))
        return RNIC_TX_REPLAY_NOTHING; /* stale */
    replay_check(replay);
    return RNIC_TX_REPLAY_PROGRESS;
}

bool rnic_tx_replay_refusable(const struct rnic_tx_replay *replay, wire_psn psn)
{
    return wire_psn_diff(psn, replay->psn_una) >= 0 && wire_psn_diff(psn, replay->psn_sent) < 0;
}

enum rnic_tx_replay_verdict rnic_tx_replay_nak(struct rnic_tx_replay *replay, wire_psn psn,
                                               uint64_t now_ps)
{
    WIRE_ASSERT(rnic_tx_replay_refusable(replay, psn));
    (void)replay_advance(replay, psn, now_ps);
    if (replay->rnr_wait || (replay->nak_seen && replay->nak_psn.v == psn.v))
        return RNIC_TX_REPLAY_NOTHING;
    if (replay->retry_left == 0)
        return RNIC_TX_REPLAY_RETRY_EXC;
    replay->retry_left--;
    replay->nak_seen = true;
    replay->nak_psn = psn;
    replay->psn_next = replay->psn_una;
    replay->deadline_ps = WIRE_NEVER; /* nothing in flight until the first is sent again */
    replay_check(replay);
    return RNIC_TX_REPLAY_RESEND;
}

enum rnic_tx_replay_verdict rnic_tx_replay_rnr(struct rnic_tx_replay *replay, wire_psn psn,
                                               uint8_t code, uint64_t now_ps)
{
    WIRE_ASSERT(rnic_tx_replay_refusable(replay, psn));
    (void)replay_advance(replay, psn, now_ps);
    if (replay->rnr_wait)
        return RNIC_TX_REPLAY_NOTHING; /* repeated: the wait already runs */
    if (replay->rnr_left == 0)
        return RNIC_TX_REPLAY_RNR_EXC;
    if (replay->rnr_max != REPLAY_RNR_INFINITE)
        replay->rnr_left--;
    replay->nak_seen = false;
    replay->psn_next = replay->psn_una;
    replay->rnr_wait = true;
    replay->deadline_ps = now_ps + rnic_tx_replay_rnr_ps(code);
    replay_check(replay);
    return RNIC_TX_REPLAY_WAIT;
}

enum rnic_tx_replay_verdict rnic_tx_replay_expired(struct rnic_tx_replay *replay, uint64_t now_ps)
{
    WIRE_ASSERT(replay->deadline_ps <= now_ps);
    if (!replay->rnr_wait) { /* an RNR wait costs no retry */
        if (replay->retry_left == 0)
            return RNIC_TX_REPLAY_RETRY_EXC;
        replay->retry_left--;
    }
    replay->rnr_wait = false;
    replay->nak_seen = false;
    replay->psn_next = replay->psn_una;
    replay->deadline_ps = WIRE_NEVER;
    replay_check(replay);
    return RNIC_TX_REPLAY_RESEND;
}
