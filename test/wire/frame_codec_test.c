/* SPDX-License-Identifier: GPL-2.0-only */
/* Frames to bytes and back through the address book, and the one length formula. */
#include "random_packet.h"
#include "wire_bytes.h"

#define PAYLOAD 64u

static const struct wire_station stations[] = {
    {7, {0x00, 0x1B, 0x21, 1, 2, 3}, {0x20, 0x01, 0x0d, 0xb8, [15] = 7}}, /* IPv6 only */
    {9, {0x00, 0x1B, 0x21, 4, 5, 6}, {0x20, 0x01, 0x0d, 0xb8, [15] = 9}},
    {2, {0x00, 0x1B, 0x21, 7, 8, 9}, {[10] = 0xFF, 0xFF, 192, 168, 0, 2}},
};
static const struct wire_addr_book book = {stations, 3};

static struct wire_frame random_frame(struct wire_rng *rng, uint8_t opcode, uint8_t flags)
{
    bool v6 = flags & WIRE_FRAME_IPV6, v1 = flags & WIRE_FRAME_ROCE_V1;
    uint16_t has = wire_opcodes[opcode].has;
    struct wire_frame frame = {.kind = WIRE_KIND_ROCE, .opcode = opcode, .flags = flags};

    frame.src = v6 ? 7 : 2;
    frame.dst = v6 ? 9 : 4; /* 4 has its default addresses */
    frame.eth_src = 1000000;
    frame.eth_dst = 9;
    frame.dest_qpn = random_below(rng, 1u << 24);
    frame.udp_sport = v1 ? 0 : (uint16_t)wire_rng_next(rng);
    frame.ip_id = v6 || v1 ? 0 : (uint16_t)wire_rng_next(rng);
    frame.vlan_tci = flags & WIRE_FRAME_VLAN ? (uint16_t)wire_rng_next(rng) : 0;
    frame.pkey = (uint16_t)wire_rng_next(rng);
    frame.tos = (uint8_t)wire_rng_next(rng);
    frame.ttl = (uint8_t)wire_rng_next(rng);
    frame.prio = flags & WIRE_FRAME_VLAN ? (uint8_t)(frame.vlan_tci >> 13) : frame.tos >> 5;
    frame.psn.v = random_below(rng, 1u << 24);
    frame.bth_flags = (uint8_t)random_below(rng, 32);
    if (has & WIRE_HAS_AETH) {
        frame.syndrome = (uint8_t)wire_rng_next(rng);
        frame.msn = random_below(rng, 1u << 24);
    }
    if (has & (WIRE_HAS_IMM | WIRE_HAS_IETH | WIRE_HAS_FETH))
        frame.imm = (uint32_t)wire_rng_next(rng);
    if (has & WIRE_HAS_DETH) {
        frame.deth.qkey = (uint32_t)wire_rng_next(rng);
        frame.deth.src_qpn = random_below(rng, 1u << 24);
    }
    if (has & (WIRE_HAS_RETH | WIRE_HAS_ATOMIC)) {
        frame.va = wire_rng_next(rng);
        frame.rkey = (uint32_t)wire_rng_next(rng);
    }
    if (has & WIRE_HAS_ATOMIC_ACK)
        frame.orig = wire_rng_next(rng);
    if (has & WIRE_HAS_RETH)
        frame.dma_bytes = (uint32_t)wire_rng_next(rng);
    if (has & WIRE_HAS_ATOMIC) {
        frame.swap_add = wire_rng_next(rng);
        frame.compare = wire_rng_next(rng);
    }
    if (has & WIRE_HAS_PAYLOAD)
        frame.payload_bytes = random_below(rng, PAYLOAD + 1);
    frame.frame_bytes = wire_frame_length(opcode, flags, frame.payload_bytes);
    return frame;
}

/* All that the bytes say; not the holder's fields. */
static void check_same(const struct wire_frame *a, const struct wire_frame *b)
{
    CHECK_EQ(a->frame_bytes, b->frame_bytes);
    CHECK_EQ(a->src, b->src);
    CHECK_EQ(a->dst, b->dst);
    CHECK_EQ(a->eth_src, b->eth_src);
    CHECK_EQ(a->eth_dst, b->eth_dst);
    CHECK_EQ(a->dest_qpn, b->dest_qpn);
    CHECK_EQ(a->udp_sport, b->udp_sport);
    CHECK_EQ(a->ip_id, b->ip_id);
    CHECK_EQ(a->vlan_tci, b->vlan_tci);
    CHECK_EQ(a->pkey, b->pkey);
    CHECK_EQ(a->kind, b->kind);
    CHECK_EQ(a->opcode, b->opcode);
    CHECK_EQ(a->tos, b->tos);
    CHECK_EQ(a->ttl, b->ttl);
    CHECK_EQ(a->prio, b->prio);
    CHECK_EQ(a->flags, b->flags);
    CHECK_EQ(a->psn.v, b->psn.v);
    CHECK_EQ(a->bth_flags, b->bth_flags);
    CHECK_EQ(a->syndrome, b->syndrome);
    CHECK_EQ(a->pause_enabled, b->pause_enabled);
    CHECK_EQ(a->msn, b->msn);
    CHECK_EQ(a->imm, b->imm);
    CHECK_EQ(a->va, b->va);
    CHECK_EQ(a->rkey, b->rkey);
    CHECK_EQ(a->dma_bytes, b->dma_bytes);
    CHECK_EQ(a->payload_bytes, b->payload_bytes);
    CHECK_EQ(a->swap_add, b->swap_add);
    CHECK_EQ(a->compare, b->compare);
}

/* Poisoned first: decode must write every field, for nobody clears a frame. */
static void poison(struct wire_frame *frame, uint8_t *payload)
{
    memset(frame, 0xA5, sizeof(*frame));
    frame->payload = payload;
}

static void round_trip(const struct wire_frame *frame, bool with_bytes)
{
    uint8_t bytes[WIRE_MAX_HEADER_BYTES + PAYLOAD], payload[PAYLOAD];
    struct wire_frame again;
    struct hex_buffer exact;
    size_t n = wire_frame_encode(frame, &book, bytes, sizeof(bytes));

    CHECK_EQ(n + WIRE_FCS_BYTES, frame->frame_bytes);
    CHECK_EQ(wire_frame_encode(frame, &book, bytes, n - 1), 0);
    CHECK_EQ(wire_frame_encode(frame, &book, bytes, n), n);
    exact = hex_copy(bytes, n);
    poison(&again, payload);
    CHECK_EQ(wire_frame_decode(&again, &book, exact.bytes, n, with_bytes), WIRE_DROP_NONE);
    check_same(frame, &again);
    CHECK_EQ(again.in_charge, 0xA5A5A5A5); /* the holder's, left alone */
    CHECK_EQ(again.in_port, 0xA5A5);
    CHECK_EQ(again.ready_ps, 0xA5A5A5A5A5A5A5A5);
    CHECK_EQ(again.tag, 0xA5A5A5A5);
    CHECK(again.payload == payload);
    if (with_bytes)
        CHECK_BYTES(again.payload, frame->payload, frame->payload_bytes);
    hex_free(&exact);
}

static void every_opcode_over_every_network(void)
{
    static const uint8_t networks[] = {0, WIRE_FRAME_IPV6, WIRE_FRAME_ROCE_V1};
    uint64_t seed = 3;
    struct wire_rng rng = wire_rng_init(seed, 0);
    uint8_t payload[PAYLOAD];

    printf("seed %" PRIu64 "\n", seed);
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        if (wire_opcodes[opcode].name == NULL)
            continue;
        for (unsigned i = 0; i < 3 * 2 * 2 * 20; i++) {
            uint8_t vlan = i / 3 % 2 ? WIRE_FRAME_VLAN : 0, real = i / 6 % 2 ? WIRE_FRAME_BYTES : 0;
            struct wire_frame frame =
                random_frame(&rng, (uint8_t)opcode, (uint8_t)(networks[i % 3] | vlan | real));

            for (unsigned k = 0; k < PAYLOAD; k++)
                payload[k] = (uint8_t)wire_rng_next(&rng);
            frame.payload = real ? payload : NULL;
            round_trip(&frame, real != 0);
        }
    }
}

static void phantom_payload_is_zeros(void)
{
    struct wire_rng rng = wire_rng_init(4, 0);
    struct wire_frame frame = random_frame(&rng, WIRE_OP_WRITE_MIDDLE, 0), again;
    uint8_t bytes[200], slot[PAYLOAD];
    size_t n;

    memset(slot, 0xA5, sizeof(slot));
    frame.payload = slot; /* stale bytes of another use */
    frame.payload_bytes = 33;
    frame.frame_bytes = wire_frame_length(frame.opcode, frame.flags, 33);
    n = wire_frame_encode(&frame, &book, bytes, sizeof(bytes));
    CHECK_EQ(n, 14 + 20 + 8 + 12 + 36 + 4);
    for (unsigned i = 0; i < 36; i++)
        CHECK_EQ(bytes[54 + i], 0);
    poison(&again, slot);
    CHECK_EQ(wire_frame_decode(&again, &book, bytes, n, false), WIRE_DROP_NONE);
    CHECK_EQ(again.payload_bytes, 33);
    CHECK_EQ(again.flags & WIRE_FRAME_BYTES, 0);
    CHECK_EQ(slot[0], 0xA5);
    poison(&again, NULL); /* asked for bytes, but there is no slot */
    CHECK_EQ(wire_frame_decode(&again, &book, bytes, n, true), WIRE_DROP_NONE);
    CHECK_EQ(again.flags & WIRE_FRAME_BYTES, 0);
}

static void pause_frames(void)
{
    struct hex_buffer want = hex_parse("", wire_pfc_pause_3);
    struct wire_frame frame = {.kind = WIRE_KIND_PFC,
                               .frame_bytes = 64,
                               .pause_enabled = 1 << 3,
                               .src = 0,
                               .dst = WIRE_STATION_BROADCAST,
                               .eth_src = 0,
                               .eth_dst = WIRE_STATION_BROADCAST,
                               .pause_quanta = {[3] = 0xFFFF}};
    uint8_t bytes[60];

    CHECK_EQ(wire_frame_encode(&frame, NULL, bytes, sizeof(bytes)), 60);
    CHECK_BYTES(bytes, want.bytes, 60);
    hex_free(&want);
    frame.eth_src = frame.src = 2; /* with an entry of its own */
    round_trip(&frame, false);
    frame.pause_enabled = 0xFF; /* a resume of all: quanta 0 */
    frame.pause_quanta[3] = 0;
    round_trip(&frame, false);
    for (unsigned i = 0; i < WIRE_CLASSES; i++)
        frame.pause_quanta[i] = (uint16_t)(1000 * i + 1);
    round_trip(&frame, false);

    memset(frame.pause_quanta, 0, sizeof(frame.pause_quanta));
    frame.kind = WIRE_KIND_PAUSE;
    frame.pause_enabled = 0;
    frame.pause_quanta[0] = 0x1234;
    round_trip(&frame, false);
    CHECK_EQ(wire_frame_encode(&frame, NULL, bytes, 59), 0);
    CHECK_EQ(wire_frame_encode(&frame, NULL, bytes, 60), 60);
    CHECK_EQ(wire_bytes_get16(bytes + 14), WIRE_MAC_CONTROL_PAUSE);
}

static void class_is_pcp_when_tagged_else_dscp(void)
{
    struct hex_buffer d1 = hex_named("D1"), d9 = hex_named("D9");
    struct wire_frame frame;
    uint8_t tagged[78];

    poison(&frame, NULL);
    CHECK_EQ(wire_frame_decode(&frame, NULL, d1.bytes, d1.n, false), WIRE_DROP_NONE);
    CHECK_EQ(frame.prio, 3); /* DSCP 26 */
    CHECK_EQ(frame.tos & WIRE_ECN_MASK, WIRE_ECN_ECT0);
    CHECK_EQ(frame.src, 0);
    CHECK_EQ(frame.dst, 1);
    CHECK_EQ(wire_frame_decode(&frame, NULL, d9.bytes, d9.n, false), WIRE_DROP_NONE);
    CHECK_EQ(frame.opcode, WIRE_OP_CNP);
    CHECK_EQ(frame.bth_flags, WIRE_BTH_BECN);
    CHECK_EQ(frame.prio, 6); /* DSCP 48 */
    CHECK_EQ(frame.frame_bytes, 78);

    memcpy(tagged, d1.bytes, 12);
    wire_bytes_put32(tagged + 12, 0x8100u << 16 | 5u << 13 | 7u);
    memcpy(tagged + 16, d1.bytes + 12, d1.n - 12);
    CHECK_EQ(wire_frame_decode(&frame, NULL, tagged, d1.n + 4, false), WIRE_DROP_NONE);
    CHECK_EQ(frame.prio, 5);
    CHECK_EQ(frame.flags, WIRE_FRAME_VLAN);
    CHECK_EQ(frame.vlan_tci, 5 << 13 | 7);
    hex_free(&d1);
    hex_free(&d9);
}

/* V2 from the fields of a frame: GRH with the stations' GIDs, no UDP, class of the tag or GRH. */
static void a_rocev1_frame_is_v2(void)
{
    struct hex_buffer v1 = hex_named("V1"), v2 = hex_named("V2");
    struct wire_frame frame = {.kind = WIRE_KIND_ROCE,
                               .flags = WIRE_FRAME_ROCE_V1,
                               .opcode = WIRE_OP_ACKNOWLEDGE,
                               .src = 1,
                               .dst = 0,
                               .eth_src = 0,
                               .eth_dst = 1,
                               .dest_qpn = 0xCC,
                               .udp_sport = 0xC123, /* no place for it */
                               .ip_id = 77,
                               .pkey = 0xFFFF,
                               .ttl = 255,
                               .psn = {0x10},
                               .syndrome = 0x1F,
                               .msn = 5};
    uint8_t bytes[128];

    frame.frame_bytes = wire_frame_length(frame.opcode, frame.flags, 0);
    CHECK_EQ(frame.frame_bytes, v2.n + 4);
    CHECK_EQ(wire_frame_encode(&frame, NULL, bytes, sizeof(bytes)), v2.n);
    CHECK_BYTES(bytes, v2.bytes, v2.n);
    poison(&frame, NULL);
    CHECK_EQ(wire_frame_decode(&frame, NULL, bytes, v2.n, false), WIRE_DROP_NONE);
    CHECK_EQ(frame.flags, WIRE_FRAME_ROCE_V1);
    CHECK_EQ(frame.src, 1);
    CHECK_EQ(frame.dst, 0);
    CHECK_EQ(frame.prio, 0);
    CHECK_EQ(frame.udp_sport, 0);
    CHECK_EQ(frame.ttl, 255);
    CHECK_EQ(wire_frame_decode(&frame, NULL, v1.bytes, v1.n, false), WIRE_DROP_ADDRESS);
    CHECK_EQ(frame.flags, WIRE_FRAME_ROCE_V1 | WIRE_FRAME_VLAN);
    CHECK_EQ(frame.prio, 3);
    CHECK_EQ(frame.frame_bytes, v1.n + 4);
    hex_free(&v1);
    hex_free(&v2);
}

/* D1 goes from station 0 to 1, by MAC and by IP: an unknown one of these four is enough. */
static void addresses_nobody_has(void)
{
    static const struct {
        enum { ETH_SRC, ETH_DST, SRC, DST } field;
        uint8_t last;
        enum wire_drop drop;
    } rows[] = {{ETH_SRC, 0, WIRE_DROP_ADDRESS}, {ETH_DST, 0, WIRE_DROP_ADDRESS},
                {SRC, 0, WIRE_DROP_ADDRESS},     {DST, 0, WIRE_DROP_ADDRESS},
                {ETH_SRC, 9, WIRE_DROP_NONE},    {DST, 9, WIRE_DROP_NONE}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hex_buffer d1 = hex_named("D1");
        struct wire_packet packet;
        struct wire_frame frame;
        uint8_t bytes[74];
        uint8_t *lasts[] = {&packet.eth_src[5], &packet.eth_dst[5], &packet.ip_src[15],
                            &packet.ip_dst[15]};

        CHECK_EQ(wire_decode(d1.bytes, d1.n, 0, &packet), WIRE_DROP_NONE);
        *lasts[rows[i].field] = rows[i].last;
        packet.icrc_auto = packet.ip_checksum_auto = true;
        CHECK_EQ(wire_encode(&packet, bytes, sizeof(bytes)), sizeof(bytes));
        poison(&frame, NULL);
        CHECK_EQ(wire_frame_decode(&frame, NULL, bytes, sizeof(bytes), false), rows[i].drop);
        hex_free(&d1);
    }
}

static void addresses_of_no_book(void)
{
    /* Station 1 has others now, so its default ones are nobody's. */
    static const struct wire_station moved[] = {{1, {0, 1, 2, 3, 4, 5}, {[15] = 1}}};
    static const struct wire_addr_book other = {moved, 1};
    struct hex_buffer d1 = hex_named("D1"), d3 = hex_named("D3");
    struct wire_frame frame;

    poison(&frame, NULL);
    CHECK_EQ(wire_frame_decode(&frame, &other, d1.bytes, d1.n, false), WIRE_DROP_ADDRESS);
    CHECK_EQ(wire_frame_decode(&frame, NULL, d1.bytes, d1.n, false), WIRE_DROP_NONE);
    CHECK_EQ(wire_frame_decode(&frame, NULL, d3.bytes, d3.n, false), WIRE_DROP_ADDRESS);
    d1.bytes[60] ^= 1; /* what the decoder drops keeps its reason */
    CHECK_EQ(wire_frame_decode(&frame, NULL, d1.bytes, d1.n, false), WIRE_DROP_ICRC);
    d3.bytes[16] = 0x89; /* RoCEv1 with UDP behind its GRH */
    d3.bytes[17] = 0x15;
    CHECK_EQ(wire_frame_decode(&frame, NULL, d3.bytes, d3.n, false), WIRE_DROP_IP_PROTOCOL);
    hex_free(&d1);
    hex_free(&d3);
}

static void frames_without_bytes(void)
{
    struct wire_frame opaque = {.kind = WIRE_KIND_OPAQUE, .frame_bytes = 64};
    struct wire_frame v6_only = {
        .kind = WIRE_KIND_ROCE, .opcode = WIRE_OP_SEND_ONLY, .frame_bytes = 64, .src = 7, .dst = 0};
    uint8_t bytes[200];

    CHECK_EQ(wire_frame_encode(&opaque, &book, bytes, sizeof(bytes)), 0);
    CHECK_EQ(wire_frame_encode(&v6_only, &book, bytes, sizeof(bytes)), 0);
    v6_only.src = 0;
    v6_only.dst = 7;
    CHECK_EQ(wire_frame_encode(&v6_only, &book, bytes, sizeof(bytes)), 0);
    v6_only.src = 7;
    v6_only.dst = 0;
    v6_only.flags = WIRE_FRAME_IPV6; /* the other one then stands as ::ffff:10.0.0.1 */
    CHECK_EQ(wire_frame_encode(&v6_only, &book, bytes, sizeof(bytes)), 78);
    CHECK_EQ(wire_bytes_get32(bytes + 14 + 36), 10u << 24 | 1);
}

/* A short frame is padded behind its ICRC, and the ICRC is found by the UDP length. */
static void minimum_frame_is_padded(void)
{
    struct wire_frame frame = {.kind = WIRE_KIND_ROCE,
                               .opcode = WIRE_OP_SEND_ONLY,
                               .src = 0,
                               .dst = 1,
                               .eth_src = 0,
                               .eth_dst = 1,
                               .frame_bytes = 64};
    struct wire_packet packet;
    uint8_t bytes[60];

    CHECK_EQ(wire_frame_encode(&frame, NULL, bytes, 59), 0);
    CHECK_EQ(wire_frame_encode(&frame, NULL, bytes, sizeof(bytes)), 60);
    CHECK_EQ(wire_decode(bytes, 60, 0, &packet), WIRE_DROP_NONE);
    CHECK_EQ(packet.trailer_bytes, 2);
    CHECK_EQ(bytes[58] | bytes[59], 0);
    CHECK_EQ(packet.ip_frag, 0x4000); /* frames are sent with DF */
    CHECK_EQ(packet.udp_checksum, 0);
    CHECK_EQ(packet.tver | packet.bth_resv6 | packet.bth_resv7, 0);
    frame.flags = WIRE_FRAME_VLAN; /* 62 bytes: nothing to pad */
    frame.frame_bytes = 66;
    round_trip(&frame, false);
}

static void lengths_of_the_line_table(void)
{
    CHECK_EQ(wire_frame_length(WIRE_OP_ACKNOWLEDGE, 0, 0), 66);
    CHECK_EQ(wire_frame_length(WIRE_OP_READ_REQUEST, 0, 0), 78);
    CHECK_EQ(wire_frame_length(WIRE_OP_WRITE_FIRST, 0, 1024), 78 + 1024);
    CHECK_EQ(wire_frame_length(WIRE_OP_COMPARE_SWAP, 0, 0), 90);
    CHECK_EQ(wire_frame_length(WIRE_OP_ATOMIC_ACKNOWLEDGE, 0, 0), 74);
    CHECK_EQ(wire_frame_length(WIRE_OP_CNP, 0, 0), 78);
    CHECK_EQ(wire_frame_length(WIRE_OP_WRITE_MIDDLE, 0, 4096), 4158);
    CHECK_EQ(wire_frame_length(WIRE_OP_SEND_MIDDLE, 0, 1024), 1086);
    CHECK_EQ(wire_frame_length(WIRE_OP_SEND_MIDDLE, 0, 256), 318);
    CHECK_EQ(wire_frame_length(WIRE_OP_SEND_ONLY, 0, 0), 64); /* 62, padded */
    CHECK_EQ(wire_frame_length(WIRE_OP_SEND_ONLY, 0, 1), 66); /* padded to a word */
    CHECK_EQ(wire_frame_length(WIRE_OP_SEND_MIDDLE, WIRE_FRAME_VLAN, 1024), 1090);
    CHECK_EQ(wire_frame_length(WIRE_OP_SEND_MIDDLE, WIRE_FRAME_IPV6, 1024), 1106);
    CHECK_EQ(wire_frame_length(WIRE_OP_SEND_MIDDLE, WIRE_FRAME_ROCE_V1, 1024), 1098);
}

/* One byte beyond an MTU goes alone with three of pad; every length comes back as it was. */
static void odd_lengths(void)
{
    static const uint32_t lengths[] = {0,   1,    2,    3,    4,    5,    255,  256,
                                       257, 1023, 1024, 1025, 2048, 2049, 4095, 4096};
    static uint8_t sent[4096], got[4096], bytes[4300];

    for (unsigned i = 0; i < sizeof(sent); i++)
        sent[i] = (uint8_t)(i * 7 + 1);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        uint32_t payload = lengths[i];
        struct wire_frame frame = {.kind = WIRE_KIND_ROCE,
                                   .opcode = WIRE_OP_WRITE_LAST,
                                   .flags = WIRE_FRAME_BYTES,
                                   .src = 0,
                                   .dst = 1,
                                   .eth_src = 0,
                                   .eth_dst = 1,
                                   .payload = sent,
                                   .payload_bytes = payload};
        struct wire_frame again;
        struct wire_packet packet;
        size_t n;

        frame.frame_bytes = wire_frame_length(frame.opcode, 0, payload);
        n = wire_frame_encode(&frame, NULL, bytes, sizeof(bytes));
        CHECK_EQ(n + 4, frame.frame_bytes);
        CHECK_EQ(wire_decode(bytes, n, 0, &packet), WIRE_DROP_NONE);
        CHECK_EQ(packet.pad, (4 - payload % 4) % 4);
        poison(&again, got);
        memset(got, 0, sizeof(got));
        CHECK_EQ(wire_frame_decode(&again, NULL, bytes, n, true), WIRE_DROP_NONE);
        CHECK_EQ(again.payload_bytes, payload);
        CHECK_BYTES(got, sent, payload);
        CHECK(payload == 4096 || got[payload] == 0); /* pad is never delivered */
    }
}

/* The GRH area of a UD receive is the network header as it stands on the line, at its end. */
static void the_grh_area_is_what_is_on_the_line(void)
{
    static const uint8_t kinds[] = {0, WIRE_FRAME_IPV6, WIRE_FRAME_ROCE_V1, WIRE_FRAME_VLAN,
                                    WIRE_FRAME_VLAN | WIRE_FRAME_IPV6};
    const uint8_t opcode = WIRE_TRANSPORT_UD | WIRE_OP_SEND_ONLY_IMM;
    struct wire_rng rng = wire_rng_init(23, 0);

    for (size_t i = 0; i < 50 * sizeof kinds; i++) {
        uint8_t flags = kinds[i % sizeof kinds];
        struct wire_frame frame = random_frame(&rng, opcode, flags);
        uint8_t line[512], want[WIRE_GRH_BYTES] = {0}, grh[WIRE_GRH_BYTES];
        size_t eth = flags & WIRE_FRAME_VLAN ? 18 : 14;
        size_t ip = flags & (WIRE_FRAME_IPV6 | WIRE_FRAME_ROCE_V1) ? 40 : 20;

        memset(grh, 0xA5, sizeof grh);
        CHECK(wire_frame_encode(&frame, &book, line, sizeof line) > 0);
        memcpy(want + sizeof want - ip, line + eth, ip);
        wire_frame_grh(&frame, &book, grh);
        CHECK_BYTES(grh, want, sizeof grh);
    }
}

/* An IPv4 frame of a station that has no IPv4 address never was on a line. */
static void a_grh_area_of_no_address_is_empty(void)
{
    const uint8_t opcode = WIRE_TRANSPORT_UD | WIRE_OP_SEND_ONLY;
    struct wire_rng rng = wire_rng_init(24, 0);
    struct wire_frame frame = random_frame(&rng, opcode, 0);
    uint8_t grh[WIRE_GRH_BYTES], zeros[WIRE_GRH_BYTES] = {0};

    frame.src = 7;
    memset(grh, 0xA5, sizeof grh);
    wire_frame_grh(&frame, &book, grh);
    CHECK_BYTES(grh, zeros, sizeof grh);
}

/* Class of a frame with this EtherType and these two bytes behind it, of which @p n are there. */
static uint8_t class_of(unsigned ethertype, uint8_t first, uint8_t second, size_t n)
{
    uint8_t bytes[16] = {
        [12] = (uint8_t)(ethertype >> 8), [13] = (uint8_t)ethertype, first, second};

    return wire_frame_class(bytes, 14 + n);
}

static void class_of_any_frame(void)
{
    for (unsigned prio = 0; prio < WIRE_CLASSES; prio++) {
        uint8_t tos = (uint8_t)(prio << 5 | 0x1F);

        CHECK_EQ(class_of(WIRE_ETHERTYPE_VLAN, tos, 0xFF, 2), prio);
        CHECK_EQ(class_of(WIRE_ETHERTYPE_IPV4, 0x45, tos, 2), prio);
        CHECK_EQ(class_of(WIRE_ETHERTYPE_IPV6, (uint8_t)(0x60 | tos >> 4), 0xFF, 2), prio);
        CHECK_EQ(class_of(0x0806, tos, tos, 2), 0);
    }
    CHECK_EQ(class_of(WIRE_ETHERTYPE_VLAN, 0xFF, 0xFF, 0), 0);
    CHECK_EQ(class_of(WIRE_ETHERTYPE_IPV4, 0xFF, 0xFF, 1), 0);
    CHECK_EQ(class_of(WIRE_ETHERTYPE_IPV6, 0xFF, 0xFF, 0), 0);
}

CHECK_SUITE(frame_codec, CHECK_CASE(class_of_any_frame),
            CHECK_CASE(every_opcode_over_every_network), CHECK_CASE(phantom_payload_is_zeros),
            CHECK_CASE(pause_frames), CHECK_CASE(class_is_pcp_when_tagged_else_dscp),
            CHECK_CASE(a_rocev1_frame_is_v2), CHECK_CASE(addresses_nobody_has),
            CHECK_CASE(addresses_of_no_book), CHECK_CASE(frames_without_bytes),
            CHECK_CASE(minimum_frame_is_padded), CHECK_CASE(lengths_of_the_line_table),
            CHECK_CASE(odd_lengths), CHECK_CASE(the_grh_area_is_what_is_on_the_line),
            CHECK_CASE(a_grh_area_of_no_address_is_empty))
