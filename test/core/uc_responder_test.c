/* SPDX-License-Identifier: GPL-2.0-only */
/* UC at the responder: nothing is answered; what is lost takes its message with it, no more. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

#define MTU 1024u
#define UC(op) (uint8_t)(WIRE_TRANSPORT_UC | (op))

static struct card_options uc_options(void)
{
    struct card_options options = card_options_ideal();

    options.type = RNIC_QPT_UC;
    return options;
}

static void begin(void)
{
    const struct card_options options = uc_options();

    card_bench_open(&bench, 2, &options);
}

/* Nothing was answered, whatever happened, and the queue pair goes on. */
static void end(void)
{
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(card_log_count(&bench, b->station, false), 0);
    CHECK_EQ(card_log_count(&bench, b->station, true), 0);
    CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_RTS);
    CHECK_EQ(b->events[RNIC_EVENT_QP_REQ_ERR], 0);
    CHECK_EQ(b->events[RNIC_EVENT_QP_ACCESS_ERR], 0);
    card_bench_close(&bench);
}

static void give(uint8_t opcode, uint32_t psn, uint32_t bytes, uint32_t dma_bytes,
                 enum wire_drop drop)
{
    struct wire_frame frame = card_request(b, UC(opcode), psn, bytes);

    frame.dma_bytes = dma_bytes;
    frame.imm = psn;
    CHECK_EQ(card_deliver(&bench, b, &frame), drop);
}

static struct rnic_wc expect(uint64_t wr_id, enum rnic_wc_status status)
{
    card_bench_run(&bench, bench.now_ps + 10000000);
    return card_expect(b, b->recv_cq, wr_id, status);
}

static void messages_are_received(void)
{
    struct rnic_wc wc;

    begin();
    card_recv(b, 1, 0, 3 * MTU);
    card_recv(b, 2, 0, 0);
    card_recv(b, 3, 0, 3 * MTU);
    give(WIRE_OP_SEND_FIRST, 0, MTU, 0, WIRE_DROP_NONE);
    give(WIRE_OP_SEND_MIDDLE, 1, MTU, 0, WIRE_DROP_NONE);
    give(WIRE_OP_SEND_LAST_IMM, 2, 7, 0, WIRE_DROP_NONE);
    give(WIRE_OP_WRITE_FIRST, 3, MTU, MTU + 9, WIRE_DROP_NONE);
    give(WIRE_OP_WRITE_LAST_IMM, 4, 9, 0, WIRE_DROP_NONE);
    give(WIRE_OP_WRITE_ONLY, 5, 9, 9, WIRE_DROP_NONE);
    give(WIRE_OP_SEND_ONLY, 6, 0, 0, WIRE_DROP_NONE);
    wc = expect(1, RNIC_WC_SUCCESS);
    CHECK_EQ(wc.byte_len, 2 * MTU + 7);
    CHECK_EQ(wc.imm, 2);
    wc = expect(2, RNIC_WC_SUCCESS);
    CHECK_EQ(wc.opcode, RNIC_WC_RECV_RDMA_WITH_IMM);
    CHECK_EQ(wc.byte_len, MTU + 9);
    wc = expect(3, RNIC_WC_SUCCESS);
    CHECK_EQ(wc.byte_len, 0);
    CHECK_EQ(card_counters(b, b->qpn).rx_packets, 7);
    end();
}

/* Each packet of a message of four is lost in turn: the next message is whole, with its request. */
static void a_loss_costs_one_message(void)
{
    for (uint32_t lost = 0; lost < 4; lost++) {
        static const uint8_t opcodes[] = {WIRE_OP_SEND_FIRST, WIRE_OP_SEND_MIDDLE,
                                          WIRE_OP_SEND_MIDDLE, WIRE_OP_SEND_LAST};
        struct rnic_wc wc;

        begin();
        card_recv(b, 1, 0, 4 * MTU);
        card_recv(b, 2, 0, 4 * MTU);
        for (uint32_t i = 0; i < 4; i++)
            if (i != lost)
                give(opcodes[i], i, MTU, 0, i < lost ? WIRE_DROP_NONE : WIRE_DROP_PSN_GAP);
        card_bench_run(&bench, bench.now_ps + 10000000);
        card_expect_none(b, b->recv_cq);
        give(WIRE_OP_SEND_FIRST, 4, MTU, 0, WIRE_DROP_NONE);
        give(WIRE_OP_SEND_LAST, 5, 3, 0, WIRE_DROP_NONE);
        wc = expect(1, RNIC_WC_SUCCESS);
        CHECK_EQ(wc.byte_len, MTU + 3);
        give(WIRE_OP_SEND_ONLY, 6, 2, 0, WIRE_DROP_NONE);
        (void)expect(2, RNIC_WC_SUCCESS);
        end();
    }
}

/* Whole messages are lost, or come from the past: the next that begins is the expectation. */
static void the_next_beginning_is_expected(void)
{
    begin();
    for (uint64_t i = 0; i < 4; i++)
        card_recv(b, i, 0, MTU);
    give(WIRE_OP_SEND_ONLY, 100, 1, 0, WIRE_DROP_NONE);
    give(WIRE_OP_SEND_ONLY, 90, 1, 0, WIRE_DROP_NONE);
    give(WIRE_OP_SEND_ONLY, 91, 1, 0, WIRE_DROP_NONE);
    give(WIRE_OP_SEND_LAST, 92, 1, 0, WIRE_DROP_PSN_GAP); /* in order, but nothing is open */
    give(WIRE_OP_SEND_ONLY, 93, 1, 0, WIRE_DROP_NONE);
    for (uint64_t i = 0; i < 4; i++)
        (void)expect(i, RNIC_WC_SUCCESS);
    end();
}

/* A WRITE that lost its middle leaves its first bytes, and no completion. */
static void a_lost_write_tells_nobody(void)
{
    begin();
    card_recv(b, 1, 0, 0);
    give(WIRE_OP_WRITE_FIRST, 0, MTU, 3 * MTU, WIRE_DROP_NONE);
    give(WIRE_OP_WRITE_LAST_IMM, 2, MTU, 0, WIRE_DROP_PSN_GAP);
    give(WIRE_OP_WRITE_FIRST, 3, MTU, 2 * MTU, WIRE_DROP_NONE);
    give(WIRE_OP_SEND_LAST, 4, 1, 0, WIRE_DROP_PSN_GAP); /* of another kind than what is open */
    give(WIRE_OP_WRITE_LAST_IMM, 5, MTU, 0, WIRE_DROP_PSN_GAP);
    card_bench_run(&bench, bench.now_ps + 10000000);
    card_expect_none(b, b->recv_cq);
    give(WIRE_OP_WRITE_ONLY_IMM, 6, 8, 8, WIRE_DROP_NONE);
    (void)expect(1, RNIC_WC_SUCCESS);
    end();
}

/* No receive request: the message is lost and counted, also for the immediate at the end. */
static void without_a_receive_request_a_message_is_dropped(void)
{
    begin();
    give(WIRE_OP_SEND_ONLY, 0, 8, 0, WIRE_DROP_NO_RECV);
    give(WIRE_OP_SEND_FIRST, 1, MTU, 0, WIRE_DROP_NO_RECV);
    card_recv(b, 1, 0, 4 * MTU);
    give(WIRE_OP_SEND_LAST, 2, 1, 0, WIRE_DROP_PSN_GAP); /* the rest of it too */
    give(WIRE_OP_SEND_ONLY, 3, 8, 0, WIRE_DROP_NONE);
    (void)expect(1, RNIC_WC_SUCCESS);
    give(WIRE_OP_WRITE_FIRST, 4, MTU, MTU + 8, WIRE_DROP_NONE);
    give(WIRE_OP_WRITE_LAST_IMM, 5, 8, 0, WIRE_DROP_NO_RECV);
    give(WIRE_OP_WRITE_ONLY_IMM, 6, 8, 8, WIRE_DROP_NO_RECV);
    CHECK_EQ(rnic_query_counters(b->dev)->drops[WIRE_DROP_NO_RECV], 4);
    give(WIRE_OP_WRITE_FIRST, 7, MTU, MTU + 8, WIRE_DROP_NONE);
    give(WIRE_OP_WRITE_LAST_IMM, 8, 8, 0, WIRE_DROP_NO_RECV);
    card_recv(b, 2, 0, 0);
    give(WIRE_OP_WRITE_LAST_IMM, 8, 8, 0, WIRE_DROP_PSN_GAP); /* it was lost for good */
    give(WIRE_OP_WRITE_FIRST, 9, MTU, MTU + 8, WIRE_DROP_NONE);
    give(WIRE_OP_WRITE_LAST_IMM, 10, 9, 0, WIRE_DROP_REFUSED); /* longer than announced */
    give(WIRE_OP_WRITE_LAST_IMM, 10, 8, 0, WIRE_DROP_PSN_GAP);
    give(WIRE_OP_WRITE_ONLY_IMM, 11, 8, 8, WIRE_DROP_NONE);
    CHECK_EQ(expect(2, RNIC_WC_SUCCESS).imm, 11);
    end();
}

/* Key, right, length: dropped silently, no byte moves; the receive request serves the next. */
static void what_is_wrong_is_dropped(void)
{
    struct wire_frame frame;

    begin();
    card_recv(b, 1, 4096, MTU + 1);
    for (unsigned i = 0; i < 7; i++) {
        frame = card_request(b, UC(i < 5 ? WIRE_OP_WRITE_ONLY_IMM : WIRE_OP_SEND_ONLY), i, 8);
        frame.rkey ^= i == 0;                       /* key */
        frame.va = i == 1 ? CARD_VA - 1 : frame.va; /* bounds */
        frame.dma_bytes = i == 2   ? 9              /* not as long as it says */
                          : i == 3 ? 0x80000001u
                                   : 8; /* longer than any */
        frame.payload_bytes = i == 4 || i == 5 ? MTU + 1 : 8;
        if (i == 6)
            frame.opcode = UC(WIRE_OP_SEND_FIRST); /* FIRST is one MTU */
        CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_REFUSED);
        CHECK_EQ(b->bytes[0], 0);
    }
    give(WIRE_OP_SEND_FIRST, 10, MTU, 0, WIRE_DROP_NONE);
    give(WIRE_OP_SEND_LAST, 11, 2, 0, WIRE_DROP_REFUSED); /* one byte longer than its request */
    give(WIRE_OP_SEND_MIDDLE, 12, MTU, 0, WIRE_DROP_PSN_GAP);
    card_bench_run(&bench, bench.now_ps + 10000000);
    card_expect_none(b, b->recv_cq);
    give(WIRE_OP_SEND_ONLY, 20, 8, 0, WIRE_DROP_NONE);
    (void)expect(1, RNIC_WC_SUCCESS);
    end();
}

static void what_is_not_enabled_is_dropped(void)
{
    struct card_options options = uc_options();

    options.access = RNIC_ACCESS_LOCAL_WRITE;
    card_bench_open(&bench, 2, &options);
    give(WIRE_OP_WRITE_ONLY, 0, 8, 8, WIRE_DROP_REFUSED);
    card_recv(b, 1, 0, 8);
    give(WIRE_OP_SEND_ONLY, 1, 8, 0, WIRE_DROP_NONE);
    (void)expect(1, RNIC_WC_SUCCESS);
    end();
}

/* Our own receive buffer is the exception: that is an error of this host, which is told. */
static void a_receive_buffer_that_is_gone_ends_the_queue_pair(void)
{
    struct wire_frame frame;

    begin();
    card_recv(b, 1, 0, 8);
    card_recv(b, 2, 0, 8);
    CHECK_EQ(rnic_dereg_mr(b->dev, b->key, 0), 0);
    frame = card_request(b, UC(WIRE_OP_SEND_ONLY), 0, 8);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_REFUSED);
    (void)expect(1, RNIC_WC_LOC_PROT_ERR);
    (void)expect(2, RNIC_WC_WR_FLUSH_ERR);
    CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_ERR);
    CHECK_EQ(b->events[RNIC_EVENT_QP_FATAL], 0); /* the completion tells */
    CHECK_EQ(card_log_count(&bench, b->station, false), 0);
    card_bench_close(&bench);
}

/* From a shared receive queue a request is not given back: it ends in error, the next is taken. */
static void a_shared_request_of_a_lost_message_ends_in_error(void)
{
    struct card_options options = uc_options();
    struct rnic_wc wc;

    options.srq_depth = 8;
    card_bench_open(&bench, 2, &options);
    for (uint64_t i = 0; i < 4; i++)
        card_recv(b, i, 0, MTU + 1);
    give(WIRE_OP_SEND_FIRST, 0, MTU, 0, WIRE_DROP_NONE);
    give(WIRE_OP_SEND_LAST, 2, 1, 0, WIRE_DROP_PSN_GAP);
    (void)expect(0, RNIC_WC_LOC_QP_OP_ERR);
    give(WIRE_OP_SEND_FIRST, 3, MTU, 0, WIRE_DROP_NONE);
    give(WIRE_OP_SEND_FIRST, 5, MTU, 0, WIRE_DROP_NONE);
    (void)expect(1, RNIC_WC_LOC_QP_OP_ERR);
    give(WIRE_OP_SEND_LAST, 6, 2, 0, WIRE_DROP_REFUSED); /* too long */
    (void)expect(2, RNIC_WC_LOC_LEN_ERR);
    give(WIRE_OP_SEND_ONLY, 7, 8, 0, WIRE_DROP_NONE);
    wc = expect(3, RNIC_WC_SUCCESS);
    CHECK_EQ(wc.byte_len, 8);
    give(WIRE_OP_SEND_ONLY, 8, 8, 0, WIRE_DROP_NO_RECV);
    end();
}

/* A CNP is for connections of both kinds. */
static void a_cnp_reaches_its_queue_pair(void)
{
    struct wire_frame frame;

    begin();
    frame = card_request(a, WIRE_OP_CNP, 0, 0);
    CHECK_EQ(card_deliver(&bench, a, &frame), WIRE_DROP_NONE);
    CHECK_EQ(card_counters(a, a->qpn).cnps_rx, 1);
    end();
}

CHECK_SUITE(uc_responder, CHECK_CASE(messages_are_received), CHECK_CASE(a_loss_costs_one_message),
            CHECK_CASE(the_next_beginning_is_expected), CHECK_CASE(a_lost_write_tells_nobody),
            CHECK_CASE(without_a_receive_request_a_message_is_dropped),
            CHECK_CASE(what_is_wrong_is_dropped), CHECK_CASE(what_is_not_enabled_is_dropped),
            CHECK_CASE(a_receive_buffer_that_is_gone_ends_the_queue_pair),
            CHECK_CASE(a_shared_request_of_a_lost_message_ends_in_error),
            CHECK_CASE(a_cnp_reaches_its_queue_pair))
