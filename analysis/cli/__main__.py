# SPDX-License-Identifier: GPL-2.0-only
"""./rnic: finds the subcommand and runs it. Exit status: 0, 1 failed, 2 bad input, 130 Ctrl-C."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from analysis.cli import bench, build, decode, gallery, live, play, plot  # noqa: E402
from analysis.cli import replay, run, setup, test  # noqa: E402
from analysis.cli.common import Failure  # noqa: E402

COMMANDS = {
    "run": (run.main, "run a scenario or a sweep: install what is missing, build, simulate, draw"),
    "test": (test.main, "run all tests, the fast ones first"),
    "plot": (plot.main, "draw a results folder again, or many together"),
    "gallery": (gallery.main, "run small scenarios and make doc/gallery.rst with their pictures"),
    "play": (play.main, "show one operation between two hosts, packet by packet"),
    "live": (live.main, "drive a card in real time, against a Linux guest or another card"),
    "decode": (decode.main, "print a capture, one line a frame, and check it"),
    "replay": (replay.main, "captured traffic of other cards against a card of this model"),
    "bench": (bench.main, "measure the speed beside a yardstick of stock ns-3"),
    "setup": (setup.main, "install the packages that are missing"),
    "build": (build.main, "build the module and the runner into build/"),
}


def usage():
    lines = ["usage: ./rnic COMMAND [ARGUMENTS]   (./rnic COMMAND --help says more)", ""]
    lines += [f"  {name:8} {text}" for name, (_, text) in COMMANDS.items()]
    return "\n".join(lines)


def main(argv):
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if argv else 2
    if argv[0] not in COMMANDS:
        print(f"rnic: unknown command '{argv[0]}'; commands are {', '.join(COMMANDS)}",
              file=sys.stderr)
        return 2
    try:
        return COMMANDS[argv[0]][0](argv[1:])
    except Failure as failure:
        print(failure if failure.bare else f"rnic: {failure}", file=sys.stderr)
        return failure.status
    except KeyboardInterrupt:
        print("rnic: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
