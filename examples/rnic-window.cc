/* SPDX-License-Identifier: GPL-2.0-only */
// Memory windows: host 1 opens 256 bytes of a large region to host 0, for one job. Binding costs a
// work request, not a registration; the key is taken back by the peer (SEND with invalidate) or by
// its owner (local invalidate), and opens nothing from then on.

#include "rnic-two-hosts.h"

using namespace ns3;

// WRITE of `bytes` bytes to `offset` of host 1's region, through the window.
static void Write(RnicHosts &hosts, uint32_t qp, uint64_t id, uint32_t key, uint32_t offset,
                  uint32_t bytes)
{
    const struct rnic_sge from = hosts.memory[0]->Sge(0, bytes);
    struct rnic_send_wr wr = {};
    wr.wr_id = id;
    wr.opcode = RNIC_WR_RDMA_WRITE;
    wr.send_flags = RNIC_SEND_SIGNALED;
    wr.rkey = key;
    wr.remote_addr = hosts.memory[1]->Va() + offset;
    wr.sg_list = &from;
    wr.num_sge = 1;
    hosts.verbs[0]->PostSend(qp, wr);
}

int main(int argc, char *argv[])
{
    CommandLine(__FILE__).Parse(argc, argv);
    RnicHosts hosts;
    const auto [qp0, qp1] = hosts.Connect(0, 1);
    uint32_t window;
    hosts.verbs[1]->AllocMw(hosts.pd[1], &window);
    const uint32_t key = (window & ~0xFFu) | ((window + 1) & 0xFFu); // another variant, ours to say

    // Host 1 binds the window and would tell its peer the key; here the program just knows it.
    hosts.verbs[1]->PostBindMw(qp1, 100, window, key, hosts.memory[1], 4096, 256,
                               RNIC_ACCESS_REMOTE_WRITE);
    hosts.verbs[1]->PostRecv(qp1, 101, hosts.memory[1], 0, 64);
    hosts.Run();
    hosts.Print(1);

    Write(hosts, qp0, 1, key, 4096, hosts.Put(0, "through the window"));

    // The job is done: a SEND tells host 1 and closes the window behind the WRITE.
    struct rnic_send_wr wr = {};
    wr.wr_id = 2;
    wr.opcode = RNIC_WR_SEND_WITH_INV;
    wr.send_flags = RNIC_SEND_SIGNALED;
    wr.invalidate_rkey = key;
    hosts.verbs[0]->PostSend(qp0, wr);
    hosts.Run();
    hosts.Print(0);
    const struct rnic_wc told = hosts.Print(1);
    std::cout << "host 1 has \"" << hosts.Text(1, 4096) << "\", and key " << std::hex << "0x"
              << told.invalidated_rkey << std::dec
              << (told.invalidated_rkey == key ? " is closed" : " is another") << std::endl;

    // The same key once more: refused, no byte is written, and the queue pair is in error.
    Write(hosts, qp0, 3, key, 4096, hosts.Put(0, "too late"));
    hosts.Run();
    const struct rnic_wc refused = hosts.Print(0);
    std::cout << "host 1 still has \"" << hosts.Text(1, 4096) << "\"" << std::endl;
    return refused.status == RNIC_WC_REM_ACCESS_ERR ? 0 : 1;
}
