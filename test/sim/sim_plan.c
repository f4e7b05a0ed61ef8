/* SPDX-License-Identifier: GPL-2.0-only */
/* What kind of run a seed is: ending, cards, link, timers. */
#include "sim_plan.h"

#include "sim_dice.h"

#include <stdlib.h>

#define US UINT64_C(1000000) /* ps */
#define NS UINT64_C(1000)
#define GBPS UINT64_C(1000000000)

/* ---- cards ---- */

static uint32_t card_entries(struct wire_rng *rng)
{
    return sim_dice_one_in(rng, 2) ? 0 : 1 + sim_dice_below(rng, 4);
}

static void card_random(struct rnic_params *params, struct wire_rng *rng, uint64_t line_bps)
{
    params->doorbell_latency_ps = sim_dice_below(rng, 500) * NS;
    params->wqe_bytes = 16u << sim_dice_below(rng, 5);
    params->tx_service_ps = sim_dice_below(rng, 3000);
    params->tx_latency_ps = sim_dice_below(rng, 500) * NS;
    params->tx_fifo_frames = 1 + sim_dice_below(rng, 64);
    params->dma_read_latency_ps = sim_dice_below(rng, 1000) * NS;
    params->dma_write_latency_ps = sim_dice_below(rng, 1000) * NS;
    params->pcie_bps = sim_dice_one_in(rng, 2) ? 0 : 4 * line_bps;
    params->pcie_max_payload_bytes = 128u << sim_dice_below(rng, 4);
    params->qp_cache_entries = card_entries(rng);
    params->mr_cache_entries = card_entries(rng);
    params->page_cache_entries = card_entries(rng);
    params->cq_cache_entries = card_entries(rng);
    params->page_bytes = 4096u << sim_dice_below(rng, 5);
    params->cache_miss_ps = sim_dice_below(rng, 1000) * NS;
    params->cache_fetchers = 1 + sim_dice_below(rng, 16);
    params->rx_service_ps = sim_dice_below(rng, 3000);
    params->rx_latency_ps = sim_dice_below(rng, 500) * NS;
    params->cqe_bytes = 64u << sim_dice_below(rng, 2);
    params->event_latency_ps = sim_dice_below(rng, 5000) * NS;
    params->poll_latency_ps = sim_dice_below(rng, 300) * NS;
    params->cnp_latency_ps = sim_dice_below(rng, 5000) * NS;
}

static void card_make(struct sim_card *card, struct wire_rng *rng, const struct sim_plan *plan,
                      uint64_t line_bps)
{
    struct rnic_params *params = &card->params;
    uint32_t kind = sim_dice_below(rng, 4);

    *params = kind == 0 || line_bps > 100 * GBPS ? rnic_params_ideal() : rnic_params_default();
    if (kind >= 2)
        card_random(params, rng, line_bps);
    params->mtu_bytes = plan->mtu_bytes;
    params->ack_every = sim_dice_one_in(rng, 3) ? 1 : 1 + sim_dice_below(rng, 64);
    params->max_in_flight =
        sim_dice_one_in(rng, 3) ? 1 + sim_dice_below(rng, 64) : params->max_in_flight;
    params->ack_dscp = sim_dice_one_in(rng, 2) ? 64 : sim_dice_below(rng, 64);
    params->ecn = !sim_dice_one_in(rng, 6);
    params->cnp_interval_ps = sim_dice_one_in(rng, 4) ? 0 : sim_dice_below(rng, 50) * US;
    params->cnp_dscp = sim_dice_below(rng, 64);
    card->cc = sim_dice_one_in(rng, 2) ? &rnic_cc_none : &rnic_cc_dcqcn;
    card->dcqcn = rnic_dcqcn_presets[0].params;
    card->dcqcn.min_rate_bps = (1 + sim_dice_below(rng, 5)) * GBPS;
    card->n_cqs = 1 + sim_dice_below(rng, SIM_CQS_MAX);
    for (uint32_t q = 0; q < SIM_QPS_MAX; q++) {
        card->send_cq[q] = sim_dice_below(rng, card->n_cqs);
        card->recv_cq[q] = sim_dice_below(rng, card->n_cqs);
    }
    card->polls = sim_dice_one_in(rng, 3);
    card->poll_ps = (1 + sim_dice_below(rng, card->polls ? 20 : 2)) * US;
    card->batch = 1 + sim_dice_below(rng, 8);
}

/* ---- link ---- */

static void link_make(struct sim_plan *plan, struct wire_rng *rng)
{
    static const uint32_t gbps[] = {10, 25, 40, 100, 200, 400};
    struct sim_link_plan *link = &plan->link;
    uint64_t rate_bps = gbps[sim_dice_below(rng, 6)] * GBPS;

    for (uint32_t s = 0; s < SIM_SIDES; s++)
        link->line[s] =
            (struct sim_line){.rate_bps = rate_bps, .delay_ps = sim_dice_below(rng, 5000) * NS};
    link->mark = sim_dice_one_in(rng, 2) ? 0.3 * wire_rng_uniform(rng) : 0;
    link->pauses = sim_dice_one_in(rng, 2) ? sim_dice_below(rng, 40) : 0;
    link->pause_ps = (1 + sim_dice_below(rng, 10)) * US;
    link->run_ps = (1 + sim_dice_below(rng, 30)) * US;
    link->wire = sim_dice_one_in(rng, 4);
    link->silent_after =
        plan->ending == SIM_ENDS_IN_SILENCE ? sim_dice_below(rng, 300) : UINT32_MAX;
    if (plan->faultless)
        return;
    link->jitter_ps = (1 + sim_dice_below(rng, sim_dice_one_in(rng, 8) ? 1000 : 20)) * US;
    link->loss = sim_dice_one_in(rng, 4) ? 0 : 0.03 * wire_rng_uniform(rng);
    link->corrupt = sim_dice_one_in(rng, 2) ? 0 : 0.01 * wire_rng_uniform(rng);
    link->duplicate = sim_dice_one_in(rng, 2) ? 0 : 0.2 * wire_rng_uniform(rng);
    link->reorder = sim_dice_one_in(rng, 2) ? 0 : 0.2 * wire_rng_uniform(rng);
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

/* ---- timers ---- */

static uint64_t timers_card_ps(const struct sim_card *card, uint64_t packets)
{
    const struct rnic_params *params = &card->params;
    uint64_t fetch_ps = params->cache_miss_ps / params->cache_fetchers;
    uint64_t t = params->doorbell_latency_ps + params->tx_latency_ps + params->rx_latency_ps +
                 4 * params->dma_read_latency_ps + params->dma_write_latency_ps +
                 8 * params->cache_miss_ps;

    t += packets * (params->tx_service_ps + params->rx_service_ps);
    if (params->qp_cache_entries || params->mr_cache_entries || params->page_cache_entries ||
        params->cq_cache_entries)
        t += packets * 8 * fetch_ps; /* nothing holds up what comes in: misses add up */
    return t;
}

/*
 * Longest time from a packet's pull to an answer, when nothing is lost: a retry timer of that
 * length runs out only for a reason, and so the retries last.
 */
static uint64_t timers_answer_ps(const struct sim_plan *plan)
{
    const struct sim_link_plan *link = &plan->link;
    uint64_t line_bps = link->line[0].rate_bps < link->line[1].rate_bps ? link->line[0].rate_bps
                                                                        : link->line[1].rate_bps;
    uint64_t frame = plan->mtu_bytes + 160, packets = 0, window = 1, slowest_bps = line_bps;
    uint64_t t = 2 * (link->line[0].delay_ps + link->line[1].delay_ps + link->jitter_ps) +
                 (link->pauses ? 4 * link->pause_ps : 0);

    for (uint32_t s = 0; s < SIM_SIDES; s++) {
        const struct sim_card *card = &plan->cards[s];

        window = card->params.ack_every + 1 > window ? card->params.ack_every + 1 : window;
        for (uint32_t q = 0; q < plan->n_qps; q++)
            packets += plan->flows[s][q].packets;
        if (card->cc == &rnic_cc_dcqcn && card->dcqcn.min_rate_bps < slowest_bps)
            slowest_bps = card->dcqcn.min_rate_bps;
    }
    if (plan->fabric.used)
        t += wire_line_time_ps((4 * 64 * plan->fabric.params.pause_quanta + 1000000), line_bps);
    window = window < packets ? window : packets;
    t += wire_line_time_ps(2 * frame * (window * plan->n_qps + 8), line_bps);
    t += wire_line_time_ps(frame * window, slowest_bps);
    return t + timers_card_ps(&plan->cards[0], packets) + timers_card_ps(&plan->cards[1], packets);
}

static void timers_make(struct sim_plan *plan, struct wire_rng *rng)
{
    uint64_t least_ps = timers_answer_ps(plan);

    plan->timeout = 1;
    while ((UINT64_C(4096000) << plan->timeout) < least_ps)
        plan->timeout++;
    if (sim_dice_one_in(rng, 3))
        plan->timeout++;
    if (plan->faultless && plan->ending == SIM_ENDS_WELL && sim_dice_one_in(rng, 4))
        plan->timeout = 0; /* no timer, and none is needed */
    plan->retry_cnt = 7;
    if (plan->ending == SIM_ENDS_IN_SILENCE && plan->faultless)
        plan->retry_cnt = (uint8_t)sim_dice_below(rng, 8);
}

/* ---- the whole ---- */

static enum sim_ending plan_ending(struct wire_rng *rng)
{
    switch (sim_dice_below(rng, 20)) {
    case 0:
        return SIM_ENDS_IN_SILENCE;
    case 1:
        return SIM_ENDS_REFUSED;
    case 2:
        return SIM_ENDS_NOT_READY;
    case 3:
        return SIM_ENDS_LOCAL;
    default:
        return SIM_ENDS_WELL;
    }
}

bool sim_plan_make(struct sim_plan *plan, uint64_t seed)
{
    struct wire_rng rng = wire_rng_init(seed, 0);

    *plan = (struct sim_plan){.seed = seed};
    plan->ending = plan_ending(&rng);
    plan->faultless = sim_dice_one_in(&rng, 8);
    plan->phantom = sim_dice_one_in(&rng, 16);
    plan->mtu_bytes = 256u << sim_dice_below(&rng, 5);
    plan->n_qps = 1 + sim_dice_below(&rng, SIM_QPS_MAX);
    link_make(plan, &rng);
    fabric_make(plan, &rng);
    if (plan->fabric.used && plan->ending == SIM_ENDS_IN_SILENCE)
        plan->ending = SIM_ENDS_WELL; /* silence is our own link's */
    for (uint32_t s = 0; s < SIM_SIDES; s++) {
        plan->rnr_timer[s] = (uint8_t)(1 + sim_dice_below(&rng, 6));
        card_make(&plan->cards[s], &rng, plan, plan->link.line[s].rate_bps);
    }
    for (uint32_t q = 0; q < plan->n_qps; q++) {
        plan->dscp[q] = (uint8_t)sim_dice_below(&rng, 64);
        plan->ipv6[q] = sim_dice_one_in(&rng, 2);
    }
    sim_plan_flows(plan, &rng, 1u << (5 + sim_dice_below(&rng, 7)));
    timers_make(plan, &rng);
    return sim_plan_memory(plan, &rng);
}

void sim_plan_free(struct sim_plan *plan)
{
    for (uint32_t s = 0; s < SIM_SIDES; s++) {
        free(plan->cards[s].before);
        free(plan->cards[s].after);
    }
}
