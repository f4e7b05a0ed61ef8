/* SPDX-License-Identifier: GPL-2.0-only */
/* rnic-live: one line of input, and the commands about line, card and completions. */
#include "rnic-live.h"

#include "wire_text.h"

#define MAX_POLL 65536u
#define MAX_MS 3600000u

/* ---- completions and events ---- */

static void tell_completion(const struct rnic_wc *wc)
{
    static const char *const names[] = {"SEND",      "RDMA_WRITE", "RDMA_READ", "COMP_SWAP",
                                        "FETCH_ADD", "BIND_MW",    "LOCAL_INV"};
    bool receive = wc->opcode >= RNIC_WC_RECV;

    printf("wc id=%" PRIu64 " status=%s qpn=0x%" PRIx32, wc->wr_id, rnic_wc_status_name(wc->status),
           wc->qp_num);
    if (wc->status != RNIC_WC_SUCCESS)
    {
        if (wc->vendor_err != 0)
            printf(" syndrome=0x%" PRIx32, wc->vendor_err);
        putchar('\n');
        return;
    }
    if (receive)
        printf(" opcode=%s len=%" PRIu32 " src_qp=0x%" PRIx32 " grh=%d",
               wc->opcode == RNIC_WC_RECV ? "RECV" : "RECV_RDMA_WITH_IMM", wc->byte_len, wc->src_qp,
               (wc->wc_flags & RNIC_WC_GRH) != 0);
    else
        printf(" opcode=%s len=%" PRIu32, names[wc->opcode], wc->byte_len);
    if (wc->wc_flags & RNIC_WC_WITH_IMM)
        printf(" imm=0x%" PRIx32, wc->imm);
    if (wc->wc_flags & RNIC_WC_WITH_INV)
        printf(" inv=0x%" PRIx32, wc->invalidated_rkey);
    putchar('\n');
}

/* poll cq= n= ms=: until there were n completions or the time is over */
static void do_poll(struct live *live, struct live_words *words)
{
    const struct live_object *cq = live_object_get(live, words, LIVE_CQ);
    uint64_t want = live_words_number(live, words, "n", 1, 0, MAX_POLL), got = 0;
    uint64_t ms = live_words_number(live, words, "ms", 0, 0, MAX_MS), end_ps;
    struct rnic_wc wc;

    if (!live_words_done(live, words))
        return;
    live_tick(live);
    end_ps = live->now_ps + ms * LIVE_MS_PS;
    for (;;)
    {
        while (got < want && rnic_poll_cq(live->card.dev, cq->id, 1, &wc, live->now_ps) == 1)
        {
            tell_completion(&wc);
            got++;
        }
        if (got == want || live->stopped || live->now_ps >= end_ps)
            break;
        live_turn(live, end_ps, -1);
    }
    printf("n=%" PRIu64 "\n", got);
}

/* async: events that happened since */
static void do_async(struct live *live, struct live_words *words)
{
    static const char *const names[RNIC_EVENT_TYPES] = {
        [RNIC_EVENT_QP_FATAL] = "QP_FATAL",
        [RNIC_EVENT_QP_REQ_ERR] = "QP_REQ_ERR",
        [RNIC_EVENT_QP_ACCESS_ERR] = "QP_ACCESS_ERR",
        [RNIC_EVENT_COMM_EST] = "COMM_EST",
        [RNIC_EVENT_CQ_ERR] = "CQ_ERR",
        [RNIC_EVENT_SQ_DRAINED] = "SQ_DRAINED",
        [RNIC_EVENT_LAST_WQE] = "QP_LAST_WQE_REACHED",
        [RNIC_EVENT_SRQ_LIMIT] = "SRQ_LIMIT_REACHED"};
    struct rnic_event event;

    if (!live_words_done(live, words))
        return;
    live_tick(live);
    while (rnic_event(live->card.dev, live->now_ps, &event))
        if (names[event.type] != NULL && event.qpn != 0)
            printf("event text=%s qpn=0x%" PRIx32 "\n", names[event.type], event.qpn);
        else if (names[event.type] != NULL)
            printf("event text=%s\n", names[event.type]);
}

/* ---- line and card ---- */

static void tell_drops(const char *where, const uint64_t *drops)
{
    for (unsigned i = 1; i < WIRE_DROP_COUNT; i++)
        if (drops[i] != 0)
            printf("drop where=%s reason=%s n=%" PRIu64 "\n", where,
                   wire_drop_name((enum wire_drop)i), drops[i]);
}

static void do_counters(struct live *live, struct live_words *words)
{
    const struct rnic_counters *c = rnic_query_counters(live->card.dev);
    const struct live_card *card = &live->card;
    const struct live_line *line = &live->port.line;

    if (!live_words_done(live, words))
        return;
    tell_drops("line", card->refused);
    tell_drops("card", c->drops);
    for (unsigned direction = 0; direction < LIVE_DIRECTIONS; direction++)
    {
        const uint64_t *n = live->faults.count[direction];

        printf("faults dir=%s loss=%" PRIu64 " dup=%" PRIu64 " reorder=%" PRIu64 " corrupt=%" PRIu64
               " delay=%" PRIu64 "\n",
               direction == LIVE_OUT ? "out" : "in", n[LIVE_LOSS], n[LIVE_DUP], n[LIVE_REORDER],
               n[LIVE_CORRUPT], n[LIVE_DELAY]);
    }
    printf("line sent=%" PRIu64 " received=%" PRIu64 " nobody=%" PRIu64 " waited=%" PRIu64
           " other=%" PRIu64 " arp=%" PRIu64 " neighbour=%" PRIu64 " echo=%" PRIu64 "\n",
           line->sent, line->received, line->nobody, line->no_room, card->other, card->arp,
           card->neighbour, card->echo);
    printf("rx=%" PRIu64 " tx=%" PRIu64 " retransmitted=%" PRIu64 " timeouts=%" PRIu64
           " cnps_tx=%" PRIu64 " cnps_rx=%" PRIu64 "\n",
           c->rx_frames, c->tx_frames, c->retransmitted_packets, c->timeouts, c->cnps_tx,
           c->cnps_rx);
}

static void tell_station(const char *what, const struct wire_station *station)
{
    const uint8_t *mac = station->mac;
    struct wire_text text = {0};

    wire_text_gid(&text, station->gid);
    printf("%s ip=%s mac=%02x:%02x:%02x:%02x:%02x:%02x\n", what, text.line, mac[0], mac[1], mac[2],
           mac[3], mac[4], mac[5]);
}

static void do_book(struct live *live, struct live_words *words)
{
    const struct live_book *book = &live->book;

    if (!live_words_done(live, words))
        return;
    live_book_face(live, false);
    tell_station("self", &book->entries[0]);
    tell_station("self", &book->entries[book->n]);
    for (uint32_t i = 1; i < book->n; i++)
        tell_station("peer", &book->entries[i]);
}

static void do_faults(struct live *live, struct live_words *words)
{
    char text[256];
    size_t n = 0;
    const char *wrong;

    text[0] = '\0';
    for (uint32_t i = 0; i < words->n && n < sizeof text - 1; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s=%s", i > 0 ? "," : "", words->key[i],
                              words->value[i]);
    wrong = n >= sizeof text ? "too long" : live_fault_set(live, words->n > 0 ? text : "off");
    if (wrong != NULL)
        live_error(live, words, "faults: %s", wrong);
}

static void do_wait(struct live *live, struct live_words *words)
{
    uint64_t ms = live_words_number(live, words, "ms", 0, 0, MAX_MS), end_ps;

    if (!live_words_done(live, words))
        return;
    live_tick(live);
    end_ps = live->now_ps + ms * LIVE_MS_PS;
    while (live->now_ps < end_ps && !live->stopped)
        live_turn(live, end_ps, -1);
}

static void do_serve(struct live *live, struct live_words *words)
{
    if (!live_words_done(live, words))
        return;
    while (!live->stopped)
        live_turn(live, WIRE_NEVER, -1);
}

/* ---- a line ---- */

static const struct
{
    const char *name;
    live_command *run;
} commands[] = {
    {"pd", live_object_pd},
    {"cq", live_object_cq},
    {"srq", live_object_srq},
    {"mr", live_object_mr},
    {"mw", live_object_mw},
    {"ah", live_object_ah},
    {"qp", live_pair_create},
    {"connect", live_pair_connect},
    {"modify", live_pair_modify},
    {"query", live_pair_query},
    {"recv", live_post_recv},
    {"send", live_post_send}, /* and each operation by its name */
    {"poll", do_poll},
    {"async", do_async},
    {"fill", live_memory_fill},
    {"check", live_memory_check},
    {"peek", live_memory_peek},
    {"poke", live_memory_poke},
    {"hash", live_memory_hash},
    {"destroy", live_object_destroy},
    {"clear", live_object_clear},
    {"counters", do_counters},
    {"book", do_book},
    {"faults", do_faults},
    {"wait", do_wait},
    {"serve", do_serve},
};

#define COMMANDS (sizeof commands / sizeof commands[0])

static void unknown(struct live *live, struct live_words *words)
{
    char list[512];
    size_t n = 0;

    for (size_t i = 0; i < COMMANDS; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, " %s", commands[i].name);
    live_error(live, words,
               "unknown command '%s'; commands are%s quit, and operations by their name",
               words->name, list);
}

bool live_command_line(struct live *live, const char *line)
{
    struct live_words words;
    size_t which = 0;

    if (!live_words_read(live, &words, line))
        return true;
    if (strcmp(words.name, "quit") == 0)
        return false;
    while (which < COMMANDS && strcmp(commands[which].name, words.name) != 0)
        which++;
    if (which < COMMANDS)
        commands[which].run(live, &words);
    else if (live_post_is_operation(words.name))
        live_post_send(live, &words);
    else
        unknown(live, &words);
    if (!words.bad)
        puts("ok");
    return true;
}
