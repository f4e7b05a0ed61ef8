/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_verbs.h"

#include "rnic_complete.h"
#include "rnic_cq_write.h"
#include "rnic_tx_build.h"
#include "rnic_tx_rate.h"

#define VERBS_MESSAGE_MAX 0x80000000u /* 2^31 bytes */
#define VERBS_SPORT_BASE 0xC000u

const char *rnic_err_name(int err)
{
    static const char *const names[] = {"OK",
                                        "RNIC_ERR_INVAL",
                                        "RNIC_ERR_FULL",
                                        "RNIC_ERR_NOMEM",
                                        "RNIC_ERR_NOENT",
                                        "RNIC_ERR_BUSY",
                                        "RNIC_ERR_LIMIT",
                                        "RNIC_ERR_UNSUPPORTED"};

    if (err >= 0)
        return names[0];
    return -err < (int)(sizeof names / sizeof names[0]) ? names[-err] : "unknown error";
}

const char *rnic_wc_status_name(enum rnic_wc_status status)
{
    static const char *const names[] = {
        "SUCCESS",        "LOC_LEN_ERR", "LOC_QP_OP_ERR", "LOC_EEC_OP_ERR",   "LOC_PROT_ERR",
        "WR_FLUSH_ERR",   "MW_BIND_ERR", "BAD_RESP_ERR",  "LOC_ACCESS_ERR",   "REM_INV_REQ_ERR",
        "REM_ACCESS_ERR", "REM_OP_ERR",  "RETRY_EXC_ERR", "RNR_RETRY_EXC_ERR"};

    return (unsigned)status < sizeof names / sizeof names[0] ? names[status] : "unknown status";
}

/* ---- protection domains and regions ---- */

int rnic_alloc_pd(struct rnic_device *dev, uint32_t *pd, uint64_t now_ps)
{
    (void)now_ps;
    return rnic_table_mr_pd_alloc(&dev->mrs, &dev->mem, pd);
}

int rnic_dealloc_pd(struct rnic_device *dev, uint32_t pd, uint64_t now_ps)
{
    (void)now_ps;
    return rnic_table_mr_pd_free(&dev->mrs, pd);
}

int rnic_reg_mr(struct rnic_device *dev, uint32_t pd, uint64_t va, uint64_t length, void *host,
                unsigned access, uint32_t *key, uint64_t now_ps)
{
    const unsigned known = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |
                           RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC;
    bool remote_write = access & (RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_ATOMIC);
    struct rnic_pd *domain = rnic_table_mr_pd(&dev->mrs, pd);
    struct rnic_mr *mr;
    int err;

    (void)now_ps;
    if (length == 0 || va > UINT64_MAX - length || (access & ~known) ||
        (remote_write && !(access & RNIC_ACCESS_LOCAL_WRITE)))
        return RNIC_ERR_INVAL;
    if (domain == NULL)
        return RNIC_ERR_NOENT;
    err = rnic_table_mr_add(&dev->mrs, &dev->mem, (uint32_t)dev->params.max_mr, &mr);
    if (err < 0)
        return err;
    mr->va = va;
    mr->length = length;
    mr->host = host;
    mr->pd = pd;
    mr->access = access;
    if (!rnic_table_page_add(&dev->pages, &dev->mem, mr)) {
        rnic_table_mr_remove(&dev->mrs, mr);
        return RNIC_ERR_NOMEM;
    }
    domain->refs++;
    *key = mr->key;
    return 0;
}

int rnic_dereg_mr(struct rnic_device *dev, uint32_t key, uint64_t now_ps)
{
    struct rnic_mr *mr = rnic_table_mr_find(&dev->mrs, key);

    (void)now_ps;
    if (mr == NULL)
        return RNIC_ERR_NOENT;
    rnic_table_mr_pd(&dev->mrs, mr->pd)->refs--;
    rnic_table_page_remove(&dev->pages, &dev->mem, mr);
    rnic_table_mr_remove(&dev->mrs, mr);
    return 0;
}

/* ---- completion queues ---- */

/* Room for every event that must not be lost. */
static bool verbs_reserve_events(struct rnic_device *dev, uint32_t qps, uint32_t cqs)
{
    return rnic_cq_event_reserve(&dev->events, &dev->mem, 4 * qps + 2 * cqs);
}

int rnic_create_cq(struct rnic_device *dev, uint32_t entries, uint32_t *cq, uint64_t now_ps)
{
    (void)now_ps;
    if (entries == 0 || entries > dev->params.max_cqe)
        return RNIC_ERR_INVAL;
    if (!verbs_reserve_events(dev, dev->qps.live, dev->cqs.live + 1))
        return RNIC_ERR_NOMEM;
    return rnic_table_cq_add(&dev->cqs, &dev->mem, (uint32_t)dev->params.max_cq, entries, cq);
}

int rnic_destroy_cq(struct rnic_device *dev, uint32_t cq, uint64_t now_ps)
{
    int err = rnic_table_cq_remove(&dev->cqs, &dev->mem, cq);

    (void)now_ps;
    if (err == 0)
        rnic_cq_event_forget_cq(&dev->events, cq);
    return err;
}

/* A polled send completion gives its slots, and the unsignalled ones before it, back. */
static void verbs_reclaim(struct rnic_device *dev, const struct rnic_cqe *cqe)
{
    struct rnic_qp *qp = rnic_table_qp_find(&dev->qps, cqe->wc.qp_num);

    if (cqe->is_send && qp != NULL && (int32_t)(cqe->sq_next - qp->sq.tail) > 0)
        qp->sq.tail = cqe->sq_next;
}

int rnic_poll_cq(struct rnic_device *dev, uint32_t number, uint32_t n, struct rnic_wc *wc,
                 uint64_t now_ps)
{
    struct rnic_cq *cq = rnic_table_cq_find(&dev->cqs, number);
    uint32_t got = 0;

    if (cq == NULL)
        return RNIC_ERR_NOENT;
    while (got < n && cq->tail != cq->head) {
        const struct rnic_cqe *cqe = &cq->cqes[cq->tail & cq->mask];

        if (cqe->visible_ps > now_ps)
            break;
        cq->tail++;
        if (cqe->discarded)
            continue;
        verbs_reclaim(dev, cqe);
        wc[got++] = cqe->wc;
    }
    return (int)got;
}

int rnic_req_notify_cq(struct rnic_device *dev, uint32_t number, bool solicited_only,
                       uint64_t now_ps)
{
    struct rnic_cq *cq = rnic_table_cq_find(&dev->cqs, number);

    if (cq == NULL)
        return RNIC_ERR_NOENT;
    rnic_cq_write_arm(cq, &dev->events, solicited_only, dev->params.event_latency_ps, now_ps);
    return 0;
}

/* ---- queue pairs ---- */

int rnic_create_qp(struct rnic_device *dev, const struct rnic_qp_init_attr *init, uint32_t *qpn,
                   uint64_t now_ps)
{
    struct rnic_cq *send_cq = rnic_table_cq_find(&dev->cqs, init->send_cq);
    struct rnic_cq *recv_cq = rnic_table_cq_find(&dev->cqs, init->recv_cq);
    struct rnic_pd *domain = rnic_table_mr_pd(&dev->mrs, init->pd);
    const struct rnic_params *params = &dev->params;
    struct rnic_qp *qp;
    int err;

    (void)now_ps;
    if (init->type != RNIC_QPT_RC)
        return RNIC_ERR_UNSUPPORTED;
    if (init->max_send_wr == 0 || init->max_send_wr > params->max_wr || init->max_recv_wr == 0 ||
        init->max_recv_wr > params->max_wr || init->max_send_sge > params->max_sge ||
        init->max_recv_sge > params->max_sge)
        return RNIC_ERR_INVAL;
    if (send_cq == NULL || recv_cq == NULL || domain == NULL)
        return RNIC_ERR_NOENT;
    if (!verbs_reserve_events(dev, dev->qps.live + 1, dev->cqs.live) ||
        !rnic_tx_sched_reserve(&dev->sched, &dev->mem, dev->qps.live + 1))
        return RNIC_ERR_NOMEM;
    err = rnic_table_qp_add(&dev->qps, &dev->mem, (uint32_t)params->max_qp, init, &qp);
    if (err < 0)
        return err;
    qp->send_cq = send_cq;
    qp->recv_cq = recv_cq;
    qp->pd = init->pd;
    qp->sig_all = init->sq_sig_all;
    send_cq->refs++;
    recv_cq->refs++;
    domain->refs++;
    rnic_complete_reset(dev, qp);
    *qpn = qp->qpn;
    return 0;
}

/*
 * UDP source port as Linux computes it for all drivers (rdma_get_udp_sport): a flow label folded
 * from both queue pair numbers, the same at both ends.
 */
static uint16_t verbs_sport(uint32_t lqpn, uint32_t rqpn)
{
    uint64_t v = (uint64_t)lqpn * rqpn;
    uint32_t label;

    v ^= v >> 20;
    v ^= v >> 40;
    label = (uint32_t)v & 0xFFFFF;
    return (uint16_t)(VERBS_SPORT_BASE | ((label & 0x3FFF) ^ ((label & 0xFC000) >> 14)));
}

static void verbs_to_rtr(struct rnic_qp *qp, const struct rnic_qp_attr *attr)
{
    qp->dest_station = attr->av.dest_station;
    qp->next_hop = attr->av.next_hop;
    qp->tos = attr->av.traffic_class & 0xFCu;
    qp->ttl = attr->av.hop_limit;
    qp->prio = qp->tos >> 5;
    qp->frame_flags = attr->av.ipv6 ? WIRE_FRAME_IPV6 : 0;
    qp->dest_qpn = attr->dest_qp_num;
    qp->udp_sport =
        attr->av.udp_sport ? attr->av.udp_sport : verbs_sport(qp->qpn, attr->dest_qp_num);
    qp->mtu_bytes = attr->path_mtu_bytes;
    qp->mtu_shift = (uint8_t)__builtin_ctz(attr->path_mtu_bytes);
    qp->resp.psn = attr->rq_psn;
}

static void verbs_to_rts(struct rnic_device *dev, struct rnic_qp *qp,
                         const struct rnic_qp_attr *attr, uint64_t now_ps)
{
    rnic_tx_replay_init(&qp->replay, attr->sq_psn, attr->timeout, attr->retry_cnt, attr->rnr_retry);
    qp->psn_post = attr->sq_psn;
    rnic_tx_rate_init(dev->cc, &dev->cc_config, &qp->cc, now_ps);
}

/* Remember the attributes named by `mask`, for query_qp. */
static void verbs_keep_attr(struct rnic_qp_attr *kept, const struct rnic_qp_attr *attr,
                            unsigned mask)
{
    kept->qp_access_flags =
        mask & RNIC_QP_ACCESS_FLAGS ? attr->qp_access_flags : kept->qp_access_flags;
    kept->pkey_index = mask & RNIC_QP_PKEY_INDEX ? attr->pkey_index : kept->pkey_index;
    kept->port_num = mask & RNIC_QP_PORT ? attr->port_num : kept->port_num;
    kept->av = mask & RNIC_QP_AV ? attr->av : kept->av;
    kept->path_mtu_bytes = mask & RNIC_QP_PATH_MTU ? attr->path_mtu_bytes : kept->path_mtu_bytes;
    kept->dest_qp_num = mask & RNIC_QP_DEST_QPN ? attr->dest_qp_num : kept->dest_qp_num;
    kept->rq_psn = mask & RNIC_QP_RQ_PSN ? attr->rq_psn : kept->rq_psn;
    kept->sq_psn = mask & RNIC_QP_SQ_PSN ? attr->sq_psn : kept->sq_psn;
    kept->timeout = mask & RNIC_QP_TIMEOUT ? attr->timeout : kept->timeout;
    kept->retry_cnt = mask & RNIC_QP_RETRY_CNT ? attr->retry_cnt : kept->retry_cnt;
    kept->rnr_retry = mask & RNIC_QP_RNR_RETRY ? attr->rnr_retry : kept->rnr_retry;
    kept->min_rnr_timer = mask & RNIC_QP_MIN_RNR_TIMER ? attr->min_rnr_timer : kept->min_rnr_timer;
    kept->max_rd_atomic =
        mask & RNIC_QP_MAX_QP_RD_ATOMIC ? attr->max_rd_atomic : kept->max_rd_atomic;
    kept->max_dest_rd_atomic =
        mask & RNIC_QP_MAX_DEST_RD_ATOMIC ? attr->max_dest_rd_atomic : kept->max_dest_rd_atomic;
}

int rnic_modify_qp(struct rnic_device *dev, uint32_t qpn, const struct rnic_qp_attr *attr,
                   unsigned mask, uint64_t now_ps)
{
    struct rnic_qp *qp = rnic_table_qp_find(&dev->qps, qpn);
    enum rnic_qp_state from, to;

    if (qp == NULL)
        return RNIC_ERR_NOENT;
    from = (enum rnic_qp_state)qp->state;
    to = mask & RNIC_QP_STATE ? attr->qp_state : from;
    if (!rnic_table_qp_transition(from, to, mask) || !rnic_table_qp_attr_valid(attr, mask))
        return RNIC_ERR_INVAL;

    if (to == RNIC_QPS_RESET) {
        rnic_complete_reset(dev, qp);
        qp->attr = (struct rnic_qp_attr){0};
        return 0;
    }
    verbs_keep_attr(&qp->attr, attr, mask);
    qp->access = qp->attr.qp_access_flags;
    qp->min_rnr_timer = qp->attr.min_rnr_timer;
    if (to == RNIC_QPS_ERR) {
        rnic_complete_to_error(dev, qp, now_ps);
        return 0;
    }
    if (from == RNIC_QPS_INIT && to == RNIC_QPS_RTR)
        verbs_to_rtr(qp, attr);
    if (from == RNIC_QPS_RTR && to == RNIC_QPS_RTS)
        verbs_to_rts(dev, qp, attr, now_ps);
    qp->state = (uint8_t)to;
    return 0;
}

int rnic_query_qp(struct rnic_device *dev, uint32_t qpn, struct rnic_qp_attr *attr,
                  struct rnic_qp_counters *counters)
{
    struct rnic_qp *qp = rnic_table_qp_find(&dev->qps, qpn);

    if (qp == NULL)
        return RNIC_ERR_NOENT;
    if (attr != NULL) {
        *attr = qp->attr;
        attr->qp_state = (enum rnic_qp_state)qp->state;
    }
    if (counters != NULL)
        *counters = qp->counters;
    return 0;
}

int rnic_query_rate(struct rnic_device *dev, uint32_t qpn, uint64_t *rate_bps, double *alpha,
                    uint64_t now_ps)
{
    struct rnic_qp *qp = rnic_table_qp_find(&dev->qps, qpn);

    if (qp == NULL)
        return RNIC_ERR_NOENT;
    if (qp->state != RNIC_QPS_RTS)
        return RNIC_ERR_INVAL;
    *rate_bps = rnic_tx_rate_bps(dev->cc, &dev->cc_config, &qp->cc, now_ps);
    *alpha = rnic_tx_rate_alpha(dev->cc, &dev->cc_config, &qp->cc, now_ps);
    return 0;
}

int rnic_destroy_qp(struct rnic_device *dev, uint32_t qpn, uint64_t now_ps)
{
    struct rnic_qp *qp = rnic_table_qp_find(&dev->qps, qpn);

    (void)now_ps;
    if (qp == NULL)
        return RNIC_ERR_NOENT;
    rnic_complete_reset(dev, qp);
    qp->send_cq->refs--;
    qp->recv_cq->refs--;
    rnic_table_mr_pd(&dev->mrs, qp->pd)->refs--;
    rnic_table_qp_remove(&dev->qps, &dev->mem, qp);
    return 0;
}

/* ---- posting ---- */

/* Sum of a list in 64 bits; false: more entries than the queue takes, or no list. */
static bool verbs_length(const struct rnic_sge *sges, uint32_t n, uint32_t max, uint64_t *length)
{
    *length = 0;
    if (n > max || (n > 0 && sges == NULL))
        return false;
    for (uint32_t i = 0; i < n; i++)
        *length += sges[i].length;
    return *length <= VERBS_MESSAGE_MAX;
}

int rnic_post_send(struct rnic_device *dev, uint32_t qpn, const struct rnic_send_wr *wr,
                   uint64_t now_ps)
{
    struct rnic_qp *qp = rnic_table_qp_find(&dev->qps, qpn);
    uint64_t known_ps = now_ps + dev->params.doorbell_latency_ps;
    struct rnic_wqe *wqe;
    uint64_t length;

    if (qp == NULL)
        return RNIC_ERR_NOENT;
    if (qp->state != RNIC_QPS_RTS && qp->state != RNIC_QPS_ERR)
        return RNIC_ERR_INVAL;
    if ((unsigned)wr->opcode > RNIC_WR_SEND_WITH_IMM ||
        (wr->send_flags & ~(unsigned)(RNIC_SEND_SIGNALED | RNIC_SEND_SOLICITED)) ||
        !verbs_length(wr->sg_list, wr->num_sge, qp->init.max_send_sge, &length))
        return RNIC_ERR_INVAL;
    if (qp->state == RNIC_QPS_ERR) {
        rnic_complete_flushed_send(dev, qp, wr->wr_id, now_ps);
        return 0;
    }
    if (rnic_ring_full(&qp->sq))
        return RNIC_ERR_FULL;
    wqe = rnic_ring_post_send(&qp->sq, wr, (uint32_t)length, known_ps);
    wqe->psn = qp->psn_post;
    wqe->packets = rnic_tx_build_packets(qp, (uint32_t)length);
    qp->psn_post = wire_psn_add(qp->psn_post, wqe->packets);
    rnic_device_ready(dev, qp, known_ps, now_ps);
    return 0;
}

int rnic_post_recv(struct rnic_device *dev, uint32_t qpn, const struct rnic_recv_wr *wr,
                   uint64_t now_ps)
{
    struct rnic_qp *qp = rnic_table_qp_find(&dev->qps, qpn);
    uint64_t length;

    if (qp == NULL)
        return RNIC_ERR_NOENT;
    if (qp->state == RNIC_QPS_RESET ||
        !verbs_length(wr->sg_list, wr->num_sge, qp->init.max_recv_sge, &length))
        return RNIC_ERR_INVAL;
    if (qp->state == RNIC_QPS_ERR) {
        rnic_complete_recv(dev, qp,
                           &(struct rnic_wc){.wr_id = wr->wr_id,
                                             .status = RNIC_WC_WR_FLUSH_ERR,
                                             .opcode = RNIC_WC_RECV,
                                             .qp_num = qp->qpn},
                           false, now_ps);
        return 0;
    }
    if (rnic_ring_full(&qp->rq))
        return RNIC_ERR_FULL;
    rnic_ring_post_recv(&qp->rq, wr, length);
    return 0;
}
