/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * QP table and QP cache: the state of every queue pair, split by the block that owns it, and the
 * state machine as data.
 *
 * Owns   queue pairs, their cache, the table of transitions
 * Spec   IBTA Vol 1 10.3 (QP states), 11.2.5 (modify QP); ibv_modify_qp(3)
 * Cost   find O(1): the QPN is the index
 */
#ifndef RNIC_TABLE_QP_H
#define RNIC_TABLE_QP_H

#include "rnic_cache.h"
#include "rnic_cc.h"
#include "rnic_params.h"
#include "rnic_ring.h"
#include "rnic_rx_cnp.h"
#include "rnic_rx_hold.h"
#include "rnic_rx_respond.h"
#include "rnic_table_cq.h"
#include "rnic_table_srq.h"
#include "rnic_tx_replay.h"
#include "rnic_tx_sack.h"
#include "rnic_verbs.h"
#include "wire_frame.h"
#include "wire_opcode.h"

#define RNIC_QPN_FIRST 2u /* 0 and 1 are the management queue pairs */

enum rnic_flow_place { /* where the TX scheduler has it */
                       RNIC_FLOW_NOWHERE,
                       RNIC_FLOW_IN_FIFO, /* eligible */
                       RNIC_FLOW_IN_HEAP, /* will be eligible at pull_ps */
};

enum rnic_flow_kind { RNIC_FLOW_REQUEST, RNIC_FLOW_RESPONSE };

/* One line of packets of a queue pair: its requests, or its answers to READs and atomics. */
struct rnic_tx_flow {
    struct rnic_tx_flow *next; /* FIFO link */
    struct rnic_qp *qp;
    uint64_t pull_ps;  /* earliest time the MAC may pull its next packet */
    uint64_t cause_ps; /* since when the card may work on it */
    uint32_t heap_at;  /* index in the heap */
    uint8_t place;     /* enum rnic_flow_place */
    uint8_t kind;      /* enum rnic_flow_kind */
    uint8_t prio;      /* traffic class of its next packet; set while it stands nowhere */
};

enum rnic_resp_nak { RNIC_RESP_OPEN, RNIC_RESP_SEQ_NAK, RNIC_RESP_RNR_NAK };

/* Responder: what RX PSN check and placement know of the peer's requests. */
struct rnic_resp {
    wire_psn psn;         /* expected */
    uint32_t msn;         /* messages completed, 24 bits */
    uint32_t message_is;  /* WIRE_IS_SEND or WIRE_IS_WRITE while a message is open; else 0 */
    uint32_t rkey;        /* of the open WRITE */
    uint64_t va;          /* next byte of the open WRITE */
    uint32_t remaining;   /* bytes of the open WRITE to come */
    uint32_t received;    /* bytes of the open message so far */
    uint64_t placed_ps;   /* when all data so far is visible: never goes back */
    wire_psn message_psn; /* first packet of the open message */
    uint8_t nak;          /* enum rnic_resp_nak: refused, and not yet sent again */
    bool established;     /* COMM_EST given */
};

struct rnic_qp {
    /* TX scheduler and packet build */
    struct rnic_tx_flow request;
    uint32_t sq_cur;     /* work request being sent */
    uint32_t cur_packet; /* and its next packet */
    uint32_t sq_una;     /* oldest work request not completed */
    uint32_t sq_end;     /* none from here on may be sent: the head, in SQD where it stopped */
    uint32_t qpn, dest_qpn;
    struct rnic_path path;
    wire_psn psn_post; /* of the next work request posted */
    uint32_t mtu_bytes;
    uint32_t max_in_flight; /* PSNs: the device's limit or the window */
    uint8_t state;          /* enum rnic_qp_state */
    uint8_t type;           /* enum rnic_qp_type */
    uint8_t mtu_shift;
    bool sq_failed; /* a work request can not be sent: stop there */
    bool sig_all;
    bool has_rules;      /* posted was more than SEND and WRITE, or it checks credits or repeats
                            selectively */
    bool checks_credits; /* of the peer, before a message that uses a receive request */
    bool drain_told;     /* SQD: RNIC_EVENT_SQ_DRAINED is given, or nobody asked for it */
    uint8_t max_rd_atomic;
    uint32_t pd;
    struct rnic_ring sq;

    struct rnic_tx_replay replay;
    struct rnic_tx_sack sack;
    uint32_t rd_una;       /* oldest READ or atomic sent and not complete, while replay.reads > 0 */
    uint64_t rd_placed_ps; /* data of that READ so far is visible */
    uint32_t ssn_post;     /* of the next message posted */
    uint32_t ssn_limit;    /* messages up to this one have a receive request at the peer */
    uint64_t rate_limit_bps; /* 0: none */
    uint64_t rate_next_ps;   /* static rate: next packet not before */
    uint64_t open_ps;        /* connection set-up is over */
    bool watched;            /* its deadline is counted among the card's */
    struct rnic_cc_state cc;
    struct rnic_resp resp;
    struct rnic_rx_respond respond;
    struct rnic_rx_hold held_requests, held_responses; /* selective repeat */
    struct rnic_tx_flow response;
    struct rnic_rx_cnp_state cnp;
    struct rnic_qp *cnp_next; /* FIFO of open CNP windows */
    bool cnp_queued;

    struct rnic_ring rq;  /* one slot with a shared receive queue: the request in use */
    struct rnic_srq *srq; /* NULL: none */
    struct rnic_cq *send_cq, *recv_cq;
    struct rnic_cache_entry cache;
    uint32_t access; /* enum rnic_access */
    uint32_t qkey;   /* UD */
    uint8_t min_rnr_timer;
    struct rnic_qp_attr attr;
    struct rnic_qp_init_attr init;
    struct rnic_qp_counters counters;
    size_t block_bytes; /* of the arena block with the rings */
};

struct rnic_table_qp {
    struct rnic_qp **qp; /* by QPN; NULL: none */
    uint32_t n, cap, live, next;
    struct rnic_cache cache;
};

/** Upper bits of the opcodes of a service. */
static inline uint8_t rnic_table_qp_transport(uint8_t type)
{
    static const uint8_t transports[] = {[RNIC_QPT_RC] = WIRE_TRANSPORT_RC,
                                         [RNIC_QPT_UC] = WIRE_TRANSPORT_UC,
                                         [RNIC_QPT_UD] = WIRE_TRANSPORT_UD};

    return transports[type];
}

static inline struct rnic_qp *rnic_table_qp_find(const struct rnic_table_qp *table, uint32_t qpn)
{
    return WIRE_LIKELY(qpn < table->n) ? table->qp[qpn] : NULL;
}

/**
 * New queue pair in RESET, with rings as @p init asks (already checked; with a shared receive queue
 * max_recv_sge is that queue's).
 * @return 0, RNIC_ERR_LIMIT or RNIC_ERR_NOMEM
 */
int rnic_table_qp_add(struct rnic_table_qp *table, struct rnic_mem *mem, uint32_t max_qp,
                      const struct rnic_qp_init_attr *init, struct rnic_qp **qp);
void rnic_table_qp_remove(struct rnic_table_qp *table, struct rnic_mem *mem, struct rnic_qp *qp);

/**
 * Is the transition from @p from with @p mask (which has RNIC_QP_STATE when the state changes)
 * legal for this type: allowed, every required attribute there, none that is not allowed?
 * RNIC_QP_CUR_STATE is judged by its value, see rnic_modify_qp.
 */
bool rnic_table_qp_transition(enum rnic_qp_type type, enum rnic_qp_state from,
                              enum rnic_qp_state to, unsigned mask);

/** Are the values of the attributes named by @p mask in range, also of the device's limits? */
bool rnic_table_qp_attr_valid(const struct rnic_qp_attr *attr, unsigned mask,
                              const struct rnic_params *params);

#endif
