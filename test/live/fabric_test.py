#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Lines to the outside of a simulated fabric (examples/rnic-live-fabric.cc), without guests.

Lines 1 and 3 are at switch 0, line 2 at switch 1 behind the trunk, and there the simulated host
too. That nothing comes is known by what was sent after it: frames do not overtake. No time is
judged.
"""

import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bridge  # noqa: E402
import peer  # noqa: E402
from bridge import SEND_ONLY, WRITE_ONLY, Fabric, Host, Wire, checksum, ether, icrc_of  # noqa: E402
from peer import Live  # noqa: E402

SIMULATED = "10.0.0.100"
ALL = b"\xff" * 6
GROUPS = ("01005e0000fb", "3333ff000001", "0180c2000010", "010203040506")
CAPTURES = os.path.join(peer.ROOT, "test", "vectors")
WAIT_MS = 60000
LEFT_OUT = ("refused", "addresses", "overrun", "to nobody", "lost")


def capture(name):
    """The frames of a capture of rdma_rxe."""
    with open(os.path.join(CAPTURES, name), "rb") as file:
        data, at = file.read(), 24
    frames = []
    while at < len(data):
        n = struct.unpack_from("<I", data, at + 8)[0]
        frames.append(data[at + 16:at + 16 + n])
        at += 16 + n
    return frames


class Bridged(unittest.TestCase):
    """LINES lines with OPTIONS; sent and got count what the program's last lines must say."""

    LINES, OPTIONS = 3, ()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.fabric = Fabric(folder.name, self.LINES, *self.OPTIONS)
        self.addCleanup(self.fabric.close)
        self.wires = []
        for ours, theirs in zip(self.fabric.ours, self.fabric.theirs):
            self.wires.append(Wire(ours, theirs))
            self.addCleanup(self.wires[-1].close)
        self.hosts = [Host(i + 1) for i in range(self.LINES)]
        self.sent = [{key: 0 for key in ("RoCE", "other", *LEFT_OUT)} for _ in self.wires]
        self.got = [0] * self.LINES
        self.marks = 0

    def receive(self, line):
        frame = self.wires[line].receive()
        self.got[line] += 1
        return frame

    def send(self, line, frame, kind="other"):
        self.sent[line][kind] += 1
        self.wires[line].send(frame)

    def mark(self, line):
        """A frame that every other line gets next: so nothing else was on its way there."""
        self.marks += 1
        frame = self.hosts[line].other(ALL, b"mark" + struct.pack("!I", self.marks))
        self.send(line, frame)
        for i in range(self.LINES):
            if i != line:
                self.assertEqual(self.receive(i).hex(), frame.hex(), f"line {i}")

    def passes(self, line, frame, to, kind="other", comes=None):
        """The frame comes out at these lines as it is (or as `comes`), and nowhere else."""
        self.send(line, frame, kind)
        for i in to:
            self.assertEqual(self.receive(i).hex(), (comes or frame).hex(), f"line {i}")
        self.mark(line)

    def refused(self, line, frame, kind="refused"):
        self.passes(line, frame, (), kind)

    def meet(self):
        """Every host sends once: the switches know where they are."""
        for line in range(self.LINES):
            self.mark(line)

    def agree(self):
        """The last lines count what was sent and came."""
        counted = self.fabric.counted()
        self.assertEqual(self.fabric.status, 0, self.fabric.said)
        for line in range(self.LINES):
            want = {**self.sent[line], "out": self.got[line]}
            self.assertEqual(counted[f"line {line + 1}"], want, f"line {line + 1}")
        return counted


class FramesTest(Bridged):
    """Frames pass byte for byte, or not at all."""

    def test_learning(self):
        a, b, c = self.hosts
        self.passes(0, a.arp(b.ip), (1, 2))
        self.passes(0, a.other(b.mac), (1, 2))      # nobody has heard of b
        self.passes(0, a.roce(b), (1, 2), "RoCE")
        self.passes(1, b.other(a.mac), (0,))
        self.passes(0, a.other(b.mac), (1,))
        self.passes(0, a.roce(b), (1,), "RoCE")
        self.passes(2, c.other(a.mac), (0,))
        self.passes(0, a.other(c.mac), (2,))
        self.passes(2, c.other(b.mac), (1,))
        self.passes(0, a.other(a.mac), ())          # where it came from
        for group in GROUPS:
            self.passes(0, a.other(bytes.fromhex(group)), (1, 2))
        self.agree()

    def test_a_host_moves(self):
        a, b, _ = self.hosts
        self.meet()
        self.passes(0, a.roce(b), (1,), "RoCE")
        self.passes(2, b.other(a.mac), (0,))        # b is at line 3 now
        self.passes(0, a.other(b.mac), (2,))
        self.passes(0, a.roce(b), (2,), "RoCE")
        self.passes(1, b.roce(a), (0,), "RoCE")     # and back
        self.passes(0, a.roce(b), (1,), "RoCE")
        self.agree()

    def test_an_address_moves(self):
        """The IP address of b is c's now: RoCE frames name c's MAC."""
        a, b, c = self.hosts
        self.meet()
        self.passes(0, a.roce(b), (1,), "RoCE")
        c.ip, c.ip6 = b.ip, b.ip6
        self.passes(2, c.roce(a), (0,), "RoCE")
        self.passes(0, a.roce(c), (2,), "RoCE")
        b.ip = "10.0.0.77"
        self.passes(1, b.roce(a), (0,), "RoCE")
        self.passes(0, a.roce(b), (1,), "RoCE")
        self.agree()

    def test_an_address_is_everywhere(self):
        """It changes its MAC more often than there is room for addresses; and it is both ends."""
        a, b, c = self.hosts
        c.ip = b.ip
        self.meet()
        for _ in range(600):
            for line, host in ((1, b), (2, c)):
                frame = host.roce(a)
                self.send(line, frame, "RoCE")
                self.assertEqual(self.receive(0), frame)
                frame = host.other(a.mac)
                self.send(line, frame)
                self.assertEqual(self.receive(0), frame)
        self.meet()
        for host in (a, b):
            host.ip = "10.0.0.66"
        for n in (0, 5000):
            frame = a.roce(b, bytes(n))
            self.passes(0, frame, (1,), "RoCE" if n == 0 else "other")
        self.agree()

    def test_lengths_and_kinds(self):
        a, b, _ = self.hosts
        self.meet()
        for n in (46, 47, 1500, 9216):
            frame = a.other(b.mac, bytes(i & 0xFF for i in range(n)))
            self.assertEqual(len(frame), 14 + n)
            self.passes(0, frame, (1,))
        for n in (14, 15, 59):
            runt = a.other(b.mac, bytes(range(1, n - 13)))[:n]
            self.passes(0, runt, (1,), comes=runt.ljust(60, b"\0"))
        for n in (0, 3, 100, 1500):
            self.passes(0, a.other(b.mac, os.urandom(n), n), (1,))  # 802.3: a length
        for kind in (0x0600, 0x05FF, 0xFFFF, 0x0800, 0x86DD, 0x8100, 0x8915, 0x88A8):
            self.passes(0, a.other(b.mac, b"what", kind), (1,))
        for tci in (0, 1, 0x6FFF, 0xFFFF):
            tag = struct.pack("!HHH", 0x8100, tci, 0x0800)
            self.passes(0, ether(b.mac, a.mac, tag, os.urandom(1500)), (1,))
        self.passes(0, ether(b.mac, a.mac, b"\x81\0\0\1\x81\0\0\2\x08\0", bytes(9212 - 4)), (1,))
        for tos in (0, 2, 1, 3, 0xB8, 0xFF):
            tcp = bridge.ipv4(a.ip, b.ip, 6, os.urandom(700), tos=tos)
            self.passes(0, ether(b.mac, a.mac, 0x0800, tcp), (1,))
            tcp = bridge.ipv6(a.ip6, b.ip6, 6, os.urandom(700), tos=tos, label=5)
            self.passes(0, ether(b.mac, a.mac, 0x86DD, tcp), (1,))
        self.agree()

    def test_refused(self):
        a, b, _ = self.hosts
        self.meet()
        for n in (1, 13):
            self.refused(0, a.other(b.mac)[:n])
        for n in (9216 + 18 + 1, 20000, 65536):
            self.refused(0, a.other(b.mac, bytes(n - 14)))
        pause = struct.pack("!HH", 1, 0xFFFF)
        pfc = struct.pack("!HH8H", 0x0101, 0xFF, *[0xFFFF] * 8)
        for body in (pause, pfc, b"", b"\0\7"):
            self.refused(0, a.other(bytes.fromhex("0180c2000001"), body, 0x8808))
            self.refused(0, a.other(b.mac, body, 0x8808))
        for last in (0, 2, 14, 15):  # spanning tree, LACP, LLDP: up to the next bridge only
            self.refused(0, a.other(bytes.fromhex("0180c20000") + bytes([last])))
        self.refused(0, ether(b.mac, b"\x03" + a.mac[1:], 0x88B5, b""))
        self.refused(0, ether(b.mac, ALL, 0x88B5, b""))
        self.agree()

    def test_roce_that_the_model_says(self):
        a, b, _ = self.hosts
        self.meet()
        for v6 in (False, True):
            for n in (0, 1, 3, 256, 1024, 4096):
                for opcode in (SEND_ONLY, WRITE_ONLY):
                    frame = a.roce(b, os.urandom(n), opcode, psn=0x80FFFFFF, v6=v6)
                    self.passes(0, frame, (1,), "RoCE")
            for tos in (0, 0x6A, 0x69, 0xFF):
                self.passes(0, a.roce(b, v6=v6, tos=tos, ttl=tos), (1,), "RoCE")
            self.passes(0, a.roce(b, v6=v6, vlan=0x7005), (1,), "RoCE")
        for v1 in (False, True):
            self.passes(0, a.roce(b, os.urandom(1024), v1=v1), (1,), "RoCE")
            self.passes(1, b.roce(a, b"", v1=v1), (0,), "RoCE")
        self.agree()

    def test_roce_that_it_cannot_say(self):
        """It passes all the same."""
        a, b, _ = self.hosts
        self.meet()
        for frame in (
                a.roce(b, v6=True, label=1), a.roce(b, v6=True, label=0xFFFFF), a.roce(b, sum_=1),
                a.roce(b, v6=True, sum_=0xFFFF), a.roce(b, resv=0x3F), a.roce(b, resv=1),
                a.roce(b, spoil=1), a.roce(b, v1=True, spoil=0x80), a.roce(b, v1=True, label=7),
                a.roce(b, psn=0x7F000000), a.roce(b, flags=0), a.roce(b, flags=0x8000),
                a.roce(b, os.urandom(4097)), a.roce(b, os.urandom(9000)),
                a.roce(b, opcode=0x1F), a.roce(b, opcode=0xFF),
                a.roce(b, os.urandom(500)) + b"more", a.roce(b, os.urandom(500))[:-1],
                a.roce(b, os.urandom(500))[:61], a.roce(b, b"")[:-1] + b"\1"):
            with self.subTest(frame[14:50].hex()):
                self.passes(0, frame, (1,))
        self.agree()

    def test_captures(self):
        """What rdma_rxe has sent, both sides of it."""
        known = set()
        n = 0
        for name in ("rc_send_imm_solicited_odd_lengths_vpeer.pcap", "rc_atomics_values_vpeer.pcap",
                     "rc_ecn_ect0_and_ce_marked_vpeer.pcap", "ud_send_and_send_imm_vpeer.pcap",
                     "rc_send_with_invalidate_vpeer.pcap", "uc_send_write_imm_vpeer.pcap"):
            for frame in capture(name)[:200]:
                to, source = frame[:6], frame[6:12]
                n += 1
                with self.subTest(name=name, n=n):
                    line = min(source[5] & 1, 1)
                    where = (1 - line,) if to in known else tuple({0, 1, 2} - {line})
                    known.add(source)
                    self.send(line, frame, "RoCE")
                    for i in where:
                        self.assertEqual(self.receive(i).hex(), frame.ljust(60, b"\0").hex())
        self.assertGreater(n, 50)
        counted = self.fabric.counted()
        both = [counted[f"line {i}"] for i in (1, 2)]
        self.assertEqual(sum(one["RoCE"] + one["other"] for one in both), n)
        self.assertGreater(sum(one["RoCE"] for one in both), n * 0.9)


class AddressesTest(Bridged):
    LINES = 2

    def card(self):
        """MAC of the simulated host, as it answers ARP."""
        a = self.hosts[0]
        self.send(0, a.arp(SIMULATED))
        self.receive(1)
        answer = self.receive(0)
        self.assertEqual((answer[:6], answer[12:14], answer[20:22], answer[28:32]),
                         (a.mac, b"\x08\x06", b"\0\2", socket.inet_aton(SIMULATED)))
        self.assertEqual(answer[6:12], answer[22:28])
        return answer[6:12]

    def test_simulated_host_answers(self):
        a, b = self.hosts
        where = self.card()
        for number, n in enumerate((0, 1, 18, 19, 56, 1400)):
            data = os.urandom(n)
            self.send(0, a.echo(where, SIMULATED, data, number))
            answer = self.receive(0)
            if answer[12:14] == b"\x08\x06":  # it asks who we are before its first answer
                self.assertEqual((answer[:6], answer[38:42]), (ALL, socket.inet_aton(a.ip)))
                self.assertEqual(self.receive(1), answer)
                self.send(0, a.arp(SIMULATED, 2, where, where))
                answer = self.receive(0)
            end = 14 + struct.unpack_from("!H", answer, 16)[0]
            self.assertEqual(answer[26:34], socket.inet_aton(SIMULATED) + socket.inet_aton(a.ip))
            self.assertEqual((checksum(answer[14:34]), checksum(answer[34:end]), answer[34]),
                             (0, 0, 0))
            self.assertEqual(answer[38:end], struct.pack("!HH", 7, number) + data)
        self.passes(0, a.other(b.mac), (1,))
        self.agree()

    def test_addresses_of_the_simulated_host(self):
        a, b = self.hosts
        self.meet()
        where = self.card()
        thief = Host(9)
        thief.mac = where
        self.refused(0, thief.other(b.mac), "addresses")
        self.refused(0, thief.roce(b), "addresses")
        self.refused(1, thief.roce(b, v6=True), "addresses")
        thief = Host(9)
        thief.ip = SIMULATED
        self.refused(0, thief.roce(b), "addresses")
        self.refused(1, thief.roce(a, vlan=5), "addresses")
        thief.mac = where
        self.refused(0, thief.roce(b), "addresses")
        self.assertEqual(self.card(), where)
        self.passes(0, a.roce(b), (1,), "RoCE")
        self.agree()

    def test_too_many(self):
        """1024 addresses outside: more are refused, those known go on."""
        a, b = self.hosts
        self.meet()
        for i in range(1022):
            source = bytes((2, 0x66, 0, 0)) + struct.pack("!H", i)
            self.send(0, ether(b.mac, source, 0x88B5, struct.pack("!H", i)))
            self.assertEqual(self.receive(1)[6:12], source)
        more = Host(200)
        self.refused(0, more.other(b.mac), "addresses")
        self.refused(1, more.other(a.mac), "addresses")
        self.refused(0, a.other(more.mac), "addresses")
        self.refused(0, more.roce(b), "addresses")
        self.passes(0, a.other(b.mac), (1,))
        self.passes(0, a.roce(b), (1,), "RoCE")     # their IP addresses find room with the MACs
        self.agree()


class MarkingTest(Bridged):
    """Two lines into a slow trunk: a queue, in which ECN marks."""

    OPTIONS = ("--rate=2Mbps", "--ns3::RnicSwitchDevice::EcnKmin=1",
               "--ns3::RnicSwitchDevice::EcnKmax=2", "--ns3::RnicSwitchDevice::EcnPmax=1")
    FRAMES = 30  # of each kind from each of both

    def test_ecn(self):
        a, b, c = self.hosts
        self.meet()
        kinds = [(v6, ecn) for v6 in (False, True) for ecn in (0, 1, 2, 3)]
        want = {}
        for i in range(self.FRAMES):
            for line, host in ((0, a), (2, c)):
                for v6, ecn in kinds:
                    psn = len(want)
                    frame = host.roce(b, os.urandom(200), psn=psn, v6=v6, tos=26 << 2 | ecn)
                    want[psn] = (v6, ecn, frame)
                    self.send(line, frame, "RoCE")
                tcp = bridge.ipv4(host.ip, b.ip, 6, struct.pack("!II", i, line), tos=2)
                self.send(line, ether(b.mac, host.mac, 0x0800, tcp))
        marked = dict.fromkeys(kinds, 0)
        others = 0
        for _ in range(len(want) + 2 * self.FRAMES):
            frame = self.receive(1)
            v6 = frame[12:14] == b"\x86\xdd"
            if not v6 and frame[23] == 6:
                others += 1
                self.assertEqual((frame[15], checksum(frame[14:34])), (2, 0))
                continue
            psn = struct.unpack_from("!I", frame, 14 + (40 if v6 else 20) + 16)[0]
            v6, ecn, sent = want.pop(psn)
            at, shift = (15, 4) if v6 else (15, 0)
            is_marked = frame != sent
            if is_marked:
                self.assertEqual(frame[at] >> shift & 3, 3)
                self.assertTrue(icrc_of(frame))
                same = bytearray(frame)
                same[at] = frame[at] & ~(3 << shift) | ecn << shift
                if not v6:
                    self.assertEqual(checksum(frame[14:34]), 0)
                    same[24:26] = sent[24:26]
                self.assertEqual(same.hex(), sent.hex())
            marked[v6, ecn] += is_marked
        self.assertEqual((want, others), ({}, 2 * self.FRAMES))
        for v6 in (False, True):
            self.assertEqual((marked[v6, 0], marked[v6, 3]), (0, 0))
            self.assertGreater(marked[v6, 1], 5)
            self.assertGreater(marked[v6, 2], 5)
        self.agree()


class ClassesTest(Bridged):
    """Two lines into a slow trunk: frames of a strict class overtake others in its queue."""

    OPTIONS = ("--rate=1Mbps",)

    def test_urgent(self):
        a, b, c = self.hosts
        self.meet()
        for i in range(20):
            self.send(2, c.other(b.mac, bytes([i]) * 3000))
        early = [a.other(b.mac, bytes([i]) * 3000) for i in range(10)]
        urgent = [ether(b.mac, a.mac, 0x8100, b"\xe0\1\x88\xb5"),
                  ether(b.mac, a.mac, 0x0800, bridge.ipv4(a.ip, b.ip, 6, b"", tos=0xE0)),
                  ether(b.mac, a.mac, 0x86DD, bridge.ipv6(a.ip6, b.ip6, 6, b"", tos=0xE0))]
        for frame in early + urgent:
            self.send(0, frame)
        came = [self.receive(1) for _ in range(20 + len(early) + len(urgent))]
        self.assertEqual([frame for frame in came if frame in early], early)
        for frame in urgent:
            self.assertLess(came.index(frame), came.index(early[-1]))
        self.agree()


class DelayTest(Bridged):
    OPTIONS = ("--delay=300ms",)

    def test_delay(self):
        """Of the trunk only. How much later it may be is not judged."""
        a, b, _ = self.hosts
        begin = time.monotonic()
        self.passes(0, a.other(b.mac), (2, 1))
        self.assertGreaterEqual(time.monotonic() - begin, 0.6)  # and a mark behind it
        self.agree()


class LossTest(Bridged):
    OPTIONS = ("--loss=1",)

    def test_all_is_lost(self):
        a, b, c = self.hosts
        for i in range(50):
            self.send(0, a.other(b.mac))
            self.send(0, a.roce(b, psn=i), "RoCE")
            self.assertEqual((self.receive(2)[12:14], self.receive(2)[12:14]),
                             (b"\x88\xb5", b"\x08\0"))
        self.send(1, b.other(a.mac))
        self.send(2, c.other(a.mac))
        self.assertEqual(self.receive(0), c.other(a.mac))
        self.assertIn("to nobody", self.fabric.close())
        self.assertGreaterEqual(self.agree()["fabric"]["lost on the trunk"], 100)


class CardsTest(unittest.TestCase):
    """Two rnic-live are the hosts; the trunk between them loses frames."""

    LOSS = "0.01"
    REGION = 1 << 21

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.fabric = Fabric(folder.name, 2, f"--loss={self.LOSS}", "--delay=20us")
        self.addCleanup(self.fabric.close)
        self.peers = []
        for n, (ours, theirs) in enumerate(zip(self.fabric.ours, self.fabric.theirs)):
            self.peers.append(Live(["--unix", ours, theirs], n + 1))
            self.addCleanup(self.peers[-1].close)
        self.regions = [host.command("mr", len=self.REGION) for host in self.peers]

    def join(self, kind, ipv6, mtu=1024):
        made = [host.command("qp", type=kind, swr=256, rwr=512) for host in self.peers]
        for i, host in enumerate(self.peers):
            other = self.peers[1 - i]
            host.command("connect", qp=made[i]["qp"], dqpn=made[1 - i]["qpn"], mtu=mtu,
                         dgid=other.ip6 if ipv6 else other.ip, dmac=other.mac, timeout=18,
                         sq_psn=0xFFFFF0 + i, rq_psn=0xFFFFF1 - i)
        return made

    def poll(self, host, n):
        found = host.command("poll", n=n, ms=WAIT_MS, limit_s=90).get("wc", [])
        self.assertEqual([one["status"] for one in found], ["SUCCESS"] * n)
        return found

    def check(self, host, **words):
        self.assertEqual(host.command("check", **words)["equal"], 1, words)

    def operations(self, ipv6, mtu, seed):
        a, b = self.peers
        made = self.join("rc", ipv6, mtu)
        far = {"raddr": self.regions[1]["addr"], "rkey": self.regions[1]["rkey"]}
        for op, length in (("write", 300001), ("send", 65537), ("send_imm", 1), ("read", 300001),
                           ("write_imm", 4097)):
            seed += 1
            source, target = (b, a) if op == "read" else (a, b)
            source.command("fill", len=length, seed=seed)
            target.command("fill", len=length + 8, byte=0xA5)
            if op in ("send", "send_imm", "write_imm"):
                b.command("recv", qp=made[1]["qp"], mr=0, len=length)
            words = {"imm": seed} if op.endswith("_imm") else {}
            a.command("send", op=op, qp=made[0]["qp"], mr=0, len=length, **words,
                      **({} if op.startswith("send") else far))
            self.poll(a, 1)
            if op in ("send", "send_imm", "write_imm"):
                self.assertEqual(self.poll(b, 1)[0]["len"], length)
            self.check(target, len=length, seed=seed)
            self.check(target, off=length, len=8, byte=0xA5)
        b.command("poke", off=0, hex=bytes(8).hex())
        a.command("send", op="fetch_add", qp=made[0]["qp"], mr=0, len=8, step=8, n=200, add=3,
                  **far)
        self.poll(a, 200)
        self.assertEqual(struct.unpack("<200Q", bytes.fromhex(
            a.command("peek", len=1600)["hex"])), tuple(range(0, 600, 3)))
        a.command("send", op="cmp_swap", qp=made[0]["qp"], mr=0, len=8, cmp=600, swap=9, **far)
        self.poll(a, 1)
        self.assertEqual(b.command("peek", len=8)["hex"], struct.pack("<Q", 9).hex())

    def test_rc(self):
        for ipv6, mtu in ((False, 1024), (True, 256), (False, 4096)):
            with self.subTest(ipv6=ipv6, mtu=mtu):
                self.operations(ipv6, mtu, 10 * mtu)
        counted = self.fabric.counted()
        self.assertEqual(self.fabric.status, 0)
        self.assertGreater(counted["fabric"]["lost on the trunk"], 5)
        for line in ("line 1", "line 2"):
            self.assertGreater(counted[line]["RoCE"], 500)
            self.assertEqual([counted[line][key] for key in LEFT_OUT], [0] * len(LEFT_OUT), line)

    def test_ud(self):
        """What arrives is whole; what does not was lost on the trunk. RC tells that it is over."""
        a, b = self.peers
        arrived, n, last = 0, 60, 1000
        for ipv6 in (False, True):
            pair = self.join("rc", ipv6)
            made = [host.command("qp", type="ud", swr=256, rwr=512) for host in self.peers]
            for host, one in zip(self.peers, made):
                host.command("connect", qp=one["qp"])
            ah = a.command("ah", dgid=b.ip6 if ipv6 else b.ip, dmac=b.mac)["ah"]
            b.command("fill", len=n * 1064, byte=0)
            a.command("fill", len=n * 1024, seed=5)
            b.command("recv", qp=made[1]["qp"], mr=0, len=1064, n=n, step=1064, id=0)
            b.command("recv", qp=pair[1]["qp"], mr=0, len=0, id=last)
            a.command("send", op="send_imm", qp=made[0]["qp"], mr=0, len=1024, n=n, step=1024,
                      ah=ah, dqpn=made[1]["qpn"], imm=7)
            self.poll(a, n)
            a.command("send", op="send", qp=pair[0]["qp"], mr=0, len=0)
            self.poll(a, 1)
            rest = [a.command("peek", off=i * 1024, len=1024)["hex"] for i in range(n)]
            one = self.poll(b, 1)[0]
            while one["id"] != last:
                self.assertEqual((one["len"], one["imm"]), (1064, 7))
                body = b.command("peek", off=one["id"] * 1064 + 40, len=1024)["hex"]
                self.assertIn(body, rest)                       # in order, each once
                rest = rest[rest.index(body) + 1:]
                arrived += 1
                one = self.poll(b, 1)[0]
        counted = self.fabric.counted()
        self.assertGreater(arrived, n)
        self.assertGreaterEqual(arrived + counted["fabric"]["lost on the trunk"], 2 * n)


class ProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.good = f"unix,{self.folder}/a,{self.folder}/b"

    def test_refusals(self):
        for words, text in (
                ([], "lines"), (["what"], '"what"'), (["unix,a"], "unix,LOCAL,PEER"),
                (["unix,a,b,c"], "unix,LOCAL,PEER"), (["tap"], "tap,NAME"), ([""], 'Line ""'),
                (["unix,/nowhere/a,b"], "/nowhere/a: No such file"),
                ([f"unix,{'x' * 200},b"], "characters"), (["udp,1.2.3.4,x"], "ADDRESS:PORT"),
                (["udp,127.0.0.1:5,[::1]:5"], "IPv6"),
                (["tap,name-that-is-too-long"], "characters"),
                ([self.good, f"unix,{self.folder}/a,{self.folder}/c"], "in use"),
                (["--address=10.0.0.300/24", self.good], "10.0.0.300/24"),
                (["--address=10.0.0.1", self.good], "--address=10.0.0.1"),
                (["--address=10.0.0.1/33", self.good], "10.0.0.1/33"),
                (["--address=10.0.0.1/x", self.good], "10.0.0.1/x"),
                (["--address=/24", self.good], "--address=/24"),
                (["--mtu=1000", self.good], "--mtu=1000"), (["--loss=2", self.good], "--loss"),
                (["--lossless", "--delay=20ms", self.good], "headroom"),
                (["--rate=x", self.good], "DataRate"), (["--delay=-1us", self.good], "Delay"),
                (["--wat", self.good], "--wat"), (["--pcap=/nowhere/x", self.good], "/nowhere/x")):
            with self.subTest(words=words):
                result = subprocess.run([bridge.PROGRAM, *words], capture_output=True, text=True,
                                        timeout=bridge.LIMIT_S, check=False)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(text, result.stderr.split("\n")[0])

    def test_many_lines(self):
        """As many as both switches take; what the first says comes to all."""
        fabric = Fabric(self.folder, 30)
        self.addCleanup(fabric.close)
        wires = [Wire(*ends) for ends in zip(fabric.ours, fabric.theirs)]
        for wire in wires:
            self.addCleanup(wire.close)
        wires[0].send(Host(1).other(ALL))
        for wire in wires[1:]:
            self.assertEqual(wire.receive(), Host(1).other(ALL))
        fabric.close()
        self.assertEqual(fabric.status, 0, fabric.said)
        lines = [f"unix,{self.folder}/{i},{self.folder}/x" for i in range(40)]
        result = subprocess.run([bridge.PROGRAM, *lines], capture_output=True, text=True,
                                timeout=bridge.LIMIT_S, check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("lines", result.stderr.split("\n")[0])

    def test_it_ends_in_order(self):
        for how in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(how=how):
                fabric = Fabric(self.folder, 3)
                self.addCleanup(fabric.close)
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
                    out.sendto(Host(1).other(ALL), fabric.theirs[0])
                    while os.path.exists(fabric.theirs[0]) and fabric.process.poll() is None:
                        fabric.close(how)
                self.assertEqual(fabric.status, 0, fabric.said)
                self.assertEqual(sorted(fabric.counted()), ["fabric", "line 1", "line 2", "line 3",
                                                            "pingpong"])
                self.assertEqual(os.listdir(self.folder), [])

    def test_time_and_pcap(self):
        """It ends by itself; its capture has what passed the line."""
        fabric = Fabric(self.folder, 1, f"--pcap={self.folder}/p", "--ns3::RnicSwitchDevice::L2=1")
        self.addCleanup(fabric.close)
        wire = Wire(fabric.ours[0], fabric.theirs[0])
        self.addCleanup(wire.close)
        asked = Host(1).arp(SIMULATED)
        wire.send(asked)
        answer = wire.receive()
        fabric.close()
        with open(f"{self.folder}/p-1.pcap", "rb") as file:
            data = file.read()
        self.assertIn(asked, data)
        self.assertIn(answer[:42], data)
        result = subprocess.run([bridge.PROGRAM, "--time=10ms", self.good], capture_output=True,
                                text=True, timeout=bridge.LIMIT_S, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
