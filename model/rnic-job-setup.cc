/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RnicJob before the run: queue pairs, memory, completion queues, receives.
 */
#include "rnic-job.h"

#include "ns3/abort.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

namespace ns3
{

namespace
{

constexpr uint32_t MAX_DEPTH = 4096;            /* messages of one queue pair posted at once */
constexpr uint64_t HOST_VA = uint64_t(1) << 32; /* where a host's block begins */

} // namespace

RnicJob::RnicJob(const RnicJobGraph &graph, const std::vector<Ptr<RnicNetDevice>> &nics)
    : m_graph(graph), m_hosts(graph.hosts), m_results(graph.transfers.size()),
      m_waits(graph.transfers.size()), m_next(graph.transfers.size()),
      m_qpOfTransfer(graph.transfers.size(), nullptr),
      m_open(static_cast<uint32_t>(graph.transfers.size()))
{
    NS_ASSERT(nics.size() == graph.hosts);
    for (uint32_t host = 0; host < graph.hosts; host++)
    {
        m_hosts[host].nic = nics[host];
    }
    for (uint32_t i = 0; i < graph.transfers.size(); i++)
    {
        m_timers.push_back({this, i});
        m_waits[i] = static_cast<uint32_t>(graph.transfers[i].after.size());
        for (uint32_t before : graph.transfers[i].after)
        {
            m_next[before].push_back(i);
        }
    }
}

RnicJob::~RnicJob()
{
    if (!RnicEngine::Exists())
    {
        return;
    }
    for (uint32_t port = 0; port < m_hostOfPort.size(); port++)
    {
        if (m_hostOfPort[port] != RNIC_JOB_NONE)
        {
            RnicEngine::Get()->SetSink(port, nullptr);
        }
    }
}

void RnicJob::Check(int result, const char *what) const
{
    if (result >= 0)
    {
        return;
    }
    // Inside the engine's run C functions are on the stack: no exception goes through them.
    NS_ABORT_MSG_IF(RnicEngine::Get()->IsRunning(),
                    "RnicJob: " << what << " failed: " << rnic_err_name(result));
    throw std::runtime_error(std::string(what) + " failed: " + rnic_err_name(result));
}

/* One queue pair for each (source, destination, number, direction), in the order of their first
 * transfer. */
void RnicJob::MakeQps()
{
    std::map<std::tuple<uint32_t, uint32_t, uint32_t, bool>, Qp *> known;
    std::map<Qp *, uint64_t> messages;
    for (uint32_t i = 0; i < m_graph.transfers.size(); i++)
    {
        const RnicJobTransfer &t = m_graph.transfers[i];
        const bool pull = t.verb == RnicJobVerb::READ;
        Qp *&qp = known[{t.src, t.dst, t.qp, pull}];
        if (qp == nullptr)
        {
            m_qps.push_back(std::make_unique<Qp>());
            qp = m_qps.back().get();
            qp->src = t.src;
            qp->dst = t.dst;
            qp->number = t.qp;
            qp->pull = pull;
        }
        m_qpOfTransfer[i] = qp;
        const std::vector<uint32_t> pieces = RnicJobMessages(t.bytes, t.verb);
        messages[qp] += pieces.size();
        if (t.dstBuffer == RNIC_JOB_NONE)
        {
            qp->receives += static_cast<uint32_t>(pieces.size());
            qp->slotBytes = std::max<uint64_t>(qp->slotBytes, pieces[0]);
        }
        else if (RnicJobVerbHasReceive(t.verb))
        {
            qp->receives++;
        }
    }
    std::vector<uint64_t> qpsOfHost(m_graph.hosts, 0);
    for (const auto &qp : m_qps)
    {
        qpsOfHost[qp->src]++;
        qpsOfHost[qp->dst]++;
    }
    for (const auto &qp : m_qps)
    {
        const struct rnic_params &params = m_hosts[qp->src].nic->GetParams();
        uint64_t share = params.max_cqe / std::max(qpsOfHost[qp->src], qpsOfHost[qp->dst]);
        uint64_t depth = std::min<uint64_t>({messages[qp.get()], params.max_wr, MAX_DEPTH, share});
        /* queues are rounded up to a power of two: stay below the limits */
        qp->depth = static_cast<uint32_t>(std::max<uint64_t>(depth, 1));
    }
}

/* A SEND lands in the next posted receive: a slot for each message, in the order of arrival. */
void RnicJob::MakeSlots()
{
    for (const auto &qp : m_qps)
    {
        if (qp->slotBytes > 0)
        {
            qp->slotBuffer = static_cast<uint32_t>(m_graph.buffers.size());
            m_graph.buffers.push_back({qp->dst, qp->slotBytes * qp->receives});
        }
    }
}

void RnicJob::MakeHost(uint32_t host)
{
    Host &h = m_hosts[host];
    uint64_t sends = 1;
    uint64_t receives = 1;
    for (const auto &qp : m_qps)
    {
        sends += qp->Poster() == host ? qp->depth : 0;
        receives += qp->dst == host ? std::min(qp->receives, qp->depth) : 0;
    }
    const uint64_t most = h.nic->GetParams().max_cqe;
    h.verbs = CreateObject<RnicVerbs>(h.nic);
    Check(h.verbs->AllocPd(&h.pd), "alloc_pd");
    Check(h.verbs->RegMr(h.pd, HOST_VA, m_data->HostSize(host), m_data->HostBytes(host),
                         RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |
                             RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC,
                         &h.key),
          "reg_mr");
    Check(h.verbs->CreateCq(static_cast<uint32_t>(std::min(sends, most)), &h.sendCq), "create_cq");
    Check(h.verbs->CreateCq(static_cast<uint32_t>(std::min(receives, most)), &h.recvCq),
          "create_cq");
    h.nic->EnableEvents(1u << RNIC_EVENT_PLACED | 1u << RNIC_EVENT_COMPLETION | m_observed);
    const uint32_t port = h.nic->GetPort();
    if (m_hostOfPort.size() <= port)
    {
        m_hostOfPort.resize(port + 1, RNIC_JOB_NONE);
    }
    m_hostOfPort[port] = host;
    RnicEngine::Get()->SetSink(port, this);
}

struct rnic_sge RnicJob::Sge(uint32_t buffer, uint64_t offset, uint32_t bytes) const
{
    const uint32_t host = m_graph.buffers[buffer].host;
    return {HOST_VA + m_data->Offset(buffer) + offset, bytes, m_hosts[host].key};
}

void RnicJob::ConnectQp(Qp &qp)
{
    Host &src = m_hosts[qp.src];
    Host &dst = m_hosts[qp.dst];
    struct rnic_qp_init_attr init = {};
    RnicConnectOptions options;
    init.type = m_graph.qps.uc ? RNIC_QPT_UC : RNIC_QPT_RC;
    init.recovery = m_graph.qps.recovery;
    init.window_bytes = m_graph.qps.windowBytes;
    init.e2e_credits = m_graph.qps.e2eCredits;
    options.type = init.type;
    options.maxRdAtomic = m_graph.qps.maxRdAtomic;
    options.rateLimitBps = m_graph.qps.rateLimitBps;
    options.roceV1 = m_graph.qps.roceV1;
    init.sq_sig_all = true;
    init.max_send_sge = 1;
    init.max_recv_sge = 1;
    init.pd = src.pd;
    init.send_cq = src.sendCq;
    init.recv_cq = src.recvCq;
    init.max_send_wr = qp.pull ? 1 : qp.depth;
    init.max_recv_wr = 1;
    Check(src.verbs->CreateQp(init, &qp.srcQpn), "create_qp");
    init.pd = dst.pd;
    init.send_cq = dst.sendCq;
    init.recv_cq = dst.recvCq;
    init.max_send_wr = qp.pull ? qp.depth : 1;
    init.max_recv_wr = std::max(std::min(qp.receives, qp.depth), 1u);
    Check(dst.verbs->CreateQp(init, &qp.dstQpn), "create_qp");
    Check(RnicVerbs::Connect(src.verbs, qp.srcQpn, dst.verbs, qp.dstQpn, options), "modify_qp");
    m_hosts[qp.Poster()].posters[qp.PosterQpn()] = &qp;
    dst.receivers[qp.dstQpn] = &qp;
    PostReceives(qp);
}

/* Keep as many receives posted as the queue holds, until every one of the job is. */
void RnicJob::PostReceives(Qp &qp)
{
    const uint32_t outstanding = qp.receivesPosted - qp.receivesDone;
    uint32_t room = std::min(qp.receives, qp.depth) - outstanding;
    for (; room > 0 && qp.receivesPosted < qp.receives; room--)
    {
        struct rnic_sge sge = {};
        struct rnic_recv_wr wr = {};
        wr.wr_id = qp.receivesPosted;
        if (qp.slotBuffer != RNIC_JOB_NONE)
        {
            sge = Sge(qp.slotBuffer, qp.slotBytes * qp.receivesPosted,
                      static_cast<uint32_t>(qp.slotBytes));
            wr.sg_list = &sge;
            wr.num_sge = 1;
        }
        Check(m_hosts[qp.dst].verbs->PostRecv(qp.dstQpn, wr), "post_recv");
        qp.receivesPosted++;
    }
}

void RnicJob::Setup()
{
    MakeQps();
    MakeSlots();
    m_data = std::make_unique<RnicJobData>(m_graph);
    for (uint32_t host = 0; host < m_graph.hosts; host++)
    {
        MakeHost(host);
    }
    for (const auto &qp : m_qps)
    {
        ConnectQp(*qp);
    }
}

} // namespace ns3
