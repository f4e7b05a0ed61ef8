/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-scheduler.h"

#include "rnic-engine.h"

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/map-scheduler.h"
#include "ns3/nstime.h"
#include "ns3/object-factory.h"
#include "ns3/simulator-impl.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <limits>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RnicScheduler");
NS_OBJECT_ENSURE_REGISTERED(RnicScheduler);

namespace
{

/** An ns-3 event that does nothing: time passed, that is all. */
class NothingEvent : public EventImpl
{
protected:
    void Notify() override
    {
    }
};

/** @returns the scheduler made last, or nullptr when it is gone. */
RnicScheduler *&Current()
{
    static RnicScheduler *current = nullptr;
    return current;
}

bool IsDefaultSimulator()
{
    return Simulator::GetImplementation()->GetInstanceTypeId().GetName() ==
           "ns3::DefaultSimulatorImpl";
}

} // namespace

TypeId RnicScheduler::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RnicScheduler")
            .SetParent<Scheduler>()
            .SetGroupName("Rnic")
            .AddConstructor<RnicScheduler>()
            .AddAttribute("Inner", "Type of the scheduler that holds the events of ns-3.",
                          TypeIdValue(MapScheduler::GetTypeId()),
                          MakeTypeIdAccessor(&RnicScheduler::SetInner, &RnicScheduler::GetInner),
                          MakeTypeIdChecker());
    return tid;
}

RnicScheduler::RnicScheduler()
    : m_engine(nullptr), m_nothing(new NothingEvent, false), m_nextPs(WIRE_NEVER), m_nextUid(0),
      m_lastUid(0), m_untilPs(0), m_running(false)
{
    Current() = this;
}

RnicScheduler::~RnicScheduler()
{
    if (Current() == this)
    {
        Current() = nullptr;
    }
}

void RnicScheduler::Install(TypeId inner)
{
    ObjectFactory factory;

    factory.SetTypeId(GetTypeId());
    factory.Set("Inner", TypeIdValue(inner));
    NS_ABORT_MSG_UNLESS(IsDefaultSimulator(), "ns3-rnic: batches need ns3::DefaultSimulatorImpl; "
                                              "keep the wake-ups with real time and MPI");
    if (!RnicEngine::Exists())
    {
        Simulator::SetScheduler(factory); // an engine to come finds it
        return;
    }

    Ptr<RnicEngine> engine = RnicEngine::Get();

    NS_ABORT_MSG_IF(engine->IsRunning(), "ns3-rnic: the drive cannot change inside the engine");
    engine->SetDrive(std::make_unique<RnicWakeDrive>(PeekPointer(engine)));
    Simulator::SetScheduler(factory);
    engine->SetDrive(MakeDrive(PeekPointer(engine)));
}

std::unique_ptr<RnicDrive> RnicScheduler::MakeDrive(RnicEngine *engine)
{
    if (Current() && IsDefaultSimulator())
    {
        return std::make_unique<RnicBatchDrive>(engine, Ptr<RnicScheduler>(Current()));
    }
    return std::make_unique<RnicWakeDrive>(engine);
}

void RnicScheduler::SetInner(TypeId inner)
{
    NS_ABORT_MSG_UNLESS(inner.IsChildOf(Scheduler::GetTypeId()) && inner != GetTypeId(),
                        "RnicScheduler::Inner: " << inner.GetName() << " cannot be inside");

    ObjectFactory factory;
    factory.SetTypeId(inner);

    Ptr<Scheduler> made = factory.Create<Scheduler>();

    while (m_inner && !m_inner->IsEmpty())
    {
        made->Insert(m_inner->RemoveNext());
    }
    m_inner = made;
}

TypeId RnicScheduler::GetInner() const
{
    return m_inner ? m_inner->GetInstanceTypeId() : MapScheduler::GetTypeId();
}

// ---- the engine beside the events ----

void RnicScheduler::Attach(RnicEngine *engine)
{
    m_engine = engine;
    m_nextPs = WIRE_NEVER;
}

void RnicScheduler::Detach()
{
    m_engine = nullptr;
}

void RnicScheduler::NextChanged(uint64_t next_ps)
{
    if (next_ps != m_nextPs)
    {
        m_nextPs = next_ps;
        m_nextUid = m_lastUid;
    }
}

uint64_t RnicScheduler::EngineNext() const
{
    const uint64_t next_ps = m_engine ? m_engine->NextPs() : WIRE_NEVER;

    // What ns-3 cannot express never comes.
    return next_ps > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) ? WIRE_NEVER
                                                                                : next_ps;
}

/* Does the engine, with its next event at next_ps, come before the first event of ns-3? */
bool RnicScheduler::EngineIsFirst(uint64_t next_ps) const
{
    if (next_ps == WIRE_NEVER || m_inner->IsEmpty())
    {
        return next_ps != WIRE_NEVER;
    }

    const EventKey key = m_inner->PeekNext().key;
    const uint32_t uid = next_ps == m_nextPs ? m_nextUid : m_lastUid;

    return next_ps < key.m_ts || (next_ps == key.m_ts && key.m_uid > uid);
}

/* Run the engine until an event of ns-3 is first; there is one afterwards. */
void RnicScheduler::Advance()
{
    uint64_t next_ps = EngineNext();

    NextChanged(next_ps);
    while (EngineIsFirst(next_ps))
    {
        RunBatch(next_ps);
        next_ps = EngineNext();
        NextChanged(next_ps);
    }
    if (m_inner->IsEmpty())
    {
        InsertEnd();
    }
}

void RnicScheduler::RunBatch(uint64_t next_ps)
{
    m_untilPs = WIRE_NEVER;
    if (!m_inner->IsEmpty())
    {
        const uint64_t event_ps = m_inner->PeekNext().key.m_ts;

        m_untilPs = event_ps == next_ps ? next_ps : event_ps - 1;
    }
    m_running = true;
    m_engine->RunUntil(m_untilPs);

    // A delivery has ended the batch in the middle of a time: all of that time comes first.
    const uint64_t now_ps = engine_now_ps(m_engine->GetEngine());

    while (EngineNext() == now_ps)
    {
        m_engine->RunUntil(now_ps);
    }
    m_running = false;
}

/* The engine ran to its end and nobody listened: all that ns-3 learns is the time. */
void RnicScheduler::InsertEnd()
{
    const Time end = TimeStep(engine_now_ps(m_engine->GetEngine()));

    Simulator::ScheduleWithContext(Simulator::NO_CONTEXT, end - Simulator::Now(), new NothingEvent);
}

// ---- Scheduler ----

void RnicScheduler::Insert(const Event &ev)
{
    m_inner->Insert(ev);
    m_lastUid = std::max(m_lastUid, ev.key.m_uid);
    if (!m_running)
    {
        return;
    }
    NS_ABORT_MSG_IF(ev.key.m_ts < engine_now_ps(m_engine->GetEngine()),
                    "an engine-level sink scheduled an ns-3 event relative to Simulator::Now(), "
                    "which lags behind there: use RnicEngine::Deliver()");
    if (ev.key.m_ts <= m_untilPs)
    {
        m_engine->StopRun();
    }
}

bool RnicScheduler::IsEmpty() const
{
    return m_inner->IsEmpty() && EngineNext() == WIRE_NEVER;
}

Scheduler::Event RnicScheduler::PeekNext() const
{
    const uint64_t next_ps = EngineNext();

    if (EngineIsFirst(next_ps))
    {
        return {PeekPointer(m_nothing), {next_ps, m_nextUid, Simulator::NO_CONTEXT}};
    }
    return m_inner->PeekNext();
}

Scheduler::Event RnicScheduler::RemoveNext()
{
    if (m_engine)
    {
        Advance();
    }
    return m_inner->RemoveNext();
}

void RnicScheduler::Remove(const Event &ev)
{
    m_inner->Remove(ev);
}

// ---- the drive ----

RnicBatchDrive::RnicBatchDrive(RnicEngine *engine, Ptr<RnicScheduler> scheduler)
    : m_scheduler(scheduler)
{
    m_scheduler->Attach(engine);
}

RnicBatchDrive::~RnicBatchDrive() = default;

void RnicBatchDrive::NextChanged(uint64_t next_ps)
{
    NS_ABORT_MSG_IF(m_scheduler->GetReferenceCount() == 1,
                    "ns3-rnic: Simulator::SetScheduler() took the batch drive its scheduler away");
    m_scheduler->NextChanged(next_ps);
}

void RnicBatchDrive::Stop()
{
    m_scheduler->Detach();
}

} // namespace ns3
