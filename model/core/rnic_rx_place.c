/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_rx_place.h"

static struct rnic_rqe *place_rqe(const struct rnic_qp *qp)
{
    return rnic_ring_at(&qp->rq, qp->rq.tail);
}

static bool place_rq_empty(const struct rnic_qp *qp)
{
    return qp->rq.head == qp->rq.tail;
}

/* Use up the receive request at the head with this outcome. */
static void place_consume(struct rnic_qp *qp, enum rnic_wc_status status,
                          struct rnic_rx_place_result *result)
{
    result->has_cqe = true;
    result->wc = (struct rnic_wc){
        .wr_id = place_rqe(qp)->wr_id, .status = status, .opcode = RNIC_WC_RECV, .qp_num = qp->qpn};
    qp->rq.tail++;
}

static const uint8_t *place_bytes(const struct wire_frame *frame)
{
    return frame->flags & WIRE_FRAME_BYTES ? frame->payload : NULL;
}

static enum rnic_rx_placed place_send(struct rnic_qp *qp, const struct wire_frame *frame,
                                      uint16_t is, const struct rnic_access_path *path,
                                      uint32_t rq_fetch_bytes, struct rnic_rx_place_result *result)
{
    bool opens = (is & (WIRE_IS_FIRST | WIRE_IS_ONLY)) != 0;
    const struct rnic_rqe *rqe;

    if (opens && place_rq_empty(qp))
        return RNIC_RX_RNR;
    WIRE_ASSERT(!place_rq_empty(qp));
    if (opens)
        result->placed_ps = rnic_dma_read(path->dma, result->placed_ps, rq_fetch_bytes);
    rqe = place_rqe(qp);
    if (qp->resp.received + (uint64_t)frame->payload_bytes > rqe->length) {
        place_consume(qp, RNIC_WC_LOC_LEN_ERR, result);
        return RNIC_RX_NAK_INVALID;
    }
    if (!rnic_access_scatter(path, qp->pd, rqe->sge, rqe->num_sge, qp->resp.received,
                             frame->payload_bytes, place_bytes(frame), &result->placed_ps)) {
        place_consume(qp, RNIC_WC_LOC_PROT_ERR, result);
        return RNIC_RX_NAK_OP;
    }
    return RNIC_RX_PLACED;
}

static enum rnic_rx_placed place_write(struct rnic_qp *qp, const struct wire_frame *frame,
                                       const struct wire_opcode *op,
                                       const struct rnic_access_path *path,
                                       struct rnic_rx_place_result *result)
{
    bool opens = (op->is & (WIRE_IS_FIRST | WIRE_IS_ONLY)) != 0;
    uint64_t va = opens ? frame->va : qp->resp.va;
    uint32_t rkey = opens ? frame->rkey : qp->resp.rkey;
    uint32_t whole = opens ? frame->dma_bytes : qp->resp.remaining;

    if ((op->has & WIRE_HAS_IMM) && place_rq_empty(qp))
        return RNIC_RX_RNR;
    /* The whole message on its first packet; what is left on the others: the key may have gone. */
    if (!rnic_access_write(path, qp->pd, rkey, va, whole, frame->payload_bytes, place_bytes(frame),
                           &result->placed_ps))
        return RNIC_RX_NAK_ACCESS;
    qp->resp.va = va + frame->payload_bytes;
    qp->resp.rkey = rkey;
    qp->resp.remaining = whole - frame->payload_bytes;
    return RNIC_RX_PLACED;
}

/* The last packet of a message is placed: message state, MSN, completion of a receive request. */
static void place_finish(struct rnic_qp *qp, const struct wire_frame *frame,
                         const struct wire_opcode *op, struct rnic_rx_place_result *result)
{
    bool send = (op->is & WIRE_IS_SEND) != 0;

    result->message_done = true;
    result->placed_ps = wire_max_ps(result->placed_ps, qp->resp.placed_ps);
    qp->resp.msn = (qp->resp.msn + 1) & WIRE_PSN_MASK;
    if (send || (op->has & WIRE_HAS_IMM)) {
        place_consume(qp, RNIC_WC_SUCCESS, result);
        result->wc.byte_len = qp->resp.received;
        if (!send)
            result->wc.opcode = RNIC_WC_RECV_RDMA_WITH_IMM;
        if (op->has & WIRE_HAS_IMM) {
            result->wc.imm = frame->imm;
            result->wc.wc_flags = RNIC_WC_WITH_IMM;
        }
    }
    qp->resp.message_is = 0;
    qp->resp.received = 0;
    qp->resp.placed_ps = 0;
}

void rnic_rx_place(struct rnic_qp *qp, const struct wire_frame *frame,
                   const struct rnic_access_path *path, uint32_t rq_fetch_bytes, uint64_t in_ps,
                   struct rnic_rx_place_result *result)
{
    const struct wire_opcode *op = &wire_opcodes[frame->opcode];

    WIRE_ASSERT(op->is & (WIRE_IS_SEND | WIRE_IS_WRITE));
    result->placed_ps = in_ps;
    result->message_done = false;
    result->message_bytes = 0;
    result->has_cqe = false;
    if (op->is & WIRE_IS_SEND)
        result->placed = place_send(qp, frame, op->is, path, rq_fetch_bytes, result);
    else
        result->placed = place_write(qp, frame, op, path, result);
    if (result->placed != RNIC_RX_PLACED)
        return;
    qp->resp.received += frame->payload_bytes;
    result->message_bytes = qp->resp.received;
    if (op->is & (WIRE_IS_LAST | WIRE_IS_ONLY)) {
        place_finish(qp, frame, op, result);
    } else {
        qp->resp.message_is = op->is & (WIRE_IS_SEND | WIRE_IS_WRITE);
        qp->resp.placed_ps = wire_max_ps(qp->resp.placed_ps, result->placed_ps);
    }
}
