/* SPDX-License-Identifier: GPL-2.0-only */
/* Posting of every opcode on every service: what is refused, and the numbers of what is taken. */
#include "card.h"
#include "rnic_internal.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0];

static const enum rnic_wr_opcode opcodes[] = {
    RNIC_WR_RDMA_WRITE,           RNIC_WR_RDMA_WRITE_WITH_IMM, RNIC_WR_SEND,
    RNIC_WR_SEND_WITH_IMM,        RNIC_WR_RDMA_READ,           RNIC_WR_ATOMIC_CMP_AND_SWP,
    RNIC_WR_ATOMIC_FETCH_AND_ADD, RNIC_WR_LOCAL_INV,           RNIC_WR_BIND_MW,
    RNIC_WR_SEND_WITH_INV};

/* IBTA table 12: a letter an opcode, in the order above. */
static const char *const offered[3] = {"yyyyyyyyyy", "yyyy---yy-", "--yy------"};

/* The MAC pulls nothing: what is posted stays where it is. */
static void open_bench(enum rnic_qp_type type)
{
    struct card_options options = card_options_ideal();

    options.type = type;
    options.rd_atomic = 4;
    options.params.mtu_bytes = 2048;
    options.params.doorbell_latency_ps = 777;
    card_bench_open(&bench, 2, &options);
    a->ready_classes = 0;
}

static struct rnic_qp *qp_of(uint32_t qpn)
{
    return rnic_table_qp_find(&a->dev->qps, qpn);
}

static uint32_t handle(void)
{
    const struct rnic_av av = {.dest_station = bench.cards[1].station, .hop_limit = 9};
    uint32_t ah;

    CARD_OK(a, rnic_create_ah(a->dev, a->pd, &av, &ah, 0));
    return ah;
}

/* A request of @p bytes that fits opcode and service. */
static struct rnic_send_wr request(enum rnic_wr_opcode opcode, uint32_t bytes, uint32_t ah,
                                   struct rnic_sge *sge)
{
    struct rnic_send_wr wr = card_wr(a, opcode, 1, 0, 0, bytes, sge);

    if (bench.options.type == RNIC_QPT_UD) {
        wr.ud.ah = ah;
        wr.ud.remote_qpn = 77;
        wr.ud.remote_qkey = 5;
    }
    return wr;
}

static void what_each_service_offers(void)
{
    for (int type = RNIC_QPT_RC; type <= RNIC_QPT_UD; type++)
        for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++) {
            struct rnic_sge sge;
            struct rnic_send_wr wr;

            open_bench((enum rnic_qp_type)type);
            wr = request(opcodes[i], 8, handle(), &sge);
            CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0),
                     offered[type][i] == 'y' ? 0 : RNIC_ERR_INVAL);
            CHECK_EQ(qp_of(a->qpn)->sq.head, offered[type][i] == 'y' ? 1 : 0);
            card_bench_close(&bench);
        }
}

/* PSNs by opcode: per packet of the message, of the responses, one, none; a number a message. */
static void every_request_has_its_numbers(void)
{
    static const struct {
        enum rnic_wr_opcode opcode;
        uint32_t bytes, packets;
        bool message;
    } cases[] = {
        {RNIC_WR_SEND, 0, 1, true},
        {RNIC_WR_RDMA_WRITE, 1024, 1, true},
        {RNIC_WR_RDMA_WRITE, 1025, 2, true},
        {RNIC_WR_RDMA_READ, 5000, 5, true},
        {RNIC_WR_RDMA_READ, 0, 1, true},
        {RNIC_WR_ATOMIC_CMP_AND_SWP, 8, 1, true},
        {RNIC_WR_LOCAL_INV, 0, 0, false},
        {RNIC_WR_BIND_MW, 0, 0, false},
        {RNIC_WR_SEND_WITH_INV, 3000, 3, true},
    };
    uint32_t psn, ssn = 1;

    open_bench(RNIC_QPT_RC);
    qp_of(a->qpn)->max_rd_atomic = 0; /* but then READs are refused */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rnic_sge sge;
        struct rnic_send_wr wr = request(cases[i].opcode, cases[i].bytes, 0, &sge);
        bool asks =
            cases[i].opcode >= RNIC_WR_RDMA_READ && cases[i].opcode <= RNIC_WR_ATOMIC_FETCH_AND_ADD;

        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), asks ? RNIC_ERR_INVAL : 0);
    }
    card_bench_close(&bench);

    open_bench(RNIC_QPT_RC);
    psn = bench.options.psn;
    /* so that nothing is carried out before it is looked at */
    card_write(a, 9, 0, 0, 8);
    qp_of(a->qpn)->replay.rnr_wait = true;
    psn++, ssn++;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rnic_sge sge;
        struct rnic_send_wr wr = request(cases[i].opcode, cases[i].bytes, 0, &sge);
        const struct rnic_wqe *wqe;

        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 1000), 0);
        wqe = rnic_ring_wqe(&qp_of(a->qpn)->sq, i + 1);
        CHECK_EQ(wqe->packets, cases[i].packets);
        CHECK_EQ(wqe->psn.v, psn & WIRE_PSN_MASK);
        CHECK_EQ(wqe->known_ps, 1777);
        if (cases[i].message)
            CHECK_EQ(wqe->ssn, ssn++);
        psn += cases[i].packets;
        CHECK_EQ(qp_of(a->qpn)->sq_end, i + 2);
    }
    CHECK(qp_of(a->qpn)->has_rules);
    qp_of(a->qpn)->replay.rnr_wait = false;
    card_bench_close(&bench);
}

/* A READ is in flight as a whole: 2^23 - 1 packets at most. */
static void lengths_by_opcode(void)
{
    static const struct {
        enum rnic_wr_opcode opcode;
        uint32_t bytes;
        uint32_t mtu;
        int err;
    } cases[] = {
        {RNIC_WR_RDMA_READ, 256u * 0x7FFFFF, 256, 0},
        {RNIC_WR_RDMA_READ, 256u * 0x7FFFFF + 1, 256, RNIC_ERR_INVAL},
        {RNIC_WR_RDMA_WRITE, 256u * 0x7FFFFF + 1, 256, 0},
        {RNIC_WR_RDMA_READ, 0x80000000u, 1024, 0},
        {RNIC_WR_RDMA_READ, 0x80000001u, 1024, RNIC_ERR_INVAL},
        {RNIC_WR_ATOMIC_CMP_AND_SWP, 7, 1024, RNIC_ERR_INVAL},
        {RNIC_WR_ATOMIC_CMP_AND_SWP, 8, 1024, 0},
        {RNIC_WR_ATOMIC_FETCH_AND_ADD, 9, 1024, RNIC_ERR_INVAL},
        {RNIC_WR_ATOMIC_FETCH_AND_ADD, 0, 1024, RNIC_ERR_INVAL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct card_options options = card_options_ideal();
        struct rnic_sge sge;
        struct rnic_send_wr wr;

        options.mtu_bytes = cases[i].mtu;
        options.rd_atomic = 1;
        card_bench_open(&bench, 2, &options);
        a->ready_classes = 0;
        wr = request(cases[i].opcode, cases[i].bytes, 0, &sge);
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), cases[i].err);
        CHECK_EQ(qp_of(a->qpn)->sq.head, cases[i].err == 0 ? 1 : 0);
        card_bench_close(&bench);
    }
}

/* ---- inline ---- */

static uint32_t inline_qp(uint32_t max_inline)
{
    const struct rnic_qp_init_attr init = {.pd = a->pd,
                                           .send_cq = a->send_cq,
                                           .recv_cq = a->recv_cq,
                                           .max_send_wr = 4,
                                           .max_recv_wr = 1,
                                           .max_send_sge = 3,
                                           .max_inline_data = max_inline};
    struct rnic_qp_attr attr = card_attr(a, &bench.cards[1], 9);
    uint32_t qpn;

    CARD_OK(a, rnic_create_qp(a->dev, &init, &qpn, 0));
    card_to_state(a, qpn, &attr, RNIC_QPS_RTS);
    return qpn;
}

/* Sums in 64 bits, the limit to the byte; nothing that reads. */
static void inline_limits(void)
{
    static uint8_t bytes[256];
    static const struct {
        enum rnic_wr_opcode opcode;
        uint32_t length[3];
        int err;
    } cases[] = {
        {RNIC_WR_SEND, {100, 100, 56}, 0},
        {RNIC_WR_SEND, {100, 100, 57}, RNIC_ERR_INVAL},
        {RNIC_WR_RDMA_WRITE, {256, 0, 0}, 0},
        {RNIC_WR_RDMA_WRITE, {257, 0, 0}, RNIC_ERR_INVAL},
        {RNIC_WR_SEND, {0x80000000u, 0x80000000u, 0}, RNIC_ERR_INVAL},
        {RNIC_WR_SEND, {0, 0, 0}, 0},
        {RNIC_WR_RDMA_READ, {8, 0, 0}, RNIC_ERR_INVAL},
        {RNIC_WR_ATOMIC_CMP_AND_SWP, {8, 0, 0}, RNIC_ERR_INVAL},
        {RNIC_WR_ATOMIC_FETCH_AND_ADD, {8, 0, 0}, RNIC_ERR_INVAL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rnic_sge sges[3];
        struct rnic_send_wr wr;
        uint32_t qpn;

        open_bench(RNIC_QPT_RC);
        qpn = inline_qp(256);
        wr = request(cases[i].opcode, 0, 0, &sges[0]);
        wr.send_flags = RNIC_SEND_INLINE;
        wr.num_sge = 3;
        for (uint32_t k = 0; k < 3; k++)
            sges[k] = (struct rnic_sge){(uintptr_t)bytes, cases[i].length[k], 0xBAD};
        CHECK_EQ(rnic_post_send(a->dev, qpn, &wr, 0), cases[i].err);
        card_bench_close(&bench);
    }
    open_bench(RNIC_QPT_RC); /* no inline asked for: none but nothing */
    {
        struct rnic_sge sge;
        struct rnic_send_wr wr = request(RNIC_WR_SEND, 1, 0, &sge);

        wr.send_flags = RNIC_SEND_INLINE;
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), RNIC_ERR_INVAL);
        sge.length = 0;
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
    }
    card_bench_close(&bench);
}

/* Each flag the header knows, and each it does not. */
static void flags(void)
{
    for (unsigned bit = 0; bit < 32; bit++) {
        struct rnic_sge sge;
        struct rnic_send_wr wr;

        open_bench(RNIC_QPT_RC);
        wr = request(RNIC_WR_SEND, 0, 0, &sge);
        wr.send_flags = 1u << bit;
        CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), bit < 4 ? 0 : RNIC_ERR_INVAL);
        if (bit < 4) {
            CHECK_EQ(rnic_ring_wqe(&qp_of(a->qpn)->sq, 0)->flags, 1 << bit);
            CHECK_EQ(qp_of(a->qpn)->has_rules, bit == 0);
        }
        card_bench_close(&bench);
    }
}

/* ---- UD ---- */

static void datagrams(void)
{
    uint32_t ah, foreign_ah, pd;
    struct rnic_av av = {.dest_station = 9, .next_hop = 8, .traffic_class = 0x20, .hop_limit = 5};
    const struct rnic_wqe *wqe;
    struct rnic_sge sge;
    struct rnic_send_wr wr;

    open_bench(RNIC_QPT_UD);
    CARD_OK(a, rnic_alloc_pd(a->dev, &pd, 0));
    CARD_OK(a, rnic_create_ah(a->dev, pd, &av, &foreign_ah, 0));
    CARD_OK(a, rnic_create_ah(a->dev, a->pd, &av, &ah, 0));
    wr = request(RNIC_WR_SEND, 2049, ah, &sge); /* beyond the MTU */
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), RNIC_ERR_INVAL);
    sge.length = 2048;
    wr.ud.remote_qpn = 1 << 24;
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), RNIC_ERR_INVAL);
    wr.ud.remote_qpn = 77;
    wr.ud.ah = 0;
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), RNIC_ERR_NOENT);
    wr.ud.ah = 99;
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), RNIC_ERR_NOENT);
    wr.ud.ah = foreign_ah; /* of another domain */
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), RNIC_ERR_NOENT);
    CHECK_EQ(qp_of(a->qpn)->sq.head, 0);
    wr.ud.ah = ah;
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
    CHECK_EQ(rnic_destroy_ah(a->dev, ah, 0), 0); /* the request keeps the address */
    wqe = rnic_ring_wqe(&qp_of(a->qpn)->sq, 0);
    CHECK_EQ(wqe->ud.path.dest_station, 9);
    CHECK_EQ(wqe->ud.path.next_hop, 8);
    CHECK_EQ(wqe->ud.path.tos, 0x20);
    CHECK_EQ(wqe->ud.path.ttl, 5);
    CHECK_EQ(wqe->ud.path.udp_sport, rnic_path_make(&av, a->qpn, 77).udp_sport);
    CHECK_EQ(wqe->ud.dest_qpn, 77);
    CHECK_EQ(wqe->ud.qkey, 5);
    CHECK_EQ(wqe->packets, 1);
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), RNIC_ERR_NOENT);
    wr.ud.ah = handle();
    wr.ud.remote_qkey = 0x80000000u; /* then it is the queue pair's own */
    CHECK_EQ(rnic_post_send(a->dev, a->qpn, &wr, 0), 0);
    wqe = rnic_ring_wqe(&qp_of(a->qpn)->sq, 1);
    CHECK_EQ(wqe->ud.qkey, CARD_QKEY);
    CHECK_EQ(wqe->psn.v, (bench.options.psn + 1) & WIRE_PSN_MASK);
    card_bench_close(&bench);
}

CHECK_SUITE(verbs_post, CHECK_CASE(what_each_service_offers),
            CHECK_CASE(every_request_has_its_numbers), CHECK_CASE(lengths_by_opcode),
            CHECK_CASE(inline_limits), CHECK_CASE(flags), CHECK_CASE(datagrams))
