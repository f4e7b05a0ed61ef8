/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-scenario-parts.h"
#include "rnic-scenario-units.h"

#include <cstdio>

namespace ns3
{

namespace
{

const char *const HOW_NAME = "a name of letters, digits, _ and -, such as \"rate-of-flow-0\"";

std::string ReadName(const RnicTomlValue &value, const RnicScenario &scenario)
{
    const std::string name = value.String(HOW_NAME);
    const std::string good = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (name.empty() || name.find_first_not_of(good) != std::string::npos)
    {
        value.Fail("\"" + name + "\" is no name; write " + HOW_NAME);
    }
    for (const RnicScenarioMeasure &other : scenario.measures)
    {
        if (other.name == name)
        {
            value.Fail("\"" + name + "\" is taken by another measure; write another name");
        }
    }
    return name;
}

/* The whole text is the pattern with its numbers, of at most nine digits. */
bool Matches(const std::string &text, const char *pattern, uint32_t *a, uint32_t *b)
{
    int used = -1;
    std::sscanf(text.c_str(), (std::string(pattern) + "%n").c_str(), a, b, &used);
    return used == static_cast<int>(text.size());
}

bool MatchesOne(const std::string &text, const char *pattern, uint32_t *a)
{
    int used = -1;
    std::sscanf(text.c_str(), (std::string(pattern) + "%n").c_str(), a, &used);
    return used == static_cast<int>(text.size());
}

uint32_t Flows(const RnicScenario &scenario)
{
    const RnicScenarioWorkload &w = scenario.workload;
    return w.kind == "incast"  ? w.senders
           : w.kind == "flows" ? static_cast<uint32_t>(w.flows.size())
                               : 2 * (scenario.hosts - 1) * scenario.hosts;
}

void CheckNumber(const RnicTomlValue &value, const char *what, uint32_t number, uint32_t count)
{
    if (number >= count)
    {
        value.Fail("there " + std::string(count == 1 ? "is " : "are ") + std::to_string(count) +
                   " " + what + (count == 1 ? "" : "s") + ", so there is no " + what + " " +
                   std::to_string(number) + "; write a number below " + std::to_string(count));
    }
}

void ReadOf(const RnicTomlValue &value, const RnicScenario &s, RnicScenarioMeasure &measure)
{
    const std::string how = measure.kind == RnicScenarioMeasure::QUEUE
                                ? "\"switch0 port 2\""
                                : "\"flow 0\", \"host2\" or \"switch0 port 2\"";
    const std::string text = measure.of = value.String(how);
    if (Matches(text, "switch%9u port %9u", &measure.number, &measure.port))
    {
        measure.where = RnicScenarioMeasure::PORT;
        if (!s.star)
        {
            value.Fail("two hosts have no switch between them; write \"host0\", or a flow");
        }
        CheckNumber(value, "switch", measure.number, 1);
        CheckNumber(value, "port", measure.port, s.hosts);
        return;
    }
    if (measure.kind == RnicScenarioMeasure::QUEUE)
    {
        value.Fail("\"" + text + "\" has no queue; write a port of a switch, such as " + how);
    }
    if (MatchesOne(text, "flow %9u", &measure.number))
    {
        measure.where = RnicScenarioMeasure::FLOW;
        CheckNumber(value, "flow", measure.number, Flows(s));
    }
    else if (MatchesOne(text, "host%9u", &measure.number))
    {
        measure.where = RnicScenarioMeasure::HOST;
        CheckNumber(value, "host", measure.number, s.hosts);
    }
    else
    {
        value.Fail("\"" + text + "\" is nothing that is measured; write " + how);
    }
}

} // namespace

void RnicReadMeasure(RnicTomlDocument &document, const RnicTomlValue &table, RnicScenario &scenario)
{
    RnicScenarioMeasure measure;
    RnicTomlSection section(document, table.Path(), &table.Table());
    section.Key("name",
                [&](const RnicTomlValue &value) { measure.name = ReadName(value, scenario); });
    section.Key("kind",
                [&](const RnicTomlValue &value)
                {
                    measure.kind = value.OneOf({"rate", "queue"}) == 0 ? RnicScenarioMeasure::RATE
                                                                       : RnicScenarioMeasure::QUEUE;
                });
    section.Key("of", [&](const RnicTomlValue &value) { ReadOf(value, scenario, measure); });
    section.Key("class",
                [&](const RnicTomlValue &value)
                {
                    measure.prio = static_cast<int>(value.Whole(0, WIRE_CLASSES - 1));
                    if (measure.kind != RnicScenarioMeasure::QUEUE)
                    {
                        value.Fail("is of a queue; leave it out, or write kind = \"queue\"");
                    }
                });
    section.Key("from", [&](const RnicTomlValue &value)
                { measure.fromPs = value.Quantity(WIRE_UNIT_TIME, 0, scenario.run.stopPs); });
    section.Key("to",
                [&](const RnicTomlValue &value)
                {
                    measure.toPs = value.Quantity(WIRE_UNIT_TIME, 0, scenario.run.stopPs);
                    if (measure.toPs <= measure.fromPs)
                    {
                        value.Fail("is not after from; write a later time");
                    }
                });
    section.Read(&scenario.places);
    for (const char *name : {"name", "kind", "of", "from", "to"})
    {
        if (!section.Has(name))
        {
            throw scenario.Error(table.Path() + "." + name,
                                 "is missing; each [[measure]] needs name, kind, of, from and to");
        }
    }
    scenario.measures.push_back(measure);
}

} // namespace ns3
