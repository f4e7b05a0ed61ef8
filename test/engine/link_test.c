/* SPDX-License-Identifier: GPL-2.0-only */
/* One direction of a link alone: byte times, the loss streams, the passage through bytes. */
#include "check.h"
#include "engine_link.h"
#include "engine_pool.h"
#include "wire_codec.h"

static void byte_times_are_exact_or_refused(void)
{
    CHECK_EQ(engine_link_ps_per_byte(100000000000), 80);
    CHECK_EQ(engine_link_ps_per_byte(800000000000), 10);
    CHECK_EQ(engine_link_ps_per_byte(25000000000), 320);
    CHECK_EQ(engine_link_ps_per_byte(1000000), 8000000);
    CHECK_EQ(engine_link_ps_per_byte(1600000000000), 5);
    CHECK_EQ(engine_link_ps_per_byte(3000000000), 0);      /* 2666.67 */
    CHECK_EQ(engine_link_ps_per_byte(100000000001), 0);    /* 79.99.. */
    CHECK_EQ(engine_link_ps_per_byte(100000000000000), 0); /* 0.08 */
    CHECK_EQ(engine_link_ps_per_byte(1), 0);               /* does not fit */
}

/* 100,000 frames: within 4 standard deviations of the rate, and none drawn at loss 0. */
static void losses_follow_the_rate(void)
{
    static const double rates[] = {0.001, 0.01, 0.3, 0.999};
    const uint32_t n = 100000;

    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct engine_link link = {.loss = rates[i], .rng = engine_link_rng(1, (uint32_t)i)};
        double var = n * rates[i] * (1 - rates[i]);
        double lost = 0;

        for (uint32_t k = 0; k < n; k++)
            lost += engine_link_loses(&link);
        CHECK((lost - n * rates[i]) * (lost - n * rates[i]) <= 16 * var);
    }
    struct engine_link none = {.rng = engine_link_rng(1, 0)};
    struct engine_link all = {.loss = 1, .rng = engine_link_rng(1, 0)};
    uint64_t state = none.rng.state;

    for (uint32_t k = 0; k < 1000; k++) {
        CHECK(!engine_link_loses(&none));
        CHECK(engine_link_loses(&all));
    }
    CHECK_EQ(none.rng.state, state);
}

static void streams_differ_by_port_and_from_the_card(void)
{
    for (uint32_t port = 0; port < 100; port++) {
        struct wire_rng a = engine_link_rng(7, port), b = engine_link_rng(7, port + 1);
        struct wire_rng card = wire_rng_init(7, port), again = engine_link_rng(7, port);
        uint64_t drawn = wire_rng_next(&a);

        CHECK(drawn != wire_rng_next(&b));
        CHECK(drawn != wire_rng_next(&card));
        CHECK(drawn == wire_rng_next(&again));
    }
}

/* What a receiver may read; the unions of line 1 by what the opcode carries. */
static void same_frame(const struct wire_frame *a, const struct wire_frame *b)
{
    uint16_t has = wire_opcodes[a->opcode].has;

    CHECK_EQ(a->kind, b->kind);
    CHECK_EQ(a->frame_bytes, b->frame_bytes);
    CHECK_EQ(a->eth_src, b->eth_src);
    CHECK(a->in_port == b->in_port && a->in_charge == b->in_charge);
    CHECK(a->ready_ps == b->ready_ps && a->next == b->next && a->payload == b->payload);
    if (a->kind != WIRE_KIND_ROCE) {
        if (a->kind == WIRE_KIND_PFC)
            CHECK_EQ(a->pause_enabled, b->pause_enabled);
        CHECK_BYTES(a->pause_quanta, b->pause_quanta,
                    a->kind == WIRE_KIND_PFC ? sizeof a->pause_quanta : 2);
        return;
    }
    CHECK(a->src == b->src && a->dst == b->dst && a->eth_dst == b->eth_dst);
    CHECK(a->dest_qpn == b->dest_qpn && a->udp_sport == b->udp_sport && a->ip_id == b->ip_id);
    CHECK(a->pkey == b->pkey && a->opcode == b->opcode && a->tos == b->tos && a->ttl == b->ttl);
    CHECK(a->prio == b->prio && a->flags == b->flags && a->psn.v == b->psn.v);
    CHECK(a->bth_flags == b->bth_flags && a->payload_bytes == b->payload_bytes);
    if (has & WIRE_HAS_AETH)
        CHECK(a->syndrome == b->syndrome && a->msn == b->msn);
    if (has & WIRE_HAS_IMM)
        CHECK_EQ(a->imm, b->imm);
    if (has & WIRE_HAS_RETH)
        CHECK(a->va == b->va && a->rkey == b->rkey && a->dma_bytes == b->dma_bytes);
    if (has & WIRE_HAS_ATOMIC)
        CHECK(a->swap_add == b->swap_add && a->compare == b->compare);
}

static void frame_fill(struct wire_frame *frame, uint8_t opcode, uint32_t payload_bytes)
{
    frame->kind = WIRE_KIND_ROCE;
    frame->opcode = opcode;
    frame->payload_bytes = payload_bytes;
    frame->frame_bytes = wire_frame_length(opcode, frame->flags, payload_bytes);
    frame->src = 3;
    frame->dst = 4;
    frame->eth_src = 5;
    frame->eth_dst = 6;
    frame->dest_qpn = 0x123456;
    frame->udp_sport = 0xC123;
    frame->ip_id = 77;
    frame->pkey = 0xFFFF;
    frame->tos = 26 << 2 | WIRE_ECN_CE;
    frame->ttl = 63;
    frame->prio = 3;
    frame->psn = (wire_psn){0xFFFFFE};
    frame->bth_flags = WIRE_BTH_ACKREQ | WIRE_BTH_SE;
    frame->syndrome = 0x60;
    frame->msn = 0xABCDEF;
    frame->imm = 0x01020304;
    frame->va = 0x1122334455667788;
    frame->rkey = 0x99AABBCC;
    frame->dma_bytes = 0x10000;
    frame->next = frame;
    frame->in_port = 9;
    frame->in_charge = 8;
    frame->ready_ps = 7;
}

static void frame_survives_as_bytes(void)
{
    static const uint8_t opcodes[] = {
        WIRE_OP_SEND_FIRST, WIRE_OP_SEND_LAST_IMM, WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_MIDDLE,
        WIRE_OP_WRITE_ONLY, WIRE_OP_ACKNOWLEDGE,   WIRE_OP_CNP};
    static uint8_t bytes[ENGINE_LINK_BYTES];
    struct engine_pool pool;

    engine_pool_init(&pool, 4096);
    for (size_t i = 0; i < sizeof opcodes; i++) {
        struct wire_frame *frame = engine_pool_alloc(&pool), before;
        bool data = (wire_opcodes[opcodes[i]].has & WIRE_HAS_PAYLOAD) != 0;

        frame_fill(frame, opcodes[i], data ? 1021 + (uint32_t)i : 0);
        for (int backed = 0; backed < 2; backed++) {
            frame->flags = backed != 0 && data ? WIRE_FRAME_BYTES : 0;
            for (uint32_t b = 0; b < 4096; b++)
                frame->payload[b] = (uint8_t)(b * 3 + i);
            before = *frame;
            CHECK_EQ(engine_link_transit(frame, NULL, bytes), WIRE_DROP_NONE);
            same_frame(&before, frame);
            for (uint32_t b = 0; b < 4096; b++)
                CHECK_EQ(frame->payload[b], (uint8_t)(b * 3 + i));
        }
        engine_pool_free(&pool, frame);
    }
    engine_pool_fini(&pool);
}

static void pause_frame_survives_as_bytes(void)
{
    static uint8_t bytes[ENGINE_LINK_BYTES];
    struct wire_frame frame = {.kind = WIRE_KIND_PFC,
                               .frame_bytes = 64,
                               .eth_src = 12,
                               .pause_enabled = 0x08,
                               .pause_quanta = {0, 0, 0, 0xFFFF}};
    struct wire_frame before = frame;

    CHECK_EQ(engine_link_transit(&frame, NULL, bytes), WIRE_DROP_NONE);
    same_frame(&before, &frame);
    frame = before;
    frame.kind = before.kind = WIRE_KIND_PAUSE;
    frame.pause_quanta[0] = before.pause_quanta[0] = 513;
    CHECK_EQ(engine_link_transit(&frame, NULL, bytes), WIRE_DROP_NONE);
    same_frame(&before, &frame);
}

static void opaque_frame_passes_untouched(void)
{
    struct wire_frame frame = {.kind = WIRE_KIND_OPAQUE, .frame_bytes = 1500, .dst = 4};
    struct wire_frame before = frame;

    CHECK_EQ(engine_link_transit(&frame, NULL, NULL), WIRE_DROP_NONE);
    CHECK_BYTES(&frame, &before, sizeof frame);
}

CHECK_SUITE(link, CHECK_CASE(byte_times_are_exact_or_refused), CHECK_CASE(losses_follow_the_rate),
            CHECK_CASE(streams_differ_by_port_and_from_the_card),
            CHECK_CASE(frame_survives_as_bytes), CHECK_CASE(pause_frame_survives_as_bytes),
            CHECK_CASE(opaque_frame_passes_untouched))
