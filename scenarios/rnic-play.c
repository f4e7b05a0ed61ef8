/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * rnic-play OP: one operation between two cards and a line, told as JSON lines.
 *
 * In     options, see usage(); PSNs are absolute, as the frames carry them
 * Out    standard output: one object a line, in order of time; `what` says its kind. Nothing is
 *        printed when the options are refused. --pcap FOLDER: a.pcap and b.pcap, what each host's
 *        port sent and received. Exit status: 0 played, 2 bad input
 *
 * Host a is the requester, host b the responder. The program only moves frames and time and tells
 * what the cards did; analysis/play puts it into words and pictures. Records of kind `passage` are
 * for a view by block; words and pictures leave them out.
 */
#include "rnic-play.h"

#include <errno.h>

#define MAX_BYTES 16777216u /* of a message */
#define MAX_MESSAGES 64u
#define MAX_PACKETS 20000u

static const char *const op_names[PLAY_OPS] = {"send", "write", "read", "atomic"};

/* ---- the run ---- */

static uint64_t next_pull(const struct play_host *host)
{
    uint64_t next_ps = rnic_tx_next(host->dev, 0xFF);

    return next_ps == WIRE_NEVER ? WIRE_NEVER : wire_max_ps(next_ps, host->mac_free_ps);
}

static uint64_t next_ps(const struct play *play)
{
    uint64_t next =
        wire_min_ps(play->recv_ps, play->flying != NULL ? play->flying->arrives_ps : WIRE_NEVER);

    for (uint32_t face = 0; face < PLAY_FACES; face++)
    {
        next = wire_min_ps(next, rnic_next_wake(play->hosts[face].dev));
        next = wire_min_ps(next, next_pull(&play->hosts[face]));
    }
    return next == WIRE_NEVER ? WIRE_NEVER : wire_max_ps(next, play->now_ps);
}

static void run(struct play *play)
{
    uint64_t next;

    while ((next = next_ps(play)) != WIRE_NEVER)
    {
        play->now_ps = next;
        while (play->flying != NULL && play->flying->arrives_ps <= play->now_ps)
        {
            play_line_arrive(play);
        }
        if (play->recv_ps <= play->now_ps)
            play_host_post_recvs(play);
        for (uint32_t face = 0; face < PLAY_FACES; face++)
        {
            struct play_host *host = &play->hosts[face];

            if (rnic_next_wake(host->dev) <= play->now_ps)
            {
                rnic_wake(host->dev, play->now_ps);
                play_tell_visible(play, face);
            }
            if (next_pull(host) <= play->now_ps)
            {
                play_line_pull(play, face);
                play_tell_visible(play, face);
            }
        }
    }
}

/* A fault that struck nothing is a mistake of the user, who is told what there was to strike. */
static void check_faults(const struct play *play, const struct play_faults *faults, uint32_t face,
                         const char *option)
{
    const struct play_host *host = &play->hosts[face];

    for (uint32_t i = 0; i < faults->n; i++)
    {
        char list[512] = "none";
        size_t n = 0;
        uint32_t known = WIRE_PSN_MASK + 1;

        if (faults->list[i].struck)
            continue;
        for (size_t at = 0; at < host->n_sent && n < sizeof list - 32; at++)
            if (host->sent[at] != known)
            {
                known = host->sent[at];
                n += (size_t)snprintf(list + n, sizeof list - n, "%s%" PRIu32, n > 0 ? " " : "",
                                      known);
            }
        play_die("%s %" PRIu32 ": host %c sent no such PSN (so often); in order it sent: %s%s",
                 option, faults->list[i].psn, "ab"[face], list,
                 n >= sizeof list - 32 ? " ..." : "");
    }
}

static void play_it(struct play *play)
{
    const struct play_options *options = &play->options;
    const char *names[PLAY_FACES][2] = {{"--loss", "--duplicate"},
                                        {"--loss-response", "--duplicate-response"}};

    play->out = play_need(tmpfile());
    play->stride = (uint32_t)(options->bytes + 63) & ~63u;
    play->recv_ps = WIRE_NEVER;
    play_host_open(play, 0);
    play_host_open(play, 1);
    play_host_connect(play, 0);
    play_host_connect(play, 1);
    play_host_fill(play);
    fprintf(play->out,
            "{\"what\": \"run\", \"op\": \"%s\", \"bytes\": %" PRIu64 ", \"n\": %" PRIu64
            ", \"mtu\": %" PRIu64 ", \"rate_bps\": %" PRIu64 ", \"delay_ps\": %" PRIu64
            ", \"psn\": %" PRIu64 ", \"rnr\": %" PRIu64 ", \"bad_key\": %" PRIu64
            ", \"timeout_ps\": %" PRIu64 ", \"recovery\": %" PRIu64 ", \"window\": %" PRIu64 "}\n",
            op_names[options->op], options->bytes, options->n, options->mtu, options->rate_bps,
            options->delay_ps, options->psn, options->rnr, options->bad_key,
            options->timeout != 0 ? (uint64_t)4096000 << options->timeout : 0, options->recovery,
            options->window);
    if (options->op == PLAY_SEND && options->rnr == 0)
        play_host_post_recvs(play);
    play_host_post_sends(play);
    run(play);
    play_host_tell_memory(play);
    for (uint32_t face = 0; face < PLAY_FACES; face++)
    {
        check_faults(play, &options->loss[face], face, names[face][0]);
        check_faults(play, &options->twice[face], face, names[face][1]);
    }
    for (uint32_t face = 0; options->pcap != NULL && face < PLAY_FACES; face++)
        play_tell_pcap_save(play, face);
    play_tell_copy(play->out, stdout, "standard output");
}

/* ---- options ---- */

static void usage(FILE *file)
{
    fputs("usage: rnic-play send|write|read|atomic [OPTION VALUE]...\n"
          "  --bytes N --n N --mtu N        of a message, messages, path MTU\n"
          "  --psn N                        first PSN of both directions\n"
          "  --rate BPS --delay PS          of the line\n"
          "  --loss PSN --loss-response PSN             lose the first such packet of host a, b\n"
          "  --duplicate PSN --duplicate-response PSN   it arrives twice\n"
          "  --duplicate-after PS           so long behind the first\n"
          "  --rnr N                        host b is not ready N times\n"
          "  --bad-key 1                    a key that opens nothing\n"
          "  --timeout N --retry-cnt N --rnr-retry N    attributes of the queue pair\n"
          "  --ack-every N                  AckReq on every Nth packet\n"
          "  --recovery N                   0 go-back-N, 1 go-back-0, 2 selective repeat\n"
          "  --window BYTES                 at most so many unacknowledged; selective needs one\n"
          "  --pcap FOLDER                  write a.pcap and b.pcap\n",
          file);
}

static uint64_t number(const char *option, const char *text, uint64_t least, uint64_t most)
{
    char *end;
    uint64_t value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < least ||
        value > most)
        play_die("%s %s: not a number from %" PRIu64 " to %" PRIu64, option, text, least, most);
    return value;
}

static bool set_number(struct play_options *options, const char *option, const char *text)
{
    const struct
    {
        const char *name;
        uint64_t *to, least, most;
    } numbers[] = {{"--bytes", &options->bytes, 0, MAX_BYTES},
                   {"--n", &options->n, 1, MAX_MESSAGES},
                   {"--mtu", &options->mtu, 256, 4096},
                   {"--psn", &options->psn, 0, WIRE_PSN_MASK},
                   {"--rate", &options->rate_bps, 1000000, 100000000000000},
                   {"--delay", &options->delay_ps, 0, 1000000000000},
                   {"--duplicate-after", &options->after_ps, 0, 1000000000000},
                   {"--rnr", &options->rnr, 0, 100},
                   {"--bad-key", &options->bad_key, 0, 1},
                   {"--timeout", &options->timeout, 0, 31},
                   {"--retry-cnt", &options->retry_cnt, 0, 7},
                   {"--rnr-retry", &options->rnr_retry, 0, 7},
                   {"--ack-every", &options->ack_every, 1, 65536},
                   {"--recovery", &options->recovery, 0, RNIC_RECOVER_SELECTIVE},
                   {"--window", &options->window, 0, 1073741824}};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(option, numbers[i].name) == 0)
        {
            *numbers[i].to = number(option, text, numbers[i].least, numbers[i].most);
            return true;
        }
    return false;
}

static bool set_fault(struct play_options *options, const char *option, const char *text)
{
    struct play_faults *faults;

    if (strcmp(option, "--loss") == 0)
        faults = &options->loss[0];
    else if (strcmp(option, "--loss-response") == 0)
        faults = &options->loss[1];
    else if (strcmp(option, "--duplicate") == 0)
        faults = &options->twice[0];
    else if (strcmp(option, "--duplicate-response") == 0)
        faults = &options->twice[1];
    else
        return false;
    if (faults->n == PLAY_MAX_FAULTS)
        play_die("%s: at most %u times", option, PLAY_MAX_FAULTS);
    faults->list[faults->n++].psn = (uint32_t)number(option, text, 0, WIRE_PSN_MASK);
    return true;
}

static void read_options(struct play_options *options, int argc, char **argv)
{
    uint64_t packets;

    for (int i = 2; i < argc; i += 2)
    {
        if (i + 1 == argc)
            play_die("%s: no value", argv[i]);
        if (strcmp(argv[i], "--pcap") == 0)
            options->pcap = argv[i + 1];
        else if (!set_number(options, argv[i], argv[i + 1]) &&
                 !set_fault(options, argv[i], argv[i + 1]))
            play_die("unknown option %s", argv[i]);
    }
    if (options->op == PLAY_ATOMIC)
        options->bytes = 8;
    if (options->recovery == RNIC_RECOVER_SELECTIVE && options->window == 0)
        play_die("--window: selective repeat needs one");
    if (options->recovery == RNIC_RECOVER_GO_BACK_0 && options->window != 0)
        play_die("--window: go-back-0 takes none");
    if ((options->mtu & (options->mtu - 1)) != 0)
        play_die("--mtu %" PRIu64 ": not 256, 512, 1024, 2048 or 4096", options->mtu);
    packets = options->n * ((options->bytes + options->mtu - 1) / options->mtu);
    if (packets > MAX_PACKETS)
        play_die("%" PRIu64 " packets are more than anybody reads: at most %u", packets,
                 MAX_PACKETS);
}

int main(int argc, char **argv)
{
    const struct rnic_params params = rnic_params_default();
    struct play play = {.options = {.bytes = 5000,
                                    .n = 1,
                                    .mtu = 1024,
                                    .rate_bps = 100000000000,
                                    .delay_ps = 1000000,
                                    .after_ps = 5000000,
                                    .timeout = params.timeout,
                                    .retry_cnt = params.retry_cnt,
                                    .rnr_retry = params.rnr_retry,
                                    .ack_every = params.ack_every}};
    enum play_op op = PLAY_SEND;

    if (argc == 2 && strcmp(argv[1], "--help") == 0)
    {
        usage(stdout);
        return 0;
    }
    while (op < PLAY_OPS && (argc < 2 || strcmp(argv[1], op_names[op]) != 0))
        op++;
    if (op == PLAY_OPS)
    {
        usage(stderr);
        return 2;
    }
    play.options.op = op;
    read_options(&play.options, argc, argv);
    play_it(&play);
    for (uint32_t face = 0; face < PLAY_FACES; face++)
    {
        play_host_close(&play.hosts[face]);
    }
    while (play.flights != NULL)
    {
        struct play_flight *flight = play.flights;

        play.flights = flight->all;
        free(flight->frame.payload);
        free(flight);
    }
    return 0;
}
