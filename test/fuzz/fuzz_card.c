/* SPDX-License-Identifier: GPL-2.0-only */
#include "fuzz_card.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CARD_FIRST_STATION 10u
#define CARD_BLOCK_BYTES 262144u
#define CARD_GIVEN_MAX (16u << 20)

void fuzz_require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

uint8_t fuzz_byte(struct fuzz_input *in)
{
    return in->at < in->size ? in->data[in->at++] : 0;
}

uint32_t fuzz_u32(struct fuzz_input *in)
{
    uint32_t v = 0;

    for (int i = 0; i < 4; i++)
        v = v << 8 | fuzz_byte(in);
    return v;
}

bool fuzz_done(const struct fuzz_input *in)
{
    return in->at >= in->size;
}

/* ---- cards ---- */

static void *card_block(struct fuzz_card *card, size_t bytes)
{
    void *block = aligned_alloc(64, (bytes + 63) & ~(size_t)63);

    fuzz_require(block != NULL && card->n_blocks < 512, "out of memory");
    card->blocks[card->n_blocks++] = block;
    return block;
}

bool fuzz_feed(struct fuzz_card *card)
{
    size_t wanted = rnic_mem_wanted(card->dev);

    fuzz_require(wanted > 0, "out of memory, and nothing is wanted");
    if (wanted < CARD_BLOCK_BYTES)
        wanted = CARD_BLOCK_BYTES;
    if (card->n_blocks == 512 || wanted > CARD_GIVEN_MAX || card->given > CARD_GIVEN_MAX - wanted)
        return false;
    card->given += wanted;
    rnic_mem_give(card->dev, card_block(card, wanted), wanted);
    return true;
}

static void card_open(struct fuzz_card *card, uint32_t i)
{
    struct rnic_config config = {.params = rnic_params_default(),
                                 .cc = &rnic_cc_dcqcn,
                                 .cc_config = {.line_bps = 100000000000},
                                 .station = CARD_FIRST_STATION + i};

    wire_param_defaults(rnic_dcqcn_param_table, rnic_dcqcn_param_count, &config.cc_config.dcqcn);
    if (i == 1) { /* as in the simulator of HPCC: cuts wait for a clock */
        config.cc_config.dcqcn.cut_interval_ps = 4000000;
        config.cc_config.dcqcn.cut_offset_ps = 1000;
        config.cc_config.dcqcn.alpha_timer_ps = 1000000;
    }
    config.params.max_qp = 32;
    config.params.max_mr = 32;
    config.params.max_cq = 32;
    config.params.max_srq = 32;
    config.params.max_wr = 32;
    config.params.max_cqe = 64;
    config.params.max_sge = 4;
    config.params.qp_cache_entries = 2;
    config.params.page_cache_entries = 3;
    config.params.page_bytes = 4096;
    card->station = config.station;
    card->dev = rnic_device_init(card_block(card, rnic_device_bytes()), &config);
    fuzz_require(card->dev != NULL, "no card");
    card->memory = malloc(FUZZ_MEMORY + 2 * FUZZ_GUARD);
    fuzz_require(card->memory != NULL, "out of memory");
    memset(card->memory, FUZZ_GUARD_BYTE, FUZZ_MEMORY + 2 * FUZZ_GUARD);
}

void fuzz_open(struct fuzz_pair *pair, const uint8_t *data, size_t size)
{
    memset(pair, 0, sizeof *pair);
    pair->in = (struct fuzz_input){data, size, 0};
    pair->ready = 0xFF;
    for (uint32_t i = 0; i < 2; i++)
        card_open(&pair->cards[i], i);
}

/* So many bytes that end where writing ends, or a few bytes before or behind. */
static uint64_t card_edge(uint64_t bytes, uint32_t draw)
{
    return FUZZ_VA + FUZZ_WRITABLE - bytes + draw % 17 - 8;
}

/* A list of pieces of memory, mostly good ones. */
static uint32_t draw_sges(struct fuzz_pair *pair, struct fuzz_card *card, struct rnic_sge *sges)
{
    struct fuzz_input *in = &pair->in;
    uint32_t n = fuzz_byte(in) % 6; /* five are more than a queue takes */

    for (uint32_t i = 0; i < n; i++) {
        uint32_t a = fuzz_u32(in);

        sges[i].lkey = a & 0x80 ? fuzz_u32(in) : card->key[a % FUZZ_OBJECTS];
        sges[i].addr = FUZZ_VA + (a >> 8) % (FUZZ_MEMORY + 16);
        sges[i].length = a & 0x40 ? fuzz_u32(in) : (a >> 12) % 6000;
        if (a & 0x20)
            sges[i].addr = card_edge(sges[i].length, a >> 8);
    }
    return n;
}

static uint32_t peer_key(struct fuzz_pair *pair, const struct fuzz_card *card)
{
    const struct fuzz_card *peer = &pair->cards[card == &pair->cards[0] ? 1 : 0];
    uint8_t a = fuzz_byte(&pair->in);

    if (a >= 0xF0)
        return fuzz_u32(&pair->in);
    return a & 8 ? peer->mw[a % FUZZ_OBJECTS] : peer->key[a % FUZZ_OBJECTS];
}

static struct rnic_send_wr draw_send(struct fuzz_pair *pair, struct fuzz_card *card,
                                     struct rnic_sge *sges)
{
    static uint8_t inline_bytes[8192];
    struct fuzz_input *in = &pair->in;
    struct rnic_send_wr wr = {.opcode = (enum rnic_wr_opcode)(fuzz_byte(in) % 11),
                              .send_flags = fuzz_byte(in) % 18,
                              .sg_list = sges};
    uint64_t bytes = 0;
    uint32_t at;

    wr.num_sge = draw_sges(pair, card, sges);
    wr.imm = peer_key(pair, card);
    wr.rkey = peer_key(pair, card);
    at = fuzz_u32(in);
    for (uint32_t i = 0; i < wr.num_sge; i++)
        bytes += sges[i].length;
    wr.remote_addr = at >= 0x80000000 ? card_edge(bytes, at) : FUZZ_VA + at % (FUZZ_MEMORY + 16);
    if (wr.opcode == RNIC_WR_ATOMIC_CMP_AND_SWP || wr.opcode == RNIC_WR_ATOMIC_FETCH_AND_ADD) {
        wr.atomic.compare_add = fuzz_u32(in);
        wr.atomic.swap = fuzz_u32(in);
        if (fuzz_byte(in) & 1) { /* else whatever came: refused or misaligned */
            wr.remote_addr &= ~(uint64_t)7;
            wr.num_sge = 1;
            sges[0] = (struct rnic_sge){FUZZ_VA, 8, card->key[0]};
        }
    } else if (wr.opcode == RNIC_WR_BIND_MW) {
        wr.bind_mw.mw = card->mw[fuzz_byte(in) % FUZZ_OBJECTS];
        wr.bind_mw.mr = card->key[fuzz_byte(in) % FUZZ_OBJECTS];
        wr.rkey = wr.bind_mw.mw ^ fuzz_byte(in);
        wr.bind_mw.addr = FUZZ_VA + fuzz_u32(in) % FUZZ_MEMORY;
        wr.bind_mw.length = fuzz_u32(in) % 9000;
        wr.bind_mw.access = fuzz_byte(in) % 32;
    } else {
        wr.ud.ah = card->ah[fuzz_byte(in) % FUZZ_OBJECTS];
        wr.ud.remote_qpn = fuzz_byte(in);
        wr.ud.remote_qkey = fuzz_byte(in) % 2;
    }
    if (wr.opcode == RNIC_WR_LOCAL_INV)
        wr.invalidate_rkey = card->mw[fuzz_byte(in) % FUZZ_OBJECTS];
    if (wr.send_flags & RNIC_SEND_INLINE)
        for (uint32_t i = 0; i < wr.num_sge; i++) {
            sges[i].addr = fuzz_byte(in) & 1 ? (uint64_t)(uintptr_t)inline_bytes : 0;
            sges[i].length %= 2000;
        }
    return wr;
}

void fuzz_post_send(struct fuzz_pair *pair, struct fuzz_card *card, uint32_t qpn)
{
    struct rnic_sge sges[8] = {{0}};
    struct rnic_send_wr wr = draw_send(pair, card, sges);
    struct fuzz_book *book = &card->books[qpn % FUZZ_QPNS].send;
    int err;

    wr.wr_id = (uint64_t)(book->posted + 1) << 1;
    err = rnic_post_send(card->dev, qpn, &wr, pair->now_ps);
    fuzz_require(err == 0 || err == RNIC_ERR_INVAL || err == RNIC_ERR_FULL || err == RNIC_ERR_NOENT,
                 "post_send");
    if (err != 0)
        return;
    for (uint32_t i = 0; i < FUZZ_OBJECTS && wr.opcode == RNIC_WR_BIND_MW; i++)
        if (card->mw[i] == wr.bind_mw.mw)
            card->mw[i] = wr.rkey; /* if it comes to that */
    book->posted++;
    fuzz_quiet(book, book->posted,
               (wr.send_flags & RNIC_SEND_SIGNALED) == 0 && !card->books[qpn % FUZZ_QPNS].sig_all);
}

void fuzz_post_recv(struct fuzz_pair *pair, struct fuzz_card *card, uint32_t qpn)
{
    struct rnic_sge sges[8] = {{0}};
    struct fuzz_book *book = &card->books[qpn % FUZZ_QPNS].recv;
    struct rnic_recv_wr wr = {.wr_id = (uint64_t)(book->posted + 1) << 1 | 1, .sg_list = sges};
    int err;

    wr.num_sge = draw_sges(pair, card, sges);
    err = rnic_post_recv(card->dev, qpn, &wr, pair->now_ps);
    fuzz_require(err == 0 || err == RNIC_ERR_INVAL || err == RNIC_ERR_FULL || err == RNIC_ERR_NOENT,
                 "post_recv");
    book->posted += err == 0;
}

void fuzz_post_srq(struct fuzz_pair *pair, struct fuzz_card *card, uint32_t srq)
{
    struct rnic_sge sges[8] = {{0}};
    struct rnic_recv_wr wr = {.wr_id = 1, .sg_list = sges};
    int err;

    wr.num_sge = draw_sges(pair, card, sges);
    err = rnic_post_srq_recv(card->dev, srq, &wr, pair->now_ps);
    fuzz_require(err == 0 || err == RNIC_ERR_INVAL || err == RNIC_ERR_FULL || err == RNIC_ERR_NOENT,
                 "post_srq_recv");
}

/* ---- connection ---- */

static int connect_modify(struct fuzz_card *card, uint32_t qpn, const struct rnic_qp_attr *attr,
                          unsigned mask, uint64_t now_ps)
{
    int err;

    do
        err = rnic_modify_qp(card->dev, qpn, attr, mask, now_ps);
    while (err == RNIC_ERR_NOMEM && fuzz_feed(card));
    return err;
}

static bool connect_one(struct fuzz_pair *pair, struct fuzz_card *card, uint32_t qpn,
                        const struct fuzz_card *peer, uint32_t peer_qpn, enum rnic_qp_type type)
{
    static const unsigned masks[3][3] = {
        {RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_ACCESS_FLAGS,
         RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN |
             RNIC_QP_MAX_DEST_RD_ATOMIC | RNIC_QP_MIN_RNR_TIMER,
         RNIC_QP_SQ_PSN | RNIC_QP_MAX_QP_RD_ATOMIC | RNIC_QP_RETRY_CNT | RNIC_QP_RNR_RETRY |
             RNIC_QP_TIMEOUT},
        {RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_ACCESS_FLAGS,
         RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN, RNIC_QP_SQ_PSN},
        {RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_QKEY, 0, RNIC_QP_SQ_PSN}};
    struct rnic_qp_attr attr = {.qp_access_flags = 15,
                                .port_num = 1,
                                .av = {.dest_station = peer->station,
                                       .next_hop = peer->station,
                                       .traffic_class = 104,
                                       .hop_limit = 64},
                                .path_mtu_bytes = 1024,
                                .dest_qp_num = peer_qpn,
                                .rq_psn = {0xFFFFFD},
                                .sq_psn = {0xFFFFFD},
                                .timeout = 1,
                                .retry_cnt = 3,
                                .rnr_retry = 2,
                                .min_rnr_timer = 1,
                                .max_rd_atomic = 3,
                                .max_dest_rd_atomic = 3};

    for (unsigned s = 0; s < 3; s++) {
        attr.qp_state = (enum rnic_qp_state)(RNIC_QPS_INIT + s);
        if (connect_modify(card, qpn, &attr, RNIC_QP_STATE | masks[type][s], pair->now_ps) != 0)
            return false;
    }
    return true;
}

bool fuzz_connect(struct fuzz_pair *pair, const struct rnic_qp_init_attr *init)
{
    uint32_t qpn[2];

    for (uint32_t i = 0; i < 2; i++) {
        struct fuzz_card *card = &pair->cards[i];
        struct rnic_qp_init_attr own = *init;
        int err;

        own.pd = card->pd[0];
        own.send_cq = card->cq[init->send_cq];
        own.recv_cq = card->cq[init->recv_cq];
        own.srq = init->srq != 0 ? card->srq[0] : 0;
        do
            err = rnic_create_qp(card->dev, &own, &qpn[i], pair->now_ps);
        while (err == RNIC_ERR_NOMEM && fuzz_feed(card));
        if (err != 0)
            return false;
        fuzz_require(qpn[i] < FUZZ_QPNS, "a queue pair number out of range");
        card->qp[card->next[2]++ % FUZZ_OBJECTS] = qpn[i];
        card->books[qpn[i]] = (struct fuzz_books){.counted = true,
                                                  .tame = true,
                                                  .rc = own.type == RNIC_QPT_RC,
                                                  .sig_all = own.sq_sig_all,
                                                  .shared = own.srq != 0};
    }
    for (uint32_t i = 0; i < 2; i++)
        if (!connect_one(pair, &pair->cards[i], qpn[i], &pair->cards[1 - i], qpn[1 - i],
                         init->type))
            return false;
    return true;
}
