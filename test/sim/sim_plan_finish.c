/* SPDX-License-Identifier: GPL-2.0-only */
/* What follows from the sends of a plan: windows, signals, counts, and the receives for them. */
#include "sim_dice.h"
#include "sim_plan.h"

/* ---- windows ---- */

static uint32_t finish_find(const struct sim_flow *flow, enum rnic_wr_opcode opcode, bool unbinds)
{
    for (uint32_t i = 0; i < flow->n_sends; i++)
        if (flow->sends[i].opcode == opcode && flow->sends[i].unbinds == unbinds)
            return i;
    return SIM_NONE;
}

static void finish_remove(struct sim_flow *flow, uint32_t at)
{
    if (at == SIM_NONE)
        return;
    flow->n_sends--;
    for (uint32_t i = at; i < flow->n_sends; i++)
        flow->sends[i] = flow->sends[i + 1];
}

/* An edit may have left out the bind: then the window is gone. */
static void finish_window_gone(struct sim_flow *flow, struct sim_flow *back)
{
    if (!flow->window.used || finish_find(back, RNIC_WR_BIND_MW, false) != SIM_NONE)
        return;
    flow->window.used = false;
    finish_remove(back, finish_find(back, RNIC_WR_LOCAL_INV, false));
    finish_remove(back, finish_find(back, RNIC_WR_BIND_MW, true));
    for (uint32_t i = 0; i < flow->n_sends; i++) {
        flow->sends[i].via_window = false;
        if (flow->sends[i].opcode == RNIC_WR_SEND_WITH_INV)
            flow->sends[i].opcode = RNIC_WR_SEND;
    }
}

static void finish_window(struct sim_flow *flow, struct sim_flow *back)
{
    if (!flow->window.used)
        return;
    flow->window.bound_at = finish_find(back, RNIC_WR_BIND_MW, false);
    flow->window.ended_at = finish_find(back, RNIC_WR_LOCAL_INV, false);
    if (flow->window.ended_at == SIM_NONE)
        flow->window.ended_at = finish_find(back, RNIC_WR_BIND_MW, true);
    flow->window.released_at = finish_find(flow, RNIC_WR_SEND_WITH_INV, false);
}

/* ---- sends ---- */

static void finish_sends(const struct sim_qp *qp, struct sim_flow *flow)
{
    uint32_t silent = 0; /* unsignaled in a row */

    flow->consumers = flow->packets = flow->requests = 0;
    for (uint32_t i = 0; i < flow->n_sends; i++) {
        struct sim_send *send = &flow->sends[i];

        send->packets = sim_plan_packets(send->opcode, send->bytes, qp->mtu_bytes);
        send->signaled |= flow->sig_all || silent + 1 >= flow->sq_depth || i + 1 == flow->n_sends ||
                          send->via_window;
        silent = send->signaled ? 0 : silent + 1;
        send->consumer = sim_plan_consumes(send->opcode) ? flow->consumers++ : SIM_NONE;
        flow->packets += send->packets;
        flow->requests += send->opcode == RNIC_WR_RDMA_READ ? 1 : send->packets;
    }
}

/* ---- receives ---- */

/* What may come into a pool. */
struct finish_need {
    uint32_t n, bytes;
};

static void finish_need(const struct sim_plan *plan, uint32_t side, uint32_t q,
                        struct finish_need *need)
{
    bool lossy = plan->qps[q].type != RNIC_QPT_RC;

    for (uint32_t from = 0; from < plan->n_qps; from++) {
        const struct sim_flow *in = &plan->flows[1 - side][from];

        for (uint32_t i = 0; i < in->n_sends; i++) {
            const struct sim_send *send = &in->sends[i];
            uint32_t bytes = plan->qps[q].type == RNIC_QPT_UD ? RNIC_GRH_BYTES : 0;

            if ((plan->qps[from].type == RNIC_QPT_UD ? send->dest : from) != q ||
                send->consumer == SIM_NONE)
                continue;
            bytes += sim_plan_is_write(send->opcode) ? 0 : send->bytes;
            need->n += lossy ? 2 : 1; /* the line may double datagrams */
            need->bytes = bytes > need->bytes ? bytes : need->bytes;
        }
    }
}

static void finish_recv(struct sim_pool *pool, uint32_t bytes, struct wire_rng *rng)
{
    struct sim_recv *recv = &pool->recvs[pool->n++];

    *recv = (struct sim_recv){0};
    recv->n = sim_plan_cut(rng, bytes, recv->to);
}

/* Each receive of a reliable connection's own queue is made for its message. */
static void finish_measured(const struct sim_qp *qp, struct sim_pool *pool,
                            const struct sim_flow *in, struct wire_rng *rng)
{
    uint32_t spare = sim_dice_below(rng, 3);

    for (uint32_t i = 0; i < in->n_sends; i++) {
        const struct sim_send *send = &in->sends[i];
        struct sim_recv *recv = &pool->recvs[pool->n];
        uint32_t bytes = sim_plan_is_write(send->opcode) ? 0 : send->bytes;
        bool fails = i == in->fails_at;

        if (send->consumer == SIM_NONE)
            continue;
        if (fails && qp->ending == SIM_ENDS_NOT_READY)
            return;
        if (fails && qp->ending == SIM_ENDS_TOO_LONG)
            bytes = sim_dice_below(rng, bytes);
        *recv = (struct sim_recv){.bad_key = fails && qp->ending == SIM_ENDS_RECV_KEY};
        recv->n = sim_plan_cut(rng, bytes, recv->to);
        if (recv->n > 0 && !fails && sim_dice_one_in(rng, 2)) /* larger than what comes */
            recv->to[recv->n - 1].bytes += sim_dice_below(rng, 100);
        pool->n++;
    }
    for (; spare > 0; spare--)
        finish_recv(pool, sim_dice_below(rng, 64), rng);
}

static void finish_pool(struct sim_plan *plan, uint32_t side, uint32_t p, struct wire_rng *rng)
{
    static const uint64_t rnr_us[] = {0, 10, 20, 30, 40, 60, 80};
    struct sim_pool *pool = &plan->pools[side][p];
    bool starved =
        p < SIM_SHARED && plan->qps[p].ending == SIM_ENDS_NOT_READY && plan->qps[p].failing != side;
    struct finish_need need = {0};

    pool->n = 0;
    for (uint32_t q = 0; q < plan->n_qps; q++)
        if (sim_plan_pool(plan, side, q) == p)
            finish_need(plan, side, q, &need);
    if (p < SIM_SHARED && plan->qps[p].type == RNIC_QPT_RC) {
        if (need.n > 0 && !plan->qps[p].shared[side])
            finish_measured(&plan->qps[p], pool, &plan->flows[1 - side][p], rng);
    } else if (need.n > 0) {
        need.n += sim_dice_below(rng, 3) + (p == SIM_SHARED ? 8 + plan->n_qps : 0);
        while (pool->n < need.n && pool->n < SIM_RECVS_MAX)
            finish_recv(pool, need.bytes, rng);
    }
    pool->depth = 1 + sim_dice_below(rng, sim_dice_one_in(rng, 3) ? 3 : 24);
    pool->first = pool->n;
    if (starved && pool->depth < pool->n)
        pool->depth = pool->n;                 /* none is late: each wait may be the last */
    if (!starved && sim_dice_one_in(rng, 3)) { /* late: RNR NAKs, but a few for each */
        pool->first = sim_dice_below(rng, pool->n + 1);
        pool->gap_ps = 1 + sim_dice_below(rng, (uint32_t)(4000000 * rnr_us[plan->rnr_timer[side]]));
    }
    pool->limit =
        p == SIM_SHARED && sim_dice_one_in(rng, 2) ? 1 + sim_dice_below(rng, pool->depth) : 0;
}

void sim_plan_finish(struct sim_plan *plan, struct wire_rng *rng)
{
    for (uint32_t q = 0; q < plan->n_qps; q++) {
        for (uint32_t s = 0; s < SIM_SIDES; s++)
            finish_window_gone(&plan->flows[s][q], &plan->flows[1 - s][q]);
        for (uint32_t s = 0; s < SIM_SIDES; s++)
            finish_sends(&plan->qps[q], &plan->flows[s][q]);
        for (uint32_t s = 0; s < SIM_SIDES; s++)
            finish_window(&plan->flows[s][q], &plan->flows[1 - s][q]);
    }
    for (uint32_t s = 0; s < SIM_SIDES; s++) {
        for (uint32_t q = 0; q < plan->n_qps; q++)
            finish_pool(plan, s, q, rng);
        finish_pool(plan, s, SIM_SHARED, rng);
    }
}
