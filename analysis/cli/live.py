# SPDX-License-Identifier: GPL-2.0-only
"""./rnic live: one card of the model in real time, facing a Linux guest or whoever is on its line.

The C program rnic-live does it all and needs no ns-3. With --guest or --twin somebody is put on
the other end of the line, and one input serves both. With --fabric two guests stand on a simulated
fabric of ns-3 (examples/rnic-live-fabric.cc), and the input is theirs.
"""

import argparse
import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import tempfile

from analysis.cli import build, setup
from analysis.cli.common import ROOT, Failure

FOLDER = os.path.join(build.RELEASE, "c")
PROGRAM = os.path.join(FOLDER, "rnic-live")
FABRIC = os.path.join(build.RELEASE, "examples", "rnic-live-fabric")
PACKAGES = ["python3", "build-essential", "cmake", "zlib1g-dev"]
CARD = {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1", "ip6": "fd00::1"}
PEER = {"mac": "52:54:00:00:00:02", "ip": "10.0.0.2", "ip6": "fd00::2"}
GUESTS = {"guest1": {"mac": "52:54:00:00:00:01", "ip": "10.0.0.1", "ip6": "fd00::1"},
          "guest2": {"mac": "52:54:00:00:00:02", "ip": "10.0.0.2", "ip6": "fd00::2"}}
GUEST_MTU = 4200  # so that a path MTU of 4096 fits
NUMBERS = ("in_flight", "ack_every", "linger")
LINES = ("unix", "udp", "tap", "guest", "twin", "fabric")
OF_CARD = ("mac", "ip", "ip6", "faults", *NUMBERS)  # options
OF_FABRIC = ("loss", "delay", "rate", "set")
LIMIT_S = 3700    # no command takes longer


def parser():
    it = argparse.ArgumentParser(
        prog="./rnic live", allow_abbrev=False,
        description="Drive one card in real time by commands, one a line, from standard input or "
                    "a script; each answer ends with 'ok' or 'error: ...'.",
        epilog="Exit status: 0 all commands went well; 1 one failed; 2 bad input. doc/live.rst has "
               "the commands and an example.")
    line = it.add_argument_group("the line, one of")
    line.add_argument("--unix", nargs=2, metavar=("LOCAL", "PEER"),
                      help="two unix datagram sockets, as of QEMU's -netdev dgram")
    line.add_argument("--udp", nargs=2, metavar=("LOCAL", "PEER"),
                      help="two UDP sockets, ADDRESS:PORT each; a datagram is a frame")
    line.add_argument("--tap", metavar="NAME", help="a TAP device")
    line.add_argument("--guest", action="store_true",
                      help=f"a Linux guest with software RoCE, {PEER['ip']} and {PEER['ip6']}")
    line.add_argument("--twin", action="store_true",
                      help="a second card in the place of the guest")
    line.add_argument("--fabric", action="store_true",
                      help="no card, but two Linux guests on two simulated switches, where a "
                           "simulated host, 10.0.0.100, stands too")
    card = it.add_argument_group("the card")
    card.add_argument("--mac", help=f"default {CARD['mac']}")
    card.add_argument("--ip", help=f"default {CARD['ip']}")
    card.add_argument("--ip6", help="default the link-local address of the MAC; with --guest and "
                                    f"--twin {CARD['ip6']}")
    card.add_argument("--in-flight", metavar="N", type=int,
                      help="packets of a queue pair under way at most (default 128)")
    card.add_argument("--ack-every", metavar="N", type=int,
                      help="AckReq on every Nth packet (default 16)")
    fabric = it.add_argument_group("the fabric")
    fabric.add_argument("--loss", metavar="P",
                        help="part of the frames lost between the switches (default 0)")
    fabric.add_argument("--delay", metavar="TIME", help="between the switches (default 1us)")
    fabric.add_argument("--rate", metavar="RATE", help="of every link (default 100Gbps)")
    fabric.add_argument("--set", metavar="CLASS::ATTRIBUTE=VALUE", action="append",
                        help="another default of the model, as RnicSwitchDevice::EcnKmin=3000; "
                             "may be given again")
    it.add_argument("--script", metavar="FILE", help="commands from there; it ends with the first "
                                                     "one that fails")
    it.add_argument("--faults", metavar="LIST",
                    help="seed=N,loss=P,dup=P,reorder=P,corrupt=P,delay=P,delay_ms=N,"
                         "dir=in|out|both; P is a part of the RoCE frames")
    it.add_argument("--pcap", metavar="FILE",
                    help="what is on the line; with --fabric FILE-1.pcap and FILE-2.pcap")
    it.add_argument("--linger", metavar="MS", type=int,
                    help="stay so long behind the last command (default 50)")
    return it


def card_arguments(options):
    """The call of rnic-live, without its line."""
    call = []
    for name in (*OF_CARD, "pcap"):
        if getattr(options, name) is not None:
            call += ["--" + name.replace("_", "-"), str(getattr(options, name))]
    return call


def line_arguments(options):
    chosen = [name for name in LINES if getattr(options, name)]
    if len(chosen) != 1:
        raise Failure(f"want one of --{', --'.join(LINES[:-1])} and --{LINES[-1]}")
    for name in OF_CARD if options.fabric else OF_FABRIC:
        if getattr(options, name) is not None:
            whose = "a card, and --fabric has none" if options.fabric else "--fabric"
            raise Failure(f"--{name.replace('_', '-')} is of {whose}")
    if options.tap:
        return ["--tap", options.tap]
    ends = getattr(options, chosen[0])
    return ["--" + chosen[0], *ends] if isinstance(ends, list) else None


class Card:
    """A running rnic-live."""

    def __init__(self, call):
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [PROGRAM, *call], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, bufsize=0)
        self.buffer = b""
        try:
            self.read(30)  # ready
        except Failure:
            self.close()
            raise

    def read(self, limit_s):
        while b"\n" not in self.buffer:
            if not select.select([self.process.stdout], [], [], limit_s)[0]:
                raise Failure("rnic-live does not answer", 1)
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                text = self.process.stderr.read().decode("utf-8", "replace").strip()
                raise Failure(text.removeprefix("rnic-live: ") or "rnic-live has ended",
                              max(self.process.wait(), 1))
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode("ascii", "replace")

    def post(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
        except BrokenPipeError:
            self.read(1)

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        why = self.process.stderr.read().decode("utf-8", "replace").strip()
        for file in (self.process.stdin, self.process.stdout, self.process.stderr):
            file.close()
        return why

    def end(self):
        """As close(); it may have more to say than its commands did, whose status is told."""
        why = self.close()
        if why or self.process.returncode < 0:
            raise Failure(why.removeprefix("rnic-live: ") or "rnic-live has ended too early",
                          max(self.process.returncode, 1))


class Guest:
    """The guest of test/rxe, in the same words."""

    def __init__(self, guest):
        self.guest = guest
        self.close = guest.stop

    def read(self, limit_s):
        try:
            return self.guest.agent.read(limit_s)
        except TimeoutError as error:
            raise Failure("the guest does not answer", 1) from error
        except (OSError, RuntimeError) as error:
            raise Failure("the guest has ended", 1) from error

    def post(self, line):
        try:
            self.guest.post(line)
        except OSError as error:
            raise Failure("the guest has ended", 1) from error


class Fabric:
    """A running rnic-live-fabric with a line for each guest: (LOCAL, PEER). It ends with us."""

    def __init__(self, options, lines):
        call = ["setpriv", "--pdeathsig", "INT", FABRIC]
        for name in ("loss", "delay", "rate", "pcap"):
            if getattr(options, name) is not None:
                call.append(f"--{name}={getattr(options, name)}")
        call += [f"--ns3::{text}" for text in options.set or []]
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            call + [f"unix,{local},{peer}" for local, peer in lines], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        if not self.process.stdout.readline():
            text = self.process.communicate()[1]
            why = re.search(r'msg="(.*)", (?:\+|file=)', text)  # as ns-3 says it
            text = why[1] if why else text.partition("\n")[0].removeprefix("rnic-live-fabric: ")
            raise Failure(f"no fabric: {text}")

    def close(self):
        """End it and print what it has counted."""
        self.process.send_signal(signal.SIGINT)
        said, why = self.process.communicate()
        print(said, end="", flush=True)
        if self.process.returncode != 0:
            why = why.partition("\n")[0].removeprefix("rnic-live-fabric: ")
            raise Failure(why or "the fabric has ended too early", 1)


def start_guest(address, local, far):
    sys.path.insert(0, os.path.join(ROOT, "test", "rxe"))
    try:
        import guest  # pylint: disable=import-outside-toplevel,import-error
        import image  # pylint: disable=import-outside-toplevel,import-error
    except ImportError as error:
        raise Failure(f"the guest's files are missing: {error}") from error
    try:
        return Guest(guest.Guest("live", ip=address["ip"] + "/24", ip6=address["ip6"] + "/64",
                                 mac=address["mac"], mtu=GUEST_MTU, local=local, peer=far).start())
    except image.Unavailable as error:
        raise Failure(f"no guest: {error}") from error


def start_twin(local, far):
    return Card(["--unix", local, far, *[word for name, text in PEER.items()
                                        for word in ("--" + name, text)]])


class Session:
    """Commands for several ends: the first word of a line says for whom, without it the default.

    `NAME: COMMAND` keeps the answer: $NAME.KEY stands for one of its values from then on.
    """

    def __init__(self, ends, default=None):
        self.ends, self.default = ends, default
        self.kept = {}

    def _value(self, found):
        name, key = found.groups()
        if key not in self.kept.get(name, {}):
            raise Failure(f"${name}.{key}: no answer {name} with a value {key}")
        return self.kept[name][key]

    def run(self, line):
        """The answer's lines; the last is ok or error: TEXT."""
        line = line.partition("#")[0].strip()
        if not line:
            return []
        label = re.match(r"([A-Za-z]\w*):\s+(.*)", line)
        line = re.sub(r"\$(\w+)\.(\w+)", self._value, label.group(2) if label else line)
        first, _, rest = line.partition(" ")
        end = self.ends.get(first, self.default)
        if end is None:
            raise Failure(f"\"{line}\" is for nobody: begin with {' or '.join(self.ends)}")
        end.post(rest.strip() if first in self.ends else line)
        lines = [end.read(LIMIT_S)]
        while lines[-1] != "ok" and not lines[-1].startswith("error: "):
            lines.append(end.read(LIMIT_S))
        if label:
            words = [word.partition("=") for text in lines[:-1] for word in text.split()]
            self.kept[label.group(1)] = {key: text for key, mark, text in words if mark}
        return lines


def serve(session, script):
    """All lines of the input. @return exit status"""
    status = 0
    name = script or "standard input"
    if not script and sys.stdin.isatty():
        ends = [f"{end} COMMAND" for end in session.ends] + ["COMMAND"] * bool(session.default)
        print(f"rnic: ready for lines: {', '.join(ends)}; quit ends", file=sys.stderr)
    with open(script, encoding="utf-8") if script else contextlib.nullcontext(sys.stdin) as file:
        for number, line in enumerate(file, 1):
            if line.strip() == "quit":
                break
            try:
                answer = session.run(line)
            except Failure as failure:
                if script or failure.status != 2:
                    raise Failure(f"{name}:{number}: {failure}", failure.status) from None
                answer = [f"error: {failure}"]
            for text in answer:
                print(text, flush=True)
            if answer and answer[-1] != "ok":
                status = 1
                if script:
                    raise Failure(f"{name}:{number}: {answer[-1].removeprefix('error: ')}", 1)
    return status


def face(options, call):
    """With a guest or a twin on the other end."""
    for name, text in CARD.items():
        if getattr(options, name) is None:
            call = call + ["--" + name, text]
    with tempfile.TemporaryDirectory(prefix="rnic-live-") as folder, contextlib.ExitStack() as ends:
        near, far = os.path.join(folder, "card"), os.path.join(folder, "peer")
        card = Card(["--unix", near, far, *call])
        ends.callback(card.end)
        other = start_guest(PEER, far, near) if options.guest else start_twin(far, near)
        ends.callback(other.close)
        return serve(Session({"guest": other}, card), options.script)


def fabric(options):
    """Two guests and what lies between them."""
    with contextlib.redirect_stdout(sys.stderr):
        setup.install(setup.RUN_PACKAGES)
        build.release(["rnic-live-fabric"])
    with tempfile.TemporaryDirectory(prefix="rnic-live-") as folder, contextlib.ExitStack() as ends:
        paths = {name: (os.path.join(folder, name + ".fabric"), os.path.join(folder, name))
                 for name in GUESTS}
        ends.callback(Fabric(options, paths.values()).close)
        guests = {}
        for name, (near, far) in paths.items():
            guests[name] = start_guest(GUESTS[name], far, near)
            ends.callback(guests[name].close)
        return serve(Session(guests), options.script)


def main(argv):
    options = parser().parse_args(argv)
    line = line_arguments(options)
    call = card_arguments(options)
    if options.script and not os.path.isfile(options.script):
        raise Failure(f"--script {options.script}: no such file")
    for number in (signal.SIGTERM, signal.SIGHUP):  # nothing is left behind
        if line is None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    if options.fabric:
        return fabric(options)
    with contextlib.redirect_stdout(sys.stderr):
        setup.install(PACKAGES)
        build.make(FOLDER, ["-DRNIC_NS3=OFF"], ["rnic-live"])
    if line is None:
        return face(options, call)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.stdout.flush()
    script = ["--script", options.script] if options.script else []
    os.execv(PROGRAM, [PROGRAM, *line, *call, *script])
