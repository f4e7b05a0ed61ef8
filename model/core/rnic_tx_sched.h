/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * WQE fetch and TX scheduler: which queue pair sends the next packet, and since when it could.
 *
 * A queue pair has two flows: its requests, and its responses to READs and atomics. Flows with work
 * stand either in the FIFO of their class (eligible, round robin a packet
 * each) or in one heap ordered by pull_ps, the earliest time the MAC may pull their next packet:
 * its cause (doorbell, acknowledge) + lead for a fresh one, the pacing time for a limited one. The
 * lead is what WQE fetch, DMA and TX pipeline nominally take: a packet is pulled when it can be
 * ready, so that it holds up no other, and asked for when it was caused, which is how prefetch
 * hides the latency. A heap key may be early (a CNP moved the time); it is corrected when popped.
 *
 * Classes take turns; in a class the raw ring (opaque frames) takes turns with the flows.
 * A packet that was built but is not ready is held, at most one a class.
 *
 * Owns   every rnic_tx_flow; the held frames; the raw ring
 * Cost   O(1) a packet for unlimited queue pairs, O(log n) for limited ones
 */
#ifndef RNIC_TX_SCHED_H
#define RNIC_TX_SCHED_H

#include "rnic_dma.h"
#include "rnic_table_qp.h"
#include "wire_frame.h"

struct rnic_tx_sched {
    uint32_t fifo_classes; /* bit c: fifo of class c is not empty */
    uint32_t raw_classes;
    uint32_t held_classes;
    uint32_t turn;     /* class served last */
    uint32_t raw_turn; /* bit c: the raw ring of class c is next */
    struct rnic_tx_flow *first[WIRE_CLASSES], *last[WIRE_CLASSES];
    struct wire_frame *raw_first[WIRE_CLASSES], *raw_last[WIRE_CLASSES];
    struct wire_frame *held[WIRE_CLASSES]; /* ready_ps says when */
    uint32_t held_responder[WIRE_CLASSES]; /* queue pair when it is a response, else 0 */
    struct rnic_tx_flow **heap;
    uint32_t heap_n, heap_cap;
    const struct rnic_dma *dma;
    uint64_t tx_latency_ps, fetch_ps; /* of the lead: TX pipeline, fetch of a WQE */
    uint64_t lookahead_ps;            /* the longest lead of a packet whose WQE is here */
    uint64_t *room;                   /* when each of the last fifo_frames frames left */
    uint32_t fifo_frames, room_at;
};

/** @return false: out of memory. */
bool rnic_tx_sched_init(struct rnic_tx_sched *sched, struct rnic_mem *mem,
                        const struct rnic_params *params, const struct rnic_dma *dma);

/** Have room in the heap for both flows of @p qps queue pairs. @return false: out of memory. */
bool rnic_tx_sched_reserve(struct rnic_tx_sched *sched, struct rnic_mem *mem, uint32_t qps);

/** Flow has work, known to the card at @p known_ps; no effect if it stands in line. */
void rnic_tx_sched_add(struct rnic_tx_sched *sched, struct rnic_tx_flow *flow, uint64_t known_ps,
                       uint64_t now_ps);

/** After a request packet at @p now_ps with more to come: its flow is back in line. */
void rnic_tx_sched_again(struct rnic_tx_sched *sched, struct rnic_tx_flow *flow, uint64_t now_ps);

/** Take it out of line (error, reset, no more work); no effect when it stands nowhere. */
void rnic_tx_sched_remove(struct rnic_tx_sched *sched, struct rnic_tx_flow *flow);

/** Move flows whose time has come from the heap to their FIFO. */
void rnic_tx_sched_advance(struct rnic_tx_sched *sched, uint64_t now_ps);

/** What the scheduler chose. */
struct rnic_tx_pick {
    enum { RNIC_PICK_NOTHING, RNIC_PICK_HELD, RNIC_PICK_RAW, RNIC_PICK_FLOW } what;
    struct wire_frame *frame;  /* HELD, RAW */
    uint32_t responder;        /* HELD: queue pair whose response it is, 0: no response */
    struct rnic_tx_flow *flow; /* FLOW: taken out of line */
};

/** Choose among what may leave at @p now_ps; call rnic_tx_sched_advance first. */
struct rnic_tx_pick rnic_tx_sched_pick(struct rnic_tx_sched *sched, uint32_t ready_classes,
                                       uint64_t now_ps);

/**
 * Hold a built frame until frame->ready_ps; its class holds none.
 * @param responder  queue pair whose response it is, 0: no response
 */
void rnic_tx_sched_hold(struct rnic_tx_sched *sched, struct wire_frame *frame, uint32_t responder);

void rnic_tx_sched_raw(struct rnic_tx_sched *sched, struct wire_frame *frame);

/** Earliest time a pull of data may succeed; 0: something is eligible; WIRE_NEVER: nothing. */
uint64_t rnic_tx_sched_next_ps(const struct rnic_tx_sched *sched, uint32_t ready_classes);

/** Time from which the TX FIFO has room for the next frame. */
static inline uint64_t rnic_tx_sched_room(const struct rnic_tx_sched *sched)
{
    return sched->room[sched->room_at];
}

/** The next frame is built and leaves the TX FIFO at @p leaves_ps. */
void rnic_tx_sched_built(struct rnic_tx_sched *sched, uint64_t leaves_ps);

/**
 * WQE fetch: when the work request qp->sq_cur is on the card, for a packet caused at @p cause_ps.
 * Books its fetch if it was not prefetched, and prefetches the one behind it.
 */
uint64_t rnic_tx_sched_fetch(struct rnic_qp *qp, struct rnic_dma *dma, uint32_t wqe_bytes,
                             uint64_t cause_ps);

uint32_t rnic_tx_sched_frames(const struct rnic_tx_sched *sched);

#endif
