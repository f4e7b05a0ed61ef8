/* SPDX-License-Identifier: GPL-2.0-only */
/* Surprises others reported about rings, lists, completions and acknowledges: known-bugs.md. */
#include "card.h"

#define RTO_PS ((uint64_t)4096000 << 4) /* timeout code 4: 65.5 us */
#define PACKETS 100u

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

/* A24: lengths of a list are added in 64 bits, and every sum above 2^31 is refused. */
static void lengths_of_a_list_never_wrap(void)
{
    static const uint32_t lists[][4] = {
        {0x80000000u, 0x80000000u, 0, 0}, /* 0 in 32 bits */
        {0x80000000u, 0x80000000u, 8, 0}, /* 8 in 32 bits: it would look like a short one */
        {0xFFFFFFFFu, 1, 0, 0},           /* 0 again */
        {0xFFFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFFu},
        {0x40000000u, 0x40000000u, 1, 0}, /* one byte too many */
    };
    struct card_options options = card_options_ideal();

    card_bench_open(&bench, 2, &options);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct rnic_sge sges[4];
        struct rnic_send_wr send = {.opcode = RNIC_WR_SEND, .sg_list = sges, .num_sge = 4};
        struct rnic_recv_wr recv = {.sg_list = sges, .num_sge = 4};

        for (size_t k = 0; k < 4; k++)
            sges[k] = (struct rnic_sge){CARD_VA, lists[i][k], a->key};
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &send, 0), RNIC_ERR_INVAL);
        send.opcode = RNIC_WR_RDMA_WRITE;
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &send, 0), RNIC_ERR_INVAL);
        CHECK_EQ(rnic_post_recv(a->dev, a->qpn, &recv, 0), RNIC_ERR_INVAL);
    }
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(bench.log_n, 0);
    card_write(a, 1, 0, 0, 8); /* and the queue still works */
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_expect_none(a, a->send_cq);
    card_bench_close(&bench);
}

/* A24: three entries of 100 bytes are more than 256 inline, two and one of 56 are not. */
static void inline_lists_are_summed_before_they_are_taken(void)
{
    struct rnic_qp_init_attr init = {.max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 3};
    struct card_options options = card_options_ideal();
    struct rnic_sge sges[3];
    struct rnic_send_wr wr = {.opcode = RNIC_WR_RDMA_WRITE, .sg_list = sges, .num_sge = 3};
    static uint8_t bytes[256];
    uint32_t qpn, peer;

    card_bench_open(&bench, 2, &options);
    card_fill(bytes, sizeof bytes, 24);
    init.pd = a->pd;
    init.send_cq = a->send_cq;
    init.recv_cq = a->recv_cq;
    init.max_inline_data = 256;
    CARD_OK(a, rnic_create_qp(a->dev, &init, &qpn, 0));
    peer = card_new_qp(b, b->send_cq, b->recv_cq);
    card_join(a, qpn, b, peer);
    wr.send_flags = RNIC_SEND_INLINE | RNIC_SEND_SIGNALED;
    wr.remote_addr = CARD_VA;
    wr.rkey = b->key;
    for (uint32_t i = 0; i < 3; i++)
        sges[i] = (struct rnic_sge){(uintptr_t)bytes + 100 * i, 100, 0};
    CHECK_EQ(rnic_post_send(a->dev, qpn, &wr, 0), RNIC_ERR_INVAL);
    sges[2].length = 56;
    CHECK_EQ(rnic_post_send(a->dev, qpn, &wr, 0), 0);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 0, RNIC_WC_SUCCESS);
    CHECK_BYTES(b->bytes, bytes, 256);
    CHECK_EQ(card_log_count(&bench, a->station, true), 1);
    card_bench_close(&bench);
}

/* A25: 16 slots with an immediate and solicited, then the same 16 plain. */
static void sixteen_slots_used_again_carry_nothing_over(void)
{
    struct card_options options = card_options_ideal();

    options.depth = 16;
    card_bench_open(&bench, 2, &options);
    for (unsigned round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < 16; i++) {
            struct rnic_sge sge;
            struct rnic_send_wr wr =
                card_wr(a, round == 0 ? RNIC_WR_SEND_WITH_IMM : RNIC_WR_SEND, i, 0, 0, 100, &sge);

            wr.imm = round == 0 ? 0xdeadbeefu : 0;
            wr.send_flags = round == 0 ? RNIC_SEND_SOLICITED : 0;
            card_recv(b, i, 0, 100);
            CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, bench.now_ps), 0);
        }
        bench.log_n = 0;
        card_bench_run(&bench, WIRE_NEVER);
        CHECK_EQ(card_log_count(&bench, a->station, true), 16);
        for (size_t i = 0; i < 16; i++) {
            const struct wire_frame *frame = &card_log_at(&bench, a->station, true, i)->frame;
            struct rnic_wc wc = card_expect(b, b->recv_cq, i, RNIC_WC_SUCCESS);

            card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
            CHECK_EQ(frame->opcode, round == 0 ? WIRE_OP_SEND_ONLY_IMM : WIRE_OP_SEND_ONLY);
            CHECK_EQ((frame->bth_flags & WIRE_BTH_SE) != 0, round == 0);
            CHECK_EQ((wc.wc_flags & RNIC_WC_WITH_IMM) != 0, round == 0);
            CHECK_EQ(wc.imm, round == 0 ? 0xdeadbeefu : 0);
        }
    }
    card_bench_close(&bench);
}

/* A25: 16 fenced slots, then a READ and 15 plain ones in them: these do not wait for its data. */
static void a_slot_used_again_is_not_fenced(void)
{
    struct card_options options = card_options_ideal();

    options.depth = 16;
    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = 1;
    options.delay_ps = 10000000;
    card_bench_open(&bench, 2, &options);
    for (unsigned round = 0; round < 2; round++) {
        uint64_t begin_ps = bench.now_ps;

        bench.log_n = 0;
        for (uint64_t i = 0; i < 16; i++) {
            bool read = i == 0 && round == 1;
            struct rnic_sge sge;
            struct rnic_send_wr wr =
                card_wr(a, read ? RNIC_WR_RDMA_READ : RNIC_WR_RDMA_WRITE, i, 0, 50000, 8, &sge);

            wr.send_flags = round == 0 ? RNIC_SEND_FENCE : 0;
            CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, bench.now_ps), 0);
        }
        card_bench_run(&bench, begin_ps + options.delay_ps);
        CHECK_EQ(card_log_count(&bench, a->station, true), 16); /* all, before any answer */
        card_bench_run(&bench, WIRE_NEVER);
        for (uint64_t i = 0; i < 16; i++)
            card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
    }
    card_bench_close(&bench);
}

/* A26: entries of 65535, 65536 and 65537 bytes, in one list and at both ends. */
static void entries_of_64_kib_keep_their_length_in_lists(void)
{
    static const uint32_t lengths[3] = {65535, 65536, 65537};
    struct card_options options = card_options_ideal();
    struct rnic_sge from[3], to[3];
    struct rnic_send_wr send = {.wr_id = 1, .opcode = RNIC_WR_SEND, .sg_list = from, .num_sge = 3};
    struct rnic_recv_wr recv = {.wr_id = 2, .sg_list = to, .num_sge = 3};

    options.mtu_bytes = 4096;
    card_bench_open(&bench, 2, &options);
    card_fill(a->bytes, a->n_bytes, 26);
    for (size_t i = 0; i < 3; i++) { /* the far end takes them in another order */
        from[i] = (struct rnic_sge){CARD_VA + 100000 * i, lengths[i], a->key};
        to[i] = (struct rnic_sge){CARD_VA + 100000 * i, lengths[2 - i], b->key};
    }
    CHECK_EQ(rnic_post_recv(b->dev, b->qpn, &recv, 0), 0);
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &send, 0), 0);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_EQ(card_expect(b, b->recv_cq, 2, RNIC_WC_SUCCESS).byte_len, 3 * 65536);
    CHECK_BYTES(b->bytes, a->bytes, 65535);
    CHECK_BYTES(b->bytes + 65535, a->bytes + 100000, 2);
    CHECK_BYTES(b->bytes + 100000, a->bytes + 100002, 65534);
    CHECK_BYTES(b->bytes + 165534, a->bytes + 200000, 2);
    CHECK_BYTES(b->bytes + 200000, a->bytes + 200002, 65535);
    CHECK_EQ(b->bytes[200000 + 65535], 0);
    card_bench_close(&bench);
}

/* A27: also when the wire brings the error, and for a queue pair whose CQs others use too. */
static void each_cq_gets_its_own_flushed_requests(void)
{
    struct card_options options = card_options_ideal();
    uint32_t other, peer;
    struct rnic_wc wc;

    card_bench_open(&bench, 2, &options);
    other = card_new_qp(a, a->send_cq, a->recv_cq);
    peer = card_new_qp(b, b->send_cq, b->recv_cq);
    card_join(a, other, b, peer);
    for (uint64_t i = 0; i < 2; i++)
        card_recv(a, 10 + i, 0, 100);
    for (uint64_t i = 0; i < 3; i++)
        card_write(a, i, 0, i == 0 ? bench.cards[1].n_bytes : 0, 100); /* the first has no room */
    card_bench_run(&bench, WIRE_NEVER);
    wc = card_expect(a, a->send_cq, 0, RNIC_WC_REM_ACCESS_ERR);
    CHECK_EQ(wc.qp_num, a->qpn);
    CHECK_EQ(wc.vendor_err, WIRE_AETH_NAK | WIRE_NAK_ACCESS);
    for (uint64_t i = 1; i < 3; i++) {
        wc = card_expect(a, a->send_cq, i, RNIC_WC_WR_FLUSH_ERR);
        CHECK_EQ(wc.qp_num, a->qpn);
        CHECK_EQ(wc.vendor_err, 0); /* nothing stale */
    }
    card_expect_none(a, a->send_cq);
    for (uint64_t i = 0; i < 2; i++) {
        wc = card_expect(a, a->recv_cq, 10 + i, RNIC_WC_WR_FLUSH_ERR);
        CHECK_EQ(wc.qp_num, a->qpn);
        CHECK_EQ(wc.vendor_err, 0);
    }
    card_expect_none(a, a->recv_cq);
    CHECK_EQ(card_state(a, other), RNIC_QPS_RTS); /* its neighbour feels nothing */
    card_bench_close(&bench);
}

/* A28's kind: the size of a CQE never touches what was received. */
static void data_does_not_depend_on_the_size_of_a_cqe(void)
{
    static const uint32_t lengths[] = {1, 32, 33, 64};

    for (uint64_t cqe_bytes = 64; cqe_bytes <= 128; cqe_bytes += 64) {
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            struct card_options options = card_options_ideal();

            options.params.cqe_bytes = cqe_bytes;
            card_bench_open(&bench, 2, &options);
            card_fill(a->bytes, 64, lengths[i]);
            card_recv(b, 1, 0, 64);
            card_send(a, 2, 0, lengths[i]);
            card_bench_run(&bench, WIRE_NEVER);
            CHECK_EQ(card_expect(b, b->recv_cq, 1, RNIC_WC_SUCCESS).byte_len, lengths[i]);
            CHECK_BYTES(b->bytes, a->bytes, lengths[i]);
            CHECK_EQ(b->bytes[lengths[i]], 0);
            card_bench_close(&bench);
        }
    }
}

/* Drop the request packet number scratch[0] once. */
static enum card_tap_verdict drop_one(struct card_bench *on, struct card_flight *flight)
{
    if (flight->from != a)
        return CARD_PASS;
    return on->scratch[1]++ == on->scratch[0] ? CARD_DROP : CARD_PASS;
}

/* A47: 100 packets of 1000 B, number 50 lost: it goes on at 50, not at the message's begin. */
static void go_back_n_resumes_at_the_packet_that_was_lost(void)
{
    for (unsigned one_message = 0; one_message < 2; one_message++) {
        struct card_options options = card_options_ideal();
        uint32_t bytes = one_message ? PACKETS * 1024 : 1000, psn, highest = 0;
        size_t n, i;

        options.depth = 128;
        card_bench_open(&bench, 2, &options);
        bench.tap = drop_one;
        bench.scratch[0] = 50;
        card_fill(a->bytes, a->n_bytes, 47);
        for (uint64_t m = 0; m < (one_message ? 1 : PACKETS); m++)
            card_write(a, m, bytes * m, bytes * m, bytes);
        card_bench_run(&bench, RTO_PS);
        n = card_log_count(&bench, a->station, true);
        for (i = 0; i < n; i++) { /* up to the step back */
            psn = wire_psn_add(card_log_at(&bench, a->station, true, i)->frame.psn,
                               WIRE_PSN_MASK + 1 - options.psn)
                      .v;
            if (i > 0 && psn <= highest)
                break;
            CHECK_EQ(psn, i);
            highest = psn;
        }
        CHECK(i > 51 && i < n); /* there is one */
        for (uint32_t next = 50; i < n; i++, next++)
            CHECK_EQ((card_log_at(&bench, a->station, true, i)->frame.psn.v - options.psn) &
                         WIRE_PSN_MASK,
                     next);
        CHECK_EQ(card_counters(a, a->qpn).retransmitted_packets, highest + 1 - 50);
        CHECK_EQ(card_counters(b, b->qpn).naks_tx, 1);
        CHECK_EQ(card_counters(b, b->qpn).rx_packets, PACKETS);
        CHECK_BYTES(b->bytes, a->bytes, one_message ? PACKETS * 1024 : PACKETS * 1000);
        card_bench_close(&bench);
    }
}

/* A50: opcodes say what a frame is, lengths do not: data of 66 and 86 B among ACKs of 66 B. */
static void data_as_long_as_an_acknowledge_is_data(void)
{
    struct card_options options = card_options_ideal();
    static const uint32_t payloads[2] = {4, 24};

    options.depth = 64;
    options.params.ack_every = 1;
    card_bench_open(&bench, 2, &options);
    card_fill(a->bytes, 2000, 50);
    card_fill(b->bytes + 100000, 2000, 51);
    for (uint64_t i = 0; i < 40; i++) { /* both ways, so that ACKs pass data of their length */
        card_recv(a, i, 200000 + 24 * i, 24);
        card_recv(b, i, 200000 + 24 * i, 24);
    }
    for (uint64_t i = 0; i < 40; i++) {
        card_send(a, i, 24 * i, payloads[i % 2]);
        card_send(b, i, 100000 + 24 * i, payloads[i % 2]);
    }
    card_bench_run(&bench, WIRE_NEVER);
    for (uint64_t i = 0; i < 40; i++) {
        card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
        card_expect(b, b->send_cq, i, RNIC_WC_SUCCESS);
        CHECK_EQ(card_expect(a, a->recv_cq, i, RNIC_WC_SUCCESS).byte_len, payloads[i % 2]);
        CHECK_EQ(card_expect(b, b->recv_cq, i, RNIC_WC_SUCCESS).byte_len, payloads[i % 2]);
        CHECK_BYTES(b->bytes + 200000 + 24 * i, a->bytes + 24 * i, payloads[i % 2]);
        CHECK_BYTES(a->bytes + 200000 + 24 * i, b->bytes + 100000 + 24 * i, payloads[i % 2]);
    }
    CHECK_EQ(card_log_at(&bench, a->station, true, 0)->frame.frame_bytes, 66);
    CHECK_EQ(card_log_at(&bench, a->station, true, 1)->frame.frame_bytes, 86);
    CHECK_EQ(card_log_at(&bench, a->station, false, 0)->frame.frame_bytes, 66);
    CHECK_EQ(card_counters(a, a->qpn).retransmitted_packets, 0);
    card_bench_close(&bench);
}

/* A55: numbers of living queue pairs are never given out again, whatever comes and goes. */
static void no_two_live_queue_pairs_share_a_number(void)
{
    enum { ALIVE = 1000, ROUNDS = 20000 };
    static uint32_t alive[ALIVE];
    static uint8_t taken[1u << 24]; /* by number */
    struct wire_rng rng = wire_rng_init(55, 0);
    struct card_options options = card_options_ideal();

    options.depth = 1;
    options.params.max_qp = ALIVE + 100; /* so that numbers go round */
    card_bench_open(&bench, 2, &options);
    for (uint32_t i = 0; i < ALIVE + ROUNDS; i++) {
        uint32_t k = i < ALIVE ? i : (uint32_t)(wire_rng_next(&rng) % ALIVE);

        if (i >= ALIVE) {
            CHECK_EQ(rnic_destroy_qp(a->dev, alive[k], 0), 0);
            taken[alive[k]] = 0;
        }
        alive[k] = card_new_qp(a, a->send_cq, a->recv_cq);
        CHECK(alive[k] > 1 && alive[k] <= 0xFFFFFF && alive[k] != a->qpn);
        CHECK_EQ(taken[alive[k]], 0);
        taken[alive[k]] = 1;
    }
    card_bench_close(&bench);
}

/* A57: 10 packets, the last one lost: nobody but the timer notices, and it is over soon after. */
static void a_lost_tail_ends_one_timeout_and_one_round_trip_later(void)
{
    struct card_options options = card_options_ideal();
    const uint64_t rtt_ps = 2 * 1000000, line_ps = 11 * 1106 * 80;

    options.params.timeout = 4;
    options.delay_ps = 1000000;
    card_bench_open(&bench, 2, &options);
    bench.tap = drop_one;
    bench.scratch[0] = 9;
    card_fill(a->bytes, 10240, 57);
    card_write(a, 1, 0, 0, 10 * 1024);
    card_bench_run(&bench, RTO_PS);
    card_expect_none(a, a->send_cq);
    card_bench_run(&bench, RTO_PS + rtt_ps + line_ps);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_EQ(rnic_query_counters(a->dev)->timeouts, 1);
    CHECK_BYTES(b->bytes, a->bytes, 10240);
    card_bench_close(&bench);
}

CHECK_SUITE(known_bugs_host, CHECK_CASE(lengths_of_a_list_never_wrap),
            CHECK_CASE(inline_lists_are_summed_before_they_are_taken),
            CHECK_CASE(a_slot_used_again_is_not_fenced),
            CHECK_CASE(sixteen_slots_used_again_carry_nothing_over),
            CHECK_CASE(entries_of_64_kib_keep_their_length_in_lists),
            CHECK_CASE(each_cq_gets_its_own_flushed_requests),
            CHECK_CASE(data_does_not_depend_on_the_size_of_a_cqe),
            CHECK_CASE(go_back_n_resumes_at_the_packet_that_was_lost),
            CHECK_CASE(data_as_long_as_an_acknowledge_is_data),
            CHECK_CASE(no_two_live_queue_pairs_share_a_number),
            CHECK_CASE(a_lost_tail_ends_one_timeout_and_one_round_trip_later))
