/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNIC_APPLICATION_H
#define RNIC_APPLICATION_H

#include "rnic-verbs.h"

#include "ns3/application.h"
#include "ns3/data-rate.h"
#include "ns3/traced-callback.h"

#include <string>

namespace ns3
{

/**
 * @ingroup rnic
 * One end of a queue pair as an Application: does Count operations of Bytes each towards its peer.
 *
 * A WRITE or SEND goes from the send memory to the peer's receive memory; a READ pulls the peer's
 * send memory into the own receive memory. Atomics change the first 8 bytes of the peer's receive
 * memory: fetch_add adds 1, operation i of compare_swap makes i + 1 of i, and what stood there
 * comes to the send memory.
 *
 * Two of them are made known to each other with SetPeer(). One that has Count = 0 only receives.
 * Memory and queue pair are made at the start of whichever starts first.
 */
class RnicApplication : public Application
{
public:
    static TypeId GetTypeId();

    RnicApplication();
    ~RnicApplication() override;

    /** Make @p peer the other end, and this the other end of @p peer. */
    void SetPeer(Ptr<RnicApplication> peer);
    /** The card to use; default: the first RnicNetDevice of the node. */
    void SetDevice(Ptr<RnicNetDevice> device);

    Ptr<RnicVerbs> GetVerbs();
    /** @returns what is sent (Bytes long), for filling in or looking at. */
    Ptr<RnicMemory> GetSendMemory();
    /** @returns where the peer's operations land. */
    Ptr<RnicMemory> GetReceiveMemory();
    uint32_t GetQpn();
    /** @returns operations completed (with whatever status). */
    uint64_t GetCompleted() const;
    /** @returns operations completed with an error. */
    uint64_t GetFailed() const;

    /** TracedCallback signature of Completion. */
    typedef void (*CompletionTracedCallback)(const struct rnic_wc &wc);
    /** TracedCallback signature of Done: operations completed, of them failed. */
    typedef void (*DoneTracedCallback)(uint64_t completed, uint64_t failed);

protected:
    void DoDispose() override;

private:
    void StartApplication() override;
    void StopApplication() override;
    void SetVerb(std::string verb);
    std::string GetVerb() const;
    void SetService(std::string service);
    std::string GetService() const;
    void SetRecovery(std::string recovery);
    std::string GetRecovery() const;
    void MakeMemory();
    void Prepare();
    void Connect();
    void PostReceives();
    void PostReceive();
    void Post();
    void OnCq(uint32_t cq);
    void Handle(const struct rnic_wc &wc);

    Ptr<RnicApplication> m_peer;
    Ptr<RnicNetDevice> m_device;
    Ptr<RnicVerbs> m_verbs;
    Ptr<RnicMemory> m_sendMemory;
    Ptr<RnicMemory> m_receiveMemory;
    enum rnic_wr_opcode m_verb;    //!< attribute Verb
    uint32_t m_bytes;              //!< attribute Bytes
    uint64_t m_count;              //!< attribute Count
    uint32_t m_depth;              //!< attribute Depth
    bool m_phantom;                //!< attribute Phantom
    enum rnic_qp_type m_type;      //!< attribute Service
    DataRate m_rateLimit;          //!< attribute RateLimit
    bool m_roceV1;                 //!< attribute RoceV1
    enum rnic_recovery m_recovery; //!< attribute Recovery
    uint32_t m_window;             //!< attribute Window
    uint32_t m_pd;
    uint32_t m_cq;
    uint32_t m_qpn;
    bool m_prepared;
    bool m_connected;
    bool m_stopped;
    bool m_done;
    uint64_t m_posted;
    uint64_t m_completed;
    uint64_t m_failed;
    TracedCallback<const struct rnic_wc &> m_completion;
    TracedCallback<const struct rnic_wc &> m_receive;
    TracedCallback<uint64_t, uint64_t> m_doneTrace;
};

} // namespace ns3

#endif /* RNIC_APPLICATION_H */
