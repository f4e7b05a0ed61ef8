/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rnic-live: who is where. Addresses are learnt from ARP, neighbour discovery and RoCE frames.
 * Spec   RFC 826 (ARP), RFC 4861 (neighbour discovery), RFC 792 and 4443 (echo)
 */
#include "rnic-live.h"

#include "wire_bytes.h"

#include <arpa/inet.h>

#define ETHERTYPE_ARP 0x0806u
#define ETH_BYTES 14u
#define ARP_BYTES 28u
#define IP4_BYTES 20u
#define IP6_BYTES 40u
#define PROTOCOL_ICMP 1u
#define PROTOCOL_ICMP6 58u
#define ND_BYTES 24u /* ICMPv6 header, reserved word, target */
#define ND_HOPS 255u

enum
{
    ICMP_ECHO_REPLY = 0,
    ICMP_ECHO = 8,
    ICMP6_ECHO = 128,
    ICMP6_ECHO_REPLY = 129,
    ND_SOLICIT = 135,
    ND_ADVERTISE = 136,
    ND_OPTION_SOURCE = 1,
    ND_OPTION_TARGET = 2,
};

/* Addresses of all nodes, and what is in front of a solicited-node address. */
static const uint8_t all_nodes[16] = {0xFF, 2, [15] = 1};
static const uint8_t solicited[13] = {0xFF, 2, [11] = 1, 0xFF};
static const uint8_t any[16];

/* ---- texts ---- */

bool live_address_is_ipv4(const uint8_t gid[16])
{
    static const uint8_t mapped[12] = {[10] = 0xFF, 0xFF};

    return memcmp(gid, mapped, sizeof mapped) == 0;
}

bool live_address_gid(const char *text, uint8_t gid[16])
{
    memset(gid, 0, 16);
    if (inet_pton(AF_INET, text, gid + 12) == 1)
    {
        gid[10] = gid[11] = 0xFF;
        return gid[12] != 0 && gid[12] < 224; /* of a host */
    }
    return inet_pton(AF_INET6, text, gid) == 1 && gid[0] != 0xFF && memcmp(gid, any, 16) != 0;
}

bool live_address_mac(const char *text, uint8_t mac[6])
{
    unsigned part[6];
    int end = 0;

    if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &part[0], &part[1], &part[2], &part[3], &part[4],
               &part[5], &end) != 6 ||
        text[end] != '\0')
        return false;
    for (unsigned i = 0; i < 6; i++)
        mac[i] = (uint8_t)part[i];
    return (mac[0] & 1) == 0 && memcmp(mac, any, 6) != 0;
}

/* ---- book ---- */

static void book_close_up(struct live_book *book, bool ipv6)
{
    struct wire_station *first = &book->entries[0], *last = &book->entries[book->n];

    memcpy(first->gid, book->gid[ipv6], 16);
    *last = *first;
    memcpy(last->gid, book->gid[!ipv6], 16);
    book->wire.entries = book->entries;
    book->wire.n = book->n + 1;
}

void live_book_open(struct live *live, const uint8_t ipv4[16], const uint8_t ipv6[16])
{
    struct live_book *book = &live->book;

    memcpy(book->gid[0], ipv4, 16);
    memcpy(book->gid[1], ipv6, 16);
    memcpy(book->entries[0].mac, live->options.mac, 6);
    book->n = 1;
    book_close_up(book, false);
}

void live_book_face(struct live *live, bool ipv6)
{
    if (live_address_is_ipv4(live->book.entries[0].gid) == ipv6)
        book_close_up(&live->book, ipv6);
}

uint32_t live_book_find(const struct live *live, const uint8_t gid[16])
{
    for (uint32_t i = 1; i < live->book.n; i++)
        if (memcmp(live->book.entries[i].gid, gid, 16) == 0)
            return i;
    return WIRE_STATION_NONE;
}

static bool is_ours(const struct live *live, const uint8_t gid[16])
{
    return memcmp(gid, live->book.gid[0], 16) == 0 || memcmp(gid, live->book.gid[1], 16) == 0;
}

uint32_t live_book_learn(struct live *live, const uint8_t gid[16], const uint8_t mac[6])
{
    struct live_book *book = &live->book;
    uint32_t station = live_book_find(live, gid);
    bool ipv6 = !live_address_is_ipv4(book->entries[0].gid);

    if ((mac[0] & 1) != 0 || is_ours(live, gid))
        return WIRE_STATION_NONE;
    if (station != WIRE_STATION_NONE)
    {
        memcpy(book->entries[station].mac, mac, 6);
        return station;
    }
    if (book->n > LIVE_PEERS)
        return WIRE_STATION_NONE;
    station = book->n++;
    book->entries[station] = (struct wire_station){.id = station};
    memcpy(book->entries[station].gid, gid, 16);
    memcpy(book->entries[station].mac, mac, 6);
    book_close_up(book, ipv6);
    return station;
}

bool live_book_learn_roce(struct live *live, const uint8_t *bytes, size_t n)
{
    struct wire_packet packet;

    if (wire_decode(bytes, n, WIRE_DECODE_SKIP_ICRC, &packet) != WIRE_DROP_NONE ||
        packet.kind != WIRE_KIND_ROCE || !is_ours(live, packet.ip_dst) ||
        memcmp(packet.eth_dst, live->options.mac, 6) != 0 ||
        (!live_address_is_ipv4(packet.ip_src) && packet.ip_src[0] == 0xFF) ||
        live_book_find(live, packet.ip_src) != WIRE_STATION_NONE)
        return false;
    return live_book_learn(live, packet.ip_src, packet.eth_src) != WIRE_STATION_NONE;
}

/* ---- sums ---- */

static uint32_t sum16(const uint8_t *bytes, size_t n, uint32_t sum)
{
    for (size_t i = 0; i + 1 < n; i += 2)
        sum += wire_bytes_get16(bytes + i);
    return n % 2 ? sum + ((uint32_t)bytes[n - 1] << 8) : sum;
}

static uint16_t folded(uint32_t sum)
{
    sum = (sum & 0xFFFF) + (sum >> 16);
    return (uint16_t) ~((sum & 0xFFFF) + (sum >> 16));
}

/* Of an ICMPv6 message: addresses of the IP header at @p ip are part of it. */
static uint16_t icmp6_sum(const uint8_t *ip, size_t n)
{
    return folded(sum16(ip + IP6_BYTES, n, sum16(ip + 8, 32, (uint32_t)n + PROTOCOL_ICMP6)));
}

/* ---- ARP ---- */

static void send_frame(struct live *live, uint8_t *bytes, size_t n)
{
    while (n < WIRE_MIN_FRAME_BYTES - WIRE_FCS_BYTES)
        bytes[n++] = 0;
    live_port_send(live, bytes, n);
}

static void send_arp(struct live *live, unsigned operation, const uint8_t *mac, const uint8_t *ip)
{
    static const uint8_t head[] = {0, 1, 8, 0, 6, 4, 0};
    static const uint8_t everyone[6] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    uint8_t frame[64] = {0}, *arp = frame + ETH_BYTES;

    memcpy(frame, mac != NULL ? mac : everyone, 6);
    memcpy(frame + 6, live->options.mac, 6);
    wire_bytes_put16(frame + 12, ETHERTYPE_ARP);
    memcpy(arp, head, sizeof head);
    arp[7] = (uint8_t)operation;
    memcpy(arp + 8, live->options.mac, 6);
    memcpy(arp + 14, live->book.gid[0] + 12, 4);
    if (mac != NULL)
        memcpy(arp + 18, mac, 6);
    memcpy(arp + 24, ip, 4);
    send_frame(live, frame, ETH_BYTES + ARP_BYTES);
}

static void take_arp(struct live *live, const uint8_t *arp, size_t n)
{
    static const uint8_t head[] = {0, 1, 8, 0, 6, 4, 0};
    uint8_t gid[16] = {[10] = 0xFF, 0xFF};
    bool to_us;

    if (n < ARP_BYTES || memcmp(arp, head, sizeof head) != 0)
        return;
    memcpy(gid + 12, arp + 14, 4);
    to_us = memcmp(arp + 24, live->book.gid[0] + 12, 4) == 0;
    if (gid[12] != 0 && (to_us || live_book_find(live, gid) != WIRE_STATION_NONE))
        (void)live_book_learn(live, gid, arp + 8);
    if (arp[7] != 1 || !to_us)
        return;
    send_arp(live, 2, arp + 8, arp + 14);
    live->card.arp++;
}

/* ---- IPv6 ---- */

static size_t ip6_frame(struct live *live, uint8_t *frame, const uint8_t mac[6],
                        const uint8_t gid[16], size_t bytes)
{
    uint8_t *ip = frame + ETH_BYTES;

    memcpy(frame, mac, 6);
    memcpy(frame + 6, live->options.mac, 6);
    wire_bytes_put16(frame + 12, WIRE_ETHERTYPE_IPV6);
    wire_bytes_put32(ip, 6u << 28);
    wire_bytes_put16(ip + 4, (uint32_t)bytes);
    ip[6] = PROTOCOL_ICMP6;
    ip[7] = ND_HOPS;
    memcpy(ip + 8, live->book.gid[1], 16);
    memcpy(ip + 24, gid, 16);
    wire_bytes_put16(ip + IP6_BYTES + 2, 0);
    wire_bytes_put16(ip + IP6_BYTES + 2, icmp6_sum(ip, bytes));
    return ETH_BYTES + IP6_BYTES + bytes;
}

/* Solicitation or advertisement, with our MAC as its option. */
static void send_nd(struct live *live, unsigned type, uint32_t flags, const uint8_t target[16],
                    const uint8_t mac[6], const uint8_t to[16])
{
    uint8_t frame[ETH_BYTES + IP6_BYTES + ND_BYTES + 8] = {0};
    uint8_t *nd = frame + ETH_BYTES + IP6_BYTES;

    nd[0] = (uint8_t)type;
    wire_bytes_put32(nd + 4, flags);
    memcpy(nd + 8, target, 16);
    nd[ND_BYTES] = type == ND_SOLICIT ? ND_OPTION_SOURCE : ND_OPTION_TARGET;
    nd[ND_BYTES + 1] = 1; /* times 8 bytes */
    memcpy(nd + ND_BYTES + 2, live->options.mac, 6);
    live_port_send(live, frame, ip6_frame(live, frame, mac, to, ND_BYTES + 8));
}

/* The MAC in an option of this type, or NULL. */
static const uint8_t *nd_option(const uint8_t *nd, size_t n, unsigned type)
{
    for (size_t at = ND_BYTES; at + 8 <= n && nd[at + 1] > 0; at += 8 * (size_t)nd[at + 1])
        if (nd[at] == type)
            return nd + at + 2;
    return NULL;
}

static void take_solicit(struct live *live, const uint8_t *from_mac, const uint8_t *ip, size_t n)
{
    const uint8_t *nd = ip + IP6_BYTES, *source = ip + 8;
    const uint8_t *mac = nd_option(nd, n, ND_OPTION_SOURCE);
    bool probe = memcmp(source, any, 16) == 0; /* is the address free? */
    static const uint8_t all_nodes_mac[6] = {0x33, 0x33, 0, 0, 0, 1};

    if (memcmp(nd + 8, live->book.gid[1], 16) != 0)
        return;
    if (!probe && mac != NULL)
        (void)live_book_learn(live, source, mac);
    /* Flags: solicited (to who asked), override. */
    if (probe)
        send_nd(live, ND_ADVERTISE, 1u << 29, nd + 8, all_nodes_mac, all_nodes);
    else
        send_nd(live, ND_ADVERTISE, 3u << 29, nd + 8, mac != NULL ? mac : from_mac, source);
    live->card.neighbour++;
}

static void take_ip6(struct live *live, const uint8_t *bytes, size_t n)
{
    const uint8_t *ip = bytes + ETH_BYTES, *icmp = ip + IP6_BYTES;
    uint8_t reply[LIVE_LINE_FRAME_BYTES];
    const uint8_t *mac;
    size_t length;

    if (n < ETH_BYTES + IP6_BYTES + 8 || ip[0] >> 4 != 6 || ip[6] != PROTOCOL_ICMP6)
        return;
    length = wire_bytes_get16(ip + 4);
    if (length < 8 || ETH_BYTES + IP6_BYTES + length > n || icmp6_sum(ip, length) != 0)
        return;
    if (icmp[0] == ND_SOLICIT && length >= ND_BYTES && ip[7] == ND_HOPS)
        take_solicit(live, bytes + 6, ip, length);
    if (icmp[0] == ND_ADVERTISE && length >= ND_BYTES && ip[7] == ND_HOPS && icmp[8] != 0xFF)
    {
        mac = nd_option(icmp, length, ND_OPTION_TARGET);
        (void)live_book_learn(live, icmp + 8, mac != NULL ? mac : bytes + 6);
    }
    if (icmp[0] == ICMP6_ECHO && memcmp(ip + 24, live->book.gid[1], 16) == 0)
    {
        memcpy(reply + ETH_BYTES + IP6_BYTES, icmp, length);
        reply[ETH_BYTES + IP6_BYTES] = ICMP6_ECHO_REPLY;
        live_port_send(live, reply, ip6_frame(live, reply, bytes + 6, ip + 8, length));
        live->card.echo++;
    }
}

/* ---- IPv4 ---- */

static void take_ip4(struct live *live, const uint8_t *bytes, size_t n)
{
    const uint8_t *ip = bytes + ETH_BYTES;
    uint8_t reply[LIVE_LINE_FRAME_BYTES], *to = reply + ETH_BYTES;
    size_t length;

    if (n < ETH_BYTES + IP4_BYTES + 8 || ip[0] != 0x45 || ip[9] != PROTOCOL_ICMP)
        return;
    length = wire_bytes_get16(ip + 2);
    if (length < IP4_BYTES + 8 || ETH_BYTES + length > n || folded(sum16(ip, IP4_BYTES, 0)) != 0 ||
        (wire_bytes_get16(ip + 6) & 0x3FFF) != 0 ||
        memcmp(ip + 16, live->book.gid[0] + 12, 4) != 0 || ip[IP4_BYTES] != ICMP_ECHO ||
        folded(sum16(ip + IP4_BYTES, length - IP4_BYTES, 0)) != 0)
        return;
    memcpy(reply, bytes + 6, 6);
    memcpy(reply + 6, live->options.mac, 6);
    memcpy(reply + 12, bytes + 12, 2);
    memcpy(to, ip, length);
    memcpy(to + 12, ip + 16, 4);
    memcpy(to + 16, ip + 12, 4);
    to[8] = 64;
    wire_bytes_put16(to + 10, 0);
    wire_bytes_put16(to + 10, folded(sum16(to, IP4_BYTES, 0)));
    to[IP4_BYTES] = ICMP_ECHO_REPLY;
    wire_bytes_put16(to + IP4_BYTES + 2, 0);
    wire_bytes_put16(to + IP4_BYTES + 2, folded(sum16(to + IP4_BYTES, length - IP4_BYTES, 0)));
    send_frame(live, reply, ETH_BYTES + length);
    live->card.echo++;
}

void live_address_take(struct live *live, const uint8_t *bytes, size_t n)
{
    if (n < ETH_BYTES || ((bytes[0] & 1) == 0 && memcmp(bytes, live->options.mac, 6) != 0))
        return;
    switch (wire_bytes_get16(bytes + 12))
    {
    case ETHERTYPE_ARP:
        take_arp(live, bytes + ETH_BYTES, n - ETH_BYTES);
        return;
    case WIRE_ETHERTYPE_IPV4:
        take_ip4(live, bytes, n);
        return;
    case WIRE_ETHERTYPE_IPV6:
        take_ip6(live, bytes, n);
        return;
    default:
        return;
    }
}

void live_address_ask(struct live *live, const uint8_t gid[16])
{
    uint8_t mac[6] = {0x33, 0x33}, to[16];

    if (live_address_is_ipv4(gid))
    {
        send_arp(live, 1, NULL, gid + 12);
        return;
    }
    memcpy(to, solicited, sizeof solicited);
    memcpy(to + 13, gid + 13, 3);
    memcpy(mac + 2, to + 12, 4);
    send_nd(live, ND_SOLICIT, 0, gid, mac, to);
}
