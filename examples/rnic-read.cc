/* SPDX-License-Identifier: GPL-2.0-only */
// READ: host 0 fetches bytes out of host 1's memory; host 1's software takes no part. A WRITE that
// must not be sent before the READ is over carries the fence flag.

#include "rnic-two-hosts.h"

using namespace ns3;

int main(int argc, char *argv[])
{
    CommandLine(__FILE__).Parse(argc, argv);
    RnicHosts hosts;
    const auto [qp0, qp1] = hosts.Connect(0, 1);
    (void)qp1; // its card answers; nobody posts anything there

    const uint32_t bytes = hosts.Put(1, "what host 1 has", 1000);
    hosts.verbs[0]->PostRead(qp0, 1, hosts.memory[0], 0, hosts.memory[1], 1000, bytes);

    // Sends back what the READ is to bring: without RNIC_SEND_FENCE the WRITE would leave right
    // behind the READ's request, with bytes that are not there yet.
    const struct rnic_sge from = hosts.memory[0]->Sge(0, bytes);
    struct rnic_send_wr wr = {};
    wr.wr_id = 2;
    wr.opcode = RNIC_WR_RDMA_WRITE;
    wr.send_flags = RNIC_SEND_SIGNALED | RNIC_SEND_FENCE;
    wr.rkey = hosts.memory[1]->Key();
    wr.remote_addr = hosts.memory[1]->Va() + 2000;
    wr.sg_list = &from;
    wr.num_sge = 1;
    hosts.verbs[0]->PostSend(qp0, wr);

    hosts.Run();
    hosts.Print(0);
    std::cout << "host 0 has read \"" << hosts.Text(0) << "\"" << std::endl;
    std::cout << "host 1 got back \"" << hosts.Text(1, 2000) << "\"" << std::endl;
    return std::strcmp(hosts.Text(1, 2000), "what host 1 has") == 0 ? 0 : 1;
}
