/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The bench of outside_test.c: two ports to outside, a card that does as it is told, a real switch.
 *
 * A test that includes this file defines rnic_* itself, so the linker takes none from the library.
 * Every packet is a token, and bench_free checks that each was freed once; the hooks note who got
 * which when.
 */
#ifndef OUTSIDE_BENCH_H
#define OUTSIDE_BENCH_H

#include "check.h"
#include "engine_state.h"
#include "wire_codec.h"

#define RATE_100G UINT64_C(100000000000)
#define US UINT64_C(1000000)
#define BYTE_PS UINT64_C(80)
#define MAX_FRAME 9018u
#define TOKENS 2048u
#define HOP_PS(bytes) (((bytes) + 8) * BYTE_PS + US)

/* ---- a card that sends what it is given and notes what comes ---- */

struct rnic_device {
    struct wire_frame *first, **last;
    uint32_t received;
    struct wire_frame rx; /* the last one */
};

bool rnic_tx(struct rnic_device *nic, uint64_t now_ps, uint32_t ready_classes,
             struct wire_frame **frame, struct wire_frame **spare)
{
    (void)now_ps;
    (void)ready_classes;
    if (nic->first == NULL)
        return false;
    *spare = *frame;
    *frame = nic->first;
    nic->first = nic->first->next;
    if (nic->first == NULL)
        nic->last = &nic->first;
    return true;
}

uint64_t rnic_tx_next(const struct rnic_device *nic, uint32_t ready_classes)
{
    (void)ready_classes;
    return nic->first != NULL ? 0 : WIRE_NEVER;
}

enum wire_drop rnic_rx(struct rnic_device *nic, struct wire_frame *frame, uint64_t now_ps)
{
    (void)now_ps;
    nic->received++;
    nic->rx = *frame;
    return WIRE_DROP_NONE;
}

bool rnic_event(struct rnic_device *nic, uint64_t now_ps, struct rnic_event *event)
{
    (void)nic;
    (void)now_ps;
    (void)event;
    return false;
}

uint64_t rnic_next_wake(const struct rnic_device *nic)
{
    (void)nic;
    return WIRE_NEVER;
}

void rnic_wake(struct rnic_device *nic, uint64_t now_ps)
{
    (void)nic;
    (void)now_ps;
    CHECK(false); /* it never asks for one */
}

/* ---- bench ---- */

/* Somebody's packet: who holds it frees it once. */
struct token {
    uint32_t id;
    bool made;
    uint32_t freed;
};

struct arrival {
    uint64_t time_ps;
    uint32_t port, id;
    uint8_t prio, kind;
};

enum { A, B, CARD, SWITCH }; /* ports of bench_new; those of the switch follow */

struct bench {
    struct engine *engine;
    struct fabric_switch *sw;
    struct rnic_device nic;
    struct token tokens[TOKENS];
    uint32_t tokens_n;
    struct arrival rx[TOKENS];
    size_t rx_n;
    uint32_t answers_left; /* frames the hook still sends back */
    uint32_t traced[ENGINE_TRACE_FABRIC + 1];
    uint32_t paused_classes; /* of the last record that says so */
};

static struct token *token_new(struct bench *bench, uint32_t id)
{
    struct token *token = &bench->tokens[bench->tokens_n++];

    CHECK(bench->tokens_n < TOKENS);
    *token = (struct token){.id = id, .made = true};
    return token;
}

static void token_free(void *ctx, void *opaque)
{
    struct token *token = opaque;

    (void)ctx;
    CHECK(token->made);
    CHECK_EQ(token->freed, 0);
    token->freed++;
}

static void *token_copy(void *ctx, const void *opaque)
{
    return token_new(ctx, ((const struct token *)opaque)->id);
}

/* An opaque frame of @p bytes, its packet's number @p id. */
static struct wire_frame *frame_new(struct bench *bench, uint32_t src, uint32_t dst, uint8_t prio,
                                    uint32_t bytes, uint32_t id)
{
    struct wire_frame *frame = engine_frame_alloc(bench->engine);

    CHECK(frame != NULL);
    frame->kind = WIRE_KIND_OPAQUE;
    frame->opaque = token_new(bench, id);
    frame->frame_bytes = bytes;
    frame->src = frame->eth_src = src;
    frame->dst = frame->eth_dst = dst;
    frame->tos = (uint8_t)(prio << 5);
    frame->ttl = 64;
    frame->prio = prio;
    return frame;
}

static bool send(struct bench *bench, uint32_t port, uint32_t dst, uint8_t prio, uint32_t bytes,
                 uint32_t id)
{
    struct wire_frame *frame = frame_new(bench, port, dst, prio, bytes, id);
    bool sent = engine_outside_send(bench->engine, port, frame);

    if (!sent)
        engine_frame_free(bench->engine, frame);
    return sent;
}

/* A frame of the card, with payload and number @p id. */
static struct wire_frame *roce_new(struct bench *bench, uint32_t src, uint32_t dst, uint32_t id)
{
    struct wire_frame *frame = engine_frame_alloc(bench->engine);

    CHECK(frame != NULL);
    frame->opcode = WIRE_TRANSPORT_RC | WIRE_OP_SEND_ONLY;
    frame->frame_bytes = wire_frame_length(frame->opcode, 0, 40);
    frame->src = frame->eth_src = src;
    frame->dst = frame->eth_dst = dst;
    frame->dest_qpn = 17;
    frame->udp_sport = 0xC000;
    frame->ip_id = 0;
    frame->vlan_tci = 0;
    frame->pkey = 0xFFFF;
    frame->tos = 3 << 5 | WIRE_ECN_ECT0;
    frame->ttl = 64;
    frame->prio = 3;
    frame->psn = (wire_psn){id};
    frame->bth_flags = 0;
    frame->payload_bytes = 40;
    return frame;
}

static void card_send(struct bench *bench, struct wire_frame *frame)
{
    frame->next = NULL;
    *bench->nic.last = frame;
    bench->nic.last = &frame->next;
    engine_touch(bench->engine, CARD);
}

static void note(struct bench *bench, uint32_t port, const struct wire_frame *frame, uint32_t id)
{
    CHECK(bench->rx_n < TOKENS);
    bench->rx[bench->rx_n++] = (struct arrival){.time_ps = engine_now_ps(bench->engine),
                                                .port = port,
                                                .id = id,
                                                .prio = frame->prio,
                                                .kind = frame->kind};
}

static void outside_rx(void *ctx, uint32_t port, const struct wire_frame *frame)
{
    struct bench *bench = ctx;
    bool opaque = frame->kind == WIRE_KIND_OPAQUE;
    uint32_t id = opaque ? ((const struct token *)frame->opaque)->id : frame->psn.v;

    if (opaque)
        CHECK_EQ(((const struct token *)frame->opaque)->freed, 0);
    CHECK(engine_check_conservation(bench->engine));
    note(bench, port, frame, id);
    if (bench->answers_left > 0) {
        bench->answers_left--;
        CHECK(send(bench, port, frame->src, frame->prio, frame->frame_bytes, id + 1));
    }
}

static void opaque_rx(void *ctx, uint32_t port, struct wire_frame *frame)
{
    struct bench *bench = ctx;

    CHECK_EQ(port, CARD); /* outside is no card */
    note(bench, port, frame, ((const struct token *)frame->opaque)->id);
    token_free(bench, frame->opaque); /* taken */
    frame->opaque = NULL;
}

static void trace(void *ctx, const struct engine_trace *record)
{
    struct bench *bench = ctx;

    bench->traced[record->type]++;
    if (record->type == ENGINE_TRACE_PAUSE)
        bench->paused_classes = record->paused_classes;
}

static void bench_hooks(struct bench *bench, bool listen)
{
    struct engine_hooks hooks = {.ctx = bench,
                                 .opaque_rx = opaque_rx,
                                 .outside_rx = listen ? outside_rx : NULL,
                                 .opaque_free = token_free,
                                 .opaque_copy = token_copy,
                                 .trace = trace,
                                 .trace_mask = UINT32_MAX};

    engine_set_hooks(bench->engine, &hooks);
}

static struct engine_link_params link_of(double loss)
{
    struct engine_link_params link;

    wire_param_defaults(engine_link_param_table, engine_link_param_count, &link);
    link.rate_bps = RATE_100G;
    link.delay_ps = US;
    link.loss = loss;
    return link;
}

static void join(struct bench *bench, uint32_t a, uint32_t b, double loss)
{
    struct engine_link_params link = link_of(loss);

    CHECK_EQ(engine_connect(bench->engine, a, b, &link, &link, MAX_FRAME), 0);
}

/* Two ports to outside and a card, nothing joined. */
static struct bench *bench_new(bool wire)
{
    struct engine_config config = {.seed = 7, .wire = wire};
    struct bench *bench = calloc(1, sizeof *bench);

    CHECK(bench != NULL);
    bench->engine = engine_create(&config);
    CHECK(bench->engine != NULL);
    bench->nic.last = &bench->nic.first;
    bench_hooks(bench, true);
    CHECK_EQ(engine_add_outside(bench->engine), A);
    CHECK_EQ(engine_add_outside(bench->engine), B);
    CHECK_EQ(engine_next_port(bench->engine), CARD);
    CHECK_EQ(engine_add_nic(bench->engine, &bench->nic), CARD);
    return bench;
}

/* All three behind one switch, that routes or learns. */
static struct bench *bench_star(bool l2)
{
    struct bench *bench = bench_new(false);
    struct fabric_params params;
    char why[200];

    wire_param_defaults(fabric_param_table, fabric_param_count, &params);
    params.l2 = l2;
    params.l2_primed = false;
    bench->sw = fabric_create(&params, 3, 1, 0);
    CHECK(bench->sw != NULL);
    CHECK_EQ(engine_add_switch(bench->engine, bench->sw, 3), SWITCH);
    for (uint16_t p = 0; p < 3; p++) {
        join(bench, p, SWITCH + p, 0);
        if (!l2)
            CHECK_EQ(fabric_route_set(bench->sw, p, &p, 1), 0);
    }
    CHECK_EQ(fabric_start(bench->sw, why, sizeof why), 0);
    return bench;
}

/* Also: every packet was freed, once. */
static void bench_free(struct bench *bench)
{
    CHECK(engine_check_conservation(bench->engine));
    if (bench->sw != NULL)
        fabric_destroy(bench->sw); /* what it holds is the pool's */
    engine_destroy(bench->engine);
    for (uint32_t t = 0; t < bench->tokens_n; t++)
        CHECK_EQ(bench->tokens[t].freed, 1);
    free(bench);
}

/* Nothing waits or travels: all frames are in the pool, but the next blank. */
static void run_to_idle(struct bench *bench)
{
    struct engine_counters counters;

    engine_run(bench->engine, WIRE_NEVER);
    CHECK(engine_check_conservation(bench->engine));
    engine_query(bench->engine, &counters);
    CHECK_EQ(counters.frames_in_flight, 0);
    CHECK_EQ(bench->engine->pool.frames_used, bench->engine->blank != NULL ? 1 : 0);
}

static void check_rx(const struct bench *bench, size_t i, uint32_t port, uint32_t id,
                     uint64_t time_ps)
{
    CHECK(i < bench->rx_n);
    CHECK_EQ(bench->rx[i].port, port);
    CHECK_EQ(bench->rx[i].id, id);
    CHECK_EQ(bench->rx[i].time_ps, time_ps);
}

static uint64_t drops(const struct bench *bench, uint32_t port, enum wire_drop drop)
{
    return engine_query_port(bench->engine, port)->drops[drop];
}

#endif
