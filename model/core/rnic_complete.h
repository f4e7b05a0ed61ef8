/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Completion of work requests: in order, each exactly once, and the flush of a failed queue pair.
 *
 * Place  behind the response walk, the timers and modify_qp
 * Owns   qp->sq_una; the transition of a queue pair to ERR
 * Spec   IBTA Vol 1 10.8.5 (completions), 10.3.1.6 (Error state: the first failing work request
 *        has the real status, the others WR_FLUSH_ERR, unsignalled ones too)
 * Cost   O(1) a work request
 */
#ifndef RNIC_COMPLETE_H
#define RNIC_COMPLETE_H

#include "rnic_internal.h"

/**
 * Complete every send work request whose last packet lies before qp->replay.psn_una. If the oldest
 * one left had failed before it could be sent, the queue pair fails now.
 */
void rnic_complete_sends(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps);

/** The oldest send work request ends with @p status; the queue pair goes to ERR. */
void rnic_complete_send_error(struct rnic_device *dev, struct rnic_qp *qp,
                              enum rnic_wc_status status, uint64_t at_ps);

/** Completion of a receive request. */
void rnic_complete_recv(struct rnic_device *dev, struct rnic_qp *qp, const struct rnic_wc *wc,
                        bool solicited, uint64_t data_ps);

/** Send completion for a request that never stood in the ring (posted in ERR). */
void rnic_complete_flushed_send(struct rnic_device *dev, struct rnic_qp *qp, uint64_t wr_id,
                                uint64_t at_ps);

/** To ERR: out of every line, timers off, both queues flushed. No effect when already there. */
void rnic_complete_to_error(struct rnic_device *dev, struct rnic_qp *qp, uint64_t at_ps);

/** Forget all about requests and responses, as RESET asks: no completions. */
void rnic_complete_reset(struct rnic_device *dev, struct rnic_qp *qp);

#endif
