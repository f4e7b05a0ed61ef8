/* SPDX-License-Identifier: GPL-2.0-only */
/* Completions by opcode and service; what goes on when a queue pair fails, and what does not. */
#include "card.h"
#include "rnic_complete.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static void open_bench(enum rnic_qp_type type, uint32_t srq_depth)
{
    struct card_options options = card_options_ideal();

    options.type = type;
    options.rd_atomic = 4;
    options.access = CARD_ACCESS_ALL;
    options.srq_depth = srq_depth;
    card_bench_open(&bench, 2, &options);
}

static struct rnic_qp *qp_of(const struct card *card)
{
    return rnic_table_qp_find(&card->dev->qps, card->qpn);
}

static int modify(const struct card *card, enum rnic_qp_state state)
{
    const struct rnic_qp_attr attr = {.qp_state = state};

    return rnic_modify_qp(card->dev, card->qpn, &attr, RNIC_QP_STATE, bench.now_ps);
}

/* A datagram or message of 8 bytes whose buffer is nobody's (`bad`) or fine. */
static void send_somewhere(uint64_t wr_id, bool bad)
{
    const struct rnic_av av = {.dest_station = b->station, .next_hop = b->station, .hop_limit = 64};
    struct rnic_sge sge;
    struct rnic_send_wr wr = card_wr(a, RNIC_WR_SEND, wr_id, 0, 0, 8, &sge);

    wr.ud.remote_qpn = b->qpn;
    wr.ud.remote_qkey = CARD_QKEY;
    CARD_OK(a, rnic_create_ah(a->dev, a->pd, &av, &wr.ud.ah, bench.now_ps));
    sge.lkey ^= bad ? 0x55 : 0;
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, bench.now_ps), 0);
}

/* ---- opcodes ---- */

static void each_opcode_has_its_own(void)
{
    static const struct {
        enum rnic_wr_opcode opcode;
        uint32_t bytes;
        enum rnic_wc_opcode want;
    } cases[] = {
        {RNIC_WR_RDMA_WRITE, 3000, RNIC_WC_RDMA_WRITE},
        {RNIC_WR_RDMA_WRITE_WITH_IMM, 100, RNIC_WC_RDMA_WRITE},
        {RNIC_WR_SEND, 100, RNIC_WC_SEND},
        {RNIC_WR_SEND_WITH_IMM, 100, RNIC_WC_SEND},
        {RNIC_WR_RDMA_READ, 3000, RNIC_WC_RDMA_READ},
        {RNIC_WR_ATOMIC_CMP_AND_SWP, 8, RNIC_WC_COMP_SWAP},
        {RNIC_WR_ATOMIC_FETCH_AND_ADD, 8, RNIC_WC_FETCH_ADD},
    };

    open_bench(RNIC_QPT_RC, 0);
    for (uint64_t i = 0; i < 3; i++)
        card_recv(b, i, 4096, 1000);
    for (uint64_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        card_post(a, cases[i].opcode, i, 0, 0, cases[i].bytes);
    card_bench_run(&bench, WIRE_NEVER);
    for (uint64_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rnic_wc wc = card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);

        CHECK_EQ(wc.opcode, cases[i].want);
        CHECK_EQ(wc.byte_len, cases[i].bytes);
        CHECK_EQ(wc.qp_num, a->qpn);
        CHECK_EQ(wc.vendor_err, 0);
    }
    card_bench_close(&bench);
}

static struct rnic_send_wr bind_wr(uint64_t wr_id, uint32_t mw, uint32_t key)
{
    struct rnic_send_wr wr = {.wr_id = wr_id, .opcode = RNIC_WR_BIND_MW, .rkey = key};

    wr.bind_mw.mw = mw;
    wr.bind_mw.mr = a->key;
    wr.bind_mw.addr = CARD_VA;
    wr.bind_mw.length = 64;
    wr.bind_mw.access = RNIC_ACCESS_REMOTE_READ;
    return wr;
}

/* Carried out at once, told in order: behind a WRITE that is not acknowledged. */
static void local_operations_complete_in_order(void)
{
    struct rnic_send_wr wr;
    struct rnic_wc wc;
    struct wire_frame ack;
    uint32_t mw;

    open_bench(RNIC_QPT_RC, 0);
    CARD_OK(a, rnic_alloc_mw(a->dev, a->pd, &mw, 0));
    b->ready_classes = 0; /* no acknowledge */
    card_write(a, 1, 0, 0, 100);
    wr = bind_wr(2, mw, mw ^ 1);
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
    wr = (struct rnic_send_wr){.wr_id = 3, .opcode = RNIC_WR_LOCAL_INV, .invalidate_rkey = mw ^ 1};
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
    card_bench_run(&bench, 1000000);
    card_expect_none(a, a->send_cq);
    ack = card_ack(a, bench.options.psn, 0x1F, 0);
    CHECK_EQ(card_deliver(&bench, a, &ack), WIRE_DROP_NONE);
    wc = card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    wc = card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
    CHECK_EQ(wc.opcode, RNIC_WC_BIND_MW);
    CHECK_EQ(wc.byte_len, 0);
    wc = card_expect(a, a->send_cq, 3, RNIC_WC_SUCCESS);
    CHECK_EQ(wc.opcode, RNIC_WC_LOCAL_INV);
    card_bench_close(&bench);
}

/* In SQD a bind waits as any request: the acknowledge of the one before it does not complete it. */
static void a_local_operation_waits_in_sqd(void)
{
    struct rnic_send_wr wr;
    struct wire_frame ack;
    uint32_t mw;

    open_bench(RNIC_QPT_RC, 0);
    CARD_OK(a, rnic_alloc_mw(a->dev, a->pd, &mw, 0));
    b->ready_classes = 0; /* no acknowledge */
    card_write(a, 1, 0, 0, 100);
    card_bench_run(&bench, 1000000);
    CHECK_EQ(modify(a, RNIC_QPS_SQD), 0);
    wr = bind_wr(2, mw, mw ^ 1);
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, bench.now_ps), 0);
    ack = card_ack(a, bench.options.psn, 0x1F, 0);
    CHECK_EQ(card_deliver(&bench, a, &ack), WIRE_DROP_NONE);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_expect_none(a, a->send_cq);
    CHECK_EQ(a->dev->mrs.bound, 0);
    CHECK_EQ(modify(a, RNIC_QPS_RTS), 0);
    CHECK_EQ(a->dev->mrs.bound, 1);
    card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

/* A bind that is refused fails the queue pair, when its turn has come. */
static void a_local_operation_that_fails(void)
{
    struct rnic_send_wr wr;
    uint32_t mw;

    for (uint32_t inv = 0; inv < 2; inv++) {
        open_bench(RNIC_QPT_RC, 0);
        CARD_OK(a, rnic_alloc_mw(a->dev, a->pd, &mw, 0));
        card_write(a, 1, 0, 0, 3000);
        wr = bind_wr(2, mw ^ 2, mw ^ 1); /* no such key */
        if (inv)
            wr = (struct rnic_send_wr){
                .wr_id = 2, .opcode = RNIC_WR_LOCAL_INV, .invalidate_rkey = mw}; /* unbound */
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
        card_write(a, 3, 0, 0, 100);
        card_bench_run(&bench, WIRE_NEVER);
        card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
        card_expect(a, a->send_cq, 2, inv ? RNIC_WC_LOC_QP_OP_ERR : RNIC_WC_MW_BIND_ERR);
        card_expect(a, a->send_cq, 3, RNIC_WC_WR_FLUSH_ERR);
        CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_ERR);
        card_bench_close(&bench);
    }
}

/* ---- UC, UD ---- */

/* Complete when sent: nobody answers. */
static void unreliable_requests_complete_when_they_are_sent(void)
{
    for (int type = RNIC_QPT_UC; type <= RNIC_QPT_UD; type++) {
        open_bench((enum rnic_qp_type)type, 0);
        for (uint64_t i = 0; i < 5; i++)
            send_somewhere(i, false);
        card_bench_run(&bench, WIRE_NEVER);
        for (uint64_t i = 0; i < 5; i++)
            CHECK_EQ(card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS).opcode, RNIC_WC_SEND);
        CHECK_EQ(card_log_count(&bench, b->station, false), 0);
        CHECK_EQ(rnic_next_wake(a->dev), WIRE_NEVER);
        card_bench_close(&bench);
    }
}

/* A send error stops the send queue alone: receives go on, RTS makes it work again. */
static void a_send_error_stops_sends_only(void)
{
    for (int type = RNIC_QPT_UC; type <= RNIC_QPT_UD; type++) {
        struct wire_frame frame;
        struct rnic_wc wc;

        open_bench((enum rnic_qp_type)type, 0);
        for (uint64_t i = 0; i < 4; i++)
            card_recv(a, i, 4096 * i, 1000);
        for (uint64_t i = 0; i < 4; i++)
            card_recv(b, i, 4096 * i, 1000);
        send_somewhere(1, false);
        send_somewhere(2, true);
        send_somewhere(3, false);
        card_bench_run(&bench, WIRE_NEVER);
        card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
        card_expect(a, a->send_cq, 2, RNIC_WC_LOC_PROT_ERR);
        card_expect(a, a->send_cq, 3, RNIC_WC_WR_FLUSH_ERR);
        CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_SQE);
        card_expect_none(a, a->recv_cq); /* not flushed */
        send_somewhere(4, false);
        card_bench_run(&bench, WIRE_NEVER);
        card_expect(a, a->send_cq, 4, RNIC_WC_WR_FLUSH_ERR);
        frame = card_request(
            a, type == RNIC_QPT_UC ? 0x20 | WIRE_OP_SEND_ONLY : 0x60 | WIRE_OP_SEND_ONLY, 0, 8);
        CHECK_EQ(card_deliver(&bench, a, &frame), WIRE_DROP_NONE);
        card_bench_run(&bench, WIRE_NEVER);
        card_expect(a, a->recv_cq, 0, RNIC_WC_SUCCESS);
        CHECK_EQ(modify(a, RNIC_QPS_RTS), 0);
        send_somewhere(5, false);
        card_bench_run(&bench, WIRE_NEVER);
        card_expect(a, a->send_cq, 5, RNIC_WC_SUCCESS);
        card_expect(b, b->recv_cq, 0, RNIC_WC_SUCCESS);
        wc = card_expect(b, b->recv_cq, 1, RNIC_WC_SUCCESS); /* no PSN is missing */
        CHECK_EQ(wc.byte_len, type == RNIC_QPT_UD ? 48 : 8);
        CHECK_EQ(card_log_at(&bench, a->station, true, 1)->frame.psn.v,
                 (bench.options.psn + 1) & WIRE_PSN_MASK);
        card_bench_close(&bench);
    }
}

/* ---- shared receive queues ---- */

/* The request an open message has taken is flushed, the others are the queue's; then the event. */
static void the_last_request_of_a_shared_queue(void)
{
    struct wire_frame frame;
    uint32_t queued;

    open_bench(RNIC_QPT_RC, 8);
    CHECK_EQ(qp_of(b)->rq.mask, 0); /* one slot */
    for (uint64_t i = 0; i < 3; i++)
        card_recv(b, i, 0, 5000);
    CHECK_EQ(rnic_post_recv(b->dev, b->qpn, &(struct rnic_recv_wr){.wr_id = 9}, 0), RNIC_ERR_INVAL);
    frame = card_request(b, WIRE_OP_SEND_FIRST, 0, 1024);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    CHECK_EQ(rnic_query_srq(b->dev, b->srq, NULL, &queued), 0);
    CHECK_EQ(queued, 2);
    CHECK_EQ(modify(b, RNIC_QPS_ERR), 0);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(b, b->recv_cq, 0, RNIC_WC_WR_FLUSH_ERR);
    card_expect_none(b, b->recv_cq);
    CHECK_EQ(b->events[RNIC_EVENT_LAST_WQE], 1);
    CHECK_EQ(b->last[RNIC_EVENT_LAST_WQE].qpn, b->qpn);
    CHECK_EQ(modify(b, RNIC_QPS_ERR), 0);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(b->events[RNIC_EVENT_LAST_WQE], 1);
    CHECK_EQ(rnic_query_srq(b->dev, b->srq, NULL, &queued), 0);
    CHECK_EQ(queued, 2);
    card_bench_close(&bench);
    open_bench(RNIC_QPT_RC, 0); /* without one there is no such event */
    CHECK_EQ(modify(b, RNIC_QPS_ERR), 0);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(b->events[RNIC_EVENT_LAST_WQE], 0);
    card_bench_close(&bench);
}

/* ---- the responder at its end ---- */

/* It refuses a WRITE while a READ before it is still to be answered: answer, then NAK. */
static void a_refusal_leaves_what_is_owed(void)
{
    struct rnic_sge sge;
    struct rnic_send_wr wr;

    open_bench(RNIC_QPT_RC, 0);
    b->ready_classes = 0;
    card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 3000);
    wr = card_wr(a, RNIC_WR_RDMA_WRITE, 2, 0, 0, 8, &sge);
    wr.rkey ^= 0x77;
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
    card_bench_run(&bench, 1000000);
    CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_ERR);
    CHECK(qp_of(b)->respond.pending > 0);
    b->ready_classes = 0xFF;
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_EQ(card_expect(a, a->send_cq, 2, RNIC_WC_REM_ACCESS_ERR).vendor_err, 0x62);
    card_bench_close(&bench);
}

/* Any other way to ERR answers no more. */
static void an_error_of_its_own_answers_no_more(void)
{
    open_bench(RNIC_QPT_RC, 0);
    b->ready_classes = 0;
    card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 3000);
    card_bench_run(&bench, 1000000);
    CHECK(qp_of(b)->respond.pending > 0);
    CHECK_EQ(modify(b, RNIC_QPS_ERR), 0);
    CHECK_EQ(qp_of(b)->respond.pending, 0);
    CHECK_EQ(qp_of(b)->response.place, RNIC_FLOW_NOWHERE);
    b->ready_classes = 0xFF;
    card_bench_run(&bench, 2000000);
    CHECK_EQ(card_log_count(&bench, b->station, false), 0);
    card_bench_close(&bench);
}

/* The completion queue overflows while SQE flushes: ERR, and nothing is told twice. */
static void a_full_completion_queue_in_sqe(void)
{
    struct card_options options = card_options_ideal();

    options.type = RNIC_QPT_UC;
    options.cqe = 2;
    card_bench_open(&bench, 2, &options);
    send_somewhere(0, true);
    for (uint64_t i = 1; i < 5; i++)
        send_somewhere(i, false);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 0, RNIC_WC_LOC_PROT_ERR);
    card_expect(a, a->send_cq, 1, RNIC_WC_WR_FLUSH_ERR);
    card_expect_none(a, a->send_cq);
    CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_ERR);
    CHECK_EQ(a->events[RNIC_EVENT_QP_FATAL], 1);
    CHECK_EQ(qp_of(a)->sq_una, qp_of(a)->sq.head);
    card_bench_close(&bench);
}

/* The queue is full before: not even the error itself finds room. */
static void a_full_completion_queue_before_sqe(void)
{
    struct card_options options = card_options_ideal();

    options.type = RNIC_QPT_UC;
    options.cqe = 1;
    card_bench_open(&bench, 2, &options);
    send_somewhere(0, false);
    send_somewhere(1, true);
    send_somewhere(2, false);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_ERR); /* and not SQE */
    card_expect(a, a->send_cq, 0, RNIC_WC_SUCCESS);
    card_expect_none(a, a->send_cq);
    CHECK_EQ(a->events[RNIC_EVENT_QP_FATAL], 1);
    CHECK_EQ(modify(a, RNIC_QPS_RTS), RNIC_ERR_INVAL);
    card_bench_close(&bench);
}

CHECK_SUITE(complete_kinds, CHECK_CASE(each_opcode_has_its_own),
            CHECK_CASE(local_operations_complete_in_order),
            CHECK_CASE(a_local_operation_waits_in_sqd), CHECK_CASE(a_local_operation_that_fails),
            CHECK_CASE(unreliable_requests_complete_when_they_are_sent),
            CHECK_CASE(a_send_error_stops_sends_only),
            CHECK_CASE(the_last_request_of_a_shared_queue),
            CHECK_CASE(a_refusal_leaves_what_is_owed),
            CHECK_CASE(an_error_of_its_own_answers_no_more),
            CHECK_CASE(a_full_completion_queue_in_sqe),
            CHECK_CASE(a_full_completion_queue_before_sqe))
