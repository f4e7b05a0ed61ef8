#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""rnic-live against itself: every operation, refusals, faults. No time is judged.

    live_test.py [--seeds FIRST-LAST] [unittest arguments]    seeds of the runs with faults
"""

import itertools
import os
import socket
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from peer import Live, Refused  # noqa: E402

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
        self.got = []

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

    def arrived(self, faults, least=0):
        """How many of 100 and 100 messages of UC arrive, at least so many; which is in self.got."""
        a, b = self.start("--faults", faults)
        qps = self.join("uc")
        b.command("recv", qp=qps[1], mr=0, len=4, n=400)
        for imm in range(200):
            a.command("send", op="send_imm", qp=qps[0], mr=0, len=4, imm=imm)
            self.poll(a, 1)
        found = self.poll(b, least)
        b.command("wait", ms=30)
        found += b.command("poll", n=400).get("wc", [])
        for host in self.peers:
            host.close()
        self.got = [one["imm"] for one in found]
        return sum(imm < 100 for imm in self.got), sum(imm >= 100 for imm in self.got)

    def test_a_seed_repeats_itself(self):
        self.arrived("seed=5,loss=0.3,dir=out")
        first = self.got
        self.arrived("seed=5,loss=0.3,dir=out")
        self.assertEqual(first, self.got)
        self.assertTrue(100 < len(first) < 180, first)
        self.arrived("seed=6,loss=0.3,dir=out")
        self.assertNotEqual(first, self.got)
        self.assertEqual(self.arrived("seed=5,loss=1,dir=in", 200), (100, 100))
        self.assertEqual(self.got, list(range(200)))
        self.assertEqual(self.arrived("seed=5,loss=1,dir=out"), (0, 0))
        self.assertEqual(self.arrived("seed=5,corrupt=1"), (0, 0))
        self.assertEqual(self.arrived("seed=5,dup=1", 400), (200, 200))
        self.assertEqual(self.arrived("seed=5,delay=1,delay_ms=5", 200), (100, 100))
        self.assertEqual(self.arrived("seed=5,reorder=0.5", 200), (100, 100))
        self.assertEqual(sorted(self.got), list(range(200)))
        self.assertNotEqual(self.got, list(range(200)))


def main():
    global SEEDS
    if sys.argv[1:2] == ["--seeds"]:
        first, last = sys.argv[2].split("-")
        SEEDS = range(int(first), int(last) + 1)
        del sys.argv[1:3]
    unittest.main()


if __name__ == "__main__":
    main()
