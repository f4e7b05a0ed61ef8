/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_rx_check.h"

#define CHECK_MESSAGE_MAX 0x80000000u /* 2^31 bytes, IBTA 9.7.2 */

static enum rnic_rx_verdict check_psn(struct rnic_resp *resp, wire_psn psn)
{
    int32_t ahead = wire_psn_diff(psn, resp->psn);

    if (ahead == 0)
        return RNIC_RX_NEW;
    if (ahead < 0)
        return RNIC_RX_DUPLICATE;
    if (resp->nak == RNIC_RESP_RNR_NAK)
        return RNIC_RX_RNR_SILENT;
    if (resp->nak == RNIC_RESP_SEQ_NAK)
        return RNIC_RX_GAP_SILENT;
    resp->nak = RNIC_RESP_SEQ_NAK;
    return RNIC_RX_GAP;
}

/* FIRST and ONLY open a message, MIDDLE and LAST continue one of the same kind. */
static bool check_sequence(const struct rnic_resp *resp, uint16_t is)
{
    if (is & (WIRE_IS_FIRST | WIRE_IS_ONLY))
        return resp->message_is == 0;
    return resp->message_is != 0 && (is & resp->message_is) != 0;
}

static bool check_length(const struct rnic_qp *qp, const struct wire_frame *frame, uint16_t is)
{
    uint32_t bytes = frame->payload_bytes;

    if (is & (WIRE_IS_FIRST | WIRE_IS_MIDDLE))
        return bytes == qp->mtu_bytes;
    if (is & WIRE_IS_LAST)
        return bytes >= 1 && bytes <= qp->mtu_bytes;
    return bytes <= qp->mtu_bytes;
}

/* A WRITE carries exactly as many bytes as its first packet announced. */
static bool check_write_total(const struct rnic_qp *qp, const struct wire_frame *frame, uint16_t is)
{
    bool opens = (is & (WIRE_IS_FIRST | WIRE_IS_ONLY)) != 0;
    bool ends = (is & (WIRE_IS_LAST | WIRE_IS_ONLY)) != 0;
    uint32_t left = opens ? frame->dma_bytes : qp->resp.remaining;

    if (left > CHECK_MESSAGE_MAX)
        return false;
    return ends ? frame->payload_bytes == left : frame->payload_bytes < left;
}

enum rnic_rx_verdict rnic_rx_check(struct rnic_qp *qp, const struct wire_frame *frame)
{
    const struct wire_opcode *op = &wire_opcodes[frame->opcode];
    enum rnic_rx_verdict verdict = check_psn(&qp->resp, frame->psn);

    if (verdict != RNIC_RX_NEW)
        return verdict;
    qp->resp.nak = RNIC_RESP_OPEN; /* the expected one is here: whatever was refused is over */
    if (!(op->is & (WIRE_IS_SEND | WIRE_IS_WRITE)) || (op->has & WIRE_HAS_IETH))
        return RNIC_RX_UNSUPPORTED;
    if (!check_sequence(&qp->resp, op->is))
        return RNIC_RX_INVALID;
    if ((op->is & WIRE_IS_WRITE) && !(qp->access & RNIC_ACCESS_REMOTE_WRITE))
        return RNIC_RX_INVALID;
    if (!check_length(qp, frame, op->is))
        return RNIC_RX_INVALID;
    if ((op->is & WIRE_IS_WRITE) && !check_write_total(qp, frame, op->is))
        return RNIC_RX_INVALID;
    return RNIC_RX_NEW;
}
