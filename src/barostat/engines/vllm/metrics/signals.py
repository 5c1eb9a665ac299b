"""vLLM's /metrics, 0.6 to 0.33: scrapes -> signals by engine, settings, models, version.

The door of the room: `read` a text, `signals` and `problems` of several scrapes, `settings`,
`model_names` and `version_hint` of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from barostat.catalog import metric_names as names
from barostat.core.signal import Signal
from barostat.engines.vllm.metrics.exposition import Exposition, read
from barostat.engines.vllm.metrics.gauges import gauge_signals
from barostat.engines.vllm.metrics.histograms import histogram_signals
from barostat.engines.vllm.metrics.preempted import preempted_signal
from barostat.engines.vllm.metrics.rates import rate_signals
from barostat.engines.vllm.metrics.sample import Sample
from barostat.engines.vllm.metrics.scrapes import EngineScrapes, Scrape, engines_of, in_order
from barostat.engines.vllm.metrics.settings import VersionHint, model_names, settings, version_hint

__all__ = [
    "Digest",
    "Exposition",
    "Sample",
    "VersionHint",
    "digest",
    "model_names",
    "problems",
    "read",
    "settings",
    "signals",
    "version_hint",
]

# A pause between scrapes this many times the usual one is worth a remark.
_GAP = 3.0


@dataclass(frozen=True, slots=True)
class Digest:
    """The result of scrapes of one endpoint.

    `signals` by engine index as text ("" if samples have none). `problems`: one sentence each.
    """

    signals: dict[str, list[Signal]]
    problems: tuple[str, ...]


def signals(scrapes: Sequence[tuple[float, Exposition, str]]) -> dict[str, list[Signal]]:
    """Every signal that the scrapes give, by engine index as text: "0", "1"; "" where the samples
    carry no engine label.

    What the API server counts for the whole endpoint (HTTP errors, rejections, its CPU) is given
    with each engine and says so.
    Shapes: scrapes as (at unix seconds, exposition, source), in any order.
    """
    return digest(scrapes).signals


def problems(scrapes: Sequence[tuple[float, Exposition, str]]) -> tuple[str, ...]:
    """Return the problems of the scrapes: truncated responses, restarts, gaps, a clock that went
    backwards.
    """
    return digest(scrapes).problems


def digest(scrapes: Sequence[tuple[float, Exposition, str]]) -> Digest:
    """Signals and problems in one pass."""
    ordered, remarks = in_order(scrapes)
    remarks += _gaps(ordered)
    found: dict[str, list[Signal]] = {}
    present: dict[str, list[Scrape]] = {}
    for scrape in ordered:
        for index in engines_of(scrape.exposition):
            present.setdefault(index, []).append(scrape)
    for index in sorted(present, key=lambda text: (len(text), text)):
        engine = EngineScrapes(index, present[index])
        made = (
            *gauge_signals(engine),
            *rate_signals(engine),
            *histogram_signals(engine),
            preempted_signal(engine),
        )
        found[index] = [one for one in made if one is not None]
        who = f"engine {index}" if index else "the engine"
        remarks += [f"{who}: {problem}" for problem in engine.problems]
        if len(present[index]) < len(ordered):
            remarks.append(f"{who} is in {len(present[index])} of {len(ordered)} scrapes only")
        if shared := _shared_by(engine):
            remarks.append(f"{who}: {shared}")
    return Digest(found, tuple(dict.fromkeys(remarks)))


def _gaps(ordered: Sequence[Scrape]) -> list[str]:
    pauses = [later.at - earlier.at for earlier, later in pairwise(ordered)]
    if len(pauses) < 3:
        return []
    usual = median(pauses)
    long = [pause for pause in pauses if pause > _GAP * usual]
    return (
        [f"no scrape for {max(long):.0f} s although one came every {usual:.0f} s"] if long else []
    )


def _shared_by(engine: EngineScrapes) -> str:
    """A remark where one engine index has several series, as when several servers were merged into
    one text.
    """
    samples = [
        sample
        for sample in engine.scrapes[-1].exposition.named(names.RUNNING[0])
        if sample.labels.get("engine", "") == engine.engine
    ]
    keys = {key for sample in samples for key in sample.labels} - {"pid"}
    differing = [
        key for key in sorted(keys) if len({sample.labels.get(key) for sample in samples}) > 1
    ]
    if not differing:
        return ""
    return (
        f"{len(samples)} series that differ in {', '.join(differing)}: counts are added up, of "
        "ratios the highest is taken"
    )
