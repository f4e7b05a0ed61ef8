/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Trace records of a switch, kept until fabric_event takes them.
 *
 * Owns   a ring of FABRIC_TRACE_RECORDS records; the caller empties it after every call, which adds
 *        nine at most. What comes while it is full is lost and counted (trace_lost).
 * Cost   one mask test while off
 */
#ifndef FABRIC_TRACE_H
#define FABRIC_TRACE_H

#include "fabric_switch.h"

#define FABRIC_TRACE_RECORDS 256u /* a power of two */

struct fabric_trace {
    struct fabric_event *records;
    uint32_t first, next; /* free running */
};

/** @return 0, -1: out of memory. */
int fabric_trace_init(struct fabric_trace *trace);
void fabric_trace_free(struct fabric_trace *trace);
/** @return false: the ring was full, the record is lost. */
bool fabric_trace_put(struct fabric_trace *trace, const struct fabric_event *event);
/** Oldest record not later than @p now_ps. @return false: none. */
bool fabric_trace_take(struct fabric_trace *trace, uint64_t now_ps, struct fabric_event *event);

#endif
