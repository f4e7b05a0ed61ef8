/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lazy equals eager: rnic_cc_dcqcn against one event per timer expiry (cc_dcqcn_reference), bit for
 * bit in rates, alpha and send times, over random sequences of packets, CNPs, idle times and
 * samples. Two lazy copies run: only one is sampled, and both must stay the same.
 *
 * RNIC_SEED=n runs that seed alone.
 */
#include "cc_dcqcn_reference.h"
#include "check.h"
#include "wire_rng.h"

#include <math.h>

#define SECOND UINT64_C(1000000000000)

static uint64_t running_seed; /* printed when a check ends the program */

static void print_seed(void)
{
    if (running_seed != 0)
        fprintf(stderr, "failed with RNIC_SEED=%" PRIu64 "\n", running_seed);
}

struct trial {
    struct wire_rng rng;
    struct rnic_cc_config config;
    struct rnic_cc_state state, unsampled;
    struct cc_dcqcn_reference ref;
    uint64_t now_ps;
    uint64_t packets, cnps, releases;
};

static uint64_t below(struct trial *t, uint64_t n)
{
    return wire_rng_next(&t->rng) % n;
}

static uint64_t one_of(struct trial *t, const uint64_t *values, size_t n)
{
    return values[below(t, n)];
}

#define ONE_OF(t, ...)                                                                             \
    one_of(t, (const uint64_t[]){__VA_ARGS__},                                                     \
           sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* What makes the variants: noted CNPs with checks, stages, clamp, grain of alpha. */
static void random_variant(struct trial *t, struct rnic_dcqcn_params *p)
{
    p->step_per_rate_bps = ONE_OF(t, 0, 25000000000, 400000000000, 7);
    p->stage_counted = below(t, 2);
    p->hyper_scaled = below(t, 2);
    p->cut_interval_ps = ONE_OF(t, 0, 4000000, 50000000, 700001, 3333333, p->increase_timer_ps);
    p->cut_offset_ps = ONE_OF(t, 0, 1000, 1000000, 5000001);
    p->clamp = below(t, 3);
    p->alpha_bits = ONE_OF(t, 31, 10, 1, 17);
    p->rpg_gd = ONE_OF(t, 11, 11, 12, 8, 0, 15);
    p->min_dec_fac = (double)ONE_OF(t, 0, 0, 50, 98, 100, 33) / 100;
}

static struct rnic_cc_config random_config(struct trial *t)
{
    struct rnic_cc_config config = {.dcqcn = rnic_dcqcn_presets[below(t, 3)].params};
    struct rnic_dcqcn_params *p = &config.dcqcn;

    config.line_bps = ONE_OF(t, 40000000000, 100000000000, 400000000000, 800000000000, 25000000000,
                             123456789, 99999999977);
    if (below(t, 4) == 0)
        return config; /* a preset as it is */
    p->g = below(t, 2) ? 1.0 / (double)ONE_OF(t, 1, 2, 16, 256, 1024, 65536)
                       : 0.0001 + 0.9 * wire_rng_uniform(&t->rng);
    p->initial_alpha = below(t, 2) ? 1.0 : wire_rng_uniform(&t->rng);
    p->alpha_timer_ps = ONE_OF(t, 55000000, 1000000, 50000000, 4567891, 100000000);
    p->increase_timer_ps = ONE_OF(t, 55000000, 1000000, 300000000, 3456789, 1500000000);
    if (below(t, 3) == 0)
        p->increase_timer_ps = p->alpha_timer_ps; /* every expiry is a double one */
    p->byte_counter_bytes = ONE_OF(t, 0, 0, 10000000, 150000, 5000, 700, 12345);
    p->fast_recovery = ONE_OF(t, 5, 5, 1, 0, 3, 20);
    p->rai_bps = ONE_OF(t, 40000000, 0, 1, 5000000, 1000000000, 33333333);
    p->rhai_bps = ONE_OF(t, 0, 0, 1, 50000000, 200000000, 7);
    p->min_rate_bps = ONE_OF(t, 100000000, 1000000, 1000000000, 12345678, 500000000000);
    if (below(t, 2))
        random_variant(t, p);
    return config;
}

/* What the eager sender waits for if no CNP comes: fire until the gate is before what is next. */
static uint64_t eager_gate_ps(const struct trial *t)
{
    struct cc_dcqcn_reference ref = t->ref;

    while (cc_dcqcn_reference_next(&ref) < ref.gate_ps)
        cc_dcqcn_reference_fire(&ref);
    return ref.gate_ps;
}

static void check_sample(struct trial *t, const struct cc_dcqcn_reference *ref, uint64_t at_ps)
{
    struct rnic_cc_state before = t->state;

    CHECK_EQ(rnic_cc_dcqcn.rate_bps(&t->config, &t->state, at_ps), ref->current / 65536);
    CHECK_NEAR(rnic_cc_dcqcn.alpha(&t->config, &t->state, at_ps), (double)ref->alpha / 2147483648.0,
               0.0);
    CHECK_BYTES(&before, &t->state, sizeof before);
}

/* Both go to @p to_ps; the reference one event at a time, with samples of the lazy one between. */
static void advance(struct trial *t, uint64_t to_ps)
{
    unsigned samples = (unsigned)below(t, 4);

    CHECK(to_ps >= t->now_ps);
    while (samples-- > 0) {
        uint64_t at_ps = t->now_ps + (to_ps > t->now_ps ? below(t, to_ps - t->now_ps) : 0);
        uint64_t expiry_ps = cc_dcqcn_reference_next(&t->ref);

        if (below(t, 2) && expiry_ps <= to_ps)
            at_ps = expiry_ps - below(t, 2); /* at an expiry, or just before it */
        if (at_ps < t->now_ps)
            at_ps = t->now_ps;
        cc_dcqcn_reference_run(&t->ref, at_ps);
        check_sample(t, &t->ref, at_ps);
        t->now_ps = at_ps;
    }
    cc_dcqcn_reference_run(&t->ref, to_ps);
    check_sample(t, &t->ref, to_ps);
    t->now_ps = to_ps;
}

/* Right after a packet or CNP the lazy state has caught up and can be compared whole. */
static void check_state(const struct trial *t)
{
    const struct rnic_dcqcn_state *s = &t->state.dcqcn;

    CHECK_EQ(t->state.limited, t->ref.active);
    CHECK_EQ(s->rate_q16, t->ref.current);
    CHECK_EQ(s->target_q16, t->ref.target);
    CHECK_EQ(s->timer_count, t->ref.timer_events);
    CHECK_EQ(s->byte_count, t->ref.byte_events);
    CHECK_EQ(s->counted_bytes, t->ref.bytes);
    if (t->ref.counting && !t->ref.news_for_cut)
        CHECK_EQ(s->due_ps, t->ref.increase_at_ps);
    else if (t->ref.news_for_cut)
        CHECK_EQ(s->due_ps, wire_min_ps(t->ref.counting ? t->ref.increase_at_ps : WIRE_NEVER,
                                        t->ref.check_at_ps));
    else
        CHECK_EQ(s->due_ps, WIRE_NEVER);
    CHECK_BYTES(&t->state, &t->unsampled, sizeof t->state);
}

/* When the next packet may leave, both say the same, from now on. */
static uint64_t check_send_time(const struct trial *t)
{
    uint64_t lazy_ps = t->state.limited ? t->state.next_send_ps : 0;
    uint64_t gate_ps = eager_gate_ps(t);

    CHECK_EQ(wire_max_ps(lazy_ps, t->now_ps), wire_max_ps(gate_ps, t->now_ps));
    return wire_max_ps(lazy_ps, t->now_ps);
}

static void packet(struct trial *t)
{
    uint32_t bytes = (uint32_t)ONE_OF(t, 84, 98, 1106, 4186, 9238, 84 + below(t, 4000));
    bool was_active = t->state.limited;

    rnic_cc_dcqcn.sent(&t->config, &t->state, bytes, t->now_ps);
    rnic_cc_dcqcn.sent(&t->config, &t->unsampled, bytes, t->now_ps);
    cc_dcqcn_reference_packet(&t->ref, bytes, t->now_ps);
    t->packets++;
    t->releases += was_active && !t->state.limited;
    check_state(t);
}

static void cnp(struct trial *t)
{
    rnic_cc_dcqcn.cnp(&t->config, &t->state, t->now_ps);
    rnic_cc_dcqcn.cnp(&t->config, &t->unsampled, t->now_ps);
    cc_dcqcn_reference_cnp(&t->ref, t->now_ps);
    t->cnps++;
    check_state(t);
    if (t->state.dcqcn.alpha_due_ps == t->ref.alpha_at_ps) /* else it is due, and comes first */
        CHECK_EQ(t->state.dcqcn.alpha_q31, t->ref.alpha);
    CHECK_EQ(t->state.dcqcn.pending_ps, t->ref.gate_ps);
}

/* A time for the next CNP or late packet: near, at an expiry, at the gate, or after idling. */
static uint64_t random_time(struct trial *t)
{
    const struct rnic_dcqcn_params *p = &t->config.dcqcn;
    uint64_t expiry_ps = cc_dcqcn_reference_next(&t->ref), gate_ps = eager_gate_ps(t);
    uint64_t shortest_ps = wire_min_ps(p->alpha_timer_ps, p->increase_timer_ps);

    switch (below(t, 16)) {
    case 0:
        return t->now_ps;
    case 1:
    case 2:
        return expiry_ps == WIRE_NEVER ? t->now_ps : expiry_ps;
    case 3:
        return expiry_ps == WIRE_NEVER ? t->now_ps : wire_max_ps(expiry_ps - 1, t->now_ps);
    case 4:
        return expiry_ps == WIRE_NEVER ? t->now_ps : expiry_ps + p->increase_timer_ps;
    case 5:
        return wire_max_ps(gate_ps, t->now_ps);
    case 6:
        return t->now_ps + below(t, 40 * shortest_ps);
    case 7:
        if (below(t, 8) == 0) /* seconds, or what 40,000 expiries are */
            return t->now_ps + below(t, wire_min_ps(4 * SECOND, 40000 * shortest_ps));
        return t->now_ps + below(t, 400 * shortest_ps);
    default:
        return t->now_ps + below(t, 3 * shortest_ps);
    }
}

/* One step: a packet as soon as it may leave, a late packet, a CNP, or a CNP within the gap. */
static void step(struct trial *t)
{
    uint64_t send_ps = check_send_time(t), choice = below(t, 100);

    if (choice < 70) {
        advance(t, send_ps);
        CHECK(t->ref.gate_ps <= send_ps); /* the eager gate has come to the same time */
        packet(t);
    } else if (choice < 78) {
        advance(t, wire_max_ps(send_ps, random_time(t)));
        packet(t);
    } else if (choice < 80) {
        advance(t, t->now_ps + (send_ps - t->now_ps) / 2); /* before its time: gaps add up */
        packet(t);
    } else if (choice < 90) {
        advance(t, t->now_ps + (send_ps > t->now_ps ? below(t, send_ps - t->now_ps) : 0));
        cnp(t);
    } else {
        advance(t, random_time(t));
        cnp(t);
    }
}

static void run_trial(uint64_t seed, struct trial *t)
{
    bool storms;

    memset(t, 0, sizeof *t);
    running_seed = seed;
    t->rng = wire_rng_init(seed, 1);
    t->config = random_config(t);
    t->now_ps = below(t, SECOND);
    rnic_cc_dcqcn.init(&t->config, &t->state, t->now_ps);
    rnic_cc_dcqcn.init(&t->config, &t->unsampled, t->now_ps);
    cc_dcqcn_reference_start(&t->ref, &t->config);
    storms = below(t, 4) == 0;
    for (int i = 0; i < 300; i++) {
        step(t);
        if (storms && below(t, 30) == 0) {
            for (uint64_t n = below(t, 40); n > 0; n--)
                cnp(t);
        } else if (below(t, 20) == 0) {
            for (int n = 0; n < 60; n++) { /* a greedy stretch without CNPs */
                advance(t, check_send_time(t));
                packet(t);
            }
        }
    }
    running_seed = 0;
}

static void lazy_equals_eager(void)
{
    const char *only = getenv("RNIC_SEED");
    uint64_t first = only ? strtoull(only, NULL, 10) : 1, last = only ? first : 500;
    uint64_t packets = 0, cnps = 0, expiries = 0, releases = 0;
    struct trial t;

    atexit(print_seed);
    for (uint64_t seed = first; seed <= last; seed++) {
        run_trial(seed, &t);
        packets += t.packets;
        cnps += t.cnps;
        expiries += t.ref.fired;
        releases += t.releases;
    }
    printf("   seeds %" PRIu64 "..%" PRIu64 ": %" PRIu64 " packets, %" PRIu64 " CNPs, %" PRIu64
           " expiries, %" PRIu64 " releases\n",
           first, last, packets, cnps, expiries, releases);
    CHECK(only || (packets > 100000 && cnps > 10000 && expiries > 1000000 && releases > 1000));
}

/* One sender, CNPs at fixed times, sends logged: the eager one truly waits event by event. */
static void send_times_are_equal(void)
{
    enum { SENDS = 3000 };

    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct trial t;
        uint64_t lazy_ps[SENDS], cnp_ps[64], next = 0, now_ps = 0;

        memset(&t, 0, sizeof t);
        running_seed = seed;
        t.rng = wire_rng_init(seed, 2);
        t.config = random_config(&t);
        for (size_t i = 0; i < 64; i++)
            cnp_ps[i] = (i > 0 ? cnp_ps[i - 1] : 0) + below(&t, 400000000);
        rnic_cc_dcqcn.init(&t.config, &t.state, 0);
        for (size_t sends = 0; sends < SENDS;) { /* lazy: next of send time and CNP */
            uint64_t send_ps = t.state.limited ? t.state.next_send_ps : 0;

            send_ps = wire_max_ps(send_ps, sends > 0 ? lazy_ps[sends - 1] + 80000 : 0);
            if (next < 64 && cnp_ps[next] <= send_ps) {
                rnic_cc_dcqcn.cnp(&t.config, &t.state, cnp_ps[next++]);
                continue;
            }
            lazy_ps[sends++] = send_ps;
            rnic_cc_dcqcn.sent(&t.config, &t.state, 1106, send_ps);
        }
        next = 0;
        cc_dcqcn_reference_start(&t.ref, &t.config);
        for (size_t sends = 0; sends < SENDS;) { /* eager: next of expiry, CNP and gate */
            uint64_t gate_ps = wire_max_ps(t.ref.gate_ps, sends > 0 ? now_ps : 0);
            uint64_t expiry_ps = cc_dcqcn_reference_next(&t.ref);
            uint64_t coming_ps = next < 64 ? cnp_ps[next] : WIRE_NEVER;

            if (expiry_ps <= wire_min_ps(coming_ps, gate_ps)) {
                cc_dcqcn_reference_fire(&t.ref);
            } else if (coming_ps <= gate_ps) {
                cc_dcqcn_reference_cnp(&t.ref, cnp_ps[next++]);
            } else {
                CHECK_EQ(lazy_ps[sends], gate_ps);
                cc_dcqcn_reference_packet(&t.ref, 1106, gate_ps);
                now_ps = gate_ps + 80000; /* the host offers a packet every 80 ns at most */
                sends++;
            }
        }
        running_seed = 0;
    }
    printf("   seeds 1..200\n");
}

/* The paper in floating point, no rounding rules: integers stay within a part in 10^6 of it. */
static void integers_are_close_to_the_paper(void)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct trial t;
        double rc, rt, alpha, line;
        int events = 0;

        memset(&t, 0, sizeof t);
        running_seed = seed;
        t.rng = wire_rng_init(seed, 3);
        t.config = (struct rnic_cc_config){.line_bps = 100000000000,
                                           .dcqcn = rnic_dcqcn_presets[0].params};
        rc = rt = line = 1e11;
        alpha = 1.0;
        rnic_cc_dcqcn.init(&t.config, &t.state, 0);
        for (int i = 0; i < 400; i++) { /* a CNP or an expiry of both timers each 55 us */
            t.now_ps += 55000000;
            if (below(&t, 6) == 0) {
                /* the CNP comes with the expiry, which is first */
                if (i > 0 && t.state.dcqcn.alpha_due_ps != WIRE_NEVER) {
                    rt = fmin(line, rt + (++events >= 5 ? 40e6 : 0));
                    rc = (rt + rc) / 2;
                    alpha *= 255.0 / 256;
                }
                rt = rc;
                rc = fmax(1e8, rc * (1 - alpha / 2));
                alpha = alpha * 255 / 256 + 1.0 / 256;
                events = 0;
                rnic_cc_dcqcn.cnp(&t.config, &t.state, t.now_ps);
            } else if (t.state.dcqcn.alpha_due_ps != WIRE_NEVER) {
                rt = fmin(line, rt + (++events >= 5 ? 40e6 : 0));
                rc = (rt + rc) / 2;
                alpha *= 255.0 / 256;
            }
            CHECK_NEAR((double)rnic_cc_dcqcn.rate_bps(&t.config, &t.state, t.now_ps), rc,
                       rc * 1e-6 + 2);
            CHECK_NEAR(rnic_cc_dcqcn.alpha(&t.config, &t.state, t.now_ps), alpha, 1e-6);
        }
        running_seed = 0;
    }
    printf("   seeds 1..200\n");
}

/* The first hyper increase is as large as the additive ones before it, the next is not. */
static void steps_that_will_grow_are_not_skipped(void)
{
    for (uint64_t last = 2; last < 40; last++) {
        struct trial t = {.rng = wire_rng_init(1, 1)};
        struct rnic_dcqcn_params *p = &t.config.dcqcn;

        t.config.dcqcn = rnic_dcqcn_presets[0].params;
        t.config.line_bps = 100000000000;
        p->byte_counter_bytes = 0;
        p->hyper_scaled = 1;
        p->fast_recovery = 0; /* the difference of both rates settles within some events ... */
        p->rai_bps = p->rhai_bps = 40000000;
        rnic_cc_dcqcn.init(&t.config, &t.state, 0);
        rnic_cc_dcqcn.init(&t.config, &t.unsampled, 0);
        cc_dcqcn_reference_start(&t.ref, &t.config);
        t.now_ps = 1000;
        cnp(&t);
        t.state.dcqcn.target_q16 = t.unsampled.dcqcn.target_q16 = t.ref.target =
            t.state.dcqcn.rate_q16 + ((uint64_t)40000000 << 16); /* ... so: it has settled */
        advance(&t, t.now_ps + last * p->increase_timer_ps);
        cnp(&t);
        check_state(&t);
    }
}

CHECK_SUITE(cc_dcqcn_lazy, CHECK_CASE(lazy_equals_eager), CHECK_CASE(send_times_are_equal),
            CHECK_CASE(integers_are_close_to_the_paper),
            CHECK_CASE(steps_that_will_grow_are_not_skipped))
