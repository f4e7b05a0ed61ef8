/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-drive.h"

#include "rnic-engine.h"

#include "ns3/event-impl.h"
#include "ns3/nstime.h"

#include <limits>

namespace ns3
{

/** The wake-up; reused, since most timestamps need exactly one. */
class RnicWakeDrive::WakeEvent : public EventImpl
{
public:
    explicit WakeEvent(RnicWakeDrive *drive) : m_drive(drive)
    {
    }

protected:
    void Notify() override
    {
        m_drive->Wake();
    }

private:
    RnicWakeDrive *m_drive; //!< outlives every scheduled wake-up: Stop() removes it
};

RnicWakeDrive::RnicWakeDrive(RnicEngine *engine) : m_engine(engine), m_wakeAtPs(WIRE_NEVER)
{
}

RnicWakeDrive::~RnicWakeDrive() = default;

void RnicWakeDrive::NextChanged(uint64_t next_ps)
{
    if (next_ps > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    {
        next_ps = WIRE_NEVER;
    }
    if (next_ps == m_wakeAtPs)
    {
        return;
    }
    Stop();
    if (next_ps == WIRE_NEVER)
    {
        return;
    }
    if (!m_event)
    {
        m_event = Ptr<WakeEvent>(new WakeEvent(this), false);
    }
    m_wakeAtPs = next_ps;
    m_wake = Simulator::Schedule(PicoSeconds(next_ps) - Simulator::Now(), Ptr<EventImpl>(m_event));
}

void RnicWakeDrive::Stop()
{
    if (m_wakeAtPs != WIRE_NEVER)
    {
        Simulator::Remove(m_wake);
        m_event = nullptr; // Remove() cancelled it for good
        m_wakeAtPs = WIRE_NEVER;
    }
}

void RnicWakeDrive::Wake()
{
    m_wakeAtPs = WIRE_NEVER;
    m_engine->Enter();
}

} // namespace ns3
