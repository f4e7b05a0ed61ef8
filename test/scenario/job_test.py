# SPDX-License-Identifier: GPL-2.0-only
"""Jobs: exact times, the ring's steps and sums, verbs, dependencies, and runs that must fail."""

import os
import signal
import subprocess
import time
import unittest

from runner import RUNNER, STAR, RunnerCase

ALONE = """[topology]
kind = "star"
hosts = 2
rate = "{rate}"
delay = "1us"
[nic]
preset = "ideal"
mtu = 4096
[workload]
kind = "flows"
memory = "phantom"
[[workload.flow]]
src = 0
dst = 1
bytes = {bytes}
verb = "{verb}"
"""

# ring of 4 over 10 elements, chunks [0,2) [2,5) [5,7) [7,10)
CHUNK_BYTES = [8, 12, 8, 12]
RING_4 = [  # by step: chunk sent by rank 0, 1, 2, 3
    [3, 0, 1, 2], [2, 3, 0, 1], [1, 2, 3, 0],
    [0, 1, 2, 3], [3, 0, 1, 2], [2, 3, 0, 1]]


def store_and_forward_ps(frames, rate_bps, links, delay_ps):
    """The recurrence, written again: a frame leaves when it is there whole and the line is free."""
    def line(size):
        return -(-size * 8 * 10**12 // rate_bps)

    free = [0] * links
    at = 0
    for frame in frames:
        at = 0
        for link in range(links):
            start = max(at, free[link])
            free[link] = start + line(frame + 20)
            at = start + line(frame + 8) + delay_ps
    return at


def write_frames(size, mtu=4096):
    """Ethernet 14, IP 20, UDP 8, BTH 12, RETH 16 in the first, pad, ICRC 4, FCS 4."""
    count = max(1, -(-size // mtu))
    frames = []
    for i in range(count):
        payload = min(mtu, size - i * mtu)
        frames.append(max(64, 62 + (16 if i == 0 else 0) + payload + -payload % 4))
    return frames


class ExactTime(RunnerCase):
    def alone(self, rate, size, verb="write"):
        run = self.good(self.run_text(ALONE.format(rate=rate, bytes=size, verb=verb)))
        return run.table("flows")[0]

    def test_100g_to_the_picosecond(self):
        for size, wanted in ((1, 2014400), (1000, 2173760), (1000000, 83942080)):
            with self.subTest(size):
                flow = self.alone("100Gbps", size)
                self.assertEqual(flow["fct_ps"], wanted)
                self.assertEqual(flow["ideal_ps"], wanted)
                self.assertEqual(flow["slowdown"], "1.000000")

    def test_every_rate_against_the_recurrence(self):
        for rate in (25, 40, 100, 400, 800, 2880):
            for size in (0, 1, 1000, 4096, 4097, 1000000):
                with self.subTest(rate=rate, size=size):
                    flow = self.alone(f"{rate}Gbps", size)
                    wanted = store_and_forward_ps(write_frames(size), rate * 10**9, 2, 10**6)
                    self.assertEqual(flow["ideal_ps"], wanted)
                    self.assertEqual(flow["fct_ps"], wanted)

    def test_every_verb_is_as_fast_as_its_headers_allow(self):
        for verb in ("write", "write_imm", "send", "send_imm"):
            with self.subTest(verb):
                flow = self.alone("100Gbps", 100000, verb)
                self.assertEqual(flow["fct_ps"], flow["ideal_ps"])

    def test_line_rate_over_a_million_packets(self):
        for rate in (100, 400, 2880):
            with self.subTest(rate):
                text = ALONE.format(rate=f"{rate}Gbps", bytes=0, verb="write")
                two, million = (
                    self.good(self.run_text(text, "nic.mtu=1024",
                                            f"workload.flow.0.bytes={packets * 1024}")
                              ).table("flows")[0]["fct_ps"] for packets in (2, 10**6))
                frame_ps = (62 + 1024 + 20) * 8000 / rate
                each_ps = (million - two) / (10**6 - 2)
                if frame_ps.is_integer():
                    self.assertLess(abs(each_ps / frame_ps - 1), 1e-6)
                else:  # rounded up once a frame
                    self.assertTrue(0 <= each_ps - frame_ps < 1, each_ps)

    def test_more_than_32_bits_of_bytes(self):
        flow = self.alone("800Gbps", 5000000000)
        self.assertEqual(flow["bytes"], 5000000000)
        self.assertEqual(flow["fct_ps"], flow["ideal_ps"])
        self.assertGreater(flow["fct_ps"], 5000000000 * 10)


class Ring(RunnerCase):
    def test_steps_and_chunks(self):
        run = self.good(self.run_text(STAR, "workload.bytes=40"))
        steps = run.table("steps")
        self.assertEqual(len(steps), 24)
        for row in steps:
            chunk = RING_4[row["step"]][row["rank"]]
            self.assertEqual((row["chunk"], row["bytes"]), (chunk, CHUNK_BYTES[chunk]), row)
            self.assertEqual(row["phase"],
                             "reduce-scatter" if row["step"] < 3 else "all-gather")
        sent = {rank: sum(r["bytes"] for r in steps if r["rank"] == rank) for rank in range(4)}
        self.assertEqual(set(sent.values()), {60})
        ended = {(row["step"], row["rank"]): row["recv_end_ps"] for row in steps}
        for row in steps:  # a chunk goes on only after it has come in
            if row["step"] > 0:
                before = ended[row["step"] - 1, (row["rank"] - 1) % 4]
                self.assertGreaterEqual(row["send_start_ps"], before)

    def test_sums_for_any_number_of_hosts_and_elements(self):
        for hosts, size in ((2, 4), (2, 1000), (3, 40), (5, 8), (5, 65536), (7, 0), (8, 4100),
                            (13, 99996)):
            with self.subTest(hosts=hosts, size=size):
                run = self.good(self.run_text(STAR, f"topology.hosts={hosts}",
                                              f"workload.bytes={size}"))
                ring = run.summary["collectives"][0]
                self.assertIs(ring["verified"], True)
                self.assertEqual(ring["steps"], 2 * (hosts - 1))
                self.assertEqual(len(run.table("steps")), 2 * (hosts - 1) * hosts)
                self.assertGreaterEqual(ring["time_ps"], ring["ideal_ps"])

    def test_busbw(self):
        ring = self.good(self.run_text(STAR)).summary["collectives"][0]
        self.assertEqual(ring["algbw_bps"], 65536 * 8 * 1e12 / ring["time_ps"])
        self.assertAlmostEqual(ring["busbw_bps"], ring["algbw_bps"] * 1.5)

    def test_a_late_host(self):
        delays = 'workload.host_delay=["0us", "50us", "0us", "500us"]'
        run = self.good(self.run_text(STAR, delays))
        ring = run.summary["collectives"][0]
        self.assertIs(ring["verified"], True)
        self.assertEqual(ring["steps"], 6)
        for row in run.table("steps"):
            if row["rank"] == 3:
                self.assertGreaterEqual(row["send_start_ps"], 500000000)
        # its neighbours went on as far as they could without it
        self.assertEqual(len([row for row in run.table("steps")
                              if row["send_start_ps"] < 500000000]), 1 + 2 + 3)
        self.assertGreaterEqual(ring["end_ps"], 500000000)

    def test_all_are_late(self):
        plain = self.good(self.run_text(STAR)).summary["collectives"][0]
        delays = 'workload.host_delay=["7us", "7us", "7us", "7us"]'
        ring = self.good(self.run_text(STAR, delays)).summary["collectives"][0]
        for key in ("time_ps", "ideal_ps", "ideal_with_acks_ps"):
            self.assertEqual(ring[key], plain[key], key)

    def test_reduction_takes_its_time(self):
        plain = self.good(self.run_text(STAR)).summary["collectives"][0]
        slow = self.good(self.run_text(STAR, "workload.reduce_time=10us")).summary
        ring = slow["collectives"][0]
        self.assertIs(ring["verified"], True)
        self.assertEqual(ring["ideal_ps"] - plain["ideal_ps"], 3 * 10000000)
        self.assertAlmostEqual(ring["time_ps"] - plain["time_ps"], 30000000, delta=100000)

    def test_several_queue_pairs_and_a_card_with_latency(self):
        for sets in (("workload.qps=3",), ("nic.preset=default",),
                     ("nic.preset=default", "workload.qps=2", "nic.mtu=256")):
            with self.subTest(sets):
                run = self.good(self.run_text(STAR, *sets))
                self.assertIs(run.summary["collectives"][0]["verified"], True)

    def test_losses_do_not_touch_the_sums(self):
        run = self.good(self.run_text(STAR, "topology.loss=0.02", "nic.timeout=8"))
        self.assertIs(run.summary["collectives"][0]["verified"], True)
        self.assertGreater(run.summary["flows"]["retransmitted_packets"], 0)

    def test_one_placement_suppressed_must_fail(self):
        for transfer in (0, 3, 7, 11, 12, 23):
            with self.subTest(transfer):
                run = self.run_text(STAR, f"run.suppress_placement={transfer}")
                self.assertEqual(run.status, 1)
                self.assertIs(run.summary["collectives"][0]["verified"], False)
                self.assertIn("not the exact sum", run.err)

    def test_phantom_memory_is_never_verified(self):
        backed = self.good(self.run_text(STAR))
        steps = backed.read("steps.csv")
        phantom = self.good(self.run_text(STAR, "workload.memory=phantom"))
        self.assertIs(phantom.summary["collectives"][0]["verified"], False)
        self.assertEqual(phantom.read("steps.csv"), steps)


MIXED = """[topology]
hosts = 3
[nic]
preset = "ideal"
[workload]
kind = "flows"
[[workload.flow]]
src = 0
dst = 1
bytes = "10KB"
verb = "send"
[[workload.flow]]
src = 0
dst = 1
bytes = "1KB"
verb = "write_imm"
[[workload.flow]]
src = 0
dst = 1
bytes = 0
verb = "send_imm"
[[workload.flow]]
src = 0
dst = 1
bytes = "5KB"
verb = "send_imm"
[[workload.flow]]
src = 1
dst = 2
bytes = "20KB"
after = [3]
[[workload.flow]]
src = 1
dst = 0
bytes = 77
start = "100us"
after = [4]
"""


class Flows(RunnerCase):
    def test_verbs_on_one_queue_pair_and_dependencies(self):
        for memory in ("backed", "phantom"):
            with self.subTest(memory):
                run = self.good(self.run_text(MIXED, f"workload.memory={memory}"))
                flows = run.table("flows")
                self.assertIs(run.summary["flows"]["verified"], memory == "backed")
                self.assertEqual(flows[4]["start_ps"], flows[3]["end_ps"])
                self.assertEqual(flows[5]["start_ps"], 100000000)

    def test_a_spoilt_flow_must_fail(self):
        run = self.run_text(MIXED, "run.suppress_placement=3")
        self.assertEqual(run.status, 1)
        self.assertIs(run.summary["flows"]["verified"], False)

    def test_a_thousand_messages_on_one_pair(self):
        flows = "".join(f"[[workload.flow]]\nsrc = 0\ndst = 1\nbytes = {n % 300}\n"
                        f"verb = \"{('write', 'write_imm', 'send')[n % 3]}\"\n"
                        for n in range(1000))
        run = self.good(self.run_text(MIXED[:MIXED.index("[[")] + flows))
        self.assertEqual(run.summary["flows"]["completed"], 1000)

    def test_order_of_keys_has_no_effect(self):
        other = MIXED.replace("src = 0\ndst = 1", "dst = 1\nsrc = 0")
        self.assertNotEqual(other, MIXED)
        one = self.good(self.run_text(MIXED)).read("flows.csv")
        self.assertEqual(self.good(self.run_text(other)).read("flows.csv"), one)


class Endings(RunnerCase):
    def test_stop_before_the_end(self):
        run = self.run_text(STAR, "run.stop=5us")
        self.assertEqual(run.status, 1)
        self.assertEqual(run.summary["status"], "stopped")
        self.assertEqual(run.summary["sim_end_ps"], 5000000)
        self.assertIn("run.stop came before the end", run.err)

    def test_a_dead_line_is_an_error_not_a_hang(self):
        run = self.run_text(STAR, "topology.loss=1", "nic.timeout=1")
        self.assertEqual(run.status, 1)
        run = self.run_text(MIXED, "topology.loss=1", "nic.timeout=1")
        self.assertEqual(run.status, 1)
        self.assertEqual(run.summary["flows"]["completed"], 0)
        self.assertIs(run.summary["flows"]["verified"], False)
        self.assertIn("RETRY_EXC_ERR", run.err)

    def test_standing_still_names_who_waits(self):
        run = self.run_text(STAR, "topology.loss=1", "nic.timeout=0")
        self.assertEqual(run.status, 1)
        self.assertEqual(run.summary["status"], "stalled")
        self.assertIn("host 0 -> 1", run.err)
        self.assertIn("waits for its data", run.err)

    def test_standing_still_ends_at_one_time(self):
        text = STAR.replace('"ideal"', '"default"')
        ends = {self.run_text(text, "topology.loss=0.3", "nic.timeout=1", "nic.retry_cnt=1",
                              *sets).summary["sim_end_ps"]
                for sets in ([], ["run.drive=wake"], ["run.sample=3us"], ["run.series=[]"],
                             ["run.trace=true"])}
        self.assertEqual(len(ends), 1, ends)

    def test_what_a_card_could_not_tell_is_an_error(self):
        flows = "[[workload.flow]]\nsrc = 0\ndst = 1\nbytes = 64\n" * 2000
        run = self.run_text(MIXED[:MIXED.index("[[")] + flows, "nic.poll_latency=1ms")
        self.assertEqual(run.status, 1)
        self.assertIn("found no room", run.err)

    def test_interrupt_leaves_partial_results(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number.name):
                self.interrupted_by(number)

    def interrupted_by(self, number):
        text = ALONE.format(rate="100Gbps", bytes=10**12, verb="write")
        folder = os.path.join(self.tmp, "out")
        process = subprocess.Popen(
            [RUNNER, self.write(text), "--out", folder, "--set", "run.stop=1000s"],
            cwd=self.tmp, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            # nohup and a shell's background job have it ignored, and a child inherits that
            preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
        deadline = time.time() + 60
        while not any(name.startswith("out.partial") for name in os.listdir(self.tmp)):
            self.assertLess(time.time(), deadline)
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, out + err)
        self.assertIn("partial", err)
        self.assertEqual(sorted(os.listdir(self.tmp)), ["out", "s.toml"])
        with open(os.path.join(folder, "summary.json"), encoding="ascii") as file:
            self.assertIn('"status": "partial"', file.read())

    def test_expects_judge(self):
        text = STAR + "".join(f"[[expect]]\nwhat = {what}\n" for what in (
            '"collectives.0.steps"\nequals = 6', '"collectives.0.steps"\nmin = 7',
            '"collectives.0.time_ps"\nmax = "1ms"', '"collectives.0.nix"\nmin = 0',
            '"status"\nequals = "complete"', '"pfc.pauses"\nnear = 0\ntolerance = "5%"'))
        run = self.run_text(text)
        self.assertEqual(run.status, 1)
        self.assertEqual([e["pass"] for e in run.summary["expect"]],
                         [True, False, True, False, True, True])
        self.assertEqual(run.summary["expect"][2]["bound"], {"max": 1000000000})


if __name__ == "__main__":
    unittest.main()
