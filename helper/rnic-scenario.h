/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * A scenario: one TOML file as plain data, every value checked, every error with its place.
 *
 * The reader knows the keys of the tables of parameters (wire_param.h) and the few that are not in
 * a table; it builds nothing. What is wrong is thrown as RnicScenarioError, one line:
 *
 *   file:line:column: key: what is wrong; what would be right
 */
#ifndef RNIC_SCENARIO_H
#define RNIC_SCENARIO_H

#include "rnic-c.h"

#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

/** Bad input; what() is the whole line, and one: control characters are written as \xNN. */
class RnicScenarioError : public std::runtime_error
{
public:
    explicit RnicScenarioError(const std::string &line);
};

/** A place that cannot be written, or a full disk; what() is the whole line. */
class RnicWriteError : public RnicScenarioError
{
public:
    using RnicScenarioError::RnicScenarioError;
};

/** [[workload.flow]] */
struct RnicScenarioFlow
{
    uint32_t src = 0;
    uint32_t dst = 0;
    uint64_t bytes = 0;
    uint64_t startPs = 0;
    std::string verb = "write";  //!< as RnicJobVerbName; "read": dst posts and pulls from src
    std::vector<uint32_t> after; //!< flows that must have ended; by position in the list
};

/** [workload] */
struct RnicScenarioWorkload
{
    std::string kind;               //!< allreduce, incast, flows
    std::string algorithm = "ring"; //!< allreduce: ring
    uint64_t bytes = 0;             //!< allreduce: the array; incast: of each sender
    bool backed = true;             //!< real bytes in memory, else sizes only
    uint64_t reduceTimePs = 0;
    std::vector<uint64_t> hostDelayPs; //!< one for each host, or empty
    std::string verb = "write";        //!< incast
    uint32_t senders = 0;              //!< incast
    uint32_t target = 0;               //!< incast
    uint64_t startPs = 0;              //!< incast
    uint32_t qps = 1;                  //!< queue pairs of each ordered host pair
    std::vector<RnicScenarioFlow> flows;
};

/** [qp]: what all queue pairs are like */
struct RnicScenarioQp
{
    bool uc = false; //!< service: else rc
    enum rnic_recovery recovery = RNIC_RECOVER_GO_BACK_N;
    uint64_t windowBytes = 0; //!< 0: none
    bool windowBdp = false;   //!< window = "bdp": of this topology, by RnicIdeal
    uint64_t rateLimitBps = 0;
    uint64_t maxRdAtomic = 0; //!< default: nic.max_rd_atomic
    bool e2eCredits = false;
    bool roceV1 = false;
};

/** @return name in scenarios: "go-back-n", "go-back-0", "selective". */
const char *RnicRecoveryName(enum rnic_recovery recovery);

/** [run] */
struct RnicScenarioRun
{
    uint64_t seed = 1;
    uint64_t stopPs = 1000000000000;
    bool pcap = false;
    bool trace = false;
    bool batch = true;     //!< drive: the engine runs in batches, else by ns-3 wake-ups
    bool openEnd = false;  //!< stopPs is where the run ends, over or not (duration)
    bool judge = true;     //!< expects decide; else they are only noted (seeds)
    uint64_t samplePs = 0; //!< 0: chosen from the run's length
    std::vector<std::string> series = {"rates", "queues", "pauses", "cnps", "links"};
    int64_t suppressPlacement = -1; //!< tests: undo the placement of this transfer
};

/** [[event]]: the line of a host goes down or comes up */
struct RnicScenarioEvent
{
    uint64_t atPs = 0;
    bool up = false;
    std::string of; //!< as written
    uint32_t host = 0;
};

/** [[measure]]: a mean over an interval, into summary.json as measures.NAME */
struct RnicScenarioMeasure
{
    enum Kind
    {
        RATE, //!< of a flow's queue pair, or of all that a host or a port of a switch sends
        QUEUE //!< of a port of a switch
    };
    enum Where
    {
        FLOW,
        HOST,
        PORT
    };
    std::string name;
    Kind kind = RATE;
    std::string of; //!< as written
    Where where = FLOW;
    uint32_t number = 0; //!< of the flow, the host or the switch
    uint32_t port = 0;   //!< of the switch
    int prio = -1;       //!< class of the queue; -1: all
    uint64_t fromPs = 0;
    uint64_t toPs = 0;
};

/** [[expect]]: a bound of one number of summary.json. */
struct RnicScenarioExpect
{
    enum Kind
    {
        EQUALS,
        MIN,
        MAX,
        NEAR
    };
    enum Type
    {
        NUMBER,
        BOOLEAN,
        TEXT
    };
    std::string what; //!< dotted path into summary.json
    Kind kind = EQUALS;
    Type type = NUMBER;
    double number = 0;
    bool boolean = false;
    std::string text;
    double tolerance = 0; //!< NEAR: share of the bound
};

struct RnicScenario
{
    std::string file; //!< as given
    std::string name; //!< file name without .toml

    bool star = true; //!< else two-hosts
    uint32_t hosts = 2;
    engine_link_params link;
    fabric_params fabric;
    rnic_params nic;
    std::string nicPreset = "default";
    bool wire = false;
    const rnic_cc_ops *cc = nullptr;
    std::string ccPreset = "paper-2015";
    rnic_dcqcn_params dcqcn;
    RnicScenarioQp qp;
    RnicScenarioWorkload workload;
    RnicScenarioRun run;
    std::vector<RnicScenarioEvent> events; //!< as written, in any order
    std::vector<RnicScenarioMeasure> measures;
    std::vector<RnicScenarioExpect> expects;
    std::vector<std::pair<std::string, std::string>> ns3; //!< attribute path or name, value

    /** Where each key that was written stands: "file:line:column" or "--set KEY". */
    std::map<std::string, std::string> places;

    /** @return the place of a dotted key, or of its section, or FILE:1:1. */
    std::string Place(const std::string &key) const;
    /** @return the error "place: key: text" to throw. */
    RnicScenarioError Error(const std::string &key, const std::string &text) const;
};

/**
 * @return @p sets with whole keys: "hosts=4" is "topology.hosts=4", because no other key of this
 *         scenario ends in "hosts".
 * @throw RnicScenarioError: such a key is unknown or stands for several
 */
std::vector<std::string> RnicWholeSets(const std::string &file,
                                       const std::vector<std::string> &sets);

/**
 * Read and check a scenario.
 *
 * @param file  path of the TOML file
 * @param sets  "key=value" of the command line, in order; they win over the file. A key has its
 *              section before it, or is the last part that only one key has
 * @throw RnicScenarioError
 */
RnicScenario RnicReadScenario(const std::string &file, const std::vector<std::string> &sets);

/** Largest frame with FCS on this scenario's links, as RnicEngine tells the switches. */
uint32_t RnicScenarioMaxFrameBytes(const RnicScenario &scenario);

} // namespace ns3

#endif /* RNIC_SCENARIO_H */
