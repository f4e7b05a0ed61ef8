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
static const struct rnic_access_path path = {&mrs, &pages, &dma};
static void *memory;
static uint8_t host[3][REGION];
static uint32_t key[3], pd;

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
    CHECK_EQ(rnic_table_mr_pd_alloc(&mrs, &mem, &pd), 0);
    for (uint32_t i = 0; i < 3; i++) {
        struct rnic_mr *mr;

        CHECK_EQ(rnic_table_mr_add(&mrs, &mem, 10, &mr), 0);
        mr->va = 0x10000 * (i + 1);
        mr->length = REGION;
        mr->host = i < 2 ? host[i] : NULL;
        mr->pd = pd;
        mr->access = i == 1 ? 0 : RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE;
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
    CHECK(!rnic_access_write(&path, pd, key[0], 0x10000 + REGION - 15, 16, 16, from, &done_ps));
    CHECK(!rnic_access_write(&path, pd, key[0], 0x10000 - 1, 16, 16, from, &done_ps));
    CHECK(!rnic_access_write(&path, pd, key[0], UINT64_MAX - 7, 16, 16, from, &done_ps));
    CHECK(!rnic_access_write(&path, pd, key[1], 0x20000, 16, 16, from, &done_ps));
    CHECK(!rnic_access_write(&path, pd + 1, key[0], 0x10000, 16, 16, from, &done_ps));
    CHECK(!rnic_access_write(&path, pd, key[0] ^ 0x80, 0x10000, 16, 16, from, &done_ps));
    /* the rest of the message does not fit */
    CHECK(!rnic_access_write(&path, pd, key[0], 0x10000 + REGION - 16, 17, 16, from, &done_ps));
    CHECK_BYTES(host, before, sizeof host);
    CHECK(rnic_access_write(&path, pd, 0xBAD, 1, 0, 0, from, &done_ps)); /* nothing: not checked */
    CHECK(rnic_access_write(&path, pd, key[0], 0x10000 + REGION - 16, 16, 16, from, &done_ps));
    CHECK_BYTES(host[0] + REGION - 16, from, 16);
    end();
}

CHECK_SUITE(access, CHECK_CASE(a_gather_is_the_concatenation_of_its_list),
            CHECK_CASE(a_refused_scatter_writes_nothing),
            CHECK_CASE(a_scatter_puts_each_byte_in_its_place),
            CHECK_CASE(phantom_memory_is_checked_and_not_copied), CHECK_CASE(remote_writes))
