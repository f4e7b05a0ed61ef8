#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""rnic-live against itself, and against frames made here. No time is judged.

    live_test.py [--seeds FIRST-LAST] [unittest arguments]    seeds of the runs with faults
"""

import itertools
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import peer  # noqa: E402
from peer import Live, Refused  # noqa: E402

DECODE = os.path.join(os.path.dirname(peer.PROGRAM), "rnic-decode")
SEEDS = range(1, 11)
WAIT_MS = 20000
FIRST_PSN = 0xFFFFFD
REGION = 1 << 22
OPCODES = {"send": "SEND", "send_imm": "SEND", "write": "RDMA_WRITE", "write_imm": "RDMA_WRITE",
           "read": "RDMA_READ", "fetch_add": "FETCH_ADD", "cmp_swap": "COMP_SWAP"}
TAKES_RECV = ("send", "send_imm", "write_imm")


def lengths(mtu):
    return [0, 1, 3, mtu - 1, mtu, mtu + 1, 3 * mtu + 1, 65536, 1 << 20]


class Pair(unittest.TestCase):
    """Two of them on a pair of unix sockets."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.ends = [os.path.join(self.folder.name, name) for name in "ab"]
        self.peers = []

    def start(self, *more):
        a = Live(["--unix", *self.ends], 1, *more)
        self.addCleanup(a.close)
        b = Live(["--unix", *reversed(self.ends)], 2)
        self.addCleanup(b.close)
        self.peers = [a, b]
        self.regions = [host.command("mr", len=REGION) for host in (a, b)]
        return a, b

    def join(self, kind="rc", ipv6=False, mtu=1024, **more):
        """A queue pair at both, connected. @return their numbers"""
        made = [host.command("qp", type=kind, swr=256, rwr=512) for host in self.peers]
        for i, host in enumerate(self.peers):
            other = self.peers[1 - i]
            psns = {"sq_psn": FIRST_PSN + i, "rq_psn": FIRST_PSN + 1 - i}
            host.command("connect", qp=made[i]["qp"], dqpn=made[1 - i]["qpn"], mtu=mtu,
                         dgid=other.ip6 if ipv6 else other.ip, **psns, **more)
        return [one["qp"] for one in made]

    def poll(self, host, n, status="SUCCESS"):
        """Completions, all with this status."""
        found = host.command("poll", n=n, ms=WAIT_MS).get("wc", [])
        self.assertEqual([one["status"] for one in found], [status] * n)
        return found

    def carry_out(self, qps, op, length, seed):
        """One operation with bytes from a to b (read: from b to a), and all that shows of it."""
        a, b = self.peers
        source, target = (b, a) if op == "read" else (a, b)
        source.command("fill", off=0, len=length, seed=seed)
        target.command("fill", off=0, len=length + 8, byte=0xA5)
        words = {}
        if op in TAKES_RECV:
            b.command("recv", qp=qps[1], mr=0, len=0 if op == "write_imm" else length, id=seed)
        if op.endswith("_imm"):
            words["imm"] = seed * 77777
        if op in ("write", "write_imm", "read"):
            words.update(raddr=self.regions[1]["addr"], rkey=self.regions[1]["rkey"])
        a.command("send", op=op, qp=qps[0], mr=0, len=length, id=seed, **words)
        done = self.poll(a, 1)[0]
        self.assertEqual((done["id"], done["opcode"]), (seed, OPCODES[op]))
        if op in TAKES_RECV:
            got = self.poll(b, 1)[0]
            self.assertEqual((got["id"], got["len"], got.get("imm")),
                             (seed, length, words.get("imm")))
        self.assertEqual(target.command("check", len=length, seed=seed)["equal"], 1)
        self.assertEqual(target.command("check", off=length, len=8, byte=0xA5)["equal"], 1)

    def clean(self):
        """No drop, nothing sent again."""
        for host in self.peers:
            found = host.command("counters")
            self.assertNotIn("drop", found)


class OperationsTest(Pair):
    def test_rc(self):
        self.start()
        numbers = itertools.count(1)
        for ipv6, mtu in itertools.product((False, True), (256, 512, 1024, 2048, 4096)):
            qps = self.join(ipv6=ipv6, mtu=mtu)
            for op in ("send", "send_imm", "write", "write_imm", "read"):
                for length in lengths(mtu):
                    if length == 1 << 20 and op.endswith("_imm"):
                        continue
                    with self.subTest(ipv6=ipv6, mtu=mtu, op=op, length=length):
                        self.carry_out(qps, op, length, next(numbers))

    def test_uc(self):
        self.start()
        numbers = itertools.count(1)
        for ipv6, mtu in ((False, 256), (True, 1024), (False, 4096)):
            qps = self.join("uc", ipv6=ipv6, mtu=mtu)
            for op in ("send", "send_imm", "write_imm"):
                for length in lengths(mtu):
                    with self.subTest(ipv6=ipv6, mtu=mtu, op=op, length=length):
                        self.carry_out(qps, op, length, next(numbers))
        self.clean()

    def test_ud(self):
        a, b = self.start()
        for ipv6 in (False, True):
            made = [host.command("qp", type="ud") for host in (a, b)]
            for host, one in zip((a, b), made):
                host.command("connect", qp=one["qp"], sq_psn=FIRST_PSN)
            ah = a.command("ah", dgid=b.ip6 if ipv6 else b.ip, hop=9)["ah"]
            for number, length in enumerate((0, 1, 3, 1023, 1024, 4096)):
                with self.subTest(ipv6=ipv6, length=length):
                    b.command("fill", len=8192, byte=0xA5)
                    a.command("fill", len=length, seed=number)
                    b.command("recv", qp=made[1]["qp"], mr=0, len=40 + length, id=number)
                    a.command("send", op="send_imm", qp=made[0]["qp"], mr=0, len=length, ah=ah,
                              dqpn=made[1]["qpn"], imm=number)
                    self.poll(a, 1)
                    got = self.poll(b, 1)[0]
                    self.assertEqual((got["len"], got["grh"], got["src_qp"], got["imm"]),
                                     (40 + length, 1, made[0]["qpn"], number))
                    self.assertEqual(b.command("check", off=40, len=length, seed=number)["equal"],
                                     1)
                    self.check_grh(bytes.fromhex(b.command("peek", len=40)["hex"]), ipv6, a, b)

    def check_grh(self, grh, ipv6, a, b):
        if ipv6:
            self.assertEqual(grh[8:24], socket.inet_pton(socket.AF_INET6, a.ip6))
            self.assertEqual(grh[24:40], socket.inet_pton(socket.AF_INET6, b.ip6))
            self.assertEqual(grh[7], 9)
        else:
            self.assertEqual(grh[:20], bytes(20))
            self.assertEqual(grh[32:40], socket.inet_aton(a.ip) + socket.inet_aton(b.ip))
            self.assertEqual(grh[28], 9)

    def test_sixteen_outstanding(self):
        a, b = self.start()
        qps = self.join()
        far = self.regions[1]
        for op in ("send", "write", "read"):
            with self.subTest(op=op):
                source, target = (b, a) if op == "read" else (a, b)
                source.command("fill", len=16 * 5000, seed=16)
                target.command("fill", len=16 * 5000, byte=0)
                remote = {} if op == "send" else {"raddr": far["addr"], "rkey": far["rkey"],
                                                  "rstep": 5000}
                if op == "send":
                    b.command("recv", qp=qps[1], mr=0, len=5000, n=16, step=5000, id=100)
                a.command("send", op=op, qp=qps[0], mr=0, len=5000, n=16, step=5000, id=1,
                          **remote)
                self.assertEqual([one["id"] for one in self.poll(a, 16)], list(range(1, 17)))
                if op == "send":
                    self.assertEqual([one["id"] for one in self.poll(b, 16)],
                                     list(range(100, 116)))
                self.assertEqual(target.command("check", len=16 * 5000, seed=16)["equal"], 1)
        self.clean()

    def test_atomics(self):
        a, b = self.start()
        qps = self.join(ipv6=True)
        far = {"raddr": self.regions[1]["addr"] + 64, "rkey": self.regions[1]["rkey"]}
        b.command("poke", off=64, hex=struct.pack("<Q", 10).hex())
        a.command("send", op="fetch_add", qp=qps[0], mr=0, len=8, step=8, n=16, add=3, **far)
        self.poll(a, 16)
        told = struct.unpack("<16Q", bytes.fromhex(a.command("peek", len=128)["hex"]))
        self.assertEqual(told, tuple(range(10, 58, 3)))
        for compare, after in ((57, 58), (58, 99)):
            a.command("send", op="cmp_swap", qp=qps[0], mr=0, len=8, cmp=compare, swap=99, **far)
            self.poll(a, 1)
            self.assertEqual(a.command("peek", len=8)["hex"], struct.pack("<Q", 58).hex())
            self.assertEqual(b.command("peek", off=64, len=8)["hex"],
                             struct.pack("<Q", after).hex())

    def test_others(self):
        """Inline data, invalidate, windows, shared receive queue, fence, unsignalled."""
        a, b = self.start()
        qps = self.join()
        a.command("fill", len=100, seed=4)
        b.command("recv", qp=qps[1], mr=0, len=100)
        a.command("send", op="send", qp=qps[0], mr=0, len=100, flags="i")
        a.command("fill", len=100, byte=0)
        self.poll(a, 1)
        self.poll(b, 1)
        self.assertEqual(b.command("check", len=100, seed=4)["equal"], 1)

        region = b.command("mr", len=4096, access="lwrab")
        window = b.command("mw")["mw"]
        key = b.command("send", op="bind", qp=qps[1], mw=window, mr=region["mr"], off=16, len=64,
                        id=1)["rkey"]
        self.poll(b, 1)
        target = {"raddr": region["addr"] + 16, "rkey": key}
        a.command("write", qp=qps[0], mr=0, len=64, flags="u", **target)
        a.command("read", qp=qps[0], mr=0, len=64, flags="f", id=2, **target)
        self.assertEqual(self.poll(a, 1)[0]["id"], 2)
        b.command("recv", qp=qps[1])
        a.command("send", op="send_inv", qp=qps[0], inv=key)
        self.poll(a, 1)
        self.assertEqual(self.poll(b, 1)[0]["inv"], key)
        a.command("write", qp=qps[0], mr=0, len=64, id=3, **target)
        self.poll(a, 1, "REM_ACCESS_ERR")

        shared = b.command("srq", limit=2)["srq"]
        b.command("recv", srq=shared, mr=0, len=64, n=2, step=64)
        sender, receiver = a.command("qp", type="rc"), b.command("qp", type="rc", srq=shared)
        b.command("connect", qp=receiver["qp"], dgid=a.ip, dqpn=sender["qpn"])
        a.command("connect", qp=sender["qp"], dgid=b.ip, dqpn=receiver["qpn"])
        a.command("send", op="send", qp=sender["qp"], mr=0, len=64)
        self.poll(a, 1)
        self.poll(b, 1)
        events = [one["text"] for one in b.command("async").get("event", [])]
        self.assertIn("SRQ_LIMIT_REACHED", events)
        for host in (a, b):
            host.command("clear")
            self.assertEqual(host.command("qp", type="rc")["qp"], 0)


class RefusalTest(Pair):
    def refused(self, status, kind="rc", access="lwra", **words):
        """A request of a fresh queue pair ends so; nothing of it is in b's memory."""
        a, b = self.peers
        region = b.command("mr", len=4096, access=access)
        qps = self.join(kind, rnr_retry=1, min_rnr=1)
        words = {key: text(region) if callable(text) else text for key, text in words.items()}
        a.command("send", qp=qps[0], mr=0, **words)
        self.poll(a, 1, status)
        self.assertEqual(a.command("query", qp=qps[0])["state"], "err")
        self.assertEqual(b.command("check", mr=region["mr"], byte=0)["equal"], 1)

    def test_refusals(self):
        self.start()
        self.peers[0].command("fill", len=4096, byte=7)
        far, key = (lambda region: region["addr"]), (lambda region: region["rkey"])
        for op, length, words in (("write", 64, {}), ("read", 64, {}),
                                  ("fetch_add", 8, {"add": 1})):
            with self.subTest(op=op):
                self.refused("REM_ACCESS_ERR", op=op, len=length, raddr=far,
                             rkey=lambda region: region["rkey"] ^ 1, **words)
                self.refused("REM_ACCESS_ERR", op=op, len=length, rkey=key,
                             raddr=lambda region: region["addr"] + 4096, **words)
                self.refused("REM_ACCESS_ERR", op=op, len=length, raddr=far, rkey=key, access="l",
                             **words)
        self.refused("REM_INV_REQ_ERR", op="fetch_add", len=8, add=1, rkey=key,
                     raddr=lambda region: region["addr"] + 4)
        self.refused("RNR_RETRY_EXC_ERR", op="send", len=64)
        self.refused("LOC_PROT_ERR", op="write", len=64, off=REGION, raddr=far, rkey=key)

    def test_send_too_long(self):
        a, b = self.start()
        qps = self.join()
        b.command("recv", qp=qps[1], mr=0, len=99)
        a.command("send", op="send", qp=qps[0], mr=0, len=100)
        self.poll(a, 1, "REM_INV_REQ_ERR")
        self.poll(b, 1, "LOC_LEN_ERR")

    def test_receive_comes_late(self):
        a, b = self.start()
        qps = self.join(min_rnr=10)
        a.command("fill", len=5000, seed=3)
        a.command("send", op="send", qp=qps[0], mr=0, len=5000)
        a.command("poll", n=1, ms=20)
        b.command("recv", qp=qps[1], mr=0, len=5000)
        self.poll(a, 1)
        self.poll(b, 1)
        self.assertGreater(a.command("query", qp=qps[0])["rnr_naks_rx"], 0)
        self.assertEqual(b.command("check", len=5000, seed=3)["equal"], 1)

    def test_queue_pair_is_gone(self):
        a, b = self.start()
        qps = self.join(timeout=10, retry=2)
        b.command("destroy", qp=qps[1])
        a.command("send", op="send", qp=qps[0], mr=0, len=5, n=3)
        found = a.command("poll", n=3, ms=WAIT_MS)["wc"]
        self.assertEqual([one["status"] for one in found],
                         ["RETRY_EXC_ERR", "WR_FLUSH_ERR", "WR_FLUSH_ERR"])
        self.assertEqual(a.command("query", qp=qps[0])["timeouts"], 3)

    def test_states(self):
        a, _ = self.start()
        qps = self.join()
        for to in ("sqd", "rts", "err", "reset", "init"):
            a.command("modify", qp=qps[0], to=to)
            self.assertEqual(a.command("query", qp=qps[0])["state"], to)
        with self.assertRaisesRegex(Refused, "RNIC_ERR_INVAL"):
            a.command("modify", qp=qps[0], to="rts")


class FaultsTest(Pair):
    def run_seed(self, seed):
        """All operations of RC at once, with all faults; everything completes once, in order."""
        faults = f"seed={seed},loss=0.02,dup=0.02,reorder=0.02,corrupt=0.02,delay=0.005,delay_ms=60"
        a, b = self.start("--faults", faults)
        qps = self.join(ipv6=seed % 2 == 1, mtu=(256, 1024, 4096)[seed % 3], timeout=13, min_rnr=5)
        far = {"raddr": self.regions[1]["addr"], "rkey": self.regions[1]["rkey"]}
        size, half = 9001, REGION // 2
        a.command("fill", len=half, seed=seed)
        b.command("fill", off=half, len=half, seed=seed + 1)
        b.command("recv", qp=qps[1], mr=0, len=size, n=20, step=size, id=500)
        ids = []
        for op, first, n, words in (
                ("send", 0, 20, {"len": size, "step": size}),
                ("write", 100, 20, {"off": 20 * size, "len": size, "step": size, "rstep": size,
                                    **far, "raddr": far["raddr"] + 20 * size}),
                ("read", 200, 20, {"off": half, "len": size, "step": size, "rstep": size, **far,
                                   "raddr": far["raddr"] + half}),
                ("fetch_add", 300, 20, {"off": half + 20 * size, "len": 8, "step": 8, **far,
                                        "raddr": far["raddr"] + half - 8, "add": 5})):
            a.command("send", op=op, qp=qps[0], mr=0, id=first, n=n, **words)
            ids += range(first, first + n)
        b.command("poke", off=half - 8, hex="00" * 8)
        self.assertEqual([one["id"] for one in self.poll(a, len(ids))], ids)
        self.assertEqual([one["id"] for one in self.poll(b, 20)], list(range(500, 520)))
        for host in (a, b):
            self.assertEqual(host.command("poll", n=1, ms=70)["n"], 0)
        self.assertEqual(b.command("check", len=40 * size, seed=seed)["equal"], 1)
        self.assertEqual(a.command("check", off=half, len=20 * size, seed=seed + 1)["equal"], 1)
        told = bytes.fromhex(a.command("peek", off=half + 20 * size, len=160)["hex"])
        self.assertEqual(struct.unpack("<20Q", told), tuple(range(0, 100, 5)))
        self.assertEqual(b.command("peek", off=half - 8, len=8)["hex"],
                         struct.pack("<Q", 100).hex())
        return a.command("counters")["faults"]

    def test_seeds(self):
        struck = {}
        for seed in SEEDS:
            with self.subTest(seed=seed):
                for one in self.run_seed(seed):
                    del one["dir"]
                    for name, n in one.items():
                        struck[name] = struck.get(name, 0) + n
            for host in self.peers:
                self.assertEqual(host.close(), 0)
        for name in ("loss", "dup", "reorder", "corrupt", "delay"):
            self.assertGreater(struck[name], 0, name)

    def arrived(self, faults):
        """Which of 200 datagrams of UC arrive."""
        a, b = self.start("--faults", faults)
        qps = self.join("uc")
        b.command("recv", qp=qps[1], mr=0, len=4, n=400)
        a.command("send", op="send_imm", qp=qps[0], mr=0, len=4, n=100, imm=1)
        a.command("send", op="send_imm", qp=qps[0], mr=0, len=4, n=100, imm=2)
        self.poll(a, 200)
        b.command("wait", ms=30)
        found = [one["imm"] for one in b.command("poll", n=400).get("wc", [])]
        for host in self.peers:
            host.close()
        return found.count(1), found.count(2)

    def test_a_seed_repeats_itself(self):
        first = self.arrived("seed=5,loss=0.3,dir=out")
        self.assertEqual(first, self.arrived("seed=5,loss=0.3,dir=out"))
        self.assertTrue(20 < sum(first) < 190, first)
        self.assertEqual(self.arrived("seed=5,loss=1,dir=in"), (100, 100))
        self.assertEqual(self.arrived("seed=5,loss=1,dir=out"), (0, 0))
        self.assertEqual(self.arrived("seed=5,corrupt=1"), (0, 0))
        self.assertEqual(self.arrived("seed=5,dup=1"), (200, 200))


def checksum(data):
    total = sum(struct.unpack(f"!{len(data + bytes(len(data) % 2)) // 2}H",
                              data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class AddressTest(unittest.TestCase):
    """One of them against frames made here."""

    MAC, IP, IP6 = bytes.fromhex("525400000007"), bytes((10, 0, 0, 7)), "fd00::7"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        here, there = (os.path.join(folder.name, name) for name in ("here", "there"))
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.socket.close)
        self.socket.bind(here)
        self.socket.settimeout(20)
        self.live = Live(["--unix", there, here], 1, "--ip6", "fd00::1")
        self.addCleanup(self.live.close)
        self.socket.connect(there)
        self.ours = bytes.fromhex("020000000001")

    def send(self, ethertype, body, to=None):
        self.socket.send((to or self.ours) + self.MAC + struct.pack("!H", ethertype) + body)

    def receive(self):
        frame = self.socket.recv(65536)
        self.assertGreaterEqual(len(frame), 60)
        return frame

    def silent(self):
        """Whatever was sent is answered by nothing: the next answer is that to an ARP request."""
        self.send(0x0806, self.arp(1))
        self.assertEqual(self.receive()[12:14], b"\x08\x06")

    def arp(self, operation, target=bytes((10, 0, 0, 1))):
        return struct.pack("!HHBBH", 1, 0x0800, 6, 4, operation) + self.MAC + self.IP + bytes(6) \
            + target

    def icmp4(self, kind=8, to=bytes((10, 0, 0, 1)), data=b"hello there, 21 bytes", spoil=0):
        icmp = struct.pack("!BBHHH", kind, 0, 0, 7, 1) + data
        icmp = icmp[:2] + struct.pack("!H", checksum(icmp) ^ spoil) + icmp[4:]
        head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(icmp), 1, 0, 64, 1, 0) + self.IP + to
        return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + icmp

    def icmp6(self, body, source=None, target="fd00::1", hops=255, spoil=0):
        ends = socket.inet_pton(socket.AF_INET6, source or self.IP6) + \
            socket.inet_pton(socket.AF_INET6, target)
        total = checksum(ends + struct.pack("!II", len(body), 58) + body) ^ spoil
        body = body[:2] + struct.pack("!H", total) + body[4:]
        return struct.pack("!IHBB", 6 << 28, len(body), 58, hops) + ends + body

    def solicit(self, target="fd00::1", option=True):
        return struct.pack("!BBHI", 135, 0, 0, 0) + socket.inet_pton(socket.AF_INET6, target) + \
            (b"\x01\x01" + self.MAC if option else b"")

    def sound6(self, frame):
        """Checksum of an ICMPv6 message."""
        length = struct.unpack_from("!H", frame, 18)[0]
        return checksum(frame[22:54] + struct.pack("!II", length, 58)
                        + frame[54:54 + length]) == 0

    def test_arp(self):
        self.send(0x0806, self.arp(1), b"\xff" * 6)
        frame = self.receive()
        self.assertEqual(frame[:14], self.MAC + self.ours + b"\x08\x06")
        self.assertEqual(frame[14:42], struct.pack("!HHBBH", 1, 0x0800, 6, 4, 2) + self.ours
                         + bytes((10, 0, 0, 1)) + self.MAC + self.IP)
        self.send(0x0806, self.arp(1, bytes((10, 0, 0, 2))), b"\xff" * 6)
        self.send(0x0806, self.arp(1)[:27])
        self.silent()
        self.assertEqual(self.live.command("book")["peer"],
                         [{"ip": "10.0.0.7", "mac": "52:54:00:00:00:07"}])

    def test_asks(self):
        made = self.live.command("qp", type="rc")
        self.live.post(f"connect qp={made['qp']} dgid=10.0.0.7 dqpn=5")
        frame = self.receive()
        self.assertEqual(frame[:6] + frame[20:22] + frame[38:42],
                         b"\xff" * 6 + b"\0\1" + self.IP)
        self.send(0x0806, self.arp(2))
        self.live.answer()
        self.live.post(f"ah dgid={self.IP6}")
        frame = self.receive()
        self.assertEqual(frame[:6], bytes.fromhex("3333ff000007"))
        self.assertEqual(frame[38:54], socket.inet_pton(socket.AF_INET6, "ff02::1:ff00:7"))
        self.assertEqual((frame[21], frame[54], frame[62:78]),
                         (255, 135, socket.inet_pton(socket.AF_INET6, self.IP6)))
        self.assertEqual(frame[78:86], b"\x01\x01" + self.ours)
        self.assertTrue(self.sound6(frame))
        self.send(0x86DD, self.icmp6(struct.pack("!BBHI", 136, 0, 0, 6 << 28)
                                     + socket.inet_pton(socket.AF_INET6, self.IP6)
                                     + b"\x02\x01" + self.MAC))
        self.live.answer()

    def test_nobody_answers(self):
        with self.assertRaisesRegex(Refused, "nobody there answers"):
            self.live.command("ah", dgid="10.0.0.9")

    def test_neighbour_discovery(self):
        group = bytes.fromhex("3333ff000001")
        self.send(0x86DD, self.icmp6(self.solicit(), target="ff02::1:ff00:1"), group)
        frame = self.receive()
        self.assertEqual(frame[:12] + frame[54:55], self.MAC + self.ours + b"\x88")
        self.assertEqual(struct.unpack_from("!I", frame, 58)[0], 3 << 29)
        self.assertEqual(frame[62:86], socket.inet_pton(socket.AF_INET6, "fd00::1")
                         + b"\x02\x01" + self.ours)
        self.assertTrue(self.sound6(frame))
        self.send(0x86DD, self.icmp6(self.solicit(option=False), "::", "ff02::1:ff00:1"), group)
        frame = self.receive()
        self.assertEqual(frame[:6] + frame[38:54], bytes.fromhex("333300000001")
                         + socket.inet_pton(socket.AF_INET6, "ff02::1"))
        self.send(0x86DD, self.icmp6(self.solicit("fd00::2"), target="ff02::1:ff00:1"), group)
        self.send(0x86DD, self.icmp6(self.solicit(), hops=64))
        self.send(0x86DD, self.icmp6(self.solicit(), spoil=1))
        self.silent()
        self.assertIn({"ip": "fd00::7", "mac": "52:54:00:00:00:07"},
                      self.live.command("book")["peer"])

    def test_echo(self):
        self.send(0x0800, self.icmp4())
        frame = self.receive()
        self.assertEqual(frame[26:34], bytes((10, 0, 0, 1)) + self.IP)
        self.assertEqual((checksum(frame[14:34]), checksum(frame[34:63]), frame[34]), (0, 0, 0))
        self.assertEqual(frame[42:63], b"hello there, 21 bytes")
        self.send(0x86DD, self.icmp6(struct.pack("!BBHHH", 128, 0, 0, 7, 1) + b"hello"))
        frame = self.receive()
        self.assertEqual((frame[54], frame[62:67]), (129, b"hello"))
        self.assertTrue(self.sound6(frame))
        self.send(0x0800, self.icmp4(spoil=1))
        self.send(0x0800, self.icmp4(to=bytes((10, 0, 0, 3))))
        self.send(0x0800, self.icmp4(kind=0))
        self.silent()

    def test_others_are_ignored_and_counted(self):
        head = struct.pack("!BBHHHBBH", 0x45, 0, 40, 1, 0, 64, 6, 0) + self.IP \
            + bytes((10, 0, 0, 1))
        head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
        for body in (head + bytes(20), head[:15], b""):
            self.send(0x0800, body)
        self.send(0x88CC, bytes(50))
        self.socket.send(b"\x01")
        with open(os.path.join(peer.ROOT, "test", "vectors", "rc_write_imm_vpeer.pcap"),
                  "rb") as file:
            data = file.read()
        roce = data[40:40 + struct.unpack_from("<I", data, 32)[0]]
        self.socket.send(roce[:-1] + bytes((roce[-1] ^ 1,)))
        self.silent()
        found = self.live.command("counters")
        self.assertIn({"where": "line", "reason": "icrc", "n": 1}, found["drop"])
        self.assertEqual(found["rx"], 0)
        self.assertGreaterEqual(found["line"][0]["other"], 2)


class ProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.ends = [os.path.join(folder.name, name) for name in "ab"]

    def call(self, *words, text=""):
        return subprocess.run([peer.PROGRAM, *words], input=text, capture_output=True, text=True,
                              timeout=60, check=False)

    def test_bad_options(self):
        line = ["--unix", *self.ends]
        for words, text in (
                ([], "want one of"), (["--unix", "a"], "two values"), (["--tap"], "no value"),
                ([*line, "--tap", "x"], "want one of"), ([*line, "--mac", "1:2"], "--mac 1:2"),
                ([*line, "--mac", "01:00:00:00:00:01"], "--mac"), ([*line, "--ip", "x"], "--ip x"),
                ([*line, "--ip6", "10.0.0.1"], "--ip6"), ([*line, "--in-flight", "0"], "1 to"),
                ([*line, "--ack-every", "x"], "not a number"), ([*line, "--wat", "1"], "--wat"),
                ([*line, "--faults", "loss"], "KEY=VALUE"), ([*line, "--faults", "x=1"], "known"),
                ([*line, "--faults", "loss=0.6,dup=0.6"], "more than 1"),
                ([*line, "--faults", "dir=up"], "in, out or both"),
                ([*line, "--script", "/nowhere"], "/nowhere"),
                ([*line, "--pcap", "/nowhere/x"], "/nowhere/x"),
                (["--udp", "1.2.3.4", "127.0.0.1:5"], "ADDRESS:PORT"),
                (["--udp", "127.0.0.1:5", "[::1]:5"], "IPv6"),
                (["--unix", "/nowhere/a", "b"], "/nowhere/a"),
                (["--unix", "x" * 200, "b"], "characters"),
                (["--tap", "name-that-is-too-long"], "characters")):
            with self.subTest(words=words):
                result = self.call(*words)
                self.assertEqual(result.returncode, 2)
                self.assertEqual(result.stdout, "")
                self.assertRegex(result.stderr, r"\Arnic-live: [^\n]*\n\Z")
                self.assertIn(text, result.stderr)

    def test_bad_commands(self):
        for text in ("nonsense", "mr len=0", "mr len=x", "mr len", "mr =1", "qp", "qp type=rd",
                     "qp type=rc pd=9", "connect qp=1", "poll n=-1", "recv qp=0", "send qp=0",
                     "send op=fly", "peek mr=3", "fill", "destroy", "destroy qp=0 mr=0", "modify",
                     "faults loss=3", "wait ms=99999999999", "mr access=z", "x" * 9000,
                     "poll " + "a=1 " * 50):
            with self.subTest(text=text[:40]):
                result = self.call("--unix", *self.ends, text=f"{text}\nbook\n")
                self.assertEqual(result.returncode, 2)
                self.assertEqual(result.stderr, "")
                self.assertEqual(len(re.findall("^error: ", result.stdout, re.M)), 1)
                self.assertTrue(result.stdout.endswith("ok\n"), "the next one is carried out")

    def test_script(self):
        script = os.path.join(self.folder, "script")
        for lines, status, where in (("# nothing\n\nmr len=5\npoke hex=0102 # two\npeek", 0, None),
                                     ("mr len=5\nmr foo=1\nbook\n", 2, 2),
                                     ("ah dgid=10.0.0.9\n", 1, 1)):
            with open(script, "w", encoding="ascii") as file:
                file.write(lines)
            result = self.call("--unix", *self.ends, "--script", script)
            self.assertEqual(result.returncode, status)
            if where:
                self.assertRegex(result.stderr, rf"\Arnic-live: {script}:{where}: .+\n\Z")
            else:
                self.assertIn("hex=0102000000\nok\n", result.stdout)
                self.assertEqual(result.stderr, "")

    def test_it_ends_in_order(self):
        """A signal ends it as the end of its input does; a socket left behind is taken over."""
        left = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        left.bind(self.ends[0])
        self.assertIn("in use", self.call("--unix", *self.ends).stderr)
        left.close()
        for how in (signal.SIGTERM, signal.SIGINT):
            live = Live(["--unix", *self.ends], 1)
            live.post("serve")
            live.process.send_signal(how)
            self.assertEqual(live.process.wait(20), 0)
            live.close()
            self.assertFalse(os.path.exists(self.ends[0]))

    def talk(self, a, b, length=100000):
        """A WRITE from one to the other."""
        regions = [host.command("mr", len=length) for host in (a, b)]
        made = [host.command("qp", type="rc") for host in (a, b)]
        b.command("connect", qp=0, dgid=a.ip, dmac=a.mac, dqpn=made[0]["qpn"])
        a.command("connect", qp=0, dgid=b.ip, dqpn=made[1]["qpn"], timeout=14)
        a.command("fill", seed=8)
        a.command("write", qp=0, mr=0, len=length, raddr=regions[1]["addr"],
                  rkey=regions[1]["rkey"])
        found = a.command("poll", n=1, ms=WAIT_MS)
        self.assertEqual(found["wc"][0]["status"], "SUCCESS")
        self.assertEqual(b.command("check", seed=8)["equal"], 1)

    def test_udp_and_pcap(self):
        for host, family in (("127.0.0.1", socket.AF_INET), ("[::1]", socket.AF_INET6)):
            with self.subTest(host=host):
                ports = []
                for _ in range(2):
                    with socket.socket(family, socket.SOCK_DGRAM) as free:
                        free.bind((host.strip("[]"), 0))
                        ports.append(f"{host}:{free.getsockname()[1]}")
                pcap = os.path.join(self.folder, "a.pcap")
                a = Live(["--udp", *ports], 1, "--pcap", pcap)
                self.addCleanup(a.close)
                b = Live(["--udp", *reversed(ports)], 2)
                self.addCleanup(b.close)
                self.talk(a, b)
                self.assertEqual([host.close() for host in (a, b)], [0, 0])
                result = subprocess.run([DECODE, pcap], capture_output=True, text=True,
                                        check=False)
                self.assertEqual(result.returncode, 0)
                self.assertRegex(result.stdout, r"RC_RDMA_WRITE_FIRST(.|\n)*RC_ACKNOWLEDGE")

    def test_tap(self):
        """Two TAP devices on a bridge, in name spaces of our own."""
        script = """
            set -e
            ip link add name br0 type bridge
            for i in 1 2; do ip tuntap add dev tap$i mode tap; ip link set tap$i master br0 up; done
            ip link set br0 up
            exec "$@"
        """
        words = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", script, "sh"]
        usable = subprocess.run([*words, "true"], capture_output=True, check=False)
        if usable.returncode != 0 or not os.path.exists("/dev/net/tun"):
            self.skipTest("no TAP devices to be had here")
        inner = [sys.executable, os.path.abspath(__file__), "--tap"]
        result = subprocess.run([*words, *inner], capture_output=True, text=True, timeout=60,
                                check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def tap(self):
        hosts = [Live(["--tap", f"tap{n}"], n) for n in (1, 2)]
        self.talk(*hosts)
        for host in hosts:
            host.close()


def main():
    global SEEDS
    if sys.argv[1:] == ["--tap"]:
        ProgramTest("tap").tap()
        return
    if sys.argv[1:2] == ["--seeds"]:
        first, last = sys.argv[2].split("-")
        SEEDS = range(int(first), int(last) + 1)
        del sys.argv[1:3]
    unittest.main()


if __name__ == "__main__":
    main()
