/* SPDX-License-Identifier: GPL-2.0-only */
/* READs at the responder: what leaves, in which order, and what is refused. Repeats:
 * rc_duplicate_test. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

#define MTU 1024u
#define DEPTH 4u

static uint8_t data[16 * MTU]; /* of the responses seen, one behind the other */
static uint32_t data_n, responses;
static uint32_t revoke_after; /* the key goes when so many responses left; 0: never */

/* Takes what card 1 sends off the wire. */
static enum card_tap_verdict tap(struct card_bench *on, struct card_flight *flight)
{
    const struct wire_frame *frame = &flight->frame;

    (void)on;
    if (flight->from != b || !(wire_opcodes[frame->opcode].is & WIRE_IS_READ))
        return CARD_DROP;
    if (frame->flags & WIRE_FRAME_BYTES) {
        CHECK(data_n + frame->payload_bytes <= sizeof data);
        memcpy(data + data_n, frame->payload, frame->payload_bytes);
        data_n += frame->payload_bytes;
    }
    if (++responses == revoke_after)
        CHECK_EQ(rnic_dereg_mr(b->dev, b->key, bench.now_ps), 0);
    return CARD_DROP;
}

static struct card_options read_options(void)
{
    struct card_options options = card_options_ideal();

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = DEPTH;
    return options;
}

static void begin(const struct card_options *options)
{
    card_bench_open(&bench, 2, options);
    card_fill(b->bytes, b->n_bytes, 11);
    bench.tap = tap;
    data_n = responses = revoke_after = 0;
}

static void run(void)
{
    card_bench_run(&bench, bench.now_ps + 100000000);
}

static size_t sent(void)
{
    return card_log_count(&bench, b->station, false);
}

static const struct wire_frame *answer(size_t i)
{
    return &card_log_at(&bench, b->station, false, i)->frame;
}

static void take(uint8_t opcode, uint32_t psn, uint32_t bytes)
{
    const struct wire_frame frame = card_request(b, opcode, psn, bytes);

    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
}

static void check_answer(size_t i, uint8_t opcode, uint32_t psn)
{
    CHECK_EQ(answer(i)->opcode, opcode);
    CHECK_EQ(answer(i)->psn.v, (bench.options.psn + psn) & WIRE_PSN_MASK);
}

static void check_nak(size_t i, uint8_t syndrome, uint32_t psn)
{
    check_answer(i, WIRE_OP_ACKNOWLEDGE, psn);
    CHECK_EQ(answer(i)->syndrome, syndrome);
    CHECK_EQ(sent(), i + 1); /* nothing behind it */
}

/* ---- what leaves ---- */

static void every_length_comes_in_its_packets(void)
{
    static const uint32_t lengths[] = {0,       1,       3,           MTU - 1, MTU,
                                       MTU + 1, 2 * MTU, 2 * MTU + 1, 9 * MTU};
    const struct card_options options = read_options();

    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
        uint32_t bytes = lengths[l], n = bytes == 0 ? 1 : (bytes + MTU - 1) / MTU;
        struct wire_frame frame;

        begin(&options);
        frame = card_request(b, WIRE_OP_READ_REQUEST, 0, bytes);
        frame.va += 5;
        CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
        run();
        CHECK_EQ(sent(), n);
        for (uint32_t i = 0; i < n; i++) {
            uint8_t opcode = n == 1       ? WIRE_OP_READ_RESP_ONLY
                             : i == 0     ? WIRE_OP_READ_RESP_FIRST
                             : i == n - 1 ? WIRE_OP_READ_RESP_LAST
                                          : WIRE_OP_READ_RESP_MIDDLE;

            check_answer(i, opcode, i);
            CHECK_EQ(answer(i)->dest_qpn, a->qpn);
            CHECK_EQ(answer(i)->payload_bytes, i < n - 1 ? MTU : bytes - i * MTU);
            if (opcode != WIRE_OP_READ_RESP_MIDDLE) {
                CHECK_EQ(answer(i)->syndrome, 0x1F);
                CHECK_EQ(answer(i)->msn, 1);
            }
        }
        CHECK_EQ(data_n, bytes);
        CHECK_BYTES(data, b->bytes + 5, bytes);
        take(WIRE_OP_WRITE_ONLY, n, 1); /* the next request has the PSN behind the responses */
        run();
        check_answer(n, WIRE_OP_ACKNOWLEDGE, n);
        CHECK_EQ(answer(n)->msn, 2);
        CHECK_EQ(card_counters(b, b->qpn).rx_packets, 2);
        card_bench_close(&bench);
    }
}

/* The MSN counts a READ when it is accepted, and each keeps its own. */
static void each_read_has_its_msn(void)
{
    const struct card_options options = read_options();

    begin(&options);
    take(WIRE_OP_READ_REQUEST, 0, 2 * MTU);
    take(WIRE_OP_WRITE_ONLY, 2, 1);
    take(WIRE_OP_READ_REQUEST, 3, 1);
    run();
    CHECK_EQ(sent(), 4);
    check_answer(0, WIRE_OP_READ_RESP_FIRST, 0);
    check_answer(1, WIRE_OP_READ_RESP_LAST, 1);
    check_answer(2, WIRE_OP_ACKNOWLEDGE, 2);
    check_answer(3, WIRE_OP_READ_RESP_ONLY, 3);
    CHECK_EQ(answer(0)->msn, 1);
    CHECK_EQ(answer(1)->msn, 1);
    CHECK_EQ(answer(2)->msn, 2);
    CHECK_EQ(answer(3)->msn, 3);
    card_bench_close(&bench);
}

static void a_read_of_nothing_needs_no_key(void)
{
    const struct card_options options = read_options();
    struct wire_frame frame;

    begin(&options);
    frame = card_request(b, WIRE_OP_READ_REQUEST, 0, 0);
    frame.rkey = 0xFFFFFFFF;
    frame.va = 1;
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    run();
    check_answer(0, WIRE_OP_READ_RESP_ONLY, 0);
    CHECK_EQ(answer(0)->payload_bytes, 0);
    card_bench_close(&bench);
}

static void phantom_memory_has_lengths_only(void)
{
    struct card_options options = read_options();

    options.phantom = true;
    begin(&options);
    take(WIRE_OP_READ_REQUEST, 0, 2 * MTU);
    run();
    CHECK_EQ(sent(), 2);
    CHECK_EQ(data_n, 0);
    CHECK_EQ(answer(1)->payload_bytes, MTU);
    CHECK_EQ(answer(1)->flags & WIRE_FRAME_BYTES, 0);
    card_bench_close(&bench);
}

/* IBTA 10.8.3.3: a READ sees what a WRITE before it wrote. */
static void a_read_sees_the_write_before_it(void)
{
    const struct card_options options = read_options();
    uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct wire_frame frame;

    begin(&options);
    frame = card_request(b, WIRE_OP_WRITE_ONLY, 0, 8);
    frame.payload = bytes;
    frame.flags |= WIRE_FRAME_BYTES;
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    take(WIRE_OP_READ_REQUEST, 1, 8);
    run();
    CHECK_BYTES(data, bytes, 8);
    card_bench_close(&bench);
}

static void responses_carry_credits(void)
{
    struct card_options options = read_options();

    options.e2e_credits = true;
    begin(&options);
    for (uint64_t i = 0; i < 7; i++)
        card_recv(b, i, 0, 8);
    take(WIRE_OP_READ_REQUEST, 0, 8);
    run();
    CHECK_EQ(answer(0)->syndrome, 5); /* code 5: 6 of the 7 */
    card_bench_close(&bench);
}

/* ---- order of answers ---- */

/* The default card holds built frames back and has its answers ready long before its data. */
static void answers_leave_in_psn_order(void)
{
    struct card_options options = card_options_default();

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = DEPTH;
    options.mtu_bytes = MTU;
    options.params.ack_dscp = 48; /* a class of its own, ahead of data */
    begin(&options);
    take(WIRE_OP_WRITE_ONLY, 0, 1);
    take(WIRE_OP_READ_REQUEST, 1, 5 * MTU);
    take(WIRE_OP_WRITE_ONLY, 6, 1);
    take(WIRE_OP_WRITE_ONLY, 7, 1);
    take(WIRE_OP_READ_REQUEST, 8, 2 * MTU);
    take(WIRE_OP_WRITE_ONLY, 10, 1);
    run();
    for (size_t i = 1; i < sent(); i++)
        CHECK(wire_psn_diff(answer(i)->psn, answer(i - 1)->psn) > 0);
    check_answer(0, WIRE_OP_ACKNOWLEDGE, 0);
    check_answer(sent() - 1, WIRE_OP_ACKNOWLEDGE, 10);
    CHECK_EQ(answer(sent() - 1)->msn, 6);
    CHECK_EQ(responses, 7);
    card_bench_close(&bench);
}

/* The class of the data is paused: the acknowledge behind it waits, though its class is free. */
static void a_paused_response_holds_its_acknowledge(void)
{
    struct card_options options = card_options_default();
    const struct rnic_params defaults = rnic_params_default();

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = DEPTH;
    options.params.ack_dscp = 48;
    CHECK(defaults.dscp >> 3 != 6);
    begin(&options);
    b->ready_classes = 0xFF & ~(1u << (defaults.dscp >> 3));
    take(WIRE_OP_READ_REQUEST, 0, 8);
    take(WIRE_OP_WRITE_ONLY, 1, 1);
    run();
    CHECK_EQ(sent(), 0);
    b->ready_classes = 0xFF;
    run();
    CHECK_EQ(sent(), 2);
    check_answer(0, WIRE_OP_READ_RESP_ONLY, 0);
    check_answer(1, WIRE_OP_ACKNOWLEDGE, 1);
    card_bench_close(&bench);
}

/* The same when the response was built before the pause and is held at the MAC. */
static void a_held_response_holds_its_acknowledge(void)
{
    struct card_options options = card_options_default();
    uint64_t step_ps = 10000;

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = DEPTH;
    options.params.ack_dscp = 48;
    begin(&options);
    take(WIRE_OP_READ_REQUEST, 0, 8);
    take(WIRE_OP_WRITE_ONLY, 1, 1);
    while (rnic_frames_held(b->dev) == 0) {
        CHECK(bench.now_ps < 100000000);
        card_bench_run(&bench, bench.now_ps + step_ps);
    }
    b->ready_classes = 1u << 6;
    run();
    CHECK_EQ(sent(), 0);
    b->ready_classes = 0xFF;
    run();
    check_answer(0, WIRE_OP_READ_RESP_ONLY, 0);
    check_answer(1, WIRE_OP_ACKNOWLEDGE, 1);
    card_bench_close(&bench);
}

/* The response leaves just behind the request that waits for it: that answer needs its own time. */
static void an_answer_is_not_faster_because_it_waited(void)
{
    struct card_options options = card_options_default();
    uint64_t begun_ps;

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = DEPTH;
    begin(&options);
    take(WIRE_OP_READ_REQUEST, 0, 8);
    while (rnic_frames_held(b->dev) == 0)
        card_bench_run(&bench, bench.now_ps + 10000);
    b->ready_classes = 0; /* a pause, while the response is at the MAC */
    run();
    begun_ps = bench.now_ps;
    take(WIRE_OP_WRITE_ONLY, 1, 1);
    b->ready_classes = 0xFF;
    run();
    CHECK_EQ(card_log_at(&bench, b->station, false, 0)->left_ps, begun_ps);
    CHECK(card_log_at(&bench, b->station, false, 1)->left_ps >=
          begun_ps + options.params.rx_latency_ps + options.params.tx_latency_ps);
    card_bench_close(&bench);
}

static uint64_t asked_ps;  /* when the card began with the response ... */
static uint32_t asked_psn; /* ... with this PSN, the last time */

static void note_asked(struct card_bench *on, struct card *card, const struct rnic_event *event)
{
    if (card == b && event->type == RNIC_EVENT_PASSAGE && event->block == RNIC_BLOCK_TX_SCHED &&
        event->psn.v == wire_psn_add((wire_psn){on->options.psn}, asked_psn).v)
        asked_ps = event->in_ps;
}

/* A request comes again while a later READ is being answered: the answer is no older than that. */
static void a_repeat_is_not_answered_before_it_came(void)
{
    static const uint8_t opcodes[] = {WIRE_OP_READ_REQUEST, WIRE_OP_FETCH_ADD};

    for (size_t i = 0; i < 2; i++) {
        struct card_options options = card_options_default();
        struct wire_frame frame;
        uint64_t came_ps;
        size_t before;

        options.access = CARD_ACCESS_ALL;
        options.rd_atomic = DEPTH;
        options.mtu_bytes = MTU;
        begin(&options);
        bench.on_event = note_asked;
        asked_psn = 0;
        rnic_trace_enable(b->dev, 1u << RNIC_EVENT_PASSAGE);
        take(opcodes[i], 0, 8);
        run();
        before = sent();
        take(WIRE_OP_READ_REQUEST, 1, 8 * MTU);
        while (sent() < before + 2)
            card_bench_run(&bench, bench.now_ps + 10000);
        came_ps = bench.now_ps;
        asked_ps = 0;
        frame = card_request(b, opcodes[i], 0, 8);
        CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_DUPLICATE);
        run();
        CHECK_EQ(sent(), before + 8 + 1);
        CHECK(asked_ps >= came_ps + options.params.rx_latency_ps);
        card_bench_close(&bench);
    }
}

/* It comes while the first is being answered: its data is not asked for before it was here. */
static void a_read_is_not_answered_before_it_came(void)
{
    struct card_options options = card_options_default();
    uint64_t came_ps;

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = DEPTH;
    options.mtu_bytes = MTU;
    begin(&options);
    bench.on_event = note_asked;
    asked_ps = 0;
    asked_psn = 4;
    rnic_trace_enable(b->dev, 1u << RNIC_EVENT_PASSAGE);
    take(WIRE_OP_READ_REQUEST, 0, 4 * MTU);
    while (responses < 2)
        card_bench_run(&bench, bench.now_ps + 10000);
    came_ps = bench.now_ps;
    take(WIRE_OP_READ_REQUEST, 4, 8);
    run();
    CHECK_EQ(responses, 5);
    CHECK(asked_ps >= came_ps + options.params.rx_latency_ps);
    card_bench_close(&bench);
}

/* NAKs of every kind wait for what is before them, and still leave. */
static void naks_leave_behind_the_responses(void)
{
    const struct card_options options = read_options();
    struct wire_frame frame;

    begin(&options); /* a gap */
    take(WIRE_OP_READ_REQUEST, 0, 3 * MTU);
    frame = card_request(b, WIRE_OP_WRITE_ONLY, 4, 1);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_PSN_GAP);
    run();
    check_nak(3, 0x60, 3);
    CHECK_EQ(responses, 3);
    CHECK_EQ(card_counters(b, b->qpn).naks_tx, 1);
    card_bench_close(&bench);

    begin(&options); /* no receive request */
    take(WIRE_OP_READ_REQUEST, 0, 3 * MTU);
    frame = card_request(b, WIRE_OP_SEND_ONLY, 3, 1);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_RNR_WAIT);
    run();
    check_nak(3, (uint8_t)(0x20 | options.params.min_rnr_timer), 3);
    card_bench_close(&bench);

    begin(&options); /* a refusal: the queue pair is in ERR and still owes the data */
    take(WIRE_OP_READ_REQUEST, 0, 3 * MTU);
    frame = card_request(b, WIRE_OP_WRITE_ONLY, 3, 1);
    frame.rkey ^= 1;
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_REFUSED);
    CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_ERR);
    run();
    check_nak(3, 0x62, 3);
    CHECK_EQ(responses, 3);
    CHECK_BYTES(data, b->bytes, 3 * MTU);
    card_bench_close(&bench);
}

/* A loss that is repaired while its NAK still waits needs no NAK any more. */
static void a_nak_that_is_overtaken_by_its_repair_is_not_sent(void)
{
    const struct card_options options = read_options();
    struct wire_frame frame;

    begin(&options);
    take(WIRE_OP_READ_REQUEST, 0, 3 * MTU);
    frame = card_request(b, WIRE_OP_WRITE_ONLY, 4, 1);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_PSN_GAP);
    take(WIRE_OP_WRITE_ONLY, 3, 1);
    run();
    CHECK_EQ(sent(), 4);
    check_answer(3, WIRE_OP_ACKNOWLEDGE, 3);
    CHECK_EQ(answer(3)->syndrome, 0x1F);
    card_bench_close(&bench);
}

/* ---- refusals ---- */

static void check_refused(const struct card_options *options, const struct wire_frame *frame,
                          uint8_t syndrome)
{
    CHECK_EQ(card_deliver(&bench, b, frame), WIRE_DROP_REFUSED);
    run();
    check_nak(0, syndrome, (frame->psn.v - options->psn) & WIRE_PSN_MASK);
    CHECK_EQ(answer(0)->msn, 0);
    CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_ERR);
    CHECK_EQ(b->events[syndrome == 0x62 ? RNIC_EVENT_QP_ACCESS_ERR : RNIC_EVENT_QP_REQ_ERR], 1);
    card_bench_close(&bench);
}

static void invalid_reads(void)
{
    struct card_options options = read_options();
    struct wire_frame frame;

    begin(&options);
    frame = card_request(b, WIRE_OP_READ_REQUEST, 0, 0x80000001u);
    check_refused(&options, &frame, 0x61);
    options.rd_atomic = 0; /* accepts none: comes before a bad length or key */
    begin(&options);
    frame = card_request(b, WIRE_OP_READ_REQUEST, 0, 8);
    frame.rkey ^= 1;
    check_refused(&options, &frame, 0x61);
    options = read_options();
    options.access &= ~(unsigned)RNIC_ACCESS_REMOTE_READ;
    begin(&options);
    frame = card_request(b, WIRE_OP_READ_REQUEST, 0, 8);
    check_refused(&options, &frame, 0x61);
}

static void reads_that_are_not_allowed(void)
{
    const struct card_options options = read_options();

    for (unsigned i = 0; i < 5; i++) {
        struct wire_frame frame;
        uint32_t pd, key;

        begin(&options);
        CARD_OK(b, rnic_alloc_pd(b->dev, &pd, 0));
        CARD_OK(b, rnic_reg_mr(b->dev, i == 3 ? pd : b->pd, CARD_VA, 4 * MTU, b->bytes,
                               i == 4 ? options.access & ~(unsigned)RNIC_ACCESS_REMOTE_READ
                                      : options.access,
                               &key, 0));
        frame = card_request(b, WIRE_OP_READ_REQUEST, 0, 3 * MTU);
        frame.rkey = key ^ (i == 0);
        /* the whole length is checked before the first byte leaves */
        frame.va = i == 1 ? CARD_VA - 1 : i == 2 ? CARD_VA + MTU + 1 : CARD_VA;
        check_refused(&options, &frame, 0x62);
    }
}

/* As many as the queue pair remembers, and one more: what was accepted is answered first. */
static void one_read_too_many_is_invalid(void)
{
    const struct card_options options = read_options();
    struct wire_frame frame;

    begin(&options);
    for (uint32_t i = 0; i < DEPTH; i++)
        take(WIRE_OP_READ_REQUEST, 2 * i, 2 * MTU);
    frame = card_request(b, WIRE_OP_READ_REQUEST, 2 * DEPTH, 8);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_REFUSED);
    run();
    check_nak(2 * DEPTH, 0x61, 2 * DEPTH);
    CHECK_EQ(responses, 2 * DEPTH);
    card_bench_close(&bench);

    begin(&options); /* answered ones make room */
    for (uint32_t i = 0; i < 5 * DEPTH; i++) {
        take(WIRE_OP_READ_REQUEST, i, 8);
        run();
    }
    CHECK_EQ(responses, 5 * DEPTH);
    card_bench_close(&bench);
}

/*
 * known-bugs A6: the key goes in mid-READ. The responses stop, a NAK says remote access error with
 * the PSN of the first that failed, and nothing else leaves: not the READ behind, not the
 * acknowledge that waited.
 */
static void a_key_revoked_in_mid_read_ends_in_a_nak(void)
{
    const struct card_options options = read_options();

    for (uint32_t after = 1; after <= 3; after++) {
        begin(&options);
        revoke_after = after;
        take(WIRE_OP_READ_REQUEST, 0, 4 * MTU);
        take(WIRE_OP_READ_REQUEST, 4, MTU);
        take(WIRE_OP_WRITE_ONLY, 5, 1);
        run();
        CHECK_EQ(responses, after);
        check_nak(after, 0x62, after);
        CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_ERR);
        CHECK_EQ(b->events[RNIC_EVENT_QP_ACCESS_ERR], 1);
        card_bench_close(&bench);
    }
}

/* A request behind the READ was refused before: the NAK of the READ, which is earlier, counts. */
static void the_earlier_refusal_counts(void)
{
    const struct card_options options = read_options();
    struct wire_frame frame;

    begin(&options);
    revoke_after = 1;
    take(WIRE_OP_READ_REQUEST, 0, 4 * MTU);
    frame = card_request(b, WIRE_OP_SEND_LAST, 4, 1);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_REFUSED);
    run();
    check_nak(1, 0x62, 1);
    CHECK_EQ(b->events[RNIC_EVENT_QP_REQ_ERR], 1);
    CHECK_EQ(b->events[RNIC_EVENT_QP_ACCESS_ERR], 0); /* it was in ERR before */
    card_bench_close(&bench);
}

/* Error and reset at our host: what waits is not sent, what is at the MAC already leaves. */
static void a_queue_pair_that_is_stopped_answers_no_more(void)
{
    static const enum rnic_qp_state states[] = {RNIC_QPS_ERR, RNIC_QPS_RESET};
    const struct card_options options = read_options();

    for (size_t i = 0; i < 2; i++) {
        struct rnic_qp_attr attr = {.qp_state = states[i]};

        begin(&options);
        take(WIRE_OP_READ_REQUEST, 0, 4 * MTU);
        take(WIRE_OP_WRITE_ONLY, 4, 1);
        CHECK_EQ(rnic_modify_qp(b->dev, b->qpn, &attr, RNIC_QP_STATE, bench.now_ps), 0);
        run();
        CHECK_EQ(sent(), 0);
        card_bench_close(&bench);
    }
    begin(&options);
    take(WIRE_OP_READ_REQUEST, 0, 4 * MTU);
    CHECK_EQ(rnic_destroy_qp(b->dev, b->qpn, bench.now_ps), 0);
    run();
    CHECK_EQ(sent(), 0);
    card_bench_close(&bench);
}

CHECK_SUITE(rc_read_responder, CHECK_CASE(every_length_comes_in_its_packets),
            CHECK_CASE(each_read_has_its_msn), CHECK_CASE(a_read_of_nothing_needs_no_key),
            CHECK_CASE(phantom_memory_has_lengths_only),
            CHECK_CASE(a_read_sees_the_write_before_it), CHECK_CASE(responses_carry_credits),
            CHECK_CASE(answers_leave_in_psn_order),
            CHECK_CASE(a_paused_response_holds_its_acknowledge),
            CHECK_CASE(a_held_response_holds_its_acknowledge),
            CHECK_CASE(an_answer_is_not_faster_because_it_waited),
            CHECK_CASE(a_read_is_not_answered_before_it_came),
            CHECK_CASE(a_repeat_is_not_answered_before_it_came),
            CHECK_CASE(naks_leave_behind_the_responses),
            CHECK_CASE(a_nak_that_is_overtaken_by_its_repair_is_not_sent),
            CHECK_CASE(invalid_reads), CHECK_CASE(reads_that_are_not_allowed),
            CHECK_CASE(one_read_too_many_is_invalid),
            CHECK_CASE(a_key_revoked_in_mid_read_ends_in_a_nak),
            CHECK_CASE(the_earlier_refusal_counts),
            CHECK_CASE(a_queue_pair_that_is_stopped_answers_no_more))
