"""A document for a terminal: as wide as it is, in colours where it has them. Drawings are left out,
and what a page folds away is left to the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from typing import Literal

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from barostat.core.diagnosis import Severity
from barostat.core.visible import one_line
from barostat.shells.reports.sheet import blocks
from barostat.shells.reports.sheet.drawing import Entry

STYLES: Mapping[Severity, str] = {
    "none": "bold green",
    "info": "bold cyan",
    "warning": "bold yellow",
    "critical": "bold white on red",
}
_LOOKS = {"bold": "bold", "code": "bold", "soft": "dim", "tag": "dim"}
_INDENT = 2
_GAP = 2
"""Blanks between two columns."""
_MARGIN = 13
"""Columns of the longest title beside: `Not ruled out`."""
_LEAST_SENTENCE = 24
"""A column that is wrapped has at least that many characters."""


def text(document: blocks.Document, width: int) -> str:
    """Return the document without colours, as wide as that."""
    written = StringIO()
    console = Console(
        file=written, width=width, color_system=None, markup=False, emoji=False, highlight=False
    )
    console.print(shown(document, width))
    return "".join(f"{line.rstrip()}\n" for line in written.getvalue().splitlines())


def shown(document: blocks.Document, width: int) -> Group:
    """Return the document for a console that is as wide as that, a blank line between what stands
    apart.
    """
    lines: list[RenderableType] = []
    margin = _MARGIN if document.titles == "beside" else 0
    for apart, line in _lines(document.blocks, width, margin):
        if apart and lines:
            lines.append(Text())
        lines.append(line)
    return Group(*lines)


def _lines(
    parts: Sequence[blocks.Block], width: int, margin: int = 0
) -> Iterator[tuple[bool, RenderableType]]:
    """Each line or grid, and whether a blank line stands before it. `margin`: columns for the
    titles of lists and sections; 0: above them.
    """
    after_text = False
    for block in parts:
        match block:
            case blocks.Facts() if margin and block.entries:
                for number, (name, value) in enumerate(block.entries):
                    yield number == 0, _in_margin(name, Text(one_line(value)), margin)
            case blocks.Listing() if margin and block.items:
                body = _list(block) if block.numbered else _lined(block)
                yield True, _in_margin(block.title, body, margin)
            case blocks.Section() if margin and not block.apart:
                below = list(_lines(block.blocks, width - margin - 1))
                if below:
                    body = Group(*(line for _, line in below))
                    yield True, _in_margin(block.title, body, margin)
            case blocks.Heading():
                yield True, Text(one_line(block.title), "bold")
                if block.about:
                    yield False, Text(one_line(block.about), "dim")
            case blocks.Verdict():
                yield not margin, _headline(block)
                if block.sentence:
                    yield False, Text(one_line(block.sentence))
            case blocks.Tiles() if block.entries:
                rows = [(n, v, f"({note})" if note else "") for n, v, note in block.entries]
                yield True, _grid(rows, wrapped=2)
            case blocks.Facts() if block.entries:
                yield True, _grid(block.entries, wrapped=1)
            case blocks.Table():
                yield True, _table(block, width)
            case blocks.Paragraph():
                yield not after_text, _text(block.text, "dim" if block.look == "soft" else "")
            case blocks.Items() if block.items:
                yield True, _list(block)
            case blocks.Listing() if block.items:
                yield True, Text(f"{one_line(block.title)}:")
                yield False, _indented(_list(block))
            case blocks.Section():
                inset = 0 if margin else _INDENT
                if below := list(_lines(block.blocks, width - inset, margin)):
                    yield (
                        True,
                        Text(one_line(block.title), "dim")
                        if margin
                        else Text(f"{one_line(block.title)}:"),
                    )
                    for number, (apart, line) in enumerate(below):
                        yield apart and number > 0, _indented(line, inset)
            case blocks.Beside():
                yield from _lines([*block.left, *block.right], width, margin)
            case blocks.Only() if "terminal" in block.forms:
                yield from _lines(block.blocks, width, margin)
            case _:
                continue
        after_text = isinstance(block, blocks.Paragraph)


def _headline(block: blocks.Verdict) -> Text:
    line = Text.assemble(
        (f" {one_line(block.word)} ", STYLES[block.severity]),
        (f" {one_line(block.headline)}", "bold"),
    )
    return line.append(f"   {one_line(block.aside)}", "dim") if block.aside else line


def _indented(line: RenderableType, by: int = _INDENT) -> RenderableType:
    return Padding(line, (0, 0, 0, by)) if by else line


def _in_margin(title: str, body: RenderableType, margin: int) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=margin, style="dim")
    grid.add_column(ratio=1)
    grid.add_row(one_line(title), body)
    return grid


def _lined(block: blocks.Listing) -> Group:
    """The items without a sign before them, each in a line of its own."""
    return Group(*(_text(one.text if isinstance(one, blocks.Item) else one) for one in block.items))


def _list(block: blocks.Items | blocks.Listing) -> Table:
    """The items behind a dash or a number, each wrapped under itself."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    for number, item in enumerate(block.items, 1):
        shown_text = item.text if isinstance(item, blocks.Item) else item
        grid.add_row(f"{number}." if block.numbered else "-", _text(shown_text))
    return grid


def _grid(rows: Sequence[Sequence[str]], wrapped: int) -> Table:
    grid = Table.grid(padding=(0, _GAP, 0, 0))
    for place in range(len(rows[0])):
        grid.add_column(no_wrap=place != wrapped, overflow="fold")
    for row in rows:
        grid.add_row(*(Text(one_line(cell)) for cell in row))
    return grid


def _table(block: blocks.Table, width: int) -> RenderableType:
    """The table with as many columns as there is room for; else with sentences in its last column
    wrapped, with each name above its numbers, or with each row as a paragraph.
    """
    rows = [[_text(cell) for cell in row] for row in block.rows]
    places = list(range(len(rows[0])))
    if block.shorter and _width(rows, places) > width:
        chosen = block.chosen if len(block.shorter) == len(block.rows) else ()
        return _table(replace(block, rows=block.shorter, shorter=(), chosen=chosen), width)
    for gone in (None, *block.first_to_go):
        places = [place for place in places if place != gone]
        if _width(rows, places) <= width:
            return _columns(rows, places, block)
    others = _width(rows, places[:-1]) + _GAP
    if places[-1] in block.words and others + _LEAST_SENTENCE <= width:
        return _columns(rows, places, block, sentences=True)
    if not set(block.words) - {0} and _width(rows, places[1:]) + _INDENT <= width:
        return _below_names(rows, places, block)
    return _as_paragraphs(rows, places)


def _width(rows: Sequence[Sequence[Text]], places: Sequence[int]) -> int:
    widths = [max(cell_len(row[place].plain) for row in rows) for place in places]
    return sum(widths) + _GAP * (len(widths) - 1)


def _columns(
    rows: Sequence[Sequence[Text]],
    places: Sequence[int],
    block: blocks.Table,
    *,
    sentences: bool = False,
) -> Table:
    """The rows, none of their cells wrapped but (`sentences`) those of the last column."""
    table = Table.grid(padding=(0, _GAP, 0, 0))
    widths = [max(cell_len(row[place].plain) for row in rows) for place in places]
    for place, least in zip(places, widths, strict=True):
        justify: Literal["left", "right"] = "left" if place in block.words else "right"
        if sentences and place == places[-1]:
            table.add_column(justify=justify, overflow="fold")
        else:
            table.add_column(no_wrap=True, justify=justify, min_width=least)
    for number, row in enumerate(rows):
        chosen = number - 1 in block.chosen
        style = "dim" if number == 0 else "bold" if chosen else ""
        table.add_row(*(row[place] for place in places), style=style)
    return table


def _below_names(
    rows: Sequence[Sequence[Text]], places: Sequence[int], block: blocks.Table
) -> Group:
    numbers = _columns(rows, places[1:], block)
    lines: list[RenderableType] = []
    for number, row in enumerate(rows):
        if number:
            lines.append(row[0])
        one = Table.grid(padding=(0, _GAP, 0, 0))
        for column in numbers.columns:
            one.add_column(no_wrap=True, justify=column.justify, min_width=column.min_width)
        one.add_row(*(row[place] for place in places[1:]))
        lines.append(_indented(one))
    return Group(*lines)


def _as_paragraphs(rows: Sequence[Sequence[Text]], places: Sequence[int]) -> Table:
    """Each row behind its first cell; cells with their heading, without those that say nothing."""
    head, *body = rows
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    for row in body:
        cells = [
            Text.assemble(f"{head[place].plain}: " if head[place].plain else "", row[place])
            for place in places[1:]
            if row[place].plain not in ("", "-")
        ]
        grid.add_row("-", Text.assemble(row[0], ": ", Text("; ").join(cells)))
    return grid


def _text(text: blocks.Text, style: str = "") -> Text:
    line = Text(style=style)
    for part in (text,) if isinstance(text, str) else text:
        match part:
            case blocks.BREAK:
                line.append("\n")
            case str():
                line.append(one_line(part))
            case blocks.Part():
                words = one_line(part.text)
                line.append(f" {words}" if part.look == "tag" else words, _LOOKS[part.look])
            case blocks.Badge():
                line.append(one_line(part.word), STYLES[part.severity])
            case Entry():
                line.append(f"{one_line(part.name)} ")
    return line
