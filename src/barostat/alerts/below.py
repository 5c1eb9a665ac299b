"""A regular expression for whole numbers below a bound: labels are text, and PromQL cannot compare
them.
"""

from __future__ import annotations


def below(bound: int) -> str:
    """Matches the decimal whole numbers from 0 to bound - 1, and nothing else (it is anchored by
    Prometheus).

    Errors: ValueError for a bound below 1.
    """
    if bound < 1:
        raise ValueError(f"nothing is below {bound}")
    digits = str(bound - 1)
    parts = [f"\\d{{1,{len(digits) - 1}}}"] if len(digits) > 1 else []
    for place, digit in enumerate(digits):
        lowest = 1 if place == 0 and len(digits) > 1 else 0
        if int(digit) > lowest:
            rest = len(digits) - place - 1
            tail = f"\\d{{{rest}}}" if rest else ""
            parts.append(f"{digits[:place]}[{lowest}-{int(digit) - 1}]{tail}")
    return "|".join([*parts, digits])
