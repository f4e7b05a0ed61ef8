/* SPDX-License-Identifier: GPL-2.0-only */
/* SQD with something still going on: who is told, what may change, what may be posted. */
#include "card.h"
#include "rnic_internal.h"

#define US 1000000u

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static void open_bench(enum rnic_recovery recovery, uint8_t rd_atomic)
{
    struct card_options options = card_options_ideal();

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = rd_atomic;
    options.recovery = recovery;
    options.window_bytes = recovery == RNIC_RECOVER_SELECTIVE ? 64 * 1024 : 0;
    card_bench_open(&bench, 2, &options);
}

static int modify(struct card *card, enum rnic_qp_state state, struct rnic_qp_attr attr,
                  unsigned mask)
{
    attr.qp_state = state;
    return rnic_modify_qp(card->dev, card->qpn, &attr, RNIC_QP_STATE | mask, bench.now_ps);
}

static struct rnic_tx_replay *replay_of(const struct card *card)
{
    return &rnic_table_qp_find(&card->dev->qps, card->qpn)->replay;
}

/* Back in RTS before the last acknowledge: nothing was drained, and nobody is told. */
static void a_drain_that_is_called_off_is_not_told(void)
{
    struct wire_frame ack;

    open_bench(RNIC_RECOVER_GO_BACK_N, 0);
    b->ready_classes = 0; /* no acknowledge */
    card_write(a, 1, 0, 0, 100);
    card_bench_run(&bench, US);
    CHECK_EQ(modify(a, RNIC_QPS_SQD, (struct rnic_qp_attr){.en_sqd_async_notify = true},
                    RNIC_QP_EN_SQD_ASYNC_NOTIFY),
             0);
    CHECK_EQ(modify(a, RNIC_QPS_RTS, (struct rnic_qp_attr){0}, 0), 0);
    ack = card_ack(a, bench.options.psn, 0x1F, 1);
    CHECK_EQ(card_deliver(&bench, a, &ack), WIRE_DROP_NONE);
    card_bench_run(&bench, 2 * US);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_EQ(a->events[RNIC_EVENT_SQ_DRAINED], 0);
    card_bench_close(&bench);
}

static enum card_tap_verdict drop_the_first(struct card_bench *on, struct card_flight *flight)
{
    return flight->from == a && on->scratch[0]++ == 0 ? CARD_DROP : CARD_PASS;
}

/* All was sent, and a lost packet stands in line behind a pause: it was started, so it goes on. */
static void a_lost_packet_in_line_is_sent_all_the_same(void)
{
    open_bench(RNIC_RECOVER_SELECTIVE, 0);
    bench.tap = drop_the_first;
    card_write(a, 1, 0, 0, 100);
    card_bench_run(&bench, US);
    a->ready_classes = 0;
    card_bench_run(&bench, 400 * US);
    CHECK_EQ(card_counters(a, a->qpn).timeouts, 1);
    CHECK_EQ(modify(a, RNIC_QPS_SQD, (struct rnic_qp_attr){.en_sqd_async_notify = true},
                    RNIC_QP_EN_SQD_ASYNC_NOTIFY),
             0);
    a->ready_classes = 0xFF;
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_EQ(a->events[RNIC_EVENT_SQ_DRAINED], 1);
    card_bench_close(&bench);
}

/* ---- retry timer and counters ---- */

static void the_timer_runs_anew_where_it_runs(void)
{
    open_bench(RNIC_RECOVER_GO_BACK_N, 0);
    CHECK_EQ(modify(a, RNIC_QPS_SQD, (struct rnic_qp_attr){0}, 0), 0);
    CHECK_EQ(modify(a, RNIC_QPS_SQD, (struct rnic_qp_attr){.timeout = 3}, RNIC_QP_TIMEOUT), 0);
    CHECK_EQ(replay_of(a)->timeout_ps, 8 * 4096000u);
    CHECK_EQ(replay_of(a)->deadline_ps, WIRE_NEVER); /* nothing in flight */
    CHECK_EQ(modify(a, RNIC_QPS_RTS, (struct rnic_qp_attr){0}, 0), 0);
    b->ready_classes = 0;
    card_write(a, 1, 0, 0, 100);
    card_bench_run(&bench, US);
    CHECK_EQ(modify(a, RNIC_QPS_SQD, (struct rnic_qp_attr){0}, 0), 0);
    CHECK_EQ(modify(a, RNIC_QPS_SQD, (struct rnic_qp_attr){.timeout = 4}, RNIC_QP_TIMEOUT), 0);
    CHECK_EQ(replay_of(a)->deadline_ps, US + 16 * 4096000u);
    CHECK_EQ(modify(a, RNIC_QPS_SQD, (struct rnic_qp_attr){.timeout = 0}, RNIC_QP_TIMEOUT), 0);
    CHECK_EQ(replay_of(a)->deadline_ps, WIRE_NEVER); /* 0: for ever */
    card_bench_run(&bench, 1000000 * (uint64_t)US);
    CHECK_EQ(card_counters(a, a->qpn).timeouts, 0);
    b->ready_classes = 0xFF;
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

/* The wait that an RNR NAK asked for is the peer's, not the timer's. */
static void a_receiver_not_ready_is_waited_for_all_the_same(void)
{
    struct wire_frame nak;
    uint64_t until_ps;

    open_bench(RNIC_RECOVER_GO_BACK_N, 0);
    b->ready_classes = 0;
    card_send(a, 1, 0, 100);
    card_bench_run(&bench, US);
    nak = card_ack(a, bench.options.psn, 0x20 | 20, 0); /* 10.24 ms */
    CHECK_EQ(card_deliver(&bench, a, &nak), WIRE_DROP_NONE);
    until_ps = US + 10240 * (uint64_t)US;
    CHECK_EQ(replay_of(a)->deadline_ps, until_ps);
    CHECK_EQ(modify(a, RNIC_QPS_SQD, (struct rnic_qp_attr){0}, 0), 0);
    CHECK_EQ(modify(a, RNIC_QPS_SQD, (struct rnic_qp_attr){.timeout = 1, .rnr_retry = 2},
                    RNIC_QP_TIMEOUT | RNIC_QP_RNR_RETRY),
             0);
    CHECK_EQ(replay_of(a)->deadline_ps, until_ps);
    CHECK_EQ(replay_of(a)->rnr_left, 2);
    card_bench_close(&bench);
}

/* Selective repeat has timeouts of its own: the counters change, they do not. */
static void selective_repeat_keeps_its_timeouts(void)
{
    uint64_t deadline_ps;

    open_bench(RNIC_RECOVER_SELECTIVE, 0);
    b->ready_classes = 0;
    card_write(a, 1, 0, 0, 100);
    card_bench_run(&bench, US);
    deadline_ps = replay_of(a)->deadline_ps;
    CHECK_EQ(modify(a, RNIC_QPS_SQD, (struct rnic_qp_attr){0}, 0), 0);
    CHECK_EQ(modify(a, RNIC_QPS_SQD, (struct rnic_qp_attr){.timeout = 1, .retry_cnt = 3},
                    RNIC_QP_TIMEOUT | RNIC_QP_RETRY_CNT),
             0);
    CHECK_EQ(replay_of(a)->deadline_ps, deadline_ps);
    CHECK_EQ(replay_of(a)->timeout_ps, bench.options.params.rto_high_ps);
    CHECK_EQ(replay_of(a)->low_timeout_ps, bench.options.params.rto_low_ps);
    CHECK_EQ(replay_of(a)->retry_left, 3);
    card_bench_close(&bench);
}

/* ---- responder resources ---- */

/* The last response is built and waits on the card: the depth changes when it has left. */
static void a_held_response_holds_the_depth(void)
{
    const struct rnic_qp_attr attr = {.max_dest_rd_atomic = 2};

    open_bench(RNIC_RECOVER_GO_BACK_N, 4);
    b->dev->params.tx_latency_ps = 5 * US;
    card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 100);
    while (rnic_frames_held(b->dev) == 0)
        card_bench_run(&bench, bench.now_ps + US / 10);
    CHECK_EQ(rnic_table_qp_find(&b->dev->qps, b->qpn)->respond.pending, 0);
    CHECK_EQ(modify(b, RNIC_QPS_SQD, attr, 0), 0);
    CHECK_EQ(modify(b, RNIC_QPS_SQD, attr, RNIC_QP_MAX_DEST_RD_ATOMIC), RNIC_ERR_BUSY);
    card_bench_run(&bench, bench.now_ps + 6 * US);
    CHECK_EQ(rnic_frames_held(b->dev), 0);
    CARD_OK(b, modify(b, RNIC_QPS_SQD, attr, RNIC_QP_MAX_DEST_RD_ATOMIC));
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

/* ---- posting ---- */

/* Where READs and atomics may be sent their limit counts; in ERR they are flushed as any other. */
static void reads_need_a_limit_wherever_they_may_be_sent(void)
{
    static const enum rnic_wr_opcode opcodes[] = {RNIC_WR_RDMA_READ, RNIC_WR_ATOMIC_CMP_AND_SWP,
                                                  RNIC_WR_ATOMIC_FETCH_AND_ADD};

    for (size_t k = 0; k < 3; k++) {
        struct rnic_sge sge;
        struct rnic_send_wr wr;

        open_bench(RNIC_RECOVER_GO_BACK_N, 0);
        wr = card_wr(a, opcodes[k], 1, 0, 0, 8, &sge);
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), RNIC_ERR_INVAL);
        CHECK_EQ(modify(a, RNIC_QPS_SQD, (struct rnic_qp_attr){0}, 0), 0);
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), RNIC_ERR_INVAL);
        card_expect_none(a, a->send_cq);
        CHECK_EQ(modify(a, RNIC_QPS_ERR, (struct rnic_qp_attr){0}, 0), 0);
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
        card_expect(a, a->send_cq, 1, RNIC_WC_WR_FLUSH_ERR);
        card_bench_close(&bench);
    }
}

CHECK_SUITE(rc_drain, CHECK_CASE(a_drain_that_is_called_off_is_not_told),
            CHECK_CASE(a_lost_packet_in_line_is_sent_all_the_same),
            CHECK_CASE(the_timer_runs_anew_where_it_runs),
            CHECK_CASE(a_receiver_not_ready_is_waited_for_all_the_same),
            CHECK_CASE(selective_repeat_keeps_its_timeouts),
            CHECK_CASE(a_held_response_holds_the_depth),
            CHECK_CASE(reads_need_a_limit_wherever_they_may_be_sent))
