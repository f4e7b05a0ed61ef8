/* SPDX-License-Identifier: GPL-2.0-only */
/* Every error of every verb, and that nothing has changed then. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static void open_bench(void)
{
    struct card_options options = card_options_ideal();

    options.params.max_qp = 3;
    options.params.max_mr = 3;
    options.params.max_cq = 4;
    options.params.max_wr = 128;
    options.params.max_cqe = 1024;
    options.params.max_sge = 4;
    card_bench_open(&bench, 2, &options);
}

static void protection_domains(void)
{
    uint32_t pd, key;

    open_bench();
    CARD_OK(a, rnic_alloc_pd(a->dev, &pd, 0));
    CHECK(pd != a->pd);
    CHECK_EQ(rnic_dealloc_pd(a->dev, a->pd, 0), RNIC_ERR_BUSY);
    CARD_OK(a, rnic_reg_mr(a->dev, pd, 0, 10, NULL, 0, &key, 0));
    CHECK_EQ(rnic_dealloc_pd(a->dev, pd, 0), RNIC_ERR_BUSY);
    CHECK_EQ(rnic_dereg_mr(a->dev, key, 0), 0);
    CHECK_EQ(rnic_dealloc_pd(a->dev, pd, 0), 0);
    CHECK_EQ(rnic_dealloc_pd(a->dev, pd, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_dealloc_pd(a->dev, 0, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_dealloc_pd(a->dev, 12345, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_reg_mr(a->dev, pd, 0, 10, NULL, 0, &key, 0), RNIC_ERR_NOENT);
    card_bench_close(&bench);
}

static void regions(void)
{
    static const struct {
        uint64_t va, length;
        unsigned access;
        int err;
    } cases[] = {
        {0, 0, 0, RNIC_ERR_INVAL},
        {UINT64_MAX, 2, 0, RNIC_ERR_INVAL},
        {UINT64_MAX - 9, 11, 0, RNIC_ERR_INVAL},
        {2, UINT64_MAX, 0, RNIC_ERR_INVAL},
        {0, 10, 32, RNIC_ERR_INVAL},
        {0, 10, RNIC_ACCESS_REMOTE_WRITE, RNIC_ERR_INVAL},
        {0, 10, RNIC_ACCESS_REMOTE_ATOMIC, RNIC_ERR_INVAL},
        {0, 10, RNIC_ACCESS_REMOTE_READ, 0},
        {0, 10, RNIC_ACCESS_MW_BIND, 0},
        {0, 10, RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_LOCAL_WRITE, 0},
    };
    uint32_t key = 0, keys[2];

    open_bench();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_EQ(rnic_reg_mr(a->dev, a->pd, cases[i].va, cases[i].length, NULL, cases[i].access,
                             &key, 0),
                 cases[i].err);
        if (cases[i].err == 0)
            CHECK_EQ(rnic_dereg_mr(a->dev, key, 0), 0);
    }
    CHECK_EQ(rnic_reg_mr(a->dev, 77, 0, 10, NULL, 0, &key, 0), RNIC_ERR_NOENT);
    CARD_OK(a, rnic_reg_mr(a->dev, a->pd, 0, 10, NULL, 0, &keys[0], 0));
    CARD_OK(a, rnic_reg_mr(a->dev, a->pd, 0, 10, NULL, 0, &keys[1], 0));
    CHECK_EQ(rnic_reg_mr(a->dev, a->pd, 0, 10, NULL, 0, &key, 0), RNIC_ERR_LIMIT);
    CHECK_EQ(rnic_dereg_mr(a->dev, keys[0], 0), 0);
    CHECK_EQ(rnic_dereg_mr(a->dev, keys[0], 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_dereg_mr(a->dev, keys[1] ^ 1, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_dereg_mr(a->dev, 0xFFFFFFFF, 0), RNIC_ERR_NOENT);
    card_bench_close(&bench);
}

static void completion_queues(void)
{
    uint32_t cq, cqs[2];
    struct rnic_wc wc;

    open_bench();
    CHECK_EQ(rnic_create_cq(a->dev, 0, &cq, 0), RNIC_ERR_INVAL);
    CHECK_EQ(rnic_create_cq(a->dev, 1025, &cq, 0), RNIC_ERR_INVAL);
    CARD_OK(a, rnic_create_cq(a->dev, 1024, &cqs[0], 0));
    CARD_OK(a, rnic_create_cq(a->dev, 1, &cqs[1], 0));
    CHECK_EQ(rnic_create_cq(a->dev, 1, &cq, 0), RNIC_ERR_LIMIT);
    CHECK_EQ(rnic_destroy_cq(a->dev, a->send_cq, 0), RNIC_ERR_BUSY);
    CHECK_EQ(rnic_destroy_cq(a->dev, cqs[0], 0), 0);
    CHECK_EQ(rnic_destroy_cq(a->dev, cqs[0], 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_destroy_cq(a->dev, 0, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_poll_cq(a->dev, cqs[0], 1, &wc, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_poll_cq(a->dev, 0, 1, &wc, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_poll_cq(a->dev, cqs[1], 1, &wc, 0), 0);
    CHECK_EQ(rnic_req_notify_cq(a->dev, cqs[0], false, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_req_notify_cq(a->dev, cqs[1], false, 0), 0);
    card_bench_close(&bench);
}

static void creating_queue_pairs(void)
{
    const struct rnic_srq_attr srq_attr = {.max_wr = 4, .max_sge = 2};
    struct rnic_qp_init_attr good, bad;
    uint32_t qpn = 0, srq, other_pd, other_srq;

    open_bench();
    CARD_OK(a, rnic_alloc_pd(a->dev, &other_pd, 0));
    CARD_OK(a, rnic_create_srq(a->dev, a->pd, &srq_attr, &srq, 0));
    CARD_OK(a, rnic_create_srq(a->dev, other_pd, &srq_attr, &other_srq, 0));
    good = (struct rnic_qp_init_attr){.type = RNIC_QPT_RC,
                                      .pd = a->pd,
                                      .send_cq = a->send_cq,
                                      .recv_cq = a->recv_cq,
                                      .max_send_wr = 128,
                                      .max_recv_wr = 1,
                                      .max_send_sge = 4,
                                      .max_recv_sge = 0};
    for (unsigned i = 0; i < 16; i++) {
        int want = RNIC_ERR_INVAL;

        bad = good;
        switch (i) {
        case 0:
            bad.type = (enum rnic_qp_type)3;
            want = RNIC_ERR_UNSUPPORTED;
            break;
        case 1:
            bad.max_send_wr = 0;
            break;
        case 2:
            bad.max_send_wr = 129;
            break;
        case 3:
            bad.max_recv_wr = 0;
            break;
        case 4:
            bad.max_recv_wr = 129;
            break;
        case 5:
            bad.max_send_sge = 5;
            break;
        case 6:
            bad.max_recv_sge = 5;
            break;
        case 7:
            bad.pd = 99;
            want = RNIC_ERR_NOENT;
            break;
        case 8:
            bad.send_cq = 99;
            want = RNIC_ERR_NOENT;
            break;
        case 9:
            bad.recv_cq = 0;
            want = RNIC_ERR_NOENT;
            break;
        case 10:
            bad.max_inline_data = 513;
            break;
        case 11:
            bad.recovery = (enum rnic_recovery)3;
            break;
        case 12:
            bad.recovery = RNIC_RECOVER_SELECTIVE; /* without a window */
            break;
        case 13:
            bad.srq = 99;
            want = RNIC_ERR_NOENT;
            break;
        case 14:
            bad.srq = other_srq; /* of another domain */
            break;
        case 15:
            bad.type = (enum rnic_qp_type) - 1;
            want = RNIC_ERR_UNSUPPORTED;
            break;
        }
        CHECK_EQ(rnic_create_qp(a->dev, &bad, &qpn, 0), want);
        CHECK_EQ(qpn, 0);
    }
    CARD_OK(a, rnic_create_qp(a->dev, &good, &qpn, 0));
    good.srq = srq; /* then its own receive queue counts for nothing */
    good.max_recv_wr = 0;
    good.max_recv_sge = 99;
    CARD_OK(a, rnic_create_qp(a->dev, &good, &qpn, 0));
    CHECK_EQ(rnic_create_qp(a->dev, &good, &qpn, 0), RNIC_ERR_LIMIT);
    CHECK_EQ(rnic_post_recv(a->dev, qpn, &(struct rnic_recv_wr){.wr_id = 1}, 0), RNIC_ERR_INVAL);
    CHECK_EQ(rnic_destroy_srq(a->dev, srq, 0), RNIC_ERR_BUSY);
    CHECK_EQ(rnic_destroy_qp(a->dev, qpn, 0), 0);
    CHECK_EQ(rnic_destroy_qp(a->dev, qpn, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_destroy_qp(a->dev, 0, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_destroy_srq(a->dev, srq, 0), 0);
    card_bench_close(&bench);
}

static void no_such_queue_pair(void)
{
    struct rnic_qp_attr attr = {0};
    struct rnic_send_wr send = {0};
    struct rnic_recv_wr recv = {0};
    uint64_t rate_bps;
    double alpha;

    open_bench();
    CHECK_EQ(rnic_modify_qp(a->dev, 999, &attr, RNIC_QP_STATE, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_query_qp(a->dev, 999, &attr, NULL), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_query_rate(a->dev, 999, &rate_bps, &alpha, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_post_send(a->dev, 999, &send, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_post_recv(a->dev, 999, &recv, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_query_rate(a->dev, card_new_qp(a, a->send_cq, a->recv_cq), &rate_bps, &alpha, 0),
             RNIC_ERR_INVAL);
    card_bench_close(&bench);
}

/* Lengths are summed in 64 bits. */
static void posting_sends(void)
{
    struct rnic_sge sges[5];
    struct rnic_send_wr good, bad;

    open_bench();
    good = card_wr(a, RNIC_WR_RDMA_WRITE, 1, 0, 0, 8, &sges[0]);
    for (size_t i = 1; i < 5; i++)
        sges[i] = sges[0];
    for (unsigned i = 0; i < 7; i++) {
        bad = good;
        sges[0].length = sges[1].length = 8;
        switch (i) {
        case 0:
            bad.opcode = (enum rnic_wr_opcode)10;
            break;
        case 1:
            bad.opcode = (enum rnic_wr_opcode) - 1;
            break;
        case 2:
            bad.send_flags = 16;
            break;
        case 3:
            bad.num_sge = 5;
            break;
        case 4:
            bad.sg_list = NULL;
            break;
        case 5:
            sges[0].length = sges[1].length = 0x80000000u;
            bad.num_sge = 2;
            break;
        case 6:
            sges[0].length = 0x80000001u;
            break;
        }
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &bad, 0), RNIC_ERR_INVAL);
    }
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(bench.log_n, 0);
    sges[0].length = 8;
    a->ready_classes = 0;
    for (uint32_t i = 0; i < bench.options.depth; i++)
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &good, 0), 0);
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &good, 0), RNIC_ERR_FULL);
    a->ready_classes = 0xFF;
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(card_log_count(&bench, a->station, true), bench.options.depth);
    card_bench_close(&bench);
}

/* 2^31 bytes is the most, and it is taken. */
static void the_longest_message_there_is(void)
{
    struct card_options options = card_options_ideal();
    struct rnic_sge sge = {.addr = 0, .length = 0x80000000u};
    struct rnic_send_wr wr = {.wr_id = 9, .opcode = RNIC_WR_RDMA_WRITE, .num_sge = 1};

    options.mtu_bytes = 4096;
    options.line_bps = 100000000000000; /* so that the clock has room */
    options.phantom = true;
    card_bench_open(&bench, 2, &options);
    wr.sg_list = &sge;
    CARD_OK(a, rnic_reg_mr(a->dev, a->pd, 0, 0x80000000u, NULL, 0, &sge.lkey, 0));
    CARD_OK(b, rnic_reg_mr(b->dev, b->pd, 0, 0x80000000u, NULL,
                           RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE, &wr.rkey, 0));
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(card_expect(a, a->send_cq, 9, RNIC_WC_SUCCESS).byte_len, 0x80000000u);
    CHECK_EQ(card_counters(a, a->qpn).tx_packets, 0x80000000u / 4096);
    card_bench_close(&bench);
}

static void posting_receives(void)
{
    struct rnic_sge sges[5] = {{CARD_VA, 8, 0}};
    struct rnic_recv_wr good = {.wr_id = 1, .sg_list = sges, .num_sge = 1}, bad;

    open_bench();
    bad = good;
    bad.num_sge = 5;
    CHECK_EQ(rnic_post_recv(a->dev, a->qpn, &bad, 0), RNIC_ERR_INVAL);
    bad = good;
    bad.sg_list = NULL;
    CHECK_EQ(rnic_post_recv(a->dev, a->qpn, &bad, 0), RNIC_ERR_INVAL);
    for (uint32_t i = 0; i < bench.options.depth; i++)
        CHECK_EQ(rnic_post_recv(a->dev, a->qpn, &good, 0), 0);
    CHECK_EQ(rnic_post_recv(a->dev, a->qpn, &good, 0), RNIC_ERR_FULL);
    card_bench_close(&bench);
}

/* A card that gets its memory in the smallest bites ends up the same. */
static void memory_in_small_bites(void)
{
    void *memory = aligned_alloc(64, (rnic_device_bytes() + 63) & ~(size_t)63);
    static void *bites[256];
    struct rnic_config config = {.params = rnic_params_default(),
                                 .cc = &rnic_cc_none,
                                 .cc_config = {.line_bps = 1000000000}};
    struct rnic_device *dev = rnic_device_init(memory, &config);
    uint32_t pd, cq = 0, key, qpn = 0, n = 0, refused = 0;
    struct rnic_qp_init_attr init = {.max_send_wr = 1024, .max_recv_wr = 1024};
    int err;

    CHECK(dev != NULL);
    for (unsigned what = 0; what < 4;) {
        err = what == 0   ? rnic_alloc_pd(dev, &pd, 0)
              : what == 1 ? rnic_create_cq(dev, 4096, &cq, 0)
              : what == 2 ? rnic_reg_mr(dev, pd, 0, (uint64_t)1 << 40, NULL, 0, &key, 0)
                          : rnic_create_qp(dev, &init, &qpn, 0);
        if (err == RNIC_ERR_NOMEM) {
            size_t wanted = rnic_mem_wanted(dev);

            CHECK(n < 256 && wanted > 0);
            bites[n] = aligned_alloc(64, wanted);
            CHECK(bites[n] != NULL);
            rnic_mem_give(dev, bites[n++], wanted);
            refused++;
            continue;
        }
        CHECK_EQ(err, 0);
        what++;
        init = (struct rnic_qp_init_attr){.pd = pd,
                                          .send_cq = cq,
                                          .recv_cq = cq,
                                          .max_send_wr = 1024,
                                          .max_recv_wr = 1024,
                                          .max_send_sge = 30,
                                          .max_recv_sge = 30};
    }
    CHECK(refused >= 3);
    CHECK_EQ(rnic_query_qp(dev, qpn, NULL, NULL), 0);
    while (n > 0)
        free(bites[--n]);
    free(memory);
}

static void names_of_errors_and_states(void)
{
    CHECK_STR(rnic_err_name(0), "OK");
    CHECK_STR(rnic_err_name(5), "OK");
    CHECK_STR(rnic_err_name(RNIC_ERR_INVAL), "RNIC_ERR_INVAL");
    CHECK_STR(rnic_err_name(RNIC_ERR_FULL), "RNIC_ERR_FULL");
    CHECK_STR(rnic_err_name(RNIC_ERR_NOMEM), "RNIC_ERR_NOMEM");
    CHECK_STR(rnic_err_name(RNIC_ERR_NOENT), "RNIC_ERR_NOENT");
    CHECK_STR(rnic_err_name(RNIC_ERR_BUSY), "RNIC_ERR_BUSY");
    CHECK_STR(rnic_err_name(RNIC_ERR_LIMIT), "RNIC_ERR_LIMIT");
    CHECK_STR(rnic_err_name(RNIC_ERR_UNSUPPORTED), "RNIC_ERR_UNSUPPORTED");
    CHECK_STR(rnic_err_name(-99), "unknown error");
    CHECK_STR(rnic_err_name(RNIC_ERR_UNSUPPORTED - 1), "unknown error");
    CHECK_STR(rnic_wc_status_name(RNIC_WC_SUCCESS), "SUCCESS");
    CHECK_STR(rnic_wc_status_name(RNIC_WC_REM_ACCESS_ERR), "REM_ACCESS_ERR");
    CHECK_STR(rnic_wc_status_name(RNIC_WC_RNR_RETRY_EXC_ERR), "RNR_RETRY_EXC_ERR");
    CHECK_STR(rnic_wc_status_name((enum rnic_wc_status)99), "unknown status");
    CHECK_STR(rnic_wc_status_name((enum rnic_wc_status)(RNIC_WC_RNR_RETRY_EXC_ERR + 1)),
              "unknown status");
    CHECK_EQ(RNIC_WC_RETRY_EXC_ERR, 12); /* as in verbs.h */
}

/* rdma_get_udp_sport of Linux: the same at both ends, in 0xC000 .. 0xFFFF. */
static void the_udp_source_port_is_folded_from_both_numbers(void)
{
    const struct wire_frame *there, *back;
    uint64_t v;
    uint32_t label;

    open_bench();
    card_write(a, 1, 0, 0, 8);
    card_bench_run(&bench, WIRE_NEVER);
    there = &card_log_at(&bench, a->station, true, 0)->frame;
    back = &card_log_at(&bench, b->station, false, 0)->frame;
    v = (uint64_t)a->qpn * b->qpn;
    v ^= v >> 20;
    v ^= v >> 40;
    label = (uint32_t)v & 0xFFFFF;
    CHECK_EQ(there->udp_sport, 0xC000 | ((label & 0x3FFF) ^ (label >> 14)));
    CHECK_EQ(back->udp_sport, there->udp_sport);
    card_bench_close(&bench);
}

CHECK_SUITE(verbs, CHECK_CASE(protection_domains), CHECK_CASE(regions),
            CHECK_CASE(completion_queues), CHECK_CASE(creating_queue_pairs),
            CHECK_CASE(no_such_queue_pair), CHECK_CASE(posting_sends),
            CHECK_CASE(the_longest_message_there_is), CHECK_CASE(posting_receives),
            CHECK_CASE(memory_in_small_bites), CHECK_CASE(names_of_errors_and_states),
            CHECK_CASE(the_udp_source_port_is_folded_from_both_numbers))
