/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [qp] of a scenario: what all queue pairs are like, and what they can not be.
 */
#include "rnic-job-graph.h"
#include "rnic-scenario-parts.h"
#include "rnic-scenario-units.h"

namespace ns3
{

namespace
{

constexpr uint64_t MAX_RATE_BPS = 100000000000000;

const std::vector<std::string> g_recoveries = {"go-back-n", "go-back-0", "selective"};
constexpr enum rnic_recovery RECOVERIES[] = {RNIC_RECOVER_GO_BACK_N, RNIC_RECOVER_GO_BACK_0,
                                             RNIC_RECOVER_SELECTIVE};

void ReadWindow(const RnicTomlValue &value, RnicScenarioQp &qp)
{
    qp.windowBdp = value.IsString() && value.String("a size, or \"bdp\"") == "bdp";
    qp.windowBytes = qp.windowBdp ? 0 : value.Quantity(WIRE_UNIT_BYTES, 0, UINT32_MAX);
}

/* UC has no acknowledges: nothing to wait for, nothing to repeat. */
void CheckUc(const RnicScenario &s)
{
    for (const char *key : {"recovery", "window", "max_rd_atomic", "e2e_credits"})
    {
        const std::string path = std::string("qp.") + key;
        if (s.places.count(path) != 0)
        {
            throw s.Error(path, "is of Reliable Connections; write service = \"rc\", or leave it "
                                "out");
        }
    }
}

void CheckVerb(const RnicScenario &s, const std::string &section, const std::string &verb,
               uint64_t bytes)
{
    const bool atomic = verb == "fetch_add" || verb == "compare_swap";
    if (!atomic && verb != "read")
    {
        return;
    }
    if (s.qp.uc)
    {
        throw s.Error(section + ".verb", "UC has no " + verb +
                                             "; write qp.service = \"rc\", or "
                                             "write or send");
    }
    if (s.qp.maxRdAtomic == 0)
    {
        throw s.Error(section + ".verb",
                      "max_rd_atomic is 0, which allows no " + verb + "; write at least 1");
    }
    if (atomic && (bytes == 0 || bytes % 8 != 0 || bytes > RNIC_JOB_MAX_ATOMIC_BYTES))
    {
        throw s.Error(section + ".bytes", std::to_string(bytes) +
                                              " bytes are no atomics, which change 8 bytes each; "
                                              "write a multiple of 8 up to \"1MiB\"");
    }
}

} // namespace

void RnicReadQp(RnicTomlDocument &document, toml::table *table, RnicScenario &scenario)
{
    RnicScenarioQp &qp = scenario.qp;
    const uint64_t most = scenario.nic.max_rd_atomic;
    RnicTomlSection section(document, "qp", table);
    qp.maxRdAtomic = most;
    section.Key("service",
                [&](const RnicTomlValue &value) {
                    qp.uc = value.OneOf({"rc", "uc"}) == 1;
                });
    section.Key("recovery", [&](const RnicTomlValue &value)
                { qp.recovery = RECOVERIES[value.OneOf(g_recoveries)]; });
    section.Key("window", [&](const RnicTomlValue &value) { ReadWindow(value, qp); });
    section.Key("rate_limit", [&](const RnicTomlValue &value)
                { qp.rateLimitBps = value.Quantity(WIRE_UNIT_RATE, 1, MAX_RATE_BPS); });
    section.Key("max_rd_atomic",
                [&](const RnicTomlValue &value)
                {
                    qp.maxRdAtomic = value.Whole(0, 255);
                    if (qp.maxRdAtomic > most)
                    {
                        value.Fail("is more than the card has (nic.max_rd_atomic = " +
                                   std::to_string(most) + "); write at most that");
                    }
                });
    section.Key("e2e_credits", [&](const RnicTomlValue &value) { qp.e2eCredits = value.Bool(); });
    section.Key("roce_v1", [&](const RnicTomlValue &value) { qp.roceV1 = value.Bool(); });
    section.Read(&scenario.places);
}

void RnicCheckQp(const RnicScenario &s)
{
    const RnicScenarioQp &qp = s.qp;
    const bool window = qp.windowBdp || qp.windowBytes != 0;
    if (qp.uc)
    {
        CheckUc(s);
    }
    if (qp.recovery == RNIC_RECOVER_SELECTIVE && !window)
    {
        throw s.Error("qp.recovery", "selective repeat needs a window; write window = \"bdp\"");
    }
    if (qp.recovery == RNIC_RECOVER_SELECTIVE && qp.windowBytes > RNIC_SELECTIVE_WINDOW_MAX)
    {
        throw s.Error("qp.window", "selective repeat keeps twice its window for each queue pair; "
                                   "64MiB at most");
    }
    if (qp.recovery == RNIC_RECOVER_GO_BACK_0 && window)
    {
        throw s.Error("qp.window", "go-back-0 takes no acknowledge of an open message, so that a "
                                   "window would close for good; leave it out");
    }
    if (qp.recovery == RNIC_RECOVER_GO_BACK_0 && qp.e2eCredits)
    {
        throw s.Error("qp.e2e_credits", "go-back-0 takes no acknowledge of an open message, and "
                                        "no credits; write false");
    }
    if (qp.roceV1 && s.star && !s.fabric.l2)
    {
        throw s.Error("qp.roce_v1", "RoCEv1 stays in one broadcast domain and this switch routes; "
                                    "write switch.l2 = true");
    }
    if (s.workload.kind == "incast")
    {
        CheckVerb(s, "workload", s.workload.verb, s.workload.bytes);
    }
    for (size_t i = 0; i < s.workload.flows.size(); i++)
    {
        const RnicScenarioFlow &flow = s.workload.flows[i];
        CheckVerb(s, "workload.flow." + std::to_string(i), flow.verb, flow.bytes);
    }
}

} // namespace ns3
