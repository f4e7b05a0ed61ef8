/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNIC_TEST_STAR_H
#define RNIC_TEST_STAR_H

#include "rnic-helper.h"
#include "rnic-verbs.h"

#include "ns3/nstime.h"

#include <vector>

namespace ns3
{

/**
 * @ingroup rnic
 * Hosts around one switch (or two hosts on one link), for tests: set the helper, then Build().
 */
class RnicTestStar
{
public:
    /** @param hosts number of hosts; @param direct two hosts on one link, no switch. */
    explicit RnicTestStar(uint32_t hosts, bool direct = false) : m_direct(direct)
    {
        // ns-3's own test runner starts with nanoseconds.
        if (Time::GetResolution() != Time::PS)
        {
            Time::SetResolution(Time::PS);
        }
        m_hosts.Create(hosts);
        m_helper.SetNicParams(rnic_params_ideal());
    }

    ~RnicTestStar()
    {
        Simulator::Destroy();
    }

    /** Make devices, links, routes, and on each host a PD, a CQ and @p bytes of memory. */
    void Build(uint32_t bytes = 65536)
    {
        BuildFabric();
        for (const Ptr<RnicNetDevice> &nic : m_nics)
        {
            Ptr<RnicVerbs> verbs = CreateObject<RnicVerbs>(nic);
            uint32_t pd = 0;
            uint32_t cq = 0;

            verbs->AllocPd(&pd);
            verbs->CreateCq(1024, &cq);
            m_verbs.push_back(verbs);
            m_pds.push_back(pd);
            m_cqs.push_back(cq);
            m_memory.push_back(
                verbs->AllocMemory(pd, bytes, RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE));
        }
    }

    /** Only devices, links and routes. */
    void BuildFabric()
    {
        for (uint32_t i = 0; i < m_hosts.GetN(); i++)
        {
            m_nics.push_back(m_helper.InstallNic(m_hosts.Get(i)));
        }
        if (m_direct)
        {
            m_links.push_back(m_helper.Connect(m_nics[0], m_nics[1]));
            return;
        }
        m_switch = m_helper.InstallSwitch(CreateObject<Node>(), m_hosts.GetN());
        for (const Ptr<RnicNetDevice> &nic : m_nics)
        {
            m_links.push_back(m_helper.Connect(nic, m_switch));
        }
        RnicHelper::PopulateRoutes();
    }

    /** A connected pair of queue pairs. @returns numbers at @p a and at @p b. */
    std::pair<uint32_t, uint32_t> Pair(uint32_t a, uint32_t b, uint32_t depth = 64)
    {
        std::pair<uint32_t, uint32_t> qpns;

        m_verbs[a]->CreateQp(m_pds[a], m_cqs[a], depth, &qpns.first);
        m_verbs[b]->CreateQp(m_pds[b], m_cqs[b], depth, &qpns.second);
        RnicVerbs::Connect(m_verbs[a], qpns.first, m_verbs[b], qpns.second);
        return qpns;
    }

    /** Fill host @p i's memory with bytes that depend on place and host. */
    void Fill(uint32_t i)
    {
        for (uint64_t k = 0; k < m_memory[i]->Size(); k++)
        {
            m_memory[i]->Data()[k] = static_cast<uint8_t>(k * 131 + k / 251 + i * 17 + 1);
        }
    }

    /** @returns everything that is visible in host @p i's CQ now. */
    std::vector<struct rnic_wc> Poll(uint32_t i)
    {
        std::vector<struct rnic_wc> all;
        struct rnic_wc wc;

        while (m_verbs[i]->PollCq(m_cqs[i], 1, &wc) == 1)
        {
            all.push_back(wc);
        }
        return all;
    }

    bool m_direct;
    RnicHelper m_helper;
    NodeContainer m_hosts;
    std::vector<Ptr<RnicNetDevice>> m_nics;
    Ptr<RnicSwitchDevice> m_switch;
    std::vector<Ptr<RnicLink>> m_links;
    std::vector<Ptr<RnicVerbs>> m_verbs;
    std::vector<uint32_t> m_pds;
    std::vector<uint32_t> m_cqs;
    std::vector<Ptr<RnicMemory>> m_memory;
};

} // namespace ns3

#endif /* RNIC_TEST_STAR_H */
