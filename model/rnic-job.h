/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNIC_JOB_H
#define RNIC_JOB_H

#include "rnic-engine.h"
#include "rnic-job-data.h"
#include "rnic-job-graph.h"
#include "rnic-net-device.h"
#include "rnic-verbs.h"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace ns3
{

/**
 * @ingroup rnic
 * What became of one transfer. Times are WIRE_NEVER while they have not come.
 */
struct RnicJobResult
{
    uint64_t startPs = WIRE_NEVER;     //!< handed to the verbs
    uint64_t endPs = WIRE_NEVER;       //!< last byte placed at the destination
    uint64_t cqePs = WIRE_NEVER;       //!< completion seen by the sender
    uint64_t retransmittedPackets = 0; //!< of its queue pair, since the completion before
    uint64_t cnps = 0;                 //!< likewise
    bool received = false;             //!< the receiver has had its completion and reduced
    bool failed = false;
    bool counted = false; //!< taken off the number of open transfers
    std::string error;    //!< "RETRY_EXC_ERR", or what else went wrong
};

/**
 * @ingroup rnic
 * Executes a graph of transfers with verbs on real queue pairs: one pair (RC, or UC) per ordered
 * host pair, queue pair number and direction of posting (READs have pairs of their own).
 * Completions are consumed at engine level, as a polling host sees them.
 *
 * A READ or an atomic has ended when the host that posted it has seen its completion; what UC loses
 * has failed as soon as a later message of its queue pair arrives.
 *
 * Life: construct, Setup() and Start() before Simulator::Run(), results after it.
 */
class RnicJob : public RnicEventSink
{
public:
    /** One queue pair: the data sender's half at src, the receiver's at dst. */
    struct Qp
    {
        uint32_t src = 0;
        uint32_t dst = 0;
        uint32_t number = 0; //!< among the queue pairs of this host pair
        bool pull = false;   //!< READs: dst posts
        uint32_t srcQpn = 0;
        uint32_t dstQpn = 0;
        uint32_t depth = 1;   //!< messages posted at once
        bool pumping = false; //!< posting is under way

        struct Message
        {
            uint32_t transfer;
            uint32_t bytes;
            uint64_t offset; //!< in the transfer
            bool last;
            uint32_t lastPsn; //!< of its last packet, once posted
        };
        std::deque<Message> queue;    //!< ready, not posted yet
        std::deque<Message> sent;     //!< posted, no completion yet
        std::deque<Message> placing;  //!< posted, not placed yet
        std::deque<Message> arriving; //!< posted, its receive completion is still to come
        uint32_t receives = 0;        //!< receive completions this queue pair will have in all
        uint32_t receivesPosted = 0;
        uint32_t receivesDone = 0;
        uint64_t slotBytes = 0; //!< size of one receive slot of its SENDs
        uint32_t slotBuffer = RNIC_JOB_NONE;
        uint32_t slotsUsed = 0;     //!< slots given to SENDs so far
        uint64_t retransmitted = 0; //!< counter at the last completion
        uint64_t cnps = 0;          //!< likewise
        uint32_t nextPsn = 0;       //!< of the next request, 24 bits

        uint32_t Poster() const
        {
            return pull ? dst : src;
        }
        uint32_t PosterQpn() const
        {
            return pull ? dstQpn : srcQpn;
        }
    };

    /**
     * @param graph  copied; RnicJobGraph::Check() has passed
     * @param nics   card of each host, connected
     */
    RnicJob(const RnicJobGraph &graph, const std::vector<Ptr<RnicNetDevice>> &nics);
    ~RnicJob() override;
    RnicJob(const RnicJob &) = delete;
    RnicJob &operator=(const RnicJob &) = delete;

    /** Register memory, make queue pairs, post receives. @throw std::runtime_error */
    void Setup();
    /** Schedule everything that waits for nothing. */
    void Start();
    /** Call @p fn(now_ps), as an ns-3 event at that time, when the last transfer is over. */
    void SetDone(std::function<void(uint64_t)> fn);
    /**
     * Also hand every event of the cards to @p fn, inside the engine's run; before Setup().
     * @p mask: trace records wanted (bits of enum rnic_event_type).
     */
    void SetObserver(std::function<void(uint32_t, const struct rnic_event &)> fn, uint32_t mask);
    /** For tests: what transfer @p id writes is undone as soon as it has been placed. */
    void SuppressPlacement(uint32_t id);

    bool IsDone() const;
    bool HasFailed() const;
    const RnicJobGraph &GetGraph() const;
    const std::vector<RnicJobResult> &GetResults() const;
    /** Packets sent again so far, also of transfers that have not ended. */
    uint64_t GetRetransmittedPackets() const;
    const std::vector<std::unique_ptr<Qp>> &GetQps() const;
    /** @returns the queue pair that carries a transfer. */
    const Qp *GetQpOf(uint32_t transfer) const;
    Ptr<RnicVerbs> GetVerbs(uint32_t host) const;
    /** @returns when a transfer last made progress or failed; 0: never. */
    uint64_t GetLastPs() const;

    /** @returns whether each finished transfer without a collective brought its bytes. */
    bool VerifyTransfers() const;
    /** @returns whether the collective is complete and every host's result is right. */
    bool VerifyCollective(uint32_t collective) const;
    /** @returns for each open transfer, at most @p most, who waits for what. */
    std::vector<std::string> Waiting(size_t most) const;

    void OnRnicEvent(uint32_t port, const struct rnic_event &event) override;

private:
    struct Host
    {
        Ptr<RnicNetDevice> nic;
        Ptr<RnicVerbs> verbs;
        uint32_t pd = 0;
        uint32_t sendCq = 0;
        uint32_t recvCq = 0;
        uint32_t key = 0;                             //!< of its whole block
        std::unordered_map<uint32_t, Qp *> posters;   //!< by queue pair number
        std::unordered_map<uint32_t, Qp *> receivers; //!< likewise
        uint64_t busyUntilPs = 0;                     //!< reducing
    };
    struct Timer //!< context of an engine callback
    {
        RnicJob *job;
        uint32_t transfer;
    };

    void MakeQps();
    void MakeSlots();
    void MakeHost(uint32_t host);
    struct rnic_sge Sge(uint32_t buffer, uint64_t offset, uint32_t bytes) const;
    void ConnectQp(Qp &qp);
    void PostReceives(Qp &qp);
    static void OnReady(void *ctx, uint64_t nowPs);
    static void OnReduced(void *ctx, uint64_t nowPs);

    void Schedule(uint32_t transfer, uint64_t nowPs);
    void Post(uint32_t transfer, uint64_t nowPs);
    void Pump(Qp &qp);
    bool PostMessage(Qp &qp, const Qp::Message &message);
    void PollSends(uint32_t host, uint64_t nowPs);
    void PollReceives(uint32_t host, uint64_t nowPs);
    void Completed(Qp &qp, const struct rnic_wc &wc, uint64_t nowPs);
    void Received(Qp &qp, const struct rnic_wc &wc, uint64_t nowPs);
    void Placed(Qp &qp, const struct rnic_event &event);
    void DropLost(Qp &qp, uint32_t psn, uint64_t nowPs);
    struct rnic_send_wr Request(const RnicJobTransfer &t, const Qp::Message &message) const;
    void Handle(uint32_t transfer, uint64_t nowPs);
    void Reduced(uint32_t transfer, uint64_t nowPs);
    void Finish(uint32_t transfer, uint64_t nowPs);
    void Release(uint32_t transfer, uint64_t nowPs);
    void Fail(uint32_t transfer, const std::string &why, uint64_t nowPs);
    void Undo(uint32_t transfer);
    void Check(int result, const char *what) const;

    RnicJobGraph m_graph;
    std::vector<Host> m_hosts;
    std::unique_ptr<RnicJobData> m_data;
    std::vector<RnicJobResult> m_results;
    std::vector<uint32_t> m_waits; //!< dependencies still open, by transfer
    std::vector<std::vector<uint32_t>> m_next;
    std::vector<Timer> m_timers; //!< by transfer; addresses stay
    std::vector<std::unique_ptr<Qp>> m_qps;
    std::vector<uint32_t> m_hostOfPort; //!< RNIC_JOB_NONE: not one of ours
    std::vector<Qp *> m_qpOfTransfer;
    uint32_t m_open = 0;
    bool m_failed = false;
    uint64_t m_lastPs = 0;
    std::function<void(uint64_t)> m_done;
    std::function<void(uint32_t, const struct rnic_event &)> m_observer;
    uint32_t m_observed = 0;
    int64_t m_suppress = -1;
    std::vector<uint8_t> m_before; //!< what stood where the suppressed transfer writes
};

} // namespace ns3

#endif /* RNIC_JOB_H */
