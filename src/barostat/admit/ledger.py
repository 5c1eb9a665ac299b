"""What is admitted and what waits, and all that has been learned: the state that a decision reads
and changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping

from barostat.admit.decision import Refused
from barostat.admit.learned import Learned
from barostat.admit.lengths import LengthClass
from barostat.admit.lines import Line, ReplicaLedger, Reservation, weight
from barostat.admit.replica_news import Pool
from barostat.admit.rules import Rules, TenantRule
from barostat.admit.tenants import TenantLedger

_LINES, _LINES_EACH = 64, 4
"""As many lines are kept, or so many for each engine: a model of each, some adapters, and requests
that come back.
"""
_SPELLINGS = 1024
_IDLE_S = 60.0
_NOTED_EACH_S, _NOTED_EACH_ONE_S = 0.2, 2e-4
_OTHER = TenantRule("", 1.0)


class Ledger:
    """The state of one gateway. Mutable; it belongs to one caller.

    `lines`: who waits for which engines; the first is that of all of them. `queued`: requests that
    wait, in any line; `queues`: the lines in which they do. `shed`: those that waited until one of
    a more important class took their place, and are to be told. `learned`: of engines whose models
    are unknown. `forecast_error`: mean distance of an answer from its expected length, over that.
    """

    __slots__ = (
        "_line_of",
        "_noted_at",
        "deadlines",
        "forecast_error",
        "itl_s",
        "last_number",
        "learned",
        "lines",
        "preempted_ratio",
        "queued",
        "queues",
        "replica_of",
        "replicas",
        "reservations",
        "shed",
        "tenants",
    )  # fmt: skip

    def __init__(self, replica_of: Callable[[str, Pool], ReplicaLedger] = ReplicaLedger) -> None:
        self.replica_of = replica_of
        self.learned = Learned()
        self.replicas: dict[str, ReplicaLedger] = {}
        self.lines = [Line(frozenset(), self.learned)]
        self._line_of: dict[tuple[str, ...], Line] = {(): self.lines[0]}
        self.tenants: dict[str, TenantLedger] = {}
        self.reservations: dict[int, Reservation] = {}
        self.deadlines: list[tuple[float, int]] = []
        self.last_number = 0
        self.queued = 0
        self.queues: dict[Line, None] = {}
        self.shed: list[Refused] = []
        self.preempted_ratio = 0.01
        self.itl_s: float | None = None
        self._noted_at = -1e9
        self.forecast_error = 0.0

    def tenant(self, name: str, rules: Rules, at: float) -> TenantLedger:
        """The tenant of that name, under the rules of now."""
        rule = rules.tenants.get(name, _OTHER)
        found = self.tenants.get(name)
        if found is None:
            found = self.tenants[name] = TenantLedger(name, rule, at)
        elif found.rule is not rule:
            found.adopt(rule)
        return found

    def line(self, not_on: tuple[str, ...], at: float) -> Line:
        """The line of those that may go to all engines but these."""
        found = self._line_of.get(not_on)
        return self._line_for(not_on, at) if found is None else found

    def _line_for(self, not_on: tuple[str, ...], at: float) -> Line:
        kept_off = frozenset(not_on)
        found = next((line for line in self.lines if line.not_on == kept_off), None)
        if found is None:
            self._forget_idle(at)
            if len(self.lines) >= max(_LINES, _LINES_EACH * len(self.replicas)):
                idle = [line for line in self.lines[1:] if not line.queued]
                oldest = min(idle, key=lambda line: line.asked_at, default=None)
                self._keep(lambda line: line is not oldest)
            found = Line(kept_off, self.learned)
            found.has(self.replicas.values(), self.learned)
            found.begin_as(self._like(found), self.reservations)
            self._add(found)
        if len(self._line_of) >= _SPELLINGS:
            self._line_of = {(): self.lines[0]}
        self._line_of[not_on] = found
        return found

    def _like(self, new: Line) -> Line | None:
        """The line of the same model that has the most of the new one's engines, None if none
        has any.
        """
        known = [
            line
            for line in self.lines
            if line.learned is new.learned
            and (line.not_on or line.are_alike)
            and not line.names.isdisjoint(new.names)
        ]
        return max(
            known, key=lambda line: (len(line.names & new.names), -len(line.names)), default=None
        )

    def _add(self, new: Line) -> None:
        new.beside = [line for line in self.lines if not line.names.isdisjoint(new.names)]
        for line in new.beside:
            line.beside.append(new)
        for replica in new.replicas:
            replica.lines.append(new)
        self.lines.append(new)

    def _keep(self, kept: Callable[[Line], bool]) -> None:
        lost = [line for line in self.lines if not kept(line)]
        if not lost:
            return
        for line in lost:
            for other in line.beside:
                other.beside.remove(line)
            for replica in line.replicas:
                replica.lines.remove(line)
        for one in self.reservations.values():
            one.turns = [turn for turn in one.turns if kept(turn.line)]
        self.lines = [line for line in self.lines if kept(line)]
        self._line_of = {spelt: line for spelt, line in self._line_of.items() if kept(line)}

    def _arrange(self) -> None:
        for line in self.lines:
            line.beside = [
                other
                for other in self.lines
                if other is not line and not other.names.isdisjoint(line.names)
            ]
        for replica in self.replicas.values():
            replica.lines = [line for line in self.lines if replica.name in line.names]

    def engines_changed(self, at: float) -> None:
        """A replica came, went, or has another pool."""
        self._forget_idle(at)
        self._renew()

    def _forget_idle(self, at: float) -> None:
        """Lines in which nobody waits, and for which nobody has asked for a while, are no more."""
        first = self.lines[0]
        self._keep(lambda line: line is first or line.queued > 0 or at - line.asked_at < _IDLE_S)

    def _renew(self) -> None:
        for line in self.lines:
            line.has(self.replicas.values(), self.learned)
        self._arrange()

    def alike(self, said: Mapping[str, str]) -> None:
        """Replicas of which the same is said serve the same. What was learned stays with what was
        said of them, else with most of them.
        """
        votes = Counter(
            (said.get(replica.name, ""), replica.learned) for replica in self.replicas.values()
        )
        found: dict[str, Learned] = {}
        for (name, learned), _ in sorted(
            votes.items(), key=lambda one: (one[0][1].said == one[0][0], one[1]), reverse=True
        ):
            if name not in found and learned not in found.values():
                found[name] = learned
        changed = False
        for replica in self.replicas.values():
            name = said.get(replica.name, "")
            if name not in found:
                found[name] = Learned()
            learned = found[name]
            learned.said = name
            changed = changed or learned is not replica.learned
            replica.learned = learned
        if changed:
            self._renew()

    def learned_of(self, names: Collection[str]) -> Learned | None:
        """Return the statistics learned from these engines; if they serve different models, of
        those whose models are unknown. None if none of them is here.
        """
        found = {replica.learned for name, replica in self.replicas.items() if name in names}
        if len(found) > 1:
            return self.learned
        return found.pop() if found else None

    def every_learned(self) -> set[Learned]:
        """Return the statistics learned from all engines."""
        return {replica.learned for replica in self.replicas.values()} or {self.learned}

    def ended(self, one: Reservation, length: int, ended: str, at: float) -> None:
        """A request has ended: how long it stayed, and how far it was from what was expected, are
        remembered.
        """
        running = len(self.reservations) - self.queued
        for_s = max(0.0, at - one.admitted_at)
        for turn in one.turns:
            turn.line.stayed(for_s)
        if ended != "cut":
            expected = (one.charge - one.request.input_tokens) / one.request.sequences
            self.forecast_error += weight(running) * (
                abs(length - expected) / max(expected, 1.0) - self.forecast_error
            )
        learned = one.turn.line.learned if one.replica is None else one.replica.learned
        learned.margin.ended(self.preempted_ratio)
        if at - self._noted_at >= max(_NOTED_EACH_S, _NOTED_EACH_ONE_S * running):
            self._noted_at = at
            self._note_live()

    def _note_live(self) -> None:
        """How far what runs has come is known to what is learned of its lengths."""
        every = self.every_learned()
        ages: dict[LengthClass, list[tuple[LengthClass, int]]] = {
            learned.lengths.root: [] for learned in every
        }
        for one in self.reservations.values():
            if not one.waits and (of_model := ages.get(one.lengths.root)) is not None:
                of_model.append((one.lengths, one.produced))
        for learned in every:
            learned.lengths.note_live(ages[learned.lengths.root])
