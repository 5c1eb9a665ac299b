"""A regular expression that knows less from more."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.alerts.below import below


@given(st.integers(1, 10**7), st.integers(0, 2 * 10**7))
def test_it_matches_what_is_below_and_nothing_else(bound: int, number: int) -> None:
    assert bool(re.fullmatch(below(bound), str(number))) == (number < bound)


@pytest.mark.parametrize("bound", [1, 9, 10, 11, 99, 100, 101, 999, 1000, 1001, 3705])
def test_the_edges(bound: int) -> None:
    said = below(bound)
    assert re.fullmatch(said, str(bound - 1))
    assert not re.fullmatch(said, str(bound))
    assert not re.fullmatch(said, "")


def test_nothing_is_below_nothing() -> None:
    with pytest.raises(ValueError, match="nothing is below 0"):
        below(0)
