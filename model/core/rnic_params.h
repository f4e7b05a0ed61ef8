/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Every parameter of the card, by block, each once: wire_param.h says what is made of them.
 *
 * Defaults are a modest 100G card; rnic_params_ideal() sets every latency to 0 and every table to
 * unlimited, so that only the network is left. Sources: "Kalia16" USENIX ATC'16; "PCIe18"
 * SIGCOMM'18; "Guo16" SIGCOMM'16; "DCQCN15" SIGCOMM'15; "verbs" libibverbs defaults and man pages;
 * "IBTA" Vol 1; "mlx5" driver-visible sizes.
 */
#ifndef RNIC_PARAMS_H
#define RNIC_PARAMS_H

#include "wire_param.h"

/* X(field, unit, default, min, max, source, text, names) */
#define RNIC_PARAMS(X)                                                                             \
    /* queue pair defaults */                                                                      \
    X(mtu_bytes, BYTES, 4096, 256, 4096, "IBTA 9.7.1: 256..4096", "Path MTU", NULL)                \
    X(ack_every, COUNT, 16, 1, 65536, "choice; rxe asks at least every 64",                        \
      "AckReq on every Nth request packet and on the last of a message", NULL)                     \
    X(timeout, COUNT, 14, 0, 31, "verbs; 4.096 us x 2^14 = 67.1 ms",                               \
      "Local ACK timeout exponent n: 4.096 us x 2^n; 0 is never", NULL)                            \
    X(retry_cnt, COUNT, 7, 0, 7, "verbs", "Retries before RETRY_EXC_ERR", NULL)                    \
    X(rnr_retry, COUNT, 7, 0, 7, "verbs", "RNR retries; 7 is without end", NULL)                   \
    X(min_rnr_timer, COUNT, 12, 0, 31, "verbs; code 12 = 0.64 ms", "RNR NAK timer code sent",      \
      NULL)                                                                                        \
    X(dscp, COUNT, 26, 0, 63, "common RoCE deployment; class = DSCP >> 3 = 3",                     \
      "DSCP of data, and of ACKs unless ack_dscp says otherwise", NULL)                            \
    X(ack_dscp, COUNT, 64, 0, 64, "choice", "DSCP of ACKs and NAKs; 64: that of the queue pair",   \
      NULL)                                                                                        \
    X(ecn, BOOL, 1, 0, 1, "RFC 3168", "Data is sent ECT(0)", NULL)                                 \
    X(ttl, COUNT, 64, 1, 255, "RFC 1700", "TTL or hop limit", NULL)                                \
    X(max_in_flight, COUNT, 8388607, 1, 8388607, "IBTA 9.7.2: at most 2^23-1",                     \
      "Request packets a queue pair may have unacknowledged; selective repeat: same at both ends", \
      NULL)                                                                                        \
    X(max_rd_atomic, COUNT, 16, 0, 128, "mlx5: 16; rxe: 128",                                      \
      "READs and atomics outstanding of a queue pair, in each direction, at most", NULL)           \
    X(connect_ps, TIME, 0, 0, 1000000000000, "choice; hardware: some 100 us to ms",                \
      "Connection set-up: from modify to RTS until the card takes the first request", NULL)        \
    X(rto_high_ps, TIME, 320000000, 1000, 1000000000000, "IRN SIGCOMM'18: 320 us",                 \
      "Selective repeat: timeout with more than rto_low_packets in flight", NULL)                  \
    X(rto_low_ps, TIME, 100000000, 1000, 1000000000000, "IRN SIGCOMM'18: 100 us",                  \
      "Selective repeat: timeout with few packets in flight", NULL)                                \
    X(rto_low_packets, COUNT, 3, 0, 1024, "IRN SIGCOMM'18: N = 3",                                 \
      "Selective repeat: few packets", NULL)                                                       \
    /* ring, WQE fetch, TX scheduler */                                                            \
    X(doorbell_latency_ps, TIME, 200000, 0, 1000000000, "unverified: 150-300 ns",                  \
      "MMIO write of the doorbell, CPU to card", NULL)                                             \
    X(wqe_bytes, BYTES, 64, 16, 1024, "mlx5 WQEBB", "Bytes fetched for one WQE", NULL)             \
    X(tx_service_ps, TIME, 5000, 0, 1000000000, "choice: 200 Mpps",                                \
      "TX pipeline: time one packet occupies it", NULL)                                            \
    X(tx_latency_ps, TIME, 200000, 0, 1000000000, "unverified: 150-300 ns",                        \
      "TX pipeline and MAC: time a packet spends in it", NULL)                                     \
    X(tx_fifo_frames, COUNT, 64, 1, 1024, "choice: covers 1 us of 100G at 256 B",                  \
      "Frames the TX FIFO holds: how deep prefetch hides DMA latency", NULL)                       \
    /* DMA engine with PCIe */                                                                     \
    X(dma_read_latency_ps, TIME, 550000, 0, 1000000000, "PCIe18: 547 ns median, 64 B",             \
      "PCIe read, request to first completion", NULL)                                              \
    X(dma_write_latency_ps, TIME, 300000, 0, 1000000000, "unverified: 200-400 ns",                 \
      "Posted write until host memory shows it", NULL)                                             \
    X(pcie_bps, RATE, 252000000000, 0, 100000000000000, "Gen4 x16: 15.75 Gb/s a lane",             \
      "PCIe rate in each direction; 0 is unlimited", NULL)                                         \
    X(pcie_max_payload_bytes, BYTES, 256, 64, 4096, "PCIe18: MPS 256", "TLP payload limit", NULL)  \
    X(pcie_max_read_bytes, BYTES, 512, 64, 4096, "PCIe18: MRRS 512", "PCIe read request limit",    \
      NULL)                                                                                        \
    X(pcie_tlp_bytes, BYTES, 24, 0, 64, "PCIe18: 24 B a TLP", "TLP header and framing", NULL)      \
    /* tables and their caches */                                                                  \
    X(qp_cache_entries, COUNT, 2048, 0, 1048576, "range 1024-4096 of Kalia16/eRPC",                \
      "Queue pair contexts on chip; 0 is all of them", NULL)                                       \
    X(mr_cache_entries, COUNT, 2048, 0, 1048576, "choice", "Keys on chip; 0 is all of them", NULL) \
    X(page_cache_entries, COUNT, 2048, 0, 1048576, "Guo16: 2K MTT entries",                        \
      "Translations on chip; 0 is all of them", NULL)                                              \
    X(cq_cache_entries, COUNT, 1024, 0, 1048576, "choice", "CQ contexts on chip; 0 is all", NULL)  \
    X(page_bytes, BYTES, 2097152, 4096, 1073741824, "Guo16: 2 MB pages",                           \
      "Page size of registered memory, a power of two", NULL)                                      \
    X(cache_miss_ps, TIME, 550000, 0, 1000000000, "PCIe18: one PCIe read",                         \
      "Fetch of one table entry from host memory", NULL)                                           \
    X(cache_fetchers, COUNT, 16, 1, 1024, "range 8-32 of parallel misses",                         \
      "Table fetches in flight at once", NULL)                                                     \
    /* receive */                                                                                  \
    X(rx_service_ps, TIME, 5000, 0, 1000000000, "choice: 200 Mpps",                                \
      "RX pipeline: time one packet occupies it", NULL)                                            \
    X(rx_latency_ps, TIME, 200000, 0, 1000000000, "unverified: 150-250 ns",                        \
      "RX pipeline: time a packet spends in it before its check", NULL)                            \
    X(rq_fetch_bytes, BYTES, 64, 16, 1024, "mlx5", "Bytes fetched for one receive WQE", NULL)      \
    /* completion and event */                                                                     \
    X(cqe_bytes, BYTES, 64, 64, 128, "mlx5: 64 or 128", "Bytes written for one CQE", NULL)         \
    X(event_latency_ps, TIME, 2000000, 0, 1000000000, "unverified: 2-6 us",                        \
      "Interrupt: CQE visible until the host's handler runs", NULL)                                \
    X(poll_latency_ps, TIME, 100000, 0, 1000000000, "unverified: ~100 ns",                         \
      "Polling host: CQE visible until a workload has seen it", NULL)                              \
    /* CNP generation */                                                                           \
    X(cnp_interval_ps, TIME, 50000000, 0, 1000000000000, "DCQCN15 sec. 3: N = 50 us",              \
      "At most one CNP per queue pair in this time", NULL)                                         \
    X(cnp_latency_ps, TIME, 0, 0, 1000000000000, "choice; known to matter: 0 or 55 us",            \
      "Marked packet seen until its CNP is ready to leave", NULL)                                  \
    X(cnp_dscp, COUNT, 48, 0, 63, "NVIDIA default: DSCP 48, class 6", "DSCP of CNPs", NULL)        \
    /* verbs limits */                                                                             \
    X(max_qp, COUNT, 65536, 1, 8388608, "rxe: 65536", "Queue pairs at most", NULL)                 \
    X(max_mr, COUNT, 65536, 1, 8388608, "choice; index bits of a key: 24", "Regions at most",      \
      NULL)                                                                                        \
    X(max_cq, COUNT, 65536, 1, 8388608, "choice", "Completion queues at most", NULL)               \
    X(max_wr, COUNT, 16384, 1, 1048576, "rxe: 16384", "Work requests of one queue at most", NULL)  \
    X(max_cqe, COUNT, 1048576, 1, 8388608, "choice", "Entries of one CQ at most", NULL)            \
    X(max_srq, COUNT, 65536, 1, 8388608, "choice", "Shared receive queues at most", NULL)          \
    X(max_inline, BYTES, 512, 0, 4096, "rxe: 400; mlx5: unverified, 828 to 1000",                  \
      "Inline data of a work request at most", NULL)                                               \
    X(max_sge, COUNT, 30, 1, 255, "unverified: mlx5 30", "Scatter/gather entries at most", NULL)

struct rnic_params {
    RNIC_PARAMS(WIRE_PARAM_FIELD)
};

extern const struct wire_param rnic_param_table[];
extern const size_t rnic_param_count;

/** All parameters at their default. */
struct rnic_params rnic_params_default(void);

/** Default, with every latency and service time 0, PCIe unlimited and every table on chip. */
struct rnic_params rnic_params_ideal(void);

#endif
