#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs of K senders to one, beside the fluid model and the published numbers.

`python3 analysis/congestion.py` prints the table of doc/congestion.rst: rnic-run on
scenarios/dcqcn-k-to-1.toml for each K and for marking at dequeue and at enqueue.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

from analysis import fluid  # noqa: E402

SCENARIO = os.path.join(ROOT, "scenarios", "dcqcn-k-to-1.toml")
RUNNER = os.path.join(ROOT, "build", "release", "rnic-run")
FRAME_BYTES = 1024  # packets of the fluid model: the payload, as its 1 KB packets are


def measure(runner, seeds, sets):
    """{measure: (mean, half width of its 95 % interval or None)} over the seeds."""
    with tempfile.TemporaryDirectory() as folder:
        call = [runner, SCENARIO, "--out", os.path.join(folder, "out"), "--seeds", seeds]
        for pair in sets:
            call += ["--set", pair]
        process = subprocess.run(call, capture_output=True, text=True, check=False)
        if process.returncode not in (0, 1):  # 1: an expect, which is the caller's to judge
            raise RuntimeError(f"{' '.join(call)}: {process.stderr}")
        with open(os.path.join(folder, "out", "seeds.json"), encoding="utf-8") as file:
            result = json.load(file)
    return {name: (value["mean"], value["ci95"]) for name, value in result["measures"].items()}


def sweep(runner, senders, instants=("dequeue", "enqueue"), seeds="1..3", sets=()):
    """{(K, instant): measure()}, two runs at a time."""
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        running = {(k, at): pool.submit(measure, runner, seeds,
                                        [f"workload.senders={k}", f"switch.ecn_at={at}", *sets])
                   for k in senders for at in instants}
        return {key: run.result() for key, run in running.items()}


def _pair(value, unit, digits):
    mean, half = value
    return f"{mean / unit:.{digits}f} +- {half / unit:.{digits}f}" if half else f"{mean / unit:.2f}"


def rows(found, senders):
    """Cells of the table, one list for each K."""
    table = []
    for k in senders:
        point = fluid.fixed_point(k, fluid.Dcqcn(packet_bytes=FRAME_BYTES))
        at_dequeue, at_enqueue = found[(k, "dequeue")], found[(k, "enqueue")]
        table.append([str(k), _pair(at_dequeue["sum"], 1e9, 2), _pair(at_enqueue["sum"], 1e9, 2),
                      _pair(at_dequeue["queue"], 1e3, 1), _pair(at_enqueue["queue"], 1e3, 1),
                      f"{point.queue_bytes / 1e3:.0f}" if point.on_ramp else "200 (step)"])
    return table


HEADER = ["K", "Gb/s, marked at dequeue", "at enqueue", "queue (KB), at dequeue", "at enqueue",
          "fluid model (KB)"]


def simple_table(header, body):
    """A reStructuredText simple table."""
    widths = [max(len(row[i]) for row in [header, *body]) for i in range(len(header))]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
             for row in [header, *body]]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def main():
    parser = argparse.ArgumentParser(description="K senders to one under DCQCN.")
    parser.add_argument("senders", nargs="*", type=int, default=list(range(2, 20)), metavar="K")
    parser.add_argument("--seeds", default="1..3")
    parser.add_argument("--set", action="append", default=[], dest="sets", metavar="KEY=VALUE")
    parser.add_argument("--runner", default=os.environ.get("RNIC_RUN", RUNNER))
    options = parser.parse_args()
    found = sweep(options.runner, options.senders, seeds=options.seeds, sets=options.sets)
    print(simple_table(HEADER, rows(found, options.senders)))


if __name__ == "__main__":
    main()
