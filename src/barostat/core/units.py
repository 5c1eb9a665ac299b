"""Sizes and numbers, as people write them."""

from __future__ import annotations

import math
from collections.abc import Iterator

MIB = 2**20
GIB = 2**30


def ceil_div(amount: int, size: int) -> int:
    """How many pieces of `size` it takes to hold the amount."""
    return -(-amount // size)


def gib(size_bytes: float) -> str:
    """The size in GiB with two decimals."""
    return f"{size_bytes / GIB:.2f} GiB"


def named_numbers(text: str) -> Iterator[tuple[str, str, float]]:
    """Each part of `base=0.01,kv=1e-8`: as written, its name, its number (NaN where it is none)."""
    for part in filter(None, text.split(",")):
        name, _, number = part.partition("=")
        try:
            yield part, name, float(number)
        except ValueError:
            yield part, name, math.nan


def thousands(number: float) -> str:
    """The number rounded to a whole one, with commas."""
    return f"{round(number):,}"


def many(count: int, noun: str) -> str:
    """`1 request`, `2,000 requests`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def figure(value: float, digits: int = 3) -> str:
    """Format the number with that many significant digits and thousands separators, without
    exponent: 2,020 and 0.00004.
    """
    short = f"{value:,.{digits}g}"
    if "e" not in short:
        return short
    return (
        f"{value:,.0f}"
        if abs(value) >= 1
        else f"{float(short.replace(',', '')):.9f}".rstrip("0").rstrip(".")
    )


def seconds(value_s: float) -> str:
    """A latency as a person reads it: `55.7 ms`, `1.5 s`."""
    return f"{figure(value_s * 1000)} ms" if 0 < value_s < 1 else f"{figure(value_s)} s"
