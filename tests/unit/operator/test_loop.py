"""An operator on a little Kubernetes: harm is detected, reported and healed; crashes, a second
operator, an API server that is away, expired watches, a stolen lease, CRDs that are gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tests.support.little_api_server import failure
from tests.support.little_kubernetes import HOME, LittleKubernetes
from tests.support.remedy_runs import ACCESS, Mortal, Scene, by, on_a_little_kubernetes
from tests.support.watched_cluster import OWN, WatchedCluster, kill, live, operator_on

from barostat.operator.policy import AUTONOMY, SWITCH, Defaults


class Pressed(LittleKubernetes):
    """Engines that are well until `pressed`, and preempt all the while from then on, unless they
    run with fewer active sequences.
    """

    pressed = False
    since = 0.0

    def press(self) -> None:
        self.pressed, self.since = True, asyncio.get_running_loop().time()

    def metrics(self, pod: dict[str, Any]) -> str:
        now = asyncio.get_running_loop().time()
        busy = self.busy(pod) > 0
        sick = self.pressed and "--max-num-active-seqs" not in str(pod["spec"]["containers"])
        running, waiting, usage = (
            (30, 12, 0.99) if sick else (20, 0, 0.6) if self.pressed else (3, 0, 0.3)
        )
        born = self._born.get(pod["metadata"]["uid"], now)
        series = {
            "num_requests_running gauge": running * busy,
            "num_requests_waiting gauge": waiting * busy,
            "kv_cache_usage_perc gauge": usage * busy,
            "num_preemptions counter": 50.0 * (now - max(self.since, born)) if sick else 0.0,
            "generation_tokens counter": 100.0 * (now - born),
            "prompt_tokens counter": 100.0 * (now - born),
            "request_success counter": 2.0 * (now - born),
        }
        lines = []
        for name, value in series.items():
            word, _, kind = name.partition(" ")
            tail = "_total" if kind == "counter" else ""
            lines.append(f"# TYPE vllm:{word} {kind}")
            lines.append(f'vllm:{word}{tail}{{engine="0",model_name="m"}} {value}')
        return "\n".join([*lines, ""])


def on_a_cluster(
    what: Callable[[Pressed, WatchedCluster], Coroutine[Any, Any, None]],
    replicas: int = 2,
    make: type[Pressed] = Pressed,
) -> None:
    async def go(found: Scene) -> None:
        assert isinstance(found.kube, Pressed)
        api = WatchedCluster(found.kube)
        for pod in found.kube.all("pods"):
            pod["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        await what(found.kube, api)

    on_a_little_kubernetes(go, replicas=replicas, make=make)


def incidents(kube: LittleKubernetes) -> list[dict[str, Any]]:
    return kube.all("pressureincidents")


def test_pressure_is_reported_within_thirty_seconds_and_nothing_else_is_written() -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        life = asyncio.create_task(live(operator_on(api, "a"), 400.0))
        await asyncio.sleep(60.0)
        assert incidents(kube) == []
        kube.press()
        began = asyncio.get_running_loop().time()
        while not incidents(kube):
            await asyncio.sleep(0.5)
        assert asyncio.get_running_loop().time() - began <= 30.0
        (found,) = incidents(kube)
        assert found["spec"]["cause"].startswith("kv-")
        assert found["spec"]["targetRef"]["name"] == HOME
        assert found["metadata"]["ownerReferences"][0]["uid"] == kube.home["metadata"]["uid"]
        await asyncio.sleep(30.0)
        assert found["status"]["evidence"]
        assert found["status"]["plan"]["change"]
        assert [event["reason"] for event in kube.all("events")] == ["PressureDetected"]
        kube.pressed = False
        await life
        (found,) = incidents(kube)
        assert found["status"]["phase"] == "Recovered"
        assert found["status"]["endedAt"]
        assert {plural for _, _, plural in api.wrote} <= {*OWN}

    on_a_cluster(go)


def test_of_two_operators_one_acts_and_the_other_takes_over() -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        kube.press()
        first, second = operator_on(api, "a"), operator_on(api, "b")
        one = asyncio.create_task(live(first, 600.0))
        await asyncio.sleep(5.0)
        other = asyncio.create_task(live(second, 600.0))
        for _ in range(120):
            await asyncio.sleep(0.5)
            assert not (first.lease.leads and second.lease.leads)
        assert first.lease.leads
        assert len(incidents(kube)) == 1
        await kill(first, one)
        began = asyncio.get_running_loop().time()
        while not second.lease.leads:
            await asyncio.sleep(0.5)
        assert asyncio.get_running_loop().time() - began <= 20.0
        await asyncio.sleep(60.0)
        assert len(incidents(kube)) == 1
        await kill(second, other)

    on_a_cluster(go)


def test_a_stolen_lease_ends_all_writing() -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        operator = operator_on(api, "a")
        life = asyncio.create_task(live(operator, 600.0))
        await asyncio.sleep(30.0)
        lease = kube.objects["leases", "barostat-operator"]
        lease["spec"]["holderIdentity"] = "thief"
        stolen = asyncio.get_running_loop().time()
        kube.touch(lease)
        kube.press()

        async def renewed() -> None:  # the thief keeps it
            while True:
                await asyncio.sleep(2.0)
                kube.touch(lease)

        thief = asyncio.create_task(renewed())
        await asyncio.sleep(120.0)
        thief.cancel()
        late = [one for one in api.wrote if one[0] > stolen + 12.0]
        assert late == []
        assert not operator.lease.leads
        assert incidents(kube) == []
        await kill(operator, life)

    on_a_cluster(go)


def test_an_api_server_that_is_away_stops_acting_and_is_gone_on_with() -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        operator = operator_on(api, "a")
        life = asyncio.create_task(live(operator, 900.0))
        await asyncio.sleep(30.0)
        api.away = True
        kube.press()
        await asyncio.sleep(15.0)
        assert not operator.lease.leads
        await asyncio.sleep(105.0)
        assert incidents(kube) == []
        api.away = False
        await asyncio.sleep(60.0)
        assert len(incidents(kube)) == 1
        await kill(operator, life)

    on_a_cluster(go)


def test_expired_watches_are_listed_again() -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        operator = operator_on(api, "a")
        api.expired = True
        life = asyncio.create_task(live(operator, 900.0))
        await asyncio.sleep(30.0)
        assert len(operator.engines.engines) == 2
        kube.home["spec"]["replicas"] = 1
        kube.floor = 1
        kube.touch(kube.home)
        await asyncio.sleep(30.0)
        assert len(operator.engines.engines) == 1
        await kill(operator, life)

    on_a_cluster(go)


def test_what_somebody_deletes_is_written_again() -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        told: list[str] = []
        operator = operator_on(api, "a", told.append)
        kube.press()
        life = asyncio.create_task(live(operator, 900.0))
        await asyncio.sleep(60.0)
        (found,) = incidents(kube)
        name = found["metadata"]["name"]
        api.crds = False
        del kube.objects["pressureincidents", name]
        await asyncio.sleep(90.0)
        assert any("install the CRDs" in line for line in told)
        api.crds = True
        await asyncio.sleep(150.0)
        (found,) = incidents(kube)
        assert found["metadata"]["name"] == name
        await kill(operator, life)

    on_a_cluster(go)


def test_its_log_says_what_it_watches_and_how_to_see_the_incident() -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        told: list[str] = []
        kube.press()
        await live(operator_on(api, "a", told.append), 120.0)
        (found,) = incidents(kube)
        name = found["metadata"]["name"]
        assert told.count("watches 2 engines of 1 workload") == 1
        assert told.count(f"wrote incident {name}: kubectl describe pi {name} -n x") == 1

    on_a_cluster(go)


def test_its_log_says_that_there_is_no_vllm() -> None:
    async def go(_: Pressed, api: WatchedCluster) -> None:
        told: list[str] = []
        await live(operator_on(api, "a", told.append, selector="app=other"), 120.0)
        said = "there is no vLLM pod with the labels app=other in namespace x; it waits for one"
        assert told.count(said) == 1

    on_a_cluster(go)


def test_a_workload_that_it_may_not_read_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        answer = api.answer

        def refused(method: str, target: str, body: Any) -> tuple[int, Any]:
            if "/deployments/" in target:
                return failure(403, "deployments.apps is forbidden", "Forbidden")
            return answer(method, target, body)

        monkeypatch.setattr(api, "answer", refused)
        told: list[str] = []
        kube.press()
        await live(operator_on(api, "a", told.append), 120.0)
        assert incidents(kube) == []
        (said,) = (line for line in told if "forbidden" in line)
        assert said.startswith("deployment/vllm in x is not judged: cannot get deployments.apps")

    on_a_cluster(go)


def test_the_switch_of_the_object_leaves_it_alone() -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        kube.home["metadata"]["annotations"] = {SWITCH: "disabled"}
        kube.press()
        await live(operator_on(api, "a", defaults=Defaults("act")), 120.0)
        assert incidents(kube) == []
        assert {plural for _, _, plural in api.wrote} == {"leases"}

    on_a_cluster(go)


@pytest.mark.parametrize("level", ["recommend", "act"])
def test_an_annotation_raises_what_the_flag_says(level: str) -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        kube.home["metadata"]["annotations"] = {AUTONOMY: level}
        kube.press()
        operator = operator_on(api, "a")
        await live(operator, 150.0)
        assert operator.verdicts
        assert {one.policy.autonomy for one in operator.verdicts.values()} == {level}
        (found,) = incidents(kube)
        kinds = {one["type"]: one["reason"] for one in found["status"]["conditions"]}
        assert ("Remedied" in kinds) is (level == "act"), kinds
        if level == "recommend":
            assert {plural for _, _, plural in api.wrote} <= {*OWN}
        await kill(operator, asyncio.create_task(asyncio.sleep(0)))

    on_a_cluster(go)


def ready_to_act(kube: LittleKubernetes) -> None:
    """The rollout is complete, a card is free, and the workload may be changed."""
    home, replicas = kube.home, kube.home["spec"]["replicas"]
    home["metadata"] |= {"generation": 1, "annotations": {AUTONOMY: "act"}}
    home["status"] = {"observedGeneration": 1, "updatedReplicas": replicas, "replicas": replicas}
    room = {"nvidia.com/gpu": "2", "cpu": "8", "memory": "64Gi", "pods": "9"}
    status = {"allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
    kube.add("nodes", {"metadata": {"name": "spare-card"}, "spec": {}, "status": status})


def is_over(kube: LittleKubernetes) -> bool:
    found = incidents(kube)
    return bool(found) and all("endedAt" in one.get("status", {}) for one in found)


async def healed(kube: Pressed, api: WatchedCluster, dies_at: int, *, late: bool = False) -> bool:
    """Whether the first operator was killed; by the end a second one has brought all to rest."""
    ready_to_act(kube)
    kube.press()
    first = operator_on(api, "a")
    mortal = Mortal(ACCESS, dies_at, late=late)
    by(mortal, api)
    for part in (first, first.engines, first.objects, first.healing):
        part.cluster = mortal
    life = asyncio.create_task(live(first, 2400.0, lambda: is_over(kube)))
    died = asyncio.create_task(mortal.died.wait())
    await asyncio.wait({life, died}, return_when=asyncio.FIRST_COMPLETED)
    killed = died.done()
    died.cancel()
    await kill(first, life)
    if killed:
        second = operator_on(api, "b")
        await live(second, 2400.0, lambda: is_over(kube))
        await kill(second, asyncio.create_task(asyncio.sleep(0)))
    assert kube.broken == []
    open_ones = [one for one in incidents(kube) if not one["status"].get("endedAt")]
    assert open_ones == []
    last = max(incidents(kube), key=lambda one: one["metadata"]["name"])
    assert last["status"]["phase"] == "Healed", last["status"]
    assert kube.home["spec"]["template"]["spec"]["containers"][0]["args"][-2:] == [
        "--max-num-active-seqs",
        "22",
    ]
    assert [one["metadata"]["name"] for one in kube.all("deployments")] == [HOME]
    assert sum(map(kube.is_listed, kube.all("pods"))) == 2
    return killed


def test_nobody_at_the_keyboard_and_it_is_healed_verified_and_recorded() -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        assert not await healed(kube, api, dies_at=10_000)
        (found,) = incidents(kube)
        assert found["status"]["plan"]["record"].startswith("op-")
        assert {one["type"]: one["status"] for one in found["status"]["conditions"]} == {
            "Harmful": "False",
            "Planned": "True",
            "Remedied": "True",
        }
        assert float(found["status"]["before"]["preemptedPerSecond"]) > 0
        assert float(found["status"]["after"]["preemptedPerSecond"]) == 0

    on_a_cluster(go)


@pytest.mark.parametrize("dies_at", [16, pytest.param(0, marks=pytest.mark.sweep)])
def test_killed_at_an_act_the_next_operator_goes_on(dies_at: int) -> None:
    """Before and after the write took effect; in the sweep at every write there is."""

    def once(at: int, late: bool) -> bool:
        found: list[bool] = []

        async def go(kube: Pressed, api: WatchedCluster) -> None:
            found.append(await healed(kube, api, at, late=late))

        on_a_cluster(go)
        return found[0]

    if dies_at:
        assert once(dies_at, late=bool(dies_at % 2))
        return
    at = 1
    while once(at, late=bool(at % 2)):
        at += 1
    assert at > 20


class Stalled(Pressed):
    """Engines whose scheduler stalls once `pressed`: requests wait, none runs, the pool is free. A
    pod that was made later is well.
    """

    def metrics(self, pod: dict[str, Any]) -> str:
        born = self._born.get(pod["metadata"]["uid"], 0.0)
        stalled = self.pressed and born <= self.since
        pressed, self.pressed = self.pressed, False
        page = super().metrics(pod)
        self.pressed = pressed
        if not stalled:
            return page
        values = {
            "num_requests_running": 0,
            "num_requests_waiting": 9,
            "kv_cache_usage_perc": 0,
            "num_preemptions_total": 0,
            "generation_tokens_total": 4000,
            "prompt_tokens_total": 4000,
            "request_success_total": 90,
        }
        lines = []
        for line in page.splitlines():
            name = line.partition("{")[0].removeprefix("vllm:")
            known = not line.startswith("#") and name in values
            lines.append(f"{line.rpartition(' ')[0]} {values[name]}" if known else line)
        return "\n".join([*lines, ""])


def test_a_stalled_scheduler_is_restarted_one_replica_at_a_time() -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        ready_to_act(kube)
        before = {pod["metadata"]["uid"] for pod in kube.all("pods")}
        operator = operator_on(api, "a")
        life = asyncio.create_task(live(operator, 1500.0, lambda: is_over(kube)))
        await asyncio.sleep(60.0)
        kube.press()
        await life
        (found,) = incidents(kube)
        assert found["spec"]["cause"] == "hung-engine", found["spec"]
        assert found["status"]["plan"]["lever"] == "controlled-restart", found["status"]
        assert found["status"]["phase"] == "Healed", found["status"]
        assert not before & {pod["metadata"]["uid"] for pod in kube.all("pods")}
        assert api.least_listed == 1  # one goes at a time
        evicted = [one for one in api.wrote if one[2] == "eviction"]
        assert len(evicted) == 2

    on_a_cluster(go, make=Stalled)
