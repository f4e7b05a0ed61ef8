/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_tx_build.h"

#include "wire_codec.h"

#define BUILD_PKEY_DEFAULT 0xFFFFu

enum build_position { BUILD_ONLY, BUILD_FIRST, BUILD_MIDDLE, BUILD_LAST };

/* Opcode of a packet by work request and position. */
static const uint8_t build_opcodes[4][4] = {
    [RNIC_WR_RDMA_WRITE] = {WIRE_OP_WRITE_ONLY, WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_MIDDLE,
                            WIRE_OP_WRITE_LAST},
    [RNIC_WR_RDMA_WRITE_WITH_IMM] = {WIRE_OP_WRITE_ONLY_IMM, WIRE_OP_WRITE_FIRST,
                                     WIRE_OP_WRITE_MIDDLE, WIRE_OP_WRITE_LAST_IMM},
    [RNIC_WR_SEND] = {WIRE_OP_SEND_ONLY, WIRE_OP_SEND_FIRST, WIRE_OP_SEND_MIDDLE,
                      WIRE_OP_SEND_LAST},
    [RNIC_WR_SEND_WITH_IMM] = {WIRE_OP_SEND_ONLY_IMM, WIRE_OP_SEND_FIRST, WIRE_OP_SEND_MIDDLE,
                               WIRE_OP_SEND_LAST_IMM},
};

/* Network and Ethernet headers; every field of line 0 that a receiver reads. */
static void build_network(const struct rnic_tx_build_params *params, uint32_t dest_station,
                          uint32_t next_hop, uint16_t udp_sport, uint8_t tos, uint8_t ttl,
                          uint8_t flags, uint16_t ip_id, struct wire_frame *frame)
{
    frame->src = params->station;
    frame->dst = dest_station;
    frame->eth_src = params->station;
    frame->eth_dst = next_hop;
    frame->udp_sport = udp_sport;
    frame->ip_id = ip_id;
    frame->vlan_tci = 0;
    frame->pkey = BUILD_PKEY_DEFAULT;
    frame->kind = WIRE_KIND_ROCE;
    frame->flags = flags;
    frame->tos = tos;
    frame->ttl = ttl;
    frame->prio = (uint8_t)(tos >> 5);
}

static enum build_position build_position(uint32_t packet, uint32_t packets)
{
    if (packets == 1)
        return BUILD_ONLY;
    if (packet == 0)
        return BUILD_FIRST;
    return packet + 1 == packets ? BUILD_LAST : BUILD_MIDDLE;
}

void rnic_tx_build_request(const struct rnic_tx_build_params *params, const struct rnic_qp *qp,
                           const struct rnic_wqe *wqe, uint32_t packet, uint16_t ip_id,
                           struct wire_frame *frame)
{
    enum build_position position = build_position(packet, wqe->packets);
    bool last = position == BUILD_LAST || position == BUILD_ONLY;
    uint8_t opcode = build_opcodes[wqe->opcode][position];
    uint32_t offset = packet << qp->mtu_shift;
    uint32_t bytes = last ? wqe->length - offset : qp->mtu_bytes;

    WIRE_ASSERT(packet < wqe->packets && bytes <= qp->mtu_bytes);
    build_network(params, qp->dest_station, qp->next_hop, qp->udp_sport,
                  (uint8_t)(qp->tos | params->ecn_bits), qp->ttl, qp->frame_flags, ip_id, frame);
    frame->opcode = opcode;
    frame->dest_qpn = qp->dest_qpn;
    frame->psn = wire_psn_add(wqe->psn, packet);
    frame->bth_flags = 0;
    if (last || (packet + 1) % params->ack_every == 0)
        frame->bth_flags |= WIRE_BTH_ACKREQ;
    if (last && (wqe->flags & RNIC_SEND_SOLICITED) && wqe->opcode != RNIC_WR_RDMA_WRITE)
        frame->bth_flags |= WIRE_BTH_SE;
    if (wire_opcodes[opcode].has & WIRE_HAS_RETH) {
        frame->va = wqe->remote_addr;
        frame->rkey = wqe->rkey;
        frame->dma_bytes = wqe->length;
    }
    frame->imm = wqe->imm;
    frame->payload_bytes = bytes;
    frame->frame_bytes = wire_frame_length(opcode, frame->flags, bytes);
}

void rnic_tx_build_control(const struct rnic_tx_build_params *params,
                           const struct rnic_tx_control_record *record, uint16_t ip_id,
                           struct wire_frame *frame)
{
    build_network(params, record->dest_station, record->next_hop, record->udp_sport, record->tos,
                  record->ttl, record->frame_flags, ip_id, frame);
    frame->opcode = record->opcode;
    frame->dest_qpn = record->dest_qpn;
    frame->psn = record->psn;
    frame->bth_flags = record->opcode == WIRE_OP_CNP ? WIRE_BTH_BECN : 0;
    frame->syndrome = record->syndrome;
    frame->msn = record->msn;
    frame->payload_bytes = 0;
    frame->frame_bytes = wire_frame_length(record->opcode, frame->flags, 0);
}
