/* SPDX-License-Identifier: GPL-2.0-only */
/* What comes back to a host: completions, events, and when it acts. */
#include "sim.h"
#include "sim_dice.h"

/* ---- completions ---- */

/* Change one completion, as asked. */
static void poll_spoil(struct sim *sim, struct rnic_wc *wc)
{
    bool recv = wc->wr_id >> 63 != 0;

    if (wc->status == RNIC_WC_SUCCESS && recv && !(wc->wc_flags & RNIC_WC_GRH) &&
        sim_spoil_now(sim, SIM_SPOIL_FIELD)) {
        if (wc->wc_flags & RNIC_WC_WITH_IMM)
            wc->imm ^= 1;
        else
            wc->byte_len ^= 1;
    }
    if (wc->status == RNIC_WC_SUCCESS && recv && (wc->wc_flags & RNIC_WC_WITH_INV) != 0 &&
        sim->spoil == SIM_SPOIL_KEY) {
        sim->spoil_in = 0; /* there are few */
        if (sim_spoil_now(sim, SIM_SPOIL_KEY))
            wc->invalidated_rkey ^= 1;
    }
    if (wc->status != RNIC_WC_SUCCESS && wc->status != RNIC_WC_WR_FLUSH_ERR &&
        sim->spoil == SIM_SPOIL_STATUS) {
        sim->spoil_in = 0;
        if (sim_spoil_now(sim, SIM_SPOIL_STATUS))
            wc->status = RNIC_WC_BAD_RESP_ERR;
    }
}

static void poll_take(struct sim_host *host, const struct rnic_wc *wc)
{
    struct sim *sim = host->sim;
    struct rnic_wc copy = *wc;
    uint32_t q = sim_host_find(host, wc->qp_num);
    /* What a queue pair leaves behind that its host resets may be lost, and nobody need notice. */
    bool sure = q != SIM_NONE &&
                (sim->plan.qps[q].incident.kind == SIM_INCIDENT_NONE ||
                 sim->plan.qps[q].incident.kind == SIM_INCIDENT_DRAIN) &&
                (sim->plan.qps[q].type == RNIC_QPT_RC || wc->wr_id >> 63 == 0);

    /* The first flush may be of one that was done, and nobody asked to be told. */
    if (sure && wc->status == RNIC_WC_SUCCESS && sim_spoil_now(sim, SIM_SPOIL_LOST))
        return;
    if (sim_spoil_now(sim, SIM_SPOIL_TWICE))
        sim_host_completed(host, wc);
    poll_spoil(sim, &copy);
    if (!host->holds && sure && sim_spoil_now(sim, SIM_SPOIL_ORDER)) {
        host->held = copy;
        host->holds = true;
        return;
    }
    sim_host_completed(host, &copy);
    if (host->holds && sim->spoil == SIM_SPOIL_ORDER && host->held.qp_num == copy.qp_num &&
        host->held.wr_id >> 63 == copy.wr_id >> 63) {
        host->holds = false;
        sim_host_completed(host, &host->held);
    }
}

static void poll_queue(struct sim_host *host, uint32_t c, uint64_t now_ps)
{
    struct rnic_wc wc[8];
    int n;

    do {
        n = rnic_poll_cq(host->dev, host->cq[c], host->sim->plan.cards[host->side].batch, wc,
                         now_ps);
        sim_host_want(host, n, "poll_cq");
        for (int i = 0; i < n && !host->sim->failed; i++) {
            host->solicited = false;
            poll_take(host, &wc[i]);
            host->cq_found[c] |= host->solicited || wc[i].status != RNIC_WC_SUCCESS;
        }
    } while (n > 0 && !host->sim->failed);
}

/* Does the host want events of solicited completions only? */
static bool poll_solicited(const struct sim_host *host, uint32_t c)
{
    const struct sim_plan *plan = &host->sim->plan;
    const struct sim_card *card = &plan->cards[host->side];

    for (uint32_t q = 0; q < plan->n_qps; q++)
        if (card->send_cq[q] == c || (card->recv_cq[q] == c && plan->qps[q].type != RNIC_QPT_RC))
            return false;
    return card->solicited && !card->polls;
}

static bool poll_any_gone(const struct sim_host *host)
{
    for (uint32_t q = 0; q < host->sim->plan.n_qps; q++)
        if (host->queues[q].gone)
            return true;
    return false;
}

/* Armed once for each event; in between it polls now and then. */
static void poll_due_solicited(struct sim_host *host, uint32_t c, uint64_t now_ps)
{
    poll_queue(host, c, now_ps);
    if (!sim_host_done(&host->sim->hosts[0]) || !sim_host_done(&host->sim->hosts[1]))
        host->cq_ps[c] = now_ps + 20 * host->sim->plan.cards[host->side].poll_ps;
    if (!host->cq_told[c])
        return;
    host->sim->seen.solicited++;
    if (!host->cq_found[c] && !poll_any_gone(host)) /* reset takes completions away */
        sim_fail(host->sim, "%s: an event, and nothing solicited completed",
                 sim_side_name(host->side));
    host->cq_told[c] = host->cq_found[c] = false;
    sim_host_want(host, rnic_req_notify_cq(host->dev, host->cq[c], true, now_ps), "req_notify_cq");
}

static void poll_due(struct sim_host *host, uint32_t c, uint64_t now_ps)
{
    const struct sim_card *card = &host->sim->plan.cards[host->side];

    host->cq_ps[c] = WIRE_NEVER;
    if (poll_solicited(host, c)) {
        poll_due_solicited(host, c, now_ps);
        return;
    }
    poll_queue(host, c, now_ps);
    if (card->polls) {
        if (!sim_host_done(&host->sim->hosts[0]) || !sim_host_done(&host->sim->hosts[1]))
            host->cq_ps[c] = now_ps + card->poll_ps;
        return;
    }
    sim_host_want(
        host, rnic_req_notify_cq(host->dev, host->cq[c], sim_dice_one_in(&host->rng, 50), now_ps),
        "req_notify_cq");
    sim_host_want(host, rnic_req_notify_cq(host->dev, host->cq[c], false, now_ps), "req_notify_cq");
    poll_queue(host, c, now_ps); /* what came before the arming gives no event */
}

void sim_host_arm(struct sim_host *host)
{
    const struct sim_card *card = &host->sim->plan.cards[host->side];

    for (uint32_t c = 0; c < card->n_cqs; c++) {
        bool solicited = poll_solicited(host, c);

        host->cq_ps[c] = card->polls || solicited ? card->poll_ps : WIRE_NEVER;
        if (!card->polls)
            sim_host_want(host, rnic_req_notify_cq(host->dev, host->cq[c], solicited, 0),
                          "req_notify_cq");
    }
}

void sim_host_drain(struct sim_host *host, uint64_t now_ps)
{
    for (uint32_t c = 0; c < host->sim->plan.cards[host->side].n_cqs; c++) {
        poll_queue(host, c, now_ps);
        if (poll_solicited(host, c) && host->cq_found[c] && !host->cq_told[c])
            sim_fail(host->sim, "%s: a solicited completion, and no event",
                     sim_side_name(host->side));
    }
}

static bool poll_queue_done(const struct sim_host *host, uint32_t q)
{
    const struct sim_plan *plan = &host->sim->plan;
    const struct sim_queue *queue = &host->queues[q];

    if (queue->gone)
        return true;
    if (queue->seen != plan->flows[host->side][q].n_sends)
        return false;
    return !sim_expect_well(host->sim, 1 - host->side, q) ||
           queue->recv_done == plan->flows[1 - host->side][q].consumers;
}

bool sim_host_done(const struct sim_host *host)
{
    for (uint32_t q = 0; q < host->sim->plan.n_qps; q++)
        if (!poll_queue_done(host, q))
            return false;
    return true;
}

/* ---- time ---- */

uint64_t sim_host_next_ps(const struct sim_host *host)
{
    const struct sim_plan *plan = &host->sim->plan;
    uint64_t next_ps = WIRE_NEVER;

    for (uint32_t c = 0; c < plan->cards[host->side].n_cqs; c++)
        next_ps = wire_min_ps(next_ps, host->cq_ps[c]);
    for (uint32_t q = 0; q < plan->n_qps; q++)
        next_ps =
            wire_min_ps(next_ps, wire_min_ps(host->queues[q].send_ps, host->queues[q].incident_ps));
    for (uint32_t p = 0; p < SIM_POOLS; p++)
        next_ps = wire_min_ps(next_ps, host->recvs[p].recv_ps);
    return next_ps;
}

void sim_host_step(struct sim_host *host, uint64_t now_ps)
{
    const struct sim_plan *plan = &host->sim->plan;

    for (uint32_t c = 0; c < plan->cards[host->side].n_cqs; c++)
        if (host->cq_ps[c] <= now_ps)
            poll_due(host, c, now_ps);
    for (uint32_t p = 0; p < SIM_POOLS; p++)
        if (host->recvs[p].recv_ps <= now_ps)
            sim_post_recvs(host, p, now_ps);
    for (uint32_t q = 0; q < plan->n_qps; q++) {
        if (host->queues[q].incident_ps <= now_ps)
            sim_incident_step(host, q, now_ps);
        if (host->queues[q].send_ps <= now_ps)
            sim_post_sends(host, q, now_ps);
    }
}

/* ---- events ---- */

static bool poll_queue_event(struct sim_queue *queue, enum rnic_event_type type, uint64_t now_ps)
{
    switch (type) {
    case RNIC_EVENT_QP_FATAL:
        queue->fatals++;
        return true;
    case RNIC_EVENT_QP_ACCESS_ERR:
        queue->refusals++;
        return true;
    case RNIC_EVENT_QP_REQ_ERR:
        queue->invalids++;
        return true;
    case RNIC_EVENT_COMM_EST:
        queue->established++;
        return true;
    case RNIC_EVENT_SQ_DRAINED:
        queue->drained++;
        if (queue->draining)
            queue->incident_ps = now_ps;
        return true;
    case RNIC_EVENT_LAST_WQE:
        queue->last++;
        return true;
    default:
        return false;
    }
}

/* Only where the event is missed for sure. */
static bool poll_swallows(struct sim_host *host, uint32_t c)
{
    if (host->sim->spoil != SIM_SPOIL_EVENT || !poll_solicited(host, c))
        return false;
    host->sim->spoil_in = 0;
    return sim_spoil_now(host->sim, SIM_SPOIL_EVENT);
}

void sim_host_event(struct sim_host *host, const struct rnic_event *event, uint64_t now_ps)
{
    const struct sim_card *card = &host->sim->plan.cards[host->side];
    uint32_t q;

    if (event->type == RNIC_EVENT_CQ) {
        for (uint32_t c = 0; c < card->n_cqs; c++)
            if (host->cq[c] == event->cq && !poll_swallows(host, c)) {
                host->cq_told[c] = true;
                host->cq_ps[c] = now_ps + sim_dice_below(&host->rng, (uint32_t)card->poll_ps);
            }
        return;
    }
    sim_say(host->sim, "%s event %d, qpn %u", sim_side_name(host->side), (int)event->type,
            event->qpn);
    if (event->type != RNIC_EVENT_COMM_EST && host->sim->spoil == SIM_SPOIL_EVENT) {
        host->sim->spoil_in = 0;
        if (sim_spoil_now(host->sim, SIM_SPOIL_EVENT))
            return;
    }
    if (event->type == RNIC_EVENT_SRQ_LIMIT && event->srq == host->recvs[SIM_SHARED].srq) {
        host->recvs[SIM_SHARED].limits++;
        return;
    }
    q = sim_host_find(host, event->qpn);
    if (q == SIM_NONE || !poll_queue_event(&host->queues[q], event->type, now_ps))
        sim_fail(host->sim, "%s: event %d, qpn %u was not to be expected",
                 sim_side_name(host->side), (int)event->type, event->qpn);
}
