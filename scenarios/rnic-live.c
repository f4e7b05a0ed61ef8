/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * rnic-live: one card in real time, on the line of a virtual machine or of another rnic-live.
 *
 * In     options, see usage(); commands from standard input or a script, one a line
 * Out    an answer to each command on standard output: lines of key=value words, the last of which
 *        begins with "ok" or "error". --pcap FILE: what was on the line. Exit status: 0 all
 *        commands went well, 1 one failed, 2 bad options, or a command that makes no sense. A
 *        script ends with the first command that fails
 *
 * Time is CLOCK_MONOTONIC from the start of the program, in picoseconds. Between commands, and
 * while one waits, frames and timers are served.
 */
#include "rnic-live.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define RECEIVE_FRAMES 1024u /* taken in at most before the card may send */

void live_die(const char *format, ...)
{
    va_list list;

    fputs("rnic-live: ", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    exit(2);
}

void *live_need(void *memory)
{
    if (memory == NULL)
        live_die("out of memory");
    return memory;
}

/* ---- time ---- */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void live_tick(struct live *live)
{
    uint64_t now_ps = (clock_ns(CLOCK_MONOTONIC) - live->start_ns) * 1000;

    live->now_ps = wire_max_ps(live->now_ps, now_ps);
}

/* Whatever is here now: frames in, timers, frames out. */
static void serve(struct live *live)
{
    uint8_t bytes[LIVE_LINE_FRAME_BYTES];
    size_t n;

    /* All that is there: what the sender finds no room for is lost. */
    for (unsigned i = 0; i < RECEIVE_FRAMES; i++)
    {
        live_tick(live);
        n = live_port_receive(live, bytes, sizeof bytes);
        if (n == 0)
            break;
        live_fault_pass(live, LIVE_IN, bytes, n);
    }
    live_fault_release(live);
    live_port_flush(live);
    live_card_run(live);
}

void live_turn(struct live *live, uint64_t until_ps, int input_fd)
{
    struct pollfd fds[3] = {{.fd = live->port.line.fd, .events = POLLIN},
                            {.fd = live->stop_fd, .events = POLLIN},
                            {.fd = input_fd, .events = POLLIN}};
    struct timespec wait = {0};
    uint64_t next_ps = wire_min_ps(wire_min_ps(live_card_next(live), live_fault_next(live)),
                                   wire_min_ps(live->port.retry_ps, until_ps));

    live_tick(live);
    if (next_ps > live->now_ps)
    {
        uint64_t ns = (next_ps - live->now_ps + 999) / 1000;

        wait.tv_sec = (time_t)(ns / 1000000000);
        wait.tv_nsec = (long)(ns % 1000000000);
    }
    (void)ppoll(fds, 3, next_ps == WIRE_NEVER ? NULL : &wait, NULL);
    if (fds[1].revents != 0)
        live->stopped = true;
    serve(live);
}

/* ---- commands ---- */

/* What was read of the input and is no whole line yet. */
struct reader
{
    char text[LIVE_COMMAND_BYTES];
    size_t n;
    bool ended, skips; /* skips: the rest of a line that was too long */
};

static void read_more(struct reader *reader, int fd)
{
    ssize_t n = read(fd, reader->text + reader->n, sizeof reader->text - 1 - reader->n);

    if (n > 0)
        reader->n += (size_t)n;
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        reader->ended = true;
}

/* @return whether there was a line; it is cut off the front. Of a long one, the front is all. */
static bool next_line(struct reader *reader, char *line)
{
    char *end = memchr(reader->text, '\n', reader->n);
    bool full = end == NULL && reader->n == sizeof reader->text - 1;
    bool skipped = reader->skips;
    size_t n = end != NULL ? (size_t)(end - reader->text) : reader->n;

    if (end == NULL && !full && !(reader->ended && reader->n > 0))
        return false;
    memcpy(line, reader->text, n);
    line[n] = '\0';
    n += end != NULL;
    memmove(reader->text, reader->text + n, reader->n - n);
    reader->n -= n;
    reader->skips = full;
    if (skipped)
        line[0] = '\0';
    return true;
}

static void read_commands(struct live *live)
{
    struct reader reader = {.n = 0};
    char line[LIVE_COMMAND_BYTES];
    int fd = fileno(live->input);
    bool more = true;

    while (more && !live->stopped)
    {
        uint64_t failed = live->failed;

        if (!next_line(&reader, line))
        {
            if (reader.ended)
                return;
            live_turn(live, WIRE_NEVER, fd);
            if (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) > 0)
                read_more(&reader, fd);
            continue;
        }
        live->line++;
        serve(live);
        more = live_command_line(live, line);
        serve(live);
        if (fflush(stdout) != 0)
            return;
        if (live->options.script != NULL && live->failed > failed)
        {
            fprintf(stderr, "rnic-live: %s:%" PRIu64 ": %s\n", live->options.script, live->line,
                    live->why);
            return;
        }
    }
}

/* Answers that are still to leave, and a while in which the peer may ask again. */
static void linger(struct live *live)
{
    uint64_t end_ps;

    live_tick(live);
    end_ps = live->now_ps + live->options.linger_ms * LIVE_MS_PS;
    do
        live_turn(live, end_ps, -1);
    while (live->now_ps < end_ps && !live->stopped);
}

/* ---- options ---- */

static void usage(FILE *file)
{
    fputs("usage: rnic-live --unix LOCAL PEER | --udp LOCAL PEER | --tap NAME [OPTION VALUE]...\n"
          "  --unix LOCAL PEER    paths of two datagram sockets; a datagram is a frame\n"
          "  --udp LOCAL PEER     ADDRESS:PORT each; a datagram is a frame\n"
          "  --tap NAME           a TAP device\n"
          "  --mac MAC            of this card (default 02:00:00:00:00:01)\n"
          "  --ip A.B.C.D         of this card (default 10.0.0.1)\n"
          "  --ip6 ADDRESS        of this card (default the link-local one of the MAC)\n"
          "  --script FILE        commands from there, not from standard input\n"
          "  --faults LIST        seed=N,loss=P,dup=P,reorder=P,corrupt=P,delay=P,delay_ms=N,\n"
          "                       dir=in|out|both; P is a part of the RoCE frames\n"
          "  --pcap FILE          what is on the line\n"
          "  --in-flight N        packets of a queue pair under way at most (default 128)\n"
          "  --ack-every N        AckReq on every Nth packet (default 16)\n"
          "  --linger MS          stay so long behind the last command (default 50)\n",
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
        live_die("%s %s: not a number from %" PRIu64 " to %" PRIu64, option, text, least, most);
    return value;
}

static void set_number(struct live_options *options, const char *option, const char *text)
{
    if (strcmp(option, "--in-flight") == 0)
        options->in_flight = number(option, text, 1, 8388607);
    else if (strcmp(option, "--ack-every") == 0)
        options->ack_every = number(option, text, 1, 65536);
    else if (strcmp(option, "--linger") == 0)
        options->linger_ms = number(option, text, 0, 3600000);
    else
        live_die("unknown option %s", option);
}

struct addresses
{
    const char *mac, *ip, *ip6;
};

static void read_options(struct live_options *options, struct addresses *addresses, int argc,
                         char **argv)
{
    const struct
    {
        const char *name, **to;
        int values;
    } texts[] = {{"--unix", options->unix_path, 2}, {"--udp", options->udp, 2},
                 {"--tap", &options->tap, 1},       {"--pcap", &options->pcap, 1},
                 {"--script", &options->script, 1}, {"--faults", &options->faults, 1},
                 {"--mac", &addresses->mac, 1},     {"--ip", &addresses->ip, 1},
                 {"--ip6", &addresses->ip6, 1}};
    const size_t n = sizeof texts / sizeof texts[0];
    int lines;

    for (int i = 1; i < argc;)
    {
        size_t which = 0;
        int values;

        while (which < n && strcmp(argv[i], texts[which].name) != 0)
            which++;
        values = which < n ? texts[which].values : 1;
        if (i + values >= argc)
            live_die("%s: %s", argv[i],
                     values == 2 ? "want two values, this end and the other one" : "no value");
        for (int value = 0; value < values && which < n; value++)
            texts[which].to[value] = argv[i + 1 + value];
        if (which == n)
            set_number(options, argv[i], argv[i + 1]);
        i += 1 + values;
    }
    lines = (options->unix_path[0] != NULL) + (options->udp[0] != NULL) + (options->tap != NULL);
    if (lines != 1)
        live_die("want one of --unix LOCAL PEER, --udp LOCAL PEER and --tap NAME");
}

static void set_addresses(struct live *live, const struct addresses *addresses)
{
    const uint8_t *mac = live->options.mac;
    uint8_t ipv4[16], ipv6[16] = {0xFE, 0x80};

    if (!live_address_mac(addresses->mac, live->options.mac))
        live_die("--mac %s: not the address of a host, as 02:00:00:00:00:01", addresses->mac);
    if (!live_address_gid(addresses->ip, ipv4) || !live_address_is_ipv4(ipv4))
        live_die("--ip %s: not the IPv4 address of a host", addresses->ip);
    memcpy(ipv6 + 8,
           (const uint8_t[]){mac[0] ^ 2, mac[1], mac[2], 0xFF, 0xFE, mac[3], mac[4], mac[5]}, 8);
    if (addresses->ip6 != NULL &&
        (!live_address_gid(addresses->ip6, ipv6) || live_address_is_ipv4(ipv6)))
        live_die("--ip6 %s: not the IPv6 address of a host", addresses->ip6);
    live_book_open(live, ipv4, ipv6);
}

/* SIGINT and SIGTERM end the program in good order. */
static int catch_signals(void)
{
    sigset_t set;
    int fd;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0 || (fd = signalfd(-1, &set, SFD_CLOEXEC)) < 0)
        live_die("signals: %s", strerror(errno));
    return fd;
}

int main(int argc, char **argv)
{
    struct live *live = live_need(calloc(1, sizeof *live));
    struct addresses addresses = {.mac = "02:00:00:00:00:01", .ip = "10.0.0.1"};
    const char *wrong;
    int status;

    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
    {
        usage(stdout);
        free(live);
        return 0;
    }
    live->options = (struct live_options){.in_flight = 128, .ack_every = 16, .linger_ms = 50};
    read_options(&live->options, &addresses, argc, argv);
    set_addresses(live, &addresses);
    if (live->options.faults != NULL &&
        (wrong = live_fault_set(live, live->options.faults)) != NULL)
        live_die("--faults %s: %s", live->options.faults, wrong);
    live->input = live->options.script != NULL ? fopen(live->options.script, "r") : stdin;
    if (live->input == NULL)
        live_die("--script %s: %s", live->options.script, strerror(errno));
    live->start_ns = clock_ns(CLOCK_MONOTONIC);
    live->port.pcap_epoch_ns = clock_ns(CLOCK_REALTIME);
    live_port_open(live);
    live_card_open(live);
    live_object_open(live);
    live->stop_fd = catch_signals();
    puts("ready");
    fflush(stdout);
    read_commands(live);
    linger(live);
    live_fault_close(live);
    live_port_close(live);
    live_card_close(live);
    close(live->stop_fd);
    if (live->options.script != NULL)
        fclose(live->input);
    status = live->status;
    free(live);
    return status;
}
