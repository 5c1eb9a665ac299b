"""Digits are a number; what only looks like digits, or is too long to be meant, is none."""

from __future__ import annotations

import pytest

from barostat.core.whole_number import whole_number


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("9" * 18, 10**18 - 1)])
def test_digits_are_a_number(text: str, number: int) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize(
    "text", ["", " 1", "-1", "+1", "1_0", "1.0", "²", "٣", "9" * 19, "9" * 5000]
)
def test_anything_else_is_none(text: str) -> None:
    assert whole_number(text) is None
