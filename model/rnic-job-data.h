/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The bytes of a job: fills inputs with numbers that tell every rank and index apart, and checks
 * results bit for bit against sums computed in integers.
 */
#ifndef RNIC_JOB_DATA_H
#define RNIC_JOB_DATA_H

#include "rnic-job-graph.h"

#include <memory>

namespace ns3
{

/** @ingroup rnic
 * Memory of all hosts: one block per host, in which its buffers lie behind each other, page by
 * page; sizes only for a phantom job. */
class RnicJobData
{
public:
    /** Allocate the buffers of @p graph and fill the inputs, if the graph is backed. */
    explicit RnicJobData(const RnicJobGraph &graph);

    /** @returns first byte of a buffer; nullptr for a phantom. */
    uint8_t *Bytes(uint32_t buffer);
    const uint8_t *Bytes(uint32_t buffer) const;
    /** @returns first byte of a host's block; nullptr for a phantom. */
    uint8_t *HostBytes(uint32_t host);
    /** @returns bytes of a host's block, at least one. */
    uint64_t HostSize(uint32_t host) const;
    /** @returns where a buffer begins in the block of its host. */
    uint64_t Offset(uint32_t buffer) const;
    /** @returns bytes a backed job of this graph would take on this machine. */
    static uint64_t TotalBytes(const RnicJobGraph &graph);

    /** Add @p bytes of float32 at @p from to those at @p to. */
    static void Reduce(uint8_t *to, const uint8_t *from, uint64_t bytes);

    /** @returns whether every rank's array is the exact sum; false for phantom memory. */
    bool VerifyCollective(const RnicJobGraph &graph, uint32_t collective) const;
    /** @returns whether @p bytes at @p at are what transfer @p id sent from its source. */
    static bool VerifyTransfer(const RnicJobGraph &graph, uint32_t id, const uint8_t *at);

    /** @returns input of @p rank at @p index: an integer; sums over all ranks stay below 2^24. */
    static uint32_t Input(uint32_t ranks, uint32_t rank, uint64_t index);

private:
    struct Free
    {
        void operator()(uint8_t *bytes) const;
    };
    std::vector<std::unique_ptr<uint8_t, Free>> m_blocks; //!< by host
    std::vector<uint64_t> m_sizes;                        //!< by host
    std::vector<uint64_t> m_offsets;                      //!< by buffer
    std::vector<uint32_t> m_hosts;                        //!< by buffer
};

} // namespace ns3

#endif /* RNIC_JOB_DATA_H */
