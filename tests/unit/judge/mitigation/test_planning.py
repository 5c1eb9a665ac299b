"""A recorded thrash of the real vLLM and a small cluster around it: which plan there is, and why
there is none.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from tests.support.planning_scenes import ARGS, chosen_by_the_twin, forecasts_once, planned, scene

from barostat.core.change import ConfigChange
from barostat.core.diagnosis import NextStep
from barostat.core.limits import (
    LimitsSpec,
    RemedyLimits,
    RequestLimits,
    ServiceLevel,
    ServingLimits,
)
from barostat.core.object_reference import ObjectReference
from barostat.core.proposed_change import EditPodSpec, RollBack, SetFlag, SetMemory
from barostat.core.prose import Prose
from barostat.core.verdict import Absent, Present
from barostat.judge.mitigation import forecast
from barostat.judge.mitigation.facts import facts, fits, rollout_age_s, worse_before
from barostat.judge.mitigation.gateways import SeenGateway
from barostat.judge.mitigation.planning import NoRemedy, Planned, Wish, limits_after, plan_for
from barostat.judge.mitigation.target_objects import former_revision
from barostat.platform.objects import instant
from barostat.platform.workloads.deployment import KIND as DEPLOYMENT
from barostat.remedy.plan import GatewayRef, lint
from barostat.remedy.precheck import judged, refusals
from barostat.remedy.state import State
from barostat.shells.cli.mitigate.lever_option import requested


@pytest.fixture(autouse=True)
def forecast_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "forecasts", forecasts_once)


def test_the_twin_chooses_the_value_and_the_plan_may_be_carried_out() -> None:
    seen, found = scene(), chosen_by_the_twin()
    plan = found.plan
    assert (plan.lever, plan.change.name, plan.strategy, plan.cause) == (
        "max-num-active-seqs", "--max-num-active-seqs", "spare", "kv-preemption-thrash",
    )  # fmt: skip
    assert "the twin forecasts no preemption" in plan.because
    # The lever by itself would go down to 6 of the 12 that run: the twin finds that 9 of this
    # traffic fit with room to spare, and yield more. 10 fit by a hair: in a pool a twentieth
    # smaller they preempt.
    assert plan.change.value == "9"
    assert any(
        told.startswith("--max-num-active-seqs 10: the twin forecasts 0.0036 preemptions/s")
        for told in found.passed_over
    )
    assert any(
        "edge-admission-budget" in told and "no gateway" in told for told in found.passed_over
    )
    # Its place is that of the levers that were tried: scaling out comes after them, what is live at
    # the edge before.
    assert "scale-out" not in {told.partition(" ")[0] for told in found.passed_over}
    assert lint(plan) == ()
    assert refusals(facts(seen, plan, (), RemedyLimits()), plan) == ()


def test_windows_are_made_once_and_are_those_of_the_recording_that_is_there() -> None:
    seen = scene()
    made = seen.windows()
    assert seen.windows()["replica-0"] is made["replica-0"]
    made.clear()
    assert list(seen.windows()) == ["replica-0"]
    seen.recording = replace(seen.recording, replicas=())
    assert seen.windows() == {}


def test_without_a_card_it_refuses_or_goes_in_place() -> None:
    seen, fewer = scene(gpus="2"), "max-num-active-seqs=8"
    refused = plan_for(seen, Wish("vllm-1", requested(fewer)), None)
    assert isinstance(refused, NoRemedy)
    assert "no node takes a spare" in refused.why
    assert "--in-place" in refused.why
    assert planned(seen, lever=fewer, in_place=True).plan.strategy == "in-place"
    kept = ServingLimits(LimitsSpec(remedy=RemedyLimits(floor_replicas=2)))
    floor = plan_for(seen, Wish("vllm-1", requested(fewer), in_place=True), kept)
    assert isinstance(floor, NoRemedy)
    assert "the floor is 2" in floor.why


def test_what_was_asked_for_is_planned() -> None:
    assert planned(scene(), lever="max-num-seqs=16").plan.change.value == "16"
    assert planned(scene(), lever="watermark").plan.change.name == "--watermark"
    assert planned(scene(), lever="replicas=3").plan.strategy == "scale-out"
    assert planned(scene(), lever="edge-admission-budget").plan.strategy == "edge-only"
    assert planned(scene(), lever="edge-input-cap=400").plan.change == ConfigChange(
        "limits", "request.maxInputTokens", None, "400"
    )
    assert planned(scene(), lever="scale-out=3").plan.change == ConfigChange(
        "replicas", "replicas", "2", "3"
    )
    for lever, why in (
        ("host-memory-limit=3Gi", "not among"),
        ("replicas=4", "one at a time"),
        ("gpu-memory-utilization-down", "not among"),
        ("max-model-len=4096", "already"),
    ):
        found = plan_for(scene(), Wish("vllm-1", requested(lever)), None)
        assert isinstance(found, NoRemedy)
        assert why in found.why


def gateway(*, why: str = "", **document: Any) -> SeenGateway:
    """One that stands before the target."""
    held = {"limits": {"spec": {}}, "shadow": False, "writable": True, "override": None, **document}
    return SeenGateway(GatewayRef("Deployment", "gateway", "chat", 8081), (held,), why)


def test_a_gateway_before_the_target_is_the_first_resort() -> None:
    seen = scene()
    seen.gateways = (gateway(shadow=True),)
    plan = planned(seen).plan
    assert (plan.strategy, plan.lever, plan.change.name) == (
        "edge-live",
        "edge-admission-budget",
        "edge.kvTokenBudget",
    )
    assert plan.edge is not None
    assert plan.edge.enforces
    assert "gateway_requests_per_s" in plan.expectation.load_signals
    asked = planned(seen, lever="edge-input-cap=400").plan
    assert (asked.strategy, asked.change) == (
        "edge-live",
        ConfigChange("limits", "request.maxInputTokens", None, "400"),
    )


def test_a_gateway_that_takes_no_limit_is_passed_over_with_the_reason() -> None:
    seen = scene()
    seen.gateways = (gateway(why="takes a limit from who has its token"),)
    found = planned(seen)
    assert found.plan.strategy != "edge-live"
    assert any(
        "edge-admission-budget" in told and "has its token" in told for told in found.passed_over
    )
    asked = plan_for(seen, Wish("vllm-1", requested("edge-input-cap=400")), None)
    assert isinstance(asked, NoRemedy)
    assert "has its token" in asked.why


def test_a_limit_that_a_person_gives_is_the_one_that_is_written_and_has_to_fit_the_engine() -> None:
    made = planned(scene(), lever="edge-input-cap=400")
    assert (
        limits_after(made.plan, made.replica, scene().windows()[made.replica.name], None)[
            "spec.request.maxInputTokens"
        ][0]
        == "400"
    )
    for lever, why in (
        ("edge-admission-budget=99999999", "is above the pool"),
        ("edge-input-cap=4096", "leaves no room for output"),
    ):
        found = plan_for(scene(), Wish("vllm-1", requested(lever)), None)
        assert isinstance(found, NoRemedy)
        assert why in found.why
    kept = ServingLimits(LimitsSpec(request=RequestLimits(max_output_tokens=4000)))
    found = plan_for(scene(), Wish("vllm-1", requested("edge-input-cap=400")), kept)
    assert isinstance(found, NoRemedy)
    assert "input and output together ask for 4400" in found.why


@pytest.mark.parametrize(
    ("argument", "fitting"),
    [("--max-num-seqs", True), ("--no-such-thing", False), ("--scheduler-delay-factor", False)],
)
def test_an_argument_that_the_version_does_not_have_fits_nothing(
    argument: str, fitting: bool
) -> None:
    seen = scene()
    plan = planned(seen, lever="max-num-seqs=16").plan
    plan = replace(
        plan, lever=argument.lstrip("-"), change=ConfigChange("argument", argument, None, "1")
    )
    assert [fits(plan, window) for window in seen.windows().values()] == [fitting]
    against = refusals(facts(seen, plan, (), RemedyLimits()), plan)
    assert any(told.startswith("lever-fits") for told in against) is not fitting
    removed = replace(plan, change=ConfigChange("argument", argument, "1", None))
    assert all(fits(removed, window) for window in seen.windows().values())


def test_the_level_of_the_limits_is_what_has_to_hold() -> None:
    limits = ServingLimits(LimitsSpec(slo=ServiceLevel(ttft_p99_seconds=2.0, itl_p99_seconds=0.2)))
    expects = planned(scene(), lever="max-num-seqs=16", limits=limits).plan.expectation.expects
    assert ("itl_p99_s", "below", 0.2) in [
        (found.signal, found.want, found.bound) for found in expects
    ]


@pytest.mark.parametrize(
    ("lever", "against"),
    [
        ("gpu-memory-utilization=0.5", True),
        ("num-gpu-blocks-override=8", True),
        ("num-gpu-blocks-override=100000", False),
        ("max-num-seqs=100", True),
        ("max-num-seqs=8", False),
        ("max-model-len=8192", True),
        ("block-size=16", False),
    ],
)
def test_what_would_make_it_worse_is_not_for_it_and_what_was_asked_for_is_not_called_right(
    lever: str, against: bool
) -> None:
    seen = scene()
    plan = planned(seen, lever=lever).plan
    assert plan.asked_for
    fitting = next(
        verdict
        for check, verdict in judged(facts(seen, plan, (), RemedyLimits()), plan)
        if check.name == "lever-fits"
    )
    assert isinstance(fitting, Present | Absent)
    assert (
        "is not for kv-preemption-thrash" if against else "asked for by name"
    ) in fitting.because


def test_what_vllm_would_refuse_is_refused_before_it_starts() -> None:
    for lever in ("max-num-seqs=4096", "max-num-batched-tokens=8"):
        found = plan_for(scene(), Wish("vllm-1", requested(lever)), None)
        assert isinstance(found, NoRemedy)
        assert "vLLM refuses to start" in found.why


def test_advice_against_what_was_asked_for_is_in_the_plan() -> None:
    assert (
        "lowering it does not reduce KV demand"
        in planned(scene(), lever="max-num-batched-tokens=4096").plan.because
    )


def test_a_paused_deployment_and_one_without_replicas_are_told_as_they_are() -> None:
    paused = scene()
    paused.home["spec"]["paused"] = True
    nobody = replace(scene(), report=replace(scene().report, replicas=()))
    for seen, why in (
        (paused, "kubectl rollout resume"),
        (nobody, "none of its pods (2 are asked for) is a vLLM"),
    ):
        found = plan_for(seen, Wish("vllm-1", requested("max-num-seqs=16")), None)
        assert isinstance(found, NoRemedy)
        assert why in found.why


def test_nothing_is_done_to_the_healthy() -> None:
    found = plan_for(scene("healthy-busy"), Wish("vllm-1"), None)
    assert isinstance(found, NoRemedy)
    assert "healthy-busy" in found.why


@pytest.mark.parametrize(
    ("lists", "check"),
    [
        ({"services": []}, "separable"),
        ({"resourcequotas": [{"status": {"hard": {"pods": "2"}, "used": {"pods": "2"}}}]}, "quota"),
        (
            {
                "horizontalpodautoscalers": [
                    {
                        "metadata": {"name": "h", "namespace": "chat"},
                        "spec": {
                            "scaleTargetRef": {"kind": "Deployment", "name": "vllm"},
                            "maxReplicas": 5,
                        },
                    }
                ]
            },
            "no-autoscaler",
        ),
    ],
)
def test_what_is_around_can_forbid_it(lists: dict[str, Any], check: str) -> None:
    seen, plan = scene(), chosen_by_the_twin().plan
    assert refusals(facts(seen, plan, (), RemedyLimits()), plan) == ()
    seen.lists |= lists
    against = refusals(facts(seen, plan, (), RemedyLimits()), plan)
    assert check in {told.partition(":")[0] for told in against}


def test_a_disruption_budget_forbids_going_in_place() -> None:
    seen = scene(gpus="2")
    plan = planned(seen, lever="max-num-active-seqs=8", in_place=True).plan
    seen.lists["poddisruptionbudgets"] = [
        {"spec": {"selector": {"matchLabels": {"app": "vllm"}}, "minAvailable": 2}}
    ]
    assert refusals(facts(seen, plan, (), RemedyLimits()), plan) == (
        "disruption-budget: the disruption budget asks for 2, 1 would serve",
    )


def revision(
    number: int, spec: dict[str, Any], *, ready: int = 0, born: str = "2026-11-20T10:00:00Z"
) -> dict[str, Any]:
    marks = {"deployment.kubernetes.io/revision": str(number)}
    metadata = {
        "name": f"vllm-{number}",
        "uid": f"r-{number}",
        "annotations": marks,
        "creationTimestamp": born,
    }
    return {
        "metadata": {**metadata, "ownerReferences": [{"uid": "u-1"}]},
        "spec": {"template": {"metadata": {"labels": {"app": "vllm"}}, "spec": spec}},
        "status": {"readyReplicas": ready},
    }


def pod_spec(*args: str) -> dict[str, Any]:
    return {
        "containers": [
            {
                "name": "vllm",
                "args": [*ARGS, *args],
                "resources": {"limits": {"nvidia.com/gpu": "1"}},
            }
        ]
    }


def test_a_rollout_is_undone_to_what_serves_or_to_the_newest_that_differs() -> None:
    home = scene().home

    def former(*sets: dict[str, Any]) -> tuple[str, str] | None:
        return former_revision(DEPLOYMENT.revisions(home, {"replicasets": list(sets)}))

    good, bad, worse = (
        revision(1, pod_spec()),
        revision(2, pod_spec("--a")),
        revision(4, pod_spec("--b")),
    )
    restarted = revision(3, pod_spec("--a"))
    assert former(good, bad) == ("2", "1")
    assert former(good, bad, restarted) == ("3", "1")
    assert former(good, bad, worse) == ("4", "2")
    assert former({**good, "status": {"readyReplicas": 2}}, bad, worse) == ("4", "1")
    assert former(good, revision(2, pod_spec())) is None
    assert former() is None


def test_a_restart_is_no_deploy() -> None:
    seen = scene()
    seen.lists["replicasets"] = [
        revision(1, pod_spec()),
        revision(2, pod_spec(), born="2026-11-20T11:00:00Z"),
    ]
    assert rollout_age_s(seen) == math.inf
    at = instant({"t": "2026-11-20T11:00:00Z"}, "t")
    assert at is not None
    seen.at = at + 600.0
    bad = revision(2, pod_spec("--a"), born="2026-11-20T11:00:00Z")
    seen.lists["replicasets"] = [
        revision(1, pod_spec()),
        bad,
        revision(3, pod_spec("--a"), born="2026-11-20T11:05:00Z"),
    ]
    assert rollout_age_s(seen) == 600.0


def test_a_stuck_rollout_is_undone_by_its_template_and_one_that_gets_on_is_left() -> None:
    seen = scene()
    step = NextStep(
        "undo-rollout",
        RollBack(ObjectReference("deployment", "vllm")),
        Prose("the last rollout is 3 min old"),
        restarts=True,
    )
    (sick, *rest) = seen.report.replicas
    seen.report = replace(seen.report, replicas=(replace(sick, next=(step, *sick.next)), *rest))
    seen.home = {
        **seen.home,
        "status": {"observedGeneration": 1, "updatedReplicas": 1, "replicas": 3},
    }
    serves = {
        **revision(1, pod_spec(), ready=2),
        "metadata": {**revision(1, pod_spec())["metadata"], "uid": "r-1"},
    }
    seen.lists["replicasets"] = [serves, revision(2, pod_spec("--swap-space", "4"))]
    plan = planned(seen, lever="undo-rollout").plan
    assert (plan.strategy, plan.change.value, plan.starts, plan.gpus_needed) == (
        "stuck-rollout",
        "1",
        0,
        0,
    )
    assert lint(plan) == ()
    assert refusals(facts(seen, plan, (), RemedyLimits()), plan) == ()
    seen.lists["replicasets"][1] = revision(2, pod_spec("--swap-space", "4"), ready=1)
    assert any(
        told.startswith("rollout-complete")
        for told in refusals(facts(seen, plan, (), RemedyLimits()), plan)
    )
    found = plan_for(seen, Wish("vllm-1", requested("undo-rollout")), None)
    assert isinstance(found, NoRemedy)
    assert "a rollout is under way" in found.why


def test_what_could_not_be_read_is_no_permission() -> None:
    seen, plan = scene(), chosen_by_the_twin().plan
    del seen.lists["poddisruptionbudgets"]
    seen.unread["poddisruptionbudgets"] = "cannot list poddisruptionbudgets.policy in chat"
    assert refusals(facts(seen, plan, (), RemedyLimits()), plan) == (
        "disruption-budget: cannot tell: cannot list poddisruptionbudgets.policy in chat",
    )
    assert any(
        told.startswith("budget-left: cannot tell")
        for told in refusals(facts(seen, plan, None, RemedyLimits(), "no"), plan)
    )


def test_an_owner_and_another_change_forbid_it() -> None:
    plan = chosen_by_the_twin().plan
    helm = scene(annotations={"meta.helm.sh/release-name": "chat"})
    claimed = scene(annotations={"barostat.dev/claim": "other#1#x"})
    assert [
        told.partition(":")[0] for told in refusals(facts(helm, plan, (), RemedyLimits()), plan)
    ] == ["no-owner"]
    assert [
        told.partition(":")[0] for told in refusals(facts(claimed, plan, (), RemedyLimits()), plan)
    ] == ["no-other-change"]


def test_what_was_worse_is_not_tried_again_by_itself() -> None:
    seen, first = scene(), chosen_by_the_twin().plan
    worse = State(first, phase="RolledBack", verified="worse", why="worse: preemptions_per_s 2")
    found = plan_for(seen, Wish("vllm-2"), None, (worse,))
    assert isinstance(found, Planned)
    assert found.plan.change != first.change
    assert any("incident vllm-1 took it back" in told for told in found.passed_over)
    assert worse_before(first.change, seen.template, (worse,)) == worse
    pending, other = (
        replace(worse, verified=None),
        replace(worse, plan=replace(first, template="another")),
    )
    assert worse_before(first.change, seen.template, (pending, other)) is None


def test_the_limits_hold_the_pool_only_where_it_stays_what_it_was() -> None:
    made = chosen_by_the_twin()
    window = scene().windows()[made.replica.name]
    held = limits_after(made.plan, made.replica, window, None)
    assert held["spec.engine.maxNumActiveSeqs"] == (made.plan.change.value, made.plan.because)
    assert "reported" in held["spec.capacity.kvCacheTokens"][1]
    undone = replace(made.plan, change=ConfigChange("revision", "revision", "2", "1"))
    larger = replace(
        made.plan, change=ConfigChange("argument", "--gpu-memory-utilization", None, "0.95")
    )
    for plan in (undone, larger):
        assert not any(
            path.startswith("spec.capacity")
            for path in limits_after(plan, made.replica, window, None)
        )


def test_a_step_that_asks_for_more_cards_than_the_pod_has_is_passed_over() -> None:
    seen = scene()
    step = NextStep(
        "tensor-parallel-up",
        SetFlag("tensor_parallel_size", 2),
        Prose("the model is on 1 card now"),
        restarts=True,
    )
    (sick, *rest) = seen.report.replicas
    seen.report = replace(seen.report, replicas=(replace(sick, next=(step, *sick.next)), *rest))
    found = planned(seen)
    assert found.plan.lever != "tensor-parallel-up"
    assert any(
        "vLLM needs 2 cards for it, and a pod has 1: change both" in told
        for told in found.passed_over
    )
    asked = plan_for(seen, Wish("vllm-1", requested("tensor-parallel-size=2")), None)
    assert isinstance(asked, NoRemedy)
    assert "and a pod has 1" in asked.why


def test_a_value_may_be_given_for_a_change_of_the_pod() -> None:
    seen = scene()
    step = NextStep(
        "host-memory-limit",
        EditPodSpec(SetMemory("2Gi")),
        Prose("killed"),
        restarts=True,
    )
    (sick, *rest) = seen.report.replicas
    seen.report = replace(seen.report, replicas=(replace(sick, next=(step, *sick.next)), *rest))
    seen.lists["nodes"][0]["status"]["allocatable"]["memory"] = "64Gi"
    assert planned(seen).plan.change == ConfigChange("pod-spec", "memory", None, "2Gi")
    assert planned(seen, lever="host-memory-limit=3Gi").plan.change == ConfigChange(
        "pod-spec", "memory", None, "3Gi"
    )
