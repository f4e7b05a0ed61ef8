/* SPDX-License-Identifier: GPL-2.0-only */
/* The silent drops alone: one rule each, in their order. */
#include "check.h"
#include "rnic_rx_parse.h"
#include "wire_opcode.h"

#define STATION 4u
#define QPN 3u

static struct rnic_qp qp;
static struct rnic_qp *by_number[QPN + 1];
static struct rnic_table_qp table;

static struct wire_frame good(void)
{
    qp = (struct rnic_qp){.qpn = QPN, .state = RNIC_QPS_RTS, .dest_station = 9};
    by_number[QPN] = &qp;
    table = (struct rnic_table_qp){.qp = by_number, .n = QPN + 1};
    return (struct wire_frame){
        .src = 9, .dst = STATION, .dest_qpn = QPN, .pkey = 0xFFFF, .opcode = WIRE_OP_SEND_ONLY};
}

static enum wire_drop parse(const struct wire_frame *frame)
{
    struct rnic_qp *found = NULL;
    enum wire_drop drop = rnic_rx_parse(&table, frame, STATION, &found);

    CHECK_EQ(found == &qp, drop == WIRE_DROP_NONE);
    return drop;
}

static void one_rule_after_the_other(void)
{
    struct wire_frame f = good();

    CHECK_EQ(parse(&f), WIRE_DROP_NONE);
    f.src = 8;
    CHECK_EQ(parse(&f), WIRE_DROP_ADDRESS);
    f.pkey = 0x7FFE;
    CHECK_EQ(parse(&f), WIRE_DROP_PKEY);
    qp.state = RNIC_QPS_ERR;
    CHECK_EQ(parse(&f), WIRE_DROP_QP_STATE);
    f.opcode = WIRE_TRANSPORT_UC | WIRE_OP_SEND_ONLY;
    CHECK_EQ(parse(&f), WIRE_DROP_TRANSPORT);
    f.dest_qpn = 2;
    CHECK_EQ(parse(&f), WIRE_DROP_QPN);
    f.opcode = 0x15;
    CHECK_EQ(parse(&f), WIRE_DROP_OPCODE);
    f.dst = 5;
    CHECK_EQ(parse(&f), WIRE_DROP_DEST_MAC);
    f.flags = WIRE_FRAME_CORRUPT;
    CHECK_EQ(parse(&f), WIRE_DROP_FCS);
}

/* Limited and full members of our partition, and no other. */
static void partition_keys(void)
{
    for (uint32_t pkey = 0; pkey <= 0xFFFF; pkey++) {
        struct wire_frame f = good();

        f.pkey = (uint16_t)pkey;
        CHECK_EQ(parse(&f), pkey == 0xFFFF || pkey == 0x7FFF ? WIRE_DROP_NONE : WIRE_DROP_PKEY);
    }
}

static void every_opcode(void)
{
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        struct wire_frame f = good();

        f.opcode = (uint8_t)opcode;
        CHECK_EQ(parse(&f), wire_opcodes[opcode].name == NULL        ? WIRE_DROP_OPCODE
                            : opcode < 0x20 || opcode == WIRE_OP_CNP ? WIRE_DROP_NONE
                                                                     : WIRE_DROP_TRANSPORT);
    }
}

static void states(void)
{
    static const uint8_t opcodes[] = {WIRE_OP_SEND_ONLY, WIRE_OP_ACKNOWLEDGE, WIRE_OP_CNP};

    for (uint8_t state = RNIC_QPS_RESET; state <= RNIC_QPS_ERR; state++)
        for (size_t i = 0; i < 3; i++) {
            struct wire_frame f = good();
            bool request = i == 0;
            bool takes = state == RNIC_QPS_RTS || state == RNIC_QPS_SQD ||
                         (request && (state == RNIC_QPS_RTR || state == RNIC_QPS_SQE));

            qp.state = state;
            f.opcode = opcodes[i];
            CHECK_EQ(parse(&f), takes ? WIRE_DROP_NONE : WIRE_DROP_QP_STATE);
        }
}

CHECK_SUITE(rx_parse, CHECK_CASE(one_rule_after_the_other), CHECK_CASE(partition_keys),
            CHECK_CASE(every_opcode), CHECK_CASE(states))
