/* SPDX-License-Identifier: GPL-2.0-only */
/* Segmentation and headers, and that a frame's length is the length of its bytes. */
#include "check.h"
#include "rnic_tx_build.h"
#include "wire_codec.h"

static const struct rnic_tx_build_params params = {
    .station = 5, .ack_every = 16, .ecn_bits = WIRE_ECN_ECT0};

static struct rnic_qp qp_with(uint32_t mtu)
{
    return (struct rnic_qp){
        .dest_qpn = 0x123456,
        .mtu_bytes = mtu,
        .mtu_shift = (uint8_t)__builtin_ctz(mtu),
        .path = {
            .dest_station = 9, .next_hop = 700, .udp_sport = 0xC123, .tos = 26 << 2, .ttl = 64}};
}

static struct rnic_wqe *wqe_with(enum rnic_wr_opcode opcode, const struct rnic_qp *qp,
                                 uint32_t length)
{
    static struct rnic_wqe wqe;

    wqe = (struct rnic_wqe){.remote_addr = 0x1122334455667788,
                            .length = length,
                            .rkey = 0xAABBCCDD,
                            .imm = 0x01020304,
                            .packets = rnic_tx_build_packets(qp, length),
                            .psn = {0xFFFFFF},
                            .opcode = (uint8_t)opcode};
    return &wqe;
}

/* First, middle, last, only of each verb, written out. */
static const uint8_t opcodes[4][4] = {
    {WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_MIDDLE, WIRE_OP_WRITE_LAST, WIRE_OP_WRITE_ONLY},
    {WIRE_OP_WRITE_FIRST, WIRE_OP_WRITE_MIDDLE, WIRE_OP_WRITE_LAST_IMM, WIRE_OP_WRITE_ONLY_IMM},
    {WIRE_OP_SEND_FIRST, WIRE_OP_SEND_MIDDLE, WIRE_OP_SEND_LAST, WIRE_OP_SEND_ONLY},
    {WIRE_OP_SEND_FIRST, WIRE_OP_SEND_MIDDLE, WIRE_OP_SEND_LAST_IMM, WIRE_OP_SEND_ONLY_IMM}};

static void check_frame(const struct wire_frame *f, const struct rnic_qp *qp,
                        const struct rnic_wqe *wqe, uint32_t i)
{
    uint32_t n = wqe->packets;
    bool last = i + 1 == n;

    CHECK_EQ(f->opcode, opcodes[wqe->opcode][n == 1 ? 3 : i == 0 ? 0 : last ? 2 : 1]);
    CHECK_EQ(f->psn.v, (0xFFFFFF + i) & 0xFFFFFF);
    CHECK_EQ(f->payload_bytes, last ? wqe->length - i * qp->mtu_bytes : qp->mtu_bytes);
    CHECK_EQ(!!(f->bth_flags & WIRE_BTH_ACKREQ), last || (i + 1) % 16 == 0);
    CHECK_EQ(f->src, 5);
    CHECK_EQ(f->dst, 9);
    CHECK_EQ(f->eth_src, 5);
    CHECK_EQ(f->eth_dst, 700);
    CHECK_EQ(f->dest_qpn, 0x123456);
    CHECK_EQ(f->udp_sport, 0xC123);
    CHECK_EQ(f->ip_id, 77);
    CHECK_EQ(f->tos, 26 << 2 | WIRE_ECN_ECT0);
    CHECK_EQ(f->prio, 3);
    CHECK_EQ(f->pkey, 0xFFFF);
    if (i == 0 && wqe->opcode <= RNIC_WR_RDMA_WRITE_WITH_IMM) {
        CHECK_EQ(f->va, 0x1122334455667788);
        CHECK_EQ(f->rkey, 0xAABBCCDD);
        CHECK_EQ(f->dma_bytes, wqe->length);
    }
    if (wire_opcodes[f->opcode].has & WIRE_HAS_IMM)
        CHECK_EQ(f->imm, 0x01020304);
}

static void every_message_is_cut_at_the_mtu(void)
{
    for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
        const uint32_t lengths[] = {0,       1,       3,           4,     mtu - 1, mtu,
                                    mtu + 1, 2 * mtu, 2 * mtu + 1, 65536, 65537};
        struct rnic_qp qp = qp_with(mtu);

        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
            for (int op = RNIC_WR_RDMA_WRITE; op <= RNIC_WR_SEND_WITH_IMM; op++) {
                const struct rnic_wqe *wqe = wqe_with((enum rnic_wr_opcode)op, &qp, lengths[l]);

                CHECK_EQ(wqe->packets, lengths[l] ? (lengths[l] + mtu - 1) / mtu : 1);
                for (uint32_t i = 0; i < wqe->packets; i++) {
                    struct wire_frame frame;

                    memset(&frame, 0xA5, sizeof frame);
                    rnic_tx_build_request(&params, &qp, wqe, i, 77, &frame);
                    check_frame(&frame, &qp, wqe, i);
                }
            }
    }
}

/* Pad and length, as the codec writes them. */
static void the_length_is_that_of_the_bytes(void)
{
    static uint8_t bytes[8192], payload[4096];
    struct wire_addr_book book = {0};

    for (unsigned v6 = 0; v6 < 2; v6++)
        for (uint32_t length = 0; length < 9000; length += length < 70 ? 1 : 61)
            for (int op = RNIC_WR_RDMA_WRITE; op <= RNIC_WR_SEND_WITH_IMM; op++) {
                struct rnic_qp qp = qp_with(1024);
                const struct rnic_wqe *wqe = wqe_with((enum rnic_wr_opcode)op, &qp, length);

                qp.path.frame_flags = v6 ? WIRE_FRAME_IPV6 : 0;
                for (uint32_t i = 0; i < wqe->packets; i++) {
                    struct wire_frame frame = {.payload = payload};
                    struct wire_packet packet;
                    size_t n;

                    rnic_tx_build_request(&params, &qp, wqe, i, 0, &frame);
                    n = wire_frame_encode(&frame, &book, bytes, sizeof bytes);
                    CHECK_EQ(frame.frame_bytes, n + WIRE_FCS_BYTES);
                    CHECK_EQ(wire_decode(bytes, n, 0, &packet), WIRE_DROP_NONE);
                    CHECK_EQ(packet.payload_bytes, frame.payload_bytes);
                    CHECK_EQ(packet.pad, (4 - frame.payload_bytes % 4) % 4);
                    CHECK_EQ(packet.psn.v, frame.psn.v);
                }
            }
}

/* AckReq on every n-th and on the last. */
static void acknowledges_asked_for(void)
{
    static const struct {
        uint32_t every, packets, asks;
    } cases[] = {{20, 100, 5}, {20, 101, 6}, {1, 9, 9}, {64, 63, 1}, {16, 1, 1}};

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct rnic_tx_build_params p = params;
        struct rnic_qp qp = qp_with(256);
        const struct rnic_wqe *wqe = wqe_with(RNIC_WR_RDMA_WRITE, &qp, cases[c].packets * 256);
        uint32_t asks = 0;

        p.ack_every = cases[c].every;
        for (uint32_t i = 0; i < wqe->packets; i++) {
            struct wire_frame frame;

            rnic_tx_build_request(&p, &qp, wqe, i, 0, &frame);
            asks += (frame.bth_flags & WIRE_BTH_ACKREQ) != 0;
        }
        CHECK_EQ(asks, cases[c].asks);
    }
}

static void solicited_on_the_last_packet_only(void)
{
    struct rnic_qp qp = qp_with(256);

    for (int op = RNIC_WR_RDMA_WRITE; op <= RNIC_WR_SEND_WITH_IMM; op++) {
        struct rnic_wqe *wqe = wqe_with((enum rnic_wr_opcode)op, &qp, 1000);

        wqe->flags = RNIC_SEND_SOLICITED;
        for (uint32_t i = 0; i < wqe->packets; i++) {
            struct wire_frame frame;

            rnic_tx_build_request(&params, &qp, wqe, i, 0, &frame);
            CHECK_EQ(!!(frame.bth_flags & WIRE_BTH_SE),
                     i + 1 == wqe->packets && op != RNIC_WR_RDMA_WRITE);
        }
    }
}

static void acknowledges_and_cnps(void)
{
    struct rnic_tx_control_record record = {
        .dest_qpn = 0x123456,
        .msn = 0xABCDEF,
        .psn = {77},
        .opcode = WIRE_OP_ACKNOWLEDGE,
        .syndrome = 0x61,
        .path = {
            .dest_station = 9, .next_hop = 700, .udp_sport = 0xC123, .tos = 26 << 2, .ttl = 3}};
    static uint8_t bytes[256];
    struct wire_addr_book book = {0};
    struct wire_frame frame;

    memset(&frame, 0xA5, sizeof frame);
    rnic_tx_build_control(&params, &record, 1, &frame);
    CHECK_EQ(frame.bth_flags, 0);
    CHECK_EQ(frame.syndrome, 0x61);
    CHECK_EQ(frame.msn, 0xABCDEF);
    CHECK_EQ(frame.psn.v, 77);
    CHECK_EQ(frame.tos & WIRE_ECN_MASK, WIRE_ECN_NOT_ECT);
    CHECK_EQ(frame.payload_bytes, 0);
    CHECK_EQ(frame.frame_bytes,
             wire_frame_encode(&frame, &book, bytes, sizeof bytes) + WIRE_FCS_BYTES);
    record.opcode = WIRE_OP_CNP;
    record.psn.v = 0;
    rnic_tx_build_control(&params, &record, 1, &frame);
    CHECK_EQ(frame.bth_flags, WIRE_BTH_BECN);
    CHECK_EQ(frame.frame_bytes,
             wire_frame_encode(&frame, &book, bytes, sizeof bytes) + WIRE_FCS_BYTES);
}

CHECK_SUITE(tx_build, CHECK_CASE(every_message_is_cut_at_the_mtu),
            CHECK_CASE(the_length_is_that_of_the_bytes), CHECK_CASE(acknowledges_asked_for),
            CHECK_CASE(solicited_on_the_last_packet_only), CHECK_CASE(acknowledges_and_cnps))
