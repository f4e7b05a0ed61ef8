#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Two Linux guests on a simulated fabric (examples/rnic-live-fabric.cc): two switches that bridge,
and between them a trunk that loses frames. Debian's own programs run between the guests as they
are, and against the simulated host behind the second switch.

Time is not judged: a client that comes before its server listens, or whose TCP connection the
losses have broken, tries again.
"""

import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

import guest
import bridge  # behind guest, which knows the way

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
IP, IP6 = ("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")
SIMULATED = "10.0.0.100"
LIMIT_S = 120  # only who hangs comes here
PERFTEST = "-d rxe0 -x 1 -F"


class Fabric(unittest.TestCase):
    """OPTIONS: of the program, besides the lines."""

    OPTIONS = ()

    def setUp(self):
        self.guests = [guest.Guest(f"fabric{i}", f"{IP[i]}/24", f"{IP6[i]}/64") for i in range(2)]
        for one in self.guests:
            self.addCleanup(one.stop)
        lines = [f"unix,{one.peer},{one.local}" for one in self.guests]
        self.fabric = subprocess.Popen(  # pylint: disable=consider-using-with
            [bridge.PROGRAM, *self.OPTIONS, *lines], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.addCleanup(self.end)
        self.said = self.fabric.stdout.readline()
        self.assertIn("2 lines", self.said)
        for one in self.guests:
            one.start()

    def end(self):
        """Let the program end. Returns all that it has said."""
        if not self.fabric.stdout.closed:
            self.fabric.send_signal(signal.SIGINT)
            self.said += self.fabric.stdout.read()
            self.fabric.stdout.close()
            self.assertEqual(self.fabric.wait(30), 0, self.said)
        return self.said

    def meet(self, line, server=1, client=None):
        """A program of two ends: its server in one guest, its client in the other.

        Returns what the client said. What the losses have kept from its end begins again.
        """
        ends = (self.guests[server], self.guests[1 - server])
        program = line.split()[0]
        deadline = time.monotonic() + LIMIT_S
        said = ["", ""]
        while time.monotonic() < deadline:
            ends[0].shell(f"(timeout {LIMIT_S} {line}; echo status=$?) >/tmp/said 2>&1 "
                          "</dev/null &")
            time.sleep(0.5)
            status, said[1] = ends[1].shell(f"timeout {LIMIT_S} {line} {IP[server]}", 2 * LIMIT_S)
            while status == 0 and time.monotonic() < deadline:
                said[0] = ends[0].shell("cat /tmp/said")[1]
                if "status=" in said[0]:
                    self.assertIn("status=0", said[0])
                    return said[1]
                time.sleep(0.2)
            ends[0].shell(f"killall {program}; true")
        self.fail(f"{line}: {said}")
        return ""


class LossyTest(Fabric):
    """1 % of the frames of the trunk are lost."""

    OPTIONS = ("--loss=0.01", "--delay=100us", "--mtu=512")

    def test_all(self):
        """One fabric for all: a pair of guests takes a while to start."""
        for address in (IP[1], IP6[1], SIMULATED):
            with self.subTest(ping=address):
                _, text = self.guests[0].shell(f"ping -c 20 -i 0.1 {address}")
                self.assertGreater(int(re.search(r"(\d+) packets received", text)[1]), 10, text)
        for server in (0, 1):
            with self.subTest("RC ping-pong", server=server):
                text = self.meet("ibv_rc_pingpong -g 1 -n 100", server)
                self.assertIn("100 iters", text)
        with self.subTest("RC ping-pong over IPv6"):
            self.assertIn("100 iters", self.meet("ibv_rc_pingpong -g 2 -n 100"))
        with self.subTest("write"):
            text = self.meet(f"ib_write_bw -n 100 -s 65536 -m 1024 {PERFTEST}")
            self.assertRegex(text, r"(?m)^ *65536 +100 ")
        with self.subTest("read"):
            text = self.meet(f"ib_read_lat -n 100 {PERFTEST}")
            self.assertRegex(text, r"(?m)^ *2 +100 ")
        with self.subTest("against the simulated host"):
            for one in self.guests:
                status, text = one.shell(f"ibv_rc_pingpong -g 1 -m 512 -n 100 {SIMULATED}")
                self.assertEqual(status, 0, text)
                self.assertIn("100 iters", text)
        counted = bridge.counted(self.end())
        for name in ("line 1", "line 2"):
            self.assertGreater(counted[name]["RoCE"], 1000)
            self.assertGreater(counted[name]["other"], 50)
            for key in ("refused", "addresses", "overrun", "lost"):
                self.assertEqual(counted[name][key], 0, (name, key))
        self.assertGreater(counted["fabric"]["lost on the trunk"], 50)
        self.assertGreaterEqual(counted["pingpong"]["messages sent back"], 200)


class CommandTest(unittest.TestCase):
    """./rnic live --fabric."""

    def run_it(self, *options, script=None):
        with tempfile.TemporaryDirectory() as folder:
            call = [os.path.join(ROOT, "rnic"), "live", "--fabric", *options]
            if script is not None:
                call += ["--script", os.path.join(folder, "script"),
                         "--pcap", os.path.join(folder, "line")]
                with open(call[-3], "w", encoding="ascii") as file:
                    file.write(script)
            done = subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  check=False)
            sizes = {name: os.path.getsize(os.path.join(folder, name))
                     for name in os.listdir(folder) if name.endswith(".pcap")}
        return done, sizes

    def test_script(self):
        done, sizes = self.run_it("--delay", "1ms", script=f"""# both ways
a: guest1 mr len=64
guest1 peek len=2
guest2 sh ping -c 2 {IP[0]}
guest1 sh ibv_rc_pingpong -g 1 -n 10 {SIMULATED}
guest2 sh echo $a.addr
""")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("hex=0000\nok\n", done.stdout)
        self.assertIn("2 packets received", done.stdout)
        self.assertIn("10 iters", done.stdout)
        self.assertRegex(done.stdout, r"out 0x\w+\n")
        self.assertIn("pingpong: 10 messages sent back\n", done.stdout)
        self.assertEqual(set(sizes), {"line-1.pcap", "line-2.pcap"})
        self.assertGreater(min(sizes.values()), 1000)

    def strike(self, whom, number, line, *options):
        """A signal to one of the processes while all run, then a line of input.

        Returns status and last line of the standard error; nothing is left behind.
        """
        with tempfile.TemporaryDirectory() as folder:
            call = [os.path.join(ROOT, "rnic"), "live", "--fabric", *options]
            with subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, "TMPDIR": folder}) as it:
                it.stdin.write("guest2 sh echo here\n")
                it.stdin.flush()
                while it.stdout.readline() != "ok\n":
                    self.assertIsNone(it.poll(), "it has ended")
                found = {os.path.basename(words[0]): pid for pid, words in self.processes(folder)}
                os.kill({**found, "rnic": it.pid}[whom], number)
                said = it.communicate(line, timeout=LIMIT_S)[1]
            self.assertEqual((os.listdir(folder), list(self.processes(folder))), ([], []))
        return it.returncode, said.strip().split("\n")[-1]

    @staticmethod
    def processes(folder):
        """Those that name the folder: (PID, words)."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                    words = file.read().split("\0")
            except OSError:
                continue
            if any(folder in word for word in words):
                yield int(pid), words

    def test_one_of_them_ends(self):
        for whom, number, line, status, text in (
                ("rnic", signal.SIGTERM, "", 130, "rnic: interrupted"),
                ("rnic", signal.SIGHUP, "", 130, "rnic: interrupted"),
                ("rnic-live-fabric", signal.SIGKILL, "quit\n", 1, "the fabric has ended too early"),
                (guest.QEMU, signal.SIGKILL, "guest1 peek len=1\nguest2 peek len=1\n", 1,
                 "the guest has ended")):
            with self.subTest(whom=whom, number=number):
                ended, said = self.strike(whom, number, line)
                self.assertEqual((ended, said.endswith(text)), (status, True), said)

    def test_full_disk(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink("/dev/full", os.path.join(folder, "line-1.pcap"))
            done, _ = self.run_it("--pcap", os.path.join(folder, "line"))
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertRegex(done.stderr, r"^rnic: .*/line-1\.pcap could not be written$")

    def test_refusals(self):
        for options, script, status, text in (
                (["--loss", "2"], None, 2, "--loss: not a part, 0 .. 1"),
                (["--loss", "x"], None, 2, "Invalid command-line argument: --loss=x"),
                (["--delay", "5parsec"], None, 2, "Can't Parse Time 5parsec"),
                (["--set", "RnicSwitchDevice::Wat=1"], None, 2, "RnicSwitchDevice::Wat"),
                (["--set", "RnicLink::Loss=2"], None, 2, "RnicLink::Loss"),
                (["--mac", "02:00:00:00:00:09"], None, 2, "--mac is of a card"),
                ([], "guest1 mr len=8\nmr len=8\n", 2, "script:2: \"mr len=8\" is for nobody: "
                                                       "begin with guest1 or guest2"),
                ([], "guest1 sit\n", 1, "script:1: unknown command sit")):
            with self.subTest(options=options, script=script):
                done, _ = self.run_it(*options, script=script)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stderr.strip().count("\n"), 0, done.stderr)


if __name__ == "__main__":
    guest.require()
    unittest.main(verbosity=2)
