"""The forecast: given where demand has a reason to outgrow the pool, silent in a healthy climb."""

from __future__ import annotations

from collections.abc import Sequence

from barostat.catalog.signals import signal
from barostat.core.signal import Signal
from barostat.core.window import Window
from barostat.judge.diagnosis.forecast import forecast

END = 1_000.0


def series(name: str, values: Sequence[float], step: float = 5.0) -> Signal:
    start = END - step * (len(values) - 1)
    made = signal(name, [(start + step * i, value) for i, value in enumerate(values)], "test")
    assert made is not None
    return made


def window(**values: Sequence[float]) -> Window:
    return Window("r", END, {name: series(name, points) for name, points in values.items()})


SHAPE: dict[str, Sequence[float]] = {
    "kv_pool_tokens": [20_000.0],
    "prompt_tokens_mean": [600.0, 600.0],
    "output_tokens_mean": [400.0, 400.0],
    "itl_mean_s": [0.025, 0.025],
    "ttft_mean_s": [0.1, 0.1],
}
"""Requests that stay for 10 s and hold 800 tokens on average: 24 fit."""


def test_steady_growth_is_forecast_with_its_time() -> None:
    found = forecast(
        window(
            kv_usage_ratio=[0.30, 0.36, 0.42, 0.48, 0.55, 0.62, 0.68],
            running_requests=[9, 10, 11, 13, 14, 16, 17],
            arrivals_per_s=[0.8, 1.0, 1.1, 1.3, 1.4, 1.6, 1.7],
            **SHAPE,
        )
    )
    assert found.exhaustion_in_s is not None
    assert 18 <= found.exhaustion_in_s <= 28
    assert "17 requests run" in found.because
    assert "about 24 fit" in found.because


def test_growth_that_scatters_as_much_as_it_grows_is_silent() -> None:
    found = forecast(
        window(
            kv_usage_ratio=[0.30, 0.36, 0.42, 0.48, 0.55, 0.62, 0.68],
            running_requests=[12, 14, 9, 15, 12, 15, 14],
            arrivals_per_s=[0.8, 1.0, 1.1, 1.3, 1.4, 1.6, 1.7],
            **SHAPE,
        )
    )
    assert found.exhaustion_in_s is None
    assert "steadily" in found.because


def test_a_leap_to_nearly_all_that_fit_is_forecast_where_arrivals_bear_it_out() -> None:
    climb: dict[str, Sequence[float]] = {
        "kv_usage_ratio": [0.45, 0.45, 0.44, 0.62, 0.80],
        "running_requests": [11, 12, 11, 16, 21],
    }
    found = forecast(window(**climb, arrivals_per_s=[1.1, 1.2, 1.1, 2.0, 2.4], **SHAPE))
    assert found.exhaustion_in_s is not None
    assert found.exhaustion_in_s <= 5
    assert "10 more requests run than 10 s ago" in found.because
    calm = forecast(window(**climb, arrivals_per_s=[1.1, 1.2, 1.1, 1.2, 1.2], **SHAPE))
    assert calm.exhaustion_in_s is None
    assert "what arrives makes about" in calm.because


def test_the_start_of_a_load_that_fits_is_silent() -> None:
    """Usage and running requests climb to a plateau; arrivals do not grow."""
    for looks in range(3, 8):
        found = forecast(
            window(
                kv_usage_ratio=[0.10, 0.30, 0.45, 0.56, 0.63, 0.68, 0.70][:looks],
                running_requests=[3, 8, 12, 15, 16, 17, 18][:looks],
                arrivals_per_s=[1.8, 1.6, 2.0, 1.8, 1.6, 2.0, 1.8][:looks],
                **SHAPE,
            )
        )
        assert found.exhaustion_in_s is None


def test_a_crowd_that_connects_at_once_is_no_trend() -> None:
    found = forecast(
        window(
            kv_usage_ratio=[0.0, 0.5, 0.6, 0.7, 0.75],
            running_requests=[0, 20, 20, 20, 20],
            arrivals_per_s=[0.0, 4.0, 0.0, 1.0, 2.0],
            **SHAPE,
        )
    )
    assert found.exhaustion_in_s is None


def test_a_crowd_that_has_just_connected_is_silent_from_its_first_look_on() -> None:
    for looks in range(3, 8):
        found = forecast(
            window(
                kv_usage_ratio=[0.0, 0.0, 0.45, 0.60, 0.70, 0.75, 0.72][:looks],
                running_requests=[0, 0, 17, 18, 18, 18, 18][:looks],
                arrivals_per_s=[0.0, 0.0, 3.4, 0.2, 1.4, 2.6, 1.8][:looks],
                **SHAPE,
            )
        )
        assert found.exhaustion_in_s is None


def test_growth_from_far_below_is_not_trusted_yet() -> None:
    found = forecast(
        window(
            kv_usage_ratio=[0.12, 0.13, 0.14, 0.16, 0.18, 0.20, 0.22],
            running_requests=[1, 1, 1, 2, 3, 4, 5],
            arrivals_per_s=[0.1, 0.1, 0.1, 0.2, 0.6, 0.8, 1.0],
            **SHAPE,
        )
    )
    assert found.exhaustion_in_s is None
    assert "run at once" in found.because


def test_a_queue_with_rising_usage_is_forecast_by_the_rise() -> None:
    found = forecast(
        window(
            kv_usage_ratio=[0.70, 0.80, 0.90],
            running_requests=[20, 20, 20],
            capacity_waiting_requests=[0, 1, 3],
        ),
    )
    assert found.exhaustion_in_s is not None
    assert 4 <= found.exhaustion_in_s <= 6
    assert "queue" in found.because


def test_one_odd_scrape_neither_makes_nor_hides_a_trend() -> None:
    rising = [0.10, 0.15, 0.22, 0.01, 0.42, 0.55, 0.68]
    found = forecast(
        window(
            kv_usage_ratio=rising,
            running_requests=[10, 11, 13, 0, 15, 17, 18],
            arrivals_per_s=[1.0, 1.1, 1.3, 1.4, 1.5, 1.7, 1.8],
            **SHAPE,
        )
    )
    assert found.exhaustion_in_s is not None
    steady = [0.6, 0.6, 0.6, 0.0, 0.6, 0.6, 0.6]
    found = forecast(
        window(
            kv_usage_ratio=steady,
            running_requests=[15, 15, 15, 0, 15, 15, 15],
            arrivals_per_s=[1.5] * 7,
            **SHAPE,
        )
    )
    assert found.exhaustion_in_s is None


def test_steady_falling_and_noisy_usage_are_silent() -> None:
    for usage in ([0.9, 0.9, 0.9, 0.9], [0.9, 0.8, 0.7, 0.6], [0.6, 0.9, 0.5, 0.92, 0.55, 0.9]):
        running = [10.0 + i for i in range(len(usage))]
        found = forecast(
            window(
                kv_usage_ratio=usage,
                running_requests=running,
                arrivals_per_s=[1.0] * len(usage),
                **SHAPE,
            )
        )
        assert found.exhaustion_in_s is None


def test_full_is_not_a_forecast() -> None:
    found = forecast(window(kv_usage_ratio=[0.7, 0.9, 0.99], running_requests=[5, 10, 15]))
    assert found.exhaustion_in_s is None
    assert "already" in found.because


def test_two_points_or_unknown_lengths_give_none() -> None:
    assert (
        forecast(window(kv_usage_ratio=[0.3, 0.6], running_requests=[5, 10])).exhaustion_in_s
        is None
    )
    assert forecast(window(kv_usage_ratio=[0.6])).exhaustion_in_s is None
    found = forecast(window(kv_usage_ratio=[0.3, 0.4, 0.5, 0.6], running_requests=[5, 8, 12, 16]))
    assert found.exhaustion_in_s is None
    assert "not known yet" in found.because


def test_low_usage_is_noise() -> None:
    assert (
        forecast(
            window(kv_usage_ratio=[0.01, 0.05, 0.1], running_requests=[1, 2, 3])
        ).exhaustion_in_s
        is None
    )
