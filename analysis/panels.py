# SPDX-License-Identifier: GPL-2.0-only
"""Panels: each draws one table into one axes, with time in units of `scale` ps.

The overview and the pictures of one thing each are put together from these.
"""

import re

import numpy as np
from matplotlib.patches import Patch

from analysis import style

MAX_ROWS = 64        # more ranks or flows than that cannot be told apart in print
MAX_LINES = 6        # more QPs than that become a band with its mean
MAX_PAUSED_PORTS = 12
MAX_CNP_ROWS = 32    # more QPs than that become a count in time
MAX_LINKS = 40
LINK_BINS = 250      # of the time axis when a line has more samples; each is a mean


def phase_of(text):
    """'reduce-scatter' or 'all-gather', however the table writes it."""
    return "reduce-scatter" if text.lower().startswith("r") else "all-gather"


def _label_every(steps, span):
    """Number every step, or every 2nd, 5th, ... so that neighbours keep apart."""
    width = np.nanmedian(steps["recv_end_ps"] - steps["send_start_ps"]) / (span[1] - span[0])
    return next((every for every in (1, 2, 5, 10, 20, 50, 100) if width * every > 0.035), 1000)


def draw_steps(axes, steps, scale, span):
    """One row a rank, one bar a step: from its first byte sent until its chunk has come in.

    A rank that comes late posts several steps at once; of each only what follows the end of the
    step before is drawn, so that none hides another.
    """
    ranks = np.unique(steps["rank"])
    shown = ranks[:MAX_ROWS]
    row = {rank: index for index, rank in enumerate(shown)}
    every = _label_every(steps, span)
    looks = {"reduce-scatter": {"facecolor": style.LIGHT, "hatch": style.HATCH},
             "all-gather": {"facecolor": style.DARK}}
    bars, ends = {}, {}
    for index in np.lexsort((steps["step"], steps["rank"])):
        rank = steps["rank"][index]
        start, end = steps["send_start_ps"][index], steps["recv_end_ps"][index]
        if rank not in row or not np.isfinite(start):
            continue
        start = max(start, ends.get(rank, start))
        end = max(start, end) if np.isfinite(end) else span[1]
        ends[rank] = end
        bars.setdefault((row[rank], phase_of(steps["phase"][index])), []).append(
            (start / scale, (end - start) / scale))
        step = int(steps["step"][index])
        if step % every == 0 and len(shown) <= 32 and end - start > 0.02 * (span[1] - span[0]):
            axes.text((start + end) / 2 / scale, row[rank], f"{step}",
                      ha="center", va="center", fontsize=6.5,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
    for (place, phase), spans in bars.items():
        axes.broken_barh(spans, (place - 0.36, 0.72), edgecolor="black", linewidth=0.5,
                         **looks[phase])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    every = 1 if len(shown) <= 20 else 4
    axes.set_yticks(range(0, len(shown), every))
    axes.set_yticklabels([f"{int(rank)}" for rank in shown[::every]])
    axes.set_ylabel("rank")
    left_out = f" (first {len(shown)} of {len(ranks)} ranks)" if len(ranks) > len(shown) else ""
    axes.set_title("Steps of each rank" + left_out, loc="left")
    axes.legend(handles=[Patch(edgecolor="black", linewidth=0.5, label=name, **look)
                         for name, look in looks.items()],
                loc="lower right", bbox_to_anchor=(1.0, 1.0), ncol=2, frameon=False,
                borderaxespad=0.1, handlelength=2.2)


def draw_flows(axes, flows, scale, span):
    """One row a flow: a bar from its start until its last byte was placed."""
    order = np.lexsort((flows["id"], flows["start_ps"]))
    shown = order[:MAX_ROWS]
    for row, index in enumerate(shown):
        start, end = flows["start_ps"][index], flows["end_ps"][index]
        done = np.isfinite(end) and end > 0
        axes.barh(row, ((end if done else span[1]) - start) / scale, left=start / scale,
                  height=0.7, edgecolor="black", linewidth=0.5,
                  facecolor=style.DARK if done else "white", hatch=None if done else style.HATCH)
        again = flows["retransmitted_packets"][index]
        if again > 0 and len(shown) <= 32:
            axes.text(start / scale, row, f" {int(again)} sent again", ha="left", va="center",
                      fontsize=6, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})
    axes.set_ylim(len(shown) - 0.4, -0.6)
    every = 1 if len(shown) <= 20 else 4
    axes.set_yticks(range(0, len(shown), every))
    axes.set_yticklabels([f"{flows['src'][i]} to {flows['dst'][i]}" for i in shown[::every]])
    axes.set_ylabel("flow")
    left_out = f" (first {len(shown)} of {len(order)})" if len(order) > len(shown) else ""
    axes.set_title(f"Flows: start to last byte placed{left_out}; hatched: not complete",
                   loc="left")


def _same_lines(series):
    """Join QPs whose rate is the same at all times: [(names, times, values)]."""
    groups = {}
    for name, (times, values) in series.items():
        groups.setdefault((times.tobytes(), values.tobytes()), []).append(name)
    return [(names, *series[names[0]]) for names in groups.values()]


def wide_axis(axes, least, largest):
    """Set the y axis from 0, or in decades when the values span more than one and a half."""
    if 0 < least < largest / 30:
        axes.set_yscale("log")
        axes.set_ylim(least / 1.5, largest * 1.5)
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
    else:
        axes.set_ylim(0, 1.12 * largest if largest > 0 else 1)


def draw_rates(axes, rates, scale, span):
    """Rate of each QP; equal ones share a line, too many become mean, least and largest."""
    divisor, name = style.unit(np.nanmax(rates["rate_bps"]), style.RATE_UNITS)
    series = {}
    for qp in dict.fromkeys(rates["qp"]):
        part = rates.where(rates["qp"] == qp)
        order = np.argsort(part["time_ps"], kind="stable")
        series[qp] = (part["time_ps"][order], part["rate_bps"][order])
    groups = _same_lines(series)
    if len(groups) <= MAX_LINES:
        for index, (names, times, values) in enumerate(groups):
            times, values = np.append(times, span[1]), np.append(values, values[-1])
            times, values = style.thin(times, values)
            label = (f"QP {names[0]}" if len(names) == 1 else f"all {len(names)} QPs"
                     if len(groups) == 1 else f"{len(names)} QPs as {names[0]}")
            axes.plot(times / scale, values / divisor, drawstyle="steps-post",
                      color=style.COLOURS[index], linestyle=style.LINES[index], label=label)
    else:
        grid = np.linspace(span[0], span[1], 1200)
        table = np.array([values[np.clip(np.searchsorted(times, grid, "right") - 1, 0, None)]
                          for times, values in series.values()]) / divisor
        axes.fill_between(grid / scale, table.min(axis=0), table.max(axis=0), step="post",
                          facecolor=style.LIGHT, edgecolor=style.DARK, linewidth=0.5,
                          label=f"least to largest of {len(series)} QPs")
        axes.plot(grid / scale, table.mean(axis=0), drawstyle="steps-post",
                  color=style.COLOURS[0], label="mean")
    wide_axis(axes, np.nanmin(rates["rate_bps"]) / divisor, np.nanmax(rates["rate_bps"]) / divisor)
    axes.set_ylabel(f"rate ({name})")
    axes.set_title("QP rates", loc="left")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncol=MAX_LINES, frameon=False,
                borderaxespad=0.1, handlelength=2.4, columnspacing=1.0)


def busiest(queues):
    """(port, class) of the queue that was longest at any time."""
    top = int(np.nanargmax(queues["queue_bytes"]))
    return queues["port"][top], queues["class"][top]


def senders_to(results, port):
    """How many hosts send to the host behind a port of the star's switch; 1 when not known."""
    star = ((results.summary.get("parameters") or {}).get("topology") or {}).get("kind")
    number = re.search(r"port (\d+)$", port)
    flows = results.table("flows")
    if not isinstance(star, dict) or star.get("value") != "star" or not number or flows.why:
        return 1
    return max(1, len(np.unique(flows["src"][flows["dst"] == number.group(1)])))


def thresholds(results, port):
    """[(text, bytes)] of what acts on the queue of a switch port, those that the run told."""
    marks = []
    if results.parameter("ecn") != 0:
        marks += [("ECN Kmin", results.parameter("ecn_kmin")),
                  ("ECN Kmax", results.parameter("ecn_kmax"))]
    switch = re.match(r"switch(\d+)", port)
    senders = senders_to(results, port)
    if switch:
        marks.append(("PFC XOFF", results.xoff(int(switch.group(1)), senders)))
    return [(text, value) for text, value in marks if value is not None]


def draw_busiest(axes, queues, scale, results):
    """The queue that was longest."""
    draw_queue(axes, queues, scale, results, *busiest(queues), begin="Busiest queue: ")


def draw_queue(axes, queues, scale, results, port, prio, begin="", top=None):
    """One queue, with the ECN and PFC thresholds that fall into the range.

    `top` ends the axis in bytes; what of the queue lies above is cut off.
    """
    part = queues.where((queues["port"] == port) & (queues["class"] == prio))
    order = np.argsort(part["time_ps"], kind="stable")
    times, values = style.thin(part["time_ps"][order], part["queue_bytes"][order])
    peak = float(np.nanmax(values))
    marks = thresholds(results, port)
    limit = 2.5 * max(peak, 1.0) if top is None else top
    inside = [mark for mark in marks if mark[1] <= limit]
    if top is None:
        top = 1.18 * max([peak, 1.0] + [value for _, value in inside])
    divisor, name = style.unit(top, style.BYTE_UNITS)
    axes.fill_between(times / scale, values / divisor, step="post", facecolor=style.LIGHT,
                      edgecolor=style.COLOURS[0], linewidth=0.7)
    for index, (text, value) in enumerate(inside):
        axes.axhline(value / divisor, color="black", linewidth=0.8,
                     linestyle=style.LINES[1 + index % 3],
                     label=f"{text} {style.quantity(value, style.BYTE_UNITS)}")
    above = [f"{text} {style.quantity(value, style.BYTE_UNITS)}" for text, value in marks
             if (text, value) not in inside]
    axes.set_ylim(0, top / divisor)
    axes.set_ylabel(f"queue ({name})")
    height = style.quantity(peak, style.BYTE_UNITS)
    title = begin + port + ("\n" if len(inside) > 2 else " ") + f"class {int(prio)}, peak {height}"
    # Thresholds out of reach are told where the legend would be, when it has no entry.
    if above and not inside:
        title += f"\nabove the range: {', '.join(above)}"
    axes.set_title(title, loc="left")
    if inside:
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncol=3, frameon=False,
                    borderaxespad=0.1, handlelength=2.6, columnspacing=1.2)


def natural(name):
    """Sort key that puts host10 after host9."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def draw_cnps(axes, cnps, scale, span):
    """A row of marks a queue pair, one for each CNP its sender received; many QPs: how many."""
    names = sorted(np.unique(cnps["qp"]), key=natural)
    if len(names) <= MAX_CNP_ROWS:
        rows = [cnps["time_ps"][cnps["qp"] == name] / scale for name in names]
        axes.eventplot(rows, lineoffsets=range(len(names)), linelengths=0.75, linewidths=0.6,
                       colors="black")
        axes.set_ylim(len(names) - 0.4, -0.6)
        every = 1 if len(names) <= 16 else 4
        axes.set_yticks(range(0, len(names), every))
        axes.set_yticklabels(names[::every])
        axes.set_ylabel("QP")
    else:
        edges = np.linspace(span[0], span[1], 101)
        counts, _ = np.histogram(cnps["time_ps"], edges)
        axes.stairs(counts, edges / scale, fill=True, facecolor=style.DARK, edgecolor="black",
                    linewidth=0.5)
        axes.set_ylabel("CNPs")
    each = style.quantity((span[1] - span[0]) / 100, style.TIME_UNITS)
    what = "" if len(names) <= MAX_CNP_ROWS else f", counted every {each}"
    axes.set_title(f"CNPs received: {len(cnps)}, by {len(names)} QPs{what}", loc="left")


def _busy_rows(links):
    """[(mean share, port, times, shares)] of the ports that sent most, in the order of their names.

    A row of the table says how busy the port was in the sample that ends there; rows that say the
    same as the one before are left out.
    """
    rows = []
    last = links["time_ps"].max()
    period = np.diff(np.unique(np.append(0, links["time_ps"]))).min()
    for port in np.unique(links["port"]):
        part = links.where(links["port"] == port)
        order = np.argsort(part["time_ps"], kind="stable")
        times = np.append(part["time_ps"][order] - period, last)
        times[0] = min(times[0], 0)
        shares = np.append(part["busy_ratio"][order], part["busy_ratio"][order][-1])
        mean = float(np.sum(np.diff(times) * shares[:-1]) / (times[-1] - times[0]))
        rows.append((mean, port, times, shares))
    rows.sort(key=lambda row: (-row[0], natural(row[1])))
    return sorted(rows[:MAX_LINKS], key=lambda row: natural(row[1]))


def draw_links(axes, links, scale, span):
    """A row a port: how busy its line is, from empty to full, with its mean on the right."""
    rows = _busy_rows(links)
    for index, (mean, _, times, shares) in enumerate(rows):
        if len(times) > LINK_BINS:
            edges = np.linspace(times[0], times[-1], LINK_BINS + 1)
            times, shares = edges, style.binned(times, shares, edges)
            shares = np.append(shares, shares[-1])
        axes.fill_between(times / scale, index + 0.4, index + 0.4 - 0.8 * shares, step="post",
                          facecolor=style.DARK, edgecolor="none")
        axes.axhline(index + 0.4, color="black", linewidth=0.3)
        axes.text(1.01, index, f"{mean:.1%}", transform=axes.get_yaxis_transform(), va="center",
                  fontsize=7.5)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)))
    axes.set_yticklabels([row[1] for row in rows])
    total = len(np.unique(links["port"]))
    left_out = f"; the {len(rows)} busiest of {total}" if total > len(rows) else ""
    axes.set_title(f"Use of each port's line, row height: 0 to 100 %{left_out}", loc="left")
    axes.set_title("mean", loc="right")


def paused_ports(pauses):
    """Ports with the longest pause first, at most MAX_PAUSED_PORTS of them."""
    length = {}
    for port, start, end in zip(pauses["port"], pauses["start_ps"], pauses["end_ps"]):
        length[port] = length.get(port, 0.0) + max(0.0, np.nan_to_num(end - start))
    return sorted(length, key=lambda port: (-length[port], port))[:MAX_PAUSED_PORTS]


def _bars(axes, row, starts, ends, scale):
    axes.broken_barh([(start / scale, (end - start) / scale) for start, end in zip(starts, ends)],
                     (row - 0.36, 0.72), facecolor="black", edgecolor="black", linewidth=0.3)


def draw_intervals(axes, pauses, ends, rows, scale):
    """One row a (port, class): when it was paused; on the right how often and how long."""
    classes = len({prio for _, prio in rows})
    for row, (port, prio) in enumerate(rows):
        keep = (pauses["port"] == port) & (pauses["class"] == prio)
        _bars(axes, row, pauses["start_ps"][keep], ends[keep], scale)
        total = style.quantity(np.sum(ends[keep] - pauses["start_ps"][keep]), style.TIME_UNITS)
        axes.text(1.01, row, f"{np.sum(keep)}, {total}", transform=axes.get_yaxis_transform(),
                  va="center", fontsize=7.5)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)))
    axes.set_yticklabels([f"{port} class {int(prio)}" if classes > 1 else port
                          for port, prio in rows])


def draw_pauses(axes, pauses, scale, span):
    """One row a port: when a class of it was paused by its neighbour."""
    ports = paused_ports(pauses)
    for row, port in enumerate(ports):
        part = pauses.where(pauses["port"] == port)
        ends = np.where(np.isfinite(part["end_ps"]), part["end_ps"], span[1])
        _bars(axes, row, part["start_ps"], ends, scale)
    axes.set_ylim(len(ports) - 0.4, -0.6)
    axes.set_yticks(range(len(ports)))
    axes.set_yticklabels(ports)
    total = len(np.unique(pauses["port"]))
    left_out = f" (the {len(ports)} paused longest of {total})" if total > len(ports) else ""
    axes.set_title(f"Ports paused by PFC: {len(pauses)} pauses{left_out}", loc="left")
