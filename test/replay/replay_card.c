/* SPDX-License-Identifier: GPL-2.0-only */
#include "replay.h"

#include <stdlib.h>
#include <string.h>

#define LINE_BPS 100000000000u
#define PAYLOAD_BYTES 4096u
#define RD_ATOMIC 128u      /* as rxe has it */
#define TIMEOUT 18u         /* 1.07 s: no capture waits longer for an answer */
#define QUEUE_MAX 16384u    /* work requests of a queue */
#define NO_KEY 0xFFFFFFFFu  /* never one of ours */
#define NO_QPN 0xFFFFF0u    /* nor this */
#define STEPS_MAX 10000000u /* a card that needs more goes round in circles */

/* A frame of the pool. */
struct blank
{
    struct wire_frame frame;
    uint8_t payload[PAYLOAD_BYTES];
};

/* ---- memory of the card ---- */

static void *card_block(struct replay_card *card, size_t bytes)
{
    void *block = aligned_alloc(64, (bytes + 63) & ~(size_t)63);

    if (block == NULL)
        replay_die("no memory for %zu bytes", bytes);
    memset(block, 0xA5, bytes);
    *REPLAY_ADD(&card->blocks) = block;
    return block;
}

/* A verb wants memory: give it. @return true: call again. */
static bool card_feed(struct replay_card *card, int err)
{
    size_t wanted = rnic_mem_wanted(card->dev);

    if (err != RNIC_ERR_NOMEM)
        return false;
    wanted = wanted > 1 << 20 ? wanted : 1 << 20;
    rnic_mem_give(card->dev, card_block(card, wanted), wanted);
    return true;
}

/* A verb must succeed. */
#define CARD_MUST(card, call)                                                                      \
    do                                                                                             \
    {                                                                                              \
        int must_err;                                                                              \
                                                                                                   \
        while (card_feed(card, must_err = (call)))                                                 \
            ;                                                                                      \
        if (must_err != 0)                                                                         \
            replay_die("%s: %s: %s", (card)->c->name, rnic_err_name(must_err), #call);             \
    } while (0)

/* ---- queue pairs ---- */

static enum rnic_qp_type qp_type(const struct replay_stream *stream)
{
    if (stream->transport == WIRE_TRANSPORT_RC)
        return RNIC_QPT_RC;
    return stream->transport == WIRE_TRANSPORT_UC ? RNIC_QPT_UC : RNIC_QPT_UD;
}

/* What a queue pair allows: all but what it was seen to refuse as an invalid request. */
static unsigned seen_access(const struct replay_stream *stream)
{
    unsigned access =
        RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC;

    for (size_t i = 0; i < stream->messages.n; i++)
    {
        const struct replay_message *message = &stream->messages.at[i];

        if (!message->refused || message->syndrome != (WIRE_AETH_NAK | WIRE_NAK_INVALID))
            continue;
        if (message->opcode == RNIC_WR_RDMA_READ)
            access &= ~(unsigned)RNIC_ACCESS_REMOTE_READ;
        else if (message->opcode == RNIC_WR_RDMA_WRITE ||
                 message->opcode == RNIC_WR_RDMA_WRITE_WITH_IMM)
            access &= ~(unsigned)RNIC_ACCESS_REMOTE_WRITE;
        else if (message->bytes == 8 && message->va % 8 == 0)
            access &= ~(unsigned)RNIC_ACCESS_REMOTE_ATOMIC;
    }
    return access;
}

static uint8_t said_or(uint32_t said, uint32_t otherwise)
{
    return (uint8_t)(said != REPLAY_NONE ? said : otherwise);
}

static struct rnic_av stream_av(const struct replay_stream *stream, bool as_responder)
{
    uint32_t peer = as_responder ? stream->requester : stream->responder;

    return (struct rnic_av){.dest_station = peer,
                            .next_hop = peer,
                            .hop_limit = 64,
                            .ipv6 = stream->ipv6,
                            .roce_v1 = stream->roce_v1};
}

static struct rnic_qp_attr stream_attr(const struct replay_case *c,
                                       const struct replay_stream *stream, bool as_responder)
{
    uint32_t host = as_responder ? stream->responder : stream->requester;
    uint32_t qpn = as_responder ? stream->responder_qpn : stream->requester_qpn;
    const struct replay_qp *said = replay_case_qp(c, host, qpn);

    return (struct rnic_qp_attr){
        .qp_access_flags = said->access != REPLAY_NONE ? said->access : seen_access(stream),
        .port_num = 1,
        .av = stream_av(stream, as_responder),
        .path_mtu_bytes = stream->mtu_bytes,
        .dest_qp_num = as_responder ? stream->requester_qpn : stream->responder_qpn,
        .rq_psn = stream->first_psn,
        .sq_psn = stream->first_psn,
        .timeout = TIMEOUT,
        .retry_cnt = said_or(said->retry, 7),
        .rnr_retry = said_or(said->rnr_retry, 7),
        .min_rnr_timer = said_or(said->rnr_timer, stream->rnr_timer),
        .max_rd_atomic = said_or(said->rd_atomic, RD_ATOMIC),
        .max_dest_rd_atomic = said_or(said->rd_atomic, RD_ATOMIC),
        .qkey = said->qkey != REPLAY_NONE ? said->qkey : stream->qkey,
    };
}

static const unsigned rc_masks[] = {
    [RNIC_QPS_INIT] = RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_ACCESS_FLAGS,
    [RNIC_QPS_RTR] = RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN |
                     RNIC_QP_MAX_DEST_RD_ATOMIC | RNIC_QP_MIN_RNR_TIMER,
    [RNIC_QPS_RTS] = RNIC_QP_SQ_PSN | RNIC_QP_MAX_QP_RD_ATOMIC | RNIC_QP_RETRY_CNT |
                     RNIC_QP_RNR_RETRY | RNIC_QP_TIMEOUT,
};
static const unsigned uc_masks[] = {
    [RNIC_QPS_INIT] = RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_ACCESS_FLAGS,
    [RNIC_QPS_RTR] = RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN,
    [RNIC_QPS_RTS] = RNIC_QP_SQ_PSN,
};
static const unsigned ud_masks[] = {
    [RNIC_QPS_INIT] = RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_QKEY,
    [RNIC_QPS_RTR] = 0,
    [RNIC_QPS_RTS] = RNIC_QP_SQ_PSN,
};

static uint32_t card_new_qp(struct replay_card *card, const struct replay_stream *stream,
                            bool as_responder)
{
    static const unsigned *const masks[] = {rc_masks, uc_masks, ud_masks};
    struct rnic_qp_attr attr = stream_attr(card->c, stream, as_responder);
    const struct rnic_qp_init_attr init = {.type = qp_type(stream),
                                           .pd = card->pd,
                                           .send_cq = card->cq,
                                           .recv_cq = card->cq,
                                           .max_send_wr = card->depth,
                                           .max_recv_wr = card->depth,
                                           .max_send_sge = 1,
                                           .max_recv_sge = 1,
                                           .sq_sig_all = true};
    uint32_t qpn;

    CARD_MUST(card, rnic_create_qp(card->dev, &init, &qpn, card->now_ps));
    for (unsigned state = RNIC_QPS_INIT; state <= RNIC_QPS_RTS; state++)
    {
        unsigned mask = RNIC_QP_STATE | masks[init.type][state];

        attr.qp_state = (enum rnic_qp_state)state;
        CARD_MUST(card, rnic_modify_qp(card->dev, qpn, &attr, mask, card->now_ps));
    }
    return qpn;
}

/* A datagram queue pair serves every stream that names it. */
static uint32_t card_qp(struct replay_card *card, uint32_t index)
{
    const struct replay_stream *stream = &card->c->streams.at[index];

    for (uint32_t i = 0; i < index && stream->transport == WIRE_TRANSPORT_UD; i++)
    {
        const struct replay_stream *other = &card->c->streams.at[i];

        if (card->qpns[i] != 0 && other->transport == stream->transport &&
            other->responder_qpn == stream->responder_qpn)
            return card->qpns[i];
    }
    return card_new_qp(card, stream, true);
}

/* ---- the card ---- */

static void card_regions(struct replay_card *card)
{
    for (size_t i = 0; i < card->c->regions.n; i++)
    {
        struct replay_region *region = &card->c->regions.at[i];

        if (region->host == card->host)
            CARD_MUST(card, rnic_reg_mr(card->dev, card->pd, region->va, region->bytes,
                                        region->initial, RNIC_ACCESS_LOCAL_WRITE | region->access,
                                        &card->keys[i], card->now_ps));
    }
}

/* Room for every message of the capture, as far as a card has it. */
static uint32_t queue_depth(const struct replay_case *c)
{
    size_t n = 16 + c->setup.recvs.n;

    for (size_t i = 0; i < c->streams.n; i++)
        n += c->streams.at[i].messages.n;
    return n < QUEUE_MAX ? (uint32_t)n : QUEUE_MAX;
}

static void card_open(struct replay_card *card, struct replay_case *c, uint32_t host,
                      size_t arena_bytes)
{
    struct rnic_config config = {.params = rnic_params_ideal(),
                                 .cc = &rnic_cc_none,
                                 .cc_config = {.line_bps = LINE_BPS},
                                 .station = host};

    *card = (struct replay_card){.c = c, .host = host, .now_ps = 1000000, .depth = queue_depth(c)};
    config.params.max_rd_atomic = RD_ATOMIC;
    wire_param_defaults(rnic_dcqcn_param_table, rnic_dcqcn_param_count, &config.cc_config.dcqcn);
    card->dev = rnic_device_init(card_block(card, rnic_device_bytes()), &config);
    if (card->dev == NULL)
        replay_die("%s: the card's parameters are out of range", c->name);
    card->qpns = replay_zeroed(c->streams.n, sizeof card->qpns[0]);
    card->keys = replay_zeroed(c->regions.n, sizeof card->keys[0]);
    card->payload = replay_zeroed(PAYLOAD_BYTES, 1);
    card->arena_bytes = arena_bytes > 0 ? arena_bytes : 1;
    card->arena = replay_zeroed(card->arena_bytes, 1);
    CARD_MUST(card, rnic_alloc_pd(card->dev, &card->pd, card->now_ps));
    CARD_MUST(card, rnic_create_cq(card->dev, card->depth, &card->cq, card->now_ps));
    CARD_MUST(card,
              rnic_reg_mr(card->dev, card->pd, REPLAY_ARENA_VA, card->arena_bytes, card->arena,
                          RNIC_ACCESS_LOCAL_WRITE, &card->arena_key, card->now_ps));
}

void replay_card_open_responder(struct replay_card *card, struct replay_case *c, uint32_t host,
                                size_t arena_bytes)
{
    card_open(card, c, host, arena_bytes);
    card_regions(card);
    for (uint32_t i = 0; i < c->streams.n; i++)
        if (c->streams.at[i].responder == host)
            card->qpns[i] = replay_case_qp(c, host, c->streams.at[i].responder_qpn)->absent
                                ? NO_QPN
                                : card_qp(card, i);
}

void replay_card_open_requester(struct replay_card *card, struct replay_case *c, uint32_t stream,
                                size_t arena_bytes)
{
    card_open(card, c, c->streams.at[stream].requester, arena_bytes);
    card->qpns[stream] = card_new_qp(card, &c->streams.at[stream], false);
}

void replay_card_close(struct replay_card *card)
{
    while (rnic_frames_held(card->dev) > 0)
    { /* blanks that the card has kept come out first */
        struct blank *blank = replay_zeroed(1, sizeof *blank);
        struct wire_frame *frame = &blank->frame, *spare = NULL;
        bool sent;

        frame->payload = blank->payload;
        sent = rnic_tx(card->dev, WIRE_NEVER / 4, 0xFF, &frame, &spare);
        if (frame != NULL)
            free(frame); /* a frame is the first thing of its blank */
        if (sent && spare != NULL)
            free(spare);
    }
    for (size_t i = 0; i < card->blocks.n; i++)
        free(card->blocks.at[i]);
    free(card->blocks.at);
    free(card->wcs.at);
    free(card->qpns);
    free(card->keys);
    free(card->payload);
    free(card->arena);
}

uint32_t replay_card_ah(struct replay_card *card, uint32_t stream)
{
    struct rnic_av av = stream_av(&card->c->streams.at[stream], false);
    uint32_t ah;

    CARD_MUST(card, rnic_create_ah(card->dev, card->pd, &av, &ah, card->now_ps));
    return ah;
}

struct rnic_sge replay_card_buffer(struct replay_card *card, uint32_t bytes)
{
    struct rnic_sge sge = {
        .addr = REPLAY_ARENA_VA + card->arena_used, .length = bytes, .lkey = card->arena_key};

    card->arena_used += (bytes + 63u) & ~(size_t)63;
    WIRE_ASSERT(card->arena_used <= card->arena_bytes);
    return sge;
}

uint8_t *replay_card_bytes(const struct replay_card *card, uint64_t addr)
{
    return card->arena + (addr - REPLAY_ARENA_VA);
}

/* ---- frames ---- */

static uint32_t our_key(const struct replay_card *card, uint32_t key)
{
    for (size_t i = 0; i < card->c->regions.n; i++)
        if (card->keys[i] != 0 && card->c->regions.at[i].key == key)
            return card->keys[i];
    return NO_KEY;
}

enum wire_drop replay_card_deliver(struct replay_card *card, const struct replay_frame *frame)
{
    const struct replay_case *c = card->c;
    uint16_t has = wire_opcodes[frame->packet.opcode].has;
    uint8_t *bytes = replay_zeroed(frame->n, 1), *payload = replay_zeroed(frame->n, 1);
    struct wire_frame in = {.payload = payload};
    enum wire_drop drop;

    memcpy(bytes, frame->bytes, frame->n);
    memcpy(bytes, c->hosts[frame->dst].mac, 6); /* wherever it was captured */
    memcpy(bytes + 6, c->hosts[frame->src].mac, 6);
    drop = wire_frame_decode(&in, &c->book, bytes, frame->n, true);
    if (drop != WIRE_DROP_NONE)
        replay_die("%s: frame %u: %s", c->name, frame->number, wire_drop_text(drop));
    in.dest_qpn = card->qpns[frame->stream];
    if (has & (WIRE_HAS_RETH | WIRE_HAS_ATOMIC))
        in.rkey = our_key(card, in.rkey);
    if (has & WIRE_HAS_IETH)
        in.imm = our_key(card, in.imm);
    drop = rnic_rx(card->dev, &in, card->now_ps);
    free(bytes);
    free(payload);
    return drop;
}

bool replay_card_wait(struct replay_card *card, uint64_t wait_ps)
{
    uint64_t limit_ps = wait_ps < WIRE_NEVER - card->now_ps ? card->now_ps + wait_ps : WIRE_NEVER;

    for (unsigned steps = 0; steps < STEPS_MAX; steps++)
    {
        uint64_t tx_ps = rnic_tx_next(card->dev, 0xFF), wake_ps = rnic_next_wake(card->dev);
        uint64_t next_ps = wire_min_ps(tx_ps, wake_ps);
        struct rnic_event event;

        if (next_ps == WIRE_NEVER || next_ps > limit_ps)
            return false;
        card->now_ps = wire_max_ps(card->now_ps, next_ps);
        if (tx_ps <= wake_ps)
            return true;
        rnic_wake(card->dev, card->now_ps);
        while (rnic_event(card->dev, card->now_ps, &event))
            ;
    }
    replay_die("%s: the card goes round in circles", card->c->name);
}

/* As in the capture: whose number stands in the datagram header. */
static void translate_out(struct replay_card *card, struct wire_frame *frame)
{
    if (!(wire_opcodes[frame->opcode].has & WIRE_HAS_DETH))
        return;
    for (size_t i = 0; i < card->c->streams.n; i++)
        if (card->qpns[i] != 0 && card->qpns[i] == frame->deth.src_qpn)
        {
            frame->deth.src_qpn = card->c->streams.at[i].requester_qpn;
            return;
        }
}

bool replay_card_pull(struct replay_card *card, uint64_t wait_ps)
{
    for (unsigned steps = 0; steps < STEPS_MAX; steps++)
    {
        struct wire_frame *frame, *spare = NULL;
        struct blank *blank;
        uint8_t *payload = card->payload;

        if (!replay_card_wait(card, wait_ps))
            return false;
        blank = replay_zeroed(1, sizeof *blank);
        frame = &blank->frame;
        frame->payload = blank->payload;
        if (!rnic_tx(card->dev, card->now_ps, 0xFF, &frame, &spare))
        {
            free(frame); /* NULL: the card has kept it */
            continue;
        }
        card->frame = *frame;
        card->frame.payload = payload;
        if (frame->flags & WIRE_FRAME_BYTES)
            memcpy(payload, frame->payload, frame->payload_bytes);
        translate_out(card, &card->frame);
        free(frame);
        free(spare);
        return true;
    }
    replay_die("%s: the card goes round in circles", card->c->name);
}

void replay_card_poll(struct replay_card *card)
{
    struct rnic_wc wc;

    while (rnic_poll_cq(card->dev, card->cq, 1, &wc, card->now_ps) == 1)
        *REPLAY_ADD(&card->wcs) = wc;
}

uint32_t replay_card_stream(const struct replay_card *card, const struct wire_frame *frame)
{
    for (uint32_t i = 0; i < card->c->streams.n; i++)
    {
        const struct replay_stream *stream = &card->c->streams.at[i];

        if (card->qpns[i] != 0 && stream->requester == frame->dst &&
            stream->requester_qpn == frame->dest_qpn)
            return i;
    }
    return REPLAY_NONE;
}
