/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNIC_DRIVE_LOG_H
#define RNIC_DRIVE_LOG_H

#include "rnic-job.h"
#include "rnic-scheduler.h"
#include "rnic-switch-port.h"
#include "rnic-test-star.h"
#include "rnic-workload.h"

#include "ns3/double.h"
#include "ns3/object-factory.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @ingroup rnic
 * Every callback of a star as a line "time kind what", in the order in which they come, for tests
 * that compare two runs.
 */
class RnicDriveLog
{
public:
    explicit RnicDriveLog(RnicTestStar &star) : m_star(star)
    {
    }

    /** Call @p fn in every callback of a sink; @p enter: enter the engine before, as else. */
    void SetHook(std::function<void()> fn, bool enter)
    {
        m_hook = std::move(fn);
        m_enter = enter;
    }

    /** Connect a sink to everything there is. */
    void Listen()
    {
        for (const Ptr<RnicNetDevice> &nic : m_star.m_nics)
        {
            ListenPort(nic);
            Connect(nic, "CnpTx", MakeBoundCallback(&Qp, this, std::string("CnpTx")));
            Connect(nic, "CnpRx", MakeBoundCallback(&Qp, this, std::string("CnpRx")));
            Connect(nic, "Rate", MakeBoundCallback(&Rate, this));
            Connect(nic, "Completion", MakeBoundCallback(&Card, this, std::string("Completion")));
            Connect(nic, "Placed", MakeBoundCallback(&Card, this, std::string("Placed")));
            Connect(nic, "AsyncEvent", MakeBoundCallback(&Card, this, std::string("AsyncEvent")));
            nic->GetNode()->RegisterProtocolHandler(MakeCallback(&RnicDriveLog::Packets, this),
                                                    0x88B5, nic);
        }
        if (m_star.m_switch)
        {
            Ptr<RnicSwitchDevice> device = m_star.m_switch;

            for (uint32_t i = 0; i < device->GetNPorts(); i++)
            {
                ListenPort(device->GetPort(i));
            }
            Connect(device, "QueueLength", MakeBoundCallback(&Queue, this));
            Connect(device, "EcnMark", MakeBoundCallback(&Mark, this));
            Connect(device, "Pause", MakeBoundCallback(&Pause, this));
            Connect(device, "FrameDrop", MakeBoundCallback(&Frame, this, std::string("FrameDrop")));
        }
    }

    /** Connect sinks to what arrives at two hosts only: the engine runs long in between. */
    void ListenLittle()
    {
        for (uint32_t i = 0; i < 2; i++)
        {
            Ptr<RnicNetDevice> nic = m_star.m_nics[i];

            Connect(nic, "FrameRx", MakeBoundCallback(&Frame, this, std::string("FrameRx")));
        }
    }

    /** One line, now; @p at_ps when the record itself says the time, else 0. */
    void Line(const std::string &kind, uint64_t at_ps, const std::string &text)
    {
        const auto now_ps = static_cast<uint64_t>(Simulator::Now().GetPicoSeconds());
        const bool ahead = engine_now_ps(RnicEngine::Get()->GetEngine()) > now_ps;

        m_inexact += (at_ps != 0 && at_ps != now_ps) || ahead || RnicEngine::Get()->IsRunning();
        if (m_enter)
        {
            m_inexact += RnicEngine::Get()->Enter() != now_ps;
        }
        m_kinds[kind]++;
        Note(kind, text);
    }

    /** One line, now, without a look at the engine. */
    void Note(const std::string &kind, const std::string &text)
    {
        m_lines.push_back(std::to_string(Simulator::Now().GetPicoSeconds()) + " " + kind + " " +
                          std::to_string(Simulator::GetContext()) + " " + text);
    }

    const std::vector<std::string> &GetLines() const
    {
        return m_lines;
    }

    /** @returns how often each kind came. */
    const std::map<std::string, uint64_t> &GetKinds() const
    {
        return m_kinds;
    }

    /** @returns bytes of the last frame a trace told of. */
    uint64_t GetFrameBytes() const
    {
        return m_frameBytes;
    }

    /** @returns callbacks in which Simulator::Now() was wrong, or the engine elsewhere. */
    uint64_t GetInexact() const
    {
        return m_inexact;
    }

private:
    static std::string Join(std::initializer_list<uint64_t> numbers)
    {
        std::string text;

        for (uint64_t number : numbers)
        {
            text += " " + std::to_string(number);
        }
        return text;
    }

    void Sink(const std::string &kind, uint64_t at_ps, const std::string &text)
    {
        Line(kind, at_ps, text);
        if (m_hook)
        {
            m_hook();
        }
    }

    template <typename T>
    static void Connect(Ptr<T> object, const std::string &source, const CallbackBase &sink)
    {
        NS_ABORT_MSG_UNLESS(object->TraceConnectWithoutContext(source, sink), source);
    }

    void ListenPort(Ptr<RnicPortDevice> port)
    {
        for (const char *source : {"FrameTx", "FrameRx", "FrameDrop"})
        {
            Connect(port, source, MakeBoundCallback(&Frame, this, std::string(source)));
        }
        Connect(port, "MacTx", MakeBoundCallback(&Bytes, this, std::string("MacTx")));
        Connect(port, "MacRx", MakeBoundCallback(&Bytes, this, std::string("MacRx")));
        Connect(port, "PromiscSniffer", MakeBoundCallback(&Bytes, this, std::string("Sniffer")));
        Connect(port, "MacPause", MakeBoundCallback(&MacPause, this));
    }

    static void Frame(RnicDriveLog *self, std::string kind, const RnicFrameInfo &frame)
    {
        const wire_frame &h = frame.header;

        self->m_frameBytes = h.frame_bytes;
        self->Sink(kind, 0,
                   Join({frame.port, h.frame_bytes, h.src, h.dst, h.dest_qpn, h.opcode, h.tos,
                         static_cast<uint64_t>(frame.drop)}));
    }

    static void Bytes(RnicDriveLog *self, std::string kind, Ptr<const Packet> packet)
    {
        std::vector<uint8_t> bytes(packet->GetSize());
        uint64_t sum = 0;

        packet->CopyData(bytes.data(), packet->GetSize());
        for (uint8_t byte : bytes)
        {
            sum = sum * 31 + byte;
        }
        self->Sink(kind, 0, Join({packet->GetSize(), sum}));
    }

    static void MacPause(RnicDriveLog *self, uint8_t prio, bool paused)
    {
        self->Sink("MacPause", 0, Join({prio, paused}));
    }

    static void Qp(RnicDriveLog *self, std::string kind, uint32_t qpn)
    {
        self->Sink(kind, 0, Join({qpn}));
    }

    static void Rate(RnicDriveLog *self, uint32_t qpn, uint64_t bps)
    {
        self->Sink("Rate", 0, Join({qpn, bps}));
    }

    static void Card(RnicDriveLog *self, std::string kind, const struct rnic_event &event)
    {
        self->Sink(kind, event.time_ps, Join({event.qpn, event.value}));
    }

    static void Queue(RnicDriveLog *self, uint32_t port, uint8_t prio, uint64_t was, uint64_t now)
    {
        self->Sink("QueueLength", 0, Join({port, prio, was, now}));
    }

    static void Mark(RnicDriveLog *self, uint32_t port, uint8_t prio, uint64_t bytes)
    {
        self->Sink("EcnMark", 0, Join({port, prio, bytes}));
    }

    static void Pause(RnicDriveLog *self, uint32_t port, uint8_t prio, bool paused)
    {
        self->Sink("Pause", 0, Join({port, prio, paused}));
    }

    void Packets(Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address &,
                 const Address &, NetDevice::PacketType type)
    {
        Sink("Packet", 0, Join({packet->GetSize(), static_cast<uint64_t>(type)}));
    }

    RnicTestStar &m_star;
    std::vector<std::string> m_lines;
    std::map<std::string, uint64_t> m_kinds;
    uint64_t m_inexact = 0;
    uint64_t m_frameBytes = 64;
    std::function<void()> m_hook;
    bool m_enter = true;
};

/** @ingroup rnic
 * Simulator::Now(). */
inline uint64_t NowPs()
{
    return static_cast<uint64_t>(Simulator::Now().GetPicoSeconds());
}

/** @ingroup rnic
 * What of a run is compared. */
struct RnicDriveOutcome
{
    std::vector<std::string> log;
    std::vector<std::string> results; //!< of the job, or what the program counted
    std::map<std::string, uint64_t> kinds;
    uint64_t inexact = 0;
    uint64_t ns3Events = 0;
    uint64_t endPs = 0;
    uint64_t hops = 0;
};

/** @ingroup rnic
 * One drive or the other, whatever this process begins with. */
inline void RnicDriveChoose(bool batch, TypeId inner = MapScheduler::GetTypeId())
{
    Ptr<RnicEngine> engine = RnicEngine::Get();

    if (batch)
    {
        RnicHelper::UseBatchDrive(inner);
    }
    else
    {
        engine->SetDrive(std::make_unique<RnicWakeDrive>(PeekPointer(engine)));
    }
}

/** @ingroup rnic
 * Fill in @p outcome after the run. */
inline void RnicDriveFinish(const RnicDriveLog &log, RnicDriveOutcome *outcome)
{
    struct engine_counters counters;

    engine_query(RnicEngine::Get()->GetEngine(), &counters);
    outcome->log = log.GetLines();
    outcome->kinds = log.GetKinds();
    outcome->inexact = log.GetInexact();
    outcome->ns3Events = Simulator::GetEventCount();
    outcome->endPs = NowPs();
    outcome->hops = counters.packet_hops;
    outcome->results.push_back("frames " + std::to_string(counters.frames_sent) + " " +
                               std::to_string(counters.frames_delivered) + " hops " +
                               std::to_string(counters.packet_hops));
}

/** @ingroup rnic
 * @returns number of the first line that differs, and both, or "". */
inline std::string RnicDriveDifference(const std::vector<std::string> &a,
                                       const std::vector<std::string> &b)
{
    for (size_t i = 0; i < a.size() || i < b.size(); i++)
    {
        const std::string left = i < a.size() ? a[i] : "(end)";
        const std::string right = i < b.size() ? b[i] : "(end)";

        if (left != right)
        {
            return "line " + std::to_string(i) + ": " + left + " | " + right;
        }
    }
    return "";
}

/** @ingroup rnic
 * Small buffers and early marks, and frames lost on the links with probability @p loss. */
inline void RnicDriveCongest(RnicHelper &helper, double loss)
{
    helper.SetNicAttribute("Mtu", UintegerValue(1024));
    helper.SetSwitchAttribute("Buffer", UintegerValue(3000000));
    helper.SetSwitchAttribute("EcnKmin", UintegerValue(20000));
    helper.SetSwitchAttribute("EcnKmax", UintegerValue(200000));
    helper.SetLinkAttribute("Loss", DoubleValue(loss));
    helper.SetLinkAttribute("BackLoss", DoubleValue(loss));
}

} // namespace ns3

#endif /* RNIC_DRIVE_LOG_H */
