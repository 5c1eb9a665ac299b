"""Several engines behind one gate, on the twin: the same `admit` that decides of live requests,
with the twin's steps as the world.

    rows -> decide -> [queue -> due] -> the engine it chose, step by step -> produced, returned ->
    the ledger

The engines advance in step: the one that is furthest behind goes first, so that none is ahead of
another by more than a step of its own. The gate receives their reports as it would live: produced
tokens every 0.1 s (chunks of the stream), metrics every second.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from barostat.admit.asked import AskedRequest
from barostat.admit.decision import Admitted, Decision, Queued, Refused
from barostat.admit.gate import decide, due, joined, next_due_at, observed, produced, returned
from barostat.admit.ledger import Ledger
from barostat.admit.replica_news import Observation, Pool
from barostat.admit.rules import Rules
from barostat.core.errors import InputError
from barostat.judge.experiments.gates import REPLICAS, GateName
from barostat.twin.fed import FedEngine
from barostat.twin.forms import state_for
from barostat.twin.intake import NS
from barostat.twin.outcome import Life, Outcome
from barostat.twin.pace import Pace
from barostat.twin.request import Row
from barostat.twin.settings import Settings

_HEARD_EACH_S = 0.1
_SCRAPED_EACH = 10
_NEVER_NS = 1 << 62
# A client that was refused comes back no sooner than this, however short its pause: as the twin
# alone has it (twin/intake.py).
_AFTER_REFUSAL_S = 1.0


@dataclass(frozen=True, slots=True)
class Traffic:
    """Requests with their declared properties. `output_limit`: max_tokens of rows without their
    own. A row that follows another is sent that long after its end or rejection.

    `tenants`: by request id, "" if missing. `seen`: requests whose answers the gate has already
    learned the lengths of.
    """

    rows: Sequence[Row]
    output_limit: int | None = None
    tenants: dict[str, str] = field(default_factory=dict)
    seen: Sequence[Row] = ()

    def limit_of(self, row: Row) -> int | None:
        """The max_tokens that the row states."""
        return self.output_limit if row.output_limit is None else row.output_limit


@dataclass(frozen=True, slots=True)
class Fleet:
    """Engines that are all alike."""

    replicas: int
    settings: Settings
    pace: Pace


class TurnedAway(NamedTuple):
    """A request that was refused, when and why; `retry_after_s`: when its Retry-After ends."""

    request_id: str
    reason: str
    at_s: float
    retry_after_s: float | None


@dataclass(slots=True)
class GatedOutcome:
    """Outcome of a gated run. `lives`: by request id, of those that an engine took in; `arrived_s`
    of all.

    `held_ratios`: share of a pool in use, by second and replica; `margins`: of the gate, by second.
    `engines`: what each one did.
    """

    arrived_s: dict[str, float] = field(default_factory=dict)
    lives: dict[str, Life] = field(default_factory=dict)
    refused: list[TurnedAway] = field(default_factory=list)
    waited_s: list[float] = field(default_factory=list)
    held_ratios: list[float] = field(default_factory=list)
    margins: list[float] = field(default_factory=list)
    preemptions: int = 0
    last_arrival_s: float = 0.0
    engines: list[Outcome] = field(default_factory=list)


def one_kind_of_attention(settings: Settings, where: str) -> None:
    """Nothing, where a gateway can be tried before that engine: it counts one kind of block, and
    one token per step.

    Errors: InputError.
    """
    if len(settings.groups) > 1 or not settings.groups[0].is_full:
        raise InputError(
            "is tried before an engine with one kind of attention; this model has several", where
        )
    if settings.drafting is not None:
        raise InputError("is tried before an engine without speculative decoding", where)


class GatedRun:
    """One run. Mutable; `run` takes it to its end."""

    def __init__(
        self, fleet: Fleet, rules: Rules, traffic: Traffic, gate: GateName = "forecast"
    ) -> None:
        self._rules = rules
        self._gate = gate
        self._oracle = gate == "oracle"
        self._scraped_each = 1 if gate == "ceilings" else _SCRAPED_EACH
        self._traffic = traffic
        self._coming = [
            (row.arrival_s, place, row)
            for place, row in enumerate(traffic.rows)
            if row.after_id is None
        ]
        heapq.heapify(self._coming)
        self._behind: dict[
            str, list[tuple[int, Row]]
        ] = {}  # request -> rows that wait for its end, with their place among all
        for place, row in enumerate(traffic.rows):
            if row.after_id is not None:
                self._behind.setdefault(row.after_id, []).append((place, row))
        self.ledger = Ledger(REPLICAS[gate])
        for row in traffic.seen:
            limit = traffic.limit_of(row)
            of = self.ledger.learned.lengths.of(
                traffic.tenants.get(row.request_id, ""), "", "", row.input_tokens, limit
            )
            of.learn(row.output_tokens, limit is None or row.output_tokens < limit)
        settings = fleet.settings
        pool = Pool(
            kv_tokens=settings.usable_blocks * settings.groups[0].block_tokens,
            block_tokens=settings.groups[0].block_tokens,
            slots=_NEVER_NS if gate == "engine" else settings.running_limit,
            longest_tokens=settings.max_model_len,
            shares_prefixes=settings.prefix_caching,
            watermark_ratio=settings.watermark_ratio,
        )
        self._engines: list[FedEngine] = []
        self._names: list[str] = []
        for number in range(fleet.replicas):
            name = f"replica-{number}"
            self._names.append(name)
            state = state_for(settings, traffic.rows)
            self._engines.append(FedEngine(settings, fleet.pace, state))
            joined(self.ledger, name, pool, 0.0)
        self._place = {name: number for number, name in enumerate(self._names)}
        self._asked: dict[int, tuple[Row, AskedRequest]] = {}
        self._numbers: dict[str, int] = {}
        self._rejected = [0] * fleet.replicas
        self._paces = [HeardPace() for _ in range(fleet.replicas)]
        self.outcome = GatedOutcome()

    def run(self) -> GatedOutcome:
        """Run to the end and return the outcome."""
        outcome, engines = self.outcome, self._engines
        hear_s, heard, at_s = 0.0, 0, 0.0
        while True:
            arrival_s = self._coming[0][0] if self._coming else None
            busy = [
                (when, number)
                for number, engine in enumerate(engines)
                if (when := engine.next_ns) is not None
            ]
            if arrival_s is None and not busy and not self.ledger.queued:
                break
            soonest = hear_s if arrival_s is None else min(hear_s, arrival_s)
            again_s = next_due_at(self.ledger, at_s)
            if again_s is not None:
                soonest = min(soonest, again_s)
            if busy:
                busy.sort()
                when, number = busy[0]
                if when < soonest * NS:
                    until = min(round(soonest * NS), busy[1][0] + 1 if len(busy) > 1 else _NEVER_NS)
                    ended = engines[number].advance(max(until, when + 1))
                    self._look_for_rejected(number)
                    if ended:
                        at_s = max(at_s, ended[-1][1] / NS)
                        self._ended(ended)
                        self._due(at_s)
                    continue
            at_s = max(at_s, soonest)
            if arrival_s is not None and arrival_s <= at_s:
                outcome.last_arrival_s = arrival_s
                self._arrives(heapq.heappop(self._coming)[2])
            elif hear_s <= at_s:
                hear_s += _HEARD_EACH_S
                heard += 1
                self._hear(at_s, heard % self._scraped_each == 0)
                self._due(at_s)
            else:
                self._due(at_s)
        for engine in engines:
            outcome.engines.append(engine.outcome)
            outcome.preemptions += engine.load[3]
            for life in engine.lives:
                outcome.lives[life.request_id] = life
        return outcome

    def _arrives(self, row: Row) -> None:
        traffic, at = self._traffic, row.arrival_s
        self.outcome.arrived_s[row.request_id] = at
        limit = row.output_tokens if self._oracle else traffic.limit_of(row)
        asked = AskedRequest(
            at=at,
            input_tokens=row.input_tokens,
            counted_as="exact",
            output_limit=limit,
            tenant=traffic.tenants.get(row.request_id, ""),
            least_output_tokens=row.output_tokens if self._oracle else 0,
            priority=row.priority,
            priority_class=self._class_of(row),
            prefix_key=row.hash_ids[1] + 1 if row.hash_ids and len(row.hash_ids) > 1 else 0,
        )
        decision = decide(asked, self.ledger, self._rules, at)
        self._take(decision, row, at)

    def _class_of(self, row: Row) -> str:
        """The class of the row's priority: 0 and below for the first, 1 for the second, and so on;
        beyond the last for the last.
        """
        names = list(self._rules.classes)
        return names[min(max(row.priority, 0), len(names) - 1)] if names else ""

    def _take(self, decision: Decision, row: Row, at: float) -> None:
        if isinstance(decision, Admitted):
            self.outcome.waited_s.append(decision.waited_s)
            self._asked[decision.reservation] = (
                row,
                self.ledger.reservations[decision.reservation].request,
            )
            self._numbers[row.request_id] = decision.reservation
            output = (
                row.output_tokens
                if decision.output_cap is None
                else min(row.output_tokens, decision.output_cap)
            )
            self._engines[self._place[decision.replica]].put(row._replace(output_tokens=output), at)
        elif isinstance(decision, Queued):
            self._asked[decision.reservation] = (
                row,
                self.ledger.reservations[decision.reservation].request,
            )
        elif isinstance(decision, Refused):
            self.outcome.refused.append(
                TurnedAway(row.request_id, decision.reason, at, decision.retry_after_s)
            )
            self._follows(row.request_id, at, max(_AFTER_REFUSAL_S, decision.retry_after_s or 0.0))

    def _follows(self, request_id: str, at: float, least_s: float = 0.0) -> None:
        """What waited for that request has its time of arrival."""
        for place, row in self._behind.pop(request_id, ()):
            arrival_s = at + max(row.arrival_s, least_s)
            if arrival_s <= row.latest_s:
                heapq.heappush(
                    self._coming,
                    (
                        arrival_s,
                        place,
                        row._replace(arrival_s=arrival_s, after_id=None, latest_s=math.inf),
                    ),
                )

    def _due(self, at: float) -> None:
        for decision in due(self.ledger, self._rules, at):
            self._take(decision, self._asked[decision.reservation][0], at)

    def _ended(self, ended: Sequence[tuple[str, int]]) -> None:
        for name, at_ns in ended:
            reservation = self._numbers.pop(name)
            row, asked = self._asked.pop(reservation)
            cap = self._rules.max_output_tokens
            limit = min(
                (value for value in (asked.output_limit, cap) if value is not None), default=None
            )
            length = row.output_tokens if limit is None else min(row.output_tokens, limit)
            at_limit = limit is not None and length >= limit
            returned(
                self.ledger,
                reservation,
                at_ns / NS,
                "length" if at_limit else "stop",
                row.input_tokens,
                length,
            )
            self._follows(name, at_ns / NS)

    def _look_for_rejected(self, number: int) -> None:
        rejections = self._engines[number].outcome.rejections
        for rejection in rejections[self._rejected[number] :]:
            reservation = self._numbers.pop(rejection.request_id)
            self._asked.pop(reservation)
            self.outcome.refused.append(
                TurnedAway(rejection.request_id, rejection.reason, rejection.at_s, None)
            )
            returned(self.ledger, reservation, rejection.at_s, "unsent")
            self._follows(rejection.request_id, rejection.at_s, _AFTER_REFUSAL_S)
        self._rejected[number] = len(rejections)

    def _hear(self, at: float, scraped: bool) -> None:
        for name, engine, pace in zip(self._names, self._engines, self._paces, strict=True):
            progress = engine.progress()
            pace.hear(progress, at)
            for request_id, tokens in progress:
                number = self._numbers.get(request_id)
                if number is not None:
                    produced(self.ledger, number, tokens, at)
            if scraped:
                used, running, waiting, preemptions = engine.load
                self.outcome.held_ratios.append(used)
                observed(
                    self.ledger,
                    name,
                    Observation(used, running, waiting, preemptions, pace.token_s()),
                    at,
                )
        if scraped:
            self.outcome.margins.append(self.ledger.learned.margin.z)


class HeardPace:
    """The mean gap between tokens of an engine's answers, as its own metrics would tell it.
    Mutable.
    """

    def __init__(self) -> None:
        """No report yet."""
        self._before: dict[str, int] = {}
        self._heard_s = self._took_s = 0.0
        self._tokens = 0

    def hear(self, progress: Sequence[tuple[str, int]], at: float) -> None:
        """How far each running answer is. What had begun at the last hearing has taken the time
        since then for its tokens since then.
        """
        for_s, self._heard_s = at - self._heard_s, at
        before, self._before = self._before, {name: tokens for name, tokens in progress if tokens}
        both = before.keys() & self._before.keys()
        self._took_s += for_s * len(both)
        self._tokens += sum(map(self._before.__getitem__, both))
        self._tokens -= sum(map(before.__getitem__, both))

    def token_s(self) -> float | None:
        """Since it was last asked; None if no token came."""
        found = self._took_s / self._tokens if self._tokens else None
        self._took_s, self._tokens = 0.0, 0
        return found
