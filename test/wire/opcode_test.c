/* SPDX-License-Identifier: GPL-2.0-only */
/* The opcode table against a second list, written by value from the specification's table. */
#include "check.h"
#include "wire_opcode.h"

#include <stdbool.h>

struct row {
    uint8_t opcode;
    const char *name;
    unsigned header_bytes;
    bool payload;
};

static const struct row rows[] = {
    {0x00, "RC_SEND_FIRST", 0, true},
    {0x01, "RC_SEND_MIDDLE", 0, true},
    {0x02, "RC_SEND_LAST", 0, true},
    {0x03, "RC_SEND_LAST_IMM", 4, true},
    {0x04, "RC_SEND_ONLY", 0, true},
    {0x05, "RC_SEND_ONLY_IMM", 4, true},
    {0x06, "RC_RDMA_WRITE_FIRST", 16, true},
    {0x07, "RC_RDMA_WRITE_MIDDLE", 0, true},
    {0x08, "RC_RDMA_WRITE_LAST", 0, true},
    {0x09, "RC_RDMA_WRITE_LAST_IMM", 4, true},
    {0x0A, "RC_RDMA_WRITE_ONLY", 16, true},
    {0x0B, "RC_RDMA_WRITE_ONLY_IMM", 20, true},
    {0x0C, "RC_RDMA_READ_REQUEST", 16, false},
    {0x0D, "RC_RDMA_READ_RESP_FIRST", 4, true},
    {0x0E, "RC_RDMA_READ_RESP_MIDDLE", 0, true},
    {0x0F, "RC_RDMA_READ_RESP_LAST", 4, true},
    {0x10, "RC_RDMA_READ_RESP_ONLY", 4, true},
    {0x11, "RC_ACKNOWLEDGE", 4, false},
    {0x12, "RC_ATOMIC_ACKNOWLEDGE", 12, false},
    {0x13, "RC_COMPARE_SWAP", 28, false},
    {0x14, "RC_FETCH_ADD", 28, false},
    {0x16, "RC_SEND_LAST_INV", 4, true},
    {0x17, "RC_SEND_ONLY_INV", 4, true},
    {0x1C, "RC_FLUSH", 20, false},
    {0x1D, "RC_ATOMIC_WRITE", 16, true},
    {0x20, "UC_SEND_FIRST", 0, true},
    {0x21, "UC_SEND_MIDDLE", 0, true},
    {0x22, "UC_SEND_LAST", 0, true},
    {0x23, "UC_SEND_LAST_IMM", 4, true},
    {0x24, "UC_SEND_ONLY", 0, true},
    {0x25, "UC_SEND_ONLY_IMM", 4, true},
    {0x26, "UC_RDMA_WRITE_FIRST", 16, true},
    {0x27, "UC_RDMA_WRITE_MIDDLE", 0, true},
    {0x28, "UC_RDMA_WRITE_LAST", 0, true},
    {0x29, "UC_RDMA_WRITE_LAST_IMM", 4, true},
    {0x2A, "UC_RDMA_WRITE_ONLY", 16, true},
    {0x2B, "UC_RDMA_WRITE_ONLY_IMM", 20, true},
    {0x64, "UD_SEND_ONLY", 8, true},
    {0x65, "UD_SEND_ONLY_IMM", 12, true},
    {0x81, "CNP", 16, false},
};

static void table_is_the_list(void)
{
    size_t next = 0;

    for (unsigned opcode = 0; opcode < 256; opcode++) {
        const struct wire_opcode *op = &wire_opcodes[opcode];

        if (next == sizeof(rows) / sizeof(rows[0]) || rows[next].opcode != opcode) {
            CHECK(op->name == NULL); /* reserved */
            CHECK_EQ(op->has | op->is | op->header_bytes, 0);
            continue;
        }
        CHECK_STR(op->name, rows[next].name);
        CHECK_EQ(op->header_bytes, rows[next].header_bytes);
        CHECK_EQ((op->has & WIRE_HAS_PAYLOAD) != 0, rows[next].payload);
        next++;
    }
    CHECK_EQ(next, sizeof(rows) / sizeof(rows[0]));
}

/* What the name says, the flags say. */
static void flags_follow_names(void)
{
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        const struct wire_opcode *op = &wire_opcodes[opcode];
        const char *name = op->name;
        bool response;

        if (name == NULL)
            continue;
        response = strstr(name, "RESP") != NULL || strstr(name, "ACKNOWLEDGE") != NULL;
        CHECK_EQ((op->is & WIRE_IS_RESPONSE) != 0, response);
        CHECK_EQ((op->is & WIRE_IS_REQUEST) != 0, !response && opcode != WIRE_OP_CNP);
        CHECK_EQ((op->is & WIRE_IS_FIRST) != 0, strstr(name, "_FIRST") != NULL);
        CHECK_EQ((op->is & WIRE_IS_MIDDLE) != 0, strstr(name, "_MIDDLE") != NULL);
        CHECK_EQ((op->is & WIRE_IS_LAST) != 0, strstr(name, "_LAST") != NULL);
        CHECK_EQ((op->is & WIRE_IS_ONLY) != 0, strstr(name, "_ONLY") != NULL);
        CHECK_EQ((op->is & WIRE_IS_SEND) != 0, strstr(name, "_SEND_") != NULL);
        CHECK_EQ((op->is & WIRE_IS_WRITE) != 0, strstr(name, "_RDMA_WRITE_") != NULL);
        CHECK_EQ((op->is & WIRE_IS_READ) != 0, strstr(name, "_READ_") != NULL);
        CHECK_EQ((op->has & WIRE_HAS_IMM) != 0, strstr(name, "_IMM") != NULL);
        CHECK_EQ((op->has & WIRE_HAS_IETH) != 0, strstr(name, "_INV") != NULL);
    }
}

static void transports_are_the_top_bits(void)
{
    static const struct {
        enum wire_transport transport;
        const char *prefix;
    } kinds[] = {{WIRE_TRANSPORT_RC, "RC_"},
                 {WIRE_TRANSPORT_UC, "UC_"},
                 {WIRE_TRANSPORT_UD, "UD_"},
                 {WIRE_TRANSPORT_CNP, "CNP"}};

    for (unsigned opcode = 0; opcode < 256; opcode++) {
        if (wire_opcodes[opcode].name == NULL)
            continue;
        for (size_t i = 0; i < 4; i++)
            CHECK_EQ(strncmp(wire_opcodes[opcode].name, kinds[i].prefix, 3) == 0,
                     (opcode & WIRE_TRANSPORT_MASK) == kinds[i].transport);
    }
}

CHECK_SUITE(opcode, CHECK_CASE(table_is_the_list), CHECK_CASE(flags_follow_names),
            CHECK_CASE(transports_are_the_top_bits))
