/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an event costs: CPU nanoseconds per schedule and run, with n events pending.
 *
 * The hold model: run the first event, schedule one a random time ahead. `near` is a fabric's mix
 * (a line time or a link delay ahead, within the window), `far` reaches beyond the window, as
 * retry timers do. `hop` is the whole engine with devices that do nothing: a kick and an arrival.
 */
#include "engine_wheel.h"
#include "fake_devices.h"
#include "wire_rng.h"

#include <time.h>

#define ROUNDS 5

static double cpu_ns(void)
{
    return (double)clock() * (1e9 / CLOCKS_PER_SEC);
}

static double hold_ns(uint32_t pending, uint64_t span_ps, uint32_t events)
{
    struct engine_wheel *wheel = malloc(sizeof *wheel);
    struct engine_event event = {0};
    struct wire_rng rng = wire_rng_init(1, pending);
    double begin_ns;

    CHECK(wheel != NULL && engine_wheel_init(wheel));
    for (uint32_t i = 0; i < pending; i++) {
        event.time_ps = wire_rng_next(&rng) % span_ps;
        event.order = (uint64_t)i << 42;
        engine_wheel_schedule(wheel, &event);
    }
    begin_ns = cpu_ns();
    for (uint32_t i = 0; i < events; i++) {
        CHECK(engine_wheel_pop(wheel, WIRE_NEVER, &event));
        event.time_ps += 1 + wire_rng_next(&rng) % span_ps;
        event.order++;
        engine_wheel_schedule(wheel, &event);
    }
    begin_ns = (cpu_ns() - begin_ns) / events;
    engine_wheel_fini(wheel);
    free(wheel);
    return begin_ns;
}

/* @p hosts cards and one switch; each card has sent @p frames to its neighbour at the end. */
static double hop_ns(uint32_t hosts, uint32_t frames)
{
    struct engine_config config = {.seed = 1};
    struct engine_link_params link = fake_link(100000000000, 1000000);
    struct fake_star *star = fake_star(&config, hosts, &link);
    struct engine_counters counters;
    double begin_ns;

    for (uint32_t h = 0; h < hosts; h++) {
        for (uint32_t i = 0; i < frames; i++)
            fake_send(star->nic[h], (h + 1) % hosts, 1024, 0, 0);
        engine_touch(star->engine, h);
    }
    begin_ns = cpu_ns();
    engine_run(star->engine, WIRE_NEVER);
    begin_ns = cpu_ns() - begin_ns;
    engine_query(star->engine, &counters);
    begin_ns /= (double)counters.packet_hops;
    fake_star_free(star);
    return begin_ns;
}

int main(void)
{
    static const uint32_t pending[] = {100, 10000, 100000};

    for (size_t i = 0; i < sizeof pending / sizeof pending[0]; i++) {
        double near_ns = 1e9, far_ns = 1e9;

        for (int round = 0; round < ROUNDS; round++) {
            double a_ns = hold_ns(pending[i], 2000000, 2000000);
            double b_ns = hold_ns(pending[i], 200000000, 2000000);

            near_ns = a_ns < near_ns ? a_ns : near_ns;
            far_ns = b_ns < far_ns ? b_ns : far_ns;
        }
        printf("pending %6" PRIu32 ": near %5.1f ns, far %5.1f ns\n", pending[i], near_ns, far_ns);
    }
    for (uint32_t hosts = 4; hosts <= 256; hosts *= 8) {
        double best_ns = 1e9;

        for (int round = 0; round < ROUNDS; round++) {
            double ns = hop_ns(hosts, 400000 / hosts);

            best_ns = ns < best_ns ? ns : best_ns;
        }
        printf("star of %3" PRIu32 ": %5.1f ns a hop\n", hosts, best_ns);
    }
    return 0;
}
