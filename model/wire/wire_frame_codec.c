/* SPDX-License-Identifier: GPL-2.0-only */
#include "wire_codec.h"

#include <string.h>

#define MIN_BYTES (WIRE_MIN_FRAME_BYTES - WIRE_FCS_BYTES)
#define DONT_FRAGMENT 0x4000u

static const uint8_t pause_mac[6] = {0x01, 0x80, 0xC2, 0x00, 0x00, 0x01};

/* Lengths of all that stands before the BTH, and the BTH, ICRC and FCS. */
static uint32_t frame_fixed_bytes(uint8_t frame_flags)
{
    uint32_t eth = frame_flags & WIRE_FRAME_VLAN ? 18 : 14;
    uint32_t network = 20 + 8; /* IPv4 and UDP */

    if (frame_flags & WIRE_FRAME_ROCE_V1)
        network = 40;
    else if (frame_flags & WIRE_FRAME_IPV6)
        network = 40 + 8;
    return eth + network + 12 + WIRE_ICRC_BYTES + WIRE_FCS_BYTES;
}

uint32_t wire_frame_length(uint8_t opcode, uint8_t frame_flags, uint32_t payload_bytes)
{
    uint32_t padded = (payload_bytes + 3) & ~3u;
    uint32_t length = frame_fixed_bytes(frame_flags) + wire_opcodes[opcode].header_bytes + padded;

    WIRE_ASSERT(wire_opcodes[opcode].name != NULL);
    WIRE_ASSERT(payload_bytes <= 0xFFFF);
    return length > WIRE_MIN_FRAME_BYTES ? length : WIRE_MIN_FRAME_BYTES;
}

static bool gid_is_ipv4(const uint8_t gid[16])
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

    return memcmp(gid, mapped, sizeof(mapped)) == 0;
}

static void packet_set_transport(struct wire_packet *packet, const struct wire_frame *frame)
{
    uint16_t has = wire_opcodes[frame->opcode].has;

    packet->opcode = frame->opcode;
    packet->bth_flags = frame->bth_flags;
    packet->pad = (uint8_t)(-frame->payload_bytes & 3);
    packet->pkey = frame->pkey;
    packet->dest_qpn = frame->dest_qpn;
    packet->psn = frame->psn;
    packet->syndrome = frame->syndrome;
    packet->msn = frame->msn;
    packet->imm = frame->imm;
    packet->rkey = frame->rkey;
    packet->dma_bytes = frame->dma_bytes;
    if (has & WIRE_HAS_DETH) {
        packet->qkey = frame->deth.qkey;
        packet->src_qpn = frame->deth.src_qpn;
    } else if (has & WIRE_HAS_ATOMIC_ACK) {
        packet->orig = frame->orig;
    } else {
        packet->va = frame->va;
    }
    packet->swap_add = frame->swap_add;
    packet->compare = frame->compare;
    packet->payload = frame->flags & WIRE_FRAME_BYTES ? frame->payload : NULL;
    packet->payload_bytes = frame->payload_bytes;
    packet->icrc_auto = true;
}

/* @return false: IPv4 asked for, but a station has no IPv4 address. */
static bool packet_set_network(struct wire_packet *packet, const struct wire_frame *frame,
                               const struct wire_addr_book *book)
{
    struct wire_station src = wire_addr_station(book, frame->src);
    struct wire_station dst = wire_addr_station(book, frame->dst);
    bool v1 = frame->flags & WIRE_FRAME_ROCE_V1;
    bool v6 = v1 || (frame->flags & WIRE_FRAME_IPV6);

    if (!v6 && (!gid_is_ipv4(src.gid) || !gid_is_ipv4(dst.gid)))
        return false;
    packet->ip_version = v6 ? 6 : 4;
    packet->ethertype = WIRE_ETHERTYPE_IPV4;
    if (v1)
        packet->ethertype = WIRE_ETHERTYPE_ROCE_V1;
    else if (v6)
        packet->ethertype = WIRE_ETHERTYPE_IPV6;
    packet->tos = frame->tos;
    packet->ttl = frame->ttl;
    packet->ip_id = frame->ip_id;
    packet->ip_frag = DONT_FRAGMENT;
    packet->ip_checksum_auto = true;
    memcpy(packet->ip_src, src.gid, 16);
    memcpy(packet->ip_dst, dst.gid, 16);
    packet->udp_sport = frame->udp_sport;
    return true;
}

void wire_frame_grh(const struct wire_frame *frame, const struct wire_addr_book *book,
                    uint8_t grh[WIRE_GRH_BYTES])
{
    struct wire_packet packet = {.kind = WIRE_KIND_ROCE};

    WIRE_ASSERT(frame->kind == WIRE_KIND_ROCE);
    packet_set_transport(&packet, frame);
    if (packet_set_network(&packet, frame, book))
        wire_encode_grh(&packet, grh);
    else
        memset(grh, 0, WIRE_GRH_BYTES);
}

size_t wire_frame_encode(const struct wire_frame *frame, const struct wire_addr_book *book,
                         uint8_t *bytes, size_t capacity)
{
    struct wire_packet packet = {.kind = (enum wire_kind)frame->kind};
    size_t n;

    WIRE_ASSERT(frame->frame_bytes >= WIRE_MIN_FRAME_BYTES || frame->kind == WIRE_KIND_OPAQUE);
    if (frame->kind == WIRE_KIND_OPAQUE)
        return 0;
    memcpy(packet.eth_src, wire_addr_station(book, frame->eth_src).mac, 6);
    if (frame->kind == WIRE_KIND_ROCE) {
        memcpy(packet.eth_dst, wire_addr_station(book, frame->eth_dst).mac, 6);
        packet.tagged = frame->flags & WIRE_FRAME_VLAN;
        packet.vlan_tci = frame->vlan_tci;
        packet_set_transport(&packet, frame);
        if (!packet_set_network(&packet, frame, book))
            return 0;
    } else {
        memcpy(packet.eth_dst, pause_mac, 6);
        packet.ethertype = WIRE_ETHERTYPE_MAC_CONTROL;
        packet.pause_enabled = frame->pause_enabled;
        memcpy(packet.pause_quanta, frame->pause_quanta, sizeof(packet.pause_quanta));
    }
    n = wire_encode(&packet, bytes, capacity);
    if (n == 0 || n >= MIN_BYTES)
        return n;
    if (capacity < MIN_BYTES)
        return 0;
    memset(bytes + n, 0, MIN_BYTES - n); /* Ethernet padding, behind the ICRC */
    return MIN_BYTES;
}

/* The unions of line 1: which member is valid, opcode and kind say. */
static void frame_set_line1(struct wire_frame *frame, const struct wire_packet *packet)
{
    uint16_t has = wire_opcodes[packet->opcode].has;

    frame->psn = packet->psn;
    frame->bth_flags = packet->bth_flags;
    frame->syndrome = packet->syndrome;
    frame->pause_enabled = packet->pause_enabled;
    frame->msn = packet->msn;
    frame->imm = packet->imm;
    if (has & WIRE_HAS_DETH) {
        frame->deth.qkey = packet->qkey;
        frame->deth.src_qpn = packet->src_qpn;
    } else if (has & WIRE_HAS_ATOMIC_ACK) {
        frame->orig = packet->orig;
    } else {
        frame->va = packet->va;
    }
    frame->rkey = packet->rkey;
    frame->dma_bytes = packet->dma_bytes;
    frame->payload_bytes = packet->payload_bytes;
    if (packet->kind == WIRE_KIND_ROCE) {
        frame->swap_add = packet->swap_add;
        frame->compare = packet->compare;
    } else {
        memcpy(frame->pause_quanta, packet->pause_quanta, sizeof(frame->pause_quanta));
    }
}

uint8_t wire_frame_class(const uint8_t *bytes, size_t n)
{
    uint32_t ethertype = (uint32_t)bytes[12] << 8 | bytes[13];

    WIRE_ASSERT(n >= 14);
    if (ethertype == WIRE_ETHERTYPE_VLAN && n > 14)
        return bytes[14] >> 5;
    if (ethertype == WIRE_ETHERTYPE_IPV4 && n > 15)
        return bytes[15] >> 5;
    if (ethertype == WIRE_ETHERTYPE_IPV6 && n > 14)
        return (bytes[14] & 0xF) >> 1; /* upper half of the traffic class */
    return 0;
}

/* Everything a switch reads, addresses apart. */
static void frame_set_line0(struct wire_frame *frame, const struct wire_packet *packet, size_t n)
{
    uint8_t flags = 0;

    if (packet->tagged)
        flags |= WIRE_FRAME_VLAN;
    if (packet->ethertype == WIRE_ETHERTYPE_IPV6)
        flags |= WIRE_FRAME_IPV6;
    if (packet->ethertype == WIRE_ETHERTYPE_ROCE_V1)
        flags |= WIRE_FRAME_ROCE_V1;
    frame->flags = flags;
    frame->frame_bytes = n > MIN_BYTES ? (uint32_t)n + WIRE_FCS_BYTES : WIRE_MIN_FRAME_BYTES;
    frame->dest_qpn = packet->dest_qpn;
    frame->udp_sport = packet->udp_sport;
    frame->ip_id = packet->ip_id;
    frame->vlan_tci = packet->vlan_tci;
    frame->pkey = packet->pkey;
    frame->kind = (uint8_t)packet->kind;
    frame->opcode = packet->opcode;
    frame->tos = packet->tos;
    frame->ttl = packet->ttl;
    frame->prio = packet->tagged ? (uint8_t)(packet->vlan_tci >> 13) : packet->tos >> 5;
}

enum wire_drop wire_frame_from_packet(struct wire_frame *frame, const struct wire_addr_book *book,
                                      const struct wire_packet *packet, size_t n, bool with_bytes)
{
    frame_set_line0(frame, packet, n);
    frame_set_line1(frame, packet);
    frame->eth_src = wire_addr_by_mac(book, packet->eth_src);
    frame->eth_dst = wire_addr_by_mac(book, packet->eth_dst);
    if (packet->kind == WIRE_KIND_ROCE) {
        frame->src = wire_addr_by_gid(book, packet->ip_src);
        frame->dst = wire_addr_by_gid(book, packet->ip_dst);
    } else {
        frame->src = frame->eth_src;
        frame->dst = frame->eth_dst;
    }
    if (frame->eth_src == WIRE_STATION_NONE || frame->eth_dst == WIRE_STATION_NONE ||
        frame->src == WIRE_STATION_NONE || frame->dst == WIRE_STATION_NONE)
        return WIRE_DROP_ADDRESS;
    if (with_bytes && frame->payload != NULL) {
        if (packet->payload_bytes > 0)
            memcpy(frame->payload, packet->payload, packet->payload_bytes);
        frame->flags |= WIRE_FRAME_BYTES;
    }
    return WIRE_DROP_NONE;
}

enum wire_drop wire_frame_decode(struct wire_frame *frame, const struct wire_addr_book *book,
                                 const uint8_t *bytes, size_t n, bool with_bytes)
{
    struct wire_packet packet;
    enum wire_drop drop = wire_decode(bytes, n, 0, &packet);

    if (drop != WIRE_DROP_NONE)
        return drop;
    return wire_frame_from_packet(frame, book, &packet, n, with_bytes);
}
