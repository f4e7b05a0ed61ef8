/* SPDX-License-Identifier: GPL-2.0-only */
// What the catalogue offers beyond WRITE and SEND, from C++: objects, events, options.

#include "rnic-application.h"
#include "rnic-test-star.h"

#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <cstring>

using namespace ns3;

namespace
{
constexpr unsigned ALL = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |
                         RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC;

/** @returns the one completion that host @p i has; with any other number of them a status that no
 * card gives. */
struct rnic_wc One(RnicTestStar &star, uint32_t i)
{
    const std::vector<struct rnic_wc> all = star.Poll(i);
    struct rnic_wc none = {};

    none.status = RNIC_WC_LOC_EEC_OP_ERR;
    return all.size() == 1 ? all[0] : none;
}
} // namespace

/** READ, atomics, SEND with invalidate, inline: bytes, answers, flags. */
class RnicCatalogueVerbsTestCase : public TestCase
{
public:
    RnicCatalogueVerbsTestCase() : TestCase("READ, atomics, inline, SEND with invalidate, fence")
    {
    }

private:
    void DoRun() override
    {
        RnicTestStar star(2);

        star.Build();
        star.Fill(0);

        auto qpns = star.Pair(0, 1);
        Ptr<RnicVerbs> here = star.m_verbs[0];
        Ptr<RnicVerbs> there = star.m_verbs[1];
        Ptr<RnicMemory> local = here->AllocMemory(star.m_pds[0], 65536, ALL);
        Ptr<RnicMemory> remote =
            there->AllocMemory(star.m_pds[1], 65536, ALL | RNIC_ACCESS_MW_BIND);
        Ptr<RnicMemory> spare = Create<RnicMemory>(64, remote->Va() + 50000, true);
        uint32_t mw = 0;
        uint64_t word = 40;

        there->AllocMw(star.m_pds[1], &mw);
        spare->SetKey(mw ^ 1);
        there->PostBindMw(qpns.second, 1, mw, spare->Key(), remote, 50000, 64,
                          RNIC_ACCESS_REMOTE_READ);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(One(star, 1).status, RNIC_WC_SUCCESS, "bound");

        for (uint32_t i = 0; i < 20000; i++)
        {
            remote->Data()[i] = static_cast<uint8_t>(i * 7 + 3);
        }
        std::memcpy(remote->Data() + 32768, &word, 8);
        NS_TEST_EXPECT_MSG_EQ(here->PostRead(qpns.first, 1, local, 5, remote, 9, 19000), 0, "READ");
        here->PostFetchAdd(qpns.first, 2, local, 32768, remote, 32768, 2);
        here->PostCompareSwap(qpns.first, 3, local, 32776, remote, 32768, 42, 7);
        here->PostCompareSwap(qpns.first, 4, local, 32784, remote, 32768, 42, 8);
        there->PostRecv(qpns.second, 11, remote, 40000, 100);
        there->PostRecv(qpns.second, 12, remote, 41000, 100);

        uint8_t text[] = "inline";

        NS_TEST_EXPECT_MSG_EQ(here->PostSendInline(qpns.first, 5, text, 7), 0, "inline");
        std::memset(text, 0, sizeof text); // they travel in the request

        struct rnic_send_wr wr = {};

        wr.wr_id = 6;
        wr.opcode = RNIC_WR_SEND_WITH_INV;
        wr.send_flags = RNIC_SEND_SIGNALED | RNIC_SEND_FENCE;
        wr.invalidate_rkey = spare->Key();
        here->PostSend(qpns.first, wr);
        Simulator::Run();

        const std::vector<struct rnic_wc> wc = star.Poll(0);

        NS_TEST_ASSERT_MSG_EQ(wc.size(), 6, "each completes");
        for (size_t i = 0; i < wc.size(); i++)
        {
            NS_TEST_EXPECT_MSG_EQ(wc[i].wr_id, i + 1, "in order");
            NS_TEST_EXPECT_MSG_EQ(wc[i].status, RNIC_WC_SUCCESS, "request " << i + 1);
        }
        NS_TEST_EXPECT_MSG_EQ(std::memcmp(local->Data() + 5, remote->Data() + 9, 19000), 0,
                              "bytes read");

        uint64_t answers[3];

        std::memcpy(answers, local->Data() + 32768, sizeof answers);
        std::memcpy(&word, remote->Data() + 32768, 8);
        NS_TEST_EXPECT_MSG_EQ(answers[0], 40, "before the addition");
        NS_TEST_EXPECT_MSG_EQ(answers[1], 42, "swapped");
        NS_TEST_EXPECT_MSG_EQ(answers[2], 7, "not swapped");
        NS_TEST_EXPECT_MSG_EQ(word, 7, "the word");
        NS_TEST_EXPECT_MSG_EQ(std::memcmp(remote->Data() + 40000, "inline", 7), 0, "inline bytes");

        const std::vector<struct rnic_wc> got = star.Poll(1);

        NS_TEST_ASSERT_MSG_EQ(got.size(), 2, "two receives");
        NS_TEST_EXPECT_MSG_EQ(got[1].wc_flags, RNIC_WC_WITH_INV, "flag");
        NS_TEST_EXPECT_MSG_EQ(got[1].invalidated_rkey, spare->Key(), "key");
        here->PostRead(qpns.first, 7, local, 0, spare, 0, 8);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(One(star, 0).status, RNIC_WC_REM_ACCESS_ERR, "it opens nothing");
    }
};

/** Regions of scattered pages, windows and local invalidate. */
class RnicCatalogueMemoryTestCase : public TestCase
{
public:
    RnicCatalogueMemoryTestCase() : TestCase("page lists, windows, local invalidate")
    {
    }

private:
    void Pages(RnicTestStar &star, std::pair<uint32_t, uint32_t> qpns)
    {
        std::vector<uint8_t> pages[3] = {std::vector<uint8_t>(4096), std::vector<uint8_t>(4096),
                                         std::vector<uint8_t>(4096)};
        Ptr<RnicMemory> region = Create<RnicMemory>(8192, 0x40000800, true);
        uint32_t key = 0;

        NS_TEST_ASSERT_MSG_EQ(star.m_verbs[1]->RegMrPages(
                                  star.m_pds[1], 0x40000800, 8192, 4096,
                                  {pages[2].data(), pages[0].data(), pages[1].data()}, ALL, &key),
                              0, "three pages for 8192 bytes from the middle of one on");
        NS_TEST_EXPECT_MSG_EQ(star.m_verbs[1]->RegMrPages(star.m_pds[1], 0x40000800, 8192, 4096,
                                                          {pages[2].data()}, ALL, &key),
                              RNIC_ERR_INVAL, "one page is not enough");
        region->SetKey(key);
        star.m_verbs[0]->PostWrite(qpns.first, 1, star.m_memory[0], 0, region, 0, 8192);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(One(star, 0).status, RNIC_WC_SUCCESS, "written");

        const uint8_t *sent = star.m_memory[0]->Data();

        NS_TEST_EXPECT_MSG_EQ(std::memcmp(pages[2].data() + 2048, sent, 2048), 0, "first page");
        NS_TEST_EXPECT_MSG_EQ(std::memcmp(pages[0].data(), sent + 2048, 4096), 0, "second page");
        NS_TEST_EXPECT_MSG_EQ(std::memcmp(pages[1].data(), sent + 6144, 2048), 0, "third page");
        NS_TEST_EXPECT_MSG_EQ(star.m_verbs[1]->DeregMr(key), 0, "deregistered");
    }

    void DoRun() override
    {
        RnicTestStar star(2);

        star.Build();
        star.Fill(0);

        auto qpns = star.Pair(0, 1);

        Pages(star, qpns);

        Ptr<RnicVerbs> owner = star.m_verbs[1];
        Ptr<RnicMemory> memory = owner->AllocMemory(star.m_pds[1], 8192, ALL | RNIC_ACCESS_MW_BIND);
        Ptr<RnicMemory> window = Create<RnicMemory>(100, memory->Va() + 1000, true);
        uint32_t mw = 0;

        NS_TEST_ASSERT_MSG_EQ(owner->AllocMw(star.m_pds[1], &mw), 0, "window");
        window->SetKey(mw ^ 1);
        owner->PostBindMw(qpns.second, 1, mw, window->Key(), memory, 1000, 100,
                          RNIC_ACCESS_REMOTE_WRITE);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(One(star, 1).opcode, RNIC_WC_BIND_MW, "bound");
        NS_TEST_EXPECT_MSG_EQ(owner->DeregMr(memory->Key()), RNIC_ERR_BUSY, "a window is on it");
        star.m_verbs[0]->PostWrite(qpns.first, 2, star.m_memory[0], 0, window, 0, 100);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(One(star, 0).status, RNIC_WC_SUCCESS, "through the window");
        NS_TEST_EXPECT_MSG_EQ(std::memcmp(memory->Data() + 1000, star.m_memory[0]->Data(), 100), 0,
                              "bytes");
        owner->PostLocalInv(qpns.second, 3, window->Key());
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(One(star, 1).opcode, RNIC_WC_LOCAL_INV, "invalidated");
        star.m_verbs[0]->PostWrite(qpns.first, 4, star.m_memory[0], 0, window, 0, 100);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(One(star, 0).status, RNIC_WC_REM_ACCESS_ERR, "closed");
        NS_TEST_EXPECT_MSG_EQ(owner->DeallocMw(mw), 0, "given back");
        NS_TEST_EXPECT_MSG_EQ(owner->DeallocMw(mw), RNIC_ERR_NOENT, "only once");
    }
};

/** Datagrams: the GRH area holds the addresses that the stations have. */
class RnicCatalogueUdTestCase : public TestCase
{
public:
    RnicCatalogueUdTestCase() : TestCase("UD: address handles and the GRH area")
    {
    }

private:
    void DoRun() override
    {
        RnicTestStar star(3);

        star.Build();
        star.Fill(0);

        uint32_t qpn[3];

        for (uint32_t i = 0; i < 3; i++)
        {
            struct rnic_qp_init_attr init =
                star.m_verbs[i]->QpInit(star.m_pds[i], star.m_cqs[i], 8);

            init.type = RNIC_QPT_UD;
            NS_TEST_ASSERT_MSG_EQ(star.m_verbs[i]->CreateQp(init, &qpn[i]), 0, "create");
            NS_TEST_ASSERT_MSG_EQ(star.m_verbs[i]->StartUd(qpn[i], 77), 0, "start");
            star.m_verbs[i]->PostRecv(qpn[i], 5, star.m_memory[i], 8192, 4096);
        }
        for (uint32_t peer : {1, 2})
        {
            const struct rnic_sge sge = star.m_memory[0]->Sge(0, 1000);
            struct rnic_send_wr wr = {};

            wr.opcode = RNIC_WR_SEND;
            wr.sg_list = &sge;
            wr.num_sge = 1;
            wr.ud.remote_qpn = qpn[peer];
            wr.ud.remote_qkey = 77;
            NS_TEST_ASSERT_MSG_EQ(
                star.m_verbs[0]->CreateAh(star.m_pds[0], star.m_verbs[peer], &wr.ud.ah), 0, "ah");
            NS_TEST_ASSERT_MSG_EQ(star.m_verbs[0]->PostSend(qpn[0], wr), 0, "post");
            NS_TEST_EXPECT_MSG_EQ(star.m_verbs[0]->DestroyAh(wr.ud.ah), 0, "it keeps the address");
            NS_TEST_EXPECT_MSG_EQ(star.m_verbs[0]->DestroyAh(wr.ud.ah), RNIC_ERR_NOENT, "gone");
        }
        Simulator::Run();

        const struct wire_addr_book *book = RnicEngine::Get()->GetBook();
        const struct wire_station from = wire_addr_station(book, star.m_nics[0]->GetPort());

        for (uint32_t peer : {1, 2})
        {
            const struct wire_station to = wire_addr_station(book, star.m_nics[peer]->GetPort());
            const std::vector<struct rnic_wc> wc = star.Poll(peer);
            const uint8_t *area = star.m_memory[peer]->Data() + 8192;

            NS_TEST_ASSERT_MSG_EQ(wc.size(), 1, "one datagram");
            NS_TEST_EXPECT_MSG_EQ(wc[0].byte_len, 1040, "with its area");
            NS_TEST_EXPECT_MSG_EQ(wc[0].src_qp, qpn[0], "from");
            NS_TEST_EXPECT_MSG_EQ(std::memcmp(area + 32, from.gid + 12, 4), 0, "source address");
            NS_TEST_EXPECT_MSG_EQ(std::memcmp(area + 36, to.gid + 12, 4), 0, "destination");
            NS_TEST_EXPECT_MSG_EQ(std::memcmp(area + 40, star.m_memory[0]->Data(), 1000), 0,
                                  "bytes");
        }
    }
};

/** Asynchronous events reach the callback: drained, last WQE, limit. */
class RnicCatalogueEventsTestCase : public TestCase
{
public:
    RnicCatalogueEventsTestCase() : TestCase("SQ_DRAINED, SRQ_LIMIT, LAST_WQE; SQD and back")
    {
    }

private:
    void OnAsync(const struct rnic_event &event)
    {
        m_events.push_back(event);
    }

    void DoRun() override
    {
        RnicTestStar star(2);

        star.Build();

        Ptr<RnicVerbs> client = star.m_verbs[0];
        Ptr<RnicVerbs> server = star.m_verbs[1];
        struct rnic_srq_attr attr = {};
        struct rnic_qp_init_attr init = server->QpInit(star.m_pds[1], star.m_cqs[1], 4);
        uint32_t qpn[2];
        uint32_t srq = 0;
        uint32_t left = 0;

        attr.max_wr = 4;
        attr.max_sge = 1;
        NS_TEST_ASSERT_MSG_EQ(server->CreateSrq(star.m_pds[1], attr, &srq), 0, "srq");
        init.srq = srq;
        client->CreateQp(star.m_pds[0], star.m_cqs[0], 4, &qpn[0]);
        server->CreateQp(init, &qpn[1]);
        RnicVerbs::Connect(client, qpn[0], server, qpn[1]);
        for (uint32_t i = 0; i < 2; i++)
        {
            const struct rnic_sge sge = star.m_memory[1]->Sge(100 * i, 100);

            NS_TEST_EXPECT_MSG_EQ(server->PostSrqRecv(srq, {i, &sge, 1}), 0, "stocked");
        }
        NS_TEST_EXPECT_MSG_EQ(server->ModifySrq(srq, 2), 0, "armed");
        server->SetAsyncCallback(MakeCallback(&RnicCatalogueEventsTestCase::OnAsync, this));
        client->SetAsyncCallback(MakeCallback(&RnicCatalogueEventsTestCase::OnAsync, this));
        client->PostSend(qpn[0], 1, star.m_memory[0], 0, 50);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(server->QuerySrq(srq, nullptr, &left), 0, "query");
        NS_TEST_EXPECT_MSG_EQ(left, 1, "one receive left");
        Expect(RNIC_EVENT_SRQ_LIMIT, srq);
        NS_TEST_EXPECT_MSG_EQ(server->DestroySrq(srq), RNIC_ERR_BUSY, "in use");

        struct rnic_qp_attr drain = {};

        drain.qp_state = RNIC_QPS_SQD;
        drain.en_sqd_async_notify = true;
        NS_TEST_EXPECT_MSG_EQ(
            client->ModifyQp(qpn[0], drain, RNIC_QP_STATE | RNIC_QP_EN_SQD_ASYNC_NOTIFY), 0, "SQD");
        client->PostSend(qpn[0], 2, star.m_memory[0], 0, 50);
        Simulator::Run();
        Expect(RNIC_EVENT_SQ_DRAINED, qpn[0]);
        NS_TEST_EXPECT_MSG_EQ(star.Poll(0).size(), 1, "the second one waits");
        NS_TEST_EXPECT_MSG_EQ(client->SetQpState(qpn[0], RNIC_QPS_RTS), 0, "on");
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(star.Poll(0).size(), 1, "and goes");
        NS_TEST_EXPECT_MSG_EQ(server->SetQpState(qpn[1], RNIC_QPS_ERR), 0, "ERR");
        Simulator::Run();
        Expect(RNIC_EVENT_LAST_WQE, qpn[1]);
        client->SetAsyncCallback(Callback<void, const struct rnic_event &>());
        server->SetAsyncCallback(Callback<void, const struct rnic_event &>());
    }

    /** The last event, and none besides it of this type. */
    void Expect(enum rnic_event_type type, uint32_t number)
    {
        uint32_t found = 0;

        for (const struct rnic_event &event : m_events)
        {
            found += event.type == type &&
                     (type == RNIC_EVENT_SRQ_LIMIT ? event.srq : event.qpn) == number;
        }
        NS_TEST_EXPECT_MSG_EQ(found, 1, "event " << type);
    }

    std::vector<struct rnic_event> m_events;
};

/** Options of a connection: rate, READs outstanding, UC, cost. */
class RnicCatalogueConnectTestCase : public TestCase
{
public:
    RnicCatalogueConnectTestCase() : TestCase("options of a connection")
    {
    }

private:
    /** @returns when a WRITE of 40000 bytes was complete, in picoseconds. */
    uint64_t Write(const RnicConnectOptions &options, uint64_t connectPs)
    {
        RnicTestStar star(2);
        struct rnic_params params = rnic_params_ideal();
        uint64_t at = 0;
        uint32_t qpn[2];

        params.connect_ps = connectPs;
        star.m_helper.SetNicParams(params);
        star.Build();
        for (uint32_t i = 0; i < 2; i++)
        {
            struct rnic_qp_init_attr init =
                star.m_verbs[i]->QpInit(star.m_pds[i], star.m_cqs[i], 4);

            init.type = options.type;
            star.m_verbs[i]->CreateQp(init, &qpn[i]);
        }
        NS_TEST_EXPECT_MSG_EQ(
            RnicVerbs::Connect(star.m_verbs[0], qpn[0], star.m_verbs[1], qpn[1], options), 0,
            "connect");
        const bool refused = options.maxRdAtomic == 0 || options.type == RNIC_QPT_UC;

        NS_TEST_EXPECT_MSG_EQ(
            star.m_verbs[0]->PostRead(qpn[0], 9, star.m_memory[0], 0, star.m_memory[1], 0, 8),
            (refused ? RNIC_ERR_INVAL : 0), "READ");
        star.m_verbs[0]->PostWrite(qpn[0], 1, star.m_memory[0], 0, star.m_memory[1], 0, 40000);
        star.m_nics[0]->TraceConnectWithoutContext(
            "Completion", MakeBoundCallback(&RnicCatalogueConnectTestCase::Completed, &at));
        Simulator::Run();
        return at;
    }

    static void Completed(uint64_t *at, const struct rnic_event &event)
    {
        *at = event.time_ps;
    }

    void DoRun() override
    {
        RnicConnectOptions options;

        options.maxRdAtomic = 0;

        const uint64_t plain = Write(options, 0);

        NS_TEST_EXPECT_MSG_EQ(Write(options, 50000000), plain + 50000000, "50 us later");
        options.rateLimitBps = 1000000000;
        NS_TEST_EXPECT_MSG_GT(Write(options, 0), 36864u * 8000, "nine packets at 1 Gb/s");
        options = RnicConnectOptions();
        options.type = RNIC_QPT_UC;
        NS_TEST_EXPECT_MSG_LT(Write(options, 0), plain, "complete when sent");
        options.type = RNIC_QPT_RC;
        options.maxRdAtomic = 300;

        RnicTestStar star(2);
        uint32_t qpn = 0;

        star.Build();
        star.m_verbs[0]->CreateQp(star.m_pds[0], star.m_cqs[0], 4, &qpn);
        NS_TEST_EXPECT_MSG_EQ(
            star.m_verbs[0]->ConnectTo(qpn, star.m_nics[1]->GetPort(), 1, options), RNIC_ERR_INVAL,
            "too many READs");
    }
};

/** Applications with the verbs and services of the catalogue; loss where the service takes it. */
class RnicCatalogueApplicationTestCase : public TestCase
{
public:
    RnicCatalogueApplicationTestCase(const std::string &verb, const std::string &recovery)
        : TestCase("RnicApplication: " + verb + ", " + recovery), m_verb(verb), m_recovery(recovery)
    {
    }

private:
    void DoRun() override
    {
        RnicTestStar star(2);
        const bool uc = m_recovery == "uc";
        Ptr<RnicApplication> app[2];

        star.m_helper.SetLinkAttribute("Loss", DoubleValue(uc ? 0 : 0.01));
        star.BuildFabric();
        for (uint32_t i = 0; i < 2; i++)
        {
            app[i] = CreateObject<RnicApplication>();
            app[i]->SetAttribute("Verb", StringValue(m_verb));
            app[i]->SetAttribute("Bytes", UintegerValue(50000));
            app[i]->SetAttribute("Count", UintegerValue(i == 0 ? COUNT : 0));
            app[i]->SetAttribute("Service", StringValue(uc ? "uc" : "rc"));
            app[i]->SetAttribute("Recovery", StringValue(uc ? "go-back-n" : m_recovery));
            app[i]->SetAttribute("Window", UintegerValue(m_recovery == "selective" ? 65536 : 0));
            app[i]->SetAttribute("RateLimit", DataRateValue(DataRate("50Gbps")));
            star.m_hosts.Get(i)->AddApplication(app[i]);
        }
        app[0]->SetPeer(app[1]);
        app[0]->SetStartTime(MicroSeconds(1));
        app[1]->SetStartTime(MicroSeconds(1));

        const bool read = m_verb == "read";
        Ptr<RnicMemory> from = read ? app[1]->GetSendMemory() : app[0]->GetSendMemory();
        Ptr<RnicMemory> to = read ? app[0]->GetReceiveMemory() : app[1]->GetReceiveMemory();

        for (uint64_t i = 0; i < from->Size(); i++)
        {
            from->Data()[i] = static_cast<uint8_t>(i * 11 + i / 256 + 1);
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(app[0]->GetCompleted(), COUNT, "all complete");
        NS_TEST_EXPECT_MSG_EQ(app[0]->GetFailed(), 0, "none fails");
        if (m_verb == "fetch_add" || m_verb == "compare_swap")
        {
            uint64_t word;
            uint64_t answer;

            std::memcpy(&word, to->Data(), 8);
            std::memcpy(&answer, from->Data(), 8);
            NS_TEST_EXPECT_MSG_EQ(word, COUNT, "counted");
            NS_TEST_EXPECT_MSG_EQ(answer, COUNT - 1, "the last answer");
        }
        else
        {
            NS_TEST_EXPECT_MSG_EQ(std::memcmp(from->Data(), to->Data(), 50000), 0, "bytes");
        }
    }

    static constexpr uint64_t COUNT = 20;
    std::string m_verb;
    std::string m_recovery;
};

/** The suite of this file. */
class RnicCatalogueTestSuite : public TestSuite
{
public:
    RnicCatalogueTestSuite() : TestSuite("rnic-catalogue")
    {
        AddTestCase(new RnicCatalogueVerbsTestCase);
        AddTestCase(new RnicCatalogueMemoryTestCase);
        AddTestCase(new RnicCatalogueUdTestCase);
        AddTestCase(new RnicCatalogueEventsTestCase);
        AddTestCase(new RnicCatalogueConnectTestCase);
        for (const char *verb : {"read", "fetch_add", "compare_swap"})
        {
            AddTestCase(new RnicCatalogueApplicationTestCase(verb, "go-back-n"));
        }
        for (const char *recovery : {"go-back-0", "selective", "uc"})
        {
            AddTestCase(new RnicCatalogueApplicationTestCase("send", recovery));
        }
        AddTestCase(new RnicCatalogueApplicationTestCase("write", "selective"));
    }
};

static RnicCatalogueTestSuite g_rnicCatalogueTestSuite;
