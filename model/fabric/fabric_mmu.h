/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Shared-buffer MMU: may a frame stay, and must the ingress class be paused or resumed.
 *
 * Place  first stop of a frame in the switch, and again when it leaves
 * In     bytes of one frame, the state of its ingress port and class
 * Out    admitted or not; pause or resume wanted
 * Owns   struct fabric_mmu and every struct fabric_mmu_ingress
 * Spec   Choudhury and Hahne, dynamic queue length thresholds (T = alpha * free pool); the order of
 *        tests is that of HPCC's SwitchMmu, with headroom per port and lossless class
 * Cost   O(1), one multiplication a test
 *
 * The buffer is three parts, fixed by fabric_start:
 *   buffer = reserved of every connected port and class + headroom of every connected port and
 *            lossless class + shared pool
 * A frame is charged whole: to reserve and pool of its ingress (used_bytes; what exceeds the
 * reserve is in the pool), or to the headroom of its ingress. What leaves empties headroom first.
 */
#ifndef FABRIC_MMU_H
#define FABRIC_MMU_H

#include "wire_types.h"

struct fabric_mmu {
    uint64_t pool_bytes;      /* size of the shared pool */
    uint64_t pool_used_bytes; /* <= pool_bytes */
    uint64_t held_bytes;      /* reserve + pool + headroom in use */
    uint64_t reserved_bytes;  /* of each ingress port and class */
    uint64_t xon_offset_bytes;
    double alpha;       /* of a lossless ingress */
    double lossy_alpha; /* of a lossy egress queue */
};

struct fabric_mmu_ingress {
    uint64_t used_bytes;     /* in reserve and pool */
    uint64_t headroom_bytes; /* in headroom */
};

/** What headroom must hold for one port, all in the units of their names. */
struct fabric_mmu_link {
    uint64_t rate_bps;
    uint64_t delay_ps;         /* one way */
    uint64_t peer_reaction_ps; /* from the pause frame's last bit until the peer's MAC stops */
    uint64_t max_frame_bytes;  /* with FCS */
};

/**
 * Headroom one lossless class of a port needs, so that nothing is lost after a pause was decided:
 *
 *   max                      the frame that crossed the threshold: it is the first in headroom
 * + max + 20                 the frame our own MAC has just begun when it should send the pause
 * + 84                       the pause frame on the line
 * + 2 * interface(rate)      PHY, MAC and FEC at both ends
 * + 2 * rate * delay         on the way there and already on the way here
 * + rate * peer_reaction     the peer's response
 * + max                      the frame the peer has just begun
 *
 * The terms are those of 802.1Q annex N but for the first: there the threshold is taken to be
 * crossed inside the shared part, here a frame never lies in two parts.
 */
uint64_t fabric_mmu_headroom_bytes(const struct fabric_mmu_link *link);

/** Interface delay of one end at @p rate_bps, in bytes at that rate. */
uint64_t fabric_mmu_interface_bytes(uint64_t rate_bps);

/** Bytes of the shared pool nobody uses. */
static inline uint64_t fabric_mmu_free_bytes(const struct fabric_mmu *mmu)
{
    return mmu->pool_bytes - mmu->pool_used_bytes;
}

/** alpha * free pool, cut to whole bytes. */
static inline uint64_t fabric_mmu_threshold_bytes(const struct fabric_mmu *mmu, double alpha)
{
    return (uint64_t)(int64_t)(alpha * (double)(int64_t)fabric_mmu_free_bytes(mmu));
}

/** Part of @p used_bytes of one ingress that lies in the shared pool. */
static inline uint64_t fabric_mmu_shared_bytes(const struct fabric_mmu *mmu, uint64_t used_bytes)
{
    return used_bytes > mmu->reserved_bytes ? used_bytes - mmu->reserved_bytes : 0;
}

static inline void fabric_mmu_charge(struct fabric_mmu *mmu, struct fabric_mmu_ingress *in,
                                     uint64_t bytes)
{
    mmu->pool_used_bytes += fabric_mmu_shared_bytes(mmu, in->used_bytes + bytes) -
                            fabric_mmu_shared_bytes(mmu, in->used_bytes);
    in->used_bytes += bytes;
    mmu->held_bytes += bytes;
    WIRE_ASSERT(mmu->pool_used_bytes <= mmu->pool_bytes);
}

/**
 * A frame of a lossless class arrives: into reserve and pool below the threshold, else into
 * headroom of at most @p limit_bytes.
 * @return false: both are full and nothing was charged.
 */
static inline bool fabric_mmu_admit_lossless(struct fabric_mmu *mmu, struct fabric_mmu_ingress *in,
                                             uint64_t bytes, uint64_t limit_bytes)
{
    uint64_t shared = fabric_mmu_shared_bytes(mmu, in->used_bytes + bytes);
    uint64_t more = shared - fabric_mmu_shared_bytes(mmu, in->used_bytes);

    if (WIRE_LIKELY(shared <= fabric_mmu_threshold_bytes(mmu, mmu->alpha) &&
                    more <= fabric_mmu_free_bytes(mmu))) {
        fabric_mmu_charge(mmu, in, bytes);
        return true;
    }
    if (in->headroom_bytes + bytes > limit_bytes)
        return false;
    in->headroom_bytes += bytes;
    mmu->held_bytes += bytes;
    return true;
}

/**
 * A frame of a lossy class arrives for an egress queue of @p queue_bytes: into the reserve of its
 * ingress while that lasts, else only if the queue stays below lossy_alpha * free pool.
 * @return false: nothing was charged.
 */
static inline bool fabric_mmu_admit_lossy(struct fabric_mmu *mmu, struct fabric_mmu_ingress *in,
                                          uint64_t bytes, uint64_t queue_bytes)
{
    uint64_t more = fabric_mmu_shared_bytes(mmu, in->used_bytes + bytes) -
                    fabric_mmu_shared_bytes(mmu, in->used_bytes);

    if (more > 0 && (more > fabric_mmu_free_bytes(mmu) ||
                     queue_bytes + bytes > fabric_mmu_threshold_bytes(mmu, mmu->lossy_alpha)))
        return false;
    fabric_mmu_charge(mmu, in, bytes);
    return true;
}

/** A frame that was admitted has left: headroom empties first. */
static inline void fabric_mmu_release(struct fabric_mmu *mmu, struct fabric_mmu_ingress *in,
                                      uint64_t bytes)
{
    uint64_t headroom = in->headroom_bytes < bytes ? in->headroom_bytes : bytes;
    uint64_t used = in->used_bytes - (bytes - headroom);

    WIRE_ASSERT(in->used_bytes >= bytes - headroom && mmu->held_bytes >= bytes);
    mmu->pool_used_bytes -=
        fabric_mmu_shared_bytes(mmu, in->used_bytes) - fabric_mmu_shared_bytes(mmu, used);
    in->headroom_bytes -= headroom;
    in->used_bytes = used;
    mmu->held_bytes -= bytes;
}

/**
 * Must a lossless ingress pause? Headroom in use, or the pool share has reached the threshold. Not
 * while it lives in its reserve alone: that is its own, however full the pool is.
 */
static inline bool fabric_mmu_wants_pause(const struct fabric_mmu *mmu,
                                          const struct fabric_mmu_ingress *in)
{
    uint64_t shared = fabric_mmu_shared_bytes(mmu, in->used_bytes);

    return in->headroom_bytes > 0 ||
           (shared > 0 && shared >= fabric_mmu_threshold_bytes(mmu, mmu->alpha));
}

/** May a paused ingress resume? Headroom empty, and xon_offset below the threshold or no share. */
static inline bool fabric_mmu_wants_resume(const struct fabric_mmu *mmu,
                                           const struct fabric_mmu_ingress *in)
{
    uint64_t shared = fabric_mmu_shared_bytes(mmu, in->used_bytes);

    return in->headroom_bytes == 0 &&
           (shared == 0 ||
            shared + mmu->xon_offset_bytes <= fabric_mmu_threshold_bytes(mmu, mmu->alpha));
}

#endif
