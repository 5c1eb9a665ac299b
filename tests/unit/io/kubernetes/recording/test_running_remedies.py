"""`diagnose` says that a remedy is under way: its phase, its pods, and what it holds at a gateway."""

from __future__ import annotations

import asyncio

from tests.support.little_kubernetes import HOME, NAMESPACE
from tests.support.remedy_runs import ACCESS, Scene, by, on_a_little_kubernetes

from barostat.core.diagnosis import HeldLimit, RunningRemedy
from barostat.io.clock import SteadyClock
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.recording.live import Options, PodRecorder
from barostat.io.kubernetes.recording.target import Wanted
from barostat.judge.advice.remedy_text import remedy_words
from barostat.judge.diagnosis.diagnose import diagnose
from barostat.judge.mitigation.gateways import SeenGateway
from barostat.judge.mitigation.running_remedies import with_held_limits
from barostat.remedy.plan import GatewayRef
from barostat.remedy.state import State


async def seen(scene: Scene) -> tuple[RunningRemedy, ...]:
    wanted = Wanted((f"deploy/{HOME}",), namespace=NAMESPACE)
    cluster = by(Cluster(ACCESS), scene.api)
    watcher = PodRecorder(cluster, wanted, Options(), SteadyClock(), lambda _: None)
    await watcher.choose()
    found = (await watcher.recording()).recording
    await watcher.close()
    assert diagnose(found).remedies == found.remedies
    return found.remedies


def test_each_phase_of_a_remedy_is_seen_with_its_spare_and_its_detached_pod() -> None:
    async def go(scene: Scene) -> list[RunningRemedy]:
        assert await seen(scene) == ()
        task = asyncio.create_task(scene.run(State(scene.plan())))
        looks: list[RunningRemedy] = []
        while not task.done():
            looks += await seen(scene)
            await asyncio.sleep(0.5)
        await task
        assert await seen(scene) == ()
        return looks

    looks = on_a_little_kubernetes(go)

    assert {look.incident for look in looks} == {"i1"}
    assert {look.target for look in looks} == {f"deploy/{HOME} -n {NAMESPACE}"}
    assert {"Preparing", "Draining", "Verifying", "Promoting"} <= {look.phase for look in looks}
    assert any("max-num-seqs" in look.change for look in looks)
    roles = {role for look in looks for _, role in look.pods}
    assert roles == {"spare", "detached"}


def test_a_limit_that_is_held_at_a_gateway_belongs_to_its_incident() -> None:
    held = {"holder": "i1", "epoch": 1, "limits": {"kvTokenBudget": 4096.0}, "leaseSeconds": 25.0}
    gateway = SeenGateway(GatewayRef("Deployment", "gate", "x", 8081), ({"override": held},))
    limit = HeldLimit(str(gateway.ref), "kvTokenBudget", 4096.0, 25.0)
    claimed = RunningRemedy("i1", "deploy/vllm -n x", "Holding")
    (found,) = with_held_limits([claimed], [gateway], "deploy/vllm -n x")
    assert found.limits == (limit,)
    assert "kvTokenBudget at 4,096" in remedy_words(found)
    assert "incident i1 of deploy/vllm -n x is not over: Holding" in remedy_words(found)
    (alone,) = with_held_limits([], [gateway], "deploy/vllm -n x")
    assert (alone.incident, alone.limits) == ("i1", (limit,))
    assert with_held_limits([], [SeenGateway(gateway.ref, ({"override": None},))], "") == ()


def test_a_version_that_is_kept_warm_is_seen_until_its_time_is_over() -> None:
    async def go(scene: Scene) -> None:
        state = await scene.run(State(scene.plan(keep_previous_s=600.0)))
        assert state is not None
        kept = state.pod("previous")
        assert kept is not None
        (found,) = await seen(scene)
        assert (found.incident, found.phase) == ("i1", "Done")
        assert found.pods == ((kept.name, "previous"),)
        said = remedy_words(found)
        assert f"is over, and {kept.name} stays warm until {found.warm_until}, out of" in said
        assert said.endswith(f"(barostat rollback i1 -n {NAMESPACE})")
        await asyncio.sleep(620.0)
        assert await seen(scene) == ()

    on_a_little_kubernetes(go)
