"""Time that passes only while everything waits: an hour of polls and deadlines within a second, and
the same each time.

    with virtual_time() as run:
        found = run(what())

For code that waits by asyncio and reads `time.monotonic` or `time.time`, and asks nobody but the
servers of small_servers.py or of its own loop. While one of those is with a request, time stands,
however long the machine takes: what is waited for comes before any deadline. asyncio.run and
asyncio.Runner run on this clock, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import selectors
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, TypeVar
from unittest.mock import patch

from tests.support.small_servers import SERVERS

T = TypeVar("T")
Run = Callable[[Coroutine[Any, Any, T]], T]
WALL_S = 1_790_000_000.0
"""Unix seconds when its steady clock would read 0."""
UNDER_WAY_S = 0.01
"""Real seconds within which what was sent over the loopback is there."""


class _Clock:
    """Stands until somebody would wait."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class _Selector(selectors.BaseSelector):
    """Waits for what others are busy with; where nobody is, the clock is set forward instead."""

    def __init__(self, clock: _Clock) -> None:
        self._own, self._clock = selectors.DefaultSelector(), clock
        self.outside: set[Any] = set()
        """Work of the loop's threads, such as looking up a name."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        until = float("inf") if timeout is None else self._clock.now + max(0.0, timeout)
        while not (ready := self._own.select(0)) and self._clock.now < until:
            if self.outside or not SERVERS.at_rest():
                if ready := self._own.select(UNDER_WAY_S):
                    break
                continue
            if (
                len(self._own.get_map()) > 1
                # than the loop's own wake-up: there are connections, and something may be on its way
            ):
                if ready := self._own.select(UNDER_WAY_S):
                    break
                if not SERVERS.at_rest():
                    continue
            now = min(until, SERVERS.next_at())
            if now == float("inf"):
                raise RuntimeError("everything waits, and nothing will come")
            self._clock.now = max(self._clock.now, now)
            SERVERS.go_on(self._clock.now)
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._own.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._own.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._own.get_map()

    def close(self) -> None:
        self._own.close()


class _Loop(asyncio.SelectorEventLoop):
    """Tells its selector of what its threads do."""

    def __init__(self, clock: _Clock) -> None:
        self._virtual = _Selector(clock)
        super().__init__(self._virtual)

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:  # type: ignore[override]
        work = super().run_in_executor(executor, func, *args)
        self._virtual.outside.add(work)
        work.add_done_callback(self._virtual.outside.discard)
        return work

    async def shutdown_default_executor(self, *_: Any) -> None:
        self._virtual.outside.add(self)
        await super().shutdown_default_executor()
        self._virtual.outside.discard(self)


@contextlib.contextmanager
def virtual_time() -> Iterator[Callable[[Coroutine[Any, Any, T]], T]]:
    """What runs a coroutine, as asyncio.run does, on a clock of its own."""
    clock = _Clock()
    with (
        patch.object(time, "monotonic", clock),
        patch.object(time, "time", lambda: WALL_S + clock()),
        patch("asyncio.events.new_event_loop", lambda: _Loop(clock)),
    ):
        yield asyncio.run
