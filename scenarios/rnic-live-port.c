/* SPDX-License-Identifier: GPL-2.0-only */
/* rnic-live: the line, and the capture of what the card and the line give each other. */
#include "rnic-live.h"

#include <errno.h>

#define RETRY_PS (LIVE_LINE_RETRY_NS * 1000u)

/* ---- captures ---- */

static void put32(FILE *file, uint32_t value)
{
    for (unsigned shift = 0; shift < 32; shift += 8)
        fputc((int)(value >> shift & 255), file);
}

static void pcap_open(struct live *live)
{
    static const uint32_t header[] = {0xA1B23C4D, 2 | 4 << 16, 0, 0, LIVE_LINE_FRAME_BYTES, 1};
    const char *name = live->options.pcap;

    live->port.pcap = fopen(name, "wb");
    if (live->port.pcap == NULL)
        live_die("--pcap %s: %s", name, strerror(errno));
    for (size_t i = 0; i < sizeof header / sizeof header[0]; i++)
        put32(live->port.pcap, header[i]);
}

static void pcap_frame(struct live *live, const uint8_t *bytes, size_t n)
{
    FILE *file = live->port.pcap;
    uint64_t at_ns = live->port.pcap_epoch_ns + live->now_ps / 1000;

    if (file == NULL)
        return;
    put32(file, (uint32_t)(at_ns / 1000000000));
    put32(file, (uint32_t)(at_ns % 1000000000));
    put32(file, (uint32_t)n);
    put32(file, (uint32_t)n);
    fwrite(bytes, 1, n, file);
}

/* ---- the line ---- */

void live_port_open(struct live *live)
{
    const struct live_options *options = &live->options;
    struct live_line *line = &live->port.line;
    const char *option;
    char why[512];
    int error;

    live->port.retry_ps = WIRE_NEVER;
    if (options->tap != NULL)
    {
        option = "--tap";
        error = live_line_open_tap(line, options->tap, why, sizeof why);
    }
    else if (options->udp[0] != NULL)
    {
        option = "--udp";
        error = live_line_open_udp(line, options->udp[0], options->udp[1], why, sizeof why);
    }
    else
    {
        option = "--unix";
        error = live_line_open_unix(line, options->unix_path[0], options->unix_path[1], why,
                                    sizeof why);
    }
    if (error != 0)
        live_die("%s %s", option, why);
    if (options->pcap != NULL)
        pcap_open(live);
}

/* Of what waits, if anything does. */
static void plan_retry(struct live *live)
{
    bool waits = live->port.line.waiting != NULL;

    live->port.retry_ps = waits ? live->now_ps + RETRY_PS : WIRE_NEVER;
}

void live_port_send(struct live *live, const uint8_t *bytes, size_t n)
{
    bool waited = live->port.line.waiting != NULL;

    pcap_frame(live, bytes, n);
    live_line_send(&live->port.line, bytes, n);
    if (!waited)
        plan_retry(live);
}

void live_port_flush(struct live *live)
{
    if (live->now_ps < live->port.retry_ps)
        return;
    live_line_flush(&live->port.line);
    plan_retry(live);
}

size_t live_port_receive(struct live *live, uint8_t *bytes, size_t capacity)
{
    size_t n = live_line_receive(&live->port.line, bytes, capacity);

    if (n > 0)
        pcap_frame(live, bytes, n);
    return n;
}

void live_port_close(struct live *live)
{
    struct live_port *port = &live->port;

    live_line_close(&port->line);
    if (port->pcap != NULL && fclose(port->pcap) != 0)
        live_die("--pcap %s: %s", live->options.pcap, strerror(errno));
}
