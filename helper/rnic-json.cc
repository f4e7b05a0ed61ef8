/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-json.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace ns3
{

namespace
{

constexpr size_t ONE_LINE_ITEMS = 3;

void WriteText(std::ostream &out, const std::string &text)
{
    out << '"';
    for (char c : text)
    {
        if (c == '"' || c == '\\')
        {
            out << '\\' << c;
        }
        else if (static_cast<unsigned char>(c) < 0x20)
        {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
            out << escape;
        }
        else
        {
            out << c;
        }
    }
    out << '"';
}

/* Shortest text that reads back as the same double; JSON has no infinity. */
void WriteReal(std::ostream &out, double value)
{
    if (!std::isfinite(value))
    {
        out << "null";
        return;
    }
    char text[40];
    const std::to_chars_result end = std::to_chars(text, text + sizeof text, value);
    out.write(text, end.ptr - text);
}

} // namespace

RnicJson RnicJson::Array()
{
    RnicJson value;
    value.m_type = ARRAY;
    return value;
}

RnicJson RnicJson::Object()
{
    RnicJson value;
    value.m_type = OBJECT;
    return value;
}

double RnicJson::Number() const
{
    return m_type == WHOLE ? static_cast<double>(m_whole) : m_real;
}

RnicJson &RnicJson::Set(const std::string &key, RnicJson value)
{
    for (auto &item : m_items)
    {
        if (item.first == key)
        {
            return item.second = std::move(value);
        }
    }
    m_items.emplace_back(key, std::move(value));
    return m_items.back().second;
}

RnicJson &RnicJson::Push(RnicJson value)
{
    m_items.emplace_back("", std::move(value));
    return m_items.back().second;
}

const RnicJson *RnicJson::Find(const std::string &path) const
{
    const size_t dot = path.find('.');
    const std::string first = path.substr(0, dot);
    const RnicJson *found = nullptr;
    if (m_type == ARRAY)
    {
        size_t index = 0;
        const auto parsed = std::from_chars(first.data(), first.data() + first.size(), index);
        if (parsed.ec == std::errc() && parsed.ptr == first.data() + first.size() &&
            index < m_items.size())
        {
            found = &m_items[index].second;
        }
    }
    for (const auto &item : m_items)
    {
        if (m_type == OBJECT && item.first == first)
        {
            found = &item.second;
        }
    }
    if (found == nullptr || dot == std::string::npos)
    {
        return found;
    }
    return found->Find(path.substr(dot + 1));
}

bool RnicJson::IsPlain() const
{
    return m_type != ARRAY && m_type != OBJECT;
}

bool RnicJson::FitsOneLine() const
{
    for (const auto &item : m_items)
    {
        if (!item.second.IsPlain())
        {
            return false;
        }
    }
    return m_items.size() <= ONE_LINE_ITEMS;
}

void RnicJson::Write(std::ostream &out, unsigned level) const
{
    switch (m_type)
    {
    case NOTHING:
        out << "null";
        return;
    case BOOLEAN:
        out << (m_boolean ? "true" : "false");
        return;
    case WHOLE:
        out << m_whole;
        return;
    case REAL:
        WriteReal(out, m_real);
        return;
    case TEXT:
        WriteText(out, m_text);
        return;
    default:
        break;
    }
    const bool line = FitsOneLine();
    const std::string indent = line ? "" : "\n" + std::string(2 * (level + 1), ' ');
    out << (m_type == ARRAY ? '[' : '{');
    for (size_t i = 0; i < m_items.size(); i++)
    {
        out << (i == 0 ? "" : line ? ", " : ",") << indent;
        if (m_type == OBJECT)
        {
            WriteText(out, m_items[i].first);
            out << ": ";
        }
        m_items[i].second.Write(out, level + 1);
    }
    out << (line ? "" : "\n" + std::string(2 * level, ' ')) << (m_type == ARRAY ? ']' : '}');
}

} // namespace ns3
