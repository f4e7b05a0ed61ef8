/* SPDX-License-Identifier: GPL-2.0-only */
/* The responder against a peer that breaks the rules: sequence of opcodes, lengths, headers. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

#define MTU 1024u

static void open_bench(void)
{
    struct card_options options = card_options_ideal();

    options.mtu_bytes = MTU;
    card_bench_open(&bench, 2, &options);
    for (uint64_t i = 0; i < 4; i++)
        card_recv(b, i, 10000 * i, 8 * MTU);
}

/* A request for card 1 with this PSN offset; no bytes of payload, only their number. */
static struct wire_frame request(uint8_t opcode, uint32_t psn, uint32_t bytes)
{
    struct wire_frame frame = card_ack(b, bench.options.psn + psn, 0, 0);

    frame.opcode = opcode;
    frame.payload_bytes = bytes;
    frame.va = CARD_VA;
    frame.rkey = b->key;
    frame.dma_bytes = bytes;
    frame.bth_flags = WIRE_BTH_ACKREQ;
    return frame;
}

/* What the responder says last; 0xFF: nothing. */
static uint8_t answer(void)
{
    size_t n;

    card_bench_run(&bench, bench.now_ps + 1000000);
    n = card_log_count(&bench, b->station, false);
    return n == 0 ? 0xFF : card_log_at(&bench, b->station, false, n - 1)->frame.syndrome;
}

static void check_invalid(const struct wire_frame *frame)
{
    uint32_t psn = frame->psn.v;
    struct rnic_wc wc;
    size_t n;

    CHECK_EQ(card_deliver(&bench, b, frame), WIRE_DROP_REFUSED);
    CHECK_EQ(answer(), 0x61);
    n = card_log_count(&bench, b->station, false);
    CHECK_EQ(card_log_at(&bench, b->station, false, n - 1)->frame.psn.v, psn);
    CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_ERR);
    /* One of them tells the host: the receive that an open SEND uses, or the event. */
    if (b->events[RNIC_EVENT_QP_REQ_ERR] == 0) {
        CHECK(card_poll(b, b->recv_cq, &wc) && wc.status == RNIC_WC_LOC_QP_OP_ERR);
        return;
    }
    CHECK_EQ(b->events[RNIC_EVENT_QP_REQ_ERR], 1);
    CHECK_EQ(b->last[RNIC_EVENT_QP_REQ_ERR].qpn, b->qpn);
}

/* Which packet may follow which: a message of `first` is open (0: none), then `next`. */
struct sequence {
    uint8_t first, next;
    bool legal;
};

#define NONE 0xFF

static const struct sequence sequences[] = {
    {NONE, WIRE_OP_SEND_FIRST, true},
    {NONE, WIRE_OP_SEND_ONLY, true},
    {NONE, WIRE_OP_SEND_ONLY_IMM, true},
    {NONE, WIRE_OP_WRITE_FIRST, true},
    {NONE, WIRE_OP_WRITE_ONLY, true},
    {NONE, WIRE_OP_WRITE_ONLY_IMM, true},
    {NONE, WIRE_OP_SEND_MIDDLE, false},
    {NONE, WIRE_OP_SEND_LAST, false},
    {NONE, WIRE_OP_SEND_LAST_IMM, false},
    {NONE, WIRE_OP_WRITE_MIDDLE, false},
    {NONE, WIRE_OP_WRITE_LAST, false},
    {NONE, WIRE_OP_WRITE_LAST_IMM, false},
    {WIRE_OP_SEND_FIRST, WIRE_OP_SEND_MIDDLE, true},
    {WIRE_OP_SEND_FIRST, WIRE_OP_SEND_LAST, true},
    {WIRE_OP_SEND_FIRST, WIRE_OP_SEND_LAST_IMM, true},
    {WIRE_OP_SEND_FIRST, WIRE_OP_SEND_FIRST, false},
    {WIRE_OP_SEND_FIRST, WIRE_OP_SEND_ONLY, false},
    {WIRE_OP_SEND_FIRST, WIRE_OP_SEND_ONLY_IMM, false},
    {WIRE_OP_SEND_FIRST, WIRE_OP_WRITE_FIRST, false},
    {WIRE_OP_SEND_FIRST, WIRE_OP_WRITE_MIDDLE, false},
    {WIRE_OP_SEND_FIRST, WIRE_OP_WRITE_LAST, false},
    {WIRE_OP_SEND_FIRST, WIRE_OP_WRITE_LAST_IMM, false},
    {WIRE_OP_SEND_FIRST, WIRE_OP_WRITE_ONLY, false},
    {WIRE_OP_SEND_FIRST, WIRE_OP_WRITE_ONLY_IMM, false},
    {WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_MIDDLE, true},
    {WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_LAST, true},
    {WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_LAST_IMM, true},
    {WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_FIRST, false},
    {WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_ONLY, false},
    {WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_ONLY_IMM, false},
    {WIRE_OP_WRITE_FIRST, WIRE_OP_SEND_FIRST, false},
    {WIRE_OP_WRITE_FIRST, WIRE_OP_SEND_MIDDLE, false},
    {WIRE_OP_WRITE_FIRST, WIRE_OP_SEND_LAST, false},
    {WIRE_OP_WRITE_FIRST, WIRE_OP_SEND_LAST_IMM, false},
    {WIRE_OP_WRITE_FIRST, WIRE_OP_SEND_ONLY, false},
    {WIRE_OP_WRITE_FIRST, WIRE_OP_SEND_ONLY_IMM, false},
};

static void opcodes_follow_each_other_as_the_standard_says(void)
{
    for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++) {
        const struct sequence *s = &sequences[i];
        bool middle = s->next == WIRE_OP_SEND_MIDDLE || s->next == WIRE_OP_WRITE_MIDDLE;
        struct wire_frame frame;
        uint32_t psn = 0;

        open_bench();
        if (s->first != NONE) {
            frame = request(s->first, psn++, MTU);
            frame.dma_bytes = middle ? 3 * MTU : 2 * MTU;
            CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
        }
        frame = request(s->next, psn, MTU);
        if (s->next == WIRE_OP_WRITE_FIRST)
            frame.dma_bytes = 2 * MTU;
        if (s->legal) {
            CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
            CHECK_EQ(answer(), 0x1F);
            CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_RTS);
        } else {
            check_invalid(&frame);
        }
        card_bench_close(&bench);
    }
}

struct length {
    uint8_t opcode;
    uint32_t bytes, dma_bytes;
    bool legal;
};

static const struct length lengths[] = {
    {WIRE_OP_SEND_FIRST, MTU - 1, 0, false},
    {WIRE_OP_SEND_FIRST, MTU, 0, true},
    {WIRE_OP_SEND_FIRST, 0, 0, false},
    {WIRE_OP_SEND_FIRST, MTU + 1, 0, false},
    {WIRE_OP_SEND_ONLY, MTU, 0, true},
    {WIRE_OP_SEND_ONLY, MTU + 1, 0, false},
    {WIRE_OP_SEND_ONLY, 0, 0, true},
    {WIRE_OP_SEND_ONLY_IMM, MTU + 1, 0, false},
    {WIRE_OP_WRITE_FIRST, MTU, MTU + 1, true},
    {WIRE_OP_WRITE_FIRST, MTU, MTU, false}, /* must be ONLY */
    {WIRE_OP_WRITE_FIRST, MTU, MTU - 1, false},
    {WIRE_OP_WRITE_FIRST, MTU, 0, false},
    {WIRE_OP_WRITE_FIRST, MTU - 1, 2 * MTU, false},
    {WIRE_OP_WRITE_FIRST, MTU + 1, 2 * MTU, false},
    {WIRE_OP_WRITE_FIRST, MTU, 0x80000001u, false},
    {WIRE_OP_WRITE_ONLY, 5, 5, true},
    {WIRE_OP_WRITE_ONLY, 5, 4, false},
    {WIRE_OP_WRITE_ONLY, 5, 6, false},
    {WIRE_OP_WRITE_ONLY, 0, 0, true},
    {WIRE_OP_WRITE_ONLY, 0, 1, false},
    {WIRE_OP_WRITE_ONLY, MTU, MTU, true},
    {WIRE_OP_WRITE_ONLY, MTU + 1, MTU + 1, false},
    {WIRE_OP_WRITE_ONLY_IMM, 5, 6, false},
};

static void every_bad_length_is_an_invalid_request(void)
{
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const struct length *l = &lengths[i];
        struct wire_frame frame;

        open_bench();
        frame = request(l->opcode, 0, l->bytes);
        frame.dma_bytes = l->dma_bytes;
        if (l->legal)
            CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
        else
            check_invalid(&frame);
        card_bench_close(&bench);
    }
}

/* LAST: 1 .. MTU; MIDDLE: MTU; and a WRITE ends exactly where its first packet said. */
static void lengths_inside_a_message(void)
{
    static const struct {
        uint8_t first, next;
        uint32_t bytes, dma_bytes;
        bool legal;
    } cases[] = {
        {WIRE_OP_SEND_FIRST, WIRE_OP_SEND_LAST, 0, 0, false},
        {WIRE_OP_SEND_FIRST, WIRE_OP_SEND_LAST, 1, 0, true},
        {WIRE_OP_SEND_FIRST, WIRE_OP_SEND_LAST, MTU, 0, true},
        {WIRE_OP_SEND_FIRST, WIRE_OP_SEND_LAST, MTU + 1, 0, false},
        {WIRE_OP_SEND_FIRST, WIRE_OP_SEND_MIDDLE, MTU - 1, 0, false},
        {WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_LAST, 1, MTU + 1, true},
        {WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_LAST, 0, MTU + 1, false},
        {WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_LAST, 2, MTU + 1, false},
        {WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_LAST, 1, MTU + 2, false},
        {WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_LAST_IMM, 1, MTU + 2, false},
        {WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_MIDDLE, MTU, 2 * MTU, false},
        {WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_MIDDLE, MTU, 2 * MTU + 1, true},
        {WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_MIDDLE, MTU - 1, 3 * MTU, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct wire_frame frame;

        open_bench();
        frame = request(cases[i].first, 0, MTU);
        frame.dma_bytes = cases[i].dma_bytes;
        CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
        frame = request(cases[i].next, 1, cases[i].bytes);
        if (cases[i].legal)
            CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
        else
            check_invalid(&frame);
        card_bench_close(&bench);
    }
}

/* Operations this card does not offer are invalid requests, and counted under that name. */
static void what_is_not_offered_is_refused(void)
{
    static const uint8_t opcodes[] = {WIRE_OP_FLUSH, WIRE_OP_ATOMIC_WRITE};

    for (size_t i = 0; i < sizeof opcodes; i++) {
        struct wire_frame frame;

        open_bench();
        frame = request(opcodes[i], 0, 8);
        CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_UNSUPPORTED);
        CHECK_EQ(rnic_query_counters(b->dev)->drops[WIRE_DROP_UNSUPPORTED], 1);
        CHECK_EQ(rnic_query_counters(b->dev)->drops[WIRE_DROP_REFUSED], 0);
        CHECK_EQ(answer(), 0x61);
        CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_ERR);
        card_bench_close(&bench);
    }
}

/* Those it offers, but not on this queue pair: it has the rights for SEND and WRITE only. */
static void what_is_not_enabled_is_refused(void)
{
    static const uint8_t opcodes[] = {WIRE_OP_READ_REQUEST, WIRE_OP_COMPARE_SWAP,
                                      WIRE_OP_FETCH_ADD};

    for (size_t i = 0; i < sizeof opcodes; i++) {
        struct wire_frame frame;

        open_bench();
        frame = card_request(b, opcodes[i], 0, 8);
        check_invalid(&frame);
        card_bench_close(&bench);
    }
}

/*
 * One request that breaks two rules gets the answer of the first in the order: sequence, enabled,
 * receive request, length, key.
 */
static void the_first_rule_that_is_broken_answers(void)
{
    struct card_options options = card_options_ideal();
    struct wire_frame frame;

    card_bench_open(&bench, 2, &options);
    frame = card_request(b, WIRE_OP_SEND_FIRST, 0, 5); /* no receive request, then a bad length */
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_RNR_WAIT);
    CHECK_EQ(answer() & 0xE0, 0x20);
    frame = card_request(b, WIRE_OP_WRITE_ONLY_IMM, 0, 5); /* no receive request, then no key */
    frame.rkey ^= 1;
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_RNR_WAIT);
    frame = card_request(b, WIRE_OP_SEND_LAST, 0, 5); /* no message is open, then no request */
    check_invalid(&frame);
    card_bench_close(&bench);

    card_bench_open(&bench, 2, &options);
    frame = card_request(b, WIRE_OP_WRITE_ONLY, 0, 5); /* total is wrong, then no key */
    frame.dma_bytes = 6;
    frame.rkey ^= 1;
    check_invalid(&frame);
    card_bench_close(&bench);

    card_bench_open(&bench, 2, &options);
    card_recv(b, 1, 0, 4);
    frame = card_request(b, WIRE_OP_SEND_ONLY, 0, MTU + 1); /* longer than MTU, then than request */
    check_invalid(&frame);
    CHECK_EQ(card_expect(b, b->recv_cq, 1, RNIC_WC_WR_FLUSH_ERR).vendor_err, 0);
    card_bench_close(&bench);
}

/* Key, domain, bounds, permission: all NAK 2, the host is told, and no byte moves. */
static void a_bad_key_is_an_access_error(void)
{
    for (unsigned i = 0; i < 5; i++) {
        struct card_options options = card_options_ideal();
        struct wire_frame frame;
        uint32_t pd, key;

        card_bench_open(&bench, 2, &options);
        CARD_OK(b, rnic_alloc_pd(b->dev, &pd, 0));
        CARD_OK(b, rnic_reg_mr(b->dev, i == 3 ? pd : b->pd, CARD_VA, 4096, b->bytes,
                               i == 4 ? RNIC_ACCESS_LOCAL_WRITE : options.access, &key, 0));
        frame = card_request(b, WIRE_OP_WRITE_ONLY, 0, 8);
        frame.rkey = key ^ (i == 0);
        frame.va = i == 1 ? CARD_VA - 1 : i == 2 ? CARD_VA + 4089 : CARD_VA;
        CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_REFUSED);
        CHECK_EQ(answer(), 0x62);
        CHECK_EQ(card_log_at(&bench, b->station, false, 0)->frame.psn.v, frame.psn.v);
        CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_ERR);
        CHECK_EQ(b->events[RNIC_EVENT_QP_ACCESS_ERR], 1);
        CHECK_EQ(b->events[RNIC_EVENT_QP_REQ_ERR], 0);
        CHECK_EQ(card_counters(b, b->qpn).naks_tx, 1);
        card_bench_close(&bench);
    }
}

/* No length, no look: neither address nor key are anything. */
static void a_write_of_nothing_needs_no_key(void)
{
    struct wire_frame frame;

    open_bench();
    frame = request(WIRE_OP_WRITE_ONLY, 0, 0);
    frame.rkey = 0xFFFFFFFF;
    frame.va = 1;
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    CHECK_EQ(answer(), 0x1F);
    card_bench_close(&bench);
}

/* known-bugs A12 and class J: the receive ends in LOC_QP_OP_ERR, the sender is told NAK 3. */
static void a_key_that_can_not_be_invalidated_is_an_operational_error(void)
{
    struct wire_frame frame;

    open_bench();
    frame = request(WIRE_OP_SEND_ONLY_INV, 0, 8);
    frame.imm = b->key;
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_REFUSED);
    CHECK_EQ(answer(), 0x63);
    CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_ERR);
    (void)card_expect(b, b->recv_cq, 0, RNIC_WC_LOC_QP_OP_ERR);
    (void)card_expect(b, b->recv_cq, 1, RNIC_WC_WR_FLUSH_ERR);
    frame = request(WIRE_OP_SEND_ONLY, 0, 8);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_QP_STATE);
    card_bench_close(&bench);
}

/* The requests posted and not used up, that of the open message too: the MSN does not count it. */
static void credits_count_what_is_posted(void)
{
    struct card_options options = card_options_ideal();
    struct wire_frame frame;

    options.e2e_credits = true;
    card_bench_open(&bench, 2, &options);
    for (uint64_t i = 0; i < 5; i++)
        card_recv(b, i, 10000 * i, 8 * MTU);
    frame = card_request(b, WIRE_OP_WRITE_ONLY, 0, 8);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    CHECK_EQ(answer(), 4); /* MSN 1, so up to message 5 */
    frame = card_request(b, WIRE_OP_SEND_FIRST, 1, MTU);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    CHECK_EQ(answer(), 4);
    frame = card_request(b, WIRE_OP_SEND_LAST, 2, MTU);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    CHECK_EQ(answer(), 4); /* 4 of them */
    frame = card_request(b, WIRE_OP_SEND_ONLY, 3, 1);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    CHECK_EQ(answer(), 3);
    frame = card_request(b, WIRE_OP_SEND_ONLY, 3, 1); /* repeated */
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_DUPLICATE);
    CHECK_EQ(answer(), 3);
    card_bench_close(&bench);
}

/* While a SEND waits for a receive request no gap is told, and nothing behind it is executed. */
static void an_rnr_is_not_also_a_gap(void)
{
    struct card_options options = card_options_ideal();
    struct wire_frame frame;

    card_bench_open(&bench, 2, &options);
    frame = card_request(b, WIRE_OP_SEND_ONLY, 0, 8);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_RNR_WAIT);
    for (uint32_t psn = 1; psn < 9; psn++) {
        frame = card_request(b, WIRE_OP_WRITE_ONLY, psn, 8);
        CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_RNR_WAIT);
    }
    CHECK_EQ(answer(), (uint8_t)(0x20 | options.params.min_rnr_timer));
    CHECK_EQ(card_log_count(&bench, b->station, false), 1);
    CHECK_EQ(card_counters(b, b->qpn).rnr_naks_tx, 1);
    CHECK_EQ(card_counters(b, b->qpn).naks_tx, 0);
    card_recv(b, 1, 0, 100);
    frame = card_request(b, WIRE_OP_SEND_ONLY, 0, 8);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    CHECK_EQ(answer(), 0x1F);
    card_bench_close(&bench);
}

/* The request is needed where the immediate is: what came before it is in memory. */
static void a_long_write_meets_rnr_at_its_end(void)
{
    struct wire_frame frame;
    struct rnic_wc wc;

    open_bench();
    for (uint64_t i = 0; i < 4; i++) { /* use up what there is */
        frame = request(WIRE_OP_SEND_ONLY, (uint32_t)i, 1);
        CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    }
    frame = request(WIRE_OP_WRITE_FIRST, 4, MTU);
    frame.dma_bytes = MTU + 8;
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    frame = request(WIRE_OP_WRITE_LAST_IMM, 5, 8);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_RNR_WAIT);
    CHECK_EQ(answer() & 0xE0, 0x20);
    card_recv(b, 9, 0, 0);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    CHECK_EQ(answer(), 0x1F);
    bench.now_ps += 10000000;
    for (uint64_t i = 0; i < 4; i++)
        (void)card_expect(b, b->recv_cq, i, RNIC_WC_SUCCESS);
    wc = card_expect(b, b->recv_cq, 9, RNIC_WC_SUCCESS);
    CHECK_EQ(wc.byte_len, MTU + 8);
    card_bench_close(&bench);
}

/* Silent drops: the header is not for this queue pair. Nothing is answered, nothing changes. */
static void check_silent(const struct wire_frame *frame, enum wire_drop drop)
{
    CHECK_EQ(card_deliver(&bench, b, frame), drop);
    CHECK_EQ(rnic_query_counters(b->dev)->drops[drop], 1);
    CHECK_EQ(answer(), 0xFF);
    CHECK_EQ(b->bytes[0], 0);
    card_expect_none(b, b->recv_cq);
    card_bench_close(&bench);
    open_bench();
}

static void frames_for_somebody_else_are_dropped_silently(void)
{
    struct wire_frame frame;

    open_bench();
    frame = request(WIRE_OP_SEND_ONLY, 0, 8);
    frame.flags |= WIRE_FRAME_CORRUPT;
    check_silent(&frame, WIRE_DROP_FCS);
    frame = request(WIRE_OP_SEND_ONLY, 0, 8);
    frame.dst = a->station;
    check_silent(&frame, WIRE_DROP_DEST_MAC);
    frame = request(WIRE_OP_SEND_ONLY, 0, 8);
    frame.eth_dst = a->station;
    check_silent(&frame, WIRE_DROP_DEST_MAC);
    frame = request(WIRE_OP_SEND_ONLY, 0, 8);
    frame.flags |= WIRE_FRAME_ROCE_V1;
    check_silent(&frame, WIRE_DROP_ADDRESS);
    frame = request(0x1F, 0, 8);
    check_silent(&frame, WIRE_DROP_OPCODE);
    frame = request(WIRE_OP_SEND_ONLY, 0, 8);
    frame.dest_qpn = 0xFFFFFF;
    check_silent(&frame, WIRE_DROP_QPN);
    frame.dest_qpn = 1;
    check_silent(&frame, WIRE_DROP_QPN);
    frame = request(WIRE_TRANSPORT_UC | WIRE_OP_SEND_ONLY, 0, 8);
    check_silent(&frame, WIRE_DROP_TRANSPORT);
    frame = request(WIRE_TRANSPORT_UD | WIRE_OP_SEND_ONLY, 0, 8);
    check_silent(&frame, WIRE_DROP_TRANSPORT);
    frame = request(WIRE_OP_SEND_ONLY, 0, 8);
    frame.pkey = 0x8001;
    check_silent(&frame, WIRE_DROP_PKEY);
    frame = request(WIRE_OP_SEND_ONLY, 0, 8);
    frame.src = 999;
    check_silent(&frame, WIRE_DROP_ADDRESS);
    card_bench_close(&bench);
}

/* In which state a queue pair takes what: ibv_modify_qp(3). */
static void states_take_what_they_may(void)
{
    static const struct {
        enum rnic_qp_state state;
        bool request, response;
    } cases[] = {{RNIC_QPS_RESET, false, false},
                 {RNIC_QPS_INIT, false, false},
                 {RNIC_QPS_RTR, true, false},
                 {RNIC_QPS_RTS, true, true},
                 {RNIC_QPS_ERR, false, false}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rnic_qp_attr attr;
        struct wire_frame frame;
        uint32_t qpn;

        open_bench();
        qpn = card_new_qp(b, b->send_cq, b->recv_cq);
        attr = card_attr(b, a, a->qpn);
        if (cases[i].state == RNIC_QPS_ERR) {
            card_to_state(b, qpn, &attr, RNIC_QPS_RTS);
            attr.qp_state = RNIC_QPS_ERR;
            CHECK_EQ(rnic_modify_qp(b->dev, qpn, &attr, RNIC_QP_STATE, 0), 0);
        } else if (cases[i].state != RNIC_QPS_RESET) {
            card_to_state(b, qpn, &attr, cases[i].state);
        }
        frame = request(WIRE_OP_WRITE_ONLY, 0, 8);
        frame.dest_qpn = qpn;
        CHECK_EQ(card_deliver(&bench, b, &frame),
                 cases[i].request ? WIRE_DROP_NONE : WIRE_DROP_QP_STATE);
        frame = request(WIRE_OP_ACKNOWLEDGE, 0, 0);
        frame.dest_qpn = qpn;
        CHECK_EQ(card_deliver(&bench, b, &frame),
                 cases[i].response ? WIRE_DROP_STALE_ACK : WIRE_DROP_QP_STATE);
        card_bench_run(&bench, bench.now_ps + 1000000);
        CHECK_EQ(b->events[RNIC_EVENT_COMM_EST], cases[i].state == RNIC_QPS_RTR);
        card_bench_close(&bench);
    }
}

/* One NAK for a gap, whatever comes behind it, until the expected one is here. */
static void one_nak_for_a_gap(void)
{
    struct wire_frame frame;

    open_bench();
    for (uint32_t psn = 1; psn < 20; psn++) {
        frame = request(WIRE_OP_WRITE_ONLY, psn, 8);
        CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_PSN_GAP);
    }
    CHECK_EQ(answer(), 0x60);
    CHECK_EQ(card_log_count(&bench, b->station, false), 1);
    CHECK_EQ(card_log_at(&bench, b->station, false, 0)->frame.psn.v, bench.options.psn);
    frame = request(WIRE_OP_WRITE_ONLY, 0, 8);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    frame = request(WIRE_OP_WRITE_ONLY, 2, 8);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_PSN_GAP);
    CHECK_EQ(answer(), 0x60); /* a new loss event */
    CHECK_EQ(card_log_count(&bench, b->station, false), 3);
    card_bench_close(&bench);
}

/* MSN counts messages, not packets; it is in every answer. */
static void the_msn_counts_messages(void)
{
    struct wire_frame frame;

    open_bench();
    frame = request(WIRE_OP_SEND_FIRST, 0, MTU);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    (void)answer();
    CHECK_EQ(card_log_at(&bench, b->station, false, 0)->frame.msn, 0);
    frame = request(WIRE_OP_SEND_LAST, 1, 1);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    (void)answer();
    CHECK_EQ(card_log_at(&bench, b->station, false, 1)->frame.msn, 1);
    frame = request(WIRE_OP_WRITE_ONLY, 2, 1);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    frame = request(WIRE_OP_SEND_FIRST, 1, MTU); /* repeated */
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_DUPLICATE);
    (void)answer();
    CHECK_EQ(card_log_at(&bench, b->station, false, 3)->frame.msn, 2);
    card_bench_close(&bench);
}

/* IBTA 9.7.7: only what asks is answered; every n-th asks, and the last. */
static void acknowledges_are_coalesced(void)
{
    static const struct {
        uint32_t every, packets, acks;
    } cases[] = {{20, 100, 5}, {20, 101, 6}, {1, 7, 7}, {16, 16, 1}, {16, 17, 2}, {100, 30, 1}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct card_options options = card_options_ideal();

        options.params.ack_every = cases[i].every;
        card_bench_open(&bench, 2, &options);
        card_write(a, 1, 0, 0, cases[i].packets * MTU);
        card_bench_run(&bench, WIRE_NEVER);
        CHECK_EQ(card_log_count(&bench, b->station, false), cases[i].acks);
        card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
        card_bench_close(&bench);
    }
}

CHECK_SUITE(rc_responder, CHECK_CASE(opcodes_follow_each_other_as_the_standard_says),
            CHECK_CASE(every_bad_length_is_an_invalid_request),
            CHECK_CASE(lengths_inside_a_message), CHECK_CASE(what_is_not_offered_is_refused),
            CHECK_CASE(what_is_not_enabled_is_refused),
            CHECK_CASE(the_first_rule_that_is_broken_answers),
            CHECK_CASE(a_bad_key_is_an_access_error), CHECK_CASE(a_write_of_nothing_needs_no_key),
            CHECK_CASE(a_key_that_can_not_be_invalidated_is_an_operational_error),
            CHECK_CASE(credits_count_what_is_posted), CHECK_CASE(an_rnr_is_not_also_a_gap),
            CHECK_CASE(a_long_write_meets_rnr_at_its_end),
            CHECK_CASE(frames_for_somebody_else_are_dropped_silently),
            CHECK_CASE(states_take_what_they_may), CHECK_CASE(one_nak_for_a_gap),
            CHECK_CASE(the_msn_counts_messages), CHECK_CASE(acknowledges_are_coalesced))
