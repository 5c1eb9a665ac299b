"""kill -9 of either side at every act of a limit that is held at a gateway: it ends with nothing
held, by whoever goes on or by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.support.little_gateway import (
    BUDGET_TOKENS,
    DOWN,
    NO_ANSWER,
    TOKEN,
    ApiBeforeTheGateway,
    LittleGateway,
    LoadedKubernetes,
)
from tests.support.little_kubernetes import HOME, NAMESPACE
from tests.support.remedy_dialogue import GOOD, a_plan
from tests.support.remedy_runs import ACCESS, LIMITS, Killed, Mortal, by, marks, unless_killed
from tests.support.virtual_time import virtual_time

from barostat.core.change import ConfigChange, held_at_edge
from barostat.core.errors import InputError
from barostat.io.clock import SteadyClock
from barostat.io.engine_http.http import Failure
from barostat.io.kubernetes.client.cluster import Cluster, Reply
from barostat.io.kubernetes.recording.gateway_door import GatewayDoors
from barostat.io.mitigation.act_context import ActContext
from barostat.io.mitigation.driver import Driver, new_holder
from barostat.io.mitigation.gateway_hold import GatewayHold
from barostat.io.mitigation.store import Store
from barostat.io.mitigation.target_reader import ActTiming
from barostat.judge.manifest_edit.config_change import digest
from barostat.remedy.plan import GatewayRef, LiveEdge, RemedyPlan, Target
from barostat.remedy.precheck import Facts
from barostat.remedy.state import Began, Event, Resumed, State

T = TypeVar("T")
LEASE_S, CALM_S, SUSTAINED_S, LOADED_S = 12.0, 6.0, 6.0, 45.0
PACE = ActTiming(poll_s=0.5, interval_s=1.0, settle_s=1.0, stray_s=1.0)
ENDS = ("Done", "RolledBack")


@dataclass(slots=True)
class Stage:
    """The gateway, what is told, and a plan for it."""

    kube: LoadedKubernetes
    api: ApiBeforeTheGateway
    gateway: LittleGateway
    told: list[str] = field(default_factory=list)
    on_tell: Callable[[str], None] = lambda _: None

    def plan(self) -> RemedyPlan:
        """The plan that holds a budget there."""
        home = self.kube.home
        return replace(
            a_plan("edge-live"),
            target=Target("apps/v1", "Deployment", NAMESPACE, HOME, home["metadata"]["uid"]),
            change=ConfigChange("limits", "edge.kvTokenBudget", None, str(BUDGET_TOKENS)),
            expectation=held_at_edge(sustained_s=SUSTAINED_S),
            baseline=(("gateway_requests_per_s", 2.0), ("preemptions_per_s", 1.0)),
            template=digest(home["spec"]["template"]),
            edge=LiveEdge(
                (GatewayRef("Deployment", "gateway", NAMESPACE, 8081),),
                lease_s=LEASE_S,
                calm_s=CALM_S,
                enforces=True,
            ),
        )

    async def run(self, state: State, cluster: Cluster | None = None) -> State | None:
        """How the run ended; None where it was killed. One that has been recorded is resumed."""
        own, clock, plan = by(cluster or Cluster(ACCESS), self.api), SteadyClock(), state.plan

        async def facts() -> Facts:
            now = SteadyClock().now()
            return replace(GOOD, at=now, evidence_at=now, template=plan.template)

        def tell(line: str) -> None:
            self.told.append(line)
            self.on_tell(line)

        context = ActContext(own, plan, clock, PACE, tell=tell)
        context.hold = GatewayHold(GatewayDoors(own, NAMESPACE, HOME, token=TOKEN))
        driver = Driver(context, Store(own, NAMESPACE), facts, LIMITS, tell)
        first: Event = (
            Resumed(clock.now(), new_holder())
            if state.revision
            else Began(clock.now(), new_holder())
        )

        async def driven() -> State:
            try:
                return await driver.run(state, first)
            finally:
                assert context.hold is not None
                await context.hold.close()

        return await unless_killed(driven(), own)

    async def recorded(self) -> State | None:
        """What another run would read; None where nothing was recorded."""
        try:
            return (await Store(by(Cluster(ACCESS), self.api), NAMESPACE).read("i1"))[0]
        except InputError:
            return None

    async def nothing_is_left(self) -> None:
        """No limit, no reservation, no claim; and every request that came was answered, but for
        those that the kill cut.
        """
        await self.gateway.end()
        assert self.gateway.override is None, self.told
        assert self.gateway.world.desk.shadow
        assert self.gateway.limits.limits(0.0).spec.edge.kv_token_budget is None
        self.gateway.world.at_rest()
        assert "barostat.dev/claim" not in marks(self.kube.home), self.told
        assert self.kube.broken == []
        assert set(self.gateway.came) <= {"200", "429", "503", NO_ANSWER, DOWN}


def on_stage(
    folder: Path, what: Callable[[Stage], Coroutine[Any, Any, T]], loaded_s: float = LOADED_S
) -> T:
    """What comes of it where an engine preempts behind a gateway that only watches; the load goes
    after `loaded_s`.
    """

    async def go() -> T:
        kube = LoadedKubernetes(1, 2, start_s=0.1)
        while not any(map(kube.is_listed, kube.all("pods"))):
            await asyncio.sleep(1.0)
        api = ApiBeforeTheGateway(kube)
        api.gateway = LittleGateway(kube, folder)
        while kube.preempted < 3:
            await asyncio.sleep(1.0)
        asyncio.get_running_loop().call_later(loaded_s, setattr, api.gateway, "coming", False)
        return await what(Stage(kube, api, api.gateway))

    with virtual_time() as run:
        return run(go())


class MortalAtWrites(Mortal):
    """Dies at its nth write of whatever kind, a row of renewals counting as one. `wrote`: all of
    them.
    """

    def __init__(self, dies_at: int, *, late: bool) -> None:
        super().__init__(ACCESS, dies_at, late=late)
        self.wrote: list[str] = []

    async def exchange(self, method: str, path: str, **more: Any) -> Reply | Failure:
        """As the real one, while it lives."""
        if self.died.is_set():
            raise Killed
        written = f"{method} {path.partition('?')[0].rpartition('/namespaces/')[2]}"
        asks = method == "GET" or "accessreviews" in path or "dryRun" in (more.get("params") or {})
        if asks or (self.wrote and self.wrote[-1] == written and "/proxy/" in path):
            return await Cluster.exchange(self, method, path, **more)
        self.wrote.append(written)
        if len(self.wrote) == self.dies_at:
            if self.late:
                await Cluster.exchange(self, method, path, **more)
            self.died.set()
            raise Killed
        return await Cluster.exchange(self, method, path, **more)


def test_undisturbed_it_holds_and_lets_go(tmp_path: Path) -> None:
    async def go(stage: Stage) -> None:
        ended = await stage.run(State(stage.plan()))
        assert ended is not None
        assert ended.phase == "Done", "\n".join(stage.told)
        await stage.nothing_is_left()
        assert stage.gateway.came["200"] > 20
        assert stage.gateway.came["429"] + stage.gateway.came["503"] > 3
        assert NO_ANSWER not in stage.gateway.came

    on_stage(tmp_path, go)


WRITES = 40
"""More than there are."""


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("then", "late"), [("resumed", False), ("resumed", True), ("lapsed", True)]
)
def test_mitigate_killed_at_every_write(tmp_path: Path, then: str, late: bool) -> None:
    async def go(stage: Stage, dies_at: int) -> bool:
        mortal = MortalAtWrites(dies_at, late=late)
        ended = await stage.run(State(stage.plan()), mortal)
        if ended is not None:
            assert ended.phase == "Done"
            await stage.nothing_is_left()
            return False
        if then == "lapsed":
            await asyncio.sleep(LEASE_S + 1.0)
            assert stage.gateway.override is None, mortal.wrote
            assert stage.gateway.world.desk.shadow
        if (state := await stage.recorded()) is not None and not state.ended:
            stage.told.append(f"-- killed at {mortal.wrote[-1]}")
            ended = await stage.run(state)
            assert ended is not None
            assert ended.phase in ENDS, stage.told
            after = await stage.recorded()
            assert after is not None
            assert (after.phase, after.undo) == (ended.phase, ended.undo), stage.told
        await stage.nothing_is_left()
        assert NO_ANSWER not in stage.gateway.came
        return True

    killed = 0
    for dies_at in range(1, WRITES):
        if not on_stage(tmp_path, lambda stage, dies_at=dies_at: go(stage, dies_at)):  # type: ignore[misc]
            break
        killed += 1
    assert 10 < killed < WRITES - 1


TOLD = (
    "Confirming",
    "Planned",
    "Preparing",
    "ClaimHome",
    "Changing",
    "TightenGateway",
    "Verifying",
    "Observe",
    "Holding",
    "AwaitCalm",
    "Promoting",
)


@pytest.mark.sweep
@pytest.mark.parametrize(("pod", "down_s"), [(False, 1.0), (True, 8.0)], ids=["container", "pod"])
@pytest.mark.parametrize("at", TOLD)
def test_the_gateway_killed_at_every_act(tmp_path: Path, at: str, down_s: float, pod: bool) -> None:
    async def go(stage: Stage) -> None:
        def kill(line: str) -> None:
            if line.partition(":")[0] == at and not killed:
                killed.append(at)
                stage.gateway.kill(pod=pod)
                asyncio.get_running_loop().call_later(down_s, stage.gateway.start)

        killed: list[str] = []
        stage.on_tell = kill
        ended = await stage.run(State(stage.plan()))
        assert killed == [at], stage.told
        assert ended is not None
        assert ended.phase == "Done", "\n".join(stage.told)
        await stage.nothing_is_left()

    on_stage(tmp_path, go)


@pytest.mark.parametrize(
    "kills",
    [
        ("TightenGateway",),
        pytest.param(
            ("Changing", "TightenGateway", "Verifying", "Holding"), marks=pytest.mark.sweep
        ),
    ],
    ids=len,
)
def test_one_incident_through_all_of_it(tmp_path: Path, kills: tuple[str, ...]) -> None:
    """As tests/cluster has it: one run after the other killed, the lease over, and then the gateway
    killed under the run that goes on.
    """

    async def go(stage: Stage) -> None:
        state: State | None = State(stage.plan())
        for told in kills:
            mortal, began = Mortal(ACCESS, 10**9), len(stage.told)

            def kill(line: str, mortal: Mortal = mortal, told: str = told) -> None:
                if line.partition(":")[0] == told:
                    mortal.died.set()

            stage.on_tell = kill
            assert state is not None
            assert await stage.run(state, mortal) is None, stage.told[began:]
            if told != "Changing":
                assert stage.gateway.override["holder"] == "i1", told
            state = await stage.recorded()
        await asyncio.sleep(LEASE_S + 1.0)
        assert stage.gateway.override is None
        killed: list[str] = []

        def kill_the_gateway(line: str) -> None:
            if line.partition(":")[0] == "TightenGateway" and not killed:
                killed.append(line)
                stage.gateway.kill(pod=True)
                asyncio.get_running_loop().call_later(8.0, stage.gateway.start)

        stage.on_tell = kill_the_gateway
        assert state is not None
        ended = await stage.run(state)
        assert killed
        assert ended is not None
        assert ended.phase == "Done", "\n".join(stage.told)
        await stage.nothing_is_left()

    on_stage(tmp_path, go, loaded_s=120.0)
