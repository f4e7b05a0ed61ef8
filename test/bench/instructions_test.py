#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Instructions a packet hop may not creep up: speed is a benchmark's, this is its guard.

The counts are repeatable to well below 1 % for one compiler, and some per cent between compilers;
LIMIT holds what ./rnic bench printed when it was set (doc/performance.md) plus 10 %. Lower it when
the code got faster; raise it only in a commit that says what the instructions buy.
"""

import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from analysis.cli import bench  # noqa: E402

PROGRAM = os.path.join(os.path.dirname(os.environ.get("RNIC_RUN", bench.PROGRAM)), "rnic-bench")
LIMIT = {"ring4": 1243, "incast16": 1262}


class InstructionsPerHop(unittest.TestCase):
    def test_hop_costs_no_more_than_it_did(self):
        for case, limit in LIMIT.items():
            with self.subTest(case=case):
                per_hop = bench.instructions_per_hop(case, PROGRAM)
                print(f"{case}: {per_hop:.0f} instructions a hop, limit {limit}")
                self.assertLess(per_hop, limit)
                self.assertGreater(per_hop, 100)  # what counts nothing guards nothing


if __name__ == "__main__":
    if shutil.which("valgrind") is None or not os.access(PROGRAM, os.X_OK):
        print("skipped: valgrind is not installed, or rnic-bench is not built")
        sys.exit(77)
    unittest.main(verbosity=0)
