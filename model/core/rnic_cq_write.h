/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * CQE generation: writes one completion by DMA, behind its data, and arms the event.
 *
 * In     what completed, and when its data is visible
 * Out    the time the completion is visible; an event when the CQ was armed
 * Spec   IBTA Vol 1 11.4.2.1 (completions), 11.6.3.1 (CQ error on overflow)
 * Cost   O(1)
 */
#ifndef RNIC_CQ_WRITE_H
#define RNIC_CQ_WRITE_H

#include "rnic_cq_event.h"
#include "rnic_dma.h"
#include "rnic_table_cq.h"

struct rnic_cq_write_params {
    uint32_t cqe_bytes;
    uint64_t event_latency_ps, poll_latency_ps;
};

/**
 * @param cqe      wc, is_send, sq_next and solicited set; a solicited one counts for a CQ armed for
 *                 solicited events only (errors always do)
 * @param data_ps  not visible before its data
 * @return false: the CQ is full; it is in error now (RNIC_EVENT_CQ_ERR given), the completion lost
 */
bool rnic_cq_write(struct rnic_cq *cq, struct rnic_table_cq *table, struct rnic_dma *dma,
                   struct rnic_cq_event *events, const struct rnic_cq_write_params *params,
                   struct rnic_cqe *cqe, uint64_t data_ps);

/**
 * Arm for one event. What the host can not see at @p now_ps comes after the arming, also when it is
 * under way already: so arm, then poll once more, misses nothing.
 */
void rnic_cq_write_arm(struct rnic_cq *cq, struct rnic_cq_event *events, bool solicited_only,
                       uint64_t event_latency_ps, uint64_t now_ps);

/** The host took the CQ's event; one that came meanwhile follows. At most one waits per CQ. */
void rnic_cq_write_event_taken(struct rnic_cq *cq, struct rnic_cq_event *events);

#endif
