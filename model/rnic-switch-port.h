/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNIC_SWITCH_PORT_H
#define RNIC_SWITCH_PORT_H

#include "rnic-port-device.h"

namespace ns3
{

class RnicSwitchDevice;

/**
 * @ingroup rnic
 * One port of a switch. Host software does not send from it: Send() returns false.
 */
class RnicSwitchPort : public RnicPortDevice
{
public:
    static TypeId GetTypeId();

    RnicSwitchPort();
    ~RnicSwitchPort() override;

    /** @param device the switch; @param index number of this port in it. */
    void SetSwitch(Ptr<RnicSwitchDevice> device, uint32_t index);
    /** @returns the RnicSwitchDevice. */
    Ptr<Object> GetSwitch() const override;
    /** @returns number of this port in its switch. */
    uint32_t GetIndex() const;

    uint32_t WantedTraces() const override;
    void HandleTrace(const struct engine_trace &record) override;

protected:
    void DoDispose() override;

private:
    Ptr<RnicSwitchDevice> m_switch;
    uint32_t m_index;
};

} // namespace ns3

#endif /* RNIC_SWITCH_PORT_H */
