/* SPDX-License-Identifier: GPL-2.0-only */
/* The wheel alone, against a plain sorted array: any mix of near, far and equal times. */
#include "check.h"
#include "engine_wheel.h"
#include "wire_rng.h"

#define SLOT_PS (UINT64_C(1) << ENGINE_WHEEL_SLOT_SHIFT)
#define WINDOW_PS (SLOT_PS * ENGINE_WHEEL_SLOTS)
#define REFERENCE_MAX 4096u

struct reference {
    struct engine_event events[REFERENCE_MAX]; /* sorted, first to run last */
    size_t n;
};

static struct engine_wheel *wheel_new(void)
{
    struct engine_wheel *wheel = malloc(sizeof *wheel);

    CHECK(wheel != NULL && engine_wheel_init(wheel));
    return wheel;
}

static void wheel_delete(struct engine_wheel *wheel)
{
    engine_wheel_fini(wheel);
    free(wheel);
}

static void schedule(struct engine_wheel *wheel, uint64_t time_ps, uint64_t order)
{
    struct engine_event event = {.time_ps = time_ps, .order = order};

    engine_wheel_schedule(wheel, &event);
}

static void pops(struct engine_wheel *wheel, uint64_t time_ps, uint64_t order)
{
    struct engine_event event;

    CHECK_EQ(engine_wheel_peek_ps(wheel), time_ps);
    CHECK(engine_wheel_pop(wheel, WIRE_NEVER, &event));
    CHECK_EQ(event.time_ps, time_ps);
    CHECK_EQ(event.order, order);
}

static bool later(const struct engine_event *a, const struct engine_event *b)
{
    return a->time_ps != b->time_ps ? a->time_ps > b->time_ps : a->order > b->order;
}

static void reference_add(struct reference *reference, const struct engine_event *event)
{
    size_t i = reference->n++;

    CHECK(reference->n <= REFERENCE_MAX);
    for (; i > 0 && later(event, &reference->events[i - 1]); i--)
        reference->events[i] = reference->events[i - 1];
    reference->events[i] = *event;
}

/* Distances where bugs live: same time, same slot, slot and window borders, the far heap. */
static uint64_t distance(struct wire_rng *rng)
{
    uint64_t r = wire_rng_next(rng);

    switch (wire_rng_next(rng) % 8) {
    case 0:
        return 0;
    case 1:
        return r % SLOT_PS;
    case 2:
        return r % (4 * SLOT_PS);
    case 3:
        return WINDOW_PS - 2 * SLOT_PS + r % (4 * SLOT_PS);
    case 4:
        return r % (3 * WINDOW_PS);
    case 5:
        return r % (1000 * WINDOW_PS);
    default:
        return r % WINDOW_PS;
    }
}

static void count_visit(void *ctx, const struct engine_event *event)
{
    (void)event;
    ++*(size_t *)ctx;
}

/* Pop what is due by a random time, then stand there, as engine_run does. */
static uint64_t run_until(struct engine_wheel *wheel, struct reference *reference, uint64_t now_ps,
                          uint64_t until_ps)
{
    struct engine_event event;

    while (engine_wheel_pop(wheel, until_ps, &event)) {
        CHECK(reference->n > 0);
        reference->n--;
        CHECK_EQ(event.time_ps, reference->events[reference->n].time_ps);
        CHECK_EQ(event.order, reference->events[reference->n].order);
        CHECK(event.time_ps >= now_ps);
        now_ps = event.time_ps;
    }
    if (reference->n > 0)
        CHECK(reference->events[reference->n - 1].time_ps > until_ps);
    engine_wheel_advance(wheel, until_ps);
    return until_ps;
}

static void random_run(uint64_t seed)
{
    struct wire_rng rng = wire_rng_init(seed, 0);
    struct engine_wheel *wheel = wheel_new();
    struct reference *reference = calloc(1, sizeof *reference);
    size_t limit = 1 + wire_rng_next(&rng) % 600;
    uint64_t now_ps = wire_rng_next(&rng) % 5 * SLOT_PS / 2;
    uint64_t order = 0;

    CHECK(reference != NULL);
    now_ps = run_until(wheel, reference, 0, now_ps);
    for (int step = 0; step < 3000; step++) {
        struct engine_event event = {.order = wire_rng_next(&rng) % 16 << 32 | order++};
        size_t walked = 0;

        if (reference->n < limit && wire_rng_next(&rng) % 4 != 0) {
            event.time_ps = now_ps + distance(&rng);
            engine_wheel_schedule(wheel, &event);
            reference_add(reference, &event);
        } else if (reference->n > 0 && wire_rng_next(&rng) % 2 == 0) {
            CHECK(engine_wheel_pop(wheel, WIRE_NEVER, &event));
            CHECK_EQ(event.order, reference->events[--reference->n].order);
            now_ps = event.time_ps;
        } else {
            now_ps = run_until(wheel, reference, now_ps, now_ps + distance(&rng) / 4);
        }
        if (wire_rng_next(&rng) % 2 == 0)
            CHECK_EQ(engine_wheel_peek_ps(wheel),
                     reference->n > 0 ? reference->events[reference->n - 1].time_ps : WIRE_NEVER);
        CHECK_EQ(wheel->pending, reference->n);
        if (step % 500 == 0) {
            engine_wheel_walk(wheel, count_visit, &walked);
            CHECK_EQ(walked, reference->n);
        }
    }
    wheel_delete(wheel);
    free(reference);
}

static uint64_t running_seed;

static void print_seed(void)
{
    if (running_seed != 0)
        fprintf(stderr, "failed with seed %" PRIu64 "\n", running_seed);
}

static void order_is_that_of_a_sorted_array(void)
{
    printf("seeds 1 .. 60\n");
    CHECK_EQ(atexit(print_seed), 0);
    for (running_seed = 1; running_seed <= 60; running_seed++)
        random_run(running_seed);
    running_seed = 0;
}

static void equal_times_go_by_order(void)
{
    struct engine_wheel *wheel = wheel_new();

    for (uint64_t i = 0; i < 100; i++)
        schedule(wheel, 5000, i * 37 % 100); /* all of 0..99, shuffled; over the sort's threshold */
    schedule(wheel, 4999, 1000);
    pops(wheel, 4999, 1000);
    for (uint64_t i = 0; i < 100; i++)
        pops(wheel, 5000, i);
    CHECK_EQ(engine_wheel_peek_ps(wheel), WIRE_NEVER);
    wheel_delete(wheel);
}

/* The peek looks 67 ms ahead; what is then scheduled before that must still run first. */
static void peek_moves_nothing(void)
{
    struct engine_wheel *wheel = wheel_new();

    schedule(wheel, 67108864000, 1);
    CHECK_EQ(engine_wheel_peek_ps(wheel), 67108864000);
    schedule(wheel, 900000, 2);
    CHECK_EQ(engine_wheel_peek_ps(wheel), 900000);
    schedule(wheel, 900000 + 2 * WINDOW_PS, 3);
    schedule(wheel, 300, 4);
    pops(wheel, 300, 4);
    schedule(wheel, 300, 5); /* the slot being run, the very same time */
    schedule(wheel, 301, 7);
    schedule(wheel, 300, 6);
    pops(wheel, 300, 5);
    pops(wheel, 300, 6);
    pops(wheel, 301, 7);
    pops(wheel, 900000, 2);
    pops(wheel, 900000 + 2 * WINDOW_PS, 3);
    pops(wheel, 67108864000, 1);
    wheel_delete(wheel);
}

/* A pop that is refused has not begun the slot: an earlier event of the same slot comes first. */
static void refused_pop_changes_nothing(void)
{
    struct engine_wheel *wheel = wheel_new();
    struct engine_event event;

    schedule(wheel, 10 * SLOT_PS + 500, 1);
    CHECK(!engine_wheel_pop(wheel, 10 * SLOT_PS + 499, &event));
    schedule(wheel, 9 * SLOT_PS, 2);
    schedule(wheel, 10 * SLOT_PS + 499, 3);
    pops(wheel, 9 * SLOT_PS, 2);
    CHECK(!engine_wheel_pop(wheel, 10 * SLOT_PS + 498, &event));
    pops(wheel, 10 * SLOT_PS + 499, 3);
    CHECK(!engine_wheel_pop(wheel, 10 * SLOT_PS + 499, &event));
    pops(wheel, 10 * SLOT_PS + 500, 1);
    wheel_delete(wheel);
}

static void window_borders_are_exact(void)
{
    struct engine_wheel *wheel = wheel_new();

    schedule(wheel, 0, 0);
    pops(wheel, 0, 0);
    for (uint64_t i = 3; i > 0; i--) { /* last slot of the window, and the two beyond it */
        schedule(wheel, WINDOW_PS - SLOT_PS * 2 + SLOT_PS * i, i);
        schedule(wheel, WINDOW_PS - SLOT_PS * 2 + SLOT_PS * i - 1, 10 + i);
    }
    for (uint64_t i = 1; i <= 3; i++) {
        pops(wheel, WINDOW_PS - SLOT_PS * 2 + SLOT_PS * i - 1, 10 + i);
        pops(wheel, WINDOW_PS - SLOT_PS * 2 + SLOT_PS * i, i);
    }
    wheel_delete(wheel);
}

/* 20,000 events in one slot, while it runs, in falling order: the array grows, stays sorted. */
static void slot_may_hold_many(void)
{
    struct engine_wheel *wheel = wheel_new();

    schedule(wheel, 1, 0);
    schedule(wheel, 2, UINT64_MAX);
    pops(wheel, 1, 0);
    for (uint64_t i = 20000; i > 0; i--)
        schedule(wheel, 1 + i % 2, i);
    for (uint64_t i = 2; i <= 20000; i += 2)
        pops(wheel, 1, i);
    for (uint64_t i = 1; i <= 20000; i += 2)
        pops(wheel, 2, i);
    pops(wheel, 2, UINT64_MAX);
    CHECK_EQ(wheel->pending, 0);
    wheel_delete(wheel);
}

static void late_times_are_no_special_case(void)
{
    struct engine_wheel *wheel = wheel_new();
    uint64_t late_ps = WIRE_NEVER - 5;

    schedule(wheel, late_ps, 2);
    schedule(wheel, late_ps - 3 * WINDOW_PS, 1);
    pops(wheel, late_ps - 3 * WINDOW_PS, 1);
    schedule(wheel, late_ps - 1, 3);
    pops(wheel, late_ps - 1, 3);
    pops(wheel, late_ps, 2);
    wheel_delete(wheel);
}

CHECK_SUITE(wheel, CHECK_CASE(order_is_that_of_a_sorted_array), CHECK_CASE(equal_times_go_by_order),
            CHECK_CASE(peek_moves_nothing), CHECK_CASE(refused_pop_changes_nothing),
            CHECK_CASE(window_borders_are_exact), CHECK_CASE(slot_may_hold_many),
            CHECK_CASE(late_times_are_no_special_case))
