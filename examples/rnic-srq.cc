/* SPDX-License-Identifier: GPL-2.0-only */
// SRQ: host 0 serves hosts 1 to 3 from one stock of receives, not from one for each queue pair.
// When few are left the card says so, and the host posts more.

#include "rnic-two-hosts.h"

using namespace ns3;

static constexpr uint32_t SLOT_BYTES = 64;

static void Stock(RnicHosts *hosts, uint32_t srq, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++)
    {
        const struct rnic_sge slot = hosts->memory[0]->Sge(i * SLOT_BYTES, SLOT_BYTES);
        hosts->verbs[0]->PostSrqRecv(srq, {i, &slot, 1});
    }
}

// Told once, when fewer than the limit are left; armed again by ModifySrq().
static void OnAsync(RnicHosts *hosts, const struct rnic_event &event)
{
    if (event.type == RNIC_EVENT_SRQ_LIMIT)
    {
        uint32_t left;
        hosts->verbs[0]->QuerySrq(event.srq, nullptr, &left);
        std::cout << "host 0: only " << left << " left, 4 more" << std::endl;
        Stock(hosts, event.srq, 4, 4);
    }
}

int main(int argc, char *argv[])
{
    CommandLine(__FILE__).Parse(argc, argv);
    RnicHosts hosts(4);
    struct rnic_srq_attr attr = {};
    attr.max_wr = 8;
    attr.max_sge = 1;
    attr.limit = 2;
    uint32_t srq;
    hosts.verbs[0]->CreateSrq(hosts.pd[0], attr, &srq);
    hosts.verbs[0]->SetAsyncCallback(MakeBoundCallback(&OnAsync, &hosts));
    Stock(&hosts, srq, 0, 4);

    // Three queue pairs at host 0 that take their receives from it.
    uint32_t qp[4];
    for (uint32_t peer : {1, 2, 3})
    {
        uint32_t server;
        struct rnic_qp_init_attr init = hosts.verbs[0]->QpInit(hosts.pd[0], hosts.cq[0], 4);
        init.srq = srq;
        hosts.verbs[0]->CreateQp(init, &server);
        hosts.verbs[peer]->CreateQp(hosts.pd[peer], hosts.cq[peer], 4, &qp[peer]);
        RnicVerbs::Connect(hosts.verbs[peer], qp[peer], hosts.verbs[0], server);
    }
    auto greet = [&](const char *text)
    {
        for (uint32_t peer : {1, 2, 3})
        {
            const std::string line = std::string(text) + " of host " + std::to_string(peer);
            hosts.verbs[peer]->PostSendInline(qp[peer], 1, line.c_str(), uint32_t(line.size() + 1));
        }
    };
    greet("first");
    Simulator::Schedule(MicroSeconds(20),
                        [&]() { greet("second"); }); // after the stock is filled up
    hosts.Run();

    int got = 0;
    struct rnic_wc wc;
    while (hosts.verbs[0]->PollCq(hosts.cq[0], 1, &wc) == 1)
    {
        std::cout << "host 0: receive " << wc.wr_id << ", " << rnic_wc_status_name(wc.status)
                  << ": \"" << hosts.Text(0, uint32_t(wc.wr_id) * SLOT_BYTES) << "\"" << std::endl;
        got += wc.status == RNIC_WC_SUCCESS;
    }
    return got == 6 ? 0 : 1;
}
