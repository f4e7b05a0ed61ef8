#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps of ./rnic run: which runs, what is skipped, what a failure or an interrupt leaves."""

import contextlib
import csv
import io
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, ROOT)

from analysis.cli import build, common, plot, run, setup, sweep  # noqa: E402

# Stands for rnic-run: knows two keys, writes a summary, and can be told to fail.
RUNNER = """
import json, os, signal, sys, time
words = sys.argv[1:]
sets = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
whole = {"hosts": "topology.hosts", "bytes": "workload.bytes"}
pairs = [(whole.get(key, key), value) for key, _, value in (pair.partition("=") for pair in sets)]
values = dict(pairs)
if "bad" in values.values():
    key = next(key for key, value in pairs if value == "bad")
    sys.stderr.write(f"--set {key}: bad is no number; write one\\n")
    sys.exit(2)
if "--check" in words:
    print("\\n".join(f"{key}={value}" for key, value in pairs))
    sys.exit(0)
with open(os.path.join(HOME, "calls"), "a") as file:
    file.write(" ".join(sets) + "\\n")
out = words[words.index("--out") + 1]
status = 0
if values.get("topology.hosts") == os.environ.get("CRASH_AT"):
    os.kill(os.getpid(), signal.SIGSEGV)
if values.get("topology.hosts") == os.environ.get("FULL_AT"):
    sys.stderr.write("out/flows.csv: cannot be written: No space left on device; make room\\n")
    sys.exit(2)
if values.get("topology.hosts") == os.environ.get("SLOW_AT"):
    open(os.path.join(HOME, "slow"), "w").close()
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        status = 130
errors = []
if values.get("topology.hosts") == os.environ.get("UNMET_AT"):
    errors, status = ["expect collectives.0.steps does not hold"], 1
os.makedirs(out)
with open(os.path.join(out, "summary.json"), "w") as file:
    json.dump({"seed": 1, "status": "partial" if status == 130 else "complete", "errors": errors,
               "collectives": [{"ranks": int(values.get("topology.hosts", 2)), "time_ps": 5}]},
              file)
sys.exit(status)
"""


class ValuesTest(unittest.TestCase):
    def test_commas_split_outside_of_brackets_and_quotes(self):
        for text, values in (("1", ["1"]), ("1MiB,4MiB", ["1MiB", "4MiB"]), ("a, b", ["a", "b"]),
                             ("[1,2]", ["[1,2]"]), ("[1,2],[3,4]", ["[1,2]", "[3,4]"]),
                             ('"a,b"', ['"a,b"']),
                             ('["a,]", "b"],["c"]', ['["a,]", "b"]', '["c"]']),
                             ("{a=1,b=2},3", ["{a=1,b=2}", "3"]), ("[1,2", ["[1,2"])):
            self.assertEqual(sweep.split_values(text), values)

    def test_what_is_refused(self):
        for pair, why in (("hosts=4,,8", "a value between commas is empty"),
                          ("hosts=4,", "a value between commas is empty"),
                          ("hosts=4,8,4", "a value is there twice")):
            with self.assertRaisesRegex(common.Failure, f"--set hosts: {why}; write "):
                sweep.parse([pair])

    def test_every_combination_has_a_name(self):
        plan = sweep.Plan(sweep.parse(["workload.bytes=1MiB,4MiB", "nic.mtu=1024",
                                       "topology.hosts=4,8"]))
        self.assertEqual([name for name, _ in plan.runs],
                         ["bytes=1MiB_hosts=4", "bytes=1MiB_hosts=8", "bytes=4MiB_hosts=4",
                          "bytes=4MiB_hosts=8"])
        self.assertEqual(plan.runs[1][1], {"workload.bytes": "1MiB", "nic.mtu": "1024",
                                           "topology.hosts": "8"})

    def test_names_stay_apart_and_plain(self):
        plan = sweep.Plan(sweep.parse(['a.x=["0us","1us"],["0us" "1us"]', "b.x=1,2",
                                       "cc.kind=none,dcqcn"]))
        names = [name for name, _ in plan.runs]
        self.assertEqual(len(set(names)), 8)
        self.assertEqual(names[0], "a.x=0us-1us_b.x=1_cc=none")
        for name in names:
            self.assertRegex(name, r"^[A-Za-z0-9.+=_-]+$")


class SweepTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.runner = os.path.join(self.folder, "runner")
        with open(self.runner, "w", encoding="ascii") as file:
            file.write(f"#!{sys.executable}\nHOME = {self.folder!r}\n" + RUNNER)
        os.chmod(self.runner, os.stat(self.runner).st_mode | stat.S_IXUSR)
        self.scenario = os.path.join(self.folder, "ring.toml")
        with open(self.scenario, "w", encoding="ascii") as file:
            file.write("[topology]\n")
        self.out = os.path.join(self.folder, "out")
        self.drawn = []

    def main(self, *arguments, **environment):
        """@return (exit status, what was said)"""
        said = io.StringIO()
        with mock.patch.object(setup, "install"), mock.patch.object(build, "release"), \
                mock.patch.object(run, "RUNNER", self.runner), \
                mock.patch.object(plot, "draw_together", side_effect=self.draw), \
                mock.patch.dict(os.environ, environment), contextlib.redirect_stdout(said):
            status = run.main([self.scenario, "--out", self.out, *arguments])
        return status, said.getvalue()

    def draw(self, out, folders):
        self.drawn.append((out, folders))

    def calls(self):
        try:
            with open(os.path.join(self.folder, "calls"), encoding="ascii") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def table(self):
        with open(os.path.join(self.out, "sweep.csv"), encoding="ascii", newline="") as file:
            return list(csv.DictReader(file))

    def test_one_folder_a_run_and_one_table(self):
        status, said = self.main("--set", "hosts=4,8", "--set", "bytes=1MiB,4MiB", "-j2")
        self.assertEqual(status, 0, said)
        self.assertEqual(sorted(os.listdir(self.out)),
                         ["hosts=4_bytes=1MiB", "hosts=4_bytes=4MiB", "hosts=8_bytes=1MiB",
                          "hosts=8_bytes=4MiB", "sweep.csv"])
        rows = self.table()
        self.assertEqual([(row["run"], row["topology.hosts"], row["workload.bytes"], row["ranks"],
                           row["time_ps"], row["exit_status"]) for row in rows][:2],
                         [("hosts=4_bytes=1MiB", "4", "1MiB", "4", "5", "0"),
                          ("hosts=4_bytes=4MiB", "4", "4MiB", "4", "5", "0")])
        self.assertIn("4 of 4: ", said)
        self.assertEqual(self.drawn, [(self.out, [self.out])])

    def test_again_runs_only_what_is_new(self):
        self.main("--set", "hosts=4,8")
        before = self.table()
        status, said = self.main("--set", "hosts=4,8")
        self.assertEqual((status, len(self.calls())), (0, 2))
        self.assertIn("2 of 2 runs are there from before", said)
        self.assertEqual(self.table(), before)
        self.main("--set", "hosts=4,8,16")
        self.assertEqual(self.calls()[2:], ["topology.hosts=16"])
        # Another scenario, another value, another program: other runs.
        with open(self.scenario, "a", encoding="ascii") as file:
            file.write("# changed\n")
        self.main("--set", "hosts=4,8")
        self.assertEqual(len(self.calls()), 5)
        self.main("--set", "hosts=4,8", "--set", "bytes=3")
        self.assertEqual(len(self.calls()), 7)
        with open(self.runner, "a", encoding="ascii") as file:
            file.write("# changed\n")
        self.main("--set", "hosts=4,8", "--set", "bytes=3")
        self.assertEqual(len(self.calls()), 9)

    def test_a_run_that_fails_is_told_and_the_others_go_on(self):
        status, said = self.main("--set", "hosts=4,8,16", CRASH_AT="8")
        self.assertEqual(status, 1)
        self.assertIn("2 of 3: hosts=8 failed (died of SIGSEGV", said)
        self.assertIn("1 of 3 runs failed: hosts=8", said)
        self.assertEqual([row["run"] for row in self.table()], ["hosts=4", "hosts=16"])
        status, said = self.main("--set", "hosts=4,8,16")  # and is tried again
        self.assertEqual((status, self.calls()[3:]), (0, ["topology.hosts=8"]))

    def test_a_full_disk_is_2(self):
        status, said = self.main("--set", "hosts=4,8", FULL_AT="4")
        self.assertEqual(status, 2)
        self.assertIn("No space left on device", said)
        self.assertEqual([row["run"] for row in self.table()], ["hosts=8"])

    def test_an_expect_that_does_not_hold_is_1_and_no_reason_to_run_again(self):
        for _ in range(2):
            status, said = self.main("--set", "hosts=4,8", UNMET_AT="8")
            self.assertEqual(status, 1)
            self.assertIn("1 of 2 runs do not meet an expect: hosts=8", said)
            self.assertNotIn("failed", said)
        self.assertEqual(len(self.calls()), 2)

    def test_bad_input_leaves_nothing_behind(self):
        for arguments in (("--set", "hosts=4,8,bad"), ("--set", "hosts=4,8", "--set", "hosts=2"),
                          ("--set", "hosts=4,8", "--set", "topology.hosts=2"),
                          ("--set", "hosts=4,,8")):
            with self.subTest(arguments), self.assertRaises(common.Failure) as caught:
                self.main(*arguments)
            self.assertEqual(caught.exception.status, 2)
            self.assertTrue(str(caught.exception).startswith("--set "), caught.exception)
            self.assertNotIn("\n", str(caught.exception))
            self.assertIn("; ", str(caught.exception))
            self.assertFalse(os.path.exists(self.out))
        self.assertEqual(self.calls(), [])

    def test_places_that_cannot_be_taken(self):
        os.mkdir(self.out)
        with open(os.path.join(self.out, "summary.json"), "w", encoding="ascii"):
            pass
        for out, why in ((self.out, "something else than a sweep"), (self.scenario, "it is a file"),
                         ("/proc/nowhere", "No such file")):
            self.out = out
            with self.subTest(out), self.assertRaises(common.Failure) as caught:
                self.main("--set", "hosts=4,8")
            self.assertEqual(caught.exception.status, 2)
            self.assertTrue(str(caught.exception).startswith(f"{out}: cannot be written: "))
            self.assertIn(why, str(caught.exception))
        self.assertEqual(self.calls(), [])

    def test_an_interrupt_keeps_what_is_done(self):
        code = textwrap.dedent(f"""
            import sys
            sys.path.insert(0, {ROOT!r})
            from analysis.cli import build, run, setup
            setup.install = build.release = lambda *_: None
            run.RUNNER = {self.runner!r}
            sys.exit(run.main(sys.argv[1:]))
            """)
        process = subprocess.Popen(
            [sys.executable, "-c", code, self.scenario, "--out", self.out, "--no-plot",
             "--set", "hosts=4,8,16"], env={**os.environ, "SLOW_AT": "8"}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            # a shell's background job has it ignored, and a child inherits that
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        deadline = time.monotonic() + 60
        while not os.path.exists(os.path.join(self.folder, "slow")):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, said)
        self.assertIn("interrupted: 1 of 3 runs are done", said)
        self.assertEqual([row["run"] for row in self.table()], ["hosts=4"])
        status, _ = self.main("--set", "hosts=4,8,16")
        self.assertEqual(status, 0)
        self.assertEqual(self.calls(), ["topology.hosts=4", "topology.hosts=8",
                                        "topology.hosts=8", "topology.hosts=16"])
        with open(os.path.join(self.out, "hosts=8", "summary.json"), encoding="ascii") as file:
            self.assertEqual(json.load(file)["status"], "complete")


@unittest.skipUnless(os.environ.get("RNIC_RUN"), "RNIC_RUN names no runner")
class RealRunnerTest(unittest.TestCase):
    """The same through ./rnic's own code and the real program, with bad values of each kind."""

    def test_a_sweep_with_seeds(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(setup, "install"), \
                mock.patch.object(build, "release"), \
                mock.patch.object(run, "RUNNER", os.environ["RNIC_RUN"]), \
                contextlib.redirect_stdout(io.StringIO()):
            out = os.path.join(folder, "out")
            scenario = os.path.join(ROOT, "scenarios", "incast-16.toml")
            arguments = [scenario, "--out", out, "--no-plot", "--seeds", "1..2"]
            for bad in ("hosts=17,1", "hosts=17,many", "kind=none,dcqcn", "bytes=1MB,1Mb",
                        "cc.kind=none,hpcc"):
                with self.subTest(bad), self.assertRaises(common.Failure) as caught:
                    run.main([*arguments, "--set", bad])
                self.assertEqual(caught.exception.status, 2)
                self.assertRegex(str(caught.exception), r"^--set [a-z.]+: [^\n]+; [^\n]+$")
                self.assertEqual(os.listdir(folder), [])
            status = run.main([*arguments, "--set", "bytes=20KB,40KB", "--set", "hosts=17,20",
                               "--set", "expect.3.min=0", "--set", "expect.4.min=0"])
            self.assertEqual(status, 0)
            with open(os.path.join(out, "sweep.csv"), encoding="ascii", newline="") as file:
                rows = list(csv.DictReader(file))
        self.assertEqual([(row["run"], row["seed"]) for row in rows],
                         [(f"bytes={size}_hosts={hosts}", seed) for size in ("20KB", "40KB")
                          for hosts in (17, 20) for seed in ("1", "2")])
        for row in rows:
            self.assertGreaterEqual(float(row["slowdown_p95"]), float(row["slowdown_median"]))
            self.assertEqual(row["flows_completed"], "16")


if __name__ == "__main__":
    unittest.main()
