/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Readers of the parts of a scenario that have a file of their own. Private to the reader.
 */
#ifndef RNIC_SCENARIO_PARTS_H
#define RNIC_SCENARIO_PARTS_H

#include "rnic-scenario-toml.h"

namespace ns3
{

/**
 * Read [qp] into scenario.qp; topology, switch and nic have been read.
 * @param table  NULL: the section is not in the file. @throw RnicScenarioError
 */
void RnicReadQp(RnicTomlDocument &document, toml::table *table, RnicScenario &scenario);

/** Refuse what [qp] and the workload can not do together. @throw RnicScenarioError */
void RnicCheckQp(const RnicScenario &scenario);

/**
 * Check one [[event]] and append it to scenario.events; topology and run have been read.
 * @throw RnicScenarioError
 */
void RnicReadEvent(RnicTomlDocument &document, const RnicTomlValue &table, RnicScenario &scenario);

/**
 * Check one [[measure]] and append it to scenario.measures; topology, workload and run have been
 * read. @throw RnicScenarioError
 */
void RnicReadMeasure(RnicTomlDocument &document, const RnicTomlValue &table,
                     RnicScenario &scenario);

/**
 * Check one [[expect]] and append it to scenario.expects; all else has been read.
 * @throw RnicScenarioError
 */
void RnicReadExpect(RnicTomlDocument &document, const RnicTomlValue &table, RnicScenario &scenario);

} // namespace ns3

#endif /* RNIC_SCENARIO_PARTS_H */
