#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""rnic-decode: its lines, its counts, its exit status, and what it says about a damaged file."""

import os
import resource
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DECODE = os.path.join(os.environ.get("RNIC_BUILD", os.path.join(ROOT, "build")), "rnic-decode")
VECTORS = os.path.join(ROOT, "test", "vectors")

# A WRITE of 64 bytes with immediate, and its acknowledge, from the captures.
with open(os.path.join(VECTORS, "rc_write_imm_vpeer.pcap"), "rb") as capture:
    DATA = capture.read()
WRITE = DATA[40:40 + struct.unpack_from("<I", DATA, 32)[0]]
IP, UDP, BTH = 14, 34, 42
MAC_CONTROL = bytes.fromhex("0180c2000001 020000000001 8808")
PFC = MAC_CONTROL + bytes.fromhex("0101 0088 0000 0000 0000 ffff 0000 0000 0000 0000") + bytes(26)
PAUSE = MAC_CONTROL + bytes.fromhex("0001 0010") + bytes(42)
ARP = bytes.fromhex("ffffffffffff 020000000001 0806") + bytes(28)


def pcap(*frames, cut=None):
    """A capture; a frame is bytes, or (bytes, length on the line)."""
    text = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for number, frame in enumerate(frames):
        data, length = frame if isinstance(frame, tuple) else (frame, len(frame))
        text += struct.pack("<IIII", 7, number, len(data), length) + data
    return text[:cut]


def spoiled(at, value, frame=WRITE):
    """A frame with one byte overwritten; its IPv4 checksum is made right again."""
    data = bytearray(frame)
    data[at] = value
    if at != IP + 10:
        data[IP + 10:IP + 12] = b"\0\0"
        total = sum(struct.unpack("!10H", bytes(data[IP:IP + 20])))
        total = (total & 0xFFFF) + (total >> 16)
        struct.pack_into("!H", data, IP + 10, ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF)
    return bytes(data)


class DecodeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "x.pcap")

    def decode(self, data):
        """@return (exit status, lines without their time, standard error)."""
        with open(self.path, "wb") as file:
            file.write(data)
        result = subprocess.run([DECODE, self.path], capture_output=True, text=True, check=False)
        lines = result.stdout.splitlines()
        return result.returncode, [line.partition(" ")[2] for line in lines[:-1]] + lines[-1:], \
            result.stderr

    def one(self, frame):
        """@return (exit status, the frame's line, the counts)."""
        status, lines, wrong = self.decode(pcap(frame))
        self.assertEqual(len(lines), 2, lines)
        self.assertEqual(wrong, "")
        return status, lines[0], lines[1]

    def test_a_sound_frame(self):
        status, line, counts = self.one(WRITE)
        self.assertEqual(status, 0)
        for words in ("10.0.0.1 > 10.0.0.2 RC_RDMA_WRITE_ONLY_IMM qpn=0x", " psn=0x", " va=0x",
                      " rkey=0x", " dma_len=64 imm=0x", " payload=64 pad=0 ", " icrc=ok"):
            self.assertIn(words, line)
        self.assertEqual(counts, "frames=1 roce=1 icrc_ok=1 icrc_bad=0 malformed=0")

    def test_time_has_the_digits_of_the_clock(self):
        for magic, text in ((0xA1B2C3D4, "7.000000 "), (0xA1B23C4D, "7.000000000 ")):
            with open(self.path, "wb") as file:
                file.write(struct.pack("<I", magic) + pcap(WRITE)[4:])
            result = subprocess.run([DECODE, self.path], capture_output=True, text=True,
                                    check=True)
            self.assertTrue(result.stdout.startswith(text), result.stdout)

    def test_a_wrong_icrc_is_told_and_fails(self):
        status, line, counts = self.one(spoiled(len(WRITE) - 10, WRITE[-10] ^ 1))
        self.assertEqual(status, 1)
        self.assertTrue(line.endswith(" icrc=bad"), line)
        self.assertEqual(counts, "frames=1 roce=1 icrc_ok=0 icrc_bad=1 malformed=0")

    def test_what_a_router_may_change_is_no_error(self):
        for at, value in ((IP + 1, 0x6B), (IP + 8, 3), (BTH + 4, 0x40)):
            self.assertEqual(self.one(spoiled(at, value))[0], 0)

    def test_every_rule_has_its_name(self):
        options = bytearray(WRITE)
        options[IP] = 0x46                         # the UDP header begins 4 bytes later
        options[IP + 20:IP + 20] = b"\1\1\1\1"
        cases = {
            "ip_version": bytes(options),
            "ip_checksum": spoiled(IP + 10, WRITE[IP + 10] ^ 1),
            "ip_fragment": spoiled(IP + 6, 0x20),
            "udp_length": spoiled(UDP + 5, WRITE[UDP + 5] + 8),
            "runt": spoiled(UDP + 5, 20),
            "tver": spoiled(BTH + 1, 1),
            "opcode": spoiled(BTH, 0x15),
            "pad": spoiled(UDP + 5, WRITE[UDP + 5] - 1),
            "truncated": spoiled(IP + 3, WRITE[IP + 3] + 1),
            "ip_protocol": WRITE[:12] + b"\x89\x15\x60\0\0\0\0\x04\x11\x40" + bytes(36),
        }
        for name, frame in cases.items():
            with self.subTest(name=name):
                status, line, counts = self.one(frame)
                self.assertEqual(status, 1, line)
                self.assertIn(f"malformed({name}): ", line)
                self.assertEqual(counts, "frames=1 roce=1 icrc_ok=0 icrc_bad=0 malformed=1")
        self.assertIn(" OPCODE_0x15 qpn=0x", self.one(cases["opcode"])[1])
        self.assertIn(" tver=1 ", self.one(cases["tver"])[1])

    def test_pause_frames(self):
        status, lines, _ = self.decode(pcap(PFC, PAUSE))
        addresses = "02:00:00:00:00:01 > 01:80:c2:00:00:01 "
        self.assertEqual(lines, [addresses + "PFC classes=0x88 quanta=3:65535,7:0",
                                 addresses + "PAUSE quanta=16",
                                 "frames=2 roce=0 icrc_ok=0 icrc_bad=0 malformed=0"])
        self.assertEqual(status, 0)
        status, line, counts = self.one(PFC[:30])
        self.assertEqual(status, 1)
        self.assertIn(" PFC malformed(truncated): ", line)
        self.assertEqual(counts, "frames=1 roce=0 icrc_ok=0 icrc_bad=0 malformed=1")

    def test_frames_of_others_are_short_lines(self):
        tcp = spoiled(IP + 9, 6)
        port = spoiled(UDP + 3, WRITE[UDP + 3] + 1)
        later_fragment = spoiled(IP + 7, 1)
        cases = ((ARP, "02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff other ethertype=0x0806 bytes=42"),
                 (tcp, f"10.0.0.1 > 10.0.0.2 other ethertype=0x0800 protocol=6 bytes={len(tcp)}"),
                 (port, "other ethertype=0x0800 protocol=17"),
                 (later_fragment, "other ethertype=0x0800 protocol=17"),
                 (spoiled(IP + 10, tcp[IP + 10] ^ 1, tcp), "protocol=6"),
                 (MAC_CONTROL + b"\0\2" + bytes(44), "other ethertype=0x8808 bytes=60"),
                 (b"\1\2\3", "other bytes=3"))
        for frame, words in cases:
            status, line, counts = self.one(frame)
            self.assertIn(words, line)
            self.assertEqual(counts, "frames=1 roce=0 icrc_ok=0 icrc_bad=0 malformed=0")
            self.assertEqual(status, 0)

    def test_a_frame_cut_by_the_capture_is_malformed_at_every_length(self):
        full = len(WRITE)
        for n in range(full):
            status, line, counts = self.one((WRITE[:n], full))
            self.assertEqual(status, 1)
            self.assertTrue(line.endswith(f"malformed(truncated): {n} of {full} bytes captured"),
                            line)
            roce = int(n >= UDP + 4)  # before its port nobody can tell
            self.assertEqual(counts, f"frames=1 roce={roce} icrc_ok=0 icrc_bad=0 malformed=1")
            headers = n >= BTH + 12 + 16 + 4
            self.assertEqual(" RC_RDMA_WRITE_ONLY_IMM qpn=" in line, headers, (n, line))
            self.assertEqual(" imm=0x" in line and " payload=64 " in line, headers)
        self.assertEqual(self.one((ARP[:20], 42))[0], 0)
        self.assertEqual(self.one((WRITE, full + 4))[0], 0)  # cut behind the ICRC: all is there

    def test_roce_v1_and_a_tag(self):
        with open(os.path.join(ROOT, "test/fuzz/corpus/wire_decode/roce_v1"), "rb") as file:
            status, line, _ = self.one(file.read())
        self.assertEqual(status, 0)
        self.assertIn(" rocev1 icrc=ok", line)
        with_tag = WRITE[:12] + b"\x81\0\x60\x64" + WRITE[12:]
        status, line, _ = self.one(with_tag)
        self.assertEqual(status, 0)
        self.assertIn(" vlan=100 pcp=3 ", line)

    def test_a_cut_file_says_where_and_keeps_what_was_read(self):
        whole = pcap(WRITE, WRITE)
        second = 24 + 16 + len(WRITE)
        status, lines, wrong = self.decode(whole[:-5])
        self.assertEqual(status, 2)
        self.assertEqual(len(lines), 2)
        self.assertIn(" icrc=ok", lines[0])
        self.assertEqual(lines[1], "frames=1 roce=1 icrc_ok=1 icrc_bad=0 malformed=0")
        self.assertEqual(wrong, f"{self.path}: byte {len(whole) - 5}: the file ends here, inside "
                                f"the record that begins at byte {second}, after 1 whole frames\n")

    def test_files_that_are_no_captures(self):
        cases = ((b"", "byte 0: the file ends here"),
                 (b"hello, world", "byte 0: not a pcap or pcapng file: it begins with 68 65"),
                 (pcap(WRITE)[:20] + b"\x71\0\0\0", "byte 20: link type 113 (Linux cooked v1); "
                                                    "only Ethernet (1)"))
        for data, words in cases:
            with open(self.path, "wb") as file:
                file.write(data)
            result = subprocess.run([DECODE, self.path], capture_output=True, text=True,
                                    check=False)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertTrue(result.stderr.startswith(f"{self.path}: {words}"), result.stderr)

    def test_paths_that_cannot_be_read_or_written(self):
        for path, words in (("/nowhere/x", "/nowhere/x: No such file"),
                            (ROOT, f"{ROOT}: byte 0: Is a directory")):
            result = subprocess.run([DECODE, path], capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 2)
            self.assertTrue(result.stderr.startswith(words), result.stderr)
        with open("/dev/full", "wb") as full:
            result = subprocess.run([DECODE, os.path.join(VECTORS, "rc_write_imm_vpeer.pcap")],
                                    stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr, "standard output: No space left on device\n")

    def test_usage(self):
        for call in ([], ["a", "b"], ["-x"]):
            result = subprocess.run([DECODE, *call], capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 2)
            self.assertIn("usage: rnic-decode FILE", result.stderr)

    def test_a_long_file_is_streamed(self):
        frame = bytes(12) + b"\x08\x06" + bytes(9000)
        record = struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame
        frames = (64 << 20) // len(record)
        memory = 32 << 20
        with tempfile.TemporaryFile() as out:
            with subprocess.Popen([DECODE, "-"], stdin=subprocess.PIPE, stdout=out,
                                  preexec_fn=lambda: resource.setrlimit(
                                      resource.RLIMIT_AS, (memory, memory))) as process:
                process.stdin.write(pcap())
                for _ in range(frames):
                    process.stdin.write(record)
            out.seek(0)
            last = out.read().splitlines()[-1].decode()
        self.assertEqual(process.returncode, 0)
        self.assertEqual(last, f"frames={frames} roce=0 icrc_ok=0 icrc_bad=0 malformed=0")

    def test_front_door(self):
        rnic = os.path.join(ROOT, "rnic")
        result = subprocess.run([rnic, "decode", "rc_write_imm_vpeer.pcap"], cwd=VECTORS,
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 12)
        self.assertEqual(result.stdout.splitlines()[-1],
                         "frames=11 roce=11 icrc_ok=11 icrc_bad=0 malformed=0")
        result = subprocess.run([rnic, "decode", "-"], input=pcap(WRITE, cut=-1),
                                capture_output=True, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"standard input: byte ", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
