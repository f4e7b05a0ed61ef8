#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""rnic-live as a program (options, commands, lines, end) and as a station among others."""

import contextlib
import io
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(os.path.dirname(HERE)))

import peer  # noqa: E402
from analysis.cli import live as front  # noqa: E402
from analysis.cli.common import Failure  # noqa: E402
from bridge import checksum  # noqa: E402
from peer import Live, Refused  # noqa: E402

DECODE = os.path.join(os.path.dirname(peer.PROGRAM), "rnic-decode")
WAIT_MS = 20000


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


    def test_damaged_frames(self):
        """Frames of captures and of these tests with bytes changed and cut: it stays alive."""
        seed = int(os.environ.get("RNIC_SEED", random.randrange(1 << 32)))
        dice = random.Random(seed)
        frames = [self.ours + self.MAC + struct.pack("!H", kind) + body for kind, body in (
            (0x0806, self.arp(1)), (0x0800, self.icmp4()),
            (0x86DD, self.icmp6(self.solicit(), target="ff02::1:ff00:1")),
            (0x86DD, self.icmp6(struct.pack("!BBHHH", 128, 0, 0, 7, 1) + b"hello")))]
        with open(os.path.join(peer.ROOT, "test", "vectors", "rc_atomics_values_vpeer.pcap"),
                  "rb") as file:
            data, at = file.read(), 24
        while at < len(data):
            n = struct.unpack_from("<I", data, at + 8)[0]
            frames.append(data[at + 16:at + 16 + n])
            at += 16 + n
        self.socket.setblocking(False)
        for _ in range(3000):
            frame = bytearray(dice.choice(frames))
            for _ in range(dice.randrange(4)):
                frame[dice.randrange(len(frame))] = dice.randrange(256)
            frame = frame[:dice.choice((len(frame), dice.randrange(1, len(frame) + 1)))]
            with contextlib.suppress(BlockingIOError):
                self.socket.send(frame)
            with contextlib.suppress(BlockingIOError):
                self.socket.recv(65536)
        with self.subTest(f"RNIC_SEED={seed}"):
            self.live.command("wait", ms=1)
            self.assertGreater(self.live.command("counters")["line"][0]["received"], 100)
            self.assertEqual(self.live.close(), 0)


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

    def test_every_key_of_a_region(self):
        """A key's last byte goes round, also through 0: that is a region like any."""
        live = Live(["--unix", *self.ends], 1)
        self.addCleanup(live.close)
        keys = set()
        for _ in range(300):
            live.command("clear")
            keys.add(live.command("mr", len=8)["rkey"])
            live.command("fill", byte=1)
        self.assertIn(0, keys)

    def test_doc_has_every_command(self):
        told = self.call("--unix", *self.ends, text="x\n").stdout
        names = re.search(r"commands are (.*), and operations", told).group(1).split()
        with open(os.path.join(peer.ROOT, "doc", "live.rst"), encoding="ascii") as file:
            listed = re.findall(r"^``(\w+)``", file.read(), re.M)
        self.assertEqual(sorted(set(names) - set(listed)), [])

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


class FrontTest(unittest.TestCase):
    """./rnic live, the part in Python."""

    SCRIPT = """
        m: guest mr len=4096
        q: guest qp type=rc
        mr len=4096                  # mine
        p: qp type=rc
        guest connect qp=$q.qp dqpn=$p.qpn dgid=10.0.0.1 rq_psn=100 sq_psn=200
        connect qp=$p.qp dqpn=$q.qpn dgid=10.0.0.2 rq_psn=200 sq_psn=100 timeout=10

        fill mr=0 seed=1
        write qp=0 mr=0 len=4096 raddr=$m.addr rkey=$m.rkey
        poll n=1 ms=20000
        guest check mr=0 seed=1
    """

    def face(self, text, *words):
        """Exit status (or Failure) and output of a script."""
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "script")
            with open(script, "w", encoding="ascii") as file:
                file.write(text)
            options = front.parser().parse_args(["--twin", "--script", script, *words])
            output = io.StringIO()
            with mock.patch.object(front, "PROGRAM", peer.PROGRAM), \
                    contextlib.redirect_stdout(output):
                try:
                    return front.face(options, front.card_arguments(options)), output.getvalue()
                except Failure as failure:
                    failure.text = str(failure).removeprefix(script)
                    return failure, output.getvalue()

    def test_twin(self):
        status, text = self.face(self.SCRIPT)
        self.assertEqual(status, 0)
        self.assertTrue(text.endswith("equal=1\nok\n"), text)
        status, text = self.face(self.SCRIPT, "--faults", "seed=3,loss=1")
        self.assertEqual(status, 0)
        self.assertIn("status=RETRY_EXC_ERR", text)
        self.assertIn("equal=0 at=0", text)

    def test_full_disk(self):
        """All went well but the capture."""
        failure, _ = self.face(self.SCRIPT, "--pcap", "/dev/full")
        self.assertIsInstance(failure, Failure)
        self.assertEqual(failure.status, 2)
        self.assertRegex(str(failure), "^--pcap /dev/full: ")

    def test_failures(self):
        for text, status, told in (("book\nguest nonsense", 1, ":2: unknown command"),
                                   ("a: mr\nwrite raddr=$b.addr", 2, ":2: $b.addr: no answer b"),
                                   ("a: mr\nwrite raddr=$a.qpn", 2, ":2: $a.qpn: no answer a"),
                                   ("mr len=x", 1, ":1: mr: len=x")):
            with self.subTest(text=text):
                failure, _ = self.face(text)
                self.assertIsInstance(failure, Failure)
                self.assertEqual(failure.status, status)
                self.assertTrue(failure.text.startswith(told), failure.text)
        failure, _ = self.face("book", "--mac", "x")
        self.assertEqual((failure.status, str(failure)[:7]), (2, "--mac x"))
        for words in ([], ["--twin", "--tap", "x"], ["--unix", "a", "b", "--guest"]):
            with self.assertRaisesRegex(Failure, "want one of"):
                front.line_arguments(front.parser().parse_args(words))

    def test_arguments(self):
        options = front.parser().parse_args(["--udp", "a:1", "b:2", "--in-flight", "5", "--pcap",
                                             "x", "--linger", "0"])
        self.assertEqual(front.line_arguments(options), ["--udp", "a:1", "b:2"])
        self.assertEqual(front.card_arguments(options),
                         ["--in-flight", "5", "--linger", "0", "--pcap", "x"])


def main():
    if sys.argv[1:] == ["--tap"]:
        ProgramTest("tap").tap()
    else:
        unittest.main()


if __name__ == "__main__":
    main()
