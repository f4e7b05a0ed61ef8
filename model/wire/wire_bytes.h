/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Big-endian numbers in a byte buffer; the codec's own, nobody else needs it.
 *
 * Cost   one load or store and a swap after optimisation; any alignment
 */
#ifndef WIRE_BYTES_H
#define WIRE_BYTES_H

#include "wire_types.h"

static inline uint16_t wire_bytes_get16(const uint8_t *p)
{
    return (uint16_t)((unsigned)p[0] << 8 | p[1]);
}

static inline uint32_t wire_bytes_get24(const uint8_t *p)
{
    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static inline uint32_t wire_bytes_get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | wire_bytes_get24(p + 1);
}

static inline uint64_t wire_bytes_get64(const uint8_t *p)
{
    return (uint64_t)wire_bytes_get32(p) << 32 | wire_bytes_get32(p + 4);
}

/* The one little-endian number of the wire: the ICRC. */
static inline uint32_t wire_bytes_get32_le(const uint8_t *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static inline void wire_bytes_put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static inline void wire_bytes_put24(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 16);
    wire_bytes_put16(p + 1, v);
}

static inline void wire_bytes_put32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24);
    wire_bytes_put24(p + 1, v);
}

static inline void wire_bytes_put64(uint8_t *p, uint64_t v)
{
    wire_bytes_put32(p, (uint32_t)(v >> 32));
    wire_bytes_put32(p + 4, (uint32_t)v);
}

static inline void wire_bytes_put32_le(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}

/* Sum of the IPv4 header's ten words, folded: 0xFFFF when its checksum is right. */
static inline uint32_t wire_bytes_ipv4_sum(const uint8_t *header)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < 20; i += 2)
        sum += wire_bytes_get16(header + i);
    sum = (sum & 0xFFFFu) + (sum >> 16);
    return (sum & 0xFFFFu) + (sum >> 16);
}

#endif
