# SPDX-License-Identifier: GPL-2.0-only
"""doc/verbs says what model/core/rnic_verbs.h and the code say.

    /usr/bin/python3 test/analysis/verbs_doc_test.py            the tests
    /usr/bin/python3 test/analysis/verbs_doc_test.py --print    the tables that the pages must have

Every function of the verbs header has a page with its prototype, its description and the errors its
contract names; every enum value and every field is explained; examples compile; the tables of
transitions, attributes, RNR timers and refusals are those of the code: a C program asks the
functions of the card, and test/core/verbs_refused_test.c prints what it saw. Each check is shown to
notice a spoiled page.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADER = "model/core/rnic_verbs.h"
DEVICE = "model/core/rnic_device.h"
FOLDER = "doc/verbs"
CC = ["gcc", "-std=c11", "-O1", "-Imodel/wire", "-Imodel/core", "-Itest", "-Itest/core"]
ENUMS = ["rnic_err", "rnic_access", "rnic_qp_state", "rnic_qp_type", "rnic_recovery",
         "rnic_wr_opcode", "rnic_send_flags", "rnic_wc_status", "rnic_wc_opcode",
         "rnic_qp_attr_mask"]

ASK_C = r"""
#include "rnic_table_qp.h"
#include <stdio.h>
static const struct { unsigned bit; const char *name; } bits[] = {@BITS@};
enum { N = sizeof bits / sizeof bits[0] };
static const char *const states[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
static const char *const types[] = {"RC", "UC", "UD"};

static unsigned mask_of(unsigned long set)
{
    unsigned mask = RNIC_QP_STATE;

    for (int i = 0; i < N; i++)
        mask |= set >> i & 1 ? bits[i].bit : 0;
    return mask;
}

static void names(const char *what, unsigned set)
{
    printf("|%s", what);
    for (int i = 0; i < N; i++)
        if (set >> i & 1)
            printf(" %s", bits[i].name);
}

/* Which sets of attributes are legal: all of a required set, any of an optional one? */
static void transition(int type, int from, int to)
{
    unsigned long all = 0, always = ~0ul, legal = 0, n = 1;

    for (unsigned long set = 0; set < 1ul << N; set++)
        if (rnic_table_qp_transition((enum rnic_qp_type)type, (enum rnic_qp_state)from,
                                     (enum rnic_qp_state)to, mask_of(set))) {
            legal++;
            all |= set;
            always &= set;
        }
    if (legal == 0)
        return;
    for (int i = 0; i < N; i++)
        n *= (all & ~always) >> i & 1 ? 2 : 1;
    printf("transition|%s|%s|%s", types[type], states[from], states[to]);
    names("", (unsigned)always);
    names("", (unsigned)(all & ~always));
    printf("|%s\n", n == legal ? "" : "not all combinations");
}

#define RANGE(bit, field, last)                                                                    \
    do {                                                                                           \
        unsigned least = ~0u, most = 0;                                                            \
        for (unsigned v = 0; v <= (last); v++) {                                                   \
            struct rnic_qp_attr attr = {0};                                                        \
            attr.field = (__typeof__(attr.field))v;                                                \
            if (!rnic_table_qp_attr_valid(&attr, RNIC_QP_##bit, &params))                          \
                continue;                                                                          \
            least = v < least ? v : least;                                                         \
            most = v;                                                                              \
        }                                                                                          \
        printf("range|%s|%u|%u\n", #bit, least, most);                                             \
    } while (0)

int main(void)
{
    struct rnic_params params = rnic_params_default();

    for (int type = 0; type < 3; type++)
        for (int from = 0; from < 7; from++)
            for (int to = 0; to < 7; to++)
                transition(type, from, to);
    params.max_rd_atomic = 128;
    RANGE(PKEY_INDEX, pkey_index, 65535);
    RANGE(PORT, port_num, 255);
    RANGE(PATH_MTU, path_mtu_bytes, 10000);
    RANGE(TIMEOUT, timeout, 255);
    RANGE(RETRY_CNT, retry_cnt, 255);
    RANGE(RNR_RETRY, rnr_retry, 255);
    RANGE(MIN_RNR_TIMER, min_rnr_timer, 255);
    RANGE(MAX_QP_RD_ATOMIC, max_rd_atomic, 255);
    RANGE(MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, 255);
    for (unsigned code = 0; code < 32; code++)
        printf("rnr|%u|%g\n", code, (double)rnic_tx_replay_rnr_ps((uint8_t)code) / 1e9);
    return 0;
}
"""


def read(path):
    with open(os.path.join(ROOT, path), encoding="ascii") as file:
        return file.read()


def pages():
    """{path: text} of the pages."""
    paths = sorted(glob.glob(os.path.join(ROOT, FOLDER, "*.rst")))
    return {os.path.relpath(path, ROOT): read(path) for path in paths}


# ---- the header ----

def functions(text):
    """{name: (prototype, errors its comment names)}; a comment is of the function behind it."""
    found = {}
    pattern = r"(/\*\*(?:(?!\*/).)*\*/\s*)?^((?:int|const char \*)\s?(rnic_\w+)\([^;]*\));"
    for match in re.finditer(pattern, text, re.S | re.M):
        returned = (match.group(1) or "").partition("@return")[2]
        errors = set(re.findall(r"RNIC_ERR_[A-Z]+", returned))
        found[match.group(3)] = (" ".join(match.group(2).split()), errors)
    return found


def bare(text):
    """Without comments."""
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def enum(text, tag):
    body = re.search(r"\benum " + tag + r"\s*\{(.*?)\}", bare(text), re.S).group(1)
    return re.findall(r"\b(RNIC_\w+)\b(?=\s*(?:=[^,]*)?(?:,|$))", body)


def fields(text):
    """{struct: [field]} of a header, fields of nested structs and unions too."""
    found = {}
    for match in re.finditer(r"^struct (\w+) \{(.*?)^\};", bare(text), re.S | re.M):
        names = []
        for line in re.findall(r"[^;{}]+;", match.group(2)):
            words = re.sub(r"^[\s}]*(?:const )?(?:struct |enum )?\w+\s", "", line.strip(" \n;"))
            names += re.findall(r"(\w+)\s*(?:,|$)", words.replace("*", ""))
        found[match.group(1)] = names
    return found


def wanted_values():
    """Every name that the pages must explain."""
    header = read(HEADER)
    names = [name for tag in ENUMS for name in enum(header, tag)]
    names += re.findall(r"\b(RNIC_WC_(?:GRH|WITH_\w+))\b = ", header)
    events = read(DEVICE)
    names += [name for name in enum(events, "rnic_event_type")
              if name not in ("RNIC_EVENT_NONE", "RNIC_EVENT_TYPES")]
    names += re.findall(r"\b(WIRE_NAK_\w+) = \d", read("model/wire/wire_frame.h"))
    return names


# ---- the pages ----

def section(text, title, mark):
    """Text of the section with this title; "": none."""
    found = re.search(rf"^{re.escape(title)}\n{re.escape(mark)}{{3,}}\n(.*?)(?=^[^\n]+\n"
                      rf"[{re.escape('-*=' if mark == '=' else '-*')}]{{3,}}\n|\Z)", text,
                      re.S | re.M)
    return found.group(1) if found else ""


def explained(text, name):
    """A term or the first cell of a row, alone or among others, with an explanation behind it."""
    pattern = (rf"^ *(?:\* )?(?:``\w+``(?:, |,\n *))*``{name}``(?:(?:,\s+``\w+``)*)"
               rf"(?:[ :]+(?!\n)\S[^\n]*|\n +\S[^\n]*)")
    return re.search(pattern, text, re.M) is not None


def errors_of(text, name):
    """Errors that a page lists for a function in its Errors section."""
    lines = section(text, "Return Value and Errors", "*").split("\n")
    errors, inside = set(), False
    for line in lines:
        if re.match(r"``rnic_\w+``", line):
            inside = f"``{name}``" in line
        elif line and not line.startswith(" "):
            inside = False
        elif inside:
            errors.update(re.findall(r"^ +\* ``(RNIC_ERR_\w+)``: \S", line))
    return errors


def table(text, first):
    """Rows of the simple table whose head begins with this cell; a blank first cell goes on."""
    lines = text.split("\n")
    for at, line in enumerate(lines[:-1]):
        if not re.fullmatch(r"=+( +=+)+", line) or not lines[at + 1].startswith(first):
            continue
        starts = [match.start() for match in re.finditer("=+", line)] + [None]
        rows = []
        for row in lines[at + 3:]:
            if row == line:
                return rows
            cells = [row[left:right].strip().replace("``", "")
                     for left, right in zip(starts, starts[1:])]
            if cells[0]:
                rows.append(cells)
            else:
                rows[-1] = [" ".join((old, new)).strip() for old, new in zip(rows[-1], cells)]
    return []


def wrong_functions(found):
    """What is wrong with the pages about the functions."""
    told = []
    for name, (prototype, errors) in functions(read(HEADER)).items():
        of = [path for path, text in found.items()
              if prototype in " ".join(section(text, "Synopsis", "*").split())]
        if len(of) != 1:
            told.append(f"{name}: {len(of)} pages have its prototype: {prototype}")
            continue
        text = found[of[0]]
        if f"``{name}``" not in section(text, "Name", "*"):
            told.append(f"{of[0]}: {name} is not among the names")
        if not section(section(text, "Description", "*"), name, "=").strip():
            told.append(f"{of[0]}: {name} is not described")
        if errors_of(text, name) != errors:
            told.append(f"{of[0]}: {name}: errors {sorted(errors_of(text, name))}, "
                        f"{HEADER}: {sorted(errors)}")
    return told


def wrong_names(found):
    whole = "\n".join(found.values())
    told = [f"{name} is not explained" for name in wanted_values() if not explained(whole, name)]
    for struct, names in fields(read(HEADER)).items():
        text = section(whole, f"struct {struct}", "=")
        told += [f"struct {struct}: {name} is not explained" for name in names
                 if not explained(text, name)]
    return told


def wrong_pages(found):
    told = []
    for path, text in found.items():
        for title in ("Name", "Description", "See Also"):
            if not section(text, title, "*").strip():
                told.append(f"{path}: no section {title}")
        for other in re.findall(r"``([a-z0-9-]+\.rst)``", section(text, "See Also", "*")):
            if f"{FOLDER}/{other}" not in found and not os.path.exists(
                    os.path.join(ROOT, "doc", other)):
                told.append(f"{path}: {other} does not exist")
        if f"verbs/{os.path.basename(path)}" not in read("doc/rnic.rst"):
            told.append(f"{path} is not linked from doc/rnic.rst")
    return told


# ---- the code ----

def run(folder, name, sources, *arguments):
    program = os.path.join(folder, name)
    subprocess.run([*CC, "-o", program, *sources, "-lm"], cwd=ROOT, check=True)
    told = subprocess.run([program, *arguments], cwd=ROOT, check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return told.splitlines()


def library():
    return sorted(os.path.relpath(path, ROOT) for folder in ("wire", "core")
                  for path in glob.glob(os.path.join(ROOT, "model", folder, "*.c")))


def code():
    """What the code says: {kind: [[cell, ...]]}."""
    bits = [name for name in enum(read(HEADER), "rnic_qp_attr_mask") if name != "RNIC_QP_STATE"]
    text = ASK_C.replace("@BITS@", ", ".join(f'{{{bit}, "{bit[8:]}"}}' for bit in bits))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ask.c")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        lines = run(folder, "ask", [path, *library()])
        lines += run(folder, "refused", ["test/core/verbs_refused_test.c", "test/core/card.c",
                                         *library()], "who_is_told_what")
    found = {}
    for line in lines:
        kind, _, rest = line.replace("row ", "row|", 1).partition("|")
        found.setdefault(kind, []).append([cell.strip() for cell in rest.split("|")])
    return found


def transitions(found):
    """Rows of the page's table; types with the same rule stand together."""
    rows = {}
    for kind, start, end, required, optional, odd in found["transition"]:
        key = (start, end, required or "-", (optional or "-") + odd)
        rows.setdefault(key, []).append(kind)
    order = ["RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"]
    return [[" ".join(kinds), *key] for key, kinds in
            sorted(rows.items(), key=lambda row: (order.index(row[0][0]), order.index(row[0][1])))]


def print_table(head, rows, widths):
    rule = " ".join("=" * width for width in widths)
    print("\n" + rule)
    for at, row in enumerate([head] + rows):
        cells = [textwrap.wrap(cell, width) or [""] for cell, width in zip(row, widths)]
        for line in range(max(map(len, cells))):
            print(" ".join((cell[line] if line < len(cell) else "").ljust(width)
                           for cell, width in zip(cells, widths)).rstrip())
        if at == 0:
            print(rule)
    print(rule)


def print_tables():
    found = code()
    print_table(["Types", "From", "To", "Must have", "May have"], transitions(found),
                [8, 5, 5, 36, 40])
    print_table(["What goes wrong", "NAK", "Send request", "Receive", "Event", "Peer"],
                found["row"], [38, 4, 17, 13, 13, 4])
    print_table(["Code", "Time, ms"], found["rnr"], [4, 8])
    print(found["range"])


class Pages(unittest.TestCase):
    """Each check passes, and notices a page that was spoiled."""

    def test_functions(self):
        found = pages()
        self.assertGreater(len(functions(read(HEADER))), 25)
        self.assertEqual(wrong_functions(found), [])
        for name in ("rnic_reg_mr", "rnic_modify_qp", "rnic_poll_cq"):
            spoiled = {path: re.sub(rf"^{name}\n=+$", "x\n===", text, flags=re.M)
                       for path, text in found.items()}
            self.assertTrue(wrong_functions(spoiled), name)
        spoiled = {path: text.replace("``RNIC_ERR_BUSY``: ", "``RNIC_ERR_FULL``: ")
                   for path, text in found.items()}
        self.assertTrue(wrong_functions(spoiled))
        spoiled = {path: text.replace("uint32_t *pd, uint64_t now_ps", "uint32_t *pd")
                   for path, text in found.items()}
        self.assertTrue(wrong_functions(spoiled))

    def test_every_value_and_field_is_explained(self):
        found = pages()
        self.assertGreater(len(wanted_values()), 90)
        self.assertEqual(len(fields(read(HEADER))), 9)
        self.assertEqual(wrong_names(found), [])
        whole = "\n".join(found.values())
        for name in wanted_values() + [field for names in fields(read(HEADER)).values()
                                       for field in names]:
            spoiled = re.sub(rf"``{name}``", "``x``", whole)
            self.assertTrue(wrong_names({"all": spoiled}), name)

    def test_examples_compile(self):
        for path, text in pages().items():
            blocks = re.findall(r"^::\n\n((?:  [^\n]*\n|\n)+)", section(text, "Example", "*"), re.M)
            if path == f"{FOLDER}/recovery.rst":
                continue  # it has no functions
            self.assertEqual(len(blocks), 1, path)
            program = '#include "rnic_device.h"\n#include <stdio.h>\n#include <stdlib.h>\n'
            told = subprocess.run([*CC, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-xc", "-"],
                                  cwd=ROOT, text=True, capture_output=True, check=False,
                                  input=program + textwrap.dedent(blocks[0]))
            self.assertEqual(told.returncode, 0, f"{path}: {told.stderr}")

    def test_sections_and_links(self):
        found = pages()
        self.assertEqual(wrong_pages(found), [])
        self.assertTrue(wrong_pages({"doc/verbs/new.rst": ""}))


class Tables(unittest.TestCase):
    """The tables are the code's."""

    @classmethod
    def setUpClass(cls):
        cls.code = code()
        cls.qp = read(f"{FOLDER}/queue-pairs.rst")
        cls.polling = read(f"{FOLDER}/polling.rst")

    def test_transitions(self):
        self.assertGreater(len(transitions(self.code)), 25)
        self.assertEqual(table(self.qp, "Types"), transitions(self.code))

    def test_ranges(self):
        rows = {row[0]: row[2] for row in table(self.qp, "Attribute")}
        for name, least, most in self.code["range"]:
            numbers = re.findall(r"\d+", rows["RNIC_QP_" + name])
            self.assertEqual([numbers[0], numbers[-1]], [least, most], name)

    def test_rnr_timers(self):
        cells = [cell for row in table(self.qp, "Code") for cell in row]
        told = dict(zip(cells[::2], cells[1::2]))
        self.assertEqual({code: float(ms) for code, ms in told.items()},
                         {code: float(ms) for code, ms in self.code["rnr"]})

    def test_refusals(self):
        self.assertGreater(len(self.code["row"]), 20)
        self.assertEqual(table(self.polling, "What goes wrong"), self.code["row"])


if __name__ == "__main__":
    if sys.argv[1:] == ["--print"]:
        print_tables()
    else:
        unittest.main()
