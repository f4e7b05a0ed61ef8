# SPDX-License-Identifier: GPL-2.0-only
"""The ladder as a picture, PNG and SVG.

    picture.py FILE FOLDER     draw the records in FILE into FOLDER/ladder.png and .svg

Time goes down, but not to scale: each line has its own height, so that all can be read. Where
nothing happens for long, both hosts' time lines are broken and the gap is named.
Prints the paths. Exit status: 0 drawn, 2 FILE cannot be read or FOLDER not written.
"""

import math
import os
import sys
import textwrap

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(
        os.path.abspath(__file__)))))

from analysis import style  # noqa: E402
from analysis.play.story import BadRecords, Story, plural, wrap  # noqa: E402

MAX_LINES = 120           # more than that is no picture any more
ROW_INCH = 0.155          # of one line of words
GAP_INCH = 0.24           # a broken piece of the time lines
GAP_RATIO, GAP_PS = 20, 5e6  # long: so many times the usual step, and at least this
EDGE_A, EDGE_B = 2.18, 4.62  # inches from the left: the time lines of the hosts
TIME_RIGHT = 0.64
WORDS_A, WORDS_B = 28, 38    # characters
SIZE = 6.6
LABEL_AT, LOST_AT = 0.3, 0.62  # shares of the way
LEVEL_FROM = 30                # degrees: no label is as steep
HEAD = "-|>,head_width=0.16,head_length=0.32"
SHAFT = {"linewidth": 0.8, "shrinkA": 0, "shrinkB": 0, "color": style.COLOURS[0]}


def wrapped(line):
    return wrap(line.words, (WORDS_A, WORDS_B)[line.host])


def places(lines):
    """Heights of the lines (inches down), and the breaks: ([y], [(y, gap in ps)], all)."""
    steps = sorted(b.t_ps - a.t_ps for a, b in zip(lines, lines[1:]) if b.t_ps > a.t_ps)
    usual = steps[len(steps) // 2] if steps else 0
    at, heights, breaks, before = 0.0, [], [], None
    for line in lines:
        gap = 0 if before is None else line.t_ps - before.t_ps
        if gap > max(GAP_RATIO * usual, GAP_PS):
            breaks.append((at + GAP_INCH / 2 - ROW_INCH / 2, gap))
            at += GAP_INCH
        heights.append(at)
        at += ROW_INCH * len(wrapped(line))
        before = line
    return heights, breaks, at


class Ladder:
    """The axes are in inches, so that text and arrows keep their size whatever the height."""

    def __init__(self, story):
        self.story = story
        self.lines = story.lines[:MAX_LINES]
        self.heights, self.breaks, self.length = places(self.lines)
        self.head = 0.62 + 0.14 * len(textwrap.wrap(story.note(), 108))
        self.foot = 0.14 * len(self.below()) + 0.12
        height = self.head + self.length + self.foot
        self.figure, self.axes = style.plt.subplots(figsize=(style.WIDTH_INCH, height))
        self.axes.set_position((0, 0, 1, 1))
        self.axes.set_xlim(0, style.WIDTH_INCH)
        self.axes.set_ylim(self.length + self.foot, -self.head)
        self.axes.axis("off")

    def below(self):
        left_out = len(self.story.lines) - len(self.lines)
        more = [f"{plural(left_out, 'more line')}: see the text"] if left_out else []
        return more + textwrap.wrap(self.story.summary(), 118) + \
            [text for text in (self.story.legend(),) if text]

    def text(self, x, y, words, **more):
        self.axes.text(x, y, words, **{"fontsize": SIZE, "va": "center", **more})

    def frame(self):
        """Title, heads, the two time lines with their breaks, and what stands below."""
        left, y = 0.08, -self.head + 0.12
        self.text(left, y, self.story.title(), fontsize=8, weight="bold")
        for piece in textwrap.wrap(self.story.note(), 108):
            y += 0.14
            self.text(left, y, piece, style="italic")
        self.text(TIME_RIGHT, -0.22, "time us", ha="right", color="#404040")
        self.text(EDGE_A, -0.22, "host a", ha="center", fontsize=8, weight="bold")
        self.text(EDGE_B, -0.22, "host b", ha="center", fontsize=8, weight="bold")
        self.text((EDGE_A + EDGE_B) / 2, -0.22, "opcode PSN flags", ha="center", color="#404040")
        for x in (EDGE_A, EDGE_B):
            self.axes.plot((x, x), (-0.1, self.length), color="black", linewidth=0.9)
            for at, _ in self.breaks:
                self.axes.plot((x, x), (at - 0.05, at + 0.05), color="white", linewidth=3)
                self.axes.plot((x, x), (at - 0.06, at + 0.06), color="black", linewidth=0.9,
                               linestyle=(0, (1, 1.5)))
        for at, gap in self.breaks:
            self.text((EDGE_A + EDGE_B) / 2, at, f"{style.time_text(gap)} later", ha="center",
                      style="italic", color="#404040",
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})
        for index, piece in enumerate(self.below()):
            self.text(left, self.length + 0.14 * (index + 1), piece, color="#404040")

    def words(self):
        last = None
        for line, y in zip(self.lines, self.heights):
            time = f"{line.t_ps / 1e6:.3f}"
            if time != last:
                self.text(TIME_RIGHT, y, time, ha="right", color="#404040")
            last = time
            for index, piece in enumerate(wrapped(line)):
                x, align = ((EDGE_A - 0.07, "right"), (EDGE_B + 0.07, "left"))[line.host]
                self.text(x, y + index * ROW_INCH, piece, ha=align)

    def height_at(self, t_ps):
        """Where a time is; behind the last line one row further down."""
        return float(np.interp(t_ps, [line.t_ps for line in self.lines] + [2 * t_ps + 1],
                               self.heights + [self.heights[-1] + ROW_INCH]))

    def arrows(self):
        starts, ends = {}, {}
        for line, y in zip(self.lines, self.heights):
            if line.phase == "leave":
                starts[line.arrow.frame] = y
            if line.phase is not None:
                ends.setdefault((line.arrow.frame, line.arrow.copy), [line.arrow, None])
            if line.phase == "arrive":
                ends[line.arrow.frame, line.arrow.copy][1] = y
        for arrow, end in ends.values():
            x_from, x_to = (EDGE_A, EDGE_B) if arrow.sender == 0 else (EDGE_B, EDGE_A)
            start = starts[arrow.frame]
            if arrow.copy:  # leaves the other half-way
                middle = (start + ends[arrow.frame, False][1]) / 2
                self.axes.annotate("", (x_to, end), ((x_from + x_to) / 2, middle),
                                   arrowprops={**SHAFT, "arrowstyle": HEAD, "linestyle": "--"})
            else:
                self._arrow(arrow, (x_from, x_to), start, end)

    def _arrow(self, arrow, edges, start, end):
        """One frame; end None: lost, or it arrives below the picture."""
        x_from, x_to = edges
        lost = arrow.arrived_ps is None
        colour = style.COLOURS[1] if arrow.bad or lost else style.COLOURS[0]
        rise = (self.height_at(arrow.due_ps) if end is None else end) - start
        run = x_to - x_from
        reach = LOST_AT if end is None else 1
        self.axes.annotate(
            "", (x_from + reach * run, start + reach * rise), (x_from, start),
            arrowprops={**SHAFT, "arrowstyle": "-" if end is None else HEAD, "color": colour,
                        "linestyle": "--" if lost else "-"})
        if lost:
            self.axes.plot(x_from + reach * run, start + reach * rise, marker="x", markersize=5,
                           color=colour, markeredgewidth=1.4, zorder=6)
        # Along the arrow, near its sender, where no two are on one height; level when it is steep,
        # since the lines of two steep ones would be too close.
        angle = -math.degrees(math.atan2(rise * math.copysign(1, run), abs(run)))
        self.text(x_from + LABEL_AT * run, start + LABEL_AT * rise, arrow.label, ha="center",
                  color=colour, fontsize=SIZE - 0.4, zorder=5,
                  rotation=angle if abs(angle) < LEVEL_FROM else 0, rotation_mode="anchor",
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3})


@style.styled
def build(story):
    """The figure of a story."""
    ladder = Ladder(story)
    ladder.frame()
    ladder.arrows()
    ladder.words()
    return ladder.figure


@style.styled
def draw(story, folder):
    """Write ladder.png and ladder.svg. @return their paths."""
    return style.save(build(story), folder, "ladder")


def main(argv):
    if len(argv) != 2:
        print("usage: picture.py FILE FOLDER", file=sys.stderr)
        return 2
    try:
        print("\n".join(draw(Story(argv[0]), argv[1])))
    except (BadRecords, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
