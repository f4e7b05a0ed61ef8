/* SPDX-License-Identifier: GPL-2.0-only */
// Switches that bridge: learning, flooding, ordinary packets through a tree of them, loops.

#include "rnic-test-star.h"

#include "ns3/boolean.h"
#include "ns3/test.h"

using namespace ns3;

/** Four cards at two bridges: a flood reaches everybody once, what is known only its card. */
class RnicBridgePacketsTestCase : public TestCase
{
public:
    explicit RnicBridgePacketsTestCase(bool primed)
        : TestCase(primed ? "packets through primed bridges" : "packets through empty bridges"),
          m_primed(primed)
    {
    }

private:
    void Receive(Ptr<NetDevice> device, Ptr<const Packet> packet, uint16_t, const Address &from,
                 const Address &to, NetDevice::PacketType type)
    {
        m_got++;
        m_bytes += packet->GetSize();
        m_broadcasts += type == NetDevice::PACKET_BROADCAST;
        m_strays += type == NetDevice::PACKET_OTHERHOST;
        m_lastFrom = from;
        m_lastTo = to;
        m_last = device;
    }

    void Send(uint32_t from, const Address &to, uint32_t got, uint64_t copies, uint64_t filtered)
    {
        struct engine_counters counters;

        m_got = m_broadcasts = m_bytes = 0;
        NS_TEST_EXPECT_MSG_EQ(m_nics[from]->Send(Create<Packet>(100), to, 0x88B5), true, "sent");
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_got, got, "received");
        NS_TEST_EXPECT_MSG_EQ(m_bytes, got * 100, "whole");
        NS_TEST_EXPECT_MSG_EQ(m_lastFrom, m_nics[from]->GetAddress(), "source");
        NS_TEST_EXPECT_MSG_EQ(m_lastTo, to, "destination");
        engine_query(RnicEngine::Get()->GetEngine(), &counters);
        NS_TEST_EXPECT_MSG_EQ(counters.frames_copied - m_copied, copies, "copies");
        NS_TEST_EXPECT_MSG_EQ(counters.drops[WIRE_DROP_DEST_MAC] - m_filtered, filtered,
                              "filtered by the cards");
        NS_TEST_EXPECT_MSG_EQ(engine_check_conservation(RnicEngine::Get()->GetEngine()), true,
                              "conservation");
        m_copied = counters.frames_copied;
        m_filtered = counters.drops[WIRE_DROP_DEST_MAC];
    }

    void DoRun() override
    {
        RnicHelper helper;
        NodeContainer hosts;

        hosts.Create(4);
        helper.SetNicParams(rnic_params_ideal());
        helper.SetSwitchAttribute("L2", BooleanValue(true));
        helper.SetSwitchAttribute("L2Primed", BooleanValue(m_primed));

        Ptr<RnicSwitchDevice> left = helper.InstallSwitch(CreateObject<Node>(), 3);
        Ptr<RnicSwitchDevice> right = helper.InstallSwitch(CreateObject<Node>(), 3);

        for (uint32_t i = 0; i < 4; i++)
        {
            m_nics.push_back(helper.InstallNic(hosts.Get(i)));
            helper.Connect(m_nics[i], i < 2 ? left : right);
            hosts.Get(i)->RegisterProtocolHandler(
                MakeCallback(&RnicBridgePacketsTestCase::Receive, this), 0, m_nics[i], true);
        }
        helper.Connect(left, right);
        RnicHelper::PopulateRoutes();

        // Two copies on the left, one on the right; the cards 1 and 2 are not meant.
        Send(0, m_nics[3]->GetAddress(), 1, m_primed ? 0 : 2, m_primed ? 0 : 2);
        NS_TEST_EXPECT_MSG_EQ(m_last, Ptr<NetDevice>(m_nics[3]), "the card that is meant");
        Send(3, m_nics[0]->GetAddress(), 1, 0, 0);
        Send(0, m_nics[3]->GetAddress(), 1, 0, 0);
        Send(1, m_nics[0]->GetBroadcast(), 3, 2, 0);
        NS_TEST_EXPECT_MSG_EQ(m_broadcasts, 3, "as broadcasts");
        NS_TEST_EXPECT_MSG_EQ(m_strays, 0, "nobody else's");
        m_nics.clear();
        m_last = nullptr;
        Simulator::Destroy();
    }

    bool m_primed;
    std::vector<Ptr<RnicNetDevice>> m_nics;
    uint32_t m_got{0};
    uint32_t m_bytes{0};
    uint32_t m_broadcasts{0};
    uint32_t m_strays{0};
    uint64_t m_copied{0};
    uint64_t m_filtered{0};
    Address m_lastFrom;
    Address m_lastTo;
    Ptr<NetDevice> m_last;
};

/** Bridges that learn must be a tree: a ring of them, or two links between two, is refused. */
class RnicBridgeLoopTestCase : public TestCase
{
public:
    RnicBridgeLoopTestCase() : TestCase("a loop of bridges is refused")
    {
    }

private:
    /** @returns why; empty: it was accepted. */
    std::string Ring(uint32_t switches, bool closed, bool learn)
    {
        RnicHelper helper;
        std::vector<Ptr<RnicSwitchDevice>> ring;
        std::string why;

        helper.SetSwitchAttribute("L2", BooleanValue(true));
        helper.SetSwitchAttribute("L2Learn", BooleanValue(learn));
        for (uint32_t i = 0; i < switches; i++)
        {
            ring.push_back(helper.InstallSwitch(CreateObject<Node>(), 3));
            helper.Connect(helper.InstallNic(CreateObject<Node>()), ring[i]);
        }
        for (uint32_t i = 0; i + (closed ? 0 : 1) < switches; i++)
        {
            helper.Connect(ring[i], ring[(i + 1) % switches]);
        }
        NS_TEST_EXPECT_MSG_EQ(RnicHelper::TryPopulateRoutes(&why), why.empty(), "says why");
        ring.clear();
        Simulator::Destroy();
        return why;
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Ring(4, false, true), "", "a line");
        NS_TEST_EXPECT_MSG_EQ(Ring(4, true, false), "", "a ring that learns nothing");
        NS_TEST_EXPECT_MSG_NE(Ring(4, true, true).find("closes a loop"), std::string::npos,
                              "a ring");
        NS_TEST_EXPECT_MSG_NE(Ring(2, true, true).find("closes a loop"), std::string::npos,
                              "two links between two");
    }
};

/** The suite of this file. */
class RnicBridgeTestSuite : public TestSuite
{
public:
    RnicBridgeTestSuite() : TestSuite("rnic-bridge")
    {
        AddTestCase(new RnicBridgePacketsTestCase(false));
        AddTestCase(new RnicBridgePacketsTestCase(true));
        AddTestCase(new RnicBridgeLoopTestCase);
    }
};

static RnicBridgeTestSuite g_rnicBridgeTestSuite;
