# SPDX-License-Identifier: GPL-2.0-only
"""Every way to spoil a scenario: one line with its place, exit 2, nothing written; full disks."""

import json
import os
import resource
import signal
import subprocess
import unittest

from runner import RUNNER, STAR, Run, RunnerCase

FLOWS = """[topology]
hosts = 3
[workload]
kind = "flows"
"""

# name: (text, place and key, what the line must also say)
SPOILT = {
    "syntax": ("[run\nseed = 1\n", "1:5: syntax", "expected ']'"),
    "no value": ("[run]\nseed =\n", "2:7: run.seed", "key = value"),
    "quotes missing": (STAR + "[run]\nstop = 1us\n", "10:9: run.stop", "in quotes"),
    "duplicate key": ("[run]\nseed = 1\nseed = 2\n", "3:1: run.seed", "twice"),
    "duplicate section": (STAR + "[nic]\nmtu = 256\n", "9:1: nic", "twice"),
    "unknown section": (STAR + "[swich]\n", "9:2: swich", 'did you mean "switch"'),
    "unknown key": (STAR + "[switch]\nbufer = 1\n", "10:1: switch.bufer", '"buffer"'),
    "unknown key two deep": (FLOWS + "[[workload.flow]]\nsrc=0\ndst=1\nbites=1\n",
                             "8:1: workload.flow.0.bites", '"bytes"'),
    "missing unit": (STAR + "[switch]\nlatency = 5\n", "10:11: switch.latency", "no unit"),
    "missing unit in text": (STAR + "[run]\nstop = \"5\"\n", "10:8: run.stop", "no unit"),
    "wrong unit": (STAR + "[run]\nstop = \"5KB\"\n", "10:8: run.stop", '"KB"'),
    "bits for bytes": (STAR + "[switch]\nbuffer = \"5Mb\"\n", "10:10: switch.buffer", '"Mb"'),
    "fraction of a base unit": (STAR + "[run]\nstop = \"0.5ps\"\n", "10:8: run.stop", "whole"),
    "negative": (STAR + "[run]\nseed = -1\n", "10:8: run.seed", "negative"),
    "negative time": (STAR + "[run]\nstop = \"-1us\"\n", "10:8: run.stop", "negative"),
    "negative ratio": (STAR + "[switch]\nalpha = -0.5\n", "10:9: switch.alpha", "negative"),
    "too large": (STAR + "[switch]\necn_pmax = 1.5\n", "10:12: switch.ecn_pmax", "from 0 to 1"),
    "too large for 64 bits": (STAR + "[run]\nseed = 99999999999999999999\n", "10:28: run.seed",
                              "64 bits"),
    "too small": (STAR + "[switch]\nbuffer = \"1B\"\n", "10:10: switch.buffer", "too small"),
    "wrong type": (STAR + "[run]\npcap = 1\n", "10:8: run.pcap", "true or false"),
    "fraction for a whole number": (STAR + "[run]\nseed = 1.5\n", "10:8: run.seed", "whole"),
    "table for a value": (STAR + "[run]\nseed = {}\n", "10:8: run.seed", "a table"),
    "value for a section": ("run = 1\n", "1:7: run", "[run]"),
    "unknown kind": (FLOWS.replace("flows", "flaws"), "4:8: workload.kind", "flows"),
    "unknown algorithm": (STAR + "algorithm = \"tree\"\n", "9:13: workload.algorithm", "ring"),
    "unknown control": (STAR + "[cc]\nkind = \"hpcc\"\n", "10:8: cc.kind", "none, dcqcn"),
    "unknown preset": (STAR + "[cc]\npreset = \"x\"\n", "10:10: cc.preset", "paper-2015"),
    "key of another kind": (STAR + "senders = 2\n", "9:1: workload.senders", '"incast"'),
    "no page": (STAR.replace("[nic]", "[nic]\npage = 5000"), "5:8: nic.page", "power of two"),
    "more digits than 64 bits": (STAR + "[switch]\nbuffer = \"9999999999999999999B\"\n",
                                 "10:10: switch.buffer", "more than 18 digits"),
    "a value that breaks the line": (STAR + "[cc]\nkind = \"a\\nb\\u001b[2J\\u0000c\"\n",
                                     "10:8: cc.kind", '"a\\x0ab\\x1b[2J\\x00c" is unknown'),
    "a key that breaks the line": (STAR + "[cc]\n\"a\\nb\" = 1\n", "10:1: cc.a\\x0ab", "unknown"),
    "more than the card has": (STAR.replace("[nic]", "[nic]\nmax_qp = 1"), "4:1: nic", "max_qp"),
    "no path MTU": (STAR.replace("[nic]", "[nic]\nmtu = 1500"), "5:7: nic.mtu", "4096"),
    "no workload": ("[topology]\nhosts = 4\n", "1:1: workload.kind", "missing"),
    "no hosts": ("[workload]\nkind = \"allreduce\"\n", "1:1: topology.hosts", "missing"),
    "no bytes": (STAR.replace("bytes", "#"), "6:1: workload.bytes", "missing"),
    "half a float": (STAR.replace("64KiB", "63B"), "8:9: workload.bytes", "multiple of 4"),
    "delays of too few hosts": (STAR + "host_delay = [\"1us\"]\n", "9:14: workload.host_delay",
                                "4 hosts"),
    "a flow to itself": (FLOWS + "[[workload.flow]]\nsrc=0\ndst=0\nbytes=1\n",
                         "7:5: workload.flow.0.dst", "same host"),
    "a host that is not": (FLOWS + "[[workload.flow]]\nsrc=0\ndst=3\nbytes=1\n",
                           "7:5: workload.flow.0.dst", "too large"),
    "flows in a circle": (FLOWS + "[[workload.flow]]\nsrc=0\ndst=1\nbytes=1\nafter=[0]\n",
                          "3:1: workload", "circle"),
    "nobody knows": (FLOWS + "[[workload.flow]]\nsrc=0\ndst=1\nbytes=1\n"
                     "[[workload.flow]]\nsrc=1\ndst=2\nbytes=1\nafter=[0]\n",
                     "3:1: workload", "only host 0 learns"),
    "impossible buffer": (STAR + "[switch]\nbuffer = \"20KB\"\n", "10:10: switch.buffer",
                          "headroom"),
    "marking upside down": (STAR + "[switch]\necn_kmin = \"2MB\"\n", "10:12: switch.ecn_kmin",
                            "ecn_kmax"),
    "expect of nothing": (STAR + "[[expect]]\nwhat = \"pcf.pauses\"\nmin = 1\n",
                          "10:8: expect.0.what", '"pfc"'),
    "expect without bound": (STAR + "[[expect]]\nwhat = \"seed\"\n", "9:1: expect.0", "bound"),
    "any tolerance": (STAR + "[[expect]]\nwhat = \"seed\"\nnear = 1\ntolerance = \"inf%\"\n",
                      "12:13: expect.0.tolerance", "no share"),
    "near no path": (STAR + "[[expect]]\nwhat = \"seed\"\nnear = \"no.such.path\"\n"
                     "tolerance = \"5%\"\n", "11:8: expect.0.near",
                     '"no" is not in summary.json'),
    "near without tolerance": (STAR + "[[expect]]\nwhat = \"seed\"\nnear = 1\n", "9:1: expect.0",
                               "tolerance"),
    "no ns-3 attribute": (STAR + "[ns3]\n\"ns3::RnicLink::Nix\" = 1\n",
                          "10:24: ns3.ns3::RnicLink::Nix", "no attribute"),
    "ns-3 value": (STAR + "[ns3]\n\"ns3::RnicNetDevice::LinkMtu\" = \"x\"\n",
                   "10:33: ns3.ns3::RnicNetDevice::LinkMtu", '"x"'),
    "ns-3 name of a key": (STAR + "[ns3]\n\"ns3::RnicNetDevice::AckEvery\" = 1\n",
                           "10:34: ns3.ns3::RnicNetDevice::AckEvery", "nic.ack_every"),
    "suppressed transfer": (STAR + "[run]\nsuppress_placement = 24\n",
                            "10:22: run.suppress_placement", "24 transfers"),
}

SETS = {
    "no value": ("nic.mtu", "--set nic.mtu: ", "section.key=value"),
    "unknown key": ("nic.mtuu=1", "--set nic.mtuu: ", '"mtu"'),
    "unknown section": ("foo.bar=1", "--set foo.bar: foo: ", "known here"),
    "wrong unit": ("run.stop=5KB", "--set run.stop: ", '"KB"'),
    "negative": ("run.seed=-1", "--set run.seed: ", "negative"),
    "no section": ("nic=3", "--set nic: ", "[nic]"),
    "no key ends so": ("mtuu=1", "--set mtuu: ", '"mtu"'),
    "several keys end so": ("kind=star", "--set kind: ", "topology.kind, cc.kind, workload.kind"),
    "short key, wrong value": ("hosts=many", "--set topology.hosts: ", "whole number"),
    "list for a value": ("nic.mtu=[256,512]", "--set nic.mtu: ", "whole number"),
    "wrong type": ("run.pcap=1", "--set run.pcap: ", "true or false"),
    "too large": ("switch.ecn_pmax=2", "--set switch.ecn_pmax: ", "from 0 to 1"),
    "unknown algorithm": ("algorithm=tree", "--set workload.algorithm: ", "ring"),
    "no element": ("expect.0.min=3", "--set expect.0.min: ", ""),
}


class BadInput(RunnerCase):
    def check(self, run, begin, also):
        self.assertEqual(run.status, 2, run.out + run.err)
        self.assertEqual(run.err.count("\n"), 1, run.err)
        self.assertTrue(run.err.startswith(begin), f"{run.err!r} does not begin with {begin!r}")
        self.assertIn(also, run.err)
        self.assertIn("; ", run.err)
        left = [name for name in os.listdir(self.tmp) if name != "s.toml"]
        self.assertEqual(left, [])

    def test_the_text_they_spoil_is_good(self):
        self.good(self.run_text(STAR))

    def test_each_spoilt_text(self):
        for name, (text, place, also) in SPOILT.items():
            with self.subTest(name):
                run = self.run_text(text)
                begin = f"{os.path.join(self.tmp, 's.toml')}:{place}: "
                self.check(run, begin, also)
                # What only a network finds wrong, --check does not find.
                if name not in ("no ns-3 attribute", "ns-3 value", "ns-3 name of a key",
                                "more than the card has"):
                    self.check(self.run_file(self.write(text), "--check"), begin, also)

    def test_check_runs_nothing_and_tells_whole_keys(self):
        run = self.good(self.run_file(self.write(STAR), "--check", "--set", "hosts=8",
                                      "--set", "nic.mtu=1024", "--set", "bytes=1MiB"))
        self.assertEqual(run.out, "topology.hosts=8\nnic.mtu=1024\nworkload.bytes=1MiB\n")
        self.assertEqual(os.listdir(self.tmp), ["s.toml"])
        self.check(self.run_file(self.write(STAR), "--check", "--seeds", "3..1"), "--seeds: ", "")

    def test_a_short_key_is_the_whole_one(self):
        run = self.good(self.run_text(STAR, "hosts=3"))
        self.assertEqual(run.summary["collectives"][0]["ranks"], 3)

    def test_set(self):
        for name, (pair, begin, also) in SETS.items():
            with self.subTest(name):
                self.check(self.run_text(STAR, pair), begin, also)

    def test_empty_and_binary(self):
        for data in (b"", b"\n\n", b"\x7fELF\x00\x01", b"\xff\xfe"):
            with self.subTest(data):
                self.check(self.run_text(data), os.path.join(self.tmp, "s.toml") + ":1:1: ", "")

    def test_unreadable(self):
        for path, also in (("nix.toml", "No such file"), (".", "directory")):
            with self.subTest(path):
                run = self.run_file(path)
                self.check(run, path + ": ", also)

    def test_unwritable(self):
        taken = self.write("x", "taken")
        os.mkdir(os.path.join(self.tmp, "full"))
        self.write("x", "full/file")
        for out, begin, also in (("/proc/x", "/proc/x: ", "cannot be written"),
                                 ("/proc/x/y", "/proc/x: ", "cannot be written"),
                                 (taken, taken + ": ", "it is a file"),
                                 (os.path.join(self.tmp, "full"), self.tmp, "something else")):
            with self.subTest(out):
                run = self.run_file(self.write(STAR), out=out)
                self.assertEqual(run.status, 2, run.err)
                self.assertTrue(run.err.startswith(begin), run.err)
                self.assertIn(also, run.err)
        self.assertEqual(sorted(os.listdir(self.tmp)), ["full", "s.toml", "taken"])
        self.assertEqual(os.listdir(os.path.join(self.tmp, "full")), ["file"])

    def test_no_permission(self):
        path = self.write(STAR)
        os.chmod(path, 0)
        os.chmod(self.tmp, 0o711)
        user = [] if os.geteuid() else ["setpriv", "--reuid=65534", "--clear-groups"]
        process = subprocess.run([*user, RUNNER, path], cwd="/", capture_output=True, text=True,
                                 timeout=60, check=False)
        if "setpriv" in process.stderr or process.returncode == 126:
            self.skipTest("cannot become another user")
        self.assertEqual(process.returncode, 2, process.stderr)
        self.assertEqual(process.stderr, f"{path}: cannot be read: Permission denied; give the "
                                         "path of a scenario file\n")


class FullDisk(RunnerCase):
    """A limit on file sizes stands for the end of the disk: the write fails in the same way."""

    def run_limited(self, limit, *arguments, text=STAR):
        def child():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        folder = os.path.join(self.tmp, "out")
        process = subprocess.run([RUNNER, self.write(text), "--out", folder, *arguments],
                                 cwd=self.tmp, capture_output=True, text=True, timeout=300,
                                 check=False, preexec_fn=child)
        return Run(folder, process)

    def kept(self, run, name):
        """The run says which file was hit, and the folder has everything else."""
        self.assertEqual(run.status, 2, run.out + run.err)
        self.assertEqual(run.err, f"{run.path(name)}: cannot be written: File too large; make "
                                  "room, or give another place with --out\n")
        self.assertEqual(sorted(os.listdir(self.tmp)), ["out", "s.toml"])
        self.assertIn(f"{name} could not be written and is not complete", run.summary["errors"])
        for table in ("flows", "steps"):
            self.assertGreater(len(run.table(table)), 0)
        self.assertNotIn(".reserved", os.listdir(run.folder))

    def test_a_trace_that_does_not_fit_ends_the_run(self):
        run = self.run_limited(600000, "--set", "run.trace=true", "--set", "bytes=64MiB")
        self.kept(run, "blocks.csv")
        self.assertEqual(run.summary["status"], "partial")
        self.assertEqual(os.path.getsize(run.path("blocks.csv")), 600000)

    def test_a_capture_that_does_not_fit_ends_the_run(self):
        run = self.run_limited(600000, "--set", "run.pcap=true", "--set", "bytes=64MiB")
        self.kept(run, "s-0-0.pcap")
        self.assertEqual(run.summary["status"], "partial")

    def test_a_disk_that_is_full_before_the_run_is_told_before_it(self):
        run = self.run_limited(100000)
        self.assertEqual(run.status, 2)
        self.assertEqual(run.err, f"{run.folder}: cannot be written: File too large; give another "
                                  "place with --out\n")
        self.assertEqual(os.listdir(self.tmp), ["s.toml"])

    def test_seeds_before_the_one_that_does_not_fit_are_kept(self):
        # Losses depend on the seed, so the traces differ in size.
        sets = ("--set", "run.trace=true", "--set", "topology.loss=0.02", "--set", "bytes=1MiB",
                "--set", "nic.timeout=8", "--seeds")
        run = self.good(self.run_limited(1 << 40, *sets, "1..2"))
        sizes = sorted((os.path.getsize(run.path(f"seed-{seed}/blocks.csv")), seed)
                       for seed in (1, 2))
        (small, first), (large, second) = sizes
        self.assertLess(small + 10, large)
        self.assertGreater(small, 300000)
        run = self.run_limited(small + 1, *sets, f"{first},{second}")
        self.assertEqual(run.status, 2, run.err)
        self.assertIn(run.path(f"seed-{second}/blocks.csv") + ": cannot be written", run.err)
        with open(run.path("seeds.json"), encoding="ascii") as file:
            self.assertIn(f"the run with seed {second} could not be written",
                          json.load(file)["errors"])
        with open(run.path(f"seed-{first}/summary.json"), encoding="ascii") as file:
            self.assertEqual(json.load(file)["status"], "complete")


class CommandLine(RunnerCase):
    def test_command_line(self):
        for words in ([], ["--nix"], ["a.toml", "b.toml"], ["a.toml", "--out"]):
            with self.subTest(words):
                process = subprocess.run([RUNNER, *words], capture_output=True, text=True,
                                         cwd=self.tmp, timeout=60, check=False)
                self.assertEqual(process.returncode, 2)
                self.assertIn("usage:", process.stderr)


if __name__ == "__main__":
    unittest.main()
