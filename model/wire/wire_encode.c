/* SPDX-License-Identifier: GPL-2.0-only */
#include "wire_bytes.h"
#include "wire_codec.h"

#include <string.h>

#define BTH_BYTES 12u
#define IPV4_BYTES 20u
#define IPV6_BYTES 40u
#define UDP_BYTES 8u
#define MAX_LENGTH 0xFFFFu /* of a 16-bit length field */

/* Copies n bytes, or writes zeros when there are none. @return the next byte. */
static uint8_t *put_bytes(uint8_t *p, const uint8_t *from, size_t n)
{
    if (n == 0)
        return p;
    if (from != NULL)
        memcpy(p, from, n);
    else
        memset(p, 0, n);
    return p + n;
}

static uint8_t *encode_ethernet(const struct wire_packet *packet, uint8_t *p)
{
    memcpy(p, packet->eth_dst, 6);
    memcpy(p + 6, packet->eth_src, 6);
    p += 12;
    if (packet->tagged) {
        wire_bytes_put16(p, WIRE_ETHERTYPE_VLAN);
        wire_bytes_put16(p + 2, packet->vlan_tci);
        p += 4;
    }
    wire_bytes_put16(p, packet->ethertype);
    return p + 2;
}

static uint8_t *encode_bth(const struct wire_packet *packet, uint8_t *p)
{
    uint8_t flags = packet->bth_flags;

    WIRE_ASSERT(packet->pad <= 3);
    p[0] = packet->opcode;
    p[1] = (uint8_t)((flags & WIRE_BTH_SE ? 0x80 : 0) | (flags & WIRE_BTH_MIG ? 0x40 : 0) |
                     packet->pad << 4 | (packet->tver & 15));
    wire_bytes_put16(p + 2, packet->pkey);
    p[4] = (uint8_t)((flags & WIRE_BTH_FECN ? 0x80 : 0) | (flags & WIRE_BTH_BECN ? 0x40 : 0) |
                     (packet->bth_resv6 & 0x3F));
    wire_bytes_put24(p + 5, packet->dest_qpn);
    p[8] = (uint8_t)((flags & WIRE_BTH_ACKREQ ? 0x80 : 0) | (packet->bth_resv7 & 0x7F));
    wire_bytes_put24(p + 9, packet->psn.v);
    return p + BTH_BYTES;
}

/* Extended headers, in the order of decode_extended. */
static uint8_t *encode_extended(const struct wire_packet *packet, uint16_t has, uint8_t *p)
{
    if (has & WIRE_HAS_DETH) {
        wire_bytes_put32(p, packet->qkey);
        p[4] = packet->deth_resv;
        wire_bytes_put24(p + 5, packet->src_qpn);
        p += 8;
    }
    if (has & WIRE_HAS_FETH) {
        wire_bytes_put32(p, packet->imm);
        p += 4;
    }
    if (has & (WIRE_HAS_RETH | WIRE_HAS_ATOMIC)) {
        wire_bytes_put64(p, packet->va);
        wire_bytes_put32(p + 8, packet->rkey);
        p += 12;
    }
    if (has & WIRE_HAS_RETH) {
        wire_bytes_put32(p, packet->dma_bytes);
        p += 4;
    }
    if (has & WIRE_HAS_ATOMIC) {
        wire_bytes_put64(p, packet->swap_add);
        wire_bytes_put64(p + 8, packet->compare);
        p += 16;
    }
    if (has & WIRE_HAS_AETH) {
        p[0] = packet->syndrome;
        wire_bytes_put24(p + 1, packet->msn);
        p += 4;
    }
    if (has & WIRE_HAS_ATOMIC_ACK) {
        wire_bytes_put64(p, packet->orig);
        p += 8;
    }
    if (has & (WIRE_HAS_IMM | WIRE_HAS_IETH)) {
        wire_bytes_put32(p, packet->imm);
        p += 4;
    }
    if (has & WIRE_HAS_CNP_PAD)
        p = put_bytes(p, packet->cnp_pad, 16);
    return p;
}

static uint8_t *encode_ipv4(const struct wire_packet *packet, size_t payload, uint8_t *p)
{
    p[0] = 0x45;
    p[1] = packet->tos;
    wire_bytes_put16(p + 2, (uint32_t)(IPV4_BYTES + payload));
    wire_bytes_put16(p + 4, packet->ip_id);
    wire_bytes_put16(p + 6, packet->ip_frag);
    p[8] = packet->ttl;
    p[9] = WIRE_IP_PROTOCOL_UDP;
    wire_bytes_put16(p + 10, packet->ip_checksum_auto ? 0 : packet->ip_checksum);
    memcpy(p + 12, packet->ip_src + 12, 4);
    memcpy(p + 16, packet->ip_dst + 12, 4);
    if (packet->ip_checksum_auto)
        wire_bytes_put16(p + 10, ~wire_bytes_ipv4_sum(p) & 0xFFFFu);
    return p + IPV4_BYTES;
}

/* IPv6 header or GRH. */
static uint8_t *encode_ipv6(const struct wire_packet *packet, size_t payload, uint8_t next_header,
                            uint8_t *p)
{
    wire_bytes_put32(p, 6u << 28 | (uint32_t)packet->tos << 20 | (packet->flow_label & 0xFFFFF));
    wire_bytes_put16(p + 4, (uint32_t)payload);
    p[6] = next_header;
    p[7] = packet->ttl;
    memcpy(p + 8, packet->ip_src, 16);
    memcpy(p + 24, packet->ip_dst, 16);
    return p + IPV6_BYTES;
}

/* Bytes behind the IP header (GRH), Ethernet padding apart. */
static size_t encode_ip_payload(const struct wire_packet *packet)
{
    size_t udp = packet->ethertype == WIRE_ETHERTYPE_ROCE_V1 ? 0 : UDP_BYTES;

    return udp + BTH_BYTES + wire_opcodes[packet->opcode].header_bytes +
           (size_t)packet->payload_bytes + packet->pad + WIRE_ICRC_BYTES;
}

static uint8_t *encode_network(const struct wire_packet *packet, size_t payload, uint8_t *ip)
{
    if (packet->ethertype == WIRE_ETHERTYPE_IPV4)
        return encode_ipv4(packet, payload, ip);
    return encode_ipv6(packet, payload,
                       packet->ethertype == WIRE_ETHERTYPE_ROCE_V1 ? WIRE_IP_PROTOCOL_BTH
                                                                   : WIRE_IP_PROTOCOL_UDP,
                       ip);
}

void wire_encode_grh(const struct wire_packet *packet, uint8_t grh[WIRE_GRH_BYTES])
{
    size_t gap = packet->ethertype == WIRE_ETHERTYPE_IPV4 ? WIRE_GRH_BYTES - IPV4_BYTES : 0;

    memset(grh, 0, gap);
    (void)encode_network(packet, encode_ip_payload(packet) + packet->ip_slack_bytes, grh + gap);
}

static size_t encode_roce(const struct wire_packet *packet, uint8_t *bytes, size_t capacity)
{
    const struct wire_opcode *op = &wire_opcodes[packet->opcode];
    bool grh = packet->ethertype == WIRE_ETHERTYPE_ROCE_V1;
    bool v4 = packet->ethertype == WIRE_ETHERTYPE_IPV4;
    size_t eth = packet->tagged ? 18 : 14;
    size_t udp = encode_ip_payload(packet);
    size_t slack = grh ? 0 : packet->ip_slack_bytes;
    size_t network = v4 ? IPV4_BYTES : IPV6_BYTES;
    uint8_t *ip, *p;

    if (op->name == NULL || udp + slack + (v4 ? IPV4_BYTES : 0) > MAX_LENGTH)
        return 0;
    if (capacity < eth + network + udp || capacity - eth - network - udp < packet->trailer_bytes)
        return 0;
    WIRE_ASSERT(slack <= packet->trailer_bytes);
    ip = encode_ethernet(packet, bytes);
    p = encode_network(packet, udp + slack, ip);
    if (!grh) {
        wire_bytes_put16(p, packet->udp_sport);
        wire_bytes_put16(p + 2, WIRE_ROCE_UDP_PORT);
        wire_bytes_put16(p + 4, (uint32_t)udp);
        wire_bytes_put16(p + 6, packet->udp_checksum);
        p += UDP_BYTES;
    }
    p = encode_bth(packet, p);
    p = encode_extended(packet, op->has, p);
    p = put_bytes(p, packet->payload, packet->payload_bytes);
    p = put_bytes(p, packet->pad_bytes, packet->pad);
    wire_bytes_put32_le(p, packet->icrc_auto ? wire_icrc(ip, (size_t)(p - ip)) : packet->icrc);
    p += WIRE_ICRC_BYTES;
    WIRE_ASSERT((size_t)(p - bytes) == eth + network + udp);
    p = put_bytes(p, packet->trailer, packet->trailer_bytes);
    return (size_t)(p - bytes);
}

static size_t encode_mac_control(const struct wire_packet *packet, uint8_t *bytes, size_t capacity)
{
    bool pfc = packet->kind == WIRE_KIND_PFC;
    unsigned n = pfc ? WIRE_CLASSES : 1;
    size_t fixed = 14u + 2u + (pfc ? 2u : 0u) + 2u * n;
    uint8_t *p;

    WIRE_ASSERT(!packet->tagged);
    if (capacity < fixed || capacity - fixed < packet->trailer_bytes)
        return 0;
    p = encode_ethernet(packet, bytes);
    wire_bytes_put16(p, pfc ? WIRE_MAC_CONTROL_PFC : WIRE_MAC_CONTROL_PAUSE);
    p += 2;
    if (pfc) {
        wire_bytes_put16(p, packet->pause_enabled);
        p += 2;
    }
    for (unsigned i = 0; i < n; i++, p += 2)
        wire_bytes_put16(p, packet->pause_quanta[i]);
    p = put_bytes(p, packet->trailer, packet->trailer_bytes);
    return (size_t)(p - bytes);
}

size_t wire_encode(const struct wire_packet *packet, uint8_t *bytes, size_t capacity)
{
    WIRE_ASSERT(packet != NULL && (bytes != NULL || capacity == 0));
    switch (packet->kind) {
    case WIRE_KIND_PFC:
    case WIRE_KIND_PAUSE:
        if (packet->ethertype != WIRE_ETHERTYPE_MAC_CONTROL)
            return 0;
        return encode_mac_control(packet, bytes, capacity);
    case WIRE_KIND_ROCE:
        if (packet->ethertype != WIRE_ETHERTYPE_IPV4 && packet->ethertype != WIRE_ETHERTYPE_IPV6 &&
            packet->ethertype != WIRE_ETHERTYPE_ROCE_V1)
            return 0;
        return encode_roce(packet, bytes, capacity);
    case WIRE_KIND_OPAQUE:
    default:
        return 0;
    }
}
