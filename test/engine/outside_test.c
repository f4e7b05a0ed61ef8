/* SPDX-License-Identifier: GPL-2.0-only */
/* Ports whose frames come from outside of the simulation and go there, with the real switch. */
#include "outside_bench.h"

#define PFC_QUANTA 1000u

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
