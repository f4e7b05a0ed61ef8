# SPDX-License-Identifier: GPL-2.0-only
"""What inventory.py, coverage.py and mutate.py share: C text, tests that load a changed library.

The C tests are linked once with a shared library of all C folders. A changed library (one file
compiled again) is put before it with LD_LIBRARY_PATH, so that nothing else is built again.
"""

import concurrent.futures
import os
import re
import signal
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
C_FOLDERS = ("model/wire", "model/core", "model/fabric", "model/engine", "model/live")
INCLUDES = [f"-I{folder}" for folder in C_FOLDERS + ("test", "test/vectors")]
BASE = ["-std=c11", "-ffp-contract=off", "-fPIC"]
LIBRARY = "librnic-spoiled.so"
MEMORY_KIB = 3 << 20       # of one test, so that a spoiled one can not take the machine
SANITIZER_ENV = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "halt_on_error=1"}


def jobs():
    return len(os.sched_getaffinity(0))


def sources():
    """The list of sources: [(kind, path)]."""
    with open(os.path.join(ROOT, "sources.txt"), encoding="ascii") as file:
        lines = [line.split() for line in file]
    return [(words[0], words[1]) for words in lines if len(words) == 2 and words[0] != "#"]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def masked(text):
    """C text whose comments, strings and characters are blanks: same places, same lines."""
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found.group()), text, flags=re.S)


def closing(text, start):
    """Place of the bracket that closes the one at start (in masked text); -1: none."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    opened, closed, depth = text[start], pairs[text[start]], 0
    for at in range(start, len(text)):
        depth += (text[at] == opened) - (text[at] == closed)
        if depth == 0:
            return at
    return -1


def spans(text, pattern):
    """(start, end) of each match of pattern and of the bracket that it opens (masked text)."""
    found = []
    for match in re.finditer(pattern, text):
        end = closing(text, match.end() - 1)
        if end >= 0:
            found.append((match.start(), end))
    return found


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def excuses(path):
    """Pairs of lines, "FILE: source text" and an indented reason. @return [(file, text, reason)]"""
    found, head = [], None
    for number, line in enumerate(read(path).split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        if line.startswith("    ") and head:
            found.append((*head, line.strip()))
            head = None
        else:
            match = re.match(r"(\S+): (.*\S)$", line)
            if not match or head:
                raise BuildError(f"{path}:{number}: not a pair of FILE: TEXT and a reason")
            head = match.groups()
    if head:
        raise BuildError(f"{path}: the last one has no reason")
    return found


def each(work, items):
    """work(item) for all items, as many at once as there are processors; results in order."""
    with concurrent.futures.ThreadPoolExecutor(jobs()) as pool:
        return list(pool.map(work, items))


class BuildError(Exception):
    pass


def call(words, **more):
    result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace", cwd=ROOT, check=False, **more)
    if result.returncode != 0:
        raise BuildError(f"$ {' '.join(words)}\n{result.stdout}")


class Outcome:
    """How one test ended: status 0, an exit status, minus a signal, or None when it was stopped."""

    def __init__(self, test, status, seconds, output):
        self.test, self.status, self.seconds, self.output = test, status, seconds, output

    @property
    def passed(self):
        return self.status == 0

    @property
    def check(self):
        """file:line of the check of a test that failed; None when it ended in another way."""
        found = re.search(r"^(?:\S*/)?(test/\S+?):(\d+): ", self.output, re.M)
        return f"{found.group(1)}:{found.group(2)}" if found and self.status == 1 else None

    @property
    def why(self):
        """One line."""
        if self.status is None:
            return f"stopped after {self.seconds:.0f} s"
        lines = [line for line in self.output.split("\n") if line and not line.startswith("ok ")]
        told = [line for line in lines if re.search(r"\S:\d+:|failed|ERROR|error", line)]
        return (told or lines or [f"status {self.status}"])[0].strip()[:200]


def case_of(outcome):
    """core/rc_loss_test/name: the test and its case that failed (the one after the last ok)."""
    cases = re.findall(r"CHECK_CASE\((\w+)\)", masked(read(outcome.test)))
    passed = len(re.findall(r"^ok \w+/\w+$", outcome.output, re.M))
    name = outcome.test[len("test/"):-len(".c")]
    return f"{name}/{cases[passed]}" if passed < len(cases) else name


class Rig:
    """C tests linked with a shared library of the C folders.

    folder    where it is built; nothing is built again that is newer than what it is made of
    flags     of library and tests
    linked    flags for compiling and for linking
    tests     paths of the C tests and simulations
    """

    def __init__(self, folder, flags, tests, linked=()):
        self.folder = os.path.abspath(folder)
        self.linked = list(linked)
        self.flags = BASE + list(flags) + self.linked
        self.tests = list(tests)
        self.seconds = {}       # of each test with the library as it is
        self.arguments = {}     # of a test, words

    # -- building --

    def object_of(self, path, folder="object"):
        return os.path.join(self.folder, folder, path[:-2].replace("/", "-") + ".o")

    def compile(self, path, target, more=(), source=None):
        """Compile the file at path, or another text in its place, with its name and lines."""
        words = ["gcc", *self.flags, *more, *INCLUDES, f"-I{os.path.dirname(path)}",
                 "-c", "-o", target]
        if source is None:
            call(words + [path])
            return
        kept = target + ".c"
        with open(kept, "w", encoding="utf-8") as file:
            file.write(f'#line 1 "{path}"\n{source}')
        call(words + [kept])

    def _old(self, target, stamp):
        """Is it older than what it was made of, or made in another way?"""
        try:
            with open(target + ".how", encoding="utf-8") as file:
                if file.read() != stamp:
                    return True
            with open(target[:-2] + ".d", encoding="utf-8") as file:
                parts = file.read().replace("\\\n", " ").split(":", 1)[1].split()
            made = os.path.getmtime(target)
            return any(os.path.getmtime(os.path.join(ROOT, part)) >= made for part in parts)
        except (OSError, IndexError):
            return True

    def _object(self, path):
        target = self.object_of(path)
        stamp = " ".join(self.flags)
        if self._old(target, stamp):
            self.compile(path, target, ["-MMD"])
            with open(target + ".how", "w", encoding="utf-8") as file:
                file.write(stamp)
            return True
        return False

    def build(self):
        """Library and tests; raises BuildError."""
        os.makedirs(os.path.join(self.folder, "object"), exist_ok=True)
        os.makedirs(os.path.join(self.folder, "plain"), exist_ok=True)
        listed = sources()
        self.library_paths = [path for kind, path in listed if path.endswith(".c")
                              and os.path.dirname(path) in C_FOLDERS]
        support = [path for kind, path in listed if kind == "support" and path.endswith(".c")]
        paths = self.library_paths + support + self.tests
        changed = dict(zip(paths, each(self._object, paths)))
        library = os.path.join(self.folder, "plain", LIBRARY)
        if any(changed[path] for path in self.library_paths) or not os.path.exists(library):
            self.link({}, os.path.join(self.folder, "plain"))
        archive = os.path.join(self.folder, "libsupport.a")
        if any(changed[path] for path in support) or not os.path.exists(archive):
            if os.path.exists(archive):
                os.remove(archive)
            call(["ar", "rcs", archive] + [self.object_of(path) for path in support])

        def link(test):
            program = self.program(test)
            if changed[test] or not os.path.exists(program) or \
                    os.path.getmtime(program) < os.path.getmtime(archive):
                call(["gcc", *self.linked, "-o", program, self.object_of(test), archive,
                      "-L" + os.path.join(self.folder, "plain"), "-l:" + LIBRARY, "-lz", "-lm"])
        each(link, self.tests)

    def program(self, test):
        return os.path.join(self.folder, test[:-2].replace("/", "-"))

    def link(self, objects, folder, more=()):
        """The library with some objects ({path: object}) in the place of its own."""
        os.makedirs(folder, exist_ok=True)
        call(["gcc", *self.linked, "-shared", "-o", os.path.join(folder, LIBRARY),
              *[objects.get(path, self.object_of(path)) for path in self.library_paths], *more,
              "-lm"])

    # -- running --

    def limit(self, test):
        """Seconds a test may take before it counts as hanging."""
        return 5 + 10 * self.seconds.get(test, 60)

    def run(self, test, folder=None, env=None, limit=None):
        """Run a test with the library in folder. @return Outcome"""
        folder = folder or os.path.join(self.folder, "plain")
        begin = time.monotonic()
        environment = {**os.environ, **SANITIZER_ENV, **(env or {}), "LD_LIBRARY_PATH": folder}
        mapped = any(flag.startswith("-fsanitize") for flag in self.linked)  # terabytes, by ASan
        memory = "" if mapped else f"ulimit -v {MEMORY_KIB}; "
        limit = limit or self.limit(test)
        # Processor time is limited too, for a test that loops when nobody waits for it any more.
        limits = f"ulimit -c 0; ulimit -t {int(limit) + 5}; {memory}"
        words = ["sh", "-c", limits + 'exec "$0" "$@"', self.program(test)]
        with subprocess.Popen(words + list(self.arguments.get(test, ())), text=True, cwd=ROOT,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, errors="replace", env=environment,
                              start_new_session=True) as process:
            try:
                output, _ = process.communicate(timeout=limit)
                status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
                status = None
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        return Outcome(test, status, time.monotonic() - begin, output)

    def baseline(self):
        """Run every test with the library as it is. @return those that failed, Outcomes"""
        failed = []
        for outcome in each(lambda test: self.run(test, limit=600), self.tests):
            self.seconds[outcome.test] = outcome.seconds
            if not outcome.passed:
                failed.append(outcome)
        return failed
