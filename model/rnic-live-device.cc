/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-live-device.h"

#include "rnic-link.h"
#include "rnic-switch-device.h"

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/make-event.h"
#include "ns3/realtime-simulator-impl.h"
#include "ns3/string.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sstream>
#include <sys/eventfd.h>
#include <unistd.h>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RnicLiveDevice");
NS_OBJECT_ENSURE_REGISTERED(RnicLiveDevice);

namespace
{
constexpr size_t HEADER_BYTES = 14; //!< Ethernet header without tag
constexpr size_t MIN_BYTES = WIRE_MIN_FRAME_BYTES - WIRE_FCS_BYTES;
constexpr size_t BURST_FRAMES = 256;    //!< read before ns-3 is told
constexpr size_t ARRIVED_FRAMES = 4096; //!< read and not taken: beyond it the line is not read
constexpr int FULL_WAIT_MS = 1;         //!< until the reader looks again whether there is room

uint16_t EtherType(const std::vector<uint8_t> &bytes)
{
    return static_cast<uint16_t>(bytes[12] << 8 | bytes[13]);
}
} // namespace

TypeId RnicLiveDevice::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RnicLiveDevice")
            .SetParent<RnicPortDevice>()
            .SetGroupName("Rnic")
            .AddConstructor<RnicLiveDevice>()
            .AddAttribute("Line",
                          "Where the line leads: \"unix,LOCAL,PEER\" (paths of two datagram "
                          "sockets, LOCAL is made here), \"udp,ADDRESS:PORT,ADDRESS:PORT\" or "
                          "\"tap,NAME\". A datagram is an Ethernet frame without FCS.",
                          StringValue(""), MakeStringAccessor(&RnicLiveDevice::m_where),
                          MakeStringChecker());
    return tid;
}

RnicLiveDevice::RnicLiveDevice()
    : m_flushing(false), m_wake(-1), m_told(false), m_readNobody(0), m_readUnfit(0)
{
}

RnicLiveDevice::~RnicLiveDevice()
{
    if (m_engine)
    {
        m_engine->Unregister(this);
    }
}

void RnicLiveDevice::SetNode(Ptr<Node> node)
{
    RnicPortDevice::SetNode(node);
    m_engine->Register(this);
}

Ptr<Object> RnicLiveDevice::GetSwitch() const
{
    return nullptr;
}

// ---- begin and end ----

void RnicLiveDevice::CheckSurroundings() const
{
    Ptr<RnicPortDevice> peer = GetPeer();
    auto device = DynamicCast<RnicSwitchDevice>(peer ? peer->GetSwitch() : nullptr);

    NS_ABORT_MSG_UNLESS(DynamicCast<RealtimeSimulatorImpl>(Simulator::GetImplementation()),
                        "RnicLiveDevice needs real time: first in main(), GlobalValue::Bind("
                        "\"SimulatorImplementationType\", "
                        "StringValue(\"ns3::RealtimeSimulatorImpl\"))");
    NS_ABORT_MSG_UNLESS(device && device->IsLearning(),
                        "RnicLiveDevice must be connected to a switch that bridges and learns: "
                        "RnicSwitchDevice's attribute L2 true");
}

void RnicLiveDevice::Open()
{
    std::vector<std::string> words;
    std::istringstream text(m_where);
    char why[512] = "not \"unix,LOCAL,PEER\", \"udp,ADDRESS:PORT,ADDRESS:PORT\" or \"tap,NAME\"";
    int result = -1;

    for (std::string word; std::getline(text, word, ',');)
    {
        words.push_back(word);
    }
    m_line = std::make_unique<struct live_line>();
    if (words.size() == 3 && words[0] == "unix")
    {
        result =
            live_line_open_unix(m_line.get(), words[1].c_str(), words[2].c_str(), why, sizeof(why));
    }
    else if (words.size() == 3 && words[0] == "udp")
    {
        result =
            live_line_open_udp(m_line.get(), words[1].c_str(), words[2].c_str(), why, sizeof(why));
    }
    else if (words.size() == 2 && words[0] == "tap")
    {
        result = live_line_open_tap(m_line.get(), words[1].c_str(), why, sizeof(why));
    }
    NS_ABORT_MSG_IF(result != 0, "RnicLiveDevice, Line \"" << m_where << "\": " << why);
}

void RnicLiveDevice::DoInitialize()
{
    RnicPortDevice::DoInitialize();
    CheckSurroundings();
    Open();
    m_scratch.resize(LIVE_LINE_FRAME_BYTES);
    m_wake = eventfd(0, EFD_CLOEXEC);
    NS_ABORT_MSG_IF(m_wake < 0, "RnicLiveDevice: eventfd: " << std::strerror(errno));
    // A copy of the line, whose counters are the reader's own.
    m_reader = std::thread(&RnicLiveDevice::Read, this, *m_line);
}

void RnicLiveDevice::DoDispose()
{
    if (m_reader.joinable())
    {
        const uint64_t one = 1;

        NS_ABORT_MSG_IF(write(m_wake, &one, sizeof(one)) != sizeof(one), "eventfd cannot be told");
        m_reader.join();
    }
    if (m_wake >= 0)
    {
        close(m_wake);
        m_wake = -1;
    }
    if (m_line)
    {
        live_line_close(m_line.get());
    }
    if (m_engine)
    {
        m_engine->Unregister(this);
    }
    RnicPortDevice::DoDispose();
}

bool RnicLiveDevice::IsOpen() const
{
    return m_line && m_line->fd >= 0;
}

RnicLiveDevice::Counters RnicLiveDevice::GetLineCounters() const
{
    Counters counters = m_counters;

    const std::lock_guard<std::mutex> lock(m_mutex);

    if (m_line)
    {
        counters.sent = m_line->sent;
        counters.nobody = m_line->nobody + m_readNobody;
        counters.lost = m_line->lost;
        counters.refused += m_line->unfit;
    }
    counters.refused += m_readUnfit;
    return counters;
}

// ---- the reader's thread: touches nothing but its copy of the line and what the mutex guards ----

void RnicLiveDevice::Read(struct live_line line)
{
    struct pollfd fds[2] = {{m_wake, POLLIN, 0}, {line.fd, POLLIN, 0}};
    bool full = false;

    for (;;)
    {
        std::vector<Bytes> burst;

        // A negative descriptor is passed over.
        fds[1].fd = full ? -1 : line.fd;
        if (poll(fds, 2, full ? FULL_WAIT_MS : -1) < 0 && errno != EINTR)
        {
            return;
        }
        if (fds[0].revents)
        {
            return;
        }
        if (!full)
        {
            ReadBurst(&line, &burst);
        }
        // A line that tells of errors only (its TAP device is gone) is not read all the time.
        full = burst.empty() && fds[1].revents;

        const std::lock_guard<std::mutex> lock(m_mutex);

        m_readNobody = line.nobody;
        m_readUnfit = line.unfit;
        std::move(burst.begin(), burst.end(), std::back_inserter(m_arrived));
        full = full || m_arrived.size() >= ARRIVED_FRAMES;
        if (!m_arrived.empty() && !m_told)
        {
            m_told = true;
            Simulator::ScheduleWithContext(Context(), Seconds(0),
                                           MakeEvent(&RnicLiveDevice::Take, this));
        }
    }
}

void RnicLiveDevice::ReadBurst(struct live_line *line, std::vector<Bytes> *burst)
{
    Bytes bytes(LIVE_LINE_FRAME_BYTES);

    for (size_t i = 0; i < BURST_FRAMES; i++)
    {
        const size_t n = live_line_receive(line, bytes.data(), bytes.size());

        if (n == 0)
        {
            return;
        }
        burst->emplace_back(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n));
    }
}

// ---- from the line into the fabric ----

void RnicLiveDevice::Take()
{
    std::vector<Bytes> arrived;

    if (!IsOpen())
    {
        return; // disposed of meanwhile
    }
    {
        const std::lock_guard<std::mutex> lock(m_mutex);

        arrived.swap(m_arrived);
        m_told = false;
    }
    m_engine->Enter();
    for (const Bytes &bytes : arrived)
    {
        Forward(bytes);
    }
}

void RnicLiveDevice::Forward(const Bytes &bytes)
{
    struct wire_packet packet = {};
    const bool fits = bytes.size() >= HEADER_BYTES && bytes.size() <= MTU_BYTES + HEADER_BYTES + 4;

    if (!fits || EtherType(bytes) == WIRE_ETHERTYPE_MAC_CONTROL ||
        wire_addr_is_link_local(bytes.data()) || bytes[6] & 1)
    {
        m_counters.refused++;
        return;
    }

    const bool roce = wire_decode(bytes.data(), bytes.size(), 0, &packet) == WIRE_DROP_NONE;

    if (!(roce ? Learn(packet) : Learn(bytes)))
    {
        m_counters.addresses++;
        return;
    }

    struct engine *engine = m_engine->GetEngine();
    struct wire_frame *frame = engine_frame_alloc(engine);

    NS_ABORT_MSG_UNLESS(frame, "ns3-rnic: out of memory");

    const bool model = roce && MakeRoce(frame, packet, bytes);

    if (!model)
    {
        MakeOpaque(frame, bytes);
    }
    if (m_engine->SendOutside(GetPort(), frame))
    {
        (model ? m_counters.roce : m_counters.opaque)++;
        return;
    }
    m_counters.overrun++;
    engine_frame_free(engine, frame);
}

bool RnicLiveDevice::Learn(const struct wire_packet &packet)
{
    const struct wire_addr_book *book = m_engine->GetBook();
    const uint32_t source = m_engine->LearnStation(packet.eth_src, packet.ip_src);

    if (source == WIRE_STATION_NONE || m_engine->IsCard(source))
    {
        return false;
    }

    // Where an address is only its owner knows: the sender may be wrong.
    const bool known = RnicEngine::IsOutside(wire_addr_by_gid(book, packet.ip_dst)) &&
                       !m_engine->IsCard(wire_addr_by_mac(book, packet.eth_dst));

    return m_engine->LearnStation(packet.eth_dst, known ? nullptr : packet.ip_dst) !=
           WIRE_STATION_NONE;
}

bool RnicLiveDevice::Learn(const Bytes &bytes)
{
    const uint32_t source = m_engine->LearnStation(bytes.data() + 6, nullptr);

    return source != WIRE_STATION_NONE && !m_engine->IsCard(source) &&
           m_engine->LearnStation(bytes.data(), nullptr) != WIRE_STATION_NONE;
}

/** @returns false: the model's frame would not be the same one, byte by byte. */
bool RnicLiveDevice::MakeRoce(struct wire_frame *frame, const struct wire_packet &packet,
                              const Bytes &bytes)
{
    const struct wire_addr_book *book = m_engine->GetBook();

    if (packet.payload_bytes > m_engine->GetPayloadBytes() ||
        wire_frame_from_packet(frame, book, &packet, bytes.size(), true) != WIRE_DROP_NONE)
    {
        return false;
    }

    const size_t n = wire_frame_encode(frame, book, m_scratch.data(), m_scratch.size());

    return n == std::max(bytes.size(), MIN_BYTES) &&
           std::memcmp(m_scratch.data(), bytes.data(), bytes.size()) == 0;
}

void RnicLiveDevice::MakeOpaque(struct wire_frame *frame, const Bytes &bytes)
{
    const struct wire_addr_book *book = m_engine->GetBook();
    RnicOpaque *opaque = m_engine->MakeOpaque(Create<Packet>(
        bytes.data() + HEADER_BYTES, static_cast<uint32_t>(bytes.size() - HEADER_BYTES)));

    std::copy_n(bytes.begin(), 6, opaque->dst);
    std::copy_n(bytes.begin() + 6, 6, opaque->src);
    opaque->protocol = EtherType(bytes);
    FillOpaque(frame, opaque, wire_addr_by_mac(book, opaque->src),
               wire_addr_by_mac(book, opaque->dst), wire_frame_class(bytes.data(), bytes.size()));
}

// ---- from the fabric onto the line ----

void RnicLiveDevice::HandleOutside(const struct wire_frame &frame)
{
    if (!IsOpen())
    {
        return; // before the beginning or after the end
    }

    Ptr<Packet> packet = Encode(frame);
    const size_t n = std::max<size_t>(packet->GetSize(), MIN_BYTES);

    if (n > m_scratch.size())
    {
        m_counters.refused++;
        return;
    }
    std::fill_n(m_scratch.begin(), n, 0);
    packet->CopyData(m_scratch.data(), packet->GetSize());
    live_line_send(m_line.get(), m_scratch.data(), n);
    Flush();
}

void RnicLiveDevice::Flush()
{
    if (m_flushing || !m_line->waiting)
    {
        return;
    }
    m_flushing = true;
    m_engine->Deliver(m_engine->Enter() + LIVE_LINE_RETRY_NS * 1000, Context(),
                      [this]()
                      {
                          m_flushing = false;
                          if (IsOpen())
                          {
                              live_line_flush(m_line.get());
                              Flush();
                          }
                      });
}

} // namespace ns3
