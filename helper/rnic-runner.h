/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * One scenario from data to results: builds the network, runs the job, writes the folder.
 */
#ifndef RNIC_RUNNER_H
#define RNIC_RUNNER_H

#include "rnic-helper.h"
#include "rnic-job.h"
#include "rnic-json.h"
#include "rnic-scenario.h"

#include <memory>
#include <string>
#include <vector>

namespace ns3
{

struct RnicRunEnd;
class RnicBlockTrace;
class RnicMeasures;
class RnicSeries;

/** @ingroup rnic
 * Exit status of a run. */
enum RnicExit
{
    RNIC_EXIT_GOOD = 0,
    RNIC_EXIT_FAILED = 1, //!< an expect or the run
    RNIC_EXIT_INPUT = 2,  //!< bad input, or a path that cannot be read or written
    RNIC_EXIT_INTERRUPTED = 130
};

/**
 * @ingroup rnic
 * The folder results go to: built beside its final place and renamed when it is whole.
 */
class RnicResultsFolder
{
public:
    /** Check and make the place. @throw RnicScenarioError: "PATH: cannot be written: ...". */
    explicit RnicResultsFolder(const std::string &folder);
    ~RnicResultsFolder(); //!< removes what was not committed
    RnicResultsFolder(const RnicResultsFolder &) = delete;
    RnicResultsFolder &operator=(const RnicResultsFolder &) = delete;

    /** @returns where to write now. */
    const std::string &Path() const;
    /**
     * Keep @p bytes of the disk for the results, so that what grows during the run cannot take
     * their place. @throw RnicWriteError: there is no such room.
     */
    void Reserve(uint64_t bytes);
    /** Give back what was kept: the results come now. */
    void Release();
    /** Put it in its final place, instead of what an earlier run left there. */
    void Commit();
    /**
     * @returns the error to throw after Commit(): @p file, in Path(), could not be written.
     * @param number  errno at that time, as far as known
     */
    RnicWriteError Failed(const std::string &file, int number) const;
    /** @returns @p error with the final path in the place of Path(). */
    RnicWriteError Final(const RnicWriteError &error) const;

private:
    std::string Reserved() const;

    std::string m_folder;
    std::string m_building;
    bool m_committed;
};

/** @ingroup rnic
 * Runs one scenario in this process. */
class RnicRunner
{
public:
    explicit RnicRunner(RnicScenario scenario);
    ~RnicRunner();

    /** Find what is wrong with the scenario without running it. @throw RnicScenarioError */
    void Check();

    /**
     * Run and write the results into @p folder.
     * @throw RnicScenarioError for what only building finds wrong.
     */
    RnicExit Run(const std::string &folder);

    /** @returns summary.json of the run that is over. */
    const RnicJson &GetSummary() const;

private:
    /** A line that is to go down or come up. */
    struct Line
    {
        struct engine *engine;
        uint32_t port;
        bool up;

        static void Turn(void *ctx, uint64_t nowPs);
    };

    void SetNs3(bool built);
    void SetOneNs3(const std::string &name, const std::string &value);
    void RefuseOwnAttribute(const std::string &name) const;
    RnicJobGraph Prepare();
    void CheckMemory(const RnicJobGraph &graph) const;
    void EnablePcap(const std::string &folder);
    void Build();
    uint64_t ExpectedHops(const RnicJobGraph &graph) const;
    void ScheduleEvents();
    void Observe(RnicJob &job, const std::unique_ptr<RnicBlockTrace> &blocks,
                 const std::unique_ptr<RnicSeries> &series) const;
    void Ended(const RnicJob &job, RnicMeasures &measures, RnicRunEnd &end) const;
    RnicExit Finish(RnicResultsFolder &out, const RnicJob &job, const RnicSeries &series,
                    RnicRunEnd &end, RnicBlockTrace *blocks);

    RnicScenario m_scenario;
    RnicHelper m_helper;
    RnicJson m_summary;
    bool m_full = false; //!< the disk, or what stands for it: a file could not be written
    std::vector<Ptr<RnicNetDevice>> m_nics;
    std::vector<std::unique_ptr<Line>> m_lines;
};

} // namespace ns3

#endif /* RNIC_RUNNER_H */
