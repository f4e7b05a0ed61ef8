# SPDX-License-Identifier: GPL-2.0-only
"""./rnic setup: the packages, in one apt-get call that may not remove anything.

One call with the whole list matters: asked for one by one, apt may pick Boost 1.81, which would
remove matplotlib. Nothing is done when dpkg already has everything.
"""

import argparse
import os
import shutil
import subprocess
import sys

from analysis.cli.common import PYTHON, ROOT, Failure, say

RUN_PACKAGES = """python3 build-essential cmake libns3-dev ns3 libgsl-dev libboost-dev
    libboost-graph-dev libtomlplusplus-dev zlib1g-dev python3-matplotlib python3-numpy""".split()
TEST_PACKAGES = """clang libclang-rt-14-dev clang-format valgrind tshark python3-scapy
    python3-venv""".split()
LIVE_PACKAGES = ["qemu-system-x86"]
LEAN = ["--no-install-recommends"]  # QEMU recommends its GUI, which nothing here shows
GUEST = os.path.join(ROOT, "test", "rxe", "guest.py")


def missing(packages):
    """Those of the packages that dpkg does not have installed."""
    result = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n"] + packages,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    rows = [line.split() for line in result.stdout.splitlines()]
    installed = {row[1] for row in rows if row[0] == "installed"}
    return [package for package in packages if package not in installed]


def as_root():
    """Command prefix that gives root, [] when we are root, None when there is no way."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    if sys.stdin.isatty():
        return ["sudo"]
    silent = subprocess.run(["sudo", "-n", "true"], stderr=subprocess.DEVNULL, check=False)
    return ["sudo", "-n"] if silent.returncode == 0 else None


def install(packages, settings=()):
    """Make sure the packages are there; settings are further ones of apt-get install.

    Raises Failure (status 2) with the one line to run when this user may not install them, or
    with apt's own output when it fails.
    """
    if shutil.which("dpkg-query") is None:
        say("no dpkg here: not Debian, so the packages are yours to install; "
            f"needed: {' '.join(packages)}")
        return
    wanted = missing(packages)
    if not wanted:
        return
    how = ["install", "--no-remove", "-y", *settings]
    line = f"apt-get update && apt-get {' '.join(how + packages)}"
    prefix = as_root()
    if prefix is None:
        raise Failure(f"missing: {' '.join(wanted)}; run as root: {line}")
    say(f"installing {' '.join(wanted)}")
    apt = prefix + ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
    calls = (apt + ["update"], apt + how + packages)
    for call in calls:
        result = subprocess.run(call, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, errors="replace",
                                check=False)
        # A failed update is not the end: the lists of before may do.
        if result.returncode != 0 and call is calls[-1]:
            raise Failure(f"apt-get failed:\n{result.stdout.rstrip()}\nrnic: by hand: {line}")
    left = missing(packages)
    if left:
        raise Failure(f"apt-get ended well, but still missing: {' '.join(left)}")


def main(argv):
    parser = argparse.ArgumentParser(prog="./rnic setup",
                                     description="Install the Debian packages that are missing.")
    parser.add_argument("--test", action="store_true", help="also those the tests need")
    parser.add_argument("--live", action="store_true",
                        help="also QEMU, and make the guest that tests with a live peer restore")
    options = parser.parse_args(argv)
    install(RUN_PACKAGES + (TEST_PACKAGES if options.test else []))
    if options.live:
        install(LIVE_PACKAGES, LEAN)
    say("all packages are installed")
    if options.live and subprocess.call([PYTHON, GUEST, "--prepare"]) != 0:
        raise Failure("the guest can not be made here")
    return 0
