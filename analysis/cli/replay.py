# SPDX-License-Identifier: GPL-2.0-only
"""./rnic replay FILE...: captured RoCE traffic against a card of this model, in either place.

The C program test/replay/replay does it all; it needs no ns-3, so it is built in a folder of its
own. Only its lines go to standard output.
"""

import contextlib
import os
import signal
import sys

from analysis.cli import build, decode, setup

PROGRAM = os.path.join(decode.FOLDER, "test", "replay", "replay")


def main(argv):
    with contextlib.redirect_stdout(sys.stderr):
        setup.install(decode.PACKAGES)
        build.make(decode.FOLDER, ["-DRNIC_NS3=OFF"], ["replay-replay"])
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as for any program in front of `| head`
    sys.stdout.flush()
    os.execv(PROGRAM, [PROGRAM, *argv])
