/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * libFuzzer target of the verbs: any sequence of them with any arguments, on two cards that talk to
 * each other over a line that loses frames. A verb says no or does what it says; the rules of
 * fuzz_card.h hold.
 */
#include "fuzz_card.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fuzz_pair pair;

#define KEPT 3u /* objects of a kind that every run begins with and are not forgotten */

enum { KIND_PD, KIND_CQ, KIND_QP, KIND_SRQ, KIND_KEY, KIND_MW, KIND_AH };

static bool known(int err)
{
    return err <= 0 && err >= RNIC_ERR_UNSUPPORTED;
}

static uint32_t some(struct fuzz_card *card, const uint32_t *list)
{
    uint8_t a = fuzz_byte(&pair.in);

    (void)card;
    return a & 0x80 ? a & 0x7Fu : list[a % FUZZ_OBJECTS];
}

/* Remember a new object; the first ones of each kind stay. */
static void remember(struct fuzz_card *card, uint32_t *list, int kind, int err, uint32_t number)
{
    fuzz_require(known(err), "no such error");
    if (err == 0)
        list[KEPT + card->next[kind]++ % (FUZZ_OBJECTS - KEPT)] = number;
}

#define FED(card, err, call)                                                                       \
    do                                                                                             \
        (err) = (call);                                                                            \
    while ((err) == RNIC_ERR_NOMEM && fuzz_feed(card))

static void make_memory(struct fuzz_card *card)
{
    uint64_t at = fuzz_u32(&pair.in) % FUZZ_MEMORY, bytes = fuzz_u32(&pair.in) % (FUZZ_MEMORY + 9);
    unsigned access = fuzz_byte(&pair.in) % 64;
    uint32_t pd = some(card, card->pd), key = 0;
    bool constant = at + bytes > FUZZ_WRITABLE;
    bool fits = at + bytes <= FUZZ_MEMORY, phantom = (fuzz_byte(&pair.in) & 3) == 0;
    const unsigned reading = RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_MW_BIND;
    void *host = fits && !phantom ? card->memory + FUZZ_GUARD + at : NULL;
    int err;

    FED(card, err,
        rnic_reg_mr(card->dev, pd, FUZZ_VA + at, bytes, host, constant ? access & reading : access,
                    &key, pair.now_ps));
    remember(card, card->key, KIND_KEY, err, key);
}

static void make_pages(struct fuzz_card *card)
{
    void *pages[16];
    uint32_t n = fuzz_byte(&pair.in) % 9, pd = some(card, card->pd), key = 0;
    uint64_t va = FUZZ_VA + fuzz_u32(&pair.in) % 5000, bytes = fuzz_u32(&pair.in) % 33000;
    uint32_t page_bytes = fuzz_byte(&pair.in) & 7 ? 4096 : fuzz_u32(&pair.in);
    unsigned access = fuzz_byte(&pair.in) % 32;
    int err;

    if (fuzz_byte(&pair.in) & 3) /* mostly as many as it needs */
        n = bytes == 0 ? 1 : (uint32_t)((va % 4096 + bytes - 1) / 4096 + 1);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t page = fuzz_byte(&pair.in);

        pages[i] = page & 0x80
                       ? NULL
                       : card->memory + FUZZ_GUARD + 4096u * (page % (FUZZ_WRITABLE / 4096));
    }
    if (page_bytes > 4096)
        n = 0; /* the pages we have are no larger */
    FED(card, err,
        rnic_reg_mr_pages(card->dev, pd, va, bytes, page_bytes, pages, n, access, &key,
                          pair.now_ps));
    remember(card, card->key, KIND_KEY, err, key);
}

static void make_qp(struct fuzz_card *card)
{
    struct rnic_qp_init_attr init = {
        .type = (enum rnic_qp_type)(fuzz_byte(&pair.in) % 4),
        .pd = some(card, card->pd),
        .send_cq = some(card, card->cq),
        .recv_cq = some(card, card->cq),
        .max_send_wr = fuzz_byte(&pair.in) % 40,
        .max_recv_wr = fuzz_byte(&pair.in) % 40,
        .max_send_sge = fuzz_byte(&pair.in) % 6,
        .max_recv_sge = fuzz_byte(&pair.in) % 6,
        .max_inline_data = fuzz_byte(&pair.in) * 4u,
        .srq = fuzz_byte(&pair.in) & 1 ? some(card, card->srq) : 0,
        .sq_sig_all = fuzz_byte(&pair.in) & 1,
        .e2e_credits = fuzz_byte(&pair.in) & 1,
        .recovery = (enum rnic_recovery)(fuzz_byte(&pair.in) % 4),
        .window_bytes = fuzz_byte(&pair.in) * 512u,
    };
    uint32_t qpn = 0;
    int err;

    FED(card, err, rnic_create_qp(card->dev, &init, &qpn, pair.now_ps));
    remember(card, card->qp, KIND_QP, err, qpn);
}

/* A pair of connected ones of any kind, so that the rest has something to work on. */
static void make_connection(void)
{
    struct rnic_qp_init_attr init = {
        .type = (enum rnic_qp_type)(fuzz_byte(&pair.in) % 3),
        .send_cq = (fuzz_byte(&pair.in) & 7) == 7 ? 2 : 0, /* that one overflows soon */
        .recv_cq = (fuzz_byte(&pair.in) & 7) == 7 ? 2 : 1,
        .max_send_wr = 1 + fuzz_byte(&pair.in) % 32u,
        .max_recv_wr = 1 + fuzz_byte(&pair.in) % 32u,
        .max_send_sge = 4,
        .max_recv_sge = 4,
        .max_inline_data = 512,
        .srq = fuzz_byte(&pair.in) & 1,
        .sq_sig_all = fuzz_byte(&pair.in) & 1,
        .recovery = (enum rnic_recovery)(fuzz_byte(&pair.in) % 3),
    };

    if (init.recovery == RNIC_RECOVER_SELECTIVE)
        init.window_bytes = 1024u * (1 + fuzz_byte(&pair.in) % 16);
    else if (init.recovery == RNIC_RECOVER_GO_BACK_N)
        init.e2e_credits = fuzz_byte(&pair.in) & 1;
    (void)fuzz_connect(&pair, &init);
}

/* Attributes that go together, one more or less, or any. */
static unsigned draw_mask(void)
{
    static const unsigned masks[] = {
        0,
        RNIC_QP_EN_SQD_ASYNC_NOTIFY,
        RNIC_QP_ACCESS_FLAGS | RNIC_QP_CUR_STATE,
        RNIC_QP_RATE_LIMIT,
        RNIC_QP_MIN_RNR_TIMER,
        RNIC_QP_TIMEOUT | RNIC_QP_RETRY_CNT | RNIC_QP_RNR_RETRY,
        RNIC_QP_MAX_QP_RD_ATOMIC | RNIC_QP_MAX_DEST_RD_ATOMIC,
        RNIC_QP_AV,
        RNIC_QP_QKEY,
        RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_ACCESS_FLAGS,
        RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_QKEY,
        RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN |
            RNIC_QP_MAX_DEST_RD_ATOMIC | RNIC_QP_MIN_RNR_TIMER,
        RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN,
        RNIC_QP_SQ_PSN | RNIC_QP_MAX_QP_RD_ATOMIC | RNIC_QP_RETRY_CNT | RNIC_QP_RNR_RETRY |
            RNIC_QP_TIMEOUT,
        RNIC_QP_SQ_PSN};
    uint8_t which = fuzz_byte(&pair.in), other = fuzz_byte(&pair.in);

    if (which >= 0xE0)
        return fuzz_u32(&pair.in);
    return masks[which % (sizeof masks / sizeof masks[0])] ^ RNIC_QP_STATE ^
           (other >= 1 && other < 26 ? 1u << other : 0u);
}

/* Anything; and when it is refused, what can be asked for is as before. */
static void modify_qp(struct fuzz_card *card)
{
    uint32_t qpn = some(card, card->qp), r = fuzz_u32(&pair.in);
    struct rnic_qp_attr before, after,
        attr = {.qp_state = (enum rnic_qp_state)(fuzz_byte(&pair.in) % 8),
                .cur_qp_state = (enum rnic_qp_state)(fuzz_byte(&pair.in) % 8),
                .en_sqd_async_notify = r & 1,
                .qp_access_flags = r >> 1 & 15,
                .port_num = 1,
                .av = {.dest_station = 10 + (r >> 5 & 1), .next_hop = 10, .hop_limit = r >> 6 & 1},
                .path_mtu_bytes = 128u << (r >> 8 & 7),
                .dest_qp_num = r >> 12 & 7,
                .rq_psn = {r & 0x1FFFFFF},
                .sq_psn = {r >> 4 & 0x1FFFFFF},
                .timeout = r >> 16 & 63,
                .retry_cnt = r >> 20 & 15,
                .rnr_retry = r >> 21 & 15,
                .min_rnr_timer = r >> 22 & 63,
                .max_rd_atomic = r >> 24 & 31,
                .max_dest_rd_atomic = r >> 25 & 31,
                .rate_limit_bps = r >> 27};
    unsigned mask = draw_mask();
    int err, there = rnic_query_qp(card->dev, qpn, &before, NULL);

    FED(card, err, rnic_modify_qp(card->dev, qpn, &attr, mask, pair.now_ps));
    fuzz_require(known(err), "no such error");
    fuzz_require((there == 0) == (err != RNIC_ERR_NOENT), "there or not there");
    if (there == 0 && err < 0) {
        (void)rnic_query_qp(card->dev, qpn, &after, NULL);
        fuzz_require(memcmp(&before, &after, sizeof before) == 0, "a refusal changed it");
    }
    if (err == 0)
        card->books[qpn % FUZZ_QPNS].tame = false;
    if (err == 0 && (mask & RNIC_QP_STATE) && attr.qp_state == RNIC_QPS_RESET)
        card->books[qpn % FUZZ_QPNS].counted = false;
}

static void destroy_qp(struct fuzz_card *card)
{
    uint32_t qpn = some(card, card->qp);

    fuzz_require(known(rnic_destroy_qp(card->dev, qpn, pair.now_ps)), "no such error");
    card->books[qpn % FUZZ_QPNS].counted = false;
}

static void make(struct fuzz_card *card)
{
    struct rnic_av av = {.dest_station = fuzz_byte(&pair.in) % 20,
                         .next_hop = 11,
                         .hop_limit = fuzz_byte(&pair.in),
                         .ipv6 = fuzz_byte(&pair.in) & 1,
                         .roce_v1 = fuzz_byte(&pair.in) & 1};
    struct rnic_srq_attr srq = {.max_wr = fuzz_byte(&pair.in) % 40,
                                .max_sge = fuzz_byte(&pair.in) % 6,
                                .limit = fuzz_byte(&pair.in) % 40};
    uint32_t number = 0, pd = some(card, card->pd);
    int err;

    switch (fuzz_byte(&pair.in) % 5) {
    case 0:
        FED(card, err, rnic_alloc_pd(card->dev, &number, pair.now_ps));
        remember(card, card->pd, KIND_PD, err, number);
        break;
    case 1:
        FED(card, err, rnic_create_cq(card->dev, fuzz_byte(&pair.in) % 80, &number, pair.now_ps));
        remember(card, card->cq, KIND_CQ, err, number);
        break;
    case 2:
        FED(card, err, rnic_alloc_mw(card->dev, pd, &number, pair.now_ps));
        remember(card, card->mw, KIND_MW, err, number);
        break;
    case 3:
        FED(card, err, rnic_create_ah(card->dev, pd, &av, &number, pair.now_ps));
        remember(card, card->ah, KIND_AH, err, number);
        break;
    default:
        FED(card, err, rnic_create_srq(card->dev, pd, &srq, &number, pair.now_ps));
        remember(card, card->srq, KIND_SRQ, err, number);
        break;
    }
}

static void unmake(struct fuzz_card *card)
{
    int err;

    switch (fuzz_byte(&pair.in) % 6) {
    case 0:
        err = rnic_dealloc_pd(card->dev, some(card, card->pd), pair.now_ps);
        break;
    case 1:
        err = rnic_destroy_cq(card->dev, some(card, card->cq), pair.now_ps);
        break;
    case 2:
        err = rnic_dealloc_mw(card->dev, some(card, card->mw), pair.now_ps);
        break;
    case 3:
        err = rnic_destroy_ah(card->dev, some(card, card->ah), pair.now_ps);
        break;
    case 4:
        err = rnic_dereg_mr(card->dev, some(card, card->key), pair.now_ps);
        break;
    default:
        err = rnic_destroy_srq(card->dev, some(card, card->srq), pair.now_ps);
        break;
    }
    fuzz_require(known(err), "no such error");
}

static void post_srq(struct fuzz_card *card)
{
    struct rnic_srq_attr attr;
    uint32_t srq = some(card, card->srq), queued;

    fuzz_post_srq(&pair, card, srq);
    fuzz_require(known(rnic_modify_srq(card->dev, srq, fuzz_byte(&pair.in) % 40, pair.now_ps)),
                 "no such error");
    if (rnic_query_srq(card->dev, srq, &attr, &queued) == 0)
        fuzz_require(queued <= attr.max_wr && attr.limit <= attr.max_wr, "more than it holds");
}

/* What changes nothing of the work: queries, trace records, other people's packets. */
static void aside(struct fuzz_card *card)
{
    uint32_t qpn = some(card, card->qp);
    struct rnic_qp_counters counters;
    struct rnic_qp_attr attr;
    uint64_t rate_bps;
    double alpha;
    uint8_t a = fuzz_byte(&pair.in);

    if (a < 0x20)
        rnic_trace_enable(card->dev, fuzz_u32(&pair.in));
    else if (a < 0xA0)
        fuzz_raw(&pair, card, a % 8, 64 + a);
    else if (rnic_query_qp(card->dev, qpn, &attr, &counters) == 0) {
        fuzz_require(counters.retransmitted_packets <= counters.tx_packets, "more than all");
        if (rnic_query_rate(card->dev, qpn, &rate_bps, &alpha, pair.now_ps) == 0)
            fuzz_require(alpha >= 0 && alpha <= 1, "no such share");
    }
}

static void step(struct fuzz_card *card)
{
    switch (fuzz_byte(&pair.in) % 16) {
    case 0:
        make(card);
        break;
    case 1:
        unmake(card);
        break;
    case 2:
        make_memory(card);
        break;
    case 3:
        make_pages(card);
        break;
    case 4:
        make_qp(card);
        break;
    case 5:
        make_connection();
        break;
    case 6:
        modify_qp(card);
        break;
    case 7:
        destroy_qp(card);
        break;
    case 8:
        post_srq(card);
        break;
    case 9:
        fuzz_poll(&pair, card);
        fuzz_require(known(rnic_req_notify_cq(card->dev, some(card, card->cq),
                                              fuzz_byte(&pair.in) & 1, pair.now_ps)),
                     "no such error");
        break;
    case 10:
        pair.loss = fuzz_byte(&pair.in) / 2;
        pair.twist = fuzz_byte(&pair.in) / 2;
        pair.dice = fuzz_byte(&pair.in);
        pair.ready = 0xFF & ~(uint32_t)(fuzz_byte(&pair.in) & fuzz_byte(&pair.in));
        break;
    case 11:
        fuzz_post_recv(&pair, card, some(card, card->qp));
        break;
    case 12:
        fuzz_run(&pair, (uint64_t)1 << (fuzz_byte(&pair.in) % 34));
        break;
    case 15:
        aside(card);
        break;
    default:
        fuzz_post_send(&pair, card, some(card, card->qp));
        break;
    }
}

/* What every run begins with: a domain, two CQs, memory, a window of each card. */
static void begin(struct fuzz_card *card)
{
    const uint32_t other = card == &pair.cards[0] ? 11 : 10;
    const struct rnic_av av = {.dest_station = other, .next_hop = other, .hop_limit = 9};
    uint32_t number;
    int err;

    for (uint32_t i = 0; i < 2; i++) {
        FED(card, err, rnic_alloc_pd(card->dev, &card->pd[i], 0));
        FED(card, err, rnic_create_cq(card->dev, 64, &card->cq[i], 0));
        FED(card, err, rnic_create_ah(card->dev, card->pd[0], &av, &card->ah[i], 0));
        FED(card, err,
            rnic_reg_mr(card->dev, card->pd[0], FUZZ_VA, i == 0 ? FUZZ_WRITABLE : FUZZ_MEMORY,
                        card->memory + FUZZ_GUARD, i == 0 ? 31 : 20, &card->key[i], 0));
        FED(card, err, rnic_alloc_mw(card->dev, card->pd[0], &card->mw[i], 0));
        FED(card, err,
            rnic_create_srq(card->dev, card->pd[0],
                            &(struct rnic_srq_attr){.max_wr = 16, .max_sge = 4}, &number, 0));
        card->srq[i] = number;
    }
    FED(card, err, rnic_create_cq(card->dev, 4, &card->cq[2], 0));
    (void)err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_open(&pair, data, size > 1500 ? 1500 : size);
    for (uint32_t i = 0; i < 2; i++)
        begin(&pair.cards[i]);
    while (!fuzz_done(&pair.in))
        step(&pair.cards[fuzz_byte(&pair.in) & 1]);
    fuzz_close(&pair);
    return 0;
}
