/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The opcode table as data: what each of the 256 BTH opcodes carries and means.
 *
 * Spec   IBTA Vol 1 table 38 (9.2.1); CNP: annex A17
 */
#ifndef WIRE_OPCODE_H
#define WIRE_OPCODE_H

#include "wire_types.h"

enum wire_transport {
    WIRE_TRANSPORT_RC = 0x00,
    WIRE_TRANSPORT_UC = 0x20,
    WIRE_TRANSPORT_RD = 0x40,
    WIRE_TRANSPORT_UD = 0x60,
    WIRE_TRANSPORT_CNP = 0x80,
    WIRE_TRANSPORT_XRC = 0xA0,
    WIRE_TRANSPORT_MASK = 0xE0,
};

/* Low five bits, for RC and UC (and UD for SEND_ONLY). */
enum wire_op {
    WIRE_OP_SEND_FIRST = 0x00,
    WIRE_OP_SEND_MIDDLE = 0x01,
    WIRE_OP_SEND_LAST = 0x02,
    WIRE_OP_SEND_LAST_IMM = 0x03,
    WIRE_OP_SEND_ONLY = 0x04,
    WIRE_OP_SEND_ONLY_IMM = 0x05,
    WIRE_OP_WRITE_FIRST = 0x06,
    WIRE_OP_WRITE_MIDDLE = 0x07,
    WIRE_OP_WRITE_LAST = 0x08,
    WIRE_OP_WRITE_LAST_IMM = 0x09,
    WIRE_OP_WRITE_ONLY = 0x0A,
    WIRE_OP_WRITE_ONLY_IMM = 0x0B,
    WIRE_OP_READ_REQUEST = 0x0C,
    WIRE_OP_READ_RESP_FIRST = 0x0D,
    WIRE_OP_READ_RESP_MIDDLE = 0x0E,
    WIRE_OP_READ_RESP_LAST = 0x0F,
    WIRE_OP_READ_RESP_ONLY = 0x10,
    WIRE_OP_ACKNOWLEDGE = 0x11,
    WIRE_OP_ATOMIC_ACKNOWLEDGE = 0x12,
    WIRE_OP_COMPARE_SWAP = 0x13,
    WIRE_OP_FETCH_ADD = 0x14,
    WIRE_OP_SEND_LAST_INV = 0x16,
    WIRE_OP_SEND_ONLY_INV = 0x17,
    WIRE_OP_FLUSH = 0x1C,
    WIRE_OP_ATOMIC_WRITE = 0x1D,
    WIRE_OP_CNP = 0x81, /* whole opcode */
};

/* wire_opcode.has: headers after the BTH, in this order on the wire */
enum {
    WIRE_HAS_DETH = 1,
    WIRE_HAS_FETH = 2,
    WIRE_HAS_RETH = 4,
    WIRE_HAS_ATOMIC = 8,
    WIRE_HAS_AETH = 16,
    WIRE_HAS_ATOMIC_ACK = 32,
    WIRE_HAS_IMM = 64,
    WIRE_HAS_IETH = 128,
    WIRE_HAS_PAYLOAD = 256,
    WIRE_HAS_CNP_PAD = 512, /* 16 zero bytes */
};

/* wire_opcode.is */
enum {
    WIRE_IS_REQUEST = 1,
    WIRE_IS_RESPONSE = 2,
    WIRE_IS_FIRST = 4,  /* starts a message of several packets: payload is one path MTU */
    WIRE_IS_MIDDLE = 8, /* payload is one path MTU */
    WIRE_IS_LAST = 16,  /* payload 1 .. MTU */
    WIRE_IS_ONLY = 32,  /* payload 0 .. MTU */
    WIRE_IS_SEND = 64,
    WIRE_IS_WRITE = 128,
    WIRE_IS_READ = 256,
    WIRE_IS_ATOMIC = 512,
};

struct wire_opcode {
    const char *name;     /* "RC_RDMA_WRITE_FIRST"; NULL: reserved */
    uint16_t has;         /* WIRE_HAS_* */
    uint16_t is;          /* WIRE_IS_* */
    uint8_t header_bytes; /* extended headers after the BTH (CNP pad included) */
};

extern const struct wire_opcode wire_opcodes[256];

#endif
