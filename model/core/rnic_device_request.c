/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The walk of a received request: PSN check, resources, length, placement, answer.
 */
#include "rnic_complete.h"
#include "rnic_credit.h"
#include "rnic_internal.h"
#include "rnic_rx_check.h"
#include "rnic_rx_place.h"
#include "wire_codec.h"

/*
 * Refuse a request for good, on a reliable connection. The receive request that ended with it tells
 * our host, else an event does.
 */
static void rx_refuse_for(struct rnic_device *dev, struct rnic_qp *qp, enum wire_nak code,
                          const struct rnic_rx_place_result *result, uint64_t at_ps)
{
    if (result->has_cqe) {
        rnic_complete_recv(dev, qp, &result->wc, false, at_ps);
        rnic_device_respond_refuse_told(dev, qp, code, qp->resp.psn, at_ps);
    } else {
        rnic_device_respond_refuse(dev, qp, code, qp->resp.psn, at_ps);
    }
}

/* The same before placement: an open SEND has a receive request. */
static enum wire_drop rx_refuse(struct rnic_device *dev, struct rnic_qp *qp, enum wire_nak code,
                                enum wire_drop drop, uint64_t at_ps)
{
    struct rnic_rx_place_result result;

    rnic_rx_place_fail(qp, RNIC_WC_LOC_QP_OP_ERR, &result);
    rx_refuse_for(dev, qp, code, &result, at_ps);
    return rnic_device_drop(dev, drop);
}

/* ---- what goes wrong on UC and UD: no peer is told ---- */

/* UC: the open message, if any, is over. */
static void rx_abandon(struct rnic_device *dev, struct rnic_qp *qp, enum rnic_wc_status status,
                       uint64_t at_ps)
{
    struct rnic_rx_place_result result;

    rnic_rx_place_abandon(qp, status, &result);
    if (result.has_cqe)
        rnic_complete_recv(dev, qp, &result.wc, false, at_ps);
}

/* UC: the open message, if any, is lost; what follows of it continues nothing. */
static enum wire_drop rx_lost(struct rnic_device *dev, struct rnic_qp *qp, enum wire_drop drop,
                              enum rnic_wc_status status, uint64_t at_ps)
{
    rx_abandon(dev, qp, status, at_ps);
    return rnic_device_drop(dev, drop);
}

/* Our own receive buffer may not be written: that is no loss but an error of this queue pair. */
static enum wire_drop rx_local_error(struct rnic_device *dev, struct rnic_qp *qp,
                                     const struct rnic_rx_place_result *result, uint64_t at_ps)
{
    rnic_complete_recv(dev, qp, &result->wc, false, at_ps); /* that tells the host */
    rnic_complete_to_error(dev, qp, at_ps);
    return rnic_device_drop(dev, WIRE_DROP_REFUSED);
}

/* ---- PSNs ---- */

/* The first packet behind a gap. Go-back-0 has the whole open message again. */
static enum wire_drop rx_gap(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps)
{
    struct rnic_resp *resp = &qp->resp;

    if (qp->init.recovery == RNIC_RECOVER_GO_BACK_0 && resp->message_is != 0) {
        resp->psn = resp->message_psn;
        rnic_rx_place_forget(resp);
    }
    rnic_device_respond_answer(dev, qp, WIRE_AETH_NAK | WIRE_NAK_SEQUENCE, resp->psn, at_ps);
    return rnic_device_drop(dev, WIRE_DROP_PSN_GAP);
}

/* Selective repeat: kept until those before it are here; one that does not fit comes again. */
static enum wire_drop rx_ahead(struct rnic_device *dev, struct rnic_qp *qp,
                               const struct wire_frame *frame, uint64_t at_ps)
{
    if (!rnic_rx_hold_put(&qp->held_requests, qp->resp.psn, frame)) {
        rnic_device_respond_answer(dev, qp, WIRE_AETH_NAK | WIRE_NAK_SEQUENCE, qp->resp.psn, at_ps);
        return rnic_device_drop(dev, WIRE_DROP_PSN_GAP);
    }
    rnic_device_respond_ahead(dev, qp, frame->psn, at_ps);
    return WIRE_DROP_NONE;
}

/* What RX PSN check did not let through to placement. */
static enum wire_drop rx_not_new(struct rnic_device *dev, struct rnic_qp *qp,
                                 const struct wire_frame *frame, enum rnic_rx_verdict verdict,
                                 uint64_t at_ps)
{
    if (qp->type == RNIC_QPT_UC)
        return rx_lost(dev, qp, verdict == RNIC_RX_LOST ? WIRE_DROP_PSN_GAP : WIRE_DROP_REFUSED,
                       RNIC_WC_LOC_QP_OP_ERR, at_ps);
    switch (verdict) {
    case RNIC_RX_DUPLICATE:
        return rnic_device_respond_repeat(dev, qp, frame, at_ps);
    case RNIC_RX_GAP:
        return rx_gap(dev, qp, at_ps);
    case RNIC_RX_GAP_SILENT:
        return rnic_device_drop(dev, WIRE_DROP_PSN_GAP);
    case RNIC_RX_AHEAD:
        return rx_ahead(dev, qp, frame, at_ps);
    case RNIC_RX_RNR_SILENT:
        return rnic_device_drop(dev, WIRE_DROP_RNR_WAIT);
    case RNIC_RX_UNSUPPORTED:
        return rx_refuse(dev, qp, WIRE_NAK_INVALID, WIRE_DROP_UNSUPPORTED, at_ps);
    case RNIC_RX_INVALID:
        break;
    case RNIC_RX_NEW:
    case RNIC_RX_RESTART:
    case RNIC_RX_LOST:
        WIRE_ASSERT(false);
    }
    return rx_refuse(dev, qp, WIRE_NAK_INVALID, WIRE_DROP_REFUSED, at_ps);
}

/* ---- SEND and WRITE ---- */

/* The packet is in memory: trace, and on to the next. */
static void rx_accepted(struct rnic_device *dev, struct rnic_qp *qp, const struct wire_frame *frame,
                        const struct rnic_rx_place_result *result)
{
    qp->resp.psn = wire_psn_add(qp->resp.psn, 1);
    qp->counters.rx_packets++;
    if (result->message_done && rnic_cq_event_wanted(&dev->events, RNIC_EVENT_PLACED))
        rnic_cq_event_push(&dev->events, &(struct rnic_event){.type = RNIC_EVENT_PLACED,
                                                              .qpn = qp->qpn,
                                                              .psn = frame->psn,
                                                              .opcode = frame->opcode,
                                                              .value = result->message_bytes,
                                                              .time_ps = result->placed_ps});
}

static enum wire_drop rx_rnr(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps)
{
    qp->resp.nak = RNIC_RESP_RNR_NAK;
    rnic_device_respond_answer(dev, qp, (uint8_t)(WIRE_AETH_RNR_NAK | qp->min_rnr_timer),
                               qp->resp.psn, at_ps);
    return rnic_device_drop(dev, WIRE_DROP_RNR_WAIT);
}

static enum wire_nak rx_nak_code(enum rnic_rx_placed placed)
{
    return placed == RNIC_RX_NAK_ACCESS ? WIRE_NAK_ACCESS
           : placed == RNIC_RX_NAK_OP   ? WIRE_NAK_OP
                                        : WIRE_NAK_INVALID;
}

/* No receive request for it. */
static enum wire_drop rx_no_receive(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps)
{
    if (qp->type == RNIC_QPT_RC)
        return rx_rnr(dev, qp, at_ps);
    if (qp->type == RNIC_QPT_UC)
        return rx_lost(dev, qp, WIRE_DROP_NO_RECV, RNIC_WC_LOC_QP_OP_ERR, at_ps);
    return rnic_device_drop(dev, WIRE_DROP_NO_RECV);
}

/* Its length is none that its place allows. */
static enum wire_drop rx_bad_length(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps)
{
    if (qp->type == RNIC_QPT_RC)
        return rx_refuse(dev, qp, WIRE_NAK_INVALID, WIRE_DROP_REFUSED, at_ps);
    if (qp->type == RNIC_QPT_UC)
        return rx_lost(dev, qp, WIRE_DROP_REFUSED, RNIC_WC_LOC_QP_OP_ERR, at_ps);
    return rnic_device_drop(dev, WIRE_DROP_REFUSED);
}

static enum wire_drop rx_not_placed(struct rnic_device *dev, struct rnic_qp *qp,
                                    const struct rnic_rx_place_result *result, uint64_t at_ps)
{
    bool too_long = result->placed == RNIC_RX_NAK_INVALID;

    if (qp->type == RNIC_QPT_RC) {
        rx_refuse_for(dev, qp, rx_nak_code(result->placed), result, at_ps);
        return rnic_device_drop(dev, WIRE_DROP_REFUSED);
    }
    if (result->placed == RNIC_RX_NAK_OP)
        return rx_local_error(dev, qp, result, at_ps);
    if (qp->type == RNIC_QPT_UC)
        return rx_lost(dev, qp, WIRE_DROP_REFUSED,
                       too_long ? RNIC_WC_LOC_LEN_ERR : RNIC_WC_LOC_QP_OP_ERR, at_ps);
    return rnic_device_drop(dev, WIRE_DROP_REFUSED);
}

static void rx_place_datagram(struct rnic_device *dev, struct rnic_qp *qp,
                              const struct wire_frame *frame, uint64_t at_ps,
                              struct rnic_rx_place_result *result)
{
    uint8_t grh[RNIC_GRH_BYTES];

    wire_frame_grh(frame, dev->book, grh);
    rnic_rx_place_datagram(qp, frame, grh, &dev->path, (uint32_t)dev->params.rq_fetch_bytes, at_ps,
                           result);
}

static enum wire_drop rx_data(struct rnic_device *dev, struct rnic_qp *qp,
                              const struct wire_frame *frame, uint64_t at_ps)
{
    struct rnic_rx_place_result result;

    if (!rnic_rx_place_request(qp, frame, &dev->events, at_ps))
        return rx_no_receive(dev, qp, at_ps);
    if (!rnic_rx_check_length(qp, frame))
        return rx_bad_length(dev, qp, at_ps);
    if (WIRE_UNLIKELY(qp->type == RNIC_QPT_UD))
        rx_place_datagram(dev, qp, frame, at_ps, &result);
    else
        rnic_rx_place(qp, frame, &dev->path, (uint32_t)dev->params.rq_fetch_bytes, at_ps, &result);
    rnic_device_passage(dev, RNIC_BLOCK_RX_PLACE, qp, frame, at_ps, result.placed_ps);
    if (WIRE_UNLIKELY(result.placed != RNIC_RX_PLACED))
        return rx_not_placed(dev, qp, &result, at_ps);
    rx_accepted(dev, qp, frame, &result);
    if (result.has_cqe) {
        rnic_complete_recv(dev, qp, &result.wc, (frame->bth_flags & WIRE_BTH_SE) != 0,
                           result.placed_ps);
        if (WIRE_UNLIKELY(qp->state == RNIC_QPS_ERR))
            return WIRE_DROP_NONE; /* no room for its completion: the peer is not told it is done */
    }
    if ((frame->bth_flags & WIRE_BTH_ACKREQ) && qp->type == RNIC_QPT_RC)
        rnic_device_respond_answer(dev, qp, WIRE_AETH_ACK | rnic_credit_of(qp), frame->psn, at_ps);
    return WIRE_DROP_NONE;
}

/* ---- READ and atomics ---- */

/* A request that is answered with data: its resource, and past it. */
static struct rnic_resource *rx_remember(struct rnic_qp *qp, const struct wire_frame *frame,
                                         uint32_t packets, uint64_t ready_ps)
{
    struct rnic_resource *resource = rnic_rx_respond_add(&qp->respond);

    qp->resp.msn = (qp->resp.msn + 1) & WIRE_PSN_MASK;
    qp->resp.psn = wire_psn_add(qp->resp.psn, packets);
    qp->counters.rx_packets++;
    resource->va = frame->va;
    resource->rkey = frame->rkey;
    resource->opcode = frame->opcode;
    resource->psn = frame->psn;
    resource->packets = packets;
    resource->msn = qp->resp.msn;
    resource->ready_ps = ready_ps;
    return resource;
}

static enum wire_drop rx_read(struct rnic_device *dev, struct rnic_qp *qp,
                              const struct wire_frame *frame, uint64_t at_ps)
{
    const struct rnic_access_peer peer = {.pd = qp->pd, .qpn = qp->qpn};
    uint32_t packets = rnic_tx_build_packets(qp, frame->dma_bytes);
    struct rnic_resource *resource;

    if (!rnic_access_open(&dev->path, peer, frame->rkey, frame->va, frame->dma_bytes,
                          RNIC_ACCESS_REMOTE_READ))
        return rx_refuse(dev, qp, WIRE_NAK_ACCESS, WIRE_DROP_REFUSED, at_ps);
    resource = rx_remember(qp, frame, packets, at_ps);
    resource->length = resource->asked = frame->dma_bytes;
    rnic_rx_respond_queue(&qp->respond, resource, 0, packets);
    rnic_device_tx_respond_ready(dev, qp, at_ps, at_ps);
    return WIRE_DROP_NONE;
}

static enum wire_drop rx_atomic(struct rnic_device *dev, struct rnic_qp *qp,
                                const struct wire_frame *frame, uint64_t at_ps)
{
    const struct rnic_access_peer peer = {.pd = qp->pd, .qpn = qp->qpn};
    const struct rnic_access_atomic op = {.swaps = frame->opcode == WIRE_OP_COMPARE_SWAP,
                                          .swap_add = frame->swap_add,
                                          .compare = frame->compare};
    struct rnic_resource *resource;
    uint64_t done_ps = at_ps, orig;

    if (!rnic_access_atomic(&dev->path, peer, frame->rkey, frame->va, &op, &orig, &done_ps))
        return rx_refuse(dev, qp, WIRE_NAK_ACCESS, WIRE_DROP_REFUSED, at_ps);
    rnic_device_passage(dev, RNIC_BLOCK_RX_PLACE, qp, frame, at_ps, done_ps);
    resource = rx_remember(qp, frame, 1, done_ps);
    resource->orig = orig;
    rnic_rx_respond_queue(&qp->respond, resource, 0, 1);
    rnic_device_tx_respond_ready(dev, qp, at_ps, at_ps);
    return WIRE_DROP_NONE;
}

static enum wire_drop rx_ask(struct rnic_device *dev, struct rnic_qp *qp,
                             const struct wire_frame *frame, uint64_t at_ps)
{
    if (!rnic_rx_respond_room(&qp->respond) || !rnic_rx_check_asked(qp, frame))
        return rx_refuse(dev, qp, WIRE_NAK_INVALID, WIRE_DROP_REFUSED, at_ps);
    if (frame->opcode == WIRE_OP_READ_REQUEST)
        return rx_read(dev, qp, frame, at_ps);
    return rx_atomic(dev, qp, frame, at_ps);
}

/* ---- the walk ---- */

/* A message begins although the open one has not ended: that one is over. */
static void rx_restart(struct rnic_device *dev, struct rnic_qp *qp, const struct wire_frame *frame,
                       uint64_t at_ps)
{
    if (qp->type == RNIC_QPT_UC) {
        rx_abandon(dev, qp, RNIC_WC_LOC_QP_OP_ERR, at_ps);
        return;
    }
    qp->resp.psn = frame->psn;
    rnic_rx_place_forget(&qp->resp);
}

static enum wire_drop rx_walk(struct rnic_device *dev, struct rnic_qp *qp,
                              const struct wire_frame *frame, uint64_t at_ps)
{
    enum rnic_rx_verdict verdict = rnic_rx_check(qp, frame);

    if (WIRE_UNLIKELY(verdict != RNIC_RX_NEW)) {
        if (verdict != RNIC_RX_RESTART)
            return rx_not_new(dev, qp, frame, verdict, at_ps);
        rx_restart(dev, qp, frame, at_ps);
    }
    if (wire_opcodes[frame->opcode].is & (WIRE_IS_READ | WIRE_IS_ATOMIC))
        return rx_ask(dev, qp, frame, at_ps);
    return rx_data(dev, qp, frame, at_ps);
}

/* Selective repeat: those that were kept follow, up to the next gap; the sender is told how far. */
static void rx_kept(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps)
{
    const struct wire_frame *frame;
    bool moved = false;

    while ((frame = rnic_rx_hold_take(&qp->held_requests, qp->resp.psn)) != NULL) {
        wire_psn before = qp->resp.psn;

        rnic_device_undrop(dev, rx_walk(dev, qp, frame, at_ps));
        moved = qp->resp.psn.v != before.v;
        if (!moved)
            return; /* refused or RNR: told already */
    }
    if (moved && qp->state != RNIC_QPS_ERR)
        rnic_device_respond_answer(dev, qp, WIRE_AETH_ACK | rnic_credit_of(qp),
                                   wire_psn_add(qp->resp.psn, WIRE_PSN_MASK), at_ps);
}

enum wire_drop rnic_device_request(struct rnic_device *dev, struct rnic_qp *qp,
                                   const struct wire_frame *frame, uint64_t at_ps)
{
    enum wire_drop drop = rx_walk(dev, qp, frame, at_ps);

    if (WIRE_UNLIKELY(qp->held_requests.held > 0))
        rx_kept(dev, qp, at_ps);
    return drop;
}
