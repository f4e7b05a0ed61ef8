# SPDX-License-Identifier: GPL-2.0-only
"""A results folder as Python data: summary.json and the CSV tables, each with why it is empty."""

import csv
import json
import os

import numpy as np

# Columns of each table; what is not named here is a number.
TEXT_COLUMNS = {"collective", "phase", "src", "dst", "verb", "qp", "port"}
TABLES = {
    "flows": ("id", "src", "dst", "verb", "bytes", "start_ps", "end_ps", "cqe_ps", "fct_ps",
              "ideal_ps", "slowdown", "retransmitted_packets", "cnps"),
    "steps": ("collective", "rank", "step", "phase", "chunk", "bytes", "send_start_ps",
              "recv_end_ps"),
    "rates": ("time_ps", "qp", "rate_bps", "alpha"),
    "queues": ("time_ps", "port", "class", "queue_bytes"),
    "pauses": ("start_ps", "end_ps", "port", "class"),
    "cnps": ("time_ps", "qp", "rate_bps"),
    "links": ("time_ps", "port", "busy_ratio"),
}


class BadResults(Exception):
    """The folder cannot be read; the text says which file and why."""


class Table:
    """Columns as arrays; `why` says in a few words why there are no rows (None: there are).

    `no_rows`: the table was written, and nothing happened that belongs into it.
    """

    def __init__(self, columns, why=None, no_rows=False):
        self.columns = columns
        self.why = why
        self.no_rows = no_rows

    def __getitem__(self, name):
        return self.columns[name]

    def __len__(self):
        return len(next(iter(self.columns.values()), ()))

    def where(self, keep):
        return Table({name: values[keep] for name, values in self.columns.items()}, self.why)


def _number(text):
    """A cell as float; an empty one (a flow that never ended) is NaN."""
    return float(text) if text.strip() else float("nan")


def read_table(folder, name):
    """Read NAME.csv. A file that is not there or has no rows gives a table that says why.

    Lines that begin with # are notes; in a table without rows the last one says why.
    """
    wanted = TABLES[name]
    empty = {column: np.array([]) for column in wanted}
    path = os.path.join(folder, name + ".csv")
    try:
        with open(path, encoding="utf-8", newline="") as file:
            lines = file.readlines()
    except FileNotFoundError:
        return Table(empty, f"{name}.csv was not written")
    except (OSError, UnicodeDecodeError) as error:
        raise BadResults(f"{path}: {error}") from None
    notes = [line[1:].strip() for line in lines if line.startswith("#")]
    rows = list(csv.reader(line for line in lines if not line.startswith("#")))
    if not rows:
        return Table(empty, f"{name}.csv is empty")
    header = [cell.strip() for cell in rows[0]]
    lacking = [column for column in wanted if column not in header]
    if lacking:
        raise BadResults(f"{path}:1: no column {', '.join(lacking)}")
    body = [row for row in rows[1:] if row]
    if not body:
        return Table(empty, f"{name}.csv: {notes[-1] if notes else 'no rows'}", no_rows=True)
    columns = {}
    for column in wanted:
        at = header.index(column)
        try:
            cells = [row[at] for row in body]
            columns[column] = (np.array(cells) if column in TEXT_COLUMNS
                               else np.array([_number(cell) for cell in cells]))
        except (IndexError, ValueError) as error:
            raise BadResults(f"{path}: column {column}: {error}") from None
    return Table(columns)


class Results:
    """Everything one run left behind; tables are read when first asked for."""

    def __init__(self, folder):
        self.folder = folder
        self._tables = {}
        path = os.path.join(folder, "summary.json")
        try:
            with open(path, encoding="utf-8") as file:
                self.summary = json.load(file)
        except (OSError, ValueError) as error:
            raise BadResults(f"{path}: {error}") from None
        if not isinstance(self.summary, dict):
            raise BadResults(f"{path}: not an object")

    def table(self, name):
        if name not in self._tables:
            self._tables[name] = read_table(self.folder, name)
        return self._tables[name]

    @property
    def name(self):
        """What the picture is called: the scenario's file without folder and ending."""
        scenario = self.summary.get("scenario")
        if not isinstance(scenario, str) or not scenario:
            scenario = os.path.basename(os.path.abspath(self.folder))
        return os.path.splitext(os.path.basename(scenario))[0]

    @property
    def finished(self):
        """Whether the run went to its end: all is over, or it ran for the duration asked for."""
        status = self.summary.get("status")
        return status == "complete" or (status == "stopped"
                                        and self.parameter("duration") is not None)

    def xoff(self, switch, senders=1):
        """Queue length in bytes at which PFC pauses `senders` ports that fill it alike, or None.

        Each may hold its reserve and alpha times what is left of the shared pool: the pool share s
        of each settles at s = alpha (pool - senders s). None: no PFC, or the run did not say.
        """
        reserved, alpha = self.parameter("reserved"), self.parameter("alpha")
        switches = self.summary.get("switches") or []
        pool = switches[switch].get("pool_bytes") if switch < len(switches) else None
        if None in (reserved, alpha, pool) or not self.parameter("lossless"):
            return None
        return senders * (reserved + alpha * pool / (1 + senders * alpha))

    def parameter(self, key):
        """Effective value of a parameter in its base unit, None when the run did not say.

        The key is matched without its section and without its unit: "ecn_kmin" finds
        parameters["switch.ecn_kmin"], ["switch"]["ecn_kmin_bytes"] and the like.
        """
        return _find(self.summary.get("parameters"), key)


def _find(node, key):
    if isinstance(node, list):
        for item in node:
            if isinstance(item, dict) and _matches(str(item.get("name", "")), key):
                return _value(item)
        return None
    if not isinstance(node, dict):
        return None
    for name, item in node.items():
        if _matches(name, key) and _value(item) is not None:
            return _value(item)
    for item in node.values():
        found = _find(item, key)
        if found is not None:
            return found
    return None


def _matches(name, key):
    last = name.split(".")[-1]
    return last == key or last in (key + "_ps", key + "_bps", key + "_bytes")


def _value(item):
    if isinstance(item, dict):
        item = item.get("value")
    if isinstance(item, (int, float)):
        return float(item)
    try:
        return float(str(item).split()[0])
    except (ValueError, IndexError):
        return None
