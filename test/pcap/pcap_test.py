#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Our pcaps are RoCEv2 to others: tshark dissects them, scapy computes the same ICRC."""

import collections
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scapy's own deprecations
        from scapy.contrib.roce import BTH
        from scapy.layers.l2 import Ether
        from scapy.utils import PcapReader
    MISSING = None if shutil.which("tshark") else "tshark"
except ImportError:
    MISSING = "scapy"

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUNNER = os.environ.get("RNIC_RUN") or os.path.join(ROOT, "build", "rnic-run")

# Four writers with one reader behind one slow buffer: data, ACKs, CNPs and pause frames.
with open(os.path.join(ROOT, "test", "pcap", "incast.toml"), encoding="ascii") as file:
    SCENARIO = file.read()
PACKETS = 293         # of one message: ceil(300001 / 1024)
FIRST, MIDDLE, LAST, ACKNOWLEDGE, CNP = 0x06, 0x07, 0x08, 0x11, 0x81


def tshark(path, *arguments):
    """Lines that tshark prints about a capture."""
    result = subprocess.run(["tshark", "-n", "-r", path, *arguments], capture_output=True,
                            text=True, check=True)
    return result.stdout.splitlines()


class PcapTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        scenario = os.path.join(cls.folder.name, "incast-4.toml")
        with open(scenario, "w", encoding="ascii") as file:
            file.write(SCENARIO)
        out = os.path.join(cls.folder.name, "out")
        run = subprocess.run([RUNNER, scenario, "--out", out], capture_output=True, text=True,
                             check=False)
        if run.returncode != 0:
            raise AssertionError(f"rnic-run failed: {run.stdout}{run.stderr}")
        cls.captures = sorted(glob.glob(os.path.join(out, "**", "*.pcap"), recursive=True))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_one_capture_a_port(self):
        self.assertEqual(len(self.captures), 10, self.captures)  # five cards, five switch ports

    def test_tshark_finds_nothing_wrong(self):
        for path in self.captures:
            with self.subTest(path=os.path.basename(path)):
                wrong = tshark(path, "-Y", "_ws.malformed || _ws.expert.severity >= 8388608")
                self.assertEqual(wrong, [])

    def test_tshark_sees_roce_and_counts_the_packets(self):
        opcodes, protocols = collections.Counter(), collections.Counter()
        for path in self.captures:
            for line in tshark(path, "-T", "fields", "-e", "frame.protocols",
                               "-e", "infiniband.bth.opcode"):
                protocol, _, opcode = line.partition("\t")
                protocols[protocol] += 1
                if opcode:
                    opcodes[int(opcode, 0)] += 1
        # Each frame is seen by four ports: two ends of two links.
        self.assertEqual(opcodes[FIRST] + opcodes[LAST], 2 * 4 * 4)
        self.assertEqual(opcodes[MIDDLE], (PACKETS - 2) * 4 * 4)
        self.assertGreater(opcodes[ACKNOWLEDGE], 0)
        self.assertGreater(opcodes[CNP], 0)
        roce = [name for name in protocols if name.startswith("eth:ethertype:ip:udp:infiniband")]
        pause = [name for name in protocols if name.startswith("eth:ethertype:macc")]
        self.assertTrue(roce)
        self.assertTrue(pause)
        self.assertEqual(sorted(protocols), sorted(roce + pause))

    def test_scapy_computes_our_icrc(self):
        checked = collections.Counter()
        for path in self.captures:
            with PcapReader(path) as reader:
                for record in reader:
                    frame = Ether(bytes(record))
                    if BTH not in frame:
                        continue
                    there = frame[BTH].icrc
                    frame[BTH].icrc = None
                    again = Ether(bytes(frame))
                    self.assertEqual(again[BTH].icrc, there, frame.summary())
                    checked[frame[BTH].opcode] += 1
        self.assertTrue({FIRST, MIDDLE, LAST, ACKNOWLEDGE, CNP} <= set(checked), checked)


if __name__ == "__main__":
    if MISSING:
        print(f"skipped: {MISSING} is not installed")
        sys.exit(77)
    unittest.main()
