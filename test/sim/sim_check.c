/* SPDX-License-Identifier: GPL-2.0-only */
/* What must be true of queue pairs, counters and cards when nothing moves any more. */
#include "sim.h"

/* ---- queue pairs ---- */

static void check_state(struct sim *sim, uint32_t side, uint32_t q)
{
    struct sim_host *host = &sim->hosts[side];
    const struct sim_queue *queue = &host->queues[q];
    enum rnic_qp_state state = sim_host_state(host, q), wanted = RNIC_QPS_RTS;
    bool killed = queue->broken && sim->plan.qps[q].incident.side == side &&
                  sim->plan.qps[q].incident.kind == SIM_INCIDENT_ERR;

    if (queue->failed_at != SIM_NONE)
        wanted = sim->plan.qps[q].type == RNIC_QPT_RC ? RNIC_QPS_ERR : RNIC_QPS_SQE;
    if (killed || queue->refusals + queue->invalids + queue->recv_failed > 0)
        wanted = RNIC_QPS_ERR;
    if (!queue->gone && state != wanted)
        sim_fail(sim, "%s qp %u: ends in state %d, not %d", sim_side_name(side), q, (int)state,
                 (int)wanted);
}

static void check_events(struct sim *sim, uint32_t side, uint32_t q)
{
    struct sim_host *host = &sim->hosts[side];
    const struct sim_queue *queue = &host->queues[q];
    const struct sim_qp *qp = &sim->plan.qps[q];
    const char *name = sim_side_name(side);
    const struct sim_queue *peer = &sim->hosts[1 - side].queues[q];
    bool told = queue->failed_at != SIM_NONE;

    if (queue->fatals > 0) /* a completion tells all that goes wrong here */
        sim_fail(sim, "%s qp %u: %u QP_FATAL events", name, q, queue->fatals);
    if (queue->refusals + queue->invalids > (qp->ending != SIM_ENDS_WELL))
        sim_fail(sim, "%s qp %u: refused %u times", name, q, queue->refusals + queue->invalids);
    if (told && queue->failed_with == RNIC_WC_REM_ACCESS_ERR && peer->refusals != 1)
        sim_fail(sim, "%s qp %u: was refused, and the peer has %u events", name, q, peer->refusals);
    if (told && queue->failed_with == RNIC_WC_REM_INV_REQ_ERR &&
        peer->invalids + peer->recv_failed != 1)
        sim_fail(sim, "%s qp %u: was invalid, and the peer has %u events, %u receives failed", name,
                 q, peer->invalids, peer->recv_failed);
    if (told && queue->failed_with == RNIC_WC_REM_OP_ERR && peer->recv_failed != 1)
        sim_fail(sim, "%s qp %u: REM_OP_ERR, and %u receives failed there", name, q,
                 peer->recv_failed);
    if (queue->drained != (queue->drains && qp->incident.notify))
        sim_fail(sim, "%s qp %u: %u SQ_DRAINED events", name, q, queue->drained);
    if (!queue->gone &&
        queue->last != (qp->shared[side] && sim_host_state(host, q) == RNIC_QPS_ERR))
        sim_fail(sim, "%s qp %u: %u LAST_WQE events", name, q, queue->last);
    sim->seen.last_events += queue->last;
    sim->seen.drain_events += queue->drained;
}

static void check_queue(struct sim *sim, uint32_t side, uint32_t q)
{
    struct sim_host *host = &sim->hosts[side];
    const struct sim_queue *queue = &host->queues[q];
    const struct sim_queue *peer = &sim->hosts[1 - side].queues[q];
    const struct sim_flow *flow = &sim->plan.flows[side][q];
    uint32_t done = queue->failed_at < queue->seen ? queue->failed_at : queue->seen;
    const char *name = sim_side_name(side);

    check_state(sim, side, q);
    check_events(sim, side, q);
    if (queue->gone)
        return;
    if (queue->seen != flow->n_sends)
        sim_fail(sim, "%s qp %u: %u sends posted, %u completed, of %u", name, q, queue->posted,
                 queue->seen, flow->n_sends);
    if (sim_expect_well(sim, side, q) && peer->recv_done != flow->consumers)
        sim_fail(sim, "%s qp %u: %u receives completed, %u messages", name, q, peer->recv_done,
                 flow->consumers);
    for (uint32_t i = 0; i < done && sim->plan.qps[q].type == RNIC_QPT_RC; i++)
        if (flow->sends[i].consumer != SIM_NONE && !queue->flushed && !peer->gone &&
            peer->recv_done <= flow->sends[i].consumer)
            sim_fail(sim, "%s qp %u send %u: its receive %u has not completed", name, q, i,
                     flow->sends[i].consumer);
    if (sim_host_state(host, q) == RNIC_QPS_ERR && !sim->plan.qps[q].shared[side] &&
        host->recvs[q].seen != host->recvs[q].posted)
        sim_fail(sim, "%s qp %u: %u receives posted, %u completed", name, q, host->recvs[q].posted,
                 host->recvs[q].seen);
}

/* Unreliable: what was lost, and that nothing is when nothing can be. */
static void check_lost(struct sim *sim, uint32_t side, uint32_t q)
{
    const struct sim_flow *flow = &sim->plan.flows[side][q];
    uint32_t lost = 0;

    for (uint32_t i = 0; i < sim->hosts[side].queues[q].seen; i++)
        lost += flow->sends[i].consumer != SIM_NONE && !(sim->progress[side][q].arrived >> i & 1);
    if (sim->plan.qps[q].type != RNIC_QPT_RC)
        sim->seen.unreliable_lost += lost;
}

static void check_shared(struct sim *sim, uint32_t side)
{
    struct sim_host *host = &sim->hosts[side];
    const struct sim_recvs *recvs = &host->recvs[SIM_SHARED];
    const struct sim_pool *pool = &sim->plan.pools[side][SIM_SHARED];
    struct rnic_srq_attr attr = {0};
    uint32_t queued = 0;

    sim_host_want(host, rnic_query_srq(host->dev, recvs->srq, &attr, &queued), "query_srq");
    sim->seen.limit_events += recvs->limits;
    if (recvs->limits > (uint32_t)recvs->armed)
        sim_fail(sim, "%s: %u SRQ_LIMIT events", sim_side_name(side), recvs->limits);
    if (recvs->armed && recvs->limits == 0 && queued < pool->limit)
        sim_fail(sim, "%s: no SRQ_LIMIT event, and %u are left, below %u", sim_side_name(side),
                 queued, pool->limit);
    if (recvs->armed && attr.limit != (recvs->limits > 0 ? 0 : pool->limit))
        sim_fail(sim, "%s: the limit is %u after %u events", sim_side_name(side), attr.limit,
                 recvs->limits);
    if (queued > recvs->posted - recvs->seen)
        sim_fail(sim, "%s: %u shared receives wait, of %u", sim_side_name(side), queued,
                 recvs->posted - recvs->seen);
}

/* ---- counters ---- */

static void check_retransmission(struct sim *sim, uint32_t side, uint32_t q,
                                 const struct rnic_qp_counters *own)
{
    const struct sim_plan *plan = &sim->plan;
    const struct sim_pool *pool = &plan->pools[1 - side][sim_plan_pool(plan, 1 - side, q)];
    bool late = pool->first < pool->n || pool->depth < pool->n;

    if (!plan->faultless || plan->fabric.used)
        return;
    if (own->timeouts > 0)
        sim_fail(sim, "%s qp %u: %ju timeouts, and nothing was lost", sim_side_name(side), q,
                 (uintmax_t)own->timeouts);
    if (!late && own->retransmitted_packets > 0)
        sim_fail(sim, "%s qp %u: %ju packets sent again, and nothing was lost", sim_side_name(side),
                 q, (uintmax_t)own->retransmitted_packets);
}

static void check_qp_counters(struct sim *sim, uint32_t side, uint32_t q)
{
    const struct sim_plan *plan = &sim->plan;
    const struct sim_flow *flow = &plan->flows[side][q];
    const char *name = sim_side_name(side);
    const struct sim_progress *progress = &sim->progress[side][q];
    uint64_t answers = sim->progress[1 - side][q].responses;
    struct rnic_qp_counters own = {0}, peer = {0};

    (void)rnic_query_qp(sim->hosts[side].dev, sim->hosts[side].queues[q].qpn, NULL, &own);
    (void)rnic_query_qp(sim->hosts[1 - side].dev, sim->hosts[1 - side].queues[q].qpn, NULL, &peer);
    sim->seen.retransmitted += own.retransmitted_packets;
    sim->seen.timeouts += own.timeouts;
    sim->seen.sequence_naks += own.naks_tx;
    sim->seen.rnr_naks += own.rnr_naks_tx;
    sim->seen.cnps += own.cnps_rx;
    if (!sim_expect_well(sim, side, q))
        return;
    if (own.tx_packets != progress->requests + answers)
        sim_fail(sim, "%s qp %u: counts %ju packets, sent %ju requests and %ju answers", name, q,
                 (uintmax_t)own.tx_packets, (uintmax_t)progress->requests, (uintmax_t)answers);
    if (progress->requests - own.retransmitted_packets != flow->requests)
        sim_fail(sim, "%s qp %u: sent %ju requests and %ju of them again, but there are %u", name,
                 q, (uintmax_t)progress->requests, (uintmax_t)own.retransmitted_packets,
                 flow->requests);
    if (peer.rx_packets < flow->requests ||
        (sim->plan.qps[q].recovery != RNIC_RECOVER_GO_BACK_0 && peer.rx_packets != flow->requests))
        sim_fail(sim, "%s qp %u: peer took %ju packets of %u", name, q, (uintmax_t)peer.rx_packets,
                 flow->requests);
    check_retransmission(sim, side, q, &own);
}

/* Is there a queue pair of this kind, or with another ending than well? */
static bool check_any(const struct sim_plan *plan, enum rnic_qp_type type, bool broken)
{
    for (uint32_t q = 0; q < plan->n_qps; q++)
        if ((!broken && plan->qps[q].type == type) ||
            (broken && plan->qps[q].ending != SIM_ENDS_WELL))
            return true;
    return false;
}

/* Does somebody answer READs with data before it may send itself? */
static bool check_responds_early(const struct sim_plan *plan)
{
    for (uint32_t s = 0; s < SIM_SIDES; s++)
        for (uint32_t q = 0; q < plan->n_qps; q++)
            if (plan->flows[s][q].start_ps > 0)
                return true;
    return false;
}

/* What a card may discard in such a run; all else is a mistake. */
static bool check_drop_allowed(const struct sim_plan *plan, uint32_t drop)
{
    bool uc = check_any(plan, RNIC_QPT_UC, false), ud = check_any(plan, RNIC_QPT_UD, false);
    bool broken = check_any(plan, RNIC_QPT_RC, true);

    switch (drop) {
    case WIRE_DROP_FCS:
    case WIRE_DROP_DEST_MAC: /* a bit of the Ethernet header was hit */
        return plan->link.chance[SIM_FAULT_HIT] > 0 || plan->link.scripted;
    case WIRE_DROP_PSN_GAP:
        return !plan->faultless || plan->fabric.used || uc;
    case WIRE_DROP_DUPLICATE:
    case WIRE_DROP_RNR_WAIT:
    case WIRE_DROP_STALE_ACK:
        return true;
    case WIRE_DROP_QKEY:
        return ud;
    case WIRE_DROP_NO_RECV:
        return uc || ud;
    case WIRE_DROP_QP_STATE: /* the peer failed, or a CNP comes in RTR */
        return broken || check_responds_early(plan);
    case WIRE_DROP_QPN: /* it is destroyed */
    case WIRE_DROP_REFUSED:
        return broken;
    default:
        return false;
    }
}

static void check_card(struct sim *sim, uint32_t side)
{
    const struct sim_side_counters *ours = &sim->counters[side];
    const struct rnic_counters *card = rnic_query_counters(sim->hosts[side].dev);
    const char *name = sim_side_name(side);

    sim->seen.duplicates += card->drops[WIRE_DROP_DUPLICATE];
    if (card->tx_frames != ours->sent || card->rx_frames != ours->delivered)
        sim_fail(sim, "%s: card counts %ju frames out and %ju in, there were %ju and %ju", name,
                 (uintmax_t)card->tx_frames, (uintmax_t)card->rx_frames, (uintmax_t)ours->sent,
                 (uintmax_t)ours->delivered);
    for (uint32_t d = WIRE_DROP_NONE + 1; d < WIRE_DROP_COUNT; d++) {
        if (card->drops[d] != ours->drops[d])
            sim_fail(sim, "%s: card counts %ju drops %s, there were %ju", name,
                     (uintmax_t)card->drops[d], wire_drop_name((enum wire_drop)d),
                     (uintmax_t)ours->drops[d]);
        if (card->drops[d] > 0 && !check_drop_allowed(&sim->plan, d))
            sim_fail(sim, "%s: card dropped %ju frames: %s", name, (uintmax_t)card->drops[d],
                     wire_drop_name((enum wire_drop)d));
    }
    if (rnic_frames_held(sim->hosts[side].dev) > 0)
        sim_fail(sim, "%s: card still holds %u frames", name,
                 rnic_frames_held(sim->hosts[side].dev));
    if (rnic_tx_next(sim->hosts[side].dev, 0xFF) != WIRE_NEVER)
        sim_fail(sim, "%s: card still has something to send", name);
    if (rnic_next_wake(sim->hosts[side].dev) != WIRE_NEVER)
        sim_fail(sim, "%s: a timer of the card still runs", name);
}

/* Break a queue pair that is in order. */
static void check_spoil(struct sim *sim)
{
    const struct rnic_qp_attr attr = {.qp_state = RNIC_QPS_ERR};

    if (sim_host_state(&sim->hosts[0], 0) == RNIC_QPS_RTS && sim->spoil == SIM_SPOIL_STATE) {
        sim->spoil_in = 0;
        if (sim_spoil_now(sim, SIM_SPOIL_STATE))
            (void)rnic_modify_qp(sim->hosts[0].dev, sim->hosts[0].queues[0].qpn, &attr,
                                 RNIC_QP_STATE, sim->now_ps);
    }
}

void sim_check_end(struct sim *sim)
{
    uint64_t late_ps = sim->now_ps + UINT64_C(1000000000000);

    sim->ended = true;
    check_spoil(sim);
    for (uint32_t s = 0; s < SIM_SIDES; s++)
        sim_host_drain(&sim->hosts[s], late_ps);
    for (uint32_t s = 0; s < SIM_SIDES && !sim->failed; s++) {
        for (uint32_t q = 0; q < sim->plan.n_qps; q++) {
            check_queue(sim, s, q);
            check_lost(sim, s, q);
            check_qp_counters(sim, s, q);
        }
        check_shared(sim, s);
        sim_check_memory(sim, s);
        check_card(sim, s);
    }
}
