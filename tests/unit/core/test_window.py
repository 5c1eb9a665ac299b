"""Signals and windows: readings, ages, trends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.catalog.polling import SAMPLED_S
from barostat.catalog.signals import signal
from barostat.core.signal import Fresh, Missing, Signal, Stale
from barostat.core.window import CLOCK_SKEW_S, Window


def usage(*values: float, start: float = 100.0, step: float = 5.0) -> Signal:
    made = signal(
        "kv_usage_ratio", [(start + step * i, value) for i, value in enumerate(values)], "test"
    )
    assert made is not None
    return made


def test_points_are_ordered_and_a_later_duplicate_wins() -> None:
    made = signal("kv_usage_ratio", [(2.0, 0.2), (1.0, 0.1), (2.0, 0.3)], "test")
    assert made is not None
    assert made.points == ((1.0, 0.1), (2.0, 0.3))
    assert made.unit == "ratio"


def test_no_points_and_only_nan_make_no_signal() -> None:
    assert signal("kv_usage_ratio", [], "test") is None
    assert signal("kv_usage_ratio", [(1.0, float("nan"))], "test") is None


def test_an_unknown_name_is_a_bug() -> None:
    with pytest.raises(KeyError):
        signal("heat", [(1.0, 1.0)], "test")


def test_a_window_tells_fresh_stale_missing_and_the_future_apart() -> None:
    made = usage(0.5)
    signals = {made.name: made}
    assert isinstance(Window("r", 100.0 + SAMPLED_S, signals).read("kv_usage_ratio"), Fresh)
    late = Window("r", 100.0 + SAMPLED_S + 1, signals).read("kv_usage_ratio")
    assert isinstance(late, Stale)
    assert "91 s old" in late.why
    future = Window("r", 100.0 - CLOCK_SKEW_S - 1, signals).read("kv_usage_ratio")
    assert isinstance(future, Stale)
    assert "future" in future.why
    assert isinstance(Window("r", 100.0).read("kv_usage_ratio"), Missing)


def test_reading_an_undeclared_signal_by_index_is_an_error() -> None:
    with pytest.raises(KeyError):
        Window("r", 0.0)["kv_usage_ratio"]


def test_held_for_counts_back_to_the_last_break() -> None:
    made = usage(0.99, 0.5, 0.96, 0.97, 0.99)
    assert made.held_for_s(lambda value: value > 0.95) == 10.0
    assert made.held_for_s(lambda value: value > 0.995) is None
    assert usage(0.99).held_for_s(lambda value: value > 0.95) == 0.0


def test_share_counts_points() -> None:
    assert usage(0.9, 0.99, 0.99, 0.9).share(lambda value: value > 0.95) == 0.5


def test_slope_needs_two_instants() -> None:
    assert usage(0.5).slope_per_s() is None
    assert usage(0.1, 0.2, 0.3).slope_per_s() == pytest.approx(0.02)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_summary_values_stay_within_the_points(values: list[float]) -> None:
    made = usage(*values)
    assert made.low <= made.mean + 1e-9
    assert made.mean <= made.high + 1e-9
    assert made.since(made.at) is not None
    assert made.since(made.at + 1) is None


def test_evidence_carries_age_and_source() -> None:
    found = usage(0.5, 0.9).evidence(now=110.0, note="peak")
    assert (found.value, found.age_s, found.source, found.note) == (0.9, 5.0, "test", "peak")
