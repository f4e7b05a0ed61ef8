/* SPDX-License-Identifier: GPL-2.0-only */
// Two drives, one result: programs by dice, whose events meet those of the engine.

#include "rnic-drive-log.h"

#include "ns3/test.h"

using namespace ns3;

/** A program that schedules, cancels, removes and posts wherever it is called, by dice. */
class RnicDriveDiceTestCase : public TestCase
{
public:
    RnicDriveDiceTestCase(uint64_t seed, std::string inner)
        : TestCase("dice " + std::to_string(seed) + " over " + inner), m_seed(seed), m_inner(inner)
    {
    }

private:
    uint64_t Roll(uint64_t n)
    {
        m_dice = m_dice * 6364136223846793005u + 1442695040888963407u;
        return (m_dice >> 33) % n;
    }

    void Called()
    {
        if (m_steps == 0)
        {
            return;
        }
        m_steps--;
        // Most meet an engine event: the last frame's arrival, or that of one close behind it.
        const uint64_t bytes = m_log->GetFrameBytes();
        const uint64_t next_ps = (bytes + 20) * 80;
        const uint64_t delays[] = {
            0,    next_ps, 2 * next_ps, (bytes + 8) * 80 + 1000000, 2 * (bytes + 8) * 80 + 2000000,
            96000};
        const uint32_t from = static_cast<uint32_t>(Roll(3));

        switch (Roll(7))
        {
        case 0:
        case 1:
            m_events.push_back(Simulator::Schedule(
                PicoSeconds(delays[Roll(6)]), &RnicDriveDiceTestCase::Event, this, m_number++));
            break;
        case 2:
            Post(from, (from + 1 + static_cast<uint32_t>(Roll(2))) % 3,
                 static_cast<uint32_t>(Roll(3) ? Roll(64) : Roll(9000)));
            break;
        case 3:
            if (!m_events.empty())
            {
                const EventId &id = m_events[Roll(m_events.size())];

                m_log->Note("expired", std::to_string(Simulator::IsExpired(id)));
                Roll(2) ? Simulator::Cancel(id) : Simulator::Remove(id);
            }
            break;
        case 4:
            for (uint32_t i = 0; i < 3; i++) // in step: many engine events of one time
            {
                Post(i, (i + 1) % 3, 700);
            }
            break;
        case 5:
            Simulator::ScheduleNow(&RnicDriveDiceTestCase::Event, this, m_number++);
            break;
        default:
            m_star->m_nics[from]->Send(Create<Packet>(64 + Roll(1200)),
                                       m_star->m_nics[(from + 1) % 3]->GetAddress(), 0x88B5);
            break;
        }
    }

    void Post(uint32_t from, uint32_t to, uint32_t bytes)
    {
        m_star->m_verbs[from]->PostWrite(m_qpns[from * 3 + to], m_number++, m_star->m_memory[from],
                                         0, m_star->m_memory[to], 0, bytes);
    }

    void Event(uint32_t number)
    {
        m_log->Note("event", std::to_string(number)); // does not enter the engine
        Called();
        if (m_steps % 7 == 0)
        {
            Called();
        }
    }

    RnicDriveOutcome Play(bool batch, const std::string &sinks)
    {
        RnicDriveOutcome outcome;
        RnicTestStar star(3);
        RnicDriveLog log(star);

        m_dice = m_seed;
        m_steps = 1500;
        m_number = 0;
        m_events.clear();
        m_qpns.assign(9, 0);
        m_star = &star;
        m_log = &log;
        RnicDriveChoose(batch, TypeId::LookupByName(m_inner));
        RnicDriveCongest(star.m_helper, 0.001);
        star.Build();
        for (uint32_t from = 0; from < 3; from++)
        {
            for (uint32_t to = 0; to < 3; to++)
            {
                m_qpns[from * 3 + to] = from == to ? 0 : star.Pair(from, to, 512).first;
            }
        }
        log.SetHook([this]() { Called(); }, false);
        if (sinks == "all")
        {
            log.Listen();
        }
        else if (sinks == "few")
        {
            log.ListenLittle();
        }
        for (int i = 0; i < 30; i++)
        {
            Simulator::Schedule(PicoSeconds(Roll(40) * 1000000), &RnicDriveDiceTestCase::Event,
                                this, m_number++);
        }
        Simulator::Stop(PicoSeconds(25000000)); // in the middle of everything, and on
        Simulator::Run();
        outcome.results.push_back("stopped at " + std::to_string(NowPs()));
        Post(0, 1, 3000);
        Simulator::Run();
        RnicDriveFinish(log, &outcome);
        for (uint32_t i = 0; i < 3; i++)
        {
            outcome.results.push_back(std::to_string(star.Poll(i).size()) + " completions");
        }
        m_events.clear();
        return outcome;
    }

    void DoRun() override
    {
        for (const char *sinks : {"all", "few", "none"})
        {
            const RnicDriveOutcome wake = Play(false, sinks);
            const RnicDriveOutcome batch = Play(true, sinks);
            const std::string what = std::string(sinks) + ", seed " + std::to_string(m_seed);

            NS_TEST_EXPECT_MSG_EQ(RnicDriveDifference(wake.log, batch.log), "", what);
            NS_TEST_EXPECT_MSG_EQ(RnicDriveDifference(wake.results, batch.results), "", what);
            NS_TEST_EXPECT_MSG_EQ(wake.results[0], "stopped at 25000000", "stops in time");
            NS_TEST_EXPECT_MSG_EQ(wake.inexact + batch.inexact, 0, "Now() in every callback");
            NS_TEST_EXPECT_MSG_GT(batch.log.size(), 30, "things happened: " << what);
            NS_TEST_EXPECT_MSG_EQ(wake.endPs, batch.endPs, "end of the run");
            NS_TEST_EXPECT_MSG_LT(batch.ns3Events, wake.ns3Events, "fewer ns-3 events");
        }
    }

    uint64_t m_seed;
    std::string m_inner; //!< scheduler inside ours
    uint64_t m_dice = 0;
    uint64_t m_steps = 0;
    uint32_t m_number = 0;
    std::vector<EventId> m_events;
    std::vector<uint32_t> m_qpns; //!< by from * 3 + to
    RnicTestStar *m_star = nullptr;
    RnicDriveLog *m_log = nullptr;
};

class RnicDriveDiceTestSuite : public TestSuite
{
public:
    RnicDriveDiceTestSuite() : TestSuite("rnic-drive-dice")
    {
        // Not HeapScheduler: after its Remove() events come out of order (seen in ns-3.37).
        const char *inner[] = {"ns3::MapScheduler", "ns3::ListScheduler", "ns3::CalendarScheduler",
                               "ns3::PriorityQueueScheduler"};

        for (uint64_t seed = 1; seed <= 20; seed++)
        {
            AddTestCase(new RnicDriveDiceTestCase(seed, inner[seed % 4]));
        }
    }
};

static RnicDriveDiceTestSuite g_rnicDriveDiceTestSuite; //!< registers itself
