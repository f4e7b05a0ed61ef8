/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Deterministic simulation: one seed is one run of two cards, checked against a plain model.
 *
 *   sim_plan    what the seed asks for, and what memory must hold in the end
 *   sim_host    one side: posts, polls, checks every completion
 *   sim_link    two cards and a bad line between them, over the cards' contract alone
 *   sim_fabric  the same cards in the real engine, with a switch and `wire` on
 *   sim_check   what must be true when nothing moves any more
 *   sim_run     a seed, once and again
 *   sim_main    the program
 */
#ifndef SIM_H
#define SIM_H

#include "sim_plan.h"

/* Ways to break the run by hand: each must be noticed. X(id, name, text) */
#define SIM_SPOILS(X)                                                                              \
    X(NONE, "none", "leave the run as it is")                                                      \
    X(PLACEMENT, "placement", "undo what one frame wrote to memory")                               \
    X(TWICE, "twice", "complete one work request twice")                                           \
    X(LOST, "lost", "swallow one completion")                                                      \
    X(ORDER, "order", "hand over two completions in the wrong order")                              \
    X(FIELD, "field", "change the immediate or the length of one completion")                      \
    X(FLIP, "flip", "flip one bit of memory that was written")                                     \
    X(GUARD, "guard", "flip one bit of memory nobody may write")                                   \
    X(LEAK, "leak", "lose one frame without counting it")                                          \
    X(CORRUPT, "corrupt", "change one frame behind the codec's back")                              \
    X(HASH, "hash", "make the second run of the seed another one")

enum sim_spoil {
#define SIM_SPOIL_ENUM(id, name, text) SIM_SPOIL_##id,
    SIM_SPOILS(SIM_SPOIL_ENUM)
#undef SIM_SPOIL_ENUM
        SIM_SPOIL_COUNT
};

struct sim;

/* ---- one side ---- */

struct sim_queue { /* a queue pair as its host knows it */
    uint32_t qpn;
    uint32_t posted, seen; /* sends: handed over, accounted for by a completion */
    uint32_t failed_at;    /* send that ended with a real error, SIM_NONE */
    bool retries_ended;    /* and that was why */
    uint32_t recv_posted, recv_seen;
    uint32_t recv_done;        /* of recv_seen, with success; the rest was flushed */
    uint64_t send_ps, recv_ps; /* next post; WIRE_NEVER: all done, or waiting for room */
    bool ready;                /* in RTS */
    uint32_t fatals, refusals, established; /* asynchronous events */
};

struct sim_host {
    struct sim *sim;
    uint32_t side;
    struct wire_rng rng;
    struct rnic_device *dev;
    void *blocks[64]; /* memory given to the card */
    uint32_t n_blocks;
    uint8_t *memory; /* the arena */
    uint32_t source_key, target_key[SIM_QPS_MAX], slots_key[SIM_QPS_MAX], dead_key;
    uint32_t pd;
    uint32_t cq[SIM_CQS_MAX];
    uint64_t cq_ps[SIM_CQS_MAX]; /* next poll */
    struct sim_queue queues[SIM_QPS_MAX];
    struct rnic_wc kept; /* SIM_SPOIL_ORDER: held back */
    bool keeps;
};

/** Create the card and all its objects; then connect both. */
void sim_host_open(struct sim_host *host, struct sim *sim, uint32_t side, uint32_t station);
void sim_host_connect(struct sim_host *host, const struct sim_host *peer, uint32_t peer_station,
                      uint32_t next_hop);
void sim_host_close(struct sim_host *host);

/** An event of the card. */
void sim_host_event(struct sim_host *host, const struct rnic_event *event, uint64_t now_ps);
/** When the host wants to act next, WIRE_NEVER: not by itself. */
uint64_t sim_host_next_ps(const struct sim_host *host);
/** Post and poll what is due. */
void sim_host_step(struct sim_host *host, uint64_t now_ps);
/** Everything that must complete has completed. */
bool sim_host_done(const struct sim_host *host);
/** Take every completion there will ever be: after the end. */
void sim_host_drain(struct sim_host *host, uint64_t now_ps);

/** A completion came out of the card (sim_complete.c). */
void sim_host_completed(struct sim_host *host, const struct rnic_wc *wc);

/* ---- the run ---- */

/* What a run went through: sums over seeds show that nothing was left out. */
struct sim_seen {
    uint64_t frames, faults, fabrics, errors;
    uint64_t retransmitted, timeouts, sequence_naks, rnr_naks, duplicates, cnps, pauses, flushes;
    uint64_t simulated_ps;
};

struct sim_side_counters {
    uint64_t sent, delivered; /* frames */
    uint64_t drops[WIRE_DROP_COUNT];
};

struct sim {
    struct sim_plan plan;
    struct sim_host hosts[SIM_SIDES];
    struct sim_side_counters counters[SIM_SIDES];
    uint64_t now_ps;
    bool verbose, trace;
    bool failed;
    bool ended; /* nothing moves any more; a trace record may have moved now_ps last */
    char why[400];
    uint64_t hash;       /* of every frame, completion and event */
    uint64_t trace_hash; /* and of every trace record */
    uint64_t traces;
    enum sim_spoil spoil;
    uint32_t spoil_in; /* chances to let pass */
    bool spoiled;
    uint64_t steps;
    struct sim_seen seen;
};

/** First failure of the run; later ones are its consequences. */
__attribute__((format(printf, 2, 3))) void sim_fail(struct sim *sim, const char *format, ...);
__attribute__((format(printf, 2, 3))) void sim_say(const struct sim *sim, const char *format, ...);

/** Is this the chance to spoil the run as asked? */
bool sim_spoil_now(struct sim *sim, enum sim_spoil spoil);

static inline void sim_hash(uint64_t *hash, uint64_t x)
{
    struct wire_rng rng = {*hash ^ x};

    *hash = wire_rng_next(&rng);
}

/** A frame leaves a card: into the hash, and is it one that may leave? */
void sim_frame_sent(struct sim *sim, uint32_t side, const struct wire_frame *frame,
                    uint32_t ready_classes, uint64_t now_ps);
/** Drain a card's events. */
void sim_events(struct sim *sim, uint32_t side, uint64_t now_ps);
void sim_event(struct sim *sim, uint32_t side, const struct rnic_event *event, uint64_t now_ps);

/** Run the plan until nothing moves: over our link, or in the engine. */
void sim_link_run(struct sim *sim);
void sim_fabric_run(struct sim *sim);

/** At the end: memory, completions, counters, nothing left anywhere. */
void sim_check_end(struct sim *sim);
/** Bytes of one message at its receiver are what was sent. */
void sim_check_message(struct sim *sim, uint32_t from, uint32_t q, uint32_t index);

const char *sim_side_name(uint32_t side);
const char *sim_opcode_name(enum rnic_wr_opcode opcode);

struct sim_options {
    enum sim_spoil spoil;
    bool verbose;
    uint32_t again; /* run every Nth seed a third time; 0: never */
};

struct sim_result {
    bool failed, spoiled;
    char why[400];
    struct sim_seen seen;
};

/** One seed: without tracing, with it, and every Nth with it again. */
struct sim_result sim_run_seed(uint64_t seed, const struct sim_options *options);

#endif
