/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NS3_RNIC_VERBS_H
#define NS3_RNIC_VERBS_H

#include "rnic-c.h"
#include "rnic-net-device.h"

#include "ns3/callback.h"
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
 * How two queue pairs are connected; both ends get the same.
 */
struct RnicConnectOptions
{
    enum rnic_qp_type type = RNIC_QPT_RC; //!< RC or UC, as both were created
    /** What the peer may do, of enum rnic_access. The regions' own rights hold besides. */
    unsigned access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |
                      RNIC_ACCESS_REMOTE_ATOMIC;
    uint32_t mtuBytes = 0;     //!< path MTU; 0: the smaller one of the two cards
    int maxRdAtomic = -1;      //!< READs and atomics outstanding each way; -1: what both cards have
    uint64_t rateLimitBps = 0; //!< static rate of each end; 0: none
    bool roceV1 = false;       //!< EtherType 0x8915: stays in one broadcast domain
    uint32_t psn = 0;          //!< first PSN that this end (the first one) sends, 24 bits
    int32_t peerPsn = -1;      //!< first PSN of the other end; -1: as psn
};

/**
 * @ingroup rnic
 * Verbs of one card for C++ programs: libibverbs' names, the C structs of rnic_verbs.h.
 *
 * Every call enters the engine at Simulator::Now(), grows the card's arena when it is used up, and
 * returns what the C verb returns: 0 or a count, or a negative RNIC_ERR_* (never NOMEM), and then
 * nothing has changed. rnic_verbs.h says for each which errors there are. What the peer or the line
 * does wrong is a completion status or an asynchronous event.
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

    // Protection domains and memory.

    /** @param pd out: its number. */
    int AllocPd(uint32_t *pd);
    /** @returns RNIC_ERR_BUSY while anything that was made in it is there. */
    int DeallocPd(uint32_t pd);
    /**
     * Register @p length bytes at virtual address @p va.
     * @param host the bytes, or nullptr: phantom.
     * @param access enum rnic_access. @param key out: lkey and rkey.
     */
    int RegMr(uint32_t pd, uint64_t va, uint64_t length, void *host, unsigned access,
              uint32_t *key);
    /**
     * Register pages that lie anywhere: @p pages[i] holds @p pageBytes (a power of two, at least
     * 4096) from the i-th page boundary of [va, va + length) on; nullptr: not mapped. The list is
     * copied, the pages are the caller's and must outlive the region.
     */
    int RegMrPages(uint32_t pd, uint64_t va, uint64_t length, uint32_t pageBytes,
                   const std::vector<void *> &pages, unsigned access, uint32_t *key);
    /** The key opens nothing from now on. @returns RNIC_ERR_BUSY while a window is bound to it. */
    int DeregMr(uint32_t key);
    /** Make and register @p bytes of memory; nullptr on an error, which @p error then holds. */
    Ptr<RnicMemory> AllocMemory(uint32_t pd, uint64_t bytes, unsigned access, bool phantom = false,
                                int *error = nullptr);
    /** @param key out: key of a memory window (type 2) that opens nothing until PostBindMw(). */
    int AllocMw(uint32_t pd, uint32_t *key);
    /** Unbinds it. @param key any key of the window's slot. */
    int DeallocMw(uint32_t key);

    // Completion queues and events.

    /** @param entries rounded up to a power of two. @param cq out: its number. */
    int CreateCq(uint32_t entries, uint32_t *cq);
    /** @returns RNIC_ERR_BUSY while a queue pair uses it. */
    int DestroyCq(uint32_t cq);
    /** @returns number of completions visible now, put into wc[0 .. n). */
    int PollCq(uint32_t cq, uint32_t n, struct rnic_wc *wc);
    /** Arm for one event at the next completion (@p solicitedOnly: or solicited one, or error). */
    int ReqNotifyCq(uint32_t cq, bool solicitedOnly = false);
    /**
     * Call @p cb(cq) as an ns-3 event at each completion event of @p cq; arm it with
     * ReqNotifyCq(), and again (then poll) inside the callback.
     */
    void SetCqCallback(uint32_t cq, Callback<void, uint32_t> cb);
    /**
     * Call @p cb(event) as an ns-3 event at each asynchronous event of the card: types QP_FATAL to
     * SRQ_LIMIT of enum rnic_event_type. Replaces the one before; a null callback: none. (Trace
     * source AsyncEvent of the card takes any number of listeners.)
     */
    void SetAsyncCallback(Callback<void, const struct rnic_event &> cb);

    // Shared receive queues and address handles.

    /** @param attr sizes and limit. @param srq out: its number. */
    int CreateSrq(uint32_t pd, const struct rnic_srq_attr &attr, uint32_t *srq);
    /** Arm (0: disarm) RNIC_EVENT_SRQ_LIMIT, told once when fewer than @p limit are left. */
    int ModifySrq(uint32_t srq, uint32_t limit);
    /** @param attr out, @param queued out: requests waiting; either may be nullptr. */
    int QuerySrq(uint32_t srq, struct rnic_srq_attr *attr, uint32_t *queued);
    /** @returns RNIC_ERR_BUSY while a queue pair uses it. */
    int DestroySrq(uint32_t srq);
    /** @returns RNIC_ERR_FULL: no free slot. */
    int PostSrqRecv(uint32_t srq, const struct rnic_recv_wr &wr);
    /** @returns how packets of this card to @p station look: its DSCP, TTL and next hop. */
    struct rnic_av AddressOf(uint32_t station, bool roceV1 = false) const;
    /** Address handle of the card of @p peer, for UD. @param ah out: its number. */
    int CreateAh(uint32_t pd, Ptr<const RnicVerbs> peer, uint32_t *ah);
    int CreateAh(uint32_t pd, const struct rnic_av &av, uint32_t *ah);
    /** Work requests already posted keep the address. */
    int DestroyAh(uint32_t ah);

    // Queue pairs.

    /** @returns what makes an RC queue pair with one CQ and @p depth requests each way: one entry
     * each, and up to 64 bytes inline. */
    struct rnic_qp_init_attr QpInit(uint32_t pd, uint32_t cq, uint32_t depth) const;
    /** New queue pair in RESET: service, sizes, SRQ, recovery, window, end-to-end credits. */
    int CreateQp(const struct rnic_qp_init_attr &init, uint32_t *qpn);
    /** That of QpInit(). */
    int CreateQp(uint32_t pd, uint32_t cq, uint32_t depth, uint32_t *qpn);
    /** Change state and attributes; @p mask names them (enum rnic_qp_attr_mask). */
    int ModifyQp(uint32_t qpn, const struct rnic_qp_attr &attr, unsigned mask);
    /** Change the state alone: to RESET, ERR or SQD, or back from SQD or SQE to RTS. */
    int SetQpState(uint32_t qpn, enum rnic_qp_state state);
    /** @param attr out, @param counters out, since RESET; either may be nullptr. */
    int QueryQp(uint32_t qpn, struct rnic_qp_attr *attr, struct rnic_qp_counters *counters);
    /** Outstanding work is discarded without completions. */
    int DestroyQp(uint32_t qpn);
    /** @param bps out, @param alpha out: of its congestion control; from RTR on. */
    int QueryRate(uint32_t qpn, uint64_t *bps, double *alpha);

    /**
     * Bring two fresh queue pairs to RTS, each the other's peer, with the parameters of their
     * cards. The cards take the first request connect_ps later (their attribute Connect).
     * @returns 0, or the error of the first step that failed: what came before it has happened.
     */
    static int Connect(Ptr<RnicVerbs> a, uint32_t qpnA, Ptr<RnicVerbs> b, uint32_t qpnB,
                       const RnicConnectOptions &options = RnicConnectOptions());
    /** One side of Connect(): RESET to RTS towards @p qpn at @p station; 0 and -1: this card's. */
    int ConnectTo(uint32_t localQpn, uint32_t station, uint32_t qpn,
                  const RnicConnectOptions &options);
    /** Bring a fresh UD queue pair to RTS: it takes datagrams with @p qkey, and sends. */
    int StartUd(uint32_t qpn, uint32_t qkey);

    // Work requests.

    /** Any work request, with any flags: rnic_verbs.h says what each service offers. */
    int PostSend(uint32_t qpn, const struct rnic_send_wr &wr);
    /** @returns RNIC_ERR_FULL: no free slot; RNIC_ERR_INVAL: RESET, or it has an SRQ. */
    int PostRecv(uint32_t qpn, const struct rnic_recv_wr &wr);
    /** Receive of @p length bytes into @p local from @p offset on. */
    int PostRecv(uint32_t qpn, uint64_t wrId, Ptr<const RnicMemory> local, uint64_t offset,
                 uint32_t length);
    /** Signalled SEND of @p length bytes of @p local. */
    int PostSend(uint32_t qpn, uint64_t wrId, Ptr<const RnicMemory> local, uint64_t offset,
                 uint32_t length);
    /** Signalled SEND of @p length bytes at @p data, which travel in the work request. */
    int PostSendInline(uint32_t qpn, uint64_t wrId, const void *data, uint32_t length);
    /** Signalled RDMA WRITE of @p length bytes between two memories. */
    int PostWrite(uint32_t qpn, uint64_t wrId, Ptr<const RnicMemory> local, uint64_t localOffset,
                  Ptr<const RnicMemory> remote, uint64_t remoteOffset, uint32_t length);
    /** Signalled RDMA READ: @p remote's bytes come into @p local. */
    int PostRead(uint32_t qpn, uint64_t wrId, Ptr<const RnicMemory> local, uint64_t localOffset,
                 Ptr<const RnicMemory> remote, uint64_t remoteOffset, uint32_t length);
    /**
     * Signalled FETCH_AND_ADD of @p add to the 8 bytes at @p remoteOffset (a multiple of 8); what
     * they held comes to @p localOffset of @p local.
     */
    int PostFetchAdd(uint32_t qpn, uint64_t wrId, Ptr<const RnicMemory> local, uint64_t localOffset,
                     Ptr<const RnicMemory> remote, uint64_t remoteOffset, uint64_t add);
    /** The same with CMP_AND_SWP: @p swap is stored if @p compare stands there. */
    int PostCompareSwap(uint32_t qpn, uint64_t wrId, Ptr<const RnicMemory> local,
                        uint64_t localOffset, Ptr<const RnicMemory> remote, uint64_t remoteOffset,
                        uint64_t compare, uint64_t swap);
    /**
     * Signalled BIND_MW: window @p mw gets key @p key (same slot, another variant: the low 8 bits)
     * and opens @p length bytes of @p memory from @p offset on to the peer of @p qpn; 0: unbind.
     */
    int PostBindMw(uint32_t qpn, uint64_t wrId, uint32_t mw, uint32_t key,
                   Ptr<const RnicMemory> memory, uint64_t offset, uint64_t length, unsigned access);
    /** Signalled LOCAL_INV: @p key opens nothing from now on. */
    int PostLocalInv(uint32_t qpn, uint64_t wrId, uint32_t key);

protected:
    void DoDispose() override;

private:
    /** A work request between two memories. */
    int PostRemote(uint32_t qpn, struct rnic_send_wr &wr, const struct rnic_sge &sge,
                   Ptr<const RnicMemory> remote, uint64_t remoteOffset);

    Ptr<RnicNetDevice> m_device;
    uint64_t m_nextVa; //!< where the next AllocMemory goes: the same in every run
    Callback<void, const struct rnic_event &> m_async;
};

} // namespace ns3

#endif /* NS3_RNIC_VERBS_H */
