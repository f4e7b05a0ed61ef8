/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_complete.h"

#include "rnic_cq_write.h"

/* Write a completion. When the CQ is full the queue pair fails, and its host is told. */
static void complete_write(struct rnic_device *dev, struct rnic_qp *qp, struct rnic_cq *cq,
                           struct rnic_cqe *cqe, uint64_t data_ps)
{
    const struct rnic_cq_write_params params = {
        .cqe_bytes = (uint32_t)dev->params.cqe_bytes,
        .event_latency_ps = dev->params.event_latency_ps,
        .poll_latency_ps = dev->params.poll_latency_ps,
    };

    if (rnic_cq_write(cq, &dev->cqs, &dev->dma, &dev->events, &params, cqe, data_ps))
        return;
    if (qp->state != RNIC_QPS_ERR)
        rnic_cq_event_push(&dev->events, &(struct rnic_event){.type = RNIC_EVENT_QP_FATAL,
                                                              .qpn = qp->qpn,
                                                              .cq = cq->number,
                                                              .time_ps = data_ps});
    rnic_complete_to_error(dev, qp, data_ps);
}

static const uint8_t complete_opcodes[] = {
    [RNIC_WR_RDMA_WRITE] = RNIC_WC_RDMA_WRITE,
    [RNIC_WR_RDMA_WRITE_WITH_IMM] = RNIC_WC_RDMA_WRITE,
    [RNIC_WR_SEND] = RNIC_WC_SEND,
    [RNIC_WR_SEND_WITH_IMM] = RNIC_WC_SEND,
    [RNIC_WR_RDMA_READ] = RNIC_WC_RDMA_READ,
    [RNIC_WR_ATOMIC_CMP_AND_SWP] = RNIC_WC_COMP_SWAP,
    [RNIC_WR_ATOMIC_FETCH_AND_ADD] = RNIC_WC_FETCH_ADD,
    [RNIC_WR_LOCAL_INV] = RNIC_WC_LOCAL_INV,
    [RNIC_WR_BIND_MW] = RNIC_WC_BIND_MW,
    [RNIC_WR_SEND_WITH_INV] = RNIC_WC_SEND,
};

/* Completion of send work request `index`. */
static void complete_send(struct rnic_device *dev, struct rnic_qp *qp, uint32_t index,
                          enum rnic_wc_status status, uint32_t vendor_err, uint64_t at_ps)
{
    const struct rnic_wqe *wqe = rnic_ring_wqe(&qp->sq, index);
    struct rnic_cqe cqe = {.wc = {.wr_id = wqe->wr_id,
                                  .status = status,
                                  .opcode = (enum rnic_wc_opcode)complete_opcodes[wqe->opcode],
                                  .byte_len = wqe->length,
                                  .qp_num = qp->qpn,
                                  .vendor_err = vendor_err},
                           .sq_next = index + 1,
                           .is_send = true};

    complete_write(dev, qp, qp->send_cq, &cqe, at_ps);
}

/* The requests left in the send queue end flushed, also when that fails the queue pair. */
static void complete_flush_sends(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps)
{
    while (qp->sq_una != qp->sq.head)
        complete_send(dev, qp, qp->sq_una++, RNIC_WC_WR_FLUSH_ERR, 0, at_ps);
    qp->sq_cur = qp->sq_end = qp->sq.head;
    qp->cur_packet = 0;
    qp->sq_failed = false;
}

/* SQD: all that was started is complete. Told once, not before the last completion is visible. */
static void complete_drained(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps)
{
    if (qp->drain_told || qp->state != RNIC_QPS_SQD || qp->sq_una != qp->sq_end)
        return;
    qp->drain_told = true;
    rnic_device_event(dev, RNIC_EVENT_SQ_DRAINED, qp, 0,
                      wire_max_ps(at_ps, qp->send_cq->last_visible_ps));
}

/* Is the oldest request done? Local operations take no PSN. */
static bool complete_is_done(const struct rnic_qp *qp, const struct rnic_wqe *wqe)
{
    if (rnic_ring_is_local(wqe))
        return wqe->started;
    return wire_psn_diff(qp->replay.psn_una, wire_psn_add(wqe->psn, wqe->packets)) >= 0;
}

void rnic_complete_sends(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps)
{
    while (qp->sq_una != qp->sq.head) { /* when a completion fails the queue pair, none is left */
        const struct rnic_wqe *wqe = rnic_ring_wqe(&qp->sq, qp->sq_una);

        /* All before it are acknowledged. Its own packets that left may never be: nobody asked. */
        if (wqe->status != RNIC_WC_SUCCESS) {
            rnic_complete_send_error(dev, qp, (enum rnic_wc_status)wqe->status, 0, at_ps);
            return;
        }
        if (!complete_is_done(qp, wqe))
            break;
        qp->sq_una++;
        if (qp->sig_all || (wqe->flags & RNIC_SEND_SIGNALED))
            complete_send(dev, qp, qp->sq_una - 1, RNIC_WC_SUCCESS, 0, at_ps);
    }
    complete_drained(dev, qp, at_ps);
}

/* Nothing of its requests waits any more: not to be sent, not for an answer, not for a timer. */
static void complete_stop_requests(struct rnic_device *dev, struct rnic_qp *qp)
{
    rnic_tx_sched_remove(&dev->sched, &qp->request);
    rnic_tx_replay_stop(&qp->replay);
    rnic_tx_sack_reset(&qp->sack, qp->replay.psn_una);
    rnic_rx_hold_clear(&qp->held_responses);
    rnic_device_watch(dev, qp);
}

/* UC, UD: the send queue stops, receives go on. The next request follows the last one sent. */
static void complete_to_sqe(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps)
{
    if (qp->state == RNIC_QPS_ERR)
        return; /* its completion found the CQ full */
    qp->state = RNIC_QPS_SQE;
    complete_stop_requests(dev, qp);
    qp->psn_post = qp->replay.psn_next;
    complete_flush_sends(dev, qp, at_ps);
}

void rnic_complete_send_error(struct rnic_device *dev, struct rnic_qp *qp,
                              enum rnic_wc_status status, uint32_t vendor_err, uint64_t at_ps)
{
    uint32_t index = qp->sq_una;

    WIRE_ASSERT(qp->sq_una != qp->sq.head && status != RNIC_WC_SUCCESS);
    qp->sq_una++;
    complete_send(dev, qp, index, status, vendor_err, at_ps);
    if (qp->type == RNIC_QPT_RC)
        rnic_complete_to_error(dev, qp, at_ps);
    else
        complete_to_sqe(dev, qp, at_ps);
}

void rnic_complete_recv(struct rnic_device *dev, struct rnic_qp *qp, const struct rnic_wc *wc,
                        bool solicited, uint64_t data_ps)
{
    struct rnic_cqe cqe = {.wc = *wc, .solicited = solicited};

    complete_write(dev, qp, qp->recv_cq, &cqe, data_ps);
}

void rnic_complete_flushed_send(struct rnic_device *dev, struct rnic_qp *qp, uint64_t wr_id,
                                uint64_t at_ps)
{
    struct rnic_cqe cqe = {
        .wc = {.wr_id = wr_id, .status = RNIC_WC_WR_FLUSH_ERR, .qp_num = qp->qpn},
        .sq_next = qp->sq.head,
        .is_send = true};

    complete_write(dev, qp, qp->send_cq, &cqe, at_ps);
}

void rnic_complete_flushed_recv(struct rnic_device *dev, struct rnic_qp *qp, uint64_t wr_id,
                                uint64_t at_ps)
{
    const struct rnic_wc wc = {
        .wr_id = wr_id, .status = RNIC_WC_WR_FLUSH_ERR, .opcode = RNIC_WC_RECV, .qp_num = qp->qpn};

    rnic_complete_recv(dev, qp, &wc, false, at_ps);
}

static void complete_flush_recvs(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps)
{
    while (qp->rq.tail != qp->rq.head) {
        const struct rnic_rqe *rqe = rnic_ring_at(&qp->rq, qp->rq.tail++);

        rnic_complete_flushed_recv(dev, qp, rqe->wr_id, at_ps);
    }
}

/* The way to ERR; `answers`: what the responder owes still leaves. */
static void complete_fail(struct rnic_device *dev, struct rnic_qp *qp, bool answers, uint64_t at_ps)
{
    if (qp->state == RNIC_QPS_ERR)
        return;
    qp->state = RNIC_QPS_ERR;
    complete_stop_requests(dev, qp);
    if (!answers) {
        rnic_tx_sched_remove(&dev->sched, &qp->response);
        rnic_rx_respond_stop(&qp->respond);
    }
    rnic_rx_hold_clear(&qp->held_requests);
    complete_flush_sends(dev, qp, at_ps);
    complete_flush_recvs(dev, qp, at_ps);
    if (qp->srq != NULL)
        rnic_device_event(dev, RNIC_EVENT_LAST_WQE, qp, 0,
                          wire_max_ps(at_ps, qp->recv_cq->last_visible_ps));
}

void rnic_complete_to_error(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps)
{
    complete_fail(dev, qp, false, at_ps);
}

void rnic_complete_refused(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps)
{
    complete_fail(dev, qp, true, at_ps);
}

void rnic_complete_drain(struct rnic_device *dev, struct rnic_qp *qp, uint64_t now_ps)
{
    WIRE_ASSERT(qp->state == RNIC_QPS_SQD);
    /* A replay may have put the cursor back: what was started once goes on. */
    qp->sq_end = qp->sq_cur;
    while (qp->sq_end != qp->sq.head && rnic_ring_wqe(&qp->sq, qp->sq_end)->started)
        qp->sq_end++;
    if (!rnic_device_may_send(qp)) /* selective repeat: a lost packet may still be in line */
        rnic_tx_sched_remove(&dev->sched, &qp->request);
    complete_drained(dev, qp, now_ps);
}

void rnic_complete_reset(struct rnic_device *dev, struct rnic_qp *qp)
{
    complete_stop_requests(dev, qp);
    rnic_tx_sched_remove(&dev->sched, &qp->response);
    rnic_rx_respond_close(&qp->respond, &dev->mem);
    rnic_rx_hold_close(&qp->held_requests, &dev->mem);
    rnic_rx_hold_close(&qp->held_responses, &dev->mem);
    rnic_tx_sack_close(&qp->sack, &dev->mem);
    rnic_table_mr_unbind_qp(&dev->mrs, qp->qpn);
    qp->state = RNIC_QPS_RESET;
    qp->sq.tail = qp->sq_una = qp->sq_cur = qp->sq_end = qp->sq.head;
    qp->rq.tail = qp->rq.head;
    qp->cur_packet = 0;
    qp->sq_failed = false;
    qp->drain_told = true;
    qp->has_rules = qp->checks_credits = qp->init.e2e_credits;
    qp->rd_una = 0;
    qp->rd_placed_ps = 0;
    qp->ssn_post = qp->ssn_limit = 0;
    qp->rate_limit_bps = qp->rate_next_ps = qp->open_ps = 0;
    qp->access = qp->qkey = 0;
    qp->resp = (struct rnic_resp){0};
    qp->counters = (struct rnic_qp_counters){0};
    rnic_table_cq_discard(qp->send_cq, qp->qpn);
    rnic_table_cq_discard(qp->recv_cq, qp->qpn);
    rnic_cq_event_forget_qp(&dev->events, qp->qpn);
    rnic_device_forget_window(dev, qp);
}
