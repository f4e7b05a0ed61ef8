/* SPDX-License-Identifier: GPL-2.0-only */
/* A plan in words. */
#include "sim.h"

#include <stdio.h>

const char *sim_side_name(uint32_t side)
{
    return side == 0 ? "A" : "B";
}

const char *sim_opcode_name(enum rnic_wr_opcode opcode)
{
    static const char *const names[] = {"WRITE",   "WRITE_WITH_IMM", "SEND",      "SEND_WITH_IMM",
                                        "READ",    "COMPARE_SWAP",   "FETCH_ADD", "LOCAL_INV",
                                        "BIND_MW", "SEND_WITH_INV"};

    return names[opcode];
}

static void tell_send(const struct sim *sim, const struct sim_flow *flow, uint32_t i)
{
    const struct sim_send *send = &flow->sends[i];

    sim_say(sim, "  %u: %s of %u bytes in %u pieces%s%s%s%s%s%s%s%s%s", i,
            sim_opcode_name(send->opcode), send->bytes, send->n, send->signaled ? ", signaled" : "",
            send->solicited ? ", solicited" : "", send->fence ? ", fenced" : "",
            send->inlined ? ", inline" : "", send->via_window ? ", through the window" : "",
            send->unbinds ? ", of nothing" : "",
            send->opcode == RNIC_WR_RDMA_READ && send->reads_target ? ", of the target" : "",
            send->bad_qkey ? ", bad Q_Key" : "", i == flow->fails_at ? ", to fail" : "");
}

static void tell_flow(const struct sim *sim, uint32_t side, uint32_t q)
{
    const struct sim_flow *flow = &sim->plan.flows[side][q];
    const struct sim_qp *qp = &sim->plan.qps[q];

    if (flow->n_sends == 0)
        return;
    sim_say(sim,
            "%s qp %u: %u sends, %u packets from psn %u, queue of %u, window %u bytes, rate %ju, "
            "%u READs at once%s%s",
            sim_side_name(side), q, flow->n_sends, flow->packets, flow->psn.v, flow->sq_depth,
            qp->window_bytes[side], (uintmax_t)qp->rate_bps[side], qp->rd_atomic[side],
            flow->overlap ? ", WRITEs overlap" : "", flow->window.used ? ", window" : "");
    for (uint32_t i = 0; i < flow->n_sends; i++)
        tell_send(sim, flow, i);
}

static void tell_qp(const struct sim *sim, uint32_t q)
{
    static const char *const endings[SIM_ENDINGS] = {
        "well",     "in silence",         "refused",         "not ready",   "in a local error",
        "too long", "with a bad receive", "with a bad bind", "interrupted", "somehow"};
    static const char *const incidents[SIM_INCIDENTS] = {
        "nothing",       "drain",         "error",          "reset",           "destroy",
        "no source key", "no target key", "no results key", "no receives' key"};
    static const char *const types[] = {"RC", "UC", "UD"};
    static const char *const recoveries[] = {"go-back-N", "go-back-0", "selective repeat"};
    const struct sim_qp *qp = &sim->plan.qps[q];

    sim_say(sim, "qp %u: %s, MTU %u, %s, ends %s (%s)%s%s%s%s, incident: %s at %s after %u frames",
            q, types[qp->type], qp->mtu_bytes, recoveries[qp->recovery], endings[qp->ending],
            sim_side_name(qp->failing),
            qp->ipv6      ? ", IPv6"
            : qp->roce_v1 ? ", RoCEv1"
                          : "",
            qp->credits ? ", credits" : "", qp->shared[0] ? ", A shares receives" : "",
            qp->shared[1] ? ", B shares receives" : "", incidents[qp->incident.kind],
            sim_side_name(qp->incident.side), qp->incident.frames);
}

static void tell_card(const struct sim *sim, uint32_t side)
{
    const struct sim_card *card = &sim->plan.cards[side];

    sim_say(sim, "%s: cc %s, line %ju bit/s, %s", sim_side_name(side), card->cc->name,
            (uintmax_t)sim->plan.link.line[side].rate_bps,
            card->polls ? "polls" : "waits for events");
    for (size_t i = 0; i < rnic_param_count; i++)
        if (wire_param_get(&rnic_param_table[i], &card->params) != rnic_param_table[i].def)
            sim_say(sim, "  %s = %.0f", rnic_param_table[i].field,
                    wire_param_get(&rnic_param_table[i], &card->params));
    for (uint32_t p = 0; p < SIM_POOLS; p++) {
        const struct sim_pool *pool = &sim->plan.pools[side][p];

        if (pool->n > 0)
            sim_say(sim, "  pool %u%s: %u receives, queue of %u, %u at once, limit %u", p,
                    p == SIM_SHARED ? " (shared)" : "", pool->n, pool->depth, pool->first,
                    pool->limit);
    }
}

void sim_tell(const struct sim *sim)
{
    const struct sim_plan *plan = &sim->plan;
    const struct sim_link_plan *link = &plan->link;

    sim_say(sim, "seed %ju%s: %s%s, MTU %u, %u queue pairs, timeout %u, retries %u%s",
            (uintmax_t)plan->seed, sim->trace ? ", traced" : "",
            plan->fabric.used ? "engine" : "link",
            plan->fabric.used && plan->fabric.has_switch ? " with a switch" : "", plan->mtu_bytes,
            plan->n_qps, plan->timeout, plan->retry_cnt, plan->phantom ? ", phantom" : "");
    for (uint32_t kind = 0; kind < SIM_FAULTS; kind++)
        if (link->chance[kind] > 0 && !link->scripted)
            sim_say(sim, "  %s: chance %g", sim_line_fault_name(kind), link->chance[kind]);
    sim_say(sim, "  %u faults by script, %u pauses, silent after %u, loss in the engine %g",
            link->n_script, link->pauses, link->silent_after,
            plan->fabric.used ? plan->fabric.loss : 0);
    for (uint32_t q = 0; q < plan->n_qps; q++)
        tell_qp(sim, q);
    for (uint32_t s = 0; s < SIM_SIDES; s++) {
        tell_card(sim, s);
        for (uint32_t q = 0; q < plan->n_qps; q++)
            tell_flow(sim, s, q);
    }
}
