/* SPDX-License-Identifier: GPL-2.0-only */
/* Whoever drives the engine, and however: the same frames at the same times in the same order. */
#include "fake_devices.h"
#include "wire_rng.h"

#define HOSTS 12u
#define END_PS UINT64_C(400000000)

enum drive { AT_ONCE, CHOPPED, ONE_TIMESTAMP, PEEKED, DRIVES };

struct result {
    uint64_t hash; /* of every trace record, in order */
    struct engine_counters counters;
};

struct run {
    struct fake_star *star;
    struct result result;
    struct wire_rng rng; /* what the user event does next */
};

static void trace_hash(void *ctx, const struct engine_trace *record)
{
    struct run *run = ctx;

    fake_mix(&run->result.hash, (uint64_t)record->type << 32 | record->port);
    fake_mix(&run->result.hash, record->time_ps);
    fake_mix(&run->result.hash, record->drop);
    fake_mix(&run->result.hash, record->paused_classes);
    if (record->frame == NULL)
        return;
    fake_mix(&run->result.hash, record->frame->frame_bytes);
    if (record->frame->kind != WIRE_KIND_ROCE)
        return; /* a pause frame has neither source nor PSN */
    fake_mix(&run->result.hash, (uint64_t)record->frame->src << 32 | record->frame->psn.v);
}

/* New traffic, new pauses, new timers, at random, from inside. */
static void traffic(void *ctx, uint64_t now_ps)
{
    struct run *run = ctx;
    struct fake_star *star = run->star;
    uint32_t h = (uint32_t)(wire_rng_next(&run->rng) % HOSTS);
    uint64_t r = wire_rng_next(&run->rng);

    for (uint32_t i = 0; i < r % 4; i++)
        fake_send(star->nic[h],
                  (uint32_t)((h + 1 + wire_rng_next(&run->rng) % (HOSTS - 1)) % HOSTS),
                  (uint32_t)(64 + wire_rng_next(&run->rng) % 4000),
                  (uint8_t)(wire_rng_next(&run->rng) % 4), now_ps + r % 3 * 70000);
    star->nic[h]->wake_ps = now_ps + r % 90000000;
    engine_touch(star->engine, h);
    if (r % 5 == 0) {
        fake_pause(star->sw, h, r % 10 == 0 ? WIRE_KIND_PAUSE : WIRE_KIND_PFC, r >> 8 & 0xFF,
                   (uint16_t)(r >> 16 & 0xFFF));
        engine_touch(star->engine, star->first + h);
    }
    if (now_ps < END_PS / 2)
        engine_at(star->engine, h, now_ps + wire_rng_next(&run->rng) % 200000, traffic, run);
}

static void drive_it(struct run *run, enum drive drive, uint64_t seed)
{
    struct engine *engine = run->star->engine;
    struct wire_rng rng = wire_rng_init(seed, 99);

    while (engine_next_ps(engine) != WIRE_NEVER) {
        uint64_t now_ps = engine_now_ps(engine);

        switch (drive) {
        case AT_ONCE:
            engine_run(engine, WIRE_NEVER);
            break;
        case CHOPPED:
            engine_run(engine, now_ps + (wire_rng_next(&rng) >> 40 >> wire_rng_next(&rng) % 24));
            break;
        case ONE_TIMESTAMP:
            CHECK(engine_run_one(engine) > 0);
            break;
        default:
            for (int i = 0; i < 3; i++) /* run up to just before the next, look, run it */
                CHECK_EQ(engine_next_ps(engine), engine_next_ps(engine));
            if (engine_next_ps(engine) > now_ps)
                CHECK_EQ(engine_run(engine, engine_next_ps(engine) - 1), 0);
            engine_run_one(engine);
        }
        if (drive == CHOPPED && wire_rng_next(&rng) % 16 == 0)
            CHECK(engine_check_conservation(engine));
    }
}

static struct result run_it(uint64_t seed, enum drive drive, bool wire, bool traced)
{
    struct engine_config config = {.seed = seed, .wire = wire, .payload_bytes = 4096};
    struct engine_link_params link;
    struct engine_hooks hooks;
    struct run run = {.rng = wire_rng_init(seed, 77)};

    wire_param_defaults(engine_link_param_table, engine_link_param_count, &link);
    link.loss = seed % 2 == 0 ? 0.02 : 0;
    link.pause_reaction_ps = seed % 3 * 100000;
    link.rate_bps = seed % 4 == 0 ? 70000000000 : 100000000000;
    link.delay_ps = seed % 5 * 250000;
    run.star = fake_star(&config, HOSTS, &link);
    run.star->sw->latency_ps = seed % 7 * 50000;
    for (uint32_t h = 0; h < HOSTS; h++) {
        run.star->nic[h]->echo_bytes = 20;
        run.star->nic[h]->hold_ps = h % 3 == 0 ? 20000 : 0;
    }
    hooks =
        (struct engine_hooks){.ctx = &run, .trace = trace_hash, .trace_mask = traced ? 0x0F : 0};
    engine_set_hooks(run.star->engine, &hooks);
    for (uint32_t h = 0; h < HOSTS; h++)
        engine_at(run.star->engine, h, 0, traffic, &run);
    drive_it(&run, drive, seed);
    engine_query(run.star->engine, &run.result.counters);
    CHECK_EQ(run.result.counters.frames_in_flight, 0);
    CHECK(engine_check_conservation(run.star->engine));
    CHECK(run.result.counters.frames_delivered > 1000);
    if (!traced) {
        run.result.hash = run.star->sw->hash;
        for (uint32_t h = 0; h < HOSTS; h++)
            fake_mix(&run.result.hash, run.star->nic[h]->hash);
    }
    fake_star_free(run.star);
    return run.result;
}

static void same(const struct result *a, const struct result *b)
{
    CHECK_EQ(a->hash, b->hash);
    CHECK_BYTES(&a->counters, &b->counters, sizeof a->counters);
}

static void order_does_not_depend_on_the_drive(void)
{
    printf("seeds 1 .. 6\n");
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct result once = run_it(seed, AT_ONCE, false, true);

        for (enum drive drive = AT_ONCE; drive < DRIVES; drive++) {
            struct result other = run_it(seed, drive, false, true);

            same(&once, &other);
        }
    }
}

static void wire_and_trace_change_nothing(void)
{
    for (uint64_t seed = 20; seed <= 22; seed++) {
        struct result plain = run_it(seed, AT_ONCE, false, true);
        struct result wire = run_it(seed, AT_ONCE, true, true);
        struct result quiet = run_it(seed, AT_ONCE, false, false);
        struct result quiet_wire = run_it(seed, AT_ONCE, true, false);

        same(&plain, &wire);
        same(&quiet, &quiet_wire);
        CHECK_BYTES(&plain.counters, &quiet.counters, sizeof plain.counters);
    }
}

static void other_seed_gives_another_run(void)
{
    struct result a = run_it(2, AT_ONCE, false, true), b = run_it(32, AT_ONCE, false, true);

    CHECK(a.hash != b.hash);
}

CHECK_SUITE(drive, CHECK_CASE(order_does_not_depend_on_the_drive),
            CHECK_CASE(wire_and_trace_change_nothing), CHECK_CASE(other_seed_gives_another_run))
