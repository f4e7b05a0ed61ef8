/* SPDX-License-Identifier: GPL-2.0-only */
#define _GNU_SOURCE /* SOCK_NONBLOCK, struct ifreq's flags */

#include "live_line.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_BYTES (8 << 20) /* of its buffers, as far as the system allows */

struct live_line_frame {
    struct live_line_frame *next;
    size_t n;
    uint8_t bytes[];
};

struct reason /* where to say why */
{
    char *text;
    size_t capacity;
};

/* ---- opening ---- */

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static int
refuse(struct reason why, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(why.text, why.capacity, format, list);
    va_end(list);
    return -1;
}

/* An opening that failed. errno tells why. */
static int undo(struct live_line *line, struct reason why, const char *text)
{
    int error = errno;

    live_line_close(line);
    return refuse(why, "%s: %s", text, strerror(error));
}

static void begin(struct live_line *line)
{
    *line = (struct live_line){.fd = -1};
}

static int datagrams(int family)
{
    int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int bytes = SOCKET_BYTES;

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return fd;
}

static int unix_address(const char *path, struct sockaddr_un *address, struct reason why)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (path[0] == '\0' || strlen(path) >= sizeof address->sun_path)
        return refuse(why, "%s: a path has 1 to %zu characters", path,
                      sizeof address->sun_path - 1);
    memcpy(address->sun_path, path, strlen(path) + 1);
    return 0;
}

/* A socket that nobody listens to is what a program left behind that ended badly. */
static void unix_clear(const struct sockaddr_un *address)
{
    struct stat info;
    int fd;

    if (lstat(address->sun_path, &info) != 0 || !S_ISSOCK(info.st_mode))
        return;
    fd = datagrams(AF_UNIX);
    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 &&
        errno == ECONNREFUSED)
        (void)unlink(address->sun_path);
    (void)close(fd);
}

int live_line_open_unix(struct live_line *line, const char *local, const char *peer, char *why,
                        size_t capacity)
{
    struct reason reason = {why, capacity};
    struct sockaddr_un here, there;

    begin(line);
    if (unix_address(local, &here, reason) != 0 || unix_address(peer, &there, reason) != 0)
        return -1;
    unix_clear(&here);
    line->fd = datagrams(AF_UNIX);
    if (line->fd < 0 || bind(line->fd, (const struct sockaddr *)&here, sizeof here) != 0)
        return undo(line, reason, local);
    line->path = strdup(local);
    if (line->path == NULL)
        (void)unlink(local);
    line->peer = malloc(sizeof there);
    if (line->path == NULL || line->peer == NULL)
        return undo(line, reason, local);
    memcpy(line->peer, &there, sizeof there);
    line->peer_bytes = sizeof there;
    return 0;
}

static bool is_port(const char *text)
{
    unsigned long value = 0;

    for (const char *at = text; *at != '\0'; at++) {
        if (*at < '0' || *at > '9' || value > 65535)
            return false;
        value = value * 10 + (unsigned long)(*at - '0');
    }
    return value >= 1 && value <= 65535;
}

/* getaddrinfo also knows the zone of a link-local address. @return length; 0: why tells */
static socklen_t udp_address(const char *text, struct sockaddr_storage *address, struct reason why)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char host[64];
    const char *address_text = text, *colon = strrchr(text, ':');
    size_t n = colon != NULL ? (size_t)(colon - text) : 0;
    socklen_t bytes;

    if (n > 2 && text[0] == '[' && text[n - 1] == ']') {
        address_text++;
        n -= 2;
    } else if (memchr(text, ':', n) != NULL) {
        n = 0; /* where does the port begin? */
    }
    if (n > 0 && n < sizeof host && is_port(colon + 1)) {
        memcpy(host, address_text, n);
        host[n] = '\0';
        if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
            found = NULL;
    }
    if (found == NULL) {
        (void)refuse(why, "%s: not ADDRESS:PORT, as 127.0.0.1:5000 or [::1]:5000", text);
        return 0;
    }
    bytes = found->ai_addrlen;
    memcpy(address, found->ai_addr, bytes);
    freeaddrinfo(found);
    return bytes;
}

int live_line_open_udp(struct live_line *line, const char *local, const char *peer, char *why,
                       size_t capacity)
{
    struct reason reason = {why, capacity};
    struct sockaddr_storage here = {0}, there = {0};
    socklen_t here_bytes, there_bytes;

    begin(line);
    here_bytes = udp_address(local, &here, reason);
    if (here_bytes == 0)
        return -1;
    there_bytes = udp_address(peer, &there, reason);
    if (there_bytes == 0)
        return -1;
    if (here.ss_family != there.ss_family)
        return refuse(reason, "%s %s: one is IPv4, the other IPv6", local, peer);
    line->fd = datagrams(here.ss_family);
    if (line->fd < 0 || bind(line->fd, (const struct sockaddr *)&here, here_bytes) != 0)
        return undo(line, reason, local);
    if (connect(line->fd, (const struct sockaddr *)&there, there_bytes) != 0)
        return undo(line, reason, peer);
    return 0;
}

int live_line_open_tap(struct live_line *line, const char *name, char *why, size_t capacity)
{
    struct reason reason = {why, capacity};
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};

    begin(line);
    if (name[0] == '\0' || strlen(name) >= sizeof request.ifr_name)
        return refuse(reason, "%s: a name has 1 to %zu characters", name,
                      sizeof request.ifr_name - 1);
    memcpy(request.ifr_name, name, strlen(name) + 1);
    line->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (line->fd < 0)
        return refuse(reason, "%s: /dev/net/tun: %s", name, strerror(errno));
    if (ioctl(line->fd, TUNSETIFF, &request) != 0)
        return undo(line, reason, name);
    line->tap = true;
    return 0;
}

/* ---- frames ---- */

static bool is_udp(const struct live_line *line)
{
    return !line->tap && line->peer == NULL;
}

/* A frame on its way, or errno. */
static bool put_once(struct live_line *line, const uint8_t *bytes, size_t n)
{
    ssize_t done;

    do {
        if (line->tap)
            done = write(line->fd, bytes, n);
        else
            done = sendto(line->fd, bytes, n, MSG_NOSIGNAL, line->peer, line->peer_bytes);
    } while (done < 0 && errno == EINTR);
    return done >= 0;
}

/* @return false: no room now; what nobody takes is gone. */
static bool put(struct live_line *line, const uint8_t *bytes, size_t n)
{
    bool sent = put_once(line, bytes, n);

    if (!sent && errno == ECONNREFUSED && is_udp(line)) {
        line->nobody++; /* that is about a frame before, and this one was not sent */
        sent = put_once(line, bytes, n);
    }
    if (sent)
        line->sent++;
    else if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)
        return false;
    else if (errno == EMSGSIZE || errno == EINVAL)
        line->unfit++;
    else
        line->nobody++;
    return true;
}

void live_line_send(struct live_line *line, const uint8_t *bytes, size_t n)
{
    size_t memory = sizeof(struct live_line_frame) + n;
    struct live_line_frame *frame;

    if (n == 0 || n > LIVE_LINE_FRAME_BYTES) {
        line->unfit++;
        return;
    }
    if (line->waiting == NULL && put(line, bytes, n))
        return;
    frame = line->waiting_bytes + memory <= LIVE_LINE_WAITING_BYTES ? malloc(memory) : NULL;
    if (frame == NULL) {
        line->lost++;
        return;
    }
    frame->next = NULL;
    frame->n = n;
    memcpy(frame->bytes, bytes, n);
    *(line->waiting != NULL ? line->waiting_end : &line->waiting) = frame;
    line->waiting_end = &frame->next;
    line->waiting_bytes += memory;
    line->no_room++;
}

static void drop_first(struct live_line *line)
{
    struct live_line_frame *frame = line->waiting;

    line->waiting = frame->next;
    line->waiting_bytes -= sizeof *frame + frame->n;
    free(frame);
}

void live_line_flush(struct live_line *line)
{
    while (line->waiting != NULL && put(line, line->waiting->bytes, line->waiting->n))
        drop_first(line);
}

size_t live_line_receive(struct live_line *line, uint8_t *bytes, size_t capacity)
{
    for (;;) {
        ssize_t n = line->tap ? read(line->fd, bytes, capacity)
                              : recv(line->fd, bytes, capacity, MSG_TRUNC);

        if (n > 0 && (size_t)n <= capacity) {
            line->received++;
            return (size_t)n;
        }
        if (n >= 0)
            line->unfit++;
        else if (errno == ECONNREFUSED && is_udp(line))
            line->nobody++; /* that is about what was sent */
        else if (errno != EINTR)
            return 0;
    }
}

void live_line_close(struct live_line *line)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (line->fd >= 0)
        (void)close(line->fd);
    line->fd = -1;
    if (line->path != NULL) { /* it may be another's by now, who is then left alone */
        memcpy(address.sun_path, line->path, strlen(line->path) + 1);
        unix_clear(&address);
    }
    free(line->path);
    line->path = NULL;
    free(line->peer);
    line->peer = NULL;
    while (line->waiting != NULL)
        drop_first(line);
}
