# SPDX-License-Identifier: GPL-2.0-only
"""Each program of examples/ does what it says: all it prints, word by word."""

import os
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RNIC_BUILD", os.path.join(ROOT, "build"))
FOLDER = os.path.join(BUILD, "examples")

PRINTS = {
    "rnic-first-write": """work request 42: SUCCESS at +11.6077us
10000 bytes arrived
""",
    "rnic-send": """host 1 wakes up
host 1: receive 11, 13 bytes "good morning"
host 1: receive 12, 8 bytes "wake up", immediate 4711
host 0: request 1 SUCCESS
host 0: request 2 SUCCESS
""",
    "rnic-read": """host 0: request 1 SUCCESS
host 0: request 2 SUCCESS
host 0 has read "what host 1 has"
host 1 got back "what host 1 has"
""",
    "rnic-atomic": """host 1 drew 0 2 4 6 8 10 12 14
host 2 drew 1 3 5 7 9 11 13 15
the word is 16, the sum of all draws 120
host 1 found 16: it is mine
host 2 found 101: too late
the word is 101
""",
    "rnic-ud": """host 0: request 0 SUCCESS
host 0: request 1 SUCCESS
host 0: request 2 SUCCESS
host 1: request 11 SUCCESS
host 1 got 20 bytes from queue pair 2 of 10.0.0.1: "to whom it concerns"
host 2: request 12 SUCCESS
host 2 got 20 bytes from queue pair 2 of 10.0.0.1: "to whom it concerns"
host 1 dropped 1 for its Q_Key
""",
    "rnic-window": """host 1: request 100 SUCCESS
host 0: request 1 SUCCESS
host 0: request 2 SUCCESS
host 1: request 101 SUCCESS
host 1 has "through the window", and key 0x102 is closed
host 0: request 3 REM_ACCESS_ERR
host 1 still has "through the window"
""",
    "rnic-srq": """host 0: only 1 left, 4 more
host 0: receive 0, SUCCESS: "first of host 1"
host 0: receive 1, SUCCESS: "first of host 2"
host 0: receive 2, SUCCESS: "first of host 3"
host 0: receive 3, SUCCESS: "second of host 1"
host 0: receive 4, SUCCESS: "second of host 2"
host 0: receive 5, SUCCESS: "second of host 3"
""",
}


# Those that go on until they are stopped, and the test that runs them.
ELSEWHERE = {"rnic-live-fabric": "test/live/fabric_test.py"}


class Examples(unittest.TestCase):

    def test_each_prints_what_it_did(self):
        self.assertTrue(os.path.isdir(FOLDER), f"{FOLDER}: not built; set RNIC_BUILD")
        for name, expected in PRINTS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                run = subprocess.run([os.path.join(FOLDER, name)], cwd=folder, timeout=60,
                                     capture_output=True, text=True, check=False)
                self.assertEqual(run.stdout, expected)
                self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_none_is_forgotten(self):
        programs = {name[:-3] for name in os.listdir(os.path.join(ROOT, "examples"))
                    if name.endswith(".cc")}
        self.assertEqual(programs, set(PRINTS) | set(ELSEWHERE))
        for name, path in ELSEWHERE.items():
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                self.assertIn("bridge.PROGRAM", file.read(), name)


if __name__ == "__main__":
    unittest.main()
