/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-expect.h"

#include <cmath>

namespace ns3
{

namespace
{

const char *const g_kinds[] = {"equals", "min", "max", "near"};

bool Holds(const RnicScenarioExpect &expect, double value, double bound)
{
    switch (expect.kind)
    {
    case RnicScenarioExpect::EQUALS:
        return value == bound;
    case RnicScenarioExpect::MIN:
        return value >= bound;
    case RnicScenarioExpect::MAX:
        return value <= bound;
    case RnicScenarioExpect::NEAR:
        return std::fabs(value - bound) <= expect.tolerance * std::fabs(bound);
    }
    return false;
}

} // namespace

bool RnicExpectHasPath(const RnicScenarioExpect &expect)
{
    return expect.type == RnicScenarioExpect::TEXT && expect.kind != RnicScenarioExpect::EQUALS;
}

RnicJson RnicJudge(const RnicScenarioExpect &expect, const RnicJson *value, const RnicJson *other)
{
    RnicJson bound = RnicJson::Object();
    bool pass = false;
    if (expect.type == RnicScenarioExpect::BOOLEAN)
    {
        bound.Set("equals", expect.boolean);
        pass = value && value->GetType() == RnicJson::BOOLEAN && value->Boolean() == expect.boolean;
    }
    else if (expect.type == RnicScenarioExpect::TEXT && !RnicExpectHasPath(expect))
    {
        bound.Set("equals", expect.text);
        pass = value && value->GetType() == RnicJson::TEXT && value->Text() == expect.text;
    }
    else
    {
        const RnicJson own(expect.number);
        other = RnicExpectHasPath(expect) ? other : &own;
        bound.Set(g_kinds[expect.kind], other ? *other : RnicJson());
        if (expect.kind == RnicScenarioExpect::NEAR)
        {
            bound.Set("tolerance", expect.tolerance);
        }
        pass = value && value->IsNumber() && other && other->IsNumber() &&
               Holds(expect, value->Number(), other->Number());
    }
    RnicJson json = RnicJson::Object();
    json.Set("what", expect.what);
    json.Set("bound", bound);
    json.Set("value", value ? *value : RnicJson());
    json.Set("pass", pass);
    return json;
}

} // namespace ns3
