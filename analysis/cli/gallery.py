# SPDX-License-Identifier: GPL-2.0-only
"""./rnic gallery: runs small scenarios, writes doc/gallery.rst and its pictures, nothing by hand.

Each entry is a command a reader can type; the gallery runs exactly that command in a folder of its
own and copies the pictures named.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import tempfile

from analysis.cli import build, setup
from analysis.cli.common import ROOT, Failure, say

PAGE = os.path.join("doc", "gallery.rst")
IMAGES = os.path.join("doc", "images")
MAX_BYTES = 150000  # of a picture

HEAD = """.. SPDX-License-Identifier: GPL-2.0-only
.. Written by ./rnic gallery: change analysis/cli/gallery.py, not this page.

Gallery
=======

What ``./rnic run`` and ``./rnic plot`` draw, each picture with the commands that make it.
``./rnic gallery`` runs them all and writes this page anew. Every picture is also there as SVG in
its results folder, 170 mm wide with 8 point text, and can be read without colour.
"""

# (title, commands, [(folder, picture, name in doc/images, what is to be seen)])
ENTRIES = (
    ("A ring all-reduce",
     ["./rnic run scenarios/allreduce-ring-4.toml", "./rnic plot results/allreduce-ring-4"],
     [("allreduce-ring-4", "timeline", "allreduce-ring-4",
       "The picture each run ends with. Six steps for each of the four ranks, no rank ever waits: "
       "the rates stay at the line's and the queues below one frame or two."),
      ("allreduce-ring-4", "links", "allreduce-ring-4-links",
       "How busy each line is, a row for each sender of a line: the gaps are the steps' ends.")]),
    ("A host that comes late",
     ["./rnic run scenarios/allreduce-ring-4.toml --out results/late --set bytes=4MiB "
      "--set 'host_delay=[\"0us\", \"0us\", \"300us\", \"0us\"]'",
      "./rnic plot results/late"],
     [("late", "steps", "allreduce-late-steps",
       "Rank 2 starts 300 us late. Its neighbours go on as far as they can without it; the dashed "
       "line is where an ideal network would have ended.")]),
    ("An incast with PFC and DCQCN",
     ["./rnic run scenarios/incast-16.toml", "./rnic plot results/incast-16"],
     [("incast-16", "rates", "incast-16-rates",
       "Sixteen senders at once. Each mark is a CNP that a sender received; the rates fall to "
       "DCQCN's least rate within half a millisecond and climb back slowly."),
      ("incast-16", "queues", "incast-16-queues",
       "The queue of the receiver's port with the thresholds of ECN and of PFC. The queue stops "
       "where PFC says; below, the same in the range of ECN."),
      ("incast-16", "pauses", "incast-16-pauses",
       "When the switch told each sender to stop; on the right how often, and how long together."),
      ("incast-16", "links", "incast-16-links",
       "Use of each line. The receiver's is full at first and again once the rates have "
       "recovered.")]),
    ("Two flows share a link",
     ["./rnic run scenarios/dcqcn-two-flows.toml --seeds 1..5 --out results/share"],
     [("share", "seeds", "dcqcn-share-seeds",
       "Five seeds: the mean rate of each flow and the mean queue, with their 95 % intervals."),
      ("share", "measures", "dcqcn-share-measures",
       "The scenario's measures over the last 200 ms, mean and interval of the five seeds.")]),
    ("Size and number of hosts",
     ["./rnic run scenarios/allreduce-ring-4.toml --set "
      "bytes=64KiB,256KiB,1MiB,4MiB,16MiB --set hosts=4,8,16 -j2"],
     [("allreduce-ring-4-sweep", "allreduce-by-size", "allreduce-by-size",
       "A sweep over sizes for three numbers of hosts: completion time and bus bandwidth, with "
       "the store-and-forward bound of each."),
      ("allreduce-ring-4-sweep", "allreduce-by-hosts", "allreduce-by-hosts",
       "The same runs over the number of hosts.")]),
    ("Slowdown of flows",
     ["./rnic run scenarios/incast-16.toml --set bytes=16KB,64KB,256KB,1MB,4MB "
      "--set cc.kind=none,dcqcn --seeds 1..3 -j2 --out results/slowdown"],
     [("slowdown", "fct", "incast-slowdown",
       "Completion time over that of the same flow alone in the network, with and without "
       "congestion control: its distribution, and three percentiles by size with the 95 % "
       "interval over three seeds.")]),
)


def _run(command, folder):
    """Run one command of an entry; an expect that fails in a changed scenario is no matter."""
    words = shlex.split(command)
    words[0] = os.path.join(ROOT, "rnic")
    words = [os.path.join(ROOT, word) if word.startswith("scenarios/") else word
             for word in words]
    say(command)
    result = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, errors="replace", check=False)
    if result.returncode not in (0, 1):
        raise Failure(f"{command}: exit {result.returncode}:\n{result.stdout.rstrip()}", 1)


def _page(entries):
    lines = [HEAD]
    for title, commands, shown in entries:
        lines += [title, "-" * len(title), "", "::", ""]
        lines += [f"    {command}" for command in commands] + [""]
        for _, _, name, text in shown:
            lines += [f".. figure:: images/{name}.png", f"   :alt: {title}: {name}", "",
                      "   " + text, ""]
    return "\n".join(lines).rstrip() + "\n"


def main(argv):
    parser = argparse.ArgumentParser(
        prog="./rnic gallery",
        description="Run the gallery's scenarios and write doc/gallery.rst and its pictures.")
    parser.add_argument("--out", metavar="DIR", default=ROOT,
                        help="write DIR/doc/... instead of this checkout's doc/")
    options = parser.parse_args(argv)
    setup.install(setup.RUN_PACKAGES)
    build.release(["rnic-run"])
    images = os.path.join(options.out, IMAGES)
    os.makedirs(images, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for _, commands, shown in ENTRIES:
            for command in commands:
                _run(command, folder)
            for results, picture, name, _ in shown:
                source = os.path.join(folder, "results", results, picture + ".png")
                if not os.path.isfile(source):
                    raise Failure(f"{' && '.join(commands)} made no {picture}.png", 1)
                if os.path.getsize(source) > MAX_BYTES:
                    raise Failure(f"{name}.png would have {os.path.getsize(source)} bytes, more "
                                  f"than {MAX_BYTES}", 1)
                shutil.copyfile(source, os.path.join(images, name + ".png"))
    with open(os.path.join(options.out, PAGE), "w", encoding="ascii") as file:
        file.write(_page(ENTRIES))
    say(f"written: {PAGE} and {sum(len(shown) for _, _, shown in ENTRIES)} pictures")
    return 0
