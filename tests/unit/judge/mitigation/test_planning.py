"""A recorded thrash of the real vLLM and a small cluster around it: which plan there is, and why
there is none.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from tests.support.planning_scenes import ARGS, chosen_by_the_twin, planned, ranked_once, scene
from tests.support.tried_bundles import TRIED

from barostat.catalog.settings.setting import option_of
from barostat.core.change import ConfigChange
from barostat.core.config import written
from barostat.core.diagnosis import NextStep
from barostat.core.limits import (
    LimitsSpec,
    RemedyLimits,
    RequestLimits,
    ServiceLevel,
    ServingLimits,
)
from barostat.core.object_reference import ObjectReference
from barostat.core.proposed_change import (
    EditPodSpec,
    RollBack,
    Scale,
    SetFlag,
    SetMemory,
    UnsetFlag,
)
from barostat.core.prose import Prose
from barostat.core.verdict import Absent, Present
from barostat.judge.advice.tried_steps import advised
from barostat.judge.mitigation import planning
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
from barostat.twin.summary import Slo


@pytest.fixture(autouse=True)
def rank_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "with_ranked_steps", ranked_once)


def test_the_twin_chooses_the_value_and_the_plan_may_be_carried_out() -> None:
    seen, found = scene(), chosen_by_the_twin()
    plan = found.plan
    assert (plan.lever, plan.change.name, plan.strategy, plan.cause) == (
        "max-num-active-seqs", "--max-num-active-seqs", "spare", "kv-preemption-thrash",
    )  # fmt: skip
    # The lever by itself would go down to 6 of the 12 that run, at a fifth of the throughput.
    assert plan.change.value == "10"
    assert plan.because.startswith("the twin forecasts TTFT p99 ")
    assert "-> 0 preemptions/s; price: a restart; " in plan.because
    assert lint(plan) == ()
    assert refusals(facts(seen, plan, (), RemedyLimits()), plan) == ()


@pytest.mark.parametrize("ttft_p99_s", [None, 7.0])
@pytest.mark.parametrize("name", TRIED)
def test_diagnose_and_mitigate_choose_the_same_change_and_value(
    name: str, ttft_p99_s: float | None
) -> None:
    seen = scene(name)
    (shown,) = advised(seen.recording, Slo(ttft_p99_s)).report.replicas
    limits = ServingLimits(LimitsSpec(slo=ServiceLevel(ttft_p99_seconds=ttft_p99_s)))
    found = plan_for(seen, Wish("vllm-1"), limits)
    passed = [told.partition(" ")[0] for told in found.passed_over]
    assert passed == [step.lever for step in shown.next][: len(passed)]
    if isinstance(found, NoRemedy):
        assert len(passed) == len(shown.next)
        return
    assert not any(
        step.forecast is not None and step.forecast.effect == "nothing" and step.lever not in passed
        for step in shown.next[: len(passed) + 1]
    )
    chosen = shown.next[len(passed)]
    assert found.plan.lever == chosen.lever
    match chosen.change:
        case SetFlag(name=flag, value=value):
            assert (found.plan.change.name, found.plan.change.value) == (
                option_of(flag),
                written(value),
            )
        case UnsetFlag(name=flag):
            assert (found.plan.change.name, found.plan.change.value) == (option_of(flag), None)
        case Scale():
            assert (found.plan.change.kind, found.plan.change.value) == ("replicas", "3")
        case other:
            raise AssertionError(other)


def test_a_replica_is_added_where_a_node_takes_it_and_the_limits_allow_it() -> None:
    added = planned(scene())
    assert (added.plan.lever, added.plan.strategy) == ("scale-out", "scale-out")
    assert added.plan.because.startswith("the twin forecasts TTFT p99 ")
    assert "price: 2 times the GPUs; " in added.plan.because
    # The twin does not expect the preemptions to end: the shorter wait is what has to be shown.
    essential = {expect.signal for expect in added.plan.expectation.expects if expect.essential}
    assert essential == {"waiting_requests"}
    kept = ServingLimits(LimitsSpec(remedy=RemedyLimits(max_replicas=2)))
    for seen, limits, autonomy, why in (
        (scene(gpus="2"), None, "recommend", "no node takes one more replica"),
        (scene(), kept, "recommend", "at most 2 are allowed"),
        (scene(), None, "act", "costs a GPU: allow it by spec.remedy.maxReplicas"),
    ):
        found = planned(seen, in_place=True, autonomy=autonomy, limits=limits)
        assert found.plan.lever == "max-num-active-seqs"
        assert any(told.startswith("scale-out") and why in told for told in found.passed_over)


def test_three_replicas_are_scaled_out_to_their_maximum_and_no_further() -> None:
    limits = ServingLimits(LimitsSpec(remedy=RemedyLimits(max_replicas=5)))
    replicas, added = 3, []
    while replicas < 20:
        seen = scene(replicas=replicas, gpus="20")
        found = planned(seen, in_place=True, autonomy="act", limits=limits)
        if found.plan.strategy != "scale-out":
            break
        assert found.plan.replicas == replicas
        replicas = int(found.plan.change.value or 0)
        added.append(replicas)
    assert added[-1] == 5
    assert added == sorted(set(added))
    assert any(
        "5 replicas are asked for, at most 5 are allowed" in told for told in found.passed_over
    )


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


def test_a_gateway_before_the_target_holds_a_limit_where_no_node_takes_a_replica() -> None:
    seen = scene(gpus="2")
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


def test_a_limit_that_a_gateway_holds_goes_before_a_restart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Even where the twin ranks the restart higher: the limit needs none, and lapses by itself."""
    monkeypatch.setattr(planning, "with_ranked_steps", ranked_once)
    seen = scene(gpus="4")
    assert planned(seen).plan.strategy == "scale-out"
    seen.gateways = (gateway(),)
    assert planned(seen).plan.strategy == "edge-live"


def test_fast_plans_a_limit_at_the_gateway_and_nothing_else() -> None:
    fast = Wish("i1", edge_only=True)
    seen = scene(gpus="4")
    made = plan_for(seen, fast, None)
    assert isinstance(made, NoRemedy)
    assert any("--fast sets a limit at the gateway" in passed for passed in made.passed_over)
    seen.gateways = (gateway(),)
    planned_live = plan_for(seen, fast, None)
    assert isinstance(planned_live, Planned)
    assert (planned_live.plan.strategy, planned_live.plan.change.kind) == ("edge-live", "limits")


def test_a_gateway_that_takes_no_limit_is_passed_over_with_the_reason() -> None:
    seen = scene(gpus="2")
    seen.gateways = (gateway(why="takes a limit from who has its token"),)
    found = planned(seen, in_place=True)
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
    assert (plan.strategy, plan.change.value, plan.starts, plan.units_needed) == (
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
    seen, first = scene(gpus="2"), chosen_by_the_twin().plan
    worse = State(first, phase="RolledBack", verified="worse", why="worse: preemptions_per_s 2")
    found = plan_for(seen, Wish("vllm-2", in_place=True), None, (worse,))
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
    seen.report = replace(seen.report, replicas=(replace(sick, next=(step,)), *rest))
    found = plan_for(seen, Wish("vllm-1"), None)
    assert isinstance(found, NoRemedy)
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
    seen.report = replace(seen.report, replicas=(replace(sick, next=(step,)), *rest))
    seen.lists["nodes"][0]["status"]["allocatable"]["memory"] = "64Gi"
    assert planned(seen).plan.change == ConfigChange("pod-spec", "memory", None, "2Gi")
    assert planned(seen, lever="host-memory-limit=3Gi").plan.change == ConfigChange(
        "pod-spec", "memory", None, "3Gi"
    )
