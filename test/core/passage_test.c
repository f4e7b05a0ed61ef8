/* SPDX-License-Identifier: GPL-2.0-only */
/* The blocks that each kind of packet passes, on both cards, and how long it stays in each. */
#include "card.h"

#define US 1000000u
#define PASSAGES_MAX 16u

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

/* What one card told, in the order of telling. */
static struct passages {
    struct rnic_event event[PASSAGES_MAX];
    uint32_t n;
} seen[2];

static void note(struct card_bench *on, struct card *card, const struct rnic_event *event)
{
    struct passages *own = &seen[card == &on->cards[1]];

    if (event->type != RNIC_EVENT_PASSAGE)
        return;
    CHECK(own->n < PASSAGES_MAX);
    CHECK_EQ(event->wait_ps, event->time_ps - event->in_ps);
    CHECK_EQ(event->qpn, card->qpn);
    own->event[own->n++] = *event;
}

static void begin(enum rnic_qp_type type)
{
    struct card_options options = card_options_default();

    options.type = type;
    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = 4;
    card_bench_open(&bench, 2, &options);
    bench.on_event = note;
    memset(seen, 0, sizeof seen);
    for (uint32_t i = 0; i < 2; i++)
        rnic_trace_enable(bench.cards[i].dev, 1u << RNIC_EVENT_PASSAGE);
}

/* Run, and find: card @p i told of these blocks, in order of time and of opcode. */
static void want(uint32_t i, const enum rnic_block *blocks, const uint8_t *opcodes, uint32_t n)
{
    CHECK_EQ(seen[i].n, n);
    for (uint32_t k = 0; k < n; k++) {
        CHECK_STR(rnic_block_name((enum rnic_block)seen[i].event[k].block),
                  rnic_block_name(blocks[k]));
        CHECK_EQ(seen[i].event[k].opcode, opcodes[k]);
        CHECK_EQ(seen[i].event[k].psn.v, bench.options.psn);
    }
}

static const struct rnic_event *passage(uint32_t i, enum rnic_block block, uint32_t nth)
{
    for (uint32_t k = 0; k < seen[i].n; k++)
        if (seen[i].event[k].block == block && nth-- == 0)
            return &seen[i].event[k];
    CHECK(false);
    return NULL;
}

/* Where one block ends the next begins; returns when the last one ends. */
static uint64_t follow(uint32_t i, uint32_t from, uint32_t n)
{
    for (uint32_t k = from + 1; k < from + n; k++)
        CHECK_EQ(seen[i].event[k].in_ps, seen[i].event[k - 1].time_ps);
    return seen[i].event[from + n - 1].time_ps;
}

static void a_write_and_its_acknowledge(void)
{
    static const enum rnic_block out[] = {RNIC_BLOCK_TX_SCHED, RNIC_BLOCK_DMA, RNIC_BLOCK_TX_BUILD,
                                          RNIC_BLOCK_RX_PARSE};
    static const enum rnic_block in[] = {RNIC_BLOCK_RX_PARSE, RNIC_BLOCK_RX_PLACE};
    static const uint8_t opcodes[] = {WIRE_OP_WRITE_ONLY, WIRE_OP_WRITE_ONLY, WIRE_OP_WRITE_ONLY,
                                      WIRE_OP_ACKNOWLEDGE};
    const struct rnic_params *p;

    begin(RNIC_QPT_RC);
    p = &bench.options.params;
    card_write(a, 1, 0, 0, 64);
    card_bench_run(&bench, WIRE_NEVER);
    want(0, out, opcodes, 4);
    want(1, in, opcodes, 2);
    CHECK_EQ(seen[0].event[0].in_ps, p->doorbell_latency_ps);
    CHECK_EQ(follow(0, 0, 3), card_log_at(&bench, a->station, true, 0)->left_ps);
    CHECK_EQ(passage(0, RNIC_BLOCK_TX_BUILD, 0)->wait_ps, p->tx_latency_ps);
    (void)follow(1, 0, 2);
    CHECK_EQ(passage(1, RNIC_BLOCK_RX_PARSE, 0)->wait_ps, p->rx_latency_ps + p->cache_miss_ps);
    CHECK_EQ(passage(0, RNIC_BLOCK_RX_PARSE, 0)->wait_ps, p->rx_latency_ps); /* known by now */
    CHECK_EQ(card_log_at(&bench, b->station, false, 0)->left_ps,
             passage(1, RNIC_BLOCK_RX_PARSE, 0)->time_ps + p->tx_latency_ps);
    card_bench_close(&bench);
}

/* SEND over each service. */
static void a_send_of_each_service(void)
{
    for (int type = RNIC_QPT_RC; type <= RNIC_QPT_UD; type++) {
        static const enum rnic_block in[] = {RNIC_BLOCK_RX_PARSE, RNIC_BLOCK_RX_PLACE};
        const uint8_t transport = type == RNIC_QPT_RC   ? 0
                                  : type == RNIC_QPT_UC ? WIRE_TRANSPORT_UC
                                                        : WIRE_TRANSPORT_UD;
        const uint8_t opcode = transport | WIRE_OP_SEND_ONLY, opcodes[2] = {opcode, opcode};
        struct wire_frame frame;
        const struct rnic_params *p;

        begin((enum rnic_qp_type)type);
        p = &bench.options.params;
        card_recv(b, 1, 0, 200);
        frame = card_request(b, opcode, 0, 100);
        bench.now_ps = US;
        CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
        card_bench_run(&bench, WIRE_NEVER);
        card_expect(b, b->recv_cq, 1, RNIC_WC_SUCCESS);
        want(1, in, opcodes, 2);
        CHECK_EQ(seen[1].event[0].in_ps, US);
        CHECK(follow(1, 0, 2) >= US + p->rx_latency_ps + /* its request */ p->dma_read_latency_ps +
                                     p->dma_write_latency_ps);
        card_bench_close(&bench);
    }
}

static void a_read_and_its_answer(void)
{
    static const enum rnic_block out[] = {RNIC_BLOCK_TX_SCHED, RNIC_BLOCK_DMA, RNIC_BLOCK_TX_BUILD,
                                          RNIC_BLOCK_RX_PARSE, RNIC_BLOCK_RX_PLACE};
    static const enum rnic_block in[] = {RNIC_BLOCK_RX_PARSE, RNIC_BLOCK_TX_SCHED, RNIC_BLOCK_DMA,
                                         RNIC_BLOCK_TX_BUILD};
    static const uint8_t asks[] = {WIRE_OP_READ_REQUEST, WIRE_OP_READ_REQUEST, WIRE_OP_READ_REQUEST,
                                   WIRE_OP_READ_RESP_ONLY, WIRE_OP_READ_RESP_ONLY};
    static const uint8_t answers[] = {WIRE_OP_READ_REQUEST, WIRE_OP_READ_RESP_ONLY,
                                      WIRE_OP_READ_RESP_ONLY, WIRE_OP_READ_RESP_ONLY};

    begin(RNIC_QPT_RC);
    card_post(a, RNIC_WR_RDMA_READ, 1, 0, 0, 64);
    card_bench_run(&bench, WIRE_NEVER);
    want(0, out, asks, 5);
    want(1, in, answers, 4);
    CHECK_EQ(follow(0, 0, 3), card_log_at(&bench, a->station, true, 0)->left_ps);
    CHECK_EQ(passage(0, RNIC_BLOCK_DMA, 0)->wait_ps, 0); /* it carries nothing */
    (void)follow(0, 3, 2);
    CHECK_EQ(follow(1, 0, 4), card_log_at(&bench, b->station, false, 0)->left_ps);
    CHECK(passage(1, RNIC_BLOCK_DMA, 0)->wait_ps > bench.options.params.dma_read_latency_ps);
    card_bench_close(&bench);
}

/* The answer to an atomic is not asked for before it has been carried out. */
static void an_atomic_and_its_answer(void)
{
    static const enum rnic_block in[] = {RNIC_BLOCK_RX_PARSE, RNIC_BLOCK_RX_PLACE,
                                         RNIC_BLOCK_TX_SCHED, RNIC_BLOCK_TX_BUILD};
    static const uint8_t answers[] = {WIRE_OP_FETCH_ADD, WIRE_OP_FETCH_ADD,
                                      WIRE_OP_ATOMIC_ACKNOWLEDGE, WIRE_OP_ATOMIC_ACKNOWLEDGE};
    const struct rnic_params *p;

    begin(RNIC_QPT_RC);
    p = &bench.options.params;
    card_post(a, RNIC_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 0, 8);
    card_bench_run(&bench, WIRE_NEVER);
    want(1, in, answers, 4);
    CHECK_EQ(follow(1, 0, 4), card_log_at(&bench, b->station, false, 0)->left_ps);
    CHECK(passage(1, RNIC_BLOCK_RX_PLACE, 0)->wait_ps >=
          p->dma_read_latency_ps + p->dma_write_latency_ps);
    CHECK_EQ(passage(1, RNIC_BLOCK_TX_SCHED, 0)->wait_ps, 0);
    CHECK_EQ(passage(1, RNIC_BLOCK_TX_BUILD, 0)->wait_ps, p->tx_latency_ps);
    card_bench_close(&bench);
}

/* Carried out once: a repeat is answered as soon as it is here, not as if it were done again. */
static void a_repeated_atomic_is_answered_at_once(void)
{
    struct wire_frame frame;
    uint64_t done_ps;

    begin(RNIC_QPT_RC);
    frame = card_request(b, WIRE_OP_FETCH_ADD, 0, 8);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    card_bench_run(&bench, 100 * US);
    CHECK_EQ(card_log_count(&bench, b->station, false), 1);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_DUPLICATE);
    card_bench_run(&bench, 200 * US);
    CHECK_EQ(card_log_count(&bench, b->station, false), 2);
    done_ps = 100 * US + bench.options.params.rx_latency_ps + bench.options.params.tx_latency_ps;
    CHECK_EQ(card_log_at(&bench, b->station, false, 1)->left_ps, done_ps);
    card_bench_close(&bench);

    /* A repeat that comes while the first is on its way does not put it off. */
    begin(RNIC_QPT_RC);
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_NONE);
    bench.now_ps = 1000;
    CHECK_EQ(card_deliver(&bench, b, &frame), WIRE_DROP_DUPLICATE);
    card_bench_run(&bench, 100 * US);
    CHECK_EQ(card_log_count(&bench, b->station, false), 1);
    CHECK_EQ(passage(1, RNIC_BLOCK_TX_SCHED, 0)->in_ps,
             passage(1, RNIC_BLOCK_RX_PLACE, 0)->time_ps);
    card_bench_close(&bench);
}

CHECK_SUITE(passage, CHECK_CASE(a_write_and_its_acknowledge), CHECK_CASE(a_send_of_each_service),
            CHECK_CASE(a_read_and_its_answer), CHECK_CASE(an_atomic_and_its_answer),
            CHECK_CASE(a_repeated_atomic_is_answered_at_once))
