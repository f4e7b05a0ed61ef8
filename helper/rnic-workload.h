/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Generators: each workload of a scenario as a graph of transfers.
 */
#ifndef RNIC_WORKLOAD_H
#define RNIC_WORKLOAD_H

#include "rnic-job-graph.h"
#include "rnic-scenario.h"

namespace ns3
{

/** @return the job of a scenario. @throw RnicScenarioError: flows that cannot be executed. */
RnicJobGraph RnicMakeWorkload(const RnicScenario &scenario);

/** @return what is legal in a job and seldom meant, a line each: sizes of 0. */
std::vector<std::string> RnicWorkloadNotes(const RnicJobGraph &graph);

/**
 * Ring all-reduce of @p bytes (whole float32) over all hosts, appended to @p graph: 2(N-1) steps,
 * each rank sends one chunk to its right neighbour in each.
 *
 * Chunk i is elements [floor(iE/N), floor((i+1)E/N)). Reduce-scatter step j: rank r sends chunk
 * r-1-j, all-gather step j: chunk r-j (modulo N), so rank r ends the first half owning chunk r.
 * Transfer of step s from rank r is number first + s*N + r.
 */
void RnicAddRingAllreduce(RnicJobGraph &graph, uint64_t bytes, uint32_t qps);

/** @return first element of chunk @p i of @p elements over @p ranks. */
uint64_t RnicChunkBegin(uint64_t elements, uint32_t ranks, uint32_t i);

} // namespace ns3

#endif /* RNIC_WORKLOAD_H */
