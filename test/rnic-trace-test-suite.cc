/* SPDX-License-Identifier: GPL-2.0-only */
// Trace sources: what they tell, and Simulator::Now() in every sink.

#include "rnic-switch-port.h"
#include "rnic-test-star.h"

#include "ns3/double.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <map>

using namespace ns3;

/** On one ideal link every time is known by arithmetic. */
class RnicExactTimeTestCase : public TestCase
{
public:
    RnicExactTimeTestCase() : TestCase("Now() is exact in every sink")
    {
    }

private:
    uint64_t Now()
    {
        const auto now_ps = static_cast<uint64_t>(Simulator::Now().GetPicoSeconds());

        NS_TEST_EXPECT_MSG_EQ(RnicEngine::Get()->Enter(), now_ps, "the engine is here too");
        return now_ps;
    }

    void Tx(const RnicFrameInfo &frame)
    {
        m_tx.push_back(Now());
        m_bytes.push_back(frame.header.frame_bytes);
    }

    void Rx(const RnicFrameInfo &frame)
    {
        m_rx.push_back(Now());
        NS_TEST_EXPECT_MSG_EQ(frame.port, 1, "port of the receiver");
        NS_TEST_EXPECT_MSG_EQ(frame.header.payload, nullptr, "no pointer that may be stale");
    }

    void Packet(Ptr<const ns3::Packet> packet)
    {
        m_packets.emplace_back(Now(), packet->GetSize());
    }

    void Placed(const struct rnic_event &event)
    {
        NS_TEST_EXPECT_MSG_EQ(Now(), event.time_ps, "placement");
        m_placed = event.time_ps;
    }

    void Completion(const struct rnic_event &event)
    {
        NS_TEST_EXPECT_MSG_EQ(Now(), event.time_ps, "completion");
        NS_TEST_EXPECT_MSG_EQ(event.value, RNIC_WC_SUCCESS, "status");
        m_completed = event.time_ps;
    }

    void OnCq(uint32_t cq)
    {
        m_cqAt = Now();
        NS_TEST_EXPECT_MSG_EQ(m_star->m_verbs[0]->PollCq(cq, 1, &m_wc), 1, "one to poll");
    }

    void Post()
    {
        m_star->m_verbs[0]->PostWrite(m_qpn, 3, m_star->m_memory[0], 0, m_star->m_memory[1], 0,
                                      2000);
    }

    void DoRun() override
    {
        RnicTestStar star(2, true);

        m_star = &star;
        star.m_helper.SetNicAttribute("Mtu", UintegerValue(1024));
        star.m_helper.SetNicAttribute("EventLatency", StringValue("3us"));
        star.m_helper.SetLinkAttribute("Delay", StringValue("1000001ps"));
        star.Build();
        m_qpn = star.Pair(0, 1).first;
        star.m_verbs[0]->SetCqCallback(star.m_cqs[0],
                                       MakeCallback(&RnicExactTimeTestCase::OnCq, this));
        star.m_verbs[0]->ReqNotifyCq(star.m_cqs[0]);
        Connect(star.m_nics[0], "FrameTx", MakeCallback(&RnicExactTimeTestCase::Tx, this));
        Connect(star.m_nics[1], "FrameRx", MakeCallback(&RnicExactTimeTestCase::Rx, this));
        Connect(star.m_nics[1], "MacRx", MakeCallback(&RnicExactTimeTestCase::Packet, this));
        Connect(star.m_nics[1], "Placed", MakeCallback(&RnicExactTimeTestCase::Placed, this));
        Connect(star.m_nics[0], "Completion",
                MakeCallback(&RnicExactTimeTestCase::Completion, this));
        Simulator::Schedule(PicoSeconds(1500003), &RnicExactTimeTestCase::Post, this);
        Simulator::Run();

        // First: Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, ICRC 4, FCS 4; the last has no RETH.
        const uint64_t delay = 1000001;
        const std::vector<uint64_t> bytes = {1024 + 78, 976 + 62};
        const std::vector<uint64_t> tx = {1500003, 1500003 + (1102 + 20) * 80};
        const std::vector<uint64_t> rx = {tx[0] + (1102 + 8) * 80 + delay,
                                          tx[1] + (1038 + 8) * 80 + delay};
        const uint64_t ack = rx[1] + (66 + 8) * 80 + delay;

        NS_TEST_ASSERT_MSG_EQ(m_tx.size(), 2, "two packets");
        NS_TEST_ASSERT_MSG_EQ(m_rx.size(), 2, "two packets");
        NS_TEST_ASSERT_MSG_EQ(m_packets.size(), 2, "two packets");
        for (int i = 0; i < 2; i++)
        {
            NS_TEST_EXPECT_MSG_EQ(m_bytes[i], bytes[i], "bytes on the line " << i);
            NS_TEST_EXPECT_MSG_EQ(m_tx[i], tx[i], "first bit out " << i);
            NS_TEST_EXPECT_MSG_EQ(m_rx[i], rx[i], "last bit in " << i);
            NS_TEST_EXPECT_MSG_EQ(m_packets[i].first, rx[i], "packet " << i);
            NS_TEST_EXPECT_MSG_EQ(m_packets[i].second, bytes[i] - 4, "packet without FCS " << i);
        }
        NS_TEST_EXPECT_MSG_EQ(m_placed, rx[1], "placed with the last bit");
        NS_TEST_EXPECT_MSG_EQ(m_completed, ack, "completed with the last bit of the ACK");
        NS_TEST_EXPECT_MSG_EQ(m_cqAt, ack + 3000000, "the host hears an interrupt later");
        NS_TEST_EXPECT_MSG_EQ(m_wc.wr_id, 3, "and finds its completion");
    }

    void Connect(Ptr<RnicNetDevice> nic, const std::string &source, const CallbackBase &sink)
    {
        NS_TEST_EXPECT_MSG_EQ(nic->TraceConnectWithoutContext(source, sink), true, source);
    }

    RnicTestStar *m_star = nullptr;
    uint32_t m_qpn = 0;
    std::vector<uint64_t> m_tx;
    std::vector<uint64_t> m_rx;
    std::vector<uint64_t> m_bytes;
    std::vector<std::pair<uint64_t, uint32_t>> m_packets;
    uint64_t m_placed = 0;
    uint64_t m_completed = 0;
    uint64_t m_cqAt = 0;
    struct rnic_wc m_wc = {};
};

/** An incast: every congestion trace fires as often as the counters say. */
class RnicCongestionTraceTestCase : public TestCase
{
public:
    RnicCongestionTraceTestCase()
        : TestCase("queue, mark, pause, CNP and rate traces agree with the counters")
    {
    }

private:
    void Queue(uint32_t port, uint8_t prio, uint64_t was, uint64_t now)
    {
        uint64_t &known = m_queue[{port, prio}];

        m_chained = m_chained && known == was && was != now;
        m_peak = std::max(m_peak, now);
        m_exact = m_exact && now == fabric_queue_bytes(m_switch->GetSwitch(), port, prio);
        known = now;
    }

    void Mark(uint32_t port, uint8_t prio, uint64_t queue_bytes)
    {
        m_marks++;
        m_marksWrong += port != 8 || prio != 3 || queue_bytes < 20000;
    }

    void Pause(uint32_t, uint8_t prio, bool paused)
    {
        m_pauses += prio == 3 && paused;
        m_resumes += prio == 3 && !paused;
    }

    void MacPause(uint8_t prio, bool paused)
    {
        m_macPauses += prio == 3 && paused;
        m_macResumes += prio == 3 && !paused;
    }

    void CnpTx(uint32_t)
    {
        m_cnpTx++;
    }

    void CnpRx(uint32_t)
    {
        m_cnpRx++;
    }

    void Rate(uint32_t, uint64_t bps)
    {
        m_rates++;
        m_ratesWrong += bps == 0 || bps >= 100000000000;
    }

    void DoRun() override
    {
        RnicTestStar star(9);

        star.m_helper.SetNicAttribute("Mtu", UintegerValue(1024));
        star.m_helper.SetSwitchAttribute("Buffer", UintegerValue(3000000));
        star.m_helper.SetSwitchAttribute("EcnKmin", UintegerValue(20000));
        star.m_helper.SetSwitchAttribute("EcnKmax", UintegerValue(200000));
        star.Build(1000000);
        m_switch = star.m_switch;
        Hook(star);
        for (uint32_t i = 0; i < 8; i++)
        {
            auto qpns = star.Pair(i, 8);

            star.m_verbs[i]->PostWrite(qpns.first, i, star.m_memory[i], 0, star.m_memory[8], 0,
                                       1000000);
        }
        Simulator::Run();

        const struct fabric_counters *fabric = fabric_query_counters(m_switch->GetSwitch());
        uint64_t cnps_rx = 0;

        for (uint32_t i = 0; i < 8; i++)
        {
            NS_TEST_EXPECT_MSG_EQ(star.Poll(i).size(), 1, "completes");
            cnps_rx += rnic_query_counters(star.m_nics[i]->GetDevice())->cnps_rx;
        }
        NS_TEST_EXPECT_MSG_GT(m_marks, 0, "marks");
        NS_TEST_EXPECT_MSG_EQ(m_marks, fabric->ecn_marked, "marks");
        NS_TEST_EXPECT_MSG_EQ(m_marksWrong, 0, "marks tell where");
        NS_TEST_EXPECT_MSG_GT(m_pauses, 0, "pauses");
        NS_TEST_EXPECT_MSG_EQ(m_pauses, fabric->pauses, "pauses");
        NS_TEST_EXPECT_MSG_EQ(m_resumes, fabric->resumes, "resumes");
        NS_TEST_EXPECT_MSG_EQ(m_macPauses, m_pauses, "the cards were paused");
        NS_TEST_EXPECT_MSG_EQ(m_macResumes, m_resumes, "and resumed");
        NS_TEST_EXPECT_MSG_GT(m_cnpTx, 0, "CNPs");
        NS_TEST_EXPECT_MSG_EQ(m_cnpTx, rnic_query_counters(star.m_nics[8]->GetDevice())->cnps_tx,
                              "CNPs sent");
        NS_TEST_EXPECT_MSG_EQ(m_cnpRx, cnps_rx, "CNPs received");
        NS_TEST_EXPECT_MSG_EQ(m_rates, cnps_rx, "a rate after each");
        NS_TEST_EXPECT_MSG_EQ(m_ratesWrong, 0, "rates");
        NS_TEST_EXPECT_MSG_EQ(m_chained, true, "each length follows the one before");
        NS_TEST_EXPECT_MSG_EQ(m_exact, true, "the length at that instant");
        NS_TEST_EXPECT_MSG_GT(m_peak, 200000, "a queue was there");
        for (const auto &queue : m_queue)
        {
            NS_TEST_EXPECT_MSG_EQ(queue.second, 0, "empty at the end");
        }
    }

    void Hook(RnicTestStar &star)
    {
        using Self = RnicCongestionTraceTestCase;

        m_switch->TraceConnectWithoutContext("QueueLength", MakeCallback(&Self::Queue, this));
        m_switch->TraceConnectWithoutContext("EcnMark", MakeCallback(&Self::Mark, this));
        m_switch->TraceConnectWithoutContext("Pause", MakeCallback(&Self::Pause, this));
        for (const Ptr<RnicNetDevice> &nic : star.m_nics)
        {
            nic->TraceConnectWithoutContext("MacPause", MakeCallback(&Self::MacPause, this));
            nic->TraceConnectWithoutContext("CnpTx", MakeCallback(&Self::CnpTx, this));
            nic->TraceConnectWithoutContext("CnpRx", MakeCallback(&Self::CnpRx, this));
            nic->TraceConnectWithoutContext("Rate", MakeCallback(&Self::Rate, this));
        }
    }

    Ptr<RnicSwitchDevice> m_switch;
    std::map<std::pair<uint32_t, uint8_t>, uint64_t> m_queue; //!< bytes by port and class
    bool m_chained = true;
    bool m_exact = true;
    uint64_t m_peak = 0;
    uint64_t m_marks = 0;
    uint64_t m_marksWrong = 0;
    uint64_t m_pauses = 0;
    uint64_t m_resumes = 0;
    uint64_t m_macPauses = 0;
    uint64_t m_macResumes = 0;
    uint64_t m_cnpTx = 0;
    uint64_t m_cnpRx = 0;
    uint64_t m_rates = 0;
    uint64_t m_ratesWrong = 0;
};

/** Drops with their reasons, at the port and at the switch. */
class RnicDropTraceTestCase : public TestCase
{
public:
    RnicDropTraceTestCase() : TestCase("drops tell the reason, as often as the counters say")
    {
    }

private:
    void Drop(std::string context, const RnicFrameInfo &frame)
    {
        m_drops[context + " " + frame.GetDropName()]++;
    }

    void DoRun() override
    {
        using Self = RnicDropTraceTestCase;
        RnicTestStar star(2);

        star.m_helper.SetNicAttribute("Timeout", UintegerValue(4));
        star.m_helper.SetNicAttribute("RetryCnt", UintegerValue(2));
        star.m_helper.SetLinkAttribute("BackLoss", DoubleValue(1)); // nothing reaches a host
        star.Build();
        star.m_nics[1]->TraceConnect("FrameDrop", "host", MakeCallback(&Self::Drop, this));
        star.m_switch->TraceConnect("FrameDrop", "switch", MakeCallback(&Self::Drop, this));

        auto qpns = star.Pair(0, 1);

        star.m_verbs[0]->PostWrite(qpns.first, 1, star.m_memory[0], 0, star.m_memory[1], 0, 64);
        Simulator::Run();

        const std::vector<struct rnic_wc> wc = star.Poll(0);

        NS_TEST_ASSERT_MSG_EQ(wc.size(), 1, "one completion");
        NS_TEST_EXPECT_MSG_EQ(wc[0].status, RNIC_WC_RETRY_EXC_ERR, "given up");
        NS_TEST_EXPECT_MSG_EQ(m_drops["host link_loss"], 3, "one sending and two retries");
        NS_TEST_EXPECT_MSG_EQ(star.m_nics[1]->GetCounters().drops[WIRE_DROP_LINK_LOSS], 3,
                              "counted");
        NS_TEST_EXPECT_MSG_EQ(m_drops.size(), 1, "no other");
    }

    std::map<std::string, int> m_drops; //!< by place and reason
};

/** An asynchronous event: the responder refuses an access. */
class RnicAsyncTraceTestCase : public TestCase
{
public:
    RnicAsyncTraceTestCase() : TestCase("asynchronous events")
    {
    }

private:
    void Async(const struct rnic_event &event)
    {
        m_refusals += event.type == RNIC_EVENT_QP_ACCESS_ERR && event.qpn == m_qpn;
    }

    void DoRun() override
    {
        RnicTestStar star(2);

        star.Build();
        star.m_nics[1]->TraceConnectWithoutContext(
            "AsyncEvent", MakeCallback(&RnicAsyncTraceTestCase::Async, this));

        auto qpns = star.Pair(0, 1);
        Ptr<RnicMemory> nowhere = Create<RnicMemory>(64, 0x999000, true);

        m_qpn = qpns.second;
        star.m_verbs[0]->PostWrite(qpns.first, 1, star.m_memory[0], 0, nowhere, 0, 64);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_refusals, 1, "told once");
    }

    uint32_t m_qpn = 0; //!< queue pair of the responder
    int m_refusals = 0; //!< QP_ACCESS_ERR events of it
};

/** A sink that posts: callbacks may use verbs. */
class RnicPostInSinkTestCase : public TestCase
{
public:
    RnicPostInSinkTestCase() : TestCase("verbs may be called in a sink, and sinks come and go")
    {
    }

private:
    void Rx(const RnicFrameInfo &frame)
    {
        m_frames++;
        if (m_left > 0 && frame.header.payload_bytes > 0)
        {
            m_left--;
            m_star->m_verbs[1]->PostWrite(m_qpn, m_left, m_star->m_memory[1], 0,
                                          m_star->m_memory[0], 0, 8);
        }
    }

    void Stop()
    {
        m_star->m_nics[1]->TraceDisconnectWithoutContext(
            "FrameRx", MakeCallback(&RnicPostInSinkTestCase::Rx, this));
    }

    void DoRun() override
    {
        RnicTestStar star(2);

        star.Build();
        m_star = &star;

        auto qpns = star.Pair(0, 1);

        m_qpn = qpns.second;
        star.m_nics[1]->TraceConnectWithoutContext("FrameRx",
                                                   MakeCallback(&RnicPostInSinkTestCase::Rx, this));
        for (int i = 0; i < 10; i++)
        {
            star.m_verbs[0]->PostWrite(qpns.first, i, star.m_memory[0], 0, star.m_memory[1], 0, 64);
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(star.Poll(0).size(), 10, "there");
        NS_TEST_EXPECT_MSG_EQ(star.Poll(1).size(), 5, "and back");

        const uint64_t before = m_frames;

        Stop();
        star.m_verbs[0]->PostWrite(qpns.first, 99, star.m_memory[0], 0, star.m_memory[1], 0, 64);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(star.Poll(0).size(), 1, "goes on");
        NS_TEST_EXPECT_MSG_EQ(m_frames, before, "disconnected");
    }

    RnicTestStar *m_star = nullptr;
    uint32_t m_qpn = 0;
    int m_left = 5;
    uint64_t m_frames = 0;
};

class RnicTraceTestSuite : public TestSuite
{
public:
    RnicTraceTestSuite() : TestSuite("rnic-trace")
    {
        AddTestCase(new RnicExactTimeTestCase);
        AddTestCase(new RnicCongestionTraceTestCase);
        AddTestCase(new RnicDropTraceTestCase);
        AddTestCase(new RnicAsyncTraceTestCase);
        AddTestCase(new RnicPostInSinkTestCase);
    }
};

static RnicTraceTestSuite g_rnicTraceTestSuite; //!< registers itself
