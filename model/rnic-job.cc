/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-job.h"

#include "ns3/assert.h"

#include <algorithm>
#include <cstring>

namespace ns3
{

namespace
{

constexpr uint32_t POLL_BATCH = 16;
constexpr uint32_t PSNS = 1u << 24;

std::string Us(uint64_t ps)
{
    char text[40];
    std::snprintf(text, sizeof text, "%.3f us", static_cast<double>(ps) / 1e6);
    return text;
}

} // namespace

// ---- posting ----

void RnicJob::Start()
{
    const uint64_t nowPs = RnicEngine::Get()->Enter();
    for (uint32_t i = 0; i < m_graph.transfers.size(); i++)
    {
        if (m_waits[i] == 0)
        {
            Schedule(i, nowPs);
        }
    }
    for (const Host &host : m_hosts)
    {
        RnicEngine::Get()->Touch(host.nic->GetPort());
    }
}

/* Its dependencies are met: post it now, or when its start time or its host's delay is over. */
void RnicJob::Schedule(uint32_t transfer, uint64_t nowPs)
{
    const RnicJobTransfer &t = m_graph.transfers[transfer];
    const uint64_t atPs = std::max(t.startPs, m_graph.HostDelayPs(t.Poster()));
    if (atPs <= nowPs)
    {
        Post(transfer, nowPs);
        return;
    }
    engine_at(RnicEngine::Get()->GetEngine(), m_hosts[t.Poster()].nic->GetPort(), atPs,
              &RnicJob::OnReady, &m_timers[transfer]);
}

void RnicJob::OnReady(void *ctx, uint64_t nowPs)
{
    const Timer *timer = static_cast<const Timer *>(ctx);
    timer->job->Post(timer->transfer, nowPs);
}

void RnicJob::Post(uint32_t transfer, uint64_t nowPs)
{
    RnicJobTransfer &t = m_graph.transfers[transfer];
    Qp &qp = *m_qpOfTransfer[transfer];
    m_results[transfer].startPs = nowPs;
    const std::vector<uint32_t> pieces = RnicJobMessages(t.bytes, t.verb);
    if (qp.slotBuffer != RNIC_JOB_NONE && t.dstBuffer == RNIC_JOB_NONE)
    {
        t.dstBuffer = qp.slotBuffer; // messages arrive in the order they are posted
        t.dstOffset = qp.slotBytes * qp.slotsUsed;
        qp.slotsUsed += static_cast<uint32_t>(pieces.size());
    }
    else if (RnicJobVerbHasReceive(t.verb))
    {
        qp.slotsUsed++; // a write with immediate takes a receive, and with it its slot
    }
    if (m_suppress == static_cast<int64_t>(transfer) && t.bytes > 0 && m_graph.backed)
    {
        const uint8_t *at = m_data->Bytes(t.dstBuffer) + t.dstOffset;
        m_before.assign(at, at + t.bytes);
    }
    uint64_t offset = 0;
    for (size_t i = 0; i < pieces.size(); i++)
    {
        qp.queue.push_back({transfer, pieces[i], offset, i + 1 == pieces.size(), 0});
        offset += pieces[i];
    }
    Pump(qp);
}

void RnicJob::Pump(Qp &qp)
{
    if (qp.pumping)
    {
        return; // posting first runs what is due, a completion of this queue pair perhaps
    }
    qp.pumping = true;
    while (!qp.queue.empty() && qp.sent.size() < qp.depth && PostMessage(qp, qp.queue.front()))
    {
        qp.queue.pop_front();
    }
    qp.pumping = false;
}

/* The work request of one message; its list of bytes is still to come. */
struct rnic_send_wr RnicJob::Request(const RnicJobTransfer &t, const Qp::Message &message) const
{
    const bool imm =
        message.last && (t.verb == RnicJobVerb::WRITE_IMM || t.verb == RnicJobVerb::SEND_IMM);
    struct rnic_send_wr wr = {};
    wr.wr_id = message.transfer;
    wr.send_flags = RNIC_SEND_SIGNALED;
    wr.imm = t.imm;
    if (t.verb == RnicJobVerb::SEND || t.verb == RnicJobVerb::SEND_IMM)
    {
        wr.opcode = imm ? RNIC_WR_SEND_WITH_IMM : RNIC_WR_SEND;
        return wr;
    }
    const struct rnic_sge remote =
        t.verb == RnicJobVerb::READ ? Sge(t.srcBuffer, t.srcOffset + message.offset, message.bytes)
                                    : Sge(t.dstBuffer, t.dstOffset + message.offset, message.bytes);
    wr.opcode = imm ? RNIC_WR_RDMA_WRITE_WITH_IMM : RNIC_WR_RDMA_WRITE;
    wr.remote_addr = remote.addr;
    wr.rkey = remote.lkey;
    if (t.verb == RnicJobVerb::READ)
    {
        wr.opcode = RNIC_WR_RDMA_READ;
    }
    else if (RnicJobVerbIsAtomic(t.verb))
    {
        uint64_t word = 0; // without bytes a sum of nothing does as well
        if (m_graph.backed)
        {
            std::memcpy(&word, m_data->Bytes(t.srcBuffer) + t.srcOffset + message.offset,
                        sizeof word);
        }
        const bool add = t.verb == RnicJobVerb::FETCH_ADD;
        wr.opcode = add ? RNIC_WR_ATOMIC_FETCH_AND_ADD : RNIC_WR_ATOMIC_CMP_AND_SWP;
        wr.atomic.compare_add = add ? word : 0;
        wr.atomic.swap = add ? 0 : word;
    }
    return wr;
}

/* @returns false: the queue is full, again after the next completion. */
bool RnicJob::PostMessage(Qp &qp, const Qp::Message &message)
{
    const RnicJobTransfer &t = m_graph.transfers[message.transfer];
    const bool answered = t.verb == RnicJobVerb::READ || RnicJobVerbIsAtomic(t.verb);
    const struct rnic_sge local =
        t.verb == RnicJobVerb::READ ? Sge(t.dstBuffer, t.dstOffset + message.offset, message.bytes)
        : answered                  ? Sge(t.answerBuffer, message.offset, message.bytes)
                                    : Sge(t.srcBuffer, t.srcOffset + message.offset, message.bytes);
    struct rnic_send_wr wr = Request(t, message);
    wr.sg_list = &local;
    wr.num_sge = message.bytes > 0 ? 1 : 0;
    const int result = m_hosts[qp.Poster()].verbs->PostSend(qp.PosterQpn(), wr);
    if (result == RNIC_ERR_FULL)
    {
        NS_ASSERT_MSG(!qp.sent.empty(), "a send queue is full without work in it");
        return false;
    }
    Check(result, "post_send");
    qp.sent.push_back(message);
    if (answered)
    {
        return true; // its completion is its end
    }
    const uint64_t mtu = m_hosts[qp.src].nic->GetParams().mtu_bytes;
    const uint64_t packets = message.bytes == 0 ? 1 : (message.bytes + mtu - 1) / mtu;
    qp.nextPsn = static_cast<uint32_t>((qp.nextPsn + packets) % PSNS);
    qp.placing.push_back(message);
    qp.placing.back().lastPsn = (qp.nextPsn + PSNS - 1) % PSNS;
    if (RnicJobVerbHasReceive(t.verb) &&
        (message.last || t.verb == RnicJobVerb::SEND || t.verb == RnicJobVerb::SEND_IMM))
    {
        qp.arriving.push_back(message);
    }
    return true;
}

// ---- events ----

void RnicJob::OnRnicEvent(uint32_t port, const struct rnic_event &event)
{
    const uint32_t host = port < m_hostOfPort.size() ? m_hostOfPort[port] : RNIC_JOB_NONE;
    if (host == RNIC_JOB_NONE)
    {
        return;
    }
    if (m_observer)
    {
        m_observer(port, event);
    }
    Host &h = m_hosts[host];
    if (event.type == RNIC_EVENT_PLACED)
    {
        auto qp = h.receivers.find(event.qpn);
        if (qp != h.receivers.end())
        {
            Placed(*qp->second, event);
        }
    }
    else if (event.type == RNIC_EVENT_COMPLETION)
    {
        const uint64_t nowPs = RnicEngine::Get()->Enter();
        if (event.cq == h.sendCq)
        {
            PollSends(host, nowPs);
        }
        else if (event.cq == h.recvCq)
        {
            PollReceives(host, nowPs);
        }
    }
}

void RnicJob::PollSends(uint32_t host, uint64_t nowPs)
{
    struct rnic_wc wc[POLL_BATCH];
    for (;;)
    {
        const int n = m_hosts[host].verbs->PollCq(m_hosts[host].sendCq, POLL_BATCH, wc);
        Check(n, "poll_cq");
        for (int i = 0; i < n; i++)
        {
            auto qp = m_hosts[host].posters.find(wc[i].qp_num);
            NS_ASSERT(qp != m_hosts[host].posters.end());
            Completed(*qp->second, wc[i], nowPs);
        }
        if (n == 0)
        {
            return;
        }
    }
}

void RnicJob::PollReceives(uint32_t host, uint64_t nowPs)
{
    struct rnic_wc wc[POLL_BATCH];
    for (;;)
    {
        const int n = m_hosts[host].verbs->PollCq(m_hosts[host].recvCq, POLL_BATCH, wc);
        Check(n, "poll_cq");
        for (int i = 0; i < n; i++)
        {
            auto qp = m_hosts[host].receivers.find(wc[i].qp_num);
            NS_ASSERT(qp != m_hosts[host].receivers.end());
            Received(*qp->second, wc[i], nowPs);
        }
        if (n == 0)
        {
            return;
        }
    }
}

/* A send completion: in order, one for each message posted. */
void RnicJob::Completed(Qp &qp, const struct rnic_wc &wc, uint64_t nowPs)
{
    NS_ASSERT_MSG(!qp.sent.empty() && qp.sent.front().transfer == wc.wr_id,
                  "a completion that nobody waits for");
    const Qp::Message message = qp.sent.front();
    RnicJobResult &result = m_results[message.transfer];
    struct rnic_qp_counters counters;
    qp.sent.pop_front();
    Check(m_hosts[qp.src].verbs->QueryQp(qp.srcQpn, nullptr, &counters), "query_qp");
    uint64_t retransmitted = counters.retransmitted_packets;
    if (qp.pull) // its READ requests, besides the responses
    {
        struct rnic_qp_counters poster;
        Check(m_hosts[qp.dst].verbs->QueryQp(qp.dstQpn, nullptr, &poster), "query_qp");
        retransmitted += poster.retransmitted_packets;
    }
    result.retransmittedPackets += retransmitted - qp.retransmitted;
    result.cnps += counters.cnps_rx - qp.cnps;
    qp.retransmitted = retransmitted;
    qp.cnps = counters.cnps_rx;
    if (wc.status != RNIC_WC_SUCCESS)
    {
        Fail(message.transfer, rnic_wc_status_name(wc.status), nowPs);
    }
    else if (message.last)
    {
        const RnicJobVerb verb = m_graph.transfers[message.transfer].verb;
        result.cqePs = nowPs;
        if (verb == RnicJobVerb::READ || RnicJobVerbIsAtomic(verb))
        {
            result.endPs = nowPs;
            Undo(message.transfer);
        }
        if (!RnicJobVerbHasReceive(verb))
        {
            Release(message.transfer, nowPs);
        }
        Finish(message.transfer, nowPs);
    }
    Pump(qp);
}

/* UC: the messages before the one whose last packet has this PSN are lost. */
void RnicJob::DropLost(Qp &qp, uint32_t psn, uint64_t nowPs)
{
    while (!qp.placing.empty() && qp.placing.front().lastPsn != psn)
    {
        const Qp::Message lost = qp.placing.front();
        qp.placing.pop_front();
        if (!qp.arriving.empty() && qp.arriving.front().transfer == lost.transfer &&
            qp.arriving.front().offset == lost.offset)
        {
            qp.arriving.pop_front();
        }
        Fail(lost.transfer, "lost: UC does not repeat", nowPs);
    }
}

/* The last byte of a message, the oldest one under way, is in the receiver's memory. */
void RnicJob::Placed(Qp &qp, const struct rnic_event &event)
{
    const uint64_t nowPs = event.time_ps;
    if (m_graph.qps.uc)
    {
        DropLost(qp, event.psn.v, nowPs);
    }
    NS_ASSERT_MSG(!qp.placing.empty(), "a placement that nobody sent");
    const Qp::Message message = qp.placing.front();
    qp.placing.pop_front();
    if (message.last)
    {
        m_results[message.transfer].endPs = nowPs;
        Undo(message.transfer);
        Finish(message.transfer, nowPs);
    }
}

void RnicJob::Received(Qp &qp, const struct rnic_wc &wc, uint64_t nowPs)
{
    if (wc.status != RNIC_WC_SUCCESS)
    {
        if (!qp.arriving.empty())
        {
            Fail(qp.arriving.front().transfer,
                 std::string("receive ") + rnic_wc_status_name(wc.status), nowPs);
        }
        return;
    }
    NS_ASSERT_MSG(!qp.arriving.empty(), "a receive completion that nobody sent");
    const Qp::Message message = qp.arriving.front();
    RnicJobTransfer &t = m_graph.transfers[message.transfer];
    if (qp.slotBuffer != RNIC_JOB_NONE && t.dstBuffer == qp.slotBuffer)
    {
        t.dstOffset = qp.slotBytes * wc.wr_id - message.offset; // UC: not the one it was to have
    }
    qp.arriving.pop_front();
    qp.receivesDone++;
    PostReceives(qp);
    if (!message.last)
    {
        return;
    }
    const bool imm = t.verb == RnicJobVerb::WRITE_IMM || t.verb == RnicJobVerb::SEND_IMM;
    if (imm && wc.imm != t.imm)
    {
        Fail(message.transfer,
             "arrived with immediate " + std::to_string(wc.imm) + " instead of " +
                 std::to_string(t.imm),
             nowPs);
        return;
    }
    if (wc.byte_len != message.bytes)
    {
        Fail(message.transfer,
             "arrived with " + std::to_string(wc.byte_len) + " bytes instead of " +
                 std::to_string(message.bytes),
             nowPs);
        return;
    }
    Handle(message.transfer, nowPs);
}

/* The receiving host has seen the completion: it reduces once it is free. */
void RnicJob::Handle(uint32_t transfer, uint64_t nowPs)
{
    const RnicJobTransfer &t = m_graph.transfers[transfer];
    Host &host = m_hosts[t.dst];
    uint64_t atPs = std::max({nowPs, m_graph.HostDelayPs(t.dst), host.busyUntilPs});
    if (t.reduce)
    {
        atPs += m_graph.reduceTimePs;
        host.busyUntilPs = atPs;
    }
    if (atPs <= nowPs)
    {
        Reduced(transfer, nowPs);
        return;
    }
    engine_at(RnicEngine::Get()->GetEngine(), host.nic->GetPort(), atPs, &RnicJob::OnReduced,
              &m_timers[transfer]);
}

void RnicJob::OnReduced(void *ctx, uint64_t nowPs)
{
    const Timer *timer = static_cast<const Timer *>(ctx);
    timer->job->Reduced(timer->transfer, nowPs);
}

void RnicJob::Reduced(uint32_t transfer, uint64_t nowPs)
{
    const RnicJobTransfer &t = m_graph.transfers[transfer];
    Undo(transfer);
    if (t.reduce && t.bytes > 0 && m_graph.backed)
    {
        RnicJobData::Reduce(m_data->Bytes(t.reduceBuffer) + t.reduceOffset,
                            m_data->Bytes(t.dstBuffer) + t.dstOffset, t.bytes);
    }
    m_results[transfer].received = true;
    Release(transfer, nowPs);
    Finish(transfer, nowPs);
}

/* Those who waited for this one wait for one less. */
void RnicJob::Release(uint32_t transfer, uint64_t nowPs)
{
    for (uint32_t i : m_next[transfer])
    {
        NS_ASSERT(m_waits[i] > 0);
        if (--m_waits[i] == 0)
        {
            Schedule(i, nowPs);
        }
    }
}

/* One more part of a transfer has happened: is it over? */
void RnicJob::Finish(uint32_t transfer, uint64_t nowPs)
{
    RnicJobResult &result = m_results[transfer];
    m_lastPs = nowPs;
    const bool receive = RnicJobVerbHasReceive(m_graph.transfers[transfer].verb);
    const bool over = result.failed || (result.endPs != WIRE_NEVER && result.cqePs != WIRE_NEVER &&
                                        (result.received || !receive));
    if (!over || result.counted)
    {
        return;
    }
    result.counted = true;
    NS_ASSERT(m_open > 0);
    if (--m_open == 0 && m_done)
    {
        const std::function<void(uint64_t)> fn = m_done;

        RnicEngine::Get()->Deliver(nowPs, Simulator::NO_CONTEXT, [fn, nowPs]() { fn(nowPs); });
    }
}

void RnicJob::Fail(uint32_t transfer, const std::string &why, uint64_t nowPs)
{
    RnicJobResult &result = m_results[transfer];
    m_failed = true;
    if (!result.failed)
    {
        result.failed = true;
        result.error = why;
    }
    Finish(transfer, nowPs);
}

// ---- observers, and what tests spoil ----

void RnicJob::SetObserver(std::function<void(uint32_t, const struct rnic_event &)> fn,
                          uint32_t mask)
{
    m_observer = std::move(fn);
    m_observed = mask;
}

void RnicJob::SuppressPlacement(uint32_t id)
{
    m_suppress = id;
}

/* Put back what stood where the suppressed transfer has written. */
void RnicJob::Undo(uint32_t transfer)
{
    if (m_suppress == static_cast<int64_t>(transfer) && !m_before.empty())
    {
        const RnicJobTransfer &t = m_graph.transfers[transfer];
        std::memcpy(m_data->Bytes(t.dstBuffer) + t.dstOffset, m_before.data(), m_before.size());
        m_before.clear();
    }
}

// ---- results ----

void RnicJob::SetDone(std::function<void(uint64_t)> fn)
{
    m_done = std::move(fn);
}

bool RnicJob::IsDone() const
{
    return m_open == 0;
}

bool RnicJob::HasFailed() const
{
    return m_failed;
}

const RnicJobGraph &RnicJob::GetGraph() const
{
    return m_graph;
}

uint64_t RnicJob::GetRetransmittedPackets() const
{
    uint64_t retransmitted = 0;
    for (const std::unique_ptr<Qp> &qp : m_qps)
    {
        struct rnic_qp_counters counters;
        Check(m_hosts[qp->src].verbs->QueryQp(qp->srcQpn, nullptr, &counters), "query_qp");
        retransmitted += counters.retransmitted_packets;
        if (qp->pull) // its READ requests, besides the responses
        {
            Check(m_hosts[qp->dst].verbs->QueryQp(qp->dstQpn, nullptr, &counters), "query_qp");
            retransmitted += counters.retransmitted_packets;
        }
    }
    return retransmitted;
}

const std::vector<RnicJobResult> &RnicJob::GetResults() const
{
    return m_results;
}

const std::vector<std::unique_ptr<RnicJob::Qp>> &RnicJob::GetQps() const
{
    return m_qps;
}

const RnicJob::Qp *RnicJob::GetQpOf(uint32_t transfer) const
{
    return m_qpOfTransfer.at(transfer);
}

Ptr<RnicVerbs> RnicJob::GetVerbs(uint32_t host) const
{
    return m_hosts[host].verbs;
}

uint64_t RnicJob::GetLastPs() const
{
    return m_lastPs;
}

bool RnicJob::VerifyTransfers() const
{
    if (!m_graph.backed)
    {
        return false;
    }
    for (uint32_t i = 0; i < m_results.size(); i++)
    {
        const RnicJobTransfer &t = m_graph.transfers[i];
        if (t.collective >= 0 || !m_results[i].counted || m_results[i].failed || t.bytes == 0)
        {
            continue;
        }
        if (!RnicJobData::VerifyTransfer(m_graph, i, m_data->Bytes(t.dstBuffer) + t.dstOffset))
        {
            return false;
        }
        if (t.answerBuffer != RNIC_JOB_NONE)
        {
            const uint8_t *answers = m_data->Bytes(t.answerBuffer);
            if (std::any_of(answers, answers + t.bytes, [](uint8_t byte) { return byte != 0; }))
            {
                return false; // each word of the destination held 0 before
            }
        }
    }
    return true;
}

bool RnicJob::VerifyCollective(uint32_t collective) const
{
    for (uint32_t i = 0; i < m_results.size(); i++)
    {
        if (m_graph.transfers[i].collective == static_cast<int32_t>(collective) &&
            (!m_results[i].counted || m_results[i].failed))
        {
            return false;
        }
    }
    return m_data != nullptr && m_data->VerifyCollective(m_graph, collective);
}

std::vector<std::string> RnicJob::Waiting(size_t most) const
{
    std::vector<std::string> lines;
    for (uint32_t i = 0; i < m_results.size() && lines.size() < most; i++)
    {
        const RnicJobTransfer &t = m_graph.transfers[i];
        const RnicJobResult &r = m_results[i];
        if (r.counted)
        {
            continue;
        }
        const std::string name = "transfer " + std::to_string(i) + " (host " +
                                 std::to_string(t.src) + " -> " + std::to_string(t.dst) + ")";
        if (r.startPs == WIRE_NEVER)
        {
            if (m_waits[i] == 0)
            {
                lines.push_back(name + " waits for its start time");
            }
            continue; /* else it waits for one that is in the list itself */
        }
        const char *what = r.endPs == WIRE_NEVER   ? "its data to arrive"
                           : r.cqePs == WIRE_NEVER ? "its acknowledge"
                                                   : "its receiver";
        lines.push_back(name + ", posted at " + Us(r.startPs) + ", waits for " + what);
    }
    return lines;
}

} // namespace ns3
