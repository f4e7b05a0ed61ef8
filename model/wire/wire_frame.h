/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * A frame inside the fabric: parsed headers and payload, two cache lines, no byte buffer.
 *
 * Line 0 is all that a switch or a MAC reads, plus the destination QPN; line 1 is the NIC's.
 * Addresses are stations: small integers that index the address book (wire_addr.h), where MAC and
 * GID stand. Bytes exist only where they are needed: wire_codec.h turns a frame into bytes and
 * back.
 *
 * Owns   nothing: who holds the pointer owns the frame. `payload` belongs to the frame for life
 *        (the pool attaches a slot, or NULL in a pool without bytes: phantom memory).
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include "wire_types.h"

#define WIRE_CLASSES 8u /* 802.1p priorities, PFC classes */
#define WIRE_STATION_NONE 0xFFFFFFFFu
#define WIRE_STATION_BROADCAST 0xFFFFFFFEu

enum wire_kind {
    WIRE_KIND_ROCE,  /* RoCEv2 (or RoCEv1 with WIRE_FRAME_ROCE_V1) */
    WIRE_KIND_PFC,   /* 802.1Qbb: pause_enabled, pause_quanta */
    WIRE_KIND_PAUSE, /* legacy 802.3x PAUSE: pause_quanta[0] */
    WIRE_KIND_OPAQUE /* carries somebody else's packet in `opaque` */
};

enum {
    WIRE_FRAME_VLAN = 1,    /* 802.1Q tagged: vlan_tci is valid, prio is its PCP */
    WIRE_FRAME_IPV6 = 2,    /* else IPv4 */
    WIRE_FRAME_ROCE_V1 = 4, /* EtherType 0x8915 and GRH instead of IP and UDP */
    WIRE_FRAME_CORRUPT = 8, /* a bit was hit on the line: FCS will fail at the next receiver */
    WIRE_FRAME_BYTES = 16,  /* payload[0 .. payload_bytes) holds real bytes; else phantom */
};

/* bth_flags */
enum {
    WIRE_BTH_SE = 1,  /* solicited event */
    WIRE_BTH_MIG = 2, /* MigReq */
    WIRE_BTH_ACKREQ = 4,
    WIRE_BTH_FECN = 8,
    WIRE_BTH_BECN = 16,
};

/* AETH syndrome: kind in the upper three bits, code in the lower five; IBTA 9.7.5.1.2 */
enum {
    WIRE_AETH_KIND = 0xE0,
    WIRE_AETH_CODE = 0x1F,
    WIRE_AETH_ACK = 0x00,        /* code: credits */
    WIRE_AETH_NO_CREDITS = 0x1F, /* credit code: end-to-end credits are not used */
    WIRE_AETH_RNR_NAK = 0x20,    /* code: timer */
    WIRE_AETH_NAK = 0x60,        /* code: enum wire_nak */
};

enum wire_nak {
    WIRE_NAK_SEQUENCE = 0,
    WIRE_NAK_INVALID = 1, /* invalid request */
    WIRE_NAK_ACCESS = 2,  /* remote access error */
    WIRE_NAK_OP = 3,      /* remote operational error */
    /* Not IBTA: a reserved code, between cards that both chose selective repeat. PSN is the first
     * one missing, the MSN field holds the PSN that arrived out of order (IRN, SIGCOMM'18 4.1). */
    WIRE_NAK_SELECTIVE = 16,
};

#define WIRE_MESSAGE_MAX 0x80000000u /* bytes of a message, 2^31; IBTA 9.7.2 */

struct wire_frame {
    /* ---- line 0: switch and MAC ---- */
    struct wire_frame *next;   /* free for whoever holds the frame: queue link, free list */
    uint32_t frame_bytes;      /* on the line with FCS, without preamble and gap; >= 64 */
    uint32_t src, dst;         /* stations of the IP (or GRH) addresses */
    uint32_t eth_src, eth_dst; /* stations of the MAC addresses; rewritten at every routed hop */
    uint32_t dest_qpn;         /* 24 bits */
    uint16_t udp_sport;
    uint16_t ip_id;
    uint16_t vlan_tci;
    uint16_t pkey;
    uint8_t kind;   /* enum wire_kind */
    uint8_t opcode; /* BTH opcode */
    uint8_t tos;    /* DSCP << 2 | ECN */
    uint8_t ttl;
    uint8_t prio;       /* traffic class 0..7: PCP when tagged, else DSCP >> 3 */
    uint8_t flags;      /* WIRE_FRAME_* */
    uint16_t in_port;   /* switch scratch: where it came in */
    uint32_t in_charge; /* switch scratch: class of in_port that is charged for it */
    uint64_t ready_ps;  /* holder's scratch: not to be sent before */

    /* ---- line 1: NIC ---- */
    wire_psn psn;
    uint8_t bth_flags;      /* WIRE_BTH_* */
    uint8_t syndrome;       /* AETH */
    uint16_t pause_enabled; /* PFC: bit p set: pause_quanta[p] is valid */
    uint32_t msn;           /* AETH, 24 bits */
    uint32_t imm;           /* ImmDt, IETH R_Key or FETH; a number, big-endian on the wire */
    union {
        uint64_t va; /* RETH, AtomicETH */
        struct {
            uint32_t qkey, src_qpn; /* DETH */
        } deth;
        uint64_t orig; /* AtomicAckETH */
    };
    uint32_t rkey;
    uint32_t dma_bytes; /* RETH DMALen */
    union {
        struct {
            uint8_t *payload;       /* slot of this frame, or NULL */
            uint32_t payload_bytes; /* without pad */
            uint32_t tag;           /* sender's scratch for traces (WQE index) */
        };
        void *opaque; /* WIRE_KIND_OPAQUE */
    };
    union {
        struct {
            uint64_t swap_add, compare; /* AtomicETH */
        };
        uint16_t pause_quanta[WIRE_CLASSES]; /* PFC: of 512 bit times, 0 resumes; PAUSE: [0] */
    };
};

static_assert(offsetof(struct wire_frame, psn) == 64, "line 0 is one cache line");
static_assert(sizeof(struct wire_frame) == 128, "a frame is two cache lines");

#define WIRE_ECN_MASK 3u
#define WIRE_ECN_NOT_ECT 0u
#define WIRE_ECN_ECT1 1u
#define WIRE_ECN_ECT0 2u
#define WIRE_ECN_CE 3u

/* Why a frame was discarded; one space for NIC, switch and link, so that counters add up. */
#define WIRE_DROPS(X)                                                                              \
    X(NONE, "none", "not dropped")                                                                 \
    X(LINK_LOSS, "link_loss", "lost on the line (loss parameter)")                                 \
    X(LINK_DOWN, "link_down", "on the line while it was down")                                     \
    X(FCS, "fcs", "corrupted on the line: Ethernet FCS wrong")                                     \
    X(TRUNCATED, "truncated", "shorter than its headers claim")                                    \
    X(ETHERTYPE, "ethertype", "not IPv4, IPv6, RoCE or MAC control")                               \
    X(IP_VERSION, "ip_version", "IP version does not match the EtherType, or IPv4 has options")    \
    X(IP_CHECKSUM, "ip_checksum", "IPv4 header checksum wrong")                                    \
    X(IP_FRAGMENT, "ip_fragment", "IP fragment: RoCEv2 packets are never fragmented")              \
    X(IP_PROTOCOL, "ip_protocol", "IP payload is not UDP (GRH: not a BTH)")                        \
    X(UDP_PORT, "udp_port", "UDP destination port is not 4791")                                    \
    X(UDP_LENGTH, "udp_length", "UDP length below 8 or beyond the IP payload")                     \
    X(RUNT, "runt", "too short for BTH and ICRC, or for the headers its opcode asks for")          \
    X(OPCODE, "opcode", "reserved opcode")                                                         \
    X(TVER, "tver", "BTH transport version is not 0")                                              \
    X(PAD, "pad", "pad count does not fit the payload")                                            \
    X(ICRC, "icrc", "invariant CRC wrong")                                                         \
    X(MAC_CONTROL, "mac_control", "MAC control frame with an unknown opcode")                      \
    X(DEST_MAC, "dest_mac", "for another station")                                                 \
    X(QPN, "qpn", "no such queue pair")                                                            \
    X(TRANSPORT, "transport", "opcode class does not match the queue pair's type")                 \
    X(QP_STATE, "qp_state", "queue pair is not in a state that takes this packet")                 \
    X(PKEY, "pkey", "partition key mismatch")                                                      \
    X(ADDRESS, "address", "source is not the queue pair's peer")                                   \
    X(QKEY, "qkey", "UD queue key mismatch")                                                       \
    X(PSN_GAP, "psn_gap", "request behind a sequence gap (UC: rest of a message that was lost)")   \
    X(DUPLICATE, "duplicate", "repeated request, data discarded and acknowledged again")           \
    X(RNR_WAIT, "rnr_wait", "request behind one refused with RNR NAK")                             \
    X(NO_RECV, "no_recv", "no receive request (UC, UD)")                                           \
    X(STALE_ACK, "stale_ack", "acknowledge outside what is in flight")                             \
    X(BAD_RESPONSE, "bad_response", "response that does not fit its request")                      \
    X(REFUSED, "refused", "request refused: key, length or operation (RC: with a NAK)")            \
    X(UNSUPPORTED, "unsupported", "operation this device does not offer")                          \
    X(TTL, "ttl", "time to live reached zero")                                                     \
    X(NO_ROUTE, "no_route", "switch knows no way to the destination")                              \
    X(ROCE_V1_ROUTED, "rocev1_routed", "RoCEv1 must not leave its broadcast domain")               \
    X(L2_FILTER, "l2_filter", "bridge: the destination is where the frame came from")              \
    X(BUFFER, "buffer", "switch buffer: no room in shared pool or headroom")                       \
    X(NO_LISTENER, "no_listener", "opaque frame nobody takes")

enum wire_drop {
#define WIRE_DROP_ENUM(id, name, text) WIRE_DROP_##id,
    WIRE_DROPS(WIRE_DROP_ENUM)
#undef WIRE_DROP_ENUM
        WIRE_DROP_COUNT
};

/** Short lower-case name of a drop reason, as in summary.json. */
const char *wire_drop_name(enum wire_drop drop);
/** One line for people. */
const char *wire_drop_text(enum wire_drop drop);

#endif
