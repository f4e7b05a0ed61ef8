/* SPDX-License-Identifier: GPL-2.0-only */
/* The verbs of queue pairs and posting. */
#include "rnic_verbs.h"

#include "rnic_complete.h"
#include "rnic_tx_build.h"
#include "rnic_tx_rate.h"
#include "rnic_verbs_shared.h"

#define VERBS_QKEY_OF_QP 0x80000000u /* IBTA 10.2.5: such a request takes the queue pair's own */
#define VERBS_SSN_MASK 0xFFFFFFu

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

/* ---- queue pairs ---- */

/* Sizes and modes; what refers to other objects is looked up by the caller. */
static bool verbs_init_valid(const struct rnic_params *params, const struct rnic_qp_init_attr *init)
{
    if (init->max_send_wr == 0 || init->max_send_wr > params->max_wr ||
        init->max_send_sge > params->max_sge || init->max_inline_data > params->max_inline)
        return false;
    if (init->srq == 0 && (init->max_recv_wr == 0 || init->max_recv_wr > params->max_wr ||
                           init->max_recv_sge > params->max_sge))
        return false;
    return (unsigned)init->recovery <= RNIC_RECOVER_SELECTIVE &&
           !(init->recovery == RNIC_RECOVER_SELECTIVE &&
             (init->window_bytes == 0 || init->window_bytes > RNIC_SELECTIVE_WINDOW_MAX)) &&
           !(init->recovery == RNIC_RECOVER_GO_BACK_0 &&
             (init->window_bytes != 0 || init->e2e_credits));
}

int rnic_create_qp(struct rnic_device *dev, const struct rnic_qp_init_attr *asked, uint32_t *qpn,
                   uint64_t now_ps)
{
    struct rnic_cq *send_cq = rnic_table_cq_find(&dev->cqs, asked->send_cq);
    struct rnic_cq *recv_cq = rnic_table_cq_find(&dev->cqs, asked->recv_cq);
    struct rnic_srq *srq = rnic_table_srq_find(&dev->srqs, asked->srq);
    struct rnic_pd *domain = rnic_table_mr_pd(&dev->mrs, asked->pd);
    struct rnic_qp_init_attr init = *asked;
    struct rnic_qp *qp;
    int err;

    (void)now_ps;
    if ((unsigned)init.type > RNIC_QPT_UD)
        return RNIC_ERR_UNSUPPORTED;
    if (init.type != RNIC_QPT_RC) { /* what only RC has */
        init.recovery = RNIC_RECOVER_GO_BACK_N;
        init.window_bytes = 0;
        init.e2e_credits = false;
    }
    if (!verbs_init_valid(&dev->params, &init))
        return RNIC_ERR_INVAL;
    if (send_cq == NULL || recv_cq == NULL || domain == NULL || (init.srq != 0 && srq == NULL))
        return RNIC_ERR_NOENT;
    if (srq != NULL) {
        if (srq->pd != init.pd)
            return RNIC_ERR_INVAL; /* its requests are checked against the queue pair's domain */
        init.max_recv_sge = srq->max_sge;
    }
    if (!rnic_verbs_objects_reserve(dev, 1, 0, 0) ||
        !rnic_tx_sched_reserve(&dev->sched, &dev->mem, dev->qps.live + 1))
        return RNIC_ERR_NOMEM;
    err = rnic_table_qp_add(&dev->qps, &dev->mem, (uint32_t)dev->params.max_qp, &init, &qp);
    if (err < 0)
        return err;
    qp->send_cq = send_cq;
    qp->recv_cq = recv_cq;
    qp->srq = srq;
    qp->pd = init.pd;
    qp->sig_all = init.sq_sig_all;
    send_cq->refs++;
    recv_cq->refs++;
    domain->refs++;
    if (srq != NULL)
        srq->refs++;
    rnic_complete_reset(dev, qp);
    *qpn = qp->qpn;
    return 0;
}

/* Remember the attributes named by `mask`, for query_qp and for what is made of them. */
static void verbs_keep_attr(struct rnic_qp_attr *kept, const struct rnic_qp_attr *attr,
                            unsigned mask)
{
#define KEEP(bit, field) kept->field = mask & (bit) ? attr->field : kept->field
    KEEP(RNIC_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify);
    KEEP(RNIC_QP_ACCESS_FLAGS, qp_access_flags);
    KEEP(RNIC_QP_PKEY_INDEX, pkey_index);
    KEEP(RNIC_QP_PORT, port_num);
    KEEP(RNIC_QP_AV, av);
    KEEP(RNIC_QP_PATH_MTU, path_mtu_bytes);
    KEEP(RNIC_QP_DEST_QPN, dest_qp_num);
    KEEP(RNIC_QP_RQ_PSN, rq_psn);
    KEEP(RNIC_QP_SQ_PSN, sq_psn);
    KEEP(RNIC_QP_TIMEOUT, timeout);
    KEEP(RNIC_QP_RETRY_CNT, retry_cnt);
    KEEP(RNIC_QP_RNR_RETRY, rnr_retry);
    KEEP(RNIC_QP_MIN_RNR_TIMER, min_rnr_timer);
    KEEP(RNIC_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
    KEEP(RNIC_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
    KEEP(RNIC_QP_QKEY, qkey);
    KEEP(RNIC_QP_RATE_LIMIT, rate_limit_bps);
#undef KEEP
}

/* Packets of path MTU 1 << shift in its window, at least one. */
static uint32_t verbs_window(const struct rnic_device *dev, const struct rnic_qp *qp,
                             uint32_t mtu_shift)
{
    uint32_t most = (uint32_t)dev->params.max_in_flight;
    uint32_t window = qp->init.window_bytes >> mtu_shift;

    if (qp->init.recovery == RNIC_RECOVER_GO_BACK_0)
        return WIRE_PSNS_MAX; /* of a message nothing is acknowledged before its end */
    if (qp->init.window_bytes == 0 || window > most)
        return most;
    return window > 0 ? window : 1;
}

static bool verbs_is_selective(const struct rnic_qp *qp)
{
    return qp->init.recovery == RNIC_RECOVER_SELECTIVE;
}

static void verbs_selective_close(struct rnic_device *dev, struct rnic_qp *qp)
{
    rnic_rx_hold_close(&qp->held_requests, &dev->mem);
    rnic_rx_hold_close(&qp->held_responses, &dev->mem);
    rnic_tx_sack_close(&qp->sack, &dev->mem);
}

/* RTR: what selective repeat keeps. @return false: out of memory, nothing changed */
static bool verbs_selective_open(struct rnic_device *dev, struct rnic_qp *qp, uint32_t mtu_bytes)
{
    uint32_t window = verbs_window(dev, qp, (uint32_t)__builtin_ctz(mtu_bytes));

    if (rnic_tx_sack_open(&qp->sack, &dev->mem, window) &&
        rnic_rx_hold_open(&qp->held_requests, &dev->mem, window, mtu_bytes) &&
        rnic_rx_hold_open(&qp->held_responses, &dev->mem, window, mtu_bytes))
        return true;
    verbs_selective_close(dev, qp);
    return false;
}

/*
 * Everything of a modify that can fail for want of memory, before anything else of it is done.
 * @return 0, RNIC_ERR_NOMEM, RNIC_ERR_BUSY
 */
static int verbs_prepare(struct rnic_device *dev, struct rnic_qp *qp,
                         const struct rnic_qp_attr *attr, unsigned mask)
{
    bool selective =
        qp->state == RNIC_QPS_INIT && (mask & RNIC_QP_PATH_MTU) && verbs_is_selective(qp);
    int err = 0;

    if (selective && !verbs_selective_open(dev, qp, attr->path_mtu_bytes))
        return RNIC_ERR_NOMEM;
    if (mask & RNIC_QP_MAX_DEST_RD_ATOMIC)
        err = rnic_rx_respond_resize(&qp->respond, &dev->mem, attr->max_dest_rd_atomic);
    if (err < 0 && selective)
        verbs_selective_close(dev, qp);
    return err;
}

/* Where its packets go, from the address vector kept. What stands in line changes its class. */
static void verbs_address(struct rnic_device *dev, struct rnic_qp *qp)
{
    rnic_tx_sched_remove(&dev->sched, &qp->request);
    rnic_tx_sched_remove(&dev->sched, &qp->response);
    qp->path = rnic_path_make(&qp->attr.av, qp->qpn, qp->dest_qpn);
    qp->request.prio = qp->response.prio = rnic_path_prio(qp->path.tos);
}

static void verbs_to_rtr(struct rnic_device *dev, struct rnic_qp *qp, uint64_t now_ps)
{
    rnic_tx_rate_init(dev->cc, &dev->cc_config, &qp->cc, now_ps); /* READ responses are paced too */
    qp->mtu_bytes = qp->type == RNIC_QPT_UD ? (uint32_t)dev->params.mtu_bytes /* one packet each */
                                            : qp->attr.path_mtu_bytes;
    qp->mtu_shift = (uint8_t)__builtin_ctz(qp->mtu_bytes);
    qp->resp.psn = qp->attr.rq_psn;
    if (qp->type == RNIC_QPT_UD)
        return; /* every request has its own address */
    qp->dest_qpn = qp->attr.dest_qp_num;
    verbs_address(dev, qp);
}

static void verbs_to_rts(struct rnic_device *dev, struct rnic_qp *qp, uint64_t now_ps)
{
    const struct rnic_qp_attr *attr = &qp->attr;

    rnic_tx_replay_init(&qp->replay, attr->sq_psn, attr->timeout, attr->retry_cnt, attr->rnr_retry);
    qp->replay.patient = qp->init.recovery == RNIC_RECOVER_GO_BACK_0;
    if (verbs_is_selective(qp)) {
        qp->has_rules = true;
        rnic_tx_replay_selective(&qp->replay, dev->params.rto_high_ps, dev->params.rto_low_ps,
                                 (uint32_t)dev->params.rto_low_packets);
        rnic_tx_sack_reset(&qp->sack, attr->sq_psn);
    }
    qp->psn_post = attr->sq_psn;
    qp->ssn_post = 1;
    qp->open_ps = now_ps + dev->params.connect_ps;
    qp->max_in_flight = verbs_window(dev, qp, qp->mtu_shift);
}

/* Attributes that take effect at once, in whatever state. */
static void verbs_apply(struct rnic_device *dev, struct rnic_qp *qp, unsigned mask, uint64_t now_ps)
{
    qp->access = qp->attr.qp_access_flags;
    qp->min_rnr_timer = qp->attr.min_rnr_timer;
    qp->qkey = qp->attr.qkey;
    qp->max_rd_atomic = qp->attr.max_rd_atomic;
    if (mask & RNIC_QP_RATE_LIMIT) {
        qp->rate_limit_bps = qp->attr.rate_limit_bps;
        qp->rate_next_ps = 0;
        rnic_tx_sched_remove(&dev->sched, &qp->request); /* their times came from the old rate */
        rnic_tx_sched_remove(&dev->sched, &qp->response);
    }
    if (qp->state != RNIC_QPS_SQD)
        return;
    if (mask & RNIC_QP_AV)
        verbs_address(dev, qp);
    if (mask & (RNIC_QP_TIMEOUT | RNIC_QP_RETRY_CNT | RNIC_QP_RNR_RETRY)) {
        rnic_tx_replay_change(&qp->replay, qp->attr.timeout, qp->attr.retry_cnt, qp->attr.rnr_retry,
                              now_ps);
        rnic_device_watch(dev, qp);
    }
}

/* In its new state: what was held up may go. */
static void verbs_enter(struct rnic_device *dev, struct rnic_qp *qp, enum rnic_qp_state from,
                        unsigned mask, uint64_t now_ps)
{
    if (qp->state == RNIC_QPS_SQD && from == RNIC_QPS_RTS) {
        qp->drain_told = !((mask & RNIC_QP_EN_SQD_ASYNC_NOTIFY) && qp->attr.en_sqd_async_notify);
        rnic_complete_drain(dev, qp, now_ps);
        return;
    }
    if (qp->state == RNIC_QPS_RTS)
        qp->sq_end = qp->sq.head;
    if (qp->state == RNIC_QPS_RTS || qp->state == RNIC_QPS_SQD) {
        rnic_device_tx_ready(dev, qp, now_ps, now_ps);
        rnic_device_tx_respond_ready(dev, qp, now_ps, now_ps);
    }
}

int rnic_modify_qp(struct rnic_device *dev, uint32_t qpn, const struct rnic_qp_attr *attr,
                   unsigned mask, uint64_t now_ps)
{
    struct rnic_qp *qp = rnic_table_qp_find(&dev->qps, qpn);
    enum rnic_qp_state from, to;
    int err;

    if (qp == NULL)
        return RNIC_ERR_NOENT;
    from = (enum rnic_qp_state)qp->state;
    to = mask & RNIC_QP_STATE ? attr->qp_state : from;
    if (!rnic_table_qp_transition((enum rnic_qp_type)qp->type, from, to, mask) ||
        !rnic_table_qp_attr_valid(attr, mask, &dev->params) ||
        ((mask & RNIC_QP_CUR_STATE) && attr->cur_qp_state != from))
        return RNIC_ERR_INVAL;
    if (to == RNIC_QPS_RESET) {
        rnic_complete_reset(dev, qp);
        qp->attr = (struct rnic_qp_attr){0};
        return 0;
    }
    if (to == RNIC_QPS_ERR) {
        rnic_complete_to_error(dev, qp, now_ps);
        return 0;
    }
    err = verbs_prepare(dev, qp, attr, mask);
    if (err < 0)
        return err;
    verbs_keep_attr(&qp->attr, attr, mask);
    verbs_apply(dev, qp, mask, now_ps);
    if (from == RNIC_QPS_INIT && to == RNIC_QPS_RTR)
        verbs_to_rtr(dev, qp, now_ps);
    if (from == RNIC_QPS_RTR)
        verbs_to_rts(dev, qp, now_ps);
    qp->state = (uint8_t)to;
    verbs_enter(dev, qp, from, mask, now_ps);
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
        attr->qp_state = attr->cur_qp_state = (enum rnic_qp_state)qp->state;
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
    if (qp->state < RNIC_QPS_RTR || qp->state == RNIC_QPS_ERR)
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
    if (qp->srq != NULL)
        qp->srq->refs--;
    rnic_table_mr_pd(&dev->mrs, qp->pd)->refs--;
    rnic_table_qp_remove(&dev->qps, &dev->mem, qp);
    return 0;
}

/* ---- posting ---- */

#define VERBS_RC (1u << RNIC_QPT_RC)
#define VERBS_UC (1u << RNIC_QPT_UC)
#define VERBS_UD (1u << RNIC_QPT_UD)

/* Which services offer an opcode: IBTA table 12; bit t: type t. */
static const uint8_t verbs_offered[] = {
    [RNIC_WR_RDMA_WRITE] = VERBS_RC | VERBS_UC,
    [RNIC_WR_RDMA_WRITE_WITH_IMM] = VERBS_RC | VERBS_UC,
    [RNIC_WR_SEND] = VERBS_RC | VERBS_UC | VERBS_UD,
    [RNIC_WR_SEND_WITH_IMM] = VERBS_RC | VERBS_UC | VERBS_UD,
    [RNIC_WR_RDMA_READ] = VERBS_RC,
    [RNIC_WR_ATOMIC_CMP_AND_SWP] = VERBS_RC,
    [RNIC_WR_ATOMIC_FETCH_AND_ADD] = VERBS_RC,
    [RNIC_WR_LOCAL_INV] = VERBS_RC | VERBS_UC,
    [RNIC_WR_BIND_MW] = VERBS_RC | VERBS_UC,
    [RNIC_WR_SEND_WITH_INV] = VERBS_RC,
};

/* State, opcode, flags and length of a send request are legal; *length in bytes. */
static bool verbs_send_valid(const struct rnic_device *dev, const struct rnic_qp *qp,
                             const struct rnic_send_wr *wr, uint64_t *length)
{
    const unsigned known =
        RNIC_SEND_FENCE | RNIC_SEND_SIGNALED | RNIC_SEND_SOLICITED | RNIC_SEND_INLINE;
    bool reads = rnic_ring_op_asks(wr->opcode);
    bool sends = qp->state == RNIC_QPS_RTS || qp->state == RNIC_QPS_SQD;

    *length = 0;
    if (qp->state < RNIC_QPS_RTS || (unsigned)wr->opcode > RNIC_WR_SEND_WITH_INV ||
        !(verbs_offered[wr->opcode] >> qp->type & 1) || (wr->send_flags & ~known))
        return false;
    if (rnic_ring_op_is_local(wr->opcode))
        return true; /* its list is not looked at */
    if (!rnic_verbs_objects_length(wr->sg_list, wr->num_sge, qp->init.max_send_sge, length))
        return false;
    if ((wr->send_flags & RNIC_SEND_INLINE) && (reads || *length > qp->init.max_inline_data))
        return false;
    if (rnic_ring_op_is_atomic(wr->opcode) && *length != 8)
        return false;
    if (qp->type == RNIC_QPT_UD)
        return *length <= dev->params.mtu_bytes && wr->ud.remote_qpn <= WIRE_PSN_MASK;
    if (!sends)
        return true;
    if (reads && qp->max_rd_atomic == 0)
        return false;
    if (!reads && qp->init.recovery != RNIC_RECOVER_GO_BACK_0)
        return true;
    return rnic_tx_build_packets(qp, (uint32_t)*length) <= WIRE_PSNS_MAX;
}

/* What a request on the ring still lacks: its numbers and, for UD, its address. */
static void verbs_number(struct rnic_qp *qp, struct rnic_wqe *wqe, const struct rnic_send_wr *wr,
                         const struct rnic_ah *ah)
{
    wqe->psn = qp->psn_post;
    qp->has_rules =
        qp->has_rules || (wr->send_flags & RNIC_SEND_FENCE) || wr->opcode > RNIC_WR_SEND_WITH_IMM;
    if (rnic_ring_op_is_local(wr->opcode))
        return; /* no packets, no message */
    wqe->packets = qp->type == RNIC_QPT_UD ? 1 : rnic_tx_build_packets(qp, wqe->length);
    qp->psn_post = wire_psn_add(qp->psn_post, wqe->packets);
    wqe->ssn = qp->ssn_post;
    qp->ssn_post = (qp->ssn_post + 1) & VERBS_SSN_MASK;
    if (ah == NULL)
        return;
    wqe->ud.path = rnic_path_make(&ah->av, qp->qpn, wr->ud.remote_qpn);
    wqe->ud.dest_qpn = wr->ud.remote_qpn;
    wqe->ud.qkey = wr->ud.remote_qkey & VERBS_QKEY_OF_QP ? qp->qkey : wr->ud.remote_qkey;
}

int rnic_post_send(struct rnic_device *dev, uint32_t qpn, const struct rnic_send_wr *wr,
                   uint64_t now_ps)
{
    struct rnic_qp *qp = rnic_table_qp_find(&dev->qps, qpn);
    uint64_t known_ps = now_ps + dev->params.doorbell_latency_ps;
    const struct rnic_ah *ah = NULL;
    struct rnic_wqe *wqe;
    uint64_t length;

    if (qp == NULL)
        return RNIC_ERR_NOENT;
    if (!verbs_send_valid(dev, qp, wr, &length))
        return RNIC_ERR_INVAL;
    if (qp->type == RNIC_QPT_UD) {
        ah = rnic_table_ah_find(&dev->ahs, wr->ud.ah);
        if (ah == NULL || ah->pd != qp->pd)
            return RNIC_ERR_NOENT;
    }
    if (qp->state == RNIC_QPS_ERR || qp->state == RNIC_QPS_SQE) {
        rnic_complete_flushed_send(dev, qp, wr->wr_id, now_ps);
        return 0;
    }
    if (rnic_ring_full(&qp->sq))
        return RNIC_ERR_FULL;
    known_ps = wire_max_ps(known_ps, qp->open_ps); /* the connection is not there before */
    wqe = rnic_ring_post_send(&qp->sq, wr, (uint32_t)length, known_ps);
    verbs_number(qp, wqe, wr, ah);
    if (qp->state != RNIC_QPS_RTS)
        return 0; /* waits in SQD */
    qp->sq_end = qp->sq.head;
    rnic_device_tx_ready(dev, qp, known_ps, now_ps);
    return 0;
}

int rnic_post_recv(struct rnic_device *dev, uint32_t qpn, const struct rnic_recv_wr *wr,
                   uint64_t now_ps)
{
    struct rnic_qp *qp = rnic_table_qp_find(&dev->qps, qpn);
    uint64_t length;

    if (qp == NULL)
        return RNIC_ERR_NOENT;
    if (qp->state == RNIC_QPS_RESET || qp->srq != NULL ||
        !rnic_verbs_objects_length(wr->sg_list, wr->num_sge, qp->init.max_recv_sge, &length))
        return RNIC_ERR_INVAL;
    if (qp->state == RNIC_QPS_ERR) {
        rnic_complete_flushed_recv(dev, qp, wr->wr_id, now_ps);
        return 0;
    }
    if (rnic_ring_full(&qp->rq))
        return RNIC_ERR_FULL;
    rnic_ring_post_recv(&qp->rq, wr, length);
    return 0;
}
