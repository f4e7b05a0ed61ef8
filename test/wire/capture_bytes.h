/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * A capture file in memory, for the tests of its reader: bytes to read from, and a reader on them.
 */
#ifndef CAPTURE_BYTES_H
#define CAPTURE_BYTES_H

#include "check.h"
#include "wire_capture.h"

struct capture_bytes {
    const uint8_t *bytes;
    size_t n, at;
};

struct capture_rig {
    struct capture_bytes file;
    struct wire_capture capture;
    struct wire_capture_interface interfaces[2];
};

static inline size_t capture_bytes_read(void *user, uint8_t *bytes, size_t n)
{
    struct capture_bytes *file = user;
    size_t part = n < file->n - file->at ? n : file->n - file->at;

    if (part > 0)
        memcpy(bytes, file->bytes + file->at, part);
    file->at += part;
    return part;
}

/* Room for one frame and two interfaces; free with capture_rig_free. */
static inline void capture_rig_init(struct capture_rig *rig, const uint8_t *bytes, size_t n)
{
    *rig = (struct capture_rig){.file = {bytes, n, 0}};
    rig->capture.read = capture_bytes_read;
    rig->capture.user = &rig->file;
    rig->capture.buffer = malloc(WIRE_CAPTURE_FRAME_BYTES);
    rig->capture.interfaces = rig->interfaces;
    rig->capture.max_interfaces = 2;
    CHECK(rig->capture.buffer != NULL);
}

static inline void capture_rig_free(struct capture_rig *rig)
{
    free(rig->capture.buffer);
    rig->capture.buffer = NULL;
}

#endif
