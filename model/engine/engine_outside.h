/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * What a port of engine_add_outside has in place of a card: frames that came in from outside of the
 * simulation and wait for its MAC, a queue for each class.
 *
 * In     frames from engine_outside_send
 * Out    the MAC pulls: of the classes that may leave, the frame that came first
 * Owns   the queues; the frames in them are the pool's, linked by next, with their number of
 *        arrival in ready_ps
 * Cost   push O(1); a pull looks at the head of each class that waits
 */
#ifndef ENGINE_OUTSIDE_H
#define ENGINE_OUTSIDE_H

#include "wire_frame.h"

struct engine_outside_queue {
    struct wire_frame *first, *last; /* last is valid while first is not NULL */
};

struct engine_outside {
    struct engine_outside_queue queue[WIRE_CLASSES];
    uint64_t next_number; /* of the next frame that comes in */
    uint64_t queued_bytes;
    uint32_t waiting; /* bit c set: queue c is not empty */
};

void engine_outside_init(struct engine_outside *outside);

/** Take @p frame. @return false: more than ENGINE_OUTSIDE_BYTES wait, nothing changed. */
bool engine_outside_push(struct engine_outside *outside, struct wire_frame *frame);

/** 0: a pull with @p ready_classes succeeds, WIRE_NEVER: nothing of them waits. */
uint64_t engine_outside_tx_next(const struct engine_outside *outside, uint32_t ready_classes);

/** The MAC is free and pulls. @return what to send, NULL: nothing of @p ready_classes waits. */
struct wire_frame *engine_outside_tx(struct engine_outside *outside, uint32_t ready_classes);

#endif
