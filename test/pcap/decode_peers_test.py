#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""rnic-decode against tshark and scapy, frame by frame and field by field.

Over traffic that others made (test/vectors) and over what our own runs write. A peer that is not
installed skips its tests.
"""

import collections
import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import warnings

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scapy's own deprecations
        from scapy.contrib.roce import AETH, BTH
        from scapy.layers.inet import IP
        from scapy.layers.l2 import Ether
        from scapy.utils import PcapReader
    SCAPY = True
except ImportError:
    SCAPY = False
TSHARK = shutil.which("tshark") is not None

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RNIC_BUILD", os.path.join(ROOT, "build"))
RUNNER, DECODE = os.path.join(BUILD, "rnic-run"), os.path.join(BUILD, "rnic-decode")
VECTORS = sorted(glob.glob(os.path.join(ROOT, "test", "vectors", "*.pcap")))

# Few bytes, every kind of frame: data, acknowledges, CNPs, pause frames.
with open(os.path.join(ROOT, "test", "pcap", "incast.toml"), encoding="ascii") as file:
    INCAST = file.read()

# Field of tshark -> (key of our line, base in which ours is written).
FIELDS = {
    "infiniband.bth.p_key": ("pkey", 16), "infiniband.bth.destqp": ("qpn", 16),
    "infiniband.bth.psn": ("psn", 16), "infiniband.bth.padcnt": ("pad", 10),
    "infiniband.deth.q_key": ("qkey", 16), "infiniband.deth.srcqp": ("src_qpn", 16),
    "infiniband.reth.va": ("va", 16), "infiniband.reth.r_key": ("rkey", 16),
    "infiniband.reth.dmalen": ("dma_len", 10), "infiniband.aeth.syndrome": ("syndrome", 16),
    "infiniband.aeth.msn": ("msn", 10), "infiniband.atomiceth.cmpdt": ("compare", 16),
    "infiniband.atomicacketh.origremdt": ("original", 16), "udp.srcport": ("sport", 10),
    "ip.ttl": ("ttl", 10), "ip.dsfield.dscp": ("dscp", 10), "ip.id": ("ip_id", 10),
}
FLAGS = {"infiniband.bth.se": "se", "infiniband.bth.m": "migreq", "infiniband.bth.a": "ackreq"}
BYTES = {"infiniband.immdt": "imm", "infiniband.ieth": "invalidate"}
OTHERS = ["frame.time_epoch", "ip.src", "ip.dst", "infiniband.bth.opcode",
          "infiniband.atomiceth.swapdt", "infiniband.aeth.syndrome.opcode",
          "infiniband.aeth.syndrome.error_code", "infiniband.aeth.syndrome.timer",
          "infiniband.aeth.syndrome.credit_count", "macc.opcode", "macc.cbfc.enbv"]
OTHERS += [f"macc.cbfc.pause_time.c{priority}" for priority in range(8)]
ALL = list(FIELDS) + list(FLAGS) + list(BYTES) + OTHERS

# Name in our lines -> opcode; written down here, not read from the code under test.
PARTS = ["SEND_FIRST", "SEND_MIDDLE", "SEND_LAST", "SEND_LAST_IMM", "SEND_ONLY", "SEND_ONLY_IMM",
         "RDMA_WRITE_FIRST", "RDMA_WRITE_MIDDLE", "RDMA_WRITE_LAST", "RDMA_WRITE_LAST_IMM",
         "RDMA_WRITE_ONLY", "RDMA_WRITE_ONLY_IMM"]
OPCODES = {f"{transport}_{part}": base + number for transport, base in (("RC", 0), ("UC", 0x20))
           for number, part in enumerate(PARTS)}
OPCODES.update({
    "RC_RDMA_READ_REQUEST": 0x0C, "RC_RDMA_READ_RESP_FIRST": 0x0D,
    "RC_RDMA_READ_RESP_MIDDLE": 0x0E, "RC_RDMA_READ_RESP_LAST": 0x0F,
    "RC_RDMA_READ_RESP_ONLY": 0x10, "RC_ACKNOWLEDGE": 0x11, "RC_ATOMIC_ACKNOWLEDGE": 0x12,
    "RC_COMPARE_SWAP": 0x13, "RC_FETCH_ADD": 0x14, "RC_SEND_LAST_INV": 0x16,
    "RC_SEND_ONLY_INV": 0x17, "UD_SEND_ONLY": 0x64, "UD_SEND_ONLY_IMM": 0x65, "CNP": 0x81})


class Line:
    """One line of rnic-decode."""

    def __init__(self, text):
        self.text = text
        words = text.split(" ")
        self.time, self.source, _, self.destination, self.name = words[:5]
        self.flags = {word for word in words[5:] if "=" not in word}
        self.fields = dict(word.split("=", 1) for word in words[5:] if "=" in word)

    @property
    def roce(self):
        return "icrc" in self.fields


def decode(path):
    result = subprocess.run([DECODE, path], capture_output=True, text=True, check=True)
    return [Line(text) for text in result.stdout.splitlines()[:-1]]


def tshark(path):
    """A dict for each frame, of those fields that are there."""
    call = ["tshark", "-n", "-r", path, "--disable-protocol", "rpcordma", "-T", "fields"]
    for name in ALL:
        call += ["-e", name]
    result = subprocess.run(call, capture_output=True, text=True, check=True)
    return [{name: value for name, value in zip(ALL, line.split("\t")) if value}
            for line in result.stdout.splitlines()]


def joined(paths, path, magic):
    """All the captures in one file; they have one byte order and, by the magic, one clock."""
    with open(path, "wb") as out:
        for number, name in enumerate(paths):
            with open(name, "rb") as file:
                data = file.read()
            assert data[:4] == struct.pack("<I", magic), name
            out.write(data if number == 0 else data[24:])
    return path


def own_captures(folder):
    """Runs two scenarios; @return what they captured."""
    incast = os.path.join(folder, "incast-4.toml")
    with open(incast, "w", encoding="ascii") as file:
        file.write(INCAST)
    for scenario in (os.path.join(ROOT, "scenarios", "two-hosts-write.toml"), incast):
        out = os.path.join(folder, "out-" + os.path.basename(scenario))
        run = subprocess.run([RUNNER, scenario, "--out", out, "--set", "run.pcap=true"],
                             capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise AssertionError(f"rnic-run failed: {run.stdout}{run.stderr}")
    found = sorted(glob.glob(os.path.join(folder, "out-*", "**", "*.pcap"), recursive=True))
    assert found
    return found


class PeersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.own = joined(own_captures(cls.folder.name),
                         os.path.join(cls.folder.name, "own.pcap"), 0xA1B23C4D)
        cls.others = joined(VECTORS, os.path.join(cls.folder.name, "vectors.pcap"), 0xA1B2C3D4)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check_aeth(self, line, peer):
        kind = int(peer["infiniband.aeth.syndrome.opcode"], 0)
        name, key, field = {0: ("ACK", "credits", "credit_count"), 1: ("RNR_NAK", "timer", "timer"),
                            3: ("NAK", "code", "error_code")}[kind]
        self.assertIn(name, line.flags)
        ours = re.match(r"\d+", line.fields[key]).group()
        self.assertEqual(int(ours), int(peer["infiniband.aeth.syndrome." + field], 0))

    def check_pause(self, line, peer):
        self.assertEqual(line.name, "PFC")
        classes = int(line.fields["classes"], 16)
        self.assertEqual(classes, int(peer["macc.cbfc.enbv"], 0))
        quanta = dict(item.split(":") for item in line.fields["quanta"].split(","))
        for priority in range(8):
            self.assertEqual(str(priority) in quanta, bool(classes >> priority & 1))
            if str(priority) in quanta:
                self.assertEqual(int(quanta[str(priority)]),
                                 int(peer[f"macc.cbfc.pause_time.c{priority}"], 0))

    def check_with_tshark(self, path):
        """@return how often each opcode, pause frame or other frame was compared."""
        seen = collections.Counter()
        lines, peers = decode(path), tshark(path)
        self.assertEqual(len(lines), len(peers))
        for line, peer in zip(lines, peers):
            with self.subTest(line=line.text):
                self.assertEqual(float(line.time), float(peer["frame.time_epoch"]))
                self.assertEqual(line.roce, "infiniband.bth.opcode" in peer)
                if "macc.opcode" in peer:
                    self.check_pause(line, peer)
                if not line.roce:
                    seen[line.name] += 1
                    continue
                self.assertEqual(line.fields["icrc"], "ok")
                self.assertEqual((line.source, line.destination),
                                 (peer["ip.src"], peer["ip.dst"]))
                self.assertEqual(OPCODES[line.name], int(peer["infiniband.bth.opcode"], 0))
                for field, (key, base) in FIELDS.items():
                    self.assertEqual(key in line.fields, field in peer, field)
                    if field in peer:
                        self.assertEqual(int(line.fields[key], base), int(peer[field], 0), field)
                for field, flag in FLAGS.items():
                    self.assertEqual(flag in line.flags, peer[field] in ("1", "True"), field)
                for field, key in BYTES.items():
                    self.assertEqual(key in line.fields, field in peer, field)
                    if field in peer:  # tshark prints an immediate twice
                        self.assertEqual({int(line.fields[key], 16)},
                                         {int(value, 16) for value in peer[field].split(",")})
                swap = line.fields.get("swap", line.fields.get("add"))
                self.assertEqual(swap is None, "infiniband.atomiceth.swapdt" not in peer)
                if swap is not None:
                    self.assertEqual(int(swap, 16), int(peer["infiniband.atomiceth.swapdt"], 0))
                if "infiniband.aeth.syndrome" in peer:
                    self.check_aeth(line, peer)
                seen[line.name] += 1
        return seen

    @unittest.skipUnless(TSHARK, "tshark is not installed")
    def test_tshark_agrees_about_the_traffic_of_others(self):
        seen = self.check_with_tshark(self.others)
        unseen = {"RC_SEND_ONLY_INV", "UC_RDMA_WRITE_ONLY", "UC_SEND_ONLY_IMM", "CNP"}
        self.assertEqual(set(seen), set(OPCODES) - unseen | {"other"})

    @unittest.skipUnless(TSHARK, "tshark is not installed")
    def test_tshark_agrees_about_our_own_traffic(self):
        seen = self.check_with_tshark(self.own)
        for name in ("RC_RDMA_WRITE_FIRST", "RC_RDMA_WRITE_MIDDLE", "RC_RDMA_WRITE_LAST",
                     "RC_RDMA_WRITE_LAST_IMM", "RC_RDMA_WRITE_ONLY", "RC_SEND_ONLY",
                     "RC_ACKNOWLEDGE", "CNP", "PFC"):
            self.assertGreater(seen[name], 0, name)

    def check_with_scapy(self, path):
        """@return how many RoCE frames were compared."""
        compared = 0
        lines = decode(path)
        with PcapReader(path) as reader:
            for line, record in zip(lines, reader):
                frame = Ether(bytes(record))
                if BTH not in frame or IP not in frame:  # its ICRC knows no IPv6
                    continue
                with self.subTest(line=line.text):
                    self.compare_with_scapy(line, frame)
                compared += 1
        self.assertEqual(compared, sum(line.roce for line in lines))
        return compared

    def compare_with_scapy(self, line, frame):
        bth = frame[BTH]
        self.assertEqual((OPCODES[line.name], int(line.fields["qpn"], 16),
                          int(line.fields["psn"], 16), int(line.fields["pkey"], 16),
                          int(line.fields["pad"])),
                         (bth.opcode, bth.dqpn, bth.psn, bth.pkey, bth.padcount))
        for flag, value in (("se", bth.solicited), ("migreq", bth.migreq), ("fecn", bth.fecn),
                            ("becn", bth.becn), ("ackreq", bth.ackreq)):
            self.assertEqual(flag in line.flags, bool(value), flag)
        if AETH in frame:
            self.assertEqual((int(line.fields["syndrome"], 16), int(line.fields["msn"])),
                             (frame[AETH].syndrome, frame[AETH].msn))
        self.assertEqual(line.fields["icrc"], "ok")
        there = bth.icrc
        frame[BTH].icrc = None
        self.assertEqual(Ether(bytes(frame))[BTH].icrc, there)

    @unittest.skipUnless(SCAPY, "scapy is not installed")
    def test_scapy_agrees_about_the_traffic_of_others(self):
        self.assertGreater(self.check_with_scapy(self.others), 1500)

    @unittest.skipUnless(SCAPY, "scapy is not installed")
    def test_scapy_agrees_about_our_own_traffic(self):
        self.assertGreater(self.check_with_scapy(self.own), 5000)


if __name__ == "__main__":
    if not TSHARK and not SCAPY:
        print("skipped: neither tshark nor scapy is installed")
        sys.exit(77)
    unittest.main()
