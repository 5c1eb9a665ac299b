"""One orchestrator: what is read once per look is read once, and a plan is judged with those whom
it pauses.
"""

from __future__ import annotations

import asyncio
import json
import threading
from types import ModuleType
from typing import Any

import pytest
from tests.support.little_kubernetes import HOME, NAMESPACE
from tests.support.owned_workload import Owned
from tests.support.remedy_runs import ACCESS, Scene, by, on_a_little_kubernetes

from barostat.core.errors import InputError
from barostat.io.clock import SteadyClock
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.recording.live import Options
from barostat.io.mitigation import campaign, facts
from barostat.io.mitigation.campaign import Campaign, GatewayAccess, new_id
from barostat.judge.mitigation.planning import Wish
from barostat.judge.mitigation.prepared import NothingPrepared, Prepared
from barostat.shells.cli.mitigate.lever_option import requested
from barostat.shells.reports.incident.plan_json import preview_json


async def prepared(
    owned: Owned, found: Scene, *, pause_owners: bool = False, token: str = ""
) -> Prepared | NothingPrepared:
    home = owned.home
    replicas = home["spec"]["replicas"]
    home["metadata"]["generation"] = 1
    home["status"] = {"observedGeneration": 1, "updatedReplicas": replicas, "replicas": replicas}
    node: dict[str, Any] = {
        "metadata": {"name": "spare-card"},
        "spec": {},
        "status": {
            "allocatable": {"nvidia.com/gpu": "2", "cpu": "8", "memory": "64Gi", "pods": "9"}
        },
    }
    node["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    owned.kube.add("nodes", node)
    whole = Campaign(
        owned.cluster, NAMESPACE, HOME, Options(for_s=20.0), SteadyClock(), found.told.append,
        gateway=GatewayAccess(token=token),
    )  # fmt: skip
    return await whole.prepare(
        Wish(new_id(HOME), requested("max-num-seqs=60")),
        await whole.held_limits(),
        pause_owners=pause_owners,
    )


def test_incidents_and_limits_are_read_once_for_a_plan() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        made = await prepared(owned, found)
        assert isinstance(made, Prepared), made
        asked = [
            path.partition("?")[0] + ("?record" if "record" in path else "")
            for method, path in owned.api.asked
            if method == "GET"
        ]
        assert sum(path.endswith("configmaps?record") for path in asked) == 1
        assert sum(path.endswith(f"/{HOME}-limits") for path in asked) == 1
        assert owned.api.writes == []

    on_a_little_kubernetes(go)


def test_rights_that_were_asked_for_before_the_look_are_not_asked_for_with_it() -> None:
    async def go(found: Scene) -> None:
        whole = Campaign(
            by(Cluster(ACCESS), found.api),
            NAMESPACE,
            HOME,
            Options(for_s=2.0),
            SteadyClock(),
            found.told.append,
        )

        def reviews() -> int:
            return sum("selfsubjectaccessreviews" in path for _, path in found.api.asked)

        assert await whole.lacking_rights() == ()
        each_once = reviews()
        assert (await whole.look()).lacking == ()
        assert reviews() == each_once > 10
        await whole.look()  # a look minutes later asks for itself
        assert reviews() == 2 * each_once

    on_a_little_kubernetes(go)


@pytest.mark.parametrize(("module", "name"), [(campaign, "plan_for"), (facts, "diagnose")])
def test_other_work_of_the_program_goes_on_while_it_computes(
    module: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator renews its lease meanwhile: one that cannot has lost it when the plan is made."""
    real = getattr(module, name)

    async def go(found: Scene) -> None:
        loop = asyncio.get_running_loop()

        def while_others_work(*given: Any) -> Any:
            worked = threading.Event()
            loop.call_soon_threadsafe(worked.set)
            assert worked.wait(5.0), f"{name} held up everything else"
            return real(*given)

        monkeypatch.setattr(module, name, while_others_work)
        assert isinstance(await prepared(Owned(found), found), Prepared)

    on_a_little_kubernetes(go)


def test_a_token_without_a_gateway_ends_it_before_anything_is_restarted() -> None:
    async def go(found: Scene) -> None:
        made = await prepared(Owned(found), found, token="s3cret")
        assert isinstance(made, NothingPrepared)
        assert (made.standing, "no gateway was found before it" in made.why) == ("refused", True)
        assert "s3cret" not in made.why

    on_a_little_kubernetes(go)


def test_incidents_that_cannot_be_listed_for_half_a_minute_are_asked_for_again() -> None:
    """An API server that is away for so long must not refuse a remedy: what it has done this hour
    is one of its pre-checks.
    """

    async def go(found: Scene) -> None:
        owned, now = Owned(found), asyncio.get_running_loop().time
        until = now() + 30.0
        owned.api.choose = lambda _, path: (
            "error" if "configmaps" in path and now() < until else None
        )
        assert await owned.campaign.incidents() == ([], "")
        until = now() + 30.0
        with pytest.raises(InputError, match="no such incident"):
            await owned.campaign.store.read("i1")

    on_a_little_kubernetes(go)


def test_owners_that_are_paused_are_in_the_plan_and_stand_in_no_ones_way() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        without = await prepared(owned, found)
        assert isinstance(without, Prepared)
        assert [owner.name for owner in without.in_the_way] == ["chat", "h"]
        assert {line.partition(":")[0] for line in without.against} >= {"no-autoscaler", "no-owner"}
        made = await prepared(owned, found, pause_owners=True)
        assert isinstance(made, Prepared)
        assert [str(owner) for owner in made.plan.owners] == [
            "application/chat in x",
            "horizontalpodautoscaler/h in x",
        ]
        assert made.in_the_way == ()
        assert not {line.partition(":")[0] for line in made.against} & {"no-autoscaler", "no-owner"}

    on_a_little_kubernetes(go)


def test_a_preview_as_json_holds_plan_checks_and_what_is_in_the_way() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        document = json.loads(preview_json(await prepared(owned, found)))
        assert (document["apiVersion"], document["kind"]) == (
            "barostat.dev/v1alpha1",
            "RemedyPreview",
        )
        assert document["plan"]["change"]["value"] == "60"
        assert {check["verdict"] for check in document["checks"]} <= {
            "holds",
            "refused",
            "cannot-tell",
        }
        assert [entry["kind"] for entry in document["inTheWay"]] == ["argo-cd", "hpa"]
        assert any("chat" in line for line in document["refused"])
        nothing = json.loads(preview_json(NothingPrepared("nothing to look at", "cannot-tell")))
        assert (nothing["plan"], nothing["why"], nothing["standing"]) == (
            None,
            "nothing to look at",
            "cannot-tell",
        )

    on_a_little_kubernetes(go)


@pytest.mark.parametrize("name", ["vllm", "a" * 60, "dots.in.it"])
def test_ids_fit_into_names_and_differ(name: str) -> None:
    assert new_id(name) != new_id(name)
    assert len(new_id(name)) <= 35
    assert not set("#/.") & set(new_id(name))
