"""Budgets that several gateways share: together they never hold more than each budget's limit, and
what one held comes back if it dies.

    take --Taken--> give_back          a beat every third of a lease says what lives: what is lost on the way is put right by the next one
      |---Full                         a gateway that does not beat for a lease: all that it held is returned
      +---Unreachable | Taken(accounted=False)     Redis is gone: as the failure policy says, closed or open

What was admitted while Redis was gone (open), or outlived a lease that ended, is entered by the
next beat though the budget be full: it runs, and nothing more is admitted until there is room
again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import redis.asyncio
from redis.exceptions import RedisError

from barostat.io.redis.budget_scripts import BudgetScripts, scripts

LEASE_S = 9.0
_WITHIN_S = 0.25


class BudgetClaim(NamedTuple):
    """A number of tokens (0 or more) from a budget with this limit."""

    tokens: int
    limit_tokens: int


@dataclass(frozen=True, slots=True)
class Taken:
    """Held until `give_back(number)`. `accounted`: false where Redis is gone and the policy lets
    requests pass.
    """

    number: int
    accounted: bool = True


@dataclass(frozen=True, slots=True)
class BudgetFull:
    """Nothing is held: this budget has no room for the claim. `held_tokens`: what all gateways hold
    of it.
    """

    budget: str
    held_tokens: int


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Nothing is held: Redis cannot be asked, and the policy is that nothing passes then."""


Outcome = Taken | BudgetFull | Unreachable


class SharedBudget:
    """One gateway's reservations in the shared budgets of a namespace. `live`: its reservations;
    None while one is being taken. `reachable`: by the last request.
    """

    def __init__(
        self,
        url: str,
        namespace: str,
        gateway: str,
        *,
        opens: bool = False,
        lease_s: float = LEASE_S,
        within_s: float = _WITHIN_S,
        texts: BudgetScripts | None = None,
    ) -> None:
        """`gateway`: unique to this process, never used again. `opens`: requests pass without
        Redis. `within_s`: longest wait for it.
        """
        self._client = redis.asyncio.Redis.from_url(
            url, socket_timeout=within_s, socket_connect_timeout=within_s, retry=None
        )
        texts = texts or scripts()
        self._take, self._give_back = (
            self._client.register_script(texts.take),
            self._client.register_script(texts.give_back),
        )
        self._beat, self._leave = (
            self._client.register_script(texts.beat),
            self._client.register_script(texts.leave),
        )
        self._namespace = "{" + namespace + "}"
        self._own = [gateway, round(lease_s * 1000), round(lease_s * 1000 / 3)]
        self._beat_s = lease_s / 3
        self._within_s = within_s
        self._opens = opens
        self._last = 0
        self._task: asyncio.Task[None] | None = None
        self._returning: set[asyncio.Task[None]] = set()
        self.live: dict[int, Mapping[str, int] | None] = {}
        self.reachable = False

    async def start(self) -> bool:
        """Start renewing the lease until `close`. True if Redis is reachable."""
        there = await self.beat()
        self._task = asyncio.get_running_loop().create_task(self._go_on())
        return there

    async def _go_on(self) -> None:
        while True:
            await asyncio.sleep(self._beat_s)
            await self.beat()

    async def beat(self) -> bool:
        """Renew the lease and store this gateway's reservations in Redis. False if Redis is gone."""
        live = {
            str(number): amounts if amounts is not None else 0
            for number, amounts in self.live.items()
        }
        done = await self._call(self._beat, self._last, json.dumps(live))
        self.reachable = done is not None
        return self.reachable

    async def take(self, claims: Mapping[str, BudgetClaim]) -> Outcome:
        """All of these claims are held, or none."""
        self._last += 1
        number = self._last
        if not self.reachable:
            return self._without(number, claims)
        self.live[number] = None
        said: Any = None
        try:
            said = await self._ask(number, claims)
            if said is not None and said[0] == b"no-lease" and await self.beat():
                said = await self._ask(number, claims)
        finally:
            if said is None or said[0] != b"taken":
                del self.live[number]  # should it be held all the same, the next beat returns it
        if said is None or said[0] == b"no-lease":
            self.reachable = False
            return self._without(number, claims)
        if said[0] == b"full":
            return BudgetFull(said[1].decode(), int(said[2]))
        self.live[number] = {
            budget: claim.tokens for budget, claim in claims.items() if claim.tokens > 0
        }
        return Taken(number)

    def _ask(self, number: int, claims: Mapping[str, BudgetClaim]) -> Awaitable[Any]:
        return self._call(self._take, number, json.dumps(claims))

    def _without(self, number: int, claims: Mapping[str, BudgetClaim]) -> Outcome:
        if not self._opens:
            return Unreachable()
        self.live[number] = {
            budget: claim.tokens for budget, claim in claims.items() if claim.tokens > 0
        }
        return Taken(number, accounted=False)

    async def give_back(self, number: int) -> None:
        """Release the reservation; idempotent. If Redis misses it, the next heartbeat repeats it."""
        if self.live.pop(number, None) is not None and self.reachable:
            await self._call(self._give_back, number)

    def give_back_soon(self, number: int) -> None:
        """The same for a caller that does not wait."""
        task = asyncio.get_running_loop().create_task(self.give_back(number))
        self._returning.add(task)
        task.add_done_callback(self._returning.discard)

    async def close(self) -> None:
        """This gateway holds nothing and has no lease."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self.live.clear()
        await self._call(self._leave)
        await self._client.aclose()

    async def _call(self, script: Any, *arguments: int | str) -> Any:
        """What the script says, None if Redis does not answer in time."""
        try:
            async with asyncio.timeout(self._within_s):
                return await cast(
                    Awaitable[Any], script(keys=[self._namespace], args=[*self._own, *arguments])
                )
        except (RedisError, OSError, TimeoutError):
            return None
