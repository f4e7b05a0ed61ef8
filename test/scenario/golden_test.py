# SPDX-License-Identifier: GPL-2.0-only
"""The shipped scenarios: what they must show, and what must not change what they show."""

import json
import unittest

from runner import RunnerCase

SHIPPED = ("allreduce-ring-4", "incast-16", "incast-16-lossy", "incast-16-link-loss",
           "two-hosts-write")


class Shipped(RunnerCase):
    def conserved(self, run):
        frames = run.summary["conservation"]
        dropped = sum(frames["frames_dropped"].values())
        self.assertEqual(dropped, frames["frames_dropped_total"])
        self.assertEqual(frames["frames_sent"], frames["frames_delivered"] + dropped +
                         frames["frames_in_flight"])
        self.assertEqual(frames["frames_in_flight"], 0)

    def slowed_never_below_one(self, run):
        for flow in run.table("flows"):
            self.assertGreaterEqual(float(flow["slowdown"]), 1.0)
            self.assertGreaterEqual(flow["cqe_ps"], flow["end_ps"])

    def test_every_expect_holds(self):
        for name in SHIPPED:
            with self.subTest(name):
                run = self.good(self.run_shipped(name))
                self.assertGreater(len(run.summary["expect"]), 0)
                self.assertTrue(all(e["pass"] for e in run.summary["expect"]))
                self.conserved(run)
                self.slowed_never_below_one(run)

    def test_ring_is_where_the_recurrence_says(self):
        run = self.good(self.run_shipped("allreduce-ring-4", "workload.memory=phantom",
                                         "expect.0.equals=false"))
        ring = run.summary["collectives"][0]
        self.assertEqual(ring["ideal_ps"], 6 * (4096 * 334240 + 2335200))
        self.assertEqual(ring["ideal_with_acks_ps"], ring["ideal_ps"] + 6 * 256 * 6880)
        self.assertEqual(ring["steps"], 6)
        self.assertEqual(ring["ranks"], 4)
        self.assertLess(abs(ring["time_ps"] / ring["ideal_ps"] - 1), 0.01)
        self.assertGreaterEqual(ring["time_ps"], ring["ideal_ps"])

    def test_drops_have_their_reasons(self):
        lossy = self.good(self.run_shipped("incast-16-lossy")).summary
        drops = lossy["conservation"]["frames_dropped"]
        self.assertGreater(drops["buffer"], 0)
        self.assertEqual(drops["link_loss"], 0)
        lost = self.good(self.run_shipped("incast-16-link-loss")).summary
        drops = lost["conservation"]["frames_dropped"]
        self.assertGreater(drops["link_loss"], 0)
        self.assertEqual(drops["buffer"], 0)
        self.assertEqual(lost["flows"]["completed"], 16)

    def test_counters_agree_with_the_tables(self):
        run = self.good(self.run_shipped("incast-16"))
        summary = run.summary
        flows = run.table("flows")
        self.assertEqual(sum(flow["cnps"] for flow in flows), summary["cnps_sent"])
        self.assertEqual(sum(flow["retransmitted_packets"] for flow in flows), 0)
        self.assertEqual(len({row["port"] for row in run.table("pauses")}), 16)
        self.assertGreater(summary["ecn_marked"], 0)
        self.assertEqual(summary["pfc"]["pauses"], summary["pfc"]["resumes"])
        peak = max(row["queue_bytes"] for row in run.table("queues"))
        self.assertLessEqual(peak, summary["switches"][0]["peak_queue_bytes"])
        self.assertGreater(peak, 0.9 * summary["switches"][0]["peak_queue_bytes"])


class Unchanged(RunnerCase):
    """Same scenario and seed: the same bytes, whatever is watched."""

    def bare(self, run):
        summary = run.summary
        summary.pop("speed")
        summary.pop("versions")
        summary["parameters"]["nic"].pop("wire")
        summary["parameters"]["run"].pop("sample")
        return json.dumps(summary)

    def same(self, name, *sets):
        plain = self.good(self.run_shipped(name))
        flows, steps, summary = (plain.read("flows.csv"), plain.read("steps.csv"),
                                 self.bare(plain))
        for pair in sets:
            with self.subTest(pair):
                run = self.good(self.run_shipped(name, pair))
                self.assertEqual(run.read("flows.csv"), flows)
                self.assertEqual(run.read("steps.csv"), steps)
                self.assertEqual(self.bare(run), summary)

    def test_wire_trace_pcap_sampling_and_again(self):
        self.same("two-hosts-write", "run.seed=1", "nic.wire=true", "run.trace=true",
                  "run.pcap=true", "run.sample=10ns")

    def test_under_loss_and_pause(self):
        self.same("incast-16-link-loss", "run.seed=1", "nic.wire=true", "run.trace=true",
                  "run.sample=100us")

    def test_ring(self):
        self.same("allreduce-ring-4", "nic.wire=true")

    def test_another_seed_is_another_run(self):
        one = self.good(self.run_shipped("incast-16-link-loss"))
        flows = one.read("flows.csv")
        two = self.good(self.run_shipped("incast-16-link-loss", "run.seed=2"))
        self.assertNotEqual(two.read("flows.csv"), flows)

    def test_extra_files(self):
        run = self.good(self.run_shipped("two-hosts-write", "run.trace=true", "run.pcap=true"))
        blocks = run.table("blocks")
        self.assertGreater(len({row["block"] for row in blocks}), 3)
        for row in blocks:
            self.assertGreaterEqual(row["out_ps"], row["in_ps"])
        self.assertEqual(run.read("two-hosts-write-0-0.pcap")[:4],
                         bytes.fromhex("4d3cb2a1"))


if __name__ == "__main__":
    unittest.main()
