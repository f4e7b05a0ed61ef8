/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * A JSON value as a tree: built in order, asked by dotted path, written with escapes. Only what
 * summary.json needs; nothing is parsed.
 */
#ifndef RNIC_JSON_H
#define RNIC_JSON_H

#include <cstdint>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ns3
{

/** @ingroup rnic
 * One JSON value; objects keep the order in which keys were set. */
class RnicJson
{
public:
    enum Type
    {
        NOTHING,
        BOOLEAN,
        WHOLE,
        REAL,
        TEXT,
        ARRAY,
        OBJECT
    };

    RnicJson() = default;
    RnicJson(bool value) : m_type(BOOLEAN), m_boolean(value)
    {
    }
    RnicJson(double value) : m_type(REAL), m_real(value)
    {
    }
    template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
    RnicJson(T value) : m_type(WHOLE), m_whole(static_cast<uint64_t>(value))
    {
    }
    RnicJson(const char *value) : m_type(TEXT), m_text(value)
    {
    }
    RnicJson(std::string value) : m_type(TEXT), m_text(std::move(value))
    {
    }
    static RnicJson Array();
    static RnicJson Object();

    Type GetType() const
    {
        return m_type;
    }
    bool IsNumber() const
    {
        return m_type == WHOLE || m_type == REAL;
    }
    /** @returns value of a number. */
    double Number() const;
    bool Boolean() const
    {
        return m_boolean;
    }
    const std::string &Text() const
    {
        return m_text;
    }

    /** Set a key of an object (appended when new). @returns the value in its place. */
    RnicJson &Set(const std::string &key, RnicJson value);
    /** Append to an array. @returns the value in its place. */
    RnicJson &Push(RnicJson value);
    /** @returns the value at a dotted path ("collectives.0.steps"), or nullptr. */
    const RnicJson *Find(const std::string &path) const;
    /** Write, two spaces per level; short arrays and objects of plain values in one line. */
    void Write(std::ostream &out, unsigned level = 0) const;

private:
    bool IsPlain() const;
    bool FitsOneLine() const;

    Type m_type = NOTHING;
    bool m_boolean = false;
    uint64_t m_whole = 0;
    double m_real = 0;
    std::string m_text;
    std::vector<std::pair<std::string, RnicJson>> m_items; //!< keys empty in an array
};

} // namespace ns3

#endif /* RNIC_JSON_H */
