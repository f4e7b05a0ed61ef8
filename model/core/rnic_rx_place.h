/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Placement and responder: moves the payload of a checked request into host memory.
 *
 * In     a request that RX PSN check found NEW
 * Out    what became of it: placed (and maybe a message is complete), RNR, or a NAK
 * Owns   the open message of qp->resp, the head of the receive queue
 * Spec   IBTA Vol 1 9.7.4.1.5 (R_Key check: all of DMALen on the first packet), 9.7.5.2.8 (RNR),
 *        10.7.3 (receive queue); a refused packet moves no byte
 * Cost   O(1), O(pieces) for scatter lists
 */
#ifndef RNIC_RX_PLACE_H
#define RNIC_RX_PLACE_H

#include "rnic_access.h"
#include "rnic_rx_check.h"

enum rnic_rx_placed {
    RNIC_RX_PLACED,      /* resp->psn may advance */
    RNIC_RX_RNR,         /* no receive request: RNR NAK, nothing changed */
    RNIC_RX_NAK_INVALID, /* SEND longer than its receive request */
    RNIC_RX_NAK_ACCESS,  /* key, domain, permission or bounds: remote access error */
    RNIC_RX_NAK_OP,      /* our own receive buffer may not be written: remote operational error */
};

struct rnic_rx_place_result {
    enum rnic_rx_placed placed;
    uint64_t placed_ps;     /* data of this packet visible in host memory */
    bool message_done;      /* last packet of a message */
    uint32_t message_bytes; /* of the message so far */
    bool has_cqe;           /* a receive request was used up: wc is its completion */
    struct rnic_wc wc;      /* status not SUCCESS when placement failed in our receive request */
};

/** @param result  out: all of it, but wc only when has_cqe (no copy on the packet path) */
void rnic_rx_place(struct rnic_qp *qp, const struct wire_frame *frame,
                   const struct rnic_access_path *path, uint32_t rq_fetch_bytes, uint64_t in_ps,
                   struct rnic_rx_place_result *result);

#endif
