/* SPDX-License-Identifier: GPL-2.0-only */
#include "replay.h"

#include <stdlib.h>
#include <string.h>

#define REGION_MAX_BYTES ((uint64_t)1 << 30)
#define MESSAGE_MAX_BYTES (1u << 28)
#define ALL_REMOTE (RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC)

/* ---- messages ---- */

static const struct wire_packet *packet_at(const struct replay_case *c,
                                           const struct replay_stream *stream, uint32_t distance)
{
    uint32_t index = distance < stream->span ? stream->requests[distance] : REPLAY_NONE;

    return index != REPLAY_NONE ? &c->frames.at[index].packet : NULL;
}

static enum rnic_wr_opcode message_opcode(const struct wire_packet *packet)
{
    const struct wire_opcode *op = &wire_opcodes[packet->opcode];
    bool imm = op->has & WIRE_HAS_IMM;

    if (op->is & WIRE_IS_READ)
        return RNIC_WR_RDMA_READ;
    if (op->is & WIRE_IS_ATOMIC)
        return packet->opcode == WIRE_OP_COMPARE_SWAP ? RNIC_WR_ATOMIC_CMP_AND_SWP
                                                      : RNIC_WR_ATOMIC_FETCH_AND_ADD;
    if (op->is & WIRE_IS_WRITE)
        return imm ? RNIC_WR_RDMA_WRITE_WITH_IMM : RNIC_WR_RDMA_WRITE;
    if (op->has & WIRE_HAS_IETH)
        return RNIC_WR_SEND_WITH_INV;
    return imm ? RNIC_WR_SEND_WITH_IMM : RNIC_WR_SEND;
}

static bool starts(const struct wire_packet *packet)
{
    return wire_opcodes[packet->opcode].is &
           (WIRE_IS_FIRST | WIRE_IS_ONLY | WIRE_IS_READ | WIRE_IS_ATOMIC);
}

static bool ends(const struct wire_packet *packet)
{
    return wire_opcodes[packet->opcode].is &
           (WIRE_IS_LAST | WIRE_IS_ONLY | WIRE_IS_READ | WIRE_IS_ATOMIC);
}

/* May the packet be a later one of the message that begins with @p first? */
static bool continues(const struct wire_packet *first, const struct wire_packet *packet)
{
    const unsigned kinds = WIRE_IS_SEND | WIRE_IS_WRITE;

    return !starts(packet) &&
           ((wire_opcodes[first->opcode].is ^ wire_opcodes[packet->opcode].is) & kinds) == 0;
}

/* How many packets from here on belong together; *complete: up to the last. */
static uint32_t message_packets(const struct replay_case *c, const struct replay_stream *stream,
                                uint32_t start, bool *complete)
{
    const struct wire_packet *packet = packet_at(c, stream, start);
    uint32_t n = 1;

    *complete = ends(packet);
    if (wire_opcodes[packet->opcode].is & WIRE_IS_WRITE && !*complete)
    {
        n = (uint32_t)(((uint64_t)packet->dma_bytes + stream->mtu_bytes - 1) / stream->mtu_bytes);
        n = n > 0 ? n : 1; /* a FIRST of nothing is wrong, but it is there */
        *complete = true;
        for (uint32_t i = 0; i < n; i++)
            *complete = *complete && packet_at(c, stream, start + i) != NULL;
        return n;
    }
    while (!*complete)
    {
        packet = packet_at(c, stream, start + n);
        if (packet == NULL || !continues(packet_at(c, stream, start), packet))
            return n;
        n++;
        *complete = ends(packet);
    }
    return n;
}

static void message_from_packet(struct replay_message *message, const struct wire_packet *packet)
{
    const struct wire_opcode *op = &wire_opcodes[packet->opcode];

    if (op->has & (WIRE_HAS_RETH | WIRE_HAS_ATOMIC))
    {
        message->va = packet->va;
        message->rkey = packet->rkey;
    }
    if (op->has & WIRE_HAS_RETH)
        message->bytes = packet->dma_bytes;
    if (op->has & WIRE_HAS_ATOMIC)
    {
        message->bytes = 8;
        message->add = packet->swap_add;
        message->compare = packet->compare;
    }
    if (op->has & (WIRE_HAS_IMM | WIRE_HAS_IETH))
        message->imm = packet->imm;
    if (op->has & WIRE_HAS_DETH)
        message->qkey = packet->qkey;
    if (packet->bth_flags & WIRE_BTH_SE)
        message->solicited = true;
}

static void message_data(const struct replay_case *c, const struct replay_stream *stream,
                         struct replay_message *message)
{
    uint32_t at = 0;

    if (message->opcode == RNIC_WR_SEND || message->opcode == RNIC_WR_SEND_WITH_IMM ||
        message->opcode == RNIC_WR_SEND_WITH_INV)
        for (uint32_t i = message->start; i < message->end; i++)
            message->bytes += packet_at(c, stream, i)->payload_bytes;
    if (message->bytes > MESSAGE_MAX_BYTES)
        replay_die("%s: frame %u: a message of %u bytes is more than this tool replays", c->name,
                   c->frames.at[message->first_frame].number, message->bytes);
    message->data = replay_zeroed(message->bytes, 1);
    if (message->opcode >= RNIC_WR_RDMA_READ && message->opcode <= RNIC_WR_ATOMIC_FETCH_AND_ADD)
        return;
    for (uint32_t i = message->start; i < message->end; i++)
    {
        const struct wire_packet *packet = packet_at(c, stream, i);
        uint32_t n = packet != NULL ? packet->payload_bytes : stream->mtu_bytes;

        if (packet != NULL && n <= message->bytes - at)
            memcpy(message->data + at, packet->payload, n);
        at = n <= message->bytes - at ? at + n : message->bytes;
    }
}

static uint32_t add_message(struct replay_case *c, uint32_t index, uint32_t start)
{
    struct replay_stream *stream = &c->streams.at[index];
    const struct wire_packet *first = packet_at(c, stream, start);
    struct replay_message *message = REPLAY_ADD(&stream->messages);
    uint32_t n = message_packets(c, stream, start, &message->complete);
    bool read = wire_opcodes[first->opcode].is & WIRE_IS_READ;

    message->stream = index;
    message->id = stream->messages.n;
    message->start = start;
    message->end = start + (read ? replay_packet_psns(stream, first) : n);
    message->first_frame = REPLAY_NONE;
    message->opcode = message_opcode(first);
    message_from_packet(message, first);
    for (uint32_t i = start; i < start + n; i++)
    {
        uint32_t frame = i < stream->span ? stream->requests[i] : REPLAY_NONE;

        if (frame == REPLAY_NONE)
            continue;
        if (frame < message->first_frame)
            message->first_frame = frame;
        if (i > start && !continues(first, &c->frames.at[frame].packet))
            message->complete = false; /* another one in the middle of this one */
        else if (ends(&c->frames.at[frame].packet))
        {
            uint32_t bytes = message->bytes;
            uint64_t va = message->va;

            message->opcode = message_opcode(&c->frames.at[frame].packet);
            message_from_packet(message, &c->frames.at[frame].packet);
            message->bytes = bytes;
            message->va = va;
        }
    }
    if (read)
        n = message->end - start;
    message_data(c, stream, message);
    return n;
}

static void find_messages(struct replay_case *c, uint32_t index)
{
    const struct replay_stream *stream = &c->streams.at[index];

    for (uint32_t at = 0; at < stream->span;)
    {
        const struct wire_packet *packet = packet_at(c, stream, at);

        at += packet != NULL && starts(packet) ? add_message(c, index, at) : 1;
    }
}

/* ---- how they were answered ---- */

static struct replay_message *message_of(struct replay_stream *stream, uint32_t distance)
{
    size_t low = 0, high = stream->messages.n;

    while (low < high)
    {
        size_t middle = (low + high) / 2;
        struct replay_message *message = &stream->messages.at[middle];

        if (distance >= message->start && distance < message->end)
            return message;
        if (distance < message->start)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* Takes one answer; @return how many PSNs it acknowledges. */
static uint32_t take_answer(struct replay_stream *stream, const struct wire_packet *packet,
                            uint32_t distance)
{
    bool aeth = wire_opcodes[packet->opcode].has & WIRE_HAS_AETH;
    uint8_t kind = aeth ? packet->syndrome & WIRE_AETH_KIND : WIRE_AETH_ACK;
    struct replay_message *message = message_of(stream, distance);

    if (kind == WIRE_AETH_ACK)
    {
        if (message != NULL)
            message->rnr = false;
        return distance + (packet->opcode == WIRE_OP_ACKNOWLEDGE ? 1 : 0);
    }
    if (kind == WIRE_AETH_RNR_NAK)
    {
        stream->rnr_timer = packet->syndrome & WIRE_AETH_CODE;
        if (message != NULL)
            message->rnr = true;
    }
    else if (packet->syndrome != WIRE_AETH_NAK && message != NULL)
    {
        message->refused = true;
        message->syndrome = packet->syndrome;
    }
    return distance;
}

/* READ and atomics: all of the answer was captured, and goes to the message's data. */
static bool take_data(const struct replay_case *c, const struct replay_stream *stream,
                      struct replay_message *message)
{
    bool all = true;

    for (uint32_t i = message->start; i < message->end; i++)
    {
        uint32_t index = i < stream->span ? stream->answers[i] : REPLAY_NONE;
        uint64_t at = (uint64_t)(i - message->start) * stream->mtu_bytes;
        const struct wire_packet *packet;

        if (index == REPLAY_NONE)
        {
            all = false;
            continue;
        }
        packet = &c->frames.at[index].packet;
        if (wire_opcodes[packet->opcode].has & WIRE_HAS_ATOMIC_ACK)
            memcpy(message->data, &packet->orig, message->bytes < 8 ? message->bytes : 8);
        else if (at + packet->payload_bytes <= message->bytes)
            memcpy(message->data + at, packet->payload, packet->payload_bytes);
    }
    return all;
}

static void find_answers(struct replay_case *c, uint32_t index)
{
    struct replay_stream *stream = &c->streams.at[index];
    uint32_t acknowledged = 0;

    for (size_t i = 0; i < c->frames.n; i++)
    {
        const struct replay_frame *frame = &c->frames.at[i];
        int32_t distance = replay_distance(stream, frame->packet.psn);
        uint32_t n;

        if (frame->stream != index || frame->request || distance < 0 ||
            (uint32_t)distance >= stream->span)
            continue;
        n = take_answer(stream, &frame->packet, (uint32_t)distance);
        acknowledged = n > acknowledged ? n : acknowledged;
    }
    for (size_t i = 0; i < stream->messages.n; i++)
    {
        struct replay_message *message = &stream->messages.at[i];
        bool data =
            message->opcode >= RNIC_WR_RDMA_READ && message->opcode <= RNIC_WR_ATOMIC_FETCH_AND_ADD;

        if (data)
            message->answered = take_data(c, stream, message);
        else if (stream->transport == WIRE_TRANSPORT_RC)
            message->answered = message->end <= acknowledged;
        else
            message->answered = message->complete;
    }
}

/* ---- work requests as the set-up file lists them ---- */

static void check_post(const struct replay_case *c, const struct replay_message *said,
                       const struct replay_message *seen)
{
    bool same = said->opcode == seen->opcode && (said->bytes == seen->bytes || !seen->complete) &&
                said->va == seen->va && said->rkey == seen->rkey && said->imm == seen->imm &&
                said->add == seen->add && said->compare == seen->compare;

    if (!same)
        replay_die("%s: the set-up file's work request %llu is not what frame %u begins", c->name,
                   (unsigned long long)said->id, c->frames.at[seen->first_frame].number);
}

static void take_posts(struct replay_case *c, uint32_t index)
{
    struct replay_stream *stream = &c->streams.at[index];
    size_t n_seen = stream->messages.n, k = 0;

    for (size_t i = 0; i < c->setup.posts.n; i++)
    {
        const struct replay_post *post = &c->setup.posts.at[i];
        struct replay_message *message;

        if (post->host != stream->requester ||
            (post->qpn != REPLAY_NONE && post->qpn != stream->requester_qpn))
            continue;
        if (k < n_seen)
        {
            message = &stream->messages.at[k++];
            check_post(c, &post->message, message);
            message->id = post->message.id;
            continue;
        }
        message = REPLAY_ADD(&stream->messages);
        *message = post->message;
        message->stream = index;
        message->start = message->end = stream->span;
        message->first_frame = REPLAY_NONE;
        message->data = replay_zeroed(message->bytes, 1);
    }
    if (k > 0 && k < n_seen)
        replay_die("%s: the set-up file lists %zu work requests of %s, the capture shows %zu",
                   c->name, k, replay_host_name(c, stream->requester), n_seen);
}

/* ---- regions and what they hold ---- */

static unsigned message_access(const struct replay_message *message)
{
    switch (message->opcode)
    {
    case RNIC_WR_RDMA_WRITE:
    case RNIC_WR_RDMA_WRITE_WITH_IMM:
        return RNIC_ACCESS_REMOTE_WRITE;
    case RNIC_WR_RDMA_READ:
        return RNIC_ACCESS_REMOTE_READ;
    case RNIC_WR_ATOMIC_CMP_AND_SWP:
    case RNIC_WR_ATOMIC_FETCH_AND_ADD:
        return RNIC_ACCESS_REMOTE_ATOMIC;
    default:
        return 0;
    }
}

static void take_span(struct replay_case *c, uint32_t host, const struct replay_message *message)
{
    struct replay_region *region;
    uint64_t end = message->va + message->bytes, old_end;

    if (message_access(message) == 0 || message->bytes == 0 || message->refused ||
        message->first_frame == REPLAY_NONE || end < message->va)
        return;
    region = replay_case_region(c, host, message->rkey);
    if (region == NULL)
    {
        region = REPLAY_ADD(&c->regions);
        *region = (struct replay_region){.host = host,
                                         .key = message->rkey,
                                         .va = message->va,
                                         .bytes = message->bytes,
                                         .access = ALL_REMOTE};
    }
    if (region->given)
        return;
    old_end = region->va + region->bytes;
    if (message->va < region->va)
        region->va = message->va;
    region->bytes = (end > old_end ? end : old_end) - region->va;
}

static void find_regions(struct replay_case *c)
{
    for (size_t i = 0; i < c->setup.regions.n; i++)
        *REPLAY_ADD(&c->regions) = c->setup.regions.at[i];
    for (size_t i = 0; i < c->streams.n; i++)
        for (size_t m = 0; m < c->streams.at[i].messages.n; m++)
            take_span(c, c->streams.at[i].responder, &c->streams.at[i].messages.at[m]);
    for (size_t i = 0; i < c->regions.n; i++)
    {
        struct replay_region *region = &c->regions.at[i];

        if (region->bytes > REGION_MAX_BYTES)
            replay_die("%s: the region of key 0x%x spans %llu bytes", c->name, region->key,
                       (unsigned long long)region->bytes);
        region->initial = replay_zeroed(region->bytes, 1);
        region->final = replay_zeroed(region->bytes, 1);
        region->known = replay_zeroed(region->bytes, 1);
    }
}

/* Bytes that an answer shows: as they were at the beginning, when nobody had changed them. */
static void show_bytes(struct replay_region *region, uint64_t at, const uint8_t *bytes, uint64_t n)
{
    for (uint64_t i = 0; i < n && at + i < region->bytes; i++)
        if (region->known[at + i] == 0)
        {
            region->initial[at + i] = region->final[at + i] = bytes[i];
            region->known[at + i] = 1;
        }
}

static void change_bytes(struct replay_region *region, uint64_t at, const uint8_t *bytes,
                         uint64_t n, bool certain)
{
    for (uint64_t i = 0; i < n && at + i < region->bytes; i++)
    {
        region->final[at + i] = bytes[i];
        region->known[at + i] = certain ? 1 : 2;
    }
}

static uint64_t atomic_result(const struct replay_message *message, uint64_t original)
{
    if (message->opcode == RNIC_WR_ATOMIC_FETCH_AND_ADD)
        return original + message->add;
    return original == message->compare ? message->add : original;
}

static void apply_message(struct replay_case *c, const struct replay_message *message)
{
    const struct replay_stream *stream = &c->streams.at[message->stream];
    struct replay_region *region = replay_case_region(c, stream->responder, message->rkey);
    uint64_t at, value;

    if (region == NULL || message_access(message) == 0 || message->va < region->va ||
        message->va - region->va > region->bytes ||
        message->bytes > region->bytes - (message->va - region->va))
        return;
    at = message->va - region->va;
    if (message->opcode == RNIC_WR_RDMA_READ)
    {
        for (uint32_t i = message->start; i < message->end; i++)
        {
            uint64_t from = (uint64_t)(i - message->start) * stream->mtu_bytes;
            uint32_t index = i < stream->span ? stream->answers[i] : REPLAY_NONE;
            uint32_t n = index != REPLAY_NONE ? c->frames.at[index].packet.payload_bytes : 0;

            if (from + n <= message->bytes)
                show_bytes(region, at + from, message->data + from, n);
        }
        return;
    }
    if (message_access(message) == RNIC_ACCESS_REMOTE_WRITE)
    {
        change_bytes(region, at, message->data, message->bytes, message->answered);
        return;
    }
    if (message->answered)
        show_bytes(region, at, message->data, 8);
    memcpy(&value, message->data, 8);
    value = atomic_result(message, value);
    change_bytes(region, at, (const uint8_t *)&value, 8, message->answered);
}

static int by_frame(const void *a, const void *b)
{
    const struct replay_message *const *x = a, *const *y = b;

    return ((*x)->first_frame > (*y)->first_frame) - ((*x)->first_frame < (*y)->first_frame);
}

static void find_memory(struct replay_case *c)
{
    REPLAY_ARRAY(struct replay_message *) all = {0};

    for (size_t i = 0; i < c->streams.n; i++)
        for (size_t m = 0; m < c->streams.at[i].messages.n; m++)
        {
            struct replay_message *message = &c->streams.at[i].messages.at[m];

            if (message->first_frame != REPLAY_NONE)
                *REPLAY_ADD(&all) = message;
        }
    if (all.n > 0)
        qsort(all.at, all.n, sizeof all.at[0], by_frame);
    for (size_t i = 0; i < all.n; i++)
        apply_message(c, all.at[i]);
    free(all.at);
}

/* What the set-up file knows better. */
static void take_memories(struct replay_case *c)
{
    for (size_t i = 0; i < c->setup.memories.n; i++)
    {
        const struct replay_memory *memory = &c->setup.memories.at[i];
        struct replay_region *region = replay_case_region(c, memory->host, memory->key);

        if (region == NULL || memory->va < region->va || memory->n > region->bytes ||
            memory->va - region->va > region->bytes - memory->n)
            replay_die("%s: `memory` of key 0x%x lies in no region", c->name, memory->key);
        change_bytes(region, memory->va - region->va, memory->bytes, memory->n, true);
    }
}

void replay_derive(struct replay_case *c)
{
    for (uint32_t i = 0; i < c->streams.n; i++)
    {
        find_messages(c, i);
        find_answers(c, i);
        take_posts(c, i);
    }
    find_regions(c);
    find_memory(c);
    take_memories(c);
}
