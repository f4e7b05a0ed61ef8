/* SPDX-License-Identifier: GPL-2.0-only */
/* The invariant CRC against every known answer, against zlib, and bit by bit. */
#include "hex.h"
#include "wire_bytes.h"
#include "wire_codec.h"
#include "wire_icrc.h"
#include "wire_rng.h"

#include <zlib.h>

/* Shares nothing with the tables. */
static uint32_t bitwise(uint32_t state, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        state ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            state = state & 1 ? state >> 1 ^ 0xEDB88320u : state >> 1;
    }
    return state;
}

static size_t ip_offset(const struct hex_buffer *frame)
{
    return wire_bytes_get16(frame->bytes + 12) == 0x8100 ? 18 : 14;
}

/* ICRC of a whole frame without padding, as its bytes stand on the wire. */
static uint32_t frame_icrc(const struct hex_buffer *frame)
{
    size_t ip = ip_offset(frame);
    uint8_t out[4];

    wire_bytes_put32_le(out, wire_icrc(frame->bytes + ip, frame->n - ip - 4));
    return wire_bytes_get32(out);
}

static void equals_zlib_and_bitwise_at_every_length(void)
{
    uint64_t seed = 1;
    struct wire_rng rng = wire_rng_init(seed, 0);

    printf("seed %" PRIu64 "\n", seed);
    for (size_t n = 0; n <= 600; n++) {
        uint8_t *block = malloc(n + 1);

        CHECK(block != NULL);
        for (size_t i = 0; i <= n; i++)
            block[i] = (uint8_t)wire_rng_next(&rng);
        for (size_t from = 0; from <= 1; from++) { /* both alignments */
            uint32_t crc = ~wire_icrc_update(0xFFFFFFFFu, block + from, n);

            CHECK_EQ(crc, (uint32_t)crc32(0, block + from, (uInt)n));
            CHECK_EQ(crc, ~bitwise(0xFFFFFFFFu, block + from, n));
        }
        free(block);
    }
}

static void update_can_be_cut_anywhere(void)
{
    struct hex_buffer d8 = hex_named("D8");
    uint32_t whole = wire_icrc_update(WIRE_ICRC_SEED, d8.bytes, d8.n);

    for (size_t cut = 0; cut <= d8.n; cut++) {
        uint32_t half = wire_icrc_update(WIRE_ICRC_SEED, d8.bytes, cut);

        CHECK_EQ(wire_icrc_update(half, d8.bytes + cut, d8.n - cut), whole);
    }
    hex_free(&d8);
}

static void seed_is_eight_bytes_of_ones(void)
{
    static const uint8_t ones[8] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

    CHECK_EQ(wire_icrc_update(0xFFFFFFFFu, ones, 8), WIRE_ICRC_SEED);
    CHECK_EQ(bitwise(0xFFFFFFFFu, ones, 8), WIRE_ICRC_SEED);
}

static void known_answers(void)
{
    for (size_t i = 0; i < WIRE_VECTORS; i++) {
        struct hex_buffer frame = hex_frame(&wire_vectors[i]);

        CHECK_EQ(frame_icrc(&frame), wire_vectors[i].icrc);
        CHECK_EQ(wire_bytes_get32(frame.bytes + frame.n - 4), wire_vectors[i].icrc);
        hex_free(&frame);
    }
}

/* Native InfiniBand masks the virtual lane of its own link header; the CRC is the same. */
static void kav3_infiniband(void)
{
    struct hex_buffer p = hex_parse("", wire_kav3_infiniband);

    p.bytes[0] |= 0xF0;
    p.bytes[8 + 4] = 0xFF;
    CHECK_EQ(~wire_icrc_update(0xFFFFFFFFu, p.bytes, p.n - 4),
             wire_bytes_get32_le(p.bytes + p.n - 4));
    hex_free(&p);
}

static void kav7_malformed(void)
{
    struct hex_buffer p = hex_parse("", wire_kav7_malformed);

    CHECK_EQ(p.n - 4, 48);
    CHECK_EQ(wire_icrc(p.bytes, p.n - 4), wire_bytes_get32_le(p.bytes + p.n - 4));
    hex_free(&p);
}

static void negative_vectors(void)
{
    struct hex_buffer rtl = hex_parse("", wire_negative_rtl_ack);
    struct wire_packet cnp = {.kind = WIRE_KIND_ROCE,
                              .ethertype = 0x0800,
                              .tos = 0x89,
                              .ttl = 32,
                              .ip_id = 0x98c6,
                              .ip_frag = 0x4000,
                              .ip_checksum_auto = true,
                              .ip_src = {[10] = 0xFF, 0xFF, 22, 22, 22, 8},
                              .ip_dst = {[10] = 0xFF, 0xFF, 22, 22, 22, 7},
                              .udp_sport = 56238,
                              .opcode = WIRE_OP_CNP,
                              .pkey = 0xFFFF,
                              .bth_flags = WIRE_BTH_BECN,
                              .dest_qpn = 0xd2,
                              .icrc_auto = true};
    uint8_t bytes[74];

    CHECK_EQ(frame_icrc(&rtl), WIRE_NEGATIVE_RTL_ACK_RIGHT_ICRC);
    CHECK(frame_icrc(&rtl) != wire_bytes_get32(rtl.bytes + rtl.n - 4));
    hex_free(&rtl);

    CHECK_EQ(wire_encode(&cnp, bytes, sizeof(bytes)), 74);
    CHECK_EQ(wire_bytes_get32(bytes + 70), WIRE_NEGATIVE_CNP_RIGHT_ICRC);
    CHECK(wire_bytes_get32(bytes + 70) != WIRE_NEGATIVE_CNP_WRONG_ICRC);
    CHECK_EQ(wire_bytes_get16(bytes + 14 + 10), WIRE_NEGATIVE_CNP_IP_CHECKSUM);
}

/*
 * The whole rule as a map: flip each bit before the ICRC of each vector. Only what a router may
 * rewrite leaves the ICRC alone; Ethernet and VLAN are outside.
 */
static bool may_change(const uint8_t *ip, size_t at, unsigned bit)
{
    bool v4 = ip[0] >> 4 == 4, grh = !v4 && ip[6] == 0x1B;
    size_t udp = v4 ? 20 : 40, bth = udp + (grh ? 0 : 8);

    if (v4 && (at == 1 || at == 8 || at == 10 || at == 11))
        return true; /* ToS, TTL, header checksum */
    if (!v4 && ((at == 0 && bit < 4) || (at >= 1 && at <= 3) || at == 7))
        return true; /* traffic class, flow label, hop limit */
    if (!grh && (at == udp + 6 || at == udp + 7))
        return true;      /* UDP checksum */
    return at == bth + 4; /* FECN, BECN, resv6 */
}

static void changes_under_every_bit_but_the_variant_ones(void)
{
    for (size_t i = 0; i < WIRE_VECTORS; i++) {
        struct hex_buffer frame = hex_frame(&wire_vectors[i]);
        size_t ip = ip_offset(&frame), n = frame.n - ip - 4;
        uint32_t right = wire_icrc(frame.bytes + ip, n);

        for (size_t bit = 0; bit < 8 * n; bit++) {
            size_t at = bit / 8;

            if (at == 0 && bit % 8 >= 4)
                continue; /* the version says which layout this is */
            if (at == 6 && frame.bytes[ip] >> 4 == 6)
                continue; /* and so does the next header */
            frame.bytes[ip + at] ^= (uint8_t)(1u << bit % 8);
            CHECK_EQ(wire_icrc(frame.bytes + ip, n) == right,
                     may_change(frame.bytes + ip, at, (unsigned)(bit % 8)));
            frame.bytes[ip + at] ^= (uint8_t)(1u << bit % 8);
        }
        hex_free(&frame);
    }
}

/* A router's and a switch's work on one frame: hop, CE mark, DSCP rewrite, new tag. */
static void survives_a_hop_and_a_mark(void)
{
    struct hex_buffer d1 = hex_named("D1"), d2 = hex_named("D2");
    struct wire_packet packet;
    uint8_t bytes[128];

    CHECK_EQ(frame_icrc(&d1), frame_icrc(&d2));
    CHECK_EQ(wire_decode(d1.bytes, d1.n, 0, &packet), WIRE_DROP_NONE);
    packet.tos = 0x6B;
    packet.ttl--;
    packet.ip_checksum_auto = true;
    CHECK_EQ(wire_encode(&packet, bytes, sizeof(bytes)), d2.n);
    CHECK_BYTES(bytes, d2.bytes, d2.n);

    packet.tos = 0xFF;
    packet.tagged = true;
    packet.vlan_tci = 0x6064;
    packet.udp_checksum = 0x1234;
    packet.bth_flags |= WIRE_BTH_FECN | WIRE_BTH_BECN;
    CHECK_EQ(wire_encode(&packet, bytes, sizeof(bytes)), d2.n + 4);
    CHECK_EQ(wire_decode(bytes, d2.n + 4, 0, &packet), WIRE_DROP_NONE);
    hex_free(&d1);
    hex_free(&d2);
}

/* RoCEv1: a GRH has the layout of IPv6, no UDP follows, and the link header counts as ones. */
static void grh_form(void)
{
    uint8_t p[8 + 40 + 12 + 4];
    uint32_t icrc;

    memset(p, 0xFF, 8);
    for (size_t i = 8; i < sizeof(p); i++)
        p[i] = (uint8_t)(3 * i + 1);
    p[8] = 0x61;
    p[8 + 6] = 0x1B;
    icrc = wire_icrc(p + 8, sizeof(p) - 8);
    p[8] = 0x6F;
    p[8 + 1] = p[8 + 2] = p[8 + 3] = p[8 + 7] = 0xFF;
    p[8 + 40 + 4] = 0xFF;
    CHECK_EQ(icrc, ~bitwise(0xFFFFFFFFu, p, sizeof(p)));
}

CHECK_SUITE(icrc, CHECK_CASE(equals_zlib_and_bitwise_at_every_length),
            CHECK_CASE(update_can_be_cut_anywhere), CHECK_CASE(seed_is_eight_bytes_of_ones),
            CHECK_CASE(known_answers), CHECK_CASE(kav3_infiniband), CHECK_CASE(kav7_malformed),
            CHECK_CASE(negative_vectors), CHECK_CASE(changes_under_every_bit_but_the_variant_ones),
            CHECK_CASE(survives_a_hop_and_a_mark), CHECK_CASE(grh_form))
