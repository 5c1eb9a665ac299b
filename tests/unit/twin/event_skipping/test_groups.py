"""The fast form over several KV groups comes to the same as the step-by-step form: windows, local
chunks, states, blocks of several sizes.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest
from tests.parity.scheduler_cases import LAYOUTS, STATES, state_case
from tests.support.both_forms import in_closed_loop, same, workload
from tests.unit.twin.event_skipping.test_told_blocks import shared_rows

from barostat.core.units import ceil_div
from barostat.twin.event_skipping.groups import CountedGroups, TellApartError
from barostat.twin.forms import counted_until_preempted, state_for
from barostat.twin.request import Row
from barostat.twin.settings import Behaviour, KvGroup, Policy, Settings

CASES = int(os.environ.get("BAROSTAT_GROUP_CASES", "1000"))
HYBRIDS = (
    *(layout for layout in LAYOUTS if not (len(layout) == 1 and layout[0].is_full)),
    (KvGroup(8),),
    (KvGroup(8), KvGroup(16)),
    (KvGroup(16), KvGroup(4, 7), KvGroup(24)),
)
OLDER = Behaviour(unhashed_reused_first=False, window_freed_when_processed=False, sparse_window_cache=False,
                  window_admission_cap=False)  # fmt: skip
BEHAVIOURS = (
    Behaviour(),
    Behaviour(),
    Behaviour(self_preempted_skips_on=True),
    OLDER,
    Behaviour(sparse_window_cache=False),
)


def hybrid(seed: int) -> tuple[Settings, list[Row]]:
    """A workload of a hybrid: without caching, with it, and with prefixes in common; every request
    fits in the pool alone.
    """
    settings, rows = workload(seed)
    dice = random.Random(seed)
    policies: tuple[Policy, ...] = ("fcfs", "fcfs", "priority")
    kind = dice.choice(("counted", "counted", "cached", "states"))
    groups = dice.choice(STATES if kind == "states" else HYBRIDS)
    if kind == "counted" and dice.random() < 0.3:
        groups = (*groups, *(KvGroup(settings.max_model_len) for _ in range(dice.randint(1, 2))))
    whole = sum(ceil_div(settings.max_model_len, group.block_tokens) for group in groups)
    settings = replace(
        settings,
        groups=groups,
        kv_blocks=whole + dice.choice((1, dice.randint(1, 20), dice.randint(10, 80))) + 1,
        policy=dice.choice(policies),
        prefix_caching=kind != "counted",
        behaviour=dice.choice(BEHAVIOURS),
    )
    if kind == "states":
        settings = replace(
            settings,
            chunked_prefill=True,
            max_num_batched_tokens=max(settings.max_num_batched_tokens, settings.max_num_seqs),
            behaviour=Behaviour(),
        )
    return settings, rows if kind == "counted" else shared_rows(dice, settings, rows)


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.sweep) for first in range(40, CASES, 40))]
)
def test_both_forms_come_to_the_same(first: int) -> None:
    preempted = hits = rejected = 0
    for seed in range(first, first + 40):
        settings, rows = hybrid(seed)
        outcome = same(seed, settings, rows, state_for(settings, rows))
        preempted += outcome.preemptions
        hits += outcome.cached_tokens
        rejected += len(outcome.rejections)
    assert preempted
    assert hits
    assert rejected


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.sweep) for first in range(40, CASES, 40))]
)
def test_both_forms_come_to_the_same_in_closed_loop(first: int) -> None:
    finished = 0
    for seed in range(first, first + 40):
        settings, rows = hybrid(seed)
        outcome = same(seed, settings, in_closed_loop(rows, seed), state_for(settings, rows))
        finished += sum(life.finished_ns is not None for life in outcome.lives)
    assert finished > 250


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.sweep) for first in range(40, CASES, 40))]
)
def test_counts_are_enough_until_a_request_is_preempted(first: int) -> None:
    counted = 0
    for seed in range(first, first + 40):
        settings, rows = state_case(seed) if seed % 2 else hybrid(seed)
        settings = replace(
            settings, kv_blocks=settings.kv_blocks * (1 + seed % 3), prefix_caching=seed % 6 > 0
        )
        rows = [row._replace(prompt_token_ids=None, hash_ids=None) for row in rows]
        if not counted_until_preempted(settings, rows):
            continue
        try:
            same(seed, settings, rows, CountedGroups(settings))
            counted += 1
        except TellApartError:
            assert settings.prefix_caching
    assert counted > 20


@pytest.mark.parametrize("seed", [35, 249])
def test_reuse_of_the_longer_prefix_lets_a_shorter_chunk_in(seed: int) -> None:
    settings, rows = state_case(seed)
    assert {group.state for group in settings.groups} == {"", "align"}
    same(0, settings, rows, state_for(settings, rows))  # at one second a step
