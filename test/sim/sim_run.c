/* SPDX-License-Identifier: GPL-2.0-only */
/* A seed, once and again: the same bytes whatever is traced. */
#include "sim.h"

#include "sim_dice.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_fail(struct sim *sim, const char *format, ...)
{
    va_list args;
    int n;

    if (sim->failed)
        return;
    sim->failed = true;
    sim->kind = format;
    n = snprintf(sim->why, sizeof sim->why, "at %ju ps: ", (uintmax_t)sim->now_ps);
    va_start(args, format);
    vsnprintf(sim->why + n, sizeof sim->why - (size_t)n, format, args);
    va_end(args);
}

void sim_say(const struct sim *sim, const char *format, ...)
{
    va_list args;

    if (!sim->verbose)
        return;
    printf("%15ju ", (uintmax_t)sim->now_ps);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

bool sim_spoil_now(struct sim *sim, enum sim_spoil spoil)
{
    if (WIRE_LIKELY(sim->spoil != spoil || sim->spoiled))
        return false;
    if (sim->spoil_in > 0) {
        sim->spoil_in--;
        return false;
    }
    sim->spoiled = true;
    sim_say(sim, "spoiled here");
    return true;
}

/* ---- what both worlds report ---- */

void sim_event(struct sim *sim, uint32_t side, const struct rnic_event *event, uint64_t now_ps)
{
    uint64_t *hash = event->type >= RNIC_EVENT_PLACED ? &sim->trace_hash : &sim->hash;

    sim->now_ps = now_ps;
    sim_hash(hash, now_ps << 1 | side);
    sim_hash(hash, (uint64_t)event->type << 32 | event->qpn << 8 | event->block);
    if (event->time_ps > now_ps)
        sim_fail(sim, "%s: an event of %ju ps", sim_side_name(side), (uintmax_t)event->time_ps);
    if (event->type >= RNIC_EVENT_PLACED) {
        sim_hash(hash, event->time_ps ^ event->value << 20 ^ event->in_ps << 3);
        sim->traces++;
        return;
    }
    sim_hash(hash, event->cq);
    sim_host_event(&sim->hosts[side], event, now_ps);
}

void sim_events(struct sim *sim, uint32_t side, uint64_t now_ps)
{
    struct rnic_event event;

    while (rnic_event(sim->hosts[side].dev, now_ps, &event))
        sim_event(sim, side, &event, now_ps);
}

/* ---- one run, and the runs of a seed ---- */

/* What happened on the way, for the sums at the end. */
static void run_see(struct sim *sim)
{
    const struct sim_plan *plan = &sim->plan;
    struct sim_seen *seen = &sim->seen;

    seen->fabrics += plan->fabric.used;
    seen->silences += plan->silence;
    seen->simulated_ps = sim->now_ps;
    for (uint32_t q = 0; q < plan->n_qps; q++) {
        const struct sim_qp *qp = &plan->qps[q];

        seen->ipv6 += qp->ipv6;
        seen->roce_v1 += qp->roce_v1;
        seen->credits += qp->credits;
        seen->go_back_0 += qp->recovery == RNIC_RECOVER_GO_BACK_0;
        seen->selective += qp->recovery == RNIC_RECOVER_SELECTIVE;
        for (uint32_t s = 0; s < SIM_SIDES; s++)
            seen->wraps += plan->flows[s][q].psn.v + plan->flows[s][q].packets > WIRE_PSN_MASK + 1;
    }
}

static void run_once(struct sim *sim, uint64_t seed, const struct sim_options *options, bool trace,
                     enum sim_spoil spoil)
{
    struct wire_rng rng = wire_rng_init(seed, 300);

    memset(sim, 0, sizeof *sim);
    sim->verbose = options->verbose;
    sim->trace = trace;
    sim->spoil = spoil;
    sim->spoil_in = spoil == SIM_SPOIL_HASH ? 0 : sim_dice_below(&rng, 3);
    sim->faults = options->faults;
    if (sim->faults != NULL)
        sim->faults->n = 0;
    if (!sim_plan_make(&sim->plan, seed, options->edit))
        abort();
    if (sim_spoil_now(sim, SIM_SPOIL_HASH))
        sim->plan.link.line[0].delay_ps++;
    if (sim->verbose)
        sim_tell(sim);
    if (sim->plan.fabric.used)
        sim_fabric_run(sim);
    else
        sim_link_run(sim);
    run_see(sim);
    sim_plan_free(&sim->plan);
}

static void run_compare(struct sim *sim, uint64_t hash, const char *what)
{
    if (!sim->failed && sim->hash != hash)
        sim_fail(sim, "the same seed gives another run: %s", what);
}

/* With tracing on, and for some seeds once more: nothing may change. */
static void run_again(struct sim *sim, uint64_t seed, const struct sim_options *options)
{
    uint64_t hash = sim->hash, trace_hash;

    run_once(sim, seed, options, true, SIM_SPOIL_NONE);
    run_compare(sim, hash, "with tracing on");
    trace_hash = sim->trace_hash;
    if (sim->failed || options->again == 0 || seed % options->again != 0)
        return;
    run_once(sim, seed, options, true, SIM_SPOIL_NONE);
    run_compare(sim, hash, "a second time");
    if (!sim->failed && sim->trace_hash != trace_hash)
        sim_fail(sim, "the same seed gives another trace");
}

struct sim_result sim_run_seed(uint64_t seed, const struct sim_options *options)
{
    static struct sim sim; /* too large for a stack */
    struct sim_result result = {0};
    bool hash = options->spoil == SIM_SPOIL_HASH;
    uint64_t first;

    run_once(&sim, seed, options, false, hash ? SIM_SPOIL_NONE : options->spoil);
    first = sim.hash;
    result.seen = sim.seen;
    if (!sim.failed && hash) {
        run_once(&sim, seed, options, false, SIM_SPOIL_HASH);
        run_compare(&sim, first, "a second time");
    }
    result.spoiled = sim.spoiled;
    if (!sim.failed && options->spoil == SIM_SPOIL_NONE && !options->once)
        run_again(&sim, seed, options);
    result.failed = sim.failed;
    memcpy(result.why, sim.why, sizeof result.why);
    if (sim.failed)
        snprintf(result.kind, sizeof result.kind, "%s", sim.kind);
    return result;
}
