/* SPDX-License-Identifier: GPL-2.0-only */
/* Inline requests: their bytes are taken when they are posted, whatever the host does later. */
#include "card.h"

#define INLINE_BYTES 3000u /* three packets */

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static void open_bench(bool phantom)
{
    struct card_options options = card_options_ideal();
    struct rnic_qp_init_attr init = {.type = RNIC_QPT_RC,
                                     .max_send_wr = 4,
                                     .max_recv_wr = 4,
                                     .max_send_sge = 3,
                                     .max_recv_sge = 1,
                                     .max_inline_data = INLINE_BYTES,
                                     .sq_sig_all = true};

    options.params.max_inline = INLINE_BYTES;
    options.phantom = phantom;
    card_bench_open(&bench, 2, &options);
    init.pd = a->pd;
    init.send_cq = a->send_cq;
    init.recv_cq = a->recv_cq;
    CARD_OK(a, rnic_create_qp(a->dev, &init, &a->qpn, 0));
    b->qpn = card_new_qp(b, b->send_cq, b->recv_cq);
    card_join(a, a->qpn, b, b->qpn);
}

static void post(enum rnic_wr_opcode opcode, uint8_t *bytes, bool phantom)
{
    struct rnic_sge sges[3], sge;
    struct rnic_send_wr wr = card_wr(a, opcode, 1, 0, 500, 0, &sge);
    static const uint32_t lengths[] = {1, 1999, 1000};
    uint32_t at = 0;

    for (size_t i = 0; i < 3; i++) {
        sges[i] = (struct rnic_sge){phantom ? 0 : (uintptr_t)(bytes + at), lengths[i], 0xBAD};
        at += lengths[i];
    }
    CHECK_EQ(at, INLINE_BYTES);
    wr.send_flags = RNIC_SEND_INLINE;
    wr.sg_list = sges;
    wr.num_sge = 3;
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
}

/* Lose the second packet once: what is sent again is taken from the request too. */
static enum card_tap_verdict lose_the_second(struct card_bench *on, struct card_flight *flight)
{
    return flight->from == a && on->scratch[0]++ == 1 ? CARD_DROP : CARD_PASS;
}

static void bytes_of_the_moment_of_the_call(void)
{
    static const enum rnic_wr_opcode opcodes[] = {RNIC_WR_RDMA_WRITE, RNIC_WR_SEND};

    for (size_t k = 0; k < 2; k++) {
        uint8_t bytes[INLINE_BYTES], kept[INLINE_BYTES];

        open_bench(false);
        bench.tap = lose_the_second;
        card_fill(bytes, sizeof bytes, 7 + k);
        memcpy(kept, bytes, sizeof kept);
        card_recv(b, 2, 500, INLINE_BYTES);
        post(opcodes[k], bytes, false);
        memset(bytes, 0xEE, sizeof bytes);
        card_bench_run(&bench, WIRE_NEVER);
        card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
        CHECK_BYTES(b->bytes + 500, kept, sizeof kept);
        CHECK_EQ(b->bytes[499] | b->bytes[500 + INLINE_BYTES], 0);
        CHECK(card_counters(a, a->qpn).retransmitted_packets > 0);
        card_bench_close(&bench);
    }
}

/* Sizes only: no pointer is looked at. */
static void phantom_bytes(void)
{
    open_bench(true);
    post(RNIC_WR_RDMA_WRITE, NULL, true);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_EQ(card_log_count(&bench, a->station, true), 3);
    for (size_t i = 0; i < 3; i++)
        CHECK_EQ(card_log_at(&bench, a->station, true, i)->frame.flags & WIRE_FRAME_BYTES, 0);
    card_bench_close(&bench);
}

CHECK_SUITE(rc_inline, CHECK_CASE(bytes_of_the_moment_of_the_call), CHECK_CASE(phantom_bytes))
