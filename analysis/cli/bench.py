# SPDX-License-Identifier: GPL-2.0-only
"""./rnic bench: speed of the module beside a yardstick of stock ns-3, and instructions a hop.

Times are ratios taken in one process in turn with the yardstick (the C++ program rnic-bench).
Instructions are valgrind's count: two sizes of one case, difference over difference of hops, so
that what a simulation costs to set up drops out. They hardly vary, so a test guards them.
"""

import argparse
import json
import os
import re
import shutil
import subprocess

from analysis.cli import build, setup
from analysis.cli.common import Failure, say

PROGRAM = os.path.join(build.RELEASE, "rnic-bench")
COUNTED = ("ring4", "incast16")
SHARES = (0.05, 0.1)


def _count(program, case, share):
    """(packet hops, instructions) of one run of a share of a case."""
    call = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program,
            f"--once={case}", f"--share={share}"]
    result = subprocess.run(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            check=False)
    hops = re.search(r"packet_hops=(\d+)", result.stdout)
    total = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode != 0 or hops is None or total is None:
        raise Failure(f"valgrind did not count {case}:\n{result.stderr[-2000:]}", 1)
    return int(hops.group(1)), int(total.group(1))


def instructions_per_hop(case, program=PROGRAM):
    """Instructions one packet hop costs in the case, without set-up."""
    small, large = (_count(program, case, share) for share in SHARES)
    return (large[1] - small[1]) / (large[0] - small[0])


def main(argv):
    parser = argparse.ArgumentParser(
        prog="./rnic bench",
        description="Packet hops a CPU-second of the ring and the incast beside stock ns-3's "
                    "point-to-point devices, in short slices in turn. doc/performance.md says "
                    "what the cases are and what was measured.")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE as well")
    parser.add_argument("--rounds", metavar="N", type=int, default=8,
                        help="slices of each case (default %(default)s, about 25 s)")
    options = parser.parse_args(argv)
    if options.rounds < 1:
        raise Failure("--rounds: at least 1")

    setup.install(setup.RUN_PACKAGES)
    build.release(["rnic-bench"])
    figures = os.path.join(build.RELEASE, "bench.json")
    status = subprocess.run([PROGRAM, f"--rounds={options.rounds}", f"--json={figures}"],
                            check=False).returncode
    if status != 0:
        return status
    with open(figures, encoding="utf-8") as file:
        result = json.load(file)
    if shutil.which("valgrind") is None:
        say("valgrind is not installed (./rnic test brings it): no instructions counted")
    else:
        print("case            instructions/hop")
        for case in result["cases"]:
            if case["name"] in COUNTED:
                case["instructions_per_hop"] = round(instructions_per_hop(case["name"]), 1)
                print(f"{case['name']:15} {case['instructions_per_hop']:16.0f}")
    if options.json is not None:
        try:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump(result, file, indent=2)
                file.write("\n")
        except OSError as error:
            raise Failure(f"{options.json}: {error.strerror}") from error
    return 0
