/* SPDX-License-Identifier: GPL-2.0-only */
/* Fields to bytes: the same bytes again for all that decode accepts, and vectors from fields. */
#include "random_packet.h"
#include "wire_bytes.h"

#define ROOM 4500u

/* Decode, encode, compare; once in room to spare, once in a block one byte too small. */
static void round_trip(const uint8_t *bytes, size_t n, unsigned flags)
{
    struct wire_packet packet;
    struct hex_buffer out = hex_copy(bytes, n);

    CHECK_EQ(wire_decode(bytes, n, flags, &packet), WIRE_DROP_NONE);
    memset(out.bytes, 0xA5, n);
    CHECK_EQ(wire_encode(&packet, out.bytes, n), n);
    CHECK_BYTES(out.bytes, bytes, n);
    CHECK_EQ(wire_encode(&packet, out.bytes, n - 1), 0);
    hex_free(&out);
}

static void vectors_round_trip(void)
{
    for (size_t i = 0; i < WIRE_VECTORS; i++) {
        struct hex_buffer frame = hex_frame(&wire_vectors[i]);

        round_trip(frame.bytes, frame.n, 0);
        hex_free(&frame);
    }
}

static void mac_control_round_trips(void)
{
    struct hex_buffer frame = hex_parse("", wire_pfc_pause_3);

    for (size_t n = 34; n <= 60; n++) /* with all of its padding, some, none */
        round_trip(frame.bytes, n, 0);
    frame.bytes[16] = 0xFF; /* reserved half of the enable vector */
    frame.bytes[59] = 0xEE;
    round_trip(frame.bytes, 60, 0);
    frame.bytes[14] = 0;
    for (size_t n = 18; n <= 60; n++)
        round_trip(frame.bytes, n, 0);
    hex_free(&frame);
}

/* What a switch or another card may leave in a frame, and we would not write ourselves. */
static void oddities_round_trip(void)
{
    struct hex_buffer d9 = hex_named("D9"), d1 = hex_named("D1");
    uint8_t bytes[100];

    memset(bytes, 0x5A, sizeof(bytes)); /* Ethernet padding after the ICRC, not even zero */
    memcpy(bytes, d1.bytes, d1.n);
    round_trip(bytes, sizeof(bytes), 0);

    d9.bytes[58] = 0xAB; /* a CNP's reserved bytes in use */
    d9.bytes[46] = 0xFF; /* FECN, BECN, resv6 */
    d9.bytes[43] = 0x40; /* MigReq */
    d9.bytes[50] = 0xFF; /* AckReq, resv7 */
    d9.bytes[40] = 0x77; /* UDP checksum */
    round_trip(d9.bytes, d9.n, WIRE_DECODE_SKIP_ICRC);

    d1.bytes[58] = 0xCD; /* DETH's reserved byte */
    d1.bytes[20] = 0;    /* DF off */
    wire_bytes_put16(d1.bytes + 24, 0);
    wire_bytes_put16(d1.bytes + 24, ~wire_bytes_ipv4_sum(d1.bytes + 14) & 0xFFFF);
    round_trip(d1.bytes, d1.n, WIRE_DECODE_SKIP_ICRC);
    hex_free(&d1);
    hex_free(&d9);
}

/* Zero has two forms in one's complement; both are right, and each comes back as it was. */
static void checksum_zero_keeps_its_form(void)
{
    struct hex_buffer frame = hex_named("D1");
    uint32_t sum;

    wire_bytes_put16(frame.bytes + 24, 0);
    wire_bytes_put16(frame.bytes + 18, 0);
    sum = wire_bytes_ipv4_sum(frame.bytes + 14);
    wire_bytes_put16(frame.bytes + 18, 0xFFFF - sum); /* an ID that makes the rest sum up */
    round_trip(frame.bytes, frame.n, WIRE_DECODE_SKIP_ICRC);
    wire_bytes_put16(frame.bytes + 24, 0xFFFF);
    round_trip(frame.bytes, frame.n, WIRE_DECODE_SKIP_ICRC);
    hex_free(&frame);
}

static void random_packets_round_trip(void)
{
    uint64_t seed = 20;
    struct wire_rng rng = wire_rng_init(seed, 0);
    static uint8_t noise[ROOM], bytes[ROOM];

    printf("seed %" PRIu64 "\n", seed);
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (uint8_t)wire_rng_next(&rng);
    for (int i = 0; i < 20000; i++) {
        struct wire_packet packet, again;
        uint32_t payload = random_below(&rng, i % 50 == 0 ? 4097 : 70);
        struct hex_buffer exact;
        size_t n;

        random_packet(&rng, noise, payload, &packet);
        n = wire_encode(&packet, bytes, sizeof(bytes));
        CHECK(n > 0);
        exact = hex_copy(bytes, n);
        CHECK_EQ(wire_decode(exact.bytes, n, 0, &again), WIRE_DROP_NONE);
        round_trip(exact.bytes, n, 0);

        CHECK_EQ(again.payload_bytes, payload);
        CHECK_BYTES(again.payload, noise, payload);
        CHECK_BYTES(again.trailer, noise + 5, packet.trailer_bytes);
        /* All other fields are equal once what encode filled in and pointers are set aside. */
        packet.icrc = again.icrc;
        packet.ip_checksum = again.ip_checksum;
        packet.icrc_auto = packet.ip_checksum_auto = false;
        packet.payload = again.payload;
        packet.trailer = again.trailer;
        packet.cnp_pad = again.cnp_pad;
        CHECK_EQ(again.trailer_bytes, packet.trailer_bytes);
        CHECK_EQ(again.ip_slack_bytes, packet.ip_slack_bytes);
        CHECK_BYTES(&again, &packet, offsetof(struct wire_packet, cnp_pad));
        hex_free(&exact);
    }
}

static struct wire_packet packet_from_1_to_2(uint8_t opcode)
{
    return (struct wire_packet){.kind = WIRE_KIND_ROCE,
                                .eth_dst = {2, 0, 0, 0, 0, 2},
                                .eth_src = {2, 0, 0, 0, 0, 1},
                                .ethertype = WIRE_ETHERTYPE_IPV4,
                                .tos = 0x6A,
                                .ttl = 64,
                                .ip_frag = 0x4000,
                                .ip_checksum_auto = true,
                                .ip_src = {[10] = 0xFF, 0xFF, 10, 0, 0, 1},
                                .ip_dst = {[10] = 0xFF, 0xFF, 10, 0, 0, 2},
                                .udp_sport = 0xC123,
                                .opcode = opcode,
                                .pkey = 0xFFFF,
                                .icrc_auto = true};
}

static void check_is(const struct wire_packet *packet, const char *name)
{
    struct hex_buffer want = hex_named(name);
    uint8_t bytes[512];

    CHECK_EQ(wire_encode(packet, bytes, sizeof(bytes)), want.n);
    CHECK_BYTES(bytes, want.bytes, want.n);
    hex_free(&want);
}

static void vectors_from_fields(void)
{
    struct wire_packet p = packet_from_1_to_2(0x64);
    static uint8_t counting[256];
    static const uint8_t gid[16] = {0x20, 0x01, 0x0d, 0xb8}, link_local[16] = {0xFE, 0x80};

    p.ip_id = 1;
    p.dest_qpn = 0x12;
    p.psn.v = 7;
    p.qkey = 0x11111111;
    p.src_qpn = 0x34;
    p.payload = (const uint8_t *)"abcdefgh";
    p.payload_bytes = 8;
    check_is(&p, "D1");

    p = packet_from_1_to_2(0x06);
    p.ip_id = 6;
    p.bth_flags = WIRE_BTH_MIG;
    p.dest_qpn = 0xBB;
    p.psn.v = 0x20;
    p.va = 0x7F0000002000;
    p.rkey = 0x5678;
    p.dma_bytes = 300;
    for (unsigned i = 0; i < 256; i++)
        counting[i] = (uint8_t)i;
    p.payload = counting;
    p.payload_bytes = 256;
    check_is(&p, "D8");

    p = packet_from_1_to_2(WIRE_OP_CNP);
    p.ip_id = 7;
    p.tos = 0xC0;
    p.bth_flags = WIRE_BTH_BECN;
    p.dest_qpn = 0xCC;
    check_is(&p, "D9");

    p = packet_from_1_to_2(0x0A);
    p.ethertype = WIRE_ETHERTYPE_ROCE_V1;
    p.tagged = true;
    p.vlan_tci = 3 << 13 | 100;
    p.flow_label = 0x12345;
    memcpy(p.ip_src, link_local, 16);
    memcpy(p.ip_dst, link_local, 16);
    p.ip_src[15] = 1;
    p.ip_dst[15] = 2;
    p.bth_flags = WIRE_BTH_ACKREQ;
    p.pad = 3;
    p.dest_qpn = 0xBB;
    p.psn.v = 0x20;
    p.va = 0x7F0000005678;
    p.rkey = 0x1234;
    p.dma_bytes = 5;
    p.payload = (const uint8_t *)"hello";
    p.payload_bytes = 5;
    check_is(&p, "V1");

    p = packet_from_1_to_2(0x05);
    p.tagged = true;
    p.vlan_tci = 3 << 13 | 100;
    p.ethertype = WIRE_ETHERTYPE_IPV6;
    p.flow_label = 0x12345;
    memcpy(p.ip_src, gid, 16);
    memcpy(p.ip_dst, gid, 16);
    p.ip_src[15] = 1;
    p.ip_dst[15] = 2;
    p.bth_flags = WIRE_BTH_SE | WIRE_BTH_MIG | WIRE_BTH_ACKREQ;
    p.dest_qpn = 0xAA;
    p.psn.v = 0xFFFFFE;
    p.imm = 0xDEADBEEF;
    p.payload = (const uint8_t *)"hello";
    p.payload_bytes = 5;
    p.pad = 3;
    check_is(&p, "D3");
}

static void atomics_and_naks_from_fields(void)
{
    struct wire_packet p = packet_from_1_to_2(WIRE_OP_COMPARE_SWAP);

    p.ip_id = 2;
    p.bth_flags = WIRE_BTH_MIG | WIRE_BTH_ACKREQ;
    p.dest_qpn = 0xBB;
    p.psn.v = 0x10;
    p.va = 0x7F0000001000;
    p.rkey = 0x1234;
    p.swap_add = 0x1122334455667788;
    p.compare = 0x99AABBCCDDEEFF00;
    check_is(&p, "D4");

    p = packet_from_1_to_2(WIRE_OP_ATOMIC_ACKNOWLEDGE);
    p.eth_dst[5] = p.ip_dst[15] = 1;
    p.eth_src[5] = p.ip_src[15] = 2;
    p.ip_id = 3;
    p.bth_flags = WIRE_BTH_MIG;
    p.dest_qpn = 0xCC;
    p.psn.v = 0x10;
    p.syndrome = 0x1F;
    p.msn = 5;
    p.orig = 0x99AABBCCDDEEFF00;
    check_is(&p, "D5");
    p.opcode = WIRE_OP_ACKNOWLEDGE;
    p.ip_id = 4;
    p.psn.v = 0x11;
    p.syndrome = 0x2C;
    check_is(&p, "D6");
    p.ip_id = 5;
    p.psn.v = 0x12;
    p.syndrome = 0x60;
    check_is(&p, "D7");
}

static void pfc_from_fields(void)
{
    struct hex_buffer want = hex_parse("", wire_pfc_pause_3);
    struct wire_packet p = {.kind = WIRE_KIND_PFC,
                            .ethertype = WIRE_ETHERTYPE_MAC_CONTROL,
                            .eth_dst = {0x01, 0x80, 0xC2, 0, 0, 0x01},
                            .eth_src = {2, 0, 0, 0, 0, 1},
                            .pause_enabled = 1 << 3,
                            .pause_quanta = {[3] = 0xFFFF},
                            .trailer_bytes = 26};
    uint8_t bytes[60];

    CHECK_EQ(wire_encode(&p, bytes, sizeof(bytes)), 60);
    CHECK_BYTES(bytes, want.bytes, 60);
    CHECK_EQ(wire_encode(&p, bytes, 59), 0);
    hex_free(&want);
}

static void refuses_what_has_no_bytes(void)
{
    struct wire_packet p = packet_from_1_to_2(WIRE_OP_SEND_ONLY);
    static uint8_t bytes[70000];

    CHECK_EQ(wire_encode(&p, bytes, sizeof(bytes)), 58);
    p.opcode = 0x15; /* reserved */
    CHECK_EQ(wire_encode(&p, bytes, sizeof(bytes)), 0);
    p.opcode = WIRE_OP_SEND_ONLY;
    p.ethertype = 0x0806;
    CHECK_EQ(wire_encode(&p, bytes, sizeof(bytes)), 0);
    p.kind = WIRE_KIND_PFC;
    CHECK_EQ(wire_encode(&p, bytes, sizeof(bytes)), 0);
    p.kind = WIRE_KIND_OPAQUE;
    CHECK_EQ(wire_encode(&p, bytes, sizeof(bytes)), 0);

    p = packet_from_1_to_2(WIRE_OP_SEND_ONLY); /* the IP length has 16 bits */
    p.payload_bytes = 65535 - 20 - 8 - 12 - 4;
    CHECK_EQ(wire_encode(&p, bytes, sizeof(bytes)), 14 + 65535);
    p.payload_bytes++;
    CHECK_EQ(wire_encode(&p, bytes, sizeof(bytes)), 0);
    p.payload_bytes = 0xFFFFFFFF;
    CHECK_EQ(wire_encode(&p, bytes, sizeof(bytes)), 0);
}

CHECK_SUITE(encode, CHECK_CASE(vectors_round_trip), CHECK_CASE(mac_control_round_trips),
            CHECK_CASE(oddities_round_trip), CHECK_CASE(checksum_zero_keeps_its_form),
            CHECK_CASE(random_packets_round_trip), CHECK_CASE(vectors_from_fields),
            CHECK_CASE(atomics_and_naks_from_fields), CHECK_CASE(pfc_from_fields),
            CHECK_CASE(refuses_what_has_no_bytes))
