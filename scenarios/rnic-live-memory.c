/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rnic-live: bytes of a region: mr= off= len= name them.
 *
 * A seed stands for an endless stream of bytes: those of wire_rng_next() from that state on, each
 * lowest byte first. `from` is the stream's byte at off. `byte` stands for equal bytes instead.
 */
#include "rnic-live.h"

#define MAX_PEEK 65536u

/* @return the bytes; NULL with words->bad: they are not there. Also ends the keys. */
static uint8_t *range(struct live *live, struct live_words *words, uint64_t *len)
{
    const struct live_object *mr = live_object_get(live, words, LIVE_MR);
    uint64_t off = live_words_number(live, words, "off", 0, 0, UINT64_MAX);
    uint64_t rest = mr != NULL && off <= mr->length ? mr->length - off : 0;

    *len = live_words_number(live, words, "len", rest, 0, UINT64_MAX);
    if (!live_words_done(live, words))
        return NULL;
    if (off <= mr->length && *len <= rest)
        return mr->bytes + off;
    live_error(live, words, "%s: the region has %" PRIu64 " bytes", words->name, mr->length);
    return NULL;
}

struct stream
{
    struct wire_rng rng;
    uint64_t at, word;
    bool same;
    uint8_t byte;
};

static uint8_t stream_next(struct stream *stream)
{
    uint8_t byte;

    if (stream->same)
        return stream->byte;
    if (stream->at % 8 == 0)
        stream->word = wire_rng_next(&stream->rng);
    byte = (uint8_t)(stream->word >> (stream->at++ % 8 * 8));
    return byte;
}

/* seed= from=, or byte= */
static struct stream stream_of(struct live *live, struct live_words *words)
{
    struct stream stream = {.rng = {live_words_number(live, words, "seed", 0, 0, UINT64_MAX)}};
    uint64_t from = live_words_number(live, words, "from", 0, 0, UINT32_MAX);

    stream.same = live_words_text(words, "byte") != NULL;
    stream.byte = (uint8_t)live_words_number(live, words, "byte", 0, 0, 255);
    if (!words->bad && !stream.same)
        for (uint64_t i = 0; i < from; i++)
            (void)stream_next(&stream);
    return stream;
}

void live_memory_fill(struct live *live, struct live_words *words)
{
    struct stream stream = stream_of(live, words);
    uint64_t len;
    uint8_t *bytes = range(live, words, &len);

    for (uint64_t i = 0; bytes != NULL && i < len; i++)
        bytes[i] = stream_next(&stream);
}

/* equal=1, or equal=0 and the first byte that differs */
void live_memory_check(struct live *live, struct live_words *words)
{
    struct stream stream = stream_of(live, words);
    uint64_t len;
    const uint8_t *bytes = range(live, words, &len);

    for (uint64_t i = 0; bytes != NULL && i < len; i++)
    {
        uint8_t want = stream_next(&stream);

        if (bytes[i] != want)
        {
            printf("equal=0 at=%" PRIu64 " want=0x%02x have=0x%02x\n", i, want, bytes[i]);
            return;
        }
    }
    if (bytes != NULL)
        puts("equal=1");
}

void live_memory_peek(struct live *live, struct live_words *words)
{
    uint64_t len;
    const uint8_t *bytes = range(live, words, &len);

    if (bytes != NULL && len > MAX_PEEK)
        live_error(live, words, "peek: len= is at most %u; hash takes any", MAX_PEEK);
    if (words->bad)
        return;
    fputs("hex=", stdout);
    for (uint64_t i = 0; i < len; i++)
        printf("%02x", bytes[i]);
    putchar('\n');
}

void live_memory_poke(struct live *live, struct live_words *words)
{
    const char *hex = live_words_text(words, "hex");
    size_t digits = hex != NULL ? strspn(hex, "0123456789abcdefABCDEF") : 0;
    uint64_t len;
    uint8_t *bytes = range(live, words, &len);

    if (bytes == NULL)
        return;
    if (hex == NULL || digits % 2 != 0 || hex[digits] != '\0' || digits / 2 > len)
    {
        live_error(live, words, "poke: hex= wants pairs of digits, at most %" PRIu64, len);
        return;
    }
    for (size_t i = 0; i < digits / 2; i++)
    {
        unsigned value;

        (void)sscanf(hex + 2 * i, "%2x", &value);
        bytes[i] = (uint8_t)value;
    }
}

/* The CRC that zlib calls crc32. */
void live_memory_hash(struct live *live, struct live_words *words)
{
    uint64_t len;
    const uint8_t *bytes = range(live, words, &len);
    uint32_t crc = UINT32_MAX;

    for (uint64_t i = 0; bytes != NULL && i < len; i++)
    {
        crc ^= bytes[i];
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    if (bytes != NULL)
        printf("crc32=0x%08" PRIx32 "\n", ~crc);
}
