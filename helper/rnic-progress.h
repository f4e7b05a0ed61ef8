/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * How far a run is: a bar on a terminal, plain lines otherwise; also where Ctrl-C is noticed.
 */
#ifndef RNIC_PROGRESS_H
#define RNIC_PROGRESS_H

#include "ns3/event-id.h"
#include "ns3/nstime.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace ns3
{

/** @ingroup rnic
 * Looks at the clock about ten times a second, in ns-3 events that change nothing. */
class RnicProgress
{
public:
    /** @param hops  packet hops the job will take if nothing is lost, to tell how much is done */
    RnicProgress(std::string name, uint64_t hops);

    /** From now on SIGINT, SIGTERM or SIGHUP ends the run in order; the second one kills. */
    static void CatchInterrupt();
    /** @returns whether one of them came. */
    static bool IsInterrupted();

    /** Also end the run when @p broken says so. */
    void StopWhen(std::function<bool()> broken);

    /** Begin looking; before Simulator::Run(). */
    void Start();
    /** The job is over: look no more. */
    void Stop();
    /** After the run: take the bar away. */
    void Clear();

private:
    using Clock = std::chrono::steady_clock;

    void Tick();
    void Show(double elapsedS);

    std::string m_name;
    uint64_t m_hops;
    bool m_terminal;
    Time m_period;
    std::function<bool()> m_broken;
    EventId m_tick;
    Clock::time_point m_begin;
    Clock::time_point m_last;
    Clock::time_point m_shown;
    bool m_barUp;
};

} // namespace ns3

#endif /* RNIC_PROGRESS_H */
