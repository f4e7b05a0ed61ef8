/* SPDX-License-Identifier: GPL-2.0-only */
/* A pool whose blanks have no room for payload: packets carry sizes, also those of no bytes. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static void open_bench(void)
{
    struct card_options options = card_options_ideal();

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = 4;
    card_bench_open(&bench, 2, &options);
    card_fill(a->bytes, a->n_bytes, 1);
}

/* The next frame of a card, into a blank without payload. */
static struct wire_frame pull(struct card *card)
{
    struct wire_frame blank, *frame = &blank, *spare;

    memset(&blank, 0xA5, sizeof blank);
    blank.payload = NULL;
    CHECK(rnic_tx(card->dev, 0, 0xFF, &frame, &spare));
    CHECK(frame == &blank && spare == NULL);
    CHECK(blank.payload == NULL);
    return blank;
}

static void requests(void)
{
    static const uint32_t lengths[] = {0, 100, 1024};

    for (size_t i = 0; i < 3; i++) {
        struct wire_frame frame;

        open_bench();
        card_write(a, 1, 0, 0, lengths[i]);
        frame = pull(a);
        CHECK_EQ(frame.opcode, WIRE_OP_WRITE_ONLY);
        CHECK_EQ(frame.payload_bytes, lengths[i]);
        CHECK_EQ(frame.flags & WIRE_FRAME_BYTES, 0);
        CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
        CHECK_EQ(b->bytes[0], 0);
        card_bench_close(&bench);
    }
}

static void inline_requests(void)
{
    struct card_options options = card_options_ideal();
    struct rnic_qp_init_attr init = {
        .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_inline_data = 64};
    uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct wire_frame frame;
    struct rnic_send_wr wr;
    struct rnic_sge sge;

    card_bench_open(&bench, 2, &options);
    init.pd = a->pd;
    init.send_cq = init.recv_cq = a->send_cq;
    CARD_OK(a, rnic_create_qp(a->dev, &init, &a->qpn, 0));
    b->qpn = card_new_qp(b, b->send_cq, b->recv_cq);
    card_join(a, a->qpn, b, b->qpn);
    wr = card_wr(a, RNIC_WR_RDMA_WRITE, 1, 0, 0, 8, &sge);
    sge.addr = (uintptr_t)bytes;
    wr.send_flags = RNIC_SEND_INLINE;
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
    frame = pull(a);
    CHECK_EQ(frame.payload_bytes, 8);
    CHECK_EQ(frame.flags & WIRE_FRAME_BYTES, 0);
    card_bench_close(&bench);
}

static void responses(void)
{
    static const uint32_t lengths[] = {0, 100};

    for (size_t i = 0; i < 2; i++) {
        struct wire_frame frame;

        open_bench();
        frame = card_request(b, WIRE_OP_READ_REQUEST, 0, lengths[i]);
        CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
        frame = pull(b);
        CHECK_EQ(frame.opcode, WIRE_OP_READ_RESP_ONLY);
        CHECK_EQ(frame.payload_bytes, lengths[i]);
        CHECK_EQ(frame.flags & WIRE_FRAME_BYTES, 0);
        card_bench_close(&bench);
    }
}

CHECK_SUITE(no_payload, CHECK_CASE(requests), CHECK_CASE(inline_requests), CHECK_CASE(responses))
