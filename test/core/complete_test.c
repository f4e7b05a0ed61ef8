/* SPDX-License-Identifier: GPL-2.0-only */
/* Completions of sends: in order, each once, whatever acknowledges come in whatever order. */
#include "card.h"
#include "rnic_complete.h"

#define SEED 6u

static struct card_bench bench;
static struct card *const a = &bench.cards[0];

static enum card_tap_verdict drop_all(struct card_bench *on, struct card_flight *flight)
{
    (void)on;
    (void)flight;
    return CARD_DROP;
}

static void begin(bool sig_all)
{
    struct card_options options = card_options_ideal();

    options.sig_all = sig_all;
    card_bench_open(&bench, 2, &options);
    bench.tap = drop_all;
}

/* Messages of 1 to 5 packets; any acknowledge completes exactly those that end before it. */
static void an_acknowledge_completes_what_ends_before_it(void)
{
    struct wire_rng rng = wire_rng_init(SEED, 0);

    printf("seed %u\n", SEED);
    for (uint32_t round = 0; round < 200; round++) {
        uint32_t ends[20], psn = 0, done = 0;

        begin(true);
        for (uint64_t i = 0; i < 20; i++) {
            uint32_t packets = 1 + (uint32_t)(wire_rng_next(&rng) % 5);

            card_write(a, i, 0, 0, packets * 1024 - 10);
            ends[i] = psn += packets;
        }
        card_bench_run(&bench, 50000000);
        while (done < 20) {
            uint32_t acked = (uint32_t)(wire_rng_next(&rng) % psn);
            struct wire_frame ack = card_ack(a, bench.options.psn + acked, 0x1F, 0);
            struct rnic_wc wc;

            (void)card_deliver(&bench, a, &ack);
            while (card_poll(a, a->send_cq, &wc)) {
                CHECK_EQ(wc.wr_id, done);
                CHECK(ends[done] <= acked + 1);
                done++;
            }
            CHECK(done == 20 || ends[done] > acked + 1);
        }
        card_expect_none(a, a->send_cq);
        card_bench_close(&bench);
    }
}

/* A NAK in the middle: before it success, it itself the reason, behind it flushed. */
static void each_refusal_has_its_status(void)
{
    static const struct {
        uint8_t syndrome;
        enum rnic_wc_status status;
    } cases[] = {{0x61, RNIC_WC_REM_INV_REQ_ERR},
                 {0x62, RNIC_WC_REM_ACCESS_ERR},
                 {0x63, RNIC_WC_REM_OP_ERR}};

    for (size_t c = 0; c < 3; c++)
        for (uint32_t packet = 0; packet < 9; packet++) {
            struct wire_frame nak;

            begin(false); /* unsignalled: only failures are told */
            for (uint64_t i = 0; i < 3; i++)
                card_write(a, i, 0, 0, 3 * 1024);
            card_recv(a, 10, 0, 8);
            card_bench_run(&bench, 5000000);
            nak = card_ack(a, bench.options.psn + packet, cases[c].syndrome, 0);
            CHECK_EQ(card_deliver(&bench, a, &nak), WIRE_DROP_NONE);
            CHECK_EQ(card_expect(a, a->send_cq, packet / 3, cases[c].status).vendor_err,
                     cases[c].syndrome);
            for (uint64_t i = packet / 3 + 1; i < 3; i++)
                CHECK_EQ(card_expect(a, a->send_cq, i, RNIC_WC_WR_FLUSH_ERR).vendor_err, 0);
            card_expect_none(a, a->send_cq);
            card_expect(a, a->recv_cq, 10, RNIC_WC_WR_FLUSH_ERR);
            CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_ERR);
            CHECK_EQ(rnic_next_wake(a->dev) == WIRE_NEVER || rnic_next_wake(a->dev) >= bench.now_ps,
                     true);
            card_bench_close(&bench);
        }
}

/* To ERR twice, and by an error in an error: nothing is flushed twice. */
static void the_way_to_err_is_gone_once(void)
{
    struct rnic_qp_attr attr = {.qp_state = RNIC_QPS_ERR};

    begin(true);
    for (uint64_t i = 0; i < 5; i++)
        card_write(a, i, 0, 0, 100);
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_STATE, 0), 0);
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_STATE, 0), 0);
    for (uint64_t i = 0; i < 5; i++)
        card_expect(a, a->send_cq, i, RNIC_WC_WR_FLUSH_ERR);
    card_expect_none(a, a->send_cq);
    card_bench_close(&bench);
}

/* RESET is silent, and takes back what was told but not polled. */
static void reset_takes_back_what_was_not_polled(void)
{
    struct rnic_qp_attr attr = {.qp_state = RNIC_QPS_ERR};

    begin(true);
    for (uint64_t i = 0; i < 5; i++)
        card_write(a, i, 0, 0, 100);
    for (uint64_t i = 0; i < 5; i++)
        card_recv(a, i, 0, 100);
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_STATE, 0), 0);
    card_expect(a, a->send_cq, 0, RNIC_WC_WR_FLUSH_ERR);
    card_expect(a, a->recv_cq, 0, RNIC_WC_WR_FLUSH_ERR);
    attr.qp_state = RNIC_QPS_RESET;
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_STATE, 0), 0);
    card_expect_none(a, a->send_cq);
    card_expect_none(a, a->recv_cq);
    CHECK_EQ(card_counters(a, a->qpn).tx_packets, 0);
    card_bench_close(&bench);
}

CHECK_SUITE(complete, CHECK_CASE(an_acknowledge_completes_what_ends_before_it),
            CHECK_CASE(each_refusal_has_its_status), CHECK_CASE(the_way_to_err_is_gone_once),
            CHECK_CASE(reset_takes_back_what_was_not_polled))
