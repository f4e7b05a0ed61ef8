/* SPDX-License-Identifier: GPL-2.0-only */
/* The line to the outside: unix sockets, UDP, TAP device. */
#define _GNU_SOURCE /* unshare, SOCK_NONBLOCK */

#include "live_line.h"

#include "check.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 20000 /* nothing takes so long */

static char why[256];
static uint8_t in[LIVE_LINE_FRAME_BYTES];

/* ---- what the cases share ---- */

/* Paths in a folder of our own. */
struct place {
    char folder[64], a[80], b[80];
};

static struct place open_place(void)
{
    struct place place = {.folder = "/tmp/line-test-XXXXXX"};

    CHECK(mkdtemp(place.folder) != NULL);
    snprintf(place.a, sizeof place.a, "%s/a", place.folder);
    snprintf(place.b, sizeof place.b, "%s/b", place.folder);
    return place;
}

/* Everything in it has been removed. */
static void close_place(const struct place *place)
{
    CHECK_EQ(rmdir(place->folder), 0);
}

static int descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int n = 0;

    CHECK(folder != NULL);
    while (readdir(folder) != NULL)
        n++;
    closedir(folder);
    return n;
}

static void wait_for(int fd)
{
    struct pollfd it = {.fd = fd, .events = POLLIN};

    CHECK(poll(&it, 1, WAIT_MS) == 1);
}

/* The next frame is of so many bytes, each with this value. */
static void expect(struct live_line *line, size_t n, uint8_t value)
{
    wait_for(line->fd);
    CHECK_EQ(live_line_receive(line, in, sizeof in), n);
    for (size_t i = 0; i < n; i++)
        CHECK_EQ(in[i], value);
}

static void send_filled(struct live_line *line, size_t n, uint8_t value)
{
    static uint8_t bytes[LIVE_LINE_FRAME_BYTES];

    memset(bytes, value, n);
    live_line_send(line, bytes, n);
}

static void open_unix(struct live_line *line, const char *local, const char *peer)
{
    if (live_line_open_unix(line, local, peer, why, sizeof why) != 0)
        CHECK_STR(why, "");
}

typedef int opener(struct live_line *line, const char *local, const char *peer, char *text,
                   size_t capacity);

static int tap(struct live_line *line, const char *name, const char *unused, char *text,
               size_t capacity)
{
    (void)unused;
    return live_line_open_tap(line, name, text, capacity);
}

/* It is refused, why begins with one text and has the other, and nothing is left open. */
static void refused(opener *open_it, const char *local, const char *peer, const char *front,
                    const char *text)
{
    int before = descriptors();
    struct live_line line;

    memset(&line, 0xFF, sizeof line);
    why[0] = '\0';
    CHECK_EQ(open_it(&line, local, peer, why, sizeof why), -1);
    if (strncmp(why, front, strlen(front)) != 0)
        CHECK_STR(why, front);
    if (strstr(why, text) == NULL)
        CHECK_STR(why, text);
    CHECK(strchr(why, '\n') == NULL);
    CHECK_EQ(descriptors(), before);
    CHECK_EQ(line.fd, -1);
    CHECK(line.path == NULL && line.peer == NULL && line.waiting == NULL);
    live_line_close(&line);
}

/* ---- unix sockets ---- */

static void unix_there_and_back(void)
{
    struct place place = open_place();
    int before = descriptors();
    struct live_line a, b;

    open_unix(&a, place.a, place.b);
    open_unix(&b, place.b, place.a);
    CHECK_EQ(live_line_receive(&a, in, sizeof in), 0);
    send_filled(&a, 60, 1);
    send_filled(&a, 1, 2);
    send_filled(&a, LIVE_LINE_FRAME_BYTES, 3);
    send_filled(&b, 1500, 4);
    expect(&b, 60, 1);
    expect(&b, 1, 2);
    expect(&b, LIVE_LINE_FRAME_BYTES, 3);
    expect(&a, 1500, 4);
    CHECK_EQ(live_line_receive(&b, in, sizeof in), 0);
    CHECK_EQ(a.sent, 3);
    CHECK_EQ(a.received, 1);
    CHECK_EQ(b.received, 3);
    CHECK_EQ(a.nobody + a.no_room + a.lost + a.unfit, 0);
    live_line_close(&a);
    live_line_close(&a);
    live_line_close(&b);
    CHECK_EQ(access(place.a, F_OK), -1);
    CHECK_EQ(descriptors(), before);
    close_place(&place);
}

static void unix_unfit(void)
{
    struct place place = open_place();
    struct live_line a, b;

    open_unix(&a, place.a, place.b);
    open_unix(&b, place.b, place.a);
    live_line_send(&a, in, 0);
    live_line_send(&a, in, LIVE_LINE_FRAME_BYTES + 1);
    CHECK_EQ(a.unfit, 2);
    CHECK_EQ(a.sent, 0);
    send_filled(&a, 101, 5);
    CHECK_EQ(sendto(a.fd, "", 0, 0, a.peer, a.peer_bytes), 0);
    send_filled(&a, 100, 6);
    CHECK_EQ(live_line_receive(&b, in, 100), 100);
    CHECK_EQ(in[99], 6);
    CHECK_EQ(b.unfit, 2);
    CHECK_EQ(b.received, 1);
    live_line_close(&a);
    live_line_close(&b);
    close_place(&place);
}

static void unix_refusals(void)
{
    struct place place = open_place();
    struct sockaddr_un address;
    char longest[sizeof address.sun_path + 1];
    struct rlimit limit, none;
    struct live_line line;
    int file;

    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    refused(live_line_open_unix, "", place.b, ": ", "1 to 107 characters");
    refused(live_line_open_unix, place.a, "", ": ", "1 to 107 characters");
    refused(live_line_open_unix, longest, place.b, longest, "characters");
    refused(live_line_open_unix, place.a, longest, longest, "characters");
    refused(live_line_open_unix, "/nowhere/a", place.b, "/nowhere/a: ", "No such file");
    refused(live_line_open_unix, place.folder, place.b, place.folder, "in use");

    file = open(place.a, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(file >= 0);
    CHECK_EQ(write(file, "kept", 4), 4);
    refused(live_line_open_unix, place.a, place.b, place.a, "in use");
    CHECK_EQ(lseek(file, 0, SEEK_END), 4);
    CHECK_EQ(access(place.a, F_OK), 0);
    close(file);
    unlink(place.a);

    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    CHECK_EQ(live_line_open_unix(&line, place.a, place.b, why, sizeof why), -1);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    CHECK(strstr(why, "Too many open files") != NULL);
    close_place(&place);
}

/* A path of a living program is refused, one left behind is taken over, another's is not removed */
static void unix_path_in_use(void)
{
    struct place place = open_place();
    struct live_line line, other;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int left = socket(AF_UNIX, SOCK_DGRAM, 0);

    memcpy(address.sun_path, place.a, strlen(place.a) + 1);
    CHECK_EQ(bind(left, (const struct sockaddr *)&address, sizeof address), 0);
    refused(live_line_open_unix, place.a, place.b, place.a, "in use");
    close(left);
    CHECK_EQ(unlink(place.a), 0);
    left = socket(AF_UNIX, SOCK_STREAM, 0); /* of another kind, and nobody can connect */
    CHECK_EQ(bind(left, (const struct sockaddr *)&address, sizeof address), 0);
    refused(live_line_open_unix, place.a, place.b, place.a, "in use");
    CHECK_EQ(access(place.a, F_OK), 0);
    close(left);
    CHECK_EQ(access(place.a, F_OK), 0);
    open_unix(&line, place.a, place.b);
    refused(live_line_open_unix, place.a, place.b, place.a, "in use");

    open_unix(&other, place.b, place.a);
    send_filled(&other, 64, 7);
    expect(&line, 64, 7);
    live_line_close(&other);

    CHECK_EQ(unlink(place.a), 0);
    open_unix(&other, place.a, place.b);
    live_line_close(&line);
    CHECK_EQ(access(place.a, F_OK), 0);
    live_line_close(&other);
    CHECK_EQ(access(place.a, F_OK), -1);
    close_place(&place);
}

static void unix_nobody(void)
{
    struct place place = open_place();
    struct live_line a, b;

    open_unix(&a, place.a, place.b);
    send_filled(&a, 60, 1);
    open_unix(&b, place.b, place.a);
    send_filled(&a, 60, 2);
    expect(&b, 60, 2);
    live_line_close(&b);
    send_filled(&a, 60, 3);
    CHECK_EQ(a.nobody, 2);
    CHECK_EQ(a.sent, 1);
    CHECK(a.waiting == NULL);
    live_line_close(&a);
    close_place(&place);
}

static void unix_no_room(void)
{
    struct place place = open_place();
    struct live_line a, b;
    uint32_t number = 0, got = 0;

    open_unix(&a, place.a, place.b);
    open_unix(&b, place.b, place.a);
    while (a.no_room < 100) {
        live_line_send(&a, (const uint8_t *)&number, sizeof number);
        number++;
        CHECK(number < 1000000);
    }
    CHECK_EQ(a.sent + a.no_room, number);
    live_line_flush(&a); /* still no room */
    CHECK(a.waiting != NULL);
    CHECK_EQ(a.sent + a.no_room, number);
    while (got < number) {
        uint32_t value;

        CHECK_EQ(live_line_receive(&b, in, sizeof in), sizeof value);
        memcpy(&value, in, sizeof value);
        CHECK_EQ(value, got);
        got++;
        if (got == 1) { /* behind those that wait, though there is room */
            live_line_send(&a, (const uint8_t *)&number, sizeof number);
            number++;
        }
        live_line_flush(&a);
    }
    CHECK(a.waiting == NULL);
    CHECK_EQ(a.waiting_bytes, 0);
    CHECK_EQ(a.sent, number);
    CHECK_EQ(a.no_room, 101);
    CHECK_EQ(a.lost + a.nobody, 0);
    CHECK_EQ(live_line_receive(&b, in, sizeof in), 0);
    live_line_close(&a);
    live_line_close(&b);
    close_place(&place);
}

static void unix_waiting_is_bounded(void)
{
    const size_t n = LIVE_LINE_FRAME_BYTES;
    struct place place = open_place();
    struct live_line a, b;
    uint64_t total = 0, got = 0;

    open_unix(&a, place.a, place.b);
    open_unix(&b, place.b, place.a);
    while (a.lost < 3) {
        send_filled(&a, n, 9);
        total++;
        CHECK(total < 100000);
    }
    CHECK(a.waiting_bytes <= LIVE_LINE_WAITING_BYTES);
    CHECK(a.waiting_bytes + 2 * n > LIVE_LINE_WAITING_BYTES);
    CHECK_EQ(a.sent + a.no_room + a.lost, total);
    for (size_t bytes; (bytes = live_line_receive(&b, in, sizeof in)) > 0; got++) {
        CHECK_EQ(bytes, n);
        live_line_flush(&a);
    }
    CHECK_EQ(got, total - 3);
    CHECK_EQ(a.waiting_bytes, 0);
    while (a.no_room + a.sent < total + 100) /* and closed while frames wait */
        send_filled(&a, 60, 1);
    live_line_close(&b);
    live_line_close(&a);
    CHECK_EQ(a.waiting_bytes, 0);
    close_place(&place);
}

/* ---- UDP ---- */

struct ends {
    int family;
    const char *host;
    char a[64], b[64], c[64];
};

static bool free_end(const struct ends *ends, char text[64])
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool ipv6 = ends->family == AF_INET6;
    struct sockaddr *address = ipv6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;
    socklen_t bytes = ipv6 ? sizeof v6 : sizeof v4;
    int fd = socket(ends->family, SOCK_DGRAM, 0);
    bool there = fd >= 0 && bind(fd, address, bytes) == 0;

    if (there) {
        CHECK_EQ(getsockname(fd, address, &bytes), 0);
        snprintf(text, 64, "%s:%d", ends->host, ntohs(ipv6 ? v6.sin6_port : v4.sin_port));
    }
    if (fd >= 0)
        close(fd);
    return there;
}

static void open_udp(struct live_line *line, const char *local, const char *peer)
{
    if (live_line_open_udp(line, local, peer, why, sizeof why) != 0)
        CHECK_STR(why, "");
}

/* Two ends, a stranger whose frames do not count, and a peer that comes late. */
static void udp_of(int family, const char *host)
{
    struct ends ends = {.family = family, .host = host};
    struct live_line a, b, stranger;

    if (!free_end(&ends, ends.a) || !free_end(&ends, ends.b) || !free_end(&ends, ends.c)) {
        CHECK(family == AF_INET6); /* a machine may have none */
        printf("no %s here\n", host);
        return;
    }
    open_udp(&a, ends.a, ends.b);
    send_filled(&a, 60, 1);
    wait_for(a.fd); /* its host says that nobody is there */
    open_udp(&b, ends.b, ends.a);
    send_filled(&a, 61, 2);
    expect(&b, 61, 2);
    CHECK_EQ(a.sent, 2);
    CHECK_EQ(a.nobody, 1);

    refused(live_line_open_udp, ends.a, ends.b, ends.a, "in use");
    open_udp(&stranger, ends.c, ends.a);
    send_filled(&stranger, 62, 3);
    send_filled(&b, 60000, 4);
    expect(&a, 60000, 4);
    CHECK_EQ(live_line_receive(&a, in, sizeof in), 0);
    send_filled(&a, 65530, 5); /* more than a datagram holds */
    CHECK_EQ(a.unfit, 1);

    live_line_close(&b);
    send_filled(&a, 60, 6);
    wait_for(a.fd);
    CHECK_EQ(live_line_receive(&a, in, sizeof in), 0);
    CHECK_EQ(a.nobody, 2);
    CHECK_EQ(a.received, 1);
    live_line_close(&a);
    live_line_close(&stranger);
}

static void udp_4(void)
{
    udp_of(AF_INET, "127.0.0.1");
}

static void udp_6(void)
{
    udp_of(AF_INET6, "[::1]");
}

static void udp_refusals(void)
{
    char long_one[80];
    const char *const bad[] = {"",
                               "5000",
                               ":5000",
                               "127.0.0.1",
                               "127.0.0.1:",
                               "127.0.0.1:0",
                               "127.0.0.1:65536",
                               "127.0.0.1:99999999999999999999",
                               "127.0.0.1:5x",
                               "127.0.0.1: 5",
                               "127.0.0.1:-5",
                               "1.2.3.4.5:5",
                               "localhost:5000",
                               "::1:5000",
                               "[::1]",
                               "[]:5",
                               "[::1:5",
                               "[1::2::3]:5",
                               long_one};
    const char *good = "127.0.0.1:5000";

    snprintf(long_one, sizeof long_one, "[%070d]:5", 1);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char front[128];

        snprintf(front, sizeof front, "%s: not ADDRESS:PORT", bad[i]);
        refused(live_line_open_udp, bad[i], good, front, "");
        refused(live_line_open_udp, good, bad[i], front, "");
    }
    refused(live_line_open_udp, good, "[::1]:5000", good, "one is IPv4, the other IPv6");
    refused(live_line_open_udp, "192.0.2.1:5000", good, "192.0.2.1:5000: ", "assign");
    refused(live_line_open_udp, "127.0.0.1:49321", "255.255.255.255:5", "255.255.255.255:5: ", "");
    why[0] = why[1] = why[2] = 'x';
    CHECK_EQ(live_line_open_udp(&(struct live_line){.fd = 9}, "bad", good, why, 2), -1);
    CHECK_BYTES(why, "b\0x", 3);
}

/* ---- TAP ---- */

/* Run it in a process of its own. @return its exit status */
static int apart(int (*run)(void))
{
    pid_t child = fork();
    int status = 0;

    CHECK(child >= 0);
    if (child == 0)
        _exit(run());
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int tap_without_rights(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};

    CHECK_EQ(syscall(SYS_capset, &header, none), 0);
    refused(tap, "no-such-tap", NULL, "no-such-tap: ", "");
    CHECK(strstr(why, "not permitted") != NULL || strstr(why, "/dev/net/tun") != NULL);
    return 0;
}

static void tap_refusals(void)
{
    refused(tap, "", NULL, ": ", "1 to 15 characters");
    refused(tap, "name-too-long-16", NULL, "name-too-long-16: ", "1 to 15 characters");
    refused(tap, "a/b", NULL, "a/b: ", "");
    CHECK_EQ(apart(tap_without_rights), 0);
}

#define NO_TAP 77

static void tap_up(const char *name)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_flags = IFF_UP};

    memcpy(request.ifr_name, name, strlen(name) + 1);
    CHECK_EQ(ioctl(fd, SIOCSIFFLAGS, &request), 0);
    close(fd);
}

/* In a network of its own: the kernel's side of the device is a packet socket. */
static int tap_there_and_back(void)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(0x88B5)};
    uint8_t frame[60] = {2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x88, 0xB5, 77};
    struct live_line line;
    int fd, before;

    if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        return NO_TAP;
    before = descriptors();
    if (live_line_open_tap(&line, "tap-test", why, sizeof why) != 0)
        return NO_TAP;
    CHECK(line.tap);
    refused(tap, "tap-test", NULL, "tap-test: ", "busy");
    live_line_send(&line, frame, sizeof frame); /* it is down */
    CHECK_EQ(line.nobody, 1);
    tap_up("tap-test");
    address.sll_ifindex = (int)if_nametoindex("tap-test");
    fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(0x88B5));
    CHECK(fd >= 0);
    CHECK_EQ(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);

    live_line_send(&line, frame, 5);
    CHECK_EQ(line.unfit, 1);
    live_line_send(&line, frame, sizeof frame);
    CHECK_EQ(line.sent, 1);
    wait_for(fd);
    CHECK_EQ(recv(fd, in, sizeof in, 0), sizeof frame);
    CHECK_BYTES(in, frame, sizeof frame);

    frame[14] = 78;
    CHECK_EQ(send(fd, frame, sizeof frame, 0), sizeof frame);
    do { /* the kernel has frames of its own */
        wait_for(line.fd);
        CHECK(live_line_receive(&line, in, sizeof in) > 0);
    } while (in[12] != 0x88 || in[13] != 0xB5);
    CHECK_BYTES(in, frame, sizeof frame);
    close(fd);
    live_line_close(&line);
    CHECK_EQ(descriptors(), before);
    CHECK_EQ(if_nametoindex("tap-test"), 0);
    return 0;
}

static void tap_device(void)
{
    int status = apart(tap_there_and_back);

    if (status == NO_TAP)
        printf("no TAP device to be had here\n");
    else
        CHECK_EQ(status, 0);
}

CHECK_SUITE(line, CHECK_CASE(unix_there_and_back), CHECK_CASE(unix_unfit),
            CHECK_CASE(unix_refusals), CHECK_CASE(unix_path_in_use), CHECK_CASE(unix_nobody),
            CHECK_CASE(unix_no_room), CHECK_CASE(unix_waiting_is_bounded), CHECK_CASE(udp_4),
            CHECK_CASE(udp_6), CHECK_CASE(udp_refusals), CHECK_CASE(tap_refusals),
            CHECK_CASE(tap_device))
