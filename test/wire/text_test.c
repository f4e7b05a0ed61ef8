/* SPDX-License-Identifier: GPL-2.0-only */
/* Packets as text: every header field under its name, addresses as people write them. */
#include "hex.h"
#include "wire_text.h"

static const char *gid_text(const char *hex, struct wire_text *text)
{
    struct hex_buffer gid = hex_parse("", hex);

    CHECK_EQ(gid.n, 16);
    *text = (struct wire_text){0};
    wire_text_gid(text, gid.bytes);
    hex_free(&gid);
    return text->line;
}

static void addresses_are_written_as_rfc_5952_wants(void)
{
    static const struct {
        const char *hex, *text;
    } cases[] = {
        {"00000000000000000000ffff0a000001", "10.0.0.1"},
        {"fd000000000000000000000000000002", "fd00::2"},
        {"00000000000000000000000000000000", "::"},
        {"00000000000000000000000000000001", "::1"},
        {"20010db8000000000000000000000000", "2001:db8::"},
        {"20010db8000000010001000100010001", "2001:db8:0:1:1:1:1:1"},
        {"20010db8000000000001000000000001", "2001:db8::1:0:0:1"},
        {"20010000000000010000000000000001", "2001:0:0:1::1"},
        {"00000001000200030004000500060000", "0:1:2:3:4:5:6:0"},
    };
    struct wire_text text;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CHECK_STR(gid_text(cases[i].hex, &text), cases[i].text);
}

/* All about a packet, as rnic-decode prints it. */
static const char *all(const struct wire_packet *packet, struct wire_text *text)
{
    *text = (struct wire_text){0};
    wire_text_addresses(text, packet);
    wire_text_add(text, " ");
    wire_text_bth(text, packet);
    wire_text_extended(text, packet);
    wire_text_outside(text, packet);
    return text->line;
}

static void check_vector(const char *name, const char *wanted)
{
    struct hex_buffer frame = hex_named(name);
    struct wire_packet packet;
    struct wire_text text;

    CHECK_EQ(wire_decode(frame.bytes, frame.n, 0, &packet), WIRE_DROP_NONE);
    CHECK_STR(all(&packet, &text), wanted);
    hex_free(&frame);
}

static void every_header_has_its_fields(void)
{
    check_vector("D1", "10.0.0.1 > 10.0.0.2 UD_SEND_ONLY qpn=0x000012 psn=0x000007 pkey=0xffff "
                       "qkey=0x11111111 src_qpn=0x000034 payload=8 pad=0 dscp=26 ecn=ect0 ttl=64 "
                       "ip_id=1 sport=49443");
    check_vector("D2", "10.0.0.1 > 10.0.0.2 UD_SEND_ONLY qpn=0x000012 psn=0x000007 pkey=0xffff "
                       "qkey=0x11111111 src_qpn=0x000034 payload=8 pad=0 dscp=26 ecn=ce ttl=63 "
                       "ip_id=1 sport=49443");
    check_vector("D3", "2001:db8::1 > 2001:db8::2 RC_SEND_ONLY_IMM qpn=0x0000aa psn=0xfffffe "
                       "pkey=0xffff se migreq ackreq imm=0xdeadbeef payload=5 pad=3 vlan=100 pcp=3 "
                       "dscp=26 ecn=ect0 ttl=64 flow_label=0x12345 sport=49443");
    check_vector("D4", "10.0.0.1 > 10.0.0.2 RC_COMPARE_SWAP qpn=0x0000bb psn=0x000010 pkey=0xffff "
                       "migreq ackreq va=0x00007f0000001000 rkey=0x00001234 "
                       "swap=0x1122334455667788 compare=0x99aabbccddeeff00 payload=0 pad=0 "
                       "dscp=26 ecn=ect0 ttl=64 ip_id=2 sport=49443");
    check_vector("D5", "10.0.0.2 > 10.0.0.1 RC_ATOMIC_ACKNOWLEDGE qpn=0x0000cc psn=0x000010 "
                       "pkey=0xffff migreq ACK credits=31 syndrome=0x1f msn=5 "
                       "original=0x99aabbccddeeff00 payload=0 pad=0 dscp=26 ecn=ect0 ttl=64 "
                       "ip_id=3 sport=49443");
    check_vector("D6", "10.0.0.2 > 10.0.0.1 RC_ACKNOWLEDGE qpn=0x0000cc psn=0x000011 pkey=0xffff "
                       "migreq RNR_NAK timer=12 syndrome=0x2c msn=5 payload=0 pad=0 dscp=26 "
                       "ecn=ect0 ttl=64 ip_id=4 sport=49443");
    check_vector("D7", "10.0.0.2 > 10.0.0.1 RC_ACKNOWLEDGE qpn=0x0000cc psn=0x000012 pkey=0xffff "
                       "migreq NAK code=0(sequence_error) syndrome=0x60 msn=5 payload=0 pad=0 "
                       "dscp=26 ecn=ect0 ttl=64 ip_id=5 sport=49443");
    check_vector("D8", "10.0.0.1 > 10.0.0.2 RC_RDMA_WRITE_FIRST qpn=0x0000bb psn=0x000020 "
                       "pkey=0xffff migreq va=0x00007f0000002000 rkey=0x00005678 dma_len=300 "
                       "payload=256 pad=0 dscp=26 ecn=ect0 ttl=64 ip_id=6 sport=49443");
    check_vector("D9", "10.0.0.1 > 10.0.0.2 CNP qpn=0x0000cc psn=0x000000 pkey=0xffff becn "
                       "payload=0 pad=0 dscp=48 ecn=not-ect ttl=64 ip_id=7 sport=49443");
    check_vector("V1", "fe80::1 > fe80::2 RC_RDMA_WRITE_ONLY qpn=0x0000bb psn=0x000020 pkey=0xffff "
                       "ackreq va=0x00007f0000005678 rkey=0x00001234 dma_len=5 payload=5 pad=3 "
                       "vlan=100 pcp=3 dscp=26 ecn=ect0 ttl=64 flow_label=0x12345 rocev1");
    check_vector("V2", "10.0.0.2 > 10.0.0.1 RC_ACKNOWLEDGE qpn=0x0000cc psn=0x000010 pkey=0xffff "
                       "ACK credits=31 syndrome=0x1f msn=5 payload=0 pad=0 dscp=0 ecn=not-ect "
                       "ttl=255 flow_label=0x00000 rocev1");
}

static void rare_fields_are_named_too(void)
{
    static const uint8_t mac[6] = {2, 0, 0, 0, 0, 0xAB};
    struct wire_packet packet = {.kind = WIRE_KIND_ROCE,
                                 .ethertype = WIRE_ETHERTYPE_ROCE_V1,
                                 .opcode = WIRE_OP_FLUSH,
                                 .imm = 3,
                                 .bth_flags = WIRE_BTH_MIG | WIRE_BTH_FECN,
                                 .bth_resv7 = 1,
                                 .tver = 2};
    struct wire_text text;

    memcpy(packet.eth_src, mac, 6);
    CHECK_STR(all(&packet, &text),
              "02:00:00:00:00:ab > 00:00:00:00:00:00 RC_FLUSH qpn=0x000000 psn=0x000000 "
              "pkey=0x0000 migreq fecn tver=2 reserved=0x00,0x01 feth=0x00000003 "
              "va=0x0000000000000000 rkey=0x00000000 dma_len=0 payload=0 pad=0 dscp=0 ecn=not-ect "
              "ttl=0 ip_id=0 rocev1");
    packet.bth_resv6 = 2;
    packet.bth_resv7 = 0;
    CHECK(strstr(all(&packet, &text), " reserved=0x02,0x00 ") != NULL);
    packet.opcode = WIRE_OP_SEND_LAST_INV;
    CHECK(strstr(all(&packet, &text), " invalidate=0x00000003 ") != NULL);
    packet.opcode = WIRE_OP_FETCH_ADD;
    CHECK(strstr(all(&packet, &text), " add=0x0000000000000000 compare=") != NULL);
    packet.opcode = 0x15;
    CHECK(strstr(all(&packet, &text), " OPCODE_0x15 ") != NULL);
    packet.opcode = WIRE_OP_ACKNOWLEDGE;
    packet.syndrome = 0x65;
    CHECK(strstr(all(&packet, &text), " NAK code=5 syndrome=0x65 ") != NULL);
    packet.syndrome = 0x40;
    CHECK(strstr(all(&packet, &text), " RESERVED syndrome=0x40 ") != NULL);
    packet.syndrome = 0x80; /* the top bit is reserved */
    CHECK(strstr(all(&packet, &text), " RESERVED syndrome=0x80 ") != NULL);
}

static void pause_frames(void)
{
    struct wire_packet packet = {
        .kind = WIRE_KIND_PFC, .pause_enabled = 0x88, .pause_quanta = {1, 2, 3, 65535}};
    struct wire_text text = {0};

    wire_text_pause(&text, &packet);
    CHECK_STR(text.line, "PFC classes=0x88 quanta=3:65535,7:0");
    packet.kind = WIRE_KIND_PAUSE;
    text = (struct wire_text){0};
    wire_text_pause(&text, &packet);
    CHECK_STR(text.line, "PAUSE quanta=1");
}

static void what_does_not_fit_is_cut(void)
{
    struct wire_text text = {0};

    for (unsigned i = 0; i < WIRE_TEXT_BYTES; i++)
        wire_text_add(&text, "abc");
    CHECK_EQ(text.n, WIRE_TEXT_BYTES - 1);
    CHECK_EQ(strlen(text.line), WIRE_TEXT_BYTES - 1);
}

CHECK_SUITE(text, CHECK_CASE(addresses_are_written_as_rfc_5952_wants),
            CHECK_CASE(every_header_has_its_fields), CHECK_CASE(rare_fields_are_named_too),
            CHECK_CASE(pause_frames), CHECK_CASE(what_does_not_fit_is_cut))
