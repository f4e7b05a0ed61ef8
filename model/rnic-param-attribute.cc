/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-param-attribute.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/nstime.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <cctype>
#include <cstdio>
#include <sstream>

namespace ns3
{

namespace
{

/** @returns index of @p name among an entry's comma separated names, or -1. */
int NameIndex(const struct wire_param *entry, const std::string &name)
{
    std::istringstream names(entry->names);
    std::string one;

    for (int i = 0; std::getline(names, one, ','); i++)
    {
        if (one == name)
        {
            return i;
        }
    }
    return -1;
}

/** @returns name number @p index of an entry. */
std::string NameAt(const struct wire_param *entry, unsigned index)
{
    std::istringstream names(entry->names);
    std::string one;

    for (unsigned i = 0; i <= index && std::getline(names, one, ','); i++)
    {
    }
    return one;
}

/** A number as people read it: whole numbers without a fraction. */
std::string Number(double value)
{
    char text[32];

    std::snprintf(text, sizeof(text), "%.15g", value);
    return text;
}

/**
 * Attribute value to the base-unit number of its entry.
 * @returns false when it is of another type or no name of an ENUM.
 */
bool ToNumber(const struct wire_param *entry, const AttributeValue &value, double *number)
{
    switch (entry->unit)
    {
    case WIRE_UNIT_TIME:
        if (auto time = dynamic_cast<const TimeValue *>(&value))
        {
            *number = static_cast<double>(time->Get().GetPicoSeconds());
            return true;
        }
        return false;
    case WIRE_UNIT_RATE:
        if (auto rate = dynamic_cast<const DataRateValue *>(&value))
        {
            *number = static_cast<double>(rate->Get().GetBitRate());
            return true;
        }
        return false;
    case WIRE_UNIT_BYTES:
    case WIRE_UNIT_COUNT:
        if (auto whole = dynamic_cast<const UintegerValue *>(&value))
        {
            *number = static_cast<double>(whole->Get());
            return true;
        }
        return false;
    case WIRE_UNIT_BOOL:
        if (auto truth = dynamic_cast<const BooleanValue *>(&value))
        {
            *number = truth->Get() ? 1 : 0;
            return true;
        }
        return false;
    case WIRE_UNIT_ENUM:
        if (auto name = dynamic_cast<const StringValue *>(&value))
        {
            *number = NameIndex(entry, name->Get());
            return *number >= 0;
        }
        return false;
    case WIRE_UNIT_RATIO:
        if (auto ratio = dynamic_cast<const DoubleValue *>(&value))
        {
            *number = ratio->Get();
            return true;
        }
        return false;
    }
    return false;
}

/** Base-unit number to the attribute value of its entry. @returns false for another type. */
bool FromNumber(const struct wire_param *entry, double number, AttributeValue *value)
{
    if (auto time = dynamic_cast<TimeValue *>(value))
    {
        time->Set(PicoSeconds(static_cast<uint64_t>(number)));
    }
    else if (auto rate = dynamic_cast<DataRateValue *>(value))
    {
        rate->Set(DataRate(static_cast<uint64_t>(number)));
    }
    else if (auto whole = dynamic_cast<UintegerValue *>(value))
    {
        whole->Set(static_cast<uint64_t>(number));
    }
    else if (auto truth = dynamic_cast<BooleanValue *>(value))
    {
        truth->Set(number != 0);
    }
    else if (auto ratio = dynamic_cast<DoubleValue *>(value))
    {
        ratio->Set(number);
    }
    else if (auto name = dynamic_cast<StringValue *>(value))
    {
        name->Set(entry->unit == WIRE_UNIT_ENUM ? NameAt(entry, static_cast<unsigned>(number))
                                                : Number(number));
    }
    else
    {
        return false;
    }
    return true;
}

/** Reads and writes one entry of a params struct. */
class ParamAccessor : public AttributeAccessor
{
public:
    ParamAccessor(const struct wire_param *entry, RnicParamBlock block)
        : m_entry(entry), m_block(block)
    {
    }

    bool Set(ObjectBase *object, const AttributeValue &value) const override
    {
        void *params = m_block(object, true);
        double number = 0;

        return params && ToNumber(m_entry, value, &number) &&
               wire_param_set(m_entry, params, number);
    }

    bool Get(const ObjectBase *object, AttributeValue &value) const override
    {
        const void *params = m_block(const_cast<ObjectBase *>(object), false);

        return params && FromNumber(m_entry, wire_param_get(m_entry, params), &value);
    }

    bool HasGetter() const override
    {
        return true;
    }

    bool HasSetter() const override
    {
        return true;
    }

private:
    const struct wire_param *m_entry; //!< which field
    RnicParamBlock m_block;           //!< finds the struct
};

/** Type and range of one entry. Checked when it is used: ns-3's resolution may change before. */
class ParamChecker : public AttributeChecker
{
public:
    explicit ParamChecker(const struct wire_param *entry) : m_entry(entry)
    {
    }

    bool Check(const AttributeValue &value) const override
    {
        double number = 0;

        return ToNumber(m_entry, value, &number) && number >= m_entry->min &&
               number <= m_entry->max;
    }

    std::string GetValueTypeName() const override
    {
        switch (m_entry->unit)
        {
        case WIRE_UNIT_TIME:
            return "ns3::TimeValue";
        case WIRE_UNIT_RATE:
            return "ns3::DataRateValue";
        case WIRE_UNIT_BYTES:
        case WIRE_UNIT_COUNT:
            return "ns3::UintegerValue";
        case WIRE_UNIT_BOOL:
            return "ns3::BooleanValue";
        case WIRE_UNIT_ENUM:
            return "ns3::StringValue";
        case WIRE_UNIT_RATIO:
            break;
        }
        return "ns3::DoubleValue";
    }

    bool HasUnderlyingTypeInformation() const override
    {
        return true;
    }

    std::string GetUnderlyingTypeInformation() const override
    {
        return m_entry->names ? m_entry->names : Number(m_entry->min) + ":" + Number(m_entry->max);
    }

    Ptr<AttributeValue> Create() const override
    {
        switch (m_entry->unit)
        {
        case WIRE_UNIT_TIME:
            return ns3::Create<TimeValue>();
        case WIRE_UNIT_RATE:
            return ns3::Create<DataRateValue>();
        case WIRE_UNIT_BYTES:
        case WIRE_UNIT_COUNT:
            return ns3::Create<UintegerValue>();
        case WIRE_UNIT_BOOL:
            return ns3::Create<BooleanValue>();
        case WIRE_UNIT_ENUM:
            return ns3::Create<StringValue>();
        case WIRE_UNIT_RATIO:
            break;
        }
        return ns3::Create<DoubleValue>();
    }

    bool Copy(const AttributeValue &source, AttributeValue &destination) const override
    {
        double number = 0;

        return ToNumber(m_entry, source, &number) && FromNumber(m_entry, number, &destination);
    }

private:
    const struct wire_param *m_entry; //!< which field
};

/** The default, in a form that does not depend on the resolution of ns-3's time. */
Ptr<AttributeValue> DefaultValue(const struct wire_param *entry)
{
    switch (entry->unit)
    {
    case WIRE_UNIT_TIME:
        return Create<StringValue>(Number(entry->def) + "ps");
    case WIRE_UNIT_RATE:
        return Create<DataRateValue>(DataRate(static_cast<uint64_t>(entry->def)));
    case WIRE_UNIT_BYTES:
    case WIRE_UNIT_COUNT:
        return Create<UintegerValue>(static_cast<uint64_t>(entry->def));
    case WIRE_UNIT_BOOL:
        return Create<BooleanValue>(entry->def != 0);
    case WIRE_UNIT_ENUM:
        return Create<StringValue>(NameAt(entry, static_cast<unsigned>(entry->def)));
    case WIRE_UNIT_RATIO:
        break;
    }
    return Create<DoubleValue>(entry->def);
}

} // namespace

std::string RnicAttributeName(const struct wire_param *entry)
{
    char key[64];
    std::string name;
    bool upper = true;

    wire_param_key(entry, key, sizeof(key));
    for (const char *c = key; *c; c++)
    {
        if (*c == '_')
        {
            upper = true;
            continue;
        }
        name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(*c))) : *c;
        upper = false;
    }
    return name == "Rate" ? "DataRate" : name; // ns-3's word for it
}

TypeId RnicAddAttributes(TypeId tid, const struct wire_param *table, size_t n, RnicParamBlock block,
                         const std::string &prefix)
{
    for (size_t i = 0; i < n; i++)
    {
        const struct wire_param *entry = &table[i];
        const std::string help = std::string(entry->text) + ". Source: " + entry->source + ".";

        tid = tid.AddAttribute(prefix + RnicAttributeName(entry), help, *DefaultValue(entry),
                               Ptr<const AttributeAccessor>(new ParamAccessor(entry, block), false),
                               Ptr<const AttributeChecker>(new ParamChecker(entry), false));
    }
    return tid;
}

void RnicCheckParams(const char *what, const struct wire_param *table, size_t n, const void *params)
{
    const struct wire_param *wrong = wire_param_check(table, n, params);

    if (wrong)
    {
        NS_FATAL_ERROR(what << ": " << wrong->field << " = "
                            << Number(wire_param_get(wrong, params)) << " is not within "
                            << Number(wrong->min) << " .. " << Number(wrong->max) << " ("
                            << wrong->text << ")");
    }
}

} // namespace ns3
