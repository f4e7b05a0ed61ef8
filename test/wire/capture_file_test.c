/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The capture reader against files made here byte by byte: both formats, both byte orders, clocks
 * of every resolution, cuts at every byte, and each way a file can be damaged.
 */
#include "capture_bytes.h"

#define SECONDS 0x01020304u
#define MAX_FILE 32768

/* A file under construction. */
struct maker {
    uint8_t bytes[MAX_FILE];
    size_t n, block;
    bool big;
};

static void put(struct maker *maker, uint64_t value, unsigned bytes)
{
    CHECK(maker->n + bytes <= MAX_FILE);
    for (unsigned i = 0; i < bytes; i++) {
        unsigned shift = 8 * (maker->big ? bytes - 1 - i : i);

        maker->bytes[maker->n++] = (uint8_t)(value >> shift);
    }
}

/* n bytes that count up from @p first, zeros up to a multiple of four when @p padded. */
static void put_data(struct maker *maker, uint8_t first, uint32_t n, bool padded)
{
    for (uint32_t i = 0; i < n; i++)
        put(maker, (uint8_t)(first + i), 1);
    while (padded && n++ % 4 != 0)
        put(maker, 0, 1);
}

static void pcap_header(struct maker *maker, uint32_t magic, uint32_t link)
{
    put(maker, magic, 4);
    put(maker, 2, 2);
    put(maker, 4, 2);
    put(maker, 0, 8);
    put(maker, 65535, 4);
    put(maker, link, 4);
}

static void pcap_record(struct maker *maker, uint32_t fraction, uint8_t first, uint32_t captured,
                        uint32_t length)
{
    put(maker, SECONDS, 4);
    put(maker, fraction, 4);
    put(maker, captured, 4);
    put(maker, length, 4);
    put_data(maker, first, captured, false);
}

static void block_begin(struct maker *maker, uint32_t type)
{
    maker->block = maker->n;
    put(maker, type, 4);
    put(maker, 0, 4);
}

/* Both lengths of the block. */
static void block_end(struct maker *maker)
{
    size_t end = maker->n + 4, length = end - maker->block;

    maker->n = maker->block + 4;
    put(maker, length, 4);
    maker->n = end - 4;
    put(maker, length, 4);
}

static void section(struct maker *maker)
{
    block_begin(maker, 0x0A0D0D0A);
    put(maker, 0x1A2B3C4D, 4);
    put(maker, 1, 2);
    put(maker, 0, 2);
    put(maker, UINT64_MAX, 8);
    put(maker, 4, 2); /* shb_userappl: an option to be skipped */
    put(maker, 5, 2);
    put_data(maker, 'a', 5, true);
    put(maker, 0, 4);
    block_end(maker);
}

/* @p resolution 256: no such option. */
static void interface_block(struct maker *maker, uint32_t link, uint32_t snap, unsigned resolution,
                            int64_t offset)
{
    block_begin(maker, 1);
    put(maker, link, 2);
    put(maker, 0, 2);
    put(maker, snap, 4);
    put(maker, 2, 2); /* if_name */
    put(maker, 3, 2);
    put_data(maker, 'e', 3, true);
    if (resolution < 256) {
        put(maker, 9, 2);
        put(maker, 1, 2);
        put(maker, resolution, 1);
        put(maker, 0, 3);
    }
    if (offset != 0) {
        put(maker, 14, 2);
        put(maker, 8, 2);
        put(maker, (uint64_t)offset, 8);
    }
    put(maker, 0, 4);
    block_end(maker);
}

static void packet_block(struct maker *maker, uint32_t type, uint32_t interface, uint64_t ticks,
                         uint8_t first, uint32_t captured, uint32_t length)
{
    block_begin(maker, type);
    if (type == 2) {
        put(maker, interface, 2);
        put(maker, 7, 2); /* drops */
    } else {
        put(maker, interface, 4);
    }
    put(maker, ticks >> 32, 4);
    put(maker, ticks & 0xFFFFFFFF, 4);
    put(maker, captured, 4);
    put(maker, length, 4);
    put_data(maker, first, captured, true);
    put(maker, 1, 2); /* a comment */
    put(maker, 2, 2);
    put_data(maker, 'x', 2, true);
    put(maker, 0, 4);
    block_end(maker);
}

static void simple_block(struct maker *maker, uint8_t first, uint32_t captured, uint32_t length)
{
    block_begin(maker, 3);
    put(maker, length, 4);
    put_data(maker, first, captured, true);
    block_end(maker);
}

static void other_block(struct maker *maker)
{
    block_begin(maker, 5);
    put_data(maker, 0, 3000, true); /* longer than what is skipped at once */
    block_end(maker);
}

/* ---- reading ---- */

static void want_frame(struct capture_rig *rig, uint8_t first, uint32_t captured, uint32_t length)
{
    struct wire_capture_frame frame;

    if (wire_capture_next(&rig->capture, &frame) != WIRE_CAPTURE_FRAME)
        fprintf(stderr, "byte %" PRIu64 ": %s\n", rig->capture.error_offset, rig->capture.error);
    CHECK_STR(rig->capture.error, "");
    CHECK_EQ(frame.captured_bytes, captured);
    CHECK_EQ(frame.frame_bytes, length);
    for (uint32_t i = 0; i < captured; i++)
        CHECK_EQ(frame.bytes[i], (uint8_t)(first + i));
}

static void want_time(struct capture_rig *rig, int64_t seconds, uint64_t fraction_ps,
                      unsigned digits)
{
    struct wire_capture_frame frame;

    CHECK_EQ(wire_capture_next(&rig->capture, &frame), WIRE_CAPTURE_FRAME);
    CHECK(frame.timed);
    CHECK_EQ(frame.seconds, seconds);
    CHECK_EQ(frame.fraction_ps, fraction_ps);
    CHECK_EQ(frame.time_digits, digits);
}

static void want_end(struct capture_rig *rig)
{
    struct wire_capture_frame frame;

    CHECK_EQ(wire_capture_next(&rig->capture, &frame), WIRE_CAPTURE_END);
    CHECK_EQ(wire_capture_next(&rig->capture, &frame), WIRE_CAPTURE_END);
    CHECK_EQ(rig->capture.offset, rig->file.n);
    capture_rig_free(rig);
}

static void open_made(struct capture_rig *rig, const struct maker *maker)
{
    capture_rig_init(rig, maker->bytes, maker->n);
    if (!wire_capture_open(&rig->capture))
        fprintf(stderr, "byte %" PRIu64 ": %s\n", rig->capture.error_offset, rig->capture.error);
    CHECK(!rig->capture.bad);
}

/* The file is refused at @p offset, after @p frames frames, with words that hold @p words. */
static void want_bad(const struct maker *maker, uint64_t offset, unsigned frames, const char *words)
{
    struct capture_rig rig;
    struct wire_capture_frame frame;
    unsigned found = 0;

    capture_rig_init(&rig, maker->bytes, maker->n);
    if (wire_capture_open(&rig.capture)) {
        while (wire_capture_next(&rig.capture, &frame) == WIRE_CAPTURE_FRAME)
            found++;
    }
    if (strstr(rig.capture.error, words) == NULL)
        fprintf(stderr, "\"%s\" does not say \"%s\"\n", rig.capture.error, words);
    CHECK(strstr(rig.capture.error, words) != NULL);
    CHECK_EQ(rig.capture.error_offset, offset);
    CHECK_EQ(found, frames);
    CHECK(rig.capture.bad);
    CHECK_EQ(wire_capture_next(&rig.capture, &frame), WIRE_CAPTURE_BAD);
    capture_rig_free(&rig);
}

/* ---- cases ---- */

static void pcap_of_both_clocks_and_byte_orders(void)
{
    for (int variant = 0; variant < 4; variant++) {
        bool nano = variant & 1;
        struct maker maker = {.big = variant >> 1};
        struct capture_rig rig;

        /* The upper half of the link type tells of an FCS and is no part of it. */
        pcap_header(&maker, nano ? 0xA1B23C4D : 0xA1B2C3D4, 0x24000001);
        pcap_record(&maker, 999999, 10, 60, 60);
        pcap_record(&maker, 1, 20, 0, 0);
        pcap_record(&maker, 0, 30, 33, 1500);
        pcap_record(&maker, 1500000, 40, 1, 0); /* clocks that run over, lengths that lie */
        open_made(&rig, &maker);
        want_time(&rig, SECONDS, nano ? 999999000u : 999999000000u, nano ? 9 : 6);
        want_frame(&rig, 20, 0, 0);
        want_frame(&rig, 30, 33, 1500);
        want_time(&rig, nano ? SECONDS : SECONDS + 1, nano ? 1500000000u : 500000000000u,
                  nano ? 9 : 6);
        want_end(&rig);
    }
}

/* One section with all that we read; its frames begin with 1, 2 and 3. */
static void whole_section(struct maker *maker)
{
    section(maker);
    interface_block(maker, 1, 0, 256, 0);
    other_block(maker);
    interface_block(maker, 1, 50, 9, -2);
    packet_block(maker, 6, 0, 3000001, 1, 61, 61);
    packet_block(maker, 2, 1, 5000000007, 2, 62, 99);
    simple_block(maker, 3, 63, 63);
}

static void pcapng_of_every_packet_block_and_byte_order(void)
{
    struct maker maker = {0};
    struct capture_rig rig;
    struct wire_capture_frame frame;

    for (int i = 0; i < 3; i++) { /* sections may change the byte order within a file */
        maker.big = i == 1;
        whole_section(&maker);
    }
    open_made(&rig, &maker);
    for (int i = 0; i < 3; i++) {
        want_frame(&rig, 1, 61, 61);
        want_frame(&rig, 2, 62, 99);
        CHECK_EQ(wire_capture_next(&rig.capture, &frame), WIRE_CAPTURE_FRAME);
        CHECK(!frame.timed && frame.seconds == 0 && frame.fraction_ps == 0);
        CHECK_EQ(frame.bytes[0], 3);
    }
    want_end(&rig);
    open_made(&rig, &maker);
    for (int i = 0; i < 3; i++) {
        want_time(&rig, 3, 1000000, 6);
        want_time(&rig, 3, 7000, 9); /* 5.000000007 s, two seconds earlier */
        want_frame(&rig, 3, 63, 63);
    }
    want_end(&rig);
}

static void pcapng_clocks_of_every_resolution(void)
{
    static const struct {
        unsigned resolution, digits;
        uint64_t ticks;
        int64_t seconds;
        uint64_t fraction_ps;
    } cases[] = {
        {0, 0, 77, 77, 0},
        {3, 3, 77001, 77, 1000000000},
        {12, 12, 77000000000001, 77, 1},
        {15, 12, 77000000000001999, 77, 1},
        {19, 12, UINT64_MAX, 1, 844674407370},
        {20, 12, UINT64_MAX, 0, 184467440737},
        {31, 12, UINT64_MAX, 0, 1},
        {32, 12, UINT64_MAX, 0, 0},
        {127, 12, UINT64_MAX, 0, 0},
        {0x80, 0, 77, 77, 0},
        {0x81, 1, 155, 77, 500000000000},
        {0xA0, 12, 0x4D80000001, 77, 500000000232},
        {0x80 + 63, 12, UINT64_MAX, 1, 999999999999},
        {0x80 + 64, 12, UINT64_MAX, 0, 999999999999},
        {0xFF, 12, UINT64_MAX, 0, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct maker maker = {.big = i & 1};
        struct capture_rig rig;

        section(&maker);
        interface_block(&maker, 1, 0, cases[i].resolution, 0);
        packet_block(&maker, 6, 0, cases[i].ticks, 1, 1, 1);
        open_made(&rig, &maker);
        want_time(&rig, cases[i].seconds, cases[i].fraction_ps, cases[i].digits);
        want_end(&rig);
    }
}

static void simple_packets_are_cut_at_the_snap_length(void)
{
    struct maker maker = {0};
    struct capture_rig rig;

    section(&maker);
    interface_block(&maker, 1, 50, 256, 0);
    simple_block(&maker, 9, 50, 1000);
    simple_block(&maker, 9, 49, 49);
    open_made(&rig, &maker);
    want_frame(&rig, 9, 50, 1000);
    want_frame(&rig, 9, 49, 49);
    want_end(&rig);
}

/* Every file that is shorter by some bytes: all frames that are whole, then one clear error. */
static void cut_everywhere(const struct maker *whole, const size_t *ends, const unsigned *frames,
                           size_t n_ends)
{
    for (size_t n = 0; n < whole->n; n++) {
        struct capture_rig rig;
        struct wire_capture_frame frame;
        uint8_t *exact = malloc(n + 1);
        unsigned found = 0, wanted = 0;
        bool at_end = false;

        CHECK(exact != NULL);
        memcpy(exact, whole->bytes, n);
        for (size_t i = 0; i < n_ends; i++) {
            wanted = n >= ends[i] ? frames[i] : wanted;
            at_end = at_end || n == ends[i];
        }
        capture_rig_init(&rig, exact, n);
        if (wire_capture_open(&rig.capture)) {
            while (wire_capture_next(&rig.capture, &frame) == WIRE_CAPTURE_FRAME)
                found++;
        }
        CHECK_EQ(found, wanted);
        CHECK_EQ(rig.capture.bad, !at_end);
        if (rig.capture.bad) {
            CHECK(strstr(rig.capture.error, "the file ends here") != NULL);
            CHECK_EQ(rig.capture.error_offset, n);
        }
        capture_rig_free(&rig);
        free(exact);
    }
}

static void files_cut_at_every_byte(void)
{
    struct maker pcap = {0}, ng = {0};
    size_t ends[6];
    unsigned frames[6];

    pcap_header(&pcap, 0xA1B2C3D4, 1);
    ends[0] = pcap.n;
    frames[0] = 0;
    for (unsigned i = 1; i < 4; i++) {
        pcap_record(&pcap, 0, 1, 20 * i, 20 * i);
        ends[i] = pcap.n;
        frames[i] = i;
    }
    cut_everywhere(&pcap, ends, frames, 4);

    for (unsigned i = 0; i < 6; i++) {
        if (i == 0)
            section(&ng);
        else if (i == 1)
            interface_block(&ng, 1, 0, 9, 1);
        else if (i == 3)
            other_block(&ng);
        else
            packet_block(&ng, 6, 0, 1, 1, 21, 21);
        ends[i] = ng.n;
        frames[i] = i < 2 ? 0 : i < 4 ? 1 : i - 2;
    }
    cut_everywhere(&ng, ends, frames, 6);
}

/* A file with one field overwritten. */
static struct maker spoiled(const struct maker *whole, size_t at, uint32_t value, unsigned bytes)
{
    struct maker maker = *whole;
    size_t n = maker.n;

    maker.n = at;
    put(&maker, value, bytes);
    maker.n = n;
    return maker;
}

static void damaged_pcap(void)
{
    struct maker whole = {0}, maker;

    pcap_header(&whole, 0xA1B2C3D4, 1);
    pcap_record(&whole, 0, 1, 20, 20);
    pcap_record(&whole, 0, 1, 20, 20);
    maker = spoiled(&whole, 20, 113, 4);
    want_bad(&maker, 20, 0, "link type 113 (Linux cooked v1)");
    maker = spoiled(&whole, 20, 999, 4);
    want_bad(&maker, 20, 0, "link type 999 (unknown)");
    maker = spoiled(&whole, 4, 3, 2);
    want_bad(&maker, 4, 0, "pcap version 3.4");
    maker = spoiled(&whole, 6, 3, 2);
    want_bad(&maker, 4, 0, "pcap version 2.3");
    maker = spoiled(&whole, 24 + 36 + 8, WIRE_CAPTURE_FRAME_BYTES + 1, 4);
    want_bad(&maker, 24 + 36 + 8, 1, "claims 262145 captured bytes");
    maker = spoiled(&whole, 0, 0x12345678, 4);
    want_bad(&maker, 0, 0, "begins with 78 56 34 12");
    maker = spoiled(&whole, 0, 0x00088B1F, 4);
    want_bad(&maker, 0, 0, "gzip");
    maker = spoiled(&whole, 0, 0x0000001F, 4);
    want_bad(&maker, 0, 0, "begins with 1f 00 00 00");
}

static void damaged_pcapng(void)
{
    struct maker whole = {0}, maker;
    size_t interface, packet, simple;

    section(&whole);
    interface = whole.n;
    interface_block(&whole, 1, 0, 9, 0);
    packet = whole.n;
    packet_block(&whole, 6, 0, 1, 1, 21, 21);
    simple = whole.n;
    simple_block(&whole, 1, 20, 20);

    maker = spoiled(&whole, 8, 0x11111111, 4);
    want_bad(&maker, 8, 0, "byte-order magic");
    maker = spoiled(&whole, 12, 2, 2);
    want_bad(&maker, 12, 0, "pcapng version 2.0");
    maker = spoiled(&whole, 4, 24, 4);
    want_bad(&maker, 4, 0, "at least 28");
    maker = spoiled(&whole, interface + 4, 16, 4);
    want_bad(&maker, interface + 4, 0, "at least 20");
    maker = spoiled(&whole, interface + 8, 101, 2);
    want_bad(&maker, packet, 0, "link type 101 (raw IP)");
    maker = spoiled(&whole, interface + 18, 60000, 2);
    want_bad(&maker, interface + 18, 0, "an option of 60000 bytes");
    maker = spoiled(&whole, packet - 4, 0, 4);
    want_bad(&maker, packet - 4, 0, "length 0 at its end");
    maker = spoiled(&whole, packet + 4, 28, 4);
    want_bad(&maker, packet + 4, 0, "at least 32");
    maker = spoiled(&whole, packet + 4, 71, 4);
    want_bad(&maker, packet + 4, 0, "multiple of 4");
    maker = spoiled(&whole, packet + 8, 1, 4);
    want_bad(&maker, packet + 8, 0, "interface 1, but the section has described 1");
    maker = spoiled(&whole, packet + 20, 1000, 4);
    want_bad(&maker, packet + 20, 0, "1000 captured bytes in a block with room for 36");
    maker = spoiled(&whole, simple + 4, 12, 4);
    want_bad(&maker, simple + 4, 1, "at least 16");
    maker = spoiled(&whole, simple, 77, 4);    /* an unknown block is skipped ... */
    maker = spoiled(&maker, simple + 4, 8, 4); /* ... if it can be one */
    want_bad(&maker, simple + 4, 1, "at least 12");

    maker = whole; /* a second section */
    section(&maker);
    maker = spoiled(&maker, whole.n + 8, 0x11111111, 4);
    want_bad(&maker, whole.n + 8, 2, "byte-order magic");

    interface_block(&whole, 1, 0, 9, 0);
    interface = whole.n;
    interface_block(&whole, 1, 0, 9, 0);
    want_bad(&whole, interface, 2, "more than 2 interfaces");
    maker = (struct maker){0};
    section(&maker);
    packet = maker.n;
    simple_block(&maker, 1, 20, 20);
    want_bad(&maker, packet + 8, 0, "has described 0");
}

/* No end-of-options option, and options too short for what they should hold: of no effect. */
static void options_may_end_with_their_block(void)
{
    struct maker maker = {0};
    struct capture_rig rig;

    section(&maker);
    block_begin(&maker, 1);
    put(&maker, 1, 4); /* link type */
    put(&maker, 0, 4);
    put(&maker, 9, 2); /* a resolution of no bytes */
    put(&maker, 0, 2);
    put(&maker, 14, 2); /* an offset of four bytes */
    put(&maker, 4, 2);
    put(&maker, 1000, 4);
    block_end(&maker);
    packet_block(&maker, 6, 0, 7000001, 1, 1, 1);
    open_made(&rig, &maker);
    want_time(&rig, 7, 1000000, 6);
    want_end(&rig);
}

/* A block may be longer than a frame can be; a packet in it may not. */
static void a_frame_too_long_for_its_block_or_for_us(void)
{
    static const uint32_t types[] = {6, 3};
    const size_t bytes = WIRE_CAPTURE_FRAME_BYTES + 4;

    for (size_t i = 0; i < 2; i++) {
        struct maker head = {0};
        struct capture_rig rig;
        struct wire_capture_frame frame;
        size_t fixed = types[i] == 6 ? 20 : 4, start, n;
        uint8_t *file;

        section(&head);
        interface_block(&head, 1, 0, 256, 0);
        start = head.n;
        put(&head, types[i], 4);
        put(&head, 12 + fixed + bytes, 4);
        if (types[i] == 6) {
            put(&head, 0, 8); /* interface, time */
            put(&head, 0, 4);
            put(&head, bytes, 4);
        }
        put(&head, bytes, 4);
        n = head.n + bytes + 4;
        file = calloc(1, n);
        CHECK(file != NULL);
        memcpy(file, head.bytes, head.n);
        capture_rig_init(&rig, file, n);
        CHECK(wire_capture_open(&rig.capture));
        CHECK_EQ(wire_capture_next(&rig.capture, &frame), WIRE_CAPTURE_BAD);
        CHECK(strstr(rig.capture.error, "262148 captured bytes in a block with room for 262148"));
        CHECK_EQ(rig.capture.error_offset, start + (types[i] == 6 ? 20 : 8));
        capture_rig_free(&rig);
        free(file);
    }
}

/* The longest frame fits; its block may be longer than the buffer only by its options. */
static void the_longest_frame_fits(void)
{
    size_t n = WIRE_CAPTURE_FRAME_BYTES;
    struct maker head = {0};
    struct capture_rig rig;
    struct wire_capture_frame frame;
    uint8_t *file;

    pcap_header(&head, 0xA1B2C3D4, 1);
    pcap_record(&head, 0, 0, 0, 0);
    head.n -= 8;
    put(&head, n, 4);
    put(&head, n, 4);
    file = calloc(1, head.n + n);
    CHECK(file != NULL);
    memcpy(file, head.bytes, head.n);
    file[head.n + n - 1] = 0xAB;
    capture_rig_init(&rig, file, head.n + n);
    CHECK(wire_capture_open(&rig.capture));
    CHECK_EQ(wire_capture_next(&rig.capture, &frame), WIRE_CAPTURE_FRAME);
    CHECK_EQ(frame.captured_bytes, n);
    CHECK_EQ(frame.bytes[n - 1], 0xAB);
    want_end(&rig);
    free(file);
}

CHECK_SUITE(capture_file, CHECK_CASE(pcap_of_both_clocks_and_byte_orders),
            CHECK_CASE(pcapng_of_every_packet_block_and_byte_order),
            CHECK_CASE(pcapng_clocks_of_every_resolution),
            CHECK_CASE(simple_packets_are_cut_at_the_snap_length),
            CHECK_CASE(files_cut_at_every_byte), CHECK_CASE(damaged_pcap),
            CHECK_CASE(damaged_pcapng), CHECK_CASE(options_may_end_with_their_block),
            CHECK_CASE(a_frame_too_long_for_its_block_or_for_us),
            CHECK_CASE(the_longest_frame_fits))
