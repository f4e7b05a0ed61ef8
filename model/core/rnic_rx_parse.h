/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * RX parser: the silent-drop rules that need a queue pair. The stateless ones are wire's.
 *
 * In     a frame with parsed headers
 * Out    the queue pair it is for, or why it is dropped without an answer
 * Spec   IBTA Vol 1 9.6 (packet header validation); RC and UC: the peer of the address vector only,
 *        UD: the queue key
 * Cost   O(1)
 */
#ifndef RNIC_RX_PARSE_H
#define RNIC_RX_PARSE_H

#include "rnic_table_qp.h"
#include "wire_frame.h"

/** @param station of this card */
enum wire_drop rnic_rx_parse(const struct rnic_table_qp *table, const struct wire_frame *frame,
                             uint32_t station, struct rnic_qp **qp);

#endif
