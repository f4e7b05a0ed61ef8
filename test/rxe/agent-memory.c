// SPDX-License-Identifier: GPL-2.0-only
/* Bytes of a region: mr= off= len= name them.
 *
 * A seed stands for an endless stream of bytes: byte i is byte i % 8 (lowest first) of splitmix64
 * of seed and i / 8. `from` is the stream's byte at off. `byte` stands for equal bytes instead.
 */
#include "agent.h"

#include <stdlib.h>
#include <string.h>

// The range that the call names; NULL: none, and the error is noted.
static uint8_t *memory_range(struct agent_call *call, uint64_t *len_bytes)
{
    const struct ibv_mr *region = agent_object(call, AGENT_MR);
    if (region == NULL)
    {
        return NULL;
    }
    uint64_t offset = agent_number(call, "off", 0);
    *len_bytes = agent_number(call, "len", offset <= region->length ? region->length - offset : 0);
    if (offset > region->length || *len_bytes > region->length - offset)
    {
        agent_fail(call, "the region has %zu bytes", region->length);
        return NULL;
    }
    return (uint8_t *)region->addr + offset;
}

static uint8_t memory_byte(uint64_t seed, uint64_t i)
{
    uint64_t z = seed + (i / 8 + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (uint8_t)(z >> (i % 8 * 8));
}

// Byte i of what the call's keys stand for.
static uint8_t memory_wanted(uint64_t seed, uint64_t from, uint64_t same, uint64_t i)
{
    return same <= 255 ? (uint8_t)same : memory_byte(seed, from + i);
}

bool agent_memory_fill(struct agent_call *call)
{
    uint64_t len_bytes;
    uint8_t *bytes = memory_range(call, &len_bytes);
    uint64_t seed = agent_number(call, "seed", 0);
    uint64_t from = agent_number(call, "from", 0);
    uint64_t same = agent_number(call, "byte", UINT64_MAX);
    for (uint64_t i = 0; bytes != NULL && i < len_bytes; i++)
    {
        bytes[i] = memory_wanted(seed, from, same, i);
    }
    return bytes != NULL;
}

// equal=1, or equal=0 and the first byte that differs: at, want, have.
bool agent_memory_check(struct agent_call *call)
{
    uint64_t len_bytes;
    const uint8_t *bytes = memory_range(call, &len_bytes);
    uint64_t seed = agent_number(call, "seed", 0);
    uint64_t from = agent_number(call, "from", 0);
    uint64_t same = agent_number(call, "byte", UINT64_MAX);
    for (uint64_t i = 0; bytes != NULL && i < len_bytes; i++)
    {
        uint8_t want = memory_wanted(seed, from, same, i);
        if (bytes[i] != want)
        {
            fprintf(call->out, "equal=0 at=%llu want=0x%02x have=0x%02x\n", (unsigned long long)i,
                    want, bytes[i]);
            return true;
        }
    }
    if (bytes != NULL)
    {
        fputs("equal=1\n", call->out);
    }
    return bytes != NULL;
}

bool agent_memory_peek(struct agent_call *call)
{
    uint64_t len_bytes;
    const uint8_t *bytes = memory_range(call, &len_bytes);
    if (bytes == NULL)
    {
        return false;
    }
    fputs("hex=", call->out);
    for (uint64_t i = 0; i < len_bytes; i++)
    {
        fprintf(call->out, "%02x", bytes[i]);
    }
    fputs("\n", call->out);
    return true;
}

bool agent_memory_poke(struct agent_call *call)
{
    const char *hex = agent_text(call, "hex");
    uint64_t room_bytes;
    uint8_t *bytes = memory_range(call, &room_bytes);
    if (bytes == NULL)
    {
        return false;
    }
    size_t digits = hex == NULL ? 0 : strspn(hex, "0123456789abcdefABCDEF");
    if (hex == NULL || hex[digits] != 0 || digits % 2 != 0 || digits / 2 > room_bytes)
    {
        return agent_fail(call, "hex=: pairs of digits, at most %llu",
                          (unsigned long long)room_bytes);
    }
    for (size_t i = 0; i < digits / 2; i++)
    {
        const char pair[3] = {hex[2 * i], hex[2 * i + 1], 0};
        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return true;
}

// The CRC that zlib calls crc32.
bool agent_memory_hash(struct agent_call *call)
{
    uint64_t len_bytes;
    const uint8_t *bytes = memory_range(call, &len_bytes);
    uint32_t crc = UINT32_MAX;
    for (uint64_t i = 0; bytes != NULL && i < len_bytes; i++)
    {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
        {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        }
    }
    if (bytes != NULL)
    {
        fprintf(call->out, "crc32=0x%08x\n", ~crc);
    }
    return bytes != NULL;
}
