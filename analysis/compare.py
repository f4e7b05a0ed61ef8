# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of many runs: all-reduce time and bus bandwidth, slowdown of flows, measures.

Repeats with other seeds become a mean and its 95 % interval (Student's t).
"""

import textwrap

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullFormatter, NullLocator

from analysis import collect, stats, style
from analysis.collect import BYTES, HOSTS

MAX_LINES = len(style.LINES)
MAX_SIZES = 10       # more sizes of flows than that become bins with as many flows each
PERCENTILES = ((50, "median"), (95, "95th percentile"), (99, "99th percentile"))
# Broad and light, so that it is seen below a line that runs on it.
IDEAL = {"color": "#c4c4c4", "linewidth": 4.5, "zorder": 1, "solid_capstyle": "butt"}


# ---- values over a key ----

def axis_key(groups):
    """The key that becomes the x axis when neither size nor hosts do: the first with numbers."""
    for key in groups[0].keys:
        entries = {group.keys[key] for group in groups}
        if len(entries) > 1 and all(collect.is_number(entry) for entry in entries):
            return key
    return None


def varies(groups, key):
    entries = {group.keys.get(key) for group in groups}
    return len(entries) > 1 and all(collect.is_number(entry) for entry in entries)


def lines_over(groups, key):
    """[(label, [(x, group)])] of at most MAX_LINES lines, and how many there are."""
    lines = {}
    for group in groups:
        lines.setdefault(group.without(key), []).append((group.keys[key][0], group))
    seen = list(lines)
    chosen = sorted(seen, key=lambda keys: [
        entry[0] if collect.is_number(entry) else seen.index(keys) for _, entry in keys])
    if len(chosen) > MAX_LINES:
        places = np.linspace(0, len(chosen) - 1, MAX_LINES).round().astype(int)
        chosen = [chosen[place] for place in places]
    return [(collect.label(keys), sorted(lines[keys], key=lambda point: point[0]))
            for keys in chosen], len(lines)


def _interval(group, value):
    """(mean, half width) of value(run) over the repeats that have one, None when none has."""
    values = [value(run) for run in group.runs]
    values = [each for each in values if each is not None]
    return stats.mean_interval(values) if values else None


def _plot(axes, index, points, value, divisor, label):
    """One line with markers and intervals. @return whether it has any point."""
    found = [(x, _interval(group, value)) for x, group in points]
    found = [(x, *pair) for x, pair in found if pair is not None]
    if not found:
        return False
    xs, means, halves = (np.array(column, dtype=float) for column in zip(*found))
    axes.errorbar(xs, means / divisor, yerr=halves / divisor if halves.any() else None,
                  color=style.COLOURS[index], linestyle=style.LINES[index],
                  marker=style.MARKERS[index], markersize=4, fillstyle="none", capsize=2.5,
                  label=label)
    return True


def _x_axis(axes, key, values, unit):
    """Ticks at values that were run, few enough to be read."""
    values = sorted(values)
    logarithmic = values[0] > 0 and values[-1] >= 8 * values[0]
    if logarithmic:
        axes.set_xscale("log", base=2)
    axes.xaxis.set_minor_locator(NullLocator())
    keep, places = [], np.log2(values) if logarithmic else np.array(values, dtype=float)
    texts = [collect.value_text(value, unit) for value in values]
    room = 0.17 if max(map(len, texts)) > 4 else 0.09
    for index, place in enumerate(places):
        if not keep or place - places[keep[-1]] >= room * (places[-1] - places[0]):
            keep.append(index)
    axes.set_xticks([values[index] for index in keep], [texts[index] for index in keep])
    axes.set_xlabel("size of the array" if key == BYTES else collect.key_text(key))


def _legend(figure, axes):
    """One legend below the panels, each entry once."""
    handles, labels = [], []
    for each in axes:
        for handle, text in zip(*each.get_legend_handles_labels()):
            if text not in labels:
                handles.append(handle)
                labels.append(text)
    if labels:
        # What all lines are measured against comes last.
        order = sorted(range(len(labels)),
                       key=lambda place: labels[place] in ("ideal", "line rate"))
        handles, labels = [handles[place] for place in order], [labels[place] for place in order]
        columns = max(1, min(len(labels), 110 // (max(map(len, labels)) + 8)))
        share = (0.08 + 0.17 * -(-len(labels) // columns)) / figure.get_figheight()
        figure.get_layout_engine().set(rect=(0, share, 1, 1 - share))
        figure.legend(handles, labels, loc="lower left", ncol=columns, frameon=False,
                      handlelength=3.2, borderaxespad=0.2, borderpad=0.2)


def _repeats(groups):
    """What a mark stands for."""
    counts = {len(group.runs) for group in groups}
    if counts == {1}:
        return "one run each"
    span = f"{min(counts)}" if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    return f"mean and 95 % interval of {span} seeds"


def _names(groups):
    """The scenarios in question, and what all runs have in common."""
    names = dict.fromkeys(run.results.name for group in groups for run in group.runs)
    return ", ".join(list(names)[:4]) + (" and more" if len(names) > 4 else "")


# ---- all-reduce ----

def _time(run):
    return run.collective.get("time_ps")


def _ideal(run):
    return run.collective.get("ideal_ps")


def _bandwidth(run):
    return run.collective.get("busbw_bps")


def _ideal_bandwidth(run):
    """Bus bandwidth of the ideal time: the definition of summary.json with another time."""
    ideal, ranks = run.collective.get("ideal_ps"), run.collective.get("ranks")
    if not ideal:
        return None
    return 8e12 * run.collective["bytes"] / ideal * 2 * (ranks - 1) / ranks


def _line_rate(axes, groups):
    """Draw the links' rate when all runs have the same. @return it in bits a second, or 0."""
    rates = {run.parameters.get("topology.rate", (None,))[0] for group in groups
             for run in group.runs}
    rate = rates.pop() if len(rates) == 1 else None
    if rate:
        axes.axhline(rate / 1e9, color="black", linewidth=0.7, linestyle=":", label="line rate")
    return rate or 0.0


@style.styled
def allreduce(groups, key):
    """Completion time and bus bandwidth over a key with numbers, with the ideal."""
    lines, total = lines_over(groups, key)
    figure, (left, right) = plt.subplots(1, 2, layout="constrained",
                                         figsize=(style.WIDTH_INCH, 3.2))
    times = [_interval(group, _time) for group in groups]
    divisor, unit = style.time_unit(max(pair[0] for pair in times if pair))
    for index, (label, points) in enumerate(lines):
        for axes, value, ideal, scale in ((left, _time, _ideal, divisor),
                                          (right, _bandwidth, _ideal_bandwidth, 1e9)):
            found = [(x, ideal(group.runs[0])) for x, group in points]
            found = [(x, best / scale) for x, best in found if best]
            if found:
                axes.plot(*zip(*found), label="ideal", **IDEAL)
            _plot(axes, index, points, value, scale, label or "simulated")
    left.set_yscale("log")
    left.yaxis.set_major_formatter("{x:g}")
    left.yaxis.set_minor_formatter(NullFormatter())
    left.set_ylabel(f"completion time ({unit})")
    left.set_title("All-reduce completion time", loc="left")
    right.set_ylabel("bus bandwidth (Gb/s)")
    right.set_title("Bus bandwidth", loc="left")
    best = max([_line_rate(right, groups) / 1e9, right.get_ylim()[1]])
    right.set_ylim(0, 1.08 * best)
    entries = {x for _, points in lines for x, _ in points}
    of_unit = next(group.keys[key][1] for group in groups)
    for axes in (left, right):
        _x_axis(axes, key, entries, of_unit)
    shown = f"; {len(lines)} of {total} lines" if total > len(lines) else ""
    figure.suptitle(f"{_names(groups)}: all-reduce, {_repeats(groups)}{shown}", x=0.01,
                    ha="left")
    _legend(figure, (left, right))
    return figure


# ---- anything over a key, or side by side ----

def _rows(axes, groups, value, divisor, ideal=None):
    """A bar a group, for runs that differ in no number."""
    for row, group in enumerate(groups):
        pair = _interval(group, value)
        if pair is None:
            continue
        axes.barh(row, pair[0] / divisor, height=0.6, facecolor=style.LIGHT, edgecolor="black",
                  linewidth=0.6, hatch=style.HATCHES[row % len(style.HATCHES)],
                  xerr=pair[1] / divisor if pair[1] else None, capsize=2.5,
                  error_kw={"linewidth": 0.9})
        if pair[1]:
            values = [value(run) for run in group.runs]
            axes.plot([each / divisor for each in values if each is not None],
                      [row] * sum(each is not None for each in values), linestyle="none",
                      marker="x", markersize=3.5, color="black", label="one seed")
        if ideal is not None and ideal(group.runs[0]):
            axes.plot([ideal(group.runs[0]) / divisor] * 2, [row - 0.42, row + 0.42],
                      label="ideal", color="black", linewidth=1.2, linestyle=(0, (2, 1)))
    axes.set_ylim(len(groups) - 0.4, -0.6)
    labels = [collect.label(tuple(group.keys.items())) or "all seeds" for group in groups]
    axes.set_yticks(range(len(groups)), ["\n".join(textwrap.wrap(text, 24)) for text in labels])


@style.styled
def allreduce_rows(groups):
    """Completion time and bus bandwidth of runs that differ in no number."""
    figure, (left, right) = plt.subplots(
        1, 2, sharey=True, layout="constrained",
        figsize=(style.WIDTH_INCH, 1.4 + 0.36 * len(groups)))
    times = [_interval(group, _time) for group in groups]
    divisor, unit = style.time_unit(max(pair[0] for pair in times if pair))
    _rows(left, groups, _time, divisor, _ideal)
    _rows(right, groups, _bandwidth, 1e9, _ideal_bandwidth)
    left.set_xlabel(f"completion time ({unit})")
    right.set_xlabel("bus bandwidth (Gb/s)")
    figure.suptitle(f"{_names(groups)}: all-reduce, {_repeats(groups)}", x=0.01, ha="left")
    _legend(figure, (left, right))
    return figure


def _measure(name):
    return lambda run: (run.results.summary.get("measures") or {}).get(name)


def _measure_unit(groups, name):
    """(divisor, unit) of a measure: rates and queues have units of their own."""
    values = [_interval(group, _measure(name)) for group in groups]
    largest = max([abs(pair[0]) for pair in values if pair] + [0])
    run = groups[0].runs[0].results.summary
    about = ((run.get("parameters") or {}).get("measures") or {}).get(name) or {}
    kind = (about.get("kind") or {}).get("value")
    units = {"rate": style.RATE_UNITS, "queue": style.BYTE_UNITS}.get(kind)
    return style.unit(largest, units) if units else (1.0, "")


@style.styled
def measures(groups):
    """Every [[measure]] of the scenarios, over the first key with numbers or side by side."""
    names = list(dict.fromkeys(name for group in groups for run in group.runs
                               for name in run.results.summary.get("measures") or {}))
    if not names:
        return "no run has a [[measure]]"
    key = axis_key(groups)
    high = 2.0 if key else 0.7 + 0.36 * len(groups)
    figure, panels = plt.subplots(len(names), 1, layout="constrained", squeeze=False,
                                  figsize=(style.WIDTH_INCH, 0.8 + high * len(names)))
    for axes, name in zip(panels[:, 0], names):
        divisor, unit = _measure_unit(groups, name)
        what = f"{name} ({unit})" if unit else name
        if key is None:
            _rows(axes, groups, _measure(name), divisor)
            axes.set_xlabel(what)
            continue
        lines, _ = lines_over(groups, key)
        for index, (label, points) in enumerate(lines):
            _plot(axes, index, points, _measure(name), divisor, label or "simulated")
        _x_axis(axes, key, {group.keys[key][0] for group in groups},
                groups[0].keys[key][1])
        axes.set_ylim(0, 1.12 * max(axes.get_ylim()[1], 1e-9))
        axes.set_ylabel(what)
        if axes is not panels[-1, 0]:
            axes.set_xlabel("")
    figure.suptitle(f"{_names(groups)}: measures, {_repeats(groups)}", x=0.01, ha="left")
    if key is None or len(lines) > 1:
        _legend(figure, panels[:, 0])
    return figure


# ---- slowdown of flows ----

def _flows(runs):
    """(bytes, slowdown) of the flows of some runs that ended; none of a collective."""
    sizes, values = [np.array([])], [np.array([])]
    for results in runs:
        table = results.table("flows")
        if table.why is None and not results.summary.get("collectives"):
            ended = np.isfinite(table["slowdown"])
            sizes.append(table["bytes"][ended])
            values.append(table["slowdown"][ended])
    return np.concatenate(sizes), np.concatenate(values)


def size_bins(sizes):
    """[(least, largest)] of each bin: the sizes themselves, or bins with as many flows each."""
    distinct = np.unique(sizes)
    if len(distinct) <= MAX_SIZES:
        return [(size, size) for size in distinct]
    edges = sorted({stats.percentile(sizes, 100 * (index + 1) / MAX_SIZES)
                    for index in range(MAX_SIZES)})
    return list(zip([distinct[0]] + [distinct[distinct > edge][0] for edge in edges[:-1]], edges))


def _by_size(axes, index, repeats, bins, percent, shift, label):
    """Percentile of each bin: mean and interval over the repeats."""
    found = []
    for place, (least, largest) in enumerate(bins):
        values = [stats.percentile(slowdowns[(sizes >= least) & (sizes <= largest)], percent)
                  for sizes, slowdowns in repeats
                  if np.any((sizes >= least) & (sizes <= largest))]
        if values:
            found.append((place + shift, *stats.mean_interval(values)))
    xs, means, halves = (np.array(column) for column in zip(*found))
    axes.errorbar(xs, means, yerr=halves if halves.any() else None, color=style.COLOURS[index],
                  linestyle=style.LINES[index], marker=style.MARKERS[index], markersize=4,
                  fillstyle="none", capsize=2.5, label=label)


def _cdf(axes, index, repeats, label):
    values = np.sort(np.concatenate([slowdowns for _, slowdowns in repeats]))
    shares = np.arange(1, len(values) + 1) / len(values)
    values, shares = np.append(values[0], values), np.append(0, shares)
    if len(values) > 4000:
        keep = np.unique(np.linspace(0, len(values) - 1, 4000).astype(int))
        values, shares = values[keep], shares[keep]
    axes.plot(values, shares, drawstyle="steps-post", color=style.COLOURS[index],
              linestyle=style.LINES[index], label=label)
    # A mark at each tenth tells lines apart where they run close together.
    marks = [stats.percentile(values[1:], percent) for percent in range(10, 100, 20)]
    axes.plot(marks, np.arange(0.1, 1, 0.2), linestyle="none", color=style.COLOURS[index],
              marker=style.MARKERS[index], markersize=4, fillstyle="none")


def _wide(axes, values, name):
    """Decades on an axis whose values span more than one."""
    if max(values) > 10 * min(values):
        getattr(axes, f"set_{name}scale")("log")
        axis = getattr(axes, name + "axis")
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())


@style.styled
def slowdowns(series, title):
    """CDF of the slowdown, and median, 95th and 99th percentile by size of the flow.

    series: [(label, [list of Results of each repeat])]
    """
    series = [(label, [_flows(runs) for runs in repeats]) for label, repeats in series]
    series = [(label, [pair for pair in repeats if len(pair[0])]) for label, repeats in series]
    series = [(label, repeats) for label, repeats in series if repeats]
    if not series:
        return "no flow outside a collective has ended"
    left_out = len(series) - MAX_LINES
    series = series[:MAX_LINES]
    sizes = np.concatenate([pair[0] for _, repeats in series for pair in repeats])
    values = np.concatenate([pair[1] for _, repeats in series for pair in repeats])
    bins = size_bins(sizes)
    figure = plt.figure(layout="constrained", figsize=(style.WIDTH_INCH, 4.6))
    grid = figure.add_gridspec(2, len(PERCENTILES))
    top = figure.add_subplot(grid[0, :])
    lower = [figure.add_subplot(grid[1, 0])]
    lower += [figure.add_subplot(grid[1, place], sharey=lower[0])
              for place in range(1, len(PERCENTILES))]
    for index, (label, repeats) in enumerate(series):
        _cdf(top, index, repeats, label or "flows")
        shift = 0.12 * (index - (len(series) - 1) / 2)
        for axes, (percent, _) in zip(lower, PERCENTILES):
            _by_size(axes, index, repeats, bins, percent, shift, label or "flows")
    top.set_title(f"Completion time over that of the flow alone in the network, "
                  f"{len(values)} flows", loc="left")
    top.set_xlabel("slowdown")
    top.set_ylabel("share of flows")
    top.set_ylim(0, 1.02)
    _wide(top, values, "x")
    _wide(lower[0], values, "y")
    for axes, (_, name) in zip(lower, PERCENTILES):
        axes.set_title(name, loc="left")
        _size_axis(axes, bins)
    for axes in lower[1:]:
        axes.tick_params(labelleft=False)
    lower[0].set_ylabel("slowdown")
    counts = [int(np.sum((sizes >= least) & (sizes <= largest))) for least, largest in bins]
    lower[1].set_xlabel(f"size of the flow; percentiles by {stats.METHOD}, "
                        f"{min(counts)} or more flows each")
    more = f"; {left_out} more not shown" if left_out > 0 else ""
    figure.suptitle(title + more, x=0.01, ha="left")
    if len(series) > 1 or series[0][0]:
        _legend(figure, [top])
    return figure


def _size_axis(axes, bins):
    every = -(-len(bins) // 3)
    exact = all(least == largest for least, largest in bins)
    texts = [style.size_text(largest) if exact else f"to {style.about(largest)}"
             for _, largest in bins]
    axes.set_xticks(range(0, len(bins), every), texts[::every])
    axes.set_xlim(-0.6, len(bins) - 0.4)


# ---- all of it ----

def figures(runs):
    """{name: figure, or a text that says why there is none} of a comparison."""
    made = {}
    rings = collect.groups([run for run in runs if run.collective.get("time_ps")])
    flows = [run for run in runs if not run.collective]
    if rings:
        over = [(name, key) for name, key in (("allreduce-by-size", BYTES),
                                              ("allreduce-by-hosts", HOSTS)) if varies(rings, key)]
        other = axis_key(rings)
        if over:
            made.update((name, allreduce(rings, key)) for name, key in over)
        elif other is not None:
            made["allreduce"] = allreduce(rings, other)
        else:
            made["allreduce"] = allreduce_rows(rings)
    if flows:
        # Runs that differ in the size of their flows are one line over that size.
        lines = {}
        together = collect.groups(flows)
        for group in together:
            by_seed = lines.setdefault(group.without(BYTES), {})
            for run in group.runs:
                by_seed.setdefault(run.seed, []).append(run.results)
        title = f"{_names(together)}: slowdown of flows, {_repeats(together)}"
        made["fct"] = slowdowns([(collect.label(keys), list(by_seed.values()))
                                 for keys, by_seed in lines.items()], title)
    made["measures"] = measures(collect.groups(runs))
    return made
