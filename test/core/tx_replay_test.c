/* SPDX-License-Identifier: GPL-2.0-only */
/* The replay buffer: it starts two short of the wrap, and sees every value a peer can forge. */
#include "check.h"
#include "rnic_tx_replay.h"

#define PSN 0xFFFFFEu
#define T_PS ((uint64_t)4096000 << 14)

static struct rnic_tx_replay begin(uint32_t sent)
{
    struct rnic_tx_replay r;

    rnic_tx_replay_init(&r, (wire_psn){PSN}, 14, 7, 3);
    for (uint32_t i = 0; i < sent; i++)
        CHECK(!rnic_tx_replay_record(&r, 1, 1000 + i));
    return r;
}

static wire_psn at(uint32_t offset)
{
    return wire_psn_add((wire_psn){PSN}, offset);
}

static void the_timer_runs_from_the_oldest_one(void)
{
    struct rnic_tx_replay r = begin(0);

    CHECK_EQ(r.deadline_ps, WIRE_NEVER);
    CHECK(!rnic_tx_replay_record(&r, 1, 1000));
    CHECK(!rnic_tx_replay_record(&r, 1, 2000));
    CHECK_EQ(r.deadline_ps, 1000 + T_PS);
    CHECK_EQ(rnic_tx_replay_in_flight(&r), 2);
    CHECK_EQ(rnic_tx_replay_ack(&r, at(0), 5000), RNIC_TX_REPLAY_PROGRESS);
    CHECK_EQ(r.deadline_ps, 5000 + T_PS); /* progress starts it again */
    CHECK_EQ(rnic_tx_replay_ack(&r, at(1), 6000), RNIC_TX_REPLAY_PROGRESS);
    CHECK_EQ(r.deadline_ps, WIRE_NEVER); /* off */
    CHECK_EQ(rnic_tx_replay_in_flight(&r), 0);
    CHECK(!rnic_tx_replay_record(&r, 1, 9000));
    CHECK_EQ(r.deadline_ps, 9000 + T_PS);
}

/* All 2^24 acknowledges against a plain rule: news is what lies in [una, sent). */
static void every_acknowledge_there_is(void)
{
    for (uint32_t offset = 0; offset <= WIRE_PSN_MASK; offset++) {
        struct rnic_tx_replay r = begin(4);
        enum rnic_tx_replay_verdict verdict = rnic_tx_replay_ack(&r, at(offset), 2000);

        if (offset < 4) {
            CHECK_EQ(verdict, RNIC_TX_REPLAY_PROGRESS);
            CHECK_EQ(r.psn_una.v, at(offset + 1).v);
        } else {
            CHECK_EQ(verdict, RNIC_TX_REPLAY_NOTHING);
            CHECK_EQ(r.psn_una.v, PSN);
            CHECK_EQ(r.deadline_ps, 1000 + T_PS);
        }
        CHECK_EQ(r.psn_next.v, at(4).v);
    }
}

static void every_refusal_there_is(void)
{
    struct rnic_tx_replay r = begin(4);

    (void)rnic_tx_replay_ack(&r, at(0), 2000);
    for (uint32_t offset = 0; offset <= WIRE_PSN_MASK; offset++)
        CHECK_EQ(rnic_tx_replay_refusable(&r, at(offset)), offset >= 1 && offset < 4);
}

static void a_nak_goes_back_to_its_psn_once(void)
{
    struct rnic_tx_replay r = begin(6);

    CHECK_EQ(rnic_tx_replay_nak(&r, at(2), 3000), RNIC_TX_REPLAY_RESEND);
    CHECK_EQ(r.psn_una.v, at(2).v); /* it acknowledges what lies before */
    CHECK_EQ(r.psn_next.v, at(2).v);
    CHECK_EQ(r.psn_sent.v, at(6).v);
    CHECK_EQ(r.retry_left, 6);
    CHECK_EQ(r.deadline_ps, WIRE_NEVER);
    CHECK_EQ(rnic_tx_replay_nak(&r, at(2), 3000), RNIC_TX_REPLAY_NOTHING);
    CHECK(rnic_tx_replay_record(&r, 1, 4000)); /* a retransmission */
    CHECK_EQ(r.deadline_ps, 4000 + T_PS);
    CHECK_EQ(rnic_tx_replay_nak(&r, at(2), 4500), RNIC_TX_REPLAY_NOTHING);
    CHECK_EQ(r.retry_left, 6);
    CHECK_EQ(rnic_tx_replay_nak(&r, at(3), 5000), RNIC_TX_REPLAY_RESEND); /* progress, new loss */
    CHECK_EQ(r.retry_left, 6);
    CHECK_EQ(r.psn_next.v, at(3).v);
}

/* An acknowledge of what was sent before reaches beyond the replay's cursor. */
static void an_acknowledge_moves_the_cursor_of_a_replay(void)
{
    struct rnic_tx_replay r = begin(6);

    CHECK_EQ(rnic_tx_replay_nak(&r, at(1), 3000), RNIC_TX_REPLAY_RESEND);
    CHECK(rnic_tx_replay_record(&r, 1, 3000));
    CHECK_EQ(rnic_tx_replay_ack(&r, at(4), 3500), RNIC_TX_REPLAY_PROGRESS);
    CHECK_EQ(r.psn_next.v, at(5).v);
    CHECK_EQ(r.deadline_ps, WIRE_NEVER); /* nothing is in flight, one is to be sent again */
    CHECK(rnic_tx_replay_record(&r, 1, 4000));
    CHECK(!rnic_tx_replay_record(&r, 1, 4000)); /* and this one is new */
}

static void timeouts_use_up_the_retries(void)
{
    struct rnic_tx_replay r = begin(2);
    uint64_t now_ps = r.deadline_ps;

    for (uint32_t i = 0; i < 7; i++) {
        CHECK_EQ(rnic_tx_replay_expired(&r, now_ps), RNIC_TX_REPLAY_RESEND);
        CHECK_EQ(r.psn_next.v, PSN);
        CHECK_EQ(r.deadline_ps, WIRE_NEVER);
        CHECK(rnic_tx_replay_record(&r, 1, now_ps));
        now_ps = r.deadline_ps;
    }
    CHECK_EQ(rnic_tx_replay_expired(&r, now_ps), RNIC_TX_REPLAY_RETRY_EXC);
    r = begin(2);
    (void)rnic_tx_replay_expired(&r, r.deadline_ps);
    CHECK(rnic_tx_replay_record(&r, 1, 5000));
    CHECK_EQ(r.retry_left, 6);
    CHECK_EQ(rnic_tx_replay_ack(&r, at(0), 5500), RNIC_TX_REPLAY_PROGRESS);
    CHECK_EQ(r.retry_left, 7);
}

static void a_nak_without_retries_left_ends_it(void)
{
    struct rnic_tx_replay r;

    rnic_tx_replay_init(&r, at(0), 14, 0, 0);
    (void)rnic_tx_replay_record(&r, 1, 0);
    CHECK_EQ(rnic_tx_replay_nak(&r, at(0), 1), RNIC_TX_REPLAY_RETRY_EXC);
    CHECK_EQ(rnic_tx_replay_rnr(&r, at(0), 12, 1), RNIC_TX_REPLAY_RNR_EXC);
}

/* IBTA table 45, in units of 10 us. */
static void the_rnr_timer_codes(void)
{
    static const double ms[32] = {655.36, 0.01,  0.02,  0.03,   0.04,   0.06,   0.08,   0.12,
                                  0.16,   0.24,  0.32,  0.48,   0.64,   0.96,   1.28,   1.92,
                                  2.56,   3.84,  5.12,  7.68,   10.24,  15.36,  20.48,  30.72,
                                  40.96,  61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52};

    for (uint8_t code = 0; code < 32; code++)
        CHECK_NEAR((double)rnic_tx_replay_rnr_ps(code), ms[code] * 1e9, 0.5);
}

static void the_rnr_wait_has_no_retry_and_ignores_repeats(void)
{
    struct rnic_tx_replay r = begin(4);

    CHECK_EQ(rnic_tx_replay_rnr(&r, at(1), 12, 2000), RNIC_TX_REPLAY_WAIT);
    CHECK(r.rnr_wait);
    CHECK_EQ(r.deadline_ps, 2000 + 640000000);
    CHECK_EQ(r.psn_una.v, at(1).v);
    CHECK_EQ(r.rnr_left, 2);
    CHECK_EQ(rnic_tx_replay_rnr(&r, at(1), 12, 3000), RNIC_TX_REPLAY_NOTHING);
    CHECK_EQ(rnic_tx_replay_nak(&r, at(1), 3000), RNIC_TX_REPLAY_NOTHING);
    CHECK_EQ(r.deadline_ps, 2000 + 640000000);
    CHECK_EQ(rnic_tx_replay_expired(&r, r.deadline_ps), RNIC_TX_REPLAY_RESEND);
    CHECK(!r.rnr_wait);
    CHECK_EQ(r.retry_left, 7);
    CHECK(rnic_tx_replay_record(&r, 1, 700000000));
}

static void rnr_retry_7_is_without_end(void)
{
    struct rnic_tx_replay r;

    rnic_tx_replay_init(&r, at(0), 14, 7, 7);
    for (uint32_t i = 0; i < 1000; i++) {
        (void)rnic_tx_replay_record(&r, 1, 0);
        CHECK_EQ(rnic_tx_replay_rnr(&r, at(0), 1, 0), RNIC_TX_REPLAY_WAIT);
        CHECK_EQ(rnic_tx_replay_expired(&r, r.deadline_ps), RNIC_TX_REPLAY_RESEND);
    }
}

static void exponents_of_the_timeout(void)
{
    struct rnic_tx_replay r;

    for (uint8_t t = 1; t < 32; t++) {
        rnic_tx_replay_init(&r, at(0), t, 7, 7);
        (void)rnic_tx_replay_record(&r, 1, 5);
        CHECK_EQ(r.deadline_ps, 5 + 4096000 * ((uint64_t)1 << t));
    }
    rnic_tx_replay_init(&r, at(0), 0, 7, 7);
    (void)rnic_tx_replay_record(&r, 1, 5);
    CHECK_EQ(r.deadline_ps, WIRE_NEVER);
}

/* WRITE 5, READ 6..9, WRITE 10 on their way. */
static struct rnic_tx_replay with_a_read(void)
{
    struct rnic_tx_replay r;

    rnic_tx_replay_init(&r, (wire_psn){5}, 14, 7, 7);
    CHECK(!rnic_tx_replay_record(&r, 1, 0));
    rnic_tx_replay_read_sent(&r, (wire_psn){6});
    CHECK(!rnic_tx_replay_record(&r, 4, 0));
    CHECK(!rnic_tx_replay_record(&r, 1, 0));
    CHECK_EQ(rnic_tx_replay_in_flight(&r), 6);
    CHECK_EQ(r.psn_next.v, 11);
    return r;
}

static void a_read_is_acknowledged_by_its_responses_alone(void)
{
    struct rnic_tx_replay r = with_a_read();

    CHECK_EQ(rnic_tx_replay_response(&r, (wire_psn){5}, 1), RNIC_TX_REPLAY_UNASKED);
    CHECK_EQ(rnic_tx_replay_response(&r, (wire_psn){11}, 1), RNIC_TX_REPLAY_STALE);
    CHECK_EQ(rnic_tx_replay_response(&r, (wire_psn){7}, 1), RNIC_TX_REPLAY_GAP);
    CHECK_EQ(r.psn_una.v, 5);
    CHECK_EQ(rnic_tx_replay_response(&r, (wire_psn){6}, 1), RNIC_TX_REPLAY_EXPECTED);
    CHECK_EQ(r.psn_una.v, 6); /* the WRITE before it is acknowledged with it */
    for (uint32_t psn = 6; psn < 10; psn++)
        rnic_tx_replay_read_done(&r, psn == 9, r.psn_read, 2);
    CHECK_EQ(r.reads, 0);
    CHECK_EQ(r.psn_una.v, 10);
    CHECK_EQ(rnic_tx_replay_ack(&r, (wire_psn){10}, 3), RNIC_TX_REPLAY_PROGRESS);
    CHECK(r.deadline_ps == WIRE_NEVER);
}

static void an_answer_behind_a_missing_one_is_an_implied_nak_once(void)
{
    struct rnic_tx_replay r = with_a_read();

    CHECK_EQ(rnic_tx_replay_ack(&r, (wire_psn){10}, 1), RNIC_TX_REPLAY_RESEND);
    CHECK_EQ(r.psn_una.v, 6);
    CHECK_EQ(r.psn_next.v, 6);
    CHECK_EQ(r.retry_left, 6);
    CHECK_EQ(rnic_tx_replay_ack(&r, (wire_psn){10}, 2), RNIC_TX_REPLAY_NOTHING);
    CHECK_EQ(r.retry_left, 6);
    CHECK(rnic_tx_replay_record(&r, 4, 3)); /* the READ again */
    CHECK_EQ(rnic_tx_replay_response(&r, (wire_psn){6}, 4), RNIC_TX_REPLAY_EXPECTED);
    rnic_tx_replay_read_done(&r, false, r.psn_read, 4);
    CHECK_EQ(r.retry_left, 7); /* progress gives them back */
    CHECK_EQ(rnic_tx_replay_ack(&r, (wire_psn){10}, 5), RNIC_TX_REPLAY_RESEND);
    CHECK_EQ(r.psn_next.v, 7);
}

static void a_refusal_behind_a_missing_answer_waits_for_it(void)
{
    struct rnic_tx_replay r = with_a_read();

    CHECK(rnic_tx_replay_owed(&r, (wire_psn){10}));
    CHECK(!rnic_tx_replay_owed(&r, (wire_psn){6}));
    CHECK_EQ(rnic_tx_replay_rnr(&r, (wire_psn){10}, 1, 1), RNIC_TX_REPLAY_RESEND);
    CHECK(!r.rnr_wait);
    CHECK_EQ(r.psn_next.v, 6);
    r = with_a_read();
    CHECK_EQ(rnic_tx_replay_nak(&r, (wire_psn){10}, 1), RNIC_TX_REPLAY_RESEND);
    CHECK_EQ(r.psn_una.v, 6);
    r.retry_left = 0;
    r.nak_seen = false;
    CHECK_EQ(rnic_tx_replay_ack(&r, (wire_psn){10}, 2), RNIC_TX_REPLAY_RETRY_EXC);
}

static void two_reads_wait_one_after_the_other(void)
{
    struct rnic_tx_replay r;

    rnic_tx_replay_init(&r, (wire_psn){0xFFFFFF}, 14, 7, 7);
    for (uint32_t i = 0; i < 2; i++) {
        rnic_tx_replay_read_sent(&r, r.psn_next);
        CHECK(!rnic_tx_replay_record(&r, 1, 0));
    }
    CHECK_EQ(r.reads, 2);
    CHECK_EQ(r.psn_read.v, 0xFFFFFF);
    CHECK_EQ(rnic_tx_replay_response(&r, (wire_psn){0}, 1), RNIC_TX_REPLAY_GAP);
    CHECK_EQ(rnic_tx_replay_response(&r, (wire_psn){0xFFFFFF}, 1), RNIC_TX_REPLAY_EXPECTED);
    rnic_tx_replay_read_done(&r, true, (wire_psn){0}, 1);
    CHECK_EQ(r.reads, 1);
    CHECK_EQ(rnic_tx_replay_response(&r, (wire_psn){0}, 1), RNIC_TX_REPLAY_EXPECTED);
    rnic_tx_replay_read_done(&r, true, r.psn_read, 1);
    CHECK_EQ(r.reads, 0);
    CHECK(r.deadline_ps == WIRE_NEVER);
}

static void selective_repeat_keeps_its_place_and_its_timeouts(void)
{
    struct rnic_tx_replay r;

    rnic_tx_replay_init(&r, (wire_psn){0}, 14, 7, 7);
    rnic_tx_replay_selective(&r, 320000000, 100000000, 3);
    CHECK(!rnic_tx_replay_record(&r, 1, 10));
    CHECK_EQ(r.deadline_ps, 100000010); /* few in flight */
    for (uint32_t i = 0; i < 9; i++)
        CHECK(!rnic_tx_replay_record(&r, 1, 20));
    CHECK_EQ(rnic_tx_replay_ack(&r, (wire_psn){1}, 30), RNIC_TX_REPLAY_PROGRESS);
    CHECK_EQ(r.deadline_ps, 320000030); /* eight */
    CHECK_EQ(rnic_tx_replay_expired(&r, 320000030), RNIC_TX_REPLAY_RESEND);
    CHECK_EQ(r.psn_next.v, 10); /* nothing is taken back */
    CHECK(r.deadline_ps == WIRE_NEVER);
    rnic_tx_replay_resent(&r, 400000000);
    CHECK_EQ(r.deadline_ps, 720000000);
    CHECK_EQ(rnic_tx_replay_ack(&r, (wire_psn){7}, 500000000), RNIC_TX_REPLAY_PROGRESS);
    CHECK_EQ(r.deadline_ps, 600000000);
}

/* Few were in flight when the timer started, many when it runs out: it goes on to the long one. */
static void the_long_timer_counts_from_the_same_start(void)
{
    struct rnic_tx_replay r = begin(0);

    rnic_tx_replay_selective(&r, 320000000, 100000000, 3);
    for (uint32_t i = 0; i < 5; i++)
        CHECK(!rnic_tx_replay_record(&r, 1, 7000000 + i));
    CHECK_EQ(r.deadline_ps, 107000000);
    CHECK_EQ(rnic_tx_replay_expired(&r, 107000000), RNIC_TX_REPLAY_NOTHING);
    CHECK_EQ(r.deadline_ps, 327000000);
    CHECK_EQ(rnic_tx_replay_expired(&r, 327000000), RNIC_TX_REPLAY_RESEND);
}

CHECK_SUITE(tx_replay, CHECK_CASE(the_timer_runs_from_the_oldest_one),
            CHECK_CASE(every_acknowledge_there_is), CHECK_CASE(every_refusal_there_is),
            CHECK_CASE(a_nak_goes_back_to_its_psn_once),
            CHECK_CASE(an_acknowledge_moves_the_cursor_of_a_replay),
            CHECK_CASE(timeouts_use_up_the_retries), CHECK_CASE(a_nak_without_retries_left_ends_it),
            CHECK_CASE(the_rnr_timer_codes),
            CHECK_CASE(the_rnr_wait_has_no_retry_and_ignores_repeats),
            CHECK_CASE(rnr_retry_7_is_without_end), CHECK_CASE(exponents_of_the_timeout),
            CHECK_CASE(a_read_is_acknowledged_by_its_responses_alone),
            CHECK_CASE(an_answer_behind_a_missing_one_is_an_implied_nak_once),
            CHECK_CASE(a_refusal_behind_a_missing_answer_waits_for_it),
            CHECK_CASE(two_reads_wait_one_after_the_other),
            CHECK_CASE(selective_repeat_keeps_its_place_and_its_timeouts),
            CHECK_CASE(the_long_timer_counts_from_the_same_start))
