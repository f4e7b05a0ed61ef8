/* SPDX-License-Identifier: GPL-2.0-only */
// Atomics: hosts 1 and 2 count on one word in host 0's memory, at the same time. Each addition
// brings back what stood there before, so each number is drawn once. Then both want the word to be
// theirs with COMPARE_AND_SWAP, and one of them gets it.

#include "rnic-two-hosts.h"

using namespace ns3;

static constexpr uint64_t DRAWS = 8; // of each host

int main(int argc, char *argv[])
{
    CommandLine(__FILE__).Parse(argc, argv);
    RnicHosts hosts(3);
    uint32_t qp[3] = {0, hosts.Connect(1, 0).first, hosts.Connect(2, 0).first};
    auto words = [&](uint32_t host)
    {
        return reinterpret_cast<uint64_t *>(hosts.memory[host]->Data());
    };

    for (uint64_t i = 0; i < DRAWS; i++)
    {
        for (uint32_t host : {1, 2})
        {
            // The answer goes to word i of the host's own memory.
            hosts.verbs[host]->PostFetchAdd(qp[host], i, hosts.memory[host], 8 * i, hosts.memory[0],
                                            0, 1);
        }
    }
    hosts.Run();
    uint64_t sum = 0;
    for (uint32_t host : {1, 2})
    {
        std::cout << "host " << host << " drew";
        for (uint64_t i = 0; i < DRAWS; i++)
        {
            std::cout << ' ' << words(host)[i];
            sum += words(host)[i];
        }
        std::cout << std::endl;
    }
    std::cout << "the word is " << words(0)[0] << ", the sum of all draws " << sum << std::endl;

    // Whoever finds 16 there puts its own number in.
    const uint64_t compare = 2 * DRAWS;
    for (uint32_t host : {1, 2})
    {
        hosts.verbs[host]->PostCompareSwap(qp[host], DRAWS, hosts.memory[host], 0, hosts.memory[0],
                                           0, compare, 100 + host);
    }
    hosts.Run();
    for (uint32_t host : {1, 2})
    {
        std::cout << "host " << host << " found " << words(host)[0]
                  << (words(host)[0] == compare ? ": it is mine" : ": too late") << std::endl;
    }
    std::cout << "the word is " << words(0)[0] << std::endl;
    return sum == DRAWS * (2 * DRAWS - 1) ? 0 : 1;
}
