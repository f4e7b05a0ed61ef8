/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every completion against the plan: the right work request, once, in order, with the right words,
 * and not before its bytes are in memory.
 */
#include "sim.h"

static uint64_t wr_queue(uint64_t wr_id)
{
    return (wr_id & ~(UINT64_C(1) << 63)) >> 32;
}

static void complete_wrong(struct sim *sim, const struct sim_host *host, uint32_t q,
                           const struct rnic_wc *wc, const char *why)
{
    sim_fail(sim, "%s qp %u %s %u: %s (status %s, opcode %u, %u bytes, imm 0x%x, flags %u)",
             sim_side_name(host->side), q, wc->wr_id >> 63 ? "receive" : "send",
             (uint32_t)wc->wr_id, why, rnic_wc_status_name(wc->status), (unsigned)wc->opcode,
             wc->byte_len, wc->imm, wc->wc_flags);
}

/* ---- sends ---- */

static const char *send_success(struct sim *sim, const struct sim_host *host, uint32_t q,
                                const struct rnic_wc *wc)
{
    const struct sim_flow *flow = &sim->plan.flows[host->side][q];
    const struct sim_queue *queue = &host->queues[q];
    uint32_t index = (uint32_t)wc->wr_id;
    const struct sim_send *send = &flow->sends[index];
    bool write = sim_plan_is_write(send->opcode);

    if (queue->failed_at != SIM_NONE)
        return "success after an error";
    if (!send->signaled)
        return "nobody asked for it";
    if (wc->opcode != (write ? RNIC_WC_RDMA_WRITE : RNIC_WC_SEND))
        return "wrong opcode";
    if (wc->byte_len != send->bytes)
        return "wrong length";
    for (uint32_t i = queue->seen; i <= index; i++) /* acknowledged: so it is there */
        sim_check_message(sim, host->side, q, i);
    return NULL;
}

static const char *send_error(const struct sim *sim, const struct sim_host *host, uint32_t q,
                              const struct rnic_wc *wc)
{
    const struct sim_queue *queue = &host->queues[q];
    const struct sim_flow *flow = &sim->plan.flows[host->side][q];
    enum rnic_wc_status wanted = RNIC_WC_SUCCESS;

    if (queue->failed_at != SIM_NONE)
        return "a second error";
    switch (sim->plan.ending) {
    case SIM_ENDS_IN_SILENCE:
        return wc->status == RNIC_WC_RETRY_EXC_ERR ? NULL : "wrong error";
    case SIM_ENDS_REFUSED: /* the NAK may be lost, and a failed peer says nothing more */
        wanted = RNIC_WC_REM_ACCESS_ERR;
        if (wc->status == RNIC_WC_RETRY_EXC_ERR && !sim->plan.faultless &&
            (uint32_t)wc->wr_id <= flow->fails_at)
            return NULL;
        break;
    case SIM_ENDS_NOT_READY:
        wanted = RNIC_WC_RNR_RETRY_EXC_ERR;
        break;
    case SIM_ENDS_LOCAL:
        wanted = RNIC_WC_LOC_PROT_ERR;
        break;
    case SIM_ENDS_WELL:
        break;
    }
    if (flow->fails_at == SIM_NONE)
        return "error nobody made";
    if (wc->status != wanted)
        return "wrong error";
    return (uint32_t)wc->wr_id == flow->fails_at ? NULL : "it is another one that fails";
}

static const char *send_completed(struct sim *sim, struct sim_host *host, uint32_t q,
                                  const struct rnic_wc *wc)
{
    const struct sim_flow *flow = &sim->plan.flows[host->side][q];
    struct sim_queue *queue = &host->queues[q];
    uint32_t index = (uint32_t)wc->wr_id;
    const char *why;

    if (index >= queue->posted)
        return "never posted";
    if (index < queue->seen)
        return "completed before";
    if (wc->status == RNIC_WC_WR_FLUSH_ERR) {
        why = queue->failed_at == SIM_NONE ? "flushed without an error" : NULL;
        if (why == NULL && index != queue->seen)
            why = "flushed out of order";
    } else {
        for (uint32_t i = queue->seen; i < index; i++)
            if (flow->sends[i].signaled)
                return "one before it is missing";
        why = wc->status == RNIC_WC_SUCCESS ? send_success(sim, host, q, wc)
                                            : send_error(sim, host, q, wc);
        if (wc->status != RNIC_WC_SUCCESS) {
            queue->failed_at = index;
            queue->retries_ended =
                wc->status == RNIC_WC_RETRY_EXC_ERR || wc->status == RNIC_WC_RNR_RETRY_EXC_ERR;
        }
    }
    queue->seen = index + 1;
    if (queue->send_ps == WIRE_NEVER && queue->posted < flow->n_sends)
        queue->send_ps = sim->now_ps; /* there is room again */
    return why;
}

/* ---- receives ---- */

static const char *recv_success(struct sim *sim, const struct sim_host *host, uint32_t q,
                                const struct rnic_wc *wc)
{
    const struct sim_flow *flow = &sim->plan.flows[1 - host->side][q];
    const struct sim_queue *queue = &host->queues[q];
    uint32_t index = (uint32_t)wc->wr_id;
    const struct sim_send *send;
    bool imm;

    if (queue->recv_done != index)
        return "success after a flush";
    if (index >= flow->used_recvs)
        return "nothing was sent for it";
    send = &flow->sends[flow->recvs[index].send];
    imm = sim_plan_has_imm(send->opcode);
    if (wc->opcode != (sim_plan_is_write(send->opcode) ? RNIC_WC_RECV_RDMA_WITH_IMM : RNIC_WC_RECV))
        return "wrong opcode";
    if (wc->byte_len != send->bytes)
        return "wrong length";
    if (((wc->wc_flags & RNIC_WC_WITH_IMM) != 0) != imm || (imm && wc->imm != send->imm))
        return "wrong immediate";
    sim_check_message(sim, 1 - host->side, q, flow->recvs[index].send);
    return NULL;
}

static const char *recv_completed(struct sim *sim, struct sim_host *host, uint32_t q,
                                  const struct rnic_wc *wc)
{
    const struct sim_flow *flow = &sim->plan.flows[1 - host->side][q];
    struct sim_queue *queue = &host->queues[q];
    uint32_t index = (uint32_t)wc->wr_id;
    const char *why = NULL;

    if (index >= queue->recv_posted)
        return "never posted";
    if (index != queue->recv_seen)
        return index < queue->recv_seen ? "completed before" : "one before it is missing";
    if (wc->status == RNIC_WC_SUCCESS) {
        why = recv_success(sim, host, q, wc);
        queue->recv_done++;
    } else if (wc->status != RNIC_WC_WR_FLUSH_ERR) {
        why = "error nobody made";
    } else if (sim->plan.ending == SIM_ENDS_WELL) {
        why = "flushed without an error";
    }
    queue->recv_seen++;
    if (queue->recv_ps == WIRE_NEVER && queue->recv_posted < flow->n_recvs)
        queue->recv_ps = sim->now_ps;
    return why;
}

/* ---- both ---- */

static void complete_hash(struct sim *sim, const struct sim_host *host, const struct rnic_wc *wc)
{
    sim_hash(&sim->hash, sim->ended ? host->side : sim->now_ps << 1 | host->side);
    sim_hash(&sim->hash, wc->wr_id);
    sim_hash(&sim->hash, (uint64_t)wc->status << 32 | wc->qp_num);
    if (wc->status != RNIC_WC_SUCCESS)
        return;
    sim_hash(&sim->hash, (uint64_t)wc->byte_len << 32 | wc->imm);
    sim_hash(&sim->hash, (uint64_t)wc->opcode << 32 | wc->wc_flags);
}

void sim_host_completed(struct sim_host *host, const struct rnic_wc *wc)
{
    struct sim *sim = host->sim;
    uint32_t q = (uint32_t)wr_queue(wc->wr_id);
    const char *why;

    complete_hash(sim, host, wc);
    sim->seen.flushes += wc->status == RNIC_WC_WR_FLUSH_ERR;
    sim_say(sim, "%s qp %u %s %u: %s", sim_side_name(host->side), q,
            wc->wr_id >> 63 ? "receive" : "send", (uint32_t)wc->wr_id,
            rnic_wc_status_name(wc->status));
    if (q >= sim->plan.n_qps || wc->qp_num != host->queues[q].qpn) {
        complete_wrong(sim, host, q, wc, "no work request of this queue pair");
        return;
    }
    why = wc->wr_id >> 63 ? recv_completed(sim, host, q, wc) : send_completed(sim, host, q, wc);
    if (why != NULL)
        complete_wrong(sim, host, q, wc, why);
}

bool sim_host_done(const struct sim_host *host)
{
    const struct sim_plan *plan = &host->sim->plan;

    for (uint32_t q = 0; q < plan->n_qps; q++) {
        const struct sim_queue *queue = &host->queues[q];

        if (queue->seen != plan->flows[host->side][q].n_sends)
            return false;
        if (plan->ending == SIM_ENDS_WELL &&
            queue->recv_seen != plan->flows[1 - host->side][q].used_recvs)
            return false;
    }
    return true;
}
