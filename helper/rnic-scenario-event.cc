/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-scenario-parts.h"

#include <cstdio>

namespace ns3
{

namespace
{

void ReadOf(const RnicTomlValue &value, const RnicScenario &scenario, RnicScenarioEvent &event)
{
    const std::string how = "the host whose line it is, such as \"host0\"";
    int used = -1;
    event.of = value.String(how);
    std::sscanf(event.of.c_str(), "host%9u%n", &event.host, &used);
    if (used != static_cast<int>(event.of.size()))
    {
        value.Fail("\"" + event.of + "\" has no line; write " + how);
    }
    if (event.host >= scenario.hosts)
    {
        value.Fail("there are " + std::to_string(scenario.hosts) + " hosts, so there is no host " +
                   std::to_string(event.host) + "; write a number below " +
                   std::to_string(scenario.hosts));
    }
}

} // namespace

void RnicReadEvent(RnicTomlDocument &document, const RnicTomlValue &table, RnicScenario &scenario)
{
    RnicScenarioEvent event;
    RnicTomlSection section(document, table.Path(), &table.Table());
    section.Key("at", [&](const RnicTomlValue &value)
                { event.atPs = value.Quantity(WIRE_UNIT_TIME, 0, scenario.run.stopPs); });
    section.Key("kind",
                [&](const RnicTomlValue &value) {
                    event.up = value.OneOf({"link-down", "link-up"}) == 1;
                });
    section.Key("of", [&](const RnicTomlValue &value) { ReadOf(value, scenario, event); });
    section.Read(&scenario.places);
    for (const char *name : {"at", "kind", "of"})
    {
        if (!section.Has(name))
        {
            throw scenario.Error(table.Path() + "." + name,
                                 "is missing; each [[event]] needs at, kind and of");
        }
    }
    scenario.events.push_back(event);
}

} // namespace ns3
