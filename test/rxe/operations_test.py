#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Our card and Linux's software RoCE: every operation, from either end to the other.

Memory is compared byte by byte at both ends, what lies between the messages too; completions come
in order with the status and length they should have.
"""

import itertools
import signal
import socket
import struct
import time
import unittest

import guest
from meet import (CARD, ENDS, GUEST, IP, IP6, NAMES, OPCODES, TAKES_RECV, UNTOUCHED, Meeting,
                  departures)

MTUS = (256, 512, 1024, 2048, 4096)
LONG = (1 << 16, 1 << 20)
GAP = 64  # bytes around messages that nothing may touch


def lengths(mtu):
    return [0, 1, 3, mtu - 1, mtu, mtu + 1, 3 * mtu + 1]


class Moving(Meeting):
    """Messages that move bytes."""

    def setUp(self):
        super().setUp()
        self.number = 0  # of the batch: seed, ids and immediates are made of it

    def batch(self, end, qps, op, sizes, marked=False):
        """One message of each size, posted by this end one behind the other.

        marked: the peer does not tell when they are there, a SEND behind them does (UC WRITE).
        """
        self.number += 1
        first = self.number * 1000
        source, target = (1 - end, end) if op == "read" else (end, 1 - end)
        places = list(itertools.accumulate((size + GAP for size in sizes), initial=GAP))
        self.do(source, "fill", len=places[-1], seed=self.number)
        self.do(target, "fill", len=places[-1], byte=UNTOUCHED)
        sent, received = [], []
        for i, (off, size) in enumerate(zip(places, sizes)):
            words = {} if op.startswith("send") else self.far(1 - end, off)
            sent.append({"id": first + i, "opcode": OPCODES[op], "imm": None, "inv": None})
            if op == "read":
                sent[-1]["len"] = size
            if op.endswith("_imm"):
                words["imm"] = 0xFF000000 | (first + i)
            if op in TAKES_RECV:
                self.do(1 - end, "recv", qp=qps[1 - end], off=off, id=first + 500 + i,
                        len=0 if op == "write_imm" else size)
                received.append({"id": first + 500 + i, "len": size, "imm": words.get("imm"),
                                 "opcode": "RECV_RDMA_WITH_IMM" if op == "write_imm" else "RECV"})
            self.do(end, "send", op=op, qp=qps[end], off=off, len=size, id=first + i, **words)
        if marked:
            self.do(1 - end, "recv", qp=qps[1 - end], id=first + 999)
            self.do(end, "send", op="send", qp=qps[end], id=first + 499)
            sent.append({"id": first + 499, "opcode": "SEND"})
            received.append({"id": first + 999, "len": 0, "opcode": "RECV"})
        self.succeed(end, sent)
        self.succeed(1 - end, received)
        for off, size in zip(places, sizes):
            self.holds(target, off=off - GAP, len=GAP, byte=UNTOUCHED)
            self.holds(target, off=off, len=size, seed=self.number, **{"from": off})
        self.holds(target, off=places[-1] - GAP, len=GAP, byte=UNTOUCHED)
        self.holds(source, len=places[-1], seed=self.number)
        for one in ENDS:
            self.silent(one)


class ReliableTest(Moving):
    OPS = ("send", "send_imm", "write", "write_imm", "read")

    def test_lengths(self):
        """Each operation over each path MTU and both versions of IP."""
        for ipv6, mtu in itertools.product((False, True), MTUS):
            qps, _ = self.join(ipv6=ipv6, mtu=mtu)
            for end, op in itertools.product(ENDS, self.OPS):
                with self.subTest(ipv6=ipv6, mtu=mtu, end=NAMES[end], op=op):
                    self.batch(end, qps, op, lengths(mtu))

    def test_long(self):
        for ipv6, mtu in zip(itertools.cycle((False, True)), MTUS):
            qps, _ = self.join(ipv6=ipv6, mtu=mtu)
            for end, op, size in itertools.product(ENDS, self.OPS, LONG):
                with self.subTest(mtu=mtu, end=NAMES[end], op=op, size=size):
                    self.batch(end, qps, op, [size])

    def test_slow_reader(self):
        """Nothing is lost on the line when the card stands still again and again for long: QEMU
        waits for room in its socket, and the guest's queue (init) holds 4096 responses."""
        qps, _ = self.join(mtu=256, timeout=22)
        self.do(GUEST, "fill", len=1 << 20, seed=1)
        self.do(CARD, "send", op="read", qp=qps[CARD], len=1 << 20, id=1, **self.far(GUEST))
        for _ in range(20):
            self.ends[CARD].process.send_signal(signal.SIGSTOP)
            time.sleep(0.03)
            self.ends[CARD].process.send_signal(signal.SIGCONT)
            time.sleep(0.001)
        self.succeed(CARD, [{"id": 1, "opcode": "RDMA_READ", "len": 1 << 20}])
        self.holds(CARD, len=1 << 20, seed=1)
        told = self.do(CARD, "query", qp=qps[CARD])
        self.assertEqual((told["responses_rx"], told["retransmitted"]), (4096, 0))

    def test_sixteen_outstanding(self):
        """One posting of 16, of either end at once."""
        size = 5000
        for op in ("send", "write", "read"):
            with self.subTest(op=op):
                qps, _ = self.join(ipv6=op == "write")
                half = 16 * size  # what the card's messages cover; those of the guest follow
                for end in ENDS:
                    self.do(end, "fill", len=2 * half, seed=end)
                    if op == "send":
                        self.do(end, "recv", qp=qps[end], n=16, len=size, step=size,
                                off=(1 - end) * half, id=100)
                for end in ENDS:
                    off = (1 - end if op == "read" else end) * half
                    words = {} if op == "send" else {**self.far(1 - end, off), "rstep": size}
                    self.do(end, "send", op=op, qp=qps[end], n=16, len=size, step=size, off=off,
                            id=1, **words)
                for end in ENDS:
                    found = self.poll(end, 32 if op == "send" else 16)
                    self.assertEqual({one["status"] for one in found}, {"SUCCESS"})
                    ids = [one["id"] for one in found]
                    self.assertEqual([one for one in ids if one < 100], list(range(1, 17)))
                    self.assertEqual([one for one in ids if one >= 100],
                                     list(range(100, 116)) if op == "send" else [])
                for end in ENDS:
                    self.holds(end, off=0, len=half, seed=0)
                    self.holds(end, off=half, len=half, seed=1, **{"from": half})


class AtomicTest(Meeting):
    def quad(self, end, off):
        return struct.unpack("<Q", bytes.fromhex(self.do(end, "peek", off=off, len=8)["hex"]))[0]

    def set_quad(self, end, off, value):
        self.do(end, "poke", off=off, hex=struct.pack("<Q", value).hex())

    def test_fetch_add(self):
        """16 at once, past the end of the number's range; the neighbours keep their bytes."""
        for end, ipv6 in itertools.product(ENDS, (False, True)):
            with self.subTest(end=NAMES[end], ipv6=ipv6):
                qps, _ = self.join(ipv6=ipv6)
                self.do(1 - end, "fill", len=200, byte=UNTOUCHED)
                self.set_quad(1 - end, 64, 2 ** 64 - 20)
                self.do(end, "send", op="fetch_add", qp=qps[end], n=16, len=8, step=8, id=1, add=3,
                        **self.far(1 - end, 64))
                self.succeed(end, [{"id": i, "opcode": "FETCH_ADD", "len": 8}
                                   for i in range(1, 17)])
                self.assertEqual([self.quad(end, 8 * i) for i in range(16)],
                                 [(3 * i - 20) % 2 ** 64 for i in range(16)])
                self.assertEqual(self.quad(1 - end, 64), 28)
                self.holds(1 - end, len=64, byte=UNTOUCHED)
                self.holds(1 - end, off=72, len=100, byte=UNTOUCHED)

    def test_compare_swap(self):
        """Two that find another value (its low bytes, its high ones), one that finds the right."""
        for end, ipv6 in itertools.product(ENDS, (False, True)):
            with self.subTest(end=NAMES[end], ipv6=ipv6):
                qps, _ = self.join(ipv6=ipv6)
                first = 0x0123456789ABCDEF
                self.set_quad(1 - end, 128, first)
                for i, (compare, after) in enumerate(
                        ((first + 1, first), (first ^ 1 << 63, first), (first, 99))):
                    self.do(end, "send", op="cmp_swap", qp=qps[end], len=8, off=8 * i, id=i,
                            cmp=compare, swap=99, **self.far(1 - end, 128))
                    self.succeed(end, [{"id": i, "opcode": "COMP_SWAP", "len": 8}])
                    self.assertEqual(self.quad(end, 8 * i), first)
                    self.assertEqual(self.quad(1 - end, 128), after)


class InvalidateTest(Meeting):
    def window(self, end):
        """A region of an end and a window, which bind() opens on its bytes from 16 to 79."""
        region = self.do(end, "mr", len=4096, access="lwrab")
        return region, {"mr": region["mr"], "mw": self.do(end, "mw")["mw"], "access": "w"}

    def bind(self, end, qp, window):
        """Returns the key."""
        key = self.do(end, "send", op="bind", qp=qp, off=16, len=64, id=1, **window)["rkey"]
        self.succeed(end, [{"id": 1, "opcode": "BIND_MW"}])
        return key

    def invalidate(self, end, qps, key, size):
        """A SEND that takes the key."""
        self.do(end, "fill", len=size, seed=size)
        self.do(1 - end, "fill", len=size + 2 * GAP, byte=UNTOUCHED)
        self.do(1 - end, "recv", qp=qps[1 - end], off=GAP, len=size, id=3)
        self.do(end, "send", op="send_inv", qp=qps[end], len=size, id=4, inv=key)
        self.succeed(end, [{"id": 4, "opcode": "SEND"}])
        told = {"inv": key}
        if end == CARD:  # the guest tells nothing of the key
            self.assertIn("inv-completion", departures())
            told = {}
        self.succeed(1 - end, [{"id": 3, "opcode": "RECV", "len": size, "imm": None, **told}])
        self.holds(1 - end, len=GAP, byte=UNTOUCHED)
        self.holds(1 - end, off=GAP, len=size, seed=size)
        self.holds(1 - end, off=GAP + size, len=GAP, byte=UNTOUCHED)

    def test_send_with_invalidate(self):
        """A window takes a WRITE; the SEND takes its key; then the key is worth nothing."""
        for end in ENDS:
            with self.subTest(end=NAMES[end]):
                qps, _ = self.join()
                region, window = self.window(1 - end)
                key = self.bind(1 - end, qps[1 - end], window)
                there = {"raddr": region["addr"] + 16, "rkey": key}
                self.do(end, "fill", len=64, seed=5)
                self.do(end, "send", op="write", qp=qps[end], len=64, id=2, **there)
                self.succeed(end, [{"id": 2, "opcode": "RDMA_WRITE"}])
                self.holds(1 - end, mr=region["mr"], off=16, len=64, seed=5)
                self.invalidate(end, qps, key, 50)
                self.do(end, "fill", len=64, seed=6)
                self.do(end, "send", op="write", qp=qps[end], len=64, id=5, **there)
                self.assertEqual([(one["id"], one["status"]) for one in self.poll(end, 1)],
                                 [(5, "REM_ACCESS_ERR")])
                self.holds(1 - end, mr=region["mr"], off=16, len=64, seed=5)

    def test_lengths(self):
        for (ipv6, mtu), end in itertools.product(zip(itertools.cycle((False, True)), MTUS), ENDS):
            qps, _ = self.join(ipv6=ipv6, mtu=mtu)
            _, window = self.window(1 - end)
            for size in (*lengths(mtu), *LONG):
                with self.subTest(mtu=mtu, end=NAMES[end], size=size):
                    key = self.bind(1 - end, qps[1 - end], window)
                    self.invalidate(end, qps, key, size)


class UnreliableTest(Moving):
    """Nothing is sent again here, and nothing is lost: whoever sends waits for room in the line's
    socket (QEMU and rnic-live), the guest's own queue is long enough (init)."""

    CONNECTED = ("send", "send_imm", "write", "write_imm")

    def test_connected(self):
        for ipv6, mtu in itertools.product((False, True), MTUS):
            qps, _ = self.join("uc", ipv6=ipv6, mtu=mtu)
            for end, op in itertools.product(ENDS, self.CONNECTED):
                with self.subTest(ipv6=ipv6, mtu=mtu, end=NAMES[end], op=op):
                    self.batch(end, qps, op, lengths(mtu), marked=op == "write")

    def test_connected_long(self):
        for ipv6, mtu in zip(itertools.cycle((True, False)), MTUS):
            qps, _ = self.join("uc", ipv6=ipv6, mtu=mtu)
            for end, op, size in itertools.product(ENDS, self.CONNECTED, LONG):
                with self.subTest(mtu=mtu, end=NAMES[end], op=op, size=size):
                    self.batch(end, qps, op, [size], marked=op == "write")

    def test_datagrams(self):
        for end, ipv6 in itertools.product(ENDS, (False, True)):
            made = [self.do(one, "qp", type="ud") for one in ENDS]
            for one in ENDS:
                self.do(one, "connect", qp=made[one]["qp"], sq_psn=0xFFFFFE)
            handle = self.do(end, "ah", dgid=(IP6 if ipv6 else IP)[1 - end], hop=9)["ah"]
            for size, op in itertools.product((0, 1, 3, 255, 1024, 4095, 4096),
                                              ("send", "send_imm")):
                with self.subTest(end=NAMES[end], ipv6=ipv6, size=size, op=op):
                    self.do(end, "fill", len=size, seed=size)
                    self.do(1 - end, "fill", len=5000, byte=UNTOUCHED)
                    self.do(1 - end, "recv", qp=made[1 - end]["qp"], len=40 + size, id=8)
                    imm = {"imm": 0x80000000 + size} if op == "send_imm" else {}
                    self.do(end, "send", op=op, qp=made[end]["qp"], len=size, id=9, ah=handle,
                            dqpn=made[1 - end]["qpn"], **imm)
                    self.succeed(end, [{"id": 9, "opcode": "SEND"}])
                    self.succeed(1 - end, [{"id": 8, "opcode": "RECV", "len": 40 + size, "grh": 1,
                                            "src_qp": made[end]["qpn"], "imm": imm.get("imm")}])
                    self.holds(1 - end, off=40, len=size, seed=size)
                    self.holds(1 - end, off=40 + size, len=100, byte=UNTOUCHED)
                    self.header(1 - end, ipv6, 24 + 4 * len(imm) + -(-size // 4) * 4)

    def header(self, end, ipv6, size):
        """The first 40 bytes of a datagram tell who sent it and with which hop limit.

        size: of what follows UDP: BTH, DETH, immediate, payload and its padding, ICRC.
        """
        hops = 9 if end == GUEST else 64  # Linux takes that of its route
        grh = bytes.fromhex(self.do(end, "peek", len=40)["hex"])
        if ipv6:
            self.assertEqual(grh[8:40], b"".join(socket.inet_pton(socket.AF_INET6, IP6[one])
                                                 for one in (1 - end, end)))
            self.assertEqual((grh[0] >> 4, *struct.unpack("!HBB", grh[4:8])),
                             (6, 8 + size, socket.IPPROTO_UDP, hops))
        else:
            self.assertEqual(grh[32:40], socket.inet_aton(IP[1 - end]) + socket.inet_aton(IP[end]))
            self.assertEqual((grh[20] >> 4, *struct.unpack("!HBB", grh[22:24] + grh[28:30])),
                             (4, 28 + size, hops, socket.IPPROTO_UDP))


if __name__ == "__main__":
    guest.require()
    unittest.main(verbosity=2)
