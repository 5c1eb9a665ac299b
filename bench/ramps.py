"""How early and how quickly: ramps into KV pressure, and busy but healthy runs, on the real vLLM.

    python bench/ramps.py [--runs 10] [--seed 1] [--out FILE]

Beside each run `barostat diagnose URL --watch -o json --for 30s --interval 5s` looks on. It is
given the address alone. What is true is measured apart from it, twice a second, from the engine's
own metrics: the first preemption counted, the first instant at which requests had waited for
capacity for 10 s on end, the first instant at which usage was 0.95 with requests waiting.

    quick   time from the first preemption, or from the 10 s of waiting, whichever is first, to a
    report with the right cause early   a forecast of exhaustion before usage first is 0.95 with
    requests waiting

A ramp's right cause follows from how it is made: outputs that outgrow the pool after admission give
preemption thrash, prompts that fill it at admission give queueing. Times are those at which a
report was there to be read. Every run has other numbers (bench/ramp_runs.py).
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.ramp_runs import Run, healthy_runs, ramps
from dev.engine import Engine, is_installed
from dev.load import Background

BAROSTAT = Path(sys.executable).with_name("barostat")
INTERVAL_S = 5
WINDOW_S = 30
TRUTH_EVERY_S = 0.5
WAITED_S = 10.0
FULL_RATIO = 0.95
QUICK_S = 15.0
EARLY_SHARE = 0.7
PRESSURE = ("kv-preemption-thrash", "kv-admission-queueing")


@dataclass(slots=True)
class Truth:
    """What the engine went through; seconds after the start of the load, None where it did not
    happen.
    """

    preempted_s: float | None = None
    waited_s: float | None = None
    full_s: float | None = None
    preemptions: int = 0
    usage_high: float = 0.0
    usage_mean: float = 0.0
    samples: int = 0

    @property
    def harmed_s(self) -> float | None:
        """The first harm of either kind."""
        return min((at for at in (self.preempted_s, self.waited_s) if at is not None), default=None)


@dataclass(slots=True)
class Seen:
    """One report: when it could be read, what it said."""

    after_s: float
    cause: str
    confidence: float
    exhaustion_s: float | None
    because: str


@dataclass(slots=True)
class Outcome:
    """One run with its truth and its reports."""

    run: Run
    truth: Truth
    seen: list[Seen] = field(default_factory=list)

    @property
    def named_s(self) -> float | None:
        """First report with the right cause, from the harm on or shortly before it."""
        return next(
            (report.after_s for report in self.seen if report.cause == self.run.cause), None
        )

    @property
    def delay_s(self) -> float | None:
        """From the first harm to the right name; 0 if it was named before; None if there was no
        harm or it was never named.
        """
        if self.truth.harmed_s is None or self.named_s is None:
            return None
        return max(0.0, self.named_s - self.truth.harmed_s)

    @property
    def forecast_s(self) -> float | None:
        """First report with a forecast."""
        return next(
            (report.after_s for report in self.seen if report.exhaustion_s is not None), None
        )

    @property
    def early(self) -> bool:
        """There was a forecast, and it came before the pool was full with requests waiting."""
        full_s = self.truth.full_s
        return self.forecast_s is not None and full_s is not None and self.forecast_s < full_s

    @property
    def false_alarms(self) -> int:
        """Reports with a forecast, or with a cause other than a healthy one, of a healthy run."""
        return sum(
            1
            for report in self.seen
            if report.exhaustion_s is not None or not report.cause.startswith("healthy")
        )


def observe(engine: Engine, run: Run, keep: Path | None = None) -> Outcome:
    """The run has been carried out on the idle engine; `keep`: the folder for a bundle of its
    scrapes.
    """
    truth, seen = Truth(), list[Seen]()
    command = [
        str(BAROSTAT),
        "diagnose",
        engine.url,
        "--watch",
        "-o",
        "json",
        "--for",
        f"{WINDOW_S}s",
        "--interval",
        f"{INTERVAL_S}s",
    ]
    watcher = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert watcher.stdout is not None
    # The watcher has looked at the idle engine for a while, as it would have in production.
    time.sleep(2 * INTERVAL_S + run.lead_s)
    began = time.monotonic()
    reader = threading.Thread(target=_read, args=(watcher.stdout, began, seen), daemon=True)
    reader.start()
    try:
        with Background(engine.url, run.load):
            _measure(engine, run, began, truth, keep)
    finally:
        watcher.terminate()
        _, told = watcher.communicate(timeout=20)
        reader.join(10)
    if not seen:
        raise RuntimeError(f"the watcher gave no report: {told[-1000:]}")
    _settle(engine)
    return Outcome(run, truth, [report for report in seen if report.after_s > 0])


def _read(lines: IO[str], began: float, seen: list[Seen]) -> None:
    for line in lines:
        after_s = time.monotonic() - began
        report: dict[str, Any] = json.loads(line)
        replica = report["replicas"][0]
        diagnosis = replica["diagnosis"]
        forecast = replica["forecast"]
        seen.append(
            Seen(
                round(after_s, 1),
                diagnosis["cause"],
                diagnosis["confidence"],
                forecast["exhaustionInSeconds"],
                forecast["because"],
            )
        )


def _measure(engine: Engine, run: Run, began: float, truth: Truth, keep: Path | None) -> None:
    """Truth is filled in until the run is over: a while after the first harm, or after its longest
    time.
    """
    first = _metrics(scrape(engine))
    kept_at = 0.0
    waiting_since: float | None = None
    until = began + run.longest_s
    while (now := time.monotonic()) < until:
        text = scrape(engine)
        if keep is not None and now - kept_at >= INTERVAL_S:
            kept_at = now
            (keep / f"{int(time.time())}.prom").write_text(text)
        metrics = _metrics(text)
        after_s = round(now - began, 1)
        usage, waiting = metrics["vllm:kv_cache_usage_perc"], metrics["capacity"]
        truth.preemptions = int(
            metrics["vllm:num_preemptions_total"] - first["vllm:num_preemptions_total"]
        )
        truth.usage_high = max(truth.usage_high, usage)
        truth.samples += 1
        truth.usage_mean += (usage - truth.usage_mean) / truth.samples
        if truth.preemptions and truth.preempted_s is None:
            truth.preempted_s = after_s
        if usage >= FULL_RATIO and waiting > 0 and truth.full_s is None:
            truth.full_s = after_s
        waiting_since = (waiting_since or now) if waiting > 0 else None
        if waiting_since is not None and now - waiting_since >= WAITED_S and truth.waited_s is None:
            truth.waited_s = after_s
        if truth.harmed_s is not None:
            until = min(until, began + truth.harmed_s + run.after_harm_s)
        time.sleep(max(0.0, TRUTH_EVERY_S - (time.monotonic() - now)))


def scrape(engine: Engine) -> str:
    """What /metrics says now."""
    return httpx.get(engine.url + "/metrics", timeout=30).text


def _metrics(text: str) -> dict[str, float]:
    """The numbers that the truth is made of."""
    found = dict.fromkeys(
        ("vllm:kv_cache_usage_perc", "vllm:num_preemptions_total", "capacity"), 0.0
    )
    for line in text.splitlines():
        name = line.partition("{")[0]
        if name in found:
            found[name] = float(line.rsplit(" ", 1)[1])
        elif name == "vllm:num_requests_waiting_by_reason" and 'reason="capacity"' in line:
            found["capacity"] = float(line.rsplit(" ", 1)[1])
    return found


def _settle(engine: Engine) -> None:
    """Nothing runs any more."""
    deadline = time.monotonic() + 30
    while _metrics(scrape(engine))["vllm:kv_cache_usage_perc"] > 0 and time.monotonic() < deadline:
        time.sleep(0.5)


def carry_out(
    runs: list[Run], out: Path | None = None, bundles: Path | None = None
) -> list[Outcome]:
    """Every run's outcome, also written to `out` as JSON, one a line; runs of equal flags share an
    engine. `bundles`: keeps the scrapes.
    """
    outcomes = []
    if out:
        out.write_text("")
    for flags in dict.fromkeys(run.flags for run in runs):
        with Engine(*flags, shape="small") as engine:
            engine.wait_ready()
            for run in (run for run in runs if run.flags == flags):
                keep = None if bundles is None else bundles / run.name / "metrics" / "replica-0"
                if keep is not None:
                    keep.mkdir(parents=True)
                outcomes.append(outcome := observe(engine, run, keep))
                print(row(outcome), flush=True)
                if out:
                    with out.open("a") as lines:
                        lines.write(json.dumps(asdict(outcome)) + "\n")
    return outcomes


def row(outcome: Outcome) -> str:
    """One line of the table."""

    def seconds(value: float | None) -> str:
        return "    -" if value is None else f"{value:5.1f}"

    truth = outcome.truth
    changes: list[Seen] = []
    for report in outcome.seen:
        if not changes or changes[-1].cause != report.cause:
            changes.append(report)
    story = ", ".join(f"{report.after_s:.0f} s {report.cause}" for report in changes)
    return (
        f"{outcome.run.name:<22} full {seconds(truth.full_s)}  preempted "
        f"{seconds(truth.preempted_s)} ({truth.preemptions:3d})"
        f"  waited {seconds(truth.waited_s)}  usage {truth.usage_mean:.2f}/{truth.usage_high:.2f}"
        f"  | forecast {seconds(outcome.forecast_s)}  named {seconds(outcome.named_s)}  "
        f"delay {seconds(outcome.delay_s)}  | {story}"
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gate's numbers."""

    ramps: int
    harmed: int
    median_delay_s: float
    early: int
    healthy: int
    healthy_forecasts: int
    healthy_alarms: int

    @property
    def passed(self) -> bool:
        """Quick, early, and quiet where all is well."""
        quick = self.harmed == self.ramps and self.median_delay_s <= QUICK_S
        return quick and self.early >= EARLY_SHARE * self.ramps and self.healthy_forecasts == 0


def verdict(outcomes: list[Outcome]) -> Verdict:
    """The gate's numbers. A ramp that was never named counts as endless delay."""
    into = [outcome for outcome in outcomes if outcome.run.cause in PRESSURE]
    healthy = [outcome for outcome in outcomes if outcome.run.cause not in PRESSURE]
    delays = [float("inf") if outcome.delay_s is None else outcome.delay_s for outcome in into]
    return Verdict(
        ramps=len(into),
        harmed=sum(1 for outcome in into if outcome.truth.harmed_s is not None),
        median_delay_s=statistics.median(delays) if delays else 0.0,
        early=sum(1 for outcome in into if outcome.early),
        healthy=len(healthy),
        healthy_forecasts=sum(1 for outcome in healthy if outcome.forecast_s is not None),
        healthy_alarms=sum(1 for outcome in healthy if outcome.false_alarms),
    )


def main(arguments: list[str]) -> int:
    """Carry out that many runs of each kind and print table, medians and gate."""
    parser = argparse.ArgumentParser(
        description="How early and how quickly the diagnosis sees pressure on the real vLLM."
    )
    parser.add_argument(
        "--runs", type=int, default=10, help="ramps, and as many healthy runs (default 10)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="also write every run as JSON, one a line")
    parser.add_argument(
        "--bundles",
        type=Path,
        help="also keep the scrapes of every run in a bundle of its name below this folder",
    )
    chosen = parser.parse_args(arguments)
    if not is_installed():
        print("ramps: the real vLLM is not installed here: run `make vllm`", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    outcomes = carry_out(
        [*ramps(chosen.runs, chosen.seed), *healthy_runs(chosen.runs, chosen.seed)],
        chosen.out,
        chosen.bundles,
    )
    result = verdict(outcomes)
    print(
        f"right cause after the first harm: median {result.median_delay_s:.1f} s of "
        f"{result.ramps} ramps (gate: {QUICK_S:.0f} s)"
    )
    print(
        f"forecast before the pool was full with requests waiting: {result.early} of "
        f"{result.ramps} (gate: {EARLY_SHARE:.0%})"
    )
    print(f"healthy runs with a forecast: {result.healthy_forecasts} of {result.healthy} (gate: 0)")
    print(f"healthy runs with any other alarm: {result.healthy_alarms - result.healthy_forecasts}")
    print("passed" if result.passed else "FAILED")
    return 0 if result.passed else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
