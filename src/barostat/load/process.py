"""The load as a process: one loop, without pauses of the collector, that ends at Ctrl-C with what
there is.
"""

from __future__ import annotations

import asyncio
import gc
import secrets
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from barostat.io.engine_http.address import Address
from barostat.judge.load_test.figures import Collected
from barostat.judge.load_test.traffic import Traffic
from barostat.load.prompts import Prompts
from barostat.load.run import Run, RunBounds
from barostat.load.target import Api, Target, counted, find_out

_COLLECTED_AFTER = 50_000  # objects: a stream leaves no cycles, and looking for some is a pause
_SALT_BITS = 28

_T = TypeVar("_T")
Progress = Callable[[int, int, int], None]


def looked_at(
    where: Address, *, api: Api | None, model: str | None, key: str, aside: bool
) -> Target:
    """The target as it answers; nothing was asked of its model yet.

    Errors: OutsideError, InputError.
    """
    return in_loop(find_out(where, api=api, model=model, key=key, aside=aside))


def understood(target: Target) -> Target:
    """The target with how it counts. Errors: OutsideError."""
    return in_loop(counted(target))


def carried_out(
    target: Target, traffic: Traffic, bounds: RunBounds, progress: Progress | None = None
) -> Collected:
    """Run the load against the target and return its measurements."""
    prompts = Prompts(secrets.randbits(_SALT_BITS), target.counted)
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECTED_AFTER)
    return in_loop(Run(target, traffic, bounds, prompts, progress).go())


def in_loop(main: Coroutine[Any, Any, _T]) -> _T:
    """Run the coroutine, on uvloop if installed, and return its result."""
    try:
        import uvloop
    except ImportError:  # not made for this platform: slower, and otherwise the same
        return asyncio.run(main)
    found: _T = uvloop.run(main)
    return found
