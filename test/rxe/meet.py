# SPDX-License-Identifier: GPL-2.0-only
"""Our card (rnic-live) and a Linux guest on one line, for the tests of one against the other.

Both understand the same commands, so an end is a number: CARD or GUEST, and a case is written once
for both directions.
"""

import os
import re
import sys
import unittest

import guest

sys.path.insert(0, os.path.join(os.path.dirname(guest.__file__), "..", "live"))

from peer import Live, Refused  # noqa: E402 pylint: disable=wrong-import-position

CARD, GUEST = 0, 1
ENDS = (CARD, GUEST)
NAMES = ("card", "guest")
IP, IP6 = ("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")
FIRST_PSN = (0xFFFFFD, 0xFFFFF9)  # below the wrap
REGION = 4 << 20
WAIT_MS = 60000                   # no time is judged; only who hangs comes here
UNTOUCHED = 0xA5
OPCODES = {"send": "SEND", "send_imm": "SEND", "send_inv": "SEND", "write": "RDMA_WRITE",
           "write_imm": "RDMA_WRITE", "read": "RDMA_READ", "fetch_add": "FETCH_ADD",
           "cmp_swap": "COMP_SWAP"}
TAKES_RECV = ("send", "send_imm", "send_inv", "write_imm")
TABLE = os.path.join(os.path.dirname(guest.__file__), "..", "replay", "departures.md")


def departures():
    """Ids of the rows that tell where rxe departs from the specification."""
    with open(TABLE, encoding="utf-8") as file:
        return re.findall(r"^\| ([a-z-]+) \|", file.read(), re.M)


class Meeting(unittest.TestCase):
    """One card and one guest, the same for all tests of a class; each test finds them empty.

    CARD_WORDS: more options of rnic-live.
    """

    CARD_WORDS = ()

    @classmethod
    def setUpClass(cls):
        linux = guest.Guest("met", ip=IP[GUEST] + "/24", ip6=IP6[GUEST] + "/64", mtu=4200)
        cls.addClassCleanup(linux.stop)
        more = list(cls.CARD_WORDS)
        if "RNIC_LIVE_PCAP" in os.environ:
            more += ["--pcap", os.environ["RNIC_LIVE_PCAP"]]
        card = Live(["--unix", *cls.line(linux)], 1, "--ip6", IP6[CARD], *more)
        cls.addClassCleanup(card.close)
        linux.start()
        cls.ends = (card, linux)

    @classmethod
    def line(cls, linux):
        """Sockets of the card and of whom it talks to."""
        return linux.peer, linux.local

    def setUp(self):
        for end in ENDS:
            self.do(end, "clear")
        self.regions = [self.do(end, "mr", len=REGION) for end in ENDS]

    def do(self, end, name, **words):
        """Run a command at an end; returns its answer. Raises Refused or guest.AgentError."""
        return self.ends[end].command(name, **words)

    def join(self, kind="rc", ipv6=False, mtu=1024, access=None, **more):
        """A queue pair at both ends, connected. Returns their numbers and QPNs.

        access: {end: letters} of its queue pair; more: words of both connects.
        """
        made = [self.do(end, "qp", type=kind, swr=256, rwr=256, access=(access or {}).get(
            end, "lwra")) for end in ENDS]
        for end in ENDS:
            far = 1 - end
            words = {"sq_psn": FIRST_PSN[end], "rq_psn": FIRST_PSN[far], "timeout": 18, "mtu": mtu,
                     "dqpn": made[far]["qpn"], "dgid": (IP6 if ipv6 else IP)[far], **more}
            self.do(end, "connect", qp=made[end]["qp"], **words)
        return [one["qp"] for one in made], [one["qpn"] for one in made]

    def poll(self, end, n):
        """n completions of an end, in their order."""
        found = self.do(end, "poll", n=n, ms=WAIT_MS)
        self.assertEqual(found["n"], n, f"completions of the {NAMES[end]}: {found.get('wc')}")
        return found.get("wc", [])

    def succeed(self, end, wanted):
        """The next completions of an end are successes and have these words, in this order."""
        found = self.poll(end, len(wanted))
        for one, words in zip(found, wanted):
            seen = {key: one.get(key) for key in words}
            self.assertEqual((one["status"], seen), ("SUCCESS", words),
                             f"completions of the {NAMES[end]}: {found}")

    def silent(self, end):
        """Nothing more completes at an end."""
        self.assertEqual(self.do(end, "poll", n=1)["n"], 0)

    def holds(self, end, **words):
        """The bytes of an end are those that fill makes of the same words."""
        self.assertEqual(self.do(end, "check", **words), {"equal": 1},
                         f"memory of the {NAMES[end]}: {words}")

    def far(self, end, off=0):
        """Words that name the region of an end to its peer."""
        return {"raddr": self.regions[end]["addr"] + off, "rkey": self.regions[end]["rkey"]}
