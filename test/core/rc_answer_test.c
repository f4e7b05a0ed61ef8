/* SPDX-License-Identifier: GPL-2.0-only */
/* Answers to READs, atomics and WRITEs that are rare, or that only a wrong peer gives. */
#include "card.h"

#define US 1000000u

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static struct card_options answer_options(void)
{
    struct card_options options = card_options_ideal();

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = 4;
    return options;
}

static void open_bench(void)
{
    struct card_options options = answer_options();

    card_bench_open(&bench, 2, &options);
    card_fill(a->bytes, a->n_bytes, 1);
    card_fill(b->bytes, b->n_bytes, 2);
    b->ready_classes = 0; /* the test answers */
}

static size_t requests(void)
{
    return card_log_count(&bench, a->station, true);
}

static enum wire_drop give(uint8_t opcode, uint32_t psn, uint8_t syndrome, uint32_t bytes)
{
    struct wire_frame frame = card_ack(a, bench.options.psn + psn, syndrome, 1);

    frame.opcode = opcode;
    frame.payload_bytes = bytes;
    frame.orig = 0x1122334455667788;
    return card_deliver(&bench, a, &frame);
}

/* A READ of one packet has one answer: ONLY. */
static void a_short_read_is_answered_by_only(void)
{
    static const uint8_t opcodes[] = {WIRE_OP_READ_RESP_FIRST, WIRE_OP_READ_RESP_MIDDLE,
                                      WIRE_OP_READ_RESP_LAST, WIRE_OP_READ_RESP_ONLY};

    for (size_t i = 0; i < 4; i++) {
        bool good = opcodes[i] == WIRE_OP_READ_RESP_ONLY;

        open_bench();
        card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 1024);
        card_bench_run(&bench, US);
        CHECK_EQ(give(opcodes[i], 0, 0x1F, 1024), good ? WIRE_DROP_NONE : WIRE_DROP_BAD_RESPONSE);
        card_expect(a, a->send_cq, 1, good ? RNIC_WC_SUCCESS : RNIC_WC_BAD_RESP_ERR);
        card_bench_close(&bench);
    }
}

/* In the middle FIRST and MIDDLE may stand, an end may not. */
static void the_middle_of_a_read_is_no_end(void)
{
    static const uint8_t opcodes[] = {WIRE_OP_READ_RESP_FIRST, WIRE_OP_READ_RESP_MIDDLE,
                                      WIRE_OP_READ_RESP_LAST, WIRE_OP_READ_RESP_ONLY};

    for (size_t i = 0; i < 4; i++) {
        open_bench();
        card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 3 * 1024);
        card_bench_run(&bench, US);
        CHECK_EQ(give(WIRE_OP_READ_RESP_FIRST, 0, 0x1F, 1024), WIRE_DROP_NONE);
        CHECK_EQ(give(opcodes[i], 1, 0x1F, 1024), i < 2 ? WIRE_DROP_NONE : WIRE_DROP_BAD_RESPONSE);
        CHECK_EQ(card_state(a, a->qpn), i < 2 ? RNIC_QPS_RTS : RNIC_QPS_ERR);
        card_bench_close(&bench);
    }
}

/* Data is no answer to an atomic. */
static void an_atomic_is_answered_by_its_acknowledge(void)
{
    static const uint8_t opcodes[] = {WIRE_OP_READ_RESP_ONLY, WIRE_OP_READ_RESP_LAST,
                                      WIRE_OP_READ_RESP_MIDDLE, WIRE_OP_ATOMIC_ACKNOWLEDGE};

    for (size_t i = 0; i < 4; i++) {
        const uint64_t orig = 0x1122334455667788;
        uint8_t before[8];

        open_bench();
        memcpy(before, a->bytes + 64, 8);
        card_post(a, RNIC_WR_ATOMIC_FETCH_AND_ADD, 1, 64, 0, 8);
        card_bench_run(&bench, US);
        CHECK_EQ(give(opcodes[i], 0, 0x1F, i < 3 ? 8 : 0),
                 i < 3 ? WIRE_DROP_BAD_RESPONSE : WIRE_DROP_NONE);
        card_expect(a, a->send_cq, 1, i < 3 ? RNIC_WC_BAD_RESP_ERR : RNIC_WC_SUCCESS);
        CHECK_BYTES(a->bytes + 64, i < 3 ? before : (const uint8_t *)&orig, 8);
        card_bench_close(&bench);
    }
}

/* The value has nowhere to go: our own mistake, and nothing is wrong with the answer. */
static void an_atomic_whose_buffer_may_not_be_written(void)
{
    struct rnic_sge sge;
    struct rnic_send_wr wr;
    uint8_t before[8];
    uint32_t key;

    open_bench();
    memcpy(before, a->bytes, 8);
    CARD_OK(a, rnic_reg_mr(a->dev, a->pd, CARD_VA, 64, a->bytes, 0, &key, 0));
    wr = card_wr(a, RNIC_WR_ATOMIC_CMP_AND_SWP, 1, 0, 0, 8, &sge);
    sge.lkey = key;
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
    card_post(a, RNIC_WR_RDMA_READ, 2, 0, 0, 8);
    card_bench_run(&bench, US);
    CHECK_EQ(give(WIRE_OP_ATOMIC_ACKNOWLEDGE, 0, 0x1F, 0), WIRE_DROP_NONE);
    CHECK_EQ(card_expect(a, a->send_cq, 1, RNIC_WC_LOC_PROT_ERR).vendor_err, 0);
    card_expect(a, a->send_cq, 2, RNIC_WC_WR_FLUSH_ERR);
    CHECK_BYTES(a->bytes, before, 8);
    card_bench_close(&bench);
}

/* A refusal behind a READ without its data: the READ comes first, and the refusal with it again. */
static void a_refusal_behind_a_read_is_put_off(void)
{
    static const uint8_t codes[] = {0x60, 0x61, 0x62, 0x63};

    for (size_t i = 0; i < sizeof codes; i++) {
        open_bench();
        card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 1024);
        card_write(a, 2, 8192, 8192, 100);
        card_bench_run(&bench, US);
        CHECK_EQ(requests(), 2);
        CHECK_EQ(give(WIRE_OP_ACKNOWLEDGE, 1, codes[i], 0), WIRE_DROP_NONE);
        CHECK_EQ(card_counters(a, a->qpn).naks_rx, 1);
        card_expect_none(a, a->send_cq);
        CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_RTS);
        card_bench_run(&bench, 2 * US);
        CHECK_EQ(requests(), 4);
        CHECK_EQ(card_log_at(&bench, a->station, true, 2)->frame.opcode, WIRE_OP_READ_REQUEST);
        CHECK_EQ(give(WIRE_OP_READ_RESP_ONLY, 0, 0x1F, 1024), WIRE_DROP_NONE);
        card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
        if (i > 0) {
            static const enum rnic_wc_status want[] = {RNIC_WC_SUCCESS, RNIC_WC_REM_INV_REQ_ERR,
                                                       RNIC_WC_REM_ACCESS_ERR, RNIC_WC_REM_OP_ERR};

            CHECK_EQ(give(WIRE_OP_ACKNOWLEDGE, 1, codes[i], 0), WIRE_DROP_NONE);
            CHECK_EQ(card_expect(a, a->send_cq, 2, want[i]).vendor_err, codes[i]);
        }
        card_bench_close(&bench);
    }
}

/* A refusal acknowledges what is before it; that overflows the completion queue: one error only. */
static void a_refusal_may_find_the_completion_queue_full(void)
{
    for (int read = 0; read < 2; read++) {
        struct card_options options = answer_options();
        struct rnic_wc wc;

        options.cqe = 1;
        card_bench_open(&bench, 2, &options);
        b->ready_classes = 0;
        card_write(a, 1, 0, 0, 100);
        card_write(a, 2, 0, 0, 100);
        card_post(a, read ? RNIC_WR_RDMA_READ : RNIC_WR_RDMA_WRITE, 3, 0, 0, 100);
        card_write(a, 4, 0, 0, 100);
        card_bench_run(&bench, US);
        if (read)
            CHECK_EQ(give(WIRE_OP_READ_RESP_FIRST, 2, 0x1F, 100), WIRE_DROP_BAD_RESPONSE);
        else
            CHECK_EQ(give(WIRE_OP_ACKNOWLEDGE, 2, 0x62, 0), WIRE_DROP_NONE);
        CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_ERR);
        card_bench_run(&bench, 2 * US);
        card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
        CHECK(!card_poll(a, a->send_cq, &wc));
        CHECK_EQ(a->events[RNIC_EVENT_QP_FATAL], 1);
        CHECK_EQ(a->events[RNIC_EVENT_CQ_ERR], 1);
        card_bench_run(&bench, WIRE_NEVER);
        CHECK_EQ(requests(), 4);
        card_bench_close(&bench);
    }
}

/* With credits: the middle of a READ has no AETH, and tells none. */
static void the_middle_of_a_read_tells_no_credits(void)
{
    struct card_options options = answer_options();

    options.e2e_credits = true;
    options.delay_ps = US;
    card_bench_open(&bench, 2, &options);
    for (uint64_t i = 0; i < 3; i++)
        card_recv(b, i, 0, 100);
    card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 3 * 1024);
    for (uint64_t i = 2; i < 5; i++)
        card_send(a, i, 0, 100);
    card_bench_run(&bench, WIRE_NEVER);
    for (uint64_t i = 1; i < 5; i++)
        card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
    for (uint64_t i = 0; i < 3; i++)
        card_expect(b, b->recv_cq, i, RNIC_WC_SUCCESS);
    CHECK_EQ(requests(), 4);
    card_bench_close(&bench);
}

/* Answers behind a lost one: the first asks for it again, the others are nothing new. */
static void one_gap_is_one_repetition(void)
{
    open_bench();
    card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 4 * 1024);
    card_bench_run(&bench, US);
    CHECK_EQ(give(WIRE_OP_READ_RESP_MIDDLE, 1, 0x1F, 1024), WIRE_DROP_NONE);
    CHECK_EQ(give(WIRE_OP_READ_RESP_MIDDLE, 2, 0x1F, 1024), WIRE_DROP_STALE_ACK);
    CHECK_EQ(give(WIRE_OP_READ_RESP_LAST, 3, 0x1F, 1024), WIRE_DROP_STALE_ACK);
    CHECK_EQ(rnic_query_counters(a->dev)->drops[WIRE_DROP_STALE_ACK], 2);
    card_bench_run(&bench, 2 * US);
    CHECK_EQ(requests(), 2);
    card_bench_close(&bench);
}

/* ---- when a READ is complete ---- */

static uint64_t placed_ps[2], told_ps[2]; /* latest data, completion: of the first two READs */
static uint32_t told;

static void note_times(struct card_bench *on, struct card *card, const struct rnic_event *event)
{
    uint32_t psn = (event->psn.v - on->options.psn) & WIRE_PSN_MASK;

    if (card != a)
        return;
    if (event->type == RNIC_EVENT_COMPLETION && told < 2)
        told_ps[told++] = event->time_ps;
    if (event->type == RNIC_EVENT_PASSAGE && event->block == RNIC_BLOCK_RX_PLACE)
        placed_ps[psn >= 2] = wire_max_ps(placed_ps[psn >= 2], event->time_ps);
}

/*
 * Two READs of two packets; the page of the first packet is not on the card, those of the other
 * three are. A READ is complete when all its data is visible, and does not wait for more.
 */
static void a_read_is_complete_with_its_slowest_packet(void)
{
    struct card_options options = card_options_default();
    const struct rnic_params *p = &options.params;
    uint64_t cqe_ps;

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = 4;
    options.params.page_bytes = 4096;
    options.params.cache_miss_ps = 20 * US;
    card_bench_open(&bench, 2, &options);
    for (uint64_t i = 1; i < 4; i++)
        card_post(a, RNIC_WR_RDMA_READ, i, 4096 * i, 4096 * i, 4096);
    card_post(a, RNIC_WR_RDMA_READ, 9, 65536, 0, 8); /* the peer's page */
    card_bench_run(&bench, WIRE_NEVER);
    bench.now_ps += 100 * US;
    for (uint64_t i = 0; i < 4; i++)
        card_expect(a, a->send_cq, i < 3 ? i + 1 : 9, RNIC_WC_SUCCESS);
    bench.options.psn = (bench.options.psn + 4) & WIRE_PSN_MASK;
    bench.on_event = note_times;
    memset(placed_ps, 0, sizeof placed_ps);
    told = 0;
    rnic_trace_enable(a->dev, 1u << RNIC_EVENT_PASSAGE | 1u << RNIC_EVENT_COMPLETION);
    card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 8192);
    card_post(a, RNIC_WR_RDMA_READ, 2, 8192, 8192, 8192);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(told, 2);
    CHECK(placed_ps[0] > placed_ps[1] + 10 * US);
    cqe_ps = wire_line_time_ps(p->cqe_bytes + p->pcie_tlp_bytes, p->pcie_bps) +
             p->dma_write_latency_ps + p->poll_latency_ps;
    CHECK_EQ(told_ps[0], placed_ps[0] + cqe_ps);
    CHECK_EQ(told_ps[1], told_ps[0]); /* in order; its own data was there long before */
    card_bench_close(&bench);
}

CHECK_SUITE(rc_answer, CHECK_CASE(a_short_read_is_answered_by_only),
            CHECK_CASE(the_middle_of_a_read_is_no_end),
            CHECK_CASE(an_atomic_is_answered_by_its_acknowledge),
            CHECK_CASE(an_atomic_whose_buffer_may_not_be_written),
            CHECK_CASE(a_refusal_behind_a_read_is_put_off),
            CHECK_CASE(a_refusal_may_find_the_completion_queue_full),
            CHECK_CASE(the_middle_of_a_read_tells_no_credits),
            CHECK_CASE(one_gap_is_one_repetition),
            CHECK_CASE(a_read_is_complete_with_its_slowest_packet))
