"""How early a filling pool is predicted, and how often a healthy one is: the trend over ten minutes
of `operator/predictions.py`, on the twin with published traces.

    python bench/predictions.py [TRACES] [--held 200] [--weeks 24] [--ramps 60] [--seed TEXT]
    TRACES: a folder with servegen_rates_10min, azure2023_conv, servegen_m-large_1h and servegen_r1_1h (.csv.gz)

The twin has a pool that holds that many requests of the trace's kind, and a step of 0.1 s. One look every 10 s.

Healthy: request rates of ServeGen's 14-day workloads (10-minute windows, a line between their middles),
scaled so that the busiest window asks for 65 % of what the pool carries; lengths of each trace in turn; Poisson
arrivals. A prediction is a false alarm where the pool is not full within half an hour.
Ramp: a trace's own requests and gaps, packed closer and closer, so that the rate grows within 15 minutes
from 40 % to 120 % of what the pool carries, from a new place in the trace each time. Lead: from the
first prediction after the ramp begins to the first full pool; and to the first preemption. Prints a table for each.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, quantiles

from barostat.io.input_files.requests_file import read_requests
from barostat.operator.engines import LOOKS_KEPT
from barostat.operator.predictions import PoolLook, pool_fills_in_s
from barostat.twin.fed import FedEngine
from barostat.twin.pace import EverySteps
from barostat.twin.request import Row
from barostat.twin.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
LENGTHS = ("azure2023_conv", "servegen_m-large_1h", "servegen_r1_1h")
RATES = ("m-large", "m-mid", "m-small")
BLOCK_TOKENS, STEP_S, LOOK_S = 16, 0.1, 10.0
PEAK_SHARE, FULL = 0.65, 0.97
BEGINS_S, RAMP_S, LOW_SHARE, HIGH_SHARE = 900.0, 900.0, 0.4, 1.2
AGAIN_S, COMES_TRUE_S = 600.0, 1800.0
"""Predictions closer than this are one; a pool that fills later was not what was predicted."""
DAY_S, WINDOW_S = 86_400.0, 600.0
LONGEST = 32_768


@dataclass(frozen=True)
class Kind:
    """The requests of a trace, the engine for them, and the rate that fills its pool."""

    name: str
    rows: tuple[Row, ...]
    settings: Settings
    full_per_s: float


def kind(name: str, folder: Path, held: int) -> Kind:
    """The trace as far as the model length goes; the pool holds so many of its requests, each for
    its time.
    """
    read, _ = read_requests(folder / f"{name}.csv.gz", BLOCK_TOKENS)
    rows = [
        row for row in read if row.output_tokens and row.input_tokens + row.output_tokens <= LONGEST
    ]
    stays = [row.output_tokens * STEP_S for row in rows]
    blocks = [(row.input_tokens + row.output_tokens / 2) / BLOCK_TOKENS + 0.5 for row in rows]
    held_s = fmean(stay * held for stay, held in zip(stays, blocks, strict=True))
    usable = max(round(held * held_s / fmean(stays)), LONGEST // BLOCK_TOKENS)
    settings = Settings(
        kv_blocks=usable + 1, max_model_len=LONGEST, max_num_seqs=2048, max_num_batched_tokens=8192,
        prefix_caching=False,
    )  # fmt: skip
    return Kind(name, tuple(rows), settings, usable / held_s)


@dataclass(frozen=True)
class Look:
    """The pool at one instant. `preemptions`: so far."""

    at_s: float
    usage: float
    running: int
    preemptions: int


def looks(settings: Settings, rows: Iterator[Row], until_s: float) -> Iterator[Look]:
    """The twin is fed with the rows, which are in order, and looked at."""
    engine = FedEngine(settings, EverySteps(round(STEP_S * 1e9)))
    coming = next(rows, None)
    at_s = 0.0
    while at_s < until_s:
        at_s += LOOK_S
        while coming is not None and coming.arrival_s < at_s:
            engine.put(coming, coming.arrival_s)
            coming = next(rows, None)
        until_ns = round(at_s * 1e9)
        while (due := engine.next_ns) is not None and due < until_ns and not engine.is_stuck:
            engine.advance(until_ns)
        used, running, _, preemptions = engine.load
        engine.outcome.load.clear()  # weeks of steps are not kept
        engine.lives.clear()
        yield Look(at_s, used, running, preemptions)


def told(seen: Sequence[Look]) -> list[float]:
    """When the pool is predicted to fill; once for each stretch."""
    found: list[float] = []
    last_s = -AGAIN_S
    for end in range(LOOKS_KEPT, len(seen) + 1):
        if seen[end - 1].usage >= FULL:
            continue
        window = tuple(
            PoolLook(one.at_s, one.usage, one.running) for one in seen[end - LOOKS_KEPT : end]
        )
        if pool_fills_in_s(window) is None:
            continue
        if window[-1][0] - last_s > AGAIN_S:
            found.append(window[-1][0])
        last_s = window[-1][0]
    return found


def rates(folder: Path) -> dict[str, list[float]]:
    """Requests per second of each workload's 10-minute windows."""
    found: dict[str, list[float]] = {name: [] for name in RATES}
    with gzip.open(folder / "servegen_rates_10min.csv.gz", "rt") as lines:
        for row in csv.DictReader(lines):
            if row["workload"] in found:
                found[row["workload"]].append(float(row["rps"]))
    return found


def healthy_rows(of: Kind, windows: Sequence[float], seed: str) -> Iterator[Row]:
    """Poisson arrivals at those rates, scaled to the pool; lengths are drawn from the trace."""
    dice = random.Random(seed)
    times = PEAK_SHARE * of.full_per_s / max(windows)
    most = max(windows) * times
    at_s, number = 0.0, 0
    while (at_s := at_s + dice.expovariate(most)) < (len(windows) - 1) * WINDOW_S:
        place = at_s / WINDOW_S
        low, high = windows[int(place)], windows[int(place) + 1]
        if dice.random() * most < times * (low + (high - low) * (place % 1)):
            number += 1
            row = dice.choice(of.rows)
            yield row._replace(request_id=str(number), arrival_s=at_s, hash_ids=None)


def ramp_rows(of: Kind, start: int) -> Iterator[Row]:
    """The trace's requests from that place on, its gaps packed to the ramp's rate."""
    mean_s = (of.rows[-1].arrival_s - of.rows[0].arrival_s) / (len(of.rows) - 1)
    at_s = 0.0
    for number in range(len(of.rows) - 1):
        place = (start + number) % (len(of.rows) - 1)
        share = LOW_SHARE + (HIGH_SHARE - LOW_SHARE) * max(0.0, at_s - BEGINS_S) / RAMP_S
        gap_s = of.rows[place + 1].arrival_s - of.rows[place].arrival_s
        at_s += gap_s / mean_s / (of.full_per_s * share)
        yield of.rows[place]._replace(request_id=str(number), arrival_s=at_s, hash_ids=None)


def _row(name: str, values: Sequence[float]) -> str:
    if len(values) < 2:
        return f"{name:34} {'-':>7} {'-':>7} {'-':>7}"
    low, *_, high = quantiles(values, n=10)
    return f"{name:34} {low:7.0f} {quantiles(values, n=2)[0]:7.0f} {high:7.0f}"


def healthy(kinds: Sequence[Kind], folder: Path, weeks: float, seed: str) -> tuple[int, int, float]:
    """Prints a line for each pair of rates and lengths: (false alarms, true ones, weeks)."""
    false = true = 0
    done = 0.0
    print(
        f"{'rates, lengths':34} {'weeks':>6} {'usage p50':>9} {'max':>5} {'true':>5} {'false':>6}"
    )
    of_all = [(name, windows, of) for name, windows in rates(folder).items() for of in kinds]
    for number, (name, windows, of) in enumerate(of_all * max(1, round(weeks))):
        if done >= weeks:
            break
        rows = healthy_rows(of, windows, f"{seed}{number}/{name}/{of.name}")
        seen = list(looks(of.settings, rows, (len(windows) - 1) * WINDOW_S))
        full = [one.at_s for one in seen if one.usage >= FULL]
        alarms = told(seen)
        came = sum(any(at < there <= at + COMES_TRUE_S for there in full) for at in alarms)
        span = len(seen) * LOOK_S / (7 * DAY_S)
        usage = sorted(one.usage for one in seen)
        print(f"{name + ', ' + of.name:34} {span:6.2f} {usage[len(usage) // 2]:9.2f} {usage[-1]:5.2f} {came:5} {len(alarms) - came:6}",
              flush=True)  # fmt: skip
        false, true, done = false + len(alarms) - came, true + came, done + span
    return false, true, done


def ramps(of: Kind, count: int) -> tuple[list[float], list[float], int]:
    """(leads to the full pool, leads to the first preemption, ramps not predicted)."""
    to_full, to_preempted, missed = [], [], 0
    for number in range(count):
        rows = ramp_rows(of, number * len(of.rows) // count)
        seen = list(looks(of.settings, rows, BEGINS_S + 1.5 * RAMP_S))
        full_s = next((one.at_s for one in seen if one.usage >= FULL), None)
        harmed_s = next((after.at_s for before, after in pairwise(seen) if after.preemptions > before.preemptions), None)  # fmt: skip
        before = [one for one in seen if full_s is None or one.at_s < full_s]
        first = next((at for at in told(before) if at > BEGINS_S), None)
        if full_s is None:
            continue
        if first is None:
            missed += 1
            continue
        to_full.append(full_s - first)
        if harmed_s is not None:
            to_preempted.append(harmed_s - first)
    return to_full, to_preempted, missed


def main() -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("traces", nargs="?", type=Path, default=ROOT.parent / "shared" / "traces")
    parser.add_argument("--held", type=int, default=200)
    parser.add_argument("--weeks", type=float, default=24.0)
    parser.add_argument("--ramps", type=int, default=60)
    parser.add_argument("--seed", default="", help="of the arrivals: other weeks")
    chosen = parser.parse_args()
    kinds = [kind(name, chosen.traces, chosen.held) for name in LENGTHS]
    leads: list[float] = []
    missed = told_of = 0
    print(f"{'15-minute ramps: seconds':34} {'p10':>7} {'p50':>7} {'p90':>7}")
    for of in kinds:
        to_full, to_preempted, lost = ramps(of, chosen.ramps // len(kinds))
        leads, missed, told_of = leads + to_full, missed + lost, told_of + len(to_full) + lost
        print(_row(f"{of.name}: lead to full", to_full))
        print(
            f"{_row('  to the first preemption', to_preempted)}   {lost} not predicted", flush=True
        )
    print(_row("all: lead to full", leads) + f"   {missed} of {told_of} not predicted\n")
    false, true, done = healthy(kinds, chosen.traces, chosen.weeks, chosen.seed)
    print(
        f"false alarms: {false} in {done:.1f} engine-weeks ({false / max(done, 1e-9):.2f} a week); {true} came true"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
