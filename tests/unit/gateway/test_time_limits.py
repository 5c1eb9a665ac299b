"""Every member is looked at once a second, wherever it came in."""

from __future__ import annotations

from barostat.gateway.time_limits import PARTS, TICK_S, Rounds


class Seen:
    part = 0

    def __init__(self, rounds: Rounds | None = None) -> None:
        self.looks: list[float] = []
        self.leaves = rounds

    def look(self, now: float) -> None:
        self.looks.append(now)
        if self.leaves is not None:
            self.leaves.remove(self)


def test_once_a_second_each_and_leaving_within_a_look() -> None:
    now = [0.0]
    rounds = Rounds(lambda: now[0])
    members = [Seen() for _ in range(20)]
    leaver = Seen(rounds)
    for member in (*members, leaver):
        rounds.add(member)
    for _ in range(3 * PARTS):
        now[0] += TICK_S
        rounds.tick()
    assert {len(member.looks) for member in members} == {3}
    assert len(leaver.looks) == 1
    assert len(rounds) == 20
    rounds.remove(leaver)  # a second time does no harm
    for member in members:
        rounds.remove(member)
    assert not len(rounds)


def test_a_loop_that_is_late_is_told() -> None:
    now = [0.0]
    rounds = Rounds(lambda: now[0])
    now[0] = 1.0
    rounds.tick()
    assert rounds.late_s == 1.0 - TICK_S
