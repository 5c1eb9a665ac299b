"""The forecast: given where demand has a reason to outgrow the pool, silent in a healthy climb."""

from __future__ import annotations

from barostat.catalog.signals import signal
from barostat.core.signal import Signal
from barostat.core.window import Window
from barostat.judge.forecast import HORIZON_S, forecast

END = 1_000.0


def series(name: str, values: list[float], step: float = 5.0) -> Signal:
    start = END - step * (len(values) - 1)
    made = signal(name, [(start + step * i, value) for i, value in enumerate(values)], "test")
    assert made is not None
    return made


def window(**values: list[float]) -> Window:
    return Window("r", END, {name: series(name, points) for name, points in values.items()})


def test_a_growing_crowd_is_forecast_with_its_time() -> None:
    found = forecast(window(kv_usage_ratio=[0.2, 0.3, 0.4, 0.5, 0.6], running_requests=[4, 6, 8, 10, 12]))
    assert found.exhaustion_in_s is not None
    assert 15 <= found.exhaustion_in_s <= 25
    assert "running requests grow" in found.because


def test_a_climb_to_a_plateau_that_fits_is_not() -> None:
    found = forecast(
        window(
            kv_usage_ratio=[0.2, 0.4, 0.6, 0.75, 0.85],
            running_requests=[20, 20, 20, 20, 20],
            kv_pool_tokens=[20_000],
            prompt_tokens_mean=[600, 600],
            output_tokens_mean=[400, 400],
        )
    )
    assert found.exhaustion_in_s is None
    assert "fit" in found.because


def test_the_same_climb_with_requests_that_outgrow_the_pool_is() -> None:
    found = forecast(
        window(
            kv_usage_ratio=[0.2, 0.35, 0.5, 0.65, 0.8],
            running_requests=[20, 20, 20, 20, 20],
            kv_pool_tokens=[10_000],
            prompt_tokens_mean=[300, 300],
            output_tokens_mean=[900, 900],
        )
    )
    assert found.exhaustion_in_s is not None
    assert found.exhaustion_in_s < 15


def test_steady_and_falling_and_noisy_usage_are_not() -> None:
    for usage in ([0.9, 0.9, 0.9, 0.9], [0.9, 0.8, 0.7, 0.6], [0.6, 0.9, 0.5, 0.92, 0.55, 0.9]):
        found = forecast(window(kv_usage_ratio=usage, running_requests=[10.0 + i for i in range(len(usage))]))
        assert found.exhaustion_in_s is None


def test_full_is_not_a_forecast() -> None:
    found = forecast(window(kv_usage_ratio=[0.7, 0.9, 0.99], running_requests=[5, 10, 15]))
    assert found.exhaustion_in_s is None
    assert "already" in found.because


def test_a_trend_of_two_points_or_none_is_not_trusted() -> None:
    assert forecast(window(kv_usage_ratio=[0.3, 0.6], running_requests=[5, 10])).exhaustion_in_s is None
    assert forecast(window(kv_usage_ratio=[0.6])).exhaustion_in_s is None


def test_slow_growth_is_beyond_the_horizon() -> None:
    found = forecast(window(kv_usage_ratio=[0.300, 0.301, 0.302, 0.303], running_requests=[5, 6, 7, 8]))
    assert found.exhaustion_in_s is None
    assert f"{HORIZON_S:.0f} s" in found.because


def test_low_usage_is_noise() -> None:
    assert forecast(window(kv_usage_ratio=[0.01, 0.05, 0.1], running_requests=[1, 2, 3])).exhaustion_in_s is None
