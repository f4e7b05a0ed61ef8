/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The card as its caller sees it: the whole contract, and the wiring of the blocks.
 *
 * The card does no I/O: it never reads a clock, allocates, prints or calls back. The caller moves
 * frames and time:
 *   - rnic_rx: the last bit of a frame has arrived;
 *   - rnic_tx: the MAC is free and pulls the next frame of a class that is not paused;
 *   - rnic_tx_next: when a pull may succeed (the MAC asks for a "free" event only then);
 *   - rnic_next_wake / rnic_wake: the only timer the caller keeps for a card;
 *   - rnic_event: drains what became visible: completions, async events, trace records.
 * After every call that takes `now_ps` (verbs too) read rnic_tx_next and rnic_next_wake again.
 * Time never goes backwards between calls.
 *
 * Times are in picoseconds. A card is one thread's; several cards share nothing.
 *
 * The walks are in rnic_device_tx.c (transmit), rnic_device_request.c (a request received),
 * rnic_device_respond.c (what a responder sends) and rnic_device_response.c (an answer received).
 */
#ifndef RNIC_DEVICE_H
#define RNIC_DEVICE_H

#include "rnic_cc.h"
#include "rnic_params.h"
#include "rnic_verbs.h"
#include "wire_addr.h"
#include "wire_frame.h"

struct rnic_config {
    struct rnic_params params;
    const struct rnic_cc_ops *cc;
    struct rnic_cc_config cc_config; /* line_bps: rate of the port */
    uint32_t station;                /* this port in the address book */
    /* The book, for the GRH area of UD receives; must outlive the card. NULL: default addresses. */
    const struct wire_addr_book *book;
};

/** Bytes of a card with its first arena: what rnic_device_init() wants. */
size_t rnic_device_bytes(void);

/**
 * Make a card in @p memory (rnic_device_bytes() bytes, 64-byte aligned); its verbs will ask for
 * more arena. The memory is the card's until the caller is done with it: there is no call to end a
 * card. @return the card, or NULL: a parameter is out of range (wire_param_check names it),
 * page_bytes is no power of two, or there is no congestion control or line rate.
 */
struct rnic_device *rnic_device_init(void *memory, const struct rnic_config *config);

/** Give @p bytes of memory (64-byte aligned) to the card's arena; it is the card's for life. */
void rnic_mem_give(struct rnic_device *dev, void *memory, size_t bytes);
/** Bytes the last call that returned RNIC_ERR_NOMEM was short of; give at least so many. */
size_t rnic_mem_wanted(const struct rnic_device *dev);

/**
 * The last bit of @p frame has arrived. The frame stays the caller's: everything needed has been
 * taken out of it on return.
 * @return WIRE_DROP_NONE, or why the card discarded it (also counted in the card). An opaque frame
 *         is WIRE_DROP_NONE and the caller's to hand up.
 */
enum wire_drop rnic_rx(struct rnic_device *dev, struct wire_frame *frame, uint64_t now_ps);

/**
 * The MAC is free at @p now_ps and pulls.
 *
 * @param ready_classes  bit c set: class c is not paused
 * @param frame          in: a blank frame of the caller's pool; out: see below
 * @return true: *frame is to be sent now and is the caller's (the blank filled in, or a frame the
 *         card had held or been given by rnic_post_raw: then the card keeps no blank and *frame is
 *         another one, the blank being in *spare). false: nothing now; *frame is NULL when the card
 *         kept the blank for a frame that is not ready yet (and another class may have one that is:
 *         rnic_tx_next says so).
 */
bool rnic_tx(struct rnic_device *dev, uint64_t now_ps, uint32_t ready_classes,
             struct wire_frame **frame, struct wire_frame **spare);

/** Earliest time at which a pull with @p ready_classes may succeed; WIRE_NEVER: nothing waits. */
uint64_t rnic_tx_next(const struct rnic_device *dev, uint32_t ready_classes);

/** Earliest time rnic_wake must be called (retry, RNR, CNP window, events); WIRE_NEVER: none. */
uint64_t rnic_next_wake(const struct rnic_device *dev);
/** Carry out the timers due at @p now_ps; too early it does nothing. Then drain rnic_event(). */
void rnic_wake(struct rnic_device *dev, uint64_t now_ps);

/**
 * Queue somebody else's packet (an ns3::Packet) on the card's raw ring; class by its prio.
 * The frame is the card's until rnic_tx gives it back.
 */
void rnic_post_raw(struct rnic_device *dev, struct wire_frame *frame, uint64_t now_ps);

enum rnic_event_type {
    RNIC_EVENT_NONE,
    RNIC_EVENT_CQ, /* an armed CQ has a visible completion: cq */
    /* A queue pair went to ERR, and no completion in error says why (IBTA 11.6.3): */
    RNIC_EVENT_QP_FATAL,      /* its CQ overflowed: qpn */
    RNIC_EVENT_QP_REQ_ERR,    /* responder refused an invalid request: qpn */
    RNIC_EVENT_QP_ACCESS_ERR, /* responder refused an access: qpn */
    RNIC_EVENT_COMM_EST,      /* first packet in RTR: qpn */
    RNIC_EVENT_CQ_ERR,        /* CQ overflow: cq */
    RNIC_EVENT_SQ_DRAINED,    /* SQD reached its end: qpn */
    RNIC_EVENT_LAST_WQE,      /* in ERR, no more completions from its shared receive queue: qpn */
    RNIC_EVENT_SRQ_LIMIT,     /* fewer receives than the limit: srq */
    /* trace records, only when their bit is in rnic_trace_enable() */
    RNIC_EVENT_PLACED, /* last byte of a request message placed: qpn, bytes */
    RNIC_EVENT_CNP_TX,
    RNIC_EVENT_CNP_RX,     /* value: rate after it, bits a second */
    RNIC_EVENT_PASSAGE,    /* one block passed: block, in_ps, time_ps (out), wait_ps */
    RNIC_EVENT_COMPLETION, /* CQE visible at time_ps: cq, qpn, value: status */
    RNIC_EVENT_TYPES
};

struct rnic_event {
    enum rnic_event_type type;
    uint8_t block; /* enum rnic_block, for PASSAGE */
    uint32_t qpn;
    union {
        uint32_t cq, srq;
    };
    wire_psn psn;
    uint32_t wqe;     /* index of the work request, for PASSAGE */
    uint32_t opcode;  /* BTH opcode, for PLACED and PASSAGE */
    uint64_t time_ps; /* when it is visible or happened */
    uint64_t in_ps, wait_ps;
    uint64_t value; /* bytes, rate or status */
};

enum rnic_block { /* the blocks of the diagram, in the order one WRITE passes them */
                  RNIC_BLOCK_RING,
                  RNIC_BLOCK_TX_SCHED,
                  RNIC_BLOCK_TABLE_QP,
                  RNIC_BLOCK_TABLE_MR,
                  RNIC_BLOCK_TABLE_PAGE,
                  RNIC_BLOCK_DMA,
                  RNIC_BLOCK_TX_BUILD,
                  RNIC_BLOCK_TX_REPLAY,
                  RNIC_BLOCK_TX_RATE,
                  RNIC_BLOCK_RX_PARSE,
                  RNIC_BLOCK_RX_CHECK,
                  RNIC_BLOCK_RX_PLACE,
                  RNIC_BLOCK_RX_CNP,
                  RNIC_BLOCK_TABLE_CQ,
                  RNIC_BLOCK_CQ_WRITE,
                  RNIC_BLOCK_CQ_EVENT,
                  RNIC_BLOCKS
};

/** Block's file stem, "tx_sched". */
const char *rnic_block_name(enum rnic_block block);

/**
 * Take the next event visible at @p now_ps, the earliest first.
 *
 * @param event  out: type and time_ps, and the fields that enum rnic_event_type names for the type
 * @return false: none, *event is as it was. Trace records that found the queue full are counted,
 *         not kept.
 */
bool rnic_event(struct rnic_device *dev, uint64_t now_ps, struct rnic_event *event);

/** @param mask bit t set: record events of trace type t. Never changes what the card does. */
void rnic_trace_enable(struct rnic_device *dev, uint32_t mask);

struct rnic_counters {
    uint64_t drops[WIRE_DROP_COUNT];
    uint64_t rx_frames, tx_frames;
    uint64_t cnps_tx, cnps_rx, ce_rx;
    uint64_t retransmitted_packets, timeouts;
    uint64_t trace_lost, passages_lost; /* trace records that found no room; passages apart */
    uint64_t control_lost;              /* acknowledges or CNPs that found no room */
    uint64_t qp_hits, qp_misses, mr_hits, mr_misses, page_hits, page_misses, cq_hits, cq_misses;
};

/** Counters since the card was made; the card's, up to date until the next call. */
const struct rnic_counters *rnic_query_counters(struct rnic_device *dev);

/** Frames the card holds (raw ring, held frame); for the conservation walk. */
uint32_t rnic_frames_held(const struct rnic_device *dev);

#endif
