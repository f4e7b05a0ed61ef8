/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * ECN marker of one egress port: ECT becomes CE, the more likely the longer the queue.
 *
 * Place  egress, when a frame leaves its queue (ecn_at dequeue) or joins it (enqueue)
 * In     the frame and the bytes of its queue without it: those behind it when it leaves, those
 *        before it when it joins
 * Out    frame->tos
 * Owns   the port's random stream
 * Spec   RFC 3168 (only ECT(0) and ECT(1) may become CE); the RED curve of DCQCN, section 5:
 *        0 up to Kmin, linear to pmax at Kmax, 1 above (there is a jump at Kmax)
 * Cost   one compare below Kmin; draws only where 0 < p < 1 and the frame is ECT
 */
#ifndef FABRIC_ECN_H
#define FABRIC_ECN_H

#include "wire_frame.h"
#include "wire_rng.h"

struct fabric_ecn {
    uint64_t kmin_bytes; /* UINT64_MAX: marking is off */
    uint64_t kmax_bytes;
    double slope; /* probability per byte above Kmin */
    struct wire_rng rng;
};

/** Set the curve; kmin <= kmax. The random stream is left as it is. */
void fabric_ecn_init(struct fabric_ecn *ecn, uint64_t kmin_bytes, uint64_t kmax_bytes, double pmax);
/** Mark nothing. */
void fabric_ecn_off(struct fabric_ecn *ecn);

/* The part above Kmin of fabric_ecn_mark. */
bool fabric_ecn_mark_above(struct fabric_ecn *ecn, struct wire_frame *frame, uint64_t queue_bytes);

/** Mark the frame or not. RoCEv1 has no ECN. @return true: it was ECT and is CE now. */
static inline bool fabric_ecn_mark(struct fabric_ecn *ecn, struct wire_frame *frame,
                                   uint64_t queue_bytes)
{
    return WIRE_UNLIKELY(queue_bytes > ecn->kmin_bytes) &&
           fabric_ecn_mark_above(ecn, frame, queue_bytes);
}

#endif
