/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The frame pool: every frame of a run, in 2 MB arenas, handed out last in, first out.
 *
 * A frame keeps its payload slot for life. An arena is aligned to its size, so a frame's arena, and
 * with it the slot, follows from its address: `opaque` may overwrite the payload pointer and the
 * pool puts it back. Frames and payload are touched only when first used, and never cleared whole.
 *
 * Owns   arenas, payload chunks, the free list
 * Cost   alloc and free: one list operation
 */
#ifndef ENGINE_POOL_H
#define ENGINE_POOL_H

#include "wire_frame.h"

#define ENGINE_POOL_ARENA_BYTES (2u << 20)
#define ENGINE_POOL_CHUNK_FRAMES 256u /* frames whose payload slots are allocated together */
#define ENGINE_POOL_CHUNKS (ENGINE_POOL_ARENA_BYTES / 128 / ENGINE_POOL_CHUNK_FRAMES)

struct engine_pool_arena;

struct engine_pool {
    struct wire_frame *free;
    struct engine_pool_arena *arena; /* newest first; only the newest has unused frames */
    size_t payload_bytes;            /* of a slot, a multiple of 64; 0: none */
    uint64_t frames_used;            /* handed out and not given back */
    void (*opaque_free)(void *ctx, void *opaque);
    void *(*opaque_copy)(void *ctx, const void *opaque); /* NULL: a copy carries none */
    void *opaque_ctx;
};

void engine_pool_init(struct engine_pool *pool, uint32_t payload_bytes);
/** Frees every frame, wherever it is; opaques still in one go to opaque_free. */
void engine_pool_fini(struct engine_pool *pool);

/** Slow path of engine_pool_alloc. @return NULL: out of memory. */
struct wire_frame *engine_pool_carve(struct engine_pool *pool);
/** Slow path of engine_pool_free: hand the opaque back and restore the payload pointer. */
void engine_pool_strip(struct engine_pool *pool, struct wire_frame *frame);
/** A frame equal to @p frame, with its own payload or opaque; next NULL; NULL: out of memory. */
struct wire_frame *engine_pool_copy(struct engine_pool *pool, const struct wire_frame *frame);

/** A blank: kind ROCE, no flags, next NULL, payload slot (or NULL); the rest is undefined. */
static inline struct wire_frame *engine_pool_alloc(struct engine_pool *pool)
{
    struct wire_frame *frame = pool->free;

    if (WIRE_UNLIKELY(frame == NULL)) {
        frame = engine_pool_carve(pool);
        if (frame == NULL)
            return NULL;
    } else {
        pool->free = frame->next;
    }
    frame->next = NULL;
    frame->flags = 0;
    pool->frames_used++;
    return frame;
}

static inline void engine_pool_free(struct engine_pool *pool, struct wire_frame *frame)
{
    WIRE_ASSERT(pool->frames_used > 0);
    if (WIRE_UNLIKELY(frame->kind == WIRE_KIND_OPAQUE))
        engine_pool_strip(pool, frame);
    frame->kind = WIRE_KIND_ROCE;
    frame->next = pool->free;
    pool->free = frame;
    pool->frames_used--;
}

#endif
