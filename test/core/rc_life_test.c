/* SPDX-License-Identifier: GPL-2.0-only */
/* Queue pairs that are reset, destroyed and made again while their frames are on the way. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static void open_bench(bool default_card)
{
    struct card_options options = default_card ? card_options_default() : card_options_ideal();

    options.mtu_bytes = 1024;
    options.delay_ps = 3000000;
    card_bench_open(&bench, 2, &options);
    card_fill(a->bytes, a->n_bytes, 1);
}

static void to_reset(struct card *card, uint32_t qpn)
{
    struct rnic_qp_attr attr = {.qp_state = RNIC_QPS_RESET};

    CHECK_EQ(rnic_modify_qp(card->dev, qpn, &attr, RNIC_QP_STATE, bench.now_ps), 0);
}

/* RESET forgets everything, without completions; the late acknowledges find nobody. */
static void reset_with_frames_in_flight(void)
{
    for (uint64_t at = 0; at < 12000000; at += 400000) {
        struct rnic_qp_counters counters;

        open_bench(at % 800000 == 0);
        card_recv(a, 1, 0, 100);
        for (uint64_t i = 0; i < 10; i++)
            card_write(a, i, 0, 0, 5000);
        card_bench_run(&bench, at);
        to_reset(a, a->qpn);
        CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_RESET);
        card_expect_none(a, a->send_cq);
        card_bench_run(&bench, WIRE_NEVER);
        card_expect_none(a, a->send_cq);
        card_expect_none(a, a->recv_cq);
        counters = card_counters(a, a->qpn);
        CHECK_EQ(counters.tx_packets, 0);
        /* and it works again, from both sides */
        to_reset(b, b->qpn);
        bench.options.psn = 500;
        card_join(a, a->qpn, b, b->qpn);
        memset(b->bytes, 0, b->n_bytes);
        for (uint64_t i = 0; i < 64; i++)
            card_write(a, 100 + i, 64 * i, 64 * i, 64);
        card_bench_run(&bench, WIRE_NEVER);
        for (uint64_t i = 0; i < 64; i++)
            card_expect(a, a->send_cq, 100 + i, RNIC_WC_SUCCESS);
        CHECK_BYTES(b->bytes, a->bytes, 4096);
        card_bench_close(&bench);
    }
}

/* A local error is forgotten too: the queue pair sends again after its reset. */
static void reset_after_a_local_error(void)
{
    struct rnic_sge sge;
    struct rnic_send_wr wr;

    open_bench(false);
    wr = card_wr(a, RNIC_WR_SEND, 1, 0, 0, 100, &sge);
    sge.lkey = 0xBAD;
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_LOC_PROT_ERR);
    to_reset(a, a->qpn);
    to_reset(b, b->qpn);
    card_join(a, a->qpn, b, b->qpn);
    card_write(a, 2, 0, 0, 100);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

static void destroy_with_frames_in_flight(void)
{
    for (uint64_t at = 0; at < 12000000; at += 400000) {
        uint32_t old, fresh, peer;
        struct rnic_wc wc;

        open_bench(at % 800000 == 0);
        old = a->qpn;
        for (uint64_t i = 0; i < 10; i++)
            card_write(a, i, 0, 0, 5000);
        card_bench_run(&bench, at);
        CHECK_EQ(rnic_destroy_qp(a->dev, old, bench.now_ps), 0);
        CHECK_EQ(rnic_query_qp(a->dev, old, NULL, NULL), RNIC_ERR_NOENT);
        fresh = card_new_qp(a, a->send_cq, a->recv_cq);
        CHECK(fresh != old); /* late frames do not find a new one under the old number */
        peer = card_new_qp(b, b->send_cq, b->recv_cq);
        card_join(a, fresh, b, peer);
        card_bench_run(&bench, WIRE_NEVER);
        CHECK(!card_poll(a, a->send_cq, &wc));
        a->qpn = fresh;
        card_write(a, 77, 0, 0, 5000);
        card_bench_run(&bench, WIRE_NEVER);
        card_expect(a, a->send_cq, 77, RNIC_WC_SUCCESS);
        card_bench_close(&bench);
    }
}

/* The responder goes: requests are dropped, the requester gives up by its timer. */
static void destroy_of_the_responder(void)
{
    open_bench(false);
    for (uint64_t i = 0; i < 3; i++)
        card_write(a, i, 0, 0, 100000);
    card_bench_run(&bench, 8000000);
    CHECK_EQ(rnic_destroy_qp(b->dev, b->qpn, bench.now_ps), 0);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 0, RNIC_WC_RETRY_EXC_ERR);
    card_expect(a, a->send_cq, 1, RNIC_WC_WR_FLUSH_ERR);
    card_expect(a, a->send_cq, 2, RNIC_WC_WR_FLUSH_ERR);
    CHECK(rnic_query_counters(b->dev)->drops[WIRE_DROP_QPN] > 0);
    card_bench_close(&bench);
}

/* To ERR in mid-transfer: each work request ends once, whatever arrives later. */
static void error_with_frames_in_flight(void)
{
    struct rnic_qp_attr attr = {.qp_state = RNIC_QPS_ERR};

    for (uint64_t at = 0; at < 12000000; at += 300000) {
        uint64_t next = 0;
        struct rnic_wc wc;

        open_bench(at % 600000 == 0);
        for (uint64_t i = 0; i < 10; i++)
            card_write(a, i, 0, 0, 5000);
        card_bench_run(&bench, at);
        CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_STATE, at), 0);
        card_bench_run(&bench, WIRE_NEVER);
        while (card_poll(a, a->send_cq, &wc)) {
            CHECK_EQ(wc.wr_id, next);
            CHECK(wc.status == RNIC_WC_SUCCESS || wc.status == RNIC_WC_WR_FLUSH_ERR);
            next++;
        }
        CHECK_EQ(next, 10);
        CHECK_EQ(rnic_frames_held(a->dev), 0);
        card_bench_close(&bench);
    }
}

/* Nothing of an old request is left in a slot that is used again. */
static void a_slot_used_again_has_no_old_flags(void)
{
    struct rnic_sge sge;
    struct rnic_send_wr wr;

    open_bench(false);
    for (uint64_t i = 0; i < 64; i++)
        card_recv(b, i, 0, 100);
    for (uint64_t i = 0; i < 64; i++) {
        wr = card_wr(a, RNIC_WR_SEND_WITH_IMM, i, 0, 0, 100, &sge);
        wr.send_flags = RNIC_SEND_SOLICITED | RNIC_SEND_SIGNALED;
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, bench.now_ps), 0);
    }
    card_bench_run(&bench, WIRE_NEVER);
    for (uint64_t i = 0; i < 64; i++)
        card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
    bench.log_n = 0;
    for (uint64_t i = 0; i < 64; i++) {
        card_recv(b, i, 0, 100);
        wr = card_wr(a, RNIC_WR_SEND, i, 0, 0, 10, &sge);
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, bench.now_ps), 0);
    }
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(card_log_count(&bench, a->station, true), 64);
    for (size_t i = 0; i < 64; i++) {
        const struct wire_frame *frame = &card_log_at(&bench, a->station, true, i)->frame;

        CHECK_EQ(frame->opcode, WIRE_OP_SEND_ONLY);
        CHECK_EQ(frame->payload_bytes, 10);
        CHECK(!(frame->bth_flags & WIRE_BTH_SE));
    }
    card_bench_close(&bench);
}

/* Objects that come and go again do not eat memory. */
static void memory_comes_back(void)
{
    uint32_t blocks = 0;

    open_bench(true);
    for (uint32_t round = 0; round < 300; round++) {
        uint32_t pd, cq, key, qpn;

        CARD_OK(a, rnic_alloc_pd(a->dev, &pd, 0));
        CARD_OK(a, rnic_create_cq(a->dev, 100, &cq, 0));
        CARD_OK(a, rnic_reg_mr(a->dev, pd, 0, 1 << 30, NULL, 0, &key, 0));
        qpn = card_new_qp(a, cq, cq);
        CHECK_EQ(rnic_destroy_qp(a->dev, qpn, 0), 0);
        CHECK_EQ(rnic_dereg_mr(a->dev, key, 0), 0);
        CHECK_EQ(rnic_destroy_cq(a->dev, cq, 0), 0);
        CHECK_EQ(rnic_dealloc_pd(a->dev, pd, 0), 0);
        if (round == 10)
            blocks = a->n_blocks;
    }
    CHECK_EQ(a->n_blocks, blocks);
    card_bench_close(&bench);
}

/* Its last response is built and waits on the card: it leaves, and nobody misses the owner. */
static void destroy_while_a_response_is_held(void)
{
    struct card_options options = card_options_default();

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = 4;
    card_bench_open(&bench, 2, &options);
    card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 100);
    while (rnic_frames_held(b->dev) == 0)
        card_bench_run(&bench, bench.now_ps + 10000);
    CHECK_EQ(rnic_destroy_qp(b->dev, b->qpn, bench.now_ps), 0);
    card_bench_run(&bench, bench.now_ps + 10000000);
    CHECK_EQ(rnic_frames_held(b->dev), 0);
    CHECK_EQ(card_log_count(&bench, b->station, false), 1);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

/* The answer to the READ with this PSN, counted from the first, as card 1 would send it. */
static void answer_read(uint8_t opcode, uint32_t psn, uint32_t bytes)
{
    struct wire_frame frame = card_ack(a, bench.options.psn + psn, 0x1F, 1);

    frame.opcode = opcode;
    frame.payload_bytes = bytes;
    CHECK_EQ(card_deliver(&bench, a, &frame), WIRE_DROP_NONE);
}

/* The data of a READ is there when it is placed: on a card that takes no time, at time 0. */
static void a_read_is_done_when_its_data_is_there(void)
{
    struct card_options options = card_options_ideal();

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = 1;
    card_bench_open(&bench, 2, &options);
    b->ready_classes = 0;
    card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 8);
    card_bench_run(&bench, 0);
    answer_read(WIRE_OP_READ_RESP_ONLY, 0, 8);
    CHECK_EQ(bench.now_ps, 0);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

/* A READ that was half there when its queue pair was reset holds up none of the next life. */
static void a_reset_forgets_the_data_of_half_a_read(void)
{
    struct card_options options = card_options_ideal();
    struct rnic_qp_attr attr = {.qp_state = RNIC_QPS_RESET};

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = 1;
    options.params.page_bytes = 4096;
    options.params.page_cache_entries = 64;
    options.params.cache_miss_ps = 100000000;
    card_bench_open(&bench, 2, &options);
    card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 8); /* its page is on the card from now on */
    card_bench_run(&bench, 1000000000);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    b->ready_classes = 0;
    card_post(a, RNIC_WR_RDMA_READ, 2, 8192, 0, 2048); /* this page is not */
    card_bench_run(&bench, bench.now_ps + 1000000);
    answer_read(WIRE_OP_READ_RESP_FIRST, 1, 1024); /* in memory in 100 us */
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_STATE, bench.now_ps), 0);
    attr = card_attr(a, b, b->qpn);
    card_to_state(a, a->qpn, &attr, RNIC_QPS_RTS);
    card_post(a, RNIC_WR_RDMA_READ, 3, 0, 0, 8);
    card_bench_run(&bench, bench.now_ps + 1000000);
    answer_read(WIRE_OP_READ_RESP_ONLY, 0, 8);
    card_expect(a, a->send_cq, 3, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

CHECK_SUITE(rc_life, CHECK_CASE(reset_with_frames_in_flight), CHECK_CASE(reset_after_a_local_error),
            CHECK_CASE(destroy_with_frames_in_flight), CHECK_CASE(destroy_of_the_responder),
            CHECK_CASE(error_with_frames_in_flight), CHECK_CASE(a_slot_used_again_has_no_old_flags),
            CHECK_CASE(memory_comes_back), CHECK_CASE(destroy_while_a_response_is_held),
            CHECK_CASE(a_read_is_done_when_its_data_is_there),
            CHECK_CASE(a_reset_forgets_the_data_of_half_a_read))
