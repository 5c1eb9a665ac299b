"""Any interleaving of asking, waiting, producing, returning (twice, too), replicas that come and
go: held against a simple model.
"""

from __future__ import annotations

import math

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from barostat.admit import gate
from barostat.admit.asked import AskedRequest
from barostat.admit.decision import Admitted, CountFirst, Queued, Refused
from barostat.admit.ledger import Ledger
from barostat.admit.replica_news import Observation, Pool
from barostat.admit.rules import Rules, TenantRule

NAMES = ("r0", "r1", "r2")
KV_TOKENS = 4000
SLOTS = 12
RULES = (
    Rules(queue_deadline_s=5.0, max_queued=20),
    Rules(
        queue_deadline_s=2.0,
        max_queued=5,
        max_output_tokens=300,
        kv_token_budget=3000,
        tenants={
            "a": TenantRule("a", 0.7, max_concurrency=3),
            "b": TenantRule("b", 0.3, tokens_per_minute=20_000),
        },
        tenants_closed=True,
    ),
)


class LedgerMachine(RuleBasedStateMachine):
    """The model: which numbers are admitted, and where; which wait, and until when; which have come
    to their end.
    """

    numbers = Bundle("numbers")

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.limits = RULES[0]
        self.at = 0.0
        self.admitted: dict[int, tuple[str, str, int]] = {}
        self.waiting: dict[int, tuple[float, str, int, tuple[str, ...]]] = {}
        self.over: set[int] = set()
        self.here: set[str] = set()
        self.draining: set[str] = set()
        self.joins("r0")

    def _admit(
        self, decision: Admitted, tenant: str, tokens: int, avoided: tuple[str, ...] = ()
    ) -> None:
        number = decision.reservation
        assert number not in self.admitted
        assert number not in self.over
        assert decision.replica in self.here - self.draining - set(avoided)
        self.admitted[number] = (decision.replica, tenant, tokens)
        # Never over-committed: what its prompts hold is there, for all that are admitted, whatever
        # they go on to produce.
        prompts = sum(
            held for replica, _, held in self.admitted.values() if replica == decision.replica
        )
        assert prompts <= min(KV_TOKENS, self.limits.kv_token_budget or KV_TOKENS) + 1e-6
        assert sum(replica == decision.replica for replica, _, _ in self.admitted.values()) <= SLOTS
        limit = (
            self.limits.tenants[tenant].max_concurrency if tenant in self.limits.tenants else None
        )
        if limit is not None:
            assert sum(one == tenant for _, one, _ in self.admitted.values()) <= limit

    @rule(
        target=numbers,
        tenant=st.sampled_from(("a", "b", "c")),
        tokens=st.integers(1, 2500),
        limit=st.none() | st.integers(1, 600),
        sequences=st.integers(1, 4),
        avoided=st.sampled_from(((), ("r0",), ("r0", "r1"))),
        priority=st.integers(-2, 2),
        prefix=st.integers(0, 2),
    )
    def asks(
        self,
        tenant: str,
        tokens: int,
        limit: int | None,
        sequences: int,
        avoided: tuple[str, ...],
        priority: int,
        prefix: int,
    ) -> object:
        asked = AskedRequest(
            self.at,
            tokens,
            "exact",
            limit,
            tenant,
            sequences=sequences,
            not_on=avoided,
            priority=priority,
            prefix_key=prefix,
        )
        decision = gate.decide(asked, self.ledger, self.limits, self.at)
        assert not isinstance(decision, CountFirst)
        if isinstance(decision, Admitted):
            self._admit(decision, tenant, tokens, avoided)
            return decision.reservation
        if isinstance(decision, Queued):
            assert decision.deadline_at == self.at + self.limits.queue_deadline_s
            self.waiting[decision.reservation] = (decision.deadline_at, tenant, tokens, avoided)
            return decision.reservation
        assert decision.retry_after_s is None or 0 < decision.retry_after_s < math.inf
        return multiple()

    @rule()
    def looks_what_is_due(self) -> None:
        for one in gate.due(self.ledger, self.limits, self.at):
            deadline_at, tenant, tokens, avoided = self.waiting.pop(one.reservation)
            if isinstance(one, Admitted):
                assert self.at < deadline_at
                self._admit(one, tenant, tokens, avoided)
            else:
                assert isinstance(one, Refused)
                in_rotation = self.here - self.draining
                held_up = bool(in_rotation) and in_rotation <= set(avoided)
                assert self.at >= deadline_at or (held_up and one.reason == "no-replica")
                self.over.add(one.reservation)
        assert all(deadline_at > self.at for deadline_at, _, _, _ in self.waiting.values())

    @rule(for_s=st.floats(0.001, 3.0))
    def time_passes(self, for_s: float) -> None:
        self.at += for_s

    @rule(number=numbers, tokens=st.integers(0, 700))
    def produces(self, number: int, tokens: int) -> None:
        gate.produced(self.ledger, number, tokens, self.at)

    @rule(
        number=numbers,
        ended=st.sampled_from(("stop", "length", "cut", "unsent")),
        tokens=st.none() | st.integers(0, 600),
    )
    def returns(self, number: int, ended: gate.Ended, tokens: int | None) -> None:
        kept = number in self.admitted or number in self.waiting
        assert gate.returned(self.ledger, number, self.at, ended, None, tokens) is kept
        self.admitted.pop(number, None)
        self.waiting.pop(number, None)
        self.over.add(number)

    @rule(number=consumes(numbers))
    def returns_twice(self, number: int) -> None:
        self.returns(number, "cut", None)
        assert not gate.returned(self.ledger, number, self.at, "stop")

    @rule(name=st.sampled_from(NAMES))
    def joins(self, name: str) -> None:
        gate.joined(self.ledger, name, Pool(KV_TOKENS, 16, SLOTS, 3000), self.at)
        self.here.add(name)
        self.draining.discard(name)

    @rule(name=st.sampled_from(NAMES))
    def is_gone(self, name: str) -> None:
        there = {number for number, (replica, _, _) in self.admitted.items() if replica == name}
        assert set(gate.gone(self.ledger, name, self.at)) == there
        for number in there:
            _, tenant, _ = self.admitted[number]
            self.admitted[number] = ("", tenant, 0)
        self.here.discard(name)
        self.draining.discard(name)

    @rule(name=st.sampled_from(NAMES), on=st.booleans())
    def drains(self, name: str, on: bool) -> None:
        gate.draining(self.ledger, name, on)
        if name in self.here:
            (self.draining.add if on else self.draining.discard)(name)

    @rule(
        name=st.sampled_from(NAMES),
        used=st.floats(0.5, 1.0),
        waits=st.integers(0, 3),
        preempted=st.integers(0, 50),
    )
    def is_observed(self, name: str, used: float, waits: int, preempted: int) -> None:
        # Running is not told higher than it is, and what waits keeps sharing from being concluded:
        # the sum of parts stands.
        gate.observed(self.ledger, name, Observation(used, 0, waits + 1, preempted), self.at)

    @rule(which=st.integers(0, 1))
    def limits_are_reloaded(self, which: int) -> None:
        self.limits = RULES[which]

    @invariant()
    def the_ledger_and_the_model_agree(self) -> None:
        ledger = self.ledger
        assert set(ledger.reservations) == set(self.admitted) | set(self.waiting)
        assert ledger.queued == len(self.waiting)
        for name, replica in ledger.replicas.items():
            mine = {number for number, (there, _, _) in self.admitted.items() if there == name}
            assert set(replica.live) == mine
            if not mine:
                assert replica.most_tokens == 0
                assert replica.held_tokens == 0
        for name, tenant in ledger.tenants.items():
            assert tenant.running == sum(one == name for _, one, _ in self.admitted.values())
            assert tenant.waiting == sum(one == name for _, one, _, _ in self.waiting.values())
            assert any(name in line.waiting for line in ledger.lines) == (tenant.waiting > 0)
        assert all(
            line.blocked is None or line.blocked.number in self.waiting for line in ledger.lines
        )

    def teardown(self) -> None:
        """Everything that is returned leaves nothing behind."""
        for number in (*self.admitted, *self.waiting):
            assert gate.returned(self.ledger, number, self.at, "cut")
        assert not self.ledger.reservations
        assert self.ledger.queued == 0
        assert all(one.running == 0 and one.waiting == 0 for one in self.ledger.tenants.values())
        assert all(
            not replica.live and replica.most_tokens == 0
            for replica in self.ledger.replicas.values()
        )


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
