/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Selective repeat, the sender's half: which packets behind the oldest unacknowledged one have
 * arrived, and which of the others are to be sent again.
 *
 * A packet counts as lost when one behind it has arrived (or on a timeout, the oldest). Recovery
 * begins with the first report or a timeout and ends when all that had been sent by then is
 * acknowledged; while it lasts each lost packet is sent again once, before anything new.
 *
 * Place  beside the replay buffer
 * Owns   qp->sack
 * Spec   IRN (SIGCOMM'18) 3.1 (recovery), 3.2 (in flight: newest sent - oldest unacknowledged)
 * Cost   O(1) a report, O(packets skipped) a retransmission
 */
#ifndef RNIC_TX_SACK_H
#define RNIC_TX_SACK_H

#include "rnic_mem.h"
#include "wire_types.h"

struct rnic_tx_sack {
    uint64_t *bits; /* by PSN: it has arrived; NULL: not selective repeat */
    uint32_t mask;  /* bits - 1 */
    bool recovering;
    bool oldest; /* oldest_psn, when still unacknowledged, is to be sent again, whatever is ... */
    wire_psn oldest_psn; /* ... known of it */
    wire_psn recover;    /* recovery ends when psn_una gets here */
    wire_psn newest;     /* newest that arrived out of order, else psn_una */
    wire_psn next;       /* lost ones from here on are still to be sent again */
};

/** Have bits for @p packets packets in flight. @return false: out of memory. */
bool rnic_tx_sack_open(struct rnic_tx_sack *sack, struct rnic_mem *mem, uint32_t packets);
void rnic_tx_sack_close(struct rnic_tx_sack *sack, struct rnic_mem *mem);

/** Recovery over, nothing has arrived out of order. */
void rnic_tx_sack_reset(struct rnic_tx_sack *sack, wire_psn una);

/**
 * The peer misses @p una and holds @p psn, una < psn < sent. Begins recovery if there is none.
 * @return true: something is to be sent again
 */
bool rnic_tx_sack_report(struct rnic_tx_sack *sack, wire_psn una, wire_psn psn, wire_psn sent);

/** The oldest packet @p una is lost (timeout): send it, and those known to be lost, again. */
void rnic_tx_sack_again(struct rnic_tx_sack *sack, wire_psn una, wire_psn sent);

/** Everything before @p una, until now @p before, is acknowledged. */
void rnic_tx_sack_advance(struct rnic_tx_sack *sack, wire_psn before, wire_psn una);

/** Is a lost packet still to be sent again? @param psn out: the first */
bool rnic_tx_sack_lost(struct rnic_tx_sack *sack, wire_psn una, wire_psn *psn);

/** The lost packet @p psn was sent again; it took @p psns PSNs. */
void rnic_tx_sack_sent(struct rnic_tx_sack *sack, wire_psn psn, uint32_t psns);

#endif
