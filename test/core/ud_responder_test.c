/* SPDX-License-Identifier: GPL-2.0-only */
/* UD at the responder: who may send, what stands in the buffer, and that nothing is answered. */
#include "card.h"
#include "wire_bytes.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

#define MTU 1024u
#define SEND_ONLY (uint8_t)(WIRE_TRANSPORT_UD | WIRE_OP_SEND_ONLY)
#define SEND_ONLY_IMM (uint8_t)(WIRE_TRANSPORT_UD | WIRE_OP_SEND_ONLY_IMM)

static void begin(uint32_t srq_depth)
{
    struct card_options options = card_options_ideal();

    options.type = RNIC_QPT_UD;
    options.params.mtu_bytes = options.mtu_bytes;
    options.srq_depth = srq_depth;
    card_bench_open(&bench, 2, &options);
}

static void end(void)
{
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(bench.log_n, 0);
    card_bench_close(&bench);
}

static void give(const struct wire_frame *frame, enum wire_drop drop)
{
    CHECK_EQ(card_deliver(&bench, b, frame), drop);
    card_bench_run(&bench, bench.now_ps + 10000000);
}

static uint8_t payload[4096];

static struct wire_frame datagram(uint8_t opcode, uint32_t bytes)
{
    struct wire_frame frame = card_request(b, opcode, 0, bytes);

    card_fill(payload, sizeof payload, 5);
    frame.payload = payload;
    frame.flags |= WIRE_FRAME_BYTES;
    frame.imm = 1234;
    frame.frame_bytes = wire_frame_length(opcode, frame.flags, bytes);
    return frame;
}

/* The area ahead of the data is what stands on the line ahead of UDP (v1: of the BTH). */
static void the_header_is_in_the_buffer(void)
{
    static const uint8_t kinds[] = {0, WIRE_FRAME_IPV6, WIRE_FRAME_ROCE_V1};

    for (size_t i = 0; i < 3; i++) {
        uint8_t line[2048], area[40] = {0};
        struct wire_frame frame;
        struct rnic_wc wc;
        size_t ip = kinds[i] == 0 ? 20 : 40;

        begin(0);
        card_recv(b, 1, 100, 40 + 77);
        frame = datagram(SEND_ONLY_IMM, 77);
        frame.flags |= kinds[i];
        frame.tos = 0x6A;
        frame.ip_id = 0xBEEF;
        frame.frame_bytes = wire_frame_length(SEND_ONLY_IMM, frame.flags, 77);
        CHECK(wire_frame_encode(&frame, NULL, line, sizeof line) > 0);
        memcpy(area + 40 - ip, line + 14, ip);
        give(&frame, WIRE_DROP_NONE);
        wc = card_expect(b, b->recv_cq, 1, RNIC_WC_SUCCESS);
        CHECK_EQ(wc.opcode, RNIC_WC_RECV);
        CHECK_EQ(wc.byte_len, 117);
        CHECK_EQ(wc.src_qp, 77);
        CHECK_EQ(wc.imm, 1234);
        CHECK_EQ(wc.wc_flags, RNIC_WC_GRH | RNIC_WC_WITH_IMM);
        CHECK_EQ(wc.qp_num, b->qpn);
        CHECK_BYTES(b->bytes + 100, area, 40);
        CHECK_BYTES(b->bytes + 140, payload, 77);
        CHECK_EQ(b->bytes[217], 0);
        if (kinds[i] == 0) { /* read it as a host would */
            CHECK_EQ(b->bytes[120], 0x45);
            CHECK_EQ(wire_bytes_get16(b->bytes + 122), 20 + 8 + 12 + 8 + 4 + 80 + 4);
            CHECK_EQ(b->bytes[100 + 35], a->station + 1); /* 10.0.0.(station + 1) */
            CHECK_EQ(b->bytes[100 + 39], b->station + 1);
        }
        end();
    }
}

/* Anybody, in any order of PSNs. */
static void everybody_with_the_key_may_send(void)
{
    begin(0);
    for (uint32_t i = 0; i < 10; i++) {
        struct wire_frame frame = datagram(SEND_ONLY, i);
        struct rnic_wc wc;

        card_recv(b, i, 0, 40 + MTU);
        frame.src = 100 + i;
        frame.psn.v = i * 7777777 & WIRE_PSN_MASK;
        frame.deth.src_qpn = 500 + i;
        give(&frame, WIRE_DROP_NONE);
        wc = card_expect(b, b->recv_cq, i, RNIC_WC_SUCCESS);
        CHECK_EQ(wc.src_qp, 500 + i);
        CHECK_EQ(wc.byte_len, 40 + i);
        CHECK_EQ(wc.wc_flags, RNIC_WC_GRH);
    }
    end();
}

static void what_is_dropped(void)
{
    struct wire_frame frame;
    struct rnic_wc wc;

    begin(0);
    frame = datagram(SEND_ONLY, 8);
    give(&frame, WIRE_DROP_NO_RECV);
    card_recv(b, 1, 0, 40 + 100);
    frame.deth.qkey ^= 1;
    give(&frame, WIRE_DROP_QKEY);
    frame = datagram(SEND_ONLY, 101);
    give(&frame, WIRE_DROP_REFUSED); /* longer than its request, with the area */
    frame = card_request(b, WIRE_OP_CNP, 0, 0);
    give(&frame, WIRE_DROP_TRANSPORT); /* no connection, nobody to slow down */
    frame = card_request(b, WIRE_OP_SEND_ONLY, 0, 8);
    give(&frame, WIRE_DROP_TRANSPORT);
    card_expect_none(b, b->recv_cq);
    CHECK_EQ(b->bytes[0], 0);
    CHECK_EQ(rnic_query_counters(b->dev)->drops[WIRE_DROP_QKEY], 1);
    CHECK_EQ(rnic_query_counters(b->dev)->drops[WIRE_DROP_NO_RECV], 1);
    CHECK_EQ(rnic_query_counters(b->dev)->drops[WIRE_DROP_REFUSED], 1);
    frame = datagram(SEND_ONLY, 100); /* the request is still there */
    give(&frame, WIRE_DROP_NONE);
    wc = card_expect(b, b->recv_cq, 1, RNIC_WC_SUCCESS);
    CHECK_EQ(wc.byte_len, 140);
    CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_RTS);
    end();
}

/* As long as a packet may be, and not a byte more, however large the buffer is. */
static void the_mtu_is_the_longest_message(void)
{
    struct wire_frame frame;

    begin(0);
    card_recv(b, 1, 0, 4 * MTU);
    frame = datagram(SEND_ONLY, MTU + 1);
    give(&frame, WIRE_DROP_REFUSED);
    CHECK_EQ(b->bytes[0], 0);
    frame = datagram(SEND_ONLY, MTU);
    give(&frame, WIRE_DROP_NONE);
    CHECK_EQ(card_expect(b, b->recv_cq, 1, RNIC_WC_SUCCESS).byte_len, 40 + MTU);
    CHECK_BYTES(b->bytes + 40, payload, MTU);
    end();
}

/* A mark asks for a CNP, but a datagram has no queue pair to slow down: none is sent. */
static void a_marked_datagram_is_not_answered(void)
{
    struct wire_frame frame;

    begin(0);
    card_recv(b, 1, 0, 40 + 8);
    frame = datagram(SEND_ONLY, 8);
    frame.tos |= WIRE_ECN_CE;
    give(&frame, WIRE_DROP_NONE);
    (void)card_expect(b, b->recv_cq, 1, RNIC_WC_SUCCESS);
    end();
}

static void requests_come_from_the_shared_queue(void)
{
    struct wire_frame frame;

    begin(4);
    card_recv(b, 1, 0, 40 + 8);
    card_recv(b, 2, 0, 40 + 8);
    frame = datagram(SEND_ONLY, 9);
    give(&frame, WIRE_DROP_REFUSED); /* too long: the request is kept for the next */
    frame = datagram(SEND_ONLY, 8);
    give(&frame, WIRE_DROP_NONE);
    (void)card_expect(b, b->recv_cq, 1, RNIC_WC_SUCCESS);
    give(&frame, WIRE_DROP_NONE);
    (void)card_expect(b, b->recv_cq, 2, RNIC_WC_SUCCESS);
    give(&frame, WIRE_DROP_NO_RECV);
    end();
}

static void a_receive_buffer_that_is_gone_ends_the_queue_pair(void)
{
    struct wire_frame frame;

    begin(0);
    card_recv(b, 1, 0, 100);
    card_recv(b, 2, 0, 100);
    CHECK_EQ(rnic_dereg_mr(b->dev, b->key, 0), 0);
    frame = datagram(SEND_ONLY, 8);
    give(&frame, WIRE_DROP_REFUSED);
    (void)card_expect(b, b->recv_cq, 1, RNIC_WC_LOC_PROT_ERR);
    (void)card_expect(b, b->recv_cq, 2, RNIC_WC_WR_FLUSH_ERR);
    CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_ERR);
    CHECK_EQ(b->events[RNIC_EVENT_QP_FATAL], 0); /* the completion tells */
    end();
}

CHECK_SUITE(ud_responder, CHECK_CASE(the_header_is_in_the_buffer),
            CHECK_CASE(everybody_with_the_key_may_send), CHECK_CASE(what_is_dropped),
            CHECK_CASE(the_mtu_is_the_longest_message),
            CHECK_CASE(a_marked_datagram_is_not_answered),
            CHECK_CASE(requests_come_from_the_shared_queue),
            CHECK_CASE(a_receive_buffer_that_is_gone_ends_the_queue_pair))
