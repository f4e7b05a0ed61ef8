/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * A line to the outside of this program: unix datagram socket, UDP socket or TAP device.
 *
 * A datagram, or a read or write of the TAP device, is one Ethernet frame without FCS. Nothing
 * blocks. Who has the line polls live_line.fd for frames that come, and while live_line.waiting is
 * not NULL calls live_line_flush again after LIVE_LINE_RETRY_NS: a unix socket does not tell when
 * its peer has room.
 *
 * In     frames as bytes, from the destination MAC on
 * Owns   the descriptor, its path, frames that wait for room
 * Spec   unix(7), udp(7), Linux Documentation/networking/tuntap
 */
#ifndef LIVE_LINE_H
#define LIVE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIVE_LINE_FRAME_BYTES 65536u /* longest frame taken */
#define LIVE_LINE_RETRY_NS 100000u
#define LIVE_LINE_WAITING_BYTES (64u << 20) /* memory of what waits; beyond it frames are lost */

struct live_line_frame;

struct live_line {
    int fd;
    bool tap;
    char *path; /* of our unix socket, to be removed; NULL: none */
    void *peer; /* address that frames are sent to */
    uint32_t peer_bytes;
    struct live_line_frame *waiting, **waiting_end; /* there was no room for them yet */
    size_t waiting_bytes;
    uint64_t sent, received;
    uint64_t nobody;  /* sent to nobody: the peer is not there. UDP: its host said so of one sent */
    uint64_t no_room; /* had to wait */
    uint64_t lost;    /* too many waited */
    uint64_t unfit;   /* not sent, or left out when received: empty, or too long */
};

/**
 * Open a line. On error nothing is left behind and @p why, of @p capacity bytes, says what is
 * wrong with which of the texts, which it begins with.
 *
 * @param local  path that is made here: what a program left behind there that has ended is removed
 * @param peer   path frames are sent to; need not exist yet
 * @return 0, -1
 */
int live_line_open_unix(struct live_line *line, const char *local, const char *peer, char *why,
                        size_t capacity);
/** The same; each is ADDRESS:PORT or [ADDRESS]:PORT, numbers only, both of one family. */
int live_line_open_udp(struct live_line *line, const char *local, const char *peer, char *why,
                       size_t capacity);
/** The same of a TAP device, which is made when it is not there and the user may. */
int live_line_open_tap(struct live_line *line, const char *name, char *why, size_t capacity);

/** Send a frame of @p n bytes, or keep a copy in front of the line while there is no room. */
void live_line_send(struct live_line *line, const uint8_t *bytes, size_t n);
/** Send what waits, as far as there is room. */
void live_line_flush(struct live_line *line);
/** @return bytes of the next frame that has arrived, put into @p bytes; 0: none now. Longer ones
 *  than @p capacity are left out, but a TAP device cuts them: give it LIVE_LINE_FRAME_BYTES. */
size_t live_line_receive(struct live_line *line, uint8_t *bytes, size_t capacity);
/** Close it, which may be done again or after an error; what waits is gone, counters stay. */
void live_line_close(struct live_line *line);

#endif
