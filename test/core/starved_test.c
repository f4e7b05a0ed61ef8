/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A card with no byte to spare: every request for memory fails once, wherever it stands, and what
 * failed has changed nothing.
 */
#include "card.h"
#include "rnic_internal.h"

#define OBJECTS 40u /* tables double their arrays several times */

static struct card_bench bench;
static struct card *const a = &bench.cards[0];
static unsigned refusals;
static void *blocks[16 * OBJECTS];
static size_t n_blocks;

static void drain(void)
{
    for (size_t bytes = (size_t)1 << 24; bytes >= 64; bytes /= 2)
        while (rnic_mem_alloc(&a->dev->mem, bytes) != NULL)
            continue;
}

/* Exactly what the last call was short of. */
static void feed_exactly(void)
{
    size_t bytes = rnic_mem_wanted(a->dev);
    void *block = aligned_alloc(64, bytes);

    CHECK(bytes >= 64 && block != NULL);
    CHECK(n_blocks < sizeof blocks / sizeof blocks[0]);
    blocks[n_blocks++] = block;
    rnic_mem_give(a->dev, block, bytes);
}

/* The call is refused until it has been given all it wants; @p number is not touched before. */
#define STARVED(number, call)                                                                      \
    do {                                                                                           \
        int err_;                                                                                  \
        unsigned tries_ = 0;                                                                       \
                                                                                                   \
        drain();                                                                                   \
        (number) = 0xABCDEF;                                                                       \
        while ((err_ = (call)) == RNIC_ERR_NOMEM) {                                                \
            CHECK_EQ(number, 0xABCDEF);                                                            \
            feed_exactly();                                                                        \
            refusals++;                                                                            \
            CHECK(++tries_ < 20);                                                                  \
        }                                                                                          \
        CHECK_EQ(err_, 0);                                                                         \
        CHECK(number != 0xABCDEF);                                                                 \
    } while (0)

/* Whatever it is given, there is a limit. */
#define LIMITED(call)                                                                              \
    do {                                                                                           \
        int err_;                                                                                  \
                                                                                                   \
        while ((err_ = (call)) == RNIC_ERR_NOMEM)                                                  \
            feed_exactly();                                                                        \
        CHECK_EQ(err_, RNIC_ERR_LIMIT);                                                            \
    } while (0)

static void open_bench(void)
{
    struct card_options options = card_options_ideal();

    options.params.max_qp = options.params.max_mr = options.params.max_cq = OBJECTS + 2;
    options.params.max_srq = OBJECTS;
    options.params.qp_cache_entries = options.params.mr_cache_entries = OBJECTS / 2;
    options.params.cq_cache_entries = options.params.page_cache_entries = OBJECTS / 2;
    card_bench_open(&bench, 2, &options);
    refusals = 0;
}

static void close_bench(void)
{
    card_bench_close(&bench);
    while (n_blocks > 0)
        free(blocks[--n_blocks]);
}

static void protection_domains(void)
{
    uint32_t pd[OBJECTS];

    open_bench();
    for (uint32_t i = 0; i < OBJECTS; i++) {
        STARVED(pd[i], rnic_alloc_pd(a->dev, &pd[i], 0));
        for (uint32_t j = 0; j < i; j++)
            CHECK(pd[j] != pd[i]);
    }
    CHECK(refusals > 0);
    for (uint32_t i = 0; i < OBJECTS; i++)
        CHECK_EQ(rnic_dealloc_pd(a->dev, pd[i], 0), 0);
    close_bench();
}

static void regions(void)
{
    uint32_t key[OBJECTS + 1];

    open_bench();
    for (uint32_t i = 0; i < OBJECTS + 1; i++) {
        /* A card has one region from the bench: no refusal has used one up. */
        STARVED(key[i], rnic_reg_mr(a->dev, a->pd, i, 100000, NULL, 0, &key[i], 0));
        for (uint32_t j = 0; j < i; j++)
            CHECK(key[j] != key[i]);
    }
    CHECK(refusals > 4);
    LIMITED(rnic_reg_mr(a->dev, a->pd, 0, 1, NULL, 0, &key[0], 0));
    for (uint32_t i = 0; i < OBJECTS + 1; i++)
        CHECK_EQ(rnic_dereg_mr(a->dev, key[i], 0), 0);
    close_bench();
}

static void completion_queues(void)
{
    uint32_t cq[OBJECTS];

    open_bench();
    for (uint32_t i = 0; i < OBJECTS; i++) {
        STARVED(cq[i], rnic_create_cq(a->dev, 16, &cq[i], 0));
        for (uint32_t j = 0; j < i; j++)
            CHECK(cq[j] != cq[i]);
    }
    CHECK(refusals > OBJECTS);
    LIMITED(rnic_create_cq(a->dev, 16, &cq[0], 0));
    for (uint32_t i = 0; i < OBJECTS; i++)
        CHECK_EQ(rnic_destroy_cq(a->dev, cq[i], 0), 0);
    close_bench();
}

/* Windows have slots of the table of regions. */
static void windows_and_lists_of_pages(void)
{
    static uint8_t page[4096];
    void *pages[3] = {page, page, page};
    uint32_t key[OBJECTS + 1];

    open_bench();
    for (uint32_t i = 0; i < OBJECTS + 1; i++) {
        if (i & 1)
            STARVED(key[i], rnic_alloc_mw(a->dev, a->pd, &key[i], 0));
        else
            STARVED(key[i], rnic_reg_mr_pages(a->dev, a->pd, 0, sizeof page * 3, sizeof page, pages,
                                              3, 0, &key[i], 0));
        for (uint32_t j = 0; j < i; j++)
            CHECK(key[j] != key[i]);
    }
    CHECK(refusals > OBJECTS / 2);
    LIMITED(rnic_alloc_mw(a->dev, a->pd, &key[0], 0));
    for (uint32_t i = 0; i < OBJECTS + 1; i++)
        CHECK_EQ(i & 1 ? rnic_dealloc_mw(a->dev, key[i], 0) : rnic_dereg_mr(a->dev, key[i], 0), 0);
    close_bench();
}

static void shared_receive_queues(void)
{
    struct rnic_srq_attr attr = {.max_wr = 8, .max_sge = 1};
    uint32_t srq[OBJECTS];

    open_bench();
    for (uint32_t i = 0; i < OBJECTS; i++) {
        STARVED(srq[i], rnic_create_srq(a->dev, a->pd, &attr, &srq[i], 0));
        for (uint32_t j = 0; j < i; j++)
            CHECK(srq[j] != srq[i]);
    }
    CHECK(refusals > OBJECTS);
    LIMITED(rnic_create_srq(a->dev, a->pd, &attr, &srq[0], 0));
    for (uint32_t i = 0; i < OBJECTS; i++)
        CHECK_EQ(rnic_destroy_srq(a->dev, srq[i], 0), 0);
    close_bench();
}

static void address_handles(void)
{
    struct rnic_av av = {.dest_station = 1, .next_hop = 1, .hop_limit = 64};
    uint32_t ah[OBJECTS];

    open_bench();
    for (uint32_t i = 0; i < OBJECTS; i++) {
        STARVED(ah[i], rnic_create_ah(a->dev, a->pd, &av, &ah[i], 0));
        for (uint32_t j = 0; j < i; j++)
            CHECK(ah[j] != ah[i]);
    }
    CHECK(refusals > 0);
    for (uint32_t i = 0; i < OBJECTS; i++)
        CHECK_EQ(rnic_destroy_ah(a->dev, ah[i], 0), 0);
    close_bench();
}

static void queue_pairs(void)
{
    struct rnic_qp_init_attr init = {
        .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1};
    uint32_t qpn[OBJECTS + 1];

    open_bench();
    init.pd = a->pd;
    init.send_cq = a->send_cq;
    init.recv_cq = a->recv_cq;
    for (uint32_t i = 0; i < OBJECTS + 1; i++) {
        STARVED(qpn[i], rnic_create_qp(a->dev, &init, &qpn[i], 0));
        for (uint32_t j = 0; j < i; j++)
            CHECK(qpn[j] != qpn[i]);
    }
    CHECK(refusals > OBJECTS);
    LIMITED(rnic_create_qp(a->dev, &init, &qpn[0], 0));
    for (uint32_t i = 0; i < OBJECTS + 1; i++)
        CHECK_EQ(rnic_destroy_qp(a->dev, qpn[i], 0), 0);

    /* And the bench's own pair works on. */
    card_write(a, 1, 0, 0, 5000);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    close_bench();
}

/* Resources for the peer's READs are taken when the queue pair gets ready to receive. */
static void modify_waits_for_memory(void)
{
    const unsigned mask = RNIC_QP_STATE | RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN |
                          RNIC_QP_RQ_PSN | RNIC_QP_MAX_DEST_RD_ATOMIC | RNIC_QP_MIN_RNR_TIMER;
    struct rnic_qp_attr attr;
    uint32_t qpn;
    int err;

    open_bench();
    qpn = card_new_qp(a, a->send_cq, a->recv_cq);
    attr = card_attr(a, &bench.cards[1], bench.cards[1].qpn);
    attr.max_dest_rd_atomic = 16;
    card_to_state(a, qpn, &attr, RNIC_QPS_INIT);
    attr.qp_state = RNIC_QPS_RTR;
    drain();
    while ((err = rnic_modify_qp(a->dev, qpn, &attr, mask, bench.now_ps)) == RNIC_ERR_NOMEM) {
        CHECK_EQ(card_state(a, qpn), RNIC_QPS_INIT);
        CHECK(++refusals < 20);
        feed_exactly();
    }
    CHECK_EQ(err, 0);
    CHECK(refusals > 0);
    CHECK_EQ(card_state(a, qpn), RNIC_QPS_RTR);
    close_bench();
}

/* The first object of a card needs room for its events, whatever it is. */
static void a_shared_receive_queue_before_anything_else(void)
{
    struct rnic_srq_attr attr = {.max_wr = 8, .max_sge = 1};
    const struct rnic_config config = {.params = rnic_params_ideal(),
                                       .cc = &rnic_cc_none,
                                       .cc_config = {.line_bps = 100000000000}};
    void *memory = aligned_alloc(64, (rnic_device_bytes() + 63) & ~(size_t)63);
    struct rnic_device *dev;
    uint32_t pd, srq = 0xABCDEF;

    CHECK(memory != NULL);
    dev = rnic_device_init(memory, &config);
    CHECK(dev != NULL);
    CHECK_EQ(rnic_alloc_pd(dev, &pd, 0), 0);
    while (rnic_mem_alloc(&dev->mem, 64) != NULL)
        continue;
    dev->events.cap = 0; /* as large as its traces alone: no event of an object fits */
    CHECK_EQ(rnic_create_srq(dev, pd, &attr, &srq, 0), RNIC_ERR_NOMEM);
    CHECK_EQ(srq, 0xABCDEF);
    CHECK_EQ(rnic_dealloc_pd(dev, pd, 0), 0); /* it holds nothing */
    free(memory);
}

/* No room for its place in the cache: the queue pair is not made. */
static void a_queue_pair_without_a_place_in_the_cache(void)
{
    const struct rnic_qp_init_attr init = {.max_send_wr = 8, .max_recv_wr = 8};
    struct rnic_table_qp table = {.cache = {.capacity = 4}};
    struct rnic_mem mem = {0};
    struct rnic_qp *qp = NULL;

    CHECK_EQ(rnic_table_qp_add(&table, &mem, 10, &init, &qp), RNIC_ERR_NOMEM);
    CHECK(qp == NULL);
    CHECK_EQ(table.live, 0);
    CHECK(mem.wanted > 0);
}

CHECK_SUITE(starved, CHECK_CASE(modify_waits_for_memory), CHECK_CASE(protection_domains),
            CHECK_CASE(regions), CHECK_CASE(windows_and_lists_of_pages),
            CHECK_CASE(completion_queues), CHECK_CASE(shared_receive_queues),
            CHECK_CASE(address_handles), CHECK_CASE(queue_pairs),
            CHECK_CASE(a_shared_receive_queue_before_anything_else),
            CHECK_CASE(a_queue_pair_without_a_place_in_the_cache))
