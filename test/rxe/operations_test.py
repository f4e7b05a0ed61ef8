#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Our card and Linux's software RoCE: every operation, from either end to the other.

Memory is compared byte by byte at both ends, what lies between the messages too; completions come
in order with the status and length they should have.
"""

import unittest

import guest
from meet import ENDS, FIRST_PSN, GUEST, IP, IP6, NAMES, OPCODES, TAKES_RECV, UNTOUCHED, CARD, \
    Meeting

GAP = 64  # bytes between messages that nothing may touch


class ReliableTest(Meeting):
    def test_one_write(self):
        for end in ENDS:
            with self.subTest(end=NAMES[end]):
                qps, _ = self.join()
                self.do(end, "fill", len=5000, seed=7)
                self.do(1 - end, "fill", len=6000, byte=UNTOUCHED)
                self.do(end, "send", op="write", qp=qps[end], len=5000, id=3,
                        **self.far(1 - end, 500))
                self.succeed(end, [{"id": 3, "opcode": "RDMA_WRITE"}])
                self.holds(1 - end, off=500, len=5000, seed=7)
                self.holds(1 - end, len=500, byte=UNTOUCHED)
                self.holds(1 - end, off=5500, len=500, byte=UNTOUCHED)


if __name__ == "__main__":
    guest.require()
    unittest.main(verbosity=2)
