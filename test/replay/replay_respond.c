/* SPDX-License-Identifier: GPL-2.0-only */
#include "replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SETTLE_PS 1000000u   /* answers leave at once; nothing that waits longer is an answer */
#define VISIBLE_PS 10000000u /* until completions are visible */
#define LOOK_AHEAD 256u      /* answers to look for one that fits */

/* One answer of ours. */
struct answer
{
    struct wire_frame frame;
    uint8_t *payload;
    uint32_t stream;
    uint32_t after; /* number of the captured request it came after */
};

struct posted
{
    uint64_t id, addr;
};

struct respond
{
    struct replay_case *c;
    struct replay_card card;
    REPLAY_ARRAY(struct answer) answers;
    REPLAY_ARRAY(struct posted) receives; /* by wr_id */
    bool listed;                          /* the set-up file says which receives are posted */
    size_t *considered;                   /* by stream: messages whose receive has been posted */
    uint32_t **refusals;                  /* by stream and distance: RNR NAKs still to come */
};

static bool takes_receive(enum rnic_wr_opcode opcode)
{
    return opcode == RNIC_WR_SEND || opcode == RNIC_WR_SEND_WITH_IMM ||
           opcode == RNIC_WR_SEND_WITH_INV || opcode == RNIC_WR_RDMA_WRITE_WITH_IMM;
}

static uint32_t header_bytes(const struct replay_stream *stream)
{
    return stream->transport == WIRE_TRANSPORT_UD ? RNIC_GRH_BYTES : 0;
}

static bool is_here(const struct respond *r, size_t stream)
{
    return r->c->streams.at[stream].responder == r->card.host;
}

/* ---- receives ---- */

static void post_receive(struct respond *r, uint32_t qpn, uint64_t id, uint32_t bytes)
{
    struct rnic_sge sge = replay_card_buffer(&r->card, bytes);
    struct rnic_recv_wr wr = {
        .wr_id = r->receives.n, .sg_list = &sge, .num_sge = bytes > 0 ? 1 : 0};
    int err = rnic_post_recv(r->card.dev, qpn, &wr, r->card.now_ps);

    if (err != 0)
        replay_die("%s: posting receive %" PRIu64 ": %s", r->c->name, id, rnic_err_name(err));
    *REPLAY_ADD(&r->receives) = (struct posted){id, sge.addr};
}

/* Those that the set-up file wants before this captured frame; 0: at the start. */
static void post_listed(struct respond *r, uint32_t frame)
{
    for (size_t i = 0; i < r->c->setup.recvs.n; i++)
    {
        const struct replay_recv *recv = &r->c->setup.recvs.at[i];

        if (recv->host != r->card.host || recv->frame != frame)
            continue;
        for (size_t s = 0; s < r->c->streams.n; s++)
            if (is_here(r, s) &&
                (recv->qpn == REPLAY_NONE || recv->qpn == r->c->streams.at[s].responder_qpn))
            {
                post_receive(r, r->card.qpns[s], recv->id, recv->bytes);
                break;
            }
    }
}

static uint32_t longest(const struct replay_stream *stream)
{
    uint32_t bytes = 0;

    for (size_t i = 0; i < stream->messages.n; i++)
        if (takes_receive(stream->messages.at[i].opcode) && stream->messages.at[i].bytes > bytes)
            bytes = stream->messages.at[i].bytes;
    return bytes + header_bytes(stream);
}

static size_t arena_bytes(const struct respond *r, uint32_t host)
{
    size_t bytes = 64;

    for (size_t i = 0; i < r->c->setup.recvs.n; i++)
        bytes += r->c->setup.recvs.at[i].bytes + 64u;
    for (size_t s = 0; s < r->c->streams.n; s++)
        if (r->c->streams.at[s].responder == host)
            bytes += (size_t)(longest(&r->c->streams.at[s]) + 64u) * r->c->streams.at[s].messages.n;
    return bytes;
}

/* How often the capture refuses each PSN with RNR NAK: there was no receive until then. */
static void count_refusals(struct respond *r)
{
    r->refusals = replay_zeroed(r->c->streams.n, sizeof r->refusals[0]);
    for (size_t s = 0; s < r->c->streams.n; s++)
        r->refusals[s] = replay_zeroed(r->c->streams.at[s].span, sizeof(uint32_t));
    for (size_t i = 0; i < r->c->frames.n; i++)
    {
        const struct replay_frame *frame = &r->c->frames.at[i];
        const struct replay_stream *stream;
        int32_t distance;

        if (frame->request || frame->copy || frame->stream == REPLAY_NONE ||
            frame->packet.opcode != WIRE_OP_ACKNOWLEDGE ||
            (frame->packet.syndrome & WIRE_AETH_KIND) != WIRE_AETH_RNR_NAK)
            continue;
        stream = &r->c->streams.at[frame->stream];
        distance = replay_distance(stream, frame->packet.psn);
        if (distance >= 0 && (uint32_t)distance < stream->span)
            r->refusals[frame->stream][distance]++;
    }
}

/* A request is about to come: post the receive it needs, unless the capture refuses it. */
static void post_needed(struct respond *r, const struct replay_frame *frame)
{
    const struct replay_stream *stream = &r->c->streams.at[frame->stream];
    const struct wire_opcode *op = &wire_opcodes[frame->packet.opcode];
    int32_t distance = replay_distance(stream, frame->packet.psn);
    bool needed = op->is & WIRE_IS_SEND ? (op->is & (WIRE_IS_FIRST | WIRE_IS_ONLY)) != 0
                                        : (op->has & WIRE_HAS_IMM) != 0;

    if (!needed || distance < 0 || (uint32_t)distance >= stream->span)
        return;
    if (r->refusals[frame->stream][distance] > 0)
    {
        r->refusals[frame->stream][distance]--;
        return;
    }
    while (r->considered[frame->stream] < stream->messages.n)
    {
        const struct replay_message *message = &stream->messages.at[r->considered[frame->stream]];

        if (message->start > (uint32_t)distance || message->first_frame == REPLAY_NONE)
            return;
        r->considered[frame->stream]++;
        if (takes_receive(message->opcode))
            post_receive(r, r->card.qpns[frame->stream], r->receives.n, longest(stream));
    }
}

/* ---- feeding ---- */

static void take_answers(struct respond *r, uint32_t after)
{
    while (replay_card_pull(&r->card, SETTLE_PS))
    {
        const struct wire_frame *frame = &r->card.frame;
        struct answer *answer;

        if (frame->opcode == WIRE_OP_CNP && r->c->cnps > 0)
            continue;
        answer = REPLAY_ADD(&r->answers);
        answer->frame = *frame;
        answer->payload = replay_zeroed(frame->payload_bytes, 1);
        memcpy(answer->payload, frame->payload, frame->payload_bytes);
        answer->after = after;
        answer->stream = replay_card_stream(&r->card, frame);
    }
    replay_card_poll(&r->card);
}

static void feed(struct respond *r)
{
    if (r->listed)
        post_listed(r, 0);
    for (size_t i = 0; i < r->c->frames.n; i++)
    {
        const struct replay_frame *frame = &r->c->frames.at[i];

        if (!frame->request || frame->stream == REPLAY_NONE || !is_here(r, frame->stream))
            continue;
        if (r->listed)
            post_listed(r, frame->number);
        else if (!replay_case_qp(r->c, r->card.host, frame->packet.dest_qpn)->absent)
            post_needed(r, frame);
        (void)replay_card_deliver(&r->card, frame);
        r->c->tally.requests_fed++;
        take_answers(r, frame->number);
    }
    (void)replay_card_wait(&r->card, VISIBLE_PS);
    r->card.now_ps += VISIBLE_PS;
    replay_card_poll(&r->card);
}

/* ---- comparing ---- */

static void not_captured(struct respond *r, const struct answer *answer)
{
    const char *name = wire_opcodes[answer->frame.opcode].name;
    char key[REPLAY_KEY_BYTES];

    if (r->c->setup.coalesced && answer->frame.opcode == WIRE_OP_ACKNOWLEDGE &&
        (answer->frame.syndrome & WIRE_AETH_KIND) == WIRE_AETH_ACK)
        return;
    if (r->c->setup.lost_answers > 0)
    {
        r->c->tally.answers_lost++;
        return;
    }
    snprintf(key, sizeof key, "extra after %u %s psn=0x%x syndrome=0x%x", answer->after, name,
             answer->frame.psn.v, answer->frame.syndrome);
    replay_differs(r->c, answer->after, key,
                   "after frame %u: %s of PSN 0x%06x, syndrome 0x%02x, here, and not in the "
                   "capture",
                   answer->after, name, answer->frame.psn.v, answer->frame.syndrome);
}

static void not_given(struct respond *r, const struct replay_frame *frame)
{
    char key[REPLAY_KEY_BYTES];

    snprintf(key, sizeof key, "answer %u absent %s psn=0x%x syndrome=0x%x", frame->number,
             wire_opcodes[frame->packet.opcode].name, frame->packet.psn.v, frame->packet.syndrome);
    replay_differs(r->c, frame->number, key, "frame %u, %s of PSN 0x%06x: not given here",
                   frame->number, wire_opcodes[frame->packet.opcode].name, frame->packet.psn.v);
}

static void compare_pair(struct respond *r, const struct answer *answer,
                         const struct replay_frame *frame)
{
    replay_compare_frame(r->c, "answer", &answer->frame, frame);
    r->c->tally.answers_compared++;
}

/* Both are the answer to the same packet. */
static bool same_place(const struct answer *answer, const struct replay_frame *frame)
{
    const unsigned kinds = WIRE_IS_READ | WIRE_IS_ATOMIC;

    return answer->frame.psn.v == frame->packet.psn.v && answer->after < frame->number &&
           ((wire_opcodes[answer->frame.opcode].is ^ wire_opcodes[frame->packet.opcode].is) &
            kinds) == 0;
}

struct lists
{
    struct answer **ours;
    const struct replay_frame **theirs;
    size_t n_ours, n_theirs;
};

static bool fits(const struct lists *lists, size_t i, size_t j)
{
    return i < lists->n_ours && j < lists->n_theirs && same_place(lists->ours[i], lists->theirs[j]);
}

/* The fewest to skip on both sides until two fit. @return false: none near. */
static bool find_next(const struct lists *lists, size_t i, size_t j, bool lossy, size_t *skip_ours,
                      size_t *skip_theirs)
{
    *skip_ours = *skip_theirs = 1; /* one that differs, and the next ones fit */
    if (!lossy && !fits(lists, i, j) && fits(lists, i + 1, j + 1))
        return true;
    for (size_t skipped = 0; skipped <= LOOK_AHEAD; skipped++)
        for (size_t theirs = 0; theirs <= (lossy ? 0 : skipped); theirs++)
        {
            size_t ours = skipped - theirs;

            if (fits(lists, i + ours, j + theirs))
            {
                *skip_ours = ours;
                *skip_theirs = theirs;
                return true;
            }
        }
    return false;
}

static void compare_lists(struct respond *r, const struct lists *lists)
{
    bool lossy = r->c->setup.lost_answers > 0 || r->c->setup.coalesced;
    size_t i = 0, j = 0, a, b;

    while (i < lists->n_ours && j < lists->n_theirs)
    {
        if (!find_next(lists, i, j, lossy, &a, &b))
        {
            if (lossy)
                not_given(r, lists->theirs[j++]);
            else
                compare_pair(r, lists->ours[i++], lists->theirs[j++]);
            continue;
        }
        for (; a > 0 && b > 0; a--, b--) /* side by side: one differs from the other */
            compare_pair(r, lists->ours[i++], lists->theirs[j++]);
        for (; a > 0; a--)
            not_captured(r, lists->ours[i++]);
        for (; b > 0; b--)
            not_given(r, lists->theirs[j++]);
        compare_pair(r, lists->ours[i++], lists->theirs[j++]);
    }
    while (i < lists->n_ours)
        not_captured(r, lists->ours[i++]);
    while (j < lists->n_theirs)
        not_given(r, lists->theirs[j++]);
}

static void compare_answers(struct respond *r, uint32_t stream)
{
    REPLAY_ARRAY(struct answer *) ours = {0};
    REPLAY_ARRAY(const struct replay_frame *) theirs = {0};
    struct lists lists;

    for (size_t i = 0; i < r->answers.n; i++)
    {
        struct answer *answer = &r->answers.at[i];

        answer->frame.payload = answer->payload;
        if (answer->stream != stream)
            continue;
        if (answer->frame.opcode == WIRE_OP_CNP) /* none were captured */
            not_captured(r, answer);
        else
            *REPLAY_ADD(&ours) = answer;
    }
    for (size_t i = 0; i < r->c->frames.n; i++)
    {
        const struct replay_frame *frame = &r->c->frames.at[i];

        if (!frame->request && !frame->copy && frame->stream == stream)
            *REPLAY_ADD(&theirs) = frame;
    }
    lists = (struct lists){ours.at, theirs.at, ours.n, theirs.n};
    compare_lists(r, &lists);
    free(ours.at);
    free(theirs.at);
}

/* ---- completions and memory ---- */

static bool is_received(const struct replay_stream *stream, const struct replay_message *message)
{
    if (!takes_receive(message->opcode) || !message->answered)
        return false;
    return stream->transport != WIRE_TRANSPORT_UD || message->qkey == stream->qkey;
}

/* A completed receive of the stream. */
static bool is_receive_of(const struct respond *r, uint32_t index, const struct rnic_wc *wc)
{
    const struct replay_stream *stream = &r->c->streams.at[index];

    return wc->qp_num == r->card.qpns[index] && wc->status == RNIC_WC_SUCCESS &&
           (stream->transport != WIRE_TRANSPORT_UD || wc->src_qp == stream->requester_qpn);
}

static void compare_received(struct respond *r, const struct replay_message *message,
                             const struct rnic_wc *wc)
{
    const struct replay_stream *stream = &r->c->streams.at[message->stream];
    const uint8_t *ours = replay_card_bytes(&r->card, r->receives.at[wc->wr_id].addr);
    char what[64];

    if (message->opcode == RNIC_WR_RDMA_WRITE_WITH_IMM ||
        wc->byte_len != message->bytes + header_bytes(stream))
        return;
    snprintf(what, sizeof what, "%s receive %" PRIu64, replay_host_name(r->c, r->card.host),
             r->receives.at[wc->wr_id].id);
    replay_compare_bytes(r->c, what, ours + header_bytes(stream), message->data, NULL,
                         message->bytes);
}

/* Messages that were received, in the order in which the capture ends them. */
static void compare_receives(struct respond *r)
{
    REPLAY_ARRAY(struct replay_done) wanted = {0};

    for (uint32_t s = 0; s < r->c->streams.n; s++)
    {
        const struct replay_stream *stream = &r->c->streams.at[s];
        size_t at = 0;

        for (size_t m = 0; is_here(r, s) && m < stream->messages.n; m++)
        {
            const struct replay_message *message = &stream->messages.at[m];
            bool write = message->opcode == RNIC_WR_RDMA_WRITE_WITH_IMM;

            if (!is_received(stream, message))
                continue;
            *REPLAY_ADD(&wanted) =
                (struct replay_done){.recv = true,
                                     .host = r->card.host,
                                     .qpn = r->card.qpns[s],
                                     .id = REPLAY_NO_ID,
                                     .status = RNIC_WC_SUCCESS,
                                     .opcode = write ? RNIC_WC_RECV_RDMA_WITH_IMM : RNIC_WC_RECV,
                                     .bytes = message->bytes + header_bytes(stream),
                                     .imm = message->imm,
                                     .with_imm = write || message->opcode == RNIC_WR_SEND_WITH_IMM};
            while (at < r->card.wcs.n && !is_receive_of(r, s, &r->card.wcs.at[at]))
                at++;
            if (at < r->card.wcs.n)
                compare_received(r, message, &r->card.wcs.at[at++]);
        }
    }
    for (size_t i = 0; i < r->card.wcs.n; i++) /* as the user numbered them */
        r->card.wcs.at[i].wr_id = r->receives.at[r->card.wcs.at[i].wr_id].id;
    replay_compare_done(&r->card, true, REPLAY_NONE, wanted.at, wanted.n);
    free(wanted.at);
}

static void compare_regions(struct respond *r)
{
    for (size_t i = 0; i < r->c->regions.n; i++)
    {
        const struct replay_region *region = &r->c->regions.at[i];
        char what[64];

        if (region->host != r->card.host)
            continue;
        snprintf(what, sizeof what, "%s key 0x%x", replay_host_name(r->c, region->host),
                 region->key);
        replay_compare_bytes(r->c, what, region->initial, region->final, region->known,
                             region->bytes);
    }
}

void replay_respond(struct replay_case *c, uint32_t host)
{
    struct respond r = {.c = c};

    for (size_t i = 0; i < c->setup.recvs.n; i++)
        r.listed = r.listed || c->setup.recvs.at[i].host == host;
    r.considered = replay_zeroed(c->streams.n, sizeof r.considered[0]);
    replay_card_open_responder(&r.card, c, host, arena_bytes(&r, host));
    count_refusals(&r);
    feed(&r);
    for (size_t i = 0; i < r.answers.n; i++)
        if (r.answers.at[i].stream == REPLAY_NONE)
            not_captured(&r, &r.answers.at[i]);
    for (uint32_t i = 0; i < c->streams.n; i++)
        if (is_here(&r, i))
            compare_answers(&r, i);
    compare_receives(&r);
    compare_regions(&r);
    for (uint32_t i = 0; i < c->streams.n; i++)
        if (is_here(&r, i))
            replay_compare_state(&r.card, i, c->streams.at[i].responder_qpn);
    for (size_t i = 0; i < c->streams.n; i++)
        free(r.refusals[i]);
    for (size_t i = 0; i < r.answers.n; i++)
        free(r.answers.at[i].payload);
    free(r.refusals);
    free(r.considered);
    free(r.answers.at);
    free(r.receives.at);
    replay_card_close(&r.card);
}
