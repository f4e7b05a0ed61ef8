/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_tx_build.h"

#include "wire_codec.h"

#define BUILD_PKEY_DEFAULT 0xFFFFu

enum build_position { BUILD_ONLY, BUILD_FIRST, BUILD_MIDDLE, BUILD_LAST };

/* Opcode of a packet by work request and position, for RC; the others differ in the upper bits. */
static const uint8_t build_opcodes[][4] = {
    [RNIC_WR_RDMA_WRITE] = {WIRE_OP_WRITE_ONLY, WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_MIDDLE,
                            WIRE_OP_WRITE_LAST},
    [RNIC_WR_RDMA_WRITE_WITH_IMM] = {WIRE_OP_WRITE_ONLY_IMM, WIRE_OP_WRITE_FIRST,
                                     WIRE_OP_WRITE_MIDDLE, WIRE_OP_WRITE_LAST_IMM},
    [RNIC_WR_SEND] = {WIRE_OP_SEND_ONLY, WIRE_OP_SEND_FIRST, WIRE_OP_SEND_MIDDLE,
                      WIRE_OP_SEND_LAST},
    [RNIC_WR_SEND_WITH_IMM] = {WIRE_OP_SEND_ONLY_IMM, WIRE_OP_SEND_FIRST, WIRE_OP_SEND_MIDDLE,
                               WIRE_OP_SEND_LAST_IMM},
    [RNIC_WR_SEND_WITH_INV] = {WIRE_OP_SEND_ONLY_INV, WIRE_OP_SEND_FIRST, WIRE_OP_SEND_MIDDLE,
                               WIRE_OP_SEND_LAST_INV},
};

static const uint8_t build_responses[4] = {
    [BUILD_ONLY] = WIRE_OP_READ_RESP_ONLY,
    [BUILD_FIRST] = WIRE_OP_READ_RESP_FIRST,
    [BUILD_MIDDLE] = WIRE_OP_READ_RESP_MIDDLE,
    [BUILD_LAST] = WIRE_OP_READ_RESP_LAST,
};

/* Network and Ethernet headers; every field of line 0 that a receiver reads. */
static void build_network(const struct rnic_tx_build_params *params, const struct rnic_path *path,
                          uint8_t ecn_bits, uint16_t ip_id, struct wire_frame *frame)
{
    frame->src = params->station;
    frame->dst = path->dest_station;
    frame->eth_src = params->station;
    frame->eth_dst = path->next_hop;
    frame->udp_sport = path->udp_sport;
    frame->ip_id = ip_id;
    frame->vlan_tci = 0;
    frame->pkey = BUILD_PKEY_DEFAULT;
    frame->kind = WIRE_KIND_ROCE;
    frame->flags = path->frame_flags;
    frame->tos = path->tos | ecn_bits;
    frame->ttl = path->ttl;
    frame->prio = rnic_path_prio(path->tos);
}

static enum build_position build_position(uint32_t packet, uint32_t packets)
{
    if (packets == 1)
        return BUILD_ONLY;
    if (packet == 0)
        return BUILD_FIRST;
    return packet + 1 == packets ? BUILD_LAST : BUILD_MIDDLE;
}

/* A READ, from its packet-th response on. */
static void build_read(const struct rnic_qp *qp, const struct rnic_wqe *wqe, uint32_t packet,
                       struct wire_frame *frame)
{
    uint32_t offset = packet << qp->mtu_shift;

    frame->opcode = WIRE_OP_READ_REQUEST;
    frame->va = wqe->remote_addr + offset;
    frame->rkey = wqe->rkey;
    frame->dma_bytes = wqe->length - offset;
    frame->payload_bytes = 0;
}

static void build_atomic(const struct rnic_wqe *wqe, struct wire_frame *frame)
{
    bool swaps = wqe->opcode == RNIC_WR_ATOMIC_CMP_AND_SWP;

    frame->opcode = swaps ? WIRE_OP_COMPARE_SWAP : WIRE_OP_FETCH_ADD;
    frame->va = wqe->remote_addr;
    frame->rkey = wqe->rkey;
    frame->swap_add = swaps ? wqe->atomic.swap : wqe->atomic.compare_add;
    frame->compare = swaps ? wqe->atomic.compare_add : 0;
    frame->payload_bytes = 0;
}

/* A packet of a SEND or WRITE. */
static void build_data(const struct rnic_tx_build_params *params, const struct rnic_qp *qp,
                       const struct rnic_wqe *wqe, uint32_t packet, struct wire_frame *frame)
{
    enum build_position position = build_position(packet, wqe->packets);
    bool last = position == BUILD_LAST || position == BUILD_ONLY;
    uint8_t opcode = build_opcodes[wqe->opcode][position] | rnic_table_qp_transport(qp->type);
    uint32_t offset = packet << qp->mtu_shift;

    frame->opcode = opcode;
    if (qp->type == RNIC_QPT_RC && (last || (packet + 1) % params->ack_every == 0))
        frame->bth_flags |= WIRE_BTH_ACKREQ;
    if (last && (wqe->flags & RNIC_SEND_SOLICITED) && wqe->opcode != RNIC_WR_RDMA_WRITE)
        frame->bth_flags |= WIRE_BTH_SE;
    if (wire_opcodes[opcode].has & WIRE_HAS_RETH) {
        frame->va = wqe->remote_addr;
        frame->rkey = wqe->rkey;
        frame->dma_bytes = wqe->length;
    }
    frame->imm = wqe->imm;
    frame->payload_bytes = last ? wqe->length - offset : qp->mtu_bytes;
    WIRE_ASSERT(frame->payload_bytes <= qp->mtu_bytes);
}

void rnic_tx_build_request(const struct rnic_tx_build_params *params, const struct rnic_qp *qp,
                           const struct rnic_wqe *wqe, uint32_t packet, uint16_t ip_id,
                           struct wire_frame *frame)
{
    bool datagram = qp->type == RNIC_QPT_UD;

    WIRE_ASSERT(packet < wqe->packets);
    build_network(params, datagram ? &wqe->ud.path : &qp->path, params->ecn_bits, ip_id, frame);
    frame->dest_qpn = datagram ? wqe->ud.dest_qpn : qp->dest_qpn;
    frame->psn = wire_psn_add(wqe->psn, packet);
    frame->bth_flags = 0;
    if (WIRE_LIKELY(wqe->opcode < RNIC_WR_RDMA_READ || wqe->opcode == RNIC_WR_SEND_WITH_INV))
        build_data(params, qp, wqe, packet, frame);
    else if (rnic_ring_is_read(wqe))
        build_read(qp, wqe, packet, frame);
    else
        build_atomic(wqe, frame);
    if (datagram) {
        frame->deth.qkey = wqe->ud.qkey;
        frame->deth.src_qpn = qp->qpn;
    }
    frame->frame_bytes = wire_frame_length(frame->opcode, frame->flags, frame->payload_bytes);
}

void rnic_tx_build_response(const struct rnic_tx_build_params *params, const struct rnic_qp *qp,
                            const struct rnic_resource *resource, uint32_t packet, uint16_t ip_id,
                            struct wire_frame *frame)
{
    uint64_t offset = (uint64_t)packet << qp->mtu_shift;

    WIRE_ASSERT(packet < resource->packets);
    build_network(params, &qp->path, params->ecn_bits, ip_id, frame);
    frame->dest_qpn = qp->dest_qpn;
    frame->psn = wire_psn_add(resource->psn, packet);
    frame->bth_flags = 0;
    frame->msn = resource->msn;
    if (resource->opcode == WIRE_OP_READ_REQUEST) {
        frame->opcode = build_responses[build_position(packet, resource->packets)];
        frame->payload_bytes = (uint32_t)wire_min_ps(resource->length - offset, qp->mtu_bytes);
    } else {
        frame->opcode = WIRE_OP_ATOMIC_ACKNOWLEDGE;
        frame->orig = resource->orig;
        frame->payload_bytes = 0;
    }
    frame->frame_bytes = wire_frame_length(frame->opcode, frame->flags, frame->payload_bytes);
}

void rnic_tx_build_control(const struct rnic_tx_build_params *params,
                           const struct rnic_tx_control_record *record, uint16_t ip_id,
                           struct wire_frame *frame)
{
    build_network(params, &record->path, 0, ip_id, frame);
    frame->opcode = record->opcode;
    frame->dest_qpn = record->dest_qpn;
    frame->psn = record->psn;
    frame->bth_flags = record->opcode == WIRE_OP_CNP ? WIRE_BTH_BECN : 0;
    frame->syndrome = record->syndrome;
    frame->msn = record->msn;
    frame->payload_bytes = 0;
    frame->frame_bytes = wire_frame_length(record->opcode, frame->flags, 0);
}
