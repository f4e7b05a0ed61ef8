#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""replay: what it says of set-up files, tables and captures, and its exit status."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RNIC_BUILD", os.path.join(ROOT, "build"))
REPLAY = os.path.join(BUILD, "test", "replay", "replay")
VECTORS = os.path.join(ROOT, "test", "vectors")
SETUP = os.path.join(ROOT, "test", "replay", "captures.setup")
DEPARTURES = os.path.join(ROOT, "test", "replay", "departures.md")
HEAD = "| id | rule | clause | peer | here | where |\n|---|---|---|---|---|---|\n"


def capture(name):
    return os.path.join(VECTORS, name + ".pcap")


ATOMICS = capture("rc_atomics_values_vpeer")
LOSSY = capture("rc_loss_atomic_response_drop_every_2nd")


class Replay(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, text):
        path = os.path.join(self.folder.name, "file")
        with open(path, "w", encoding="ascii") as out:
            out.write(text)
        return path

    def run_it(self, *args):
        result = subprocess.run([REPLAY, *args], capture_output=True, text=True, check=False)
        return result.returncode, result.stdout, result.stderr

    def refused(self, text, *args):
        status, out, err = self.run_it(*args)
        self.assertEqual((status, out), (2, ""), err)
        self.assertIn(text, err)

    def refused_line(self, text, line, name=ATOMICS):
        path = self.file("# one line\n" + line + "\n")
        self.refused(f"{path}:2: {text}", "--setup", path, name)

    def test_good(self):
        for args in ((), ("--responder",), ("--requester",), ("--setup", SETUP)):
            status, out, err = self.run_it(*args, ATOMICS)
            self.assertEqual((status, err), (0, ""))
            self.assertTrue(out.startswith("ok rc_atomics_values_vpeer: "), out)

    def test_several_files(self):
        status, out, _ = self.run_it("--setup", SETUP, "--departures", DEPARTURES, ATOMICS, LOSSY)
        self.assertEqual((status, out.count("\n")), (0, 2), out)

    def test_help_names_every_line(self):
        status, out, _ = self.run_it("--help")
        self.assertEqual(status, 0)
        with open(os.path.join(ROOT, "test", "replay", "replay_setup.c"),
                  encoding="ascii") as file:
            source = file.read()
        words = set(re.findall(r'\{"(\w+)", take_', source)) | {"capture"}
        self.assertGreater(len(words), 10)
        with open(os.path.join(ROOT, "doc", "replay.rst"), encoding="ascii") as file:
            page = file.read()
        for word in words:
            self.assertRegex(out, rf"(?m)^  {word} ")
            self.assertRegex(page, rf"(?m)^``.*\b{word} ")
        for key in set(re.findall(r'option\w*\(line, "(\w+)"', source)):
            self.assertIn(key + "=", out)
            self.assertIn(key + "=", page)

    def test_lost_frames_must_be_declared(self):
        status, out, _ = self.run_it(LOSSY)
        self.assertEqual(status, 1)
        self.assertIn("lost answers N", out)
        self.assertEqual(self.run_it("--setup", self.file("lost answers 3\n"), LOSSY)[0], 0)
        self.assertEqual(self.run_it("--setup", self.file("lost answers 2\n"), LOSSY)[0], 1)

    def test_departures(self):
        name = capture("rc_ecn_ect0_and_ce_marked_vpeer")
        key = "extra after 5 CNP psn=0x0 syndrome=0x0"
        row = "| r | x | x | x | x | `rc_ecn_ect0_and_ce_marked_vpeer: {}` |\n"

        status, out, _ = self.run_it(name)
        self.assertEqual(status, 1)
        self.assertIn(f"[{key}]", out)
        table = self.file(HEAD + row.format(key))
        status, out, _ = self.run_it("--departures", table, name)
        self.assertEqual(status, 0)
        self.assertIn("allowed: ", out)
        table = self.file(HEAD + row.format(key + ", answer 8 msn 0x2/0x1"))
        status, out, _ = self.run_it("--departures", table, name)
        self.assertEqual(status, 1)
        self.assertIn("does not show `answer 8 msn 0x2/0x1`", out)

    def test_show_is_a_set_up_file(self):
        status, out, _ = self.run_it("--show", ATOMICS)
        self.assertEqual(status, 0)
        lines = [line for line in out.splitlines() if not line.startswith("ok ")]
        self.assertGreater(len(lines), 2)
        path = self.file("\n".join(lines) + "\n")
        self.assertEqual(self.run_it("--setup", path, ATOMICS)[0], 0)

    def test_other_captures_lines_do_not_count(self):
        path = self.file("capture other\nnonsense\n")
        self.assertEqual(self.run_it("--setup", path, ATOMICS)[0], 0)

    def test_wrong_set_up_is_a_difference(self):
        for line in ("state b ERR", "mtu 2048\nqp b 0x25 psn=0xff",
                     "memory b 0x141d va=0x7fa148b1b000 bytes=00",
                     "done a SUCCESS id=1", "got b SUCCESS id=1",
                     "region b 0x141d va=0x7fa148b1b000 len=8 access=read"):
            status, out, err = self.run_it("--setup", self.file(line + "\n"), ATOMICS)
            self.assertEqual((status, err), (1, ""), line + out)

    def test_bad_lines(self):
        self.refused_line("no such line: nonsense", "nonsense")
        self.refused_line("not a number", "mtu many")
        self.refused_line("an MTU is", "mtu 1000")
        self.refused_line("the capture has no such host: c", "qp c 1")
        self.refused_line("missing: number of the queue pair", "qp b")
        self.refused_line("not understood: color=1", "qp b 1 color=1")
        self.refused_line("beyond 32 bits", "qp b 0x100000000")
        self.refused_line("access is a list", "qp b 1 access=all")
        self.refused_line("a region needs", "region b 1")
        self.refused_line("no such operation: jump", "post a jump id=1")
        self.refused_line("no such status: FINE", "done a FINE id=1")
        self.refused_line("lost what?", "lost hope 1")
        self.refused_line("loose what?", "loose ends")
        self.refused_line("a state is", "state a RUN")
        self.refused_line("too many receives", "recv b id=1 len=1 count=70000")
        self.refused_line("missing: bytes=", "memory b 1 va=0")
        self.refused_line("bytes are pairs", "memory b 1 va=0 bytes=0")
        self.refused_line("more than 32 bytes", "memory b 1 va=0 bytes=" + "00" * 33)
        self.refused_line("too many words", "qp " + "x " * 30)
        self.refused_line("the line is too long", "#" * 600)

    def test_set_up_against_the_capture(self):
        for line, text in (("post a read id=1 len=8", "is not what frame 1 begins"),
                           ("memory b 0x999 va=0 bytes=00", "lies in no region"),
                           ("region b 0x999 va=0 len=0x50000000", "spans")):
            self.refused(text, "--setup", self.file(line + "\n"), ATOMICS)
        line = "post a add id=1 len=8 va=0x7fa148b1b000 key=0x141d add=5\n"
        self.refused("lists 1 work requests of a, the capture shows 4",
                     "--setup", self.file(line), ATOMICS)

    def test_bad_tables(self):
        for text, said in (("no table\n", "no table with the head"),
                           (HEAD + "| a | b |\n", "a row has 6 cells, this one 2"),
                           (HEAD + "| a | b | c | d | e | f | g |\n", "more than 6 cells"),
                           (HEAD + "| a | b |  | d | e | live |\n", "cell 3 is empty"),
                           (HEAD + "| a | b | c | d | e | f |\n", "no `capture: difference`"),
                           (HEAD + "| a | b | c | d | e | f: , |\n", "empty or too long")):
            self.refused(said, "--departures", self.file(text), ATOMICS)

    def test_bad_arguments(self):
        self.refused("no capture named")
        self.refused("no such option: --fast", "--fast", ATOMICS)
        self.refused("needs a value", ATOMICS, "--setup")
        self.refused("does not open", "/nonexistent/file.pcap")
        self.refused("does not open", "--setup", "/nonexistent/file", ATOMICS)
        self.refused("does not open", "--departures", "/nonexistent/file", ATOMICS)
        self.refused(self.folder.name, self.file("no capture, but long enough to have a header"))


if __name__ == "__main__":
    if not os.path.exists(REPLAY):
        print("skipped: test/replay/replay is not built")
        sys.exit(77)
    unittest.main()
