#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The rig itself: a guest starts from its saved state, its agent does what it is told, and frames
go both ways. The peer is Python; the model's card meets the guest in the tests beside this one."""

import contextlib
import os
import queue
import shutil
import struct
import subprocess
import sys
import time
import unittest
import zlib

import guest
import image
import peer

WRITE_ONLY, ACK, SEND_ONLY, READ_RESPONSE_ONLY = 0x0A, 0x11, 0x04, 0x10
OUR_QPN, OUR_PSN, GUEST_PSN = 0x123456, 0xFFFFFF, 0x700000


class OneGuest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.guest = guest.Guest("rig", ip6="fd00::1/64").start()
        cls.addClassCleanup(cls.guest.stop)
        cls.peer = peer.Peer(cls.guest)
        cls.addClassCleanup(cls.peer.close)

    def setUp(self):
        self.guest.command("clear")
        with contextlib.suppress(queue.Empty):
            while True:
                self.peer.frames.get_nowait()

    def connected(self, address="10.0.0.99"):
        """A region of the guest and a queue pair of it that is connected to our peer."""
        region = self.guest.command("mr", len=4096)
        pair = self.guest.command("qp", type="rc")
        self.guest.command("connect", dqpn=OUR_QPN, dgid=address, sq_psn=GUEST_PSN,
                           rq_psn=OUR_PSN)
        return region, pair["qpn"]

    def refused(self, line):
        self.guest.post(line)
        with self.assertRaises(guest.AgentError) as caught:
            self.guest.answer()
        return str(caught.exception)

    def write(self, region, qpn, psn, data, version, spoil=False):
        reth = struct.pack(">QII", region["addr"] + 100, region["rkey"], len(data))
        self.peer.send_roce(WRITE_ONLY, qpn, psn, reth + data, version, spoil)

    def writes(self, address, version):
        region, qpn = self.connected(address)
        self.guest.command("fill", byte=0xEE)
        self.write(region, qpn, OUR_PSN, b"hello guest", version)
        answer = self.peer.next_roce()
        self.assertEqual((answer.opcode, answer.qpn, answer.psn, answer.icrc_right),
                         (ACK, OUR_QPN, OUR_PSN, True))
        self.assertEqual(answer.rest[0] >> 5, 0)  # positive
        self.assertEqual(self.guest.command("peek", off=99, len=13)["hex"],
                         (b"\xee" + b"hello guest" + b"\xee").hex())

    def test_write_into_the_guest_ipv4(self):
        self.writes("10.0.0.99", 4)
        self.assertGreater(self.peer.asked["arp"], 0)

    def test_write_into_the_guest_ipv6(self):
        self.writes("fd00::99", 6)
        self.assertGreater(self.peer.asked["neighbour"], 0)

    def test_a_spoiled_packet_is_not_taken(self):
        region, qpn = self.connected()
        self.write(region, qpn, OUR_PSN, b"spoiled", 4, spoil=True)
        with self.assertRaises(queue.Empty):
            self.peer.next_roce(0.3)
        self.assertEqual(self.guest.command("check", byte=0)["equal"], 1)
        self.write(region, qpn, OUR_PSN, b"whole", 4)
        self.assertEqual(self.peer.next_roce().opcode, ACK)

    def test_the_guest_sends(self):
        _, qpn = self.connected()
        self.guest.command("fill", seed=3)
        self.guest.command("send", op="send", off=8, len=5, id=77)
        packet = self.peer.next_roce()
        self.assertEqual((packet.opcode, packet.qpn, packet.psn, packet.pad, packet.icrc_right),
                         (SEND_ONLY, OUR_QPN, GUEST_PSN, 3, True))
        self.assertEqual(packet.rest[:5], peer.stream(3, 5, 8))
        self.assertEqual(self.guest.command("poll")["n"], 0)
        self.peer.send_roce(ACK, qpn, packet.psn, struct.pack(">I", 0x1F << 24 | 1))
        found = self.guest.command("poll", ms=5000)
        self.assertEqual(found["n"], 1)
        self.assertEqual((found["wc"][0]["id"], found["wc"][0]["status"],
                          found["wc"][0]["opcode"]), (77, "SUCCESS", "SEND"))

    def test_the_guest_reads(self):
        _, qpn = self.connected()
        self.guest.command("send", op="read", off=0, len=4, raddr=0x1000, rkey=0x42, id=78)
        asked = self.peer.next_roce()
        self.assertEqual(asked.rest, struct.pack(">QII", 0x1000, 0x42, 4))
        self.peer.send_roce(READ_RESPONSE_ONLY, qpn, asked.psn,
                            struct.pack(">I", 0x1F << 24 | 1) + b"data")
        found = self.guest.command("poll", ms=5000)["wc"][0]
        self.assertEqual((found["id"], found["status"], found["opcode"], found["len"]),
                         (78, "SUCCESS", "RDMA_READ", 4))
        self.assertEqual(self.guest.command("peek", len=4)["hex"], b"data".hex())

    def test_ping(self):
        echo = struct.pack(">BBHHH", 8, 0, 0, 7, 1) + b"are you there"
        echo = echo[:2] + struct.pack(">H", peer.checksum(echo)) + echo[4:]
        self.peer.send_ip(peer.ICMP, echo)
        answer = self.peer.next(lambda frame: frame[23] == peer.ICMP and frame[34:])
        self.assertEqual(answer[:1] + answer[4:21], b"\0" + echo[4:21])

    def test_memory_of_the_agent(self):
        """Its byte streams, comparison and CRC are those of Python."""
        self.guest.command("mr", len=5000)
        self.guest.command("fill", seed=12345, off=3, len=4001, **{"from": 5})
        wanted = peer.stream(12345, 4001, 5)
        self.assertEqual(self.guest.command("peek", off=3, len=4001)["hex"], wanted.hex())
        self.assertEqual(self.guest.command("hash", off=3, len=4001)["crc32"],
                         zlib.crc32(wanted))
        check = {"seed": 12345, "off": 3, "len": 4001, "from": 5}
        self.assertEqual(self.guest.command("check", **check)["equal"], 1)
        self.guest.command("poke", off=103, hex=f"{wanted[100] ^ 1:02x}")
        self.assertEqual(self.guest.command("check", **check),
                         {"equal": 0, "at": 100, "want": wanted[100], "have": wanted[100] ^ 1})
        self.assertIn("5000 bytes", self.refused("peek off=4000 len=1001"))

    def test_objects(self):
        """Of every kind one, used where a peer is not needed, and destroyed."""
        region = self.guest.command("mr", len=4096, access="lwrb")
        window = self.guest.command("mw")
        self.guest.command("srq")
        self.guest.command("recv", srq=0, len=64, n=3)
        self.guest.command("cq")
        self.guest.command("pd")
        self.guest.command("ah", dgid="10.0.0.99")
        for number, kind in enumerate(("rc", "uc", "ud")):
            words = {"srq": 0} if kind == "rc" else {}
            pair = self.guest.command("qp", type=kind, scq=1, **words)
            self.assertEqual(pair["qp"], number)
            self.guest.command("connect", qp=number, dgid="10.0.0.99", dqpn=OUR_QPN)
            self.assertEqual(self.guest.command("query", qp=number)["state"], "rts")
        bound = self.guest.command("send", op="bind", off=64, len=128, access="w", id=5)
        self.assertEqual(bound["rkey"], (window["rkey"] & ~0xFF) | (window["rkey"] + 1 & 0xFF))
        found = self.guest.command("poll", cq=1, ms=5000)["wc"][0]
        self.assertEqual((found["id"], found["status"], found["opcode"]),
                         (5, "SUCCESS", "BIND_MW"))
        self.guest.command("recv", qp=1, len=64, id=8)
        self.guest.command("modify", qp=1, to="err")
        self.assertEqual(self.guest.command("poll", cq=1, ms=5000)["wc"][0]["status"],
                         "WR_FLUSH_ERR")
        self.assertIn("there is no mr=1", self.refused("destroy mr=1"))
        self.assertIn("Device or resource busy", self.refused("destroy pd=0"))
        self.guest.command("destroy", qp=2)
        self.assertIn("there is no qp=2", self.refused("query qp=2"))
        self.assertEqual(self.guest.command("clear"), {"pd": 0, "cq": 0})
        self.assertIn("there is no mr=0", self.refused("peek len=1"))
        self.assertNotEqual(region["rkey"], self.guest.command("mr", len=4096)["rkey"])

    def test_an_event_of_the_device(self):
        """The limit of a shared queue is told once it falls below."""
        self.guest.command("mr", len=4096)
        self.guest.command("srq", limit=2)
        self.guest.command("recv", srq=0, len=64, n=2)
        pair = self.guest.command("qp", type="rc", srq=0)
        self.guest.command("connect", dqpn=OUR_QPN, dgid="10.0.0.99", rq_psn=OUR_PSN)
        self.assertEqual(self.guest.command("async"), {})
        self.peer.send_roce(SEND_ONLY, pair["qpn"], OUR_PSN, b"one")
        self.assertEqual(self.guest.command("poll", ms=5000)["wc"][0]["len"], 3)
        self.assertEqual([event["text"] for event in self.guest.command("async")["event"]],
                         ["SRQ-limit-reached"])

    def test_wrong_lines(self):
        self.assertIn("unknown command dance", self.refused("dance"))
        self.assertIn("unknown key lenght", self.refused("mr lenght=1"))
        self.assertIn("len=1x is not a number", self.refused("mr len=1x"))
        self.assertIn("not KEY=VALUE", self.refused("mr 4096"))
        self.assertIn("there is no qp=0", self.refused("send op=send"))
        self.guest.command("qp", type="rc")
        self.assertIn("op=:", self.refused("send op=sned"))
        self.assertIn("mtu=", self.refused("connect dgid=10.0.0.99 mtu=1000"))
        self.assertIn("dgid=", self.refused("connect dgid=10.0.0"))
        self.assertIn("Invalid argument", self.refused("modify to=rts"))
        self.assertIn("it is open", self.refused("open"))

    def test_shell(self):
        self.assertEqual(self.guest.shell("echo a; echo b >&2; exit 3"), (3, "a\nb"))


class Operations(unittest.TestCase):
    """Every operation of the agent, between two queue pairs of one guest, which is its own peer."""

    @classmethod
    def setUpClass(cls):
        cls.guest = guest.Guest("own-peer", mtu=4200).start()
        cls.addClassCleanup(cls.guest.stop)

    def setUp(self):
        self.guest.command("clear")
        self.region = [self.guest.command("mr", len=1 << 16, access="lwrab") for _ in range(2)]
        self.guest.command("fill", mr=0, seed=1)
        self.guest.command("cq")

    def pairs(self, kind):
        """Queue pair 0 sends and completes at cq=0, 1 receives and completes at cq=1."""
        pairs = [self.guest.command("qp", type=kind, scq=number) for number in range(2)]
        for number in range(2):
            self.guest.command("connect", qp=number, dgid="10.0.0.1", mtu=4096,
                               dqpn=pairs[1 - number]["qpn"])
        return pairs

    def does(self, op, opcode, **words):
        """Post on queue pair 0, see it complete. Returns the answer of the posting."""
        answer = self.guest.command("send", op=op, id=9, **words)
        found = self.guest.command("poll", ms=10000)
        self.assertEqual([(wc["id"], wc["status"], wc["opcode"]) for wc in found["wc"]],
                         [(9, "SUCCESS", opcode)])
        return answer

    def received(self, **wanted):
        found = self.guest.command("poll", cq=1, ms=10000)
        self.assertEqual(found["n"], 1)
        wc = found["wc"][0]
        self.assertEqual({key: wc.get(key) for key in wanted}, wanted)

    def arrived(self, off, length, start=0, **words):
        check = {"mr": 1, "seed": 1, "off": off, "len": length, "from": start, **words}
        self.assertEqual(self.guest.command("check", **check), {"equal": 1})

    def far(self, off):
        return {"raddr": self.region[1]["addr"] + off, "rkey": self.region[1]["rkey"]}

    def test_rc(self):
        self.pairs("rc")
        self.guest.command("recv", qp=1, mr=1, len=9000, n=3, step=10000, id=20)
        self.does("send", "SEND", len=8193, flags="s")
        self.received(id=20, status="SUCCESS", opcode="RECV", len=8193)
        self.does("send_imm", "SEND", len=10, imm=0x01020304)
        self.received(id=21, opcode="RECV", len=10, imm=0x01020304)
        self.does("write_imm", "RDMA_WRITE", len=100, imm=7, **self.far(40000))
        self.received(id=22, opcode="RECV_RDMA_WITH_IMM", len=100, imm=7)
        self.does("write", "RDMA_WRITE", off=64, len=64, flags="i", **self.far(40100))
        self.arrived(0, 8193)
        self.arrived(10000, 10)
        self.arrived(40000, 100)
        self.arrived(40100, 64, 64)
        self.guest.command("fill", mr=1, seed=1)
        self.does("read", "RDMA_READ", off=0, len=9000, **self.far(0))
        self.arrived(0, 9000, mr=0)

    def test_rc_many_at_once(self):
        self.pairs("rc")
        self.guest.command("send", op="write", n=16, len=1000, step=1000, rstep=2000, id=50,
                           **self.far(0))
        found = self.guest.command("poll", n=16, ms=10000)["wc"]
        self.assertEqual([wc["id"] for wc in found], list(range(50, 66)))
        for number in range(16):
            self.arrived(2000 * number, 1000, 1000 * number)

    def test_rc_atomics(self):
        self.pairs("rc")
        self.guest.command("poke", mr=1, hex=(1000).to_bytes(8, "little").hex())
        self.does("fetch_add", "FETCH_ADD", len=8, add=234, **self.far(0))
        self.does("cmp_swap", "COMP_SWAP", off=8, len=8, cmp=1234, swap=5, **self.far(0))
        values = [int.from_bytes(bytes.fromhex(self.guest.command("peek", len=8, **where)["hex"]),
                                 "little") for where in ({"off": 0}, {"off": 8}, {"mr": 1})]
        self.assertEqual(values, [1000, 1234, 5])

    def test_rc_window_and_invalidation(self):
        self.pairs("rc")
        self.guest.command("mw")
        # Bound by the receiver, to bytes 100 to 199 of its region.
        key = self.guest.command("send", qp=1, op="bind", mr=1, off=100, len=100, access="w",
                                 id=30)["rkey"]
        self.received(id=30, opcode="BIND_MW")
        there = {"raddr": self.region[1]["addr"] + 100, "rkey": key}
        self.does("write", "RDMA_WRITE", len=100, **there)
        self.arrived(100, 100)
        self.guest.command("recv", qp=1, mr=1, off=1000, len=10, id=31)
        self.does("send_inv", "SEND", len=10, inv=key)
        self.received(id=31, opcode="RECV", len=10)  # rxe 6.1 does not tell programs the key
        self.guest.command("send", op="write", len=100, id=32, **there)
        found = self.guest.command("poll", ms=10000)["wc"][0]
        self.assertEqual((found["id"], found["status"]), (32, "REM_ACCESS_ERR"))
        self.assertEqual(self.guest.command("query", qp=0)["state"], "err")

    def test_uc(self):
        self.pairs("uc")
        self.guest.command("recv", qp=1, mr=1, len=5000, n=2, step=5000, id=40)
        self.does("send", "SEND", len=5000)
        self.received(id=40, opcode="RECV", len=5000)
        self.does("write_imm", "RDMA_WRITE", len=30, imm=9, **self.far(20000))
        self.received(id=41, opcode="RECV_RDMA_WITH_IMM", len=30, imm=9)
        self.arrived(0, 5000)
        self.arrived(20000, 30)

    def test_ud(self):
        pairs = self.pairs("ud")
        self.guest.command("ah", dgid="10.0.0.1")
        self.guest.command("recv", qp=1, mr=1, len=4096, id=60)
        self.does("send_imm", "SEND", len=1000, imm=3, ah=0, dqpn=pairs[1]["qpn"])
        self.received(id=60, opcode="RECV", len=1040, imm=3, grh=1, src_qp=pairs[0]["qpn"])
        self.arrived(40, 1000)


class Program(unittest.TestCase):
    """guest.py as a command."""

    def test_without_qemu_it_is_skipped(self):
        done = subprocess.run([sys.executable, guest.__file__], env={"PATH": "/nowhere"},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (guest.SKIPPED, ""))
        self.assertRegex(done.stderr, r"^rxe: skipped: .*setup --live.*\n$")

    def test_lines_go_to_the_agent(self):
        lines = "mr len=16\nfill byte=1\npeek len=2\nsit\nquery qp=7\n"
        done = subprocess.run([sys.executable, guest.__file__], input=lines, capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^addr=0x\w+ rkey=0x\w+ lkey=0x\w+\nmr=0\nok\nok\n"
                         r"hex=0101\nok\nerror: unknown command sit\nerror: there is no qp=7\n$")

    def test_qemu_dies_with_its_test(self):
        text = "import guest, time; g = guest.Guest('x').start(); " \
               "print(g.process.pid, g.folder, flush=True); time.sleep(60)"
        folder = os.path.dirname(guest.__file__)
        with subprocess.Popen([sys.executable, "-c", text], cwd=folder, text=True,
                              stdout=subprocess.PIPE) as process:
            pid, left = process.stdout.readline().split()
            self.addCleanup(shutil.rmtree, left)
            process.kill()
        self.assertTrue(eventually(lambda: not os.path.exists(f"/proc/{pid}")
                                   or " Z " in image.read(f"/proc/{pid}/stat").decode()))


def eventually(true, limit_s=10):
    """Whether true() becomes so within the time."""
    end = time.monotonic() + limit_s
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


class TwoGuests(unittest.TestCase):
    def test_two_guests_on_one_line(self):
        """Each is the other's peer; Debian's own tool runs between them."""
        first = guest.Guest("first", "10.0.0.1/24")
        self.addCleanup(first.stop)
        second = guest.Guest("second", "10.0.0.2/24", local=first.peer, peer=first.local)
        self.addCleanup(second.stop)
        first.start()
        second.start()
        second.post("sh ibv_rc_pingpong -g 1 -n 20 -s 2000")
        deadline = time.monotonic() + 60
        while True:  # until the server listens
            status, text = first.shell("ibv_rc_pingpong -g 1 -n 20 -s 2000 10.0.0.2")
            if status == 0 or time.monotonic() > deadline:
                break
        self.assertIn("20 iters", text)
        self.assertEqual(second.answer()["status"], 0)


if __name__ == "__main__":
    guest.require()
    unittest.main(verbosity=2)
