/* SPDX-License-Identifier: GPL-2.0-only */
/* More acknowledges than there is room for, of several queue pairs: each keeps its last one. */
#include "card.h"
#include "rnic_tx_control.h"

#define PAIRS 3u

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];
static uint32_t qpn_a[PAIRS], qpn_b[PAIRS];

static void open_bench(void)
{
    struct card_options options = card_options_ideal();

    options.psn = 1000;
    card_bench_open(&bench, 2, &options);
    for (uint32_t i = 0; i < PAIRS; i++) {
        qpn_a[i] = card_new_qp(a, a->send_cq, a->recv_cq);
        qpn_b[i] = card_new_qp(b, b->send_cq, b->recv_cq);
        card_join(a, qpn_a[i], b, qpn_b[i]);
    }
    b->ready_classes = 0; /* its MAC is paused */
}

static void request(uint32_t i, uint32_t psn)
{
    struct wire_frame frame = card_ack(b, psn, 0, 0);

    frame.opcode = WIRE_OP_WRITE_ONLY;
    frame.dest_qpn = qpn_b[i];
    frame.bth_flags = WIRE_BTH_ACKREQ;
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
}

/* PSN of the last acknowledge to a queue pair. */
static uint32_t last_ack(uint32_t i)
{
    uint32_t psn = 0;

    for (size_t k = 0; k < card_log_count(&bench, b->station, false); k++) {
        const struct wire_frame *frame = &card_log_at(&bench, b->station, false, k)->frame;

        if (frame->dest_qpn == qpn_a[i])
            psn = frame->psn.v;
    }
    return psn;
}

static void one_queue_pair_does_not_take_the_place_of_others(void)
{
    const uint32_t many = 2 * RNIC_TX_CONTROL_RECORDS;

    for (uint32_t busy = 0; busy < PAIRS; busy++) {
        open_bench();
        for (uint32_t i = 0; i < PAIRS; i++)
            if (i != busy)
                request(i, 1000);
        for (uint32_t psn = 1000; psn < 1000 + many; psn++)
            request(busy, psn);
        b->ready_classes = 0xFF;
        card_bench_run(&bench, WIRE_NEVER);
        for (uint32_t i = 0; i < PAIRS; i++)
            CHECK_EQ(last_ack(i), i == busy ? 1000 + many - 1 : 1000);
        CHECK_EQ(rnic_query_counters(b->dev)->control_lost, 0);
        card_bench_close(&bench);
    }
}

CHECK_SUITE(rc_ack_room, CHECK_CASE(one_queue_pair_does_not_take_the_place_of_others))
