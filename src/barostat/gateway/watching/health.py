"""Health checks: every engine is queried each second and stays in rotation while its answers show
that it works.

    unknown --answers--> up --no connection, or three looks without an answer--> unreachable
    --answers--> up
                          |--/health is not 200--> unhealthy --200--> up
                          |--requests run and nothing has moved for STALLED_S--> stalled --something moves--> up
                          |--idle by its page, but owes an answer for OWED_S--> stalled --something moves, or nothing is owed--> up
                          |--its page is that of an engine named before it--> named-twice --not any more--> up

200 on /health does not prove that tokens are generated: vLLM answers 200 with a hung core. Progress
is read from /metrics: its token counters, and the pool usage, which grows while a long prompt is
computed. A core that hung while idle never reports running requests, so requests sent by this
gateway count instead. A first step that compiles looks the same, so such an engine is left only if
another engine could serve its requests. A stalled engine gets no new requests; those in flight are
left to the clients and the timeouts.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from barostat.gateway.desk import Desk
from barostat.gateway.engine_query import EngineQuery
from barostat.gateway.messages.served import Served, served_in
from barostat.gateway.replica import Replica, Standing
from barostat.gateway.watching.engine_page import EnginePage, pool_in, read_page

EVERY_S = 1.0
WITHIN_S = 5.0
STALLED_S = 20.0
OWED_S = 60.0
MISSED = 3
_POOL_AGAIN_S = 60.0
Answer = tuple[int, bytes] | None
"""(status, body) of a response; None if no complete response came."""


@dataclass(slots=True)
class Watched:
    """State of one engine between two health checks. `anew_at`: when a restart was last seen."""

    missed: int = 0
    progress: float = -1.0
    usage_ratio: float = 0.0
    moved_at: float = 0.0
    anew_at: float = -math.inf
    pool_at: float = -_POOL_AGAIN_S
    gaps: float = math.inf
    gaps_s: float = 0.0
    began: tuple[float, ...] = ()


def stands(
    before: Standing,
    seen: Watched,
    health: int | None,
    page: EnginePage | None,
    now: float,
    owed: Callable[[float], bool],
) -> Standing:
    """Return the engine's standing after one more check, and update `seen`. `health`: status of
    /health, None if it did not answer.

    `owed`: true if a request sent to this engine since the given time has no token yet and another
    engine could serve it.
    """
    if health is None:
        seen.missed += 1
        seen.anew_at = now
        return (
            "unreachable"
            if seen.missed >= MISSED or before in ("unknown", "unreachable")
            else before
        )
    seen.missed = 0
    if health != 200:
        seen.anew_at = now
        return "unhealthy"
    if page is None:
        return "up"
    if page.progress < seen.progress:
        seen.anew_at = now
    if (page.progress, page.usage_ratio) != (seen.progress, seen.usage_ratio):
        seen.progress, seen.usage_ratio, seen.moved_at = page.progress, page.usage_ratio, now
    elif page.running:
        if now - seen.moved_at > STALLED_S or before == "stalled":
            return "stalled"
    elif page.waiting or not owed(seen.anew_at):
        seen.moved_at = now
    elif now - seen.moved_at > OWED_S or before == "stalled":
        return "stalled"
    return "up"


class Health:
    """Checks all engines, one task each."""

    def __init__(self, desk: Desk, credentials: bytes = b"") -> None:
        self._desk = desk
        self._credentials = credentials
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._watched = {name: Watched() for name in desk.replicas}

    async def first_look(self) -> None:
        """Check every engine once."""
        replicas = self._desk.replicas.values()
        await asyncio.gather(*(self.look(replica) for replica in replicas))
        for replica in replicas:  # an engine named earlier may have answered later
            if replica.standing == "up" and (other := self._named_before(replica)):
                self._is_named_twice(replica, other)

    def start(self) -> None:
        """Start periodic checks; they run until `stop`."""
        loop = asyncio.get_running_loop()
        for name, replica in self._desk.replicas.items():
            if name not in self._tasks:
                self._tasks[name] = loop.create_task(self._watch(replica))

    async def follow(self, replica: Replica) -> None:
        """Check an engine that was added later, now and periodically."""
        watched = self._watched[replica.name] = Watched()
        await self.look(replica)
        if self._watched.get(replica.name) is watched:  # it may have left during the check
            self._tasks[replica.name] = asyncio.get_running_loop().create_task(self._watch(replica))

    def forget(self, name: str) -> None:
        """Stop checking that engine."""
        self._watched.pop(name, None)
        if (task := self._tasks.pop(name, None)) is not None:
            task.cancel()

    async def stop(self) -> None:
        """Stop the health checks."""
        for task in self._tasks.values():
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*self._tasks.values())

    async def _watch(self, replica: Replica) -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            await self.look(replica)

    async def look(self, replica: Replica) -> None:
        """Check health and metrics concurrently, and notify the desk."""
        watched = self._watched[replica.name]
        asked = EngineQuery(replica, b"GET", b"/health")
        health, metrics = await asyncio.gather(
            asked.asked(WITHIN_S), EngineQuery(replica, b"GET", b"/metrics").asked(WITHIN_S)
        )
        text = metrics[1] if metrics is not None and metrics[0] == 200 else b""
        page = read_page(text) if text else None
        now = self._desk.clock()
        owed = partial(self._desk.could_be_elsewhere, replica)
        standing = stands(
            replica.standing, watched, health[0] if health is not None else None, page, now, owed
        )
        if page is not None:
            watched.began = page.began
        if standing == "up" and (other := self._named_before(replica)):
            self._is_named_twice(replica, other)
            return
        if replica.standing != "up":  # it may have restarted with another pool
            watched.pool_at = now - _POOL_AGAIN_S
        if standing == "up" and page is not None and now - watched.pool_at >= _POOL_AGAIN_S:
            await self._read_pool(replica, watched, text, now)
        if standing != replica.standing:
            replica.why = _why(
                replica, standing, asked, health, metrics, has_pool=replica.name in self._desk.pools
            )
        self._desk.stands(replica, standing)
        if page is not None:
            if standing == "up":
                self._desk.observed(replica, page.observation(watched.gaps, watched.gaps_s))
            watched.gaps, watched.gaps_s = page.gaps, page.gaps_s

    def _named_before(self, replica: Replica) -> str:
        """Return the name of an earlier engine that is the same process and still answers; empty if
        there is none.
        """
        began = self._watched[replica.name].began
        for name, other in self._desk.replicas.items():
            if other is replica:
                break
            if (
                began
                and name in self._watched
                and self._watched[name].began == began
                and other.standing not in ("unreachable", "leaving")
            ):
                return name
        return ""

    def _is_named_twice(self, replica: Replica, other: str) -> None:
        """Take a replica out of rotation that is the same engine as `other`, so that its capacity
        counts once.
        """
        replica.why = f"it is {other} by another address; leave one of the two out"
        self._desk.stands(replica, "named-twice")

    async def _read_pool(self, replica: Replica, watched: Watched, text: bytes, now: float) -> None:
        await self._read_served(replica)
        pool = await asyncio.get_running_loop().run_in_executor(
            None, pool_in, text, replica.served.longest_tokens
        )
        if pool is not None:
            watched.pool_at = now
            self._desk.has_pool(replica, pool)

    async def _read_served(self, replica: Replica) -> None:
        came = await EngineQuery(
            replica, b"GET", b"/v1/models", credentials=self._credentials
        ).asked(WITHIN_S)
        served = served_in(came[1]) if came is not None and came[0] == 200 else None
        if (
            served is not None or replica.standing != "up"
        ):  # it may have restarted with another model
            self._desk.serves(replica, served or Served())


def _why(
    replica: Replica,
    standing: Standing,
    asked: EngineQuery,
    health: Answer,
    metrics: Answer,
    *,
    has_pool: bool,
) -> str:
    """Return the reason for the standing as a clause; empty if the engine is healthy."""
    path = replica.address.path.decode()
    if standing == "stalled":
        return "it has requests and generates no tokens"
    if health is None:
        return (
            replica.why
            if asked.refused
            else asked.broke or f"{path}/health has not answered within {WITHIN_S:g} s"
        )
    if standing != "up":
        hint = f"; is {path} a part of its URL?" if path and health[0] == 404 else ""
        return f"{path}/health answered {health[0]}{hint}"
    if metrics is None or metrics[0] != 200:
        return f"{path}/metrics {'did not answer' if metrics is None else f'answered {metrics[0]}'}"
    return "" if has_pool else f"{path}/metrics shows no pool of a vLLM"
