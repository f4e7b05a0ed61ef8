/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * DCQCN reaction point, eager: one event per timer expiry, fired one after the other in time.
 *
 * Written from the rules in the banner of rnic_cc_dcqcn.c and from the paper; shares no code with
 * it. It has no copies, no skipping and no look-ahead: the gate moves when a rate changes, and a
 * check fires each interval from the first CNP on, whether it has anything to do or not.
 */
#ifndef CC_DCQCN_REFERENCE_H
#define CC_DCQCN_REFERENCE_H

#include "rnic_cc.h"

struct cc_dcqcn_reference {
    struct rnic_dcqcn_params params;
    uint64_t line;            /* bit/s */
    uint64_t current, target; /* RC, RT in 1/65536 bit/s */
    uint64_t alpha;           /* 1.0 is 2^31 */
    bool active;              /* the limiter is on */
    bool decaying;            /* the alpha timer runs, and so do the checks if there are any */
    bool counting;            /* the increase timer runs */
    bool news_for_alpha;      /* a CNP came since the alpha timer fired */
    bool news_for_cut;        /* a CNP came since the last check */
    uint64_t alpha_at_ps, increase_at_ps, check_at_ps;
    uint64_t timer_events, byte_events, bytes;
    uint64_t gate_ps; /* the next packet may leave */
    uint64_t fired;   /* expiries so far */
};

void cc_dcqcn_reference_start(struct cc_dcqcn_reference *ref, const struct rnic_cc_config *config);

/** @return when the next timer expires, WIRE_NEVER if none runs. */
uint64_t cc_dcqcn_reference_next(const struct cc_dcqcn_reference *ref);

/** Fire the expiry that is next. */
void cc_dcqcn_reference_fire(struct cc_dcqcn_reference *ref);

/** Fire, in order, every expiry at or before @p now_ps. */
void cc_dcqcn_reference_run(struct cc_dcqcn_reference *ref, uint64_t now_ps);

/** A packet left at @p now_ps; expiries up to then have fired. */
void cc_dcqcn_reference_packet(struct cc_dcqcn_reference *ref, uint64_t bytes, uint64_t now_ps);

/** A CNP came at @p now_ps; expiries up to then have fired. */
void cc_dcqcn_reference_cnp(struct cc_dcqcn_reference *ref, uint64_t now_ps);

#endif
