/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-scenario.h"

#include "rnic-scenario-parts.h"
#include "rnic-scenario-toml.h"
#include "rnic-scenario-units.h"

#include <algorithm>
#include <iterator>
#include <memory>

namespace ns3
{

namespace
{

constexpr uint64_t MAX_BYTES = uint64_t(1) << 50;
constexpr uint64_t MAX_PS = uint64_t(1) << 53;
constexpr uint64_t MAX_HOSTS = 65535; /* ports of one switch are 16 bits wide */

const std::vector<std::string> g_verbs = {"write", "write_imm", "send",        "send_imm",
                                          "read",  "fetch_add", "compare_swap"};

const std::vector<std::string> g_series = {"rates", "queues", "pauses", "cnps", "links"};

/* One array of values as times, one for each host. */
std::vector<uint64_t> ReadHostDelays(const RnicTomlValue &value, uint32_t hosts)
{
    const std::string expect = "an array with one time for each host, such as [\"0us\", \"50us\"]";
    std::vector<uint64_t> delays;
    for (const RnicTomlValue &item : value.Array(expect))
    {
        delays.push_back(item.Quantity(WIRE_UNIT_TIME, 0, MAX_PS));
    }
    if (delays.size() != hosts)
    {
        value.Fail("has " + std::to_string(delays.size()) + " times for " + std::to_string(hosts) +
                   " hosts; write one for each");
    }
    return delays;
}

class Reader
{
public:
    Reader(const std::string &file, const std::vector<std::string> &sets) : m_document(file, sets)
    {
        m_s.file = file;
        size_t slash = file.find_last_of('/');
        m_s.name = slash == std::string::npos ? file : file.substr(slash + 1);
        if (m_s.name.size() > 5 && m_s.name.substr(m_s.name.size() - 5) == ".toml")
        {
            m_s.name.resize(m_s.name.size() - 5);
        }
    }

    RnicScenario Read();
    /** @returns every key of this scenario with its section, but for those of array elements. */
    std::vector<std::string> Keys();

private:
    toml::table *Table(const std::string &name);
    void Topology();
    void Switch();
    void Nic();
    void Cc();
    void Qp();
    void Workload();
    void WorkloadKeys(RnicTomlSection &section);
    void CheckWorkload();
    void Flow(const RnicTomlValue &value, size_t count);
    void Run();
    void Events();
    void Measures();
    void Expects();
    void Ns3();
    void CheckBuffer();

    RnicTomlDocument m_document;
    RnicScenario m_s;
};

toml::table *Reader::Table(const std::string &name)
{
    toml::node *node = m_document.Root().get(name);
    return node == nullptr ? nullptr : &RnicTomlValue(m_document, name, *node).Table();
}

RnicScenario Reader::Read()
{
    RnicTomlSection top(m_document, "", &m_document.Root());
    for (const char *name : {"topology", "switch", "nic", "cc", "qp", "workload", "run", "ns3"})
    {
        top.Key(name, [](const RnicTomlValue &value) { value.Table(); });
    }
    top.Key("event", [](const RnicTomlValue &value) { value.Array("[[event]] tables"); });
    top.Key("measure", [](const RnicTomlValue &value) { value.Array("[[measure]] tables"); });
    top.Key("expect", [](const RnicTomlValue &value) { value.Array("[[expect]] tables"); });
    top.Read(nullptr);
    Topology();
    Switch();
    Nic();
    Cc();
    Qp();
    Workload();
    CheckWorkload();
    RnicCheckQp(m_s);
    Run();
    Events();
    Measures();
    Expects();
    Ns3();
    CheckBuffer();
    return std::move(m_s);
}

std::vector<std::string> Reader::Keys()
{
    std::vector<std::string> keys;
    m_document.Declare(&keys);
    for (auto section : {&Reader::Topology, &Reader::Switch, &Reader::Nic, &Reader::Cc, &Reader::Qp,
                         &Reader::Workload, &Reader::Run})
    {
        try
        {
            (this->*section)();
        }
        catch (const RnicScenarioError &)
        {
            // Reading it in earnest will say so.
        }
    }
    return keys;
}

void Reader::Topology()
{
    wire_param_defaults(engine_link_param_table, engine_link_param_count, &m_s.link);
    RnicTomlSection section(m_document, "topology", Table("topology"));
    bool hosts = false;
    section.Key("kind",
                [&](const RnicTomlValue &value) {
                    m_s.star = value.OneOf({"star", "two-hosts"}) == 0;
                });
    section.Key("hosts",
                [&](const RnicTomlValue &value)
                {
                    m_s.hosts = static_cast<uint32_t>(value.Whole(2, m_s.star ? MAX_HOSTS : 2));
                    hosts = true;
                });
    section.Params(engine_link_param_table, engine_link_param_count, &m_s.link);
    section.Read(&m_s.places);
    if (m_s.star && !hosts)
    {
        throw m_s.Error("topology.hosts", "is missing; write how many hosts the star has, "
                                          "such as hosts = 4");
    }
}

void Reader::Switch()
{
    wire_param_defaults(fabric_param_table, fabric_param_count, &m_s.fabric);
    RnicTomlSection section(m_document, "switch", Table("switch"));
    section.Params(fabric_param_table, fabric_param_count, &m_s.fabric);
    section.Read(&m_s.places);
    if (m_s.fabric.ecn_kmin_bytes > m_s.fabric.ecn_kmax_bytes)
    {
        throw m_s.Error("switch.ecn_kmin",
                        "is above ecn_kmax (" +
                            RnicFormatQuantity(m_s.fabric.ecn_kmax_bytes, WIRE_UNIT_BYTES) +
                            "); write at most that");
    }
}

void Reader::Nic()
{
    m_s.nic = rnic_params_default();
    RnicTomlSection section(m_document, "nic", Table("nic"));
    section.Key("preset",
                [&](const RnicTomlValue &value)
                {
                    const std::vector<std::string> names = {"ideal", "default"};
                    size_t i = value.OneOf(names);
                    m_s.nic = i == 0 ? rnic_params_ideal() : rnic_params_default();
                    m_s.nicPreset = names[i];
                });
    section.Key("wire", [&](const RnicTomlValue &value) { m_s.wire = value.Bool(); });
    section.Params(rnic_param_table, rnic_param_count, &m_s.nic);
    section.Read(&m_s.places);
    uint64_t mtu = m_s.nic.mtu_bytes;
    if (mtu != 256 && mtu != 512 && mtu != 1024 && mtu != 2048 && mtu != 4096)
    {
        throw m_s.Error("nic.mtu", std::to_string(mtu) +
                                       " is no path MTU; write 256, 512, 1024, 2048 or 4096");
    }
    if ((m_s.nic.page_bytes & (m_s.nic.page_bytes - 1)) != 0)
    {
        throw m_s.Error("nic.page", std::to_string(m_s.nic.page_bytes) +
                                        " is no power of two; write one, such as \"2MiB\"");
    }
}

void Reader::Cc()
{
    std::vector<std::string> kinds, presets;
    for (const rnic_cc_ops *const *cc = rnic_cc_all; *cc != nullptr; cc++)
    {
        kinds.push_back((*cc)->name);
    }
    for (const rnic_dcqcn_preset *p = rnic_dcqcn_presets; p->name != nullptr; p++)
    {
        presets.push_back(p->name);
    }
    m_s.cc = rnic_cc_find(RNIC_CC_DEFAULT);
    m_s.ccPreset = presets[0];
    m_s.dcqcn = rnic_dcqcn_presets[0].params;
    RnicTomlSection section(m_document, "cc", Table("cc"));
    section.Key("kind", [&](const RnicTomlValue &value)
                { m_s.cc = rnic_cc_find(kinds[value.OneOf(kinds)].c_str()); });
    section.Key("preset",
                [&](const RnicTomlValue &value)
                {
                    size_t i = value.OneOf(presets);
                    m_s.dcqcn = rnic_dcqcn_presets[i].params;
                    m_s.ccPreset = presets[i];
                    if (m_s.places.count("nic.cnp_interval") == 0)
                    {
                        m_s.nic.cnp_interval_ps = rnic_dcqcn_presets[i].cnp_interval_ps;
                    }
                });
    section.Params(rnic_dcqcn_param_table, rnic_dcqcn_param_count, &m_s.dcqcn);
    section.Read(&m_s.places);
}

void Reader::Qp()
{
    RnicReadQp(m_document, Table("qp"), m_s);
}

/* Keys of the kind in force; those of the other kinds are refused by name. */
void Reader::WorkloadKeys(RnicTomlSection &section)
{
    RnicScenarioWorkload &w = m_s.workload;
    const uint64_t last = m_s.hosts - 1;
    section.Key("memory",
                [&](const RnicTomlValue &value) {
                    w.backed = value.OneOf({"backed", "phantom"}) == 0;
                });
    section.Key("host_delay", [&](const RnicTomlValue &value)
                { w.hostDelayPs = ReadHostDelays(value, m_s.hosts); });
    section.Key("qps", [&](const RnicTomlValue &value)
                { w.qps = static_cast<uint32_t>(value.Whole(1, 1024)); });
    if (w.kind == "allreduce")
    {
        section.Foreign({"senders", "target", "verb", "start"}, "workload kind \"incast\"");
        section.Foreign({"flow"}, "workload kind \"flows\"");
        section.Key("algorithm", [&](const RnicTomlValue &value) { (void)value.OneOf({"ring"}); });
        section.Key("reduce_time", [&](const RnicTomlValue &value)
                    { w.reduceTimePs = value.Quantity(WIRE_UNIT_TIME, 0, MAX_PS); });
        section.Key("bytes",
                    [&](const RnicTomlValue &value)
                    {
                        w.bytes = value.Quantity(WIRE_UNIT_BYTES, 0, MAX_BYTES);
                        if (w.bytes % 4 != 0)
                        {
                            value.Fail(
                                std::to_string(w.bytes) +
                                " bytes are no whole number of float32; write a multiple of 4");
                        }
                    });
        return;
    }
    section.Foreign({"algorithm", "reduce_time"}, "workload kind \"allreduce\"");
    if (w.kind == "flows")
    {
        section.Foreign({"bytes", "senders", "target", "verb", "start"},
                        "workload kind \"incast\" (or to one [[workload.flow]])");
        section.Key("flow",
                    [&](const RnicTomlValue &value)
                    {
                        auto list = value.Array("[[workload.flow]] tables");
                        for (const RnicTomlValue &flow : list)
                        {
                            Flow(flow, list.size());
                        }
                    });
        return;
    }
    section.Foreign({"flow"}, "workload kind \"flows\"");
    w.senders = static_cast<uint32_t>(last);
    section.Key("senders", [&, last](const RnicTomlValue &value)
                { w.senders = static_cast<uint32_t>(value.Whole(1, last)); });
    section.Key("target", [&, last](const RnicTomlValue &value)
                { w.target = static_cast<uint32_t>(value.Whole(0, last)); });
    section.Key("bytes", [&](const RnicTomlValue &value)
                { w.bytes = value.Quantity(WIRE_UNIT_BYTES, 0, MAX_BYTES); });
    section.Key("verb",
                [&](const RnicTomlValue &value) { w.verb = g_verbs[value.OneOf(g_verbs)]; });
    section.Key("start", [&](const RnicTomlValue &value)
                { w.startPs = value.Quantity(WIRE_UNIT_TIME, 0, MAX_PS); });
}

void Reader::Workload()
{
    const std::vector<std::string> kinds = {"allreduce", "incast", "flows"};
    toml::table *table = Table("workload");
    if (table == nullptr || !table->contains("kind"))
    {
        if (table != nullptr)
        {
            m_s.places["workload"] = m_document.Place("workload", table->source());
        }
        throw m_s.Error("workload.kind", "is missing; write a [workload] with kind = one of " +
                                             RnicJoinNames(kinds));
    }
    RnicTomlValue kind(m_document, "workload.kind", *table->get("kind"));
    m_s.workload.kind = kinds[kind.OneOf(kinds)];
    RnicTomlSection section(m_document, "workload", table);
    section.Key("kind", [](const RnicTomlValue &) {});
    WorkloadKeys(section);
    section.Read(&m_s.places);
}

void Reader::CheckWorkload()
{
    const RnicScenarioWorkload &w = m_s.workload;
    if (w.kind != "flows" && m_s.places.count("workload.bytes") == 0)
    {
        throw m_s.Error("workload.bytes", "is missing; write a size, such as bytes = \"64MiB\"");
    }
    if (w.kind == "flows" && w.flows.empty())
    {
        throw m_s.Error("workload.flow",
                        "is missing; write at least one [[workload.flow]] with src, dst, bytes");
    }
}

void Reader::Flow(const RnicTomlValue &value, size_t count)
{
    RnicScenarioFlow flow;
    RnicTomlSection section(m_document, value.Path(), &value.Table());
    const uint64_t last = m_s.hosts - 1;
    section.Key("src", [&](const RnicTomlValue &v)
                { flow.src = static_cast<uint32_t>(v.Whole(0, last)); });
    section.Key("dst",
                [&](const RnicTomlValue &v)
                {
                    flow.dst = static_cast<uint32_t>(v.Whole(0, last));
                    if (flow.dst == flow.src && section.Has("src"))
                    {
                        v.Fail("is the same host as src; write another one");
                    }
                });
    section.Key("bytes", [&](const RnicTomlValue &v)
                { flow.bytes = v.Quantity(WIRE_UNIT_BYTES, 0, MAX_BYTES); });
    section.Key("start", [&](const RnicTomlValue &v)
                { flow.startPs = v.Quantity(WIRE_UNIT_TIME, 0, MAX_PS); });
    section.Key("verb", [&](const RnicTomlValue &v) { flow.verb = g_verbs[v.OneOf(g_verbs)]; });
    section.Key("after",
                [&](const RnicTomlValue &v)
                {
                    for (const RnicTomlValue &item :
                         v.Array("an array of flow numbers, such as [0, 1]"))
                    {
                        flow.after.push_back(static_cast<uint32_t>(item.Whole(0, count - 1)));
                    }
                });
    section.Read(&m_s.places);
    for (const char *name : {"src", "dst", "bytes"})
    {
        if (!section.Has(name))
        {
            throw m_s.Error(value.Path() + "." + name,
                            "is missing; each [[workload.flow]] needs src, dst and bytes");
        }
    }
    m_s.workload.flows.push_back(flow);
}

void Reader::Run()
{
    RnicTomlSection section(m_document, "run", Table("run"));
    RnicScenarioRun &run = m_s.run;
    section.Key("seed", [&](const RnicTomlValue &value) { run.seed = value.Whole(1, MAX_PS); });
    section.Key("stop", [&](const RnicTomlValue &value)
                { run.stopPs = value.Quantity(WIRE_UNIT_TIME, 1, MAX_PS); });
    section.Key("duration",
                [&](const RnicTomlValue &value)
                {
                    run.stopPs = value.Quantity(WIRE_UNIT_TIME, 1, MAX_PS);
                    run.openEnd = true;
                    if (section.Has("stop"))
                    {
                        value.Fail("and stop exclude each other; write stop for a limit by which "
                                   "all must be over, duration for when the run ends");
                    }
                });
    section.Key("series",
                [&](const RnicTomlValue &value)
                {
                    run.series.clear();
                    for (const RnicTomlValue &item : value.Array("an array of names, such as "
                                                                 "[\"rates\", \"links\"]"))
                    {
                        run.series.push_back(g_series[item.OneOf(g_series)]);
                    }
                });
    section.Key("pcap", [&](const RnicTomlValue &value) { run.pcap = value.Bool(); });
    section.Key("trace", [&](const RnicTomlValue &value) { run.trace = value.Bool(); });
    section.Key("drive",
                [&](const RnicTomlValue &value) {
                    run.batch = value.OneOf({"batch", "wake"}) == 0;
                });
    section.Key("sample", [&](const RnicTomlValue &value)
                { run.samplePs = value.Quantity(WIRE_UNIT_TIME, 1000, MAX_PS); });
    section.Key("suppress_placement",
                [&](const RnicTomlValue &value)
                {
                    run.suppressPlacement = static_cast<int64_t>(value.Whole(0, UINT32_MAX));
                    if (!m_s.workload.backed)
                    {
                        value.Fail("needs bytes in memory; write workload.memory = \"backed\"");
                    }
                });
    section.Read(&m_s.places);
}

void Reader::Events()
{
    toml::node *node = m_document.Root().get("event");
    if (node == nullptr)
    {
        return;
    }
    for (const RnicTomlValue &value :
         RnicTomlValue(m_document, "event", *node).Array("[[event]] tables"))
    {
        RnicReadEvent(m_document, value, m_s);
    }
}

void Reader::Measures()
{
    toml::node *node = m_document.Root().get("measure");
    if (node == nullptr)
    {
        return;
    }
    for (const RnicTomlValue &value :
         RnicTomlValue(m_document, "measure", *node).Array("[[measure]] tables"))
    {
        RnicReadMeasure(m_document, value, m_s);
    }
}

void Reader::Expects()
{
    toml::node *node = m_document.Root().get("expect");
    if (node == nullptr)
    {
        return;
    }
    for (const RnicTomlValue &value :
         RnicTomlValue(m_document, "expect", *node).Array("[[expect]] tables"))
    {
        RnicReadExpect(m_document, value, m_s);
    }
}

void Reader::Ns3()
{
    toml::table *table = Table("ns3");
    if (table == nullptr)
    {
        return;
    }
    std::vector<std::pair<toml::source_position, std::string>> order;
    for (auto &&[key, node] : *table)
    {
        order.emplace_back(key.source().begin, std::string(key.str()));
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto &a, const auto &b) { return a.first < b.first; });
    for (const auto &[position, name] : order)
    {
        RnicTomlValue value(m_document, "ns3." + name, *table->get(name));
        m_s.places["ns3." + name] = value.Place();
        m_s.ns3.emplace_back(name, value.Scalar());
    }
}

/* The switch itself says whether its buffer holds what must be set aside. */
void Reader::CheckBuffer()
{
    if (!m_s.star)
    {
        return;
    }
    std::unique_ptr<fabric_switch, void (*)(fabric_switch *)> sw(
        fabric_create(&m_s.fabric, m_s.hosts, m_s.run.seed, 0), fabric_destroy);
    if (!sw)
    {
        throw m_s.Error("switch", "cannot be made; write fewer hosts or smaller values");
    }
    for (uint32_t port = 0; port < m_s.hosts; port++)
    {
        fabric_port_config config = {};
        config.station = m_s.hosts + port;
        config.peer_station = port;
        config.rate_bps = m_s.link.rate_bps;
        config.delay_ps = m_s.link.delay_ps;
        config.peer_reaction_ps = m_s.link.pause_reaction_ps;
        config.max_frame_bytes = RnicScenarioMaxFrameBytes(m_s);
        fabric_port_set(sw.get(), port, &config);
    }
    char why[256] = "";
    if (fabric_start(sw.get(), why, sizeof why) != 0)
    {
        throw m_s.Error("switch.buffer", std::string(why) +
                                             "; write a larger buffer, or fewer hosts, a shorter "
                                             "delay, a smaller headroom");
    }
}

} // namespace

namespace
{

bool IsShort(const std::string &set)
{
    static const std::vector<std::string> sections = {"topology", "switch",   "nic",   "cc",
                                                      "qp",       "workload", "run",   "ns3",
                                                      "event",    "measure",  "expect"};
    const std::string key = set.substr(0, set.find('='));
    return set.find('=') != std::string::npos && !key.empty() &&
           key.find('.') == std::string::npos &&
           std::find(sections.begin(), sections.end(), key) == sections.end();
}

/* The key whose last part is @p word. */
std::string WholeKey(const std::string &word, const std::vector<std::string> &keys)
{
    std::vector<std::string> found;
    std::vector<std::string> words;
    for (const std::string &key : keys)
    {
        words.push_back(key.substr(key.rfind('.') + 1));
        if (words.back() == word)
        {
            found.push_back(key);
        }
    }
    if (found.size() == 1)
    {
        return found[0];
    }
    if (found.size() > 1)
    {
        throw RnicScenarioError("--set " + word + ": stands for more than one key; write one of " +
                                RnicJoinNames(found));
    }
    const std::string near = RnicNearestName(word, words);
    throw RnicScenarioError(
        "--set " + word + ": unknown key; " +
        (near.empty() ? "write --set section.key=value" : "did you mean \"" + near + "\"?"));
}

} // namespace

std::vector<std::string> RnicWholeSets(const std::string &file,
                                       const std::vector<std::string> &sets)
{
    std::vector<std::string> whole;
    std::copy_if(sets.begin(), sets.end(), std::back_inserter(whole),
                 [](const std::string &set) { return !IsShort(set); });
    if (whole.size() == sets.size())
    {
        return whole;
    }
    const std::vector<std::string> keys = Reader(file, whole).Keys();
    whole.clear();
    for (const std::string &set : sets)
    {
        whole.push_back(!IsShort(set) ? set
                                      : WholeKey(set.substr(0, set.find('=')), keys) +
                                            set.substr(set.find('=')));
    }
    return whole;
}

RnicScenario RnicReadScenario(const std::string &file, const std::vector<std::string> &sets)
{
    return Reader(file, RnicWholeSets(file, sets)).Read();
}

} // namespace ns3
