/* SPDX-License-Identifier: GPL-2.0-only */
/* Completions as the host sees them: visibility, arming, events, overflow, signalling. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static void open_bench(bool default_card, uint32_t cqe)
{
    struct card_options options = default_card ? card_options_default() : card_options_ideal();

    options.cqe = cqe;
    options.sig_all = false;
    card_bench_open(&bench, 2, &options);
    card_fill(a->bytes, a->n_bytes, 1);
}

static void post(enum rnic_wr_opcode opcode, uint64_t wr_id, unsigned flags)
{
    struct rnic_sge sge;
    struct rnic_send_wr wr = card_wr(a, opcode, wr_id, 0, 0, 100, &sge);

    wr.send_flags = flags;
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, bench.now_ps), 0);
}

/* Deliver to card 1 all that is on its way, without letting it go on in time. */
static void run_until_received(uint32_t requests)
{
    while (card_counters(b, b->qpn).rx_packets < requests)
        card_bench_run(&bench, bench.now_ps + 1000);
}

static void a_completion_is_seen_at_its_time_and_not_before(void)
{
    uint64_t seen_ps = 0;
    struct rnic_wc wc;

    open_bench(true, 64);
    rnic_trace_enable(b->dev, 1u << RNIC_EVENT_PLACED);
    card_recv(b, 1, 0, 100);
    post(RNIC_WR_SEND, 1, RNIC_SEND_SIGNALED);
    run_until_received(1);
    CHECK(!card_poll(b, b->recv_cq, &wc)); /* the frame is here, the completion is not */
    while (!card_poll(b, b->recv_cq, &wc))
        card_bench_run(&bench, bench.now_ps + 1000);
    seen_ps = bench.now_ps;
    CHECK_EQ(b->events[RNIC_EVENT_PLACED], 1);
    CHECK(seen_ps > b->last[RNIC_EVENT_PLACED].time_ps); /* behind its data */
    card_bench_close(&bench);
}

/* The rule every program relies on: arm, poll once more, sleep. */
static void arm_then_poll_then_sleep_misses_nothing(void)
{
    for (uint64_t at = 0; at < 6000000; at += 50000) {
        struct rnic_wc wc;
        bool polled;

        open_bench(true, 64);
        card_recv(b, 1, 0, 100);
        post(RNIC_WR_SEND, 1, RNIC_SEND_SIGNALED);
        card_bench_run(&bench, at);
        CHECK_EQ(rnic_req_notify_cq(b->dev, b->recv_cq, false, at), 0);
        polled = card_poll(b, b->recv_cq, &wc);
        card_bench_run(&bench, WIRE_NEVER);
        CHECK_EQ(b->events[RNIC_EVENT_CQ], polled ? 0 : 1);
        if (!polled) {
            CHECK_EQ(b->last[RNIC_EVENT_CQ].cq, b->recv_cq);
            card_expect(b, b->recv_cq, 1, RNIC_WC_SUCCESS);
        }
        card_bench_close(&bench);
    }
}

static void one_event_for_one_arming(void)
{
    open_bench(false, 64);
    for (uint64_t i = 0; i < 10; i++)
        card_recv(b, i, 0, 100);
    CHECK_EQ(rnic_req_notify_cq(b->dev, b->recv_cq, false, 0), 0);
    for (uint64_t i = 0; i < 5; i++)
        post(RNIC_WR_SEND, i, 0);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(b->events[RNIC_EVENT_CQ], 1);
    post(RNIC_WR_SEND, 6, 0);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(b->events[RNIC_EVENT_CQ], 1); /* not armed: silence */
    CHECK_EQ(rnic_req_notify_cq(b->dev, b->recv_cq, false, bench.now_ps), 0);
    card_bench_run(&bench, bench.now_ps + 10000000);
    CHECK_EQ(b->events[RNIC_EVENT_CQ], 1); /* what is visible already does not count */
    post(RNIC_WR_SEND, 7, 0);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(b->events[RNIC_EVENT_CQ], 2);
    card_bench_close(&bench);
}

static void the_event_comes_after_the_completion_by_its_latency(void)
{
    uint64_t visible_ps;
    struct rnic_wc wc;

    open_bench(true, 64);
    card_recv(b, 1, 0, 100);
    CHECK_EQ(rnic_req_notify_cq(b->dev, b->recv_cq, false, 0), 0);
    post(RNIC_WR_SEND, 1, 0);
    while (!card_poll(b, b->recv_cq, &wc))
        card_bench_run(&bench, bench.now_ps + 1);
    visible_ps = bench.now_ps;
    CHECK_EQ(b->events[RNIC_EVENT_CQ], 0);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(b->last[RNIC_EVENT_CQ].time_ps, visible_ps + bench.options.params.event_latency_ps);
    card_bench_close(&bench);
}

/* Solicited: set on the last packet of a SEND or a WRITE with immediate, and nowhere else. */
static void solicited_arming_waits_for_a_solicited_one(void)
{
    open_bench(false, 64);
    for (uint64_t i = 0; i < 10; i++)
        card_recv(b, i, 0, 100);
    CHECK_EQ(rnic_req_notify_cq(b->dev, b->recv_cq, true, 0), 0);
    post(RNIC_WR_SEND, 1, 0);
    post(RNIC_WR_RDMA_WRITE_WITH_IMM, 2, 0);
    post(RNIC_WR_RDMA_WRITE, 3, RNIC_SEND_SOLICITED);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(b->events[RNIC_EVENT_CQ], 0);
    post(RNIC_WR_SEND, 4, RNIC_SEND_SOLICITED);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(b->events[RNIC_EVENT_CQ], 1);
    CHECK_EQ(rnic_req_notify_cq(b->dev, b->recv_cq, true, bench.now_ps), 0);
    post(RNIC_WR_RDMA_WRITE_WITH_IMM, 5, RNIC_SEND_SOLICITED);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(b->events[RNIC_EVENT_CQ], 2);
    for (size_t i = 0; i < 5; i++)
        CHECK_EQ(!!(card_log_at(&bench, a->station, true, i)->frame.bth_flags & WIRE_BTH_SE),
                 i >= 3);
    card_bench_close(&bench);
}

/* An error counts as solicited; and armed for any stays armed for any. */
static void errors_wake_a_solicited_arming(void)
{
    struct rnic_qp_attr attr = {.qp_state = RNIC_QPS_ERR};

    open_bench(false, 64);
    card_recv(b, 1, 0, 100);
    CHECK_EQ(rnic_req_notify_cq(b->dev, b->recv_cq, true, 0), 0);
    CHECK_EQ(rnic_modify_qp(b->dev, b->qpn, &attr, RNIC_QP_STATE, 0), 0);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(b->events[RNIC_EVENT_CQ], 1);
    card_bench_close(&bench);

    open_bench(false, 64);
    card_recv(b, 1, 0, 100);
    CHECK_EQ(rnic_req_notify_cq(b->dev, b->recv_cq, false, 0), 0);
    CHECK_EQ(rnic_req_notify_cq(b->dev, b->recv_cq, true, 0), 0);
    post(RNIC_WR_SEND, 1, 0);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(b->events[RNIC_EVENT_CQ], 1);
    card_bench_close(&bench);
}

/* Unsignalled ones are silent; their slots come back with the next signalled one that is polled. */
static void unsignalled_slots_come_back_with_a_signalled_completion(void)
{
    struct rnic_sge sge;
    struct rnic_send_wr wr;

    open_bench(false, 64);
    wr = card_wr(a, RNIC_WR_RDMA_WRITE, 99, 0, 0, 100, &sge);
    for (uint64_t i = 0; i < 63; i++)
        post(RNIC_WR_RDMA_WRITE, i, 0);
    post(RNIC_WR_RDMA_WRITE, 63, RNIC_SEND_SIGNALED);
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), RNIC_ERR_FULL);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), RNIC_ERR_FULL); /* not polled yet */
    card_expect(a, a->send_cq, 63, RNIC_WC_SUCCESS);
    card_expect_none(a, a->send_cq);
    for (uint64_t i = 0; i < 64; i++)
        post(RNIC_WR_RDMA_WRITE, i, 0);
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), RNIC_ERR_FULL);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect_none(a, a->send_cq);
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), RNIC_ERR_FULL); /* for ever: verbs say so */
    card_bench_close(&bench);
}

static void unsignalled_ones_are_told_of_when_they_fail(void)
{
    struct rnic_qp_attr attr = {.qp_state = RNIC_QPS_ERR};

    open_bench(false, 64);
    a->ready_classes = 0;
    for (uint64_t i = 0; i < 3; i++)
        post(RNIC_WR_RDMA_WRITE, i, 0);
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_STATE, 0), 0);
    for (uint64_t i = 0; i < 3; i++)
        card_expect(a, a->send_cq, i, RNIC_WC_WR_FLUSH_ERR);
    card_bench_close(&bench);
}

/* A CQ of two takes two; the third is lost, and everybody is told. */
static void a_full_cq_is_an_error_of_cq_and_queue_pair(void)
{
    open_bench(false, 2);
    for (uint64_t i = 0; i < 6; i++)
        card_recv(b, i, 1000 * i, 100);
    for (uint64_t i = 0; i < 5; i++)
        post(RNIC_WR_SEND, i, 0);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(b->events[RNIC_EVENT_CQ_ERR], 1);
    CHECK_EQ(b->last[RNIC_EVENT_CQ_ERR].cq, b->recv_cq);
    CHECK_EQ(b->events[RNIC_EVENT_QP_FATAL], 1);
    CHECK_EQ(b->last[RNIC_EVENT_QP_FATAL].qpn, b->qpn);
    CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_ERR);
    card_expect(b, b->recv_cq, 0, RNIC_WC_SUCCESS);
    card_expect(b, b->recv_cq, 1, RNIC_WC_SUCCESS);
    card_expect_none(b, b->recv_cq);
    card_expect(a, a->send_cq, 2, RNIC_WC_RETRY_EXC_ERR); /* nobody answers any more */
    CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_ERR);
    card_bench_close(&bench);
}

static void a_full_send_cq_ends_the_sender(void)
{
    open_bench(false, 2);
    for (uint64_t i = 0; i < 5; i++)
        post(RNIC_WR_RDMA_WRITE, i, RNIC_SEND_SIGNALED);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(a->events[RNIC_EVENT_CQ_ERR], 1);
    CHECK_EQ(a->events[RNIC_EVENT_QP_FATAL], 1);
    CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_ERR);
    CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_RTS);
    card_bench_close(&bench);
}

/* Many objects that come, fail and go, and a host that looks at no event: nothing piles up. */
static void events_of_dead_objects_do_not_pile_up(void)
{
    struct rnic_event event;

    open_bench(false, 64);
    for (uint32_t i = 0; i < 200; i++) {
        struct rnic_qp_attr attr;
        struct wire_frame frame = {0};
        uint32_t cq, qpn;

        CARD_OK(b, rnic_create_cq(b->dev, 1, &cq, 0));
        qpn = card_new_qp(b, cq, cq);
        attr = card_attr(b, a, a->qpn);
        card_to_state(b, qpn, &attr, RNIC_QPS_RTR);
        for (uint64_t r = 0; r < 3; r++) {
            const struct rnic_recv_wr recv = {.wr_id = r};

            CHECK_EQ(rnic_post_recv(b->dev, qpn, &recv, 0), 0);
        }
        CHECK_EQ(rnic_req_notify_cq(b->dev, cq, false, 0), 0);
        frame = card_ack(b, bench.options.psn, 0, 0);
        frame.dest_qpn = qpn;
        frame.opcode = WIRE_OP_SEND_MIDDLE; /* invalid: flushes three into a CQ of one */
        frame.payload_bytes = 1024;
        (void)card_deliver(&bench, b, &frame);
        CHECK_EQ(card_state(b, qpn), RNIC_QPS_ERR);
        if (i % 2 == 0) {
            attr.qp_state = RNIC_QPS_RESET;
            CHECK_EQ(rnic_modify_qp(b->dev, qpn, &attr, RNIC_QP_STATE, 0), 0);
        }
        CHECK_EQ(rnic_destroy_qp(b->dev, qpn, 0), 0);
        CHECK_EQ(rnic_destroy_cq(b->dev, cq, 0), 0);
    }
    CHECK(!rnic_event(b->dev, WIRE_NEVER - 1, &event));
    card_bench_close(&bench);
}

/* A completion that is polled gives the slot of its request back, and that one alone. */
static void each_completion_gives_its_slot_back(void)
{
    struct rnic_sge sge;
    struct rnic_send_wr wr;

    open_bench(false, 128);
    wr = card_wr(a, RNIC_WR_RDMA_WRITE, 0, 0, 0, 8, &sge);
    wr.send_flags = RNIC_SEND_SIGNALED;
    for (uint32_t i = 0; i < bench.options.depth; i++)
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), RNIC_ERR_FULL);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, bench.now_ps), RNIC_ERR_FULL); /* not polled */
    for (uint32_t i = 0; i < 3; i++) {
        card_expect(a, a->send_cq, 0, RNIC_WC_SUCCESS);
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, bench.now_ps), 0);
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, bench.now_ps), RNIC_ERR_FULL);
    }
    card_bench_close(&bench);
}

CHECK_SUITE(rc_cq, CHECK_CASE(a_completion_is_seen_at_its_time_and_not_before),
            CHECK_CASE(arm_then_poll_then_sleep_misses_nothing),
            CHECK_CASE(one_event_for_one_arming),
            CHECK_CASE(the_event_comes_after_the_completion_by_its_latency),
            CHECK_CASE(solicited_arming_waits_for_a_solicited_one),
            CHECK_CASE(errors_wake_a_solicited_arming),
            CHECK_CASE(unsignalled_slots_come_back_with_a_signalled_completion),
            CHECK_CASE(unsignalled_ones_are_told_of_when_they_fail),
            CHECK_CASE(a_full_cq_is_an_error_of_cq_and_queue_pair),
            CHECK_CASE(a_full_send_cq_ends_the_sender),
            CHECK_CASE(events_of_dead_objects_do_not_pile_up),
            CHECK_CASE(each_completion_gives_its_slot_back))
