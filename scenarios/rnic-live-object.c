/* SPDX-License-Identifier: GPL-2.0-only */
/* rnic-live: commands that make, change and end objects, and look into memory. */
#include "rnic-live.h"

#include <strings.h>

#define MAX_REGION 0x40000000u /* bytes */
#define MAX_PEEK 4096u
#define QUEUE_WRS 256u
#define QUEUE_SGES 4u
#define INLINE_BYTES 400u
#define ANSWER_PS (3000 * (uint64_t)LIVE_MS_PS) /* until an address counts as not there */
#define ASK_PS (300 * (uint64_t)LIVE_MS_PS)     /* until it is asked for again */
#define ANY32 0xFFFFFFFFu

/* ---- lookups ---- */

static unsigned access_of(struct live *live, struct live_words *words, const char *absent)
{
    static const char letters[] = "lwrab";
    static const unsigned flags[] = {
        RNIC_ACCESS_LOCAL_WRITE, RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE,
        RNIC_ACCESS_REMOTE_READ, RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_ATOMIC,
        RNIC_ACCESS_MW_BIND};
    const char *text = live_words_text(words, "access");
    unsigned access = 0;

    for (const char *at = text != NULL ? text : absent; *at != '\0'; at++)
    {
        const char *found = strchr(letters, *at);

        if (found == NULL)
            live_error(live, words,
                       "%s: access= has the letters l (local write), w, r, a (remote), "
                       "b (windows)",
                       words->name);
        else
            access |= flags[found - letters];
    }
    return access;
}

uint32_t live_object_qpn(struct live *live, struct live_words *words, struct live_qp **qp)
{
    uint64_t number = live_words_needed(live, words, "qp", 0, LIVE_OBJECTS - 1);

    if (words->bad)
        return 0;
    *qp = &live->card.qps[number];
    if ((*qp)->qpn == 0)
        live_error(live, words, "%s: there is no qp=%" PRIu64, words->name, number);
    return (*qp)->qpn;
}

struct live_region *live_object_range(struct live *live, struct live_words *words, uint64_t *off,
                                      uint64_t *len, uint64_t count, uint64_t stride)
{
    uint64_t number = live_words_needed(live, words, "mr", 0, LIVE_OBJECTS - 1);
    struct live_region *mr = words->bad ? NULL : &live->card.mrs[number];

    if (mr == NULL)
        return NULL;
    if (mr->bytes == NULL)
    {
        live_error(live, words, "%s: there is no mr=%" PRIu64, words->name, number);
        return NULL;
    }
    *off = live_words_number(live, words, "off", 0, 0, mr->length);
    *len = live_words_number(live, words, "len", mr->length - *off, 0, MAX_REGION);
    if (!words->bad && (*off > mr->length || *len > mr->length - *off ||
                        (count - 1) * stride > mr->length - *off - *len))
        live_error(live, words,
                   "%s: off=%" PRIu64 " len=%" PRIu64 " is not inside the %" PRIu64
                   " bytes of mr=%" PRIu64,
                   words->name, *off, *len, mr->length, number);
    return words->bad ? NULL : mr;
}

/* Station of ip=, which mac= or the line places. */
static uint32_t resolve(struct live *live, struct live_words *words, uint8_t gid[16])
{
    const char *ip = live_words_text(words, "ip"), *text = live_words_text(words, "mac");
    uint8_t mac[6] = {0};
    uint64_t end_ps, ask_ps = 0;
    uint32_t station;

    if (ip == NULL)
        live_error(live, words, "%s: ip= is missing", words->name);
    else if (!live_address_gid(ip, gid))
        live_error(live, words, "%s: ip=%s is not the address of a host", words->name, ip);
    if (text != NULL && !live_address_mac(text, mac))
        live_error(live, words, "%s: mac=%s is not the address of a host", words->name, text);
    if (!live_words_done(live, words))
        return WIRE_STATION_NONE;
    station = text != NULL ? live_book_learn(live, gid, mac) : live_book_find(live, gid);
    if (station == WIRE_STATION_NONE && text != NULL)
        live_error(live, words, "%s: ip=%s: ours, or more than %u addresses", words->name, ip,
                   LIVE_PEERS);
    live_tick(live);
    end_ps = live->now_ps + ANSWER_PS;
    while (!words->bad && station == WIRE_STATION_NONE && live->now_ps < end_ps && !live->stopped)
    {
        if (live->now_ps >= ask_ps)
        {
            live_address_ask(live, gid);
            ask_ps = live->now_ps + ASK_PS;
        }
        live_turn(live, wire_min_ps(ask_ps, end_ps), -1);
        station = live_book_find(live, gid);
    }
    if (station == WIRE_STATION_NONE)
        live_error(live, words, "%s: nobody answers for ip=%s", words->name, ip);
    return station;
}

static struct rnic_av vector_of(struct live *live, struct live_words *words)
{
    struct rnic_av av = {
        .traffic_class = (uint8_t)live_words_number(live, words, "tclass", 0, 0, 255),
        .hop_limit = (uint8_t)live_words_number(live, words, "hops", 64, 1, 255),
        .udp_sport = (uint16_t)live_words_number(live, words, "sport", 0, 0, 65535),
        .roce_v1 = live_words_number(live, words, "rocev1", 0, 0, 1) != 0,
    };
    uint8_t gid[16];
    uint32_t station = words->bad ? WIRE_STATION_NONE : resolve(live, words, gid);

    if (station != WIRE_STATION_NONE)
    {
        av.dest_station = av.next_hop = station;
        av.ipv6 = !av.roce_v1 && !live_address_is_ipv4(gid);
    }
    return av;
}

/* ---- regions ---- */

void live_object_mr(struct live *live, struct live_words *words)
{
    struct live_card *card = &live->card;
    uint64_t length = live_words_needed(live, words, "len", 1, MAX_REGION);
    uint32_t number = card->n_mrs;
    struct live_region mr = {
        .length = length,
        .va = live_words_number(live, words, "va", (uint64_t)(number + 1) << 32, 0, UINT64_MAX)};
    unsigned access = access_of(live, words, "wra");
    int error;

    if (!live_words_done(live, words))
        return;
    if (number == LIVE_OBJECTS)
    {
        live_error(live, words, "mr: at most %u", LIVE_OBJECTS);
        return;
    }
    mr.bytes = live_need(calloc(1, mr.length));
    LIVE_VERB(live, error,
              rnic_reg_mr(card->dev, card->pd, mr.va, mr.length, mr.bytes, access, &mr.key,
                          live->now_ps));
    if (live_refused(live, words, "rnic_reg_mr", error))
    {
        free(mr.bytes);
        return;
    }
    card->mrs[card->n_mrs++] = mr;
    printf("ok mr=%" PRIu32 " addr=0x%" PRIx64 " len=%" PRIu64 " rkey=0x%" PRIx32 "\n", number,
           mr.va, mr.length, mr.key);
}

/* The bytes stay, so that they can be looked at. */
void live_object_dereg(struct live *live, struct live_words *words)
{
    uint64_t off, len;
    struct live_region *mr = live_object_range(live, words, &off, &len, 1, 0);
    int error;

    if (!live_words_done(live, words))
        return;
    LIVE_VERB(live, error, rnic_dereg_mr(live->card.dev, mr->key, live->now_ps));
    if (!live_refused(live, words, "rnic_dereg_mr", error))
        puts("ok");
}

void live_object_mw(struct live *live, struct live_words *words)
{
    uint32_t key;
    int error;

    if (!live_words_done(live, words))
        return;
    LIVE_VERB(live, error, rnic_alloc_mw(live->card.dev, live->card.pd, &key, live->now_ps));
    if (!live_refused(live, words, "rnic_alloc_mw", error))
        printf("ok mw=0x%" PRIx32 "\n", key);
}

/* ---- memory ---- */

void live_object_fill(struct live *live, struct live_words *words)
{
    struct wire_rng rng = {live_words_number(live, words, "seed", 0, 0, UINT64_MAX)};
    uint64_t off, len;
    struct live_region *mr = live_object_range(live, words, &off, &len, 1, 0);

    if (!live_words_done(live, words))
        return;
    for (uint64_t at = 0, value = 0; at < len; at++, value >>= 8)
    {
        if (at % 8 == 0)
            value = wire_rng_next(&rng);
        mr->bytes[off + at] = (uint8_t)value;
    }
    puts("ok");
}

void live_object_hash(struct live *live, struct live_words *words)
{
    uint64_t off, len, hash = 0xCBF29CE484222325u; /* FNV-1a */
    struct live_region *mr = live_object_range(live, words, &off, &len, 1, 0);

    if (!live_words_done(live, words))
        return;
    for (uint64_t at = 0; at < len; at++)
        hash = (hash ^ mr->bytes[off + at]) * 0x100000001B3u;
    printf("ok hash=0x%016" PRIx64 " len=%" PRIu64 "\n", hash, len);
}

void live_object_peek(struct live *live, struct live_words *words)
{
    uint64_t off, len;
    struct live_region *mr = live_object_range(live, words, &off, &len, 1, 0);

    if (!live_words_done(live, words))
        return;
    if (len > MAX_PEEK)
    {
        live_error(live, words, "peek: len= is at most %u; hash takes any", MAX_PEEK);
        return;
    }
    fputs("ok hex=", stdout);
    for (uint64_t at = 0; at < len; at++)
        printf("%02x", mr->bytes[off + at]);
    putchar('\n');
}

void live_object_poke(struct live *live, struct live_words *words)
{
    const char *hex = live_words_text(words, "hex");
    size_t digits = hex != NULL ? strspn(hex, "0123456789abcdefABCDEF") : 0;
    uint64_t off, len;
    struct live_region *mr = live_object_range(live, words, &off, &len, 1, 0);

    if (!live_words_done(live, words))
        return;
    if (hex == NULL || digits == 0 || digits % 2 != 0 || hex[digits] != '\0' || digits / 2 > len)
    {
        live_error(live, words, "poke: hex= wants two digits a byte, at most %" PRIu64 " bytes",
                   len);
        return;
    }
    for (size_t i = 0; i < digits / 2; i++)
    {
        unsigned value;

        (void)sscanf(hex + 2 * i, "%2x", &value);
        mr->bytes[off + i] = (uint8_t)value;
    }
    puts("ok");
}

/* ---- queue pairs ---- */

static enum rnic_qp_type type_of(struct live *live, struct live_words *words)
{
    static const char *const names[] = {"rc", "uc", "ud"};
    const char *text = live_words_text(words, "type");

    for (unsigned type = RNIC_QPT_RC; type <= RNIC_QPT_UD; type++)
        if (strcmp(text != NULL ? text : "rc", names[type]) == 0)
            return (enum rnic_qp_type)type;
    live_error(live, words, "qp: type=%s: types are rc, uc, ud", text);
    return RNIC_QPT_RC;
}

/* A new one is in INIT at once. */
static int to_init(struct live *live, const struct live_qp *qp, unsigned access, uint32_t qkey)
{
    struct rnic_qp_attr attr = {
        .qp_state = RNIC_QPS_INIT, .port_num = 1, .qp_access_flags = access, .qkey = qkey};
    unsigned mask = RNIC_QP_STATE | RNIC_QP_PKEY_INDEX | RNIC_QP_PORT |
                    (qp->type == RNIC_QPT_UD ? RNIC_QP_QKEY : RNIC_QP_ACCESS_FLAGS);
    int error;

    LIVE_VERB(live, error, rnic_modify_qp(live->card.dev, qp->qpn, &attr, mask, live->now_ps));
    return error;
}

void live_object_qp(struct live *live, struct live_words *words)
{
    struct live_card *card = &live->card;
    struct live_qp qp = {.type = type_of(live, words)};
    struct rnic_qp_init_attr init = {
        .type = qp.type,
        .pd = card->pd,
        .send_cq = card->cq,
        .recv_cq = card->cq,
        .max_send_wr = (uint32_t)live_words_number(live, words, "send_wr", QUEUE_WRS, 1, ANY32),
        .max_recv_wr = (uint32_t)live_words_number(live, words, "recv_wr", QUEUE_WRS, 1, ANY32),
        .max_send_sge = QUEUE_SGES,
        .max_recv_sge = QUEUE_SGES,
        .max_inline_data =
            (uint32_t)live_words_number(live, words, "inline", INLINE_BYTES, 0, ANY32)};
    uint32_t qkey = (uint32_t)live_words_number(live, words, "qkey", 0x11111111, 0, ANY32);
    unsigned access =
        access_of(live, words, "wra") & ~(unsigned)(RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_MW_BIND);
    uint32_t number = 0;
    int error;

    if (!live_words_done(live, words))
        return;
    while (number < LIVE_OBJECTS && card->qps[number].qpn != 0)
        number++;
    if (number == LIVE_OBJECTS)
    {
        live_error(live, words, "qp: at most %u", LIVE_OBJECTS);
        return;
    }
    LIVE_VERB(live, error, rnic_create_qp(card->dev, &init, &qp.qpn, live->now_ps));
    if (live_refused(live, words, "rnic_create_qp", error) ||
        live_refused(live, words, "rnic_modify_qp to INIT", to_init(live, &qp, access, qkey)))
        return;
    card->qps[number] = qp;
    printf("ok qp=%" PRIu32 " qpn=0x%" PRIx32 "\n", number, qp.qpn);
}

static unsigned connect_mask(enum rnic_qp_type type, enum rnic_qp_state state)
{
    static const unsigned rtr[] = {
        [RNIC_QPT_RC] = RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN |
                        RNIC_QP_MAX_DEST_RD_ATOMIC | RNIC_QP_MIN_RNR_TIMER,
        [RNIC_QPT_UC] = RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN};
    static const unsigned rts[] = {[RNIC_QPT_RC] = RNIC_QP_SQ_PSN | RNIC_QP_MAX_QP_RD_ATOMIC |
                                                   RNIC_QP_RETRY_CNT | RNIC_QP_RNR_RETRY |
                                                   RNIC_QP_TIMEOUT,
                                   [RNIC_QPT_UC] = RNIC_QP_SQ_PSN,
                                   [RNIC_QPT_UD] = RNIC_QP_SQ_PSN};

    if (state == RNIC_QPS_RTR)
        return RNIC_QP_STATE | (type == RNIC_QPT_UD ? 0 : rtr[type]);
    return RNIC_QP_STATE | rts[type];
}

void live_object_connect(struct live *live, struct live_words *words)
{
    struct live_qp *qp = NULL;
    uint32_t qpn = live_object_qpn(live, words, &qp);
    struct rnic_qp_attr attr = {
        .path_mtu_bytes = (uint32_t)live_words_number(live, words, "mtu", 1024, 256, 4096),
        .rq_psn = {(uint32_t)live_words_number(live, words, "rq_psn", 0, 0, WIRE_PSN_MASK)},
        .sq_psn = {(uint32_t)live_words_number(live, words, "sq_psn", 0, 0, WIRE_PSN_MASK)},
        .timeout = (uint8_t)live_words_number(live, words, "timeout", 18, 0, 31),
        .retry_cnt = (uint8_t)live_words_number(live, words, "retry", 7, 0, 7),
        .rnr_retry = (uint8_t)live_words_number(live, words, "rnr_retry", 7, 0, 7),
        .min_rnr_timer = (uint8_t)live_words_number(live, words, "min_rnr", 12, 0, 31),
    };
    int error = 0;

    attr.max_rd_atomic = attr.max_dest_rd_atomic =
        (uint8_t)live_words_number(live, words, "rd_atomic", 16, 0, 128);
    if (words->bad)
        return;
    if (qp->type != RNIC_QPT_UD)
    {
        attr.dest_qp_num = (uint32_t)live_words_needed(live, words, "dqpn", 0, WIRE_PSN_MASK);
        attr.av = vector_of(live, words);
    }
    if (!live_words_done(live, words))
        return;
    for (unsigned state = RNIC_QPS_RTR; state <= RNIC_QPS_RTS && error == 0; state++)
    {
        attr.qp_state = (enum rnic_qp_state)state;
        LIVE_VERB(live, error,
                  rnic_modify_qp(live->card.dev, qpn, &attr, connect_mask(qp->type, attr.qp_state),
                                 live->now_ps));
    }
    if (!live_refused(live, words, "rnic_modify_qp", error))
        puts("ok");
}

static const char *const state_names[] = {"reset", "init", "rtr", "rts", "sqd", "sqe", "err"};

void live_object_modify(struct live *live, struct live_words *words)
{
    struct live_qp *qp = NULL;
    uint32_t qpn = live_object_qpn(live, words, &qp);
    const char *to = live_words_text(words, "to");
    struct rnic_qp_attr attr = {.qp_state = RNIC_QPS_RESET, .port_num = 1};
    int error;

    while (attr.qp_state <= RNIC_QPS_ERR && to != NULL &&
           strcmp(state_names[attr.qp_state], to) != 0)
        attr.qp_state++;
    if (to == NULL || attr.qp_state > RNIC_QPS_ERR || attr.qp_state == RNIC_QPS_RTR ||
        attr.qp_state == RNIC_QPS_SQE)
        live_error(live, words, "modify: to= is reset, init, rts, sqd or err");
    if (to != NULL && strcmp(to, "init") == 0)
    {
        unsigned access = access_of(live, words, "wra") & ~(unsigned)RNIC_ACCESS_LOCAL_WRITE;
        uint32_t qkey = (uint32_t)live_words_number(live, words, "qkey", 0x11111111, 0, ANY32);

        if (!live_words_done(live, words))
            return;
        error = to_init(live, qp, access, qkey);
    }
    else
    {
        if (!live_words_done(live, words))
            return;
        LIVE_VERB(live, error,
                  rnic_modify_qp(live->card.dev, qpn, &attr, RNIC_QP_STATE, live->now_ps));
    }
    if (!live_refused(live, words, "rnic_modify_qp", error))
        puts("ok");
}

void live_object_query(struct live *live, struct live_words *words)
{
    struct live_qp *qp = NULL;
    uint32_t qpn = live_object_qpn(live, words, &qp);
    struct rnic_qp_counters c;
    struct rnic_qp_attr attr;

    if (!live_words_done(live, words) ||
        live_refused(live, words, "rnic_query_qp", rnic_query_qp(live->card.dev, qpn, &attr, &c)))
        return;
    printf("ok state=%s qpn=0x%" PRIx32 " dqpn=0x%" PRIx32 " sq_psn=%" PRIu32 " rq_psn=%" PRIu32
           " tx=%" PRIu64 " retransmitted=%" PRIu64 " rx=%" PRIu64 " responses=%" PRIu64
           " acks_tx=%" PRIu64 " naks_tx=%" PRIu64 " rnr_tx=%" PRIu64 " acks_rx=%" PRIu64
           " naks_rx=%" PRIu64 " rnr_rx=%" PRIu64 " timeouts=%" PRIu64 "\n",
           state_names[attr.qp_state], qpn, attr.dest_qp_num, attr.sq_psn.v, attr.rq_psn.v,
           c.tx_packets, c.retransmitted_packets, c.rx_packets, c.rx_responses, c.acks_tx,
           c.naks_tx, c.rnr_naks_tx, c.acks_rx, c.naks_rx, c.rnr_naks_rx, c.timeouts);
}

void live_object_destroy(struct live *live, struct live_words *words)
{
    struct live_qp *qp = NULL;
    uint32_t qpn = live_object_qpn(live, words, &qp);
    int error;

    if (!live_words_done(live, words))
        return;
    LIVE_VERB(live, error, rnic_destroy_qp(live->card.dev, qpn, live->now_ps));
    if (live_refused(live, words, "rnic_destroy_qp", error))
        return;
    qp->qpn = 0;
    puts("ok");
}

void live_object_ah(struct live *live, struct live_words *words)
{
    struct live_card *card = &live->card;
    struct rnic_av av = vector_of(live, words);
    int error;

    if (words->bad)
        return;
    if (card->n_ahs == LIVE_OBJECTS)
    {
        live_error(live, words, "ah: at most %u", LIVE_OBJECTS);
        return;
    }
    LIVE_VERB(live, error,
              rnic_create_ah(card->dev, card->pd, &av, &card->ahs[card->n_ahs], live->now_ps));
    if (!live_refused(live, words, "rnic_create_ah", error))
        printf("ok ah=%" PRIu32 "\n", card->n_ahs++);
}
