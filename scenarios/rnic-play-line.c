/* SPDX-License-Identifier: GPL-2.0-only */
/* rnic-play: frames in flight, losses, duplicates. */
#include "rnic-play.h"

#define LATE_PS 10000000u /* from the last RNR NAK until host b posts its receive requests */

static struct play_flight *flight_new(struct play *play)
{
    struct play_flight *flight = play->flights;

    while (flight != NULL && flight->used)
        flight = flight->all;
    if (flight == NULL)
    {
        flight = play_need(calloc(1, sizeof *flight));
        flight->frame.payload = play_need(calloc(1, 4096));
        flight->all = play->flights;
        play->flights = flight;
    }
    flight->used = true;
    flight->copy = false;
    return flight;
}

static struct play_flight *flight_of(struct wire_frame *frame)
{
    return (struct play_flight *)(void *)((char *)frame - offsetof(struct play_flight, frame));
}

static void fly(struct play *play, struct play_flight *flight)
{
    struct play_flight **at = &play->flying;

    while (*at != NULL && (*at)->arrives_ps <= flight->arrives_ps)
        at = &(*at)->next;
    flight->next = *at;
    *at = flight;
}

static bool strikes(struct play_faults *faults, uint32_t psn)
{
    for (uint32_t i = 0; i < faults->n; i++)
        if (faults->list[i].psn == psn && !faults->list[i].struck)
        {
            faults->list[i].struck = true;
            return true;
        }
    return false;
}

static void remember(struct play_host *host, uint32_t psn)
{
    if (host->n_sent == host->cap_sent)
    {
        host->cap_sent = host->cap_sent ? 2 * host->cap_sent : 256;
        host->sent = play_need(realloc(host->sent, host->cap_sent * sizeof host->sent[0]));
    }
    host->sent[host->n_sent++] = psn;
}

/* Host b is late on purpose with --rnr: it posts behind the last of the RNR NAKs asked for. */
static void count_rnr(struct play *play, const struct wire_frame *frame)
{
    if (frame->opcode == WIRE_OP_ACKNOWLEDGE &&
        (frame->syndrome & WIRE_AETH_KIND) == WIRE_AETH_RNR_NAK &&
        ++play->rnr_naks == play->options.rnr)
        play->recv_ps = play->now_ps + LATE_PS;
}

static void launch(struct play *play, uint32_t face, struct play_flight *flight)
{
    struct play_host *host = &play->hosts[face];
    const struct wire_frame *frame = &flight->frame;
    uint64_t rate_bps = play->options.rate_bps;
    uint64_t line_ps = wire_line_time_ps(frame->frame_bytes + WIRE_PREAMBLE_BYTES, rate_bps);
    bool lost = strikes(&play->options.loss[face], frame->psn.v);
    bool twice = strikes(&play->options.twice[face], frame->psn.v);

    flight->id = play->ids++;
    flight->to = 1 - face;
    flight->arrives_ps = play->now_ps + line_ps + play->options.delay_ps;
    host->mac_free_ps =
        play->now_ps + wire_line_time_ps(frame->frame_bytes + WIRE_GAP_BYTES, rate_bps);
    remember(host, frame->psn.v);
    play_tell(play, face, "tx");
    play_tell_number(play, "id", flight->id);
    play_tell_text(play, "fate", lost ? "lost" : twice ? "twice" : "whole");
    play_tell_frame(play, frame);
    play_tell_end(play);
    play_tell_pcap_frame(play, face, frame);
    if (face == 1)
        count_rnr(play, frame);
    if (lost)
    {
        flight->used = false;
        return;
    }
    fly(play, flight);
    if (twice)
    {
        struct play_flight *copy = flight_new(play);
        uint8_t *payload = copy->frame.payload;

        copy->frame = *frame;
        copy->frame.payload = payload;
        memcpy(payload, frame->payload, 4096);
        copy->copy = true;
        copy->id = flight->id;
        copy->to = flight->to;
        copy->arrives_ps = flight->arrives_ps + play->options.after_ps;
        fly(play, copy);
    }
}

void play_line_pull(struct play *play, uint32_t face)
{
    struct play_flight *blank = flight_new(play);
    struct wire_frame *frame = &blank->frame, *spare = NULL;

    if (!rnic_tx(play->hosts[face].dev, play->now_ps, 0xFF, &frame, &spare))
    {
        blank->used = frame == NULL; /* the card keeps it */
        return;
    }
    if (spare != NULL)
        flight_of(spare)->used = false;
    launch(play, face, flight_of(frame));
}

void play_line_arrive(struct play *play)
{
    struct play_flight *flight = play->flying;
    struct play_host *host = &play->hosts[flight->to];
    bool atomic = (wire_opcodes[flight->frame.opcode].has & WIRE_HAS_ATOMIC) != 0;
    uint64_t before = atomic ? play_host_value(host, flight->frame.va) : 0;
    enum wire_drop drop;

    play->flying = flight->next;
    play_tell_pcap_frame(play, flight->to, &flight->frame);
    drop = rnic_rx(host->dev, &flight->frame, play->now_ps);
    play_tell(play, flight->to, "rx");
    play_tell_number(play, "id", flight->id);
    play_tell_number(play, "copy", flight->copy);
    play_tell_text(play, "drop", wire_drop_name(drop));
    play_tell_frame(play, &flight->frame);
    if (atomic)
    {
        play_tell_number(play, "before", before);
        play_tell_number(play, "after", play_host_value(host, flight->frame.va));
    }
    play_tell_end(play);
    flight->used = false;
    play_tell_visible(play, flight->to);
}
