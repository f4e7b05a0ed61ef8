/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What goes wrong on a reliable connection, and who is told what: NAK, completions on both sides,
 * event, state. Each row is provoked; what was seen is printed, and doc/verbs/polling.rst has the
 * same rows (test/analysis/verbs_doc_test.py compares). And what the header of the verbs says that
 * no other test does.
 */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

enum { UNCHANGED = -1 };

/* One thing that goes wrong, and what is to be seen of it. */
struct row {
    const char *what;
    enum rnic_wr_opcode opcode;
    void (*prepare)(struct rnic_send_wr *wr, struct rnic_sge *sge);
    void (*spoil)(struct wire_frame *frame); /* the first frame of `spoils` */
    bool spoils_answer;
    int nak;    /* first syndrome of the responder that is no acknowledge; -1: none */
    int sender; /* completion of the request */
    int recv;   /* of the receive request that was posted; -1: none, it waits */
    int event;  /* of the responder; -1: none */
    enum rnic_qp_state sender_state, recv_state;
};

/* ---- what is done before ---- */

static void receive(struct rnic_send_wr *wr, struct rnic_sge *sge)
{
    (void)wr, (void)sge;
    card_recv(b, 9, 0, 64);
}

static void long_send(struct rnic_send_wr *wr, struct rnic_sge *sge)
{
    receive(wr, sge);
    sge->length = 65;
}

static void foreign_receive(struct rnic_send_wr *wr, struct rnic_sge *sge)
{
    const struct rnic_sge bad = {.addr = CARD_VA, .length = 64, .lkey = b->key ^ 1};
    const struct rnic_recv_wr recv = {.wr_id = 9, .sg_list = &bad, .num_sge = 1};

    (void)wr, (void)sge;
    CHECK_EQ(rnic_post_recv(b->dev, b->qpn, &recv, bench.now_ps), 0);
}

static void no_window(struct rnic_send_wr *wr, struct rnic_sge *sge)
{
    receive(wr, sge);
    wr->invalidate_rkey = b->key;
}

static void set(struct card *card, enum rnic_qp_state state, struct rnic_qp_attr attr,
                unsigned mask)
{
    attr.qp_state = state;
    CARD_OK(card, rnic_modify_qp(card->dev, card->qpn, &attr, RNIC_QP_STATE | mask, bench.now_ps));
}

static void forbidden(struct rnic_send_wr *wr, struct rnic_sge *sge)
{
    (void)wr, (void)sge;
    set(b, RNIC_QPS_RTS, (struct rnic_qp_attr){.qp_access_flags = 0}, RNIC_QP_ACCESS_FLAGS);
}

static void no_resource(struct rnic_send_wr *wr, struct rnic_sge *sge)
{
    (void)wr, (void)sge;
    set(b, RNIC_QPS_SQD, (struct rnic_qp_attr){0}, 0);
    set(b, RNIC_QPS_SQD, (struct rnic_qp_attr){.max_dest_rd_atomic = 0},
        RNIC_QP_MAX_DEST_RD_ATOMIC);
    set(b, RNIC_QPS_RTS, (struct rnic_qp_attr){0}, 0);
}

static void bad_rkey(struct rnic_send_wr *wr, struct rnic_sge *sge)
{
    (void)sge;
    wr->rkey ^= 1;
}

static void bad_lkey(struct rnic_send_wr *wr, struct rnic_sge *sge)
{
    (void)wr;
    sge->lkey ^= 1;
}

/* The responder's receive completions have no room: one is there already. */
static void full_queue(struct rnic_send_wr *wr, struct rnic_sge *sge)
{
    (void)sge;
    for (uint32_t i = 0; i < bench.options.cqe; i++) {
        card_recv(b, i, 0, 64);
        card_send(a, i, 0, 8);
        card_bench_run(&bench, WIRE_NEVER);
        card_expect(a, a->send_cq, i, RNIC_WC_SUCCESS);
    }
    receive(wr, NULL);
}

static void bind_nothing(struct rnic_send_wr *wr, struct rnic_sge *sge)
{
    (void)sge;
    CARD_OK(a, rnic_alloc_mw(a->dev, a->pd, &wr->bind_mw.mw, bench.now_ps));
    wr->rkey = wr->bind_mw.mw;
    wr->bind_mw.mr = a->key ^ 1;
    wr->bind_mw.length = 8;
}

static void invalidate_nothing(struct rnic_send_wr *wr, struct rnic_sge *sge)
{
    (void)sge;
    wr->invalidate_rkey = a->key;
}

/* ---- what is done on the wire: true, this frame is spoiled ---- */

static void lose(struct wire_frame *frame)
{
    frame->flags |= WIRE_FRAME_CORRUPT;
}

static void out_of_sequence(struct wire_frame *frame)
{
    frame->opcode = WIRE_OP_WRITE_MIDDLE;
}

static void not_offered(struct wire_frame *frame)
{
    frame->opcode = WIRE_OP_FLUSH;
}

static void misaligned(struct wire_frame *frame)
{
    frame->va |= 1;
}

static void other_length(struct wire_frame *frame)
{
    frame->dma_bytes++;
}

static void shorter(struct wire_frame *frame)
{
    frame->payload_bytes--;
}

static const struct row *spoiling;

static enum card_tap_verdict spoil_one(struct card_bench *on, struct card_flight *flight)
{
    bool answer = flight->from == b;

    if (spoiling->spoil == lose && spoiling->sender == RNIC_WC_RETRY_EXC_ERR)
        return answer ? CARD_PASS : CARD_DROP;
    if (on->scratch[0] == 0 && answer == spoiling->spoils_answer && spoiling->spoil != NULL) {
        spoiling->spoil(&flight->frame);
        on->scratch[0] = 1;
    }
    return CARD_PASS;
}

/* ---- the rows ---- */

#define BOTH RNIC_QPS_ERR, RNIC_QPS_ERR

static const struct row rows[] = {
    {"a packet is lost", RNIC_WR_RDMA_WRITE, NULL, lose, false, 0x60, RNIC_WC_SUCCESS, UNCHANGED,
     UNCHANGED, RNIC_QPS_RTS, RNIC_QPS_RTS},
    {"no receive request", RNIC_WR_SEND, NULL, NULL, false, 0x20 | 12, RNIC_WC_RNR_RETRY_EXC_ERR,
     UNCHANGED, UNCHANGED, RNIC_QPS_ERR, RNIC_QPS_RTS},
    {"opcode out of sequence", RNIC_WR_RDMA_WRITE, receive, out_of_sequence, false, 0x61,
     RNIC_WC_REM_INV_REQ_ERR, RNIC_WC_WR_FLUSH_ERR, RNIC_EVENT_QP_REQ_ERR, BOTH},
    {"operation not offered", RNIC_WR_RDMA_WRITE, receive, not_offered, false, 0x61,
     RNIC_WC_REM_INV_REQ_ERR, RNIC_WC_WR_FLUSH_ERR, RNIC_EVENT_QP_REQ_ERR, BOTH},
    {"operation not enabled", RNIC_WR_RDMA_WRITE, forbidden, NULL, false, 0x61,
     RNIC_WC_REM_INV_REQ_ERR, UNCHANGED, RNIC_EVENT_QP_REQ_ERR, BOTH},
    {"no responder resource", RNIC_WR_RDMA_READ, no_resource, NULL, false, 0x61,
     RNIC_WC_REM_INV_REQ_ERR, UNCHANGED, RNIC_EVENT_QP_REQ_ERR, BOTH},
    {"atomic not aligned", RNIC_WR_ATOMIC_FETCH_AND_ADD, NULL, misaligned, false, 0x61,
     RNIC_WC_REM_INV_REQ_ERR, UNCHANGED, RNIC_EVENT_QP_REQ_ERR, BOTH},
    {"length not as announced", RNIC_WR_RDMA_WRITE, NULL, other_length, false, 0x61,
     RNIC_WC_REM_INV_REQ_ERR, UNCHANGED, RNIC_EVENT_QP_REQ_ERR, BOTH},
    {"receive buffer too short", RNIC_WR_SEND, long_send, NULL, false, 0x61,
     RNIC_WC_REM_INV_REQ_ERR, RNIC_WC_LOC_LEN_ERR, UNCHANGED, BOTH},
    {"remote key refused, WRITE", RNIC_WR_RDMA_WRITE, bad_rkey, NULL, false, 0x62,
     RNIC_WC_REM_ACCESS_ERR, UNCHANGED, RNIC_EVENT_QP_ACCESS_ERR, BOTH},
    {"remote key refused, READ", RNIC_WR_RDMA_READ, bad_rkey, NULL, false, 0x62,
     RNIC_WC_REM_ACCESS_ERR, UNCHANGED, RNIC_EVENT_QP_ACCESS_ERR, BOTH},
    {"remote key refused, atomic", RNIC_WR_ATOMIC_CMP_AND_SWP, bad_rkey, NULL, false, 0x62,
     RNIC_WC_REM_ACCESS_ERR, UNCHANGED, RNIC_EVENT_QP_ACCESS_ERR, BOTH},
    {"receive buffer not writable", RNIC_WR_SEND, foreign_receive, NULL, false, 0x63,
     RNIC_WC_REM_OP_ERR, RNIC_WC_LOC_PROT_ERR, UNCHANGED, BOTH},
    {"key to invalidate is no window", RNIC_WR_SEND_WITH_INV, no_window, NULL, false, 0x63,
     RNIC_WC_REM_OP_ERR, RNIC_WC_LOC_QP_OP_ERR, UNCHANGED, BOTH},
    {"receive CQ is full", RNIC_WR_SEND, full_queue, NULL, false, UNCHANGED, RNIC_WC_RETRY_EXC_ERR,
     UNCHANGED, RNIC_EVENT_QP_FATAL, BOTH},
    {"no answer", RNIC_WR_RDMA_WRITE, NULL, lose, false, UNCHANGED, RNIC_WC_RETRY_EXC_ERR,
     UNCHANGED, UNCHANGED, RNIC_QPS_ERR, RNIC_QPS_RTS},
    {"answer does not fit the READ", RNIC_WR_RDMA_READ, NULL, shorter, true, UNCHANGED,
     RNIC_WC_BAD_RESP_ERR, UNCHANGED, UNCHANGED, RNIC_QPS_ERR, RNIC_QPS_RTS},
    {"local key refused, WRITE", RNIC_WR_RDMA_WRITE, bad_lkey, NULL, false, UNCHANGED,
     RNIC_WC_LOC_PROT_ERR, UNCHANGED, UNCHANGED, RNIC_QPS_ERR, RNIC_QPS_RTS},
    {"local key refused, READ", RNIC_WR_RDMA_READ, bad_lkey, NULL, false, UNCHANGED,
     RNIC_WC_LOC_PROT_ERR, UNCHANGED, UNCHANGED, RNIC_QPS_ERR, RNIC_QPS_RTS},
    {"window can not be bound", RNIC_WR_BIND_MW, bind_nothing, NULL, false, UNCHANGED,
     RNIC_WC_MW_BIND_ERR, UNCHANGED, UNCHANGED, RNIC_QPS_ERR, RNIC_QPS_RTS},
    {"key to invalidate locally is no window", RNIC_WR_LOCAL_INV, invalidate_nothing, NULL, false,
     UNCHANGED, RNIC_WC_LOC_QP_OP_ERR, UNCHANGED, UNCHANGED, RNIC_QPS_ERR, RNIC_QPS_RTS},
};

/* First answer of the responder that refuses. */
static int first_nak(void)
{
    for (size_t i = 0; i < card_log_count(&bench, b->station, false); i++) {
        const struct wire_frame *frame = &card_log_at(&bench, b->station, false, i)->frame;

        if (frame->opcode == WIRE_OP_ACKNOWLEDGE && (frame->syndrome & WIRE_AETH_KIND) != 0)
            return frame->syndrome;
    }
    return UNCHANGED;
}

/* The responder's event about its queue pair: at most one. */
static int the_event(void)
{
    static const enum rnic_event_type types[] = {RNIC_EVENT_QP_FATAL, RNIC_EVENT_QP_REQ_ERR,
                                                 RNIC_EVENT_QP_ACCESS_ERR};
    int found = UNCHANGED;

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        CHECK(b->events[types[i]] == 0 || (b->events[types[i]] == 1 && found == UNCHANGED));
        found = b->events[types[i]] > 0 ? (int)types[i] : found;
    }
    CHECK_EQ(b->events[RNIC_EVENT_CQ_ERR], found == RNIC_EVENT_QP_FATAL);
    return found;
}

static const char *status_name(int status)
{
    return status == UNCHANGED ? "-" : rnic_wc_status_name((enum rnic_wc_status)status);
}

static const char *event_name(int event)
{
    return event == RNIC_EVENT_QP_FATAL        ? "QP_FATAL"
           : event == RNIC_EVENT_QP_REQ_ERR    ? "QP_REQ_ERR"
           : event == RNIC_EVENT_QP_ACCESS_ERR ? "QP_ACCESS_ERR"
                                               : "-";
}

static void provoke(const struct row *row)
{
    struct card_options options = card_options_ideal();
    struct rnic_send_wr wr, last;
    struct rnic_sge sge;
    struct rnic_wc wc;
    int recv = UNCHANGED;

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = 4;
    options.cqe = 4;
    options.params.rnr_retry = 0;
    options.params.retry_cnt = 2;
    options.params.timeout = 1;
    card_bench_open(&bench, 2, &options);
    wr = card_wr(a, row->opcode, 77, 0, 64, 8, &sge);
    if (row->prepare != NULL)
        row->prepare(&wr, &sge);
    spoiling = row;
    bench.tap = spoil_one;
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, bench.now_ps), 0);
    if (row->nak == 0x60) { /* the one behind it shows the gap */
        last = card_wr(a, RNIC_WR_RDMA_WRITE, 78, 0, 64, 8, &sge);
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &last, bench.now_ps), 0);
    }
    card_bench_run(&bench, WIRE_NEVER);
    CHECK(card_poll(a, a->send_cq, &wc));
    CHECK_EQ(wc.wr_id, 77);
    CHECK_EQ(wc.status, row->sender);
    CHECK_EQ(wc.vendor_err,
             row->nak == 0x61 || row->nak == 0x62 || row->nak == 0x63 ? row->nak : 0);
    printf("row %s|", row->what);
    row->nak == UNCHANGED ? printf("-|") : printf("0x%02X|", (unsigned)first_nak());
    while (card_poll(b, b->recv_cq, &wc))
        recv = wc.wr_id == 9 ? (int)wc.status : recv;
    printf("%s|%s|%s|%s\n", status_name(row->sender), status_name(recv), event_name(the_event()),
           card_state(b, b->qpn) == RNIC_QPS_ERR ? "ERR" : "RTS");
    CHECK_EQ(recv, row->recv);
    CHECK_EQ(first_nak(), row->nak);
    CHECK_EQ(the_event(), row->event);
    CHECK_EQ(card_state(a, a->qpn), row->sender_state);
    CHECK_EQ(card_state(b, b->qpn), row->recv_state);
    card_bench_close(&bench);
}

static void who_is_told_what(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        provoke(&rows[i]);
}

/* ---- the header ---- */

/* A request posted while the connection is still being set up leaves when it is there. */
static void the_connection_takes_its_time(void)
{
    struct card_options options = card_options_ideal();
    struct rnic_qp_attr attr;

    options.params.connect_ps = 300000000;
    options.params.doorbell_latency_ps = 1000;
    card_bench_open(&bench, 2, &options);
    attr = card_attr(a, b, b->qpn);
    card_bench_run(&bench, 1000000000);
    card_write(a, 1, 0, 0, 8); /* long after it */
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(card_log_at(&bench, a->station, true, 0)->left_ps, 1000001000);
    attr.rq_psn.v = attr.sq_psn.v = bench.options.psn + 1;
    set(a, RNIC_QPS_RESET, attr, 0);
    card_to_state(a, a->qpn, &attr, RNIC_QPS_RTS);
    card_write(a, 2, 0, 0, 8);
    card_write(a, 3, 0, 0, 8);
    {
        uint64_t there_ps = bench.now_ps + 300000000;

        card_bench_run(&bench, WIRE_NEVER);
        CHECK_EQ(card_log_at(&bench, a->station, true, 1)->left_ps, there_ps);
        CHECK(card_log_at(&bench, a->station, true, 2)->left_ps < there_ps + 1000000);
    }
    card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
    card_expect(a, a->send_cq, 3, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

/* Selective repeat keeps twice its window: it has one, and not one without end. */
static void a_selective_window_has_a_limit(void)
{
    const struct card_options options = card_options_ideal();
    struct rnic_qp_init_attr init = {.max_send_wr = 1,
                                     .max_recv_wr = 1,
                                     .recovery = RNIC_RECOVER_SELECTIVE,
                                     .window_bytes = RNIC_SELECTIVE_WINDOW_MAX + 1};
    uint32_t qpn;

    card_bench_open(&bench, 2, &options);
    init.pd = a->pd;
    init.send_cq = a->send_cq;
    init.recv_cq = a->recv_cq;
    CHECK_EQ(rnic_create_qp(a->dev, &init, &qpn, 0), RNIC_ERR_INVAL);
    init.window_bytes = 0;
    CHECK_EQ(rnic_create_qp(a->dev, &init, &qpn, 0), RNIC_ERR_INVAL);
    init.window_bytes = RNIC_SELECTIVE_WINDOW_MAX;
    CARD_OK(a, rnic_create_qp(a->dev, &init, &qpn, 0));
    card_bench_close(&bench);
}

/* Of an open message go-back-0 takes no acknowledge: a window or credits would hold it up. */
static void go_back_0_has_no_window(void)
{
    struct rnic_qp_init_attr init = {.recovery = RNIC_RECOVER_GO_BACK_0,
                                     .max_send_wr = 1,
                                     .max_recv_wr = 1,
                                     .window_bytes = 4096};
    struct card_options options = card_options_ideal();
    uint32_t qpn = 0;

    card_bench_open(&bench, 2, &options);
    init.pd = a->pd;
    init.send_cq = a->send_cq;
    init.recv_cq = a->recv_cq;
    CHECK_EQ(rnic_create_qp(a->dev, &init, &qpn, 0), RNIC_ERR_INVAL);
    init.window_bytes = 0;
    init.e2e_credits = true;
    CHECK_EQ(rnic_create_qp(a->dev, &init, &qpn, 0), RNIC_ERR_INVAL);
    CHECK_EQ(qpn, 0);
    init.type = RNIC_QPT_UC; /* for RC only */
    CARD_OK(a, rnic_create_qp(a->dev, &init, &qpn, 0));
    init.type = RNIC_QPT_RC;
    init.e2e_credits = false;
    CARD_OK(a, rnic_create_qp(a->dev, &init, &qpn, 0));
    card_bench_close(&bench);
}

/* Without STATE in the mask the state stays; what is refused changes no attribute. */
static void an_error_changes_nothing(void)
{
    struct card_options options = card_options_ideal();
    struct rnic_qp_attr attr = {.min_rnr_timer = 3, .timeout = 32, .qp_access_flags = 1}, before,
                        after;

    card_bench_open(&bench, 2, &options);
    CHECK_EQ(rnic_query_qp(a->dev, a->qpn, &before, NULL), 0);
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_MIN_RNR_TIMER | RNIC_QP_TIMEOUT, 0),
             RNIC_ERR_INVAL); /* not in RTS */
    attr.min_rnr_timer = 32;
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_ACCESS_FLAGS | RNIC_QP_MIN_RNR_TIMER, 0),
             RNIC_ERR_INVAL); /* out of range */
    attr.cur_qp_state = RNIC_QPS_SQD;
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_ACCESS_FLAGS | RNIC_QP_CUR_STATE, 0),
             RNIC_ERR_INVAL);
    CHECK_EQ(rnic_query_qp(a->dev, a->qpn, &after, NULL), 0);
    CHECK_BYTES(&after, &before, sizeof after);
    attr.min_rnr_timer = 3;
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_MIN_RNR_TIMER, 0), 0);
    CHECK_EQ(rnic_query_qp(a->dev, a->qpn, &after, NULL), 0);
    CHECK_EQ(after.min_rnr_timer, 3);
    CHECK_EQ(after.qp_state, RNIC_QPS_RTS);
    CHECK_EQ(after.cur_qp_state, RNIC_QPS_RTS);
    CHECK_EQ(after.qp_access_flags, before.qp_access_flags);
    card_bench_close(&bench);
}

/* Polling no completion takes none. A destroyed queue pair leaves none behind. */
static void completions_of_the_dead_are_not_polled(void)
{
    struct card_options options = card_options_ideal();
    struct rnic_wc wc;

    card_bench_open(&bench, 2, &options);
    card_write(a, 1, 0, 0, 8);
    card_write(a, 2, 0, 0, 8);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(rnic_poll_cq(a->dev, a->send_cq, 0, NULL, bench.now_ps), 0);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_EQ(rnic_destroy_qp(a->dev, a->qpn, bench.now_ps), 0);
    CHECK_EQ(rnic_poll_cq(a->dev, a->send_cq, 1, &wc, bench.now_ps), 0);
    CHECK_EQ(rnic_destroy_cq(a->dev, a->send_cq, bench.now_ps), 0);
    card_bench_close(&bench);
}

CHECK_SUITE(verbs_refused, CHECK_CASE(who_is_told_what), CHECK_CASE(the_connection_takes_its_time),
            CHECK_CASE(go_back_0_has_no_window), CHECK_CASE(a_selective_window_has_a_limit),
            CHECK_CASE(an_error_changes_nothing),
            CHECK_CASE(completions_of_the_dead_are_not_polled))
