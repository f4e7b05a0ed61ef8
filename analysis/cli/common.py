# SPDX-License-Identifier: GPL-2.0-only
"""What every subcommand uses: where things are, short messages, and how a command ends."""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHON = "/usr/bin/python3"


class Failure(Exception):
    """Ends the command with one line and an exit status (2: bad input or missing packages).

    bare: the line begins with its place, as the runner's own do, not with "rnic:".
    """

    def __init__(self, text, status=2, bare=False):
        super().__init__(text)
        self.status = status
        self.bare = bare


def say(text):
    """One short line about what is being done."""
    print(f"rnic: {text}", flush=True)


def sources():
    """The list of sources: [(kind, path relative to the checkout)]."""
    with open(os.path.join(ROOT, "sources.txt"), encoding="ascii") as file:
        lines = [line.split() for line in file]
    return [(words[0], words[1]) for words in lines if len(words) == 2 and words[0] != "#"]


def jobs():
    """Compilers to run at once: one per processor, and about 1 GB of memory for each."""
    count = len(os.sched_getaffinity(0))
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            kib = {line.split(":")[0]: int(line.split()[1]) for line in file}
        count = min(count, max(1, kib["MemAvailable"] // 1000000))
    except (OSError, KeyError, ValueError):
        pass
    return count


def show(path):
    """A path as the user would write it from here."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def tail(text, lines):
    """The last lines of a text, with a note when something was left out."""
    rows = text.rstrip("\n").split("\n")
    if len(rows) <= lines:
        return "\n".join(rows)
    return "\n".join([f"... ({len(rows) - lines} lines before)"] + rows[-lines:])


def terminal():
    return sys.stdout.isatty()
