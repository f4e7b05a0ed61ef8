/* SPDX-License-Identifier: GPL-2.0-only */
/* SEND and WRITE, with and without immediate, at every length where a cut can go wrong. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static const uint32_t mtus[] = {256, 512, 1024, 2048, 4096};

#define LENGTHS 12u
/* Lengths around every border of an MTU. */
static uint32_t length_of(uint32_t mtu, uint32_t i)
{
    const uint32_t lengths[LENGTHS] = {
        0, 1, 3, 4, mtu - 1, mtu, mtu + 1, 2 * mtu - 1, 2 * mtu, 2 * mtu + 1, 17 * mtu + 3, 65536};

    return lengths[i];
}

/* The request packets on the wire say what the message is. */
static void check_packets(enum rnic_wr_opcode opcode, uint32_t length, uint32_t mtu)
{
    uint32_t packets = length == 0 ? 1 : (length + mtu - 1) / mtu;
    bool write = opcode == RNIC_WR_RDMA_WRITE || opcode == RNIC_WR_RDMA_WRITE_WITH_IMM;
    uint32_t sum = 0;

    CHECK_EQ(card_log_count(&bench, a->station, true), packets);
    for (uint32_t i = 0; i < packets; i++) {
        const struct wire_frame *frame = &card_log_at(&bench, a->station, true, i)->frame;
        const struct wire_opcode *op = &wire_opcodes[frame->opcode];
        bool first = i == 0, last = i + 1 == packets;

        CHECK_EQ(frame->psn.v, (bench.options.psn + i) & WIRE_PSN_MASK);
        CHECK_EQ(!!(op->is & (WIRE_IS_FIRST | WIRE_IS_ONLY)), first);
        CHECK_EQ(!!(op->is & (WIRE_IS_LAST | WIRE_IS_ONLY)), last);
        CHECK_EQ(!!(op->is & WIRE_IS_WRITE), write);
        CHECK_EQ(frame->payload_bytes, last ? length - i * mtu : mtu);
        if (last)
            CHECK(frame->bth_flags & WIRE_BTH_ACKREQ);
        if (write && first) {
            CHECK(op->has & WIRE_HAS_RETH);
            CHECK_EQ(frame->dma_bytes, length);
            CHECK_EQ(frame->rkey, b->key);
        }
        sum += frame->payload_bytes;
    }
    CHECK_EQ(sum, length);
}

static void check_message(enum rnic_wr_opcode opcode, uint32_t length, uint32_t mtu, bool phantom)
{
    struct card_options options = card_options_ideal();
    bool imm = opcode == RNIC_WR_RDMA_WRITE_WITH_IMM || opcode == RNIC_WR_SEND_WITH_IMM;
    bool send = opcode == RNIC_WR_SEND || opcode == RNIC_WR_SEND_WITH_IMM;
    size_t to = 200001, after = to + length;
    struct rnic_wc wc;

    options.mtu_bytes = mtu;
    options.phantom = phantom;
    card_bench_open(&bench, 2, &options);
    card_fill(a->bytes, a->n_bytes, length + mtu);
    if (send || imm)
        card_recv(b, 77, to, length + 7);
    card_post(a, opcode, 5, 13, to, length);
    card_bench_run(&bench, WIRE_NEVER);
    check_packets(opcode, length, mtu);

    wc = card_expect(a, a->send_cq, 5, RNIC_WC_SUCCESS);
    CHECK_EQ(wc.opcode, send ? RNIC_WC_SEND : RNIC_WC_RDMA_WRITE);
    CHECK_EQ(wc.byte_len, length);
    CHECK_EQ(wc.qp_num, a->qpn);
    card_expect_none(a, a->send_cq);
    if (send || imm) {
        wc = card_expect(b, b->recv_cq, 77, RNIC_WC_SUCCESS);
        CHECK_EQ(wc.opcode, send ? RNIC_WC_RECV : RNIC_WC_RECV_RDMA_WITH_IMM);
        CHECK_EQ(wc.byte_len, length);
        CHECK_EQ(wc.qp_num, b->qpn);
        CHECK_EQ(wc.wc_flags, imm ? RNIC_WC_WITH_IMM : 0);
        if (imm)
            CHECK_EQ(wc.imm, 5 ^ 0xDEADBEEFu);
    }
    card_expect_none(b, b->recv_cq);
    if (!phantom && length > 0)
        CHECK_BYTES(b->bytes + to, a->bytes + 13, length);
    if (phantom)
        after = to;
    for (size_t i = 0; i < 64; i++) { /* and nothing around it */
        CHECK_EQ(b->bytes[to - 1 - i], 0);
        CHECK_EQ(b->bytes[after + i], 0);
    }
    CHECK_EQ(rnic_query_counters(a->dev)->retransmitted_packets, 0);
    for (unsigned d = 1; d < WIRE_DROP_COUNT; d++)
        CHECK_EQ(bench.drops[d], 0);
    card_bench_close(&bench);
}

static void every_verb_at_every_length_and_mtu(void)
{
    for (size_t m = 0; m < sizeof mtus / sizeof mtus[0]; m++)
        for (uint32_t i = 0; i < LENGTHS; i++)
            for (unsigned op = RNIC_WR_RDMA_WRITE; op <= RNIC_WR_SEND_WITH_IMM; op++)
                check_message((enum rnic_wr_opcode)op, length_of(mtus[m], i), mtus[m], false);
}

static void phantom_memory_travels_the_same_way(void)
{
    for (uint32_t i = 0; i < LENGTHS; i++)
        for (unsigned op = RNIC_WR_RDMA_WRITE; op <= RNIC_WR_SEND_WITH_IMM; op++)
            check_message((enum rnic_wr_opcode)op, length_of(1024, i), 1024, true);
}

/* The receive buffer of a WRITE with immediate is not touched. */
static void write_imm_leaves_the_receive_buffer_alone(void)
{
    struct card_options options = card_options_ideal();
    struct rnic_wc wc;

    card_bench_open(&bench, 2, &options);
    card_fill(a->bytes, 5000, 9);
    card_recv(b, 3, 100000, 8000);
    card_post(a, RNIC_WR_RDMA_WRITE_WITH_IMM, 1, 0, 0, 5000);
    card_bench_run(&bench, WIRE_NEVER);
    wc = card_expect(b, b->recv_cq, 3, RNIC_WC_SUCCESS);
    CHECK_EQ(wc.byte_len, 5000);
    for (size_t i = 0; i < 8000; i++)
        CHECK_EQ(b->bytes[100000 + i], 0);
    CHECK_BYTES(b->bytes, a->bytes, 5000);
    card_bench_close(&bench);
}

/* Two messages in flight, each with its own length. */
static void messages_back_to_back_keep_their_lengths(void)
{
    struct card_options options = card_options_ideal();

    card_bench_open(&bench, 2, &options);
    card_fill(a->bytes, 20000, 4);
    card_recv(b, 10, 300000, 100);
    card_recv(b, 11, 310000, 5000);
    card_write(a, 1, 0, 0, 100);
    card_write(a, 2, 100, 1000, 5000);
    card_send(a, 3, 6000, 100);
    card_send(a, 4, 7000, 5000);
    card_bench_run(&bench, WIRE_NEVER);
    for (uint64_t id = 1; id <= 4; id++)
        card_expect(a, a->send_cq, id, RNIC_WC_SUCCESS);
    CHECK_EQ(card_expect(b, b->recv_cq, 10, RNIC_WC_SUCCESS).byte_len, 100);
    CHECK_EQ(card_expect(b, b->recv_cq, 11, RNIC_WC_SUCCESS).byte_len, 5000);
    CHECK_BYTES(b->bytes, a->bytes, 100);
    CHECK_BYTES(b->bytes + 1000, a->bytes + 100, 5000);
    CHECK_BYTES(b->bytes + 300000, a->bytes + 6000, 100);
    CHECK_BYTES(b->bytes + 310000, a->bytes + 7000, 5000);
    card_bench_close(&bench);
}

/* Pieces of a list are cut at MTU borders and joined again, on both sides. */
static void lists_are_gathered_and_scattered(void)
{
    struct card_options options = card_options_ideal();
    struct rnic_sge from[4], to[3];
    struct rnic_send_wr wr = {.wr_id = 1, .opcode = RNIC_WR_SEND, .sg_list = from, .num_sge = 4};
    struct rnic_recv_wr recv = {.wr_id = 2, .sg_list = to, .num_sge = 3};
    static const uint32_t cuts[4] = {1000, 0, 1, 2048};
    static const uint32_t takes[3] = {7, 2040, 1500};
    uint8_t sent[4096], got[4096];
    size_t n = 0;

    card_bench_open(&bench, 2, &options);
    card_fill(a->bytes, a->n_bytes, 8);
    for (size_t i = 0; i < 4; i++) {
        from[i] = (struct rnic_sge){CARD_VA + 5000 * i, cuts[i], a->key};
        if (cuts[i] == 0)
            from[i].lkey = 0xBAD; /* an empty entry names nothing */
        memcpy(sent + n, a->bytes + 5000 * i, cuts[i]);
        n += cuts[i];
    }
    for (size_t i = 0; i < 3; i++)
        to[i] = (struct rnic_sge){CARD_VA + 3000 * (3 - i), takes[i], b->key};
    CHECK_EQ(rnic_post_recv(b->dev, b->qpn, &recv, 0), 0);
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_EQ(card_expect(b, b->recv_cq, 2, RNIC_WC_SUCCESS).byte_len, n);
    CHECK_EQ(n, 3049);
    memcpy(got, b->bytes + 9000, 7);
    memcpy(got + 7, b->bytes + 6000, 2040);
    memcpy(got + 2047, b->bytes + 3000, 1002);
    CHECK_BYTES(got, sent, n);
    CHECK_EQ(b->bytes[3000 + 1002], 0);
    card_bench_close(&bench);
}

/* No length is kept in 16 bits. */
static void entries_around_64_kib_are_carried_in_full(void)
{
    for (uint32_t bytes = 65535; bytes <= 65537; bytes++) {
        struct card_options options = card_options_ideal();

        options.mtu_bytes = 4096;
        card_bench_open(&bench, 2, &options);
        card_fill(a->bytes, bytes, bytes);
        card_write(a, 1, 0, 0, bytes);
        card_bench_run(&bench, WIRE_NEVER);
        CHECK_EQ(card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS).byte_len, bytes);
        CHECK_BYTES(b->bytes, a->bytes, bytes);
        CHECK_EQ(b->bytes[bytes], 0);
        card_bench_close(&bench);
    }
}

static void both_directions_at_once(void)
{
    struct card_options options = card_options_ideal();

    card_bench_open(&bench, 2, &options);
    card_fill(a->bytes, 100000, 1);
    card_fill(b->bytes, 100000, 2);
    for (uint64_t i = 0; i < 10; i++) {
        card_write(a, i, 10000 * i, 500000 + 10000 * i, 9999);
        card_write(b, i, 10000 * i, 500000 + 10000 * i, 9998);
    }
    card_bench_run(&bench, WIRE_NEVER);
    for (uint64_t i = 0; i < 10; i++) {
        card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
        card_expect(b, b->send_cq, i, RNIC_WC_SUCCESS);
        CHECK_BYTES(b->bytes + 500000 + 10000 * i, a->bytes + 10000 * i, 9999);
        CHECK_BYTES(a->bytes + 500000 + 10000 * i, b->bytes + 10000 * i, 9998);
    }
    card_bench_close(&bench);
}

/* No fixed number of queue pairs. */
static void a_thousand_queue_pairs_all_finish(void)
{
    struct card_options options = card_options_ideal();
    uint32_t qpn[1024];

    options.depth = 2;
    options.cqe = 4096;
    card_bench_open(&bench, 2, &options);
    card_fill(a->bytes, a->n_bytes, 3);
    for (uint32_t i = 0; i < 1024; i++) {
        uint32_t peer = card_new_qp(b, b->send_cq, b->recv_cq);
        struct rnic_sge sge;
        struct rnic_send_wr wr = card_wr(a, RNIC_WR_RDMA_WRITE, i, 1000 * i, 1000 * i, 1000, &sge);

        qpn[i] = card_new_qp(a, a->send_cq, a->recv_cq);
        card_join(a, qpn[i], b, peer);
        CHECK_EQ(rnic_post_send(a->dev, qpn[i], &wr, 0), 0);
    }
    card_bench_run(&bench, WIRE_NEVER);
    for (uint32_t i = 0; i < 1024; i++)
        CHECK_EQ(card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS).qp_num, qpn[i]);
    CHECK_BYTES(b->bytes, a->bytes, 1024000);
    card_bench_close(&bench);
}

/* Placements come in the order of their PSNs. */
static void placed_in_order(struct card_bench *at, struct card *card,
                            const struct rnic_event *event)
{
    static uint32_t psn;

    (void)card;
    if (event->type != RNIC_EVENT_PLACED)
        return;
    if (event->value == 4096)
        psn = at->options.psn;
    CHECK_EQ(event->psn.v, psn);
    psn = (psn + 1) & WIRE_PSN_MASK;
}

/* A message of nothing is not there before the data of the one before it: nor is its completion. */
static void an_empty_message_does_not_overtake_data(void)
{
    struct card_options options = card_options_default();

    card_bench_open(&bench, 2, &options);
    rnic_trace_enable(b->dev, 1u << RNIC_EVENT_PLACED);
    card_recv(b, 7, 0, 64);
    card_write(a, 1, 0, 0, 4096);
    card_write(a, 2, 0, 0, 0);
    card_send(a, 3, 0, 0);
    bench.on_event = placed_in_order;
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(b->events[RNIC_EVENT_PLACED], 3);
    for (uint64_t id = 1; id <= 3; id++)
        card_expect(a, a->send_cq, id, RNIC_WC_SUCCESS);
    card_expect(b, b->recv_cq, 7, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

CHECK_SUITE(rc_message, CHECK_CASE(every_verb_at_every_length_and_mtu),
            CHECK_CASE(phantom_memory_travels_the_same_way),
            CHECK_CASE(write_imm_leaves_the_receive_buffer_alone),
            CHECK_CASE(messages_back_to_back_keep_their_lengths),
            CHECK_CASE(lists_are_gathered_and_scattered),
            CHECK_CASE(entries_around_64_kib_are_carried_in_full),
            CHECK_CASE(both_directions_at_once), CHECK_CASE(a_thousand_queue_pairs_all_finish),
            CHECK_CASE(an_empty_message_does_not_overtake_data))
