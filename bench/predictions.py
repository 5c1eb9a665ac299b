"""How early a filling pool is predicted, and how often a healthy one is: the trend over ten minutes
of `operator/predictions.py`.

    python bench/predictions.py --weeks 21 --ramps 60

The load is an open one: Poisson arrivals, lognormal stays of 30 s in the mean, pools that hold 60,
100 or 200 requests. Healthy: arrivals over a day follow a sine, so that the mean is half the pool.
Ramp: arrivals grow within 15 minutes from 40 % of the pool to 120 %. One look every 10 s. Lead: from
the first prediction to the first full pool; a prediction before the ramp begins counts as none.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from statistics import quantiles

import numpy as np
from numpy.typing import NDArray

from barostat.operator.engines import USAGE_KEPT
from barostat.operator.predictions import pool_fills_in_s

STEP_S = 10.0
STAY_S = 30.0
SPREAD = 0.8
FULL = 0.97
BEGINS_S, RAMP_S = 900.0, 900.0
POOLS = (60, 100, 200)
AGAIN_S = 600.0
"""Predictions closer than this are one."""


def usage(
    rate_per_s: Callable[[float], float], hours: float, pool: int, random: np.random.Generator
) -> NDArray[np.float64]:
    """The share of the pool that is held, at each look."""
    count = int(hours * 3600 / STEP_S)
    change = np.zeros(count + 1)
    mean = math.log(STAY_S) - SPREAD**2 / 2
    for index in range(count):
        arrived = random.poisson(rate_per_s(index * STEP_S) * STEP_S)
        for stay_s in random.lognormal(mean, SPREAD, arrived):
            change[index] += 1
            change[min(count, index + max(1, round(stay_s / STEP_S)))] -= 1
    return np.cumsum(change)[:count] / pool


def predicted_at(held: NDArray[np.float64]) -> list[float]:
    """The instants at which the pool is predicted to fill; one for each stretch."""
    found: list[float] = []
    last = -AGAIN_S
    for index in range(USAGE_KEPT, len(held)):
        if held[index] >= FULL:
            continue
        window = range(index - USAGE_KEPT + 1, index + 1)
        if pool_fills_in_s(tuple((STEP_S * at, float(held[at])) for at in window)) is None:
            continue
        if STEP_S * index - last > AGAIN_S:
            found.append(STEP_S * index)
        last = STEP_S * index
    return found


def main() -> int:
    """Print both figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weeks", type=float, default=21.0)
    parser.add_argument("--ramps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random = np.random.default_rng(arguments.seed)
    alarms = 0
    for pool in POOLS:
        full = pool / STAY_S

        def day(at: float, full: float = full) -> float:
            return full * (0.5 + 0.15 * math.sin(2 * math.pi * at / 86_400))

        alarms += len(predicted_at(usage(day, arguments.weeks / len(POOLS) * 168, pool, random)))
    leads, missed = [], 0
    for number in range(arguments.ramps):
        pool = POOLS[number % len(POOLS)]
        full = pool / STAY_S

        def ramp(at: float, full: float = full) -> float:
            return full * (0.4 + 0.8 * max(0.0, at - BEGINS_S) / RAMP_S)

        held = usage(ramp, 0.6, pool, random)
        filled = int(np.argmax(held >= FULL))
        told = [at for at in predicted_at(held[:filled]) if at > BEGINS_S]
        if told:
            leads.append(filled * STEP_S - told[0])
        else:
            missed += 1
    low, middle, high = (
        quantiles(leads, n=10)[0],
        quantiles(leads, n=2)[0],
        quantiles(leads, n=10)[-1],
    )
    print(f"false alarms: {alarms} in {arguments.weeks:g} engine-weeks")
    print(
        f"lead at a 15-minute ramp: p10 {low:.0f} s, p50 {middle:.0f} s, p90 {high:.0f} s; "
        f"{missed} of {arguments.ramps} not predicted"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
