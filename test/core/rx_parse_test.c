/* SPDX-License-Identifier: GPL-2.0-only */
/* The silent drops alone: one rule each, in their order. */
#include "check.h"
#include "rnic_rx_parse.h"
#include "wire_opcode.h"

#define STATION 4u
#define PEER 9u
#define QPN 3u
#define QKEY 0x80010000u

static struct rnic_qp qp;
static struct rnic_qp *by_number[QPN + 1];
static struct rnic_table_qp table;

static struct wire_frame good(enum rnic_qp_type type)
{
    static const uint8_t transports[] = {WIRE_TRANSPORT_RC, WIRE_TRANSPORT_UC, WIRE_TRANSPORT_UD};
    struct wire_frame frame = {.src = PEER,
                               .dst = STATION,
                               .eth_dst = STATION,
                               .dest_qpn = QPN,
                               .pkey = 0xFFFF,
                               .opcode = (uint8_t)(transports[type] | WIRE_OP_SEND_ONLY)};

    qp = (struct rnic_qp){.qpn = QPN, .type = (uint8_t)type, .state = RNIC_QPS_RTS, .qkey = QKEY};
    qp.path.dest_station = type == RNIC_QPT_UD ? WIRE_STATION_NONE : PEER;
    by_number[QPN] = &qp;
    table = (struct rnic_table_qp){.qp = by_number, .n = QPN + 1};
    if (type == RNIC_QPT_UD)
        frame.deth.qkey = QKEY;
    return frame;
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
    struct wire_frame f = good(RNIC_QPT_RC);

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

/* A bridge that floods gives us frames for others, with our IP address or without. */
static void the_mac_address_is_ours_or_everybodys(void)
{
    struct wire_frame f = good(RNIC_QPT_RC);

    f.eth_dst = 5;
    CHECK_EQ(parse(&f), WIRE_DROP_DEST_MAC);
    f.eth_dst = WIRE_STATION_BROADCAST;
    CHECK_EQ(parse(&f), WIRE_DROP_NONE);
    f.dst = WIRE_STATION_BROADCAST; /* no queue pair is in a multicast group */
    CHECK_EQ(parse(&f), WIRE_DROP_DEST_MAC);
}

/* RC and UC hear one peer, with the kind of address it has. */
static void the_peer_alone(void)
{
    static const uint8_t kinds[] = {0, WIRE_FRAME_IPV6, WIRE_FRAME_ROCE_V1};

    for (unsigned type = RNIC_QPT_RC; type <= RNIC_QPT_UC; type++)
        for (size_t ours = 0; ours < 3; ours++)
            for (size_t its = 0; its < 3; its++) {
                struct wire_frame f = good((enum rnic_qp_type)type);

                qp.path.frame_flags = kinds[ours];
                f.flags = kinds[its] | WIRE_FRAME_VLAN | WIRE_FRAME_BYTES;
                CHECK_EQ(parse(&f), ours == its ? WIRE_DROP_NONE : WIRE_DROP_ADDRESS);
                f.src = PEER + 1;
                CHECK_EQ(parse(&f), WIRE_DROP_ADDRESS);
            }
}

/* UD hears everybody who knows the queue key. */
static void the_queue_key(void)
{
    static const uint8_t kinds[] = {0, WIRE_FRAME_IPV6, WIRE_FRAME_ROCE_V1};

    for (size_t i = 0; i < 3; i++)
        for (uint32_t src = 0; src < 20; src++) {
            struct wire_frame f = good(RNIC_QPT_UD);

            f.src = src;
            f.flags = kinds[i];
            CHECK_EQ(parse(&f), WIRE_DROP_NONE);
            f.deth.qkey ^= 1;
            CHECK_EQ(parse(&f), WIRE_DROP_QKEY);
            f.pkey = 0;
            CHECK_EQ(parse(&f), WIRE_DROP_PKEY);
        }
}

/* Limited and full members of our partition, and no other. */
static void partition_keys(void)
{
    for (uint32_t pkey = 0; pkey <= 0xFFFF; pkey++) {
        struct wire_frame f = good(RNIC_QPT_RC);

        f.pkey = (uint16_t)pkey;
        CHECK_EQ(parse(&f), pkey == 0xFFFF || pkey == 0x7FFF ? WIRE_DROP_NONE : WIRE_DROP_PKEY);
    }
}

static void every_opcode_on_every_service(void)
{
    for (unsigned type = RNIC_QPT_RC; type <= RNIC_QPT_UD; type++)
        for (unsigned opcode = 0; opcode < 256; opcode++) {
            struct wire_frame f = good((enum rnic_qp_type)type);
            bool its = opcode == WIRE_OP_CNP
                           ? type != RNIC_QPT_UD
                           : (opcode & WIRE_TRANSPORT_MASK) == (f.opcode & WIRE_TRANSPORT_MASK);

            f.opcode = (uint8_t)opcode;
            CHECK_EQ(parse(&f), wire_opcodes[opcode].name == NULL ? WIRE_DROP_OPCODE
                                : its                             ? WIRE_DROP_NONE
                                                                  : WIRE_DROP_TRANSPORT);
        }
}

static void states(void)
{
    static const uint8_t opcodes[] = {WIRE_OP_SEND_ONLY, WIRE_OP_ACKNOWLEDGE, WIRE_OP_CNP};

    for (uint8_t state = RNIC_QPS_RESET; state <= RNIC_QPS_ERR; state++)
        for (size_t i = 0; i < 3; i++) {
            struct wire_frame f = good(RNIC_QPT_RC);
            bool request = i != 1; /* a CNP slows READ responses down: as requests */
            bool takes = state == RNIC_QPS_RTS || state == RNIC_QPS_SQD ||
                         (request && (state == RNIC_QPS_RTR || state == RNIC_QPS_SQE));

            qp.state = state;
            f.opcode = opcodes[i];
            CHECK_EQ(parse(&f), takes ? WIRE_DROP_NONE : WIRE_DROP_QP_STATE);
        }
}

CHECK_SUITE(rx_parse, CHECK_CASE(one_rule_after_the_other),
            CHECK_CASE(the_mac_address_is_ours_or_everybodys), CHECK_CASE(the_peer_alone),
            CHECK_CASE(the_queue_key), CHECK_CASE(partition_keys),
            CHECK_CASE(every_opcode_on_every_service), CHECK_CASE(states))
