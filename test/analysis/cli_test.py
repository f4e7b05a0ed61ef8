#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The ./rnic command: packages, exit status of the runner, what it refuses."""

import contextlib
import io
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)

from analysis.cli import build, common, plot, run, setup, test  # noqa: E402


def program(folder, name, text):
    """Write an executable shell script."""
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n" + text + "\n")
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name


class FrontDoorTest(unittest.TestCase):
    def call(self, *arguments):
        return subprocess.run([os.path.join(ROOT, "rnic"), *arguments], capture_output=True,
                              text=True, check=False, cwd="/")

    def test_help_lists_the_commands(self):
        result = self.call("--help")
        self.assertEqual(result.returncode, 0)
        for name in ("run", "test", "plot", "setup", "build"):
            self.assertIn(f"\n  {name} ", result.stdout)

    def test_unknown_command_is_refused_with_the_list(self):
        result = self.call("fly")
        self.assertEqual(result.returncode, 2)
        self.assertIn("unknown command 'fly'; commands are run, test,", result.stderr)

    def test_plot_refuses_a_folder_without_results(self):
        result = self.call("plot", "/nowhere")
        self.assertEqual(result.returncode, 2)
        self.assertIn("/nowhere: no summary.json there", result.stderr)


class SetupTest(FolderTest):
    def test_missing_packages_are_found(self):
        program(self.folder, "dpkg-query",
                'echo "installed cmake"; echo "config-files ns3"; exit 1')
        with mock.patch.dict(os.environ, PATH=self.folder):
            self.assertEqual(setup.missing(["cmake", "ns3", "valgrind"]), ["ns3", "valgrind"])

    def test_without_root_the_one_line_is_told(self):
        with mock.patch.object(setup, "missing", return_value=["ns3"]), \
                mock.patch.object(setup, "as_root", return_value=None), \
                mock.patch("shutil.which", return_value="/usr/bin/dpkg-query"), \
                self.assertRaises(common.Failure) as caught:
            setup.install(["cmake", "ns3"])
        self.assertEqual(caught.exception.status, 2)
        self.assertIn("run as root: apt-get update && apt-get install --no-remove -y cmake ns3",
                      str(caught.exception))

    def test_apt_is_called_once_with_the_whole_list(self):
        log = os.path.join(self.folder, "log")
        program(self.folder, "env", f'echo "$@" >> {log}')
        states = iter([["ns3"], []])
        with mock.patch.object(setup, "missing", side_effect=lambda _: next(states)), \
                mock.patch.object(setup, "as_root", return_value=[]), \
                mock.patch("shutil.which", return_value="/usr/bin/dpkg-query"), \
                mock.patch.dict(os.environ, PATH=self.folder), \
                contextlib.redirect_stdout(io.StringIO()):
            setup.install(["cmake", "ns3"])
        with open(log, encoding="ascii") as file:
            self.assertEqual(file.read().splitlines(), [
                "DEBIAN_FRONTEND=noninteractive apt-get -q update",
                "DEBIAN_FRONTEND=noninteractive apt-get -q install --no-remove -y cmake ns3"])


class RunTest(FolderTest):
    """run.main around a runner that only says what it was given."""

    def main(self, script, *arguments):
        drawn = []
        with mock.patch.object(setup, "install"), mock.patch.object(build, "release"), \
                mock.patch.object(run, "RUNNER", program(self.folder, "runner", script)), \
                mock.patch.object(plot, "drawable", return_value=True), \
                mock.patch.object(plot, "draw_overview", side_effect=drawn.append), \
                contextlib.redirect_stdout(io.StringIO()):
            return run.main(list(arguments)), drawn

    def test_status_is_passed_on_and_pictures_follow_a_run(self):
        for status, pictures in ((0, 1), (1, 1), (2, 0), (130, 0)):
            with self.subTest(status=status):
                got, drawn = self.main(f"exit {status}", "some/ring.toml")
                self.assertEqual((got, len(drawn)), (status, pictures))

    def test_arguments(self):
        log = os.path.join(self.folder, "log")
        _, drawn = self.main(f'echo "$@" > {log}', "a/ring.toml", "--set", "run.seed=2",
                             "--set", "nic.wire=true", "--no-plot")
        with open(log, encoding="ascii") as file:
            self.assertEqual(file.read(), "a/ring.toml --out results/ring --set run.seed=2 "
                                          "--set nic.wire=true\n")
        self.assertEqual(drawn, [])

    def test_a_crash_is_a_failure_and_an_interrupt_is_130(self):
        self.assertEqual(self.main("kill -INT $$", "ring.toml")[0], 130)
        with self.assertRaisesRegex(common.Failure, "SIGSEGV"):
            self.main("kill -SEGV $$", "ring.toml")


class TestCommandTest(FolderTest):
    def test_totals_and_status(self):
        for statuses, last, status in (((0, 0), "2 passed, 0 failed", 0),
                                       ((0, 77, 1), "1 passed, 1 failed, 1 skipped", 1)):
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                results = test.Results()
                for index, each in enumerate(statuses):
                    results.add(f"group/{index}", each, 0.1, "what it said")
                self.assertEqual(results.end(), status)
            self.assertEqual(said.getvalue().splitlines()[-1], last)
            self.assertEqual("| what it said" in said.getvalue(), status == 1)

    def test_a_test_that_hangs_is_stopped(self):
        status, _, output = test.execute(["sleep", "60"], 0.2)
        self.assertEqual(status, 1)
        self.assertIn("stopped after", output)

    def test_an_interrupt_stops_what_runs(self):
        class Sleeper(test.Group):
            title = "sleeper"

            def one(self, name):
                return test.execute(["sleep", "60"], 60)

        class Impatient(test.Results):
            def add(self, *_):
                raise AssertionError("nothing ended by itself")

        begin = time.monotonic()
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with self.assertRaises(KeyboardInterrupt):
            Sleeper(None).run(["a", "b", "c", "d"], Impatient())
        self.assertLess(time.monotonic() - begin, 20)
        self.assertEqual(test.RUNNING, set())

    def test_the_list_of_sources_is_read(self):
        kinds = {kind for kind, _ in common.sources()}
        self.assertLessEqual({"wire", "core", "fabric", "engine", "live", "contract"}, kinds)


if __name__ == "__main__":
    unittest.main()
