# SPDX-License-Identifier: GPL-2.0-only
"""Records of rnic-play as the lines of a ladder: who did what, when, in words.

A line is what one host did at one time, with its half of an arrow when a frame left or arrived.
Records of kind `passage` (a block of the card that a packet passed) are kept apart in
Story.passages, for a view by block.
"""

import dataclasses
import json
import re
import textwrap

HOSTS = "ab"
NAKS = ("sequence error", "invalid request", "remote access error", "remote operational error")
SELECTIVE = 16  # not of IBTA: selective repeat
# RNR NAK timer code in milliseconds; IBTA Vol 1 table 45.
RNR_MS = (655.36, .01, .02, .03, .04, .06, .08, .12, .16, .24, .32, .48, .64, .96, 1.28, 1.92,
          2.56, 3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92, 122.88, 163.84,
          245.76, 327.68, 491.52)
DISCARDS = {
    "qp_state": "discards: queue pair in error",
    "stale_ack": "nothing new: ignores it",
    "rnr_wait": "discards: behind a refusal",
}


class BadRecords(Exception):
    """The file is not what rnic-play writes."""


@dataclasses.dataclass
class Arrow:
    """One frame on the line; a copy that the line made is an arrow of its own."""
    frame: int              # its number
    label: str
    sender: int
    due_ps: int             # when it arrives, or would have
    arrived_ps: int = None  # None: lost
    copy: bool = False
    bad: bool = False       # a NAK


@dataclasses.dataclass
class Line:
    """What a host did. phase: 'leave' or 'arrive' when it goes with an arrow, else None."""
    t_ps: int
    host: int
    words: str
    arrow: Arrow = None
    phase: str = None


def syndrome(record):
    """(kind, code) of an AETH: 'ACK', 'RNR_NAK' or 'NAK'."""
    return {0: "ACK", 1: "RNR_NAK", 3: "NAK"}.get(record["syndrome"] >> 5, "AETH"), \
        record["syndrome"] & 31


def label(record):
    """'WRITE_LAST 4 A 904 B': opcode, PSN, flags, payload."""
    name = record["opcode"].removeprefix("RC_").replace("RDMA_", "")
    name = name.replace("ATOMIC_ACKNOWLEDGE", "ATOMIC_ACK")
    if name == "ACKNOWLEDGE":
        name = syndrome(record)[0]
    words = [name, str(record["psn"])]
    words += [flag for flag, key in (("A", "ackreq"), ("SE", "se")) if record[key]]
    if record.get("payload"):
        words.append(f"{record['payload']} B")
    return " ".join(words)


def distance(psn, other):
    """How far a PSN is ahead of another, modulo 2^24."""
    return (psn - other + 0x800000 & 0xFFFFFF) - 0x800000


def plural(count, name):
    return f"{count} {name}" + ("" if count == 1 else "s")


def is_request(record):
    return not any(part in record["opcode"] for part in ("ACKNOWLEDGE", "RESP"))


def wrap(words, width):
    """Lines of at most `width` characters; a number keeps its unit beside it."""
    glued = re.sub(r"(?<=\d) (?=(B|ms)\b)", "\xa0", words)
    return [line.replace("\xa0", " ") for line in textwrap.wrap(glued, width)] or [""]


def kind_of(record):
    """'request', or for an answer 'RESP', 'ATOMIC', 'ACK', 'NAK' or 'RNR_NAK'."""
    if is_request(record):
        return "request"
    return next((name for name in ("RESP", "ATOMIC") if name in record["opcode"]),
                None) or syndrome(record)[0]


def nak_text(record):
    kind, code = syndrome(record)
    if kind == "RNR_NAK":
        return f"RNR NAK: try in {RNR_MS[code]:g} ms"
    if code == SELECTIVE:
        return f"NAK: misses {record['psn']}, has {record['msn']}"
    name = NAKS[code] if code < len(NAKS) else f"code {code}"
    return f"NAK {name}" + (f", expects {record['psn']}" if code == 0 else "")


class Story:
    """What happened, read from the file at `path`."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            try:
                records = [json.loads(line) for line in file]
                self.run = records[0]
                self.passages = [each for each in records if each["what"] == "passage"]
                self._read([each for each in records[1:] if each["what"] != "passage"])
            except (ValueError, KeyError, IndexError, TypeError) as error:
                raise BadRecords(f"{path}: not written by rnic-play ({error!r})") from error

    def _read(self, records):
        self.lines, self.arrows = [], {}
        self.memory = ""
        self._records = records
        self._expected = self.run["psn"]  # by host b
        self._seen = set()                # (host, kind, PSN) of what left
        self._receives = []               # wr_id of host b's, unused
        self._offset = 0                  # in the message that host b receives
        self._held = {"a": {}, "b": {}}   # what came ahead of its turn: {PSN: record}
        self._read_from = {}              # PSN of a READ response: offset of its bytes
        self._asked = set()               # PSNs that host a has an answer of its own for
        self._next = self.run["psn"]      # PSN of host a's next new request
        self._awaited = self.run["psn"]   # PSN of the next answer that host a has not had
        self.counts = {"requests": 0, "again": 0, "answers": 0, "lost": 0}
        for place, record in enumerate(records):
            handler = getattr(self, "_" + record["what"])
            handler(record, HOSTS.index(record["host"]), place)

    def _add(self, record, host, words, arrow=None, phase=None):
        self.lines.append(Line(record["t_ps"], host, words, arrow, phase))

    # -- what the hosts do --

    def _post_send(self, record, host, _place):
        what = {"FETCH_ADD": lambda: f"FETCH_ADD {record['compare_add']}",
                "COMPARE_SWAP": lambda: f"COMPARE_SWAP {record['compare_add']} to "
                                        f"{record['swap']}"}
        name = what.get(record["op"], lambda: f"{record['op']} {record['bytes']} B")()
        self._add(record, host, f"posts {name}, wr {record['wr']}"
                  + (", with a bad key" if record.get("bad_key") else ""))

    def _post_recv(self, record, host, _place):
        self._receives.append(record["wr"])
        self._add(record, host, f"posts receive {record['bytes']} B, wr {record['wr']}"
                  + (", with a bad key" if record["bad_key"] else ""))

    def _completion(self, record, host, _place):
        more = ""
        if record["status"] == "SUCCESS" and record["queue"] == "receive":
            more = f", {record['bytes']} B"
        if "imm" in record:
            more += f", immediate {record['imm']}"
        self._add(record, host, f"completion wr {record['wr']} {record['status']}{more}")

    def _placed(self, record, host, _place):
        self._add(record, host, f"all {record['bytes']} B are in memory" if record["bytes"]
                  else "the empty message is complete")

    def _timeout(self, record, host, _place):
        self._add(record, host, "retry timer fires")

    def _event(self, record, host, _place):
        self._add(record, host, f"event {record['event']}")

    def _state(self, record, host, _place):
        self._add(record, host, f"queue pair goes to {record['state']}")

    def _memory(self, record, host, _place):
        name = HOSTS[host]
        if "value" in record:
            self.memory = f"host {name}'s memory holds {record['value']}"
        elif record["whole"] == record["messages"]:
            self.memory = f"host {name}'s memory holds what was sent"
        elif record["untouched"] == record["messages"]:
            self.memory = f"host {name}'s memory is untouched"
        else:
            self.memory = (f"host {name}'s memory holds {record['whole']} of "
                           f"{record['messages']} messages")

    # -- frames --

    def _tx(self, record, host, _place):
        key = (host, kind_of(record), record["psn"])
        again = key in self._seen or \
            is_request(record) and distance(record["psn"], self._next) < 0
        self._seen.add(key)
        due_ps = record["t_ps"] + self.run["delay_ps"] + \
            (record["frame_bytes"] + 8) * 8e12 / self.run["rate_bps"]
        arrow = Arrow(record["id"], label(record), host, due_ps,
                      bad=kind_of(record).endswith("NAK"))
        self.arrows[(record["id"], 0)] = arrow
        words = []
        if is_request(record):
            self.counts["requests"] += 1
            self.counts["again"] += again
            if not again:
                self._next = (record["psn"] + self._psns_of(record)) & 0xFFFFFF
            words.append("" if not again else "asks again" if "READ" in record["opcode"]
                         else "sends it again")
        else:
            self.counts["answers"] += 1
            words.append(self._answer(record, again))
        if record["fate"] != "whole":
            self.counts["lost"] += record["fate"] == "lost"
            words.append({"lost": "lost", "twice": "doubled on the line"}
                         [record["fate"]])
        self._add(record, host, "; ".join(word for word in words if word), arrow, "leave")

    def _psns_of(self, record):
        """How many PSNs a request uses; notes where the bytes of READ responses go."""
        if "dma_bytes" not in record or "READ" not in record["opcode"]:
            if "swap_add" in record:
                self._asked.add(record["psn"])
            return 1
        count = max(1, -(-record["dma_bytes"] // self.run["mtu"]))
        for index in range(count):
            psn = (record["psn"] + index) & 0xFFFFFF
            self._asked.add(psn)
            self._read_from[psn] = record["va"] + index * self.run["mtu"]
        return count

    def _answer(self, record, again):
        """Words of host b as its answer leaves."""
        if "RESP" in record["opcode"]:
            return "answers again" if again else ""
        if record["opcode"] == "RC_ATOMIC_ACKNOWLEDGE":
            return f"answers {record['orig']}" + (" again" if again else "")
        if syndrome(record)[0] != "ACK":
            if syndrome(record) == ("NAK", 0):
                self._expected = record["psn"]  # go-back-0: less than before
            return nak_text(record)
        return f"acknowledges up to {record['psn']}" + (" again" if again else "")

    def _rx(self, record, host, place):
        arrow = self.arrows[(record["id"], 0)]
        if record["copy"]:
            arrow = dataclasses.replace(arrow, due_ps=record["t_ps"], copy=True)
            self.arrows[(record["id"], 1)] = arrow
        arrow.arrived_ps = record["t_ps"]
        words = self._request(record, place) if is_request(record) \
            else self._response(record, place)
        self._add(record, host, words, arrow, "arrive")

    def _request(self, record, place):
        """Words of host b about a request that arrived."""
        drop, opcode = record["drop"], record["opcode"]
        if drop == "none" and distance(record["psn"], self._expected) > 0:
            self._held["b"][record["psn"]] = record
            return f"holds it: expects {self._expected}"
        if drop == "none" and self._expected != record["psn"]:
            drop = "duplicate"  # a READ or an atomic answered once more
        if drop == "none":
            words, held = self._accepted(record, opcode), 0
            while self._expected in self._held["b"]:
                next_one = self._held["b"].pop(self._expected)
                self._accepted(next_one, next_one["opcode"])
                held += 1
            return words + (f", then {held} held" if held else "")
        if drop == "duplicate":
            if "READ" in opcode:
                return "seen before: reads it again" if (1, "RESP", record["psn"]) in self._seen \
                    else "seen before: its answer is to come"
            if "before" in record:
                return "seen before: not executed again"
            return "seen before: not placed again"
        if drop == "psn_gap":
            return f"discards: expects {self._expected}"
        if drop == "rnr_wait" and record["psn"] == self._expected:
            return "no receive request: refuses"
        if drop in ("refused", "unsupported"):
            return "refuses" + self._why(record, place)
        return DISCARDS.get(drop, f"discards: {drop}")

    def _why(self, record, place):
        """Reason of a refusal: that of the NAK which follows."""
        for later in self._records[place:]:
            if later["what"] == "tx" and later["host"] == record["host"] \
                    and later["psn"] == record["psn"] and "syndrome" in later:
                kind, code = syndrome(later)
                if kind == "NAK" and code < len(NAKS):
                    return f": {NAKS[code]}"
        return ""

    def _accepted(self, record, opcode):
        packets = self._psns_of(record)
        if "READ" in opcode:
            words = f"reads {record['dma_bytes']} B at {record['va']}"
        elif "before" in record:
            words = f"{record['before']} becomes {record['after']}" \
                if record["before"] != record["after"] else f"{record['before']} stays"
        else:
            words = self._place(record, opcode)
        self._expected = (record["psn"] + packets) & 0xFFFFFF
        return words

    def _place(self, record, opcode):
        """A SEND or WRITE packet was accepted: where its bytes go."""
        if opcode.endswith("FIRST") or "ONLY" in opcode:
            self._offset = record.get("va", 0)
        at, size = self._offset, record["payload"]
        self._offset += size
        where = f"at {at}"
        if "SEND" in opcode and self._receives:
            where = f"at {at} of wr {self._receives[0]}"
        if ("SEND" in opcode or "IMM" in opcode) and ("LAST" in opcode or "ONLY" in opcode) \
                and self._receives:
            wr_id = self._receives.pop(0)
            if "SEND" not in opcode:
                where += f", uses up wr {wr_id}"
        return f"places {size} B {where}" if size else "accepts it, no bytes"

    def _response(self, record, place):
        """Words of host a about an answer that arrived."""
        drop, opcode, psn = record["drop"], record["opcode"], record["psn"]
        missing = self._missing(psn)
        if drop == "none" and missing is not None:
            if self.run["recovery"] == 2:
                self._held["a"][psn] = record
                return f"holds it: awaits {missing}"
            return f"answer {missing} is missing"
        if drop == "stale_ack" and missing is not None:
            return f"discards: awaits {missing}"
        if drop != "none":
            return DISCARDS.get(drop, f"discards: {drop}")
        kind, code = syndrome(record) if "syndrome" in record else ("ACK", 0)
        if distance(psn, self._awaited) >= 0:
            self._awaited = (psn + (kind == "ACK")) & 0xFFFFFF
        if "RESP" in opcode:
            held = 0
            while self._held["a"].pop(self._awaited, None) is not None:
                self._awaited = (self._awaited + 1) & 0xFFFFFF
                held += 1
            return f"places {record['payload']} B at {self._read_from.get(psn, 0)}" \
                + (f", then {held} held" if held else "") if record["payload"] \
                else "nothing to place"
        if opcode == "RC_ATOMIC_ACKNOWLEDGE":
            return f"places the old value, {record['orig']}"
        if kind == "ACK":
            return f"acknowledged up to {psn}"
        if kind == "NAK" and code not in (0, SELECTIVE):
            return "its request has failed"
        after = self._records[place + 1]
        if after["what"] == "state" and after["host"] == record["host"]:
            return "no retry is left"
        if kind == "RNR_NAK":
            return f"waits {RNR_MS[code]:g} ms"
        return f"{psn} is missing there" if code == SELECTIVE else \
            f"goes back to {self._next_of_a(place, psn)}"

    def _next_of_a(self, place, psn):
        """PSN that host a sends next, at most as late as psn: where it has gone back to."""
        for later in self._records[place:]:
            if later["what"] == "tx" and later["host"] == "a" and distance(later["psn"], psn) <= 0:
                return later["psn"]
        return psn

    def _missing(self, psn):
        """First READ or atomic answer before psn that host a has not had; None: all are there."""
        for step in range(max(0, distance(psn, self._awaited))):
            at = (self._awaited + step) & 0xFFFFFF
            if at in self._asked:
                return at
        return None

    # -- about the whole --

    def title(self):
        run = self.run
        what = {"write": "WRITE with immediate"}.get(run["op"]) if run["rnr"] else None
        what = what or run["op"].upper()
        if run["op"] == "atomic":
            what = "FETCH_ADD" if run["n"] == 1 else f"{run['n']} atomics"
        else:
            what = f"{what} of {run['bytes']} B" if run["n"] == 1 else \
                f"{run['n']} times {what} of {run['bytes']} B"
        return (f"{what}: path MTU {run['mtu']}, {run['rate_bps'] / 1e9:g} Gb/s, "
                f"{run['delay_ps'] / 1e6:g} us each way"
                + ("", ", go-back-0", ", selective repeat")[run["recovery"]])

    def note(self):
        """Why there is more in it than was asked for, or ''."""
        if not self.run["rnr"] or self.run["op"] == "send":
            return ""
        if self.run["op"] == "write":
            return "Only a WRITE with immediate uses a receive request, so it can be refused."
        return ("A READ or an atomic uses no receive request: the SEND ahead of it is refused, "
                "and it waits behind.")

    def summary(self):
        counts = self.counts
        end_ps = max((line.t_ps for line in self.lines), default=0)
        parts = [plural(counts["requests"], "request")
                 + (f" ({counts['again']} again)" if counts["again"] else ""),
                 plural(counts["answers"], "answer")]
        if counts["lost"]:
            parts.append(f"{counts['lost']} lost")
        return f"{', '.join(parts)}; done after {end_ps / 1e6:.3f} us; {self.memory}"

    def legend(self):
        used = {word for arrow in self.arrows.values() for word in arrow.label.split()}
        names = (("A", "A: AckReq, asks for an acknowledge"), ("SE", "SE: solicited event"))
        return "; ".join(text for flag, text in names if flag in used)
