"""An operator on a little Kubernetes: harm is detected, reported and healed; crashes, a second
operator, an API server that is away, expired watches, a stolen lease, CRDs that are gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tests.support.little_kubernetes import HOME, LittleKubernetes
from tests.support.remedy_runs import Scene, on_a_little_kubernetes
from tests.support.watched_cluster import OWN, WatchedCluster, kill, live, operator_on

from barostat.operator.policy import AUTONOMY, SWITCH, Defaults


class Pressed(LittleKubernetes):
    """Engines that are well until `pressed`, and preempt all the while from then on."""

    pressed = False

    def metrics(self, pod: dict[str, Any]) -> str:
        page = super().metrics(pod)
        now = asyncio.get_running_loop().time()
        if self.pressed:
            self.since: float = getattr(self, "since", now)
            made, running, waiting, usage = 50.0 * (now - self.since), 30.0, 12.0, 0.99
        else:
            made, running, waiting, usage = 0.0, 3.0, 0.0, 0.3
        labels = '{engine="0",model_name="m"}'
        tokens = 100.0 * now
        lines = [
            line
            for line in page.splitlines()
            if not any(
                word in line
                for word in (
                    "num_preemptions",
                    "requests_running",
                    "requests_waiting",
                    "usage_perc",
                )
            )
        ]
        return "\n".join(
            [
                *lines,
                "# TYPE vllm:num_requests_running gauge",
                f"vllm:num_requests_running{labels} {running}",
                "# TYPE vllm:num_requests_waiting gauge",
                f"vllm:num_requests_waiting{labels} {waiting}",
                "# TYPE vllm:kv_cache_usage_perc gauge",
                f"vllm:kv_cache_usage_perc{labels} {usage}",
                "# TYPE vllm:num_preemptions counter",
                f"vllm:num_preemptions_total{labels} {made}",
                "# TYPE vllm:generation_tokens counter",
                f"vllm:generation_tokens_total{labels} {tokens}",
                "",
            ]
        )


def on_a_cluster(
    what: Callable[[Pressed, WatchedCluster], Coroutine[Any, Any, None]], replicas: int = 2
) -> None:
    async def go(found: Scene) -> None:
        assert isinstance(found.kube, Pressed)
        api = WatchedCluster(found.kube)
        for pod in found.kube.all("pods"):
            pod["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        await what(found.kube, api)

    on_a_little_kubernetes(go, replicas=replicas, make=Pressed)


def incidents(kube: LittleKubernetes) -> list[dict[str, Any]]:
    return kube.all("pressureincidents")


def test_pressure_is_reported_within_thirty_seconds_and_nothing_else_is_written() -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        life = asyncio.create_task(live(operator_on(api, "a"), 400.0))
        await asyncio.sleep(60.0)
        assert incidents(kube) == []
        kube.pressed = True
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
        kube.pressed = True
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
        kube.pressed = True

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
        kube.pressed = True
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
        kube.pressed = True
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


def test_the_switch_of_the_object_leaves_it_alone() -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        kube.home["metadata"]["annotations"] = {SWITCH: "disabled"}
        kube.pressed = True
        await live(operator_on(api, "a", defaults=Defaults("act")), 120.0)
        assert incidents(kube) == []
        assert {plural for _, _, plural in api.wrote} == {"leases"}

    on_a_cluster(go)


@pytest.mark.parametrize("level", ["recommend", "act"])
def test_an_annotation_raises_what_the_flag_says(level: str) -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        kube.home["metadata"]["annotations"] = {AUTONOMY: level}
        kube.pressed = True
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
