/* SPDX-License-Identifier: GPL-2.0-only */
/* Work requests of a plan, as they are drawn. */
#include "sim_dice.h"
#include "sim_plan.h"

#define MANY_BYTES 8192u /* longest message where each receive must hold any of them */

/* ---- lengths and pieces ---- */

/* Lengths at which packet counts and padding change, and some of any size. */
static uint32_t flow_length(struct wire_rng *rng, uint32_t mtu, uint32_t most)
{
    const uint32_t edges[] = {0, 1, 3, 4, mtu - 1, mtu, mtu + 1, 2 * mtu - 1, 2 * mtu, 2 * mtu + 1};
    uint32_t bytes;

    switch (sim_dice_below(rng, 12)) {
    case 0:
        bytes = sim_dice_below(rng, SIM_MESSAGE_MAX + 1);
        break;
    case 1:
        bytes = sim_dice_one_in(rng, 3) ? SIM_MESSAGE_MAX : mtu * (1 + sim_dice_below(rng, 8));
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

uint32_t sim_plan_cut(struct wire_rng *rng, uint32_t bytes, struct sim_piece *pieces)
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

/* ---- which operations ---- */

enum flow_mix { MIX_ALL, MIX_WRITES, MIX_SENDS, MIX_FETCHES, MIXES };

static enum rnic_wr_opcode flow_opcode(enum rnic_qp_type type, enum flow_mix mix,
                                       struct wire_rng *rng)
{
    static const enum rnic_wr_opcode all[] = {
        RNIC_WR_RDMA_WRITE,          RNIC_WR_RDMA_WRITE_WITH_IMM, RNIC_WR_SEND,
        RNIC_WR_SEND_WITH_IMM,       RNIC_WR_RDMA_READ,           RNIC_WR_ATOMIC_CMP_AND_SWP,
        RNIC_WR_ATOMIC_FETCH_AND_ADD};

    if (type == RNIC_QPT_UD)
        return all[2 + sim_dice_below(rng, 2)];
    if (type == RNIC_QPT_UC)
        return all[sim_dice_below(rng, 4)];
    switch (mix) {
    case MIX_WRITES:
        return all[sim_dice_below(rng, 2)];
    case MIX_SENDS:
        return all[2 + sim_dice_below(rng, 2)];
    case MIX_FETCHES:
        return sim_dice_one_in(rng, 3) ? RNIC_WR_RDMA_WRITE : all[4 + sim_dice_below(rng, 3)];
    default:
        return all[sim_dice_below(rng, 7)];
    }
}

static uint32_t flow_most(const struct sim_plan *plan, uint32_t side, uint32_t q)
{
    const struct sim_qp *qp = &plan->qps[q];

    if (qp->type == RNIC_QPT_UD)
        return plan->mtu_bytes;
    if (qp->recovery == RNIC_RECOVER_GO_BACK_0)
        return 3 * qp->mtu_bytes; /* a longer one may never come through */
    if (qp->type == RNIC_QPT_UC || qp->shared[1 - side])
        return MANY_BYTES;
    return SIM_MESSAGE_MAX;
}

/* An operand that other atomics on the word have something to do with. */
static uint64_t flow_operand(struct wire_rng *rng)
{
    return sim_dice_one_in(rng, 2) ? 1 + sim_dice_below(rng, 4) : wire_rng_next(rng);
}

static void flow_send(struct sim_plan *plan, struct sim_send *send, uint32_t side, uint32_t q,
                      enum flow_mix mix, uint32_t left, struct wire_rng *rng)
{
    const struct sim_qp *qp = &plan->qps[q];
    uint32_t most = flow_most(plan, side, q);
    bool fetches;

    *send = (struct sim_send){.consumer = SIM_NONE};
    send->opcode = flow_opcode(qp->type, mix, rng);
    fetches = sim_plan_fetches(send->opcode);
    if (left / qp->mtu_bytes < most / qp->mtu_bytes)
        most = left;
    send->bytes = flow_length(rng, qp->mtu_bytes, most);
    if (sim_plan_is_atomic(send->opcode))
        send->bytes = 8;
    send->imm = (uint32_t)wire_rng_next(rng);
    send->solicited = sim_dice_one_in(rng, 3);
    send->signaled = sim_dice_one_in(rng, 2);
    send->fence = qp->type == RNIC_QPT_RC && sim_dice_one_in(rng, 4);
    send->inlined = !fetches && send->bytes <= qp->inline_bytes[side] && sim_dice_one_in(rng, 2);
    send->reads_target = sim_dice_one_in(rng, 2);
    send->remote = sim_dice_below(rng, SIM_WORDS); /* atomics; others get a place later */
    send->add = flow_operand(rng);
    send->swap = flow_operand(rng);
    send->bad_qkey = qp->type == RNIC_QPT_UD && sim_dice_one_in(rng, 12);
    send->dest = q;
    for (uint32_t other = sim_dice_below(rng, plan->n_qps); other < plan->n_qps; other++)
        if (qp->type == RNIC_QPT_UD && plan->qps[other].type == RNIC_QPT_UD) {
            send->dest = other;
            break;
        }
    send->n = sim_plan_cut(rng, send->bytes, send->piece);
}

/* ---- windows ---- */

static void window_insert(struct sim_flow *flow, uint32_t at, const struct sim_send *send)
{
    for (uint32_t i = flow->n_sends++; i > at; i--)
        flow->sends[i] = flow->sends[i - 1];
    flow->sends[at] = *send;
}

/*
 * A READ that comes twice, long after it is done, is refused when its key is gone: where that may
 * happen, none goes through a window that is ended.
 */
static bool window_takes(const struct sim_plan *plan, enum rnic_wr_opcode opcode, bool ends)
{
    return sim_plan_is_write(opcode) ||
           (opcode == RNIC_WR_RDMA_READ && (!ends || (plan->faultless && !plan->fabric.used)));
}

/*
 * The side that is written to binds a window with its first send, and ends it with its last, or the
 * writing side does with a SEND_WITH_INV. So no wait of one side for the other closes a circle.
 */
static void window_make(struct sim_plan *plan, uint32_t side, uint32_t q, struct wire_rng *rng)
{
    struct sim_flow *flow = &plan->flows[side][q], *back = &plan->flows[1 - side][q];
    struct sim_send local = {.opcode = RNIC_WR_BIND_MW, .signaled = true, .consumer = SIM_NONE};
    struct sim_send release = {.opcode = RNIC_WR_SEND_WITH_INV,
                               .via_window = true,
                               .fence = true, /* a READ before it would find its key gone */
                               .consumer = SIM_NONE};
    uint32_t kind = sim_dice_below(rng, 4);

    flow->window.used = true;
    window_insert(back, 0, &local);
    for (uint32_t i = 0; i < flow->n_sends; i++)
        if (window_takes(plan, flow->sends[i].opcode, kind < 3)) {
            flow->sends[i].via_window = sim_dice_one_in(rng, 2);
            flow->sends[i].reads_target |= flow->sends[i].via_window;
        }
    if (kind == 0) {
        release.bytes = sim_dice_below(rng, 2 * plan->qps[q].mtu_bytes);
        release.n = sim_plan_cut(rng, release.bytes, release.piece);
        window_insert(flow, flow->n_sends, &release);
    } else if (kind < 3) {
        local.opcode = kind == 1 ? RNIC_WR_LOCAL_INV : RNIC_WR_BIND_MW;
        local.unbinds = kind == 2;
        window_insert(back, back->n_sends, &local);
    }
}

static void windows_make(struct sim_plan *plan, struct wire_rng *rng)
{
    for (uint32_t q = 0; q < plan->n_qps; q++)
        for (uint32_t s = 0; s < SIM_SIDES; s++)
            if (plan->qps[q].type == RNIC_QPT_RC && plan->qps[q].ending == SIM_ENDS_WELL &&
                sim_dice_one_in(rng, 3))
                window_make(plan, s, q, rng);
}

/* ---- one flow ---- */

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

static void flow_make(struct sim_plan *plan, uint32_t side, uint32_t q, struct wire_rng *rng,
                      uint32_t packets)
{
    struct sim_flow *flow = &plan->flows[side][q];
    const struct sim_qp *qp = &plan->qps[q];
    enum flow_mix mix = (enum flow_mix)sim_dice_below(rng, MIXES);
    uint32_t wanted = 1 + sim_dice_below(rng, SIM_SENDS_MAX - 4); /* windows need some */

    flow->fails_at = SIM_NONE;
    flow->psn = flow_psn(rng);
    flow->sq_depth = 1 + sim_dice_below(rng, sim_dice_one_in(rng, 3) ? 3 : SIM_SENDS_MAX);
    flow->sig_all = sim_dice_one_in(rng, 8);
    flow->overlap = qp->type == RNIC_QPT_RC && qp->ending == SIM_ENDS_WELL &&
                    qp->recovery == RNIC_RECOVER_GO_BACK_N && sim_dice_one_in(rng, 2);
    flow->start_ps = sim_dice_one_in(rng, 3) ? sim_dice_below(rng, 20000000) : 0;
    flow->send_gap_ps = sim_dice_one_in(rng, 2) ? 0 : 1 + sim_dice_below(rng, 10000000);
    while (flow->n_sends < wanted && packets > 0) {
        struct sim_send *send = &flow->sends[flow->n_sends++];
        uint32_t n;

        flow_send(plan, send, side, q, mix, packets * qp->mtu_bytes, rng);
        n = sim_plan_packets(send->opcode, send->bytes, qp->mtu_bytes);
        packets = packets > n ? packets - n : 0;
    }
}

void sim_plan_flows(struct sim_plan *plan, struct wire_rng *rng, uint32_t packets)
{
    uint32_t share = packets / (SIM_SIDES * plan->n_qps);

    for (uint32_t s = 0; s < SIM_SIDES; s++)
        for (uint32_t q = 0; q < plan->n_qps; q++) {
            bool none = plan->n_qps > 1 && sim_dice_one_in(rng, 8); /* one way */

            flow_make(plan, s, q, rng, none ? 0 : share < 3 ? 3 : share);
        }
    windows_make(plan, rng);
}
