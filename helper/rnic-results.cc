/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-results.h"

#include "rnic-expect.h"
#include "rnic-scenario-units.h"
#include "rnic-switch-device.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

#ifndef RNIC_VERSION
#define RNIC_VERSION "unknown"
#endif
#ifndef RNIC_NS3_VERSION
#define RNIC_NS3_VERSION "unknown"
#endif

namespace ns3
{

namespace
{

constexpr size_t MAX_ERRORS = 20;

const char *StatusName(RnicRunEnd::Status status)
{
    switch (status)
    {
    case RnicRunEnd::COMPLETE:
        return "complete";
    case RnicRunEnd::STALLED:
        return "stalled";
    case RnicRunEnd::STOPPED:
        return "stopped";
    case RnicRunEnd::PARTIAL:
        return "partial";
    }
    return "";
}

RnicJson WithUnit(RnicJson value, const std::string &unit)
{
    RnicJson pair = RnicJson::Object();
    pair.Set("value", std::move(value));
    pair.Set("unit", unit);
    return pair;
}

std::string EnumName(const struct wire_param &entry, uint64_t index)
{
    std::string names = entry.names;
    for (; index > 0; index--)
    {
        names = names.substr(names.find(',') + 1);
    }
    return names.substr(0, names.find(','));
}

/* Every entry of a table with its effective value. */
void AddParams(RnicJson &section, const struct wire_param *table, size_t n, const void *params)
{
    for (size_t i = 0; i < n; i++)
    {
        const struct wire_param &entry = table[i];
        const double value = wire_param_get(&entry, params);
        const auto whole = static_cast<uint64_t>(value);
        char key[64];
        wire_param_key(&entry, key, sizeof key);
        RnicJson json = entry.unit == WIRE_UNIT_RATIO  ? RnicJson(value)
                        : entry.unit == WIRE_UNIT_BOOL ? RnicJson(whole != 0)
                        : entry.unit == WIRE_UNIT_ENUM ? RnicJson(EnumName(entry, whole))
                                                       : RnicJson(whole);
        section.Set(key, WithUnit(std::move(json), RnicUnitName(entry.unit)));
    }
}

void SetText(RnicJson &section, const char *key, const std::string &value)
{
    section.Set(key, WithUnit(value, "name"));
}

double PerSecond(double amount, uint64_t ps)
{
    return ps == 0 ? 0 : amount * 1e12 / static_cast<double>(ps);
}

} // namespace

const char *RnicVersion()
{
    return RNIC_VERSION;
}

RnicResults::RnicResults(const RnicScenario &scenario, const RnicJob &job, const RnicIdeal &ideal,
                         const RnicRunEnd &end)
    : m_scenario(scenario), m_job(job), m_ideal(ideal), m_end(end), m_summary(RnicJson::Object())
{
    engine_query(RnicEngine::Get()->GetEngine(), &m_counters);
    m_summary.Set("schema", 1);
    m_summary.Set("scenario", scenario.name);
    m_summary.Set("seed", scenario.run.seed);
    RnicJson &versions = m_summary.Set("versions", RnicJson::Object());
    versions.Set("rnic", RNIC_VERSION);
    versions.Set("ns3", RNIC_NS3_VERSION);
    versions.Set("compiler", __VERSION__);
    m_summary.Set("status", StatusName(end.status));
    m_summary.Set("errors", RnicJson::Array());
    Parameters();
    m_summary.Set("sim_end_ps", end.simEndPs);
    Collectives();
    Flows();
    Network();
    Measures();
    Speed();
    Verdict();
}

void RnicResults::Parameters()
{
    const RnicScenario &s = m_scenario;
    const RnicScenarioWorkload &w = s.workload;
    RnicJson &all = m_summary.Set("parameters", RnicJson::Object());
    RnicJson &topology = all.Set("topology", RnicJson::Object());
    SetText(topology, "kind", s.star ? "star" : "two-hosts");
    topology.Set("hosts", WithUnit(s.hosts, "count"));
    AddParams(topology, engine_link_param_table, engine_link_param_count, &s.link);
    if (s.star)
    {
        AddParams(all.Set("switch", RnicJson::Object()), fabric_param_table, fabric_param_count,
                  &s.fabric);
    }
    RnicJson &nic = all.Set("nic", RnicJson::Object());
    SetText(nic, "preset", s.nicPreset);
    nic.Set("wire", WithUnit(s.wire, "bool"));
    AddParams(nic, rnic_param_table, rnic_param_count, &s.nic);
    RnicJson &cc = all.Set("cc", RnicJson::Object());
    SetText(cc, "kind", s.cc->name);
    if (s.cc == &rnic_cc_dcqcn)
    {
        SetText(cc, "preset", s.ccPreset);
        AddParams(cc, rnic_dcqcn_param_table, rnic_dcqcn_param_count, &s.dcqcn);
    }
    QpParameters(all.Set("qp", RnicJson::Object()));
    RnicJson &workload = all.Set("workload", RnicJson::Object());
    SetText(workload, "kind", w.kind);
    SetText(workload, "memory", w.backed ? "backed" : "phantom");
    workload.Set("qps", WithUnit(w.qps, "count"));
    for (size_t i = 0; i < w.hostDelayPs.size(); i++)
    {
        workload.Set("host_delay." + std::to_string(i), WithUnit(w.hostDelayPs[i], "ps"));
    }
    if (w.kind == "allreduce")
    {
        SetText(workload, "algorithm", w.algorithm);
        workload.Set("bytes", WithUnit(w.bytes, "bytes"));
        workload.Set("reduce_time", WithUnit(w.reduceTimePs, "ps"));
    }
    else if (w.kind == "incast")
    {
        workload.Set("bytes", WithUnit(w.bytes, "bytes"));
        workload.Set("senders", WithUnit(w.senders, "count"));
        workload.Set("target", WithUnit(w.target, "host"));
        workload.Set("start", WithUnit(w.startPs, "ps"));
        SetText(workload, "verb", w.verb);
    }
    else
    {
        workload.Set("flows", WithUnit(w.flows.size(), "count"));
    }
    RnicJson &run = all.Set("run", RnicJson::Object());
    run.Set("seed", WithUnit(s.run.seed, "count"));
    run.Set(s.run.openEnd ? "duration" : "stop", WithUnit(s.run.stopPs, "ps"));
    run.Set("sample", WithUnit(m_end.samplePs, "ps"));
    if (!s.events.empty())
    {
        RnicJson &events = all.Set("events", RnicJson::Object());
        for (size_t i = 0; i < s.events.size(); i++)
        {
            const std::string key = std::to_string(i);
            SetText(events, (key + ".kind").c_str(), s.events[i].up ? "link-up" : "link-down");
            SetText(events, (key + ".of").c_str(), s.events[i].of);
            events.Set(key + ".at", WithUnit(s.events[i].atPs, "ps"));
        }
    }
    if (!s.measures.empty())
    {
        RnicJson &measures = all.Set("measures", RnicJson::Object());
        for (const RnicScenarioMeasure &m : s.measures)
        {
            RnicJson &json = measures.Set(m.name, RnicJson::Object());
            SetText(json, "kind", m.kind == RnicScenarioMeasure::RATE ? "rate" : "queue");
            SetText(json, "of", m.of);
            if (m.prio >= 0)
            {
                json.Set("class", WithUnit(m.prio, "count"));
            }
            json.Set("from", WithUnit(m.fromPs, "ps"));
            json.Set("to", WithUnit(m.toPs, "ps"));
        }
    }
    if (!s.ns3.empty())
    {
        RnicJson &ns3 = all.Set("ns3", RnicJson::Object());
        for (const auto &[name, value] : s.ns3)
        {
            ns3.Set(name, WithUnit(value, "ns-3"));
        }
    }
}

void RnicResults::QpParameters(RnicJson &qp) const
{
    const RnicJobQps &qps = m_job.GetGraph().qps;
    SetText(qp, "service", qps.uc ? "uc" : "rc");
    if (!qps.uc)
    {
        SetText(qp, "recovery", RnicRecoveryName(qps.recovery));
        qp.Set("window", WithUnit(qps.windowBytes, "bytes"));
        qp.Set("max_rd_atomic", WithUnit(static_cast<uint64_t>(qps.maxRdAtomic), "count"));
        qp.Set("e2e_credits", WithUnit(qps.e2eCredits, "bool"));
    }
    qp.Set("rate_limit", WithUnit(qps.rateLimitBps, "bps"));
    qp.Set("roce_v1", WithUnit(qps.roceV1, "bool"));
}

void RnicResults::Collectives()
{
    RnicJson &list = m_summary.Set("collectives", RnicJson::Array());
    const RnicJobGraph &graph = m_job.GetGraph();
    for (size_t i = 0; i < graph.collectives.size(); i++)
    {
        const RnicJobCollective &c = graph.collectives[i];
        std::vector<uint32_t> done(c.ranks, 0); /* steps each rank has sent and seen arrive */
        uint64_t startPs = WIRE_NEVER;
        uint64_t endPs = 0;
        bool complete = true;
        for (size_t t = 0; t < graph.transfers.size(); t++)
        {
            const RnicJobResult &result = m_job.GetResults()[t];
            if (graph.transfers[t].collective != static_cast<int32_t>(i))
            {
                continue;
            }
            complete = complete && result.counted && !result.failed;
            startPs = std::min(startPs, result.startPs);
            endPs = std::max(endPs, result.endPs == WIRE_NEVER ? 0 : result.endPs);
            done[graph.transfers[t].src] += result.endPs == WIRE_NEVER ? 0 : 1;
        }
        const bool verified = m_job.VerifyCollective(static_cast<uint32_t>(i));
        RnicJson &json = list.Push(RnicJson::Object());
        json.Set("name", c.name);
        json.Set("algorithm", c.algorithm);
        json.Set("ranks", c.ranks);
        json.Set("bytes", c.bytes);
        json.Set("steps", *std::min_element(done.begin(), done.end()));
        json.Set("start_ps", startPs == WIRE_NEVER ? RnicJson() : RnicJson(startPs));
        json.Set("end_ps", complete ? RnicJson(endPs) : RnicJson());
        const uint64_t timePs = complete && startPs != WIRE_NEVER ? endPs - startPs : 0;
        const double algbw = PerSecond(8.0 * static_cast<double>(c.bytes), timePs);
        json.Set("time_ps", complete ? RnicJson(timePs) : RnicJson());
        json.Set("ideal_ps", m_ideal.GraphPs(graph, static_cast<int>(i), false));
        json.Set("ideal_with_acks_ps", m_ideal.GraphPs(graph, static_cast<int>(i), true));
        json.Set("algbw_bps", complete ? RnicJson(algbw) : RnicJson());
        json.Set("busbw_bps",
                 complete ? RnicJson(algbw * 2 * (c.ranks - 1) / c.ranks) : RnicJson());
        json.Set("verified", verified);
        if (complete && graph.backed && !verified)
        {
            m_errors.push_back(c.name + " " + std::to_string(i) +
                               ": a host's result is not the exact sum");
        }
    }
}

void RnicResults::Flows()
{
    const auto &results = m_job.GetResults();
    const RnicJobGraph &graph = m_job.GetGraph();
    uint64_t completed = 0;
    uint64_t failed = 0;
    const uint64_t retransmitted = m_job.GetRetransmittedPackets();
    bool own = false; /* transfers that belong to no collective */
    for (size_t i = 0; i < results.size(); i++)
    {
        completed += results[i].counted && !results[i].failed ? 1 : 0;
        failed += results[i].failed ? 1 : 0;
        own = own || graph.transfers[i].collective < 0;
        if (results[i].failed && m_errors.size() < MAX_ERRORS)
        {
            m_errors.push_back("transfer " + std::to_string(i) + " (host " +
                               std::to_string(graph.transfers[i].src) + " -> " +
                               std::to_string(graph.transfers[i].dst) + "): " + results[i].error);
        }
    }
    const bool verified = own && m_job.VerifyTransfers(); /* of what has arrived, all */
    RnicJson &flows = m_summary.Set("flows", RnicJson::Object());
    flows.Set("count", results.size());
    flows.Set("completed", completed);
    flows.Set("failed", failed);
    flows.Set("retransmitted_packets", retransmitted);
    flows.Set("verified", verified && completed > 0);
    if (own && graph.backed && !verified)
    {
        m_errors.push_back("a transfer's bytes at its destination are not those that were sent");
    }
    if (!m_end.broken.empty())
    {
        m_errors.push_back(m_end.broken + " could not be written and is not complete");
    }
    if (m_end.status == RnicRunEnd::PARTIAL)
    {
        m_errors.push_back(std::string(m_end.broken.empty() ? "interrupted" : "stopped by that") +
                           ": these results are partial");
    }
    else if (completed + failed < results.size() &&
             !(m_scenario.run.openEnd && m_end.status == RnicRunEnd::STOPPED))
    {
        m_errors.push_back(std::string(m_end.status == RnicRunEnd::STOPPED
                                           ? "run.stop came before the end"
                                           : "nothing is left to happen") +
                           ": " + std::to_string(results.size() - completed - failed) + " of " +
                           std::to_string(results.size()) + " transfers are not over");
        for (const std::string &line : m_job.Waiting(5))
        {
            m_errors.push_back(line);
        }
    }
}

void RnicResults::Network()
{
    RnicJson &conservation = m_summary.Set("conservation", RnicJson::Object());
    uint64_t dropped = 0;
    conservation.Set("frames_sent", m_counters.frames_sent);
    conservation.Set("frames_copied", m_counters.frames_copied);
    conservation.Set("frames_delivered", m_counters.frames_delivered);
    RnicJson &drops = conservation.Set("frames_dropped", RnicJson::Object());
    for (int i = WIRE_DROP_NONE + 1; i < WIRE_DROP_COUNT; i++)
    {
        drops.Set(wire_drop_name(static_cast<enum wire_drop>(i)), m_counters.drops[i]);
        dropped += m_counters.drops[i];
    }
    conservation.Set("frames_dropped_total", dropped);
    conservation.Set("frames_in_flight", m_counters.frames_in_flight);
    if (m_counters.frames_sent + m_counters.frames_copied !=
        m_counters.frames_delivered + dropped + m_counters.frames_in_flight)
    {
        m_errors.push_back("frames are not conserved: sent and copied (by bridges) are not "
                           "delivered + dropped + in flight");
    }
    uint64_t pauses = 0;
    uint64_t refreshes = 0;
    uint64_t resumes = 0;
    uint64_t marked = 0;
    uint64_t cnps = 0;
    uint64_t heard = 0;
    uint64_t ce = 0;
    uint64_t lost = 0;
    uint64_t passages = 0;
    uint64_t control = 0;
    RnicJson switches = RnicJson::Array();
    for (const RnicSwitchDevice *device : RnicEngine::Get()->GetSwitches())
    {
        const struct fabric_counters *counters = fabric_query_counters(device->GetSwitch());
        pauses += counters->pauses;
        refreshes += counters->pause_refreshes;
        resumes += counters->resumes;
        marked += counters->ecn_marked;
        RnicJson &json = switches.Push(RnicJson::Object());
        json.Set("peak_buffer_bytes", counters->peak_buffer_bytes);
        json.Set("peak_queue_bytes", counters->peak_queue_bytes);
        json.Set("pool_bytes", fabric_query_pool_bytes(device->GetSwitch()));
    }
    for (RnicNetDevice *nic : RnicEngine::Get()->GetNics())
    {
        const struct rnic_counters *counters = rnic_query_counters(nic->GetDevice());
        cnps += counters->cnps_tx;
        heard += counters->cnps_rx;
        ce += counters->ce_rx;
        lost += counters->trace_lost;
        passages += counters->passages_lost;
        control += counters->control_lost;
    }
    RnicJson &pfc = m_summary.Set("pfc", RnicJson::Object());
    pfc.Set("pauses", pauses);
    pfc.Set("resumes", resumes);
    pfc.Set("refreshes", refreshes);
    pfc.Set("frames_sent", m_counters.pause_frames_sent);
    pfc.Set("frames_lost", m_counters.pause_frames_lost);
    m_summary.Set("ecn_marked", marked);
    m_summary.Set("ce_received", ce);
    m_summary.Set("cnps_sent", cnps);
    m_summary.Set("cnps_received", heard);
    m_summary.Set("control_lost", control);
    m_summary.Set("switches", std::move(switches));
    RnicJson &notes = m_summary.Set("notes", RnicJson::Array());
    for (const std::string &note : m_end.notes)
    {
        notes.Push(note);
    }
    if (cnps == 0 && m_scenario.cc != &rnic_cc_none)
    {
        notes.Push(std::string("congestion control ") + m_scenario.cc->name +
                   " never acted: no CNP in this run");
    }
    if (passages > 0)
    {
        notes.Push("blocks.csv lacks " + std::to_string(passages) + " passages that found no room");
    }
    if (lost > 0) /* the job lives on them */
    {
        m_errors.push_back(std::to_string(lost) + " completions, placements or CNPs found no room "
                                                  "in a card's list of what is to be told: times "
                                                  "and counts are not right");
    }
}

/* Bits a second and bytes; null when the run ended too early to tell. */
void RnicResults::Measures()
{
    RnicJson &measures = m_summary.Set("measures", RnicJson::Object());
    for (const RnicMeasured &measured : m_end.measures)
    {
        measures.Set(measured.name, measured.known ? RnicJson(measured.value) : RnicJson());
    }
}

void RnicResults::Speed()
{
    RnicJson &speed = m_summary.Set("speed", RnicJson::Object());
    speed.Set("drive", m_scenario.run.batch ? "batch" : "wake");
    speed.Set("packet_hops", m_counters.packet_hops);
    speed.Set("events", m_counters.events);
    speed.Set("setup_cpu_s", m_end.setupCpuS);
    speed.Set("cpu_s", m_end.cpuS);
    speed.Set("wall_s", m_end.wallS);
    speed.Set("packet_hops_per_cpu_s",
              m_end.cpuS > 0 ? static_cast<double>(m_counters.packet_hops) / m_end.cpuS : 0.0);
}

// ---- expects ----

void RnicResults::Judge(const RnicScenarioExpect &expect)
{
    const RnicJson *value = m_summary.Find(expect.what);
    const RnicJson *other = RnicExpectHasPath(expect) ? m_summary.Find(expect.text) : nullptr;
    RnicJson json = RnicJudge(expect, value, other);
    const bool pass = json.Find("pass")->Boolean();
    if (!m_scenario.run.judge)
    {
        json.Set("pass", RnicJson()); // the mean over seeds decides
    }
    else if (!pass)
    {
        m_errors.push_back("expect " + expect.what + (value ? "" : " (not in summary.json)") +
                           " does not hold");
    }
    const_cast<RnicJson *>(m_summary.Find("expect"))->Push(std::move(json));
}

void RnicResults::Verdict()
{
    m_summary.Set("expect", RnicJson::Array());
    for (const RnicScenarioExpect &expect : m_scenario.expects)
    {
        Judge(expect);
    }
    RnicJson errors = RnicJson::Array();
    for (const std::string &error : m_errors)
    {
        errors.Push(error);
    }
    m_summary.Set("errors", std::move(errors));
}

const RnicJson &RnicResults::GetSummary() const
{
    return m_summary;
}

bool RnicResults::IsGood() const
{
    return m_errors.empty();
}

const std::vector<std::string> &RnicResults::GetErrors() const
{
    return m_errors;
}

// ---- files ----

namespace
{

std::string Ps(uint64_t ps)
{
    return ps == WIRE_NEVER ? "" : std::to_string(ps);
}

std::string Ratio(uint64_t a, uint64_t b)
{
    char text[40];
    std::snprintf(text, sizeof text, "%.6f", static_cast<double>(a) / static_cast<double>(b));
    return text;
}

} // namespace

bool RnicResults::WriteFlows(const std::string &path) const
{
    std::ofstream out(path);
    const RnicJobGraph &graph = m_job.GetGraph();
    out << "id,src,dst,verb,bytes,start_ps,end_ps,cqe_ps,fct_ps,ideal_ps,slowdown,"
           "retransmitted_packets,cnps\n";
    for (size_t i = 0; i < graph.transfers.size(); i++)
    {
        const RnicJobTransfer &t = graph.transfers[i];
        const RnicJobResult &r = m_job.GetResults()[i];
        const bool arrived = r.startPs != WIRE_NEVER && r.endPs != WIRE_NEVER;
        const uint64_t fct = arrived ? r.endPs - r.startPs : WIRE_NEVER;
        const uint64_t ideal = m_ideal.TransferPs(t);
        out << i << ',' << t.src << ',' << t.dst << ',' << RnicJobVerbName(t.verb) << ',' << t.bytes
            << ',' << Ps(r.startPs) << ',' << Ps(r.endPs) << ',' << Ps(r.cqePs) << ',' << Ps(fct)
            << ',' << ideal << ',' << (arrived ? Ratio(fct, ideal) : "") << ','
            << r.retransmittedPackets << ',' << r.cnps << '\n';
    }
    return static_cast<bool>(out.flush());
}

bool RnicResults::WriteSteps(const std::string &path) const
{
    std::ofstream out(path);
    const RnicJobGraph &graph = m_job.GetGraph();
    out << "collective,rank,step,phase,chunk,bytes,send_start_ps,recv_end_ps\n";
    for (size_t i = 0; i < graph.transfers.size(); i++)
    {
        const RnicJobTransfer &t = graph.transfers[i];
        const RnicJobResult &r = m_job.GetResults()[i];
        if (t.collective >= 0)
        {
            const RnicJobCollective &c = graph.collectives[static_cast<size_t>(t.collective)];
            out << t.collective << ',' << t.src << ',' << t.step << ','
                << (t.step < c.gatherStep ? "reduce-scatter" : "all-gather") << ',' << t.chunk
                << ',' << t.bytes << ',' << Ps(r.startPs) << ',' << Ps(r.endPs) << '\n';
        }
    }
    if (graph.collectives.empty())
    {
        out << "# no rows: the workload has no collective\n";
    }
    return static_cast<bool>(out.flush());
}

bool RnicResults::Write(const std::string &folder, std::string *failed) const
{
    *failed = folder + "/summary.json";
    std::ofstream out(*failed);
    m_summary.Write(out);
    out << '\n';
    if (!out.flush())
    {
        return false;
    }
    *failed = folder + "/flows.csv";
    if (!WriteFlows(*failed))
    {
        return false;
    }
    *failed = folder + "/steps.csv";
    return WriteSteps(*failed);
}

// ---- terminal ----

namespace
{

void Line(std::ostream &out, const char *name, const std::string &value)
{
    char text[160];
    std::snprintf(text, sizeof text, "  %-22s %s\n", name, value.c_str());
    out << text;
}

std::string Format(const char *format, double value)
{
    char text[80];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

std::string Whole(const RnicJson *value)
{
    return value && value->IsNumber() ? Format("%.0f", value->Number()) : "-";
}

} // namespace

/* Fastest and slowest of the transfers that belong to no collective. */
void RnicResults::PrintFlows(std::ostream &out) const
{
    uint64_t least = WIRE_NEVER;
    uint64_t most = 0;
    double slowdown = 0;
    for (size_t i = 0; i < m_job.GetResults().size(); i++)
    {
        const RnicJobTransfer &t = m_job.GetGraph().transfers[i];
        const RnicJobResult &r = m_job.GetResults()[i];
        if (t.collective < 0 && r.endPs != WIRE_NEVER)
        {
            const uint64_t fct = r.endPs - r.startPs;
            least = std::min(least, fct);
            most = std::max(most, fct);
            slowdown = std::max(slowdown, static_cast<double>(fct) /
                                              static_cast<double>(m_ideal.TransferPs(t)));
        }
    }
    if (most > 0)
    {
        Line(out, "completion times",
             Format("%.3f", static_cast<double>(least) / 1e6) +
                 Format(" to %.3f us", static_cast<double>(most) / 1e6) +
                 Format(", slowdown up to %.3f", slowdown));
    }
}

void RnicResults::Print(std::ostream &out) const
{
    auto get = [this](const std::string &path)
    {
        return m_summary.Find(path);
    };
    out << m_scenario.name << ": " << get("status")->Text() << '\n';
    for (size_t i = 0; i < m_job.GetGraph().collectives.size(); i++)
    {
        const std::string c = "collectives." + std::to_string(i) + ".";
        const RnicJson *time = get(c + "time_ps");
        const double ideal = get(c + "ideal_ps")->Number();
        Line(out, (get(c + "algorithm")->Text() + " " + get(c + "name")->Text()).c_str(),
             Whole(get(c + "ranks")) + " ranks, " +
                 RnicFormatQuantity(m_job.GetGraph().collectives[i].bytes, WIRE_UNIT_BYTES) + ", " +
                 Whole(get(c + "steps")) + " steps");
        if (time->IsNumber())
        {
            Line(out, "time",
                 Format("%.3f us", time->Number() / 1e6) + Format(" (ideal %.3f us,", ideal / 1e6) +
                     Format(" x %.5f)", time->Number() / ideal));
            Line(out, "bus bandwidth", Format("%.3f Gb/s", get(c + "busbw_bps")->Number() / 1e9));
        }
        Line(out, "sums verified", get(c + "verified")->Boolean() ? "yes" : "no");
    }
    Line(out, "transfers complete",
         Whole(get("flows.completed")) + " of " + Whole(get("flows.count")) + ", " +
             Whole(get("flows.retransmitted_packets")) + " packets sent again");
    PrintFlows(out);
    Line(out, "frames",
         Whole(get("conservation.frames_sent")) + " sent, " +
             Whole(get("conservation.frames_dropped_total")) + " dropped, " +
             Whole(get("conservation.frames_in_flight")) + " in flight");
    Line(out, "PFC, ECN, CNP",
         Whole(get("pfc.pauses")) + " pauses, " + Whole(get("ecn_marked")) + " marks, " +
             Whole(get("cnps_sent")) + " CNPs");
    Line(out, "simulated", Format("%.3f us", static_cast<double>(m_end.simEndPs) / 1e6));
    Line(out, "speed",
         Format("%.2f M packet hops", get("speed.packet_hops")->Number() / 1e6) +
             Format(" in %.2f CPU-s:", m_end.cpuS) +
             Format(" %.2f M/s", get("speed.packet_hops_per_cpu_s")->Number() / 1e6));
    for (const RnicMeasured &measured : m_end.measures)
    {
        const RnicScenarioMeasure &what =
            *std::find_if(m_scenario.measures.begin(), m_scenario.measures.end(),
                          [&](const RnicScenarioMeasure &m) { return m.name == measured.name; });
        Line(out, ("measure " + measured.name).c_str(),
             !measured.known                          ? "the run ended before it"
             : what.kind == RnicScenarioMeasure::RATE ? Format("%.4f Gb/s", measured.value / 1e9)
                                                      : Format("%.3f KB", measured.value / 1e3));
    }
    if (m_scenario.run.judge)
    {
        PrintExpects(out);
    }
}

void RnicResults::PrintExpects(std::ostream &out) const
{
    size_t good = 0;
    for (size_t i = 0; i < m_scenario.expects.size(); i++)
    {
        good += m_summary.Find("expect." + std::to_string(i) + ".pass")->Boolean() ? 1 : 0;
    }
    Line(out, "expects",
         std::to_string(good) + " of " + std::to_string(m_scenario.expects.size()) + " hold");
}

} // namespace ns3
