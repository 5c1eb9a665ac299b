"""What this gateway has admitted is entered into the budgets that gateways share before it is
forwarded, and taken out when it ends.

    desk --Admitted--> enter --entered--> forwarded ... returned --> given back
                         +----Refused: the gateways together hold what the engine has; what was
                         reserved here is returned

One budget for each engine: the charge of what is admitted (input and expected output), together at
most what its pool holds.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from barostat.admit.decision import Admitted, Refused
from barostat.gateway.say import say
from barostat.io.redis.shared_budget import BudgetClaim, BudgetFull, SharedBudget, Taken

if TYPE_CHECKING:
    from barostat.gateway.desk import Desk

_AGAIN_S = 1.0


class Entering(Protocol):
    """A request that is admitted here and has to be entered there."""

    def entered(self, number: int, *, there: bool) -> None:
        """It is held under that number (0: nothing is held). `there`: its replica has not left
        meanwhile.
        """

    def not_entered(self, refused: Refused) -> None:
        """There is no room for it, or the budget cannot be asked."""


class SharedEntry:
    """The desk's side of the shared budget."""

    def __init__(self, desk: Desk, budget: SharedBudget) -> None:
        self._desk = desk
        self._budget = budget
        self._entering: set[asyncio.Task[None]] = set()
        self._said_reachable = True

    @property
    def reachable(self) -> bool:
        """True if Redis answered when it was last asked."""
        return self._budget.reachable

    def look(self, _: float) -> None:
        """Say once that Redis is gone, and once that it is back."""
        if self.reachable == self._said_reachable:
            return
        self._said_reachable = self.reachable
        if self.reachable:
            say("the Redis of the shared budget answers again")
            return
        opens = self._desk.opens("kvTokenBudget")
        say(
            "the Redis of the shared budget does not answer: until it does, requests "
            + ("pass without the shared budget" if opens else "get 503")
            + " (edge.failurePolicy.kvTokenBudget)"
        )

    async def enter(self, decision: Admitted) -> int | Refused:
        """The number under which it is held, 0 where nothing is to be held, or why it is not to be
        forwarded.
        """
        desk = self._desk
        held = desk.ledger.reservations.get(decision.reservation)
        pool = desk.pools.get(decision.replica)
        if held is None or pool is None:
            return 0
        limit = min(pool.kv_tokens, desk.rules.kv_token_budget or pool.kv_tokens)
        # What is expected of an answer may be more than there is as long as no length is known: it
        # is the whole then, not more for ever.
        charge = min(limit, max(0, round(held.charge)))
        outcome = await self._budget.take(
            {f"replica/{decision.replica}": BudgetClaim(charge, limit)}
        )
        if isinstance(outcome, Taken):
            if not outcome.accounted:
                desk.metrics.count("shared_budget_unaccounted_total")
            return outcome.number
        if desk.shadow:
            desk.metrics.would_refuse("over-capacity")
            return 0
        if isinstance(outcome, BudgetFull):
            rate = held.turn.line.rate_per_s()
            again_s = _AGAIN_S if not rate else max(_AGAIN_S, 1.0 / rate)
            return Refused(
                429,
                "over-capacity",
                "the engine holds as much as all gateways together may give it",
                again_s,
            )
        return Refused(
            503, "over-capacity", "the budget that the gateways share cannot be asked", _AGAIN_S
        )

    def enter_soon(self, exchange: Entering, decision: Admitted) -> None:
        """Enter what was admitted, and tell the exchange what came of it."""
        task = asyncio.get_running_loop().create_task(self._enter(exchange, decision))
        self._entering.add(task)
        task.add_done_callback(self._entering.discard)

    async def _enter(self, exchange: Entering, decision: Admitted) -> None:
        outcome = await self.enter(decision)
        if isinstance(outcome, Refused):
            exchange.not_entered(outcome)
        else:
            exchange.entered(outcome, there=decision.replica in self._desk.replicas)

    def leave(self, number: int) -> None:
        """Release the reservation with that number."""
        if number:
            self._budget.give_back_soon(number)
