"""Numbers as people read them."""

from __future__ import annotations

import pytest

from barostat.core.units import figure, seconds


@pytest.mark.parametrize(
    ("value", "digits", "told"),
    [(2020.0, 3, "2,020"), (370_078.4, 3, "370,078"), (1.4711, 3, "1.47"), (150.0, 2, "150"), (0.0000412, 2, "0.000041"),],
)  # fmt: skip
def test_a_figure_is_never_in_powers_of_ten(value: float, digits: int, told: str) -> None:
    assert figure(value, digits) == told


def test_a_latency_below_a_second_is_told_in_milliseconds() -> None:
    assert [seconds(value) for value in (0.0, 0.0557, 0.999, 1.0, 12.34)] == [
        "0 s",
        "55.7 ms",
        "999 ms",
        "1 s",
        "12.3 s",
    ]
