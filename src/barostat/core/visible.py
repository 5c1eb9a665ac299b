"""Text from outside as a person may see it: no character of it drives a terminal, turns the reading
round, or hides.
"""

from __future__ import annotations

import re

_ACTS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]|\r(?!\n)"
)
"""Controls (C0, C1), what turns the direction, what has no width, line separators, halves of a
pair, no-characters.
Source: Unicode 15, general categories Cc, Cf, Cs, Zl, Zp and Default_Ignorable_Code_Point.
"""
_BREAKS = re.compile(r"(?<!\s)\s*[\r\n]\s*")


def visible(text: str) -> str:
    """The text with each acting character written out: `\\x1b` below 0x20, else as JSON has it
    (`\\u202e`); tabs and line ends stay.
    """
    return _ACTS.sub(_written_out, text)


def one_line(text: str) -> str:
    """Return the text on one line, so that outside text cannot start a new line."""
    return _BREAKS.sub(" ", visible(text))


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return f"\\x{code:02x}"
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD800 + ((code - 0x10000) >> 10):04x}\\u{0xDC00 + ((code - 0x10000) & 0x3FF):04x}"


def cut(text: str, length: int) -> str:
    """The text on one line, cut between words to `length`."""
    line = " ".join(text.split())
    if len(line) <= length:
        return line
    kept = line[: length - 1]
    between_words = kept.rfind(" ", length * 2 // 3)
    return (kept[:between_words] if between_words > 0 else kept).rstrip(" ,;:") + "…"
