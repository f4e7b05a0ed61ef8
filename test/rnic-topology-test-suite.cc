/* SPDX-License-Identifier: GPL-2.0-only */
// Networks of several switches and several speeds, where others were reported to go wrong.

#include "rnic-test-star.h"

#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <iostream>
#include <set>
#include <sstream>

using namespace ns3;

namespace
{

constexpr uint64_t GBPS = 1000000000;

const struct engine_port_counters *PortCounters(const Ptr<RnicPortDevice> &port)
{
    return engine_query_port(RnicEngine::Get()->GetEngine(), port->GetPort());
}

/** Hosts of a fabric of one's own: cards by Install(), then Verbs() when all is connected. */
class Hosts : public RnicTestStar
{
public:
    explicit Hosts(uint32_t hosts) : RnicTestStar(hosts)
    {
    }

    Ptr<RnicNetDevice> Install()
    {
        m_nics.push_back(m_helper.InstallNic(m_hosts.Get(m_nics.size())));
        return m_nics.back();
    }

    void Rate(uint64_t bps)
    {
        struct engine_link_params link;

        wire_param_defaults(engine_link_param_table, engine_link_param_count, &link);
        link.rate_bps = bps;
        m_helper.SetLinkParams(link);
    }

    void Verbs(uint32_t bytes, uint32_t entries)
    {
        for (const Ptr<RnicNetDevice> &nic : m_nics)
        {
            Ptr<RnicVerbs> verbs = CreateObject<RnicVerbs>(nic);
            uint32_t pd = 0;
            uint32_t cq = 0;

            verbs->AllocPd(&pd);
            verbs->CreateCq(entries, &cq);
            m_verbs.push_back(verbs);
            m_pds.push_back(pd);
            m_cqs.push_back(cq);
            m_memory.push_back(
                verbs->AllocMemory(pd, bytes, RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE));
        }
    }

    /** @p times a WRITE of @p bytes from host @p a to @p b on a queue pair of its own. */
    uint32_t Flow(uint32_t a, uint32_t b, uint32_t bytes, uint32_t times = 1)
    {
        const uint32_t qpn = Pair(a, b, std::max(times, 2u)).first;

        for (uint32_t i = 0; i < times; i++)
        {
            m_verbs[a]->PostWrite(qpn, i, m_memory[a], 0, m_memory[b], 0, bytes);
        }
        return qpn;
    }
};

/** Four pods of four hosts under four core switches: every core link is used, or one is told. */
class RnicFatTreeTestCase : public TestCase
{
public:
    explicit RnicFatTreeTestCase(bool same)
        : TestCase(same ? "fat tree with one hash seed for all: told, and paths stay unused"
                        : "fat tree of 1,024 flows: each core link carries some, nothing is told"),
          m_same(same)
    {
    }

private:
    void DoRun() override
    {
        Hosts net(16);
        std::vector<Ptr<RnicSwitchDevice>> edges;
        std::vector<Ptr<RnicSwitchDevice>> aggregates;
        std::vector<Ptr<RnicSwitchDevice>> cores;
        NodeContainer nodes(20);

        if (m_same)
        {
            net.m_helper.SetSwitchAttribute("EcmpSeed", UintegerValue(12345));
        }
        for (uint32_t i = 0; i < 20; i++)
        {
            (i < 8    ? edges
             : i < 16 ? aggregates
                      : cores)
                .push_back(net.m_helper.InstallSwitch(nodes.Get(i), 4));
        }
        for (uint32_t host = 0; host < 16; host++)
        {
            net.m_helper.Connect(net.Install(), edges[host / 2]);
        }
        for (uint32_t i = 0; i < 8; i++)
        {
            net.m_helper.Connect(edges[i], aggregates[i / 2 * 2]);
            net.m_helper.Connect(edges[i], aggregates[i / 2 * 2 + 1]);
        }
        for (uint32_t i = 0; i < 8; i++) // port 2 and 3 of each aggregate switch lead up
        {
            net.m_helper.Connect(aggregates[i], cores[i % 2 * 2]);
            net.m_helper.Connect(aggregates[i], cores[i % 2 * 2 + 1]);
        }
        std::ostringstream told;
        std::streambuf *before = std::cerr.rdbuf(told.rdbuf());
        RnicHelper::PopulateRoutes();
        std::cerr.rdbuf(before);
        NS_TEST_EXPECT_MSG_EQ((told.str().find("16 switches choose paths with the same EcmpSeed "
                                               "12345") != std::string::npos),
                              m_same, told.str());
        NS_TEST_EXPECT_MSG_EQ(told.str().empty(), !m_same, told.str());

        net.Verbs(4096, 1024);
        for (uint32_t flow = 0; flow < 1024; flow++) // to the same place of each other pod
        {
            net.Flow(flow % 16, (flow % 16 + 4 * (1 + flow / 16 % 3)) % 16, 64);
        }
        Simulator::Run();
        uint32_t unused = 0;
        uint64_t frames = 0;
        for (const Ptr<RnicSwitchDevice> &aggregate : aggregates)
        {
            for (uint32_t port = 2; port < 4; port++)
            {
                unused += PortCounters(aggregate->GetPort(port))->tx_frames == 0;
                frames += PortCounters(aggregate->GetPort(port))->tx_frames;
            }
        }
        NS_TEST_EXPECT_MSG_EQ(frames, 2048, "each flow once up, and its acknowledge");
        NS_TEST_EXPECT_MSG_EQ((unused > 0), m_same, unused << " of 16 links up unused");
    }

    bool m_same;
};

/** Two links between the same two switches are two links. */
class RnicParallelLinksTestCase : public TestCase
{
public:
    RnicParallelLinksTestCase() : TestCase("two links of 100G between two switches carry 64 flows")
    {
    }

private:
    void DoRun() override
    {
        Hosts net(2);
        NodeContainer nodes(2);
        Ptr<RnicSwitchDevice> a = net.m_helper.InstallSwitch(nodes.Get(0), 3);
        Ptr<RnicSwitchDevice> b = net.m_helper.InstallSwitch(nodes.Get(1), 3);

        net.m_helper.SetCc("none", "paper-2015");
        net.Rate(100 * GBPS);
        net.m_helper.Connect(a, b);
        net.m_helper.Connect(a, b);
        net.Rate(400 * GBPS);
        net.m_helper.Connect(net.Install(), a);
        net.m_helper.Connect(net.Install(), b);
        RnicHelper::PopulateRoutes();
        net.Verbs(65536, 4096);
        for (int i = 0; i < 64; i++)
        {
            net.Flow(0, 1, 65536, 16);
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(net.Poll(0).size(), 64 * 16, "all complete");
        const uint64_t first = PortCounters(a->GetPort(0))->tx_bytes;
        const uint64_t second = PortCounters(a->GetPort(1))->tx_bytes;
        const double seconds = engine_last_ps(RnicEngine::Get()->GetEngine()) / 1e12;
        const double bps = (first + second) * 8 / seconds;
        const double fuller = std::max(first, second) * 8 / (100e9 * seconds);
        NS_TEST_EXPECT_MSG_GT(bps, 150e9,
                              "more than one link can carry: " << first << " and " << second);
        NS_TEST_EXPECT_MSG_LT(bps, 200e9, "and no more than two can");
        NS_TEST_EXPECT_MSG_GT(fuller, 0.97, "the fuller one is the limit");
    }
};

/** Each card's limit is its own link, not that of the first host. */
class RnicMixedSpeedsTestCase : public TestCase
{
public:
    explicit RnicMixedSpeedsTestCase(bool slowFirst)
        : TestCase(slowFirst ? "hosts of 10G and 40G" : "hosts of 40G and 10G"),
          m_bps{(slowFirst ? 10 : 40) * GBPS, (slowFirst ? 40 : 10) * GBPS, 100 * GBPS}
    {
    }

private:
    void DoRun() override
    {
        Hosts net(3);
        Ptr<RnicSwitchDevice> device = net.m_helper.InstallSwitch(CreateObject<Node>(), 3);
        uint32_t qpns[2];

        net.m_helper.SetCc("dcqcn", "paper-2015");
        for (uint64_t bps : m_bps)
        {
            net.Rate(bps);
            net.m_helper.Connect(net.Install(), device);
        }
        RnicHelper::PopulateRoutes();
        net.Verbs(65536, 4096);
        for (uint32_t host = 0; host < 2; host++)
        {
            qpns[host] = net.Flow(host, 2, 65536, 16);
        }
        for (uint32_t host = 0; host < 2; host++)
        {
            uint64_t bps = 0;
            double alpha = 0;

            NS_TEST_EXPECT_MSG_EQ(net.m_verbs[host]->QueryRate(qpns[host], &bps, &alpha), 0, "");
            NS_TEST_EXPECT_MSG_EQ(bps, m_bps[host], "rate of the queue pair before any CNP");
        }
        Simulator::Run();
        for (uint32_t host = 0; host < 2; host++)
        {
            const struct engine_port_counters *counters = PortCounters(net.m_nics[host]);
            const double wanted = (counters->tx_bytes + 20.0 * counters->tx_frames) * 8e12;

            NS_TEST_EXPECT_MSG_EQ(net.Poll(host).size(), 16, "all complete");
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(counters->busy_ps),
                                      wanted / static_cast<double>(m_bps[host]), 1e6,
                                      "time on its own line");
        }
        // 10 and 40 together fit 100: nobody waits for anybody, so the slower one ends last.
        const double slow = 16.0 * 65536 * 8 / 10e9;
        const double end = engine_last_ps(RnicEngine::Get()->GetEngine()) / 1e12;
        NS_TEST_EXPECT_MSG_GT(end, slow, "not faster than its line");
        NS_TEST_EXPECT_MSG_LT(end, slow * 1.03 + 10e-6, "nor slower");
    }

    uint64_t m_bps[3]; //!< of host 0, 1 and the target
};

/** A line that is down for 40 us holds its flow up for as long, and no other. */
class RnicLinkDownTestCase : public TestCase
{
public:
    RnicLinkDownTestCase() : TestCase("a line goes down at 10 us and up at 50 us")
    {
    }

private:
    void DoRun() override
    {
        Hosts net(3);
        Ptr<RnicSwitchDevice> device = net.m_helper.InstallSwitch(CreateObject<Node>(), 3);
        std::vector<Ptr<RnicLink>> links;
        struct rnic_params params = rnic_params_ideal();

        params.timeout = 2; // 16.4 us
        net.m_helper.SetNicParams(params);
        net.Rate(100 * GBPS);
        for (uint32_t host = 0; host < 3; host++)
        {
            links.push_back(net.m_helper.Connect(net.Install(), device));
        }
        RnicHelper::PopulateRoutes();
        net.Verbs(65536, 4096);
        net.Flow(0, 2, 65536, 16);
        net.Flow(1, 2, 65536, 1);
        Simulator::Schedule(MicroSeconds(10), &RnicLink::SetUp, links[0], false);
        Simulator::Schedule(MicroSeconds(50), &RnicLink::SetUp, links[0], true);
        Simulator::Run();
        for (uint32_t host = 0; host < 2; host++)
        {
            for (const struct rnic_wc &wc : net.Poll(host))
            {
                NS_TEST_EXPECT_MSG_EQ(wc.status, RNIC_WC_SUCCESS, "the flow goes on");
            }
        }
        const auto *mine = PortCounters(device->GetPort(0));
        const auto *other = PortCounters(device->GetPort(1));
        const double end = engine_last_ps(RnicEngine::Get()->GetEngine()) / 1e12;
        NS_TEST_EXPECT_MSG_GT(mine->drops[WIRE_DROP_LINK_DOWN], 0, "lost on the line");
        NS_TEST_EXPECT_MSG_EQ(other->drops[WIRE_DROP_LINK_DOWN], 0, "of that host only");
        NS_TEST_EXPECT_MSG_GT(end, 16 * 65536 * 8 / 100e9 + 40e-6, "later by at least that");
        NS_TEST_EXPECT_MSG_LT(end, 17 * 66600 * 8 / 100e9 + 100e-6, "and not much later");
    }
};

class RnicTopologyTestSuite : public TestSuite
{
public:
    RnicTopologyTestSuite() : TestSuite("rnic-topology")
    {
        AddTestCase(new RnicFatTreeTestCase(false));
        AddTestCase(new RnicFatTreeTestCase(true));
        AddTestCase(new RnicParallelLinksTestCase);
        AddTestCase(new RnicMixedSpeedsTestCase(true));
        AddTestCase(new RnicMixedSpeedsTestCase(false));
        AddTestCase(new RnicLinkDownTestCase);
    }
};

} // namespace

static RnicTopologyTestSuite g_rnicTopologyTestSuite; //!< registers itself
