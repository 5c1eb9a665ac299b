"""The load that breaks an engine lies in the gap, which is narrow; a denser load lasts as long as
the one that was given.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from barostat.judge.experiments.breaking_point import (
    WITHIN_RATIO,
    breaking_point,
    lasting,
    narrowed,
    rate_of,
)
from barostat.twin.forms import simulate
from barostat.twin.linear_pace import LinearPace
from barostat.twin.pace import EverySteps
from barostat.twin.request import Row
from barostat.twin.settings import KvGroup, Settings
from barostat.twin.summary import Slo

SETTINGS = Settings(
    kv_blocks=200,
    groups=(KvGroup(16),),
    max_model_len=3000,
    max_num_seqs=8,
    max_num_batched_tokens=2048,
)
ROWS = [Row(str(place), place * 1.0, 160, 10) for place in range(60)]
SHORT = ROWS[:24]


@pytest.mark.parametrize("lost_at", [0.02, 0.3, 0.99, 1.01, 1.7, 40.0])
def test_the_load_that_is_lost_lies_in_the_gap(lost_at: float) -> None:
    gap = narrowed(lambda load: load < lost_at)
    assert gap.holds_at is not None
    assert gap.breaks_at is not None
    assert gap.holds_at < lost_at <= gap.breaks_at
    assert gap.breaks_at / gap.holds_at <= 1 + WITHIN_RATIO


def test_what_never_or_always_holds_has_an_open_gap() -> None:
    assert narrowed(lambda _: True).breaks_at is None
    assert narrowed(lambda _: False).holds_at is None


@pytest.mark.parametrize("load", [0.5, 1.0, 1.5, 4.0])
def test_a_denser_load_lasts_as_long_and_repeats_no_id(load: float) -> None:
    rows = lasting(ROWS, load)
    assert rate_of(rows) == pytest.approx(load * rate_of(ROWS), rel=0.03)
    if load >= 1:
        assert max(row.arrival_s for row in rows) == pytest.approx(60, abs=1.1)
    assert len({row.request_id for row in rows}) == len(rows)
    assert [row.arrival_s for row in rows] == sorted(row.arrival_s for row in rows)


@pytest.mark.parametrize("field", ["hash_ids", "prompt_token_ids"])
def test_a_copy_of_the_load_finds_in_the_cache_what_the_load_finds_in_itself(field: str) -> None:
    rest = range(1, 160 if field == "prompt_token_ids" else 10)
    own: list[dict[str, Any]] = [
        {"session_id": f"s{place // 2}", field: (place // 2, *rest)} for place in range(60)
    ]  # each prompt twice
    rows = [row._replace(**fields) for row, fields in zip(ROWS, own, strict=True)]
    large = replace(SETTINGS, kv_blocks=5000)
    once, often = (simulate(large, lasting(rows, load), EverySteps(10**7)) for load in (1.0, 3.0))
    assert once.cached_tokens == 30 * 144
    assert often.cached_tokens == 3 * once.cached_tokens


def test_an_engine_of_known_capacity_is_lost_there() -> None:
    """Eight at once, ten steps of 0.1 s each: eight requests a second, and what may wait 1.5 s in a
    minute.
    """
    found = breaking_point("it", SETTINGS, ROWS, (EverySteps(100_000_000),), Slo(ttft_s=1.5))
    assert found.expected.holds_at is not None
    assert 7.5 < found.expected.holds_at * found.rate_per_s < 8.5
    smaller = breaking_point(
        "it", replace(SETTINGS, max_num_seqs=4), ROWS, (EverySteps(100_000_000),), Slo(ttft_s=1.5)
    )
    assert smaller.expected.holds_at is not None
    assert smaller.expected.holds_at < 0.6 * found.expected.holds_at


def test_steps_that_may_be_longer_or_shorter_widen_it() -> None:
    pace = LinearPace(0.1, 0.0, 0.0, 0.0)
    found = breaking_point(
        "it", SETTINGS, SHORT, (pace, pace.scaled(0.8), pace.scaled(1.2)), Slo(ttft_s=2.0)
    )
    assert found.lowest is not None
    assert found.highest is not None
    assert found.expected.holds_at is not None
    assert found.lowest < found.expected.holds_at < found.highest
