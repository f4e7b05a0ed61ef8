/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_params.h"

#define WIRE_PARAM_STRUCT struct rnic_params
const struct wire_param rnic_param_table[] = {RNIC_PARAMS(WIRE_PARAM_ENTRY)};
#undef WIRE_PARAM_STRUCT
const size_t rnic_param_count = sizeof rnic_param_table / sizeof rnic_param_table[0];

struct rnic_params rnic_params_default(void)
{
    struct rnic_params params;

    wire_param_defaults(rnic_param_table, rnic_param_count, &params);
    return params;
}

struct rnic_params rnic_params_ideal(void)
{
    struct rnic_params params = rnic_params_default();

    params.doorbell_latency_ps = 0;
    params.tx_service_ps = 0;
    params.tx_latency_ps = 0;
    params.dma_read_latency_ps = 0;
    params.dma_write_latency_ps = 0;
    params.pcie_bps = 0;
    params.qp_cache_entries = 0;
    params.mr_cache_entries = 0;
    params.page_cache_entries = 0;
    params.cq_cache_entries = 0;
    params.cache_miss_ps = 0;
    params.rx_service_ps = 0;
    params.rx_latency_ps = 0;
    params.event_latency_ps = 0;
    params.poll_latency_ps = 0;
    params.cnp_latency_ps = 0;
    return params;
}
