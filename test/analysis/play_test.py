#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""./rnic play: each operation with each thing that can go wrong, as text and as picture.

    play_test.py --write-golden    write the expected ladders anew; read them before you keep them

The ladders are compared without their times, which belong to the card and change with it; that
the times are exact is a test of its own.
"""

import contextlib
import io
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, ROOT)

import numpy as np  # noqa: E402
from analysis import style  # noqa: E402
from analysis.cli import play  # noqa: E402
from analysis.cli.common import Failure  # noqa: E402
from analysis.play import ladder, picture  # noqa: E402
from analysis.play.story import BadRecords, Story  # noqa: E402

BUILD = os.environ.get("RNIC_BUILD", os.path.join(ROOT, "build"))
PROGRAM, DECODE = os.path.join(BUILD, "rnic-play"), os.path.join(BUILD, "rnic-decode")
GOLDEN = os.path.join(HERE, "golden", "play")

WRONG = {"well": [], "loss": ["--loss", "1"], "rnr": ["--rnr"], "bad-key": ["--bad-key"],
         "duplicate": ["--duplicate"]}
RUNS = {f"{op}-{name}": [op, *([] if op == "atomic" else ["--bytes", "2500"]), *words]
        for op in play.OPERATIONS for name, words in WRONG.items()}
RUNS["read-loss"] = ["read", "--bytes", "2500", "--loss", "0"]
RUNS |= {
    "read-loss-response": ["read", "--bytes", "2500", "--loss-response", "1"],
    "atomic-loss-response": ["atomic", "--loss-response", "0"],
    "write-back-0": ["write", "--bytes", "2500", "--loss", "1", "--recovery", "go-back-0"],
    "write-selective": ["write", "--loss", "1,3", "--recovery", "selective"],
    "read-selective": ["read", "--loss-response", "1", "--recovery", "selective"],
    "write-window": ["write", "--bytes", "2500", "--window", "1024"],
    "write-loss-ack": ["write", "--bytes", "2500", "--loss-response", "2"],
    "send-wrap": ["send", "--bytes", "2500", "--n", "2", "--psn", "16777214", "--loss", "0"],
    "send-rnr-exhausted": ["send", "--bytes", "100", "--rnr", "3", "--rnr-retry", "1"],
}


def arguments(words):
    """What ./rnic play makes of a command line."""
    return play.program_arguments(play.parser().parse_args(words))


def masked(text):
    """A ladder without its times: their place is blank, and so is the end's."""
    lines = []
    for line in text.split("\n"):
        if line[:ladder.TIME].strip().replace(".", "").isdigit():
            line = " " * ladder.TIME + line[ladder.TIME:]
        lines.append(line.split(" done after ")[0].rstrip())
    return "\n".join(lines)


class PlayCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def story(self, *words):
        with mock.patch.object(play, "PROGRAM", PROGRAM):
            return Story(play.record(arguments(words), self.folder))

    def records(self, what):
        with open(os.path.join(self.folder, "play.jsonl"), encoding="ascii") as file:
            return [record for record in map(json.loads, file) if record["what"] == what]

    def refused(self, *words):
        with mock.patch.object(play, "PROGRAM", PROGRAM), self.assertRaises(Failure) as caught:
            play.record(arguments(words), self.folder)
        self.assertEqual(caught.exception.status, 2)
        return str(caught.exception)


class LadderTest(PlayCase):
    def test_golden(self):
        for name, words in RUNS.items():
            with self.subTest(name):
                text = "\n".join(ladder.lines(self.story(*words))) + "\n"
                self.assertLessEqual(max(map(len, text.split("\n"))), ladder.COLUMNS)
                with open(os.path.join(GOLDEN, name + ".txt"), encoding="ascii") as file:
                    self.assertEqual(masked(text), file.read())

    def test_bytes_end_where_they_belong(self):
        for name, words in RUNS.items():
            with self.subTest(name):
                memory = self.story(*words).memory
                if "bad-key" in name:
                    self.assertIn("holds 100" if "atomic" in name else "is untouched", memory)
                elif "exhausted" in name:
                    self.assertIn("is untouched", memory)
                else:
                    self.assertIn("holds 210" if "atomic" in name else "holds what was sent",
                                  memory)

    def test_every_time_is_exact(self):
        self.story("write", "--bytes", "3000", "--rate", "25Gbps", "--delay", "777ns",
                   "--loss", "1", "--duplicate", "2")
        left = {record["id"]: record for record in self.records("tx")}
        arrived = self.records("rx")
        self.assertGreater(len(arrived), 5)
        for record in arrived:
            line_ps = math.ceil((record["frame_bytes"] + 8) * 8000 / 25)
            self.assertEqual(record["t_ps"] - left[record["id"]]["t_ps"],
                             777000 + line_ps + 5000000 * record["copy"])

    def test_blocks_are_recorded(self):
        blocks = {record["block"] for record in self.story("write").passages}
        self.assertLessEqual({"tx_sched", "dma", "tx_build", "rx_parse", "rx_place"}, blocks)

    def test_capture_holds_every_frame(self):
        with mock.patch.object(play, "PROGRAM", PROGRAM):
            play.record(arguments(["read", "--loss-response", "1"]) + ["--pcap", self.folder],
                        self.folder)
        tx, rx = self.records("tx"), self.records("rx")
        for host in "ab":
            result = subprocess.run([DECODE, os.path.join(self.folder, host + ".pcap")],
                                    capture_output=True, text=True, check=False)
            frames = sum(record["host"] == host for record in tx + rx)
            self.assertEqual(result.stdout.split("\n")[-2],
                             f"frames={frames} roce={frames} icrc_ok={frames} icrc_bad=0 "
                             "malformed=0")

    def test_a_file_of_others_is_refused(self):
        path = os.path.join(self.folder, "x")
        for text in ("", "[]\n", '{"what": "run"}\n{"what": "dance", "host": "a"}\n', "a ladder"):
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            with self.assertRaises(BadRecords):
                Story(path)


class RefusalTest(PlayCase):
    def test_what_is_refused(self):
        for words, why in (
                (["fly"], "unknown operation 'fly'; operations are send, write, read, atomic"),
                (["write", "--loss", "9"], "host a sent no such PSN"),
                (["write", "--loss", "2,2,2,2,2", "--loss", "2,2,2,2"], "0 1 2 3 4 2 3 4 2"),
                (["write", "--loss-response", "1"], "--loss-response 1: host b sent no such PSN "
                                                    "(so often); in order it sent: 4"),
                (["write", "--duplicate", "7"], "--duplicate 7: host a"),
                (["write", "--loss", "x"], "--loss x: not a PSN"),
                (["write", "--loss", "-1"], "--loss -1: not a PSN"),
                (["write", "--rnr", "-1"], "--rnr -1"),
                (["atomic", "--bytes", "8"], "an atomic always has 8 bytes"),
                (["write", "--bytes", "5 apples"], "--bytes 5 apples: want a number with"),
                (["write", "--bytes", "0.5B"], "not a whole number"),
                (["write", "--bytes", "1MiB", "--n", "64"], "packets are more"),
                (["write", "--mtu", "1000"], "--mtu 1000: not 256, 512, 1024, 2048 or 4096"),
                (["write", "--n", "0"], "--n 0"),
                (["write", "--retry-cnt", "8"], "--retry-cnt 8: not a number from 0 to 7"),
                (["write", "--psn", "16777216"], "--psn 16777216"),
                (["write", "--recovery", "selective", "--window", "0"], "--window: selective"),
                (["write", "--recovery", "go-back-0", "--window", "9kB"], "--window: go-back-0"),
                (["write", "--text", "--pcap"], "--text writes no files")):
            with self.subTest(" ".join(words)):
                self.assertIn(why, self.refused(*words))

    def test_nothing_is_written(self):
        out = os.path.join(self.folder, "out")
        with mock.patch.object(play, "PROGRAM", PROGRAM), mock.patch.object(play, "prepare"), \
                self.assertRaises(Failure):
            play.main(["write", "--loss", "9", "--pcap", "--out", out])
        self.assertEqual(os.listdir(self.folder), [])


class CommandTest(PlayCase):
    def call(self, *words):
        said = io.StringIO()
        with mock.patch.object(play, "PROGRAM", PROGRAM), mock.patch.object(play, "prepare"), \
                contextlib.redirect_stdout(said):
            self.assertEqual(play.main(list(words)), 0)
        return said.getvalue()

    def test_folder_holds_text_pictures_and_captures(self):
        out = os.path.join(self.folder, "out")
        said = self.call("write", "--pcap", "--out", out)
        self.assertEqual(sorted(os.listdir(out)), sorted(play.FILES))
        with open(os.path.join(out, "ladder.txt"), encoding="ascii") as file:
            self.assertTrue(said.startswith(file.read()))
        with style.Image.open(os.path.join(out, "ladder.png")) as image:
            dark = np.asarray(image.convert("L")) < 128
        self.assertGreater(dark.mean(), 0.005)
        self.assertGreater(dark.any(axis=0).mean(), 0.7)
        self.assertGreater(dark.any(axis=1).mean(), 0.8)
        with open(os.path.join(out, "ladder.svg"), encoding="utf-8") as file:
            svg = file.read()
        for words in ("host a", "host b", "WRITE_FIRST 0 1024 B", "ACK 4",
                      "completion wr 1 SUCCESS"):
            self.assertIn(f">{words}<", svg)
        self.call("read", "--out", out)  # captures of the run before are no longer true
        self.assertEqual(sorted(os.listdir(out)), sorted(play.FILES[:4]))

    def test_text_alone_writes_nothing(self):
        with contextlib.chdir(self.folder):
            self.assertIn("completion wr 1 SUCCESS", self.call("send", "--text"))
        self.assertEqual(os.listdir(self.folder), [])

    def test_output_that_can_not_be_written_is_told(self):
        code = ("import sys; sys.path.insert(0, sys.argv[1]); from analysis.cli import play; "
                "play.PROGRAM, play.prepare = sys.argv[2], lambda text: None\n"
                "try: play.main(['read', '--text'])\n"
                "except play.Failure as failure: sys.exit(f'{failure.status}: {failure}')")
        with open("/dev/full", "w", encoding="ascii") as full:
            result = subprocess.run([sys.executable, "-c", code, ROOT, PROGRAM], stdout=full,
                                    stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(result.stderr, "2: standard output: No space left on device\n")


def outline(text, renderer):
    """The four corners of a text in pixels, turned as it is."""
    angle = text.get_rotation()
    text.set_rotation(0)
    box = text.get_window_extent(renderer)
    text.set_rotation(angle)
    middle = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
    if angle:  # turned about its anchor, which is the middle of its length
        middle = text.get_transform().transform(text.get_position())
    half = np.array([box.width / 2 - 1, box.height / 2 - 1])
    turn = np.radians(angle)
    turned = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half
    return corners @ turned + middle


def apart(one, other):
    """Whether two convex outlines have a line between them."""
    for corners in (one, other):
        for edge in np.roll(corners, -1, axis=0) - corners:
            across = np.array([-edge[1], edge[0]])
            first, second = one @ across, other @ across
            if first.max() <= second.min() or second.max() <= first.min():
                return True
    return False


class PictureTest(PlayCase):
    def texts(self, *words):
        figure = style.styled(picture.build)(self.story(*words))
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()
        style.plt.close(figure)
        return figure, [(text.get_text(), outline(text, renderer))
                        for text in figure.findobj(style.matplotlib.text.Text)
                        if text.get_text().strip()]

    def test_no_two_texts_touch_and_none_leaves_the_picture(self):
        many = {"many": ["write", "--bytes", "20000", "--loss", "3,7", "--duplicate", "9"],
                "wide": ["read", "--bytes", "2500", "--psn", "16777214"],
                "long": ["send", "--bytes", "100", "--loss", "0,0", "--timeout", "20"]}
        for name, words in (RUNS | many).items():
            with self.subTest(name):
                figure, texts = self.texts(*words)
                self.assertGreater(len(texts), 10)
                touching = [(a[0], b[0]) for a, b in itertools.combinations(texts, 2)
                            if not apart(a[1], b[1])]
                self.assertEqual(touching, [])
                for text, corners in texts:
                    self.assertTrue((corners > 0).all() and
                                    (corners < (figure.bbox.width, figure.bbox.height)).all(),
                                    text)

    def test_too_many_lines_are_counted_not_drawn(self):
        _, texts = self.texts("write", "--bytes", "100000")
        story = self.story("write", "--bytes", "100000")
        left_out = len(story.lines) - picture.MAX_LINES
        self.assertGreater(left_out, 50)
        self.assertIn(f"{left_out} more lines: see the text", [text for text, _ in texts])


def write_golden():
    os.makedirs(GOLDEN, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(play, "PROGRAM", PROGRAM):
        for name, words in RUNS.items():
            text = "\n".join(ladder.lines(Story(play.record(arguments(words), folder)))) + "\n"
            with open(os.path.join(GOLDEN, name + ".txt"), "w", encoding="ascii") as file:
                file.write(masked(text))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write-golden"]:
        write_golden()
    else:
        unittest.main()
