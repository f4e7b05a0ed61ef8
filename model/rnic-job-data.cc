/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-job-data.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace ns3
{

namespace
{

constexpr uint32_t FLOAT_EXACT = 1u << 24; /* every integer up to here is a float32 */

uint64_t RoundUp(uint64_t bytes)
{
    return (bytes + 4095) / 4096 * 4096;
}

uint64_t Mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Byte `offset` of what transfer `id` sends. */
uint8_t PatternByte(uint32_t id, uint64_t offset)
{
    uint64_t word = Mix((uint64_t(id) + 1) * 0x9E3779B97F4A7C15u + offset / 8);
    return static_cast<uint8_t>(word >> (offset % 8 * 8));
}

void FillPattern(uint32_t id, uint8_t *to, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
    {
        to[i] = PatternByte(id, i);
    }
}

} // namespace

void RnicJobData::Free::operator()(uint8_t *bytes) const
{
    std::free(bytes);
}

uint32_t RnicJobData::Input(uint32_t ranks, uint32_t rank, uint64_t index)
{
    const uint32_t bound = (FLOAT_EXACT - 1) / ranks;
    uint32_t hash = static_cast<uint32_t>(index) * 2654435761u + rank * 0x9E3779B1u;
    hash = (hash ^ (hash >> 15)) * 0x85EBCA6Bu;
    return static_cast<uint32_t>((uint64_t(hash) * (bound + 1)) >> 32);
}

RnicJobData::RnicJobData(const RnicJobGraph &graph) : m_blocks(graph.hosts), m_sizes(graph.hosts, 0)
{
    for (const RnicJobBuffer &buffer : graph.buffers)
    {
        m_offsets.push_back(m_sizes[buffer.host]);
        m_hosts.push_back(buffer.host);
        m_sizes[buffer.host] += RoundUp(buffer.bytes);
    }
    if (!graph.backed)
    {
        return;
    }
    for (uint32_t host = 0; host < graph.hosts; host++)
    {
        m_blocks[host].reset(static_cast<uint8_t *>(std::calloc(HostSize(host), 1)));
        if (!m_blocks[host])
        {
            throw std::bad_alloc();
        }
    }
    for (const RnicJobCollective &c : graph.collectives)
    {
        for (uint32_t rank = 0; rank < c.ranks; rank++)
        {
            uint8_t *array = Bytes(c.arrays[rank]);
            for (uint64_t i = 0; i < c.bytes / 4; i++)
            {
                float value = static_cast<float>(Input(c.ranks, rank, i));
                std::memcpy(array + i * 4, &value, 4);
            }
        }
    }
    for (uint32_t i = 0; i < graph.transfers.size(); i++)
    {
        const RnicJobTransfer &t = graph.transfers[i];
        if (t.collective < 0 && t.bytes > 0)
        {
            FillPattern(i, Bytes(t.srcBuffer) + t.srcOffset, t.bytes);
        }
    }
}

uint8_t *RnicJobData::Bytes(uint32_t buffer)
{
    uint8_t *block = m_blocks[m_hosts[buffer]].get();
    return block == nullptr ? nullptr : block + m_offsets[buffer];
}

const uint8_t *RnicJobData::Bytes(uint32_t buffer) const
{
    const uint8_t *block = m_blocks[m_hosts[buffer]].get();
    return block == nullptr ? nullptr : block + m_offsets[buffer];
}

uint8_t *RnicJobData::HostBytes(uint32_t host)
{
    return m_blocks[host].get();
}

uint64_t RnicJobData::HostSize(uint32_t host) const
{
    return m_sizes[host] > 0 ? m_sizes[host] : 1;
}

uint64_t RnicJobData::Offset(uint32_t buffer) const
{
    return m_offsets[buffer];
}

uint64_t RnicJobData::TotalBytes(const RnicJobGraph &graph)
{
    uint64_t total = 0;
    for (const RnicJobBuffer &buffer : graph.buffers)
    {
        total += RoundUp(buffer.bytes);
    }
    return total;
}

void RnicJobData::Reduce(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i += 4)
    {
        float a;
        float b;
        std::memcpy(&a, to + i, 4);
        std::memcpy(&b, from + i, 4);
        a += b;
        std::memcpy(to + i, &a, 4);
    }
}

bool RnicJobData::VerifyCollective(const RnicJobGraph &graph, uint32_t collective) const
{
    const RnicJobCollective &c = graph.collectives[collective];
    if (!graph.backed)
    {
        return false;
    }
    for (uint64_t i = 0; i < c.bytes / 4; i++)
    {
        uint32_t sum = 0; /* in integers, not in floats as the ring adds */
        for (uint32_t rank = 0; rank < c.ranks; rank++)
        {
            sum += Input(c.ranks, rank, i);
        }
        const float expected = static_cast<float>(sum);
        for (uint32_t rank = 0; rank < c.ranks; rank++)
        {
            if (std::memcmp(Bytes(c.arrays[rank]) + i * 4, &expected, 4) != 0)
            {
                return false;
            }
        }
    }
    return true;
}

bool RnicJobData::VerifyTransfer(const RnicJobGraph &graph, uint32_t id, const uint8_t *at)
{
    for (uint64_t i = 0; i < graph.transfers[id].bytes; i++)
    {
        if (at[i] != PatternByte(id, i))
        {
            return false;
        }
    }
    return true;
}

} // namespace ns3
