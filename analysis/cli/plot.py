# SPDX-License-Identifier: GPL-2.0-only
"""./rnic plot DIR: draws a results folder again. matplotlib works in a process of its own."""

import argparse
import os
import subprocess

from analysis.cli import setup
from analysis.cli.common import PYTHON, ROOT, Failure, say, show


def drawable(folder):
    return os.path.isfile(os.path.join(folder, "summary.json"))


def draw(folder):
    """Draw every picture the folder has data for and say where they are."""
    script = os.path.join(ROOT, "analysis", "draw.py")
    result = subprocess.run([PYTHON, "-I", script, folder], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    if result.returncode != 0:
        raise Failure(f"drawing {show(folder)} failed:\n{result.stderr.rstrip()}",
                      result.returncode if result.returncode in (1, 2) else 1)
    for path in result.stdout.splitlines():
        say(f"picture {show(path)}")


def main(argv):
    parser = argparse.ArgumentParser(prog="./rnic plot",
                                     description="Draw results folders again (PNG and SVG).")
    parser.add_argument("folder", nargs="+", metavar="DIR", help="results folder")
    options = parser.parse_args(argv)
    for folder in options.folder:
        if not drawable(folder):
            raise Failure(f"{folder}: no summary.json there; give a results folder")
    setup.install(["python3", "python3-matplotlib", "python3-numpy"])
    for folder in options.folder:
        draw(folder)
    return 0
