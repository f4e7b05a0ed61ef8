# SPDX-License-Identifier: GPL-2.0-only
"""The picture a run ends with: who sent when, QP rates below it, the busiest queue below that."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Patch

from analysis import style

MAX_ROWS = 64        # more ranks or flows than that cannot be told apart in print
MAX_LINES = 6        # more QPs than that become a band with its mean
MAX_PAUSED_PORTS = 12


# ---- panels: each draws one table into one axes, time in units of `scale` ps ----

def phase_of(text):
    """'reduce-scatter' or 'all-gather', however the table writes it."""
    return "reduce-scatter" if text.lower().startswith("r") else "all-gather"


def _label_every(steps, span):
    """Number every step, or every 2nd, 5th, ... so that neighbours keep apart."""
    width = np.nanmedian(steps["recv_end_ps"] - steps["send_start_ps"]) / (span[1] - span[0])
    return next((every for every in (1, 2, 5, 10, 20, 50, 100) if width * every > 0.035), 1000)


def draw_steps(axes, steps, scale, span):
    """One row a rank, one bar a step: from its first byte sent until its chunk has come in."""
    ranks = np.unique(steps["rank"])
    shown = ranks[:MAX_ROWS]
    row = {rank: index for index, rank in enumerate(shown)}
    every = _label_every(steps, span)
    looks = {"reduce-scatter": {"facecolor": style.LIGHT, "hatch": style.HATCH},
             "all-gather": {"facecolor": style.DARK}}
    for index in range(len(steps)):
        rank = steps["rank"][index]
        start, end = steps["send_start_ps"][index], steps["recv_end_ps"][index]
        if rank not in row or not np.isfinite(start):
            continue
        end = max(start, end) if np.isfinite(end) else span[1]
        axes.barh(row[rank], (end - start) / scale, left=start / scale, height=0.72,
                  edgecolor="black", linewidth=0.5, **looks[phase_of(steps["phase"][index])])
        step = int(steps["step"][index])
        if step % every == 0 and len(shown) <= 32:
            axes.text((start + end) / 2 / scale, row[rank], f"{step}",
                      ha="center", va="center", fontsize=6.5,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
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
    axes.set_ylim(0, 1.12 * np.nanmax(rates["rate_bps"]) / divisor)
    axes.set_ylabel(f"rate ({name})")
    axes.set_title("QP rates", loc="left")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncol=MAX_LINES, frameon=False,
                borderaxespad=0.1, handlelength=2.4, columnspacing=1.0)


def busiest(queues):
    """(port, class) of the queue that was longest at any time."""
    top = int(np.nanargmax(queues["queue_bytes"]))
    return queues["port"][top], queues["class"][top]


def draw_queue(axes, queues, scale, results):
    """The queue that was longest, with the ECN and PFC thresholds that fall into the range."""
    port, prio = busiest(queues)
    part = queues.where((queues["port"] == port) & (queues["class"] == prio))
    order = np.argsort(part["time_ps"], kind="stable")
    times, values = style.thin(part["time_ps"][order], part["queue_bytes"][order])
    peak = float(np.nanmax(values))
    marks = [(text, value) for text, value in (
        ("ECN Kmin", results.parameter("ecn_kmin")), ("ECN Kmax", results.parameter("ecn_kmax")),
        ("PFC XOFF", results.parameter("xoff"))) if value is not None]
    inside = [mark for mark in marks if mark[1] <= 2.5 * max(peak, 1.0)]
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
    title = f"Busiest queue: {port} class {int(prio)}, peak {height}"
    if above:
        title += f"; above the range: {', '.join(above)}"
    axes.set_title(title, loc="left")
    if inside:
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncol=3, frameon=False,
                    borderaxespad=0.1, handlelength=2.6, columnspacing=1.2)


def paused_ports(pauses):
    """Ports with the longest pause first, at most MAX_PAUSED_PORTS of them."""
    length = {}
    for port, start, end in zip(pauses["port"], pauses["start_ps"], pauses["end_ps"]):
        length[port] = length.get(port, 0.0) + max(0.0, np.nan_to_num(end - start))
    return sorted(length, key=lambda port: (-length[port], port))[:MAX_PAUSED_PORTS]


def draw_pauses(axes, pauses, scale, span):
    """One row a port: when a class of it was paused by its neighbour."""
    ports = paused_ports(pauses)
    for row, port in enumerate(ports):
        part = pauses.where(pauses["port"] == port)
        ends = np.where(np.isfinite(part["end_ps"]), part["end_ps"], span[1])
        bars = [(start / scale, (end - start) / scale)
                for start, end in zip(part["start_ps"], ends)]
        axes.broken_barh(bars, (row - 0.36, 0.72), facecolor="black", edgecolor="black",
                         linewidth=0.3)
    axes.set_ylim(len(ports) - 0.4, -0.6)
    axes.set_yticks(range(len(ports)))
    axes.set_yticklabels(ports)
    total = len(np.unique(pauses["port"]))
    left_out = f" (the {len(ports)} paused longest of {total})" if total > len(ports) else ""
    axes.set_title(f"Ports paused by PFC: {len(pauses)} pauses{left_out}", loc="left")


# ---- the whole picture ----

def headline(results):
    """Two lines: what was simulated, and what came out of it."""
    collectives = results.summary.get("collectives") or []
    if collectives:
        first = collectives[0]
        what = (f"{results.name}: {first.get('algorithm', '')} {first.get('name', 'collective')}, "
                f"{first.get('ranks', '?')} ranks, {style.size_text(first.get('bytes', 0))}")
        took, ideal = first.get("time_ps"), first.get("ideal_ps")
        text = f"took {style.time_text(took)}" if took else "did not complete"
        if took and ideal:
            text += f", ideal {style.time_text(ideal, took)} (x {took / ideal:.4f})"
        text += "; sums verified" if first.get("verified") is True else "; sums not verified"
    else:
        flows = results.summary.get("flows") or {}
        what = results.name
        text = f"{flows.get('completed', 0)} of {flows.get('count', 0)} flows complete"
    pfc = (results.summary.get("pfc") or {}).get("pauses")
    extra = [f"{value} {name}" for value, name in (
        (pfc, "PFC pauses"), (results.summary.get("ecn_marked"), "ECN marks"),
        (results.summary.get("cnps_sent"), "CNPs")) if value is not None]
    return what, "; ".join([text, ", ".join(extra)] if extra else [text])


def time_span(results):
    """First and last time of anything in the picture, in ps."""
    ends = [0.0]
    for name, columns in (("flows", ("end_ps", "cqe_ps")), ("steps", ("recv_end_ps",))):
        for column in columns:
            values = results.table(name)[column]
            values = values[np.isfinite(values)] if len(values) else values
            ends += [float(values.max())] if len(values) else []
    if max(ends) <= 0:
        ends.append(float(results.summary.get("sim_end_ps") or 1))
    return 0.0, max(ends)


def _panel(axes, table, draw, title):
    """Draw a table, or say why there is nothing to draw."""
    if table.why is None:
        draw()
    else:
        axes.set_title(title, loc="left")
        style.say_why(axes, table.why)


def draw(results):
    """The figure of one run: timeline, rates, busiest queue, pauses when there were any."""
    steps, flows = results.table("steps"), results.table("flows")
    rates, queues, pauses = (results.table(name) for name in ("rates", "queues", "pauses"))
    span = time_span(results)
    scale, unit = style.time_unit(span[1])
    collective = bool(results.summary.get("collectives")) or steps.why is None
    top = steps if collective else flows
    count = len(np.unique(steps["rank"])) if collective else len(flows)
    heights = [0.5 + 0.24 * min(max(count, 3), MAX_ROWS) ** 0.9, 1.1, 1.1]
    # No pause at all is told in the headline; a panel says so only when nobody looked.
    if not pauses.no_rows:
        heights.append(0.35 + 0.16 * len(paused_ports(pauses)))
    with plt.rc_context(style.SETTINGS):
        figure, panels = plt.subplots(
            len(heights), 1, sharex=True, height_ratios=heights, layout="constrained",
            figsize=(style.WIDTH_INCH, 0.9 + sum(heights) + 0.22 * len(heights)))
        if collective:
            _panel(panels[0], top, lambda: draw_steps(panels[0], steps, scale, span),
                   "Steps of each rank")
        else:
            _panel(panels[0], top, lambda: draw_flows(panels[0], flows, scale, span), "Flows")
        _panel(panels[1], rates, lambda: draw_rates(panels[1], rates, scale, span),
               "QP rates")
        _panel(panels[2], queues, lambda: draw_queue(panels[2], queues, scale, results),
               "Busiest queue")
        if not pauses.no_rows:
            _panel(panels[3], pauses, lambda: draw_pauses(panels[3], pauses, scale, span),
                   "Ports paused by PFC")
        panels[-1].set_xlim(span[0], 1.01 * span[1] / scale)
        panels[-1].set_xlabel(f"simulated time ({unit})")
        what, outcome = headline(results)
        figure.suptitle(f"{what}\n{outcome}", x=0.01, ha="left")
    return figure
