/* SPDX-License-Identifier: GPL-2.0-only */
#include "fabric_mmu.h"

#define PAUSE_LINE_BYTES 84u /* 64 B frame, preamble, gap */

/* No buffer is that large (buffer_bytes stops at 1e12): what is more counts as this much. */
#define HEADROOM_MAX_BYTES 10000000000000u

/*
 * Interface delay ("D-Intf" of 802.1Q annex N) of one end. Source: one vendor book chapter on
 * lossless Ethernet, not checked against 802.3 itself: unverified. From 200G on FEC dominates and
 * no value is known: the bytes of 100G stand in, unverified.
 */
static const struct {
    uint64_t rate_bps; /* at and above */
    uint64_t bytes;
} interface_delays[] = {
    {100000000000u, 15360}, /* 122 880 bit times */
    {40000000000u, 3072},   /*  24 576 */
    {25000000000u, 768},    /*   6 144 */
    {0, 1024},              /*   8 192, given for 10G */
};

uint64_t fabric_mmu_interface_bytes(uint64_t rate_bps)
{
    size_t i = 0;

    WIRE_ASSERT(rate_bps > 0);
    while (rate_bps < interface_delays[i].rate_bps)
        i++;
    return interface_delays[i].bytes;
}

/* Bytes a line of @p bps carries in @p ps, rounded up, at most HEADROOM_MAX_BYTES. */
static uint64_t mmu_line_bytes(uint64_t ps, uint64_t bps)
{
    __extension__ typedef unsigned __int128 u128;
    u128 bytes = ((u128)ps * bps + 7999999999999u) / 8000000000000u;

    return bytes < HEADROOM_MAX_BYTES ? (uint64_t)bytes : HEADROOM_MAX_BYTES;
}

uint64_t fabric_mmu_headroom_bytes(const struct fabric_mmu_link *link)
{
    uint64_t bytes = 3 * link->max_frame_bytes + WIRE_GAP_BYTES + PAUSE_LINE_BYTES +
                     2 * fabric_mmu_interface_bytes(link->rate_bps);

    WIRE_ASSERT(link->max_frame_bytes > 0 && link->max_frame_bytes <= UINT32_MAX);
    bytes += 2 * mmu_line_bytes(link->delay_ps, link->rate_bps);
    bytes += mmu_line_bytes(link->peer_reaction_ps, link->rate_bps);
    return bytes < HEADROOM_MAX_BYTES ? bytes : HEADROOM_MAX_BYTES;
}
