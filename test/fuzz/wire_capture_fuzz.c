/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * libFuzzer target of the capture reader. Whatever the file is: nothing is read or written out of
 * bounds, each frame is sound in itself, the reader ends, and what was wrong stays wrong. Frames go
 * on into the decoder and its text.
 *
 *   clang -fsanitize=fuzzer,address,undefined -Imodel/wire -Itest -o fuzz \
 *       test/fuzz/wire_capture_fuzz.c model/wire/wire_[a-z]*.c
 *   ./fuzz test/fuzz/corpus/wire_capture
 */
#include "wire/capture_bytes.h"
#include "wire_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "wire_capture_fuzz: %s\n", what);
    abort();
}

static void check_frame(const struct wire_capture *capture, const struct wire_capture_frame *frame)
{
    struct wire_text text = {0};
    struct wire_packet packet;
    uint8_t *exact = malloc(frame->captured_bytes + 1u); /* so that a byte too far is seen */

    require(exact != NULL, "out of memory");
    require(frame->captured_bytes <= WIRE_CAPTURE_FRAME_BYTES, "longer than the buffer");
    require(frame->captured_bytes <= frame->frame_bytes, "more captured than there was");
    require(frame->fraction_ps < 1000000000000u && frame->time_digits <= 12, "time");
    require(frame->timed || (frame->seconds == 0 && frame->fraction_ps == 0), "time from nowhere");
    require(capture->error[0] == '\0', "an error and a frame");
    memcpy(exact, frame->bytes, frame->captured_bytes);
    if (wire_decode(exact, frame->captured_bytes, WIRE_DECODE_SKIP_ICRC, &packet) ==
            WIRE_DROP_NONE &&
        packet.kind == WIRE_KIND_ROCE) {
        wire_text_addresses(&text, &packet);
        wire_text_bth(&text, &packet);
        wire_text_extended(&text, &packet);
        wire_text_outside(&text, &packet);
        require(text.n < WIRE_TEXT_BYTES - 1, "the text did not fit");
    }
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct capture_rig rig;
    struct wire_capture_frame frame;
    enum wire_capture_result result = WIRE_CAPTURE_BAD;
    uint64_t frames = 0;

    capture_rig_init(&rig, data, size);
    if (wire_capture_open(&rig.capture)) {
        while ((result = wire_capture_next(&rig.capture, &frame)) == WIRE_CAPTURE_FRAME) {
            check_frame(&rig.capture, &frame);
            frames++;
        }
    }
    require(rig.capture.frames == frames, "frames are counted");
    require((result == WIRE_CAPTURE_BAD) == (rig.capture.error[0] != '\0'), "an error has a text");
    require(rig.capture.offset == rig.file.at, "the offset");
    require(result != WIRE_CAPTURE_END || rig.file.at == size, "ended before the file did");
    if (result == WIRE_CAPTURE_BAD && rig.capture.bad)
        require(wire_capture_next(&rig.capture, &frame) == WIRE_CAPTURE_BAD, "bad stays bad");
    capture_rig_free(&rig);
    return 0;
}
