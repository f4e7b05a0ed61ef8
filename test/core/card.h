/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Cards on a bench: a few cards, wires between them, no engine. What the protocol tests share.
 *
 * Every frame that leaves a card goes to the log (a copy) and through the test's tap, which may
 * pass, drop or change it, or take it off the wire and send it later, twice or never. Time jumps
 * from event to event; timers run through rnic_next_wake as the engine would run them.
 *
 *   struct card_bench bench;
 *   struct card_options options = card_options_ideal();
 *   card_bench_open(&bench, 2, &options);       two cards, a queue pair each, joined
 *   card_write(&bench.cards[0], 1, 0, 0, 5000); WRITE of 5000 bytes, wr_id 1
 *   card_bench_run(&bench, WIRE_NEVER);         until nothing is left to happen
 *   card_expect(&bench.cards[0], bench.cards[0].send_cq, 1, RNIC_WC_SUCCESS);
 *   card_bench_close(&bench);
 */
#ifndef CARD_H
#define CARD_H

#include "check.h"
#include "rnic_device.h"
#include "wire_codec.h"
#include "wire_rng.h"

#define CARD_CARDS 4u
#define CARD_MTU_MAX 4096u
#define CARD_VA 0x7F0000000000u /* of every card's buffer */
#define CARD_QKEY 0x11111111u
#define CARD_ACCESS_ALL                                                                            \
    (RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |                \
     RNIC_ACCESS_REMOTE_ATOMIC | RNIC_ACCESS_MW_BIND)

struct card_options {
    struct rnic_params params;
    const struct rnic_cc_ops *cc;
    uint64_t line_bps;
    uint64_t delay_ps; /* of the wire */
    uint32_t mtu_bytes;
    uint32_t psn;   /* first PSN of both directions */
    uint32_t depth; /* of send and receive queue */
    uint32_t cqe;
    uint32_t sge;
    size_t bytes; /* buffer of each card */
    bool phantom; /* sizes only */
    bool sig_all;
    unsigned access; /* of buffer and queue pair */
    enum rnic_qp_type type;
    enum rnic_recovery recovery;
    uint32_t window_bytes;
    bool e2e_credits;
    uint8_t rd_atomic;  /* READs and atomics outstanding, in both directions */
    uint32_t srq_depth; /* each card has a shared receive queue, and its queue pairs use it */
};

struct card {
    struct card_bench *bench;
    struct rnic_device *dev;
    uint32_t station;
    uint32_t pd, send_cq, recv_cq, qpn, key; /* the first of each */
    uint32_t srq;                            /* 0: none */
    uint8_t *bytes;                          /* buffer at CARD_VA */
    size_t n_bytes;
    void *blocks[64]; /* memory given to the card */
    uint32_t n_blocks;
    uint64_t mac_free_ps;
    uint32_t ready_classes; /* what the MAC may pull */
    uint32_t events[RNIC_EVENT_TYPES];
    struct rnic_event last[RNIC_EVENT_TYPES];
};

/* One frame on a wire. */
struct card_flight {
    struct card_flight *next;
    struct wire_frame frame; /* payload: own slot */
    struct card *from;
    uint64_t left_ps, arrives_ps;
    uint64_t order;
};

enum card_tap_verdict { CARD_PASS, CARD_DROP, CARD_KEEP /* the tap has taken the flight */ };

struct card_log_entry {
    struct wire_frame frame; /* payload pointer is worth nothing */
    uint32_t from;           /* station */
    uint64_t left_ps;
};

struct card_bench {
    struct card cards[CARD_CARDS];
    uint32_t n;
    struct card_options options;
    uint64_t now_ps;
    struct card_flight *flying; /* by arrival */
    uint64_t flights;
    enum card_tap_verdict (*tap)(struct card_bench *bench, struct card_flight *flight);
    void (*on_event)(struct card_bench *bench, struct card *card, const struct rnic_event *event);
    uint64_t scratch[8]; /* the tap's */
    struct card_flight *kept;
    struct card_log_entry *log;
    size_t log_n, log_cap;
    enum wire_drop last_drop; /* what the last rnic_rx said */
    uint32_t drops[WIRE_DROP_COUNT];
};

/** Everything 0 and unlimited (rnic_params_ideal), 100G, no wire delay, MTU 1024, sig_all. */
struct card_options card_options_ideal(void);
/** The default card. */
struct card_options card_options_default(void);

/** @p n cards; cards 0 and 1 have a connected queue pair each. */
void card_bench_open(struct card_bench *bench, uint32_t n, const struct card_options *options);
void card_bench_close(struct card_bench *bench);

/** Give the card the memory it asks for. */
void card_feed(struct card *card);

/** A verb succeeds, once it has all the memory it asks for. */
#define CARD_OK(card, call)                                                                        \
    do {                                                                                           \
        int ok_err;                                                                                \
                                                                                                   \
        while ((ok_err = (call)) == RNIC_ERR_NOMEM)                                                \
            card_feed(card);                                                                       \
        CHECK_EQ(ok_err, 0);                                                                       \
    } while (0)

/** Queue pair with the bench's options, in RESET. */
uint32_t card_new_qp(struct card *card, uint32_t send_cq, uint32_t recv_cq);
/** Attributes of a queue pair of @p card whose peer is @p qpn of @p peer. */
struct rnic_qp_attr card_attr(const struct card *card, const struct card *peer, uint32_t qpn);
/** From RESET to @p state (INIT, RTR or RTS). */
void card_to_state(struct card *card, uint32_t qpn, const struct rnic_qp_attr *attr,
                   enum rnic_qp_state state);
/** From RESET to RTS, both. */
void card_join(struct card *a, uint32_t a_qpn, struct card *b, uint32_t b_qpn);

/* ---- posting on the first queue pair; offsets are into the buffers ---- */

/** Send request of @p bytes at @p from to @p to, as card_write makes it; one entry in *sge. */
struct rnic_send_wr card_wr(const struct card *card, enum rnic_wr_opcode opcode, uint64_t wr_id,
                            size_t from, size_t to, uint32_t bytes, struct rnic_sge *sge);
void card_post(struct card *card, enum rnic_wr_opcode opcode, uint64_t wr_id, size_t from,
               size_t to, uint32_t bytes);
static inline void card_write(struct card *card, uint64_t wr_id, size_t from, size_t to,
                              uint32_t bytes)
{
    card_post(card, RNIC_WR_RDMA_WRITE, wr_id, from, to, bytes);
}
static inline void card_send(struct card *card, uint64_t wr_id, size_t from, uint32_t bytes)
{
    card_post(card, RNIC_WR_SEND, wr_id, from, 0, bytes);
}
/** Receive request, on the shared receive queue when the card has one. */
void card_recv(struct card *card, uint64_t wr_id, size_t to, uint32_t bytes);

/* ---- completions ---- */

/** Poll one completion. @return false: none visible. */
bool card_poll(struct card *card, uint32_t cq, struct rnic_wc *wc);
/** The next completion is this one. */
struct rnic_wc card_expect(struct card *card, uint32_t cq, uint64_t wr_id,
                           enum rnic_wc_status status);
void card_expect_none(struct card *card, uint32_t cq);
enum rnic_qp_state card_state(const struct card *card, uint32_t qpn);
struct rnic_qp_counters card_counters(const struct card *card, uint32_t qpn);

/* ---- time ---- */

/**
 * Run until @p until_ps (then that is the time), or with WIRE_NEVER until nothing is left to
 * happen and 10 us more, so that all completions are visible. Events are drained into card->events.
 */
void card_bench_run(struct card_bench *bench, uint64_t until_ps);

/** Deliver a frame at the present time, whoever made it; @return what the card said. */
enum wire_drop card_deliver(struct card_bench *bench, struct card *to,
                            const struct wire_frame *frame);
/** Put a flight that the tap has kept, or a copy of one, (back) on the wire, arriving at once. */
void card_fly(struct card_bench *bench, struct card_flight *flight);
struct card_flight *card_copy(const struct card_flight *flight);
void card_flight_free(struct card_flight *flight);

/** Post an opaque frame; @p tag is found in its ip_id. */
void card_raw(struct card *card, uint8_t prio, uint32_t frame_bytes, uint32_t tag);

/** An acknowledge (or NAK) for card @p to as its peer would send it. */
struct wire_frame card_ack(const struct card *to, uint32_t psn, uint8_t syndrome, uint32_t msn);
/**
 * A request for card @p to as its peer would send it: @p bytes of phantom payload (READ: asked for;
 * atomics: ignored) to the start of its buffer, AckReq set. @p psn counts from the bench's first.
 */
struct wire_frame card_request(const struct card *to, uint8_t opcode, uint32_t psn, uint32_t bytes);

/* ---- the log ---- */

/** Entries of the log from @p station with a request (or, @p request false, an answer). */
size_t card_log_count(const struct card_bench *bench, uint32_t station, bool request);
/** The i-th of them. */
const struct card_log_entry *card_log_at(const struct card_bench *bench, uint32_t station,
                                         bool request, size_t i);
/** Put numbers into @p bytes that depend on @p seed and place. */
void card_fill(uint8_t *bytes, size_t n, uint64_t seed);

#endif
