/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Check and placement of the answer that a READ or atomic waits for.
 *
 * In     the response with the PSN expected (replay.psn_read) and the request it answers
 * Out    placed and when; or the status the request fails with
 * Owns   nothing
 * Spec   IBTA Vol 1 9.7.5.1.3 (READ responses), 9.7.6 (a response that does not fit its request)
 * Cost   O(1), O(pieces) for scatter lists
 */
#ifndef RNIC_RX_RESPONSE_H
#define RNIC_RX_RESPONSE_H

#include "rnic_access.h"
#include "rnic_table_qp.h"
#include "wire_frame.h"

struct rnic_rx_response_result {
    /* SUCCESS; BAD_RESP_ERR: opcode or length do not fit; LOC_PROT_ERR: our list may not be
       written. On an error no byte was written. */
    enum rnic_wc_status status;
    bool ends;          /* the last answer of its request */
    uint64_t placed_ps; /* visible in host memory */
};

void rnic_rx_response_place(const struct rnic_qp *qp, const struct rnic_wqe *wqe,
                            const struct wire_frame *frame, const struct rnic_access_path *path,
                            uint64_t in_ps, struct rnic_rx_response_result *result);

#endif
