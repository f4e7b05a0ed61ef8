# SPDX-License-Identifier: GPL-2.0-only
"""Many runs together: found below folders, grouped by the parameters in which they differ."""

import csv
import os

from analysis import style
from analysis.results import BadResults, Results

BYTES, HOSTS, LATE = "workload.bytes", "topology.hosts", "workload.late"

# Not what somebody compares: the seed makes repeats; the rest follows from other keys.
IGNORED = ("run.", "measures.", "workload.host_delay.", "workload.target", "workload.flows")
# Named first when several keys tell the same runs apart: a scenario's name stands for all that is
# different in it, presets and kinds set the other keys.
FIRST = (BYTES, HOSTS, "scenario", "workload.kind", "workload.algorithm", "cc.kind", "cc.preset",
         "nic.preset", "topology.kind", "topology.rate", "workload.senders")


class Run:
    """One run with its parameters as {key: (value, unit)}."""

    def __init__(self, folder):
        self.results = Results(folder)
        self.seed = self.results.summary.get("seed")
        self.parameters = {"scenario": (self.results.name, "name")}
        for section, keys in (self.results.summary.get("parameters") or {}).items():
            for key, entry in keys.items() if isinstance(keys, dict) else ():
                name = f"{section}.{key}"
                if isinstance(entry, dict) and "value" in entry and not name.startswith(IGNORED):
                    self.parameters[name] = (entry["value"], entry.get("unit", ""))
        late = self._late()
        if late:
            self.parameters[LATE] = (late, "name")

    def _late(self):
        """Which hosts start late, as text: one entry a host would make runs with more differ."""
        workload = (self.results.summary.get("parameters") or {}).get("workload") or {}
        return " and ".join(
            f"host {key.rpartition('.')[2]} by {style.quantity(entry['value'], style.TIME_UNITS)}"
            for key, entry in workload.items() if key.startswith("host_delay.") and entry["value"])

    @property
    def collective(self):
        """The first collective, {} when there is none."""
        return (self.results.summary.get("collectives") or [{}])[0]


def _children(folder):
    """Folders of runs directly below one, in order."""
    if os.path.isfile(os.path.join(folder, "sweep.csv")):
        with open(os.path.join(folder, "sweep.csv"), encoding="utf-8", newline="") as file:
            names = [row.get("run") or "" for row in csv.DictReader(file)]
        return [os.path.join(folder, name) for name in dict.fromkeys(names)
                if os.path.isdir(os.path.join(folder, name))]
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))
            if os.path.isdir(os.path.join(folder, name))]


def find(folders, depth=2):
    """(runs that went to their end, folders of others).

    A folder is one run, the seeds of one, a sweep (what its sweep.csv names), or holds such
    folders. Raises BadResults when one has none.
    """
    runs, unfinished = [], []
    for folder in folders:
        before = len(runs) + len(unfinished)
        if os.path.isfile(os.path.join(folder, "summary.json")):
            run = Run(folder)
            (runs if run.results.finished else unfinished).append(run)
        elif depth > 0 and os.path.isdir(folder):
            for child in _children(folder):
                try:
                    good, others = find([child], depth - 1)
                except BadResults as error:
                    if str(error).startswith(child + ": no results"):
                        continue
                    raise
                runs += good
                unfinished += others
        if len(runs) + len(unfinished) == before:
            raise BadResults(f"{folder}: no results there; give folders of runs or of a sweep")
    return runs, unfinished


def _rank(key):
    return FIRST.index(key) if key in FIRST else len(FIRST), key


def distinguishing(runs):
    """Fewest keys, the most telling first, that tell the runs apart as all their keys do."""
    every = sorted({key for run in runs for key in run.parameters}, key=_rank)
    parts = {(): list(runs)}
    chosen = []
    for key in every:
        finer = {}
        for known, members in parts.items():
            for run in members:
                finer.setdefault((*known, run.parameters.get(key)), []).append(run)
        if len(finer) > len(parts):
            parts = finer
            chosen.append(key)
    return chosen


class Group:
    """Repeats of one run: the same parameters, different seeds."""

    def __init__(self, keys, runs):
        self.keys = keys  # {key: (value, unit)} of the keys that tell groups apart
        self.runs = list({run.seed: run for run in runs}.values())

    def without(self, *names):
        return tuple((key, value) for key, value in self.keys.items() if key not in names)


def groups(runs):
    """Groups of runs, in the order in which they were found."""
    chosen = distinguishing(runs)
    together = {}
    for run in runs:
        together.setdefault(tuple(run.parameters.get(key) for key in chosen), []).append(run)
    return [Group(dict(zip(chosen, values)), members) for values, members in together.items()]


def value_text(value, unit):
    """A parameter's value as a reader wants it: 1 MiB, 100 Gb/s, 55 us, dcqcn."""
    if unit == "bytes":
        return style.size_text(value)
    if unit == "ps" and value:
        return style.quantity(value, style.TIME_UNITS)
    if unit == "bps":
        return style.quantity(value, style.RATE_UNITS)
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


def key_text(key):
    """A key as a reader wants it: hosts, cc, ecn_kmin."""
    section, _, name = key.rpartition(".")
    return section if name in ("kind", "preset") else name


def label(keys):
    """Text of [(key, (value, unit))]; "all runs" when there is nothing to tell apart."""
    parts = []
    for key, entry in keys:
        if entry is None:
            parts.append("none late" if key == LATE else f"no {key_text(key)}")
        elif key in ("scenario", "workload.kind", "workload.algorithm", "topology.kind"):
            parts.append(value_text(*entry))
        elif entry[1] == "count" and key == HOSTS:
            parts.append(f"{entry[0]} hosts")
        elif key == BYTES:
            parts.append(value_text(*entry))
        else:
            parts.append(f"{key_text(key)} {value_text(*entry)}")
    return ", ".join(parts)


def is_number(entry):
    return entry is not None and isinstance(entry[0], (int, float)) and not isinstance(entry[0],
                                                                                      bool)
