/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * RX PSN check: is this request the one expected, a repeated one, or behind a gap; does its opcode
 * continue the open message; is it as long as its place asks?
 *
 * In     a request and the responder state of its queue pair
 * Out    a verdict; a request that is NEW may go on to placement
 * Owns   resp->nak (one NAK per loss event)
 * Spec   IBTA Vol 1 9.7.4.1.1 (PSN verification), 9.7.4.1.2 (opcode sequence), 9.7.4.1.6 (length),
 *        C9-114 (one NAK until the expected packet arrives)
 * Cost   O(1)
 */
#ifndef RNIC_RX_CHECK_H
#define RNIC_RX_CHECK_H

#include "rnic_table_qp.h"
#include "wire_frame.h"
#include "wire_opcode.h"

enum rnic_rx_verdict {
    RNIC_RX_NEW,         /* expected and well formed */
    RNIC_RX_DUPLICATE,   /* executed before: discard, acknowledge again */
    RNIC_RX_GAP,         /* first one behind a gap: NAK sequence error with resp->psn */
    RNIC_RX_GAP_SILENT,  /* behind a gap already reported */
    RNIC_RX_RNR_SILENT,  /* behind a request refused with RNR NAK */
    RNIC_RX_INVALID,     /* NAK invalid request */
    RNIC_RX_UNSUPPORTED, /* an operation this card does not offer: NAK invalid request */
};

enum rnic_rx_verdict rnic_rx_check(struct rnic_qp *qp, const struct wire_frame *frame);

#endif
