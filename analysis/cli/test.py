# SPDX-License-Identifier: GPL-2.0-only
"""./rnic test: every test, the fast ones first, one line each, the total last.

Groups, in order: tidy (the source itself, and that each refusal has a test), C tests under ASan
and UBSan with gcc and with clang, what the C tests prove (branch coverage; --long: mutants), the
bounded fuzz run, ns-3 TestSuites, Python tests, scenarios with their expect bounds.
A build that fails is a failed test. A program that exits with status 77 is skipped.
"""

import argparse
import concurrent.futures
import os
import re
import signal
import subprocess
import time

from analysis.cli import build, setup
from analysis.cli.common import PYTHON, ROOT, Failure, jobs, sources, tail

BUILDS = build.RELEASE
SKIPPED = 77
FUZZ_SECONDS = 30       # of each fuzz target
FUZZ_LONG_SECONDS = 600 # the same with --long
LONG_SEEDS = 10000      # of each simulation with --long; it has its own default without
LONG_MUTANTS = 40       # one-token changes of model/core with --long
SHOWN_LINES = 60        # of what a failed test said

SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}


class Results:
    """Counts outcomes and prints one line for each."""

    def __init__(self):
        self.start = time.monotonic()
        self.passed, self.skipped, self.failed = 0, 0, []

    def add(self, name, status, seconds, output=""):
        """Status 0 passed, 77 skipped, else failed: then the output is shown too."""
        word = {0: "ok", SKIPPED: "skip"}.get(status, "FAIL")
        elapsed = int(time.monotonic() - self.start)
        print(f"{elapsed // 60:3d}:{elapsed % 60:02d} {word:4} {name} ({seconds:.1f} s)",
              flush=True)
        if status == 0:
            self.passed += 1
        elif status == SKIPPED:
            self.skipped += 1
        else:
            self.failed.append(name)
            print("    | " + tail(output, SHOWN_LINES).replace("\n", "\n    | "), flush=True)

    def end(self):
        """The last line, alone on it. @return exit status."""
        for name in self.failed:
            print(f"failed: {name}")
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        print(f"{self.passed} passed, {len(self.failed)} failed{skipped}", flush=True)
        return 1 if self.failed else 0


RUNNING = set()  # programs under way, each the leader of its own process group


def stop(process):
    """Kill a program and what it started, if it still runs."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def execute(call, limit, env=None, cwd=ROOT):
    """Run a program. @return (exit status, seconds, what it said); too slow is a failure."""
    begin = time.monotonic()
    with subprocess.Popen(call, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", cwd=cwd,
                          env={**os.environ, **(env or {})}, start_new_session=True) as process:
        RUNNING.add(process)
        try:
            output, _ = process.communicate(timeout=limit)
            status = process.returncode
        except subprocess.TimeoutExpired:
            stop(process)
            output, _ = process.communicate()
            status, output = 1, output + f"\nstopped after {limit} s\n"
        except KeyboardInterrupt:
            stop(process)
            raise
        finally:
            RUNNING.discard(process)
    if status < 0:
        output += f"\ndied of {signal.Signals(-status).name}\n"
    return status, time.monotonic() - begin, f"$ {' '.join(call)}\n{output}"


class Group:
    """Tests that share a build. names() needs no build; run() reports into results."""

    title = ""

    def __init__(self, options):
        self.options = options

    def names(self):
        raise NotImplementedError

    def prepare(self):
        """Build what run() needs, if anything; raises Failure."""

    def one(self, name):
        """Run one test. @return (status, seconds, output)"""
        raise NotImplementedError

    def run(self, names, results):
        with concurrent.futures.ThreadPoolExecutor(jobs()) as pool:
            running = {pool.submit(self.one, name): name for name in names}
            try:
                for done in concurrent.futures.as_completed(running):
                    results.add(f"{self.title}/{running[done]}", *done.result())
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                for process in list(RUNNING):
                    stop(process)
                raise


class Tidy(Group):
    title = "tidy"
    folder = os.path.join(BUILDS, "c")

    def names(self):
        return ["source"]

    def prepare(self):
        build.make(self.folder, ["-DRNIC_NS3=OFF"], ["rnic-c"])

    def run(self, names, results):
        library = os.path.join(self.folder, "librnic-c.a")
        self._checks([PYTHON, "test/tidy.py", "--library", library], "source", results)
        self._checks([PYTHON, "test/inventory.py", "--tidy"], "inventory", results)

    def _checks(self, call, name, results):
        """Run a program of many checks and report each."""
        status, seconds, output = execute(call, 900)
        checks = re.findall(r"^(ok|FAIL) (\S+)\n((?:    .*\n)*)", output, re.M)
        for word, check, places in checks:
            results.add(f"tidy/{check}", 0 if word == "ok" else 1, seconds / len(checks), places)
        if not checks or (status != 0 and all(word == "ok" for word, _, _ in checks)):
            results.add(f"tidy/{name}", 1, seconds, output)


class CTests(Group):
    """C tests and simulations, no ns-3, under ASan and UBSan."""

    def __init__(self, options, compiler):
        super().__init__(options)
        self.compiler = compiler
        self.title = f"c-{compiler}"
        self.folder = os.path.join(BUILDS, f"{compiler}-asan")
        self.settings = ["-DRNIC_NS3=OFF", "-DRNIC_SANITIZE=ON",
                         f"-DCMAKE_C_COMPILER={compiler}",
                         "-DCMAKE_CXX_COMPILER=" + {"gcc": "g++"}.get(compiler, "clang++")]

    def names(self):
        return [path[len("test/"):-len(".c")] for kind, path in sources()
                if kind in ("ctest", "sim") and path.endswith(".c")]

    def prepare(self):
        build.make(self.folder, self.settings)

    def one(self, name):
        call = [os.path.join(self.folder, "test", name)]
        if self.options.long and ("sim", f"test/{name}.c") in sources():
            call += ["--seeds", f"1..{LONG_SEEDS}"]
        return execute(call, 600, SANITIZER_ENV)


class Fuzz(Group):
    """Each libFuzzer target for some time, from its corpus in test/fuzz/corpus."""

    title = "fuzz"
    folder = os.path.join(BUILDS, "clang-fuzz")  # coverage slows code down: not the C tests' build

    def names(self):
        return [os.path.splitext(os.path.basename(path))[0] for kind, path in sources()
                if kind == "fuzz" and path.endswith(".c")]

    def prepare(self):
        settings = ["-DRNIC_NS3=OFF", "-DRNIC_SANITIZE=ON", "-DRNIC_FUZZ=ON",
                    "-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++"]
        build.make(self.folder, settings, [f"fuzz-{name}" for name in self.names()])

    def one(self, name):
        seconds = FUZZ_LONG_SECONDS if self.options.long else FUZZ_SECONDS
        grown = os.path.join(self.folder, "corpus", name)
        os.makedirs(grown, exist_ok=True)
        call = [os.path.join(self.folder, "test", "fuzz", name), f"-max_total_time={seconds}",
                "-print_final_stats=1", "-verbosity=0", f"-artifact_prefix={grown}-", grown]
        kept = os.path.join("test", "fuzz", "corpus", name.removesuffix("_fuzz"))
        if os.path.isdir(os.path.join(ROOT, kept)):
            call.append(kept)
        return execute(call, seconds + 120, SANITIZER_ENV)


class Prove(Group):
    """How much the C tests reach (gcov), and with --long whether they notice small changes."""

    title = "prove"
    programs = {"coverage": ["test/coverage.py"],
                "mutants": ["test/mutate.py", str(LONG_MUTANTS), "--seed", "1"]}

    def names(self):
        return list(self.programs) if self.options.long else ["coverage"]

    def one(self, name):
        return execute([PYTHON, *self.programs[name]], 3600)


class NsSuites(Group):
    """ns-3 TestSuites in our runner, each once more with the engine in batches."""

    title = "ns3"
    batch = " --drive=batch"
    runner = os.path.join(BUILDS, "rnic-test-runner")

    def names(self):
        found = []
        for kind, path in sources():
            if kind == "nstest" and path.endswith(".cc"):
                with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                    found += re.findall(r'\bTestSuite\s*\(\s*"([^"]+)"', file.read())
        return found + [name + self.batch for name in found]

    def prepare(self):
        build.release()

    def one(self, name):
        drive = [self.batch.strip()] if name.endswith(self.batch) else []
        call = [self.runner, *drive, f"--suite={name.removesuffix(self.batch)}", "--verbose"]
        if self.options.long:
            call.append("--fullness=TAKES_FOREVER")
        return execute(call, 900)


class PythonTests(Group):
    """Python test programs; RNIC_RUN names the built runner."""

    title = "python"

    def names(self):
        return [path[len("test/"):-len(".py")] for kind, path in sources() if kind == "pytest"]

    def prepare(self):
        build.release()

    def one(self, name):
        env = {"RNIC_RUN": os.path.join(BUILDS, "rnic-run"),
               "RNIC_LONG": "1" if self.options.long else ""}
        return execute([PYTHON, os.path.join("test", name + ".py")], 900, env)


class Scenarios(Group):
    """Every scenario with [[expect]] bounds must exit with 0.

    A comment line "# test: WORDS" in the scenario says more: `long` keeps it for --long,
    `seeds=1..5` runs it with those seeds and judges on the mean. What must not change a result
    (wire, tracing, another run) is tested in test/scenario.
    """

    title = "scenario"
    runner = os.path.join(BUILDS, "rnic-run")

    @staticmethod
    def _read():
        """{name: its words} of the scenarios that are tests."""
        folder = os.path.join(ROOT, "scenarios")
        found = {}
        for name in sorted(os.listdir(folder)):
            if name.endswith(".toml"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    text = file.read()
                if re.search(r"^\s*\[\[expect\]\]", text, re.M):
                    words = re.findall(r"^#\s*test:(.*)$", text, re.M)
                    found[name[:-len(".toml")]] = " ".join(words).split()
        return found

    def names(self):
        return [name for name, words in self._read().items()
                if self.options.long or "long" not in words]

    def prepare(self):
        build.release()

    def one(self, name):
        out = os.path.join(BUILDS, "test-results", name)
        call = [self.runner, f"scenarios/{name}.toml", "--out", out]
        for word in self._read()[name]:
            if word.startswith("seeds="):
                call += ["--seeds", word[len("seeds="):]]
        return execute(call, 1800)


def wanted(group, words):
    return [name for name in group.names()
            if not words or any(word in f"{group.title}/{name}" for word in words)]


def main(argv):
    parser = argparse.ArgumentParser(prog="./rnic test", description="Run the tests.")
    parser.add_argument("--long", action="store_true",
                        help="also the slow ones, and fuzz for longer")
    parser.add_argument("--coverage", action="store_true",
                        help="only branch coverage of model/wire and model/core, by file")
    parser.add_argument("--mutants", nargs="?", type=int, const=200, metavar="N",
                        help="only: change one token of model/core, N times (200), and count what "
                             "the C tests notice")
    parser.add_argument("--seed", type=int, metavar="S",
                        help="of --mutants; else drawn and printed")
    parser.add_argument("name", nargs="*", metavar="NAME",
                        help="only tests whose GROUP/NAME contains one of these")
    options = parser.parse_args(argv)
    if options.seed is not None and options.mutants is None:
        parser.error("--seed belongs to --mutants")

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stop what runs, then end
    setup.install(setup.RUN_PACKAGES + setup.TEST_PACKAGES)
    if options.coverage:
        return subprocess.call([PYTHON, "test/coverage.py"], cwd=ROOT)
    if options.mutants is not None:
        seed = [] if options.seed is None else ["--seed", str(options.seed)]
        return subprocess.call([PYTHON, "test/mutate.py", str(options.mutants), *seed], cwd=ROOT)
    groups = [Tidy(options), CTests(options, "gcc"), CTests(options, "clang"), Prove(options),
              Fuzz(options), NsSuites(options), PythonTests(options), Scenarios(options)]
    plan = [(group, wanted(group, options.name)) for group in groups]
    if not any(names for _, names in plan):
        raise Failure(f"no test is named like {' or '.join(options.name)}")

    results = Results()
    broken = set()
    for group, names in plan:
        if not names:
            continue
        begin = time.monotonic()
        try:
            group.prepare()
        except Failure as failure:
            # The release build serves three groups; its failure is told once, its tests once each.
            text = "" if str(failure) in broken else str(failure)
            broken.add(str(failure))
            results.add(f"{group.title}/build", 1, time.monotonic() - begin, text)
            continue
        group.run(names, results)
    return results.end()
