"""A whole number as strangers write it: Python's own reading takes other scripts' digits, and fails
on 4,301 of them.
"""

from __future__ import annotations

_MOST_DIGITS = 18
"""What 64 bits hold."""


def whole_number(text: str) -> int | None:
    """The number that these decimal digits are, and nothing else; None for anything else, and for
    one beyond 18 digits.
    """
    return (
        int(text) if 0 < len(text) <= _MOST_DIGITS and text.isascii() and text.isdigit() else None
    )
