/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNIC_NET_DEVICE_H
#define RNIC_NET_DEVICE_H

#include "rnic-port-device.h"

#include "ns3/ipv4-address.h"
#include "ns3/ipv6-address.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @ingroup rnic
 * One RDMA card as a NetDevice.
 *
 * RDMA goes through RnicVerbs (or the C verbs on GetDevice()); NetDevice::Send puts an ordinary
 * packet on the card's raw ring, where it competes with RDMA for the line. All parameters are
 * attributes, made from the C tables; they can be set until the card is built (see RnicEngine).
 */
class RnicNetDevice : public RnicPortDevice
{
public:
    static TypeId GetTypeId();

    RnicNetDevice();
    ~RnicNetDevice() override;

    /** @returns the C card; the device must be connected. */
    struct rnic_device *GetDevice();

    void SetParams(const struct rnic_params &params);
    const struct rnic_params &GetParams() const;
    /** @param kind name of a congestion control; @param dcqcn parameters of DCQCN. */
    void SetCc(const std::string &kind, const struct rnic_dcqcn_params &dcqcn);
    std::string GetCc() const;
    const struct rnic_dcqcn_params &GetDcqcnParams() const;

    /** Give the arena what the last RNIC_ERR_NOMEM was short of (at least 64 KiB). */
    void GrowArena();
    /**
     * Run @p call(device, now_ps) after Enter(), again with a larger arena while it returns
     * RNIC_ERR_NOMEM, then Touch(). @returns what the call returned.
     */
    template <typename F>
    int Verb(F call);

    /**
     * Give the card another address than the default one of its port, 10.0.0.(port + 1). It must be
     * connected, and its queue pairs not yet.
     */
    void SetGid(const Ipv4Address &address);
    void SetGid(const Ipv6Address &address);

    /** @returns station whose MAC a frame to @p dest carries: the router's, or @p dest. */
    uint32_t GetNextHop(uint32_t dest) const;

    /** Record events of these types (bits of enum rnic_event_type) besides what sinks need. */
    void EnableEvents(uint32_t mask);
    /** Call @p cb(cq) as an ns-3 event whenever the armed @p cq has a completion. */
    void SetCqCallback(uint32_t cq, Callback<void, uint32_t> cb);

    // NetDevice
    bool SendFrom(Ptr<Packet> packet, const Address &source, const Address &dest,
                  uint16_t protocol) override;
    bool NeedsArp() const override;
    void SetNode(Ptr<Node> node) override;
    Ptr<Object> GetSwitch() const override;

    /** TracedCallback signature of CnpTx and CnpRx: queue pair. */
    typedef void (*CnpTracedCallback)(uint32_t qpn);
    /** TracedCallback signature of Rate: queue pair, bits a second after a CNP. */
    typedef void (*RateTracedCallback)(uint32_t qpn, uint64_t bps);
    /** TracedCallback signature of Completion, Placed and AsyncEvent: the record. */
    typedef void (*EventTracedCallback)(const struct rnic_event &event);

    // What RnicEngine calls.
    /** Make the C card for engine port @p station with a line of @p line_bps. */
    void Build(uint32_t station, uint64_t line_bps);
    /** An event of the card; inside the engine's run. */
    void HandleEvent(const struct rnic_event &event);
    void HandleOpaque(struct wire_frame *frame) override;

protected:
    void DoDispose() override;

private:
    static void EventSourceChanged(void *owner);
    static void *ParamBlock(ObjectBase *object, bool writable);
    static void *DcqcnBlock(ObjectBase *object, bool writable);
    void SetCcKind(std::string kind);
    void UpdateEvents();
    void Queue(Ptr<const Packet> packet, const Mac48Address &source, const Mac48Address &dest,
               uint16_t protocol, uint32_t station, uint64_t now_ps);
    void Receive(Ptr<Packet> packet, Mac48Address source, Mac48Address dest, uint16_t protocol);
    void *AddMemory(size_t bytes);
    /** Deliver @p fn at the time of @p event unless nobody listens. */
    template <typename F>
    void Tell(const struct rnic_event &event, bool empty, F fn)
    {
        if (!empty)
        {
            m_engine->Deliver(event.time_ps, Context(), std::move(fn));
        }
    }

    struct rnic_params m_params;                                   //!< parameters of the card
    struct rnic_dcqcn_params m_dcqcn;                              //!< of its congestion control
    const struct rnic_cc_ops *m_cc;                                //!< congestion control
    struct rnic_device *m_device;                                  //!< the C card, or nullptr
    std::vector<std::unique_ptr<void, void (*)(void *)>> m_memory; //!< card and arena
    size_t m_arenaBytes;                                           //!< given to the arena so far
    uint32_t m_userEvents;                                         //!< of EnableEvents
    uint32_t m_events; //!< event types somebody of ns-3 listens to
    std::map<uint32_t, Callback<void, uint32_t>> m_cqCallbacks;
    RnicTracedCallback<uint32_t> m_cnpTx;
    RnicTracedCallback<uint32_t> m_cnpRx;
    RnicTracedCallback<uint32_t, uint64_t> m_rate;
    RnicTracedCallback<const struct rnic_event &> m_completion;
    RnicTracedCallback<const struct rnic_event &> m_placed;
    RnicTracedCallback<const struct rnic_event &> m_async;
};

template <typename F>
int RnicNetDevice::Verb(F call)
{
    struct rnic_device *device = GetDevice();
    const uint64_t now_ps = m_engine->Enter();
    int result = call(device, now_ps);

    while (result == RNIC_ERR_NOMEM)
    {
        GrowArena();
        result = call(device, now_ps);
    }
    m_engine->Touch(GetPort());
    return result;
}

} // namespace ns3

#endif /* RNIC_NET_DEVICE_H */
