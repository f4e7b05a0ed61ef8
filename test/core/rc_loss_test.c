/* SPDX-License-Identifier: GPL-2.0-only */
/* Lost, repeated and reordered frames; acknowledges that are stale, forged or nonsense. */
#include "card.h"

#define TIMEOUT_PS ((uint64_t)4096000 << 14) /* the default, 67.1 ms */

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static bool is_request(const struct wire_frame *frame)
{
    return (wire_opcodes[frame->opcode].is & WIRE_IS_REQUEST) != 0;
}

/* Drop the requests of card 0 whose number has its bit set in scratch[0]; scratch[1] counts. */
static enum card_tap_verdict drop_requests(struct card_bench *on, struct card_flight *flight)
{
    if (flight->from != a || !is_request(&flight->frame))
        return CARD_PASS;
    return on->scratch[1]++ < 64 && (on->scratch[0] >> (on->scratch[1] - 1) & 1) ? CARD_DROP
                                                                                 : CARD_PASS;
}

/* Drop everything card 0 sends. */
static enum card_tap_verdict drop_all(struct card_bench *on, struct card_flight *flight)
{
    (void)on;
    return flight->from == a ? CARD_DROP : CARD_PASS;
}

/* Drop the first scratch[0] answers. */
static enum card_tap_verdict drop_answers(struct card_bench *on, struct card_flight *flight)
{
    return flight->from == b && on->scratch[1]++ < on->scratch[0] ? CARD_DROP : CARD_PASS;
}

static void open_bench(uint32_t mtu)
{
    struct card_options options = card_options_ideal();

    options.mtu_bytes = mtu;
    card_bench_open(&bench, 2, &options);
    card_fill(a->bytes, a->n_bytes, mtu);
}

static uint32_t sent_psn(size_t i)
{
    return (card_log_at(&bench, a->station, true, i)->frame.psn.v - bench.options.psn) &
           WIRE_PSN_MASK;
}

/* PSNs FFFFFE, FFFFFF, 0, 1, and one acknowledge frees them all. */
static void the_psn_wraps_inside_a_message(void)
{
    open_bench(1024);
    card_recv(b, 1, 0, 4096);
    card_send(a, 1, 0, 4096);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(card_log_at(&bench, a->station, true, 0)->frame.psn.v, 0xFFFFFE);
    CHECK_EQ(card_log_at(&bench, a->station, true, 1)->frame.psn.v, 0xFFFFFF);
    CHECK_EQ(card_log_at(&bench, a->station, true, 2)->frame.psn.v, 0);
    CHECK_EQ(card_log_at(&bench, a->station, true, 3)->frame.psn.v, 1);
    CHECK_EQ(card_log_count(&bench, b->station, false), 1);
    CHECK_EQ(card_log_at(&bench, b->station, false, 0)->frame.psn.v, 1);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

/* NAK with the first missing PSN, resend from there, in mid-message. */
static void a_lost_packet_is_sent_again_and_all_behind_it(void)
{
    open_bench(4096);
    bench.tap = drop_requests;
    bench.scratch[0] = 1u << 8;
    card_write(a, 1, 0, 0, 65536);
    card_bench_run(&bench, TIMEOUT_PS / 2);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_BYTES(b->bytes, a->bytes, 65536);
    CHECK_EQ(rnic_query_counters(a->dev)->timeouts, 0);
    CHECK_EQ(card_counters(b, b->qpn).naks_tx, 1);
    CHECK_EQ(card_counters(a, a->qpn).naks_rx, 1);
    for (size_t i = 0; i < card_log_count(&bench, b->station, false); i++) {
        const struct wire_frame *ack = &card_log_at(&bench, b->station, false, i)->frame;

        if (ack->syndrome == 0x60)
            CHECK_EQ((ack->psn.v - bench.options.psn) & WIRE_PSN_MASK, 8);
    }
    /* 0..k as they left, then 8..15 again */
    for (size_t n = card_log_count(&bench, a->station, true), i = 0; i < 8; i++)
        CHECK_EQ(sent_psn(n - 8 + i), 8 + i);
    CHECK(bench.drops[WIRE_DROP_PSN_GAP] >= 1);
    card_bench_close(&bench);
}

/* One NAK per loss event, one replay; the retries come back with progress. */
static void ten_losses_in_a_row_cost_no_retry_when_there_is_progress(void)
{
    open_bench(1024);
    bench.tap = drop_requests;
    bench.scratch[0] = 0x9249249249249249u; /* every third of the first 64 */
    for (uint64_t i = 0; i < 8; i++)
        card_write(a, i, 8192 * i, 8192 * i, 8192);
    card_bench_run(&bench, WIRE_NEVER);
    for (uint64_t i = 0; i < 8; i++)
        card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
    CHECK_BYTES(b->bytes, a->bytes, 65536);
    CHECK_EQ(card_counters(a, a->qpn).naks_rx, card_counters(b, b->qpn).naks_tx);
    CHECK_EQ(rnic_query_counters(a->dev)->retransmitted_packets,
             card_counters(a, a->qpn).retransmitted_packets);
    card_bench_close(&bench);
}

static void the_last_packet_lost_is_the_timers_business(void)
{
    open_bench(1024);
    bench.tap = drop_requests;
    bench.scratch[0] = 1u << 9;
    card_write(a, 1, 0, 0, 10 * 1024);
    card_bench_run(&bench, TIMEOUT_PS - 1);
    card_expect_none(a, a->send_cq);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_EQ(rnic_query_counters(a->dev)->timeouts, 1);
    CHECK_BYTES(b->bytes, a->bytes, 10 * 1024);
    card_bench_close(&bench);
}

/* The wait lies in [T, 4T]; retry_cnt 7 is eight sends in all. */
static void a_dead_peer_ends_in_retry_exc_err(void)
{
    size_t n;

    open_bench(1024);
    bench.tap = drop_all;
    card_write(a, 1, 0, 0, 100);
    card_write(a, 2, 0, 0, 100);
    card_bench_run(&bench, WIRE_NEVER);
    n = card_log_count(&bench, a->station, true);
    CHECK_EQ(n, 16);
    for (size_t i = 2; i < n; i += 2) {
        uint64_t wait_ps = card_log_at(&bench, a->station, true, i)->left_ps -
                           card_log_at(&bench, a->station, true, i - 2)->left_ps;

        CHECK(wait_ps >= TIMEOUT_PS && wait_ps <= 4 * TIMEOUT_PS);
    }
    card_expect(a, a->send_cq, 1, RNIC_WC_RETRY_EXC_ERR);
    card_expect(a, a->send_cq, 2, RNIC_WC_WR_FLUSH_ERR);
    card_expect_none(a, a->send_cq);
    CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_ERR);
    CHECK_EQ(a->events[RNIC_EVENT_QP_FATAL], 0); /* the completion tells */
    CHECK_EQ(card_counters(a, a->qpn).timeouts, 8);
    card_bench_close(&bench);
}

static void timeout_0_waits_for_ever(void)
{
    struct card_options options = card_options_ideal();

    options.params.timeout = 0;
    card_bench_open(&bench, 2, &options);
    bench.tap = drop_all;
    card_write(a, 1, 0, 0, 100);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(card_log_count(&bench, a->station, true), 1);
    CHECK_EQ(rnic_next_wake(a->dev), WIRE_NEVER);
    card_bench_close(&bench);
}

/* The timer is off when nothing is outstanding. */
static void no_timeout_when_all_is_acknowledged(void)
{
    open_bench(1024);
    card_recv(b, 1, 0, 100);
    card_send(a, 1, 0, 100);
    card_bench_run(&bench, 1000000); /* long before the timeout: no timer is left behind either */
    CHECK_EQ(rnic_next_wake(a->dev), WIRE_NEVER);
    card_bench_run(&bench, 1000000000000);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_EQ(rnic_query_counters(a->dev)->timeouts, 0);
    CHECK_EQ(card_log_count(&bench, a->station, true), 1);
    CHECK_EQ(rnic_next_wake(a->dev), WIRE_NEVER);
    card_bench_close(&bench);
}

static void a_lost_acknowledge_brings_a_duplicate_not_a_second_delivery(void)
{
    open_bench(1024);
    bench.tap = drop_answers;
    bench.scratch[0] = 1;
    card_recv(b, 1, 0, 3000);
    card_recv(b, 2, 0, 3000);
    card_send(a, 1, 0, 3000);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_expect(b, b->recv_cq, 1, RNIC_WC_SUCCESS);
    card_expect_none(b, b->recv_cq);
    CHECK_EQ(rnic_query_counters(b->dev)->drops[WIRE_DROP_DUPLICATE], 3);
    card_bench_close(&bench);
}

/* Keep a copy of each request; the flight itself passes. */
static enum card_tap_verdict copy_requests(struct card_bench *on, struct card_flight *flight)
{
    if (flight->from == a && is_request(&flight->frame)) {
        struct card_flight *copy = card_copy(flight);

        copy->next = on->kept;
        on->kept = copy;
    }
    return CARD_PASS;
}

/* A repeated request is acknowledged with its own PSN, MSN unchanged. */
static void a_duplicate_is_acknowledged_with_its_own_psn(void)
{
    struct card_flight *first = NULL;
    const struct wire_frame *ack;

    open_bench(1024);
    bench.tap = copy_requests;
    card_write(a, 1, 0, 0, 8);
    card_bench_run(&bench, WIRE_NEVER);
    first = bench.kept;
    bench.kept = NULL;
    card_write(a, 2, 8, 8, 8);
    card_write(a, 3, 16, 16, 8);
    card_bench_run(&bench, WIRE_NEVER);
    memset(b->bytes, 0x77, 8);
    CHECK_EQ(card_deliver(&bench, b, &first->frame), WIRE_DROP_DUPLICATE);
    card_bench_run(&bench, WIRE_NEVER);
    ack = &card_log_at(&bench, b->station, false, 3)->frame;
    CHECK_EQ(ack->psn.v, bench.options.psn);
    CHECK_EQ(ack->msn, 3);
    CHECK_EQ(ack->syndrome & 0xE0, 0);
    for (size_t i = 0; i < 8; i++)
        CHECK_EQ(b->bytes[i], 0x77); /* its data is not placed again */
    CHECK_EQ(rnic_query_counters(a->dev)->drops[WIRE_DROP_STALE_ACK], 1);
    card_flight_free(first);
    card_bench_close(&bench);
}

/* Acknowledges that mean nothing leave everything as it was. */
static void stale_and_ghost_acknowledges_are_ignored(void)
{
    open_bench(1024);
    bench.tap = drop_all;
    card_write(a, 1, 0, 0, 3 * 1024);
    card_bench_run(&bench, 1000000);
    /* in flight: psn .. psn + 2 */
    for (uint32_t away = 3; away < 0x1000000; away += away < 100 ? 1 : 99991) {
        struct wire_frame ack = card_ack(a, bench.options.psn + away, 0x1F, 1);

        CHECK_EQ(card_deliver(&bench, a, &ack), WIRE_DROP_STALE_ACK);
        ack.syndrome = 0x60;
        CHECK_EQ(card_deliver(&bench, a, &ack), WIRE_DROP_STALE_ACK);
        ack.syndrome = 0x62;
        CHECK_EQ(card_deliver(&bench, a, &ack), WIRE_DROP_STALE_ACK);
        ack.syndrome = 0x2C;
        CHECK_EQ(card_deliver(&bench, a, &ack), WIRE_DROP_STALE_ACK);
    }
    CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_RTS);
    card_expect_none(a, a->send_cq);
    CHECK_EQ(card_log_count(&bench, a->station, true), 3);
    { /* and the real one still works */
        struct wire_frame ack = card_ack(a, bench.options.psn + 2, 0x1F, 1);

        CHECK_EQ(card_deliver(&bench, a, &ack), WIRE_DROP_NONE);
    }
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

/* AETH: bits 6:5 = 10 and bit 7 are reserved, NAK codes above 4 too. */
static void reserved_syndromes_are_ignored(void)
{
    for (unsigned syndrome = 0; syndrome < 256; syndrome++) {
        struct wire_frame ack;
        bool known = syndrome < 0x40 || (syndrome >= 0x60 && syndrome <= 0x63);

        if (known)
            continue;
        open_bench(1024);
        bench.tap = drop_all;
        card_write(a, 1, 0, 0, 3 * 1024);
        card_bench_run(&bench, 1000000);
        ack = card_ack(a, bench.options.psn + 1, (uint8_t)syndrome, 1);
        CHECK_EQ(card_deliver(&bench, a, &ack), WIRE_DROP_STALE_ACK);
        card_bench_run(&bench, bench.now_ps + 1000000);
        CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_RTS);
        CHECK_EQ(card_log_count(&bench, a->station, true), 3);
        card_bench_close(&bench);
    }
}

/* Nobody asked for READ data: what is in flight fails with it, another PSN changes nothing. */
static void answers_to_no_question_are_bad_responses(void)
{
    static const uint8_t opcodes[] = {WIRE_OP_READ_RESP_FIRST, WIRE_OP_READ_RESP_MIDDLE,
                                      WIRE_OP_READ_RESP_LAST, WIRE_OP_READ_RESP_ONLY,
                                      WIRE_OP_ATOMIC_ACKNOWLEDGE};

    for (size_t i = 0; i < sizeof opcodes; i++) {
        struct wire_frame frame;

        open_bench(1024);
        bench.tap = drop_all;
        card_write(a, 1, 0, 0, 1024);
        card_write(a, 2, 0, 0, 2 * 1024);
        card_bench_run(&bench, 1000000);
        frame = card_ack(a, bench.options.psn + 3, 0x1F, 1);
        frame.opcode = opcodes[i];
        CHECK_EQ(card_deliver(&bench, a, &frame), WIRE_DROP_STALE_ACK);
        card_expect_none(a, a->send_cq);
        frame.psn = wire_psn_add(frame.psn, WIRE_PSN_MASK); /* of the second WRITE */
        CHECK_EQ(card_deliver(&bench, a, &frame), WIRE_DROP_BAD_RESPONSE);
        card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS); /* it acknowledges what is before it */
        card_expect(a, a->send_cq, 2, RNIC_WC_BAD_RESP_ERR);
        CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_ERR);
        card_bench_close(&bench);
    }
}

/* An acknowledge may pass a replay that has not reached its packets yet. */
static void an_acknowledge_overtakes_the_replay(void)
{
    struct wire_frame ack;

    open_bench(1024);
    bench.tap = drop_all;
    card_write(a, 1, 0, 0, 2 * 1024);
    card_write(a, 2, 0, 0, 2 * 1024);
    card_write(a, 3, 0, 0, 2 * 1024);
    card_bench_run(&bench, 2000000);
    CHECK_EQ(card_log_count(&bench, a->station, true), 6);
    a->ready_classes = 0; /* nothing leaves: the replay has not begun */
    ack = card_ack(a, bench.options.psn, 0x60, 0);
    CHECK_EQ(card_deliver(&bench, a, &ack), WIRE_DROP_NONE);
    ack = card_ack(a, bench.options.psn + 4, 0x1F, 2);
    CHECK_EQ(card_deliver(&bench, a, &ack), WIRE_DROP_NONE);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
    card_expect_none(a, a->send_cq);
    a->ready_classes = 0xFF;
    card_bench_run(&bench, 4000000);
    CHECK_EQ(card_log_count(&bench, a->station, true), 7);
    CHECK_EQ(sent_psn(6), 5);
    ack = card_ack(a, bench.options.psn + 5, 0x1F, 3);
    CHECK_EQ(card_deliver(&bench, a, &ack), WIRE_DROP_NONE);
    card_expect(a, a->send_cq, 3, RNIC_WC_SUCCESS);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(card_log_count(&bench, a->station, true), 7);
    card_bench_close(&bench);
}

/* The replay is to find the local error again; the acknowledge leaves it nothing to pass on. */
static void a_local_error_is_found_again_behind_an_acknowledge(void)
{
    struct rnic_send_wr wr = {.wr_id = 2, .opcode = RNIC_WR_LOCAL_INV, .invalidate_rkey = 0xBAD};
    struct wire_frame ack;

    open_bench(1024);
    bench.tap = drop_all;
    card_write(a, 1, 0, 0, 100);
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
    card_write(a, 3, 0, 0, 100);
    card_bench_run(&bench, 2000000);
    CHECK_EQ(card_log_count(&bench, a->station, true), 1);
    ack = card_ack(a, bench.options.psn, 0x20 | 12, 0); /* RNR NAK: from there on again */
    CHECK_EQ(card_deliver(&bench, a, &ack), WIRE_DROP_NONE);
    ack = card_ack(a, bench.options.psn, 0x1F, 1); /* a late one, of before */
    CHECK_EQ(card_deliver(&bench, a, &ack), WIRE_DROP_NONE);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_expect(a, a->send_cq, 2, RNIC_WC_LOC_QP_OP_ERR);
    card_expect(a, a->send_cq, 3, RNIC_WC_WR_FLUSH_ERR);
    card_expect_none(a, a->send_cq);
    CHECK_EQ(card_log_count(&bench, a->station, true), 1);
    card_bench_close(&bench);
}

/* Drop, repeat and delay at random; everything still arrives, once and in order. */
static enum card_tap_verdict mangle(struct card_bench *on, struct card_flight *flight)
{
    struct wire_rng rng = {on->scratch[0]};
    double dice = wire_rng_uniform(&rng);

    on->scratch[0] = rng.state;
    if (dice < 0.05)
        return CARD_DROP;
    if (dice < 0.10) {
        struct card_flight *copy = card_copy(flight);

        copy->arrives_ps += 1000 * (wire_rng_next(&rng) % 3000);
        card_fly(on, copy);
    } else if (dice < 0.15) {
        flight->arrives_ps += 1000 * (wire_rng_next(&rng) % 3000);
    } else if (dice < 0.17) {
        flight->frame.flags |= WIRE_FRAME_CORRUPT;
    }
    on->scratch[0] = rng.state;
    return CARD_PASS;
}

static void check_storm(uint64_t seed, bool real_card)
{
    struct card_options options = real_card ? card_options_default() : card_options_ideal();
    struct wire_rng rng = wire_rng_init(seed, 7);
    uint32_t received = 0, sends = 0;
    struct rnic_wc wc;

    options.mtu_bytes = 256u << wire_rng_next(&rng) % 5;
    options.params.timeout = 4; /* 65 us */
    options.params.ack_every = 1 + wire_rng_next(&rng) % 20;
    options.params.max_in_flight = 1 + wire_rng_next(&rng) % 64;
    options.delay_ps = wire_rng_next(&rng) % 2000000;
    card_bench_open(&bench, 2, &options);
    card_fill(a->bytes, a->n_bytes, seed);
    bench.tap = mangle;
    bench.scratch[0] = seed;
    for (uint64_t i = 0; i < 40; i++) {
        uint32_t bytes = (uint32_t)(wire_rng_next(&rng) % (10 * options.mtu_bytes));
        unsigned op = wire_rng_next(&rng) % 4;

        bytes = bytes > 10000 ? 10000 : bytes;
        card_recv(b, i, 500000 + 10000 * i, 10000);
        card_post(a, (enum rnic_wr_opcode)op, i, 10000 * i, 10000 * i, bytes);
        sends += op != RNIC_WR_RDMA_WRITE;
        if (i % 8 == 0)
            card_bench_run(&bench, bench.now_ps + wire_rng_next(&rng) % 20000000);
    }
    card_bench_run(&bench, WIRE_NEVER);
    for (uint64_t i = 0; i < 40; i++) {
        wc = card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
        if (wc.opcode == RNIC_WC_RDMA_WRITE)
            CHECK_BYTES(b->bytes + 10000 * i, a->bytes + 10000 * i, wc.byte_len);
    }
    while (card_poll(b, b->recv_cq, &wc)) {
        CHECK_EQ(wc.status, RNIC_WC_SUCCESS);
        CHECK_EQ(wc.wr_id, received);
        received++;
    }
    CHECK_EQ(received, sends);
    CHECK_EQ(rnic_frames_held(a->dev) + rnic_frames_held(b->dev), 0);
    card_bench_close(&bench);
}

static void any_mix_of_faults_delivers_everything_once_in_order(void)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        if (seed % 20 == 1)
            printf("seeds from %" PRIu64 "\n", seed);
        check_storm(seed, seed % 2 == 0);
    }
}

CHECK_SUITE(rc_loss, CHECK_CASE(the_psn_wraps_inside_a_message),
            CHECK_CASE(a_lost_packet_is_sent_again_and_all_behind_it),
            CHECK_CASE(ten_losses_in_a_row_cost_no_retry_when_there_is_progress),
            CHECK_CASE(the_last_packet_lost_is_the_timers_business),
            CHECK_CASE(a_dead_peer_ends_in_retry_exc_err), CHECK_CASE(timeout_0_waits_for_ever),
            CHECK_CASE(no_timeout_when_all_is_acknowledged),
            CHECK_CASE(a_lost_acknowledge_brings_a_duplicate_not_a_second_delivery),
            CHECK_CASE(a_duplicate_is_acknowledged_with_its_own_psn),
            CHECK_CASE(stale_and_ghost_acknowledges_are_ignored),
            CHECK_CASE(reserved_syndromes_are_ignored),
            CHECK_CASE(answers_to_no_question_are_bad_responses),
            CHECK_CASE(an_acknowledge_overtakes_the_replay),
            CHECK_CASE(a_local_error_is_found_again_behind_an_acknowledge),
            CHECK_CASE(any_mix_of_faults_delivers_everything_once_in_order))
