#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The fluid model's fixed point: published values, and the equations rest there."""

import math
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from analysis import fluid  # noqa: E402

# "ECN or Delay" at the paper's parameters, 40G, 1 KB packets: p in percent, queue in KB.
PUBLISHED = {2: (0.078, 20), 4: (0.189, 42), 8: (0.455, 94), 10: (0.603, 123), 12: (0.759, 153),
             14: (0.920, 184), 15: (1.003, None), 16: (1.087, None), 20: (1.435, None)}


def derivatives(p, flows, m):
    """alpha at rest, RT - RC at rest (from RC' = 0), and what then is RT' (DCQCN15, eq. 6 to 8)."""
    rate = m.packets(m.line_bps) / flows
    counter = m.byte_counter_bytes / m.packet_bytes
    timer = m.increase_timer_s * rate
    f = m.fast_recovery
    cnp = 1 - (1 - p) ** (m.tau_s * rate)
    alpha = 1 - (1 - p) ** (m.alpha_timer_s * rate)
    by_counter = rate * p / ((1 - p) ** -counter - 1)
    by_timer = rate * p / ((1 - p) ** -timer - 1)
    gap = rate * alpha / (2 * m.tau_s) * cnp / ((by_counter + by_timer) / 2)
    rai = m.packets(m.rai_bps)
    target = -gap / m.tau_s * cnp + rai * (by_counter * (1 - p) ** (f * counter)
                                           + by_timer * (1 - p) ** (f * timer))
    return target, gap / m.tau_s * cnp


class FixedPointTest(unittest.TestCase):
    def test_published_values(self):
        for flows, (percent, kilobytes) in PUBLISHED.items():
            with self.subTest(flows=flows):
                point = fluid.fixed_point(flows)
                self.assertAlmostEqual(100 * point.p, percent, delta=0.0005)
                self.assertEqual(point.on_ramp, kilobytes is not None)
                self.assertAlmostEqual(point.queue_bytes / 1e3, kilobytes or 200, delta=0.5)

    def test_the_equations_rest_there(self):
        for flows in (1, 2, 5, 14, 40):
            for size in (1000, 1500, 4096):
                with self.subTest(flows=flows, size=size):
                    model = fluid.Dcqcn(packet_bytes=size)
                    target, scale = derivatives(fluid.fixed_point(flows, model).p, flows, model)
                    self.assertLess(abs(target / scale), 1e-8)

    def test_not_elsewhere(self):
        model = fluid.Dcqcn()
        target, scale = derivatives(1.1 * fluid.fixed_point(4).p, 4, model)
        self.assertLess(target / scale, -0.05)

    def test_the_closed_form_is_19_to_30_percent_too_large(self):
        self.assertAlmostEqual(fluid.approximate_p(2), 9.2e-4, delta=0.1e-4)
        self.assertAlmostEqual(fluid.approximate_p(10), 7.8e-3, delta=0.1e-3)
        for flows in (2, 10):
            over = fluid.approximate_p(flows) / fluid.fixed_point(flows).p
            self.assertTrue(1.15 < over < 1.35, over)

    def test_nobody_is_refused(self):
        with self.assertRaises(ValueError):
            fluid.fixed_point(0)
        self.assertTrue(math.isfinite(fluid.fixed_point(1000).p))


if __name__ == "__main__":
    unittest.main()
