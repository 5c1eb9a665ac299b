"""What a plan is judged by is read with patience: what passes is asked again, what is missing is
named once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from dev.cluster import chaos
from tests.support.little_api_server import Answered, LittleApiServer, failure
from tests.support.little_kubernetes import HOME, NAMESPACE
from tests.support.owned_workload import Owned
from tests.support.remedy_dialogue import GOOD
from tests.support.remedy_runs import ACCESS, Scene, by, on_a_little_kubernetes

from barostat.core.errors import InputError, OutsideError
from barostat.io.clock import SteadyClock
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.recording.live import Options
from barostat.io.kubernetes.recording.target import require_namespace
from barostat.io.mitigation.campaign import Campaign
from barostat.io.mitigation.facts import see
from barostat.io.mitigation.target_reader import ActTiming
from barostat.judge.mitigation.facts import changes_last_hour
from barostat.judge.mitigation.paused_mark import planned
from barostat.judge.mitigation.target_snapshot import TargetSnapshot
from barostat.platform.workloads.deployment import KIND as DEPLOYMENT
from barostat.remedy.plan import ROLLBACK
from barostat.remedy.precheck import RIGHT_IS_MISSING, refusals
from barostat.remedy.state import Entry, State


async def snapshot(owned: Owned, told: list[str]) -> TargetSnapshot:
    return await see(
        owned.cluster,
        NAMESPACE,
        DEPLOYMENT,
        HOME,
        Options(for_s=10.0),
        SteadyClock(),
        told.append,
        ActTiming(),
    )


@pytest.mark.parametrize("kind", ["busy", "error", "reset-before"])
def test_what_fails_in_passing_is_asked_again(kind: chaos.Kind) -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        left = {"/nodes": 8, "/poddisruptionbudgets": 8, "selfsubjectaccessreviews": 30}

        def befall(_: str, path: str) -> chaos.Kind | None:
            place = next((place for place in left if place in path), "")
            if not place or not left[place]:
                return None
            left[place] -= 1
            return kind

        owned.api.choose = befall
        seen = await snapshot(owned, found.told)
        assert seen.unread == {}
        assert seen.lacking == ()
        assert found.told[-1] == f"reading what surrounds deploy/{HOME}"

    on_a_little_kubernetes(go)


def test_only_what_stays_away_cannot_be_told() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        owned.api.choose = lambda _, path: "error" if "/resourcequotas" in path else None
        seen = await snapshot(owned, found.told)
        assert list(seen.unread) == ["resourcequotas"]

    on_a_little_kubernetes(go)


def test_a_namespace_that_does_not_exist_is_named() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        with pytest.raises(
            InputError, match=r"namespace nowhere: there is no such namespace in this cluster"
        ):
            await require_namespace(owned.cluster, "nowhere")
        owned.api.choose = lambda _, __: "error"
        await require_namespace(owned.cluster, "nowhere")  # whether it is there could not be asked

    on_a_little_kubernetes(go)


def test_rights_that_are_missing_are_told_once_as_one_list() -> None:
    lacking = ("patch deployments.apps in x", "list nodes")
    facts = replace(
        GOOD,
        missing_rights=lacking,
        spare_schedulable=None,
        bad_nodes=None,
        unread=(("spare_schedulable", RIGHT_IS_MISSING), ("bad_nodes", RIGHT_IS_MISSING)),
    )

    async def go(found: Scene) -> None:
        assert refusals(replace(facts, template=found.plan().template), found.plan())[-1:] == (
            "rights: rights are missing: patch deployments.apps in x, list nodes",
        )
        told = refusals(facts, found.plan())
        assert not any(RIGHT_IS_MISSING in line for line in told)
        assert any(
            RIGHT_IS_MISSING in line
            for line in refusals(replace(facts, missing_rights=()), found.plan())
        )

    on_a_little_kubernetes(go)


def test_whoever_may_not_even_look_is_told_every_right_at_once() -> None:
    class Strict(LittleApiServer):
        def answer(self, method: str, target: str, body: Any) -> Answered:
            if "selfsubjectaccessreviews" in target:
                asked = body["spec"]["resourceAttributes"]
                return 201, {**body, "status": {"allowed": asked["verb"] == "get"}}
            if target.partition("?")[0].endswith(("/pods", "/vllm-limits")):
                return failure(403, "it is forbidden", "Forbidden")
            return super().answer(method, target, body)

    async def go(found: Scene) -> None:
        cluster = by(Cluster(ACCESS), Strict(found.kube))
        all_of_them = (
            "rights that a remedy needs and that are missing: patch deployments.apps in x, "
            ".*list pods"
        )
        with pytest.raises(OutsideError, match=f"cannot list pods in x.*{all_of_them}"):
            await see(
                cluster,
                NAMESPACE,
                DEPLOYMENT,
                HOME,
                Options(for_s=10.0),
                SteadyClock(),
                found.told.append,
                ActTiming(),
            )
        campaign = Campaign(cluster, NAMESPACE, HOME, Options(), SteadyClock(), found.told.append)
        with pytest.raises(OutsideError, match=f"cannot get configmaps in x.*{all_of_them}"):
            await campaign.held_limits()

    on_a_little_kubernetes(go)


def test_who_may_not_be_paused_is_among_the_missing_rights_of_a_plan_that_pauses() -> None:
    from barostat.core.limits import RemedyLimits
    from barostat.judge.mitigation.facts import facts

    async def go(found: Scene) -> None:
        owned = Owned(found)
        seen = await snapshot(owned, found.told)
        assert seen.cannot_pause == {}
        seen.cannot_pause["Application", NAMESPACE, "chat"] = "patch applications.argoproj.io in x"
        plain = found.plan()
        pauses = replace(plain, owners=tuple(map(planned, owned.switches())))
        assert facts(seen, plain, [], RemedyLimits()).missing_rights == ()
        found_facts = facts(seen, pauses, [], RemedyLimits())
        assert found_facts.missing_rights == ("patch applications.argoproj.io in x",)
        assert (found_facts.owner, found_facts.autoscaler) == ("", "")
        assert facts(seen, plain, [], RemedyLimits()).owner == "argo-cd chat"

    on_a_little_kubernetes(go)


def test_taking_back_does_not_count_against_the_budget_of_changes() -> None:
    async def go(found: Scene) -> None:
        claimed = (Entry(1000.0, "ClaimHome"),)
        done = State(replace(found.plan(), id="a"), "Done", timeline=claimed)
        back = State(replace(found.plan(), id="b", lever=ROLLBACK), "Done", timeline=claimed)
        assert changes_last_hour([done, back], "c", 2000.0) == 1

    on_a_little_kubernetes(go)
