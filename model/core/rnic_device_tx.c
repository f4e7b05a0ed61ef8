/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The transmit walk: from the scheduler's choice to a frame on the MAC.
 */
#include "rnic_complete.h"
#include "rnic_internal.h"
#include "rnic_tx_rate.h"

#include <string.h>

/* ---- may it be sent? ---- */

/* SEND and WRITE with immediate use a receive request of the peer. */
static bool tx_uses_receive(const struct rnic_wqe *wqe)
{
    return wqe->opcode == RNIC_WR_SEND || wqe->opcode == RNIC_WR_SEND_WITH_IMM ||
           wqe->opcode == RNIC_WR_SEND_WITH_INV || wqe->opcode == RNIC_WR_RDMA_WRITE_WITH_IMM;
}

/* End-to-end credits: its message has no receive request at the peer that we know of. */
static bool tx_out_of_credit(const struct rnic_qp *qp, const struct rnic_wqe *wqe)
{
    return qp->checks_credits && tx_uses_receive(wqe) &&
           wire_psn_diff((wire_psn){wqe->ssn}, (wire_psn){qp->ssn_limit}) > 0;
}

/* Fence, READ and atomic limit, end-to-end credits. */
static bool tx_may_start(const struct rnic_qp *qp)
{
    const struct rnic_wqe *wqe = rnic_ring_wqe(&qp->sq, qp->sq_cur);
    const struct rnic_tx_replay *replay = &qp->replay;
    bool asks = rnic_ring_asks(wqe);
    uint32_t in_flight = rnic_tx_replay_in_flight(replay);

    if (!wqe->started) {
        if ((wqe->flags & RNIC_SEND_FENCE) && replay->reads > 0)
            return false;
        if (asks && replay->reads >= qp->max_rd_atomic)
            return false;
    }
    if (asks && in_flight + wqe->packets - qp->cur_packet > WIRE_PSNS_MAX)
        return false;
    /* Out of credit one packet at a time may ask: the peer answers with credits or RNR. */
    return in_flight == 0 || !tx_out_of_credit(qp, wqe);
}

bool rnic_device_tx_may_send_by_rules(struct rnic_qp *qp)
{
    wire_psn lost;

    if (qp->replay.rnr_wait)
        return false;
    if (qp->replay.selective && rnic_tx_sack_lost(&qp->sack, qp->replay.psn_una, &lost))
        return true;
    return !qp->sq_failed && qp->sq_cur != qp->sq_end &&
           rnic_tx_replay_in_flight(&qp->replay) < qp->max_in_flight && tx_may_start(qp);
}

/* ---- what the card does itself ---- */

/* It can not be done: the request ends with this status once all before it are done. */
static void tx_local_error(struct rnic_device *dev, struct rnic_qp *qp, struct rnic_wqe *wqe,
                           enum rnic_wc_status status, uint64_t now_ps)
{
    wqe->status = (uint8_t)status;
    qp->sq_failed = true;
    rnic_complete_sends(dev, qp, now_ps);
}

static bool tx_do_local(struct rnic_device *dev, const struct rnic_qp *qp,
                        const struct rnic_wqe *wqe)
{
    if (wqe->opcode == RNIC_WR_LOCAL_INV)
        return rnic_table_mr_invalidate(&dev->mrs, qp->pd, qp->qpn, wqe->imm);
    return rnic_table_mr_bind(&dev->mrs, qp->pd, qp->qpn, wqe->bind_mw.mw, wqe->rkey,
                              wqe->bind_mw.mr, wqe->bind_mw.addr, wqe->bind_mw.length,
                              wqe->bind_mw.access);
}

/* Carry out the bind and invalidate requests that the cursor stands before. */
static void tx_local(struct rnic_device *dev, struct rnic_qp *qp, uint64_t now_ps)
{
    while (!qp->sq_failed && qp->sq_cur != qp->sq_end) {
        struct rnic_wqe *wqe = rnic_ring_wqe(&qp->sq, qp->sq_cur);
        uint64_t done_ps;

        if (!rnic_ring_is_local(wqe) || (!wqe->started && !tx_may_start(qp)))
            return;
        done_ps = wire_max_ps(now_ps, wqe->known_ps) + dev->sched.fetch_ps;
        if (!wqe->started && !tx_do_local(dev, qp, wqe)) {
            tx_local_error(dev, qp, wqe,
                           wqe->opcode == RNIC_WR_BIND_MW ? RNIC_WC_MW_BIND_ERR
                                                          : RNIC_WC_LOC_QP_OP_ERR,
                           done_ps);
            return;
        }
        wqe->started = 1;
        qp->sq_cur++;
        rnic_complete_sends(dev, qp, done_ps);
    }
}

void rnic_device_tx_ready(struct rnic_device *dev, struct rnic_qp *qp, uint64_t known_ps,
                          uint64_t now_ps)
{
    if (WIRE_UNLIKELY(qp->has_rules))
        tx_local(dev, qp, known_ps);
    if (qp->request.place == RNIC_FLOW_NOWHERE && rnic_device_may_send(qp))
        rnic_tx_sched_add(&dev->sched, &qp->request, known_ps, now_ps);
}

void rnic_device_tx_respond_ready(struct rnic_device *dev, struct rnic_qp *qp, uint64_t known_ps,
                                  uint64_t now_ps)
{
    if (qp->response.place == RNIC_FLOW_NOWHERE && qp->respond.pending > 0)
        rnic_tx_sched_add(&dev->sched, &qp->response, known_ps, now_ps);
}

/* ---- requests ---- */

struct rnic_device_spot rnic_device_tx_find(const struct rnic_qp *qp, wire_psn psn)
{
    struct rnic_device_spot spot = {.index = qp->sq_una};

    for (; spot.index != qp->sq_end; spot.index++) {
        const struct rnic_wqe *wqe = rnic_ring_wqe(&qp->sq, spot.index);
        uint32_t packet = (psn.v - wqe->psn.v) & WIRE_PSN_MASK;

        if (rnic_ring_is_local(wqe) && !wqe->started)
            break; /* it has no PSN, and nothing behind it was sent */
        if (packet < wqe->packets) {
            spot.packet = packet;
            break;
        }
    }
    return spot;
}

void rnic_device_tx_seek(struct rnic_qp *qp)
{
    struct rnic_device_spot spot;

    if (qp->replay.selective) { /* the cursor stays: what is lost is sent out of turn */
        rnic_tx_sack_again(&qp->sack, qp->replay.psn_una, qp->replay.psn_sent);
        return;
    }
    if (qp->sq_failed) { /* the error will be found again when the cursor is back */
        rnic_ring_wqe(&qp->sq, qp->sq_cur)->status = RNIC_WC_SUCCESS;
        qp->sq_failed = false;
    }
    spot = rnic_device_tx_find(qp, qp->replay.psn_next);
    qp->sq_cur = spot.index;
    qp->cur_packet = spot.packet;
}

/* What is sent next, when something may be. */
static struct rnic_device_spot tx_next(struct rnic_qp *qp)
{
    struct rnic_device_spot spot = {.index = qp->sq_cur, .packet = qp->cur_packet};
    wire_psn lost;

    if (WIRE_UNLIKELY(qp->replay.selective) &&
        rnic_tx_sack_lost(&qp->sack, qp->replay.psn_una, &lost)) {
        spot = rnic_device_tx_find(qp, lost);
        spot.again = true;
        WIRE_ASSERT(spot.index != qp->sq_end);
    }
    return spot;
}

/* Responses of a READ from `packet` on that are missing in a row: what to ask for again. */
static uint32_t tx_missing(const struct rnic_qp *qp, const struct rnic_wqe *wqe, uint32_t packet)
{
    uint32_t n = 1;

    while (packet + n < wqe->packets &&
           !rnic_rx_hold_has(&qp->held_responses, wire_psn_add(wqe->psn, packet + n)))
        n++;
    return n;
}

/* PSNs that sending this packet takes: a READ's request those of its responses. */
static uint32_t tx_psns(const struct rnic_qp *qp, const struct rnic_device_spot *spot)
{
    const struct rnic_wqe *wqe = rnic_ring_wqe(&qp->sq, spot->index);

    if (WIRE_LIKELY(!rnic_ring_is_read(wqe)))
        return 1;
    return spot->again ? tx_missing(qp, wqe, spot->packet) : wqe->packets - spot->packet;
}

/*
 * Payload of a request packet into the frame. False: it may not be read.
 * @param at_ps  in: the request is on the card; out: the payload too
 */
static bool tx_gather(struct rnic_device *dev, const struct rnic_qp *qp, struct rnic_wqe *wqe,
                      uint32_t packet, struct wire_frame *frame, uint64_t *at_ps)
{
    uint32_t offset = packet << qp->mtu_shift;
    bool backed;

    if (WIRE_UNLIKELY(wqe->flags & RNIC_SEND_INLINE)) { /* came with the request */
        if (rnic_ring_inline_backed(wqe) && frame->payload != NULL) {
            memcpy(frame->payload, rnic_ring_inline(wqe) + offset, frame->payload_bytes);
            frame->flags |= WIRE_FRAME_BYTES;
        }
        return true;
    }
    if (!rnic_access_gather(&dev->path, qp->pd, wqe->sge, wqe->num_sge, offset,
                            frame->payload_bytes, frame->payload, &backed, at_ps))
        return false;
    if (backed && frame->payload != NULL)
        frame->flags |= WIRE_FRAME_BYTES;
    return true;
}

/* The peer has to answer when no more may follow before it does. */
static void tx_ask(const struct rnic_qp *qp, const struct rnic_wqe *wqe, struct wire_frame *frame)
{
    bool full = rnic_tx_replay_in_flight(&qp->replay) + 1 >= qp->max_in_flight; /* >: sent again */

    if (qp->type == RNIC_QPT_RC && (full || tx_out_of_credit(qp, wqe)) && !rnic_ring_asks(wqe))
        frame->bth_flags |= WIRE_BTH_ACKREQ;
}

/*
 * Build the next request packet of a queue pair, which takes `psns` PSNs, into a blank frame;
 * frame->ready_ps says when it is at the MAC. False: its data may not be read (the flow is out of
 * line), the frame is still blank.
 */
static bool tx_request(struct rnic_device *dev, struct rnic_qp *qp,
                       const struct rnic_device_spot *spot, uint32_t psns, uint64_t now_ps,
                       struct wire_frame *frame)
{
    struct rnic_wqe *wqe = rnic_ring_wqe(&qp->sq, spot->index);
    uint64_t cause_ps, at_ps, read_ps;

    /* Asked for when it was caused, but not before the TX FIFO had room for it. */
    cause_ps = wire_max_ps(qp->request.cause_ps, rnic_tx_sched_room(&dev->sched));
    at_ps = rnic_cache_get(&dev->qps.cache, &qp->cache, cause_ps);
    if (WIRE_LIKELY(!spot->again))
        at_ps = wire_max_ps(
            at_ps, rnic_tx_sched_fetch(qp, &dev->dma, (uint32_t)dev->params.wqe_bytes, at_ps));
    rnic_tx_build_request(&dev->build, qp, wqe, spot->packet, dev->ip_id, frame);
    if (WIRE_UNLIKELY(spot->again) && rnic_ring_is_read(wqe))
        frame->dma_bytes = (uint32_t)wire_min_ps(frame->dma_bytes, (uint64_t)psns << qp->mtu_shift);
    if (rnic_tx_replay_in_flight(&qp->replay) + 1 >= qp->max_in_flight ||
        WIRE_UNLIKELY(qp->checks_credits))
        tx_ask(qp, wqe, frame);
    rnic_device_passage(dev, RNIC_BLOCK_TX_SCHED, qp, frame, cause_ps, at_ps);
    read_ps = at_ps;
    if (!tx_gather(dev, qp, wqe, spot->packet, frame, &read_ps)) {
        tx_local_error(dev, qp, wqe, RNIC_WC_LOC_PROT_ERR, now_ps);
        return false;
    }
    rnic_device_passage(dev, RNIC_BLOCK_DMA, qp, frame, at_ps, read_ps);
    rnic_device_to_mac(dev, qp, frame, read_ps, now_ps);
    return true;
}

/* A frame of a queue pair was built: counters, rate limiter, static rate. */
static void tx_built(struct rnic_device *dev, struct rnic_qp *qp, const struct wire_frame *frame,
                     uint64_t now_ps)
{
    uint32_t line_bytes = frame->frame_bytes + WIRE_GAP_BYTES;

    dev->ip_id++;
    qp->counters.tx_packets++;
    qp->counters.tx_bytes += frame->frame_bytes;
    rnic_tx_rate_sent(dev->cc, &dev->cc_config, &qp->cc, line_bytes, now_ps);
    if (WIRE_UNLIKELY(qp->rate_limit_bps != 0))
        qp->rate_next_ps = wire_max_ps(qp->rate_next_ps, now_ps) +
                           wire_line_time_ps(line_bytes, qp->rate_limit_bps);
}

/* First packet of a READ or atomic: its answers are waited for. */
static void tx_read_started(struct rnic_qp *qp, const struct rnic_wqe *wqe)
{
    if (qp->replay.reads == 0)
        qp->rd_una = qp->sq_cur;
    rnic_tx_replay_read_sent(&qp->replay, wqe->psn);
}

/* RC: the packet is kept in mind until it is acknowledged. */
static void tx_record(struct rnic_device *dev, struct rnic_qp *qp, struct rnic_wqe *wqe,
                      const struct rnic_device_spot *spot, uint32_t psns, uint64_t now_ps)
{
    bool again = spot->again;

    if (!wqe->started && rnic_ring_asks(wqe))
        tx_read_started(qp, wqe);
    if (WIRE_LIKELY(!again)) {
        again = rnic_tx_replay_record(&qp->replay, psns, now_ps);
    } else {
        rnic_tx_sack_sent(&qp->sack, wire_psn_add(wqe->psn, spot->packet), psns);
        rnic_tx_replay_resent(&qp->replay, now_ps);
    }
    if (again) {
        qp->counters.retransmitted_packets++;
        dev->counters.retransmitted_packets++;
    }
    rnic_device_watch(dev, qp);
}

/* The request packet is on its way: replay buffer, cursor; and back in line. */
static void tx_request_sent(struct rnic_device *dev, struct rnic_qp *qp,
                            const struct rnic_device_spot *spot, uint32_t psns,
                            const struct wire_frame *frame, uint64_t now_ps)
{
    struct rnic_wqe *wqe = rnic_ring_wqe(&qp->sq, spot->index);
    bool reliable = qp->type == RNIC_QPT_RC;

    tx_built(dev, qp, frame, now_ps);
    if (WIRE_LIKELY(reliable))
        tx_record(dev, qp, wqe, spot, psns, now_ps);
    else
        rnic_tx_replay_unreliable(&qp->replay);
    wqe->started = 1;
    if (WIRE_LIKELY(!spot->again)) {
        qp->cur_packet += psns;
        if (qp->cur_packet == wqe->packets) {
            qp->sq_cur++;
            qp->cur_packet = 0;
        }
    }
    if (!reliable) /* nobody will acknowledge it: what was sent is done */
        rnic_complete_sends(dev, qp, wire_max_ps(frame->ready_ps, now_ps));
    if (WIRE_UNLIKELY(qp->has_rules))
        tx_local(dev, qp, now_ps);
    if (rnic_device_may_send(qp))
        rnic_tx_sched_again(&dev->sched, &qp->request, now_ps);
}

/* ---- responses ---- */

static void tx_response_sent(struct rnic_device *dev, struct rnic_qp *qp,
                             const struct wire_frame *frame, uint64_t now_ps)
{
    tx_built(dev, qp, frame, now_ps);
    if (qp->respond.pending > 0) /* it keeps the cause it had */
        rnic_tx_sched_add(&dev->sched, &qp->response, qp->response.cause_ps, now_ps);
}

/* ---- the MAC pulls ---- */

/*
 * Build the next packet of a flow into a blank frame.
 * @param responder  out: its queue pair when it is a response, else 0
 * @return false: the flow had nothing after all
 */
static bool tx_flow(struct rnic_device *dev, struct rnic_tx_flow *flow, uint64_t now_ps,
                    struct wire_frame *frame, uint32_t *responder)
{
    struct rnic_qp *qp = flow->qp;

    *responder = 0;
    if (WIRE_LIKELY(flow->kind == RNIC_FLOW_REQUEST)) {
        struct rnic_device_spot spot;
        uint32_t psns;

        if (!rnic_device_may_send(qp))
            return false;
        spot = tx_next(qp);
        psns = tx_psns(qp, &spot);
        if (!tx_request(dev, qp, &spot, psns, now_ps, frame))
            return false;
        tx_request_sent(dev, qp, &spot, psns, frame, now_ps);
        return true;
    }
    if (!rnic_device_respond(dev, qp, now_ps, frame))
        return false;
    *responder = qp->qpn;
    tx_response_sent(dev, qp, frame, now_ps);
    return true;
}

bool rnic_tx(struct rnic_device *dev, uint64_t now_ps, uint32_t ready_classes,
             struct wire_frame **frame, struct wire_frame **spare)
{
    const struct rnic_tx_control_record *record;
    uint32_t responder = 0;

    WIRE_ASSERT(*frame != NULL);
    *spare = NULL;
    record = rnic_tx_control_pop(&dev->control, ready_classes, now_ps);
    if (record != NULL) {
        rnic_tx_build_control(&dev->build, record, dev->ip_id++, *frame);
        dev->counters.tx_frames++;
        return true;
    }
    rnic_tx_sched_advance(&dev->sched, now_ps);
    for (;;) {
        struct rnic_tx_pick pick = rnic_tx_sched_pick(&dev->sched, ready_classes, now_ps);

        if (pick.what == RNIC_PICK_NOTHING)
            return false;
        if (pick.what != RNIC_PICK_FLOW) { /* a frame that waited here */
            *spare = *frame;
            *frame = pick.frame;
            responder = pick.responder;
            break;
        }
        if (!tx_flow(dev, pick.flow, now_ps, *frame, &responder))
            continue;
        if ((*frame)->ready_ps <= now_ps)
            break;
        rnic_tx_sched_hold(&dev->sched, *frame, responder);
        *frame = NULL;
        return false;
    }
    if (WIRE_UNLIKELY(responder != 0))
        rnic_device_respond_left(dev, responder, now_ps);
    dev->counters.tx_frames++;
    return true;
}

uint64_t rnic_tx_next(const struct rnic_device *dev, uint32_t ready_classes)
{
    uint64_t next_ps = rnic_tx_sched_next_ps(&dev->sched, ready_classes);

    return next_ps == 0 || dev->control.classes == 0
               ? next_ps
               : wire_min_ps(next_ps, rnic_tx_control_next_ps(&dev->control, ready_classes));
}

void rnic_post_raw(struct rnic_device *dev, struct wire_frame *frame, uint64_t now_ps)
{
    (void)now_ps;
    WIRE_ASSERT(frame->kind == WIRE_KIND_OPAQUE && frame->prio < WIRE_CLASSES);
    rnic_tx_sched_raw(&dev->sched, frame);
}
