#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The wscript: waf from PyPI builds the runner and a C test, whose results are those of CMake's
build; inside a tree that stands for ns-3 3.35 the module is described as that ns-3 wants it.

waf goes into build/waf-test/venv, what it builds beside it; both are kept for the next time.
Without PyPI the tests that need waf are skipped.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RUNNER = os.environ.get("RNIC_RUN") or os.path.join(ROOT, "build", "rnic-run")
FOLDER = os.path.join(ROOT, "build", "waf-test")
PYTHON = os.path.join(FOLDER, "venv", "bin", "python")
WAFLIB = "waflib>=2.1,<2.2"
LIMIT_S = 850

# What ns-3's own scripts do for a module, as far as ours can notice.
NS3_TREE = """
import os, shutil, types
from waflib import Context, TaskGen
top, out = ".", "build"

def options(opt):
    opt.load("compiler_c compiler_cxx")
    opt.recurse("contrib/rnic", mandatory=False)

def configure(conf):
    conf.load("compiler_c compiler_cxx")
    conf.env.VERSION, conf.env.ENABLE_EXAMPLES = "3.35", True
    for name in "core network stats internet applications point-to-point".split():
        conf.env["LIB_ns3-" + name] = ["ns3-" + name]
    conf.env.append_value("CXXFLAGS", ["-std=c++11", "-Wall", "-Werror"])
    conf.recurse("contrib/rnic", mandatory=False)

def create_ns3_module(bld, name, dependencies=(), test=False):
    module = bld(features="cxx cxxshlib", name="ns3-" + name, target="ns3.35-" + name)
    module.use = ["ns3-" + other for other in dependencies]
    module.env.append_value("INCLUDES", Context.out_dir)
    return module

def create_ns3_module_test_library(bld, name):
    return bld.create_ns3_module(name + "-test", [name], test=True)

def create_ns3_program(bld, name, dependencies=("core",)):
    program = bld(features="cxx cxxprogram", name=name, target=name)
    program.use = ["ns3-" + other for other in dependencies]
    program.includes = Context.out_dir
    return program

@TaskGen.feature("ns3header")
@TaskGen.after_method("process_rule")
def copy_headers(self):
    folder = self.bld.bldnode.make_node("ns3")
    folder.mkdir()
    for node in self.to_nodes(self.source):
        shutil.copy(node.abspath(), folder.abspath())
    self.source = []

def build(bld):
    for function in (create_ns3_module, create_ns3_module_test_library, create_ns3_program):
        setattr(bld, function.__name__, types.MethodType(function, bld))
    bld.recurse("contrib/rnic")
"""


def execute(*call, cwd=ROOT):
    """@return (status, what it said)"""
    process = subprocess.run(call, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace",
                             timeout=LIMIT_S, check=False)
    return process.returncode, process.stdout


def get_waf():
    """Make sure that PYTHON has waf. Raises SkipTest when PyPI does not answer."""
    if os.path.exists(PYTHON) and execute(PYTHON, "-c", "import waflib.Scripting")[0] == 0:
        return
    status, output = execute("/usr/bin/python3", "-m", "venv", "--clear",
                             os.path.join(FOLDER, "venv"))
    if status == 0:
        status, output = execute(PYTHON, "-m", "pip", "install", "--retries", "1", "--timeout",
                                 "20", "--disable-pip-version-check", WAFLIB)
    if status != 0 and "connection broken by" in output:
        raise unittest.SkipTest("PyPI cannot be reached, so there is no waf")
    assert status == 0, output


def waf(top, folder, *arguments):
    """Run waf on a tree; no lock file beside its wscript, where a user may have his own."""
    return execute(PYTHON, os.path.join(ROOT, "wscript"), "--no-lock-in-top", "--no-lock-in-run",
                   "-t", top, "-o", folder, *arguments)


def listed():
    with open(os.path.join(ROOT, "sources.txt"), encoding="ascii") as file:
        rows = [line.split() for line in file]
    return [tuple(row) for row in rows if len(row) == 2 and row[0] != "#"]


def text(name):
    with open(os.path.join(ROOT, name), encoding="ascii") as file:
        return file.read()


class Lists(unittest.TestCase):
    """A kind of source that a build does not know would be left out without a word."""

    def test_cmake_reads_every_kind(self):
        kinds = re.search(r"foreach\(kind ([^)]*)\)", text("CMakeLists.txt")).group(1).split()
        used = {kind for kind, _ in listed()} - {"pytest", "guest"}
        self.assertEqual(sorted(used - set(kinds)), [])

    def test_wscript_reads_every_kind(self):
        words = set(re.findall(r'"([a-z]+)"', text("wscript")))
        used = {kind for kind, _ in listed()} - {"pytest", "fuzz", "guest"}
        self.assertEqual(sorted(used - words), [])


class Standalone(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        get_waf()
        cls.out = os.path.join(FOLDER, "out")

    def test_every_program_is_described(self):
        status, output = waf(ROOT, self.out, "configure", "list")
        self.assertEqual(status, 0, output)
        targets = set(re.findall(r"^(\S+) *$", output, re.M))
        wanted = {"rnic", "rnic-c", "rnic-test-support"}
        for kind, path in listed():
            stem = os.path.splitext(path)[0]
            if path.endswith(".h"):
                continue
            if kind in ("ctest", "sim", "bench"):
                wanted.add(stem[len("test/"):].replace("/", "-"))
            elif kind in ("runner", "example", "tool", "nsrunner"):
                wanted.add(os.path.basename(stem))
        self.assertEqual(targets, wanted)

    def test_runner_has_the_results_of_cmakes(self):
        self.assertTrue(os.path.exists(RUNNER), f"{RUNNER}: not built; set RNIC_RUN")
        status, output = waf(ROOT, self.out, "configure", "build", "-j1", "--check",
                             "--targets=rnic-run,wire-frame_test")
        self.assertEqual(status, 0, output)
        with tempfile.TemporaryDirectory() as folder:
            for name, runner in (("waf", os.path.join(self.out, "rnic-run")), ("cmake", RUNNER)):
                status, said = execute(runner, "scenarios/allreduce-ring-4.toml", "--set",
                                       "workload.bytes=256KiB", "--set", "run.pcap=true",
                                       "--out", os.path.join(folder, name))
                self.assertEqual(status, 0, said)
            self.same_results(os.path.join(folder, "waf"), os.path.join(folder, "cmake"))

    def same_results(self, one, other):
        names = sorted(os.listdir(one))
        self.assertEqual(names, sorted(os.listdir(other)))
        self.assertIn("flows.csv", names)
        for name in names:
            with open(os.path.join(one, name), "rb") as file:
                mine = file.read()
            with open(os.path.join(other, name), "rb") as file:
                theirs = file.read()
            if name == "summary.json":
                mine, theirs = json.loads(mine), json.loads(theirs)
                for summary in (mine, theirs):
                    for key in [key for key in summary["speed"] if key.endswith("_s")]:
                        del summary["speed"][key]
            self.assertEqual(mine, theirs, name)


class InsideNs3(unittest.TestCase):
    """contrib/rnic of a tree that does what ns-3 3.35 does: every source is there, flags are."""

    def setUp(self):
        get_waf()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = folder.name
        self.out = os.path.join(self.tree, "build")
        os.makedirs(os.path.join(self.tree, "contrib"))
        os.symlink(ROOT, os.path.join(self.tree, "contrib", "rnic"))
        with open(os.path.join(self.tree, "wscript"), "w", encoding="ascii") as file:
            file.write(NS3_TREE)

    def test_module(self):
        status, output = waf(self.tree, self.out, "configure", "list")
        self.assertEqual(status, 0, output)
        programs = {os.path.splitext(os.path.basename(path))[0] for kind, path in listed()
                    if kind in ("example", "runner", "tool")}
        self.assertEqual(set(re.findall(r"^(\S+) *$", output, re.M)),
                         {"ns3-rnic", "ns3-rnic-test"} | programs)

    def test_flags(self):
        status, output = waf(self.tree, self.out, "configure")
        self.assertEqual(status, 0, output)
        status, output = waf(self.tree, self.out, "step", "-v", "--files=in:.*/wire_text[.]c$,"
                             "in:.*/rnic-param-attribute[.]cc$")
        self.assertEqual(status, 0, output)
        calls = {os.path.basename(found[2]): found[0]
                 for found in re.finditer(r"\[('[^']*', )+'([^']*)', '-c', .*\]", output)}
        self.assertEqual(set(calls), {"wire_text.c", "rnic-param-attribute.cc"}, output)
        for flag in ("-std=c11", "-fPIC", "-ffp-contract=off"):
            self.assertIn(f"'{flag}'", calls["wire_text.c"])
        standards = re.findall(r"'(-std=[^']*)'", calls["rnic-param-attribute.cc"])
        self.assertEqual(standards[-1], "-std=c++17")


if __name__ == "__main__":
    ended = unittest.main(exit=False).result
    for _, why in ended.skipped[:1]:
        print(why)
    sys.exit(77 if ended.wasSuccessful() and ended.skipped else not ended.wasSuccessful())
