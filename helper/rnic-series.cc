/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-series.h"

#include "rnic-switch-device.h"
#include "rnic-switch-port.h"

#include "ns3/callback.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cerrno>

namespace ns3
{

namespace
{

constexpr uint64_t FIRST_PERIOD_PS = 1000000;
constexpr size_t MAX_SAMPLES = 2048;
constexpr size_t MAX_QPS = 256;
constexpr size_t MAX_PORTS = 256;
constexpr size_t MAX_LINKS = 1024;
constexpr size_t MAX_CNPS = 1000000;

std::string QpName(const RnicJob::Qp &qp)
{
    std::string name = std::to_string(qp.src) + "->" + std::to_string(qp.dst);
    return qp.number == 0 ? name : name + "." + std::to_string(qp.number);
}

} // namespace

std::string RnicSeries::PortName(uint32_t port)
{
    RnicPortDevice *device = RnicEngine::Get()->GetPortDevice(port);
    if (auto *of = dynamic_cast<RnicSwitchPort *>(device))
    {
        const auto &switches = RnicEngine::Get()->GetSwitches();
        const RnicSwitchDevice *self = PeekPointer(DynamicCast<RnicSwitchDevice>(of->GetSwitch()));
        const auto at = std::find(switches.begin(), switches.end(), self);
        return "switch" + std::to_string(at - switches.begin()) + " port " +
               std::to_string(of->GetIndex());
    }
    const auto &nics = RnicEngine::Get()->GetNics();
    const auto at = std::find(nics.begin(), nics.end(), device);
    return "host" + std::to_string(at - nics.begin());
}

RnicSeries::RnicSeries(RnicJob &job, const std::vector<std::string> &names, uint64_t periodPs)
    : m_job(job), m_names(names), m_periodPs(periodPs > 0 ? periodPs : FIRST_PERIOD_PS),
      m_fixed(periodPs > 0)
{
    ChooseQps();
    ChooseQueues();
    ChooseLinks();
}

bool RnicSeries::Wants(const std::string &name) const
{
    return std::find(m_names.begin(), m_names.end(), name) != m_names.end();
}

void RnicSeries::ChooseQps()
{
    for (const auto &qp : m_job.GetQps())
    {
        if (Wants("rates") && m_qps.size() < MAX_QPS)
        {
            m_qps.push_back(qp.get());
        }
        if (Wants("cnps"))
        {
            m_senders[{RnicEngine::Get()->GetNics().at(qp->src)->GetPort(), qp->srcQpn}] = qp.get();
        }
    }
    if (Wants("rates") && m_job.GetQps().size() > MAX_QPS)
    {
        m_notes.push_back("rates.csv has the first " + std::to_string(MAX_QPS) + " of " +
                          std::to_string(m_job.GetQps().size()) + " queue pairs");
    }
    m_rates.SetWidth(m_qps.size());
    m_alphas.SetWidth(m_qps.size());
}

void RnicSeries::ChooseQueues()
{
    size_t ports = 0;
    if (!Wants("queues"))
    {
        return;
    }
    for (const RnicSwitchDevice *device : RnicEngine::Get()->GetSwitches())
    {
        for (uint32_t port = 0; port < device->GetNPorts(); port++)
        {
            for (uint32_t prio = 0; ports < MAX_PORTS && prio < WIRE_CLASSES; prio++)
            {
                m_queues.push_back(
                    {device->GetSwitch(), port, prio, PortName(device->GetPort(port)->GetPort())});
            }
            ports++;
        }
    }
    if (ports > MAX_PORTS)
    {
        m_notes.push_back("queues.csv has the first " + std::to_string(MAX_PORTS) + " of " +
                          std::to_string(ports) + " switch ports");
    }
    m_bytes.SetWidth(m_queues.size());
}

void RnicSeries::ChooseLinks()
{
    const size_t ports = RnicEngine::Get()->GetNPorts();
    if (!Wants("links"))
    {
        return;
    }
    m_busy.SetWidth(std::min(ports, MAX_LINKS));
    if (ports > MAX_LINKS)
    {
        m_notes.push_back("links.csv has the first " + std::to_string(MAX_LINKS) + " of " +
                          std::to_string(ports) + " ports");
    }
}

void RnicSeries::Start()
{
    Ptr<RnicEngine> engine = RnicEngine::Get();
    for (uint32_t port = 0; Wants("pauses") && port < engine->GetNPorts(); port++)
    {
        engine->GetPortDevice(port)->TraceConnectWithoutContext(
            "MacPause", MakeBoundCallback(&RnicSeries::OnPause, this, port));
    }
    OnSample(this, engine->Enter());
}

void RnicSeries::OnSample(void *ctx, uint64_t nowPs)
{
    auto *self = static_cast<RnicSeries *>(ctx);
    self->Sample(nowPs);
    // Nothing else is to come: the job is over, or stands still for ever.
    const bool idle = nowPs > 0 && RnicEngine::Get()->NextPs() == WIRE_NEVER;
    if (!self->m_job.IsDone() && !idle)
    {
        self->Arm(nowPs);
    }
}

void RnicSeries::Arm(uint64_t nowPs)
{
    const uint64_t atPs = nowPs - nowPs % m_periodPs + m_periodPs;
    engine_at(RnicEngine::Get()->GetEngine(), 0, atPs, &RnicSeries::OnSample, this);
}

void RnicSeries::Sample(uint64_t nowPs)
{
    m_times.push_back(nowPs);
    for (size_t i = 0; i < m_qps.size(); i++)
    {
        uint64_t rate = 0;
        double alpha = 0;
        struct rnic_device *device = m_job.GetVerbs(m_qps[i]->src)->GetDevice()->GetDevice();
        if (rnic_query_rate(device, m_qps[i]->srcQpn, &rate, &alpha, nowPs) != 0)
        {
            rate = 0;
            alpha = 0;
        }
        m_rates.Add(rate);
        m_alphas.Add(static_cast<float>(alpha));
    }
    for (const Queue &queue : m_queues)
    {
        m_bytes.Add(fabric_queue_bytes(queue.device, queue.port, queue.prio));
    }
    const struct engine *engine = RnicEngine::Get()->GetEngine();
    for (uint32_t port = 0; port < m_busy.GetWidth(); port++)
    {
        m_busy.Add(engine_query_busy_ps(engine, port));
    }
    if (!m_fixed && m_times.size() >= MAX_SAMPLES)
    {
        Thin();
    }
}

/* Keep the samples at whole multiples of twice the period. */
void RnicSeries::Thin()
{
    m_periodPs *= 2;
    std::vector<size_t> keep;
    for (size_t i = 0; i < m_times.size(); i++)
    {
        if (m_times[i] % m_periodPs == 0)
        {
            keep.push_back(i);
        }
    }
    for (size_t i = 0; i < keep.size(); i++)
    {
        m_times[i] = m_times[keep[i]];
    }
    m_times.resize(keep.size());
    m_rates.Keep(keep);
    m_alphas.Keep(keep);
    m_bytes.Keep(keep);
    m_busy.Keep(keep);
}

void RnicSeries::OnPause(RnicSeries *self, uint32_t port, uint8_t prio, bool paused)
{
    self->Paused(port, prio, paused);
}

void RnicSeries::Paused(uint32_t port, uint8_t prio, bool paused)
{
    const auto nowPs = static_cast<uint64_t>(Simulator::Now().GetPicoSeconds());
    if (paused)
    {
        m_pauses.push_back({port, prio, nowPs, WIRE_NEVER});
        return;
    }
    for (auto pause = m_pauses.rbegin(); pause != m_pauses.rend(); ++pause)
    {
        if (pause->port == port && pause->prio == prio && pause->endPs == WIRE_NEVER)
        {
            pause->endPs = nowPs;
            return;
        }
    }
}

void RnicSeries::Record(uint32_t port, const struct rnic_event &event)
{
    if (event.type != RNIC_EVENT_CNP_RX || m_cnps.size() > MAX_CNPS)
    {
        return;
    }
    if (m_cnps.size() == MAX_CNPS)
    {
        m_notes.push_back("cnps.csv has the first " + std::to_string(MAX_CNPS) + " CNPs");
    }
    const auto sender = m_senders.find({port, event.qpn});
    if (sender != m_senders.end())
    {
        m_cnps.push_back({event.time_ps, sender->second, event.value});
    }
}

const std::vector<std::string> &RnicSeries::GetNotes() const
{
    return m_notes;
}

uint64_t RnicSeries::GetPeriodPs() const
{
    return m_periodPs;
}

/* A line where something changed, and one at the end. */
bool RnicSeries::WriteRates(const std::string &path) const
{
    std::ofstream out(path);
    out << "time_ps,qp,rate_bps,alpha\n";
    for (size_t t = 0; t < m_times.size(); t++)
    {
        for (size_t i = 0; i < m_qps.size(); i++)
        {
            const bool same = t > 0 && t + 1 < m_times.size() &&
                              m_rates.At(t, i) == m_rates.At(t - 1, i) &&
                              m_alphas.At(t, i) == m_alphas.At(t - 1, i);
            if (!same)
            {
                out << m_times[t] << ',' << QpName(*m_qps[i]) << ',' << m_rates.At(t, i) << ','
                    << m_alphas.At(t, i) << '\n';
            }
        }
    }
    return static_cast<bool>(out.flush());
}

bool RnicSeries::WriteQueues(const std::string &path) const
{
    std::ofstream out(path);
    bool any = false;
    out << "time_ps,port,class,queue_bytes\n";
    for (size_t i = 0; i < m_queues.size(); i++)
    {
        bool used = false;
        for (size_t t = 0; !used && t < m_times.size(); t++)
        {
            used = m_bytes.At(t, i) > 0;
        }
        for (size_t t = 0; used && t < m_times.size(); t++)
        {
            const uint64_t bytes = m_bytes.At(t, i);
            if (t == 0 || t + 1 == m_times.size() || bytes != m_bytes.At(t - 1, i))
            {
                out << m_times[t] << ',' << m_queues[i].name << ',' << m_queues[i].prio << ','
                    << bytes << '\n';
                any = true;
            }
        }
    }
    if (!any)
    {
        out << "# no rows: "
            << (m_queues.empty() ? "there is no switch"
                                 : "every queue was empty whenever it was looked at")
            << '\n';
    }
    return static_cast<bool>(out.flush());
}

bool RnicSeries::WritePauses(const std::string &path, uint64_t endPs) const
{
    std::ofstream out(path);
    out << "start_ps,end_ps,port,class\n";
    for (const Pause &pause : m_pauses)
    {
        out << pause.startPs << ',' << std::min(pause.endPs, std::max(endPs, pause.startPs)) << ','
            << PortName(pause.port) << ',' << static_cast<unsigned>(pause.prio) << '\n';
    }
    if (m_pauses.empty())
    {
        out << "# no rows: no PFC in this run";
        for (const RnicSwitchDevice *device : RnicEngine::Get()->GetSwitches())
        {
            const struct fabric_counters *counters = fabric_query_counters(device->GetSwitch());
            const struct fabric_params &params = device->GetParams();
            out << "; peak queue " << counters->peak_queue_bytes << " bytes, peak buffer "
                << counters->peak_buffer_bytes << " of " << params.buffer_bytes;
            if (params.lossless)
            {
                // The pool was never fuller than the buffer.
                const uint64_t pool = fabric_query_pool_bytes(device->GetSwitch());
                const uint64_t unused = pool - std::min(pool, counters->peak_buffer_bytes);
                out << ", a port may hold at least "
                    << static_cast<uint64_t>(params.alpha * static_cast<double>(unused))
                    << " before it pauses";
            }
            else
            {
                out << ", and switch.lossless is false";
            }
        }
        out << '\n';
    }
    return static_cast<bool>(out.flush());
}

bool RnicSeries::WriteCnps(const std::string &path) const
{
    std::ofstream out(path);
    out << "time_ps,qp,rate_bps\n";
    for (size_t i = 0; i < m_cnps.size() && i < MAX_CNPS; i++)
    {
        out << m_cnps[i].timePs << ',' << QpName(*m_cnps[i].qp) << ',' << m_cnps[i].rateBps << '\n';
    }
    if (m_cnps.empty())
    {
        out << "# no rows: no CNP in this run\n";
    }
    return static_cast<bool>(out.flush());
}

/* Share of the time since the sample before in which the line was busy; where it changed. */
bool RnicSeries::WriteLinks(const std::string &path) const
{
    std::ofstream out(path);
    out << "time_ps,port,busy_ratio\n";
    for (uint32_t port = 0; port < m_busy.GetWidth(); port++)
    {
        const std::string name = PortName(port);
        double before = -1;
        for (size_t t = 1; t < m_times.size(); t++)
        {
            const double share = static_cast<double>(m_busy.At(t, port) - m_busy.At(t - 1, port)) /
                                 static_cast<double>(m_times[t] - m_times[t - 1]);
            if (share != before || t + 1 == m_times.size())
            {
                out << m_times[t] << ',' << name << ',' << share << '\n';
            }
            before = share;
        }
    }
    if (m_times.size() < 2)
    {
        out << "# no rows: the run was shorter than one sample\n";
    }
    return static_cast<bool>(out.flush());
}

bool RnicSeries::Write(const std::string &folder, uint64_t endPs, std::string *failed) const
{
    auto write = [&](const std::string &name, auto &&one)
    {
        const std::string path = folder + "/" + name + ".csv";
        if (Wants(name) && !one(path))
        {
            *failed = path;
            return false;
        }
        return true;
    };
    return write("rates", [this](const std::string &path) { return WriteRates(path); }) &&
           write("queues", [this](const std::string &path) { return WriteQueues(path); }) &&
           write("pauses", [&](const std::string &path) { return WritePauses(path, endPs); }) &&
           write("cnps", [this](const std::string &path) { return WriteCnps(path); }) &&
           write("links", [this](const std::string &path) { return WriteLinks(path); });
}

// ---- blocks.csv ----

RnicBlockTrace::RnicBlockTrace(const std::string &path) : m_out(path)
{
    m_out << "port,block,qpn,psn,wqe,opcode,in_ps,out_ps,wait_ps\n";
}

void RnicBlockTrace::Record(uint32_t port, const struct rnic_event &event)
{
    if (event.type != RNIC_EVENT_PASSAGE || !m_out)
    {
        return;
    }
    m_out << RnicSeries::PortName(port) << ','
          << rnic_block_name(static_cast<enum rnic_block>(event.block)) << ',' << event.qpn << ','
          << event.psn.v << ',' << event.wqe << ',' << event.opcode << ',' << event.in_ps << ','
          << event.time_ps << ',' << event.wait_ps << '\n';
    if (!m_out)
    {
        m_error = errno;
    }
}

bool RnicBlockTrace::IsBroken() const
{
    return !m_out;
}

int RnicBlockTrace::GetError() const
{
    return m_error;
}

bool RnicBlockTrace::Close()
{
    const bool good = static_cast<bool>(m_out);
    const bool flushed = static_cast<bool>(m_out.flush());
    if (good && !flushed)
    {
        m_error = errno;
    }
    return flushed;
}

} // namespace ns3
