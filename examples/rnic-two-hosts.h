/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNIC_TWO_HOSTS_H
#define RNIC_TWO_HOSTS_H

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/rnic-helper.h"

#include <cstring>
#include <iostream>
#include <string>

/**
 * What the examples share: hosts around one switch, 100 Gb/s and 1 us each, and on each host a
 * protection domain, a completion queue and 64 KiB that peers may do everything with.
 * (rnic-first-write.cc does all of it by hand.)
 */
struct RnicHosts
{
    explicit RnicHosts(uint32_t n = 2)
    {
        ns3::Time::SetResolution(ns3::Time::PS); // line times need picoseconds
        ns3::RnicHelper rnic;
        rnic.SetLinkAttribute("DataRate", ns3::StringValue("100Gbps"));
        rnic.SetLinkAttribute("Delay", ns3::StringValue("1us"));
        auto fabric = rnic.InstallSwitch(ns3::CreateObject<ns3::Node>(), n);
        for (uint32_t i = 0; i < n; i++)
        {
            auto nic = rnic.InstallNic(ns3::CreateObject<ns3::Node>());
            rnic.Connect(nic, fabric);
            verbs.push_back(ns3::CreateObject<ns3::RnicVerbs>(nic));
        }
        ns3::RnicHelper::PopulateRoutes();
        for (auto &v : verbs)
        {
            uint32_t number;
            v->AllocPd(&number);
            pd.push_back(number);
            v->CreateCq(64, &number);
            cq.push_back(number);
            memory.push_back(v->AllocMemory(pd.back(), 65536,
                                            RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |
                                                RNIC_ACCESS_REMOTE_READ |
                                                RNIC_ACCESS_REMOTE_ATOMIC | RNIC_ACCESS_MW_BIND));
        }
    }

    ~RnicHosts()
    {
        ns3::Simulator::Destroy();
    }

    /** A connected queue pair between two hosts. @returns numbers at @p a and at @p b. */
    std::pair<uint32_t, uint32_t> Connect(uint32_t a, uint32_t b)
    {
        std::pair<uint32_t, uint32_t> qp;
        verbs[a]->CreateQp(pd[a], cq[a], 16, &qp.first);
        verbs[b]->CreateQp(pd[b], cq[b], 16, &qp.second);
        ns3::RnicVerbs::Connect(verbs[a], qp.first, verbs[b], qp.second);
        return qp;
    }

    /**
     * Run for 100 us, longer than any of it takes: the host sees a completion some time after the
     * last thing that happens to a frame.
     */
    void Run()
    {
        ns3::Simulator::Stop(ns3::MicroSeconds(100));
        ns3::Simulator::Run();
    }

    /** Print all completions that host @p i has; the last one. */
    struct rnic_wc Print(uint32_t i)
    {
        struct rnic_wc wc = {};
        struct rnic_wc next;
        while (verbs[i]->PollCq(cq[i], 1, &next) == 1)
        {
            wc = next;
            std::cout << "host " << i << ": request " << wc.wr_id << " "
                      << rnic_wc_status_name(wc.status) << std::endl;
        }
        return wc;
    }

    /** @returns the host's bytes at @p offset as text. */
    const char *Text(uint32_t i, uint32_t offset = 0)
    {
        return reinterpret_cast<const char *>(memory[i]->Data()) + offset;
    }

    /** Put @p text, with its 0, into a host's memory. @returns its length with the 0. */
    uint32_t Put(uint32_t i, const std::string &text, uint32_t offset = 0)
    {
        std::memcpy(memory[i]->Data() + offset, text.c_str(), text.size() + 1);
        return static_cast<uint32_t>(text.size() + 1);
    }

    std::vector<ns3::Ptr<ns3::RnicVerbs>> verbs;
    std::vector<ns3::Ptr<ns3::RnicMemory>> memory;
    std::vector<uint32_t> pd;
    std::vector<uint32_t> cq;
};

#endif /* RNIC_TWO_HOSTS_H */
