"""The fast form over real blocks comes to the same as the step-by-step form where requests share
prefixes.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from tests.support.both_forms import in_closed_loop, same, workload

from barostat.twin.event_skipping.told_blocks import BlockLeapState
from barostat.twin.request import Row
from barostat.twin.settings import Policy, Settings


def sharing(seed: int) -> tuple[Settings, list[Row]]:
    """The workload of the seed with prefixes in common, as hash ids of some length or as tokens, or
    with none.
    """
    settings, rows = workload(seed)
    dice = random.Random(seed)
    policies: tuple[Policy, ...] = ("fcfs", "priority")
    behaviour = replace(settings.behaviour, unhashed_reused_first=True)
    settings = replace(
        settings, prefix_caching=True, policy=dice.choice(policies), behaviour=behaviour
    )
    return settings, shared_rows(dice, settings, rows)


def shared_rows(dice: random.Random, settings: Settings, rows: list[Row]) -> list[Row]:
    """The rows with prefixes in common, as hash ids of some length or as tokens, or with none."""
    kind = dice.choice(("tokens", "ids", "ids", "none"))
    if kind == "none":
        return rows
    block = settings.groups[0].block_tokens
    size = 1 if kind == "tokens" else dice.choice((block, 2 * block, 4 * block, 5))
    chains = [[dice.randrange(50) for _ in range(400)] for _ in range(3)]
    shared = []
    for number, row in enumerate(rows):
        count = -(-row.input_tokens // size)
        common = dice.choice((dice.randint(0, count), count))
        session = dice.randrange(len(chains))
        ids = (
            *chains[session][:common],
            *(1000 * (number + 1) + place for place in range(count - common)),
        )
        if kind == "tokens":
            shared.append(row._replace(prompt_token_ids=ids))
        else:
            shared.append(
                row._replace(
                    hash_ids=ids, id_tokens=size, session_id=dice.choice((None, str(session)))
                )
            )
    return shared


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.sweep) for first in range(40, 320, 40))]
)
def test_both_forms_come_to_the_same(first: int) -> None:
    preempted = hits = 0
    for seed in range(first, first + 40):
        settings, rows = sharing(seed)
        outcome = same(seed, settings, rows, BlockLeapState(settings))
        preempted += outcome.preemptions
        hits += outcome.cached_tokens
    assert preempted
    assert hits


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.sweep) for first in range(40, 120, 40))]
)
def test_both_forms_come_to_the_same_in_closed_loop(first: int) -> None:
    hits = 0
    for seed in range(first, first + 40):
        settings, rows = sharing(seed)
        hits += same(
            seed, settings, in_closed_loop(rows, seed), BlockLeapState(settings)
        ).cached_tokens
    assert hits
