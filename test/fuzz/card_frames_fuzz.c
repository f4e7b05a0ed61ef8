/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * libFuzzer target of the receiver: any frames into live queue pairs of every service, in the
 * middle of their work. The frames are what the decoder can hand over (encoded and decoded once),
 * with PSNs near the expected ones, or any; the rules of fuzz_card.h hold.
 */
#include "fuzz_card.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fuzz_pair pair;

#define CONNECTIONS 6u
#define SHARED 3u /* the one with a shared receive queue */

#define FED(card, err, call)                                                                       \
    do                                                                                             \
        (err) = (call);                                                                            \
    while ((err) == RNIC_ERR_NOMEM && fuzz_feed(card))

static void begin(struct fuzz_card *card)
{
    int err;

    FED(card, err, rnic_alloc_pd(card->dev, &card->pd[0], 0));
    for (uint32_t i = 0; i < 2; i++)
        FED(card, err, rnic_create_cq(card->dev, 64, &card->cq[i], 0));
    for (uint32_t i = 0; i < FUZZ_OBJECTS; i++) { /* all rights, fewer, and all memory to read */
        bool all = i == FUZZ_OBJECTS - 1;

        FED(card, err,
            rnic_reg_mr(card->dev, card->pd[0], FUZZ_VA, all ? FUZZ_MEMORY : FUZZ_WRITABLE,
                        card->memory + FUZZ_GUARD,
                        all      ? RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_MW_BIND
                        : i == 0 ? 31
                                 : 1 | i << 1,
                        &card->key[i], 0));
    }
    FED(card, err,
        rnic_create_srq(card->dev, card->pd[0], &(struct rnic_srq_attr){.max_wr = 32, .max_sge = 2},
                        &card->srq[0], 0));
    for (uint32_t i = 0; i < FUZZ_OBJECTS; i++)
        FED(card, err, rnic_alloc_mw(card->dev, card->pd[0], &card->mw[i], 0));
    for (uint32_t i = 0; i < FUZZ_OBJECTS; i++) {
        const struct rnic_av av = {.dest_station = 10 + i % 2,
                                   .next_hop = 10 + i % 2,
                                   .hop_limit = 9,
                                   .ipv6 = i & 2,
                                   .roce_v1 = i == 4 || i == 5};

        FED(card, err, rnic_create_ah(card->dev, card->pd[0], &av, &card->ah[i], 0));
    }
    (void)err;
}

static void connect_all(void)
{
    static const struct rnic_qp_init_attr kinds[CONNECTIONS] = {
        {.type = RNIC_QPT_RC, .e2e_credits = true},
        {.type = RNIC_QPT_RC, .recovery = RNIC_RECOVER_GO_BACK_0},
        {.type = RNIC_QPT_RC, .recovery = RNIC_RECOVER_SELECTIVE, .window_bytes = 8192},
        {.type = RNIC_QPT_RC, .srq = 1},
        {.type = RNIC_QPT_UC},
        {.type = RNIC_QPT_UD}};

    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        struct rnic_qp_init_attr init = kinds[i];

        init.recv_cq = 1;
        init.max_send_wr = init.max_recv_wr = 16;
        init.max_send_sge = init.max_recv_sge = 4;
        init.sq_sig_all = true;
        fuzz_require(fuzz_connect(&pair, &init), "no connection");
    }
}

/* The host moves a queue pair to another state, changes its rights, or takes a key away. */
static void meddle(struct fuzz_card *card, uint32_t qpn)
{
    uint8_t a = fuzz_byte(&pair.in);
    const struct rnic_qp_attr attr = {.qp_state = (enum rnic_qp_state)((a & 31) % 7),
                                      .en_sqd_async_notify = a >= 16,
                                      .timeout = 1 + a % 3,
                                      .min_rnr_timer = 1,
                                      .qp_access_flags = fuzz_byte(&pair.in) & 15,
                                      .max_rd_atomic = 1 + a % 3,
                                      .max_dest_rd_atomic = 1 + a % 5};
    static const unsigned masks[8] = {RNIC_QP_STATE,
                                      RNIC_QP_STATE,
                                      RNIC_QP_STATE | RNIC_QP_EN_SQD_ASYNC_NOTIFY,
                                      RNIC_QP_ACCESS_FLAGS | RNIC_QP_STATE,
                                      RNIC_QP_STATE | RNIC_QP_TIMEOUT,
                                      RNIC_QP_STATE | RNIC_QP_MAX_DEST_RD_ATOMIC,
                                      RNIC_QP_STATE | RNIC_QP_MAX_QP_RD_ATOMIC,
                                      0};
    unsigned mask = masks[a >> 5];
    int err;

    if (mask == 0) {
        (void)rnic_dereg_mr(card->dev, card->key[1 + (a & 31) % (FUZZ_OBJECTS - 1)], pair.now_ps);
        return;
    }
    FED(card, err, rnic_modify_qp(card->dev, qpn, &attr, mask, pair.now_ps));
    if (err != 0)
        return;
    card->books[qpn].tame = false;
    card->books[qpn].counted &= (mask & RNIC_QP_STATE) == 0 || attr.qp_state != RNIC_QPS_RESET;
}

/* A frame for a queue pair of `to`, as far as fields go. */
static void draw_frame(const struct fuzz_card *to, uint32_t from, struct wire_frame *frame)
{
    static const uint8_t transports[CONNECTIONS] = {
        0, 0, 0, 0, WIRE_TRANSPORT_UC, WIRE_TRANSPORT_UD};
    struct fuzz_input *in = &pair.in;
    uint32_t which = fuzz_byte(in) % CONNECTIONS;
    uint8_t a = fuzz_byte(in);
    uint8_t *payload = frame->payload;

    *frame = (struct wire_frame){.kind = WIRE_KIND_ROCE,
                                 .src = a == 0 ? 77 : from,
                                 .dst = to->station,
                                 .eth_src = from,
                                 .eth_dst = to->station,
                                 .ttl = 64,
                                 .pkey = 0xFFFF,
                                 .payload = payload};
    frame->dest_qpn = to->qp[which];
    frame->tos = fuzz_byte(in);
    frame->opcode = (uint8_t)((fuzz_byte(in) & 0x1F) | transports[which]);
    if (a > 250)
        frame->opcode = fuzz_byte(in);
    frame->psn.v = (0xFFFFFD + (uint32_t)(int8_t)fuzz_byte(in)) & WIRE_PSN_MASK;
    if (a > 240)
        frame->psn.v = fuzz_u32(in) & WIRE_PSN_MASK;
    frame->bth_flags = fuzz_byte(in) & 31;
    frame->syndrome = fuzz_byte(in);
    frame->msn = fuzz_byte(in);
    frame->imm = to->key[fuzz_byte(in) % FUZZ_OBJECTS];
    switch (fuzz_byte(in)) {
    case 9:
        frame->rkey = fuzz_u32(in);
        break;
    case 10: /* a window may have been bound to any variant */
        frame->rkey = to->mw[fuzz_byte(in) % FUZZ_OBJECTS] ^ fuzz_byte(in);
        break;
    default:
        frame->rkey = to->key[fuzz_byte(in) % FUZZ_OBJECTS];
        break;
    }
    if (wire_opcodes[frame->opcode].has & WIRE_HAS_DETH) {
        frame->deth.qkey = fuzz_byte(in) & 1;
        frame->deth.src_qpn = fuzz_byte(in);
    } else {
        frame->va = FUZZ_VA + (fuzz_u32(in) & 0x1FFFF) % (FUZZ_MEMORY + 10);
        frame->va &= fuzz_byte(in) & 1 ? ~(uint64_t)7 : ~(uint64_t)0;
    }
    frame->dma_bytes = fuzz_byte(in) & 3 ? fuzz_byte(in) * 16u : fuzz_u32(in);
    frame->swap_add = fuzz_byte(in);
    frame->compare = fuzz_byte(in);
    if (wire_opcodes[frame->opcode].has & WIRE_HAS_PAYLOAD) {
        frame->payload_bytes = fuzz_byte(in) & 1 ? 1024 : fuzz_u32(in) % 4097;
        frame->flags |= WIRE_FRAME_BYTES;
    }
    if (wire_opcodes[frame->opcode].name != NULL)
        frame->frame_bytes = wire_frame_length(frame->opcode, frame->flags, frame->payload_bytes);
}

static void throw_frame(void)
{
    static uint8_t payload[8192], bytes[8192];
    uint32_t side = fuzz_byte(&pair.in) & 1;
    struct fuzz_card *to = &pair.cards[side];
    struct wire_frame frame = {.payload = payload};
    size_t n;

    memset(payload, 0x5A, 4096);
    draw_frame(to, pair.cards[1 - side].station, &frame);
    if (frame.frame_bytes == 0)
        return; /* a reserved opcode */
    n = wire_frame_encode(&frame, NULL, bytes, sizeof bytes);
    if (n == 0)
        return; /* longer than the buffer */
    if (wire_frame_decode(&frame, NULL, bytes, n, true) != WIRE_DROP_NONE)
        return;
    fuzz_deliver(&pair, to, &frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_open(&pair, data, size > 2000 ? 2000 : size);
    for (uint32_t i = 0; i < 2; i++)
        begin(&pair.cards[i]);
    connect_all();
    while (!fuzz_done(&pair.in)) {
        struct fuzz_card *card = &pair.cards[fuzz_byte(&pair.in) & 1];
        uint32_t qpn = card->qp[fuzz_byte(&pair.in) % CONNECTIONS];

        switch (fuzz_byte(&pair.in) % 8) {
        case 0:
            if (fuzz_byte(&pair.in) >= 0xF0)
                meddle(card, qpn);
            else
                fuzz_post_send(&pair, card, qpn);
            break;
        case 1:
            if (qpn == card->qp[SHARED])
                fuzz_post_srq(&pair, card, card->srq[0]);
            else
                fuzz_post_recv(&pair, card, qpn);
            break;
        case 2:
            fuzz_run(&pair, (uint64_t)1 << (fuzz_byte(&pair.in) % 30));
            break;
        case 3:
            fuzz_poll(&pair, card);
            pair.loss = fuzz_byte(&pair.in) / 3;
            pair.twist = fuzz_byte(&pair.in) / 3;
            pair.dice = fuzz_byte(&pair.in);
            pair.ready = 0xFF & ~(uint32_t)(fuzz_byte(&pair.in) & fuzz_byte(&pair.in));
            break;
        default:
            throw_frame();
            break;
        }
    }
    fuzz_close(&pair);
    return 0;
}
