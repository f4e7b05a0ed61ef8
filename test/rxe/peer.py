# SPDX-License-Identifier: GPL-2.0-only
"""The other end of a guest's line, in Python: who answers ARP and neighbour discovery, and RoCE
packets made byte by byte. It shares no code with the model; it proves the rig, not the card."""

import ipaddress
import os
import queue
import socket
import struct
import threading

import guest  # noqa: F401 pylint: disable=unused-import # the way to bridge.py
from bridge import checksum, icrc

ROCE_PORT = 4791
ARP, IPV4, IPV6 = 0x0806, 0x0800, 0x86DD
UDP, ICMP, ICMPV6 = 17, 1, 58


class Packet:
    """A RoCE packet that arrived: fields of its BTH, what follows it, whether its ICRC is right."""

    def __init__(self, ip):
        bth = ip[28:] if ip[0] >> 4 == 4 else ip[48:]
        self.opcode, self.psn = bth[0], int.from_bytes(bth[9:12], "big")
        self.pad, self.ack_req = bth[1] >> 4 & 3, bth[8] >> 7
        self.qpn = int.from_bytes(bth[5:8], "big")
        self.rest = bth[12:-4]
        self.icrc_right = icrc(ip[:-4], True) == ip[-4:]


class Peer:
    """Binds `peer` of a guest and is an address of its network.

    A thread answers ARP requests and neighbour solicitations; everything else waits in `frames`
    in the order of arrival.
    """

    def __init__(self, guest, ip="10.0.0.99", ip6="fd00::99", mac="02:00:00:00:00:99"):
        self.path, self.guest = guest.peer, guest.local
        self.guest_mac = bytes.fromhex(guest.mac.replace(":", ""))
        self.mac = bytes.fromhex(mac.replace(":", ""))
        self.ip, self.ip6 = ipaddress.ip_address(ip).packed, ipaddress.ip_address(ip6).packed
        self.guest_ip = [ipaddress.ip_interface(text).ip.packed for text in (guest.ip, guest.ip6)
                         if text]
        self.asked = {"arp": 0, "neighbour": 0}
        self.frames = queue.Queue()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.socket.close()
        os.unlink(self.path)

    def send(self, frame):
        """A frame without FCS; short ones are padded."""
        self.socket.sendto(frame.ljust(60, b"\0"), self.guest)

    def _serve(self):
        while frame := self.socket.recv(1 << 16):
            kind = int.from_bytes(frame[12:14], "big")
            if kind == ARP and frame[20:22] == b"\0\1" and frame[38:42] == self.ip:
                self.asked["arp"] += 1
                self.send(frame[6:12] + self.mac + frame[12:20] + b"\0\2" + self.mac + self.ip
                          + frame[22:32])
            elif kind == IPV6 and frame[20] == ICMPV6 and frame[54] == 135 \
                    and frame[62:78] == self.ip6:
                self.asked["neighbour"] += 1
                self._advertise(frame)
            else:
                self.frames.put(frame)

    def _advertise(self, frame):
        """Answer a neighbour solicitation: solicited, override, our MAC."""
        body = b"\x88\0\0\0\x60\0\0\0" + self.ip6 + b"\2\1" + self.mac
        pseudo = self.ip6 + frame[22:38] + struct.pack(">II", len(body), ICMPV6)
        body = body[:2] + struct.pack(">H", checksum(pseudo + body)) + body[4:]
        head = struct.pack(">IHBB", 6 << 28, len(body), ICMPV6, 255)
        self.send(frame[6:12] + self.mac + frame[12:14] + head + self.ip6 + frame[22:38] + body)

    # ---- what tests send and receive ----

    def send_ip(self, protocol, body, version=4):
        """An IP packet of ours to the guest."""
        self.send(self._frame(self._ip(protocol, body, version)))

    def send_roce(self, opcode, qpn, psn, rest, version=4, spoil=False):
        """A packet that asks for an ACK; rest is what follows the BTH, without padding.

        spoil: one bit of it changes on the line, so that the ICRC is wrong.
        """
        pad = -len(rest) % 4
        bth = struct.pack(">BBHII", opcode, pad << 4, 0xFFFF, qpn, 1 << 31 | psn)
        body = bth + rest + bytes(pad)
        udp = struct.pack(">HHHH", 0xC000, ROCE_PORT, 8 + len(body) + 4, 0)
        packet = self._ip(UDP, udp + body, version, 4)
        tail = icrc(packet, True)
        if spoil:
            packet = packet[:-1] + bytes([packet[-1] ^ 1])
        self.send(self._frame(packet + tail))

    def next(self, accept, limit_s=10):
        """The next frame for which accept(frame) says something; others are passed over."""
        while True:
            frame = self.frames.get(timeout=limit_s)
            if found := accept(frame):
                return found

    def next_roce(self, limit_s=10):
        """The next RoCE packet. Raises queue.Empty."""
        return self.next(roce, limit_s)

    def _ip(self, protocol, body, version, tail=0):
        length = len(body) + tail
        if version == 4:
            head = struct.pack(">BBHIBBH", 0x45, 0, 20 + length, 0x4000, 64, protocol, 0)
            head += self.ip + self.guest_ip[0]
            return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + body
        head = struct.pack(">IHBB", 6 << 28, length, protocol, 64)
        return head + self.ip6 + self.guest_ip[1] + body

    def _frame(self, ip):
        kind = IPV4 if ip[0] >> 4 == 4 else IPV6
        return self.guest_mac + self.mac + struct.pack(">H", kind) + ip


def roce(frame):
    """Packet of a RoCE frame, else None."""
    kind = int.from_bytes(frame[12:14], "big")
    if kind == IPV4 and frame[23] == UDP and frame[36:38] == struct.pack(">H", ROCE_PORT):
        return Packet(frame[14:14 + int.from_bytes(frame[16:18], "big")])
    if kind == IPV6 and frame[20] == UDP and frame[56:58] == struct.pack(">H", ROCE_PORT):
        return Packet(frame[14:54 + int.from_bytes(frame[18:20], "big")])
    return None


def stream(seed, length, start=0):
    """The bytes that the agent's seed stands for (agent-memory.c)."""
    mask = (1 << 64) - 1
    out = bytearray()
    for word in range(start // 8, (start + length + 7) // 8):
        z = seed + (word + 1) * 0x9E3779B97F4A7C15 & mask
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        out += (z ^ z >> 31).to_bytes(8, "little")
    return bytes(out[start % 8:start % 8 + length])
