"""What was measured goes with the record: in the same guarded write, from run to run, and never at
the cost of the remedy.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from tests.support.little_api_server import Answered, failure
from tests.support.little_kubernetes import HOME, NAMESPACE, NEW, Object
from tests.support.remedy_dialogue import GOOD
from tests.support.remedy_runs import ACCESS, LIMITS, Mortal, Scene, by, on_a_little_kubernetes

from barostat.core.errors import InputError
from barostat.core.limits import ServingLimits
from barostat.core.signal import Point
from barostat.io.clock import SteadyClock
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.recording.live import Options
from barostat.io.mitigation import measuring
from barostat.io.mitigation.act_context import ActContext
from barostat.io.mitigation.campaign import Campaign, Incidents
from barostat.io.mitigation.observing import TELL_EVERY_S, observe
from barostat.io.mitigation.store import Store
from barostat.judge.mitigation.measurements import Look, measured, written
from barostat.judge.mitigation.prepared import Prepared
from barostat.judge.mitigation.target_snapshot import TargetSnapshot
from barostat.remedy.acts import Conflict, Done, Observe, PodRef
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.precheck import Facts
from barostat.remedy.record import from_json
from barostat.remedy.state import Do, State, WriteRecord

BEFORE = Look("before", "vllm-0", "", {"kv_usage_ratio": (Point(1000.0, 0.99), Point(1005.0, 1.0))})
AFTER = Look("after", "vllm-1", "", {"kv_usage_ratio": (Point(1100.0, 0.5),)})


def store(found: Scene) -> Store:
    return Store(by(Cluster(ACCESS), found.api), NAMESPACE)


def data(found: Scene) -> dict[str, str]:
    """What the ConfigMap of the incident holds."""
    held: dict[str, str] = found.kube.objects["configmaps", "incident-i1"]["data"]
    return held


class Trusting(Campaign):
    """Looks, and takes the facts as good whatever is seen."""

    @staticmethod
    def _facts(
        seen: TargetSnapshot, plan: RemedyPlan, held: ServingLimits | None, incidents: Incidents
    ) -> Facts:
        """Facts that allow the plan."""
        del held, incidents
        return replace(
            GOOD,
            at=seen.at,
            evidence_at=seen.at,
            replicas=plan.replicas,
            serving=plan.serving,
            template=plan.template,
        )


def test_a_remedy_leaves_what_was_seen_before_and_after_the_change() -> None:
    async def go(found: Scene) -> None:
        options = Options(for_s=20.0)
        campaign = Trusting(
            by(Cluster(ACCESS), found.api),
            NAMESPACE,
            HOME,
            options,
            SteadyClock(),
            found.told.append,
        )
        (old,) = [pod["metadata"]["name"] for pod in found.kube.all("pods")]
        seen = await campaign.look()
        state = (
            await campaign.carry_out(Prepared(seen, found.plan(), GOOD, limits=LIMITS), None)
        ).state
        assert state.phase == "Done", found.told
        kept, looks, unseen = await store(found).post_mortem("i1")
        assert (kept.phase, unseen) == ("Done", "")
        assert [entry.when for entry in looks] == ["before", "before", "after"]
        assert {entry.pod for entry in looks[:2]} == {old}
        last = looks[-1]
        assert last.pod != old
        for entry, preempted in ((looks[0], 50.0), (last, 0.0)):
            assert entry.engine == ""
            assert {point.value for point in entry.series["kv_usage_ratio"]} == {0.5}
            assert [point.value for point in entry.series["preemptions_per_s"]][
                -1
            ] == pytest.approx(preempted, rel=0.05)
        verifying = next(entry.at for entry in state.timeline if entry.event == "Verifying")
        judged = next(entry.at for entry in state.timeline if entry.event == "Observe")
        assert verifying - 0.1 <= last.at < last.series["kv_usage_ratio"][-1].at <= judged + 0.1
        assert len(last.series["kv_usage_ratio"]) >= 5

    on_a_little_kubernetes(go)


def test_it_takes_no_write_of_its_own() -> None:
    async def go(found: Scene) -> None:
        state = await found.run(State(found.plan()))
        assert state is not None
        assert measured(data(found)["seen.json"])
        records = [line for line in found.api.writes if line.endswith(" configmaps/incident-i1")]
        assert len(records) == state.revision

    on_a_little_kubernetes(go)


def test_a_run_that_was_killed_has_left_it_to_the_next() -> None:
    async def go(found: Scene) -> None:
        assert await found.run(State(found.plan()), cluster=Mortal(ACCESS, dies_at=3)) is None
        data(found)["seen.json"] = written([BEFORE])
        state = await found.run(await found.recorded())
        assert state is not None
        assert state.phase == "Done"
        _, looks, _ = await store(found).post_mortem("i1")
        assert looks[0] == BEFORE
        assert [entry.when for entry in looks[1:]] == ["after"]

    on_a_little_kubernetes(go)


def test_a_run_that_was_superseded_changes_neither_the_record_nor_what_was_measured() -> None:
    async def go(found: Scene) -> None:
        held = store(found)
        first = State(found.plan(), holder="a", revision=1)
        assert await held.write(WriteRecord("k", 1, first), "", [BEFORE]) == Done()
        second = replace(first, epoch=2, holder="b", revision=2)
        assert await held.write(WriteRecord("k", 2, second), "", []) == Done()
        as_it_was = dict(data(found))
        assert measured(as_it_was["seen.json"]) == (BEFORE,)
        late = await held.write(
            WriteRecord("k", 3, replace(first, revision=3)), "", [BEFORE, AFTER]
        )
        assert isinstance(late, Conflict)
        assert data(found) == as_it_was

    on_a_little_kubernetes(go)


def test_a_server_that_does_not_take_it_gets_the_record_alone() -> None:
    async def go(found: Scene) -> None:
        answer = found.api.answer

        def strict(method: str, target: str, body: Any) -> Answered:
            if body and "seen.json" in (body.get("data") or {}):
                return failure(422, "ConfigMap is invalid: data: Too long", "Invalid")
            return answer(method, target, body)

        found.api.answer = strict  # type: ignore[method-assign]
        state = await found.run(State(found.plan()))
        assert state is not None
        assert (state.phase, found.value, await found.left()) == ("Done", NEW, []), found.told
        kept, looks, unseen = await store(found).post_mortem("i1")
        assert (kept.phase, looks) == ("Done", ())
        assert unseen.startswith("Nothing that was measured is kept with it")

    on_a_little_kubernetes(go)


def test_a_refusal_that_has_nothing_to_do_with_it_is_told() -> None:
    async def go(found: Scene) -> None:
        found.api.answer = lambda method, *_: (  # type: ignore[method-assign]
            failure(404, "no") if method == "GET" else failure(403, "you may not")
        )
        told = await store(found).write(
            WriteRecord("k", 1, State(found.plan(), revision=1)), "", [BEFORE]
        )
        assert "you may not" in getattr(told, "why", "")

    on_a_little_kubernetes(go)


def test_a_bug_in_it_does_not_end_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    async def go(found: Scene) -> None:
        monkeypatch.setattr(measuring, "windows", broken)
        monkeypatch.setattr("barostat.io.mitigation.store.carried", broken)
        state = await found.run(State(found.plan()))
        assert state is not None
        assert state.phase == "Done", found.told

    on_a_little_kubernetes(go)


def test_a_verification_that_is_broken_off_has_left_what_it_saw() -> None:
    async def go(found: Scene) -> None:
        (pod,) = found.kube.all("pods")
        found.kube.home["metadata"].setdefault("annotations", {})["barostat.dev/claim"] = "i1#1#a"
        ground = ActContext(by(Cluster(ACCESS), found.api), found.plan(), SteadyClock())
        ref = PodRef(pod["metadata"]["name"], pod["metadata"]["uid"])
        task = asyncio.create_task(
            observe(
                ground,
                Do("i1/1/f9", "i1#1#a", Observe(), "planned", ref, ground.clock.now() + 90.0),
            )
        )
        await asyncio.sleep(17.0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (seen,) = ground.looks.values()
        assert len(seen.series["kv_usage_ratio"]) == 4

    on_a_little_kubernetes(go)


def test_replicas_that_were_there_before_prove_a_change_by_their_last_stretch() -> None:
    async def go(found: Scene) -> None:
        for pod in found.kube.all("pods"):
            pod["spec"]["containers"][0]["args"][-1] = NEW  # it preempts no more
        found.kube.home["metadata"].setdefault("annotations", {})["barostat.dev/claim"] = "i1#1#a"
        ground = ActContext(by(Cluster(ACCESS), found.api), found.plan("scale-out"), SteadyClock())
        began = ground.clock.now()
        judged = await observe(
            ground, Do("i1/1/f9", "i1#1#a", Observe(), "planned", None, began + 690.0)
        )
        assert (judged.outcome, ground.clock.now() - began < 90.0) == ("better", True), judged

    on_a_little_kubernetes(go, replicas=2)


def test_a_verification_that_is_not_clear_yet_says_why_while_it_goes_on() -> None:
    async def go(found: Scene) -> None:
        found.kube.home["metadata"].setdefault("annotations", {})["barostat.dev/claim"] = "i1#1#a"
        ground = ActContext(
            by(Cluster(ACCESS), found.api),
            found.plan("scale-out"),
            SteadyClock(),
            tell=found.told.append,
        )
        judged = await observe(
            ground, Do("i1/1/f9", "i1#1#a", Observe(), "planned", None, ground.clock.now() + 690.0)
        )
        assert judged.outcome != "better"
        assert 5 <= len(found.told) <= ground.plan.bounds.verify_s / TELL_EVERY_S, found.told
        assert all(
            re.match(r"not clear after \d+ s, \d+ s left: .*preemptions_per_s", line)
            for line in found.told
        ), found.told

    on_a_little_kubernetes(go)


def test_what_somebody_edited_is_told_in_a_sentence_and_is_no_obstacle() -> None:
    async def go(found: Scene) -> None:
        assert await found.run(State(found.plan()), cluster=Mortal(ACCESS, dies_at=3)) is None
        other = '{"apiVersion": "barostat.dev/v2", "kind": "IncidentMeasurements", "looks": []}'
        for text in ("[]", other, "é" * 200_000, "{half"):
            data(found)["seen.json"] = text
            kept, looks, unseen = await store(found).post_mortem("i1")
            assert (kept.plan.id, looks) == ("i1", ())
            assert unseen.startswith("What was measured cannot be read: seen.json: ")
            assert "\n" not in unseen
        state = await found.run(await found.recorded())
        assert state is not None
        assert state.phase == "Done"
        assert measured(data(found)["seen.json"])

    on_a_little_kubernetes(go)


def test_an_incident_that_is_not_there_is_told_as_before() -> None:
    async def go(found: Scene) -> None:
        with pytest.raises(
            InputError, match=r"there is no such incident in namespace \S+ \(-n names another\)"
        ):
            await store(found).post_mortem("i2")

    on_a_little_kubernetes(go)


def test_the_record_is_what_it_was_without_it() -> None:
    async def go(found: Scene) -> None:
        plan = found.plan()
        assert (
            await store(found).write(WriteRecord("k", 1, State(plan, revision=1)), LIMITS, [BEFORE])
            == Done()
        )
        held: Object = data(found)
        assert sorted(held) == ["incident.json", "limits.yaml", "seen.json"]
        assert from_json(held["incident.json"]) == State(plan, revision=1)
        assert "seen" not in json.loads(held["incident.json"])
        assert (await store(found).read("i1")) == (State(plan, revision=1), LIMITS)
        assert (await store(found).every())[1] == []

    on_a_little_kubernetes(go)
