/* SPDX-License-Identifier: GPL-2.0-only */
/* What kinds of queue pairs there are, and how each ends. */
#include "sim_dice.h"
#include "sim_plan.h"

#define US UINT64_C(1000000) /* ps */
#define GBPS UINT64_C(1000000000)

static enum sim_ending qp_ending(const struct sim_plan *plan, enum rnic_qp_type type,
                                 struct wire_rng *rng)
{
    static const enum sim_ending rc[] = {SIM_ENDS_REFUSED,  SIM_ENDS_NOT_READY, SIM_ENDS_LOCAL,
                                         SIM_ENDS_TOO_LONG, SIM_ENDS_RECV_KEY,  SIM_ENDS_BIND};

    if (plan->silence)
        return type == RNIC_QPT_RC ? SIM_ENDS_IN_SILENCE : SIM_ENDS_WELL;
    if (!sim_dice_one_in(rng, 4))
        return SIM_ENDS_WELL;
    if (sim_dice_one_in(rng, 2))
        return SIM_ENDS_INTERRUPTED;
    return type == RNIC_QPT_RC ? rc[sim_dice_below(rng, 6)] : SIM_ENDS_LOCAL;
}

static void qp_incident(const struct sim_qp *qp, struct sim_incident *incident,
                        struct wire_rng *rng)
{
    uint32_t first = SIM_INCIDENT_ERR, last = SIM_INCIDENT_DESTROY;

    incident->side = sim_dice_below(rng, SIM_SIDES);
    incident->frames = 1 + sim_dice_below(rng, sim_dice_one_in(rng, 2) ? 20 : 200);
    if (qp->ending == SIM_ENDS_WELL && sim_dice_one_in(rng, 5)) {
        incident->kind = SIM_INCIDENT_DRAIN;
        incident->until_ps = sim_dice_below(rng, 100) * US;
        incident->notify = sim_dice_one_in(rng, 2);
    }
    if (qp->ending != SIM_ENDS_INTERRUPTED)
        return;
    if (qp->type == RNIC_QPT_RC && sim_dice_one_in(rng, 2))
        first = SIM_INCIDENT_NO_SOURCE, last = SIM_INCIDENT_NO_SLOTS;
    incident->kind = (enum sim_incident_kind)(first + sim_dice_below(rng, last - first + 1));
}

/* What only a reliable connection has. */
static void qp_reliable(const struct sim_plan *plan, struct sim_qp *qp, struct wire_rng *rng)
{
    qp->credits = sim_dice_one_in(rng, 3);
    qp->rnr_retry = (uint8_t)sim_dice_below(rng, 7);
    qp->recovery = RNIC_RECOVER_GO_BACK_N;
    if (sim_dice_one_in(rng, 4))
        qp->recovery = sim_dice_one_in(rng, 2) ? RNIC_RECOVER_GO_BACK_0 : RNIC_RECOVER_SELECTIVE;
    for (uint32_t s = 0; s < SIM_SIDES; s++) {
        qp->rd_atomic[s] = (uint8_t)(1 + sim_dice_below(rng, sim_dice_one_in(rng, 3) ? 16 : 3));
        if (sim_dice_one_in(rng, 4) || qp->recovery == RNIC_RECOVER_SELECTIVE)
            qp->window_bytes[s] =
                qp->mtu_bytes * (1 + sim_dice_below(rng, 16)) + sim_dice_below(rng, qp->mtu_bytes);
        if (sim_dice_one_in(rng, 6))
            qp->window_bytes[s] = qp->recovery == RNIC_RECOVER_SELECTIVE ? qp->mtu_bytes : 1;
    }
    if (qp->recovery == RNIC_RECOVER_SELECTIVE)
        qp->window_bytes[1] = qp->window_bytes[0]; /* the other end keeps as many */
    if (qp->recovery == RNIC_RECOVER_GO_BACK_0) {  /* neither goes with it */
        qp->window_bytes[0] = qp->window_bytes[1] = 0;
        qp->credits = false;
    }
    if (qp->recovery == RNIC_RECOVER_GO_BACK_0 && (!plan->faultless || plan->fabric.used)) {
        if (qp->ending == SIM_ENDS_WELL)
            qp->ending = SIM_ENDS_ANYHOW;
        else
            qp->recovery = RNIC_RECOVER_GO_BACK_N;
    }
}

static void qp_make(struct sim_plan *plan, struct sim_qp *qp, struct wire_rng *rng)
{
    uint32_t kind = sim_dice_below(rng, 8);

    qp->type = kind == 0 ? RNIC_QPT_UC : kind == 1 ? RNIC_QPT_UD : RNIC_QPT_RC;
    qp->ending = qp_ending(plan, qp->type, rng);
    qp->failing = sim_dice_below(rng, SIM_SIDES);
    qp->mtu_bytes = plan->mtu_bytes;
    if (qp->type != RNIC_QPT_UD && sim_dice_one_in(rng, 3))
        qp->mtu_bytes = 256u << sim_dice_below(rng, 5);
    if (qp->mtu_bytes > plan->mtu_bytes)
        qp->mtu_bytes = plan->mtu_bytes;
    qp->dscp = (uint8_t)sim_dice_below(rng, 64);
    qp->ipv6 = sim_dice_one_in(rng, 2);
    qp->roce_v1 = !qp->ipv6 && !plan->fabric.used && sim_dice_one_in(rng, 4);
    if (qp->type == RNIC_QPT_RC)
        qp_reliable(plan, qp, rng);
    for (uint32_t s = 0; s < SIM_SIDES; s++) {
        uint32_t most = (uint32_t)plan->cards[s].params.max_inline;

        qp->shared[s] = sim_dice_one_in(rng, 3);
        if (sim_dice_one_in(rng, 6))
            qp->rate_bps[s] = (1 + sim_dice_below(rng, 20)) * GBPS;
        if (sim_dice_one_in(rng, 2))
            qp->inline_bytes[s] = sim_dice_below(rng, most + 1);
    }
    qp_incident(qp, &qp->incident, rng);
}

void sim_plan_qps(struct sim_plan *plan, struct wire_rng *rng)
{
    for (uint32_t q = 0; q < plan->n_qps; q++) {
        struct sim_qp *qp = &plan->qps[q];
        bool own;

        qp_make(plan, qp, rng);
        own = qp->ending == SIM_ENDS_NOT_READY || qp->ending == SIM_ENDS_TOO_LONG ||
              qp->ending == SIM_ENDS_RECV_KEY;
        if (own)
            qp->shared[1 - qp->failing] = false;
        if (qp->recovery == RNIC_RECOVER_SELECTIVE) /* what one sends the other must keep */
            plan->cards[1].params.max_in_flight = plan->cards[0].params.max_in_flight;
        if (qp->incident.kind == SIM_INCIDENT_NO_SLOTS)
            qp->shared[qp->incident.side] = false;
    }
}
