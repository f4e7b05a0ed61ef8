/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Frames as bytes: wire_packet is everything the bytes say, wire_frame what the fabric needs.
 *
 * Decode gives a wire_packet (every field, so that encoding it again yields the same bytes) or a
 * drop reason; the two frame functions join the two worlds through the address book. Bytes are
 * Ethernet frames from the destination MAC on, without FCS (as pcap has them).
 *
 * Spec   wire formats: IEEE 802.3, 802.1Q, 802.1Qbb, RFC 791, RFC 8200, RFC 768, IBTA Vol 1 ch. 9
 *        and annexes A16/A17
 * Cost   one pass over the bytes, plus one for the ICRC; allocates nothing
 */
#ifndef WIRE_CODEC_H
#define WIRE_CODEC_H

#include "wire_addr.h"
#include "wire_frame.h"
#include "wire_icrc.h"
#include "wire_opcode.h"

#define WIRE_FCS_BYTES 4u
#define WIRE_ICRC_BYTES 4u
#define WIRE_MIN_FRAME_BYTES 64u   /* with FCS */
#define WIRE_MAX_HEADER_BYTES 134u /* 18 + IPv6 40 + UDP 8 + BTH 12 + 52 more + ICRC 4 */
#define WIRE_ROCE_UDP_PORT 4791u
#define WIRE_GRH_BYTES 40u

#define WIRE_ETHERTYPE_IPV4 0x0800u
#define WIRE_ETHERTYPE_VLAN 0x8100u
#define WIRE_ETHERTYPE_IPV6 0x86DDu
#define WIRE_ETHERTYPE_MAC_CONTROL 0x8808u
#define WIRE_ETHERTYPE_ROCE_V1 0x8915u
#define WIRE_MAC_CONTROL_PAUSE 0x0001u
#define WIRE_MAC_CONTROL_PFC 0x0101u
#define WIRE_IP_PROTOCOL_UDP 17u
#define WIRE_IP_PROTOCOL_BTH 0x1Bu /* GRH: next header is the BTH */

struct wire_packet {
    enum wire_kind kind;
    uint8_t eth_dst[6], eth_src[6];
    uint16_t ethertype; /* after any tag */
    bool tagged;
    uint16_t vlan_tci;
    /* network layer (RoCEv2) or GRH (RoCEv1) */
    uint8_t ip_version; /* 4, 6 */
    uint8_t tos, ttl;
    uint16_t ip_id;       /* IPv4 */
    uint16_t ip_frag;     /* IPv4 flags and offset; 0x4000 = DF */
    uint16_t ip_checksum; /* IPv4; encode writes the right one when ip_checksum_auto */
    bool ip_checksum_auto;
    uint32_t flow_label;            /* IPv6 */
    uint8_t ip_src[16], ip_dst[16]; /* as GIDs */
    uint16_t udp_sport, udp_checksum;
    /* transport */
    uint8_t opcode, bth_flags, pad, tver, bth_resv6, bth_resv7;
    uint8_t pad_bytes[3]; /* what the pad holds; zeros when all is well */
    uint16_t pkey;
    uint32_t dest_qpn;
    wire_psn psn;
    uint8_t syndrome;
    uint32_t msn;
    uint32_t imm;           /* ImmDt, IETH R_Key or FETH */
    uint32_t qkey, src_qpn; /* DETH */
    uint8_t deth_resv;
    uint64_t va;
    uint32_t rkey, dma_bytes;
    uint64_t swap_add, compare, orig;
    const uint8_t *cnp_pad;  /* the 16 reserved bytes of a CNP; NULL: zeros */
    const uint8_t *payload;  /* into the decoded buffer, or the caller's; NULL: zeros */
    uint32_t payload_bytes;  /* without pad; what is there, also where the opcode has none */
    uint32_t icrc;           /* as a number; its least significant byte goes first on the wire */
    bool icrc_auto;          /* encode computes it */
    const uint8_t *trailer;  /* NULL: zeros */
    uint32_t trailer_bytes;  /* Ethernet padding after the ICRC (MAC control: after the fields) */
    uint16_t ip_slack_bytes; /* of these, what the IP length counts beyond the UDP length */
    /* MAC control */
    uint16_t pause_enabled;
    uint16_t pause_quanta[WIRE_CLASSES]; /* legacy PAUSE: [0] */
};

enum { WIRE_DECODE_SKIP_ICRC = 1 };

/**
 * Parse one Ethernet frame. Rules are tried from the outside in, the ICRC last. All that encode
 * needs to give the same bytes again is in the packet: ip_checksum_auto and icrc_auto are false.
 *
 * @param bytes   n bytes from the destination MAC on, without FCS
 * @param flags   WIRE_DECODE_SKIP_ICRC: do not verify (packet->icrc still says what was there)
 * @param packet  filled as far as parsing came, also when dropped
 * @return WIRE_DROP_NONE, or the first rule the frame breaks: all the stateless silent-drop rules.
 */
enum wire_drop wire_decode(const uint8_t *bytes, size_t n, unsigned flags,
                           struct wire_packet *packet);

/**
 * Write one Ethernet frame without FCS, exactly as the packet says: the layout follows ethertype
 * (and kind for MAC control), nothing is padded to the minimum.
 *
 * @return its length, or 0 when @p capacity is too small, the opcode is reserved, the ethertype is
 *         none of ours or a 16-bit length field would overflow: nothing is promised about the
 *         buffer then.
 */
size_t wire_encode(const struct wire_packet *packet, uint8_t *bytes, size_t capacity);

/**
 * The 40 bytes ahead of the data in a UD receive buffer: the GRH (RoCEv1) or IPv6 header, or 20
 * bytes of 0 and the IPv4 header, as they are on the line.
 * Spec: IBTA annex A17; with IPv4 as Linux rxe writes it, the standard leaves the first 20 open
 */
void wire_encode_grh(const struct wire_packet *packet, uint8_t grh[WIRE_GRH_BYTES]);

/** The same of a frame; all 0 for an IPv4 frame of a station whose GID is not IPv4. */
void wire_frame_grh(const struct wire_frame *frame, const struct wire_addr_book *book,
                    uint8_t grh[WIRE_GRH_BYTES]);

/**
 * Frame to bytes, padded to the Ethernet minimum; phantom payload is written as zeros. Flow label,
 * UDP checksum and reserved bits are 0, DF is set. WIRE_FRAME_CORRUPT is not in the bytes: that is
 * the FCS's business.
 *
 * @return length; 0: capacity too small, an opaque frame, or an IPv4 frame of a station whose GID
 *         is not IPv4.
 */
size_t wire_frame_encode(const struct wire_frame *frame, const struct wire_addr_book *book,
                         uint8_t *bytes, size_t capacity);

/**
 * Bytes to frame. Fills every header field; `next`, in_port, in_charge and ready_ps are the
 * holder's and left alone. Payload is copied to frame->payload when the frame has a slot and
 * WIRE_FRAME_BYTES is to be set (@p with_bytes), else only its length is taken.
 * The slot must hold n bytes less the headers; its size is the caller's to check. MAC control: src
 * and dst are eth_src and eth_dst.
 * @return as wire_decode, or WIRE_DROP_ADDRESS when an address is in no book; nothing but header
 *         fields is touched then, and they are worth nothing.
 */
enum wire_drop wire_frame_decode(struct wire_frame *frame, const struct wire_addr_book *book,
                                 const uint8_t *bytes, size_t n, bool with_bytes);

/**
 * The same of a @p packet that wire_decode has made of @p n bytes, and that passed: its payload
 * still points into them.
 */
enum wire_drop wire_frame_from_packet(struct wire_frame *frame, const struct wire_addr_book *book,
                                      const struct wire_packet *packet, size_t n, bool with_bytes);

/**
 * Traffic class of any Ethernet frame, by the rule of struct wire_frame: PCP when it is tagged,
 * else DSCP >> 3 of IPv4 and IPv6, else 0. @param n  at least 14
 */
uint8_t wire_frame_class(const uint8_t *bytes, size_t n);

/**
 * Length on the line with FCS of a RoCE frame: headers by flags and opcode, payload, pad, ICRC,
 * FCS, at least 64. What rnic_tx_build and the codec agree on.
 */
uint32_t wire_frame_length(uint8_t opcode, uint8_t frame_flags, uint32_t payload_bytes);

/** No frame with @p payload_bytes of payload or less is longer on the line, FCS counted. */
static inline uint32_t wire_frame_max_bytes(uint64_t payload_bytes)
{
    return (uint32_t)payload_bytes + WIRE_MAX_HEADER_BYTES + WIRE_FCS_BYTES;
}

#endif
