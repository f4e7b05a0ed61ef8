/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Byte buffers for the wire tests: hex text to a heap block of exactly its size, so that the
 * sanitizer sees a read one byte too far.
 */
#ifndef HEX_H
#define HEX_H

#include "check.h"
#include "wire_vectors.h"

struct hex_buffer {
    uint8_t *bytes;
    size_t n;
};

static inline unsigned hex_digit(char c)
{
    CHECK((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'));
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10u;
}

/* n bytes of the caller's, in a block of exactly that size. Free with hex_free. */
static inline struct hex_buffer hex_copy(const uint8_t *bytes, size_t n)
{
    struct hex_buffer buffer = {malloc(n > 0 ? n : 1), n};

    CHECK(buffer.bytes != NULL);
    if (n > 0)
        memcpy(buffer.bytes, bytes, n);
    return buffer;
}

static inline struct hex_buffer hex_parse(const char *prefix, const char *hex)
{
    size_t before = strlen(prefix) / 2, n = before + strlen(hex) / 2;
    struct hex_buffer buffer = {malloc(n), n};

    CHECK(buffer.bytes != NULL);
    for (size_t i = 0; i < n; i++) {
        const char *two = i < before ? prefix + 2 * i : hex + 2 * (i - before);

        buffer.bytes[i] = (uint8_t)(hex_digit(two[0]) << 4 | hex_digit(two[1]));
    }
    return buffer;
}

/* A vector as an Ethernet frame; one that begins with its IP header gets addresses and type. */
static inline struct hex_buffer hex_frame(const struct wire_vector *vector)
{
    bool ip = vector->layer == WIRE_VECTOR_IP;

    return hex_parse(ip ? "0200000000020200000000010800" : "", vector->hex);
}

static inline const struct wire_vector *hex_vector(const char *name)
{
    for (size_t i = 0; i < WIRE_VECTORS; i++) {
        if (strcmp(wire_vectors[i].name, name) == 0)
            return &wire_vectors[i];
    }
    fprintf(stderr, "no vector %s\n", name);
    exit(1);
}

static inline struct hex_buffer hex_named(const char *name)
{
    return hex_frame(hex_vector(name));
}

static inline void hex_free(struct hex_buffer *buffer)
{
    free(buffer->bytes);
    buffer->bytes = NULL;
}

#endif
