"""A limit that gateways hold: put, proved, held until the load has gone, taken back; and off again
at whatever goes wrong.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.support.remedy_dialogue import Dialogue, a_plan

from barostat.remedy.history import is_open, latest
from barostat.remedy.machine import current
from barostat.remedy.plan import lint
from barostat.remedy.program import program
from barostat.remedy.record import from_json, to_json
from barostat.remedy.state import State

HELD = """
    begin        -> Gather
    facts        -> record
    ok           -> ClaimHome
    ok           -> record
    ok           -> TightenGateway False
    ok           -> Observe
"""


def test_it_is_held_while_it_is_needed_and_then_taken_back() -> None:
    ended = Dialogue(a_plan("edge-live")).follow(
        HELD.rstrip()
        + """
        better       -> AwaitCalm
        ok           -> record
        ok           -> TightenGateway True
        ok           -> record
        ok           -> ReleaseHome
        ok           -> record
        ok           -> Done
    """
    )
    assert "held while it was needed, and is taken back" in ended.state.why
    assert latest([ended.state]) is None  # nothing is in force any more


@pytest.mark.parametrize("wrong", ["worse", "inconclusive"])
def test_what_is_not_proved_is_taken_back(wrong: str) -> None:
    Dialogue(a_plan("edge-live")).follow(
        HELD.rstrip()
        + f"""
        {wrong}      -> record
        ok           -> TightenGateway True
        ok           -> record
        ok           -> ReleaseHome
        ok           -> record
        ok           -> RolledBack
    """
    )


def test_a_load_that_does_not_go_is_no_failure() -> None:
    held = Dialogue(a_plan("edge-live")).follow(
        HELD.rstrip()
        + """
        better       -> AwaitCalm
        late         -> record
        ok           -> TightenGateway True
    """
    )
    assert held.state.committed
    assert is_open(held.state)


def test_the_undo_is_in_the_record_before_the_gateway_is_written_to() -> None:
    held = Dialogue(a_plan("edge-live")).follow(HELD)
    assert held.record is not None
    assert [type(act).__name__ for act in held.record.undo] == ["ReleaseHome", "TightenGateway"]
    again = from_json(to_json(held.record))
    assert (again.plan, again.undo) == (held.record.plan, held.record.undo)
    assert current(again) == program(again.plan)[1].act


def test_records_of_earlier_versions_are_read() -> None:
    document = json.loads(to_json(State(a_plan("edge-only"))))
    assert "edge" not in document["plan"]
    assert "anyLoad" not in document["plan"]["expectation"]
    assert from_json(json.dumps(document)).plan == a_plan("edge-only")


def test_a_plan_without_a_gateway_and_a_gateway_without_its_plan_are_refused() -> None:
    live = a_plan("edge-live")
    assert lint(live) == ()
    assert any("held live" in why for why in lint(replace(live, edge=None)))
    assert any("held live" in why for why in lint(replace(a_plan("edge-only"), edge=live.edge)))
