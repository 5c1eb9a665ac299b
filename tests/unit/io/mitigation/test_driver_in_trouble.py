"""A remedy over a connection that loses answers, refuses, stalls and breaks, and by programs that
die: it ends, and no law is broken.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Any

import pytest
from dev.cluster import chaos
from tests.support.little_kubernetes import NEW, OLD
from tests.support.remedy_runs import ACCESS, Mortal, Scene, on_a_little_kubernetes

from barostat.remedy.plan import StepLimits, Strategy
from barostat.remedy.state import State

SEEDS = 12


def some(short: tuple[Any, ...], rest: tuple[Any, ...]) -> list[Any]:
    """All of them, the rest as a sweep."""
    return [*short, *(pytest.param(one, marks=pytest.mark.sweep) for one in rest)]


ACTS, COMMITTED = 11, 7
"""Writes of one replica's remedy that are acts; the one that commits it is home's template."""


async def ends_well(found: Scene, state: State | None, phase: str = "Done") -> None:
    assert state is not None
    assert (state.phase, found.kube.broken, await found.left()) == (phase, [], []), found.told
    assert found.value == (NEW if phase == "Done" else OLD)


@pytest.mark.parametrize(
    ("replicas", "gpus", "strategy"), [(1, 2, "spare"), (2, 3, "spare"), (2, 2, "in-place")]
)
def test_without_trouble_it_is_done(replicas: int, gpus: int, strategy: Strategy) -> None:
    async def go(found: Scene) -> None:
        found.kube.floor -= strategy == "in-place"
        await ends_well(found, await found.run(State(found.plan(strategy))))

    on_a_little_kubernetes(go, replicas, gpus)


def test_pods_that_take_minutes_to_end_are_waited_for_as_long_as_their_grace_allows() -> None:
    async def go(found: Scene) -> None:
        found.kube.end_s = 400.0
        await ends_well(found, await found.run(State(found.plan(bounds=StepLimits(end_s=600.0)))))
        # What is on its way out takes no part any more: nobody asks every second, for minutes,
        # whether it does.
        assert sum("/endpointslices" in target for _, target in found.api.asked) < 100

    on_a_little_kubernetes(go, 2)


def test_what_somebody_scaled_meanwhile_is_told_with_what_takes_it_back_and_then_it_goes_on() -> (
    None
):
    async def go(found: Scene) -> None:
        home = found.kube.home
        asyncio.get_running_loop().call_later(
            8.0, lambda: (home["spec"].update(replicas=3), found.kube.touch(home))
        )
        state = await found.run(State(found.plan()))
        assert state is not None
        assert state.phase == "HandedOff"
        assert (
            "home asks for 3 replicas, not 1: somebody scaled it, and kubectl scale "
            "deploy/vllm -n x --replicas=2 takes"
        ) in state.why
        home["spec"]["replicas"] = 2
        found.kube.touch(home)
        await ends_well(found, await found.run(await found.recorded()), "RolledBack")

    on_a_little_kubernetes(go, 2)


def every_other(kind: chaos.Kind, *, writes: bool) -> chaos.Choose:
    """The first request of that method and path fails, the second does not, and so on."""
    asked: Counter[tuple[str, str]] = Counter()

    def choose(method: str, path: str) -> chaos.Kind | None:
        if (method != "GET") is not writes or "/events" in path or "/proxy/" in path:
            return None
        what = method, path.partition("?")[0] + ("?dry" if "dryRun" in path else "")
        asked[what] += 1
        return kind if asked[what] % 2 else None

    return choose


@pytest.mark.parametrize(
    "kind",
    some(
        ("reset-after", "conflict", "stall-before"),
        ("reset-before", "error", "error-after", "cut", "stall-after"),
    ),
)
def test_every_write_fails_once_or_its_answer_is_lost(kind: chaos.Kind) -> None:
    async def go(found: Scene) -> None:
        found.api.choose = every_other(kind, writes=True)
        await ends_well(found, await found.run(State(found.plan())))
        assert len(found.api.befell) > 12

    on_a_little_kubernetes(go)


@pytest.mark.parametrize("kind", some(("cut",), ("reset-before", "error")))
def test_every_other_look_fails(kind: chaos.Kind) -> None:
    async def go(found: Scene) -> None:
        found.api.choose = every_other(kind, writes=False)
        await ends_well(found, await found.run(State(found.plan())))
        assert len(found.api.befell) > 50

    on_a_little_kubernetes(go)


@pytest.mark.parametrize("after_s", some((6.0, 25.0), (1.0, 12.0, 45.0, 55.0)))
def test_an_api_server_that_is_away_for_two_minutes_is_waited_for(after_s: float) -> None:
    async def go(found: Scene) -> None:
        began = time.monotonic()
        found.api.choose = lambda _, __: (
            "reset-before" if after_s <= time.monotonic() - began < after_s + 120.0 else None
        )
        await ends_well(found, await found.run(State(found.plan())))
        assert len(found.api.befell) > 10

    on_a_little_kubernetes(go)


@pytest.mark.sweep
def test_everything_at_once_from_many_seeds() -> None:
    async def go(found: Scene, seed: int) -> str:
        found.api.choose = chaos.seeded(seed)
        state = await found.run(State(found.plan()))
        assert state is not None
        assert state.ended
        assert found.kube.broken == []
        end = state.phase
        if end == "HandedOff":
            found.api.choose = lambda _, __: None
            state = await found.run(await found.recorded())
            assert state is not None
        await ends_well(found, state, state.phase)
        return end

    ends = Counter(
        on_a_little_kubernetes(lambda found, seed=seed: go(found, seed))  # type: ignore[misc]
        for seed in range(SEEDS)
    )
    assert ends["Done"] > 0.7 * SEEDS, ends


LATE = pytest.mark.parametrize(
    "late", [False, True], ids=["before it is sent", "when it took effect"]
)


@LATE
@pytest.mark.sweep
@pytest.mark.parametrize("act", range(1, ACTS + 1))
def test_killed_at_an_act_and_resumed(act: int, late: bool) -> None:
    async def go(found: Scene) -> None:
        assert (
            await found.run(State(found.plan()), cluster=Mortal(ACCESS, dies_at=act, late=late))
            is None
        )
        await ends_well(found, await found.run(await found.recorded()))

    on_a_little_kubernetes(go)


def test_those_are_all_acts() -> None:
    async def go(found: Scene) -> None:
        await ends_well(
            found, await found.run(State(found.plan()), cluster=Mortal(ACCESS, dies_at=ACTS + 1))
        )

    on_a_little_kubernetes(go)


@pytest.mark.sweep
def test_killed_again_and_again() -> None:
    async def go(found: Scene) -> None:
        state = await found.run(State(found.plan()), cluster=Mortal(ACCESS, dies_at=1))
        deaths = 1
        while state is None:
            state = await found.run(
                await found.recorded(), cluster=Mortal(ACCESS, dies_at=2, late=deaths % 2 == 0)
            )
            deaths += state is None
        assert deaths > 5
        assert state.epoch == deaths + 1
        await ends_well(found, state)

    on_a_little_kubernetes(go, 2)


@LATE
@pytest.mark.sweep
@pytest.mark.parametrize("act", range(1, COMMITTED))
def test_killed_at_an_act_and_taken_back(act: int, late: bool) -> None:
    async def go(found: Scene) -> None:
        assert (
            await found.run(State(found.plan()), cluster=Mortal(ACCESS, dies_at=act, late=late))
            is None
        )
        await ends_well(
            found, await found.run(await found.recorded(), abort="a person ended it"), "RolledBack"
        )

    on_a_little_kubernetes(go)


def test_a_program_that_dies_while_it_takes_back_is_followed_by_one_that_goes_on() -> None:
    async def go(found: Scene) -> None:
        state = await found.run(State(found.plan()), cluster=Mortal(ACCESS, dies_at=5))
        for _ in range(20):
            if state is None:
                state = await found.run(
                    await found.recorded(), abort="no", cluster=Mortal(ACCESS, dies_at=2, late=True)
                )
        await ends_well(found, state, "RolledBack")

    on_a_little_kubernetes(go)
