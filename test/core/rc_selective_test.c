/* SPDX-License-Identifier: GPL-2.0-only */
/* Selective repeat at its edges: what is kept, what is believed, what a failure ends. */
#include "card.h"
#include "rnic_internal.h"

#define US 1000000u
#define WINDOW 64u /* packets */

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static struct card_options selective(void)
{
    struct card_options options = card_options_ideal();

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = 4;
    options.recovery = RNIC_RECOVER_SELECTIVE;
    options.window_bytes = WINDOW * 1024;
    options.delay_ps = US;
    return options;
}

static void open_bench(const struct card_options *options)
{
    card_bench_open(&bench, 2, options);
    card_fill(a->bytes, a->n_bytes, 1);
    card_fill(b->bytes, b->n_bytes, 2);
}

static size_t requests(void)
{
    return card_log_count(&bench, a->station, true);
}

static const struct wire_frame *answer(size_t i)
{
    return &card_log_at(&bench, b->station, false, i)->frame;
}

static uint32_t psn(uint32_t at)
{
    return (bench.options.psn + at) & WIRE_PSN_MASK;
}

/* ---- the responder ---- */

/* What does not fit the reorder buffer is asked for with the NAK that all cards know. */
static void too_far_ahead_must_come_again(void)
{
    struct card_options options = selective();
    struct wire_frame frame;

    open_bench(&options);
    frame = card_request(b, WIRE_OP_WRITE_ONLY, WINDOW - 1, 8);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    frame = card_request(b, WIRE_OP_WRITE_ONLY, WINDOW, 8);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_PSN_GAP);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(card_log_count(&bench, b->station, false), 2);
    CHECK_EQ(answer(0)->syndrome, 0x60 | WIRE_NAK_SELECTIVE);
    CHECK_EQ(answer(0)->msn, psn(WINDOW - 1));
    CHECK_EQ(answer(1)->syndrome, 0x60 | WIRE_NAK_SEQUENCE);
    CHECK_EQ(answer(1)->psn.v, psn(0));
    card_bench_close(&bench);
}

/* The completion of a kept SEND finds no room: the queue pair is at its end, and says no more. */
static void a_kept_send_may_overflow_the_completion_queue(void)
{
    for (uint32_t room = 1; room <= 2; room++) {
        struct card_options options = selective();
        struct wire_frame frame;

        options.cqe = room;
        open_bench(&options);
        for (uint64_t i = 0; i < 4; i++)
            card_recv(b, i, 0, 100);
        for (uint32_t k = 4; k-- > 0;) {
            frame = card_request(b, WIRE_OP_SEND_ONLY, k, 100);
            frame.bth_flags = 0;
            CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
        }
        CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_ERR);
        card_bench_run(&bench, WIRE_NEVER);
        CHECK_EQ(b->events[RNIC_EVENT_QP_FATAL], 1);
        CHECK_EQ(card_log_count(&bench, b->station, false), 3); /* the reports, no acknowledge */
        for (uint64_t i = 0; i < room; i++)
            card_expect(b, b->recv_cq, i, RNIC_WC_SUCCESS);
        card_expect_none(b, b->recv_cq);
        card_bench_close(&bench);
    }
}

/* A kept request is refused: those behind it are forgotten with the queue pair. */
static void a_kept_request_may_be_refused(void)
{
    struct card_options options = selective();
    struct wire_frame frame;

    open_bench(&options);
    frame = card_request(b, WIRE_OP_WRITE_ONLY, 2, 8);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    frame = card_request(b, WIRE_OP_WRITE_ONLY, 1, 8);
    frame.rkey ^= 0x55;
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    frame = card_request(b, WIRE_OP_WRITE_ONLY, 0, 8);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_ERR);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(card_log_count(&bench, b->station, false), 4);
    CHECK_EQ(answer(2)->syndrome, 0x1F);
    CHECK_EQ(answer(2)->psn.v, psn(0));
    CHECK_EQ(answer(3)->syndrome, 0x60 | WIRE_NAK_ACCESS);
    CHECK_EQ(answer(3)->psn.v, psn(1));
    CHECK_EQ(rnic_query_counters(b->dev)->drops[WIRE_DROP_REFUSED], 0); /* its frame was taken */
    card_bench_close(&bench);
}

/* Nobody asked for an acknowledge: when a gap closes, one tells how far, and only then. */
static void a_closed_gap_is_acknowledged_once(void)
{
    static const struct {
        uint32_t n, psns[4];
        size_t answers; /* reports included */
        uint32_t acknowledged;
    } cases[] = {{1, {0}, 0, 0}, {2, {1, 0}, 2, 1}, {4, {3, 2, 1, 0}, 4, 3}, {3, {3, 1, 0}, 3, 1}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct card_options options = selective();
        const struct wire_frame *last;

        open_bench(&options);
        for (uint32_t k = 0; k < cases[i].n; k++) {
            struct wire_frame frame = card_request(b, WIRE_OP_WRITE_ONLY, cases[i].psns[k], 8);

            frame.bth_flags = 0;
            CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
            card_bench_run(&bench, bench.now_ps + US);
        }
        card_bench_run(&bench, WIRE_NEVER);
        CHECK_EQ(card_log_count(&bench, b->station, false), cases[i].answers);
        if (cases[i].answers > 0) {
            last = answer(cases[i].answers - 1);
            CHECK_EQ(last->syndrome, 0x1F);
            CHECK_EQ(last->psn.v, psn(cases[i].acknowledged));
            CHECK_EQ(last->msn, cases[i].acknowledged + 1);
        }
        card_bench_close(&bench);
    }
}

/* Of a gap that closes, of a repeat, and of a packet in order. */
static void each_acknowledge_carries_credits(void)
{
    static const uint32_t psns[] = {1, 0, 0, 2};
    struct card_options options = selective();

    options.e2e_credits = true;
    open_bench(&options);
    for (uint64_t i = 0; i < 7; i++)
        card_recv(b, i, 0, 8);
    for (size_t i = 0; i < 4; i++) {
        struct wire_frame frame = card_request(b, WIRE_OP_WRITE_ONLY, psns[i], 8);

        frame.bth_flags = psns[i] == 2 ? WIRE_BTH_ACKREQ : 0;
        (void)card_deliver(&bench, b, &frame);
        card_bench_run(&bench, bench.now_ps + US);
        CHECK_EQ(card_log_count(&bench, b->station, false), i + 1);
        CHECK_EQ(answer(i)->syndrome, i == 0 ? 0x60 | WIRE_NAK_SELECTIVE : 5); /* 6 of the 7 */
    }
    card_bench_close(&bench);
}

/* ---- the requester ---- */

/* Asked for in parts, a READ may be answered by any of its opcodes, and by no other answer. */
static void only_read_responses_answer_a_read(void)
{
    static const struct {
        uint8_t opcode;
        enum rnic_wc_status status;
    } cases[] = {{WIRE_OP_READ_RESP_FIRST, RNIC_WC_SUCCESS},
                 {WIRE_OP_READ_RESP_MIDDLE, RNIC_WC_SUCCESS},
                 {WIRE_OP_READ_RESP_LAST, RNIC_WC_SUCCESS},
                 {WIRE_OP_READ_RESP_ONLY, RNIC_WC_SUCCESS},
                 {WIRE_OP_ATOMIC_ACKNOWLEDGE, RNIC_WC_BAD_RESP_ERR}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct card_options options = selective();
        struct wire_frame frame;

        open_bench(&options);
        b->ready_classes = 0;
        card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 0);
        card_bench_run(&bench, 5 * US);
        frame = card_ack(a, psn(0), 0x1F, 1);
        frame.opcode = cases[i].opcode;
        CHECK_EQ(card_deliver(&bench, a, &frame),
                 cases[i].status == RNIC_WC_SUCCESS ? WIRE_DROP_NONE : WIRE_DROP_BAD_RESPONSE);
        card_expect(a, a->send_cq, 1, cases[i].status);
        card_bench_close(&bench);
    }
}

/* Only the acknowledge of the last packet arrives: the whole window at once, then another. */
static enum card_tap_verdict only_the_last_answer(struct card_bench *on, struct card_flight *flight)
{
    if (flight->from == a)
        return CARD_PASS;
    return ++on->scratch[0] % on->scratch[1] == 0 ? CARD_PASS : CARD_DROP;
}

static void a_whole_window_is_acknowledged_at_once(void)
{
    for (uint32_t packets = WINDOW - 1; packets <= WINDOW; packets++) {
        struct card_options options = selective();

        options.params.ack_every = 1;
        open_bench(&options);
        bench.tap = only_the_last_answer;
        bench.scratch[1] = packets;
        for (uint64_t i = 0; i < 3; i++) {
            card_write(a, i, 0, 0, packets * 1024);
            card_bench_run(&bench, bench.now_ps + 90 * US);
            card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
        }
        CHECK_EQ(requests(), 3 * packets);
        CHECK_EQ(card_log_count(&bench, b->station, false), 3 * packets);
        card_bench_close(&bench);
    }
}

/* Only the oldest packet is sent again for a lost acknowledge; its own tells of all the others. */
static enum card_tap_verdict drop_one_answer(struct card_bench *on, struct card_flight *flight)
{
    return flight->from == b && on->scratch[0]++ == 0 ? CARD_DROP : CARD_PASS;
}

static void a_lost_acknowledge_costs_one_timeout(void)
{
    struct card_options options = selective();

    options.params.ack_every = 64;
    open_bench(&options);
    bench.tap = drop_one_answer;
    card_write(a, 1, 0, 0, 32 * 1024);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_EQ(card_counters(a, a->qpn).timeouts, 1);
    CHECK_EQ(requests(), 32 + 1);
    CHECK_EQ(answer(1)->psn.v, psn(31));
    card_bench_close(&bench);
}

static enum card_tap_verdict drop_answers(struct card_bench *on, struct card_flight *flight)
{
    (void)on;
    return flight->from == b ? CARD_DROP : CARD_PASS;
}

/* Answers of a READ may be lost: the repeat of a WRITE before it acknowledges nothing behind it. */
static void no_repeat_acknowledges_a_read(void)
{
    static const struct {
        uint8_t opcode;
        uint32_t psn, bytes, acknowledged;
    } cases[] = {{WIRE_OP_WRITE_ONLY, 0, 8, 0},      {WIRE_OP_WRITE_ONLY, 1, 8, 1},
                 {WIRE_OP_READ_REQUEST, 2, 2048, 0}, {WIRE_OP_WRITE_ONLY, 4, 8, 4},
                 {WIRE_OP_WRITE_ONLY, 5, 8, 5},      {WIRE_OP_WRITE_ONLY, 0, 8, 1},
                 {WIRE_OP_WRITE_ONLY, 1, 8, 1},      {WIRE_OP_WRITE_ONLY, 4, 8, 5}};
    struct card_options options = selective();

    open_bench(&options);
    bench.tap = drop_answers;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct wire_frame frame = card_request(b, cases[i].opcode, cases[i].psn, cases[i].bytes);
        size_t before = card_log_count(&bench, b->station, false);

        (void)card_deliver(&bench, b, &frame);
        card_bench_run(&bench, bench.now_ps + US);
        if (cases[i].opcode == WIRE_OP_READ_REQUEST) {
            CHECK_EQ(card_log_count(&bench, b->station, false), before + 2);
            continue;
        }
        CHECK_EQ(card_log_count(&bench, b->station, false), before + 1);
        CHECK_EQ(answer(before)->psn.v, psn(cases[i].acknowledged));
    }
    card_bench_close(&bench);
}

/* The window goes round in the bits: a report of one turn is not believed in the next. */
static void reports_are_forgotten_with_their_packets(void)
{
    struct card_options options = selective();
    struct wire_frame report;

    options.params.rto_low_ps = options.params.rto_high_ps = 1000000 * (uint64_t)US;
    open_bench(&options);
    b->ready_classes = 0;
    card_write(a, 1, 0, 0, WINDOW * 1024);
    card_bench_run(&bench, 20 * US);
    CHECK_EQ(requests(), WINDOW);
    a->ready_classes = 0;
    for (uint32_t k = 1; k < WINDOW; k++) { /* all but the first are there */
        report = card_ack(a, psn(0), 0x60 | WIRE_NAK_SELECTIVE, psn(k));
        CHECK_EQ(card_deliver(&bench, a, &report), WIRE_DROP_NONE);
    }
    report = card_ack(a, psn(WINDOW - 1), 0x1F, 1);
    CHECK_EQ(card_deliver(&bench, a, &report), WIRE_DROP_NONE);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    a->ready_classes = 0xFF;
    card_write(a, 2, 0, 0, WINDOW * 1024);
    card_bench_run(&bench, 40 * US);
    CHECK_EQ(requests(), 2 * WINDOW);
    report = card_ack(a, psn(WINDOW), 0x60 | WIRE_NAK_SELECTIVE, psn(2 * WINDOW - 1));
    CHECK_EQ(card_deliver(&bench, a, &report), WIRE_DROP_NONE);
    card_bench_run(&bench, 60 * US);
    CHECK_EQ(requests(), 2 * WINDOW + WINDOW - 1); /* each of them but the last */
    card_bench_close(&bench);
}

/* Reports that can not be: nothing is sent again for them. */
static void a_report_of_nothing_is_not_believed(void)
{
    const struct {
        uint32_t missing, arrived;
        size_t again;
    } cases[] = {
        {0, 0, 0}, /* misses what it has */
        {1, 0, 0}, /* has what lies before it: so that is acknowledged, and no more */
        {0, 4, 0}, /* was never sent */
        {0, 0xFFFFFF, 0}, {4, 5, 0}, /* misses what was never sent */
        {0, 1, 1},        {0, 3, 3},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct card_options options = selective();
        struct wire_frame report;

        open_bench(&options);
        b->ready_classes = 0;
        card_write(a, 1, 0, 0, 4 * 1024);
        card_bench_run(&bench, 5 * US);
        CHECK_EQ(requests(), 4);
        report =
            card_ack(a, psn(cases[i].missing), 0x60 | WIRE_NAK_SELECTIVE, psn(cases[i].arrived));
        (void)card_deliver(&bench, a, &report);
        card_bench_run(&bench, 10 * US);
        CHECK_EQ(requests(), 4 + cases[i].again);
        b->ready_classes = 0xFF;
        bench.tap = NULL;
        card_bench_run(&bench, WIRE_NEVER);
        card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
        card_bench_close(&bench);
    }
}

/* The peer reports what arrived behind a READ whose answers are missing: the READ is asked for. */
static void a_report_behind_a_read_stops_at_it(void)
{
    struct card_options options = selective();
    struct wire_frame report;

    open_bench(&options);
    bench.tap = drop_answers;
    card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 2 * 1024);
    card_write(a, 2, 8192, 8192, 3 * 1024);
    card_bench_run(&bench, 10 * US);
    CHECK_EQ(requests(), 4);
    report = card_ack(a, psn(3), 0x60 | WIRE_NAK_SELECTIVE, psn(4));
    CHECK_EQ(card_deliver(&bench, a, &report), WIRE_DROP_NONE);
    card_bench_run(&bench, 11 * US);
    CHECK_EQ(requests(), 5);
    CHECK_EQ(card_counters(a, a->qpn).naks_rx, 1);
    CHECK_EQ(card_log_at(&bench, a->station, true, 4)->frame.opcode, WIRE_OP_READ_REQUEST);
    CHECK_EQ(card_log_at(&bench, a->station, true, 4)->frame.psn.v, psn(0));
    bench.tap = NULL;
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
    CHECK_BYTES(a->bytes, b->bytes, 2 * 1024);
    card_bench_close(&bench);
}

static enum card_tap_verdict drop_the_first(struct card_bench *on, struct card_flight *flight)
{
    return flight->from == a && on->scratch[0]++ == 0 ? CARD_DROP : CARD_PASS;
}

/* A READ ahead of a loss has arrived whole: its PSNs are those of its answers, none is lost. */
static void a_read_that_is_kept_is_not_asked_for_again(void)
{
    struct card_options options = selective();

    open_bench(&options);
    bench.tap = drop_the_first;
    card_write(a, 1, 0, 0, 100);
    card_post(a, RNIC_WR_RDMA_READ, 2, 8192, 8192, 4 * 1024);
    card_write(a, 3, 16384, 16384, 100);
    card_bench_run(&bench, 90 * US); /* before any timeout */
    for (uint64_t i = 1; i <= 3; i++)
        card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
    CHECK_EQ(requests(), 3 + 1);
    CHECK_EQ(card_log_at(&bench, a->station, true, 3)->frame.psn.v, psn(0));
    CHECK_BYTES(a->bytes + 8192, b->bytes + 8192, 4 * 1024);
    card_bench_close(&bench);
}

/* What is to be sent again may not be read any more: its request fails, in its turn, at once. */
static void a_region_that_goes_before_it_is_sent_again(void)
{
    for (uint32_t lost = 0; lost < 2; lost++) {
        struct card_options options = selective();
        struct rnic_sge sge;
        struct rnic_send_wr wr;
        struct wire_frame report;
        uint32_t key;

        open_bench(&options);
        CARD_OK(a, rnic_reg_mr(a->dev, a->pd, CARD_VA, 4096, a->bytes, 0, &key, 0));
        b->ready_classes = 0;
        for (uint32_t i = 0; i < 4; i++) {
            wr = card_wr(a, RNIC_WR_RDMA_WRITE, i, 0, 0, 100, &sge);
            sge.lkey = i == lost ? key : a->key;
            CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
        }
        card_bench_run(&bench, 5 * US);
        CHECK_EQ(requests(), 4);
        CHECK_EQ(rnic_dereg_mr(a->dev, key, bench.now_ps), 0);
        report = card_ack(a, psn(lost), 0x60 | WIRE_NAK_SELECTIVE, psn(lost + 1));
        CHECK_EQ(card_deliver(&bench, a, &report), WIRE_DROP_NONE);
        card_bench_run(&bench, 20 * US);
        for (uint32_t i = 0; i < 4; i++)
            card_expect(a, a->send_cq, i,
                        i < lost    ? RNIC_WC_SUCCESS
                        : i == lost ? RNIC_WC_LOC_PROT_ERR
                                    : RNIC_WC_WR_FLUSH_ERR);
        CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_ERR);
        CHECK_EQ(requests(), 4);
        CHECK_EQ(rnic_next_wake(a->dev), WIRE_NEVER);
        card_bench_close(&bench);
    }
}

/* Of a READ's answers 0 and 2 are lost: 3 alone is kept behind the second gap, and closes it. */
static enum card_tap_verdict lose_0_and_2(struct card_bench *on, struct card_flight *flight)
{
    uint64_t nth;

    if (flight->from == a)
        return CARD_PASS;
    nth = on->scratch[0]++;
    return nth == 0 || nth == 2 ? CARD_DROP : CARD_PASS;
}

static void one_kept_answer_tells_of_the_next_gap(void)
{
    struct card_options options = selective();

    open_bench(&options);
    bench.tap = lose_0_and_2;
    card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 4 * 1024);
    card_bench_run(&bench, 90 * US); /* before any timeout */
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_BYTES(a->bytes, b->bytes, 4 * 1024);
    CHECK_EQ(requests(), 3);
    CHECK_EQ(card_log_count(&bench, b->station, false), 4 + 2);
    card_bench_close(&bench);
}

CHECK_SUITE(
    rc_selective, CHECK_CASE(too_far_ahead_must_come_again),
    CHECK_CASE(a_kept_send_may_overflow_the_completion_queue),
    CHECK_CASE(a_kept_request_may_be_refused), CHECK_CASE(a_closed_gap_is_acknowledged_once),
    CHECK_CASE(each_acknowledge_carries_credits), CHECK_CASE(only_read_responses_answer_a_read),
    CHECK_CASE(a_whole_window_is_acknowledged_at_once),
    CHECK_CASE(a_lost_acknowledge_costs_one_timeout), CHECK_CASE(no_repeat_acknowledges_a_read),
    CHECK_CASE(reports_are_forgotten_with_their_packets),
    CHECK_CASE(a_report_of_nothing_is_not_believed), CHECK_CASE(a_report_behind_a_read_stops_at_it),
    CHECK_CASE(a_read_that_is_kept_is_not_asked_for_again),
    CHECK_CASE(a_region_that_goes_before_it_is_sent_again),
    CHECK_CASE(one_kept_answer_tells_of_the_next_gap))
