"""The remedy machine in transcripts: what it is told, what it says then."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.remedy.dialogue import Dialogue, a_plan

from barostat.remedy.plan import Bounds
from barostat.remedy.state import Do, Emit, WriteRecord

TO_PROOF = """
    begin        -> Gather
    facts        -> record
    ok           -> ClaimHome
    ok           -> record
    ok           -> CreateSpare 0
    ok           -> AwaitSpare 0
    ok s0        -> record
    ok           -> JoinRotation spare-0
    ok           -> PickReplica home-0
    ok h0        -> record
    ok           -> Detach home-0 1
    ok           -> record
    ok           -> ScaleHome 1 0
    ok           -> AwaitDrained home-0
    ok           -> Observe
"""
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
    phases = [entry.event for entry in run.state.timeline if entry.event[-3:] == "ing" or entry.event in ("Planned", "Done")]
    assert phases == ["Confirming", "Planned", "Preparing", "Changing", "Draining", "Verifying", "Promoting", "Done"]


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
    assert [found.status for found in run.state.conditions if found.type == "Verified"] == ["False" if outcome == "worse" else "Unknown"]


def test_two_replicas_are_promoted_one_at_a_time_and_the_first_spare_goes_last() -> None:
    run = Dialogue(a_plan(replicas=2))
    said = [run.tell("begin")]
    answers = {"AwaitSpare 0": "ok s0", "AwaitSpare 1": "ok s1", "PickReplica home-0": "ok h0", "PickReplica home-1": "ok h1"}
    while not run.state.ended:
        said.append(run.tell({"Gather": "facts", "Observe": "better"}.get(said[-1], answers.get(said[-1], "ok"))))
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
        no           -> record
        ok           -> Refused
    """)
    Dialogue(a_plan(autonomy="recommend")).follow("""
        begin        -> Gather
        facts        ->
        late         -> record
        ok           -> Refused
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


def test_a_lost_answer_is_asked_for_again_with_the_same_key() -> None:
    run = Dialogue(a_plan()).follow("""
        begin        -> Gather
        facts        -> record
        lost         -> record
        ok           -> ClaimHome
    """)
    first = next(command for command in run.commands if isinstance(command, Do))
    run.follow("lost -> ClaimHome")
    second = next(command for command in run.commands if isinstance(command, Do))
    assert (first.key, first.claim) == (second.key, second.claim)
    run.follow("""
        lost         -> record
        ok           -> ReleaseHome
        ok           -> record
        ok           -> Refused
    """)


def test_a_refused_act_is_undone_like_one_that_was_done() -> None:
    Dialogue(a_plan()).follow("""
        begin        -> Gather
        facts        -> record
        ok           -> ClaimHome
        ok           -> record
        ok           -> CreateSpare 0
        refused      -> record
        ok           -> DeleteSpare 0
        ok           -> record
        ok           -> ReleaseHome
        ok           -> record
        ok           -> RolledBack
    """)


def test_a_spare_that_stays_pending_ends_the_plan() -> None:
    run = Dialogue(a_plan()).follow("""
        begin        -> Gather
        facts        -> record
        ok           -> ClaimHome
        ok           -> record
        ok           -> CreateSpare 0
        ok           -> AwaitSpare 0
        lost         -> AwaitSpare 0
        late         -> record
        ok           -> DeleteSpare 0
    """)
    assert "not Ready within 900 s" in run.state.why


def test_on_the_way_back_a_no_is_rested_on_and_then_handed_to_a_person() -> None:
    run = (
        Dialogue(a_plan())
        .follow(TO_PROOF)
        .follow("""
        worse        -> record
        ok           -> ScaleHome 0 1
        refused      ->
        stale        ->
        late         -> ScaleHome 0 1
        conflict     -> record
        ok           -> HandedOff
    """)
    )
    assert [type(act).__name__ for act in run.state.undo] == [
        "ReleaseHome", "DeleteSpare", "AwaitDrained", "LeaveRotation", "PutBack", "ScaleHome",
    ]  # fmt: skip
    run.follow("""
        resume       -> record
        ok           -> ClaimHome
        ok           -> ScaleHome 0 1
    """)


def test_after_the_template_is_written_the_way_is_forward_only() -> None:
    run = (
        Dialogue(a_plan())
        .follow(TO_PROOF)
        .follow("""
        better       -> record
        ok           -> DeletePod home-0
        ok           -> record
        ok           -> PatchTemplate False
        ok           -> record
        ok           -> ScaleHome 0 1
        abort        ->
        refused      ->
        late         -> ScaleHome 0 1
        ok           -> AwaitHome 1
        late         -> record
        ok           -> HandedOff
    """)
    )
    assert "AwaitHome" in run.state.why


def test_an_abort_waits_for_what_is_being_changed_and_ends_a_wait_at_once() -> None:
    Dialogue(a_plan()).follow("""
        begin        -> Gather
        facts        -> record
        ok           -> ClaimHome
        ok           -> record
        ok           -> CreateSpare 0
        abort        ->
        ok           -> record
        ok           -> DeleteSpare 0
    """)
    Dialogue(a_plan()).follow("""
        begin        -> Gather
        facts        -> record
        ok           -> ClaimHome
        ok           -> record
        ok           -> CreateSpare 0
        ok           -> AwaitSpare 0
        abort        -> record
        ok           -> DeleteSpare 0
    """)


def test_what_is_not_drained_in_time_is_cut_and_told_or_taken_back() -> None:
    run = Dialogue(a_plan()).follow(TO_PROOF.replace("ok           -> Observe", "late         -> Observe"))
    assert any("not drained within 300 s" in entry.detail for entry in run.state.timeline)
    careful = Dialogue(a_plan(bounds=Bounds(on_drain_bound="roll-back")))
    careful.follow(TO_PROOF.replace("ok           -> Observe", "late         -> record"))


def test_a_killed_run_is_resumed_with_a_new_epoch_before_anything_else() -> None:
    dead = Dialogue(a_plan()).follow("""
        begin        -> Gather
        facts        -> record
        ok           -> ClaimHome
        ok           -> record
        ok           -> CreateSpare 0
    """)
    run = dead.killed()
    assert run.tell("resume") == "record"
    assert run.state.epoch == 2
    assert run.tell("ok") == "ClaimHome"
    assert [command.claim for command in run.commands if isinstance(command, Do)] == ["i1#2#b"]
    assert run.tell("ok") == "CreateSpare 0"


def test_a_run_that_is_resumed_the_next_day_goes_back() -> None:
    dead = Dialogue(a_plan()).follow("""
        begin        -> Gather
        facts        -> record
        ok           -> ClaimHome
        ok           -> record
        ok           -> CreateSpare 0
    """)
    run = dead.killed()
    run.at += 86_400.0
    run.follow("""
        resume       -> record
        ok           -> ClaimHome
        ok           -> DeleteSpare 0
        ok           -> record
        ok           -> ReleaseHome
    """)


def test_a_second_run_that_goes_on_ends_the_first() -> None:
    run = Dialogue(a_plan()).follow("""
        begin        -> Gather
        facts        -> record
        ok           -> ClaimHome
        ok           -> record
        conflict     -> Preparing
        ok           -> Preparing
    """)
    assert run.state.superseded


def test_a_resumed_run_whose_claim_is_taken_stops() -> None:
    dead = Dialogue(a_plan()).follow("""
        begin        -> Gather
        facts        -> record
        ok           -> ClaimHome
    """)
    dead.killed().follow("""
        resume       -> record
        ok           -> ClaimHome
        conflict     -> Preparing
    """)


def test_the_undo_is_in_the_record_before_the_act_is_sent() -> None:
    run = Dialogue(a_plan()).follow(TO_PROOF)
    assert run.record is not None
    assert [type(act).__name__ for act in run.record.undo][-2:] == ["PutBack", "ScaleHome"]
    assert run.record.waiting is None


def test_a_record_that_cannot_be_written_before_anything_was_done_refuses() -> None:
    Dialogue(a_plan()).follow("""
        begin        -> Gather
        facts        -> record
        refused      -> record
        lost         -> record
        lost         -> Refused
    """)


def test_every_phase_is_told_to_whoever_watches() -> None:
    run = Dialogue(a_plan())
    told: list[str] = []
    for line in TO_PROOF.strip().splitlines():
        run.tell(line.partition("->")[0].strip())
        told += [command.reason for command in run.commands if isinstance(command, Emit)]
    assert told == ["Preparing", "Changing", "Draining", "Verifying"]
    assert not any(isinstance(command, WriteRecord) and command.state.waiting for command in run.commands)
