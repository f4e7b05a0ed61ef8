/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-verbs.h"

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/pointer.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RnicVerbs");
NS_OBJECT_ENSURE_REGISTERED(RnicVerbs);

namespace
{
constexpr uint64_t FIRST_VA = 0x10000000; //!< where a host's memory begins
constexpr uint64_t VA_ALIGN = 0x200000;   //!< distance of two memories is a multiple of it
} // namespace

// ---- memory ----

RnicMemory::RnicMemory(uint64_t bytes, uint64_t va, bool phantom)
    : m_bytes(phantom ? 0 : bytes), m_size(bytes), m_va(va), m_key(0)
{
}

uint8_t *RnicMemory::Data()
{
    return m_bytes.empty() ? nullptr : m_bytes.data();
}

uint64_t RnicMemory::Size() const
{
    return m_size;
}

uint64_t RnicMemory::Va() const
{
    return m_va;
}

uint32_t RnicMemory::Key() const
{
    return m_key;
}

void RnicMemory::SetKey(uint32_t key)
{
    m_key = key;
}

struct rnic_sge RnicMemory::Sge(uint64_t offset, uint32_t length) const
{
    return {m_va + offset, length, m_key};
}

// ---- verbs ----

TypeId RnicVerbs::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RnicVerbs")
            .SetParent<Object>()
            .SetGroupName("Rnic")
            .AddConstructor<RnicVerbs>()
            .AddAttribute("Device", "The card.", PointerValue(),
                          MakePointerAccessor(&RnicVerbs::SetDevice, &RnicVerbs::GetDevice),
                          MakePointerChecker<RnicNetDevice>());
    return tid;
}

RnicVerbs::RnicVerbs() : m_nextVa(FIRST_VA)
{
}

RnicVerbs::RnicVerbs(Ptr<RnicNetDevice> device) : m_device(device), m_nextVa(FIRST_VA)
{
}

RnicVerbs::~RnicVerbs() = default;

void RnicVerbs::DoDispose()
{
    m_device = nullptr;
    Object::DoDispose();
}

void RnicVerbs::SetDevice(Ptr<RnicNetDevice> device)
{
    m_device = device;
}

Ptr<RnicNetDevice> RnicVerbs::GetDevice() const
{
    return m_device;
}

int RnicVerbs::AllocPd(uint32_t *pd)
{
    return m_device->Verb([=](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_alloc_pd(dev, pd, now_ps); });
}

int RnicVerbs::DeallocPd(uint32_t pd)
{
    return m_device->Verb([=](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_dealloc_pd(dev, pd, now_ps); });
}

int RnicVerbs::RegMr(uint32_t pd, uint64_t va, uint64_t length, void *host, unsigned access,
                     uint32_t *key)
{
    return m_device->Verb([=](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_reg_mr(dev, pd, va, length, host, access, key, now_ps); });
}

int RnicVerbs::DeregMr(uint32_t key)
{
    return m_device->Verb([=](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_dereg_mr(dev, key, now_ps); });
}

Ptr<RnicMemory> RnicVerbs::AllocMemory(uint32_t pd, uint64_t bytes, unsigned access, bool phantom,
                                       int *error)
{
    Ptr<RnicMemory> memory = Create<RnicMemory>(bytes, m_nextVa, phantom);
    uint32_t key = 0;
    const int result = RegMr(pd, m_nextVa, bytes, memory->Data(), access, &key);

    if (error)
    {
        *error = result;
    }
    if (result < 0)
    {
        return nullptr;
    }
    memory->SetKey(key);
    m_nextVa += (bytes + VA_ALIGN) / VA_ALIGN * VA_ALIGN; // one byte free at least
    return memory;
}

int RnicVerbs::CreateCq(uint32_t entries, uint32_t *cq)
{
    return m_device->Verb([=](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_create_cq(dev, entries, cq, now_ps); });
}

int RnicVerbs::DestroyCq(uint32_t cq)
{
    return m_device->Verb([=](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_destroy_cq(dev, cq, now_ps); });
}

int RnicVerbs::PollCq(uint32_t cq, uint32_t n, struct rnic_wc *wc)
{
    return m_device->Verb([=](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_poll_cq(dev, cq, n, wc, now_ps); });
}

int RnicVerbs::ReqNotifyCq(uint32_t cq, bool solicitedOnly)
{
    return m_device->Verb([=](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_req_notify_cq(dev, cq, solicitedOnly, now_ps); });
}

void RnicVerbs::SetCqCallback(uint32_t cq, Callback<void, uint32_t> cb)
{
    m_device->SetCqCallback(cq, cb);
}

int RnicVerbs::CreateQp(const struct rnic_qp_init_attr &init, uint32_t *qpn)
{
    return m_device->Verb([&](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_create_qp(dev, &init, qpn, now_ps); });
}

int RnicVerbs::CreateQp(uint32_t pd, uint32_t cq, uint32_t depth, uint32_t *qpn)
{
    struct rnic_qp_init_attr init = {};

    init.type = RNIC_QPT_RC;
    init.pd = pd;
    init.send_cq = cq;
    init.recv_cq = cq;
    init.max_send_wr = depth;
    init.max_recv_wr = depth;
    init.max_send_sge = 1;
    init.max_recv_sge = 1;
    return CreateQp(init, qpn);
}

int RnicVerbs::ModifyQp(uint32_t qpn, const struct rnic_qp_attr &attr, unsigned mask)
{
    return m_device->Verb([&](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_modify_qp(dev, qpn, &attr, mask, now_ps); });
}

int RnicVerbs::QueryQp(uint32_t qpn, struct rnic_qp_attr *attr, struct rnic_qp_counters *counters)
{
    return m_device->Verb(
        [=](struct rnic_device *dev, uint64_t now_ps)
        {
            (void)now_ps;
            return rnic_query_qp(dev, qpn, attr, counters);
        });
}

int RnicVerbs::DestroyQp(uint32_t qpn)
{
    return m_device->Verb([=](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_destroy_qp(dev, qpn, now_ps); });
}

int RnicVerbs::QueryRate(uint32_t qpn, uint64_t *bps, double *alpha)
{
    return m_device->Verb([=](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_query_rate(dev, qpn, bps, alpha, now_ps); });
}

int RnicVerbs::PostSend(uint32_t qpn, const struct rnic_send_wr &wr)
{
    return m_device->Verb([&](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_post_send(dev, qpn, &wr, now_ps); });
}

int RnicVerbs::PostRecv(uint32_t qpn, const struct rnic_recv_wr &wr)
{
    return m_device->Verb([&](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_post_recv(dev, qpn, &wr, now_ps); });
}

int RnicVerbs::PostWrite(uint32_t qpn, uint64_t wrId, Ptr<const RnicMemory> local,
                         uint64_t localOffset, Ptr<const RnicMemory> remote, uint64_t remoteOffset,
                         uint32_t length)
{
    const struct rnic_sge sge = local->Sge(localOffset, length);
    struct rnic_send_wr wr = {};

    wr.wr_id = wrId;
    wr.opcode = RNIC_WR_RDMA_WRITE;
    wr.send_flags = RNIC_SEND_SIGNALED;
    wr.rkey = remote->Key();
    wr.remote_addr = remote->Va() + remoteOffset;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    return PostSend(qpn, wr);
}

int RnicVerbs::ConnectTo(uint32_t localQpn, uint32_t station, uint32_t qpn, uint32_t mtuBytes,
                         unsigned access)
{
    const struct rnic_params &params = m_device->GetParams();
    struct rnic_qp_attr attr = {};
    int result;

    attr.qp_state = RNIC_QPS_INIT;
    attr.qp_access_flags = access;
    attr.port_num = 1;
    result = ModifyQp(localQpn, attr,
                      RNIC_QP_STATE | RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_ACCESS_FLAGS);
    if (result < 0)
    {
        return result;
    }
    attr.qp_state = RNIC_QPS_RTR;
    attr.av.dest_station = station;
    attr.av.next_hop = m_device->GetNextHop(station);
    attr.av.traffic_class = static_cast<uint8_t>(params.dscp << 2);
    attr.av.hop_limit = static_cast<uint8_t>(params.ttl);
    attr.path_mtu_bytes = mtuBytes;
    attr.dest_qp_num = qpn;
    attr.min_rnr_timer = static_cast<uint8_t>(params.min_rnr_timer);
    result = ModifyQp(localQpn, attr,
                      RNIC_QP_STATE | RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN |
                          RNIC_QP_RQ_PSN | RNIC_QP_MAX_DEST_RD_ATOMIC | RNIC_QP_MIN_RNR_TIMER);
    if (result < 0)
    {
        return result;
    }
    attr.qp_state = RNIC_QPS_RTS;
    attr.timeout = static_cast<uint8_t>(params.timeout);
    attr.retry_cnt = static_cast<uint8_t>(params.retry_cnt);
    attr.rnr_retry = static_cast<uint8_t>(params.rnr_retry);
    return ModifyQp(localQpn, attr,
                    RNIC_QP_STATE | RNIC_QP_TIMEOUT | RNIC_QP_RETRY_CNT | RNIC_QP_RNR_RETRY |
                        RNIC_QP_SQ_PSN | RNIC_QP_MAX_QP_RD_ATOMIC);
}

int RnicVerbs::Connect(Ptr<RnicVerbs> a, uint32_t qpnA, Ptr<RnicVerbs> b, uint32_t qpnB,
                       unsigned access)
{
    const uint64_t mtu =
        std::min(a->m_device->GetParams().mtu_bytes, b->m_device->GetParams().mtu_bytes);
    const auto mtuBytes = static_cast<uint32_t>(mtu);
    const int result = a->ConnectTo(qpnA, b->m_device->GetPort(), qpnB, mtuBytes, access);

    return result < 0 ? result : b->ConnectTo(qpnB, a->m_device->GetPort(), qpnA, mtuBytes, access);
}

} // namespace ns3
