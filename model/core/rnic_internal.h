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
    struct rnic_cq_event events;          /* cq_event */
    struct rnic_qp *cnp_first, *cnp_last; /* open CNP windows by their end */
    struct rnic_mem mem;
    struct rnic_counters counters;
};

/** A queue pair has, or may have, something to send, known to the card at @p known_ps. */
void rnic_device_ready(struct rnic_device *dev, struct rnic_qp *qp, uint64_t known_ps,
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
