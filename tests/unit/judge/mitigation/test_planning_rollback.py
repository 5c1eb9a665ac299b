"""Which plan takes back the change of an incident, and why there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.support.planning_scenes import chosen_by_the_twin, planned, ranked_once, scene

from barostat.core.change import ConfigChange
from barostat.core.limits import LimitsSpec, RemedyLimits, ServingLimits
from barostat.judge.manifest_edit.config_change import changed_template
from barostat.judge.manifest_edit.flag_surgery import NotChanged
from barostat.judge.mitigation import planning
from barostat.judge.mitigation.facts import facts
from barostat.judge.mitigation.planning import NoRemedy, Wish, rollback_plan
from barostat.judge.mitigation.target_snapshot import ALL_PODS, TargetSnapshot
from barostat.remedy.plan import RemedyPlan, lint
from barostat.remedy.precheck import refusals


@pytest.fixture(autouse=True)
def rank_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "with_ranked_steps", ranked_once)


def test_a_change_in_force_is_taken_back_whatever_the_cause_is() -> None:
    done = planned(scene(), lever="max-model-len=2048").plan
    seen = scene("healthy-busy")
    args = seen.home["spec"]["template"]["spec"]["containers"][0]["args"]
    args[args.index("4096")] = "2048"
    found = rollback_plan(seen, done, Wish("vllm-2", sustained_s=30.0))
    assert not isinstance(found, NoRemedy)
    assert (found.change.former, found.change.value) == ("2048", "4096")
    assert lint(replace(found)) == ()
    assert refusals(facts(seen, found, (), RemedyLimits()), found) == ()


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (
            ["m", "--max-model-len", "3000"],
            (
                "--max-model-len is 3000 now, and vllm-1 left it at 2048: somebody has changed "
                "it since"
            ),
        ),
        (
            ["m"],
            (
                "--max-model-len is absent now, and vllm-1 left it at 2048: somebody has "
                "changed it since"
            ),
        ),
        (
            ["m", "--max-model-len", "4096"],
            "--max-model-len is 4096 now, and vllm-1 left it at 2048",
        ),
    ],
)
def test_what_somebody_made_of_it_since_is_not_taken_back(args: list[str], why: str) -> None:
    done = planned(scene(), lever="max-model-len=2048").plan
    seen = scene("healthy-busy")
    seen.template["spec"]["containers"][0]["args"] = args
    found = rollback_plan(seen, done, Wish("vllm-2"))
    assert isinstance(found, NoRemedy)
    assert why in found.why


def test_a_plan_waits_as_long_as_the_target_lets_its_pods_start_and_end() -> None:
    seen = scene()
    seen.home["spec"]["progressDeadlineSeconds"] = 1800
    seen.template["spec"]["terminationGracePeriodSeconds"] = 600
    done = planned(seen, lever="max-model-len=2048").plan
    assert (done.bounds.ready_s, done.bounds.end_s) == (1800.0, 600.0)
    seen.template["spec"]["containers"][0]["args"] = ["/models/tiny", "--max-model-len", "2048"]
    found = rollback_plan(seen, done, Wish("vllm-2", sustained_s=30.0))
    assert not isinstance(found, NoRemedy)
    assert (found.bounds.ready_s, found.bounds.end_s) == (1800.0, 600.0)


def test_a_change_of_the_pod_is_taken_back_too_and_without_load_it_only_has_to_answer() -> None:
    done = replace(
        chosen_by_the_twin().plan,
        change=ConfigChange("pod-spec", "memory", "2Gi (request 1Gi)", "4Gi"),
    )
    seen = scene("healthy-idle")
    seen.home["spec"]["template"]["spec"]["containers"][0]["resources"] = {
        "limits": {"memory": "4Gi"},
        "requests": {"memory": "4Gi"},
    }
    seen.lists["nodes"][0]["status"]["allocatable"]["memory"] = "64Gi"
    found = rollback_plan(seen, done, Wish("vllm-2", sustained_s=60.0))
    assert not isinstance(found, NoRemedy)
    assert found.change.value == "2Gi (request 1Gi)"
    assert (found.expectation.load_signals, dict(found.baseline)) == (
        ("replicas_wanted",),
        {"replicas_wanted": 2.0},
    )
    assert refusals(facts(seen, found, (), RemedyLimits()), found) == ()


@pytest.mark.parametrize(
    ("entry", "taken_back"),
    [
        ({"value": "4"}, True),
        ({"value": ""}, True),
        ({"value": "a" * 119}, True),
        ({"value": "a" * 121}, False),
        ({"valueFrom": {"configMapKeyRef": {"name": "chat", "key": "space"}}}, False),
    ],
)
def test_a_variable_is_taken_back_only_to_what_it_was(
    entry: dict[str, Any], taken_back: bool
) -> None:
    """What a person is shown of it would else be written as its value."""
    seen = scene()
    container = seen.home["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "VLLM_CPU_KVCACHE_SPACE", **entry}]
    done = planned(seen, lever="VLLM_CPU_KVCACHE_SPACE=8").plan
    container["env"] = [{"name": "VLLM_CPU_KVCACHE_SPACE", "value": "8"}]
    found = rollback_plan(seen, done, Wish("vllm-2"))
    if taken_back:
        assert not isinstance(found, NoRemedy), found
        assert found.change.value == entry["value"]
    else:
        assert isinstance(found, NoRemedy)
        assert "what VLLM_CPU_KVCACHE_SPACE was before is not in the record" in found.why


@pytest.mark.parametrize("kind", ["secretKeyRef", "configMapKeyRef"])
@pytest.mark.parametrize("written", ["$(TOKENS)", "$TOKENS", '"${TOKENS:-512}"', "$((TOKENS))"])
def test_a_reference_is_put_back_as_it_was_written(written: str, kind: str) -> None:
    """A number would stand there for good, and without the argument the version's default."""
    seen = scene()
    seen.lists["configmaps"] = [
        {"metadata": {"name": "sizes", "namespace": "chat"}, "data": {"tokens": "512"}}
    ]
    container = seen.home["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "TOKENS", "valueFrom": {kind: {"name": "sizes", "key": "tokens"}}}]
    if written == "$(TOKENS)":
        container["args"] = [*container["args"], "--max-num-batched-tokens", written]
    else:
        container["command"], container["args"] = (
            ["sh", "-c"],
            [f"vllm serve m --max-num-batched-tokens {written}"],
        )
    former = list(container["args"])
    done = planned(seen, lever="max-num-batched-tokens=1024").plan
    container["args"] = [word.replace(written, "1024") for word in former]
    found = rollback_plan(seen, done, Wish("vllm-2"))
    if written == "$((TOKENS))":
        assert isinstance(found, NoRemedy)
        assert "what --max-num-batched-tokens was before is not in the record" in found.why
        return
    assert not isinstance(found, NoRemedy), found
    assert found.change.value == written
    maps = {"sizes": seen.lists["configmaps"][0]}
    put_back = changed_template(found.change, seen.template, config_maps=maps)
    assert not isinstance(put_back, NotChanged), put_back
    assert put_back["spec"]["containers"][0]["args"] == former


def test_limits_are_taken_back_where_they_were_written() -> None:
    done = planned(scene(), lever="edge-output-cap=300").plan
    assert done.strategy == "edge-only"
    found = rollback_plan(scene("healthy-busy"), done, Wish("vllm-2", sustained_s=30.0))
    assert not isinstance(found, NoRemedy), found
    assert (found.strategy, found.change.former, found.change.value) == ("edge-only", "300", None)
    assert lint(found) == ()
    assert refusals(facts(scene("healthy-busy"), found, (), RemedyLimits()), found) == ()


def kept_beside(seen: TargetSnapshot, incident: str = "vllm-1", node: str = "n") -> None:
    """A unit of the version before that incident, warm beside the target."""
    labels = {
        "barostat.dev/incident": incident,
        "barostat.dev/previous": f"{incident}-previous",
        "barostat.dev/target": "vllm",
    }
    gpu = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    pod = {
        "metadata": {"name": f"{incident}-previous-0", "uid": f"k-{incident}", "labels": labels},
        "spec": {"containers": [gpu], **({"nodeName": node} if node else {})},
        "status": {"phase": "Running"},
    }
    for key in ("pods", ALL_PODS):
        seen.lists[key] = [*seen.lists[key], pod]
    seen.cannot_keep = ()


def back_of(done: RemedyPlan, seen: TargetSnapshot) -> RemedyPlan:
    args = seen.template["spec"]["containers"][0]["args"]
    args[args.index("4096")] = "2048"
    found = rollback_plan(seen, done, Wish("vllm-2", sustained_s=30.0))
    assert not isinstance(found, NoRemedy), found
    return found


def test_a_unit_that_is_warm_serves_first_and_needs_no_gpu() -> None:
    done = planned(scene(), lever="max-model-len=2048", keep_previous_s=1800.0).plan
    assert (done.keep_previous_s, done.not_kept) == (0.0, RIGHTS_UNREAD)
    seen = scene("healthy-busy", gpus="3")
    kept_beside(seen)
    found = back_of(done, seen)
    assert (found.strategy, found.previous, found.drops) == ("spare", "vllm-1-previous", ())
    assert (found.units_needed, found.starts, found.keep_previous_s) == (0, 3, 0.0)
    assert lint(found) == ()
    assert refusals(facts(seen, found, (), RemedyLimits()), found) == ()


@pytest.mark.parametrize("case", ["another incident's", "no node", "no right"])
def test_a_unit_that_cannot_serve_is_not_counted_on(case: str) -> None:
    done = planned(scene(), lever="max-model-len=2048").plan
    seen = scene("healthy-busy", gpus="4")
    kept_beside(seen, "vllm-0" if case[0] == "a" else "vllm-1", "" if case == "no node" else "n")
    if case == "no right":
        seen.cannot_keep = ("delete jobs.batch in chat",)
    found = back_of(done, seen)
    job = "vllm-0-previous" if case[0] == "a" else "vllm-1-previous"
    assert (found.previous, found.units_needed) == ("", 1)
    assert found.drops == (() if case == "no right" else (job,))


RIGHTS_UNREAD = "whether the rights for it are there could not be read"


def test_what_is_kept_ends_for_the_next_plan_which_may_keep_one_again() -> None:
    seen = scene(gpus="3")
    kept_beside(seen)
    found = planned(seen, lever="max-model-len=2048", keep_previous_s=1800.0).plan
    assert (found.strategy, found.drops) == ("spare", ("vllm-1-previous",))
    assert (found.keep_previous_s, found.not_kept) == (1800.0, "")
    assert refusals(facts(seen, found, (), RemedyLimits()), found) == ()


@pytest.mark.parametrize(
    ("gpus", "wish", "lacking", "why"),
    [
        ("2", {"in_place": True}, (), "no node takes one more replica"),
        ("3", {}, ("create jobs.batch in chat",), "rights are missing: create jobs.batch in chat"),
        ("3", {"lever": "replicas=3"}, (), "no replica is replaced"),
    ],
)
def test_what_cannot_be_kept_is_said_in_the_plan_and_refuses_nothing(
    gpus: str, wish: dict[str, Any], lacking: tuple[str, ...], why: str
) -> None:
    seen = scene(gpus=gpus)
    seen.cannot_keep = lacking
    remedy = RemedyLimits(keep_previous_seconds=1800.0, floor_replicas=1)
    limits = ServingLimits(LimitsSpec(remedy=remedy))
    found = planned(seen, **{"lever": "max-model-len=2048", "limits": limits, **wish}).plan
    assert found.keep_previous_s == 0.0
    assert found.not_kept.startswith(why), found.not_kept
    assert lint(found) == ()
    without = planned(seen, **{"lever": "max-model-len=2048", "keep_previous_s": 0.0, **wish}).plan
    assert without.not_kept == ""
