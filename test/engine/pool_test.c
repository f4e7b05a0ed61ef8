/* SPDX-License-Identifier: GPL-2.0-only */
/* The frame pool: growth over arenas, reuse, payload slots, opaque frames. */
#include "check.h"
#include "engine_pool.h"

#define MANY 40000u /* more than two arenas */
#define PAYLOAD 100u

static unsigned freed_n;
static void *freed_last;

static void note_free(void *ctx, void *opaque)
{
    CHECK(ctx == &freed_n);
    freed_n++;
    freed_last = opaque;
}

static void grows_and_keeps_slots_apart(void)
{
    static struct wire_frame *frames[MANY];
    struct engine_pool pool;

    engine_pool_init(&pool, PAYLOAD);
    for (uint32_t i = 0; i < MANY; i++) {
        frames[i] = engine_pool_alloc(&pool);
        CHECK(frames[i] != NULL);
        CHECK_EQ((uintptr_t)frames[i] % 128, 0);
        CHECK_EQ((uintptr_t)frames[i]->payload % 64, 0);
        frames[i]->tag = i;
        frames[i]->dest_qpn = ~i;
        for (uint32_t b = 0; b < PAYLOAD; b++)
            frames[i]->payload[b] = (uint8_t)(i * 7 + b);
    }
    CHECK_EQ(pool.frames_used, MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        CHECK_EQ(frames[i]->tag, i);
        CHECK_EQ(frames[i]->dest_qpn, ~i);
        for (uint32_t b = 0; b < PAYLOAD; b++)
            CHECK_EQ(frames[i]->payload[b], (uint8_t)(i * 7 + b));
    }
    for (uint32_t i = 0; i < MANY; i++)
        engine_pool_free(&pool, frames[i]);
    CHECK_EQ(pool.frames_used, 0);
    engine_pool_fini(&pool);
}

static void reuses_the_last_one_first(void)
{
    struct engine_pool pool;
    struct wire_frame *a, *b;

    engine_pool_init(&pool, 0);
    a = engine_pool_alloc(&pool);
    b = engine_pool_alloc(&pool);
    CHECK(a != b && a->payload == NULL);
    a->flags = WIRE_FRAME_CORRUPT;
    a->kind = WIRE_KIND_PFC;
    engine_pool_free(&pool, b);
    engine_pool_free(&pool, a);
    CHECK(engine_pool_alloc(&pool) == a);
    CHECK_EQ(a->flags, 0);
    CHECK_EQ(a->kind, WIRE_KIND_ROCE);
    CHECK(a->next == NULL);
    CHECK(engine_pool_alloc(&pool) == b);
    engine_pool_fini(&pool);
}

static void opaque_goes_back_and_slot_returns(void)
{
    struct engine_pool pool;
    struct wire_frame *frame;
    uint8_t *payload;
    int packet = 0;

    engine_pool_init(&pool, 4096);
    pool.opaque_free = note_free;
    pool.opaque_ctx = &freed_n;
    freed_n = 0;
    (void)engine_pool_alloc(&pool);
    frame = engine_pool_alloc(&pool);
    payload = frame->payload;
    frame->kind = WIRE_KIND_OPAQUE;
    frame->opaque = &packet;
    engine_pool_free(&pool, frame);
    CHECK_EQ(freed_n, 1);
    CHECK(freed_last == &packet);
    CHECK(engine_pool_alloc(&pool) == frame);
    CHECK(frame->payload == payload);

    frame->kind = WIRE_KIND_OPAQUE; /* taken by somebody: nothing to free */
    frame->opaque = NULL;
    engine_pool_free(&pool, frame);
    CHECK_EQ(freed_n, 1);
    CHECK(engine_pool_alloc(&pool)->payload == payload);
    engine_pool_fini(&pool);
}

static void *note_copy(void *ctx, const void *opaque)
{
    CHECK(ctx == &freed_n);
    freed_last = (void *)(uintptr_t)opaque;
    return &freed_last;
}

static void a_copy_has_its_own_payload_or_opaque(void)
{
    struct engine_pool pool;
    struct wire_frame *frame, *copy;
    uint8_t *slot;
    int packet = 0;

    engine_pool_init(&pool, PAYLOAD);
    pool.opaque_free = note_free;
    pool.opaque_ctx = &freed_n;
    freed_n = 0;
    frame = engine_pool_alloc(&pool);
    memset(frame, 0x5A, offsetof(struct wire_frame, payload));
    frame->kind = WIRE_KIND_ROCE;
    frame->flags = WIRE_FRAME_BYTES;
    frame->payload_bytes = 50;
    frame->tag = 77;
    frame->swap_add = 88;
    memset(frame->payload, 3, PAYLOAD);
    copy = engine_pool_copy(&pool, frame);
    CHECK(copy->payload != frame->payload);
    CHECK_BYTES(copy->payload, frame->payload, 50);
    CHECK(copy->next == NULL);
    slot = copy->payload;
    frame->next = NULL;
    copy->payload = frame->payload;
    CHECK_BYTES(copy, frame, sizeof(*frame)); /* all else is equal */
    copy->payload = slot;

    for (int hook = 0; hook < 2; hook++) {
        struct wire_frame *other;

        frame->kind = WIRE_KIND_OPAQUE;
        frame->opaque = &packet;
        pool.opaque_copy = hook ? note_copy : NULL;
        other = engine_pool_copy(&pool, frame);
        CHECK(other->opaque == (hook ? (void *)&freed_last : NULL));
        CHECK(!hook || freed_last == &packet);
        CHECK_EQ(other->frame_bytes, frame->frame_bytes);
        engine_pool_free(&pool, other);
        CHECK_EQ(freed_n, hook);
    }
    engine_pool_fini(&pool);
    CHECK_EQ(freed_n, 2);
}

/* Wherever a frame is at the end, its opaque goes back once. */
static void fini_returns_opaques_in_use(void)
{
    struct engine_pool pool;
    int packet = 0;

    engine_pool_init(&pool, 64);
    pool.opaque_free = note_free;
    pool.opaque_ctx = &freed_n;
    freed_n = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        struct wire_frame *frame = engine_pool_alloc(&pool);

        if (i % 100 == 0) {
            frame->kind = WIRE_KIND_OPAQUE;
            frame->opaque = &packet;
        }
    }
    engine_pool_fini(&pool);
    CHECK_EQ(freed_n, 200);
}

CHECK_SUITE(pool, CHECK_CASE(grows_and_keeps_slots_apart), CHECK_CASE(reuses_the_last_one_first),
            CHECK_CASE(opaque_goes_back_and_slot_returns), CHECK_CASE(fini_returns_opaques_in_use),
            CHECK_CASE(a_copy_has_its_own_payload_or_opaque))
