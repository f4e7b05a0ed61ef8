/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Two cards for the fuzzers: memory with guards, a line, and the books every run must balance.
 *
 * Whatever verbs and frames come: no assertion fails, no byte outside the registered regions
 * changes, a refused verb changes nothing one can ask for, and every work request ends once.
 */
#ifndef FUZZ_CARD_H
#define FUZZ_CARD_H

#include "rnic_device.h"
#include "wire_codec.h"

#define FUZZ_MEMORY 32768u /* registered, of each card */
#define FUZZ_GUARD 4096u   /* on both sides of it */
#define FUZZ_VA 0x100000u  /* of the first registered byte */
#define FUZZ_OBJECTS 8u    /* of each kind that are remembered */
#define FUZZ_QPNS 4096u

struct fuzz_input {
    const uint8_t *data;
    size_t size, at;
};

/** The next byte, 0 at the end. */
uint8_t fuzz_byte(struct fuzz_input *in);
uint32_t fuzz_u32(struct fuzz_input *in);
bool fuzz_done(const struct fuzz_input *in);

struct fuzz_books {           /* of one queue pair */
    bool counted;             /* every request posted is to end */
    uint32_t sends, receives; /* posted, not ended */
};

struct fuzz_card {
    struct rnic_device *dev;
    uint32_t station;
    void *blocks[512];
    uint32_t n_blocks;
    size_t given;
    uint8_t *memory; /* guard, registered, guard */
    uint32_t pd[FUZZ_OBJECTS], cq[FUZZ_OBJECTS], qp[FUZZ_OBJECTS], srq[FUZZ_OBJECTS];
    uint32_t key[FUZZ_OBJECTS], mw[FUZZ_OBJECTS], ah[FUZZ_OBJECTS];
    uint32_t next[7];           /* slots to fill next, by kind */
    uint8_t hurt[FUZZ_OBJECTS]; /* cq: it has overflown */
    struct fuzz_books books[FUZZ_QPNS];
};

struct fuzz_pair {
    struct fuzz_card cards[2];
    uint64_t now_ps;
    struct fuzz_input in;
    uint32_t loss; /* of 256 frames */
};

void fuzz_open(struct fuzz_pair *pair, const uint8_t *data, size_t size);
/** Balance the books, look at the guards, free all. */
void fuzz_close(struct fuzz_pair *pair);

/** Give memory for a verb that came back with RNIC_ERR_NOMEM. False: enough is enough. */
bool fuzz_feed(struct fuzz_card *card);

/** Let frames, timers and events happen for @p for_ps, lossy as pair->loss says. */
void fuzz_run(struct fuzz_pair *pair, uint64_t for_ps);

/** A frame that came from nowhere. */
void fuzz_deliver(struct fuzz_pair *pair, struct fuzz_card *to, struct wire_frame *frame);

/** Take all completions of a card and book them. */
void fuzz_poll(struct fuzz_pair *pair, struct fuzz_card *card);

/** Post one request drawn from the input and book it. */
void fuzz_post_send(struct fuzz_pair *pair, struct fuzz_card *card, uint32_t qpn);
void fuzz_post_recv(struct fuzz_pair *pair, struct fuzz_card *card, uint32_t qpn);

/** A queue pair of each card, connected to each other. @return false: no more room */
bool fuzz_connect(struct fuzz_pair *pair, const struct rnic_qp_init_attr *init);

void fuzz_require(bool holds, const char *what);

#endif
