/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Capture files, pcap and pcapng, read as a stream: one frame a call, never the whole file.
 *
 * In     a function that reads the next bytes of the file: this code does no I/O of its own
 * Out    frames as they were captured, with their time; or what is wrong with the file, and where
 * Owns   nothing: the caller gives the buffer of one frame and the table of interfaces
 * Spec   pcap 2.4 with micro- or nanoseconds; pcapng 1.x with section header, interface
 *        description, enhanced, simple and obsolete packet blocks, if_tsresol and if_tsoffset,
 *        other blocks skipped; both in either byte order; link type Ethernet
 * Cost   one copy of the frame's bytes; a fixed amount of memory for a file of any length
 */
#ifndef WIRE_CAPTURE_H
#define WIRE_CAPTURE_H

#include "wire_types.h"

#define WIRE_CAPTURE_FRAME_BYTES 262144u /* longest frame taken; longer: the file is damaged */
#define WIRE_CAPTURE_ERROR_BYTES 240u

/** Reads the next @p n bytes. @return how many there were: fewer than n only at the end. */
typedef size_t wire_capture_read(void *user, uint8_t *bytes, size_t n);

struct wire_capture_interface {
    uint32_t link_type;
    uint32_t snap_bytes; /* 0: no limit */
    uint8_t resolution;  /* bit 7 clear: 10^-n seconds; set: 2^-n, n in the other bits */
    int64_t offset_s;
};

struct wire_capture_frame {
    const uint8_t *bytes;    /* in the reader's buffer, good until the next call */
    uint32_t captured_bytes; /* of them; fewer than frame_bytes when the frame was cut */
    uint32_t frame_bytes;    /* as long as it was on the line */
    bool timed;              /* a simple packet block has no time: both below are 0 */
    uint8_t time_digits;     /* decimals that the file's clock has, at most 12 */
    int64_t seconds;
    uint64_t fraction_ps; /* below 10^12, counts upwards from seconds */
};

enum wire_capture_result {
    WIRE_CAPTURE_FRAME, /* one more frame */
    WIRE_CAPTURE_END,   /* the file ended where it may */
    WIRE_CAPTURE_BAD,   /* see error and error_offset; every later call says the same */
};

struct wire_capture {
    /* the caller's, set before wire_capture_open */
    wire_capture_read *read;
    void *user;
    uint8_t *buffer; /* WIRE_CAPTURE_FRAME_BYTES of them */
    struct wire_capture_interface *interfaces;
    uint32_t max_interfaces; /* at least 1; a section with more is refused */

    /* the reader's */
    bool pcapng, big_endian, bad;
    uint32_t n_interfaces;
    uint64_t offset; /* bytes read so far */
    uint64_t frames; /* frames handed out */

    uint64_t error_offset;                /* byte in the file */
    char error[WIRE_CAPTURE_ERROR_BYTES]; /* what is wrong there, and what would be right */
};

/**
 * Read the file's header. The five fields of the caller must be set, the others are not looked at.
 * @return false: not a capture file we can read; error says why.
 */
bool wire_capture_open(struct wire_capture *capture);

/** The next frame. @p frame is set only with WIRE_CAPTURE_FRAME. */
enum wire_capture_result wire_capture_next(struct wire_capture *capture,
                                           struct wire_capture_frame *frame);

#endif
