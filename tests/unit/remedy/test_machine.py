"""The remedy machine in transcripts: each strategy, what allows it, and what is told of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.remedy_dialogue import TO_PROOF, Dialogue, a_plan

from barostat.remedy.history import kept_until
from barostat.remedy.state import Emit, State, WriteRecord

BACK = """
    ok           -> ScaleHome 0 1
    ok           -> record
    ok           -> PutBack home-0 1
    ok           -> record
    ok           -> LeaveRotation spare-0 1
    ok           -> AwaitDrained spare-0
    ok           -> record
    ok           -> DeleteSpare 0
    ok           -> record
    ok           -> ReleaseHome
    ok           -> record
    ok           -> RolledBack
"""


def test_one_replica_with_a_spare_from_harm_to_done() -> None:
    run = Dialogue(a_plan()).follow(TO_PROOF)
    run.follow("""
        better       -> record
        ok           -> DeletePod home-0
        ok           -> record
        ok           -> PatchTemplate False
        ok           -> record
        ok           -> ScaleHome 0 1
        ok           -> AwaitHome 1
        ok           -> record
        ok           -> LeaveRotation spare-0 1
        ok           -> AwaitDrained spare-0
        ok           -> record
        ok           -> DeleteSpare 0
        ok           -> record
        ok           -> WriteLimits False
        ok           -> record
        ok           -> ReleaseHome
        ok           -> record
        ok           -> Done
    """)
    assert run.state.verified == "better"
    phases = [
        entry.event
        for entry in run.state.timeline
        if entry.event[-3:] == "ing" or entry.event in ("Planned", "Done")
    ]
    assert phases == [
        "Confirming",
        "Planned",
        "Preparing",
        "Changing",
        "Draining",
        "Verifying",
        "Promoting",
        "Done",
    ]


def test_in_place_the_old_one_goes_before_the_new_one_is_made() -> None:
    Dialogue(a_plan("in-place")).follow("""
        begin        -> Gather
        facts        -> record
        ok           -> ClaimHome
        ok           -> PickReplica home-0
        ok h0        -> record
        ok           -> Detach home-0 0
        ok           -> record
        ok           -> ScaleHome 1 0
        ok           -> AwaitDrained home-0
        ok           -> record
        ok           -> DeletePod home-0
        ok           -> record
        ok           -> CreateSpare 0
        ok           -> AwaitSpare 0
        failed       -> record
        ok           -> DeleteSpare 0
        ok           -> record
        ok           -> DeletePod home-0
        ok           -> record
        ok           -> ScaleHome 0 1
        ok           -> AwaitHome 1
        ok           -> record
        ok           -> ReleaseHome
        ok           -> record
        ok           -> RolledBack
    """)


@pytest.mark.parametrize("outcome", ["worse", "inconclusive"])
def test_what_is_not_proved_is_taken_back_the_warm_one_first(outcome: str) -> None:
    run = Dialogue(a_plan()).follow(TO_PROOF).follow(f"{outcome} -> record").follow(BACK)
    assert run.state.verified == outcome
    assert [found.status for found in run.state.conditions if found.type == "Verified"] == [
        "False" if outcome == "worse" else "Unknown"
    ]


def test_two_replicas_are_promoted_one_at_a_time_and_the_first_spare_goes_last() -> None:
    run = Dialogue(a_plan(replicas=2))
    said = [run.tell("begin")]
    answers = {
        "AwaitSpare 0": "ok s0",
        "AwaitSpare 1": "ok s1",
        "PickReplica home-0": "ok h0",
        "PickReplica home-1": "ok h1",
    }
    while not run.state.ended:
        said.append(
            run.tell(
                {"Gather": "facts", "Observe": "better"}.get(said[-1], answers.get(said[-1], "ok"))
            )
        )
    told = [line for line in said if line != "record"]
    assert told[told.index("Observe") + 1 :] == [
        "DeletePod home-0", "CreateSpare 1", "AwaitSpare 1", "JoinRotation spare-1", "PickReplica home-1", "Detach home-1 2",
        "ScaleHome 1 0", "AwaitDrained home-1", "DeletePod home-1", "PatchTemplate False", "ScaleHome 0 1", "AwaitHome 1",
        "LeaveRotation spare-1 2", "AwaitDrained spare-1", "DeleteSpare 1", "ScaleHome 1 2", "AwaitHome 2", "LeaveRotation spare-0 2",
        "AwaitDrained spare-0", "DeleteSpare 0", "WriteLimits False", "ReleaseHome", "Done",
    ]  # fmt: skip


def test_at_the_edge_no_replica_is_touched() -> None:
    Dialogue(a_plan("edge-only")).follow("""
        begin        -> Gather
        facts        -> record
        ok           -> ClaimHome
        ok           -> record
        ok           -> WriteLimits False
        ok           -> Observe
        inconclusive -> record
        ok           -> WriteLimits True
        ok           -> record
        ok           -> ReleaseHome
        ok           -> record
        ok           -> RolledBack
    """)


OUT = """
    begin        -> Gather
    facts        -> record
    ok           -> ClaimHome
    ok           -> record
    ok           -> ScaleHome 2 3
    ok           -> AwaitHome 3
"""


def test_one_replica_more_is_kept_when_it_helps_and_drained_when_it_does_not() -> None:
    Dialogue(a_plan("scale-out", replicas=2)).follow(OUT).follow("""
        ok           -> Observe
        better       -> record
        ok           -> ReleaseHome
        ok           -> record
        ok           -> Done
    """)
    Dialogue(a_plan("scale-out", replicas=2)).follow(OUT).follow("""
        ok           -> Observe
        worse        -> PickSurplus surplus 2
        ok n0        -> record
        ok           -> Detach surplus 2
        ok           -> record
        ok           -> ScaleHome 3 2
        ok           -> AwaitDrained surplus
        ok           -> record
        ok           -> DeletePod surplus
        ok           -> record
        ok           -> ReleaseHome
    """)


def test_where_no_replica_was_added_none_is_taken_away() -> None:
    Dialogue(a_plan("scale-out", replicas=2)).follow(OUT).follow("""
        failed       -> PickSurplus surplus 2
        ok           -> record
        ok           -> ScaleHome 3 2
        ok           -> record
        ok           -> ReleaseHome
    """)


def test_a_fact_that_cannot_be_read_refuses() -> None:
    run = Dialogue(a_plan()).follow("""
        begin        -> Gather
        no facts     -> record
        ok           -> Refused
    """)
    assert "no-owner: cannot tell" in run.state.why


def test_a_plan_that_lint_refuses_asks_the_world_nothing() -> None:
    run = Dialogue(replace(a_plan("in-place"), floor=1))
    assert run.tell("begin") == "record"
    assert run.tell("ok") == "Refused"
    assert "the floor is 1" in run.state.why


def test_without_autonomy_it_waits_for_a_yes() -> None:
    Dialogue(a_plan(autonomy="recommend")).follow("""
        begin        -> Gather
        facts        ->
        stale        ->
        yes          -> record
        ok           -> ClaimHome
    """)
    Dialogue(a_plan(autonomy="recommend")).follow("""
        begin        -> Gather
        facts        ->
        no           -> Refused
    """)
    Dialogue(a_plan(autonomy="recommend")).follow("""
        begin        -> Gather
        facts        ->
        late         -> Refused
    """)


def test_nothing_is_written_before_a_yes() -> None:
    run = Dialogue(a_plan(autonomy="recommend")).follow("""
        begin        -> Gather
        no facts     -> Refused
    """)
    assert run.state.revision == 0


def test_a_yes_beforehand_is_recorded_with_what_became_of_it() -> None:
    Dialogue(
        a_plan(autonomy="recommend"), State(a_plan(autonomy="recommend"), approved=True)
    ).follow("""
        begin        -> Gather
        no facts     -> record
        ok           -> Refused
    """)
    Dialogue(
        a_plan(autonomy="recommend"), State(a_plan(autonomy="recommend"), approved=True)
    ).follow("""
        begin        -> Gather
        facts        -> record
        ok           -> ClaimHome
    """)


def test_a_late_yes_looks_once_more() -> None:
    run = Dialogue(a_plan(autonomy="recommend")).follow("""
        begin        -> Gather
        facts        ->
    """)
    run.at += 600.0
    run.follow("""
        yes          -> Gather
        facts        -> record
    """)


def test_the_undo_is_in_the_record_before_the_act_is_sent() -> None:
    run = Dialogue(a_plan()).follow(TO_PROOF)
    assert run.record is not None
    assert [type(act).__name__ for act in run.record.undo][-2:] == ["PutBack", "ScaleHome"]
    assert run.record.waiting is None


def test_every_phase_is_told_to_whoever_watches() -> None:
    run = Dialogue(a_plan())
    told: list[str] = []
    for line in TO_PROOF.strip().splitlines():
        run.tell(line.partition("->")[0].strip())
        told += [command.reason for command in run.commands if isinstance(command, Emit)]
    assert told == ["Preparing", "Changing", "Draining", "Verifying"]
    assert not any(
        isinstance(command, WriteRecord) and command.state.waiting for command in run.commands
    )


STUCK = """
    begin        -> Gather
    facts        -> record
    ok           -> ClaimHome
    ok           -> record
    ok           -> UndoRollout False
"""


def test_a_stuck_rollout_is_undone_by_one_write() -> None:
    Dialogue(a_plan("stuck-rollout", replicas=2)).follow(STUCK).follow("""
        ok           -> AwaitHome 2
        ok           -> record
        ok           -> ReleaseHome
        ok           -> record
        ok           -> Done
    """)


def test_a_rollout_that_gets_on_after_all_is_left_alone() -> None:
    Dialogue(a_plan("stuck-rollout", replicas=2)).follow(STUCK).follow("""
        refused      -> record
        ok           -> UndoRollout True
        ok           -> record
        ok           -> ReleaseHome
        ok           -> record
        ok           -> RolledBack
    """)


def test_after_a_stuck_rollout_was_undone_the_way_is_forward_or_to_a_person() -> None:
    run = Dialogue(a_plan("stuck-rollout", replicas=2)).follow(STUCK)
    run.follow("""
        ok           -> AwaitHome 2
        abort        ->
        failed       ->
        late         -> AwaitHome 2
        failed       -> record
        ok           -> HandedOff
    """)


TO_KEEPING = """
    better       -> record
    ok           -> DeletePod home-0
    ok           -> record
    ok           -> PatchTemplate False
    ok           -> record
    ok           -> ScaleHome 0 1
    ok           -> AwaitHome 1
    ok           -> record
    ok           -> LeaveRotation spare-0 1
    ok           -> AwaitDrained spare-0
    ok           -> record
    ok           -> DeleteSpare 0
    ok           -> record
    ok           -> KeepPrevious previous
"""


def test_a_unit_of_the_former_version_is_kept_when_the_last_spare_has_gone() -> None:
    plan = replace(a_plan(), keep_previous_s=1800.0)
    run = Dialogue(plan).follow(TO_PROOF).follow(TO_KEEPING)
    assert kept_until(run.state) is None
    run.follow("""
        ok w0        -> record
        ok           -> WriteLimits False
        ok           -> record
        ok           -> ReleaseHome
        ok           -> record
        ok           -> Done
    """)
    (kept,) = [entry for entry in run.state.timeline if entry.event == "KeepPrevious"]
    assert kept.detail == "previous (w0)"
    assert kept_until(run.state) == kept.at + 1800.0


@pytest.mark.parametrize(
    "answers", [("refused",), ("conflict",), ("lost", "lost"), ("late", "late")]
)
def test_without_one_the_remedy_goes_on(answers: tuple[str, ...]) -> None:
    plan = replace(a_plan(), keep_previous_s=1800.0)
    run = Dialogue(plan).follow(TO_PROOF).follow(TO_KEEPING)
    said = [run.tell(answer) for answer in answers]
    assert said == [*["KeepPrevious previous"] * (len(answers) - 1), "record"]
    run.follow("ok           -> WriteLimits False")
    (kept,) = [entry for entry in run.state.timeline if entry.event == "KeepPrevious"]
    assert kept.detail.startswith("previous: not done: ")
    assert kept_until(run.state) is None


def test_what_an_earlier_incident_keeps_ends_before_anything_needs_its_gpu() -> None:
    run = Dialogue(replace(a_plan(), drops=("i0-previous",))).follow("""
        begin        -> Gather
        facts        -> record
        ok           -> ClaimHome
        ok           -> record
        ok           -> DropPrevious 0
        ok           -> record
        ok           -> CreateSpare 0
    """)
    assert [entry.detail for entry in run.state.timeline if entry.event == "DropPrevious"] == [
        "i0-previous"
    ]
