/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_server.h"

#include <string.h>

/* Put [start, end) between intervals at-1 and at, joined with whichever it touches. */
static void server_place(struct rnic_server *server, uint32_t at, uint64_t start_ps,
                         uint64_t end_ps)
{
    struct rnic_server_interval *busy = server->busy;
    bool touches_prev = at > 0 && busy[at - 1].end_ps == start_ps;
    bool touches_next = at < server->n && busy[at].start_ps == end_ps;

    if (touches_prev && touches_next) {
        busy[at - 1].end_ps = busy[at].end_ps;
        memmove(&busy[at], &busy[at + 1], (server->n - at - 1) * sizeof busy[0]);
        server->n--;
    } else if (touches_prev) {
        busy[at - 1].end_ps = end_ps;
    } else if (touches_next) {
        busy[at].start_ps = start_ps;
    } else {
        if (server->n == RNIC_SERVER_INTERVALS) {
            server->forgotten++;
            if (at == 0)
                return; /* older than all that is remembered */
            memmove(&busy[0], &busy[1], (server->n - 1) * sizeof busy[0]);
            server->n--;
            at--;
        }
        memmove(&busy[at + 1], &busy[at], (server->n - at) * sizeof busy[0]);
        busy[at] = (struct rnic_server_interval){start_ps, end_ps};
        server->n++;
    }
}

uint64_t rnic_server_insert(struct rnic_server *server, uint64_t in_ps, uint64_t service_ps)
{
    const struct rnic_server_interval *busy = server->busy;
    uint32_t at = server->n;
    uint64_t start_ps = in_ps;

    WIRE_ASSERT(service_ps > 0);
    while (at > 0 && busy[at - 1].end_ps > in_ps)
        at--; /* busy[at] is the first that ends after `in` */
    while (at < server->n && busy[at].start_ps < start_ps + service_ps) {
        start_ps = wire_max_ps(start_ps, busy[at].end_ps);
        at++;
    }
    server_place(server, at, start_ps, start_ps + service_ps);
    return start_ps;
}
