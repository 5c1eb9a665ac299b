"""Rows in columns for a terminal or a file: measured as a terminal shows them, whole, and without
padding at the ends of lines.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from io import StringIO, TextIOBase
from itertools import zip_longest
from typing import TextIO

_WIDER_THAN_ANY = 100_000
_PADDING = re.compile(r"[ \t]+$", re.MULTILINE)


def aligned(
    rows: Iterable[Sequence[str]], *, right: Container[int] = (), lead: str = ""
) -> list[str]:
    """The rows as lines, two blanks between columns; those of `right` end where their longest ends.
    No cell is cut or wrapped.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    columns = list(zip_longest(*rows, fillvalue=""))
    if not columns:
        return []
    table = Table.grid(padding=(0, 2))
    for place in range(len(columns)):
        table.add_column(no_wrap=True, justify="right" if place in right else "left")
    for row in zip(*columns, strict=True):
        table.add_row(*(Text(cell) for cell in row))
    written = StringIO()
    Console(
        file=written, width=_WIDER_THAN_ANY, color_system=None, markup=False, emoji=False
    ).print(table)
    return [(lead + line).rstrip() for line in written.getvalue().splitlines()]


class Unpadded(TextIOBase):
    """A file that gets what is written without padding at the ends of lines, as long as it is no
    terminal.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """The text goes on; whole lines are expected, as rich writes them."""
        self._file.write(text if self.isatty() else _PADDING.sub("", text))
        return len(text)

    def flush(self) -> None:
        """What was written has left."""
        self._file.flush()

    def isatty(self) -> bool:
        """True for a terminal."""
        return self._file.isatty()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of the file: what it cannot hold, rich writes in plainer signs."""
        return self._file.encoding
