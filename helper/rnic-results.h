/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * What a run leaves behind: summary.json with the verdict on every expect, flows.csv, steps.csv.
 */
#ifndef RNIC_RESULTS_H
#define RNIC_RESULTS_H

#include "rnic-ideal.h"
#include "rnic-job.h"
#include "rnic-json.h"
#include "rnic-measure.h"
#include "rnic-scenario.h"

#include <string>
#include <vector>

namespace ns3
{

/** @ingroup rnic
 * How a run ended and what it cost; the runner fills it in. */
struct RnicRunEnd
{
    enum Status
    {
        COMPLETE, //!< every transfer is over
        STALLED,  //!< nothing is left to happen, and transfers are open
        STOPPED,  //!< run.stop came first
        PARTIAL   //!< interrupted
    };
    Status status = COMPLETE;
    uint64_t simEndPs = 0;
    double setupCpuS = 0; //!< before the run: network, memory and its contents
    double cpuS = 0;      //!< the simulation itself
    double wallS = 0;
    uint64_t samplePs = 0;
    std::string broken; //!< file of the folder that could not be written; "": none
    std::vector<std::string> notes;
    std::vector<RnicMeasured> measures;
};

/** @ingroup rnic
 * The summary, and whether the run counts as good. */
class RnicResults
{
public:
    RnicResults(const RnicScenario &scenario, const RnicJob &job, const RnicIdeal &ideal,
                const RnicRunEnd &end);

    const RnicJson &GetSummary() const;
    /** @returns true: complete, verified where it should be, conserved, and every expect holds. */
    bool IsGood() const;
    /** @returns what went wrong, one line each; empty when good. */
    const std::vector<std::string> &GetErrors() const;

    /** @returns false: @p failed names the file that could not be written. */
    bool Write(const std::string &folder, std::string *failed) const;
    /** Short table for a terminal. */
    void Print(std::ostream &out) const;

private:
    void Parameters();
    void QpParameters(RnicJson &qp) const;
    void Collectives();
    void Flows();
    void Network();
    void Measures();
    void Speed();
    void Verdict();
    void Judge(const RnicScenarioExpect &expect);
    void PrintFlows(std::ostream &out) const;
    void PrintExpects(std::ostream &out) const;
    bool WriteFlows(const std::string &path) const;
    bool WriteSteps(const std::string &path) const;

    const RnicScenario &m_scenario;
    const RnicJob &m_job;
    const RnicIdeal &m_ideal;
    const RnicRunEnd &m_end;
    struct engine_counters m_counters;
    RnicJson m_summary;
    std::vector<std::string> m_errors;
};

/** @ingroup rnic
 * @returns version of this module, as the build named it. */
const char *RnicVersion();

} // namespace ns3

#endif /* RNIC_RESULTS_H */
