/* SPDX-License-Identifier: GPL-2.0-only */
/* What kind of run a seed is: cards, timers, the whole. */
#include "sim_plan.h"

#include "sim_dice.h"

#include <stdlib.h>
#include <string.h>

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
    params->connect_ps = sim_dice_one_in(rng, 3) ? sim_dice_below(rng, 50) * US : 0;
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
    params->max_inline = sim_dice_one_in(rng, 4) ? 0 : 1u << sim_dice_below(rng, 12);
    card->cc = sim_dice_one_in(rng, 2) ? &rnic_cc_none : &rnic_cc_dcqcn;
    card->dcqcn = rnic_dcqcn_presets[0].params;
    card->dcqcn.min_rate_bps = (1 + sim_dice_below(rng, 5)) * GBPS;
    card->n_cqs = 1 + sim_dice_below(rng, SIM_CQS_MAX);
    for (uint32_t q = 0; q < SIM_QPS_MAX; q++) {
        card->send_cq[q] = sim_dice_below(rng, card->n_cqs);
        card->recv_cq[q] = sim_dice_below(rng, card->n_cqs);
    }
    card->polls = sim_dice_one_in(rng, 3);
    card->solicited = sim_dice_one_in(rng, 3);
    card->poll_ps = (1 + sim_dice_below(rng, card->polls ? 20 : 2)) * US;
    card->batch = 1 + sim_dice_below(rng, 8);
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

/* Does anything fetch? */
static bool timers_read(const struct sim_plan *plan)
{
    for (uint32_t s = 0; s < SIM_SIDES; s++)
        for (uint32_t q = 0; q < plan->n_qps; q++)
            for (uint32_t i = 0; i < plan->flows[s][q].n_sends; i++)
                if (sim_plan_fetches(plan->flows[s][q].sends[i].opcode))
                    return true;
    return false;
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
        for (uint32_t q = 0; q < plan->n_qps; q++) {
            packets += plan->flows[s][q].packets;
            if (plan->qps[q].rate_bps[s] > 0 && plan->qps[q].rate_bps[s] < slowest_bps)
                slowest_bps = plan->qps[q].rate_bps[s];
        }
        if (card->cc == &rnic_cc_dcqcn && card->dcqcn.min_rate_bps < slowest_bps)
            slowest_bps = card->dcqcn.min_rate_bps;
    }
    if (plan->fabric.used)
        t += wire_line_time_ps((4 * 64 * plan->fabric.params.pause_quanta + 1000000), line_bps);
    if (timers_read(plan))
        window = packets; /* an answer waits behind all the responses before it */
    window = window < packets ? window : packets;
    t += wire_line_time_ps(2 * frame * (window * plan->n_qps + 8), line_bps);
    t += 2 * wire_line_time_ps(frame * (window + 1), slowest_bps);
    return t + plan->cards[0].params.connect_ps + plan->cards[1].params.connect_ps +
           timers_card_ps(&plan->cards[0], packets) + timers_card_ps(&plan->cards[1], packets);
}

static void timers_make(struct sim_plan *plan, struct wire_rng *rng)
{
    uint64_t least_ps = timers_answer_ps(plan);
    bool well = true;

    plan->timeout = 1;
    while ((UINT64_C(4096000) << plan->timeout) < least_ps)
        plan->timeout++;
    if (sim_dice_one_in(rng, 3))
        plan->timeout++;
    for (uint32_t q = 0; q < plan->n_qps; q++)
        well = well && plan->qps[q].ending == SIM_ENDS_WELL;
    if (plan->faultless && !plan->fabric.used && well && sim_dice_one_in(rng, 4))
        plan->timeout = 0; /* no timer, and none is needed */
    plan->retry_cnt = 7;
    if (plan->silence && plan->faultless)
        plan->retry_cnt = (uint8_t)sim_dice_below(rng, 8);
    plan->link.stall_ps = UINT64_C(4096000) << plan->timeout;
    for (uint32_t s = 0; s < SIM_SIDES; s++) {
        struct rnic_params *params = &plan->cards[s].params;

        if (plan->cards[s].polls) /* it polls through all retries */
            plan->cards[s].poll_ps =
                wire_max_ps(plan->cards[s].poll_ps, plan->link.stall_ps / 2000);
        params->rto_high_ps = least_ps + sim_dice_below(rng, 100) * US;
        params->rto_low_ps = least_ps + sim_dice_below(rng, 10) * US;
        params->rto_low_packets = sim_dice_below(rng, 8);
    }
}

/* ---- the whole ---- */

bool sim_plan_make(struct sim_plan *plan, uint64_t seed, const struct sim_edit *edit)
{
    struct wire_rng rng = wire_rng_init(seed, 0);
    struct wire_rng last = wire_rng_init(seed, 1); /* an edit may need other numbers of it */

    memset(plan, 0, sizeof *plan);
    plan->seed = seed;
    plan->silence = sim_dice_one_in(&rng, 20);
    plan->faultless = sim_dice_one_in(&rng, 8);
    plan->phantom = sim_dice_one_in(&rng, 16);
    plan->mtu_bytes = 256u << sim_dice_below(&rng, 5);
    plan->n_qps = 1 + sim_dice_below(&rng, SIM_QPS_MAX);
    sim_plan_link(plan, &rng);
    for (uint32_t s = 0; s < SIM_SIDES; s++) {
        plan->rnr_timer[s] = (uint8_t)(1 + sim_dice_below(&rng, 6));
        card_make(&plan->cards[s], &rng, plan, plan->link.line[s].rate_bps);
    }
    sim_plan_qps(plan, &rng);
    sim_plan_flows(plan, &rng, 1u << (6 + sim_dice_below(&rng, 7)));
    sim_plan_fail(plan, &rng);
    if (edit != NULL)
        sim_plan_edit(plan, edit);
    sim_plan_finish(plan, &last);
    timers_make(plan, &last);
    return sim_plan_memory(plan, &last);
}

void sim_plan_free(struct sim_plan *plan)
{
    for (uint32_t s = 0; s < SIM_SIDES; s++) {
        free(plan->cards[s].before);
        free(plan->cards[s].after);
    }
}
