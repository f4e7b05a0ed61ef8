/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-runner.h"

#include "rnic-ideal.h"
#include "rnic-measure.h"
#include "rnic-param-attribute.h"
#include "rnic-progress.h"
#include "rnic-results.h"
#include "rnic-scenario-units.h"
#include "rnic-series.h"
#include "rnic-workload.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/global-value.h"
#include "ns3/node.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <sys/resource.h>
#include <unistd.h>

namespace ns3
{

namespace
{

namespace fs = std::filesystem;

double CpuSeconds()
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

bool HasName(const std::vector<std::string> &names, const std::string &name)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

void StopRun()
{
    Simulator::Stop();
}

[[noreturn]] void RefusePath(const std::string &path, const std::string &why)
{
    throw RnicWriteError(path + ": cannot be written: " + why + "; give another place with --out");
}

/* What results may take apart from series, pcap and trace: summary.json, flows.csv, steps.csv. */
constexpr uint64_t SUMMARY_BYTES = 256 << 10;
constexpr uint64_t TRANSFER_BYTES = 512;

} // namespace

// ---- the folder ----

RnicResultsFolder::RnicResultsFolder(const std::string &folder)
    : m_folder(folder), m_committed(false)
{
    while (m_folder.size() > 1 && m_folder.back() == '/')
    {
        m_folder.pop_back();
    }
    std::error_code error;
    if (fs::exists(m_folder, error) && !fs::is_directory(m_folder, error))
    {
        RefusePath(m_folder, "it is a file");
    }
    if (fs::is_directory(m_folder, error) && !fs::is_empty(m_folder, error) &&
        !fs::exists(m_folder + "/summary.json", error) &&
        !fs::exists(m_folder + "/seeds.json", error))
    {
        RefusePath(m_folder, "it holds something else than results");
    }
    const fs::path parent = fs::path(m_folder).parent_path();
    if (!parent.empty())
    {
        fs::create_directories(parent, error);
        if (error)
        {
            RefusePath(parent.string(), error.message());
        }
    }
    m_building = m_folder + ".partial-" + std::to_string(getpid());
    fs::create_directory(m_building, error);
    if (error)
    {
        RefusePath(m_folder, error.message());
    }
}

RnicResultsFolder::~RnicResultsFolder()
{
    if (!m_committed)
    {
        std::error_code error;
        fs::remove_all(m_building, error);
    }
}

const std::string &RnicResultsFolder::Path() const
{
    return m_building;
}

std::string RnicResultsFolder::Reserved() const
{
    return m_building + "/.reserved";
}

void RnicResultsFolder::Reserve(uint64_t bytes)
{
    const int file = open(Reserved().c_str(), O_WRONLY | O_CREAT, 0600);
    const int error = file < 0 ? errno : posix_fallocate(file, 0, static_cast<off_t>(bytes));
    if (file >= 0)
    {
        close(file);
    }
    if (error != 0)
    {
        RefusePath(m_folder, std::strerror(error));
    }
}

void RnicResultsFolder::Release()
{
    std::error_code error;
    fs::remove(Reserved(), error);
}

RnicWriteError RnicResultsFolder::Failed(const std::string &file, int number) const
{
    std::error_code error;
    const fs::space_info space = fs::space(m_folder, error);
    const bool known =
        number == ENOSPC || number == EDQUOT || number == EFBIG || number == EIO || error;
    if (!known && space.available < SUMMARY_BYTES)
    {
        number = ENOSPC;
    }
    else if (!known)
    {
        number = EIO;
    }
    return RnicWriteError(m_folder + file.substr(m_building.size()) + ": cannot be written: " +
                          std::strerror(number) + "; make room, or give another place with --out");
}

RnicWriteError RnicResultsFolder::Final(const RnicWriteError &error) const
{
    std::string text = error.what();
    const size_t at = text.find(m_building);
    if (at != std::string::npos)
    {
        text.replace(at, m_building.size(), m_folder);
    }
    return RnicWriteError(text);
}

void RnicResultsFolder::Commit()
{
    Release();
    std::error_code error;
    fs::remove_all(m_folder, error);
    fs::rename(m_building, m_folder, error);
    if (error)
    {
        m_committed = true; // keep them
        throw RnicWriteError(m_folder + ": cannot be written: " + error.message() +
                             "; the results are in " + m_building);
    }
    m_committed = true;
}

// ---- the network ----

RnicRunner::RnicRunner(RnicScenario scenario) : m_scenario(std::move(scenario))
{
}

RnicRunner::~RnicRunner()
{
    m_nics.clear();
    Simulator::Destroy();
}

/* What has a scenario key of its own is set there and nowhere else. */
void RnicRunner::RefuseOwnAttribute(const std::string &name) const
{
    struct
    {
        const char *type, *section, *prefix;
        const struct wire_param *table;
        size_t n;
    } const blocks[] = {
        {"ns3::RnicNetDevice::", "nic", "", rnic_param_table, rnic_param_count},
        {"ns3::RnicNetDevice::", "cc", "Dcqcn", rnic_dcqcn_param_table, rnic_dcqcn_param_count},
        {"ns3::RnicSwitchDevice::", "switch", "", fabric_param_table, fabric_param_count},
        {"ns3::RnicLink::", "topology", "", engine_link_param_table, engine_link_param_count}};
    std::string own = name == "ns3::RnicEngine::Seed"           ? "run.seed"
                      : name == "ns3::RnicEngine::Wire"         ? "nic.wire"
                      : name == "ns3::RnicEngine::PayloadBytes" ? "workload.memory"
                      : name == "ns3::RnicNetDevice::Cc"        ? "cc.kind"
                      : name == "ns3::RnicLink::DataRate"       ? "topology.rate"
                                                                : "";
    for (const auto &block : blocks)
    {
        for (size_t i = 0; i < block.n; i++)
        {
            char key[64];
            wire_param_key(&block.table[i], key, sizeof key);
            if (name == std::string(block.type) + block.prefix + RnicAttributeName(&block.table[i]))
            {
                own = std::string(block.section) + "." + key;
            }
        }
    }
    if (!own.empty())
    {
        throw m_scenario.Error("ns3." + name, "has a key of its own; write it as " + own);
    }
}

void RnicRunner::SetOneNs3(const std::string &name, const std::string &value)
{
    const std::string key = "ns3." + name;
    const size_t colons = name.rfind("::");
    if (colons == std::string::npos)
    {
        if (!GlobalValue::BindFailSafe(name, StringValue(value)))
        {
            throw m_scenario.Error(key, "is no global value of ns-3, or \"" + value +
                                            "\" is no value of it; write an attribute as "
                                            "\"ns3::Class::Attribute\"");
        }
        return;
    }
    RefuseOwnAttribute(name);
    TypeId type;
    struct TypeId::AttributeInformation info;
    if (!TypeId::LookupByNameFailSafe(name.substr(0, colons), &type) ||
        !type.LookupAttributeByName(name.substr(colons + 2), &info))
    {
        throw m_scenario.Error(key, "is no attribute of ns-3; write it as "
                                    "\"ns3::Class::Attribute\"");
    }
    if (!Config::SetDefaultFailSafe(name, StringValue(value)))
    {
        throw m_scenario.Error(key, "\"" + value + "\" is no value of it; write a " +
                                        info.checker->GetValueTypeName() + ": " +
                                        info.checker->GetUnderlyingTypeInformation());
    }
}

/* Defaults are set before anything is built, paths of objects ("/NodeList/...") after it. */
void RnicRunner::SetNs3(bool built)
{
    for (const auto &[name, value] : m_scenario.ns3)
    {
        const bool path = !name.empty() && name[0] == '/';
        if (path && built && !Config::SetFailSafe(name, StringValue(value)))
        {
            throw m_scenario.Error("ns3." + name, "matches no attribute, or \"" + value +
                                                      "\" is no value of it; write the path of "
                                                      "an object that exists");
        }
        if (!path && !built)
        {
            SetOneNs3(name, value);
        }
    }
}

void RnicRunner::CheckMemory(const RnicJobGraph &graph) const
{
    const uint64_t want = RnicJobData::TotalBytes(graph);
    const uint64_t have = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                          static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    if (graph.backed && want > have / 10 * 8)
    {
        const std::string key =
            m_scenario.places.count("workload.memory") ? "workload.memory" : "workload.bytes";
        throw m_scenario.Error(key, "backed memory of all hosts takes " +
                                        std::to_string(want >> 20) +
                                        " MiB, more than this machine has; write memory = "
                                        "\"phantom\", or fewer bytes");
    }
}

void RnicRunner::Build()
{
    const RnicScenario &s = m_scenario;
    if (s.run.batch)
    {
        RnicHelper::UseBatchDrive();
    }
    Config::SetDefault("ns3::RnicEngine::Seed", UintegerValue(s.run.seed));
    Config::SetDefault("ns3::RnicEngine::Wire", BooleanValue(s.wire));
    Config::SetDefault("ns3::RnicEngine::PayloadBytes",
                       UintegerValue(s.workload.backed ? s.nic.mtu_bytes : 0));
    m_helper.SetNicParams(s.nic);
    m_helper.SetSwitchParams(s.fabric);
    m_helper.SetCc(s.cc->name, s.dcqcn);
    m_helper.SetLinkParams(s.link);
    for (uint32_t host = 0; host < s.hosts; host++)
    {
        m_nics.push_back(m_helper.InstallNic(CreateObject<Node>()));
    }
    if (s.star)
    {
        Ptr<RnicSwitchDevice> device = m_helper.InstallSwitch(CreateObject<Node>(), s.hosts);
        for (const Ptr<RnicNetDevice> &nic : m_nics)
        {
            m_helper.Connect(nic, device);
        }
    }
    else
    {
        m_helper.Connect(m_nics[0], m_nics[1]);
    }
    std::string why;
    if (!RnicHelper::TryPopulateRoutes(&why))
    {
        throw s.Error("switch.buffer", why + "; write a larger buffer, or fewer hosts");
    }
}

uint64_t RnicRunner::ExpectedHops(const RnicJobGraph &graph) const
{
    const uint64_t mtu = m_scenario.nic.mtu_bytes;
    uint64_t frames = 0;
    for (const RnicJobTransfer &t : graph.transfers)
    {
        const uint64_t packets = RnicIdealPackets(t.bytes, static_cast<uint32_t>(mtu), t.verb);
        frames += packets + (packets + m_scenario.nic.ack_every - 1) / m_scenario.nic.ack_every;
    }
    return frames * (m_scenario.star ? 2 : 1);
}

// ---- the run ----

/* Lines that go down or come up, in the engine's own order: the same under both drives. */
void RnicRunner::ScheduleEvents()
{
    struct engine *engine = RnicEngine::Get()->GetEngine();
    for (const RnicScenarioEvent &event : m_scenario.events)
    {
        const uint32_t port = m_nics[event.host]->GetPort();
        m_lines.push_back(std::make_unique<Line>(Line{engine, port, event.up}));
        engine_at(engine, port, event.atPs, &Line::Turn, m_lines.back().get());
    }
}

void RnicRunner::Line::Turn(void *ctx, uint64_t nowPs)
{
    (void)nowPs;
    const auto *line = static_cast<const Line *>(ctx);
    engine_set_line(line->engine, line->port, line->up);
}

/* What traces and series want to know of the cards. */
void RnicRunner::Observe(RnicJob &job, const std::unique_ptr<RnicBlockTrace> &blocks,
                         const std::unique_ptr<RnicSeries> &series) const
{
    const uint32_t wanted = (HasName(m_scenario.run.series, "cnps") ? 1u << RNIC_EVENT_CNP_RX : 0) |
                            (blocks ? 1u << RNIC_EVENT_PASSAGE : 0);
    if (wanted == 0)
    {
        return;
    }
    job.SetObserver(
        [&blocks, &series](uint32_t port, const struct rnic_event &event)
        {
            if (blocks)
            {
                blocks->Record(port, event);
            }
            if (series)
            {
                series->Record(port, event);
            }
        },
        wanted);
}

/* How and when the run ended, and what was measured up to then. */
void RnicRunner::Ended(const RnicJob &job, RnicMeasures &measures, RnicRunEnd &end) const
{
    const auto nowPs = static_cast<uint64_t>(Simulator::Now().GetPicoSeconds());
    const uint64_t stopPs = m_scenario.run.stopPs;
    if (!job.IsDone())
    {
        end.status = RnicProgress::IsInterrupted() || m_full ? RnicRunEnd::PARTIAL
                     : nowPs >= stopPs                       ? RnicRunEnd::STOPPED
                                                             : RnicRunEnd::STALLED;
        const struct engine *engine = RnicEngine::Get()->GetEngine();
        // That nothing is left is noticed later, sooner or later.
        end.simEndPs = end.status == RnicRunEnd::STOPPED ? stopPs
                       : end.status == RnicRunEnd::STALLED
                           ? std::max(engine_last_ps(engine), job.GetLastPs())
                           : engine_now_ps(engine);
    }
    const bool quiet = end.status == RnicRunEnd::COMPLETE || end.status == RnicRunEnd::STALLED;
    end.measures = measures.Finish(end.simEndPs, quiet);
    for (const RnicScenarioMeasure &measure : m_scenario.measures)
    {
        if (quiet && measure.toPs > end.simEndPs)
        {
            end.notes.push_back("measure " + measure.name + ": all was over at " +
                                RnicFormatQuantity(end.simEndPs, WIRE_UNIT_TIME) +
                                ", before its end");
        }
    }
}

/* All that can be refused before there is a network; sets the defaults of ns-3. */
RnicJobGraph RnicRunner::Prepare()
{
    const RnicScenario &s = m_scenario;
    RnicJobGraph graph = RnicMakeWorkload(s);
    if (s.run.suppressPlacement >= static_cast<int64_t>(graph.transfers.size()))
    {
        throw s.Error("run.suppress_placement", "there are " +
                                                    std::to_string(graph.transfers.size()) +
                                                    " transfers; write a number below that");
    }
    CheckMemory(graph);
    SetNs3(false);
    return graph;
}

void RnicRunner::Check()
{
    (void)Prepare();
}

void RnicRunner::EnablePcap(const std::string &folder)
{
    const uint32_t ports = RnicEngine::Get()->GetNPorts();
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < ports + 32)
    {
        throw m_scenario.Error("run.pcap", "needs a file for each of " + std::to_string(ports) +
                                               " ports, and " + std::to_string(limit.rlim_cur) +
                                               " may be open; allow more with ulimit -n");
    }
    for (uint32_t port = 0; port < ports; port++)
    {
        m_helper.EnablePcap(folder + "/" + m_scenario.name,
                            Ptr<NetDevice>(RnicEngine::Get()->GetPortDevice(port)), true);
    }
}

RnicExit RnicRunner::Run(const std::string &folder)
{
    const double setupBegin = CpuSeconds();
    const RnicScenario &s = m_scenario;
    const RnicJobGraph graph = Prepare();
    Build();
    SetNs3(true);
    RnicResultsFolder out(folder);

    out.Reserve(SUMMARY_BYTES + TRANSFER_BYTES * graph.transfers.size());
    if (s.run.pcap)
    {
        EnablePcap(out.Path());
    }
    std::unique_ptr<RnicBlockTrace> blocks;
    RnicJob job(graph, m_nics);
    std::unique_ptr<RnicSeries> series;
    if (s.run.trace)
    {
        blocks = std::make_unique<RnicBlockTrace>(out.Path() + "/blocks.csv");
    }
    Observe(job, blocks, series);
    if (s.run.suppressPlacement >= 0)
    {
        job.SuppressPlacement(static_cast<uint32_t>(s.run.suppressPlacement));
    }
    try
    {
        job.Setup();
    }
    catch (const std::runtime_error &error)
    {
        throw s.Error("nic", std::string(error.what()) + "; write larger max_qp, max_mr or max_cq, "
                                                         "or fewer transfers");
    }
    series = std::make_unique<RnicSeries>(job, s.run.series, s.run.samplePs);
    RnicMeasures measures(s, job);
    RnicProgress progress(s.name, ExpectedHops(graph));
    // A full disk ends the run: nobody wants to wait for a trace that is not written.
    progress.StopWhen(
        [&]()
        {
            m_full = (blocks && blocks->IsBroken()) || !m_helper.GetBrokenPcap().empty();
            return m_full;
        });
    RnicRunEnd end;
    const EventId stop =
        Simulator::Schedule(PicoSeconds(static_cast<int64_t>(s.run.stopPs)), &StopRun);
    // All is over: what is still under way (acknowledges, CNPs, pauses) drains, then Run() returns.
    job.SetDone(
        [&](uint64_t nowPs)
        {
            end.simEndPs = nowPs;
            progress.Stop();
            Simulator::Remove(stop); // else it would be the end of the run
        });

    ScheduleEvents();
    const auto wallBegin = std::chrono::steady_clock::now();
    const double cpuBegin = CpuSeconds();
    series->Start();
    measures.Start();
    job.Start();
    progress.Start();
    if (!job.IsDone())
    {
        Simulator::Run();
    }
    end.cpuS = CpuSeconds() - cpuBegin;
    end.setupCpuS = cpuBegin - setupBegin;
    end.wallS = std::chrono::duration<double>(std::chrono::steady_clock::now() - wallBegin).count();
    progress.Clear();

    end.samplePs = series->GetPeriodPs();
    end.notes = series->GetNotes();
    for (const std::string &note : RnicWorkloadNotes(graph))
    {
        end.notes.push_back(note);
    }
    Ended(job, measures, end);
    return Finish(out, job, *series, end, blocks.get());
}

const RnicJson &RnicRunner::GetSummary() const
{
    return m_summary;
}

RnicExit RnicRunner::Finish(RnicResultsFolder &out, const RnicJob &job, const RnicSeries &series,
                            RnicRunEnd &end, RnicBlockTrace *blocks)
{
    const RnicIdeal ideal(m_scenario);
    std::string failed = m_helper.ClosePcap();
    int why = failed.empty() ? 0 : errno;
    if (blocks != nullptr && !blocks->Close())
    {
        failed = out.Path() + "/blocks.csv";
        why = blocks->GetError();
    }
    if (!failed.empty())
    {
        end.broken = failed.substr(out.Path().size() + 1);
    }
    out.Release();
    const RnicResults results(m_scenario, job, ideal, end);
    // Everything is tried, so that what a full disk still takes is there.
    std::string other;
    errno = 0;
    const bool summary = results.Write(out.Path(), &other);
    if (!(summary && series.Write(out.Path(), end.simEndPs, &other)) && failed.empty())
    {
        failed = other;
        why = errno;
    }
    m_summary = results.GetSummary();
    out.Commit();
    if (!failed.empty())
    {
        throw out.Failed(failed, why);
    }
    results.Print(std::cout);
    std::cout.flush();
    if (end.status == RnicRunEnd::PARTIAL)
    {
        return RNIC_EXIT_INTERRUPTED;
    }
    for (const std::string &error : results.GetErrors())
    {
        std::cerr << "rnic-run: " << error << '\n';
    }
    return results.IsGood() ? RNIC_EXIT_GOOD : RNIC_EXIT_FAILED;
}

} // namespace ns3
