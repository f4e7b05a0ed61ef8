/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random traffic through the switch and through a plain slow model of its buffer and pauses, which
 * shares no code with it: it keeps a list of all frames and adds everything up anew each time.
 *
 * A failing run prints its seed; FABRIC_SEED=n runs that seed alone.
 */
#include "fabric_rig.h"
#include "wire_rng.h"

enum { PORTS = 5, LANES = PORTS * 8, HELD_MAX = 4096, STEPS = 3000, SEEDS = 400 };

struct held {
    const struct wire_frame *frame;
    uint32_t in, out, prio;
    uint64_t bytes;
};

struct model {
    uint64_t buffer, reserved, headroom_limit, xon_offset;
    uint64_t alpha_num, alpha_den, lossy_num, lossy_den;
    uint32_t lossless, strict;
    uint64_t used[LANES], headroom[LANES]; /* by ingress */
    bool paused[LANES], told[LANES];
    struct held held[HELD_MAX]; /* oldest first */
    uint32_t n;
    uint64_t dropped;
};

static uint64_t running_seed; /* for the message when a check fails */
static bool running;

static void say_seed(void)
{
    if (running)
        fprintf(stderr, "seed %" PRIu64 ": FABRIC_SEED=%" PRIu64 " runs it alone\n", running_seed,
                running_seed);
}

/* ---- the model ---- */

static uint64_t over(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t model_free(const struct model *model)
{
    uint64_t lossless = (uint64_t)__builtin_popcount(model->lossless);
    uint64_t pool =
        model->buffer - PORTS * 8 * model->reserved - PORTS * lossless * model->headroom_limit;

    for (int i = 0; i < LANES; i++)
        pool -= over(model->used[i], model->reserved);
    return pool;
}

static uint64_t model_queue(const struct model *model, uint32_t out, uint32_t prio)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < model->n; i++)
        if (model->held[i].out == out && model->held[i].prio == prio)
            bytes += model->held[i].bytes;
    return bytes;
}

/* @return taken? */
static bool model_rx(struct model *model, const struct held *held)
{
    uint32_t lane = held->in * 8 + held->prio;
    uint64_t idle = model_free(model), used = model->used[lane] + held->bytes;
    uint64_t grows = over(used, model->reserved) - over(model->used[lane], model->reserved);
    bool lossless = (model->lossless >> held->prio & 1) != 0, fits = grows <= idle;

    if (lossless)
        fits = fits && over(used, model->reserved) <= idle * model->alpha_num / model->alpha_den;
    else if (grows > 0)
        fits = fits && model_queue(model, held->out, held->prio) + held->bytes <=
                           idle * model->lossy_num / model->lossy_den;
    if (fits) {
        model->used[lane] = used;
    } else if (lossless && model->headroom[lane] + held->bytes <= model->headroom_limit) {
        model->headroom[lane] += held->bytes;
    } else {
        model->dropped++;
        return false;
    }
    CHECK(model->n < HELD_MAX);
    model->held[model->n++] = *held;
    if (lossless) {
        uint64_t share = over(model->used[lane], model->reserved);
        uint64_t limit = model_free(model) * model->alpha_num / model->alpha_den;

        if (model->headroom[lane] > 0 || (share > 0 && share >= limit))
            model->paused[lane] = true;
    }
    return true;
}

/* The oldest frame of that queue leaves; it must be @p frame. */
static void model_tx(struct model *model, uint32_t out, const struct wire_frame *frame)
{
    uint32_t i = 0, lane;
    uint64_t bytes, share;

    while (i < model->n && (model->held[i].out != out || model->held[i].prio != frame->prio))
        i++;
    CHECK(i < model->n && model->held[i].frame == frame);
    lane = model->held[i].in * 8 + model->held[i].prio;
    bytes = model->held[i].bytes;
    memmove(&model->held[i], &model->held[i + 1], (model->n - i - 1) * sizeof(model->held[0]));
    model->n--;
    while (bytes > 0 && model->headroom[lane] > 0) { /* byte by byte: slow and plain */
        model->headroom[lane]--;
        bytes--;
    }
    model->used[lane] -= bytes;
    share = over(model->used[lane], model->reserved);
    if (model->headroom[lane] == 0 &&
        (share == 0 ||
         share + model->xon_offset <= model_free(model) * model->alpha_num / model->alpha_den))
        model->paused[lane] = false;
}

/* ---- the comparison ---- */

static uint64_t pick(struct wire_rng *rng, uint64_t n)
{
    return wire_rng_next(rng) % n;
}

/* Random parameters that fit, for both. Ratios are binary, so that both cut the same way. */
static struct rig setup(struct wire_rng *rng, struct model *model)
{
    static const uint64_t powers[] = {1, 2, 4, 8, 16};
    struct fabric_params params = rig_params();
    uint64_t lossless;

    memset(model, 0, sizeof(*model));
    params.ecn = 0;
    params.lossless = pick(rng, 8) != 0;
    params.lossless_classes = wire_rng_next(rng) & 0xFF;
    params.strict_classes = wire_rng_next(rng) & 0xFF;
    params.reserved_bytes = pick(rng, 3) * 700;
    params.headroom_bytes = 1 + pick(rng, 12000);
    params.xon_offset_bytes = pick(rng, 4000);
    model->alpha_num = powers[pick(rng, 5)];
    model->alpha_den = powers[pick(rng, 5)];
    model->lossy_num = powers[pick(rng, 5)];
    model->lossy_den = powers[pick(rng, 5)];
    params.alpha = (double)model->alpha_num / (double)model->alpha_den;
    params.lossy_alpha = (double)model->lossy_num / (double)model->lossy_den;
    model->lossless = params.lossless ? (uint32_t)params.lossless_classes : 0;
    model->strict = (uint32_t)params.strict_classes;
    lossless = (uint64_t)__builtin_popcount(model->lossless);
    params.buffer_bytes = 1000 +
                          PORTS * (8 * params.reserved_bytes + lossless * params.headroom_bytes) +
                          pick(rng, 100000);
    model->buffer = params.buffer_bytes;
    model->reserved = params.reserved_bytes;
    model->headroom_limit = params.headroom_bytes;
    model->xon_offset = params.xon_offset_bytes;
    return rig_start(&params, PORTS);
}

static void step_rx(struct rig *rig, struct model *model, struct wire_rng *rng, uint32_t classes)
{
    struct held held = {.in = (uint32_t)pick(rng, PORTS)};
    struct wire_frame *frame;
    enum wire_drop drop;

    held.bytes = 64 + pick(rng, 1500);
    held.out = pick(rng, 3) != 0 ? 0 : (uint32_t)pick(rng, PORTS); /* most go to one port */
    held.prio = (uint32_t)pick(rng, classes);
    frame = rig_data(rig, held.in, held.out, (uint8_t)held.prio, (uint32_t)held.bytes);
    held.frame = frame;
    drop = fabric_rx(rig->sw, held.in, frame, 0);
    CHECK_EQ(drop, model_rx(model, &held) ? WIRE_DROP_NONE : WIRE_DROP_BUFFER);
    if (drop != WIRE_DROP_NONE)
        rig_free(rig, frame);
}

static void step_tx(struct rig *rig, struct model *model, uint32_t port, uint32_t ready)
{
    struct wire_frame *frame = rig_tx(rig, port, 0, ready);
    uint32_t changed = 0, paused = 0, waiting = 0;

    for (uint32_t prio = 0; prio < 8; prio++) {
        uint32_t lane = port * 8 + prio;

        changed |= (uint32_t)(model->paused[lane] != model->told[lane]) << prio;
        paused |= (uint32_t)model->paused[lane] << prio;
        waiting |= (uint32_t)(model_queue(model, port, prio) > 0) << prio;
        model->told[lane] = model->paused[lane];
    }
    waiting &= ready;
    CHECK_EQ(frame != NULL, changed != 0 || waiting != 0);
    if (frame == NULL)
        return;
    CHECK_EQ(frame->kind == WIRE_KIND_PFC, changed != 0);
    if (changed != 0) {
        CHECK_EQ(frame->pause_enabled, changed);
        for (uint32_t prio = 0; prio < 8; prio++)
            CHECK_EQ(frame->pause_quanta[prio], (changed & paused) >> prio & 1 ? 65535 : 0);
    } else {
        uint32_t strict = waiting & model->strict;

        CHECK((waiting >> frame->prio & 1) != 0);
        CHECK(strict == 0 || strict >> frame->prio == 1); /* the highest of them */
        model_tx(model, port, frame);
    }
    rig_free(rig, frame);
}

static void compare(const struct rig *rig, const struct model *model)
{
    CHECK_EQ(rig_drops(rig), model->dropped);
    CHECK_EQ(fabric_frames_held(rig->sw), model->n);
    for (uint32_t port = 0; port < PORTS; port++)
        for (uint32_t prio = 0; prio < 8; prio++)
            CHECK_EQ(fabric_queue_bytes(rig->sw, port, prio), model_queue(model, port, prio));
    CHECK(fabric_query_counters(rig->sw)->peak_buffer_bytes <= model->buffer);
    rig_check_conservation(rig);
}

static uint64_t run_seed(uint64_t seed, struct model *model)
{
    struct wire_rng rng = wire_rng_init(seed, 0);
    struct rig rig = setup(&rng, model);
    uint32_t classes = 1 + (uint32_t)pick(&rng, 8);
    uint64_t load = 1 + pick(&rng, 9), pauses; /* of 10 steps */

    for (int step = 0; step < STEPS; step++) {
        if (step % 500 == 0)
            load = 1 + pick(&rng, 9);
        if (pick(&rng, 10) < load) {
            step_rx(&rig, model, &rng, classes);
        } else { /* one draw a line: the order of arguments is the compiler's */
            uint32_t port = pick(&rng, 2) != 0 ? 0 : (uint32_t)pick(&rng, PORTS);
            uint32_t ready = pick(&rng, 4) != 0 ? RIG_ALL : (uint32_t)pick(&rng, 256);

            step_tx(&rig, model, port, ready);
        }
        if (step % 50 == 0)
            compare(&rig, model);
    }
    while (model->n > 0)
        step_tx(&rig, model, model->held[0].out, RIG_ALL);
    for (uint32_t port = 0; port < PORTS; port++)
        step_tx(&rig, model, port, RIG_ALL); /* the last resumes */
    compare(&rig, model);
    for (int i = 0; i < LANES; i++)
        CHECK(!model->paused[i] && !model->told[i] && model->used[i] + model->headroom[i] == 0);
    CHECK_EQ(fabric_query_counters(rig.sw)->pauses, fabric_query_counters(rig.sw)->resumes);
    pauses = fabric_query_counters(rig.sw)->pauses;
    rig_stop(&rig); /* asserts that the buffer is empty */
    return pauses;
}

static void switch_equals_the_slow_model(void)
{
    struct model *model = malloc(sizeof(*model));
    const char *only = getenv("FABRIC_SEED");
    uint64_t first = only != NULL ? strtoull(only, NULL, 10) : 1, pauses = 0, drops = 0;
    uint64_t last = only != NULL ? first : SEEDS;

    CHECK(model != NULL);
    printf("seeds %" PRIu64 " to %" PRIu64 "\n", first, last);
    atexit(say_seed);
    running = true;
    for (running_seed = first; running_seed <= last; running_seed++) {
        pauses += run_seed(running_seed, model);
        drops += model->dropped;
    }
    running = false;
    printf("%" PRIu64 " pauses, %" PRIu64 " drops\n", pauses, drops);
    CHECK(only != NULL || (pauses > 4000 && drops > 4000)); /* it went where it should */
    free(model);
}

CHECK_SUITE(property, CHECK_CASE(switch_equals_the_slow_model))
