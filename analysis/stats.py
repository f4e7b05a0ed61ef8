# SPDX-License-Identifier: GPL-2.0-only
"""The few statistics the tables and pictures use; standard library only."""

import math

METHOD = "nearest rank"  # of percentile()

# Two-sided 95 % points of Student's t by degrees of freedom; beyond them an expansion about the
# normal distribution, which is within 1e-4 there.
_T95 = (math.inf, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201,
        2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086)
_Z95 = 1.959964


def percentile(values, percent):
    """The least value such that `percent` % of all are not above it (nearest rank)."""
    ordered = sorted(values)
    # Rounded first: 0.95 * 20 is not quite 19 in binary.
    rank = math.ceil(round(percent * len(ordered) / 100, 9))
    return ordered[max(rank, 1) - 1]


def student_t95(freedom):
    """Two-sided 95 % point of Student's t."""
    if freedom < len(_T95):
        return _T95[freedom]
    return (_Z95 + (_Z95 ** 3 + _Z95) / (4 * freedom)
            + (5 * _Z95 ** 5 + 16 * _Z95 ** 3 + 3 * _Z95) / (96 * freedom ** 2))


def mean_interval(values):
    """(mean, half width of its 95 % interval); one value says nothing of it: half width 0."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return mean, 0.0
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, student_t95(count - 1) * math.sqrt(variance / count)
