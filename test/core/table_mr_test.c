/* SPDX-License-Identifier: GPL-2.0-only */
/* Keys and regions: who may touch which byte. */
#include "check.h"
#include "rnic_table_mr.h"

static struct rnic_mem mem;
static struct rnic_table_mr table;
static void *memory;

static void begin(void)
{
    memory = aligned_alloc(64, 1 << 20);
    CHECK(memory != NULL);
    mem = (struct rnic_mem){0};
    table = (struct rnic_table_mr){0};
    rnic_mem_add(&mem, memory, 1 << 20);
}

static struct rnic_mr *region(uint32_t pd, uint64_t va, uint64_t length, uint32_t access)
{
    struct rnic_mr *mr;

    CHECK_EQ(rnic_table_mr_add(&table, &mem, 1000, &mr), 0);
    mr->pd = pd;
    mr->va = va;
    mr->length = length;
    mr->access = access;
    return mr;
}

/* A slot that is used again has another key. */
static void a_key_is_never_the_one_its_slot_had_before(void)
{
    uint32_t before = 0;
    bool seen[256] = {false};

    begin();
    for (uint32_t i = 0; i < 256; i++) {
        struct rnic_mr *mr = region(1, 0, 10, 0);
        uint32_t key = mr->key;

        CHECK(key != before);
        CHECK(!seen[key & 0xFF]); /* all variants are used before one comes again */
        seen[key & 0xFF] = true;
        CHECK(rnic_table_mr_find(&table, key) == mr);
        CHECK(rnic_table_mr_find(&table, before) == NULL || i == 0);
        rnic_table_mr_remove(&table, mr);
        CHECK(rnic_table_mr_find(&table, key) == NULL);
        before = key;
    }
    CHECK_EQ(table.n, 1); /* the slot was used again each time */
    free(memory);
}

static void only_the_whole_key_opens_a_region(void)
{
    struct rnic_mr *mr[5];

    begin();
    for (uint32_t i = 0; i < 5; i++)
        mr[i] = region(1, 0, 10, 0);
    for (uint32_t i = 0; i < 5; i++)
        for (uint32_t bit = 0; bit < 32; bit++)
            CHECK(rnic_table_mr_find(&table, mr[i]->key ^ 1u << bit) != mr[i]);
    CHECK(rnic_table_mr_find(&table, 0xFFFFFFFF) == NULL);
    free(memory);
}

static void bounds_to_the_byte(void)
{
    static const struct {
        uint64_t va, bytes;
        bool inside;
    } cases[] = {
        {0x1000, 1, true},          {0x1000, 0x1000, true},
        {0x1FFF, 1, true},          {0x1FFF, 2, false},
        {0x2000, 1, false},         {0xFFF, 1, false},
        {0xFFF, 2, false},          {0x1000, 0x1001, false},
        {0x1001, 0x1000, false},    {0, UINT64_MAX, false},
        {UINT64_MAX, 1, false},     {0x1000, UINT64_MAX, false},
        {UINT64_MAX - 1, 8, false}, {0x1800, UINT64_MAX - 0x7FF, false},
    };
    struct rnic_mr *mr;

    begin();
    mr = region(1, 0x1000, 0x1000, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_EQ(rnic_table_mr_check(&table, mr->key, 1, 7, 0, cases[i].va, cases[i].bytes) == mr,
                 cases[i].inside);
    free(memory);
}

static void every_permission_and_the_domain(void)
{
    begin();
    for (uint32_t has = 0; has < 16; has++) {
        struct rnic_mr *mr = region(3, 0, 100, has);

        for (uint32_t asks = 0; asks < 16; asks++)
            for (uint32_t pd = 2; pd < 5; pd++)
                CHECK_EQ(rnic_table_mr_check(&table, mr->key, pd, 7, asks, 0, 100) != NULL,
                         pd == 3 && (has & asks) == asks);
    }
    free(memory);
}

static void domains_come_and_go(void)
{
    uint32_t pd[3], again;

    begin();
    for (uint32_t i = 0; i < 3; i++)
        CHECK_EQ(rnic_table_mr_pd_alloc(&table, &mem, &pd[i]), 0);
    CHECK(pd[0] != pd[1] && pd[1] != pd[2] && pd[0] != 0);
    rnic_table_mr_pd(&table, pd[1])->refs++;
    CHECK_EQ(rnic_table_mr_pd_free(&table, pd[1]), RNIC_ERR_BUSY);
    rnic_table_mr_pd(&table, pd[1])->refs--;
    CHECK_EQ(rnic_table_mr_pd_free(&table, pd[1]), 0);
    CHECK(rnic_table_mr_pd(&table, pd[1]) == NULL);
    CHECK_EQ(rnic_table_mr_pd_alloc(&table, &mem, &again), 0);
    CHECK_EQ(again, pd[1]);
    CHECK_EQ(rnic_table_mr_pd(&table, again)->refs, 0);
    free(memory);
}

static void the_limit_and_the_arena_are_named(void)
{
    struct rnic_mem empty = {0};
    struct rnic_mr *mr;
    uint32_t pd;

    begin();
    CHECK_EQ(rnic_table_mr_add(&table, &mem, 1, &mr), 0);
    CHECK_EQ(rnic_table_mr_add(&table, &mem, 1, &mr), RNIC_ERR_LIMIT);
    table = (struct rnic_table_mr){0};
    CHECK_EQ(rnic_table_mr_add(&table, &empty, 1, &mr), RNIC_ERR_NOMEM);
    CHECK_EQ(rnic_table_mr_pd_alloc(&table, &empty, &pd), RNIC_ERR_NOMEM);
    CHECK_EQ(table.live, 0);
    free(memory);
}

/* ---- windows ---- */

#define PD 3u
#define QPN 40u
#define ALL                                                                                        \
    (RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |                \
     RNIC_ACCESS_REMOTE_ATOMIC | RNIC_ACCESS_MW_BIND)

static struct rnic_mr *window(uint32_t pd)
{
    struct rnic_mr *mr = region(pd, 0, 0, 0);

    mr->is_window = true;
    return mr;
}

/* Bind all of a window but `length` bytes from 0x1100 of `over` with variant `variant`. */
static bool bind(struct rnic_mr *mw, const struct rnic_mr *over, uint8_t variant, uint64_t length,
                 uint32_t access)
{
    return rnic_table_mr_bind(&table, PD, QPN, mw->key, (mw->key & ~0xFFu) | variant, over->key,
                              0x1100, length, access);
}

static struct rnic_mr *opened(uint32_t key, uint32_t qpn, uint32_t access, uint64_t va,
                              uint64_t bytes)
{
    return rnic_table_mr_check(&table, key, PD, qpn, access, va, bytes);
}

static void a_window_opens_its_part_of_a_region(void)
{
    struct rnic_mr *over, *mw;
    uint32_t before;

    begin();
    over = region(PD, 0x1000, 0x1000, ALL);
    mw = window(PD);
    before = mw->key;
    CHECK(opened(before, QPN, 0, 0, 0) == NULL); /* unbound: nothing */
    CHECK(opened(before, QPN, 0, 0x1100, 1) == NULL);
    CHECK(bind(mw, over, 0x77, 0x100, RNIC_ACCESS_REMOTE_READ));
    CHECK_EQ(mw->key & 0xFF, 0x77);
    CHECK_EQ(over->windows, 1);
    CHECK(opened(before, QPN, 0, 0x1100, 1) == NULL); /* the old key is gone */
    CHECK(opened(mw->key, QPN, RNIC_ACCESS_REMOTE_READ, 0x1100, 0x100) == over);
    CHECK(opened(mw->key, QPN, RNIC_ACCESS_REMOTE_READ, 0x1100, 0x101) == NULL);
    CHECK(opened(mw->key, QPN, RNIC_ACCESS_REMOTE_READ, 0x10FF, 1) == NULL);
    CHECK(opened(mw->key, QPN, RNIC_ACCESS_REMOTE_WRITE, 0x1100, 1) == NULL);
    CHECK(opened(mw->key, QPN + 1, RNIC_ACCESS_REMOTE_READ, 0x1100, 1) == NULL);
    CHECK(opened(mw->key, RNIC_QPN_LOCAL, 0, 0x1100, 1) == NULL); /* no lkey */
    CHECK(rnic_table_mr_check(&table, mw->key, PD + 1, QPN, 0, 0x1100, 1) == NULL);
    /* bound anew: elsewhere, other rights; the region counts it once */
    CHECK(bind(mw, over, 0x78, 0x80, RNIC_ACCESS_REMOTE_WRITE));
    CHECK_EQ(over->windows, 1);
    CHECK(opened(mw->key, QPN, RNIC_ACCESS_REMOTE_WRITE, 0x1100, 0x80) == over);
    CHECK(opened(mw->key, QPN, RNIC_ACCESS_REMOTE_READ, 0x1100, 1) == NULL);
    /* length 0: unbound, and the key is the new one */
    CHECK(bind(mw, over, 0x79, 0, 0));
    CHECK_EQ(mw->key & 0xFF, 0x79);
    CHECK_EQ(over->windows, 0);
    CHECK(opened(mw->key, QPN, 0, 0x1100, 1) == NULL);
    CHECK_EQ(table.bound, 0);
    free(memory);
}

/* Each reason to refuse a bind; nothing has changed then. */
static void a_bind_refused_changes_nothing(void)
{
    static const struct {
        const char *why;
        uint32_t has;             /* the region */
        uint32_t pd, qpn;         /* who asks */
        uint32_t mw_xor, key_xor; /* spoil the keys */
        uint32_t region_xor;
        uint64_t va, length;
        uint32_t access;
        bool fine;
    } cases[] = {
        {"good", ALL, PD, QPN, 0, 1, 0, 0x1000, 0x1000, RNIC_ACCESS_REMOTE_WRITE, true},
        {"the same variant", ALL, PD, QPN, 0, 0, 0, 0x1000, 8, RNIC_ACCESS_REMOTE_READ, true},
        {"unbinds", ALL, PD, QPN, 0, 1, 0x100, 0, 0, 0, true},
        {"the window's key", ALL, PD, QPN, 2, 1, 0, 0x1000, 8, 0, false},
        {"another slot", ALL, PD, QPN, 0, 0x100, 0, 0x1000, 8, 0, false},
        {"the region's key", ALL, PD, QPN, 0, 1, 4, 0x1000, 8, 0, false},
        {"domain", ALL, PD + 1, QPN, 0, 1, 0, 0x1000, 8, 0, false},
        {"unbound by another domain", ALL, PD + 1, QPN, 0, 1, 0, 0, 0, 0, false},
        {"another queue pair's", ALL, PD, QPN + 1, 0, 1, 0, 0x1000, 8, 0, false},
        {"no MW_BIND", ALL & ~16u, PD, QPN, 0, 1, 0, 0x1000, 8, RNIC_ACCESS_REMOTE_READ, false},
        {"no LOCAL_WRITE", RNIC_ACCESS_MW_BIND, PD, QPN, 0, 1, 0, 0x1000, 8,
         RNIC_ACCESS_REMOTE_WRITE, false},
        {"no LOCAL_WRITE", RNIC_ACCESS_MW_BIND, PD, QPN, 0, 1, 0, 0x1000, 8,
         RNIC_ACCESS_REMOTE_ATOMIC, false},
        {"reads need none", RNIC_ACCESS_MW_BIND, PD, QPN, 0, 1, 0, 0x1000, 8,
         RNIC_ACCESS_REMOTE_READ, true},
        {"local access", ALL, PD, QPN, 0, 1, 0, 0x1000, 8, RNIC_ACCESS_LOCAL_WRITE, false},
        {"one too long", ALL, PD, QPN, 0, 1, 0, 0x1001, 0x1000, 0, false},
        {"before it", ALL, PD, QPN, 0, 1, 0, 0xFFF, 8, 0, false},
        {"wraps", ALL, PD, QPN, 0, 1, 0, 0x1800, UINT64_MAX - 0x7FF, 0, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rnic_mr *over, *mw, before;

        begin();
        over = region(PD, 0x1000, 0x1000, cases[i].has | RNIC_ACCESS_MW_BIND);
        mw = window(PD);
        CHECK(bind(mw, over, 9, 0x20, RNIC_ACCESS_REMOTE_READ)); /* bound by QPN before */
        over->access = cases[i].has;
        before = *mw;
        CHECK_EQ(rnic_table_mr_bind(&table, cases[i].pd, cases[i].qpn, mw->key ^ cases[i].mw_xor,
                                    mw->key ^ cases[i].key_xor, over->key ^ cases[i].region_xor,
                                    cases[i].va, cases[i].length, cases[i].access),
                 cases[i].fine);
        if (!cases[i].fine) {
            CHECK_EQ(mw->key, before.key);
            CHECK(mw->region == over && mw->va == before.va && mw->length == before.length);
            CHECK_EQ(mw->access, before.access);
            CHECK_EQ(mw->qpn, QPN);
        }
        CHECK_EQ(over->windows, cases[i].fine && cases[i].length == 0 ? 0 : 1);
        free(memory);
    }
}

/* A window on a window, and a region where a window is asked for. */
static void a_window_is_no_region(void)
{
    struct rnic_mr *over, *mw, *other;

    begin();
    over = region(PD, 0x1000, 0x1000, ALL);
    mw = window(PD);
    other = window(PD);
    CHECK(bind(mw, over, 9, 0x800, RNIC_ACCESS_REMOTE_READ));
    mw->access |= RNIC_ACCESS_MW_BIND; /* not even then */
    CHECK(!bind(other, mw, 9, 8, RNIC_ACCESS_REMOTE_READ));
    CHECK(!bind(over, over, 9, 8, RNIC_ACCESS_REMOTE_READ));
    free(memory);
}

/* The whole key counts, not only its index or its last byte. */
static void invalidate_wants_the_whole_key_of_the_binder(void)
{
    struct rnic_mr *over, *mw;

    begin();
    over = region(PD, 0x1000, 0x1000, ALL);
    mw = window(PD);
    CHECK(!rnic_table_mr_invalidate(&table, PD, QPN, mw->key)); /* unbound */
    CHECK(bind(mw, over, 5, 0x100, RNIC_ACCESS_REMOTE_READ));
    CHECK(!rnic_table_mr_invalidate(&table, PD, QPN, mw->key ^ 3));
    CHECK(!rnic_table_mr_invalidate(&table, PD, QPN + 1, mw->key));
    CHECK(!rnic_table_mr_invalidate(&table, PD + 1, QPN, mw->key));
    CHECK(!rnic_table_mr_invalidate(&table, PD, QPN, over->key)); /* no window */
    CHECK(opened(mw->key, QPN, RNIC_ACCESS_REMOTE_READ, 0x1100, 1) == over);
    CHECK(rnic_table_mr_invalidate(&table, PD, QPN, mw->key));
    CHECK(opened(mw->key, QPN, RNIC_ACCESS_REMOTE_READ, 0x1100, 1) == NULL);
    CHECK(!rnic_table_mr_invalidate(&table, PD, QPN, mw->key));
    CHECK_EQ(over->windows, 0);
    CHECK(bind(mw, over, 6, 0x100, RNIC_ACCESS_REMOTE_READ)); /* and it can be bound again */
    free(memory);
}

static void a_queue_pair_that_goes_unbinds_its_windows(void)
{
    struct rnic_mr *over, *mw[3];

    begin();
    rnic_table_mr_remove(&table, region(PD, 0, 10, 0)); /* a slot in no use ... */
    over = region(PD, 0x1000, 0x1000, ALL);
    for (uint32_t i = 0; i < 3; i++) {
        if (i == 2)
            rnic_table_mr_remove(&table, region(PD, 0, 10, 0)); /* ... is used again, as all are */
        mw[i] = window(PD);
        CHECK(rnic_table_mr_bind(&table, PD, QPN + i % 2, mw[i]->key, mw[i]->key, over->key, 0x1000,
                                 8, RNIC_ACCESS_REMOTE_READ));
    }
    rnic_table_mr_remove(&table, region(PD, 0, 10, 0));
    rnic_table_mr_unbind_qp(&table, QPN + 2); /* has none */
    CHECK_EQ(over->windows, 3);
    rnic_table_mr_unbind_qp(&table, QPN);
    CHECK_EQ(over->windows, 1);
    CHECK(opened(mw[1]->key, QPN + 1, 0, 0x1000, 8) == over);
    CHECK(opened(mw[0]->key, QPN, 0, 0x1000, 8) == NULL);
    rnic_table_mr_remove(&table, mw[1]); /* a window that goes is unbound */
    CHECK_EQ(over->windows, 0);
    free(memory);
}

/* Whatever a bind chose, the next owner of the slot has another key, as region or as window. */
static void a_key_is_never_the_one_a_bind_chose(void)
{
    for (uint32_t chosen = 0; chosen < 256; chosen++) {
        struct rnic_mr *over, *mw, *next;
        uint32_t last;

        begin();
        over = region(PD, 0x1000, 0x1000, ALL);
        mw = window(PD);
        CHECK(bind(mw, over, (uint8_t)chosen, 8, RNIC_ACCESS_REMOTE_READ));
        last = mw->key;
        rnic_table_mr_remove(&table, mw);
        next = chosen & 1 ? window(PD) : region(PD, 0, 10, 0);
        CHECK(next == mw); /* the slot */
        CHECK(next->key != last);
        CHECK(next->region == NULL && next->windows == 0);
        CHECK_EQ(next->is_window, chosen & 1);
        free(memory);
    }
}

/* ---- lists of host pages ---- */

static void a_list_of_pages_is_a_copy(void)
{
    uint8_t bytes[4];
    void *list[3] = {&bytes[0], NULL, &bytes[2]};
    struct rnic_mem empty = {0};
    struct rnic_mr *mr;

    begin();
    CHECK_EQ(rnic_table_mr_pages(0x1000, 0x1000, 4096), 1);
    CHECK_EQ(rnic_table_mr_pages(0x1001, 0x1000, 4096), 2);
    CHECK_EQ(rnic_table_mr_pages(0x1FFF, 1, 4096), 1);
    CHECK_EQ(rnic_table_mr_pages(0x1FFF, 2, 4096), 2);
    mr = region(PD, 0x1800, 0x2000, 0);
    CHECK(!rnic_table_mr_list(&empty, mr, 4096, list, 3));
    CHECK(mr->host_pages == NULL);
    CHECK(rnic_table_mr_mapped(mr, 0x1800, 0x2000)); /* no list: all of it */
    CHECK(rnic_table_mr_list(&mem, mr, 4096, list, 3));
    list[0] = list[2] = NULL;
    CHECK(mr->host_pages[0] == &bytes[0] && mr->host_pages[2] == &bytes[2]);
    CHECK_EQ(rnic_table_mr_page(mr, 0x1FFF), 0);
    CHECK_EQ(rnic_table_mr_page(mr, 0x2000), 1);
    CHECK(rnic_table_mr_mapped(mr, 0x1800, 0x800));
    CHECK(!rnic_table_mr_mapped(mr, 0x1800, 0x801));
    CHECK(!rnic_table_mr_mapped(mr, 0x2FFF, 1));
    CHECK(rnic_table_mr_mapped(mr, 0x3000, 0x800));
    CHECK(rnic_table_mr_mapped(mr, 0x2000, 0)); /* nothing */
    rnic_table_mr_unlist(&mem, mr);
    CHECK(mr->host_pages == NULL);
    rnic_table_mr_remove(&table, mr);
    free(memory);
}

/* 65,536 regions, half of them gone and come again: each step a few instructions. */
static void many_regions_come_and_go(void)
{
    static struct rnic_mr *mr[65536];
    void *big = aligned_alloc(64, 64u << 20);

    CHECK(big != NULL);
    mem = (struct rnic_mem){0};
    table = (struct rnic_table_mr){0};
    rnic_mem_add(&mem, big, 64u << 20);
    for (uint32_t i = 0; i < 65536; i++)
        CHECK_EQ(rnic_table_mr_add(&table, &mem, 65536, &mr[i]), 0);
    CHECK_EQ(rnic_table_mr_add(&table, &mem, 65536, &mr[0]), RNIC_ERR_LIMIT);
    for (uint32_t round = 0; round < 4; round++) {
        for (uint32_t i = round & 1; i < 65536; i += 2)
            rnic_table_mr_remove(&table, mr[i]);
        CHECK_EQ(table.live, 32768);
        for (uint32_t i = round & 1; i < 65536; i += 2)
            CHECK_EQ(rnic_table_mr_add(&table, &mem, 65536, &mr[i]), 0);
    }
    CHECK_EQ(table.n, 65536);
    for (uint32_t i = 0; i < 65536; i++)
        CHECK(rnic_table_mr_find(&table, mr[i]->key) == mr[i]);
    free(big);
}

CHECK_SUITE(table_mr, CHECK_CASE(a_key_is_never_the_one_its_slot_had_before),
            CHECK_CASE(only_the_whole_key_opens_a_region), CHECK_CASE(bounds_to_the_byte),
            CHECK_CASE(every_permission_and_the_domain), CHECK_CASE(domains_come_and_go),
            CHECK_CASE(the_limit_and_the_arena_are_named),
            CHECK_CASE(a_window_opens_its_part_of_a_region),
            CHECK_CASE(a_bind_refused_changes_nothing), CHECK_CASE(a_window_is_no_region),
            CHECK_CASE(invalidate_wants_the_whole_key_of_the_binder),
            CHECK_CASE(a_queue_pair_that_goes_unbinds_its_windows),
            CHECK_CASE(a_key_is_never_the_one_a_bind_chose), CHECK_CASE(a_list_of_pages_is_a_copy),
            CHECK_CASE(many_regions_come_and_go))
