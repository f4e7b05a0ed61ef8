/* SPDX-License-Identifier: GPL-2.0-only */
/* Go-back-0 at the responder: a loss inside a message has the whole message again. */
#include "card.h"

static struct card_bench bench;
static struct card *const b = &bench.cards[1];

#define MTU 1024u

static enum card_tap_verdict drop_all(struct card_bench *on, struct card_flight *flight)
{
    (void)on;
    (void)flight;
    return CARD_DROP;
}

static void begin(enum rnic_recovery recovery)
{
    struct card_options options = card_options_ideal();

    options.recovery = recovery;
    options.rd_atomic = 4;
    options.access = CARD_ACCESS_ALL;
    card_bench_open(&bench, 2, &options);
    bench.tap = drop_all;
}

static void give(uint8_t opcode, uint32_t psn, uint32_t bytes, uint32_t dma_bytes,
                 enum wire_drop drop)
{
    struct wire_frame frame = card_request(b, opcode, psn, bytes);

    frame.dma_bytes = dma_bytes;
    CHECK_EQ(card_deliver(&bench, b, &frame), drop);
    card_bench_run(&bench, bench.now_ps + 10000000);
}

/* The last answer; how many there are in all. */
static void check_last(size_t n, uint8_t syndrome, uint32_t psn, uint32_t msn)
{
    const struct wire_frame *frame;

    CHECK_EQ(card_log_count(&bench, b->station, false), n);
    frame = &card_log_at(&bench, b->station, false, n - 1)->frame;
    CHECK_EQ(frame->syndrome, syndrome);
    CHECK_EQ(frame->psn.v, (bench.options.psn + psn) & WIRE_PSN_MASK);
    CHECK_EQ(frame->msn, msn);
}

/* The NAK has the PSN of the message's first packet; go-back-N: of the missing one. */
static void a_gap_in_a_message_goes_back_to_its_beginning(void)
{
    for (int back0 = 0; back0 < 2; back0++) {
        uint32_t again = back0 ? 1 : 3;

        begin(back0 ? RNIC_RECOVER_GO_BACK_0 : RNIC_RECOVER_GO_BACK_N);
        card_recv(b, 1, 0, 8 * MTU);
        card_recv(b, 2, 0, 8 * MTU);
        give(WIRE_OP_WRITE_ONLY, 0, 8, 8, WIRE_DROP_NONE);
        give(WIRE_OP_SEND_FIRST, 1, MTU, 0, WIRE_DROP_NONE);
        give(WIRE_OP_SEND_MIDDLE, 2, MTU, 0, WIRE_DROP_NONE);
        give(WIRE_OP_SEND_LAST, 4, 7, 0, WIRE_DROP_PSN_GAP);
        check_last(4, 0x60, again, 1);
        give(WIRE_OP_WRITE_ONLY, 5, 8, 8, WIRE_DROP_PSN_GAP);
        CHECK_EQ(card_log_count(&bench, b->station, false), 4); /* one NAK */
        if (back0) {
            /* what was placed before counts for nothing: these are ahead again */
            give(WIRE_OP_SEND_MIDDLE, 2, MTU, 0, WIRE_DROP_PSN_GAP);
            give(WIRE_OP_SEND_FIRST, 1, MTU, 0, WIRE_DROP_NONE);
            give(WIRE_OP_SEND_MIDDLE, 2, MTU, 0, WIRE_DROP_NONE);
        }
        give(WIRE_OP_SEND_MIDDLE, 3, MTU, 0, WIRE_DROP_NONE);
        give(WIRE_OP_SEND_LAST, 4, 7, 0, WIRE_DROP_NONE);
        CHECK_EQ(card_expect(b, b->recv_cq, 1, RNIC_WC_SUCCESS).byte_len, 3 * MTU + 7);
        card_expect_none(b, b->recv_cq); /* the same request was used again */
        check_last(card_log_count(&bench, b->station, false), 0x1F, 4, 2);
        card_bench_close(&bench);
    }
}

/* Between messages there is nothing to go back to. */
static void a_gap_between_messages_is_as_ever(void)
{
    begin(RNIC_RECOVER_GO_BACK_0);
    give(WIRE_OP_WRITE_FIRST, 0, MTU, 2 * MTU, WIRE_DROP_NONE);
    give(WIRE_OP_WRITE_LAST, 1, MTU, 0, WIRE_DROP_NONE);
    give(WIRE_OP_WRITE_ONLY, 3, 8, 8, WIRE_DROP_PSN_GAP);
    check_last(3, 0x60, 2, 1);
    give(WIRE_OP_WRITE_ONLY, 2, 8, 8, WIRE_DROP_NONE);
    check_last(4, 0x1F, 2, 2);
    card_bench_close(&bench);
}

/* The peer's timer was first: the message begins again without a NAK. */
static void a_message_may_begin_again_by_itself(void)
{
    begin(RNIC_RECOVER_GO_BACK_0);
    give(WIRE_OP_WRITE_FIRST, 0, MTU, 3 * MTU, WIRE_DROP_NONE);
    give(WIRE_OP_WRITE_MIDDLE, 1, MTU, 0, WIRE_DROP_NONE);
    give(WIRE_OP_WRITE_FIRST, 0, MTU, 3 * MTU, WIRE_DROP_NONE);
    check_last(3, 0x1F, 0, 0);
    give(WIRE_OP_WRITE_LAST, 2, MTU, 0, WIRE_DROP_PSN_GAP);
    check_last(4, 0x60, 0, 0);
    give(WIRE_OP_WRITE_FIRST, 0, MTU, 3 * MTU, WIRE_DROP_NONE);
    give(WIRE_OP_WRITE_MIDDLE, 1, MTU, 0, WIRE_DROP_NONE);
    give(WIRE_OP_WRITE_LAST, 2, MTU, 0, WIRE_DROP_NONE);
    check_last(7, 0x1F, 2, 1);
    give(WIRE_OP_WRITE_FIRST, 0, MTU, 3 * MTU, WIRE_DROP_DUPLICATE); /* it is complete now */
    check_last(8, 0x1F, 0, 1);
    card_bench_close(&bench);
}

/* Messages before the open one are repeats as ever. */
static void what_is_before_the_open_message_is_a_repeat(void)
{
    begin(RNIC_RECOVER_GO_BACK_0);
    give(WIRE_OP_WRITE_ONLY, 0, 8, 8, WIRE_DROP_NONE);
    give(WIRE_OP_READ_REQUEST, 1, 8, 8, WIRE_DROP_NONE);
    give(WIRE_OP_WRITE_FIRST, 2, MTU, 2 * MTU, WIRE_DROP_NONE);
    give(WIRE_OP_WRITE_ONLY, 0, 8, 8, WIRE_DROP_DUPLICATE);
    check_last(4, 0x1F, 0, 2);
    give(WIRE_OP_READ_REQUEST, 1, 8, 8, WIRE_DROP_DUPLICATE);
    give(WIRE_OP_WRITE_LAST, 3, MTU, 0, WIRE_DROP_NONE);
    check_last(6, 0x1F, 3, 3);
    card_bench_close(&bench);
}

/* The immediate found no receive request: the message may come whole again or only its end. */
static void rnr_at_the_end_of_a_message(void)
{
    for (int whole = 0; whole < 2; whole++) {
        begin(RNIC_RECOVER_GO_BACK_0);
        give(WIRE_OP_WRITE_FIRST, 0, MTU, 2 * MTU, WIRE_DROP_NONE);
        give(WIRE_OP_WRITE_LAST_IMM, 1, MTU, 0, WIRE_DROP_RNR_WAIT);
        card_recv(b, 1, 0, 0);
        if (whole)
            give(WIRE_OP_WRITE_FIRST, 0, MTU, 2 * MTU, WIRE_DROP_NONE);
        give(WIRE_OP_WRITE_LAST_IMM, 1, MTU, 0, WIRE_DROP_NONE);
        CHECK_EQ(card_expect(b, b->recv_cq, 1, RNIC_WC_SUCCESS).byte_len, 2 * MTU);
        card_bench_close(&bench);
    }
}

/* Only what begins a message begins it again; another packet with its PSN is a repeat. */
static void only_a_beginning_begins_again(void)
{
    static const uint8_t opcodes[] = {WIRE_OP_SEND_MIDDLE, WIRE_OP_SEND_LAST, WIRE_OP_WRITE_MIDDLE,
                                      WIRE_OP_WRITE_LAST};

    for (size_t i = 0; i < sizeof opcodes; i++) {
        begin(RNIC_RECOVER_GO_BACK_0);
        card_recv(b, 1, 0, 4 * MTU);
        give(WIRE_OP_SEND_FIRST, 0, MTU, 0, WIRE_DROP_NONE);
        give(WIRE_OP_SEND_MIDDLE, 1, MTU, 0, WIRE_DROP_NONE);
        give(opcodes[i], 0, MTU, MTU, WIRE_DROP_DUPLICATE);
        give(WIRE_OP_SEND_LAST, 2, MTU, 0, WIRE_DROP_NONE); /* the message goes on */
        CHECK_EQ(card_expect(b, b->recv_cq, 1, RNIC_WC_SUCCESS).byte_len, 3 * MTU);
        card_bench_close(&bench);
    }
    begin(RNIC_RECOVER_GO_BACK_0); /* another message in its place */
    card_recv(b, 1, 0, 4 * MTU);
    give(WIRE_OP_SEND_FIRST, 0, MTU, 0, WIRE_DROP_NONE);
    give(WIRE_OP_SEND_ONLY, 0, 5, 0, WIRE_DROP_NONE);
    CHECK_EQ(card_expect(b, b->recv_cq, 1, RNIC_WC_SUCCESS).byte_len, 5);
    card_bench_close(&bench);
}

CHECK_SUITE(rc_back0_responder, CHECK_CASE(a_gap_in_a_message_goes_back_to_its_beginning),
            CHECK_CASE(a_gap_between_messages_is_as_ever),
            CHECK_CASE(a_message_may_begin_again_by_itself),
            CHECK_CASE(what_is_before_the_open_message_is_a_repeat),
            CHECK_CASE(rnr_at_the_end_of_a_message), CHECK_CASE(only_a_beginning_begins_again))
