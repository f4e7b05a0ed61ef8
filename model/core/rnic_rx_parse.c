/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_rx_parse.h"

#include "wire_opcode.h"

/* Same partition: low 15 bits equal, one side at least a full member (bit 15). Ours is 0xFFFF. */
static bool parse_pkey_matches(uint16_t pkey)
{
    return (pkey & 0x7FFF) == 0x7FFF;
}

/* CNPs are for connections, all else has its service in the upper bits of its opcode. */
static bool parse_type_takes(uint8_t type, uint8_t opcode)
{
    if (WIRE_LIKELY((opcode & WIRE_TRANSPORT_MASK) == rnic_table_qp_transport(type)))
        return true;
    return opcode == WIRE_OP_CNP && type != RNIC_QPT_UD;
}

/* States that take it: requests and CNPs (READ responses are paced) RTR on, responses RTS on. */
static bool parse_state_takes(uint8_t state, bool response)
{
    enum { REQUESTS = 1, RESPONSES = 2 };
    static const uint8_t takes[] = {[RNIC_QPS_RTR] = REQUESTS,
                                    [RNIC_QPS_RTS] = REQUESTS | RESPONSES,
                                    [RNIC_QPS_SQD] = REQUESTS | RESPONSES,
                                    [RNIC_QPS_SQE] = REQUESTS,
                                    [RNIC_QPS_ERR] = 0};

    return takes[state] >> response & 1;
}

/* From the peer, and the kind of address its path has. */
static bool parse_is_peer(const struct rnic_qp *qp, const struct wire_frame *frame)
{
    return frame->src == qp->path.dest_station &&
           ((frame->flags ^ qp->path.frame_flags) & (WIRE_FRAME_IPV6 | WIRE_FRAME_ROCE_V1)) == 0;
}

enum wire_drop rnic_rx_parse(const struct rnic_table_qp *table, const struct wire_frame *frame,
                             uint32_t station, struct rnic_qp **qp_out)
{
    const struct wire_opcode *op = &wire_opcodes[frame->opcode];
    struct rnic_qp *qp;

    if (frame->flags & WIRE_FRAME_CORRUPT)
        return WIRE_DROP_FCS;
    if (frame->dst != station ||
        (frame->eth_dst != station && frame->eth_dst != WIRE_STATION_BROADCAST))
        return WIRE_DROP_DEST_MAC;
    if (op->name == NULL)
        return WIRE_DROP_OPCODE;
    qp = rnic_table_qp_find(table, frame->dest_qpn);
    if (qp == NULL)
        return WIRE_DROP_QPN;
    if (!parse_type_takes(qp->type, frame->opcode))
        return WIRE_DROP_TRANSPORT;
    if (!parse_state_takes(qp->state, (op->is & WIRE_IS_RESPONSE) != 0))
        return WIRE_DROP_QP_STATE;
    if (!parse_pkey_matches(frame->pkey))
        return WIRE_DROP_PKEY;
    if (WIRE_UNLIKELY(qp->type == RNIC_QPT_UD)) {
        if (frame->deth.qkey != qp->qkey)
            return WIRE_DROP_QKEY;
    } else if (!parse_is_peer(qp, frame)) {
        return WIRE_DROP_ADDRESS;
    }
    *qp_out = qp;
    return WIRE_DROP_NONE;
}
