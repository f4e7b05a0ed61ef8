/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows of test/known-bugs.md about the RC protocol, with the numbers of the reports. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static struct card_options all_options(void)
{
    struct card_options options = card_options_ideal();

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = 4;
    return options;
}

static void open_bench(const struct card_options *options)
{
    card_bench_open(&bench, 2, options);
    card_fill(a->bytes, a->n_bytes, 1);
    card_fill(b->bytes, b->n_bytes, 2);
}

static int post(struct card *card, const struct rnic_send_wr *wr)
{
    return rnic_post_send(card->dev, card->qpn, wr, bench.now_ps);
}

/* A WRITE or READ of a's with this remote key. */
static void post_key(enum rnic_wr_opcode opcode, uint64_t wr_id, uint32_t bytes, uint32_t rkey)
{
    struct rnic_sge sge;
    struct rnic_send_wr wr = card_wr(a, opcode, wr_id, 0, 0, bytes, &sge);

    wr.rkey = rkey;
    CHECK_EQ(post(a, &wr), 0);
}

/* ---- A2: a loss costs one retry, and progress gives it back ---- */

/*
 * The responses of card 1 whose bit is set in scratch[0], counted from 0, are lost once, each after
 * the one before it in scratch[1] has come at last.
 */
static enum card_tap_verdict drop_responses(struct card_bench *on, struct card_flight *flight)
{
    uint64_t bit = (uint64_t)1 << ((flight->frame.psn.v - on->options.psn) & 63);

    if (flight->from != b)
        return CARD_PASS;
    if (on->scratch[1] == bit)
        on->scratch[1] = 0;
    if (on->scratch[1] != 0 || !(on->scratch[0] & bit))
        return CARD_PASS;
    on->scratch[0] &= ~bit;
    on->scratch[1] = bit;
    return CARD_DROP;
}

/* The second response is always lost. */
static enum card_tap_verdict drop_second(struct card_bench *on, struct card_flight *flight)
{
    uint32_t i = (flight->frame.psn.v - on->options.psn) & WIRE_PSN_MASK;

    return flight->from == b && i == 1 ? CARD_DROP : CARD_PASS;
}

static void read_of_8(uint32_t retries, uint64_t dropped)
{
    struct card_options options = all_options();

    options.params.retry_cnt = retries;
    open_bench(&options);
    bench.tap = dropped == 0 ? drop_second : drop_responses;
    bench.scratch[0] = dropped;
    card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 8 * 1024);
    card_bench_run(&bench, WIRE_NEVER);
}

static void a_lost_response_costs_one_retry(void)
{
    read_of_8(7, 1u << 1);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_BYTES(a->bytes, b->bytes, 8 * 1024);
    CHECK_EQ(card_log_count(&bench, a->station, true), 2); /* one replay, from response 2 on */
    CHECK_EQ(card_counters(a, a->qpn).timeouts, 0);
    card_bench_close(&bench);

    read_of_8(1, 1u << 1 | 1u << 3 | 1u << 6); /* three losses, each after progress */
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    CHECK_BYTES(a->bytes, b->bytes, 8 * 1024);
    CHECK_EQ(card_log_count(&bench, a->station, true), 4);
    card_bench_close(&bench);

    for (uint32_t retries = 1; retries <= 7; retries += 6) { /* the replay at once was one too */
        read_of_8(retries, 0);
        card_expect(a, a->send_cq, 1, RNIC_WC_RETRY_EXC_ERR);
        CHECK_EQ(card_log_count(&bench, a->station, true), 1 + retries);
        card_bench_close(&bench);
    }

    read_of_8(0, 1u << 1);
    card_expect(a, a->send_cq, 1, RNIC_WC_RETRY_EXC_ERR);
    CHECK_EQ(card_log_count(&bench, a->station, true), 1);
    card_bench_close(&bench);
}

/* ---- A5: a fence waits for READs and atomics, not for other work ---- */

static uint64_t left_ps(uint8_t opcode)
{
    for (size_t i = 0; i < card_log_count(&bench, a->station, true); i++)
        if (card_log_at(&bench, a->station, true, i)->frame.opcode == opcode)
            return card_log_at(&bench, a->station, true, i)->left_ps;
    return WIRE_NEVER;
}

static void a_fence_lets_a_megabyte_go(void)
{
    static const enum rnic_wr_opcode asks[] = {RNIC_WR_RDMA_READ, RNIC_WR_ATOMIC_FETCH_AND_ADD,
                                               RNIC_WR_ATOMIC_CMP_AND_SWP};
    struct card_options options = all_options();
    struct rnic_sge sge;
    struct rnic_send_wr fenced;

    options.delay_ps = 10000000;
    open_bench(&options);
    card_recv(b, 9, 0, 100);
    card_write(a, 1, 0, 0, 1 << 20);
    fenced = card_wr(a, RNIC_WR_SEND, 2, 0, 0, 100, &sge);
    fenced.send_flags |= RNIC_SEND_FENCE;
    CHECK_EQ(post(a, &fenced), 0);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
    CHECK_EQ(card_log_count(&bench, a->station, true), 1025);
    CHECK(left_ps(WIRE_OP_SEND_ONLY) - left_ps(WIRE_OP_WRITE_LAST) < 1000000);
    card_bench_close(&bench);

    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        size_t n;

        open_bench(&options);
        card_recv(b, 9, 0, 100);
        card_post(a, asks[i], 1, 0, 0, i == 0 ? 4096 : 8);
        CHECK_EQ(post(a, &fenced), 0);
        card_bench_run(&bench, WIRE_NEVER);
        card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
        card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
        n = card_log_count(&bench, b->station, false);
        CHECK(left_ps(WIRE_OP_SEND_ONLY) >= /* not before the last response arrived */
              card_log_at(&bench, b->station, false, n - 2)->left_ps + options.delay_ps);
        card_bench_close(&bench);
    }
}

/* ---- A7, A8: each request has its completion, whatever went wrong before it ---- */

static void five_with(uint32_t bad, enum rnic_wc_status status, const struct rnic_send_wr *wr)
{
    for (uint64_t id = 0; id < 5; id++)
        if (id == bad)
            CHECK_EQ(post(a, wr), 0);
        else
            card_write(a, id, 0, 0, 100);
    card_bench_run(&bench, WIRE_NEVER);
    card_write(a, 5, 0, 0, 100); /* posted later: flushed too */
    card_bench_run(&bench, bench.now_ps + 10000000);
    for (uint64_t id = 0; id < 6; id++)
        card_expect(a, a->send_cq, id,
                    id < bad    ? RNIC_WC_SUCCESS
                    : id == bad ? status
                                : RNIC_WC_WR_FLUSH_ERR);
    card_expect_none(a, a->send_cq);
    CHECK_EQ(card_state(a, a->qpn), RNIC_QPS_ERR);
    card_bench_close(&bench);
}

static void every_request_has_its_completion(void)
{
    struct card_options options = all_options();
    struct rnic_sge sge;
    struct rnic_send_wr wr;

    for (uint32_t bad = 0; bad < 5; bad++) {
        open_bench(&options);
        wr = card_wr(a, RNIC_WR_RDMA_WRITE, bad, 0, 0, 100, &sge);
        wr.rkey ^= 1;
        five_with(bad, RNIC_WC_REM_ACCESS_ERR, &wr);
        open_bench(&options);
        wr = card_wr(a, RNIC_WR_RDMA_READ, bad, 0, 0, 100, &sge);
        wr.rkey ^= 1;
        five_with(bad, RNIC_WC_REM_ACCESS_ERR, &wr);
        open_bench(&options);
        wr = card_wr(a, RNIC_WR_SEND, bad, 0, 0, 100, &sge);
        sge.lkey ^= 1;
        five_with(bad, RNIC_WC_LOC_PROT_ERR, &wr);
        open_bench(&options);
        wr = (struct rnic_send_wr){
            .wr_id = bad, .opcode = RNIC_WR_LOCAL_INV, .invalidate_rkey = a->key ^ 1};
        five_with(bad, RNIC_WC_LOC_QP_OP_ERR, &wr);
        open_bench(&options);
        wr = (struct rnic_send_wr){.wr_id = bad, .opcode = RNIC_WR_BIND_MW};
        five_with(bad, RNIC_WC_MW_BIND_ERR, &wr);
    }
}

/* ---- A9: WRITE with immediate tells the bytes written ---- */

static void write_imm_tells_its_bytes(void)
{
    struct card_options options = all_options();
    struct rnic_sge sge;
    struct rnic_send_wr wr;
    struct rnic_wc wc;
    uint32_t seen = 0;

    open_bench(&options);
    memset(b->bytes + 100000, 0x77, 8000);
    card_recv(b, 3, 100000, 8000);
    wr = card_wr(a, RNIC_WR_RDMA_WRITE_WITH_IMM, 1, 0, 0, 5000, &sge);
    wr.imm = 0xDEADBEEF;
    CHECK_EQ(post(a, &wr), 0);
    card_bench_run(&bench, WIRE_NEVER);
    wc = card_expect(b, b->recv_cq, 3, RNIC_WC_SUCCESS);
    CHECK_EQ(wc.opcode, RNIC_WC_RECV_RDMA_WITH_IMM);
    CHECK_EQ(wc.byte_len, 5000);
    CHECK_EQ(wc.imm, 0xDEADBEEF);
    card_expect_none(b, b->recv_cq);
    CHECK_EQ(card_log_count(&bench, a->station, true), 5);
    for (size_t i = 0; i < 5; i++)
        seen += (wire_opcodes[card_log_at(&bench, a->station, true, i)->frame.opcode].has &
                 WIRE_HAS_IMM) != 0;
    CHECK_EQ(seen, 1);
    CHECK_BYTES(b->bytes, a->bytes, 5000);
    for (size_t i = 0; i < 8000; i++)
        CHECK_EQ(b->bytes[100000 + i], 0x77);
    card_bench_close(&bench);
}

/* ---- A12, A13: keys ---- */

#define KEY_BOUND 0x000105u

/* Card 1 binds a window in slot 1 with key KEY_BOUND. */
static void open_window(void)
{
    struct card_options options = all_options();
    struct rnic_send_wr bind = {.wr_id = 1, .opcode = RNIC_WR_BIND_MW, .rkey = KEY_BOUND};

    open_bench(&options);
    CARD_OK(b, rnic_alloc_mw(b->dev, b->pd, &bind.bind_mw.mw, 0));
    CHECK_EQ(bind.bind_mw.mw >> 8, KEY_BOUND >> 8);
    bind.bind_mw.mr = b->key;
    bind.bind_mw.addr = CARD_VA;
    bind.bind_mw.length = 4096;
    bind.bind_mw.access = RNIC_ACCESS_REMOTE_WRITE;
    CHECK_EQ(post(b, &bind), 0);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(b, b->send_cq, 1, RNIC_WC_SUCCESS);
    post_key(RNIC_WR_RDMA_WRITE, 2, 100, KEY_BOUND);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 2, RNIC_WC_SUCCESS);
    card_recv(b, 3, 8192, 100);
}

static void send_with_inv(uint32_t key)
{
    struct rnic_sge sge;
    struct rnic_send_wr wr = card_wr(a, RNIC_WR_SEND_WITH_INV, 3, 0, 0, 10, &sge);

    wr.invalidate_rkey = key;
    CHECK_EQ(post(a, &wr), 0);
    card_bench_run(&bench, WIRE_NEVER);
}

static void the_whole_key_is_compared(void)
{
    static const uint32_t others[] = {0x000106, 0x000104, 0x000205, 0x010105, 0x000005};
    struct rnic_send_wr inv = {.wr_id = 4, .opcode = RNIC_WR_LOCAL_INV};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        open_window(); /* by the peer */
        send_with_inv(others[i]);
        card_expect(a, a->send_cq, 3, RNIC_WC_REM_OP_ERR);
        card_bench_close(&bench);

        open_window(); /* by its own host: what is invalidated was not, and nothing else is */
        inv.invalidate_rkey = others[i];
        CHECK_EQ(post(b, &inv), 0);
        card_bench_run(&bench, WIRE_NEVER);
        card_expect(b, b->send_cq, 4, RNIC_WC_LOC_QP_OP_ERR);
        CHECK_EQ(rnic_dereg_mr(b->dev, b->key, bench.now_ps), RNIC_ERR_BUSY); /* still bound */
        card_bench_close(&bench);

        open_window(); /* nor does it open anything */
        post_key(RNIC_WR_RDMA_WRITE, 5, 100, others[i]);
        card_bench_run(&bench, WIRE_NEVER);
        card_expect(a, a->send_cq, 5, RNIC_WC_REM_ACCESS_ERR);
        card_bench_close(&bench);
    }
    for (unsigned local = 0; local < 2; local++) {
        open_window();
        if (local) {
            inv.invalidate_rkey = KEY_BOUND;
            CHECK_EQ(post(b, &inv), 0);
            card_bench_run(&bench, WIRE_NEVER);
            card_expect(b, b->send_cq, 4, RNIC_WC_SUCCESS);
        } else {
            send_with_inv(KEY_BOUND);
            card_expect(a, a->send_cq, 3, RNIC_WC_SUCCESS);
            CHECK_EQ(card_expect(b, b->recv_cq, 3, RNIC_WC_SUCCESS).invalidated_rkey, KEY_BOUND);
        }
        post_key(RNIC_WR_RDMA_WRITE, 6, 100, KEY_BOUND);
        card_bench_run(&bench, WIRE_NEVER);
        card_expect(a, a->send_cq, 6, RNIC_WC_REM_ACCESS_ERR);
        CHECK_EQ(rnic_dereg_mr(b->dev, b->key, bench.now_ps), 0); /* nothing is bound to it */
        card_bench_close(&bench);
    }
}

static void an_old_key_opens_nothing(void)
{
    static const enum rnic_wr_opcode opcodes[] = {RNIC_WR_RDMA_WRITE, RNIC_WR_RDMA_READ,
                                                  RNIC_WR_ATOMIC_FETCH_AND_ADD};
    struct card_options options = all_options();

    for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++) {
        uint32_t first, second;

        open_bench(&options);
        first = b->key;
        CHECK_EQ(rnic_dereg_mr(b->dev, first, 0), 0);
        CARD_OK(b, rnic_reg_mr(b->dev, b->pd, CARD_VA, b->n_bytes, b->bytes, CARD_ACCESS_ALL,
                               &second, 0));
        CHECK_EQ(second >> 8, first >> 8); /* the same slot */
        CHECK(second != first);
        post_key(opcodes[i], 1, 8, second);
        post_key(opcodes[i], 2, 8, first);
        card_bench_run(&bench, WIRE_NEVER);
        card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
        CHECK_EQ(card_expect(a, a->send_cq, 2, RNIC_WC_REM_ACCESS_ERR).vendor_err, 0x62);
        card_bench_close(&bench);
    }
}

/* ---- A14, A17: packets of a message ---- */

static void lengths_around_the_mtu(void)
{
    static const struct {
        uint32_t bytes, packets, last;
        unsigned pad;
    } rows[] = {{0, 1, 0, 0},       {1, 1, 1, 3},       {3, 1, 3, 1},    {4, 1, 4, 0},
                {1023, 1, 1023, 1}, {1024, 1, 1024, 0}, {1025, 2, 1, 3}, {2048, 2, 1024, 0},
                {2049, 3, 1, 3},    {4096, 4, 1024, 0}, {4097, 5, 1, 3}, {4098, 5, 2, 2}};
    static const enum rnic_wr_opcode opcodes[] = {RNIC_WR_RDMA_WRITE, RNIC_WR_RDMA_READ};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (unsigned o = 0; o < 2; o++) {
            struct card_options options = all_options();
            bool read = opcodes[o] == RNIC_WR_RDMA_READ;
            uint32_t station;

            open_bench(&options);
            station = read ? b->station : a->station;
            card_post(a, opcodes[o], 1, 0, 0, rows[i].bytes);
            card_bench_run(&bench, WIRE_NEVER);
            card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
            CHECK_EQ(card_log_count(&bench, station, !read), rows[i].packets);
            for (uint32_t p = 0; p < rows[i].packets; p++) {
                const struct wire_frame *frame = &card_log_at(&bench, station, !read, p)->frame;
                bool last = p + 1 == rows[i].packets;
                uint16_t is = wire_opcodes[frame->opcode].is;
                uint32_t bytes;

                CHECK_EQ((is & WIRE_IS_FIRST) != 0, p == 0 && !last);
                CHECK_EQ((is & WIRE_IS_LAST) != 0, last && p > 0);
                CHECK_EQ((is & WIRE_IS_ONLY) != 0, last && p == 0);
                CHECK_EQ(frame->payload_bytes, last ? rows[i].last : 1024);
                /* Ethernet, IP, UDP, BTH, ICRC, FCS are 62; the pad is on the wire */
                bytes = 62u + wire_opcodes[frame->opcode].header_bytes + frame->payload_bytes +
                        (last ? rows[i].pad : 0);
                CHECK_EQ(frame->frame_bytes, bytes < 64 ? 64 : bytes);
            }
            CHECK_BYTES(a->bytes, b->bytes, rows[i].bytes);
            card_bench_close(&bench);
        }
}

/* ---- A29: pages lie anywhere ---- */

static void pages_need_not_follow_each_other(void)
{
    static const enum rnic_wr_opcode opcodes[] = {RNIC_WR_RDMA_READ, RNIC_WR_RDMA_WRITE};

    for (unsigned o = 0; o < 2; o++)
        for (unsigned hole = 0; hole < 2; hole++) {
            struct card_options options = all_options();
            void *pages[3];
            uint32_t key;
            struct rnic_sge sge;
            struct rnic_send_wr wr;
            uint8_t *there;

            open_bench(&options);
            pages[0] = b->bytes + 40 * 4096;
            pages[1] = hole ? NULL : b->bytes + 3 * 4096;
            pages[2] = b->bytes + 90 * 4096;
            CARD_OK(b, rnic_reg_mr_pages(b->dev, b->pd, 0x10000, 3 * 4096, 4096, pages, 3,
                                         CARD_ACCESS_ALL, &key, 0));
            wr = card_wr(a, opcodes[o], 1, 0, 0, 8192, &sge);
            wr.rkey = key;
            wr.remote_addr = 0x10000 + 4000;
            CHECK_EQ(post(a, &wr), 0);
            card_bench_run(&bench, WIRE_NEVER);
            card_expect(a, a->send_cq, 1, hole ? RNIC_WC_REM_ACCESS_ERR : RNIC_WC_SUCCESS);
            for (uint32_t i = 0; i < 8192 && !hole; i++) {
                there = (uint8_t *)pages[(4000 + i) / 4096] + (4000 + i) % 4096;
                CHECK_EQ(*there, a->bytes[i]);
            }
            card_bench_close(&bench);
        }
}

CHECK_SUITE(known_bugs_rc, CHECK_CASE(a_lost_response_costs_one_retry),
            CHECK_CASE(a_fence_lets_a_megabyte_go), CHECK_CASE(every_request_has_its_completion),
            CHECK_CASE(write_imm_tells_its_bytes), CHECK_CASE(the_whole_key_is_compared),
            CHECK_CASE(an_old_key_opens_nothing), CHECK_CASE(lengths_around_the_mtu),
            CHECK_CASE(pages_need_not_follow_each_other))
