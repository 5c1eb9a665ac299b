"""One trial of the twin: settings, a load and a pace in, an outlook out. The unit that what-if and
tune are made of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

from barostat.core.errors import InputError
from barostat.judge.experiments.cache_tier import with_tier
from barostat.judge.experiments.outlook import Outlook, outlook
from barostat.judge.observed.traffic import ObservedTraffic
from barostat.judge.observed.workload import rows_like
from barostat.twin.forms import simulate
from barostat.twin.outcome import Outcome
from barostat.twin.pace import Pace
from barostat.twin.request import Row
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo
from barostat.twin.workload.made import Spec, make

# Share of a run that is left out at its beginning: an empty engine fills up.
_WARMING_SHARE = 0.15
# Six for the search and six to prove it on (judge/experiments/tuning.py); fewer where one would
# have too few requests to say anything.
_PARTS, _FEWEST_IN_PART = (12, 10, 8, 6, 4, 2), 20
_MOST_KEPT_ROWS = 100_000


class Span(NamedTuple):
    """The stretch of a run that counts, in seconds; to the last answer where it ends no later than
    it begins.

    `of_arrivals`: the requests that come in it, whenever they end; else those that end in it.
    """

    from_s: float
    until_s: float
    of_arrivals: bool = False


class Load(Protocol):
    """A workload in any number of versions: the same kind of requests with different random seeds
    (or other parts of a trace).
    """

    def rows(self, version: int) -> list[Row]:
        """The rows of that version."""

    def span_s(self, rows: Sequence[Row]) -> Span:
        """The stretch of the run that counts."""


@dataclass(frozen=True, slots=True)
class LikeSeen:
    """Traffic such as an engine has seen."""

    traffic: ObservedTraffic
    duration_s: float
    block_tokens: int
    longest_tokens: int
    seed: int = 0

    def rows(self, version: int) -> list[Row]:
        """Rows from the dice of that version."""
        return rows_like(
            self.traffic,
            self.seed + version,
            self.duration_s,
            self.block_tokens,
            self.longest_tokens,
        )

    def span_s(self, rows: Sequence[Row]) -> Span:
        """All but the beginning, in which the engine fills up, up to the last arrival."""
        del rows
        return Span(warming_s(self.traffic, self.duration_s), self.duration_s)


@dataclass(frozen=True, slots=True)
class Made:
    """A workload of a named kind."""

    spec: Spec
    seed: int = 0

    def rows(self, version: int) -> list[Row]:
        """Rows from the dice of that version."""
        return make(self.spec, self.seed + version)

    def span_s(self, rows: Sequence[Row]) -> Span:
        """From the start to the last arrival; of a closed loop, whose end is not known, all of
        it.
        """
        return Span(0.0, _last_arrival_s(rows))


@dataclass(frozen=True)  # without slots: the cut is reckoned once
class PartsOf:
    """A trace in parts, one after the other in time: even versions and odd ones count no request in
    common. Version 0 of `whole` is all.

    Each part begins with the requests of the one before it, which fill the engine and are not
    counted, and runs to its last answer.
    """

    trace: tuple[Row, ...]
    whole: bool = False

    def rows(self, version: int) -> list[Row]:
        """The part of that number, the one before it in front; its own requests come when one
        part's length has passed.
        """
        if self.whole:
            return list(self.trace)
        start, length_s, parts = self._cut
        part = version % parts
        begin_s = start + (part - 1) * length_s
        found = (
            row for row in self.trace if part - 1 <= _part_of(row, start, length_s, parts) <= part
        )
        return [row._replace(arrival_s=row.arrival_s - begin_s) for row in found]

    def span_s(self, rows: Sequence[Row]) -> Span:
        """What comes in the part itself; the whole trace, to its last answer."""
        del rows
        if self.whole:
            return Span(0.0, 0.0)
        _, length_s, _ = self._cut
        return Span(length_s, 2 * length_s, of_arrivals=True)

    @property
    def parts(self) -> int:
        """How many there are; always even."""
        return self._cut[2]

    @cached_property
    def _cut(self) -> tuple[float, float, int]:
        """When the first part begins, how long each is, and how many there are."""
        start, end = (of(row.arrival_s for row in self.trace) for of in (min, max))
        for parts in _PARTS:
            length_s = (end - start) / parts or 1.0
            held = Counter(_part_of(row, start, length_s, parts) for row in self.trace)
            if all(held[part] >= _FEWEST_IN_PART for part in range(parts)):
                break
        return start, length_s, parts


class MadeOnce:
    """A load whose rows are made once for each version, however many settings are tried on them.
    Mutable: it keeps what it made.
    """

    def __init__(self, load: Load) -> None:
        self.load = load
        self._made: dict[int, list[Row]] = {}
        self._room = _MOST_KEPT_ROWS

    def rows(self, version: int) -> list[Row]:
        """The load's rows of that version. Not to be changed: the next trial has the same."""
        made = self._made.get(version)
        if made is None:
            made = self.load.rows(version)
            if len(made) <= self._room:
                self._made[version] = made
                self._room -= len(made)
        return made

    def span_s(self, rows: Sequence[Row]) -> Span:
        """As the load says."""
        return self.load.span_s(rows)


@dataclass(frozen=True, slots=True)
class Denser:
    """Scale the arrival rate of the same requests.

    Errors: InputError for closed-loop clients, whose requests have no rate of their own.
    """

    load: Load
    times: float

    def rows(self, version: int) -> list[Row]:
        """The rows at their new instants."""
        rows = self.load.rows(version)
        if any(row.after_id is not None for row in rows):
            raise InputError(
                "these clients wait for their answers, so the load is their number: give "
                "more of them (closed:, sessions:)",
                "load",
            )
        return [row._replace(arrival_s=row.arrival_s / self.times) for row in rows]

    def span_s(self, rows: Sequence[Row]) -> Span:
        """As the load says, by the new instants."""
        return self.load.span_s(rows)


def times_as_much(load: Load, times: float) -> Load:
    """Multiply the load: clients or rates of observed traffic, clients of a closed loop, otherwise
    the arrival rate.
    """
    if times == 1.0:
        return load
    if isinstance(load, MadeOnce):
        return MadeOnce(times_as_much(load.load, times))
    if isinstance(load, LikeSeen):
        return replace(load, traffic=load.traffic.times(times))
    if isinstance(load, Made) and load.spec.kind == "closed":
        spec = load.spec
        clients = max(1, round(spec.clients * times))
        return replace(
            load,
            spec=replace(
                spec,
                clients=clients,
                requests=max(1, round(spec.requests * clients / spec.clients)),
            ),
        )
    return Denser(load, times)


@dataclass(frozen=True, slots=True)
class Reshaped:
    """The same requests with prompts and outputs that are longer or shorter by a factor each. A
    shared prefix keeps its length, or ends with the prompt.
    """

    load: Load
    input_times: float = 1.0
    output_times: float = 1.0

    def rows(self, version: int) -> list[Row]:
        """The rows with their new lengths."""
        return [self._reshaped(row) for row in self.load.rows(version)]

    def span_s(self, rows: Sequence[Row]) -> Span:
        """As the load says."""
        return self.load.span_s(rows)

    def _reshaped(self, row: Row) -> Row:
        tokens = max(1, round(row.input_tokens * self.input_times))
        limit = row.output_limit
        ids, hashes = row.prompt_token_ids, row.hash_ids
        if ids:
            ids = (*ids[:tokens], *ids[-1:] * (tokens - len(ids)))
        if hashes and row.id_tokens:
            hashes = hashes[: tokens // row.id_tokens]
        return row._replace(
            input_tokens=tokens,
            output_tokens=max(1, round(row.output_tokens * self.output_times)),
            output_limit=None if limit is None else max(1, round(limit * self.output_times)),
            prompt_token_ids=ids,
            hash_ids=hashes,
        )


def of_lengths(load: Load, input_times: float, output_times: float) -> Load:
    """The load with prompts and outputs as many times as long as today's."""
    return load if input_times == output_times == 1.0 else Reshaped(load, input_times, output_times)


def is_replayed(load: Load) -> bool:
    """True for a whole trace: the same requests in every version."""
    if isinstance(load, MadeOnce | Denser | Reshaped):
        return is_replayed(load.load)
    return isinstance(load, PartsOf) and load.whole


@dataclass(frozen=True, slots=True)
class Trial:
    """The parameters of one simulation run. At the gateway: prompts longer than `input_cap` are
    rejected, outputs are capped at `output_cap`, and requests that would exceed `kv_budget` tokens
    wait. `tier`: preempted KV is restored without recomputation.
    """

    settings: Settings
    version: int
    pace: Pace
    input_cap: int | None = None
    output_cap: int | None = None
    kv_budget: int | None = None
    tier: bool = False


def run_trial(load: Load, slo: Slo, trial: Trial) -> Outlook:
    """Simulate the engine with these settings under that version of the load.

    Errors: InputError for a budget at the gateway of an engine that only the exact simulation
    supports.
    """
    rows = load.rows(trial.version)
    from_s, until_s, of_arrivals = load.span_s(rows)
    outcome = outcome_of(rows, trial)
    front_s = getattr(trial.pace, "front_s", 0.0)
    if until_s <= from_s:
        until_s = max(
            outcome.end_ns / 1e9, from_s + 1e-9, *(one.at_s for one in outcome.rejections)
        )
    return outlook(
        outcome,
        trial.settings.usable_blocks,
        slo,
        from_s,
        until_s,
        front_s,
        of_arrivals=of_arrivals,
    )


def outcome_of(rows: list[Row], trial: Trial) -> Outcome:
    """Run the twin on these rows.

    Errors: InputError as `run_trial`.
    """
    cap, settings = trial.output_cap, replace(trial.settings, edge_input_tokens=trial.input_cap)
    if cap is not None:
        rows = [row._replace(output_tokens=min(row.output_tokens, cap)) for row in rows]
    if trial.kv_budget is not None:
        from barostat.judge.experiments.held_at_edge import held_at_edge

        return held_at_edge(settings, trial.pace, rows, trial.kv_budget)
    outcome = simulate(settings, rows, trial.pace)
    return (
        with_tier(outcome, trial.pace, lambda pace: simulate(settings, rows, pace))
        if trial.tier
        else outcome
    )


def warming_s(traffic: ObservedTraffic, duration_s: float) -> float:
    """How long the twin takes to be as full as the engine was."""
    return min(duration_s / 2, max(_WARMING_SHARE * duration_s, 2 * stay_s(traffic)))


def stay_s(traffic: ObservedTraffic) -> float:
    """Return a request's mean time in the engine: requests in the engine over arrival rate
    (Little's law).
    """
    mean = sum(traffic.in_flight) / len(traffic.in_flight) if traffic.in_flight else 0.0
    return mean / traffic.rate_per_s if traffic.rate_per_s else 0.0


def fitting_duration_s(traffic: ObservedTraffic) -> float:
    """Long enough for some hundred requests, and for each to come and go several times over."""
    return min(7200.0, max(60.0, 500 / traffic.rate_per_s, 12 * stay_s(traffic)))


def _part_of(row: Row, start_s: float, length_s: float, parts: int) -> int:
    return min(parts - 1, int((row.arrival_s - start_s) / length_s))


def _last_arrival_s(rows: Sequence[Row]) -> float:
    return max((row.arrival_s for row in rows if row.after_id is None), default=0.0)
