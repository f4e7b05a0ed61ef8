/* SPDX-License-Identifier: GPL-2.0-only */
// Ordinary ns-3 traffic on the card: NetDevice::Send, Ipv4, UDP and TCP beside RDMA.

#include "rnic-test-star.h"

#include "ns3/bulk-send-helper.h"
#include "ns3/double.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/socket.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/udp-echo-helper.h"
#include "ns3/uinteger.h"

#include <map>

using namespace ns3;

/** Packets through the card's raw ring: content, addresses, time, order, limits. */
class RnicSendPacketTestCase : public TestCase
{
public:
    explicit RnicSendPacketTestCase(bool direct)
        : TestCase(direct ? "NetDevice::Send over one link" : "NetDevice::Send through a switch"),
          m_direct(direct)
    {
    }

private:
    struct Got
    {
        uint64_t at;
        uint32_t size;
        uint16_t protocol;
        Address from;
        uint8_t first;
    };

    void Receive(Ptr<NetDevice> device, Ptr<const Packet> packet, uint16_t protocol,
                 const Address &from, const Address &, NetDevice::PacketType type)
    {
        uint8_t first = 0;

        packet->CopyData(&first, 1);
        m_got[device].push_back({static_cast<uint64_t>(Simulator::Now().GetPicoSeconds()),
                                 packet->GetSize(), protocol, from, first});
        m_broadcasts += type == NetDevice::PACKET_BROADCAST;
    }

    void Send(Ptr<RnicNetDevice> from, Address to, uint8_t first, uint32_t size, bool accepted)
    {
        std::vector<uint8_t> bytes(size, first);

        NS_TEST_EXPECT_MSG_EQ(from->Send(Create<Packet>(bytes.data(), size), to, 0x88B5), accepted,
                              "accepted: " << size << " bytes to " << to);
    }

    void DoRun() override
    {
        RnicTestStar star(m_direct ? 2 : 4, m_direct);

        star.m_helper.SetLinkAttribute("DataRate", StringValue("10Gbps"));
        star.BuildFabric();
        for (uint32_t i = 0; i < star.m_hosts.GetN(); i++)
        {
            star.m_hosts.Get(i)->RegisterProtocolHandler(
                MakeCallback(&RnicSendPacketTestCase::Receive, this), 0, star.m_nics[i], true);
        }

        Ptr<RnicNetDevice> from = star.m_nics[0];
        Ptr<RnicNetDevice> to = star.m_nics[1];

        Send(from, to->GetAddress(), 1, 1500, true);
        Send(from, to->GetAddress(), 2, 1, true);
        Send(from, to->GetAddress(), 3, 1501, false);
        Send(from, Mac48Address("00:00:00:12:34:56"), 4, 100, false);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(m_got[to].size(), 2, "two arrive");

        const Got &one = m_got[to][0];
        const Got &two = m_got[to][1];
        // 1518 B on the line with 8 B before them; through the switch once more, and 1 us a link.
        const uint64_t hop = (1518 + 8) * 800 + 1000000;
        const uint64_t arrival = m_direct ? hop : 2 * hop;

        NS_TEST_EXPECT_MSG_EQ(one.at, arrival, "time of the first");
        NS_TEST_EXPECT_MSG_EQ(two.at, arrival + (12 + 64 + 8) * 800, "the second behind it");
        NS_TEST_EXPECT_MSG_EQ(one.size, 1500, "size");
        NS_TEST_EXPECT_MSG_EQ(two.size, 1, "padding is not the packet's");
        NS_TEST_EXPECT_MSG_EQ(one.protocol, 0x88B5, "EtherType");
        NS_TEST_EXPECT_MSG_EQ(one.from, from->GetAddress(), "source");
        NS_TEST_EXPECT_MSG_EQ(int(one.first), 1, "content");
        NS_TEST_EXPECT_MSG_EQ(int(two.first), 2, "content");

        // A second island of two cards: a broadcast does not cross to it, nor come twice.
        Ptr<RnicNetDevice> far = star.m_helper.InstallNic(CreateObject<Node>());

        star.m_helper.Connect(far, star.m_helper.InstallNic(CreateObject<Node>()));
        far->GetNode()->RegisterProtocolHandler(
            MakeCallback(&RnicSendPacketTestCase::Receive, this), 0, far, true);
        NS_TEST_EXPECT_MSG_EQ(far->GetPort(), (m_direct ? 2u : 8u), "built while time goes on");
        m_got.clear();
        Send(from, from->GetBroadcast(), 5, 100, true);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_got.size(), star.m_hosts.GetN() - 1, "everybody else");
        NS_TEST_EXPECT_MSG_EQ(m_broadcasts, star.m_hosts.GetN() - 1, "once each, as a broadcast");
    }

    bool m_direct;                                    //!< no switch
    std::map<Ptr<NetDevice>, std::vector<Got>> m_got; //!< by receiver
    uint32_t m_broadcasts = 0;                        //!< received as broadcast
};

/** An address of one's own is found, and packets on their way die with the simulation. */
class RnicAddressTestCase : public TestCase
{
public:
    RnicAddressTestCase() : TestCase("SetAddress; packets in flight at the end")
    {
    }

private:
    void Receive(Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address &, const Address &,
                 NetDevice::PacketType)
    {
        m_received++;
    }

    void DoRun() override
    {
        RnicTestStar star(3);

        star.BuildFabric();
        star.m_nics[1]->SetAddress(Mac48Address("02:11:22:33:44:55"));
        star.m_hosts.Get(1)->RegisterProtocolHandler(
            MakeCallback(&RnicAddressTestCase::Receive, this), 0, star.m_nics[1]);
        star.m_nics[0]->Send(Create<Packet>(100), Mac48Address("02:11:22:33:44:55"), 0x88B5);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_received, 1, "by its own address");
        for (int i = 0; i < 10; i++)
        {
            star.m_nics[0]->Send(Create<Packet>(1000), star.m_nics[1]->GetAddress(), 0x88B5);
            star.m_nics[2]->Send(Create<Packet>(1000), star.m_nics[1]->GetAddress(), 0x88B5);
        }
        Simulator::Stop(NanoSeconds(2300)); // some at the cards, on the line and in the switch
        Simulator::Run();
        NS_TEST_EXPECT_MSG_LT(m_received, 21, "not all");
    }

    int m_received = 0; //!< packets at host 1
};

/** The internet stack over the card: ARP, UDP echo, and TCP that shares the line with RDMA. */
class RnicInternetTestCase : public TestCase
{
public:
    RnicInternetTestCase() : TestCase("ARP, UDP echo and TCP beside RDMA")
    {
    }

private:
    void EchoRx(Ptr<const Packet> packet)
    {
        m_echoes += packet->GetSize() == 1000;
    }

    void DoRun() override
    {
        RnicTestStar star(3);
        NetDeviceContainer devices;
        InternetStackHelper stack;
        Ipv4AddressHelper addresses;

        star.Build(4000000);
        for (const Ptr<RnicNetDevice> &nic : star.m_nics)
        {
            devices.Add(nic);
        }
        stack.Install(star.m_hosts);
        addresses.SetBase("192.168.0.0", "255.255.255.0");

        const Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        UdpEchoServerHelper server(9);
        UdpEchoClientHelper client(interfaces.GetAddress(1), 9);

        client.SetAttribute("MaxPackets", UintegerValue(5));
        client.SetAttribute("Interval", StringValue("20ms")); // ARP waits up to 10 ms
        client.SetAttribute("PacketSize", UintegerValue(1000));

        ApplicationContainer servers = server.Install(star.m_hosts.Get(1));
        ApplicationContainer clients = client.Install(star.m_hosts.Get(0));

        clients.Get(0)->TraceConnectWithoutContext(
            "Rx", MakeCallback(&RnicInternetTestCase::EchoRx, this));

        BulkSendHelper bulk("ns3::TcpSocketFactory",
                            InetSocketAddress(interfaces.GetAddress(1), 80));
        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), 80));

        bulk.SetAttribute("MaxBytes", UintegerValue(2000000));
        bulk.Install(star.m_hosts.Get(2));

        ApplicationContainer sinks = sink.Install(star.m_hosts.Get(1));
        auto qpns = star.Pair(2, 1);

        star.m_verbs[2]->PostWrite(qpns.first, 1, star.m_memory[2], 0, star.m_memory[1], 0,
                                   4000000);
        Simulator::Stop(Seconds(2));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_echoes, 5, "echoes");
        NS_TEST_EXPECT_MSG_EQ(DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx(), 2000000, "TCP");

        const std::vector<struct rnic_wc> wc = star.Poll(2);

        NS_TEST_ASSERT_MSG_EQ(wc.size(), 1, "RDMA");
        NS_TEST_EXPECT_MSG_EQ(wc[0].status, RNIC_WC_SUCCESS, "RDMA");
    }

    int m_echoes = 0; //!< echoes with the right size
};

class RnicPacketTestSuite : public TestSuite
{
public:
    RnicPacketTestSuite() : TestSuite("rnic-packet")
    {
        AddTestCase(new RnicSendPacketTestCase(true));
        AddTestCase(new RnicSendPacketTestCase(false));
        AddTestCase(new RnicAddressTestCase);
        AddTestCase(new RnicInternetTestCase);
    }
};

static RnicPacketTestSuite g_rnicPacketTestSuite; //!< registers itself
