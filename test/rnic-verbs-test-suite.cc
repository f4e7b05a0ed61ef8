/* SPDX-License-Identifier: GPL-2.0-only */
// RDMA from C++: bytes, completions, applications.

#include "rnic-application.h"
#include "rnic-test-star.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/double.h"
#include "ns3/heap-scheduler.h"
#include "ns3/map-scheduler.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cstring>

using namespace ns3;

namespace
{
constexpr uint8_t UNTOUCHED = 0xEE; //!< memory nobody wrote
} // namespace

/** One WRITE: exactly the bytes meant, one completion, at the time arithmetic gives. */
class RnicFirstWriteTestCase : public TestCase
{
public:
    explicit RnicFirstWriteTestCase(bool direct)
        : TestCase(direct ? "first WRITE over one link" : "first WRITE through a switch"),
          m_direct(direct)
    {
    }

private:
    void DoRun() override
    {
        RnicTestStar star(2, m_direct);

        star.Build();
        star.Fill(0);
        std::memset(star.m_memory[1]->Data(), UNTOUCHED, star.m_memory[1]->Size());

        auto qpns = star.Pair(0, 1);

        NS_TEST_ASSERT_MSG_EQ(star.m_verbs[0]->PostWrite(qpns.first, 7, star.m_memory[0], 100,
                                                         star.m_memory[1], 5000, 20000),
                              0, "post");
        Simulator::Run();

        const std::vector<struct rnic_wc> wc = star.Poll(0);

        NS_TEST_ASSERT_MSG_EQ(wc.size(), 1, "one completion");
        NS_TEST_EXPECT_MSG_EQ(wc[0].wr_id, 7, "of this request");
        NS_TEST_EXPECT_MSG_EQ(wc[0].status, RNIC_WC_SUCCESS, "status");
        NS_TEST_EXPECT_MSG_EQ(wc[0].opcode, RNIC_WC_RDMA_WRITE, "opcode");
        NS_TEST_EXPECT_MSG_EQ(wc[0].qp_num, qpns.first, "queue pair");
        NS_TEST_EXPECT_MSG_EQ(star.Poll(1).size(), 0, "a WRITE tells its target nothing");

        const uint8_t *got = star.m_memory[1]->Data();
        const uint8_t *sent = star.m_memory[0]->Data();
        uint64_t wrong = 0;

        for (uint64_t i = 0; i < star.m_memory[1]->Size(); i++)
        {
            wrong += got[i] != (i >= 5000 && i < 25000 ? sent[i - 4900] : UNTOUCHED);
        }
        NS_TEST_EXPECT_MSG_EQ(wrong, 0, "exactly these bytes");
    }

    bool m_direct; //!< no switch
};

/** SEND with immediate into a posted receive; and one that finds no receive. */
class RnicSendTestCase : public TestCase
{
public:
    RnicSendTestCase() : TestCase("SEND with immediate, and its receive")
    {
    }

private:
    void DoRun() override
    {
        RnicTestStar star(2);

        star.Build();
        star.Fill(0);

        auto qpns = star.Pair(0, 1);
        const struct rnic_sge to = star.m_memory[1]->Sge(64, 5000);
        const struct rnic_sge from = star.m_memory[0]->Sge(0, 4097);
        const struct rnic_recv_wr receive = {11, &to, 1};
        struct rnic_send_wr send = {};

        send.wr_id = 12;
        send.opcode = RNIC_WR_SEND_WITH_IMM;
        send.send_flags = RNIC_SEND_SIGNALED;
        send.imm = 0xCAFE0001;
        send.sg_list = &from;
        send.num_sge = 1;
        NS_TEST_ASSERT_MSG_EQ(star.m_verbs[1]->PostRecv(qpns.second, receive), 0, "post");
        NS_TEST_ASSERT_MSG_EQ(star.m_verbs[0]->PostSend(qpns.first, send), 0, "post");
        Simulator::Run();

        const std::vector<struct rnic_wc> sent = star.Poll(0);
        const std::vector<struct rnic_wc> got = star.Poll(1);

        NS_TEST_ASSERT_MSG_EQ(sent.size(), 1, "one completion here");
        NS_TEST_ASSERT_MSG_EQ(got.size(), 1, "one completion there");
        NS_TEST_EXPECT_MSG_EQ(sent[0].status, RNIC_WC_SUCCESS, "status");
        NS_TEST_EXPECT_MSG_EQ(got[0].wr_id, 11, "of the receive");
        NS_TEST_EXPECT_MSG_EQ(got[0].opcode, RNIC_WC_RECV, "opcode");
        NS_TEST_EXPECT_MSG_EQ(got[0].byte_len, 4097, "length");
        NS_TEST_EXPECT_MSG_EQ(got[0].imm, 0xCAFE0001u, "immediate");
        NS_TEST_EXPECT_MSG_EQ(got[0].wc_flags, RNIC_WC_WITH_IMM, "flag");
        NS_TEST_EXPECT_MSG_EQ(
            std::memcmp(star.m_memory[1]->Data() + 64, star.m_memory[0]->Data(), 4097), 0, "bytes");
    }
};

/** What a caller does wrong is a negative error; what the peer refuses is a completion. */
class RnicErrorsTestCase : public TestCase
{
public:
    RnicErrorsTestCase() : TestCase("errors of the caller, of the peer and of the line")
    {
    }

private:
    void DoRun() override
    {
        RnicTestStar star(2);

        star.Build();

        auto qpns = star.Pair(0, 1);
        Ptr<RnicMemory> nowhere = Create<RnicMemory>(64, 0x999000, true);
        uint32_t number;

        NS_TEST_EXPECT_MSG_EQ(star.m_verbs[0]->CreateCq(0, &number), RNIC_ERR_INVAL, "no entries");
        NS_TEST_EXPECT_MSG_EQ(star.m_verbs[0]->DestroyQp(0xFFFFF), RNIC_ERR_NOENT, "no such QP");
        star.m_verbs[0]->PostWrite(qpns.first, 1, star.m_memory[0], 0, nowhere, 0, 64);
        Simulator::Run();

        const std::vector<struct rnic_wc> wc = star.Poll(0);

        NS_TEST_ASSERT_MSG_EQ(wc.size(), 1, "one completion");
        NS_TEST_EXPECT_MSG_EQ(wc[0].status, RNIC_WC_REM_ACCESS_ERR, "refused by the peer");
    }
};

/** A card's arena grows with what is created in it. */
class RnicArenaTestCase : public TestCase
{
public:
    RnicArenaTestCase() : TestCase("the arena grows: 3000 queue pairs, all of them work")
    {
    }

private:
    void DoRun() override
    {
        RnicTestStar star(2);
        std::vector<std::pair<uint32_t, uint32_t>> qpns;

        star.Build(4096);
        for (int i = 0; i < 3000; i++)
        {
            qpns.push_back(star.Pair(0, 1, 4));
        }

        size_t completions = 0;

        for (const auto &pair : qpns)
        {
            star.m_verbs[0]->PostWrite(pair.first, 1, star.m_memory[0], 0, star.m_memory[1], 0, 8);
            if (pair.first % 500 == 0)
            {
                Simulator::Run();
                completions += star.Poll(0).size();
            }
        }
        Simulator::Run();
        completions += star.Poll(0).size();
        NS_TEST_EXPECT_MSG_EQ(completions, 3000, "each completes");
    }
};

/** The Application in both directions, with every verb, and stopping in between. */
class RnicApplicationTestCase : public TestCase
{
public:
    explicit RnicApplicationTestCase(const std::string &verb)
        : TestCase("RnicApplication: " + verb), m_verb(verb)
    {
    }

private:
    void Completion(const struct rnic_wc &wc)
    {
        m_inOrder = m_inOrder && wc.wr_id == m_completions;
        m_completions++;
    }

    void Receive(const struct rnic_wc &wc)
    {
        m_receives += wc.status == RNIC_WC_SUCCESS;
    }

    void Done(uint64_t completed, uint64_t failed)
    {
        m_done++;
        m_doneAt = Simulator::Now();
        NS_TEST_EXPECT_MSG_EQ(completed, 100, "all");
        NS_TEST_EXPECT_MSG_EQ(failed, 0, "none failed");
    }

    void DoRun() override
    {
        RnicTestStar star(2);
        Ptr<RnicApplication> app[2];

        star.BuildFabric();
        for (uint32_t i = 0; i < 2; i++)
        {
            app[i] = CreateObject<RnicApplication>();
            star.m_hosts.Get(i)->AddApplication(app[i]);
        }
        app[0]->SetPeer(app[1]);
        app[0]->SetAttribute("Verb", StringValue(m_verb));
        app[0]->SetAttribute("Bytes", UintegerValue(9000));
        app[0]->SetAttribute("Count", UintegerValue(100));
        app[0]->SetAttribute("Depth", UintegerValue(7));
        app[0]->SetStartTime(MicroSeconds(10));
        app[1]->SetStartTime(MicroSeconds(20)); // later than the one that sends to it
        app[0]->TraceConnectWithoutContext(
            "Completion", MakeCallback(&RnicApplicationTestCase::Completion, this));
        app[0]->TraceConnectWithoutContext("Done",
                                           MakeCallback(&RnicApplicationTestCase::Done, this));
        app[1]->TraceConnectWithoutContext("Receive",
                                           MakeCallback(&RnicApplicationTestCase::Receive, this));
        std::memset(app[0]->GetSendMemory()->Data(), 0x77, 9000);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_completions, 100, "completions");
        NS_TEST_EXPECT_MSG_EQ(m_inOrder, true, "in order");
        NS_TEST_EXPECT_MSG_EQ(m_done, 1, "done once");
        NS_TEST_EXPECT_MSG_GT(m_doneAt, MicroSeconds(82), "900 kB at 100 Gb/s take 72 us");
        NS_TEST_EXPECT_MSG_EQ(m_receives, (m_verb == "write" ? 0u : 100u), "receives");
        NS_TEST_EXPECT_MSG_EQ(
            std::memcmp(app[0]->GetSendMemory()->Data(), app[1]->GetReceiveMemory()->Data(), 9000),
            0, "bytes");
    }

    std::string m_verb;         //!< attribute Verb
    uint64_t m_completions = 0; //!< Completion traces
    bool m_inOrder = true;      //!< in the order of posting
    uint64_t m_receives = 0;    //!< Receive traces
    int m_done = 0;             //!< Done traces
    Time m_doneAt;              //!< time of the last
};

/** Same results whatever ns-3 scheduler, wire mode, and whether somebody watches. */
class RnicSameTestCase : public TestCase
{
public:
    RnicSameTestCase() : TestCase("same times with other schedulers, wire mode and traces")
    {
    }

private:
    void Ignore(const RnicFrameInfo &frame)
    {
        m_watched += frame.header.frame_bytes > 0;
    }

    void IgnorePacket(Ptr<const Packet> packet)
    {
        m_watched += packet->GetSize() > 0;
    }

    void IgnoreQueue(uint32_t, uint8_t, uint64_t, uint64_t)
    {
        m_watched++;
    }

    void OnCompletion(std::string context, const struct rnic_event &event)
    {
        m_result += context + " " + std::to_string(event.qpn) + " at " +
                    std::to_string(Simulator::Now().GetPicoSeconds()) + "\n";
    }

    /** Four hosts write to a fifth over lossy links. @returns all completion times. */
    std::string Run(const std::string &scheduler, bool wire, bool traced)
    {
        ObjectFactory factory(scheduler);

        Simulator::SetScheduler(factory);

        RnicTestStar star(5);

        m_result.clear();
        Config::SetDefault("ns3::RnicEngine::Wire", BooleanValue(wire));
        Config::SetDefault("ns3::RnicEngine::Seed", UintegerValue(5));
        star.m_helper.SetNicAttribute("Mtu", UintegerValue(1024));
        star.m_helper.SetNicAttribute("Timeout", UintegerValue(4));
        star.m_helper.SetLinkAttribute("Loss", DoubleValue(0.002));
        star.m_helper.SetSwitchAttribute("EcnKmin", UintegerValue(5000));
        star.m_helper.SetSwitchAttribute("EcnKmax", UintegerValue(50000));
        star.Build(300000);
        Config::SetDefault("ns3::RnicEngine::Wire", BooleanValue(false));
        Config::SetDefault("ns3::RnicEngine::Seed", UintegerValue(0));
        for (uint32_t i = 0; i < 4; i++)
        {
            auto qpns = star.Pair(i, 4);

            star.m_verbs[i]->PostWrite(qpns.first, i, star.m_memory[i], 0, star.m_memory[4], 0,
                                       300000);
            star.m_nics[i]->TraceConnect("Completion", "host " + std::to_string(i),
                                         MakeCallback(&RnicSameTestCase::OnCompletion, this));
        }
        if (traced)
        {
            star.m_nics[4]->TraceConnectWithoutContext(
                "FrameRx", MakeCallback(&RnicSameTestCase::Ignore, this));
            star.m_nics[0]->TraceConnectWithoutContext(
                "PromiscSniffer", MakeCallback(&RnicSameTestCase::IgnorePacket, this));
            star.m_switch->TraceConnectWithoutContext(
                "QueueLength", MakeCallback(&RnicSameTestCase::IgnoreQueue, this));
        }
        Simulator::Run();
        return m_result;
    }

    void DoRun() override
    {
        const std::string plain = Run("ns3::MapScheduler", false, false);

        NS_TEST_EXPECT_MSG_EQ(std::count(plain.begin(), plain.end(), '\n'), 4, "all complete");
        NS_TEST_EXPECT_MSG_EQ(m_watched, 0, "nobody watches");
        NS_TEST_EXPECT_MSG_EQ(Run("ns3::HeapScheduler", false, false), plain, "heap");
        NS_TEST_EXPECT_MSG_EQ(Run("ns3::MapScheduler", true, false), plain, "wire");
        NS_TEST_EXPECT_MSG_EQ(Run("ns3::MapScheduler", false, true), plain, "traced");
        NS_TEST_EXPECT_MSG_GT(m_watched, 1000, "somebody watched");
    }

    std::string m_result;   //!< completion times so far
    uint64_t m_watched = 0; //!< trace records seen
};

class RnicVerbsTestSuite : public TestSuite
{
public:
    RnicVerbsTestSuite() : TestSuite("rnic-verbs")
    {
        AddTestCase(new RnicFirstWriteTestCase(true));
        AddTestCase(new RnicFirstWriteTestCase(false));
        AddTestCase(new RnicSendTestCase);
        AddTestCase(new RnicErrorsTestCase);
        AddTestCase(new RnicArenaTestCase);
        AddTestCase(new RnicApplicationTestCase("write"));
        AddTestCase(new RnicApplicationTestCase("write_imm"));
        AddTestCase(new RnicApplicationTestCase("send"));
        AddTestCase(new RnicApplicationTestCase("send_imm"));
        AddTestCase(new RnicSameTestCase);
    }
};

static RnicVerbsTestSuite g_rnicVerbsTestSuite; //!< registers itself
