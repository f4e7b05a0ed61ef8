#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The picture of a run: drawn from made-up results, no two texts overlap, gaps are explained."""

import itertools
import json
import os
import pathlib
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(os.path.dirname(HERE)), HERE]

import results_synthetic as synthetic  # noqa: E402
from analysis import draw, panels, results, style, timeline  # noqa: E402


def visible_texts(figure):
    """[(text, bounding box in pixels)] of everything written in a figure."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    beyond = set()  # labels of ticks outside the axis limits: kept by matplotlib, not drawn
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            beyond.update(id(tick.label1) for tick in axis.get_major_ticks()
                          if not low <= tick.get_loc() <= high)
    return [(text.get_text(), text.get_window_extent(renderer))
            for text in figure.findobj(style.matplotlib.text.Text)
            if text.get_visible() and text.get_text().strip() and id(text) not in beyond]


def overlaps(figure):
    """Pairs of texts that touch, and texts that leave the picture."""
    texts = visible_texts(figure)
    width, height = figure.bbox.width, figure.bbox.height
    beyond = [(text, "the edge") for text, box in texts
              if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1]
    return beyond + [(a, b) for (a, one), (b, other) in itertools.combinations(texts, 2)
                     if one.overlaps(other) and a != b]


class TimelineTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def figure(self):
        return timeline.draw(results.Results(self.folder.name))

    def texts(self):
        return "\n".join(text for text, _ in visible_texts(self.figure()))

    def test_ring_is_drawn_without_overlaps(self):
        for ranks, delayed, equal in ((4, None, True), (4, 2, False), (16, None, False)):
            with self.subTest(ranks=ranks, delayed=delayed):
                synthetic.ring(self.folder.name, ranks, delayed, equal)
                self.assertEqual(overlaps(self.figure()), [])

    def test_incast_is_drawn_without_overlaps(self):
        for senders, unfinished in ((2, False), (4, True), (16, False), (100, False)):
            with self.subTest(senders=senders):
                synthetic.incast(self.folder.name, senders, unfinished)
                self.assertEqual(overlaps(self.figure()), [])

    def test_no_text_leaves_the_picture(self):
        synthetic.ring(self.folder.name)
        with open(os.path.join(self.folder.name, "summary.json"), encoding="ascii") as file:
            summary = json.load(file)
        summary["switches"] = [{"pool_bytes": 31000000}]  # a third threshold out of reach
        summary["parameters"].update({"switch.reserved": 4096, "switch.alpha": 0.125,
                                      "switch.lossless": 1})
        with open(os.path.join(self.folder.name, "summary.json"), "w", encoding="ascii") as file:
            json.dump(summary, file)
        figure = self.figure()
        texts = visible_texts(figure)
        self.assertIn("PFC XOFF", "".join(text for text, _ in texts))
        for text, box in texts:
            self.assertGreaterEqual(box.x0, 0, text)
            self.assertLessEqual(box.x1, figure.bbox.width + 1, text)

    def test_steps_of_a_late_rank_hide_none_of_it(self):
        rows = [["allreduce", 0, step, "reduce-scatter", 0, 1000, 100, end]
                for step, end in enumerate((50, 150, 160, 400))]
        synthetic.write(self.folder.name, {}, steps=synthetic.table("steps", rows))
        axes = style.plt.figure().add_subplot()
        panels.draw_steps(axes, results.Results(self.folder.name).table("steps"), 1, (0, 400))
        (bars,) = axes.collections
        spans = [(path.vertices[:, 0].min(), path.vertices[:, 0].max())
                 for path in bars.get_paths()]
        self.assertEqual(spans, [(100, 100), (100, 150), (150, 160), (160, 400)])
        style.plt.close("all")

    def test_overlap_would_be_noticed(self):
        synthetic.ring(self.folder.name)
        figure = self.figure()
        figure.axes[0].set_title("in the way of the legend, as wide as the whole panel is" * 2,
                                 loc="left")
        self.assertNotEqual(overlaps(figure), [])

    def test_a_text_that_leaves_the_picture_would_be_noticed(self):
        synthetic.ring(self.folder.name)
        figure = self.figure()
        figure.axes[-1].set_title("as wide as no page is " * 9, loc="left")
        self.assertIn("the edge", [other for _, other in overlaps(figure)])

    def test_headline_and_thresholds(self):
        synthetic.ring(self.folder.name)
        text = self.texts()
        self.assertIn("ring allreduce, 4 ranks, 64 MiB", text)
        self.assertIn("sums verified", text)
        self.assertIn("ECN Kmin 400 kB", text)
        self.assertIn("all 4 QPs", text)
        self.assertIn("switch0.port1 class 3, peak 8.332 kB", text)

    def test_missing_tables_say_why(self):
        synthetic.write(self.folder.name, {"collectives": [{"algorithm": "ring"}]},
                        queues=synthetic.table("queues", []),
                        rates=synthetic.table("rates", [["# no rows: nothing was sent"]]))
        text = self.texts()
        for why in ("steps.csv was not written", "rates.csv: no rows: nothing was sent",
                    "queues.csv: no rows", "pauses.csv was not written"):
            self.assertIn(why, text)

    def test_an_unfinished_flow_is_hatched(self):
        synthetic.incast(self.folder.name, 4, unfinished=True)
        figure = self.figure()
        self.assertEqual([bar.get_hatch() for bar in figure.axes[0].patches].count(style.HATCH), 1)

    def test_files_and_same_bytes_again(self):
        synthetic.ring(self.folder.name)
        paths = draw.draw(self.folder.name, ["timeline"])
        first = [pathlib.Path(path).read_bytes() for path in paths]
        again = [pathlib.Path(path).read_bytes()
                 for path in draw.draw(self.folder.name, ["timeline"])]
        self.assertEqual([os.path.basename(path) for path in paths],
                         ["timeline.png", "timeline.svg"])
        self.assertEqual(first, again)

    def test_bad_results_are_named(self):
        synthetic.write(self.folder.name, {}, rates=[["time_ps", "qp"], [1, "0->1"]])
        with self.assertRaisesRegex(results.BadResults, r"rates.csv:1: no column rate_bps"):
            results.Results(self.folder.name).table("rates")
        with open(os.path.join(self.folder.name, "summary.json"), "w", encoding="ascii") as file:
            file.write("{")
        with self.assertRaisesRegex(results.BadResults, "summary.json"):
            results.Results(self.folder.name)

    def test_parameters_are_found_whatever_their_section(self):
        for parameters in ({"switch.ecn_kmin": 5000}, {"switch": {"ecn_kmin_bytes": 5000}},
                           {"switch": {"ecn_kmin": {"value": 5000, "unit": "bytes"}}},
                           [{"name": "switch.ecn_kmin_bytes", "value": 5000}],
                           {"switch.ecn_kmin": "5000 B"}):
            synthetic.write(self.folder.name, {"parameters": parameters})
            run = results.Results(self.folder.name)
            self.assertEqual(run.parameter("ecn_kmin"), 5000)
            self.assertIsNone(run.parameter("ecn_kmax"))


if __name__ == "__main__":
    unittest.main()
