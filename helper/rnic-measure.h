/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * What [[measure]] asks for: means over an interval of a run, exact, not sampled.
 *
 * A rate is the bytes of frames, each with its 20 bytes of preamble and gap, that were on the line
 * in the interval; of a frame at its edge, the share of its time on the line. A queue is the mean
 * over time of the bytes that wait: its length changes only when a frame joins (just after it has
 * arrived) or leaves (just before its first bit is on the line), and both are told.
 */
#ifndef RNIC_MEASURE_H
#define RNIC_MEASURE_H

#include "rnic-engine.h"
#include "rnic-job.h"
#include "rnic-scenario.h"

#include <string>
#include <vector>

namespace ns3
{

/** @ingroup rnic
 * One mean; of an interval the run did not reach the end of it is not known. */
struct RnicMeasured
{
    std::string name;
    bool known = false;
    double value = 0; //!< bits a second, or bytes
};

/** @ingroup rnic
 * Listens to the engine's traces, so a run is the same with and without. */
class RnicMeasures
{
public:
    /** After job.Setup(). */
    RnicMeasures(const RnicScenario &scenario, const RnicJob &job);
    ~RnicMeasures();
    RnicMeasures(const RnicMeasures &) = delete;
    RnicMeasures &operator=(const RnicMeasures &) = delete;

    /** Begin to listen; without a measure this costs nothing. */
    void Start();
    /**
     * The run is over, at @p endPs.
     * @param quiet  nothing is left to happen: after the end every rate and queue is what it is now
     */
    std::vector<RnicMeasured> Finish(uint64_t endPs, bool quiet);

private:
    __extension__ typedef unsigned __int128 Wide;

    struct Meter
    {
        const RnicScenarioMeasure *what;
        uint32_t port;    //!< of the engine
        uint64_t rateBps; //!< of its line
        // a flow's frames
        bool all; //!< every frame of the port
        uint32_t dst;
        uint32_t dstQpn;
        uint64_t bytes;   //!< frames wholly inside
        double edgeBytes; //!< shares of those at the edges
        // a queue
        const struct fabric_switch *device;
        uint32_t firstPort; //!< of its switch
        uint32_t ports;
        uint64_t lastPs; //!< up to here the sum is made
        Wide sum;        //!< bytes times picoseconds
    };

    void OnTrace(const struct engine_trace &record);
    static void CountFrame(Meter &meter, const struct engine_trace &record);
    static void CountQueue(Meter &meter, const struct engine_trace &record);
    static uint64_t QueueBytes(const Meter &meter);
    static void AddQueue(Meter &meter, uint64_t bytes, uint64_t nowPs);

    std::vector<Meter> m_rates;
    std::vector<Meter> m_queues;
    const RnicScenario &m_scenario;
};

} // namespace ns3

#endif /* RNIC_MEASURE_H */
