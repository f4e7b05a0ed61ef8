/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NS3_RNIC_VERBS_H
#define NS3_RNIC_VERBS_H

#include "rnic-c.h"
#include "rnic-net-device.h"

#include "ns3/object.h"
#include "ns3/simple-ref-count.h"

#include <vector>

namespace ns3
{

/**
 * @ingroup rnic
 * A piece of a host's memory, registered with its card: real bytes, or phantom (sizes only).
 */
class RnicMemory : public SimpleRefCount<RnicMemory>
{
public:
    /** @param bytes length; @param va virtual address; @param phantom true: no bytes. */
    RnicMemory(uint64_t bytes, uint64_t va, bool phantom);

    /** @returns the bytes; nullptr for a phantom. */
    uint8_t *Data();
    uint64_t Size() const;
    /** @returns virtual address of the first byte. */
    uint64_t Va() const;
    /** @returns lkey and rkey; 0 before RnicVerbs::RegMr. */
    uint32_t Key() const;
    void SetKey(uint32_t key);
    /** @returns the scatter/gather entry of @p length bytes from @p offset on. */
    struct rnic_sge Sge(uint64_t offset, uint32_t length) const;

private:
    std::vector<uint8_t> m_bytes;
    uint64_t m_size;
    uint64_t m_va;
    uint32_t m_key;
};

/**
 * @ingroup rnic
 * Verbs of one card for C++ programs: libibverbs' names, the C structs of rnic_verbs.h.
 *
 * Every call enters the engine at Simulator::Now(), grows the card's arena when it is used up, and
 * returns what the C verb returns: 0 or a count, or a negative RNIC_ERR_*.
 */
class RnicVerbs : public Object
{
public:
    static TypeId GetTypeId();

    RnicVerbs();
    /** @param device the card to work on; must be connected before the first verb. */
    explicit RnicVerbs(Ptr<RnicNetDevice> device);
    ~RnicVerbs() override;

    void SetDevice(Ptr<RnicNetDevice> device);
    Ptr<RnicNetDevice> GetDevice() const;

    int AllocPd(uint32_t *pd);
    int DeallocPd(uint32_t pd);
    int RegMr(uint32_t pd, uint64_t va, uint64_t length, void *host, unsigned access,
              uint32_t *key);
    int DeregMr(uint32_t key);
    /** Make and register @p bytes of memory; nullptr on an error, which @p error then holds. */
    Ptr<RnicMemory> AllocMemory(uint32_t pd, uint64_t bytes, unsigned access, bool phantom = false,
                                int *error = nullptr);

    int CreateCq(uint32_t entries, uint32_t *cq);
    int DestroyCq(uint32_t cq);
    int PollCq(uint32_t cq, uint32_t n, struct rnic_wc *wc);
    int ReqNotifyCq(uint32_t cq, bool solicitedOnly = false);
    /**
     * Call @p cb(cq) as an ns-3 event at each completion event of @p cq; arm it with
     * ReqNotifyCq(), and again (then poll) inside the callback.
     */
    void SetCqCallback(uint32_t cq, Callback<void, uint32_t> cb);

    int CreateQp(const struct rnic_qp_init_attr &init, uint32_t *qpn);
    /** A queue pair with one CQ for both directions and @p depth work requests each way. */
    int CreateQp(uint32_t pd, uint32_t cq, uint32_t depth, uint32_t *qpn);
    int ModifyQp(uint32_t qpn, const struct rnic_qp_attr &attr, unsigned mask);
    int QueryQp(uint32_t qpn, struct rnic_qp_attr *attr, struct rnic_qp_counters *counters);
    int DestroyQp(uint32_t qpn);
    int QueryRate(uint32_t qpn, uint64_t *bps, double *alpha);

    int PostSend(uint32_t qpn, const struct rnic_send_wr &wr);
    int PostRecv(uint32_t qpn, const struct rnic_recv_wr &wr);
    /** Signalled RDMA WRITE of @p length bytes between two memories. */
    int PostWrite(uint32_t qpn, uint64_t wrId, Ptr<const RnicMemory> local, uint64_t localOffset,
                  Ptr<const RnicMemory> remote, uint64_t remoteOffset, uint32_t length);

    /**
     * Bring two fresh queue pairs to RTS, each the other's peer, with the parameters of their
     * cards (path MTU is the smaller one). @p access: what the peers may do.
     * @returns 0, or the error of the first step that failed.
     */
    static int Connect(Ptr<RnicVerbs> a, uint32_t qpnA, Ptr<RnicVerbs> b, uint32_t qpnB,
                       unsigned access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE);
    /** One side of Connect(): RESET to RTS towards @p qpn at @p station. */
    int ConnectTo(uint32_t localQpn, uint32_t station, uint32_t qpn, uint32_t mtuBytes,
                  unsigned access);

protected:
    void DoDispose() override;

private:
    Ptr<RnicNetDevice> m_device;
    uint64_t m_nextVa; //!< where the next AllocMemory goes: the same in every run
};

} // namespace ns3

#endif /* NS3_RNIC_VERBS_H */
