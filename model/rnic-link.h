/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNIC_LINK_H
#define RNIC_LINK_H

#include "rnic-c.h"
#include "rnic-engine.h"

#include "ns3/channel.h"
#include "ns3/data-rate.h"
#include "ns3/nstime.h"

namespace ns3
{

class RnicPortDevice;

/**
 * @ingroup rnic
 * A full-duplex line between two ports.
 *
 * Delay, DataRate, Loss and PauseReaction hold for both directions. The direction from the second
 * device to the first may differ: SetLinkParams(), or BackDelay, BackDataRate, BackLoss, where a
 * negative delay or loss or a rate of 0 means "as the other direction".
 */
class RnicLink : public Channel
{
public:
    static TypeId GetTypeId();

    RnicLink();
    ~RnicLink() override;

    /** Join two ports that have no link yet. */
    void Connect(Ptr<RnicPortDevice> a, Ptr<RnicPortDevice> b);

    /** @param ab from the first device to the second; @param ba the other way. */
    void SetLinkParams(const struct engine_link_params &ab, const struct engine_link_params &ba);
    /** @returns parameters from device @p from (0 or 1) to the other. */
    struct engine_link_params GetLinkParams(uint32_t from) const;

    /** @returns the device at the other end than @p device. */
    Ptr<RnicPortDevice> GetPeer(const RnicPortDevice *device) const;
    /** @returns rate of what @p device sends. */
    uint64_t GetRateBps(const RnicPortDevice *device) const;

    /**
     * From now on the line is up, as at first, or down: both directions lose what is on it and what
     * is sent (RnicNetDevice and RnicSwitchPort drop it as "link_down"). No route changes.
     */
    void SetUp(bool up);

    // Channel
    std::size_t GetNDevices() const override;
    Ptr<NetDevice> GetDevice(std::size_t i) const override;

    // What RnicEngine calls.
    /** @returns the first (0) or second (1) device. */
    Ptr<RnicPortDevice> GetEnd(uint32_t i) const;
    bool IsBuilt() const;
    void SetBuilt();

protected:
    void DoDispose() override;

private:
    static void *ForwardBlock(ObjectBase *object, bool writable);

    Ptr<RnicEngine> m_engine;
    Ptr<RnicPortDevice> m_devices[2];
    struct engine_link_params m_forward;
    bool m_hasBackward; //!< SetLinkParams gave m_backward
    struct engine_link_params m_backward;
    Time m_backDelay;    //!< attribute BackDelay
    DataRate m_backRate; //!< attribute BackDataRate
    double m_backLoss;   //!< attribute BackLoss
    bool m_built;
};

} // namespace ns3

#endif /* RNIC_LINK_H */
