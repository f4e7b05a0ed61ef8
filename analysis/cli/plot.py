# SPDX-License-Identifier: GPL-2.0-only
"""./rnic plot: draws results folders again. matplotlib works in a process of its own."""

import argparse
import os
import subprocess

from analysis.cli import setup
from analysis.cli.common import PYTHON, ROOT, Failure, say, show

PACKAGES = ["python3", "python3-matplotlib", "python3-numpy"]


def drawable(folder):
    """Whether the folder is that of a run, or of the seeds of one."""
    return any(os.path.isfile(os.path.join(folder, name))
               for name in ("summary.json", "seeds.json"))


def _call(*arguments):
    """Call draw.py and say what it made. @return paths of the pictures."""
    script = os.path.join(ROOT, "analysis", "draw.py")
    result = subprocess.run([PYTHON, "-I", script, *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    if result.returncode == 2:
        raise Failure(result.stderr.rstrip())
    if result.returncode != 0:
        raise Failure(f"drawing {show(arguments[-1])} failed:\n{result.stderr.rstrip()}", 1)
    paths = []
    for line in result.stdout.splitlines():
        if line.startswith("# "):
            say(line[2:])
        elif line:
            say(f"picture {show(line)}")
            paths.append(line)
    return paths


def draw(folder):
    """Draw every picture the folder has data for and say where they are."""
    return _call(folder)


def draw_overview(folder):
    """Draw only what a run ends with; of seeds, all there is."""
    return _call("--overview", folder)


def draw_together(out, folders):
    """Draw what many runs say together."""
    return _call("--compare", out, *folders)


def main(argv):
    parser = argparse.ArgumentParser(
        prog="./rnic plot",
        description="Draw results folders again (PNG and SVG), each picture there is data for: "
                    "timeline, steps, rates, queues, pauses, links, fct. A sweep's folder, and "
                    "--compare, put many runs into one picture.")
    parser.add_argument("folder", nargs="+", metavar="DIR", help="results folder")
    parser.add_argument("--compare", action="store_true",
                        help="all runs below the folders together: all-reduce time and bus "
                             "bandwidth, slowdown of flows, measures")
    parser.add_argument("--out", metavar="DIR",
                        help="with --compare: folder of the pictures (default: the one folder "
                             "given, or results/compare)")
    options = parser.parse_args(argv)
    if options.out is not None and not options.compare:
        raise Failure("--out belongs to --compare; pictures of a run go into its folder")
    many = [folder for folder in options.folder
            if not drawable(folder) and os.path.isfile(os.path.join(folder, "sweep.csv"))]
    for folder in options.folder:
        if options.compare and not os.path.isdir(folder):
            raise Failure(f"{folder}: no such folder; give folders of results")
        if not options.compare and folder not in many and not drawable(folder):
            raise Failure(f"{folder}: no summary.json there; give a results folder, or --compare "
                          "for a folder of them")
    setup.install(PACKAGES)
    if options.compare:
        one = options.folder[0] if len(options.folder) == 1 else os.path.join("results", "compare")
        draw_together(options.out or one, options.folder)
        return 0
    for folder in options.folder:
        if folder in many:
            draw_together(folder, [folder])
        else:
            draw(folder)
    return 0
