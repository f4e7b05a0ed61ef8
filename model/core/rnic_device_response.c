/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The walk of a received response: acknowledges, NAKs, answers of READs and atomics.
 */
#include "rnic_complete.h"
#include "rnic_credit.h"
#include "rnic_internal.h"
#include "rnic_rx_response.h"
#include "wire_opcode.h"

static enum rnic_wc_status response_nak_status(uint8_t code)
{
    return code == WIRE_NAK_INVALID  ? RNIC_WC_REM_INV_REQ_ERR
           : code == WIRE_NAK_ACCESS ? RNIC_WC_REM_ACCESS_ERR
                                     : RNIC_WC_REM_OP_ERR;
}

void rnic_device_response_verdict(struct rnic_device *dev, struct rnic_qp *qp,
                                  enum rnic_tx_replay_verdict verdict, uint64_t now_ps)
{
    if (verdict == RNIC_TX_REPLAY_RESEND || verdict == RNIC_TX_REPLAY_WAIT) {
        rnic_tx_sched_remove(&dev->sched, &qp->request); /* what it sends now is caused by this */
        rnic_device_tx_seek(qp);
    }
    rnic_complete_sends(dev, qp, now_ps);
    if (qp->state == RNIC_QPS_ERR)
        return;
    if (verdict == RNIC_TX_REPLAY_RETRY_EXC || verdict == RNIC_TX_REPLAY_RNR_EXC) {
        rnic_complete_send_error(dev, qp,
                                 verdict == RNIC_TX_REPLAY_RETRY_EXC ? RNIC_WC_RETRY_EXC_ERR
                                                                     : RNIC_WC_RNR_RETRY_EXC_ERR,
                                 0, now_ps);
        return;
    }
    rnic_device_watch(dev, qp);
    rnic_device_tx_ready(dev, qp, now_ps, now_ps);
}

/* The request that owns `psn` has failed; those before it are done. */
static void response_failed(struct rnic_device *dev, struct rnic_qp *qp, wire_psn psn,
                            enum rnic_wc_status status, uint8_t syndrome, uint64_t now_ps)
{
    (void)rnic_tx_replay_ack(&qp->replay, wire_psn_add(psn, WIRE_PSN_MASK), now_ps);
    rnic_complete_sends(dev, qp, now_ps);
    if (qp->state != RNIC_QPS_ERR)
        rnic_complete_send_error(dev, qp, status, syndrome, now_ps);
}

/* The peer gives its free receive requests with its answers. */
static void response_credits(struct rnic_qp *qp, const struct wire_frame *frame)
{
    uint8_t code = frame->syndrome & WIRE_AETH_CODE;
    uint32_t limit;

    if (wire_psn_diff(frame->psn, qp->replay.psn_sent) >= 0)
        return; /* ghost: it answers what was never sent */
    if (code == WIRE_AETH_NO_CREDITS) {
        qp->checks_credits = false; /* it does not count them */
        return;
    }
    limit = (frame->msn + rnic_credit_count(code)) & WIRE_PSN_MASK;
    if (wire_psn_diff((wire_psn){limit}, (wire_psn){qp->ssn_limit}) > 0)
        qp->ssn_limit = limit;
}

/* Selective repeat: the request with this PSN has arrived; a READ's takes several PSNs. */
static void response_arrived(struct rnic_qp *qp, wire_psn psn)
{
    struct rnic_device_spot spot = rnic_device_tx_find(qp, psn);
    const struct rnic_wqe *wqe = rnic_ring_wqe(&qp->sq, spot.index);
    uint32_t psns = rnic_ring_is_read(wqe) ? wqe->packets - spot.packet : 1;

    psns = psns < qp->sack.mask ? psns : qp->sack.mask; /* there are bits for no more */
    for (uint32_t i = 0; i < psns; i++)
        (void)rnic_tx_sack_report(&qp->sack, qp->replay.psn_una, wire_psn_add(psn, i),
                                  qp->replay.psn_sent);
}

/* Selective repeat: the peer misses frame->psn and holds the PSN in the MSN field. */
static enum wire_drop response_selective(struct rnic_device *dev, struct rnic_qp *qp,
                                         const struct wire_frame *frame, uint64_t now_ps)
{
    wire_psn arrived = {frame->msn & WIRE_PSN_MASK};
    struct rnic_tx_replay *replay = &qp->replay;
    enum rnic_tx_replay_verdict verdict = RNIC_TX_REPLAY_PROGRESS;

    qp->counters.naks_rx++;
    if (wire_psn_diff(frame->psn, replay->psn_una) > 0)
        verdict = rnic_tx_replay_ack(replay, wire_psn_add(frame->psn, WIRE_PSN_MASK), now_ps);
    if (frame->psn.v == replay->psn_una.v && rnic_tx_replay_refusable(replay, arrived) &&
        wire_psn_diff(arrived, frame->psn) > 0)
        response_arrived(qp, arrived);
    rnic_device_response_verdict(dev, qp, verdict, now_ps);
    return WIRE_DROP_NONE;
}

static enum wire_drop response_nak(struct rnic_device *dev, struct rnic_qp *qp,
                                   const struct wire_frame *frame, uint64_t now_ps)
{
    uint8_t kind = frame->syndrome & WIRE_AETH_KIND, code = frame->syndrome & WIRE_AETH_CODE;
    enum rnic_tx_replay_verdict verdict;

    if (!rnic_tx_replay_refusable(&qp->replay, frame->psn))
        return rnic_device_drop(dev, WIRE_DROP_STALE_ACK);
    if (kind == WIRE_AETH_NAK && code == WIRE_NAK_SELECTIVE && qp->replay.selective)
        return response_selective(dev, qp, frame, now_ps);
    if ((kind != WIRE_AETH_RNR_NAK && kind != WIRE_AETH_NAK) ||
        (kind == WIRE_AETH_NAK && code > WIRE_NAK_OP))
        return rnic_device_drop(dev, WIRE_DROP_STALE_ACK); /* reserved */
    if (kind == WIRE_AETH_RNR_NAK) {
        qp->counters.rnr_naks_rx++;
        verdict = rnic_tx_replay_rnr(&qp->replay, frame->psn, code, now_ps);
    } else if (code == WIRE_NAK_SEQUENCE || rnic_tx_replay_owed(&qp->replay, frame->psn)) {
        qp->counters.naks_rx++;
        verdict = rnic_tx_replay_nak(&qp->replay, frame->psn, now_ps);
    } else {
        qp->counters.naks_rx++;
        response_failed(dev, qp, frame->psn, response_nak_status(code), frame->syndrome, now_ps);
        return WIRE_DROP_NONE;
    }
    rnic_device_response_verdict(dev, qp, verdict, now_ps);
    return WIRE_DROP_NONE;
}

/*
 * Go-back-0 starts a message over: of one that is not complete, nothing is acknowledged; but the
 * peer is alive.
 */
static wire_psn response_whole_messages(struct rnic_qp *qp, wire_psn psn, uint64_t now_ps)
{
    struct rnic_device_spot spot;

    if (!rnic_tx_replay_refusable(&qp->replay, psn))
        return psn;
    rnic_tx_replay_alive(&qp->replay, now_ps);
    spot = rnic_device_tx_find(qp, wire_psn_add(psn, 1));
    return wire_psn_add(psn, (WIRE_PSN_MASK + 1 - spot.packet) & WIRE_PSN_MASK);
}

/* Acknowledge, or what an answer behind a lost one comes to. */
static enum wire_drop response_ack(struct rnic_device *dev, struct rnic_qp *qp, wire_psn psn,
                                   uint64_t now_ps)
{
    wire_psn next = qp->replay.psn_next;
    enum rnic_tx_replay_verdict verdict;

    if (WIRE_UNLIKELY(qp->init.recovery == RNIC_RECOVER_GO_BACK_0))
        psn = response_whole_messages(qp, psn, now_ps);
    verdict = rnic_tx_replay_ack(&qp->replay, psn, now_ps);
    if (verdict == RNIC_TX_REPLAY_NOTHING)
        return rnic_device_drop(dev, WIRE_DROP_STALE_ACK);
    qp->counters.acks_rx++;
    if (next.v != qp->replay.psn_next.v && verdict == RNIC_TX_REPLAY_PROGRESS)
        rnic_device_tx_seek(qp);
    rnic_device_response_verdict(dev, qp, verdict, now_ps);
    return WIRE_DROP_NONE;
}

/* The READ or atomic at qp->rd_una has all its answers: which is the next that waits? */
static wire_psn response_next_read(struct rnic_qp *qp)
{
    uint32_t at = qp->rd_una + 1;

    qp->rd_placed_ps = 0;
    if (qp->replay.reads <= 1)
        return qp->replay.psn_read;
    while (!rnic_ring_asks(rnic_ring_wqe(&qp->sq, at)))
        at++;
    qp->rd_una = at;
    return rnic_ring_wqe(&qp->sq, at)->psn;
}

/* Data for the READ or atomic that waits for it. */
static enum wire_drop response_data(struct rnic_device *dev, struct rnic_qp *qp,
                                    const struct wire_frame *frame, uint64_t at_ps)
{
    const struct rnic_wqe *wqe = rnic_ring_wqe(&qp->sq, qp->rd_una);
    wire_psn next = qp->replay.psn_next;
    struct rnic_rx_response_result result;
    uint64_t done_ps;

    rnic_rx_response_place(qp, wqe, frame, &dev->path, at_ps, &result);
    rnic_device_passage(dev, RNIC_BLOCK_RX_PLACE, qp, frame, at_ps, result.placed_ps);
    if (result.status != RNIC_WC_SUCCESS) {
        response_failed(dev, qp, frame->psn, result.status, 0, at_ps);
        return result.status == RNIC_WC_BAD_RESP_ERR ? rnic_device_drop(dev, WIRE_DROP_BAD_RESPONSE)
                                                     : WIRE_DROP_NONE;
    }
    qp->counters.rx_responses++;
    qp->rd_placed_ps = wire_max_ps(qp->rd_placed_ps, result.placed_ps);
    done_ps = qp->rd_placed_ps;
    rnic_tx_replay_read_done(&qp->replay, result.ends,
                             result.ends ? response_next_read(qp) : qp->replay.psn_read, at_ps);
    if (next.v != qp->replay.psn_next.v)
        rnic_device_tx_seek(qp);
    rnic_complete_sends(dev, qp, done_ps);
    rnic_device_response_verdict(dev, qp, RNIC_TX_REPLAY_PROGRESS, at_ps);
    return WIRE_DROP_NONE;
}

/* Selective repeat: the answers that arrived ahead of this one follow it, up to the next gap. */
static void response_held(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps)
{
    const struct wire_frame *frame;

    while (qp->replay.reads > 0 &&
           (frame = rnic_rx_hold_take(&qp->held_responses, qp->replay.psn_read)) != NULL) {
        enum rnic_tx_replay_response what = rnic_tx_replay_response(&qp->replay, frame->psn, at_ps);

        WIRE_ASSERT(what == RNIC_TX_REPLAY_EXPECTED);
        (void)what;
        rnic_device_undrop(dev, response_data(dev, qp, frame, at_ps));
    }
    if (qp->replay.reads > 0 && qp->held_responses.held > 0)
        rnic_device_response_verdict(dev, qp, rnic_tx_replay_lost(&qp->replay), at_ps);
}

/* Answers before this one were lost. */
static enum wire_drop response_gap(struct rnic_device *dev, struct rnic_qp *qp,
                                   const struct wire_frame *frame, uint64_t at_ps)
{
    if (qp->replay.selective && rnic_rx_hold_put(&qp->held_responses, qp->replay.psn_read, frame)) {
        rnic_device_undrop(dev, response_ack(dev, qp, frame->psn, at_ps));
        return WIRE_DROP_NONE;
    }
    return response_ack(dev, qp, frame->psn, at_ps);
}

/* READ responses and answers of atomics. */
static enum wire_drop response_answer(struct rnic_device *dev, struct rnic_qp *qp,
                                      const struct wire_frame *frame, uint64_t at_ps)
{
    bool has_aeth = (wire_opcodes[frame->opcode].has & WIRE_HAS_AETH) != 0;
    enum wire_drop drop;

    if (has_aeth && (frame->syndrome & WIRE_AETH_KIND) != WIRE_AETH_ACK)
        return rnic_device_drop(dev, WIRE_DROP_STALE_ACK); /* data with a NAK: no such packet */
    if (qp->checks_credits && has_aeth)
        response_credits(qp, frame);
    switch (rnic_tx_replay_response(&qp->replay, frame->psn, at_ps)) {
    case RNIC_TX_REPLAY_EXPECTED:
        drop = response_data(dev, qp, frame, at_ps);
        if (WIRE_UNLIKELY(qp->held_responses.held > 0))
            response_held(dev, qp, at_ps);
        return drop;
    case RNIC_TX_REPLAY_GAP:
        return response_gap(dev, qp, frame, at_ps);
    case RNIC_TX_REPLAY_UNASKED:
        response_failed(dev, qp, frame->psn, RNIC_WC_BAD_RESP_ERR, 0, at_ps);
        return rnic_device_drop(dev, WIRE_DROP_BAD_RESPONSE);
    case RNIC_TX_REPLAY_STALE:
        break;
    }
    return rnic_device_drop(dev, WIRE_DROP_STALE_ACK);
}

static enum wire_drop response_walk(struct rnic_device *dev, struct rnic_qp *qp,
                                    const struct wire_frame *frame, uint64_t at_ps)
{
    if (WIRE_UNLIKELY(frame->opcode != WIRE_OP_ACKNOWLEDGE))
        return response_answer(dev, qp, frame, at_ps);
    if (WIRE_UNLIKELY((frame->syndrome & WIRE_AETH_KIND) != WIRE_AETH_ACK))
        return response_nak(dev, qp, frame, at_ps);
    if (WIRE_UNLIKELY(qp->checks_credits))
        response_credits(qp, frame);
    return response_ack(dev, qp, frame->psn, at_ps);
}

enum wire_drop rnic_device_response(struct rnic_device *dev, struct rnic_qp *qp,
                                    const struct wire_frame *frame, uint64_t at_ps)
{
    wire_psn una = qp->replay.psn_una;
    enum wire_drop drop = response_walk(dev, qp, frame, at_ps);

    if (WIRE_UNLIKELY(qp->replay.selective))
        rnic_tx_sack_advance(&qp->sack, una, qp->replay.psn_una);
    return drop;
}
