/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * TOML with places: the document, values that know where they stand, and tables whose unknown
 * keys are refused. Private to the scenario reader, so that toml++ is compiled in two files only.
 */
#ifndef RNIC_SCENARIO_TOML_H
#define RNIC_SCENARIO_TOML_H

#include "rnic-scenario.h"

#define TOML_EXCEPTIONS 1
#include <functional>
#include <toml++/toml.h>

namespace ns3
{

/** The parsed file with the --set values put in. */
class RnicTomlDocument
{
public:
    /** @throw RnicScenarioError: unreadable, empty, binary, not TOML, or a wrong --set. */
    RnicTomlDocument(const std::string &file, const std::vector<std::string> &sets);

    toml::table &Root()
    {
        return m_root;
    }
    /** From now on sections tell @p keys which keys they know, and read nothing. */
    void Declare(std::vector<std::string> *keys)
    {
        m_declared = keys;
    }
    std::vector<std::string> *Declared() const
    {
        return m_declared;
    }
    /** @return "file:line:column", or "--set KEY" for what the command line gave. */
    std::string Place(const std::string &path, const toml::source_region &region) const;
    const std::string &File() const
    {
        return m_file;
    }

private:
    void Parse(const std::string &text);
    void Set(const std::string &assignment);

    std::string m_file;
    toml::table m_root;
    std::vector<std::string> m_sets; //!< dotted keys the command line gave
    std::vector<std::string> *m_declared = nullptr;
};

/** One value with its dotted key. */
class RnicTomlValue
{
public:
    RnicTomlValue(const RnicTomlDocument &document, std::string path, toml::node &node);

    const std::string &Path() const
    {
        return m_path;
    }
    std::string Place() const;
    /** Refuse this value: @p text is "what is wrong; what would be right". */
    [[noreturn]] void Fail(const std::string &text) const;

    bool IsString() const
    {
        return m_node.is_string();
    }
    bool IsNumber() const
    {
        return m_node.is_number();
    }
    bool IsBool() const
    {
        return m_node.is_boolean();
    }

    std::string String(const std::string &expect) const;
    bool Bool() const;
    uint64_t Whole(uint64_t min, uint64_t max) const;
    double Number(double min, double max) const;
    /** A time, rate or size with its unit; a size may be a plain number of bytes. */
    uint64_t Quantity(wire_unit unit, uint64_t min, uint64_t max) const;
    /** One of @p names. @return its position. */
    size_t OneOf(const std::vector<std::string> &names) const;
    /** An array; each element becomes a value "path.N". */
    std::vector<RnicTomlValue> Array(const std::string &expect) const;
    toml::table &Table() const;
    /** Any scalar as ns-3 attributes take it. */
    std::string Scalar() const;

private:
    const RnicTomlDocument &m_document;
    std::string m_path;
    toml::node &m_node;
};

/** A table whose keys are declared, then read in the order of declaration. */
class RnicTomlSection
{
public:
    using Reader = std::function<void(const RnicTomlValue &)>;

    /** @param table  NULL: the section is not in the file */
    RnicTomlSection(const RnicTomlDocument &document, std::string path, toml::table *table);

    void Key(const std::string &name, Reader reader);
    /** One key for each entry of a table of parameters. */
    void Params(const wire_param *table, size_t n, void *params);
    /** Keys that another kind of this section has: refused with @p owner named. */
    void Foreign(const std::vector<std::string> &names, const std::string &owner);
    /**
     * Refuse unknown keys, then read the declared ones that are there. A document that wants to
     * know the keys is told them instead.
     * @param places  gets the place of every key, or NULL
     */
    void Read(std::map<std::string, std::string> *places);
    bool Has(const std::string &name) const;

private:
    void RefuseUnknown() const;
    std::string Dotted(const std::string &name) const;

    struct Declared
    {
        std::string name;
        Reader reader;
    };

    const RnicTomlDocument &m_document;
    std::string m_path;
    toml::table *m_table;
    std::vector<Declared> m_keys;
    std::map<std::string, std::string> m_foreign; //!< key, whose it is
};

} // namespace ns3

#endif /* RNIC_SCENARIO_TOML_H */
