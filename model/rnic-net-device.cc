/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-net-device.h"

#include "rnic-link.h"
#include "rnic-param-attribute.h"
#include "rnic-switch-device.h"

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/socket.h"
#include "ns3/string.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RnicNetDevice");
NS_OBJECT_ENSURE_REGISTERED(RnicNetDevice);

namespace
{
constexpr size_t ARENA_STEP_BYTES = 65536; //!< arenas grow by at least this
constexpr size_t LINE_BYTES = 64;          //!< alignment of what the card gets
} // namespace

TypeId RnicNetDevice::GetTypeId()
{
    static TypeId tid = []()
    {
        TypeId made = TypeId("ns3::RnicNetDevice")
                          .SetParent<RnicPortDevice>()
                          .SetGroupName("Rnic")
                          .AddConstructor<RnicNetDevice>();

        made =
            RnicAddAttributes(made, rnic_param_table, rnic_param_count, &RnicNetDevice::ParamBlock);
        made = RnicAddAttributes(made, rnic_dcqcn_param_table, rnic_dcqcn_param_count,
                                 &RnicNetDevice::DcqcnBlock, "Dcqcn");
        return made
            .AddAttribute("Cc", "Congestion control of the queue pairs: none, dcqcn.",
                          StringValue(RNIC_CC_DEFAULT),
                          MakeStringAccessor(&RnicNetDevice::SetCcKind, &RnicNetDevice::GetCc),
                          MakeStringChecker())
            .AddTraceSource("CnpTx", "A CNP is sent for a queue pair.",
                            MakeTraceSourceAccessor(&RnicNetDevice::m_cnpTx),
                            "ns3::RnicNetDevice::CnpTracedCallback")
            .AddTraceSource("CnpRx", "A CNP arrived for a queue pair.",
                            MakeTraceSourceAccessor(&RnicNetDevice::m_cnpRx),
                            "ns3::RnicNetDevice::CnpTracedCallback")
            .AddTraceSource("Rate",
                            "Rate of a queue pair after a CNP. In between it rises without a "
                            "record: sample it with RnicVerbs::QueryRate.",
                            MakeTraceSourceAccessor(&RnicNetDevice::m_rate),
                            "ns3::RnicNetDevice::RateTracedCallback")
            .AddTraceSource("Completion", "A completion became visible in its CQ.",
                            MakeTraceSourceAccessor(&RnicNetDevice::m_completion),
                            "ns3::RnicNetDevice::EventTracedCallback")
            .AddTraceSource("Placed", "The last byte of a message is in this host's memory.",
                            MakeTraceSourceAccessor(&RnicNetDevice::m_placed),
                            "ns3::RnicNetDevice::EventTracedCallback")
            .AddTraceSource("AsyncEvent", "An asynchronous event of the card (ibv_async_event).",
                            MakeTraceSourceAccessor(&RnicNetDevice::m_async),
                            "ns3::RnicNetDevice::EventTracedCallback");
    }();
    return tid;
}

RnicNetDevice::RnicNetDevice()
    : m_params(rnic_params_default()), m_cc(&rnic_cc_dcqcn), m_device(nullptr), m_arenaBytes(0),
      m_userEvents(0), m_events(0)
{
    wire_param_defaults(rnic_dcqcn_param_table, rnic_dcqcn_param_count, &m_dcqcn);
    m_cnpTx.SetWatcher(&RnicNetDevice::EventSourceChanged, this);
    m_cnpRx.SetWatcher(&RnicNetDevice::EventSourceChanged, this);
    m_rate.SetWatcher(&RnicNetDevice::EventSourceChanged, this);
    m_completion.SetWatcher(&RnicNetDevice::EventSourceChanged, this);
    m_placed.SetWatcher(&RnicNetDevice::EventSourceChanged, this);
    m_async.SetWatcher(&RnicNetDevice::EventSourceChanged, this);
}

RnicNetDevice::~RnicNetDevice()
{
    if (m_engine)
    {
        m_engine->Unregister(this);
    }
}

void RnicNetDevice::DoDispose()
{
    if (m_engine)
    {
        m_engine->Unregister(this);
    }
    m_cqCallbacks.clear();
    RnicPortDevice::DoDispose();
}

void RnicNetDevice::SetNode(Ptr<Node> node)
{
    RnicPortDevice::SetNode(node);
    m_engine->Register(this);
}

Ptr<Object> RnicNetDevice::GetSwitch() const
{
    return nullptr;
}

// ---- parameters ----

void *RnicNetDevice::ParamBlock(ObjectBase *object, bool writable)
{
    auto self = dynamic_cast<RnicNetDevice *>(object);

    return self && !(writable && self->m_device) ? &self->m_params : nullptr;
}

void *RnicNetDevice::DcqcnBlock(ObjectBase *object, bool writable)
{
    auto self = dynamic_cast<RnicNetDevice *>(object);

    return self && !(writable && self->m_device) ? &self->m_dcqcn : nullptr;
}

void RnicNetDevice::SetParams(const struct rnic_params &params)
{
    NS_ABORT_MSG_IF(m_device, "the card is in use: its parameters are fixed");
    m_params = params;
}

const struct rnic_params &RnicNetDevice::GetParams() const
{
    return m_params;
}

void RnicNetDevice::SetCcKind(std::string kind)
{
    NS_ABORT_MSG_IF(m_device, "the card is in use: its congestion control is fixed");
    m_cc = rnic_cc_find(kind.c_str());
    if (!m_cc)
    {
        std::string names;

        for (size_t i = 0; rnic_cc_all[i]; i++)
        {
            names += std::string(i ? ", " : "") + rnic_cc_all[i]->name;
        }
        NS_FATAL_ERROR("no congestion control \"" << kind << "\"; there are: " << names);
    }
}

void RnicNetDevice::SetCc(const std::string &kind, const struct rnic_dcqcn_params &dcqcn)
{
    SetCcKind(kind);
    m_dcqcn = dcqcn;
}

std::string RnicNetDevice::GetCc() const
{
    return m_cc->name;
}

const struct rnic_dcqcn_params &RnicNetDevice::GetDcqcnParams() const
{
    return m_dcqcn;
}

// ---- the C card ----

void RnicNetDevice::Build(uint32_t station, uint64_t line_bps)
{
    struct rnic_config config = {};

    RnicCheckParams("RnicNetDevice", rnic_param_table, rnic_param_count, &m_params);
    RnicCheckParams("RnicNetDevice", rnic_dcqcn_param_table, rnic_dcqcn_param_count, &m_dcqcn);
    config.params = m_params;
    config.cc = m_cc;
    config.cc_config.line_bps = line_bps;
    config.cc_config.dcqcn = m_dcqcn;
    config.station = station;
    config.book = m_engine->GetBook();
    m_device = rnic_device_init(AddMemory(rnic_device_bytes()), &config);
    NS_ABORT_MSG_UNLESS(m_device, "RnicNetDevice: the card refused its configuration");
    UpdateEvents();
}

struct rnic_device *RnicNetDevice::GetDevice()
{
    if (!m_device && m_engine)
    {
        m_engine->Build();
    }
    NS_ABORT_MSG_UNLESS(m_device, "this card has no link yet: RnicHelper::Connect it first");
    return m_device;
}

void *RnicNetDevice::AddMemory(size_t bytes)
{
    const size_t rounded = (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    void *memory = std::aligned_alloc(LINE_BYTES, rounded);

    NS_ABORT_MSG_UNLESS(memory, "ns3-rnic: out of memory (" << rounded << " bytes)");
    m_memory.emplace_back(memory, &std::free);
    return memory;
}

void RnicNetDevice::GrowArena()
{
    // A quarter more each time, so that many objects need few pieces.
    const size_t bytes =
        std::max({rnic_mem_wanted(m_device) + LINE_BYTES, ARENA_STEP_BYTES, m_arenaBytes / 4});
    const size_t rounded = (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;

    rnic_mem_give(m_device, AddMemory(rounded), rounded);
    m_arenaBytes += rounded;
}

void RnicNetDevice::SetGid(const Ipv4Address &address)
{
    SetGid(Ipv6Address::MakeIpv4MappedAddress(address));
}

void RnicNetDevice::SetGid(const Ipv6Address &address)
{
    uint8_t gid[16];

    address.GetBytes(gid);
    m_engine->SetStationGid(GetPort(), gid);
}

uint32_t RnicNetDevice::GetNextHop(uint32_t dest) const
{
    Ptr<RnicPortDevice> peer = GetPeer();
    auto device = DynamicCast<RnicSwitchDevice>(peer ? peer->GetSwitch() : nullptr);

    if (device && !device->GetParams().l2)
    {
        return peer->GetPort();
    }
    // A host outside is one station for each of its addresses: its frames come from the first.
    return RnicEngine::IsOutside(dest)
               ? wire_addr_by_mac(m_engine->GetBook(),
                                  wire_addr_station(m_engine->GetBook(), dest).mac)
               : dest;
}

// ---- events ----

void RnicNetDevice::EventSourceChanged(void *owner)
{
    static_cast<RnicNetDevice *>(owner)->UpdateEvents();
}

void RnicNetDevice::EnableEvents(uint32_t mask)
{
    m_userEvents |= mask;
    UpdateEvents();
}

void RnicNetDevice::UpdateEvents()
{
    const bool cnp_rx = !m_cnpRx.IsEmpty() || !m_rate.IsEmpty();

    m_events = 0;
    m_events |= m_cnpTx.IsEmpty() ? 0 : 1u << RNIC_EVENT_CNP_TX;
    m_events |= cnp_rx ? 1u << RNIC_EVENT_CNP_RX : 0;
    m_events |= m_completion.IsEmpty() ? 0 : 1u << RNIC_EVENT_COMPLETION;
    m_events |= m_placed.IsEmpty() ? 0 : 1u << RNIC_EVENT_PLACED;
    if (m_device)
    {
        rnic_trace_enable(m_device, m_userEvents | m_events);
    }
}

void RnicNetDevice::SetCqCallback(uint32_t cq, Callback<void, uint32_t> cb)
{
    m_cqCallbacks[cq] = cb;
}

void RnicNetDevice::HandleEvent(const struct rnic_event &event)
{
    Ptr<RnicNetDevice> self(this);
    const struct rnic_event copy = event;

    switch (event.type)
    {
    case RNIC_EVENT_CQ:
    {
        auto found = m_cqCallbacks.find(event.cq);

        if (found != m_cqCallbacks.end())
        {
            Callback<void, uint32_t> cb = found->second;
            const uint32_t cq = event.cq;

            m_engine->Deliver(event.time_ps, Context(), [cb, cq]() mutable { cb(cq); });
        }
        return;
    }
    case RNIC_EVENT_CNP_TX:
        Tell(event, m_cnpTx.IsEmpty(), [self, copy]() { self->m_cnpTx(copy.qpn); });
        return;
    case RNIC_EVENT_CNP_RX:
        Tell(event, m_cnpRx.IsEmpty(), [self, copy]() { self->m_cnpRx(copy.qpn); });
        Tell(event, m_rate.IsEmpty(), [self, copy]() { self->m_rate(copy.qpn, copy.value); });
        return;
    case RNIC_EVENT_COMPLETION:
        Tell(event, m_completion.IsEmpty(), [self, copy]() { self->m_completion(copy); });
        return;
    case RNIC_EVENT_PLACED:
        Tell(event, m_placed.IsEmpty(), [self, copy]() { self->m_placed(copy); });
        return;
    case RNIC_EVENT_QP_FATAL:
    case RNIC_EVENT_QP_REQ_ERR:
    case RNIC_EVENT_QP_ACCESS_ERR:
    case RNIC_EVENT_COMM_EST:
    case RNIC_EVENT_CQ_ERR:
    case RNIC_EVENT_SQ_DRAINED:
    case RNIC_EVENT_LAST_WQE:
    case RNIC_EVENT_SRQ_LIMIT:
        Tell(event, m_async.IsEmpty(), [self, copy]() { self->m_async(copy); });
        return;
    default:
        return;
    }
}

// ---- ordinary packets ----

bool RnicNetDevice::NeedsArp() const
{
    return true;
}

bool RnicNetDevice::SendFrom(Ptr<Packet> packet, const Address &source, const Address &dest,
                             uint16_t protocol)
{
    if (!m_link || packet->GetSize() > GetMtu())
    {
        NS_LOG_WARN("not sent: " << (m_link ? "larger than LinkMtu" : "no link"));
        return false;
    }

    const uint64_t now_ps = m_engine->Enter();
    const Mac48Address to = Mac48Address::ConvertFrom(dest);
    const Mac48Address from = Mac48Address::ConvertFrom(source);
    uint8_t mac[6];

    to.CopyTo(mac);

    const uint32_t station = wire_addr_by_mac(m_engine->GetBook(), mac);

    if (station == WIRE_STATION_BROADCAST && GetNextHop(station) == station)
    {
        Queue(packet, from, to, protocol, station, now_ps); // a bridge floods it
    }
    else if (station == WIRE_STATION_BROADCAST)
    {
        // The fabric routes: a group frame goes as one copy to each other card.
        for (RnicNetDevice *nic : m_engine->GetNics())
        {
            if (nic != this && nic->IsBuilt())
            {
                Queue(packet, from, to, protocol, nic->GetPort(), now_ps);
            }
        }
    }
    else if (m_engine->GetPortDevice(station) || RnicEngine::IsOutside(station))
    {
        Queue(packet, from, to, protocol, station, now_ps);
    }
    else
    {
        NS_LOG_WARN("not sent: no card has address " << to);
        return false;
    }
    m_engine->Touch(GetPort());
    return true;
}

void RnicNetDevice::Queue(Ptr<const Packet> packet, const Mac48Address &source,
                          const Mac48Address &dest, uint16_t protocol, uint32_t station,
                          uint64_t now_ps)
{
    struct wire_frame *frame = engine_frame_alloc(m_engine->GetEngine());
    RnicOpaque *opaque = m_engine->MakeOpaque(packet);
    SocketPriorityTag priority;

    NS_ABORT_MSG_UNLESS(frame, "ns3-rnic: out of memory");
    dest.CopyTo(opaque->dst);
    source.CopyTo(opaque->src);
    opaque->protocol = protocol;
    FillOpaque(frame, opaque, GetPort(), station,
               packet->PeekPacketTag(priority) ? priority.GetPriority() % WIRE_CLASSES : 0);
    frame->eth_dst = GetNextHop(station);
    frame->ttl = static_cast<uint8_t>(m_params.ttl);
    rnic_post_raw(m_device, frame, now_ps);
}

void RnicNetDevice::HandleOpaque(struct wire_frame *frame)
{
    auto opaque = static_cast<RnicOpaque *>(frame->opaque);
    Ptr<RnicNetDevice> self(this);

    if (frame->dst != GetPort() && frame->dst != WIRE_STATION_BROADCAST)
    {
        return; // stays in the frame: the engine counts it as a drop
    }

    Ptr<Packet> packet = opaque->packet;
    const uint16_t protocol = opaque->protocol;
    Mac48Address source;
    Mac48Address dest;

    source.CopyFrom(opaque->src);
    dest.CopyFrom(opaque->dst);
    frame->opaque = nullptr;
    m_engine->FreeOpaque(opaque);
    m_engine->Deliver(m_engine->Enter(), Context(),
                      [self, packet, source, dest, protocol]()
                      { self->Receive(packet, source, dest, protocol); });
}

void RnicNetDevice::Receive(Ptr<Packet> packet, Mac48Address source, Mac48Address dest,
                            uint16_t protocol)
{
    PacketType type = PACKET_OTHERHOST;

    if (dest.IsBroadcast())
    {
        type = PACKET_BROADCAST;
    }
    else if (dest.IsGroup())
    {
        type = PACKET_MULTICAST;
    }
    else if (Address(dest) == GetAddress())
    {
        type = PACKET_HOST;
    }
    if (!m_promiscCallback.IsNull())
    {
        m_promiscCallback(this, packet->Copy(), protocol, source, dest, type);
    }
    if (type != PACKET_OTHERHOST && !m_rxCallback.IsNull())
    {
        m_rxCallback(this, packet, protocol, source);
    }
}

} // namespace ns3
