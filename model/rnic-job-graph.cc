/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-job-graph.h"

#include <algorithm>

namespace ns3
{

namespace
{
constexpr uint64_t WORD_BYTES = 8; //!< what an atomic changes
} // namespace

const char *RnicJobVerbName(RnicJobVerb verb)
{
    switch (verb)
    {
    case RnicJobVerb::WRITE:
        return "write";
    case RnicJobVerb::WRITE_IMM:
        return "write_imm";
    case RnicJobVerb::SEND:
        return "send";
    case RnicJobVerb::SEND_IMM:
        return "send_imm";
    case RnicJobVerb::READ:
        return "read";
    case RnicJobVerb::FETCH_ADD:
        return "fetch_add";
    case RnicJobVerb::COMPARE_SWAP:
        return "compare_swap";
    }
    return "";
}

bool RnicJobVerbHasReceive(RnicJobVerb verb)
{
    return verb == RnicJobVerb::WRITE_IMM || verb == RnicJobVerb::SEND ||
           verb == RnicJobVerb::SEND_IMM;
}

bool RnicJobVerbIsAtomic(RnicJobVerb verb)
{
    return verb == RnicJobVerb::FETCH_ADD || verb == RnicJobVerb::COMPARE_SWAP;
}

std::vector<uint32_t> RnicJobMessages(uint64_t bytes, RnicJobVerb verb)
{
    const uint64_t most = RnicJobVerbIsAtomic(verb) ? WORD_BYTES : RNIC_JOB_MAX_MESSAGE_BYTES;
    std::vector<uint32_t> pieces;
    do
    {
        uint64_t piece = std::min(bytes, most);
        pieces.push_back(static_cast<uint32_t>(piece));
        bytes -= piece;
    } while (bytes > 0);
    return pieces;
}

uint64_t RnicJobGraph::HostDelayPs(uint32_t host) const
{
    return host < hostDelayPs.size() ? hostDelayPs[host] : 0;
}

std::vector<uint32_t> RnicJobGraph::Order() const
{
    std::vector<uint32_t> waits(transfers.size());
    std::vector<std::vector<uint32_t>> next(transfers.size());
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < transfers.size(); i++)
    {
        waits[i] = static_cast<uint32_t>(transfers[i].after.size());
        for (uint32_t before : transfers[i].after)
        {
            next[before].push_back(i);
        }
        if (waits[i] == 0)
        {
            order.push_back(i);
        }
    }
    for (size_t done = 0; done < order.size(); done++)
    {
        for (uint32_t i : next[order[done]])
        {
            if (--waits[i] == 0)
            {
                order.push_back(i);
            }
        }
    }
    return order;
}

namespace
{

std::string CheckSpan(const RnicJobGraph &graph, uint32_t buffer, uint32_t host, uint64_t offset,
                      uint64_t bytes, const char *what)
{
    if (buffer >= graph.buffers.size() || graph.buffers[buffer].host != host)
    {
        return std::string("has no ") + what + " buffer at host " + std::to_string(host);
    }
    const uint64_t size = graph.buffers[buffer].bytes;
    if (offset > size || bytes > size - offset)
    {
        return std::string("reaches beyond its ") + what + " buffer";
    }
    return "";
}

std::string CheckTransfer(const RnicJobGraph &graph, const RnicJobTransfer &t)
{
    if (t.src >= graph.hosts || t.dst >= graph.hosts || t.src == t.dst)
    {
        return "goes from host " + std::to_string(t.src) + " to host " + std::to_string(t.dst);
    }
    std::string wrong = CheckSpan(graph, t.srcBuffer, t.src, t.srcOffset, t.bytes, "source");
    bool slot = t.dstBuffer == RNIC_JOB_NONE &&
                (t.verb == RnicJobVerb::SEND || t.verb == RnicJobVerb::SEND_IMM);
    if (wrong.empty() && !slot)
    {
        wrong = CheckSpan(graph, t.dstBuffer, t.dst, t.dstOffset, t.bytes, "destination");
    }
    if (wrong.empty() && t.reduce)
    {
        wrong = CheckSpan(graph, t.reduceBuffer, t.dst, t.reduceOffset, t.bytes, "reduction");
        if (!RnicJobVerbHasReceive(t.verb) || t.bytes % 4 != 0)
        {
            wrong = "cannot be reduced: nobody tells its receiver, or it is no float32 array";
        }
    }
    if (wrong.empty() && RnicJobVerbIsAtomic(t.verb))
    {
        wrong = CheckSpan(graph, t.answerBuffer, t.src, 0, t.bytes, "answer");
        if (t.bytes == 0 || t.bytes % WORD_BYTES != 0 || t.bytes > RNIC_JOB_MAX_ATOMIC_BYTES)
        {
            wrong = "has " + std::to_string(t.bytes) +
                    " bytes: atomics change 8 bytes each, from 8 bytes to 1 MiB of them";
        }
        else if (t.srcOffset % WORD_BYTES != 0 || t.dstOffset % WORD_BYTES != 0)
        {
            wrong = "begins at no multiple of 8, as atomics must";
        }
    }
    if (wrong.empty() && graph.qps.uc &&
        (t.verb == RnicJobVerb::READ || RnicJobVerbIsAtomic(t.verb)))
    {
        wrong = std::string("is a ") + RnicJobVerbName(t.verb) + ", which UC does not offer";
    }
    for (uint32_t before : t.after)
    {
        if (before >= graph.transfers.size())
        {
            return "waits for transfer " + std::to_string(before) + ", which does not exist";
        }
        const RnicJobTransfer &b = graph.transfers[before];
        uint32_t knows = RnicJobVerbHasReceive(b.verb) ? b.dst : b.Poster();
        if (knows != t.Poster())
        {
            return "waits for transfer " + std::to_string(before) + ", of whose end only host " +
                   std::to_string(knows) + " learns";
        }
    }
    return wrong;
}

} // namespace

std::string RnicJobGraph::Check() const
{
    constexpr uint64_t HOST_BYTES = uint64_t(1) << 62; // places in it have 64 bits
    std::vector<uint64_t> held(hosts, 0);
    for (const RnicJobBuffer &buffer : buffers)
    {
        if (buffer.host >= hosts)
        {
            return "a buffer is at host " + std::to_string(buffer.host) + ", which does not exist";
        }
        if (buffer.bytes > HOST_BYTES - held[buffer.host])
        {
            return "the buffers of host " + std::to_string(buffer.host) +
                   " hold more than 2^62 bytes";
        }
        held[buffer.host] += buffer.bytes;
    }
    for (size_t i = 0; i < transfers.size(); i++)
    {
        const std::string wrong = CheckTransfer(*this, transfers[i]);
        if (!wrong.empty())
        {
            return "transfer " + std::to_string(i) + " " + wrong;
        }
    }
    if (Order().size() != transfers.size())
    {
        return "transfers wait for each other in a circle";
    }
    return "";
}

} // namespace ns3
