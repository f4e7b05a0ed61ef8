/* SPDX-License-Identifier: GPL-2.0-only */
/* rnic-live: the line. A datagram, or a read or write of the TAP device, is a frame without FCS. */
#include "rnic-live.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netdb.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_BYTES (8 << 20) /* of its buffers, as far as the system allows */
#define RETRY_PS 100000000u    /* until the next try when there was no room: 0.1 ms */

/* ---- captures ---- */

static void put32(FILE *file, uint32_t value)
{
    for (unsigned shift = 0; shift < 32; shift += 8)
        fputc((int)(value >> shift & 255), file);
}

static void pcap_open(struct live *live)
{
    static const uint32_t header[] = {0xA1B23C4D, 2 | 4 << 16, 0, 0, LIVE_FRAME_BYTES, 1};
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

/* ---- opening ---- */

static int datagrams(int family)
{
    int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int bytes = SOCKET_BYTES;

    if (fd < 0)
        live_die("socket: %s", strerror(errno));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return fd;
}

static struct sockaddr_un unix_address(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (path[0] == '\0' || strlen(path) >= sizeof address.sun_path)
        live_die("--unix %s: a path has 1 to %zu characters", path, sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    return address;
}

/* A socket that nobody listens to is what a program left behind that ended badly. */
static void unix_clear(const struct sockaddr_un *address)
{
    struct stat info;
    int fd;

    if (lstat(address->sun_path, &info) != 0 || !S_ISSOCK(info.st_mode))
        return;
    fd = datagrams(AF_UNIX);
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 &&
        errno == ECONNREFUSED)
        (void)unlink(address->sun_path);
    close(fd);
}

static void unix_open(struct live_port *port, const char *const path[2])
{
    struct sockaddr_un here = unix_address(path[0]), there = unix_address(path[1]);

    unix_clear(&here);
    port->fd = datagrams(AF_UNIX);
    if (bind(port->fd, (const struct sockaddr *)&here, sizeof here) != 0)
        live_die("--unix %s: %s", path[0], strerror(errno));
    port->path = live_need(strdup(path[0]));
    port->peer = live_need(malloc(sizeof there));
    memcpy(port->peer, &there, sizeof there);
    port->peer_bytes = sizeof there;
}

/* HOST:PORT or [HOST]:PORT, numbers only. @return length of the address */
static socklen_t udp_address(const char *text, struct sockaddr_storage *address)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char host[64];
    const char *colon = strrchr(text, ':');
    const char *begin = text, *end = colon;
    socklen_t bytes;

    if (colon != NULL && text[0] == '[' && colon > text + 1 && colon[-1] == ']')
    {
        begin = text + 1;
        end = colon - 1;
    }
    if (colon != NULL && end > begin && (size_t)(end - begin) < sizeof host)
    {
        memcpy(host, begin, (size_t)(end - begin));
        host[end - begin] = '\0';
        if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
            found = NULL;
    }
    if (found == NULL)
        live_die("--udp %s: not ADDRESS:PORT, as 127.0.0.1:5000 or [::1]:5000", text);
    bytes = found->ai_addrlen;
    memcpy(address, found->ai_addr, bytes);
    freeaddrinfo(found);
    return bytes;
}

static void udp_open(struct live_port *port, const char *const text[2])
{
    struct sockaddr_storage ends[2] = {0};
    socklen_t bytes[2];

    for (unsigned i = 0; i < 2; i++)
        bytes[i] = udp_address(text[i], &ends[i]);
    if (ends[0].ss_family != ends[1].ss_family)
        live_die("--udp %s %s: one is IPv4, the other IPv6", text[0], text[1]);
    port->fd = datagrams(ends[0].ss_family);
    if (bind(port->fd, (const struct sockaddr *)&ends[0], bytes[0]) != 0)
        live_die("--udp %s: %s", text[0], strerror(errno));
    if (connect(port->fd, (const struct sockaddr *)&ends[1], bytes[1]) != 0)
        live_die("--udp %s: %s", text[1], strerror(errno));
}

static void tap_open(struct live_port *port, const char *name)
{
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};

    if (name[0] == '\0' || strlen(name) >= sizeof request.ifr_name)
        live_die("--tap %s: a name has 1 to %zu characters", name, sizeof request.ifr_name - 1);
    memcpy(request.ifr_name, name, strlen(name) + 1);
    port->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (port->fd < 0)
        live_die("--tap %s: /dev/net/tun: %s", name, strerror(errno));
    if (ioctl(port->fd, TUNSETIFF, &request) != 0)
        live_die("--tap %s: %s", name, strerror(errno));
    port->tap = true;
}

void live_port_open(struct live *live)
{
    struct live_port *port = &live->port;

    port->waiting_end = &port->waiting;
    port->retry_ps = WIRE_NEVER;
    if (live->options.tap != NULL)
        tap_open(port, live->options.tap);
    else if (live->options.udp[0] != NULL)
        udp_open(port, live->options.udp);
    else
        unix_open(port, live->options.unix_path);
    if (live->options.pcap != NULL)
        pcap_open(live);
}

/* ---- frames ---- */

/* @return false: no room now; what nobody takes is gone. */
static bool put(struct live *live, const uint8_t *bytes, size_t n)
{
    struct live_port *port = &live->port;
    ssize_t done;

    if (port->tap)
        done = write(port->fd, bytes, n);
    else
        done = sendto(port->fd, bytes, n, MSG_NOSIGNAL, port->peer, port->peer_bytes);
    if (done < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == EINTR))
        return false;
    if (done < 0)
        port->nobody++;
    else
        port->sent++;
    pcap_frame(live, bytes, n);
    return true;
}

void live_port_send(struct live *live, const uint8_t *bytes, size_t n)
{
    struct live_port *port = &live->port;
    struct live_frame *frame;

    if (port->waiting == NULL && put(live, bytes, n))
        return;
    frame = live_need(malloc(sizeof *frame + n));
    frame->next = NULL;
    frame->n = n;
    memcpy(frame->bytes, bytes, n);
    if (port->waiting == NULL)
        port->retry_ps = live->now_ps + RETRY_PS;
    *port->waiting_end = frame;
    port->waiting_end = &frame->next;
    port->no_room++;
}

void live_port_flush(struct live *live)
{
    struct live_port *port = &live->port;

    if (live->now_ps < port->retry_ps)
        return;
    while (port->waiting != NULL && put(live, port->waiting->bytes, port->waiting->n))
    {
        struct live_frame *frame = port->waiting;

        port->waiting = frame->next;
        if (port->waiting == NULL)
            port->waiting_end = &port->waiting;
        free(frame);
    }
    port->retry_ps = port->waiting != NULL ? live->now_ps + RETRY_PS : WIRE_NEVER;
}

size_t live_port_receive(struct live *live, uint8_t *bytes, size_t capacity)
{
    for (;;)
    {
        ssize_t n = read(live->port.fd, bytes, capacity);

        if (n > 0)
        {
            live->port.received++;
            pcap_frame(live, bytes, (size_t)n);
            return (size_t)n;
        }
        if (n < 0 && errno != ECONNREFUSED && errno != EINTR) /* that is about what was sent */
            return 0;
    }
}

void live_port_close(struct live *live)
{
    struct live_port *port = &live->port;

    close(port->fd);
    if (port->path != NULL)
        (void)unlink(port->path);
    free(port->path);
    free(port->peer);
    while (port->waiting != NULL)
    {
        struct live_frame *frame = port->waiting;

        port->waiting = frame->next;
        free(frame);
    }
    if (port->pcap != NULL && fclose(port->pcap) != 0)
        live_die("--pcap %s: %s", live->options.pcap, strerror(errno));
}
