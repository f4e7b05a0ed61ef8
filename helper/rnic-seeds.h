/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * One scenario with several seeds: a results folder a seed, and what they say together.
 */
#ifndef RNIC_SEEDS_H
#define RNIC_SEEDS_H

#include "rnic-json.h"
#include "rnic-runner.h"
#include "rnic-scenario.h"

#include <string>
#include <vector>

namespace ns3
{

/** @ingroup rnic
 * Mean of a sample and the half width of its 95 % interval (Student's t). */
struct RnicMean
{
    double mean = 0;
    double halfWidth = 0; //!< 0 with one value: nothing is known of it
};

RnicMean RnicMeanOf(const std::vector<double> &values);

/** @ingroup rnic
 * @returns the seeds of "3", "1..5" or "1,2,7..9", in order.
 * @throw RnicScenarioError "--seeds: what is wrong; what would be right" */
std::vector<uint64_t> RnicParseSeeds(const std::string &text);

/**
 * @ingroup rnic
 * Runs a scenario once for each seed, one after the other, into FOLDER/seed-N, and writes
 * FOLDER/seeds.json: each measure and each number an expect is about with its values, mean and 95 %
 * interval. Each expect is judged once, on the mean; a truth or a text must be the same in all.
 */
class RnicSeeds
{
public:
    RnicSeeds(RnicScenario scenario, std::vector<uint64_t> seeds);

    /** @throw RnicScenarioError */
    RnicExit Run(const std::string &folder);

private:
    void Finish(RnicResultsFolder &out);
    RnicJson Values(const std::string &path) const;
    void Measures();
    void Expects();
    bool Write(const std::string &path) const;
    void Print(std::ostream &out) const;

    RnicScenario m_scenario;
    std::vector<uint64_t> m_seeds;
    std::vector<RnicJson> m_summaries; //!< of the runs so far
    RnicJson m_result;
    std::vector<std::string> m_errors;
};

} // namespace ns3

#endif /* RNIC_SEEDS_H */
