"""The one order of next steps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.core.diagnosis import Expected, SloOutlook
from barostat.judge.advice.ranking import (
    EQUAL_RATIO,
    PROMPT_S,
    Ranked,
    best_value,
    in_order,
    wait_s,
)

BASE = Expected(500.0, 1.0, 2.0, 0.02, 0.05, 0.0, 0.0)


def entry(
    name: str,
    ttft_p99_s: float | None,
    value: float = 0.0,
    slo: SloOutlook | None = None,
    refused_ratio: float = 0.0,
) -> Ranked[str]:
    expected = replace(BASE, ttft_p99_s=ttft_p99_s, refused_ratio=refused_ratio)
    return Ranked(name, expected, value, slo)


def test_a_step_that_leaves_20_s_never_ranks_above_one_that_gives_7_s() -> None:
    steps = [entry("cap", 20.0, 0.9), entry("replica", 7.5, 0.1), entry("watermark", 19.0, 1.0)]
    assert in_order(steps) == ["replica", "watermark", "cap"]


def test_among_equal_waits_the_benefit_less_its_price_decides() -> None:
    assert in_order([entry("a", 2.0, 0.1), entry("b", 2.4, 0.3)]) == ["b", "a"]
    # Below a second, or below the SLO, a shorter wait is worth no more.
    assert in_order([entry("a", 0.05, 0.1), entry("b", 0.9, 0.3)]) == ["b", "a"]
    assert in_order([entry("a", 0.5, 0.1), entry("b", 2.9, 0.3)], prompt_s=3.0) == ["b", "a"]


def test_a_met_slo_ranks_above_one_that_may_be_missed() -> None:
    steps = [entry("amber", 0.9, 0.9, "may-miss"), entry("green", 0.9, 0.1, "meets")]
    assert in_order(steps, prompt_s=1.0) == ["green", "amber"]


def test_rejected_requests_never_get_a_first_token() -> None:
    assert wait_s(entry("x", 0.1, refused_ratio=0.02).expected) == float("inf")
    assert in_order([entry("rejects", 0.1, 9.0, refused_ratio=0.05), entry("slow", 60.0)]) == [
        "slow",
        "rejects",
    ]


def test_equal_steps_keep_their_order() -> None:
    assert in_order([entry("first", 1.0), entry("second", 1.0)]) == ["first", "second"]
    assert in_order([]) == []


@pytest.mark.parametrize(
    ("calm_wait_s", "calm_value", "wanted"),
    [(43.6, 0.6, "14"), (51.0, 0.1, "14"), (60.0, 0.6, "16"), (43.6, -0.1, "16")],
)
def test_a_value_that_leaves_the_harm_ranks_behind_one_that_ends_it_and_is_a_benefit(
    calm_wait_s: float, calm_value: float, wanted: str
) -> None:
    """A limit of 16 left 0.4 preemptions for each request, and the incident never ended."""
    partial = replace(entry("16", 33.0, 0.7), preempted_ratio=0.4)
    calm = replace(entry("14", calm_wait_s, calm_value), preempted_ratio=0.02)
    today = entry("today", 41.4).expected
    assert best_value([partial, calm], today) == wanted
    assert best_value([partial], today) == "16"


def test_a_value_that_leaves_a_few_in_a_hundred_ranks_behind_one_that_leaves_none() -> None:
    """At two requests a second, 7 in 100 are diagnosed again."""
    few = replace(entry("16", 33.0, 0.7), preempted_ratio=0.07)
    none = replace(entry("14", 36.0, 0.6), preempted_ratio=0.0)
    rare = replace(few, item="15", preempted_ratio=0.02)
    today = entry("today", 41.4).expected
    assert best_value([few, none], today) == "14"
    assert best_value([rare, none], today) == "15"


@given(
    st.lists(st.tuples(st.floats(0.0, 1e4), st.floats(-2.0, 2.0)), max_size=12),
    st.none() | st.floats(0.1, 10.0),
)
def test_no_step_ranks_above_one_with_a_clearly_shorter_wait(
    figures: list[tuple[float, float]], prompt_s: float | None
) -> None:
    steps = [entry(str(place), wait, value) for place, (wait, value) in enumerate(figures)]
    waits = [
        max(PROMPT_S if prompt_s is None else prompt_s, figures[int(name)][0])
        for name in in_order(steps, prompt_s)
    ]
    assert len(waits) == len(figures)
    for place, wait in enumerate(waits):
        assert all(wait <= later * EQUAL_RATIO * (1 + 1e-9) for later in waits[place:])


@pytest.mark.parametrize("ttft_p99_s", [None])
def test_a_run_in_which_nothing_ended_ranks_last(ttft_p99_s: float | None) -> None:
    assert in_order([entry("stuck", ttft_p99_s, 9.0), entry("slow", 60.0)]) == ["slow", "stuck"]
