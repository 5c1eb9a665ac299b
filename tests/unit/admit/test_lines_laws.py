"""Laws of lines, over any moves: each model is decided on as behind a gate of its own, and what the
lines count adds up.
"""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from hypothesis.stateful import invariant, rule
from tests.support.gates import A, B, Gate, Where, two_models
from tests.unit.admit.test_ledger_machine import NAMES, LedgerMachine

from barostat.admit import gate
from barostat.admit.asked import AskedRequest
from barostat.admit.decision import Admitted, Decision, Queued, Refused
from barostat.admit.replica_news import Observation, Pool
from barostat.admit.rules import Rules, TenantRule


class Both:
    """Two models behind one gate, and each behind a gate of its own: what is decided is the same.
    `names`: number there by number here.
    """

    def __init__(self, rules: Rules) -> None:
        self.one = two_models(rules, kv_tokens=3000)
        self.own = {where: Gate(rules, kv_tokens=3000, replicas=0) for where in (A, B)}
        for where, name in ((A, "r0"), (B, "r1")):
            gate.joined(self.own[where].ledger, name, Pool(3000, 16, 1024, 8192), 0.0)
        self.names: dict[tuple[Where, int], int] = {}
        self.live: list[tuple[Where, int, int]] = []

    def pass_s(self, for_s: float) -> None:
        """Time goes by."""
        for tried in (self.one, *self.own.values()):
            tried.at += for_s
        self.due()

    def ask(self, where: Where, tokens: int, limit: int, tenant: str, sequences: int) -> None:
        """The same of both."""
        own = self.own[where]
        here = self.one.ask(tokens, limit, tenant, not_on=where, sequences=sequences)
        asked = AskedRequest(own.at, tokens, "exact", limit, tenant, sequences=sequences)
        there = gate.decide(asked, own.ledger, own.rules, own.at)
        assert plain(here) == plain(there)
        if isinstance(here, Admitted | Queued) and isinstance(there, Admitted | Queued):
            self.names[where, there.reservation] = here.reservation
            self.live.append((where, here.reservation, there.reservation))

    def end(self, which: int, tokens: int, ended: gate.Ended) -> None:
        """One is over, here and there."""
        if self.live:
            where, here, there = self.live.pop(which % len(self.live))
            own = self.own[where]
            assert self.one.end(here, tokens, ended) == own.end(there, tokens, ended)
            self.due()

    def produced(self, which: int, tokens: int) -> None:
        """One has come so far."""
        if self.live:
            where, here, there = self.live[which % len(self.live)]
            gate.produced(self.one.ledger, here, tokens, self.one.at)
            gate.produced(self.own[where].ledger, there, tokens, self.one.at)

    def seen(self, where: Where, preempted: int) -> None:
        """An engine has told how it is."""
        name = "r0" if where is A else "r1"
        for tried in (self.one, self.own[where]):
            gate.observed(tried.ledger, name, Observation(0.4, 2, 0, preempted), tried.at)
        self.due()

    def due(self) -> None:
        """What comes of those that wait."""
        here = {one.reservation: plain(one) for one in self.one.due()}
        there = {}
        for where, own in self.own.items():
            there.update({self.names[where, one.reservation]: plain(one) for one in own.due()})
        assert here == there
        refused = {number for number, said in here.items() if said[0] == "Refused"}
        self.live = [one for one in self.live if one[1] not in refused]


def plain(decision: Decision) -> tuple[object, ...]:
    """Without its number."""
    if isinstance(decision, Refused):
        retry_s = decision.retry_after_s
        return (
            "Refused",
            decision.reason,
            decision.message,
            None if retry_s is None else pytest.approx(retry_s),
        )
    if isinstance(decision, Admitted):
        return "Admitted", decision.replica, decision.output_cap, decision.waited_s
    return type(decision).__name__, decision[1:]


SIZES = st.tuples(
    st.integers(1, 1200),
    st.sampled_from((20, 100, 400)),
    st.sampled_from(("red", "blue")),
    st.sampled_from((1, 1, 3)),
)
MOVES = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from((A, B)), SIZES),
    st.tuples(
        st.just("end"),
        st.integers(0, 50),
        st.tuples(st.integers(0, 500), st.sampled_from(("stop", "length", "cut", "unsent"))),
    ),
    st.tuples(st.just("produced"), st.integers(0, 50), st.integers(1, 300)),
    st.tuples(st.just("seen"), st.sampled_from((A, B)), st.integers(0, 9)),
    st.tuples(st.just("passes"), st.floats(0.001, 2.0), st.none()),
)
SHARED = (
    Rules(queue_deadline_s=4.0, max_queued=6, max_output_tokens=300),
    Rules(
        queue_deadline_s=6.0,
        tenants={"red": TenantRule("red", 0.7), "blue": TenantRule("blue", 0.3)},
        tenants_closed=True,
    ),
)


@given(st.sampled_from(SHARED), st.lists(MOVES, max_size=120))
@settings(max_examples=60, deadline=None)
def test_each_model_is_decided_on_as_behind_a_gate_of_its_own(
    rules: Rules, moves: list[tuple[str, object, object]]
) -> None:
    both = Both(rules)
    for move in moves:
        both.pass_s(0.06)  # what waits is tried again after so long, whatever came free
        match move:
            case "ask", where, (tokens, limit, tenant, sequences):
                both.ask(where, tokens, limit, tenant, sequences)  # type: ignore[arg-type]
            case "end", which, (tokens, ended):
                both.end(which, tokens, ended)  # type: ignore[arg-type]
            case "produced", which, tokens:
                both.produced(which, tokens)  # type: ignore[arg-type]
            case "seen", where, preempted:
                both.seen(where, preempted)  # type: ignore[arg-type]
            case "passes", for_s, _:
                both.pass_s(for_s)  # type: ignore[arg-type]


def test_lines_that_nobody_asks_for_are_forgotten() -> None:
    tried = Gate(kv_tokens=100_000, replicas=9)
    names = [f"r{number}" for number in range(9)]
    for number in range(1, 300):
        one = tried.admit(
            not_on=tuple(name for place, name in enumerate(names) if number >> place & 1)
        )
        assert tried.end(one.reservation, 10)
    assert len(tried.ledger.lines) <= 64
    assert all(line.turns.keys() == tried.ledger.tenants.keys() for line in tried.ledger.lines)
    tried.at += 30.0
    used = tried.admit(not_on=("r1",))
    tried.at += 40.0
    gate.gone(tried.ledger, "r8", tried.at)
    assert [line.not_on for line in tried.ledger.lines] == [frozenset(), frozenset({"r1"})]
    tried.at += 40.0
    gate.joined(tried.ledger, "r8", Pool(100_000, 16, 1024, 8192), tried.at)
    assert len(tried.ledger.lines) == 1
    assert len(tried.ledger.reservations[used.reservation].turns) == 1
    assert tried.end(used.reservation, 10)
    assert [turn.running for turn in tried.ledger.lines[0].turns.values()] == [0]


class LinesMachine(LedgerMachine):
    """The same, where who waits may be told to keep off other engines, and engines turn out to
    serve something else.
    """

    numbers = LedgerMachine.numbers

    @rule(number=numbers, avoided=st.sampled_from(((), ("r0",), ("r1",), ("r1", "r2"))))
    def is_kept_off(self, number: int, avoided: Where) -> None:
        never = gate.kept_off(self.ledger, self.limits, number, avoided, self.at)
        if never is not None:
            assert never.reservation == number
            del self.waiting[number]
        elif number in self.waiting:
            self.waiting[number] = (*self.waiting[number][:3], avoided)

    @rule(served=st.lists(st.sampled_from(("", "a", "b")), min_size=3, max_size=3))
    def engines_tell_what_they_serve(self, served: list[str]) -> None:
        gate.alike(self.ledger, dict(zip(NAMES, served, strict=True)))
        for name, replica in self.ledger.replicas.items():
            for other in self.ledger.replicas.values():
                said = [served[NAMES.index(one)] for one in (name, other.name)]
                assert (replica.learned is other.learned) == (said[0] == said[1])

    @invariant()
    def lines_add_up(self) -> None:
        ledger = self.ledger
        assert sum(line.queued for line in ledger.lines) == ledger.queued
        assert set(ledger.queues) == {line for line in ledger.lines if line.queued}
        for line in ledger.lines:
            assert line.queued == sum(turn.waiting for turn in line.turns.values())
            assert line.queued == sum(
                one.waits and one.turn.line is line for one in ledger.reservations.values()
            )
            assert line.running == sum(turn.running for turn in line.turns.values())
            assert set(line.waiting) == {
                turn.tenant.name for turn in line.turns.values() if turn.waiting
            }
            assert line.names == ledger.replicas.keys() - line.not_on
            assert line.beside == [
                other
                for other in ledger.lines
                if other is not line and not other.names.isdisjoint(line.names)
            ]
            assert line.blocked is None or (line.blocked.waits and line.blocked.turn.line is line)
            assert line.claimed is None or line in line.claimed.claims
            assert line.claimed is None or (
                line.claimed.open and line.claimed is ledger.replicas.get(line.claimed.name)
            )
        for one in ledger.reservations.values():
            assert all(turn.line in ledger.lines for turn in one.turns)
        for name, replica in ledger.replicas.items():
            assert replica.lines == [line for line in ledger.lines if name in line.names]
            assert all(line.claimed is replica for line in replica.claims)


TestLinesMachine = LinesMachine.TestCase
TestLinesMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
