/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Servers: what a block costs in time, without an event.
 *
 * A private in-order stage keeps one `busy_until`. A shared server (PCIe up and down, table
 * fetches) takes the first free interval at or after `in`, whatever the order of calls: a booking
 * far in the future must not delay what is called after it for now.
 *
 * Owns   its intervals; the oldest is forgotten when the ring is full (counted), since calls reach
 *        back only as far as the TX FIFO
 * Cost   O(1) when `in` is at or after the last interval, else a search from the end
 */
#ifndef RNIC_SERVER_H
#define RNIC_SERVER_H

#include "wire_types.h"

/* A private in-order stage: a packet occupies it for `service` and leaves `latency` after start. */
struct rnic_stage {
    uint64_t busy_until_ps;
};

/** @return time the record leaves. */
static inline uint64_t rnic_stage_pass(struct rnic_stage *stage, uint64_t in_ps,
                                       uint64_t service_ps, uint64_t latency_ps)
{
    uint64_t start_ps = wire_max_ps(in_ps, stage->busy_until_ps);

    stage->busy_until_ps = start_ps + service_ps;
    return start_ps + latency_ps;
}

#define RNIC_SERVER_INTERVALS 128u

struct rnic_server_interval {
    uint64_t start_ps, end_ps;
};

struct rnic_server {
    uint32_t n;         /* intervals held, sorted, not touching */
    uint64_t forgotten; /* intervals dropped because the ring was full */
    struct rnic_server_interval busy[RNIC_SERVER_INTERVALS];
};

/** Out-of-line part of rnic_server_pass: search and insert. */
uint64_t rnic_server_insert(struct rnic_server *server, uint64_t in_ps, uint64_t service_ps);

/** Occupy the server for @p service_ps. @return start of the first free interval at or after in. */
static inline uint64_t rnic_server_pass(struct rnic_server *server, uint64_t in_ps,
                                        uint64_t service_ps)
{
    if (service_ps == 0)
        return in_ps;
    if (server->n > 0 && in_ps == server->busy[server->n - 1].end_ps) {
        server->busy[server->n - 1].end_ps += service_ps;
        return in_ps;
    }
    return rnic_server_insert(server, in_ps, service_ps);
}

#endif
