/* SPDX-License-Identifier: GPL-2.0-only */
/* Accesses that are refused, on either side: what is told to whom, and that no byte moves. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static void open_bench(uint32_t mtu)
{
    struct card_options options = card_options_ideal();

    options.mtu_bytes = mtu;
    card_bench_open(&bench, 2, &options);
    card_fill(a->bytes, a->n_bytes, mtu);
}

/* ---- remote access ---- */

struct remote {
    uint32_t rkey;
    uint64_t va;
    uint32_t bytes;
};

/* Ok, refused, three behind it; posts made later flush too. */
static void check_remote_refused(const struct remote *r)
{
    struct rnic_sge sge;
    struct rnic_send_wr wr = card_wr(a, RNIC_WR_RDMA_WRITE, 2, 0, 0, r->bytes, &sge);
    uint8_t *before = malloc(b->n_bytes);

    CHECK(before != NULL);
    wr.rkey = r->rkey;
    wr.remote_addr = r->va;
    card_write(a, 1, 0, 0, 100);
    card_recv(b, 50, 0, 100);
    card_recv(b, 51, 0, 100);
    card_bench_run(&bench, bench.now_ps + 100000000);
    memcpy(before, b->bytes, b->n_bytes);
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, bench.now_ps), 0);
    for (uint64_t i = 3; i <= 5; i++)
        card_write(a, i, 1000, 2000, 100);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_BYTES(b->bytes, before, b->n_bytes);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_expect(a, a->send_cq, 2, RNIC_WC_REM_ACCESS_ERR);
    for (uint64_t i = 3; i <= 5; i++)
        card_expect(a, a->send_cq, i, RNIC_WC_WR_FLUSH_ERR);
    card_expect_none(a, a->send_cq);
    CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_ERR);
    CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_ERR);
    card_write(a, 6, 0, 0, 100);
    card_recv(a, 7, 0, 100);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 6, RNIC_WC_WR_FLUSH_ERR);
    CHECK_EQ(card_expect(a, a->recv_cq, 7, RNIC_WC_WR_FLUSH_ERR).opcode, RNIC_WC_RECV);
    CHECK_EQ(card_expect(b, b->recv_cq, 50, RNIC_WC_WR_FLUSH_ERR).opcode, RNIC_WC_RECV);
    CHECK_EQ(card_expect(b, b->recv_cq, 51, RNIC_WC_WR_FLUSH_ERR).opcode, RNIC_WC_RECV);
    CHECK_EQ(b->events[RNIC_EVENT_QP_ACCESS_ERR], 1);
    CHECK_EQ(b->last[RNIC_EVENT_QP_ACCESS_ERR].qpn, b->qpn);
    CHECK_EQ(b->last[RNIC_EVENT_QP_ACCESS_ERR].value, WIRE_NAK_ACCESS);
    CHECK_EQ(card_counters(a, a->qpn).naks_rx, 1);
    CHECK_EQ(card_counters(b, b->qpn).naks_tx, 1);
    CHECK_EQ(b->events[RNIC_EVENT_QP_REQ_ERR], 0);
    CHECK_EQ(rnic_query_counters(b->dev)->drops[WIRE_DROP_REFUSED], 1);
    CHECK(rnic_query_counters(b->dev)->drops[WIRE_DROP_QP_STATE] >= 1);
    { /* the last word of the responder */
        size_t n = card_log_count(&bench, b->station, false);

        CHECK_EQ(card_log_at(&bench, b->station, false, n - 1)->frame.syndrome, 0x62);
        CHECK_EQ(card_log_at(&bench, b->station, false, n - 1)->frame.psn.v,
                 (bench.options.psn + 1) & WIRE_PSN_MASK);
    }
    free(before);
}

static void a_wrong_remote_access_moves_no_byte(void)
{
    for (unsigned i = 0; i < 9; i++) {
        struct remote r = {.va = CARD_VA, .bytes = 5000};
        uint32_t pd, other_pd, read_only, stale;
        uint64_t end;

        open_bench(1024);
        r.rkey = b->key;
        end = CARD_VA + b->n_bytes;
        CARD_OK(b, rnic_alloc_pd(b->dev, &pd, 0));
        CARD_OK(b, rnic_reg_mr(b->dev, pd, CARD_VA, 8192, b->bytes,
                               RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE, &other_pd, 0));
        CARD_OK(b, rnic_reg_mr(b->dev, b->pd, CARD_VA, 8192, b->bytes,
                               RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_READ, &read_only, 0));
        CARD_OK(b, rnic_reg_mr(b->dev, b->pd, CARD_VA, 8192, b->bytes,
                               RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE, &stale, 0));
        CHECK_EQ(rnic_dereg_mr(b->dev, stale, 0), 0);
        switch (i) {
        case 0: /* one bit of the variant */
            r.rkey ^= 1;
            break;
        case 1: /* no such index */
            r.rkey += 100 << 8;
            break;
        case 2: /* ends one byte too late */
            r.va = end - r.bytes + 1;
            break;
        case 3: /* begins one byte too early */
            r.va = CARD_VA - 1;
            break;
        case 4:
            r.rkey = other_pd;
            break;
        case 5:
            r.rkey = read_only;
            break;
        case 6:
            r.rkey = stale;
            break;
        case 7: /* wraps */
            r.va = UINT64_MAX - 10;
            break;
        case 8: /* one byte, just behind the end */
            r.va = end;
            r.bytes = 1;
            break;
        }
        check_remote_refused(&r);
        card_bench_close(&bench);
    }
}

/* The last byte and the first one are inside. */
static void the_borders_of_a_region_are_inside(void)
{
    open_bench(1024);
    card_write(a, 1, 0, 0, (uint32_t)b->n_bytes);
    card_write(a, 2, 5, b->n_bytes - 1, 1);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
    CHECK_BYTES(b->bytes, a->bytes, b->n_bytes - 1);
    CHECK_EQ(b->bytes[b->n_bytes - 1], a->bytes[5]);
    card_bench_close(&bench);
}

/* Zero bytes need no key: nothing is touched. */
static void a_write_of_nothing_is_not_checked(void)
{
    struct rnic_sge sge;
    struct rnic_send_wr wr;

    open_bench(1024);
    wr = card_wr(a, RNIC_WR_RDMA_WRITE, 1, 0, 0, 0, &sge);
    wr.rkey = 0xBAD;
    wr.remote_addr = 1;
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_bench_close(&bench);
}

/* Stop card 0 after scratch[0] requests: then the test acts, and lets it go on. */
static enum card_tap_verdict stop_after(struct card_bench *on, struct card_flight *flight)
{
    if (flight->from == a && on->scratch[1] < on->scratch[0] && ++on->scratch[1] == on->scratch[0])
        a->ready_classes = 0;
    return CARD_PASS;
}

static void a_key_that_goes_in_mid_message_ends_it(void)
{
    open_bench(1024);
    bench.tap = stop_after;
    bench.scratch[0] = 3;
    card_write(a, 1, 0, 0, 8 * 1024);
    card_bench_run(&bench, 1000000);
    CHECK_BYTES(b->bytes, a->bytes, 3 * 1024);
    CHECK_EQ(rnic_dereg_mr(b->dev, b->key, bench.now_ps), 0);
    a->ready_classes = 0xFF;
    card_bench_run(&bench, WIRE_NEVER);
    for (size_t i = 3 * 1024; i < 8 * 1024; i++)
        CHECK_EQ(b->bytes[i], 0);
    card_expect(a, a->send_cq, 1, RNIC_WC_REM_ACCESS_ERR);
    CHECK_EQ(card_log_at(&bench, b->station, false, 0)->frame.psn.v,
             (bench.options.psn + 3) & WIRE_PSN_MASK);
    CHECK_EQ(b->events[RNIC_EVENT_QP_ACCESS_ERR], 1);
    card_bench_close(&bench);
}

/* The queue pair's own flags forbid WRITE: an invalid request. */
static void a_queue_pair_without_remote_write_refuses_writes(void)
{
    struct rnic_qp_attr attr = {.qp_access_flags = RNIC_ACCESS_LOCAL_WRITE};

    open_bench(1024);
    CHECK_EQ(rnic_modify_qp(b->dev, b->qpn, &attr, RNIC_QP_ACCESS_FLAGS, 0), 0);
    card_write(a, 1, 0, 0, 100);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_REM_INV_REQ_ERR);
    CHECK_EQ(b->events[RNIC_EVENT_QP_REQ_ERR], 1);
    CHECK_EQ(b->bytes[0], 0);
    card_bench_close(&bench);
}

/* ---- receive buffers ---- */

static void a_send_longer_than_its_buffer_is_refused(void)
{
    open_bench(1024);
    card_recv(b, 7, 0, 2999);
    card_recv(b, 8, 0, 2999);
    card_send(a, 1, 0, 3000);
    card_send(a, 2, 0, 10);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(b, b->recv_cq, 7, RNIC_WC_LOC_LEN_ERR);
    card_expect(b, b->recv_cq, 8, RNIC_WC_WR_FLUSH_ERR);
    card_expect(a, a->send_cq, 1, RNIC_WC_REM_INV_REQ_ERR);
    card_expect(a, a->send_cq, 2, RNIC_WC_WR_FLUSH_ERR);
    CHECK_EQ(card_log_at(&bench, b->station, false, 0)->frame.syndrome, 0x61);
    for (size_t i = 2048; i < 3000; i++)
        CHECK_EQ(b->bytes[i], 0);
    CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_ERR);
    card_bench_close(&bench);
}

static void a_bad_receive_buffer_is_a_remote_operation_error(void)
{
    for (unsigned i = 0; i < 3; i++) {
        struct rnic_sge sge = {.addr = CARD_VA, .length = 100};
        struct rnic_recv_wr recv = {.wr_id = 7, .sg_list = &sge, .num_sge = 1};
        uint32_t read_only;

        open_bench(1024);
        CARD_OK(b, rnic_reg_mr(b->dev, b->pd, CARD_VA, 8192, b->bytes, 0, &read_only, 0));
        sge.lkey = i == 0 ? 0xBAD : i == 1 ? read_only : b->key;
        if (i == 2)
            sge.addr = CARD_VA + b->n_bytes - 99;
        CHECK_EQ(rnic_post_recv(b->dev, b->qpn, &recv, 0), 0);
        card_send(a, 1, 0, 100);
        card_bench_run(&bench, WIRE_NEVER);
        card_expect(b, b->recv_cq, 7, RNIC_WC_LOC_PROT_ERR);
        card_expect(a, a->send_cq, 1, RNIC_WC_REM_OP_ERR);
        CHECK_EQ(card_log_at(&bench, b->station, false, 0)->frame.syndrome, 0x63);
        CHECK_EQ(b->bytes[0], 0);
        CHECK_EQ(b->bytes[b->n_bytes - 99], 0);
        card_bench_close(&bench);
    }
}

/* ---- local protection ---- */

/* Nothing on the wire, one error completion. */
static void an_unknown_lkey_stays_on_the_card(void)
{
    struct rnic_sge sge;
    struct rnic_send_wr wr;

    open_bench(1024);
    wr = card_wr(a, RNIC_WR_SEND, 1, 0, 0, 100, &sge);
    sge.lkey = 0xBAD;
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
    card_write(a, 2, 0, 0, 100);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_LOC_PROT_ERR);
    card_expect(a, a->send_cq, 2, RNIC_WC_WR_FLUSH_ERR);
    card_expect_none(a, a->send_cq);
    CHECK_EQ(bench.log_n, 0);
    CHECK_EQ(card_counters(a, a->qpn).tx_packets, 0);
    CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_ERR);
    card_bench_close(&bench);
}

/* It waits for the good ones before it: completions come in order. */
static void a_local_error_comes_behind_what_is_outstanding(void)
{
    struct rnic_sge sge;
    struct rnic_send_wr wr;

    open_bench(1024);
    wr = card_wr(a, RNIC_WR_RDMA_WRITE, 3, 0, 0, 100, &sge);
    sge.lkey = 0xBAD;
    bench.options.delay_ps = 10000000;
    card_write(a, 1, 0, 0, 5000);
    card_write(a, 2, 0, 5000, 5000);
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
    card_write(a, 4, 0, 0, 100);
    card_bench_run(&bench, 5000000);
    card_expect_none(a, a->send_cq);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
    card_expect(a, a->send_cq, 3, RNIC_WC_LOC_PROT_ERR);
    card_expect(a, a->send_cq, 4, RNIC_WC_WR_FLUSH_ERR);
    card_expect_none(a, a->send_cq);
    CHECK_BYTES(b->bytes, a->bytes, 5000);
    card_bench_close(&bench);
}

static enum card_tap_verdict drop_second(struct card_bench *on, struct card_flight *flight)
{
    return flight->from == a && on->scratch[1]++ == 1 ? CARD_DROP : CARD_PASS;
}

/*
 * The list goes bad at packet k of a message: k packets have left, none asked for an acknowledge.
 * The error is told at once, not when the retries are used up.
 */
static void a_local_error_in_mid_message(bool with_loss, uint32_t good_before)
{
    struct rnic_sge sges[2];
    struct rnic_send_wr wr;

    open_bench(1024);
    bench.tap = with_loss ? drop_second : NULL;
    wr = card_wr(a, RNIC_WR_RDMA_WRITE, 2, 0, 0, 3 * 1024, sges);
    sges[1] = (struct rnic_sge){.addr = CARD_VA, .length = 100, .lkey = 0xBAD};
    wr.num_sge = 2;
    for (uint32_t i = 0; i < good_before; i++)
        card_write(a, 1, 0, 10000, 2048);
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
    card_write(a, 3, 0, 0, 100);
    card_bench_run(&bench, WIRE_NEVER);
    for (uint32_t i = 0; i < good_before; i++)
        card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_expect(a, a->send_cq, 2, RNIC_WC_LOC_PROT_ERR);
    card_expect(a, a->send_cq, 3, RNIC_WC_WR_FLUSH_ERR);
    card_expect_none(a, a->send_cq);
    CHECK_EQ(rnic_query_counters(a->dev)->timeouts, 0);
    CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_ERR);
    card_bench_close(&bench);
}

static void a_local_error_at_a_later_packet_is_told_at_once(void)
{
    a_local_error_in_mid_message(false, 0);
    a_local_error_in_mid_message(false, 1);
    a_local_error_in_mid_message(true, 1);
    a_local_error_in_mid_message(true, 2);
}

static void a_region_that_goes_before_its_packets_leave(void)
{
    open_bench(1024);
    bench.tap = stop_after;
    bench.scratch[0] = 3;
    card_write(a, 1, 0, 0, 8 * 1024);
    card_bench_run(&bench, 1000000);
    CHECK_EQ(rnic_dereg_mr(a->dev, a->key, bench.now_ps), 0);
    a->ready_classes = 0xFF;
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_LOC_PROT_ERR);
    CHECK_EQ(rnic_query_counters(a->dev)->timeouts, 0);
    CHECK(card_log_count(&bench, a->station, true) <= 4); /* one may have been held */
    card_bench_close(&bench);
}

/* Each CQ gets its own flush completions. */
static void to_error_flushes_both_queues_each_to_its_cq(void)
{
    struct rnic_qp_attr attr = {.qp_state = RNIC_QPS_ERR};

    open_bench(1024);
    a->ready_classes = 0;
    for (uint64_t i = 0; i < 3; i++)
        card_write(a, i, 0, 0, 100);
    for (uint64_t i = 0; i < 2; i++)
        card_recv(a, 10 + i, 0, 100);
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_STATE, 0), 0);
    for (uint64_t i = 0; i < 3; i++)
        card_expect(a, a->send_cq, i, RNIC_WC_WR_FLUSH_ERR);
    card_expect_none(a, a->send_cq);
    for (uint64_t i = 0; i < 2; i++)
        card_expect(a, a->recv_cq, 10 + i, RNIC_WC_WR_FLUSH_ERR);
    card_expect_none(a, a->recv_cq);
    a->ready_classes = 0xFF;
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(bench.log_n, 0);
    card_bench_close(&bench);
}

/* An open SEND is refused: the receive request it uses tells the host, and no event does. */
static void an_open_send_that_goes_wrong_ends_its_receive(void)
{
    const struct {
        uint8_t opcode;
        uint32_t bytes;
    } cases[] = {
        {WIRE_OP_WRITE_MIDDLE, 1024}, {WIRE_OP_SEND_FIRST, 1024},  {WIRE_OP_SEND_ONLY, 10},
        {WIRE_OP_READ_REQUEST, 10},   {WIRE_OP_SEND_MIDDLE, 1023}, {WIRE_OP_SEND_LAST, 0},
        {WIRE_OP_FETCH_ADD, 8},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct card_options options = card_options_ideal();
        struct wire_frame frame;

        options.access = CARD_ACCESS_ALL;
        options.rd_atomic = 4;
        card_bench_open(&bench, 2, &options);
        card_recv(b, 7, 0, 8192);
        card_recv(b, 8, 8192, 8192);
        frame = card_request(b, WIRE_OP_SEND_FIRST, 0, 1024);
        CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
        frame = card_request(b, cases[i].opcode, 1, cases[i].bytes);
        CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_REFUSED);
        card_bench_run(&bench, 20000000);
        card_expect(b, b->recv_cq, 7, RNIC_WC_LOC_QP_OP_ERR);
        card_expect(b, b->recv_cq, 8, RNIC_WC_WR_FLUSH_ERR);
        CHECK_EQ(b->events[RNIC_EVENT_QP_REQ_ERR], 0);
        CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_ERR);
        CHECK_EQ(
            card_log_at(&bench, b->station, false, card_log_count(&bench, b->station, false) - 1)
                ->frame.syndrome,
            0x61);
        card_bench_close(&bench);
    }
}

CHECK_SUITE(rc_error, CHECK_CASE(a_wrong_remote_access_moves_no_byte),
            CHECK_CASE(the_borders_of_a_region_are_inside),
            CHECK_CASE(a_write_of_nothing_is_not_checked),
            CHECK_CASE(a_key_that_goes_in_mid_message_ends_it),
            CHECK_CASE(a_queue_pair_without_remote_write_refuses_writes),
            CHECK_CASE(a_send_longer_than_its_buffer_is_refused),
            CHECK_CASE(a_bad_receive_buffer_is_a_remote_operation_error),
            CHECK_CASE(an_unknown_lkey_stays_on_the_card),
            CHECK_CASE(a_local_error_comes_behind_what_is_outstanding),
            CHECK_CASE(a_local_error_at_a_later_packet_is_told_at_once),
            CHECK_CASE(a_region_that_goes_before_its_packets_leave),
            CHECK_CASE(to_error_flushes_both_queues_each_to_its_cq),
            CHECK_CASE(an_open_send_that_goes_wrong_ends_its_receive))
