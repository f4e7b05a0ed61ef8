# SPDX-License-Identifier: GPL-2.0-only
"""./rnic run FILE: packages, build, simulation (one, with several seeds, or a sweep), pictures.

The scenario itself is read and judged by the C++ runner; this file only brings it into being and
passes its exit status on: 0 done, 1 an expect or the run failed, 2 bad input, 130 interrupted.
"""

import argparse
import os
import signal
import subprocess

from analysis.cli import build, plot, setup, sweep
from analysis.cli.common import Failure, say, show

RUNNER = os.path.join(build.RELEASE, "rnic-run")


def results_folder(scenario):
    """Where results go without --out: results/NAME below the current folder."""
    name = os.path.splitext(os.path.basename(scenario.rstrip("/")))[0]
    return os.path.join("results", name or "scenario")


def call_runner(arguments):
    """Run the simulation in the foreground; Ctrl-C is the runner's to handle."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(
            [RUNNER] + arguments,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        status = process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    if status == -signal.SIGINT:
        return 130
    if status < 0:
        raise Failure(f"rnic-run died of {signal.Signals(-status).name}; this is a bug", 1)
    return status


def _positive(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _sweep(options, axes):
    """Run every combination; draw what they say together."""
    axes = sweep.check(RUNNER, options.file, axes, options.seeds)
    out = options.out or results_folder(options.file) + "-sweep"
    runs = sweep.Sweep(RUNNER, options.file, sweep.Plan(axes), out, options.seeds, options.jobs)
    runs.open()
    status = runs.run()
    say(f"table {show(runs.table.path)}")
    if status != 130 and not options.no_plot and any(runs.table.rows.values()):
        plot.draw_together(out, [out])
    return status


def main(argv):
    parser = argparse.ArgumentParser(
        prog="./rnic run", description="Run a scenario and draw its results.",
        epilog="A --set value with commas is a sweep: one run for each combination, one folder a "
               "run, and sweep.csv; started again, it goes on where it was. An array is written "
               "in brackets: --set 'run.series=[\"rates\",\"links\"]'. Exit status: 0 every "
               "expect holds; 1 one failed, or a run did; 2 bad input, or a path that cannot be "
               "read or written; 130 interrupted.")
    parser.add_argument("file", metavar="FILE", help="scenario, a TOML file")
    parser.add_argument("--out", metavar="DIR",
                        help="results folder (default results/NAME, of a sweep results/NAME-sweep)")
    parser.add_argument("--set", metavar="KEY=VALUE[,VALUE...]", action="append", default=[],
                        dest="sets",
                        help="set one scenario key, as in --set workload.bytes=1MiB; the section "
                             "may be left out where only one key ends so: --set hosts=4,8,16")
    parser.add_argument("--seeds", metavar="LIST",
                        help="run once for each seed, as in 1..10 or 1,2,7: expects are judged on "
                             "the mean, pictures show mean and interval")
    parser.add_argument("-j", "--jobs", metavar="N", type=_positive, default=1,
                        help="runs of a sweep at a time (default 1)")
    parser.add_argument("--no-plot", action="store_true", help="no pictures")
    options = parser.parse_args(argv)

    axes = sweep.parse(options.sets)
    setup.install(setup.RUN_PACKAGES)
    build.release(["rnic-run"])
    if sweep.is_sweep(axes):
        return _sweep(options, axes)
    out = options.out or results_folder(options.file)
    arguments = [options.file, "--out", out]
    for pair in options.sets:
        arguments += ["--set", pair]
    if options.seeds is not None:
        arguments += ["--seeds", options.seeds]
    status = call_runner(arguments)
    if status == 130:
        say(f"interrupted; ./rnic plot {show(out)} draws what is there")
    elif status in (0, 1) and not options.no_plot and plot.drawable(out):
        plot.draw_overview(out)
    return status
