/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-helper.h"

#include "rnic-scheduler.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/log.h"
#include "ns3/names.h"
#include "ns3/pcap-file-wrapper.h"
#include "ns3/simulator.h"
#include "ns3/string.h"

#include <cstring>
#include <deque>
#include <iostream>
#include <map>
#include <set>
#include <unordered_map>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RnicHelper");

namespace
{

using Hops = std::unordered_map<const RnicSwitchDevice *, std::vector<uint16_t>>;

/** @returns the switch at the other end of a port, or nullptr. */
RnicSwitchDevice *PeerSwitch(const Ptr<RnicPortDevice> &port)
{
    Ptr<RnicPortDevice> peer = port->GetPeer();

    return peer ? PeekPointer(DynamicCast<RnicSwitchDevice>(peer->GetSwitch())) : nullptr;
}

/** @returns for every switch that reaches @p root: its ports on shortest paths to it. */
Hops HopsTowards(RnicSwitchDevice *root)
{
    std::unordered_map<const RnicSwitchDevice *, uint32_t> distance = {{root, 0}};
    std::deque<RnicSwitchDevice *> open = {root};
    Hops hops;

    while (!open.empty())
    {
        RnicSwitchDevice *device = open.front();
        const uint32_t here = distance[device];
        std::vector<uint16_t> closer;

        open.pop_front();
        for (uint32_t i = 0; i < device->GetNPorts(); i++)
        {
            RnicSwitchDevice *next = PeerSwitch(device->GetPort(i));

            if (!next)
            {
                continue;
            }
            // Breadth first: all switches nearer than this one have their distance by now.
            if (distance.emplace(next, here + 1).second)
            {
                open.push_back(next);
            }
            else if (distance[next] + 1 == here)
            {
                closer.push_back(static_cast<uint16_t>(i));
            }
        }
        hops[device] = closer;
    }
    return hops;
}

/** Set the routes to one card at all switches; those that have a choice go into @p choosing. */
void RouteTo(RnicNetDevice *nic, RnicSwitchDevice *root, const Hops &hops,
             std::set<const RnicSwitchDevice *> &choosing)
{
    const uint32_t station = nic->GetPort();
    std::vector<uint16_t> direct;

    for (uint32_t i = 0; i < root->GetNPorts(); i++)
    {
        if (PeekPointer(root->GetPort(i)->GetPeer()) == nic)
        {
            direct.push_back(static_cast<uint16_t>(i));
        }
    }
    root->SetRoute(station, direct);
    // In the order of creation, not of addresses: the same in every run.
    for (RnicSwitchDevice *device : RnicEngine::Get()->GetSwitches())
    {
        auto found = hops.find(device);

        if (device != root && found != hops.end())
        {
            device->SetRoute(station, found->second);
            if (found->second.size() > 1)
            {
                choosing.insert(device);
            }
        }
    }
}

/** Say when switches choose alike: flows that parted once stay together from then on. */
void WarnOfEqualHashes(const std::set<const RnicSwitchDevice *> &choosing)
{
    std::map<uint64_t, size_t> switches; // by seed

    for (const RnicSwitchDevice *device : choosing)
    {
        switches[device->GetParams().ecmp_seed]++;
    }
    switches.erase(0); // each its own
    for (const auto &[seed, n] : switches)
    {
        if (n > 1)
        {
            std::cerr << "RnicHelper: " << n << " switches choose paths with the same EcmpSeed "
                      << seed << ", so some paths may stay unused; leave it 0, or give each its "
                      << "own\n";
        }
    }
}

/**
 * Bridges that learn flood, and nothing ends a flood in a loop.
 * @returns a port that closes a loop of such switches, nullptr: there is none.
 */
Ptr<RnicSwitchPort> FindLoop()
{
    // From a switch towards the root of its tree.
    std::unordered_map<const RnicSwitchDevice *, const RnicSwitchDevice *> up;
    std::unordered_map<const RnicLink *, bool> seen;
    auto rootOf = [&up](const RnicSwitchDevice *device)
    {
        while (up.count(device))
        {
            device = up[device];
        }
        return device;
    };

    for (RnicSwitchDevice *device : RnicEngine::Get()->GetSwitches())
    {
        for (uint32_t i = 0; device->IsLearning() && i < device->GetNPorts(); i++)
        {
            Ptr<RnicSwitchPort> port = device->GetPort(i);
            const RnicSwitchDevice *next = PeerSwitch(port);

            if (!next || !next->IsLearning() || seen[PeekPointer(port->GetLink())])
            {
                continue;
            }
            seen[PeekPointer(port->GetLink())] = true;
            if (rootOf(device) == rootOf(next))
            {
                return port;
            }
            up[rootOf(device)] = rootOf(next);
        }
    }
    return nullptr;
}

/** @returns @p object itself when it is a port, or the first free port of a switch. */
Ptr<RnicPortDevice> PortOf(Ptr<Object> object)
{
    Ptr<RnicPortDevice> port = DynamicCast<RnicPortDevice>(object);
    Ptr<RnicSwitchDevice> device = DynamicCast<RnicSwitchDevice>(object);

    NS_ABORT_MSG_UNLESS(port || device, "RnicHelper::Connect: neither a port nor a switch");
    return port ? port : Ptr<RnicPortDevice>(device->GetFreePort());
}

/** Trace sink of a pcap file. */
void WritePcap(Ptr<PcapFileWrapper> file, Ptr<const Packet> packet)
{
    file->Write(Simulator::Now(), packet);
}

template <typename T>
void SetAll(Ptr<T> object, const std::vector<std::pair<std::string, Ptr<AttributeValue>>> &list)
{
    for (const auto &attribute : list)
    {
        object->SetAttribute(attribute.first, *attribute.second);
    }
}

} // namespace

RnicHelper::RnicHelper() = default;

RnicHelper::~RnicHelper() = default;

void RnicHelper::UseBatchDrive(TypeId inner)
{
    RnicScheduler::Install(inner);
}

// ---- what to install ----

void RnicHelper::SetNicAttribute(const std::string &name, const AttributeValue &value)
{
    m_nicAttributes.emplace_back(name, value.Copy());
}

void RnicHelper::SetSwitchAttribute(const std::string &name, const AttributeValue &value)
{
    m_switchAttributes.emplace_back(name, value.Copy());
}

void RnicHelper::SetLinkAttribute(const std::string &name, const AttributeValue &value)
{
    m_linkAttributes.emplace_back(name, value.Copy());
}

void RnicHelper::SetNicParams(const struct rnic_params &params)
{
    m_nicParams = std::make_unique<struct rnic_params>(params);
}

void RnicHelper::SetSwitchParams(const struct fabric_params &params)
{
    m_switchParams = std::make_unique<struct fabric_params>(params);
}

void RnicHelper::SetCc(const std::string &kind, const struct rnic_dcqcn_params &dcqcn)
{
    m_ccKind = kind;
    m_dcqcn = std::make_unique<struct rnic_dcqcn_params>(dcqcn);
}

void RnicHelper::SetCc(const std::string &kind, const std::string &preset)
{
    std::string names;

    for (const struct rnic_dcqcn_preset *entry = rnic_dcqcn_presets; entry->name; entry++)
    {
        if (preset == entry->name)
        {
            SetCc(kind, entry->params);
            return;
        }
        names += std::string(names.empty() ? "" : ", ") + entry->name;
    }
    NS_FATAL_ERROR("no DCQCN preset \"" << preset << "\"; there are: " << names);
}

void RnicHelper::SetLinkParams(const struct engine_link_params &ab,
                               const struct engine_link_params &ba)
{
    m_linkParams =
        std::make_unique<std::pair<struct engine_link_params, struct engine_link_params>>(ab, ba);
}

void RnicHelper::SetLinkParams(const struct engine_link_params &both)
{
    SetLinkParams(both, both);
}

// ---- installing ----

Ptr<RnicNetDevice> RnicHelper::InstallNic(Ptr<Node> node) const
{
    Ptr<RnicNetDevice> nic = CreateObject<RnicNetDevice>();

    if (m_nicParams)
    {
        nic->SetParams(*m_nicParams);
    }
    if (m_dcqcn)
    {
        nic->SetCc(m_ccKind, *m_dcqcn);
    }
    SetAll(nic, m_nicAttributes);
    node->AddDevice(nic);
    return nic;
}

NetDeviceContainer RnicHelper::InstallNic(const NodeContainer &nodes) const
{
    NetDeviceContainer devices;

    for (uint32_t i = 0; i < nodes.GetN(); i++)
    {
        devices.Add(InstallNic(nodes.Get(i)));
    }
    return devices;
}

Ptr<RnicSwitchDevice> RnicHelper::InstallSwitch(Ptr<Node> node, uint32_t ports) const
{
    Ptr<RnicSwitchDevice> device = CreateObject<RnicSwitchDevice>();

    if (m_switchParams)
    {
        device->SetParams(*m_switchParams);
    }
    SetAll(device, m_switchAttributes);
    device->Install(node, ports);
    return device;
}

Ptr<RnicLiveDevice> RnicHelper::InstallLive(Ptr<Node> node, const std::string &line) const
{
    Ptr<RnicLiveDevice> live = CreateObject<RnicLiveDevice>();

    live->SetAttribute("Line", StringValue(line));
    node->AddDevice(live);
    return live;
}

Ptr<RnicLink> RnicHelper::Connect(Ptr<Object> a, Ptr<Object> b) const
{
    Ptr<RnicLink> link = CreateObject<RnicLink>();

    if (m_linkParams)
    {
        link->SetLinkParams(m_linkParams->first, m_linkParams->second);
    }
    SetAll(link, m_linkAttributes);
    link->Connect(PortOf(a), PortOf(b));
    return link;
}

bool RnicHelper::TryPopulateRoutes(std::string *why)
{
    Ptr<RnicEngine> engine = RnicEngine::Get();
    std::map<RnicSwitchDevice *, Hops> cache; // one search per switch that has cards
    std::set<const RnicSwitchDevice *> choosing;

    engine->Build();
    if (Ptr<RnicSwitchPort> port = FindLoop())
    {
        *why = DynamicCast<RnicSwitchDevice>(port->GetSwitch())->GetName() +
               " closes a loop of switches that learn stations (L2): frames that are flooded would "
               "run round for ever; take a link away, route, or set L2Learn to false";
        return false;
    }
    for (RnicNetDevice *nic : engine->GetNics())
    {
        RnicSwitchDevice *root = PeerSwitch(nic);

        if (root && cache.find(root) == cache.end())
        {
            cache[root] = HopsTowards(root);
        }
        if (root)
        {
            RouteTo(nic, root, cache[root], choosing);
        }
    }
    for (RnicSwitchDevice *device : engine->GetSwitches())
    {
        std::string text;

        if (device->IsBuilt() && !device->Start(&text))
        {
            *why = device->GetName() + ": " + text;
            return false;
        }
    }
    WarnOfEqualHashes(choosing);
    return true;
}

void RnicHelper::PopulateRoutes()
{
    std::string why;

    NS_ABORT_MSG_UNLESS(TryPopulateRoutes(&why), "RnicHelper::PopulateRoutes: " << why);
}

// ---- pcap ----

void RnicHelper::EnablePcapInternal(std::string prefix, Ptr<NetDevice> nd, bool promiscuous,
                                    bool explicitFilename)
{
    Ptr<RnicPortDevice> device = DynamicCast<RnicPortDevice>(nd);

    (void)promiscuous; // a port sees only its own line
    if (!device)
    {
        NS_LOG_INFO("not a device of this module: " << nd);
        return;
    }

    const std::string name =
        explicitFilename ? prefix : PcapHelper().GetFilenameFromDevice(prefix, device);
    Ptr<PcapFileWrapper> file = CreateObject<PcapFileWrapper>();

    file->SetAttribute("NanosecMode", BooleanValue(true));
    file->Open(name, std::ios::out);
    NS_ABORT_MSG_IF(file->Fail(), "cannot write " << name);
    file->Init(PcapHelper::DLT_EN10MB, 65535, 0);
    device->TraceConnectWithoutContext("PromiscSniffer", MakeBoundCallback(&WritePcap, file));
    m_pcaps.emplace_back(name, file);
}

std::string RnicHelper::GetBrokenPcap() const
{
    for (const auto &[name, file] : m_pcaps)
    {
        if (file->Fail())
        {
            return name;
        }
    }
    return "";
}

std::string RnicHelper::ClosePcap()
{
    for (const auto &[name, file] : m_pcaps)
    {
        file->Close();
    }
    return GetBrokenPcap();
}

} // namespace ns3
