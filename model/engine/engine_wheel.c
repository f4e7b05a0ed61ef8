/* SPDX-License-Identifier: GPL-2.0-only */
#include "engine_wheel.h"

#include <stdlib.h>
#include <string.h>

#define WHEEL_MASK (ENGINE_WHEEL_SLOTS - 1)
#define FAR_NONE UINT64_MAX
#define SLOT_WALK 8u          /* events passed to keep a slot sorted */
#define SORT_BY_INSERTION 24u /* above it the library's sort is faster */

static_assert((ENGINE_WHEEL_SLOTS & WHEEL_MASK) == 0, "slots index by mask");
static_assert(ENGINE_WHEEL_WORDS % 64 == 0, "summary words are full");

static uint64_t wheel_slot_start_ps(uint64_t slot)
{
    return (slot - 1) << ENGINE_WHEEL_SLOT_SHIFT;
}

/* Array of @p size events grown to hold one more than @p size; the process ends without memory. */
static struct engine_event *wheel_grow(struct engine_event *events, size_t *size)
{
    size_t wanted = *size * 2;

    events = realloc(events, wanted * sizeof *events);
    if (events == NULL)
        abort();
    *size = wanted;
    return events;
}

bool engine_wheel_init(struct engine_wheel *wheel)
{
    memset(wheel, 0, sizeof *wheel);
    wheel->far_slot = FAR_NONE;
    wheel->current_size = 64;
    wheel->nodes_size = 256;
    wheel->far_size = 64;
    wheel->current = malloc(wheel->current_size * sizeof *wheel->current);
    wheel->nodes = malloc(wheel->nodes_size * sizeof *wheel->nodes);
    wheel->far = malloc(wheel->far_size * sizeof *wheel->far);
    if (wheel->current != NULL && wheel->nodes != NULL && wheel->far != NULL)
        return true;
    engine_wheel_fini(wheel);
    return false;
}

void engine_wheel_fini(struct engine_wheel *wheel)
{
    free(wheel->current);
    free(wheel->nodes);
    free(wheel->far);
    wheel->current = wheel->nodes = wheel->far = NULL;
}

/* ---- slots ---- */

/* A node from the free list, or a fresh one; index + 1. */
static uint32_t wheel_node(struct engine_wheel *wheel)
{
    uint32_t n = wheel->free_node;

    if (n != 0) {
        wheel->free_node = wheel->nodes[n - 1].next;
        return n;
    }
    if (wheel->nodes_used == wheel->nodes_size) {
        size_t size = wheel->nodes_size;

        if (size > UINT32_MAX / 2)
            abort(); /* 2^31 events in the window: an index no longer names them */
        wheel->nodes = wheel_grow(wheel->nodes, &size);
        wheel->nodes_size = (uint32_t)size;
    }
    return ++wheel->nodes_used;
}

static void wheel_slot_insert(struct engine_wheel *wheel, const struct engine_event *event)
{
    uint64_t number = engine_wheel_slot_of(event->time_ps);
    uint32_t s = (uint32_t)(number & WHEEL_MASK);
    uint32_t n = wheel_node(wheel);

    WIRE_ASSERT(number > wheel->slot_taken);
    WIRE_ASSERT(number - wheel->slot_taken < ENGINE_WHEEL_SLOTS);
    wheel->nodes[n - 1] = *event;
    wheel->bitmap[s / 64] |= UINT64_C(1) << s % 64;
    wheel->summary[s / 4096] |= UINT64_C(1) << s / 64 % 64;
    engine_wheel_link(wheel, &wheel->slots[s], n);
}

void engine_wheel_link(struct engine_wheel *wheel, struct engine_slot *slot, uint32_t n)
{
    struct engine_event *node = &wheel->nodes[n - 1];
    bool empty = slot->first == 0;
    uint32_t *at = &slot->first;

    if (empty || slot->last != 0) {
        for (uint32_t i = 0; *at != 0; at = &wheel->nodes[*at - 1].next, i++) {
            if (engine_wheel_before(node, &wheel->nodes[*at - 1]))
                break;
            if (i == SLOT_WALK) { /* too long: sorted when its turn comes */
                slot->last = 0;
                break;
            }
        }
    }
    if (!empty && slot->last == 0)
        at = &slot->first;
    else if (*at == 0)
        slot->last = n;
    node->next = *at;
    *at = n;
}

/* First non-empty bitmap word at or after @p word, round once. */
static uint32_t wheel_word_from(const struct engine_wheel *wheel, uint32_t word)
{
    const uint32_t words = ENGINE_WHEEL_WORDS / 64;
    uint32_t w = word / 64;
    uint64_t bits = wheel->summary[w] & UINT64_MAX << word % 64;

    for (uint32_t i = 0; bits == 0; i++) {
        if (i == words)
            return ENGINE_WHEEL_WORDS;
        w = (w + 1) % words;
        bits = wheel->summary[w];
    }
    return w * 64 + (uint32_t)__builtin_ctzll(bits);
}

/* First non-empty slot after slot_taken; 0: all are empty. */
static uint64_t wheel_slot_first(const struct engine_wheel *wheel)
{
    uint64_t from = wheel->slot_taken + 1;
    uint32_t s = (uint32_t)(from & WHEEL_MASK);
    uint32_t word = s / 64;
    uint64_t bits = wheel->bitmap[word] & UINT64_MAX << s % 64;

    if (bits == 0) {
        word = (word + 1) % ENGINE_WHEEL_WORDS;
        bits = wheel->bitmap[word];
        if (bits == 0) {
            word = wheel_word_from(wheel, word);
            if (word == ENGINE_WHEEL_WORDS)
                return 0;
            bits = wheel->bitmap[word];
        }
    }
    s = word * 64 + (uint32_t)__builtin_ctzll(bits);
    return from + ((s - from) & WHEEL_MASK);
}

/* ---- far heap ---- */

static void far_push(struct engine_wheel *wheel, const struct engine_event *event)
{
    size_t i = wheel->far_n++;

    if (wheel->far_n > wheel->far_size)
        wheel->far = wheel_grow(wheel->far, &wheel->far_size);
    while (i > 0 && engine_wheel_before(event, &wheel->far[(i - 1) / 4])) {
        wheel->far[i] = wheel->far[(i - 1) / 4];
        i = (i - 1) / 4;
    }
    wheel->far[i] = *event;
    wheel->far_slot = engine_wheel_slot_of(wheel->far[0].time_ps);
}

static struct engine_event far_pop(struct engine_wheel *wheel)
{
    struct engine_event top = wheel->far[0];
    struct engine_event last = wheel->far[--wheel->far_n];
    size_t n = wheel->far_n;
    size_t i = 0;

    while (4 * i + 1 < n) {
        size_t child = 4 * i + 1;
        size_t end = child + 4 < n ? child + 4 : n;

        for (size_t c = child + 1; c < end; c++) {
            if (engine_wheel_before(&wheel->far[c], &wheel->far[child]))
                child = c;
        }
        if (engine_wheel_before(&last, &wheel->far[child]))
            break;
        wheel->far[i] = wheel->far[child];
        i = child;
    }
    if (n > 0)
        wheel->far[i] = last;
    wheel->far_slot = n > 0 ? engine_wheel_slot_of(wheel->far[0].time_ps) : FAR_NONE;
    return top;
}

/* The window has moved: far events that are in it now go to their slots. */
static void far_migrate(struct engine_wheel *wheel)
{
    while (wheel->far_slot - wheel->slot_taken < ENGINE_WHEEL_SLOTS) {
        struct engine_event event = far_pop(wheel);

        wheel_slot_insert(wheel, &event);
    }
}

/* ---- current ---- */

static void current_append(struct engine_wheel *wheel, const struct engine_event *event)
{
    if (wheel->tail == wheel->current_size)
        wheel->current = wheel_grow(wheel->current, &wheel->current_size);
    wheel->current[wheel->tail++] = *event;
}

/* Put an event where it belongs among those still to run, moving the shorter side. */
static void current_insert(struct engine_wheel *wheel, const struct engine_event *event)
{
    size_t lo = wheel->head, hi = wheel->tail;
    struct engine_event *at;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (engine_wheel_before(&wheel->current[mid], event))
            lo = mid + 1;
        else
            hi = mid;
    }
    if (wheel->head > 0 && lo - wheel->head < wheel->tail - lo) {
        at = &wheel->current[lo - 1];
        memmove(&wheel->current[wheel->head - 1], &wheel->current[wheel->head],
                (lo - wheel->head) * sizeof *at);
        wheel->head--;
    } else {
        if (wheel->tail == wheel->current_size)
            wheel->current = wheel_grow(wheel->current, &wheel->current_size);
        at = &wheel->current[lo];
        memmove(at + 1, at, (wheel->tail - lo) * sizeof *at);
        wheel->tail++;
    }
    *at = *event;
}

static int current_compare(const void *a, const void *b)
{
    return engine_wheel_before(a, b) ? -1 : 1;
}

static void current_sort(struct engine_event *events, size_t n)
{
    if (n > SORT_BY_INSERTION) {
        qsort(events, n, sizeof *events, current_compare);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        struct engine_event event = events[i];
        size_t j = i;

        for (; j > 0 && engine_wheel_before(&event, &events[j - 1]); j--)
            events[j] = events[j - 1];
        events[j] = event;
    }
}

/* Slot @p slot is empty now, and the last one taken. */
static void wheel_clear(struct engine_wheel *wheel, uint64_t slot)
{
    uint32_t s = (uint32_t)(slot & WHEEL_MASK);

    wheel->slots[s] = (struct engine_slot){0, 0};
    wheel->bitmap[s / 64] &= ~(UINT64_C(1) << s % 64);
    if (wheel->bitmap[s / 64] == 0)
        wheel->summary[s / 4096] &= ~(UINT64_C(1) << s / 64 % 64);
    wheel->slot_taken = slot;
}

/*
 * Move slot @p slot, the first that is not empty, into an empty `current`. The list has the newest
 * first; in the order of scheduling it is nearly sorted.
 */
static void wheel_take(struct engine_wheel *wheel, uint64_t slot)
{
    uint32_t first = wheel->slots[slot & WHEEL_MASK].first;
    size_t n = 0;

    WIRE_ASSERT(wheel->tail == 0);
    wheel_clear(wheel, slot);
    for (uint32_t at = first; at != 0; at = wheel->nodes[at - 1].next)
        n++;
    while (n > wheel->current_size)
        wheel->current = wheel_grow(wheel->current, &wheel->current_size);
    wheel->tail = n;
    while (first != 0) {
        struct engine_event *node = &wheel->nodes[first - 1];
        uint32_t next = node->next;

        wheel->current[--n] = *node;
        node->next = wheel->free_node;
        wheel->free_node = first;
        first = next;
    }
    if (wheel->tail > 1)
        current_sort(wheel->current, wheel->tail);
    far_migrate(wheel);
}

/* Fill an empty `current` with slot @p slot, the first (0: none), if it begins by @p until_ps. */
static bool wheel_refill(struct engine_wheel *wheel, uint64_t slot, uint64_t until_ps)
{
    WIRE_ASSERT(wheel->head == wheel->tail);
    wheel->head = wheel->tail = 0;
    if (slot != 0) {
        if (wheel_slot_start_ps(slot) > until_ps)
            return false;
        wheel_take(wheel, slot);
        return true;
    }
    if (wheel->far_n == 0 || wheel->far[0].time_ps > until_ps)
        return false;
    wheel->slot_taken = wheel->far_slot;
    while (wheel->far_slot == wheel->slot_taken) { /* the heap gives them in order */
        struct engine_event event = far_pop(wheel);

        current_append(wheel, &event);
    }
    far_migrate(wheel);
    return true;
}

/* Take the first event of a sorted slot, when it is time. */
static inline bool wheel_pop_sorted(struct engine_wheel *wheel, uint64_t number, uint64_t until_ps,
                                    struct engine_event *event)
{
    struct engine_slot *slot = &wheel->slots[number & WHEEL_MASK];
    uint32_t n = slot->first;
    struct engine_event *node = &wheel->nodes[n - 1];

    if (slot->last == 0 || node->time_ps > until_ps)
        return false;
    event->time_ps = node->time_ps; /* field by field, as it was written */
    event->order = node->order;
    event->ptr = node->ptr;
    event->kind = node->kind;
    slot->first = node->next;
    node->next = wheel->free_node;
    wheel->free_node = n;
    if (slot->first == 0)
        wheel_clear(wheel, number);
    else
        wheel->slot_taken = number - 1;
    if (WIRE_UNLIKELY(wheel->far_slot - wheel->slot_taken < ENGINE_WHEEL_SLOTS))
        far_migrate(wheel);
    wheel->next_ps = 0;
    wheel->pending--;
    return true;
}

/* ---- contract ---- */

void engine_wheel_schedule_rare(struct engine_wheel *wheel, const struct engine_event *event)
{
    uint64_t slot = engine_wheel_slot_of(event->time_ps);

    WIRE_ASSERT(event->time_ps != WIRE_NEVER);
    if (slot <= wheel->slot_taken)
        current_insert(wheel, event);
    else if (WIRE_LIKELY(slot - wheel->slot_taken < ENGINE_WHEEL_SLOTS))
        wheel_slot_insert(wheel, event);
    else
        far_push(wheel, event);
}

bool engine_wheel_pop(struct engine_wheel *wheel, uint64_t until_ps, struct engine_event *event)
{
    if (wheel->head == wheel->tail) {
        uint64_t slot = wheel_slot_first(wheel);

        if (WIRE_LIKELY(slot != 0 && wheel_pop_sorted(wheel, slot, until_ps, event)))
            return true;
        if (!wheel_refill(wheel, slot, until_ps))
            return false;
    }
    if (wheel->current[wheel->head].time_ps > until_ps)
        return false;
    *event = wheel->current[wheel->head++];
    wheel->next_ps = 0;
    wheel->pending--;
    return true;
}

uint64_t engine_wheel_peek_ps(struct engine_wheel *wheel)
{
    uint64_t slot;

    if (wheel->head < wheel->tail)
        return wheel->current[wheel->head].time_ps;
    if (wheel->next_ps != 0)
        return wheel->next_ps;
    slot = wheel_slot_first(wheel);
    if (slot != 0)
        wheel->next_ps = engine_wheel_slot_ps(wheel, &wheel->slots[slot & WHEEL_MASK]);
    else
        wheel->next_ps = wheel->far_n > 0 ? wheel->far[0].time_ps : WIRE_NEVER;
    return wheel->next_ps;
}

void engine_wheel_advance(struct engine_wheel *wheel, uint64_t now_ps)
{
    uint64_t before = engine_wheel_slot_of(now_ps) - 1;

    WIRE_ASSERT(now_ps != WIRE_NEVER);
    if (before <= wheel->slot_taken)
        return;
    WIRE_ASSERT(wheel->head == wheel->tail);
    wheel->slot_taken = before;
    far_migrate(wheel);
}

void engine_wheel_walk(const struct engine_wheel *wheel,
                       void (*visit)(void *ctx, const struct engine_event *event), void *ctx)
{
    for (size_t i = wheel->head; i < wheel->tail; i++)
        visit(ctx, &wheel->current[i]);
    for (size_t s = 0; s < ENGINE_WHEEL_SLOTS; s++) {
        for (uint32_t n = wheel->slots[s].first; n != 0; n = wheel->nodes[n - 1].next)
            visit(ctx, &wheel->nodes[n - 1]);
    }
    for (size_t i = 0; i < wheel->far_n; i++)
        visit(ctx, &wheel->far[i]);
}
