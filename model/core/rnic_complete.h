/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Completion of work requests: in order, each exactly once, and the flush of a failed queue pair.
 *
 * Place  behind the transmit and response walks, the timers and modify_qp
 * Owns   qp->sq_una, qp->drain_told; the transitions of a queue pair to ERR and to SQE
 * Spec   IBTA Vol 1 10.8.5 (completions), 10.3.1.6 (Error state: the first failing work request
 *        has the real status, the others WR_FLUSH_ERR, unsignalled ones too), 10.3.1.5 (SQ Error,
 *        UC and UD: the send queue alone), 10.3.1.4 (SQ Drain)
 * Cost   O(1) a work request
 */
#ifndef RNIC_COMPLETE_H
#define RNIC_COMPLETE_H

#include "rnic_internal.h"

/**
 * Complete every send work request whose last PSN lies before qp->replay.psn_una, and local
 * operations that are carried out. If the oldest one left had failed before it could be sent, the
 * send queue fails now. In SQD tells that it is drained.
 */
void rnic_complete_sends(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps);

/**
 * The oldest send work request ends with @p status; RC: the queue pair goes to ERR, UC and UD: to
 * SQE, which flushes the send queue and lets receives go on.
 *
 * @param vendor_err  the syndrome when a NAK of the peer is the reason, else 0
 */
void rnic_complete_send_error(struct rnic_device *dev, struct rnic_qp *qp,
                              enum rnic_wc_status status, uint32_t vendor_err, uint64_t at_ps);

/** Completion of a receive request. */
void rnic_complete_recv(struct rnic_device *dev, struct rnic_qp *qp, const struct rnic_wc *wc,
                        bool solicited, uint64_t data_ps);

/** Completion of a receive request that nothing will use any more. */
void rnic_complete_flushed_recv(struct rnic_device *dev, struct rnic_qp *qp, uint64_t wr_id,
                                uint64_t at_ps);

/** Send completion for a request that never stood in the ring (posted in ERR or SQE). */
void rnic_complete_flushed_send(struct rnic_device *dev, struct rnic_qp *qp, uint64_t wr_id,
                                uint64_t at_ps);

/**
 * To ERR: out of every line, timers off, both queues flushed, and with a shared receive queue
 * RNIC_EVENT_LAST_WQE. No effect when already there.
 */
void rnic_complete_to_error(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps);

/**
 * The same when the responder refuses a request: what it owes for requests before that one, and the
 * NAK behind it, still leave (qp->respond is not stopped, the response flow stays in line).
 */
void rnic_complete_refused(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps);

/**
 * RTS to SQD: requests not yet started wait (qp->sq_end), and RNIC_EVENT_SQ_DRAINED comes when the
 * others are complete, now or later, unless qp->drain_told.
 */
void rnic_complete_drain(struct rnic_device *dev, struct rnic_qp *qp, uint64_t now_ps);

/**
 * Forget all about requests and responses, as RESET asks: no completions; windows the queue pair
 * bound are unbound, the memory of its responder resources is given back.
 */
void rnic_complete_reset(struct rnic_device *dev, struct rnic_qp *qp);

#endif
