/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_rx_parse.h"

#include "wire_opcode.h"

/* Same partition: low 15 bits equal, one side at least a full member (bit 15). Ours is 0xFFFF. */
static bool parse_pkey_matches(uint16_t pkey)
{
    return (pkey & 0x7FFF) == 0x7FFF;
}

/* States in which a packet of this kind is taken: requests from RTR on, responses from RTS on. */
static bool parse_state_takes(uint8_t state, bool request)
{
    if (state == RNIC_QPS_RTR)
        return request;
    return state == RNIC_QPS_RTS || state == RNIC_QPS_SQD || (request && state == RNIC_QPS_SQE);
}

enum wire_drop rnic_rx_parse(const struct rnic_table_qp *table, const struct wire_frame *frame,
                             uint32_t station, struct rnic_qp **qp_out)
{
    const struct wire_opcode *op = &wire_opcodes[frame->opcode];
    bool cnp = frame->opcode == WIRE_OP_CNP;
    struct rnic_qp *qp;

    if (frame->flags & WIRE_FRAME_CORRUPT)
        return WIRE_DROP_FCS;
    if (frame->dst != station)
        return WIRE_DROP_DEST_MAC;
    if (op->name == NULL)
        return WIRE_DROP_OPCODE;
    qp = rnic_table_qp_find(table, frame->dest_qpn);
    if (qp == NULL)
        return WIRE_DROP_QPN;
    if (!cnp && (frame->opcode & WIRE_TRANSPORT_MASK) != WIRE_TRANSPORT_RC)
        return WIRE_DROP_TRANSPORT;
    if (!parse_state_takes(qp->state, (op->is & WIRE_IS_REQUEST) != 0))
        return WIRE_DROP_QP_STATE;
    if (!parse_pkey_matches(frame->pkey))
        return WIRE_DROP_PKEY;
    if (frame->src != qp->dest_station)
        return WIRE_DROP_ADDRESS;
    *qp_out = qp;
    return WIRE_DROP_NONE;
}
