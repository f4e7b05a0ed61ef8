/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNIC_DRIVE_H
#define RNIC_DRIVE_H

#include "ns3/event-id.h"
#include "ns3/ptr.h"
#include "ns3/simulator.h"

#include <cstdint>

namespace ns3
{

class RnicEngine;

/**
 * @ingroup rnic
 * How ns-3's time moves the engine. All drives run the same engine events and the same ns-3 events
 * in the same order: those of one time in the order in which they were scheduled, where the engine
 * schedules a time when it becomes its next one; and what enters the engine runs it first.
 */
class RnicDrive
{
public:
    virtual ~RnicDrive() = default;
    /** The next event of the engine, which does not run now, is at @p next_ps; WIRE_NEVER: none. */
    virtual void NextChanged(uint64_t next_ps) = 0;
    /** Let go of the engine: cancel whatever is scheduled in ns-3. */
    virtual void Stop() = 0;
};

/**
 * @ingroup rnic
 * One ns-3 event per engine timestamp: works with every SimulatorImpl and Scheduler.
 */
class RnicWakeDrive : public RnicDrive
{
public:
    /** @param engine the engine to drive; outlives the drive. */
    explicit RnicWakeDrive(RnicEngine *engine);
    ~RnicWakeDrive() override;

    void NextChanged(uint64_t next_ps) override;
    void Stop() override;

private:
    class WakeEvent;

    void Wake();

    RnicEngine *m_engine;   //!< whom to drive
    EventId m_wake;         //!< the pending wake-up
    Ptr<WakeEvent> m_event; //!< used again for every wake-up
    uint64_t m_wakeAtPs;    //!< its time, WIRE_NEVER: none pending
};

} // namespace ns3

#endif /* RNIC_DRIVE_H */
