/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNIC_SWITCH_DEVICE_H
#define RNIC_SWITCH_DEVICE_H

#include "rnic-engine.h"
#include "rnic-trace.h"

#include "ns3/object.h"

#include <string>
#include <vector>

namespace ns3
{

class Node;
class RnicSwitchPort;

/**
 * @ingroup rnic
 * The switch of a node: shared buffer, PFC, ECN marker, routes. Aggregated to its node; its ports
 * are RnicSwitchPort devices of that node.
 */
class RnicSwitchDevice : public Object
{
public:
    static TypeId GetTypeId();

    RnicSwitchDevice();
    ~RnicSwitchDevice() override;

    /** Make @p ports ports and add them to @p node; aggregates itself to it. */
    void Install(Ptr<Node> node, uint32_t ports);

    void SetParams(const struct fabric_params &params);
    const struct fabric_params &GetParams() const;

    uint32_t GetNPorts() const;
    Ptr<RnicSwitchPort> GetPort(uint32_t i) const;
    /** @returns the first port without a link; aborts when there is none. */
    Ptr<RnicSwitchPort> GetFreePort() const;
    /** @returns the C switch; at least one port must be connected. */
    struct fabric_switch *GetSwitch() const;
    bool IsBuilt() const;
    /** @returns whether some port is connected. */
    bool HasLink() const;
    /** @returns what messages call it, by the number of its node. */
    std::string GetName() const;

    /** @returns whether it bridges and learns stations: then there may be no loop. */
    bool IsLearning() const;
    /**
     * Frames to @p station leave by one of these ports (ECMP). A switch that learns takes the first
     * of them as if the station had been heard there (L2Primed), or not at all.
     */
    void SetRoute(uint32_t station, const std::vector<uint16_t> &ports);
    /** Fix the buffer pools. @returns false: @p why says what does not fit. */
    bool Start(std::string *why);

    /** TracedCallback signature of QueueLength: port, class, bytes before and now. */
    typedef void (*QueueTracedCallback)(uint32_t port, uint8_t prio, uint64_t was, uint64_t now);
    /** TracedCallback signature of Pause: port, class, true: its peer was told to pause. */
    typedef void (*PauseTracedCallback)(uint32_t port, uint8_t prio, bool paused);
    /** TracedCallback signature of EcnMark: port, class, bytes queued when it was decided. */
    typedef void (*EcnTracedCallback)(uint32_t port, uint8_t prio, uint64_t queueBytes);
    /** TracedCallback signature of FrameDrop. */
    typedef void (*FrameTracedCallback)(const RnicFrameInfo &frame);

    // What RnicEngine and the ports call.
    /** Make the C switch as number @p number of the simulation. */
    void Build(uint32_t number);
    /** @returns port @p i, without counting a reference. */
    RnicPortDevice *GetPortDevice(uint32_t i) const;
    /** Give the frames still queued back to @p engine. */
    void Flush(struct engine *engine);
    uint32_t WantedTraces() const;
    void HandleTrace(const struct engine_trace &record);

protected:
    void DoDispose() override;

private:
    static void *ParamBlock(ObjectBase *object, bool writable);
    static void SourceChanged(void *owner);
    void CompareQueues();

    Ptr<RnicEngine> m_engine;
    struct fabric_params m_params;
    struct fabric_switch *m_switch;
    bool m_started;
    uint32_t m_context; //!< node id
    std::vector<Ptr<RnicSwitchPort>> m_ports;
    std::vector<uint64_t> m_queueBytes; //!< by port and class, at the last comparison
    uint64_t m_compareAtPs;             //!< time of the pending comparison
    RnicTracedCallback<uint32_t, uint8_t, uint64_t, uint64_t> m_queueLength;
    RnicTracedCallback<uint32_t, uint8_t, bool> m_pause;
    RnicTracedCallback<uint32_t, uint8_t, uint64_t> m_ecnMark;
    RnicTracedCallback<const RnicFrameInfo &> m_frameDrop;
};

} // namespace ns3

#endif /* RNIC_SWITCH_DEVICE_H */
