/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-scenario-toml.h"

#include "rnic-scenario-units.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <sys/stat.h>

namespace ns3
{

namespace
{

constexpr const char *HOW_TO_WRITE =
    "write [section] lines and key = value lines, text and quantities in quotes: delay = \"1us\"";

std::string Number(double value)
{
    char text[40];
    std::snprintf(text, sizeof text, "%.15g", value);
    return text;
}

/* File as text; the errors that have no line name the path only. */
std::string Slurp(const std::string &file)
{
    struct stat info;
    const std::string hint = "; give the path of a scenario file";
    if (stat(file.c_str(), &info) != 0)
    {
        throw RnicScenarioError(file + ": cannot be read: " + std::strerror(errno) + hint);
    }
    if (S_ISDIR(info.st_mode))
    {
        throw RnicScenarioError(file + ": is a directory" + hint);
    }
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    if (!in || (info.st_size > 0 && !(text << in.rdbuf())))
    {
        throw RnicScenarioError(file + ": cannot be read: " + std::strerror(errno) + hint);
    }
    return text.str();
}

std::string Trim(const std::string &text)
{
    size_t from = text.find_first_not_of(" \t\r");
    size_t to = text.find_last_not_of(" \t\r");
    return from == std::string::npos ? "" : text.substr(from, to - from + 1);
}

/* What stands around a syntax error: the table header in force and the key of that line. */
struct Spot
{
    std::string key; /* dotted, may be empty */
    std::string name;
    unsigned keyColumn = 1;
};

Spot Locate(const std::string &text, unsigned line)
{
    std::istringstream in(text);
    std::string row, header;
    Spot spot;
    for (unsigned i = 1; i <= line && std::getline(in, row); i++)
    {
        std::string clean = Trim(row);
        if (!clean.empty() && clean[0] == '[' && clean.back() == ']')
        {
            header =
                Trim(clean.substr(clean.find_first_not_of('['),
                                  clean.find_last_not_of(']') + 1 - clean.find_first_not_of('[')));
        }
        if (i != line)
        {
            continue;
        }
        size_t equal = clean.find('=');
        spot.name = equal == std::string::npos ? "" : Trim(clean.substr(0, equal));
        spot.keyColumn = static_cast<unsigned>(row.find_first_not_of(" \t") + 1);
    }
    spot.key = spot.name.empty() ? header : (header.empty() ? "" : header + ".") + spot.name;
    return spot;
}

} // namespace

RnicTomlDocument::RnicTomlDocument(const std::string &file, const std::vector<std::string> &sets)
    : m_file(file)
{
    const std::string text = Slurp(file);
    if (Trim(text).find_first_not_of("\n") == std::string::npos)
    {
        throw RnicScenarioError(file + ":1:1: the file is empty; write at least a [workload]");
    }
    if (text.find('\0') != std::string::npos)
    {
        throw RnicScenarioError(file + ":1:1: this is a binary file; " + HOW_TO_WRITE);
    }
    Parse(text);
    for (const std::string &assignment : sets)
    {
        Set(assignment);
    }
}

void RnicTomlDocument::Parse(const std::string &text)
{
    try
    {
        m_root = toml::parse(text, m_file);
    }
    catch (const toml::parse_error &error)
    {
        std::string what(error.description());
        unsigned line = error.source().begin.line;
        unsigned column = error.source().begin.column;
        if (what.find("utf-8") != std::string::npos)
        {
            throw RnicScenarioError(m_file + ":1:1: this is not a text file (invalid UTF-8); " +
                                    HOW_TO_WRITE);
        }
        Spot spot = Locate(text, line);
        size_t redefined = what.find("cannot redefine existing");
        if (redefined != std::string::npos)
        {
            what = "is there twice; keep one of the two";
            column = spot.keyColumn;
        }
        else
        {
            size_t colon = what.find(": ");
            what =
                (colon == std::string::npos ? what : what.substr(colon + 2)) + "; " + HOW_TO_WRITE;
        }
        throw RnicScenarioError(m_file + ":" + std::to_string(line) + ":" + std::to_string(column) +
                                ": " + (spot.key.empty() ? "syntax" : spot.key) + ": " + what);
    }
}

void RnicTomlDocument::Set(const std::string &assignment)
{
    size_t equal = assignment.find('=');
    const std::string key = Trim(assignment.substr(0, equal));
    const std::string where = "--set " + key + ": ";
    if (equal == std::string::npos || key.empty())
    {
        throw RnicScenarioError("--set " + assignment +
                                ": has no value; write --set section.key=value");
    }
    const std::string value = Trim(assignment.substr(equal + 1));
    toml::table parsed;
    try
    {
        parsed = toml::parse("value = " + value);
    }
    catch (const toml::parse_error &)
    {
        parsed.insert_or_assign("value", value); /* 64MiB, 1us: text without its quotes */
    }
    toml::table *table = &m_root;
    size_t from = 0;
    for (size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', from))
    {
        const std::string part = key.substr(from, dot - from);
        toml::node *next = table->get(part);
        from = dot + 1;
        if (next == nullptr)
        {
            next = &table->insert(part, toml::table{}).first->second;
        }
        if (toml::array *array = next->as_array())
        {
            dot = key.find('.', from);
            const std::string index = key.substr(from, dot - from);
            size_t n = std::strtoul(index.c_str(), nullptr, 10);
            if (dot == std::string::npos || n >= array->size() ||
                index.find_first_not_of("0123456789") != std::string::npos)
            {
                throw RnicScenarioError(where + "\"" + index + "\" is no element of it; write " +
                                        key.substr(0, from) + "N.key with N below " +
                                        std::to_string(array->size()));
            }
            next = array->get(n);
            from = dot + 1;
        }
        table = next->as_table();
        if (table == nullptr)
        {
            throw RnicScenarioError(where + "\"" + key.substr(0, from - 1) +
                                    "\" is no section; write --set section.key=value");
        }
    }
    table->insert_or_assign(key.substr(from), *parsed.get("value"));
    m_sets.push_back(key);
}

std::string RnicTomlDocument::Place(const std::string &path,
                                    const toml::source_region &region) const
{
    for (auto set = m_sets.rbegin(); set != m_sets.rend(); ++set)
    {
        bool inside = path == *set || path.compare(0, set->size() + 1, *set + ".") == 0;
        bool made = set->compare(0, path.size() + 1, path + ".") == 0 && region.begin.line == 0;
        if (inside || made)
        {
            return "--set " + *set;
        }
    }
    unsigned line = region.begin.line > 0 ? region.begin.line : 1;
    unsigned column = region.begin.line > 0 ? region.begin.column : 1;
    return m_file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

/* ---- values ---- */

RnicTomlValue::RnicTomlValue(const RnicTomlDocument &document, std::string path, toml::node &node)
    : m_document(document), m_path(std::move(path)), m_node(node)
{
}

std::string RnicTomlValue::Place() const
{
    return m_document.Place(m_path, m_node.source());
}

void RnicTomlValue::Fail(const std::string &text) const
{
    const std::string place = Place();
    if (place == "--set " + m_path)
    {
        throw RnicScenarioError(place + ": " + text);
    }
    throw RnicScenarioError(place + ": " + m_path + ": " + text);
}

namespace
{

std::string TypeName(const toml::node &node)
{
    switch (node.type())
    {
    case toml::node_type::string:
        return "a text";
    case toml::node_type::integer:
        return "a whole number";
    case toml::node_type::floating_point:
        return "a number with a fraction";
    case toml::node_type::boolean:
        return "true or false";
    case toml::node_type::array:
        return "an array";
    case toml::node_type::table:
        return "a table";
    default:
        return "a date or time of day";
    }
}

} // namespace

std::string RnicTomlValue::String(const std::string &expect) const
{
    if (!m_node.is_string())
    {
        Fail("is " + TypeName(m_node) + "; write " + expect);
    }
    return *m_node.value<std::string>();
}

bool RnicTomlValue::Bool() const
{
    if (!m_node.is_boolean())
    {
        Fail("is " + TypeName(m_node) + "; write true or false");
    }
    return *m_node.value<bool>();
}

uint64_t RnicTomlValue::Whole(uint64_t min, uint64_t max) const
{
    const std::string range =
        "; write a whole number from " + std::to_string(min) + " to " + std::to_string(max);
    if (!m_node.is_integer())
    {
        Fail("is " + TypeName(m_node) + range);
    }
    int64_t value = *m_node.value<int64_t>();
    if (value < 0)
    {
        Fail(std::to_string(value) + " is negative" + range);
    }
    if (static_cast<uint64_t>(value) < min)
    {
        Fail(std::to_string(value) + " is too small" + range);
    }
    if (static_cast<uint64_t>(value) > max)
    {
        Fail(std::to_string(value) + " is too large" + range);
    }
    return static_cast<uint64_t>(value);
}

double RnicTomlValue::Number(double min, double max) const
{
    const std::string range =
        "; write a number from " + ns3::Number(min) + " to " + ns3::Number(max);
    if (!m_node.is_number())
    {
        Fail("is " + TypeName(m_node) + range);
    }
    double value = *m_node.value<double>();
    if (!std::isfinite(value))
    {
        Fail("is not a finite number" + range);
    }
    if (value < min)
    {
        Fail(ns3::Number(value) + (value < 0 && min >= 0 ? " is negative" : " is too small") +
             range);
    }
    if (value > max)
    {
        Fail(ns3::Number(value) + " is too large" + range);
    }
    return value;
}

uint64_t RnicTomlValue::Quantity(wire_unit unit, uint64_t min, uint64_t max) const
{
    uint64_t value = 0;
    std::string error;
    if (m_node.is_string())
    {
        if (!RnicParseQuantity(*m_node.value<std::string>(), unit, value, error))
        {
            Fail(error);
        }
    }
    else if (m_node.is_number())
    {
        double number = *m_node.value<double>();
        if (number < 0)
        {
            Fail(ns3::Number(number) + " is negative; write " + RnicUnitExpectation(unit));
        }
        if (unit != WIRE_UNIT_BYTES || !m_node.is_integer())
        {
            Fail(ns3::Number(number) + " has no unit; write " + RnicUnitExpectation(unit));
        }
        value = static_cast<uint64_t>(*m_node.value<int64_t>());
    }
    else
    {
        Fail("is " + TypeName(m_node) + "; write " + RnicUnitExpectation(unit));
    }
    const std::string range = "; write a value from " + RnicFormatQuantity(min, unit) + " to " +
                              RnicFormatQuantity(max, unit);
    if (value < min)
    {
        Fail(RnicFormatQuantity(value, unit) + " is too small" + range);
    }
    if (value > max)
    {
        Fail(RnicFormatQuantity(value, unit) + " is too large" + range);
    }
    return value;
}

size_t RnicTomlValue::OneOf(const std::vector<std::string> &names) const
{
    const std::string value = String("one of " + RnicJoinNames(names));
    for (size_t i = 0; i < names.size(); i++)
    {
        if (names[i] == value)
        {
            return i;
        }
    }
    Fail("\"" + value + "\" is unknown; write one of " + RnicJoinNames(names));
}

std::vector<RnicTomlValue> RnicTomlValue::Array(const std::string &expect) const
{
    toml::array *array = m_node.as_array();
    if (array == nullptr)
    {
        Fail("is " + TypeName(m_node) + "; write " + expect);
    }
    std::vector<RnicTomlValue> values;
    for (size_t i = 0; i < array->size(); i++)
    {
        values.emplace_back(m_document, m_path + "." + std::to_string(i), *array->get(i));
    }
    return values;
}

toml::table &RnicTomlValue::Table() const
{
    toml::table *table = m_node.as_table();
    if (table == nullptr)
    {
        Fail("is " + TypeName(m_node) + "; write a table: [" + m_path + "]");
    }
    return *table;
}

std::string RnicTomlValue::Scalar() const
{
    if (m_node.is_string())
    {
        return *m_node.value<std::string>();
    }
    if (m_node.is_boolean())
    {
        return *m_node.value<bool>() ? "true" : "false";
    }
    if (m_node.is_integer())
    {
        return std::to_string(*m_node.value<int64_t>());
    }
    if (m_node.is_floating_point())
    {
        return ns3::Number(*m_node.value<double>());
    }
    Fail("is " + TypeName(m_node) + "; write a text, a number, true or false");
}

/* ---- sections ---- */

RnicTomlSection::RnicTomlSection(const RnicTomlDocument &document, std::string path,
                                 toml::table *table)
    : m_document(document), m_path(std::move(path)), m_table(table)
{
}

std::string RnicTomlSection::Dotted(const std::string &name) const
{
    return m_path.empty() ? name : m_path + "." + name;
}

void RnicTomlSection::Key(const std::string &name, Reader reader)
{
    m_keys.push_back({name, std::move(reader)});
}

void RnicTomlSection::Params(const wire_param *table, size_t n, void *params)
{
    for (size_t i = 0; i < n; i++)
    {
        const wire_param *entry = &table[i];
        char key[64];
        wire_param_key(entry, key, sizeof key);
        Key(key,
            [entry, params](const RnicTomlValue &value)
            {
                double number = 0;
                std::vector<std::string> names;
                std::istringstream list(entry->names ? entry->names : "");
                for (std::string name; std::getline(list, name, ',');)
                {
                    names.push_back(name);
                }
                switch (entry->unit)
                {
                case WIRE_UNIT_BOOL:
                    number = value.Bool() ? 1 : 0;
                    break;
                case WIRE_UNIT_ENUM:
                    number = static_cast<double>(value.OneOf(names));
                    break;
                case WIRE_UNIT_RATIO:
                    number = value.Number(entry->min, entry->max);
                    break;
                case WIRE_UNIT_COUNT:
                    number = static_cast<double>(value.Whole(static_cast<uint64_t>(entry->min),
                                                             static_cast<uint64_t>(entry->max)));
                    break;
                default:
                    number = static_cast<double>(value.Quantity(entry->unit,
                                                                static_cast<uint64_t>(entry->min),
                                                                static_cast<uint64_t>(entry->max)));
                }
                if (!wire_param_set(entry, params, number))
                {
                    value.Fail("is out of range; write " + RnicUnitExpectation(entry->unit));
                }
            });
    }
}

void RnicTomlSection::Foreign(const std::vector<std::string> &names, const std::string &owner)
{
    for (const std::string &name : names)
    {
        m_foreign[name] = owner;
    }
}

bool RnicTomlSection::Has(const std::string &name) const
{
    return m_table != nullptr && m_table->contains(name);
}

void RnicTomlSection::RefuseUnknown() const
{
    std::vector<std::string> names;
    for (const Declared &key : m_keys)
    {
        names.push_back(key.name);
    }
    const toml::key *worst = nullptr; /* the first in the file */
    for (auto &&[key, node] : *m_table)
    {
        bool known = std::find(names.begin(), names.end(), key.str()) != names.end();
        if (!known && (worst == nullptr || key.source().begin < worst->source().begin))
        {
            worst = &key;
        }
    }
    if (worst == nullptr)
    {
        return;
    }
    const std::string name(worst->str());
    const std::string path = Dotted(name);
    std::string place = m_document.Place(path, worst->source());
    place += place == "--set " + path ? ": " : ": " + path + ": ";
    auto foreign = m_foreign.find(name);
    if (foreign != m_foreign.end())
    {
        throw RnicScenarioError(place + "belongs to " + foreign->second +
                                "; leave it out or change the kind");
    }
    const std::string near = RnicNearestName(name, names);
    throw RnicScenarioError(
        place + "unknown key; " +
        (near.empty() ? "known here: " + RnicJoinNames(names) : "did you mean \"" + near + "\"?"));
}

void RnicTomlSection::Read(std::map<std::string, std::string> *places)
{
    if (std::vector<std::string> *declared = m_document.Declared())
    {
        for (const Declared &key : m_keys)
        {
            declared->push_back(Dotted(key.name));
        }
        for (const auto &[name, owner] : m_foreign)
        {
            declared->push_back(Dotted(name));
        }
        return;
    }
    if (m_table == nullptr)
    {
        return;
    }
    if (places != nullptr && !m_path.empty())
    {
        (*places)[m_path] = m_document.Place(m_path, m_table->source());
    }
    RefuseUnknown();
    for (const Declared &key : m_keys)
    {
        toml::node *node = m_table->get(key.name);
        if (node == nullptr)
        {
            continue;
        }
        RnicTomlValue value(m_document, Dotted(key.name), *node);
        if (places != nullptr)
        {
            (*places)[value.Path()] = value.Place();
        }
        key.reader(value);
    }
}

} // namespace ns3
