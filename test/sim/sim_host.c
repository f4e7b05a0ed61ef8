/* SPDX-License-Identifier: GPL-2.0-only */
/* One side of the run: its objects and the states of its queue pairs. */
#include "sim.h"
#include "sim_dice.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory for the card ---- */

static void *host_memory(struct sim_host *host, size_t bytes)
{
    void *block = aligned_alloc(64, (bytes + 63) & ~(size_t)63);

    if (block == NULL || host->n_blocks == sizeof host->blocks / sizeof host->blocks[0])
        abort();
    host->blocks[host->n_blocks++] = block;
    return block;
}

bool sim_host_again(struct sim_host *host, int err)
{
    size_t bytes;

    if (err != RNIC_ERR_NOMEM)
        return false;
    bytes = rnic_mem_wanted(host->dev);
    rnic_mem_give(host->dev, host_memory(host, bytes), bytes);
    return true;
}

void sim_host_want(struct sim_host *host, int err, const char *verb)
{
    if (err < 0)
        sim_fail(host->sim, "%s: %s: %s", sim_side_name(host->side), verb, rnic_err_name(err));
}

/* ---- regions and windows ---- */

static void host_register(struct sim_host *host, const struct sim_region *region, unsigned access,
                          uint32_t *key)
{
    int err;

    do
        err =
            rnic_reg_mr(host->dev, host->pd, region->va, region->bytes,
                        host->sim->plan.phantom ? NULL : host->memory + region->at, access, key, 0);
    while (sim_host_again(host, err));
    sim_host_want(host, err, "reg_mr");
}

static void host_window(struct sim_host *host, uint32_t *key)
{
    int err;

    do
        err = rnic_alloc_mw(host->dev, host->pd, key, 0);
    while (sim_host_again(host, err));
    sim_host_want(host, err, "alloc_mw");
}

static void host_regions(struct sim_host *host)
{
    const unsigned local = RNIC_ACCESS_LOCAL_WRITE;
    const struct sim_plan *plan = &host->sim->plan;
    const struct sim_card *card = &plan->cards[host->side];

    host_register(host, &card->source, 0, &host->dead_key);
    sim_host_want(host, rnic_dereg_mr(host->dev, host->dead_key, 0), "dereg_mr");
    host_register(host, &card->words, local | RNIC_ACCESS_REMOTE_ATOMIC, &host->words_key);
    host_window(host, &host->loose_window);
    for (uint32_t q = 0; q < plan->n_qps; q++) {
        const struct sim_flow *in = &plan->flows[1 - host->side][q];
        const struct sim_flow *out = &plan->flows[host->side][q];
        unsigned target = local | RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ;

        target |= in->window.used ? RNIC_ACCESS_MW_BIND : 0;
        host_register(host, &card->source, RNIC_ACCESS_REMOTE_READ, &host->source_key[q]);
        host_register(host, &in->target, target, &host->target_key[q]);
        host_register(host, &out->results, local, &host->results_key[q]);
        host_register(host, &plan->pools[host->side][q].slots, local, &host->slots_key[q]);
        if (in->window.used)
            host_window(host, &host->window_key[q]);
    }
    host_register(host, &plan->pools[host->side][SIM_SHARED].slots, local,
                  &host->slots_key[SIM_SHARED]);
}

/* ---- queues ---- */

static void host_cqs(struct sim_host *host)
{
    const struct sim_plan *plan = &host->sim->plan;
    const struct sim_card *card = &plan->cards[host->side];
    int err;

    for (uint32_t c = 0; c < card->n_cqs; c++) {
        /* depths are rounded up, so is this: enough for all that is open */
        uint32_t entries = 1 + 4 * plan->pools[host->side][SIM_SHARED].depth;

        for (uint32_t q = 0; q < plan->n_qps; q++)
            entries += 2 * (plan->flows[host->side][q].sq_depth + plan->pools[host->side][q].depth);
        do
            err = rnic_create_cq(host->dev, entries, &host->cq[c], 0);
        while (sim_host_again(host, err));
        sim_host_want(host, err, "create_cq");
    }
}

static void host_shared(struct sim_host *host)
{
    const struct sim_pool *pool = &host->sim->plan.pools[host->side][SIM_SHARED];
    const struct rnic_srq_attr attr = {.max_wr = pool->depth, .max_sge = SIM_PIECES_MAX};
    int err;

    do
        err = rnic_create_srq(host->dev, host->pd, &attr, &host->recvs[SIM_SHARED].srq, 0);
    while (sim_host_again(host, err));
    sim_host_want(host, err, "create_srq");
}

static void host_queue_pair(struct sim_host *host, uint32_t q)
{
    const struct sim_plan *plan = &host->sim->plan;
    const struct sim_card *card = &plan->cards[host->side];
    const struct sim_qp *qp = &plan->qps[q];
    const struct rnic_qp_init_attr init = {
        .type = qp->type,
        .pd = host->pd,
        .send_cq = host->cq[card->send_cq[q]],
        .recv_cq = host->cq[card->recv_cq[q]],
        .max_send_wr = plan->flows[host->side][q].sq_depth,
        .max_recv_wr = qp->shared[host->side] ? 0 : plan->pools[host->side][q].depth,
        .max_send_sge = SIM_PIECES_MAX,
        .max_recv_sge = SIM_PIECES_MAX,
        .max_inline_data = qp->inline_bytes[host->side],
        .srq = qp->shared[host->side] ? host->recvs[SIM_SHARED].srq : 0,
        .sq_sig_all = plan->flows[host->side][q].sig_all,
        .e2e_credits = qp->credits,
        .recovery = qp->recovery,
        .window_bytes = qp->window_bytes[host->side],
    };
    int err;

    do
        err = rnic_create_qp(host->dev, &init, &host->queues[q].qpn, 0);
    while (sim_host_again(host, err));
    sim_host_want(host, err, "create_qp");
}

void sim_host_open(struct sim_host *host, struct sim *sim, uint32_t side, uint32_t station)
{
    const struct sim_card *card = &sim->plan.cards[side];
    const struct rnic_config config = {
        .params = card->params,
        .cc = card->cc,
        .cc_config = {.line_bps = sim->plan.link.line[side].rate_bps, .dcqcn = card->dcqcn},
        .station = station,
    };
    int err;

    memset(host, 0, sizeof *host);
    host->sim = sim;
    host->side = side;
    host->rng = wire_rng_init(sim->plan.seed, 100 + side);
    host->memory = malloc(card->arena_bytes);
    host->kept = malloc(card->arena_bytes);
    if (host->memory == NULL || host->kept == NULL)
        abort();
    memcpy(host->memory, card->before, card->arena_bytes);
    host->dev = rnic_device_init(host_memory(host, rnic_device_bytes()), &config);
    if (host->dev == NULL) {
        sim_fail(sim, "%s: a parameter is out of range", sim_side_name(side));
        return;
    }
    if (sim->trace)
        rnic_trace_enable(host->dev, UINT32_MAX);
    do
        err = rnic_alloc_pd(host->dev, &host->pd, 0);
    while (sim_host_again(host, err));
    sim_host_want(host, err, "alloc_pd");
    host_regions(host);
    host_cqs(host);
    sim_host_arm(host);
    host_shared(host);
    for (uint32_t q = 0; q < sim->plan.n_qps; q++)
        host_queue_pair(host, q);
}

void sim_host_close(struct sim_host *host)
{
    for (uint32_t i = 0; i < host->n_blocks; i++)
        free(host->blocks[i]);
    free(host->memory);
    free(host->kept);
}

/* ---- states ---- */

enum rnic_qp_state sim_host_state(struct sim_host *host, uint32_t q)
{
    struct rnic_qp_attr attr;

    if (rnic_query_qp(host->dev, host->queues[q].qpn, &attr, NULL) != 0)
        return RNIC_QPS_RESET;
    return attr.qp_state;
}

uint32_t sim_host_find(const struct sim_host *host, uint32_t qpn)
{
    for (uint32_t q = 0; q < host->sim->plan.n_qps; q++)
        if (host->queues[q].qpn == qpn)
            return q;
    return SIM_NONE;
}

static void host_modify(struct sim_host *host, uint32_t q, const struct rnic_qp_attr *attr,
                        unsigned mask, const char *verb)
{
    int err;

    do
        err = rnic_modify_qp(host->dev, host->queues[q].qpn, attr, RNIC_QP_STATE | mask,
                             host->sim->now_ps);
    while (sim_host_again(host, err));
    sim_host_want(host, err, verb);
}

void sim_host_rts(struct sim_host *host, uint32_t q)
{
    const struct sim_plan *plan = &host->sim->plan;
    const struct sim_qp *qp = &plan->qps[q];
    bool fails = qp->ending == SIM_ENDS_NOT_READY && host->side == qp->failing;
    const struct rnic_qp_attr attr = {
        .qp_state = RNIC_QPS_RTS,
        .sq_psn = plan->flows[host->side][q].psn,
        .timeout = plan->timeout,
        .retry_cnt = plan->retry_cnt,
        .rnr_retry = fails ? qp->rnr_retry : 7,
        .max_rd_atomic = qp->rd_atomic[host->side],
        .rate_limit_bps = qp->rate_bps[host->side],
    };
    unsigned mask = RNIC_QP_SQ_PSN;

    host->queues[q].ready = true;
    if (host->queues[q].gone || sim_host_state(host, q) == RNIC_QPS_ERR)
        return; /* it has refused a request already, or was broken by hand */
    if (qp->type == RNIC_QPT_RC)
        mask |= RNIC_QP_TIMEOUT | RNIC_QP_RETRY_CNT | RNIC_QP_RNR_RETRY | RNIC_QP_MAX_QP_RD_ATOMIC;
    if (attr.rate_limit_bps > 0)
        mask |= RNIC_QP_RATE_LIMIT;
    host_modify(host, q, &attr, mask, "modify_qp to RTS");
}

struct rnic_av sim_host_av(const struct sim_host *host, uint32_t q)
{
    const struct sim_qp *qp = &host->sim->plan.qps[q];

    return (struct rnic_av){.dest_station = host->peer_station,
                            .next_hop = host->next_hop,
                            .traffic_class = (uint8_t)(qp->dscp << 2),
                            .hop_limit = 64,
                            .ipv6 = qp->ipv6,
                            .roce_v1 = qp->roce_v1};
}

static void host_init(struct sim_host *host, uint32_t q)
{
    bool datagram = host->sim->plan.qps[q].type == RNIC_QPT_UD;
    const struct rnic_qp_attr attr = {.qp_state = RNIC_QPS_INIT,
                                      .port_num = 1,
                                      .qkey = SIM_QKEY + q,
                                      .qp_access_flags = RNIC_ACCESS_REMOTE_WRITE |
                                                         RNIC_ACCESS_REMOTE_READ |
                                                         RNIC_ACCESS_REMOTE_ATOMIC};

    host_modify(host, q, &attr,
                RNIC_QP_PKEY_INDEX | RNIC_QP_PORT |
                    (unsigned)(datagram ? RNIC_QP_QKEY : RNIC_QP_ACCESS_FLAGS),
                "modify_qp to INIT");
}

static void host_rtr(struct sim_host *host, const struct sim_host *peer, uint32_t q)
{
    const struct sim_plan *plan = &host->sim->plan;
    const struct sim_qp *qp = &plan->qps[q];
    const struct rnic_qp_attr attr = {
        .qp_state = RNIC_QPS_RTR,
        .av = sim_host_av(host, q),
        .path_mtu_bytes = qp->mtu_bytes,
        .dest_qp_num = peer->queues[q].qpn,
        .rq_psn = plan->flows[1 - host->side][q].psn,
        .min_rnr_timer = plan->rnr_timer[host->side],
        .max_dest_rd_atomic = qp->rd_atomic[1 - host->side],
    };
    unsigned mask = 0;

    if (qp->type != RNIC_QPT_UD)
        mask |= RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN;
    if (qp->type == RNIC_QPT_RC)
        mask |= RNIC_QP_MAX_DEST_RD_ATOMIC | RNIC_QP_MIN_RNR_TIMER;
    host_modify(host, q, &attr, mask, "modify_qp to RTR");
}

/* The shared queue is armed once its first receives are there. */
static void host_arm(struct sim_host *host)
{
    const struct sim_pool *pool = &host->sim->plan.pools[host->side][SIM_SHARED];
    struct sim_recvs *recvs = &host->recvs[SIM_SHARED];

    recvs->armed = pool->limit > 0 && recvs->posted >= pool->limit;
    if (recvs->armed)
        sim_host_want(host, rnic_modify_srq(host->dev, recvs->srq, pool->limit, 0), "modify_srq");
}

void sim_host_connect(struct sim_host *host, const struct sim_host *peer, uint32_t peer_station,
                      uint32_t next_hop)
{
    const struct sim_plan *plan = &host->sim->plan;

    host->peer_station = peer_station;
    host->next_hop = next_hop;
    for (uint32_t q = 0; q < plan->n_qps; q++) {
        struct sim_queue *queue = &host->queues[q];

        host_init(host, q);
        host_rtr(host, peer, q);
        queue->failed_at = SIM_NONE;
        queue->incident_ps = WIRE_NEVER;
        queue->send_ps = plan->flows[host->side][q].start_ps;
    }
    for (uint32_t p = 0; p < SIM_POOLS; p++) {
        const struct sim_pool *pool = &plan->pools[host->side][p];

        host->recvs[p].recv_ps = WIRE_NEVER;
        if (pool->first > 0)
            sim_post_recvs(host, p, 0);
        else if (pool->n > 0)
            host->recvs[p].recv_ps = 1 + sim_dice_between(&host->rng, 0, pool->gap_ps);
    }
    host_arm(host);
}
