/* SPDX-License-Identifier: GPL-2.0-only */
/* Work requests and memory of a plan. */
#include "sim_dice.h"
#include "sim_plan.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGE_MAX 65536u

/* ---- lengths and pieces ---- */

/* Lengths at which packet counts and padding change, and some of any size. */
static uint32_t flow_length(struct wire_rng *rng, uint32_t mtu, uint32_t most)
{
    const uint32_t edges[] = {0, 1, 3, 4, mtu - 1, mtu, mtu + 1, 2 * mtu - 1, 2 * mtu, 2 * mtu + 1};
    uint32_t bytes;

    switch (sim_dice_below(rng, 12)) {
    case 0:
        bytes = sim_dice_below(rng, MESSAGE_MAX + 1);
        break;
    case 1:
        bytes = sim_dice_one_in(rng, 3) ? MESSAGE_MAX : mtu * (1 + sim_dice_below(rng, 8));
        break;
    case 2:
    case 3:
        bytes = sim_dice_below(rng, 2 * mtu);
        break;
    default:
        bytes = edges[sim_dice_below(rng, sizeof edges / sizeof edges[0])];
        break;
    }
    return bytes <= most ? bytes : most;
}

/* Cut `bytes` into 1 .. SIM_PIECES_MAX lengths, some of them 0; no piece at all for 0 at times. */
static uint32_t flow_cut(struct wire_rng *rng, uint32_t bytes, struct sim_piece *pieces)
{
    uint32_t n = 1 + sim_dice_below(rng, SIM_PIECES_MAX);
    uint32_t left = bytes;

    if (bytes == 0 && sim_dice_one_in(rng, 2))
        return 0;
    for (uint32_t i = 0; i + 1 < n; i++) {
        pieces[i].bytes = sim_dice_one_in(rng, 5) ? 0 : sim_dice_below(rng, left + 1);
        left -= pieces[i].bytes;
    }
    pieces[n - 1].bytes = left;
    return n;
}

/* ---- one flow ---- */

static uint32_t flow_packets(uint32_t bytes, uint32_t mtu)
{
    return bytes == 0 ? 1 : (bytes + mtu - 1) / mtu;
}

static void flow_sends(struct sim_plan *plan, struct sim_flow *flow, struct wire_rng *rng,
                       uint32_t budget)
{
    uint32_t wanted = 1 + sim_dice_below(rng, SIM_SENDS_MAX);
    uint32_t silent = 0;                      /* unsignaled in a row */
    uint32_t writes = sim_dice_below(rng, 4); /* all of them at 3 */

    while (flow->n_sends < wanted && budget > 0) {
        struct sim_send *send = &flow->sends[flow->n_sends++];

        *send = (struct sim_send){.recv = SIM_NONE};
        send->opcode = (enum rnic_wr_opcode)sim_dice_below(rng, writes == 3 ? 2 : 4);
        send->bytes = flow_length(rng, plan->mtu_bytes, budget * plan->mtu_bytes);
        send->packets = flow_packets(send->bytes, plan->mtu_bytes);
        send->imm = (uint32_t)wire_rng_next(rng);
        send->solicited = sim_dice_one_in(rng, 3);
        send->signaled = flow->sig_all || sim_dice_one_in(rng, 2) || silent + 1 >= flow->sq_depth;
        silent = send->signaled ? 0 : silent + 1;
        send->n = flow_cut(rng, send->bytes, send->from);
        flow->packets += send->packets;
        budget = budget > send->packets ? budget - send->packets : 0;
    }
    flow->sends[flow->n_sends - 1].signaled = true;
}

/* A receive for every send that needs one, and some that are left over. */
static void flow_recvs(struct sim_flow *flow, struct wire_rng *rng)
{
    uint32_t spare = sim_dice_below(rng, 3);

    for (uint32_t i = 0; i < flow->n_sends; i++) {
        struct sim_send *send = &flow->sends[i];
        struct sim_recv *recv = &flow->recvs[flow->n_recvs];
        bool takes_data = !sim_plan_is_write(send->opcode);

        if (!takes_data && !sim_plan_has_imm(send->opcode))
            continue;
        send->recv = flow->n_recvs++;
        recv->send = i;
        recv->n = flow_cut(rng, takes_data ? send->bytes : 0, recv->to);
        if (recv->n > 0 && sim_dice_one_in(rng, 2)) /* larger than what comes */
            recv->to[recv->n - 1].bytes += sim_dice_below(rng, 100);
    }
    flow->used_recvs = flow->n_recvs;
    for (; spare > 0; spare--) {
        struct sim_recv *recv = &flow->recvs[flow->n_recvs++];

        recv->send = SIM_NONE;
        recv->n = flow_cut(rng, sim_dice_below(rng, 64), recv->to);
    }
}

static void flow_times(struct sim_flow *flow, struct wire_rng *rng, uint64_t rnr_ps)
{
    flow->start_ps = sim_dice_one_in(rng, 3) ? sim_dice_below(rng, 20000000) : 0;
    flow->send_gap_ps = sim_dice_one_in(rng, 2) ? 0 : 1 + sim_dice_below(rng, 10000000);
    flow->recv_first = flow->n_recvs;
    if (sim_dice_one_in(rng, 3)) { /* late: RNR NAKs, but no more than a few for each */
        flow->recv_first = sim_dice_below(rng, flow->n_recvs + 1);
        flow->recv_gap_ps = 1 + sim_dice_below(rng, (uint32_t)(4 * rnr_ps));
    }
}

static wire_psn flow_psn(struct wire_rng *rng)
{
    uint32_t x = (uint32_t)wire_rng_next(rng);

    switch (sim_dice_below(rng, 4)) {
    case 0:
        return (wire_psn){0};
    case 1:
        return (wire_psn){x & WIRE_PSN_MASK};
    default:
        return (wire_psn){WIRE_PSN_MASK - x % 40}; /* wraps soon */
    }
}

static uint32_t flow_depth(struct wire_rng *rng)
{
    return 1 + sim_dice_below(rng, sim_dice_one_in(rng, 3) ? 3 : 24);
}

static void flow_make(struct sim_plan *plan, struct sim_flow *flow, struct wire_rng *rng,
                      uint32_t budget, uint64_t rnr_ps, bool empty)
{
    *flow = (struct sim_flow){.fails_at = SIM_NONE};
    flow->psn = flow_psn(rng);
    flow->sq_depth = flow_depth(rng);
    flow->rq_depth = flow_depth(rng);
    flow->sig_all = sim_dice_one_in(rng, 8);
    flow->overlap = plan->ending == SIM_ENDS_WELL && sim_dice_one_in(rng, 2);
    if (!empty) {
        flow_sends(plan, flow, rng, budget);
        flow_recvs(flow, rng);
    }
    flow_times(flow, rng, rnr_ps);
}

/* One WRITE is to be refused. */
static void flow_refuse(struct sim_plan *plan, struct sim_send *send, struct wire_rng *rng)
{
    if (!sim_plan_is_write(send->opcode)) /* keep who uses which receive */
        send->opcode = RNIC_WR_RDMA_WRITE_WITH_IMM;
    plan->refusal = (enum sim_refusal)sim_dice_below(rng, SIM_REFUSALS);
}

/* The receive a send needs, and those behind it, are never posted. */
static void flow_starve(struct sim_plan *plan, struct sim_flow *flow, struct wire_rng *rng)
{
    struct sim_send *send = &flow->sends[flow->fails_at];

    if (send->opcode == RNIC_WR_RDMA_WRITE)
        send->opcode = RNIC_WR_RDMA_WRITE_WITH_IMM;
    flow->n_recvs = 0;
    for (uint32_t i = 0; i < flow->fails_at; i++)
        flow->n_recvs += flow->sends[i].recv != SIM_NONE;
    flow->used_recvs = flow->n_recvs;
    flow->recv_first = flow->n_recvs; /* none is late: each wait may be the last */
    flow->rq_depth = flow->n_recvs > 0 ? flow->n_recvs : 1;
    plan->rnr_retry = (uint8_t)sim_dice_below(rng, 7);
}

/* Nothing comes back on the queue pair that fails, so that the other side has nothing to flush. */
static void flow_fail(struct sim_plan *plan, struct wire_rng *rng)
{
    struct sim_flow *flow = &plan->flows[0][0];
    struct sim_send *send;

    flow->fails_at = sim_dice_below(rng, flow->n_sends);
    send = &flow->sends[flow->fails_at];
    if (send->bytes == 0) { /* no byte, no check */
        send->bytes = 1;
        send->n = 1;
        send->from[0].bytes = 1;
        if (send->recv != SIM_NONE) { /* and room for it */
            flow->recvs[send->recv].n = 1;
            flow->recvs[send->recv].to[0].bytes = 1;
        }
    }
    if (plan->ending == SIM_ENDS_REFUSED)
        flow_refuse(plan, send, rng);
    else if (plan->ending == SIM_ENDS_NOT_READY)
        flow_starve(plan, flow, rng);
}

void sim_plan_flows(struct sim_plan *plan, struct wire_rng *rng, uint32_t packets)
{
    static const uint64_t rnr_us[] = {0, 10, 20, 30, 40, 60, 80};
    uint32_t share = packets / (SIM_SIDES * plan->n_qps);

    for (uint32_t s = 0; s < SIM_SIDES; s++)
        for (uint32_t q = 0; q < plan->n_qps; q++)
            flow_make(plan, &plan->flows[s][q], rng, share < 3 ? 3 : share,
                      rnr_us[plan->rnr_timer[1 - s]] * 1000000,
                      plan->ending >= SIM_ENDS_REFUSED && s == 1 && q == 0);
    if (plan->ending >= SIM_ENDS_REFUSED)
        flow_fail(plan, rng);
}

/* ---- memory ---- */

static uint32_t memory_take(uint32_t *end, uint32_t bytes)
{
    uint32_t at = *end;

    *end += bytes + SIM_GUARD_BYTES;
    return at;
}

/* Anywhere, also across page borders and close to the end of the address space. */
static uint64_t memory_va(struct wire_rng *rng, uint32_t bytes)
{
    uint64_t va = wire_rng_next(rng);

    if (sim_dice_one_in(rng, 4))
        return UINT64_MAX - bytes - sim_dice_below(rng, 3);
    return va >> 1 >> sim_dice_below(rng, 48);
}

static void memory_sources(struct sim_plan *plan, uint32_t side, struct wire_rng *rng,
                           uint32_t *end)
{
    struct sim_card *card = &plan->cards[side];
    uint32_t bytes = 1;

    for (uint32_t q = 0; q < plan->n_qps; q++)
        for (uint32_t i = 0; i < plan->flows[side][q].n_sends; i++)
            if (plan->flows[side][q].sends[i].bytes > bytes)
                bytes = plan->flows[side][q].sends[i].bytes;
    bytes += sim_dice_below(rng, 100);
    card->source = (struct sim_region){.at = memory_take(end, bytes), .bytes = bytes};
    for (uint32_t q = 0; q < plan->n_qps; q++)
        for (uint32_t i = 0; i < plan->flows[side][q].n_sends; i++) {
            struct sim_send *send = &plan->flows[side][q].sends[i];

            for (uint32_t p = 0; p < send->n; p++)
                send->from[p].at =
                    card->source.at + sim_dice_below(rng, bytes - send->from[p].bytes + 1);
        }
}

/* Where WRITEs of a flow go: anywhere in a region, or one behind the other. */
static void memory_target(struct sim_flow *flow, struct wire_rng *rng, uint32_t *end)
{
    uint32_t bytes = 1, used = 0;

    for (uint32_t i = 0; i < flow->n_sends; i++) {
        uint32_t n = sim_plan_is_write(flow->sends[i].opcode) ? flow->sends[i].bytes : 0;

        bytes = flow->overlap ? (n > bytes ? n : bytes) : bytes + n;
    }
    if (flow->overlap)
        bytes += sim_dice_below(rng, 64);
    flow->target =
        (struct sim_region){.at = memory_take(end, bytes),
                            .bytes = bytes,
                            .access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE};
    for (uint32_t i = 0; i < flow->n_sends; i++) {
        struct sim_send *send = &flow->sends[i];

        if (!sim_plan_is_write(send->opcode))
            continue;
        send->to =
            flow->target.at + (flow->overlap ? sim_dice_below(rng, bytes - send->bytes + 1) : used);
        used += send->bytes;
    }
}

/* Receives have their own bytes, with gaps, pieces of one in any order. */
static void memory_slots(struct sim_flow *flow, struct wire_rng *rng, uint32_t *end)
{
    uint32_t start = *end;

    for (uint32_t i = 0; i < flow->n_recvs; i++) {
        struct sim_recv *recv = &flow->recvs[i];
        uint32_t turn = sim_dice_below(rng, SIM_PIECES_MAX);

        for (uint32_t k = 0; k < recv->n; k++) {
            struct sim_piece *piece = &recv->to[(k + turn) % recv->n];

            piece->at = *end;
            *end += piece->bytes + sim_dice_below(rng, 5);
        }
    }
    *end += 1;
    flow->slots =
        (struct sim_region){.at = start, .bytes = *end - start, .access = RNIC_ACCESS_LOCAL_WRITE};
    *end += SIM_GUARD_BYTES;
}

/* The message, byte by byte, as the sender's pieces give it. */
static void memory_gather(const struct sim_card *card, const struct sim_send *send,
                          uint8_t *message)
{
    for (uint32_t p = 0; p < send->n; p++) {
        memcpy(message, card->before + send->from[p].at, send->from[p].bytes);
        message += send->from[p].bytes;
    }
}

static void memory_deliver(struct sim_card *to, const struct sim_flow *flow,
                           const struct sim_send *send, const uint8_t *message)
{
    uint32_t left = send->bytes;

    if (sim_plan_is_write(send->opcode)) {
        memcpy(to->after + send->to, message, left);
        return;
    }
    for (uint32_t p = 0; left > 0; p++) {
        struct sim_piece piece = flow->recvs[send->recv].to[p];
        uint32_t n = piece.bytes < left ? piece.bytes : left;

        memcpy(to->after + piece.at, message, n);
        message += n;
        left -= n;
    }
}

/* Every message of a side, in order, up to one that fails. */
static void memory_carry_out(struct sim_plan *plan, uint32_t side)
{
    static uint8_t message[MESSAGE_MAX];

    for (uint32_t q = 0; q < plan->n_qps; q++) {
        const struct sim_flow *flow = &plan->flows[side][q];

        for (uint32_t i = 0; i < flow->n_sends; i++) {
            const struct sim_send *send = &flow->sends[i];
            bool fails = i == flow->fails_at;

            if (fails && plan->ending == SIM_ENDS_REFUSED)
                break;
            if (fails && plan->ending == SIM_ENDS_NOT_READY && !sim_plan_is_write(send->opcode))
                break;
            memory_gather(&plan->cards[side], send, message);
            memory_deliver(&plan->cards[1 - side], flow, send, message);
            if (fails)
                break; /* its first packets may have come through */
        }
    }
}

bool sim_plan_memory(struct sim_plan *plan, struct wire_rng *rng)
{
    for (uint32_t s = 0; s < SIM_SIDES; s++) {
        struct sim_card *card = &plan->cards[s];
        uint32_t end = SIM_GUARD_BYTES;

        memory_sources(plan, s, rng, &end);
        card->source.va = memory_va(rng, card->source.bytes);
        for (uint32_t q = 0; q < plan->n_qps; q++) {
            struct sim_flow *flow = &plan->flows[1 - s][q];

            memory_target(flow, rng, &end);
            memory_slots(flow, rng, &end);
            flow->target.va = memory_va(rng, flow->target.bytes);
            flow->slots.va = memory_va(rng, flow->slots.bytes);
        }
        card->arena_bytes = end;
        card->before = malloc(end);
        card->after = malloc(end);
        if (card->before == NULL || card->after == NULL)
            return false;
        sim_dice_fill(rng, card->before, end);
        memcpy(card->after, card->before, end);
    }
    memory_carry_out(plan, 0);
    memory_carry_out(plan, 1);
    return true;
}
