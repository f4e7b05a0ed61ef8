/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-scenario-parts.h"
#include "rnic-scenario-units.h"

#include <algorithm>
#include <cstring>

namespace ns3
{

namespace
{

constexpr uint64_t MAX_BOUND = uint64_t(1) << 53; /* a double holds it */
constexpr double MAX_TOLERANCE = 1e6;

/* First names an expect may begin with: the objects of summary.json. */
const std::vector<std::string> g_results = {
    "scenario",     "seed",  "parameters", "sim_end_ps",  "collectives", "flows",
    "conservation", "pfc",   "ecn_marked", "ce_received", "cnps_sent",   "cnps_received",
    "control_lost", "speed", "status",     "switches",    "measures"};

const RnicScenarioMeasure *MeasureOfPath(const RnicScenario &scenario, const std::string &path)
{
    for (const RnicScenarioMeasure &measure : scenario.measures)
    {
        if (path == "measures." + measure.name)
        {
            return &measure;
        }
    }
    return nullptr;
}

/* Unit in which a bound may be written, by the end of the path; COUNT: a plain number only. */
wire_unit UnitOfPath(const RnicScenario &scenario, const std::string &path)
{
    if (const RnicScenarioMeasure *measure = MeasureOfPath(scenario, path))
    {
        return measure->kind == RnicScenarioMeasure::RATE ? WIRE_UNIT_RATE : WIRE_UNIT_BYTES;
    }
    auto ends = [&](const std::string &end)
    {
        return path.size() >= end.size() &&
               path.compare(path.size() - end.size(), end.size(), end) == 0;
    };
    return ends("_ps")     ? WIRE_UNIT_TIME
           : ends("_bps")  ? WIRE_UNIT_RATE
           : ends("bytes") ? WIRE_UNIT_BYTES
                           : WIRE_UNIT_COUNT;
}

bool StartsWithResult(const std::string &path)
{
    const std::string first = path.substr(0, path.find('.'));
    return std::find(g_results.begin(), g_results.end(), first) != g_results.end();
}

/* Refuse a path that cannot be in summary.json. */
void CheckPath(const RnicScenario &scenario, const std::string &path, const RnicTomlValue &value)
{
    auto meant = [](const std::string &word, const std::vector<std::string> &names)
    {
        const std::string near = RnicNearestName(word, names);
        return near.empty() ? "known: " + RnicJoinNames(names) : "did you mean \"" + near + "\"?";
    };
    const std::string first = path.substr(0, path.find('.'));
    if (!StartsWithResult(path))
    {
        value.Fail("\"" + first + "\" is not in summary.json; " + meant(first, g_results));
    }
    if (first == "measures" && MeasureOfPath(scenario, path) == nullptr)
    {
        std::vector<std::string> names;
        for (const RnicScenarioMeasure &measure : scenario.measures)
        {
            names.push_back("measures." + measure.name);
        }
        value.Fail("there is no such [[measure]]; " +
                   (names.empty() ? "write one with that name" : meant(path, names)));
    }
}

/* Whether a text may be a number with a unit, not a path or a word. */
bool StartsAsNumber(const std::string &text)
{
    return text.find_first_of("0123456789+-.") == 0;
}

} // namespace

void RnicReadExpect(RnicTomlDocument &document, const RnicTomlValue &table, RnicScenario &scenario)
{
    RnicScenarioExpect expect;
    int bounds = 0;
    RnicTomlSection section(document, table.Path(), &table.Table());
    section.Key("what",
                [&](const RnicTomlValue &value)
                {
                    expect.what = value.String("a dotted path into summary.json, such as "
                                               "\"collectives.0.verified\"");
                    CheckPath(scenario, expect.what, value);
                });
    const std::vector<std::pair<std::string, RnicScenarioExpect::Kind>> kinds = {
        {"equals", RnicScenarioExpect::EQUALS},
        {"min", RnicScenarioExpect::MIN},
        {"max", RnicScenarioExpect::MAX},
        {"near", RnicScenarioExpect::NEAR}};
    for (const auto &[name, kind] : kinds)
    {
        RnicScenarioExpect::Kind k = kind;
        section.Key(
            name,
            [&, k](const RnicTomlValue &value)
            {
                expect.kind = k;
                bounds++;
                if (value.IsNumber())
                {
                    expect.number = value.Number(-1e300, 1e300);
                }
                else if (value.IsBool() && k == RnicScenarioExpect::EQUALS)
                {
                    expect.type = RnicScenarioExpect::BOOLEAN;
                    expect.boolean = value.Bool();
                }
                else
                {
                    expect.text = value.String("a number");
                    bool path = k != RnicScenarioExpect::EQUALS && StartsWithResult(expect.text);
                    wire_unit unit = UnitOfPath(scenario, expect.what);
                    expect.type = RnicScenarioExpect::TEXT;
                    if (path)
                    {
                        CheckPath(scenario, expect.text, value);
                    }
                    if (!path && !StartsAsNumber(expect.text) &&
                        (k != RnicScenarioExpect::EQUALS || unit != WIRE_UNIT_COUNT))
                    {
                        CheckPath(scenario, expect.text, value); // says what is there instead
                    }
                    if (!path && unit != WIRE_UNIT_COUNT)
                    {
                        expect.type = RnicScenarioExpect::NUMBER;
                        expect.number = static_cast<double>(value.Quantity(unit, 0, MAX_BOUND));
                    }
                    else if (!path && k != RnicScenarioExpect::EQUALS)
                    {
                        value.Fail("is a text; write a number, or a path into summary.json");
                    }
                }
            });
    }
    section.Key("tolerance",
                [&](const RnicTomlValue &value)
                {
                    const std::string how = "a share such as \"5%\" or 0.05";
                    if (value.IsNumber())
                    {
                        expect.tolerance = value.Number(0, MAX_TOLERANCE);
                        return;
                    }
                    const std::string text = value.String(how);
                    char *end = nullptr;
                    expect.tolerance = std::strtod(text.c_str(), &end) / 100;
                    if (end == text.c_str() || std::strcmp(end, "%") != 0 ||
                        !(expect.tolerance >= 0 && expect.tolerance <= MAX_TOLERANCE))
                    {
                        value.Fail("\"" + text + "\" is no share; write " + how);
                    }
                });
    section.Read(&scenario.places);
    if (expect.what.empty())
    {
        table.Fail("has no what; write what = a dotted path into summary.json");
    }
    if (bounds != 1)
    {
        table.Fail("needs exactly one bound; write equals, min, max, or near with tolerance");
    }
    if ((expect.kind == RnicScenarioExpect::NEAR) != section.Has("tolerance"))
    {
        table.Fail("near and tolerance go together; write both, such as near = 10, "
                   "tolerance = \"5%\"");
    }
    scenario.expects.push_back(expect);
}

} // namespace ns3
