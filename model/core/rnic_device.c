/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The wiring: three straight walks (transmit, receive a request, receive a response) and the
 * timers. What a step decides is its block's; here stands only the order of the steps.
 */
#include "rnic_device.h"

#include "rnic_access.h"
#include "rnic_complete.h"
#include "rnic_cq_write.h"
#include "rnic_internal.h"
#include "rnic_rx_check.h"
#include "rnic_rx_parse.h"
#include "rnic_rx_place.h"
#include "rnic_tx_build.h"
#include "rnic_tx_rate.h"

#include <string.h>

enum {                    /* AETH syndromes, IBTA 9.7.5.1.2 */
       DEVICE_ACK = 0x1F, /* credits not used */
       DEVICE_RNR_NAK = 0x20,
       DEVICE_NAK = 0x60,
       DEVICE_NAK_SEQUENCE = 0,
       DEVICE_NAK_INVALID = 1,
       DEVICE_NAK_ACCESS = 2,
       DEVICE_NAK_OP = 3,
};

/* ---- small helpers of the walks ---- */

static enum wire_drop device_drop(struct rnic_device *dev, enum wire_drop drop)
{
    dev->counters.drops[drop]++;
    return drop;
}

static void device_event(struct rnic_device *dev, enum rnic_event_type type,
                         const struct rnic_qp *qp, uint64_t value, uint64_t time_ps)
{
    rnic_cq_event_push(
        &dev->events,
        &(struct rnic_event){.type = type, .qpn = qp->qpn, .value = value, .time_ps = time_ps});
}

/* One passage of a block, when somebody watches. */
static inline void device_passage(struct rnic_device *dev, enum rnic_block block,
                                  const struct rnic_qp *qp, const struct wire_frame *frame,
                                  uint64_t in_ps, uint64_t out_ps)
{
    if (!rnic_cq_event_wanted(&dev->events, RNIC_EVENT_PASSAGE))
        return;
    rnic_cq_event_push(&dev->events, &(struct rnic_event){.type = RNIC_EVENT_PASSAGE,
                                                          .block = (uint8_t)block,
                                                          .qpn = qp->qpn,
                                                          .psn = frame->psn,
                                                          .opcode = frame->opcode,
                                                          .wqe = qp->sq_cur,
                                                          .in_ps = in_ps,
                                                          .time_ps = out_ps,
                                                          .wait_ps = out_ps - in_ps});
}

void rnic_device_watch_changed(struct rnic_device *dev, struct rnic_qp *qp)
{
    bool armed = qp->replay.deadline_ps != WIRE_NEVER;

    if (armed != qp->watched) {
        qp->watched = armed;
        dev->watched += armed ? 1u : UINT32_MAX;
    }
    dev->retry_wake_ps = dev->watched == 0
                             ? WIRE_NEVER /* nothing waits for an answer: no timer at all */
                             : wire_min_ps(dev->retry_wake_ps, qp->replay.deadline_ps);
}

static bool device_may_send(const struct rnic_device *dev, const struct rnic_qp *qp)
{
    return qp->state == RNIC_QPS_RTS && !qp->sq_failed && !qp->replay.rnr_wait &&
           qp->sq_cur != qp->sq.head &&
           rnic_tx_replay_in_flight(&qp->replay) < dev->params.max_in_flight;
}

void rnic_device_ready(struct rnic_device *dev, struct rnic_qp *qp, uint64_t known_ps,
                       uint64_t now_ps)
{
    if (qp->place == RNIC_QP_NOWHERE && device_may_send(dev, qp))
        rnic_tx_sched_add(&dev->sched, qp, known_ps, now_ps);
}

/* ---- transmit ---- */

/* Put the send cursor on the packet with PSN qp->replay.psn_next. */
static void tx_seek(struct rnic_qp *qp)
{
    uint32_t at = qp->sq_una;

    if (qp->sq_failed) { /* the error will be found again when the cursor is back */
        rnic_ring_wqe(&qp->sq, qp->sq_cur)->status = RNIC_WC_SUCCESS;
        qp->sq_failed = false;
    }
    qp->cur_packet = 0;
    for (; at != qp->sq.head; at++) {
        const struct rnic_wqe *wqe = rnic_ring_wqe(&qp->sq, at);
        uint32_t packet = (qp->replay.psn_next.v - wqe->psn.v) & WIRE_PSN_MASK;

        if (packet < wqe->packets) {
            qp->cur_packet = packet;
            break;
        }
    }
    qp->sq_cur = at;
}

/* Its data may not be read: the request ends in LOC_PROT_ERR once all before it are done. */
static void tx_local_error(struct rnic_device *dev, struct rnic_qp *qp, struct rnic_wqe *wqe,
                           uint64_t now_ps)
{
    wqe->status = RNIC_WC_LOC_PROT_ERR;
    qp->sq_failed = true;
    rnic_complete_sends(dev, qp, now_ps);
}

/*
 * Build the next packet of a queue pair into a blank frame; frame->ready_ps says when it is at the
 * MAC. False: nothing to send after all (the queue pair is out of line), the frame is still blank.
 */
static bool tx_packet(struct rnic_device *dev, struct rnic_qp *qp, uint64_t now_ps,
                      struct wire_frame *frame)
{
    struct rnic_wqe *wqe = rnic_ring_wqe(&qp->sq, qp->sq_cur);
    uint64_t cause_ps, at_ps, read_ps;
    bool backed;

    if (!device_may_send(dev, qp))
        return false;
    /* Asked for when it was caused, but not before the TX FIFO had room for it. */
    cause_ps = wire_max_ps(qp->cause_ps, rnic_tx_sched_room(&dev->sched));
    at_ps = rnic_cache_get(&dev->qps.cache, &qp->cache, cause_ps);
    at_ps = wire_max_ps(at_ps,
                        rnic_tx_sched_fetch(qp, &dev->dma, (uint32_t)dev->params.wqe_bytes, at_ps));
    rnic_tx_build_request(&dev->build, qp, wqe, qp->cur_packet, dev->ip_id, frame);
    if (rnic_tx_replay_in_flight(&qp->replay) + 1 == dev->params.max_in_flight)
        frame->bth_flags |= WIRE_BTH_ACKREQ; /* no more may follow before an answer: ask for it */
    device_passage(dev, RNIC_BLOCK_TX_SCHED, qp, frame, cause_ps, at_ps);
    read_ps = at_ps;
    if (!rnic_access_gather(&dev->path, qp->pd, wqe->sge, wqe->num_sge,
                            qp->cur_packet << qp->mtu_shift, frame->payload_bytes, frame->payload,
                            &backed, &read_ps)) {
        tx_local_error(dev, qp, wqe, now_ps);
        return false;
    }
    if (backed && frame->payload != NULL)
        frame->flags |= WIRE_FRAME_BYTES;
    device_passage(dev, RNIC_BLOCK_DMA, qp, frame, at_ps, read_ps);
    frame->ready_ps = rnic_stage_pass(&dev->tx_stage, read_ps, dev->params.tx_service_ps,
                                      dev->params.tx_latency_ps);
    rnic_tx_sched_built(&dev->sched, wire_max_ps(frame->ready_ps, now_ps));
    device_passage(dev, RNIC_BLOCK_TX_BUILD, qp, frame, read_ps, frame->ready_ps);
    return true;
}

/* The packet is on its way: replay buffer, rate limiter, cursor; and back in line. */
static void tx_sent(struct rnic_device *dev, struct rnic_qp *qp, const struct wire_frame *frame,
                    uint64_t now_ps)
{
    const struct rnic_wqe *wqe = rnic_ring_wqe(&qp->sq, qp->sq_cur);

    dev->ip_id++;
    qp->counters.tx_packets++;
    qp->counters.tx_bytes += frame->frame_bytes;
    if (rnic_tx_replay_record(&qp->replay, now_ps)) {
        qp->counters.retransmitted_packets++;
        dev->counters.retransmitted_packets++;
    }
    rnic_device_watch(dev, qp);
    rnic_tx_rate_sent(dev->cc, &dev->cc_config, &qp->cc, frame->frame_bytes + WIRE_GAP_BYTES,
                      now_ps);
    if (++qp->cur_packet == wqe->packets) {
        qp->sq_cur++;
        qp->cur_packet = 0;
    }
    if (device_may_send(dev, qp))
        rnic_tx_sched_again(&dev->sched, qp, now_ps);
}

bool rnic_tx(struct rnic_device *dev, uint64_t now_ps, uint32_t ready_classes,
             struct wire_frame **frame, struct wire_frame **spare)
{
    const struct rnic_tx_control_record *record;
    struct rnic_tx_pick pick;

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
        pick = rnic_tx_sched_pick(&dev->sched, ready_classes, now_ps);
        if (pick.what == RNIC_PICK_NOTHING)
            return false;
        if (pick.what != RNIC_PICK_QP) { /* a frame that waited here */
            *spare = *frame;
            *frame = pick.frame;
            break;
        }
        if (!tx_packet(dev, pick.qp, now_ps, *frame))
            continue;
        tx_sent(dev, pick.qp, *frame, now_ps);
        if ((*frame)->ready_ps <= now_ps)
            break;
        rnic_tx_sched_hold(&dev->sched, *frame);
        *frame = NULL;
        return false;
    }
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

/* ---- receive a request ---- */

/* Where an answer of a queue pair goes. */
static void control_address(struct rnic_tx_control_record *record, const struct rnic_qp *qp,
                            uint8_t tos)
{
    record->dest_station = qp->dest_station;
    record->next_hop = qp->next_hop;
    record->qpn = qp->qpn;
    record->dest_qpn = qp->dest_qpn;
    record->udp_sport = qp->udp_sport;
    record->tos = tos;
    record->ttl = qp->ttl;
    record->frame_flags = qp->frame_flags;
}

/* Acknowledge, NAK or RNR NAK of a queue pair, ready when the packet has passed RX and TX. */
static void rx_answer(struct rnic_device *dev, struct rnic_qp *qp, uint8_t syndrome, wire_psn psn,
                      uint64_t at_ps)
{
    uint8_t tos = dev->params.ack_dscp < 64 ? (uint8_t)(dev->params.ack_dscp << 2) : qp->tos;

    struct rnic_tx_control_record *record = rnic_tx_control_take(&dev->control, tos >> 5);
    struct rnic_tx_control_record own;
    bool full = record == NULL;

    record = full ? &own : record;
    control_address(record, qp, tos);
    record->ready_ps = at_ps + dev->params.tx_latency_ps;
    record->msn = qp->resp.msn;
    record->psn = psn;
    record->opcode = WIRE_OP_ACKNOWLEDGE;
    record->syndrome = syndrome;
    if (full)
        rnic_tx_control_push(&dev->control, &own);
}

/* Refuse a request for good: NAK, event to our host, queue pair to ERR. */
static enum wire_drop rx_refuse(struct rnic_device *dev, struct rnic_qp *qp, uint8_t code,
                                enum wire_drop drop, uint64_t at_ps)
{
    qp->counters.naks_tx++;
    rx_answer(dev, qp, (uint8_t)(DEVICE_NAK | code), qp->resp.psn, at_ps);
    device_event(dev, code == DEVICE_NAK_ACCESS ? RNIC_EVENT_QP_ACCESS_ERR : RNIC_EVENT_QP_REQ_ERR,
                 qp, code, at_ps);
    rnic_complete_to_error(dev, qp, at_ps);
    return device_drop(dev, drop);
}

/* What RX PSN check did not let through to placement. */
static enum wire_drop rx_not_new(struct rnic_device *dev, struct rnic_qp *qp,
                                 const struct wire_frame *frame, enum rnic_rx_verdict verdict,
                                 uint64_t at_ps)
{
    switch (verdict) {
    case RNIC_RX_DUPLICATE:
        qp->counters.acks_tx++;
        rx_answer(dev, qp, DEVICE_ACK, frame->psn, at_ps);
        return device_drop(dev, WIRE_DROP_DUPLICATE);
    case RNIC_RX_GAP:
        qp->counters.naks_tx++;
        rx_answer(dev, qp, DEVICE_NAK | DEVICE_NAK_SEQUENCE, qp->resp.psn, at_ps);
        return device_drop(dev, WIRE_DROP_PSN_GAP);
    case RNIC_RX_GAP_SILENT:
        return device_drop(dev, WIRE_DROP_PSN_GAP);
    case RNIC_RX_RNR_SILENT:
        return device_drop(dev, WIRE_DROP_RNR_WAIT);
    case RNIC_RX_UNSUPPORTED:
        return rx_refuse(dev, qp, DEVICE_NAK_INVALID, WIRE_DROP_UNSUPPORTED, at_ps);
    case RNIC_RX_INVALID:
    case RNIC_RX_NEW:
        break;
    }
    return rx_refuse(dev, qp, DEVICE_NAK_INVALID, WIRE_DROP_REFUSED, at_ps);
}

/* The packet is in memory: completion, trace, acknowledge. */
static void rx_placed(struct rnic_device *dev, struct rnic_qp *qp, const struct wire_frame *frame,
                      const struct rnic_rx_place_result *result, uint64_t at_ps)
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
    if (frame->bth_flags & WIRE_BTH_ACKREQ) {
        qp->counters.acks_tx++;
        rx_answer(dev, qp, DEVICE_ACK, frame->psn, at_ps);
    }
    if (result->has_cqe)
        rnic_complete_recv(dev, qp, &result->wc, (frame->bth_flags & WIRE_BTH_SE) != 0,
                           result->placed_ps);
}

static enum wire_drop rx_request(struct rnic_device *dev, struct rnic_qp *qp,
                                 const struct wire_frame *frame, uint64_t at_ps)
{
    enum rnic_rx_verdict verdict = rnic_rx_check(qp, frame);
    struct rnic_rx_place_result result;

    if (verdict != RNIC_RX_NEW)
        return rx_not_new(dev, qp, frame, verdict, at_ps);
    rnic_rx_place(qp, frame, &dev->path, (uint32_t)dev->params.rq_fetch_bytes, at_ps, &result);
    device_passage(dev, RNIC_BLOCK_RX_PLACE, qp, frame, at_ps, result.placed_ps);
    if (result.placed == RNIC_RX_PLACED) {
        rx_placed(dev, qp, frame, &result, at_ps);
        return WIRE_DROP_NONE;
    }
    if (result.has_cqe) /* the receive request that could not take it has the real status */
        rnic_complete_recv(dev, qp, &result.wc, false, at_ps);
    switch (result.placed) {
    case RNIC_RX_RNR:
        qp->resp.nak = RNIC_RESP_RNR_NAK;
        qp->counters.rnr_naks_tx++;
        rx_answer(dev, qp, (uint8_t)(DEVICE_RNR_NAK | qp->min_rnr_timer), qp->resp.psn, at_ps);
        return device_drop(dev, WIRE_DROP_RNR_WAIT);
    case RNIC_RX_NAK_ACCESS:
        return rx_refuse(dev, qp, DEVICE_NAK_ACCESS, WIRE_DROP_REFUSED, at_ps);
    case RNIC_RX_NAK_OP:
        return rx_refuse(dev, qp, DEVICE_NAK_OP, WIRE_DROP_REFUSED, at_ps);
    case RNIC_RX_NAK_INVALID:
    case RNIC_RX_PLACED:
        break;
    }
    return rx_refuse(dev, qp, DEVICE_NAK_INVALID, WIRE_DROP_REFUSED, at_ps);
}

/* ---- receive a response ---- */

static enum rnic_wc_status rx_nak_status(uint8_t code)
{
    return code == DEVICE_NAK_INVALID  ? RNIC_WC_REM_INV_REQ_ERR
           : code == DEVICE_NAK_ACCESS ? RNIC_WC_REM_ACCESS_ERR
                                       : RNIC_WC_REM_OP_ERR;
}

/* Act on what the replay buffer made of an acknowledge, a refusal or a timer. */
static void rx_verdict(struct rnic_device *dev, struct rnic_qp *qp,
                       enum rnic_tx_replay_verdict verdict, uint64_t now_ps)
{
    rnic_complete_sends(dev, qp, now_ps);
    if (qp->state == RNIC_QPS_ERR)
        return;
    if (verdict == RNIC_TX_REPLAY_RETRY_EXC || verdict == RNIC_TX_REPLAY_RNR_EXC) {
        device_event(dev, RNIC_EVENT_QP_FATAL, qp, verdict, now_ps);
        rnic_complete_send_error(dev, qp,
                                 verdict == RNIC_TX_REPLAY_RETRY_EXC ? RNIC_WC_RETRY_EXC_ERR
                                                                     : RNIC_WC_RNR_RETRY_EXC_ERR,
                                 now_ps);
        return;
    }
    rnic_device_watch(dev, qp);
    rnic_device_ready(dev, qp, now_ps, now_ps);
}

static enum wire_drop rx_nak(struct rnic_device *dev, struct rnic_qp *qp,
                             const struct wire_frame *frame, uint64_t now_ps)
{
    uint8_t kind = frame->syndrome & 0xE0, code = frame->syndrome & 0x1F;
    enum rnic_tx_replay_verdict verdict;

    if (!rnic_tx_replay_refusable(&qp->replay, frame->psn))
        return device_drop(dev, WIRE_DROP_STALE_ACK);
    if ((kind != DEVICE_RNR_NAK && kind != DEVICE_NAK) ||
        (kind == DEVICE_NAK && code > DEVICE_NAK_OP))
        return device_drop(dev, WIRE_DROP_STALE_ACK); /* reserved */
    if (kind == DEVICE_RNR_NAK) {
        qp->counters.rnr_naks_rx++;
        verdict = rnic_tx_replay_rnr(&qp->replay, frame->psn, code, now_ps);
    } else if (code == DEVICE_NAK_SEQUENCE) {
        qp->counters.naks_rx++;
        verdict = rnic_tx_replay_nak(&qp->replay, frame->psn, now_ps);
    } else {
        qp->counters.naks_rx++;
        (void)rnic_tx_replay_ack(&qp->replay, wire_psn_add(frame->psn, WIRE_PSN_MASK), now_ps);
        rnic_complete_sends(dev, qp, now_ps);
        if (qp->state != RNIC_QPS_ERR)
            rnic_complete_send_error(dev, qp, rx_nak_status(code), now_ps);
        return WIRE_DROP_NONE;
    }
    if (verdict != RNIC_TX_REPLAY_NOTHING) {
        rnic_tx_sched_remove(&dev->sched, qp); /* what it sends now is caused by this */
        tx_seek(qp);
    }
    rx_verdict(dev, qp, verdict, now_ps);
    return WIRE_DROP_NONE;
}

static enum wire_drop rx_response(struct rnic_device *dev, struct rnic_qp *qp,
                                  const struct wire_frame *frame, uint64_t now_ps)
{
    wire_psn next = qp->replay.psn_next;
    enum rnic_tx_replay_verdict verdict;

    if (frame->opcode != WIRE_OP_ACKNOWLEDGE)
        return device_drop(dev, WIRE_DROP_STALE_ACK); /* we asked for none */
    if ((frame->syndrome & 0xE0) != 0)
        return rx_nak(dev, qp, frame, now_ps);
    verdict = rnic_tx_replay_ack(&qp->replay, frame->psn, now_ps);
    if (verdict == RNIC_TX_REPLAY_NOTHING)
        return device_drop(dev, WIRE_DROP_STALE_ACK);
    qp->counters.acks_rx++;
    if (next.v != qp->replay.psn_next.v)
        tx_seek(qp);
    rx_verdict(dev, qp, verdict, now_ps);
    return WIRE_DROP_NONE;
}

/* ---- congestion: CNP generation, CNP received ---- */

static void cnp_window_append(struct rnic_device *dev, struct rnic_qp *qp)
{
    WIRE_ASSERT(!qp->cnp_queued);
    qp->cnp_queued = true;
    qp->cnp_next = NULL;
    if (dev->cnp_first == NULL)
        dev->cnp_first = qp;
    else
        dev->cnp_last->cnp_next = qp;
    dev->cnp_last = qp;
}

void rnic_device_forget_window(struct rnic_device *dev, struct rnic_qp *qp)
{
    struct rnic_qp *before = NULL;

    if (!qp->cnp_queued)
        return;
    for (struct rnic_qp *at = dev->cnp_first; at != qp; at = at->cnp_next)
        before = at;
    if (before == NULL)
        dev->cnp_first = qp->cnp_next;
    else
        before->cnp_next = qp->cnp_next;
    if (dev->cnp_last == qp)
        dev->cnp_last = before;
    qp->cnp_queued = false;
    qp->cnp = (struct rnic_rx_cnp_state){0};
}

static void cnp_send(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps, uint64_t now_ps)
{
    struct rnic_tx_control_record record = {.opcode = WIRE_OP_CNP};

    qp->counters.cnps_tx++;
    dev->counters.cnps_tx++;
    device_event(dev, RNIC_EVENT_CNP_TX, qp, 0, now_ps);
    control_address(&record, qp, (uint8_t)(dev->params.cnp_dscp << 2));
    record.ready_ps = at_ps + dev->params.cnp_latency_ps + dev->params.tx_latency_ps;
    rnic_tx_control_push(&dev->control, &record);
}

static void cnp_marked(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps, uint64_t now_ps)
{
    uint64_t interval_ps = dev->params.cnp_interval_ps;

    qp->counters.ce_rx++;
    dev->counters.ce_rx++;
    if (!rnic_rx_cnp_ce(&qp->cnp, interval_ps, now_ps))
        return;
    if (rnic_rx_cnp_open(&qp->cnp))
        cnp_window_append(dev, qp);
    cnp_send(dev, qp, at_ps, now_ps);
}

static void cnp_windows_end(struct rnic_device *dev, uint64_t now_ps)
{
    while (dev->cnp_first != NULL && dev->cnp_first->cnp.window_end_ps <= now_ps) {
        struct rnic_qp *qp = dev->cnp_first;
        uint64_t end_ps = qp->cnp.window_end_ps;

        dev->cnp_first = qp->cnp_next;
        qp->cnp_queued = false;
        if (rnic_rx_cnp_window_end(&qp->cnp, dev->params.cnp_interval_ps, end_ps)) {
            cnp_window_append(dev, qp);
            cnp_send(dev, qp, end_ps, now_ps);
        }
    }
}

static void cnp_received(struct rnic_device *dev, struct rnic_qp *qp, uint64_t now_ps)
{
    qp->counters.cnps_rx++;
    dev->counters.cnps_rx++;
    rnic_tx_rate_cnp(dev->cc, &dev->cc_config, &qp->cc, now_ps);
    if (rnic_cq_event_wanted(&dev->events, RNIC_EVENT_CNP_RX))
        device_event(dev, RNIC_EVENT_CNP_RX, qp,
                     rnic_tx_rate_bps(dev->cc, &dev->cc_config, &qp->cc, now_ps), now_ps);
}

/* ---- receive ---- */

enum wire_drop rnic_rx(struct rnic_device *dev, struct wire_frame *frame, uint64_t now_ps)
{
    struct rnic_qp *qp = NULL;
    enum wire_drop drop;
    uint64_t at_ps;

    dev->counters.rx_frames++;
    if (frame->kind == WIRE_KIND_OPAQUE)
        return WIRE_DROP_NONE;
    WIRE_ASSERT(frame->kind == WIRE_KIND_ROCE); /* pause frames end at the MAC */
    drop = rnic_rx_parse(&dev->qps, frame, dev->station, &qp);
    if (drop != WIRE_DROP_NONE)
        return device_drop(dev, drop);
    if (rnic_rx_cnp_due(&qp->cnp, now_ps))
        cnp_windows_end(dev, now_ps); /* the window ends before what arrives at its end */
    at_ps = rnic_stage_pass(&dev->rx_stage, now_ps, dev->params.rx_service_ps,
                            dev->params.rx_latency_ps);
    at_ps = rnic_cache_get(&dev->qps.cache, &qp->cache, at_ps);
    device_passage(dev, RNIC_BLOCK_RX_PARSE, qp, frame, now_ps, at_ps);
    if (frame->opcode == WIRE_OP_CNP) {
        cnp_received(dev, qp, now_ps);
        return WIRE_DROP_NONE;
    }
    if ((frame->tos & WIRE_ECN_MASK) == WIRE_ECN_CE)
        cnp_marked(dev, qp, at_ps, now_ps);
    if (!(wire_opcodes[frame->opcode].is & WIRE_IS_REQUEST))
        return rx_response(dev, qp, frame, at_ps);
    if (!qp->resp.established) {
        qp->resp.established = true;
        if (qp->state == RNIC_QPS_RTR)
            device_event(dev, RNIC_EVENT_COMM_EST, qp, 0, at_ps);
    }
    return rx_request(dev, qp, frame, at_ps);
}

/* ---- timers ---- */

static void timers_retry(struct rnic_device *dev, uint64_t now_ps)
{
    dev->retry_wake_ps = WIRE_NEVER;
    for (uint32_t i = 0; i < dev->qps.n; i++) {
        struct rnic_qp *qp = dev->qps.qp[i];
        enum rnic_tx_replay_verdict verdict;

        if (qp == NULL)
            continue;
        if (qp->replay.deadline_ps > now_ps) {
            rnic_device_watch(dev, qp);
            continue;
        }
        if (!qp->replay.rnr_wait) {
            qp->counters.timeouts++;
            dev->counters.timeouts++;
        }
        verdict = rnic_tx_replay_expired(&qp->replay, now_ps);
        tx_seek(qp);
        rx_verdict(dev, qp, verdict, now_ps);
    }
}

uint64_t rnic_next_wake(const struct rnic_device *dev)
{
    uint64_t wake_ps = wire_min_ps(dev->retry_wake_ps, rnic_cq_event_next_ps(&dev->events));

    if (dev->cnp_first != NULL)
        wake_ps = wire_min_ps(wake_ps, dev->cnp_first->cnp.window_end_ps);
    return wake_ps;
}

void rnic_wake(struct rnic_device *dev, uint64_t now_ps)
{
    cnp_windows_end(dev, now_ps);
    if (dev->retry_wake_ps <= now_ps)
        timers_retry(dev, now_ps);
}
