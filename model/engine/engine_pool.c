/* SPDX-License-Identifier: GPL-2.0-only */
#if defined(__linux__)
#define _DEFAULT_SOURCE /* madvise */
#endif
#include "engine_pool.h"

#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#define PAYLOAD_ALIGN 64u

/* Lies where the first frames of its memory would be. */
struct engine_pool_arena {
    struct engine_pool_arena *older;
    uint32_t first, carved; /* indices: frames before `first` are this header */
    uint8_t *payload[ENGINE_POOL_CHUNKS];
};

#define ARENA_FRAMES ((uint32_t)(ENGINE_POOL_ARENA_BYTES / sizeof(struct wire_frame)))
#define ARENA_FIRST                                                                                \
    ((uint32_t)((sizeof(struct engine_pool_arena) + sizeof(struct wire_frame) - 1) /               \
                sizeof(struct wire_frame)))

static struct wire_frame *arena_frame(struct engine_pool_arena *arena, uint32_t i)
{
    WIRE_ASSERT(i >= arena->first && i < ARENA_FRAMES);
    return (struct wire_frame *)(void *)arena + i;
}

static struct engine_pool_arena *arena_of(struct wire_frame *frame)
{
    return (struct engine_pool_arena *)((uintptr_t)frame &
                                        ~(uintptr_t)(ENGINE_POOL_ARENA_BYTES - 1));
}

static struct engine_pool_arena *arena_create(void)
{
    struct engine_pool_arena *arena =
        aligned_alloc(ENGINE_POOL_ARENA_BYTES, ENGINE_POOL_ARENA_BYTES);

    if (arena == NULL)
        return NULL;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    (void)madvise(arena, ENGINE_POOL_ARENA_BYTES, MADV_HUGEPAGE); /* a hint, may be refused */
#endif
    memset(arena, 0, sizeof *arena);
    arena->first = arena->carved = ARENA_FIRST;
    return arena;
}

/* Payload slot of frame @p i; its chunk exists. */
static uint8_t *arena_payload(const struct engine_pool *pool, const struct engine_pool_arena *arena,
                              uint32_t i)
{
    uint8_t *chunk = arena->payload[i / ENGINE_POOL_CHUNK_FRAMES];

    if (pool->payload_bytes == 0)
        return NULL;
    WIRE_ASSERT(chunk != NULL);
    return chunk + (i % ENGINE_POOL_CHUNK_FRAMES) * pool->payload_bytes;
}

void engine_pool_init(struct engine_pool *pool, uint32_t payload_bytes)
{
    memset(pool, 0, sizeof *pool);
    pool->payload_bytes =
        ((size_t)payload_bytes + PAYLOAD_ALIGN - 1) / PAYLOAD_ALIGN * PAYLOAD_ALIGN;
}

struct wire_frame *engine_pool_carve(struct engine_pool *pool)
{
    struct engine_pool_arena *arena = pool->arena;
    struct wire_frame *frame;
    uint8_t **chunk;

    if (arena == NULL || arena->carved == ARENA_FRAMES) {
        arena = arena_create();
        if (arena == NULL)
            return NULL;
        arena->older = pool->arena;
        pool->arena = arena;
    }
    chunk = &arena->payload[arena->carved / ENGINE_POOL_CHUNK_FRAMES];
    if (pool->payload_bytes != 0 && *chunk == NULL) {
        *chunk = aligned_alloc(PAYLOAD_ALIGN, pool->payload_bytes * ENGINE_POOL_CHUNK_FRAMES);
        if (*chunk == NULL)
            return NULL;
    }
    frame = arena_frame(arena, arena->carved);
    memset(frame, 0, sizeof *frame); /* once in its life: no read of a field is undefined */
    frame->payload = arena_payload(pool, arena, arena->carved);
    arena->carved++;
    return frame;
}

void engine_pool_strip(struct engine_pool *pool, struct wire_frame *frame)
{
    struct engine_pool_arena *arena = arena_of(frame);
    uint32_t i = (uint32_t)(frame - (struct wire_frame *)(void *)arena);

    WIRE_ASSERT(frame->kind == WIRE_KIND_OPAQUE);
    WIRE_ASSERT(i >= arena->first && i < arena->carved);
    if (frame->opaque != NULL && pool->opaque_free != NULL)
        pool->opaque_free(pool->opaque_ctx, frame->opaque);
    frame->payload = arena_payload(pool, arena, i);
    frame->payload_bytes = 0;
}

struct wire_frame *engine_pool_copy(struct engine_pool *pool, const struct wire_frame *frame)
{
    struct wire_frame *copy = engine_pool_alloc(pool);
    uint8_t *payload;

    if (copy == NULL)
        return NULL;
    payload = copy->payload;
    *copy = *frame;
    copy->next = NULL;
    if (frame->kind == WIRE_KIND_OPAQUE) {
        if (frame->opaque != NULL && pool->opaque_copy != NULL)
            copy->opaque = pool->opaque_copy(pool->opaque_ctx, frame->opaque);
        else
            copy->opaque = NULL;
        return copy;
    }
    copy->payload = payload;
    if ((frame->flags & WIRE_FRAME_BYTES) != 0) {
        WIRE_ASSERT(frame->payload_bytes <= pool->payload_bytes);
        memcpy(payload, frame->payload, frame->payload_bytes);
    }
    return copy;
}

void engine_pool_fini(struct engine_pool *pool)
{
    while (pool->arena != NULL) {
        struct engine_pool_arena *arena = pool->arena;

        for (uint32_t i = arena->first; i < arena->carved; i++) {
            struct wire_frame *frame = arena_frame(arena, i);

            if (frame->kind == WIRE_KIND_OPAQUE)
                engine_pool_strip(pool, frame);
        }
        pool->arena = arena->older;
        for (uint32_t c = 0; c < ENGINE_POOL_CHUNKS; c++)
            free(arena->payload[c]);
        free(arena);
    }
    pool->free = NULL;
    pool->frames_used = 0;
}
