/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-application.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/pointer.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <iterator>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RnicApplication");
NS_OBJECT_ENSURE_REGISTERED(RnicApplication);

namespace
{

/** Names of attribute Verb, and whether the peer must have posted a receive. */
struct Verb
{
    const char *name;
    enum rnic_wr_opcode opcode;
    bool needsReceive;
};

constexpr Verb VERBS[] = {
    {"write", RNIC_WR_RDMA_WRITE, false},
    {"write_imm", RNIC_WR_RDMA_WRITE_WITH_IMM, true},
    {"send", RNIC_WR_SEND, true},
    {"send_imm", RNIC_WR_SEND_WITH_IMM, true},
};

constexpr uint64_t RECEIVE_ID = uint64_t(1) << 63; //!< wr_id bit of receives

const Verb &FindVerb(enum rnic_wr_opcode opcode)
{
    auto same = [opcode](const Verb &verb)
    {
        return verb.opcode == opcode;
    };

    return *std::find_if(std::begin(VERBS), std::end(VERBS), same);
}

/** Abort when a verb that must not fail here did. */
void Must(int result, const char *what)
{
    NS_ABORT_MSG_IF(result < 0, "RnicApplication: " << what << ": " << rnic_err_name(result));
}

} // namespace

TypeId RnicApplication::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RnicApplication")
            .SetParent<Application>()
            .SetGroupName("Rnic")
            .AddConstructor<RnicApplication>()
            .AddAttribute("Verb", "What to do: write, write_imm, send, send_imm.",
                          StringValue("write"),
                          MakeStringAccessor(&RnicApplication::SetVerb, &RnicApplication::GetVerb),
                          MakeStringChecker())
            .AddAttribute("Bytes", "Bytes of each operation.", UintegerValue(65536),
                          MakeUintegerAccessor(&RnicApplication::m_bytes),
                          MakeUintegerChecker<uint32_t>(0, uint32_t(1) << 31))
            .AddAttribute("Count", "Number of operations; 0: only receive.", UintegerValue(0),
                          MakeUintegerAccessor(&RnicApplication::m_count),
                          MakeUintegerChecker<uint64_t>())
            .AddAttribute("Depth", "Operations posted at a time.", UintegerValue(16),
                          MakeUintegerAccessor(&RnicApplication::m_depth),
                          MakeUintegerChecker<uint32_t>(1, 16384))
            .AddAttribute("Phantom", "Memory without bytes: sizes and checks only.",
                          BooleanValue(false), MakeBooleanAccessor(&RnicApplication::m_phantom),
                          MakeBooleanChecker())
            .AddAttribute("Device", "The card; default: the first one of the node.", PointerValue(),
                          MakePointerAccessor(&RnicApplication::m_device),
                          MakePointerChecker<RnicNetDevice>())
            .AddTraceSource("Completion", "An operation of this end completed.",
                            MakeTraceSourceAccessor(&RnicApplication::m_completion),
                            "ns3::RnicApplication::CompletionTracedCallback")
            .AddTraceSource("Receive", "A receive of this end completed.",
                            MakeTraceSourceAccessor(&RnicApplication::m_receive),
                            "ns3::RnicApplication::CompletionTracedCallback")
            .AddTraceSource("Done", "All operations of this end have completed.",
                            MakeTraceSourceAccessor(&RnicApplication::m_doneTrace),
                            "ns3::RnicApplication::DoneTracedCallback");
    return tid;
}

RnicApplication::RnicApplication()
    : m_pd(0), m_cq(0), m_qpn(0), m_prepared(false), m_connected(false), m_stopped(false),
      m_done(false), m_posted(0), m_completed(0), m_failed(0)
{
}

RnicApplication::~RnicApplication() = default;

void RnicApplication::DoDispose()
{
    m_peer = nullptr;
    m_device = nullptr;
    m_verbs = nullptr;
    m_sendMemory = nullptr;
    m_receiveMemory = nullptr;
    Application::DoDispose();
}

void RnicApplication::SetPeer(Ptr<RnicApplication> peer)
{
    NS_ABORT_MSG_IF(m_connected, "RnicApplication: connected already");
    m_peer = peer;
    peer->m_peer = this;
}

void RnicApplication::SetDevice(Ptr<RnicNetDevice> device)
{
    m_device = device;
}

void RnicApplication::SetVerb(std::string verb)
{
    auto same = [&verb](const Verb &one)
    {
        return verb == one.name;
    };
    auto found = std::find_if(std::begin(VERBS), std::end(VERBS), same);

    NS_ABORT_MSG_IF(found == std::end(VERBS), "RnicApplication: no verb \""
                                                  << verb
                                                  << "\"; there are: write, write_imm, send, "
                                                     "send_imm");
    m_verb = found->opcode;
}

std::string RnicApplication::GetVerb() const
{
    return FindVerb(m_verb).name;
}

Ptr<RnicVerbs> RnicApplication::GetVerbs()
{
    Prepare();
    return m_verbs;
}

Ptr<RnicMemory> RnicApplication::GetSendMemory()
{
    Prepare();
    return m_sendMemory;
}

Ptr<RnicMemory> RnicApplication::GetReceiveMemory()
{
    Prepare();
    return m_receiveMemory;
}

uint32_t RnicApplication::GetQpn()
{
    Prepare();
    return m_qpn;
}

uint64_t RnicApplication::GetCompleted() const
{
    return m_completed;
}

uint64_t RnicApplication::GetFailed() const
{
    return m_failed;
}

void RnicApplication::Prepare()
{
    if (m_prepared)
    {
        return;
    }
    NS_ABORT_MSG_UNLESS(m_peer, "RnicApplication: SetPeer() first");
    for (uint32_t i = 0; !m_device && i < GetNode()->GetNDevices(); i++)
    {
        m_device = DynamicCast<RnicNetDevice>(GetNode()->GetDevice(i));
    }
    NS_ABORT_MSG_UNLESS(m_device, "RnicApplication: the node has no RnicNetDevice");
    m_prepared = true;
    m_verbs = CreateObject<RnicVerbs>(m_device);

    // One CQ takes this end's operations and as many receives as the peer has in flight.
    const uint32_t depth = std::max(m_depth, m_peer->m_depth);

    Must(m_verbs->AllocPd(&m_pd), "protection domain");
    Must(m_verbs->CreateCq(2 * depth, &m_cq), "completion queue");
    Must(m_verbs->CreateQp(m_pd, m_cq, depth, &m_qpn), "queue pair");

    int result = 0;
    const unsigned access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE;

    m_sendMemory =
        m_verbs->AllocMemory(m_pd, std::max<uint32_t>(m_bytes, 1), 0, m_phantom, &result);
    Must(result, "send memory");
    m_receiveMemory = m_verbs->AllocMemory(m_pd, std::max<uint32_t>(m_peer->m_bytes, 1), access,
                                           m_phantom, &result);
    Must(result, "receive memory");
    m_verbs->SetCqCallback(m_cq, MakeCallback(&RnicApplication::OnCq, this));
    Must(m_verbs->ReqNotifyCq(m_cq), "completion event");
}

void RnicApplication::Connect()
{
    if (m_connected)
    {
        return;
    }
    Prepare();
    m_peer->Prepare();
    Must(RnicVerbs::Connect(m_verbs, m_qpn, m_peer->m_verbs, m_peer->m_qpn), "connect");
    m_connected = true;
    m_peer->m_connected = true;
    PostReceives();
    m_peer->PostReceives();
}

void RnicApplication::PostReceives()
{
    if (!FindVerb(m_peer->m_verb).needsReceive)
    {
        return;
    }
    for (uint32_t i = 0; i < m_peer->m_depth; i++)
    {
        PostReceive();
    }
}

void RnicApplication::PostReceive()
{
    const struct rnic_sge sge = m_receiveMemory->Sge(0, m_peer->m_bytes);
    const struct rnic_recv_wr wr = {RECEIVE_ID, &sge, 1};

    Must(m_verbs->PostRecv(m_qpn, wr), "receive");
}

void RnicApplication::StartApplication()
{
    Connect();
    Post();
}

void RnicApplication::StopApplication()
{
    m_stopped = true;
}

void RnicApplication::Post()
{
    while (!m_stopped && m_failed == 0 && m_posted < m_count && m_posted - m_completed < m_depth)
    {
        const struct rnic_sge sge = m_sendMemory->Sge(0, m_bytes);
        struct rnic_send_wr wr = {};

        wr.wr_id = m_posted;
        wr.opcode = m_verb;
        wr.send_flags = RNIC_SEND_SIGNALED;
        wr.imm = static_cast<uint32_t>(m_posted);
        wr.rkey = m_peer->m_receiveMemory->Key();
        wr.remote_addr = m_peer->m_receiveMemory->Va();
        wr.sg_list = &sge;
        wr.num_sge = 1;
        Must(m_verbs->PostSend(m_qpn, wr), "post");
        m_posted++;
    }
}

void RnicApplication::OnCq(uint32_t cq)
{
    struct rnic_wc wc[16];
    int n;

    // Armed before it is polled empty: what comes in between makes another event.
    Must(m_verbs->ReqNotifyCq(cq), "completion event");
    while ((n = m_verbs->PollCq(cq, 16, wc)) > 0)
    {
        for (int i = 0; i < n; i++)
        {
            Handle(wc[i]);
        }
    }
    Post();
}

void RnicApplication::Handle(const struct rnic_wc &wc)
{
    if (wc.wr_id & RECEIVE_ID)
    {
        m_receive(wc);
        if (wc.status == RNIC_WC_SUCCESS)
        {
            PostReceive();
        }
        return;
    }
    m_completed++;
    m_failed += wc.status != RNIC_WC_SUCCESS;
    m_completion(wc);
    if (!m_done && (m_completed == m_count || (m_failed > 0 && m_completed == m_posted)))
    {
        m_done = true;
        m_doneTrace(m_completed, m_failed);
    }
}

} // namespace ns3
