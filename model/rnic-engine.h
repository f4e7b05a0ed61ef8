/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNIC_ENGINE_H
#define RNIC_ENGINE_H

#include "rnic-c.h"
#include "rnic-drive.h"

#include "ns3/event-impl.h"
#include "ns3/object.h"
#include "ns3/packet.h"
#include "ns3/simulator.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ns3
{

class RnicLink;
class RnicLiveDevice;
class RnicNetDevice;
class RnicPortDevice;
class RnicSwitchDevice;

/**
 * @ingroup rnic
 * Takes events of one card at engine level: inside the engine's run, without an ns-3 event.
 *
 * Meant for workload executors that post work from completions. The time inside is what
 * RnicEngine::Enter() returns; Simulator::Now() may lag behind it. User code that wants
 * Simulator::Now() connects a trace source or RnicVerbs::SetCqCallback instead.
 */
class RnicEventSink
{
public:
    virtual ~RnicEventSink() = default;
    /** @param port engine port of the card; @param event as rnic_event() yields it. */
    virtual void OnRnicEvent(uint32_t port, const struct rnic_event &event) = 0;
};

/**
 * @ingroup rnic
 * What an opaque frame carries through the fabric: an ordinary ns-3 packet and its link header.
 */
struct RnicOpaque
{
    Ptr<Packet> packet; //!< without link header
    uint8_t dst[6];     //!< destination MAC as given to Send
    uint8_t src[6];     //!< source MAC
    uint16_t protocol;  //!< EtherType
    RnicOpaque *prev;   //!< list of all that exist, owned by RnicEngine
    RnicOpaque *next;
};

/**
 * @ingroup rnic
 * The one engine of a simulation: wheel, links, MACs and frame pool, and how ns-3 drives them.
 *
 * Devices register when they are created. Build() (called by Enter(), GetPort() and whatever needs
 * it) gives every registered device that is connected its engine port, in the order of their
 * creation, and then joins the links. Every entry from ns-3 code goes through Enter().
 *
 * Time in ns-3 must have picosecond resolution: call Time::SetResolution(Time::PS) first in main().
 */
class RnicEngine : public Object
{
public:
    static TypeId GetTypeId();

    /** @returns the engine of this simulation; a new one after Simulator::Destroy(). */
    static Ptr<RnicEngine> Get();
    /** @returns true while an engine exists; Get() would not make one. */
    static bool Exists();

    RnicEngine();
    ~RnicEngine() override;

    /**
     * Run all engine events at or before Simulator::Now().
     * @returns now in picoseconds; inside a run of the engine, the engine's own time.
     */
    uint64_t Enter();

    /** Tell the engine and its drive that the card of @p port was touched (after a verb). */
    void Touch(uint32_t port);

    /** engine_outside_send(), after Enter(). @returns false: no room, the frame is the caller's. */
    bool SendOutside(uint32_t port, struct wire_frame *frame);

    /** @returns the C engine; made here if it was not yet (then Seed, Wire and so on are fixed). */
    struct engine *GetEngine();

    /** Give engine ports to the devices connected since the last time, and join their links. */
    void Build();

    /** Hand every event of the card at @p port to @p sink (not owned); nullptr: no more. */
    void SetSink(uint32_t port, RnicEventSink *sink);

    /**
     * Hand the trace records in @p mask (bits of enum engine_trace_type) of every port to @p fn at
     * engine level: inside the engine's run, without an ns-3 event. It must not touch the engine.
     * Mask 0: no more.
     */
    void SetTraceObserver(uint32_t mask, std::function<void(const struct engine_trace &)> fn);

    /** @returns the device of an engine port, or nullptr. */
    RnicPortDevice *GetPortDevice(uint32_t port) const;
    /** @returns number of engine ports. */
    uint32_t GetNPorts() const;
    /** @returns cards, in the order of their creation, connected or not. */
    const std::vector<RnicNetDevice *> &GetNics() const;
    /** @returns switches, in the order of their creation. */
    const std::vector<RnicSwitchDevice *> &GetSwitches() const;

    /** @returns the address book of this simulation. */
    const struct wire_addr_book *GetBook() const;
    /** Give a port another MAC than the default one. */
    void SetStationMac(uint32_t port, const uint8_t mac[6]);
    /** Give a port another GID (IPv4 a.b.c.d is ::ffff:a.b.c.d) than the default one. */
    void SetStationGid(uint32_t port, const uint8_t gid[16]);
    /**
     * Who has these addresses: a card of the simulation, or a host outside of it, which becomes a
     * station when it was not known. An address outside may move to another MAC.
     * @param gid nullptr: only the MAC is known.
     * @returns station of the GID, else of the MAC; WIRE_STATION_BROADCAST for a group MAC;
     * WIRE_STATION_NONE: the GID is that of a card with another MAC, or there are too many.
     */
    uint32_t LearnStation(const uint8_t mac[6], const uint8_t *gid);
    /** @returns whether a station is a card of the simulation. */
    bool IsCard(uint32_t station) const;
    /** @returns whether a station is a host outside of the simulation. */
    static bool IsOutside(uint32_t station);
    /** @returns room for payload in each frame, bytes. */
    uint32_t GetPayloadBytes() const;
    /** @returns the seed in force: attribute Seed, or from RngSeedManager when that is 0. */
    uint64_t GetSeed() const;
    /** @returns true while the engine runs (inside a hook). */
    bool IsRunning() const;

    /**
     * Call @p fn as an ns-3 event of @p context at engine time @p at_ps: how everything that
     * reaches user code leaves the engine. Simulator::Now() is exact inside.
     */
    template <typename F>
    void Deliver(uint64_t at_ps, uint32_t context, F fn);

    /** Of the drives: run the engine up to @p until_ps (inclusive). @returns events run. */
    uint64_t RunUntil(uint64_t until_ps);
    /** Of the drives: time of the next engine event, WIRE_NEVER: none. */
    uint64_t NextPs() const;
    /** Of the drives, from a hook: end RunUntil() after the engine event under way. */
    void StopRun();
    /** Replace the drive; the default is RnicWakeDrive, or RnicBatchDrive under RnicScheduler. */
    void SetDrive(std::unique_ptr<RnicDrive> drive);

    // What devices and links call.
    void Register(RnicNetDevice *nic);
    void Register(RnicLiveDevice *live);
    void Register(RnicSwitchDevice *device);
    void Register(RnicLink *link);
    void Unregister(RnicNetDevice *nic);
    void Unregister(RnicLiveDevice *live);
    void Unregister(RnicSwitchDevice *device);
    void Unregister(RnicLink *link);
    /** A trace source was connected or disconnected somewhere. */
    void UpdateTraces();
    /** @returns a frame's load made of a copy of @p packet; freed with FreeOpaque(). */
    RnicOpaque *MakeOpaque(Ptr<const Packet> packet);
    void FreeOpaque(RnicOpaque *opaque);

protected:
    void DoDispose() override;

private:
    /** An ns-3 event that calls a function object (3.35's ScheduleWithContext takes no lambda). */
    template <typename F>
    class CallEvent;

    static void Destroy();
    static Ptr<RnicEngine> &Instance();
    static void NicEvent(void *ctx, uint32_t port, const struct rnic_event *event);
    static void OpaqueRx(void *ctx, uint32_t port, struct wire_frame *frame);
    static void OutsideRx(void *ctx, uint32_t port, const struct wire_frame *frame);
    static void OpaqueFree(void *ctx, void *opaque);
    static void *OpaqueCopy(void *ctx, const void *opaque);
    static void Trace(void *ctx, const struct engine_trace *record);
    static void CheckResolution();

    void BuildNics();
    void BuildLives();
    void BuildSwitches();
    void BuildLinks();
    void DeliverEvent(uint64_t at_ps, uint32_t context, EventImpl *event);
    void AddPort(RnicPortDevice *device);
    uint32_t MaxFrameBytes() const;
    void SetStation(const struct wire_station &station);
    /** A GID outside has another MAC now; the old one stays known. */
    uint32_t MoveStation(struct wire_station station, const uint8_t mac[6]);

    uint64_t m_seedAttribute;                    //!< attribute Seed
    bool m_wire;                                 //!< attribute Wire
    uint32_t m_payloadBytes;                     //!< attribute PayloadBytes
    struct engine *m_engine;                     //!< the C engine, or nullptr before the first use
    struct wire_addr_book m_book;                //!< default addresses
    std::vector<struct wire_station> m_stations; //!< addresses somebody set, and those outside
    uint32_t m_outside = 0;                      //!< stations outside of the simulation
    bool m_running;                              //!< inside engine_run
    bool m_dirty;                                //!< something waits for Build()
    bool m_building;                             //!< inside Build()
    std::unique_ptr<RnicDrive> m_drive;          //!< how ns-3 drives the engine
    std::vector<Ptr<RnicPortDevice>> m_ports;    //!< by engine port; kept alive, C points to them
    std::vector<RnicEventSink *> m_sinks;        //!< by engine port
    std::vector<uint32_t> m_portTraces;          //!< engine trace bits wanted at each port
    uint32_t m_observed = 0;                     //!< engine trace bits m_observer wants
    std::function<void(const struct engine_trace &)> m_observer;
    std::vector<RnicNetDevice *> m_nics;
    std::vector<RnicLiveDevice *> m_lives;
    std::vector<RnicSwitchDevice *> m_switches;
    std::vector<RnicLink *> m_links;
    RnicOpaque *m_opaques; //!< all loads that exist
};

template <typename F>
class RnicEngine::CallEvent : public EventImpl
{
public:
    explicit CallEvent(F fn) : m_fn(std::move(fn))
    {
    }

protected:
    void Notify() override
    {
        m_fn();
    }

private:
    F m_fn; //!< what to call
};

template <typename F>
void RnicEngine::Deliver(uint64_t at_ps, uint32_t context, F fn)
{
    DeliverEvent(at_ps, context, new CallEvent<F>(std::move(fn)));
}

} // namespace ns3

#endif /* RNIC_ENGINE_H */
