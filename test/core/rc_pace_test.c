/* SPDX-License-Identifier: GPL-2.0-only */
/* When packets leave, to the picosecond: static rates, a shallow TX FIFO, a place in line. */
#include "card.h"

#define US 1000000u

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static struct card_options pace_options(void)
{
    struct card_options options = card_options_ideal();

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = 4;
    return options;
}

static const struct card_log_entry *request(size_t i)
{
    return card_log_at(&bench, a->station, true, i);
}

static int modify(struct card *card, enum rnic_qp_state state, struct rnic_qp_attr attr,
                  unsigned mask)
{
    attr.qp_state = state;
    return rnic_modify_qp(card->dev, card->qpn, &attr, RNIC_QP_STATE | mask, bench.now_ps);
}

/* Each packet takes its time at the rate: with preamble and gap, from the pull before it. */
static void a_static_rate_spaces_packets(void)
{
    static const uint64_t rates_bps[] = {1000000000, 7000000000, 99999999999};

    for (size_t r = 0; r < sizeof rates_bps / sizeof rates_bps[0]; r++) {
        struct card_options options = pace_options();

        card_bench_open(&bench, 2, &options);
        CHECK_EQ(modify(a, RNIC_QPS_RTS, (struct rnic_qp_attr){.rate_limit_bps = rates_bps[r]},
                        RNIC_QP_RATE_LIMIT),
                 0);
        bench.now_ps = US;
        card_write(a, 1, 0, 0, 3 * 1024 + 1);
        card_write(a, 2, 0, 0, 100);
        card_bench_run(&bench, 100 * US);
        CHECK_EQ(card_log_count(&bench, a->station, true), 5);
        CHECK_EQ(request(0)->left_ps, US); /* what was not used before is lost */
        for (size_t i = 1; i < 5; i++)
            CHECK_EQ(request(i)->left_ps,
                     request(i - 1)->left_ps +
                         wire_line_time_ps(request(i - 1)->frame.frame_bytes + WIRE_GAP_BYTES,
                                           rates_bps[r]));
        card_bench_close(&bench);
    }
}

/* A new rate counts at once, also for READ responses that waited for the time of the old one. */
static void a_new_rate_counts_for_responses_too(void)
{
    struct card_options options = pace_options();

    card_bench_open(&bench, 2, &options);
    CHECK_EQ(modify(b, RNIC_QPS_RTS, (struct rnic_qp_attr){.rate_limit_bps = 1000000},
                    RNIC_QP_RATE_LIMIT),
             0);
    card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 3000);
    card_bench_run(&bench, US);
    CHECK_EQ(card_log_count(&bench, b->station, false), 1);
    CHECK_EQ(
        modify(b, RNIC_QPS_RTS, (struct rnic_qp_attr){.rate_limit_bps = 0}, RNIC_QP_RATE_LIMIT), 0);
    card_bench_run(&bench, 10 * US);
    CHECK_EQ(card_log_count(&bench, b->station, false), 3);
    card_bench_close(&bench);
}

/* On a card that takes time, too: asked for ahead, so that the space is the rate's alone. */
static void a_static_rate_hides_the_latencies(void)
{
    struct card_options options = card_options_default();
    const uint64_t rate_bps = 5000000000;

    options.mtu_bytes = 1024;
    card_bench_open(&bench, 2, &options);
    card_write(a, 0, 0, 0, 100); /* so that the tables are on the card */
    card_bench_run(&bench, 100 * US);
    CHECK_EQ(modify(a, RNIC_QPS_RTS, (struct rnic_qp_attr){.rate_limit_bps = rate_bps},
                    RNIC_QP_RATE_LIMIT),
             0);
    card_write(a, 1, 0, 0, 10 * 1024);
    card_bench_run(&bench, 200 * US);
    CHECK_EQ(card_log_count(&bench, a->station, true), 11);
    for (size_t i = 2; i < 11; i++)
        CHECK_EQ(
            request(i)->left_ps,
            request(i - 1)->left_ps +
                wire_line_time_ps(request(i - 1)->frame.frame_bytes + WIRE_GAP_BYTES, rate_bps));
    card_bench_close(&bench);
}

/* With room for k frames the responder is k frames ahead: k frames a round trip of its DMA. */
static void a_shallow_fifo_limits_read_responses(void)
{
    for (uint64_t depth = 1; depth <= 4; depth++) {
        struct card_options options = card_options_default();
        const struct rnic_params *p = &options.params;
        uint64_t round_ps, took_ps;

        options.access = CARD_ACCESS_ALL;
        options.rd_atomic = 4;
        options.params.tx_fifo_frames = depth;
        options.mtu_bytes = 256;
        card_bench_open(&bench, 2, &options);
        card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 100 * 256);
        card_bench_run(&bench, WIRE_NEVER);
        CHECK_EQ(card_log_count(&bench, b->station, false), 100);
        took_ps = card_log_at(&bench, b->station, false, 90)->left_ps -
                  card_log_at(&bench, b->station, false, 10)->left_ps;
        round_ps = p->dma_read_latency_ps +
                   wire_line_time_ps(256 + p->pcie_tlp_bytes, p->pcie_bps) + p->tx_latency_ps;
        CHECK_NEAR((double)took_ps, 80.0 * (double)round_ps / (double)depth,
                   0.05 * (double)took_ps);
        card_bench_close(&bench);
    }
}

/* Every IPv4 packet of a card has the next identification, whatever it is. */
static void packets_are_numbered_on(void)
{
    struct card_options options = pace_options();
    uint16_t next[2] = {0, 0};

    card_bench_open(&bench, 2, &options);
    for (uint64_t i = 0; i < 5; i++) {
        card_write(a, 10 * i, 0, 0, 3000);
        card_post(a, RNIC_WR_RDMA_READ, 10 * i + 1, 0, 0, 3000);
        card_post(b, RNIC_WR_ATOMIC_FETCH_AND_ADD, 10 * i, 0, 0, 8);
        card_write(b, 10 * i + 1, 0, 0, 100);
        card_bench_run(&bench, WIRE_NEVER);
    }
    CHECK(bench.log_n > 50);
    for (size_t i = 0; i < bench.log_n; i++)
        CHECK_EQ(bench.log[i].frame.ip_id, next[bench.log[i].from == b->station]++);
    card_bench_close(&bench);
}

/* Two queue pairs wait for the MAC; a change of the first in SQD that is not its address or rate
   leaves it its place before the second. */
static void a_change_in_sqd_keeps_the_place_in_line(void)
{
    struct card_options options = pace_options();
    const struct rnic_qp_attr attr = {.min_rnr_timer = 9};
    struct rnic_sge sge;
    struct rnic_send_wr wr;
    uint32_t second, peer;

    card_bench_open(&bench, 2, &options);
    second = card_new_qp(a, a->send_cq, a->recv_cq);
    peer = card_new_qp(b, b->send_cq, b->recv_cq);
    card_join(a, second, b, peer);
    card_write(a, 1, 0, 0, 2048);
    card_bench_run(&bench, 1); /* its first packet is out: it goes on in SQD */
    CHECK_EQ(card_log_count(&bench, a->station, true), 1);
    a->ready_classes = 0;
    wr = card_wr(a, RNIC_WR_RDMA_WRITE, 2, 0, 0, 100, &sge);
    CHECK_EQ(rnic_post_send(a->dev, second, &wr, bench.now_ps), 0);
    CHECK_EQ(modify(a, RNIC_QPS_SQD, attr, 0), 0);
    CHECK_EQ(modify(a, RNIC_QPS_SQD, attr, RNIC_QP_MIN_RNR_TIMER), 0);
    a->ready_classes = 0xFF;
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(card_log_count(&bench, a->station, true), 3);
    CHECK_EQ(request(1)->frame.dest_qpn, b->qpn);
    CHECK_EQ(request(2)->frame.dest_qpn, peer);
    card_bench_close(&bench);
}

/* A rate is asked of a queue pair that receives or sends, and of no other. */
static void who_has_a_rate(void)
{
    struct card_options options = pace_options();
    uint64_t rate_bps = 77;
    double alpha = 77;

    card_bench_open(&bench, 2, &options);
    CHECK_EQ(rnic_query_rate(a->dev, a->qpn, &rate_bps, &alpha, 0), 0);
    CHECK_EQ(rate_bps, options.line_bps);
    CHECK_EQ(modify(a, RNIC_QPS_SQD, (struct rnic_qp_attr){0}, 0), 0);
    CHECK_EQ(rnic_query_rate(a->dev, a->qpn, &rate_bps, &alpha, 0), 0);
    CHECK_EQ(modify(a, RNIC_QPS_ERR, (struct rnic_qp_attr){0}, 0), 0);
    rate_bps = 77;
    CHECK_EQ(rnic_query_rate(a->dev, a->qpn, &rate_bps, &alpha, 0), RNIC_ERR_INVAL);
    CHECK_EQ(modify(a, RNIC_QPS_RESET, (struct rnic_qp_attr){0}, 0), 0);
    CHECK_EQ(rnic_query_rate(a->dev, a->qpn, &rate_bps, &alpha, 0), RNIC_ERR_INVAL);
    CHECK_EQ(rate_bps, 77);
    card_bench_close(&bench);
}

/* Go-back-0: an answer in mid-message acknowledges nothing, but the peer lives: the timer starts
   again with it. Not while an RNR wait runs, nor before the repetition has begun. */
static void go_back_0_waits_from_the_last_sign_of_life(void)
{
    const uint64_t timeout_ps = (uint64_t)4096000 << 4;
    struct card_options options = pace_options();
    struct wire_frame ack, nak;

    options.recovery = RNIC_RECOVER_GO_BACK_0;
    options.params.timeout = 4;
    card_bench_open(&bench, 2, &options);
    b->ready_classes = 0;
    card_write(a, 1, 0, 0, 4 * 1024);
    card_bench_run(&bench, 40 * US);
    ack = card_ack(a, bench.options.psn + 1, 0x1F, 0);
    CHECK_EQ(card_deliver(&bench, a, &ack), WIRE_DROP_STALE_ACK);
    card_bench_run(&bench, 40 * US + timeout_ps - 1);
    CHECK_EQ(card_counters(a, a->qpn).timeouts, 0);
    CHECK_EQ(card_log_count(&bench, a->station, true), 4);
    card_bench_run(&bench, 40 * US + timeout_ps);
    CHECK_EQ(card_counters(a, a->qpn).timeouts, 1);
    card_bench_run(&bench, 41 * US + timeout_ps);
    CHECK_EQ(card_log_count(&bench, a->station, true), 8);

    nak = card_ack(a, bench.options.psn, 0x20 | 10, 0); /* RNR: 0.32 ms */
    CHECK_EQ(card_deliver(&bench, a, &nak), WIRE_DROP_NONE);
    card_bench_run(&bench, bench.now_ps + 100 * US);
    CHECK_EQ(card_deliver(&bench, a, &ack), WIRE_DROP_STALE_ACK);
    card_bench_run(&bench, bench.now_ps + 219 * US);
    CHECK_EQ(card_log_count(&bench, a->station, true), 8);
    a->ready_classes = 0; /* the wait ends, and nothing may leave */
    card_bench_run(&bench, bench.now_ps + 2 * US);
    CHECK_EQ(card_deliver(&bench, a, &ack), WIRE_DROP_STALE_ACK);
    card_bench_run(&bench, bench.now_ps + 2 * timeout_ps);
    CHECK_EQ(card_counters(a, a->qpn).timeouts, 1);
    a->ready_classes = b->ready_classes = 0xFF;
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_EQ(card_counters(a, a->qpn).timeouts, 1);
    card_bench_close(&bench);
}

CHECK_SUITE(rc_pace, CHECK_CASE(a_static_rate_spaces_packets),
            CHECK_CASE(a_new_rate_counts_for_responses_too),
            CHECK_CASE(a_static_rate_hides_the_latencies),
            CHECK_CASE(a_shallow_fifo_limits_read_responses), CHECK_CASE(packets_are_numbered_on),
            CHECK_CASE(a_change_in_sqd_keeps_the_place_in_line), CHECK_CASE(who_has_a_rate),
            CHECK_CASE(go_back_0_waits_from_the_last_sign_of_life))
