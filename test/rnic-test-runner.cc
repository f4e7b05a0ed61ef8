/* SPDX-License-Identifier: GPL-2.0-only */
// Runs the module's TestSuites where ns-3's own test runner is not installed.
//
//   rnic-test-runner --suite=rnic-device --verbose     one suite
//   rnic-test-runner --list                            their names

#include "ns3/nstime.h"
#include "ns3/test.h"

int main(int argc, char *argv[])
{
    ns3::Time::SetResolution(ns3::Time::PS);
    return ns3::TestRunner::Run(argc, argv);
}
