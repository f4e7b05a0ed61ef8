/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-switch-device.h"

#include "rnic-link.h"
#include "rnic-param-attribute.h"
#include "rnic-switch-port.h"

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/node.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RnicSwitchDevice");
NS_OBJECT_ENSURE_REGISTERED(RnicSwitchDevice);

TypeId RnicSwitchDevice::GetTypeId()
{
    static TypeId tid = []()
    {
        TypeId made = TypeId("ns3::RnicSwitchDevice")
                          .SetParent<Object>()
                          .SetGroupName("Rnic")
                          .AddConstructor<RnicSwitchDevice>();

        made = RnicAddAttributes(made, fabric_param_table, fabric_param_count,
                                 &RnicSwitchDevice::ParamBlock);
        return made
            .AddTraceSource("QueueLength",
                            "Bytes of an egress queue changed: port, class, before, now.",
                            MakeTraceSourceAccessor(&RnicSwitchDevice::m_queueLength),
                            "ns3::RnicSwitchDevice::QueueTracedCallback")
            .AddTraceSource("Pause", "The peer of a port was told to pause or resume a class.",
                            MakeTraceSourceAccessor(&RnicSwitchDevice::m_pause),
                            "ns3::RnicSwitchDevice::PauseTracedCallback")
            .AddTraceSource("EcnMark", "A frame was marked CE: port, class, bytes queued.",
                            MakeTraceSourceAccessor(&RnicSwitchDevice::m_ecnMark),
                            "ns3::RnicSwitchDevice::EcnTracedCallback")
            .AddTraceSource("FrameDrop", "A frame ended at some port; it knows the reason.",
                            MakeTraceSourceAccessor(&RnicSwitchDevice::m_frameDrop),
                            "ns3::RnicSwitchDevice::FrameTracedCallback");
    }();
    return tid;
}

RnicSwitchDevice::RnicSwitchDevice()
    : m_switch(nullptr), m_started(false), m_context(Simulator::NO_CONTEXT),
      m_compareAtPs(WIRE_NEVER)
{
    wire_param_defaults(fabric_param_table, fabric_param_count, &m_params);
    m_queueLength.SetWatcher(&RnicSwitchDevice::SourceChanged, this);
    m_pause.SetWatcher(&RnicSwitchDevice::SourceChanged, this);
    m_ecnMark.SetWatcher(&RnicSwitchDevice::SourceChanged, this);
    m_frameDrop.SetWatcher(&RnicSwitchDevice::SourceChanged, this);
}

RnicSwitchDevice::~RnicSwitchDevice()
{
    if (m_engine)
    {
        m_engine->Unregister(this);
    }
    if (m_switch)
    {
        fabric_destroy(m_switch);
    }
}

void RnicSwitchDevice::DoDispose()
{
    if (m_engine)
    {
        m_engine->Unregister(this);
    }
    m_engine = nullptr;
    m_ports.clear();
    Object::DoDispose();
}

void RnicSwitchDevice::Flush(struct engine *engine)
{
    struct wire_frame *frame;

    while (engine && m_switch && (frame = fabric_flush(m_switch)))
    {
        engine_frame_free(engine, frame);
    }
}

void *RnicSwitchDevice::ParamBlock(ObjectBase *object, bool writable)
{
    auto self = dynamic_cast<RnicSwitchDevice *>(object);

    return self && !(writable && self->m_switch) ? &self->m_params : nullptr;
}

void RnicSwitchDevice::SetParams(const struct fabric_params &params)
{
    NS_ABORT_MSG_IF(m_switch, "the switch is in use: its parameters are fixed");
    m_params = params;
}

const struct fabric_params &RnicSwitchDevice::GetParams() const
{
    return m_params;
}

void RnicSwitchDevice::Install(Ptr<Node> node, uint32_t ports)
{
    NS_ABORT_MSG_UNLESS(m_ports.empty(), "the switch is installed already");
    NS_ABORT_MSG_UNLESS(ports > 0 && ports <= UINT16_MAX, "a switch has 1 .. 65535 ports");
    m_engine = RnicEngine::Get();
    m_context = node->GetId();
    for (uint32_t i = 0; i < ports; i++)
    {
        Ptr<RnicSwitchPort> port = CreateObject<RnicSwitchPort>();

        port->SetSwitch(this, i);
        node->AddDevice(port);
        m_ports.push_back(port);
    }
    node->AggregateObject(this);
    m_engine->Register(this);
}

uint32_t RnicSwitchDevice::GetNPorts() const
{
    return static_cast<uint32_t>(m_ports.size());
}

Ptr<RnicSwitchPort> RnicSwitchDevice::GetPort(uint32_t i) const
{
    NS_ABORT_MSG_UNLESS(i < m_ports.size(), "the switch has no port " << i);
    return m_ports[i];
}

RnicPortDevice *RnicSwitchDevice::GetPortDevice(uint32_t i) const
{
    return PeekPointer(m_ports[i]);
}

Ptr<RnicSwitchPort> RnicSwitchDevice::GetFreePort() const
{
    auto free = [](const Ptr<RnicSwitchPort> &port)
    {
        return !port->GetLink();
    };
    auto found = std::find_if(m_ports.begin(), m_ports.end(), free);

    NS_ABORT_MSG_IF(found == m_ports.end(), "all " << m_ports.size() << " ports are connected");
    return *found;
}

bool RnicSwitchDevice::HasLink() const
{
    auto linked = [](const Ptr<RnicSwitchPort> &port)
    {
        return bool(port->GetLink());
    };

    return std::any_of(m_ports.begin(), m_ports.end(), linked);
}

std::string RnicSwitchDevice::GetName() const
{
    return "switch of node " + std::to_string(m_context);
}

bool RnicSwitchDevice::IsBuilt() const
{
    return m_switch;
}

struct fabric_switch *RnicSwitchDevice::GetSwitch() const
{
    if (!m_switch && m_engine)
    {
        m_engine->Build();
    }
    NS_ABORT_MSG_UNLESS(m_switch, "this switch has no link yet: RnicHelper::Connect it first");
    return m_switch;
}

void RnicSwitchDevice::Build(uint32_t number)
{
    RnicCheckParams("RnicSwitchDevice", fabric_param_table, fabric_param_count, &m_params);
    m_switch = fabric_create(&m_params, GetNPorts(), m_engine->GetSeed(), number);
    NS_ABORT_MSG_UNLESS(m_switch, "RnicSwitchDevice: out of memory");
    m_queueBytes.assign(size_t(GetNPorts()) * WIRE_CLASSES, 0);
}

bool RnicSwitchDevice::IsLearning() const
{
    return m_params.l2 != 0 && m_params.l2_learn != 0;
}

void RnicSwitchDevice::SetRoute(uint32_t station, const std::vector<uint16_t> &ports)
{
    if (IsLearning())
    {
        if (m_params.l2_primed != 0 && !ports.empty())
        {
            fabric_learn(GetSwitch(), station, ports[0]);
        }
        return;
    }

    const int result =
        fabric_route_set(GetSwitch(), station, ports.data(), static_cast<uint32_t>(ports.size()));

    NS_ABORT_MSG_UNLESS(result == 0, "no route to station " << station << " by " << ports.size()
                                                            << " ports: " << result);
}

bool RnicSwitchDevice::Start(std::string *why)
{
    char text[256] = "";

    if (!m_started && fabric_start(GetSwitch(), text, sizeof(text)) != 0)
    {
        *why = text;
        return false;
    }
    m_started = true;
    return true;
}

// ---- traces ----

void RnicSwitchDevice::SourceChanged(void *owner)
{
    auto self = static_cast<RnicSwitchDevice *>(owner);

    if (self->m_engine)
    {
        self->m_engine->UpdateTraces();
    }
}

uint32_t RnicSwitchDevice::WantedTraces() const
{
    uint32_t mask = 0;

    mask |= m_ecnMark.IsEmpty() && m_pause.IsEmpty() ? 0 : 1u << ENGINE_TRACE_FABRIC;
    mask |= m_frameDrop.IsEmpty() ? 0 : 1u << ENGINE_TRACE_DROP;
    mask |= m_queueLength.IsEmpty() ? 0 : 1u << ENGINE_TRACE_TX | 1u << ENGINE_TRACE_RX;
    return mask;
}

void RnicSwitchDevice::HandleTrace(const struct engine_trace &record)
{
    Ptr<RnicSwitchDevice> self(this);

    switch (record.type)
    {
    case ENGINE_TRACE_TX:
    case ENGINE_TRACE_RX:
        // One comparison per instant: what it finds is the state after all events of that time.
        if (!m_queueLength.IsEmpty() && m_compareAtPs != record.time_ps)
        {
            m_compareAtPs = record.time_ps;
            m_engine->Deliver(record.time_ps, m_context, [self]() { self->CompareQueues(); });
        }
        break;
    case ENGINE_TRACE_DROP:
        if (!m_frameDrop.IsEmpty())
        {
            const RnicFrameInfo info = RnicPortDevice::MakeInfo(record);

            m_engine->Deliver(record.time_ps, m_context,
                              [self, info]() { self->m_frameDrop(info); });
        }
        break;
    case ENGINE_TRACE_FABRIC:
    {
        const struct fabric_event event = *record.fabric;
        const uint32_t port = event.port;

        if (event.type == FABRIC_EVENT_ECN)
        {
            if (m_ecnMark.IsEmpty())
            {
                break;
            }
            m_engine->Deliver(event.time_ps, m_context,
                              [self, port, event]()
                              { self->m_ecnMark(port, event.prio, event.queue_bytes); });
        }
        else if (!m_pause.IsEmpty())
        {
            const bool paused = event.type == FABRIC_EVENT_PAUSE;

            m_engine->Deliver(event.time_ps, m_context,
                              [self, port, event, paused]()
                              { self->m_pause(port, event.prio, paused); });
        }
        break;
    }
    case ENGINE_TRACE_PAUSE:
        break;
    }
}

void RnicSwitchDevice::CompareQueues()
{
    m_compareAtPs = WIRE_NEVER;
    m_engine->Enter();
    for (uint32_t port = 0; port < GetNPorts(); port++)
    {
        for (uint32_t prio = 0; prio < WIRE_CLASSES; prio++)
        {
            uint64_t &was = m_queueBytes[size_t(port) * WIRE_CLASSES + prio];
            const uint64_t now = fabric_queue_bytes(m_switch, port, prio);
            const uint64_t before = was;

            was = now;
            if (now != before)
            {
                m_queueLength(port, static_cast<uint8_t>(prio), before, now);
            }
        }
    }
}

} // namespace ns3
