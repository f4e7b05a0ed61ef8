/* SPDX-License-Identifier: GPL-2.0-only */
#include "replay.h"

#include <stdlib.h>
#include <string.h>

/* "folder/rc_send.pcap" -> "rc_send" */
static void name_case(struct replay_case *c, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dot;

    snprintf(c->name, sizeof c->name, "%s", slash != NULL ? slash + 1 : path);
    dot = strrchr(c->name, '.');
    if (dot != NULL && dot != c->name)
        *dot = '\0';
}

void replay_open(struct replay_case *c, const char *capture, const char *setup)
{
    *c = (struct replay_case){0};
    name_case(c, capture);
    replay_capture_read(c, capture);
    if (setup != NULL)
        replay_setup_read(c, setup);
}

void replay_prepare(struct replay_case *c)
{
    replay_capture_sort(c);
    replay_derive(c);
}

static bool answers_something(const struct replay_case *c, uint32_t host)
{
    for (size_t i = 0; i < c->streams.n; i++)
        if (c->streams.at[i].responder == host)
            return true;
    return false;
}

static void check_lost(struct replay_case *c, const char *what, uint64_t found, uint32_t said)
{
    char key[REPLAY_KEY_BYTES];

    if (found == said)
        return;
    snprintf(key, sizeof key, "lost %s %llu", what, (unsigned long long)found);
    replay_differs(c, 0, key, "%llu %s of ours are not in the capture, the set-up file says %u",
                   (unsigned long long)found, what, said);
}

/* Answers to nothing that was asked. */
static void check_stray(struct replay_case *c)
{
    for (size_t i = 0; i < c->frames.n; i++)
    {
        const struct replay_frame *frame = &c->frames.at[i];
        char key[REPLAY_KEY_BYTES];

        if (frame->request || frame->stream != REPLAY_NONE)
            continue;
        snprintf(key, sizeof key, "answer %u stray", frame->number);
        replay_differs(c, frame->number, key,
                       "frame %u, %s of PSN 0x%06x to queue pair 0x%x: answers no request of the "
                       "capture",
                       frame->number, wire_opcodes[frame->packet.opcode].name, frame->packet.psn.v,
                       frame->packet.dest_qpn);
    }
}

void replay_run(struct replay_case *c, unsigned roles)
{
    if (roles & REPLAY_RESPONDER)
    {
        for (uint32_t host = 0; host < c->n_hosts; host++)
            if (answers_something(c, host))
                replay_respond(c, host);
        check_lost(c, "answers", c->tally.answers_lost, c->setup.lost_answers);
        check_stray(c);
    }
    if (roles & REPLAY_REQUESTER)
    {
        for (uint32_t stream = 0; stream < c->streams.n; stream++)
            replay_request(c, stream);
        check_lost(c, "requests", c->tally.requests_lost, c->setup.lost_requests);
    }
}
