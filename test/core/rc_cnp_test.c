/* SPDX-License-Identifier: GPL-2.0-only */
/* CE marks, the CNPs they cause, and the rate they cut. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

#define INTERVAL_PS 50000000u

static void open_bench(const struct rnic_cc_ops *cc)
{
    struct card_options options = card_options_ideal();

    options.cc = cc;
    options.depth = 1024;
    card_bench_open(&bench, 2, &options);
}

/* Mark every request of card 0 that may be marked, when scratch[0] says so. */
static enum card_tap_verdict mark(struct card_bench *on, struct card_flight *flight)
{
    if (flight->from == a && on->scratch[0] &&
        (flight->frame.tos & WIRE_ECN_MASK) != WIRE_ECN_NOT_ECT)
        flight->frame.tos |= WIRE_ECN_CE;
    return CARD_PASS;
}

static size_t cnps(uint32_t station)
{
    size_t n = 0;

    for (size_t i = 0; i < bench.log_n; i++)
        n += bench.log[i].from == station && bench.log[i].frame.opcode == WIRE_OP_CNP;
    return n;
}

static const struct card_log_entry *cnp_at(size_t which)
{
    for (size_t i = 0; i < bench.log_n; i++)
        if (bench.log[i].frame.opcode == WIRE_OP_CNP && which-- == 0)
            return &bench.log[i];
    return NULL;
}

static void a_marked_packet_is_answered_by_a_cnp(void)
{
    const struct wire_frame *cnp;

    open_bench(&rnic_cc_none);
    bench.tap = mark;
    bench.scratch[0] = 1;
    rnic_trace_enable(b->dev, 1u << RNIC_EVENT_CNP_TX);
    rnic_trace_enable(a->dev, 1u << RNIC_EVENT_CNP_RX);
    card_write(a, 1, 0, 0, 100);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(cnps(b->station), 1);
    cnp = &cnp_at(0)->frame;
    CHECK_EQ(cnp->dest_qpn, a->qpn);
    CHECK_EQ(cnp->dst, a->station);
    CHECK(cnp->bth_flags & WIRE_BTH_BECN);
    CHECK(!(cnp->bth_flags & WIRE_BTH_FECN));
    CHECK_EQ(cnp->psn.v, 0);
    CHECK_EQ(cnp->tos >> 2, bench.options.params.cnp_dscp);
    CHECK_EQ(cnp->prio, bench.options.params.cnp_dscp >> 3);
    CHECK_EQ(cnp->frame_bytes, wire_frame_length(WIRE_OP_CNP, 0, 0));
    CHECK_EQ(b->events[RNIC_EVENT_CNP_TX], 1);
    CHECK_EQ(a->events[RNIC_EVENT_CNP_RX], 1);
    CHECK_EQ(a->last[RNIC_EVENT_CNP_RX].qpn, a->qpn);
    CHECK_EQ(a->last[RNIC_EVENT_CNP_RX].value, bench.options.line_bps);
    CHECK_EQ(card_counters(b, b->qpn).cnps_tx, 1);
    CHECK_EQ(card_counters(b, b->qpn).ce_rx, 1);
    CHECK_EQ(card_counters(a, a->qpn).cnps_rx, 1);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS); /* a marked packet is a packet */
    card_bench_close(&bench);
}

/* ECT(0) and ECT(1) are no congestion. */
static void only_ce_counts(void)
{
    for (uint8_t ecn = 0; ecn < 4; ecn++) {
        struct wire_frame frame;

        open_bench(&rnic_cc_none);
        frame = card_ack(b, bench.options.psn, 0, 0);
        frame.opcode = WIRE_OP_WRITE_ONLY;
        frame.payload_bytes = 0;
        frame.dma_bytes = 0;
        frame.tos = ecn;
        CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
        card_bench_run(&bench, 1000000);
        CHECK_EQ(cnps(b->station), ecn == WIRE_ECN_CE);
        card_bench_close(&bench);
    }
}

/* DCQCN15: at most one in 50 us, and the end of a burst is answered too. */
static void one_cnp_in_a_window(void)
{
    size_t n;

    open_bench(&rnic_cc_none);
    bench.tap = mark;
    bench.scratch[0] = 1;
    for (uint64_t i = 0; i < 400; i++)
        card_write(a, i, 0, 0, 8192); /* 0.27 ms of line */
    card_bench_run(&bench, WIRE_NEVER);
    n = cnps(b->station);
    CHECK(n >= 6 && n <= 7);
    for (size_t i = 1; i < n; i++)
        CHECK_NEAR((double)(cnp_at(i)->left_ps - cnp_at(i - 1)->left_ps), (double)INTERVAL_PS,
                   20000.0);
    CHECK_EQ(card_counters(b, b->qpn).ce_rx, 3200);
    CHECK_EQ(rnic_next_wake(b->dev), WIRE_NEVER); /* the window is closed */
    card_bench_close(&bench);
}

/* Each queue pair has its own window. */
static void queue_pairs_have_windows_of_their_own(void)
{
    uint32_t qpn[8];

    open_bench(&rnic_cc_none);
    bench.tap = mark;
    bench.scratch[0] = 1;
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t peer = card_new_qp(b, b->send_cq, b->recv_cq);
        struct rnic_sge sge;
        struct rnic_send_wr wr = card_wr(a, RNIC_WR_RDMA_WRITE, i, 0, 0, 10000, &sge);

        qpn[i] = card_new_qp(a, a->send_cq, a->recv_cq);
        card_join(a, qpn[i], b, peer);
        CHECK_EQ(rnic_post_send(a->dev, qpn[i], &wr, 0), 0);
        if (i % 3 == 2)
            card_bench_run(&bench, bench.now_ps + 7000000);
    }
    card_bench_run(&bench, WIRE_NEVER);
    CHECK(cnps(b->station) >= 16); /* first packet and window end of each */
    for (uint32_t i = 0; i < 8; i++)
        CHECK_EQ(card_counters(a, qpn[i]).cnps_rx, 2);
    card_bench_close(&bench);
}

static void the_latency_of_a_cnp_is_a_parameter(void)
{
    struct card_options options = card_options_ideal();
    uint64_t arrived_ps;

    options.params.cnp_latency_ps = 55000000;
    card_bench_open(&bench, 2, &options);
    bench.tap = mark;
    bench.scratch[0] = 1;
    card_write(a, 1, 0, 0, 100);
    card_bench_run(&bench, WIRE_NEVER);
    arrived_ps =
        wire_line_time_ps(wire_frame_length(WIRE_OP_WRITE_ONLY, 0, 100) + 8, options.line_bps);
    CHECK_EQ(cnp_at(0)->left_ps, arrived_ps + 55000000);
    card_bench_close(&bench);
}

/* DCQCN: alpha is 1, so the first CNP halves the rate; and the packets leave at that rate. */
static void a_cnp_cuts_the_rate_and_the_sending(void)
{
    uint64_t rate_bps, spent_ps, bytes = 0;
    struct wire_frame cnp;
    double alpha;
    size_t from;

    open_bench(&rnic_cc_dcqcn);
    for (uint64_t i = 0; i < 100; i++)
        card_write(a, i, 0, 0, 65536);
    card_bench_run(&bench, 10000000);
    CHECK_EQ(rnic_query_rate(a->dev, a->qpn, &rate_bps, &alpha, bench.now_ps), 0);
    CHECK_EQ(rate_bps, bench.options.line_bps);
    cnp = card_ack(a, 0, 0, 0);
    cnp.opcode = WIRE_OP_CNP;
    cnp.bth_flags = WIRE_BTH_BECN;
    CHECK_EQ(card_deliver(&bench, a, &cnp), WIRE_DROP_NONE);
    CHECK_EQ(rnic_query_rate(a->dev, a->qpn, &rate_bps, &alpha, bench.now_ps), 0);
    CHECK_EQ(rate_bps, bench.options.line_bps / 2);
    from = bench.log_n;
    card_bench_run(&bench, bench.now_ps + 40000000); /* before the first increase */
    spent_ps = bench.log[bench.log_n - 1].left_ps - bench.log[from].left_ps;
    for (size_t i = from; i + 1 < bench.log_n; i++)
        if (bench.log[i].from == a->station)
            bytes += bench.log[i].frame.frame_bytes + WIRE_GAP_BYTES;
    CHECK_NEAR((double)bytes * 8e12 / (double)spent_ps, (double)rate_bps, 0.02 * (double)rate_bps);
    card_bench_close(&bench);
}

/* A CNP for a queue pair that is gone, or not yet sending, is dropped. */
static void a_cnp_for_nobody_is_dropped(void)
{
    struct wire_frame cnp;

    open_bench(&rnic_cc_dcqcn);
    cnp = card_ack(a, 0, 0, 0);
    cnp.opcode = WIRE_OP_CNP;
    cnp.dest_qpn = 777;
    CHECK_EQ(card_deliver(&bench, a, &cnp), WIRE_DROP_QPN);
    cnp.dest_qpn = card_new_qp(a, a->send_cq, a->recv_cq);
    CHECK_EQ(card_deliver(&bench, a, &cnp), WIRE_DROP_QP_STATE);
    CHECK_EQ(rnic_query_counters(a->dev)->cnps_rx, 0);
    card_bench_close(&bench);
}

/* A window that is open when its queue pair is destroyed or reset sends nothing any more. */
static void windows_die_with_their_queue_pair(void)
{
    for (unsigned destroy = 0; destroy < 2; destroy++) {
        struct rnic_qp_attr attr = {.qp_state = RNIC_QPS_RESET};

        open_bench(&rnic_cc_none);
        bench.tap = mark;
        bench.scratch[0] = 1;
        card_write(a, 1, 0, 0, 100);
        card_write(a, 2, 0, 0, 100);
        card_bench_run(&bench, 1000000);
        CHECK_EQ(cnps(b->station), 1);
        CHECK(rnic_next_wake(b->dev) <= INTERVAL_PS + 1000000);
        if (destroy)
            CHECK_EQ(rnic_destroy_qp(b->dev, b->qpn, bench.now_ps), 0);
        else
            CHECK_EQ(rnic_modify_qp(b->dev, b->qpn, &attr, RNIC_QP_STATE, bench.now_ps), 0);
        card_bench_run(&bench, WIRE_NEVER);
        CHECK_EQ(cnps(b->station), 1);
        card_bench_close(&bench);
    }
}

/* What arrives at the end of a window is behind it, though the card was not woken before. */
static void a_mark_at_the_end_of_a_window_opens_the_next(void)
{
    for (uint64_t early_ps = 0; early_ps < 2; early_ps++) {
        struct wire_frame frame;

        open_bench(&rnic_cc_none);
        frame = card_request(b, WIRE_OP_WRITE_ONLY, 0, 8);
        frame.tos = WIRE_ECN_CE;
        CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
        bench.now_ps = INTERVAL_PS - early_ps;
        frame.psn = wire_psn_add(frame.psn, 1);
        CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
        CHECK_EQ(card_counters(b, b->qpn).cnps_tx, early_ps ? 1 : 2);
        CHECK_EQ(rnic_next_wake(b->dev), early_ps ? INTERVAL_PS : 2 * INTERVAL_PS);
        card_bench_close(&bench);
    }
}

CHECK_SUITE(rc_cnp, CHECK_CASE(a_marked_packet_is_answered_by_a_cnp), CHECK_CASE(only_ce_counts),
            CHECK_CASE(one_cnp_in_a_window), CHECK_CASE(queue_pairs_have_windows_of_their_own),
            CHECK_CASE(the_latency_of_a_cnp_is_a_parameter),
            CHECK_CASE(a_cnp_cuts_the_rate_and_the_sending),
            CHECK_CASE(a_cnp_for_nobody_is_dropped), CHECK_CASE(windows_die_with_their_queue_pair),
            CHECK_CASE(a_mark_at_the_end_of_a_window_opens_the_next))
