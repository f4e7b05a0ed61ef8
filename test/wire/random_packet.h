/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Random but legal packets: any opcode of the table over any network layer, with every field a
 * header has drawn at random, reserved bits too.
 */
#ifndef RANDOM_PACKET_H
#define RANDOM_PACKET_H

#include "hex.h"
#include "wire_codec.h"
#include "wire_rng.h"

static inline uint32_t random_below(struct wire_rng *rng, uint32_t n)
{
    return (uint32_t)(wire_rng_next(rng) % n);
}

/* The k-th opcode of the table that is not reserved, k taken modulo their number. */
static inline uint8_t random_opcode(uint32_t k)
{
    unsigned opcode = 0, n = 0;

    for (unsigned i = 0; i < 256; i++)
        n += wire_opcodes[i].name != NULL;
    for (k %= n;; opcode++) {
        if (wire_opcodes[opcode].name != NULL && k-- == 0)
            return (uint8_t)opcode;
    }
}

static inline void random_transport(struct wire_rng *rng, struct wire_packet *packet)
{
    uint16_t has = wire_opcodes[packet->opcode].has;

    packet->bth_flags = (uint8_t)random_below(rng, 32);
    packet->bth_resv6 = (uint8_t)random_below(rng, 64);
    packet->bth_resv7 = (uint8_t)random_below(rng, 128);
    packet->pkey = (uint16_t)wire_rng_next(rng);
    packet->dest_qpn = random_below(rng, 1u << 24);
    packet->psn.v = random_below(rng, 1u << 24);
    if (has & WIRE_HAS_DETH) {
        packet->qkey = (uint32_t)wire_rng_next(rng);
        packet->src_qpn = random_below(rng, 1u << 24);
        packet->deth_resv = (uint8_t)wire_rng_next(rng);
    }
    if (has & (WIRE_HAS_RETH | WIRE_HAS_ATOMIC)) {
        packet->va = wire_rng_next(rng);
        packet->rkey = (uint32_t)wire_rng_next(rng);
    }
    if (has & WIRE_HAS_RETH)
        packet->dma_bytes = (uint32_t)wire_rng_next(rng);
    if (has & WIRE_HAS_ATOMIC) {
        packet->swap_add = wire_rng_next(rng);
        packet->compare = wire_rng_next(rng);
    }
    if (has & WIRE_HAS_AETH) {
        packet->syndrome = (uint8_t)wire_rng_next(rng);
        packet->msn = random_below(rng, 1u << 24);
    }
    if (has & WIRE_HAS_ATOMIC_ACK)
        packet->orig = wire_rng_next(rng);
    if (has & (WIRE_HAS_IMM | WIRE_HAS_IETH | WIRE_HAS_FETH))
        packet->imm = (uint32_t)wire_rng_next(rng);
}

/**
 * @param bytes  64 or more random bytes and at least as many as the payload: payload, CNP pad and
 *               trailer are taken from there
 */
static inline void random_packet(struct wire_rng *rng, const uint8_t *bytes, uint32_t payload_bytes,
                                 struct wire_packet *packet)
{
    static const uint16_t types[] = {WIRE_ETHERTYPE_IPV4, WIRE_ETHERTYPE_IPV6,
                                     WIRE_ETHERTYPE_ROCE_V1};

    memset(packet, 0, sizeof(*packet));
    packet->kind = WIRE_KIND_ROCE;
    for (unsigned i = 0; i < 6; i++) {
        packet->eth_dst[i] = (uint8_t)wire_rng_next(rng);
        packet->eth_src[i] = (uint8_t)wire_rng_next(rng);
    }
    packet->ethertype = types[random_below(rng, 3)];
    packet->tagged = random_below(rng, 2) == 1;
    packet->vlan_tci = packet->tagged ? (uint16_t)wire_rng_next(rng) : 0;
    packet->ip_version = packet->ethertype == WIRE_ETHERTYPE_IPV4 ? 4 : 6;
    packet->tos = (uint8_t)wire_rng_next(rng);
    packet->ttl = (uint8_t)wire_rng_next(rng);
    for (unsigned i = 0; i < 16; i++) {
        packet->ip_src[i] = (uint8_t)wire_rng_next(rng);
        packet->ip_dst[i] = (uint8_t)wire_rng_next(rng);
    }
    if (packet->ip_version == 4) {
        memset(packet->ip_src, 0, 10);
        memset(packet->ip_src + 10, 0xFF, 2);
        memcpy(packet->ip_dst, packet->ip_src, 12);
        packet->ip_id = (uint16_t)wire_rng_next(rng);
        packet->ip_frag = (uint16_t)(random_below(rng, 4) << 14);
        packet->ip_checksum_auto = true;
    } else {
        packet->flow_label = random_below(rng, 1u << 20);
    }
    packet->trailer_bytes = random_below(rng, 3) == 0 ? random_below(rng, 47) : 0;
    packet->trailer = bytes + 5;
    if (packet->ethertype != WIRE_ETHERTYPE_ROCE_V1) {
        packet->udp_sport = (uint16_t)wire_rng_next(rng);
        packet->udp_checksum = (uint16_t)wire_rng_next(rng);
        packet->ip_slack_bytes = (uint16_t)random_below(rng, packet->trailer_bytes + 1);
    }
    packet->opcode = random_opcode((uint32_t)wire_rng_next(rng));
    random_transport(rng, packet);
    packet->cnp_pad = packet->opcode == WIRE_OP_CNP ? bytes + 9 : NULL;
    packet->payload = bytes;
    packet->payload_bytes = payload_bytes;
    packet->pad = (uint8_t)(-payload_bytes & 3);
    for (unsigned i = 0; i < packet->pad; i++)
        packet->pad_bytes[i] = (uint8_t)wire_rng_next(rng);
    packet->icrc_auto = true;
}

#endif
