/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Reorder buffer of selective repeat: packets that arrived ahead of the one expected.
 *
 * IRN places such packets in host memory at once and remembers them in a bitmap; that takes headers
 * RoCE does not have (an address in every packet). Here the card keeps the packets themselves, at
 * most a window of them, and passes them on in order: the same on the wire, and every operation
 * works as always. One for requests, one for READ responses.
 *
 * Place  between RX PSN check and placement
 * Owns   the slots (one block of the arena)
 * Spec   IRN (SIGCOMM'18) 4.1; 2.2: out of order packets are kept, not dropped
 * Cost   O(1) a packet, and a copy of its payload
 */
#ifndef RNIC_RX_HOLD_H
#define RNIC_RX_HOLD_H

#include "rnic_mem.h"
#include "wire_frame.h"

struct rnic_rx_held {
    struct wire_frame frame;
    bool used;
};

struct rnic_rx_hold {
    struct rnic_rx_held *slots; /* by PSN */
    uint32_t mask;              /* slots - 1 */
    uint32_t held;
    uint32_t mtu_bytes;
    size_t block_bytes; /* 0: closed, holds nothing */
};

/** Have room for @p packets packets of @p mtu_bytes. @return false: out of memory. */
bool rnic_rx_hold_open(struct rnic_rx_hold *hold, struct rnic_mem *mem, uint32_t packets,
                       uint32_t mtu_bytes);
void rnic_rx_hold_close(struct rnic_rx_hold *hold, struct rnic_mem *mem);
/** Forget all packets. */
void rnic_rx_hold_clear(struct rnic_rx_hold *hold);

/**
 * Keep a copy of @p frame, which is ahead of @p expected.
 * @return false: too far ahead, or it is no packet of this path MTU; it must come again
 */
bool rnic_rx_hold_put(struct rnic_rx_hold *hold, wire_psn expected, const struct wire_frame *frame);

/** Is the packet with @p psn here? */
static inline bool rnic_rx_hold_has(const struct rnic_rx_hold *hold, wire_psn psn)
{
    const struct rnic_rx_held *slot;

    if (hold->held == 0)
        return false;
    slot = &hold->slots[psn.v & hold->mask];
    return slot->used && slot->frame.psn.v == psn.v;
}

/** Take the packet with @p psn out. @return it, readable until the next put; NULL: not here. */
const struct wire_frame *rnic_rx_hold_take(struct rnic_rx_hold *hold, wire_psn psn);

#endif
