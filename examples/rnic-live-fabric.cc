/* SPDX-License-Identifier: GPL-2.0-only */
// Real hosts on a simulated fabric: each line is a port to the outside, a Linux guest for example,
// and behind two switches there is a simulated host too, which the guests can ping and which
// answers ibv_rc_pingpong as its server.
//
//   line 1, 3, ... -- switch 0 ==== trunk ==== switch 1 -- line 2, 4, ...
//                                                      \-- simulated host
//
// Delay, rate, loss and marking are the model's, time is real. doc/live-fabric.rst walks through.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/rnic-helper.h"

#include <algorithm>
#include <arpa/inet.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>

using namespace ns3;

static volatile std::sig_atomic_t g_stopped = 0;

static void Refuse(const std::string &text)
{
    std::cerr << "rnic-live-fabric: " << text << std::endl;
    std::exit(2);
}

static void Say(std::string text)
{
    std::cout << text << std::endl;
}

// Ends the simulation soon after somebody asked for it.
static void Watch()
{
    if (g_stopped)
    {
        Simulator::Stop();
    }
    Simulator::Schedule(MilliSeconds(50), &Watch);
}

/**
 * The server of ibv_rc_pingpong on a simulated card: over TCP both tell each other where their
 * queue pair is, then it sends back each message that comes.
 */
class PingpongServer : public Object
{
public:
    PingpongServer(Ptr<RnicNetDevice> nic, uint32_t mtuBytes)
        : m_verbs(CreateObject<RnicVerbs>(nic)), m_mtuBytes(mtuBytes)
    {
        m_verbs->AllocPd(&m_pd);
        m_verbs->CreateCq(2 * DEPTH * CLIENTS, &m_cq);
        m_verbs->SetCqCallback(m_cq, MakeCallback(&PingpongServer::Poll, this));
        m_verbs->ReqNotifyCq(m_cq);

        m_listener =
            Socket::CreateSocket(nic->GetNode(), TypeId::LookupByName("ns3::TcpSocketFactory"));
        m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), 18515));
        m_listener->Listen();
        m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
                                      MakeCallback(&PingpongServer::Accept, this));
    }

private:
    static constexpr uint32_t DEPTH = 16;         //!< receives; a client has one message under way
    static constexpr uint32_t SLOT_BYTES = 65536; //!< longest message
    static constexpr uint32_t CLIENTS = 64;       //!< addresses that are served
    static constexpr size_t HELLO_BYTES = 52;     //!< "LID:QPN:PSN:GID" in hex, with its 0

    /** What stays of a client until the same address calls again. */
    struct Client
    {
        uint32_t qpn;
        Ptr<RnicMemory> memory;
    };

    void Accept(Ptr<Socket> socket, const Address &from)
    {
        std::cout << "pingpong: " << InetSocketAddress::ConvertFrom(from).GetIpv4() << " calls"
                  << std::endl;
        socket->SetRecvCallback(MakeCallback(&PingpongServer::Hear, this));
    }

    void Hear(Ptr<Socket> socket)
    {
        std::string &heard = m_heard[socket];
        const bool known = heard.size() >= HELLO_BYTES;
        uint8_t bytes[256];
        int n = 0;

        while (heard.size() < 4 * HELLO_BYTES && (n = socket->Recv(bytes, sizeof(bytes), 0)) > 0)
        {
            heard.append(reinterpret_cast<const char *>(bytes), static_cast<size_t>(n));
        }
        if (known || (heard.size() >= HELLO_BYTES && !Answer(socket, heard)))
        {
            m_heard.erase(socket); // it has said "done", or something else than it should
            socket->Close();
        }
    }

    /** @returns false: told why it is not served. */
    bool Answer(Ptr<Socket> socket, const std::string &heard)
    {
        Address from;
        RnicConnectOptions options;
        unsigned lid = 0;
        unsigned qpn = 0;
        unsigned psn = 0;
        char gid[33] = "";
        uint8_t bytes[16] = {};
        char mine[HELLO_BYTES];

        if (std::sscanf(heard.c_str(), "%x:%x:%x:%32[0-9a-f]", &lid, &qpn, &psn, gid) != 4)
        {
            std::cout << "pingpong: not understood" << std::endl;
            return false;
        }
        for (size_t i = 0; i < sizeof(bytes); i++)
        {
            std::sscanf(gid + 2 * i, "%2hhx", &bytes[i]);
        }

        const auto *book = RnicEngine::Get()->GetBook();
        const uint32_t station = KnowStation(socket, bytes);
        socket->GetPeerName(from);
        Client *client = Prepare(InetSocketAddress::ConvertFrom(from).GetIpv4());
        options.mtuBytes = m_mtuBytes;
        options.psn = 0x123456;
        options.peerPsn = static_cast<int32_t>(psn);
        if (!client || station == WIRE_STATION_NONE ||
            m_verbs->ConnectTo(client->qpn, station, qpn, options) < 0)
        {
            std::cout << "pingpong: no way to queue pair " << qpn << " of GID " << gid
                      << " (the client's -g must name its IPv4 address)" << std::endl;
            return false;
        }
        for (uint32_t i = 0; i < DEPTH; i++)
        {
            m_verbs->PostRecv(client->qpn, i, client->memory, i * SLOT_BYTES, SLOT_BYTES);
        }
        const struct wire_station me = wire_addr_station(book, m_verbs->GetDevice()->GetPort());
        int at = std::snprintf(mine, sizeof(mine), "%04x:%06x:%06x:", 0, client->qpn, options.psn);
        for (size_t i = 0; i < sizeof(me.gid); i++)
        {
            at +=
                std::snprintf(mine + at, sizeof(mine) - static_cast<size_t>(at), "%02x", me.gid[i]);
        }
        return socket->Send(reinterpret_cast<const uint8_t *>(mine), sizeof(mine), 0) > 0;
    }

    /** @returns a fresh queue pair for an address, in place of the one it had; nullptr: no room. */
    Client *Prepare(Ipv4Address address)
    {
        if (m_clients.count(address))
        {
            m_verbs->DestroyQp(m_clients[address].qpn);
        }
        else if (m_clients.size() == CLIENTS)
        {
            return nullptr;
        }
        else
        {
            m_clients[address].memory =
                m_verbs->AllocMemory(m_pd, DEPTH * SLOT_BYTES, RNIC_ACCESS_LOCAL_WRITE);
        }
        m_verbs->CreateQp(m_pd, m_cq, DEPTH, &m_clients[address].qpn);
        return &m_clients[address];
    }

    // No RoCE frame has come yet, but the TCP connection knows the client's MAC.
    uint32_t KnowStation(Ptr<Socket> socket, const uint8_t gid[16])
    {
        Address from;
        socket->GetPeerName(from);
        auto ip = m_verbs->GetDevice()->GetNode()->GetObject<Ipv4L3Protocol>();
        const int32_t number = ip->GetInterfaceForDevice(m_verbs->GetDevice());
        auto *entry = ip->GetInterface(static_cast<uint32_t>(number))
                          ->GetArpCache()
                          ->Lookup(InetSocketAddress::ConvertFrom(from).GetIpv4());
        uint8_t mac[6];

        if (!entry || !Mac48Address::IsMatchingType(entry->GetMacAddress()))
        {
            return WIRE_STATION_NONE;
        }
        Mac48Address::ConvertFrom(entry->GetMacAddress()).CopyTo(mac);
        return RnicEngine::Get()->LearnStation(mac, gid);
    }

    void Poll(uint32_t cq)
    {
        struct rnic_wc wc;

        m_verbs->ReqNotifyCq(cq);
        while (m_verbs->PollCq(cq, 1, &wc) == 1)
        {
            auto of = [&wc](const auto &entry)
            {
                return entry.second.qpn == wc.qp_num;
            };
            auto found = std::find_if(m_clients.begin(), m_clients.end(), of);
            const auto slot = static_cast<uint32_t>(wc.wr_id);
            const uint64_t offset = uint64_t(slot) * SLOT_BYTES;

            if (found == m_clients.end() || wc.status == RNIC_WC_WR_FLUSH_ERR)
            {
                continue; // of a client that has come again, or failed
            }
            const Ptr<RnicMemory> memory = found->second.memory;
            if (wc.status != RNIC_WC_SUCCESS)
            {
                std::cout << "pingpong: " << rnic_wc_status_name(wc.status) << std::endl;
            }
            else if (wc.opcode == RNIC_WC_RECV)
            {
                m_messages++;
                m_verbs->PostSend(wc.qp_num, slot, memory, offset, wc.byte_len);
            }
            else
            {
                m_verbs->PostRecv(wc.qp_num, slot, memory, offset, SLOT_BYTES);
            }
        }
    }

    void DoDispose() override
    {
        std::cout << "pingpong: " << m_messages << " messages sent back" << std::endl;
        m_listener = nullptr;
        m_heard.clear();
        m_clients.clear();
        m_verbs = nullptr;
        Object::DoDispose();
    }

    Ptr<RnicVerbs> m_verbs;
    uint32_t m_mtuBytes;
    uint32_t m_pd;
    uint32_t m_cq;
    Ptr<Socket> m_listener;
    std::map<Ptr<Socket>, std::string> m_heard; //!< of connections under way
    std::map<Ipv4Address, Client> m_clients;
    uint64_t m_messages = 0;
};

// ADDRESS/LENGTH; false: it is not that.
static bool ReadAddress(const std::string &text, Ipv4Address *ip, uint16_t *length)
{
    const auto slash = text.find('/');
    uint8_t bytes[4];
    char end;

    if (slash == std::string::npos ||
        inet_pton(AF_INET, text.substr(0, slash).c_str(), bytes) != 1 ||
        std::sscanf(text.c_str() + slash, "/%2hu%c", length, &end) != 1 || *length > 32)
    {
        return false;
    }
    *ip = Ipv4Address::Deserialize(bytes);
    return true;
}

// A MAC that follows from the address: that of cards by default is also rnic-live's.
static Mac48Address MacOf(Ipv4Address ip)
{
    uint8_t bytes[6] = {0x02, 0x52};
    Mac48Address mac;

    ip.Serialize(bytes + 2);
    mac.CopyFrom(bytes);
    return mac;
}

// The simulated host has an ordinary network stack beside its verbs: ARP, ping, TCP.
static void InstallStack(Ptr<RnicNetDevice> nic, Ipv4Address ip, uint16_t length)
{
    InternetStackHelper().Install(nic->GetNode());
    auto ipv4 = nic->GetNode()->GetObject<Ipv4>();
    const uint32_t interface = ipv4->AddInterface(nic);
    const Ipv4Mask mask(("/" + std::to_string(length)).c_str());
    ipv4->AddAddress(interface, Ipv4InterfaceAddress(ip, mask));
    ipv4->SetUp(interface);
    nic->SetGid(ip);
}

static void Report(const std::vector<Ptr<RnicLiveDevice>> &lives)
{
    for (size_t i = 0; i < lives.size(); i++)
    {
        const auto counters = lives[i]->GetLineCounters();
        std::cout << "line " << i + 1 << ": in " << counters.roce << " RoCE " << counters.opaque
                  << " other " << counters.refused << " refused " << counters.addresses
                  << " addresses " << counters.overrun << " overrun, out " << counters.sent << " "
                  << counters.nobody << " to nobody " << counters.lost << " lost" << std::endl;
    }
    struct engine_counters counters;
    uint64_t marked = 0;
    engine_query(RnicEngine::Get()->GetEngine(), &counters);
    for (RnicSwitchDevice *device : RnicEngine::Get()->GetSwitches())
    {
        marked += fabric_query_counters(device->GetSwitch())->ecn_marked;
    }
    std::cout << "fabric: " << counters.packet_hops << " hops, "
              << counters.drops[WIRE_DROP_LINK_LOSS] << " lost on the trunk, " << marked
              << " marked, " << counters.drops[WIRE_DROP_BUFFER] << " dropped at a full queue"
              << std::endl;
}

static void CheckNumbers(uint32_t mtu, double loss, std::size_t lines)
{
    if (mtu < 256 || mtu > 4096 || (mtu & (mtu - 1)))
    {
        Refuse("--mtu=" + std::to_string(mtu) + ": not 256, 512, 1024, 2048 or 4096");
    }
    if (!(loss >= 0 && loss <= 1))
    {
        Refuse("--loss: not a part, 0 .. 1");
    }
    if (lines == 0 || lines > 30)
    {
        Refuse("want 1 to 30 lines, as unix,LOCAL,PEER");
    }
}

int main(int argc, char *argv[])
{
    std::string address = "10.0.0.100/24";
    std::string pcap;
    std::string rate = "100Gbps";
    Time delay = MicroSeconds(1);
    Time time = Seconds(0);
    double loss = 0;
    bool lossless = false;
    uint32_t mtu = 1024;

    CommandLine cmd(__FILE__);
    cmd.Usage("rnic-live-fabric [OPTIONS] LINE...\n"
              "Each LINE leads outside: unix,LOCAL,PEER or udp,ADDRESS:PORT,ADDRESS:PORT or "
              "tap,NAME.\n");
    cmd.AddValue("address", "Of the simulated host, ADDRESS/LENGTH", address);
    cmd.AddValue("rate", "Of every link", rate);
    cmd.AddValue("delay", "Of the trunk, each way", delay);
    cmd.AddValue("loss", "Part of the frames that the trunk loses", loss);
    cmd.AddValue("lossless", "PFC in class 3, as far as the buffer's headroom goes", lossless);
    cmd.AddValue("mtu", "Path MTU of the simulated host's queue pairs (the client's -m)", mtu);
    cmd.AddValue("time", "How long; 0: until SIGINT or SIGTERM", time);
    cmd.AddValue("pcap", "Prefix of captures at every line", pcap);
    cmd.Parse(argc, argv);

    Ipv4Address ip;
    uint16_t length = 0;
    if (!ReadAddress(address, &ip, &length))
    {
        Refuse("--address=" + address + ": not ADDRESS/LENGTH, as 10.0.0.100/24");
    }
    CheckNumbers(mtu, loss, cmd.GetNExtraNonOptions());

    Time::SetResolution(Time::PS);
    GlobalValue::Bind("SimulatorImplementationType", StringValue("ns3::RealtimeSimulatorImpl"));
    GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));
    std::signal(SIGINT, [](int) { g_stopped = 1; });
    std::signal(SIGTERM, [](int) { g_stopped = 1; });

    RnicHelper rnic;
    rnic.SetSwitchAttribute("L2", BooleanValue(true));
    rnic.SetSwitchAttribute("Lossless", BooleanValue(lossless));
    rnic.SetLinkAttribute("DataRate", StringValue(rate));
    rnic.SetLinkAttribute("Delay", StringValue("1us"));
    // The guests answer in milliseconds, not in microseconds: 1.07 s.
    rnic.SetNicAttribute("Timeout", UintegerValue(18));

    Ptr<RnicSwitchDevice> switches[2] = {rnic.InstallSwitch(CreateObject<Node>(), 17),
                                         rnic.InstallSwitch(CreateObject<Node>(), 17)};
    std::vector<Ptr<RnicLiveDevice>> lives;
    for (std::size_t i = 0; i < cmd.GetNExtraNonOptions(); i++)
    {
        lives.push_back(rnic.InstallLive(CreateObject<Node>(), cmd.GetExtraNonOption(i)));
        rnic.Connect(lives.back(), switches[(lives.size() - 1) % 2]);
    }

    auto nic = rnic.InstallNic(CreateObject<Node>());
    nic->SetAddress(MacOf(ip));
    rnic.Connect(nic, switches[1]);
    rnic.SetLinkAttribute("Delay", TimeValue(delay));
    rnic.SetLinkAttribute("Loss", DoubleValue(loss));
    rnic.Connect(switches[0], switches[1]);
    RnicHelper::PopulateRoutes();
    for (std::size_t i = 0; !pcap.empty() && i < lives.size(); i++)
    {
        rnic.EnablePcap(pcap + "-" + std::to_string(i + 1) + ".pcap", lives[i], true, true);
    }

    InstallStack(nic, ip, length);
    auto server = CreateObject<PingpongServer>(nic, mtu);

    // Behind the nodes' own beginning: the lines are open then.
    Simulator::ScheduleNow(&Say,
                           std::to_string(lives.size()) + " lines, simulated host " + address);
    Simulator::ScheduleNow(&Watch);
    if (time.IsStrictlyPositive())
    {
        Simulator::Stop(time);
    }
    Simulator::Run();

    Report(lives);
    const std::string broken = rnic.ClosePcap();
    server->Dispose();
    Simulator::Destroy();
    if (!broken.empty())
    {
        std::cerr << "rnic-live-fabric: " << broken << " could not be written" << std::endl;
        return 1;
    }
    return 0;
}
