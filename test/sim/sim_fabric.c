/* SPDX-License-Identifier: GPL-2.0-only */
/* The same hosts in the real engine: its links, MACs, PFC, a switch, and `wire` at every line. */
#include "sim.h"

#include "engine.h"

#include <stdlib.h>

#define STEPS_MAX 400000u
#define IDLE_POLLS_MAX 1000u
#define MAX_FRAME_BYTES 4300u

struct fabric_run {
    struct sim *sim;
    struct engine *engine;
    struct fabric_switch *sw;
};

/* ---- hooks ---- */

static void hook_nic_event(void *ctx, uint32_t port, const struct rnic_event *event)
{
    struct fabric_run *run = ctx;

    sim_event(run->sim, port, event, engine_now_ps(run->engine));
}

static void hook_trace(void *ctx, const struct engine_trace *record)
{
    struct fabric_run *run = ctx;
    struct sim *sim = run->sim;
    bool pause = record->frame->kind != WIRE_KIND_ROCE;

    if (record->port >= SIM_SIDES || pause)
        return;
    sim->now_ps = record->time_ps;
    if (record->type == ENGINE_TRACE_TX)
        sim_frame_sent(sim, record->port, record->frame,
                       engine_ready_classes(run->engine, record->port), record->time_ps);
    else if (record->type == ENGINE_TRACE_RX) {
        sim_frame_arrives(sim, record->port, record->frame);
        sim->counters[record->port].delivered++;
    } else if (record->drop == WIRE_DROP_LINK_LOSS)
        sim->seen.fault_loss++;
    else
        sim->counters[record->port].drops[record->drop]++;
}

/* ---- the loop ---- */

static void run_hosts(struct fabric_run *run)
{
    struct sim *sim = run->sim;

    sim->now_ps = engine_now_ps(run->engine);
    for (uint32_t s = 0; s < SIM_SIDES; s++)
        if (sim_host_next_ps(&sim->hosts[s]) <= sim->now_ps) {
            sim_host_step(&sim->hosts[s], sim->now_ps);
            engine_touch(run->engine, s);
        }
}

static void run_loop(struct fabric_run *run)
{
    struct sim *sim = run->sim;
    uint32_t idle = 0;

    while (!sim->failed) {
        uint64_t engine_ps = engine_next_ps(run->engine);
        uint64_t hosts_ps =
            wire_min_ps(sim_host_next_ps(&sim->hosts[0]), sim_host_next_ps(&sim->hosts[1]));

        if (engine_ps == WIRE_NEVER && hosts_ps == WIRE_NEVER)
            return;
        idle = engine_ps == WIRE_NEVER ? idle + 1 : 0;
        if (idle > IDLE_POLLS_MAX)
            return; /* whoever polls waits for nothing: the end tells for what */
        if (++sim->steps > STEPS_MAX) {
            sim_fail(sim, "it does not end: %ju steps", (uintmax_t)sim->steps);
            return;
        }
        if (engine_ps <= hosts_ps) {
            (void)engine_run_one(run->engine);
        } else {
            (void)engine_run(run->engine, hosts_ps);
            run_hosts(run);
        }
        if (sim->steps % 1024 == 0 && !engine_check_conservation(run->engine))
            sim_fail(sim, "the engine lost count of its frames");
    }
}

/* ---- set-up ---- */

static bool run_connect(struct fabric_run *run)
{
    struct sim *sim = run->sim;
    const struct sim_fabric_plan *plan = &sim->plan.fabric;
    struct engine_link_params link[SIM_SIDES];
    uint32_t first;
    char why[200];

    for (uint32_t s = 0; s < SIM_SIDES; s++)
        link[s] = (struct engine_link_params){.rate_bps = sim->plan.link.line[s].rate_bps,
                                              .delay_ps = sim->plan.link.line[s].delay_ps,
                                              .loss = plan->loss,
                                              .pause_reaction_ps = plan->reaction_ps};
    if (!plan->has_switch)
        return engine_connect(run->engine, 0, 1, &link[0], &link[1], MAX_FRAME_BYTES) == 0;
    run->sw = fabric_create(&plan->params, SIM_SIDES, sim->plan.seed, 0);
    if (run->sw == NULL)
        return false;
    first = engine_add_switch(run->engine, run->sw, SIM_SIDES);
    for (uint16_t s = 0; s < SIM_SIDES; s++) {
        if (engine_connect(run->engine, s, first + s, &link[s], &link[s], MAX_FRAME_BYTES) != 0)
            return false;
        if (fabric_route_set(run->sw, s, &s, 1) != 0)
            return false;
    }
    if (fabric_start(run->sw, why, sizeof why) != 0) {
        sim_fail(sim, "switch: %s", why);
        return false;
    }
    return true;
}

static void run_check(struct fabric_run *run)
{
    struct engine_counters counters;

    engine_query(run->engine, &counters);
    run->sim->seen.pauses += counters.pause_frames_sent;
    if (!engine_check_conservation(run->engine))
        sim_fail(run->sim, "the engine lost count of its frames");
    if (counters.frames_in_flight > 0)
        sim_fail(run->sim, "%ju frames are in flight at the end",
                 (uintmax_t)counters.frames_in_flight);
    for (uint32_t s = 0; s < SIM_SIDES; s++)
        if (engine_ready_classes(run->engine, s) != 0xFF)
            sim_fail(run->sim, "%s: is paused at the end", sim_side_name(s));
}

void sim_fabric_run(struct sim *sim)
{
    const struct engine_config config = {
        .seed = sim->plan.seed, .wire = true, .payload_bytes = sim->plan.mtu_bytes};
    struct fabric_run run = {.sim = sim, .engine = engine_create(&config)};
    const struct engine_hooks hooks = {
        .ctx = &run,
        .nic_event = hook_nic_event,
        .trace = hook_trace,
        .trace_mask = 1u << ENGINE_TRACE_TX | 1u << ENGINE_TRACE_RX | 1u << ENGINE_TRACE_DROP,
    };

    if (run.engine == NULL)
        abort();
    engine_set_hooks(run.engine, &hooks);
    for (uint32_t s = 0; s < SIM_SIDES; s++) {
        sim_host_open(&sim->hosts[s], sim, s, s);
        if (!sim->failed && engine_add_nic(run.engine, sim->hosts[s].dev) != s)
            sim_fail(sim, "the card is not port %u", s);
    }
    if (!sim->failed && !run_connect(&run))
        sim_fail(sim, "the fabric can not be built");
    for (uint32_t s = 0; s < SIM_SIDES && !sim->failed; s++)
        sim_host_connect(&sim->hosts[s], &sim->hosts[1 - s], 1 - s,
                         sim->plan.fabric.has_switch ? SIM_SIDES + s : 1 - s);
    if (!sim->failed)
        run_loop(&run);
    sim->now_ps = engine_now_ps(run.engine);
    if (!sim->failed)
        run_check(&run);
    if (!sim->failed)
        sim_check_end(sim);
    engine_destroy(run.engine);
    if (run.sw != NULL)
        fabric_destroy(run.sw);
    for (uint32_t s = 0; s < SIM_SIDES; s++)
        sim_host_close(&sim->hosts[s]);
}
