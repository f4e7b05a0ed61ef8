# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of the seeds of one run: mean and 95 % interval over time, and of every measure."""

import matplotlib.pyplot as plt
import numpy as np

from analysis import collect, compare, panels, stats, style, timeline

BINS = 150  # of the time axis; each is a mean over its time, then over the seeds


def _series(table, column, keep):
    part = table.where(keep)
    order = np.argsort(part["time_ps"], kind="stable")
    return part["time_ps"][order], part[column][order]


def _band(axes, index, rows, edges, divisor, scale, label):
    """Mean over the seeds with its interval as a band between thin lines."""
    pairs = [stats.mean_interval(column) for column in np.array(rows).T]
    means = np.array([mean for mean, _ in pairs]) / divisor
    halves = np.array([half for _, half in pairs]) / divisor
    middle = (edges[:-1] + edges[1:]) / 2 / scale
    axes.fill_between(middle, np.maximum(means - halves, 0), means + halves, alpha=0.25,
                      facecolor=style.COLOURS[index], edgecolor=style.COLOURS[index],
                      linewidth=0.4)
    axes.plot(middle, means, color=style.COLOURS[index], linestyle=style.LINES[index],
              label=label)


def _rates(axes, tables, edges, scale):
    """Each queue pair; many of them as their sum."""
    names = sorted({name for table in tables for name in table["qp"]}, key=panels.natural)
    rows = {name: [style.binned(*_series(table, "rate_bps", table["qp"] == name), edges)
                   for table in tables if np.any(table["qp"] == name)] for name in names}
    if len(names) > panels.MAX_LINES:
        rows = {f"mean of {len(names)} QPs": np.mean(list(rows.values()), axis=0)}
    largest = max(np.max(each) for each in rows.values())
    divisor, unit = style.unit(largest, style.RATE_UNITS)
    for index, (name, values) in enumerate(rows.items()):
        _band(axes, index, values, edges, divisor, scale,
              name if name.startswith("mean") else f"QP {name}")
    axes.set_ylim(0, 1.12 * largest / divisor)
    axes.set_ylabel(f"rate ({unit})")
    axes.set_title("QP rates", loc="left")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncol=panels.MAX_LINES,
                frameon=False, borderaxespad=0.1, handlelength=2.4, columnspacing=1.0)


def _queue(axes, tables, edges, scale):
    """The queue that was longest in any seed."""
    port, prio = panels.busiest(max(tables, key=lambda table: np.nanmax(table["queue_bytes"])))
    rows = []
    for table in tables:
        keep = (table["port"] == port) & (table["class"] == prio)
        rows.append(style.binned(*_series(table, "queue_bytes", keep), edges) if np.any(keep)
                    else np.zeros(len(edges) - 1))
    largest = max(np.max(rows), 1.0)
    divisor, unit = style.unit(largest, style.BYTE_UNITS)
    _band(axes, 0, rows, edges, divisor, scale, "")
    axes.set_ylim(0, 1.12 * largest / divisor)
    axes.set_ylabel(f"queue ({unit})")
    axes.set_title(f"Busiest queue: {port} class {int(prio)}", loc="left")


@style.styled
def _over_time(runs):
    """QP rates and the busiest queue over time."""
    span = (0.0, max(timeline.time_span(run.results)[1] for run in runs))
    edges = np.linspace(*span, BINS + 1)
    scale, unit = style.time_unit(span[1])
    figure, axes = plt.subplots(2, 1, sharex=True, layout="constrained",
                                figsize=(style.WIDTH_INCH, 4.6))
    for each, name, draw in ((axes[0], "rates", _rates), (axes[1], "queues", _queue)):
        tables = [run.results.table(name) for run in runs]
        full = [table for table in tables if table.why is None]
        if full:
            draw(each, full, edges, scale)
        else:
            style.say_why(each, tables[0].why)
    axes[1].set_xlabel(f"simulated time ({unit}), in {BINS} bins")
    axes[1].set_xlim(0, 1.01 * span[1] / scale)
    figure.suptitle(f"{runs[0].results.name}: mean and 95 % interval of {len(runs)} seeds",
                    x=0.01, ha="left")
    return figure


def figures(folder):
    """{name: figure or why there is none} of a folder with seeds."""
    runs, _ = collect.find([folder])
    return {"seeds": _over_time(runs), **compare.figures(runs)}
