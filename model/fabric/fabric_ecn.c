/* SPDX-License-Identifier: GPL-2.0-only */
#include "fabric_ecn.h"

void fabric_ecn_init(struct fabric_ecn *ecn, uint64_t kmin_bytes, uint64_t kmax_bytes, double pmax)
{
    WIRE_ASSERT(kmin_bytes <= kmax_bytes);
    WIRE_ASSERT(pmax >= 0.0 && pmax <= 1.0);
    ecn->kmin_bytes = kmin_bytes;
    ecn->kmax_bytes = kmax_bytes;
    ecn->slope = kmax_bytes > kmin_bytes ? pmax / (double)(kmax_bytes - kmin_bytes) : 0.0;
}

void fabric_ecn_off(struct fabric_ecn *ecn)
{
    ecn->kmin_bytes = UINT64_MAX;
    ecn->kmax_bytes = UINT64_MAX;
    ecn->slope = 0.0;
}

bool fabric_ecn_mark_above(struct fabric_ecn *ecn, struct wire_frame *frame, uint64_t queue_bytes)
{
    uint32_t codepoint = frame->tos & WIRE_ECN_MASK;

    WIRE_ASSERT(queue_bytes > ecn->kmin_bytes);
    if (codepoint != WIRE_ECN_ECT0 && codepoint != WIRE_ECN_ECT1)
        return false;
    if (frame->kind == WIRE_KIND_ROCE && (frame->flags & WIRE_FRAME_ROCE_V1) != 0)
        return false;
    if (queue_bytes <= ecn->kmax_bytes) {
        double p = ecn->slope * (double)(queue_bytes - ecn->kmin_bytes);

        if (p <= 0.0 || (p < 1.0 && wire_rng_uniform(&ecn->rng) >= p))
            return false;
    }
    frame->tos |= WIRE_ECN_CE;
    return true;
}
