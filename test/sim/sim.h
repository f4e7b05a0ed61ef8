/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Deterministic simulation: one seed is one run of two cards, checked against a plain model.
 *
 *   sim_plan*      what the seed asks for
 *   sim_host       one side: its objects and states
 *   sim_post       what it posts; sim_poll: completions, events, time
 *   sim_incident   what it breaks in the middle
 *   sim_link       two cards and a bad line between them, over the cards' contract alone
 *   sim_line       what that line does to a frame
 *   sim_fabric     the same cards in the real engine, with a switch and `wire` on
 *   sim_frame      what must be true of every frame
 *   sim_complete*  what must be true of every completion; sim_expect: which errors there may be
 *   sim_model      memory as it must be: messages, READs, atomics
 *   sim_check*     what must be true when nothing moves any more
 *   sim_run        a seed, once and again; sim_tell: its plan, for people
 *   sim_minimise   the smallest part of a plan that fails
 *   sim            the program
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
    X(HASH, "hash", "make the second run of the seed another one")                                 \
    X(READ, "read", "flip one bit of what a READ brought")                                         \
    X(FENCE, "fence", "let a READ bring what a fenced WRITE behind it wrote")                      \
    X(ATOMIC, "atomic", "flip one bit of what an atomic returned")                                 \
    X(AGAIN, "again", "add to a word once more than asked for")                                    \
    X(REVOKED, "revoked", "write through a key after it was taken back")                           \
    X(KEY, "key", "report another key as invalidated")                                             \
    X(PART, "part", "miss a byte of an unreliable message")                                        \
    X(DATAGRAM, "datagram", "deliver an unreliable message twice")                                 \
    X(EVENT, "event", "swallow one asynchronous event")                                            \
    X(STATUS, "status", "report an error as another one")                                          \
    X(STATE, "state", "break one queue pair when all is over")                                     \
    X(WINDOW, "window", "forget an acknowledge when counting what is in flight")                   \
    X(RATE, "rate", "let a frame of a limited queue pair come too early")                          \
    X(DEPTH, "depth", "forget that a READ or atomic is over")                                      \
    X(WAIT, "wait", "send while the peer is not ready")                                            \
    X(ANSWER, "answer", "send a READ response of the wrong length")

enum sim_spoil {
#define SIM_SPOIL_ENUM(id, name, text) SIM_SPOIL_##id,
    SIM_SPOILS(SIM_SPOIL_ENUM)
#undef SIM_SPOIL_ENUM
        SIM_SPOIL_COUNT
};

#define SIM_QKEY 0x1000u /* of a queue pair, and its number */

struct sim;

/* ---- one side ---- */

struct sim_queue { /* a queue pair as its host knows it */
    uint32_t qpn;
    uint32_t posted, seen; /* sends: handed over, accounted for by a completion */
    uint32_t failed_at;    /* send that ended with a real error, SIM_NONE */
    enum rnic_wc_status failed_with;
    uint32_t recv_done;   /* receives completed with success */
    uint32_t recv_failed; /* ... with an error of their own */
    bool flushed;         /* a receive, or a send without an error before it */
    uint64_t send_ps;     /* next post; WIRE_NEVER: all done, or waiting */
    bool blocked;         /* for a window of the peer */
    bool ready;           /* in RTS */
    bool gone;            /* its host has reset or destroyed it */
    bool broken;          /* an incident has happened */
    bool draining;        /* it is in SQD */
    bool drains;          /* or was */
    uint64_t incident_ps; /* next step of the incident */
    uint32_t fatals, refusals, invalids, established, drained, last; /* asynchronous events */
};

enum sim_recv_state { SIM_RECV_UNUSED, SIM_RECV_POSTED, SIM_RECV_DONE, SIM_RECV_FLUSHED };

struct sim_recvs { /* a pool as its host knows it */
    uint32_t srq;
    uint32_t posted, seen;
    uint64_t recv_ps; /* next post */
    bool armed;       /* for the limit event */
    uint32_t limits;  /* events */
    uint8_t state[SIM_RECVS_MAX];
    uint32_t bytes[SIM_RECVS_MAX]; /* of what a completed one holds */
};

struct sim_progress {  /* of a flow */
    uint32_t written;  /* sends whose WRITEs the model has carried out */
    uint32_t through;  /* bit i: send i is done, and its bytes were found */
    uint32_t arrived;  /* unreliable: bit i: send i came out at the peer */
    uint32_t last;     /* UC: the last that did, and one */
    uint32_t finished; /* atomics: bit i: send i is done, and returned got[i] */
    uint64_t got[SIM_SENDS_MAX];
    uint32_t acked;           /* PSNs the sender has been told of, at least */
    uint32_t asked, answered; /* READs and atomics on the line: bits */
    uint64_t first_ps, sent_bytes;
    uint64_t rnr_until_ps;        /* told to wait so long */
    uint32_t rnr_frames;          /* that left in spite of it: one may have been built already */
    uint64_t requests, responses; /* frames that left: of this flow, and answers with data to it */
};

struct sim_host {
    struct sim *sim;
    uint32_t side;
    struct wire_rng rng;
    struct rnic_device *dev;
    void *blocks[256]; /* memory given to the card */
    uint32_t n_blocks;
    uint8_t *memory; /* the arena */
    uint8_t *kept;   /* regions as they were when their keys were revoked */
    uint32_t source_key[SIM_QPS_MAX], target_key[SIM_QPS_MAX], results_key[SIM_QPS_MAX];
    uint32_t slots_key[SIM_POOLS], words_key, dead_key, loose_window;
    uint32_t window_key[SIM_QPS_MAX]; /* of the window on the target of the flow that comes in */
    uint32_t pd, peer_station, next_hop;
    uint32_t cq[SIM_CQS_MAX];
    uint64_t cq_ps[SIM_CQS_MAX]; /* next poll */
    bool cq_told[SIM_CQS_MAX];   /* an event came since it was armed */
    bool cq_found[SIM_CQS_MAX];  /* and a completion that is worth one */
    bool solicited;              /* the last completion was */
    struct sim_queue queues[SIM_QPS_MAX];
    struct sim_recvs recvs[SIM_POOLS];
    struct rnic_wc held; /* SIM_SPOIL_ORDER: held back */
    bool holds;
};

/** Create the card and all its objects; then connect both. */
void sim_host_open(struct sim_host *host, struct sim *sim, uint32_t side, uint32_t station);
void sim_host_connect(struct sim_host *host, const struct sim_host *peer, uint32_t peer_station,
                      uint32_t next_hop);
void sim_host_close(struct sim_host *host);
/** Did a verb ask for memory? Then it has it now, and is to be called again. */
bool sim_host_again(struct sim_host *host, int err);
/** A verb must not have failed. */
void sim_host_want(struct sim_host *host, int err, const char *verb);
/** The state of a queue pair, RESET when it is destroyed. */
enum rnic_qp_state sim_host_state(struct sim_host *host, uint32_t q);
void sim_host_rts(struct sim_host *host, uint32_t q);
struct rnic_av sim_host_av(const struct sim_host *host, uint32_t q);
/** Queue pair of a number, SIM_NONE. */
uint32_t sim_host_find(const struct sim_host *host, uint32_t qpn);

/** Post what is due (sim_post.c). */
void sim_post_recvs(struct sim_host *host, uint32_t pool, uint64_t now_ps);
void sim_post_sends(struct sim_host *host, uint32_t q, uint64_t now_ps);

/** The incident of a queue pair is due (sim_incident.c). */
void sim_incident_step(struct sim_host *host, uint32_t q, uint64_t now_ps);

/** An event of the card. */
void sim_host_event(struct sim_host *host, const struct rnic_event *event, uint64_t now_ps);
/** When the host wants to act next, WIRE_NEVER: not by itself. */
uint64_t sim_host_next_ps(const struct sim_host *host);
/** Post and poll what is due. */
void sim_host_step(struct sim_host *host, uint64_t now_ps);
/** Everything that must complete has completed. */
bool sim_host_done(const struct sim_host *host);
/** Arm the completion queues at the start. */
void sim_host_arm(struct sim_host *host);
/** Take every completion there will ever be: after the end. */
void sim_host_drain(struct sim_host *host, uint64_t now_ps);

/** A completion came out of the card (sim_complete.c). */
void sim_host_completed(struct sim_host *host, const struct rnic_wc *wc);
/** ... of a receive. @return NULL or what is wrong (sim_complete_recv.c). */
const char *sim_recv_completed(struct sim *sim, struct sim_host *host, uint32_t q,
                               const struct rnic_wc *wc);

/* ---- the run ---- */

/* What a run went through: sums over seeds show that nothing was left out. X(name, text) */
#define SIM_SEEN(X)                                                                                \
    X(frames, "frames")                                                                            \
    X(fault_loss, "lost")                                                                          \
    X(fault_fcs, "FCS wrong")                                                                      \
    X(fault_hit, "damaged")                                                                        \
    X(fault_late, "late")                                                                          \
    X(fault_twice, "twice")                                                                        \
    X(fault_stall, "later than the timer")                                                         \
    X(fault_mark, "CE marks")                                                                      \
    X(pauses, "pauses")                                                                            \
    X(fabrics, "runs in the engine")                                                               \
    X(silences, "runs into silence")                                                               \
    X(write, "WRITEs")                                                                             \
    X(write_imm, "WRITEs with immediate")                                                          \
    X(send, "SENDs")                                                                               \
    X(send_imm, "SENDs with immediate")                                                            \
    X(read, "READs")                                                                               \
    X(compare_swap, "COMPARE_SWAPs")                                                               \
    X(fetch_add, "FETCH_ADDs")                                                                     \
    X(local_inv, "local invalidates")                                                              \
    X(bind, "binds")                                                                               \
    X(send_inv, "SENDs with invalidate")                                                           \
    X(uc, "UC messages")                                                                           \
    X(ud, "datagrams")                                                                             \
    X(unreliable_lost, "unreliable messages lost")                                                 \
    X(fenced, "fenced")                                                                            \
    X(inlined, "inline")                                                                           \
    X(empty, "empty")                                                                              \
    X(scattered, "scattered")                                                                      \
    X(unsignaled, "unsignaled")                                                                    \
    X(read_written, "READs of what was written")                                                   \
    X(via_window, "through a window")                                                              \
    X(solicited, "events for solicited only")                                                      \
    X(shared, "shared receives")                                                                   \
    X(swapped, "swaps that swapped")                                                               \
    X(wraps, "flows over the PSN wrap")                                                            \
    X(ipv6, "IPv6 queue pairs")                                                                    \
    X(roce_v1, "RoCEv1 queue pairs")                                                               \
    X(credits, "queue pairs with credits")                                                         \
    X(go_back_0, "go-back-0 queue pairs")                                                          \
    X(selective, "selective repeat queue pairs")                                                   \
    X(windows, "frames under a window")                                                            \
    X(waits, "waits for receives, nothing lost")                                                   \
    X(limited, "frames under a static rate")                                                       \
    X(rem_access, "REM_ACCESS_ERR")                                                                \
    X(rem_inv_req, "REM_INV_REQ_ERR")                                                              \
    X(rem_op, "REM_OP_ERR")                                                                        \
    X(loc_prot, "LOC_PROT_ERR")                                                                    \
    X(loc_len, "LOC_LEN_ERR")                                                                      \
    X(mw_bind, "MW_BIND_ERR")                                                                      \
    X(retry_exc, "RETRY_EXC_ERR")                                                                  \
    X(rnr_retry_exc, "RNR_RETRY_EXC_ERR")                                                          \
    X(flushes, "WR_FLUSH_ERR")                                                                     \
    X(drains, "drained")                                                                           \
    X(kills, "to ERR")                                                                             \
    X(resets, "reset")                                                                             \
    X(destroys, "destroyed")                                                                       \
    X(no_source, "source revoked")                                                                 \
    X(no_target, "target revoked")                                                                 \
    X(no_results, "results revoked")                                                               \
    X(no_slots, "receives revoked")                                                                \
    X(last_events, "LAST_WQE events")                                                              \
    X(limit_events, "SRQ_LIMIT events")                                                            \
    X(drain_events, "SQ_DRAINED events")                                                           \
    X(retransmitted, "packets again")                                                              \
    X(timeouts, "timeouts")                                                                        \
    X(sequence_naks, "sequence NAKs")                                                              \
    X(rnr_naks, "RNR NAKs")                                                                        \
    X(duplicates, "duplicates")                                                                    \
    X(cnps, "CNPs")                                                                                \
    X(simulated_ps, "ps simulated")

struct sim_seen {
#define SIM_SEEN_MEMBER(name, text) uint64_t name;
    SIM_SEEN(SIM_SEEN_MEMBER)
#undef SIM_SEEN_MEMBER
};

struct sim_side_counters {
    uint64_t sent, delivered; /* frames */
    uint64_t drops[WIRE_DROP_COUNT];
};

struct sim_faults { /* what the line did, for the minimiser */
    struct sim_fault *list;
    uint32_t n, cap;
};

struct sim {
    struct sim_plan plan;
    struct sim_host hosts[SIM_SIDES];
    struct sim_progress progress[SIM_SIDES][SIM_QPS_MAX]; /* by sending side */
    uint32_t qp_frames[SIM_QPS_MAX];
    struct sim_side_counters counters[SIM_SIDES];
    uint64_t now_ps;
    bool verbose, trace;
    bool failed;
    bool ended; /* nothing moves any more; a trace record may have moved now_ps last */
    char why[400];
    const char *kind;    /* of failure: its words without numbers */
    uint64_t hash;       /* of every frame, completion and event */
    uint64_t trace_hash; /* and of every trace record */
    uint64_t traces;
    enum sim_spoil spoil;
    uint32_t spoil_in; /* chances to let pass */
    bool spoiled;
    uint64_t steps;
    struct sim_seen seen;
    struct sim_faults *faults; /* NULL: nobody wants to know */
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

/** A frame leaves a card: into the hash, and is it one that may leave? (sim_frame.c) */
void sim_frame_sent(struct sim *sim, uint32_t side, const struct wire_frame *frame,
                    uint32_t ready_classes, uint64_t now_ps);
/** A whole frame is about to reach a card. */
void sim_frame_arrives(struct sim *sim, uint32_t side, const struct wire_frame *frame);
/** Drain a card's events. */
void sim_events(struct sim *sim, uint32_t side, uint64_t now_ps);
void sim_event(struct sim *sim, uint32_t side, const struct rnic_event *event, uint64_t now_ps);

/** Run the plan until nothing moves: over our link, or in the engine. */
void sim_link_run(struct sim *sim);
void sim_fabric_run(struct sim *sim);

/* ---- the line (sim_line.c) ---- */

/** What happens to copy @p copy of a frame: list[0 .. return). Draws, or looks the script up. */
uint32_t sim_line_faults(struct sim *sim, struct wire_rng *rng, uint32_t side, uint32_t frame,
                         uint32_t copy, struct sim_fault list[SIM_FAULTS]);
/** Hit some bits of n bytes, or cut them off, as @p value says. @return bytes left */
size_t sim_line_hit(uint64_t value, uint8_t *bytes, size_t n);
/** Is all that must be as it was in a frame the codec lets through? */
bool sim_line_same(const struct wire_frame *a, const struct wire_frame *b);
const char *sim_line_fault_name(uint32_t kind);

/* ---- the model (sim_model.c) ---- */

/** The message of a send, as its pieces give it. */
void sim_model_gather(const struct sim *sim, uint32_t from, const struct sim_send *send,
                      uint8_t *message);
/** Carry out the WRITEs of a flow before send @p end on `after`. */
void sim_model_write(struct sim *sim, uint32_t from, uint32_t q, uint32_t end);
/** Put a message into `after` where a receive has it, behind its first @p skip bytes. */
void sim_model_receive(struct sim *sim, uint32_t side, const struct sim_recv *recv, uint32_t skip,
                       const uint8_t *message, uint32_t bytes);
/** What a READ or an atomic brought: right? Then `after` has it too. */
void sim_model_fetched(struct sim *sim, uint32_t from, uint32_t q, uint32_t index);
/** Are the returns of all atomics on the words of @p side those of one serial execution? */
void sim_model_atomics(struct sim *sim, uint32_t side);

/* ---- what errors there may be (sim_expect.c) ---- */

/** May send @p index of this queue end with @p status? NULL or why not. */
const char *sim_expect_error(const struct sim *sim, uint32_t side, uint32_t q, uint32_t index,
                             enum rnic_wc_status status);
/** May this queue pair be broken without an error of its own sends? */
bool sim_expect_flush(const struct sim *sim, uint32_t side, uint32_t q);
/** Has this direction come through whole, or must it? */
bool sim_expect_well(const struct sim *sim, uint32_t side, uint32_t q);

/** At the end: memory, completions, counters, nothing left anywhere. */
void sim_check_end(struct sim *sim);
/** ... of memory (sim_check_memory.c). */
void sim_check_memory(struct sim *sim, uint32_t side);
/** Bytes [at, at + n) of a side are these. */
void sim_check_bytes(struct sim *sim, uint32_t side, uint32_t at, const uint8_t *wanted, uint32_t n,
                     const char *when);
/** Bytes of one message that is done are where they must be. */
void sim_check_message(struct sim *sim, uint32_t from, uint32_t q, uint32_t index);
/** ... in this receive, behind its first @p skip bytes. */
void sim_check_received(struct sim *sim, uint32_t side, const struct sim_recv *recv, uint32_t skip,
                        const uint8_t *message, uint32_t bytes);

const char *sim_side_name(uint32_t side);
const char *sim_opcode_name(enum rnic_wr_opcode opcode);
/** The plan, for people (sim_tell.c). */
void sim_tell(const struct sim *sim);

struct sim_options {
    enum sim_spoil spoil;
    bool verbose;
    uint32_t again; /* run every Nth seed a third time; 0: never */
    bool once;      /* the first run only */
    const struct sim_edit *edit;
    struct sim_faults *faults; /* out, when not NULL: what the line did */
};

struct sim_result {
    bool failed, spoiled;
    char why[400];
    char kind[200];
    struct sim_seen seen;
};

/** One seed: without tracing, with it, and every Nth with it again. */
struct sim_result sim_run_seed(uint64_t seed, const struct sim_options *options);

struct sim_smallest { /* what the minimiser came to */
    uint32_t sends_before, sends, faults;
};

/**
 * Shrink a failing seed and tell what is left.
 * @param smallest  out; may be NULL
 * @return 0, or 1: it does not fail
 */
int sim_minimise(uint64_t seed, const struct sim_options *options, struct sim_smallest *smallest);

#endif
