/* SPDX-License-Identifier: GPL-2.0-only */
/* Receiver not ready: the wait, what is sent again, the limits. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

#define WAIT_12_PS 640000000u /* code 12: 0.64 ms */

static void open_bench(uint8_t rnr_retry, uint8_t timeout)
{
    struct card_options options = card_options_ideal();

    options.params.rnr_retry = rnr_retry;
    options.params.timeout = timeout;
    options.params.min_rnr_timer = 12;
    options.delay_ps = 2000000;
    card_bench_open(&bench, 2, &options);
    card_fill(a->bytes, a->n_bytes, 1);
}

static uint32_t psn_offset(const struct wire_frame *frame)
{
    return (frame->psn.v - bench.options.psn) & WIRE_PSN_MASK;
}

/* All packets behind the refused one are sent again, in order. */
static void everything_behind_the_refused_send_is_sent_again(void)
{
    static const uint32_t psns[] = {0, 1, 2, 3, 0, 1, 2, 3};

    open_bench(7, 14);
    for (uint64_t i = 0; i < 4; i++)
        card_send(a, i, 100 * i, 100);
    card_bench_run(&bench, WAIT_12_PS / 2);
    CHECK_EQ(card_log_count(&bench, a->station, true), 4);
    CHECK_EQ(card_log_count(&bench, b->station, false), 1);
    CHECK_EQ(card_log_at(&bench, b->station, false, 0)->frame.syndrome, 0x20 | 12);
    CHECK_EQ(psn_offset(&card_log_at(&bench, b->station, false, 0)->frame), 0);
    CHECK_EQ(rnic_query_counters(b->dev)->drops[WIRE_DROP_RNR_WAIT], 4);
    for (uint64_t i = 0; i < 4; i++)
        card_recv(b, 10 + i, 1000 * i, 100);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(card_log_count(&bench, a->station, true), 8);
    for (size_t i = 0; i < 8; i++)
        CHECK_EQ(psn_offset(&card_log_at(&bench, a->station, true, i)->frame), psns[i]);
    for (uint64_t i = 0; i < 4; i++) {
        card_expect(b, b->recv_cq, 10 + i, RNIC_WC_SUCCESS);
        card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
        CHECK_BYTES(b->bytes + 1000 * i, a->bytes + 100 * i, 100);
    }
    CHECK_EQ(card_counters(a, a->qpn).rnr_naks_rx, 1);
    CHECK_EQ(card_counters(b, b->qpn).rnr_naks_tx, 1);
    CHECK_EQ(card_counters(a, a->qpn).timeouts, 0);
    card_bench_close(&bench);
}

/* The RNR wait wins over the retry timer (65.5 us here). */
static void nothing_is_sent_before_the_wait_is_over(void)
{
    uint64_t first_ps, again_ps;

    open_bench(7, 4);
    card_send(a, 1, 0, 100);
    card_bench_run(&bench, WAIT_12_PS / 2);
    card_recv(b, 1, 0, 100);
    card_send(a, 2, 0, 100); /* posted in the wait: waits too */
    card_bench_run(&bench, WAIT_12_PS - 1);
    CHECK_EQ(card_log_count(&bench, a->station, true), 1);
    card_recv(b, 2, 0, 100);
    card_bench_run(&bench, WIRE_NEVER);
    first_ps = card_log_at(&bench, a->station, true, 0)->left_ps;
    again_ps = card_log_at(&bench, a->station, true, 1)->left_ps;
    CHECK(again_ps - first_ps >= WAIT_12_PS);
    CHECK(again_ps - first_ps <= WAIT_12_PS + 10000000);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
    CHECK_EQ(card_counters(a, a->qpn).timeouts, 0);
    card_bench_close(&bench);
}

/* rnr_retry n: n + 1 sends, then RNR_RETRY_EXC_ERR, and no retry of the timer is used up. */
static void the_limit_ends_in_rnr_retry_exc_err(void)
{
    for (uint8_t limit = 0; limit < 7; limit++) {
        open_bench(limit, 14);
        card_send(a, 1, 0, 100);
        card_write(a, 2, 0, 0, 100);
        card_bench_run(&bench, WIRE_NEVER);
        CHECK_EQ(card_counters(b, b->qpn).rnr_naks_tx, limit + 1);
        card_expect(a, a->send_cq, 1, RNIC_WC_RNR_RETRY_EXC_ERR);
        card_expect(a, a->send_cq, 2, RNIC_WC_WR_FLUSH_ERR);
        card_expect_none(a, a->send_cq);
        CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_ERR);
        CHECK_EQ(a->events[RNIC_EVENT_QP_FATAL], 0); /* the completion tells */
        card_bench_close(&bench);
    }
}

static void rnr_retry_7_never_gives_up(void)
{
    open_bench(7, 14);
    card_send(a, 1, 0, 100);
    card_bench_run(&bench, 100 * (uint64_t)WAIT_12_PS);
    CHECK(card_counters(b, b->qpn).rnr_naks_tx >= 98);
    CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_RTS);
    card_recv(b, 1, 0, 100);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

/* A WRITE with immediate needs its receive request at the last packet only. */
static void write_imm_is_refused_at_its_last_packet(void)
{
    open_bench(7, 14);
    card_post(a, RNIC_WR_RDMA_WRITE_WITH_IMM, 1, 0, 0, 3 * 1024 + 1);
    card_bench_run(&bench, WAIT_12_PS / 2);
    CHECK_EQ(card_log_count(&bench, b->station, false), 1);
    CHECK_EQ(card_log_at(&bench, b->station, false, 0)->frame.syndrome, 0x20 | 12);
    CHECK_EQ(psn_offset(&card_log_at(&bench, b->station, false, 0)->frame), 3);
    CHECK_BYTES(b->bytes, a->bytes, 3 * 1024); /* the packets before it are placed */
    CHECK_EQ(b->bytes[3 * 1024], 0);           /* the refused one is not */
    card_recv(b, 9, 0, 0);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(card_log_count(&bench, a->station, true), 5); /* only the last one again */
    CHECK_EQ(card_expect(b, b->recv_cq, 9, RNIC_WC_SUCCESS).byte_len, 3 * 1024 + 1);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_BYTES(b->bytes, a->bytes, 3 * 1024 + 1);
    card_bench_close(&bench);
}

/* The RNR NAK acknowledges all before it. */
static void what_lies_before_the_refused_one_completes(void)
{
    open_bench(7, 14);
    card_write(a, 1, 0, 0, 2000);
    card_write(a, 2, 0, 0, 2000);
    card_send(a, 3, 0, 100);
    card_bench_run(&bench, WAIT_12_PS / 2);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
    card_expect_none(a, a->send_cq);
    CHECK_EQ(psn_offset(&card_log_at(&bench, a->station, true, 4)->frame), 4);
    card_bench_close(&bench);
}

static void progress_gives_the_rnr_retries_back(void)
{
    open_bench(1, 14);
    for (uint64_t i = 0; i < 5; i++)
        card_send(a, i, 0, 100);
    for (uint64_t i = 0; i < 5; i++) {
        card_bench_run(&bench, bench.now_ps + WAIT_12_PS / 2);
        card_recv(b, i, 0, 100);
        card_bench_run(&bench, bench.now_ps + WAIT_12_PS / 2 + 10000000);
    }
    card_bench_run(&bench, WIRE_NEVER);
    for (uint64_t i = 0; i < 5; i++)
        card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
    CHECK_EQ(card_counters(b, b->qpn).rnr_naks_tx, 5);
    card_bench_close(&bench);
}

/* Behind a request refused with RNR NAK a gap is not reported. */
static void no_sequence_nak_while_a_request_waits(void)
{
    open_bench(7, 14);
    for (uint64_t i = 0; i < 20; i++)
        card_send(a, i, 0, 2000);
    card_bench_run(&bench, WAIT_12_PS / 2);
    CHECK_EQ(card_counters(b, b->qpn).rnr_naks_tx, 1);
    CHECK_EQ(card_counters(b, b->qpn).naks_tx, 0);
    card_bench_close(&bench);
}

/* The peer's wish is its own: the code in the NAK counts, not ours. */
static void the_wait_is_what_the_nak_asks_for(void)
{
    struct card_options options = card_options_ideal();
    struct rnic_qp_attr attr = {.min_rnr_timer = 1}; /* 0.01 ms */

    options.params.min_rnr_timer = 12;
    card_bench_open(&bench, 2, &options);
    CHECK_EQ(rnic_modify_qp(b->dev, b->qpn, &attr, RNIC_QP_MIN_RNR_TIMER, 0), 0);
    card_send(a, 1, 0, 100);
    card_bench_run(&bench, 5 * 10000000);
    CHECK(card_log_count(&bench, a->station, true) >= 4);
    card_bench_close(&bench);
}

CHECK_SUITE(rc_rnr, CHECK_CASE(everything_behind_the_refused_send_is_sent_again),
            CHECK_CASE(nothing_is_sent_before_the_wait_is_over),
            CHECK_CASE(the_limit_ends_in_rnr_retry_exc_err), CHECK_CASE(rnr_retry_7_never_gives_up),
            CHECK_CASE(write_imm_is_refused_at_its_last_packet),
            CHECK_CASE(what_lies_before_the_refused_one_completes),
            CHECK_CASE(progress_gives_the_rnr_retries_back),
            CHECK_CASE(no_sequence_nak_while_a_request_waits),
            CHECK_CASE(the_wait_is_what_the_nak_asks_for))
