# SPDX-License-Identifier: GPL-2.0-only
"""Inputs for the fuzzers of the card that reach deep states: seeds.py verbs|frames FOLDER.

libFuzzer finds long sequences of sensible steps slowly. Each seed here is written as the targets
read them (card_verbs_fuzz.c, card_frames_fuzz.c, fuzz_card.c): a connection of each service and
recovery, then messages of every kind over a good or a bad line. From them a corpus is grown and
minimised:

    python3 test/fuzz/seeds.py verbs SEEDS
    card_verbs_fuzz -max_total_time=600 GROWN SEEDS
    card_verbs_fuzz -merge=1 test/fuzz/corpus/card_verbs GROWN SEEDS
"""

import os
import random
import sys

WRITE, WRITE_IMM, SEND, SEND_IMM, READ, SWAP, ADD, LOCAL_INV, BIND, SEND_INV = range(10)
FENCE, SIGNALED, SOLICITED, INLINE = 1, 2, 4, 8
RC, UC, UD = range(3)
GO_BACK_N, GO_BACK_0, SELECTIVE = range(3)
NO_STATE, INIT, RTR, RTS, SQD, SQE, ERR = range(7)


def u32(value):
    return (value & 0xFFFFFFFF).to_bytes(4, "big")


def piece(length, key=0, at=0):
    """An entry of a list: length and place hang together in one number."""
    end = length * 16 % (32768 + 16) + length
    assert end <= (28672 if key in (0, 3) else 32768), "beyond the region"
    return u32((length & 0xFFFFF) << 12 | (at & 15) << 8 | key)


def pieces(*lengths, key=0):
    return bytes([len(lengths)]) + b"".join(piece(length, key) for length in lengths)


def send(opcode, lengths, flags=SIGNALED, rkey=0, at=0, window=0, length=4096, ah=0, peer=2,
         key=0):
    """What fuzz_post_send reads."""
    out = bytes([opcode, flags]) + pieces(*lengths, key=key) + bytes([8, rkey]) + u32(at)
    if opcode in (SWAP, ADD):
        return out + u32(5) + u32(7) + b"\1"
    if opcode == BIND:
        return out + bytes([window, 0, 3]) + u32(at) + u32(length) + bytes([14])
    out += bytes([ah, peer, 0])
    if opcode == LOCAL_INV:
        out += bytes([window])
    return out + (b"\1" * len(lengths) if flags & INLINE else b"")


MESSAGES = [
    (WRITE, (3000,)), (WRITE_IMM, (1025, 3)), (SEND, (2100,)), (SEND_IMM, (5000,)),
    (READ, (4100,)), (SWAP, ()), (ADD, ()), (SEND, ()), (READ, (1, 2, 3))]


class Verbs:
    """Steps of card_verbs_fuzz."""

    readable = 1  # number of the key that opens all memory, to read only

    def __init__(self, kind, recovery, shared=0, extra=0, small=0):
        self.out = bytes([0, 5, kind, small, small, 15, 15, shared, 1, recovery, extra])
        self.peer = 2

    def step(self, side, number, rest=b""):
        self.out += bytes([side, number]) + rest

    def post(self, side, *args, **named):
        self.out += bytes([side, 13, 0]) + send(*args, **named)

    def receive(self, side, *lengths, key=0):
        self.step(side, 11, bytes([0]) + pieces(*lengths, key=key))

    def shared(self, side, *lengths, limit=3):
        self.step(side, 8, bytes([0]) + pieces(*lengths) + bytes([limit]))

    def aside(self, dice):
        self.step(0, 15, bytes([0, 0]) + u32(0xFFFFFFFF))
        self.step(1, 9, bytes([0, dice.randrange(2)]))
        for _ in range(3):
            self.step(dice.randrange(2), 15, bytes([0, dice.randrange(0x20, 0x100)]))

    def line(self, loss, twist, closed=0):
        self.step(0, 10, bytes([loss, twist, loss ^ twist, closed, closed]))

    def run(self, power):
        self.step(0, 12, bytes([power]))

    def poll(self, side):
        self.step(side, 9, bytes([1, 0]))

    def modify(self, side, state, mask=0, r=0x11410100):
        self.step(side, 6, bytes([0]) + u32(r) + bytes([state, state, mask, 0]))

    def pages(self, side, hole=False):
        """Four pages and their key, the third one missing or not."""
        pages = bytes([0, 2, 0x80 if hole else 3, 1])
        self.step(side, 3, bytes([4, 0]) + u32(0) + u32(16000) + bytes([7, 31, 1]) + pages)


class Frames:
    """Steps of card_frames_fuzz; `which` is the connection."""

    readable = 7

    def __init__(self, which):
        self.which = which
        self.peer = 2 + which
        self.out = b""

    def step(self, side, number, rest=b""):
        self.out += bytes([side, self.which, number]) + rest

    def post(self, side, *args, **named):
        self.step(side, 0, b"\0" + send(*args, **named))

    def receive(self, side, *lengths, key=0):
        self.step(side, 1, pieces(*lengths, key=key))

    shared = receive

    def line(self, loss, twist, closed=0):
        self.step(0, 3, bytes([loss, twist, loss ^ twist, closed, closed]))

    def run(self, power):
        self.step(0, 2, bytes([power]))

    def poll(self, side):
        self.step(side, 3, bytes(5))

    def modify(self, side, state, mask=0):
        self.step(side, 0, bytes([0xF0, mask << 5 | state, 15]))

    def throw(self, side, opcode, psn, syndrome=0, msn=0, key=0, at=0, payload=1024):
        rest = bytes([side, self.which, 9, 2, opcode, psn & 0xFF, 16, syndrome, msn, 0, 0, key])
        rest += u32(at) + bytes([1, 1, 64, 1, 2])
        rest += bytes([1]) if payload == 1024 else bytes([0]) + u32(payload)
        self.step(side, 4, rest)


def messages(run, dice, shared):
    for side in (0, 1):
        for length in (5500, 5000, 1600, 60, 5500, 200):
            (run.shared if shared else run.receive)(side, length)
    for opcode, lengths in dice.sample(MESSAGES, 6):
        run.post(dice.randrange(2), opcode, lengths, flags=dice.choice((0, 1, 2, 3, 6, 7)),
                 at=dice.choice((dice.randrange(20000), 0x80000000)),
                 ah=dice.randrange(2), peer=run.peer,
                 key=dice.choice((0, 0, 3)))
        if dice.random() < 0.4:
            run.run(dice.randrange(14, 26))
    run.run(29)


def windows(run, dice):
    run.post(0, BIND, (), window=0, at=4096, length=8192)
    run.run(24)
    run.post(1, WRITE, (500,), at=0x80000000)  # ends within 8 bytes of the end of what is writable
    run.post(1, WRITE, (500,), rkey=8, at=5000)
    run.post(1, READ, (3000,), rkey=8, at=4096)
    run.receive(0, 100)
    run.run(27)
    if dice.random() < 0.5:
        run.post(1, SEND_INV, (8,))
    else:
        run.post(0, LOCAL_INV, (), window=0)
    run.run(27)
    run.post(1, WRITE, (500,), rkey=8, at=5000)
    run.run(28)


def forbidden(run, kind):
    """Writing where a key only lets read: by the peer, by a READ's answer, by a receive."""
    if kind == 0:
        run.post(1, WRITE, (500,), rkey=run.readable, at=29000)
    elif kind == 1:
        run.post(1, READ, (1900,), key=run.readable)
    else:
        run.receive(1, 1900, key=run.readable)
        run.post(0, SEND, (1600,), peer=run.peer)
    run.run(29)


def strange(run, dice):
    """Frames near the expected PSN, of all opcodes, and acknowledges of all kinds."""
    run.post(1, dice.choice((WRITE, READ, SEND, ADD)), (5500,))
    run.run(dice.randrange(12, 22))
    for _ in range(8):
        run.throw(dice.randrange(2), dice.randrange(32), dice.randrange(-3, 12),
                  syndrome=dice.choice((0, 31, 0x21, 0x60, 0x61, 0x62, 0x63, 0x64, 0x80)),
                  msn=dice.randrange(4), key=dice.randrange(8), at=dice.randrange(40000),
                  payload=dice.choice((1024, 1024, 0, 1, 500)))
    run.run(28)


def seeds(target):
    dice = random.Random(7)
    kinds = [(RC, GO_BACK_N, 0, 0), (RC, GO_BACK_N, 0, 1), (RC, GO_BACK_0, 0, 0),
             (RC, SELECTIVE, 0, 7), (RC, GO_BACK_N, 1, 0), (UC, GO_BACK_N, 0, 0),
             (UD, GO_BACK_N, 0, 0), (UD, GO_BACK_N, 1, 0)]
    for number in range(51):  # alone: a refusal ends the connection
        run = Verbs(RC, GO_BACK_N) if target == "verbs" else Frames(0)
        if number % 3 == 0:
            forbidden(run, number // 3 % 3)
        else:
            run.post(1, (WRITE, READ, WRITE)[number % 3], (500,), at=0x80000000 + number)
            run.run(29)
        yield run.out
    for number in range(160):
        kind, recovery, shared, extra = kinds[number % len(kinds)]
        which = {0: 0, 1: 0, 2: 1, 3: 2, 4: 3, 5: 4, 6: 5, 7: 5}[number % len(kinds)]
        if target == "verbs":
            run = Verbs(kind, recovery, shared, extra, 7 * (number > 150))
        else:
            run, shared = Frames(which), which == 3
        if dice.random() < 0.6:
            run.line(dice.choice((0, 40, 90)), dice.choice((0, 60, 200)))
        if target == "verbs":
            run.pages(0, hole=number % 16 == 0)
            run.pages(1)
            if number % 3 == 0:
                run.aside(dice)
        messages(run, dice, shared)
        part = number // len(kinds) % 5
        if part == 1:
            windows(run, dice)
        elif part == 2:
            run.post(0, WRITE, (5000,))
            run.modify(0, SQD, 1)
            run.post(0, SEND, (30,))
            run.run(27)
            run.modify(0, SQD, dice.randrange(3, 8))
            run.modify(0, RTS)
            messages(run, dice, shared)
        elif part == 3 and target == "frames":
            strange(run, dice)
        elif part == 4:
            run.line(0, 0, closed=0xFF)
            run.post(1, READ, (5500,))
            run.run(26)
            run.line(30, 100)
            messages(run, dice, shared)
        run.poll(0)
        run.poll(1)
        if part == 0:
            run.modify(1, ERR)
            messages(run, dice, shared)
        else:
            forbidden(run, number % 3)
        yield run.out


def main():
    target, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for number, text in enumerate(seeds(target)):
        with open(os.path.join(folder, f"seed-{number:03d}"), "wb") as file:
            file.write(text)


if __name__ == "__main__":
    main()
