/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * A decoded packet as text, for people and for grep: words and key=value pairs, one blank between.
 *
 * Each function appends to a text, cuts what does not fit and always ends it with a zero.
 * Numbers with 0x are hexadecimal, all others decimal.
 *
 * Cost   one vsnprintf a field; not for a path that is hot
 */
#ifndef WIRE_TEXT_H
#define WIRE_TEXT_H

#include "wire_codec.h"

#define WIRE_TEXT_BYTES 768u /* holds everything about any packet */

struct wire_text {
    size_t n; /* characters in line */
    char line[WIRE_TEXT_BYTES];
};

/** Append as printf does. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void wire_text_add(struct wire_text *text, const char *format, ...);

/** "SOURCE > DESTINATION": IP addresses (of the GRH, too) when the packet has them, else MACs. */
void wire_text_addresses(struct wire_text *text, const struct wire_packet *packet);

/** IPv4 as 10.0.0.1, IPv6 as RFC 5952 wants it. */
void wire_text_gid(struct wire_text *text, const uint8_t gid[16]);

/** "RC_SEND_ONLY qpn=0x000011 psn=0x00002a pkey=0xffff", then the flags that are set. */
void wire_text_bth(struct wire_text *text, const struct wire_packet *packet);

/** Fields of the headers that the opcode has after the BTH; a blank before each. */
void wire_text_extended(struct wire_text *text, const struct wire_packet *packet);

/** " payload=N pad=N", then tag, IP and UDP fields; a blank before each. */
void wire_text_outside(struct wire_text *text, const struct wire_packet *packet);

/** "PFC classes=0x08 quanta=3:65535" or "PAUSE quanta=65535". */
void wire_text_pause(struct wire_text *text, const struct wire_packet *packet);

#endif
