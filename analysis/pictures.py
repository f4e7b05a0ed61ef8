# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of one run, one thing each: steps, rates with CNPs, queues, pauses, use of links, flows.

Each function returns a figure, or a text that says why there is nothing to draw.
"""

import matplotlib.pyplot as plt
import numpy as np

from analysis import compare, panels, style, timeline

MAX_QUEUES = 3
MAX_PAUSE_ROWS = 48


def _figure(results, heights, **more):
    """A figure with one panel for each height (inches), the run's headline above them."""
    size = (style.WIDTH_INCH, 0.9 + sum(heights) + 0.22 * len(heights))
    figure, axes = plt.subplots(len(heights), 1, height_ratios=heights, layout="constrained",
                                squeeze=False, figsize=size, **more)
    timeline.head(figure, results)
    return figure, axes[:, 0]


def _times(axes, results):
    """Label the time axis of the lowest panel. @return (ps in its unit, span)."""
    span = timeline.time_span(results)
    scale, unit = style.time_unit(span[1])
    axes.set_xlim(span[0], 1.01 * span[1] / scale)
    axes.set_xlabel(f"simulated time ({unit})")
    return scale, span


def steps(results):
    """The steps of a collective, with the end it would have had in an ideal network."""
    table = results.table("steps")
    if table.why is not None:
        return table.why
    ranks = min(len(np.unique(table["rank"])), panels.MAX_ROWS)
    figure, (axes,) = _figure(results, [0.6 + 0.3 * max(ranks, 3) ** 0.9])
    scale, span = _times(axes, results)
    panels.draw_steps(axes, table, scale, span)
    first = (results.summary.get("collectives") or [{}])[0]
    ideal = (first.get("start_ps") or 0) + (first.get("ideal_ps") or 0)
    if 0 < ideal <= span[1]:
        axes.axvline(ideal / scale, color="black", linestyle=(0, (2, 1.5)), linewidth=1.0)
        axes.annotate("ideal end", (ideal / scale, 0), xycoords=("data", "axes fraction"),
                      xytext=(-3, 3),
                      textcoords="offset points", ha="right", va="bottom",
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
    axes.set_ylim(axes.get_ylim()[0] + 0.6, axes.get_ylim()[1])
    return figure


def rates(results):
    """Rate of each queue pair, and when it was told to slow down."""
    table, cnps = results.table("rates"), results.table("cnps")
    if table.why is not None:
        return table.why
    rows = len(np.unique(cnps["qp"])) if cnps.why is None else 0
    lower = 0.4 if rows == 0 else 1.2 if rows > panels.MAX_CNP_ROWS else 0.35 + 0.14 * rows
    figure, axes = _figure(results, [2.4, lower], sharex=True)
    scale, span = _times(axes[-1], results)
    panels.draw_rates(axes[0], table, scale, span)
    if cnps.why is None:
        panels.draw_cnps(axes[1], cnps, scale, span)
    else:
        axes[1].set_title("CNPs received", loc="left")
        style.say_why(axes[1], cnps.why)
    return figure


def queues(results):
    """The longest queues with their thresholds; below, the range of ECN when it cannot be seen."""
    table = results.table("queues")
    if table.why is not None:
        return table.why
    peaks = {}
    for port, prio, value in zip(table["port"], table["class"], table["queue_bytes"]):
        peaks[port, prio] = max(peaks.get((port, prio), 0.0), value)
    longest = sorted(peaks, key=lambda key: (-peaks[key], panels.natural(key[0]), key[1]))
    longest = [key for key in longest if peaks[key] >= 0.1 * peaks[longest[0]]][:MAX_QUEUES]
    kmax = results.parameter("ecn_kmax") or 0.0
    zoom = results.parameter("ecn") != 0 and 0 < kmax < peaks[longest[0]] / 4
    figure, axes = _figure(results, [1.6] * (len(longest) + zoom), sharex=True)
    scale, _ = _times(axes[-1], results)
    for index, (port, prio) in enumerate(longest):
        panels.draw_queue(axes[index], table, scale, results, port, prio)
    if zoom:
        panels.draw_queue(axes[-1], table, scale, results, *longest[0], top=2 * kmax,
                          begin="The range of ECN: ")
    senders = panels.senders_to(results, longest[0][0])
    if results.xoff(0) is not None:
        who = (f"{senders} ports that fill the queue alike" if senders > 1
               else "a port that fills the queue alone")
        where = style.quantity(results.xoff(0, senders), style.BYTE_UNITS)
        axes[-1].set_xlabel(f"{axes[-1].get_xlabel()}\nPFC XOFF, where PFC pauses {who}: {where}")
    return figure


def pauses(results):
    """When each port was told to stop, zoomed to the time in which there were pauses."""
    table = results.table("pauses")
    if table.why is not None:
        return table.why
    rows = sorted({(port, prio) for port, prio in zip(table["port"], table["class"])},
                  key=lambda key: (panels.natural(key[0]), key[1]))
    shown = rows[:MAX_PAUSE_ROWS]
    span = timeline.time_span(results)
    ends = np.where(np.isfinite(table["end_ps"]), table["end_ps"], span[1])
    first, last = float(table["start_ps"].min()), float(ends.max())
    figure, (axes,) = _figure(results, [0.4 + 0.17 * max(len(shown), 3)])
    scale, _ = _times(axes, results)
    if last - first < 0.3 * (span[1] - span[0]):
        room = max(0.05 * (last - first), 1.0)
        scale, unit = style.time_unit(last)
        axes.set_xlim(max(0, first - room) / scale, (last + room) / scale)
        axes.set_xlabel(f"simulated time ({unit}), of {style.time_text(span[1], last)}")
    panels.draw_intervals(axes, table, ends, shown, scale)
    left_out = f" (first {len(shown)} of {len(rows)})" if len(rows) > len(shown) else ""
    axes.set_title(f"Ports paused by PFC: {len(table)} pauses{left_out}", loc="left")
    axes.set_title("pauses, together", loc="right")
    return figure


def links(results):
    """How busy each line was."""
    table = results.table("links")
    if table.why is not None:
        return table.why
    rows = min(len(np.unique(table["port"])), panels.MAX_LINKS)
    figure, (axes,) = _figure(results, [0.4 + (0.22 if rows <= 16 else 0.16) * max(rows, 3)])
    scale, span = _times(axes, results)
    panels.draw_links(axes, table, scale, span)
    return figure


def fct(results):
    """Slowdown of the flows of a run without a collective."""
    if results.summary.get("collectives"):
        return "the run's transfers belong to a collective"
    return compare.slowdowns([("", [[results]])], "\n".join(timeline.headline(results)))


# In the order in which they are told.
PICTURES = {name: style.styled(draw) for name, draw in (
    ("timeline", timeline.draw), ("steps", steps), ("rates", rates), ("queues", queues),
    ("pauses", pauses), ("links", links), ("fct", fct))}
