/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The timing wheel: every pending event of the engine, in one order.
 *
 * The order is (time, order word); the order word is made by engine_state.h from port, rank and the
 * port's sequence number, so it is unique and never depends on when an event was scheduled.
 *
 *   slots     ENGINE_WHEEL_SLOTS lists of one slot each; a two-level bitmap finds the next one. A
 *             list is kept sorted as long as that is cheap: nearly every event belongs at its end.
 *             One that got too long for that is left unsorted (last == 0)
 *   current   an unsorted slot, sorted when its turn comes: array [head, tail); what is scheduled
 *             into it (or before it) is inserted in place
 *   far       4-ary heap of what lies beyond the window; moved into the slots as the window moves
 *
 * A peek only reads (and remembers the answer), so it cannot move the window past an event that is
 * scheduled later.
 *
 * Owns   nodes, slots, heap; not what an event's `ptr` points to
 * Cost   schedule and pop O(1) amortised while slots hold few events; far events O(log n)
 */
#ifndef ENGINE_WHEEL_H
#define ENGINE_WHEEL_H

#include "wire_types.h"

#define ENGINE_WHEEL_SLOT_SHIFT 10u /* a slot is 1024 ps */
#define ENGINE_WHEEL_SLOTS 16384u   /* window: 16.8 us */
#define ENGINE_WHEEL_WORDS (ENGINE_WHEEL_SLOTS / 64)

struct engine_event {
    uint64_t time_ps;
    uint64_t order; /* tie-break at equal times */
    void *ptr;      /* the scheduler's: a frame, a user record */
    uint32_t kind;  /* the scheduler's */
    uint32_t next;  /* wheel's: list link, index of a node + 1; 0 ends it */
};

static_assert(sizeof(struct engine_event) == 32, "two events in a cache line");

/* Indexes of nodes + 1; 0: none. */
struct engine_slot {
    uint32_t first, last;
};

struct engine_wheel {
    uint64_t slot_taken; /* slots up to this one have been moved to `current` */
    uint64_t next_ps;    /* remembered peek; 0: not known */
    uint64_t far_slot;   /* slot of the first far event, UINT64_MAX: none */
    struct engine_event *current;
    size_t head, tail, current_size;
    struct engine_event *nodes;
    uint32_t nodes_used, nodes_size;
    uint32_t free_node; /* index + 1 of the first free node, 0: none */
    struct engine_event *far;
    size_t far_n, far_size;
    uint64_t pending;                          /* events in all three places */
    uint64_t summary[ENGINE_WHEEL_WORDS / 64]; /* bit w: bitmap[w] is not 0 */
    uint64_t bitmap[ENGINE_WHEEL_WORDS];       /* bit s: slot s is not empty */
    struct engine_slot slots[ENGINE_WHEEL_SLOTS];
};

/** @return false: out of memory; later growth that fails ends the process. */
bool engine_wheel_init(struct engine_wheel *wheel);
void engine_wheel_fini(struct engine_wheel *wheel);

/** Add an event; @p event->time_ps is not before the last one popped and not WIRE_NEVER. */
static inline void engine_wheel_schedule(struct engine_wheel *wheel,
                                         const struct engine_event *event);

/** Take the first event at or before @p until_ps. @return false: none; no order has changed. */
bool engine_wheel_pop(struct engine_wheel *wheel, uint64_t until_ps, struct engine_event *event);

/** After a pop at @p now_ps: is no other event pending at that time? */
static inline bool engine_wheel_quiet(const struct engine_wheel *wheel, uint64_t now_ps);

/** Time of the first event, WIRE_NEVER: none. Changes nothing that can be seen. */
uint64_t engine_wheel_peek_ps(struct engine_wheel *wheel);

/** Nothing is pending at or before @p now_ps and nothing will be scheduled before it. */
void engine_wheel_advance(struct engine_wheel *wheel, uint64_t now_ps);

/** Call @p visit for every pending event, in no order. */
void engine_wheel_walk(const struct engine_wheel *wheel,
                       void (*visit)(void *ctx, const struct engine_event *event), void *ctx);

static inline bool engine_wheel_before(const struct engine_event *a, const struct engine_event *b)
{
    __extension__ typedef unsigned __int128 u128;

    return ((u128)a->time_ps << 64 | a->order) < ((u128)b->time_ps << 64 | b->order);
}

/* ---- the path of nearly every event: a slot of the window, a node that was used before ---- */

/* Slots count from 1, so that slot_taken 0 is "none yet". */
static inline uint64_t engine_wheel_slot_of(uint64_t time_ps)
{
    return (time_ps >> ENGINE_WHEEL_SLOT_SHIFT) + 1;
}

/** Time of the first event of a slot that is not empty. */
static inline uint64_t engine_wheel_slot_ps(const struct engine_wheel *wheel,
                                            const struct engine_slot *slot)
{
    uint64_t first_ps = wheel->nodes[slot->first - 1].time_ps;

    if (slot->last == 0)
        for (uint32_t n = slot->first; n != 0; n = wheel->nodes[n - 1].next)
            first_ps = wire_min_ps(first_ps, wheel->nodes[n - 1].time_ps);
    return first_ps;
}

static inline bool engine_wheel_quiet(const struct engine_wheel *wheel, uint64_t now_ps)
{
    uint64_t number = engine_wheel_slot_of(now_ps);
    const struct engine_slot *slot = &wheel->slots[number & (ENGINE_WHEEL_SLOTS - 1)];

    if (wheel->head < wheel->tail)
        return wheel->current[wheel->head].time_ps > now_ps;
    return wheel->slot_taken >= number || slot->first == 0 ||
           engine_wheel_slot_ps(wheel, slot) > now_ps;
}

/** Out-of-line part of engine_wheel_schedule. */
void engine_wheel_schedule_rare(struct engine_wheel *wheel, const struct engine_event *event);

/** Link node @p n into a slot whose last event it does not follow. */
void engine_wheel_link(struct engine_wheel *wheel, struct engine_slot *slot, uint32_t n);

/*
 * Field by field into the node: a copy through a record on the stack would be read back in wider
 * pieces than it was written in, which stalls.
 */
static inline void engine_wheel_add(struct engine_wheel *wheel, uint64_t time_ps, uint64_t order,
                                    uint32_t kind, void *ptr)
{
    uint64_t number = engine_wheel_slot_of(time_ps);
    uint32_t s = (uint32_t)number & (ENGINE_WHEEL_SLOTS - 1);
    struct engine_slot *slot = &wheel->slots[s];
    uint32_t n = wheel->free_node;
    struct engine_event *node;

    wheel->pending++;
    if (time_ps < wheel->next_ps)
        wheel->next_ps = time_ps;
    /* One comparison: after the slot taken, and inside the window. */
    if (WIRE_UNLIKELY(number - wheel->slot_taken - 1 >= ENGINE_WHEEL_SLOTS - 1 || n == 0)) {
        engine_wheel_schedule_rare(
            wheel,
            &(struct engine_event){.time_ps = time_ps, .order = order, .ptr = ptr, .kind = kind});
        return;
    }
    node = &wheel->nodes[n - 1];
    wheel->free_node = node->next;
    node->time_ps = time_ps;
    node->order = order;
    node->ptr = ptr;
    node->kind = kind;
    node->next = 0;
    if (WIRE_LIKELY(slot->first == 0)) {
        slot->first = slot->last = n;
        wheel->bitmap[s / 64] |= UINT64_C(1) << s % 64;
        wheel->summary[s / 4096] |= UINT64_C(1) << s / 64 % 64;
    } else if (slot->last != 0 && engine_wheel_before(&wheel->nodes[slot->last - 1], node)) {
        wheel->nodes[slot->last - 1].next = n;
        slot->last = n;
    } else {
        engine_wheel_link(wheel, slot, n);
    }
}

static inline void engine_wheel_schedule(struct engine_wheel *wheel,
                                         const struct engine_event *event)
{
    engine_wheel_add(wheel, event->time_ps, event->order, event->kind, event->ptr);
}

#endif
