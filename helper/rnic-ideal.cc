/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-ideal.h"

#include <algorithm>

namespace ns3
{

namespace
{

constexpr uint64_t WORD_BYTES = 8; // what an atomic changes

/* Opcode of data packet `i` of `n` of a message. */
uint8_t OpcodeOf(RnicJobVerb verb, bool imm, uint64_t i, uint64_t n)
{
    const bool write = verb == RnicJobVerb::WRITE || verb == RnicJobVerb::WRITE_IMM;
    if (verb == RnicJobVerb::READ)
    {
        return n == 1      ? WIRE_OP_READ_RESP_ONLY
               : i == 0    ? WIRE_OP_READ_RESP_FIRST
               : i + 1 < n ? WIRE_OP_READ_RESP_MIDDLE
                           : WIRE_OP_READ_RESP_LAST;
    }
    if (n == 1)
    {
        return write ? (imm ? WIRE_OP_WRITE_ONLY_IMM : WIRE_OP_WRITE_ONLY)
                     : (imm ? WIRE_OP_SEND_ONLY_IMM : WIRE_OP_SEND_ONLY);
    }
    if (i == 0)
    {
        return write ? WIRE_OP_WRITE_FIRST : WIRE_OP_SEND_FIRST;
    }
    if (i + 1 < n)
    {
        return write ? WIRE_OP_WRITE_MIDDLE : WIRE_OP_SEND_MIDDLE;
    }
    return write ? (imm ? WIRE_OP_WRITE_LAST_IMM : WIRE_OP_WRITE_LAST)
                 : (imm ? WIRE_OP_SEND_LAST_IMM : WIRE_OP_SEND_LAST);
}

struct Wave
{
    const std::vector<RnicIdealHop> &path;
    std::vector<uint64_t> free; /* when each link may start its next frame */
    uint64_t arrived = 0;

    explicit Wave(const std::vector<RnicIdealHop> &p) : path(p), free(p.size(), 0)
    {
    }

    /**
     * The same frame @p n times. As soon as one more shifts every time by the same amount, each
     * further one does too: times are only added to and compared.
     */
    void Repeat(uint32_t frameBytes, uint64_t n)
    {
        std::vector<uint64_t> before;
        while (n > 0)
        {
            before = free;
            const uint64_t arrivedBefore = arrived;
            Send(frameBytes);
            n--;
            const uint64_t shift = arrived - arrivedBefore;
            bool even = true;
            for (size_t hop = 0; hop < free.size(); hop++)
            {
                even = even && free[hop] - before[hop] == shift;
            }
            if (even)
            {
                arrived += n * shift;
                for (uint64_t &time : free)
                {
                    time += n * shift;
                }
                return;
            }
        }
    }

    void Send(uint32_t frameBytes)
    {
        uint64_t at = 0;
        for (size_t hop = 0; hop < path.size(); hop++)
        {
            uint64_t start = std::max(at + path[hop].beforePs, free[hop]);
            free[hop] =
                start + wire_line_time_ps(uint64_t(frameBytes) + WIRE_GAP_BYTES, path[hop].rateBps);
            at = start +
                 wire_line_time_ps(uint64_t(frameBytes) + WIRE_PREAMBLE_BYTES, path[hop].rateBps) +
                 path[hop].delayPs;
        }
        arrived = at;
    }
};

/* Time of one frame in the other direction. */
uint64_t AloneBack(const std::vector<RnicIdealHop> &path, uint32_t frameBytes)
{
    std::vector<RnicIdealHop> back(path.rbegin(), path.rend());
    for (size_t hop = back.size(); hop-- > 0;)
    {
        back[hop].beforePs = hop == 0 ? 0 : back[hop - 1].beforePs;
    }
    Wave wave(back);
    wave.Send(frameBytes);
    return wave.arrived;
}

} // namespace

uint64_t RnicIdealPackets(uint64_t bytes, uint32_t mtu, RnicJobVerb verb)
{
    uint64_t packets = 0;
    for (uint32_t piece : RnicJobMessages(bytes, verb))
    {
        packets += piece == 0 ? 1 : (uint64_t(piece) + mtu - 1) / mtu;
    }
    return packets;
}

uint64_t RnicIdealTransferPs(RnicJobVerb verb, uint64_t bytes, uint32_t mtu,
                             const std::vector<RnicIdealHop> &path)
{
    bool imm = verb == RnicJobVerb::WRITE_IMM || verb == RnicJobVerb::SEND_IMM;
    Wave wave(path);
    if (RnicJobVerbIsAtomic(verb))
    {
        wave.Repeat(wire_frame_length(WIRE_OP_FETCH_ADD, 0, 0), bytes / WORD_BYTES);
        return wave.arrived + AloneBack(path, wire_frame_length(WIRE_OP_ATOMIC_ACKNOWLEDGE, 0, 0));
    }
    const std::vector<uint32_t> pieces = RnicJobMessages(bytes);
    for (size_t piece = 0; piece < pieces.size(); piece++)
    {
        const uint64_t n = pieces[piece] == 0 ? 1 : (uint64_t(pieces[piece]) + mtu - 1) / mtu;
        const uint32_t last = static_cast<uint32_t>(pieces[piece] - (n - 1) * mtu);
        const bool withImm = imm && piece + 1 == pieces.size();
        if (n > 1)
        {
            wave.Send(wire_frame_length(OpcodeOf(verb, withImm, 0, n), 0, mtu));
        }
        if (n > 2)
        {
            wave.Repeat(wire_frame_length(OpcodeOf(verb, withImm, 1, n), 0, mtu), n - 2);
        }
        wave.Send(wire_frame_length(OpcodeOf(verb, withImm, n - 1, n), 0, last));
    }
    const bool read = verb == RnicJobVerb::READ;
    return wave.arrived +
           (read ? AloneBack(path, wire_frame_length(WIRE_OP_READ_REQUEST, 0, 0)) : 0);
}

RnicIdeal::RnicIdeal(const RnicScenario &scenario)
    : m_mtu(static_cast<uint32_t>(scenario.nic.mtu_bytes)), m_ackEvery(scenario.nic.ack_every)
{
    m_path.push_back({scenario.link.rate_bps, scenario.link.delay_ps, 0});
    if (scenario.star)
    {
        m_path.push_back(
            {scenario.link.rate_bps, scenario.link.delay_ps, scenario.fabric.latency_ps});
    }
}

uint64_t RnicIdeal::TransferPs(const RnicJobTransfer &transfer) const
{
    auto key = std::make_pair(transfer.bytes, static_cast<int>(transfer.verb));
    auto known = m_known.find(key);
    if (known != m_known.end())
    {
        return known->second;
    }
    return m_known[key] = RnicIdealTransferPs(transfer.verb, transfer.bytes, m_mtu, m_path);
}

uint64_t RnicIdeal::BdpBytes() const
{
    const uint64_t rttPs = RnicIdealTransferPs(RnicJobVerb::WRITE, m_mtu, m_mtu, m_path) +
                           AloneBack(m_path, wire_frame_length(WIRE_OP_ACKNOWLEDGE, 0, 0));
    uint64_t packetPs = 0; // where it takes longest
    for (const RnicIdealHop &hop : m_path)
    {
        const uint64_t line = wire_frame_length(WIRE_OP_WRITE_MIDDLE, 0, m_mtu) + WIRE_GAP_BYTES;
        packetPs = std::max(packetPs, wire_line_time_ps(line, hop.rateBps));
    }
    return ((rttPs + packetPs - 1) / packetPs + m_ackEvery - 1) * m_mtu;
}

uint64_t RnicIdeal::GraphPs(const RnicJobGraph &graph, int collective, bool acks) const
{
    std::vector<uint64_t> done(graph.transfers.size(), 0);
    const uint64_t ackPs = wire_line_time_ps(
        uint64_t(wire_frame_length(WIRE_OP_ACKNOWLEDGE, 0, 0)) + WIRE_GAP_BYTES, m_path[0].rateBps);
    uint64_t first = WIRE_NEVER;
    uint64_t end = 0;
    for (uint32_t i : graph.Order())
    {
        const RnicJobTransfer &t = graph.transfers[i];
        uint64_t start = std::max(t.startPs, graph.HostDelayPs(t.Poster()));
        for (uint32_t before : t.after)
        {
            start = std::max(start, done[before]);
        }
        uint64_t arrived = start + TransferPs(t);
        if (acks)
        {
            uint64_t packets = RnicIdealPackets(t.bytes, m_mtu, t.verb);
            arrived += (packets + m_ackEvery - 1) / m_ackEvery * ackPs;
        }
        done[i] = arrived;
        if (RnicJobVerbHasReceive(t.verb)) /* the receiver acts on it: not before its own start */
        {
            done[i] =
                std::max(done[i], graph.HostDelayPs(t.dst)) + (t.reduce ? graph.reduceTimePs : 0);
        }
        if (collective < 0 || t.collective == collective)
        {
            first = std::min(first, start);
            end = std::max(end, arrived);
        }
    }
    return end == 0 ? 0 : end - first;
}

} // namespace ns3
