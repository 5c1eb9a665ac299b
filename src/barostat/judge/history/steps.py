"""A range of the past, step by step: what each replica was diagnosed as, and the fleet's figures at
that time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from barostat.core.diagnosis import Diagnosis, NextStep, Trials
from barostat.core.signal import Signal
from barostat.judge.diagnosis.diagnose import Examination


@dataclass(frozen=True, slots=True)
class ReplicaSeen:
    """One replica's diagnosis at one step."""

    name: str
    diagnosis: Diagnosis
    next: tuple[NextStep, ...] = ()
    trials: Trials | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Observations from `start` to `end`, unix seconds. `figures`: by the names of `FIGURES`;
    missing if not measured.
    """

    start: float
    end: float
    fleet: Diagnosis
    replicas: tuple[ReplicaSeen, ...]
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def harmful(self) -> bool:
        """True if some replica was in trouble."""
        return self.fleet.severity in ("warning", "critical")


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a step. `signal`: where it is from; `of_points`: what becomes of one replica's
    points; `together`: of the replicas'.
    """

    name: str
    title: str
    unit: str
    signal: str
    of_points: Callable[[Signal], float]
    together: Callable[[Sequence[float]], float]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _of_all(signal: Signal) -> float:
    return signal.mean


def _high(signal: Signal) -> float:
    return signal.high


FIGURES: tuple[Figure, ...] = (
    Figure(
        "requestsPerSecond", "Requests finished per second", "1/s", "finished_per_s", _of_all, sum
    ),
    Figure(
        "promptTokensMean", "Prompt tokens, mean", "tokens", "prompt_tokens_mean", _of_all, _mean
    ),
    Figure(
        "outputTokensMean", "Output tokens, mean", "tokens", "output_tokens_mean", _of_all, _mean
    ),
    Figure("running", "Running", "count", "running_requests", _of_all, sum),
    Figure("waiting", "Waiting", "count", "waiting_requests", _of_all, sum),
    Figure("kvUsageRatio", "KV usage, mean", "ratio", "kv_usage_ratio", _of_all, _mean),
    Figure("kvUsageHighRatio", "KV usage, highest", "ratio", "kv_usage_ratio", _high, max),
    Figure(
        "preemptionsPerSecond", "Preemptions per second", "1/s", "preemptions_per_s", _of_all, sum
    ),
    Figure(
        "outputTokensPerSecond",
        "Output tokens per second",
        "tokens/s",
        "generation_tokens_per_s",
        _of_all,
        sum,
    ),
    Figure("ttftP99Seconds", "TTFT p99, worst replica", "s", "ttft_p99_s", _high, max),
    Figure("itlP99Seconds", "ITL p99, worst replica", "s", "itl_p99_s", _high, max),
)


def step_of(found: Examination, start: float, end: float) -> Step:
    """The step that this examination is of."""
    windows = [window for by_engine in found.windows.values() for window in by_engine.values()]
    figures: dict[str, float] = {}
    for figure in FIGURES:
        signals = [
            signal
            for window in windows
            if (signal := window.signals.get(figure.signal)) is not None
        ]
        within = [cut for signal in signals if (cut := signal.since(start)) is not None]
        if within:
            figures[figure.name] = figure.together([figure.of_points(signal) for signal in within])
    figures["replicas"] = float(len(found.report.replicas))
    replicas = tuple(
        ReplicaSeen(one.name, one.diagnosis, one.next, one.trials) for one in found.report.replicas
    )
    return Step(start, end, found.report.fleet, replicas, figures)


def mean_figures(steps: Iterable[Step]) -> dict[str, float]:
    """Each figure's mean over the steps, of highest values the highest; empty for no step."""
    listed = list(steps)
    found: dict[str, float] = {}
    for figure in FIGURES:
        values = [step.figures[figure.name] for step in listed if figure.name in step.figures]
        if values:
            found[figure.name] = max(values) if figure.of_points is _high else _mean(values)
    return found
