# SPDX-License-Identifier: GPL-2.0-only
"""./rnic decode FILE: a capture as text, and whether its RoCE frames are sound.

The C program rnic-decode does it all; it needs no ns-3, so it is built in a folder of its own
within seconds. Only its lines go to standard output.
"""

import argparse
import contextlib
import os
import signal
import sys

from analysis.cli import build, setup

FOLDER = os.path.join(build.RELEASE, "c")
PACKAGES = ["python3", "build-essential", "cmake", "zlib1g-dev"]


def main(argv):
    parser = argparse.ArgumentParser(
        prog="./rnic decode",
        description="Print one line for each frame of a pcap or pcapng file; the last line counts "
                    "them.",
        epilog="Exit status: 0 every RoCE frame is sound; 1 an ICRC is wrong or a frame is "
               "malformed; 2 bad input. doc/decode.rst describes the lines.")
    parser.add_argument("file", metavar="FILE", help="capture file; - reads standard input")
    options = parser.parse_args(argv)

    with contextlib.redirect_stdout(sys.stderr):
        setup.install(PACKAGES)
        build.make(FOLDER, ["-DRNIC_NS3=OFF"], ["rnic-decode"])
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as for any program in front of `| head`
    sys.stdout.flush()
    program = os.path.join(FOLDER, "rnic-decode")
    named = options.file if options.file == "-" or options.file[:1] != "-" else "./" + options.file
    os.execv(program, [program, named])
