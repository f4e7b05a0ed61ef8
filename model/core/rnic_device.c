/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The wiring: where a received frame goes, congestion notification, and the timers. The three
 * straight walks are rnic_device_tx.c, rnic_device_request.c and rnic_device_response.c. What a
 * step decides is its block's; here stands only the order of the steps.
 */
#include "rnic_device.h"

#include "rnic_internal.h"
#include "rnic_rx_parse.h"
#include "rnic_tx_rate.h"
#include "wire_opcode.h"

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
    rnic_device_event(dev, RNIC_EVENT_CNP_TX, qp, 0, now_ps);
    record.qpn = qp->qpn;
    record.dest_qpn = qp->dest_qpn;
    record.path = qp->path;
    record.path.tos = (uint8_t)(dev->params.cnp_dscp << 2);
    record.ready_ps = at_ps + dev->params.cnp_latency_ps + dev->params.tx_latency_ps;
    rnic_tx_control_push(&dev->control, &record);
}

static void cnp_marked(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps, uint64_t now_ps)
{
    uint64_t interval_ps = dev->params.cnp_interval_ps;

    qp->counters.ce_rx++;
    dev->counters.ce_rx++;
    if (qp->type == RNIC_QPT_UD)
        return; /* a datagram has no connection to slow down */
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
        rnic_device_event(dev, RNIC_EVENT_CNP_RX, qp,
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
        return rnic_device_drop(dev, drop);
    if (rnic_rx_cnp_due(&qp->cnp, now_ps))
        cnp_windows_end(dev, now_ps); /* the window ends before what arrives at its end */
    at_ps = rnic_stage_pass(&dev->rx_stage, now_ps, dev->params.rx_service_ps,
                            dev->params.rx_latency_ps);
    at_ps = rnic_cache_get(&dev->qps.cache, &qp->cache, at_ps);
    rnic_device_passage(dev, RNIC_BLOCK_RX_PARSE, qp, frame, now_ps, at_ps);
    if (frame->opcode == WIRE_OP_CNP) {
        cnp_received(dev, qp, now_ps);
        return WIRE_DROP_NONE;
    }
    if ((frame->tos & WIRE_ECN_MASK) == WIRE_ECN_CE)
        cnp_marked(dev, qp, at_ps, now_ps);
    if (!(wire_opcodes[frame->opcode].is & WIRE_IS_REQUEST))
        return rnic_device_response(dev, qp, frame, at_ps);
    if (!qp->resp.established) {
        qp->resp.established = true;
        if (qp->state == RNIC_QPS_RTR)
            rnic_device_event(dev, RNIC_EVENT_COMM_EST, qp, 0, at_ps);
    }
    return rnic_device_request(dev, qp, frame, at_ps);
}

/* ---- timers ---- */

static void timers_retry(struct rnic_device *dev, uint64_t now_ps)
{
    dev->retry_wake_ps = WIRE_NEVER;
    for (uint32_t i = 0; i < dev->qps.n; i++) {
        struct rnic_qp *qp = dev->qps.qp[i];
        enum rnic_tx_replay_verdict verdict;
        bool rnr;

        if (qp == NULL)
            continue;
        if (qp->replay.deadline_ps > now_ps) {
            rnic_device_watch(dev, qp);
            continue;
        }
        rnr = qp->replay.rnr_wait;
        verdict = rnic_tx_replay_expired(&qp->replay, now_ps);
        if (!rnr && verdict != RNIC_TX_REPLAY_NOTHING) {
            qp->counters.timeouts++;
            dev->counters.timeouts++;
        }
        rnic_device_response_verdict(dev, qp, verdict, now_ps);
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
