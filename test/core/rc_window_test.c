/* SPDX-License-Identifier: GPL-2.0-only */
/* What may be in flight at once, and that a full window does not wait for a timer. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static void open_bench(uint64_t max_in_flight, uint64_t ack_every)
{
    struct card_options options = card_options_ideal();

    options.params.max_in_flight = max_in_flight;
    options.params.ack_every = ack_every;
    options.delay_ps = 2000000;
    card_bench_open(&bench, 2, &options);
    card_fill(a->bytes, a->n_bytes, 1);
}

/* The packet that fills the window asks, whatever ack_every says: else a timeout had to help. */
static void full_window_asks_for_an_answer(void)
{
    open_bench(4, 64);
    card_write(a, 1, 0, 0, 10 * 1024);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_BYTES(b->bytes, a->bytes, 10 * 1024);
    CHECK_EQ(card_log_count(&bench, a->station, true), 10);
    for (size_t i = 0; i < 10; i++) /* packets 3 and 7 fill it, 9 is the last */
        CHECK_EQ((card_log_at(&bench, a->station, true, i)->frame.bth_flags & WIRE_BTH_ACKREQ) != 0,
                 i == 3 || i == 7 || i == 9);
    CHECK_EQ(card_counters(a, a->qpn).timeouts, 0);
    CHECK_EQ(card_counters(a, a->qpn).retransmitted_packets, 0);
    card_bench_close(&bench);
}

static void window_of_one_is_a_packet_a_round_trip(void)
{
    uint64_t round_trip_ps = 2 * 2000000;

    open_bench(1, 64);
    card_write(a, 1, 0, 0, 5 * 1024);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_EQ(card_log_count(&bench, b->station, false), 5);
    for (size_t i = 1; i < 5; i++)
        CHECK(card_log_at(&bench, a->station, true, i)->left_ps >=
              card_log_at(&bench, a->station, true, i - 1)->left_ps + round_trip_ps);
    CHECK_EQ(card_counters(a, a->qpn).timeouts, 0);
    card_bench_close(&bench);
}

/* Only requests that are answered by an acknowledge ask for one; on UC nobody is asked. */
static void who_does_not_ask(void)
{
    for (int type = RNIC_QPT_RC; type <= RNIC_QPT_UC; type++) {
        struct card_options options = card_options_ideal();
        size_t n;

        options.type = (enum rnic_qp_type)type;
        options.params.max_in_flight = 1;
        options.access = CARD_ACCESS_ALL;
        options.rd_atomic = 4;
        card_bench_open(&bench, 2, &options);
        if (type == RNIC_QPT_RC) {
            card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 100);
            card_post(a, RNIC_WR_ATOMIC_FETCH_AND_ADD, 2, 0, 0, 8);
        } else {
            card_write(a, 1, 0, 0, 2000);
            card_send(a, 2, 0, 100);
        }
        card_bench_run(&bench, WIRE_NEVER);
        card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
        card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
        n = card_log_count(&bench, a->station, true);
        CHECK_EQ(n, type == RNIC_QPT_RC ? 2 : 3);
        for (size_t i = 0; i < n; i++)
            CHECK_EQ(card_log_at(&bench, a->station, true, i)->frame.bth_flags & WIRE_BTH_ACKREQ,
                     0);
        card_bench_close(&bench);
    }
}

static enum card_tap_verdict drop_all(struct card_bench *on, struct card_flight *flight)
{
    (void)on;
    (void)flight;
    return CARD_DROP;
}

/* At most 2^23 - 1 PSNs are in flight: a READ whose responses would go beyond them waits. */
static void a_read_waits_for_its_psns(void)
{
    for (uint32_t more = 0; more < 2; more++) {
        struct card_options options = card_options_ideal();
        struct rnic_send_wr wr;
        struct rnic_sge sge;
        uint32_t key;

        options.access = CARD_ACCESS_ALL;
        options.rd_atomic = 4;
        options.mtu_bytes = 256;
        card_bench_open(&bench, 2, &options);
        bench.tap = drop_all;
        CARD_OK(a, rnic_reg_mr(a->dev, a->pd, 0, (uint64_t)1 << 31, NULL, RNIC_ACCESS_LOCAL_WRITE,
                               &key, 0));
        card_write(a, 1, 0, 0, 100);
        wr = card_wr(a, RNIC_WR_RDMA_READ, 2, 0, 0, (WIRE_PSNS_MAX - 1 + more) * 256, &sge);
        sge.addr = 0;
        sge.lkey = key;
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
        card_bench_run(&bench, 1000000);
        CHECK_EQ(card_log_count(&bench, a->station, true), more ? 1 : 2);
        card_bench_close(&bench);
    }
}

CHECK_SUITE(rc_window, CHECK_CASE(full_window_asks_for_an_answer),
            CHECK_CASE(window_of_one_is_a_packet_a_round_trip), CHECK_CASE(who_does_not_ask),
            CHECK_CASE(a_read_waits_for_its_psns))
