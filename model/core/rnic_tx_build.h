/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * TX packet build: cuts a work request into packets at the path MTU and fills the headers.
 *
 * In     a work request or responder resource and a packet number in it, or a control record
 * Out    a frame with every header; which piece of the message it carries
 * Owns   nothing
 * Spec   IBTA Vol 1 9.4.1, 9.7.3 (segmentation, opcodes), 9.7.7 (AckReq is the requester's choice)
 * Cost   O(1) a packet
 */
#ifndef RNIC_TX_BUILD_H
#define RNIC_TX_BUILD_H

#include "rnic_table_qp.h"
#include "rnic_tx_control.h"
#include "wire_frame.h"

/* Headers that are the same for all packets of a card. */
struct rnic_tx_build_params {
    uint32_t station;
    uint32_t ack_every;
    uint8_t ecn_bits; /* WIRE_ECN_ECT0 or WIRE_ECN_NOT_ECT for data */
};

/** Packets, that is PSNs, a message of @p length bytes takes. */
static inline uint32_t rnic_tx_build_packets(const struct rnic_qp *qp, uint32_t length)
{
    return length == 0 ? 1 : (uint32_t)(((uint64_t)length + qp->mtu_bytes - 1) >> qp->mtu_shift);
}

/** Fill @p frame with packet number @p packet of @p wqe; payload_bytes is set, payload is not. */
void rnic_tx_build_request(const struct rnic_tx_build_params *params, const struct rnic_qp *qp,
                           const struct rnic_wqe *wqe, uint32_t packet, uint16_t ip_id,
                           struct wire_frame *frame);

/**
 * Fill @p frame with response number @p packet of a READ or with that of an atomic; payload_bytes
 * is set, payload and syndrome (the credits) are not.
 */
void rnic_tx_build_response(const struct rnic_tx_build_params *params, const struct rnic_qp *qp,
                            const struct rnic_resource *resource, uint32_t packet, uint16_t ip_id,
                            struct wire_frame *frame);

/** Fill @p frame with an acknowledge, NAK or CNP. */
void rnic_tx_build_control(const struct rnic_tx_build_params *params,
                           const struct rnic_tx_control_record *record, uint16_t ip_id,
                           struct wire_frame *frame);

#endif
