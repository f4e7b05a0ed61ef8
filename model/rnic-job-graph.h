/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * A job as data: transfers with start times or dependencies. Every workload becomes one of these,
 * and RnicJob executes it with verbs.
 */
#ifndef RNIC_JOB_GRAPH_H
#define RNIC_JOB_GRAPH_H

#include "rnic-c.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

/** @ingroup rnic
 * How a transfer moves its bytes. */
enum class RnicJobVerb
{
    WRITE,     //!< only the sender learns that it is done
    WRITE_IMM, //!< the receiver gets a completion
    SEND,      //!< into the next posted receive buffer
    SEND_IMM,
    READ,        //!< the destination pulls: it posts, and only it learns that it is done
    FETCH_ADD,   //!< 8 bytes each: the source adds its words to those of the destination
    COMPARE_SWAP //!< 8 bytes each: the source puts its words where the destination has 0
};

/** @ingroup rnic
 * Name in scenarios and flows.csv: "write_imm". */
const char *RnicJobVerbName(RnicJobVerb verb);
/** @ingroup rnic
 * @returns whether the receiver gets a completion. */
bool RnicJobVerbHasReceive(RnicJobVerb verb);
/** @ingroup rnic
 * @returns whether it is FETCH_ADD or COMPARE_SWAP. */
bool RnicJobVerbIsAtomic(RnicJobVerb verb);

/** @ingroup rnic
 * Largest message of one work request; a longer transfer is several, posted one behind another. */
constexpr uint64_t RNIC_JOB_MAX_MESSAGE_BYTES = uint64_t(1) << 30;

/** @ingroup rnic
 * Most bytes of a transfer by atomics, which are a work request for each 8. */
constexpr uint64_t RNIC_JOB_MAX_ATOMIC_BYTES = uint64_t(1) << 20;

/** @ingroup rnic
 * No buffer: what a SEND has as destination until it lands in a receive slot. */
constexpr uint32_t RNIC_JOB_NONE = UINT32_MAX;

/**
 * @ingroup rnic
 * A piece of one host's memory, registered with its card.
 */
struct RnicJobBuffer
{
    uint32_t host = 0;
    uint64_t bytes = 0;
};

/**
 * @ingroup rnic
 * One message from a host's buffer to another's.
 *
 * It may be posted at startPs or when every transfer of `after` is done and the host that posts it
 * (READ: the destination, else the source) knows: a transfer is done for its destination once
 * received (and reduced), for the host that posted it once completed.
 */
struct RnicJobTransfer
{
    uint32_t src = 0;
    uint32_t dst = 0;
    RnicJobVerb verb = RnicJobVerb::WRITE;
    uint64_t bytes = 0;
    uint64_t startPs = 0;
    std::vector<uint32_t> after; //!< positions in the graph
    uint32_t qp = 0;             //!< which queue pair of the ordered host pair
    uint32_t imm = 0;
    uint32_t srcBuffer = RNIC_JOB_NONE;
    uint64_t srcOffset = 0;
    uint32_t dstBuffer = RNIC_JOB_NONE; //!< NONE with SEND: a slot the executor provides
    uint64_t dstOffset = 0;
    uint32_t answerBuffer = RNIC_JOB_NONE; //!< atomics: at the source, for what stood there
    bool reduce = false; //!< add what arrived to reduceBuffer, as float32, then it is done
    uint32_t reduceBuffer = RNIC_JOB_NONE;
    uint64_t reduceOffset = 0;
    int32_t collective = -1; //!< position in collectives
    uint32_t step = 0;
    uint32_t chunk = 0;

    /** @returns the host that posts it. */
    uint32_t Poster() const
    {
        return verb == RnicJobVerb::READ ? dst : src;
    }
};

/**
 * @ingroup rnic
 * A collective operation made of transfers of the graph.
 */
struct RnicJobCollective
{
    std::string name;      //!< "allreduce"
    std::string algorithm; //!< "ring"
    uint32_t ranks = 0;
    uint64_t bytes = 0;
    uint32_t steps = 0;           //!< what the algorithm takes
    uint32_t gatherStep = 0;      //!< first step that stores instead of adding
    std::vector<uint32_t> arrays; //!< buffer of each rank: input, then result
};

/**
 * @ingroup rnic
 * What all queue pairs of a job are like.
 */
struct RnicJobQps
{
    bool uc = false; //!< Unreliable Connection: a lost packet costs its message
    enum rnic_recovery recovery = RNIC_RECOVER_GO_BACK_N;
    uint32_t windowBytes = 0;  //!< unacknowledged bytes at most; 0: no window
    uint64_t rateLimitBps = 0; //!< static rate of each half; 0: none
    int maxRdAtomic = -1;      //!< READs and atomics outstanding; -1: what the cards have
    bool e2eCredits = false;
    bool roceV1 = false;
};

/**
 * @ingroup rnic
 * The whole job.
 */
struct RnicJobGraph
{
    uint32_t hosts = 0;
    bool backed = true; //!< real bytes, else sizes only
    uint64_t reduceTimePs = 0;
    std::vector<uint64_t> hostDelayPs; //!< the host does nothing before; empty: 0
    RnicJobQps qps;
    std::vector<RnicJobBuffer> buffers;
    std::vector<RnicJobTransfer> transfers;
    std::vector<RnicJobCollective> collectives;

    /** @returns "" or what is wrong with the graph: hosts, buffers, cycles, unknown news. */
    std::string Check() const;
    uint64_t HostDelayPs(uint32_t host) const;
    /** @returns transfers in an order in which each comes behind those it waits for. */
    std::vector<uint32_t> Order() const;
};

/** @ingroup rnic
 * @returns pieces of at most RNIC_JOB_MAX_MESSAGE_BYTES, of 8 for atomics; one empty piece for 0
 *          bytes. */
std::vector<uint32_t> RnicJobMessages(uint64_t bytes, RnicJobVerb verb = RnicJobVerb::WRITE);

} // namespace ns3

#endif /* RNIC_JOB_GRAPH_H */
