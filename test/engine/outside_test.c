/* SPDX-License-Identifier: GPL-2.0-only */
/* Ports whose frames come from outside of the simulation and go there, with the real switch. */
#include "check.h"
#include "engine_state.h"
#include "wire_codec.h"

#define RATE_100G UINT64_C(100000000000)
#define US UINT64_C(1000000)
#define BYTE_PS UINT64_C(80)
#define MAX_FRAME 9018u
#define TOKENS 2048u
#define HOP_PS(bytes) (((bytes) + 8) * BYTE_PS + US)
#define PFC_QUANTA 1000u

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

/* ---- through a switch ---- */

static void frames_cross_a_switch(void)
{
    struct bench *bench = bench_star(false);
    struct engine_counters counters;

    CHECK(send(bench, A, B, 0, 1000, 10));
    CHECK(send(bench, B, CARD, 0, 500, 20));
    CHECK_EQ(engine_next_ps(bench->engine), 0);
    run_to_idle(bench);
    CHECK_EQ(bench->rx_n, 2);
    check_rx(bench, 0, CARD, 20, 2 * HOP_PS(500));
    check_rx(bench, 1, B, 10, 2 * HOP_PS(1000));
    CHECK_EQ(engine_query_port(bench->engine, B)->rx_frames, 1);
    CHECK_EQ(engine_query_port(bench->engine, A)->tx_frames, 1);
    CHECK_EQ(engine_query_port(bench->engine, A)->tx_bytes, 1000);
    CHECK_EQ(engine_query_port(bench->engine, A)->busy_ps, 1020 * BYTE_PS);
    engine_query(bench->engine, &counters);
    CHECK_EQ(counters.frames_sent, 2);
    CHECK_EQ(counters.frames_delivered, 2);
    CHECK_EQ(counters.packet_hops, 4);
    CHECK_EQ(bench->traced[ENGINE_TRACE_TX], 4);
    CHECK_EQ(bench->traced[ENGINE_TRACE_RX], 4);
    CHECK_EQ(bench->traced[ENGINE_TRACE_DROP], 0);
    bench_free(bench);
}

static void cards_reach_outside_and_are_reached(void)
{
    struct bench *bench = bench_star(false);
    struct wire_frame *frame = roce_new(bench, A, CARD, 6);
    uint32_t bytes = frame->frame_bytes;

    CHECK(engine_outside_send(bench->engine, A, frame));
    card_send(bench, roce_new(bench, CARD, B, 5));
    run_to_idle(bench);
    CHECK_EQ(bench->rx_n, 1);
    check_rx(bench, 0, B, 5, 2 * HOP_PS(bytes));
    CHECK_EQ(bench->rx[0].kind, WIRE_KIND_ROCE);
    CHECK_EQ(bench->rx[0].prio, 3);
    CHECK_EQ(bench->nic.received, 1);
    CHECK_EQ(bench->nic.rx.psn.v, 6);
    CHECK_EQ(bench->nic.rx.ttl, 63);
    bench_free(bench);
}

/* Bytes of the frame, made on its way, say what it said. */
static void frames_from_outside_pass_as_bytes(void)
{
    struct bench *bench = bench_new(true);

    join(bench, A, B, 0);
    for (uint32_t i = 0; i < 5; i++)
        CHECK(engine_outside_send(bench->engine, A, roce_new(bench, A, B, 0xFFFFFD + i)));
    CHECK(send(bench, A, B, 3, 100, 77));
    run_to_idle(bench);
    CHECK_EQ(bench->rx_n, 6);
    for (uint32_t i = 0; i < 5; i++)
        CHECK_EQ(bench->rx[i].id, (0xFFFFFD + i) & WIRE_PSN_MASK);
    CHECK_EQ(bench->rx[5].id, 77);
    bench_free(bench);
}

static void bridge_floods_and_learns(void)
{
    struct bench *bench = bench_star(true);
    struct engine_counters counters;

    CHECK(send(bench, A, B, 0, 100, 1)); /* nobody knows B: to the card too, which is not meant */
    run_to_idle(bench);
    CHECK_EQ(bench->rx_n, 1);
    CHECK_EQ(bench->rx[0].port, B);
    CHECK_EQ(drops(bench, CARD, WIRE_DROP_DEST_MAC), 1);
    CHECK(send(bench, B, A, 0, 100, 2)); /* A was learned */
    run_to_idle(bench);
    CHECK(send(bench, A, B, 0, 100, 3)); /* B too */
    run_to_idle(bench);
    CHECK_EQ(bench->rx_n, 3);
    CHECK_EQ(bench->rx[1].port, A);
    CHECK_EQ(bench->rx[2].port, B);
    CHECK_EQ(drops(bench, CARD, WIRE_DROP_DEST_MAC), 1);
    CHECK(send(bench, A, CARD, 0, 100, 4)); /* unknown: B hears it, whomever it is for */
    run_to_idle(bench);
    CHECK_EQ(bench->rx_n, 5);
    CHECK_EQ(bench->rx[3].port, B);
    CHECK_EQ(bench->rx[4].port, CARD);
    CHECK(send(bench, B, WIRE_STATION_BROADCAST, 0, 100, 5));
    run_to_idle(bench);
    CHECK_EQ(bench->rx_n, 7);
    CHECK_EQ(bench->rx[5].port, A);
    CHECK_EQ(bench->rx[5].id, 5);
    CHECK_EQ(bench->rx[6].port, CARD);
    engine_query(bench->engine, &counters);
    CHECK_EQ(counters.frames_sent, 5);
    CHECK_EQ(counters.frames_copied, 3);
    CHECK_EQ(counters.frames_delivered, 7);
    bench_free(bench);
}

/* ---- order, pauses ---- */

static void what_came_first_leaves_first(void)
{
    static const uint8_t prio[] = {3, 0, 7, 7, 3, 1, 0, 3, 2, 7};
    struct bench *bench = bench_new(false);

    join(bench, A, B, 0);
    for (uint32_t i = 0; i < 10; i++)
        CHECK(send(bench, A, B, prio[i], 1000, i));
    run_to_idle(bench);
    CHECK_EQ(bench->rx_n, 10);
    for (uint32_t i = 0; i < 10; i++) {
        check_rx(bench, i, B, i, HOP_PS(1000) + i * 1020 * BYTE_PS);
        CHECK_EQ(bench->rx[i].prio, prio[i]);
    }
    bench_free(bench);
}

/* The card tells its peer to stop class 3. */
static void card_pauses(struct bench *bench)
{
    struct wire_frame *pfc = engine_frame_alloc(bench->engine);

    pfc->kind = WIRE_KIND_PFC;
    pfc->frame_bytes = 64;
    pfc->src = pfc->eth_src = CARD;
    pfc->dst = pfc->eth_dst = WIRE_STATION_BROADCAST;
    pfc->pause_enabled = 1 << 3;
    for (uint32_t c = 0; c < WIRE_CLASSES; c++)
        pfc->pause_quanta[c] = PFC_QUANTA;
    card_send(bench, pfc);
}

static void paused_class_holds_up_no_other(void)
{
    static const uint8_t prio[] = {3, 3, 5, 3, 5, 3, 0};
    static const uint32_t order[] = {2, 4, 6, 0, 1, 3, 5};
    uint64_t pause_ps = HOP_PS(64), end_ps = pause_ps + PFC_QUANTA * 64 * BYTE_PS;
    struct bench *bench = bench_new(false);

    join(bench, A, CARD, 0);
    card_pauses(bench);
    engine_run(bench->engine, pause_ps);
    CHECK_EQ(engine_ready_classes(bench->engine, A), 0xF7);
    CHECK_EQ(bench->paused_classes, 1 << 3);
    for (uint32_t i = 0; i < 7; i++)
        CHECK(send(bench, A, CARD, prio[i], 1000, i));
    run_to_idle(bench);
    CHECK_EQ(bench->rx_n, 7);
    for (uint32_t i = 0; i < 7; i++) {
        uint64_t start_ps = i < 3 ? pause_ps + i * 1020 * BYTE_PS : /* the rest: at its end */
                                end_ps + (i - 3) * 1020 * BYTE_PS;

        check_rx(bench, i, CARD, order[i], start_ps + HOP_PS(1000));
    }
    CHECK_EQ(bench->paused_classes, 0);
    CHECK_EQ(engine_query_port(bench->engine, A)->pause_rx, 1);
    CHECK_EQ(engine_query_port(bench->engine, A)->paused_ps, PFC_QUANTA * 64 * BYTE_PS);
    bench_free(bench);
}

/* The frame on the line is finished; the next, already due when the pause comes, waits. */
static void pause_stops_a_port_that_sends(void)
{
    uint64_t end_ps = HOP_PS(64) + PFC_QUANTA * 64 * BYTE_PS, first_ps = HOP_PS(64) - US / 50;
    struct bench *bench = bench_new(false);

    join(bench, A, CARD, 0);
    card_pauses(bench);
    engine_run(bench->engine, first_ps);
    for (uint32_t i = 0; i < 3; i++)
        CHECK(send(bench, A, CARD, 3, 1000, i));
    run_to_idle(bench);
    CHECK_EQ(bench->rx_n, 3);
    check_rx(bench, 0, CARD, 0, first_ps + HOP_PS(1000));
    check_rx(bench, 1, CARD, 1, end_ps + HOP_PS(1000));
    check_rx(bench, 2, CARD, 2, end_ps + 1020 * BYTE_PS + HOP_PS(1000));
    bench_free(bench);
}

/* ---- what waits ---- */

/* A port that is not joined keeps what comes until it is full, and sends it when it is joined. */
static void refuses_when_too_much_waits(void)
{
    uint32_t took = ENGINE_OUTSIDE_BYTES / 9000 + 1; /* the last one finds room, and fills it */
    struct bench *bench = bench_new(false);
    struct wire_frame *frame;

    for (uint32_t i = 0; i < took; i++)
        CHECK(send(bench, A, B, (uint8_t)(i % WIRE_CLASSES), 9000, i));
    CHECK(!send(bench, A, B, 0, 64, 0));
    CHECK(!send(bench, A, B, 6, 9000, 0));
    CHECK_EQ(engine_next_ps(bench->engine), WIRE_NEVER);
    CHECK_EQ(engine_run(bench->engine, US), 0);
    CHECK_EQ(bench->engine->pool.frames_used, took);
    frame = frame_new(bench, A, B, 0, 9000, took);
    CHECK(!engine_outside_send(bench->engine, A, frame));
    join(bench, A, B, 0);
    CHECK_EQ(engine_next_ps(bench->engine), US);
    engine_run_one(bench->engine);
    CHECK(engine_outside_send(bench->engine, A, frame)); /* one has left */
    run_to_idle(bench);
    CHECK_EQ(bench->rx_n, took + 1);
    for (uint32_t i = 0; i <= took; i++)
        check_rx(bench, i, B, i, US + HOP_PS(9000) + i * 9020 * BYTE_PS);
    CHECK(send(bench, A, B, 0, 64, 0));
    run_to_idle(bench);
    bench_free(bench);
}

/* Queued by many ports, on the lines, in the switch: freed once with the engine. */
static void destroy_frees_what_waits(void)
{
    struct bench *bench = bench_star(false);
    uint32_t last = 0;

    for (uint32_t i = 0; i < 40; i++) { /* the ports move in memory */
        CHECK(send(bench, A, B, (uint8_t)(i % 3), 1500, i));
        last = engine_add_outside(bench->engine);
        CHECK_EQ(last, SWITCH + 3 + i);
        CHECK(send(bench, last, A, 1, 100, i));
        CHECK(engine_outside_send(bench->engine, last, roce_new(bench, last, A, i)));
    }
    engine_run(bench->engine, 2 * HOP_PS(1500));
    CHECK_EQ(bench->rx_n, 1);
    CHECK(fabric_frames_held(bench->sw) + bench->engine->wheel->pending > 2);
    bench_free(bench);
}

/* ---- from within the hook ---- */

static void hook_may_send(void)
{
    struct bench *bench = bench_star(true);

    bench->answers_left = 99;
    CHECK(send(bench, A, B, 0, 1000, 0));
    run_to_idle(bench);
    CHECK_EQ(bench->rx_n, 100);
    for (uint32_t i = 0; i < 100; i++) /* an answer leaves as its question arrives */
        check_rx(bench, i, i % 2 == 0 ? B : A, i, (i + 1) * 2 * HOP_PS(1000));
    CHECK(send(bench, B, CARD, 0, 64, 0)); /* no card answers */
    run_to_idle(bench);
    bench_free(bench);
}

static void user_sends(void *ctx, uint64_t now_ps)
{
    struct bench *bench = ctx;

    CHECK_EQ(now_ps, 777);
    CHECK(send(bench, A, B, 0, 1000, 1));
    CHECK(send(bench, A, B, 1, 1000, 2));
    CHECK(send(bench, B, A, 1, 1000, 3));
}

static void user_event_may_send(void)
{
    struct bench *bench = bench_new(false);

    join(bench, A, B, 0);
    engine_at(bench->engine, CARD, 777, user_sends, bench);
    run_to_idle(bench);
    CHECK_EQ(bench->rx_n, 3);
    check_rx(bench, 0, A, 3, 777 + HOP_PS(1000));
    check_rx(bench, 1, B, 1, 777 + HOP_PS(1000));
    check_rx(bench, 2, B, 2, 777 + 1020 * BYTE_PS + HOP_PS(1000));
    bench_free(bench);
}

static void without_a_listener_frames_are_dropped(void)
{
    struct bench *bench = bench_new(false);

    join(bench, A, B, 0);
    bench_hooks(bench, false);
    CHECK(send(bench, A, B, 0, 100, 0));
    CHECK(engine_outside_send(bench->engine, A, roce_new(bench, A, B, 0)));
    run_to_idle(bench);
    CHECK_EQ(bench->rx_n, 0);
    CHECK_EQ(drops(bench, B, WIRE_DROP_NO_LISTENER), 2);
    CHECK_EQ(engine_query_port(bench->engine, B)->rx_frames, 0);
    CHECK_EQ(bench->traced[ENGINE_TRACE_DROP], 2);
    bench_free(bench);
}

/* ---- the line ---- */

static void line_loses_frames(void)
{
    struct bench *bench = bench_new(false);

    join(bench, A, B, 0.3);
    for (uint32_t i = 0; i < 400; i++) {
        CHECK(send(bench, A, B, (uint8_t)(i % 2), 500, i));
        CHECK(send(bench, B, A, 0, 500, i));
    }
    run_to_idle(bench);
    for (uint32_t port = A; port <= B; port++) {
        uint64_t lost = drops(bench, port, WIRE_DROP_LINK_LOSS);

        CHECK_NEAR(lost, 120, 50); /* more than five times its deviation */
        CHECK_EQ(engine_query_port(bench->engine, port)->rx_frames, 400 - lost);
    }
    for (size_t i = 0, next = 0; i < bench->rx_n; i++) { /* and in order what is left */
        if (bench->rx[i].port != B)
            continue;
        CHECK(bench->rx[i].id >= next);
        next = bench->rx[i].id + 1;
    }
    bench_free(bench);
}

static void line_goes_down_and_up(void)
{
    struct bench *bench = bench_new(false);
    struct wire_frame *corrupt;

    join(bench, A, B, 0);
    CHECK(send(bench, A, B, 0, 500, 0));
    engine_run(bench->engine, HOP_PS(500) / 2);
    CHECK_EQ(engine_set_line(bench->engine, A, false), 0); /* it is on the way */
    CHECK(send(bench, B, A, 0, 500, 1));
    run_to_idle(bench);
    CHECK_EQ(bench->rx_n, 0);
    CHECK_EQ(drops(bench, B, WIRE_DROP_LINK_DOWN), 1);
    CHECK_EQ(drops(bench, A, WIRE_DROP_LINK_DOWN), 1);
    CHECK_EQ(engine_set_line(bench->engine, B, true), 0);
    CHECK(send(bench, A, B, 0, 500, 2));
    corrupt = frame_new(bench, A, B, 0, 500, 3);
    corrupt->flags |= WIRE_FRAME_CORRUPT;
    CHECK(engine_outside_send(bench->engine, A, corrupt));
    run_to_idle(bench);
    CHECK_EQ(bench->rx_n, 1);
    CHECK_EQ(bench->rx[0].id, 2);
    CHECK_EQ(drops(bench, B, WIRE_DROP_FCS), 1);
    bench_free(bench);
}

CHECK_SUITE(outside, CHECK_CASE(frames_cross_a_switch),
            CHECK_CASE(cards_reach_outside_and_are_reached),
            CHECK_CASE(frames_from_outside_pass_as_bytes), CHECK_CASE(bridge_floods_and_learns),
            CHECK_CASE(what_came_first_leaves_first), CHECK_CASE(paused_class_holds_up_no_other),
            CHECK_CASE(pause_stops_a_port_that_sends), CHECK_CASE(refuses_when_too_much_waits),
            CHECK_CASE(destroy_frees_what_waits), CHECK_CASE(hook_may_send),
            CHECK_CASE(user_event_may_send), CHECK_CASE(without_a_listener_frames_are_dropped),
            CHECK_CASE(line_loses_frames), CHECK_CASE(line_goes_down_and_up))
