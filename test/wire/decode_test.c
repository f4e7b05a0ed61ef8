/* SPDX-License-Identifier: GPL-2.0-only */
/* Bytes to fields, and the drop reason of every frame that breaks a rule. */
#include "hex.h"
#include "wire_bytes.h"
#include "wire_codec.h"

/* The vector's frame with @p value at byte @p at, IPv4 checksum and ICRC put right again. */
static struct hex_buffer changed(const char *name, size_t at, uint8_t value)
{
    struct hex_buffer frame = hex_named(name);
    bool tagged = wire_bytes_get16(frame.bytes + 12) == WIRE_ETHERTYPE_VLAN;
    uint8_t *ip = frame.bytes + (tagged ? 18 : 14); /* only D3 is tagged, and it is IPv6 */
    uint8_t *icrc = frame.bytes + frame.n - 4;

    CHECK(at < frame.n);
    frame.bytes[at] = value;
    if (ip[0] >> 4 == 4) {
        wire_bytes_put16(ip + 10, 0);
        wire_bytes_put16(ip + 10, ~wire_bytes_ipv4_sum(ip) & 0xFFFF);
    }
    if (ip[0] >> 4 == 4 || (ip[0] >> 4 == 6 && tagged))
        wire_bytes_put32_le(icrc, wire_icrc(ip, (size_t)(icrc - ip)));
    return frame;
}

static enum wire_drop drop_of(struct hex_buffer frame)
{
    struct wire_packet packet;
    enum wire_drop drop = wire_decode(frame.bytes, frame.n, 0, &packet);

    hex_free(&frame);
    return drop;
}

static enum wire_drop changed_drop(const char *name, size_t at, uint8_t value)
{
    return drop_of(changed(name, at, value));
}

/* Decode a vector into @p packet; payload points into freed memory then and is set NULL. */
static void decode_named(const char *name, struct wire_packet *packet)
{
    struct hex_buffer frame = hex_named(name);

    CHECK_EQ(wire_decode(frame.bytes, frame.n, 0, packet), WIRE_DROP_NONE);
    hex_free(&frame);
    packet->payload = packet->trailer = packet->cnp_pad = NULL;
}

static void vectors_have_their_fields(void)
{
    for (size_t i = 0; i < WIRE_VECTORS; i++) {
        const struct wire_vector *v = &wire_vectors[i];
        struct hex_buffer frame = hex_frame(v);
        struct wire_packet packet;

        CHECK_EQ(wire_decode(frame.bytes, frame.n, 0, &packet), WIRE_DROP_NONE);
        CHECK_EQ(packet.kind, WIRE_KIND_ROCE);
        CHECK_EQ(packet.opcode, v->opcode);
        CHECK_EQ(packet.bth_flags, v->bth_flags);
        CHECK_EQ(packet.pad, v->pad);
        CHECK_EQ(packet.tver, 0);
        CHECK_EQ(packet.pkey, v->pkey);
        CHECK_EQ(packet.dest_qpn, v->dest_qpn);
        CHECK_EQ(packet.psn.v, v->psn.v);
        CHECK_EQ(packet.payload_bytes, v->payload_bytes);
        CHECK_EQ(packet.trailer_bytes, 0);
        CHECK_EQ(packet.bth_resv6 | packet.bth_resv7, 0);
        CHECK(!packet.icrc_auto && !packet.ip_checksum_auto);
        hex_free(&frame);
    }
}

static void addresses_and_ip_fields(void)
{
    static const uint8_t gid4[16] = {[10] = 0xFF, 0xFF, 10, 0, 0, 2};
    static const uint8_t gid6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 2};
    static const uint8_t mac[6] = {2, 0, 0, 0, 0, 2};
    struct wire_packet packet;

    decode_named("D1", &packet);
    CHECK_EQ(packet.ip_version, 4);
    CHECK_EQ(packet.ethertype, WIRE_ETHERTYPE_IPV4);
    CHECK(!packet.tagged);
    CHECK_EQ(packet.tos, 0x6A);
    CHECK_EQ(packet.ttl, 64);
    CHECK_EQ(packet.ip_id, 1);
    CHECK_EQ(packet.ip_frag, 0x4000);
    CHECK_EQ(packet.ip_checksum, 0x2644);
    CHECK_EQ(packet.udp_sport, 0xC123);
    CHECK_EQ(packet.udp_checksum, 0);
    CHECK_BYTES(packet.ip_dst, gid4, 16);
    CHECK_BYTES(packet.eth_dst, mac, 6);
    decode_named("D3", &packet);
    CHECK_EQ(packet.ip_version, 6);
    CHECK_EQ(packet.ethertype, WIRE_ETHERTYPE_IPV6);
    CHECK(packet.tagged);
    CHECK_EQ(packet.vlan_tci, 3 << 13 | 100);
    CHECK_EQ(packet.tos, 0x6A);
    CHECK_EQ(packet.flow_label, 0x12345);
    CHECK_EQ(packet.ttl, 64);
    CHECK_BYTES(packet.ip_dst, gid6, 16);
    decode_named("KAV1", &packet); /* a real checksum is accepted and kept */
    CHECK_EQ(packet.udp_checksum, 0xACA2);
    decode_named("KAV4", &packet); /* DF = 0 is accepted */
    CHECK_EQ(packet.ip_frag, 0);
}

static void extended_headers(void)
{
    struct wire_packet packet;

    decode_named("D1", &packet);
    CHECK_EQ(packet.qkey, 0x11111111);
    CHECK_EQ(packet.src_qpn, 0x34);
    decode_named("D3", &packet);
    CHECK_EQ(packet.imm, 0xDEADBEEF);
    decode_named("D4", &packet);
    CHECK_EQ(packet.va, 0x00007F0000001000);
    CHECK_EQ(packet.rkey, 0x00001234);
    CHECK_EQ(packet.swap_add, 0x1122334455667788);
    CHECK_EQ(packet.compare, 0x99AABBCCDDEEFF00);
    decode_named("D5", &packet);
    CHECK_EQ(packet.orig, 0x99AABBCCDDEEFF00);
    CHECK_EQ(packet.syndrome, 0x1F);
    CHECK_EQ(packet.msn, 5);
    decode_named("D6", &packet);
    CHECK_EQ(packet.syndrome, 0x20 | 12);
    decode_named("D7", &packet);
    CHECK_EQ(packet.syndrome, 0x60);
    CHECK_EQ(packet.psn.v, 0x12);
    decode_named("D8", &packet);
    CHECK_EQ(packet.va, 0x00007F0000002000);
    CHECK_EQ(packet.rkey, 0x5678);
    CHECK_EQ(packet.dma_bytes, 300);
    decode_named("KAV5", &packet);
    CHECK_EQ(packet.va, 0x1230);
    CHECK_EQ(packet.dma_bytes, 16);
    decode_named("KAV6", &packet);
    CHECK_EQ(packet.va, 0x7F7E91000000);
    CHECK_EQ(packet.rkey, 0x01709A33);
    CHECK_EQ(packet.dma_bytes, 128);
}

static void field_only_vectors(void)
{
    struct hex_buffer ack = hex_parse("", wire_field_only_ack);
    struct wire_packet packet, only = {.kind = WIRE_KIND_ROCE,
                                       .ethertype = 0x0800,
                                       .ip_checksum_auto = true,
                                       .opcode = 0x04,
                                       .pkey = 0xFFFF,
                                       .dest_qpn = 0xA4107C,
                                       .psn = {0x2A0872}};
    uint8_t bytes[58];

    CHECK_EQ(wire_decode(ack.bytes, ack.n, 0, &packet), WIRE_DROP_ICRC);
    CHECK_EQ(wire_decode(ack.bytes, ack.n, WIRE_DECODE_SKIP_ICRC, &packet), WIRE_DROP_NONE);
    CHECK_EQ(packet.opcode, WIRE_OP_ACKNOWLEDGE);
    CHECK_EQ(packet.dest_qpn, 0xCA1839);
    CHECK_EQ(packet.psn.v, 2);
    CHECK_EQ(packet.syndrome, 0);
    CHECK_EQ(packet.msn, 0xA9D0BD);
    CHECK_EQ(packet.udp_sport, 0x7050);
    CHECK_EQ(packet.ttl, 255);
    CHECK_EQ(packet.tos, 0x1C);
    CHECK_EQ(packet.icrc, 0);
    hex_free(&ack);

    CHECK_EQ(wire_encode(&only, bytes, sizeof(bytes)), sizeof(bytes));
    CHECK_EQ(wire_decode(bytes, sizeof(bytes), WIRE_DECODE_SKIP_ICRC, &packet), WIRE_DROP_NONE);
    CHECK_EQ(packet.dest_qpn, 0xA4107C);
    CHECK_EQ(packet.psn.v, 0x2A0872);
}

static void mac_control(void)
{
    struct hex_buffer frame = hex_parse("", wire_pfc_pause_3);
    struct wire_packet packet;

    CHECK_EQ(frame.n, 60);
    CHECK_EQ(wire_decode(frame.bytes, frame.n, 0, &packet), WIRE_DROP_NONE);
    CHECK_EQ(packet.kind, WIRE_KIND_PFC);
    CHECK_EQ(packet.pause_enabled, 8);
    for (unsigned i = 0; i < WIRE_CLASSES; i++)
        CHECK_EQ(packet.pause_quanta[i], i == 3 ? 0xFFFF : 0);
    CHECK_EQ(packet.trailer_bytes, 26);

    frame.bytes[14] = 0; /* legacy PAUSE: opcode 0x0001, one time */
    frame.bytes[16] = 0x12;
    frame.bytes[17] = 0x34;
    CHECK_EQ(wire_decode(frame.bytes, frame.n, 0, &packet), WIRE_DROP_NONE);
    CHECK_EQ(packet.kind, WIRE_KIND_PAUSE);
    CHECK_EQ(packet.pause_quanta[0], 0x1234);
    CHECK_EQ(packet.trailer_bytes, 42);
    frame.bytes[15] = 2;
    CHECK_EQ(wire_decode(frame.bytes, frame.n, 0, &packet), WIRE_DROP_MAC_CONTROL);
    frame.bytes[15] = 1;
    frame.n = 17;
    CHECK_EQ(wire_decode(frame.bytes, frame.n, 0, &packet), WIRE_DROP_TRUNCATED);
    hex_free(&frame);
}

/* A tagged MAC control frame is none: the tag stands where its type should. */
static void mac_control_is_never_tagged(void)
{
    struct hex_buffer frame =
        hex_parse("0180c20000010200000000018100600088080101", wire_pfc_pause_3);

    CHECK_EQ(drop_of(frame), WIRE_DROP_ETHERTYPE);
}

static void drops_by_ethernet_and_ip(void)
{
    struct hex_buffer frame;

    CHECK_EQ(changed_drop("D1", 13, 0x06), WIRE_DROP_ETHERTYPE); /* ARP */
    CHECK_EQ(changed_drop("D3", 17, 0xDE), WIRE_DROP_ETHERTYPE); /* behind the tag */
    CHECK_EQ(changed_drop("D1", 14, 0x65), WIRE_DROP_IP_VERSION);
    CHECK_EQ(changed_drop("D1", 14, 0x44), WIRE_DROP_IP_VERSION); /* header length 16 */
    CHECK_EQ(changed_drop("D1", 14, 0x46), WIRE_DROP_IP_VERSION); /* options */
    CHECK_EQ(changed_drop("D3", 18, 0x46), WIRE_DROP_IP_VERSION);
    CHECK_EQ(changed_drop("D1", 14 + 6, 0x60), WIRE_DROP_IP_FRAGMENT); /* more fragments */
    CHECK_EQ(changed_drop("D1", 14 + 7, 0x01), WIRE_DROP_IP_FRAGMENT); /* an offset */
    CHECK_EQ(changed_drop("D1", 14 + 6, 0xC0), WIRE_DROP_NONE);        /* reserved bit */
    CHECK_EQ(changed_drop("D1", 14 + 9, 6), WIRE_DROP_IP_PROTOCOL);
    CHECK_EQ(changed_drop("D3", 18 + 6, 6), WIRE_DROP_IP_PROTOCOL);
    CHECK_EQ(changed_drop("D1", 14 + 3, 19), WIRE_DROP_TRUNCATED); /* total below the header */
    CHECK_EQ(changed_drop("D1", 14 + 3, 27), WIRE_DROP_TRUNCATED); /* no room for UDP */
    CHECK_EQ(changed_drop("D1", 14 + 3, 61), WIRE_DROP_TRUNCATED); /* claims more than there is */
    CHECK_EQ(changed_drop("D3", 18 + 5, 37), WIRE_DROP_TRUNCATED);

    frame = hex_named("D1");
    frame.bytes[14 + 10] ^= 1;
    CHECK_EQ(drop_of(frame), WIRE_DROP_IP_CHECKSUM);
    frame = hex_named("D1");
    frame.bytes[14 + 8]--; /* a hop that forgets the checksum */
    CHECK_EQ(drop_of(frame), WIRE_DROP_IP_CHECKSUM);
    frame = hex_parse("", wire_negative_rtl_ack);
    CHECK_EQ(drop_of(frame), WIRE_DROP_UDP_PORT);
}

static void drops_by_udp_and_bth(void)
{
    CHECK_EQ(changed_drop("D1", 34 + 3, 0xB8), WIRE_DROP_UDP_PORT);
    CHECK_EQ(changed_drop("D1", 34 + 5, 7), WIRE_DROP_UDP_LENGTH);
    CHECK_EQ(changed_drop("D1", 34 + 5, 41), WIRE_DROP_UDP_LENGTH); /* IP has 40 */
    CHECK_EQ(changed_drop("D1", 34 + 4, 0xFF), WIRE_DROP_UDP_LENGTH);
    CHECK_EQ(changed_drop("D1", 34 + 5, 23), WIRE_DROP_RUNT); /* BTH and ICRC need 24 */
    CHECK_EQ(changed_drop("D1", 43, 0x01), WIRE_DROP_TVER);
    CHECK_EQ(changed_drop("D1", 43, 0x0F), WIRE_DROP_TVER);
    CHECK_EQ(changed_drop("D1", 43, 0x30), WIRE_DROP_NONE);        /* 1 byte and 3 of pad */
    CHECK_EQ(changed_drop("D6", 43, 0x10), WIRE_DROP_PAD);         /* an ACK has nothing to pad */
    CHECK_EQ(changed_drop("D3", 67, 0x80 | 0x40), WIRE_DROP_NONE); /* 8 bytes, no pad */
    CHECK_EQ(changed_drop("D6", 42, WIRE_OP_COMPARE_SWAP), WIRE_DROP_RUNT);
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        enum wire_drop drop = changed_drop("D8", 42, (uint8_t)opcode);

        CHECK_EQ(drop, wire_opcodes[opcode].name != NULL ? WIRE_DROP_NONE : WIRE_DROP_OPCODE);
    }
}

/* Pads of whole words only: a UDP length that leaves one, two or three bytes over is dropped. */
static void drops_a_payload_that_is_not_whole_words(void)
{
    for (unsigned cut = 1; cut <= 3; cut++) {
        struct hex_buffer frame = hex_named("D8");
        uint8_t *ip = frame.bytes + 14;
        size_t n = frame.n - cut;

        wire_bytes_put16(ip + 2, (uint32_t)(n - 14));
        wire_bytes_put16(ip + 24, (uint32_t)(n - 34));
        wire_bytes_put16(ip + 10, 0);
        wire_bytes_put16(ip + 10, ~wire_bytes_ipv4_sum(ip) & 0xFFFF);
        wire_bytes_put32_le(frame.bytes + n - 4, wire_icrc(ip, n - 18));
        frame.n = n;
        CHECK_EQ(drop_of(frame), WIRE_DROP_PAD);
    }
}

static void drops_a_wrong_icrc(void)
{
    for (size_t i = 0; i < WIRE_VECTORS; i++) {
        struct hex_buffer frame = hex_frame(&wire_vectors[i]);
        struct wire_packet packet;

        for (size_t bit = 0; bit < 32; bit++) {
            frame.bytes[frame.n - 4 + bit / 8] ^= (uint8_t)(1u << bit % 8);
            CHECK_EQ(wire_decode(frame.bytes, frame.n, 0, &packet), WIRE_DROP_ICRC);
            CHECK_EQ(wire_decode(frame.bytes, frame.n, WIRE_DECODE_SKIP_ICRC, &packet),
                     WIRE_DROP_NONE);
            frame.bytes[frame.n - 4 + bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        hex_free(&frame);
    }
}

/* rxe once forgot the UDP header here: a datagram too short for its opcode is a runt. */
static void drops_runts_of_every_length(void)
{
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        unsigned need = 16u + wire_opcodes[opcode].header_bytes;

        if (wire_opcodes[opcode].name == NULL)
            continue;
        for (unsigned payload = 0; payload <= need; payload++) { /* of UDP */
            struct wire_packet packet;
            struct hex_buffer frame =
                hex_parse("", "020000000002020000000001080045000000000040004011"
                              "00000a0000010a000002c12312b700000000");
            struct hex_buffer exact = {malloc(frame.n + payload), frame.n + payload};

            CHECK(exact.bytes != NULL);
            memset(exact.bytes, 0, exact.n);
            memcpy(exact.bytes, frame.bytes, frame.n);
            hex_free(&frame);
            wire_bytes_put16(exact.bytes + 16, 28 + payload);
            wire_bytes_put16(exact.bytes + 38, 8 + payload);
            wire_bytes_put16(exact.bytes + 24, ~wire_bytes_ipv4_sum(exact.bytes + 14) & 0xFFFF);
            if (payload > 0)
                exact.bytes[42] = (uint8_t)opcode;
            CHECK_EQ(wire_decode(exact.bytes, exact.n, WIRE_DECODE_SKIP_ICRC, &packet),
                     payload < need ? WIRE_DROP_RUNT : WIRE_DROP_NONE);
            hex_free(&exact);
        }
    }
}

/* Every cut of every vector, in a block of exactly that size: dropped, and nothing read beyond. */
static void truncated_anywhere(void)
{
    for (size_t i = 0; i < WIRE_VECTORS; i++) {
        struct hex_buffer whole = hex_frame(&wire_vectors[i]);

        for (size_t n = 0; n < whole.n; n++)
            CHECK_EQ(drop_of(hex_copy(whole.bytes, n)), WIRE_DROP_TRUNCATED);
        hex_free(&whole);
    }
    for (size_t n = 0; n <= 60; n++) {
        struct hex_buffer whole = hex_parse("", wire_pfc_pause_3);

        CHECK_EQ(drop_of(hex_copy(whole.bytes, n)), n < 34 ? WIRE_DROP_TRUNCATED : WIRE_DROP_NONE);
        hex_free(&whole);
    }
}

/* As above with the length fields cut too, so that parsing goes as deep as it can. */
static void truncated_consistently(void)
{
    for (size_t i = 0; i < WIRE_VECTORS; i++) {
        struct hex_buffer whole = hex_frame(&wire_vectors[i]);
        size_t ip = wire_bytes_get16(whole.bytes + 12) == WIRE_ETHERTYPE_VLAN ? 18 : 14;
        bool v4 = whole.bytes[ip] >> 4 == 4;
        size_t udp = ip + (v4 ? 20 : 40);

        for (size_t n = udp + 8; n < whole.n; n++) {
            struct hex_buffer frame = hex_copy(whole.bytes, n);
            struct wire_packet packet;
            enum wire_drop drop;

            wire_bytes_put16(frame.bytes + ip + (v4 ? 2 : 4), (uint32_t)(n - (v4 ? ip : udp)));
            wire_bytes_put16(frame.bytes + udp + 4, (uint32_t)(n - udp));
            if (v4) {
                wire_bytes_put16(frame.bytes + ip + 10, 0);
                wire_bytes_put16(frame.bytes + ip + 10,
                                 ~wire_bytes_ipv4_sum(frame.bytes + ip) & 0xFFFF);
            }
            drop = wire_decode(frame.bytes, n, 0, &packet);
            CHECK(drop == WIRE_DROP_RUNT || drop == WIRE_DROP_PAD || drop == WIRE_DROP_ICRC);
            hex_free(&frame);
        }
        hex_free(&whole);
    }
}

CHECK_SUITE(decode, CHECK_CASE(vectors_have_their_fields), CHECK_CASE(addresses_and_ip_fields),
            CHECK_CASE(extended_headers), CHECK_CASE(field_only_vectors), CHECK_CASE(mac_control),
            CHECK_CASE(mac_control_is_never_tagged), CHECK_CASE(drops_by_ethernet_and_ip),
            CHECK_CASE(drops_by_udp_and_bth), CHECK_CASE(drops_a_payload_that_is_not_whole_words),
            CHECK_CASE(drops_a_wrong_icrc), CHECK_CASE(drops_runts_of_every_length),
            CHECK_CASE(truncated_anywhere), CHECK_CASE(truncated_consistently))
