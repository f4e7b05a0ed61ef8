/* SPDX-License-Identifier: GPL-2.0-only */
// The speed of the module beside a yardstick of stock ns-3, in one process and in short slices.
//
//   rnic-bench [--rounds=N] [--json=FILE]   slices of yardstick and cases in turn, then the ratios
//   rnic-bench --once=CASE [--share=X]      one run of one case with X of its bytes, for profilers
//
// A packet hop is one frame crossing one link, data and ACK alike; pause frames and CNPs are not
// counted. CPU time is of Simulator::Run alone. A slice counts only when the yardstick before and
// after it agree: a shared machine's speed drifts. Compared are the best slices of each.

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/rnic-helper.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

/** User and system time of this process in seconds. */
double CpuSeconds()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

struct Slice
{
    uint64_t hops = 0;
    uint64_t events = 0; //!< engine events; 0 for the yardstick
    double cpuS = 0;
    double simUs = 0;
    double bits = 0; //!< payload bits moved end to end

    double Rate() const
    {
        return hops / cpuS / 1e6;
    }
};

// ---- yardstick: three nodes in a line, 1000 B packets, 32 in flight, the middle one forwards ----

struct Yardstick
{
    Ptr<NetDevice> source, relayOut;
    uint32_t left;
    uint64_t arrived = 0;

    void Send()
    {
        if (left > 0)
        {
            left--;
            source->Send(Create<Packet>(1000), source->GetBroadcast(), 0x0800);
        }
    }

    void Start()
    {
        for (int i = 0; i < 32; i++)
        {
            Send();
        }
    }

    bool Relay(Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t protocol, const Address &)
    {
        return relayOut->Send(packet->Copy(), relayOut->GetBroadcast(), protocol);
    }

    bool Arrive(Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address &)
    {
        arrived++;
        Send();
        return true;
    }
};

Slice RunYardstick(uint32_t packets)
{
    ObjectFactory stock("ns3::MapScheduler");
    Simulator::SetScheduler(stock);
    NodeContainer nodes(3);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("100Gbps"));
    link.SetChannelAttribute("Delay", StringValue("500ns"));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000p"));
    NetDeviceContainer first = link.Install(nodes.Get(0), nodes.Get(1));
    NetDeviceContainer second = link.Install(nodes.Get(1), nodes.Get(2));
    Yardstick yard;
    yard.source = first.Get(0);
    yard.relayOut = second.Get(0);
    yard.left = packets;
    first.Get(1)->SetReceiveCallback(MakeCallback(&Yardstick::Relay, &yard));
    second.Get(1)->SetReceiveCallback(MakeCallback(&Yardstick::Arrive, &yard));
    Simulator::ScheduleNow(&Yardstick::Start, &yard);

    Slice slice;
    const double start = CpuSeconds();
    Simulator::Run();
    slice.cpuS = CpuSeconds() - start;
    slice.hops = 2 * yard.arrived;
    NS_ABORT_MSG_IF(yard.arrived != packets, "yardstick lost packets");
    Simulator::Destroy();
    return slice;
}

// ---- cases: a star, 100 Gb/s, 1 us; DCQCN, PFC, ECN; phantom memory, the ideal card ----

struct Case
{
    std::string name;
    uint32_t hosts;
    uint32_t flows;
    bool incast; //!< all to the last host; else i to i + 1
    uint64_t bytes;
    uint32_t mtu;
    uint32_t ackEvery;
    double target; //!< ratio asked for; 0: reported only
};

const std::vector<Case> g_cases = {
    {"ring4", 4, 4, false, 96000000, 1024, 1, 12},
    {"incast16", 17, 16, true, 6000000, 1024, 1, 8},
    {"ring4-4096", 4, 4, false, 96000000, 4096, 16, 0},
    {"incast16-4096", 17, 16, true, 6000000, 4096, 16, 0},
};

/** The completion of every flow, counted; the simulation ends with the last. */
struct Done
{
    uint32_t left;

    void Completed(Ptr<RnicVerbs> verbs, uint32_t cq)
    {
        struct rnic_wc wc;
        while (verbs->PollCq(cq, 1, &wc) == 1)
        {
            NS_ABORT_MSG_IF(wc.status != RNIC_WC_SUCCESS, rnic_wc_status_name(wc.status));
            left--;
        }
    }
};

Slice RunCase(const Case &c, double share)
{
    RnicHelper::UseBatchDrive();
    RnicHelper rnic;
    struct rnic_params nic = rnic_params_ideal();
    nic.mtu_bytes = c.mtu;
    nic.ack_every = c.ackEvery;
    rnic.SetNicParams(nic);
    rnic.SetCc("dcqcn", "paper-2015");
    struct fabric_params fabric;
    wire_param_defaults(fabric_param_table, fabric_param_count, &fabric); // 32 MB, 400/1600 KB, 0.2
    rnic.SetSwitchParams(fabric);
    rnic.SetLinkAttribute("DataRate", StringValue("100Gbps"));
    rnic.SetLinkAttribute("Delay", StringValue("1us"));

    NodeContainer hosts(c.hosts);
    NodeContainer switches(1);
    NetDeviceContainer nics = rnic.InstallNic(hosts);
    Ptr<RnicSwitchDevice> star = rnic.InstallSwitch(switches.Get(0), c.hosts);
    for (uint32_t i = 0; i < c.hosts; i++)
    {
        rnic.Connect(nics.Get(i), star);
    }
    RnicHelper::PopulateRoutes();

    const uint64_t bytes = std::max<uint64_t>(c.bytes * share / c.mtu, 1) * c.mtu;
    Done done{c.flows};
    for (uint32_t flow = 0; flow < c.flows; flow++)
    {
        const uint32_t ends[2] = {flow, c.incast ? c.hosts - 1 : (flow + 1) % c.hosts};
        Ptr<RnicVerbs> verbs[2];
        Ptr<RnicMemory> memory[2];
        uint32_t cq[2];
        uint32_t qpn[2];
        for (int i = 0; i < 2; i++)
        {
            uint32_t pd;
            verbs[i] = CreateObject<RnicVerbs>(DynamicCast<RnicNetDevice>(nics.Get(ends[i])));
            verbs[i]->AllocPd(&pd);
            verbs[i]->CreateCq(16, &cq[i]);
            verbs[i]->CreateQp(pd, cq[i], 4, &qpn[i]);
            memory[i] = verbs[i]->AllocMemory(
                pd, bytes, RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE, true);
        }
        int error = RnicVerbs::Connect(verbs[0], qpn[0], verbs[1], qpn[1]);
        NS_ABORT_MSG_IF(error != 0, rnic_err_name(error));
        verbs[0]->SetCqCallback(cq[0], MakeCallback(&Done::Completed, &done).Bind(verbs[0]));
        verbs[0]->ReqNotifyCq(cq[0]);
        error = verbs[0]->PostWrite(qpn[0], flow, memory[0], 0, memory[1], 0, bytes);
        NS_ABORT_MSG_IF(error != 0, rnic_err_name(error));
    }

    Slice slice;
    const double start = CpuSeconds();
    Simulator::Run();
    slice.cpuS = CpuSeconds() - start;
    NS_ABORT_MSG_IF(done.left != 0, "a flow did not complete");
    struct engine_counters counters;
    engine_query(RnicEngine::Get()->GetEngine(), &counters);
    uint64_t cnps = 0;
    for (uint32_t i = 0; i < c.hosts; i++)
    {
        cnps += rnic_query_counters(DynamicCast<RnicNetDevice>(nics.Get(i))->GetDevice())->cnps_tx;
    }
    slice.hops = counters.packet_hops - 2 * cnps;
    slice.events = counters.events;
    slice.simUs = Simulator::Now().GetPicoSeconds() / 1e6;
    slice.bits = 8.0 * bytes * c.flows;
    Simulator::Destroy();
    return slice;
}

// ---- all of it ----

struct Result
{
    double yardstick = 0; //!< best of the slices beside it
    Slice best;
    uint32_t kept = 0;
};

void WriteJson(std::ostream &out, double yardstick, const std::vector<Result> &results)
{
    out << "{\n  \"yardstick_mhop_per_cpu_s\": " << yardstick << ",\n  \"cases\": [";
    for (size_t i = 0; i < results.size(); i++)
    {
        const Slice &s = results[i].best;
        out << (i ? "," : "") << "\n    {\"name\": \"" << g_cases[i].name
            << "\", \"packet_hops\": " << s.hops << ", \"cpu_s\": " << s.cpuS
            << ", \"mhop_per_cpu_s\": " << s.Rate() << ", \"ratio\": " << s.Rate() / yardstick
            << ", \"target\": " << g_cases[i].target
            << ", \"events_per_hop\": " << double(s.events) / s.hops
            << ", \"simulated_gbit_per_cpu_s\": " << s.bits / s.cpuS / 1e9
            << ", \"slices_kept\": " << results[i].kept << "}";
    }
    out << "\n  ]\n}\n";
}

} // namespace

int main(int argc, char *argv[])
{
    Time::SetResolution(Time::PS);
    uint32_t rounds = 8;
    uint32_t packets = 250000;
    double share = 1;
    std::string json;
    std::string once;
    CommandLine cmd(__FILE__);
    cmd.AddValue("rounds", "Slices of each case", rounds);
    cmd.AddValue("packets", "Packets of one slice of the yardstick", packets);
    cmd.AddValue("json", "Write the figures to this file too", json);
    cmd.AddValue("once", "Run this case once and nothing else", once);
    cmd.AddValue("share", "With --once: share of the case's bytes", share);
    cmd.Parse(argc, argv);

    if (!once.empty())
    {
        for (const Case &c : g_cases)
        {
            if (c.name == once)
            {
                const Slice slice = RunCase(c, share);
                std::cout << c.name << " packet_hops=" << slice.hops << " events=" << slice.events
                          << " sim_us=" << slice.simUs << std::endl;
                return 0;
            }
        }
        std::cerr << "rnic-bench: --once=" << once << ": no such case" << std::endl;
        return 2;
    }

    std::vector<Result> results(g_cases.size());
    double before = RunYardstick(packets).Rate();
    double yardstick = 0;
    for (uint32_t round = 0; round < rounds; round++)
    {
        for (size_t i = 0; i < g_cases.size(); i++)
        {
            const Slice slice = RunCase(g_cases[i], 1);
            const double after = RunYardstick(packets).Rate();
            if (std::fabs(before - after) <= 0.08 * std::max(before, after))
            {
                Result &result = results[i];
                result.kept++;
                yardstick = std::max({yardstick, before, after});
                if (result.best.hops == 0 || slice.Rate() > result.best.Rate())
                {
                    result.best = slice;
                }
            }
            before = after;
        }
        std::cerr << "round " << round + 1 << " of " << rounds << std::endl;
    }
    for (const Result &result : results)
    {
        if (result.kept == 0)
        {
            std::cerr << "rnic-bench: the machine's speed changes too fast; try again" << std::endl;
            return 1;
        }
    }

    std::cout << "yardstick (stock ns-3, PointToPoint): " << yardstick << " Mhop per CPU-second\n";
    std::cout << "case            Mhop/CPU-s   ratio  target  events/hop  Gbit/CPU-s\n";
    for (size_t i = 0; i < results.size(); i++)
    {
        const Slice &s = results[i].best;
        char line[160];
        char target[16] = "      -";
        if (g_cases[i].target > 0)
        {
            snprintf(target, sizeof target, "%7.0f", g_cases[i].target);
        }
        snprintf(line, sizeof line, "%-15s %10.2f %7.1f %s %11.2f %11.1f", g_cases[i].name.c_str(),
                 s.Rate(), s.Rate() / yardstick, target, double(s.events) / s.hops,
                 s.bits / s.cpuS / 1e9);
        std::cout << line << "\n";
    }
    if (!json.empty())
    {
        std::ofstream file(json);
        WriteJson(file, yardstick, results);
        file.close();
        if (!file)
        {
            std::cerr << "rnic-bench: " << json << ": cannot be written" << std::endl;
            return 2;
        }
    }
    return 0;
}
