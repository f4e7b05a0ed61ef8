/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * End-to-end credits: the five bits of an acknowledge that say how many receive requests are free.
 *
 * Both ends read the one table: the responder rounds down, so that it never promises too much.
 *
 * Spec   IBTA Vol 1 9.7.7.2 (end-to-end flow control), table of credit codes in 9.7.5.1.2
 * Cost   O(1)
 */
#ifndef RNIC_CREDIT_H
#define RNIC_CREDIT_H

#include "rnic_table_qp.h"

/** Greatest code (0 .. 30) that stands for at most @p receives requests. */
uint8_t rnic_credit_code(uint32_t receives);

/** Requests that @p code (0 .. 30) stands for; WIRE_AETH_NO_CREDITS is no number: UINT32_MAX. */
uint32_t rnic_credit_count(uint8_t code);

/**
 * Credit code of an acknowledge of @p qp: the receive requests posted and not used up, the one of
 * an open message included, since the MSN does not count that message yet. WIRE_AETH_NO_CREDITS
 * when it uses none or shares a receive queue.
 */
uint8_t rnic_credit_of(const struct rnic_qp *qp);

#endif
