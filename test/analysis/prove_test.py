#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The tools that judge the C tests: what they find in C text, and that they notice errors."""

import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test"))

import coverage  # noqa: E402
import inventory  # noqa: E402
import mutate  # noqa: E402
import rig  # noqa: E402

SAMPLE = """/* RED < GREEN */
#define SIZE (3 + 4)
enum light { RED, GREEN = 5, BLUE };
static const char *names[] = {[RED] = "RED, && or ||", [GREEN] = "GREEN"};
int next(int *light, bool on)
{
    int a = 0x1F;

    WIRE_ASSERT(a < 7);
    if (*light == RED && !on)
        return GREEN;
    while (on)
        *light = light_min(a - 1, -2);
    drops[RED]++;
    return true;
}
"""


def changes(operator):
    """(line, before, after) of the sample's changes by an operator."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "sample.c")
        with open(path, "w", encoding="ascii") as file:
            file.write(SAMPLE)
        mutants = mutate.mutants_of(path, {"RED": "GREEN", "GREEN": "BLUE", "BLUE": "RED"})
    return sorted((mutant.line, SAMPLE[mutant.start:mutant.end], mutant.new)
                  for mutant in mutants if mutant.operator == operator)


class Text(unittest.TestCase):
    def test_comments_and_strings_are_masked_in_place(self):
        text = 'a /* "x\n */ b "// \\" c" d \'"\' e // f\ng'
        bare = rig.masked(text)
        self.assertEqual(len(bare), len(text))
        self.assertEqual(bare.split(), ["a", "b", "d", "e", "g"])
        self.assertEqual(bare.index("g"), text.index("g"))

    def test_enums(self):
        self.assertEqual([(tag, [name for name, _ in names])
                          for tag, names in inventory.enums(SAMPLE)],
                         [("light", ["RED", "GREEN", "BLUE"])])

    def test_only_what_produces_a_code_is_a_site(self):
        def lines(name):
            return [rig.line_of(SAMPLE, at) for at in inventory.sites(SAMPLE, name)]
        self.assertEqual(lines("RED"), [14])
        self.assertEqual(lines("GREEN"), [11])
        self.assertEqual(inventory.sites("f(x ? A : B); g(A == y ? 1 : 2); h(y != A);", "A"), [6])
        self.assertEqual(len(inventory.sites("case A: return A;", "A")), 1)

    def test_excuses_are_pairs(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("# note\n\na/b.c: if (x | y: z)\n    2: because\n")
            file.flush()
            self.assertEqual(rig.excuses(file.name), [("a/b.c", "if (x | y: z)", "2: because")])
            file.write("a/b.c: return;\n")
            file.flush()
            self.assertRaises(rig.BuildError, rig.excuses, file.name)


class Inventory(unittest.TestCase):
    def test_the_tree_has_codes_of_every_kind(self):
        kinds = {code.kind for code in inventory.codes(inventory.texts())}
        self.assertEqual(kinds, set(inventory.KINDS) - {"transition"})

    def test_what_nothing_produces_is_told(self):
        code = inventory.Code("drop", "WIRE_DROP_X", "WIRE_DROP_Y", "x.h:1")
        listed = {"status": [line for name in inventory.NOT_PROVOKED
                             for line in inventory.unproduced([], {})["status"] if name in line]}
        self.assertEqual(len(listed["status"]), len(inventory.NOT_PROVOKED))
        self.assertEqual(len(inventory.unproduced([code], {"WIRE_DROP_X": {}})["drop"]), 1)
        self.assertEqual(inventory.unproduced([code], {"WIRE_DROP_X": {"x.c": [3]}})["drop"], [])


class Mutants(unittest.TestCase):
    def test_each_operator_finds_its_places(self):
        self.assertEqual(changes("relation"), [(10, "==", "!=")])
        self.assertEqual(changes("logic"), [(10, "&&", "||")])
        self.assertEqual(changes("not"), [(10, "!", "")])
        self.assertEqual(changes("condition"), [(10, "(*light == RED && !on)",
                                                 "(!(*light == RED && !on))"),
                                                (12, "(on)", "(!(on))")])
        self.assertEqual(changes("constant"), [(7, "0x1F", "0x20"), (13, "1", "2"),
                                               (13, "2", "3")])
        self.assertEqual(changes("truth"), [(15, "true", "false")])
        self.assertEqual(changes("minmax"), [(13, "light_min", "light_max")])
        found = [change for change in changes("arithmetic") if change[1] != "*"]  # of pointers
        self.assertEqual(found, [(13, "-", "+"), (14, "++", "--")])
        self.assertEqual(changes("enum"), [(4, "GREEN", "BLUE"), (4, "RED", "GREEN"),
                                           (10, "RED", "GREEN"), (11, "GREEN", "BLUE"),
                                           (14, "RED", "GREEN")])
        self.assertEqual(changes("deleted"), [(13, "*light = light_min(a - 1, -2)",
                                               "/* *light = light_min(a - 1, -2) */"),
                                              (14, "drops[RED]++", "/* drops[RED]++ */")])
        self.assertEqual(changes("jump"), [])

    def test_files_get_their_share(self):
        counts = mutate.quotas(["model/core/rnic_device.c", "model/core/rnic_cc.c"], 50)
        self.assertEqual(sum(counts.values()), 50)
        self.assertGreater(counts["model/core/rnic_device.c"], counts["model/core/rnic_cc.c"])

    def test_an_excuse_must_be_true(self):
        text = "int x = 1;\n"
        mutant = mutate.Mutant("a.c", text, "constant", 8, 9, "2")
        self.assertEqual(mutant.diff(text), "-int x = 1;\n+int x = 2;")
        excused = [("a.c", "int x = 2;", "same")]
        self.assertEqual(mutate.excuse([mutant], excused, [mutant]), [])
        self.assertEqual(mutant.excuse, "same")
        mutant.killer = "test/a_test.c"
        self.assertEqual(len(mutate.excuse([mutant], excused, [mutant])), 1)
        self.assertEqual(len(mutate.excuse([mutant], excused, [])), 2)


class Coverage(unittest.TestCase):
    def test_excuses_must_fit(self):
        texts = coverage.Texts()
        texts.known["a.c"] = ["if (x)", "if (y)", "if (x)"]
        taken = {("a.c", 1): [0, 3], ("a.c", 2): [1, 1], ("a.c", 3): [2, 0]}
        excused = [("a.c", "if (x)", "2: why")]
        self.assertEqual(coverage.judge(taken, excused, texts), ([], [], 2))
        self.assertEqual(len(coverage.judge(taken, [], texts)[0]), 2)
        few = coverage.judge(taken, [("a.c", "if (x)", "1: why")], texts)
        self.assertEqual((len(few[0]), len(few[1])), (2, 1))
        stale = coverage.judge(taken, excused + [("a.c", "if (y)", "1: why")], texts)
        self.assertEqual((len(stale[0]), len(stale[1])), (0, 1))
        self.assertEqual(len(coverage.judge(taken, [("a.c", "if (x)", "why")], texts)[1]), 1)
        self.assertEqual(coverage.by_file(taken), {"a.c": [4, 6]})


if __name__ == "__main__":
    unittest.main()
