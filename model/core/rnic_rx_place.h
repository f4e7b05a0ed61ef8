/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Placement and responder: moves the payload of a checked request into host memory.
 *
 * In     a SEND or WRITE request that RX PSN check found NEW
 * Out    what became of it: placed (and maybe a message is complete), or refused
 * Owns   the open message of qp->resp, the head of the receive queue
 * Spec   IBTA Vol 1 9.7.4.1.5 (R_Key check: all of DMALen on the first packet), 9.7.5.2.8 (RNR),
 *        10.7.3 (receive queue), 9.9.5.1 (SEND with invalidate), 9.8.2.2 (UC: a message that fails
 *        gives its receive request back); a refused packet moves no byte
 * Cost   O(1), O(pieces) for scatter lists
 */
#ifndef RNIC_RX_PLACE_H
#define RNIC_RX_PLACE_H

#include "rnic_access.h"
#include "rnic_rx_check.h"

enum rnic_rx_placed {
    RNIC_RX_PLACED,      /* resp->psn may advance */
    RNIC_RX_NAK_INVALID, /* SEND longer than its receive request */
    RNIC_RX_NAK_ACCESS,  /* key, domain, permission or bounds: remote access error */
    RNIC_RX_NAK_OP,      /* our own receive buffer may not be written, or the key to invalidate is
                            none: remote operational error */
};

struct rnic_rx_place_result {
    enum rnic_rx_placed placed;
    uint64_t placed_ps;     /* data of this packet visible in host memory */
    bool message_done;      /* last packet of a message */
    uint32_t message_bytes; /* of the message so far */
    bool has_cqe;           /* a receive request was used up: wc is its completion */
    struct rnic_wc wc;      /* status not SUCCESS when placement failed in our receive request */
};

/**
 * Have the receive request that this request needs, if any, at the head of the receive queue; it
 * comes from the shared receive queue when there is one (whose limit event has time @p now_ps).
 * @return false: there is none; nothing changed
 */
bool rnic_rx_place_request(struct rnic_qp *qp, const struct wire_frame *frame,
                           struct rnic_cq_event *events, uint64_t now_ps);

/**
 * RC and UC. The request's length was checked and its receive request is there.
 *
 * A refusal on RC ends the queue pair; on UC the message is to be abandoned (but for NAK_OP).
 * @param result  out: all of it, but wc only when has_cqe (no copy on the packet path)
 */
void rnic_rx_place(struct rnic_qp *qp, const struct wire_frame *frame,
                   const struct rnic_access_path *path, uint32_t rq_fetch_bytes, uint64_t in_ps,
                   struct rnic_rx_place_result *result);

/**
 * UD: a datagram with its GRH area ahead of it. NAK_INVALID: too long, nothing changed.
 * @param grh     RNIC_GRH_BYTES bytes
 * @param result  as rnic_rx_place
 */
void rnic_rx_place_datagram(struct rnic_qp *qp, const struct wire_frame *frame, const uint8_t *grh,
                            const struct rnic_access_path *path, uint32_t rq_fetch_bytes,
                            uint64_t in_ps, struct rnic_rx_place_result *result);

/** The open message never was: its receive request, if any, takes the next one. */
void rnic_rx_place_forget(struct rnic_resp *resp);

/**
 * UC: the open message is lost. Its receive request takes the next one; but one from a shared
 * receive queue ends with @p status. @param result  has_cqe and wc
 */
void rnic_rx_place_abandon(struct rnic_qp *qp, enum rnic_wc_status status,
                           struct rnic_rx_place_result *result);

/**
 * The open message of a reliable connection is refused: a SEND's receive request, which is in use,
 * ends with @p status. @param result has_cqe, wc
 */
void rnic_rx_place_fail(struct rnic_qp *qp, enum rnic_wc_status status,
                        struct rnic_rx_place_result *result);

#endif
