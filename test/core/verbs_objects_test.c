/* SPDX-License-Identifier: GPL-2.0-only */
/* Every error of the verbs of page lists, windows, address handles and shared receive queues. */
#include "card.h"
#include "rnic_internal.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0];

static void open_bench(void)
{
    struct card_options options = card_options_ideal();

    options.params.max_mr = 4;
    options.params.max_wr = 128;
    options.params.max_sge = 4;
    options.params.max_srq = 2;
    card_bench_open(&bench, 2, &options);
}

/* ---- lists of pages ---- */

static void lists_of_pages(void)
{
    static const struct {
        uint64_t va, length;
        uint32_t page_bytes, n_pages;
        unsigned access;
        int err;
    } cases[] = {
        {0x1000, 0x2000, 4096, 2, 0, 0},
        {0x1000, 0x2001, 4096, 3, 0, 0},
        {0x1FFF, 2, 4096, 2, 0, 0},
        {0x1FFF, 1, 4096, 1, 0, 0},
        {0x10000, 0x20000, 65536, 2, 0, 0},
        {0x1000, 0x2000, 4096, 1, 0, RNIC_ERR_INVAL},
        {0x1000, 0x2000, 4096, 3, 0, RNIC_ERR_INVAL},
        {0x1000, 0x2000, 4096, 0, 0, RNIC_ERR_INVAL},
        {0x1000, 0x2000, 2048, 4, 0, RNIC_ERR_INVAL},
        {0x1000, 0x2000, 0, 1, 0, RNIC_ERR_INVAL},
        {0, 24576, 12288, 2, 0, RNIC_ERR_INVAL}, /* no power of two */
        {0, 24576, 12288, 6, 0, RNIC_ERR_INVAL},
        {0x1000, 0, 4096, 0, 0, RNIC_ERR_INVAL},
        {0x1000, 0, 4096, 1, 0, RNIC_ERR_INVAL},
        {UINT64_MAX - 4095, 4097, 4096, 1, 0, RNIC_ERR_INVAL},
        {0x1000, 0x2000, 4096, 2, RNIC_ACCESS_REMOTE_WRITE, RNIC_ERR_INVAL},
    };
    static uint8_t bytes[4];
    void *const pages[4] = {&bytes[0], &bytes[1], &bytes[2], &bytes[3]};
    uint32_t key = 0, keys[3];

    open_bench();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        key = 0;
        if (cases[i].err == 0) {
            CARD_OK(a, rnic_reg_mr_pages(a->dev, a->pd, cases[i].va, cases[i].length,
                                         cases[i].page_bytes, pages, cases[i].n_pages,
                                         cases[i].access, &key, 0));
            CHECK_EQ(rnic_dereg_mr(a->dev, key, 0), 0);
            CHECK_EQ(rnic_dereg_mr(a->dev, key, 0), RNIC_ERR_NOENT);
            continue;
        }
        CHECK_EQ(rnic_reg_mr_pages(a->dev, a->pd, cases[i].va, cases[i].length, cases[i].page_bytes,
                                   pages, cases[i].n_pages, cases[i].access, &key, 0),
                 cases[i].err);
        CHECK_EQ(key, 0);
    }
    CHECK_EQ(rnic_reg_mr_pages(a->dev, a->pd, 0, 4096, 4096, NULL, 1, 0, &key, 0), RNIC_ERR_INVAL);
    CHECK_EQ(rnic_reg_mr_pages(a->dev, 77, 0, 4096, 4096, pages, 1, 0, &key, 0), RNIC_ERR_NOENT);
    for (uint32_t i = 0; i < 3; i++)
        CARD_OK(a, rnic_reg_mr_pages(a->dev, a->pd, 0, 4096, 4096, pages, 1, 0, &keys[i], 0));
    CHECK_EQ(rnic_reg_mr_pages(a->dev, a->pd, 0, 4096, 4096, pages, 1, 0, &key, 0), RNIC_ERR_LIMIT);
    card_bench_close(&bench);
}

/* Registered and gone again, the arena has its list back: it never asks for more. */
static void a_list_goes_back_to_the_arena(void)
{
    static void *pages[4096];
    uint32_t key;

    open_bench();
    CARD_OK(a, rnic_reg_mr_pages(a->dev, a->pd, 0, 4096 * 4096, 4096, pages, 4096, 0, &key, 0));
    for (uint32_t i = 0; i < 1000; i++) {
        CHECK_EQ(rnic_dereg_mr(a->dev, key, 0), 0);
        CHECK_EQ(rnic_reg_mr_pages(a->dev, a->pd, 0, 4096 * 4096, 4096, pages, 4096, 0, &key, 0),
                 0);
    }
    card_bench_close(&bench);
}

/* ---- windows ---- */

static struct rnic_mr *slot(uint32_t key)
{
    return a->dev->mrs.mr[key >> 8];
}

static void windows(void)
{
    uint32_t mw = 0, others[2], pd, region;

    open_bench();
    CHECK_EQ(rnic_alloc_mw(a->dev, 77, &mw, 0), RNIC_ERR_NOENT);
    CHECK_EQ(mw, 0);
    CARD_OK(a, rnic_alloc_pd(a->dev, &pd, 0));
    CARD_OK(a, rnic_alloc_mw(a->dev, pd, &mw, 0));
    CHECK_EQ(rnic_dealloc_pd(a->dev, pd, 0), RNIC_ERR_BUSY);
    CHECK_EQ(rnic_dereg_mr(a->dev, mw, 0), RNIC_ERR_NOENT);       /* no region */
    CHECK_EQ(rnic_dealloc_mw(a->dev, a->key, 0), RNIC_ERR_NOENT); /* no window */
    CHECK_EQ(rnic_dealloc_mw(a->dev, 0xFFFFFFFF, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_dealloc_mw(a->dev, mw ^ 0x80, 0), 0); /* any key of its slot */
    CHECK_EQ(rnic_dealloc_mw(a->dev, mw, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_dealloc_pd(a->dev, pd, 0), 0);
    CARD_OK(a, rnic_reg_mr(a->dev, a->pd, 0x1000, 0x1000, NULL, RNIC_ACCESS_MW_BIND, &region, 0));
    CARD_OK(a, rnic_alloc_mw(a->dev, a->pd, &others[0], 0));
    CARD_OK(a, rnic_alloc_mw(a->dev, a->pd, &others[1], 0));
    CHECK_EQ(rnic_alloc_mw(a->dev, a->pd, &mw, 0), RNIC_ERR_LIMIT); /* regions and windows */
    /* a region with a window bound to it stays */
    CHECK(rnic_table_mr_bind(&a->dev->mrs, a->pd, a->qpn, others[0], others[0] ^ 1, region, 0x1000,
                             16, RNIC_ACCESS_REMOTE_READ));
    CHECK_EQ(rnic_dereg_mr(a->dev, region, 0), RNIC_ERR_BUSY);
    CHECK(rnic_table_mr_find(&a->dev->mrs, region) != NULL);
    CHECK_EQ(rnic_dealloc_mw(a->dev, others[0], 0), 0);
    CHECK_EQ(rnic_dereg_mr(a->dev, region, 0), 0);
    card_bench_close(&bench);
}

/* The queue pair that bound a window goes: RESET or destroyed. */
static void windows_of_a_queue_pair_that_goes(void)
{
    for (uint32_t destroyed = 0; destroyed < 2; destroyed++) {
        const struct rnic_qp_attr attr = {.qp_state = RNIC_QPS_RESET};
        uint32_t mw, region;

        open_bench();
        CARD_OK(a, rnic_reg_mr(a->dev, a->pd, 0x1000, 64, NULL, RNIC_ACCESS_MW_BIND, &region, 0));
        CARD_OK(a, rnic_alloc_mw(a->dev, a->pd, &mw, 0));
        CHECK(rnic_table_mr_bind(&a->dev->mrs, a->pd, a->qpn, mw, mw, region, 0x1000, 16,
                                 RNIC_ACCESS_REMOTE_READ));
        if (destroyed)
            CHECK_EQ(rnic_destroy_qp(a->dev, a->qpn, 0), 0);
        else
            CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_STATE, 0), 0);
        CHECK(slot(mw)->region == NULL);
        CHECK_EQ(rnic_dereg_mr(a->dev, region, 0), 0);
        card_bench_close(&bench);
    }
}

/* A key that was given back is not the next one of its slot, window or region. */
static void keys_of_regions_and_windows_never_repeat(void)
{
    uint32_t key, last = 0;

    open_bench();
    for (uint32_t i = 0; i < 600; i++) {
        if (i % 3 == 0)
            CARD_OK(a, rnic_reg_mr(a->dev, a->pd, 0, 10, NULL, 0, &key, 0));
        else
            CARD_OK(a, rnic_alloc_mw(a->dev, a->pd, &key, 0));
        CHECK(key != last);
        CHECK(i == 0 || key >> 8 == last >> 8);
        CHECK(rnic_table_mr_find(&a->dev->mrs, last) == NULL || i == 0);
        CHECK_EQ(i % 3 == 0 ? rnic_dereg_mr(a->dev, key, 0) : rnic_dealloc_mw(a->dev, key, 0), 0);
        last = key;
    }
    card_bench_close(&bench);
}

/* ---- address handles ---- */

static void address_handles(void)
{
    struct rnic_av av = {.dest_station = 5, .hop_limit = 3};
    uint32_t ah = 0, pd;

    open_bench();
    CARD_OK(a, rnic_alloc_pd(a->dev, &pd, 0));
    CHECK_EQ(rnic_create_ah(a->dev, 77, &av, &ah, 0), RNIC_ERR_NOENT);
    av.hop_limit = 0;
    CHECK_EQ(rnic_create_ah(a->dev, pd, &av, &ah, 0), RNIC_ERR_INVAL);
    av.hop_limit = 3;
    av.ipv6 = av.roce_v1 = true;
    CHECK_EQ(rnic_create_ah(a->dev, pd, &av, &ah, 0), RNIC_ERR_INVAL);
    CHECK_EQ(ah, 0);
    av.roce_v1 = false;
    CARD_OK(a, rnic_create_ah(a->dev, pd, &av, &ah, 0));
    CHECK_EQ(rnic_table_ah_find(&a->dev->ahs, ah)->av.dest_station, 5);
    CHECK_EQ(rnic_dealloc_pd(a->dev, pd, 0), RNIC_ERR_BUSY);
    CHECK_EQ(rnic_destroy_ah(a->dev, ah, 0), 0);
    CHECK_EQ(rnic_destroy_ah(a->dev, ah, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_destroy_ah(a->dev, 0, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_dealloc_pd(a->dev, pd, 0), 0);
    card_bench_close(&bench);
}

/* ---- shared receive queues ---- */

static void creating_shared_receive_queues(void)
{
    static const struct {
        struct rnic_srq_attr attr;
        int err;
    } cases[] = {{{.max_wr = 0}, RNIC_ERR_INVAL},
                 {{.max_wr = 129}, RNIC_ERR_INVAL},
                 {{.max_wr = 1, .max_sge = 5}, RNIC_ERR_INVAL},
                 {{.max_wr = 3, .limit = 4}, RNIC_ERR_INVAL},
                 {{.max_wr = 128, .max_sge = 4, .limit = 128}, 0}};
    const struct rnic_srq_attr one = {.max_wr = 1};
    uint32_t srq = 0, pd, other;

    open_bench();
    CARD_OK(a, rnic_alloc_pd(a->dev, &pd, 0));
    CHECK_EQ(rnic_create_srq(a->dev, 77, &one, &srq, 0), RNIC_ERR_NOENT);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].err == 0) {
            CARD_OK(a, rnic_create_srq(a->dev, pd, &cases[i].attr, &srq, 0));
            continue;
        }
        CHECK_EQ(rnic_create_srq(a->dev, pd, &cases[i].attr, &srq, 0), cases[i].err);
        CHECK_EQ(srq, 0);
    }
    CARD_OK(a, rnic_create_srq(a->dev, pd, &one, &other, 0));
    CHECK_EQ(rnic_create_srq(a->dev, pd, &one, &srq, 0), RNIC_ERR_LIMIT);
    CHECK_EQ(rnic_dealloc_pd(a->dev, pd, 0), RNIC_ERR_BUSY);
    CHECK_EQ(rnic_destroy_srq(a->dev, srq, 0), 0);
    CHECK_EQ(rnic_destroy_srq(a->dev, srq, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_destroy_srq(a->dev, 0, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_destroy_srq(a->dev, other, 0), 0);
    CHECK_EQ(rnic_dealloc_pd(a->dev, pd, 0), 0);
    card_bench_close(&bench);
}

static void posting_and_asking_shared_receive_queues(void)
{
    const struct rnic_srq_attr attr = {.max_wr = 3, .max_sge = 2, .limit = 1};
    const struct rnic_sge sges[3] = {{1, 0x80000000u, 0}, {2, 1, 0}, {3, 0, 0}};
    struct rnic_recv_wr wr = {.sg_list = sges, .num_sge = 1};
    struct rnic_srq_attr got;
    uint32_t srq, queued = 9;

    open_bench();
    CARD_OK(a, rnic_create_srq(a->dev, a->pd, &attr, &srq, 0));
    CHECK_EQ(rnic_query_srq(a->dev, srq, &got, &queued), 0);
    CHECK_EQ(got.max_wr, 4); /* rounded up */
    CHECK_EQ(got.max_sge, 2);
    CHECK_EQ(got.limit, 1);
    CHECK_EQ(queued, 0);
    CHECK_EQ(rnic_modify_srq(a->dev, srq, 5, 0), RNIC_ERR_INVAL);
    CHECK_EQ(rnic_modify_srq(a->dev, srq, 4, 0), 0);
    CHECK_EQ(rnic_query_srq(a->dev, srq, &got, NULL), 0);
    CHECK_EQ(got.limit, 4);
    CHECK_EQ(rnic_modify_srq(a->dev, srq, 0, 0), 0);
    wr.num_sge = 3;
    CHECK_EQ(rnic_post_srq_recv(a->dev, srq, &wr, 0), RNIC_ERR_INVAL);
    wr.num_sge = 2; /* one byte too many in all */
    CHECK_EQ(rnic_post_srq_recv(a->dev, srq, &wr, 0), RNIC_ERR_INVAL);
    wr.num_sge = 1;
    wr.sg_list = NULL;
    CHECK_EQ(rnic_post_srq_recv(a->dev, srq, &wr, 0), RNIC_ERR_INVAL);
    wr.sg_list = sges;
    for (uint32_t i = 0; i < 4; i++)
        CHECK_EQ(rnic_post_srq_recv(a->dev, srq, &wr, 0), 0);
    CHECK_EQ(rnic_post_srq_recv(a->dev, srq, &wr, 0), RNIC_ERR_FULL);
    CHECK_EQ(rnic_query_srq(a->dev, srq, NULL, &queued), 0);
    CHECK_EQ(queued, 4);
    CHECK_EQ(rnic_post_srq_recv(a->dev, srq + 1, &wr, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_modify_srq(a->dev, srq + 1, 0, 0), RNIC_ERR_NOENT);
    CHECK_EQ(rnic_query_srq(a->dev, srq + 1, &got, &queued), RNIC_ERR_NOENT);
    card_bench_close(&bench);
}

/* Every event that must not be lost has its place, however many objects there are. */
static void events_have_room(void)
{
    const struct rnic_srq_attr attr = {.max_wr = 1};
    uint32_t number;

    open_bench();
    CHECK(a->dev->events.reserved >= 6 * 1 + 2 * 2);
    for (uint32_t i = 0; i < 30; i++) {
        CARD_OK(a, rnic_create_cq(a->dev, 1, &number, 0));
        number = card_new_qp(a, a->send_cq, a->recv_cq);
    }
    CHECK(a->dev->events.reserved >= 6 * 31 + 2 * 32);
    CARD_OK(a, rnic_create_srq(a->dev, a->pd, &attr, &number, 0));
    CHECK(a->dev->events.reserved >= 6 * 31 + 2 * 32 + 1);
    CHECK(a->dev->events.cap >= a->dev->events.reserved + RNIC_CQ_EVENT_TRACES);
    card_bench_close(&bench);
}

/* A limit event nobody took goes with its queue. */
static void a_limit_event_goes_with_its_queue(void)
{
    const struct rnic_srq_attr attr = {.max_wr = 1, .limit = 1};
    struct rnic_event event;
    uint32_t srq;

    open_bench();
    CARD_OK(a, rnic_create_srq(a->dev, a->pd, &attr, &srq, 0));
    rnic_cq_event_push(&a->dev->events,
                       &(struct rnic_event){.type = RNIC_EVENT_SRQ_LIMIT, .srq = srq});
    CHECK_EQ(rnic_destroy_srq(a->dev, srq, 0), 0);
    CHECK(!rnic_event(a->dev, WIRE_NEVER / 2, &event));
    card_bench_close(&bench);
}

CHECK_SUITE(verbs_objects, CHECK_CASE(lists_of_pages), CHECK_CASE(a_list_goes_back_to_the_arena),
            CHECK_CASE(windows), CHECK_CASE(windows_of_a_queue_pair_that_goes),
            CHECK_CASE(keys_of_regions_and_windows_never_repeat), CHECK_CASE(address_handles),
            CHECK_CASE(creating_shared_receive_queues),
            CHECK_CASE(posting_and_asking_shared_receive_queues), CHECK_CASE(events_have_room),
            CHECK_CASE(a_limit_event_goes_with_its_queue))
