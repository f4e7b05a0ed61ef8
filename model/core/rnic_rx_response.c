/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_rx_response.h"

#include "wire_opcode.h"

/*
 * FIRST and ONLY begin an answer, LAST and ONLY end it. A READ that was asked for again from its
 * middle may be answered as a new one or as the rest of the old one: peers differ. Under selective
 * repeat it is asked for in parts, each with its own end.
 */
static bool response_opcode_fits(const struct rnic_qp *qp, const struct rnic_wqe *wqe,
                                 uint32_t packet, uint8_t opcode)
{
    bool ends = packet + 1 == wqe->packets;

    if (qp->replay.selective)
        return (wire_opcodes[opcode].is & WIRE_IS_READ) != 0;
    if (opcode == WIRE_OP_READ_RESP_ONLY)
        return ends;
    if (opcode == WIRE_OP_READ_RESP_FIRST)
        return !ends;
    if (opcode == WIRE_OP_READ_RESP_LAST)
        return ends && packet > 0;
    return opcode == WIRE_OP_READ_RESP_MIDDLE && !ends && packet > 0;
}

static enum rnic_wc_status response_read(const struct rnic_qp *qp, const struct rnic_wqe *wqe,
                                         const struct wire_frame *frame, uint32_t packet,
                                         const struct rnic_access_path *path, uint64_t *placed_ps)
{
    uint64_t offset = (uint64_t)packet << qp->mtu_shift;
    uint64_t bytes = wire_min_ps(wqe->length - offset, qp->mtu_bytes);
    const uint8_t *from = frame->flags & WIRE_FRAME_BYTES ? frame->payload : NULL;

    if (!response_opcode_fits(qp, wqe, packet, frame->opcode) || frame->payload_bytes != bytes)
        return RNIC_WC_BAD_RESP_ERR;
    return rnic_access_scatter(path, qp->pd, wqe->sge, wqe->num_sge, (uint32_t)offset,
                               (uint32_t)bytes, from, placed_ps)
               ? RNIC_WC_SUCCESS
               : RNIC_WC_LOC_PROT_ERR;
}

/* The value goes to memory as the host writes a number (IBTA 9.4.5; rxe and hardware agree). */
static enum rnic_wc_status response_atomic(const struct rnic_qp *qp, const struct rnic_wqe *wqe,
                                           const struct wire_frame *frame,
                                           const struct rnic_access_path *path, uint64_t *placed_ps)
{
    uint64_t orig = frame->orig;

    if (frame->opcode != WIRE_OP_ATOMIC_ACKNOWLEDGE)
        return RNIC_WC_BAD_RESP_ERR;
    return rnic_access_scatter(path, qp->pd, wqe->sge, wqe->num_sge, 0, sizeof orig,
                               (const uint8_t *)&orig, placed_ps)
               ? RNIC_WC_SUCCESS
               : RNIC_WC_LOC_PROT_ERR;
}

void rnic_rx_response_place(const struct rnic_qp *qp, const struct rnic_wqe *wqe,
                            const struct wire_frame *frame, const struct rnic_access_path *path,
                            uint64_t in_ps, struct rnic_rx_response_result *result)
{
    uint32_t packet = (frame->psn.v - wqe->psn.v) & WIRE_PSN_MASK;

    WIRE_ASSERT(packet < wqe->packets);
    result->placed_ps = in_ps;
    result->ends = packet + 1 == wqe->packets;
    result->status = rnic_ring_is_read(wqe)
                         ? response_read(qp, wqe, frame, packet, path, &result->placed_ps)
                         : response_atomic(qp, wqe, frame, path, &result->placed_ps);
}
