/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNIC_PORT_DEVICE_H
#define RNIC_PORT_DEVICE_H

#include "rnic-c.h"
#include "rnic-engine.h"
#include "rnic-trace.h"

#include "ns3/mac48-address.h"
#include "ns3/net-device.h"
#include "ns3/node.h"

namespace ns3
{

class RnicLink;

/**
 * @ingroup rnic
 * What a card and a port of a switch have in common: an engine port, a link, frame traces.
 *
 * Every trace sink runs as an ns-3 event at the exact time of what it tells.
 */
class RnicPortDevice : public NetDevice
{
public:
    static TypeId GetTypeId();

    RnicPortDevice();
    ~RnicPortDevice() override;

    /** @returns engine port (= station); the device must be connected. */
    uint32_t GetPort() const;
    /** @returns whether it has an engine port. */
    bool IsBuilt() const;
    /** @returns the link, or nullptr. */
    Ptr<RnicLink> GetLink() const;
    /** @returns the device at the other end, or nullptr. */
    Ptr<RnicPortDevice> GetPeer() const;
    /** @returns the switch this is a port of; nullptr for a card. */
    virtual Ptr<Object> GetSwitch() const = 0;
    /** @returns counters of the engine port. */
    const struct engine_port_counters &GetCounters() const;

    // NetDevice
    void SetIfIndex(const uint32_t index) override;
    uint32_t GetIfIndex() const override;
    Ptr<Channel> GetChannel() const override;
    void SetAddress(Address address) override;
    Address GetAddress() const override;
    bool SetMtu(const uint16_t mtu) override;
    uint16_t GetMtu() const override;
    bool IsLinkUp() const override;
    void AddLinkChangeCallback(Callback<void> callback) override;
    bool IsBroadcast() const override;
    Address GetBroadcast() const override;
    bool IsMulticast() const override;
    Address GetMulticast(Ipv4Address group) const override;
    Address GetMulticast(Ipv6Address group) const override;
    bool IsBridge() const override;
    bool IsPointToPoint() const override;
    Ptr<Node> GetNode() const override;
    void SetNode(Ptr<Node> node) override;
    void SetReceiveCallback(ReceiveCallback cb) override;
    void SetPromiscReceiveCallback(PromiscReceiveCallback cb) override;
    bool SupportsSendFrom() const override;
    /** SendFrom() with the address of this port. */
    bool Send(Ptr<Packet> packet, const Address &dest, uint16_t protocol) override;
    /** Cards only: no host software of the simulation is behind any other port. @returns false. */
    bool SendFrom(Ptr<Packet> packet, const Address &source, const Address &dest,
                  uint16_t protocol) override;
    bool NeedsArp() const override;

    /** TracedCallback signature of FrameTx, FrameRx and FrameDrop. */
    typedef void (*FrameTracedCallback)(const RnicFrameInfo &frame);
    /** TracedCallback signature of MacPause: class, whether it may not send now. */
    typedef void (*PauseTracedCallback)(uint8_t prio, bool paused);

    // What RnicLink, RnicEngine and RnicSwitchDevice call.
    /** @returns what a frame trace hands to its sinks. */
    static RnicFrameInfo MakeInfo(const struct engine_trace &record);
    void SetLink(Ptr<RnicLink> link);
    void SetPort(uint32_t port);
    /** @returns engine trace types some sink of this port listens to. */
    virtual uint32_t WantedTraces() const;
    /** A record of a wanted type; inside the engine's run. */
    virtual void HandleTrace(const struct engine_trace &record);
    /** An opaque frame arrived; inside the engine's run. Cards only. */
    virtual void HandleOpaque(struct wire_frame *frame);

protected:
    void DoDispose() override;
    void DoInitialize() override;
    /** @returns context for ns-3 events of this device. */
    uint32_t Context() const;
    /** Watcher of RnicTracedCallback: @p owner is the RnicPortDevice. */
    static void SourceChanged(void *owner);

    Ptr<RnicEngine> m_engine;     //!< the engine
    Ptr<RnicLink> m_link;         //!< the line, or nullptr
    ReceiveCallback m_rxCallback; //!< of the node
    PromiscReceiveCallback m_promiscCallback;
    RnicTracedCallback<Ptr<const Packet>> m_macTx;
    RnicTracedCallback<Ptr<const Packet>> m_macRx;

    /** @returns Ethernet frame as an ns-3 packet, without FCS. */
    Ptr<Packet> Encode(const struct wire_frame &frame) const;
    /** Make @p frame carry @p opaque from station @p source to @p dest in class @p prio. */
    void FillOpaque(struct wire_frame *frame, RnicOpaque *opaque, uint32_t source, uint32_t dest,
                    uint8_t prio) const;

private:
    using FrameSource = RnicTracedCallback<const RnicFrameInfo &> RnicPortDevice::*;
    using PacketSource = RnicTracedCallback<Ptr<const Packet>> RnicPortDevice::*;
    void TraceFrame(const struct engine_trace &record, FrameSource source);
    void TracePackets(const struct engine_trace &record, PacketSource source);

    RnicTracedCallback<const RnicFrameInfo &> m_frameTx;
    RnicTracedCallback<const RnicFrameInfo &> m_frameRx;
    RnicTracedCallback<const RnicFrameInfo &> m_frameDrop;
    RnicTracedCallback<uint8_t, bool> m_macPause;
    RnicTracedCallback<Ptr<const Packet>> m_promiscSniffer;
    TracedCallback<> m_linkChange;
    Ptr<Node> m_node;
    uint32_t m_ifIndex;
    uint32_t m_port; //!< engine port, WIRE_STATION_NONE before Build()
    uint16_t m_mtu;  //!< attribute LinkMtu
    bool m_hasMac;   //!< m_mac was set
    Mac48Address m_mac;
    uint32_t m_paused; //!< classes paused at the last record
};

} // namespace ns3

#endif /* RNIC_PORT_DEVICE_H */
