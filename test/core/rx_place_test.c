/* SPDX-License-Identifier: GPL-2.0-only */
/* Placement alone: a packet that is refused changes nothing, one that is placed moves the state. */
#include "card.h"
#include "rnic_internal.h"
#include "rnic_rx_place.h"

static struct card_bench bench;
static struct card *const b = &bench.cards[1];
static uint8_t payload[4096];
static uint64_t in_ps;

static void begin(void)
{
    struct card_options options = card_options_ideal();

    card_bench_open(&bench, 2, &options);
    card_fill(payload, sizeof payload, 3);
}

static struct rnic_qp *qp(void)
{
    return rnic_table_qp_find(&b->dev->qps, b->qpn);
}

static struct rnic_rx_place_result place(uint8_t opcode, uint64_t va, uint32_t bytes,
                                         uint32_t dma_bytes)
{
    const struct rnic_access_path path = {&b->dev->mrs, &b->dev->pages, &b->dev->dma};
    struct wire_frame frame = {.opcode = opcode,
                               .va = va,
                               .rkey = b->key,
                               .dma_bytes = dma_bytes,
                               .payload = payload,
                               .payload_bytes = bytes,
                               .imm = 99,
                               .flags = WIRE_FRAME_BYTES};

    struct rnic_rx_place_result result;

    rnic_rx_place(qp(), &frame, &path, 64, in_ps, &result);
    return result;
}

static void a_send_fills_its_receive_request(void)
{
    struct rnic_rx_place_result r;

    begin();
    CHECK_EQ(place(WIRE_OP_SEND_FIRST, 0, 1024, 0).placed, RNIC_RX_RNR);
    CHECK_EQ(qp()->resp.message_is, 0);
    card_recv(b, 4, 100, 2000);
    r = place(WIRE_OP_SEND_FIRST, 0, 1024, 0);
    CHECK_EQ(r.placed, RNIC_RX_PLACED);
    CHECK(!r.message_done && !r.has_cqe);
    CHECK_EQ(qp()->resp.message_is, WIRE_IS_SEND);
    CHECK_EQ(qp()->resp.msn, 0);
    r = place(WIRE_OP_SEND_LAST_IMM, 0, 976, 0); /* exactly what is left */
    CHECK(r.message_done && r.has_cqe);
    CHECK_EQ(r.message_bytes, 2000);
    CHECK_EQ(r.wc.wr_id, 4);
    CHECK_EQ(r.wc.byte_len, 2000);
    CHECK_EQ(r.wc.imm, 99);
    CHECK_EQ(r.wc.wc_flags, RNIC_WC_WITH_IMM);
    CHECK_EQ(qp()->resp.message_is, 0);
    CHECK_EQ(qp()->resp.msn, 1);
    CHECK_BYTES(b->bytes + 100, payload, 1024);
    CHECK_BYTES(b->bytes + 1124, payload, 976);
    card_bench_close(&bench);
}

static void one_byte_too_many_uses_the_request_up(void)
{
    struct rnic_rx_place_result r;

    begin();
    card_recv(b, 4, 0, 2000);
    (void)place(WIRE_OP_SEND_FIRST, 0, 1024, 0);
    r = place(WIRE_OP_SEND_LAST, 0, 977, 0);
    CHECK_EQ(r.placed, RNIC_RX_NAK_INVALID);
    CHECK(r.has_cqe);
    CHECK_EQ(r.wc.status, RNIC_WC_LOC_LEN_ERR);
    CHECK_EQ(b->bytes[1024], 0);
    CHECK_EQ(qp()->resp.msn, 0);
    card_bench_close(&bench);
}

/* The receive buffer's own region is gone: our fault, not the sender's; no byte is moved. */
static void a_receive_buffer_that_is_gone_is_our_error(void)
{
    struct rnic_rx_place_result r;

    begin();
    card_recv(b, 4, 0, 2000);
    CHECK_EQ(rnic_dereg_mr(b->dev, b->key, in_ps), 0);
    r = place(WIRE_OP_SEND_ONLY, 0, 100, 0);
    CHECK_EQ(r.placed, RNIC_RX_NAK_OP);
    CHECK(r.has_cqe);
    CHECK_EQ(r.wc.wr_id, 4);
    CHECK_EQ(r.wc.status, RNIC_WC_LOC_PROT_ERR);
    CHECK_EQ(b->bytes[0], 0);
    card_bench_close(&bench);
}

static void a_write_is_checked_whole_on_its_first_packet(void)
{
    uint64_t end;

    begin();
    end = CARD_VA + b->n_bytes;
    CHECK_EQ(place(WIRE_OP_WRITE_FIRST, end - 1024, 1024, 1025).placed, RNIC_RX_NAK_ACCESS);
    CHECK_EQ(b->bytes[b->n_bytes - 1024], 0);
    CHECK_EQ(place(WIRE_OP_WRITE_FIRST, end - 1025, 1024, 1025).placed, RNIC_RX_PLACED);
    CHECK_EQ(qp()->resp.remaining, 1);
    CHECK_EQ(place(WIRE_OP_WRITE_LAST, 0xDEAD, 1, 0).placed, RNIC_RX_PLACED); /* its own address */
    CHECK_EQ(b->bytes[b->n_bytes - 1], payload[0]);
    CHECK_EQ(qp()->resp.msn, 1);
    card_bench_close(&bench);
}

/* An immediate that finds no receive request: not even its data is placed. */
static void an_immediate_needs_a_receive_request(void)
{
    struct rnic_rx_place_result r;

    begin();
    CHECK_EQ(place(WIRE_OP_WRITE_ONLY_IMM, CARD_VA, 8, 8).placed, RNIC_RX_RNR);
    CHECK_EQ(b->bytes[0], 0);
    CHECK_EQ(qp()->resp.msn, 0);
    card_recv(b, 6, 0, 0);
    r = place(WIRE_OP_WRITE_ONLY_IMM, CARD_VA, 8, 8);
    CHECK_EQ(r.placed, RNIC_RX_PLACED);
    CHECK_EQ(r.wc.opcode, RNIC_WC_RECV_RDMA_WITH_IMM);
    CHECK_EQ(r.wc.byte_len, 8);
    CHECK_BYTES(b->bytes, payload, 8);
    /* the missing request is told before a bad key: resources come first */
    CHECK_EQ(place(WIRE_OP_WRITE_ONLY_IMM, 1, 8, 8).placed, RNIC_RX_RNR);
    card_recv(b, 7, 0, 0);
    CHECK_EQ(place(WIRE_OP_WRITE_ONLY_IMM, 1, 8, 8).placed, RNIC_RX_NAK_ACCESS);
    card_bench_close(&bench);
}

/* The completion is not before the slowest packet of the message. */
static void the_data_of_all_packets_comes_first(void)
{
    struct card_options options = card_options_default();
    struct rnic_rx_place_result first, last;

    options.params.page_bytes = 4096;
    options.mtu_bytes = 4096;
    card_bench_open(&bench, 2, &options);
    in_ps = 0;
    (void)place(WIRE_OP_WRITE_ONLY, CARD_VA + 4096, 1, 1);
    in_ps = 100000000;
    first = place(WIRE_OP_WRITE_FIRST, CARD_VA, 4096, 4097); /* its page is not on the card */
    last = place(WIRE_OP_WRITE_LAST, 0, 1, 0);               /* this one is */
    CHECK(first.placed_ps >= in_ps + options.params.cache_miss_ps);
    CHECK_EQ(last.placed_ps, first.placed_ps);
    card_bench_close(&bench);
}

static void the_msn_wraps(void)
{
    begin();
    qp()->resp.msn = 0xFFFFFF;
    CHECK_EQ(place(WIRE_OP_WRITE_ONLY, CARD_VA, 1, 1).placed, RNIC_RX_PLACED);
    CHECK_EQ(qp()->resp.msn, 0);
    card_bench_close(&bench);
}

CHECK_SUITE(rx_place, CHECK_CASE(a_send_fills_its_receive_request),
            CHECK_CASE(one_byte_too_many_uses_the_request_up),
            CHECK_CASE(a_receive_buffer_that_is_gone_is_our_error),
            CHECK_CASE(a_write_is_checked_whole_on_its_first_packet),
            CHECK_CASE(an_immediate_needs_a_receive_request),
            CHECK_CASE(the_data_of_all_packets_comes_first), CHECK_CASE(the_msn_wraps))
