/* SPDX-License-Identifier: GPL-2.0-only */
// Two drives, one result: the engine by ns-3 wake-ups and in batches, callback by callback.

#include "rnic-application.h"
#include "rnic-drive-log.h"
#include "rnic-scheduler.h"

#include "ns3/bulk-send-helper.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/test.h"

#include <functional>
#include <memory>

using namespace ns3;

namespace
{

/** A job on a star, as the runner does it. */
struct JobPlan
{
    const char *name;
    uint32_t hosts;
    bool incast; //!< else a ring all-reduce
    uint64_t bytes;
    double loss;
    RnicJobVerb verb;
};

const JobPlan PLANS[] = {
    {"ring", 4, false, 400000, 0, RnicJobVerb::WRITE},
    {"incast", 9, true, 400000, 0, RnicJobVerb::WRITE_IMM},
    {"incast with loss", 5, true, 100000, 0.002, RnicJobVerb::SEND},
};

RnicJobGraph MakeGraph(const JobPlan &plan)
{
    RnicJobGraph graph;

    graph.hosts = plan.hosts;
    if (!plan.incast)
    {
        RnicAddRingAllreduce(graph, plan.bytes, 1);
        return graph;
    }
    for (uint32_t i = 0; i + 1 < plan.hosts; i++)
    {
        RnicJobTransfer t;

        t.src = i;
        t.dst = plan.hosts - 1;
        t.verb = plan.verb;
        t.bytes = plan.bytes;
        t.startPs = 1000 * i;
        t.srcBuffer = static_cast<uint32_t>(graph.buffers.size());
        graph.buffers.push_back({t.src, plan.bytes});
        if (plan.verb != RnicJobVerb::SEND)
        {
            t.dstBuffer = static_cast<uint32_t>(graph.buffers.size());
            graph.buffers.push_back({t.dst, plan.bytes});
        }
        graph.transfers.push_back(t);
    }
    return graph;
}

/** @param listenAtPs when the sinks are connected; WIRE_NEVER: never; 0: before the run. */
RnicDriveOutcome RunJob(const JobPlan &plan, bool batch, uint64_t listenAtPs,
                        const std::string &pcap = "")
{
    RnicDriveOutcome outcome;
    RnicTestStar star(plan.hosts);
    RnicDriveLog log(star);

    RnicDriveChoose(batch);
    RnicDriveCongest(star.m_helper, plan.loss);
    star.BuildFabric();
    if (!pcap.empty())
    {
        star.m_helper.EnablePcap(pcap, Ptr<NetDevice>(star.m_nics.back()), true, true);
    }
    if (listenAtPs == 0)
    {
        log.Listen();
    }
    else if (listenAtPs != WIRE_NEVER)
    {
        Simulator::Schedule(PicoSeconds(listenAtPs), &RnicDriveLog::Listen, &log);
    }

    RnicJob job(MakeGraph(plan), star.m_nics);

    job.SetDone([&](uint64_t now_ps) { log.Line("done", now_ps, ""); });
    job.Setup();
    job.Start();
    Simulator::Run();
    for (const RnicJobResult &r : job.GetResults())
    {
        outcome.results.push_back(std::to_string(r.startPs) + " " + std::to_string(r.endPs) + " " +
                                  std::to_string(r.cqePs) + " " +
                                  std::to_string(r.retransmittedPackets) + " " +
                                  std::to_string(r.cnps) + (r.failed ? " failed" : ""));
    }
    outcome.results.push_back(job.IsDone() ? "done" : "not done");
    RnicDriveFinish(log, &outcome);
    return outcome;
}

std::string ReadFile(const std::string &name)
{
    std::ifstream file(name, std::ios::binary);

    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

} // namespace

/** A job under both drives: results, pcap and every callback are the same. */
class RnicDriveJobTestCase : public TestCase
{
public:
    explicit RnicDriveJobTestCase(const JobPlan &plan)
        : TestCase(std::string("both drives: ") + plan.name), m_plan(plan)
    {
    }

private:
    void DoRun() override
    {
        const std::string wakeFile = CreateTempDirFilename("rnic-drive-wake.pcap");
        const std::string batchFile = CreateTempDirFilename("rnic-drive-batch.pcap");
        const RnicDriveOutcome silent = RunJob(m_plan, true, WIRE_NEVER);
        const RnicDriveOutcome wake = RunJob(m_plan, false, 0, wakeFile);
        const RnicDriveOutcome batch = RunJob(m_plan, true, 0, batchFile);
        const std::string pcap = ReadFile(wakeFile);

        NS_TEST_EXPECT_MSG_EQ(RnicDriveDifference(wake.log, batch.log), "", "every callback");
        NS_TEST_EXPECT_MSG_EQ(RnicDriveDifference(wake.results, batch.results), "", "results");
        NS_TEST_EXPECT_MSG_EQ(RnicDriveDifference(silent.results, batch.results), "",
                              "unwatched too");
        NS_TEST_EXPECT_MSG_EQ((pcap == ReadFile(batchFile)), true, "pcap");
        NS_TEST_EXPECT_MSG_GT(pcap.size(), 10000, "pcap holds frames");
        NS_TEST_EXPECT_MSG_EQ(wake.endPs, batch.endPs, "end of the run");
        NS_TEST_EXPECT_MSG_EQ(silent.endPs, batch.endPs, "end of the run");
        NS_TEST_EXPECT_MSG_EQ(wake.inexact + batch.inexact, 0, "Now() in every callback");
        NS_TEST_EXPECT_MSG_GT(silent.hops, 500, "there was work");
        // One for each node and device to begin, the job's end, the time of the last engine event.
        NS_TEST_EXPECT_MSG_LT(silent.ns3Events, 4 * m_plan.hosts, "no ns-3 event per hop");
        Kinds(batch);
        Late(wake);
    }

    void Kinds(const RnicDriveOutcome &batch)
    {
        std::vector<std::string> kinds = {"FrameTx", "FrameRx",     "MacTx",
                                          "MacRx",   "Sniffer",     "Completion",
                                          "Placed",  "QueueLength", "done"};

        if (m_plan.incast && m_plan.loss == 0)
        {
            for (const char *kind : {"MacPause", "Pause", "EcnMark", "CnpTx", "CnpRx", "Rate"})
            {
                kinds.emplace_back(kind);
            }
        }
        if (m_plan.loss > 0)
        {
            kinds.emplace_back("FrameDrop");
        }
        for (const std::string &kind : kinds)
        {
            auto found = batch.kinds.find(kind);

            NS_TEST_EXPECT_MSG_EQ((found != batch.kinds.end()), true, kind << " was called");
        }
    }

    /* Sinks that come in mid-run miss nothing from then on. */
    void Late(const RnicDriveOutcome &full)
    {
        const uint64_t at_ps = std::stoull(full.log.back()) / 3; // of the last callback
        const RnicDriveOutcome wake = RunJob(m_plan, false, at_ps);
        const RnicDriveOutcome batch = RunJob(m_plan, true, at_ps);
        // Queue lengths are told as changes since the sink came: the first is another.
        std::vector<std::string> rest;
        std::vector<std::string> late;

        for (const std::string &line : full.log)
        {
            if (std::stoull(line) >= at_ps && line.find("QueueLength") == std::string::npos)
            {
                rest.push_back(line);
            }
        }
        for (const std::string &line : batch.log)
        {
            if (line.find("QueueLength") == std::string::npos)
            {
                late.push_back(line);
            }
        }
        NS_TEST_EXPECT_MSG_EQ(RnicDriveDifference(wake.log, batch.log), "", "late sinks");
        NS_TEST_EXPECT_MSG_EQ(RnicDriveDifference(rest, late), "", "nothing is lost");
        NS_TEST_EXPECT_MSG_GT(late.size(), 100, "there was something to tell");
        NS_TEST_EXPECT_MSG_EQ(RnicDriveDifference(full.results, batch.results), "", "results");
    }

    const JobPlan &m_plan;
};

/** TCP and RDMA over the same links in two classes. */
class RnicDriveTcpTestCase : public TestCase
{
public:
    RnicDriveTcpTestCase() : TestCase("both drives: TCP beside RDMA")
    {
    }

private:
    static void Got(RnicDriveLog *log, Ptr<const Packet> packet, const Address &)
    {
        log->Line("tcp", 0, std::to_string(packet->GetSize()));
    }

    static RnicDriveOutcome Play(bool batch, bool listen)
    {
        RnicDriveOutcome outcome;
        RnicTestStar star(3);
        RnicDriveLog log(star);
        NetDeviceContainer devices;
        InternetStackHelper stack;
        Ipv4AddressHelper addresses;

        RnicDriveChoose(batch);
        star.m_helper.SetNicAttribute("Mtu", UintegerValue(1024));
        star.Build(1000000);
        for (const Ptr<RnicNetDevice> &nic : star.m_nics)
        {
            devices.Add(nic);
        }
        stack.Install(star.m_hosts);
        stack.AssignStreams(star.m_hosts, 1); // else a second run draws other numbers
        addresses.SetBase("192.168.0.0", "255.255.255.0");

        const Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        const InetSocketAddress to(interfaces.GetAddress(1), 80);
        BulkSendHelper bulk("ns3::TcpSocketFactory", to);
        PacketSinkHelper sink("ns3::TcpSocketFactory", to);

        bulk.SetAttribute("MaxBytes", UintegerValue(300000));
        bulk.Install(star.m_hosts.Get(0));

        Ptr<PacketSink> got = DynamicCast<PacketSink>(sink.Install(star.m_hosts.Get(1)).Get(0));
        auto qpns = star.Pair(2, 1);

        Applications(star, &log);
        got->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Got, &log));
        if (listen)
        {
            log.Listen();
        }
        for (int i = 0; i < 40; i++)
        {
            Simulator::Schedule(MicroSeconds(500 * i), &RnicDriveTcpTestCase::Post, &star,
                                qpns.first, i);
        }
        Simulator::Stop(MilliSeconds(400));
        Simulator::Run();
        outcome.results.push_back(std::to_string(got->GetTotalRx()) + " bytes by TCP");
        outcome.results.push_back(std::to_string(star.Poll(2).size()) + " writes");
        RnicDriveFinish(log, &outcome);
        return outcome;
    }

    static void Work(RnicDriveLog *log, std::string kind, const struct rnic_wc &wc)
    {
        log->Line(kind, 0, std::to_string(wc.wr_id) + " " + std::to_string(wc.status));
    }

    static void Done(RnicDriveLog *log, uint64_t completed, uint64_t failed)
    {
        log->Line("Done", 0, std::to_string(completed) + " " + std::to_string(failed));
    }

    /* SENDs from host 0 to host 2, interrupt by interrupt. */
    static void Applications(RnicTestStar &star, RnicDriveLog *log)
    {
        Ptr<RnicApplication> from = CreateObject<RnicApplication>();
        Ptr<RnicApplication> to = CreateObject<RnicApplication>();

        from->SetAttribute("Count", UintegerValue(30));
        from->SetAttribute("Bytes", UintegerValue(5000));
        from->SetAttribute("Verb", StringValue("send"));
        from->SetStartTime(MicroSeconds(5));
        star.m_hosts.Get(0)->AddApplication(from);
        star.m_hosts.Get(2)->AddApplication(to);
        from->SetPeer(to);
        from->TraceConnectWithoutContext("Completion",
                                         MakeBoundCallback(&Work, log, std::string("Work")));
        to->TraceConnectWithoutContext("Receive",
                                       MakeBoundCallback(&Work, log, std::string("Receive")));
        from->TraceConnectWithoutContext("Done", MakeBoundCallback(&Done, log));
    }

    static void Post(RnicTestStar *star, uint32_t qpn, int number)
    {
        star->m_verbs[2]->PostWrite(qpn, number, star->m_memory[2], 0, star->m_memory[1], 0,
                                    200000);
    }

    void DoRun() override
    {
        for (bool listen : {true, false})
        {
            const RnicDriveOutcome wake = Play(false, listen);
            const RnicDriveOutcome batch = Play(true, listen);

            NS_TEST_EXPECT_MSG_EQ(RnicDriveDifference(wake.log, batch.log), "", "every callback");
            NS_TEST_EXPECT_MSG_EQ(RnicDriveDifference(wake.results, batch.results), "", "results");
            NS_TEST_EXPECT_MSG_EQ(batch.results[0], "300000 bytes by TCP", "TCP is through");
            NS_TEST_EXPECT_MSG_EQ(batch.results[1], "40 writes", "RDMA is through");
            NS_TEST_EXPECT_MSG_EQ(batch.kinds.at("Work"), 30, "the application is through");
            NS_TEST_EXPECT_MSG_EQ(batch.kinds.at("Receive"), 30, "at both ends");
            NS_TEST_EXPECT_MSG_EQ(batch.kinds.at("Done"), 1, "and knows it");
            NS_TEST_EXPECT_MSG_EQ(wake.inexact + batch.inexact, 0, "Now() in every callback");
            NS_TEST_EXPECT_MSG_GT(batch.log.size(), 200, "both are in the log");
        }
    }
};

/** Ends, peeks and second simulations. */
class RnicDriveEndTestCase : public TestCase
{
public:
    RnicDriveEndTestCase() : TestCase("empty ends, peeks, Stop, a second simulation")
    {
    }

private:
    void Write(RnicTestStar &star, uint32_t qpn, uint32_t bytes)
    {
        star.m_verbs[0]->PostWrite(qpn, 1, star.m_memory[0], 0, star.m_memory[1], 0, bytes);
    }

    void Completed(const struct rnic_event &)
    {
        m_completedPs = NowPs();
    }

    void Connect(RnicTestStar &star)
    {
        star.m_nics[0]->TraceConnectWithoutContext(
            "Completion", MakeCallback(&RnicDriveEndTestCase::Completed, this));
    }

    void Disconnect(RnicTestStar &star)
    {
        star.m_nics[0]->TraceDisconnectWithoutContext(
            "Completion", MakeCallback(&RnicDriveEndTestCase::Completed, this));
    }

    static void Count(int *n)
    {
        ++*n;
    }

    /* One simulation: engine alone, ns-3 alone, both, stops. */
    void Simulate()
    {
        RnicTestStar star(2, true);
        int calls = 0;

        RnicHelper::UseBatchDrive();
        star.Build();

        const uint32_t qpn = star.Pair(0, 1).first;

        Simulator::Run(); // nodes begin
        NS_TEST_EXPECT_MSG_EQ(Simulator::Now().GetPicoSeconds(), 0, "nothing was done");
        NS_TEST_EXPECT_MSG_EQ(Simulator::IsFinished(), true, "nothing to do");

        Connect(star);
        Write(star, qpn, 64);
        NS_TEST_EXPECT_MSG_EQ(Simulator::IsFinished(), false, "the engine counts");
        Simulator::Run();
        Disconnect(star);

        const uint64_t end = NowPs();

        // There: 64 + 78 B, back: 66 B, 8 B before each, 80 ps a byte, 1 us a link. Then only the
        // retry timer that nobody needs any more: 4.096 us times 2^14.
        NS_TEST_EXPECT_MSG_EQ(m_completedPs, (64 + 78 + 8 + 66 + 8) * 80 + 2000000, "completion");
        NS_TEST_EXPECT_MSG_EQ(end, engine_now_ps(RnicEngine::Get()->GetEngine()),
                              "time of the last engine event");
        NS_TEST_EXPECT_MSG_EQ(star.Poll(0).size(), 1, "completed");
        NS_TEST_EXPECT_MSG_EQ(Simulator::IsFinished(), true, "nothing left");

        Simulator::Schedule(MicroSeconds(7), &Count, &calls);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(calls, 1, "ns-3 alone");
        NS_TEST_EXPECT_MSG_EQ(NowPs(), end + 7000000, "its time");

        // Stop while a batch would go on, look, continue.
        Write(star, qpn, 60000);
        Simulator::Stop(PicoSeconds(1234567));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(NowPs(), end + 7000000 + 1234567, "stopped in time");
        NS_TEST_EXPECT_MSG_LT(engine_now_ps(RnicEngine::Get()->GetEngine()), NowPs() + 1,
                              "the engine is not ahead");
        NS_TEST_EXPECT_MSG_EQ(star.Poll(0).size(), 0, "not completed");
        NS_TEST_EXPECT_MSG_LT(RnicEngine::Get()->NextPs(), end + 9000000, "something is left");
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(star.Poll(0).size(), 1, "completed");

        // Back to wake-ups, and to batches again, while frames fly.
        Write(star, qpn, 60000);
        Simulator::Stop(MicroSeconds(3));
        Simulator::Run();
        RnicEngine::Get()->SetDrive(
            std::make_unique<RnicWakeDrive>(PeekPointer(RnicEngine::Get())));
        Simulator::Stop(MicroSeconds(1));
        Simulator::Run();
        RnicHelper::UseBatchDrive(TypeId::LookupByName("ns3::CalendarScheduler"));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(star.Poll(0).size(), 1, "completed");
        Write(star, qpn, 60000); // in flight when the simulation is destroyed
        Simulator::Stop(MicroSeconds(3));
        Simulator::Run();
    }

    void Peek()
    {
        RnicTestStar star(2, true);
        ObjectFactory factory;

        factory.SetTypeId(RnicScheduler::GetTypeId());
        star.Build();
        Write(star, star.Pair(0, 1).first, 60000);

        // A second scheduler beside the simulator's shows what it sees of the engine.
        Ptr<RnicScheduler> scheduler = factory.Create<RnicScheduler>();
        Ptr<EventImpl> event(MakeEvent([]() {}), false);
        const uint64_t next_ps = RnicEngine::Get()->NextPs();

        NS_TEST_EXPECT_MSG_EQ(scheduler->IsEmpty(), true, "no engine yet");
        scheduler->Attach(PeekPointer(RnicEngine::Get()));
        NS_TEST_EXPECT_MSG_EQ(scheduler->IsEmpty(), false, "the engine counts");
        for (int i = 0; i < 3; i++)
        {
            NS_TEST_EXPECT_MSG_EQ(scheduler->PeekNext().key.m_ts, next_ps, "the engine is next");
            NS_TEST_EXPECT_MSG_EQ(RnicEngine::Get()->NextPs(), next_ps, "a peek moves nothing");
            NS_TEST_EXPECT_MSG_EQ(engine_now_ps(RnicEngine::Get()->GetEngine()), 0, "nor time");
        }
        scheduler->NextChanged(next_ps);
        scheduler->Insert({PeekPointer(event), {next_ps + 1, 100, 0}});
        NS_TEST_EXPECT_MSG_EQ(scheduler->PeekNext().key.m_ts, next_ps, "the engine is still next");
        scheduler->Insert({PeekPointer(event), {next_ps, 101, 0}});
        NS_TEST_EXPECT_MSG_EQ(scheduler->PeekNext().key.m_ts, next_ps, "equal, told before");
        NS_TEST_EXPECT_MSG_NE(scheduler->PeekNext().key.m_uid, 101, "so the engine is first");
        scheduler->Detach();
        NS_TEST_EXPECT_MSG_EQ(scheduler->PeekNext().key.m_uid, 101, "without the engine");
        scheduler->Remove({PeekPointer(event), {next_ps, 101, 0}});
        NS_TEST_EXPECT_MSG_EQ(scheduler->RemoveNext().key.m_uid, 100, "what is left");
        NS_TEST_EXPECT_MSG_EQ(scheduler->IsEmpty(), true, "nothing left");
    }

    void DoRun() override
    {
        Simulate();
        Simulate(); // the first left nothing behind
        Peek();
        NS_TEST_EXPECT_MSG_EQ(RnicEngine::Exists(), false, "destroyed");
    }

    uint64_t m_completedPs = 0;
};

class RnicDriveTestSuite : public TestSuite
{
public:
    RnicDriveTestSuite() : TestSuite("rnic-drive")
    {
        for (const JobPlan &plan : PLANS)
        {
            AddTestCase(new RnicDriveJobTestCase(plan));
        }
        AddTestCase(new RnicDriveTcpTestCase);
        AddTestCase(new RnicDriveEndTestCase);
    }
};

static RnicDriveTestSuite g_rnicDriveTestSuite; //!< registers itself
