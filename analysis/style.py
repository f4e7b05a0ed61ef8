# SPDX-License-Identifier: GPL-2.0-only
"""How pictures look: print size, readable in grey, units chosen once for an axis."""

import functools
import os
import re
import textwrap

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from PIL import Image  # noqa: E402  (matplotlib needs it too)

WIDTH_INCH = 170 / 25.4  # two columns of a paper
PNG_DPI = 200

# Lightness rises in even steps, so that the order survives a grey printer; line style and marker
# differ as well.
COLOURS = ("#10243f", "#a03020", "#2f7f6f", "#c08a20", "#7060a8", "#6aa0c8")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)))
MARKERS = ("o", "s", "^", "D", "v", "x")
LIGHT, DARK, HATCH = "#dfe6ee", "#7f95ad", "/////"
HATCHES = ("", "/////", "....", "xxxx", "-----", "\\\\\\\\\\")

SETTINGS = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5, "legend.fontsize": 7.5, "figure.titlesize": 8.5,
    "axes.linewidth": 0.6, "lines.linewidth": 1.1, "hatch.linewidth": 0.4,
    "axes.spines.top": False, "axes.spines.right": False,
    "svg.hashsalt": "rnic", "svg.fonttype": "none", "figure.dpi": 100,
}

TIME_UNITS = ((1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns"), (1.0, "ps"))
BYTE_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
RATE_UNITS = ((1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s"))


def styled(draw):
    """A function that draws, with our settings in force while it does."""
    @functools.wraps(draw)
    def inside(*arguments):
        with plt.rc_context(SETTINGS):
            return draw(*arguments)
    return inside


def unit(largest, units):
    """(divisor, name) of the largest unit of which `largest` is at least 2, or the last."""
    for divisor, name in units:
        if largest >= 2 * divisor:
            return divisor, name
    return units[-1]


def time_unit(largest_ps):
    """As unit(), but milliseconds only from 20 ms on: fabrics are read in microseconds."""
    if 2e6 <= largest_ps < 20e9:
        return 1e6, "us"
    return unit(largest_ps, TIME_UNITS)


def quantity(value, units):
    """A value with its unit, short: 400 kB, 8.23 ms."""
    divisor, name = unit(value, units)
    return f"{value / divisor:.4g} {name}"


def about(size):
    """Bytes in two digits: 9.1 kB, 300 kB."""
    divisor, name = unit(size, BYTE_UNITS)
    return f"{float(f'{size / divisor:.2g}'):g} {name}"


def time_text(value_ps, beside_ps=None):
    """A time with its unit, or in the unit of the one it stands beside."""
    divisor, name = time_unit(value_ps if beside_ps is None else beside_ps)
    return f"{value_ps / divisor:,.3f} {name}".replace(",", " ")


def size_text(value):
    """Bytes in the binary unit when only that makes a short number: 64 MiB, but 6 MB, 256 kB."""
    if value % 1000 == 0:
        divisor, name = next((each for each in BYTE_UNITS if value >= each[0]), BYTE_UNITS[-1])
        return f"{value / divisor:g} {name}"
    for shift, name in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if value >= 1 << shift and value % (1 << shift) == 0:
            return f"{int(value) >> shift} {name}"
    return quantity(value, BYTE_UNITS)


def thin(times, values, bins=1500):
    """At most about 2 x bins points, with the least and the largest value of each bin kept."""
    if len(times) <= 2 * bins:
        return times, values
    edges = np.linspace(0, len(times), bins + 1).astype(int)
    keep = set()
    for first, last in zip(edges[:-1], edges[1:]):
        part = values[first:last]
        keep.update((first + int(np.argmin(part)), first + int(np.argmax(part))))
    order = sorted(keep | {0, len(times) - 1})
    return times[order], values[order]


def binned(times, values, edges):
    """Mean of a step function in each bin: values[i] holds from times[i] on."""
    # The integral of the function, taken at the edges.
    inside = np.clip(times, edges[0], edges[-1])
    total = np.append(0.0, np.cumsum(values[:-1] * np.diff(inside)))
    at = np.clip(np.searchsorted(times, edges, "right") - 1, 0, None)
    integral = total[at] + values[at] * np.maximum(edges - inside[at], 0)
    return np.diff(integral) / np.diff(edges)


def say_why(axes, why):
    """An empty panel says why it is empty."""
    axes.text(0.5, 0.5, "\n".join(textwrap.wrap(why, 90)), transform=axes.transAxes,
              ha="center", va="center", fontsize=8, style="italic", color="#404040")
    axes.set_yticks([])


def _number_ids(path):
    """Name the clip paths of an SVG in order: matplotlib hashes addresses, so no two runs agree."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for index, name in enumerate(dict.fromkeys(re.findall(r'id="(p[0-9a-f]{10})"', text))):
        text = text.replace(name, f"clip{index}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _few_colours(path):
    """Store a PNG with a palette: a third of the bytes, and 96 colours are more than we use."""
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(96, dither=Image.Dither.NONE)
    small.save(path, optimize=True, dpi=(PNG_DPI, PNG_DPI))


def save(figure, folder, name):
    """Write NAME.png and NAME.svg. @return their paths."""
    paths = []
    for ending, extra in (("png", {"dpi": PNG_DPI, "metadata": {"Software": None}}),
                          ("svg", {"metadata": {"Date": None}})):
        path = os.path.join(folder, f"{name}.{ending}")
        figure.savefig(path, **extra)
        paths.append(path)
    _few_colours(paths[0])
    _number_ids(paths[1])
    plt.close(figure)
    return paths
