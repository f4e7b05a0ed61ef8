# SPDX-License-Identifier: GPL-2.0-only
"""Who stands between our card and a guest: passes frames on, may change what goes, notes RoCE."""

import os
import socket
import threading

CARD, GUEST = 0, 1
READ_REQUEST, ACK, ATOMICS = 0x0C, 0x11, (0x13, 0x14)
READ_RESPONSES, ATOMIC_ACK = range(0x0D, 0x11), 0x12
PSNS = 1 << 24


class Packet:
    """A RoCE packet over IPv4; sender: the end it is from."""

    def __init__(self, sender, frame):
        bth = frame[42:]
        self.sender, self.opcode, self.psn = sender, bth[0], int.from_bytes(bth[9:12], "big")
        self.read_bytes = int.from_bytes(bth[24:28], "big")
        self.syndrome = bth[12]
        self.frame = frame


def roce(sender, frame):
    """Packet of a RoCE frame over IPv4, else None."""
    right = frame[12:14] == b"\x08\0" and frame[23] == 17 and frame[36:38] == b"\x12\xb7"
    return Packet(sender, frame) if right else None


class Relay:
    """Binds the peer of a guest; `line` are the sockets for a card.

    change(packet): which frames go on in its place. `log`: the packets that the card was given and
    those it sent, in order, whatever became of them. `given`: how many the card was given.
    """

    def __init__(self, guest):
        self.line = [os.path.join(guest.folder, name) for name in ("card.sock", "relay.sock")]
        self.log, self.given = [], 0
        self.change = None
        self.sockets = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2)]
        for one, path in zip(self.sockets, (self.line[1], guest.peer)):
            one.bind(path)
        self.targets = (guest.local, self.line[0])
        self.threads = [threading.Thread(target=self._serve, args=(end,), daemon=True)
                        for end in (CARD, GUEST)]
        for one in self.threads:
            one.start()

    def close(self):
        for one in self.sockets:
            one.shutdown(socket.SHUT_RDWR)
        for one in self.threads:
            one.join()
        for one in self.sockets:
            one.close()

    def _serve(self, end):
        """Frames of an end."""
        while frame := self.sockets[end].recv(1 << 16):
            packet = roce(end, frame)
            if packet and end == CARD:
                self.log.append(packet)
            frames = self.change(packet) if packet and self.change else [frame]
            for one in frames:
                if packet and end == GUEST:
                    self.log.append(roce(end, one))
                try:
                    self.sockets[end].sendto(one, self.targets[end])
                except OSError:  # nobody there yet, or no more
                    pass
                self.given += bool(packet) and end == GUEST


def owed(log, mtu):
    """What the card, as responder, has not answered of READs and atomics in the end.

    Returns (their PSNs, acknowledges it sent of PSNs not before one of those that it owed then).
    """
    waiting, early = set(), []
    for one in log:
        if one.sender == GUEST and one.opcode == READ_REQUEST:
            waiting |= {(one.psn + i) % PSNS for i in range(max(1, -(-one.read_bytes // mtu)))}
        elif one.sender == GUEST and one.opcode in ATOMICS:
            waiting.add(one.psn)
        elif one.sender == CARD and (one.opcode in READ_RESPONSES or one.opcode == ATOMIC_ACK):
            waiting.discard(one.psn)
        elif one.sender == CARD and one.opcode == ACK and one.syndrome >> 5 == 0:
            early += [one.psn for psn in waiting if (one.psn - psn) % PSNS < PSNS // 2]
    return waiting, early
