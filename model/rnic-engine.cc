/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-engine.h"

#include "rnic-link.h"
#include "rnic-live-device.h"
#include "rnic-net-device.h"
#include "rnic-param-attribute.h"
#include "rnic-port-device.h"
#include "rnic-scheduler.h"
#include "rnic-switch-device.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/log.h"
#include "ns3/nstime.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cstring>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RnicEngine");
NS_OBJECT_ENSURE_REGISTERED(RnicEngine);

namespace
{
constexpr uint32_t OUTSIDE_FIRST = 1u << 24; //!< neither a port nor a default address has it
constexpr uint32_t OUTSIDE_MAX = 1024;       //!< the address book is walked for each frame
} // namespace

TypeId RnicEngine::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RnicEngine")
            .SetParent<Object>()
            .SetGroupName("Rnic")
            .AddConstructor<RnicEngine>()
            .AddAttribute("Seed",
                          "Seed of the random streams of all ports. 0: made from the seed and run "
                          "number of RngSeedManager.",
                          UintegerValue(0), MakeUintegerAccessor(&RnicEngine::m_seedAttribute),
                          MakeUintegerChecker<uint64_t>())
            .AddAttribute("Wire",
                          "Encode every frame to bytes at every link and go on with what was "
                          "decoded. Results are the same.",
                          BooleanValue(false), MakeBooleanAccessor(&RnicEngine::m_wire),
                          MakeBooleanChecker())
            .AddAttribute("PayloadBytes",
                          "Room for payload in each frame, at least the largest path MTU. 0: no "
                          "frame carries bytes (phantom memory only).",
                          UintegerValue(4096), MakeUintegerAccessor(&RnicEngine::m_payloadBytes),
                          MakeUintegerChecker<uint32_t>(0, 65536));
    return tid;
}

RnicEngine::RnicEngine()
    : m_engine(nullptr), m_book{nullptr, 0}, m_running(false), m_dirty(false), m_building(false),
      m_opaques(nullptr)
{
    NS_LOG_FUNCTION(this);
    m_drive = RnicScheduler::MakeDrive(this);
}

RnicEngine::~RnicEngine()
{
    NS_LOG_FUNCTION(this);
}

Ptr<RnicEngine> &RnicEngine::Instance()
{
    static Ptr<RnicEngine> instance;
    return instance;
}

bool RnicEngine::Exists()
{
    return static_cast<bool>(Instance());
}

Ptr<RnicEngine> RnicEngine::Get()
{
    Ptr<RnicEngine> &instance = Instance();

    if (!instance)
    {
        CheckResolution();
        instance = CreateObject<RnicEngine>();
        Simulator::ScheduleDestroy(&RnicEngine::Destroy);
    }
    return instance;
}

void RnicEngine::Destroy()
{
    Instance()->Dispose();
    Instance() = nullptr;
}

void RnicEngine::CheckResolution()
{
    if (Time::GetResolution() == Time::PS)
    {
        return;
    }
    // Events that are already scheduled would keep their old number: too late then.
    if (Time::GetResolution() == Time::NS && Simulator::Now().IsZero() && Simulator::IsFinished())
    {
        Time::SetResolution(Time::PS);
        return;
    }
    NS_FATAL_ERROR("ns3-rnic needs picoseconds: call Time::SetResolution(Time::PS) as the first "
                   "statement of main(), before nodes are created or events are scheduled");
}

void RnicEngine::DoDispose()
{
    NS_LOG_FUNCTION(this);
    m_drive->Stop();
    for (RnicSwitchDevice *device : m_switches)
    {
        device->Flush(m_engine);
    }
    if (m_engine)
    {
        engine_destroy(m_engine);
        m_engine = nullptr;
    }
    while (m_opaques)
    {
        FreeOpaque(m_opaques);
    }
    m_ports.clear();
    m_sinks.clear();
    m_portTraces.clear();
    m_nics.clear();
    m_lives.clear();
    m_switches.clear();
    m_links.clear();
    m_dirty = false;
    Object::DoDispose();
}

// ---- time ----

uint64_t RnicEngine::Enter()
{
    if (m_running)
    {
        return engine_now_ps(m_engine);
    }
    Build();

    const auto now_ps = static_cast<uint64_t>(Simulator::Now().GetPicoSeconds());

    RunUntil(now_ps);
    m_drive->NextChanged(engine_next_ps(m_engine));
    return now_ps;
}

uint64_t RnicEngine::RunUntil(uint64_t until_ps)
{
    NS_ASSERT_MSG(!m_running, "the engine is running already");
    m_running = true;

    const uint64_t events = engine_run(GetEngine(), until_ps);

    m_running = false;
    return events;
}

uint64_t RnicEngine::NextPs() const
{
    return m_engine ? engine_next_ps(m_engine) : WIRE_NEVER;
}

void RnicEngine::Touch(uint32_t port)
{
    if (m_running)
    {
        engine_touch(m_engine, port);
        return;
    }
    m_running = true; // what can be done at once is done here, hooks included
    engine_touch(m_engine, port);
    m_running = false;
    m_drive->NextChanged(engine_next_ps(m_engine));
}

bool RnicEngine::SendOutside(uint32_t port, struct wire_frame *frame)
{
    m_running = true; // as in Touch()

    const bool sent = engine_outside_send(m_engine, port, frame);

    m_running = false;
    m_drive->NextChanged(engine_next_ps(m_engine));
    return sent;
}

void RnicEngine::StopRun()
{
    engine_stop(m_engine);
}

bool RnicEngine::IsRunning() const
{
    return m_running;
}

void RnicEngine::SetDrive(std::unique_ptr<RnicDrive> drive)
{
    m_drive->Stop();
    m_drive = std::move(drive);
    m_drive->NextChanged(NextPs());
}

void RnicEngine::DeliverEvent(uint64_t at_ps, uint32_t context, EventImpl *event)
{
    const auto now_ps = static_cast<uint64_t>(Simulator::Now().GetPicoSeconds());

    // A stage may be back-dated; what is told about it can then only come now.
    at_ps = std::max({at_ps, now_ps, engine_now_ps(m_engine)});
    Simulator::ScheduleWithContext(context, PicoSeconds(at_ps - now_ps), event);
}

// ---- building ----

struct engine *RnicEngine::GetEngine()
{
    if (!m_engine)
    {
        const struct engine_config config = {GetSeed(), m_wire, m_payloadBytes, &m_book};
        const struct engine_hooks hooks = {this,
                                           &RnicEngine::NicEvent,
                                           &OpaqueRx,
                                           &RnicEngine::OutsideRx,
                                           &RnicEngine::OpaqueFree,
                                           &RnicEngine::OpaqueCopy,
                                           &Trace,
                                           0};

        m_engine = engine_create(&config);
        NS_ABORT_MSG_UNLESS(m_engine, "ns3-rnic: out of memory");
        engine_set_hooks(m_engine, &hooks);
    }
    return m_engine;
}

uint64_t RnicEngine::GetSeed() const
{
    if (m_seedAttribute)
    {
        return m_seedAttribute;
    }
    return wire_rng_init(RngSeedManager::GetSeed(), RngSeedManager::GetRun()).state;
}

const struct wire_addr_book *RnicEngine::GetBook() const
{
    return &m_book;
}

// ---- addresses ----

uint32_t RnicEngine::GetPayloadBytes() const
{
    return m_payloadBytes;
}

void RnicEngine::SetStation(const struct wire_station &station)
{
    auto same = [&station](const struct wire_station &entry)
    {
        return entry.id == station.id;
    };
    auto found = std::find_if(m_stations.begin(), m_stations.end(), same);

    if (found != m_stations.end())
    {
        *found = station;
    }
    else
    {
        m_stations.push_back(station);
    }
    m_book = {m_stations.data(), m_stations.size()};
}

void RnicEngine::SetStationMac(uint32_t port, const uint8_t mac[6])
{
    struct wire_station station = wire_addr_station(&m_book, port);

    std::memcpy(station.mac, mac, sizeof(station.mac));
    SetStation(station);
}

void RnicEngine::SetStationGid(uint32_t port, const uint8_t gid[16])
{
    struct wire_station station = wire_addr_station(&m_book, port);

    std::memcpy(station.gid, gid, sizeof(station.gid));
    SetStation(station);
}

bool RnicEngine::IsOutside(uint32_t station)
{
    return station >= OUTSIDE_FIRST && station < WIRE_STATION_BROADCAST;
}

bool RnicEngine::IsCard(uint32_t station) const
{
    RnicPortDevice *device = GetPortDevice(station);

    return device && dynamic_cast<RnicNetDevice *>(device);
}

uint32_t RnicEngine::LearnStation(const uint8_t mac[6], const uint8_t *gid)
{
    static const uint8_t nowhere[16] = {0};
    const uint32_t byMac = wire_addr_by_mac(&m_book, mac);
    const uint32_t byGid = gid ? wire_addr_by_gid(&m_book, gid) : WIRE_STATION_NONE;
    struct wire_station station = {};

    if (byMac == WIRE_STATION_BROADCAST || (!gid && (IsCard(byMac) || IsOutside(byMac))))
    {
        return byMac;
    }
    if (IsCard(byGid) || IsCard(byMac))
    {
        return byGid == byMac ? byMac : WIRE_STATION_NONE;
    }
    if (gid && std::memcmp(gid, nowhere, sizeof(nowhere)) == 0)
    {
        return WIRE_STATION_NONE;
    }
    station.id = OUTSIDE_FIRST + m_outside;
    if (IsOutside(byGid))
    {
        station = wire_addr_station(&m_book, byGid);
        if (std::memcmp(station.mac, mac, sizeof(station.mac)) != 0)
        {
            return MoveStation(station, mac);
        }
    }
    else if (IsOutside(byMac) &&
             std::memcmp(wire_addr_station(&m_book, byMac).gid, nowhere, sizeof(nowhere)) == 0)
    {
        station.id = byMac;
    }
    else if (m_outside++ == OUTSIDE_MAX)
    {
        m_outside--;
        return WIRE_STATION_NONE;
    }
    std::memcpy(station.mac, mac, sizeof(station.mac));
    std::memcpy(station.gid, gid ? gid : nowhere, sizeof(station.gid));
    SetStation(station);
    return station.id;
}

uint32_t RnicEngine::MoveStation(struct wire_station station, const uint8_t mac[6])
{
    const struct wire_station before = station;

    if (m_outside == OUTSIDE_MAX)
    {
        return WIRE_STATION_NONE; // no room, should the MAC it leaves need a station of its own
    }
    std::memcpy(station.mac, mac, sizeof(station.mac));
    SetStation(station);
    LearnStation(before.mac, nullptr);
    return station.id;
}

void RnicEngine::Build()
{
    if (!m_dirty || m_building || m_running)
    {
        return;
    }
    m_building = true;
    m_dirty = false;
    RunUntil(static_cast<uint64_t>(Simulator::Now().GetPicoSeconds()));
    BuildNics();
    BuildLives();
    BuildSwitches();
    BuildLinks();
    m_building = false;
    UpdateTraces();
    m_drive->NextChanged(engine_next_ps(m_engine));
}

void RnicEngine::BuildNics()
{
    for (RnicNetDevice *nic : m_nics)
    {
        if (nic->IsBuilt() || !nic->GetLink())
        {
            continue;
        }
        NS_ABORT_MSG_IF(m_payloadBytes && nic->GetParams().mtu_bytes > m_payloadBytes,
                        "RnicEngine::PayloadBytes is " << m_payloadBytes
                                                       << ", less than a card's path MTU of "
                                                       << nic->GetParams().mtu_bytes);

        const uint32_t station = engine_next_port(m_engine);

        nic->Build(station, nic->GetLink()->GetRateBps(nic));

        const uint32_t port = engine_add_nic(m_engine, nic->GetDevice());

        NS_ABORT_MSG_UNLESS(port == station, "ns3-rnic: no engine port for a card");
        AddPort(nic);
    }
}

void RnicEngine::BuildLives()
{
    for (RnicLiveDevice *live : m_lives)
    {
        if (!live->IsBuilt() && live->GetLink())
        {
            NS_ABORT_MSG_IF(engine_add_outside(m_engine) != m_ports.size(),
                            "ns3-rnic: no engine port for the outside");
            AddPort(live);
        }
    }
}

void RnicEngine::BuildSwitches()
{
    uint32_t number = 0;

    for (RnicSwitchDevice *device : m_switches)
    {
        if (!device->IsBuilt() && device->HasLink())
        {
            device->Build(number);

            const uint32_t first =
                engine_add_switch(m_engine, device->GetSwitch(), device->GetNPorts());

            NS_ABORT_MSG_UNLESS(first == m_ports.size(), "ns3-rnic: no engine ports for a switch");
            for (uint32_t i = 0; i < device->GetNPorts(); i++)
            {
                AddPort(device->GetPortDevice(i));
            }
        }
        number++;
    }
}

void RnicEngine::AddPort(RnicPortDevice *device)
{
    const auto port = static_cast<uint32_t>(m_ports.size());

    m_ports.push_back(device);
    m_sinks.push_back(nullptr);
    m_portTraces.push_back(0);
    device->SetPort(port);
}

void RnicEngine::BuildLinks()
{
    const uint32_t max_frame_bytes = MaxFrameBytes();

    for (RnicLink *link : m_links)
    {
        if (link->IsBuilt())
        {
            continue;
        }

        const struct engine_link_params ab = link->GetLinkParams(0);
        const struct engine_link_params ba = link->GetLinkParams(1);
        const int result = engine_connect(m_engine, link->GetEnd(0)->GetPort(),
                                          link->GetEnd(1)->GetPort(), &ab, &ba, max_frame_bytes);

        NS_ABORT_MSG_UNLESS(result == 0, "ns3-rnic: ports " << link->GetEnd(0)->GetPort() << " and "
                                                            << link->GetEnd(1)->GetPort()
                                                            << " cannot be joined");
        link->SetBuilt();
    }
}

uint32_t RnicEngine::MaxFrameBytes() const
{
    uint64_t payload = 0;

    for (RnicNetDevice *nic : m_nics)
    {
        payload = std::max<uint64_t>({payload, nic->GetParams().mtu_bytes, nic->GetMtu()});
    }
    if (!m_lives.empty())
    {
        payload = std::max<uint64_t>(payload, RnicLiveDevice::MTU_BYTES);
    }
    return wire_frame_max_bytes(payload);
}

void RnicEngine::Register(RnicNetDevice *nic)
{
    m_nics.push_back(nic);
    m_dirty = true;
}

void RnicEngine::Register(RnicLiveDevice *live)
{
    m_lives.push_back(live);
    m_dirty = true;
}

void RnicEngine::Register(RnicSwitchDevice *device)
{
    m_switches.push_back(device);
    m_dirty = true;
}

void RnicEngine::Register(RnicLink *link)
{
    m_links.push_back(link);
    m_dirty = true;
}

void RnicEngine::Unregister(RnicNetDevice *nic)
{
    m_nics.erase(std::remove(m_nics.begin(), m_nics.end(), nic), m_nics.end());
}

void RnicEngine::Unregister(RnicLiveDevice *live)
{
    m_lives.erase(std::remove(m_lives.begin(), m_lives.end(), live), m_lives.end());
}

void RnicEngine::Unregister(RnicSwitchDevice *device)
{
    device->Flush(m_engine);
    m_switches.erase(std::remove(m_switches.begin(), m_switches.end(), device), m_switches.end());
}

void RnicEngine::Unregister(RnicLink *link)
{
    m_links.erase(std::remove(m_links.begin(), m_links.end(), link), m_links.end());
}

RnicPortDevice *RnicEngine::GetPortDevice(uint32_t port) const
{
    return port < m_ports.size() ? PeekPointer(m_ports[port]) : nullptr;
}

uint32_t RnicEngine::GetNPorts() const
{
    return static_cast<uint32_t>(m_ports.size());
}

const std::vector<RnicNetDevice *> &RnicEngine::GetNics() const
{
    return m_nics;
}

const std::vector<RnicSwitchDevice *> &RnicEngine::GetSwitches() const
{
    return m_switches;
}

// ---- hooks ----

void RnicEngine::SetSink(uint32_t port, RnicEventSink *sink)
{
    Build();
    NS_ABORT_MSG_UNLESS(port < m_sinks.size(), "RnicEngine::SetSink: no port " << port);
    m_sinks[port] = sink;
}

void RnicEngine::SetTraceObserver(uint32_t mask,
                                  std::function<void(const struct engine_trace &)> fn)
{
    m_observed = fn ? mask : 0;
    m_observer = std::move(fn);
    UpdateTraces();
}

void RnicEngine::UpdateTraces()
{
    uint32_t mask = m_observed;

    if (m_building || !m_engine)
    {
        return;
    }
    for (uint32_t port = 0; port < m_ports.size(); port++)
    {
        m_portTraces[port] = m_ports[port]->WantedTraces();
        mask |= m_portTraces[port];
    }
    engine_set_trace_mask(m_engine, mask);
}

void RnicEngine::NicEvent(void *ctx, uint32_t port, const struct rnic_event *event)
{
    auto self = static_cast<RnicEngine *>(ctx);
    auto nic = static_cast<RnicNetDevice *>(PeekPointer(self->m_ports[port]));

    if (self->m_sinks[port])
    {
        self->m_sinks[port]->OnRnicEvent(port, *event);
    }
    nic->HandleEvent(*event);
}

void RnicEngine::Trace(void *ctx, const struct engine_trace *record)
{
    auto self = static_cast<RnicEngine *>(ctx);

    if (self->m_observed & (1u << record->type))
    {
        self->m_observer(*record);
    }
    if (self->m_portTraces[record->port] & (1u << record->type))
    {
        self->m_ports[record->port]->HandleTrace(*record);
    }
}

void RnicEngine::OpaqueRx(void *ctx, uint32_t port, struct wire_frame *frame)
{
    auto self = static_cast<RnicEngine *>(ctx);

    self->m_ports[port]->HandleOpaque(frame);
}

void RnicEngine::OutsideRx(void *ctx, uint32_t port, const struct wire_frame *frame)
{
    auto self = static_cast<RnicEngine *>(ctx);

    static_cast<RnicLiveDevice *>(PeekPointer(self->m_ports[port]))->HandleOutside(*frame);
}

void RnicEngine::OpaqueFree(void *ctx, void *opaque)
{
    static_cast<RnicEngine *>(ctx)->FreeOpaque(static_cast<RnicOpaque *>(opaque));
}

void *RnicEngine::OpaqueCopy(void *ctx, const void *opaque)
{
    auto from = static_cast<const RnicOpaque *>(opaque);
    RnicOpaque *made = static_cast<RnicEngine *>(ctx)->MakeOpaque(from->packet);

    std::copy(std::begin(from->dst), std::end(from->dst), made->dst);
    std::copy(std::begin(from->src), std::end(from->src), made->src);
    made->protocol = from->protocol;
    return made;
}

RnicOpaque *RnicEngine::MakeOpaque(Ptr<const Packet> packet)
{
    auto opaque = new RnicOpaque{packet->Copy(), {0}, {0}, 0, nullptr, m_opaques};

    if (m_opaques)
    {
        m_opaques->prev = opaque;
    }
    m_opaques = opaque;
    return opaque;
}

void RnicEngine::FreeOpaque(RnicOpaque *opaque)
{
    if (opaque->prev)
    {
        opaque->prev->next = opaque->next;
    }
    else
    {
        m_opaques = opaque->next;
    }
    if (opaque->next)
    {
        opaque->next->prev = opaque->prev;
    }
    delete opaque;
}

} // namespace ns3
