/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-job-data.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace ns3
{

namespace
{

constexpr uint32_t FLOAT_EXACT = 1u << 24; /* every integer up to here is a float32 */

constexpr uint64_t HUGE_BYTES = 2 << 20; /* a huge page */

/* Zeroed, and every page touched: else the run would pay for the faults. */
uint8_t *Allocate(uint64_t bytes)
{
    const uint64_t align = bytes >= HUGE_BYTES ? HUGE_BYTES : 64;
    const uint64_t rounded = (bytes + align - 1) / align * align;
    auto *block = static_cast<uint8_t *>(std::aligned_alloc(align, rounded));
    if (block == nullptr)
    {
        throw std::bad_alloc();
    }
    if (align == HUGE_BYTES)
    {
        (void)madvise(block, rounded, MADV_HUGEPAGE); // a hint, may be refused
    }
    std::memset(block, 0, rounded);
    return block;
}

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

// Eight bytes at `offset` (a multiple of 8) of what transfer `id` sends.
uint64_t PatternWord(uint32_t id, uint64_t offset)
{
    return Mix((uint64_t(id) + 1) * 0x9E3779B97F4A7C15u + offset / 8);
}

void FillPattern(uint32_t id, uint8_t *to, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i += 8)
    {
        const uint64_t word = PatternWord(id, i);
        std::memcpy(to + i, &word, std::min<uint64_t>(8, bytes - i));
    }
}

// Largest input of one rank: the sum of all stays exact.
uint32_t InputBound(uint32_t ranks)
{
    return (FLOAT_EXACT - 1) / ranks;
}

uint32_t InputOf(uint32_t bound, uint32_t rank, uint64_t index)
{
    uint32_t hash = static_cast<uint32_t>(index) * 2654435761u + rank * 0x9E3779B1u;
    hash = (hash ^ (hash >> 15)) * 0x85EBCA6Bu;
    return static_cast<uint32_t>((uint64_t(hash) * (bound + 1)) >> 32);
}

} // namespace

void RnicJobData::Free::operator()(uint8_t *bytes) const
{
    std::free(bytes);
}

uint32_t RnicJobData::Input(uint32_t ranks, uint32_t rank, uint64_t index)
{
    return InputOf(InputBound(ranks), rank, index);
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
        m_blocks[host].reset(Allocate(HostSize(host)));
    }
    for (const RnicJobCollective &c : graph.collectives)
    {
        const uint32_t bound = InputBound(c.ranks);
        for (uint32_t rank = 0; rank < c.ranks; rank++)
        {
            uint8_t *array = Bytes(c.arrays[rank]);
            for (uint64_t i = 0; i < c.bytes / 4; i++)
            {
                float value = static_cast<float>(InputOf(bound, rank, i));
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
        if (t.answerBuffer != RNIC_JOB_NONE) // 0 is what each word of the destination held
        {
            std::memset(Bytes(t.answerBuffer), 0xFF, t.bytes);
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
        const uint64_t bytes = RoundUp(buffer.bytes);
        total = bytes > UINT64_MAX - total ? UINT64_MAX : total + bytes;
    }
    return total;
}

void RnicJobData::Reduce(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    float a[16];
    float b[16];
    uint64_t i = 0;
    for (; i + sizeof a <= bytes; i += sizeof a)
    {
        std::memcpy(a, to + i, sizeof a);
        std::memcpy(b, from + i, sizeof b);
        for (int k = 0; k < 16; k++)
        {
            a[k] += b[k];
        }
        std::memcpy(to + i, a, sizeof a);
    }
    for (; i < bytes; i += 4)
    {
        std::memcpy(a, to + i, 4);
        std::memcpy(b, from + i, 4);
        a[0] += b[0];
        std::memcpy(to + i, a, 4);
    }
}

bool RnicJobData::VerifyCollective(const RnicJobGraph &graph, uint32_t collective) const
{
    const RnicJobCollective &c = graph.collectives[collective];
    if (!graph.backed)
    {
        return false;
    }
    const uint32_t bound = InputBound(c.ranks);
    std::vector<const uint8_t *> arrays;
    for (uint32_t buffer : c.arrays)
    {
        arrays.push_back(Bytes(buffer));
    }
    for (uint64_t i = 0; i < c.bytes / 4; i++)
    {
        uint32_t sum = 0; // in integers, not in floats as the ring adds
        for (uint32_t rank = 0; rank < c.ranks; rank++)
        {
            sum += InputOf(bound, rank, i);
        }
        const float expected = static_cast<float>(sum);
        for (const uint8_t *array : arrays)
        {
            if (std::memcmp(array + i * 4, &expected, 4) != 0)
            {
                return false;
            }
        }
    }
    return true;
}

bool RnicJobData::VerifyTransfer(const RnicJobGraph &graph, uint32_t id, const uint8_t *at)
{
    const uint64_t bytes = graph.transfers[id].bytes;
    for (uint64_t i = 0; i < bytes; i += 8)
    {
        const uint64_t word = PatternWord(id, i);
        if (std::memcmp(at + i, &word, std::min<uint64_t>(8, bytes - i)) != 0)
        {
            return false;
        }
    }
    return true;
}

} // namespace ns3
