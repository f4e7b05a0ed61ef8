/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every completion of a send against the plan: the right work request, once, in order, with the
 * right words, and not before its bytes are in memory.
 */
#include "sim.h"

static void complete_wrong(struct sim *sim, const struct sim_host *host, uint32_t q,
                           const struct rnic_wc *wc, const char *why)
{
    bool failed = sim->failed;

    sim_fail(sim, "%s qp %u %s %u: %s (status %s, opcode %u, %u bytes, imm 0x%x, flags %u)",
             sim_side_name(host->side), q, wc->wr_id >> 63 ? "receive" : "send",
             (uint32_t)wc->wr_id, why, rnic_wc_status_name(wc->status), (unsigned)wc->opcode,
             wc->byte_len, wc->imm, wc->wc_flags);
    if (!failed)
        sim->kind = why;
}

/* ---- sends ---- */

static enum rnic_wc_opcode send_wc_opcode(enum rnic_wr_opcode opcode)
{
    switch (opcode) {
    case RNIC_WR_RDMA_WRITE:
    case RNIC_WR_RDMA_WRITE_WITH_IMM:
        return RNIC_WC_RDMA_WRITE;
    case RNIC_WR_RDMA_READ:
        return RNIC_WC_RDMA_READ;
    case RNIC_WR_ATOMIC_CMP_AND_SWP:
        return RNIC_WC_COMP_SWAP;
    case RNIC_WR_ATOMIC_FETCH_AND_ADD:
        return RNIC_WC_FETCH_ADD;
    case RNIC_WR_LOCAL_INV:
        return RNIC_WC_LOCAL_INV;
    case RNIC_WR_BIND_MW:
        return RNIC_WC_BIND_MW;
    default:
        return RNIC_WC_SEND;
    }
}

/* For the sums: what has come through. */
static void send_seen(struct sim *sim, uint32_t side, uint32_t q, const struct sim_send *send)
{
    struct sim_seen *seen = &sim->seen;
    uint64_t *const by_opcode[] = {
        &seen->write,        &seen->write_imm, &seen->send,      &seen->send_imm, &seen->read,
        &seen->compare_swap, &seen->fetch_add, &seen->local_inv, &seen->bind,     &seen->send_inv};
    enum rnic_qp_type type = sim->plan.qps[q].type;

    if (type == RNIC_QPT_RC)
        (*by_opcode[send->opcode])++;
    seen->uc += type == RNIC_QPT_UC;
    seen->ud += type == RNIC_QPT_UD;
    seen->fenced += send->fence;
    seen->inlined += send->inlined && send->bytes > 0;
    seen->empty += send->packets > 0 && send->bytes == 0;
    seen->scattered += send->n > 1;
    seen->unsignaled += !send->signaled;
    seen->via_window += send->via_window;
    seen->shared += send->consumer != SIM_NONE && sim->plan.qps[q].shared[1 - side];
}

/* The sends before `end` that were not accounted for have come through. */
static void send_through(struct sim *sim, const struct sim_host *host, uint32_t q, uint32_t end)
{
    const struct sim_flow *flow = &sim->plan.flows[host->side][q];

    for (uint32_t i = host->queues[q].seen; i < end; i++) {
        send_seen(sim, host->side, q, &flow->sends[i]);
        sim_check_message(sim, host->side, q, i);
        sim->progress[host->side][q].through |= 1u << i;
    }
}

static const char *send_success(struct sim *sim, const struct sim_host *host, uint32_t q,
                                const struct rnic_wc *wc)
{
    const struct sim_flow *flow = &sim->plan.flows[host->side][q];
    const struct sim_queue *queue = &host->queues[q];
    uint32_t index = (uint32_t)wc->wr_id;
    const struct sim_send *send = &flow->sends[index];

    if (queue->failed_at != SIM_NONE)
        return "success after an error";
    if (!send->signaled)
        return "nobody asked for it";
    if (index >= flow->fails_at)
        return "success, and one had to fail";
    if (wc->opcode != send_wc_opcode(send->opcode))
        return "wrong opcode";
    if (wc->byte_len != send->bytes)
        return "wrong length";
    send_through(sim, host, q, index + 1); /* acknowledged: so it is there */
    return NULL;
}

static void error_seen(struct sim_seen *seen, enum rnic_wc_status status)
{
    seen->rem_access += status == RNIC_WC_REM_ACCESS_ERR;
    seen->rem_inv_req += status == RNIC_WC_REM_INV_REQ_ERR;
    seen->rem_op += status == RNIC_WC_REM_OP_ERR;
    seen->loc_prot += status == RNIC_WC_LOC_PROT_ERR;
    seen->loc_len += status == RNIC_WC_LOC_LEN_ERR;
    seen->mw_bind += status == RNIC_WC_MW_BIND_ERR;
    seen->retry_exc += status == RNIC_WC_RETRY_EXC_ERR;
    seen->rnr_retry_exc += status == RNIC_WC_RNR_RETRY_EXC_ERR;
    seen->flushes += status == RNIC_WC_WR_FLUSH_ERR;
}

static const char *send_flushed(struct sim *sim, struct sim_host *host, uint32_t q, uint32_t index)
{
    struct sim_queue *queue = &host->queues[q];

    for (uint32_t i = queue->seen; i < index; i++)
        if (queue->failed_at != SIM_NONE || queue->flushed ||
            sim->plan.flows[host->side][q].sends[i].signaled)
            return "flushed out of order";
    send_through(sim, host, q, index); /* nobody asked for them, and they are done */
    if (queue->failed_at == SIM_NONE && !sim_expect_flush(sim, host->side, q))
        return "flushed without an error";
    queue->flushed = true;
    return NULL;
}

static const char *send_done(struct sim *sim, struct sim_host *host, uint32_t q,
                             const struct rnic_wc *wc)
{
    const struct sim_flow *flow = &sim->plan.flows[host->side][q];
    struct sim_queue *queue = &host->queues[q];
    uint32_t index = (uint32_t)wc->wr_id;

    for (uint32_t i = queue->seen; i < index; i++)
        if (flow->sends[i].signaled)
            return "one before it is missing";
    if (queue->flushed)
        return "done after a flush";
    if (wc->status == RNIC_WC_SUCCESS)
        return send_success(sim, host, q, wc);
    if (queue->failed_at != SIM_NONE)
        return "a second error";
    send_through(sim, host, q, index);
    queue->failed_at = index;
    queue->failed_with = wc->status;
    return sim_expect_error(sim, host->side, q, index, wc->status);
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
    why = wc->status == RNIC_WC_WR_FLUSH_ERR ? send_flushed(sim, host, q, index)
                                             : send_done(sim, host, q, wc);
    queue->seen = index + 1;
    if (queue->send_ps == WIRE_NEVER && queue->posted < flow->n_sends)
        queue->send_ps = sim->now_ps; /* there is room again */
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

/* Whoever waits for something may go on now. */
static void complete_wake(struct sim *sim, struct sim_host *host)
{
    for (uint32_t s = 0; s < SIM_SIDES; s++)
        for (uint32_t q = 0; q < sim->plan.n_qps; q++)
            if (sim->hosts[s].queues[q].blocked) {
                sim->hosts[s].queues[q].blocked = false;
                sim->hosts[s].queues[q].send_ps = sim->now_ps;
            }
    for (uint32_t p = 0; p < SIM_POOLS; p++)
        if (host->recvs[p].recv_ps == WIRE_NEVER &&
            host->recvs[p].posted < sim->plan.pools[host->side][p].n)
            host->recvs[p].recv_ps = sim->now_ps;
}

void sim_host_completed(struct sim_host *host, const struct rnic_wc *wc)
{
    struct sim *sim = host->sim;
    bool recv = wc->wr_id >> 63 != 0;
    uint32_t of = (uint32_t)((wc->wr_id & ~(UINT64_C(1) << 63)) >> 32);
    uint32_t q = sim_host_find(host, wc->qp_num);
    const char *why = "no work request of this queue pair";

    complete_hash(sim, host, wc);
    error_seen(&sim->seen, wc->status);
    sim_say(sim, "%s qp %u: %s %u: %s", sim_side_name(host->side), q, recv ? "receive" : "send",
            (uint32_t)wc->wr_id, rnic_wc_status_name(wc->status));
    if (q != SIM_NONE && recv && of == sim_plan_pool(&sim->plan, host->side, q))
        why = sim_recv_completed(sim, host, q, wc);
    else if (q != SIM_NONE && !recv && of == q)
        why = send_completed(sim, host, q, wc);
    if (why != NULL)
        complete_wrong(sim, host, q, wc, why);
    complete_wake(sim, host);
}
