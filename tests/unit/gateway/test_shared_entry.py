"""What is entered into the budgets that gateways share: never more than the engine has, and not more than all of it."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from tests.support.gateway_wire import World, chat

from barostat.admit.decision import Admitted
from barostat.gateway.shared_entry import SharedEntry
from barostat.io.redis.shared_budget import Claim, SharedBudget, Taken


class Budget:
    """What a budget is asked for."""

    def __init__(self) -> None:
        self.claims: list[Claim] = []

    async def take(self, claims: dict[str, Claim]) -> Taken:
        self.claims += claims.values()
        return Taken(1)


@pytest.mark.parametrize(
    ("edge", "limit_tokens"), [("", 2000), ("edge: {kvTokenBudget: 5000}", 2000), ("edge: {kvTokenBudget: 1000}", 1000)]
)
def test_the_claim_is_within_what_the_engine_and_the_limits_have(edge: str, limit_tokens: int) -> None:
    world = World("request: {maxOutputTokens: 100000}\n" + edge, pool_tokens=2000)
    world.client().sends(chat(max_tokens=30_000))  # with nothing known it is expected to run to its limit
    (number,) = world.desk.ledger.reservations
    budget = Budget()
    entry = SharedEntry(world.desk, cast("SharedBudget", budget))
    assert asyncio.run(entry.enter(Admitted(number, "engine-0:8000", None, False))) == 1
    assert budget.claims == [Claim(limit_tokens, limit_tokens)]
