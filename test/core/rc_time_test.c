/* SPDX-License-Identifier: GPL-2.0-only */
/* What the card costs in time: sums of its parameters, and rates against closed forms. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

/* PCIe time of bytes with the headers of their TLPs. */
static uint64_t pcie_ps(const struct rnic_params *p, uint64_t bytes)
{
    uint64_t tlps =
        bytes == 0 ? 1 : (bytes + p->pcie_max_payload_bytes - 1) / p->pcie_max_payload_bytes;

    return wire_line_time_ps(bytes + tlps * p->pcie_tlp_bytes, p->pcie_bps);
}

static uint64_t line_ps(uint32_t frame_bytes, uint32_t extra)
{
    return wire_line_time_ps(frame_bytes + extra, bench.options.line_bps);
}

static void poll_all(struct card *card, uint32_t cq)
{
    struct rnic_wc wc;

    while (card_poll(card, cq, &wc))
        CHECK_EQ(wc.status, RNIC_WC_SUCCESS);
}

/* The ideal card: a message takes the line's time and nothing else. */
static void the_ideal_card_adds_no_time(void)
{
    struct card_options options = card_options_ideal();
    uint32_t full, last, ack;
    uint64_t end_ps;

    options.delay_ps = 1234567;
    card_bench_open(&bench, 2, &options);
    rnic_trace_enable(b->dev, 1u << RNIC_EVENT_PLACED);
    rnic_trace_enable(a->dev, 1u << RNIC_EVENT_COMPLETION);
    card_write(a, 1, 0, 0, 10 * 1024);
    card_bench_run(&bench, WIRE_NEVER);
    full = wire_frame_length(WIRE_OP_WRITE_MIDDLE, 0, 1024);
    last = wire_frame_length(WIRE_OP_WRITE_LAST, 0, 1024);
    ack = wire_frame_length(WIRE_OP_ACKNOWLEDGE, 0, 0);
    end_ps = line_ps(wire_frame_length(WIRE_OP_WRITE_FIRST, 0, 1024), 20) + 8 * line_ps(full, 20) +
             line_ps(last, 8) + options.delay_ps;
    CHECK_EQ(b->events[RNIC_EVENT_PLACED], 1);
    CHECK_EQ(b->last[RNIC_EVENT_PLACED].time_ps, end_ps);
    CHECK_EQ(b->last[RNIC_EVENT_PLACED].value, 10 * 1024);
    CHECK_EQ(a->last[RNIC_EVENT_COMPLETION].time_ps, end_ps + line_ps(ack, 8) + options.delay_ps);
    card_bench_close(&bench);
}

/* One small WRITE on the default card, all tables warm: the sum of what it passes. */
static void a_small_write_takes_the_sum_of_the_parameters(void)
{
    static const uint32_t sizes[] = {1, 8, 64, 256, 1024, 4096};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct card_options options = card_options_default();
        const struct rnic_params *p = &options.params;
        uint32_t bytes = sizes[i], frame, ack;
        uint64_t start_ps = 100000000, placed_ps, acked_ps;

        options.delay_ps = 50000;
        card_bench_open(&bench, 2, &options);
        rnic_trace_enable(b->dev, 1u << RNIC_EVENT_PLACED);
        rnic_trace_enable(a->dev, 1u << RNIC_EVENT_COMPLETION);
        card_write(a, 1, 0, 0, bytes);
        card_bench_run(&bench, start_ps);
        card_write(a, 2, 0, 0, bytes);
        card_bench_run(&bench, WIRE_NEVER);
        frame = wire_frame_length(WIRE_OP_WRITE_ONLY, 0, bytes);
        ack = wire_frame_length(WIRE_OP_ACKNOWLEDGE, 0, 0);
        placed_ps = start_ps + p->doorbell_latency_ps + /* WQE fetch */ p->dma_read_latency_ps +
                    pcie_ps(p, p->wqe_bytes) + /* payload */ p->dma_read_latency_ps +
                    pcie_ps(p, bytes) + p->tx_latency_ps + line_ps(frame, 8) + options.delay_ps +
                    p->rx_latency_ps + pcie_ps(p, bytes) + p->dma_write_latency_ps;
        acked_ps = placed_ps - pcie_ps(p, bytes) - p->dma_write_latency_ps + p->tx_latency_ps +
                   line_ps(ack, 8) + options.delay_ps + p->rx_latency_ps +
                   /* completion */ pcie_ps(p, p->cqe_bytes) + p->dma_write_latency_ps +
                   p->poll_latency_ps;
        CHECK_EQ(b->events[RNIC_EVENT_PLACED], 2);
        CHECK_EQ(b->last[RNIC_EVENT_PLACED].time_ps, placed_ps);
        CHECK_EQ(a->last[RNIC_EVENT_COMPLETION].time_ps, acked_ps);
        card_bench_close(&bench);
    }
}

/* Its answer costs the far end no completion: the request, the data there, its way, and here. */
static void a_read_or_atomic_takes_the_sum_of_the_parameters(void)
{
    static const uint32_t sizes[] = {0, 1, 64, 256, 1024, 4096}; /* 0: an atomic */

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct card_options options = card_options_default();
        const struct rnic_params *p = &options.params;
        bool reads = sizes[i] != 0;
        uint32_t bytes = reads ? sizes[i] : 8, ask, answer;
        uint64_t start_ps = 100000000, came_ps, left_ps, done_ps;

        options.delay_ps = 50000;
        options.access = CARD_ACCESS_ALL;
        options.rd_atomic = 1;
        card_bench_open(&bench, 2, &options);
        rnic_trace_enable(a->dev, 1u << RNIC_EVENT_COMPLETION);
        for (uint64_t k = 1; k <= 2; k++) { /* the second finds all tables warm */
            card_post(a, reads ? RNIC_WR_RDMA_READ : RNIC_WR_ATOMIC_FETCH_AND_ADD, k, 0, 0, bytes);
            card_bench_run(&bench, k == 1 ? start_ps : WIRE_NEVER);
        }
        ask = wire_frame_length(reads ? WIRE_OP_READ_REQUEST : WIRE_OP_FETCH_ADD, 0, 0);
        answer = wire_frame_length(reads ? WIRE_OP_READ_RESP_ONLY : WIRE_OP_ATOMIC_ACKNOWLEDGE, 0,
                                   reads ? bytes : 0);
        came_ps = start_ps + p->doorbell_latency_ps + /* WQE fetch */ p->dma_read_latency_ps +
                  pcie_ps(p, p->wqe_bytes) + p->tx_latency_ps + line_ps(ask, 8) + options.delay_ps +
                  p->rx_latency_ps;
        left_ps = came_ps + p->dma_read_latency_ps + pcie_ps(p, bytes) + p->tx_latency_ps;
        if (!reads) /* written back before it is answered */
            left_ps += pcie_ps(p, bytes) + p->dma_write_latency_ps;
        done_ps = left_ps + line_ps(answer, 8) + options.delay_ps + p->rx_latency_ps +
                  pcie_ps(p, bytes) + p->dma_write_latency_ps +
                  /* completion */ pcie_ps(p, p->cqe_bytes) + p->dma_write_latency_ps +
                  p->poll_latency_ps;
        CHECK_EQ(card_log_at(&bench, b->station, false, 1)->left_ps, left_ps);
        CHECK_EQ(a->events[RNIC_EVENT_COMPLETION], 2);
        CHECK_EQ(a->last[RNIC_EVENT_COMPLETION].time_ps, done_ps);
        card_bench_close(&bench);
    }
}

/* A page that the far end has to look up: its READ response leaves that much later. */
static void a_read_of_a_cold_page_waits_for_it(void)
{
    uint64_t took_ps[2];

    for (uint32_t cold = 0; cold < 2; cold++) {
        struct card_options options = card_options_default();

        options.params.page_bytes = 4096;
        options.access = CARD_ACCESS_ALL;
        options.rd_atomic = 1;
        card_bench_open(&bench, 2, &options);
        for (uint64_t k = 1; k <= 2; k++) {
            card_post(a, RNIC_WR_RDMA_READ, k, 0, k == 2 && cold ? 8192 : 0, 512);
            card_bench_run(&bench, k == 1 ? 100000000 : WIRE_NEVER);
        }
        took_ps[cold] = card_log_at(&bench, b->station, false, 1)->left_ps;
        card_bench_close(&bench);
    }
    CHECK_EQ(took_ps[1], took_ps[0] + card_options_default().params.cache_miss_ps);
}

/* The first access to anything is a miss of its table: one fetch each, one after the other. */
static void a_cold_card_pays_a_fetch_for_each_table(void)
{
    struct card_options options = card_options_default();
    uint64_t cold_ps, warm_ps;

    card_bench_open(&bench, 2, &options);
    rnic_trace_enable(b->dev, 1u << RNIC_EVENT_PLACED);
    card_write(a, 1, 0, 0, 64);
    card_bench_run(&bench, 100000000);
    cold_ps = b->last[RNIC_EVENT_PLACED].time_ps;
    card_write(a, 2, 0, 0, 64);
    card_bench_run(&bench, WIRE_NEVER);
    warm_ps = b->last[RNIC_EVENT_PLACED].time_ps - 100000000;
    /* queue pair, key, page on either side; the sender's queue pair hides behind nothing */
    CHECK_EQ(cold_ps - warm_ps, 6 * options.params.cache_miss_ps);
    CHECK_EQ(rnic_query_counters(a->dev)->qp_misses, 1);
    CHECK_EQ(rnic_query_counters(a->dev)->mr_misses, 1);
    CHECK_EQ(rnic_query_counters(a->dev)->page_misses, 1);
    CHECK_EQ(rnic_query_counters(b->dev)->qp_misses, 1);
    CHECK_EQ(rnic_query_counters(b->dev)->mr_misses, 1);
    CHECK_EQ(rnic_query_counters(b->dev)->page_misses, 1);
    CHECK(rnic_query_counters(a->dev)->cq_misses == 1);
    card_bench_close(&bench);
}

/* Longest time the line of card 0 was idle between two requests, from entry `from` of the log. */
static uint64_t longest_gap_ps(size_t from, size_t to)
{
    uint64_t longest_ps = 0;

    for (size_t i = from + 1; i < to; i++) {
        const struct card_log_entry *e = card_log_at(&bench, a->station, true, i);
        const struct card_log_entry *before = card_log_at(&bench, a->station, true, i - 1);
        uint64_t gap_ps =
            e->left_ps - before->left_ps - line_ps(before->frame.frame_bytes, WIRE_GAP_BYTES);

        longest_ps = wire_max_ps(longest_ps, gap_ps);
    }
    return longest_ps;
}

/* Prefetch hides all latency: back to back from the first frame to the last. */
static void a_long_write_fills_the_line(void)
{
    static const uint32_t mtus[] = {256, 1024, 4096};

    for (size_t i = 0; i < 3; i++) {
        struct card_options options = card_options_default();
        uint32_t packets = 1 << 20 >> __builtin_ctz(mtus[i]);

        options.mtu_bytes = mtus[i];
        options.params.mtu_bytes = mtus[i];
        card_bench_open(&bench, 2, &options);
        card_write(a, 1, 0, 0, 1 << 20);
        card_bench_run(&bench, WIRE_NEVER);
        CHECK_EQ(card_log_count(&bench, a->station, true), packets);
        CHECK_EQ(longest_gap_ps(packets > 256 ? packets - 256 : 1, packets), 0);
        CHECK(longest_gap_ps(0, packets > 256 ? 256 : packets) <= 20000);
        card_bench_close(&bench);
    }
}

/* With a TX FIFO of k frames the card runs k frames ahead: k frames a round trip of the DMA. */
static void a_shallow_fifo_limits_the_rate(void)
{
    for (uint64_t depth = 1; depth <= 4; depth++) {
        struct card_options options = card_options_default();
        const struct rnic_params *p = &options.params;
        uint64_t round_ps, took_ps;
        size_t n;

        options.params.tx_fifo_frames = depth;
        options.mtu_bytes = 256;
        card_bench_open(&bench, 2, &options);
        card_write(a, 1, 0, 0, 200 * 256);
        card_bench_run(&bench, WIRE_NEVER);
        n = card_log_count(&bench, a->station, true);
        CHECK_EQ(n, 200);
        took_ps = card_log_at(&bench, a->station, true, 180)->left_ps -
                  card_log_at(&bench, a->station, true, 20)->left_ps;
        round_ps = p->dma_read_latency_ps + pcie_ps(p, 256) + p->tx_latency_ps;
        /* a room is free when the frame that had it was pulled */
        CHECK_NEAR((double)took_ps, 160.0 * (double)round_ps / (double)depth,
                   0.05 * (double)took_ps);
        card_bench_close(&bench);
    }
}

/* WQE fetches overlap as far as the TX FIFO reaches: one queue pair alone has the card's rate. */
static void small_messages_of_one_queue_pair_overlap(void)
{
    struct card_options options = card_options_default();
    const struct rnic_params *p = &options.params;
    uint64_t round_ps, took_ps;

    options.depth = 1024;
    options.cqe = 2048;
    card_bench_open(&bench, 2, &options);
    for (uint64_t i = 0; i < 1000; i++)
        card_write(a, i, 0, 0, 64);
    card_bench_run(&bench, WIRE_NEVER);
    round_ps =
        2 * p->dma_read_latency_ps + pcie_ps(p, p->wqe_bytes) + pcie_ps(p, 64) + p->tx_latency_ps;
    took_ps = card_log_at(&bench, a->station, true, 900)->left_ps -
              card_log_at(&bench, a->station, true, 100)->left_ps;
    CHECK_NEAR((double)took_ps, 800.0 * (double)round_ps / (double)p->tx_fifo_frames,
               0.05 * (double)took_ps);
    card_bench_close(&bench);
}

/* A queue pair with small messages, now and then, does not stop a long one of the same class. */
static void small_messages_leave_no_holes_in_a_long_one(void)
{
    struct card_options options = card_options_default();
    uint32_t small, peer;
    uint64_t used_ps = 0, from_ps = 20000000, to_ps;

    options.depth = 1024;
    options.cqe = 65536;
    card_bench_open(&bench, 2, &options);
    small = card_new_qp(a, a->send_cq, a->recv_cq);
    peer = card_new_qp(b, b->send_cq, b->recv_cq);
    card_join(a, small, b, peer);
    for (uint64_t i = 0; i < 100; i++)
        card_write(a, i, 0, 0, 65536);
    for (uint64_t t = 0; t < 300000000; t += 1300000 + t % 7 * 400000) {
        struct rnic_sge sge;
        struct rnic_send_wr wr = card_wr(a, RNIC_WR_RDMA_WRITE, 1000, 0, 0, 8, &sge);

        card_bench_run(&bench, t);
        CHECK_EQ(rnic_post_send(a->dev, small, &wr, t), 0);
    }
    to_ps = bench.now_ps;
    for (size_t i = 0; i < bench.log_n; i++)
        if (bench.log[i].from == a->station && bench.log[i].left_ps >= from_ps)
            used_ps += line_ps(bench.log[i].frame.frame_bytes, WIRE_GAP_BYTES);
    CHECK_NEAR((double)used_ps, (double)(to_ps - from_ps), 0.01 * (double)(to_ps - from_ps));
    card_bench_close(&bench);
}

/* Messages of 64 B on `qps` queue pairs in turn; the time between two of them. */
static double time_per_message_ps(uint32_t qps, uint64_t qp_cache, uint32_t rounds)
{
    struct card_options options = card_options_default();
    uint32_t *qpn = calloc(qps, sizeof *qpn);
    size_t n;
    double per_ps;

    CHECK(qpn != NULL);
    options.params.qp_cache_entries = qp_cache;
    options.depth = 64;
    options.cqe = 65536;
    card_bench_open(&bench, 2, &options);
    for (uint32_t i = 0; i < qps; i++) {
        uint32_t peer = card_new_qp(b, b->send_cq, b->recv_cq);

        qpn[i] = card_new_qp(a, a->send_cq, a->recv_cq);
        card_join(a, qpn[i], b, peer);
    }
    for (uint32_t r = 0; r < rounds; r++)
        for (uint32_t i = 0; i < qps; i++) {
            struct rnic_sge sge;
            struct rnic_send_wr wr = card_wr(a, RNIC_WR_RDMA_WRITE, i, 0, 0, 64, &sge);

            CHECK_EQ(rnic_post_send(a->dev, qpn[i], &wr, 0), 0);
        }
    card_bench_run(&bench, WIRE_NEVER);
    n = card_log_count(&bench, a->station, true);
    CHECK_EQ(n, qps * rounds);
    per_ps = (double)(card_log_at(&bench, a->station, true, n - 1)->left_ps -
                      card_log_at(&bench, a->station, true, n / 2)->left_ps) /
             (double)(n - 1 - n / 2);
    card_bench_close(&bench);
    free(qpn);
    return per_ps;
}

/* More queue pairs than the cache holds, in turn: every one is a miss (Kalia16's cliff). */
static void more_queue_pairs_than_the_cache_holds_are_slow(void)
{
    const struct rnic_params p = rnic_params_default();
    double fits = time_per_message_ps(32, 32, 10), thrash = time_per_message_ps(33, 32, 10);
    double floor = (double)p.cache_miss_ps / (double)p.cache_fetchers;

    CHECK(fits < 0.5 * thrash);
    /* the sender misses each time a message is sent, and each time its ACK comes */
    CHECK(thrash >= 0.9 * floor && thrash <= 2.2 * floor);
}

/* Pages in turn beyond the page cache: every packet waits for a translation. */
static void pages_beyond_the_cache_are_fetched_each_time(void)
{
    struct card_options options = card_options_default();

    options.params.page_bytes = 4096;
    options.params.page_cache_entries = 16;
    options.mtu_bytes = 1024;
    card_bench_open(&bench, 2, &options);
    for (uint64_t round = 0; round < 2; round++)
        for (uint64_t i = 0; i < 32; i++)
            card_write(a, i, 4096 * i, 4096 * i, 1024);
    card_bench_run(&bench, WIRE_NEVER);
    /* CARD_VA is on a page border */
    CHECK_EQ(rnic_query_counters(a->dev)->page_misses, 64);
    CHECK_EQ(rnic_query_counters(b->dev)->page_misses, 64);
    CHECK_EQ(rnic_query_counters(a->dev)->page_hits, 0);
    card_bench_close(&bench);
}

/* Run the same work with and without trace records; the frames and their times are the same. */
static uint64_t hash_of_a_run(uint32_t trace)
{
    struct card_options options = card_options_default();
    uint64_t hash = 14695981039346656037u;

    options.delay_ps = 1000000;
    card_bench_open(&bench, 2, &options);
    rnic_trace_enable(a->dev, trace);
    rnic_trace_enable(b->dev, trace);
    for (uint64_t i = 0; i < 20; i++) {
        card_recv(b, i, 0, 10000);
        card_post(a, (enum rnic_wr_opcode)(i % 4), i, 0, 0, (uint32_t)(500 * i));
        card_bench_run(&bench, bench.now_ps + 700000 * i);
    }
    card_bench_run(&bench, WIRE_NEVER);
    for (size_t i = 0; i < bench.log_n; i++) {
        const struct card_log_entry *e = &bench.log[i];
        const uint64_t words[] = {e->left_ps,           e->from,
                                  e->frame.psn.v,       e->frame.opcode,
                                  e->frame.frame_bytes, e->frame.ip_id};

        for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
            hash = (hash ^ words[w]) * 1099511628211u;
    }
    poll_all(a, a->send_cq);
    poll_all(b, b->recv_cq);
    card_bench_close(&bench);
    return hash;
}

static void trace_records_change_nothing(void)
{
    CHECK_EQ(hash_of_a_run(0), hash_of_a_run(~0u));
}

/* What a job executor lives on is never lost, however small the messages. */
static void no_trace_record_is_lost_at_full_message_rate(void)
{
    struct card_options options = card_options_default();

    options.line_bps = 400000000000;
    options.depth = 4096;
    options.cqe = 8192;
    card_bench_open(&bench, 2, &options);
    rnic_trace_enable(a->dev, 1u << RNIC_EVENT_COMPLETION | 1u << RNIC_EVENT_PLACED);
    rnic_trace_enable(b->dev, 1u << RNIC_EVENT_COMPLETION | 1u << RNIC_EVENT_PLACED);
    for (uint64_t i = 0; i < 4000; i++) {
        card_write(a, i, 0, 0, 1);
        card_write(b, i, 0, 0, 1);
    }
    card_bench_run(&bench, WIRE_NEVER);
    for (struct card *card = a; card <= b; card++) {
        CHECK_EQ(rnic_query_counters(card->dev)->trace_lost, 0);
        CHECK_EQ(card->events[RNIC_EVENT_COMPLETION], 4000);
        CHECK_EQ(card->events[RNIC_EVENT_PLACED], 4000);
    }
    card_bench_close(&bench);
}

CHECK_SUITE(rc_time, CHECK_CASE(the_ideal_card_adds_no_time),
            CHECK_CASE(a_small_write_takes_the_sum_of_the_parameters),
            CHECK_CASE(a_read_or_atomic_takes_the_sum_of_the_parameters),
            CHECK_CASE(a_read_of_a_cold_page_waits_for_it),
            CHECK_CASE(a_cold_card_pays_a_fetch_for_each_table),
            CHECK_CASE(a_long_write_fills_the_line), CHECK_CASE(a_shallow_fifo_limits_the_rate),
            CHECK_CASE(small_messages_of_one_queue_pair_overlap),
            CHECK_CASE(small_messages_leave_no_holes_in_a_long_one),
            CHECK_CASE(more_queue_pairs_than_the_cache_holds_are_slow),
            CHECK_CASE(pages_beyond_the_cache_are_fetched_each_time),
            CHECK_CASE(trace_records_change_nothing),
            CHECK_CASE(no_trace_record_is_lost_at_full_message_rate))
