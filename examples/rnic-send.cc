/* SPDX-License-Identifier: GPL-2.0-only */
// SEND: the receiver says where bytes go, by posting a receive. An immediate of 32 bits comes with
// the completion, and a solicited SEND wakes a host that sleeps until somebody asks for it.

#include "rnic-two-hosts.h"

using namespace ns3;

// Host 1 has armed its queue for solicited completions: it sleeps through the first SEND.
static void OnWake(RnicHosts *hosts, uint32_t cq)
{
    struct rnic_wc wc;
    std::cout << "host 1 wakes up" << std::endl;
    while (hosts->verbs[1]->PollCq(cq, 1, &wc) == 1)
    {
        const uint32_t at = wc.wr_id == 11 ? 0 : 4096; // where that receive had its buffer
        std::cout << "host 1: receive " << wc.wr_id << ", " << wc.byte_len << " bytes \""
                  << hosts->Text(1, at) << "\"";
        if (wc.wc_flags & RNIC_WC_WITH_IMM)
        {
            std::cout << ", immediate " << wc.imm;
        }
        std::cout << std::endl;
    }
}

int main(int argc, char *argv[])
{
    CommandLine(__FILE__).Parse(argc, argv);
    RnicHosts hosts;
    const auto [qp0, qp1] = hosts.Connect(0, 1);

    // Receives are used in the order they were posted, whatever the messages are.
    hosts.verbs[1]->PostRecv(qp1, 11, hosts.memory[1], 0, 4096);
    hosts.verbs[1]->PostRecv(qp1, 12, hosts.memory[1], 4096, 4096);
    hosts.verbs[1]->SetCqCallback(hosts.cq[1], MakeBoundCallback(&OnWake, &hosts));
    hosts.verbs[1]->ReqNotifyCq(hosts.cq[1], true); // only solicited ones

    // A short message may travel inside the work request: its bytes may change right afterwards.
    hosts.verbs[0]->PostSendInline(qp0, 1, "good morning", 13);

    // Any work request can be written out as a struct, as with libibverbs.
    const uint32_t bytes = hosts.Put(0, "wake up");
    const struct rnic_sge from = hosts.memory[0]->Sge(0, bytes);
    struct rnic_send_wr wr = {};
    wr.wr_id = 2;
    wr.opcode = RNIC_WR_SEND_WITH_IMM;
    wr.send_flags = RNIC_SEND_SIGNALED | RNIC_SEND_SOLICITED;
    wr.imm = 4711;
    wr.sg_list = &from;
    wr.num_sge = 1;
    hosts.verbs[0]->PostSend(qp0, wr);

    hosts.Run();
    hosts.Print(0);
    return std::strcmp(hosts.Text(1, 4096), "wake up") == 0 ? 0 : 1;
}
