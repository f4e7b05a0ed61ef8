#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Our card and Linux's software RoCE on a line that loses, repeats, reorders, spoils and delays.

    faults_test.py [--seeds FIRST-LAST] [unittest arguments]

From a seed come the faults (rnic-live strikes frames of both directions), what both ends ask of
each other at the same time, and whether the card's receives come late. Everything completes once,
in order and with success, and memory is what it should be at both ends, also when the last delayed
frame has come. The guest's receives are never late: by the sequence NAKs that follow its RNR NAKs
(test/replay/departures.md, row rnr-then-gap) retries are used up in no time.
"""

import itertools
import os
import random
import signal
import struct
import sys
import time
import unittest

import guest
import relay
from meet import (CARD, ENDS, FIRST_PSN, GUEST, IP, IP6, NAMES, OPCODES, TAKES_RECV, UNTOUCHED,
                  WAIT_MS, Meeting, departures)

SEEDS = range(1, 201) if os.environ.get("RNIC_LONG") else range(1, 11)
MIB = 1 << 20
# Parts of a requester's region, and of its peer's.
SOURCE, RESULT, TARGET, OFFERED, COUNTER = 0, MIB, 2 * MIB, 3 * MIB, 4 * MIB - 8
GAP = 64
REQUESTS = 40
RATES = {"loss": 0.02, "dup": 0.02, "reorder": 0.02, "corrupt": 0.02, "delay": 0.01}
# Timeout of the queue pairs and a delay past it: 268 and 1074 ms. Seeds of the two take turns, as
# 200 of the second alone take 11 minutes.
TIMES = ((16, 400), (18, 1200))


class Plan:
    """What one end asks of the other: requests with their places, and what must come of them."""

    def __init__(self, dice, mtu):
        self.seed = dice.getrandbits(32)
        self.requests, self.off, counter = [], GAP, 0
        for number in range(REQUESTS):
            op = dice.choice(("send", "send_imm", "write", "write_imm", "read", "read",
                              "fetch_add", "cmp_swap"))
            size = dice.choice((0, 1, 3, mtu - 1, mtu, mtu + 1, 3 * mtu + 1, 5000))
            request = {"op": op, "id": 1000 + number}
            if op in ("fetch_add", "cmp_swap"):
                size = 8
                request["found"] = counter
            if op == "fetch_add":
                request["words"] = {"add": 1 + number}
                counter += 1 + number
            elif op == "cmp_swap":  # every other one finds another value and changes nothing
                right = dice.random() < 0.5
                request["words"] = {"cmp": counter if right else counter + 1, "swap": number}
                counter = number if right else counter
            elif op.endswith("_imm"):
                request["words"] = {"imm": dice.getrandbits(32)}
            self.requests.append({"words": {}, **request, "off": self.off, "len": size})
            self.off += -(-(size + GAP) // 8) * 8
        self.counter = counter

    def sent(self):
        """Completions at the requester."""
        return [(one["id"], OPCODES[one["op"]]) for one in self.requests]

    def received(self):
        """Completions at the peer."""
        return [(one["id"], one["len"], one["words"].get("imm")) for one in self.requests
                if one["op"] in TAKES_RECV]


class FaultsTest(Meeting):
    def prepare(self, end, plan):
        """Bytes of both ends."""
        for one, off, words in ((end, SOURCE, {"seed": plan.seed}),
                                (end, RESULT, {"byte": UNTOUCHED}),
                                (1 - end, TARGET, {"byte": UNTOUCHED}),
                                (1 - end, OFFERED, {"seed": plan.seed + 1})):
            self.do(one, "fill", off=off, len=plan.off, **words)
        self.do(1 - end, "poke", off=COUNTER, hex="00" * 8)

    def receive(self, end, plan, qp):
        """Receives of the peer's queue pair for what this end sends."""
        for one in plan.requests:
            if one["op"] in TAKES_RECV:
                room = 0 if one["op"] == "write_imm" else one["len"]
                self.do(1 - end, "recv", qp=qp, off=TARGET + one["off"], len=room, id=one["id"])

    def post(self, end, one, qp):
        words = dict(one["words"])
        local = SOURCE
        if one["op"] in ("fetch_add", "cmp_swap"):
            local, words = RESULT, {**words, **self.far(1 - end, COUNTER)}
        elif one["op"] == "read":
            local, words = RESULT, {**words, **self.far(1 - end, OFFERED + one["off"])}
        elif one["op"] in ("write", "write_imm"):
            words.update(self.far(1 - end, TARGET + one["off"]))
        self.do(end, "send", op=one["op"], qp=qp, off=local + one["off"], len=one["len"],
                id=one["id"], **words)

    def completed(self, plans, qpns):
        """All completions, of requests and of receives."""
        for end in ENDS:
            sent, received = plans[end].sent(), plans[1 - end].received()
            found = self.poll(end, len(sent) + len(received))
            self.assertEqual({one["status"] for one in found}, {"SUCCESS"}, found)
            asked = [one for one in found if not one["opcode"].startswith("RECV")]
            self.assertEqual([(one["id"], one["opcode"]) for one in asked], sent)
            self.assertEqual({one["qpn"] for one in asked}, {qpns[end][end]})
            self.assertEqual([(one["id"], one["len"], one.get("imm")) for one in found
                              if one["opcode"].startswith("RECV")], received)

    def remembered(self, end, plan):
        """Bytes of both ends after the requests of one."""
        far = 1 - end
        self.holds(end, off=SOURCE, len=plan.off, seed=plan.seed)
        self.holds(far, off=OFFERED, len=plan.off, seed=plan.seed + 1)
        self.assertEqual(self.do(far, "peek", off=COUNTER, len=8)["hex"],
                         struct.pack("<Q", plan.counter).hex())
        behind = {(end, RESULT): 0, (far, TARGET): 0}
        for one in plan.requests:
            off, size = one["off"], one["len"]
            place = (far, TARGET) if one["op"] in (*TAKES_RECV, "write") else (end, RESULT)
            gap = behind[place]
            self.holds(place[0], off=place[1] + gap, len=off - gap, byte=UNTOUCHED)
            if "found" in one:
                self.assertEqual(self.do(end, "peek", off=RESULT + off, len=8)["hex"],
                                 struct.pack("<Q", one["found"]).hex(), one)
            else:
                self.holds(place[0], off=place[1] + off, len=size, **{"from": off},
                           seed=plan.seed + (one["op"] == "read"))
            behind[place] = off + size
        for (one, part), gap in behind.items():
            self.holds(one, off=part + gap, len=plan.off - gap, byte=UNTOUCHED)

    def run_seed(self, seed):
        dice = random.Random(seed)
        timeout, delay_ms = TIMES[seed % 2]
        mtu = dice.choice((256, 1024, 4096))
        plans = [Plan(dice, mtu) for _ in ENDS]
        words = {"ipv6": dice.random() < 0.5, "mtu": mtu, "timeout": timeout}
        first = self.join(**words)
        second = first if dice.random() < 0.5 else self.join(**words)
        qps, qpns = zip(first, second)  # of the card's requests, of the guest's
        late = dice.random() < 0.3
        for end in ENDS:
            self.prepare(end, plans[end])
        self.receive(CARD, plans[CARD], qps[CARD][GUEST])
        if not late:
            self.receive(GUEST, plans[GUEST], qps[GUEST][CARD])
        self.do(CARD, "faults", seed=seed, delay_ms=delay_ms, **RATES)
        for number, end in itertools.product(range(REQUESTS), ENDS):
            self.post(end, plans[end].requests[number], qps[end][end])
        if late:
            self.receive(GUEST, plans[GUEST], qps[GUEST][CARD])
        self.completed(plans, qpns)
        self.do(CARD, "faults")
        self.do(CARD, "wait", ms=delay_ms)  # the last delayed frames do no harm
        for end in ENDS:
            self.silent(end)
            self.remembered(end, plans[end])
            for pair in qps:
                self.assertEqual(self.do(end, "query", qp=pair[end])["state"], "rts", NAMES[end])
        return self.do(CARD, "query", qp=qps[GUEST][CARD])["rnr_naks_tx"]

    def test_seeds(self):
        rnr_naks = 0
        for seed in SEEDS:
            with self.subTest(seed=seed):
                self.setUp()
                rnr_naks += self.run_seed(seed)
        if len(SEEDS) < 10:  # too few for all to happen
            return
        self.assertGreater(rnr_naks, 0)
        struck = self.do(CARD, "counters")["faults"]
        for one, name in itertools.product(struck, RATES):
            self.assertGreater(one[name], 0, (one["dir"], name))


class UnreliableTest(Meeting):
    """UC and UD: nothing is sent again, so what the line strikes is lost, doubled or late. What
    completes at the receiver is a message of the sender, whole and right.

    A message is known by its length. UC takes every packet that begins a message (9.8.2): those of
    one packet come twice or late as the line made them, and break one that is open. Behind a WRITE
    that was broken so, rxe takes nothing more (row uc-broken-write of the departures): every other
    seed has WRITEs of one packet only from the card, the others end for the guest where it does.
    """

    RECEIVES = 64
    MORE = 10000  # id of what comes behind the faults

    def sizes(self, dice, kind, mtu):
        """Each is another: classes of lengths that do not meet."""
        classes = [0, mtu - REQUESTS] + ([mtu + 1, 3 * mtu] if kind == "uc" else [])
        return [dice.choice(classes) + number for number in range(REQUESTS)]

    def open(self, dice, kind, mtu):
        """Receives and requests of both ends; returns the requests by end."""
        self.room = 3 * mtu + REQUESTS if kind == "uc" else mtu + self.grh
        plans = []
        for end in ENDS:
            ops = ("send", "send_imm") + (("write", "write_imm") if kind == "uc" else ())
            plans.append([])
            psn = 0
            for number, size in enumerate(self.sizes(dice, kind, mtu)):
                one = {"number": number, "op": dice.choice(ops), "len": size, "psn": psn, "off":
                       number * (3 * mtu + REQUESTS + GAP), "imm": dice.getrandbits(32)}
                if self.seed % 2 == 0 and end == CARD and size > mtu:
                    one["op"] = dice.choice(ops[:2])
                plans[-1].append(one)
                psn += max(1, -(-size // mtu))
            self.do(end, "fill", off=SOURCE, len=MIB, seed=2 * self.seed + end)
            self.do(end, "fill", off=RESULT, len=2 * MIB, byte=UNTOUCHED)
            self.do(end, "recv", qp=self.qps[end], n=self.RECEIVES, off=RESULT + GAP,
                    len=self.room, step=self.room + GAP, id=0)
        return plans

    def connect(self, kind, mtu, ipv6):
        """Queue pairs of both ends, and words of their requests."""
        self.queues = [self.do(end, "cq")["cq"] for end in ENDS]  # of what is received
        made = [self.do(end, "qp", type=kind, swr=256, rwr=256, rcq=self.queues[end])
                for end in ENDS]
        self.qps = [one["qp"] for one in made]
        words = []
        for end in ENDS:
            address, qpn = (IP6 if ipv6 else IP)[1 - end], made[1 - end]["qpn"]
            more = {"dqpn": qpn, "dgid": address, "mtu": mtu} if kind == "uc" else {}
            self.do(end, "connect", qp=self.qps[end], sq_psn=FIRST_PSN[end],
                    rq_psn=FIRST_PSN[1 - end], **more)
            words.append({} if kind == "uc" else
                         {"dqpn": qpn, "ah": self.do(end, "ah", dgid=address)["ah"]})
        return words

    def post(self, end, one, words):
        words = dict(words)
        if one["op"].endswith("_imm"):
            words["imm"] = one["imm"]
        if one["op"].startswith("write"):
            words.update(self.far(1 - end, TARGET + one["off"]))
        self.do(end, "send", op=one["op"], qp=self.qps[end], off=SOURCE + one["off"],
                len=one["len"], id=one["number"], **words)

    def stuck(self, end, plan):
        """Whether the guest stands within a WRITE and will do so for ever."""
        if end != CARD:
            return False
        self.assertIn("uc-broken-write", departures())
        psn = self.do(GUEST, "query", qp=self.qps[GUEST])["rq_psn"]
        psn = (psn - FIRST_PSN[CARD]) % relay.PSNS
        open_one = [one for one in plan if one["psn"] < psn][-1]
        packets = -(-open_one["len"] // self.mtu)
        return open_one["op"].startswith("write") and psn < open_one["psn"] + packets

    def arrived(self, end, plan, words):
        """What has completed at the peer, after the faults: up to a SEND that is longer than all.

        The first of them may be lost, when a broken message is still open. Returns also whether
        there was an end to it: not where rxe is stuck.
        """
        found = []
        for number in range(3):
            self.do(end, "send", op="send", qp=self.qps[end], len=self.room - self.grh,
                    id=self.MORE + number, **words)
            self.succeed(end, [{"id": self.MORE + number}])
            while told := self.do(1 - end, "poll", cq=self.queues[1 - end], ms=1000).get("wc"):
                if told[0].get("len") == self.room:
                    return found, True
                found += told
            if self.stuck(end, plan):
                return found, False
        self.fail(f"{NAMES[end]}: nothing arrives any more")
        return found, False

    def right(self, end, plan, found, mtu):
        """Memory of the peer: messages that completed, parts of WRITEs. Returns their numbers."""
        far, seed = 1 - end, 2 * self.seed + end
        of_length = {one["len"] + self.grh: one for one in plan if one["op"] != "write"}
        numbers = []
        for place, told in enumerate(found):
            self.assertEqual((told["status"], told["id"]), ("SUCCESS", place), told)
            self.assertIn(told["len"], of_length)
            one = of_length[told["len"]]
            wanted = ("RECV_RDMA_WITH_IMM" if one["op"] == "write_imm" else "RECV",
                      one["imm"] if one["op"].endswith("_imm") else None)
            self.assertEqual((told["opcode"], told.get("imm")), wanted, told)
            off = TARGET + one["off"]
            if one["op"] != "write_imm":
                off = RESULT + GAP + place * (self.room + GAP) + self.grh
            self.holds(far, off=off, len=one["len"], seed=seed, **{"from": one["off"]})
            numbers.append(one["number"])
        for place in range(self.RECEIVES + 1):
            self.holds(far, off=RESULT + place * (self.room + GAP), len=GAP, byte=UNTOUCHED)
        for one in plan:
            if one["op"].startswith("write"):
                self.parts(far, one, mtu, seed)
        return numbers

    def parts(self, far, one, mtu, seed):
        """Each packet of a WRITE is there or is not."""
        off, end = one["off"], one["off"] + one["len"]
        self.holds(far, off=TARGET + end, len=GAP, byte=UNTOUCHED)
        for begin in range(off, end, mtu):
            place = {"off": TARGET + begin, "len": min(mtu, end - begin)}
            if not self.do(far, "check", seed=seed, **place, **{"from": begin})["equal"]:
                self.holds(far, byte=UNTOUCHED, **place)

    def struck(self):
        """Faults so far by sender."""
        return [{name: one[name] for name in RATES} for one in
                sorted(self.do(CARD, "counters")["faults"], key=lambda one: one["dir"] == "in")]

    def judge(self, kind, plan, numbers, faults):
        """How many came, and in which order."""
        lost = faults["loss"] + faults["corrupt"]
        late = faults["dup"] + faults["reorder"] + faults["delay"]
        behind = sum(number <= max(numbers[:i], default=-1) for i, number in enumerate(numbers))
        missing = {one["number"] for one in plan if one["op"] != "write"} - set(numbers)
        self.assertLessEqual(behind, late)
        self.assertLessEqual(len(numbers) - len(set(numbers)), faults["dup"])
        if kind == "ud":
            self.assertEqual(len(numbers), REQUESTS - lost + faults["dup"])
            self.assertLessEqual(len(missing), lost)
        else:  # what is struck, what it breaks, and in rxe the one that begins then
            self.assertLessEqual(len(missing), 3 * (lost + late))

    def run_seed(self, kind, seed):
        dice = random.Random(seed)
        self.seed = seed
        self.mtu = mtu = dice.choice((256, 1024, 4096))
        self.grh = 40 if kind == "ud" else 0
        words = self.connect(kind, mtu, dice.random() < 0.5)
        plans = self.open(dice, kind, mtu)
        before = self.struck()
        self.do(CARD, "faults", seed=seed, delay_ms=5, **RATES)
        for number, end in itertools.product(range(REQUESTS), ENDS):
            self.post(end, plans[end][number], words[end])
        for end in ENDS:
            self.succeed(end, [{"id": number} for number in range(REQUESTS)])
        self.do(CARD, "wait", ms=20)
        self.do(CARD, "faults")
        self.do(CARD, "wait", ms=20)  # for the last late frame; what comes now is not struck
        faults = self.struck()
        for end in ENDS:
            found, whole = self.arrived(end, plans[end], words[end])
            numbers = self.right(end, plans[end], found, mtu)
            if whole:
                self.judge(kind, plans[end], numbers,
                           {name: faults[end][name] - before[end][name] for name in RATES})
            self.assertEqual(self.do(end, "query", qp=self.qps[end])["state"], "rts")

    def test_seeds(self):
        for seed, kind in itertools.product(SEEDS, ("uc", "ud")):
            with self.subTest(seed=seed, kind=kind):
                self.setUp()
                self.run_seed(kind, seed)


class RepeatTest(Meeting):
    """What comes again, seen on the line: whatever the guest makes of it, the card is right."""

    MTU, LENGTH = 1024, 65536

    @classmethod
    def line(cls, linux):
        cls.relay = relay.Relay(linux)
        cls.addClassCleanup(cls.relay.close)
        return cls.relay.line

    def setUp(self):
        self.relay.change = None
        super().setUp()
        self.qps, _ = self.join(mtu=self.MTU)
        self.do(CARD, "fill", len=self.LENGTH, seed=7)
        self.do(GUEST, "fill", off=MIB, len=self.LENGTH, byte=UNTOUCHED)
        self.relay.log.clear()

    def read(self):
        """READ of the guest, to its end."""
        self.do(GUEST, "send", op="read", qp=self.qps[GUEST], off=MIB, len=self.LENGTH, id=2,
                **self.far(CARD))

    def done(self, sent):
        self.succeed(GUEST, sent)
        self.holds(GUEST, off=MIB, len=self.LENGTH, seed=7)
        self.silent(GUEST)
        self.assertEqual(relay.owed(list(self.relay.log), self.MTU), (set(), []))

    def test_part_of_a_read(self):
        """A response is lost: the guest asks for the rest, and gets all of it at once."""
        for number in (0, 1, 30, 62, 63):
            with self.subTest(number=number):
                self.setUp()
                lost = []

                def lose(packet, number=number, lost=lost):
                    if packet.opcode not in relay.READ_RESPONSES or lost or \
                            (packet.psn - FIRST_PSN[GUEST]) % relay.PSNS != number:
                        return [packet.frame]
                    lost.append(packet)
                    return []

                self.relay.change = lose
                self.read()
                self.done([{"id": 2, "opcode": "RDMA_READ", "len": self.LENGTH}])
                asked = [one for one in self.relay.log if one.opcode == relay.READ_REQUEST]
                self.assertEqual(len(lost), 1)
                self.assertIn(len(asked), range(2, 6))  # one, and what a busy host adds

    def test_late_repeat(self):
        """What was done before a READ comes again right behind it: acknowledged, but not the READ.

        The card stands still until both are at its door.
        """
        for op in ("write", "send", "fetch_add"):
            with self.subTest(op=op):
                self.setUp()
                words = {"write": {"len": 3000, **self.far(CARD, MIB)}, "send": {"len": 3000},
                         "fetch_add": {"len": 8, "add": 5, **self.far(CARD, 2 * MIB)}}[op]
                self.do(CARD, "recv", qp=self.qps[CARD], off=MIB, len=3000, id=8)
                self.do(GUEST, "send", op=op, qp=self.qps[GUEST], id=1, **words)
                self.succeed(GUEST, [{"id": 1}])
                last = [one for one in self.relay.log if one.sender == GUEST][-1]
                self.relay.change = lambda packet, last=last: [packet.frame] + [
                    last.frame for _ in range(packet.opcode == relay.READ_REQUEST)]
                given = self.relay.given
                self.ends[CARD].process.send_signal(signal.SIGSTOP)
                self.read()
                end_s = time.monotonic() + WAIT_MS / 1000
                while self.relay.given < given + 2 and time.monotonic() < end_s:
                    time.sleep(0.001)
                self.ends[CARD].process.send_signal(signal.SIGCONT)
                self.done([{"id": 2, "opcode": "RDMA_READ", "len": self.LENGTH}])
                self.assertEqual(self.do(CARD, "peek", off=2 * MIB, len=8)["hex"],
                                 struct.pack("<Q", 5 if op == "fetch_add" else 0).hex())


def main():
    global SEEDS  # pylint: disable=global-statement
    guest.require()
    if sys.argv[1:2] == ["--seeds"]:
        first, last = sys.argv[2].split("-")
        SEEDS = range(int(first), int(last) + 1)
        del sys.argv[1:3]
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
