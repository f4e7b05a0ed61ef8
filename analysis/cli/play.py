# SPDX-License-Identifier: GPL-2.0-only
"""./rnic play OP: one operation between two hosts, printed and drawn packet by packet.

The C program rnic-play moves the frames and tells what the cards did, a JSON object a line;
analysis/play puts it into words and pictures. No ns-3 is needed.
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from analysis.cli import build, plot, setup
from analysis.cli.common import PYTHON, ROOT, Failure, say, show
from analysis.play import ladder
from analysis.play.story import Story

FOLDER = os.path.join(build.RELEASE, "c")
PROGRAM = os.path.join(FOLDER, "rnic-play")
PACKAGES = ["python3", "build-essential", "cmake", "zlib1g-dev"]
RECOVERIES = ("go-back-n", "go-back-0", "selective")
OPERATIONS = ("send", "write", "read", "atomic")
FILES = ("play.jsonl", "ladder.txt", "ladder.png", "ladder.svg", "a.pcap", "b.pcap")

SIZES = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "KiB": 2**10, "MiB": 2**20, "": 1}
RATES = {"bps": 1, "Kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}
TIMES = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}


def quantity(option, text, units):
    """A number with its unit, as scenarios have them, in the base unit."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text)
    if not found or found.group(2) not in units:
        names = ", ".join(name for name in units if name)
        raise Failure(f"{option} {text}: want a number with one of the units {names}")
    value = float(found.group(1)) * units[found.group(2)]
    if value != int(value):
        raise Failure(f"{option} {text}: not a whole number of {next(iter(units))}")
    return str(int(value))


def psns(option, texts):
    """Arguments for the program: each option may be given often, each with a list."""
    numbers = [word for text in texts or () for word in str(text).split(",")]
    for word in numbers:
        if not re.fullmatch(r"[0-9]+", word):
            raise Failure(f"{option} {word}: not a PSN; give numbers as the ladder shows them")
    return [word for number in numbers for word in (option, number)]


def parser():
    it = argparse.ArgumentParser(
        prog="./rnic play", allow_abbrev=False,
        description="Run one operation between two hosts over one line, and print and draw each "
                    "packet: time, opcode, PSN, flags, and what each side did.",
        epilog="Exit status: 0 played, however the operation ended; 2 bad input. PSNs are those "
               "that the ladder shows. doc/play.rst shows examples.")
    it.add_argument("op", metavar="OP", help="send, write, read or atomic (FETCH_ADD and "
                                             "COMPARE_SWAP in turn)")
    what = it.add_argument_group("what goes wrong")
    what.add_argument("--loss", metavar="PSN[,PSN]", action="append",
                      help="lose the first packet of host a with this PSN; again: the next one too")
    what.add_argument("--loss-response", metavar="PSN[,PSN]", action="append",
                      help="lose a packet of host b: READ response, ACK, NAK")
    what.add_argument("--duplicate", metavar="PSN", nargs="?", const="", action="append",
                      help="a packet of host a arrives twice (default: the last of the first "
                           "message)")
    what.add_argument("--duplicate-response", metavar="PSN[,PSN]", action="append",
                      help="a packet of host b arrives twice")
    what.add_argument("--duplicate-after", metavar="TIME", default="5us",
                      help="so long behind the first (default %(default)s)")
    what.add_argument("--rnr", metavar="TIMES", nargs="?", const=1, default=0, type=int,
                      help="host b posts its receive requests only after so many RNR NAKs "
                           "(default 1)")
    what.add_argument("--bad-key", action="store_true",
                      help="a key that opens nothing: the R_Key; for send, that of the receive")
    size = it.add_argument_group("sizes")
    size.add_argument("--bytes", metavar="SIZE", help="of a message (default 5000; atomics: 8)")
    size.add_argument("--n", metavar="N", type=int, help="messages (default 1; atomic: 2)")
    size.add_argument("--mtu", metavar="BYTES", type=int, default=1024,
                      help="path MTU (default %(default)s)")
    size.add_argument("--psn", metavar="PSN", type=int, default=0,
                      help="first PSN (default %(default)s)")
    size.add_argument("--rate", default="100Gbps", help="of the line (default %(default)s)")
    size.add_argument("--delay", default="1us", help="of the line (default %(default)s)")
    pair = it.add_argument_group("the queue pair")
    for name, text in (("--timeout", "local ACK timeout: 4.096 us x 2^N (default 14)"),
                       ("--retry-cnt", "retries before RETRY_EXC_ERR (default 7)"),
                       ("--rnr-retry", "RNR retries; 7 (default): without end"),
                       ("--ack-every", "AckReq on every Nth packet too (default 16)")):
        pair.add_argument(name, metavar="N", type=int, help=text)
    pair.add_argument("--recovery", metavar="HOW", default=RECOVERIES[0], choices=RECOVERIES,
                      help="go-back-n (default), go-back-0 or selective")
    pair.add_argument("--window", metavar="SIZE",
                      help="at most so many bytes unacknowledged (default: none; selective: what "
                           "the line holds both ways, and 10 us more)")
    result = it.add_argument_group("results")
    result.add_argument("--out", metavar="DIR", help="folder (default results/play-OP)")
    result.add_argument("--pcap", action="store_true",
                        help="a.pcap and b.pcap too: what each host's port saw")
    result.add_argument("--text", action="store_true", help="print the ladder only, no files")
    return it


def program_arguments(options):
    """The call of rnic-play; refuses what makes no sense before anything is built."""
    if options.op not in OPERATIONS:
        raise Failure(f"unknown operation '{options.op}'; operations are {', '.join(OPERATIONS)}")
    if options.op == "atomic" and options.bytes is not None:
        raise Failure("--bytes: an atomic always has 8 bytes; --n says how many")
    if options.rnr < 0:
        raise Failure(f"--rnr {options.rnr}: at least 1")
    if options.text and (options.pcap or options.out):
        raise Failure("--text writes no files: leave out --out and --pcap")
    size = quantity("--bytes", options.bytes or "5000", SIZES)
    call = [options.op, "--bytes", size, "--mtu", str(options.mtu), "--psn", str(options.psn),
            "--rate", quantity("--rate", options.rate, RATES),
            "--delay", quantity("--delay", options.delay, TIMES),
            "--duplicate-after", quantity("--duplicate-after", options.duplicate_after, TIMES),
            "--n", str(options.n if options.n is not None else 2 if options.op == "atomic" else 1),
            "--rnr", str(options.rnr), "--bad-key", str(int(options.bad_key))]
    for name in ("timeout", "retry_cnt", "rnr_retry", "ack_every"):
        if getattr(options, name) is not None:
            call += ["--" + name.replace("_", "-"), str(getattr(options, name))]
    call += ["--recovery", str(RECOVERIES.index(options.recovery)), "--window", window(options)]
    call += psns("--loss", options.loss)
    call += psns("--loss-response", options.loss_response)
    call += psns("--duplicate", [text or last_psn(options, int(size))
                                 for text in options.duplicate or ()])
    return call + psns("--duplicate-response", options.duplicate_response)


def window(options):
    """Bytes, as an argument; 0: none."""
    if options.window is not None:
        return quantity("--window", options.window, SIZES)
    if options.recovery != "selective":
        return "0"
    away_ps = 2 * int(quantity("--delay", options.delay, TIMES)) + 10**7  # the cards' own time
    bits = int(quantity("--rate", options.rate, RATES)) * away_ps // 10**12
    return str(max(options.mtu, bits // 8))


def last_psn(options, size):
    """PSN of the last request packet of the first message (that may stand behind a SEND)."""
    ahead = options.rnr > 0 and options.op in ("read", "atomic")
    packets = max(1, -(-size // max(1, options.mtu))) if options.op in ("send", "write") else 1
    return (options.psn + ahead + packets - 1) & 0xFFFFFF


def record(call, folder):
    """Run the program; its records go to FOLDER/play.jsonl."""
    path = os.path.join(folder, "play.jsonl")
    with open(path, "wb") as file:
        result = subprocess.run([PROGRAM, *call], stdout=file, stderr=subprocess.PIPE, text=True,
                                errors="replace", check=False)
    if result.returncode == 2:
        raise Failure(result.stderr.strip().removeprefix("rnic-play: "))
    if result.returncode != 0:
        raise Failure(f"rnic-play ended with status {result.returncode}:\n{result.stderr}", 1)
    return path


def draw(path, folder):
    """The pictures; matplotlib works in a process of its own."""
    script = os.path.join(ROOT, "analysis", "play", "picture.py")
    result = subprocess.run([PYTHON, "-I", script, path, folder], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    if result.returncode != 0:
        raise Failure(f"drawing failed:\n{result.stderr.rstrip()}", 1)


def keep(folder, out):
    """Put the results where they belong once all are there; what a run before left goes."""
    os.makedirs(out, exist_ok=True)
    made = [name for name in FILES if os.path.exists(os.path.join(folder, name))]
    with tempfile.TemporaryDirectory(dir=out) as near:
        for name in made:
            shutil.copyfile(os.path.join(folder, name), os.path.join(near, name))
        for name in FILES:
            if name in made:
                os.replace(os.path.join(near, name), os.path.join(out, name))
            elif os.path.exists(os.path.join(out, name)):
                os.remove(os.path.join(out, name))
    return made


def prepare(text):
    with contextlib.redirect_stdout(sys.stderr):
        setup.install(PACKAGES if text else PACKAGES + plot.PACKAGES)
        build.make(FOLDER, ["-DRNIC_NS3=OFF"], ["rnic-play"])


def main(argv):
    options = parser().parse_args(argv)
    call = program_arguments(options)
    prepare(options.text)
    out = options.out or os.path.join("results", f"play-{options.op}")
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = record(call + (["--pcap", folder] if options.pcap else []), folder)
            text = "\n".join(ladder.lines(Story(path))) + "\n"
            if not options.text:
                with open(os.path.join(folder, "ladder.txt"), "w", encoding="ascii") as file:
                    file.write(text)
                draw(path, folder)
                made = keep(folder, out)
    except OSError as error:
        raise Failure(f"{error.filename}: {error.strerror}") from error
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as for any program in front of `| head`
    try:
        sys.stdout.write(text if options.text else text + "\n")
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        raise Failure(f"standard output: {error.strerror}") from error
    if not options.text:
        say(f"{show(out)}: {' '.join(made)}")
    return 0
