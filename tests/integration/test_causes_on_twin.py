"""Each state brought about on the twin, and `barostat diagnose` names the same cause as on the real
engine. Needs no vLLM.

The twin shares the machine well: several scenarios run at once, but those that need a core for
themselves.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from dev.scenarios import SCENARIOS, Scenario, brought_about
from dev.twin_engine import TwinEngine
from tests.integration.named_causes import check, diagnosed

Found = tuple[int, dict[str, Any]]
BY_NAME = {one.name: one for one in SCENARIOS if not one.recorded_only}
AT_ONCE = max(1, min(4, (os.cpu_count() or 2) + 1))


def seen(one: Scenario) -> Found:
    """What the diagnosis says about the twin in that state."""
    with TwinEngine(*one.flags, shape=one.shape, model=one.model or None) as engine:
        if not one.listens:
            assert engine.wait_exit(within_s=60) != 0
            return diagnosed("--log", str(engine.log))
        engine.wait_ready(within_s=60)
        probe = ["--probe"] if one.stops and one.load is None else []
        with brought_about(one, engine):
            return diagnosed(
                engine.url, "--for", "20s", "--interval", "5s", "--log", str(engine.log), "--pid", str(engine.pid), *probe
            )  # fmt: skip


@pytest.fixture(scope="module")
def states(request: pytest.FixtureRequest) -> Iterator[dict[str, Callable[[], Found]]]:
    """The scenarios that this run asks for, by name: each gives what was seen, once it has been."""
    wanted = [
        BY_NAME[item.callspec.params["name"]]  # type: ignore[attr-defined]
        for item in request.session.items
        if getattr(item, "originalname", "") == _TEST
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running: dict[str, Future[Found]] = {
            one.name: pool.submit(seen, one) for one in wanted if one.cause != "host-bound"
        }

        def alone(one: Scenario) -> Found:
            for other in running.values():
                other.exception()
            return seen(one)

        yield {
            one.name: running[one.name].result if one.name in running else partial(alone, one)
            for one in wanted
        }


@pytest.mark.parametrize("name", BY_NAME)
def test_the_twin_is_diagnosed_as_the_real_engine_is(
    name: str, states: dict[str, Callable[[], Found]]
) -> None:
    check(BY_NAME[name], *states[name]())


_TEST = test_the_twin_is_diagnosed_as_the_real_engine_is.__name__
