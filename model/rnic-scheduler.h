/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNIC_SCHEDULER_H
#define RNIC_SCHEDULER_H

#include "rnic-drive.h"

#include "ns3/event-impl.h"
#include "ns3/ptr.h"
#include "ns3/scheduler.h"
#include "ns3/type-id.h"

#include <memory>

namespace ns3
{

class RnicEngine;

/**
 * @ingroup rnic
 * A Scheduler that knows the engine: between two ns-3 events the engine runs in one batch, without
 * an ns-3 event of its own.
 *
 * ns-3's events lie in an inner scheduler of any kind. Whenever the simulator asks for the next
 * event, the engine first runs up to a horizon: the next ns-3 event, Simulator::Stop(delay) being
 * one too, or whatever the engine itself delivers meanwhile (a trace sink, a packet handed up): the
 * batch ends there and goes on after it. So Simulator::Now() is right in every callback. Without an
 * engine attached it does what the inner scheduler does.
 *
 * The order is that of RnicWakeDrive. At one time T, engine events run after the ns-3 events at T
 * that were inserted before the engine had T as its next time, and before all others at T.
 *
 * Runs under DefaultSimulatorImpl, unpatched. Others peek, sleep or wait for a grant before they
 * take an event; they keep RnicWakeDrive.
 *
 * Cost: a peek into the inner scheduler for each ns-3 event and batch.
 */
class RnicScheduler : public Scheduler
{
public:
    static TypeId GetTypeId();

    RnicScheduler();
    ~RnicScheduler() override;

    /**
     * Make this the scheduler of the running simulation, with an inner one of type @p inner, and
     * the batch drive that of its engine. What is scheduled already moves over. Until
     * Simulator::Destroy(); call Simulator::SetScheduler() no more.
     */
    static void Install(TypeId inner);
    /** @returns the drive of a new engine: batches when this scheduler is in use, else wake-ups. */
    static std::unique_ptr<RnicDrive> MakeDrive(RnicEngine *engine);

    // Scheduler
    void Insert(const Event &ev) override;
    bool IsEmpty() const override;
    Event PeekNext() const override;
    Event RemoveNext() override;
    void Remove(const Event &ev) override;

    // What RnicBatchDrive calls.
    /** Run @p engine from now on; it outlives the attachment. */
    void Attach(RnicEngine *engine);
    void Detach();
    /** The engine, which does not run now, has its next event at @p next_ps. */
    void NextChanged(uint64_t next_ps);

private:
    void SetInner(TypeId inner);
    TypeId GetInner() const;
    uint64_t EngineNext() const;
    bool EngineIsFirst(uint64_t next_ps) const;
    void Advance();
    void RunBatch(uint64_t next_ps);
    void InsertEnd();

    Ptr<Scheduler> m_inner;   //!< events of ns-3
    RnicEngine *m_engine;     //!< whom to run, or nullptr
    Ptr<EventImpl> m_nothing; //!< what PeekNext shows for the engine
    uint64_t m_nextPs;        //!< next time of the engine as last told
    uint32_t m_nextUid;       //!< events at m_nextPs up to this uid run before the engine
    uint32_t m_lastUid;       //!< largest uid inserted
    uint64_t m_untilPs;       //!< end of the batch under way
    bool m_running;           //!< inside a batch
};

/**
 * @ingroup rnic
 * The engine runs in batches, driven by RnicScheduler.
 */
class RnicBatchDrive : public RnicDrive
{
public:
    /** @param engine outlives the drive; @param scheduler the one the simulator uses. */
    RnicBatchDrive(RnicEngine *engine, Ptr<RnicScheduler> scheduler);
    ~RnicBatchDrive() override;

    void NextChanged(uint64_t next_ps) override;
    void Stop() override;

private:
    Ptr<RnicScheduler> m_scheduler;
};

} // namespace ns3

#endif /* RNIC_SCHEDULER_H */
