/* SPDX-License-Identifier: GPL-2.0-only */
// UD: one queue pair sends to anybody. Who it is for stands in each work request, as an address
// handle, a queue pair number and a Q_Key. The receiver finds 40 bytes ahead of the data in which
// the card puts the IP header (GRH area), so that it can answer.

#include "rnic-two-hosts.h"

using namespace ns3;

static constexpr uint32_t QKEY = 0x1234;

int main(int argc, char *argv[])
{
    CommandLine(__FILE__).Parse(argc, argv);
    RnicHosts hosts(3);
    uint32_t qpn[3];
    for (uint32_t i = 0; i < 3; i++)
    {
        struct rnic_qp_init_attr init = hosts.verbs[i]->QpInit(hosts.pd[i], hosts.cq[i], 16);
        init.type = RNIC_QPT_UD;
        hosts.verbs[i]->CreateQp(init, &qpn[i]);
        hosts.verbs[i]->StartUd(qpn[i], QKEY);
        hosts.verbs[i]->PostRecv(qpn[i], 10 + i, hosts.memory[i], 4096, 4096);
    }

    // Host 0 greets hosts 1 and 2 from one queue pair; a third datagram has the wrong Q_Key.
    const uint32_t bytes = hosts.Put(0, "to whom it concerns");
    const struct rnic_sge from = hosts.memory[0]->Sge(0, bytes);
    for (uint32_t peer : {1, 2, 1})
    {
        static uint64_t number = 0;
        struct rnic_send_wr wr = {};
        wr.wr_id = number++;
        wr.opcode = RNIC_WR_SEND;
        wr.send_flags = RNIC_SEND_SIGNALED;
        wr.sg_list = &from;
        wr.num_sge = 1;
        hosts.verbs[0]->CreateAh(hosts.pd[0], hosts.verbs[peer], &wr.ud.ah);
        wr.ud.remote_qpn = qpn[peer];
        wr.ud.remote_qkey = wr.wr_id == 2 ? QKEY + 1 : QKEY;
        hosts.verbs[0]->PostSend(qpn[0], wr);
    }
    hosts.Run();
    hosts.Print(0); // UD: sent is complete; nobody says what became of it

    bool good = true;
    for (uint32_t i : {1, 2})
    {
        const struct rnic_wc wc = hosts.Print(i);
        const uint8_t *grh = hosts.memory[i]->Data() + 4096;
        // IPv4 is in the last 20 of the 40 bytes; its source address at 12.
        std::cout << "host " << i << " got " << wc.byte_len - RNIC_GRH_BYTES << " bytes from queue "
                  << "pair " << wc.src_qp << " of " << Ipv4Address::Deserialize(grh + 20 + 12)
                  << ": \"" << hosts.Text(i, 4096 + RNIC_GRH_BYTES) << "\"" << std::endl;
        good = good && wc.src_qp == qpn[0] && (wc.wc_flags & RNIC_WC_GRH) != 0;
    }
    const struct rnic_counters *counters =
        rnic_query_counters(hosts.verbs[1]->GetDevice()->GetDevice());
    std::cout << "host 1 dropped " << counters->drops[WIRE_DROP_QKEY] << " for its Q_Key"
              << std::endl;
    return good ? 0 : 1;
}
