#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Branch coverage of model/wire and model/core by the C tests.

    python3 test/coverage.py                       table, branches not covered; status 1 if too few
    python3 test/coverage.py --only model/core/rnic_ring.c    one file's branches, no judgement
    python3 test/coverage.py --seeds N             of the simulation; 0 leaves it out

Library and tests are built without optimisation for gcov, in build/coverage. Counted are branches
as gcov tells them: two for each condition, one for each case. WIRE_ASSERT is compiled out: what it
guards against is our own bug, which no test can bring about. Branches of inline functions in
headers count once, whoever uses them.

What the unit tests of wire and core reach alone must be at least 95 %; the simulation's number
stands beside it and excuses nothing, since a seed may change what it reaches. Every branch that is
not covered needs a reason in test/coverage-excused.txt, which is a pair of lines:

    model/core/rnic_x.c: source text of the line
        2: why two branches of such lines can not be covered

Found by text, an excuse survives edits elsewhere. One with another number of branches is stale, and
fails too.
"""

import argparse
import json
import os
import re
import subprocess
import sys

import rig

FOLDER = os.path.join(rig.ROOT, "build", "coverage")
EXCUSED = "test/coverage-excused.txt"
COUNTED = ("model/wire/", "model/core/")
LEAST_PERCENT = 95
SEEDS = 300


def gcov(objects):
    """{(file, line): [times each branch was taken]} from what the runs left."""
    taken = {}

    def one(path):
        result = subprocess.run(
            ["gcov", "--json-format", "--branch-probabilities", "--stdout", path + ".gcno"],
            cwd=rig.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if result.returncode != 0 or not result.stdout:
            raise rig.BuildError(f"gcov {path}: {result.stderr}")
        return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]

    for told in rig.each(one, objects):
        for file in (file for part in told for file in part["files"]):
            path = os.path.relpath(os.path.join(rig.ROOT, file["file"]), rig.ROOT)
            if not path.startswith(COUNTED):
                continue
            for line in file["lines"]:
                counts = [branch["count"] for branch in line["branches"]]
                if not counts:
                    continue
                key = (path, line["line_number"], line.get("function_name", ""))
                sums = taken.setdefault(key, [0] * len(counts))
                sums += [0] * (len(counts) - len(sums))
                for index, count in enumerate(counts):
                    sums[index] += count
    merged = {}
    for (path, line, _), counts in taken.items():
        merged.setdefault((path, line), []).extend(counts)
    return merged


def by_file(taken):
    """{file: [covered, all]}"""
    sums = {}
    for (path, _), counts in sorted(taken.items()):
        file = sums.setdefault(path, [0, 0])
        file[0] += sum(count > 0 for count in counts)
        file[1] += len(counts)
    return sums


def percent(covered, branches):
    return 100.0 * covered / branches if branches else 100.0


class Texts:
    """Lines of files, stripped."""

    def __init__(self):
        self.known = {}

    def line(self, path, number):
        if path not in self.known:
            self.known[path] = rig.read(path).split("\n")
        return self.known[path][number - 1].strip()


def judge(taken, excused, texts):
    """[(place, text, branches without excuse)], [what is stale], number excused."""
    missing = {}
    for (path, number), counts in sorted(taken.items()):
        lost = sum(count == 0 for count in counts)
        if lost:
            places = missing.setdefault((path, texts.line(path, number)), [])
            places.append((number, lost, len(counts)))
    stale, allowed = [], {}
    for path, text, reason in excused:
        found = re.match(r"(\d+): \S", reason)
        if not found or (path, text) in allowed:
            stale.append(f"{path}: {text}: " + ("excused twice" if found else
                                                "the reason must begin with a number of branches"))
            continue
        allowed[path, text] = int(found.group(1))
        lost = sum(places[1] for places in missing.get((path, text), []))
        if lost != allowed[path, text]:
            stale.append(f"{path}: {text}: {lost} branches are not covered, "
                         f"{allowed[path, text]} are excused")
    open_places = []
    for (path, text), places in sorted(missing.items(), key=lambda item: (item[0][0], item[1][0])):
        lost = sum(place[1] for place in places)
        if lost > allowed.get((path, text), 0):
            open_places += [(f"{path}:{number}", text, count, branches)
                            for number, count, branches in places]
    return open_places, stale, sum(allowed.values())


def check_the_tool(taken, excused, texts):
    """Would it notice? @return what it does not"""
    path, number = next(key for key, counts in sorted(taken.items()) if min(counts) > 0)
    text = texts.line(path, number)
    broken = []
    spoiled = {**taken, (path, number): [0] + taken[path, number][1:]}
    places = [place for place, _, _, _ in judge(spoiled, excused, texts)[0]]
    if f"{path}:{number}" not in places:
        broken.append(f"{path}:{number}: a branch that is not covered goes unnoticed")
    if len(judge(taken, excused + [(path, text, "9: spoiled")], texts)[1]) <= \
            len(judge(taken, excused, texts)[1]):
        broken.append("a stale excuse goes unnoticed")
    return broken


def measure(seeds):
    """Build, run, count. @return (by the unit tests, with the simulation, tests that failed)"""
    groups = {"unit": [], "sim": []}
    for kind, path in rig.sources():
        if kind in ("ctest", "sim") and path.endswith(".c"):
            if path.startswith(("test/wire/", "test/core/")):
                groups["unit"].append(path)
            elif path.startswith("test/sim/") and seeds:
                groups["sim"].append(path)
    counted = "|".join(COUNTED)
    rigged = rig.Rig(FOLDER, ["-O0", "-DNDEBUG", f"-fprofile-filter-files=({counted}).*"],
                     groups["unit"] + groups["sim"], ["--coverage"])
    rigged.arguments = {path: ["--seeds", f"1..{seeds}"] for path in groups["sim"]
                        if path.endswith("/sim.c")}
    rigged.build()
    folder = os.path.join(FOLDER, "object")
    for name in os.listdir(folder):
        if name.endswith(".gcda"):
            os.remove(os.path.join(folder, name))
    objects = [rigged.object_of(path)[:-2] for path in rigged.library_paths + rigged.tests]
    taken, failed = [], []
    for tests in groups.values():
        outcomes = rig.each(lambda test: rigged.run(test, limit=600), tests)
        failed += [outcome for outcome in outcomes if not outcome.passed]
        taken.append(gcov(objects))
    return taken[0], taken[1], failed


def print_table(unit, both, only):
    files, with_sim = by_file(unit), by_file(both)
    print(f"{'branches of':38} {'all':>5} {'unit tests':>17} {'with simulation':>17}")
    groups = [(path, [path]) for path in files if not only or path == only]
    groups += [(folder[:-1], [path for path in files if path.startswith(folder)])
               for folder in COUNTED if not only]
    groups += [("both", list(files))] if not only else []
    for name, paths in groups:
        branches = sum(files[path][1] for path in paths)
        one = sum(files[path][0] for path in paths)
        two = sum(with_sim[path][0] for path in paths)
        print(f"{name:38} {branches:5} {one:6} {percent(one, branches):8.1f} % "
              f"{two:6} {percent(two, branches):8.1f} %")


def main():
    parser = argparse.ArgumentParser(description="Branch coverage by the C tests.")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N",
                        help=f"of the simulation, {SEEDS} if not given; 0: none")
    parser.add_argument("--only", metavar="FILE", help="show one file")
    options = parser.parse_args()
    os.chdir(rig.ROOT)
    try:
        unit, both, failed = measure(options.seeds)
        excused = rig.excuses(EXCUSED)
    except rig.BuildError as error:
        print(error)
        return 1
    texts = Texts()
    print_table(unit, both, options.only)
    places, stale, n_excused = judge(unit, excused, texts)
    shown = [place for place in places if not options.only
             or place[0].startswith(options.only + ":")]
    if shown:
        print("\nnot covered by the unit tests, and not excused:")
        for place, text, lost, branches in shown:
            print(f"  {place}: {lost} of {branches}: {text}")
    if options.only:
        return 0
    problems = [f"{outcome.test} failed: {outcome.why}" for outcome in failed]
    problems += [f"{EXCUSED}: {line}" for line in stale]
    problems += check_the_tool(unit, excused, texts)
    if places:
        problems.append(f"{sum(place[2] for place in places)} branches on {len(places)} lines are "
                        f"neither covered nor excused in {EXCUSED}")
    covered, branches = (sum(file[index] for file in by_file(unit).values()) for index in (0, 1))
    share = percent(covered, branches)
    if share < LEAST_PERCENT:
        problems.append(f"{share:.1f} % of {branches} branches are covered by the unit tests, "
                        f"at least {LEAST_PERCENT} % must be")
    print(f"\n{share:.1f} % of {branches} branches covered, {n_excused} excused")
    for line in problems:
        print(f"FAIL {line}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
