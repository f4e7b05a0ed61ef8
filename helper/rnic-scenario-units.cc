/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-scenario-units.h"

#include <algorithm>
#include <cctype>

namespace ns3
{

namespace
{

__extension__ typedef unsigned __int128 Wide;

struct Unit
{
    const char *name;
    uint64_t scale; /* base units in one of these */
};

/* Femtoseconds are left out: time here is whole picoseconds. First the names that are printed. */
const Unit g_timeUnits[] = {{"s", 1000000000000u},   {"ms", 1000000000u}, {"us", 1000000u},
                            {"ns", 1000u},           {"ps", 1u},          {"min", 60000000000000u},
                            {"h", 3600000000000000u}};

const Unit g_rateUnits[] = {{"Tbps", 1000000000000u},
                            {"Gbps", 1000000000u},
                            {"Mbps", 1000000u},
                            {"kbps", 1000u},
                            {"bps", 1u},
                            {"Kbps", 1000u},
                            {"Tb/s", 1000000000000u},
                            {"Gb/s", 1000000000u},
                            {"Mb/s", 1000000u},
                            {"kb/s", 1000u},
                            {"Kb/s", 1000u},
                            {"b/s", 1u},
                            {"GBps", 8000000000u},
                            {"MBps", 8000000u},
                            {"kBps", 8000u},
                            {"KBps", 8000u},
                            {"Bps", 8u},
                            {"GB/s", 8000000000u},
                            {"MB/s", 8000000u},
                            {"kB/s", 8000u},
                            {"KB/s", 8000u},
                            {"B/s", 8u},
                            {"Gibps", 1073741824u},
                            {"Mibps", 1048576u},
                            {"Kibps", 1024u},
                            {"Gib/s", 1073741824u},
                            {"Mib/s", 1048576u},
                            {"Kib/s", 1024u},
                            {"GiBps", 8u * 1073741824u},
                            {"MiBps", 8u * 1048576u},
                            {"KiBps", 8u * 1024u},
                            {"GiB/s", 8u * 1073741824u},
                            {"MiB/s", 8u * 1048576u},
                            {"KiB/s", 8u * 1024u}};

const Unit g_byteUnits[] = {
    {"GiB", 1073741824u},   {"GB", 1000000000u},    {"MiB", 1048576u}, {"MB", 1000000u},
    {"KiB", 1024u},         {"KB", 1000u},          {"B", 1u},         {"kB", 1000u},
    {"TB", 1000000000000u}, {"TiB", 1099511627776u}};

/* How many of the units above RnicFormatQuantity may use: the first ones. */
constexpr size_t TIME_PRINTED = 5;
constexpr size_t RATE_PRINTED = 5;
constexpr size_t BYTES_PRINTED = 7;

struct UnitList
{
    const Unit *units;
    size_t n, printed;
};

UnitList UnitsOf(wire_unit unit)
{
    switch (unit)
    {
    case WIRE_UNIT_TIME:
        return {g_timeUnits, sizeof g_timeUnits / sizeof g_timeUnits[0], TIME_PRINTED};
    case WIRE_UNIT_RATE:
        return {g_rateUnits, sizeof g_rateUnits / sizeof g_rateUnits[0], RATE_PRINTED};
    case WIRE_UNIT_BYTES:
        return {g_byteUnits, sizeof g_byteUnits / sizeof g_byteUnits[0], BYTES_PRINTED};
    default:
        return {nullptr, 0, 0};
    }
}

constexpr unsigned MAX_DIGITS = 18; /* 64 bits hold them */

struct Digits
{
    uint64_t mantissa = 0;
    unsigned fraction = 0; /* digits behind the point */
    size_t end = 0;        /* first character that is no part of the number */
    bool ok = false;
};

/* Digits with at most one point; not ok: none, or more than MAX_DIGITS. */
Digits ReadDigits(const std::string &text)
{
    Digits d;
    bool point = false;
    unsigned digits = 0;

    for (d.end = 0; d.end < text.size(); d.end++)
    {
        char c = text[d.end];
        if (c == '.' && !point)
        {
            point = true;
            continue;
        }
        if (!std::isdigit(static_cast<unsigned char>(c)))
        {
            break;
        }
        if (++digits > MAX_DIGITS)
        {
            return d;
        }
        d.mantissa = d.mantissa * 10 + static_cast<uint64_t>(c - '0');
        d.fraction += point ? 1 : 0;
    }
    d.ok = digits > 0;
    return d;
}

} // namespace

std::string RnicUnitExpectation(wire_unit unit)
{
    switch (unit)
    {
    case WIRE_UNIT_TIME:
        return "a time with its unit (s, ms, us, ns, ps), such as \"1us\"";
    case WIRE_UNIT_RATE:
        return "a rate with its unit (bps, Mbps, Gbps), such as \"100Gbps\"";
    case WIRE_UNIT_BYTES:
        return "a size with its unit (B, KB, KiB, MB, MiB, GB, GiB), such as \"64MiB\", or a "
               "whole number of bytes";
    case WIRE_UNIT_COUNT:
        return "a whole number, such as 16";
    case WIRE_UNIT_BOOL:
        return "true or false";
    case WIRE_UNIT_ENUM:
        return "one of its names";
    case WIRE_UNIT_RATIO:
        return "a number, such as 0.125";
    }
    return "";
}

std::string RnicUnitName(wire_unit unit)
{
    switch (unit)
    {
    case WIRE_UNIT_TIME:
        return "ps";
    case WIRE_UNIT_RATE:
        return "bps";
    case WIRE_UNIT_BYTES:
        return "bytes";
    case WIRE_UNIT_COUNT:
        return "count";
    case WIRE_UNIT_BOOL:
        return "bool";
    case WIRE_UNIT_ENUM:
        return "enum";
    case WIRE_UNIT_RATIO:
        return "ratio";
    }
    return "";
}

bool RnicParseQuantity(const std::string &text, wire_unit unit, uint64_t &value, std::string &error)
{
    const std::string expect = "; write " + RnicUnitExpectation(unit);
    if (!text.empty() && text[0] == '-')
    {
        error = "\"" + text + "\" is negative" + expect;
        return false;
    }
    Digits d = ReadDigits(text);
    if (!d.ok)
    {
        error = "\"" + text + "\" " +
                (d.end < MAX_DIGITS ? "is not a number with a unit"
                                    : "has more than " + std::to_string(MAX_DIGITS) + " digits") +
                expect;
        return false;
    }
    size_t at = text.find_first_not_of(' ', d.end);
    if (at == std::string::npos)
    {
        error = "\"" + text + "\" has no unit" + expect;
        return false;
    }
    const std::string name = text.substr(at);
    const UnitList list = UnitsOf(unit);
    const Unit *found = std::find_if(list.units, list.units + list.n,
                                     [&](const Unit &u) { return name == u.name; });
    if (found == list.units + list.n)
    {
        error = "\"" + text + "\" has the unknown unit \"" + name + "\"" + expect;
        return false;
    }
    Wide product = Wide(d.mantissa) * found->scale;
    for (unsigned i = 0; i < d.fraction; i++)
    {
        if (product % 10 != 0)
        {
            error = "\"" + text + "\" is not a whole number of " + RnicUnitName(unit) + expect;
            return false;
        }
        product /= 10;
    }
    if (product > (Wide(1) << 53))
    {
        error = "\"" + text + "\" is too large; write at most " +
                RnicFormatQuantity(uint64_t(1) << 53, unit);
        return false;
    }
    value = static_cast<uint64_t>(product);
    return true;
}

std::string RnicFormatQuantity(uint64_t value, wire_unit unit)
{
    const UnitList list = UnitsOf(unit);
    for (size_t i = 0; i < list.printed && value > 0; i++)
    {
        if (value % list.units[i].scale == 0)
        {
            return std::to_string(value / list.units[i].scale) + list.units[i].name;
        }
    }
    if (list.printed == 0)
    {
        return std::to_string(value);
    }
    return std::to_string(value) + list.units[list.printed - 1].name;
}

namespace
{

size_t EditDistance(const std::string &a, const std::string &b)
{
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); j++)
    {
        row[j] = j;
    }
    for (size_t i = 1; i <= a.size(); i++)
    {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); j++)
        {
            size_t up = row[j];
            size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({up + 1, row[j - 1] + 1, change});
            diagonal = up;
        }
    }
    return row[b.size()];
}

} // namespace

std::string RnicNearestName(const std::string &word, const std::vector<std::string> &candidates)
{
    std::string best;
    /* further away is no help, and neither is a name without a letter in common */
    size_t bestDistance = std::min(std::max<size_t>(2, word.size() / 3) + 1, word.size());
    for (const std::string &name : candidates)
    {
        size_t distance = EditDistance(word, name);
        if (distance < bestDistance)
        {
            bestDistance = distance;
            best = name;
        }
    }
    return best;
}

std::string RnicJoinNames(const std::vector<std::string> &names)
{
    std::string text;
    for (const std::string &name : names)
    {
        text += (text.empty() ? "" : ", ") + name;
    }
    return text;
}

} // namespace ns3
