/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-port-device.h"

#include "rnic-link.h"

#include "ns3/abort.h"
#include "ns3/ethernet-header.h"
#include "ns3/log.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RnicPortDevice");
NS_OBJECT_ENSURE_REGISTERED(RnicPortDevice);

namespace
{
constexpr uint32_t ETHERNET_BYTES = 14; //!< link header of an ordinary packet
} // namespace

TypeId RnicPortDevice::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RnicPortDevice")
            .SetParent<NetDevice>()
            .SetGroupName("Rnic")
            .AddAttribute("LinkMtu",
                          "Largest ordinary packet (NetDevice::Send), without link header. The "
                          "path MTU of RDMA is RnicNetDevice's Mtu.",
                          UintegerValue(1500),
                          MakeUintegerAccessor(&RnicPortDevice::SetMtu, &RnicPortDevice::GetMtu),
                          MakeUintegerChecker<uint16_t>(68, 9216))
            .AddTraceSource("FrameTx", "The first bit of a frame leaves this port.",
                            MakeTraceSourceAccessor(&RnicPortDevice::m_frameTx),
                            "ns3::RnicPortDevice::FrameTracedCallback")
            .AddTraceSource("FrameRx", "The last bit of a frame has arrived at this port.",
                            MakeTraceSourceAccessor(&RnicPortDevice::m_frameRx),
                            "ns3::RnicPortDevice::FrameTracedCallback")
            .AddTraceSource("FrameDrop", "A frame ended here; it knows the reason.",
                            MakeTraceSourceAccessor(&RnicPortDevice::m_frameDrop),
                            "ns3::RnicPortDevice::FrameTracedCallback")
            .AddTraceSource("MacPause", "This port's MAC was told to pause or resume a class.",
                            MakeTraceSourceAccessor(&RnicPortDevice::m_macPause),
                            "ns3::RnicPortDevice::PauseTracedCallback")
            .AddTraceSource("MacTx", "A frame leaves, as an Ethernet packet without FCS.",
                            MakeTraceSourceAccessor(&RnicPortDevice::m_macTx),
                            "ns3::Packet::TracedCallback")
            .AddTraceSource("MacRx", "A frame arrived, as an Ethernet packet without FCS.",
                            MakeTraceSourceAccessor(&RnicPortDevice::m_macRx),
                            "ns3::Packet::TracedCallback")
            .AddTraceSource("PromiscSniffer",
                            "A frame leaves or arrived, pause frames too: what pcap writes.",
                            MakeTraceSourceAccessor(&RnicPortDevice::m_promiscSniffer),
                            "ns3::Packet::TracedCallback");
    return tid;
}

RnicPortDevice::RnicPortDevice()
    : m_ifIndex(0), m_port(WIRE_STATION_NONE), m_mtu(1500), m_hasMac(false), m_paused(0)
{
    m_frameTx.SetWatcher(&RnicPortDevice::SourceChanged, this);
    m_frameRx.SetWatcher(&RnicPortDevice::SourceChanged, this);
    m_frameDrop.SetWatcher(&RnicPortDevice::SourceChanged, this);
    m_macPause.SetWatcher(&RnicPortDevice::SourceChanged, this);
    m_macTx.SetWatcher(&RnicPortDevice::SourceChanged, this);
    m_macRx.SetWatcher(&RnicPortDevice::SourceChanged, this);
    m_promiscSniffer.SetWatcher(&RnicPortDevice::SourceChanged, this);
}

RnicPortDevice::~RnicPortDevice() = default;

void RnicPortDevice::DoDispose()
{
    m_rxCallback = ReceiveCallback();
    m_promiscCallback = PromiscReceiveCallback();
    m_node = nullptr;
    m_link = nullptr;
    m_engine = nullptr;
    NetDevice::DoDispose();
}

void RnicPortDevice::DoInitialize()
{
    if (m_engine)
    {
        m_engine->Build();
    }
    NetDevice::DoInitialize();
}

// ---- place in the engine ----

uint32_t RnicPortDevice::GetPort() const
{
    if (m_port == WIRE_STATION_NONE && m_engine)
    {
        m_engine->Build();
    }
    NS_ABORT_MSG_IF(m_port == WIRE_STATION_NONE,
                    "this port has no link yet: RnicHelper::Connect it first");
    return m_port;
}

bool RnicPortDevice::IsBuilt() const
{
    return m_port != WIRE_STATION_NONE;
}

void RnicPortDevice::SetPort(uint32_t port)
{
    m_port = port;
    if (m_hasMac)
    {
        SetAddress(m_mac);
    }
}

const struct engine_port_counters &RnicPortDevice::GetCounters() const
{
    const uint32_t port = GetPort();

    return *engine_query_port(m_engine->GetEngine(), port);
}

Ptr<RnicLink> RnicPortDevice::GetLink() const
{
    return m_link;
}

void RnicPortDevice::SetLink(Ptr<RnicLink> link)
{
    NS_ABORT_MSG_IF(m_link, "this port has a link already");
    m_link = link;
    m_linkChange();
}

Ptr<RnicPortDevice> RnicPortDevice::GetPeer() const
{
    return m_link ? m_link->GetPeer(this) : nullptr;
}

uint32_t RnicPortDevice::Context() const
{
    return m_node ? m_node->GetId() : Simulator::NO_CONTEXT;
}

// ---- traces ----

void RnicPortDevice::SourceChanged(void *owner)
{
    auto self = static_cast<RnicPortDevice *>(owner);

    if (self->m_engine)
    {
        self->m_engine->UpdateTraces();
    }
}

uint32_t RnicPortDevice::WantedTraces() const
{
    const bool packets_tx = !m_macTx.IsEmpty() || !m_promiscSniffer.IsEmpty();
    const bool packets_rx = !m_macRx.IsEmpty() || !m_promiscSniffer.IsEmpty();
    uint32_t mask = 0;

    mask |= !m_frameTx.IsEmpty() || packets_tx ? 1u << ENGINE_TRACE_TX : 0;
    mask |= !m_frameRx.IsEmpty() || packets_rx ? 1u << ENGINE_TRACE_RX : 0;
    mask |= !m_frameDrop.IsEmpty() ? 1u << ENGINE_TRACE_DROP : 0;
    mask |= !m_macPause.IsEmpty() ? 1u << ENGINE_TRACE_PAUSE : 0;
    return mask;
}

void RnicPortDevice::HandleTrace(const struct engine_trace &record)
{
    Ptr<RnicPortDevice> self(this);

    switch (record.type)
    {
    case ENGINE_TRACE_TX:
        TraceFrame(record, &RnicPortDevice::m_frameTx);
        TracePackets(record, &RnicPortDevice::m_macTx);
        break;
    case ENGINE_TRACE_RX:
        TraceFrame(record, &RnicPortDevice::m_frameRx);
        TracePackets(record, &RnicPortDevice::m_macRx);
        break;
    case ENGINE_TRACE_DROP:
        TraceFrame(record, &RnicPortDevice::m_frameDrop);
        break;
    case ENGINE_TRACE_PAUSE:
        for (unsigned prio = 0; prio < WIRE_CLASSES; prio++)
        {
            const uint32_t bit = 1u << prio;

            if ((m_paused ^ record.paused_classes) & bit)
            {
                const bool paused = record.paused_classes & bit;

                m_engine->Deliver(record.time_ps, Context(),
                                  [self, prio, paused]()
                                  { self->m_macPause(static_cast<uint8_t>(prio), paused); });
            }
        }
        m_paused = record.paused_classes;
        break;
    case ENGINE_TRACE_FABRIC:
        break;
    }
}

RnicFrameInfo RnicPortDevice::MakeInfo(const struct engine_trace &record)
{
    RnicFrameInfo info = {record.port, *record.frame, record.drop};

    info.header.next = nullptr;
    if (info.header.kind == WIRE_KIND_OPAQUE)
    {
        info.header.opaque = nullptr;
    }
    else
    {
        info.header.payload = nullptr;
    }
    return info;
}

void RnicPortDevice::TraceFrame(const struct engine_trace &record, FrameSource source)
{
    if ((this->*source).IsEmpty())
    {
        return;
    }

    Ptr<RnicPortDevice> self(this);
    const RnicFrameInfo info = MakeInfo(record);

    m_engine->Deliver(record.time_ps, Context(),
                      [self, info, source]() { (PeekPointer(self)->*source)(info); });
}

void RnicPortDevice::TracePackets(const struct engine_trace &record, PacketSource source)
{
    const bool sniff = !m_promiscSniffer.IsEmpty();

    if ((this->*source).IsEmpty() && !sniff)
    {
        return;
    }

    Ptr<RnicPortDevice> self(this);
    Ptr<Packet> packet = Encode(*record.frame);

    m_engine->Deliver(record.time_ps, Context(),
                      [self, packet, source]()
                      {
                          (PeekPointer(self)->*source)(packet);
                          self->m_promiscSniffer(packet);
                      });
}

Ptr<Packet> RnicPortDevice::Encode(const struct wire_frame &frame) const
{
    const struct wire_addr_book *book = m_engine->GetBook();

    if (frame.kind != WIRE_KIND_OPAQUE)
    {
        std::vector<uint8_t> bytes(frame.frame_bytes + WIRE_MAX_HEADER_BYTES);
        const size_t n = wire_frame_encode(&frame, book, bytes.data(), bytes.size());

        return Create<Packet>(bytes.data(), static_cast<uint32_t>(n));
    }

    auto opaque = static_cast<const RnicOpaque *>(frame.opaque);
    const bool routed = frame.eth_dst < WIRE_STATION_BROADCAST;
    const struct wire_station dst = wire_addr_station(book, frame.eth_dst);
    const struct wire_station src = wire_addr_station(book, frame.eth_src);
    Mac48Address address;
    EthernetHeader header;
    Ptr<Packet> packet = opaque ? opaque->packet->Copy() : Create<Packet>();

    address.CopyFrom(routed ? dst.mac : opaque->dst);
    header.SetDestination(address);
    address.CopyFrom(src.mac);
    header.SetSource(address);
    header.SetLengthType(opaque ? opaque->protocol : 0);
    packet->AddHeader(header);
    return packet;
}

void RnicPortDevice::FillOpaque(struct wire_frame *frame, RnicOpaque *opaque, uint32_t source,
                                uint32_t dest, uint8_t prio) const
{
    frame->next = nullptr;
    frame->kind = WIRE_KIND_OPAQUE;
    frame->frame_bytes =
        std::max(opaque->packet->GetSize() + ETHERNET_BYTES + WIRE_FCS_BYTES, WIRE_MIN_FRAME_BYTES);
    frame->src = source;
    frame->eth_src = source;
    frame->dst = dest;
    frame->eth_dst = dest;
    frame->dest_qpn = 0;
    frame->udp_sport = 0;
    frame->ip_id = 0;
    frame->vlan_tci = 0;
    frame->pkey = 0;
    frame->opcode = 0;
    frame->tos = WIRE_ECN_NOT_ECT;
    frame->ttl = UINT8_MAX;
    frame->prio = prio;
    frame->flags = 0;
    frame->opaque = opaque;
}

void RnicPortDevice::HandleOpaque(struct wire_frame *frame)
{
    (void)frame;
}

// ---- NetDevice ----

void RnicPortDevice::SetIfIndex(const uint32_t index)
{
    m_ifIndex = index;
}

uint32_t RnicPortDevice::GetIfIndex() const
{
    return m_ifIndex;
}

Ptr<Channel> RnicPortDevice::GetChannel() const
{
    return m_link;
}

void RnicPortDevice::SetAddress(Address address)
{
    m_mac = Mac48Address::ConvertFrom(address);
    m_hasMac = true;
    if (IsBuilt())
    {
        uint8_t mac[6];

        m_mac.CopyTo(mac);
        m_engine->SetStationMac(m_port, mac);
    }
}

Address RnicPortDevice::GetAddress() const
{
    Mac48Address address;

    if (m_hasMac)
    {
        return m_mac;
    }
    if (!IsBuilt() && m_engine)
    {
        m_engine->Build();
    }
    if (IsBuilt())
    {
        address.CopyFrom(wire_addr_station(m_engine->GetBook(), m_port).mac);
    }
    return address;
}

bool RnicPortDevice::SetMtu(const uint16_t mtu)
{
    m_mtu = mtu;
    return true;
}

uint16_t RnicPortDevice::GetMtu() const
{
    return m_mtu;
}

bool RnicPortDevice::IsLinkUp() const
{
    return static_cast<bool>(m_link);
}

void RnicPortDevice::AddLinkChangeCallback(Callback<void> callback)
{
    m_linkChange.ConnectWithoutContext(callback);
}

bool RnicPortDevice::IsBroadcast() const
{
    return true;
}

Address RnicPortDevice::GetBroadcast() const
{
    return Mac48Address::GetBroadcast();
}

bool RnicPortDevice::IsMulticast() const
{
    return true;
}

Address RnicPortDevice::GetMulticast(Ipv4Address group) const
{
    return Mac48Address::GetMulticast(group);
}

Address RnicPortDevice::GetMulticast(Ipv6Address group) const
{
    return Mac48Address::GetMulticast(group);
}

bool RnicPortDevice::IsBridge() const
{
    return false;
}

bool RnicPortDevice::IsPointToPoint() const
{
    return true;
}

Ptr<Node> RnicPortDevice::GetNode() const
{
    return m_node;
}

void RnicPortDevice::SetNode(Ptr<Node> node)
{
    m_node = node;
    m_engine = RnicEngine::Get();
}

void RnicPortDevice::SetReceiveCallback(ReceiveCallback cb)
{
    m_rxCallback = cb;
}

void RnicPortDevice::SetPromiscReceiveCallback(PromiscReceiveCallback cb)
{
    m_promiscCallback = cb;
}

bool RnicPortDevice::SupportsSendFrom() const
{
    return true;
}

bool RnicPortDevice::Send(Ptr<Packet> packet, const Address &dest, uint16_t protocol)
{
    return SendFrom(packet, GetAddress(), dest, protocol);
}

bool RnicPortDevice::SendFrom(Ptr<Packet> packet, const Address &source, const Address &dest,
                              uint16_t protocol)
{
    NS_LOG_WARN("no host is behind this port: " << packet << source << dest << protocol);
    return false;
}

bool RnicPortDevice::NeedsArp() const
{
    return false;
}

} // namespace ns3
