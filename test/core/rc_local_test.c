/* SPDX-License-Identifier: GPL-2.0-only */
/* Bind and invalidate between packets: when they are carried out, once, and what waits for them. */
#include "card.h"
#include "rnic_internal.h"

#define US 1000000u

static struct card_bench bench;
static struct card *const a = &bench.cards[0];
static uint32_t mw;

static void open_bench(void)
{
    struct card_options options = card_options_ideal();

    options.rd_atomic = 4;
    options.access = CARD_ACCESS_ALL;
    options.delay_ps = US;
    card_bench_open(&bench, 2, &options);
    CARD_OK(a, rnic_alloc_mw(a->dev, a->pd, &mw, 0));
}

/* The window over 64 bytes, with the key mw ^ 1. */
static void post_bind(uint64_t wr_id, unsigned flags)
{
    struct rnic_send_wr wr = {
        .wr_id = wr_id, .opcode = RNIC_WR_BIND_MW, .rkey = mw ^ 1, .send_flags = flags};

    wr.bind_mw.mw = mw;
    wr.bind_mw.mr = a->key;
    wr.bind_mw.addr = CARD_VA;
    wr.bind_mw.length = 64;
    wr.bind_mw.access = RNIC_ACCESS_REMOTE_READ;
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, bench.now_ps), 0);
}

static void post_invalidate(uint64_t wr_id, uint32_t key, unsigned flags)
{
    const struct rnic_send_wr wr = {
        .wr_id = wr_id, .opcode = RNIC_WR_LOCAL_INV, .invalidate_rkey = key, .send_flags = flags};

    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, bench.now_ps), 0);
}

static size_t requests(void)
{
    return card_log_count(&bench, a->station, true);
}

/* A fence holds it up as any request: until the READ before it has its data. */
static void a_fenced_one_waits_for_reads(void)
{
    open_bench();
    card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 3000);
    post_bind(2, RNIC_SEND_FENCE);
    card_write(a, 3, 0, 0, 100);
    card_bench_run(&bench, 2 * US); /* the READ is out, its answers are not here */
    CHECK_EQ(requests(), 1);
    CHECK_EQ(a->dev->mrs.bound, 0);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(a->dev->mrs.bound, 1);
    for (uint64_t i = 1; i <= 3; i++)
        card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

/* Lose the request number scratch[1], counted from the first, once; and the first answer. */
static enum card_tap_verdict drop_one(struct card_bench *on, struct card_flight *flight)
{
    if (flight->from != a)
        return on->scratch[2]++ == 0 && on->scratch[1] != 0 ? CARD_DROP : CARD_PASS;
    return on->scratch[0]++ == on->scratch[1] ? CARD_DROP : CARD_PASS;
}

/* The replay begins before or behind the bind, which carried out again would be refused. */
static void a_replay_does_not_carry_it_out_again(void)
{
    for (uint64_t lost = 0; lost < 3; lost++) {
        open_bench();
        bench.tap = drop_one;
        bench.scratch[1] = lost;
        card_write(a, 1, 0, 0, 100);
        post_bind(2, 0);
        card_write(a, 3, 0, 0, 100);
        card_write(a, 4, 0, 0, 100);
        card_bench_run(&bench, US);
        CHECK_EQ(a->dev->mrs.bound, 1); /* no fence: it waits for nothing */
        card_bench_run(&bench, WIRE_NEVER);
        for (uint64_t i = 1; i <= 4; i++)
            card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
        CHECK_EQ(requests(), 6 - lost);
        CHECK_EQ(a->dev->mrs.bound, 1);
        card_bench_close(&bench);
    }
}

/* One that failed waits for those before it; what is posted meanwhile does not pass. */
static void nothing_passes_one_that_failed(void)
{
    open_bench();
    card_write(a, 1, 0, 0, 100);
    post_invalidate(2, 0xBAD, 0);
    card_bench_run(&bench, US / 2); /* the WRITE is out, its acknowledge is not here */
    CHECK_EQ(requests(), 1);
    post_bind(3, 0);
    card_write(a, 4, 0, 0, 100);
    card_expect_none(a, a->send_cq);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(requests(), 1);
    CHECK_EQ(a->dev->mrs.bound, 0);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_expect(a, a->send_cq, 2, RNIC_WC_LOC_QP_OP_ERR);
    card_expect(a, a->send_cq, 3, RNIC_WC_WR_FLUSH_ERR);
    card_expect(a, a->send_cq, 4, RNIC_WC_WR_FLUSH_ERR);
    card_bench_close(&bench);
}

static enum card_tap_verdict keep_answers(struct card_bench *on, struct card_flight *flight)
{
    if (flight->from == a)
        return CARD_PASS;
    if (on->kept != NULL)
        return CARD_DROP;
    on->kept = flight;
    return CARD_KEEP;
}

/*
 * The answer to a READ comes when it is about to be sent again: the cursor goes past the READ and
 * stands before the bind that was fenced behind it, not behind that.
 */
static void a_late_answer_leaves_the_cursor_before_it(void)
{
    struct card_flight *late;

    open_bench();
    bench.tap = keep_answers;
    card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 100);
    post_bind(2, RNIC_SEND_FENCE);
    card_write(a, 3, 0, 0, 100);
    card_bench_run(&bench, 10 * US);
    CHECK(bench.kept != NULL);
    a->ready_classes = 0;
    card_bench_run(&bench, 100000 * (uint64_t)US); /* the timer runs out */
    CHECK_EQ(card_counters(a, a->qpn).timeouts, 1);
    CHECK_EQ(requests(), 1);
    late = bench.kept;
    bench.kept = NULL;
    bench.tap = NULL;
    card_fly(&bench, late);
    card_bench_run(&bench, bench.now_ps + US);
    CHECK_EQ(a->dev->mrs.bound, 1);
    a->ready_classes = 0xFF;
    card_bench_run(&bench, WIRE_NEVER);
    for (uint64_t i = 1; i <= 3; i++)
        card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
    CHECK_EQ(requests(), 2);
    card_bench_close(&bench);
}

/* Carried out when the card has fetched it: the doorbell, and one fetch. */
static void it_takes_its_fetch(void)
{
    struct card_options options = card_options_ideal();
    uint64_t done_ps;
    struct rnic_wc wc;

    options.access = CARD_ACCESS_ALL;
    options.params.doorbell_latency_ps = 1000;
    options.params.dma_read_latency_ps = 20000;
    card_bench_open(&bench, 2, &options);
    CARD_OK(a, rnic_alloc_mw(a->dev, a->pd, &mw, 0));
    bench.now_ps = US;
    done_ps = bench.now_ps + 1000 + 20000;
    post_bind(1, 0);
    bench.now_ps = done_ps - 1;
    CHECK(!card_poll(a, a->send_cq, &wc));
    bench.now_ps = done_ps;
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

/* What waited is done when it was carried out, not when it was posted. */
static void a_fenced_one_is_done_behind_the_data(void)
{
    struct card_options options = card_options_ideal();

    options.rd_atomic = 4;
    options.access = CARD_ACCESS_ALL;
    options.delay_ps = US;
    options.sig_all = false; /* no completion of the READ holds it up */
    card_bench_open(&bench, 2, &options);
    CARD_OK(a, rnic_alloc_mw(a->dev, a->pd, &mw, 0));
    rnic_trace_enable(a->dev, 1u << RNIC_EVENT_COMPLETION);
    card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 8);
    post_bind(2, RNIC_SEND_FENCE | RNIC_SEND_SIGNALED);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
    CHECK_EQ(a->events[RNIC_EVENT_COMPLETION], 1);
    CHECK(a->last[RNIC_EVENT_COMPLETION].time_ps > 2 * US);
    card_bench_close(&bench);
}

CHECK_SUITE(rc_local, CHECK_CASE(a_fenced_one_is_done_behind_the_data),
            CHECK_CASE(a_fenced_one_waits_for_reads),
            CHECK_CASE(a_replay_does_not_carry_it_out_again),
            CHECK_CASE(nothing_passes_one_that_failed),
            CHECK_CASE(a_late_answer_leaves_the_cursor_before_it), CHECK_CASE(it_takes_its_fetch))
