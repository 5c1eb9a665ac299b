"""What is entered into the budgets that gateways share: never more than the engine has, and not
more than all of it.
"""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from tests.support.gateway_wire import World, chat, ok

from barostat.admit.decision import Admitted
from barostat.gateway.gauges import gauges
from barostat.gateway.shared_entry import SharedEntry
from barostat.io.redis.shared_budget import BudgetClaim, SharedBudget, Taken

ANSWER = ok(b"{}")


class Budget:
    """What a budget is asked for."""

    def __init__(self) -> None:
        self.claims: list[BudgetClaim] = []
        self.reachable = True

    async def take(self, claims: dict[str, BudgetClaim]) -> Taken:
        self.claims += claims.values()
        return Taken(1)


@pytest.mark.parametrize("policy", ["open", "closed"])
def test_the_loss_of_redis_is_said_once_and_shown(
    policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(f"edge: {{failurePolicy: {{kvTokenBudget: {policy}}}}}")
    budget = Budget()
    world.gateway.shared = entry = SharedEntry(world.desk, cast(SharedBudget, budget))
    said = []
    for reachable in (True, True, False, False, False, True, True):
        budget.reachable = reachable
        entry.look(0.0)
        said.append(capsys.readouterr().err)
        assert gauges(world.gateway)[0]["shared_budget_up"] == float(reachable)
    assert [bool(line) for line in said] == [False, False, True, False, False, True, False]
    assert ("pass without" if policy == "open" else "503") in said[2]


@pytest.mark.parametrize(
    ("edge", "limit_tokens"),
    [("", 2000), ("edge: {kvTokenBudget: 5000}", 2000), ("edge: {kvTokenBudget: 1000}", 1000)],
)
def test_the_claim_is_within_what_the_engine_and_the_limits_have(
    edge: str, limit_tokens: int
) -> None:
    world = World("request: {maxOutputTokens: 100000}\n" + edge, pool_tokens=2000)
    world.client().sends(
        chat(max_tokens=30_000)
    )  # with nothing known it is expected to run to its limit
    (number,) = world.desk.ledger.reservations
    budget = Budget()
    entry = SharedEntry(world.desk, cast("SharedBudget", budget))
    assert asyncio.run(entry.enter(Admitted(number, "engine-0:8000", None, False))) == 1
    assert budget.claims == [BudgetClaim(limit_tokens, limit_tokens)]


def test_an_engine_that_leaves_while_the_budget_is_asked_loses_the_request_to_another() -> None:
    world = World(replicas=2)
    left: list[str] = []

    class Slow(Budget):
        async def take(self, claims: dict[str, BudgetClaim]) -> Taken:
            if not left:
                (name,) = claims
                left.append(name.removeprefix("replica/"))
                world.desk.leaves(world.desk.replicas[left[0]])
            return await super().take(claims)

        def give_back_soon(self, _: int) -> None:
            self.claims.pop()

    budget = Slow()

    async def sent() -> bytes:
        world.gateway.shared = SharedEntry(world.desk, cast("SharedBudget", budget))
        client = world.client()
        client.sends(chat(max_tokens=5))
        while not world.engines:
            await asyncio.sleep(0)
            world.goes_on()
        assert world.engine().protocol.pool.name != left[0]
        world.engine().says(ANSWER)
        return client.heard

    assert asyncio.run(sent()) == ANSWER
    assert budget.claims == []
    world.at_rest()
