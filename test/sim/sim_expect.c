/* SPDX-License-Identifier: GPL-2.0-only */
/* Which errors a plan allows, and where. */
#include "sim.h"

bool sim_expect_well(const struct sim *sim, uint32_t side, uint32_t q)
{
    const struct sim_qp *qp = &sim->plan.qps[q];

    (void)side;
    return qp->type == RNIC_QPT_RC && qp->ending == SIM_ENDS_WELL;
}

/* Did an incident of this kind happen on this side? */
static bool expect_broken(const struct sim *sim, uint32_t side, uint32_t q,
                          enum sim_incident_kind kind)
{
    const struct sim_incident *incident = &sim->plan.qps[q].incident;

    return incident->kind == kind && incident->side == side && sim->hosts[side].queues[q].broken;
}

/* What a key that was taken back does to requests of either side. */
static bool expect_revoked(const struct sim *sim, uint32_t side, uint32_t q,
                           const struct sim_send *send, enum rnic_wc_status status)
{
    uint32_t peer = 1 - side;
    bool fetches = sim_plan_fetches(send->opcode);

    if (send->bytes == 0)
        return false;
    if (expect_broken(sim, side, q, SIM_INCIDENT_NO_SOURCE) && !fetches && !send->inlined)
        return status == RNIC_WC_LOC_PROT_ERR;
    if (expect_broken(sim, side, q, SIM_INCIDENT_NO_RESULTS) && fetches)
        return status == RNIC_WC_LOC_PROT_ERR;
    if (expect_broken(sim, peer, q, SIM_INCIDENT_NO_SOURCE))
        return send->opcode == RNIC_WR_RDMA_READ && !send->reads_target &&
               status == RNIC_WC_REM_ACCESS_ERR;
    if (expect_broken(sim, peer, q, SIM_INCIDENT_NO_TARGET))
        return (sim_plan_is_write(send->opcode) ||
                (send->opcode == RNIC_WR_RDMA_READ && send->reads_target)) &&
               status == RNIC_WC_REM_ACCESS_ERR;
    if (expect_broken(sim, peer, q, SIM_INCIDENT_NO_SLOTS))
        return sim_plan_is_send(send->opcode) && status == RNIC_WC_REM_OP_ERR;
    return false;
}

/* The status of the send that is to fail. */
static enum rnic_wc_status expect_failure(const struct sim_qp *qp)
{
    switch (qp->ending) {
    case SIM_ENDS_REFUSED:
        return qp->refusal == SIM_BAD_PLACE ? RNIC_WC_REM_INV_REQ_ERR : RNIC_WC_REM_ACCESS_ERR;
    case SIM_ENDS_NOT_READY:
        return RNIC_WC_RNR_RETRY_EXC_ERR;
    case SIM_ENDS_LOCAL:
        return RNIC_WC_LOC_PROT_ERR;
    case SIM_ENDS_TOO_LONG:
        return RNIC_WC_REM_INV_REQ_ERR;
    case SIM_ENDS_RECV_KEY:
        return RNIC_WC_REM_OP_ERR;
    case SIM_ENDS_BIND:
        return RNIC_WC_MW_BIND_ERR;
    default:
        return RNIC_WC_SUCCESS;
    }
}

/* Has this side's queue pair come to an end, so that it answers no more? */
static bool expect_silent(const struct sim *sim, uint32_t side, uint32_t q)
{
    const struct sim_queue *queue = &sim->hosts[side].queues[q];

    return queue->gone || queue->failed_at != SIM_NONE ||
           sim_host_state((struct sim_host *)(uintptr_t)&sim->hosts[side], q) == RNIC_QPS_ERR;
}

const char *sim_expect_error(const struct sim *sim, uint32_t side, uint32_t q, uint32_t index,
                             enum rnic_wc_status status)
{
    const struct sim_qp *qp = &sim->plan.qps[q];
    const struct sim_flow *flow = &sim->plan.flows[side][q];
    bool reliable = qp->type == RNIC_QPT_RC;

    if (status == RNIC_WC_RETRY_EXC_ERR && reliable &&
        (qp->ending == SIM_ENDS_IN_SILENCE || qp->ending == SIM_ENDS_ANYHOW))
        return NULL;
    if (index == flow->fails_at && status == expect_failure(qp))
        return NULL;
    if (qp->ending == SIM_ENDS_INTERRUPTED &&
        expect_revoked(sim, side, q, &flow->sends[index], status))
        return NULL;
    /* The peer says nothing any more: it failed first, or its NAK was lost. */
    if (status == RNIC_WC_RETRY_EXC_ERR && reliable && qp->ending != SIM_ENDS_WELL &&
        expect_silent(sim, 1 - side, q))
        return index <= flow->fails_at ? NULL : "one before it should have failed";
    if (qp->ending == SIM_ENDS_WELL || (flow->fails_at == SIM_NONE && !reliable))
        return "error nobody made";
    return index == flow->fails_at ? "wrong error" : "this one need not fail so";
}

bool sim_expect_flush(const struct sim *sim, uint32_t side, uint32_t q)
{
    const struct sim_qp *qp = &sim->plan.qps[q];

    return expect_broken(sim, side, q, SIM_INCIDENT_ERR) ||
           (qp->ending != SIM_ENDS_WELL && qp->type == RNIC_QPT_RC);
}
