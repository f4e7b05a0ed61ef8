/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The least time a transfer can take: per-packet store and forward over an empty path, from rates,
 * delays, frame lengths and the MAC's rules alone. Knows nothing of cards, queues or pauses.
 */
#ifndef RNIC_IDEAL_H
#define RNIC_IDEAL_H

#include "rnic-job-graph.h"
#include "rnic-scenario.h"

namespace ns3
{

/** One link of a path, and what stands before it. */
struct RnicIdealHop
{
    uint64_t rateBps = 0;
    uint64_t delayPs = 0;
    uint64_t beforePs = 0; //!< switch latency: last bit in until it may leave by this link
};

/**
 * @param verb   decides the headers
 * @param bytes  payload of the transfer
 * @param mtu    path MTU
 * @param path   links from source to destination, at least one
 * @return picoseconds from the first bit of the first packet to the last bit of the last at the
 *         destination: a packet starts on a link when it has arrived whole and the link is free.
 *         READ: its request comes first, over the same links; atomics: until the last answer is
 *         back at the source.
 */
uint64_t RnicIdealTransferPs(RnicJobVerb verb, uint64_t bytes, uint32_t mtu,
                             const std::vector<RnicIdealHop> &path);

/** @return data packets of such a transfer (atomics: requests). */
uint64_t RnicIdealPackets(uint64_t bytes, uint32_t mtu, RnicJobVerb verb = RnicJobVerb::WRITE);

/** The same for whole graphs of one scenario. */
class RnicIdeal
{
public:
    explicit RnicIdeal(const RnicScenario &scenario);

    /** @return least time of one transfer alone in the network. */
    uint64_t TransferPs(const RnicJobTransfer &transfer) const;

    /**
     * @return least time from the start of the first transfer of @p collective (or of the whole
     *         graph: -1) until the last has arrived, every dependency, start time, host delay and
     *         reduction counted.
     * @param acks  true: each transfer takes longer by its acknowledges on one line, as in a ring,
     *              where a host's link carries its data and the acknowledges of its neighbour
     */
    uint64_t GraphPs(const RnicJobGraph &graph, int collective, bool acks) const;

    /**
     * @return the window that just fills the path: payload of one base round trip (a full packet
     *         there, its acknowledge back, both alone in the network) in whole packets, and
     *         ack_every - 1 packets for which the acknowledge may wait. The cards' own latencies
     *         are not counted.
     */
    uint64_t BdpBytes() const;

    /** @return links between any two hosts of the scenario. */
    const std::vector<RnicIdealHop> &Path() const
    {
        return m_path;
    }

private:
    std::vector<RnicIdealHop> m_path;
    uint32_t m_mtu;
    uint64_t m_ackEvery;
    mutable std::map<std::pair<uint64_t, int>, uint64_t> m_known; //!< by bytes and verb
};

} // namespace ns3

#endif /* RNIC_IDEAL_H */
