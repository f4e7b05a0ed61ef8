/* SPDX-License-Identifier: GPL-2.0-only */
/* One side of the run: its objects, what it posts and when it polls. */
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

/* Did a verb ask for memory? Then it has it now, and is to be called again. */
static bool host_again(struct sim_host *host, int err)
{
    size_t bytes;

    if (err != RNIC_ERR_NOMEM)
        return false;
    bytes = rnic_mem_wanted(host->dev);
    rnic_mem_give(host->dev, host_memory(host, bytes), bytes);
    return true;
}

static void host_want(struct sim_host *host, int err, const char *verb)
{
    if (err < 0)
        sim_fail(host->sim, "%s: %s: %s", sim_side_name(host->side), verb, rnic_err_name(err));
}

/* ---- objects ---- */

static void host_register(struct sim_host *host, const struct sim_region *region, unsigned access,
                          uint32_t *key)
{
    int err;

    do
        err =
            rnic_reg_mr(host->dev, host->pd, region->va, region->bytes,
                        host->sim->plan.phantom ? NULL : host->memory + region->at, access, key, 0);
    while (host_again(host, err));
    host_want(host, err, "reg_mr");
}

static void host_regions(struct sim_host *host)
{
    const struct sim_plan *plan = &host->sim->plan;
    const struct sim_region *source = &plan->cards[host->side].source;

    host_register(host, source, 0, &host->dead_key);
    host_want(host, rnic_dereg_mr(host->dev, host->dead_key, 0), "dereg_mr");
    host_register(host, source, 0, &host->source_key);
    for (uint32_t q = 0; q < plan->n_qps; q++) {
        const struct sim_flow *in = &plan->flows[1 - host->side][q];

        host_register(host, &in->target, in->target.access, &host->target_key[q]);
        host_register(host, &in->slots, in->slots.access, &host->slots_key[q]);
    }
}

static void host_cqs(struct sim_host *host)
{
    const struct sim_plan *plan = &host->sim->plan;
    const struct sim_card *card = &plan->cards[host->side];
    int err;

    for (uint32_t c = 0; c < card->n_cqs; c++) {
        uint32_t entries = 1; /* depths are rounded up, so is this: enough for all that is open */

        for (uint32_t q = 0; q < plan->n_qps; q++)
            entries +=
                2 * (plan->flows[host->side][q].sq_depth + plan->flows[1 - host->side][q].rq_depth);
        do
            err = rnic_create_cq(host->dev, entries, &host->cq[c], 0);
        while (host_again(host, err));
        host_want(host, err, "create_cq");
        host->cq_ps[c] = card->polls ? card->poll_ps : WIRE_NEVER;
        if (!card->polls)
            host_want(host, rnic_req_notify_cq(host->dev, host->cq[c], false, 0), "req_notify_cq");
    }
}

static void host_queue_pair(struct sim_host *host, uint32_t q)
{
    const struct sim_plan *plan = &host->sim->plan;
    const struct sim_card *card = &plan->cards[host->side];
    const struct rnic_qp_init_attr init = {
        .type = RNIC_QPT_RC,
        .pd = host->pd,
        .send_cq = host->cq[card->send_cq[q]],
        .recv_cq = host->cq[card->recv_cq[q]],
        .max_send_wr = plan->flows[host->side][q].sq_depth,
        .max_recv_wr = plan->flows[1 - host->side][q].rq_depth,
        .max_send_sge = SIM_PIECES_MAX,
        .max_recv_sge = SIM_PIECES_MAX,
        .sq_sig_all = plan->flows[host->side][q].sig_all,
    };
    int err;

    do
        err = rnic_create_qp(host->dev, &init, &host->queues[q].qpn, 0);
    while (host_again(host, err));
    host_want(host, err, "create_qp");
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

    *host = (struct sim_host){.sim = sim, .side = side};
    host->rng = wire_rng_init(sim->plan.seed, 100 + side);
    host->memory = malloc(card->arena_bytes);
    if (host->memory == NULL)
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
    while (host_again(host, err));
    host_want(host, err, "alloc_pd");
    host_regions(host);
    host_cqs(host);
    for (uint32_t q = 0; q < sim->plan.n_qps; q++)
        host_queue_pair(host, q);
}

void sim_host_close(struct sim_host *host)
{
    for (uint32_t i = 0; i < host->n_blocks; i++)
        free(host->blocks[i]);
    free(host->memory);
}

/* ---- states ---- */

static void host_rts(struct sim_host *host, uint32_t q)
{
    const struct sim_plan *plan = &host->sim->plan;
    bool fails = plan->ending == SIM_ENDS_NOT_READY && host->side == 0 && q == 0;
    const struct rnic_qp_attr attr = {.qp_state = RNIC_QPS_RTS,
                                      .sq_psn = plan->flows[host->side][q].psn,
                                      .timeout = plan->timeout,
                                      .retry_cnt = plan->retry_cnt,
                                      .rnr_retry = fails ? plan->rnr_retry : 7};
    struct rnic_qp_attr now;
    int err;

    (void)rnic_query_qp(host->dev, host->queues[q].qpn, &now, NULL);
    host->queues[q].ready = true;
    if (now.qp_state == RNIC_QPS_ERR)
        return; /* it has refused a request already */
    err = rnic_modify_qp(host->dev, host->queues[q].qpn, &attr,
                         RNIC_QP_STATE | RNIC_QP_SQ_PSN | RNIC_QP_TIMEOUT | RNIC_QP_RETRY_CNT |
                             RNIC_QP_RNR_RETRY | RNIC_QP_MAX_QP_RD_ATOMIC,
                         host->sim->now_ps);
    host_want(host, err, "modify_qp to RTS");
}

static void host_rtr(struct sim_host *host, const struct sim_host *peer, uint32_t q,
                     uint32_t peer_station, uint32_t next_hop)
{
    const struct sim_plan *plan = &host->sim->plan;
    struct rnic_qp_attr attr = {
        .qp_state = RNIC_QPS_INIT, .port_num = 1, .qp_access_flags = RNIC_ACCESS_REMOTE_WRITE};
    uint32_t qpn = host->queues[q].qpn;

    host_want(
        host,
        rnic_modify_qp(host->dev, qpn, &attr,
                       RNIC_QP_STATE | RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_ACCESS_FLAGS, 0),
        "modify_qp to INIT");
    attr = (struct rnic_qp_attr){
        .qp_state = RNIC_QPS_RTR,
        .av = {.dest_station = peer_station,
               .next_hop = next_hop,
               .traffic_class = (uint8_t)(plan->dscp[q] << 2),
               .hop_limit = 64,
               .ipv6 = plan->ipv6[q]},
        .path_mtu_bytes = plan->mtu_bytes,
        .dest_qp_num = peer->queues[q].qpn,
        .rq_psn = plan->flows[1 - host->side][q].psn,
        .min_rnr_timer = plan->rnr_timer[host->side],
    };
    host_want(host,
              rnic_modify_qp(host->dev, qpn, &attr,
                             RNIC_QP_STATE | RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN |
                                 RNIC_QP_RQ_PSN | RNIC_QP_MAX_DEST_RD_ATOMIC |
                                 RNIC_QP_MIN_RNR_TIMER,
                             0),
              "modify_qp to RTR");
}

/* ---- posting ---- */

static void host_post_recv(struct sim_host *host, uint32_t q)
{
    const struct sim_flow *in = &host->sim->plan.flows[1 - host->side][q];
    struct sim_queue *queue = &host->queues[q];
    const struct sim_recv *recv = &in->recvs[queue->recv_posted];
    struct rnic_sge sges[SIM_PIECES_MAX];
    struct rnic_recv_wr wr = {
        .wr_id = UINT64_C(1) << 63 | (uint64_t)q << 32 | queue->recv_posted,
        .sg_list = sges,
        .num_sge = recv->n,
    };

    for (uint32_t i = 0; i < recv->n; i++)
        sges[i] = (struct rnic_sge){.addr = in->slots.va + (recv->to[i].at - in->slots.at),
                                    .length = recv->to[i].bytes,
                                    .lkey = host->slots_key[q]};
    host_want(host, rnic_post_recv(host->dev, queue->qpn, &wr, host->sim->now_ps), "post_recv");
    sim_say(host->sim, "%s qp %u posts receive %u", sim_side_name(host->side), q,
            queue->recv_posted);
    memset(sges, 0xEE, sizeof sges); /* the list is the caller's again */
    queue->recv_posted++;
}

static void host_post_recvs(struct sim_host *host, uint32_t q, uint64_t now_ps)
{
    const struct sim_flow *in = &host->sim->plan.flows[1 - host->side][q];
    struct sim_queue *queue = &host->queues[q];
    bool late = queue->recv_posted >= in->recv_first;

    queue->recv_ps = WIRE_NEVER;
    while (queue->recv_posted < in->n_recvs &&
           queue->recv_posted - queue->recv_seen < in->rq_depth) {
        host_post_recv(host, q);
        if (queue->recv_posted < in->n_recvs && (late || queue->recv_posted == in->recv_first)) {
            queue->recv_ps = now_ps + 1 + sim_dice_between(&host->rng, 0, in->recv_gap_ps);
            return;
        }
    }
}

static uint32_t host_rounded(uint32_t depth)
{
    uint32_t n = 1;

    while (n < depth)
        n *= 2;
    return n;
}

/* Last piece with a byte in it. */
static uint32_t host_last_piece(const struct sim_send *send)
{
    uint32_t i = send->n;

    while (i > 0 && send->from[i - 1].bytes == 0)
        i--;
    return i - 1;
}

static int host_post_send(struct sim_host *host, uint32_t q)
{
    struct sim *sim = host->sim;
    const struct sim_host *peer = &sim->hosts[1 - host->side];
    const struct sim_flow *flow = &sim->plan.flows[host->side][q];
    const struct sim_region *source = &sim->plan.cards[host->side].source;
    struct sim_queue *queue = &host->queues[q];
    const struct sim_send *send = &flow->sends[queue->posted];
    bool bad = queue->posted == flow->fails_at;
    bool refuse = bad && sim->plan.ending == SIM_ENDS_REFUSED;
    struct rnic_sge sges[SIM_PIECES_MAX];
    struct rnic_send_wr wr = {
        .wr_id = (uint64_t)q << 32 | queue->posted,
        .opcode = send->opcode,
        .send_flags = (send->signaled && !flow->sig_all ? RNIC_SEND_SIGNALED : 0u) |
                      (send->solicited ? RNIC_SEND_SOLICITED : 0u),
        .imm = send->imm,
        .sg_list = sges,
        .num_sge = send->n,
    };
    int err;

    for (uint32_t i = 0; i < send->n; i++)
        sges[i] = (struct rnic_sge){.addr = source->va + (send->from[i].at - source->at),
                                    .length = send->from[i].bytes,
                                    .lkey = bad && sim->plan.ending == SIM_ENDS_LOCAL &&
                                                    i == host_last_piece(send)
                                                ? host->dead_key
                                                : host->source_key};
    if (sim_plan_is_write(send->opcode)) {
        wr.rkey = peer->target_key[q];
        wr.remote_addr = flow->target.va + (send->to - flow->target.at);
        if (refuse && sim->plan.refusal == SIM_BAD_RKEY)
            wr.rkey = peer->dead_key;
        if (refuse && sim->plan.refusal == SIM_BAD_BOUNDS) /* one byte too far */
            wr.remote_addr = flow->target.va + flow->target.bytes - send->bytes + 1;
        if (refuse && sim->plan.refusal == SIM_BAD_ACCESS)
            wr.rkey = peer->slots_key[q], wr.remote_addr = flow->slots.va;
    }
    err = rnic_post_send(host->dev, queue->qpn, &wr, sim->now_ps);
    memset(sges, 0xEE, sizeof sges);
    return err;
}

/* Post one send, or learn that there is no room: the card must agree with our count. */
static bool host_try_send(struct sim_host *host, uint32_t q)
{
    const struct sim_flow *flow = &host->sim->plan.flows[host->side][q];
    struct sim_queue *queue = &host->queues[q];
    uint32_t open = queue->posted - queue->seen;
    bool full = open >= host_rounded(flow->sq_depth);
    struct rnic_qp_attr attr;
    int err = rnic_query_qp(host->dev, queue->qpn, &attr, NULL);

    host_want(host, err, "query_qp");
    if (full && attr.qp_state == RNIC_QPS_ERR)
        return false; /* it would take it; our own CQ would not */
    err = host_post_send(host, q);
    if (full) {
        if (err != RNIC_ERR_FULL)
            sim_fail(host->sim, "%s qp %u: post_send with %u open says %s, not FULL",
                     sim_side_name(host->side), q, open, rnic_err_name(err));
        return false;
    }
    host_want(host, err, "post_send");
    sim_say(host->sim, "%s qp %u posts send %u", sim_side_name(host->side), q, queue->posted);
    queue->posted++;
    return true;
}

static void host_post_sends(struct sim_host *host, uint32_t q, uint64_t now_ps)
{
    const struct sim_flow *flow = &host->sim->plan.flows[host->side][q];
    struct sim_queue *queue = &host->queues[q];

    if (!queue->ready)
        host_rts(host, q);
    queue->send_ps = WIRE_NEVER;
    while (queue->posted < flow->n_sends && !host->sim->failed) {
        if (!host_try_send(host, q))
            return; /* a completion makes room */
        if (flow->send_gap_ps > 0 && queue->posted < flow->n_sends) {
            queue->send_ps = now_ps + sim_dice_between(&host->rng, 1, flow->send_gap_ps);
            return;
        }
    }
}

void sim_host_connect(struct sim_host *host, const struct sim_host *peer, uint32_t peer_station,
                      uint32_t next_hop)
{
    const struct sim_plan *plan = &host->sim->plan;

    for (uint32_t q = 0; q < plan->n_qps; q++) {
        const struct sim_flow *in = &plan->flows[1 - host->side][q];
        struct sim_queue *queue = &host->queues[q];

        host_rtr(host, peer, q, peer_station, next_hop);
        queue->failed_at = SIM_NONE;
        queue->send_ps = plan->flows[host->side][q].start_ps;
        queue->recv_ps = WIRE_NEVER;
        if (in->recv_first > 0)
            host_post_recvs(host, q, 0);
        else if (in->n_recvs > 0)
            queue->recv_ps = 1 + sim_dice_between(&host->rng, 0, in->recv_gap_ps);
    }
}

/* ---- polling ---- */

static void host_take(struct sim_host *host, const struct rnic_wc *wc)
{
    struct sim *sim = host->sim;
    struct rnic_wc copy = *wc;

    if (sim_spoil_now(sim, SIM_SPOIL_LOST))
        return;
    if (sim_spoil_now(sim, SIM_SPOIL_TWICE))
        sim_host_completed(host, wc);
    if (copy.status == RNIC_WC_SUCCESS && (copy.wr_id >> 63) != 0 &&
        sim_spoil_now(sim, SIM_SPOIL_FIELD)) {
        if (copy.wc_flags & RNIC_WC_WITH_IMM)
            copy.imm ^= 1;
        else
            copy.byte_len ^= 1;
    }
    if (!host->keeps && sim_spoil_now(sim, SIM_SPOIL_ORDER)) {
        host->kept = copy;
        host->keeps = true;
        return;
    }
    sim_host_completed(host, &copy);
    if (host->keeps && sim->spoil == SIM_SPOIL_ORDER && host->kept.qp_num == copy.qp_num &&
        host->kept.wr_id >> 63 == copy.wr_id >> 63) {
        host->keeps = false;
        sim_host_completed(host, &host->kept);
    }
}

static void host_poll(struct sim_host *host, uint32_t c, uint64_t now_ps)
{
    struct rnic_wc wc[8];
    int n;

    do {
        n = rnic_poll_cq(host->dev, host->cq[c], host->sim->plan.cards[host->side].batch, wc,
                         now_ps);
        host_want(host, n, "poll_cq");
        for (int i = 0; i < n && !host->sim->failed; i++)
            host_take(host, &wc[i]);
    } while (n > 0 && !host->sim->failed);
}

static void host_poll_due(struct sim_host *host, uint32_t c, uint64_t now_ps)
{
    const struct sim_card *card = &host->sim->plan.cards[host->side];

    host->cq_ps[c] = WIRE_NEVER;
    host_poll(host, c, now_ps);
    if (card->polls) {
        if (!sim_host_done(&host->sim->hosts[0]) || !sim_host_done(&host->sim->hosts[1]))
            host->cq_ps[c] = now_ps + card->poll_ps;
        return;
    }
    host_want(host,
              rnic_req_notify_cq(host->dev, host->cq[c], sim_dice_one_in(&host->rng, 50), now_ps),
              "req_notify_cq");
    host_want(host, rnic_req_notify_cq(host->dev, host->cq[c], false, now_ps), "req_notify_cq");
    host_poll(host, c, now_ps); /* what came before the arming gives no event */
}

void sim_host_drain(struct sim_host *host, uint64_t now_ps)
{
    for (uint32_t c = 0; c < host->sim->plan.cards[host->side].n_cqs; c++)
        host_poll(host, c, now_ps);
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
            wire_min_ps(next_ps, wire_min_ps(host->queues[q].send_ps, host->queues[q].recv_ps));
    return next_ps;
}

void sim_host_step(struct sim_host *host, uint64_t now_ps)
{
    const struct sim_plan *plan = &host->sim->plan;

    for (uint32_t c = 0; c < plan->cards[host->side].n_cqs; c++)
        if (host->cq_ps[c] <= now_ps)
            host_poll_due(host, c, now_ps);
    for (uint32_t q = 0; q < plan->n_qps; q++) {
        if (host->queues[q].recv_ps <= now_ps)
            host_post_recvs(host, q, now_ps);
        if (host->queues[q].send_ps <= now_ps)
            host_post_sends(host, q, now_ps);
    }
}

void sim_host_event(struct sim_host *host, const struct rnic_event *event, uint64_t now_ps)
{
    const struct sim_plan *plan = &host->sim->plan;
    const struct sim_card *card = &plan->cards[host->side];
    struct sim_queue *queue = NULL;

    if (event->type == RNIC_EVENT_CQ) {
        for (uint32_t c = 0; c < card->n_cqs; c++)
            if (host->cq[c] == event->cq)
                host->cq_ps[c] = now_ps + sim_dice_below(&host->rng, (uint32_t)card->poll_ps);
        return;
    }
    for (uint32_t q = 0; q < plan->n_qps; q++)
        queue = host->queues[q].qpn == event->qpn ? &host->queues[q] : queue;
    if (queue == NULL)
        sim_fail(host->sim, "%s: event %d of no queue pair", sim_side_name(host->side),
                 (int)event->type);
    else if (event->type == RNIC_EVENT_QP_FATAL)
        queue->fatals++;
    else if (event->type == RNIC_EVENT_QP_ACCESS_ERR)
        queue->refusals++;
    else if (event->type == RNIC_EVENT_COMM_EST)
        queue->established++;
    else
        sim_fail(host->sim, "%s: event %d was not to be expected", sim_side_name(host->side),
                 (int)event->type);
}
