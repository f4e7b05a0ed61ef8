/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Quantities as people write them ("100Gbps", "1us", "64MiB") to base units and back, exactly:
 * decimal digits become integers, never a rounded double.
 */
#ifndef RNIC_SCENARIO_UNITS_H
#define RNIC_SCENARIO_UNITS_H

#include "rnic-c.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

/**
 * Parse a number with its unit.
 *
 * @param text   for example "1.5us"; spaces between number and unit are allowed
 * @param unit   WIRE_UNIT_TIME, WIRE_UNIT_RATE or WIRE_UNIT_BYTES
 * @param value  out: picoseconds, bits a second or bytes
 * @param error  out: "what is wrong; what would be right", when false is returned
 * @return true when the text is a whole number of base units
 */
bool RnicParseQuantity(const std::string &text, wire_unit unit, uint64_t &value,
                       std::string &error);

/** @return how a value of this unit is written: "a time such as \"1us\"". */
std::string RnicUnitExpectation(wire_unit unit);

/** @return the base unit's name in results: "ps", "bps", "bytes", "count", "bool", ... */
std::string RnicUnitName(wire_unit unit);

/** @return a value in base units as people write it, exact: "1us", "100Gbps", "32MB", "4". */
std::string RnicFormatQuantity(uint64_t value, wire_unit unit);

/** @return the candidate with the smallest edit distance to @p word, or "" when none is near. */
std::string RnicNearestName(const std::string &word, const std::vector<std::string> &candidates);

/** @return the names as "a, b, c". */
std::string RnicJoinNames(const std::vector<std::string> &names);

} // namespace ns3

#endif /* RNIC_SCENARIO_UNITS_H */
