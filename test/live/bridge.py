# SPDX-License-Identifier: GPL-2.0-only
"""A running rnic-live-fabric and its lines as Python sees them, and frames to send there."""

import os
import re
import signal
import socket
import struct
import subprocess
import time
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(os.environ.get("RNIC_BUILD", os.path.join(ROOT, "build")), "examples",
                       "rnic-live-fabric")
LIMIT_S = 60  # only what hangs comes here
SEND_ONLY, WRITE_ONLY = 0x04, 0x0A  # of RC


def checksum(data):
    """RFC 1071; 0 over data that holds its own."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(source, to, protocol, body, tos=0, ttl=64, ip_id=1, flags=0x4000):
    head = struct.pack("!BBHHHBBH4s4s", 0x45, tos, 20 + len(body), ip_id, flags, ttl, protocol, 0,
                       socket.inet_aton(source), socket.inet_aton(to))
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + body


def ipv6(source, to, protocol, body, tos=0, ttl=64, label=0):
    return struct.pack("!IHBB16s16s", 6 << 28 | tos << 20 | label, len(body), protocol, ttl,
                       socket.inet_pton(socket.AF_INET6, source),
                       socket.inet_pton(socket.AF_INET6, to)) + body


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def ether(to, source, ethertype, body, least=60):
    """A frame without FCS, padded; ethertype may be a length or a tag and an ethertype."""
    kind = ethertype if isinstance(ethertype, bytes) else struct.pack("!H", ethertype)
    return (to + source + kind + body).ljust(least, b"\0")


def icrc(packet, udp):
    """Invariant CRC of an IP packet (no udp: GRH), which ends before it. IBTA A17.3.3, 7.8.1"""
    data = bytearray(packet)
    if data[0] >> 4 == 4:
        ip, masked = 20, (1, 8, 10, 11)
    else:
        ip, masked = 40, (1, 2, 3, 7)
        data[0] |= 0x0F
    for at in masked:
        data[at] = 0xFF
    if udp:
        data[ip + 6:ip + 8] = b"\xff\xff"
        ip += 8
    data[ip + 4] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + data))


def icrc_of(frame):
    """Is that of a whole untagged RoCEv2 frame right?"""
    length = struct.unpack_from("!H", frame, 16 if frame[12:14] == b"\x08\0" else 18)[0]
    end = 14 + length + (0 if frame[12:14] == b"\x08\0" else 40)
    return icrc(frame[14:end - 4], True) == frame[end - 4:end]


class Host:
    """One end of a queue pair outside: frames from it to another."""

    def __init__(self, n):
        self.mac, self.ip = bytes((2, 0x55, 0, 0, 0, n)), f"10.0.0.{n}"
        self.ip6 = f"fd00::{n:x}"

    def roce(self, to, payload=b"hello", opcode=SEND_ONLY, psn=0, v6=False, v1=False, sum_=0,
             resv=0, spoil=0, vlan=None, **words):
        """An RC packet. resv: reserved BTH bits; spoil: of the ICRC; words: of ipv4() or ipv6()"""
        pad = -len(payload) % 4
        bth = struct.pack("!BBHII", opcode, 0x40 | pad << 4, 0xFFFF, resv << 24 | 17, psn)
        if opcode == WRITE_ONLY:
            bth += struct.pack("!QII", 0x1000, 7, len(payload))
        body = bth + payload + bytes(pad) + bytes(4)
        if v1:
            packet = ipv6(self.ip6, to.ip6, 0x1B, body, **words)
        else:
            udp = struct.pack("!HHHH", 49152, 4791, 8 + len(body), sum_) + body
            packet = ipv6(self.ip6, to.ip6, 17, udp, **words) if v6 else \
                ipv4(self.ip, to.ip, 17, udp, **words)
        crc = bytearray(icrc(packet[:-4], not v1))
        crc[0] ^= spoil
        kind = struct.pack("!H", 0x8915 if v1 else 0x86DD if v6 else 0x0800)
        if vlan is not None:
            kind = struct.pack("!HH", 0x8100, vlan) + kind
        return ether(to.mac, self.mac, kind, packet[:-4] + crc)

    def other(self, to, body=b"other", ethertype=0x88B5):
        """Somebody else's frame, of the ethertype for experiments."""
        return ether(to, self.mac, ethertype, body)

    def arp(self, target, operation=1, to=b"\xff" * 6, target_mac=bytes(6)):
        return ether(to, self.mac, 0x0806, struct.pack("!HHBBH", 1, 0x0800, 6, 4, operation)
                     + self.mac + socket.inet_aton(self.ip) + target_mac
                     + socket.inet_aton(target))

    def echo(self, to_mac, to_ip, data, number=1):
        icmp = struct.pack("!BBHHH", 8, 0, 0, 7, number) + data
        icmp = icmp[:2] + struct.pack("!H", checksum(icmp)) + icmp[4:]
        return ether(to_mac, self.mac, 0x0800, ipv4(self.ip, to_ip, 1, icmp))


def counted(said):
    """The numbers of its last lines: {"line 1": {...}, "fabric": {...}, "pingpong": {...}}."""
    found = {}
    for name, words in re.findall(r"^(line \d+|fabric|pingpong): (.*)$", said, re.M):
        words = re.sub(r"out (\d+)", r"\1 out,", words)
        found[name] = {key.strip(" ,"): int(value)
                       for value, key in re.findall(r"(\d+) ([A-Za-z ]+)", words)}
    return found


class Fabric:
    """A running program; line i (from 0) leads to ours[i], from theirs[i]."""

    def __init__(self, folder, lines, *options):
        self.ours = [os.path.join(folder, f"host{i}") for i in range(lines)]
        self.theirs = [os.path.join(folder, f"port{i}") for i in range(lines)]
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [PROGRAM, *options, *(f"unix,{theirs},{ours}"
                                  for theirs, ours in zip(self.theirs, self.ours))],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.said = ""
        self.status = None
        end = time.monotonic() + LIMIT_S
        while not all(os.path.exists(path) for path in self.theirs):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the fabric does not start: {self.close()}")
            time.sleep(0.01)

    def close(self, how=signal.SIGINT):
        """End it. Returns all that it has said; status is set."""
        if self.status is None:
            if self.process.poll() is None:
                self.process.send_signal(how)
            try:
                self.said += self.process.communicate(timeout=LIMIT_S)[0]
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.said += self.process.communicate()[0]
            self.status = self.process.returncode
        return self.said

    def counted(self):
        """counted() of all it has said."""
        return counted(self.close())


class Wire:
    """Our end of a line."""

    def __init__(self, ours, theirs):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self.socket.bind(ours)
        self.socket.settimeout(LIMIT_S)
        self.theirs = theirs

    def send(self, frame):
        self.socket.sendto(frame, self.theirs)

    def receive(self):
        return self.socket.recv(1 << 17)

    def close(self):
        self.socket.close()
