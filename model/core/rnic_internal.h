/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The card whole, for its own blocks only: who owns what.
 *
 * Blocks never call each other. They look up tables and return records; rnic_device.c walks them.
 */
#ifndef RNIC_INTERNAL_H
#define RNIC_INTERNAL_H

#include "rnic_access.h"
#include "rnic_cq_event.h"
#include "rnic_device.h"
#include "rnic_dma.h"
#include "rnic_table_ah.h"
#include "rnic_table_cq.h"
#include "rnic_table_mr.h"
#include "rnic_table_page.h"
#include "rnic_table_qp.h"
#include "rnic_tx_build.h"
#include "rnic_tx_control.h"
#include "rnic_tx_sched.h"

struct rnic_device {
    struct rnic_params params;
    const struct rnic_cc_ops *cc;
    struct rnic_cc_config cc_config;
    uint32_t station;
    const struct wire_addr_book *book;
    uint16_t ip_id;         /* of the next packet */
    uint64_t retry_wake_ps; /* not later than the earliest deadline of any queue pair */
    uint32_t watched;       /* queue pairs with a deadline */

    struct rnic_tx_build_params build; /* from params, for every packet */
    struct rnic_access_path path;      /* to the tables below */
    struct rnic_tx_sched sched;        /* tx_sched */
    struct rnic_tx_control control;    /* tx_control */
    struct rnic_stage tx_stage, rx_stage;
    struct rnic_dma dma;        /* dma */
    struct rnic_server fetcher; /* table fetches of all caches */
    struct rnic_table_qp qps;
    struct rnic_table_mr mrs;
    struct rnic_table_page pages;
    struct rnic_table_cq cqs;
    struct rnic_table_srq srqs;
    struct rnic_table_ah ahs;
    uint64_t atomics[RNIC_ACCESS_ATOMICS];
    struct rnic_cq_event events;          /* cq_event */
    struct rnic_qp *cnp_first, *cnp_last; /* open CNP windows by their end */
    struct rnic_mem mem;
    struct rnic_counters counters;
};

/* ---- small helpers of the walks ---- */

static inline enum wire_drop rnic_device_drop(struct rnic_device *dev, enum wire_drop drop)
{
    dev->counters.drops[drop]++;
    return drop;
}

/** A kept packet came to nothing after all; its frame was taken when it arrived, and told so. */
static inline void rnic_device_undrop(struct rnic_device *dev, enum wire_drop drop)
{
    if (drop != WIRE_DROP_NONE)
        dev->counters.drops[drop]--;
}

static inline void rnic_device_event(struct rnic_device *dev, enum rnic_event_type type,
                                     const struct rnic_qp *qp, uint64_t value, uint64_t time_ps)
{
    rnic_cq_event_push(
        &dev->events,
        &(struct rnic_event){.type = type, .qpn = qp->qpn, .value = value, .time_ps = time_ps});
}

/** One passage of a block, when somebody watches. */
static inline void rnic_device_passage(struct rnic_device *dev, enum rnic_block block,
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

/** Through the TX pipeline: a frame whose payload is on the card at @p read_ps. Sets ready_ps. */
WIRE_HOT void rnic_device_to_mac(struct rnic_device *dev, const struct rnic_qp *qp,
                                 struct wire_frame *frame, uint64_t read_ps, uint64_t now_ps)
{
    frame->ready_ps = rnic_stage_pass(&dev->tx_stage, read_ps, dev->params.tx_service_ps,
                                      dev->params.tx_latency_ps);
    rnic_tx_sched_built(&dev->sched, wire_max_ps(frame->ready_ps, now_ps));
    rnic_device_passage(dev, RNIC_BLOCK_TX_BUILD, qp, frame, read_ps, frame->ready_ps);
}

/* ---- the walks (rnic_device_tx.c, _request.c, _respond.c, _response.c) ---- */

/** A request for @p qp passed the RX parser at @p at_ps. */
enum wire_drop rnic_device_request(struct rnic_device *dev, struct rnic_qp *qp,
                                   const struct wire_frame *frame, uint64_t at_ps);

/** A response for @p qp passed the RX parser at @p at_ps. */
enum wire_drop rnic_device_response(struct rnic_device *dev, struct rnic_qp *qp,
                                    const struct wire_frame *frame, uint64_t at_ps);

/**
 * Transmit, the responder's part: build the next READ or atomic response of a queue pair into a
 * blank frame; frame->ready_ps says when it is at the MAC.
 * False: nothing to send after all (none pending, or its key is gone: then the request is refused).
 */
bool rnic_device_respond(struct rnic_device *dev, struct rnic_qp *qp, uint64_t now_ps,
                         struct wire_frame *frame);

/** A response of queue pair @p qpn leaves the card at @p now_ps: an answer may wait behind it. */
void rnic_device_respond_left(struct rnic_device *dev, uint32_t qpn, uint64_t now_ps);

/**
 * RC: the answer to the request with PSN @p psn, checked at @p at_ps: acknowledge, NAK or RNR NAK.
 * It leaves behind the responses to requests before it.
 */
void rnic_device_respond_answer(struct rnic_device *dev, struct rnic_qp *qp, uint8_t syndrome,
                                wire_psn psn, uint64_t at_ps);

/** Selective repeat: qp->resp.psn is missing, @p arrived is here. */
void rnic_device_respond_ahead(struct rnic_device *dev, struct rnic_qp *qp, wire_psn arrived,
                               uint64_t at_ps);

/**
 * RC: refuse the request with PSN @p psn for good: NAK, event to our host, queue pair to ERR.
 * Responses from there on are dropped.
 */
void rnic_device_respond_refuse(struct rnic_device *dev, struct rnic_qp *qp, enum wire_nak code,
                                wire_psn psn, uint64_t at_ps);

/** The same without the event: a completion in error tells the host (IBTA 11.6.3.1). */
void rnic_device_respond_refuse_told(struct rnic_device *dev, struct rnic_qp *qp,
                                     enum wire_nak code, wire_psn psn, uint64_t at_ps);

/** RC: answer a request again that was executed before. */
enum wire_drop rnic_device_respond_repeat(struct rnic_device *dev, struct rnic_qp *qp,
                                          const struct wire_frame *frame, uint64_t at_ps);

/** Act on what the replay buffer made of an answer or a timer. */
void rnic_device_response_verdict(struct rnic_device *dev, struct rnic_qp *qp,
                                  enum rnic_tx_replay_verdict verdict, uint64_t now_ps);

/* A packet of the send queue. */
struct rnic_device_spot {
    uint32_t index, packet; /* work request and packet in it */
    bool again;             /* a lost one, out of turn (selective repeat) */
};

/** The request packet with this PSN; index == qp->sq_end: none, it is the next to be posted. */
struct rnic_device_spot rnic_device_tx_find(const struct rnic_qp *qp, wire_psn psn);

/**
 * Something is to be sent again: put the send cursor on the packet with PSN qp->replay.psn_next, or
 * (selective repeat) send the oldest, and those known to be lost, out of turn.
 */
void rnic_device_tx_seek(struct rnic_qp *qp);

/** What only some queue pairs heed: lost packets of selective repeat come first; fence, READ and
 * atomic limit, end-to-end credits. */
bool rnic_device_tx_may_send_by_rules(struct rnic_qp *qp);

/** May the next request packet be sent, the time apart? */
WIRE_HOT bool rnic_device_may_send(struct rnic_qp *qp)
{
    if (WIRE_UNLIKELY(qp->has_rules))
        return rnic_device_tx_may_send_by_rules(qp);
    return !qp->replay.rnr_wait && !qp->sq_failed && qp->sq_cur != qp->sq_end &&
           rnic_tx_replay_in_flight(&qp->replay) < qp->max_in_flight;
}

/** A queue pair has, or may have, requests to send, known to the card at @p known_ps. */
void rnic_device_tx_ready(struct rnic_device *dev, struct rnic_qp *qp, uint64_t known_ps,
                          uint64_t now_ps);

/** The same for its responses to READs and atomics. */
void rnic_device_tx_respond_ready(struct rnic_device *dev, struct rnic_qp *qp, uint64_t known_ps,
                                  uint64_t now_ps);

/** Out-of-line part of rnic_device_watch. */
void rnic_device_watch_changed(struct rnic_device *dev, struct rnic_qp *qp);

/** The replay state changed: its deadline counts among the card's. */
static inline void rnic_device_watch(struct rnic_device *dev, struct rnic_qp *qp)
{
    bool armed = qp->replay.deadline_ps != WIRE_NEVER;

    if (WIRE_UNLIKELY(armed != qp->watched || qp->replay.deadline_ps < dev->retry_wake_ps))
        rnic_device_watch_changed(dev, qp);
}

/** Take the queue pair out of the list of open CNP windows. */
void rnic_device_forget_window(struct rnic_device *dev, struct rnic_qp *qp);

#endif
