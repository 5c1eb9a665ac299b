"""The remedy machine in transcripts: lost answers, refusals, waits that do not end, aborts, and
programs that are killed.
"""

from __future__ import annotations

from tests.support.remedy_dialogue import TO_PROOF, Dialogue, a_plan

from barostat.remedy.plan import StepLimits
from barostat.remedy.state import Do


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
    run = Dialogue(a_plan()).follow(
        TO_PROOF.replace("ok           -> Observe", "late         -> Observe")
    )
    assert any("not drained within 300 s" in entry.detail for entry in run.state.timeline)
    careful = Dialogue(a_plan(bounds=StepLimits(on_drain_bound="roll-back")))
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


def test_a_killed_run_that_a_person_ends_is_taken_back_once_the_claim_is_renewed() -> None:
    dead = Dialogue(a_plan()).follow("""
        begin        -> Gather
        facts        -> record
        ok           -> ClaimHome
        ok           -> record
        ok           -> CreateSpare 0
    """)
    run = dead.killed().follow("""
        resume       -> record
        abort        ->
        ok           -> ClaimHome
        ok           -> record
        ok           -> DeleteSpare 0
        ok           -> record
        ok           -> ReleaseHome
    """)
    assert run.state.phase == "RollingBack"


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


def test_a_record_that_cannot_be_written_before_anything_was_done_refuses() -> None:
    Dialogue(a_plan()).follow("""
        begin        -> Gather
        facts        -> record
        refused      -> record
        lost         -> record
        lost         -> Refused
    """)
