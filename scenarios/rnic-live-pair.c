/* SPDX-License-Identifier: GPL-2.0-only */
/* rnic-live: queue pairs: create, connect, change state, query. */
#include "rnic-live.h"

#define DEFAULT_QKEY 0x11111111u

static const char *const state_names[] = {"reset", "init", "rtr", "rts", "sqd", "sqe", "err"};

static int modify(struct live *live, uint32_t qpn, const struct rnic_qp_attr *attr, unsigned mask)
{
    int error;

    LIVE_VERB(live, error, rnic_modify_qp(live->card.dev, qpn, attr, mask, live->now_ps));
    return error;
}

/* access= and qkey=; also ends the keys. */
static struct rnic_qp_attr init_of(struct live *live, struct live_words *words)
{
    return (struct rnic_qp_attr){
        .qp_state = RNIC_QPS_INIT,
        .port_num = 1,
        .qp_access_flags =
            live_object_access(live, words, "lwra") &
            (RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC),
        .qkey = live_words_number32(live, words, "qkey", DEFAULT_QKEY)};
}

static int to_init(struct live *live, const struct live_object *qp, const struct rnic_qp_attr *attr)
{
    return modify(live, qp->id, attr,
                  RNIC_QP_STATE | RNIC_QP_PKEY_INDEX | RNIC_QP_PORT |
                      (qp->type == RNIC_QPT_UD ? RNIC_QP_QKEY : RNIC_QP_ACCESS_FLAGS));
}

static enum rnic_qp_type type_of(struct live *live, struct live_words *words)
{
    static const char *const names[] = {"rc", "uc", "ud"};
    const char *text = live_words_text(words, "type");

    for (unsigned type = RNIC_QPT_RC; type <= RNIC_QPT_UD; type++)
        if (text != NULL && strcmp(text, names[type]) == 0)
            return (enum rnic_qp_type)type;
    live_error(live, words, "qp: type=%s: want rc, uc or ud", text != NULL ? text : "");
    return RNIC_QPT_RC;
}

/* Object of a key of its own; @p absent: the number when it is not given. */
static uint32_t id_of(struct live *live, struct live_words *words, enum live_kind kind,
                      const char *key, uint64_t absent)
{
    uint64_t number = live_words_number(live, words, key, absent, 0, UINT32_MAX);
    const struct live_object *object = live_object_at(live, words, kind, key, number);

    return object != NULL ? object->id : 0;
}

/* qp pd= type= scq= rcq= srq= swr= rwr= sge= inline= all= access= qkey= */
void live_pair_create(struct live *live, struct live_words *words)
{
    struct rnic_device *dev = live->card.dev;
    struct live_object *place = live_object_room(live, words, LIVE_QP), new = {0};
    uint64_t send_cq = live_words_number(live, words, "scq", 0, 0, UINT32_MAX);
    struct rnic_qp_init_attr init = {
        .type = type_of(live, words),
        .pd = id_of(live, words, LIVE_PD, "pd", 0),
        .send_cq = id_of(live, words, LIVE_CQ, "scq", send_cq),
        .recv_cq = id_of(live, words, LIVE_CQ, "rcq", send_cq),
        .srq = live_words_text(words, "srq") != NULL ? id_of(live, words, LIVE_SRQ, "srq", 0) : 0,
        .max_send_wr = live_words_number32(live, words, "swr", 128),
        .max_recv_wr = live_words_number32(live, words, "rwr", 128),
        .max_send_sge = live_words_number32(live, words, "sge", 1),
        .max_recv_sge = live_words_number32(live, words, "sge", 1),
        .max_inline_data = live_words_number32(live, words, "inline", 128),
        .sq_sig_all = live_words_number(live, words, "all", 0, 0, 1) != 0};
    struct rnic_qp_attr attr = init_of(live, words);
    int error;

    if (!live_words_done(live, words))
        return;
    new.type = init.type;
    LIVE_VERB(live, error, rnic_create_qp(dev, &init, &new.id, live->now_ps));
    if (live_refused(live, words, "rnic_create_qp", error))
        return;
    if (live_refused(live, words, "rnic_modify_qp to INIT", to_init(live, &new, &attr)))
    {
        (void)rnic_destroy_qp(dev, new.id, live->now_ps);
        return;
    }
    printf("qpn=0x%" PRIx32 "\n", new.id);
    live_object_keep(live, LIVE_QP, place, new);
}

static unsigned connect_mask(enum rnic_qp_type type, enum rnic_qp_state state)
{
    static const unsigned rtr[] = {
        [RNIC_QPT_RC] = RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN |
                        RNIC_QP_MAX_DEST_RD_ATOMIC | RNIC_QP_MIN_RNR_TIMER,
        [RNIC_QPT_UC] = RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN,
        [RNIC_QPT_UD] = 0};
    static const unsigned rts[] = {[RNIC_QPT_RC] = RNIC_QP_SQ_PSN | RNIC_QP_MAX_QP_RD_ATOMIC |
                                                   RNIC_QP_RETRY_CNT | RNIC_QP_RNR_RETRY |
                                                   RNIC_QP_TIMEOUT,
                                   [RNIC_QPT_UC] = RNIC_QP_SQ_PSN,
                                   [RNIC_QPT_UD] = RNIC_QP_SQ_PSN};

    return RNIC_QP_STATE | (state == RNIC_QPS_RTR ? rtr[type] : rts[type]);
}

/*
 * connect qp= dqpn= dgid= dmac= mtu= sq_psn= rq_psn= timeout= retry= rnr_retry= min_rnr=
 *    rd_atomic= dest_rd_atomic= tclass= hop= sport= rocev1= to=rtr|rts
 * UD needs qp= and sq_psn= only.
 */
void live_pair_connect(struct live *live, struct live_words *words)
{
    const struct live_object *qp = live_object_get(live, words, LIVE_QP);
    const char *to = live_words_text(words, "to");
    bool half = to != NULL && strcmp(to, "rtr") == 0;
    struct rnic_qp_attr attr = {
        .path_mtu_bytes = live_words_number32(live, words, "mtu", 1024),
        .dest_qp_num = live_words_number32(live, words, "dqpn", 0),
        .rq_psn = {live_words_number32(live, words, "rq_psn", 0)},
        .sq_psn = {live_words_number32(live, words, "sq_psn", 0)},
        .timeout = (uint8_t)live_words_number(live, words, "timeout", 18, 0, 255),
        .retry_cnt = (uint8_t)live_words_number(live, words, "retry", 7, 0, 255),
        .rnr_retry = (uint8_t)live_words_number(live, words, "rnr_retry", 7, 0, 255),
        .min_rnr_timer = (uint8_t)live_words_number(live, words, "min_rnr", 12, 0, 255),
        .max_rd_atomic = (uint8_t)live_words_number(live, words, "rd_atomic", 16, 0, 255),
        .max_dest_rd_atomic =
            (uint8_t)live_words_number(live, words, "dest_rd_atomic", 16, 0, 255)};

    if (to != NULL && !half && strcmp(to, "rts") != 0)
        live_error(live, words, "connect: to=%s: want rtr or rts", to);
    if (qp != NULL && qp->type != RNIC_QPT_UD)
        attr.av = live_object_path(live, words);
    if (!live_words_done(live, words))
        return;
    attr.qp_state = RNIC_QPS_RTR;
    if (live_refused(live, words, "rnic_modify_qp to RTR",
                     modify(live, qp->id, &attr, connect_mask(qp->type, RNIC_QPS_RTR))) ||
        half)
        return;
    attr.qp_state = RNIC_QPS_RTS;
    (void)live_refused(live, words, "rnic_modify_qp to RTS",
                       modify(live, qp->id, &attr, connect_mask(qp->type, RNIC_QPS_RTS)));
}

/* modify qp= to=reset|init|rts|sqd|err (init: also access= qkey=) */
void live_pair_modify(struct live *live, struct live_words *words)
{
    const struct live_object *qp = live_object_get(live, words, LIVE_QP);
    const char *to = live_words_text(words, "to");
    struct rnic_qp_attr attr = {.qp_state = RNIC_QPS_RESET};

    if (to != NULL && strcmp(to, "init") == 0)
    {
        attr = init_of(live, words);
        if (live_words_done(live, words))
            (void)live_refused(live, words, "rnic_modify_qp", to_init(live, qp, &attr));
        return;
    }
    while (attr.qp_state <= RNIC_QPS_ERR &&
           (to == NULL || strcmp(state_names[attr.qp_state], to) != 0))
        attr.qp_state++;
    if (attr.qp_state > RNIC_QPS_ERR || attr.qp_state == RNIC_QPS_RTR ||
        attr.qp_state == RNIC_QPS_SQE)
        live_error(live, words, "modify: to=%s: want reset, init, rts, sqd or err",
                   to != NULL ? to : "");
    if (live_words_done(live, words))
        (void)live_refused(live, words, "rnic_modify_qp",
                           modify(live, qp->id, &attr, RNIC_QP_STATE));
}

/* query qp=: state, what it was connected with, its counters since RESET */
void live_pair_query(struct live *live, struct live_words *words)
{
    const struct live_object *qp = live_object_get(live, words, LIVE_QP);
    struct rnic_qp_counters c;
    struct rnic_qp_attr attr;

    if (!live_words_done(live, words) ||
        live_refused(live, words, "rnic_query_qp",
                     rnic_query_qp(live->card.dev, qp->id, &attr, &c)))
        return;
    printf("state=%s sq_psn=0x%" PRIx32 " rq_psn=0x%" PRIx32 " dqpn=0x%" PRIx32 " mtu=%" PRIu32
           " rd_atomic=%u\n",
           state_names[attr.qp_state], attr.sq_psn.v, attr.rq_psn.v, attr.dest_qp_num,
           attr.path_mtu_bytes, attr.max_rd_atomic);
    printf("tx=%" PRIu64 " retransmitted=%" PRIu64 " timeouts=%" PRIu64 " acks_rx=%" PRIu64
           " naks_rx=%" PRIu64 " rnr_naks_rx=%" PRIu64 " responses_rx=%" PRIu64 "\n",
           c.tx_packets, c.retransmitted_packets, c.timeouts, c.acks_rx, c.naks_rx, c.rnr_naks_rx,
           c.rx_responses);
    printf("rx=%" PRIu64 " acks_tx=%" PRIu64 " naks_tx=%" PRIu64 " rnr_naks_tx=%" PRIu64 "\n",
           c.rx_packets, c.acks_tx, c.naks_tx, c.rnr_naks_tx);
}
