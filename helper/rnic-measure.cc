/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-measure.h"

#include "rnic-link.h"
#include "rnic-switch-device.h"
#include "rnic-switch-port.h"

#include <algorithm>

namespace ns3
{

RnicMeasures::RnicMeasures(const RnicScenario &scenario, const RnicJob &job) : m_scenario(scenario)
{
    Ptr<RnicEngine> engine = RnicEngine::Get();
    for (const RnicScenarioMeasure &what : scenario.measures)
    {
        Meter meter = {};
        meter.what = &what;
        meter.all = true;
        meter.rateBps = scenario.link.rate_bps;
        if (what.where == RnicScenarioMeasure::PORT)
        {
            RnicSwitchDevice *device = engine->GetSwitches().at(what.number);
            meter.device = device->GetSwitch();
            meter.firstPort = device->GetPort(0)->GetPort();
            meter.ports = device->GetNPorts();
            meter.port = meter.firstPort + what.port;
        }
        else
        {
            uint32_t host = what.number;
            if (what.where == RnicScenarioMeasure::FLOW)
            {
                const RnicJob::Qp *qp = job.GetQpOf(what.number);
                host = qp->src;
                meter.all = false;
                meter.dst = engine->GetNics().at(qp->dst)->GetPort();
                meter.dstQpn = qp->dstQpn;
            }
            meter.port = engine->GetNics().at(host)->GetPort();
        }
        (what.kind == RnicScenarioMeasure::RATE ? m_rates : m_queues).push_back(meter);
    }
}

RnicMeasures::~RnicMeasures()
{
    if (RnicEngine::Exists())
    {
        RnicEngine::Get()->SetTraceObserver(0, nullptr);
    }
}

void RnicMeasures::Start()
{
    const uint32_t mask = (m_rates.empty() && m_queues.empty() ? 0 : 1u << ENGINE_TRACE_TX) |
                          (m_queues.empty() ? 0 : 1u << ENGINE_TRACE_RX);
    if (mask != 0)
    {
        RnicEngine::Get()->SetTraceObserver(mask, [this](const struct engine_trace &record)
                                            { OnTrace(record); });
    }
}

void RnicMeasures::OnTrace(const struct engine_trace &record)
{
    for (Meter &meter : m_rates)
    {
        if (record.type == ENGINE_TRACE_TX && record.port == meter.port)
        {
            CountFrame(meter, record);
        }
    }
    for (Meter &meter : m_queues)
    {
        if (record.port - meter.firstPort < meter.ports)
        {
            CountQueue(meter, record);
        }
    }
}

void RnicMeasures::CountFrame(Meter &meter, const struct engine_trace &record)
{
    const struct wire_frame *frame = record.frame;
    if (!meter.all && (frame->kind != WIRE_KIND_ROCE || frame->dst != meter.dst ||
                       frame->dest_qpn != meter.dstQpn))
    {
        return;
    }
    const uint64_t bytes = uint64_t(frame->frame_bytes) + WIRE_GAP_BYTES;
    const uint64_t linePs = wire_line_time_ps(bytes, meter.rateBps);
    const uint64_t from = std::max(record.time_ps, meter.what->fromPs);
    const uint64_t to = std::min(record.time_ps + linePs, meter.what->toPs);
    if (from < to && to - from == linePs)
    {
        meter.bytes += bytes;
    }
    else if (from < to)
    {
        meter.edgeBytes += static_cast<double>(bytes) * static_cast<double>(to - from) /
                           static_cast<double>(linePs);
    }
}

uint64_t RnicMeasures::QueueBytes(const Meter &meter)
{
    if (meter.what->prio >= 0)
    {
        return fabric_queue_bytes(meter.device, meter.what->port,
                                  static_cast<uint32_t>(meter.what->prio));
    }
    uint64_t bytes = 0;
    for (uint32_t prio = 0; prio < WIRE_CLASSES; prio++)
    {
        bytes += fabric_queue_bytes(meter.device, meter.what->port, prio);
    }
    return bytes;
}

/* The queue was @p bytes long since it was last looked at. */
void RnicMeasures::AddQueue(Meter &meter, uint64_t bytes, uint64_t nowPs)
{
    const uint64_t from = std::max(meter.lastPs, meter.what->fromPs);
    const uint64_t to = std::min(nowPs, meter.what->toPs);
    if (from < to)
    {
        meter.sum += Wide(bytes) * (to - from);
    }
    meter.lastPs = nowPs;
}

/* A frame that arrives has not joined its queue yet, one that leaves is no more in it. */
void RnicMeasures::CountQueue(Meter &meter, const struct engine_trace &record)
{
    const struct wire_frame *frame = record.frame;
    uint64_t bytes = QueueBytes(meter);
    if (record.type == ENGINE_TRACE_TX)
    {
        if (record.port != meter.port || frame->kind == WIRE_KIND_PFC ||
            frame->kind == WIRE_KIND_PAUSE)
        {
            return;
        }
        if (meter.what->prio < 0 || meter.what->prio == static_cast<int>(frame->prio))
        {
            bytes += frame->frame_bytes;
        }
    }
    AddQueue(meter, bytes, record.time_ps);
}

std::vector<RnicMeasured> RnicMeasures::Finish(uint64_t endPs, bool quiet)
{
    std::vector<RnicMeasured> all;
    RnicEngine::Get()->SetTraceObserver(0, nullptr);
    auto rate = m_rates.begin();
    auto queue = m_queues.begin();
    for (const RnicScenarioMeasure &what : m_scenario.measures)
    {
        const auto lengthPs = static_cast<double>(what.toPs - what.fromPs);
        RnicMeasured measured;
        measured.name = what.name;
        measured.known = quiet || endPs >= what.toPs;
        if (what.kind == RnicScenarioMeasure::RATE)
        {
            measured.value = (static_cast<double>(rate->bytes) + rate->edgeBytes) * 8e12 / lengthPs;
            ++rate;
        }
        else
        {
            AddQueue(*queue, QueueBytes(*queue), what.toPs); // nothing changed it since
            measured.value = static_cast<double>(queue->sum) / lengthPs;
            ++queue;
        }
        all.push_back(measured);
    }
    return all;
}

} // namespace ns3
