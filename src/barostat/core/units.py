"""Sizes in bytes, as people and vLLM write them."""

from __future__ import annotations

import re

KIB = 2**10
MIB = 2**20
GIB = 2**30

_SIZE = re.compile(
    r"^\s*(\d+(?:\.\d+)?)\s*(k|m|g|t|K|M|G|T|Ki|Mi|Gi|Ti|KiB|MiB|GiB|TiB|KB|MB|GB|TB)?\s*$"
)
_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": KIB, "M": MIB, "G": GIB, "T": 2**40}


def parse_size_bytes(text: str) -> int | None:
    """The bytes that a human-readable size names, or None where it names none.

    As vLLM reads its own flags: a lower-case letter is decimal (25g = 25e9), an upper-case letter
    is binary (25G = 25 GiB); as Kubernetes and people write it: Gi and GiB are binary, GB is
    decimal.
    Source: vLLM 0.32.0, human_readable_int.
    """
    found = _SIZE.match(text)
    if found is None:
        return None
    number, suffix = float(found[1]), found[2] or ""
    if suffix.endswith("B") and "i" not in suffix:
        return int(number * _DECIMAL[suffix[0].lower()])
    if suffix.rstrip("iB") in _BINARY:
        return int(number * _BINARY[suffix[0]])
    return int(number * _DECIMAL[suffix])


def ceil_div(amount: int, size: int) -> int:
    """How many pieces of `size` it takes to hold the amount."""
    return -(-amount // size)


def gib(size_bytes: float) -> str:
    """The size in GiB with two decimals."""
    return f"{size_bytes / GIB:.2f} GiB"


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
