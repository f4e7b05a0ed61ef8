/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * One direction of a link: rate, delay, loss, and the passage through real bytes (`wire`).
 *
 * Loss is drawn when the last bit would have arrived, from the stream of the port that would have
 * received it, and only where the loss is not 0: a stream never depends on another link. A frame
 * that the line loses by being down draws nothing.
 *
 * Owns   struct engine_link of the direction that ends at a port
 */
#ifndef ENGINE_LINK_H
#define ENGINE_LINK_H

#include "wire_addr.h"
#include "wire_rng.h"

#define ENGINE_LINK_BYTES 16384u /* longest frame that can pass as bytes */

struct engine_link {
    double loss; /* of frames that arrive here */
    bool down;
    uint64_t up_ps; /* when it last came up; 0: it was never down */
    struct wire_rng rng;
    uint64_t rate_bps; /* of frames that leave here */
};

/** Whole picoseconds of a byte at @p rate_bps, or 0 when they are not whole. */
uint32_t engine_link_ps_per_byte(uint64_t rate_bps);

/** Random stream of port @p port for what its line does; ECN marking there has another one. */
struct wire_rng engine_link_rng(uint64_t seed, uint32_t port);

/** Does the line, down at times, lose the frame that arrives now and began at @p sent_ps? */
static inline bool engine_link_breaks(const struct engine_link *link, uint64_t sent_ps)
{
    return link->down || sent_ps < link->up_ps;
}

/** Does the line lose the frame that arrives now? */
static inline bool engine_link_loses(struct engine_link *link)
{
    return link->loss > 0 && wire_rng_uniform(&link->rng) < link->loss;
}

/**
 * Send @p frame through bytes: encode, overwrite all the frame says, decode.
 * @param bytes  ENGINE_LINK_BYTES of scratch
 * @return WIRE_DROP_NONE, or what decoding found wrong. Opaque frames pass untouched.
 */
enum wire_drop engine_link_transit(struct wire_frame *frame, const struct wire_addr_book *book,
                                   uint8_t *bytes);

#endif
