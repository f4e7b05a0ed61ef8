/* SPDX-License-Identifier: GPL-2.0-only */
// Two hosts, one switch, one RDMA WRITE: the smallest program with this module.
//
//   host 0 ---- switch ---- host 1          100 Gb/s, 1 us each
//
// Prints the completion and leaves rnic-first-write-0-0.pcap (host 0's port) for Wireshark.

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/rnic-helper.h"

#include <cstring>
#include <iostream>

using namespace ns3;

static void OnCompletion(Ptr<RnicVerbs> verbs, uint32_t cq)
{
    struct rnic_wc wc;
    while (verbs->PollCq(cq, 1, &wc) == 1)
    {
        std::cout << "work request " << wc.wr_id << ": " << rnic_wc_status_name(wc.status) << " at "
                  << Simulator::Now().As(Time::US) << std::endl;
    }
}

int main(int argc, char *argv[])
{
    Time::SetResolution(Time::PS); // before anything else: line times need picoseconds

    uint32_t bytes = 10000;
    CommandLine cmd(__FILE__);
    cmd.AddValue("bytes", "Bytes to write", bytes);
    cmd.Parse(argc, argv);

    // Nodes, a card in each host, a switch with two ports, two links.
    NodeContainer hosts(2);
    NodeContainer switches(1);
    RnicHelper rnic;
    rnic.SetNicAttribute("Mtu", UintegerValue(1024)); // every parameter is an attribute
    rnic.SetLinkAttribute("DataRate", StringValue("100Gbps"));
    rnic.SetLinkAttribute("Delay", StringValue("1us"));
    Ptr<RnicNetDevice> nic0 = rnic.InstallNic(hosts.Get(0));
    Ptr<RnicNetDevice> nic1 = rnic.InstallNic(hosts.Get(1));
    Ptr<RnicSwitchDevice> fabric = rnic.InstallSwitch(switches.Get(0), 2);
    rnic.Connect(nic0, fabric);
    rnic.Connect(nic1, fabric);
    RnicHelper::PopulateRoutes();
    rnic.EnablePcap("rnic-first-write", NetDeviceContainer(nic0));

    // Verbs on both hosts: protection domain, completion queue, queue pair, registered memory.
    Ptr<RnicVerbs> verbs[2] = {CreateObject<RnicVerbs>(nic0), CreateObject<RnicVerbs>(nic1)};
    Ptr<RnicMemory> memory[2];
    uint32_t cq[2];
    uint32_t qpn[2];
    for (int i = 0; i < 2; i++)
    {
        uint32_t pd;
        verbs[i]->AllocPd(&pd);
        verbs[i]->CreateCq(16, &cq[i]);
        verbs[i]->CreateQp(pd, cq[i], 16, &qpn[i]);
        memory[i] =
            verbs[i]->AllocMemory(pd, bytes, RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE);
    }
    RnicVerbs::Connect(verbs[0], qpn[0], verbs[1], qpn[1]);

    // Write host 0's bytes into host 1's memory, as soon as the simulation starts.
    std::memset(memory[0]->Data(), 0x5A, bytes);
    verbs[0]->PostWrite(qpn[0], 42, memory[0], 0, memory[1], 0, bytes);

    // The card tells when the armed completion queue has something.
    verbs[0]->SetCqCallback(cq[0], MakeBoundCallback(&OnCompletion, verbs[0]));
    verbs[0]->ReqNotifyCq(cq[0]);
    Simulator::Run();

    const bool same = std::memcmp(memory[0]->Data(), memory[1]->Data(), bytes) == 0;
    std::cout << bytes << " bytes " << (same ? "arrived" : "are missing") << std::endl;
    Simulator::Destroy();
    return same ? 0 : 1;
}
