# SPDX-License-Identifier: GPL-2.0-only
"""DCQCN against published numbers: K senders to one, and a ring under each control.

A few K with one seed; with RNIC_LONG all of them, three seeds, and marking at enqueue too.
"""

import os
import sys
import unittest

from runner import ROOT, RUNNER, RunnerCase

sys.path.insert(0, ROOT)

from analysis import congestion, fluid  # noqa: E402

LONG = bool(os.environ.get("RNIC_LONG"))


class SendersToOne(RunnerCase):
    senders = range(2, 20) if LONG else (2, 4, 8, 12, 19)
    instants = ("dequeue", "enqueue") if LONG else ("dequeue",)
    seeds = "1..3" if LONG else "1"

    def test_rates_and_queues(self):
        found = congestion.sweep(RUNNER, self.senders, self.instants, self.seeds)
        if LONG:
            rows = congestion.rows(found, self.senders)
            print(congestion.simple_table(congestion.HEADER, rows))
        for k in self.senders:
            with self.subTest(k=k):
                rate, queue = found[(k, "dequeue")]["sum"][0], found[(k, "dequeue")]["queue"][0]
                self.assertGreater(rate, 39e9 if k <= 12 else 38e9)
                self.assertLess(queue, 100e3)  # the testbed's bound
                if k <= 8:
                    model = fluid.Dcqcn(packet_bytes=congestion.FRAME_BYTES)
                    ratio = queue / fluid.fixed_point(k, model).queue_bytes
                    self.assertTrue(0.5 < ratio < 2, f"{ratio} of the fluid model's queue")


class Ring(RunnerCase):
    def test_no_control_is_in_its_way(self):
        times = set()
        for sets in ("cc.kind=none", "cc.preset=paper-2015", "cc.preset=nvidia",
                     "cc.preset=hpcc-sim"):
            run = self.good(self.run_shipped("dcqcn-ring", sets, "workload.bytes=4MiB"))
            times.add(run.summary["collectives"][0]["time_ps"])
            self.assertEqual(run.summary["cnps_sent"], 0)
        self.assertEqual(len(times), 1)


class Presets(RunnerCase):
    """What the presets say of the card goes with them, unless it is written."""

    def interval(self, *sets):
        run = self.good(self.run_shipped("dcqcn-ring", "workload.bytes=4KiB", *sets))
        return run.summary["parameters"]["nic"]["cnp_interval"]["value"]

    def test_cnp_interval(self):
        self.assertEqual(self.interval("cc.preset=paper-2015"), 50000000)
        self.assertEqual(self.interval("cc.preset=nvidia"), 4000000)
        self.assertEqual(self.interval("cc.preset=hpcc-sim"), 0)
        self.assertEqual(self.interval("cc.preset=nvidia", "nic.cnp_interval=7us"), 7000000)

    def test_each_shares_a_link(self):
        for preset in ("paper-2015", "nvidia", "hpcc-sim"):
            with self.subTest(preset):
                run = self.good(self.run_shipped("dcqcn-k-to-1", f"cc.preset={preset}",
                                                 "workload.senders=2", "run.series=[]"))
                self.assertGreater(run.summary["measures"]["sum"], 39e9)
                self.assertGreater(run.summary["cnps_sent"], 0)


if __name__ == "__main__":
    unittest.main()
