"""What a forecast may be between, under every pace that is left open, and where that is no better
than a guess.
"""

from __future__ import annotations

from dataclasses import replace

from barostat.core.diagnosis import Expected
from barostat.judge.advice.between import between_words, ends, is_open
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


def test_one_that_helps_under_one_pace_and_harms_under_another_is_open() -> None:
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


def test_every_figure_has_its_least_and_its_most() -> None:
    found = ends(_compared(BETTER, WORSE))
    assert found is not None
    least, most = found
    assert least == Expected(12.0, 4.0, 20.0, 0.15, 0.22, 0.0, 0.0)
    assert most == Expected(36.0, 11.0, 20.0, 0.52, 0.8, 0.0, 0.0)
    assert ends(_compared()) is None


def test_the_words_hold_each_pace_to_today_under_the_same() -> None:
    slow = replace(TODAY, output_tokens_per_s=6.0)
    found = between_words(_compared(TODAY, slow, expected=TODAY), _compared(BETTER, WORSE))
    assert found == "tokens/s +100% to +200%, TTFT mean -73% to -27%, ITL mean +15% to +300%"


def test_what_never_came_is_left_out() -> None:
    none = replace(TODAY, itl_mean_s=None)
    assert (
        between_words(_compared(none, expected=none), _compared(none, expected=none))
        == "tokens/s +0% to +0%, TTFT mean +0% to +0%"
    )
    found = ends(_compared(none, expected=none))
    assert found is not None
    assert found[0].itl_mean_s is None
