# SPDX-License-Identifier: GPL-2.0-only
"""Every test that test/known-bugs.md names exists and runs; no row is without one or a reason."""

import ast
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = "test/known-bugs.md"
WANTED = range(1, 70)  # rows that must be there, by number


def read(path):
    with open(os.path.join(ROOT, path), encoding="ascii") as file:
        return file.read()


def rows(text):
    """[(id, [cell, ...])] of all tables; a cell may hold no bar."""
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and re.fullmatch(r"A\d+", cells[0]):
            found.append((cells[0], cells[1:]))
    return found


def cases(path):
    """Names of the cases of a test file, as the page writes them."""
    text = read(path)
    if path.endswith(".py"):
        return {f"{part.name}.{item.name}" for part in ast.parse(text).body
                if isinstance(part, ast.ClassDef) for item in part.body
                if isinstance(item, ast.FunctionDef) and item.name.startswith("test")}
    if path.endswith(".cc"):
        return set(re.findall(r"AddTestCase\(new (\w+)", text))
    return set(re.findall(r"CHECK_CASE\((\w+)\)", text))


def wrong(text, listed):
    """What is wrong with the page's rows; @p listed: paths of sources.txt."""
    found = []
    for name, cells in rows(text):
        if len(cells) != 4 or not all(cells):
            found.append(f"{name}: five cells, none empty")
            continue
        tests, _, reason = cells[3].partition("not built:")
        tests = [test for test in re.split(r"[,;]\s*", tests.strip()) if test]
        if not tests and not reason.strip():
            found.append(f"{name}: no test and no reason")
        for test in tests:
            path, _, case = test.partition(":")
            if not os.path.exists(os.path.join(ROOT, path)):
                found.append(f"{name}: {path} does not exist")
            elif path not in listed:
                found.append(f"{name}: {path} is not in sources.txt, so it never runs")
            elif case not in cases(path):
                found.append(f"{name}: {path} has no case {case or '(none named)'}")
    return found


class KnownBugsTest(unittest.TestCase):
    def setUp(self):
        self.listed = {line.split()[1] for line in read("sources.txt").splitlines()
                       if re.match(r"(ctest|sim|nstest|pytest) ", line)}

    def test_every_test_exists(self):
        self.assertEqual(wrong(read(PAGE), self.listed), [])

    def test_every_row_is_there_once(self):
        names = [name for name, _ in rows(read(PAGE))]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual([f"A{n}" for n in WANTED if f"A{n}" not in names], [])

    def test_a_missing_one_is_noticed(self):
        good = "test/fabric/ecn_test.c:only_ect_is_marked"
        for tests, said in ((good, None), (f"{good}, {good}; not built: all else", None),
                            ("not built: there is none", None),
                            ("test/fabric/ecn_test.c:only_ect_is_marke", "no case"),
                            ("test/fabric/ecn_test.c:", "(none named)"),
                            ("test/fabric/nix_test.c:a", "does not exist"),
                            ("test/tidy.py:a", "not in sources.txt"),
                            ("test/scenario/job_test.py:Ring.nix", "no case"),
                            ("test/scenario/job_test.py:test_busbw", "no case"),
                            ("test/rnic-device-test-suite.cc:RnicLinkTestCase", None),
                            ("test/rnic-device-test-suite.cc:RnicDeviceTestSuite", "no case"),
                            ("not built:", "no reason"), (f"{good}, x", "does not exist"),
                            ("", "none empty")):
            with self.subTest(tests):
                found = wrong(f"| A1 | who | what | right | {tests} |\n", self.listed)
                self.assertEqual(len(found), 0 if said is None else 1, found)
                if said is not None:
                    self.assertIn(said, found[0])


if __name__ == "__main__":
    unittest.main()
