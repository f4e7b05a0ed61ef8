#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Every refusal and every state transition, with the test that provokes it.

    python3 test/inventory.py              the table, and what has no test; status 1 when anything
    python3 test/inventory.py --sites      each place that produces a code by itself (minutes)
    python3 test/inventory.py --markdown   the table as a page
    python3 test/inventory.py --tidy       only a line for each kind, as tidy.py prints

The list is read from the code: NAK codes, drop reasons, completion statuses, verbs errors, events,
and the legal and illegal transitions of a queue pair. That a test names a code proves little. So
each code is spoiled: wherever the C code produces it, the next one of its kind is produced instead,
and the table shows the check of a C test that fails then. A transition is spoiled by refusing it
when it is legal and by allowing it when it is not. What no check notices has no test.

The tool proves that it notices a missing test: with the library as it is every test must pass, a
spoil that changes nothing must go unnoticed, and a code that nothing produces must be told.
"""

import argparse
import os
import re
import subprocess
import sys

import rig

FOLDER = os.path.join(rig.ROOT, "build", "spoiled")

# Codes that no test can provoke, and why. A name leaves this list when the code begins to use it.
NOT_PROVOKED = {
    "RNIC_WC_LOC_EEC_OP_ERR": "end-to-end contexts belong to RD, which no device offers",
    "RNIC_WC_LOC_ACCESS_ERR": "local buffers that may not be used give LOC_PROT_ERR",
}

KINDS = {"nak": "NAK codes", "drop": "drop reasons", "status": "completion statuses",
         "error": "verbs errors", "event": "events", "transition": "transitions of a queue pair"}
ENUMS = {"rnic_wc_status": "status", "rnic_err": "error", "rnic_event_type": "event"}
NO_CODES = {"RNIC_WC_SUCCESS", "RNIC_EVENT_NONE", "RNIC_EVENT_TYPES", "WIRE_DROP_NONE"}


class Code:
    """A code, the one that is produced in its place when it is spoiled, and where it is defined."""

    def __init__(self, kind, name, other, place):
        self.kind, self.name, self.other, self.place = kind, name, other, place


# ---- the list, read from the code ----

def texts():
    """{path: text} of the C folders."""
    found = {}
    for folder in rig.C_FOLDERS:
        for name in sorted(os.listdir(os.path.join(rig.ROOT, folder))):
            if name.endswith((".c", ".h")):
                found[f"{folder}/{name}"] = rig.read(f"{folder}/{name}")
    return found


def enums(text):
    """(tag, [(name, place)]) of every enum in a text."""
    bare = rig.masked(text)
    for match in re.finditer(r"\benum\b\s*(\w*)\s*\{", bare):
        end = rig.closing(bare, match.end() - 1)
        body = bare[match.end():end]
        names = [(found.group(1), match.end() + found.start(1))
                 for found in re.finditer(r"(?:^|,)\s*([A-Za-z_]\w*)\s*(?:=[^,]*)?(?=,|$)", body)]
        yield match.group(1), names


def codes(tree):
    """[Code] of a tree, one kind after another."""
    found = []

    def add(kind, path, names):
        for index, (name, at) in enumerate(names):
            other = names[(index + 1) % len(names)][0]
            if name not in NO_CODES:
                place = f"{path}:{rig.line_of(tree[path], at)}"
                found.append(Code(kind, name, other, place))

    for path, text in tree.items():
        head = re.search(r"#define WIRE_DROPS\(X\)", text)
        if head:
            end = re.search(r"[^\\]\n", text[head.end():]).end() + head.end()
            names = [("WIRE_DROP_" + match.group(1), head.end() + match.start())
                     for match in re.finditer(r"\bX\((\w+),", text[head.end():end])]
            add("drop", path, [entry for entry in names if entry[0] not in NO_CODES])
        for tag, names in enums(text):
            if ENUMS.get(tag) == "event":  # trace records are no refusals
                trace = text.find("trace records", names[0][1])
                names = [(name, at) for name, at in names if trace < 0 or at < trace]
            if tag in ENUMS:
                names = [entry for entry in names if entry[0] not in NO_CODES]
                add(ENUMS[tag], path, names)
            elif any(re.search(r"(^|_)NAK(_|$)", name) for name, _ in names):
                naks = [(name, at) for name, at in names if re.search(r"(^|_)NAK(_|$)", name)]
                others = dict(zip([name for name, _ in names],
                                  [name for name, _ in names[1:] + names[:1]]))
                for name, at in naks:
                    place = f"{path}:{rig.line_of(text, at)}"
                    found.append(Code("nak", name, others[name], place))
    order = list(KINDS)
    return sorted(found, key=lambda code: order.index(code.kind))


def sites(text, name):
    """Places in a C text that produce a code: not where it is defined, compared or given a name."""
    bare = rig.masked(text)
    skipped = rig.spans(bare, r"\benum\b\s*\w*\s*\{") + rig.spans(bare, r"\bWIRE_ASSERT\s*\(")
    found = []
    for match in re.finditer(r"\b" + name + r"\b", bare):
        before, after = bare[:match.start()].rstrip(), bare[match.end():].lstrip()
        if any(start <= match.start() <= end for start, end in skipped):
            continue
        if re.search(r"\bcase$|[=!<>]=$|[^-<>][<>]$", before) or \
                re.match(r"[=!<>]=|[<>][^<>=]", after):
            continue
        if before.endswith("[") and re.match(r"\]\s*=[^=]", after):  # a table of names or rules
            continue
        found.append(match.start())
    return found


# ---- spoiling ----

class Prover:
    """Tests that are run with spoiled libraries until a check of one of them fails."""

    def __init__(self, tests):
        self.rig = rig.Rig(FOLDER, ["-O1"], tests)
        self.rig.arguments = {test: ["--seeds", "1..30"] for test in tests
                              if test.endswith("/sim.c")}
        self.words = {test: re.findall(r"\w+", rig.masked(rig.read(test))) for test in tests}

    def order(self, wanted):
        """Tests, the likely ones first: those that say the words most often, then the quick."""
        def likely(test):
            said = [self.words[test].count(word) for word in wanted]
            return (-min(said), -sum(said), self.rig.seconds.get(test, 0))
        return sorted(self.rig.tests, key=likely)

    def noticed(self, wanted, folder, env=None, tests=None):
        """The first check of a test that fails with the library in folder; None: no check."""
        for test in tests or self.order(wanted):
            outcome = self.rig.run(test, folder, env)
            if outcome.check:
                return outcome
        return None

    def prove(self, code, places, tests=None):
        """Produce another code in these places {path: [at]}. @return Outcome or None"""
        folder = os.path.join(FOLDER, "of-" + code.name + "".join(
            f"-{at}" for spots in places.values() for at in spots)[:40])
        os.makedirs(folder, exist_ok=True)
        objects, headers = {}, {}
        for path, spots in places.items():
            text = rig.read(path)
            for at in reversed(spots):
                text = text[:at] + code.other + text[at + len(code.name):]
            if path.endswith(".h"):
                headers[path] = text
            else:
                objects[path] = os.path.join(folder, os.path.basename(path)[:-2] + ".o")
                self.rig.compile(path, objects[path], source=text)
        if headers:
            self._with_headers(folder, headers, objects)
        self.rig.link(objects, folder)
        return self.noticed([code.name], folder, tests=tests)

    def _with_headers(self, folder, headers, objects):
        """Headers are found first where the file stands: copies of all that is not spoiled yet."""
        for path, text in headers.items():
            with open(os.path.join(folder, os.path.basename(path)), "w", encoding="utf-8") as file:
                file.write(text)
        for path in self.rig.library_paths:
            if path not in objects:
                objects[path] = os.path.join(folder, os.path.basename(path)[:-2] + ".o")
                self.rig.compile(path, objects[path], [f"-I{folder}"], source=rig.read(path))


# ---- transitions ----

def prototype(name, path):
    """[(type, parameter)] of a function declared in a header."""
    text = rig.masked(rig.read(path))
    found = re.search(r"\b" + name + r"\(([^)]*)\)", text)
    return [re.match(r"\s*(.*?)\s*\*?\s*(\w+)\s*$", part, re.S).groups()
            for part in found.group(1).split(",")]


def enumerators(tag):
    for text in texts().values():
        for found, names in enums(text):
            if found == tag:
                return [name for name, _ in names if not re.search(r"_(COUNT|TYPES|STATES)$", name)]
    return []


SPOILER_C = """
#include "rnic_table_qp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* RNIC_SPOIL is "refuse TYPE FROM TO" or "allow TYPE FROM TO": what that transition becomes. */
bool rnic_table_qp_transition_real({declared});
bool rnic_table_qp_transition({declared})
{{
    bool answer = rnic_table_qp_transition_real({passed});
    const char *spoil = getenv("RNIC_SPOIL");
    int wanted[3];

    if (spoil == NULL ||
        sscanf(strchr(spoil, ' '), "%d %d %d", &wanted[0], &wanted[1], &wanted[2]) != 3 ||
        wanted[0] != (int)({type}) || wanted[1] != (int)({first}) || wanted[2] != (int)({second}))
        return answer;
    return spoil[0] == 'a';
}}
"""
LEGAL_C = """
#include "rnic_table_qp.h"
#include <stdio.h>
static const unsigned bits[] = {{{bits}}};
static const unsigned long n_bits = sizeof bits / sizeof bits[0];
/* Is there a set of attributes with which it is legal? */
static bool legal({type_declared} int from, int to)
{{
    for (unsigned long set = 0; set < 1ul << n_bits; set++) {{
        unsigned mask = RNIC_QP_STATE;

        for (unsigned long i = 0; i < n_bits; i++)
            mask |= set >> i & 1 ? bits[i] : 0;
        if (rnic_table_qp_transition({call}))
            return true;
    }}
    return false;
}}
int main(void)
{{
    for (int type = 0; type < {types}; type++)
        for (int from = 0; from < {states}; from++)
            for (int to = 0; to < {states}; to++)
                printf("%d %d %d %d\\n", type, from, to, legal({type_passed} from, to));
    return 0;
}}
"""


class Transitions:
    """The table of transitions, asked through its own function, whatever it looks like inside."""

    header, source = "model/core/rnic_table_qp.h", "model/core/rnic_table_qp.c"
    function = "rnic_table_qp_transition"

    def __init__(self, prover):
        self.prover = prover
        self.rig = prover.rig
        self.folder = os.path.join(FOLDER, "transitions")
        self.parameters = prototype(self.function, self.header)
        kinds = [kind for kind, _ in self.parameters]
        self.typed = "enum rnic_qp_type" in kinds
        self.states = enumerators("rnic_qp_state")
        self.types = enumerators("rnic_qp_type") if self.typed else ["RNIC_QPT_RC"]
        if kinds.count("enum rnic_qp_state") != 2:
            raise rig.BuildError(f"{self.header}: {self.function} has no two states")

    def build(self):
        """A library whose transitions are spoiled by the environment."""
        os.makedirs(self.folder, exist_ok=True)
        table = os.path.join(self.folder, "table.o")
        spoiler = os.path.join(self.folder, "spoiler.o")
        states = [name for kind, name in self.parameters if kind == "enum rnic_qp_state"]
        kinds = [name for kind, name in self.parameters if kind == "enum rnic_qp_type"]
        self.rig.compile(self.source, table, [f"-D{self.function}={self.function}_real"])
        text = SPOILER_C.format(
            declared=", ".join(f"{kind} {name}" for kind, name in self.parameters),
            passed=", ".join(name for _, name in self.parameters),
            type=kinds[0] if kinds else "0", first=states[0], second=states[1])
        self.rig.compile("test/spoiler.c", spoiler, source=text)
        self.rig.link({self.source: table}, self.folder, [spoiler])

    def all(self):
        """[(type, from, to, is it legal)], numbers."""
        bits = [name for name in enumerators("rnic_qp_attr_mask") if name != "RNIC_QP_STATE"]
        call = []
        for kind, _ in self.parameters:
            states = [word for word in call if word.endswith(("from", "to"))]
            call.append({"enum rnic_qp_type": "(enum rnic_qp_type)type",
                         "enum rnic_qp_state": "(enum rnic_qp_state)" + ("to" if states else "from")
                         }.get(kind, "mask"))
        text = LEGAL_C.format(bits=", ".join(bits), states=len(self.states), types=len(self.types),
                              call=", ".join(call), type_declared="int type," if self.typed else "",
                              type_passed="type," if self.typed else "")
        path = os.path.join(self.folder, "legal.c")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        program = os.path.join(self.folder, "legal")
        rig.call(["gcc", "-O2", "-std=c11", *rig.INCLUDES, "-o", program, path, self.source,
                  *[self.rig.object_of(other) for other in self.rig.library_paths
                    if other != self.source], "-lm"])
        told = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
        return [tuple(int(word) for word in line.split()) for line in told.splitlines()]

    def name(self, row):
        kind, start, end = self.types[row[0]], self.states[row[1]], self.states[row[2]]
        short = kind.replace("RNIC_QPT_", "") + " " if len(self.types) > 1 else ""
        return (short + f"{start} -> {end}").replace("RNIC_QPS_", "")

    def words(self, row):
        return [self.states[row[1]], self.states[row[2]]]

    def prove(self, row, how):
        env = {"RNIC_SPOIL": f"{how} {row[0]} {row[1]} {row[2]}"}
        tests = [test for test in self.prover.order([self.function] + self.words(row))
                 if test.startswith("test/core/")]
        return self.prover.noticed([], self.folder, env, tests)


# ---- the table ----

class Table:
    """What was found: rows for people, and places without a test by kind."""

    def __init__(self):
        self.rows = []      # (kind, name, what the spoil was, test, place of the check)
        self.missing = {kind: [] for kind in KINDS}
        self.broken = []    # of the tool or the tests themselves

    def add(self, kind, name, what, outcome, place):
        if outcome is None:
            self.missing[kind].append(f"{place}: {name} ({what}): no check of a C test notices")
            self.rows.append((kind, name, what, "-", "NO TEST"))
        else:
            self.rows.append((kind, name, what, rig.case_of(outcome), outcome.check))

    def print(self, markdown):
        for kind, title in KINDS.items():
            rows = [row for row in self.rows if row[0] == kind]
            print(f"\n{'## ' if markdown else ''}{title[0].upper()}{title[1:]} ({len(rows)})")
            if markdown:
                print("\n| code | spoiled | test | check that fails |\n|---|---|---|---|")
            for _, name, what, test, check in rows:
                print(f"| {name} | {what} | {test} | {check} |" if markdown
                      else f"  {name:28} {what:29} {check:36} {test}")

    def tidy(self):
        """In the form of tidy.py: one line for each check. @return number that failed"""
        failed = 0
        for kind, places in [("tests-and-tool", self.broken), *self.missing.items()]:
            name = f"inventory-{KINDS.get(kind, kind).replace(' ', '-')}"
            print(f"{'FAIL' if places else 'ok'} {name}")
            for place in places:
                print("    " + place.replace("\n", "\n    "))
            failed += bool(places)
        return failed


def unproduced(found, produced):
    """Codes that nothing produces and that are not listed so, and the other way round."""
    names = {code.name: code for code in found}
    told = {kind: [] for kind in KINDS}
    for code in found:
        if not produced[code.name] and code.name not in NOT_PROVOKED:
            told[code.kind].append(f"{code.place}: {code.name}: no C code produces it")
        if produced[code.name] and code.name in NOT_PROVOKED:
            told[code.kind].append(f"test/inventory.py: {code.name} is produced now: "
                                   "take it from NOT_PROVOKED")
    for name in NOT_PROVOKED:
        if name not in names:
            told["status"].append(f"test/inventory.py: NOT_PROVOKED: {name} does not exist")
    return told


def producers(tree, found):
    """{code: {path: [place in the text]}}"""
    produced = {code.name: {} for code in found}
    for path, text in tree.items():
        words = set(re.findall(r"\w+", text))
        for code in found:
            spots = sites(text, code.name) if code.name in words else []
            if spots:
                produced[code.name][path] = spots
    return produced


def check_the_tool(table, prover, tree, found, produced):
    """Would a missing test be noticed? Fills table.broken."""
    for outcome in prover.rig.baseline():
        table.broken.append(f"{outcome.test} fails with nothing spoiled: {outcome.why}")
        prover.rig.tests.remove(outcome.test)  # it would seem to notice everything
    path = next(path for path, text in tree.items() if "#define WIRE_DROPS(X)" in text)
    head = "#define WIRE_DROPS(X)"
    spoiled = {**tree, path: tree[path].replace(head, head + ' X(SPOILED, "spoiled", "")', 1)}
    more = codes(spoiled)
    told = unproduced(more, {"WIRE_DROP_SPOILED": {}, **produced})["drop"]
    if not any("WIRE_DROP_SPOILED" in line for line in told):
        table.broken.append("a drop reason that nothing produces is not noticed")
    code = next(code for code in found if produced[code.name])
    same = Code(code.kind, code.name, code.name, code.place)
    tests = [test for test in prover.rig.tests if code.name in prover.words[test]]
    if prover.prove(same, produced[code.name], tests or prover.rig.tests) is not None:
        table.broken.append(f"{code.name}: a spoil that changes nothing is noticed")


def prove_codes(table, prover, tree, found, produced, by_site):
    work = []
    for code in found:
        places = produced[code.name]
        if by_site:
            work += [(code, {path: [at]}, f"{path}:{rig.line_of(tree[path], at)}")
                     for path, spots in places.items() for at in spots]
        elif places:
            work.append((code, places, "code"))
    outcomes = rig.each(lambda item: prover.prove(item[0], item[1]), work)
    for (code, _, what), outcome in zip(work, outcomes):
        table.add(code.kind, code.name, f"-> {code.other}" if not by_site else what, outcome,
                  code.place)
    for kind, lines in unproduced(found, produced).items():
        table.missing[kind] += lines


def prove_transitions(table, transitions):
    transitions.build()
    work = []
    for row in transitions.all():
        if row[3]:
            work.append((row, "refuse"))
        work.append((row, "allow"))
    outcomes = rig.each(lambda item: transitions.prove(*item), work)
    for (row, how), outcome in zip(work, outcomes):
        legal = "legal" if row[3] else "illegal"
        what = {"refuse": "refused", "allow": "any mask" if row[3] else "allowed"}[how]
        table.add("transition", transitions.name(row), f"{legal}: {what}", outcome,
                  transitions.source)


def main():
    parser = argparse.ArgumentParser(description="Every refusal and transition, with its test.")
    parser.add_argument("--sites", action="store_true",
                        help="spoil each place that produces a code by itself")
    parser.add_argument("--markdown", action="store_true", help="print the table as a page")
    parser.add_argument("--tidy", action="store_true",
                        help="one line for each kind, as tidy.py prints")
    options = parser.parse_args()
    os.chdir(rig.ROOT)
    tree = texts()
    found = codes(tree)
    produced = producers(tree, found)
    tests = [path for kind, path in rig.sources()
             if kind in ("ctest", "sim") and path.endswith(".c")]
    table = Table()
    try:
        prover = Prover(tests)
        prover.rig.build()
        check_the_tool(table, prover, tree, found, produced)
        prove_codes(table, prover, tree, found, produced, options.sites)
        if not options.sites:
            prove_transitions(table, Transitions(prover))
    except rig.BuildError as error:
        table.broken.append(str(error))
    if not options.tidy:
        table.print(options.markdown)
        print()
    return 1 if table.tidy() else 0


if __name__ == "__main__":
    sys.exit(main())
