/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-seeds.h"

#include "rnic-expect.h"
#include "rnic-progress.h"
#include "rnic-scenario-units.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>

namespace ns3
{

namespace
{

constexpr size_t MAX_SEEDS = 10000;
constexpr uint64_t MAX_SEED = uint64_t(1) << 53;

/* Two-sided 95 % point of Student's t; beyond the table, its expansion (within 1e-4 there). */
double StudentT(size_t freedom)
{
    static const double table[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447,
                                   2.365, 2.306,  2.262, 2.228, 2.201, 2.179, 2.160,
                                   2.145, 2.131,  2.120, 2.110, 2.101, 2.093, 2.086};
    if (freedom < sizeof table / sizeof table[0])
    {
        return table[freedom];
    }
    const double z = 1.959964;
    const double n = static_cast<double>(freedom);
    return z + (z * z * z + z) / (4 * n) +
           (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * n * n);
}

RnicScenarioError WrongSeeds(const std::string &text, const std::string &why)
{
    return RnicScenarioError("--seeds: \"" + text + "\" " + why +
                             "; write a range or a list, such as 1..5 or 1,2,7");
}

uint64_t ParseSeed(const std::string &all, const std::string &text)
{
    char *end = nullptr;
    errno = 0;
    const uint64_t seed = std::strtoull(text.c_str(), &end, 10);
    if (text.empty() || text[0] < '0' || text[0] > '9' || *end != '\0')
    {
        throw WrongSeeds(all, "has \"" + text + "\", which is no seed");
    }
    if (errno != 0 || seed < 1 || seed > MAX_SEED)
    {
        throw WrongSeeds(all, "has a seed that is not from 1 to " + std::to_string(MAX_SEED));
    }
    return seed;
}

std::string Format(const char *format, double a, double b)
{
    char text[120];
    std::snprintf(text, sizeof text, format, a, b);
    return text;
}

} // namespace

RnicMean RnicMeanOf(const std::vector<double> &values)
{
    RnicMean result;
    const auto n = static_cast<double>(values.size());
    double squares = 0;
    for (double value : values)
    {
        result.mean += value / n;
    }
    for (double value : values)
    {
        squares += (value - result.mean) * (value - result.mean);
    }
    if (values.size() > 1)
    {
        result.halfWidth = StudentT(values.size() - 1) * std::sqrt(squares / (n - 1) / n);
    }
    return result;
}

std::vector<uint64_t> RnicParseSeeds(const std::string &text)
{
    std::vector<uint64_t> seeds;
    for (size_t at = 0; at <= text.size();)
    {
        const size_t comma = std::min(text.find(',', at), text.size());
        const std::string part = text.substr(at, comma - at);
        const size_t dots = part.find("..");
        const uint64_t first = ParseSeed(text, part.substr(0, dots));
        const uint64_t last =
            dots == std::string::npos ? first : ParseSeed(text, part.substr(dots + 2));
        if (last < first)
        {
            throw WrongSeeds(text, "has a range that ends before it begins");
        }
        if (last - first >= MAX_SEEDS - seeds.size())
        {
            throw WrongSeeds(text, "has more than " + std::to_string(MAX_SEEDS) + " seeds");
        }
        for (uint64_t seed = first; seed <= last; seed++)
        {
            if (std::find(seeds.begin(), seeds.end(), seed) != seeds.end())
            {
                throw WrongSeeds(text, "has seed " + std::to_string(seed) + " twice");
            }
            seeds.push_back(seed);
        }
        at = comma + 1;
    }
    return seeds;
}

RnicSeeds::RnicSeeds(RnicScenario scenario, std::vector<uint64_t> seeds)
    : m_scenario(std::move(scenario)), m_seeds(std::move(seeds)), m_result(RnicJson::Object())
{
    m_scenario.run.judge = false;
}

RnicExit RnicSeeds::Run(const std::string &folder)
{
    RnicResultsFolder out(folder);
    bool interrupted = false;
    for (uint64_t seed : m_seeds)
    {
        m_scenario.run.seed = seed;
        RnicRunner runner(m_scenario);
        RnicExit status = RNIC_EXIT_FAILED;
        try
        {
            status = runner.Run(out.Path() + "/seed-" + std::to_string(seed));
        }
        catch (const RnicWriteError &error)
        {
            m_errors.push_back("the run with seed " + std::to_string(seed) +
                               " could not be written");
            Finish(out); // the seeds before it are kept
            throw out.Final(error);
        }
        if (status == RNIC_EXIT_FAILED)
        {
            m_errors.push_back("the run with seed " + std::to_string(seed) + " failed");
        }
        m_summaries.push_back(runner.GetSummary());
        interrupted = status == RNIC_EXIT_INTERRUPTED;
        if (interrupted)
        {
            m_errors.push_back("interrupted: these results are partial");
            break;
        }
    }
    Finish(out);
    Print(std::cout);
    if (interrupted)
    {
        return RNIC_EXIT_INTERRUPTED;
    }
    for (const std::string &error : m_errors)
    {
        std::cerr << "rnic-run: " << error << '\n';
    }
    return m_errors.empty() ? RNIC_EXIT_GOOD : RNIC_EXIT_FAILED;
}

/* Write seeds.json and put the folder in its place. */
void RnicSeeds::Finish(RnicResultsFolder &out)
{
    m_result.Set("schema", 1);
    m_result.Set("scenario", m_scenario.name);
    m_result.Set("seeds", Values("seed"));
    Measures();
    Expects();
    RnicJson &errors = m_result.Set("errors", RnicJson::Array());
    for (const std::string &error : m_errors)
    {
        errors.Push(error);
    }
    errno = 0;
    const bool written = Write(out.Path() + "/seeds.json");
    const int why = errno;
    out.Commit();
    if (!written)
    {
        throw out.Failed(out.Path() + "/seeds.json", why);
    }
}

/* What stands at @p path in each summary. */
RnicJson RnicSeeds::Values(const std::string &path) const
{
    RnicJson values = RnicJson::Array();
    for (const RnicJson &summary : m_summaries)
    {
        const RnicJson *value = summary.Find(path);
        values.Push(value ? *value : RnicJson());
    }
    return values;
}

namespace
{

/* {mean, ci95, values}; a mean only if every value is a number. */
RnicJson Together(const RnicJson &values, size_t n)
{
    std::vector<double> numbers;
    for (size_t i = 0; i < n; i++)
    {
        const RnicJson *value = values.Find(std::to_string(i));
        if (value->IsNumber())
        {
            numbers.push_back(value->Number());
        }
    }
    RnicJson json = RnicJson::Object();
    if (n > 0 && numbers.size() == n)
    {
        const RnicMean mean = RnicMeanOf(numbers);
        json.Set("mean", mean.mean);
        json.Set("ci95", n > 1 ? RnicJson(mean.halfWidth) : RnicJson());
    }
    else
    {
        json.Set("mean", RnicJson());
        json.Set("ci95", RnicJson());
    }
    json.Set("values", values);
    return json;
}

bool Equal(const RnicJson &a, const RnicJson &b)
{
    return a.GetType() == b.GetType() && a.Boolean() == b.Boolean() && a.Text() == b.Text();
}

/* The one value that stands for all: the mean of numbers, else what all agree on, else nothing. */
RnicJson OneOf(const RnicJson &together, size_t n)
{
    if (together.Find("mean")->IsNumber())
    {
        return *together.Find("mean");
    }
    for (size_t i = 1; i < n; i++)
    {
        if (!Equal(*together.Find("values.0"), *together.Find("values." + std::to_string(i))))
        {
            return {};
        }
    }
    return n > 0 ? *together.Find("values.0") : RnicJson();
}

} // namespace

void RnicSeeds::Measures()
{
    RnicJson &measures = m_result.Set("measures", RnicJson::Object());
    for (const RnicScenarioMeasure &measure : m_scenario.measures)
    {
        measures.Set(measure.name,
                     Together(Values("measures." + measure.name), m_summaries.size()));
    }
}

void RnicSeeds::Expects()
{
    RnicJson list = RnicJson::Array();
    for (const RnicScenarioExpect &expect : m_scenario.expects)
    {
        const RnicJson together = Together(Values(expect.what), m_summaries.size());
        const RnicJson value = OneOf(together, m_summaries.size());
        RnicJson other;
        if (RnicExpectHasPath(expect))
        {
            other = OneOf(Together(Values(expect.text), m_summaries.size()), m_summaries.size());
        }
        RnicJson json = RnicJudge(expect, &value, &other);
        json.Set("ci95", *together.Find("ci95"));
        json.Set("values", *together.Find("values"));
        if (!json.Find("pass")->Boolean())
        {
            m_errors.push_back("expect " + expect.what + " does not hold over the seeds");
        }
        list.Push(std::move(json));
    }
    m_result.Set("expect", std::move(list));
}

bool RnicSeeds::Write(const std::string &path) const
{
    std::ofstream out(path);
    m_result.Write(out);
    out << '\n';
    return static_cast<bool>(out.flush());
}

void RnicSeeds::Print(std::ostream &out) const
{
    out << m_scenario.name << ": " << m_summaries.size() << " of " << m_seeds.size()
        << " seeds, mean and 95 % interval\n";
    auto print = [&out](const std::string &name, const std::string &text)
    {
        out << "  " << name << std::string(name.size() < 34 ? 34 - name.size() : 1, ' ') << text
            << '\n';
    };
    for (const RnicScenarioMeasure &measure : m_scenario.measures)
    {
        const RnicJson *json = m_result.Find("measures." + measure.name);
        const bool rate = measure.kind == RnicScenarioMeasure::RATE;
        const double unit = rate ? 1e9 : 1e3;
        print(measure.name, !json->Find("mean")->IsNumber()
                                ? "not measured in every run"
                                : Format(rate ? "%.4f +- %.4f Gb/s" : "%.3f +- %.3f KB",
                                         json->Find("mean")->Number() / unit,
                                         json->Find("ci95")->Number() / unit));
    }
    size_t good = 0;
    for (size_t i = 0; i < m_scenario.expects.size(); i++)
    {
        good += m_result.Find("expect." + std::to_string(i) + ".pass")->Boolean() ? 1 : 0;
    }
    print("expects", std::to_string(good) + " of " + std::to_string(m_scenario.expects.size()) +
                         " hold on the mean");
}

} // namespace ns3
