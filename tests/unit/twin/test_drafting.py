"""Speculative decoding on the twin: tokens per step, reserved slots, rejected drafts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.parity.scheduler_cases import draft_case

from barostat.core.errors import InputError
from barostat.twin.drafting import Drafting, acceptance_of
from barostat.twin.forms import simulate
from barostat.twin.outcome import Outcome
from barostat.twin.pace import EverySteps
from barostat.twin.request import Row
from barostat.twin.settings import KvGroup, Settings, check

ENGINE = Settings(100, (KvGroup(16),), 200)


def _run(drafting: Drafting | None, settings: Settings = ENGINE) -> Outcome:
    rows = [Row("0", 0.0, 16, 9)]
    return simulate(replace(settings, drafting=drafting), rows, EverySteps(10**9))


@pytest.mark.parametrize(
    ("ratio", "asynchronous", "steps", "outputs"),
    [(0.0, False, 9, 9), (0.0, True, 9, 9), (1.0, False, 3, 3), (1.0, True, 4, 3)],
)
def test_a_step_yields_the_accepted_drafts_and_one_more(
    ratio: float, asynchronous: bool, steps: int, outputs: int
) -> None:
    """Asynchronous scheduling begins one step more before it knows what was accepted."""
    outcome = _run(Drafting(3, ratio), replace(ENGINE, async_scheduling=asynchronous))
    assert outcome.steps == steps
    assert outcome.lives[0].output_tokens == 9
    assert sum(outcome.gaps.values()) == outputs - 1  # a gap is between outputs, not tokens


def test_slots_for_drafts_are_reserved() -> None:
    free = [_run(drafting).load[0][1] for drafting in (None, Drafting(3, 0.5, 3))]
    assert free == [98, 97]


def test_every_request_ends_with_its_tokens() -> None:
    for seed in range(30):
        settings, rows = draft_case(seed)
        outcome = simulate(settings, rows, EverySteps(10**9))
        asked = {row.request_id: row.output_tokens for row in rows}
        assert not outcome.stuck
        for life in outcome.lives:
            assert life.output_tokens == asked[life.request_id]


def test_accepted_drafts_do_not_depend_on_the_schedule() -> None:
    drafting = Drafting(4, 0.6)
    once, again = drafting.of_request("a"), drafting.of_request("a")
    backwards = [again.at(place) for place in reversed(range(50))]
    assert [once.at(place) for place in range(50)] == backwards[::-1]
    assert {*backwards} > {0, 4}


@pytest.mark.parametrize("ratio", [0.0, 0.3, 0.7, 1.0])
def test_the_mean_gives_the_ratio_back(ratio: float) -> None:
    mean = sum(ratio**place for place in range(1, 5))
    assert acceptance_of(mean, 4) == pytest.approx(ratio, abs=1e-6)
    accepted = Drafting(4, ratio).of_request("x")
    drawn = sum(accepted.at(place) for place in range(4000)) / 4000
    assert drawn == pytest.approx(mean, abs=0.1)


@pytest.mark.parametrize(("tokens", "ratio"), [(0, 0.5), (5000, 0.5), (3, -0.1), (3, 1.1)])
def test_impossible_drafters_are_refused(tokens: int, ratio: float) -> None:
    with pytest.raises(InputError):
        Drafting(tokens, ratio)


def test_what_is_not_modelled_is_refused() -> None:
    eagle = Drafting(3, 0.5, 3, drops_block=True)
    with pytest.raises(InputError, match="full attention only"):
        check(replace(ENGINE, groups=(KvGroup(16), KvGroup(16, 40)), drafting=eagle))
    with pytest.raises(InputError, match="cached states"):
        check(replace(ENGINE, groups=(KvGroup(16, state="align"),), drafting=Drafting(3, 0.5)))
    with pytest.raises(InputError, match="no room"):
        check(
            replace(
                ENGINE, max_num_batched_tokens=4, max_num_seqs=4, drafting=Drafting(4, 0.5, 4, 4)
            )
        )
    with pytest.raises(InputError, match="max_loras"):
        check(replace(ENGINE, max_loras=0))
