/* SPDX-License-Identifier: GPL-2.0-only */
/* The PSN check alone: every distance, and one NAK per loss event. Sequences: rc_responder_test. */
#include "check.h"
#include "rnic_rx_check.h"

#define PSN 0xFFFFFFu /* expected */

static struct rnic_qp qp_with(uint8_t nak)
{
    return (struct rnic_qp){.mtu_bytes = 1024,
                            .mtu_shift = 10,
                            .access = RNIC_ACCESS_REMOTE_WRITE,
                            .resp = {.psn = {PSN}, .nak = nak}};
}

static struct wire_frame send_at(uint32_t distance)
{
    return (struct wire_frame){.opcode = WIRE_OP_SEND_ONLY,
                               .psn = {(PSN + distance) & WIRE_PSN_MASK}};
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
    for (unsigned opcode = 0; opcode < 0x20; opcode++) {
        const struct wire_opcode *op = &wire_opcodes[opcode];
        struct rnic_qp qp = qp_with(RNIC_RESP_OPEN);
        struct wire_frame frame = send_at(0);

        if (op->name == NULL || !(op->is & WIRE_IS_REQUEST))
            continue;
        frame.opcode = (uint8_t)opcode;
        CHECK_EQ(rnic_rx_check(&qp, &frame) == RNIC_RX_UNSUPPORTED,
                 opcode > WIRE_OP_WRITE_ONLY_IMM);
    }
}

CHECK_SUITE(rx_check, CHECK_CASE(every_psn_there_is),
            CHECK_CASE(the_expected_one_ends_what_was_refused), CHECK_CASE(what_is_supported))
