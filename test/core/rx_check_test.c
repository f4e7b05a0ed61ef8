/* SPDX-License-Identifier: GPL-2.0-only */
/* The PSN check alone: every distance, one NAK per loss event, UC, go-back-0, lengths. Sequences of
 * opcodes: rc_responder_test. */
#include "check.h"
#include "rnic_rx_check.h"

#define PSN 0xFFFFFFu /* expected */
#define MTU 1024u

static struct rnic_qp qp_with(uint8_t nak)
{
    return (struct rnic_qp){.mtu_bytes = MTU,
                            .mtu_shift = 10,
                            .access = RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |
                                      RNIC_ACCESS_REMOTE_ATOMIC,
                            .resp = {.psn = {PSN}, .nak = nak}};
}

static struct wire_frame request_at(uint8_t opcode, uint32_t distance)
{
    return (struct wire_frame){.opcode = opcode, .psn = {(PSN + distance) & WIRE_PSN_MASK}};
}

static struct wire_frame send_at(uint32_t distance)
{
    return request_at(WIRE_OP_SEND_ONLY, distance);
}

/* All 2^24 PSNs in each state: half are repeats, half are ahead. */
static void every_psn_there_is(void)
{
    static const struct {
        uint8_t nak;
        enum rnic_rx_verdict ahead;
    } cases[] = {{RNIC_RESP_OPEN, RNIC_RX_GAP},
                 {RNIC_RESP_SEQ_NAK, RNIC_RX_GAP_SILENT},
                 {RNIC_RESP_RNR_NAK, RNIC_RX_RNR_SILENT}};

    for (size_t c = 0; c < 3; c++)
        for (uint32_t distance = 0; distance <= WIRE_PSN_MASK; distance++) {
            struct rnic_qp qp = qp_with(cases[c].nak);
            struct wire_frame frame = send_at(distance);
            enum rnic_rx_verdict want = distance == 0         ? RNIC_RX_NEW
                                        : distance < 0x800000 ? cases[c].ahead
                                                              : RNIC_RX_DUPLICATE;

            CHECK_EQ(rnic_rx_check(&qp, &frame), want);
            CHECK_EQ(qp.resp.psn.v, PSN); /* placement moves it */
        }
}

static void the_expected_one_ends_what_was_refused(void)
{
    struct wire_frame ahead = send_at(3), expected = send_at(0), repeat = send_at(0xFFFFFF);
    struct rnic_qp qp = qp_with(RNIC_RESP_OPEN);

    CHECK_EQ(rnic_rx_check(&qp, &ahead), RNIC_RX_GAP);
    CHECK_EQ(rnic_rx_check(&qp, &ahead), RNIC_RX_GAP_SILENT);
    CHECK_EQ(rnic_rx_check(&qp, &repeat), RNIC_RX_DUPLICATE);
    CHECK_EQ(rnic_rx_check(&qp, &ahead), RNIC_RX_GAP_SILENT); /* a repeat ends nothing */
    CHECK_EQ(rnic_rx_check(&qp, &expected), RNIC_RX_NEW);
    CHECK_EQ(rnic_rx_check(&qp, &ahead), RNIC_RX_GAP);
}

/* Requests this card has no answer to, by their opcode alone. */
static void what_is_supported(void)
{
    unsigned unsupported = 0;

    for (unsigned opcode = 0; opcode < 0x20; opcode++) {
        const struct wire_opcode *op = &wire_opcodes[opcode];
        struct rnic_qp qp = qp_with(RNIC_RESP_OPEN);
        struct wire_frame frame = send_at(0);
        bool offered = opcode != WIRE_OP_FLUSH && opcode != WIRE_OP_ATOMIC_WRITE;

        if (op->name == NULL || !(op->is & WIRE_IS_REQUEST))
            continue;
        frame.opcode = (uint8_t)opcode;
        CHECK_EQ(rnic_rx_check(&qp, &frame) == RNIC_RX_UNSUPPORTED, !offered);
        unsupported += !offered;
    }
    CHECK_EQ(unsupported, 2);
}

/* Each operation has its bit; SEND has none. The PSN comes first: a repeat is no new operation. */
static void operations_have_to_be_enabled(void)
{
    static const struct {
        uint8_t opcode;
        uint32_t access;
    } cases[] = {
        {WIRE_OP_SEND_ONLY, 0},
        {WIRE_OP_SEND_ONLY_INV, 0},
        {WIRE_OP_WRITE_ONLY, RNIC_ACCESS_REMOTE_WRITE},
        {WIRE_OP_READ_REQUEST, RNIC_ACCESS_REMOTE_READ},
        {WIRE_OP_COMPARE_SWAP, RNIC_ACCESS_REMOTE_ATOMIC},
        {WIRE_OP_FETCH_ADD, RNIC_ACCESS_REMOTE_ATOMIC},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (uint32_t access = 0; access < 16; access++) {
            struct rnic_qp qp = qp_with(RNIC_RESP_OPEN);
            struct wire_frame frame = request_at(cases[i].opcode, 0);

            qp.access = access;
            CHECK_EQ(rnic_rx_check(&qp, &frame),
                     (access & cases[i].access) == cases[i].access ? RNIC_RX_NEW : RNIC_RX_INVALID);
            frame = request_at(cases[i].opcode, 0xFFFFFF);
            CHECK_EQ(rnic_rx_check(&qp, &frame), RNIC_RX_DUPLICATE);
        }
}

/* A READ or atomic does not come inside a message. */
static void reads_stand_between_messages(void)
{
    static const uint8_t opcodes[] = {WIRE_OP_READ_REQUEST, WIRE_OP_COMPARE_SWAP,
                                      WIRE_OP_FETCH_ADD};
    static const uint16_t open[] = {0, WIRE_IS_SEND, WIRE_IS_WRITE};

    for (size_t i = 0; i < 3; i++)
        for (size_t m = 0; m < 3; m++) {
            struct rnic_qp qp = qp_with(RNIC_RESP_OPEN);
            struct wire_frame frame = request_at(opcodes[i], 0);

            qp.resp.message_is = open[m];
            CHECK_EQ(rnic_rx_check(&qp, &frame), m == 0 ? RNIC_RX_NEW : RNIC_RX_INVALID);
        }
}

/* ---- go-back-0 ---- */

static void the_open_message_begins_again(void)
{
    struct rnic_qp qp = qp_with(RNIC_RESP_OPEN);
    struct wire_frame first = request_at(WIRE_OP_WRITE_FIRST, 0xFFFFFD); /* 3 before */
    struct wire_frame second = request_at(WIRE_OP_WRITE_MIDDLE, 0xFFFFFE);

    qp.resp.message_psn = first.psn;
    qp.resp.message_is = WIRE_IS_WRITE;
    CHECK_EQ(rnic_rx_check(&qp, &first), RNIC_RX_DUPLICATE); /* go-back-N */
    qp.init.recovery = RNIC_RECOVER_GO_BACK_0;
    qp.resp.nak = RNIC_RESP_SEQ_NAK;
    CHECK_EQ(rnic_rx_check(&qp, &second), RNIC_RX_DUPLICATE);
    CHECK_EQ(rnic_rx_check(&qp, &first), RNIC_RX_RESTART);
    CHECK_EQ(qp.resp.nak, RNIC_RESP_OPEN);
    qp.resp.message_is = 0; /* it is complete */
    CHECK_EQ(rnic_rx_check(&qp, &first), RNIC_RX_DUPLICATE);
    qp.resp.message_is = WIRE_IS_SEND;
    qp.resp.message_psn = (wire_psn){5};
    CHECK_EQ(rnic_rx_check(&qp, &first), RNIC_RX_DUPLICATE);
}

/* ---- UC ---- */

static void uc_takes_what_begins_and_what_continues(void)
{
    static const struct {
        uint8_t opcode;
        uint32_t distance; /* to what is expected */
        uint32_t open;     /* message_is */
        enum rnic_rx_verdict want;
    } cases[] = {
        {WIRE_OP_SEND_ONLY, 0, 0, RNIC_RX_NEW},
        {WIRE_OP_SEND_FIRST, 5, 0, RNIC_RX_NEW},       /* ahead: some are lost */
        {WIRE_OP_SEND_ONLY, 0xFFFFF0, 0, RNIC_RX_NEW}, /* behind: no repeats here */
        {WIRE_OP_WRITE_FIRST, 1, WIRE_IS_SEND, RNIC_RX_RESTART},
        {WIRE_OP_SEND_ONLY, 0, WIRE_IS_SEND, RNIC_RX_RESTART},
        {WIRE_OP_SEND_MIDDLE, 0, WIRE_IS_SEND, RNIC_RX_NEW},
        {WIRE_OP_SEND_LAST, 0, WIRE_IS_SEND, RNIC_RX_NEW},
        {WIRE_OP_WRITE_LAST, 0, WIRE_IS_WRITE, RNIC_RX_NEW},
        {WIRE_OP_WRITE_LAST, 0, WIRE_IS_SEND, RNIC_RX_LOST},
        {WIRE_OP_SEND_LAST, 0, 0, RNIC_RX_LOST},
        {WIRE_OP_SEND_LAST, 1, WIRE_IS_SEND, RNIC_RX_LOST},
        {WIRE_OP_SEND_LAST, 0xFFFFFF, WIRE_IS_SEND, RNIC_RX_LOST},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rnic_qp qp = qp_with(RNIC_RESP_OPEN);
        struct wire_frame frame =
            request_at((uint8_t)(WIRE_TRANSPORT_UC | cases[i].opcode), cases[i].distance);

        qp.type = RNIC_QPT_UC;
        qp.resp.message_is = cases[i].open;
        CHECK_EQ(rnic_rx_check(&qp, &frame), cases[i].want);
        if (cases[i].want != RNIC_RX_LOST)
            CHECK_EQ(qp.resp.psn.v, frame.psn.v);
    }
}

static void uc_operations_have_to_be_enabled(void)
{
    struct wire_frame frame = request_at(WIRE_TRANSPORT_UC | WIRE_OP_WRITE_ONLY, 0);
    struct rnic_qp qp = qp_with(RNIC_RESP_OPEN);

    qp.type = RNIC_QPT_UC;
    CHECK_EQ(rnic_rx_check(&qp, &frame), RNIC_RX_NEW);
    qp.access = RNIC_ACCESS_REMOTE_READ;
    CHECK_EQ(rnic_rx_check(&qp, &frame), RNIC_RX_INVALID);
}

static void ud_has_no_sequence(void)
{
    for (uint32_t distance = 0; distance <= WIRE_PSN_MASK; distance += 4095) {
        struct wire_frame frame = request_at(WIRE_TRANSPORT_UD | WIRE_OP_SEND_ONLY, distance);
        struct rnic_qp qp = qp_with(RNIC_RESP_OPEN);

        qp.type = RNIC_QPT_UD;
        CHECK_EQ(rnic_rx_check(&qp, &frame), RNIC_RX_NEW);
    }
}

/* ---- length ---- */

static void lengths_of_reads_and_atomics(void)
{
    static const struct {
        uint8_t opcode;
        uint32_t mtu_shift, dma_bytes, payload_bytes;
        uint64_t va;
        bool legal;
    } cases[] = {
        {WIRE_OP_READ_REQUEST, 10, 0, 0, 3, true},
        {WIRE_OP_READ_REQUEST, 10, 0x80000000u, 0, 0, true},
        {WIRE_OP_READ_REQUEST, 10, 0x80000001u, 0, 0, false},
        {WIRE_OP_READ_REQUEST, 10, 8, 8, 0, false},          /* it carries nothing */
        {WIRE_OP_READ_REQUEST, 8, 0x7FFFFF00u, 0, 0, true},  /* 2^23 - 1 responses */
        {WIRE_OP_READ_REQUEST, 8, 0x7FFFFF01u, 0, 0, false}, /* half of all PSNs */
        {WIRE_OP_COMPARE_SWAP, 10, 0, 0, 0x1000, true},
        {WIRE_OP_COMPARE_SWAP, 10, 0, 0, 0x1004, false},
        {WIRE_OP_FETCH_ADD, 10, 0, 0, 0x1008, true},
        {WIRE_OP_FETCH_ADD, 10, 0, 0, 0x1007, false},
        {WIRE_OP_FETCH_ADD, 10, 0, 8, 0x1008, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rnic_qp qp = {.mtu_bytes = 1u << cases[i].mtu_shift,
                             .mtu_shift = (uint8_t)cases[i].mtu_shift};
        struct wire_frame frame = {.opcode = cases[i].opcode,
                                   .va = cases[i].va,
                                   .dma_bytes = cases[i].dma_bytes,
                                   .payload_bytes = cases[i].payload_bytes};

        CHECK_EQ(rnic_rx_check_asked(&qp, &frame), cases[i].legal);
    }
}

/* SEND and WRITE, each by its place in the message; RC and UC the same. */
static void lengths_of_packets(void)
{
    static const uint8_t firsts[] = {WIRE_OP_SEND_FIRST, WIRE_OP_SEND_MIDDLE},
                         lasts[] = {WIRE_OP_SEND_LAST, WIRE_OP_SEND_LAST_IMM},
                         onlys[] = {WIRE_OP_SEND_ONLY, WIRE_OP_SEND_ONLY_IMM};
    const struct rnic_qp qp = qp_with(RNIC_RESP_OPEN);

    for (uint32_t bytes = 0; bytes <= MTU + 4; bytes++)
        for (unsigned i = 0; i < 4; i++) {
            uint8_t transport = i & 2 ? WIRE_TRANSPORT_UC : WIRE_TRANSPORT_RC;
            struct wire_frame frame = {.payload_bytes = bytes};

            frame.opcode = transport | firsts[i & 1];
            CHECK_EQ(rnic_rx_check_length(&qp, &frame), bytes == MTU);
            frame.opcode = transport | lasts[i & 1];
            CHECK_EQ(rnic_rx_check_length(&qp, &frame), bytes >= 1 && bytes <= MTU);
            frame.opcode = transport | onlys[i & 1];
            CHECK_EQ(rnic_rx_check_length(&qp, &frame), bytes <= MTU);
        }
}

CHECK_SUITE(rx_check, CHECK_CASE(every_psn_there_is),
            CHECK_CASE(the_expected_one_ends_what_was_refused), CHECK_CASE(what_is_supported),
            CHECK_CASE(operations_have_to_be_enabled), CHECK_CASE(reads_stand_between_messages),
            CHECK_CASE(the_open_message_begins_again),
            CHECK_CASE(uc_takes_what_begins_and_what_continues),
            CHECK_CASE(uc_operations_have_to_be_enabled), CHECK_CASE(ud_has_no_sequence),
            CHECK_CASE(lengths_of_reads_and_atomics), CHECK_CASE(lengths_of_packets))
