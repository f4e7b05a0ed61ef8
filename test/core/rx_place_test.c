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

    options.access = CARD_ACCESS_ALL;
    card_bench_open(&bench, 2, &options);
    card_fill(payload, sizeof payload, 3);
}

static struct rnic_qp *qp(void)
{
    return rnic_table_qp_find(&b->dev->qps, b->qpn);
}

static uint32_t imm = 99;

static struct rnic_rx_place_result place(uint8_t opcode, uint64_t va, uint32_t bytes,
                                         uint32_t dma_bytes)
{
    struct wire_frame frame = {.opcode = opcode,
                               .va = va,
                               .rkey = b->key,
                               .dma_bytes = dma_bytes,
                               .payload = payload,
                               .payload_bytes = bytes,
                               .imm = imm,
                               .flags = WIRE_FRAME_BYTES};

    struct rnic_rx_place_result result;

    memset(&result, 1, sizeof result); /* nothing of what the caller had is left */
    rnic_rx_place(qp(), &frame, &b->dev->path, 64, in_ps, &result);
    return result;
}

static bool has_request(uint8_t opcode)
{
    const struct wire_frame frame = {.opcode = opcode};

    return rnic_rx_place_request(qp(), &frame, &b->dev->events, in_ps);
}

/* What needs a receive request: a SEND where it opens, a WRITE where its immediate is. */
static void which_packets_need_a_receive_request(void)
{
    static const struct {
        uint8_t opcode;
        bool needs;
    } cases[] = {
        {WIRE_OP_SEND_FIRST, true},
        {WIRE_OP_SEND_MIDDLE, false},
        {WIRE_OP_SEND_LAST, false},
        {WIRE_OP_SEND_LAST_IMM, false},
        {WIRE_OP_SEND_LAST_INV, false},
        {WIRE_OP_SEND_ONLY, true},
        {WIRE_OP_SEND_ONLY_IMM, true},
        {WIRE_OP_SEND_ONLY_INV, true},
        {WIRE_OP_WRITE_FIRST, false},
        {WIRE_OP_WRITE_MIDDLE, false},
        {WIRE_OP_WRITE_LAST, false},
        {WIRE_OP_WRITE_LAST_IMM, true},
        {WIRE_OP_WRITE_ONLY, false},
        {WIRE_OP_WRITE_ONLY_IMM, true},
        {WIRE_TRANSPORT_UC | WIRE_OP_SEND_ONLY, true},
        {WIRE_TRANSPORT_UD | WIRE_OP_SEND_ONLY_IMM, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin();
        CHECK_EQ(has_request(cases[i].opcode), !cases[i].needs);
        card_recv(b, 1, 0, 100);
        CHECK(has_request(cases[i].opcode));
        CHECK_EQ(qp()->rq.head - qp()->rq.tail, 1); /* it is there, not taken */
        card_bench_close(&bench);
    }
}

static void a_send_fills_its_receive_request(void)
{
    struct rnic_rx_place_result r;

    begin();
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

/* The data of a WRITE with immediate goes where it says, the receive request has no bytes of it. */
static void an_immediate_uses_a_receive_request(void)
{
    struct rnic_rx_place_result r;

    begin();
    card_recv(b, 6, 5000, 100);
    r = place(WIRE_OP_WRITE_ONLY_IMM, CARD_VA, 8, 8);
    CHECK_EQ(r.placed, RNIC_RX_PLACED);
    CHECK_EQ(r.wc.wr_id, 6);
    CHECK_EQ(r.wc.opcode, RNIC_WC_RECV_RDMA_WITH_IMM);
    CHECK_EQ(r.wc.byte_len, 8);
    CHECK_EQ(r.wc.imm, 99);
    CHECK_EQ(r.wc.wc_flags, RNIC_WC_WITH_IMM);
    CHECK_BYTES(b->bytes, payload, 8);
    CHECK_EQ(b->bytes[5000], 0);
    card_recv(b, 7, 0, 0);
    r = place(WIRE_OP_WRITE_ONLY_IMM, 1, 8, 8);
    CHECK_EQ(r.placed, RNIC_RX_NAK_ACCESS);
    CHECK(!r.has_cqe);
    card_bench_close(&bench);
}

/* A window on the first half of the buffer, bound by the queue pair. @return its key. */
static uint32_t bound_window(void)
{
    uint32_t mw;

    CARD_OK(b, rnic_alloc_mw(b->dev, b->pd, &mw, 0));
    CHECK(rnic_table_mr_bind(&b->dev->mrs, b->pd, b->qpn, mw, mw ^ 0x55, b->key, CARD_VA, 1000,
                             RNIC_ACCESS_REMOTE_WRITE));
    return mw ^ 0x55;
}

/*
 * known-bugs A12: the whole key counts. The refused packet moves no byte, and the window stays as
 * it is; the right key unbinds it.
 */
static void invalidate_takes_exactly_its_key(void)
{
    struct rnic_rx_place_result r;
    uint32_t key;

    for (uint32_t wrong = 0; wrong < 4; wrong++) {
        begin();
        key = bound_window();
        imm = wrong == 0   ? key ^ 1     /* other variant */
              : wrong == 1 ? key + 0x100 /* other index */
              : wrong == 2 ? b->key      /* a region: rnic_reg_mr's are not invalidated */
                           : 0xFFFFFFFFu;
        card_recv(b, 4, 100, 2000);
        r = place(WIRE_OP_SEND_ONLY_INV, 0, 100, 0);
        CHECK_EQ(r.placed, RNIC_RX_NAK_OP);
        CHECK(r.has_cqe);
        CHECK_EQ(r.wc.wr_id, 4);
        CHECK_EQ(r.wc.status, RNIC_WC_LOC_QP_OP_ERR);
        CHECK_EQ(b->bytes[100], 0);
        CHECK_EQ(qp()->resp.msn, 0);
        CHECK_EQ(place(WIRE_OP_WRITE_ONLY, CARD_VA, 8, 8).placed, RNIC_RX_PLACED);
        CHECK(rnic_table_mr_check(&b->dev->mrs, key, b->pd, b->qpn, 0, CARD_VA, 8) != NULL);
        CHECK(rnic_table_mr_check(&b->dev->mrs, b->key, b->pd, b->qpn, 0, CARD_VA, 8) != NULL);
        card_bench_close(&bench);
    }
    begin();
    imm = key = bound_window();
    card_recv(b, 4, 100, 2000);
    r = place(WIRE_OP_SEND_ONLY_INV, 0, 100, 0);
    CHECK_EQ(r.placed, RNIC_RX_PLACED);
    CHECK_EQ(r.wc.status, RNIC_WC_SUCCESS);
    CHECK_EQ(r.wc.wc_flags, RNIC_WC_WITH_INV);
    CHECK_EQ(r.wc.invalidated_rkey, key);
    CHECK_BYTES(b->bytes + 100, payload, 100);
    CHECK(rnic_table_mr_check(&b->dev->mrs, key, b->pd, b->qpn, 0, CARD_VA, 8) == NULL);
    card_recv(b, 5, 100, 2000); /* once only */
    CHECK_EQ(place(WIRE_OP_SEND_ONLY_INV, 0, 100, 0).placed, RNIC_RX_NAK_OP);
    imm = 99;
    card_bench_close(&bench);
}

/* The window of another queue pair is not ours to close. */
static void a_window_of_another_queue_pair_stays(void)
{
    uint32_t key;

    begin();
    key = bound_window();
    rnic_table_mr_find(&b->dev->mrs, key)->qpn = b->qpn + 1;
    imm = key;
    card_recv(b, 4, 100, 2000);
    CHECK_EQ(place(WIRE_OP_SEND_ONLY_INV, 0, 100, 0).placed, RNIC_RX_NAK_OP);
    CHECK(rnic_table_mr_find(&b->dev->mrs, key)->region != NULL);
    imm = 99;
    card_bench_close(&bench);
}

/* ---- UD ---- */

static struct rnic_rx_place_result datagram(uint32_t bytes, bool phantom, const uint8_t *grh)
{
    struct wire_frame frame = {.opcode = WIRE_TRANSPORT_UD | WIRE_OP_SEND_ONLY_IMM,
                               .payload = payload,
                               .payload_bytes = bytes,
                               .imm = 99,
                               .flags = phantom ? 0 : WIRE_FRAME_BYTES};
    struct rnic_rx_place_result result;

    frame.deth.src_qpn = 0x123456;
    memset(&result, 1, sizeof result);
    rnic_rx_place_datagram(qp(), &frame, grh, &b->dev->path, 64, in_ps, &result);
    return result;
}

static void a_datagram_stands_behind_its_header(void)
{
    uint8_t grh[RNIC_GRH_BYTES], zeros[64] = {0};
    struct rnic_rx_place_result r;

    card_fill(grh, sizeof grh, 8);
    for (int phantom = 0; phantom < 2; phantom++) {
        begin();
        card_recv(b, 4, 100, 140);
        r = datagram(101, phantom, grh); /* one too many */
        CHECK_EQ(r.placed, RNIC_RX_NAK_INVALID);
        CHECK(!r.message_done && !r.has_cqe);
        CHECK_EQ(r.placed_ps, in_ps);
        CHECK_EQ(qp()->rq.head - qp()->rq.tail, 1);
        CHECK_EQ(b->bytes[100], 0);
        r = datagram(100, phantom, grh);
        CHECK_EQ(r.placed, RNIC_RX_PLACED);
        CHECK(r.message_done && r.has_cqe);
        CHECK_EQ(r.message_bytes, 100);
        CHECK_EQ(r.wc.wr_id, 4);
        CHECK_EQ(r.wc.opcode, RNIC_WC_RECV);
        CHECK_EQ(r.wc.byte_len, 140);
        CHECK_EQ(r.wc.src_qp, 0x123456);
        CHECK_EQ(r.wc.imm, 99);
        CHECK_EQ(r.wc.wc_flags, RNIC_WC_GRH | RNIC_WC_WITH_IMM);
        CHECK_BYTES(b->bytes + 100, grh, 40);
        CHECK_BYTES(b->bytes + 140, phantom ? zeros : payload, 64);
        CHECK_EQ(b->bytes[240], 0);
        card_bench_close(&bench);
    }
}

/* The region of the payload or of the header area is gone: not even the other is written. */
static void a_refused_datagram_moves_no_byte(void)
{
    uint8_t grh[RNIC_GRH_BYTES];
    struct rnic_rx_place_result r;

    card_fill(grh, sizeof grh, 8);
    for (uint32_t i = 0; i < 4; i++) {
        const bool phantom = (i & 1) != 0, header = (i & 2) != 0;
        struct rnic_sge sge[2];
        const struct rnic_recv_wr wr = {.wr_id = 9, .sg_list = sge, .num_sge = 2};

        begin();
        sge[0] = (struct rnic_sge){.addr = CARD_VA, .length = 40, .lkey = b->key};
        sge[1] = (struct rnic_sge){.addr = CARD_VA + 100, .length = 100, .lkey = b->key};
        sge[header ? 0 : 1].lkey ^= 1;
        CHECK_EQ(rnic_post_recv(b->dev, b->qpn, &wr, 0), 0);
        r = datagram(8, phantom, grh);
        CHECK_EQ(r.placed, RNIC_RX_NAK_OP);
        CHECK(r.has_cqe);
        CHECK_EQ(r.wc.wr_id, 9);
        CHECK_EQ(r.wc.status, RNIC_WC_LOC_PROT_ERR);
        for (size_t k = 0; k < 200; k++)
            CHECK_EQ(b->bytes[k], 0);
        card_bench_close(&bench);
    }
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

/* A datagram is there when header area and payload are, whichever takes longer. */
static void both_parts_of_a_datagram_come_first(void)
{
    uint8_t grh[RNIC_GRH_BYTES] = {0};

    for (uint32_t cold = 0; cold < 2; cold++) {
        struct card_options options = card_options_default();
        struct rnic_sge sge[2];
        const struct rnic_recv_wr wr = {.wr_id = 9, .sg_list = sge, .num_sge = 2};
        struct rnic_rx_place_result r;

        options.params.page_bytes = 4096;
        card_bench_open(&bench, 2, &options);
        in_ps = 0;
        (void)place(WIRE_OP_WRITE_ONLY, CARD_VA + 4096, 1, 1); /* this page is on the card */
        in_ps = 100000000;
        sge[0] = (struct rnic_sge){.addr = CARD_VA, .length = 40, .lkey = b->key};
        sge[1] = sge[0];
        sge[cold ? 0 : 1].addr += 4096;
        CHECK_EQ(rnic_post_recv(b->dev, b->qpn, &wr, 0), 0);
        r = datagram(8, true, grh); /* fetch of the receive request, page, and the write */
        CHECK_EQ(r.placed, RNIC_RX_PLACED);
        CHECK(r.placed_ps >= in_ps + options.params.dma_read_latency_ps +
                                 options.params.cache_miss_ps +
                                 options.params.dma_write_latency_ps);
        card_bench_close(&bench);
    }
}

/* On a card that takes no time messages are in memory when they are here, one after the other. */
static void nothing_is_left_of_the_message_before(void)
{
    begin();
    in_ps = 0;
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_EQ(place(WIRE_OP_WRITE_FIRST, CARD_VA, 1024, 1025).placed, RNIC_RX_PLACED);
        CHECK_EQ(place(WIRE_OP_WRITE_LAST, 0, 1, 0).placed_ps, 0);
    }
    card_bench_close(&bench);
}

/* A SEND fetches its receive request once, with its first packet; a WRITE none. */
static void a_receive_request_is_fetched_once(void)
{
    static const struct {
        uint8_t opcode;
        uint32_t bytes, whole;
        bool fetches;
    } cases[] = {
        {WIRE_OP_SEND_FIRST, 1024, 0, true},    {WIRE_OP_SEND_MIDDLE, 1024, 0, false},
        {WIRE_OP_SEND_LAST, 8, 0, false},       {WIRE_OP_SEND_ONLY, 8, 0, true},
        {WIRE_OP_SEND_ONLY_IMM, 8, 0, true},    {WIRE_OP_SEND_FIRST, 1024, 0, true},
        {WIRE_OP_SEND_LAST_IMM, 8, 0, false},   {WIRE_OP_WRITE_FIRST, 1024, 2056, false},
        {WIRE_OP_WRITE_MIDDLE, 1024, 0, false}, {WIRE_OP_WRITE_LAST_IMM, 8, 0, false},
        {WIRE_OP_WRITE_ONLY, 8, 8, false},      {WIRE_OP_WRITE_ONLY_IMM, 8, 8, false},
    };
    struct card_options options = card_options_ideal();

    options.access = CARD_ACCESS_ALL;
    options.params.dma_read_latency_ps = 7000;
    options.params.dma_write_latency_ps = 300;
    card_bench_open(&bench, 2, &options);
    for (uint64_t i = 0; i < 6; i++)
        card_recv(b, i, 0, 4096);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rnic_rx_place_result r;

        in_ps = 1000000 * (i + 1);
        r = place(cases[i].opcode, CARD_VA, cases[i].bytes, cases[i].whole);
        CHECK_EQ(r.placed, RNIC_RX_PLACED);
        CHECK_EQ(r.placed_ps, in_ps + (cases[i].fetches ? 7000 : 0) + 300);
    }
    in_ps += 1000000;
    card_recv(b, 6, 0, 4096);
    CHECK_EQ(datagram(8, false, payload).placed_ps, in_ps + 7000 + 300);
    in_ps = 0;
    card_bench_close(&bench);
}

CHECK_SUITE(rx_place, CHECK_CASE(which_packets_need_a_receive_request),
            CHECK_CASE(a_send_fills_its_receive_request),
            CHECK_CASE(one_byte_too_many_uses_the_request_up),
            CHECK_CASE(a_receive_buffer_that_is_gone_is_our_error),
            CHECK_CASE(a_write_is_checked_whole_on_its_first_packet),
            CHECK_CASE(an_immediate_uses_a_receive_request),
            CHECK_CASE(invalidate_takes_exactly_its_key),
            CHECK_CASE(a_window_of_another_queue_pair_stays),
            CHECK_CASE(a_datagram_stands_behind_its_header),
            CHECK_CASE(a_refused_datagram_moves_no_byte),
            CHECK_CASE(the_data_of_all_packets_comes_first), CHECK_CASE(the_msn_wraps),
            CHECK_CASE(both_parts_of_a_datagram_come_first),
            CHECK_CASE(nothing_is_left_of_the_message_before),
            CHECK_CASE(a_receive_request_is_fetched_once))
