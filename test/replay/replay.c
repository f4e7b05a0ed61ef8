/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * replay: captured RoCE traffic against a card of ours, in the place of either host.
 *
 * Exit status 0: no difference, or only such as the table of departures names; 1: others; 2: the
 * input is of no use.
 */
#include "replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: replay [options] FILE...\n"
    "\n"
    "Replays captures (pcap, pcapng) of RoCE traffic against one card of this model, which stands\n"
    "in for either host: as responder it gets the captured requests, as requester it posts the\n"
    "same work requests and gets the captured answers. What it sends is compared with the capture\n"
    "frame by frame, and memory and completions with what the capture shows.\n"
    "\n"
    "  --setup FILE       what the capture can not tell (below)\n"
    "  --departures FILE  table of differences that are allowed, as test/replay/departures.md\n"
    "  --responder        only in the place of the hosts that answer\n"
    "  --requester        only in the place of the hosts that ask\n"
    "  --show             also print what was derived, as lines of a set-up file\n"
    "  --help             this text\n"
    "\n"
    "Not compared: IP identification, TTL, UDP source port, ECN, MigReq, AckReq, time, CNPs.\n"
    "\n"
    "Set-up file. Nothing in it is needed as long as the capture shows it. Hosts are letters in\n"
    "the order in which the capture shows them: a is the source of its first RoCE frame. Numbers\n"
    "are decimal or 0x...; # begins a comment.\n"
    "\n"
    "  capture NAME              lines up to the next `capture` are for NAME.pcap alone; those\n"
    "                            before the first are for every capture\n"
    "  mtu BYTES                 path MTU; else: the size of FIRST and MIDDLE packets\n"
    "  qp HOST QPN [peer=QPN] [psn=N] [access=write,read,atomic] [rnr_timer=N] [retry=N]\n"
    "              [rnr_retry=N] [rd_atomic=N] [qkey=N] [absent=1]\n"
    "                            peer and psn (the first PSN it gets) are for one that answers,\n"
    "                            retry, rnr_retry and rd_atomic for one that asks; absent: the\n"
    "                            host has none of this number\n"
    "  region HOST KEY va=N len=N access=write,read,atomic\n"
    "                            memory that a key opens; else: what requests that were not\n"
    "                            refused have touched\n"
    "  recv HOST id=N len=N [count=N] [frame=N] [qp=QPN]\n"
    "                            receives posted at the start or before that frame; else: one\n"
    "                            for each message, when it comes, except where the capture shows\n"
    "                            an RNR NAK\n"
    "  post HOST OP id=N len=N [va=N key=N] [imm=N] [inv=KEY] [add=N] [compare=N swap=N]\n"
    "              [solicited=1] [qp=QPN]\n"
    "                            work requests; OP: send, send_imm, send_inv, write, write_imm,\n"
    "                            read, add, swap; else: the messages of the capture, id 1, 2, ...\n"
    "  done HOST STATUS id=N [opcode=N len=N imm=N] [qp=QPN]\n"
    "  got HOST STATUS id=N [opcode=N len=N imm=N] [qp=QPN]\n"
    "                            completions wanted, of work requests and of receives, in order;\n"
    "                            else: what the captured answers say\n"
    "  state HOST RTS|SQE|ERR [qp=QPN]\n"
    "                            how the queue pair must end\n"
    "  memory HOST KEY va=N bytes=HEX\n"
    "                            what must stand there at the end, up to 32 bytes\n"
    "  loose acks                the peer may acknowledge several requests with one packet\n"
    "  loose credits             end-to-end credits of the peer's acknowledges are not compared\n"
    "  lost requests N           so many requests were lost before they were captured\n"
    "  lost answers N            so many answers were\n";

struct options
{
    const char *setup, *departures;
    unsigned roles;
    bool show;
};

static const char *transport_name(uint8_t transport)
{
    if (transport == WIRE_TRANSPORT_RC)
        return "RC";
    return transport == WIRE_TRANSPORT_UC ? "UC" : "UD";
}

static void show_access(unsigned access)
{
    printf("access=%s%s%s", access & RNIC_ACCESS_REMOTE_WRITE ? "write," : "",
           access & RNIC_ACCESS_REMOTE_READ ? "read," : "",
           access & RNIC_ACCESS_REMOTE_ATOMIC ? "atomic" : "");
}

static void show(const struct replay_case *c)
{
    printf("capture %s\n", c->name);
    for (size_t i = 0; i < c->streams.n; i++)
    {
        const struct replay_stream *stream = &c->streams.at[i];

        printf("qp %s 0x%x peer=0x%x psn=0x%x # %s, asked by %s, %zu messages, MTU %u\n",
               replay_host_name(c, stream->responder), stream->responder_qpn, stream->requester_qpn,
               stream->first_psn.v, transport_name(stream->transport),
               replay_host_name(c, stream->requester), stream->messages.n, stream->mtu_bytes);
    }
    for (size_t i = 0; i < c->regions.n; i++)
    {
        const struct replay_region *region = &c->regions.at[i];

        printf("region %s 0x%x va=0x%" PRIx64 " len=%" PRIu64 " ",
               replay_host_name(c, region->host), region->key, region->va, region->bytes);
        show_access(region->access);
        printf("\n");
    }
}

/* @return differences that nothing covers. */
static size_t replay_file(const char *path, const struct options *options,
                          struct replay_departures *table)
{
    struct replay_case c;
    size_t left;

    replay_open(&c, path, options->setup);
    replay_prepare(&c);
    if (options->show)
        show(&c);
    replay_run(&c, options->roles);
    left = replay_departures_apply(table, &c);
    if (options->roles == (REPLAY_RESPONDER | REPLAY_REQUESTER))
        left += replay_departures_stale(table, c.name, stdout);
    for (size_t i = 0; i < c.diffs.n; i++)
        printf("%s%s: %s  [%s]\n", c.diffs.at[i].covered ? "allowed: " : "", c.name,
               c.diffs.at[i].text, c.diffs.at[i].key);
    if (c.frames.n == 0)
        printf("%s: no RoCE frames\n", c.name);
    if (c.tally.answers_lost == 0 && left > 0)
        for (size_t i = 0; i < c.diffs.n; i++)
            if (strncmp(c.diffs.at[i].key, "extra", 5) == 0)
            {
                printf("%s: if frames were lost before they were captured, say so: lost answers "
                       "N, lost requests N\n",
                       c.name);
                break;
            }
    printf("%s %s: fed %" PRIu64 " requests, compared %" PRIu64 " answers; fed %" PRIu64
           " answers, compared %" PRIu64 " requests; %" PRIu64 " completions, %" PRIu64
           " bytes of memory; %zu differences, %zu not allowed\n",
           left == 0 ? "ok" : "FAIL", c.name, c.tally.requests_fed, c.tally.answers_compared,
           c.tally.answers_fed, c.tally.requests_compared, c.tally.completions,
           c.tally.memory_bytes, c.diffs.n, left);
    replay_case_free(&c);
    return left;
}

static const char *value(int argc, char **argv, int *i)
{
    if (*i + 1 >= argc)
        replay_die("%s needs a value; see replay --help", argv[*i]);
    return argv[++*i];
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct replay_departures table = {0};
    size_t left = 0, files = 0;

    for (int i = 1; i < argc; i++)
    {
        if (strcmp(argv[i], "--help") == 0)
        {
            fputs(help, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--setup") == 0)
            options.setup = value(argc, argv, &i);
        else if (strcmp(argv[i], "--departures") == 0)
            options.departures = value(argc, argv, &i);
        else if (strcmp(argv[i], "--responder") == 0)
            options.roles |= REPLAY_RESPONDER;
        else if (strcmp(argv[i], "--requester") == 0)
            options.roles |= REPLAY_REQUESTER;
        else if (strcmp(argv[i], "--show") == 0)
            options.show = true;
        else if (strncmp(argv[i], "--", 2) == 0)
            replay_die("no such option: %s; see replay --help", argv[i]);
        else
            files++;
    }
    if (files == 0)
        replay_die("no capture named; see replay --help");
    if (options.roles == 0)
        options.roles = REPLAY_RESPONDER | REPLAY_REQUESTER;
    if (options.departures != NULL)
        replay_departures_read(&table, options.departures);
    for (int i = 1; i < argc; i++)
    {
        if (strcmp(argv[i], "--setup") == 0 || strcmp(argv[i], "--departures") == 0)
            i++;
        else if (strncmp(argv[i], "--", 2) != 0)
            left += replay_file(argv[i], &options, &table);
    }
    free(table.items.at);
    return left > 0;
}
