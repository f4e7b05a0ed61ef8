/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a responder sends: answers in PSN order, responses to READs and atomics, and both again.
 */
#include "rnic_complete.h"
#include "rnic_credit.h"
#include "rnic_internal.h"
#include "wire_opcode.h"

/* ---- acknowledges, NAKs ---- */

static void respond_count(struct rnic_qp *qp, uint8_t syndrome)
{
    uint8_t kind = syndrome & WIRE_AETH_KIND;

    if (kind == WIRE_AETH_ACK)
        qp->counters.acks_tx++;
    else if (kind == WIRE_AETH_RNR_NAK)
        qp->counters.rnr_naks_tx++;
    else
        qp->counters.naks_tx++;
}

/* Into the control queue, ready at `ready_ps`. */
static void respond_send(struct rnic_device *dev, struct rnic_qp *qp, uint8_t syndrome,
                         wire_psn psn, uint32_t msn, uint64_t ready_ps)
{
    uint8_t tos = dev->params.ack_dscp < 64 ? (uint8_t)(dev->params.ack_dscp << 2) : qp->path.tos;
    struct rnic_tx_control_record *record =
        rnic_tx_control_take(&dev->control, rnic_path_prio(tos));
    struct rnic_tx_control_record own;
    bool full = record == NULL;

    record = full ? &own : record;
    record->path = qp->path;
    record->path.tos = tos;
    record->qpn = qp->qpn;
    record->dest_qpn = qp->dest_qpn;
    record->ready_ps = ready_ps;
    record->msn = msn;
    record->psn = psn;
    record->opcode = WIRE_OP_ACKNOWLEDGE;
    record->syndrome = syndrome;
    if (full)
        rnic_tx_control_push(&dev->control, &own);
    respond_count(qp, syndrome);
}

/* In PSN order: now, or behind the responses before it. */
static inline void respond_answer(struct rnic_device *dev, struct rnic_qp *qp, uint8_t syndrome,
                                  wire_psn psn, uint32_t msn, uint64_t at_ps)
{
    uint64_t ready_ps = at_ps + dev->params.tx_latency_ps;

    if (WIRE_UNLIKELY(qp->respond.pending > 0 || qp->respond.held) &&
        rnic_rx_respond_waits(&qp->respond, psn))
        rnic_rx_respond_defer(&qp->respond, psn, syndrome, msn, ready_ps);
    else
        respond_send(dev, qp, syndrome, psn, msn, ready_ps);
}

void rnic_device_respond_answer(struct rnic_device *dev, struct rnic_qp *qp, uint8_t syndrome,
                                wire_psn psn, uint64_t at_ps)
{
    respond_answer(dev, qp, syndrome, psn, qp->resp.msn, at_ps);
}

void rnic_device_respond_ahead(struct rnic_device *dev, struct rnic_qp *qp, wire_psn arrived,
                               uint64_t at_ps)
{
    respond_answer(dev, qp, WIRE_AETH_NAK | WIRE_NAK_SELECTIVE, qp->resp.psn, arrived.v, at_ps);
}

void rnic_device_respond_left(struct rnic_device *dev, uint32_t qpn, uint64_t now_ps)
{
    struct rnic_qp *qp = rnic_table_qp_find(&dev->qps, qpn);
    struct rnic_rx_respond *respond;

    if (qp == NULL)
        return; /* destroyed while the frame waited */
    respond = &qp->respond;
    respond->held = false;
    if (!respond->later || rnic_rx_respond_waits(respond, respond->later_psn))
        return;
    respond->later = false;
    respond_send(dev, qp, respond->later_syndrome, respond->later_psn, respond->later_msn,
                 wire_max_ps(respond->later_ps, now_ps));
}

void rnic_device_respond_refuse_told(struct rnic_device *dev, struct rnic_qp *qp,
                                     enum wire_nak code, wire_psn psn, uint64_t at_ps)
{
    rnic_rx_respond_cut(&qp->respond, psn);
    rnic_device_respond_answer(dev, qp, (uint8_t)(WIRE_AETH_NAK | code), psn, at_ps);
    rnic_complete_refused(dev, qp, at_ps);
}

void rnic_device_respond_refuse(struct rnic_device *dev, struct rnic_qp *qp, enum wire_nak code,
                                wire_psn psn, uint64_t at_ps)
{
    if (qp->state != RNIC_QPS_ERR)
        rnic_device_event(
            dev, code == WIRE_NAK_ACCESS ? RNIC_EVENT_QP_ACCESS_ERR : RNIC_EVENT_QP_REQ_ERR, qp,
            code, at_ps);
    rnic_device_respond_refuse_told(dev, qp, code, psn, at_ps);
}

/* ---- repeated requests ---- */

/*
 * The part of a remembered READ that is asked for again: responses [*from, *end).
 * False: it is none.
 */
static bool repeat_range(const struct rnic_qp *qp, const struct rnic_resource *resource,
                         const struct wire_frame *frame, uint32_t *from, uint32_t *end)
{
    uint64_t offset;

    *from = (frame->psn.v - resource->psn.v) & WIRE_PSN_MASK;
    offset = (uint64_t)*from << qp->mtu_shift;
    if (resource->opcode != WIRE_OP_READ_REQUEST || frame->rkey != resource->rkey ||
        frame->va != resource->va + offset || offset + frame->dma_bytes > resource->length ||
        (frame->dma_bytes == 0) != (resource->length == 0))
        return false;
    *end = *from + rnic_tx_build_packets(qp, frame->dma_bytes);
    return true;
}

static enum wire_drop repeat_read(struct rnic_device *dev, struct rnic_qp *qp,
                                  const struct wire_frame *frame, uint64_t at_ps)
{
    const struct rnic_access_peer peer = {.pd = qp->pd, .qpn = qp->qpn};
    struct rnic_resource *resource = rnic_rx_respond_find(&qp->respond, frame->psn);
    uint32_t from, end, asked;
    bool waits;

    if (resource == NULL || !repeat_range(qp, resource, frame, &from, &end))
        return rnic_device_drop(dev, WIRE_DROP_DUPLICATE);
    if (!rnic_access_open(&dev->path, peer, frame->rkey, frame->va, frame->dma_bytes,
                          RNIC_ACCESS_REMOTE_READ)) {
        rnic_device_respond_refuse(dev, qp, WIRE_NAK_ACCESS, frame->psn, at_ps);
        return rnic_device_drop(dev, WIRE_DROP_REFUSED);
    }
    waits = resource->next != resource->end;
    asked = (from << qp->mtu_shift) + frame->dma_bytes;
    if (!waits || asked > resource->asked)
        resource->asked = asked;
    if (!waits || from < resource->next)
        resource->ready_ps = at_ps;
    rnic_rx_respond_queue(&qp->respond, resource, from, end);
    rnic_device_tx_respond_ready(dev, qp, at_ps, at_ps);
    return rnic_device_drop(dev, WIRE_DROP_DUPLICATE);
}

/* Executed once: what it found then is its answer for ever. */
static enum wire_drop repeat_atomic(struct rnic_device *dev, struct rnic_qp *qp,
                                    const struct wire_frame *frame, uint64_t at_ps)
{
    struct rnic_resource *resource = rnic_rx_respond_find(&qp->respond, frame->psn);

    if (resource != NULL && resource->opcode == frame->opcode && resource->va == frame->va &&
        resource->rkey == frame->rkey) {
        if (resource->next == resource->end)
            resource->ready_ps = wire_max_ps(resource->ready_ps, at_ps);
        rnic_rx_respond_queue(&qp->respond, resource, 0, 1);
        rnic_device_tx_respond_ready(dev, qp, at_ps, at_ps);
    }
    return rnic_device_drop(dev, WIRE_DROP_DUPLICATE);
}

/*
 * A repeated SEND or WRITE is acknowledged with its own PSN: a later READ may be unanswered. Under
 * selective repeat the others that came with it are not repeated, so up to such a READ.
 */
static wire_psn repeat_acknowledged(const struct rnic_qp *qp, wire_psn psn)
{
    if (qp->init.recovery != RNIC_RECOVER_SELECTIVE)
        return psn;
    return rnic_rx_respond_clear(&qp->respond, psn, wire_psn_add(qp->resp.psn, WIRE_PSN_MASK));
}

enum wire_drop rnic_device_respond_repeat(struct rnic_device *dev, struct rnic_qp *qp,
                                          const struct wire_frame *frame, uint64_t at_ps)
{
    const uint16_t is = wire_opcodes[frame->opcode].is;

    if (is & WIRE_IS_READ)
        return repeat_read(dev, qp, frame, at_ps);
    if (is & WIRE_IS_ATOMIC)
        return repeat_atomic(dev, qp, frame, at_ps);
    if (is & (WIRE_IS_SEND | WIRE_IS_WRITE))
        rnic_device_respond_answer(dev, qp, WIRE_AETH_ACK | rnic_credit_of(qp),
                                   repeat_acknowledged(qp, frame->psn), at_ps);
    return rnic_device_drop(dev, WIRE_DROP_DUPLICATE);
}

/* ---- transmit: responses to READs and atomics ---- */

/* Headers of the next response; what of a READ is sent again may end before the READ does. */
static void respond_build(struct rnic_device *dev, struct rnic_qp *qp,
                          const struct rnic_resource *resource, struct wire_frame *frame)
{
    struct rnic_resource part = *resource;

    if (resource->opcode == WIRE_OP_READ_REQUEST && resource->asked != resource->length) {
        part.length = resource->asked;
        part.packets = rnic_tx_build_packets(qp, resource->asked);
    }
    rnic_tx_build_response(&dev->build, qp, &part, resource->next, dev->ip_id, frame);
    frame->syndrome = WIRE_AETH_ACK | rnic_credit_of(qp);
}

/* Data of a READ response into the frame; its key is looked up again. False: it is gone. */
static bool respond_gather(struct rnic_device *dev, const struct rnic_qp *qp,
                           const struct rnic_resource *resource, struct wire_frame *frame,
                           uint64_t *at_ps)
{
    const struct rnic_access_peer peer = {.pd = qp->pd, .qpn = qp->qpn};
    uint64_t va = resource->va + ((uint64_t)resource->next << qp->mtu_shift);
    bool backed;

    if (!rnic_access_read(&dev->path, peer, resource->rkey, va, frame->payload_bytes,
                          frame->payload, &backed, at_ps))
        return false;
    if (backed && frame->payload != NULL)
        frame->flags |= WIRE_FRAME_BYTES;
    return true;
}

bool rnic_device_respond(struct rnic_device *dev, struct rnic_qp *qp, uint64_t now_ps,
                         struct wire_frame *frame)
{
    struct rnic_resource *resource = rnic_rx_respond_next(&qp->respond);
    uint64_t cause_ps, at_ps, read_ps;

    if (resource == NULL)
        return false;
    /* Asked for when it was caused, but not before the TX FIFO had room for it. */
    cause_ps = wire_max_ps(wire_max_ps(qp->response.cause_ps, resource->ready_ps),
                           rnic_tx_sched_room(&dev->sched));
    at_ps = rnic_cache_get(&dev->qps.cache, &qp->cache, cause_ps);
    respond_build(dev, qp, resource, frame);
    rnic_device_passage(dev, RNIC_BLOCK_TX_SCHED, qp, frame, cause_ps, at_ps);
    read_ps = at_ps;
    if (resource->opcode == WIRE_OP_READ_REQUEST) {
        if (!respond_gather(dev, qp, resource, frame, &read_ps)) {
            rnic_device_respond_refuse(dev, qp, WIRE_NAK_ACCESS,
                                       wire_psn_add(resource->psn, resource->next), now_ps);
            return false;
        }
        rnic_device_passage(dev, RNIC_BLOCK_DMA, qp, frame, at_ps, read_ps);
    }
    rnic_device_to_mac(dev, qp, frame, read_ps, now_ps);
    rnic_rx_respond_sent(&qp->respond, resource);
    return true;
}
