/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The verdict on one [[expect]], of a run or of the mean of several.
 */
#ifndef RNIC_EXPECT_H
#define RNIC_EXPECT_H

#include "rnic-json.h"
#include "rnic-scenario.h"

namespace ns3
{

/**
 * @ingroup rnic
 * @param value  number, truth or text the expect is about; nullptr: there is none
 * @param other  what is at the path the bound gives, when it gives one; nullptr: nothing
 * @returns {what, bound, value, pass}
 */
RnicJson RnicJudge(const RnicScenarioExpect &expect, const RnicJson *value, const RnicJson *other);

/** @ingroup rnic
 * @returns true: the bound is a path, whose value must be looked up. */
bool RnicExpectHasPath(const RnicScenarioExpect &expect);

} // namespace ns3

#endif /* RNIC_EXPECT_H */
