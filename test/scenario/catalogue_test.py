# SPDX-License-Identifier: GPL-2.0-only
"""[qp] and the verbs of the whole catalogue: times, bytes, and what is refused."""

import glob
import unittest

from runner import RunnerCase

FLOW = """[topology]
kind = "{kind}"
hosts = 2
{link}
[switch]
[nic]
preset = "ideal"
mtu = 4096
{nic}
[cc]
kind = "none"
[qp]
{qp}
[workload]
kind = "flows"
memory = "{memory}"
[run]
stop = "1s"
"""
ONE = '[[workload.flow]]\nsrc = 0\ndst = 1\nbytes = {bytes}\nverb = "{verb}"\n'


def scenario(*flows, kind="star", link="", nic="", qp="", memory="backed"):
    text = FLOW.format(kind=kind, link=link, nic=nic, qp=qp, memory=memory)
    return text + "".join(ONE.format(verb=verb, bytes=size) for verb, size in flows)


# what: ([qp], flows, other sections, place and key, what the line must also say)
REFUSED = {
    "selective without window": ('recovery = "selective"', [], {}, "13:12: qp.recovery", "bdp"),
    "go-back-0 with window": ('recovery = "go-back-0"\nwindow = "1MB"', [], {}, "14:10: qp.window",
                              "leave it out"),
    "go-back-0 with the BDP": ('recovery = "go-back-0"\nwindow = "bdp"', [], {}, "14:10: qp.window",
                               "leave it out"),
    "go-back-0 with credits": ('recovery = "go-back-0"\ne2e_credits = true', [], {},
                               "14:15: qp.e2e_credits", "write false"),
    "RoCEv1 through a router": ("roce_v1 = true", [], {}, "13:11: qp.roce_v1", "switch.l2"),
    "UC with READ": ('service = "uc"', [("read", 8)], {}, "23:8: workload.flow.0.verb",
                     "UC has no"),
    "UC with an atomic": ('service = "uc"', [("fetch_add", 8)], {}, "23:8: workload.flow.0.verb",
                          "UC has no"),
    "UC with recovery": ('service = "uc"\nrecovery = "go-back-n"', [], {}, "14:12: qp.recovery",
                         '"rc"'),
    "UC with a window": ('service = "uc"\nwindow = "bdp"', [], {}, "14:10: qp.window", '"rc"'),
    "UC with credits": ('service = "uc"\ne2e_credits = true', [], {}, "14:15: qp.e2e_credits",
                        '"rc"'),
    "UC with READs outstanding": ('service = "uc"\nmax_rd_atomic = 1', [], {},
                                  "14:17: qp.max_rd_atomic", '"rc"'),
    "more READs than the card has": ("max_rd_atomic = 17", [], {}, "13:17: qp.max_rd_atomic", "16"),
    "READ with none outstanding": ("max_rd_atomic = 0", [("read", 8)], {},
                                   "23:8: workload.flow.0.verb", "at least 1"),
    "half an atomic": ("", [("compare_swap", 12)], {}, "22:9: workload.flow.0.bytes",
                       "multiple of 8"),
    "no atomic": ("", [("fetch_add", 0)], {}, "22:9: workload.flow.0.bytes", "multiple of 8"),
    "many atomics": ("", [("fetch_add", 1048584)], {}, "22:9: workload.flow.0.bytes", "1MiB"),
    "a selective window for nobody": ('recovery = "selective"\nwindow = "65MiB"', [], {},
                                      "14:10: qp.window", "64MiB"),
    "an unknown service": ('service = "ud"', [], {}, "13:11: qp.service", "rc, uc"),
    "an unknown recovery": ('recovery = "sack"', [], {}, "13:12: qp.recovery", "selective"),
    "an unknown key": ("windw = 1", [], {}, "13:1: qp.windw", '"window"'),
    "a window without unit": ('window = "12"', [], {}, "13:10: qp.window", "no unit"),
    "a rate without unit": ("rate_limit = 5", [], {}, "13:14: qp.rate_limit", "no unit"),
    "no rate at all": ('rate_limit = "0bps"', [], {}, "13:14: qp.rate_limit", "too small"),
    "an unknown verb": ("", [("atomic", 8)], {}, "23:8: workload.flow.0.verb", "compare_swap"),
}


class Catalogue(RunnerCase):

    def one(self, *flows, **sections):
        """@return the rows of flows.csv of a run in which all is well."""
        run = self.good(self.run_text(scenario(*flows, **sections)))
        summary = run.summary
        self.assertEqual(summary["flows"]["completed"], len(flows))
        self.assertEqual(summary["flows"]["verified"], sections.get("memory") != "phantom")
        return run.table("flows")

    def test_refused(self):
        for name, (keys, flows, other, place, also) in REFUSED.items():
            with self.subTest(name):
                run = self.run_text(scenario(*(flows or [("write", 8)]), qp=keys, **other))
                self.assertEqual(run.status, 2, run.out + run.err)
                self.assertIn("s.toml:" + place + ": ", run.err)
                self.assertIn(also, run.err)
                self.assertEqual(run.err.count("\n"), 1)

    def test_each_verb_brings_its_bytes_in_the_least_time(self):
        for kind in ("star", "two-hosts"):
            for memory in ("backed", "phantom"):
                for verb, size in (("write", 100001), ("write_imm", 100001), ("send", 100001),
                                   ("send_imm", 100001), ("read", 100001), ("read", 1),
                                   ("fetch_add", 8), ("compare_swap", 8)):
                    with self.subTest(kind=kind, memory=memory, verb=verb):
                        row = self.one((verb, size), kind=kind, memory=memory)[0]
                        self.assertEqual(row["verb"], verb)
                        self.assertEqual(row["fct_ps"], row["ideal_ps"])

    def test_time_of_a_read_and_of_an_atomic(self):
        """Request 16 and response 4 bytes of headers; FETCH_ADD 28, its acknowledge 4 + 8."""
        def line(frame):
            return -(-(frame + 8) * 8 * 10**12 // 10**11) + 10**6
        rows = self.one(("read", 1000), kind="two-hosts", link='rate = "100Gbps"\ndelay = "1us"')
        self.assertEqual(rows[0]["fct_ps"], line(62 + 16) + line(62 + 4 + 1000))
        rows = self.one(("fetch_add", 8), kind="two-hosts", link='rate = "100Gbps"\ndelay = "1us"')
        self.assertEqual(rows[0]["fct_ps"], line(62 + 28) + line(62 + 4 + 8))

    def test_many_atomics(self):
        for verb in ("fetch_add", "compare_swap"):
            rows = self.one((verb, 8000))
            self.assertGreaterEqual(rows[0]["fct_ps"], rows[0]["ideal_ps"])

    def test_read_is_posted_by_its_destination(self):
        """It starts when the destination may, and what waits for it is the destination's."""
        text = scenario(("read", 4096)).replace(
            'memory = "backed"', 'memory = "backed"\nhost_delay = ["0us", "7us"]')
        run = self.good(self.run_text(text + 'after = []\n[[workload.flow]]\nsrc = 1\ndst = 0\n'
                                      'bytes = 10\nafter = [0]\n'))
        rows = run.table("flows")
        self.assertEqual(rows[0]["start_ps"], 7 * 10**6)
        self.assertEqual(rows[1]["start_ps"], rows[0]["cqe_ps"])
        run = self.run_text(text + '[[workload.flow]]\nsrc = 0\ndst = 1\nbytes = 10\nafter = [0]\n')
        self.assertEqual(run.status, 2)
        self.assertIn("only host 1 learns", run.err)

    def test_a_read_that_is_undone_is_seen(self):
        for verb in ("read", "fetch_add"):
            run = self.run_text(scenario((verb, 800)), "run.suppress_placement=0")
            self.assertEqual(run.status, 1)
            self.assertFalse(run.summary["flows"]["verified"])

    def test_uc_posts_its_messages_once_each(self):
        """Posting runs what is due: completions of the same queue pair, without a recursion."""
        for nic in ("ideal", "default"):
            text = scenario(("write", 1), ("send", 1), ("send_imm", 300000), ("write", 0),
                            ("write", 4097), qp='service = "uc"').replace("ideal", nic)
            summary = self.good(self.run_text(text)).summary
            self.assertEqual(summary["flows"]["completed"], 5)

    def test_an_empty_message_ends_no_earlier_than_the_data_before_it(self):
        alone = self.run_text(scenario(("write", 10000)).replace("ideal", "default")).table("flows")
        for verb in ("write", "send"):
            text = scenario(("write", 10000), (verb, 0)).replace("ideal", "default")
            rows = self.good(self.run_text(text)).table("flows")
            self.assertEqual(rows[0]["end_ps"], alone[0]["end_ps"])
            self.assertGreaterEqual(rows[1]["end_ps"], rows[0]["end_ps"])

    def test_what_never_ends_was_sent_again_too(self):
        run = self.run_text(scenario(("write", 4194304), link="loss = 0.01",
                                     qp='recovery = "go-back-0"').replace("1s", "5ms"))
        self.assertEqual(run.status, 1)
        self.assertGreater(run.summary["flows"]["retransmitted_packets"], 100)

    def test_both_ways_at_once_with_loss(self):
        verbs = ("write", "send_imm", "read", "fetch_add", "compare_swap", "write_imm")
        for recovery in ("go-back-n", "selective"):
            rows = self.one(*[(verb, 20000) for verb in verbs * 3], link="loss = 0.01",
                            nic="timeout = 6",
                            qp=f'recovery = "{recovery}"\nwindow = "bdp"')
            self.assertGreater(sum(row["retransmitted_packets"] for row in rows), 0)

    def test_connecting_takes_its_time(self):
        flows = (("write", 5000), ("read", 5000))
        at_once = self.one(*flows)
        later = self.one(*flows, nic='connect = "100us"')
        for a, b in zip(at_once, later):
            self.assertEqual(b["end_ps"] - a["end_ps"], 100 * 10**6)
            self.assertEqual(b["start_ps"], 0)

    def test_rate_limit(self):
        for verb in ("write", "read"):
            row = self.one((verb, 10**6), qp='rate_limit = "10Gbps"')[0]
            frames = -(-10**6 // 4096)
            self.assertAlmostEqual(row["fct_ps"], (10**6 + frames * 62) * 800, delta=10**7)

    def test_window(self):
        """One packet each round trip; the BDP is enough; the summary says what it is."""
        link = 'rate = "100Gbps"\ndelay = "1us"'
        row = self.one(("write", 40960), kind="two-hosts", link=link, qp="window = 4096")[0]
        self.assertGreater(row["fct_ps"], 9 * 2 * 10**6)
        run = self.run_text(scenario(("write", 10**6), kind="two-hosts", link=link,
                                     nic="ack_every = 1", qp='window = "bdp"'))
        row = self.good(run).table("flows")[0]
        self.assertEqual(row["fct_ps"], row["ideal_ps"])
        # There 4174 + 8 bytes and 1 us, back 66 + 8 and 1 us; a packet is 4158 + 20 bytes long.
        packets = -(-(4182 * 80 + 74 * 80 + 2 * 10**6) // (4178 * 80))
        self.assertEqual(run.summary["parameters"]["qp"]["window"],
                         {"value": packets * 4096, "unit": "bytes"})

    def test_summary_says_what_the_queue_pairs_are(self):
        qp = ('recovery = "selective"\nwindow = "64KiB"\nrate_limit = "50Gbps"\nmax_rd_atomic = 3\n'
              "e2e_credits = true\nroce_v1 = true")
        run = self.good(self.run_text(scenario(("send", 100000), ("read", 100), qp=qp),
                                      "switch.l2=true"))
        said = {key: value["value"] for key, value in run.summary["parameters"]["qp"].items()}
        self.assertEqual(said, {"service": "rc", "recovery": "selective", "window": 65536,
                                "rate_limit": 50 * 10**9, "max_rd_atomic": 3, "e2e_credits": True,
                                "roce_v1": True})

    def test_rocev1_is_on_the_line(self):
        run = self.good(self.run_text(scenario(("write", 100), kind="two-hosts",
                                               qp="roce_v1 = true"), "run.pcap=true"))
        files = glob.glob(run.path("*.pcap"))
        self.assertTrue(files)
        with open(files[0], "rb") as file:
            self.assertEqual(file.read()[24 + 16 + 12:24 + 16 + 14], b"\x89\x15")

    def test_uc(self):
        for verb in ("write", "write_imm", "send", "send_imm"):
            row = self.one((verb, 100001), qp='service = "uc"')[0]
            self.assertEqual(row["fct_ps"], row["ideal_ps"])

    def test_uc_loses_messages_and_says_which(self):
        for verb in ("write", "send"):
            flows = [(verb, 30000)] * 40
            run = self.run_text(scenario(*flows, link="loss = 0.01", qp='service = "uc"'))
            summary = run.summary
            self.assertEqual(run.status, 1)
            self.assertIn("lost: UC does not repeat", run.err)
            self.assertGreater(summary["flows"]["failed"], 0)
            self.assertGreater(summary["flows"]["completed"], 0)
            self.assertTrue(summary["flows"]["verified"]) # what arrived, all


if __name__ == "__main__":
    unittest.main()
