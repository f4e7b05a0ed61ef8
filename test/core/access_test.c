/* SPDX-License-Identifier: GPL-2.0-only */
/* Access to registered memory, on the tables alone: what is refused moves no byte. */
#include "check.h"
#include "rnic_access.h"
#include "wire_rng.h"

#define REGION 8192u
#define SEED 11u

static struct rnic_mem mem;
static struct rnic_table_mr mrs;
static struct rnic_table_page pages;
static struct rnic_dma dma;
static uint64_t atomics[RNIC_ACCESS_ATOMICS];
static const struct rnic_access_path path = {&mrs, &pages, &dma, atomics};
static void *memory;
static uint8_t host[3][REGION];
static uint32_t key[3], pd;
static struct rnic_access_peer peer, stranger;

/* Three regions of one domain; the second is read-only, the third phantom. */
static void begin(void)
{
    struct rnic_params params = rnic_params_ideal();

    memory = aligned_alloc(64, 65536);
    CHECK(memory != NULL);
    mem = (struct rnic_mem){0};
    mrs = (struct rnic_table_mr){0};
    pages = (struct rnic_table_page){.page_shift = 12};
    rnic_mem_add(&mem, memory, 65536);
    rnic_dma_init(&dma, &params);
    memset(atomics, 0, sizeof atomics);
    CHECK_EQ(rnic_table_mr_pd_alloc(&mrs, &mem, &pd), 0);
    peer = (struct rnic_access_peer){.pd = pd, .qpn = 40};
    stranger = (struct rnic_access_peer){.pd = pd + 1, .qpn = 40};
    for (uint32_t i = 0; i < 3; i++) {
        struct rnic_mr *mr;

        CHECK_EQ(rnic_table_mr_add(&mrs, &mem, 10, &mr), 0);
        mr->va = 0x10000 * (i + 1);
        mr->length = REGION;
        mr->host = i < 2 ? host[i] : NULL;
        mr->pd = pd;
        mr->access = i == 1 ? 0
                            : RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |
                                  RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC |
                                  RNIC_ACCESS_MW_BIND;
        CHECK(rnic_table_page_add(&pages, &mem, mr));
        key[i] = mr->key;
        for (uint32_t k = 0; k < REGION; k++)
            host[i][k] = (uint8_t)(k * 7 + i);
    }
}

static void end(void)
{
    free(memory);
}

/* Any cut of any list gives the bytes that a plain walk over the list gives. */
static void a_gather_is_the_concatenation_of_its_list(void)
{
    struct wire_rng rng = wire_rng_init(SEED, 0);
    static uint8_t whole[65536], got[65536];

    printf("seed %u\n", SEED);
    begin();
    for (uint32_t round = 0; round < 3000; round++) {
        struct rnic_sge sges[6];
        uint32_t n = 1 + (uint32_t)(wire_rng_next(&rng) % 6), total = 0, offset, bytes;
        uint64_t done_ps = 5;
        bool backed;

        for (uint32_t i = 0; i < n; i++) {
            uint32_t r = (uint32_t)(wire_rng_next(&rng) % 2);
            uint32_t length = (uint32_t)(wire_rng_next(&rng) % 5 ? wire_rng_next(&rng) % 3000 : 0);
            uint32_t from = (uint32_t)(wire_rng_next(&rng) % (REGION - length + 1));

            sges[i] = (struct rnic_sge){0x10000 * (r + 1) + from, length, key[r]};
            memcpy(whole + total, host[r] + from, length);
            total += length;
        }
        offset = total ? (uint32_t)(wire_rng_next(&rng) % total) : 0;
        bytes = total ? (uint32_t)(wire_rng_next(&rng) % (total - offset + 1)) : 0;
        CHECK(rnic_access_gather(&path, pd, sges, n, offset, bytes, got, &backed, &done_ps));
        CHECK(backed);
        CHECK_BYTES(got, whole + offset, bytes);
        if (total > 0) /* beyond the end there is nothing */
            CHECK(!rnic_access_gather(&path, pd, sges, n, offset, total - offset + 1, got, &backed,
                                      &done_ps));
    }
    end();
}

/* A list whose k-th entry is bad: nothing of the good ones is written. */
static void a_refused_scatter_writes_nothing(void)
{
    for (unsigned bad = 0; bad < 5; bad++)
        for (uint32_t k = 0; k < 3; k++) {
            struct rnic_sge sges[3];
            static uint8_t from[3000], before[3][REGION];
            uint64_t done_ps = 7;
            uint32_t other = pd;

            begin();
            memset(from, 0x5A, sizeof from);
            memcpy(before, host, sizeof host);
            for (uint32_t i = 0; i < 3; i++)
                sges[i] = (struct rnic_sge){0x10000 + 1000 * i, 1000, key[0]};
            switch (bad) {
            case 0:
                sges[k].lkey ^= 1;
                break;
            case 1:
                sges[k].lkey = key[1], sges[k].addr = 0x20000;
                break; /* read-only */
            case 2:
                sges[k].addr = 0x10000 + REGION - 999;
                break;
            case 3:
                sges[k].addr = 0x10000 - 1;
                break;
            case 4:
                other = pd + 1;
                break;
            }
            CHECK(!rnic_access_scatter(&path, other, sges, 3, 0, 3000, from, &done_ps));
            CHECK_BYTES(host, before, sizeof host);
            end();
        }
}

static void a_scatter_puts_each_byte_in_its_place(void)
{
    const struct rnic_sge sges[] = {
        {0x10000 + 4000, 10, 0}, {0x10000, 0, 0}, {0x10000 + 100, 5, 0}};
    struct rnic_sge list[3];
    uint8_t from[] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint64_t done_ps = 0;

    begin();
    memcpy(list, sges, sizeof list);
    list[0].lkey = list[2].lkey = key[0]; /* the empty one has no key */
    CHECK(rnic_access_scatter(&path, pd, list, 3, 6, 8, from, &done_ps));
    CHECK_BYTES(host[0] + 4006, from, 4);
    CHECK_BYTES(host[0] + 100, from + 4, 4);
    CHECK_EQ(host[0][4005], (uint8_t)(4005 * 7));
    CHECK_EQ(host[0][4010], (uint8_t)(4010 * 7));
    CHECK_EQ(host[0][104], (uint8_t)(104 * 7));
    end();
}

static void phantom_memory_is_checked_and_not_copied(void)
{
    struct rnic_sge sge;
    uint8_t buffer[64];
    uint64_t done_ps = 0;
    bool backed;

    begin();
    sge = (struct rnic_sge){0x30000, 64, key[2]};
    memset(buffer, 9, sizeof buffer);
    CHECK(rnic_access_gather(&path, pd, &sge, 1, 0, 64, buffer, &backed, &done_ps));
    CHECK(!backed);
    CHECK_EQ(buffer[0], 9);
    CHECK(rnic_access_scatter(&path, pd, &sge, 1, 0, 64, buffer, &done_ps));
    sge.addr = 0x30000 + REGION - 63;
    CHECK(!rnic_access_gather(&path, pd, &sge, 1, 0, 64, buffer, &backed, &done_ps));
    /* phantom data into real memory: nothing to copy, all the same checked */
    sge = (struct rnic_sge){0x10000, 64, key[0]};
    CHECK(rnic_access_scatter(&path, pd, &sge, 1, 0, 64, NULL, &done_ps));
    CHECK_EQ(host[0][1], 7);
    end();
}

static void remote_writes(void)
{
    uint8_t from[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    static uint8_t before[3][REGION];
    uint64_t done_ps = 0;

    begin();
    memcpy(before, host, sizeof host);
    CHECK(!rnic_access_write(&path, peer, key[0], 0x10000 + REGION - 15, 16, 16, from, &done_ps));
    CHECK(!rnic_access_write(&path, peer, key[0], 0x10000 - 1, 16, 16, from, &done_ps));
    CHECK(!rnic_access_write(&path, peer, key[0], UINT64_MAX - 7, 16, 16, from, &done_ps));
    CHECK(!rnic_access_write(&path, peer, key[1], 0x20000, 16, 16, from, &done_ps));
    CHECK(!rnic_access_write(&path, stranger, key[0], 0x10000, 16, 16, from, &done_ps));
    CHECK(!rnic_access_write(&path, peer, key[0] ^ 0x80, 0x10000, 16, 16, from, &done_ps));
    /* the rest of the message does not fit */
    CHECK(!rnic_access_write(&path, peer, key[0], 0x10000 + REGION - 16, 17, 16, from, &done_ps));
    CHECK_BYTES(host, before, sizeof host);
    CHECK(
        rnic_access_write(&path, peer, 0xBAD, 1, 0, 0, from, &done_ps)); /* nothing: not checked */
    CHECK(rnic_access_write(&path, peer, key[0], 0x10000 + REGION - 16, 16, 16, from, &done_ps));
    CHECK_BYTES(host[0] + REGION - 16, from, 16);
    end();
}

/* Every refusal of a remote read and of an atomic, and that neither moved a byte. */
static void remote_reads_and_atomics_refused(void)
{
    static const struct {
        uint32_t region, key_xor;
        uint64_t va;
        bool foreign;
    } cases[] = {
        {0, 0, 0x10000 - 8, false},      {0, 0, 0x10000 + REGION - 4, false},
        {0, 0, 0x10000 + REGION, false}, {0, 0, UINT64_MAX - 7, false},
        {1, 0, 0x20000, false},          /* no right */ {0, 0x80, 0x10000, false},
        {0, 0x100000, 0x10000, false},   {0, 0, 0x10000, true},
    };
    const struct rnic_access_atomic op = {.swap_add = 1};
    static uint8_t before[3][REGION];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t rkey;
        uint8_t to[8] = {0};
        uint64_t done_ps = 5, orig = 77;
        bool backed;

        begin();
        rkey = key[cases[i].region] ^ cases[i].key_xor;
        memcpy(before, host, sizeof host);
        CHECK(!rnic_access_read(&path, cases[i].foreign ? stranger : peer, rkey, cases[i].va, 8, to,
                                &backed, &done_ps));
        CHECK(!rnic_access_open(&path, cases[i].foreign ? stranger : peer, rkey, cases[i].va, 8,
                                RNIC_ACCESS_REMOTE_READ));
        if (cases[i].va % 8 == 0)
            CHECK(!rnic_access_atomic(&path, cases[i].foreign ? stranger : peer, rkey, cases[i].va,
                                      &op, &orig, &done_ps));
        CHECK_EQ(done_ps, 5);
        CHECK_EQ(orig, 77);
        CHECK_BYTES(host, before, sizeof host);
        end();
    }
}

static void remote_reads(void)
{
    uint8_t to[64];
    uint64_t done_ps = 3;
    bool backed = false;

    begin();
    CHECK(rnic_access_read(&path, peer, key[0], 0x10000 + REGION - 64, 64, to, &backed, &done_ps));
    CHECK(backed);
    CHECK_BYTES(to, host[0] + REGION - 64, 64);
    CHECK(rnic_access_read(&path, peer, key[0], 0x10000, 64, NULL, &backed, &done_ps));
    CHECK(!backed); /* nobody wanted them */
    memset(to, 9, sizeof to);
    CHECK(rnic_access_read(&path, peer, key[2], 0x30000, 64, to, &backed, &done_ps));
    CHECK(!backed);
    CHECK_EQ(to[0], 9);
    CHECK(rnic_access_read(&path, stranger, 0xBAD, 1, 0, to, &backed, &done_ps)); /* nothing */
    CHECK(rnic_access_open(&path, stranger, 0xBAD, 1, 0, RNIC_ACCESS_REMOTE_READ));
    CHECK(rnic_access_open(&path, peer, key[0], 0x10000, REGION, RNIC_ACCESS_REMOTE_READ));
    CHECK(!rnic_access_open(&path, peer, key[0], 0x10000, REGION + 1, RNIC_ACCESS_REMOTE_READ));
    end();
}

static void atomics_read_modify_and_write(void)
{
    struct rnic_access_atomic op = {.swap_add = UINT64_MAX};
    uint64_t done_ps = 0, orig, held = 5;

    begin();
    memcpy(host[0] + 16, &held, 8);
    CHECK(rnic_access_atomic(&path, peer, key[0], 0x10010, &op, &orig, &done_ps));
    CHECK_EQ(orig, 5);
    memcpy(&held, host[0] + 16, 8);
    CHECK_EQ(held, 4); /* adds modulo 2^64 */
    op = (struct rnic_access_atomic){.swaps = true, .compare = 5, .swap_add = 99};
    CHECK(rnic_access_atomic(&path, peer, key[0], 0x10010, &op, &orig, &done_ps));
    memcpy(&held, host[0] + 16, 8);
    CHECK_EQ(orig, 4);
    CHECK_EQ(held, 4); /* not equal: left alone */
    op.compare = 4;
    CHECK(rnic_access_atomic(&path, peer, key[0], 0x10010, &op, &orig, &done_ps));
    memcpy(&held, host[0] + 16, 8);
    CHECK_EQ(orig, 4);
    CHECK_EQ(held, 99);
    CHECK_EQ(host[0][15], (uint8_t)(15 * 7)); /* neighbours */
    CHECK_EQ(host[0][24], (uint8_t)(24 * 7));
    orig = 1;
    CHECK(rnic_access_atomic(&path, peer, key[2], 0x30000, &op, &orig, &done_ps));
    CHECK_EQ(orig, 0); /* phantom */
    end();
}

/* On one address the second waits until the first has read and written; elsewhere it does not. */
static void atomics_on_one_address_follow_each_other(void)
{
    const struct rnic_access_atomic op = {.swap_add = 1};
    struct rnic_params params = rnic_params_ideal();
    uint64_t first_ps = 1000, second_ps = 1000, other_ps = 1000, late_ps = 1000000, orig;

    begin();
    params.dma_read_latency_ps = 500;
    params.dma_write_latency_ps = 300;
    rnic_dma_init(&dma, &params);
    CHECK(rnic_access_atomic(&path, peer, key[0], 0x10000, &op, &orig, &first_ps));
    CHECK_EQ(first_ps, 1800);
    CHECK(rnic_access_atomic(&path, peer, key[0], 0x10000, &op, &orig, &second_ps));
    CHECK_EQ(second_ps, 2600);
    CHECK(rnic_access_atomic(&path, peer, key[0], 0x10008, &op, &orig, &other_ps));
    CHECK_EQ(other_ps, 1800);
    CHECK(rnic_access_atomic(&path, peer, key[0], 0x10000, &op, &orig, &late_ps));
    CHECK_EQ(late_ps, 1000800);
    end();
}

/* A window's rights and bounds count, the bytes are the region's. */
static void access_through_a_window(void)
{
    struct rnic_access_peer other = {.qpn = 41};
    uint8_t from[8] = {1, 2, 3, 4, 5, 6, 7, 8}, to[8];
    struct rnic_sge sge;
    struct rnic_mr *mw;
    uint64_t done_ps = 0;
    bool backed;

    begin();
    other.pd = pd;
    CHECK_EQ(rnic_table_mr_add(&mrs, &mem, 10, &mw), 0);
    mw->is_window = true;
    mw->pd = pd;
    CHECK(rnic_table_mr_bind(&mrs, pd, 40, mw->key, mw->key ^ 1, key[0], 0x10100, 8,
                             RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ));
    CHECK(rnic_access_write(&path, peer, mw->key, 0x10100, 8, 8, from, &done_ps));
    CHECK_BYTES(host[0] + 0x100, from, 8);
    CHECK(rnic_access_read(&path, peer, mw->key, 0x10100, 8, to, &backed, &done_ps));
    CHECK_BYTES(to, from, 8);
    CHECK(!rnic_access_write(&path, peer, mw->key, 0x10101, 8, 8, from, &done_ps));
    CHECK(!rnic_access_write(&path, other, mw->key, 0x10100, 8, 8, from, &done_ps));
    sge = (struct rnic_sge){0x10100, 8, mw->key}; /* no lkey */
    CHECK(!rnic_access_gather(&path, pd, &sge, 1, 0, 8, to, &backed, &done_ps));
    CHECK(!rnic_access_scatter(&path, pd, &sge, 1, 0, 8, from, &done_ps));
    end();
}

/* A window's own context is fetched besides the region's. */
static void a_window_has_a_context_of_its_own(void)
{
    struct rnic_server fetcher = {0};
    uint64_t done_ps = 0;
    struct rnic_mr *mw;
    uint8_t from[8] = {0};

    begin();
    mrs.cache.capacity = 8;
    mrs.cache.miss_ps = 1000;
    mrs.cache.fetcher = &fetcher;
    CHECK_EQ(rnic_table_mr_add(&mrs, &mem, 10, &mw), 0);
    mw->is_window = true;
    mw->pd = pd;
    CHECK(rnic_table_mr_bind(&mrs, pd, 40, mw->key, mw->key, key[0], 0x10000, 64,
                             RNIC_ACCESS_REMOTE_WRITE));
    CHECK(rnic_access_write(&path, peer, mw->key, 0x10000, 8, 8, from, &done_ps));
    CHECK_EQ(mrs.cache.misses, 2);
    CHECK_EQ(done_ps, 2000);
    end();
}

/* ---- regions that are lists of pages ---- */

#define PAGE 4096u

/* Page i of the region at 0x40800 is frames[i]; the second to last is not mapped. */
static uint32_t list_begin(uint8_t (*frames)[PAGE], void **list, uint32_t n)
{
    struct rnic_mr *mr;

    begin();
    for (uint32_t i = 0; i < n; i++) {
        list[i] = i + 2 == n ? NULL : frames[n - 1 - i]; /* in no order */
        for (uint32_t k = 0; k < PAGE; k++)
            frames[n - 1 - i][k] = (uint8_t)(k * 3 + i);
    }
    CHECK_EQ(rnic_table_mr_add(&mrs, &mem, 10, &mr), 0);
    mr->va = 0x40800;
    mr->length = n * PAGE - 0x800;
    mr->pd = pd;
    mr->access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |
                 RNIC_ACCESS_REMOTE_ATOMIC;
    CHECK(rnic_table_page_add(&pages, &mem, mr));
    CHECK(rnic_table_mr_list(&mem, mr, PAGE, list, n));
    return mr->key;
}

/* Any range: bytes from the right pages, or refused as a whole when one is not mapped. */
static void pages_are_split_at_their_borders(void)
{
    static uint8_t frames[6][PAGE], before[6][PAGE], got[6 * PAGE], from[6 * PAGE];
    struct wire_rng rng = wire_rng_init(SEED, 1);
    void *list[6];
    uint32_t lkey = list_begin(frames, list, 6), refused = 0;

    printf("seed %u\n", SEED);
    for (uint32_t round = 0; round < 2000; round++) {
        uint32_t bytes = 1 + (uint32_t)(wire_rng_next(&rng) % (round & 1 ? 64 : 3 * PAGE));
        uint32_t at = 0x800 + (uint32_t)(wire_rng_next(&rng) % (6 * PAGE - 0x800 - bytes + 1));
        bool hole = at / PAGE <= 4 && (at + bytes - 1) / PAGE >= 4, backed;
        struct rnic_sge sge = {0x40000 + at, bytes, lkey};
        uint64_t done_ps = 0;

        memcpy(before, frames, sizeof frames);
        memset(from, (int)round, bytes);
        CHECK_EQ(rnic_access_gather(&path, pd, &sge, 1, 0, bytes, got, &backed, &done_ps), !hole);
        for (uint32_t i = 0; !hole && i < bytes; i++)
            CHECK_EQ(got[i], before[5 - (at + i) / PAGE][(at + i) % PAGE]);
        CHECK_EQ(rnic_access_read(&path, peer, lkey, 0x40000 + at, bytes, got, &backed, &done_ps),
                 !hole);
        CHECK_EQ(rnic_access_open(&path, peer, lkey, 0x40000 + at, bytes, 0), !hole);
        CHECK_EQ(round & 2 ? rnic_access_scatter(&path, pd, &sge, 1, 0, bytes, from, &done_ps)
                           : rnic_access_write(&path, peer, lkey, 0x40000 + at, bytes, bytes, from,
                                               &done_ps),
                 !hole);
        for (uint32_t i = 0; !hole && i < bytes; i++)
            before[5 - (at + i) / PAGE][(at + i) % PAGE] = from[i];
        CHECK_BYTES(frames, before, sizeof frames);
        refused += hole;
    }
    CHECK(refused > 100 && refused < 1900);
    end();
}

/* The key is checked for the whole message, the pages for this packet: the rest may come later. */
static void a_write_needs_the_pages_of_its_own_packet(void)
{
    static uint8_t frames[3][PAGE];
    void *list[3];
    uint32_t rkey = list_begin(frames, list, 3); /* the second is not mapped */
    uint8_t from[16] = {7};
    uint64_t done_ps = 0, orig;
    const struct rnic_access_atomic op = {.swap_add = 1};

    CHECK(rnic_access_write(&path, peer, rkey, 0x40800, 2 * PAGE, 16, from, &done_ps));
    CHECK_EQ(frames[2][0x800], 7);
    CHECK(!rnic_access_write(&path, peer, rkey, 0x41000, PAGE, 16, from, &done_ps));
    CHECK(!rnic_access_atomic(&path, peer, rkey, 0x41000, &op, &orig, &done_ps));
    memset(frames[0], 0, 8);
    CHECK(rnic_access_atomic(&path, peer, rkey, 0x42000, &op, &orig, &done_ps));
    CHECK_EQ(frames[0][0] + frames[0][7], 1);
    end();
}

/* One piece without bytes is enough: then the packet carries sizes only. */
static void a_list_is_backed_when_every_piece_is(void)
{
    for (uint32_t first = 0; first < 2; first++)
        for (uint32_t second = 0; second < 2; second++) {
            struct rnic_sge sge[2];
            uint8_t buffer[64];
            uint64_t done_ps = 0;
            bool backed;

            begin();
            sge[0] = (struct rnic_sge){first ? 0x30000 : 0x10000, 32, key[first ? 2 : 0]};
            sge[1] = (struct rnic_sge){second ? 0x30000 : 0x10000, 32, key[second ? 2 : 0]};
            CHECK(rnic_access_gather(&path, pd, sge, 2, 0, 64, buffer, &backed, &done_ps));
            CHECK_EQ(backed, !first && !second);
            end();
        }
}

/* 64 places for all words there are: of 64 in a row most have one of their own. */
static void few_atomics_wait_for_a_stranger(void)
{
    const struct rnic_access_atomic op = {.swap_add = 1};
    struct rnic_params params = rnic_params_ideal();
    uint32_t waited = 0;

    begin();
    params.dma_read_latency_ps = 500;
    rnic_dma_init(&dma, &params);
    for (uint32_t i = 0; i < 64; i++) {
        uint64_t done_ps = 1000, orig;

        CHECK(rnic_access_atomic(&path, peer, key[0], 0x10000 + 8 * i, &op, &orig, &done_ps));
        waited += done_ps != 1500;
    }
    CHECK(waited < 32);
    end();
}

/* Eight bytes are read and written, on the one page that holds them. */
static void an_atomic_moves_eight_bytes(void)
{
    const struct rnic_access_atomic op = {.swap_add = 1};
    struct rnic_params params = rnic_params_ideal();
    uint64_t done_ps = 0, orig;

    begin();
    params.pcie_bps = 8000000000; /* 1 ns a byte */
    params.pcie_tlp_bytes = 16;
    rnic_dma_init(&dma, &params);
    CHECK(rnic_access_atomic(&path, peer, key[0], 0x10000 + REGION - 8, &op, &orig, &done_ps));
    CHECK_EQ(done_ps, /* read */ 24000 + /* written */ 24000);
    end();
}

CHECK_SUITE(access, CHECK_CASE(a_gather_is_the_concatenation_of_its_list),
            CHECK_CASE(a_refused_scatter_writes_nothing),
            CHECK_CASE(a_scatter_puts_each_byte_in_its_place),
            CHECK_CASE(phantom_memory_is_checked_and_not_copied), CHECK_CASE(remote_writes),
            CHECK_CASE(remote_reads_and_atomics_refused), CHECK_CASE(remote_reads),
            CHECK_CASE(atomics_read_modify_and_write),
            CHECK_CASE(atomics_on_one_address_follow_each_other),
            CHECK_CASE(access_through_a_window), CHECK_CASE(a_window_has_a_context_of_its_own),
            CHECK_CASE(pages_are_split_at_their_borders),
            CHECK_CASE(a_write_needs_the_pages_of_its_own_packet),
            CHECK_CASE(a_list_is_backed_when_every_piece_is),
            CHECK_CASE(few_atomics_wait_for_a_stranger), CHECK_CASE(an_atomic_moves_eight_bytes))
