/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * rnic-decode FILE: a capture as text, one line a frame, and whether its RoCE frames are sound.
 *
 * In     a pcap or pcapng file, or standard input for "-"; read as a stream
 * Out    lines on standard output, the last one counts; what is wrong with the file on standard
 *        error. Exit status: 0 all is well, 1 a bad ICRC or a malformed frame, 2 bad input
 *
 * A RoCE frame is malformed when it breaks a stateless rule of the receiver other than the ICRC. So
 * is a pause frame that ends too early, and a frame cut by the capture that is RoCE or could be.
 */
#include "wire_bytes.h"
#include "wire_capture.h"
#include "wire_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INTERFACES 65536u

enum sort
{
    SORT_ROCE,
    SORT_CONTROL, /* PFC or PAUSE */
    SORT_OTHER,   /* none of ours */
    SORT_UNKNOWN, /* too short to tell */
};

struct counts
{
    uint64_t frames, roce, icrc_ok, icrc_bad, malformed;
};

struct decode
{
    struct wire_capture capture;
    struct counts counts;
    uint8_t *whole; /* a cut frame with zeros where bytes are missing */
};

/* ---- what a frame is ---- */

/* An IP packet that broke a rule before its UDP port was looked at: what would it have been? */
static enum sort sort_by_port(const struct wire_packet *packet, const uint8_t *ip, size_t n)
{
    size_t header;
    uint8_t protocol;

    if (packet->ethertype == WIRE_ETHERTYPE_IPV4)
    {
        if (n < 10)
            return SORT_UNKNOWN;
        header = 4 * (size_t)(ip[0] & 15);
        protocol = ip[9];
        if (ip[0] >> 4 != 4 || header < 20 || (wire_bytes_get16(ip + 6) & 0x1FFF) != 0)
            return SORT_OTHER;
    }
    else
    {
        if (n < 7)
            return SORT_UNKNOWN;
        header = 40;
        protocol = ip[6];
        if (ip[0] >> 4 != 6)
            return SORT_OTHER;
    }
    if (protocol != WIRE_IP_PROTOCOL_UDP)
        return SORT_OTHER;
    if (n < header + 4)
        return SORT_UNKNOWN;
    return wire_bytes_get16(ip + header + 2) == WIRE_ROCE_UDP_PORT ? SORT_ROCE : SORT_OTHER;
}

static enum sort sort_frame(const struct wire_packet *packet, enum wire_drop drop,
                            const uint8_t *bytes, size_t n)
{
    size_t ethernet = packet->tagged ? 18 : 14;

    if (packet->kind == WIRE_KIND_ROCE)
        return SORT_ROCE;
    if (packet->kind == WIRE_KIND_PFC || packet->kind == WIRE_KIND_PAUSE)
        return SORT_CONTROL;
    if (n < ethernet || packet->ethertype == WIRE_ETHERTYPE_VLAN)
        return SORT_UNKNOWN;
    switch (packet->ethertype)
    {
    case WIRE_ETHERTYPE_ROCE_V1:
        return SORT_ROCE;
    case WIRE_ETHERTYPE_MAC_CONTROL:
        return drop == WIRE_DROP_MAC_CONTROL ? SORT_OTHER : SORT_UNKNOWN;
    case WIRE_ETHERTYPE_IPV4:
    case WIRE_ETHERTYPE_IPV6:
        return sort_by_port(packet, bytes + ethernet, n - ethernet);
    default:
        return SORT_OTHER;
    }
}

/* ---- lines ---- */

static void add_time(struct wire_text *text, const struct wire_capture_frame *frame)
{
    uint64_t fraction = frame->fraction_ps;

    if (!frame->timed)
    {
        wire_text_add(text, "- ");
        return;
    }
    for (unsigned i = frame->time_digits; i < 12; i++)
        fraction /= 10;
    wire_text_add(text, "%" PRId64, frame->seconds);
    if (frame->time_digits > 0)
        wire_text_add(text, ".%0*" PRIu64, frame->time_digits, fraction);
    wire_text_add(text, " ");
}

static void add_other(struct wire_text *text, const struct wire_packet *packet,
                      const uint8_t *bytes, uint32_t captured, uint32_t length)
{
    const uint8_t *ip = bytes + (packet->tagged ? 18 : 14);

    wire_text_add(text, "other");
    if (captured >= 14)
        wire_text_add(text, " ethertype=0x%04x", packet->ethertype);
    if (packet->ip_version == 4 || packet->ip_version == 6)
        wire_text_add(text, " protocol=%u", packet->ip_version == 4 ? ip[9] : ip[6]);
    wire_text_add(text, " bytes=%" PRIu32, length);
    if (captured < length)
        wire_text_add(text, " captured=%" PRIu32, captured);
}

/* Headers of a cut frame, when all of them were captured: its missing bytes are read as zeros. */
static void add_cut(struct decode *decode, struct wire_text *text,
                    const struct wire_capture_frame *frame)
{
    struct wire_packet packet;

    if (frame->frame_bytes <= WIRE_CAPTURE_FRAME_BYTES)
    {
        memcpy(decode->whole, frame->bytes, frame->captured_bytes);
        memset(decode->whole + frame->captured_bytes, 0,
               frame->frame_bytes - frame->captured_bytes);
        if (wire_decode(decode->whole, frame->frame_bytes, WIRE_DECODE_SKIP_ICRC, &packet) ==
                WIRE_DROP_NONE &&
            packet.kind == WIRE_KIND_ROCE &&
            packet.payload <= decode->whole + frame->captured_bytes)
        {
            wire_text_bth(text, &packet);
            wire_text_extended(text, &packet);
            wire_text_outside(text, &packet);
            wire_text_add(text, " ");
        }
    }
    wire_text_add(text, "malformed(truncated): %" PRIu32 " of %" PRIu32 " bytes captured",
                  frame->captured_bytes, frame->frame_bytes);
}

static void add_roce(struct decode *decode, struct wire_text *text, enum wire_drop drop,
                     const struct wire_packet *packet, const struct wire_capture_frame *frame)
{
    struct counts *counts = &decode->counts;

    counts->roce++;
    if (drop == WIRE_DROP_NONE || drop == WIRE_DROP_ICRC)
    {
        wire_text_bth(text, packet);
        wire_text_extended(text, packet);
        wire_text_outside(text, packet);
        wire_text_add(text, " icrc=%s", drop == WIRE_DROP_NONE ? "ok" : "bad");
        if (drop == WIRE_DROP_NONE)
            counts->icrc_ok++;
        else
            counts->icrc_bad++;
        return;
    }
    counts->malformed++;
    if (frame->captured_bytes < frame->frame_bytes)
    {
        add_cut(decode, text, frame);
        return;
    }
    if (drop == WIRE_DROP_TVER || drop == WIRE_DROP_OPCODE || drop == WIRE_DROP_PAD)
    {
        wire_text_bth(text, packet);
        wire_text_add(text, " ");
    }
    wire_text_add(text, "malformed(%s): %s", wire_drop_name(drop), wire_drop_text(drop));
}

static void decode_frame(struct decode *decode, const struct wire_capture_frame *frame)
{
    struct wire_text text = {0};
    struct wire_packet packet;
    enum wire_drop drop = wire_decode(frame->bytes, frame->captured_bytes, 0, &packet);
    bool cut = frame->captured_bytes < frame->frame_bytes;

    decode->counts.frames++;
    add_time(&text, frame);
    wire_text_addresses(&text, &packet);
    wire_text_add(&text, " ");
    switch (sort_frame(&packet, drop, frame->bytes, frame->captured_bytes))
    {
    case SORT_ROCE:
        add_roce(decode, &text, drop, &packet, frame);
        break;
    case SORT_CONTROL:
        if (drop == WIRE_DROP_NONE)
        {
            wire_text_pause(&text, &packet);
            break;
        }
        decode->counts.malformed++;
        wire_text_add(&text, "%s malformed(%s): %s", packet.kind == WIRE_KIND_PFC ? "PFC" : "PAUSE",
                      wire_drop_name(drop), wire_drop_text(drop));
        break;
    case SORT_UNKNOWN:
        if (cut)
        {
            decode->counts.malformed++;
            add_cut(decode, &text, frame);
            break;
        } /* fall through */
    case SORT_OTHER:
    default:
        add_other(&text, &packet, frame->bytes, frame->captured_bytes, frame->frame_bytes);
    }
    puts(text.line);
}

/* ---- the file ---- */

static size_t read_file(void *user, uint8_t *bytes, size_t n)
{
    return fread(bytes, 1, n, user);
}

static void complain(const struct decode *decode, const char *name, FILE *file)
{
    fflush(stdout); /* the lines of the frames before */
    if (ferror(file))
        fprintf(stderr, "%s: byte %" PRIu64 ": %s\n", name, decode->capture.offset,
                strerror(errno));
    else
        fprintf(stderr, "%s: byte %" PRIu64 ": %s\n", name, decode->capture.error_offset,
                decode->capture.error);
}

/* All lines, and the exit status. */
static int decode_file(struct decode *decode, const char *name, FILE *file)
{
    const struct counts *counts = &decode->counts;
    struct wire_capture_frame frame;
    enum wire_capture_result result;

    if (!wire_capture_open(&decode->capture))
    {
        complain(decode, name, file);
        return 2;
    }
    while ((result = wire_capture_next(&decode->capture, &frame)) == WIRE_CAPTURE_FRAME)
        decode_frame(decode, &frame);
    if (result == WIRE_CAPTURE_BAD || ferror(file))
        complain(decode, name, file);
    printf("frames=%" PRIu64 " roce=%" PRIu64 " icrc_ok=%" PRIu64 " icrc_bad=%" PRIu64
           " malformed=%" PRIu64 "\n",
           counts->frames, counts->roce, counts->icrc_ok, counts->icrc_bad, counts->malformed);
    if (result == WIRE_CAPTURE_BAD || ferror(file))
        return 2;
    return counts->icrc_bad != 0 || counts->malformed != 0 ? 1 : 0;
}

static int decode_named(const char *name, FILE *file)
{
    struct decode decode = {.capture = {.read = read_file,
                                        .user = file,
                                        .buffer = malloc(WIRE_CAPTURE_FRAME_BYTES),
                                        .max_interfaces = MAX_INTERFACES},
                            .whole = malloc(WIRE_CAPTURE_FRAME_BYTES)};
    int status = 2;

    decode.capture.interfaces = calloc(MAX_INTERFACES, sizeof(*decode.capture.interfaces));
    if (decode.capture.buffer != NULL && decode.whole != NULL && decode.capture.interfaces != NULL)
        status = decode_file(&decode, name, file);
    else
        fprintf(stderr, "rnic-decode: out of memory\n");
    free(decode.capture.interfaces);
    free(decode.capture.buffer);
    free(decode.whole);
    return status;
}

int main(int argc, char **argv)
{
    const char *name = argc == 2 ? argv[1] : "";
    bool input = strcmp(name, "-") == 0;
    FILE *file;
    int status;

    if (argc != 2 || (name[0] == '-' && !input))
    {
        fprintf(stderr, "usage: rnic-decode FILE    (pcap or pcapng; - reads standard input)\n");
        return 2;
    }
    file = input ? stdin : fopen(name, "rb");
    if (file == NULL)
    {
        fprintf(stderr, "%s: %s\n", name, strerror(errno));
        return 2;
    }
    status = decode_named(input ? "standard input" : name, file);
    if (!input)
        fclose(file);
    if (ferror(stdout) || fflush(stdout) != 0)
    {
        fprintf(stderr, "standard output: %s\n", strerror(errno));
        return 2;
    }
    return status;
}
