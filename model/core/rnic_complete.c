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

/* Completion of send work request `index`. */
static void complete_send(struct rnic_device *dev, struct rnic_qp *qp, uint32_t index,
                          enum rnic_wc_status status, uint64_t at_ps)
{
    const struct rnic_wqe *wqe = rnic_ring_wqe(&qp->sq, index);
    bool write = wqe->opcode == RNIC_WR_RDMA_WRITE || wqe->opcode == RNIC_WR_RDMA_WRITE_WITH_IMM;
    struct rnic_cqe cqe = {.wc = {.wr_id = wqe->wr_id,
                                  .status = status,
                                  .opcode = write ? RNIC_WC_RDMA_WRITE : RNIC_WC_SEND,
                                  .byte_len = wqe->length,
                                  .qp_num = qp->qpn},
                           .sq_next = index + 1,
                           .is_send = true};

    complete_write(dev, qp, qp->send_cq, &cqe, at_ps);
}

void rnic_complete_sends(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps)
{
    while (qp->state != RNIC_QPS_ERR && qp->sq_una != qp->sq.head) {
        const struct rnic_wqe *wqe = rnic_ring_wqe(&qp->sq, qp->sq_una);
        wire_psn end = wire_psn_add(wqe->psn, wqe->packets);

        /* All before it are acknowledged. Its own packets that left may never be: nobody asked. */
        if (wqe->status != RNIC_WC_SUCCESS && qp->sq_una == qp->sq_cur) {
            rnic_complete_send_error(dev, qp, (enum rnic_wc_status)wqe->status, at_ps);
            return;
        }
        if (wire_psn_diff(qp->replay.psn_una, end) < 0)
            return;
        qp->sq_una++;
        if (qp->sig_all || (wqe->flags & RNIC_SEND_SIGNALED))
            complete_send(dev, qp, qp->sq_una - 1, RNIC_WC_SUCCESS, at_ps);
    }
}

void rnic_complete_send_error(struct rnic_device *dev, struct rnic_qp *qp,
                              enum rnic_wc_status status, uint64_t at_ps)
{
    uint32_t index = qp->sq_una;

    WIRE_ASSERT(qp->sq_una != qp->sq.head && status != RNIC_WC_SUCCESS);
    qp->sq_una++;
    complete_send(dev, qp, index, status, at_ps);
    rnic_complete_to_error(dev, qp, at_ps);
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

/* Nothing of this queue pair waits any more: not to be sent, not for an answer, not for a timer. */
static void complete_stop(struct rnic_device *dev, struct rnic_qp *qp)
{
    rnic_tx_sched_remove(&dev->sched, qp);
    qp->replay.psn_una = qp->replay.psn_next = qp->replay.psn_sent;
    qp->replay.rnr_wait = false;
    qp->replay.deadline_ps = WIRE_NEVER;
    rnic_device_watch(dev, qp);
    qp->resp.message_is = 0;
    qp->resp.received = 0;
}

void rnic_complete_to_error(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps)
{
    if (qp->state == RNIC_QPS_ERR)
        return;
    qp->state = RNIC_QPS_ERR;
    complete_stop(dev, qp);
    while (qp->sq_una != qp->sq.head)
        complete_send(dev, qp, qp->sq_una++, RNIC_WC_WR_FLUSH_ERR, at_ps);
    qp->sq_cur = qp->sq.head;
    qp->cur_packet = 0;
    while (qp->rq.tail != qp->rq.head) {
        const struct rnic_rqe *rqe = rnic_ring_at(&qp->rq, qp->rq.tail++);

        rnic_complete_recv(dev, qp,
                           &(struct rnic_wc){.wr_id = rqe->wr_id,
                                             .status = RNIC_WC_WR_FLUSH_ERR,
                                             .opcode = RNIC_WC_RECV,
                                             .qp_num = qp->qpn},
                           false, at_ps);
    }
}

void rnic_complete_reset(struct rnic_device *dev, struct rnic_qp *qp)
{
    complete_stop(dev, qp);
    qp->state = RNIC_QPS_RESET;
    qp->sq.tail = qp->sq_una = qp->sq_cur = qp->sq.head;
    qp->rq.tail = qp->rq.head;
    qp->cur_packet = 0;
    qp->sq_failed = false;
    qp->resp = (struct rnic_resp){0};
    qp->counters = (struct rnic_qp_counters){0};
    rnic_table_cq_discard(qp->send_cq, qp->qpn);
    rnic_table_cq_discard(qp->recv_cq, qp->qpn);
    rnic_cq_event_forget_qp(&dev->events, qp->qpn);
    rnic_device_forget_window(dev, qp);
}
