# SPDX-License-Identifier: GPL-2.0-only
"""The picture a run ends with: who sent when, QP rates below it, the busiest queue below that."""

import matplotlib.pyplot as plt
import numpy as np

from analysis import panels, style


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


def head(figure, results):
    """Say above a figure what was simulated and what came out."""
    figure.suptitle("\n".join(headline(results)), x=0.01, ha="left")


def time_span(results):
    """First and last time of anything in the picture, in ps."""
    ends = [0.0]
    for name, columns in (("flows", ("end_ps", "cqe_ps")), ("steps", ("recv_end_ps",))):
        for column in columns:
            values = results.table(name)[column]
            values = values[np.isfinite(values)] if len(values) else values
            ends += [float(values.max())] if len(values) else []
    if max(ends) <= 0 or results.summary.get("status") == "stopped":
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
    heights = [0.5 + 0.24 * min(max(count, 3), panels.MAX_ROWS) ** 0.9, 1.1, 1.1]
    # No pause at all is told in the headline; a panel says so only when nobody looked.
    if not pauses.no_rows:
        heights.append(0.35 + 0.16 * len(panels.paused_ports(pauses)))
    with plt.rc_context(style.SETTINGS):
        figure, rows = plt.subplots(
            len(heights), 1, sharex=True, height_ratios=heights, layout="constrained",
            figsize=(style.WIDTH_INCH, 0.9 + sum(heights) + 0.22 * len(heights)))
        if collective:
            _panel(rows[0], top, lambda: panels.draw_steps(rows[0], steps, scale, span),
                   "Steps of each rank")
        else:
            _panel(rows[0], top, lambda: panels.draw_flows(rows[0], flows, scale, span), "Flows")
        _panel(rows[1], rates, lambda: panels.draw_rates(rows[1], rates, scale, span), "QP rates")
        _panel(rows[2], queues, lambda: panels.draw_busiest(rows[2], queues, scale, results),
               "Busiest queue")
        if not pauses.no_rows:
            _panel(rows[3], pauses, lambda: panels.draw_pauses(rows[3], pauses, scale, span),
                   "Ports paused by PFC")
        rows[-1].set_xlim(span[0], 1.01 * span[1] / scale)
        rows[-1].set_xlabel(f"simulated time ({unit})")
        head(figure, results)
    return figure
