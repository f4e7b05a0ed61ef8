/* SPDX-License-Identifier: GPL-2.0-only */
/* What a host posts: receives, sends, and what they wait for. */
#include "sim.h"
#include "sim_dice.h"

#include <stdlib.h>
#include <string.h>

static uint32_t post_rounded(uint32_t depth)
{
    uint32_t n = 1;

    while (n < depth)
        n *= 2;
    return n;
}

/* ---- receives ---- */

static int post_recv(struct sim_host *host, uint32_t p)
{
    const struct sim_pool *pool = &host->sim->plan.pools[host->side][p];
    struct sim_recvs *recvs = &host->recvs[p];
    const struct sim_recv *recv = &pool->recvs[recvs->posted];
    struct rnic_sge sges[SIM_PIECES_MAX];
    struct rnic_recv_wr wr = {
        .wr_id = UINT64_C(1) << 63 | (uint64_t)p << 32 | recvs->posted,
        .sg_list = sges,
        .num_sge = recv->n,
    };
    int err;

    for (uint32_t i = 0; i < recv->n; i++)
        sges[i] = (struct rnic_sge){.addr = pool->slots.va + (recv->to[i].at - pool->slots.at),
                                    .length = recv->to[i].bytes,
                                    .lkey = recv->bad_key ? host->dead_key : host->slots_key[p]};
    if (p == SIM_SHARED)
        err = rnic_post_srq_recv(host->dev, recvs->srq, &wr, host->sim->now_ps);
    else
        err = rnic_post_recv(host->dev, host->queues[p].qpn, &wr, host->sim->now_ps);
    memset(sges, 0xEE, sizeof sges); /* the list is the caller's again */
    return err;
}

/* Is there room in the queue, as we count? */
static bool post_recv_room(struct sim_host *host, uint32_t p)
{
    const struct sim_pool *pool = &host->sim->plan.pools[host->side][p];
    const struct sim_recvs *recvs = &host->recvs[p];
    uint32_t queued;

    if (recvs->posted == pool->n)
        return false;
    if (p < SIM_SHARED)
        return recvs->posted - recvs->seen < pool->depth;
    sim_host_want(host, rnic_query_srq(host->dev, recvs->srq, NULL, &queued), "query_srq");
    return queued < pool->depth;
}

void sim_post_recvs(struct sim_host *host, uint32_t p, uint64_t now_ps)
{
    const struct sim_pool *pool = &host->sim->plan.pools[host->side][p];
    struct sim_recvs *recvs = &host->recvs[p];
    bool late = recvs->posted >= pool->first;

    recvs->recv_ps = WIRE_NEVER;
    while (!host->sim->failed && post_recv_room(host, p) &&
           !(p < SIM_SHARED && host->queues[p].gone)) {
        int err = post_recv(host, p);

        if (p == SIM_SHARED && err == RNIC_ERR_FULL &&
            recvs->posted - recvs->seen >= post_rounded(pool->depth))
            return; /* the card keeps slots until they are polled */
        sim_host_want(host, err, "post_recv");
        sim_say(host->sim, "%s pool %u: receive %u posted", sim_side_name(host->side), p,
                recvs->posted);
        recvs->state[recvs->posted++] = SIM_RECV_POSTED;
        if (recvs->posted < pool->n && (late || recvs->posted == pool->first)) {
            recvs->recv_ps = now_ps + 1 + sim_dice_between(&host->rng, 0, pool->gap_ps);
            return;
        }
    }
}

/* ---- sends ---- */

/* What a refused request does wrong. */
static void post_refused(const struct sim_host *peer, const struct sim_plan *plan, uint32_t q,
                         struct rnic_send_wr *wr, uint32_t bytes)
{
    const struct sim_qp *qp = &plan->qps[q];
    const struct sim_card *card = &plan->cards[peer->side];
    const struct sim_flow *flow = &plan->flows[1 - peer->side][q];
    bool atomic = sim_plan_is_atomic(wr->opcode);

    switch (qp->refusal) {
    case SIM_BAD_RKEY:
        wr->rkey = peer->dead_key;
        break;
    case SIM_BAD_WINDOW:
        wr->rkey = peer->loose_window;
        break;
    case SIM_BAD_BOUNDS: /* one byte too far */
        wr->remote_addr = atomic ? card->words.va + card->words.bytes
                                 : flow->target.va + flow->target.bytes - bytes + 1;
        break;
    case SIM_BAD_ACCESS:
        wr->rkey = atomic                          ? peer->target_key[q]
                   : sim_plan_is_write(wr->opcode) ? peer->source_key[q]
                                                   : peer->words_key;
        wr->remote_addr = atomic                          ? (flow->target.va + 7) & ~UINT64_C(7)
                          : sim_plan_is_write(wr->opcode) ? card->source.va
                                                          : card->words.va;
        break;
    default:
        wr->remote_addr += 4;
        break;
    }
}

static void post_remote(struct sim_host *host, uint32_t q, const struct sim_send *send,
                        struct rnic_send_wr *wr)
{
    const struct sim_plan *plan = &host->sim->plan;
    const struct sim_host *peer = &host->sim->hosts[1 - host->side];
    const struct sim_card *card = &plan->cards[peer->side];
    const struct sim_flow *flow = &plan->flows[host->side][q];
    bool fails = host->queues[q].posted == flow->fails_at;

    if (sim_plan_is_atomic(send->opcode)) {
        wr->rkey = peer->words_key;
        wr->remote_addr = card->words.va + 8 * send->remote;
        wr->atomic.compare_add = send->add;
        wr->atomic.swap = send->swap;
    } else if (send->opcode == RNIC_WR_RDMA_READ && !send->reads_target) {
        wr->rkey = peer->source_key[q];
        wr->remote_addr = card->source.va + (send->remote - card->source.at);
    } else if (sim_plan_is_write(send->opcode) || send->opcode == RNIC_WR_RDMA_READ) {
        wr->rkey = send->via_window ? peer->window_key[q] : peer->target_key[q];
        wr->remote_addr = flow->target.va + (send->remote - flow->target.at);
    } else if (send->opcode == RNIC_WR_SEND_WITH_INV) {
        wr->invalidate_rkey = peer->window_key[q];
    }
    if (fails && plan->qps[q].ending == SIM_ENDS_REFUSED)
        post_refused(peer, plan, q, wr, send->bytes);
}

static void post_local(struct sim_host *host, uint32_t q, const struct sim_send *send,
                       struct rnic_send_wr *wr)
{
    const struct sim_flow *in = &host->sim->plan.flows[1 - host->side][q];
    bool fails = host->queues[q].posted == host->sim->plan.flows[host->side][q].fails_at;

    if (send->opcode == RNIC_WR_LOCAL_INV) {
        wr->invalidate_rkey = host->window_key[q];
        return;
    }
    wr->bind_mw.mw = host->window_key[q];
    wr->bind_mw.mr = host->target_key[q];
    wr->bind_mw.addr = in->target.va;
    wr->bind_mw.length = send->unbinds ? 0 : in->target.bytes;
    wr->bind_mw.access = RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ;
    if (fails) { /* a region of no windows */
        wr->bind_mw.mw = host->loose_window;
        wr->rkey = host->loose_window ^ 1;
        return;
    }
    wr->rkey = (host->window_key[q] & ~0xFFu) | ((host->window_key[q] + 1) & 0xFF);
}

/* Last piece with a byte in it. */
static uint32_t post_last_piece(const struct sim_send *send)
{
    uint32_t i = send->n;

    while (i > 0 && send->piece[i - 1].bytes == 0)
        i--;
    return i - 1;
}

/* The list: inline bytes are copied to `own` first, which the caller spoils after the call. */
static void post_list(struct sim_host *host, uint32_t q, const struct sim_send *send,
                      struct rnic_sge *sges, uint8_t *own)
{
    const struct sim_plan *plan = &host->sim->plan;
    const struct sim_flow *flow = &plan->flows[host->side][q];
    bool fetches = sim_plan_fetches(send->opcode);
    const struct sim_region *region = fetches ? &flow->results : &plan->cards[host->side].source;
    bool bad = host->queues[q].posted == flow->fails_at && plan->qps[q].ending == SIM_ENDS_LOCAL;

    for (uint32_t i = 0; i < send->n; i++) {
        sges[i] = (struct rnic_sge){.addr = region->va + (send->piece[i].at - region->at),
                                    .length = send->piece[i].bytes,
                                    .lkey = fetches ? host->results_key[q] : host->source_key[q]};
        if (bad && i == post_last_piece(send))
            sges[i].lkey = host->dead_key;
        if (!send->inlined)
            continue;
        memcpy(own, host->memory + send->piece[i].at, send->piece[i].bytes);
        sges[i].addr = plan->phantom ? 0 : (uintptr_t)own;
        sges[i].lkey = 0xDEADu;
        own += send->piece[i].bytes;
    }
}

static unsigned post_flags(const struct sim_flow *flow, const struct sim_send *send)
{
    return (send->signaled && !flow->sig_all ? RNIC_SEND_SIGNALED : 0u) |
           (send->solicited ? RNIC_SEND_SOLICITED : 0u) | (send->fence ? RNIC_SEND_FENCE : 0u) |
           (send->inlined ? RNIC_SEND_INLINE : 0u);
}

static int post_send(struct sim_host *host, uint32_t q)
{
    static uint8_t own[SIM_MESSAGE_MAX];
    struct sim *sim = host->sim;
    const struct sim_flow *flow = &sim->plan.flows[host->side][q];
    struct sim_queue *queue = &host->queues[q];
    const struct sim_send *send = &flow->sends[queue->posted];
    struct rnic_sge sges[SIM_PIECES_MAX];
    struct rnic_send_wr wr = {
        .wr_id = (uint64_t)q << 32 | queue->posted,
        .opcode = send->opcode,
        .send_flags = post_flags(flow, send),
        .sg_list = sges,
        .num_sge = send->n,
    };
    struct rnic_av av = sim_host_av(host, q);
    int err;

    if (sim_plan_has_imm(send->opcode))
        wr.imm = send->imm;
    post_list(host, q, send, sges, own);
    if (sim_plan_is_local(send->opcode))
        post_local(host, q, send, &wr);
    else
        post_remote(host, q, send, &wr);
    if (sim->plan.qps[q].type == RNIC_QPT_UD) {
        do
            err = rnic_create_ah(host->dev, host->pd, &av, &wr.ud.ah, sim->now_ps);
        while (sim_host_again(host, err));
        sim_host_want(host, err, "create_ah");
        wr.ud.remote_qpn = sim->hosts[1 - host->side].queues[send->dest].qpn;
        wr.ud.remote_qkey = SIM_QKEY + send->dest + (send->bad_qkey ? 64 : 0);
    }
    err = rnic_post_send(host->dev, queue->qpn, &wr, sim->now_ps);
    memset(sges, 0xEE, sizeof sges);
    if (send->inlined)
        memset(own, 0xEE, send->bytes);
    if (sim->plan.qps[q].type == RNIC_QPT_UD)
        sim_host_want(host, rnic_destroy_ah(host->dev, wr.ud.ah, sim->now_ps), "destroy_ah");
    if (err == 0 && send->opcode == RNIC_WR_BIND_MW && queue->posted != flow->fails_at)
        host->window_key[q] = wr.rkey; /* the peer uses it once it is bound */
    return err;
}

/* Must the next send wait for the other side? */
static bool post_gated(const struct sim_host *host, uint32_t q)
{
    const struct sim_plan *plan = &host->sim->plan;
    const struct sim_queue *queue = &host->queues[q];
    const struct sim_queue *peer = &host->sim->hosts[1 - host->side].queues[q];
    const struct sim_flow *flow = &plan->flows[host->side][q],
                          *in = &plan->flows[1 - host->side][q];

    if (flow->sends[queue->posted].via_window)
        return peer->seen <= flow->window.bound_at;
    if (!in->window.used || queue->posted != in->window.ended_at)
        return false;
    for (uint32_t i = peer->seen; i < in->n_sends; i++)
        if (in->sends[i].via_window)
            return true;
    return false;
}

/* Post one send, or learn that there is no room: the card must agree with our count. */
static bool post_try(struct sim_host *host, uint32_t q)
{
    const struct sim_flow *flow = &host->sim->plan.flows[host->side][q];
    struct sim_queue *queue = &host->queues[q];
    uint32_t open = queue->posted - queue->seen;
    bool full = open >= post_rounded(flow->sq_depth);
    enum rnic_qp_state state = sim_host_state(host, q);
    int err;

    if (full && (state == RNIC_QPS_ERR || state == RNIC_QPS_SQE))
        return false; /* it would take it; our own CQ would not */
    if (post_gated(host, q)) {
        queue->blocked = true;
        return false;
    }
    err = post_send(host, q);
    if (full) {
        if (err != RNIC_ERR_FULL)
            sim_fail(host->sim, "%s qp %u: post_send with %u open says %s, not FULL",
                     sim_side_name(host->side), q, open, rnic_err_name(err));
        return false;
    }
    sim_host_want(host, err, "post_send");
    sim_say(host->sim, "%s qp %u: send %u posted", sim_side_name(host->side), q, queue->posted);
    queue->posted++;
    return true;
}

void sim_post_sends(struct sim_host *host, uint32_t q, uint64_t now_ps)
{
    const struct sim_flow *flow = &host->sim->plan.flows[host->side][q];
    struct sim_queue *queue = &host->queues[q];

    if (!queue->ready)
        sim_host_rts(host, q);
    queue->send_ps = WIRE_NEVER;
    while (queue->posted < flow->n_sends && !queue->gone && !host->sim->failed) {
        if (!post_try(host, q))
            return; /* a completion makes room */
        if (flow->send_gap_ps > 0 && queue->posted < flow->n_sends) {
            queue->send_ps = now_ps + sim_dice_between(&host->rng, 1, flow->send_gap_ps);
            return;
        }
    }
}
