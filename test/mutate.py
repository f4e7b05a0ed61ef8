#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Change one token of model/core, many times, and count how many changes the C tests notice.

    python3 test/mutate.py [N] [--seed S] [--only FILE] [--plain]    200 mutants if not given

The changes (operators) are chosen by the seed, over the files by their size; the same seed and
source give the same mutants. One that does not compile, or whose optimised object code is the same,
is thrown away and replaced by another. Each runs against the C tests of core: the test of its file
first, then what killed others of that file, then the rest, the simulation with a few seeds, and at
last all of them once more with sanitizers (not with --plain). What ends in another way than with
status 0 kills it: a check, an assertion, a signal, a time limit. WIRE_ASSERTs are not changed.

A mutant that can not be told from the original by any test is excused in
test/mutants-equivalent.txt with a reason, a pair of lines:

    model/core/rnic_x.c: source text of the changed line (deleted: /* statement */;)
        why that does the same

Status 0 when 95 % of the others are killed, 1 when not.
"""

import argparse
import itertools
import os
import random
import re
import shutil
import sys
import time

import inventory
import rig

FOLDER = os.path.join(rig.ROOT, "build", "mutants")
EXCUSED = "test/mutants-equivalent.txt"
LEAST_PERCENT = 95
MUTANTS = 200
SIM_SEEDS = 40

TOKEN = re.compile(r"[A-Za-z_]\w*|0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*(?![\w.])|\d[\w.]*|"
                   r"<<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\S")

OPERATORS = {
    "relation": "< and <=, > and >=, == and != for each other",
    "arithmetic": "+ and -, * and /, << and >>, & and |, += and -=, ++ and --, |= and &= likewise",
    "logic": "&& and || for each other",
    "not": "a ! or ~ taken away",
    "condition": "the condition of an if or a while negated",
    "constant": "a whole number, one more",
    "enum": "an enum constant, the next one of its enum",
    "truth": "true and false for each other",
    "minmax": "a function of min and of max for each other",
    "jump": "break and continue for each other",
    "deleted": "a statement (assignment, call, step) taken away",
}

SWAPS = {
    "relation": {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    "arithmetic": {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "<<": ">>", ">>": "<<",
                   "&": "|", "|": "&", "^": "|", "+=": "-=", "-=": "+=", "++": "--", "--": "++",
                   "|=": "&=", "&=": "|=", "<<=": ">>=", ">>=": "<<="},
    "logic": {"&&": "||", "||": "&&"},
    "truth": {"true": "false", "false": "true"},
    "jump": {"break": "continue", "continue": "break"},
}
KEYWORDS = {"return", "if", "else", "while", "for", "do", "switch", "case", "default", "goto",
            "break", "continue", "sizeof", "struct", "enum", "union", "const", "static", "typedef"}


class Mutant:
    """One change: text[start:end] becomes new."""

    def __init__(self, path, text, operator, start, end, new):
        self.path, self.operator = path, operator
        self.start, self.end, self.new = start, end, new
        self.line = rig.line_of(text, start)
        self.text = text[:start] + new + text[end:]
        self.killer, self.why, self.excuse = None, "", None

    @property
    def place(self):
        return f"{self.path}:{self.line}"

    def after(self):
        """The changed line."""
        return self.text.split("\n")[self.line - 1].strip()

    def diff(self, text):
        """Lines of the original and of the mutant."""
        first = text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        grown = last + len(self.new) - (self.end - self.start)
        old = ["-" + line for line in text[first:last].split("\n")]
        return "\n".join(old + ["+" + line for line in self.text[first:grown].split("\n")])


# ---- what can be changed ----

def neighbours(tree):
    """{enum constant: the next one of its enum}"""
    found = {}
    for text in tree.values():
        for _, names in inventory.enums(text):
            words = [name for name, _ in names]
            if len(words) > 1:
                found.update(zip(words, words[1:] + words[:1]))
    for code in inventory.codes(tree):
        found[code.name] = code.other
    return found


def changeable(text):
    """Code with blanks in the place of comments, strings, the preprocessor, enums, asserts."""
    bare = list(re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group()),
                       rig.masked(text), flags=re.M))
    joined = "".join(bare)
    for start, end in rig.spans(joined, r"\benum\b\s*\w*\s*\{") + \
            rig.spans(joined, r"\bWIRE_ASSERT\s*\("):
        for at in range(start, end + 1):
            bare[at] = bare[at] if bare[at] == "\n" else " "
    return "".join(bare)


def minmax(word):
    """The other function of a pair named by min and max; None: not one of them."""
    for one, other in (("_min_", "_max_"), ("_max_", "_min_"), ("_min", "_max"), ("_max", "_min")):
        if one in word and (one.endswith("_") or word.endswith(one)):
            return word.replace(one, other)
    return None


def of_token(word, before, after, nexts):
    """(operator, new word) of the changes of one token."""
    binary = re.match(r"[\w)\]]", before[-1:]) and before not in KEYWORDS
    for operator, swaps in SWAPS.items():
        if word in swaps and (binary or word not in "+-*&" or len(word) > 1):
            yield operator, swaps[word]
    if word in ("!", "~") and not binary:
        yield "not", ""
    if re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*", word):
        digits = re.match(r"0[xX][0-9a-fA-F]+|\d+", word).group()
        value = int(digits, 0) if digits.lower().startswith("0x") or digits == "0" else int(digits)
        grown = f"{value + 1:#x}" if digits.lower().startswith("0x") else str(value + 1)
        yield "constant", grown + word[len(digits):]
    if word in nexts and before not in (".", "->"):
        yield "enum", nexts[word]
    if after == "(" and minmax(word):
        yield "minmax", minmax(word)


def statements(bare):
    """(start, end) of statements that do something: assignments, calls, ++ and --."""
    for match in re.finditer(r"(?<=[;{})])\s*\n?\s*(?=[A-Za-z_*(+-])", bare):
        start = match.end()
        end = bare.find(";", start)
        word = re.match(r"\w*", bare[start:]).group()
        part = bare[start:end]
        if end < 0 or word in KEYWORDS or re.search(r"[{}]", part):
            continue
        declared = re.match(r"(?:const\s+|unsigned\s+)*[A-Za-z_]\w*\s+\**\s*[A-Za-z_]\w*\s*[=;,\[]",
                            part + ";")
        if not declared and re.search(r"[^=!<>]=[^=]|\(|\+\+|--", part) and \
                part.count("(") == part.count(")"):
            yield start, end


def mutants_of(path, nexts):
    """Every change of a file."""
    text = rig.read(path)
    bare = changeable(text)
    tokens = list(TOKEN.finditer(bare))
    found = []
    for index, token in enumerate(tokens):
        before = tokens[index - 1].group() if index else ""
        after = tokens[index + 1].group() if index + 1 < len(tokens) else ""
        for operator, new in of_token(token.group(), before, after, nexts):
            found.append(Mutant(path, text, operator, token.start(), token.end(), new))
        if token.group() in ("if", "while") and after == "(":
            start = tokens[index + 1].start()
            end = rig.closing(bare, start) + 1
            if end > start:
                found.append(Mutant(path, text, "condition", start, end,
                                    f"(!{text[start:end]})"))
    for start, end in statements(bare):  # leaves its words, for an excuse, and its lines
        words = " ".join(bare[start:end].split())
        found.append(Mutant(path, text, "deleted", start, end,
                            f"/* {words} */" + "\n" * text.count("\n", start, end)))
    return found


# ---- choosing ----

def quotas(paths, wanted):
    """{path: mutants}, by lines of code, the sum is what is wanted."""
    lines = {path: sum(1 for line in changeable(rig.read(path)).split("\n") if line.strip())
             for path in paths}
    shares = {path: wanted * lines[path] / sum(lines.values()) for path in paths}
    counts = {path: int(share) for path, share in shares.items()}
    rest = sorted(paths, key=lambda path: counts[path] - shares[path])
    for path in rest[:wanted - sum(counts.values())]:
        counts[path] += 1
    return counts


class Chooser:
    """Takes mutants of a file in the order of the seed, and throws away what is none."""

    def __init__(self, rigged, nexts, seed):
        self.rig, self.nexts, self.seed = rigged, nexts, seed
        self.broken = self.same = 0

    def optimised(self, path, source, folder):
        """Object code of a text; None when it does not compile."""
        target = os.path.join(folder, "optimised.o")
        try:
            self.rig.compile(path, target, ["-O2", "-w"], source)
        except rig.BuildError:
            return None
        with open(target, "rb") as file:
            return file.read()

    def of_file(self, path):
        """Mutants of a file in the order of the seed, without those that are none."""
        folder = os.path.join(FOLDER, "choose-" + os.path.basename(path))
        os.makedirs(folder, exist_ok=True)
        original = self.optimised(path, rig.read(path), folder)
        mutants = mutants_of(path, self.nexts)
        random.Random(f"{self.seed} {path}").shuffle(mutants)
        for mutant in mutants:
            code = self.optimised(path, mutant.text, folder)
            self.broken += code is None
            self.same += code == original
            if code is not None and code != original:
                yield mutant
        shutil.rmtree(folder)

    def choose(self, paths, wanted):
        """Mutants, by the size of the files; a file without enough leaves the rest to the next."""
        counts = quotas(paths, wanted)
        streams = {path: self.of_file(path) for path in paths}
        found = rig.each(lambda path: list(itertools.islice(streams[path], counts[path])), paths)
        chosen = sum(found, [])
        for path in sorted(paths, key=lambda path: -counts[path]):
            chosen += itertools.islice(streams[path], wanted - len(chosen))
        return chosen


# ---- killing ----

class Killer:
    """Runs mutants against the tests."""

    def __init__(self, tests):
        self.plain = self._rig("plain-tests", tests, [])
        self.sanitized = self._rig("sanitized-tests", tests,
                                   ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
        self.kills = {}     # (file, test): how many

    @staticmethod
    def _rig(name, tests, linked):
        made = rig.Rig(os.path.join(FOLDER, name), ["-O1"], tests, linked)
        made.arguments = {test: ["--seeds", f"1..{SIM_SEEDS}"] for test in tests
                          if test.endswith("/sim.c")}
        return made

    def order(self, path):
        own = os.path.basename(path)[len("rnic_"):-len(".c")]

        def likely(test):
            name = os.path.basename(test)
            return (test.startswith("test/sim/"), name != own + "_test.c",
                    -self.kills.get((path, test), 0), self.plain.seconds.get(test, 0))
        return sorted(self.plain.tests, key=likely)

    def kill(self, mutant, rigged, name):
        """Run until a test fails. @return was it killed?"""
        folder = os.path.join(FOLDER, f"run-{name}")
        os.makedirs(folder, exist_ok=True)
        target = os.path.join(folder, "mutant.o")
        rigged.compile(mutant.path, target, ["-w"], mutant.text)
        rigged.link({mutant.path: target}, folder)
        for test in self.order(mutant.path):
            outcome = rigged.run(test, folder)
            if not outcome.passed:
                self.kills[mutant.path, test] = self.kills.get((mutant.path, test), 0) + 1
                mutant.killer, mutant.why = test, outcome.why
                break
        shutil.rmtree(folder)
        return mutant.killer is not None

    def prepare(self, rigged):
        rigged.build()
        failed = rigged.baseline()
        if failed:
            raise rig.BuildError("\n".join(f"{outcome.test} fails unchanged: {outcome.why}"
                                           for outcome in failed))


def run_all(killer, mutants, plain):
    """Without sanitizers first; what survives once more with them, unless only plain is wanted."""
    begin = time.monotonic()
    done = [0]

    def one(item):
        index, mutant = item
        killed = killer.kill(mutant, killer.plain, str(index))
        done[0] += 1
        seconds = int(time.monotonic() - begin)
        word = "killed" if killed else "LIVES"
        by = f" by {mutant.killer}" if killed else ""
        print(f"{seconds // 60:3}:{seconds % 60:02} {done[0]:4}/{len(mutants)} {word:6} "
              f"{mutant.place} {mutant.operator}{by}", flush=True)

    rig.each(one, list(enumerate(mutants)))
    left = [mutant for mutant in mutants if mutant.killer is None]
    if left and not plain:
        print(f"{len(left)} live; once more with sanitizers", flush=True)
        killer.prepare(killer.sanitized)
        rig.each(lambda item: killer.kill(item[1], killer.sanitized, f"s{item[0]}"),
                 list(enumerate(left)))


# ---- telling ----

def excuse(mutants, excused, every):
    """Mark excused mutants. @return problems with the excuses"""
    reasons = {(path, text): reason for path, text, reason in excused}
    for mutant in mutants:
        mutant.excuse = reasons.get((mutant.path, mutant.after()))
    problems = [f"{mutant.place}: excused as equivalent, but {mutant.killer} kills it: "
                f"{mutant.after()}" for mutant in mutants if mutant.excuse and mutant.killer]
    known = {(mutant.path, mutant.after()) for mutant in every}
    return problems + [f"{path}: no change gives this line any more: {text}"
                       for path, text in reasons if (path, text) not in known]


def tell(mutants, problems):
    """Survivors and counts. @return exit status"""
    counted = [mutant for mutant in mutants if not mutant.excuse or mutant.killer]
    lives = [mutant for mutant in counted if mutant.killer is None]
    for mutant in lives:
        print(f"\nLIVES {mutant.place} ({mutant.operator})\n{mutant.diff(rig.read(mutant.path))}")
    print(f"\n{'operator':12} {'mutants':>7} {'killed':>7}")
    for name in OPERATORS:
        of_it = [mutant for mutant in counted if mutant.operator == name]
        if of_it:
            print(f"{name:12} {len(of_it):7} {sum(m.killer is not None for m in of_it):7}")
    killed = len(counted) - len(lives)
    share = 100.0 * killed / len(counted) if counted else 0.0
    print(f"{killed} of {len(counted)} killed, {share:.1f} % (at least {LEAST_PERCENT} %); "
          f"{len(mutants) - len(counted)} excused as equivalent")
    for line in problems:
        print(f"FAIL {EXCUSED}: {line}")
    return 1 if share < LEAST_PERCENT or problems else 0


def main():
    parser = argparse.ArgumentParser(description="Do the C tests notice small changes of the core?")
    parser.add_argument("count", nargs="?", type=int, default=MUTANTS, metavar="N")
    parser.add_argument("--seed", type=int, default=None, help="1 .. 2^31; else drawn and printed")
    parser.add_argument("--only", metavar="FILE", help="change this file alone")
    parser.add_argument("--plain", action="store_true",
                        help="do not run survivors again with sanitizers")
    options = parser.parse_args()
    os.chdir(rig.ROOT)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1, 1 << 31)
    listed = rig.sources()
    paths = [path for kind, path in listed if kind == "core" and path.endswith(".c")
             and options.only in (None, path)]
    tests = [path for kind, path in listed if kind in ("ctest", "sim") and path.endswith(".c")
             and path.startswith(("test/core/", "test/sim/"))]
    if not paths or options.count < 1:
        parser.error("nothing to change")
    print(f"{options.count} mutants of {len(paths)} files, seed {seed} "
          f"(repeat: python3 test/mutate.py {options.count} --seed {seed}); operators:")
    for name, text in OPERATORS.items():
        print(f"  {name:10} {text}")
    try:
        excused = rig.excuses(EXCUSED)
        killer = Killer(tests)
        killer.prepare(killer.plain)
        nexts = neighbours(inventory.texts())
        chooser = Chooser(killer.plain, nexts, seed)
        mutants = chooser.choose(paths, options.count)
        print(f"{chooser.broken} that do not compile and {chooser.same} with the same object code "
              "thrown away", flush=True)
        run_all(killer, mutants, options.plain)
        every = [mutant for path in {path for path, _, _ in excused} if path in paths
                 for mutant in mutants_of(path, nexts)]
        mine = [entry for entry in excused if options.only in (None, entry[0])]
        return tell(mutants, excuse(mutants, mine, every))
    except rig.BuildError as error:
        print(error)
        return 1


if __name__ == "__main__":
    sys.exit(main())
