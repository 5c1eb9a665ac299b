"""The states of an exchange, each event in each of them, and the laws that hold for any order of
events. No gateway, no connection: events in, commands out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barostat.gateway.exchange_machine import (
    BEGIN_ANSWER,
    CLOSE_STREAM,
    CONNECT,
    COUNT,
    CUT_AFTER_S,
    DECIDE,
    DROP,
    END_STREAM,
    ENTER,
    FINISH,
    FORGET,
    FORWARD,
    GIVE_BACK,
    LEAVE_ENGINE,
    NO_REPLICA,
    RECONNECT,
    REPLICA_DOWN,
    RETRY,
    SEND,
    SETTLES,
    STALE_WITHIN_S,
    TRIES,
    BreakOff,
    Command,
    Commands,
    EngineFailed,
    ExchangeMachine,
    Page,
    Refuse,
    State,
)

SILENT_S = 900.0
NO = Refuse(429, "over-capacity", "No.", 1.0)
DRAINING = Refuse(503, "draining", "The gateway is shutting down.", 1.0, "cut")

Step = Callable[[ExchangeMachine], Commands]


def begun(machine: ExchangeMachine) -> Commands:
    machine.begun()
    return ()


def admitted(machine: ExchangeMachine) -> Commands:
    return machine.admitted(shared=False)


def admitted_if_entered(machine: ExchangeMachine) -> Commands:
    return machine.admitted(shared=True)


def connected(machine: ExchangeMachine) -> Commands:
    return machine.connected(10.0, 30.0)


def stream_begins(machine: ExchangeMachine) -> Commands:
    return machine.head_came(streams=True)


def answer_begins(machine: ExchangeMachine) -> Commands:
    return machine.head_came(streams=False)


def its_time_is_up(machine: ExchangeMachine) -> Commands:
    return machine.looked(40.0, SILENT_S, paused=False)


WAY: dict[State, tuple[Step, ...]] = {
    "pending": (),
    "deciding": (begun,),
    "counting": (begun, ExchangeMachine.to_count),
    "queued": (begun, ExchangeMachine.queued),
    "entering": (begun, admitted_if_entered),
    "connecting": (begun, admitted),
    "sent": (begun, admitted, connected),
    "answering": (begun, admitted, connected, answer_begins),
    "streaming": (begun, admitted, connected, stream_begins),
    "ending": (begun, admitted, connected, stream_begins, its_time_is_up),
    "settled": (begun, admitted, connected, answer_begins, ExchangeMachine.completed),
}
"""How each state is reached."""

STATES = get_args(State)
UNANSWERED: tuple[State, ...] = ("deciding", "counting", "queued", "entering", "connecting", "sent")
ANSWERED: tuple[State, ...] = ("answering", "streaming", "ending")


def in_state(state: State) -> ExchangeMachine:
    machine = ExchangeMachine()
    for step in WAY[state]:
        step(machine)
    assert machine.state == state
    return machine


def test_every_state_is_reached() -> None:
    assert set(WAY) == set(STATES)


def test_a_whole_answer() -> None:
    machine = ExchangeMachine()
    machine.begun()
    assert machine.admitted(shared=False) == (FORWARD,)
    assert machine.connected(10.0, None) == (SEND,)
    assert machine.head_came(streams=False) == (BEGIN_ANSWER,)
    assert machine.passed(11.0) == ()
    assert machine.completed() == (FINISH,)
    assert machine.state == "settled"


def test_a_request_that_is_counted_waits_and_is_entered() -> None:
    machine = ExchangeMachine()
    machine.begun()
    assert machine.to_count() == (COUNT,)
    assert machine.queued() == ()
    assert machine.admitted(shared=True) == (ENTER,)
    assert machine.entered(there=True) == (FORWARD,)
    assert machine.state == "connecting"


def test_a_request_that_is_not_read() -> None:
    machine = ExchangeMachine()
    machine.begun()
    assert machine.placed() == (CONNECT,)
    assert machine.state == "connecting"


@pytest.mark.parametrize("answer", [NO, Page(200, b"ok\n")])
def test_the_gateway_answers_itself(answer: Refuse | Page) -> None:
    for state in ("deciding", "counting", "queued"):
        machine = in_state(state)
        assert machine.answered_here(answer) == (answer,)
        assert machine.state == "settled"


def test_the_shared_budget_is_full() -> None:
    machine = in_state("entering")
    assert machine.not_entered(NO) == (GIVE_BACK, NO)
    assert machine.state == "settled"


def test_the_replica_leaves_while_the_request_is_entered() -> None:
    machine = in_state("entering")
    assert machine.entered(there=False) == (GIVE_BACK, DECIDE)
    assert machine.state == "deciding"


def test_a_replica_that_takes_no_connection_is_tried_elsewhere_and_not_for_ever() -> None:
    machine = in_state("connecting")
    for _ in range(TRIES - 1):
        assert machine.not_connected() == (REPLICA_DOWN, GIVE_BACK, RETRY)
        assert machine.state == "deciding"
        admitted(machine)
    assert machine.not_connected() == (REPLICA_DOWN, GIVE_BACK, NO_REPLICA)
    assert machine.state == "settled"


def test_a_kept_connection_that_was_closed_is_made_again_and_not_for_ever() -> None:
    machine = in_state("sent")
    for _ in range(TRIES - 1):
        assert machine.engine_closed(10.0 + STALE_WITHIN_S, unanswered=True) == (RECONNECT,)
        assert machine.state == "connecting"
        connected(machine)
    assert machine.engine_closed(10.0, unanswered=True)[:2] == (LEAVE_ENGINE, EngineFailed("reset"))
    assert machine.state == "settled"


@pytest.mark.parametrize(
    ("now", "unanswered"), [(10.0, False), (10.0 + STALE_WITHIN_S + 0.1, True)]
)
def test_an_engine_that_may_have_begun_is_not_asked_twice(now: float, unanswered: bool) -> None:
    machine = in_state("sent")
    commands = machine.engine_closed(now, unanswered=unanswered)
    assert commands[:2] == (LEAVE_ENGINE, EngineFailed("reset"))
    (refusal,) = commands[2:]
    assert isinstance(refusal, Refuse)
    assert (refusal.status, refusal.reason, refusal.ended) == (502, "engine-reset", "cut")


@pytest.mark.parametrize("kind", ["reset", "bad-answer", "silent"])
def test_an_engine_that_fails_before_and_within_an_answer(kind: str) -> None:
    before = in_state("sent").engine_failed(kind)
    assert before[:2] == (LEAVE_ENGINE, EngineFailed(kind))
    (refusal,) = before[2:]
    assert isinstance(refusal, Refuse)
    assert refusal.status == (504 if kind == "silent" else 502)
    assert refusal.reason == f"engine-{kind}"
    for state in ANSWERED:
        within = in_state(state).engine_failed(kind)
        assert within == (LEAVE_ENGINE, EngineFailed(kind), BreakOff(f"engine-{kind}"))


def test_a_stream_that_has_had_its_time_ends_with_an_event() -> None:
    machine = in_state("streaming")
    assert machine.looked(39.9, SILENT_S, paused=False) == ()
    assert machine.looked(40.0, SILENT_S, paused=False) == (END_STREAM,)
    assert machine.passed(40.1) == (END_STREAM,)  # no event ended there: tried again
    assert machine.stream_ended() == (LEAVE_ENGINE, CLOSE_STREAM)
    assert (machine.state, machine.ends_for) == ("settled", "stream-time")


def test_a_stream_in_which_no_event_ends_is_cut() -> None:
    machine = in_state("ending")
    assert machine.looked(40.0 + CUT_AFTER_S, SILENT_S, paused=False) == ()
    assert machine.looked(40.1 + CUT_AFTER_S, SILENT_S, paused=False) == (
        LEAVE_ENGINE,
        EngineFailed("stream-time"),
        BreakOff("engine-stream-time"),
    )


def test_the_time_of_a_stream_runs_from_the_first_connection() -> None:
    machine = in_state("sent")
    assert machine.engine_closed(10.5, unanswered=True) == (RECONNECT,)
    assert machine.connected(25.0, 30.0) == (SEND,)
    stream_begins(machine)
    assert machine.looked(40.0, SILENT_S, paused=False) == (END_STREAM,)


def test_an_answer_that_is_no_stream_has_no_time() -> None:
    assert in_state("answering").looked(500.0, SILENT_S, paused=False) == ()
    assert in_state("sent").looked(500.0, SILENT_S, paused=False) == ()


def test_silence_is_the_engines_unless_the_client_takes_nothing() -> None:
    for state in ("sent", "answering"):
        assert in_state(state).looked(10.0 + SILENT_S, SILENT_S, paused=False) == ()
        assert in_state(state).looked(11.0 + SILENT_S, SILENT_S, paused=True) == ()
        late = in_state(state).looked(11.0 + SILENT_S, SILENT_S, paused=False)
        assert late[:2] == (LEAVE_ENGINE, EngineFailed("silent"))
    machine = in_state("answering")
    machine.passed(11.0)
    assert machine.looked(10.5 + SILENT_S, SILENT_S, paused=False) == ()


@pytest.mark.parametrize("state", STATES)
def test_the_client_hangs_up_in_every_state(state: State) -> None:
    machine = in_state(state)
    assert machine.client_left() == (() if state == "settled" else (DROP, LEAVE_ENGINE))
    assert machine.state == "settled"
    # What comes too late goes back, and nothing else happens.
    assert machine.admitted(shared=True) == (GIVE_BACK,)
    assert machine.entered(there=True) == (GIVE_BACK,)
    assert machine.queued() == (GIVE_BACK,)
    assert machine.not_entered(NO) == ()
    assert machine.answered_here(NO) == ()
    assert machine.connected(10.0, None) == ()
    assert machine.not_connected() == ()
    assert machine.completed() == ()
    assert machine.engine_failed("reset") == ()
    assert machine.cut_off() == ()


def test_what_never_began_leaves_no_trace() -> None:
    assert in_state("pending").forgotten() == (FORGET,)


@pytest.mark.parametrize("state", [state for state in STATES if state != "pending"])
def test_the_gateway_drains_in_every_state(state: State) -> None:
    machine = in_state(state)
    commands = machine.drained(41.0)
    if state in UNANSWERED:
        assert commands == (LEAVE_ENGINE, DRAINING)
    elif state in ("streaming", "ending"):
        assert commands == (END_STREAM,)
        assert machine.ends_for == "draining"
        assert machine.stream_ended() == (LEAVE_ENGINE, CLOSE_STREAM)
    else:
        assert commands == ()
    done = in_state(state)
    assert done.cut_off() == (() if state == "settled" else (LEAVE_ENGINE, BreakOff("draining")))


EVENTS: dict[str, Step] = {
    "begun": begun,
    "answered here": lambda machine: machine.answered_here(NO),
    "to count": ExchangeMachine.to_count,
    "queued": ExchangeMachine.queued,
    "admitted": admitted,
    "admitted, if entered": admitted_if_entered,
    "entered": lambda machine: machine.entered(there=True),
    "entered, replica gone": lambda machine: machine.entered(there=False),
    "not entered": lambda machine: machine.not_entered(NO),
    "connected": connected,
    "not connected": ExchangeMachine.not_connected,
    "stream begins": stream_begins,
    "answer begins": answer_begins,
    "bytes": lambda machine: machine.passed(11.0),
    "complete": ExchangeMachine.completed,
    "stream ended": ExchangeMachine.stream_ended,
    "kept connection closed": lambda machine: machine.engine_closed(10.5, unanswered=True),
    "connection closed": lambda machine: machine.engine_closed(10.5, unanswered=False),
    "bad answer": lambda machine: machine.engine_failed("bad-answer"),
    "second": lambda machine: machine.looked(20.0, SILENT_S, paused=False),
    "its time is up": its_time_is_up,
    "years": lambda machine: machine.looked(1e9, SILENT_S, paused=False),
    "drain": lambda machine: machine.drained(41.0),
    "cut off": ExchangeMachine.cut_off,
    "client left": ExchangeMachine.client_left,
    "forgotten": ExchangeMachine.forgotten,
}


def settles(command: Command) -> bool:
    return isinstance(command, Refuse | Page | BreakOff) or command in SETTLES


@given(st.lists(st.sampled_from(sorted(EVENTS)), max_size=30))
@settings(max_examples=300, deadline=None)
def test_any_order_of_events_settles_once_and_only_gives_back_afterwards(names: list[str]) -> None:
    machine = ExchangeMachine()
    for name in names:
        before = machine.state
        commands = EVENTS[name](machine)
        ended = [command for command in commands if settles(command)]
        assert len(ended) == (before != "settled" and machine.state == "settled"), name
        if before == "settled":
            assert machine.state == "settled"
            assert commands in ((), (GIVE_BACK,)), name


@pytest.mark.parametrize("state", STATES)
def test_every_state_can_end(state: State) -> None:
    """By the client alone, and by time or the end of the gateway."""
    for end in ("client left", "cut off"):
        machine = in_state(state)
        EVENTS[end](machine)
        assert machine.state == "settled"
