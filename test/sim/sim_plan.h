/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The plan of one seed: cards, link, queue pairs, every work request, and where its bytes lie.
 * All of it follows from the seed (and from an edit of the minimiser); nothing here calls the card.
 *
 * Side 0 is A, side 1 is B. A flow is one direction of a queue pair: the sends of one side. A pool
 * is one receive queue: a queue pair's own, or the one that queue pairs of a side share.
 * Memory is one arena a side, guard bytes between its regions:
 *   source    what SENDs and WRITEs gather, and READs of the peer fetch; nobody writes it
 *   words     8-byte words the peer's atomics work on
 *   target    one a flow that comes in: what its WRITEs hit, and some of its READs fetch
 *   results   one a flow that goes out: where its READs and atomics put what they got
 *   slots     one a pool: where receives lie
 *
 * Owns   the arenas `before` and `after`
 */
#ifndef SIM_PLAN_H
#define SIM_PLAN_H

#include "fabric_switch.h"
#include "rnic_device.h"
#include "wire_rng.h"

#define SIM_SIDES 2u
#define SIM_QPS_MAX 8u
#define SIM_POOLS (SIM_QPS_MAX + 1u)
#define SIM_SHARED SIM_QPS_MAX /* the pool that is a shared receive queue */
#define SIM_SENDS_MAX 24u
#define SIM_RECVS_MAX (4u * SIM_SENDS_MAX * SIM_QPS_MAX)
#define SIM_PIECES_MAX 4u
#define SIM_CQS_MAX 4u
#define SIM_WORDS 4u
#define SIM_MESSAGE_MAX 65536u
#define SIM_GUARD_BYTES 64u
#define SIM_NONE UINT32_MAX

/* How a queue pair ends. From REFUSED to BIND one send of one side fails. */
enum sim_ending {
    SIM_ENDS_WELL,
    SIM_ENDS_IN_SILENCE,  /* from some frame on nothing arrives: RETRY_EXC_ERR, the rest flushed */
    SIM_ENDS_REFUSED,     /* the peer refuses: REM_ACCESS_ERR, REM_INV_REQ_ERR */
    SIM_ENDS_NOT_READY,   /* a receive is never posted: RNR_RETRY_EXC_ERR */
    SIM_ENDS_LOCAL,       /* a piece of a message may not be touched: LOC_PROT_ERR */
    SIM_ENDS_TOO_LONG,    /* the receive is too short: REM_INV_REQ_ERR, and LOC_LEN_ERR there */
    SIM_ENDS_RECV_KEY,    /* the receive's key is bad: REM_OP_ERR, and LOC_PROT_ERR there */
    SIM_ENDS_BIND,        /* a window can not be bound: MW_BIND_ERR */
    SIM_ENDS_INTERRUPTED, /* by an incident */
    SIM_ENDS_ANYHOW,      /* go-back-0 on a bad line: well, or in RETRY_EXC_ERR */
    SIM_ENDINGS
};

enum sim_refusal {
    SIM_BAD_RKEY,
    SIM_BAD_BOUNDS,
    SIM_BAD_ACCESS, /* the key does not allow it */
    SIM_BAD_WINDOW, /* bound by nobody */
    SIM_BAD_PLACE,  /* atomic at an odd address */
    SIM_REFUSALS
};

/* What a host does in the middle of the traffic. */
enum sim_incident_kind {
    SIM_INCIDENT_NONE,
    SIM_INCIDENT_DRAIN, /* to SQD and back to RTS: harmless */
    SIM_INCIDENT_ERR,
    SIM_INCIDENT_RESET,
    SIM_INCIDENT_DESTROY,
    SIM_INCIDENT_NO_SOURCE, /* deregister: the key of one's own messages */
    SIM_INCIDENT_NO_TARGET, /* ... of what the peer writes and reads */
    SIM_INCIDENT_NO_RESULTS,
    SIM_INCIDENT_NO_SLOTS,
    SIM_INCIDENTS
};

struct sim_incident {
    enum sim_incident_kind kind;
    uint32_t side;
    uint32_t frames;   /* of this queue pair that have left both cards by then */
    uint64_t until_ps; /* DRAIN: so long */
    bool notify;       /* DRAIN: ask for the event */
};

struct sim_piece { /* of an arena */
    uint32_t at, bytes;
};

struct sim_region {
    uint32_t at, bytes; /* in the arena; 0 bytes: not registered */
    uint64_t va;
};

struct sim_send {
    enum rnic_wr_opcode opcode;
    bool signaled, solicited, fence, inlined;
    bool reads_target; /* READ: what this flow's WRITEs wrote, else the source */
    bool via_window;   /* WRITE, READ, WITH_INV: with the key of the window of this flow */
    bool unbinds;      /* BIND_MW of nothing */
    bool bad_qkey;     /* UD: nobody takes it */
    uint32_t imm;
    uint32_t bytes;
    uint32_t packets; /* PSNs; READ: those of its responses; local operations: 0 */
    uint32_t n;
    struct sim_piece piece[SIM_PIECES_MAX]; /* gathered; READ, atomics: filled */
    uint32_t remote;   /* WRITE, READ: place in the peer's arena; atomics: number of the word */
    uint32_t consumer; /* so many sends before it took a receive; SIM_NONE: it takes none */
    uint64_t add, swap;
    uint32_t dest; /* UD: queue pair of the peer */
};

struct sim_recv {
    uint32_t n;
    struct sim_piece to[SIM_PIECES_MAX];
    bool bad_key;
};

struct sim_pool {
    uint32_t n;
    struct sim_recv recvs[SIM_RECVS_MAX];
    uint32_t depth;
    uint32_t first;       /* receives posted before anything is sent */
    uint64_t gap_ps;      /* at most, between posts of the others */
    uint32_t limit;       /* shared: event below it; 0: none */
    uint32_t least_bytes; /* size of each, 0: made to measure for the flow's messages */
    struct sim_region slots;
};

/* A window of the receiving side on the target of a flow. */
struct sim_window {
    bool used;
    uint32_t bound_at;    /* send of the other direction that binds it: BIND_MW */
    uint32_t ended_at;    /* ... that ends it: LOCAL_INV, or BIND_MW of nothing; SIM_NONE */
    uint32_t released_at; /* send of this flow that ends it: SEND_WITH_INV; SIM_NONE */
};

struct sim_flow {
    uint32_t n_sends;
    struct sim_send sends[SIM_SENDS_MAX];
    uint32_t consumers; /* sends that take a receive */
    uint32_t packets;   /* PSNs of all */
    uint32_t requests;  /* frames of all, each once */
    uint32_t fails_at;  /* index of the send that must fail, SIM_NONE */
    bool sig_all;
    bool overlap; /* WRITEs may hit the same bytes; the last one stays */
    wire_psn psn;
    uint32_t sq_depth;
    struct sim_region target;  /* at the receiving side */
    struct sim_region results; /* at the sending side */
    struct sim_window window;
    uint64_t start_ps;    /* posting begins; the sender's RTR to RTS happens here */
    uint64_t send_gap_ps; /* at most, between posts; 0: all at once */
};

struct sim_qp {
    enum rnic_qp_type type;
    enum sim_ending ending;
    uint32_t failing; /* side whose send fails */
    enum sim_refusal refusal;
    struct sim_incident incident;
    uint32_t mtu_bytes;
    uint8_t dscp;
    bool ipv6, roce_v1;
    enum rnic_recovery recovery;
    bool credits;
    uint8_t rnr_retry;            /* when NOT_READY; others never give up */
    bool shared[SIM_SIDES];       /* receives come from the shared queue */
    uint8_t rd_atomic[SIM_SIDES]; /* by requesting side */
    uint32_t window_bytes[SIM_SIDES];
    uint64_t rate_bps[SIM_SIDES]; /* static; 0: none */
    uint32_t inline_bytes[SIM_SIDES];
};

struct sim_line { /* one direction */
    uint64_t rate_bps, delay_ps;
};

enum sim_fault_kind {
    SIM_FAULT_LOSS,
    SIM_FAULT_FCS,  /* hit, and the line knows */
    SIM_FAULT_HIT,  /* value: what is hit */
    SIM_FAULT_LATE, /* value: by so much */
    SIM_FAULT_TWICE,
    SIM_FAULT_STALL, /* late beyond the retry timer */
    SIM_FAULT_MARK,
    SIM_FAULTS
};

/* What the line does to one frame, or to a copy of it. */
struct sim_fault {
    uint64_t value;
    uint32_t side, frame; /* the frame-th that left this side's card, from 0 */
    uint16_t copy;        /* 0: the frame itself */
    uint16_t kind;
};

struct sim_link_plan {
    struct sim_line line[SIM_SIDES]; /* from side */
    double chance[SIM_FAULTS];
    uint64_t jitter_ps;             /* reordered and duplicated frames come up to this much later */
    uint64_t stall_ps;              /* least of a stall; at most twice that */
    uint32_t stalls;                /* at most so many */
    uint32_t pauses;                /* per direction */
    uint64_t pause_ps, run_ps;      /* longest pause, longest stretch between two */
    bool wire;                      /* encode and decode every frame */
    uint32_t silent_after;          /* frames put on the line until nothing arrives any more */
    const struct sim_fault *script; /* instead of chances; sorted as they were drawn */
    uint32_t n_script;
    bool scripted;
};

struct sim_fabric_plan { /* instead of our own link: the real engine, and perhaps a switch */
    bool used, has_switch;
    double loss;
    struct fabric_params params;
    uint64_t reaction_ps;
};

struct sim_card {
    struct rnic_params params;
    const struct rnic_cc_ops *cc;
    struct rnic_dcqcn_params dcqcn;
    uint32_t n_cqs;
    uint32_t send_cq[SIM_QPS_MAX], recv_cq[SIM_QPS_MAX];
    bool polls;       /* else it waits for events */
    bool solicited;   /* ... of solicited completions only, where they are all of RC receives */
    uint64_t poll_ps; /* period, or longest delay of a handler */
    uint32_t batch;   /* completions asked for in one poll */
    struct sim_region source, words;
    uint32_t arena_bytes;
    uint8_t *before;
    uint8_t *after; /* what memory must hold; the model moves it on as work completes */
};

struct sim_plan {
    uint64_t seed;
    bool silence;       /* the whole run ends in silence */
    bool faultless;     /* nothing is lost or late: nothing may be sent twice */
    bool phantom;       /* regions have sizes, but no bytes */
    uint32_t mtu_bytes; /* of the cards */
    uint32_t n_qps;
    uint8_t timeout, retry_cnt, rnr_timer[SIM_SIDES];
    struct sim_link_plan link;
    struct sim_fabric_plan fabric;
    struct sim_card cards[SIM_SIDES];
    struct sim_qp qps[SIM_QPS_MAX];
    struct sim_flow flows[SIM_SIDES][SIM_QPS_MAX]; /* by sending side */
    struct sim_pool pools[SIM_SIDES][SIM_POOLS];   /* by receiving side */
};

/* What the minimiser leaves out. */
struct sim_edit {
    uint32_t drop[SIM_SIDES][SIM_QPS_MAX];      /* bit i: send i */
    uint32_t cap_bytes[SIM_SIDES][SIM_QPS_MAX]; /* longest message; 0: any */
    bool no_fabric, no_pauses, no_gaps, no_incidents, no_wire, no_cuts, plain_cards;
    bool scripted;
    const struct sim_fault *faults;
    uint32_t n_faults;
};

/** Draw the plan of @p seed, and change it by @p edit (may be NULL). False: out of memory. */
bool sim_plan_make(struct sim_plan *plan, uint64_t seed, const struct sim_edit *edit);
void sim_plan_free(struct sim_plan *plan);

/* ---- parts of it ---- */

/** Draw link, fabric and their faults (sim_plan_link.c). */
void sim_plan_link(struct sim_plan *plan, struct wire_rng *rng);
/** Draw the kinds of queue pairs (sim_plan_qp.c). */
void sim_plan_qps(struct sim_plan *plan, struct wire_rng *rng);
/** Draw the work requests of every flow, at most @p packets in all (sim_plan_flow.c). */
void sim_plan_flows(struct sim_plan *plan, struct wire_rng *rng, uint32_t packets);
/** Make one send of each queue pair fail that is to fail (sim_plan_fail.c). */
void sim_plan_fail(struct sim_plan *plan, struct wire_rng *rng);
/** Leave out what the edit says (sim_plan_edit.c). */
void sim_plan_edit(struct sim_plan *plan, const struct sim_edit *edit);
/** Signals, counts and receives, from the sends as they now are (sim_plan_recv.c). */
void sim_plan_finish(struct sim_plan *plan, struct wire_rng *rng);
/** Lay out the arenas and fill them (sim_plan_memory.c). False: no memory. */
bool sim_plan_memory(struct sim_plan *plan, struct wire_rng *rng);

/** Cut @p bytes into pieces, some empty; none at all for 0 at times. @return number of pieces */
uint32_t sim_plan_cut(struct wire_rng *rng, uint32_t bytes, struct sim_piece *pieces);

static inline bool sim_plan_is_write(enum rnic_wr_opcode opcode)
{
    return opcode == RNIC_WR_RDMA_WRITE || opcode == RNIC_WR_RDMA_WRITE_WITH_IMM;
}

static inline bool sim_plan_is_send(enum rnic_wr_opcode opcode)
{
    return opcode == RNIC_WR_SEND || opcode == RNIC_WR_SEND_WITH_IMM ||
           opcode == RNIC_WR_SEND_WITH_INV;
}

static inline bool sim_plan_is_atomic(enum rnic_wr_opcode opcode)
{
    return opcode == RNIC_WR_ATOMIC_CMP_AND_SWP || opcode == RNIC_WR_ATOMIC_FETCH_AND_ADD;
}

/* READ and atomics: the answer brings data. */
static inline bool sim_plan_fetches(enum rnic_wr_opcode opcode)
{
    return opcode == RNIC_WR_RDMA_READ || sim_plan_is_atomic(opcode);
}

static inline bool sim_plan_is_local(enum rnic_wr_opcode opcode)
{
    return opcode == RNIC_WR_LOCAL_INV || opcode == RNIC_WR_BIND_MW;
}

static inline bool sim_plan_has_imm(enum rnic_wr_opcode opcode)
{
    return opcode == RNIC_WR_RDMA_WRITE_WITH_IMM || opcode == RNIC_WR_SEND_WITH_IMM;
}

static inline bool sim_plan_consumes(enum rnic_wr_opcode opcode)
{
    return sim_plan_is_send(opcode) || opcode == RNIC_WR_RDMA_WRITE_WITH_IMM;
}

static inline uint32_t sim_plan_packets(enum rnic_wr_opcode opcode, uint32_t bytes, uint32_t mtu)
{
    if (sim_plan_is_local(opcode))
        return 0;
    return bytes == 0 || sim_plan_is_atomic(opcode) ? 1 : (bytes + mtu - 1) / mtu;
}

/** Pool from which queue pair @p q of @p side takes its receives. */
static inline uint32_t sim_plan_pool(const struct sim_plan *plan, uint32_t side, uint32_t q)
{
    return plan->qps[q].shared[side] ? SIM_SHARED : q;
}

#endif
