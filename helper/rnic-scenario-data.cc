/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a scenario knows of itself once it has been read; no TOML here.
 */
#include "rnic-scenario.h"

#include <algorithm>
#include <cstdio>

namespace ns3
{

namespace
{

constexpr uint64_t ETHERNET_MTU = 1500; // what ns-3's own traffic may send

/* What a file or a command line holds may not break the line or drive the terminal. */
std::string OneLine(const std::string &text)
{
    std::string line;
    for (const char c : text)
    {
        const auto code = static_cast<unsigned char>(c);
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\x%02x", code);
        line += code < 0x20 || code == 0x7f ? std::string(escape) : std::string(1, c);
    }
    return line;
}

} // namespace

RnicScenarioError::RnicScenarioError(const std::string &line) : std::runtime_error(OneLine(line))
{
}

const char *RnicRecoveryName(enum rnic_recovery recovery)
{
    return recovery == RNIC_RECOVER_GO_BACK_0   ? "go-back-0"
           : recovery == RNIC_RECOVER_SELECTIVE ? "selective"
                                                : "go-back-n";
}

std::string RnicScenario::Place(const std::string &key) const
{
    for (std::string path = key;;)
    {
        auto place = places.find(path);
        if (place != places.end())
        {
            return place->second;
        }
        size_t dot = path.find_last_of('.');
        if (dot == std::string::npos)
        {
            return file + ":1:1";
        }
        path.resize(dot);
    }
}

RnicScenarioError RnicScenario::Error(const std::string &key, const std::string &text) const
{
    const std::string place = Place(key);
    return RnicScenarioError(place + (place == "--set " + key ? ": " : ": " + key + ": ") + text);
}

uint32_t RnicScenarioMaxFrameBytes(const RnicScenario &scenario)
{
    return wire_frame_max_bytes(std::max<uint64_t>(scenario.nic.mtu_bytes, ETHERNET_MTU));
}

} // namespace ns3
