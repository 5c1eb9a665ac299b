"""Which change of several incidents is in force, and which one a person means by the target."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.remedy_dialogue import a_plan

from barostat.remedy.history import latest, taken_back_by
from barostat.remedy.plan import ROLLBACK, taking_back
from barostat.remedy.state import State
from barostat.remedy.step import Phase


def incident(name: str, phase: Phase = "Done", undoes: str = "") -> State:
    plan = replace(a_plan(), id=name)
    return State(
        replace(plan, lever=ROLLBACK, because=taking_back(undoes)) if undoes else plan, phase
    )


def meant(*oldest_first: State, rollbacks: bool = False) -> str:
    found = latest(oldest_first[::-1], rollbacks=rollbacks)
    return found.plan.id if found else ""


@pytest.mark.parametrize(
    ("history", "in_force", "with_rollbacks"),
    [
        ([], "", ""),
        ([incident("a", "Refused"), incident("b", "RolledBack")], "", ""),
        ([incident("a")], "a", "a"),
        ([incident("a"), incident("b", "RolledBack"), incident("c", "Refused")], "a", "a"),
        ([incident("a"), incident("b")], "b", "b"),
        ([incident("a"), incident("b", undoes="a")], "", "b"),
        ([incident("a"), incident("b"), incident("c", undoes="b")], "a", "c"),
        ([incident("a"), incident("b", "RolledBack", undoes="a")], "a", "a"),
        ([incident("a"), incident("b", undoes="a"), incident("c", undoes="b")], "a", "c"),
        ([incident("a"), incident("b", "Promoting")], "b", "b"),
        ([incident("a", "HandedOff"), incident("b")], "b", "b"),
        ([incident("a"), incident("b", "HandedOff")], "b", "b"),
    ],
)
def test_the_one_in_force_or_not_over_is_meant(
    history: list[State], in_force: str, with_rollbacks: str
) -> None:
    assert (meant(*history), meant(*history, rollbacks=True)) == (in_force, with_rollbacks)


def test_a_rollback_that_was_taken_back_itself_does_not_count() -> None:
    done = [incident("c", undoes="b"), incident("b", undoes="a"), incident("a")]
    assert taken_back_by(done, "a") is None
    assert taken_back_by(done[1:], "a") == done[1]
