/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_rx_hold.h"

#include <string.h>

bool rnic_rx_hold_open(struct rnic_rx_hold *hold, struct rnic_mem *mem, uint32_t packets,
                       uint32_t mtu_bytes)
{
    uint32_t n = 1;
    size_t bytes;

    while (n < packets)
        n *= 2;
    bytes = (size_t)n * (sizeof(struct rnic_rx_held) + mtu_bytes);
    hold->slots = rnic_mem_alloc(mem, bytes);
    if (hold->slots == NULL)
        return false;
    hold->mask = n - 1;
    hold->held = 0;
    hold->mtu_bytes = mtu_bytes;
    hold->block_bytes = bytes;
    return true;
}

void rnic_rx_hold_close(struct rnic_rx_hold *hold, struct rnic_mem *mem)
{
    if (hold->block_bytes != 0)
        rnic_mem_free(mem, hold->slots, hold->block_bytes);
    *hold = (struct rnic_rx_hold){0};
}

void rnic_rx_hold_clear(struct rnic_rx_hold *hold)
{
    if (hold->block_bytes == 0)
        return;
    for (uint32_t i = 0; i <= hold->mask; i++)
        hold->slots[i].used = false;
    hold->held = 0;
}

bool rnic_rx_hold_put(struct rnic_rx_hold *hold, wire_psn expected, const struct wire_frame *frame)
{
    uint32_t ahead = (uint32_t)wire_psn_diff(frame->psn, expected);
    uint32_t at = frame->psn.v & hold->mask;
    struct rnic_rx_held *slot;

    WIRE_ASSERT(hold->block_bytes != 0 && wire_psn_diff(frame->psn, expected) > 0);
    if (ahead > hold->mask || frame->payload_bytes > hold->mtu_bytes)
        return false;
    slot = &hold->slots[at];
    if (!slot->used)
        hold->held++;
    slot->used = true;
    slot->frame = *frame;
    slot->frame.payload = (uint8_t *)(hold->slots + hold->mask + 1) + (size_t)at * hold->mtu_bytes;
    if (frame->flags & WIRE_FRAME_BYTES)
        memcpy(slot->frame.payload, frame->payload, frame->payload_bytes);
    return true;
}

const struct wire_frame *rnic_rx_hold_take(struct rnic_rx_hold *hold, wire_psn psn)
{
    struct rnic_rx_held *slot;

    if (!rnic_rx_hold_has(hold, psn))
        return NULL;
    slot = &hold->slots[psn.v & hold->mask];
    slot->used = false;
    hold->held--;
    return &slot->frame;
}
