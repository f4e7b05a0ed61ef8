/* SPDX-License-Identifier: GPL-2.0-only */
/* Lines, fabric, and the chances of their faults. */
#include "sim_dice.h"
#include "sim_plan.h"

#define US UINT64_C(1000000) /* ps */
#define NS UINT64_C(1000)
#define GBPS UINT64_C(1000000000)

static void link_make(struct sim_plan *plan, struct wire_rng *rng)
{
    static const uint32_t gbps[] = {10, 25, 40, 100, 200, 400};
    struct sim_link_plan *link = &plan->link;
    double hit;
    uint64_t rate_bps = gbps[sim_dice_below(rng, 6)] * GBPS;

    for (uint32_t s = 0; s < SIM_SIDES; s++)
        link->line[s] =
            (struct sim_line){.rate_bps = rate_bps, .delay_ps = sim_dice_below(rng, 5000) * NS};
    link->chance[SIM_FAULT_MARK] = sim_dice_one_in(rng, 2) ? 0.3 * wire_rng_uniform(rng) : 0;
    link->pauses = sim_dice_one_in(rng, 2) ? sim_dice_below(rng, 40) : 0;
    link->pause_ps = (1 + sim_dice_below(rng, 10)) * US;
    link->run_ps = (1 + sim_dice_below(rng, 30)) * US;
    link->wire = sim_dice_one_in(rng, 4);
    link->silent_after = plan->silence ? sim_dice_below(rng, 300) : UINT32_MAX;
    if (plan->faultless)
        return;
    link->jitter_ps = (1 + sim_dice_below(rng, sim_dice_one_in(rng, 8) ? 1000 : 20)) * US;
    link->chance[SIM_FAULT_LOSS] = sim_dice_one_in(rng, 4) ? 0 : 0.03 * wire_rng_uniform(rng);
    hit = sim_dice_one_in(rng, 2) ? 0 : 0.01 * wire_rng_uniform(rng);
    link->chance[SIM_FAULT_HIT] = 0.75 * hit;
    link->chance[SIM_FAULT_FCS] = 0.25 * hit;
    link->chance[SIM_FAULT_TWICE] = sim_dice_one_in(rng, 2) ? 0 : 0.2 * wire_rng_uniform(rng);
    link->chance[SIM_FAULT_LATE] = sim_dice_one_in(rng, 2) ? 0 : 0.2 * wire_rng_uniform(rng);
    link->chance[SIM_FAULT_STALL] = sim_dice_one_in(rng, 3) ? 0.02 : 0;
    link->stalls = 3;
}

/* The engine's own loss, PFC and ECN: a switch with a buffer that is too small at times. */
static void fabric_make(struct sim_plan *plan, struct wire_rng *rng)
{
    struct sim_fabric_plan *fabric = &plan->fabric;
    struct fabric_params *params = &fabric->params;

    fabric->used = sim_dice_one_in(rng, 4);
    if (!fabric->used)
        return;
    fabric->has_switch = !sim_dice_one_in(rng, 4);
    fabric->loss = plan->faultless || sim_dice_one_in(rng, 3) ? 0 : 0.02 * wire_rng_uniform(rng);
    fabric->reaction_ps = sim_dice_one_in(rng, 2) ? 0 : sim_dice_below(rng, 500) * NS;
    wire_param_defaults(fabric_param_table, fabric_param_count, params);
    params->lossless_classes = sim_dice_below(rng, 256);
    params->buffer_bytes = 8000000;
    params->alpha = 0.002 + 0.1 * wire_rng_uniform(rng); /* pauses at a few frames */
    params->reserved_bytes = sim_dice_below(rng, 4096);
    params->xon_offset_bytes = sim_dice_below(rng, 4096);
    params->pause_quanta = 16 + sim_dice_below(rng, 2000);
    params->ecn_kmin_bytes = sim_dice_below(rng, 20000);
    params->ecn_kmax_bytes = params->ecn_kmin_bytes + sim_dice_below(rng, 40000);
    params->ecn_pmax = wire_rng_uniform(rng);
    params->ecn_at = sim_dice_below(rng, 2);
    params->latency_ps = sim_dice_below(rng, 500) * NS;
    if (plan->link.line[0].rate_bps > 40 * GBPS && sim_dice_one_in(rng, 2))
        plan->link.line[sim_dice_below(rng, 2)].rate_bps = 40 * GBPS; /* of that side's link */
}

void sim_plan_link(struct sim_plan *plan, struct wire_rng *rng)
{
    link_make(plan, rng);
    fabric_make(plan, rng);
    if (plan->fabric.used) /* silence is our own link's */
        plan->silence = false;
}
