/* SPDX-License-Identifier: GPL-2.0-only */
/* Atomics at the responder: executed once, answered in order, refused without a trace. Repeats:
 * rc_duplicate_test. */
#include "card.h"
#include "rnic_internal.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static enum card_tap_verdict drop_all(struct card_bench *on, struct card_flight *flight)
{
    (void)on;
    (void)flight;
    return CARD_DROP;
}

static struct card_options atomic_options(void)
{
    struct card_options options = card_options_ideal();

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = 4;
    return options;
}

static void begin(const struct card_options *options)
{
    card_bench_open(&bench, 2, options);
    bench.tap = drop_all;
}

static uint64_t word(size_t at)
{
    uint64_t value;

    memcpy(&value, b->bytes + at, sizeof value);
    return value;
}

static void set_word(size_t at, uint64_t value)
{
    memcpy(b->bytes + at, &value, sizeof value);
}

static void run(void)
{
    card_bench_run(&bench, bench.now_ps + 100000000);
}

static const struct wire_frame *answer(size_t i)
{
    return &card_log_at(&bench, b->station, false, i)->frame;
}

static struct wire_frame atomic(uint8_t opcode, uint32_t psn, uint64_t swap_add, uint64_t compare)
{
    struct wire_frame frame = card_request(b, opcode, psn, 0);

    frame.swap_add = swap_add;
    frame.compare = compare;
    return frame;
}

static void take(const struct wire_frame *frame)
{
    CHECK_EQ(card_deliver(&bench, b, frame), WIRE_DROP_NONE);
}

static void check_answer(size_t i, uint32_t psn, uint64_t orig, uint32_t msn)
{
    CHECK_EQ(answer(i)->opcode, WIRE_OP_ATOMIC_ACKNOWLEDGE);
    CHECK_EQ(answer(i)->psn.v, (bench.options.psn + psn) & WIRE_PSN_MASK);
    CHECK_EQ(answer(i)->orig, orig);
    CHECK_EQ(answer(i)->msn, msn);
    CHECK_EQ(answer(i)->syndrome, 0x1F);
    CHECK_EQ(answer(i)->payload_bytes, 0);
    CHECK_EQ(answer(i)->dest_qpn, a->qpn);
}

static void what_they_do(void)
{
    const struct card_options options = atomic_options();
    struct wire_frame frame;

    begin(&options);
    set_word(0, 10);
    frame = atomic(WIRE_OP_FETCH_ADD, 0, 5, 0);
    take(&frame);
    CHECK_EQ(word(0), 15);
    frame = atomic(WIRE_OP_COMPARE_SWAP, 1, 99, 14); /* not equal: nothing is written */
    take(&frame);
    CHECK_EQ(word(0), 15);
    frame = atomic(WIRE_OP_COMPARE_SWAP, 2, 99, 15);
    take(&frame);
    CHECK_EQ(word(0), 99);
    frame = atomic(WIRE_OP_FETCH_ADD, 3, UINT64_MAX, 0); /* minus one: no carry goes anywhere */
    take(&frame);
    CHECK_EQ(word(0), 98);
    CHECK_EQ(word(8), 0);
    run();
    check_answer(0, 0, 10, 1);
    check_answer(1, 1, 15, 2);
    check_answer(2, 2, 15, 3);
    check_answer(3, 3, 99, 4);
    CHECK_EQ(card_log_count(&bench, b->station, false), 4);
    card_bench_close(&bench);
}

static void phantom_memory_answers_with_zero(void)
{
    struct card_options options = atomic_options();
    struct wire_frame frame;

    options.phantom = true;
    begin(&options);
    set_word(0, 10);
    frame = atomic(WIRE_OP_FETCH_ADD, 0, 5, 0);
    take(&frame);
    run();
    check_answer(0, 0, 0, 1);
    CHECK_EQ(word(0), 10);
    card_bench_close(&bench);
}

/* Behind the data of a READ, ahead of the acknowledge of a WRITE; executed at once all the same. */
static void they_are_answered_in_order(void)
{
    struct card_options options = card_options_default();
    struct wire_frame frame;

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = 4;
    begin(&options);
    frame = card_request(b, WIRE_OP_READ_REQUEST, 0, 3 * options.mtu_bytes);
    take(&frame);
    frame = atomic(WIRE_OP_FETCH_ADD, 3, 5, 0);
    take(&frame);
    CHECK_EQ(word(0), 5);
    frame = card_request(b, WIRE_OP_WRITE_ONLY, 4, 1);
    take(&frame);
    run();
    for (uint32_t i = 0; i < 5; i++)
        CHECK_EQ(answer(i)->psn.v, (options.psn + i) & WIRE_PSN_MASK);
    check_answer(3, 3, 0, 2);
    CHECK_EQ(answer(4)->opcode, WIRE_OP_ACKNOWLEDGE);
    card_bench_close(&bench);
}

/* Its answer is made of what was read: each can not leave before its read over PCIe. */
static void the_answer_waits_for_the_read(void)
{
    struct card_options options = card_options_default();
    struct wire_frame frame;

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = 4;
    begin(&options);
    for (uint32_t i = 0; i < 4; i++) { /* on one word, so one after the other */
        frame = atomic(WIRE_OP_FETCH_ADD, i, 5, 0);
        take(&frame);
    }
    run();
    for (uint32_t i = 0; i < 4; i++)
        CHECK(card_log_at(&bench, b->station, false, i)->left_ps >=
              options.params.rx_latency_ps + (i + 1) * options.params.dma_read_latency_ps +
                  options.params.tx_latency_ps);
    card_bench_close(&bench);
}

static void check_refused(const struct wire_frame *frame, uint8_t syndrome)
{
    CHECK_EQ(card_deliver(&bench, b, frame), WIRE_DROP_REFUSED);
    run();
    CHECK_EQ(answer(0)->opcode, WIRE_OP_ACKNOWLEDGE);
    CHECK_EQ(answer(0)->syndrome, syndrome);
    CHECK_EQ(answer(0)->psn.v, frame->psn.v);
    CHECK_EQ(answer(0)->msn, 0);
    CHECK_EQ(card_log_count(&bench, b->station, false), 1);
    CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_ERR);
    CHECK_EQ(word(0), 10);
    card_bench_close(&bench);
}

static void what_is_refused(void)
{
    static const uint8_t opcodes[] = {WIRE_OP_FETCH_ADD, WIRE_OP_COMPARE_SWAP};

    for (size_t o = 0; o < 2; o++)
        for (unsigned i = 0; i < 7; i++) {
            struct card_options options = atomic_options();
            struct wire_frame frame;
            uint32_t key;

            options.access =
                i == 0 ? CARD_ACCESS_ALL & ~(unsigned)RNIC_ACCESS_REMOTE_ATOMIC : CARD_ACCESS_ALL;
            options.rd_atomic = i == 1 ? 0 : 4;
            begin(&options);
            set_word(0, 10);
            CARD_OK(b, rnic_reg_mr(b->dev, b->pd, CARD_VA, 12, b->bytes,
                                   i == 5 ? RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |
                                                RNIC_ACCESS_REMOTE_READ
                                          : CARD_ACCESS_ALL,
                                   &key, 0));
            frame = atomic(opcodes[o], 0, 5, 10);
            frame.rkey = key ^ (i == 3 || i == 6);
            frame.va += i == 2 || i == 6 ? 4 : i == 4 ? 8 : 0; /* 4: only 4 bytes are left there */
            /* 0 not enabled, 1 none remembered, 2 not aligned; 6: and that before no key */
            check_refused(&frame, i <= 2 || i == 6 ? 0x61 : 0x62);
        }
}

static void one_too_many_is_invalid(void)
{
    const struct card_options options = atomic_options();
    struct wire_frame frame;

    begin(&options);
    for (uint32_t i = 0; i < 4; i++) {
        frame = atomic(WIRE_OP_FETCH_ADD, i, 1, 0);
        take(&frame);
    }
    frame = atomic(WIRE_OP_FETCH_ADD, 4, 1, 0);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_REFUSED);
    CHECK_EQ(word(0), 4);
    run();
    for (uint32_t i = 0; i < 4; i++)
        check_answer(i, i, i, i + 1);
    CHECK_EQ(answer(4)->syndrome, 0x61);
    card_bench_close(&bench);
}

/* The last word of the last page that is mapped: the page behind it is not touched. */
static void the_last_word_of_a_page(void)
{
    static _Alignas(4096) uint8_t page[4096];
    void *const pages[2] = {page, NULL};
    struct rnic_access_atomic op = {.swap_add = 3};
    struct rnic_mr *mr;
    struct card_options options = card_options_ideal();
    uint64_t orig, held = 39, done_ps = 0;

    options.access = CARD_ACCESS_ALL;
    card_bench_open(&bench, 2, &options);
    memcpy(page + 4088, &held, 8);
    mr = rnic_table_mr_find(&b->dev->mrs, b->key);
    mr->host = NULL;
    CHECK(rnic_table_mr_list(&b->dev->mem, mr, 4096, pages, 2));
    CHECK(rnic_access_atomic(&b->dev->path, (struct rnic_access_peer){.pd = b->pd, .qpn = b->qpn},
                             b->key, CARD_VA + 4088, &op, &orig, &done_ps));
    CHECK_EQ(orig, 39);
    memcpy(&held, page + 4088, 8);
    CHECK_EQ(held, 42);
    card_bench_close(&bench);
}

CHECK_SUITE(rc_atomic_responder, CHECK_CASE(what_they_do),
            CHECK_CASE(phantom_memory_answers_with_zero), CHECK_CASE(they_are_answered_in_order),
            CHECK_CASE(the_answer_waits_for_the_read), CHECK_CASE(what_is_refused),
            CHECK_CASE(one_too_many_is_invalid), CHECK_CASE(the_last_word_of_a_page))
