/* SPDX-License-Identifier: GPL-2.0-only */
/* READ from end to end: PSNs, data, order, what is asked for again, how it fails. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static struct card_options read_options(void)
{
    struct card_options options = card_options_ideal();

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = 16;
    options.delay_ps = 1000000;
    return options;
}

static void open_with(const struct card_options *options)
{
    card_bench_open(&bench, 2, options);
    if (!options->phantom) {
        card_fill(a->bytes, a->n_bytes, 1);
        card_fill(b->bytes, b->n_bytes, 2);
    }
}

static void read_bytes(uint64_t wr_id, size_t into, size_t from, uint32_t bytes)
{
    card_post(a, RNIC_WR_RDMA_READ, wr_id, into, from, bytes);
}

static uint32_t sent(size_t i)
{
    return (card_log_at(&bench, a->station, true, i)->frame.psn.v - bench.options.psn) &
           WIRE_PSN_MASK;
}

static void every_length_at_every_mtu(void)
{
    for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
        const uint32_t lengths[] = {0, 1, 3, 4, mtu - 1, mtu, mtu + 1, 3 * mtu + 1, 65536};
        struct card_options options = read_options();
        uint32_t psn = 0;

        options.mtu_bytes = mtu;
        open_with(&options);
        for (uint32_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            uint32_t n = lengths[i] == 0 ? 1 : (lengths[i] + mtu - 1) / mtu;
            struct rnic_wc wc;

            read_bytes(i, 0, 100, lengths[i]);
            card_bench_run(&bench, WIRE_NEVER);
            wc = card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
            CHECK_EQ(wc.opcode, RNIC_WC_RDMA_READ);
            CHECK_EQ(wc.byte_len, lengths[i]);
            CHECK_BYTES(a->bytes, b->bytes + 100, lengths[i]);
            CHECK_EQ(sent(i), psn); /* the next request starts behind all responses */
            psn += n;
            CHECK_EQ(card_log_count(&bench, b->station, false), psn);
        }
        CHECK_EQ(card_log_count(&bench, a->station, true), sizeof lengths / sizeof lengths[0]);
        CHECK_EQ(card_counters(a, a->qpn).rx_responses, psn);
        CHECK_EQ(rnic_next_wake(a->dev) == WIRE_NEVER, true); /* no timer is left */
        card_bench_close(&bench);
    }
}

static void responses_say_where_they_stand(void)
{
    static const uint8_t opcodes[] = {WIRE_OP_READ_RESP_FIRST, WIRE_OP_READ_RESP_MIDDLE,
                                      WIRE_OP_READ_RESP_LAST, WIRE_OP_READ_RESP_ONLY};
    struct card_options options = read_options();

    open_with(&options);
    read_bytes(1, 0, 0, 2500);
    read_bytes(2, 4096, 0, 0);
    card_bench_run(&bench, WIRE_NEVER);
    for (size_t i = 0; i < 4; i++) {
        const struct wire_frame *frame = &card_log_at(&bench, b->station, false, i)->frame;

        CHECK_EQ(frame->opcode, opcodes[i]);
        CHECK_EQ(frame->payload_bytes, i < 2 ? 1024 : i == 2 ? 452 : 0);
        if (wire_opcodes[frame->opcode].has & WIRE_HAS_AETH) {
            CHECK_EQ(frame->msn, i < 3 ? 1 : 2);
            CHECK_EQ(frame->syndrome, 0x1F);
        }
    }
    card_bench_close(&bench);
}

/* READ after WRITE to the same bytes on one queue pair returns the new data. */
static void a_read_sees_the_write_before_it(void)
{
    struct card_options options = read_options();

    open_with(&options);
    card_write(a, 1, 0, 5000, 5000);
    read_bytes(2, 20000, 5000, 5000);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
    CHECK_BYTES(a->bytes + 20000, a->bytes, 5000);
    card_bench_close(&bench);
}

/* ---- loss ---- */

/* Drop the answer number scratch[0], counted from the first, once. */
static enum card_tap_verdict drop_answer(struct card_bench *at, struct card_flight *flight)
{
    if (flight->from != b || wire_opcodes[flight->frame.opcode].is & WIRE_IS_REQUEST)
        return CARD_PASS;
    return at->scratch[1]++ == at->scratch[0] ? CARD_DROP : CARD_PASS;
}

/* A2: one replay from the first one missing, one retry used, and given back. */
static void a_lost_response_is_asked_for_again_once(void)
{
    struct card_options options = read_options();
    const struct wire_frame *again;

    open_with(&options);
    bench.tap = drop_answer;
    bench.scratch[0] = 1;
    read_bytes(1, 0, 100, 8 * 1024);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_BYTES(a->bytes, b->bytes + 100, 8 * 1024);
    CHECK_EQ(card_log_count(&bench, a->station, true), 2);
    again = &card_log_at(&bench, a->station, true, 1)->frame;
    CHECK_EQ(sent(1), 1);
    CHECK_EQ(again->va, CARD_VA + 100 + 1024);
    CHECK_EQ(again->dma_bytes, 7 * 1024);
    CHECK_EQ(card_log_count(&bench, b->station, false), 8 + 7);
    CHECK_EQ(card_counters(a, a->qpn).retransmitted_packets, 1);
    CHECK_EQ(card_counters(a, a->qpn).timeouts, 0);
    card_bench_close(&bench);
}

/* Whatever answer is lost, of READs of several sizes between WRITEs: memory and completions. */
static void any_lost_answer_is_made_good(void)
{
    for (uint64_t lost = 0; lost < 14; lost++) {
        struct card_options options = read_options();

        open_with(&options);
        bench.tap = drop_answer;
        bench.scratch[0] = lost;
        card_write(a, 1, 0, 300000, 2048);
        read_bytes(2, 10000, 0, 3000);
        card_write(a, 3, 2048, 302048, 1024);
        read_bytes(4, 20000, 4000, 100);
        read_bytes(5, 30000, 8000, 5000);
        card_bench_run(&bench, WIRE_NEVER);
        for (uint64_t id = 1; id <= 5; id++)
            card_expect(a, a->send_cq, id, RNIC_WC_SUCCESS);
        CHECK_BYTES(b->bytes + 300000, a->bytes, 3072);
        CHECK_BYTES(a->bytes + 10000, b->bytes, 3000);
        CHECK_BYTES(a->bytes + 20000, b->bytes + 4000, 100);
        CHECK_BYTES(a->bytes + 30000, b->bytes + 8000, 5000);
        card_bench_close(&bench);
    }
}

static enum card_tap_verdict drop_second_request(struct card_bench *at, struct card_flight *flight)
{
    return flight->from == a && at->scratch[1]++ == 1 ? CARD_DROP : CARD_PASS;
}

static void a_lost_read_request_is_nakked_or_times_out(void)
{
    struct card_options options = read_options();

    open_with(&options);
    bench.tap = drop_second_request;
    read_bytes(1, 0, 0, 2048);
    read_bytes(2, 4096, 4096, 2048); /* lost */
    card_write(a, 3, 0, 100000, 10);
    card_bench_run(&bench, WIRE_NEVER);
    for (uint64_t id = 1; id <= 3; id++)
        card_expect(a, a->send_cq, id, RNIC_WC_SUCCESS);
    CHECK_BYTES(a->bytes, b->bytes, 2048);
    CHECK_BYTES(a->bytes + 4096, b->bytes + 4096, 2048);
    CHECK_EQ(card_counters(a, a->qpn).naks_rx, 1);
    CHECK_EQ(card_counters(a, a->qpn).timeouts, 0);
    card_bench_close(&bench);
}

static enum card_tap_verdict drop_answers(struct card_bench *at, struct card_flight *flight)
{
    (void)at;
    return flight->from == b ? CARD_DROP : CARD_PASS;
}

static void a_read_without_answers_ends_in_retry_exceeded(void)
{
    struct card_options options = read_options();

    options.params.timeout = 1;
    options.params.retry_cnt = 3;
    open_with(&options);
    bench.tap = drop_answers;
    read_bytes(1, 0, 0, 100);
    read_bytes(2, 0, 0, 100);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_RETRY_EXC_ERR);
    card_expect(a, a->send_cq, 2, RNIC_WC_WR_FLUSH_ERR);
    CHECK_EQ(card_log_count(&bench, a->station, true), 2 * 4);
    card_bench_close(&bench);
}

/* A plain acknowledge of a READ does not complete it: its data is missing. */
static void an_acknowledge_is_no_answer_to_a_read(void)
{
    struct card_options options = read_options();
    struct wire_frame ack;

    options.params.timeout = 0;
    open_with(&options);
    bench.tap = drop_answers;
    read_bytes(1, 0, 0, 100);
    card_bench_run(&bench, 5000000);
    ack = card_ack(a, bench.options.psn, 0x1F, 1);
    (void)card_deliver(&bench, a, &ack);
    card_expect_none(a, a->send_cq);
    bench.tap = NULL;
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_EQ(card_log_count(&bench, a->station, true), 2); /* asked for again */
    card_bench_close(&bench);
}

/* ---- limits and order ---- */

static void no_more_reads_than_max_rd_atomic(void)
{
    for (uint32_t limit = 1; limit <= 3; limit++) {
        struct card_options options = read_options();

        options.rd_atomic = (uint8_t)limit;
        options.delay_ps = 5000000;
        open_with(&options);
        for (uint64_t i = 0; i < 7; i++)
            read_bytes(i, i * 1000, i * 2000, 500);
        card_write(a, 7, 0, 900000, 1); /* it waits in its place */
        card_bench_run(&bench, 4000000);
        CHECK_EQ(card_log_count(&bench, a->station, true), limit);
        card_bench_run(&bench, WIRE_NEVER);
        for (uint64_t i = 0; i < 8; i++)
            card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
        for (uint64_t i = 0; i < 7; i++)
            CHECK_BYTES(a->bytes + i * 1000, b->bytes + i * 2000, 500);
        CHECK_EQ(card_log_count(&bench, a->station, true), 8);
        card_bench_close(&bench);
    }
}

static void post_fenced(uint64_t wr_id, uint32_t bytes)
{
    struct rnic_sge sge;
    struct rnic_send_wr wr = card_wr(a, RNIC_WR_RDMA_WRITE, wr_id, 500000, 600000, bytes, &sge);

    wr.send_flags = RNIC_SEND_FENCE;
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, bench.now_ps), 0);
}

/* A5: a fence waits for READs and atomics, for nothing else. */
static void a_fence_waits_for_reads_only(void)
{
    struct card_options options = read_options();
    const struct card_log_entry *fenced;

    options.delay_ps = 10000000;
    open_with(&options);
    card_write(a, 1, 0, 0, 50 * 1024);
    post_fenced(2, 10);
    card_bench_run(&bench, 8000000);
    CHECK_EQ(card_log_count(&bench, a->station, true), 51); /* right behind the WRITE */
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
    read_bytes(3, 0, 0, 4096);
    post_fenced(4, 10);
    card_bench_run(&bench, bench.now_ps + 8000000);
    CHECK_EQ(card_log_count(&bench, a->station, true), 52); /* the READ alone */
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 3, RNIC_WC_SUCCESS);
    card_expect(a, a->send_cq, 4, RNIC_WC_SUCCESS);
    fenced = card_log_at(&bench, a->station, true, 52);
    CHECK(fenced->left_ps >=
          card_log_at(&bench, b->station, false, card_log_count(&bench, b->station, false) - 2)
                  ->left_ps +
              10000000);
    card_bench_close(&bench);
}

/* A5 at the memory: without a fence a WRITE behind a READ may hit what the READ takes. */
static void a_fenced_write_comes_after_the_data_of_the_read(void)
{
    struct card_options options = read_options();
    static uint8_t before[8192];

    open_with(&options);
    memcpy(before, b->bytes + 600000, sizeof before);
    read_bytes(1, 0, 600000, 8192);
    post_fenced(2, 8192);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
    CHECK_BYTES(a->bytes, before, sizeof before);
    CHECK_BYTES(b->bytes + 600000, a->bytes + 500000, sizeof before);
    card_bench_close(&bench);
}

/* ---- errors ---- */

/* A6: the key goes in the middle of a READ. */
static enum card_tap_verdict revoke_after_first(struct card_bench *at, struct card_flight *flight)
{
    if (flight->from == b && at->scratch[0]++ == 0)
        CHECK_EQ(rnic_dereg_mr(b->dev, b->key, at->now_ps), 0);
    return CARD_PASS;
}

static void a_key_that_goes_in_the_middle_ends_the_read(void)
{
    struct card_options options = read_options();
    const struct wire_frame *nak;
    struct rnic_wc wc;

    options.mtu_bytes = 4096;
    open_with(&options);
    bench.tap = revoke_after_first;
    read_bytes(1, 0, 0, 16384);
    read_bytes(2, 0, 0, 10);
    card_bench_run(&bench, WIRE_NEVER);
    wc = card_expect(a, a->send_cq, 1, RNIC_WC_REM_ACCESS_ERR);
    CHECK_EQ(wc.vendor_err, 0x62);
    card_expect(a, a->send_cq, 2, RNIC_WC_WR_FLUSH_ERR);
    CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_ERR);
    CHECK_EQ(card_log_count(&bench, b->station, false), 2);
    nak = &card_log_at(&bench, b->station, false, 1)->frame;
    CHECK_EQ(nak->syndrome, 0x62);
    CHECK_EQ(nak->psn.v, wire_psn_add((wire_psn){options.psn}, 1).v);
    card_bench_close(&bench);
}

static void an_own_buffer_that_may_not_be_written(void)
{
    struct card_options options = read_options();
    struct rnic_sge sge;
    struct rnic_send_wr wr;
    uint32_t key;

    open_with(&options);
    CARD_OK(a,
            rnic_reg_mr(a->dev, a->pd, CARD_VA, 4096, a->bytes, RNIC_ACCESS_REMOTE_READ, &key, 0));
    wr = card_wr(a, RNIC_WR_RDMA_READ, 1, 0, 0, 100, &sge);
    sge.lkey = key;
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_LOC_PROT_ERR);
    CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_ERR);
    card_bench_close(&bench);
}

/* Each answer that does not fit the READ that waits for it. */
static void bad_responses(void)
{
    const struct {
        uint8_t opcode;
        uint32_t bytes, psn;
    } cases[] = {
        {WIRE_OP_READ_RESP_MIDDLE, 1024, 0}, /* the first one is FIRST */
        {WIRE_OP_READ_RESP_LAST, 1024, 0},
        {WIRE_OP_READ_RESP_ONLY, 1024, 0},
        {WIRE_OP_ATOMIC_ACKNOWLEDGE, 0, 0},
        {WIRE_OP_READ_RESP_FIRST, 1023, 0}, /* less than the MTU */
        {WIRE_OP_READ_RESP_FIRST, 0, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct card_options options = read_options();
        struct wire_frame frame;

        open_with(&options);
        bench.tap = drop_answers;
        read_bytes(1, 0, 0, 3000);
        read_bytes(2, 0, 0, 10);
        card_bench_run(&bench, 5000000);
        frame = card_ack(a, options.psn, 0x1F, 1);
        frame.opcode = cases[i].opcode;
        frame.payload_bytes = cases[i].bytes;
        CHECK_EQ(card_deliver(&bench, a, &frame), WIRE_DROP_BAD_RESPONSE);
        card_expect(a, a->send_cq, 1, RNIC_WC_BAD_RESP_ERR);
        card_expect(a, a->send_cq, 2, RNIC_WC_WR_FLUSH_ERR);
        card_bench_close(&bench);
    }
}

/* The last answer of a READ of 3000 bytes at MTU 1024. */
static void bad_last_responses(void)
{
    const struct {
        uint8_t opcode;
        uint32_t bytes;
        bool good;
    } cases[] = {
        {WIRE_OP_READ_RESP_LAST, 952, true},    {WIRE_OP_READ_RESP_ONLY, 952, true},
        {WIRE_OP_READ_RESP_LAST, 951, false},   {WIRE_OP_READ_RESP_LAST, 953, false},
        {WIRE_OP_READ_RESP_MIDDLE, 952, false}, {WIRE_OP_READ_RESP_FIRST, 952, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct card_options options = read_options();
        struct wire_frame frame;

        open_with(&options);
        bench.tap = drop_answers;
        read_bytes(1, 0, 0, 3000);
        card_bench_run(&bench, 5000000);
        for (uint32_t k = 0; k < 3; k++) {
            frame = card_ack(a, options.psn + k, 0x1F, 1);
            frame.opcode = k == 0   ? WIRE_OP_READ_RESP_FIRST
                           : k == 1 ? WIRE_OP_READ_RESP_MIDDLE
                                    : cases[i].opcode;
            frame.payload_bytes = k < 2 ? 1024 : cases[i].bytes;
            CHECK_EQ(card_deliver(&bench, a, &frame),
                     k < 2 || cases[i].good ? WIRE_DROP_NONE : WIRE_DROP_BAD_RESPONSE);
        }
        bench.now_ps += 1000;
        card_expect(a, a->send_cq, 1, cases[i].good ? RNIC_WC_SUCCESS : RNIC_WC_BAD_RESP_ERR);
        card_bench_close(&bench);
    }
}

static void data_with_a_nak_is_no_packet(void)
{
    struct card_options options = read_options();
    struct wire_frame frame;

    open_with(&options);
    bench.tap = drop_answers;
    read_bytes(1, 0, 0, 10);
    card_bench_run(&bench, 5000000);
    frame = card_ack(a, options.psn, 0x60, 1);
    frame.opcode = WIRE_OP_READ_RESP_ONLY;
    frame.payload_bytes = 10;
    CHECK_EQ(card_deliver(&bench, a, &frame), WIRE_DROP_STALE_ACK);
    card_expect_none(a, a->send_cq);
    card_bench_close(&bench);
}

/* Both directions at once, with both sides' WRITEs between. */
static void both_directions_at_once(void)
{
    struct card_options options = read_options();

    open_with(&options);
    for (uint64_t i = 0; i < 10; i++) {
        card_post(a, RNIC_WR_RDMA_READ, i, i * 4000, i * 4000, 3500);
        card_post(b, RNIC_WR_RDMA_READ, i, 500000 + i * 4000, 500000 + i * 4000, 3500);
        card_post(a, RNIC_WR_RDMA_WRITE, 100 + i, 300000 + i * 1000, 800000 + i * 1000, 1000);
    }
    card_bench_run(&bench, WIRE_NEVER);
    for (uint64_t i = 0; i < 10; i++) {
        card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
        card_expect(a, a->send_cq, 100 + i, RNIC_WC_SUCCESS);
        card_expect(b, b->send_cq, i, RNIC_WC_SUCCESS);
        CHECK_BYTES(a->bytes + i * 4000, b->bytes + i * 4000, 3500);
        CHECK_BYTES(b->bytes + 500000 + i * 4000, a->bytes + 500000 + i * 4000, 3500);
    }
    CHECK_EQ(card_counters(a, a->qpn).retransmitted_packets, 0);
    CHECK_EQ(card_counters(b, b->qpn).retransmitted_packets, 0);
    card_bench_close(&bench);
}

CHECK_SUITE(rc_read, CHECK_CASE(every_length_at_every_mtu),
            CHECK_CASE(responses_say_where_they_stand), CHECK_CASE(a_read_sees_the_write_before_it),
            CHECK_CASE(a_lost_response_is_asked_for_again_once),
            CHECK_CASE(any_lost_answer_is_made_good),
            CHECK_CASE(a_lost_read_request_is_nakked_or_times_out),
            CHECK_CASE(a_read_without_answers_ends_in_retry_exceeded),
            CHECK_CASE(an_acknowledge_is_no_answer_to_a_read),
            CHECK_CASE(no_more_reads_than_max_rd_atomic), CHECK_CASE(a_fence_waits_for_reads_only),
            CHECK_CASE(a_fenced_write_comes_after_the_data_of_the_read),
            CHECK_CASE(a_key_that_goes_in_the_middle_ends_the_read),
            CHECK_CASE(an_own_buffer_that_may_not_be_written), CHECK_CASE(bad_responses),
            CHECK_CASE(bad_last_responses), CHECK_CASE(data_with_a_nak_is_no_packet),
            CHECK_CASE(both_directions_at_once))
