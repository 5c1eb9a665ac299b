"""The gate before an engine under load, in simulated time: below capacity nobody is refused, nobody
starves beside a flood, clocks step.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

from barostat.admit import gate
from barostat.admit.asked import AskedRequest
from barostat.admit.decision import Admitted, Refused
from barostat.admit.ledger import Ledger
from barostat.admit.replica_news import Observation, Pool
from barostat.admit.rules import Rules, TenantRule

STEP_S, LOOK_S = 0.02, 1.0
BLOCK, BLOCKS, OUTPUT_LIMIT, OUTPUT_MEAN = 128, 159, 1024, 200
FITS_PER_S = 9.0
"""Answers per second of this engine with a full pool."""
SHARES = {name: TenantRule(name, 1 / 3) for name in ("red", "blue", "green")}


@dataclass
class Engine:
    """Long prompts, answers that end by chance; a step takes longer the more run. `came`: by
    tenant, what became of its requests.
    """

    dice: random.Random
    rules: Rules
    ledger: Ledger = field(default_factory=Ledger)
    came: dict[str, Counter[str]] = field(default_factory=dict)
    preempted: int = 0
    clock_off_s: float = 0.0
    _asked: dict[int, tuple[str, int, int]] = field(default_factory=dict)
    _runs: dict[int, list[float]] = field(default_factory=dict)

    def run(self, rates: dict[str, float], for_s: float) -> None:
        """Requests of each tenant at these rates; then what is under way is waited for."""
        gate.joined(self.ledger, "r", Pool(BLOCK * BLOCKS, BLOCK, 256, 4096), 0.0)
        at, looked_at = 0.0, 0.0
        due = {name: self.dice.expovariate(rate) for name, rate in rates.items()}
        while at < for_s or self.ledger.reservations:
            at += STEP_S
            for name, rate in rates.items():
                while due[name] <= at < for_s:
                    due[name] += self.dice.expovariate(rate)
                    self._ask(name, at + self.clock_off_s)
            self._steps(at + self.clock_off_s)
            for one in gate.due(self.ledger, self.rules, at + self.clock_off_s):
                self._told(one)
            if at - looked_at >= LOOK_S:
                looked_at, used = at, self._used()
                self.preempted += used > BLOCK * BLOCKS
                seen = Observation(
                    min(1.0, used / (BLOCK * BLOCKS)), len(self._runs), 0, self.preempted
                )
                gate.observed(self.ledger, "r", seen, at + self.clock_off_s)

    def _used(self) -> float:
        return sum(prompt + made + BLOCK / 2 for made, _, prompt in self._runs.values())

    def _ask(self, tenant: str, now: float) -> None:
        prompt, length = (
            self.dice.randint(300, 700),
            min(OUTPUT_LIMIT, 1 + int(self.dice.expovariate(1 / OUTPUT_MEAN))),
        )
        asked = AskedRequest(now, prompt, "exact", OUTPUT_LIMIT, tenant, "completions")
        decision = gate.decide(asked, self.ledger, self.rules, now)
        if isinstance(decision, Refused):
            self.came.setdefault(tenant, Counter())[decision.reason] += 1
            return
        self._asked[decision.reservation] = tenant, prompt, length  # type: ignore[union-attr]
        if isinstance(decision, Admitted):
            self._told(decision)

    def _told(self, one: Admitted | Refused) -> None:
        tenant, prompt, length = self._asked.pop(one.reservation)
        self.came.setdefault(tenant, Counter())[
            "answered" if isinstance(one, Admitted) else one.reason
        ] += 1
        if isinstance(one, Admitted):
            self._runs[one.reservation] = [-prompt * 2e-5 / 0.01, length, prompt]

    def _steps(self, now: float) -> None:
        made = STEP_S / (0.004 + 0.0003 * len(self._runs))
        for number, one in list(self._runs.items()):
            one[0] += made
            gate.produced(self.ledger, number, max(0, int(one[0])), now)
            if one[0] >= one[1]:
                del self._runs[number]
                ended: gate.Ended = "stop" if one[1] < OUTPUT_LIMIT else "length"
                assert gate.returned(self.ledger, number, now, ended, int(one[2]), int(one[1]))

    def answered_ratio(self, *tenants: str) -> float:
        """Of their requests: how many were answered."""
        found = sum((self.came[name] for name in tenants), Counter[str]())
        return found["answered"] / found.total()


def test_below_capacity_nobody_is_refused() -> None:
    """At 80 % of what fits, from a ledger that knows nothing."""
    for seed in range(3):
        engine = Engine(
            random.Random(seed), Rules(max_output_tokens=OUTPUT_LIMIT, queue_deadline_s=2.0)
        )
        engine.run({"": 0.8 * FITS_PER_S}, 25.0)
        assert engine.answered_ratio("") == 1.0, (seed, engine.came)


def test_far_above_it_the_rest_is_refused_and_as_much_as_fits_is_answered() -> None:
    engine = Engine(random.Random(1), Rules(max_output_tokens=OUTPUT_LIMIT, queue_deadline_s=2.0))
    engine.run({"": 5 * FITS_PER_S}, 25.0)
    assert set(engine.came[""]) <= {"answered", "over-capacity", "deadline-passed"}
    assert engine.came[""]["answered"] >= 0.8 * FITS_PER_S * 25.0
    assert engine.preempted <= 0.01 * engine.came[""]["answered"] + 1


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.sweep) for seed in (1, 2))]
)
def test_who_asks_for_less_than_its_share_keeps_it_beside_a_flood(seed: int) -> None:
    """Two ask for a fifth of what fits each, the third for five times what fits; a third is each
    one's share.
    """
    rules = Rules(
        max_output_tokens=OUTPUT_LIMIT, queue_deadline_s=1.6, tenants=SHARES, tenants_closed=True
    )
    engine = Engine(random.Random(seed), rules)
    engine.run({"red": 0.2 * FITS_PER_S, "blue": 0.2 * FITS_PER_S, "green": 5 * FITS_PER_S}, 25.0)
    assert engine.answered_ratio("red", "blue") >= 0.95
    assert engine.came["green"]["answered"] > 0.3 * FITS_PER_S * 25.0


def test_a_clock_that_steps_back_and_forth_loses_nothing() -> None:
    engine = Engine(random.Random(3), Rules(max_output_tokens=OUTPUT_LIMIT, queue_deadline_s=2.0))
    dice = random.Random(4)

    class Stepping(Engine):
        def _steps(self, now: float) -> None:
            self.clock_off_s = (
                dice.choice((-30.0, 0.0, 0.0, 0.0, 45.0))
                if dice.random() < 0.02
                else self.clock_off_s
            )
            super()._steps(now)

    stepping = Stepping(engine.dice, engine.rules)
    stepping.run({"": 2 * FITS_PER_S}, 20.0)
    (replica,) = stepping.ledger.replicas.values()
    assert stepping.ledger.reservations == {}
    assert (
        stepping.ledger.queued,
        replica.held_tokens,
        replica.most_tokens,
        len(replica.live),
    ) == (0, 0.0, 0.0, 0)
    assert stepping.came[""]["answered"] > 40
