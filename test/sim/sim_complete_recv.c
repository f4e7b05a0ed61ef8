/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every completion of a receive against the plan. A reliable connection's receives are those of
 * its sends, in order; what an unreliable one brings is found by its words and bytes.
 */
#include "sim.h"

#include <string.h>

/* ---- words ---- */

static const char *recv_words(const struct sim_host *host, uint32_t q, const struct sim_send *send,
                              const struct rnic_wc *wc, uint32_t skip)
{
    bool imm = sim_plan_has_imm(send->opcode), inv = send->opcode == RNIC_WR_SEND_WITH_INV;

    if (wc->opcode != (sim_plan_is_write(send->opcode) ? RNIC_WC_RECV_RDMA_WITH_IMM : RNIC_WC_RECV))
        return "wrong opcode";
    if (wc->byte_len != send->bytes + skip)
        return "wrong length";
    if (((wc->wc_flags & RNIC_WC_WITH_IMM) != 0) != imm || (imm && wc->imm != send->imm))
        return "wrong immediate";
    if (((wc->wc_flags & RNIC_WC_GRH) != 0) != (skip > 0))
        return "wrong GRH flag";
    if (((wc->wc_flags & RNIC_WC_WITH_INV) != 0) != inv ||
        (inv && wc->invalidated_rkey != host->window_key[q]))
        return "wrong key invalidated";
    return NULL;
}

/* ---- reliable ---- */

static const char *recv_reliable(struct sim *sim, struct sim_host *host, uint32_t q,
                                 const struct rnic_wc *wc, const struct sim_recv *recv)
{
    static uint8_t message[SIM_MESSAGE_MAX];
    const struct sim_flow *flow = &sim->plan.flows[1 - host->side][q];
    uint32_t i = 0;
    const char *why;

    while (i < flow->n_sends && flow->sends[i].consumer != host->queues[q].recv_done)
        i++;
    if (i == flow->n_sends || i >= sim->hosts[1 - host->side].queues[q].posted)
        return "nothing was sent for it";
    host->solicited = flow->sends[i].solicited;
    why = recv_words(host, q, &flow->sends[i], wc, 0);
    if (why != NULL || sim_plan_is_write(flow->sends[i].opcode)) {
        if (why == NULL)
            sim_check_message(sim, 1 - host->side, q, i);
        return why;
    }
    sim_model_gather(sim, 1 - host->side, &flow->sends[i], message);
    sim_check_received(sim, host->side, recv, 0, message, flow->sends[i].bytes);
    sim_model_receive(sim, host->side, recv, 0, message, flow->sends[i].bytes);
    return NULL;
}

/* ---- unreliable ---- */

/* Do these bytes lie in a receive, behind its first `skip`? */
static bool recv_holds(const struct sim *sim, uint32_t side, const struct sim_recv *recv,
                       uint32_t skip, const uint8_t *message, uint32_t bytes)
{
    for (uint32_t p = 0; p < recv->n && bytes > 0; p++) {
        uint32_t over = recv->to[p].bytes < skip ? recv->to[p].bytes : skip;
        uint32_t n = recv->to[p].bytes - over < bytes ? recv->to[p].bytes - over : bytes;

        if (!sim->plan.phantom &&
            memcmp(sim->hosts[side].memory + recv->to[p].at + over, message, n) != 0)
            return false;
        skip -= over;
        message += n;
        bytes -= n;
    }
    return bytes == 0;
}

/* May the line bring a frame twice, or one behind another? */
static bool recv_disorder(const struct sim *sim)
{
    const struct sim_link_plan *link = &sim->plan.link;

    return !sim->plan.fabric.used &&
           (link->scripted || link->chance[SIM_FAULT_TWICE] > 0 ||
            link->chance[SIM_FAULT_LATE] > 0 || link->chance[SIM_FAULT_STALL] > 0);
}

static bool recv_fits(struct sim *sim, struct sim_host *host, uint32_t q, uint32_t from,
                      uint32_t index, const struct rnic_wc *wc, const struct sim_recv *recv)
{
    static uint8_t message[SIM_MESSAGE_MAX];
    const struct sim_send *send = &sim->plan.flows[1 - host->side][from].sends[index];
    uint32_t skip = sim->plan.qps[q].type == RNIC_QPT_UD ? RNIC_GRH_BYTES : 0;

    if (send->consumer == SIM_NONE || send->bad_qkey || (skip > 0 && send->dest != q) ||
        recv_words(host, q, send, wc, skip) != NULL)
        return false;
    sim_model_gather(sim, 1 - host->side, send, message);
    if (sim_plan_is_write(send->opcode)) {
        if (!sim->plan.phantom &&
            memcmp(sim->hosts[host->side].memory + send->remote, message, send->bytes) != 0)
            return false;
    } else {
        if (!recv_holds(sim, host->side, recv, skip, message, send->bytes))
            return false;
        for (uint32_t p = 0, left = skip; p < recv->n && left > 0;
             p++) { /* what a GRH looks like */
            uint32_t n = recv->to[p].bytes < left ? recv->to[p].bytes : left;

            memcpy(sim->plan.cards[host->side].after + recv->to[p].at,
                   sim->hosts[host->side].memory + recv->to[p].at, n);
            left -= n;
        }
        sim_model_receive(sim, host->side, recv, skip, message, send->bytes);
    }
    return true;
}

/*
 * The first send behind the last that came through and fits; when the line brings things twice or
 * late also one before it, and one that came already.
 */
static const char *recv_unreliable(struct sim *sim, struct sim_host *host, uint32_t q,
                                   const struct rnic_wc *wc, const struct sim_recv *recv)
{
    bool datagram = sim->plan.qps[q].type == RNIC_QPT_UD;
    uint32_t from = datagram ? sim_host_find(&sim->hosts[1 - host->side], wc->src_qp) : q;
    struct sim_progress *progress;
    uint32_t posted;

    if (from == SIM_NONE)
        return "from a queue pair nobody has";
    progress = &sim->progress[1 - host->side][from];
    posted = sim->hosts[1 - host->side].queues[from].posted;
    for (uint32_t pass = 0; pass < (recv_disorder(sim) ? 3u : 1u); pass++)
        for (uint32_t i = pass == 0 && !datagram ? progress->last : 0; i < posted; i++) {
            if (pass < 2 && (progress->arrived >> i & 1) != 0)
                continue;
            if (!recv_fits(sim, host, q, from, i, wc, recv))
                continue;
            progress->arrived |= 1u << i;
            progress->last = i + 1;
            return NULL;
        }
    return "no message like this was sent, or it came before";
}

/* Place of a byte of a receive. */
static uint32_t recv_byte(const struct sim_recv *recv, uint32_t byte)
{
    uint32_t p = 0;

    for (; byte >= recv->to[p].bytes; p++)
        byte -= recv->to[p].bytes;
    return recv->to[p].at + byte;
}

static const char *recv_unreliable_spoiled(struct sim *sim, struct sim_host *host, uint32_t q,
                                           const struct rnic_wc *wc, const struct sim_recv *recv)
{
    uint32_t skip = sim->plan.qps[q].type == RNIC_QPT_UD ? RNIC_GRH_BYTES : 0;
    bool data = wc->opcode == RNIC_WC_RECV && wc->byte_len >= skip + 8 && !sim->plan.phantom;
    const char *why;

    if (data && sim->spoil == SIM_SPOIL_PART) {
        sim->spoil_in = 0; /* there are few */
        if (sim_spoil_now(sim, SIM_SPOIL_PART))
            host->memory[recv_byte(recv, skip)] ^= 2;
    }
    why = recv_unreliable(sim, host, q, wc, recv);
    if (why != NULL || !data || recv_disorder(sim) || sim->spoil != SIM_SPOIL_DATAGRAM)
        return why;
    sim->spoil_in = 0;
    return sim_spoil_now(sim, SIM_SPOIL_DATAGRAM) ? recv_unreliable(sim, host, q, wc, recv) : NULL;
}

/* ---- all ---- */

static const char *recv_success(struct sim *sim, struct sim_host *host, uint32_t q,
                                const struct rnic_wc *wc)
{
    uint32_t p = sim_plan_pool(&sim->plan, host->side, q), index = (uint32_t)wc->wr_id;
    const struct sim_recv *recv = &sim->plan.pools[host->side][p].recvs[index];
    struct sim_queue *queue = &host->queues[q];
    const char *why;

    if (queue->flushed && p != SIM_SHARED && queue->recv_failed > 0)
        return "success after an error";
    why = sim->plan.qps[q].type == RNIC_QPT_RC ? recv_reliable(sim, host, q, wc, recv)
                                               : recv_unreliable_spoiled(sim, host, q, wc, recv);
    queue->recv_done++;
    host->recvs[p].state[index] = SIM_RECV_DONE;
    host->recvs[p].bytes[index] = wc->opcode == RNIC_WC_RECV ? wc->byte_len : 0;
    return why;
}

/* May a receive of this queue pair end in an error of its own? */
static const char *recv_error(struct sim *sim, struct sim_host *host, uint32_t q,
                              enum rnic_wc_status status)
{
    const struct sim_qp *qp = &sim->plan.qps[q];
    struct sim_queue *queue = &host->queues[q];
    bool of_peer = qp->failing != host->side;

    if (qp->type == RNIC_QPT_UC && qp->shared[host->side] && status == RNIC_WC_LOC_QP_OP_ERR)
        return NULL; /* its message is lost, and the shared queue does not take it back */
    queue->recv_failed++;
    if (queue->recv_failed > 1)
        return "a second error";
    if (qp->ending == SIM_ENDS_TOO_LONG && of_peer)
        return status == RNIC_WC_LOC_LEN_ERR ? NULL : "wrong error";
    if (qp->ending == SIM_ENDS_RECV_KEY && of_peer)
        return status == RNIC_WC_LOC_PROT_ERR ? NULL : "wrong error";
    if (qp->incident.kind == SIM_INCIDENT_NO_SLOTS && queue->broken)
        return status == RNIC_WC_LOC_PROT_ERR ? NULL : "wrong error";
    return "error nobody made";
}

const char *sim_recv_completed(struct sim *sim, struct sim_host *host, uint32_t q,
                               const struct rnic_wc *wc)
{
    uint32_t p = sim_plan_pool(&sim->plan, host->side, q), index = (uint32_t)wc->wr_id;
    struct sim_recvs *recvs = &host->recvs[p];
    const char *why = NULL;

    if (index >= recvs->posted)
        return "never posted";
    if (recvs->state[index] != SIM_RECV_POSTED)
        return "completed before";
    if (p != SIM_SHARED && index != recvs->seen)
        return "one before it is missing";
    recvs->state[index] = SIM_RECV_FLUSHED;
    recvs->seen++;
    if (wc->status == RNIC_WC_SUCCESS)
        return recv_success(sim, host, q, wc);
    if (wc->status != RNIC_WC_WR_FLUSH_ERR)
        why = recv_error(sim, host, q, wc->status);
    else if (host->queues[q].failed_at == SIM_NONE && !sim_expect_flush(sim, host->side, q))
        why = "flushed without an error";
    return why;
}
