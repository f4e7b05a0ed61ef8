/* SPDX-License-Identifier: GPL-2.0-only */
// Jobs without a network: units, ideal times, the ring as a graph, data, JSON; and one job run.

#include "rnic-ideal.h"
#include "rnic-job.h"
#include "rnic-json.h"
#include "rnic-scenario-units.h"
#include "rnic-test-star.h"
#include "rnic-workload.h"

#include "ns3/test.h"

#include <sstream>

using namespace ns3;

/** Quantities become base units exactly, and wrong ones are refused. */
class RnicJobUnitsTestCase : public TestCase
{
public:
    RnicJobUnitsTestCase() : TestCase("units are exact and wrong ones are refused")
    {
    }

private:
    void DoRun() override
    {
        const struct
        {
            const char *text;
            enum wire_unit unit;
            uint64_t value;
        } good[] = {{"1us", WIRE_UNIT_TIME, 1000000},
                    {"1.5 us", WIRE_UNIT_TIME, 1500000},
                    {"0.001ns", WIRE_UNIT_TIME, 1},
                    {"2min", WIRE_UNIT_TIME, 120000000000000},
                    {"100Gbps", WIRE_UNIT_RATE, 100000000000},
                    {"2880Gb/s", WIRE_UNIT_RATE, 2880000000000},
                    {"1GBps", WIRE_UNIT_RATE, 8000000000},
                    {"64MiB", WIRE_UNIT_BYTES, 67108864},
                    {"32MB", WIRE_UNIT_BYTES, 32000000},
                    {"1KB", WIRE_UNIT_BYTES, 1000},
                    {"1KiB", WIRE_UNIT_BYTES, 1024},
                    {"0B", WIRE_UNIT_BYTES, 0}};
        std::string error;
        for (const auto &entry : good)
        {
            uint64_t value = 1;
            NS_TEST_EXPECT_MSG_EQ(RnicParseQuantity(entry.text, entry.unit, value, error), true,
                                  entry.text << ": " << error);
            NS_TEST_EXPECT_MSG_EQ(value, entry.value, entry.text);
            uint64_t again = 1;
            RnicParseQuantity(RnicFormatQuantity(value, entry.unit), entry.unit, again, error);
            NS_TEST_EXPECT_MSG_EQ(again, value, RnicFormatQuantity(value, entry.unit));
        }
        const struct
        {
            const char *text;
            enum wire_unit unit;
            const char *says;
        } bad[] = {{"5", WIRE_UNIT_TIME, "no unit"},
                   {"", WIRE_UNIT_TIME, "not a number"},
                   {"us", WIRE_UNIT_TIME, "not a number"},
                   {".", WIRE_UNIT_BYTES, "not a number"},
                   {"-1us", WIRE_UNIT_TIME, "negative"},
                   {"1KB", WIRE_UNIT_TIME, "unknown unit"},
                   {"1us", WIRE_UNIT_BYTES, "unknown unit"},
                   {"1Mb", WIRE_UNIT_BYTES, "unknown unit"},
                   {"1..5us", WIRE_UNIT_TIME, "unknown unit"},
                   {"1e3us", WIRE_UNIT_TIME, "unknown unit"},
                   {"0.0001ns", WIRE_UNIT_TIME, "whole number of ps"},
                   {"0.5B", WIRE_UNIT_BYTES, "whole number of bytes"},
                   {"99999999999999999h", WIRE_UNIT_TIME, "too large"},
                   {"1234567890123456789s", WIRE_UNIT_TIME, "more than 18 digits"}};
        for (const auto &entry : bad)
        {
            uint64_t value = 77;
            NS_TEST_EXPECT_MSG_EQ(RnicParseQuantity(entry.text, entry.unit, value, error), false,
                                  entry.text);
            NS_TEST_EXPECT_MSG_EQ(value, 77, entry.text);
            NS_TEST_EXPECT_MSG_NE(error.find(entry.says), std::string::npos,
                                  entry.text << ": " << error);
            NS_TEST_EXPECT_MSG_NE(error.find("; write "), std::string::npos, error);
        }
        const std::vector<std::string> names = {"buffer", "bytes", "alpha", "nic"};
        NS_TEST_EXPECT_MSG_EQ(RnicNearestName("bufer", names), "buffer", "");
        NS_TEST_EXPECT_MSG_EQ(RnicNearestName("foo", names), "", "nothing is near");
    }
};

/** The store-and-forward recurrence, against figures worked out by hand. */
class RnicJobIdealTestCase : public TestCase
{
public:
    RnicJobIdealTestCase() : TestCase("ideal times to the picosecond")
    {
    }

private:
    void DoRun() override
    {
        const uint64_t us = 1000000;
        const uint64_t gbps = 1000000000;
        const std::vector<RnicIdealHop> star = {{100 * gbps, us, 0}, {100 * gbps, us, 0}};
        NS_TEST_EXPECT_MSG_EQ(Write(1, star), 2014400, "82 B, twice 7.2 ns, 2 us");
        NS_TEST_EXPECT_MSG_EQ(Write(1000, star), 2173760, "");
        NS_TEST_EXPECT_MSG_EQ(Write(1000000, star), 83942080, "");
        NS_TEST_EXPECT_MSG_EQ(
            Write(16777216, star), 4096 * 334240 + 2335200 - 320,
            "no immediate: 4 B less in the last frame, on the second link only, as "
            "the frame waits before it anyway");
        // one link: 82 + 8 bytes at 2880 Gb/s are 0.25 ns
        NS_TEST_EXPECT_MSG_EQ(Write(1, {{2880 * gbps, 0, 0}}), 250, "");
        // a frame of 78 B is 78 + 8 = 86 bytes: 238.88.. ps, rounded up once
        NS_TEST_EXPECT_MSG_EQ(
            RnicIdealTransferPs(RnicJobVerb::WRITE, 0, 4096, {{2880 * gbps, 0, 0}}), 239, "");
        // slow second link: FIRST 4174 B, LAST 4158 B queue before it; its latency counts once
        NS_TEST_EXPECT_MSG_EQ(Write(8192, {{100 * gbps, us, 0}, {10 * gbps, us, 5 * us}}),
                              (4174 + 8) * 80 + us + 5 * us + (4174 + 20 + 4158 + 8) * 800 + us,
                              "");
        // too many packets to go one by one; the first of each message of 1 GiB has 16 B more
        const uint64_t pieces = 1 << 19;
        NS_TEST_EXPECT_MSG_EQ(Write(pieces << 30, {{100 * gbps, 0, 0}}),
                              pieces * (262144 * (4158 + 20) + 16) * 80 - 12 * 80, "512 TiB");
        Recurrence();
        NS_TEST_EXPECT_MSG_EQ(RnicIdealPackets(0, 4096), 1, "");
        NS_TEST_EXPECT_MSG_EQ(RnicIdealPackets(4097, 4096), 2, "");
        NS_TEST_EXPECT_MSG_EQ(RnicIdealPackets((uint64_t(1) << 30) + 1, 4096), 262145, "");
        Ring();
    }

    /** The same, one packet after the other. */
    void Recurrence()
    {
        const uint64_t gbps = 1000000000;
        const std::vector<std::vector<RnicIdealHop>> paths = {
            {{100 * gbps, 7, 0}},
            {{2880 * gbps, 7, 0}, {2880 * gbps, 3, 1001}},
            {{12345678901, 0, 5}, {12345678901, 1, 0}, {12345678901, 1, 99999999}},
            {{100 * gbps, 7, 0}, {40 * gbps, 3, 0}, {100 * gbps, 5, 0}},
            {{25 * gbps, 7, 0}, {400 * gbps, 3, 0}}};
        for (const auto &path : paths)
        {
            for (uint32_t packets : {1u, 2u, 3u, 4u, 5u, 100u, 3001u})
            {
                for (uint32_t last : {1u, 511u, 1024u})
                {
                    NS_TEST_EXPECT_MSG_EQ(
                        RnicIdealTransferPs(RnicJobVerb::WRITE, (packets - 1) * 1024 + last, 1024,
                                            path),
                        OneByOne(packets, last, path), packets << " packets, the last " << last);
                }
            }
        }
    }

    uint64_t OneByOne(uint32_t packets, uint32_t last, const std::vector<RnicIdealHop> &path)
    {
        std::vector<uint64_t> free(path.size(), 0);
        uint64_t at = 0;
        for (uint32_t i = 0; i < packets; i++)
        {
            const uint64_t payload = i + 1 == packets ? (last + 3) / 4 * 4 : 1024;
            const uint64_t bytes = payload + 62 + (i == 0 ? 16 : 0);
            at = 0;
            for (size_t hop = 0; hop < path.size(); hop++)
            {
                const uint64_t start = std::max(at + path[hop].beforePs, free[hop]);
                free[hop] = start + wire_line_time_ps(bytes + 20, path[hop].rateBps);
                at = start + wire_line_time_ps(bytes + 8, path[hop].rateBps) + path[hop].delayPs;
            }
        }
        return at;
    }

    uint64_t Write(uint64_t bytes, const std::vector<RnicIdealHop> &path)
    {
        return RnicIdealTransferPs(RnicJobVerb::WRITE, bytes, 4096, path);
    }

    void Ring()
    {
        RnicScenario scenario;
        wire_param_defaults(engine_link_param_table, engine_link_param_count, &scenario.link);
        wire_param_defaults(fabric_param_table, fabric_param_count, &scenario.fabric);
        scenario.nic = rnic_params_ideal();
        scenario.nic.mtu_bytes = 4096;
        scenario.nic.ack_every = 16;
        scenario.hosts = 4;
        RnicJobGraph graph;
        graph.hosts = 4;
        graph.backed = false;
        RnicAddRingAllreduce(graph, uint64_t(64) << 20, 1);
        const RnicIdeal ideal(scenario);
        const uint64_t step = 4096 * 334240 + 2335200;
        NS_TEST_EXPECT_MSG_EQ(ideal.GraphPs(graph, 0, false), 6 * step, "8228.293 us");
        NS_TEST_EXPECT_MSG_EQ(ideal.GraphPs(graph, 0, true), 6 * (step + 256 * 6880),
                              "8238.861 us");
        graph.reduceTimePs = 1000;
        NS_TEST_EXPECT_MSG_EQ(ideal.GraphPs(graph, 0, false), 6 * step + 3000, "3 reductions");
        graph.hostDelayPs = {0, 0, 5000, 0};
        NS_TEST_EXPECT_MSG_EQ(ideal.GraphPs(graph, 0, false), 6 * step + 8000, "one late host");
        graph.hostDelayPs = {7000, 7000, 12000, 7000};
        NS_TEST_EXPECT_MSG_EQ(ideal.GraphPs(graph, 0, false), 6 * step + 8000, "all are late");
    }
};

/** The ring's graph, executed as a model: every element gets each contribution once. */
class RnicJobRingTestCase : public TestCase
{
public:
    RnicJobRingTestCase() : TestCase("a ring brings every contribution to every rank once")
    {
    }

private:
    void DoRun() override
    {
        for (uint32_t n = 2; n <= 17; n++)
        {
            for (uint64_t elements : {uint64_t(0), uint64_t(1), uint64_t(n - 1), uint64_t(3 * n),
                                      uint64_t(3 * n + 1), uint64_t(97)})
            {
                Run(n, elements);
            }
        }
        NS_TEST_EXPECT_MSG_EQ(RnicChunkBegin(10, 4, 1), 2, "");
        NS_TEST_EXPECT_MSG_EQ(RnicChunkBegin(10, 4, 4), 10, "");
        NS_TEST_EXPECT_MSG_EQ(RnicChunkBegin(uint64_t(1) << 60, 3, 2), (uint64_t(1) << 61) / 3, "");
    }

    void Run(uint32_t n, uint64_t elements)
    {
        RnicJobGraph graph;
        graph.hosts = n;
        RnicAddRingAllreduce(graph, elements * 4, 1);
        NS_TEST_EXPECT_MSG_EQ(graph.Check(), "", "n = " << n);
        NS_TEST_EXPECT_MSG_EQ(graph.transfers.size(), 2 * (n - 1) * n, "");
        // buffers as counts per rank: [buffer][element][rank]
        std::vector<std::vector<std::vector<int>>> memory;
        for (const RnicJobBuffer &buffer : graph.buffers)
        {
            memory.emplace_back(buffer.bytes / 4, std::vector<int>(n, 0));
        }
        for (uint32_t rank = 0; rank < n; rank++)
        {
            for (auto &element : memory[graph.collectives[0].arrays[rank]])
            {
                element[rank] = 1;
            }
        }
        for (uint32_t id : graph.Order())
        {
            const RnicJobTransfer &t = graph.transfers[id];
            for (uint64_t i = 0; i < t.bytes / 4; i++)
            {
                const auto sent = memory[t.srcBuffer][t.srcOffset / 4 + i];
                memory[t.dstBuffer][t.dstOffset / 4 + i] = sent;
                for (uint32_t rank = 0; t.reduce && rank < n; rank++)
                {
                    memory[t.reduceBuffer][t.reduceOffset / 4 + i][rank] += sent[rank];
                }
            }
        }
        bool whole = true;
        for (uint32_t array : graph.collectives[0].arrays)
        {
            for (const auto &element : memory[array])
            {
                whole = whole && element == std::vector<int>(n, 1);
            }
        }
        NS_TEST_EXPECT_MSG_EQ(whole, true, "n = " << n << ", elements = " << elements);
    }
};

/** Graphs that cannot be executed are refused, each for its reason. */
class RnicJobGraphTestCase : public TestCase
{
public:
    RnicJobGraphTestCase() : TestCase("a graph that cannot be executed is refused")
    {
    }

private:
    void DoRun() override
    {
        Refused("goes from host", [](RnicJobGraph &g) { g.transfers[0].dst = 0; });
        Refused("goes from host", [](RnicJobGraph &g) { g.transfers[0].dst = 2; });
        Refused("a buffer is at host 9", [](RnicJobGraph &g) { g.buffers[0].host = 9; });
        Refused("no source buffer", [](RnicJobGraph &g) { g.transfers[0].srcBuffer = 1; });
        Refused("beyond its source", [](RnicJobGraph &g) { g.transfers[0].srcOffset = 1; });
        Refused("no destination", [](RnicJobGraph &g) { g.transfers[0].dstBuffer = 7; });
        Refused("beyond its destination", [](RnicJobGraph &g) { g.buffers[1].bytes = 7; });
        Refused("no destination",
                [](RnicJobGraph &g)
                {
                    g.transfers[0].dstBuffer = RNIC_JOB_NONE; // only a SEND may leave it open
                });
        Refused("cannot be reduced",
                [](RnicJobGraph &g)
                {
                    g.transfers[0].reduce = true;
                    g.transfers[0].reduceBuffer = 1;
                });
        Refused("does not exist", [](RnicJobGraph &g) { g.transfers[0].after = {5}; });
        Refused("only host 0 learns", [](RnicJobGraph &g) { g.transfers[1].after = {0}; });
        Refused("circle",
                [](RnicJobGraph &g)
                {
                    g.transfers[0].verb = g.transfers[1].verb = RnicJobVerb::WRITE_IMM;
                    g.transfers[0].after = {1};
                    g.transfers[1].after = {0};
                });
        NS_TEST_EXPECT_MSG_EQ(Good().Check(), "", "");
        NS_TEST_EXPECT_MSG_EQ(RnicJobMessages(0).size(), 1, "");
        NS_TEST_EXPECT_MSG_EQ(RnicJobMessages(5000000000).size(), 5, "");
    }

    static RnicJobGraph Good()
    {
        RnicJobGraph graph;
        graph.hosts = 2;
        graph.buffers = {{0, 8}, {1, 8}};
        graph.transfers.resize(2);
        graph.transfers[0].dst = 1;
        graph.transfers[1].src = 1;
        for (uint32_t i = 0; i < 2; i++)
        {
            graph.transfers[i].bytes = 8;
            graph.transfers[i].srcBuffer = i;
            graph.transfers[i].dstBuffer = 1 - i;
        }
        return graph;
    }

    template <typename F>
    void Refused(const std::string &why, F spoil)
    {
        RnicJobGraph graph = Good();
        spoil(graph);
        const std::string text = graph.Check();
        NS_TEST_EXPECT_MSG_NE(text.find(why), std::string::npos, why << ": " << text);
    }
};

/** Inputs stay exact, and one wrong byte anywhere is seen. */
class RnicJobDataTestCase : public TestCase
{
public:
    RnicJobDataTestCase() : TestCase("sums are exact and one wrong byte is seen")
    {
    }

private:
    void DoRun() override
    {
        for (uint32_t ranks : {1u, 2u, 3u, 1000u, 65535u})
        {
            for (uint64_t index : {uint64_t(0), uint64_t(1), uint64_t(12345678901)})
            {
                uint64_t sum = 0;
                for (uint32_t rank = 0; rank < ranks; rank++)
                {
                    sum += RnicJobData::Input(ranks, rank, index);
                }
                NS_TEST_EXPECT_MSG_LT(sum, 1u << 24, ranks << " ranks");
            }
        }
        NS_TEST_EXPECT_MSG_NE(RnicJobData::Input(4, 0, 5), RnicJobData::Input(4, 1, 5), "");
        NS_TEST_EXPECT_MSG_NE(RnicJobData::Input(4, 0, 5), RnicJobData::Input(4, 0, 6), "");

        RnicJobGraph graph;
        graph.hosts = 3;
        RnicAddRingAllreduce(graph, 44, 1);
        RnicJobData data(graph);
        for (uint32_t id : graph.Order())
        {
            const RnicJobTransfer &t = graph.transfers[id];
            std::copy_n(data.Bytes(t.srcBuffer) + t.srcOffset, t.bytes,
                        data.Bytes(t.dstBuffer) + t.dstOffset);
            if (t.reduce)
            {
                RnicJobData::Reduce(data.Bytes(t.reduceBuffer) + t.reduceOffset,
                                    data.Bytes(t.dstBuffer) + t.dstOffset, t.bytes);
            }
        }
        NS_TEST_EXPECT_MSG_EQ(data.VerifyCollective(graph, 0), true, "");
        for (uint32_t array : graph.collectives[0].arrays)
        {
            for (uint32_t i = 0; i < 44; i++)
            {
                data.Bytes(array)[i] ^= 1;
                NS_TEST_EXPECT_MSG_EQ(data.VerifyCollective(graph, 0), false, "byte " << i);
                data.Bytes(array)[i] ^= 1;
            }
        }
    }
};

/** JSON is escaped, ordered and found by path. */
class RnicJobJsonTestCase : public TestCase
{
public:
    RnicJobJsonTestCase() : TestCase("JSON is escaped, ordered and found by path")
    {
    }

private:
    void DoRun() override
    {
        RnicJson json = RnicJson::Object();
        json.Set("text", "a\"b\\c\n\x01");
        json.Set("large", UINT64_MAX);
        json.Set("real", 0.1);
        json.Set("infinite", 1.0 / 0.0);
        json.Set("nothing", RnicJson());
        RnicJson &list = json.Set("list", RnicJson::Array());
        list.Push(RnicJson::Object()).Set("deep", true);
        json.Set("real", 0.2); // in its old place
        std::ostringstream text;
        json.Write(text);
        NS_TEST_EXPECT_MSG_EQ(text.str(),
                              "{\n  \"text\": \"a\\\"b\\\\c\\u000a\\u0001\",\n"
                              "  \"large\": 18446744073709551615,\n  \"real\": 0.2,\n"
                              "  \"infinite\": null,\n  \"nothing\": null,\n"
                              "  \"list\": [\n    {\"deep\": true}\n  ]\n}",
                              "");
        NS_TEST_EXPECT_MSG_EQ(json.Find("list.0.deep")->Boolean(), true, "");
        NS_TEST_EXPECT_MSG_EQ((json.Find("list.1.deep") == nullptr), true, "");
        NS_TEST_EXPECT_MSG_EQ((json.Find("list.x") == nullptr), true, "");
        NS_TEST_EXPECT_MSG_EQ((json.Find("real.0") == nullptr), true, "");
    }
};

/** A job in a user's own ns-3 program: the executor with nothing of the runner. */
class RnicJobRunTestCase : public TestCase
{
public:
    RnicJobRunTestCase() : TestCase("a job runs in a plain ns-3 program")
    {
    }

private:
    void DoRun() override
    {
        RnicTestStar star(3);
        star.BuildFabric();
        RnicJobGraph graph;
        graph.hosts = 3;
        RnicAddRingAllreduce(graph, 4000, 1);
        RnicJob job(graph, star.m_nics);
        uint64_t donePs = 0;
        job.SetDone([&](uint64_t nowPs) { donePs = nowPs; });
        job.Setup();
        job.Start();
        NS_TEST_EXPECT_MSG_EQ(job.IsDone(), false, "");
        NS_TEST_EXPECT_MSG_EQ(job.Waiting(100).size(), 3, "the three of step 0");
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(job.IsDone(), true, "");
        NS_TEST_EXPECT_MSG_EQ(job.HasFailed(), false, "");
        NS_TEST_EXPECT_MSG_EQ(job.VerifyCollective(0), true, "");
        NS_TEST_EXPECT_MSG_EQ(job.Waiting(100).size(), 0, "");
        uint64_t lastPs = 0;
        for (const RnicJobResult &result : job.GetResults())
        {
            NS_TEST_EXPECT_MSG_LT(result.startPs, result.endPs, "");
            NS_TEST_EXPECT_MSG_LT(result.endPs, result.cqePs, "");
            lastPs = std::max(lastPs, result.cqePs);
        }
        NS_TEST_EXPECT_MSG_EQ(donePs, lastPs, "");
    }
};

/** The suite. */
class RnicJobTestSuite : public TestSuite
{
public:
    RnicJobTestSuite() : TestSuite("rnic-job")
    {
        AddTestCase(new RnicJobUnitsTestCase);
        AddTestCase(new RnicJobIdealTestCase);
        AddTestCase(new RnicJobRingTestCase);
        AddTestCase(new RnicJobGraphTestCase);
        AddTestCase(new RnicJobDataTestCase);
        AddTestCase(new RnicJobJsonTestCase);
        AddTestCase(new RnicJobRunTestCase);
    }
};

static RnicJobTestSuite g_rnicJobTestSuite;
