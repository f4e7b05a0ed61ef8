/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Two cards for the fuzzers: memory with guards, a line, and the books every run must balance.
 *
 * Whatever verbs and frames come: no assertion fails, no byte changes outside the registered
 * regions nor where no key allows it, a refused verb changes nothing one can ask for, requests end
 * once, in order and after an error only flushed, and none waits for ever.
 */
#ifndef FUZZ_CARD_H
#define FUZZ_CARD_H

#include "rnic_device.h"
#include "wire_codec.h"

#define FUZZ_MEMORY 32768u   /* registered, of each card */
#define FUZZ_WRITABLE 28672u /* the rest is never registered for writing */
#define FUZZ_GUARD_BYTE 0xC3
#define FUZZ_GUARD 4096u  /* on both sides of it */
#define FUZZ_VA 0x100000u /* of the first registered byte */
#define FUZZ_OBJECTS 8u   /* of each kind that are remembered */
#define FUZZ_QPNS 64u

struct fuzz_input {
    const uint8_t *data;
    size_t size, at;
};

/** The next byte, 0 at the end. */
uint8_t fuzz_byte(struct fuzz_input *in);
uint32_t fuzz_u32(struct fuzz_input *in);
bool fuzz_done(const struct fuzz_input *in);

struct fuzz_book {          /* of one work queue; wr_id is serial << 1, receives | 1 */
    uint32_t posted, ended; /* serial of the last one */
    uint64_t quiet;         /* bit serial % 64: unsignalled */
    bool failed;            /* a completion in error has been seen */
};

struct fuzz_books { /* of one queue pair */
    bool counted;   /* its requests are followed */
    bool tame;      /* connected and never modified: nothing may hang */
    bool rc, sig_all, shared;
    struct fuzz_book send, recv;
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
    uint32_t next[7];        /* slots to fill next, by kind */
    bool hurt;               /* a completion queue has overflown: completions are missing */
    struct wire_frame *late; /* on its way to this card, will arrive after the next */
    struct fuzz_books books[FUZZ_QPNS];
};

struct fuzz_pair {
    struct fuzz_card cards[2];
    uint64_t now_ps;
    struct fuzz_input in;
    uint32_t loss;  /* of 256 frames */
    uint32_t twist; /* of 256 frames: marked, doubled or delayed */
    uint32_t dice;  /* says which; not the input, whose bytes would lose their meaning */
    uint32_t ready; /* classes that are not paused */
};

void fuzz_open(struct fuzz_pair *pair, const uint8_t *data, size_t size);
/** Let all work end, balance the books, look at the guards, free all. */
void fuzz_close(struct fuzz_pair *pair);

/** Give memory for a verb that came back with RNIC_ERR_NOMEM. False: enough is enough. */
bool fuzz_feed(struct fuzz_card *card);

/** Let frames, timers and events happen for @p for_ps, lossy as pair->loss says, and
 * no longer than some hundred frames. */
void fuzz_run(struct fuzz_pair *pair, uint64_t for_ps);

/** Queue somebody else's packet of @p bytes at @p from. */
void fuzz_raw(struct fuzz_pair *pair, struct fuzz_card *from, uint8_t prio, uint32_t bytes);

/** A frame that came from nowhere. */
void fuzz_deliver(struct fuzz_pair *pair, struct fuzz_card *to, struct wire_frame *frame);

/** Note whether a request was posted unsignalled. */
void fuzz_quiet(struct fuzz_book *book, uint32_t serial, bool quiet);

/** Take all completions of a card and book them. */
void fuzz_poll(struct fuzz_pair *pair, struct fuzz_card *card);

/** Post one request drawn from the input and book it. */
void fuzz_post_send(struct fuzz_pair *pair, struct fuzz_card *card, uint32_t qpn);
void fuzz_post_recv(struct fuzz_pair *pair, struct fuzz_card *card, uint32_t qpn);
void fuzz_post_srq(struct fuzz_pair *pair, struct fuzz_card *card, uint32_t srq);

/**
 * A queue pair of each card, connected to each other.
 * @param init  its CQs are indices of cq[], srq: 1 the first one
 * @return false: no more room
 */
bool fuzz_connect(struct fuzz_pair *pair, const struct rnic_qp_init_attr *init);

void fuzz_require(bool holds, const char *what);

#endif
