#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""RoCEv1: frames made here byte by byte are the same to rnic-decode and to tshark."""

import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RNIC_BUILD", os.path.join(ROOT, "build"))
DECODE = os.path.join(BUILD, "rnic-decode")

# Opcode, name, bytes of extended headers, whether a payload may follow.
OPCODES = [(0x04, "RC_SEND_ONLY", 0, True), (0x0A, "RC_RDMA_WRITE_ONLY", 16, True),
           (0x0C, "RC_RDMA_READ_REQUEST", 16, False), (0x11, "RC_ACKNOWLEDGE", 4, False),
           (0x13, "RC_COMPARE_SWAP", 28, False), (0x24, "UC_SEND_ONLY", 0, True),
           (0x64, "UD_SEND_ONLY", 8, True), (0x81, "CNP", 16, False)]
FIELDS = ["frame.protocols", "infiniband.grh.ipver", "infiniband.grh.tclass",
          "infiniband.grh.flowlabel", "infiniband.grh.paylen", "infiniband.grh.nxthdr",
          "infiniband.grh.hoplmt", "infiniband.grh.sgid", "infiniband.grh.dgid",
          "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn",
          "infiniband.invariant.crc", "vlan.priority"]


def frame(dice, opcode, header_bytes, has_payload, tagged):
    """@return the bytes, and what stands in them."""
    payload = dice.randbytes(dice.randrange(64)) if has_payload else b""
    pad = -len(payload) % 4
    what = {"tclass": dice.randrange(256), "flow": dice.randrange(1 << 20),
            "hop": dice.randrange(256), "qpn": dice.randrange(1 << 24),
            "psn": dice.randrange(1 << 24), "pcp": dice.randrange(8) if tagged else None,
            "payload": len(payload), "pad": pad}
    headers = bytes(header_bytes) if opcode == 0x81 else dice.randbytes(header_bytes)
    if opcode == 0x11:
        headers = b"\x1f" + headers[1:]
    rest = headers + payload + bytes(pad)
    what["paylen"] = 12 + len(rest) + 4
    grh = struct.pack(">IHBB", 6 << 28 | what["tclass"] << 20 | what["flow"], what["paylen"], 0x1B,
                      what["hop"])
    grh += bytes.fromhex("fe80000000000000") + dice.randbytes(8)
    grh += bytes.fromhex("fe80000000000000") + dice.randbytes(8)
    bth = struct.pack(">BBHII", opcode, pad << 4, 0xFFFF, what["qpn"], what["psn"])
    masked = bytes([grh[0] | 15, 255, 255, 255]) + grh[4:7] + b"\xff" + grh[8:]
    masked += bth[:4] + b"\xff" + bth[5:] + rest
    what["icrc"] = struct.pack("<I", zlib.crc32(b"\xff" * 8 + masked))
    ethernet = bytes.fromhex("020000000002020000000001")
    if tagged:
        ethernet += struct.pack(">HH", 0x8100, what["pcp"] << 13 | 7)
    return ethernet + b"\x89\x15" + grh + bth + rest + what["icrc"], what


def capture(frames):
    data = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for one in frames:
        data += struct.pack("<IIII", 1, 0, len(one), len(one)) + one
    return data


class RoceV1Test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.seed = int(os.environ.get("RNIC_SEED", "1"))
        dice = random.Random(cls.seed)
        cls.made = []
        for number in range(400):
            opcode, name, headers, payload = OPCODES[number % len(OPCODES)]
            cls.made.append((name, opcode) + frame(dice, opcode, headers, payload,
                                                   number // len(OPCODES) % 2))
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.folder.name, "v1.pcap")
        with open(cls.path, "wb") as file:
            file.write(capture([one[2] for one in cls.made]))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_rnic_decode_reads_what_was_made(self):
        result = subprocess.run([DECODE, self.path], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), len(self.made) + 1)
        for line, (name, _, _, what) in zip(lines, self.made):
            with self.subTest(seed=self.seed, line=line):
                words = line.split(" ")
                self.assertEqual(words[4], name)
                fields = dict(word.split("=", 1) for word in words[5:] if "=" in word)
                self.assertIn("rocev1", words)
                self.assertNotIn("sport", fields)
                self.assertEqual(fields["icrc"], "ok")
                self.assertEqual([int(fields[key], 0) for key in ("qpn", "psn", "payload", "pad",
                                                                  "ttl", "flow_label")],
                                 [what[key] for key in ("qpn", "psn", "payload", "pad", "hop",
                                                        "flow")])
                self.assertEqual(int(fields["dscp"]), what["tclass"] >> 2)
                self.assertEqual(fields.get("pcp"),
                                 None if what["pcp"] is None else str(what["pcp"]))

    def test_a_wrong_bit_is_found(self):
        dice = random.Random(self.seed)
        for name, _, data, _ in self.made[:16]:
            grh = data.index(b"\x89\x15") + 2
            for masked, at in ((True, grh + 7), (True, grh + 3), (True, grh + 44),
                               (False, grh + 8 + dice.randrange(32)), (False, len(data) - 1)):
                broken = data[:at] + bytes([data[at] ^ 4]) + data[at + 1:]
                result = subprocess.run([DECODE, "-"], input=capture([broken]),
                                        capture_output=True, check=False)
                with self.subTest(seed=self.seed, name=name, at=at - grh):
                    self.assertEqual(result.returncode, 0 if masked else 1, result.stdout)

    def test_tshark_reads_the_same(self):
        if shutil.which("tshark") is None:
            self.skipTest("tshark is not installed")
        call = ["tshark", "-n", "-r", self.path, "-T", "fields"]
        for name in FIELDS:
            call += ["-e", name]
        result = subprocess.run(call, capture_output=True, text=True, check=True)
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), len(self.made))
        crcs = 0
        for line, (name, opcode, _, what) in zip(lines, self.made):
            peer = dict(zip(FIELDS, line.split("\t")))
            with self.subTest(seed=self.seed, name=name):
                stack = "eth:ethertype:" + ("vlan:ethertype:" if what["pcp"] is not None else "")
                self.assertTrue(peer["frame.protocols"].startswith(stack + "infiniband"),
                                peer["frame.protocols"])
                self.assertEqual([int(peer[key], 0) for key in FIELDS[1:7]],
                                 [6, what["tclass"], what["flow"], what["paylen"], 0x1B,
                                  what["hop"]])
                self.assertEqual([int(peer[key], 0) for key in FIELDS[9:12]],
                                 [opcode, what["qpn"], what["psn"]])
                if peer["infiniband.invariant.crc"]:  # some payloads it takes for other protocols
                    self.assertEqual(int(peer["infiniband.invariant.crc"], 0),
                                     int.from_bytes(what["icrc"], "big"))
                    crcs += 1
        self.assertGreater(crcs, 300)


if __name__ == "__main__":
    if not os.path.exists(DECODE):
        print("skipped: rnic-decode is not built")
        sys.exit(77)
    unittest.main()
