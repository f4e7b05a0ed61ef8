/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Responder resources: the READs and atomics a queue pair has accepted, to answer and to answer
 * again, and the order of its answers.
 *
 * A ring of max_dest_rd_atomic resources, in PSN order. A READ is answered packet by packet from
 * host memory at its turn (and again when it is asked for again), an atomic from the value saved
 * when it was executed: it is never executed twice. Responses leave in PSN order: an acknowledge or
 * NAK that lies behind unsent ones waits here; only the newest is kept, since a response to a later
 * request acknowledges what lies before it.
 *
 * Place  between placement and the TX scheduler (flow RNIC_FLOW_RESPONSE)
 * Owns   qp->respond
 * Spec   IBTA Vol 1 9.7.4.1.2 and 9.7.5.1.3 (duplicate READ and atomic), C9-148 (MSN of a READ),
 *        9.4.5 (atomics)
 * Cost   O(resources) a request; at most 128, 16 by default; O(1) a response or answer
 */
#ifndef RNIC_RX_RESPOND_H
#define RNIC_RX_RESPOND_H

#include "rnic_mem.h"
#include "wire_frame.h"

struct rnic_qp;

struct rnic_resource {
    uint64_t va;   /* READ: of its first byte */
    uint64_t orig; /* atomic: what memory held before */
    uint32_t rkey;
    uint32_t length; /* READ: bytes of the whole request */
    wire_psn psn;    /* of its first response */
    uint32_t packets;
    uint32_t msn;       /* that its responses carry */
    uint32_t next, end; /* response packets still to be sent: [next, end) */
    uint32_t asked;     /* READ: bytes from its start that are to be sent, all but for a repeat */
    bool answered;      /* every response left once */
    uint8_t opcode;     /* of the request */
    uint64_t ready_ps;  /* its next response may be asked for: the request was checked then */
};

struct rnic_rx_respond {
    struct rnic_resource *ring;
    uint32_t depth;   /* max_dest_rd_atomic */
    uint32_t made;    /* resources made, less whole rings; newest: ring[(made - 1) % depth] */
    uint32_t pending; /* resources with responses to send */
    struct rnic_resource *turn; /* the oldest of them; NULL: to be looked for */
    bool held;         /* a response was built and waits at the MAC: what follows it waits too */
    wire_psn held_psn; /* its PSN */
    bool later;        /* an acknowledge or NAK waits: */
    uint8_t later_syndrome;
    wire_psn later_psn;
    uint32_t later_msn;
    uint64_t later_ps; /* not before */
};

/** Have a ring of @p depth (0: none) at the transition to RTR. @return false: out of memory. */
bool rnic_rx_respond_open(struct rnic_rx_respond *respond, struct rnic_mem *mem, uint32_t depth);
/**
 * Another depth: at RTR a new ring, in SQD the newest remembered answers move along.
 * @return 0, RNIC_ERR_NOMEM, RNIC_ERR_BUSY: responses are still to leave; nothing changed
 */
int rnic_rx_respond_resize(struct rnic_rx_respond *respond, struct rnic_mem *mem, uint32_t depth);
/** Forget all and give the ring back. */
void rnic_rx_respond_close(struct rnic_rx_respond *respond, struct rnic_mem *mem);
/** Nothing waits to be sent any more (error, reset). */
void rnic_rx_respond_stop(struct rnic_rx_respond *respond);

/**
 * Is there a slot for a new request? The oldest makes room when it was answered once; responses to
 * a repeat of it are dropped: a peer that asks for more had its answer.
 */
bool rnic_rx_respond_room(const struct rnic_rx_respond *respond);

/** Take that slot, all zero; there must be room. */
struct rnic_resource *rnic_rx_respond_add(struct rnic_rx_respond *respond);

/** The newest resource whose PSNs include @p psn, NULL: forgotten. */
struct rnic_resource *rnic_rx_respond_find(struct rnic_rx_respond *respond, wire_psn psn);

/** The newest PSN of @p psn .. @p last before the first READ or atomic that is behind @p psn. */
wire_psn rnic_rx_respond_clear(const struct rnic_rx_respond *respond, wire_psn psn, wire_psn last);

/**
 * Responses [from, end) of @p resource are to be sent (again). If some still wait, the two are
 * joined: what is asked for again while it waits is sent once.
 */
void rnic_rx_respond_queue(struct rnic_rx_respond *respond, struct rnic_resource *resource,
                           uint32_t from, uint32_t end);

/** The next to be sent, in PSN order; NULL: none. */
struct rnic_resource *rnic_rx_respond_next(struct rnic_rx_respond *respond);

/** The packet @p resource->next was built; answers behind it wait until respond->held is false. */
void rnic_rx_respond_sent(struct rnic_rx_respond *respond, struct rnic_resource *resource);

/** Responses from @p psn on will not be sent, nor an answer that waits and is not before it. */
void rnic_rx_respond_cut(struct rnic_rx_respond *respond, wire_psn psn);

/** Must an answer for @p psn wait for responses before it? */
bool rnic_rx_respond_waits(struct rnic_rx_respond *respond, wire_psn psn);

/** Keep an answer until then; one for the same or a later PSN replaces what is kept. */
void rnic_rx_respond_defer(struct rnic_rx_respond *respond, wire_psn psn, uint8_t syndrome,
                           uint32_t msn, uint64_t at_ps);

#endif
