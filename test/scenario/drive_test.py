# SPDX-License-Identifier: GPL-2.0-only
"""Both drives of the engine: every file of a run is the same, but for speed."""

import os
import unittest

from runner import RunnerCase

INCAST = """[topology]
kind = "star"
hosts = 9
[switch]
buffer = "3MB"
ecn_kmin = "20KB"
ecn_kmax = "200KB"
[nic]
mtu = 1024
[workload]
kind = "incast"
senders = 8
target = 8
bytes = "300KB"
"""


class Drives(RunnerCase):
    def files(self, run):
        """@returns name -> content, pcap and series too."""
        found = {}
        for name in sorted(os.listdir(run.folder)):
            if os.path.isfile(run.path(name)) and name != "summary.json":
                found[name] = run.read(name)
        summary = run.summary
        self.assertEqual(summary.pop("speed")["drive"], self.drive)
        summary.pop("versions")
        found["summary.json"] = summary
        return found

    def same(self, start, *sets):
        both = {}
        for self.drive in ("wake", "batch"):
            run = start(*sets, f"run.drive={self.drive}", out=self.drive)
            both[self.drive] = self.files(self.good(run))
        self.assertEqual(set(both["wake"]), set(both["batch"]))
        for name, content in both["wake"].items():
            self.assertEqual(content, both["batch"][name], name)
        return both["batch"]

    def test_incast(self):
        files = self.same(lambda *sets, out: self.run_text(INCAST, *sets, out=out))
        self.assertGreater(files["summary.json"]["pfc"]["pauses"], 0)
        self.assertGreater(len(files["flows.csv"].splitlines()), 8)

    def test_incast_with_loss_and_pcap(self):
        files = self.same(lambda *sets, out: self.run_text(INCAST, *sets, out=out),
                          "topology.loss=0.001", "run.pcap=true", "run.trace=true")
        self.assertGreater(sum(name.endswith(".pcap") for name in files), 8)
        self.assertGreater(files["summary.json"]["flows"]["retransmitted_packets"], 0)

    def test_ring(self):
        self.same(lambda *sets, out: self.run_shipped("allreduce-ring-4", *sets, out=out),
                  "workload.bytes=4MiB")

    def test_stopped_in_the_middle(self):
        runs = {}
        for drive in ("wake", "batch"):
            run = self.run_text(INCAST, "run.stop=50us", f"run.drive={drive}", out=drive)
            self.assertEqual(run.status, 1)
            runs[drive] = (run.read("flows.csv"), run.summary["conservation"])
        self.assertEqual(runs["wake"], runs["batch"])
        self.assertGreater(runs["batch"][1]["frames_in_flight"], 0)

    def test_batch_is_what_one_gets(self):
        self.assertEqual(self.good(self.run_text(INCAST)).summary["speed"]["drive"], "batch")

    def test_no_other(self):
        run = self.run_text(INCAST, "run.drive=fast")
        self.assertEqual(run.status, 2)
        self.assertIn("run.drive", run.err)


if __name__ == "__main__":
    unittest.main()
