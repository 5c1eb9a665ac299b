"""Pressure that comes and goes is looked for until there has been time for it; what else speaks
against a plan ends the looking at once.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.support.remedy_dialogue import GOOD, a_plan
from tests.support.remedy_runs import Scene, on_a_little_kubernetes
from tests.support.virtual_time import virtual_time

from barostat.core.diagnosis import CauseName
from barostat.io.clock import SteadyClock
from barostat.io.mitigation.confirming import LOOKS, confirming, with_patience
from barostat.io.mitigation.performer import Gathering
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.precheck import Facts, refusals
from barostat.remedy.state import State

PLAN = a_plan()
LOOK_S = 60.0


def looking(*causes: CauseName, claim: str = "") -> tuple[Facts, list[str], float]:
    """What is found where each look shows the next of the causes, the last one for ever: (the
    facts, what was told, how long it took).
    """

    async def go() -> tuple[Facts, list[str], float]:
        clock, left, told = SteadyClock(), list(causes), list[str]()

        async def look() -> Facts:
            await asyncio.sleep(LOOK_S)
            cause = left.pop(0) if len(left) > 1 else left[0]
            now = clock.now()
            return replace(
                GOOD,
                at=now,
                evidence_at=now,
                cause=cause,
                replicas=PLAN.replicas,
                serving=PLAN.serving,
                claim=claim,
            )

        began = clock.now()
        facts = await confirming(look, with_patience(PLAN, LOOK_S), clock, told.append)
        return facts, told, clock.now() - began

    with virtual_time() as run:
        return run(go())


def test_a_cause_that_was_away_for_two_looks_is_confirmed_by_the_third() -> None:
    facts, told, took_s = looking("healthy-busy", "unknown", PLAN.cause)
    assert refusals(facts, PLAN) == ()
    assert took_s == pytest.approx(3 * LOOK_S)
    assert told == [
        f"no {PLAN.cause} in this look, healthy-busy: it is looked for 180 s longer",
        f"no {PLAN.cause} in this look, unknown: it is looked for 120 s longer",
    ]


def test_a_pool_that_only_queues_in_this_look_may_thrash_in_the_next() -> None:
    assert PLAN.cause == "kv-preemption-thrash"
    facts, told, took_s = looking("kv-admission-queueing", PLAN.cause)
    assert refusals(facts, PLAN) == ()
    assert took_s == pytest.approx(2 * LOOK_S)
    assert told == [
        f"no {PLAN.cause} in this look, kv-admission-queueing: it is looked for 180 s longer"
    ]


def test_a_cause_that_stays_away_is_gone() -> None:
    facts, _, took_s = looking("healthy-idle")
    assert any("it is healthy-idle now" in why for why in refusals(facts, PLAN))
    assert took_s == pytest.approx(LOOKS * LOOK_S)


@pytest.mark.parametrize(
    ("cause", "claim"), [("compute-bound", ""), ("healthy-busy", "another#1#run")]
)
def test_what_no_longer_look_would_mend_is_told_at_once(cause: CauseName, claim: str) -> None:
    facts, told, took_s = looking(cause, claim=claim)
    assert refusals(facts, PLAN)
    assert not told
    assert took_s == pytest.approx(LOOK_S)


@pytest.mark.parametrize(
    "look_s",
    [1.0, *(pytest.param(look_s, marks=pytest.mark.sweep) for look_s in (30.0, 900.0)), 200.0],
)
def test_a_run_waits_for_its_looks_however_long_they_are(look_s: float) -> None:
    class Patient(Scene):
        def gather(self, plan: RemedyPlan) -> Gathering:
            good: Gathering = super().gather(plan)

            async def late() -> Facts:
                await asyncio.sleep(plan.bounds.confirm_s)
                return await good()

            return late

    async def go(found: Scene) -> None:
        state = await Patient(found.kube, found.api).run(State(with_patience(found.plan(), look_s)))
        assert state is not None
        assert state.phase == "Done", state.why

    on_a_little_kubernetes(go)
