"""Decides whether a signal differs from its former value, with a stated error rate for any number
of looks.

The mean of an autocorrelated series has a standard error. Its distance from the former mean is
bounded by a normal mixture (Robbins 1970; Howard et al. 2021, "Time-uniform, nonparametric,
nonasymptotic confidence sequences"). The bound holds at all looks simultaneously, so checking every
few seconds and stopping at the first clear result is valid.

better ---[  interval of the mean now  ]--- former --- worse        an interval that contains the
former mean: inconclusive
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from barostat.core.signal import Signal

ERROR_RATE = 0.05
"""Probability that any comparison of one verification reports a difference where there is none."""
FEWEST_POINTS = 3
"""Fewer do not tell how much they scatter."""
_TIGHTEST = 8.8
"""The mixture is tightest where it has seen the planned number of points: at rho = points / 8.8 for
an error rate of 0.05.
"""
_MOST_CORRELATED = 0.9


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its standard error, in the signal's unit; from how many points."""

    mean: float
    error: float
    points: int


def estimate(signal: Signal) -> Estimate:
    """The mean of the series. What follows on each other is alike, so it counts for less; few
    points are known badly (Student).
    """
    values, n = signal.values, len(signal.points)
    mean = signal.mean
    if n < FEWEST_POINTS:
        return Estimate(mean, math.inf, n)
    spread = sum((value - mean) ** 2 for value in values)
    if spread <= (1e-9 * abs(mean)) ** 2 * n:
        return Estimate(mean, 0.0, n)
    alike = sum((one - mean) * (two - mean) for one, two in pairwise(values)) / spread
    alike = min(
        _MOST_CORRELATED, max(0.0, alike + (1.0 + 4.0 * alike) / n)
    )  # few underestimate it (Marriott, Pope 1954)
    student = (n - 1) / (n - 3) if n > 3 else 4.0
    return Estimate(
        mean, math.sqrt(spread / (n - 1) / n * (1.0 + alike) / (1.0 - alike) * student), n
    )


def radius(
    now: Estimate, former_error: float | None, planned_points: float, error_rate: float
) -> float:
    """Return how far the current mean may differ from the former one by chance, at any look.
    `former_error`: None if none was kept; the current error is used.
    """
    error = math.hypot(now.error, now.error if former_error is None else former_error)
    if error == 0.0 or not math.isfinite(error):
        return error
    ratio = now.points * _TIGHTEST / max(planned_points, 1.0)
    return error * math.sqrt(
        (1.0 + 1.0 / ratio) * (math.log(1.0 + ratio) - 2.0 * math.log(error_rate))
    )


def lasting(now: Estimate, former_error: float | None, reach: float) -> float:
    """Return the part of the radius that is due to the former mean; further observation does not
    reduce it.
    """
    error = math.hypot(now.error, former_error or 0.0)
    return (
        reach * (former_error or 0.0) / error
        if error > 0.0 and math.isfinite(error) and math.isfinite(reach)
        else 0.0
    )


def longer_s(span_s: float, distance: float, reach: float, stays: float = 0.0) -> float | None:
    """For how much longer to look until that distance would be clear; None if that cannot be
    foreseen.

    Errors go by the root of time, but for what `stays` of the reach.
    """
    if distance <= stays or not math.isfinite(reach) or reach <= distance:
        return None
    return span_s * ((reach**2 - stays**2) / (distance**2 - stays**2) - 1.0)
