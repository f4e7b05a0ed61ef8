# SPDX-License-Identifier: GPL-2.0-only
"""[[measure]], run.duration, run.series and --seeds: exact values, refusals, nothing changed."""

import json
import statistics
import unittest

from runner import RunnerCase

# 1000 B of RDMA WRITE ONLY, plain: 14 + 20 + 8 + 12 + 16 + 1000 + 4 + 4 bytes; 20 more on the line.
FRAME = 1078
LINE = FRAME + 20
PS_PER_BYTE = 80  # 100 Gb/s

TWO = """[topology]
kind = "star"
hosts = 3
rate = "100Gbps"
[nic]
preset = "ideal"
mtu = 1024
[workload]
kind = "flows"
[[workload.flow]]
src = 0
dst = 2
bytes = 1000
[[workload.flow]]
src = 1
dst = 2
bytes = 1000
"""

LONG = """[topology]
hosts = 3
rate = "40Gbps"
[switch]
buffer = "12MB"
ecn_kmin = "5KB"
ecn_kmax = "200KB"
ecn_pmax = 0.01
[nic]
preset = "ideal"
mtu = 1024
ack_every = 1
[cc]
kind = "dcqcn"
[workload]
kind = "incast"
target = 2
memory = "phantom"
bytes = "1GB"
[run]
duration = "3ms"
"""


def measure(name, kind, of, begin, end, more=""):
    return (f'[[measure]]\nname = "{name}"\nkind = "{kind}"\nof = "{of}"\n'
            f'from = "{begin}"\nto = "{end}"\n{more}\n')


class Values(RunnerCase):
    def measures(self, run):
        return self.good(run).summary["measures"]

    def test_a_frame_that_waits(self):
        # Both frames arrive at once; the second waits while the first is on the line.
        text = (TWO + measure("all", "queue", "switch0 port 2", "0us", "10us")
                + measure("data", "queue", "switch0 port 2", "0us", "10us", "class = 3")
                + measure("none", "queue", "switch0 port 2", "0us", "10us", "class = 6")
                + measure("other", "queue", "switch0 port 0", "0us", "10us"))
        found = self.measures(self.run_text(text))
        mean = FRAME * LINE * PS_PER_BYTE / 10e6
        self.assertAlmostEqual(found["all"], mean, delta=1e-9)
        self.assertAlmostEqual(found["data"], mean, delta=1e-9)
        self.assertEqual(found["none"], 0)
        self.assertEqual(found["other"], 0)

    def test_half_of_the_wait(self):
        # It begins when the last bit is in: 1 us and frame + 8 bytes after the start.
        begin = 1000000 + (FRAME + 8) * PS_PER_BYTE
        half = begin + LINE * PS_PER_BYTE // 2
        text = (TWO + measure("first", "queue", "switch0 port 2", f"{begin - 5000}ps", f"{half}ps")
                + measure("last", "queue", "switch0 port 2", f"{half}ps", f"{half + 100000}ps"))
        found = self.measures(self.run_text(text))
        wait = LINE * PS_PER_BYTE // 2
        self.assertAlmostEqual(found["first"], FRAME * wait / (wait + 5000), delta=1e-6)
        self.assertAlmostEqual(found["last"], FRAME * wait / 100000, delta=1e-6)

    def test_bytes_of_a_rate(self):
        text = (TWO + measure("flow", "rate", "flow 1", "0us", "10us")
                + measure("host", "rate", "host1", "0us", "10us")
                + measure("target", "rate", "host2", "0us", "10us")
                + measure("port", "rate", "switch0 port 2", "0us", "10us"))
        found = self.measures(self.run_text(text))
        self.assertAlmostEqual(found["flow"], LINE * 8 / 10e-6, delta=1)
        self.assertAlmostEqual(found["host"], LINE * 8 / 10e-6, delta=1)
        self.assertAlmostEqual(found["port"], 2 * LINE * 8 / 10e-6, delta=1)
        self.assertAlmostEqual(found["target"], 2 * (66 + 20) * 8 / 10e-6, delta=1)  # acknowledges

    def test_a_full_line_is_its_rate(self):
        text = LONG.replace("target = 2", "target = 2\nsenders = 1") + \
            measure("rate", "rate", "flow 0", "100001ps", "2999999999ps")
        self.assertAlmostEqual(self.measures(self.run_text(text))["rate"] / 40e9, 1, delta=1e-12)

    def test_queue_is_what_samples_say(self):
        text = LONG + measure("queue", "queue", "switch0 port 2", "50us", "1ms")
        run = self.run_text(text, "run.sample=20ns")
        found = self.measures(run)["queue"]
        last, at, total = 0, 50000000, 0
        for row in run.table("queues"):
            if row["port"] == "switch0 port 2" and row["class"] == 3:
                now = min(row["time_ps"], 1000000000)
                total += last * max(now - at, 0)
                at, last = max(at, now), row["queue_bytes"]
        self.assertGreater(found, 5000)
        self.assertAlmostEqual(total / 0.95e9 / found, 1, delta=0.005)

    def test_an_end_that_is_never_reached(self):
        run = self.run_text(TWO + measure("late", "rate", "flow 0", "0us", "1ms"))
        self.assertAlmostEqual(self.measures(run)["late"], LINE * 8 / 1e-3, delta=1)
        self.assertTrue(any("measure late: all was over at" in note
                            for note in run.summary["notes"]))

    def test_a_bound_with_its_unit(self):
        text = LONG + measure("sum", "rate", "switch0 port 2", "1ms", "3ms")
        expect = '[[expect]]\nwhat = "measures.sum"\n'
        self.good(self.run_text(text + expect + 'min = "10Gbps"\n'))
        run = self.run_text(text + expect + 'max = "10Gbps"\n')
        self.assertEqual(run.status, 1)
        self.assertIn("expect measures.sum does not hold", run.err)

    def test_duration_is_no_failure_and_stop_is(self):
        run = self.good(self.run_text(LONG))
        self.assertEqual(run.summary["sim_end_ps"], 3000000000)
        self.assertEqual(run.summary["status"], "stopped")
        run = self.run_text(LONG.replace("duration", "stop"))
        self.assertEqual(run.status, 1)


class NothingChanges(RunnerCase):
    def test_series_and_measures(self):
        plain = self.good(self.run_shipped("incast-16", "workload.bytes=1MB"))
        flows = plain.read("flows.csv")
        for sets in (['run.series=[]'],
                     ['run.series=["rates","queues","pauses","cnps","links"]', "run.sample=777ns"],
                     ["run.sample=13us"]):
            run = self.good(self.run_shipped("incast-16", "workload.bytes=1MB", *sets))
            self.assertEqual(run.read("flows.csv"), flows, sets)
        with open(plain.folder + "/../s.toml", "w", encoding="ascii") as file:
            with open(self.shipped("incast-16"), encoding="ascii") as shipped:
                file.write(shipped.read())
            file.write(measure("q", "queue", "switch0 port 16", "0us", "1ms")
                       + measure("r", "rate", "flow 3", "10us", "1ms"))
        run = self.good(self.run_file(file.name, "--set", "workload.bytes=1MB"))
        self.assertGreater(run.summary["measures"]["q"], 0)
        self.assertEqual(run.read("flows.csv"), flows)

    def test_tables_on_request(self):
        run = self.good(self.run_shipped("incast-16", "workload.bytes=1MB",
                                         'run.series=["cnps","links"]', "run.sample=5us"))
        cnps = run.table("cnps")
        self.assertEqual(len(cnps), run.summary["cnps_sent"])
        self.assertLess(min(row["rate_bps"] for row in cnps), 100000000000)
        shares = [float(row["busy_ratio"]) for row in run.table("links")
                  if row["port"] == "switch0 port 16"]
        self.assertLessEqual(max(shares), 1.0)
        self.assertGreater(max(shares), 0.999)
        for name in ("rates", "queues", "pauses"):
            with self.assertRaises(FileNotFoundError):
                run.table(name)

    @staticmethod
    def shipped(name):
        from runner import ROOT
        return f"{ROOT}/scenarios/{name}.toml"


class Refused(RunnerCase):
    CASES = {
        "no such flow": (measure("a", "rate", "flow 2", "0us", "1us"), "21:6: measure.0.of",
                         "write a number below 2"),
        "no such host": (measure("a", "rate", "host3", "0us", "1us"), "21:6: measure.0.of",
                         "write a number below 3"),
        "a host of 33 bits": (measure("a", "rate", "host4294967296", "0us", "1us"),
                              "21:6: measure.0.of", "nothing that is measured"),
        "no such port": (measure("a", "rate", "switch0 port 3", "0us", "1us"), "21:6: measure.0.of",
                         "write a number below 3"),
        "no such switch": (measure("a", "rate", "switch1 port 0", "0us", "1us"),
                           "21:6: measure.0.of", "there is 1 switch"),
        "nothing known": (measure("a", "rate", "wire 3", "0us", "1us"), "21:6: measure.0.of",
                          '"flow 0", "host2" or "switch0 port 2"'),
        "queue of a flow": (measure("a", "queue", "flow 1", "0us", "1us"), "21:6: measure.0.of",
                            '"switch0 port 2"'),
        "unknown kind": (measure("a", "speed", "flow 1", "0us", "1us"), "20:8: measure.0.kind",
                         "rate, queue"),
        "backwards": (measure("a", "rate", "flow 1", "1us", "1us"), "23:6: measure.0.to", "later"),
        "after the end": (measure("a", "rate", "flow 1", "1us", "2s"), "23:6: measure.0.to",
                          "too large"),
        "class of a rate": (measure("a", "rate", "flow 1", "0us", "1us", "class = 3"),
                            "24:9: measure.0.class", "leave it out"),
        "dotted name": (measure("a.b", "rate", "flow 1", "0us", "1us"), "19:8: measure.0.name",
                        "letters"),
        "name twice": (measure("a", "rate", "flow 1", "0us", "1us") * 2, "26:8: measure.1.name",
                       "taken"),
        "no name": ('[[measure]]\nkind = "rate"\n', "18:1: measure.0.name", "missing"),
        "unknown key": (measure("a", "rate", "flow 1", "0us", "1us", "clas = 3"),
                        "24:1: measure.0.clas", '"class"'),
        "expect of nothing": ('[[expect]]\nwhat = "measures.x"\nmin = 1\n', "19:8: expect.0.what",
                              "write one with that name"),
        "expect misspelt": (measure("sum", "rate", "flow 1", "0us", "1us")
                            + '[[expect]]\nwhat = "measures.som"\nmin = 1\n',
                            "26:8: expect.0.what", '"measures.sum"'),
        "wrong unit of a bound": (measure("sum", "rate", "flow 1", "0us", "1us")
                                  + '[[expect]]\nwhat = "measures.sum"\nmin = "1KB"\n',
                                  "27:7: expect.0.min", "KB"),
        "duration and stop": ('[run]\nstop = "1s"\nduration = "1s"\n', "20:12: run.duration",
                              "exclude"),
        "no such series": ('[run]\nseries = ["speed"]\n', "19:11: run.series.0", "rates, queues"),
    }

    def test_each(self):
        for name, (text, place, hint) in self.CASES.items():
            with self.subTest(name):
                run = self.run_text(TWO + text)
                self.assertEqual(run.status, 2, run.out + run.err)
                self.assertIn(f"s.toml:{place}: ", run.err)
                self.assertIn(hint, run.err)
                self.assertEqual(run.err.count("\n"), 1)

    def test_two_hosts_have_no_switch(self):
        text = TWO.replace('"star"\nhosts = 3', '"two-hosts"').replace("src = 1\ndst = 2",
                                                                      "src = 1\ndst = 0")
        text = text.replace("dst = 2", "dst = 1")
        run = self.run_text(text + measure("a", "queue", "switch0 port 0", "0us", "1us"))
        self.assertEqual(run.status, 2)
        self.assertIn("have no switch", run.err)


class Seeds(RunnerCase):
    TEXT = (LONG + measure("sum", "rate", "switch0 port 2", "1ms", "3ms")
            + measure("queue", "queue", "switch0 port 2", "1ms", "3ms"))

    def run_seeds(self, text, seeds, out="seeds"):
        run = self.run_file(self.write(text), "--seeds", seeds, out=out)
        if run.status == 2:
            return run, None
        return run, json.loads(run.read("seeds.json"))

    def test_mean_and_interval(self):
        run, result = self.run_seeds(self.TEXT, "3,5..7")
        self.good(run)
        self.assertEqual(result["seeds"], [3, 5, 6, 7])
        for name in ("sum", "queue"):
            values = result["measures"][name]["values"]
            self.assertEqual(len(set(values)), 4)  # seeds matter
            self.assertAlmostEqual(result["measures"][name]["mean"] / statistics.mean(values), 1)
            half = 3.182 * statistics.stdev(values) / 2  # Student's t with 3 degrees of freedom
            self.assertAlmostEqual(result["measures"][name]["ci95"] / half, 1, delta=1e-9)

    def test_each_folder_is_the_run_alone(self):
        run, _ = self.run_seeds(self.TEXT.replace("memory", "qps = 2\nmemory"), "1..3")
        self.good(run)
        alone = self.good(self.run_text(self.TEXT.replace("memory", "qps = 2\nmemory"),
                                        "run.seed=3"))
        for name in ("flows.csv", "rates.csv", "queues.csv", "pauses.csv"):
            self.assertEqual(run.read("seed-3/" + name), alone.read(name), name)
        one, other = json.loads(run.read("seed-3/summary.json")), alone.summary
        for summary in (one, other):
            del summary["speed"]
        self.assertEqual(one, other)

    def test_expects_are_judged_on_the_mean(self):
        _, result = self.run_seeds(self.TEXT, "1..4")
        values = result["measures"]["queue"]["values"]
        between = (statistics.mean(values) + min(values)) / 2  # seed by seed it would not hold
        text = self.TEXT + '[[expect]]\nwhat = "measures.queue"\nmin = '
        run, result = self.run_seeds(text + f"{between}\n", "1..4")
        self.good(run)
        self.assertTrue(result["expect"][0]["pass"])
        self.assertEqual(result["expect"][0]["values"], values)
        self.assertIsNone(json.loads(run.read("seed-1/summary.json"))["expect"][0]["pass"])
        run, result = self.run_seeds(text + f"{max(values)}\n", "1..4")
        self.assertEqual(run.status, 1)
        self.assertFalse(result["expect"][0]["pass"])
        self.assertIn("expect measures.queue does not hold over the seeds", run.err)

    def test_truths_and_texts_hold_in_every_run(self):
        text = self.TEXT + '[[expect]]\nwhat = "status"\nequals = "stopped"\n' \
            '[[expect]]\nwhat = "measures.sum"\nmin = "measures.queue"\n' \
            '[[expect]]\nwhat = "flows.verified"\nequals = true\n'
        run, result = self.run_seeds(text, "1,2")
        self.assertEqual([e["pass"] for e in result["expect"]], [True, True, False])
        self.assertEqual(run.status, 1)

    def test_one_seed_has_no_interval(self):
        run, result = self.run_seeds(self.TEXT, "9")
        self.good(run)
        self.assertIsNone(result["measures"]["sum"]["ci95"])

    def test_again_replaces_what_was_there(self):
        self.run_seeds(self.TEXT, "1..2")
        run, result = self.run_seeds(self.TEXT, "2..3")
        self.good(run)
        self.assertEqual(result["seeds"], [2, 3])
        with self.assertRaises(FileNotFoundError):
            run.read("seed-1/summary.json")

    def test_refused(self):
        for seeds, hint in (("", "no seed"), ("1..", "no seed"), ("3..1", "before it begins"),
                            ("1,1", "twice"), ("0", "from 1"), ("-1", "no seed"), ("a", "no seed"),
                            ("1..9999999", "more than"), ("99999999999999999999", "from 1")):
            with self.subTest(seeds):
                run = self.run_file(self.write(self.TEXT), f"--seeds={seeds}")
                self.assertEqual(run.status, 2, run.out)
                self.assertIn("--seeds: ", run.err)
                self.assertIn(hint, run.err)


if __name__ == "__main__":
    unittest.main()
