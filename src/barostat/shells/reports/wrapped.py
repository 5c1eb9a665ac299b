"""Long reasons within the width of the terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable

# Below this width a reason stands under its limit, not beside it.
_BESIDE_FROM = 100
_BESIDE_INDENT = 47
_WIDEST, _NARROWEST = 140, 40
_NOT_A_TERMINAL = 120


def terminal_width() -> int:
    """Columns of the terminal (or of $COLUMNS), within what reads well; 120 where the output is no
    terminal.
    """
    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size((_NOT_A_TERMINAL, 24)).columns))


def reasons(rows: Iterable[tuple[str, str, str]], width: int) -> list[str]:
    """A line for each name and value; its reason beside it, or below it where there is no room,
    wrapped.
    """
    lines = []
    for name, value, reason in rows:
        head = f"  {name:<30} {value:>12}"
        if width >= _BESIDE_FROM:
            lines += textwrap.wrap(
                reason,
                width,
                initial_indent=f"{head}  ",
                subsequent_indent=" " * _BESIDE_INDENT,
                break_on_hyphens=False,
            ) or [head]
        else:
            lines += [
                head,
                *textwrap.wrap(
                    reason,
                    width,
                    initial_indent="      ",
                    subsequent_indent="      ",
                    break_on_hyphens=False,
                ),
            ]
    return lines


def paragraph(text: str, lead: str, width: int) -> list[str]:
    """The text behind its lead (`  - `), wrapped under itself."""
    return textwrap.wrap(
        text, width, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False
    ) or [lead.rstrip()]
