# SPDX-License-Identifier: GPL-2.0-only
"""A running rnic-live as Python sees it; commands and answers are those of the guest's agent."""

import os
import select
import subprocess
import time

from words import parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(os.environ.get("RNIC_BUILD", os.path.join(ROOT, "build")), "rnic-live")


class Refused(Exception):
    """The answer was `error: TEXT`."""


class Live:
    """One rnic-live: its number n makes its addresses, more are options of the program."""

    def __init__(self, line, n, *more):
        self.n = n
        self.mac, self.ip = f"02:00:00:00:00:{n:02x}", f"10.0.0.{n}"
        self.ip6 = f"fe80::ff:fe00:{n:x}"
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [PROGRAM, *line, "--mac", self.mac, "--ip", self.ip, *more], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.buffer = b""
        if self.line(30) != "ready":
            raise RuntimeError(f"rnic-live does not start: {self.process.stderr.read().decode()}")

    def line(self, limit_s):
        end = time.monotonic() + limit_s
        while b"\n" not in self.buffer:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError(f"peer {self.n}: no answer within {limit_s} s")
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                return ""
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode("ascii", "replace")

    def post(self, text):
        """Send a command and do not wait; answer() must follow before the next."""
        self.process.stdin.write(text.encode() + b"\n")

    def answer(self, limit_s=60):
        lines = []
        while True:
            line = self.line(limit_s)
            if line == "ok":
                return parse(lines)
            if line.startswith("error: "):
                raise Refused(line[len("error: "):])
            if not line:
                raise RuntimeError(f"peer {self.n} has ended: "
                                   f"{self.process.stderr.read().decode()}")
            lines.append(line)

    def command(self, name, limit_s=60, **words):
        """command("qp", type="rc") is `qp type=rc`."""
        self.post(" ".join([name] + [f"{key}={text}" for key, text in words.items()]))
        return self.answer(limit_s)

    def close(self):
        """End it. Returns its exit status."""
        self.process.stdin.close()
        if self.process.poll() is None:
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.process.stderr):
            file.close()
        return self.process.returncode
