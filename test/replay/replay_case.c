/* SPDX-License-Identifier: GPL-2.0-only */
#include "replay.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void replay_die(const char *format, ...)
{
    va_list args;

    fflush(stdout);
    va_start(args, format);
    fputs("replay: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

void *replay_zeroed(size_t n, size_t item_bytes)
{
    void *memory = calloc(n > 0 ? n : 1, item_bytes);

    if (memory == NULL)
        replay_die("no memory for %zu times %zu bytes", n, item_bytes);
    return memory;
}

void *replay_grow(void *at, size_t n, size_t *room, size_t item_bytes)
{
    if (n == *room)
    {
        *room = *room ? 2 * *room : 16;
        at = realloc(at, *room * item_bytes);
        if (at == NULL)
            replay_die("no memory for %zu times %zu bytes", *room, item_bytes);
    }
    memset((uint8_t *)at + n * item_bytes, 0, item_bytes);
    return at;
}

static void region_free(struct replay_region *region)
{
    free(region->initial);
    free(region->final);
    free(region->known);
}

void replay_case_free(struct replay_case *c)
{
    for (size_t i = 0; i < c->frames.n; i++)
        free(c->frames.at[i].bytes);
    for (size_t i = 0; i < c->streams.n; i++)
    {
        struct replay_stream *stream = &c->streams.at[i];

        for (size_t m = 0; m < stream->messages.n; m++)
            free(stream->messages.at[m].data);
        free(stream->messages.at);
        free(stream->requests);
        free(stream->answers);
    }
    for (size_t i = 0; i < c->regions.n; i++)
        region_free(&c->regions.at[i]);
    free(c->frames.at);
    free(c->streams.at);
    free(c->regions.at);
    free(c->diffs.at);
    free(c->setup.qps.at);
    free(c->setup.regions.at);
    free(c->setup.recvs.at);
    free(c->setup.posts.at);
    free(c->setup.dones.at);
    free(c->setup.memories.at);
    free(c->setup.states.at);
}

const char *replay_host_name(const struct replay_case *c, uint32_t host)
{
    return c->hosts[host].name;
}

const struct replay_qp *replay_case_qp(const struct replay_case *c, uint32_t host, uint32_t qpn)
{
    static const struct replay_qp nothing = {
        .host = REPLAY_NONE,
        .qpn = REPLAY_NONE,
        .peer = REPLAY_NONE,
        .psn = REPLAY_NONE,
        .access = REPLAY_NONE,
        .qkey = REPLAY_NONE,
        .rnr_timer = REPLAY_NONE,
        .retry = REPLAY_NONE,
        .rnr_retry = REPLAY_NONE,
        .rd_atomic = REPLAY_NONE,
    };

    for (size_t i = 0; i < c->setup.qps.n; i++)
    {
        const struct replay_qp *qp = &c->setup.qps.at[i];

        if (qp->host == host && (qp->qpn == qpn || qp->qpn == REPLAY_NONE))
            return qp;
    }
    return &nothing;
}

struct replay_region *replay_case_region(struct replay_case *c, uint32_t host, uint32_t key)
{
    for (size_t i = 0; i < c->regions.n; i++)
        if (c->regions.at[i].host == host && c->regions.at[i].key == key)
            return &c->regions.at[i];
    return NULL;
}

int32_t replay_distance(const struct replay_stream *stream, wire_psn psn)
{
    return wire_psn_diff(psn, stream->first_psn);
}

bool replay_is_connected(const struct replay_stream *stream)
{
    return stream->transport == WIRE_TRANSPORT_RC || stream->transport == WIRE_TRANSPORT_UC;
}

uint32_t replay_packet_psns(const struct replay_stream *stream, const struct wire_packet *packet)
{
    const struct wire_opcode *op = &wire_opcodes[packet->opcode];

    if (!(op->is & WIRE_IS_READ) || packet->dma_bytes == 0)
        return 1;
    return (uint32_t)(((uint64_t)packet->dma_bytes + stream->mtu_bytes - 1) / stream->mtu_bytes);
}
