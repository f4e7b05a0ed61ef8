/* SPDX-License-Identifier: GPL-2.0-only */
// Who has which address: cards with other addresses than the default ones, hosts outside.

#include "rnic-test-star.h"

#include "ns3/boolean.h"
#include "ns3/test.h"

#include <cstring>
#include <set>
#include <string>

using namespace ns3;

/** Addresses from outside become stations, and none of a card does. */
class RnicLearnStationTestCase : public TestCase
{
public:
    RnicLearnStationTestCase() : TestCase("stations outside are learned from addresses")
    {
    }

private:
    struct Mac
    {
        explicit Mac(uint32_t number) : bytes{0x52, 0x54, 0, 0, 0, 0}
        {
            bytes[4] = static_cast<uint8_t>(number >> 8);
            bytes[5] = static_cast<uint8_t>(number);
        }

        uint8_t bytes[6];
    };

    struct Gid
    {
        /** An IPv6 address, or an IPv4 one (which ns-3 3.37 does not read behind "::ffff:"). */
        explicit Gid(const char *text)
        {
            const bool ipv6 = std::strchr(text, ':');

            (ipv6 ? Ipv6Address(text) : Ipv6Address::MakeIpv4MappedAddress(Ipv4Address(text)))
                .GetBytes(bytes);
        }

        uint8_t bytes[16];
    };

    static uint32_t Learn(const Mac &mac, const char *gid)
    {
        const Gid bytes(gid ? gid : "::");

        return RnicEngine::Get()->LearnStation(mac.bytes, gid ? bytes.bytes : nullptr);
    }

    static uint32_t Find(const char *gid)
    {
        return wire_addr_by_gid(RnicEngine::Get()->GetBook(), Gid(gid).bytes);
    }

    static uint32_t Find(const Mac &mac)
    {
        return wire_addr_by_mac(RnicEngine::Get()->GetBook(), mac.bytes);
    }

    void DoRun() override
    {
        RnicTestStar star(2);

        star.Build();

        const uint32_t card = star.m_nics[1]->GetPort();
        const char *cardGid = "10.0.0.2";
        Mac cardMac(0);

        Mac48Address::ConvertFrom(star.m_nics[1]->GetAddress()).CopyTo(cardMac.bytes);

        // A MAC first; its address comes to it, a second address is a station of its own.
        const uint32_t first = Learn(Mac(1), nullptr);
        NS_TEST_EXPECT_MSG_EQ(RnicEngine::IsOutside(first), true, "outside");
        NS_TEST_EXPECT_MSG_EQ(Learn(Mac(1), nullptr), first, "known");
        NS_TEST_EXPECT_MSG_EQ(Learn(Mac(1), "10.9.0.1"), first, "has its address now");
        NS_TEST_EXPECT_MSG_EQ(Find("10.9.0.1"), first, "found by it");
        const uint32_t second = Learn(Mac(1), "fd00::1");
        NS_TEST_EXPECT_MSG_NE(second, first, "another address");
        NS_TEST_EXPECT_MSG_EQ(Find("fd00::1"), second, "found by it");
        NS_TEST_EXPECT_MSG_EQ(Find(Mac(1)), first, "frames come from the first");
        NS_TEST_EXPECT_MSG_EQ(star.m_nics[0]->GetNextHop(first),
                              star.m_switch->GetPort(0)->GetPort(),
                              "a switch that routes is the next hop");

        // An address moves to another MAC.
        NS_TEST_EXPECT_MSG_EQ(Learn(Mac(2), "fd00::1"), second, "the same station");
        NS_TEST_EXPECT_MSG_EQ(Find(Mac(2)), second, "has another MAC");

        // The default address of a port of the switch is nobody's: there is no host.
        NS_TEST_EXPECT_MSG_EQ(RnicEngine::IsOutside(Learn(Mac(3), "10.0.0.3")), true,
                              "of a switch's port");
        NS_TEST_EXPECT_MSG_EQ(Find("10.0.0.3"), Find(Mac(3)), "explicit ones come first");

        // Nor is any other default address: hosts outside may have it, and stay apart.
        std::set<uint32_t> stations;

        for (uint8_t n = 1; n <= 8; n++)
        {
            Mac other(0);

            other.bytes[0] = 2;
            other.bytes[1] = 0;
            other.bytes[3] = 0x40;
            other.bytes[5] = n;
            stations.insert(Learn(other, nullptr));
            stations.insert(Learn(Mac(0x10u + n), nullptr));
            stations.insert(Learn(Mac(0x20u + n), ("10.64.0." + std::to_string(n + 20)).c_str()));
        }
        NS_TEST_EXPECT_MSG_EQ(stations.size(), 24, "each its own");
        for (const uint32_t station : stations)
        {
            const auto known = wire_addr_station(RnicEngine::Get()->GetBook(), station);

            NS_TEST_EXPECT_MSG_EQ(wire_addr_by_mac(RnicEngine::Get()->GetBook(), known.mac),
                                  station, "with its MAC");
        }

        // Those of a card are the card's.
        NS_TEST_EXPECT_MSG_EQ(Learn(cardMac, cardGid), card, "the card");
        NS_TEST_EXPECT_MSG_EQ(Learn(cardMac, nullptr), card, "the card");
        NS_TEST_EXPECT_MSG_EQ(Learn(Mac(4), cardGid), WIRE_STATION_NONE, "an address in use");
        NS_TEST_EXPECT_MSG_EQ(Learn(cardMac, "fd00::7"), WIRE_STATION_NONE, "a MAC in use");
        NS_TEST_EXPECT_MSG_EQ(Find(Mac(4)), WIRE_STATION_NONE, "nothing learned of that");

        NS_TEST_EXPECT_MSG_EQ(Learn(Mac(5), "::"), WIRE_STATION_NONE, "unspecified");

        Mac group(6);

        group.bytes[0] |= 1;
        NS_TEST_EXPECT_MSG_EQ(Learn(group, nullptr), WIRE_STATION_BROADCAST, "everybody");

        uint32_t learned = 27;

        while (learned < 2000 && Learn(Mac(0x1000 + learned), nullptr) != WIRE_STATION_NONE)
        {
            learned++;
        }
        NS_TEST_EXPECT_MSG_EQ(learned, 1024, "not more");
        NS_TEST_EXPECT_MSG_EQ(Learn(Mac(1), "10.9.0.1"), first, "known ones stay");
    }
};

/** Two cards with addresses and first PSNs of their own. */
class RnicGidTestCase : public TestCase
{
public:
    explicit RnicGidTestCase(bool ipv6)
        : TestCase(ipv6 ? "cards with IPv6 addresses" : "cards with other IPv4 addresses"),
          m_ipv6(ipv6)
    {
    }

private:
    void Sent(const RnicFrameInfo &frame)
    {
        const bool ipv6 = frame.header.flags & WIRE_FRAME_IPV6;

        m_wrong += ipv6 != m_ipv6;
        if (frame.header.opcode == WIRE_OP_WRITE_ONLY)
        {
            m_psns.push_back(frame.header.psn.v);
        }
    }

    void DoRun() override
    {
        RnicTestStar star(2);

        RnicEngine::Get()->SetAttribute("Wire", BooleanValue(true)); // addresses are in the bytes
        star.Build();
        for (uint32_t i = 0; i < 2; i++)
        {
            if (m_ipv6)
            {
                star.m_nics[i]->SetGid(Ipv6Address(i ? "fd00::b" : "fd00::a"));
            }
            else
            {
                star.m_nics[i]->SetGid(Ipv4Address(i ? "192.168.7.9" : "192.168.7.8"));
            }
            star.m_nics[i]->TraceConnectWithoutContext("FrameTx",
                                                       MakeCallback(&RnicGidTestCase::Sent, this));
        }

        uint32_t qpns[2];
        RnicConnectOptions options;

        for (uint32_t i = 0; i < 2; i++)
        {
            star.m_verbs[i]->CreateQp(star.m_pds[i], star.m_cqs[i], 4, &qpns[i]);
        }
        options.psn = 0xFFFFFF;
        options.peerPsn = 77;
        NS_TEST_EXPECT_MSG_EQ(
            RnicVerbs::Connect(star.m_verbs[0], qpns[0], star.m_verbs[1], qpns[1], options), 0,
            "connected");
        star.Fill(0);
        star.m_verbs[0]->PostWrite(qpns[0], 1, star.m_memory[0], 0, star.m_memory[1], 0, 500);
        Simulator::Run();
        star.m_verbs[1]->PostWrite(qpns[1], 2, star.m_memory[1], 0, star.m_memory[0], 50000, 100);
        Simulator::Run();
        for (uint32_t i = 0; i < 2; i++)
        {
            const auto done = star.Poll(i);

            NS_TEST_ASSERT_MSG_EQ(done.size(), 1, "completed");
            NS_TEST_EXPECT_MSG_EQ(done[0].status, RNIC_WC_SUCCESS, "well");
        }
        NS_TEST_EXPECT_MSG_EQ(std::memcmp(star.m_memory[0]->Data(), star.m_memory[1]->Data(), 500),
                              0, "there");
        NS_TEST_EXPECT_MSG_EQ(
            std::memcmp(star.m_memory[0]->Data() + 50000, star.m_memory[1]->Data(), 100), 0,
            "and back");
        NS_TEST_EXPECT_MSG_EQ(m_wrong, 0, "version of IP");
        NS_TEST_EXPECT_MSG_EQ((m_psns == std::vector<uint32_t>{0xFFFFFF, 77}), true, "first PSNs");
    }

    bool m_ipv6;
    uint32_t m_wrong = 0;
    std::vector<uint32_t> m_psns;
};

/** The suite of this file. */
class RnicStationTestSuite : public TestSuite
{
public:
    RnicStationTestSuite() : TestSuite("rnic-station")
    {
        AddTestCase(new RnicLearnStationTestCase);
        AddTestCase(new RnicGidTestCase(false));
        AddTestCase(new RnicGidTestCase(true));
    }
};

static RnicStationTestSuite g_rnicStationTestSuite;
