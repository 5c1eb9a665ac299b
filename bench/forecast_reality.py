"""A forecast against reality: the twin calibrated on the real vLLM, then asked for a workload that
the engine has not seen yet.

    python bench/forecast_reality.py [--runs 5] [--seed 1] [--shape small] [--out FILE] [--keep]

One engine on this machine's processors. First the calibration (bench/forecast_calibration.py). Then
two workloads: one under pressure (more comes than can be served, and outputs outgrow the pool), and
a calm one, of other lengths and rates than the calibration's. Each is a trace that is sent request
by request at its instants to the real engine: five times, each with other prompts of the same
lengths.

Every run is forecast just before it, and the forecast is on disk before the engine is sent the
first request of it. The speed of a shared machine wanders by more than the allowance within
minutes, so a few seconds of the calibration's kind of load before each run tell how much faster or
slower the engine is now than while it was calibrated, and the whole pace is scaled by that.

forecast  of a run: the mean of twenty runs of the twin, in which every arrival is up to a step late
and every coefficient of the pace a
          few per cent off, as they are in reality: one run decides by a hair who is thrown out, and
          its count of preemptions is one of many. In the table: the mean of the five forecasts
by metrics  the same forecast with a pace from the engine's metrics alone, as `barostat what-if
--from URL` has it; not judged here
error     of the mean of the forecasts against the mean of the runs
allowed   10 % for means and counts, 15 % for p50, 25 % for p99; or 1.5 standard deviations of the
runs, where that is more

Exits 1 if a forecast is off by more. A machine that does something else besides gives other runs:
let it be idle.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.forecast_calibration import calibrate, gauge, settings_of, warm_up
from bench.kept import Figure, Kept, keep
from dev.engine import Engine, is_installed
from dev.engine_says import counter, fine_stamps, scrape
from dev.replay import Answer, replay

from barostat.twin.forms import simulate
from barostat.twin.linear_pace import LinearPace
from barostat.twin.request import Row
from barostat.twin.settings import Settings
from barostat.twin.summary import Spread, spread, summarise

MAX_NUM_SEQS, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, KV_BLOCKS = 32, 2048, 4096, 64
FLAGS = (
    "--max-model-len", str(MAX_MODEL_LEN), "--num-gpu-blocks-override", str(KV_BLOCKS), "--max-num-seqs", str(MAX_NUM_SEQS),
    "--max-num-batched-tokens", str(MAX_NUM_BATCHED_TOKENS),
    "--enable-logging-iteration-details",
)  # fmt: skip
SPREADS = 1.5
FORECAST_RUNS = 20
PACE_VARIES_RATIO = 0.03
ARRIVAL_VARIES_S = 0.02


@dataclass(frozen=True, slots=True)
class Workload:
    """What is forecast. `share`: arrivals per second over what the engine could at most serve of
    these lengths.
    """

    name: str
    share: float
    seconds: float
    input_tokens: tuple[int, int]
    output_tokens: tuple[int, int]


WORKLOADS = (
    Workload("pressure", 1.6, 30.0, (100, 500), (200, 500)),
    Workload("calm", 0.5, 45.0, (200, 1200), (40, 120)),
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """One row of the table: its name, its allowance, and where it is in what was measured."""

    name: str
    allowed_ratio: float
    unit: str = "s"


QUANTITIES = (
    Quantity("preemptions", 0.10, ""), Quantity("output tokens/s", 0.10, ""), Quantity("TTFT mean", 0.10), Quantity("TTFT p50", 0.15),
    Quantity("TTFT p99", 0.25), Quantity("ITL mean", 0.10), Quantity("ITL p50", 0.15), Quantity("ITL p99", 0.25),
)  # fmt: skip


def rows_of(workload: Workload, rate_per_s: float, seed: int) -> list[Row]:
    """The trace: random arrivals, lengths drawn evenly."""
    dice = random.Random(f"{workload.name}/{seed}")
    rows: list[Row] = []
    at = 0.0
    while at < workload.seconds:
        rows.append(
            Row(
                str(len(rows)),
                at,
                dice.randint(*workload.input_tokens),
                dice.randint(*workload.output_tokens),
            )
        )
        at += dice.expovariate(rate_per_s)
    return rows


def capacity_per_s(workload: Workload, settings: Settings, pace: LinearPace) -> float:
    """Requests of these lengths per second that the twin serves when there are always more."""
    rows = [row._replace(arrival_s=0.0) for row in rows_of(workload, 10.0, 0)[:200]]
    outcome = simulate(settings, rows, pace)
    return len(rows) / (outcome.end_ns / 1e9)


def forecast(settings: Settings, rows: Sequence[Row], pace: LinearPace) -> dict[str, float]:
    """Every quantity as the twin has it: the mean of runs that differ by what cannot be known
    beforehand.
    """
    dice = random.Random(len(rows))
    runs = [
        _one_run(settings, _late(rows, dice), _varied(pace, dice)) for _ in range(FORECAST_RUNS)
    ]
    return {name: statistics.fmean(run[name] for run in runs) for name in runs[0]}


def _late(rows: Sequence[Row], dice: random.Random) -> list[Row]:
    return [
        row._replace(arrival_s=row.arrival_s + dice.uniform(0.0, ARRIVAL_VARIES_S)) for row in rows
    ]


def _varied(pace: LinearPace, dice: random.Random) -> LinearPace:
    names = ("base_s", "prefill_token_s", "decode_s", "kv_token_s", "pair_s")
    return replace(
        pace, **{name: getattr(pace, name) * dice.gauss(1.0, PACE_VARIES_RATIO) for name in names}
    )


def _one_run(settings: Settings, rows: Sequence[Row], pace: LinearPace) -> dict[str, float]:
    outcome = simulate(settings, rows, pace)
    summary = summarise(outcome, settings.usable_blocks, front_s=pace.front_s)
    return _quantities(outcome.preemptions, summary.output_tokens_per_s, summary.ttft, summary.itl)


def measured(engine: Engine, rows: Sequence[Row], seed: int) -> dict[str, float]:
    """Every quantity as the clients of the real engine had it; preemptions by the engine's own
    counter.
    """
    before = counter(scrape(engine), "vllm:num_preemptions_total")
    answers = replay(engine.url, rows, seed)
    preemptions = counter(scrape(engine), "vllm:num_preemptions_total") - before
    broken = [answer for answer in answers if answer.failed]
    if broken:
        raise RuntimeError(f"{len(broken)} of {len(answers)} requests failed: {broken[0].failed}")
    merged = sum(answer.row.output_tokens - len(answer.token_s) for answer in answers)
    late_s = max(answer.sent_s - answer.row.arrival_s for answer in answers)
    if merged or late_s > 0.05:
        print(
            f"  {merged} tokens came together with another, the latest request was sent "
            f"{late_s:.3f} s late",
            file=sys.stderr,
        )
    return of_answers(int(preemptions), answers)


def of_answers(preemptions: int, answers: Sequence[Answer]) -> dict[str, float]:
    """The quantities of one run, defined as the twin's summary defines them."""
    first_s = min(answer.row.arrival_s for answer in answers)
    tokens = sum(answer.row.output_tokens for answer in answers)
    last_s = max(answer.token_s[-1] for answer in answers)
    ttft = spread(answer.token_s[0] - answer.row.arrival_s for answer in answers)
    gaps = [
        late - early
        for answer in answers
        for early, late in zip(answer.token_s, answer.token_s[1:], strict=False)
    ]
    return _quantities(preemptions, tokens / (last_s - first_s), ttft, spread(gaps))


def _quantities(preemptions: int, per_s: float, ttft: Spread, itl: Spread) -> dict[str, float]:
    values = (preemptions, per_s, ttft.mean, ttft.p50, ttft.p99, itl.mean, itl.p50, itl.p99)
    return {
        quantity.name: float(value or 0.0)
        for quantity, value in zip(QUANTITIES, values, strict=True)
    }


def verdicts(rounds: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each quantity: forecasts, runs, error, allowance, whether it holds; what metrics
    alone gave is told, not judged.
    """
    found = []
    for quantity in QUANTITIES:
        real, told, by_metrics = (
            [one[kind][quantity.name] for one in rounds if kind in one]
            for kind in ("run", "forecast", "byMetrics")
        )
        mean = statistics.fmean(real)
        error = abs(statistics.fmean(told) - mean)
        deviation = statistics.stdev(real) if len(real) > 1 else 0.0
        allowed = max(quantity.allowed_ratio * mean, SPREADS * deviation)
        found.append({
            "quantity": quantity.name, "forecast": statistics.fmean(told), "runs": real, "mean": mean, "deviation": deviation,
            "error": error, "errorRatio": error / mean if mean else None, "allowed": allowed,
            "by": "ratio" if allowed == quantity.allowed_ratio * mean else "spread", "holds": error <= allowed,
            "byMetrics": statistics.fmean(by_metrics) if by_metrics else None,
        })  # fmt: skip
    return found


def table(title: str, found: Sequence[dict[str, Any]]) -> str:
    """The rows for a terminal."""
    lines = [
        title,
        (
            f"{'':16} {'forecast':>9} {'real':>9}   {'runs':<44} {'error':>7} {'allowed':>8} "
            f"{'by metrics':>11}"
        ),
    ]
    for row in found:
        runs = " ".join(f"{value:8.4g}" for value in row["runs"])
        error, allowed = (
            f"{row[name] / row['mean']:.1%}" if row["mean"] else f"{row[name]:.3g}"
            for name in ("error", "allowed")
        )
        told = "-" if row["byMetrics"] is None else f"{row['byMetrics']:.4g}"
        lines.append(
            f"{row['quantity']:16} {row['forecast']:9.4g} {row['mean']:9.4g}   {runs:<44} "
            f"{error:>7} {allowed:>8} {told:>11}"
            f"  {'holds' if row['holds'] else 'OFF'}{'' if row['by'] == 'ratio' else ' (spread)'}"
        )
    return "\n".join(lines)


def prefer(engine: Engine) -> None:
    """What else this machine does comes after the engine and us, as far as we may say so."""
    for pid in (engine.pid, os.getpid()):
        with contextlib.suppress(OSError):
            (Path("/proc") / str(pid) / "autogroup").write_text("-20")


def keep_apart(engine: Engine) -> None:
    """The core has a processor to itself; everything else, this process too, shares the others."""
    processors = os.sched_getaffinity(0)
    if len(processors) < 2:
        return
    own = {max(processors)}
    for process in engine.processes():
        for task in (Path("/proc") / str(process.pid) / "task").iterdir():
            with contextlib.suppress(OSError):
                os.sched_setaffinity(
                    int(task.name), own if process.role == "EngineCore" else processors - own
                )
    os.sched_setaffinity(0, processors - own)


def keep_log(engine: Engine, out: Path | None) -> None:
    """The engine's log so far lies beside the report: anybody can calibrate on it again."""
    if out is not None:
        out.with_suffix(".log").write_text(engine.log_text())


def run(arguments: argparse.Namespace) -> int:
    """Calibrate, forecast, measure, compare."""
    report: dict[str, Any] = {"seed": arguments.seed, "shape": arguments.shape, "flags": FLAGS}
    with (
        tempfile.TemporaryDirectory() as folder,
        Engine(*FLAGS, shape=arguments.shape, env=fine_stamps(Path(folder))) as engine,
    ):
        prefer(engine)
        engine.wait_ready()
        if arguments.apart:
            keep_apart(engine)
        warm_up(engine)
        settings = settings_of(engine, MAX_NUM_SEQS, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN)
        calibrated = calibrate(engine, settings, arguments.seed)
        pace = calibrated.pace
        print(
            f"calibrated on {calibrated.steps:,} steps: base {pace.base_s * 1e3:.2f} ms, "
            f"prompt token {pace.prefill_token_s * 1e6:.1f} us, "
            f"request {pace.decode_s * 1e6:.0f} us, cached token {pace.kv_token_s * 1e9:.0f} ns, "
            f"pair {pace.pair_s * 1e9:.0f} ns, front {pace.front_s * 1e3:.1f} ms; "
            f"a step is off by {pace.error_ratio:.1%}",
            flush=True,
        )
        report["pace"] = asdict(pace)
        keep_log(engine, arguments.out)
        report["paceByMetrics"] = (
            None if calibrated.by_metrics is None else asdict(calibrated.by_metrics)
        )
        written = arguments.out or Path(tempfile.gettempdir()) / "forecast_reality.json"
        report["workloads"], report["comparisons"] = {}, {}
        at_first = statistics.fmean(gauge(engine, settings, pace, turn) for turn in (1, 3))
        print(f"forecasts go to {written}", flush=True)
        for place, workload in enumerate(WORKLOADS):
            rate = workload.share * capacity_per_s(workload, settings, pace)
            rows = rows_of(workload, rate, arguments.seed)
            rounds: list[dict[str, Any]] = []
            report["workloads"][workload.name] = {
                "ratePerSecond": rate,
                "requests": len(rows),
                "rounds": rounds,
            }
            for turn in range(arguments.runs):
                seed = arguments.seed * 10_000 + place * 100 + 10 * turn
                now = gauge(engine, settings, pace, seed) / at_first
                told: dict[str, Any] = {
                    "slower": now,
                    "forecast": forecast(settings, rows, pace.scaled(now)),
                }
                if calibrated.by_metrics is not None:
                    told["byMetrics"] = forecast(settings, rows, calibrated.by_metrics.scaled(now))
                rounds.append(told | {"forecastAt": time.time()})
                written.write_text(json.dumps(report, indent=1))
                rounds[-1]["run"] = measured(engine, rows, seed + 5)
                time.sleep(0.5)
            report["comparisons"][workload.name] = found = verdicts(rounds)
            speeds = ", ".join(f"{round_['slower']:.2f}" for round_ in rounds)
            title = (
                f"\n{workload.name}: {len(rows)} requests at {rate:.2f}/s, "
                f"{workload.input_tokens} + {workload.output_tokens} tokens"
            )
            print(
                table(f"{title}; a step took {speeds} times as long as when calibrated", found),
                flush=True,
            )
            written.write_text(json.dumps(report, indent=1))
    if arguments.keep:
        keep("forecasts", _kept(report, arguments.runs))
    return (
        0 if all(row["holds"] for found in report["comparisons"].values() for row in found) else 1
    )


def _kept(report: dict[str, Any], runs: int) -> Kept:
    figures = [
        Figure(
            f"{workload}, {row['quantity']}",
            f"forecast {row['forecast']:.4g}, measured {row['mean']:.4g} (allowed {row['allowed']:.2g} off)",
            runs,
            "CPU",
        )
        for workload, found in report["comparisons"].items()
        for row in found
    ]
    rows = [row for found in report["comparisons"].values() for row in found]
    held = Figure(
        "within what is allowed", f"{sum(row['holds'] for row in rows)} of {len(rows)}", len(rows), "CPU"
    )  # fmt: skip
    return Kept(
        "python bench/forecast_reality.py --keep",
        "two workloads on the real vLLM 0.32.0 on this machine's processors, calibrated on a third",
        [held, *figures],
        ["No card is in it; `make gpu` measures the same where there is one.",
         "A machine that does something else besides gives other runs."],
    )  # fmt: skip


def main() -> int:
    """Read the arguments."""
    parser = argparse.ArgumentParser(
        description="A forecast of the twin against the real vLLM on this machine's processors."
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shape", default="small")
    parser.add_argument(
        "--no-apart",
        dest="apart",
        action="store_false",
        help="let the system place the engine's processes",
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument("--keep", action="store_true", help="write bench/results/forecasts.json")
    arguments = parser.parse_args()
    if not is_installed():
        print("forecast_reality: vLLM is not installed here; run `make vllm`", file=sys.stderr)
        return 2
    return run(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
