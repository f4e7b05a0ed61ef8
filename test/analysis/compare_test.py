#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of one thing each, of many runs and of seeds: data, labels, no two texts overlap."""

import math
import os
import pathlib
import random
import statistics
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(os.path.dirname(HERE)), HERE]

import results_synthetic as synthetic  # noqa: E402
from analysis import collect, compare, draw, pictures, repeats, results, stats, style  # noqa: E402
from timeline_test import overlaps, visible_texts  # noqa: E402


def texts(figure):
    return "\n".join(text for text, _ in visible_texts(figure))


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(style.plt.close, "all")
        self.folder = folder.name

    def path(self, *names):
        return os.path.join(self.folder, *names)


class StatisticsTest(unittest.TestCase):
    def test_percentile_is_a_value_of_the_sample(self):
        values = [5, 1, 4, 2, 3]
        self.assertEqual([stats.percentile(values, p) for p in (0, 1, 20, 21, 50, 60, 61, 99, 100)],
                         [1, 1, 1, 2, 3, 3, 4, 5, 5])
        self.assertEqual(stats.percentile(range(1, 101), 95), 95)
        self.assertEqual(stats.percentile(range(1, 21), 95), 19)

    def test_interval(self):
        self.assertEqual(stats.mean_interval([3.0]), (3.0, 0.0))
        mean, half = stats.mean_interval([1, 2, 3, 4, 5])
        self.assertEqual(mean, 3)
        self.assertAlmostEqual(half, 2.776 * statistics.stdev([1, 2, 3, 4, 5]) / math.sqrt(5))
        self.assertAlmostEqual(stats.student_t95(30), 2.0423, delta=2e-4)
        self.assertAlmostEqual(stats.student_t95(1000), 1.9623, delta=2e-4)
        self.assertLess(stats.student_t95(21), stats.student_t95(20))

    def test_the_interval_holds_the_truth_in_19_of_20(self):
        dice = random.Random(7)
        hits = sum(abs(mean) <= half for mean, half in (
            stats.mean_interval([dice.gauss(0, 1) for _ in range(5)]) for _ in range(4000)))
        self.assertAlmostEqual(hits / 4000, 0.95, delta=0.015)


class PicturesTest(FolderTest):
    def make(self, name):
        return pictures.PICTURES[name](results.Results(self.folder))

    def test_every_picture_of_a_run_without_overlaps(self):
        for write, sizes in ((synthetic.ring, (2, 64)), (synthetic.incast, (16, 70))):
            for size in sizes:
                write(self.folder, size)
                for name in pictures.PICTURES:
                    figure = self.make(name)
                    with self.subTest(run=write.__name__, size=size, picture=name):
                        if not isinstance(figure, str):
                            self.assertEqual(overlaps(figure), [])
                            self.assertAlmostEqual(figure.get_figwidth(), 170 / 25.4)
                            style.plt.close(figure)

    def test_what_there_is_nothing_of_is_told(self):
        synthetic.ring(self.folder)
        self.assertIn("no rows", self.make("pauses"))
        self.assertIn("belong to a collective", self.make("fct"))
        os.remove(self.path("steps.csv"))
        self.assertIn("steps.csv was not written", self.make("steps"))

    def test_thresholds_of_the_queue(self):
        synthetic.incast(self.folder)
        text = texts(self.make("queues"))
        for part in ("ECN Kmin 5 kB", "ECN Kmax 200 kB", "switch0 port 16 class 3"):
            self.assertIn(part, text)
        # 16 ports: s = (pool - 16 s) / 8, so s = pool / 24
        self.assertIn("16 ports that fill the queue alike: "
                      + style.quantity(16 * (4096 + 3.6e6 / 24), style.BYTE_UNITS), text)

    def test_xoff(self):
        synthetic.incast(self.folder)
        run = results.Results(self.folder)
        self.assertAlmostEqual(run.xoff(0), 4096 + 3.6e6 / 9)
        self.assertIsNone(run.xoff(1))
        run.summary["parameters"]["switch"]["lossless"] = False
        self.assertIsNone(run.xoff(0))

    def test_steps_have_their_ideal_end(self):
        synthetic.ring(self.folder)
        figure = self.make("steps")
        self.assertIn("ideal end", texts(figure))
        (line,) = figure.axes[0].lines
        self.assertAlmostEqual(line.get_xdata()[0], 8228.291)

    def test_a_mark_a_cnp(self):
        synthetic.incast(self.folder, 4)
        run = results.Results(self.folder)
        figure = self.make("rates")
        marks = sum(len(row.get_positions()) for row in figure.axes[1].collections)
        self.assertEqual(marks, len(run.table("cnps")))
        self.assertGreater(marks, 0)

    def test_pauses_are_all_there_and_zoomed(self):
        synthetic.incast(self.folder, 8)
        figure = self.make("pauses")
        bars = sum(len(rows.get_paths()) for rows in figure.axes[0].collections)
        self.assertEqual(bars, len(results.Results(self.folder).table("pauses")))
        self.assertLess(figure.axes[0].get_xlim()[1], 200)
        self.assertIn("3, 60 us", texts(figure))

    def test_use_of_links(self):
        synthetic.incast(self.folder, 2)
        text = texts(self.make("links"))
        for part in ("host0", "switch0 port 2", "75.0%", "25.0%"):
            self.assertIn(part, text)

    def test_files_and_same_bytes_again(self):
        synthetic.incast(self.folder)
        lines = draw.draw(self.folder)
        paths = [line for line in lines if not line.startswith("#")]
        self.assertEqual([os.path.basename(path) for path in paths[::2]],
                         ["timeline.png", "rates.png", "queues.png", "pauses.png", "links.png",
                          "fct.png"])
        first = [pathlib.Path(path).read_bytes() for path in paths]
        draw.draw(self.folder)
        self.assertEqual(first, [pathlib.Path(path).read_bytes() for path in paths])
        synthetic.ring(self.folder)
        self.assertIn("# no fct: the run's transfers belong to a collective",
                      draw.draw(self.folder))
        self.assertFalse(os.path.exists(self.path("fct.png")))


class CompareTest(FolderTest):
    def rings(self, sizes, hosts, seeds=(1,), **more):
        for size in sizes:
            for ranks in hosts:
                for seed in seeds:
                    synthetic.small_ring(self.path(f"{size}-{ranks}-{seed}" + "".join(
                        map(str, more.values()))), ranks, size, seed, **more)

    def figures(self):
        return compare.figures(collect.find([self.folder])[0])

    def test_time_and_bandwidth_over_size_and_hosts(self):
        sizes = [1 << shift for shift in (16, 18, 20, 22, 24)]
        self.rings(sizes, (4, 8, 16))
        made = self.figures()
        self.assertEqual([name for name, figure in made.items() if not isinstance(figure, str)],
                         ["allreduce-by-size", "allreduce-by-hosts"])
        for figure in (made["allreduce-by-size"], made["allreduce-by-hosts"]):
            self.assertEqual(overlaps(figure), [])
        time, bandwidth = made["allreduce-by-size"].axes
        lines = {each.get_label(): each.lines[0] for each in time.containers}
        self.assertEqual(list(lines), ["4 hosts", "8 hosts", "16 hosts"])
        for line in lines.values():
            self.assertEqual(list(line.get_xdata()), sizes)
        self.assertAlmostEqual(lines["8 hosts"].get_ydata()[0],
                               synthetic.ring_time_ps(8, 1 << 16) / 1e6)
        ideal = [line for line in bandwidth.lines if line.get_label() == "ideal"][0]  # 4 hosts
        self.assertAlmostEqual(
            ideal.get_ydata()[0],
            8e3 * (1 << 16) / synthetic.ring_ideal_ps(4, 1 << 16) * 2 * 3 / 4)
        text = texts(made["allreduce-by-size"])
        for part in ("4 hosts", "16 hosts", "ideal", "line rate", "completion time (us)",
                     "bus bandwidth (Gb/s)", "size of the array", "64 KiB", "one run each"):
            self.assertIn(part, text)

    def test_seeds_become_mean_and_interval(self):
        self.rings((1 << 20, 1 << 22), (4,), seeds=range(1, 6))
        figure = self.figures()["allreduce-by-size"]
        self.assertIn("mean and 95 % interval of 5 seeds", texts(figure))
        self.assertEqual(overlaps(figure), [])
        (bars,) = [each for each in figure.axes[0].containers if each.has_yerr]
        values = [synthetic.ring_time_ps(4, 1 << 20, seed) for seed in range(1, 6)]
        mean, half = stats.mean_interval(values)
        self.assertAlmostEqual(bars.lines[0].get_ydata()[0], mean / 1e6)
        low, high = bars.lines[2][0].get_segments()[0][:, 1]
        self.assertAlmostEqual((high - low) / 2, half / 1e6)

    def test_runs_that_differ_in_a_name_only(self):
        self.rings((1 << 20,), (4,), cc="none")
        self.rings((1 << 20,), (4,), cc="dcqcn")
        figure = self.figures()["allreduce"]
        self.assertIn("cc none", texts(figure))
        self.assertIn("cc dcqcn", texts(figure))
        self.assertEqual(overlaps(figure), [])

    def test_many_lines_are_thinned(self):
        self.rings((1 << 20, 1 << 22), range(2, 12))
        text = texts(self.figures()["allreduce-by-size"])
        self.assertIn("6 of 10 lines", text)

    def test_slowdown_by_size(self):
        for cc in ("none", "dcqcn"):
            for seed in (1, 2, 3):
                synthetic.traffic(self.path(f"{cc}-{seed}"), cc, seed)
        figure = self.figures()["fct"]
        self.assertEqual(overlaps(figure), [])
        text = texts(figure)
        for part in ("cc none", "cc dcqcn", "nearest rank", "median", "95th percentile",
                     "99th percentile", "share of flows", "3 seeds"):
            self.assertIn(part, text)
        flows = results.Results(self.path("none-1")).table("flows")
        bins = compare.size_bins(flows["bytes"])
        self.assertEqual(len(bins), compare.MAX_SIZES)
        self.assertEqual(bins[0][0], min(flows["bytes"]))
        self.assertEqual(bins[-1][1], max(flows["bytes"]))
        for (_, above), (least, _) in zip(bins, bins[1:]):
            self.assertLess(above, least)

    def test_what_differs_is_named_once(self):
        self.rings((1 << 20,), (4,), cc="none")
        self.rings((1 << 20,), (4,), cc="dcqcn")
        runs, _ = collect.find([self.folder])
        # The preset of the card changes with it; it tells nothing more.
        self.assertEqual(collect.distinguishing(runs), ["cc.kind"])

    def test_a_late_host_is_another_run(self):
        self.rings((1 << 20,), (4, 8))
        synthetic.small_ring(self.path("late"), 4, 1 << 20, late=(0, 0, 300000000, 0))
        synthetic.small_ring(self.path("none-late"), 8, 1 << 22, late=(0,) * 8)
        together = collect.groups(collect.find([self.folder])[0])
        self.assertEqual([len(group.runs) for group in together], [1] * 4)
        self.assertEqual([collect.label(group.keys.items()) for group in together],
                         ["1 MiB, 4 hosts, none late", "1 MiB, 8 hosts, none late",
                          "1 MiB, 4 hosts, late host 2 by 300 us", "4 MiB, 8 hosts, none late"])

    def test_unfinished_runs_are_left_out(self):
        self.rings((1 << 20, 1 << 22), (4,))
        synthetic.small_ring(self.path("partial"), 4, 1 << 24, 1, status="partial")
        runs, unfinished = collect.find([self.folder])
        self.assertEqual((len(runs), len(unfinished)), (2, 1))
        self.assertIn("# left out, not finished: " + self.path("partial"),
                      draw.draw_together(self.folder, [self.folder]))

    def test_a_sweep_is_what_its_table_says(self):
        self.rings((1 << 20, 1 << 22), (4,))
        with open(self.path("sweep.csv"), "w", encoding="ascii") as file:
            file.write(f"run,seed\n{1 << 20}-4-1,1\nnot-there,1\n")
        self.assertEqual(len(collect.find([self.folder])[0]), 1)

    def test_folders_without_results_are_refused(self):
        os.mkdir(self.path("empty"))
        with self.assertRaisesRegex(results.BadResults, "empty: no results there"):
            collect.find([self.path("empty")])

    def test_labels(self):
        for value, unit, text in ((67108864, "bytes", "64 MiB"), (6000000, "bytes", "6 MB"),
                                  (256000, "bytes", "256 kB"), (1000000, "bytes", "1 MB"),
                                  (0, "bytes", "0 B"), (4096, "bytes", "4 KiB"),
                                  (100e9, "bps", "100 Gb/s"), (55000000, "ps", "55 us"),
                                  (True, "bool", "on"), (16, "count", "16")):
            self.assertEqual(collect.value_text(value, unit), text)


class RepeatsTest(FolderTest):
    def test_seeds_over_time(self):
        for seed in (1, 2, 3, 4):
            synthetic.incast(self.path(f"seed-{seed}"), 4, seed=seed)
        with open(self.path("seeds.json"), "w", encoding="ascii") as file:
            file.write("{}")
        made = repeats.figures(self.folder)
        self.assertEqual(overlaps(made["seeds"]), [])
        self.assertIn("mean and 95 % interval of 4 seeds", texts(made["seeds"]))
        self.assertIn("mean and 95 % interval of 4 seeds", texts(made["fct"]))
        self.assertIn("seeds.png", "\n".join(draw.draw(self.folder)))

    def test_bins_keep_the_integral(self):
        times, values = style.np.array([0.0, 3.0, 4.0]), style.np.array([2.0, 10.0, 1.0])
        edges = style.np.array([0.0, 2.0, 3.5, 8.0])
        got = style.binned(times, values, edges)
        for one, wanted in zip(got, (2.0, (2.0 + 5.0) / 1.5, (5.0 + 4.0) / 4.5)):
            self.assertAlmostEqual(one, wanted)


if __name__ == "__main__":
    unittest.main()
