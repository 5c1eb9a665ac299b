"""The remedy machine: the next command for each event. Pure: `step(state, event) -> (state,
commands)`. It knows no kind of workload: `program(plan)` gives it the acts.

One command is outstanding at a time. Before an act that changes anything, the record with its undo
is written and acknowledged. An answer to any other key changes nothing. A refusal and an unknown
result are treated alike, and a refused act is undone like one that was done.

    forward:  record -> act -> next step ...  Done            back:  record -> top of the undo stack -> ...  RolledBack
    forward, no: before anything was begun Refused; before home's template is written back; after it
    HandedOff
"""

from __future__ import annotations

from dataclasses import replace

from barostat.remedy.acts import (
    MUST_NAME,
    NAMES_POD,
    OPTIONAL,
    READS,
    WAITS,
    Act,
    AwaitCalm,
    AwaitDrained,
    AwaitRolled,
    ClaimHome,
    Conflict,
    DeletePod,
    DeleteSpare,
    Done,
    DropPrevious,
    Failed,
    Gather,
    Judged,
    Lost,
    Observe,
    PickSurplus,
    PickUnit,
    PutBack,
    Refused,
    RemoveStuck,
    RemoveUnit,
)
from barostat.remedy.journal import about, condition, cut_sentence, note
from barostat.remedy.plan import lint
from barostat.remedy.precheck import refusals
from barostat.remedy.program import program, touches_nothing
from barostat.remedy.state import (
    Aborted,
    Answer,
    Answered,
    Approved,
    Began,
    Command,
    ConditionStatus,
    Declined,
    Do,
    Emit,
    Event,
    Gathered,
    HomeAs,
    Resumed,
    State,
    Tick,
    Waiting,
    WaitKind,
    WriteRecord,
)
from barostat.remedy.step import TERMINAL, Phase, Step

Moved = tuple[State, tuple[Command, ...]]


def step(state: State, event: Event) -> Moved:
    """Return the state after the event and the commands that follow.

    Law: L6, an event that answers nothing outstanding changes nothing.
    """
    if isinstance(event, Resumed) and state.phase == "HandedOff":
        state = replace(
            state, phase="Promoting" if state.committed else "RollingBack", back=not state.committed
        )
    if state.ended:
        return state, ()
    match event:
        case Began(at, holder) if state.waiting is None and state.phase == "Confirming":
            return _begin(replace(state, holder=holder), at)
        case Resumed(at, holder) if state.waiting is None:
            return _resume(replace(state, holder=holder), at)
        case Gathered(at, key, facts) if _is_due(state, key):
            return _judge_facts(state, at, refusals(facts, state.plan))
        case Answered(at, key, answer) if _is_due(state, key):
            return _answered(state, at, answer)
        case Tick(at) if state.waiting is not None and at >= state.waiting.until:
            return _late(state, at)
        case Approved(at) if state.waiting is not None and state.waiting.kind == "consent":
            return _approve(replace(state, approved=True), at)
        case Declined(at) if state.waiting is not None and state.waiting.kind == "consent":
            return _end(state, at, "Refused", "nobody said yes to the plan")
        case Aborted(at, why):
            return _abort(state, at, why)
    return state, ()


def _is_due(state: State, key: str) -> bool:
    return state.waiting is not None and state.waiting.kind != "rest" and state.waiting.key == key


def current(state: State) -> Act | None:
    """Return the act that is next or under way; None before the program and at its end."""
    if state.phase in ("Confirming", "Planned"):
        return Gather() if state.phase == "Confirming" else None
    if state.claiming:
        return ClaimHome()
    if state.back:
        return state.undo[-1] if state.undo else None
    steps = program(state.plan)
    return steps[state.cursor].act if state.cursor < len(steps) else None


# --- before anything is changed


def _begin(state: State, at: float) -> Moved:
    wrong = lint(state.plan)
    if wrong:
        return _end(state, at, "Refused", "; ".join(wrong))
    return _send(
        note(
            state, at, "Confirming", f"{state.plan.cause}: {state.plan.lever}, {state.plan.change}"
        ),
        at,
        attempt=1,
    )


def _judge_facts(state: State, at: float, against: tuple[str, ...]) -> Moved:
    if against:
        return _end(
            condition(state, at, "Confirmed", "False", "; ".join(against)),
            at,
            "Refused",
            "; ".join(against),
        )
    state = note(
        condition(
            replace(state, phase="Planned"), at, "Confirmed", "True", "every pre-check holds"
        ),
        at,
        "Planned",
        "",
    )
    if state.plan.autonomy == "act" or state.approved:
        return _proceed(replace(state, waiting=None), at)
    waiting = Waiting("consent", f"{state.plan.id}/consent", 1, at + state.plan.bounds.consent_s)
    return replace(state, waiting=waiting), ()


def _approve(state: State, at: float) -> Moved:
    """Continue after consent; gather the facts again if they are too old."""
    seen = max((found.at for found in state.conditions if found.type == "Confirmed"), default=at)
    state = note(state, at, "Approved", "")
    if at - seen <= state.plan.bounds.evidence_s:
        return _proceed(replace(state, waiting=None), at)
    return _send(replace(state, phase="Confirming", waiting=None), at, attempt=1)


def _resume(state: State, at: float) -> Moved:
    """Start a new epoch: first in the record, then on the target, before anything else is sent."""
    claiming = bool(state.undo)
    state = note(
        replace(state, epoch=state.epoch + 1, claiming=claiming), at, "Resumed", state.phase
    )
    seen = max((found.at for found in state.conditions if found.type == "Confirmed"), default=at)
    if at - seen > state.plan.bounds.resume_s and not state.back and not state.committed:
        why = f"resumed {(at - seen) / 60:.0f} min after its facts were judged: too old to go on"
        state = replace(
            note(state, at, "RollingBack", why), phase="RollingBack", back=True, why=why
        )
    return _write(state, at, "record", attempt=1)


# --- one step


def _proceed(state: State, at: float) -> Moved:
    """Send the record of the next act if it needs one, else the act."""
    if state.aborting and not (state.back or state.committed or state.claiming):
        return _fail(replace(state, aborting=""), at, state.aborting)
    steps = program(state.plan)
    if state.back and not state.undo:
        return _end(
            state,
            at,
            "Refused" if touches_nothing(steps[state.cursor].act) else "RolledBack",
            state.why,
        )
    if not state.back and state.cursor >= len(steps):
        return _end(state, at, "Done", state.plan.done_sentence)
    emits: tuple[Command, ...] = ()
    if not state.back and steps[state.cursor].phase != state.phase:
        state = note(
            replace(state, phase=steps[state.cursor].phase), at, steps[state.cursor].phase, ""
        )
        emits = (Emit(state.phase, str(state.plan.change)),)
    act = current(state)
    if isinstance(act, READS) or state.recorded:
        state, commands = _send(state, at, attempt=1)
    else:
        state, commands = _write(
            state if state.back else _intend(state, steps[state.cursor]), at, "record", attempt=1
        )
    return state, (*emits, *commands)


def _intend(state: State, intended: Step) -> State:
    """Put the step's undo on the stack, before its record and so before the act."""
    kept = state.undo[: len(state.undo) - intended.forgets] if intended.forgets else state.undo
    return replace(state, undo=(*kept, *intended.undo))


def _write(state: State, at: float, kind: WaitKind, attempt: int) -> Moved:
    revision = state.revision + 1
    key = f"{state.plan.id}/{state.epoch}/w{revision}"
    kept = replace(
        state, revision=revision, recorded=True, waiting=None, aborting="", claiming=False
    )
    waiting = Waiting(kind, key, attempt, at + state.plan.bounds.answer_s)
    return replace(state, waiting=waiting), (WriteRecord(key, revision, kept),)


def _send(state: State, at: float, attempt: int, until: float | None = None) -> Moved:
    act = current(state)
    assert act is not None
    allowed = _allowed_s(state, act)
    if isinstance(act, Gather):
        place = "confirm"
    elif state.claiming:
        place = "claim"
    else:
        place = f"b{len(state.undo)}" if state.back else f"f{state.cursor}"
    key = f"{state.plan.id}/{state.epoch}/{place}"
    until = at + allowed if until is None else until
    slot = getattr(act, "slot", "")
    home: HomeAs = "any" if state.back else "patched" if state.committed else "planned"
    return replace(state, waiting=Waiting("act", key, attempt, until)), (
        Do(key, state.claim, act, home, state.pod(slot), until),
    )


def _allowed_s(state: State, act: Act) -> float:
    """Seconds that the act may take."""
    plan, bounds = state.plan, state.plan.bounds
    match act:
        case AwaitDrained():
            return bounds.drain_s
        case PickUnit():
            return bounds.answer_s
        case AwaitCalm() if plan.edge is not None:
            return plan.edge.longest_s
        case AwaitRolled():  # one unit after the other, in the worst case
            return bounds.ready_s * max(1, plan.replicas)
        case Gather():
            return bounds.confirm_s + bounds.answer_s
        case Observe():
            return bounds.verify_s + bounds.answer_s
        case DeletePod() | DeleteSpare() | DropPrevious() | RemoveUnit() | RemoveStuck():
            return bounds.end_s + bounds.answer_s
        case PutBack():
            return bounds.drain_s + bounds.end_s + bounds.answer_s
    return bounds.ready_s if isinstance(act, WAITS) else bounds.answer_s


# --- answers


def _answered(state: State, at: float, answer: Answer) -> Moved:
    waiting = state.waiting
    assert waiting is not None
    if waiting.kind in ("record", "final"):
        return _record_answered(state, at, answer)
    if waiting.kind != "act":
        return state, ()
    act = current(state)
    match answer:
        case Done(pod, said, cut):
            if isinstance(act, Observe | Gather):
                return state, ()
            if isinstance(act, MUST_NAME) and pod is None:
                return _denied(state, at, answer, "no pod was named")
            if isinstance(act, PickSurplus) and pod is None:
                state = replace(
                    state,
                    undo=tuple(
                        found
                        for found in state.undo
                        if getattr(found, "slot", "") != act.slot or found == act
                    ),
                )
            if isinstance(act, NAMES_POD):
                pods = dict(state.pods)
                pods.pop(act.slot, None)
                named = pods if pod is None else {**pods, act.slot: pod}
                state = replace(state, pods=tuple(sorted(named.items())))
            said = "; ".join(filter(None, (said, cut_sentence(cut))))
            return _next(replace(state, cut=state.cut + cut), at, said)
        case Judged() if isinstance(act, Observe):
            return _judged(state, at, answer)
        case Lost(why):
            return _again(state, at, why)
        case Refused(why) | Conflict(why) | Failed(why):
            return _denied(state, at, answer, why)
    return state, ()


def _next(state: State, at: float, said: str) -> Moved:
    act = current(state)
    assert act is not None
    state = note(replace(state, waiting=None), at, type(act).__name__, about(state, act, said))
    if state.claiming:
        return _proceed(replace(state, claiming=False), at)
    if state.back:
        return _proceed(replace(state, undo=state.undo[:-1], recorded=False), at)
    done = program(state.plan)[state.cursor]
    committed = state.committed or done.commits
    return _proceed(
        replace(state, cursor=state.cursor + 1, recorded=False, committed=committed), at
    )


def _judged(state: State, at: float, judged: Judged) -> Moved:
    reason = "; ".join(judged.reasons) or judged.outcome
    state = replace(state, verified=judged.outcome)
    status: ConditionStatus = (
        "True"
        if judged.outcome == "better"
        else "False"
        if judged.outcome == "worse"
        else "Unknown"
    )
    state = condition(state, at, "Verified", status, reason)
    if judged.outcome != "better":
        return _fail(state, at, f"{judged.outcome}: {reason}")
    return _next(state, at, reason)


def _denied(state: State, at: float, answer: Answer, why: str) -> Moved:
    """Handle a refused act. If there is no alternative (rolling back, committed or claiming), retry
    after a rest, unless another run holds the claim.
    """
    waiting = state.waiting
    assert waiting is not None
    if isinstance(answer, Conflict) and state.claiming:
        return _superseded(state, at, why)
    if isinstance(answer, Failed) and answer.by_change and not state.back:
        state = condition(replace(state, verified="worse"), at, "Verified", "False", why)
    if isinstance(current(state), OPTIONAL):
        return _next(state, at, f"not done: {why}")
    if not (state.back or state.claiming or state.committed):
        return _fail(state, at, why)
    if waiting.attempt >= state.plan.bounds.attempts:
        return _end(state, at, "HandedOff", why)
    return replace(
        state, waiting=replace(waiting, kind="rest", until=at + state.plan.bounds.rest_s)
    ), ()


def _again(state: State, at: float, why: str) -> Moved:
    """Send the same act with the same key, as often as the plan allows; a wait goes on until its
    own deadline.
    """
    assert state.waiting is not None
    act, waiting = current(state), state.waiting
    if isinstance(act, WAITS):
        return _send(state, at, waiting.attempt, waiting.until)
    if waiting.attempt >= state.plan.bounds.attempts:
        if isinstance(act, Gather):
            return _end(state, at, "Refused", f"the facts could not be had: {why}")
        if isinstance(act, Observe):
            return _judged(state, at, Judged("inconclusive", (why,)))
        if isinstance(act, OPTIONAL):
            return _next(state, at, f"not done: {why}")
        return _fail(state, at, f"no answer to {type(act).__name__}: {why}")
    return _send(state, at, waiting.attempt + 1)


def _late(state: State, at: float) -> Moved:
    assert state.waiting is not None
    waiting = state.waiting
    if waiting.kind == "consent":
        return _end(state, at, "Refused", "nobody said yes in time")
    if waiting.kind in ("record", "final"):
        return _record_answered(state, at, Lost("no answer in time"))
    if waiting.kind == "rest":
        return _send(state, at, waiting.attempt + 1)
    act = current(state)
    if isinstance(act, PickUnit):
        pods = tuple((slot, pod) for slot, pod in state.pods if slot != act.slot)
        return _next(replace(state, pods=pods), at, "there is none")
    if isinstance(act, AwaitCalm):
        return _next(state, at, "the load is not gone in the longest time that a limit is held")
    if isinstance(act, AwaitDrained):
        if state.plan.bounds.on_drain_bound == "cut" or state.back or state.committed:
            return _next(state, at, f"not drained within {state.plan.bounds.drain_s:.0f} s")
        return _fail(
            state, at, f"{act.slot} was not drained within {state.plan.bounds.drain_s:.0f} s"
        )
    if isinstance(act, WAITS):
        return _fail(
            state, at, f"{type(act).__name__}: not Ready within {_allowed_s(state, act):.0f} s"
        )
    return _again(state, at, "no answer in time")


def _record_answered(state: State, at: float, answer: Answer) -> Moved:
    """Continue if the record was written; stop if another run owns it. Without a record nothing
    more may be changed.
    """
    assert state.waiting is not None
    waiting = state.waiting
    if isinstance(answer, Done):
        state = replace(state, revision=state.revision + 1, waiting=None)
        return (
            (state, ()) if waiting.kind == "final" else _proceed(replace(state, recorded=True), at)
        )
    if isinstance(answer, Conflict):
        return _superseded(state, at, answer.why)
    why = getattr(answer, "why", "the record was not written")
    if isinstance(answer, Lost) and waiting.attempt < state.plan.bounds.attempts:
        return _write(state, at, waiting.kind, waiting.attempt + 1)
    if waiting.kind == "final":
        return replace(note(state, at, "Unrecorded", why), waiting=None), ()
    if state.back or state.committed or state.claiming:
        return _end(state, at, "HandedOff", f"the record could not be written: {why}")
    return _fail(state, at, f"the record could not be written: {why}")


# --- ways to end


def _fail(state: State, at: float, why: str) -> Moved:
    """Stop going forward: refuse if nothing was begun, else roll back, or hand off to a person."""
    if not state.undo or (state.cursor == 0 and not state.recorded and not state.back):
        return _end(state, at, "Refused", why)
    if state.back or state.committed or state.claiming:
        return _end(state, at, "HandedOff", why)
    state = replace(state, phase="RollingBack", back=True, recorded=False, why=why, waiting=None)
    state, commands = _proceed(note(state, at, "RollingBack", why), at)
    return state, (Emit("RollingBack", why, warning=True), *commands)


def _superseded(state: State, at: float, why: str) -> Moved:
    """Another run has claimed this incident: write nothing more."""
    return replace(note(state, at, "Superseded", why), why=why, superseded=True, waiting=None), (
        Emit("Superseded", why, warning=True),
    )


def _abort(state: State, at: float, why: str) -> Moved:
    """Roll back now if no change is in flight, else after its answer. A committed change is
    completed.
    """
    if state.back or state.committed or state.phase in TERMINAL:
        return state, ()
    waiting, act = state.waiting, current(state)
    if (
        waiting is None
        or waiting.kind == "consent"
        or (waiting.kind == "act" and isinstance(act, READS))
    ):
        return _fail(state, at, why)
    return replace(state, aborting=why), ()


def _end(state: State, at: float, phase: Phase, why: str) -> Moved:
    state = note(replace(state, phase=phase, why=why, waiting=None), at, phase, why)
    if not state.may_write:
        return state, ()
    emit = Emit(phase, why, warning=phase != "Done")
    state, commands = _write(state, at, "final", attempt=1)
    return state, (emit, *commands)
