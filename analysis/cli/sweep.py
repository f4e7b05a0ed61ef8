# SPDX-License-Identifier: GPL-2.0-only
"""./rnic run FILE --set key=a,b,c ...: one run for each combination of the values.

A value with commas is a list of values to sweep over. Commas inside brackets or quotes do not
count: a key whose value is an array is written key=[1,2], and swept over as key=[1,2],[3,4].

The folder of a sweep has one folder a run, named by the values, and sweep.csv, one line a run (and
seed). A run that ended is marked by sweep-run.json in its folder, which says what it was made
from; a sweep that is started again runs only what has no such mark or another one.
"""

import csv
import hashlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import time

from analysis import stats
from analysis.cli.common import Failure, say, show, terminal

MARK = "sweep-run.json"
TABLE = "sweep.csv"
LOG = "run.log"
PATIENCE_S = 20  # for a run to write what it has after an interrupt


# ---- values ----

def split_values(text):
    """The values of a list: split at commas outside of brackets and quotes."""
    values, depth, quote, start = [], 0, "", 0
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "[{":
            depth += 1
        elif char in "]}":
            depth -= 1
        elif char == "," and depth == 0:
            values.append(text[start:index].strip())
            start = index + 1
    return values + [text[start:].strip()] if depth == 0 and not quote else [text]


def parse(sets):
    """[(key, [value, ...])] of the --set arguments; the runner refuses a key without value.

    Raises Failure for a list with an empty element.
    """
    axes = []
    for pair in sets:
        key, equal, text = pair.partition("=")
        values = split_values(text) if equal else [None]
        if len(values) > 1 and "" in values:
            raise Failure(f"--set {key.strip()}: a value between commas is empty; "
                          f"write --set {key.strip()}=a,b,c", bare=True)
        if len(values) != len(set(values)):
            raise Failure(f"--set {key.strip()}: a value is there twice; write each once",
                          bare=True)
        axes.append((key.strip(), values))
    return axes


def is_sweep(axes):
    return any(len(values) > 1 for _, values in axes)


def _clean(value):
    """A value as part of a folder's name."""
    return re.sub(r"[^A-Za-z0-9.+-]+", "-", value).strip("-")[:40] or "empty"


class Plan:
    """All runs of a sweep: the keys that vary, and [(name, {key: value})]."""

    def __init__(self, axes):
        self.axes = axes
        self.varying = [key for key, values in axes if len(values) > 1]
        lasts = [re.sub(r"\.(kind|preset)$", "", key).split(".")[-1] for key in self.varying]
        short = {key: last if lasts.count(last) == 1 else key
                 for key, last in zip(self.varying, lasts)}
        self.runs, taken = [], {}
        for values in itertools.product(*(values for _, values in axes)):
            settings = dict(zip((key for key, _ in axes), values))
            name = "_".join(f"{short[key]}={_clean(settings[key])}" for key in self.varying)
            taken[name] = taken.get(name, 0) + 1
            self.runs.append((name if taken[name] == 1 else f"{name}-{taken[name]}", settings))


def _arguments(settings):
    return [word for key, value in settings.items()
            for word in ("--set", key if value is None else f"{key}={value}")]


def _refuse_twice(keys):
    twice = [key for key in keys if keys.count(key) > 1]
    if twice:
        raise Failure(f"--set {twice[0]}: is set twice; write it once", bare=True)


def check(runner, scenario, axes, seeds):
    """Refuse the sweep when any of its runs has bad input. @return axes with whole keys."""
    more = ["--seeds", seeds] if seeds is not None else []
    whole = None
    _refuse_twice([key for key, _ in axes])
    for _, settings in Plan(axes).runs:
        result = subprocess.run([runner, scenario, "--check", *_arguments(settings), *more],
                                capture_output=True, text=True, errors="replace", check=False)
        if result.returncode != 0:
            raise Failure(result.stderr.rstrip() or f"{scenario}: cannot be checked",
                          result.returncode if result.returncode > 0 else 1, bare=True)
        whole = whole or [line.split("=", 1)[0] for line in result.stdout.splitlines()]
    _refuse_twice(whole)
    return [(key, values) for key, (_, values) in zip(whole, axes)]


# ---- what is done ----

def _digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _write(path, text):
    """Write a file whole or not at all."""
    with open(path + ".new", "w", encoding="utf-8", newline="") as file:
        file.write(text)
    os.replace(path + ".new", path)


def _load(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def _summaries(folder):
    """summary.json of a run's folder, or of each of its seeds."""
    if os.path.isfile(os.path.join(folder, "summary.json")):
        return [(folder, _load(os.path.join(folder, "summary.json")))]
    names = sorted((name for name in os.listdir(folder) if re.fullmatch(r"seed-\d+", name)),
                   key=lambda name: int(name[5:])) if os.path.isdir(folder) else []
    return [(os.path.join(folder, name), _load(os.path.join(folder, name, "summary.json")))
            for name in names]


# ---- the table ----

def _slowdowns(folder):
    try:
        with open(os.path.join(folder, "flows.csv"), encoding="utf-8", newline="") as file:
            return [float(row["slowdown"]) for row in csv.DictReader(file) if row["slowdown"]]
    except (OSError, KeyError, ValueError):
        return []


def _row(folder, summary):
    """The columns of one summary.json."""
    ring = (summary.get("collectives") or [{}])[0]
    slow = [] if ring else _slowdowns(folder)
    at = {name: stats.percentile(slow, percent) if slow else None
          for name, percent in (("slowdown_median", 50), ("slowdown_p95", 95),
                                ("slowdown_p99", 99))}
    expects = summary.get("expect") or []
    return {
        "seed": summary.get("seed"), "run_status": summary.get("status"),
        "expects": len(expects), "expects_hold": sum(each.get("pass") is True for each in expects),
        "sim_end_ps": summary.get("sim_end_ps"), "ranks": ring.get("ranks"),
        "bytes": ring.get("bytes"), "time_ps": ring.get("time_ps"),
        "ideal_ps": ring.get("ideal_ps"), "algbw_bps": ring.get("algbw_bps"),
        "busbw_bps": ring.get("busbw_bps"), "verified": ring.get("verified"),
        "flows": (summary.get("flows") or {}).get("count"),
        "flows_completed": (summary.get("flows") or {}).get("completed"), **at,
        "retransmitted_packets": (summary.get("flows") or {}).get("retransmitted_packets"),
        "frames_dropped": (summary.get("conservation") or {}).get("frames_dropped_total"),
        "pauses": (summary.get("pfc") or {}).get("pauses"),
        "ecn_marked": summary.get("ecn_marked"), "cnps_sent": summary.get("cnps_sent"),
        **{f"measure {name}": value for name, value in (summary.get("measures") or {}).items()},
    }


def _cell(value):
    return {None: "", True: "true", False: "false"}.get(value, value) if isinstance(
        value, (bool, type(None))) else value


class Table:
    """sweep.csv: the runs that ended, in the order of the sweep."""

    def __init__(self, folder, plan):
        self.path = os.path.join(folder, TABLE)
        self.folder = folder
        self.plan = plan
        self.rows = {}

    def add(self, name, settings, status):
        self.rows[name] = [
            {"run": name, **{key: settings[key] for key in self.plan.varying},
             "exit_status": status, **_row(folder, summary)}
            for folder, summary in _summaries(os.path.join(self.folder, name))
            if isinstance(summary, dict)]

    def write(self):
        rows = [row for name, _ in self.plan.runs for row in self.rows.get(name, ())]
        columns = list(dict.fromkeys(column for row in rows for column in row))
        columns = columns or ["run", *self.plan.varying]
        lines = []
        writer = csv.writer(type("Lines", (), {"write": staticmethod(lines.append)}),
                            lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow([_cell(row.get(column)) for column in columns])
        _write(self.path, "".join(lines))


# ---- running ----

class Sweep:
    """Runs a plan, several at a time, into a folder."""

    def __init__(self, runner, scenario, plan, folder, seeds, at_once):
        self.runner, self.scenario, self.plan = runner, scenario, plan
        self.folder, self.seeds, self.at_once = folder, seeds, at_once
        self.table = Table(folder, plan)
        self.made_from = {"scenario": _digest(scenario), "runner": _digest(runner),
                          "seeds": seeds}
        self.running = {}  # Popen: (name, settings, start)
        self.failed = {}   # name: exit status
        self.unmet = []    # names of runs that ended well but for an expect
        self.done, self.skipped, self.begin = 0, 0, time.monotonic()
        self.bar = False

    def _path(self, name):
        return os.path.join(self.folder, name)

    def _mark(self, settings):
        return {**self.made_from, "set": settings}

    def _ended(self, name, settings):
        """Exit status of a run that ended in an earlier sweep, None when there is none."""
        mark = _load(os.path.join(self._path(name), MARK))
        if not isinstance(mark, dict) or not _summaries(self._path(name)):
            return None
        status = mark.pop("exit_status", None)
        return status if mark == self._mark(settings) else None

    def open(self):
        """Make the folder, or take that of an earlier sweep. Raises Failure."""
        try:
            if os.path.exists(self.folder) and not os.path.isdir(self.folder):
                raise Failure(f"{self.folder}: cannot be written: it is a file; give another place "
                              "with --out", bare=True)
            os.makedirs(self.folder, exist_ok=True)
            if os.listdir(self.folder) and not os.path.exists(self._path(TABLE)):
                raise Failure(f"{self.folder}: cannot be written: it holds something else than a "
                              "sweep; give another place with --out", bare=True)
            self.table.write()
        except OSError as error:
            raise Failure(f"{self.folder}: cannot be written: {error.strerror}; give another "
                          "place with --out", bare=True) from None

    def _start(self, name, settings):
        if _summaries(self._path(name)):
            shutil.rmtree(self._path(name))  # of other parameters, or not finished
        more = ["--seeds", self.seeds] if self.seeds is not None else []
        with open(self._path(name) + ".log", "wb") as log:
            process = subprocess.Popen(
                [self.runner, self.scenario, "--out", self._path(name), *_arguments(settings),
                 *more], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True)
        self.running[process] = (name, settings, time.monotonic())

    def _finish(self, process):
        """Note how a run ended: mark, log, table, one line."""
        name, settings, begin = self.running.pop(process)
        status = process.returncode
        log = self._path(name) + ".log"
        with open(log, encoding="utf-8", errors="replace") as file:
            lines = [line for line in file.read().split("\n") if line.strip()]
        if status == 130:
            return
        self.done += 1
        if _summaries(self._path(name)):
            os.replace(log, os.path.join(self._path(name), LOG))
            log = os.path.join(self._path(name), LOG)
        took = f"{time.monotonic() - begin:.1f} s"
        if status in (0, 1) and _summaries(self._path(name)):
            _write(os.path.join(self._path(name), MARK),
                   json.dumps({**self._mark(settings), "exit_status": status}, indent=1) + "\n")
            self.table.add(name, settings, status)
            self.table.write()
        if status == 0:
            if not terminal():
                say(f"{self.done} of {len(self.plan.runs)}: {name} ({took})")
            return
        self._clear()
        place = f"{self.done} of {len(self.plan.runs)}: {name}"
        if self._note(name, status):
            say(f"{place} ({took}): an expect does not hold [{show(log)}]")
            return
        why = f"died of {signal.Signals(-status).name}" if status < 0 else f"exit {status}"
        last = next((line for line in reversed(lines) if not line.startswith("results in")), "")
        say(f"{place} failed ({why}, {took}): {last.strip()} [{show(log)}]")

    def _note(self, name, status):
        """Note a run whose status is not 0. @return whether only expects are to blame."""
        errors = [error for kind in ("summary.json", "seeds.json")
                  for error in (_load(os.path.join(self._path(name), kind)) or {}).get(
                      "errors", ())]
        if status == 1 and errors and all(error.startswith("expect ") for error in errors):
            self.unmet.append(name)
            return True
        self.failed[name] = status
        return False

    def _clear(self):
        if self.bar:
            print("\r" + " " * 78 + "\r", end="", flush=True)
            self.bar = False

    def _show(self):
        if terminal():
            spent, fresh = time.monotonic() - self.begin, self.done - self.skipped
            left = len(self.plan.runs) - self.done
            eta = f", ETA {spent / fresh * left:.0f} s" if fresh else ""
            failed = f", {len(self.failed)} failed" if self.failed else ""
            print(f"\rrnic: {self.done} of {len(self.plan.runs)} runs done{failed}, "
                  f"{len(self.running)} running{eta}    ", end="", flush=True)
            self.bar = True

    def _stop(self):
        """An interrupt: each run writes what it has and ends."""
        for process in self.running:
            process.send_signal(signal.SIGINT)
        try:
            deadline = time.monotonic() + PATIENCE_S
            for process in self.running:
                process.wait(max(0.1, deadline - time.monotonic()))
        except (KeyboardInterrupt, subprocess.TimeoutExpired):
            for process in self.running:
                process.kill()
                process.wait()

    def run(self):
        """@return exit status: 0; 1 a run failed; 2 one could not be written; 130 interrupted."""
        waiting = []
        for name, settings in self.plan.runs:
            status = self._ended(name, settings)
            if status is None:
                waiting.append((name, settings))
                continue
            self.skipped += 1
            self.done += 1
            self.table.add(name, settings, status)
            if status != 0:
                self._note(name, status)
        if self.skipped:
            say(f"{self.skipped} of {len(self.plan.runs)} runs are there from before")
        self.table.write()
        waiting.reverse()
        try:
            while waiting or self.running:
                while waiting and len(self.running) < self.at_once:
                    self._start(*waiting.pop())
                time.sleep(0.05)
                for process in [each for each in self.running if each.poll() is not None]:
                    self._finish(process)
                self._show()
        except KeyboardInterrupt:
            self._clear()
            self._stop()
            for process in list(self.running):
                self._finish(process)
            say(f"interrupted: {self.done} of {len(self.plan.runs)} runs are done; the same "
                "command goes on from there")
            return 130
        self._clear()
        if self.failed:
            say(f"{len(self.failed)} of {len(self.plan.runs)} runs failed: "
                + ", ".join(self.failed))
        if self.unmet:
            say(f"{len(self.unmet)} of {len(self.plan.runs)} runs do not meet an expect: "
                + ", ".join(self.unmet))
        return 2 if 2 in self.failed.values() else 1 if self.failed or self.unmet else 0
