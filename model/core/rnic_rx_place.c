/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_rx_place.h"

#include <string.h>

#define PLACE_MTU_MAX 4096u

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

bool rnic_rx_place_request(struct rnic_qp *qp, const struct wire_frame *frame,
                           struct rnic_cq_event *events, uint64_t now_ps)
{
    const struct wire_opcode *op = &wire_opcodes[frame->opcode];
    bool opens = (op->is & (WIRE_IS_FIRST | WIRE_IS_ONLY)) != 0;
    bool needs = op->is & WIRE_IS_SEND ? opens : (op->has & WIRE_HAS_IMM) != 0;

    if (!needs || !place_rq_empty(qp))
        return true;
    return qp->srq != NULL && rnic_table_srq_take(qp->srq, &qp->rq, events, now_ps);
}

static enum rnic_rx_placed place_send(struct rnic_qp *qp, const struct wire_frame *frame,
                                      const struct wire_opcode *op,
                                      const struct rnic_access_path *path, uint32_t rq_fetch_bytes,
                                      struct rnic_rx_place_result *result)
{
    const struct rnic_rqe *rqe;

    WIRE_ASSERT(!place_rq_empty(qp));
    if (op->is & (WIRE_IS_FIRST | WIRE_IS_ONLY))
        result->placed_ps = rnic_dma_read(path->dma, result->placed_ps, rq_fetch_bytes);
    rqe = place_rqe(qp);
    if (qp->resp.received + (uint64_t)frame->payload_bytes > rqe->length) {
        if (qp->type == RNIC_QPT_RC)
            place_consume(qp, RNIC_WC_LOC_LEN_ERR, result);
        return RNIC_RX_NAK_INVALID;
    }
    if ((op->has & WIRE_HAS_IETH) && /* asked before any byte is moved */
        rnic_table_mr_bound(path->mrs, qp->pd, qp->qpn, frame->imm) == NULL) {
        place_consume(qp, RNIC_WC_LOC_QP_OP_ERR, result);
        return RNIC_RX_NAK_OP;
    }
    if (!rnic_access_scatter(path, qp->pd, rqe->sge, rqe->num_sge, qp->resp.received,
                             frame->payload_bytes, place_bytes(frame), &result->placed_ps)) {
        place_consume(qp, RNIC_WC_LOC_PROT_ERR, result);
        return RNIC_RX_NAK_OP;
    }
    if (op->has & WIRE_HAS_IETH) {
        bool done = rnic_table_mr_invalidate(path->mrs, qp->pd, qp->qpn, frame->imm);

        WIRE_ASSERT(done);
        (void)done;
    }
    return RNIC_RX_PLACED;
}

static enum rnic_rx_placed place_write(struct rnic_qp *qp, const struct wire_frame *frame,
                                       const struct wire_opcode *op,
                                       const struct rnic_access_path *path,
                                       struct rnic_rx_place_result *result)
{
    const struct rnic_access_peer peer = {.pd = qp->pd, .qpn = qp->qpn};
    bool opens = (op->is & (WIRE_IS_FIRST | WIRE_IS_ONLY)) != 0;
    uint64_t va = opens ? frame->va : qp->resp.va;
    uint32_t rkey = opens ? frame->rkey : qp->resp.rkey;
    uint32_t whole = opens ? frame->dma_bytes : qp->resp.remaining;

    WIRE_ASSERT(!(op->has & WIRE_HAS_IMM) || !place_rq_empty(qp));
    /* The whole message on its first packet; what is left on the others: the key may have gone. */
    if (!rnic_access_write(path, peer, rkey, va, whole, frame->payload_bytes, place_bytes(frame),
                           &result->placed_ps))
        return RNIC_RX_NAK_ACCESS;
    qp->resp.va = va + frame->payload_bytes;
    qp->resp.rkey = rkey;
    qp->resp.remaining = whole - frame->payload_bytes;
    return RNIC_RX_PLACED;
}

void rnic_rx_place_forget(struct rnic_resp *resp)
{
    resp->message_is = 0;
    resp->received = 0;
}

void rnic_rx_place_abandon(struct rnic_qp *qp, enum rnic_wc_status status,
                           struct rnic_rx_place_result *result)
{
    result->has_cqe = false;
    rnic_rx_place_forget(&qp->resp);
    if (qp->srq != NULL && !place_rq_empty(qp))
        place_consume(qp, status, result);
}

void rnic_rx_place_fail(struct rnic_qp *qp, enum rnic_wc_status status,
                        struct rnic_rx_place_result *result)
{
    result->has_cqe = false;
    if (qp->resp.message_is & WIRE_IS_SEND)
        place_consume(qp, status, result);
    rnic_rx_place_forget(&qp->resp);
}

/* What the headers of the last packet say to the receiver. */
static void place_describe(const struct wire_frame *frame, uint16_t has, struct rnic_wc *wc)
{
    if (has & WIRE_HAS_IMM) {
        wc->imm = frame->imm;
        wc->wc_flags |= RNIC_WC_WITH_IMM;
    } else if (has & WIRE_HAS_IETH) {
        wc->invalidated_rkey = frame->imm;
        wc->wc_flags |= RNIC_WC_WITH_INV;
    }
}

/* The last packet of a message is placed: message state, MSN, completion of a receive request. */
static void place_finish(struct rnic_qp *qp, const struct wire_frame *frame,
                         const struct wire_opcode *op, struct rnic_rx_place_result *result)
{
    bool send = (op->is & WIRE_IS_SEND) != 0;

    result->message_done = true;
    /* Not before the messages before it: its completion says that their data is there too. */
    result->placed_ps = wire_max_ps(result->placed_ps, qp->resp.placed_ps);
    qp->resp.placed_ps = result->placed_ps;
    qp->resp.msn = (qp->resp.msn + 1) & WIRE_PSN_MASK;
    if (send || (op->has & WIRE_HAS_IMM)) {
        place_consume(qp, RNIC_WC_SUCCESS, result);
        result->wc.byte_len = qp->resp.received;
        if (!send)
            result->wc.opcode = RNIC_WC_RECV_RDMA_WITH_IMM;
        place_describe(frame, op->has, &result->wc);
    }
    rnic_rx_place_forget(&qp->resp);
}

static void place_begin(uint64_t in_ps, struct rnic_rx_place_result *result)
{
    result->placed_ps = in_ps;
    result->message_done = false;
    result->message_bytes = 0;
    result->has_cqe = false;
}

void rnic_rx_place(struct rnic_qp *qp, const struct wire_frame *frame,
                   const struct rnic_access_path *path, uint32_t rq_fetch_bytes, uint64_t in_ps,
                   struct rnic_rx_place_result *result)
{
    const struct wire_opcode *op = &wire_opcodes[frame->opcode];

    WIRE_ASSERT(op->is & (WIRE_IS_SEND | WIRE_IS_WRITE));
    place_begin(in_ps, result);
    if (op->is & WIRE_IS_SEND)
        result->placed = place_send(qp, frame, op, path, rq_fetch_bytes, result);
    else
        result->placed = place_write(qp, frame, op, path, result);
    if (result->placed != RNIC_RX_PLACED)
        return;
    qp->resp.received += frame->payload_bytes;
    result->message_bytes = qp->resp.received;
    if (op->is & (WIRE_IS_LAST | WIRE_IS_ONLY)) {
        place_finish(qp, frame, op, result);
        return;
    }
    if (op->is & WIRE_IS_FIRST)
        qp->resp.message_psn = frame->psn;
    qp->resp.message_is = op->is & (WIRE_IS_SEND | WIRE_IS_WRITE);
    qp->resp.placed_ps = wire_max_ps(qp->resp.placed_ps, result->placed_ps);
}

/* Header area and payload, in one piece where there are bytes. @return false: refused. */
static bool place_area(const struct rnic_qp *qp, const struct rnic_rqe *rqe,
                       const struct wire_frame *frame, const uint8_t *grh,
                       const struct rnic_access_path *path, uint64_t *placed_ps)
{
    uint8_t area[RNIC_GRH_BYTES + PLACE_MTU_MAX];
    uint32_t bytes = frame->payload_bytes;
    uint64_t grh_ps = *placed_ps;

    WIRE_ASSERT(bytes <= PLACE_MTU_MAX);
    if (place_bytes(frame) != NULL) {
        memcpy(area, grh, RNIC_GRH_BYTES);
        memcpy(area + RNIC_GRH_BYTES, frame->payload, bytes);
        return rnic_access_scatter(path, qp->pd, rqe->sge, rqe->num_sge, 0, RNIC_GRH_BYTES + bytes,
                                   area, placed_ps);
    }
    /* Phantom payload first: if it is refused, nothing was written. */
    if (!rnic_access_scatter(path, qp->pd, rqe->sge, rqe->num_sge, RNIC_GRH_BYTES, bytes, NULL,
                             placed_ps) ||
        !rnic_access_scatter(path, qp->pd, rqe->sge, rqe->num_sge, 0, RNIC_GRH_BYTES, grh, &grh_ps))
        return false;
    *placed_ps = wire_max_ps(*placed_ps, grh_ps);
    return true;
}

void rnic_rx_place_datagram(struct rnic_qp *qp, const struct wire_frame *frame, const uint8_t *grh,
                            const struct rnic_access_path *path, uint32_t rq_fetch_bytes,
                            uint64_t in_ps, struct rnic_rx_place_result *result)
{
    const struct rnic_rqe *rqe = place_rqe(qp);

    WIRE_ASSERT(!place_rq_empty(qp));
    place_begin(in_ps, result);
    result->placed = RNIC_RX_NAK_INVALID;
    if (RNIC_GRH_BYTES + (uint64_t)frame->payload_bytes > rqe->length)
        return;
    result->placed_ps = rnic_dma_read(path->dma, in_ps, rq_fetch_bytes);
    result->placed = RNIC_RX_NAK_OP;
    if (!place_area(qp, rqe, frame, grh, path, &result->placed_ps)) {
        place_consume(qp, RNIC_WC_LOC_PROT_ERR, result);
        return;
    }
    result->placed = RNIC_RX_PLACED;
    result->message_done = true;
    result->message_bytes = frame->payload_bytes;
    place_consume(qp, RNIC_WC_SUCCESS, result);
    result->wc.byte_len = RNIC_GRH_BYTES + frame->payload_bytes;
    result->wc.src_qp = frame->deth.src_qpn;
    result->wc.wc_flags = RNIC_WC_GRH;
    place_describe(frame, wire_opcodes[frame->opcode].has, &result->wc);
}
