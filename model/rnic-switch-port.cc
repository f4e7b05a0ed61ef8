/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-switch-port.h"

#include "rnic-switch-device.h"

#include "ns3/log.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RnicSwitchPort");
NS_OBJECT_ENSURE_REGISTERED(RnicSwitchPort);

TypeId RnicSwitchPort::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RnicSwitchPort")
                            .SetParent<RnicPortDevice>()
                            .SetGroupName("Rnic")
                            .AddConstructor<RnicSwitchPort>();
    return tid;
}

RnicSwitchPort::RnicSwitchPort() : m_index(0)
{
}

RnicSwitchPort::~RnicSwitchPort() = default;

void RnicSwitchPort::DoDispose()
{
    m_switch = nullptr;
    RnicPortDevice::DoDispose();
}

void RnicSwitchPort::SetSwitch(Ptr<RnicSwitchDevice> device, uint32_t index)
{
    m_switch = device;
    m_index = index;
}

Ptr<Object> RnicSwitchPort::GetSwitch() const
{
    return m_switch;
}

uint32_t RnicSwitchPort::GetIndex() const
{
    return m_index;
}

uint32_t RnicSwitchPort::WantedTraces() const
{
    return RnicPortDevice::WantedTraces() | (m_switch ? m_switch->WantedTraces() : 0);
}

void RnicSwitchPort::HandleTrace(const struct engine_trace &record)
{
    RnicPortDevice::HandleTrace(record);
    m_switch->HandleTrace(record);
}

} // namespace ns3
