/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * RX PSN check: is this request the one expected, a repeated one, or behind a gap; does its opcode
 * continue the open message, and is the operation enabled; is it as long as its place asks?
 *
 * RC answers a gap with one NAK. UC takes a loss as the end of the open message and goes on with
 * the next one that begins. UD has no sequence.
 *
 * In     a request and the responder state of its queue pair
 * Out    a verdict; a request that is NEW may go on to resources, length and placement
 * Owns   resp->nak (one NAK per loss event); UC: resp->psn of a message that begins
 * Spec   IBTA Vol 1 9.7.4.1.1 (PSN verification), 9.7.4.1.2 (opcode sequence), 9.7.4.1.6 (length),
 *        C9-114 (one NAK until the expected packet arrives), 9.8.2 (UC), 9.8.3 (UD);
 *        go-back-0: Guo16 ("RDMA over Commodity Ethernet at Scale") 4.1
 * Cost   O(1)
 */
#ifndef RNIC_RX_CHECK_H
#define RNIC_RX_CHECK_H

#include "rnic_table_qp.h"
#include "wire_frame.h"
#include "wire_opcode.h"

enum rnic_rx_verdict {
    RNIC_RX_NEW,         /* expected and in sequence */
    RNIC_RX_RESTART,     /* the same, but the open message is over without its end: forget it */
    RNIC_RX_DUPLICATE,   /* executed before: discard, answer again */
    RNIC_RX_GAP,         /* first one behind a gap: NAK sequence error with resp->psn */
    RNIC_RX_GAP_SILENT,  /* behind a gap already reported */
    RNIC_RX_RNR_SILENT,  /* behind a request refused with RNR NAK */
    RNIC_RX_AHEAD,       /* behind a gap, selective repeat: keep it, and tell what is missing */
    RNIC_RX_LOST,        /* UC: a packet before it is missing: its message is dropped */
    RNIC_RX_INVALID,     /* NAK invalid request */
    RNIC_RX_UNSUPPORTED, /* an operation this card does not offer: NAK invalid request */
};

/** PSN, sequence of opcodes, operation enabled, in this order. */
enum rnic_rx_verdict rnic_rx_check(struct rnic_qp *qp, const struct wire_frame *frame);

/**
 * Is the payload of a NEW SEND or WRITE as long as its place allows? To be asked after its
 * resources are there. False: RC: NAK invalid request.
 */
bool rnic_rx_check_length(const struct rnic_qp *qp, const struct wire_frame *frame);

/**
 * May a NEW READ ask for that much, is a NEW atomic aligned? To be asked after its resources are
 * there. False: NAK invalid request.
 */
bool rnic_rx_check_asked(const struct rnic_qp *qp, const struct wire_frame *frame);

#endif
