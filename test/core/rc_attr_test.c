/* SPDX-License-Identifier: GPL-2.0-only */
/* What modify_qp sets: query_qp tells it, packets bear it, counters count it. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

#define US 1000000u
#define INTERVAL_PS (50 * US)

/* Every attribute differs from its neighbour and from zero. */
static const struct rnic_qp_attr wanted = {
    .qp_access_flags = RNIC_ACCESS_REMOTE_WRITE,
    .port_num = 1,
    .av = {.dest_station = 1, .next_hop = 2, .traffic_class = 26 << 2, .hop_limit = 33},
    .path_mtu_bytes = 2048,
    .dest_qp_num = 0x123,
    .rq_psn = {0xABC},
    .sq_psn = {0xDEF},
    .timeout = 17,
    .retry_cnt = 6,
    .rnr_retry = 5,
    .min_rnr_timer = 13,
    .max_rd_atomic = 2,
    .max_dest_rd_atomic = 3,
    .rate_limit_bps = 5000000000,
    .en_sqd_async_notify = 1,
};

/* No attribute of it may be used. */
static const struct rnic_qp_attr garbage = {
    .qp_access_flags = 0xFFFF,
    .pkey_index = 9,
    .port_num = 9,
    .av = {.dest_station = UINT32_MAX, .next_hop = UINT32_MAX},
    .path_mtu_bytes = 77,
    .dest_qp_num = UINT32_MAX,
    .rq_psn = {UINT32_MAX},
    .sq_psn = {UINT32_MAX},
    .timeout = 99,
    .retry_cnt = 99,
    .rnr_retry = 99,
    .min_rnr_timer = 99,
    .max_rd_atomic = 99,
    .max_dest_rd_atomic = 99,
    .rate_limit_bps = 99,
    .en_sqd_async_notify = 99,
    .qkey = 99,
};

static void take_named(struct rnic_qp_attr *to, const struct rnic_qp_attr *from, unsigned mask)
{
    if (mask & RNIC_QP_ACCESS_FLAGS)
        to->qp_access_flags = from->qp_access_flags;
    if (mask & RNIC_QP_PKEY_INDEX)
        to->pkey_index = from->pkey_index;
    if (mask & RNIC_QP_PORT)
        to->port_num = from->port_num;
    if (mask & RNIC_QP_AV)
        to->av = from->av;
    if (mask & RNIC_QP_PATH_MTU)
        to->path_mtu_bytes = from->path_mtu_bytes;
    if (mask & RNIC_QP_DEST_QPN)
        to->dest_qp_num = from->dest_qp_num;
    if (mask & RNIC_QP_RQ_PSN)
        to->rq_psn = from->rq_psn;
    if (mask & RNIC_QP_SQ_PSN)
        to->sq_psn = from->sq_psn;
    if (mask & RNIC_QP_TIMEOUT)
        to->timeout = from->timeout;
    if (mask & RNIC_QP_RETRY_CNT)
        to->retry_cnt = from->retry_cnt;
    if (mask & RNIC_QP_RNR_RETRY)
        to->rnr_retry = from->rnr_retry;
    if (mask & RNIC_QP_MIN_RNR_TIMER)
        to->min_rnr_timer = from->min_rnr_timer;
    if (mask & RNIC_QP_MAX_QP_RD_ATOMIC)
        to->max_rd_atomic = from->max_rd_atomic;
    if (mask & RNIC_QP_MAX_DEST_RD_ATOMIC)
        to->max_dest_rd_atomic = from->max_dest_rd_atomic;
    if (mask & RNIC_QP_RATE_LIMIT)
        to->rate_limit_bps = from->rate_limit_bps;
    if (mask & RNIC_QP_EN_SQD_ASYNC_NOTIFY)
        to->en_sqd_async_notify = from->en_sqd_async_notify;
}

static void want_attr(uint32_t qpn, const struct rnic_qp_attr *want)
{
    struct rnic_qp_attr got;

    CHECK_EQ(rnic_query_qp(a->dev, qpn, &got, NULL), 0);
    CHECK_EQ(got.qp_state, want->qp_state);
    CHECK_EQ(got.qp_access_flags, want->qp_access_flags);
    CHECK_EQ(got.pkey_index, want->pkey_index);
    CHECK_EQ(got.port_num, want->port_num);
    CHECK_EQ(got.av.dest_station, want->av.dest_station);
    CHECK_EQ(got.av.next_hop, want->av.next_hop);
    CHECK_EQ(got.av.traffic_class, want->av.traffic_class);
    CHECK_EQ(got.av.hop_limit, want->av.hop_limit);
    CHECK_EQ(got.path_mtu_bytes, want->path_mtu_bytes);
    CHECK_EQ(got.dest_qp_num, want->dest_qp_num);
    CHECK_EQ(got.rq_psn.v, want->rq_psn.v);
    CHECK_EQ(got.sq_psn.v, want->sq_psn.v);
    CHECK_EQ(got.timeout, want->timeout);
    CHECK_EQ(got.retry_cnt, want->retry_cnt);
    CHECK_EQ(got.rnr_retry, want->rnr_retry);
    CHECK_EQ(got.min_rnr_timer, want->min_rnr_timer);
    CHECK_EQ(got.max_rd_atomic, want->max_rd_atomic);
    CHECK_EQ(got.max_dest_rd_atomic, want->max_dest_rd_atomic);
    CHECK_EQ(got.rate_limit_bps, want->rate_limit_bps);
    CHECK_EQ(got.en_sqd_async_notify, want->en_sqd_async_notify);
    CHECK_EQ(got.qkey, want->qkey);
}

/* At each step the attributes that the mask names, and no other. */
static void query_tells_what_was_set(void)
{
    static const struct {
        enum rnic_qp_state state;
        unsigned mask;
    } steps[] = {
        {RNIC_QPS_INIT, RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_ACCESS_FLAGS},
        {RNIC_QPS_INIT, RNIC_QP_PKEY_INDEX},
        {RNIC_QPS_INIT, RNIC_QP_PORT},
        {RNIC_QPS_INIT, RNIC_QP_ACCESS_FLAGS},
        {RNIC_QPS_RTR, RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN |
                           RNIC_QP_MAX_DEST_RD_ATOMIC | RNIC_QP_MIN_RNR_TIMER},
        {RNIC_QPS_RTS, RNIC_QP_SQ_PSN | RNIC_QP_MAX_QP_RD_ATOMIC | RNIC_QP_RETRY_CNT |
                           RNIC_QP_RNR_RETRY | RNIC_QP_TIMEOUT},
        {RNIC_QPS_RTS, RNIC_QP_RATE_LIMIT},
        {RNIC_QPS_RTS, RNIC_QP_MIN_RNR_TIMER},
        {RNIC_QPS_SQD, RNIC_QP_EN_SQD_ASYNC_NOTIFY},
        {RNIC_QPS_SQD, RNIC_QP_AV},
        {RNIC_QPS_SQD, RNIC_QP_PORT},
        {RNIC_QPS_SQD, RNIC_QP_PKEY_INDEX},
        {RNIC_QPS_SQD, RNIC_QP_TIMEOUT},
        {RNIC_QPS_SQD, RNIC_QP_RETRY_CNT},
        {RNIC_QPS_SQD, RNIC_QP_RNR_RETRY},
        {RNIC_QPS_SQD, RNIC_QP_MIN_RNR_TIMER},
        {RNIC_QPS_SQD, RNIC_QP_MAX_QP_RD_ATOMIC},
        {RNIC_QPS_SQD, RNIC_QP_MAX_DEST_RD_ATOMIC},
        {RNIC_QPS_SQD, RNIC_QP_ACCESS_FLAGS},
    };
    struct card_options options = card_options_ideal();
    struct rnic_qp_attr want = {.qp_state = RNIC_QPS_RESET};
    uint32_t qpn;

    card_bench_open(&bench, 2, &options);
    qpn = card_new_qp(a, a->send_cq, a->recv_cq);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct rnic_qp_attr attr = garbage;

        take_named(&attr, &wanted, steps[i].mask);
        take_named(&want, &wanted, steps[i].mask);
        attr.qp_state = want.qp_state = steps[i].state;
        CHECK_EQ(rnic_modify_qp(a->dev, qpn, &attr, steps[i].mask | RNIC_QP_STATE, 0), 0);
        want_attr(qpn, &want);
    }
    card_bench_close(&bench);
}

/* Join the first pair anew with other address vectors. */
static void join_with(const struct rnic_av *av_a, const struct rnic_av *av_b)
{
    struct rnic_qp_attr attr_a, attr_b;

    a->qpn = card_new_qp(a, a->send_cq, a->recv_cq);
    b->qpn = card_new_qp(b, b->send_cq, b->recv_cq);
    attr_a = card_attr(a, b, b->qpn);
    attr_b = card_attr(b, a, a->qpn);
    attr_a.av = *av_a;
    attr_b.av = *av_b;
    card_to_state(a, a->qpn, &attr_a, RNIC_QPS_RTS);
    card_to_state(b, b->qpn, &attr_b, RNIC_QPS_RTS);
}

static void packets_bear_the_address_vector(void)
{
    for (int v6 = 0; v6 < 2; v6++) {
        struct card_options options = card_options_ideal();
        struct rnic_av av_a = {.traffic_class = 26 << 2 | 3, /* the ECN bits are the card's */
                               .hop_limit = 33,
                               .ipv6 = v6,
                               .udp_sport = 0xD123};
        struct rnic_av av_b = {.traffic_class = 48 << 2 | 1, .hop_limit = 7, .ipv6 = v6};
        const struct wire_frame *request, *answer;

        card_bench_open(&bench, 2, &options);
        av_a.dest_station = av_a.next_hop = b->station;
        av_b.dest_station = av_b.next_hop = a->station;
        join_with(&av_a, &av_b);
        card_write(a, 1, 0, 0, 100);
        card_bench_run(&bench, WIRE_NEVER);
        card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
        request = &card_log_at(&bench, a->station, true, 0)->frame;
        answer = &card_log_at(&bench, b->station, false, 0)->frame;
        CHECK_EQ(request->flags & WIRE_FRAME_IPV6, v6 ? WIRE_FRAME_IPV6 : 0);
        CHECK_EQ(request->udp_sport, 0xD123);
        CHECK_EQ(request->ttl, 33);
        CHECK_EQ(request->tos, 26 << 2 | WIRE_ECN_ECT0);
        CHECK_EQ(request->prio, 3);
        CHECK_EQ(answer->flags & WIRE_FRAME_IPV6, v6 ? WIRE_FRAME_IPV6 : 0);
        CHECK(answer->udp_sport >= 0xC000);
        CHECK(answer->udp_sport != 0xD123);
        CHECK_EQ(answer->ttl, 7);
        CHECK_EQ(answer->tos >> 2, 48);
        card_bench_close(&bench);
    }
}

static void marked(uint32_t psn)
{
    struct wire_frame frame = card_ack(b, psn, 0, 0);

    frame.opcode = WIRE_OP_WRITE_ONLY;
    frame.tos = WIRE_ECN_CE;
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
}

static size_t cnps(uint64_t *last_ps)
{
    size_t n = 0;

    for (size_t i = 0; i < bench.log_n; i++)
        if (bench.log[i].frame.opcode == WIRE_OP_CNP) {
            *last_ps = bench.log[i].left_ps;
            n++;
        }
    return n;
}

/* A queue pair that is reset in its CNP window begins its next life without one. */
static void reset_ends_the_window(void)
{
    struct card_options options = card_options_ideal();
    struct rnic_qp_attr reset = {.qp_state = RNIC_QPS_RESET}, again;
    uint64_t at_ps, last_ps = 0;

    options.params.cnp_interval_ps = INTERVAL_PS;
    card_bench_open(&bench, 2, &options);
    again = card_attr(b, a, a->qpn);
    marked(options.psn);
    card_bench_run(&bench, bench.now_ps + US);
    CHECK_EQ(cnps(&last_ps), 1);
    marked(options.psn + 1);
    CHECK_EQ(rnic_modify_qp(b->dev, b->qpn, &reset, RNIC_QP_STATE, bench.now_ps), 0);
    card_to_state(b, b->qpn, &again, RNIC_QPS_RTS);
    at_ps = bench.now_ps;
    marked(options.psn);
    card_bench_run(&bench, bench.now_ps + US);
    CHECK_EQ(cnps(&last_ps), 2); /* at once */
    marked(options.psn + 1);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(cnps(&last_ps), 3); /* at the end of the new window */
    CHECK_EQ(last_ps, at_ps + INTERVAL_PS);
    card_bench_close(&bench);
}

static void a_cnp_takes_its_time(void)
{
    struct card_options options = card_options_ideal();
    uint64_t at_ps, last_ps = 0;

    options.params.rx_latency_ps = US;
    options.params.cnp_latency_ps = 3 * US;
    options.params.tx_latency_ps = 10 * US;
    card_bench_open(&bench, 2, &options);
    card_bench_run(&bench, US);
    at_ps = bench.now_ps;
    marked(options.psn);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(cnps(&last_ps), 1);
    CHECK_EQ(last_ps, at_ps + 14 * US);
    card_bench_close(&bench);
}

static enum card_tap_verdict mark_the_first(struct card_bench *on, struct card_flight *flight)
{
    if (flight->from == a && on->scratch[0]++ == 0)
        flight->frame.tos |= WIRE_ECN_CE;
    return CARD_PASS;
}

static void counters_of_the_card(void)
{
    struct card_options options = card_options_ideal();
    const struct rnic_counters *at_a, *at_b;
    uint32_t qpn_a, qpn_b;

    options.params.qp_cache_entries = options.params.mr_cache_entries = 1;
    options.params.page_cache_entries = options.params.cq_cache_entries = 1;
    card_bench_open(&bench, 2, &options);
    qpn_a = card_new_qp(a, a->send_cq, a->recv_cq); /* more objects than the caches hold */
    qpn_b = card_new_qp(b, b->send_cq, b->recv_cq);
    card_join(a, qpn_a, b, qpn_b);
    bench.tap = mark_the_first;
    card_write(a, 1, 0, 0, 20000);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    at_a = rnic_query_counters(a->dev);
    CHECK_EQ(at_a->cnps_rx, 1);
    CHECK_EQ(at_a->cnps_tx, 0);
    CHECK(at_a->qp_hits > 0 && at_a->qp_misses > 0);
    CHECK(at_a->mr_hits > 0 && at_a->mr_misses > 0);
    CHECK(at_a->page_hits > 0 && at_a->page_misses > 0);
    CHECK(at_a->cq_misses > 0);
    at_b = rnic_query_counters(b->dev);
    CHECK_EQ(at_b->cnps_tx, 1);
    CHECK_EQ(at_b->cnps_rx, 0);
    CHECK_EQ(at_b->ce_rx, 1);
    CHECK(at_b->qp_hits > 0);
    card_bench_close(&bench);
}

CHECK_SUITE(rc_attr, CHECK_CASE(query_tells_what_was_set),
            CHECK_CASE(packets_bear_the_address_vector), CHECK_CASE(reset_ends_the_window),
            CHECK_CASE(a_cnp_takes_its_time), CHECK_CASE(counters_of_the_card))
