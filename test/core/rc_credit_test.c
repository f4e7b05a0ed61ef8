/* SPDX-License-Identifier: GPL-2.0-only */
/* A requester that heeds end-to-end credits: who waits for them, who does not, and for how long. */
#include "card.h"

#define US 1000000u
#define SENDS 8u

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static void open_bench(bool credits)
{
    struct card_options options = card_options_ideal();

    options.delay_ps = US;
    options.e2e_credits = credits;
    card_bench_open(&bench, 2, &options);
}

static const struct card_log_entry *request_at(size_t i)
{
    CHECK(i < card_log_count(&bench, a->station, true));
    return card_log_at(&bench, a->station, true, i);
}

/* Which of the requests (one packet each) the i-th frame carries. */
static int32_t sent(size_t i)
{
    return wire_psn_diff(request_at(i)->frame.psn, (wire_psn){bench.options.psn});
}

/* When the i-th answer has arrived. */
static uint64_t answered_ps(size_t i)
{
    CHECK(i < card_log_count(&bench, b->station, false));
    return card_log_at(&bench, b->station, false, i)->left_ps + US;
}

static void receives(uint32_t from, uint32_t n)
{
    for (uint32_t i = from; i < from + n; i++)
        card_recv(b, 100 + i, 0, 1000);
}

/* Everything that takes a receive request: alone until credits are known, then as many as given. */
static void what_uses_a_receive_goes_by_the_credits(void)
{
    static const enum rnic_wr_opcode opcodes[] = {RNIC_WR_SEND, RNIC_WR_SEND_WITH_IMM,
                                                  RNIC_WR_RDMA_WRITE_WITH_IMM};

    for (size_t k = 0; k < sizeof opcodes / sizeof opcodes[0]; k++) {
        open_bench(true);
        receives(0, 4);
        for (uint32_t i = 0; i < SENDS; i++)
            card_post(a, opcodes[k], i, 0, 0, 100);
        card_bench_run(&bench, 20 * US);

        /* The first asks at once what there is; three more are covered by the answer. */
        CHECK(request_at(0)->frame.bth_flags & WIRE_BTH_ACKREQ);
        CHECK(request_at(1)->left_ps >= answered_ps(0));
        CHECK(request_at(2)->left_ps < answered_ps(1));
        CHECK(request_at(3)->left_ps < answered_ps(1));
        /* The fifth is beyond them: it waits until nothing is in flight, and asks. */
        CHECK(request_at(4)->left_ps >= answered_ps(1));
        CHECK(request_at(4)->frame.bth_flags & WIRE_BTH_ACKREQ);
        CHECK_EQ(sent(4), 4);
        CHECK_EQ(card_counters(a, a->qpn).rnr_naks_rx, 1);
        for (size_t i = 0; i < card_log_count(&bench, a->station, true); i++)
            CHECK(sent(i) <= 4);

        receives(4, 4);
        card_bench_run(&bench, WIRE_NEVER);
        for (uint32_t i = 0; i < SENDS; i++) {
            card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
            card_expect(b, b->recv_cq, 100 + i, RNIC_WC_SUCCESS);
        }
        CHECK_EQ(card_counters(a, a->qpn).rnr_naks_rx, 1);
        card_bench_close(&bench);
    }
}

/* Its first packet asks, alone; the answer covers the message, and the rest asks no more. */
static void the_first_packet_of_a_long_message_asks(void)
{
    open_bench(true);
    receives(0, 1);
    card_send(a, 0, 0, 900);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 0, RNIC_WC_SUCCESS);
    card_recv(b, 101, 0, 3000); /* the requester does not know of it yet */
    card_send(a, 1, 0, 3000);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_EQ(sent(1), 1);
    CHECK(request_at(1)->frame.bth_flags & WIRE_BTH_ACKREQ);
    CHECK(!(request_at(2)->frame.bth_flags & WIRE_BTH_ACKREQ));
    CHECK(request_at(2)->left_ps >= answered_ps(1));
    CHECK(request_at(3)->left_ps < request_at(2)->left_ps + US);
    card_bench_close(&bench);
}

static void without_them_all_leave_at_once(void)
{
    open_bench(false);
    receives(0, SENDS);
    for (uint32_t i = 0; i < SENDS; i++)
        card_send(a, i, 0, 100);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK(request_at(SENDS - 1)->left_ps < answered_ps(0));
    card_bench_close(&bench);
}

/* A WRITE uses no receive request, and does not wait. */
static void a_write_needs_no_credit(void)
{
    open_bench(true);
    for (uint32_t i = 0; i < SENDS; i++)
        card_write(a, i, 0, 0, 100);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK(request_at(SENDS - 1)->left_ps < answered_ps(0));
    for (uint32_t i = 0; i < SENDS; i++)
        card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

/* The peer counts none: after its first answer nobody waits. */
static void a_peer_that_counts_no_credits(void)
{
    uint32_t qpn_a, qpn_b;

    open_bench(true);
    qpn_a = card_new_qp(a, a->send_cq, a->recv_cq);
    bench.options.e2e_credits = false;
    qpn_b = card_new_qp(b, b->send_cq, b->recv_cq);
    card_join(a, qpn_a, b, qpn_b);
    a->qpn = qpn_a;
    b->qpn = qpn_b;
    receives(0, SENDS);
    for (uint32_t i = 0; i < SENDS; i++)
        card_send(a, i, 0, 100);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK(request_at(1)->left_ps >= answered_ps(0));
    CHECK(request_at(SENDS - 1)->left_ps < answered_ps(1));
    for (uint32_t i = 0; i < SENDS; i++)
        card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

/* An acknowledge of what was never sent gives no credits and takes none of the checks away; one
   that comes again does: that is how a peer tells of new receive requests. */
static void a_ghost_gives_no_credits(void)
{
    static const uint8_t syndromes[] = {WIRE_AETH_NO_CREDITS, 8 /* 16 requests */};

    for (size_t i = 0; i < 2; i++)
        for (uint32_t ghost = 0; ghost < 2; ghost++) {
            struct wire_frame ack;

            open_bench(true);
            ack = card_ack(a, (bench.options.psn + (ghost ? 0 : WIRE_PSN_MASK)) & WIRE_PSN_MASK,
                           syndromes[i], 0);
            CHECK_EQ(card_deliver(&bench, a, &ack), WIRE_DROP_STALE_ACK);
            for (uint32_t k = 0; k < SENDS; k++)
                card_send(a, k, 0, 100);
            card_bench_run(&bench, US / 2);
            CHECK_EQ(card_log_count(&bench, a->station, true), ghost ? 1 : SENDS);
            card_bench_close(&bench);
        }
}

/* SEND with invalidate is one of them: it waits until the first answer tells of a receive. */
static void a_send_with_invalidate_needs_a_credit(void)
{
    open_bench(true);
    receives(0, 2);
    for (uint32_t i = 0; i < 5; i++)
        card_post(a, i == 0 ? RNIC_WR_SEND : RNIC_WR_SEND_WITH_INV, i, 0, 0, 100);
    card_bench_run(&bench, US / 2);
    CHECK_EQ(card_log_count(&bench, a->station, true), 1); /* nothing is known yet */
    card_bench_close(&bench);
}

CHECK_SUITE(rc_credit, CHECK_CASE(what_uses_a_receive_goes_by_the_credits),
            CHECK_CASE(the_first_packet_of_a_long_message_asks),
            CHECK_CASE(without_them_all_leave_at_once), CHECK_CASE(a_write_needs_no_credit),
            CHECK_CASE(a_peer_that_counts_no_credits), CHECK_CASE(a_ghost_gives_no_credits),
            CHECK_CASE(a_send_with_invalidate_needs_a_credit))
