/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNIC_HELPER_H
#define RNIC_HELPER_H

#include "rnic-application.h"
#include "rnic-link.h"
#include "rnic-live-device.h"
#include "rnic-net-device.h"
#include "rnic-switch-device.h"
#include "rnic-switch-port.h"

#include "ns3/map-scheduler.h"
#include "ns3/net-device-container.h"
#include "ns3/node-container.h"
#include "ns3/trace-helper.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * @ingroup rnic
 * Builds a fabric: cards, switches, links, routes, pcap.
 *
 * Order: InstallNic and InstallSwitch, Connect, then PopulateRoutes. Stations (engine ports) are
 * given in the order of installation. Params structs set the base, attributes go on top.
 */
class RnicHelper : public PcapHelperForDevice
{
public:
    RnicHelper();
    ~RnicHelper() override;

    /**
     * Let the engine run in batches between ns-3 events (RnicScheduler) until Simulator::Destroy():
     * the same results, faster. Needs DefaultSimulatorImpl; call it before Simulator::Run(), and
     * Simulator::SetScheduler() no more after it. @param inner scheduler of the ns-3 events.
     */
    static void UseBatchDrive(TypeId inner = MapScheduler::GetTypeId());

    void SetNicAttribute(const std::string &name, const AttributeValue &value);
    void SetSwitchAttribute(const std::string &name, const AttributeValue &value);
    void SetLinkAttribute(const std::string &name, const AttributeValue &value);
    void SetNicParams(const struct rnic_params &params);
    void SetSwitchParams(const struct fabric_params &params);
    void SetCc(const std::string &kind, const struct rnic_dcqcn_params &dcqcn);
    /** @param preset name of a DCQCN preset, "paper-2015". */
    void SetCc(const std::string &kind, const std::string &preset);
    /** Links made from now on: @p ab from Connect's first argument to its second. */
    void SetLinkParams(const struct engine_link_params &ab, const struct engine_link_params &ba);
    void SetLinkParams(const struct engine_link_params &both);

    Ptr<RnicNetDevice> InstallNic(Ptr<Node> node) const;
    NetDeviceContainer InstallNic(const NodeContainer &nodes) const;
    Ptr<RnicSwitchDevice> InstallSwitch(Ptr<Node> node, uint32_t ports) const;

    /**
     * A port to the outside of the simulation, in real time: see RnicLiveDevice.
     * @param line its attribute Line: "unix,LOCAL,PEER", "udp,LOCAL,PEER" or "tap,NAME".
     */
    Ptr<RnicLiveDevice> InstallLive(Ptr<Node> node, const std::string &line) const;

    /**
     * Link @p a and @p b with the link parameters and attributes set so far. Each is a port
     * (RnicNetDevice, RnicLiveDevice, RnicSwitchPort), or an RnicSwitchDevice: its first free port.
     */
    Ptr<RnicLink> Connect(Ptr<Object> a, Ptr<Object> b) const;

    /**
     * Set all shortest paths between cards (equal ones together, ECMP) and start the switches.
     * @returns false: @p why says which switch's buffer does not hold what it must.
     */
    static bool TryPopulateRoutes(std::string *why);
    /** The same, but aborts with the text. */
    static void PopulateRoutes();

    /** @returns a pcap file that could not be written so far, or "": all is well. */
    std::string GetBrokenPcap() const;
    /** End all pcap files. @returns one that could not be written, or "". */
    std::string ClosePcap();

private:
    using Attributes = std::vector<std::pair<std::string, Ptr<AttributeValue>>>;

    void EnablePcapInternal(std::string prefix, Ptr<NetDevice> nd, bool promiscuous,
                            bool explicitFilename) override;

    Attributes m_nicAttributes;
    Attributes m_switchAttributes;
    Attributes m_linkAttributes;
    std::unique_ptr<struct rnic_params> m_nicParams;
    std::unique_ptr<struct fabric_params> m_switchParams;
    std::unique_ptr<std::pair<struct engine_link_params, struct engine_link_params>> m_linkParams;
    std::vector<std::pair<std::string, Ptr<PcapFileWrapper>>> m_pcaps; //!< by path
    std::string m_ccKind; //!< empty: the device's default
    std::unique_ptr<struct rnic_dcqcn_params> m_dcqcn;
};

} // namespace ns3

#endif /* RNIC_HELPER_H */
