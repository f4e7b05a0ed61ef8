# SPDX-License-Identifier: GPL-2.0-only
"""The ladder as text for a terminal of 100 columns: host a, the line, host b; time goes down.

An arrow that leaves starts at its host's edge, one that arrives ends at the other's.
"""

import textwrap

from analysis.play.story import wrap

COLUMNS = 100
TIME = 11       # us with three decimals, one blank behind it
LINE_MIN, LINE_MAX = 28, 42


def _arrow(line, width):
    """The part of an arrow between the two edges."""
    arrow = line.arrow
    if arrow is None:
        return " " * width
    text = f" {arrow.label} "
    right = arrow.sender == 0
    if line.phase == "leave":
        free = width - len(text) - 5
        head = "X" if arrow.arrived_ps is None else ">" if right else "<"
        shaft = "-" * max(1, min(6, free // 2))
        drawn = f"--{text}{shaft}{head}" if right else f"{head}{shaft}{text}--"
        return drawn.ljust(width) if right else drawn.rjust(width)
    free = width - len(text) - 4
    shaft = "-" * max(1, min(6, free // 2))
    drawn = f"{shaft}{text}-->" if right else f"<--{text}{shaft}"
    return drawn.rjust(width) if right else drawn.ljust(width)


def lines(story):
    """The whole ladder, a list of lines."""
    longest = max((len(arrow.label) for arrow in story.arrows.values()), default=0)
    middle = min(max(longest + 8, LINE_MIN), LINE_MAX)
    a_side = (COLUMNS - TIME - middle - 4) // 2 - 3  # host b has more to say
    b_side = COLUMNS - TIME - middle - 4 - a_side
    out = [story.title()] + textwrap.wrap(story.note(), COLUMNS) + [""]
    head = "line: opcode PSN flags"
    out.append(f"{'time us':>{TIME - 1}} {'host a':{a_side}} |{head:^{middle}}| host b".rstrip())
    for line in story.lines:
        time = f"{line.t_ps / 1e6:.3f}"
        for index, piece in enumerate(wrap(line.words, (a_side, b_side)[line.host])):
            drawn = _arrow(line, middle) if index == 0 else " " * middle
            left, right = (piece, "") if line.host == 0 else ("", piece)
            out.append(f"{time:>{TIME - 1}} {left:{a_side}} |{drawn}| {right}".rstrip())
            time = ""
    out += ["", *textwrap.wrap(story.summary(), COLUMNS)]
    if story.legend():
        out.append(story.legend())
    return out
