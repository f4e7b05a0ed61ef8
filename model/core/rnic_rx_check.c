/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_rx_check.h"

/* Go-back-0: the open message begins again. */
static bool check_restarts(const struct rnic_qp *qp, wire_psn psn, uint16_t is)
{
    return qp->init.recovery == RNIC_RECOVER_GO_BACK_0 && qp->resp.message_is != 0 &&
           (is & (WIRE_IS_FIRST | WIRE_IS_ONLY)) && psn.v == qp->resp.message_psn.v;
}

static enum rnic_rx_verdict check_psn(struct rnic_qp *qp, wire_psn psn, uint16_t is)
{
    struct rnic_resp *resp = &qp->resp;
    int32_t ahead = wire_psn_diff(psn, resp->psn);

    if (WIRE_LIKELY(ahead == 0))
        return RNIC_RX_NEW;
    if (ahead < 0)
        return check_restarts(qp, psn, is) ? RNIC_RX_RESTART : RNIC_RX_DUPLICATE;
    if (qp->init.recovery == RNIC_RECOVER_SELECTIVE)
        return RNIC_RX_AHEAD;
    if (resp->nak == RNIC_RESP_RNR_NAK)
        return RNIC_RX_RNR_SILENT;
    if (resp->nak == RNIC_RESP_SEQ_NAK)
        return RNIC_RX_GAP_SILENT;
    resp->nak = RNIC_RESP_SEQ_NAK;
    return RNIC_RX_GAP;
}

/*
 * FIRST and ONLY open a message, MIDDLE and LAST continue one of the same kind; a READ or atomic
 * stands between messages.
 */
static bool check_sequence(const struct rnic_resp *resp, uint16_t is)
{
    if (is & (WIRE_IS_MIDDLE | WIRE_IS_LAST))
        return (is & resp->message_is) != 0;
    return resp->message_is == 0;
}

static bool check_enabled(const struct rnic_qp *qp, uint16_t is)
{
    if (is & WIRE_IS_SEND)
        return true;
    if (is & WIRE_IS_WRITE)
        return (qp->access & RNIC_ACCESS_REMOTE_WRITE) != 0;
    if (is & WIRE_IS_READ)
        return (qp->access & RNIC_ACCESS_REMOTE_READ) != 0;
    return (qp->access & RNIC_ACCESS_REMOTE_ATOMIC) != 0;
}

static enum rnic_rx_verdict check_uc(struct rnic_qp *qp, wire_psn psn, uint16_t is)
{
    enum rnic_rx_verdict verdict = RNIC_RX_NEW;
    struct rnic_resp *resp = &qp->resp;

    if (is & (WIRE_IS_FIRST | WIRE_IS_ONLY)) {
        verdict = resp->message_is == 0 ? RNIC_RX_NEW : RNIC_RX_RESTART;
        resp->psn = psn;
    } else if (psn.v != resp->psn.v || !check_sequence(resp, is)) {
        return RNIC_RX_LOST;
    }
    return check_enabled(qp, is) ? verdict : RNIC_RX_INVALID;
}

enum rnic_rx_verdict rnic_rx_check(struct rnic_qp *qp, const struct wire_frame *frame)
{
    const uint16_t is = wire_opcodes[frame->opcode].is;
    enum rnic_rx_verdict verdict;

    if (qp->type == RNIC_QPT_UC)
        return check_uc(qp, frame->psn, is);
    if (qp->type == RNIC_QPT_UD)
        return RNIC_RX_NEW;
    verdict = check_psn(qp, frame->psn, is);
    if (verdict > RNIC_RX_RESTART)
        return verdict;
    qp->resp.nak = RNIC_RESP_OPEN; /* the expected one is here: whatever was refused is over */
    if (!(is & (WIRE_IS_SEND | WIRE_IS_WRITE | WIRE_IS_READ | WIRE_IS_ATOMIC)))
        return RNIC_RX_UNSUPPORTED;
    if (verdict == RNIC_RX_NEW && !check_sequence(&qp->resp, is))
        return RNIC_RX_INVALID;
    return check_enabled(qp, is) ? verdict : RNIC_RX_INVALID;
}

/* ---- length ---- */

static bool check_payload(const struct rnic_qp *qp, uint32_t bytes, uint16_t is)
{
    if (is & (WIRE_IS_FIRST | WIRE_IS_MIDDLE))
        return bytes == qp->mtu_bytes;
    return bytes <= qp->mtu_bytes && (bytes >= 1 || !(is & WIRE_IS_LAST));
}

/* A WRITE carries exactly as many bytes as its first packet announced. */
static bool check_write_total(const struct rnic_qp *qp, const struct wire_frame *frame, uint16_t is)
{
    bool opens = (is & (WIRE_IS_FIRST | WIRE_IS_ONLY)) != 0;
    bool ends = (is & (WIRE_IS_LAST | WIRE_IS_ONLY)) != 0;
    uint32_t left = opens ? frame->dma_bytes : qp->resp.remaining;

    if (left > WIRE_MESSAGE_MAX)
        return false;
    return ends ? frame->payload_bytes == left : frame->payload_bytes < left;
}

bool rnic_rx_check_asked(const struct rnic_qp *qp, const struct wire_frame *frame)
{
    if (wire_opcodes[frame->opcode].is & WIRE_IS_READ)
        return frame->payload_bytes == 0 && frame->dma_bytes <= WIRE_MESSAGE_MAX &&
               ((uint64_t)frame->dma_bytes + qp->mtu_bytes - 1) >> qp->mtu_shift <= WIRE_PSNS_MAX;
    return frame->payload_bytes == 0 && (frame->va & 7) == 0;
}

bool rnic_rx_check_length(const struct rnic_qp *qp, const struct wire_frame *frame)
{
    const uint16_t is = wire_opcodes[frame->opcode].is;

    if (!check_payload(qp, frame->payload_bytes, is))
        return false;
    return !(is & WIRE_IS_WRITE) || check_write_total(qp, frame, is);
}
