"""Time that passes only while everything waits: an hour of polls and deadlines within a second, and the same each time.

    with virtual_time() as run:
        found = run(what())

For code that waits by asyncio and reads `time.monotonic` or `time.time`, and does no input or output of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import selectors
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, TypeVar
from unittest.mock import patch

T = TypeVar("T")
Run = Callable[[Coroutine[Any, Any, T]], T]
WALL_S = 1_790_000_000.0
"""Unix seconds when its steady clock would read 0."""


class _Clock:
    """Stands until somebody would wait."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class _Selector(selectors.BaseSelector):
    """Never waits: the clock is set forward instead."""

    def __init__(self, clock: _Clock) -> None:
        self._own, self._clock = selectors.DefaultSelector(), clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._own.select(0)
        if not ready and timeout is None:
            raise RuntimeError("everything waits, and nothing will come")
        if not ready and timeout is not None:
            self._clock.now += max(0.0, timeout)
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._own.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._own.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._own.get_map()

    def close(self) -> None:
        self._own.close()


@contextlib.contextmanager
def virtual_time() -> Iterator[Callable[[Coroutine[Any, Any, T]], T]]:
    """What runs a coroutine, as asyncio.run does, on a clock of its own."""
    clock = _Clock()
    with patch.object(time, "monotonic", clock), patch.object(time, "time", lambda: WALL_S + clock()):
        yield lambda what: asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(_Selector(clock))).run(what)
