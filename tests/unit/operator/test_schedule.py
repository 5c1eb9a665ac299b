"""Whose verdict is due: urgent ones first, and none is left out when there is too much to judge."""

from __future__ import annotations

from barostat.operator.schedule import AGAIN_S, ROTATE_S, Schedule
from barostat.operator.step import Key

A, B, C = (Key("team", "Deployment", name) for name in "abc")


def test_what_was_never_judged_is_due_at_once_and_then_in_turn() -> None:
    schedule = Schedule()
    assert schedule.due([A, B], 0.0) == [A, B]
    schedule.judged(A, 0.0)
    assert schedule.due([A, B], 10.0) == [B]
    schedule.judged(B, 10.0)
    assert schedule.due([A, B], ROTATE_S - 1.0) == []
    assert schedule.due([A, B], ROTATE_S) == [A]


def test_one_that_looks_worse_goes_first_and_is_not_judged_at_every_look() -> None:
    schedule = Schedule()
    for key in (A, B, C):
        schedule.judged(key, 0.0)
    schedule.worsened(B, ROTATE_S)
    assert schedule.due([A, B, C], ROTATE_S) == [B, A, C]
    schedule.judged(B, ROTATE_S)
    schedule.worsened(B, ROTATE_S + 10.0)
    assert B not in schedule.due([A, B, C], ROTATE_S + 10.0)
    assert B in schedule.due([A, B, C], ROTATE_S + AGAIN_S)


def test_an_alert_does_not_wait() -> None:
    schedule = Schedule()
    schedule.judged(A, 0.0)
    schedule.ask(A, 1.0)
    assert schedule.due([A], 1.0) == [A]


def test_with_too_little_time_every_workload_is_judged_all_the_same() -> None:
    keys = [Key("team", "Deployment", f"w-{place:03d}") for place in range(100)]
    sick = keys[:20]
    schedule = Schedule()
    last: dict[Key, float] = {}
    for turn in range(120):
        now = 10.0 * turn
        for key in sick:
            schedule.worsened(key, now)
        for key in schedule.due(keys, now)[:15]:
            schedule.judged(key, now)
            last[key] = now
    assert set(last) == set(keys)
    assert min(last.values()) >= 10.0 * 119 - 300.0
    assert min(last[key] for key in sick) >= 10.0 * 119 - 40.0


def test_a_workload_that_is_gone_is_forgotten() -> None:
    schedule = Schedule()
    schedule.worsened(A, 0.0)
    schedule.keep_only([B])
    assert schedule.due([B], 0.0) == [B]
    assert schedule.age_s(A, 5.0) == float("inf")
