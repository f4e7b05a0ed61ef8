/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-application.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/data-rate.h"
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
    {"read", RNIC_WR_RDMA_READ, false},
    {"fetch_add", RNIC_WR_ATOMIC_FETCH_AND_ADD, false},
    {"compare_swap", RNIC_WR_ATOMIC_CMP_AND_SWP, false},
};

constexpr const char *RECOVERIES[] = {"go-back-n", "go-back-0", "selective"};
constexpr uint32_t ATOMIC_BYTES = 8;

constexpr uint64_t RECEIVE_ID = uint64_t(1) << 63; //!< wr_id bit of receives

const Verb &FindVerb(enum rnic_wr_opcode opcode)
{
    auto same = [opcode](const Verb &verb)
    {
        return verb.opcode == opcode;
    };

    return *std::find_if(std::begin(VERBS), std::end(VERBS), same);
}

bool IsAtomic(enum rnic_wr_opcode opcode)
{
    return opcode == RNIC_WR_ATOMIC_FETCH_AND_ADD || opcode == RNIC_WR_ATOMIC_CMP_AND_SWP;
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
            .AddAttribute("Verb",
                          "What to do: write, write_imm, send, send_imm, read, fetch_add, "
                          "compare_swap.",
                          StringValue("write"),
                          MakeStringAccessor(&RnicApplication::SetVerb, &RnicApplication::GetVerb),
                          MakeStringChecker())
            .AddAttribute("Bytes", "Bytes of each operation; atomics have 8.", UintegerValue(65536),
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
            .AddAttribute(
                "Service", "rc, or uc (write and send): the same at both ends.", StringValue("rc"),
                MakeStringAccessor(&RnicApplication::SetService, &RnicApplication::GetService),
                MakeStringChecker())
            .AddAttribute(
                "Recovery", "go-back-n, go-back-0, selective: the same at both ends.",
                StringValue("go-back-n"),
                MakeStringAccessor(&RnicApplication::SetRecovery, &RnicApplication::GetRecovery),
                MakeStringChecker())
            .AddAttribute("Window",
                          "Bytes unacknowledged at most, the same at both ends; 0: no window.",
                          UintegerValue(0), MakeUintegerAccessor(&RnicApplication::m_window),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("RateLimit", "Static rate of what this end sends; 0: none.",
                          DataRateValue(DataRate(0)),
                          MakeDataRateAccessor(&RnicApplication::m_rateLimit),
                          MakeDataRateChecker())
            .AddAttribute("RoceV1", "EtherType 0x8915: stays in one broadcast domain.",
                          BooleanValue(false), MakeBooleanAccessor(&RnicApplication::m_roceV1),
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
                                                     "send_imm, read, fetch_add, compare_swap");
    m_verb = found->opcode;
}

void RnicApplication::SetService(std::string service)
{
    NS_ABORT_MSG_IF(service != "rc" && service != "uc",
                    "RnicApplication: no service \"" << service << "\"; there are: rc, uc");
    m_type = service == "uc" ? RNIC_QPT_UC : RNIC_QPT_RC;
}

std::string RnicApplication::GetService() const
{
    return m_type == RNIC_QPT_UC ? "uc" : "rc";
}

void RnicApplication::SetRecovery(std::string recovery)
{
    auto found = std::find(std::begin(RECOVERIES), std::end(RECOVERIES), recovery);

    NS_ABORT_MSG_IF(found == std::end(RECOVERIES),
                    "RnicApplication: no recovery \""
                        << recovery << "\"; there are: go-back-n, go-back-0, selective");
    m_recovery = static_cast<enum rnic_recovery>(found - std::begin(RECOVERIES));
}

std::string RnicApplication::GetRecovery() const
{
    return RECOVERIES[m_recovery];
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
    struct rnic_qp_init_attr init = m_verbs->QpInit(m_pd, m_cq, depth);

    init.type = m_type;
    init.recovery = m_recovery;
    init.window_bytes = m_window;
    Must(m_verbs->CreateQp(init, &m_qpn), "queue pair");
    MakeMemory();
    m_verbs->SetCqCallback(m_cq, MakeCallback(&RnicApplication::OnCq, this));
    Must(m_verbs->ReqNotifyCq(m_cq), "completion event");
}

void RnicApplication::MakeMemory()
{
    // A READ takes the other way: each memory is as long as what either end does with it.
    const uint32_t pulled = m_peer->m_verb == RNIC_WR_RDMA_READ ? m_peer->m_bytes : 0;
    const uint32_t pulls = m_verb == RNIC_WR_RDMA_READ ? m_bytes : 0;
    const unsigned access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |
                            RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC;
    int result = 0;

    m_sendMemory =
        m_verbs->AllocMemory(m_pd, std::max({m_bytes, pulled, IsAtomic(m_verb) ? ATOMIC_BYTES : 1}),
                             RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_READ, m_phantom, &result);
    Must(result, "send memory");
    m_receiveMemory = m_verbs->AllocMemory(
        m_pd, std::max({m_peer->m_bytes, pulls, IsAtomic(m_peer->m_verb) ? ATOMIC_BYTES : 1}),
        access, m_phantom, &result);
    Must(result, "receive memory");
}

void RnicApplication::Connect()
{
    if (m_connected)
    {
        return;
    }
    Prepare();
    m_peer->Prepare();
    NS_ABORT_MSG_IF(m_type != m_peer->m_type || m_recovery != m_peer->m_recovery ||
                        m_window != m_peer->m_window || m_roceV1 != m_peer->m_roceV1,
                    "RnicApplication: Service, Recovery, Window and RoceV1 are the same at both "
                    "ends");

    const uint64_t mtu =
        std::min(m_device->GetParams().mtu_bytes, m_peer->m_device->GetParams().mtu_bytes);
    const uint64_t reads =
        std::min(m_device->GetParams().max_rd_atomic, m_peer->m_device->GetParams().max_rd_atomic);
    RnicConnectOptions options;

    options.type = m_type;
    options.mtuBytes = static_cast<uint32_t>(mtu);
    options.maxRdAtomic = static_cast<int>(reads);
    options.roceV1 = m_roceV1;
    for (const auto &[end, other] :
         {std::pair{this, PeekPointer(m_peer)}, std::pair{PeekPointer(m_peer), this}})
    {
        options.rateLimitBps = end->m_rateLimit.GetBitRate();
        Must(end->m_verbs->ConnectTo(end->m_qpn, other->m_device->GetPort(), other->m_qpn, options),
             "connect");
    }
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
        const bool read = m_verb == RNIC_WR_RDMA_READ;
        const struct rnic_sge sge =
            read ? m_receiveMemory->Sge(0, m_bytes)
                 : m_sendMemory->Sge(0, IsAtomic(m_verb) ? ATOMIC_BYTES : m_bytes);
        Ptr<RnicMemory> remote = read ? m_peer->m_sendMemory : m_peer->m_receiveMemory;
        struct rnic_send_wr wr = {};

        wr.wr_id = m_posted;
        wr.opcode = m_verb;
        wr.send_flags = RNIC_SEND_SIGNALED;
        wr.imm = static_cast<uint32_t>(m_posted);
        wr.rkey = remote->Key();
        wr.remote_addr = remote->Va();
        if (IsAtomic(m_verb))
        {
            wr.atomic.compare_add = m_verb == RNIC_WR_ATOMIC_CMP_AND_SWP ? m_posted : 1;
            wr.atomic.swap = m_posted + 1;
        }
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
