/* SPDX-License-Identifier: GPL-2.0-only */
/* A plan made smaller: what the minimiser leaves out of it. */
#include "sim_plan.h"

static void edit_cap(struct sim_send *send, uint32_t most)
{
    uint32_t left = send->bytes <= most ? send->bytes : most;

    send->bytes = left;
    for (uint32_t p = 0; p < send->n; p++) {
        uint32_t n = send->piece[p].bytes < left ? send->piece[p].bytes : left;

        send->piece[p].bytes = n;
        left -= n;
    }
}

static void edit_flow(struct sim_qp *qp, struct sim_flow *flow, uint32_t drop, uint32_t cap_bytes,
                      bool no_cuts)
{
    uint32_t n = 0, fails_at = SIM_NONE;

    for (uint32_t i = 0; i < flow->n_sends; i++) {
        struct sim_send *send = &flow->sends[n];

        if (drop >> i & 1)
            continue;
        if (i == flow->fails_at)
            fails_at = n;
        *send = flow->sends[i];
        if (cap_bytes > 0 && !sim_plan_is_atomic(send->opcode))
            edit_cap(send, cap_bytes);
        if (no_cuts && send->n > 0) {
            send->n = 1;
            send->piece[0].bytes = send->bytes;
        }
        n++;
    }
    if (flow->fails_at != SIM_NONE && fails_at == SIM_NONE)
        qp->ending = SIM_ENDS_WELL;
    flow->fails_at = fails_at;
    flow->n_sends = n;
}

static void edit_link(struct sim_link_plan *link, const struct sim_edit *edit)
{
    if (edit->no_pauses)
        link->pauses = 0;
    if (edit->no_wire)
        link->wire = false;
    link->scripted = edit->scripted;
    link->script = edit->faults;
    link->n_script = edit->n_faults;
}

void sim_plan_edit(struct sim_plan *plan, const struct sim_edit *edit)
{
    uint32_t used = 0;

    edit_link(&plan->link, edit);
    if (edit->no_fabric)
        plan->fabric.used = false;
    for (uint32_t s = 0; s < SIM_SIDES && edit->plain_cards; s++) {
        plan->cards[s].params = rnic_params_ideal();
        plan->cards[s].params.mtu_bytes = plan->mtu_bytes;
        plan->cards[s].cc = &rnic_cc_none;
        plan->cards[s].n_cqs = 1;
        for (uint32_t q = 0; q < SIM_QPS_MAX; q++)
            plan->cards[s].send_cq[q] = plan->cards[s].recv_cq[q] = 0;
    }
    for (uint32_t q = 0; q < plan->n_qps; q++) {
        struct sim_qp *qp = &plan->qps[q];

        if (edit->no_incidents) {
            qp->incident.kind = SIM_INCIDENT_NONE;
            if (qp->ending == SIM_ENDS_INTERRUPTED)
                qp->ending = SIM_ENDS_WELL;
        }
        for (uint32_t s = 0; s < SIM_SIDES; s++) {
            struct sim_flow *flow = &plan->flows[s][q];

            edit_flow(qp, flow, edit->drop[s][q], edit->cap_bytes[s][q], edit->no_cuts);
            if (edit->plain_cards)
                qp->inline_bytes[s] = 0;
            for (uint32_t i = 0; i < flow->n_sends && edit->plain_cards; i++)
                flow->sends[i].inlined = false;
            if (edit->no_gaps)
                flow->start_ps = flow->send_gap_ps = 0;
            if (flow->n_sends > 0)
                used = q + 1;
        }
    }
    plan->n_qps = used > 0 ? used : 1;
    for (uint32_t s = 0; s < SIM_SIDES; s++)
        for (uint32_t q = 0; q < plan->n_qps; q++)
            for (uint32_t i = 0; i < plan->flows[s][q].n_sends; i++)
                if (plan->flows[s][q].sends[i].dest >= plan->n_qps)
                    plan->flows[s][q].sends[i].dest = q;
}
