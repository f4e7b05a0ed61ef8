/* SPDX-License-Identifier: GPL-2.0-only */
// Runs the module's TestSuites where ns-3's own test runner is not installed.
//
//   rnic-test-runner --suite=rnic-device --verbose     one suite
//   rnic-test-runner --list                            their names
//   rnic-test-runner --drive=batch ...                 with the engine in batches, not by wake-ups

#include "rnic-scheduler.h"

#include "ns3/global-value.h"
#include "ns3/nstime.h"
#include "ns3/test.h"

#include <cstring>

int main(int argc, char *argv[])
{
    ns3::Time::SetResolution(ns3::Time::PS);
    if (argc > 1 && std::strcmp(argv[1], "--drive=batch") == 0)
    {
        ns3::GlobalValue::Bind("SchedulerType", ns3::TypeIdValue(ns3::RnicScheduler::GetTypeId()));
        argv[1] = argv[0];
        argc--;
        argv++;
    }
    return ns3::TestRunner::Run(argc, argv);
}
