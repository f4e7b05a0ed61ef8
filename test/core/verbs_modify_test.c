/* SPDX-License-Identifier: GPL-2.0-only */
/* What a legal modify does: what is made of the attributes, and that SQD holds requests up. */
#include "card.h"
#include "rnic_complete.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static struct rnic_qp *qp_of(uint32_t qpn)
{
    return rnic_table_qp_find(&a->dev->qps, qpn);
}

static void open_bench(void)
{
    struct card_options options = card_options_ideal();

    options.rd_atomic = 4;
    options.access = CARD_ACCESS_ALL;
    card_bench_open(&bench, 2, &options);
}

static int modify(enum rnic_qp_state state, struct rnic_qp_attr attr, unsigned mask)
{
    attr.qp_state = state;
    return rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_STATE | mask, bench.now_ps);
}

static void attributes_come_to_the_blocks(void)
{
    struct card_options options = card_options_ideal();
    struct rnic_qp *qp;

    options.rd_atomic = 5;
    options.e2e_credits = true;
    options.params.connect_ps = 4711;
    card_bench_open(&bench, 2, &options);
    qp = qp_of(a->qpn);
    CHECK_EQ(qp->dest_qpn, b->qpn);
    CHECK_EQ(qp->path.dest_station, b->station);
    CHECK_EQ(qp->mtu_bytes, 1024);
    CHECK_EQ(qp->mtu_shift, 10);
    CHECK_EQ(qp->max_rd_atomic, 5);
    CHECK_EQ(qp->respond.depth, 5);
    CHECK_EQ(qp->open_ps, 4711);
    CHECK_EQ(qp->ssn_post, 1);
    CHECK_EQ(qp->ssn_limit, 0);
    CHECK(qp->checks_credits && qp->has_rules);
    CHECK_EQ(qp->replay.psn_next.v, options.psn);
    CHECK_EQ(qp->psn_post.v, options.psn);
    CHECK_EQ(qp->request.prio, rnic_path_prio(qp->path.tos));
    CHECK_EQ(qp->response.prio, rnic_path_prio(qp->path.tos));
    CHECK(qp->request.qp == qp && qp->response.qp == qp);
    CHECK_EQ(qp->request.kind, RNIC_FLOW_REQUEST);
    CHECK_EQ(qp->response.kind, RNIC_FLOW_RESPONSE);
    card_bench_close(&bench);
}

/* PSNs in flight: the device's limit or the window, at least one. */
static void the_window_in_packets(void)
{
    static const struct {
        uint32_t window_bytes;
        uint64_t device;
        enum rnic_qp_type type;
        uint32_t want;
    } cases[] = {
        {0, 100, RNIC_QPT_RC, 100},   {1, 100, RNIC_QPT_RC, 1},
        {1023, 100, RNIC_QPT_RC, 1},  {2048, 100, RNIC_QPT_RC, 2},
        {3071, 100, RNIC_QPT_RC, 2},  {1 << 20, 100, RNIC_QPT_RC, 100},
        {1 << 20, 1, RNIC_QPT_RC, 1}, {1024, 100, RNIC_QPT_UC, 100},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct card_options options = card_options_ideal();

        options.window_bytes = cases[i].window_bytes;
        options.type = cases[i].type;
        options.params.max_in_flight = cases[i].device;
        card_bench_open(&bench, 2, &options);
        CHECK_EQ(qp_of(a->qpn)->max_in_flight, cases[i].want);
        card_bench_close(&bench);
    }
}

/* Selective repeat has its own memory from RTR to RESET, and its own timeouts. */
static void selective_repeat_is_set_up(void)
{
    struct card_options options = card_options_ideal();
    struct rnic_qp *qp;

    options.recovery = RNIC_RECOVER_SELECTIVE;
    options.window_bytes = 100 * 1024;
    card_bench_open(&bench, 2, &options);
    qp = qp_of(a->qpn);
    CHECK(qp->replay.selective);
    CHECK_EQ(qp->replay.timeout_ps, options.params.rto_high_ps);
    CHECK_EQ(qp->replay.low_timeout_ps, options.params.rto_low_ps);
    CHECK(qp->sack.bits != NULL && qp->sack.mask >= 99);
    CHECK_EQ(qp->sack.newest.v, options.psn);
    CHECK(qp->held_requests.mask >= 99 && qp->held_responses.mask >= 99);
    CHECK_EQ(qp->held_requests.mtu_bytes, 1024);
    CHECK_EQ(modify(RNIC_QPS_RESET, (struct rnic_qp_attr){0}, 0), 0);
    CHECK(qp->sack.bits == NULL);
    CHECK_EQ(qp->held_requests.block_bytes + qp->held_responses.block_bytes, 0);
    card_bench_close(&bench);
}

/* Whichever piece finds no memory: nothing is kept, also not for another path MTU. */
static void selective_repeat_without_memory(void)
{
    static uint8_t arena[1 << 19] __attribute__((aligned(64)));
    struct card_options options = card_options_ideal();
    struct rnic_qp_attr attr;
    uint32_t refused = 0;
    struct rnic_qp *qp;

    options.recovery = RNIC_RECOVER_SELECTIVE;
    options.window_bytes = 16 * 1024;
    options.rd_atomic = 16;
    card_bench_open(&bench, 2, &options);
    qp = qp_of(a->qpn);
    attr = card_attr(a, b, b->qpn);
    CHECK_EQ(modify(RNIC_QPS_RESET, attr, 0), 0);
    card_to_state(a, a->qpn, &attr, RNIC_QPS_INIT);
    for (size_t bytes = 0;; bytes += 1024) {
        int err;

        CHECK(bytes <= sizeof arena);
        attr.path_mtu_bytes = bytes & 1024 ? 1024 : 256;
        a->dev->mem = (struct rnic_mem){0};
        rnic_mem_add(&a->dev->mem, arena, bytes);
        err = modify(RNIC_QPS_RTR, attr,
                     RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN |
                         RNIC_QP_MAX_DEST_RD_ATOMIC | RNIC_QP_MIN_RNR_TIMER);
        if (err == 0)
            break;
        CHECK_EQ(err, RNIC_ERR_NOMEM);
        CHECK_EQ(qp->state, RNIC_QPS_INIT);
        CHECK(qp->sack.bits == NULL && qp->respond.ring == NULL);
        CHECK_EQ(qp->held_requests.block_bytes + qp->held_responses.block_bytes, 0);
        refused++;
    }
    CHECK(refused > 10);
    CHECK_EQ(qp->held_responses.mtu_bytes, attr.path_mtu_bytes);
    card_bench_close(&bench);
}

/* Again and again from RESET to RTS: the arena is not used up. */
static void reset_gives_memory_back(void)
{
    struct card_options options = card_options_ideal();
    struct rnic_qp_attr attr;

    options.recovery = RNIC_RECOVER_SELECTIVE;
    options.window_bytes = 100 * 1024;
    options.rd_atomic = 16;
    card_bench_open(&bench, 2, &options);
    attr = card_attr(a, b, b->qpn);
    for (uint32_t i = 0; i < 50; i++) {
        uint32_t blocks = a->n_blocks;

        CHECK_EQ(modify(RNIC_QPS_RESET, attr, 0), 0);
        CHECK_EQ(qp_of(a->qpn)->respond.depth, 0);
        card_to_state(a, a->qpn, &attr, RNIC_QPS_RTS);
        CHECK_EQ(a->n_blocks, blocks);
    }
    card_bench_close(&bench);
}

/* RESET: nothing of the life before is left. */
static void reset_forgets_everything(void)
{
    struct rnic_qp_attr attr = {.rate_limit_bps = 1000000, .qp_access_flags = 0};
    struct rnic_qp *qp;

    open_bench();
    CHECK_EQ(modify(RNIC_QPS_RTS, attr, RNIC_QP_RATE_LIMIT), 0);
    card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 5000);
    card_write(a, 2, 0, 0, 5000);
    card_bench_run(&bench, 100);
    CHECK_EQ(modify(RNIC_QPS_RESET, attr, 0), 0);
    qp = qp_of(a->qpn);
    CHECK_EQ(qp->sq_una, qp->sq.head);
    CHECK_EQ(qp->sq_cur, qp->sq.head);
    CHECK_EQ(qp->sq_end, qp->sq.head);
    CHECK_EQ(qp->sq.tail, qp->sq.head);
    CHECK_EQ(qp->rate_limit_bps + qp->rate_next_ps + qp->open_ps + qp->ssn_post, 0);
    CHECK_EQ(qp->replay.reads, 0);
    CHECK(!qp->has_rules && !qp->sq_failed);
    CHECK_EQ(qp->request.place, RNIC_FLOW_NOWHERE);
    CHECK_EQ(qp->response.place, RNIC_FLOW_NOWHERE);
    CHECK(qp->respond.ring == NULL);
    CHECK_EQ(qp->access, 0);
    CHECK_EQ(qp->resp.psn.v + qp->resp.msn, 0);
    CHECK_EQ(rnic_query_qp(a->dev, a->qpn, &attr, NULL), 0);
    CHECK_EQ(attr.path_mtu_bytes + attr.dest_qp_num + attr.port_num + attr.rate_limit_bps, 0);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect_none(a, a->send_cq);
    card_bench_close(&bench);
}

/* READ responses are paced from RTR on: the rate begins at the line's, and a CNP lowers it. */
static void the_rate_begins_in_rtr(void)
{
    struct card_options options = card_options_ideal();
    struct rnic_qp_attr attr;
    struct wire_frame cnp;
    uint64_t rate_bps;
    double alpha;

    options.cc = &rnic_cc_dcqcn;
    options.rd_atomic = 4;
    options.access = CARD_ACCESS_ALL;
    card_bench_open(&bench, 2, &options);
    attr = card_attr(a, b, b->qpn);
    cnp = card_ack(a, 0, 0, 0);
    cnp.opcode = WIRE_OP_CNP;
    CHECK_EQ(card_deliver(&bench, a, &cnp), WIRE_DROP_NONE);
    CHECK_EQ(modify(RNIC_QPS_RESET, attr, 0), 0); /* forgets it */
    CHECK_EQ(rnic_query_rate(a->dev, a->qpn, &rate_bps, &alpha, 0), RNIC_ERR_INVAL);
    card_to_state(a, a->qpn, &attr, RNIC_QPS_RTR);
    CHECK_EQ(rnic_query_rate(a->dev, a->qpn, &rate_bps, &alpha, 0), 0);
    CHECK_EQ(rate_bps, options.line_bps);
    card_post(b, RNIC_WR_RDMA_READ, 1, 0, 0, 50000);
    card_bench_run(&bench, 20000000);
    card_expect(b, b->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_EQ(card_deliver(&bench, a, &cnp), WIRE_DROP_NONE);
    CHECK_EQ(rnic_query_rate(a->dev, a->qpn, &rate_bps, &alpha, bench.now_ps), 0);
    CHECK(rate_bps > 0 && rate_bps < options.line_bps);
    attr.qp_state = RNIC_QPS_RTS; /* and RTS does not forget it */
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr,
                            RNIC_QP_STATE | RNIC_QP_SQ_PSN | RNIC_QP_MAX_QP_RD_ATOMIC |
                                RNIC_QP_RETRY_CNT | RNIC_QP_RNR_RETRY | RNIC_QP_TIMEOUT,
                            bench.now_ps),
             0);
    CHECK_EQ(rnic_query_rate(a->dev, a->qpn, &rate_bps, &alpha, bench.now_ps), 0);
    CHECK(rate_bps < options.line_bps);
    card_bench_close(&bench);
}

/* ---- RTS to RTS ---- */

static void access_timer_and_rate_change_in_rts(void)
{
    struct rnic_qp *qp;

    open_bench();
    qp = qp_of(a->qpn);
    CHECK_EQ(modify(RNIC_QPS_RTS,
                    (struct rnic_qp_attr){.min_rnr_timer = 7,
                                          .qp_access_flags = RNIC_ACCESS_REMOTE_READ,
                                          .rate_limit_bps = 5000},
                    RNIC_QP_MIN_RNR_TIMER | RNIC_QP_ACCESS_FLAGS),
             0);
    CHECK_EQ(qp->min_rnr_timer, 7);
    CHECK_EQ(qp->access, RNIC_ACCESS_REMOTE_READ);
    CHECK_EQ(qp->rate_limit_bps, 0); /* not in the mask */
    CHECK_EQ(
        modify(RNIC_QPS_RTS, (struct rnic_qp_attr){.rate_limit_bps = 5000}, RNIC_QP_RATE_LIMIT), 0);
    CHECK_EQ(qp->rate_limit_bps, 5000);
    CHECK_EQ(qp->min_rnr_timer, 7);
    card_bench_close(&bench);
}

/* A limit that is lifted holds up nothing any more, also what waits for its time. */
static void a_lifted_rate_limit_lets_the_next_packet_go(void)
{
    open_bench();
    CHECK_EQ(
        modify(RNIC_QPS_RTS, (struct rnic_qp_attr){.rate_limit_bps = 10000}, RNIC_QP_RATE_LIMIT),
        0);
    card_write(a, 1, 0, 0, 4096); /* about a second a packet */
    card_bench_run(&bench, 1000000);
    CHECK_EQ(card_log_count(&bench, a->station, true), 1);
    CHECK_EQ(modify(RNIC_QPS_RTS, (struct rnic_qp_attr){0}, RNIC_QP_RATE_LIMIT), 0);
    card_bench_run(&bench, 10000000);
    CHECK_EQ(card_log_count(&bench, a->station, true), 4);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

/* ---- SQD ---- */

static enum card_tap_verdict keep_answers(struct card_bench *on, struct card_flight *flight)
{
    (void)on;
    return wire_opcodes[flight->frame.opcode].is & WIRE_IS_REQUEST ? CARD_PASS : CARD_DROP;
}

/* What was started is finished, what was not waits, also what is posted now; then it goes on. */
static void what_was_started_is_finished(void)
{
    open_bench();
    card_write(a, 1, 0, 0, 4096);
    card_write(a, 2, 0, 0, 1024);
    card_bench_run(&bench, 100000); /* the first packets are out */
    CHECK(card_log_count(&bench, a->station, true) >= 1);
    CHECK(card_log_count(&bench, a->station, true) < 4);
    CHECK_EQ(modify(RNIC_QPS_SQD, (struct rnic_qp_attr){.en_sqd_async_notify = true},
                    RNIC_QP_EN_SQD_ASYNC_NOTIFY),
             0);
    CHECK_EQ(a->events[RNIC_EVENT_SQ_DRAINED], 0);
    card_write(a, 3, 0, 0, 1024);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_expect_none(a, a->send_cq);
    CHECK_EQ(card_log_count(&bench, a->station, true), 4);
    CHECK_EQ(a->events[RNIC_EVENT_SQ_DRAINED], 1);
    CHECK_EQ(a->last[RNIC_EVENT_SQ_DRAINED].qpn, a->qpn);
    CHECK_EQ(modify(RNIC_QPS_RTS, (struct rnic_qp_attr){0}, 0), 0);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
    card_expect(a, a->send_cq, 3, RNIC_WC_SUCCESS);
    CHECK_EQ(a->events[RNIC_EVENT_SQ_DRAINED], 1);
    card_bench_close(&bench);
}

/* Nothing outstanding: drained at once; each entry into SQD tells once, and only when asked. */
static void drained_is_told_once_an_entry(void)
{
    const struct rnic_qp_attr ask = {.en_sqd_async_notify = true}, ask_not = {0};

    open_bench();
    for (uint32_t i = 1; i <= 3; i++) {
        CHECK_EQ(modify(RNIC_QPS_SQD, ask, RNIC_QP_EN_SQD_ASYNC_NOTIFY), 0);
        card_bench_run(&bench, WIRE_NEVER);
        CHECK_EQ(a->events[RNIC_EVENT_SQ_DRAINED], i);
        CHECK_EQ(modify(RNIC_QPS_SQD, (struct rnic_qp_attr){.timeout = 9}, RNIC_QP_TIMEOUT), 0);
        rnic_complete_sends(a->dev, qp_of(a->qpn), bench.now_ps); /* as a late acknowledge would */
        card_bench_run(&bench, WIRE_NEVER);
        CHECK_EQ(a->events[RNIC_EVENT_SQ_DRAINED], i);
        CHECK_EQ(modify(RNIC_QPS_RTS, ask, 0), 0);
    }
    CHECK_EQ(modify(RNIC_QPS_SQD, ask, 0), 0); /* was asked before, is not now */
    CHECK_EQ(modify(RNIC_QPS_RTS, ask, 0), 0);
    CHECK_EQ(modify(RNIC_QPS_SQD, ask_not, RNIC_QP_EN_SQD_ASYNC_NOTIFY), 0);
    CHECK_EQ(modify(RNIC_QPS_RTS, ask, 0), 0);
    CHECK_EQ(modify(RNIC_QPS_SQD, ask, 0), 0); /* not in the mask */
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(a->events[RNIC_EVENT_SQ_DRAINED], 3);
    card_bench_close(&bench);
}

/* Nothing was started: the queue pair leaves the line, and nothing leaves the card. */
static void what_was_not_started_leaves_the_line(void)
{
    open_bench();
    a->ready_classes = 0;
    card_write(a, 1, 0, 0, 1024);
    CHECK(rnic_tx_next(a->dev, 0xFF) != WIRE_NEVER);
    CHECK_EQ(modify(RNIC_QPS_SQD, (struct rnic_qp_attr){0}, 0), 0);
    CHECK_EQ(qp_of(a->qpn)->request.place, RNIC_FLOW_NOWHERE);
    CHECK_EQ(rnic_tx_next(a->dev, 0xFF), WIRE_NEVER);
    a->ready_classes = 0xFF;
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(bench.log_n, 0);
    CHECK_EQ(modify(RNIC_QPS_RTS, (struct rnic_qp_attr){0}, 0), 0);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

/* A replay has put the cursor back: what was sent before is started all the same. */
static void a_replay_in_sqd_goes_on(void)
{
    struct wire_frame nak;

    open_bench();
    for (uint64_t i = 0; i < 3; i++)
        card_write(a, i, 0, 0, 1024);
    bench.tap = keep_answers;
    card_bench_run(&bench, 1000000); /* all are out, none is acknowledged */
    CHECK_EQ(card_log_count(&bench, a->station, true), 3);
    a->ready_classes = 0;
    nak = card_ack(a, bench.options.psn + 1, 0x60, 0); /* back to the second */
    CHECK_EQ(card_deliver(&bench, a, &nak), WIRE_DROP_NONE);
    card_write(a, 3, 0, 0, 1024);
    CHECK_EQ(modify(RNIC_QPS_SQD, (struct rnic_qp_attr){.en_sqd_async_notify = true},
                    RNIC_QP_EN_SQD_ASYNC_NOTIFY),
             0);
    CHECK_EQ(qp_of(a->qpn)->sq_end, 3);
    a->ready_classes = 0xFF;
    bench.tap = NULL;
    card_bench_run(&bench, WIRE_NEVER);
    for (uint64_t i = 0; i < 3; i++)
        card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
    card_expect_none(a, a->send_cq);
    CHECK_EQ(a->events[RNIC_EVENT_SQ_DRAINED], 1);
    card_bench_close(&bench);
}

/* The new address is in the next packets; retry timer and counters are the new ones. */
static void attributes_change_in_sqd(void)
{
    struct rnic_qp_attr attr;
    struct rnic_qp *qp;
    const struct wire_frame *frame;

    open_bench();
    qp = qp_of(a->qpn);
    card_write(a, 1, 0, 0, 10 * 1024);
    card_bench_run(&bench, 200000);
    CHECK_EQ(modify(RNIC_QPS_SQD, (struct rnic_qp_attr){0}, 0), 0);
    attr = card_attr(a, b, b->qpn);
    attr.av.traffic_class = 0x50;
    attr.av.hop_limit = 33;
    attr.timeout = 5;
    attr.retry_cnt = 2;
    attr.rnr_retry = 3;
    attr.max_rd_atomic = 2;
    CHECK_EQ(modify(RNIC_QPS_SQD, attr,
                    RNIC_QP_AV | RNIC_QP_TIMEOUT | RNIC_QP_RETRY_CNT | RNIC_QP_RNR_RETRY |
                        RNIC_QP_MAX_QP_RD_ATOMIC),
             0);
    CHECK_EQ(qp->replay.timeout_ps, 4096000u << 5);
    CHECK_EQ(qp->replay.deadline_ps, bench.now_ps + (4096000u << 5));
    CHECK_EQ(qp->replay.retry_left, 2);
    CHECK_EQ(qp->replay.rnr_left, 3);
    CHECK_EQ(qp->max_rd_atomic, 2);
    CHECK_EQ(qp->request.prio, 2);
    CHECK(qp->request.place == RNIC_FLOW_IN_HEAP || a->dev->sched.first[2] == &qp->request);
    CHECK(a->dev->sched.first[3] == NULL || !(a->dev->sched.fifo_classes & 1u << 3));
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    frame = &card_log_at(&bench, a->station, true, 9)->frame;
    CHECK_EQ(frame->ttl, 33);
    CHECK_EQ(frame->prio, 2);
    CHECK_EQ(card_log_at(&bench, a->station, true, 0)->frame.ttl, 64);
    CHECK_EQ(card_log_count(&bench, a->station, true), 10);
    card_bench_close(&bench);
}

/* Another depth of responder resources: the newest answers are still remembered. */
static void remembered_answers_move_to_a_new_depth(void)
{
    static const uint8_t depths[] = {2, 3, 4, 9, 0};

    for (size_t d = 0; d < sizeof depths; d++) {
        struct rnic_qp_attr attr = {.max_dest_rd_atomic = depths[d]};
        struct rnic_rx_respond *respond;

        open_bench();
        for (uint64_t i = 0; i < 6; i++)
            card_post(b, RNIC_WR_RDMA_READ, i, 0, 0, 8);
        card_bench_run(&bench, WIRE_NEVER);
        respond = &qp_of(a->qpn)->respond;
        CHECK_EQ(modify(RNIC_QPS_SQD, attr, 0), 0);
        CARD_OK(a, modify(RNIC_QPS_SQD, attr, RNIC_QP_MAX_DEST_RD_ATOMIC));
        CHECK_EQ(respond->depth, depths[d]);
        for (uint32_t k = 0; k < 6; k++) /* of 4 remembered */
            CHECK_EQ(rnic_rx_respond_find(respond,
                                          wire_psn_add((wire_psn){bench.options.psn}, k)) != NULL,
                     k >= 2 && 6 - k <= depths[d]);
        card_bench_close(&bench);
    }
}

/* Answers still to be sent hold the change up; nothing has changed then. */
static void a_new_depth_waits_for_pending_answers(void)
{
    struct rnic_qp_attr attr = {.max_dest_rd_atomic = 2}, got;

    open_bench();
    a->ready_classes = 0;
    card_post(b, RNIC_WR_RDMA_READ, 1, 0, 0, 8);
    card_bench_run(&bench, 1000000);
    CHECK_EQ(qp_of(a->qpn)->respond.pending, 1);
    CHECK_EQ(modify(RNIC_QPS_SQD, attr, 0), 0);
    CHECK_EQ(modify(RNIC_QPS_SQD, attr, RNIC_QP_MAX_DEST_RD_ATOMIC), RNIC_ERR_BUSY);
    CHECK_EQ(rnic_query_qp(a->dev, a->qpn, &got, NULL), 0);
    CHECK_EQ(got.max_dest_rd_atomic, 4);
    CHECK_EQ(qp_of(a->qpn)->respond.depth, 4);
    a->ready_classes = 0xFF;
    card_bench_run(&bench, WIRE_NEVER);
    CARD_OK(a, modify(RNIC_QPS_SQD, attr, RNIC_QP_MAX_DEST_RD_ATOMIC));
    card_expect(b, b->send_cq, 1, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

CHECK_SUITE(verbs_modify, CHECK_CASE(attributes_come_to_the_blocks),
            CHECK_CASE(the_window_in_packets), CHECK_CASE(selective_repeat_is_set_up),
            CHECK_CASE(selective_repeat_without_memory), CHECK_CASE(reset_gives_memory_back),
            CHECK_CASE(reset_forgets_everything), CHECK_CASE(the_rate_begins_in_rtr),
            CHECK_CASE(access_timer_and_rate_change_in_rts),
            CHECK_CASE(a_lifted_rate_limit_lets_the_next_packet_go),
            CHECK_CASE(what_was_started_is_finished), CHECK_CASE(drained_is_told_once_an_entry),
            CHECK_CASE(what_was_not_started_leaves_the_line), CHECK_CASE(a_replay_in_sqd_goes_on),
            CHECK_CASE(attributes_change_in_sqd),
            CHECK_CASE(remembered_answers_move_to_a_new_depth),
            CHECK_CASE(a_new_depth_waits_for_pending_answers))
