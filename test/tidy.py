#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the source itself: the three borders, names, line budgets, what the library holds.

    python3 test/tidy.py                    all checks that need no build
    python3 test/tidy.py --library FILE     also those of the built C library (librnic-c.a)
    python3 test/tidy.py --list-missing     lines that sources.txt lacks

Every check has a spoiler beside it: a small change it must notice. Each run spoils a copy of the
tree, held in memory, and a check that then stays silent fails. Prints `ok NAME` or `FAIL NAME`
and the places; exit status 1 when anything failed.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Who may include whose headers, by prefix of the file name.
C_FOLDERS = {
    "model/wire": ("wire_",),
    "model/core": ("wire_", "rnic_"),
    "model/fabric": ("wire_", "fabric_"),
    "model/engine": ("wire_", "rnic_", "fabric_", "engine"),
    "model/live": ("live_",),
}
C_PREFIX = {"model/wire": "wire_", "model/core": "rnic_", "model/fabric": "fabric_",
            "model/engine": "engine", "model/live": "live_"}
OURS = tuple(prefix for allowed in C_FOLDERS.values() for prefix in allowed)

MAX_FILE_LINES = 700      # 500 is the aim
MAX_FUNCTION_LINES = 100  # 70 is the aim
MAX_COLUMNS = 100

# Never called by the card or the wire code: they do no I/O and never allocate.
FORBIDDEN_CALLS = {"malloc", "calloc", "realloc", "free", "printf", "fprintf", "puts", "putchar",
                   "fopen", "time", "clock", "clock_gettime", "gettimeofday", "rand", "random",
                   "exit", "getenv"}

SOURCE = (".c", ".h", ".cc", ".py")
CODE = (".c", ".h", ".cc")
TEXT = SOURCE + (".txt", ".md", ".rst", ".toml")
SKIP_FOLDERS = {".git", "build", "results", "__pycache__", "corpus", "golden"}
PROGRAMS = ("rnic", ".ci/run", "wscript", "CMakeLists.txt")


class Tree(dict):
    """The checkout as {path: text}; a copy of it can be spoiled without touching a file."""

    @staticmethod
    def read(root):
        tree = Tree()
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if name not in SKIP_FOLDERS)
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), root)
                data = path.startswith("test/vectors/") and not name.endswith(CODE)
                if not data and (name.endswith(TEXT) or path in PROGRAMS
                                 or name == ".clang-format"):
                    with open(os.path.join(folder, name), encoding="utf-8",
                              errors="surrogateescape", newline="") as file:
                        tree[path] = file.read()
        return tree

    def under(self, folder, endings=CODE):
        return [(path, text) for path, text in self.items()
                if path.startswith(folder + "/") and path.endswith(endings)]

    def with_text(self, path, text):
        copy = Tree(self)
        copy[path] = text
        return copy

    def added(self, path, text):
        """A copy with text appended to a file."""
        return self.with_text(path, self.get(path, "") + text)

    def first(self, folder, ending):
        """Some file there, to spoil."""
        for path in sorted(self):
            if path.startswith(folder) and path.endswith(ending):
                return path
        return folder.rstrip("/") + "/spoiled" + ending


def includes(text):
    for number, line in enumerate(text.split("\n"), 1):
        found = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if found:
            yield number, found.group(1)


CHECKS = []


def check(spoil):
    """Register a check with the spoiler that it must notice."""
    def register(function):
        CHECKS.append((function.__name__.replace("_", "-"), function, spoil))
        return function
    return register


# ---- the list of sources ----

def listed(tree):
    """sources.txt as {path: kind}."""
    rows = [line.split() for line in tree.get("sources.txt", "").split("\n")]
    return {row[1]: row[0] for row in rows if len(row) == 2 and not row[0].startswith("#")}


def contract(tree):
    """Headers of kind `contract`: what C++ may include of the C folders.

    Their functions keep the short names of the design and may stand in any file of their folder.
    """
    return [path for path, kind in listed(tree).items() if kind == "contract"]


def is_source(path):
    if path.startswith(("model/", "helper/", "scenarios/", "examples/", "test/")):
        return path.endswith(CODE) or (path.startswith("test/") and path.endswith("_test.py"))
    return False


def kind_of(path, text):
    """What kind sources.txt should call a file; only --list-missing guesses."""
    folder, name = os.path.split(path)
    if folder in C_FOLDERS:
        return os.path.basename(folder)
    if "vectors" in folder.split("/"):
        return "support"
    if folder == "test/sim":
        return "sim" if re.search(r"\bint main\(|CHECK_SUITE\(", text) else "support"
    if folder == "test/rxe" and name.endswith(CODE):
        return "guest"
    if folder == "test/fuzz":
        return "fuzz" if "LLVMFuzzerTestOneInput" in text else "support"
    if path.startswith("test/"):
        if name.endswith("_test.py"):
            return "pytest"
        if name.endswith("_test.c"):
            return "ctest"
        if name.endswith("_bench.c"):
            return "bench"
        if name.endswith(".cc"):
            return "nsrunner" if name.endswith("runner.cc") else "nstest"
        return "support"
    if folder == "scenarios":
        return "tool" if name.endswith(".c") else "runner"
    if folder == "examples":
        return "example" if name.endswith(".cc") else "support"
    if "toml++/toml.h" in text or (name.endswith(".cc") and '-toml.h"' in text):
        return "scenario"
    if name.endswith(".h"):
        return "header"
    return "helper" if folder == "helper" else "binding"


@check(lambda tree: tree.with_text("model/wire/wire_orphan.c", ""))
def sources_listed(tree):
    known = listed(tree)
    lines = [line.split()[-1] for line in tree.get("sources.txt", "").split("\n")
             if re.match(r"[a-z]+ \S+$", line)]
    found = [f"sources.txt: {path} is not listed" for path in tree
             if is_source(path) and path not in known]
    found += [f"sources.txt: {path} does not exist" for path in known if path not in tree]
    found += [f"sources.txt: {path} is listed twice" for path in sorted(set(lines))
              if lines.count(path) > 1]
    return found


# ---- the three borders ----

@check(lambda tree: tree.added("model/core/rnic_verbs.h", '#include "ns3/packet.h"\n'))
def border_no_ns3_in_c(tree):
    return [f"{path}:{number}: {name}: the C folders know no ns-3"
            for folder in C_FOLDERS for path, text in tree.under(folder)
            for number, name in includes(text) if name.startswith("ns3/")]


@check(lambda tree: tree.added("model/fabric/fabric_switch.h", '#include "rnic_verbs.h"\n'))
def border_between_c_folders(tree):
    found = []
    for folder, allowed in C_FOLDERS.items():
        for path, text in tree.under(folder):
            for number, name in includes(text):
                base = os.path.basename(name)
                ours = base.startswith(OURS)
                if ours and not base.startswith(allowed):
                    found.append(f"{path}:{number}: {name}: {folder} includes "
                                 f"{', '.join(prefix + '*' for prefix in allowed)} only")
    return found


@check(lambda tree: tree.with_text("model/rnic-spoiled.cc", '#include "rnic_tx_replay.h"\n'))
def border_cxx_sees_the_contract_only(tree):
    found = []
    public = [os.path.basename(path) for path in contract(tree)]
    for path, text in tree.items():
        if not path.endswith((".cc", ".h")) or os.path.dirname(path) in C_FOLDERS:
            continue
        if not path.startswith(("model/", "helper/", "scenarios/", "examples/")):
            continue
        for number, name in includes(text):
            base = os.path.basename(name)
            if re.match(r"(wire|rnic|fabric|engine|live)(_\w+)?\.h$", base) and base not in public:
                found.append(f"{path}:{number}: {name} is private to its folder; "
                             "C++ decides no protocol")
    return found


# ---- names ----

@check(lambda tree: tree.with_text("model/fabric/switch_queue.c", ""))
def names_of_c_files(tree):
    return [f"{path}: the name must begin with {prefix}"
            for folder, prefix in C_PREFIX.items() for path, _ in tree.under(folder)
            if not os.path.basename(path).startswith(prefix)]


@check(lambda tree: tree.with_text("helper/RnicThing.cc", ""))
def names_of_cxx_files(tree):
    return [f"{path}: C++ files are named rnic-like-this"
            for path in tree
            if path.endswith((".cc", ".h")) and path.startswith(("model/", "helper/", "examples/"))
            and os.path.dirname(path) not in C_FOLDERS
            and not re.match(r"rnic(-[a-z0-9]+)*\.(cc|h)$", os.path.basename(path))]


# ---- budgets and looks ----

def code_lines(text):
    return text.rstrip("\n").split("\n")


@check(lambda tree: tree.added("analysis/__init__.py", "\n" * (MAX_FILE_LINES + 1) + "x\n"))
def budget_file_lines(tree):
    return [f"{path}: {len(code_lines(text))} lines, at most {MAX_FILE_LINES}"
            for path, text in tree.items()
            if path.endswith(SOURCE) and len(code_lines(text)) > MAX_FILE_LINES]


def functions(text):
    """(first line, name, lines) of each function: a brace pair in column 1 that ends with }."""
    start = head = None
    for number, line in enumerate(text.split("\n"), 1):
        if line == "{" and start is None:
            start = number
        elif line.startswith("}") and start is not None:
            name = re.search(r"([\w:~]+)\s*\(", head or "")
            if line == "}" and name:
                yield start, name.group(1), number - start + 1
            start = head = None
        elif start is None and re.match(r"[A-Za-z_].*\(", line):
            head = line


@check(lambda tree: tree.with_text(
    "model/core/rnic_spoiled.c", "void rnic_spoiled(void)\n{\n" + "    ;\n" * 120 + "}\n"))
def budget_function_lines(tree):
    return [f"{path}:{start}: {name} has {lines} lines, at most {MAX_FUNCTION_LINES}"
            for path, text in tree.items() if path.endswith(CODE)
            for start, name, lines in functions(text) if lines > MAX_FUNCTION_LINES]


@check(lambda tree: tree.added("analysis/__init__.py", "#" + "x" * MAX_COLUMNS + "\n"))
def budget_columns(tree):
    return [f"{path}:{number}: {len(line)} columns, at most {MAX_COLUMNS}"
            for path, text in tree.items() if path.endswith(SOURCE) or path in PROGRAMS
            for number, line in enumerate(text.split("\n"), 1) if len(line) > MAX_COLUMNS]


@check(lambda tree: tree.added("README.md", "a \u2192 b\n"))
def text_is_ascii(tree):
    return [f"{path}:{number}: not ASCII"
            for path, text in tree.items()
            for number, line in enumerate(text.split("\n"), 1) if not line.isascii()]


@check(lambda tree: tree.added("sources.txt", "\tx \r\n"))
def text_has_no_stray_blanks(tree):
    return [f"{path}:{number}: tab, carriage return or trailing blank"
            for path, text in tree.items() if not path.endswith(".md")
            for number, line in enumerate(text.split("\n"), 1)
            if "\t" in line or "\r" in line or line != line.rstrip()]


@check(lambda tree: tree.with_text("analysis/spoiled.py", "x = 1\n"))
def text_names_its_licence(tree):
    return [f"{path}: no SPDX-License-Identifier: GPL-2.0-only in the first five lines"
            for path, text in tree.items()
            if (path.endswith(SOURCE) or path in PROGRAMS)
            and "SPDX-License-Identifier: GPL-2.0-only" not in "\n".join(text.split("\n")[:5])]


@check(lambda tree: tree.added("model/core/rnic_verbs.h", "/* TO" "DO later */\n"))
def text_has_no_unfinished_marks(tree):
    marks = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")
    return [f"{path}:{number}: {marks.search(line).group(1)}"
            for path, text in tree.items() if path.endswith(SOURCE) or path in PROGRAMS
            for number, line in enumerate(text.split("\n"), 1) if marks.search(line)]


@check(lambda tree: tree.added("README.md", "see `model/core/rnic_nowhere.c`\n"))
def text_names_existing_files(tree):
    """Paths in backquotes in the top-level pages and relative links exist."""
    found = []
    for path, text in tree.items():
        if "/" in path or not path.endswith(".md"):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            names = re.findall(r"`((?:model|helper|examples|test|scenarios|analysis|doc)/"
                               r"[\w./-]+)`", line)
            names += [name for name in re.findall(r"\]\(([^)#:]+)\)", line)]
            for name in names:
                if "NAME" in name:
                    continue
                if name not in tree and not os.path.exists(os.path.join(ROOT, name)):
                    found.append(f"{path}:{number}: {name} does not exist")
    return found


def format_style(path):
    """C in the C folders and their tests, C++ elsewhere: only the braces differ."""
    return "c" if path.startswith(C_LOOK) else "c++"


C_LOOK = tuple(folder + "/" for folder in C_FOLDERS) + (
    "test/wire/", "test/core/", "test/fabric/", "test/engine/", "test/live/", "test/sim/",
    "test/fuzz/")


@check(lambda tree: tree.with_text("model/wire/.clang-format", "DisableFormat: true\n"))
def format_configuration(tree):
    wanted = "BasedOnStyle: InheritParentConfig\nBreakBeforeBraces: Linux\n"
    found = [f"{folder}.clang-format: must hold exactly: {wanted!r}" for folder in C_LOOK
             if tree.get(folder + ".clang-format") != wanted]
    known = [folder + ".clang-format" for folder in C_LOOK] + [".clang-format"]
    return found + [f"{path}: only the C folders have a style of their own" for path in tree
                    if os.path.basename(path) == ".clang-format" and path not in known]


def formatter():
    return shutil.which("clang-format-14") or shutil.which("clang-format")


@check(lambda tree: tree.with_text("model/core/rnic_spoiled.c", "int  x( void ){return 1 ;}\n"))
def format_is_clang_format(tree):
    tool = formatter()
    if tool is None:
        return ["clang-format is not installed; ./rnic setup --test installs it"]
    found = []
    for path in sorted(tree):
        if not path.endswith(CODE):
            continue
        result = subprocess.run([tool, f"--assume-filename={os.path.join(ROOT, path)}"],
                                input=tree[path], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            found.append(f"{path}: {result.stderr.strip()}")
        elif result.stdout != tree[path]:
            pairs = zip(result.stdout.split("\n"), tree[path].split("\n"))
            line = next((n for n, (a, b) in enumerate(pairs, 1) if a != b), 1)
            found.append(f"{path}:{line}: clang-format -i would change it")
    return found


# ---- the built library ----

def objects(library):
    """{object: {"sections": [(name, bytes)], "functions": [name], "calls": [name]}}."""
    text = subprocess.run(["objdump", "-h", "-t", library], capture_output=True, text=True,
                          check=True).stdout
    found, current = {}, None
    for line in text.split("\n"):
        words = line.split()
        head = re.match(r"(\S+\.o(?:bj)?):\s+file format", line)
        if head:
            current = found.setdefault(head.group(1),
                                       {"sections": [], "functions": [], "calls": []})
        elif current is None:
            continue
        elif re.match(r"\s*\d+ \.\S+\s+[0-9a-f]{8}", line):
            current["sections"].append((words[1], int(words[2], 16)))
        elif re.search(r"\*COM\*", line):
            current["sections"].append(("*COM* " + words[-1], 1))
        elif re.match(r"[0-9a-f]{16} g +F ", line):
            current["functions"].append(words[-1])
        elif re.match(r"[0-9a-f]{16} +\*UND\*", line):
            current["calls"].append(words[-1])
    return found


def library_has_no_writable_data(_tree, library):
    found = []
    for name, parts in objects(library).items():
        for section, size in parts["sections"]:
            writable = re.match(r"\.(data|bss|tdata|tbss)(\.|$)|\*COM\*", section)
            if writable and not section.startswith(".data.rel.ro") and size > 0:
                found.append(f"{name}: {size} writable bytes in {section}; the C code owns none")
    return found


def library_functions_have_their_files_prefix(tree, library):
    promised = "\n".join(tree.get(path, "") for path in contract(tree))
    found = []
    for name, parts in objects(library).items():
        stem = name.split(".")[0]
        for function in parts["functions"]:
            own = function == stem or function.startswith(stem + "_")
            if not own and not re.search(r"\b" + function + r"\(", promised):
                found.append(f"{name}: {function} should be named {stem}_...")
    return found


def library_core_does_no_io(_tree, library):
    return [f"{name}: calls {call}; wire and core do no I/O and never allocate"
            for name, parts in objects(library).items()
            if name.startswith(("wire_", "rnic_"))
            for call in parts["calls"] if call in FORBIDDEN_CALLS]


SPOILED_OBJECT = """#include <stdlib.h>
int counter = 1;
void *other_prefix(void);
void *other_prefix(void) { counter++; return malloc(4); }
"""
LIBRARY_CHECKS = (library_has_no_writable_data, library_functions_have_their_files_prefix,
                  library_core_does_no_io)


def spoiled_library(folder):
    source = os.path.join(folder, "rnic_spoiled.c")
    with open(source, "w", encoding="ascii") as file:
        file.write(SPOILED_OBJECT)
    library = os.path.join(folder, "libspoiled.a")
    subprocess.run(["cc", "-O2", "-fPIC", "-c", source, "-o", source + ".o"], check=True)
    subprocess.run(["ar", "rc", library, source + ".o"], check=True)
    return library


# ---- running them ----

def report(name, places):
    print(f"{'FAIL' if places else 'ok'} {name}")
    for place in places:
        print(f"    {place}")
    return bool(places)


def run(tree, library):
    """Run every check, and every check on its spoiled tree. @return number that failed."""
    failed = 0
    for name, function, spoil in CHECKS:
        places = function(tree)
        noticed = function(spoil(tree))
        if set(noticed) <= set(places):
            places = places + [f"{name} does not notice its spoiled tree"]
        failed += report(name, places)
    if library:
        with tempfile.TemporaryDirectory() as folder:
            spoiled = spoiled_library(folder)
            for function in LIBRARY_CHECKS:
                name = function.__name__.replace("_", "-")
                places = function(tree, library)
                if not objects(library):
                    places = places + [f"{library} holds no objects"]
                if not function(tree, spoiled):
                    places = places + [f"{name} does not notice its spoiled library"]
                failed += report(name, places)
    return failed


def main():
    parser = argparse.ArgumentParser(description="Tests of the source itself.")
    parser.add_argument("--library", metavar="FILE", help="the built librnic-c.a, no sanitizer")
    parser.add_argument("--list-missing", action="store_true",
                        help="print the lines that sources.txt lacks")
    options = parser.parse_args()
    tree = Tree.read(ROOT)
    if options.list_missing:
        known = listed(tree)
        lines = [f"{kind_of(path, text)} {path}" for path, text in tree.items()
                 if is_source(path) and path not in known]
        print("\n".join(sorted(lines)))
        return 0
    return 1 if run(tree, options.library) else 0


if __name__ == "__main__":
    sys.exit(main())
