/* SPDX-License-Identifier: GPL-2.0-only */
#include "wire_capture.h"
#include "wire_bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PS_PER_SECOND 1000000000000u
#define LINK_ETHERNET 1u
#define RESOLUTION_MICRO 6u
#define RESOLUTION_NANO 9u
#define RESOLUTION_BINARY 0x80u

#define PCAP_MAGIC_MICRO 0xA1B2C3D4u
#define PCAP_MAGIC_NANO 0xA1B23C4Du
#define PCAP_HEADER_BYTES 24u
#define PCAP_RECORD_BYTES 16u

#define NG_MAGIC 0x1A2B3C4Du
#define NG_SECTION 0x0A0D0D0Au /* the same in either byte order */
#define NG_INTERFACE 1u
#define NG_OBSOLETE_PACKET 2u
#define NG_SIMPLE_PACKET 3u
#define NG_ENHANCED_PACKET 6u
#define NG_OPTION_RESOLUTION 9u
#define NG_OPTION_OFFSET 14u
#define NG_FRAME_BYTES 12u /* type, length, and the length again behind the body */

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static enum wire_capture_result
capture_fail(struct wire_capture *capture, uint64_t offset, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(capture->error, sizeof(capture->error), format, arguments);
    va_end(arguments);
    capture->error_offset = offset;
    capture->bad = true;
    return WIRE_CAPTURE_BAD;
}

/* The file ends too early: @p what began at byte @p start. */
static enum wire_capture_result capture_short(struct wire_capture *capture, const char *what,
                                              uint64_t start)
{
    return capture_fail(capture, capture->offset,
                        "the file ends here, inside the %s that begins at byte %llu, "
                        "after %llu whole frames",
                        what, (unsigned long long)start, (unsigned long long)capture->frames);
}

static size_t capture_get(struct wire_capture *capture, uint8_t *bytes, size_t n)
{
    size_t got = capture->read(capture->user, bytes, n);

    WIRE_ASSERT(got <= n);
    capture->offset += got;
    return got;
}

static bool capture_take(struct wire_capture *capture, uint8_t *bytes, size_t n)
{
    return capture_get(capture, bytes, n) == n;
}

static bool capture_skip(struct wire_capture *capture, uint64_t n)
{
    uint8_t scratch[1024];

    while (n > 0) {
        size_t part = n < sizeof(scratch) ? (size_t)n : sizeof(scratch);

        if (!capture_take(capture, scratch, part))
            return false;
        n -= part;
    }
    return true;
}

static uint16_t capture_16(const struct wire_capture *capture, const uint8_t *p)
{
    return capture->big_endian ? wire_bytes_get16(p) : (uint16_t)(p[0] | (unsigned)p[1] << 8);
}

static uint32_t capture_32(const struct wire_capture *capture, const uint8_t *p)
{
    return capture->big_endian ? wire_bytes_get32(p) : wire_bytes_get32_le(p);
}

static const char *link_name(uint32_t type)
{
    static const struct {
        uint32_t type;
        const char *name;
    } names[] = {
        {0, "BSD loopback"},      {1, "Ethernet"}, {9, "PPP"},        {12, "raw IP"},
        {101, "raw IP"},          {105, "802.11"}, {108, "loopback"}, {113, "Linux cooked v1"},
        {127, "802.11 radiotap"}, {228, "IPv4"},   {229, "IPv6"},     {247, "InfiniBand"},
        {276, "Linux cooked v2"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].type == type)
            return names[i].name;
    }
    return "unknown";
}

static enum wire_capture_result link_refused(struct wire_capture *capture, uint64_t offset,
                                             uint32_t type)
{
    return capture_fail(capture, offset,
                        "link type %lu (%s); only Ethernet (1) can be decoded: "
                        "capture on an Ethernet interface",
                        (unsigned long)type, link_name(type));
}

/* ---- time ---- */

static uint64_t power_of_ten(unsigned n)
{
    uint64_t power = 1;

    WIRE_ASSERT(n <= 19);
    while (n-- > 0)
        power *= 10;
    return power;
}

/* Ticks of 10^-n or 2^-n seconds into seconds and picoseconds; what is finer is cut off. */
static void frame_time(struct wire_capture_frame *frame, uint64_t ticks, uint8_t resolution)
{
    __extension__ typedef unsigned __int128 u128;
    unsigned n = resolution & 0x7Fu;
    uint64_t seconds = 0, rest = ticks;

    frame->time_digits = (uint8_t)(n < 12 ? n : 12);
    if (resolution & RESOLUTION_BINARY) {
        if (n < 64) {
            seconds = ticks >> n;
            rest = n > 0 ? ticks & (UINT64_MAX >> (64 - n)) : 0;
        }
        frame->fraction_ps = (uint64_t)((u128)rest * PS_PER_SECOND >> n);
    } else {
        if (n <= 19) {
            seconds = ticks / power_of_ten(n);
            rest = ticks % power_of_ten(n);
        }
        if (n <= 12)
            frame->fraction_ps = rest * power_of_ten(12 - n);
        else
            frame->fraction_ps = n - 12 <= 19 ? rest / power_of_ten(n - 12) : 0;
    }
    WIRE_ASSERT(frame->fraction_ps < PS_PER_SECOND);
    frame->seconds = (int64_t)seconds;
    frame->timed = true;
}

/* ---- pcap ---- */

static enum wire_capture_result pcap_next(struct wire_capture *capture,
                                          struct wire_capture_frame *frame)
{
    const struct wire_capture_interface *from = capture->interfaces;
    uint64_t start = capture->offset;
    uint8_t record[PCAP_RECORD_BYTES];
    size_t got = capture_get(capture, record, sizeof(record));
    uint32_t captured;

    if (got == 0)
        return WIRE_CAPTURE_END;
    if (got < sizeof(record))
        return capture_short(capture, "record", start);
    captured = capture_32(capture, record + 8);
    if (captured > WIRE_CAPTURE_FRAME_BYTES)
        return capture_fail(capture, start + 8,
                            "a record claims %lu captured bytes, at most %u are possible: "
                            "the file is damaged",
                            (unsigned long)captured, WIRE_CAPTURE_FRAME_BYTES);
    if (!capture_take(capture, capture->buffer, captured))
        return capture_short(capture, "record", start);
    frame_time(frame, capture_32(capture, record + 4), from->resolution);
    frame->seconds += capture_32(capture, record);
    frame->captured_bytes = captured;
    frame->frame_bytes = capture_32(capture, record + 12);
    return WIRE_CAPTURE_FRAME;
}

static bool pcap_open(struct wire_capture *capture, bool nano)
{
    struct wire_capture_interface *only = capture->interfaces;
    uint8_t header[PCAP_HEADER_BYTES];
    unsigned major, minor;

    if (!capture_take(capture, header + 4, sizeof(header) - 4)) {
        capture_short(capture, "pcap header", 0);
        return false;
    }
    major = capture_16(capture, header + 4);
    minor = capture_16(capture, header + 6);
    if (major != 2 || minor != 4) {
        capture_fail(capture, 4, "pcap version %u.%u; only 2.4 is known", major, minor);
        return false;
    }
    /* The upper half of the link type says whether frames end with their FCS: a trailer to us. */
    *only = (struct wire_capture_interface){
        .link_type = capture_32(capture, header + 20) & 0xFFFF,
        .resolution = nano ? RESOLUTION_NANO : RESOLUTION_MICRO,
    };
    capture->n_interfaces = 1;
    if (only->link_type != LINK_ETHERNET)
        link_refused(capture, 20, only->link_type);
    return !capture->bad;
}

/* ---- pcapng ---- */

static enum wire_capture_result ng_short(struct wire_capture *capture, uint64_t start)
{
    return capture_short(capture, "pcapng block", start);
}

/* @p left bytes of the body are of no interest; then comes the block's length again. */
static bool ng_finish(struct wire_capture *capture, uint64_t start, uint32_t length, uint64_t left)
{
    uint8_t again[4];

    if (!capture_skip(capture, left) || !capture_take(capture, again, 4)) {
        ng_short(capture, start);
        return false;
    }
    WIRE_ASSERT(capture->offset - start == length);
    if (capture_32(capture, again) != length)
        capture_fail(capture, capture->offset - 4,
                     "a block has length %lu at its end and %lu at its start (byte %llu): "
                     "the file is damaged",
                     (unsigned long)capture_32(capture, again), (unsigned long)length,
                     (unsigned long long)start);
    return !capture->bad;
}

static bool ng_length_ok(struct wire_capture *capture, uint64_t start, uint32_t length,
                         uint32_t least)
{
    if (length >= least && length % 4 == 0)
        return true;
    capture_fail(capture, start + 4,
                 "a block of length %lu; it must be a multiple of 4 and at least %lu: "
                 "the file is damaged",
                 (unsigned long)length, (unsigned long)least);
    return false;
}

/* A section begins: its byte order holds from here on, its interfaces are numbered from 0. */
static bool ng_section(struct wire_capture *capture, uint64_t start, const uint8_t raw_length[4])
{
    uint8_t body[16];
    uint32_t length;

    if (!capture_take(capture, body, sizeof(body))) {
        ng_short(capture, start);
        return false;
    }
    capture->n_interfaces = 0;
    capture->big_endian = wire_bytes_get32(body) == NG_MAGIC;
    if (!capture->big_endian && wire_bytes_get32_le(body) != NG_MAGIC) {
        capture_fail(capture, start + 8,
                     "no byte-order magic in the section header: "
                     "the file is damaged");
        return false;
    }
    length = capture_32(capture, raw_length);
    if (!ng_length_ok(capture, start, length, NG_FRAME_BYTES + sizeof(body)))
        return false;
    if (capture_16(capture, body + 4) != 1) {
        capture_fail(capture, start + 12, "pcapng version %u.%u; only 1.x is known",
                     capture_16(capture, body + 4), capture_16(capture, body + 6));
        return false;
    }
    return ng_finish(capture, start, length, length - NG_FRAME_BYTES - sizeof(body));
}

/* Options of an interface, @p left bytes of them: the two that change what a time means. */
static bool ng_interface_options(struct wire_capture *capture, uint64_t start, uint32_t *left,
                                 struct wire_capture_interface *interface)
{
    uint8_t head[4], value[8];

    while (*left >= 4) {
        uint32_t code, bytes, padded, used = 0;

        if (!capture_take(capture, head, 4))
            return false;
        *left -= 4;
        code = capture_16(capture, head);
        bytes = capture_16(capture, head + 2);
        padded = (bytes + 3) & ~3u;
        if (code == 0)
            return true;
        if (padded > *left) {
            capture_fail(capture, capture->offset - 2,
                         "an option of %lu bytes does not fit the block at byte %llu: "
                         "the file is damaged",
                         (unsigned long)bytes, (unsigned long long)start);
            return false;
        }
        if ((code == NG_OPTION_RESOLUTION && bytes >= 1) ||
            (code == NG_OPTION_OFFSET && bytes >= 8)) {
            used = code == NG_OPTION_OFFSET ? 8 : 4;
            if (!capture_take(capture, value, used))
                return false;
            if (code == NG_OPTION_RESOLUTION)
                interface->resolution = value[0];
            else
                interface->offset_s =
                    (int64_t)((uint64_t)capture_32(capture, value + (capture->big_endian ? 0 : 4))
                                  << 32 |
                              capture_32(capture, value + (capture->big_endian ? 4 : 0)));
        }
        if (!capture_skip(capture, padded - used))
            return false;
        *left -= padded;
    }
    return true;
}

static bool ng_interface(struct wire_capture *capture, uint64_t start, uint32_t length)
{
    struct wire_capture_interface *interface;
    uint8_t body[8];
    uint32_t left;

    if (!ng_length_ok(capture, start, length, NG_FRAME_BYTES + sizeof(body)))
        return false;
    if (capture->n_interfaces == capture->max_interfaces) {
        capture_fail(capture, start, "more than %lu interfaces in one section",
                     (unsigned long)capture->max_interfaces);
        return false;
    }
    if (!capture_take(capture, body, sizeof(body))) {
        ng_short(capture, start);
        return false;
    }
    interface = &capture->interfaces[capture->n_interfaces++];
    *interface = (struct wire_capture_interface){
        .link_type = capture_16(capture, body),
        .snap_bytes = capture_32(capture, body + 4),
        .resolution = RESOLUTION_MICRO,
    };
    left = length - NG_FRAME_BYTES - (uint32_t)sizeof(body);
    if (!ng_interface_options(capture, start, &left, interface)) {
        if (!capture->bad)
            ng_short(capture, start);
        return false;
    }
    return ng_finish(capture, start, length, left);
}

/* The three kinds of packet block differ in their fixed part only. */
static enum wire_capture_result ng_packet(struct wire_capture *capture, uint64_t start,
                                          uint32_t type, uint32_t length,
                                          struct wire_capture_frame *frame)
{
    const struct wire_capture_interface *from;
    bool simple = type == NG_SIMPLE_PACKET;
    uint32_t fixed = simple ? 4 : 20, room, number = 0;
    uint8_t body[20];

    if (!ng_length_ok(capture, start, length, NG_FRAME_BYTES + fixed))
        return WIRE_CAPTURE_BAD;
    if (!capture_take(capture, body, fixed))
        return ng_short(capture, start);
    if (!simple)
        number = type == NG_OBSOLETE_PACKET ? capture_16(capture, body) : capture_32(capture, body);
    if (number >= capture->n_interfaces)
        return capture_fail(capture, start + 8,
                            "a packet of interface %lu, but the section has described %lu: "
                            "the file is damaged",
                            (unsigned long)number, (unsigned long)capture->n_interfaces);
    from = &capture->interfaces[number];
    if (from->link_type != LINK_ETHERNET)
        return link_refused(capture, start, from->link_type);

    room = length - NG_FRAME_BYTES - fixed;
    frame->frame_bytes = capture_32(capture, body + fixed - 4);
    if (simple) {
        frame->captured_bytes = frame->frame_bytes < room ? frame->frame_bytes : room;
        if (from->snap_bytes != 0 && frame->captured_bytes > from->snap_bytes)
            frame->captured_bytes = from->snap_bytes;
    } else {
        frame->captured_bytes = capture_32(capture, body + 12);
        frame_time(frame,
                   (uint64_t)capture_32(capture, body + 4) << 32 | capture_32(capture, body + 8),
                   from->resolution);
        frame->seconds = (int64_t)((uint64_t)frame->seconds + (uint64_t)from->offset_s);
    }
    if (frame->captured_bytes > room || frame->captured_bytes > WIRE_CAPTURE_FRAME_BYTES)
        return capture_fail(capture, start + (simple ? 8 : 20),
                            "a packet of %lu captured bytes in a block with room for %lu, at most "
                            "%u are possible: the file is damaged",
                            (unsigned long)frame->captured_bytes, (unsigned long)room,
                            WIRE_CAPTURE_FRAME_BYTES);
    if (!capture_take(capture, capture->buffer, frame->captured_bytes))
        return ng_short(capture, start);
    if (!ng_finish(capture, start, length, room - frame->captured_bytes))
        return WIRE_CAPTURE_BAD;
    return WIRE_CAPTURE_FRAME;
}

static enum wire_capture_result ng_next(struct wire_capture *capture,
                                        struct wire_capture_frame *frame)
{
    for (;;) {
        uint64_t start = capture->offset;
        uint8_t head[8];
        size_t got = capture_get(capture, head, sizeof(head));
        uint32_t type, length;

        if (got == 0)
            return WIRE_CAPTURE_END;
        if (got < sizeof(head))
            return ng_short(capture, start);
        type = capture_32(capture, head);
        length = capture_32(capture, head + 4);
        switch (type) {
        case NG_SECTION: /* its length is in its own byte order */
            if (!ng_section(capture, start, head + 4))
                return WIRE_CAPTURE_BAD;
            break;
        case NG_INTERFACE:
            if (!ng_interface(capture, start, length))
                return WIRE_CAPTURE_BAD;
            break;
        case NG_ENHANCED_PACKET:
        case NG_SIMPLE_PACKET:
        case NG_OBSOLETE_PACKET:
            return ng_packet(capture, start, type, length, frame);
        default:
            if (!ng_length_ok(capture, start, length, NG_FRAME_BYTES) ||
                !ng_finish(capture, start, length, length - NG_FRAME_BYTES))
                return WIRE_CAPTURE_BAD;
        }
    }
}

static bool ng_open(struct wire_capture *capture)
{
    uint8_t length[4];

    capture->pcapng = true;
    if (capture_take(capture, length, 4))
        return ng_section(capture, 0, length);
    ng_short(capture, 0);
    return false;
}

bool wire_capture_open(struct wire_capture *capture)
{
    uint8_t magic[4];
    size_t got;

    WIRE_ASSERT(capture->read != NULL && capture->buffer != NULL);
    WIRE_ASSERT(capture->interfaces != NULL && capture->max_interfaces >= 1);
    capture->pcapng = capture->big_endian = capture->bad = false;
    capture->n_interfaces = 0;
    capture->offset = capture->frames = capture->error_offset = 0;
    capture->error[0] = '\0';
    got = capture_get(capture, magic, sizeof(magic));
    if (got < sizeof(magic)) {
        capture_fail(capture, got,
                     "the file ends here, before the four bytes that tell a pcap or "
                     "pcapng file");
        return false;
    }
    if (wire_bytes_get32(magic) == NG_SECTION)
        return ng_open(capture);
    for (int big = 0; big <= 1; big++) {
        capture->big_endian = big != 0;
        if (capture_32(capture, magic) == PCAP_MAGIC_MICRO)
            return pcap_open(capture, false);
        if (capture_32(capture, magic) == PCAP_MAGIC_NANO)
            return pcap_open(capture, true);
    }
    capture_fail(capture, 0, "not a pcap or pcapng file: it begins with %02x %02x %02x %02x%s",
                 magic[0], magic[1], magic[2], magic[3],
                 magic[0] == 0x1F && magic[1] == 0x8B ? " (gzip: unpack it first)" : "");
    return false;
}

enum wire_capture_result wire_capture_next(struct wire_capture *capture,
                                           struct wire_capture_frame *frame)
{
    struct wire_capture_frame next = {.bytes = capture->buffer};
    enum wire_capture_result result;

    if (capture->bad)
        return WIRE_CAPTURE_BAD;
    WIRE_ASSERT(capture->offset > 0); /* opened */
    result = capture->pcapng ? ng_next(capture, &next) : pcap_next(capture, &next);
    if (result != WIRE_CAPTURE_FRAME)
        return result;
    if (next.frame_bytes < next.captured_bytes)
        next.frame_bytes = next.captured_bytes;
    capture->frames++;
    *frame = next;
    return WIRE_CAPTURE_FRAME;
}
