/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The card against a model with one event per stage, over random traffic. The card may differ where
 * it takes a short cut (a booking comes when the frame is pulled, for a time before); the error is
 * printed.
 */
#include "card.h"
#include "staged_reference.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];
static struct staged_message reference[STAGED_MESSAGES], card[STAGED_MESSAGES];
static uint32_t qpn[2][STAGED_QPS], placed[STAGED_QPS], acked[STAGED_QPS];
static uint32_t of_qp[STAGED_QPS][STAGED_MESSAGES];

static void on_event(struct card_bench *on, struct card *who, const struct rnic_event *event)
{
    (void)on;
    for (uint32_t q = 0; q < STAGED_QPS; q++) {
        if (who == b && event->type == RNIC_EVENT_PLACED && event->qpn == qpn[1][q])
            card[of_qp[q][placed[q]++]].placed_ps = event->time_ps;
        if (who == a && event->type == RNIC_EVENT_COMPLETION && event->qpn == qpn[0][q])
            card[of_qp[q][acked[q]++]].acked_ps =
                event->time_ps - bench.options.params.poll_latency_ps;
    }
}

static void run_card(const struct card_options *options, uint32_t n, uint32_t qps)
{
    uint32_t count[STAGED_QPS] = {0};
    struct rnic_wc wc;

    card_bench_open(&bench, 2, options);
    bench.on_event = on_event;
    rnic_trace_enable(a->dev, 1u << RNIC_EVENT_COMPLETION);
    rnic_trace_enable(b->dev, 1u << RNIC_EVENT_PLACED);
    for (uint32_t q = 0; q < STAGED_QPS; q++) {
        qpn[0][q] = q < qps ? card_new_qp(a, a->send_cq, a->recv_cq) : 0;
        qpn[1][q] = q < qps ? card_new_qp(b, b->send_cq, b->recv_cq) : 0;
        if (q < qps)
            card_join(a, qpn[0][q], b, qpn[1][q]);
        placed[q] = acked[q] = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct rnic_sge sge;
        struct rnic_send_wr wr = card_wr(a, RNIC_WR_RDMA_WRITE, i, 0, 0, card[i].bytes, &sge);

        of_qp[card[i].qp][count[card[i].qp]++] = i;
        card_bench_run(&bench, card[i].post_ps);
        CHECK_EQ(rnic_post_send(a->dev, qpn[0][card[i].qp], &wr, card[i].post_ps), 0);
        while (card_poll(a, a->send_cq, &wc))
            CHECK_EQ(wc.status, RNIC_WC_SUCCESS);
    }
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(rnic_query_counters(a->dev)->trace_lost + rnic_query_counters(b->dev)->trace_lost, 0);
    CHECK_EQ(rnic_query_counters(a->dev)->timeouts, 0);
    card_bench_close(&bench);
}

struct load {
    const char *name;
    uint32_t qps, bytes_max;
    double load;      /* share of the line */
    double mean, end; /* bounds of the error: mean of the latencies, end of the run */
};

static double distance(uint64_t x, uint64_t y)
{
    return x > y ? (double)(x - y) : (double)(y - x);
}

static void check_load(const struct load *load, uint64_t seed)
{
    struct card_options options = card_options_default();
    struct wire_rng rng = wire_rng_init(seed, 0);
    const uint32_t n = 1500;
    double sum_error = 0, sum_latency = 0, worst = 0;
    uint64_t t_ps = 1000000, end[2] = {0};

    options.params.qp_cache_entries = options.params.mr_cache_entries = 0;
    options.params.page_cache_entries = options.params.cq_cache_entries = 0;
    options.mtu_bytes = 1024;
    options.params.mtu_bytes = 1024;
    options.depth = 2048;
    options.cqe = 8192;
    options.delay_ps = 1000000;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t bytes = 1 + (uint32_t)(wire_rng_next(&rng) % load->bytes_max);
        double mean_ps =
            (double)wire_line_time_ps(load->bytes_max / 2 + 86, options.line_bps) / load->load;

        t_ps += (uint64_t)(wire_rng_uniform(&rng) * 2 * mean_ps);
        card[i] = (struct staged_message){
            .qp = (uint32_t)(wire_rng_next(&rng) % load->qps), .bytes = bytes, .post_ps = t_ps};
        reference[i] = card[i];
    }
    run_card(&options, n, load->qps);
    staged_run(&options.params, options.mtu_bytes, options.line_bps, options.delay_ps, reference,
               n);
    for (uint32_t i = 0; i < n; i++) {
        double error = distance(card[i].placed_ps, reference[i].placed_ps) +
                       distance(card[i].acked_ps, reference[i].acked_ps);

        CHECK(card[i].placed_ps > 0 && card[i].acked_ps > 0);
        sum_error += error / 2;
        sum_latency += (double)(reference[i].placed_ps - reference[i].post_ps);
        worst = error / 2 > worst ? error / 2 : worst;
        end[0] = wire_max_ps(end[0], card[i].placed_ps);
        end[1] = wire_max_ps(end[1], reference[i].placed_ps);
    }
    printf("%-24s seed %" PRIu64 ": latency %.0f ns, error mean %.2f ns (%.3f %%), worst %.0f ns, "
           "end %.4f %%\n",
           load->name, seed, sum_latency / n / 1000, sum_error / n / 1000,
           100 * sum_error / sum_latency, worst / 1000,
           100 * distance(end[0], end[1]) / (double)end[1]);
    CHECK(sum_error / sum_latency <= load->mean);
    CHECK(distance(end[0], end[1]) / (double)end[1] <= load->end);
}

static const struct load loads[] = {
    {"alone", 1, 64, 0.01, 0.0001, 0.0005},
    {"one queue pair, small", 1, 256, 0.5, 0.002, 0.0005},
    {"one queue pair, large", 1, 16384, 0.8, 0.005, 0.0005},
    {"eight, small", 8, 256, 0.5, 0.005, 0.0005},
    {"eight, medium", 8, 4096, 0.7, 0.03, 0.0005},
    {"sixteen, large", 16, 32768, 0.9, 0.03, 0.0005},
    {"sixteen, overload", 16, 8192, 2.0, 0.01, 0.0005},
};

static void the_short_cuts_cost_little(void)
{
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++)
        for (uint64_t seed = 1; seed <= 2; seed++)
            check_load(&loads[i], seed);
}

CHECK_SUITE(staged, CHECK_CASE(the_short_cuts_cost_little))
