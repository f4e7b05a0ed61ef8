/* SPDX-License-Identifier: GPL-2.0-only */
#include "wire_bytes.h"
#include "wire_codec.h"

#include <string.h>

#define BTH_BYTES 12u
#define IPV4_BYTES 20u
#define IPV6_BYTES 40u
#define UDP_BYTES 8u

/* What is left to read. Nobody reads but through cursor_take, so nobody reads too far. */
struct cursor {
    const uint8_t *at;
    size_t left;
};

/* The next n bytes, or NULL: fewer are left, nothing is taken. */
static const uint8_t *cursor_take(struct cursor *cursor, size_t n)
{
    const uint8_t *bytes = cursor->at;

    if (n > cursor->left)
        return NULL;
    cursor->at += n;
    cursor->left -= n;
    return bytes;
}

/* Extended headers in the one order they have on the wire; the caller knows they are all there. */
static void decode_extended(struct cursor *cursor, uint16_t has, struct wire_packet *packet)
{
    const uint8_t *p = cursor->at;

    if (has & WIRE_HAS_DETH) {
        packet->qkey = wire_bytes_get32(p);
        packet->deth_resv = p[4];
        packet->src_qpn = wire_bytes_get24(p + 5);
        p += 8;
    }
    if (has & WIRE_HAS_FETH) {
        packet->imm = wire_bytes_get32(p);
        p += 4;
    }
    if (has & (WIRE_HAS_RETH | WIRE_HAS_ATOMIC)) {
        packet->va = wire_bytes_get64(p);
        packet->rkey = wire_bytes_get32(p + 8);
        p += 12;
    }
    if (has & WIRE_HAS_RETH) {
        packet->dma_bytes = wire_bytes_get32(p);
        p += 4;
    }
    if (has & WIRE_HAS_ATOMIC) {
        packet->swap_add = wire_bytes_get64(p);
        packet->compare = wire_bytes_get64(p + 8);
        p += 16;
    }
    if (has & WIRE_HAS_AETH) {
        packet->syndrome = p[0];
        packet->msn = wire_bytes_get24(p + 1);
        p += 4;
    }
    if (has & WIRE_HAS_ATOMIC_ACK) {
        packet->orig = wire_bytes_get64(p);
        p += 8;
    }
    if (has & (WIRE_HAS_IMM | WIRE_HAS_IETH)) {
        packet->imm = wire_bytes_get32(p);
        p += 4;
    }
    if (has & WIRE_HAS_CNP_PAD) {
        packet->cnp_pad = p;
        p += 16;
    }
    cursor->left -= (size_t)(p - cursor->at);
    cursor->at = p;
}

static void decode_bth(const uint8_t *p, struct wire_packet *packet)
{
    packet->opcode = p[0];
    packet->pad = p[1] >> 4 & 3;
    packet->tver = p[1] & 15;
    packet->pkey = wire_bytes_get16(p + 2);
    packet->bth_resv6 = p[4] & 0x3F;
    packet->dest_qpn = wire_bytes_get24(p + 5);
    packet->bth_resv7 = p[8] & 0x7F;
    packet->psn.v = wire_bytes_get24(p + 9);
    packet->bth_flags =
        (uint8_t)((p[1] & 0x80 ? WIRE_BTH_SE : 0) | (p[1] & 0x40 ? WIRE_BTH_MIG : 0) |
                  (p[8] & 0x80 ? WIRE_BTH_ACKREQ : 0) | (p[4] & 0x80 ? WIRE_BTH_FECN : 0) |
                  (p[4] & 0x40 ? WIRE_BTH_BECN : 0));
}

/* BTH up to and with the ICRC: @p cursor holds exactly that, @p ip is where its ICRC begins. */
static enum wire_drop decode_transport(struct cursor cursor, const uint8_t *ip, unsigned flags,
                                       struct wire_packet *packet)
{
    const struct wire_opcode *op;
    const uint8_t *bth, *icrc_at;

    packet->kind = WIRE_KIND_ROCE;
    if (cursor.left < BTH_BYTES + WIRE_ICRC_BYTES)
        return WIRE_DROP_RUNT;
    cursor.left -= WIRE_ICRC_BYTES;
    icrc_at = cursor.at + cursor.left;
    bth = cursor_take(&cursor, BTH_BYTES);
    decode_bth(bth, packet);
    if (packet->tver != 0)
        return WIRE_DROP_TVER;
    op = &wire_opcodes[packet->opcode];
    if (op->name == NULL)
        return WIRE_DROP_OPCODE;
    if (cursor.left < op->header_bytes)
        return WIRE_DROP_RUNT;
    decode_extended(&cursor, op->has, packet);
    WIRE_ASSERT(cursor.at == bth + BTH_BYTES + op->header_bytes);

    if (packet->pad > cursor.left || cursor.left % 4 != 0)
        return WIRE_DROP_PAD;
    packet->payload = cursor.at;
    packet->payload_bytes = (uint32_t)(cursor.left - packet->pad);
    memcpy(packet->pad_bytes, cursor.at + packet->payload_bytes, packet->pad);

    packet->icrc = wire_bytes_get32_le(icrc_at);
    if (!(flags & WIRE_DECODE_SKIP_ICRC) && packet->icrc != wire_icrc(ip, (size_t)(icrc_at - ip)))
        return WIRE_DROP_ICRC;
    return WIRE_DROP_NONE;
}

/* What follows the last byte that was understood, up to the end of the frame. */
static void decode_trailer(const uint8_t *from, const uint8_t *end, struct wire_packet *packet)
{
    WIRE_ASSERT(from <= end);
    packet->trailer = from;
    packet->trailer_bytes = (uint32_t)(end - from);
}

/* UDP and what it carries; @p payload is the IP payload by the IP header's length, all there. */
static enum wire_drop decode_udp(struct cursor payload, const uint8_t *ip, const uint8_t *end,
                                 unsigned flags, struct wire_packet *packet)
{
    const uint8_t *udp = cursor_take(&payload, UDP_BYTES);
    size_t length;

    if (udp == NULL)
        return WIRE_DROP_TRUNCATED;
    packet->udp_sport = wire_bytes_get16(udp);
    length = wire_bytes_get16(udp + 4);
    packet->udp_checksum = wire_bytes_get16(udp + 6);
    if (wire_bytes_get16(udp + 2) != WIRE_ROCE_UDP_PORT)
        return WIRE_DROP_UDP_PORT;
    if (length < UDP_BYTES || length > payload.left + UDP_BYTES)
        return WIRE_DROP_UDP_LENGTH;
    packet->ip_slack_bytes = (uint16_t)(payload.left + UDP_BYTES - length);
    decode_trailer(udp + length, end, packet);
    return decode_transport((struct cursor){payload.at, length - UDP_BYTES}, ip, flags, packet);
}

static enum wire_drop decode_ipv4(struct cursor frame, unsigned flags, struct wire_packet *packet)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    const uint8_t *end = frame.at + frame.left;
    const uint8_t *ip = cursor_take(&frame, IPV4_BYTES);
    size_t total;

    if (ip == NULL)
        return WIRE_DROP_TRUNCATED;
    packet->ip_version = ip[0] >> 4;
    packet->tos = ip[1];
    total = wire_bytes_get16(ip + 2);
    packet->ip_id = wire_bytes_get16(ip + 4);
    packet->ip_frag = wire_bytes_get16(ip + 6);
    packet->ttl = ip[8];
    packet->ip_checksum = wire_bytes_get16(ip + 10);
    memcpy(packet->ip_src, mapped, 12);
    memcpy(packet->ip_src + 12, ip + 12, 4);
    memcpy(packet->ip_dst, mapped, 12);
    memcpy(packet->ip_dst + 12, ip + 16, 4);
    if (ip[0] != 0x45)
        return WIRE_DROP_IP_VERSION;
    if (wire_bytes_ipv4_sum(ip) != 0xFFFF)
        return WIRE_DROP_IP_CHECKSUM;
    if (total < IPV4_BYTES || total - IPV4_BYTES > frame.left)
        return WIRE_DROP_TRUNCATED;
    if (packet->ip_frag & 0x3FFF) /* more fragments, or an offset */
        return WIRE_DROP_IP_FRAGMENT;
    if (ip[9] != WIRE_IP_PROTOCOL_UDP)
        return WIRE_DROP_IP_PROTOCOL;
    return decode_udp((struct cursor){frame.at, total - IPV4_BYTES}, ip, end, flags, packet);
}

/* IPv6 header or GRH: one layout. Leaves the payload it claims in @p frame. */
static enum wire_drop decode_ipv6_header(struct cursor *frame, uint8_t next_header,
                                         struct wire_packet *packet)
{
    const uint8_t *ip = cursor_take(frame, IPV6_BYTES);
    size_t length;

    if (ip == NULL)
        return WIRE_DROP_TRUNCATED;
    packet->ip_version = ip[0] >> 4;
    packet->tos = (uint8_t)(wire_bytes_get16(ip) >> 4 & 0xFF);
    packet->flow_label = wire_bytes_get32(ip) & 0xFFFFF;
    length = wire_bytes_get16(ip + 4);
    packet->ttl = ip[7];
    memcpy(packet->ip_src, ip + 8, 16);
    memcpy(packet->ip_dst, ip + 24, 16);
    if (packet->ip_version != 6)
        return WIRE_DROP_IP_VERSION;
    if (length > frame->left)
        return WIRE_DROP_TRUNCATED;
    if (ip[6] != next_header)
        return WIRE_DROP_IP_PROTOCOL;
    frame->left = length;
    return WIRE_DROP_NONE;
}

static enum wire_drop decode_ipv6(struct cursor frame, unsigned flags, struct wire_packet *packet)
{
    const uint8_t *ip = frame.at, *end = frame.at + frame.left;
    enum wire_drop drop = decode_ipv6_header(&frame, WIRE_IP_PROTOCOL_UDP, packet);

    return drop != WIRE_DROP_NONE ? drop : decode_udp(frame, ip, end, flags, packet);
}

static enum wire_drop decode_roce_v1(struct cursor frame, unsigned flags,
                                     struct wire_packet *packet)
{
    const uint8_t *grh = frame.at, *end = frame.at + frame.left;
    enum wire_drop drop = decode_ipv6_header(&frame, WIRE_IP_PROTOCOL_BTH, packet);

    if (drop != WIRE_DROP_NONE)
        return drop;
    decode_trailer(frame.at + frame.left, end, packet);
    return decode_transport(frame, grh, flags, packet);
}

static enum wire_drop decode_mac_control(struct cursor frame, struct wire_packet *packet)
{
    const uint8_t *end = frame.at + frame.left;
    const uint8_t *opcode = cursor_take(&frame, 2);
    const uint8_t *quanta;
    unsigned n;

    if (opcode == NULL)
        return WIRE_DROP_TRUNCATED;
    switch (wire_bytes_get16(opcode)) {
    case WIRE_MAC_CONTROL_PFC: {
        const uint8_t *enabled = cursor_take(&frame, 2);

        packet->kind = WIRE_KIND_PFC;
        if (enabled == NULL)
            return WIRE_DROP_TRUNCATED;
        packet->pause_enabled = wire_bytes_get16(enabled);
        n = WIRE_CLASSES;
        break;
    }
    case WIRE_MAC_CONTROL_PAUSE:
        packet->kind = WIRE_KIND_PAUSE;
        n = 1;
        break;
    default:
        return WIRE_DROP_MAC_CONTROL;
    }
    quanta = cursor_take(&frame, 2 * n);
    if (quanta == NULL)
        return WIRE_DROP_TRUNCATED;
    for (unsigned i = 0; i < n; i++)
        packet->pause_quanta[i] = wire_bytes_get16(quanta + 2 * i);
    decode_trailer(frame.at, end, packet);
    return WIRE_DROP_NONE;
}

enum wire_drop wire_decode(const uint8_t *bytes, size_t n, unsigned flags,
                           struct wire_packet *packet)
{
    struct cursor frame = {bytes, n};
    const uint8_t *eth = cursor_take(&frame, 14), *tag;

    WIRE_ASSERT((flags & ~(unsigned)WIRE_DECODE_SKIP_ICRC) == 0);
    memset(packet, 0, sizeof(*packet));
    packet->kind = WIRE_KIND_OPAQUE; /* until we know better */
    if (eth == NULL)
        return WIRE_DROP_TRUNCATED;
    memcpy(packet->eth_dst, eth, 6);
    memcpy(packet->eth_src, eth + 6, 6);
    packet->ethertype = wire_bytes_get16(eth + 12);
    if (packet->ethertype == WIRE_ETHERTYPE_MAC_CONTROL)
        return decode_mac_control(frame, packet); /* never tagged */
    if (packet->ethertype == WIRE_ETHERTYPE_VLAN) {
        tag = cursor_take(&frame, 4);
        if (tag == NULL)
            return WIRE_DROP_TRUNCATED;
        packet->tagged = true;
        packet->vlan_tci = wire_bytes_get16(tag);
        packet->ethertype = wire_bytes_get16(tag + 2);
    }
    switch (packet->ethertype) {
    case WIRE_ETHERTYPE_IPV4:
        return decode_ipv4(frame, flags, packet);
    case WIRE_ETHERTYPE_IPV6:
        return decode_ipv6(frame, flags, packet);
    case WIRE_ETHERTYPE_ROCE_V1:
        return decode_roce_v1(frame, flags, packet);
    default:
        return WIRE_DROP_ETHERTYPE;
    }
}
