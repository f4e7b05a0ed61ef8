#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A Linux guest with software RoCE (rdma_rxe) in QEMU, without KVM and without root.

    test/rxe/guest.py [--ip A.B.C.D/LEN] [--ip6 ADDRESS/LEN] [--mtu BYTES]
                      [--local PATH] [--peer PATH]

starts one and passes the lines it reads to the guest's agent (agent.h has the language, agent.c
the commands). The first time everything is fetched and a guest is booted and its state saved in
build/rxe; from then on a guest is that state, restored. Exit status 77: the rig can not be had
here.

The guest's Ethernet is a pair of unix datagram sockets, one datagram one frame without FCS: QEMU
owns `local` and sends to `peer`, which whoever talks to the guest binds.
"""

import argparse
import atexit
import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import image

# Behind this folder's own: both have a peer.py.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))

from words import parse  # noqa: E402 pylint: disable=wrong-import-position

SKIPPED = 77
QEMU = "qemu-system-x86_64"
STATE = os.path.join(image.FOLDER, "state")
BOOT_LIMIT_S = 300
RESTORE_LIMIT_S = 60
MEMORY_MB = 256

# What the state stands on besides kernel and initramfs.
MACHINE = ["-M", "pc,usb=off,vmport=off", "-accel", "tcg,thread=single", "-cpu", "Nehalem",
           "-smp", "1", "-m", str(MEMORY_MB), "-nodefaults", "-no-user-config", "-display", "none",
           "-no-reboot"]
DEVICES = ["-device", "virtio-net-pci,netdev=n0,mac=52:54:00:00:00:00,romfile=",
           "-device", "virtio-serial-pci,max_ports=2",
           "-device", "virtserialport,chardev=a0,name=agent"]
KERNEL_LINE = ("console=ttyS0 quiet panic=-1 mitigations=off nokaslr no_timer_check tsc=reliable "
               "random.trust_cpu=on cryptomgr.notests")


def say(text):
    print(f"rxe: {text}", file=sys.stderr, flush=True)


class AgentError(Exception):
    """The agent answered `error: TEXT`."""


class Lines:
    """A connection to a unix stream socket, line by line."""

    def __init__(self, path, process, limit_s=30):
        end = time.monotonic() + limit_s
        self.buffer = b""
        while True:
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                self.socket.connect(path)
                return
            except OSError:
                self.socket.close()
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError("QEMU has not started") from None
                time.sleep(0.01)

    def write(self, text):
        self.socket.settimeout(60)
        self.socket.sendall(text.encode() + b"\n")

    def read(self, limit_s):
        end = time.monotonic() + limit_s
        while b"\n" not in self.buffer:
            self.socket.settimeout(max(0.001, end - time.monotonic()))
            data = self.socket.recv(1 << 16)
            if not data:
                raise RuntimeError("QEMU has ended")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode("ascii", "replace").rstrip("\r")


class Guest:
    """One guest. Starts and ends with it: QEMU, a folder for its sockets.

    name: for messages; ip, ip6: "ADDRESS/LENGTH" or "" (none); mtu: of its Ethernet, bytes (path
    MTU 4096 needs 4200); mac: else made of the name; local, peer: paths of QEMU's socket and of its
    peer's, at most 107 bytes, else in the guest's own folder. Two guests see each other when the
    peer of each is the local of the other. Start guests from the main thread: QEMU dies with the
    thread that started it.
    """

    def __init__(self, name, ip="10.0.0.1/24", ip6="", mtu=1500, mac=None, local=None, peer=None):
        self.name, self.ip, self.ip6, self.mtu = name, ip, ip6, mtu
        self.mac = mac or "52:54:00" + "".join(f":{byte:02x}" for byte in bytes.fromhex(
            image.digest(name)[:6]))
        self.folder = tempfile.mkdtemp(prefix="rnic-rxe-")
        self.local = local or os.path.join(self.folder, "guest.sock")
        self.peer = peer or os.path.join(self.folder, "peer.sock")
        self.process = self.agent = self.monitor = None
        self.opened = {}

    # ---- QEMU ----

    def _launch(self, restore):
        for path in (self.local, os.path.join(self.folder, "agent")):
            if os.path.exists(path):
                os.unlink(path)
        call = ["setpriv", "--pdeathsig", "KILL", QEMU, "-name", self.name]
        call += MACHINE
        call += ["-kernel", image.KERNEL, "-initrd", image.INITRD, "-append", KERNEL_LINE]
        call += ["-serial", f"file:{self.folder}/console"]
        call += ["-chardev", f"socket,id=a0,path={self.folder}/agent,server=on,wait=off"]
        call += ["-qmp", f"unix:{self.folder}/monitor,server=on,wait=off"]
        call += ["-netdev", f"dgram,id=n0,local.type=unix,local.path={self.local},"
                 f"remote.type=unix,remote.path={self.peer}"]
        call += DEVICES
        state = open(STATE, "rb") if restore else None  # pylint: disable=consider-using-with
        if restore:
            # Not a word of the move to the network: it has not been there before.
            call += ["-global", "migration.announce-rounds=0", "-incoming", f"fd:{state.fileno()}"]
        with open(os.path.join(self.folder, "qemu"), "wb") as log:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                call, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=[state.fileno()] if restore else [])
        if restore:
            state.close()
        atexit.register(self.stop)
        self.agent = Lines(os.path.join(self.folder, "agent"), self.process)
        self.monitor = Lines(os.path.join(self.folder, "monitor"), self.process)
        self.monitor.read(30)
        self.ask_qemu("qmp_capabilities")

    def ask_qemu(self, command, **arguments):
        """A command of QEMU's monitor (QMP); returns what it returns."""
        self.monitor.write(json.dumps({"execute": command, "arguments": arguments}))
        while True:
            answer = json.loads(self.monitor.read(60))
            if "error" in answer:
                raise RuntimeError(f"QEMU: {command}: {answer['error']}")
            if "return" in answer:
                return answer["return"]

    def _boot(self):
        """Boot and save the state; the guest has ended then."""
        say("booting a guest to save its state")
        self._launch(False)
        end = time.monotonic() + BOOT_LIMIT_S
        while self.agent.read(end - time.monotonic()) != "ready":
            pass
        time.sleep(0.5)  # the agent waits for its first command now
        self.ask_qemu("migrate-set-parameters", **{"max-bandwidth": 1 << 33})
        self.ask_qemu("migrate", uri=f"exec:cat >{shlex.quote(STATE)}.new")
        while (status := self.ask_qemu("query-migrate").get("status")) != "completed":
            if status in ("failed", "cancelled"):
                raise RuntimeError("QEMU can not save the guest's state")
            time.sleep(0.05)
        self.ask_qemu("quit")
        self.process.wait(30)
        os.replace(STATE + ".new", STATE)

    # ---- what tests use ----

    def start(self):
        """Restore the saved state (make it where it is missing), give the guest its addresses.

        Returns self. Raises image.Unavailable where the rig can not be had.
        """
        try:
            prepare()
            self._launch(True)
            end = time.monotonic() + RESTORE_LIMIT_S
            while self.ask_qemu("query-status")["status"] != "running":
                if time.monotonic() > end:
                    raise RuntimeError("QEMU does not restore the state")
                time.sleep(0.01)
            words = {"ip": self.ip, "ip6": self.ip6, "mac": self.mac, "mtu": self.mtu}
            self.opened = self.command("open", **{key: text for key, text in words.items() if text})
            return self
        except BaseException:
            log = self.log()
            self.stop()
            if log:
                say(f"{self.name}: {log}")
            raise

    def post(self, line):
        """Send a command and do not wait; answer() must follow before the next."""
        self.agent.write(line)

    def answer(self, limit_s=120):
        """The answer to the oldest command without one, see parse(). Raises AgentError."""
        lines = []
        end = time.monotonic() + limit_s
        while True:
            try:
                line = self.agent.read(end - time.monotonic())
            except TimeoutError:
                raise TimeoutError(f"{self.name}: no answer within {limit_s} s") from None
            if line == "ok":
                return parse(lines)
            if line.startswith("error: "):
                raise AgentError(f"{self.name}: {line[len('error: '):]}")
            lines.append(line)

    def command(self, name, limit_s=120, **words):
        """Run a command of the agent: command("qp", type="rc") is `qp type=rc`."""
        self.post(" ".join([name] + [f"{key}={text}" for key, text in words.items()]))
        return self.answer(limit_s)

    def shell(self, line, limit_s=120):
        """Run a command of the guest's shell. Returns (status, text)."""
        self.post("sh " + line)
        found = self.answer(limit_s)
        return found["status"], "\n".join(found.get("out", []))

    def log(self):
        """What QEMU and the guest's console said."""
        text = ""
        for name in ("qemu", "console"):
            path = os.path.join(self.folder, name)
            if os.path.exists(path):
                text += image.read(path).decode("utf-8", "replace")
        return text.strip()

    def stop(self):
        """End QEMU and remove the folder; may be called twice."""
        atexit.unregister(self.stop)
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for line in (self.agent, self.monitor):
            if line is not None:
                line.socket.close()
        if os.path.exists(self.local):
            os.unlink(self.local)
        shutil.rmtree(self.folder, ignore_errors=True)

    close = stop

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()


def prepare():
    """Make what is missing: packages, initramfs, saved state. Raises image.Unavailable."""
    if shutil.which(QEMU) is None:
        raise image.Unavailable(f"{QEMU} is not installed (./rnic setup --live)")
    with image.lock():
        content = image.prepare(say)
        version = subprocess.run([QEMU, "--version"], capture_output=True, text=True,
                                 check=True).stdout
        stamp = image.digest(content, version, KERNEL_LINE, *DEVICES, *MACHINE)
        if image.stamped(STATE, stamp):
            return
        guest = Guest("boot")
        try:
            guest._boot()
        except BaseException:
            say(guest.log())
            raise
        finally:
            guest.stop()
        image.put_stamp(STATE, stamp)


def require():
    """For tests: end the program with one line and status 77 where the rig can not be had."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        prepare()
    except image.Unavailable as reason:
        say(f"skipped: {reason}")
        sys.exit(SKIPPED)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--ip", default="10.0.0.1/24")
    parser.add_argument("--ip6", default="fd00::1/64")
    parser.add_argument("--mtu", type=int, default=1500, help="of the guest's Ethernet")
    parser.add_argument("--mac", help="of the guest")
    parser.add_argument("--local", help="path of QEMU's datagram socket")
    parser.add_argument("--peer", help="path of the socket it sends to")
    parser.add_argument("--prepare", action="store_true", help="fetch and boot only")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    begin = time.monotonic()
    try:
        if options.prepare:
            prepare()
            say(f"ready in {image.FOLDER}")
            return 0
        guest = Guest("guest", options.ip, options.ip6, options.mtu, options.mac,
                      options.local, options.peer).start()
    except image.Unavailable as reason:
        say(f"skipped: {reason}")
        return SKIPPED
    with contextlib.closing(guest):
        say(f"guest {guest.ip} {guest.ip6} {guest.mac} after {time.monotonic() - begin:.1f} s; "
            f"send frames to {guest.local}, receive at {guest.peer}")
        for line in sys.stdin:
            if line.strip():
                guest.post(line.strip())
                answer = ""
                while answer != "ok" and not answer.startswith("error: "):
                    answer = guest.agent.read(3600)
                    print(answer, flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
