/* SPDX-License-Identifier: GPL-2.0-only */
#include "replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE_PS 1000000u  /* a frame that leaves without waiting for anything does it within */
#define VISIBLE_PS 10000000u /* until completions are visible */
#define EXTRA_MAX 64u        /* frames of ours behind the end of the capture, at most */

/*
 * What our card sees when is the question. The capture says in which order frames passed one
 * point, not when the requester looked at an answer: the peer goes on sending after a NAK has
 * passed. So answers are held back until a captured request shows that they were seen: one that
 * is not the next new PSN, or one that our card has no frame for.
 */
struct request
{
    struct replay_case *c;
    struct replay_card card;
    uint32_t index; /* of the stream */
    struct replay_stream *stream;
    uint32_t next; /* distance of the PSN behind the last one that our card has sent */
    size_t posted; /* messages */
    uint32_t ah;
    REPLAY_ARRAY(const struct replay_frame *) held;
    size_t delivered;
    uint64_t *buffers; /* by message */
};

/* ---- posting ---- */

static void set_datagram(struct request *r, const struct replay_message *message,
                         struct rnic_send_wr *wr)
{
    wr->ud.ah = r->ah;
    wr->ud.remote_qpn = r->stream->responder_qpn;
    wr->ud.remote_qkey = message->qkey;
}

static void post(struct request *r, size_t index)
{
    const struct replay_message *message = &r->stream->messages.at[index];
    struct rnic_sge sge = replay_card_buffer(&r->card, message->bytes);
    struct rnic_send_wr wr = {.wr_id = index,
                              .opcode = message->opcode,
                              .send_flags = message->solicited ? RNIC_SEND_SOLICITED : 0,
                              .imm = message->imm,
                              .rkey = message->rkey,
                              .remote_addr = message->va,
                              .sg_list = &sge,
                              .num_sge = message->bytes > 0 ? 1 : 0};
    bool fetches =
        message->opcode >= RNIC_WR_RDMA_READ && message->opcode <= RNIC_WR_ATOMIC_FETCH_AND_ADD;
    int err;

    r->buffers[index] = sge.addr;
    if (!fetches)
        memcpy(replay_card_bytes(&r->card, sge.addr), message->data, message->bytes);
    if (message->opcode == RNIC_WR_ATOMIC_FETCH_AND_ADD)
        wr.atomic.compare_add = message->add;
    if (message->opcode == RNIC_WR_ATOMIC_CMP_AND_SWP)
    {
        wr.atomic.compare_add = message->compare;
        wr.atomic.swap = message->add;
    }
    if (r->stream->transport == WIRE_TRANSPORT_UD)
        set_datagram(r, message, &wr);
    err = rnic_post_send(r->card.dev, r->card.qpns[r->index], &wr, r->card.now_ps);
    if (err != 0)
        replay_die("%s: posting work request %" PRIu64 ": %s", r->c->name, message->id,
                   rnic_err_name(err));
}

/* All messages up to the one with this PSN: the capture shows that they were posted by now. */
static void post_up_to(struct request *r, uint32_t distance)
{
    while (r->posted < r->stream->messages.n &&
           r->stream->messages.at[r->posted].first_frame != REPLAY_NONE &&
           r->stream->messages.at[r->posted].start <= distance)
        post(r, r->posted++);
}

/* ---- frames ---- */

static bool deliver_one(struct request *r)
{
    if (r->delivered == r->held.n)
        return false;
    (void)replay_card_deliver(&r->card, r->held.at[r->delivered++]);
    r->c->tally.answers_fed++;
    replay_card_poll(&r->card);
    return true;
}

static uint32_t frame_psns(const struct request *r, const struct wire_frame *frame)
{
    const struct wire_packet packet = {.opcode = frame->opcode, .dma_bytes = frame->dma_bytes};

    return replay_packet_psns(r->stream, &packet);
}

/* Does this answer settle the packet at @p distance? Then the peer had not seen it when it sent
 * that packet once more. */
static bool settles(const struct request *r, const struct replay_frame *answer, uint32_t distance)
{
    const struct wire_packet *packet = &answer->packet;
    int32_t at = replay_distance(r->stream, packet->psn);
    uint32_t index = r->stream->requests[distance];
    uint16_t is = index != REPLAY_NONE ? wire_opcodes[r->c->frames.at[index].packet.opcode].is : 0;
    bool ack = packet->opcode == WIRE_OP_ACKNOWLEDGE &&
               (packet->syndrome & WIRE_AETH_KIND) == WIRE_AETH_ACK;

    if (at < 0)
        return false;
    if (is & (WIRE_IS_READ | WIRE_IS_ATOMIC))
        return packet->opcode != WIRE_OP_ACKNOWLEDGE && (uint32_t)at == distance;
    return ack ? (uint32_t)at >= distance : (uint32_t)at > distance;
}

/* What leaves by itself: at once, or when a timer sets it free. */
static bool own_frame(struct request *r)
{
    bool sent = replay_card_pull(&r->card, WIRE_NEVER);

    replay_card_poll(&r->card);
    return sent;
}

/* What leaves at once; what an answer sets free; what a timer sets free. */
static bool next_frame(struct request *r)
{
    bool sent = replay_card_pull(&r->card, AT_ONCE_PS);

    while (!sent && deliver_one(r))
        sent = replay_card_pull(&r->card, AT_ONCE_PS);
    return sent || own_frame(r);
}

static void extra(struct request *r, uint32_t before, const char *where)
{
    const struct wire_frame *frame = &r->card.frame;
    char key[REPLAY_KEY_BYTES];

    snprintf(key, sizeof key, "extra %s %u %s psn=0x%x", where, before,
             wire_opcodes[frame->opcode].name, frame->psn.v);
    replay_differs(r->c, before, key, "%s frame %u: %s of PSN 0x%06x here, and not in the capture",
                   where, before, wire_opcodes[frame->opcode].name, frame->psn.v);
}

/* The capture shows this request: our card must send it now. */
static void expect(struct request *r, const struct replay_frame *frame)
{
    int32_t distance = replay_distance(r->stream, frame->packet.psn);
    bool again = distance >= 0 && (uint32_t)distance < r->next;
    char key[REPLAY_KEY_BYTES];

    if (distance < 0)
        return; /* before the beginning */
    post_up_to(r, (uint32_t)distance);
    while (again && r->delivered < r->held.n &&
           !settles(r, r->held.at[r->delivered], (uint32_t)distance))
        (void)deliver_one(r);
    while (again ? own_frame(r) : next_frame(r))
    {
        int32_t ours = replay_distance(r->stream, r->card.frame.psn);

        r->next = (uint32_t)ours + frame_psns(r, &r->card.frame);
        if (ours >= distance)
        {
            replay_compare_frame(r->c, "request", &r->card.frame, frame);
            r->c->tally.requests_compared++;
            return;
        }
        if (r->c->setup.lost_requests > 0)
            r->c->tally.requests_lost++;
        else
            extra(r, frame->number, "before");
    }
    snprintf(key, sizeof key, "request %u absent %s psn=0x%x", frame->number,
             wire_opcodes[frame->packet.opcode].name, frame->packet.psn.v);
    replay_differs(r->c, frame->number, key, "frame %u, %s of PSN 0x%06x: not sent here",
                   frame->number, wire_opcodes[frame->packet.opcode].name, frame->packet.psn.v);
}

static void finish(struct request *r, uint32_t last)
{
    while (deliver_one(r))
        ;
    while (r->posted < r->stream->messages.n)
        post(r, r->posted++);
    for (unsigned i = 0; i < EXTRA_MAX && replay_card_pull(&r->card, WIRE_NEVER); i++)
        extra(r, last, "after");
    r->card.now_ps += VISIBLE_PS;
    replay_card_poll(&r->card);
}

static void replay_frames(struct request *r)
{
    uint32_t last = 0;

    for (size_t i = 0; i < r->c->frames.n; i++)
    {
        const struct replay_frame *frame = &r->c->frames.at[i];

        if (frame->stream != r->index)
            continue;
        last = frame->number;
        if (!frame->request)
            *REPLAY_ADD(&r->held) = frame;
        else if (!frame->copy)
            expect(r, frame);
    }
    finish(r, last);
}

/* ---- completions and what was fetched ---- */

static enum rnic_wc_status refused_status(uint8_t syndrome)
{
    switch (syndrome & WIRE_AETH_CODE)
    {
    case WIRE_NAK_INVALID:
        return RNIC_WC_REM_INV_REQ_ERR;
    case WIRE_NAK_ACCESS:
        return RNIC_WC_REM_ACCESS_ERR;
    default:
        return RNIC_WC_REM_OP_ERR;
    }
}

static enum rnic_wc_opcode done_opcode(enum rnic_wr_opcode opcode)
{
    switch (opcode)
    {
    case RNIC_WR_RDMA_WRITE:
    case RNIC_WR_RDMA_WRITE_WITH_IMM:
        return RNIC_WC_RDMA_WRITE;
    case RNIC_WR_RDMA_READ:
        return RNIC_WC_RDMA_READ;
    case RNIC_WR_ATOMIC_CMP_AND_SWP:
        return RNIC_WC_COMP_SWAP;
    case RNIC_WR_ATOMIC_FETCH_AND_ADD:
        return RNIC_WC_FETCH_ADD;
    default:
        return RNIC_WC_SEND;
    }
}

static enum rnic_wc_status message_status(const struct replay_message *message)
{
    if (message->answered)
        return RNIC_WC_SUCCESS;
    if (message->refused)
        return refused_status(message->syndrome);
    return message->rnr ? RNIC_WC_RNR_RETRY_EXC_ERR : RNIC_WC_RETRY_EXC_ERR;
}

static void compare_completions(struct request *r)
{
    REPLAY_ARRAY(struct replay_done) wanted = {0};
    bool failed = false;

    for (size_t i = 0; i < r->stream->messages.n; i++)
    {
        const struct replay_message *message = &r->stream->messages.at[i];
        struct replay_done *done = REPLAY_ADD(&wanted);

        *done =
            (struct replay_done){.host = r->card.host,
                                 .qpn = r->card.qpns[r->index],
                                 .id = message->id,
                                 .status = failed ? RNIC_WC_WR_FLUSH_ERR : message_status(message),
                                 .opcode = done_opcode(message->opcode),
                                 .bytes = message->bytes};
        failed = done->status != RNIC_WC_SUCCESS;
    }
    for (size_t i = 0; i < r->card.wcs.n; i++)
    {
        struct rnic_wc *wc = &r->card.wcs.at[i];
        const struct replay_message *message = &r->stream->messages.at[wc->wr_id];
        char what[64];

        snprintf(what, sizeof what, "%s work request %" PRIu64,
                 replay_host_name(r->c, r->card.host), message->id);
        if (wc->status == RNIC_WC_SUCCESS && message->answered &&
            message->opcode >= RNIC_WR_RDMA_READ && message->opcode <= RNIC_WR_ATOMIC_FETCH_AND_ADD)
            replay_compare_bytes(r->c, what, replay_card_bytes(&r->card, r->buffers[wc->wr_id]),
                                 message->data, NULL, message->bytes);
        wc->wr_id = message->id;
    }
    replay_compare_done(&r->card, false, r->stream->requester_qpn, wanted.at, wanted.n);
    free(wanted.at);
}

void replay_request(struct replay_case *c, uint32_t stream)
{
    struct request r = {.c = c, .index = stream, .stream = &c->streams.at[stream]};
    size_t arena_bytes = 64;

    for (size_t i = 0; i < r.stream->messages.n; i++)
        arena_bytes += r.stream->messages.at[i].bytes + 64u;
    r.buffers = replay_zeroed(r.stream->messages.n, sizeof r.buffers[0]);
    replay_card_open_requester(&r.card, c, stream, arena_bytes);
    if (r.stream->transport == WIRE_TRANSPORT_UD)
        r.ah = replay_card_ah(&r.card, stream);
    replay_frames(&r);
    compare_completions(&r);
    replay_compare_state(&r.card, stream, r.stream->requester_qpn);
    free(r.buffers);
    free(r.held.at);
    replay_card_close(&r.card);
}
