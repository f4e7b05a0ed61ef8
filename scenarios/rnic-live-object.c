/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rnic-live: domains, completion and shared receive queues, regions, windows, address handles.
 * Objects are named by small numbers, each kind from 0; pd=0 and cq=0 are there from the start.
 */
#include "rnic-live.h"

#define MAX_REGION 0x40000000u                  /* bytes */
#define ANSWER_PS (3000 * (uint64_t)LIVE_MS_PS) /* until an address counts as not there */
#define ASK_PS (300 * (uint64_t)LIVE_MS_PS)     /* until it is asked for again */
#define CQ_ENTRIES 16384u

static const char *const kind_names[LIVE_KINDS] = {"qp", "ah", "mw", "mr", "srq", "cq", "pd"};

/* ---- the table ---- */

struct live_object *live_object_at(struct live *live, struct live_words *words, enum live_kind kind,
                                   const char *key, uint64_t number)
{
    struct live_object *object = number < LIVE_OBJECTS ? &live->card.objects[kind][number] : NULL;

    if (object != NULL && object->used)
        return words->bad ? NULL : object;
    live_error(live, words, "%s: there is no %s=%" PRIu64, words->name, key, number);
    return NULL;
}

struct live_object *live_object_get(struct live *live, struct live_words *words,
                                    enum live_kind kind)
{
    return live_object_at(live, words, kind, kind_names[kind],
                          live_words_number(live, words, kind_names[kind], 0, 0, UINT32_MAX));
}

struct live_object *live_object_room(struct live *live, struct live_words *words,
                                     enum live_kind kind)
{
    for (uint32_t i = 0; i < LIVE_OBJECTS; i++)
        if (!live->card.objects[kind][i].used)
            return &live->card.objects[kind][i];
    live_failure(live, words, "%s: at most %u at a time", words->name, LIVE_OBJECTS);
    return NULL;
}

void live_object_keep(struct live *live, enum live_kind kind, struct live_object *place,
                      struct live_object object)
{
    *place = object;
    place->used = true;
    printf("%s=%td\n", kind_names[kind], place - live->card.objects[kind]);
}

unsigned live_object_access(struct live *live, struct live_words *words, const char *absent)
{
    static const char letters[] = "lwrab";
    static const unsigned flags[] = {RNIC_ACCESS_LOCAL_WRITE, RNIC_ACCESS_REMOTE_WRITE,
                                     RNIC_ACCESS_REMOTE_READ, RNIC_ACCESS_REMOTE_ATOMIC,
                                     RNIC_ACCESS_MW_BIND};
    const char *text = live_words_text(words, "access");
    unsigned access = 0;

    for (const char *at = text != NULL ? text : absent; *at != '\0'; at++)
    {
        const char *found = strchr(letters, *at);

        if (found != NULL)
            access |= flags[found - letters];
        else
            live_error(live, words,
                       "%s: access=%s: the letters are l (local write), w, r, a (remote write, "
                       "read, atomics), b (windows)",
                       words->name, text);
    }
    return access;
}

/* ---- paths ---- */

/* Wait until the line has told where an address is. */
static uint32_t ask(struct live *live, const uint8_t gid[16])
{
    uint32_t station = live_book_find(live, gid);
    uint64_t end_ps, ask_ps = 0;

    live_tick(live);
    end_ps = live->now_ps + ANSWER_PS;
    while (station == WIRE_STATION_NONE && live->now_ps < end_ps && !live->stopped)
    {
        if (live->now_ps >= ask_ps)
        {
            live_address_ask(live, gid);
            ask_ps = live->now_ps + ASK_PS;
        }
        live_turn(live, wire_min_ps(ask_ps, end_ps), -1);
        station = live_book_find(live, gid);
    }
    return station;
}

struct rnic_av live_object_path(struct live *live, struct live_words *words)
{
    struct rnic_av av = {
        .traffic_class = (uint8_t)live_words_number(live, words, "tclass", 0, 0, 255),
        .hop_limit = (uint8_t)live_words_number(live, words, "hop", 64, 1, 255),
        .udp_sport = (uint16_t)live_words_number(live, words, "sport", 0, 0, 65535),
        .roce_v1 = live_words_number(live, words, "rocev1", 0, 0, 1) != 0};
    const char *address = live_words_text(words, "dgid"), *at = live_words_text(words, "dmac");
    uint8_t gid[16], mac[6];

    if (address == NULL || !live_address_gid(address, gid))
        live_error(live, words, "%s: dgid=%s: want the IPv4 or IPv6 address of a host", words->name,
                   address != NULL ? address : "");
    if (at != NULL && !live_address_mac(at, mac))
        live_error(live, words, "%s: dmac=%s: want the MAC of a host", words->name, at);
    if (!live_words_done(live, words))
        return av;
    av.dest_station = at != NULL ? live_book_learn(live, gid, mac) : ask(live, gid);
    if (av.dest_station == WIRE_STATION_NONE && at != NULL)
        live_failure(live, words, "%s: dgid=%s: ours, or more than %u addresses", words->name,
                     address, LIVE_PEERS);
    else if (av.dest_station == WIRE_STATION_NONE)
        live_failure(live, words, "%s: dgid=%s: nobody there answers", words->name, address);
    av.next_hop = av.dest_station;
    av.ipv6 = !av.roce_v1 && !live_address_is_ipv4(gid);
    return av;
}

/* ---- making them ---- */

/* pd */
void live_object_pd(struct live *live, struct live_words *words)
{
    struct live_object *place = live_object_room(live, words, LIVE_PD), new = {0};
    int error;

    if (!live_words_done(live, words))
        return;
    LIVE_VERB(live, error, rnic_alloc_pd(live->card.dev, &new.id, live->now_ps));
    if (!live_refused(live, words, "rnic_alloc_pd", error))
        live_object_keep(live, LIVE_PD, place, new);
}

/* cq cqe= */
void live_object_cq(struct live *live, struct live_words *words)
{
    struct live_object *place = live_object_room(live, words, LIVE_CQ), new = {0};
    uint32_t entries = live_words_number32(live, words, "cqe", CQ_ENTRIES);
    int error;

    if (!live_words_done(live, words))
        return;
    LIVE_VERB(live, error, rnic_create_cq(live->card.dev, entries, &new.id, live->now_ps));
    if (!live_refused(live, words, "rnic_create_cq", error))
        live_object_keep(live, LIVE_CQ, place, new);
}

void live_object_open(struct live *live)
{
    struct live_card *card = &live->card;
    int error;

    LIVE_VERB(live, error, rnic_alloc_pd(card->dev, &card->objects[LIVE_PD][0].id, live->now_ps));
    if (error == 0)
        LIVE_VERB(
            live, error,
            rnic_create_cq(card->dev, CQ_ENTRIES, &card->objects[LIVE_CQ][0].id, live->now_ps));
    if (error != 0)
        live_die("the card: %s", rnic_err_name(error));
    card->objects[LIVE_PD][0].used = card->objects[LIVE_CQ][0].used = true;
}

/* srq pd= wr= sge= limit= */
void live_object_srq(struct live *live, struct live_words *words)
{
    struct live_object *place = live_object_room(live, words, LIVE_SRQ), new = {0};
    const struct live_object *pd = live_object_get(live, words, LIVE_PD);
    struct rnic_srq_attr attr = {.max_wr = live_words_number32(live, words, "wr", 128),
                                 .max_sge = live_words_number32(live, words, "sge", 1),
                                 .limit = live_words_number32(live, words, "limit", 0)};
    int error;

    if (!live_words_done(live, words))
        return;
    LIVE_VERB(live, error, rnic_create_srq(live->card.dev, pd->id, &attr, &new.id, live->now_ps));
    if (!live_refused(live, words, "rnic_create_srq", error))
        live_object_keep(live, LIVE_SRQ, place, new);
}

/* mr pd= len= va= access= */
void live_object_mr(struct live *live, struct live_words *words)
{
    struct live_object *place = live_object_room(live, words, LIVE_MR), new = {0};
    const struct live_object *pd = live_object_get(live, words, LIVE_PD);
    uint64_t number = place != NULL ? (uint64_t)(place - live->card.objects[LIVE_MR]) : 0;
    unsigned access = live_object_access(live, words, "lwra");
    int error;

    new.length = live_words_number(live, words, "len", 65536, 1, MAX_REGION);
    new.va = live_words_number(live, words, "va", (number + 1) << 32, 0, UINT64_MAX);
    if (!live_words_done(live, words))
        return;
    new.bytes = live_need(calloc(1, new.length));
    LIVE_VERB(live, error,
              rnic_reg_mr(live->card.dev, pd->id, new.va, new.length, new.bytes, access, &new.id,
                          live->now_ps));
    if (live_refused(live, words, "rnic_reg_mr", error))
    {
        free(new.bytes);
        return;
    }
    printf("addr=0x%" PRIx64 " rkey=0x%" PRIx32 " lkey=0x%" PRIx32 "\n", new.va, new.id, new.id);
    live_object_keep(live, LIVE_MR, place, new);
}

/* mw pd= */
void live_object_mw(struct live *live, struct live_words *words)
{
    struct live_object *place = live_object_room(live, words, LIVE_MW), new = {0};
    const struct live_object *pd = live_object_get(live, words, LIVE_PD);
    int error;

    if (!live_words_done(live, words))
        return;
    LIVE_VERB(live, error, rnic_alloc_mw(live->card.dev, pd->id, &new.id, live->now_ps));
    if (live_refused(live, words, "rnic_alloc_mw", error))
        return;
    printf("rkey=0x%" PRIx32 "\n", new.id);
    live_object_keep(live, LIVE_MW, place, new);
}

/* ah pd= and a path */
void live_object_ah(struct live *live, struct live_words *words)
{
    struct live_object *place = live_object_room(live, words, LIVE_AH), new = {0};
    const struct live_object *pd = live_object_get(live, words, LIVE_PD);
    struct rnic_av av = live_object_path(live, words);
    int error;

    if (words->bad)
        return;
    LIVE_VERB(live, error, rnic_create_ah(live->card.dev, pd->id, &av, &new.id, live->now_ps));
    if (!live_refused(live, words, "rnic_create_ah", error))
        live_object_keep(live, LIVE_AH, place, new);
}

/* ---- ending them ---- */

static int end_object(struct live *live, enum live_kind kind, struct live_object *object)
{
    static int (*const verbs[LIVE_KINDS])(struct rnic_device *, uint32_t, uint64_t) = {
        [LIVE_QP] = rnic_destroy_qp, [LIVE_AH] = rnic_destroy_ah,   [LIVE_MW] = rnic_dealloc_mw,
        [LIVE_MR] = rnic_dereg_mr,   [LIVE_SRQ] = rnic_destroy_srq, [LIVE_CQ] = rnic_destroy_cq,
        [LIVE_PD] = rnic_dealloc_pd};
    int error;

    LIVE_VERB(live, error, verbs[kind](live->card.dev, object->id, live->now_ps));
    if (kind == LIVE_MR && error == RNIC_ERR_NOENT) /* a message has invalidated it */
        error = 0;
    if (error != 0)
        return error;
    free(object->bytes);
    *object = (struct live_object){0};
    return 0;
}

/* destroy KIND=NUMBER */
void live_object_destroy(struct live *live, struct live_words *words)
{
    unsigned kind = 0;
    struct live_object *object;

    while (kind < LIVE_KINDS && (words->n != 1 || strcmp(kind_names[kind], words->key[0]) != 0))
        kind++;
    if (kind == LIVE_KINDS)
        live_error(live, words, "destroy: want one of qp= ah= mw= mr= srq= cq= pd=");
    if (words->bad)
        return;
    object = live_object_get(live, words, (enum live_kind)kind);
    if (object != NULL && live_words_done(live, words))
        (void)live_refused(live, words, "destroy", end_object(live, (enum live_kind)kind, object));
}

/* clear: all objects end; pd=0 and cq=0 are new */
void live_object_clear(struct live *live, struct live_words *words)
{
    struct rnic_event event;

    if (!live_words_done(live, words))
        return;
    for (unsigned kind = 0; kind < LIVE_KINDS; kind++)
        for (uint32_t i = 0; i < LIVE_OBJECTS; i++)
        {
            struct live_object *object = &live->card.objects[kind][i];

            if (object->used && live_refused(live, words, kind_names[kind],
                                             end_object(live, (enum live_kind)kind, object)))
                return;
        }
    while (rnic_event(live->card.dev, live->now_ps, &event))
        continue;
    live_object_open(live);
}
