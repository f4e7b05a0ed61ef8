/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNIC_PARAM_ATTRIBUTE_H
#define RNIC_PARAM_ATTRIBUTE_H

#include "rnic-c.h"

#include "ns3/attribute.h"
#include "ns3/object-base.h"
#include "ns3/type-id.h"

#include <functional>
#include <string>

namespace ns3
{

/**
 * @ingroup rnic
 * Where an object keeps the params struct of a table: nullptr for an object of another class.
 * @p writable asks for a pointer to write through: nullptr also when it is too late for that.
 */
using RnicParamBlock = void *(*)(ObjectBase *object, bool writable);

/** @ingroup rnic
 * @returns "AckEvery" for the entry "ack_every", "Delay" for "delay_ps". */
std::string RnicAttributeName(const struct wire_param *entry);

/**
 * @ingroup rnic
 * Add one attribute per entry of a parameter table: TIME is a TimeValue, RATE a DataRateValue,
 * BYTES and COUNT a UintegerValue, BOOL a BooleanValue, RATIO a DoubleValue, ENUM a StringValue.
 *
 * @param tid    type to extend
 * @param table  the table; @param n its entries
 * @param block  finds the params struct in an object
 * @param prefix put before every name
 * @returns tid
 */
TypeId RnicAddAttributes(TypeId tid, const struct wire_param *table, size_t n, RnicParamBlock block,
                         const std::string &prefix = "");

/** @ingroup rnic
 * Abort with the entry's name, range and text unless every value is in range. */
void RnicCheckParams(const char *what, const struct wire_param *table, size_t n,
                     const void *params);

} // namespace ns3

#endif /* RNIC_PARAM_ATTRIBUTE_H */
