/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_dma.h"

void rnic_dma_init(struct rnic_dma *dma, const struct rnic_params *params)
{
    dma->bps = params->pcie_bps;
    dma->read_latency_ps = params->dma_read_latency_ps;
    dma->write_latency_ps = params->dma_write_latency_ps;
    dma->max_payload_bytes = (uint32_t)params->pcie_max_payload_bytes;
    dma->max_read_bytes = (uint32_t)params->pcie_max_read_bytes;
    dma->tlp_bytes = (uint32_t)params->pcie_tlp_bytes;
}

/* Time of `bytes` cut into TLPs of at most `most` bytes; a zero-length one is still one TLP. */
static uint64_t dma_data_ps(const struct rnic_dma *dma, uint32_t bytes, uint32_t most)
{
    uint64_t tlps = bytes == 0 ? 1 : ((uint64_t)bytes + most - 1) / most;

    return wire_line_time_ps(bytes + tlps * dma->tlp_bytes, dma->bps);
}

static uint64_t dma_request_ps(const struct rnic_dma *dma, uint32_t bytes)
{
    uint64_t tlps =
        bytes == 0 ? 1 : ((uint64_t)bytes + dma->max_read_bytes - 1) / dma->max_read_bytes;

    return wire_line_time_ps(tlps * dma->tlp_bytes, dma->bps);
}

uint64_t rnic_dma_read_limited(struct rnic_dma *dma, uint64_t in_ps, uint32_t bytes)
{
    uint64_t data_ps = dma_data_ps(dma, bytes, dma->max_payload_bytes);
    uint64_t asked_ps = rnic_server_pass(&dma->up, in_ps, dma_request_ps(dma, bytes));

    return rnic_server_pass(&dma->down, asked_ps + dma->read_latency_ps, data_ps) + data_ps;
}

uint64_t rnic_dma_write_limited(struct rnic_dma *dma, uint64_t in_ps, uint32_t bytes)
{
    uint64_t data_ps = dma_data_ps(dma, bytes, dma->max_payload_bytes);

    return rnic_server_pass(&dma->up, in_ps, data_ps) + data_ps + dma->write_latency_ps;
}

uint64_t rnic_dma_nominal_ps(const struct rnic_dma *dma, uint32_t bytes)
{
    if (dma->bps == 0)
        return dma->read_latency_ps;
    return dma->read_latency_ps + dma_data_ps(dma, bytes, dma->max_payload_bytes);
}
