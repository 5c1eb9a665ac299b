"""A budget at the edge is tried as a gateway would hold it that knows the traffic, not as one in
its first minute.
"""

from __future__ import annotations

import random

from barostat.judge.experiments.held_at_edge import held_at_edge
from barostat.twin.forms import simulate
from barostat.twin.intake import NS
from barostat.twin.linear_pace import LinearPace
from barostat.twin.outcome import Outcome
from barostat.twin.request import Row
from barostat.twin.settings import KvGroup, Settings

PACE = LinearPace(0.004, 2e-5, 3e-4, 0.0)
SETTINGS = Settings(64, (KvGroup(128),), 4096, max_num_seqs=64)


def clients(number: int = 40, each: int = 3) -> list[Row]:
    """Clients that wait for their answers, each with so many requests."""
    dice = random.Random(7)
    return [
        Row(
            f"{one}-{turn}",
            0.0,
            dice.randint(200, 400),
            dice.randint(300, 600),
            after_id=f"{one}-{turn - 1}" if turn else None,
        )
        for one in range(number)
        for turn in range(each)
    ]


def tokens_per_s(outcome: Outcome) -> float:
    ended = [life for life in outcome.lives if life.finished_ns is not None]
    return sum(life.output_tokens for life in ended) / (outcome.end_ns / NS)


def test_nothing_is_preempted_at_a_bounded_price() -> None:
    thrashes = simulate(SETTINGS, clients(), PACE)
    held = held_at_edge(SETTINGS, PACE, clients(), 7168)
    assert sum(life.preemptions for life in thrashes.lives) > 40
    assert sum(life.preemptions for life in held.lives) <= 1
    assert len(held.lives) == len(clients())
    assert tokens_per_s(held) > 0.8 * tokens_per_s(thrashes)


def test_what_says_how_long_it_gets_lets_more_in() -> None:
    """A gateway that is told each answer's length keeps no room for others: nothing is preempted
    either way.
    """
    untold, told = (
        held_at_edge(
            SETTINGS,
            PACE,
            [row._replace(output_limit=row.output_tokens if states else None) for row in clients()],
            7168,
        )
        for states in (False, True)
    )
    assert tokens_per_s(told) > 1.05 * tokens_per_s(untold)
    assert sum(life.preemptions for life in told.lives) <= 1


def test_first_tokens_come_soon_although_no_answer_has_ended_yet() -> None:
    """A gateway without any knowledge takes answers for as long as the model allows, and lets in
    one after the other.
    """
    held = held_at_edge(SETTINGS, PACE, clients(each=1), 7168)
    at_once = [
        life for life in held.lives if life.first_token_ns is not None and life.first_token_ns < NS
    ]
    assert len(at_once) >= 8
