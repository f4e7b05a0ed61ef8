/* SPDX-License-Identifier: GPL-2.0-only */
/* Queue pairs that go away while they stand in a line of the card: first, in the middle, last. */
#include "card.h"

#define PAIRS 5u
#define INTERVAL_PS 50000000u

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];
static uint32_t qpn_a[PAIRS], qpn_b[PAIRS];

static void open_bench(uint64_t cnp_interval_ps)
{
    struct card_options options = card_options_ideal();

    options.params.cnp_interval_ps = cnp_interval_ps;
    card_bench_open(&bench, 2, &options);
    for (uint32_t i = 0; i < PAIRS; i++) {
        qpn_a[i] = card_new_qp(a, a->send_cq, a->recv_cq);
        qpn_b[i] = card_new_qp(b, b->send_cq, b->recv_cq);
        card_join(a, qpn_a[i], b, qpn_b[i]);
    }
}

static void write_on(uint32_t i, uint64_t wr_id)
{
    struct rnic_sge sge;
    struct rnic_send_wr wr = card_wr(a, RNIC_WR_RDMA_WRITE, wr_id, 0, 0, 3000, &sge);

    CARD_OK(a, rnic_post_send(a->dev, qpn_a[i], &wr, bench.now_ps));
}

/* Of the pairs in @p left (a bit each) every one has completed its request, in the order posted. */
static void want_completions(uint32_t left)
{
    uint64_t last = 0;

    for (uint32_t i = 0; i < PAIRS; i++) {
        struct rnic_wc wc;

        if (!(left >> i & 1))
            continue;
        CHECK(card_poll(a, a->send_cq, &wc));
        CHECK_EQ(wc.status, RNIC_WC_SUCCESS);
        CHECK(wc.wr_id > last);
        CHECK(left >> (wc.wr_id - 1) & 1);
        CHECK_EQ(wc.qp_num, qpn_a[wc.wr_id - 1]);
        last = wc.wr_id;
    }
    card_expect_none(a, a->send_cq);
}

/* Every set of pairs leaves before the MAC has asked; what follows is served all the same. */
static void a_queue_pair_leaves_the_senders(void)
{
    for (uint32_t gone = 0; gone < 1u << PAIRS; gone++) {
        uint32_t all = (1u << PAIRS) - 1, back = 0;

        open_bench(INTERVAL_PS);
        for (uint32_t i = 0; i < PAIRS; i++)
            write_on(i, i + 1);
        for (uint32_t i = 0; i < PAIRS; i++)
            if (gone >> i & 1)
                CHECK_EQ(rnic_destroy_qp(a->dev, qpn_a[i], bench.now_ps), 0);
        card_bench_run(&bench, WIRE_NEVER);
        for (size_t i = 0; i < card_log_count(&bench, a->station, true); i++)
            for (uint32_t j = 0; j < PAIRS; j++)
                CHECK(!(gone >> j & 1) ||
                      card_log_at(&bench, a->station, true, i)->frame.dest_qpn != qpn_b[j]);
        want_completions(all & ~gone);
        for (uint32_t i = 0; i < PAIRS; i++)
            if (!(gone >> i & 1)) {
                write_on(i, i + 1);
                back |= 1u << i;
            }
        card_bench_run(&bench, WIRE_NEVER);
        want_completions(back);
        card_bench_close(&bench);
    }
}

/* The last one leaves, and another comes behind what is last then. */
static void one_comes_behind_who_left(void)
{
    open_bench(INTERVAL_PS);
    write_on(0, 1);
    write_on(1, 2);
    write_on(2, 3);
    CHECK_EQ(rnic_destroy_qp(a->dev, qpn_a[2], bench.now_ps), 0);
    write_on(3, 4);
    CHECK_EQ(rnic_destroy_qp(a->dev, qpn_a[0], bench.now_ps), 0);
    write_on(4, 5);
    card_bench_run(&bench, WIRE_NEVER);
    want_completions(2 | 8 | 16);
    card_bench_close(&bench);
}

static void marked(uint32_t i, uint32_t psn)
{
    struct wire_frame frame = card_ack(b, psn, 0, 0);

    frame.opcode = WIRE_OP_WRITE_ONLY;
    frame.dest_qpn = qpn_b[i];
    frame.tos = WIRE_ECN_CE;
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
}

static uint32_t cnps_to(uint32_t i)
{
    uint32_t n = 0;

    for (size_t k = 0; k < bench.log_n; k++)
        n += bench.log[k].frame.opcode == WIRE_OP_CNP && bench.log[k].frame.dest_qpn == qpn_a[i];
    return n;
}

/* Two marks in a window: one CNP at once, one at its end, whoever else has left meanwhile. */
static void a_queue_pair_leaves_the_windows(void)
{
    for (uint32_t gone = 0; gone < 1u << PAIRS; gone++) {
        uint32_t psn;

        open_bench(INTERVAL_PS);
        psn = bench.options.psn;
        for (uint32_t i = 0; i < PAIRS; i++) {
            marked(i, psn);
            card_bench_run(&bench, bench.now_ps + 1000000);
            marked(i, psn + 1);
        }
        for (uint32_t i = 0; i < PAIRS; i++)
            if (gone >> i & 1)
                CHECK_EQ(rnic_destroy_qp(b->dev, qpn_b[i], bench.now_ps), 0);
        card_bench_run(&bench, WIRE_NEVER);
        for (uint32_t i = 0; i < PAIRS; i++)
            CHECK_EQ(cnps_to(i), gone >> i & 1 ? 1 : 2);
        for (uint32_t i = 0; i < PAIRS; i++)
            if (!(gone >> i & 1))
                marked(i, psn + 2);
        card_bench_run(&bench, WIRE_NEVER);
        for (uint32_t i = 0; i < PAIRS; i++)
            CHECK_EQ(cnps_to(i), gone >> i & 1 ? 1 : 3);
        card_bench_close(&bench);
    }
}

/* Windows of no length: each mark has its CNP, and nothing is left to wait for. */
static void without_windows_each_mark_is_answered(void)
{
    open_bench(0);
    for (uint32_t k = 0; k < 10; k++)
        marked(0, bench.options.psn + k);
    card_bench_run(&bench, bench.now_ps + 1000000);
    CHECK_EQ(cnps_to(0), 10);
    CHECK_EQ(rnic_next_wake(b->dev), WIRE_NEVER);
    card_bench_close(&bench);
}

CHECK_SUITE(rc_leave, CHECK_CASE(a_queue_pair_leaves_the_senders),
            CHECK_CASE(one_comes_behind_who_left), CHECK_CASE(a_queue_pair_leaves_the_windows),
            CHECK_CASE(without_windows_each_mark_is_answered))
