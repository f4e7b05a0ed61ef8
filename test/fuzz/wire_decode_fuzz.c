/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * libFuzzer target of the decoder. Whatever the bytes are, nothing is read beyond them; what is
 * accepted encodes to the same bytes again; and a frame made from them survives a second round.
 *
 *   clang -fsanitize=fuzzer,address,undefined -Imodel/wire -o fuzz \
 *       test/fuzz/wire_decode_fuzz.c model/wire/wire_[a-z]*.c
 *   ./fuzz test/fuzz/corpus/wire_decode
 */
#include "wire_codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "wire_decode_fuzz: %s\n", what);
    abort();
}

/* The packet's own bytes, again. */
static void encode_again(const struct wire_packet *packet, const uint8_t *data, size_t size)
{
    uint8_t *again = malloc(size);

    require(again != NULL, "out of memory");
    require(wire_encode(packet, again, size) == size, "the length changed");
    require(memcmp(again, data, size) == 0, "the bytes changed");
    require(wire_encode(packet, again, size - 1) == 0, "written into too small a buffer");
    free(again);
}

/* Bytes, frame, bytes, frame: what a frame cannot hold is gone after the first, nothing after. */
static void frames_again(const struct wire_packet *packet, size_t size)
{
    size_t room = size + WIRE_MIN_FRAME_BYTES;
    uint8_t *once = malloc(room), *twice = malloc(room), *slot = malloc(room),
            *fixed = malloc(room);
    struct wire_packet right = *packet;
    struct wire_frame frame = {.payload = slot};
    size_t n, n_twice;

    require(once && twice && slot && fixed, "out of memory");
    right.icrc_auto = true; /* or no fuzzed frame would come through */
    n = wire_encode(&right, fixed, room);
    require(n == size, "the ICRC changed the length");
    if (wire_frame_decode(&frame, NULL, fixed, n, true) == WIRE_DROP_NONE) {
        n = wire_frame_encode(&frame, NULL, once, room);
        require(n > 0, "a frame without bytes");
        require(wire_frame_decode(&frame, NULL, once, n, true) == WIRE_DROP_NONE, "own frame");
        require(frame.kind != WIRE_KIND_ROCE || packet->trailer_bytes > 0 ||
                    frame.frame_bytes ==
                        wire_frame_length(frame.opcode, frame.flags, frame.payload_bytes),
                "length on the line");
        n_twice = wire_frame_encode(&frame, NULL, twice, room);
        require(n_twice == n && memcmp(once, twice, n) == 0, "the second round changed bytes");
    }
    free(once);
    free(twice);
    free(slot);
    free(fixed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_packet lax, strict;
    enum wire_drop drop = wire_decode(data, size, WIRE_DECODE_SKIP_ICRC, &lax);
    enum wire_drop with_icrc = wire_decode(data, size, 0, &strict);

    require(drop != WIRE_DROP_ICRC, "an ICRC nobody asked for");
    require(with_icrc == drop || (drop == WIRE_DROP_NONE && with_icrc == WIRE_DROP_ICRC),
            "the ICRC is not the last rule");
    if (drop != WIRE_DROP_NONE)
        return 0;
    encode_again(&lax, data, size);
    frames_again(&lax, size);
    return 0;
}
