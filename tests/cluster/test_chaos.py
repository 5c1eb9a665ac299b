"""Trouble between us and the API server, and rights that are missing: no wrong act, it ends, and
what is missing is named.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml
from dev.cluster import chaos
from dev.cluster.client import Cluster as Lab
from dev.cluster.client import Workspace
from dev.cluster.hostile import OF_LISTS
from tests.cluster.guard import Guard
from tests.cluster.test_mitigate import (
    QUICK,
    incidents,
    nothing_of_ours_is_left,
    preempted,
    pressed_twins,
)

from barostat.io.kubernetes.client.cluster import Cluster, Listed
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.kubeconfig import find_access
from barostat.io.kubernetes.client.resources import CONFIG_MAPS, Resource
from barostat.io.kubernetes.client.watching import Changed, Relisted, watch
from barostat.io.mitigation.facts import needed
from barostat.platform.workloads.deployment import KIND as DEPLOYMENT
from barostat.shells.cli.main import main

OBSERVER = Path(__file__).resolve().parents[2] / "deploy" / "rbac" / "observer.yaml"
ENDED = ("Done", "RolledBack", "Refused", "HandedOff")
T = TypeVar("T")


def run(kubeconfig: Path, what: Callable[[Cluster], Awaitable[T]]) -> T:
    async def go() -> T:
        cluster = Cluster(find_access(str(kubeconfig)))
        try:
            return await what(cluster)
        finally:
            await cluster.close()

    return asyncio.run(go())


def kind_of(group: str, plural: str) -> Resource:
    version = {"autoscaling": "v2"}.get(group, "v1")
    return Resource("Any", plural, group, version, namespaced=plural != "nodes")


def reads() -> list[tuple[str, str, str]]:
    """What the observer's role says that it may read."""
    role = next(
        found
        for found in yaml.safe_load_all(OBSERVER.read_text())
        if found["kind"] == "ClusterRole"
    )
    return [
        (verb, group, resource)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def test_an_observer_reads_everything_and_is_told_of_every_right_to_write_that_it_lacks(
    cluster: Lab, space: Workspace
) -> None:
    observer = cluster.kubeconfig("observer")

    async def look(api: Cluster) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for verb, group, plural in reads():
            resource, _, sub = plural.partition("/")
            asked = kind_of(group, resource)
            if verb == "list":
                found[f"list {plural}"] = await api.list(
                    asked, None if resource == "nodes" else space.namespace
                )
            elif sub:
                path = asked.path(space.namespace, "none", sub)
                found[f"get {plural}"] = await api.request(
                    "GET", path, f"get {plural}", within_s=5.0
                )
            else:
                found[f"get {plural}"] = await api.get(asked, "none", space.namespace)
        return found

    for right, found in run(observer, look).items():
        # "not found" is said only to who may read: of the object, or of a kind that this cluster
        # does not have
        allowed = (isinstance(found, Listed) and right.startswith("list ")) or (
            isinstance(found, RequestFailed) and found.kind == "not-found"
        )
        assert allowed, (right, found)

    async def write(api: Cluster, verb: str, resource: Resource) -> Any:
        body = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": "none"},
        }
        match verb:
            case "create":
                return await api.create(resource, body, space.namespace)
            case "update":
                return await api.replace(resource, "none", body, space.namespace)
            case "patch":
                return await api.patch(resource, "none", {}, space.namespace, how="merge")
            case _:
                return await api.delete(resource, "none", space.namespace)

    writes = [right for right in needed(DEPLOYMENT) if right[0] not in ("get", "list")]
    for verb, group, plural in [*writes, ("create", "", "events")]:
        resource = kind_of(group, plural)
        refused = run(
            observer,
            lambda api, verb=verb, resource=resource: write(api, verb, resource),  # type: ignore[misc]
        )
        assert isinstance(refused, RequestFailed), (verb, plural)
        assert refused.right == f"{verb} {resource.right} in {space.namespace}"
        assert f"cannot {verb} {resource.right} in {space.namespace}: " in refused.why


def test_a_watch_in_trouble_sees_every_change(
    cluster: Lab, space: Workspace, tmp_path: Path
) -> None:
    """Resets, 410, 429 and watches that go silent: in the end it knows what there is. Each silence
    costs up to 25 s.
    """
    expected = {"c1": "9", "c2": "10", "c3": "11"}
    shares: dict[chaos.Kind, float] = {
        "reset-before": 0.1,
        "gone": 0.15,
        "busy": 0.1,
        "cut": 0.05,
        "silence": 0.35,
    }

    async def go(api: Cluster) -> dict[str, str]:
        async def change() -> None:
            direct = Cluster(find_access(str(cluster.kubeconfig("admin"))))
            for number in range(12):
                body = {"metadata": {"name": f"c{number % 4}"}, "data": {"n": str(number)}}
                made = await direct.create(CONFIG_MAPS, body, space.namespace)
                if isinstance(made, RequestFailed):
                    await direct.replace(CONFIG_MAPS, f"c{number % 4}", body, space.namespace)
                await asyncio.sleep(2.0)
            await direct.delete(CONFIG_MAPS, "c0", space.namespace)
            await direct.close()

        task = asyncio.create_task(change())
        known: dict[str, str] = {}
        async for one in watch(api, CONFIG_MAPS, space.namespace, for_s=300.0):
            if isinstance(one, Relisted):
                known = {
                    item["metadata"]["name"]: item.get("data", {}).get("n", "")
                    for item in one.items
                }
            elif isinstance(one, Changed) and one.gone:
                known.pop(one.object["metadata"]["name"], None)
            elif isinstance(one, Changed):
                known[one.object["metadata"]["name"]] = one.object.get("data", {}).get("n", "")
            known = {
                name: number
                for name, number in known.items()
                if name.startswith("c") and len(name) == 2
            }
            if known == expected:
                break
        await task
        return known

    with chaos.between(cluster.kubeconfig("admin"), tmp_path, chaos.seeded(3, shares)) as trouble:
        known = run(trouble.kubeconfig, go)
    print(trouble.summary())
    assert known == expected


@pytest.mark.parametrize("kind", OF_LISTS)
def test_lists_that_mean_harm_are_read_within_their_bounds_or_refused(
    kind: chaos.Kind, cluster: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every list of the real API server comes as one that means harm would give it."""

    async def look(api: Cluster) -> dict[str, Any]:
        kinds = [(group, plural) for verb, group, plural in reads() if verb == "list"]
        return {
            plural: await api.list(kind_of(group, plural), None, within_s=20.0)
            for group, plural in kinds
        }

    with chaos.between(
        cluster.kubeconfig("observer"), tmp_path, chaos.seeded(1, {kind: 1.0})
    ) as trouble:
        for right, found in run(trouble.kubeconfig, look).items():
            assert isinstance(found, Listed | RequestFailed), right
        code = main(
            [
                "diagnose",
                "-A",
                "--for",
                "1s",
                "--no-trials",
                "--kubeconfig",
                str(trouble.kubeconfig),
            ]
        )
    told = capsys.readouterr()
    print(trouble.summary())
    assert code in (0, 1, 2, 3, 4), told.err
    assert "Traceback" not in told.err
    assert "\x1b]" not in told.out + told.err


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_remedy_in_trouble_ends_and_does_nothing_wrong(
    seed: int, cluster: Lab, space: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    operator = cluster.kubeconfig("operator")
    place = ["-n", space.namespace, "--kubeconfig"]
    with pressed_twins(space, rate_per_s=4.0) as load:
        space.until(
            "both are preempting", lambda: min(preempted(space).values()) > 40, within_s=150
        )
        before = space.get("deploy/twin")["spec"]
        with Guard(space, "twin", floor=2) as guard:
            with chaos.between(operator, tmp_path, chaos.seeded(seed)) as trouble:
                words = [
                    "mitigate",
                    "deploy/twin",
                    *place,
                    str(trouble.kubeconfig),
                    "--autonomy",
                    "act",
                    *QUICK,
                ]
                code = main(words)
            told = capsys.readouterr()
            with capsys.disabled():
                print(
                    f"\nseed {seed}: {trouble.summary()}; exit code {code}; "
                    f"{told.out.strip().splitlines()[-1]}"
                )
            found = incidents(space)
            assert len(found) <= 1
            if found and found[0]["phase"] in ("Done", "RolledBack", "Refused"):
                assert f"{found[0]['id']}: " in told.out
            elif found:
                assert "handed over to a person" in told.out
                assert code == 3
                assert main(["incident", "resume", found[0]["id"], *place, str(operator)]) in (
                    0,
                    1,
                    3,
                )
                (incident,) = incidents(space)
                assert incident["phase"] in ("Done", "RolledBack")
            else:
                assert code in (3, 4, 5)
            nothing_of_ours_is_left(space)
        assert guard.broken == []
        assert guard.looks > 20
        done = bool(incidents(space)) and incidents(space)[0]["phase"] == "Done"
        assert (space.get("deploy/twin")["spec"] == before) is not done
        assert load.counts.failed == {}
    assert {phase["phase"] for phase in incidents(space)} <= set(ENDED)
