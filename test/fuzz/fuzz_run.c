/* SPDX-License-Identifier: GPL-2.0-only */
/* Time, the line and the books of two cards. */
#include "fuzz_card.h"

#include <stdlib.h>
#include <string.h>

#define RUN_FRAMES_MAX 300u
#define END_FRAMES_MAX 4000u  /* more than that at the end: no verdict about what hangs */
#define END_PS 1000000000000u /* so long may work take to come to its end by itself */
#define DRAIN_PS 1000000000u  /* queue pairs in ERR are flushed within it */

/* ---- the line ---- */

/* A frame of a card and its bytes. */
struct run_flight {
    struct wire_frame frame;
    uint8_t payload[4096];
};

static struct run_flight *run_blank(void)
{
    struct run_flight *flight = malloc(sizeof *flight);

    fuzz_require(flight != NULL, "out of memory");
    memset(&flight->frame, 0xA5, sizeof flight->frame);
    flight->frame.payload = flight->payload;
    return flight;
}

void fuzz_raw(struct fuzz_pair *pair, struct fuzz_card *from, uint8_t prio, uint32_t bytes)
{
    struct wire_frame *frame = &run_blank()->frame;

    *frame = (struct wire_frame){
        .kind = WIRE_KIND_OPAQUE, .prio = prio, .frame_bytes = bytes, .payload = frame->payload};
    rnic_post_raw(from->dev, frame, pair->now_ps);
}

void fuzz_deliver(struct fuzz_pair *pair, struct fuzz_card *to, struct wire_frame *frame)
{
    enum wire_drop drop = rnic_rx(to->dev, frame, pair->now_ps);

    fuzz_require((unsigned)drop < WIRE_DROP_COUNT, "no such drop reason");
}

/* What was held back on the way to this card arrives. */
static void run_release(struct fuzz_pair *pair, struct fuzz_card *to)
{
    struct wire_frame *late = to->late;

    to->late = NULL;
    if (late != NULL) {
        fuzz_deliver(pair, to, late);
        free(late);
    }
}

/* A frame crosses the line: it may be lost, marked, come twice, or after the next one. */
static void run_cross(struct fuzz_pair *pair, struct fuzz_card *to, struct wire_frame *frame)
{
    struct wire_frame copy;
    uint8_t fate;

    pair->dice = pair->dice * 1664525 + 1013904223;
    fate = (uint8_t)(pair->dice >> 24);
    if (fate < pair->loss) {
        free(frame);
        return;
    }
    if ((unsigned)(0xFF - fate) < pair->twist) {
        switch (pair->dice >> 16 & 3) {
        case 0:
            copy = *frame;
            fuzz_deliver(pair, to, &copy);
            break;
        case 1:
            if (to->late == NULL) {
                to->late = frame;
                return;
            }
            break;
        default:
            frame->tos |= 3;
            break;
        }
    }
    fuzz_deliver(pair, to, frame);
    free(frame);
    run_release(pair, to);
}

/* Frames that may leave now. @return how many */
static uint32_t run_frames(struct fuzz_pair *pair, struct fuzz_card *from, struct fuzz_card *to)
{
    uint32_t n = 0;

    while (n < 32 && rnic_tx_next(from->dev, pair->ready) <= pair->now_ps) {
        struct wire_frame *blank = &run_blank()->frame, *spare = NULL, *frame = blank;

        n++;
        if (!rnic_tx(from->dev, pair->now_ps, pair->ready, &frame, &spare)) {
            free(frame);
            continue;
        }
        free(spare);
        run_cross(pair, to, frame);
    }
    return n;
}

static void run_events(struct fuzz_pair *pair, struct fuzz_card *card)
{
    struct rnic_event event;

    if (rnic_next_wake(card->dev) <= pair->now_ps)
        rnic_wake(card->dev, pair->now_ps);
    while (rnic_event(card->dev, pair->now_ps, &event)) {
        fuzz_require(event.type < RNIC_EVENT_TYPES, "no such event");
        fuzz_require(event.time_ps <= pair->now_ps, "an event of the future");
        if (event.type == RNIC_EVENT_CQ_ERR)
            card->hurt = true;
    }
}

/* When anything happens next, not after `end_ps`. */
static uint64_t run_next(const struct fuzz_pair *pair, uint64_t end_ps)
{
    uint64_t next_ps = end_ps;

    for (uint32_t i = 0; i < 2; i++) {
        const struct rnic_device *dev = pair->cards[i].dev;

        next_ps =
            wire_min_ps(next_ps, wire_min_ps(rnic_tx_next(dev, pair->ready), rnic_next_wake(dev)));
    }
    return wire_max_ps(next_ps, pair->now_ps);
}

/* @return frames and steps used, `most` when it was not enough */
static uint32_t run_until(struct fuzz_pair *pair, uint64_t end_ps, uint32_t most)
{
    uint32_t used = 0;

    while (used < most) {
        uint32_t n = 0;

        pair->now_ps = run_next(pair, end_ps);
        for (uint32_t i = 0; i < 2; i++) {
            n += run_frames(pair, &pair->cards[i], &pair->cards[1 - i]);
            run_events(pair, &pair->cards[i]);
        }
        used += n + 1;
        if (pair->now_ps == end_ps && n == 0)
            return used;
    }
    return most;
}

void fuzz_run(struct fuzz_pair *pair, uint64_t for_ps)
{
    (void)run_until(pair, pair->now_ps + for_ps, RUN_FRAMES_MAX);
}

/* ---- books ---- */

void fuzz_quiet(struct fuzz_book *book, uint32_t serial, bool quiet)
{
    uint64_t bit = (uint64_t)1 << serial % 64;

    book->quiet = quiet ? book->quiet | bit : book->quiet & ~bit;
}

/* Those up to `serial` have ended without a completion: only quiet ones may. */
static void book_skip(struct fuzz_book *book, uint32_t serial)
{
    while (book->ended < serial) {
        book->ended++;
        fuzz_require(book->quiet >> book->ended % 64 & 1, "a request ended without a completion");
    }
}

static void book_wc(const struct fuzz_card *card, struct fuzz_books *books,
                    const struct rnic_wc *wc)
{
    bool receive = wc->wr_id & 1;
    struct fuzz_book *book = receive ? &books->recv : &books->send;
    uint32_t serial = (uint32_t)(wc->wr_id >> 1);

    if (!books->counted || card->hurt || (receive && books->shared))
        return;
    fuzz_require(serial > book->ended, "a request completed twice, or out of order");
    fuzz_require(serial <= book->posted, "a completion of a request nobody posted");
    if (book->failed && books->rc)
        fuzz_require(wc->status == RNIC_WC_WR_FLUSH_ERR, "work went on after an error");
    book->failed = book->failed || wc->status != RNIC_WC_SUCCESS;
    book_skip(book, serial - 1);
    book->ended = serial;
}

void fuzz_poll(struct fuzz_pair *pair, struct fuzz_card *card)
{
    for (uint32_t i = 0; i < FUZZ_OBJECTS; i++) {
        struct rnic_wc wc[7];
        int n;

        while ((n = rnic_poll_cq(card->dev, card->cq[i], 7, wc, pair->now_ps)) > 0)
            for (int k = 0; k < n; k++) {
                fuzz_require(wc[k].qp_num < FUZZ_QPNS, "a completion of nobody");
                fuzz_require(wc[k].status <= RNIC_WC_RNR_RETRY_EXC_ERR, "no such status");
                book_wc(card, &card->books[wc[k].qp_num], &wc[k]);
            }
    }
}

/* ---- the end ---- */

/* A connection that nobody touched comes to its end by itself: success or an error, no silence. */
static void close_hangs(struct fuzz_pair *pair)
{
    if (run_until(pair, pair->now_ps + END_PS, END_FRAMES_MAX) == END_FRAMES_MAX)
        return;
    for (uint32_t i = 0; i < 2; i++) {
        struct fuzz_card *card = &pair->cards[i];

        fuzz_poll(pair, card);
        for (uint32_t qpn = 0; qpn < FUZZ_QPNS && !card->hurt; qpn++) {
            struct fuzz_books *books = &card->books[qpn];

            if (books->counted && books->tame)
                book_skip(&books->send, books->send.posted);
        }
    }
}

/* Every queue pair that still lives fails now: then each request has ended, once. */
static void close_books(struct fuzz_pair *pair, struct fuzz_card *card)
{
    const struct rnic_qp_attr attr = {.qp_state = RNIC_QPS_ERR};

    fuzz_poll(pair, card);
    for (uint32_t qpn = 0; qpn < FUZZ_QPNS; qpn++) {
        if (rnic_modify_qp(card->dev, qpn, &attr, RNIC_QP_STATE, pair->now_ps) != 0)
            continue;
        fuzz_run(pair, DRAIN_PS);
        fuzz_poll(pair, card);
    }
    fuzz_run(pair, DRAIN_PS);
    fuzz_poll(pair, card);
    for (uint32_t qpn = 0; qpn < FUZZ_QPNS && !card->hurt; qpn++) {
        struct fuzz_books *books = &card->books[qpn];

        if (!books->counted)
            continue;
        book_skip(&books->send, books->send.posted);
        fuzz_require(books->shared || books->recv.ended == books->recv.posted,
                     "a receive never ended");
    }
}

static void close_memory(const struct fuzz_card *card)
{
    const uint8_t *constant = card->memory + FUZZ_GUARD + FUZZ_WRITABLE;

    for (uint32_t k = 0; k < FUZZ_GUARD; k++) {
        fuzz_require(card->memory[k] == FUZZ_GUARD_BYTE &&
                         card->memory[FUZZ_GUARD + FUZZ_MEMORY + k] == FUZZ_GUARD_BYTE,
                     "a byte outside the registered memory changed");
    }
    for (uint32_t k = 0; k < FUZZ_MEMORY - FUZZ_WRITABLE; k++)
        fuzz_require(constant[k] == FUZZ_GUARD_BYTE, "a byte that no key opens changed");
}

/* Frames the card holds or still wants to send go nowhere. */
static void close_card(struct fuzz_card *card)
{
    while (rnic_frames_held(card->dev) > 0) {
        struct wire_frame *blank = &run_blank()->frame, *spare = NULL, *frame = blank;

        (void)rnic_tx(card->dev, WIRE_NEVER / 4, 0xFF, &frame, &spare);
        free(spare);
        free(frame);
    }
    free(card->memory);
}

void fuzz_close(struct fuzz_pair *pair)
{
    pair->loss = pair->twist = 0;
    pair->ready = 0xFF;
    for (uint32_t i = 0; i < 2; i++)
        run_release(pair, &pair->cards[i]);
    close_hangs(pair);
    for (uint32_t i = 0; i < 2; i++)
        close_books(pair, &pair->cards[i]);
    for (uint32_t i = 0; i < 2; i++) {
        close_memory(&pair->cards[i]);
        close_card(&pair->cards[i]);
    }
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t k = 0; k < pair->cards[i].n_blocks; k++)
            free(pair->cards[i].blocks[k]);
}
