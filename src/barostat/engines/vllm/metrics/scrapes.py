"""Scrapes over time: ordered, split by engine, gauges as series and counters as gains between
scrapes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from barostat.catalog import metric_names as names
from barostat.engines.vllm.metrics.exposition import Exposition
from barostat.engines.vllm.metrics.quantiles import Histogram, histogram
from barostat.engines.vllm.metrics.sample import Sample

# Start times of one process, read twice, differ by rounding at most.
_SAME_START_S = 2.0


class Scrape(NamedTuple):
    """One answer of /metrics. `at`: unix seconds. `source`: the path or URL it came from."""

    at: float
    exposition: Exposition
    source: str


class CounterStep(NamedTuple):
    """Increase of a counter from one scrape to the next."""

    start: float
    end: float
    gain: float
    restarted: bool = False

    @property
    def per_s(self) -> float:
        """Gain per second."""
        return self.gain / (self.end - self.start)


class HistogramStep(NamedTuple):
    """Observations and their sum from one scrape to the next."""

    start: float
    end: float
    observations: float
    total: float


def in_order(scrapes: Iterable[tuple[float, Exposition, str]]) -> tuple[list[Scrape], list[str]]:
    """Return the usable scrapes and the problems found, as sentences. Scrapes are oldest first, one
    per instant, all of one server process.

    The result does not depend on the input order, except the note about a clock that went
    backwards.
    """
    problems: list[str] = []
    given = [Scrape(*scrape) for scrape in scrapes]
    usable = []
    for scrape in given:
        if not math.isfinite(scrape.at):
            problems.append(f"{scrape.source}: a scrape without a time is left out")
        elif not scrape.exposition.is_vllm:
            problems.append(f"{scrape.source}: {'; '.join(scrape.exposition.problems)}")
        else:
            problems.extend(f"{scrape.source}: {problem}" for problem in scrape.exposition.problems)
            usable.append(scrape)
    if any(later.at < earlier.at for earlier, later in pairwise(usable)):
        problems.append("the scrapes were not in time order: sorted (a clock that went backwards?)")
    by_instant: dict[float, list[Scrape]] = {}
    for scrape in usable:
        by_instant.setdefault(scrape.at, []).append(scrape)
    twice = sum(1 for found in by_instant.values() if len(found) > 1)
    if twice:
        problems.append(f"{twice} instants were scraped more than once: one scrape of each is used")
    ordered = [
        max(found, key=_weight) if len(found) > 1 else found[0]
        for _, found in sorted(by_instant.items())
    ]
    return _of_one_process(ordered, problems), problems


def _weight(scrape: Scrape) -> tuple[bool, int, str, str]:
    """Sort key that prefers the more complete of two scrapes of one instant; ties are broken by
    content, not by input order.
    """
    samples = list(scrape.exposition.samples)
    return (not scrape.exposition.cut, len(samples), scrape.source, repr(samples))


def _of_one_process(ordered: list[Scrape], problems: list[str]) -> list[Scrape]:
    """Drop scrapes of another replica: behind a load balancer, start times alternate instead of
    only increasing.
    """
    starts = [started_at(scrape.exposition) for scrape in ordered]
    seen: list[float] = []
    for start in starts:
        if start is not None and (not seen or abs(start - seen[-1]) > _SAME_START_S):
            seen.append(start)
    if all(later > earlier for earlier, later in pairwise(seen)):
        return ordered
    last = next(start for start in reversed(starts) if start is not None)
    kept = [
        scrape for scrape, start in zip(ordered, starts, strict=True) if same_start(start, last)
    ]
    problems.append(
        "different processes answered in turn (one address for several replicas?): only "
        f"the {len(kept)} scrapes of the last one count"
    )
    return kept


def started_at(exposition: Exposition) -> float | None:
    """Start of the API server process in unix seconds; None in multi-process mode, which does not
    expose it.
    """
    for name in (
        names.PROCESS_START,
        *names.COUNTERS_BEGAN,
    ):
        found = [sample.value for sample in exposition.named(name) if math.isfinite(sample.value)]
        if found:
            return min(found)
    return None


def same_start(one: float | None, other: float | None) -> bool:
    """True unless both start times are known and differ."""
    return one is None or other is None or abs(one - other) <= _SAME_START_S


def engines_of(exposition: Exposition) -> tuple[str, ...]:
    """Return the engine indices in a scrape, as text in numeric order; ("",) if samples have no
    engine label.
    """
    found: set[str] = set()
    for family in (
        *names.RUNNING,
        *names.KV_USAGE,
        *names.WAITING,
        *(f"{name}_total" for name in names.GENERATION_TOKENS),
        *names.GENERATION_TOKENS,
    ):
        found.update(sample.labels.get("engine", "") for sample in exposition.named(family))
    if not found:
        # A truncated or hand-written scrape: use any sample with an engine label.
        found.update(
            sample.labels["engine"] for sample in exposition.samples if "engine" in sample.labels
        )
    if not found and exposition.is_vllm:
        found.add("")
    return tuple(sorted(found, key=lambda engine: (len(engine), engine)))


_MINUS_ONE_MEANS_NONE = "hit_rate"
"""Suffix of gauges that V0 sets to -1 while there is no data."""


@dataclass(slots=True)
class EngineScrapes:
    """One engine's series in the scrapes.

    Shapes: `scrapes` oldest first, only those that contain the engine. `problems` grows as they are
    read.
    """

    engine: str
    scrapes: Sequence[Scrape]
    problems: list[str] = field(default_factory=list)
    _having: dict[str, list[str]] = field(default_factory=dict)
    _known: dict[tuple[int, str, bool], list[Sample]] = field(default_factory=dict)

    def gauge(
        self, family: tuple[str, ...], combine: Callable[[list[float]], float] = sum, **labels: str
    ) -> list[tuple[float, float]]:
        """(at, value) of every scrape that has the gauge under one of its names, the newest name
        first.

        Several series of one engine (models, instances) are combined. Of the per-process series of
        0.9.2 to 0.11.0, the one that still changes is used.
        """
        points: list[tuple[float, float]] = []
        earlier: dict[str, float] = {}
        chosen = ""
        for scrape in self.scrapes:
            samples = self._samples(scrape.exposition, family, labels)
            if not samples:
                continue
            if any("pid" in sample.labels for sample in samples):
                by_pid = {sample.labels.get("pid", ""): sample.value for sample in samples}
                chosen = _liveliest(by_pid, earlier, chosen)
                earlier = by_pid
                points.append((scrape.at, by_pid[chosen]))
            else:
                points.append((scrape.at, combine([sample.value for sample in samples])))
        return points

    def counter(
        self, family: tuple[str, ...], of_endpoint: bool = False
    ) -> list[tuple[float, float]]:
        """(at, total) of every scrape that has the counter, with `_total` or without.
        `of_endpoint`: its series carry no engine label.
        """
        return self._totals(
            tuple(name for base in family for name in (f"{base}_total", base)), of_endpoint
        )

    def steps(self, points: Sequence[tuple[float, float]], what: str) -> list[CounterStep]:
        """Return a counter's gains between consecutive points.

        If the process is new, the counter started from 0 and the gain is the new value. A counter
        that fell although the process is the same is unreliable (a clock, a proxy): the step is
        skipped.
        """
        starts = {scrape.at: started_at(scrape.exposition) for scrape in self.scrapes}
        steps = []
        for (start, before), (end, after) in pairwise(points):
            match self._life(starts[start], starts[end], after < before):
                case "same":
                    steps.append(CounterStep(start, end, after - before))
                case "new":
                    self._note_of(
                        what, "counted from 0 again: the engine restarted between two scrapes"
                    )
                    steps.append(CounterStep(start, end, after, restarted=True))
                case "unclear":
                    self._note_of(
                        what,
                        "fell although the process is the same (a clock that went "
                        "backwards?): that step is left out",
                    )
        return steps

    def _life(self, before: float | None, after: float | None, fell: bool) -> str:
        """Return whether two scrapes are of the same process: same, new, or unclear."""
        if before is not None and after is not None:
            if not same_start(before, after):
                return "new"
            return "unclear" if fell else "same"
        return "new" if fell else "same"

    def histogram(self, exposition: Exposition, family: tuple[str, ...]) -> Histogram | None:
        """Return the engine's histogram in one scrape, since the start of its process; None if it
        is absent or incomplete.
        """
        samples = self._samples(exposition, tuple(f"{name}_bucket" for name in family), {})
        return histogram((sample.labels, sample.value) for sample in samples) if samples else None

    def observed(self, family: tuple[str, ...]) -> Histogram | None:
        """Return the observations from the first scrape to the last, across restarts; None for
        fewer than two scrapes.
        """
        whole: Histogram | None = None
        first: Histogram | None = None
        last: Histogram | None = None
        first_start: float | None = None
        bare, seen = False, 0
        for scrape in self.scrapes:
            found = self.histogram(scrape.exposition, family)
            if found is None:
                bare = bare or (last is None and not scrape.exposition.cut)
                continue
            start = started_at(scrape.exposition)
            if first is None or last is None:
                first, first_start = (found.empty() if bare else found), start
                seen += bare
            elif (
                self._life(first_start, start, found.total < last.total) != "same"
                or found.bounds != last.bounds
            ):
                whole = _joined(whole, last.minus(first))
                first, first_start = found.empty(), start
            seen += 1
            last = found
        return (
            None if first is None or last is None or seen < 2 else _joined(whole, last.minus(first))
        )

    def histogram_steps(self, family: tuple[str, ...], what: str) -> list[HistogramStep]:
        """Return the number of observations and their sum between consecutive scrapes."""
        # Both series are needed at the same instants: a half scrape may hold one of them.
        counts = dict(self.histogram_counts(family))
        sums = dict(self._totals(tuple(f"{name}_sum" for name in family)))
        both = sorted(counts.keys() & sums.keys())
        gained = self.steps([(at, counts[at]) for at in both], what)
        starts = {
            (step.start, step.end): step
            for step in self.steps([(at, sums[at]) for at in both], what)
        }
        return [
            HistogramStep(step.start, step.end, step.gain, starts[step[:2]].gain)
            for step in gained
            if step[:2] in starts
        ]

    def histogram_counts(self, family: tuple[str, ...]) -> list[tuple[float, float]]:
        """(at, observations since the start of the process) of every scrape that has the
        histogram.
        """
        return self._totals(tuple(f"{name}_count" for name in family))

    def _totals(
        self, spelled: tuple[str, ...], of_endpoint: bool = False
    ) -> list[tuple[float, float]]:
        """(at, total over the series). V0 shows a series from its first event on: a whole scrape
        without it, before the first, is 0.
        """
        points: list[tuple[float, float]] = []
        bare: list[float] = []
        for scrape in self.scrapes:
            samples = self._samples(scrape.exposition, spelled, {}, of_endpoint)
            if samples:
                points.append((scrape.at, sum(sample.value for sample in samples)))
            elif (
                not points
                and not scrape.exposition.cut
                and not any(scrape.exposition.named(name) for name in spelled)
            ):
                bare.append(scrape.at)
        return [*((at, 0.0) for at in bare), *points] if points else []

    def _samples(
        self,
        exposition: Exposition,
        spelled: tuple[str, ...],
        labels: dict[str, str],
        of_endpoint: bool = False,
    ) -> list[Sample]:
        """Return this engine's samples under the first name that exists; a duplicate series counts
        once, with its last value.
        """
        for name in spelled:
            found = self._of_name(exposition, name, of_endpoint)
            if labels:
                found = [
                    one
                    for one in found
                    if all(one.labels.get(key) == value for key, value in labels.items())
                ]
            if found:
                return found
        return []

    def _of_name(self, exposition: Exposition, name: str, of_endpoint: bool) -> list[Sample]:
        """Return the samples of one name. Cached, because several signals use each name and a
        hostile page has 100,000 samples.
        """
        asked = (id(exposition), name, of_endpoint)
        if (known := self._known.get(asked)) is not None:
            return known
        found: dict[frozenset[tuple[str, str]], Sample] = {}
        may_be_negative = name.endswith(_MINUS_ONE_MEANS_NONE)
        for sample in exposition.named(name):
            if not of_endpoint and sample.labels.get("engine", "") != self.engine:
                continue
            if sample.value < 0 and not may_be_negative:
                self._note_of(
                    name,
                    "is negative, which cannot be: it was left out, and what it measures "
                    "is not known",
                )
            elif math.isfinite(sample.value):
                found[frozenset(sample.labels.items())] = sample
        self._known[asked] = list(found.values())
        return self._known[asked]

    def spelled(self, *families: tuple[str, ...]) -> str:
        """Return the source of a signal: the metric names of the latest scrape with these families,
        and the scrape's own source.
        """
        label = f'{{engine="{self.engine}"}}' if self.engine else ""
        shown = []
        for family in families:
            for scrape in reversed(self.scrapes):
                name = next(
                    (
                        name
                        for base in family
                        for name in _forms(base)
                        if scrape.exposition.named(name)
                    ),
                    None,
                )
                if name:
                    shown.append(name.removesuffix("_bucket") + label)
                    break
        return f"{' and '.join(shown)} ({self.scrapes[-1].source})"

    def _note_of(self, counter: str, problem: str) -> None:
        """Note a problem once, even if several counters have it."""
        having = self._having.setdefault(problem, [])
        if counter in having:
            return
        before = self._told(problem)
        having.append(counter)
        if before in self.problems:
            self.problems[self.problems.index(before)] = self._told(problem)
        else:
            self.problems.append(self._told(problem))

    def _told(self, problem: str) -> str:
        first, *others = self._having[problem] or [""]
        return f"{first}{f' and {len(others)} more' if others else ''} {problem}"


def _forms(base: str) -> tuple[str, ...]:
    return (f"{base}_total", base, f"{base}_bucket")


def _joined(one: Histogram | None, other: Histogram | None) -> Histogram | None:
    """Return the sum of both; only the later one if the buckets changed in between."""
    if one is None or other is None:
        return other or one
    return one.plus(other) or other


def _liveliest(now: dict[str, float], earlier: dict[str, float], chosen: str) -> str:
    """Return the process whose series to trust: one that changed since the last scrape, else the
    previous choice, else the highest.

    Every API server process keeps the last value it received; processes that receive no updates
    show an old value for ever.
    """
    moved = [pid for pid in now if pid in earlier and now[pid] != earlier[pid]]
    if not moved and chosen in now:
        return chosen
    return max(moved or now, key=lambda pid: (now[pid], pid))
