/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rnic-run FILE [--out DIR] [--set key=value ...] [--seeds LIST]: run one scenario, or the same
 * with several seeds, and write its results folder.
 *
 * Exit status: 0 done and every expect holds; 1 an expect or the run failed; 2 bad input, or a
 * path that cannot be read or written; 130 interrupted.
 */
#include "rnic-progress.h"
#include "rnic-results.h"
#include "rnic-runner.h"
#include "rnic-scenario.h"
#include "rnic-seeds.h"

#include "ns3/nstime.h"

#include <csignal>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr const char *USAGE =
    "usage: rnic-run FILE [--out DIR] [--set key=value ...] [--seeds LIST] [--check]\n"
    "  FILE     scenario, a TOML file\n"
    "  --out    results folder (results/NAME)\n"
    "  --set    a key of the scenario, as in --set workload.bytes=1MiB; the section may be left\n"
    "           out where only one key ends so\n"
    "  --seeds  run once for each, as in --seeds 1..5 or 1,2,7: each "
    "expect is judged on the mean\n"
    "  --check  only find what is wrong; prints the --set values with their whole keys\n";

struct Arguments
{
    std::string file;
    std::string out;
    std::vector<std::string> sets;
    std::string seeds;
    bool repeat = false; //!< seeds were given
    bool check = false;
    bool help = false;
    std::string wrong;
};

/* Takes "--name value" or "--name=value". */
bool Option(const std::string &name, int argc, char *argv[], int &i, std::string &value)
{
    const std::string word = argv[i];
    if (word.compare(0, name.size() + 1, name + "=") == 0)
    {
        value = word.substr(name.size() + 1);
        return true;
    }
    if (word != name || i + 1 >= argc)
    {
        return false;
    }
    value = argv[++i];
    return true;
}

Arguments Parse(int argc, char *argv[])
{
    Arguments arguments;
    for (int i = 1; i < argc && arguments.wrong.empty(); i++)
    {
        const std::string word = argv[i];
        std::string value;
        if (word == "--help" || word == "-h")
        {
            arguments.help = true;
        }
        else if (word == "--check")
        {
            arguments.check = true;
        }
        else if (word == "--version")
        {
            std::cout << "rnic-run " << RnicVersion() << '\n';
            std::exit(RNIC_EXIT_GOOD);
        }
        else if (Option("--out", argc, argv, i, value))
        {
            arguments.out = value;
        }
        else if (Option("--set", argc, argv, i, value))
        {
            arguments.sets.push_back(value);
        }
        else if (Option("--seeds", argc, argv, i, value))
        {
            arguments.seeds = value;
            arguments.repeat = true;
        }
        else if (!word.empty() && word[0] == '-')
        {
            arguments.wrong = word + ": unknown or without its value";
        }
        else if (!arguments.file.empty())
        {
            arguments.wrong = word + ": one scenario at a time";
        }
        else
        {
            arguments.file = word;
        }
    }
    if (arguments.wrong.empty() && arguments.file.empty() && !arguments.help)
    {
        arguments.wrong = "no scenario given";
    }
    return arguments;
}

RnicExit Run(const Arguments &arguments)
{
    RnicScenario scenario = RnicReadScenario(arguments.file, arguments.sets);
    if (arguments.check)
    {
        if (arguments.repeat)
        {
            (void)RnicParseSeeds(arguments.seeds);
        }
        RnicRunner(std::move(scenario)).Check();
        for (const std::string &set : RnicWholeSets(arguments.file, arguments.sets))
        {
            std::cout << set << '\n';
        }
        return RNIC_EXIT_GOOD;
    }
    const std::string out = arguments.out.empty() ? "results/" + scenario.name : arguments.out;
    const RnicExit status =
        arguments.repeat ? RnicSeeds(std::move(scenario), RnicParseSeeds(arguments.seeds)).Run(out)
                         : RnicRunner(std::move(scenario)).Run(out);
    if (status == RNIC_EXIT_INTERRUPTED)
    {
        std::cerr << "rnic-run: interrupted: the results in " << out << " are partial\n";
    }
    else
    {
        std::cout << "results in " << out << '\n';
    }
    return status;
}

} // namespace

int main(int argc, char *argv[])
{
    const Arguments arguments = Parse(argc, argv);
    if (arguments.help)
    {
        std::cout << USAGE;
        return RNIC_EXIT_GOOD;
    }
    if (!arguments.wrong.empty())
    {
        std::cerr << "rnic-run: " << arguments.wrong << '\n' << USAGE;
        return RNIC_EXIT_INPUT;
    }
    Time::SetResolution(Time::PS);
    RnicProgress::CatchInterrupt();
    std::signal(SIGXFSZ, SIG_IGN); // a limit on file sizes is an error of the write
    try
    {
        return Run(arguments);
    }
    catch (const RnicScenarioError &error)
    {
        std::cerr << error.what() << '\n';
        return RNIC_EXIT_INPUT;
    }
    catch (const std::bad_alloc &)
    {
        std::cerr << "rnic-run: out of memory\n";
    }
    catch (const std::exception &error)
    {
        std::cerr << "rnic-run: " << error.what() << '\n';
    }
    return RNIC_EXIT_FAILED;
}
