/* SPDX-License-Identifier: GPL-2.0-only */
/* What must be true of memory, and of everything else when nothing moves any more. */
#include "sim.h"

#include <stdio.h>
#include <string.h>

/* ---- memory ---- */

/* Where a byte of an arena lies, for people. */
static void check_where(const struct sim *sim, uint32_t side, uint32_t at, char *text, size_t size)
{
    const struct sim_plan *plan = &sim->plan;
    const struct sim_region *source = &plan->cards[side].source;

    if (at - source->at < source->bytes) {
        snprintf(text, size, "source + %u", at - source->at);
        return;
    }
    for (uint32_t q = 0; q < plan->n_qps; q++) {
        const struct sim_flow *in = &plan->flows[1 - side][q];

        if (at - in->target.at < in->target.bytes) {
            snprintf(text, size, "target of qp %u + %u", q, at - in->target.at);
            return;
        }
        if (at - in->slots.at < in->slots.bytes) {
            snprintf(text, size, "receives of qp %u + %u", q, at - in->slots.at);
            return;
        }
    }
    snprintf(text, size, "guard bytes at %u", at);
}

static void check_differs(struct sim *sim, uint32_t side, uint32_t at, const char *when)
{
    const struct sim_card *card = &sim->plan.cards[side];
    char where[64];

    check_where(sim, side, at, where, sizeof where);
    sim_fail(sim, "%s memory, %s: %s: 0x%02x, was 0x%02x, should be 0x%02x", sim_side_name(side),
             where, when, sim->hosts[side].memory[at], card->before[at], card->after[at]);
}

static void check_range(struct sim *sim, uint32_t side, uint32_t at, uint32_t bytes,
                        const char *when)
{
    const uint8_t *memory = sim->hosts[side].memory, *after = sim->plan.cards[side].after;

    if (sim->plan.phantom || memcmp(memory + at, after + at, bytes) == 0)
        return;
    for (uint32_t i = at; i < at + bytes; i++)
        if (memory[i] != after[i]) {
            check_differs(sim, side, i, when);
            return;
        }
}

void sim_check_message(struct sim *sim, uint32_t from, uint32_t q, uint32_t index)
{
    const struct sim_flow *flow = &sim->plan.flows[from][q];
    const struct sim_send *send = &flow->sends[index];
    const struct sim_recv *recv;
    uint32_t left = send->bytes;

    if (sim_plan_is_write(send->opcode)) {
        if (!flow->overlap) /* a later one may lie over it already */
            check_range(sim, 1 - from, send->to, left, "completed, but not there");
        return;
    }
    recv = &flow->recvs[send->recv];
    for (uint32_t p = 0; left > 0; p++) {
        uint32_t n = recv->to[p].bytes < left ? recv->to[p].bytes : left;

        check_range(sim, 1 - from, recv->to[p].at, n, "completed, but not there");
        left -= n;
    }
}

/* A run that failed half way: every byte is old or new, whatever was not completed. */
static void check_memory(struct sim *sim, uint32_t side)
{
    const struct sim_card *card = &sim->plan.cards[side];
    const uint8_t *memory = sim->hosts[side].memory;

    if (sim->plan.phantom) {
        if (memcmp(memory, card->before, card->arena_bytes) != 0)
            sim_fail(sim, "%s memory: phantom data was written", sim_side_name(side));
        return;
    }
    if (sim->plan.ending == SIM_ENDS_WELL) {
        check_range(sim, side, 0, card->arena_bytes, "at the end");
        return;
    }
    for (uint32_t i = 0; i < card->arena_bytes; i++)
        if (memory[i] != card->before[i] && memory[i] != card->after[i]) {
            check_differs(sim, side, i, "at the end");
            return;
        }
}

/* ---- completions ---- */

static void check_queue(struct sim *sim, uint32_t side, uint32_t q)
{
    const struct sim_host *host = &sim->hosts[side];
    const struct sim_queue *queue = &host->queues[q];
    const struct sim_queue *peer = &sim->hosts[1 - side].queues[q];
    const struct sim_flow *flow = &sim->plan.flows[side][q];
    uint32_t sure = queue->failed_at == SIM_NONE ? flow->n_sends : queue->failed_at;
    bool refuser = side == 1 && q == 0 && sim->plan.ending == SIM_ENDS_REFUSED;
    bool failed = queue->failed_at != SIM_NONE || refuser;
    const char *name = sim_side_name(side);
    struct rnic_qp_attr attr;

    if (queue->seen != flow->n_sends)
        sim_fail(sim, "%s qp %u: %u sends posted, %u completed, of %u", name, q, queue->posted,
                 queue->seen, flow->n_sends);
    for (uint32_t i = 0; i < sure && i < flow->fails_at; i++) {
        sim_check_message(sim, side, q, i);
        if (flow->sends[i].recv != SIM_NONE && peer->recv_done <= flow->sends[i].recv)
            sim_fail(sim, "%s qp %u send %u: its receive %u has not completed", name, q, i,
                     flow->sends[i].recv);
    }
    if (queue->fatals != queue->retries_ended)
        sim_fail(sim, "%s qp %u: %u QP_FATAL events", name, q, queue->fatals);
    if (queue->refusals > refuser)
        sim_fail(sim, "%s qp %u: %u QP_ACCESS_ERR events", name, q, queue->refusals);
    (void)rnic_query_qp(host->dev, queue->qpn, &attr, NULL);
    if (attr.qp_state != (failed ? RNIC_QPS_ERR : RNIC_QPS_RTS) &&
        !(refuser && queue->refusals == 0))
        sim_fail(sim, "%s qp %u: ends in state %d", name, q, (int)attr.qp_state);
    if (attr.qp_state == RNIC_QPS_ERR && queue->recv_seen != queue->recv_posted)
        sim_fail(sim, "%s qp %u: %u receives posted, %u completed", name, q, queue->recv_posted,
                 queue->recv_seen);
}

/* ---- counters ---- */

static void check_qp_counters(struct sim *sim, uint32_t side, uint32_t q)
{
    const struct sim_plan *plan = &sim->plan;
    const char *name = sim_side_name(side);
    struct rnic_qp_counters own, peer;
    bool late = plan->flows[side][q].recv_first < plan->flows[side][q].n_recvs ||
                plan->flows[side][q].rq_depth < plan->flows[side][q].n_recvs;

    (void)rnic_query_qp(sim->hosts[side].dev, sim->hosts[side].queues[q].qpn, NULL, &own);
    (void)rnic_query_qp(sim->hosts[1 - side].dev, sim->hosts[1 - side].queues[q].qpn, NULL, &peer);
    sim->seen.retransmitted += own.retransmitted_packets;
    sim->seen.timeouts += own.timeouts;
    sim->seen.sequence_naks += own.naks_tx;
    sim->seen.rnr_naks += own.rnr_naks_tx;
    sim->seen.cnps += own.cnps_rx;
    if (plan->ending != SIM_ENDS_WELL)
        return;
    if (own.tx_packets - own.retransmitted_packets != plan->flows[side][q].packets)
        sim_fail(sim, "%s qp %u: sent %ju packets and %ju of them again, but there are %ju", name,
                 q, (uintmax_t)own.tx_packets, (uintmax_t)own.retransmitted_packets,
                 (uintmax_t)plan->flows[side][q].packets);
    if (peer.rx_packets != plan->flows[side][q].packets)
        sim_fail(sim, "%s qp %u: peer took %ju packets of %ju", name, q, (uintmax_t)peer.rx_packets,
                 (uintmax_t)plan->flows[side][q].packets);
    if (plan->faultless && !plan->fabric.used && own.timeouts > 0)
        sim_fail(sim, "%s qp %u: %ju timeouts, and nothing was lost", name, q,
                 (uintmax_t)own.timeouts);
    if (plan->faultless && !plan->fabric.used && !late && own.retransmitted_packets > 0)
        sim_fail(sim, "%s qp %u: %ju packets sent again, and nothing was lost", name, q,
                 (uintmax_t)own.retransmitted_packets);
}

/* What a card may discard in such a run; all else is a mistake. */
static bool check_drop_allowed(const struct sim_plan *plan, uint32_t drop)
{
    switch (drop) {
    case WIRE_DROP_FCS:
    case WIRE_DROP_DEST_MAC: /* a bit of the Ethernet header was hit */
        return plan->link.corrupt > 0;
    case WIRE_DROP_PSN_GAP:
        return !plan->faultless || plan->fabric.used;
    case WIRE_DROP_DUPLICATE:
    case WIRE_DROP_RNR_WAIT:
    case WIRE_DROP_STALE_ACK:
        return true;
    case WIRE_DROP_QP_STATE: /* the peer failed */
        return plan->ending != SIM_ENDS_WELL;
    case WIRE_DROP_REFUSED:
        return plan->ending == SIM_ENDS_REFUSED;
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

static void check_spoil(struct sim *sim)
{
    for (uint32_t s = 0; s < SIM_SIDES; s++)
        for (uint32_t i = 0; i < sim->plan.cards[s].arena_bytes; i++)
            if (sim->plan.cards[s].before[i] != sim->plan.cards[s].after[i] &&
                sim->hosts[s].memory[i] == sim->plan.cards[s].after[i] &&
                sim_spoil_now(sim, SIM_SPOIL_FLIP))
                sim->hosts[s].memory[i] ^= 0x40;
}

void sim_check_end(struct sim *sim)
{
    uint64_t late_ps = sim->now_ps + UINT64_C(1000000000000);

    sim->ended = true;
    for (uint32_t s = 0; s < SIM_SIDES; s++)
        sim_host_drain(&sim->hosts[s], late_ps);
    if (sim->spoil == SIM_SPOIL_FLIP)
        check_spoil(sim);
    for (uint32_t s = 0; s < SIM_SIDES && !sim->failed; s++) {
        for (uint32_t q = 0; q < sim->plan.n_qps; q++) {
            check_queue(sim, s, q);
            check_qp_counters(sim, s, q);
        }
        check_memory(sim, s);
        check_card(sim, s);
    }
}
