/* SPDX-License-Identifier: GPL-2.0-only */
#include "replay.h"

#include <stdlib.h>
#include <string.h>

#define CAPTURE_INTERFACES 64u
#define COPY_WINDOW 64u     /* so many frames back a copy made by the network may lie */
#define SPAN_MAX (1u << 20) /* PSNs of one stream */
#define DEFAULT_MTU_BYTES 1024u

/* ---- reading ---- */

static size_t read_file(void *user, uint8_t *bytes, size_t n)
{
    return fread(bytes, 1, n, user);
}

static uint32_t host_of(struct replay_case *c, const uint8_t gid[16], const uint8_t mac[6])
{
    struct replay_host *host;

    for (uint32_t i = 0; i < c->n_hosts; i++)
        if (memcmp(c->hosts[i].gid, gid, 16) == 0)
            return i;
    if (c->n_hosts == REPLAY_HOSTS)
        replay_die("%s: more than %u hosts", c->name, REPLAY_HOSTS);
    host = &c->hosts[c->n_hosts];
    host->name[0] = (char)('a' + c->n_hosts);
    memcpy(host->gid, gid, 16);
    memcpy(host->mac, mac, 6);
    c->stations[c->n_hosts].id = c->n_hosts;
    memcpy(c->stations[c->n_hosts].gid, gid, 16);
    memcpy(c->stations[c->n_hosts].mac, mac, 6);
    c->book = (struct wire_addr_book){c->stations, c->n_hosts + 1};
    return c->n_hosts++;
}

/* The network has sent this frame twice: nobody else repeats the IP identification. */
static bool is_copy(const struct replay_case *c, const struct replay_frame *frame)
{
    size_t n = c->frames.n - 1; /* the last one is the frame itself */

    if (frame->packet.ip_version != 4 || frame->packet.ip_id == 0)
        return false;
    for (size_t i = n; i > 0 && i + COPY_WINDOW > n; i--)
    {
        const struct replay_frame *other = &c->frames.at[i - 1];

        if (other->packet.ip_id == frame->packet.ip_id && other->n == frame->n &&
            memcmp(other->bytes, frame->bytes, frame->n) == 0)
            return true;
    }
    return false;
}

static void take_frame(struct replay_case *c, const struct wire_capture_frame *captured,
                       uint32_t number)
{
    struct wire_packet packet;
    struct replay_frame *frame;

    if (wire_decode(captured->bytes, captured->captured_bytes, 0, &packet) != WIRE_DROP_NONE ||
        packet.kind != WIRE_KIND_ROCE)
    {
        c->others++;
        return;
    }
    if (packet.opcode != WIRE_OP_CNP && (packet.opcode & WIRE_TRANSPORT_MASK) > WIRE_TRANSPORT_UC &&
        (packet.opcode & WIRE_TRANSPORT_MASK) != WIRE_TRANSPORT_UD)
    {
        c->others++; /* reliable datagrams, XRC */
        return;
    }
    if (packet.opcode == WIRE_OP_CNP)
    {
        c->cnps++;
        return;
    }
    frame = REPLAY_ADD(&c->frames);
    frame->number = number;
    frame->n = captured->captured_bytes;
    frame->bytes = replay_zeroed(frame->n, 1);
    memcpy(frame->bytes, captured->bytes, frame->n);
    (void)wire_decode(frame->bytes, frame->n, 0, &frame->packet);
    frame->src = host_of(c, packet.ip_src, packet.eth_src);
    frame->dst = host_of(c, packet.ip_dst, packet.eth_dst);
    frame->request = wire_opcodes[packet.opcode].is & WIRE_IS_REQUEST;
    frame->stream = REPLAY_NONE;
    frame->copy = is_copy(c, frame);
}

void replay_capture_read(struct replay_case *c, const char *path)
{
    struct wire_capture_interface interfaces[CAPTURE_INTERFACES];
    struct wire_capture_frame frame;
    enum wire_capture_result result;
    struct wire_capture capture = {
        .read = read_file, .interfaces = interfaces, .max_interfaces = CAPTURE_INTERFACES};
    FILE *file = fopen(path, "rb");

    if (file == NULL)
        replay_die("%s does not open", path);
    capture.user = file;
    capture.buffer = replay_zeroed(WIRE_CAPTURE_FRAME_BYTES, 1);
    if (!wire_capture_open(&capture))
        replay_die("%s: %s", path, capture.error);
    while ((result = wire_capture_next(&capture, &frame)) == WIRE_CAPTURE_FRAME)
        take_frame(c, &frame, (uint32_t)capture.frames);
    if (result == WIRE_CAPTURE_BAD)
        replay_die("%s: %s", path, capture.error);
    free(capture.buffer);
    fclose(file);
}

/* ---- streams of requests ---- */

static struct replay_stream *request_stream(struct replay_case *c, struct replay_frame *frame)
{
    const struct wire_packet *packet = &frame->packet;
    uint8_t transport = packet->opcode & WIRE_TRANSPORT_MASK;
    bool datagram = transport == WIRE_TRANSPORT_UD;
    const struct replay_qp *said;
    struct replay_stream *stream;

    for (uint32_t i = 0; i < c->streams.n; i++)
    {
        stream = &c->streams.at[i];
        if (stream->requester == frame->src && stream->responder == frame->dst &&
            stream->transport == transport && stream->responder_qpn == packet->dest_qpn &&
            (!datagram || stream->requester_qpn == packet->src_qpn))
        {
            frame->stream = i;
            return stream;
        }
    }
    frame->stream = (uint32_t)c->streams.n;
    stream = REPLAY_ADD(&c->streams);
    stream->requester = frame->src;
    stream->responder = frame->dst;
    stream->responder_qpn = packet->dest_qpn;
    stream->transport = transport;
    stream->requester_qpn = packet->src_qpn;
    stream->peer_known = datagram;
    stream->ipv6 = packet->ip_version == 6 && packet->ethertype != WIRE_ETHERTYPE_ROCE_V1;
    stream->roce_v1 = packet->ethertype == WIRE_ETHERTYPE_ROCE_V1;
    stream->first_psn = packet->psn;
    stream->qkey = packet->qkey;
    said = replay_case_qp(c, stream->responder, stream->responder_qpn);
    if (said->peer != REPLAY_NONE && !datagram)
    {
        stream->requester_qpn = said->peer;
        stream->peer_known = true;
    }
    if (said->qkey != REPLAY_NONE)
        stream->qkey = said->qkey;
    if (said->psn != REPLAY_NONE)
        stream->first_psn = (wire_psn){said->psn};
    return stream;
}

/* ---- whose answers these are ---- */

static bool answers_fit(const struct replay_stream *stream, const struct replay_frame *frame)
{
    int32_t distance = replay_distance(stream, frame->packet.psn);

    return stream->transport == WIRE_TRANSPORT_RC && stream->requester == frame->dst &&
           stream->responder == frame->src && distance >= 0 && (uint32_t)distance < stream->span;
}

/* The stream that an answer is for; the first answer of a queue pair decides. */
static uint32_t answered_stream(struct replay_case *c, const struct replay_frame *frame)
{
    uint32_t found = REPLAY_NONE;

    for (uint32_t i = 0; i < c->streams.n; i++)
    {
        const struct replay_stream *stream = &c->streams.at[i];

        if (stream->requester == frame->dst && stream->responder == frame->src &&
            stream->transport == WIRE_TRANSPORT_RC && stream->peer_known &&
            stream->requester_qpn == frame->packet.dest_qpn)
            return i;
    }
    for (uint32_t i = 0; i < c->streams.n; i++)
    {
        if (c->streams.at[i].peer_known || !answers_fit(&c->streams.at[i], frame))
            continue;
        if (c->streams.at[i].responder_qpn == frame->packet.dest_qpn) /* both chose the same */
            found = i;
        else if (found == REPLAY_NONE)
            found = i;
    }
    if (found != REPLAY_NONE)
    {
        c->streams.at[found].requester_qpn = frame->packet.dest_qpn;
        c->streams.at[found].peer_known = true;
    }
    return found;
}

/* Nobody has answered: the number of a queue pair that asks in the other direction, or the same. */
static void guess_peer(const struct replay_case *c, struct replay_stream *stream)
{
    stream->requester_qpn = stream->responder_qpn;
    for (size_t i = 0; i < c->streams.n; i++)
    {
        const struct replay_stream *back = &c->streams.at[i];

        if (back->requester == stream->responder && back->responder == stream->requester &&
            back->transport == stream->transport)
        {
            stream->requester_qpn = back->responder_qpn;
            if (back->requester_qpn == stream->responder_qpn)
                break;
        }
    }
    stream->peer_known = true;
}

/* ---- MTU, PSNs ---- */

static uint32_t stream_mtu(const struct replay_case *c, uint32_t index)
{
    uint32_t longest = 0;

    for (size_t i = 0; i < c->frames.n; i++)
    {
        const struct replay_frame *frame = &c->frames.at[i];
        const struct replay_stream *stream = &c->streams.at[index];
        bool ours = frame->stream == index ||
                    (!frame->request && stream->requester == frame->dst &&
                     stream->responder == frame->src && stream->transport == WIRE_TRANSPORT_RC);

        if (!ours)
            continue;
        if (wire_opcodes[frame->packet.opcode].is & (WIRE_IS_FIRST | WIRE_IS_MIDDLE))
            return frame->packet.payload_bytes;
        if (frame->packet.payload_bytes > longest)
            longest = frame->packet.payload_bytes;
    }
    for (uint32_t mtu = DEFAULT_MTU_BYTES; mtu < 4096; mtu *= 2)
        if (longest <= mtu)
            return mtu;
    return 4096;
}

static void stream_span(struct replay_case *c, uint32_t index)
{
    struct replay_stream *stream = &c->streams.at[index];

    for (size_t i = 0; i < c->frames.n; i++)
    {
        const struct replay_frame *frame = &c->frames.at[i];
        int32_t distance = replay_distance(stream, frame->packet.psn);
        uint32_t end;

        if (frame->stream != index || distance < 0)
            continue;
        end = (uint32_t)distance + replay_packet_psns(stream, &frame->packet);
        if (end > SPAN_MAX)
            replay_die("%s: frame %u: PSN 0x%06x is too far from the first, 0x%06x; say "
                       "`qp %s 0x%x psn=N`",
                       c->name, frame->number, frame->packet.psn.v, stream->first_psn.v,
                       replay_host_name(c, stream->responder), stream->responder_qpn);
        if (end > stream->span)
            stream->span = end;
    }
    stream->requests = replay_zeroed(stream->span, sizeof stream->requests[0]);
    stream->answers = replay_zeroed(stream->span, sizeof stream->answers[0]);
    for (uint32_t i = 0; i < stream->span; i++)
        stream->requests[i] = stream->answers[i] = REPLAY_NONE;
}

/* The first frame with each PSN. */
static void index_frames(struct replay_case *c)
{
    for (uint32_t i = 0; i < c->frames.n; i++)
    {
        const struct replay_frame *frame = &c->frames.at[i];
        struct replay_stream *stream;
        uint32_t *at;
        int32_t distance;

        if (frame->stream == REPLAY_NONE)
            continue;
        stream = &c->streams.at[frame->stream];
        distance = replay_distance(stream, frame->packet.psn);
        if (distance < 0 || (uint32_t)distance >= stream->span)
            continue;
        at = frame->request ? &stream->requests[distance] : &stream->answers[distance];
        if (!frame->request && frame->packet.opcode == WIRE_OP_ACKNOWLEDGE)
            continue; /* no data */
        if (*at == REPLAY_NONE)
            *at = i;
    }
}

void replay_capture_sort(struct replay_case *c)
{
    for (size_t i = 0; i < c->frames.n; i++)
        if (c->frames.at[i].request)
            (void)request_stream(c, &c->frames.at[i]);
    for (uint32_t i = 0; i < c->streams.n; i++)
    {
        uint32_t mtu = c->setup.mtu_bytes != 0 ? c->setup.mtu_bytes : stream_mtu(c, i);

        if (mtu < 256 || mtu > 4096 || (mtu & (mtu - 1)) != 0)
            replay_die("%s: queue pair 0x%x of %s: %u is no path MTU; say `mtu BYTES`", c->name,
                       c->streams.at[i].responder_qpn,
                       replay_host_name(c, c->streams.at[i].responder), mtu);
        c->streams.at[i].mtu_bytes = mtu;
        stream_span(c, i);
    }
    for (size_t i = 0; i < c->frames.n; i++)
        if (!c->frames.at[i].request)
            c->frames.at[i].stream = answered_stream(c, &c->frames.at[i]);
    for (size_t i = 0; i < c->streams.n; i++)
        if (!c->streams.at[i].peer_known)
            guess_peer(c, &c->streams.at[i]);
    index_frames(c);
}
