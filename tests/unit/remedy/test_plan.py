"""Plans that may be carried out and plans that may not; the program of one; the record there and
back.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from tests.support.remedy_dialogue import Dialogue, a_plan

from barostat.core.change import ConfigChange, Expectation
from barostat.core.errors import InputError
from barostat.remedy.acts import DeletePod, Detach, LeaveRotation, PatchTemplate, ScaleHome
from barostat.remedy.plan import RemedyPlan, StepLimits, lint
from barostat.remedy.program import program
from barostat.remedy.record import from_json, to_json
from barostat.remedy.state import State


@pytest.mark.parametrize(
    "strategy", ["spare", "in-place", "edge-only", "edge-live", "scale-out", "stuck-rollout"]
)
def test_a_plan_in_order_has_nothing_to_say(strategy: Any) -> None:
    assert lint(a_plan(strategy, replicas=2)) == ()


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (
            replace(a_plan(), change=ConfigChange("argument", "--x", "1", "1")),
            "would stay what it is",
        ),
        (
            replace(a_plan(), keep_previous_s=86401.0),
            "the previous version is kept for 24 h at most",
        ),
        (replace(a_plan("scale-out"), previous="i0-previous"), "only where units are replaced"),
        (replace(a_plan(), cause="unknown"), "nothing is changed for the cause unknown"),
        (replace(a_plan(), expectation=Expectation(())), "nothing could prove it"),
        (replace(a_plan("in-place"), floor=1), "0 replicas would serve meanwhile, the floor is 1"),
        (
            replace(a_plan(), rolls="canary", target=replace(a_plan().target, kind="Rollout")),
            "spare is no way to change a Rollout",
        ),
        (replace(a_plan(), baseline=()), "the load before the change was not measured"),
        (replace(a_plan(), template=""), "the template was not read"),
        (replace(a_plan(), serving=2), "2 of 1 replicas cannot serve"),
        (replace(a_plan(), id="a#b"), "the id"),
        (replace(a_plan(), bounds=StepLimits(drain_s=0.0)), "above 0"),
        (replace(a_plan(), bounds=StepLimits(attempts=0)), "one attempt"),
        (replace(a_plan(), bounds=StepLimits(verify_s=30.0)), "cannot be seen in 30 s"),
        (
            replace(a_plan("edge-only"), change=ConfigChange("argument", "--x", None, "1")),
            "only limits",
        ),
        (
            replace(a_plan(), change=ConfigChange("limits", "maxOutputTokens", None, "1")),
            "at the edge",
        ),
        (
            replace(a_plan(), change=ConfigChange("replicas", "replicas", "1", "2")),
            "changed by scaling out",
        ),
        (replace(a_plan("scale-out"), max_replicas=1), "at most 1 are allowed"),
        (
            replace(a_plan("stuck-rollout"), change=ConfigChange("argument", "--x", None, "1")),
            "a stuck rollout is undone",
        ),
    ],
)
def test_a_plan_that_must_not_run_says_why(plan: RemedyPlan, says: str) -> None:
    assert any(says in sentence for sentence in lint(plan)), lint(plan)


def test_a_fleet_that_is_down_keeps_what_serves_and_has_no_floor_to_hold() -> None:
    down = replace(a_plan("in-place", replicas=2), serving=1, floor=2)
    assert down.kept_in_rotation == 1
    assert lint(down) == ()
    assert replace(a_plan(replicas=2), serving=0, floor=1).kept_in_rotation == 0


@pytest.mark.parametrize("strategy", ["spare", "in-place"])
@pytest.mark.parametrize("replicas", [1, 2, 5])
def test_home_is_written_once_while_it_asks_for_no_replica(strategy: Any, replicas: int) -> None:
    steps = [step.act for step in program(a_plan(strategy, replicas))]
    written = steps.index(PatchTemplate())
    scales = [act for act in steps if isinstance(act, ScaleHome)]
    assert [act.to for act in scales if steps.index(act) < written] == list(range(replicas))[::-1]
    assert [act.to for act in scales if steps.index(act) > written] == list(range(1, replicas + 1))
    assert steps.count(PatchTemplate()) == 1


@pytest.mark.parametrize("strategy", ["spare", "in-place"])
def test_what_is_deleted_was_taken_out_and_waited_for(strategy: Any) -> None:
    steps = [step.act for step in program(a_plan(strategy, 3))]
    for act in steps:
        if isinstance(act, DeletePod):
            before = [
                type(other).__name__
                for other in steps[: steps.index(act)]
                if getattr(other, "slot", "") == act.slot
            ]
            assert before == ["PickReplica", "Detach", "AwaitDrained"]
    kept = {act.serving for act in steps if isinstance(act, Detach | LeaveRotation)}
    assert kept == {3 if strategy == "spare" else 2}


def test_a_plan_says_what_it_costs() -> None:
    assert (a_plan(replicas=3).starts, a_plan(replicas=3).units_needed) == (6, 1)
    assert (a_plan("in-place", 3).starts, a_plan("in-place", 3).units_needed) == (6, 0)
    assert a_plan("edge-only", 3).starts == 0
    assert (a_plan("stuck-rollout", 3).starts, a_plan("stuck-rollout", 3).units_needed) == (0, 0)
    assert (a_plan("scale-out", 3).starts, a_plan("scale-out", 3).units_needed) == (1, 1)


def test_names_of_spares_are_the_same_for_the_same_plan_and_fit_kubernetes() -> None:
    long = replace(
        a_plan(),
        id="20261121-114800-Abcd",
        target=replace(a_plan().target, name="a-very-long-name-" * 5),
    )
    assert long.spare_name(0) == long.spare_name(0) != long.spare_name(1)
    assert len(long.spare_name(11)) <= 63
    assert long.spare_name(0) == long.spare_name(0).lower()


def test_the_undo_is_said_for_a_person() -> None:
    assert (
        a_plan().undo_sentence() == "set --max-num-seqs: 16 -> 64 on deployment/vllm in inference"
    )


# --- the record


def recorded_states() -> list[State]:
    """Every state that a run with two replicas writes down."""
    run = Dialogue(a_plan(replicas=2))
    said, kept = run.tell("begin"), []
    answers = {"Gather": "facts", "Observe": "better"}
    for index in (0, 1):
        answers |= {
            f"AwaitSpare {index}": f"ok s{index}",
            f"PickReplica home-{index}": f"ok h{index}",
        }
    while not run.state.ended:
        said = run.tell(answers.get(said, "ok"))
        if run.record is not None:
            kept.append(run.record)
    return kept


def test_every_record_of_a_run_is_read_back_as_it_was_written() -> None:
    states = recorded_states()
    assert len(states) > 40
    for state in states:
        assert from_json(to_json(state)) == state


def test_a_record_without_a_kept_version_is_as_the_version_before_wrote_and_reads_it() -> None:
    added = {"keepPreviousSeconds", "notKept", "previous", "drops"}
    plain = json.loads(to_json(recorded_states()[-1]))["plan"]
    assert not added & set(plain)
    kept = replace(
        a_plan(), keep_previous_s=60.0, not_kept="no", previous="i0-previous", drops=("a", "b")
    )
    written = to_json(State(kept))
    assert added <= set(json.loads(written)["plan"])
    assert from_json(written).plan == kept


def test_the_record_has_the_shape_of_an_incident() -> None:
    document = json.loads(to_json(recorded_states()[-1]))
    assert {"id", "targetRef", "cause", "phase", "conditions", "plan", "undo", "timeline"} <= set(
        document
    )
    assert document["targetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "vllm"}
    assert document["phase"] == "Done"
    assert set(document["timeline"][0]) == {"at", "event", "detail"}
    assert document["plan"]["bounds"]["drainSeconds"] == 300.0
    assert document["undo"][0] == {"act": "ReleaseHome"}


def broken(path: str, value: Any) -> str:
    """A record in which that place holds something else; None takes the key away."""
    document = json.loads(to_json(recorded_states()[5]))
    place = document
    *parents, last = path.split(".")
    for key in parents:
        place = place[int(key)] if isinstance(place, list) else place[key]
    if value is None:
        del place[last]
    else:
        place[int(last) if isinstance(place, list) else last] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("apiVersion", "barostat.dev/v9", "this version reads"),
        ("kind", "ConfigMap", "this version reads"),
        ("phase", "Sleeping", "incident.phase: must be one of"),
        ("phase", None, "incident.phase: is missing"),
        ("novelty", 1, "incident.novelty: is not known"),
        ("plan.replicas", "2", "incident.plan.replicas: must be int"),
        ("plan.replicas", True, "incident.plan.replicas: must be int"),
        ("plan.bounds.drainSeconds", "5m", "incident.plan.bounds.drainSeconds: must be float"),
        ("plan.target", [], "incident.plan.target: must be an object"),
        ("plan.expectation.expects.0.want", "more", "incident.plan.expectation.expects[0].want"),
        ("plan.baseline.0", ["arrivals_per_s"], "incident.plan.baseline[0]: must hold 2 values"),
        ("plan.baseline.0.1", "four", "incident.plan.baseline[0][1]: must be float"),
        ("undo.0.act", "Reboot", "incident.undo[0]: names no act"),
        ("undo.0", 7, "incident.undo[0]: names no act"),
        ("progress.cursor", 999, "step 999 does not exist"),
        ("progress.verified", "great", "incident.progress.verified"),
        ("timeline", {}, "incident.timeline: must be a list"),
        ("pods", [], "incident.pods: must be an object"),
        ("id", "another", "differs from the plan's"),
    ],
)
def test_a_record_that_is_not_understood_is_not_acted_on(path: str, value: Any, says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        from_json(broken(path, value))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "7", '"x"', "[" * 100_000])
def test_what_is_no_record_is_said_to_be_none(text: str) -> None:
    with pytest.raises(InputError):
        from_json(text)
