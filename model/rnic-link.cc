/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-link.h"

#include "rnic-param-attribute.h"
#include "rnic-port-device.h"

#include "ns3/abort.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/log.h"
#include "ns3/nstime.h"
#include "ns3/string.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RnicLink");
NS_OBJECT_ENSURE_REGISTERED(RnicLink);

TypeId RnicLink::GetTypeId()
{
    static TypeId tid = []()
    {
        TypeId made = TypeId("ns3::RnicLink")
                          .SetParent<Channel>()
                          .SetGroupName("Rnic")
                          .AddConstructor<RnicLink>();

        made = RnicAddAttributes(made, engine_link_param_table, engine_link_param_count,
                                 &RnicLink::ForwardBlock);
        return made
            .AddAttribute(
                "BackDelay", "Delay from the second device to the first; negative: as Delay.",
                StringValue("-1s"), MakeTimeAccessor(&RnicLink::m_backDelay), MakeTimeChecker())
            .AddAttribute("BackDataRate",
                          "Rate from the second device to the first; 0: as DataRate.",
                          DataRateValue(DataRate(0)), MakeDataRateAccessor(&RnicLink::m_backRate),
                          MakeDataRateChecker())
            .AddAttribute("BackLoss",
                          "Loss from the second device to the first; negative: as Loss.",
                          DoubleValue(-1), MakeDoubleAccessor(&RnicLink::m_backLoss),
                          MakeDoubleChecker<double>(-1, 1));
    }();
    return tid;
}

RnicLink::RnicLink() : m_hasBackward(false), m_built(false)
{
    wire_param_defaults(engine_link_param_table, engine_link_param_count, &m_forward);
    m_backward = m_forward;
}

RnicLink::~RnicLink()
{
    if (m_engine)
    {
        m_engine->Unregister(this);
    }
}

void RnicLink::DoDispose()
{
    if (m_engine)
    {
        m_engine->Unregister(this);
    }
    m_engine = nullptr;
    m_devices[0] = nullptr;
    m_devices[1] = nullptr;
    Channel::DoDispose();
}

void *RnicLink::ForwardBlock(ObjectBase *object, bool writable)
{
    auto self = dynamic_cast<RnicLink *>(object);

    return self && !(writable && self->m_built) ? &self->m_forward : nullptr;
}

void RnicLink::Connect(Ptr<RnicPortDevice> a, Ptr<RnicPortDevice> b)
{
    NS_ABORT_MSG_IF(m_devices[0], "this link joins two ports already");
    NS_ABORT_MSG_UNLESS(a && b && a != b, "a link needs two ports");
    NS_ABORT_MSG_UNLESS(a->GetNode() && b->GetNode(), "both ports must belong to a node");
    m_devices[0] = a;
    m_devices[1] = b;
    a->SetLink(this);
    b->SetLink(this);
    m_engine = RnicEngine::Get();
    m_engine->Register(this);
}

void RnicLink::SetLinkParams(const struct engine_link_params &ab,
                             const struct engine_link_params &ba)
{
    NS_ABORT_MSG_IF(m_built, "the link is in use: its parameters are fixed");
    m_forward = ab;
    m_backward = ba;
    m_hasBackward = true;
}

struct engine_link_params RnicLink::GetLinkParams(uint32_t from) const
{
    struct engine_link_params params = m_forward;

    RnicCheckParams("RnicLink", engine_link_param_table, engine_link_param_count, &m_forward);
    if (from == 0)
    {
        return params;
    }
    if (m_hasBackward)
    {
        params = m_backward;
    }
    if (!m_backDelay.IsStrictlyNegative())
    {
        params.delay_ps = static_cast<uint64_t>(m_backDelay.GetPicoSeconds());
    }
    if (m_backRate.GetBitRate() > 0)
    {
        params.rate_bps = m_backRate.GetBitRate();
    }
    if (m_backLoss >= 0)
    {
        params.loss = m_backLoss;
    }
    RnicCheckParams("RnicLink, back", engine_link_param_table, engine_link_param_count, &params);
    return params;
}

void RnicLink::SetUp(bool up)
{
    NS_ABORT_MSG_UNLESS(m_engine, "this link joins no ports yet");
    m_engine->Enter();
    NS_ABORT_MSG_IF(engine_set_line(m_engine->GetEngine(), m_devices[0]->GetPort(), up) != 0,
                    "the engine does not know this link");
}

Ptr<RnicPortDevice> RnicLink::GetPeer(const RnicPortDevice *device) const
{
    return PeekPointer(m_devices[0]) == device ? m_devices[1] : m_devices[0];
}

uint64_t RnicLink::GetRateBps(const RnicPortDevice *device) const
{
    return GetLinkParams(PeekPointer(m_devices[0]) == device ? 0 : 1).rate_bps;
}

Ptr<RnicPortDevice> RnicLink::GetEnd(uint32_t i) const
{
    return m_devices[i];
}

bool RnicLink::IsBuilt() const
{
    return m_built;
}

void RnicLink::SetBuilt()
{
    m_built = true;
}

std::size_t RnicLink::GetNDevices() const
{
    return m_devices[0] ? 2 : 0;
}

Ptr<NetDevice> RnicLink::GetDevice(std::size_t i) const
{
    NS_ABORT_MSG_UNLESS(i < GetNDevices(), "a link has no device " << i);
    return m_devices[i];
}

} // namespace ns3
