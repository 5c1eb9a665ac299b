"""The range of a forecast over every pace that the window leaves open."""

from __future__ import annotations

from dataclasses import replace

from barostat.core.diagnosis import Expected
from barostat.judge.advice.pace_range import is_open, lowest_and_highest, possible_changes
from barostat.judge.experiments.outlook import Outlook
from barostat.judge.experiments.side_by_side import Compared
from barostat.twin.settings import Settings

TODAY = Outlook(
    1.0, 1.0, 12.0, 15.0, 20.0, 0.13, 0.2, 17.0, 0.1, 2.0, 13.0, 0.0, 0.0, 0.0, 0.0, ttft_mean_s=15.0, itl_mean_s=0.13,
)  # fmt: skip
BETTER = replace(TODAY, output_tokens_per_s=36.0, ttft_mean_s=4.0, itl_mean_s=0.15, itl_p99_s=0.22)
WORSE = replace(TODAY, output_tokens_per_s=12.0, ttft_mean_s=11.0, itl_mean_s=0.52, itl_p99_s=0.8)


def _compared(*others: Outlook, expected: Outlook = BETTER) -> Compared:
    """Two runs at the expected pace, and one under each of the others."""
    return Compared("one", Settings(kv_blocks=100), (expected, expected, *others), 2)


def test_a_step_is_open_that_helps_under_one_pace_and_harms_under_another() -> None:
    today = _compared(TODAY, TODAY, expected=TODAY)
    assert is_open(today, _compared(BETTER, WORSE), restarts=True)
    assert is_open(today, _compared(BETTER, BETTER, expected=WORSE), restarts=True)
    assert not is_open(
        today, _compared(BETTER, replace(BETTER, output_tokens_per_s=15.0)), restarts=True
    )
    assert not is_open(today, _compared(WORSE, WORSE, expected=WORSE), restarts=True)
    assert not is_open(today, _compared(TODAY, TODAY, expected=TODAY), restarts=False)
    assert not is_open(
        _compared(expected=TODAY), _compared(), restarts=True
    )  # the expected pace alone


def test_every_figure_has_its_lowest_and_highest_value() -> None:
    found = lowest_and_highest(_compared(BETTER, WORSE))
    assert found is not None
    least, most = found
    assert least == Expected(12.0, 4.0, 20.0, 0.15, 0.22, 0.0, 0.0)
    assert most == Expected(36.0, 11.0, 20.0, 0.52, 0.8, 0.0, 0.0)
    assert lowest_and_highest(_compared()) is None


def test_each_pace_is_compared_with_today_under_the_same_pace() -> None:
    slow = replace(TODAY, output_tokens_per_s=6.0)
    found = possible_changes(_compared(TODAY, slow, expected=TODAY), _compared(BETTER, WORSE))
    assert found == "tokens/s +100% to +200%, TTFT mean -73% to -27%, ITL mean +15% to +300%"


def test_a_figure_that_no_run_has_is_left_out() -> None:
    none = replace(TODAY, itl_mean_s=None)
    assert (
        possible_changes(_compared(none, expected=none), _compared(none, expected=none))
        == "tokens/s +0% to +0%, TTFT mean +0% to +0%"
    )
    found = lowest_and_highest(_compared(none, expected=none))
    assert found is not None
    assert found[0].itl_mean_s is None
