/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-workload.h"

#include "rnic-ideal.h"

#include <map>

namespace ns3
{

namespace
{

constexpr uint64_t FLOAT_BYTES = 4;

RnicJobVerb VerbOf(const std::string &name)
{
    for (RnicJobVerb verb : {RnicJobVerb::WRITE_IMM, RnicJobVerb::SEND, RnicJobVerb::SEND_IMM,
                             RnicJobVerb::READ, RnicJobVerb::FETCH_ADD, RnicJobVerb::COMPARE_SWAP})
    {
        if (name == RnicJobVerbName(verb))
        {
            return verb;
        }
    }
    return RnicJobVerb::WRITE;
}

uint32_t AddBuffer(RnicJobGraph &graph, uint32_t host, uint64_t bytes)
{
    graph.buffers.push_back({host, bytes});
    return static_cast<uint32_t>(graph.buffers.size() - 1);
}

/* A flow with memory of its own at both ends; queue pairs of a host pair are taken in turn. */
void AddFlow(RnicJobGraph &graph, const RnicScenarioFlow &flow, uint32_t qps,
             std::map<std::pair<uint32_t, uint32_t>, uint32_t> &turn)
{
    RnicJobTransfer t;
    t.src = flow.src;
    t.dst = flow.dst;
    t.verb = VerbOf(flow.verb);
    t.bytes = flow.bytes;
    t.startPs = flow.startPs;
    t.after = flow.after;
    t.qp = turn[{flow.src, flow.dst}]++ % qps;
    t.imm = static_cast<uint32_t>(graph.transfers.size());
    t.srcBuffer = AddBuffer(graph, flow.src, flow.bytes);
    if (t.verb != RnicJobVerb::SEND && t.verb != RnicJobVerb::SEND_IMM)
    {
        t.dstBuffer = AddBuffer(graph, flow.dst, flow.bytes);
    }
    if (RnicJobVerbIsAtomic(t.verb))
    {
        t.answerBuffer = AddBuffer(graph, flow.src, flow.bytes);
    }
    graph.transfers.push_back(t);
}

void AddIncast(RnicJobGraph &graph, const RnicScenarioWorkload &w)
{
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> turn;
    uint32_t senders = 0;
    for (uint32_t host = 0; host < graph.hosts && senders < w.senders; host++)
    {
        if (host == w.target)
        {
            continue;
        }
        RnicScenarioFlow flow;
        flow.src = host;
        flow.dst = w.target;
        flow.bytes = w.bytes;
        flow.startPs = w.startPs;
        flow.verb = w.verb;
        AddFlow(graph, flow, w.qps, turn);
        senders++;
    }
}

RnicJobQps MakeQps(const RnicScenario &scenario)
{
    const RnicScenarioQp &qp = scenario.qp;
    RnicJobQps qps;
    uint64_t window = qp.windowBytes;
    if (qp.windowBdp)
    {
        window = RnicIdeal(scenario).BdpBytes();
        if (window > UINT32_MAX)
        {
            throw scenario.Error("qp.window", "the BDP of this path is " + std::to_string(window) +
                                                  " bytes; write a window below 4GiB");
        }
    }
    qps.uc = qp.uc;
    qps.recovery = qp.recovery;
    qps.windowBytes = static_cast<uint32_t>(window);
    qps.rateLimitBps = qp.rateLimitBps;
    qps.maxRdAtomic = static_cast<int>(qp.maxRdAtomic);
    qps.e2eCredits = qp.e2eCredits;
    qps.roceV1 = qp.roceV1;
    return qps;
}

} // namespace

uint64_t RnicChunkBegin(uint64_t elements, uint32_t ranks, uint32_t i)
{
    __extension__ typedef unsigned __int128 Wide;
    return static_cast<uint64_t>(Wide(elements) * i / ranks);
}

void RnicAddRingAllreduce(RnicJobGraph &graph, uint64_t bytes, uint32_t qps)
{
    const uint32_t n = graph.hosts;
    const uint32_t first = static_cast<uint32_t>(graph.transfers.size());
    const uint64_t elements = bytes / FLOAT_BYTES;
    RnicJobCollective c;
    c.name = "allreduce";
    c.algorithm = "ring";
    c.ranks = n;
    c.bytes = bytes;
    c.steps = 2 * (n - 1);
    c.gatherStep = n - 1;
    std::vector<uint32_t> staging(n);
    for (uint32_t r = 0; r < n; r++)
    {
        c.arrays.push_back(AddBuffer(graph, r, bytes));
        staging[r] = AddBuffer(graph, r, 0);
    }
    for (uint32_t step = 0; step < c.steps; step++)
    {
        bool gather = step >= c.gatherStep;
        for (uint32_t r = 0; r < n; r++)
        {
            /* 2n keeps the difference positive */
            uint32_t chunk =
                gather ? (r + 2 * n - (step - c.gatherStep)) % n : (r + 2 * n - 1 - step) % n;
            uint64_t from = RnicChunkBegin(elements, n, chunk) * FLOAT_BYTES;
            uint64_t to = RnicChunkBegin(elements, n, chunk + 1) * FLOAT_BYTES;
            RnicJobTransfer t;
            t.src = r;
            t.dst = (r + 1) % n;
            t.verb = RnicJobVerb::WRITE_IMM;
            t.bytes = to - from;
            t.qp = step % qps;
            t.imm = step;
            t.srcBuffer = c.arrays[r];
            t.srcOffset = from;
            t.dstBuffer = gather ? c.arrays[t.dst] : staging[t.dst];
            t.dstOffset = gather ? from : graph.buffers[staging[t.dst]].bytes;
            t.collective = static_cast<int32_t>(graph.collectives.size());
            t.step = step;
            t.chunk = chunk;
            if (!gather) /* each step has a slot of its own behind the last one */
            {
                graph.buffers[staging[t.dst]].bytes += t.bytes;
                t.reduce = true;
                t.reduceBuffer = c.arrays[t.dst];
                t.reduceOffset = from;
            }
            if (step > 0)
            {
                t.after = {first + (step - 1) * n + (r + n - 1) % n};
            }
            graph.transfers.push_back(t);
        }
    }
    graph.collectives.push_back(c);
}

RnicJobGraph RnicMakeWorkload(const RnicScenario &scenario)
{
    const RnicScenarioWorkload &w = scenario.workload;
    RnicJobGraph graph;
    graph.hosts = scenario.hosts;
    graph.backed = w.backed;
    graph.reduceTimePs = w.reduceTimePs;
    graph.hostDelayPs = w.hostDelayPs;
    graph.qps = MakeQps(scenario);
    if (w.kind == "allreduce")
    {
        RnicAddRingAllreduce(graph, w.bytes, w.qps);
    }
    else if (w.kind == "incast")
    {
        AddIncast(graph, w);
    }
    else
    {
        std::map<std::pair<uint32_t, uint32_t>, uint32_t> turn;
        for (const RnicScenarioFlow &flow : w.flows)
        {
            AddFlow(graph, flow, w.qps, turn);
        }
    }
    const std::string wrong = graph.Check();
    if (!wrong.empty())
    {
        throw scenario.Error("workload", wrong + "; correct the flows");
    }
    return graph;
}

std::vector<std::string> RnicWorkloadNotes(const RnicJobGraph &graph)
{
    std::vector<std::string> notes;
    size_t flows = 0;
    size_t empty = 0;
    for (const RnicJobTransfer &transfer : graph.transfers)
    {
        flows += transfer.collective < 0 ? 1 : 0;
        empty += transfer.collective < 0 && transfer.bytes == 0 ? 1 : 0;
    }
    if (empty > 0)
    {
        notes.push_back(std::to_string(empty) + " of " + std::to_string(flows) +
                        " flows move 0 bytes");
    }
    for (size_t i = 0; i < graph.collectives.size(); i++)
    {
        if (graph.collectives[i].bytes == 0)
        {
            notes.push_back(graph.collectives[i].name + " " + std::to_string(i) + " moves 0 bytes");
        }
    }
    return notes;
}

} // namespace ns3
