/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * DMA engine with PCIe: two shared servers, one per direction.
 *
 * In     bytes and the time they are asked for or ready
 * Out    time the last byte is on the card (read) or visible in host memory (write)
 * Owns   the occupation of both directions
 * Spec   PCIe: a write is ceil(n / MPS) TLPs up; a read is ceil(n / MRRS) requests up and
 *        ceil(n / MPS) completions down; 24 B of header and framing a TLP (PCIe18)
 * Cost   O(1); nothing at all when PCIe is unlimited
 */
#ifndef RNIC_DMA_H
#define RNIC_DMA_H

#include "rnic_params.h"
#include "rnic_server.h"

struct rnic_dma {
    uint64_t bps; /* 0: unlimited */
    uint64_t read_latency_ps, write_latency_ps;
    uint32_t max_payload_bytes, max_read_bytes, tlp_bytes;
    struct rnic_server up, down;
};

void rnic_dma_init(struct rnic_dma *dma, const struct rnic_params *params);

/** Out-of-line part: PCIe with a rate. */
uint64_t rnic_dma_read_limited(struct rnic_dma *dma, uint64_t in_ps, uint32_t bytes);
uint64_t rnic_dma_write_limited(struct rnic_dma *dma, uint64_t in_ps, uint32_t bytes);

/** Read @p bytes of host memory, asked for at @p in_ps. @return when the last byte is here. */
static inline uint64_t rnic_dma_read(struct rnic_dma *dma, uint64_t in_ps, uint32_t bytes)
{
    return dma->bps == 0 ? in_ps + dma->read_latency_ps : rnic_dma_read_limited(dma, in_ps, bytes);
}

/** Write @p bytes to host memory, ready at @p in_ps. @return when the host sees the last byte. */
static inline uint64_t rnic_dma_write(struct rnic_dma *dma, uint64_t in_ps, uint32_t bytes)
{
    return dma->bps == 0 ? in_ps + dma->write_latency_ps
                         : rnic_dma_write_limited(dma, in_ps, bytes);
}

/** Time of an uncontended read of @p bytes: what the TX scheduler looks ahead. */
uint64_t rnic_dma_nominal_ps(const struct rnic_dma *dma, uint32_t bytes);

#endif
