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
constexpr uint64_t INLINE_BYTES = 64;     //!< of a work request, unless somebody says otherwise
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
    m_async = Callback<void, const struct rnic_event &>();
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

int RnicVerbs::RegMrPages(uint32_t pd, uint64_t va, uint64_t length, uint32_t pageBytes,
                          const std::vector<void *> &pages, unsigned access, uint32_t *key)
{
    return m_device->Verb(
        [&](struct rnic_device *dev, uint64_t now_ps)
        {
            return rnic_reg_mr_pages(dev, pd, va, length, pageBytes, pages.data(),
                                     static_cast<uint32_t>(pages.size()), access, key, now_ps);
        });
}

int RnicVerbs::AllocMw(uint32_t pd, uint32_t *key)
{
    return m_device->Verb([&](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_alloc_mw(dev, pd, key, now_ps); });
}

int RnicVerbs::DeallocMw(uint32_t key)
{
    return m_device->Verb([&](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_dealloc_mw(dev, key, now_ps); });
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

void RnicVerbs::SetAsyncCallback(Callback<void, const struct rnic_event &> cb)
{
    if (!m_async.IsNull())
    {
        m_device->TraceDisconnectWithoutContext("AsyncEvent", m_async);
    }
    m_async = cb;
    if (!m_async.IsNull())
    {
        m_device->TraceConnectWithoutContext("AsyncEvent", m_async);
    }
}

// ---- shared receive queues, address handles ----

int RnicVerbs::CreateSrq(uint32_t pd, const struct rnic_srq_attr &attr, uint32_t *srq)
{
    return m_device->Verb([&](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_create_srq(dev, pd, &attr, srq, now_ps); });
}

int RnicVerbs::ModifySrq(uint32_t srq, uint32_t limit)
{
    return m_device->Verb([&](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_modify_srq(dev, srq, limit, now_ps); });
}

int RnicVerbs::QuerySrq(uint32_t srq, struct rnic_srq_attr *attr, uint32_t *queued)
{
    return m_device->Verb([=](struct rnic_device *dev, uint64_t)
                          { return rnic_query_srq(dev, srq, attr, queued); });
}

int RnicVerbs::DestroySrq(uint32_t srq)
{
    return m_device->Verb([&](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_destroy_srq(dev, srq, now_ps); });
}

int RnicVerbs::PostSrqRecv(uint32_t srq, const struct rnic_recv_wr &wr)
{
    return m_device->Verb([&](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_post_srq_recv(dev, srq, &wr, now_ps); });
}

struct rnic_av RnicVerbs::AddressOf(uint32_t station, bool roceV1) const
{
    const struct rnic_params &params = m_device->GetParams();
    struct wire_station peer = wire_addr_station(RnicEngine::Get()->GetBook(), station);
    struct rnic_av av = {};

    av.ipv6 = !roceV1 && !Ipv6Address(peer.gid).IsIpv4MappedAddress();
    av.dest_station = station;
    av.next_hop = m_device->GetNextHop(station);
    av.traffic_class = static_cast<uint8_t>(params.dscp << 2);
    av.hop_limit = static_cast<uint8_t>(params.ttl);
    av.roce_v1 = roceV1;
    return av;
}

int RnicVerbs::CreateAh(uint32_t pd, Ptr<const RnicVerbs> peer, uint32_t *ah)
{
    return CreateAh(pd, AddressOf(peer->m_device->GetPort()), ah);
}

int RnicVerbs::CreateAh(uint32_t pd, const struct rnic_av &av, uint32_t *ah)
{
    return m_device->Verb([&](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_create_ah(dev, pd, &av, ah, now_ps); });
}

int RnicVerbs::DestroyAh(uint32_t ah)
{
    return m_device->Verb([&](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_destroy_ah(dev, ah, now_ps); });
}

// ---- queue pairs ----

int RnicVerbs::CreateQp(const struct rnic_qp_init_attr &init, uint32_t *qpn)
{
    return m_device->Verb([&](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_create_qp(dev, &init, qpn, now_ps); });
}

struct rnic_qp_init_attr RnicVerbs::QpInit(uint32_t pd, uint32_t cq, uint32_t depth) const
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
    init.max_inline_data =
        static_cast<uint32_t>(std::min(INLINE_BYTES, m_device->GetParams().max_inline));
    return init;
}

int RnicVerbs::CreateQp(uint32_t pd, uint32_t cq, uint32_t depth, uint32_t *qpn)
{
    return CreateQp(QpInit(pd, cq, depth), qpn);
}

int RnicVerbs::ModifyQp(uint32_t qpn, const struct rnic_qp_attr &attr, unsigned mask)
{
    return m_device->Verb([&](struct rnic_device *dev, uint64_t now_ps)
                          { return rnic_modify_qp(dev, qpn, &attr, mask, now_ps); });
}

int RnicVerbs::SetQpState(uint32_t qpn, enum rnic_qp_state state)
{
    struct rnic_qp_attr attr = {};

    attr.qp_state = state;
    return ModifyQp(qpn, attr, RNIC_QP_STATE);
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

int RnicVerbs::PostRecv(uint32_t qpn, uint64_t wrId, Ptr<const RnicMemory> local, uint64_t offset,
                        uint32_t length)
{
    const struct rnic_sge sge = local->Sge(offset, length);

    return PostRecv(qpn, {wrId, &sge, 1});
}

int RnicVerbs::PostSend(uint32_t qpn, uint64_t wrId, Ptr<const RnicMemory> local, uint64_t offset,
                        uint32_t length)
{
    const struct rnic_sge sge = local->Sge(offset, length);
    struct rnic_send_wr wr = {};

    wr.wr_id = wrId;
    wr.opcode = RNIC_WR_SEND;
    wr.send_flags = RNIC_SEND_SIGNALED;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    return PostSend(qpn, wr);
}

int RnicVerbs::PostSendInline(uint32_t qpn, uint64_t wrId, const void *data, uint32_t length)
{
    const struct rnic_sge sge = {reinterpret_cast<uintptr_t>(data), length, 0};
    struct rnic_send_wr wr = {};

    wr.wr_id = wrId;
    wr.opcode = RNIC_WR_SEND;
    wr.send_flags = RNIC_SEND_SIGNALED | RNIC_SEND_INLINE;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    return PostSend(qpn, wr);
}

int RnicVerbs::PostRemote(uint32_t qpn, struct rnic_send_wr &wr, const struct rnic_sge &sge,
                          Ptr<const RnicMemory> remote, uint64_t remoteOffset)
{
    wr.send_flags = RNIC_SEND_SIGNALED;
    wr.rkey = remote->Key();
    wr.remote_addr = remote->Va() + remoteOffset;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    return PostSend(qpn, wr);
}

int RnicVerbs::PostWrite(uint32_t qpn, uint64_t wrId, Ptr<const RnicMemory> local,
                         uint64_t localOffset, Ptr<const RnicMemory> remote, uint64_t remoteOffset,
                         uint32_t length)
{
    struct rnic_send_wr wr = {};

    wr.wr_id = wrId;
    wr.opcode = RNIC_WR_RDMA_WRITE;
    return PostRemote(qpn, wr, local->Sge(localOffset, length), remote, remoteOffset);
}

int RnicVerbs::PostRead(uint32_t qpn, uint64_t wrId, Ptr<const RnicMemory> local,
                        uint64_t localOffset, Ptr<const RnicMemory> remote, uint64_t remoteOffset,
                        uint32_t length)
{
    struct rnic_send_wr wr = {};

    wr.wr_id = wrId;
    wr.opcode = RNIC_WR_RDMA_READ;
    return PostRemote(qpn, wr, local->Sge(localOffset, length), remote, remoteOffset);
}

int RnicVerbs::PostFetchAdd(uint32_t qpn, uint64_t wrId, Ptr<const RnicMemory> local,
                            uint64_t localOffset, Ptr<const RnicMemory> remote,
                            uint64_t remoteOffset, uint64_t add)
{
    struct rnic_send_wr wr = {};

    wr.wr_id = wrId;
    wr.opcode = RNIC_WR_ATOMIC_FETCH_AND_ADD;
    wr.atomic.compare_add = add;
    return PostRemote(qpn, wr, local->Sge(localOffset, 8), remote, remoteOffset);
}

int RnicVerbs::PostCompareSwap(uint32_t qpn, uint64_t wrId, Ptr<const RnicMemory> local,
                               uint64_t localOffset, Ptr<const RnicMemory> remote,
                               uint64_t remoteOffset, uint64_t compare, uint64_t swap)
{
    struct rnic_send_wr wr = {};

    wr.wr_id = wrId;
    wr.opcode = RNIC_WR_ATOMIC_CMP_AND_SWP;
    wr.atomic.compare_add = compare;
    wr.atomic.swap = swap;
    return PostRemote(qpn, wr, local->Sge(localOffset, 8), remote, remoteOffset);
}

int RnicVerbs::PostBindMw(uint32_t qpn, uint64_t wrId, uint32_t mw, uint32_t key,
                          Ptr<const RnicMemory> memory, uint64_t offset, uint64_t length,
                          unsigned access)
{
    struct rnic_send_wr wr = {};

    wr.wr_id = wrId;
    wr.opcode = RNIC_WR_BIND_MW;
    wr.send_flags = RNIC_SEND_SIGNALED;
    wr.rkey = key;
    wr.bind_mw.mw = mw;
    wr.bind_mw.mr = memory->Key();
    wr.bind_mw.addr = memory->Va() + offset;
    wr.bind_mw.length = length;
    wr.bind_mw.access = access;
    return PostSend(qpn, wr);
}

int RnicVerbs::PostLocalInv(uint32_t qpn, uint64_t wrId, uint32_t key)
{
    struct rnic_send_wr wr = {};

    wr.wr_id = wrId;
    wr.opcode = RNIC_WR_LOCAL_INV;
    wr.send_flags = RNIC_SEND_SIGNALED;
    wr.invalidate_rkey = key;
    return PostSend(qpn, wr);
}

// ---- connecting ----

int RnicVerbs::ConnectTo(uint32_t localQpn, uint32_t station, uint32_t qpn,
                         const RnicConnectOptions &options)
{
    const struct rnic_params &params = m_device->GetParams();
    const bool rc = options.type == RNIC_QPT_RC;
    const unsigned init = RNIC_QP_STATE | RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_ACCESS_FLAGS;
    const unsigned rtr =
        RNIC_QP_STATE | RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN |
        (rc ? unsigned(RNIC_QP_MAX_DEST_RD_ATOMIC) | unsigned(RNIC_QP_MIN_RNR_TIMER) : 0);
    const unsigned rts = RNIC_QP_STATE | RNIC_QP_SQ_PSN |
                         (rc ? unsigned(RNIC_QP_TIMEOUT) | unsigned(RNIC_QP_RETRY_CNT) |
                                   unsigned(RNIC_QP_RNR_RETRY) | unsigned(RNIC_QP_MAX_QP_RD_ATOMIC)
                             : 0) |
                         (options.rateLimitBps ? unsigned(RNIC_QP_RATE_LIMIT) : 0);
    struct rnic_qp_attr attr = {};

    if (options.maxRdAtomic > UINT8_MAX)
    {
        return RNIC_ERR_INVAL;
    }
    attr.qp_access_flags = options.access;
    attr.port_num = 1;
    attr.av = AddressOf(station, options.roceV1);
    attr.path_mtu_bytes =
        options.mtuBytes ? options.mtuBytes : static_cast<uint32_t>(params.mtu_bytes);
    attr.dest_qp_num = qpn;
    attr.rq_psn = {options.peerPsn < 0 ? options.psn : static_cast<uint32_t>(options.peerPsn)};
    attr.sq_psn = {options.psn};
    attr.max_rd_atomic = static_cast<uint8_t>(
        options.maxRdAtomic < 0 ? static_cast<int>(params.max_rd_atomic) : options.maxRdAtomic);
    attr.max_dest_rd_atomic = attr.max_rd_atomic;
    attr.min_rnr_timer = static_cast<uint8_t>(params.min_rnr_timer);
    attr.timeout = static_cast<uint8_t>(params.timeout);
    attr.retry_cnt = static_cast<uint8_t>(params.retry_cnt);
    attr.rnr_retry = static_cast<uint8_t>(params.rnr_retry);
    attr.rate_limit_bps = options.rateLimitBps;

    int result = 0;

    for (const auto &[state, mask] : {std::pair{RNIC_QPS_INIT, init}, std::pair{RNIC_QPS_RTR, rtr},
                                      std::pair{RNIC_QPS_RTS, rts}})
    {
        attr.qp_state = state;
        result = result < 0 ? result : ModifyQp(localQpn, attr, mask);
    }
    return result;
}

int RnicVerbs::Connect(Ptr<RnicVerbs> a, uint32_t qpnA, Ptr<RnicVerbs> b, uint32_t qpnB,
                       const RnicConnectOptions &options)
{
    const struct rnic_params &paramsA = a->m_device->GetParams();
    const struct rnic_params &paramsB = b->m_device->GetParams();
    RnicConnectOptions both = options;

    if (both.mtuBytes == 0)
    {
        both.mtuBytes = static_cast<uint32_t>(std::min(paramsA.mtu_bytes, paramsB.mtu_bytes));
    }
    if (both.maxRdAtomic < 0)
    {
        both.maxRdAtomic = static_cast<int>(std::min(paramsA.max_rd_atomic, paramsB.max_rd_atomic));
    }

    const int result = a->ConnectTo(qpnA, b->m_device->GetPort(), qpnB, both);

    if (both.peerPsn >= 0)
    {
        both.psn = static_cast<uint32_t>(both.peerPsn);
        both.peerPsn = options.psn;
    }
    return result < 0 ? result : b->ConnectTo(qpnB, a->m_device->GetPort(), qpnA, both);
}

int RnicVerbs::StartUd(uint32_t qpn, uint32_t qkey)
{
    struct rnic_qp_attr attr = {};
    int result;

    attr.port_num = 1;
    attr.qkey = qkey;
    attr.qp_state = RNIC_QPS_INIT;
    result = ModifyQp(qpn, attr, RNIC_QP_STATE | RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_QKEY);
    if (result == 0)
    {
        result = SetQpState(qpn, RNIC_QPS_RTR);
    }
    attr.qp_state = RNIC_QPS_RTS;
    return result < 0 ? result : ModifyQp(qpn, attr, RNIC_QP_STATE | RNIC_QP_SQ_PSN);
}

} // namespace ns3
