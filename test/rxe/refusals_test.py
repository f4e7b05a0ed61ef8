#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Our card and Linux's software RoCE: what either must refuse the other.

Where rxe does otherwise than the specification says, the case names the row of
test/replay/departures.md; a departure that has no row there fails.
"""

import itertools
import os
import time
import unittest

import guest
from meet import CARD, ENDS, GUEST, IP, NAMES, UNTOUCHED, WAIT_MS, Meeting, departures

SMALL = 4096  # bytes of the region that is asked for
ATOMICS = {"fetch_add": {"add": 1}, "cmp_swap": {"cmp": 0, "swap": 1}}
RETRIES = 7   # of connect, when nothing else is said
INVALID, ACCESS, OPERATION = "REM_INV_REQ_ERR", "REM_ACCESS_ERR", "REM_OP_ERR"
NAK = {INVALID: 0x61, ACCESS: 0x62, OPERATION: 0x63}
RIGHTS = {"write": "w", "read": "r", "fetch_add": "a", "cmp_swap": "a"}


class Refusing(Meeting):
    def setUp(self):
        super().setUp()
        for end in ENDS:
            self.do(end, "fill", len=2 * SMALL, seed=9)

    def small(self, end, **words):
        """A region of an end that no request may change."""
        region = self.do(end, "mr", len=SMALL, **words)
        self.do(end, "fill", mr=region["mr"], byte=UNTOUCHED)
        return region

    def statuses(self, end, n):
        return [(one["id"], one["status"]) for one in self.poll(end, n)]

    def state(self, end, qp):
        return self.do(end, "query", qp=qp)["state"]

    def until(self, qp, counter, least=1):
        """Wait until a counter of the card's queue pair is so high, or that is in error."""
        end_s = time.monotonic() + WAIT_MS / 1000
        while True:
            told = self.do(CARD, "query", qp=qp)
            if told[counter] >= least or told["state"] == "err":
                return
            self.assertLess(time.monotonic(), end_s, told)
            self.do(CARD, "wait", ms=1)

    def refused(self, end, status, op, *, region, qps=None, off=0, **words):
        """Two requests of an end: the first ends so, the other is flushed; both queue pairs are in
        error, the bytes of either end as before."""
        qps = qps or self.join()[0]
        words = {"raddr": region["addr"] + off, "rkey": region["rkey"], **ATOMICS.get(op, {}),
                 **words}
        if op in ATOMICS:
            words["len"] = 8
        self.do(end, "send", op=op, qp=qps[end], n=2, id=1, **words)
        found = self.poll(end, 2)
        self.assertEqual([(one["id"], one["status"]) for one in found],
                         [(1, status), (2, "WR_FLUSH_ERR")])
        if end == CARD:
            self.assertEqual(found[0]["syndrome"], NAK[status])
        else:
            self.assertEqual(self.do(CARD, "query", qp=qps[CARD])["naks_tx"], 1)
        self.assertEqual([self.state(one, qps[one]) for one in ENDS], ["err", "err"])
        if "mr" in region:
            self.holds(1 - end, mr=region["mr"], byte=UNTOUCHED)
        self.holds(end, len=2 * SMALL, seed=9)


class MemoryTest(Refusing):
    """Requests for memory that the other end does not give."""

    def each(self, case):
        """case(end, op) for either end and all operations on memory."""
        for end, op in itertools.product(ENDS, RIGHTS):
            with self.subTest(end=NAMES[end], op=op):
                case(end, op)

    def test_wrong_key(self):
        def case(end, op):
            region = self.small(1 - end)
            for wrong in (1, 0x5A00):
                self.refused(end, ACCESS, op, region=region, len=100, rkey=region["rkey"] ^ wrong)
        self.each(case)

    def test_region_has_ended(self):
        def case(end, op):
            region = self.small(1 - end)
            self.do(1 - end, "destroy", mr=region.pop("mr"))
            self.refused(end, ACCESS, op, region=region, len=100)
        self.each(case)

    def test_region_of_another_domain(self):
        def case(end, op):
            other = self.do(1 - end, "pd")["pd"]
            region = self.small(1 - end, pd=other)
            self.refused(end, ACCESS, op, region=region, len=100)
        self.each(case)

    def test_out_of_bounds(self):
        def case(end, op):
            region = self.small(1 - end)
            for off, length in ((SMALL, 8), (-8, 8), (SMALL - 7, 8), (1, SMALL), (2000, 3000)):
                if op not in ATOMICS or off % 8 == 0 and length == 8:
                    self.refused(end, ACCESS, op, region=region, off=off, len=length)
        self.each(case)

    def test_no_permission_of_the_region(self):
        def case(end, op):
            access = "lwra".replace(RIGHTS[op], "")
            self.refused(end, ACCESS, op, region=self.small(1 - end, access=access), len=100)
        self.each(case)

    def test_no_permission_of_the_queue_pair(self):
        def case(end, op):
            qps, _ = self.join(access={1 - end: "lwra".replace(RIGHTS[op], "")})
            self.refused(end, INVALID, op, region=self.small(1 - end), qps=qps, len=100)
        self.each(case)

    def test_misaligned_atomic(self):
        for op, off in itertools.product(ATOMICS, (1, 4)):
            with self.subTest(op=op, off=off):
                self.refused(CARD, INVALID, op, region=self.small(GUEST), off=off)
                with self.assertRaisesRegex(guest.AgentError, "Invalid argument"):  # not sent
                    self.refused(GUEST, INVALID, op, region=self.small(CARD), off=off)

    def test_unreliable_write(self):
        """UC: refused without a word; nothing is written and the next message is taken."""
        for end in ENDS:
            region = self.small(1 - end)
            wrong = {"rkey": region["rkey"] ^ 0x100}, {"raddr": region["addr"] + SMALL - 50}
            for number, words in enumerate(wrong):
                with self.subTest(end=NAMES[end], words=words):
                    qps, _ = self.join("uc")
                    words = {"raddr": region["addr"], "rkey": region["rkey"], **words}
                    self.do(end, "send", op="write", qp=qps[end], len=100, id=1, **words)
                    self.do(1 - end, "recv", qp=qps[1 - end], len=100, off=SMALL, id=3)
                    self.do(end, "send", op="send", qp=qps[end], len=10 + number, id=2)
                    self.succeed(end, [{"id": 1}, {"id": 2}])
                    self.succeed(1 - end, [{"id": 3, "len": 10 + number}])
                    self.holds(1 - end, mr=region["mr"], byte=UNTOUCHED)


class ReceiveTest(Refusing):
    """SENDs, and WRITEs with immediate, that find no place."""

    def test_receive_comes_late(self):
        """Receive queue empty: RNR NAKs, one or many, and then the message is taken.

        A SEND of 5000 bytes is several packets; rxe's sequence NAK follows (row rnr-then-gap). One
        that comes while the card waits is nothing to it, one that comes later makes it try again
        at once and costs a retry: whether they are used up before the receive comes is up to how
        fast both machines are. Either end is right, an error only when there were enough of them.
        """
        self.assertIn("rnr-then-gap", departures())
        for end, length, op, naks in itertools.product(ENDS, (100, 5000), ("send", "write_imm"),
                                                       (1, 20)):
            with self.subTest(end=NAMES[end], length=length, op=op, naks=naks):
                qps, _ = self.join(min_rnr=10)
                self.do(end, "fill", len=length, seed=3)
                self.do(1 - end, "fill", len=length, byte=UNTOUCHED)
                words = {"imm": 7, **self.far(1 - end)} if op == "write_imm" else {}
                self.do(end, "send", op=op, qp=qps[end], len=length, id=1, **words)
                self.until(qps[CARD], "rnr_naks_rx" if end == CARD else "rnr_naks_tx", naks)
                self.do(1 - end, "recv", qp=qps[1 - end], len=length, id=2)
                sent = self.statuses(end, 1)
                if (end, length, op) == (CARD, 5000, "send") and sent == [(1, "RETRY_EXC_ERR")]:
                    told = self.do(CARD, "query", qp=qps[CARD])
                    self.assertGreater(told["naks_rx"] + told["timeouts"], RETRIES)
                    self.assertEqual(told["state"], "err")
                    continue  # and the guest's receive waits for ever
                self.assertEqual(sent, [(1, "SUCCESS")])
                self.succeed(1 - end, [{"id": 2, "len": length}])
                self.holds(1 - end, len=length, seed=3)
                self.assertEqual([self.state(one, qps[one]) for one in ENDS], ["rts", "rts"])

    def test_receive_does_not_come(self):
        """Tried again as often as agreed, then an error.

        When more follows what was refused, rxe's sequence NAK makes the card try before its time,
        and that is refused too (row rnr-then-gap).
        """
        for end, retries, (length, n) in itertools.product(ENDS, (0, 2),
                                                           ((100, 1), (100, 2), (5000, 2))):
            with self.subTest(end=NAMES[end], retries=retries, length=length, n=n):
                qps, _ = self.join(min_rnr=1, rnr_retry=retries)
                self.do(end, "send", op="send", qp=qps[end], len=length, n=n, id=1)
                self.assertEqual(self.statuses(end, n),
                                 [(1, "RNR_RETRY_EXC_ERR"), (2, "WR_FLUSH_ERR")][:n])
                told = self.do(CARD, "query", qp=qps[CARD])
                naks = told["rnr_naks_rx" if end == CARD else "rnr_naks_tx"]
                if end == CARD and n > 1:
                    self.assertGreater(naks, retries)
                else:
                    self.assertEqual(naks, retries + 1)
                self.assertEqual(self.state(end, qps[end]), "err")
                self.assertEqual(self.state(1 - end, qps[1 - end]), "rts")
                self.silent(1 - end)

    def test_send_is_too_long(self):
        """rxe answers NAK 3 and LOC_QP_OP_ERR (row long-send)."""
        self.assertIn("long-send", departures())
        answers = {CARD: (INVALID, "LOC_LEN_ERR"), GUEST: (OPERATION, "LOC_QP_OP_ERR")}
        for end, (room, length) in itertools.product(ENDS, ((99, 100), (0, 1), (2500, 3500))):
            with self.subTest(end=NAMES[end], room=room, length=length):
                qps, _ = self.join()
                region = self.small(1 - end)
                remote, local = answers[1 - end]
                for number in range(2):
                    self.do(1 - end, "recv", qp=qps[1 - end], mr=region["mr"], len=room, id=number)
                self.do(end, "send", op="send", qp=qps[end], len=length, n=2, id=5)
                self.assertEqual(self.statuses(end, 2), [(5, remote), (6, "WR_FLUSH_ERR")])
                self.assertEqual(self.statuses(1 - end, 2), [(0, local), (1, "WR_FLUSH_ERR")])
                self.assertEqual([self.state(one, qps[one]) for one in ENDS], ["err", "err"])
                self.holds(1 - end, mr=region["mr"], off=room, len=SMALL - room, byte=UNTOUCHED)

    def test_datagram_with_a_wrong_key(self):
        """UD: dropped without a word; the next is taken."""
        for end in ENDS:
            with self.subTest(end=NAMES[end]):
                made = [self.do(one, "qp", type="ud") for one in ENDS]
                for one in ENDS:
                    self.do(one, "connect", qp=made[one]["qp"])
                handle = self.do(end, "ah", dgid=IP[1 - end])["ah"]
                self.do(1 - end, "recv", qp=made[1 - end]["qp"], len=140, id=1)
                words = {"op": "send", "qp": made[end]["qp"], "ah": handle,
                         "dqpn": made[1 - end]["qpn"]}
                self.do(end, "send", len=100, qkey=0x12345, id=2, **words)
                self.do(end, "send", len=99, id=3, **words)
                self.succeed(end, [{"id": 2}, {"id": 3}])
                self.succeed(1 - end, [{"id": 1, "len": 139}])


class GoneTest(Refusing):
    """Nobody answers."""

    def nobody(self, end, qps):
        self.do(end, "send", op="send", qp=qps[end], len=100, n=2, id=1)
        self.assertEqual(self.statuses(end, 2), [(1, "RETRY_EXC_ERR"), (2, "WR_FLUSH_ERR")])
        self.assertEqual(self.state(end, qps[end]), "err")
        if end == CARD:
            self.assertEqual(self.do(CARD, "query", qp=qps[CARD])["timeouts"], 3)

    def test_queue_pair_is_destroyed(self):
        for end in ENDS:
            with self.subTest(end=NAMES[end]):
                qps, _ = self.join(timeout=12, retry=2)
                self.do(1 - end, "recv", qp=qps[1 - end], len=100)
                self.do(1 - end, "destroy", qp=qps[1 - end])
                self.nobody(end, qps)
                self.silent(1 - end)

    def test_window_of_a_queue_pair_that_is_destroyed(self):
        """Its key is worth nothing, in another queue pair neither.

        The guest takes its time (row bound-window) and is asked only when there is much of it.
        """
        self.assertIn("bound-window", departures())
        for end in ENDS if os.environ.get("RNIC_LONG") else (CARD,):
            with self.subTest(end=NAMES[end]):
                qps, _ = self.join()
                region = self.small(end, access="lwrab")
                window = self.do(end, "mw")["mw"]
                key = self.do(end, "send", op="bind", qp=qps[end], mw=window, mr=region["mr"],
                              len=SMALL, access="w", id=1)["rkey"]
                self.succeed(end, [{"id": 1, "opcode": "BIND_MW"}])
                self.do(end, "destroy", qp=qps[end])
                self.refused(1 - end, ACCESS, "write", region={**region, "rkey": key}, len=100)

    def test_queue_pair_is_in_error(self):
        for end in ENDS:
            with self.subTest(end=NAMES[end]):
                qps, _ = self.join(timeout=12, retry=2)
                self.do(1 - end, "recv", qp=qps[1 - end], len=100, id=9)
                self.do(1 - end, "modify", qp=qps[1 - end], to="err")
                self.assertEqual(self.statuses(1 - end, 1), [(9, "WR_FLUSH_ERR")])
                self.nobody(end, qps)


if __name__ == "__main__":
    guest.require()
    unittest.main(verbosity=2)
