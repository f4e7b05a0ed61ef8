/* SPDX-License-Identifier: GPL-2.0-only */
/* RC with a shared receive queue: who takes which request, when, and what becomes of it. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

#define MTU 1024u

static uint32_t second; /* another queue pair of card 1, on the same shared queue */

static void begin(void)
{
    struct card_options options = card_options_ideal();
    struct rnic_qp_attr attr;

    options.srq_depth = 8;
    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = 4;
    card_bench_open(&bench, 2, &options);
    second = card_new_qp(b, b->send_cq, b->recv_cq);
    attr = card_attr(b, a, 99);
    card_to_state(b, second, &attr, RNIC_QPS_RTS);
}

static void give(uint32_t qpn, uint8_t opcode, uint32_t psn, uint32_t bytes, enum wire_drop drop)
{
    struct wire_frame frame = card_request(b, opcode, psn, bytes);

    frame.dest_qpn = qpn;
    CHECK_EQ(card_deliver(&bench, b, &frame), drop);
    card_bench_run(&bench, bench.now_ps + 10000000);
}

static struct rnic_wc expect(uint64_t wr_id, enum rnic_wc_status status, uint32_t qpn)
{
    struct rnic_wc wc = card_expect(b, b->recv_cq, wr_id, status);

    CHECK_EQ(wc.qp_num, qpn);
    return wc;
}

static uint32_t queued(void)
{
    uint32_t n;

    CHECK_EQ(rnic_query_srq(b->dev, b->srq, NULL, &n), 0);
    return n;
}

static uint8_t last_syndrome(void)
{
    size_t n = card_log_count(&bench, b->station, false);

    CHECK(n > 0);
    return card_log_at(&bench, b->station, false, n - 1)->frame.syndrome;
}

/* Two messages at once: each keeps what it took where it began, whoever ends first. */
static void messages_take_in_the_order_of_their_beginnings(void)
{
    begin();
    for (uint64_t i = 0; i < 3; i++)
        card_recv(b, i, 4096 * i, 2 * MTU);
    give(b->qpn, WIRE_OP_SEND_FIRST, 0, MTU, WIRE_DROP_NONE);
    CHECK_EQ(queued(), 2);
    give(second, WIRE_OP_SEND_FIRST, 0, MTU, WIRE_DROP_NONE);
    CHECK_EQ(queued(), 1);
    give(second, WIRE_OP_SEND_LAST, 1, 7, WIRE_DROP_NONE);
    CHECK_EQ(expect(1, RNIC_WC_SUCCESS, second).byte_len, MTU + 7);
    give(second, WIRE_OP_SEND_ONLY, 2, 5, WIRE_DROP_NONE);
    CHECK_EQ(expect(2, RNIC_WC_SUCCESS, second).byte_len, 5);
    give(b->qpn, WIRE_OP_SEND_LAST, 1, 9, WIRE_DROP_NONE);
    CHECK_EQ(expect(0, RNIC_WC_SUCCESS, b->qpn).byte_len, MTU + 9);
    CHECK_EQ(last_syndrome(), 0x1F); /* credits are never given */
    card_bench_close(&bench);
}

/* Only what needs a request takes one, a WRITE where its immediate is, and a repeat none. */
static void what_needs_no_request_takes_none(void)
{
    struct wire_frame frame;

    begin();
    card_recv(b, 1, 0, MTU);
    card_recv(b, 2, 0, MTU);
    give(b->qpn, WIRE_OP_WRITE_ONLY, 0, 8, WIRE_DROP_NONE);
    give(b->qpn, WIRE_OP_READ_REQUEST, 1, 8, WIRE_DROP_NONE);
    frame = card_request(b, WIRE_OP_WRITE_FIRST, 2, MTU);
    frame.dma_bytes = MTU + 8;
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    CHECK_EQ(queued(), 2);
    give(b->qpn, WIRE_OP_WRITE_LAST_IMM, 3, 8, WIRE_DROP_NONE);
    CHECK_EQ(queued(), 1);
    CHECK_EQ(expect(1, RNIC_WC_SUCCESS, b->qpn).byte_len, MTU + 8);
    give(b->qpn, WIRE_OP_WRITE_LAST_IMM, 3, 8, WIRE_DROP_DUPLICATE);
    CHECK_EQ(queued(), 1);
    card_bench_close(&bench);
}

static void an_empty_queue_is_rnr(void)
{
    begin();
    give(b->qpn, WIRE_OP_SEND_ONLY, 0, 8, WIRE_DROP_RNR_WAIT);
    CHECK_EQ(last_syndrome() & 0xE0, 0x20);
    give(b->qpn, WIRE_OP_WRITE_ONLY, 1, 8, WIRE_DROP_RNR_WAIT);
    give(second, WIRE_OP_WRITE_ONLY, 0, 8, WIRE_DROP_NONE); /* no concern of the other's */
    card_recv(b, 1, 0, MTU);
    give(b->qpn, WIRE_OP_SEND_ONLY, 0, 8, WIRE_DROP_NONE);
    (void)expect(1, RNIC_WC_SUCCESS, b->qpn);
    card_bench_close(&bench);
}

/* Once, when fewer than the limit are left; then it has to be armed again. */
static void the_limit_is_told_once(void)
{
    begin();
    for (uint64_t i = 0; i < 6; i++)
        card_recv(b, i, 0, MTU);
    CHECK_EQ(rnic_modify_srq(b->dev, b->srq, 4, bench.now_ps), 0);
    for (uint32_t i = 0; i < 2; i++)
        give(b->qpn, WIRE_OP_SEND_ONLY, i, 8, WIRE_DROP_NONE);
    CHECK_EQ(b->events[RNIC_EVENT_SRQ_LIMIT], 0); /* 4 are left: not fewer */
    give(b->qpn, WIRE_OP_SEND_ONLY, 2, 8, WIRE_DROP_NONE);
    CHECK_EQ(b->events[RNIC_EVENT_SRQ_LIMIT], 1);
    CHECK_EQ(b->last[RNIC_EVENT_SRQ_LIMIT].srq, b->srq);
    give(b->qpn, WIRE_OP_SEND_ONLY, 3, 8, WIRE_DROP_NONE);
    CHECK_EQ(b->events[RNIC_EVENT_SRQ_LIMIT], 1);
    CHECK_EQ(rnic_modify_srq(b->dev, b->srq, 2, bench.now_ps), 0);
    give(b->qpn, WIRE_OP_SEND_ONLY, 4, 8, WIRE_DROP_NONE);
    CHECK_EQ(b->events[RNIC_EVENT_SRQ_LIMIT], 2);
    card_bench_close(&bench);
}

/* A refused message: the request it took ends in error, the others stay for the other one. */
static void a_queue_pair_that_fails_leaves_the_rest(void)
{
    begin();
    for (uint64_t i = 0; i < 3; i++)
        card_recv(b, i, 0, MTU + 1);
    give(b->qpn, WIRE_OP_SEND_FIRST, 0, MTU, WIRE_DROP_NONE);
    give(b->qpn, WIRE_OP_SEND_LAST, 1, 2, WIRE_DROP_REFUSED);
    CHECK_EQ(last_syndrome(), 0x61);
    (void)expect(0, RNIC_WC_LOC_LEN_ERR, b->qpn);
    CHECK_EQ(queued(), 2);
    CHECK_EQ(b->events[RNIC_EVENT_LAST_WQE], 1);
    CHECK_EQ(b->last[RNIC_EVENT_LAST_WQE].qpn, b->qpn);
    give(second, WIRE_OP_SEND_ONLY, 0, 8, WIRE_DROP_NONE);
    (void)expect(1, RNIC_WC_SUCCESS, second);
    card_expect_none(b, b->recv_cq);
    card_bench_close(&bench);
}

/* The open message's request tells what went wrong. */
static void an_open_message_tells_of_the_refusal(void)
{
    struct wire_frame frame;

    begin();
    card_recv(b, 1, 0, 2 * MTU);
    card_recv(b, 2, 0, 2 * MTU);
    give(b->qpn, WIRE_OP_SEND_FIRST, 0, MTU, WIRE_DROP_NONE);
    frame = card_request(b, WIRE_OP_WRITE_ONLY, 1, 8); /* not inside a SEND */
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_REFUSED);
    card_bench_run(&bench, bench.now_ps + 10000000);
    (void)expect(1, RNIC_WC_LOC_QP_OP_ERR, b->qpn);
    card_expect_none(b, b->recv_cq);
    CHECK_EQ(queued(), 1);
    CHECK_EQ(b->events[RNIC_EVENT_LAST_WQE], 1);
    card_bench_close(&bench);
}

CHECK_SUITE(srq_responder, CHECK_CASE(messages_take_in_the_order_of_their_beginnings),
            CHECK_CASE(what_needs_no_request_takes_none), CHECK_CASE(an_empty_queue_is_rnr),
            CHECK_CASE(the_limit_is_told_once), CHECK_CASE(a_queue_pair_that_fails_leaves_the_rest),
            CHECK_CASE(an_open_message_tells_of_the_refusal))
