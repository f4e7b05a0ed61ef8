/* SPDX-License-Identifier: GPL-2.0-only */
/* An unreliable connection whose send queue failed in mid-message, and goes on after SQE. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static void the_next_message_begins_anew(void)
{
    struct card_options options = card_options_ideal();
    struct rnic_qp_attr attr = {.qp_state = RNIC_QPS_RTS};
    struct rnic_sge sges[2];
    struct rnic_send_wr wr;
    static const uint8_t opcodes[] = {WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_FIRST,
                                      WIRE_OP_WRITE_MIDDLE, WIRE_OP_WRITE_LAST};
    size_t n;

    options.type = RNIC_QPT_UC;
    card_bench_open(&bench, 2, &options);
    card_fill(a->bytes, 3000, 5);

    /* The second packet of the first request may not be read; the other two are flushed. */
    wr = card_wr(a, RNIC_WR_RDMA_WRITE, 1, 0, 8000, 1500, &sges[0]);
    sges[1] = sges[0];
    sges[1].lkey ^= 1;
    wr.sg_list = sges;
    wr.num_sge = 2;
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, bench.now_ps), 0);
    card_write(a, 2, 0, 8000, 3000);
    card_write(a, 3, 0, 8000, 3000);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_LOC_PROT_ERR);
    card_expect(a, a->send_cq, 2, RNIC_WC_WR_FLUSH_ERR);
    card_expect(a, a->send_cq, 3, RNIC_WC_WR_FLUSH_ERR);
    CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_SQE);
    n = card_log_count(&bench, a->station, true);
    CHECK_EQ(n, 1);

    /* The whole of it, with the PSN behind the last one that was sent. */
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_STATE, bench.now_ps), 0);
    card_write(a, 4, 0, 8000, 3000);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 4, RNIC_WC_SUCCESS);
    CHECK_EQ(card_log_count(&bench, a->station, true), n + 3);
    for (size_t i = 0; i < n + 3; i++) {
        const struct wire_frame *frame = &card_log_at(&bench, a->station, true, i)->frame;

        CHECK_EQ(frame->psn.v, wire_psn_add((wire_psn){options.psn}, (uint32_t)i).v);
        CHECK_EQ(frame->opcode, WIRE_TRANSPORT_UC | opcodes[i]);
    }
    CHECK_BYTES(b->bytes + 8000, a->bytes, 3000);
    card_bench_close(&bench);
}

CHECK_SUITE(uc_sqe, CHECK_CASE(the_next_message_begins_anew))
