/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The plan of one seed: cards, link, queue pairs, every work request, and what memory must hold
 * in the end. All of it follows from the seed; nothing here calls the card.
 *
 * Side 0 is A, side 1 is B. A flow is one direction of a queue pair: the sends of one side and the
 * receives of the other. Memory is one arena a side: a source region, and for each flow that comes
 * in a region that WRITEs hit and one that receives lie in, guard bytes between them.
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
#define SIM_SENDS_MAX 24u
#define SIM_RECVS_MAX (SIM_SENDS_MAX + 2u)
#define SIM_PIECES_MAX 4u
#define SIM_CQS_MAX 4u
#define SIM_GUARD_BYTES 64u
#define SIM_NONE UINT32_MAX

enum sim_ending {
    SIM_ENDS_WELL,
    SIM_ENDS_IN_SILENCE, /* from some frame on nothing arrives: RETRY_EXC_ERR, the rest flushed */
    /* The others: one send of the first queue pair of A fails, those behind it are flushed. */
    SIM_ENDS_REFUSED,   /* a WRITE has no right to its target: REM_ACCESS_ERR */
    SIM_ENDS_NOT_READY, /* a receive is never posted: RNR_RETRY_EXC_ERR */
    SIM_ENDS_LOCAL,     /* a piece of a message may not be read: LOC_PROT_ERR */
};

enum sim_refusal { SIM_BAD_RKEY, SIM_BAD_BOUNDS, SIM_BAD_ACCESS, SIM_REFUSALS };

struct sim_piece { /* of an arena */
    uint32_t at, bytes;
};

struct sim_region {
    uint32_t at, bytes; /* in the arena; 0 bytes: not registered */
    uint64_t va;
    unsigned access;
};

struct sim_send {
    enum rnic_wr_opcode opcode;
    bool signaled, solicited;
    uint32_t imm;
    uint32_t bytes;
    uint32_t packets;
    uint32_t n;
    struct sim_piece from[SIM_PIECES_MAX];
    uint32_t to;   /* WRITE: place in the peer's arena */
    uint32_t recv; /* receive it uses, SIM_NONE */
};

struct sim_recv {
    uint32_t n;
    struct sim_piece to[SIM_PIECES_MAX];
    uint32_t send; /* send that uses it, SIM_NONE: left over */
};

struct sim_flow {
    uint32_t n_sends, n_recvs;
    struct sim_send sends[SIM_SENDS_MAX];
    struct sim_recv recvs[SIM_RECVS_MAX];
    uint32_t used_recvs;
    uint64_t packets;
    uint32_t fails_at; /* index of the send that must fail, SIM_NONE */
    bool sig_all;
    bool overlap; /* WRITEs may hit the same bytes; the last one stays */
    wire_psn psn;
    uint32_t sq_depth, rq_depth;
    struct sim_region target, slots;   /* at the receiving side */
    uint64_t start_ps;                 /* posting begins; the sender's RTR to RTS happens here */
    uint64_t send_gap_ps, recv_gap_ps; /* at most, between posts; 0: all at once */
    uint32_t recv_first;               /* receives posted before anything is sent */
};

struct sim_line { /* one direction */
    uint64_t rate_bps, delay_ps;
};

struct sim_link_plan {
    struct sim_line line[SIM_SIDES]; /* from side */
    double loss, corrupt, duplicate, reorder, mark;
    uint64_t jitter_ps;        /* reordered and duplicated frames come up to this much later */
    uint32_t pauses;           /* per direction */
    uint64_t pause_ps, run_ps; /* longest pause, longest stretch between two */
    bool wire;                 /* encode and decode every frame */
    uint32_t silent_after;     /* frames put on the line until nothing arrives any more */
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
    uint64_t poll_ps; /* period, or longest delay of a handler */
    uint32_t batch;   /* completions asked for in one poll */
    struct sim_region source;
    uint32_t arena_bytes;
    uint8_t *before, *after;
};

struct sim_plan {
    uint64_t seed;
    enum sim_ending ending;
    enum sim_refusal refusal;
    bool faultless; /* nothing is lost or late: nothing may be sent twice */
    bool phantom;   /* regions have sizes, but no bytes */
    uint32_t mtu_bytes;
    uint32_t n_qps;
    uint8_t timeout, retry_cnt, rnr_timer[SIM_SIDES];
    uint8_t rnr_retry; /* of the queue pair that fails; others never give up */
    uint8_t dscp[SIM_QPS_MAX];
    bool ipv6[SIM_QPS_MAX];
    struct sim_link_plan link;
    struct sim_fabric_plan fabric;
    struct sim_card cards[SIM_SIDES];
    struct sim_flow flows[SIM_SIDES][SIM_QPS_MAX]; /* by sending side */
};

/** Draw the plan of @p seed. False: out of memory. */
bool sim_plan_make(struct sim_plan *plan, uint64_t seed);
void sim_plan_free(struct sim_plan *plan);

/* ---- parts of it, sim_plan_flow.c ---- */

/** Draw the work requests of every flow, at most @p packets packets in all. */
void sim_plan_flows(struct sim_plan *plan, struct wire_rng *rng, uint32_t packets);

/** Lay out the arenas, fill `before`, carry out every work request on `after`. False: no memory. */
bool sim_plan_memory(struct sim_plan *plan, struct wire_rng *rng);

static inline bool sim_plan_is_write(enum rnic_wr_opcode opcode)
{
    return opcode == RNIC_WR_RDMA_WRITE || opcode == RNIC_WR_RDMA_WRITE_WITH_IMM;
}

static inline bool sim_plan_has_imm(enum rnic_wr_opcode opcode)
{
    return opcode == RNIC_WR_RDMA_WRITE_WITH_IMM || opcode == RNIC_WR_SEND_WITH_IMM;
}

#endif
