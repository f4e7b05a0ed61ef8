/* SPDX-License-Identifier: GPL-2.0-only */
#include "fabric_trace.h"

#include <stdlib.h>

static_assert((FABRIC_TRACE_RECORDS & (FABRIC_TRACE_RECORDS - 1)) == 0, "indexed by mask");

int fabric_trace_init(struct fabric_trace *trace)
{
    trace->first = 0;
    trace->next = 0;
    trace->records = malloc(FABRIC_TRACE_RECORDS * sizeof(*trace->records));
    return trace->records != NULL ? 0 : -1;
}

void fabric_trace_free(struct fabric_trace *trace)
{
    free(trace->records);
    trace->records = NULL;
}

bool fabric_trace_put(struct fabric_trace *trace, const struct fabric_event *event)
{
    WIRE_ASSERT(trace->records != NULL);
    WIRE_ASSERT(event->type != FABRIC_EVENT_NONE);
    if (trace->next - trace->first == FABRIC_TRACE_RECORDS)
        return false;
    trace->records[trace->next++ & (FABRIC_TRACE_RECORDS - 1)] = *event;
    return true;
}

bool fabric_trace_take(struct fabric_trace *trace, uint64_t now_ps, struct fabric_event *event)
{
    const struct fabric_event *oldest = &trace->records[trace->first & (FABRIC_TRACE_RECORDS - 1)];

    if (trace->first == trace->next || oldest->time_ps > now_ps)
        return false;
    *event = *oldest;
    trace->first++;
    return true;
}
