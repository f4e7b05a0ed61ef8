/* SPDX-License-Identifier: GPL-2.0-only */
#include "engine_link.h"
#include "wire_codec.h"

#include <string.h>

#define POISON 0xA5

uint32_t engine_link_ps_per_byte(uint64_t rate_bps)
{
    const uint64_t byte_ps = 8000000000000u;

    WIRE_ASSERT(rate_bps > 0);
    if (byte_ps % rate_bps != 0 || byte_ps / rate_bps > UINT32_MAX)
        return 0;
    return (uint32_t)(byte_ps / rate_bps);
}

/* The switch of a port draws from stream `station` of its seed, often the same seed. */
struct wire_rng engine_link_rng(uint64_t seed, uint32_t port)
{
    return wire_rng_init(seed, UINT64_C(1) << 32 | port);
}

/* Overwrite what the bytes carry; what belongs to the holder of the frame stays. */
static void link_poison(struct wire_frame *frame)
{
    struct wire_frame held = *frame;
    bool pause = held.kind == WIRE_KIND_PFC || held.kind == WIRE_KIND_PAUSE;

    if (!pause && (held.flags & WIRE_FRAME_BYTES) != 0 && held.payload != NULL)
        memset(held.payload, POISON, held.payload_bytes);
    memset(frame, POISON, sizeof *frame);
    frame->next = held.next;
    frame->in_port = held.in_port;
    frame->in_charge = held.in_charge;
    frame->ready_ps = held.ready_ps;
    frame->payload = held.payload;
}

enum wire_drop engine_link_transit(struct wire_frame *frame, const struct wire_addr_book *book,
                                   uint8_t *bytes)
{
    bool with_bytes = (frame->flags & WIRE_FRAME_BYTES) != 0;
    size_t n;

    if (frame->kind == WIRE_KIND_OPAQUE)
        return WIRE_DROP_NONE;
    n = wire_frame_encode(frame, book, bytes, ENGINE_LINK_BYTES);
    WIRE_ASSERT(n > 0);
    WIRE_ASSERT(n + 4 == frame->frame_bytes);
    link_poison(frame);
    return wire_frame_decode(frame, book, bytes, n, with_bytes);
}
