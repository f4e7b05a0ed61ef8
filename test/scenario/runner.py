# SPDX-License-Identifier: GPL-2.0-only
"""What the scenario tests share: run rnic-run on a text, read what it wrote."""

import csv
import json
import os
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUNNER = os.environ.get("RNIC_RUN") or os.path.join(ROOT, "build", "rnic-run")

STAR = """[topology]
kind = "star"
hosts = 4
[nic]
preset = "ideal"
[workload]
kind = "allreduce"
bytes = "64KiB"
"""


class Run:
    """One finished run: exit status, both outputs, and the folder's tables when asked for."""

    def __init__(self, folder, process):
        self.folder = folder
        self.status = process.returncode
        self.out = process.stdout
        self.err = process.stderr

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    @property
    def summary(self):
        return json.loads(self.read("summary.json"))

    def table(self, name):
        with open(self.path(name + ".csv"), encoding="ascii", newline="") as file:
            rows = csv.DictReader(line for line in file if not line.startswith("#"))
            return [{key: self._cell(value) for key, value in row.items()} for row in rows]

    @staticmethod
    def _cell(text):
        try:
            return int(text)
        except ValueError:
            return text


class RunnerCase(unittest.TestCase):
    """A test with a folder of its own, in which scenarios are written and run."""

    def setUp(self):
        self.assertTrue(os.path.exists(RUNNER), f"{RUNNER}: not built; set RNIC_RUN")
        self._tmp = tempfile.TemporaryDirectory()
        self.tmp = self._tmp.name
        self.addCleanup(self._tmp.cleanup)

    def write(self, text, name="s.toml"):
        path = os.path.join(self.tmp, name)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path

    def run_file(self, path, *arguments, out="out"):
        folder = os.path.join(self.tmp, out)
        process = subprocess.run([RUNNER, path, "--out", folder, *arguments], cwd=self.tmp,
                                 capture_output=True, text=True, timeout=300, check=False)
        return Run(folder, process)

    def run_text(self, text, *sets, out="out"):
        arguments = [word for pair in sets for word in ("--set", pair)]
        return self.run_file(self.write(text), *arguments, out=out)

    def run_shipped(self, name, *sets, out="out"):
        arguments = [word for pair in sets for word in ("--set", pair)]
        return self.run_file(os.path.join(ROOT, "scenarios", name + ".toml"), *arguments, out=out)

    def good(self, run):
        self.assertEqual(run.status, 0, run.out + run.err)
        return run
