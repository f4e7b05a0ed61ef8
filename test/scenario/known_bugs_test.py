# SPDX-License-Identifier: GPL-2.0-only
"""Surprises others reported about fabric simulators, as scenarios: ../known-bugs.md names them."""

import glob
import os
import re
import shlex
import struct
import sys
import unittest

from runner import ROOT, RUNNER, RunnerCase

sys.path.insert(0, ROOT)

from analysis.cli import sweep  # noqa: E402

PLAIN = """[topology]
hosts = {hosts}
[nic]
preset = "ideal"
mtu = 1024
[cc]
kind = "none"
[workload]
kind = "flows"
memory = "phantom"
"""

INCAST = """[topology]
hosts = 9
rate = "100Gbps"
delay = "1us"
[switch]
buffer = "{buffer}"
ecn_kmin = "5KB"
ecn_kmax = "200KB"
ecn_pmax = 0.01
[nic]
preset = "ideal"
mtu = 1024
[cc]
kind = "{cc}"
[workload]
kind = "incast"
target = 0
bytes = "{size}"
memory = "phantom"
"""

RING = """[topology]
hosts = 8
[nic]
preset = "ideal"
[cc]
kind = "none"
[workload]
kind = "allreduce"
bytes = "64KiB"
"""


def flow(src, dst, size, more=""):
    return f"[[workload.flow]]\nsrc = {src}\ndst = {dst}\nbytes = {size}\n{more}\n"


def incast(buffer="16MiB", cc="none", size="4MB"):
    return INCAST.format(buffer=buffer, cc=cc, size=size)


def times(run):
    return [row["fct_ps"] for row in run.table("flows")]


class Scale(RunnerCase):
    def test_1024_queue_pairs_on_a_host(self):
        text = PLAIN.format(hosts=3).replace('"phantom"', '"phantom"\nqps = 1024')
        flows = "".join(flow(0, 1, 3000) for _ in range(1024))
        run = self.good(self.run_text(text + flows, "run.sample=1us"))
        self.assertEqual(run.summary["flows"]["completed"], 1024)
        pairs = {row["qp"] for row in run.table("rates")}
        self.assertGreater(len(pairs), 1)
        # a packet each in turn: none is through before all have sent two
        starts = {row["start_ps"] for row in run.table("flows")}
        ends = sorted(row["end_ps"] for row in run.table("flows"))
        self.assertEqual(starts, {0})
        self.assertGreater(ends[1], 2 * 1023 * 1106 * 80)  # the first was alone when it began

    def test_60000_messages_on_one_pair(self):
        run = self.good(self.run_text(PLAIN.format(hosts=2) +
                                      "".join(flow(0, 1, 64) for _ in range(60000))))
        self.assertEqual(run.summary["flows"]["completed"], 60000)
        rows = run.table("flows")
        self.assertEqual(len(rows), 60000)
        ends = [row["end_ps"] for row in rows]
        self.assertEqual(ends, sorted(set(ends)))  # one after the other, none twice

    def test_sizes_of_many_flows_add_up(self):
        # 2^50 bytes each: 4,096 flows at both ends of two pairs are 2^64, which 64 bits call 0
        text = PLAIN.format(hosts=4).replace('"phantom"', '"backed"')
        run = self.run_text(text + flow(0, 1, '"1048576GiB"') * 4096 +
                            flow(2, 3, '"1048576GiB"') * 4096)
        self.assertEqual(run.status, 2)
        self.assertIn("workload.memory: backed memory of all hosts takes", run.err)
        run = self.run_text(PLAIN.format(hosts=2) + flow(0, 1, '"1048576GiB"') * 4097)
        self.assertEqual(run.status, 2)
        self.assertIn("the buffers of host 0 hold more than 2^62 bytes", run.err)

    def test_300_and_5000_ports(self):
        for hosts in (300, 5000):
            run = self.good(self.run_text(incast("4GB", size="1KB"), f"hosts={hosts}",
                                          "run.series=[]"))
            self.assertEqual(run.summary["flows"]["completed"], hosts - 1)

    def test_more_ports_than_there_can_be(self):
        run = self.run_text(incast(), "hosts=65536")
        self.assertEqual(run.status, 2)
        self.assertIn("65536 is too large; write a whole number from 2 to 65535", run.err)
        run = self.run_text(incast(), "hosts=300")
        self.assertEqual(run.status, 2)
        self.assertIn("300 ports", run.err)
        self.assertIn("missing", run.err)


class Pauses(RunnerCase):
    def test_incast_of_8_pauses_and_drops_nothing(self):
        run = self.good(self.run_text(incast()))
        self.assertGreater(run.summary["pfc"]["pauses"], 0)
        self.assertEqual(run.summary["conservation"]["frames_dropped_total"], 0)
        self.assertEqual(run.summary["flows"]["retransmitted_packets"], 0)
        self.assertGreater(len(run.table("pauses")), 0)

    def test_no_pause_is_said_with_peak_and_threshold(self):
        run = self.good(self.run_text(incast("1GB")))
        self.assertEqual(run.summary["pfc"]["pauses"], 0)
        said = run.read("pauses.csv").decode()
        found = re.search(r"no PFC in this run; peak queue (\d+) bytes, peak buffer (\d+) of "
                          r"1000000000, a port may hold at least (\d+) before it pauses", said)
        self.assertIsNotNone(found, said)
        queue, buffer, threshold = map(int, found.groups())
        self.assertEqual(queue, run.summary["switches"][0]["peak_queue_bytes"])
        pool = run.summary["switches"][0]["pool_bytes"]
        self.assertEqual(threshold, int(0.125 * (pool - buffer)))
        self.assertGreater(threshold, queue // 8)  # so no sender's share came to it
        run = self.good(self.run_text(incast("1GB"), "switch.lossless=false"))
        self.assertIn("switch.lossless is false", run.read("pauses.csv").decode())

    def test_a_late_cnp_brings_pauses(self):
        for preset in ("paper-2015", "hpcc-sim", "nvidia"):
            pauses = []
            for latency in ("0us", "55us"):
                run = self.good(self.run_text(incast("8MB", "dcqcn", "8MB"),
                                              f"cc.preset={preset}", f"nic.cnp_latency={latency}"))
                pauses.append(run.summary["pfc"]["pauses"])
            self.assertGreater(pauses[1], pauses[0], preset)


class Frames(RunnerCase):
    @staticmethod
    def frames(path):
        """(DSCP, opcode) of each RoCEv2 frame of a capture."""
        with open(path, "rb") as file:
            data = file.read()
        at = 24
        while at < len(data):
            length = struct.unpack_from("<I", data, at + 8)[0]
            frame = data[at + 16:at + 16 + length]
            at += 16 + length
            if frame[12:14] == b"\x08\x00" and frame[36:38] == b"\x12\xb7":
                yield frame[15] >> 2, frame[42]

    def test_one_key_raises_acknowledges_at_every_hop(self):
        # the acknowledges of 2 -> 0 meet the data of 0 and 1 at the port of host 2
        text = PLAIN.format(hosts=3) + flow(0, 2, 500000) + flow(1, 2, 500000) + flow(2, 0, 500000)
        seen = {}
        for dscp in (64, 48):
            run = self.good(self.run_text(text, f"nic.ack_dscp={dscp}", "run.pcap=true",
                                          "nic.cnp_dscp=0", "switch.ecn=false"))
            captures = glob.glob(os.path.join(run.folder, "*.pcap"))
            self.assertEqual(len(captures), 6)  # three cards, three ports of the switch
            for path in captures:
                frames = list(self.frames(path))
                acks = {d for d, opcode in frames if opcode == 0x11}
                data = {d for d, opcode in frames if opcode != 0x11}
                self.assertEqual(acks, {26 if dscp == 64 else 48}, path)
                self.assertEqual(data, {26})
            seen[dscp] = run.table("flows")[2]["cqe_ps"] - run.table("flows")[2]["end_ps"]
        self.assertGreater(seen[64], 10 * seen[48])  # they no longer wait behind data


class Control(RunnerCase):
    def kinds(self):
        run = self.run_text(incast(cc="foo"))
        self.assertEqual(run.status, 2)
        self.assertIn('"foo"', run.err)
        return re.search(r"write one of (.*)$", run.err.strip()).group(1).split(", ")

    def test_every_control_that_is_offered_runs(self):
        kinds = self.kinds()
        self.assertIn("dcqcn", kinds)
        self.assertGreater(len(kinds), 1)
        for kind in kinds:
            run = self.good(self.run_text(incast(cc=kind, size="500KB")))
            self.assertEqual(run.summary["parameters"]["cc"]["kind"]["value"], kind)

    def test_every_preset_that_is_offered_runs(self):
        run = self.run_text(incast(cc="dcqcn"), "cc.preset=foo")
        self.assertEqual(run.status, 2)
        for preset in ("paper-2015", "nvidia", "hpcc-sim"):
            self.assertIn(preset, run.err)
            run_of = self.good(self.run_text(incast(cc="dcqcn", size="500KB"),
                                             f"cc.preset={preset}"))
            self.assertEqual(run_of.summary["parameters"]["cc"]["preset"]["value"], preset)

    def test_controls_differ_under_congestion(self):
        vectors = set()
        for sets in (["cc.kind=none"], ["cc.preset=paper-2015"], ["cc.preset=nvidia"],
                     ["cc.preset=hpcc-sim"]):
            run = self.good(self.run_text(incast(cc="dcqcn"), "workload.senders=4", *sets))
            vectors.add(tuple(times(run)))
            self.assertEqual(run.summary["cnps_received"], run.summary["cnps_sent"])
            self.assertGreaterEqual(run.summary["ce_received"], run.summary["cnps_sent"])
            self.assertGreater(run.summary["ce_received"], 0)
            self.assertLessEqual(run.summary["ce_received"], run.summary["ecn_marked"])
            self.assertEqual(run.summary["notes"], [])
        self.assertEqual(len(vectors), 4)

    def test_a_control_that_never_acts_is_told(self):
        run = self.good(self.run_text(incast(cc="dcqcn"), "workload.senders=1"))
        self.assertEqual((run.summary["ce_received"], run.summary["cnps_received"]), (0, 0))
        self.assertIn("congestion control dcqcn never acted: no CNP in this run",
                      run.summary["notes"])

    def test_the_gain_is_never_0(self):
        run = self.good(self.run_text(incast(cc="dcqcn", size="1KB")))
        self.assertEqual(run.summary["parameters"]["cc"]["g"]["value"], 1 / 256)
        run = self.good(self.run_text(incast(cc="dcqcn", size="1KB"), "cc.g=0.0625"))
        self.assertEqual(run.summary["parameters"]["cc"]["g"]["value"], 1 / 16)
        self.assertEqual(self.run_text(incast(cc="dcqcn"), "cc.g=0").status, 2)

    def test_a_share_stays_a_share(self):
        for text, value in (("0.2", 0.2), ("0.01", 0.01), ("1", 1), ("20%", None)):
            run = self.run_text(incast(size="1KB"), f"switch.ecn_pmax={text}")
            if value is None and run.status == 2:
                continue
            self.assertEqual(self.good(run).summary["parameters"]["switch"]["ecn_pmax"]["value"],
                             value if value is not None else 0.2)


class Inputs(RunnerCase):
    def test_flows_need_no_order(self):
        flows = [flow(0, 2, 10000 + 100 * n, f'start = "{(7 * n) % 12}us"') for n in range(12)]
        text = PLAIN.format(hosts=3)
        run = self.good(self.run_text(text + "".join(flows)))
        order = sorted(range(12), key=lambda n: (7 * n) % 12)
        again = self.good(self.run_text(text + "".join(flows[n] for n in order),
                                        out="sorted"))
        one = [(row["bytes"], row["start_ps"], row["end_ps"]) for row in run.table("flows")]
        two = [(row["bytes"], row["start_ps"], row["end_ps"]) for row in again.table("flows")]
        self.assertEqual(len(one), 12)
        self.assertEqual(sorted(one), sorted(two))

    def test_every_host_sends_and_nothing_else_does(self):
        for target in (0, 4, 8):
            run = self.good(self.run_text(incast(size="1KB"), f"workload.target={target}"))
            rows = run.table("flows")
            self.assertEqual([row["src"] for row in rows], [h for h in range(9) if h != target])
            self.assertEqual({row["dst"] for row in rows}, {target})

    def test_a_size_is_a_size_however_it_is_written(self):
        seen = set()
        for text in ("1048576", '"1048576B"', '"1MiB"', '"1024KiB"'):
            run = self.good(self.run_text(RING.replace('"64KiB"', text)))
            ring = run.summary["collectives"][0]
            self.assertEqual(ring["bytes"], 1 << 20)
            seen.add(ring["time_ps"])
        self.assertEqual(len(seen), 1)
        run = self.good(self.run_text(RING, "workload.bytes=2MiB"))
        self.assertGreater(run.summary["collectives"][0]["time_ps"], 1.5 * seen.pop())

    def test_a_collective_of_nothing_is_told(self):
        run = self.good(self.run_text(RING, "workload.bytes=0"))
        self.assertIn("allreduce 0 moves 0 bytes", run.summary["notes"])
        self.assertEqual(self.good(self.run_text(RING)).summary["notes"], [])
        run = self.good(self.run_text(incast(size="0B")))
        self.assertIn("8 of 8 flows move 0 bytes", run.summary["notes"])

    def test_units_are_in_values(self):
        text = RING.replace('"ideal"', '"default"')
        seen = set()
        for three in ("3us", "3000ns", "0.003ms", "3000000ps"):
            run = self.good(self.run_text(
                text, f"topology.delay={three}", f"nic.doorbell_latency={three}",
                f"workload.reduce_time={three}",
                "workload.host_delay=[" + ",".join([f'"{three}"'] * 8) + "]"))
            self.assertEqual(run.summary["parameters"]["topology"]["delay"],
                             {"value": 3000000, "unit": "ps"})
            seen.add(run.read("steps.csv"))
        self.assertEqual(len(seen), 1)
        self.assertEqual(self.run_text(text, "topology.delay=3").status, 2)

    def test_the_order_of_keys_and_sections_has_no_effect(self):
        text = incast(cc="dcqcn", size="1MB") + \
            '[run]\nsample = "1us"\nseed = 3\nstop = "5ms"\n'
        sections = re.split(r"(?m)^(?=\[)", text)[1:]
        turned = "".join("\n".join([s.split("\n")[0]] + s.strip().split("\n")[:0:-1]) + "\n"
                         for s in reversed(sections))
        self.assertLess(turned.index("stop"), turned.index("[workload]"))
        self.assertLess(turned.index("stop"), turned.index("sample"))
        one, two = self.good(self.run_text(text)), self.good(self.run_text(turned, out="turned"))
        self.assertEqual(one.summary["parameters"], two.summary["parameters"])
        for name in ("flows.csv", "queues.csv", "rates.csv"):
            self.assertEqual(one.read(name), two.read(name), name)

    def test_a_monitor_watches_when_it_is_told_to(self):
        # the queue grows all the time, so every sample is a row
        text = PLAIN.format(hosts=3) + flow(0, 2, '"1GB"', 'start = "2s"') + \
            flow(1, 2, '"1GB"', 'start = "2s"')
        text += ('[switch]\nbuffer = "2GB"\n[run]\nduration = "2.001s"\nsample = "1us"\n'
                 'series = ["queues"]\n[[measure]]\nname = "q"\nkind = "queue"\n'
                 'of = "switch0 port 2"\nfrom = "2s"\nto = "2.001s"\n')
        run = self.good(self.run_text(text))
        rows = [row["time_ps"] for row in run.table("queues")
                if row["port"] == "switch0 port 2" and row["class"] == 3 and row["queue_bytes"]]
        self.assertAlmostEqual(len(rows), 1000, delta=3)  # frames take 2 us to come
        self.assertEqual({after - before for before, after in zip(rows, rows[1:])}, {1000000})
        # it fills with the surplus of 100 Gb/s, from the third microsecond on
        surplus = 100e9 / 8 * 1086 / 1106 * 1e-3
        self.assertAlmostEqual(run.summary["measures"]["q"] / (surplus / 2), 1, delta=0.03)

    def test_what_the_pages_tell_to_run_is_taken(self):
        said = 0
        for path in [os.path.join(ROOT, "README.md"), *glob.glob(os.path.join(ROOT, "doc/*.rst"))]:
            with open(path, encoding="ascii") as file:
                lines = re.findall(r"\./rnic run (scenarios/[^\n`]*)", file.read())
            for line in lines:
                words = shlex.split(line, comments=True)
                sets = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
                seeds = words[words.index("--seeds") + 1] if "--seeds" in words else None
                with self.subTest(line):
                    sweep.check(RUNNER, os.path.join(ROOT, words[0]), sweep.parse(sets), seeds)
                    said += 1
        self.assertGreater(said, 5)


class Collectives(RunnerCase):
    def test_the_steps_are_those_of_the_algorithm_asked_for(self):
        run = self.good(self.run_text(RING, "workload.algorithm=ring"))
        self.assertEqual(run.summary["collectives"][0]["steps"], 14)
        rows = run.table("steps")
        self.assertEqual(len(rows), 14 * 8)
        self.assertEqual({row["step"] for row in rows}, set(range(14)))
        for row in run.table("flows"):
            self.assertEqual(row["dst"], (row["src"] + 1) % 8)
        for other in ("tree", "halving-doubling", "RING"):
            run = self.run_text(RING, f"workload.algorithm={other}")
            self.assertEqual(run.status, 2)
            self.assertIn(f'"{other}"', run.err)

    def test_its_time_follows_from_its_flows(self):
        for sets in ([], ["workload.reduce_time=5us"], ["nic.preset=default"],
                     ['workload.host_delay=["2us","4us","9us","4us","4us","3us","4us","4us"]']):
            with self.subTest(sets):
                run = self.good(self.run_text(RING, *sets))
                rows = run.table("steps")
                begin = min(row["send_start_ps"] for row in rows)
                end = max(row["recv_end_ps"] for row in rows)
                ring = run.summary["collectives"][0]
                self.assertEqual(ring["time_ps"], end - begin)
                self.assertEqual((ring["start_ps"], ring["end_ps"]), (begin, end))

    def test_hosts_that_are_late_stop_nobody_for_ever(self):
        delays = ",".join(f'"{1 if host % 2 else 10}us"' for host in range(8))
        run = self.good(self.run_text(RING, f"workload.host_delay=[{delays}]"))
        self.assertEqual(run.summary["status"], "complete")
        self.assertIs(run.summary["collectives"][0]["verified"], True)


def event(at, kind, of="host0"):
    return f'[[event]]\nat = "{at}"\nkind = "{kind}"\nof = "{of}"\n'


class Lines(RunnerCase):
    CUT = PLAIN.format(hosts=3).replace("mtu = 1024", "mtu = 1024\ntimeout = 2") + \
        flow(0, 2, '"1MB"') + flow(1, 0, '"100KB"', 'start = "100us"')

    def ends(self, events, *sets):
        run = self.good(self.run_text(self.CUT + "".join(events), *sets))
        self.assertEqual(run.summary["flows"]["completed"], 2)
        return [row["end_ps"] for row in run.table("flows")], run.summary["conservation"]

    def test_a_line_is_cut_and_the_flow_goes_on(self):
        whole, frames = self.ends([])
        self.assertEqual(frames["frames_dropped_total"], 0)
        cut, frames = self.ends([event("10us", "link-down"), event("50us", "link-up")])
        self.assertGreaterEqual(cut[0] - whole[0], 40000000)
        self.assertLess(cut[0] - whole[0], 40000000 + 2 * 16384000)
        self.assertAlmostEqual(cut[1], whole[1], delta=500000)  # shares the line with ACKs
        dropped = {name for name, count in frames["frames_dropped"].items() if count > 0}
        self.assertIn("link_down", dropped)
        self.assertLessEqual(dropped, {"link_down", "psn_gap", "duplicate", "stale_ack"})

    def test_any_number_of_cuts_in_any_order(self):
        events = [event("10us", "link-down"), event("30us", "link-up"),
                  event("60us", "link-down", "host2"), event("80us", "link-up", "host2")]
        one = self.ends(events)
        self.assertGreaterEqual(one[0][0] - self.ends([])[0][0], 40000000)
        self.assertEqual(self.ends(events[::-1]), one)
        self.assertEqual(self.ends(events, "run.drive=wake"), one)
        self.assertNotEqual(self.ends(events[:2]), one)

    def test_a_cut_that_stays_is_an_error_that_is_named(self):
        run = self.run_text(self.CUT + event("10us", "link-down"))
        self.assertEqual(run.status, 1)
        self.assertIn("RETRY_EXC_ERR", run.err)
        self.assertEqual(run.summary["parameters"]["events"]["0.at"],
                         {"value": 10000000, "unit": "ps"})

    def test_events_that_cannot_be(self):
        for text, also in ((event("10", "link-down"), "has no unit"),
                           (event("2s", "link-down"), "too large"),
                           (event("1us", "down"), "link-down, link-up"),
                           (event("1us", "link-up", "host3"), "write a number below 3"),
                           (event("1us", "link-up", "switch0 port 1"), '"host0"'),
                           ('[[event]]\nat = "1us"\nkind = "link-up"\n', "needs at, kind and of"),
                           ("[event]\nat = 1\n", "[[event]] tables"),
                           (event("1us", "link-up") + "till = 3\n", "unknown key")):
            with self.subTest(text):
                run = self.run_text(self.CUT + text)
                self.assertEqual(run.status, 2, run.out + run.err)
                self.assertIn(also, run.err)
                self.assertIn("event", run.err)
                self.assertEqual(run.err.count("\n"), 1)

    def test_two_hosts_and_no_switch(self):
        text = PLAIN.format(hosts=2).replace("hosts = 2", 'kind = "two-hosts"')
        run = self.good(self.run_text(text + flow(0, 1, 5000) + flow(1, 0, 5000)))
        self.assertEqual(run.summary["flows"]["completed"], 2)
        self.assertEqual(run.summary["switches"], [])

    def test_a_lossy_line_ends_by_its_timer(self):
        for seed in range(1, 9):  # 10 packets, some seeds lose the last one
            run = self.good(self.run_text(PLAIN.format(hosts=2) + flow(0, 1, 10240),
                                          "topology.loss=0.1", "nic.timeout=6", f"seed={seed}"))
            self.assertEqual(run.summary["status"], "complete")


if __name__ == "__main__":
    unittest.main()
