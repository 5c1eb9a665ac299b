"""A document as Markdown: for a ticket or a chat. Text from outside is escaped; drawings are left
out, and what a page folds away is left to the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from barostat.shells.reports.sheet import blocks
from barostat.shells.reports.sheet.drawing import Entry
from barostat.shells.reports.sheet.safe_text import code, in_markdown


def markdown(document: blocks.Document) -> str:
    """Return the document; paragraphs have a blank line between them."""
    return "\n\n".join(_paragraphs(document.blocks, 2)) + "\n"


def _paragraphs(shown: Sequence[blocks.Block], level: int) -> Iterator[str]:
    """Each part that stands by itself. `level`: of the next heading."""
    for block in shown:
        match block:
            case blocks.Heading():
                yield f"# {in_markdown(block.title)}"
                if block.about:
                    yield in_markdown(block.about)
            case blocks.Verdict():
                yield _verdict(block)
            case blocks.Tiles():
                yield from _list([_tile(*entry) for entry in block.entries])
            case blocks.Facts():
                yield from _list(
                    [f"**{in_markdown(n)}:** {in_markdown(t)}" for n, t in block.entries]
                )
            case blocks.Table():
                yield _table(block)
            case blocks.Paragraph():
                yield _text(block.text)
            case blocks.Items():
                yield from _list([_item(item) for item in block.items], numbered=block.numbered)
            case blocks.Listing():
                if block.items:
                    yield _heading(block.title, level)
                    listed = [_item(item) for item in block.items]
                    yield from _list(listed, numbered=block.numbered)
            case blocks.Section():
                if below := list(_paragraphs(block.blocks, level + 1)):
                    yield _heading(block.title, level)
                    yield from below
            case blocks.Beside():
                yield from _paragraphs([*block.left, *block.right], level)
            case blocks.Only():
                if "markdown" in block.forms:
                    yield from _paragraphs(block.blocks, level)
            case _:
                pass


def _heading(title: str, level: int) -> str:
    return f"{'#' * level} {in_markdown(title)}"


def _verdict(block: blocks.Verdict) -> str:
    aside = f" ({in_markdown(block.aside)})" if block.aside else ""
    sentence = f" {in_markdown(block.sentence)}" if block.sentence else ""
    return f"**{in_markdown(block.word)}: {in_markdown(block.headline)}**{aside}{'.' if sentence else ''}{sentence}"


def _tile(name: str, value: str, note: str) -> str:
    beside = f" ({in_markdown(note)})" if note else ""
    return f"{in_markdown(name)}: {in_markdown(value)}{beside}"


def _table(block: blocks.Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |"

    head, *rows = block.rows
    marks = ["---" if place in block.words else "---:" for place in range(len(head))]
    shown = [
        [
            code(cell) if place in block.mono and isinstance(cell, str) else _text(cell)
            for place, cell in enumerate(row)
        ]
        for row in rows
    ]
    return "\n".join(map(line, [[_text(cell) for cell in head], marks, *shown]))


def _list(shown: Sequence[str], *, numbered: bool = False) -> Iterator[str]:
    if shown:
        yield "\n".join(
            f"{f'{number}.' if numbered else '-'} {item}" for number, item in enumerate(shown, 1)
        )


def _item(item: blocks.Text | blocks.Item) -> str:
    if not isinstance(item, blocks.Item):
        return _text(item)
    below = "\n".join(_paragraphs(item.below, 6))
    return "\n  ".join([_text(item.text), *below.splitlines()])


def _text(text: blocks.Text) -> str:
    """A line break becomes a sentence's colon: what follows says more of what stands before."""
    if isinstance(text, str):
        return in_markdown(text)
    shown = ""
    for part in text:
        match part:
            case blocks.BREAK:
                shown += ": "
            case str():
                shown += _spaced(part)
            case blocks.Part():
                shown += _part(part)
            case blocks.Badge():
                shown += in_markdown(part.word)
            case Entry():
                shown += f"{in_markdown(part.name)} "
    return shown.strip()


def _spaced(text: str) -> str:
    """Escaped, with the blanks at its ends, which part it from what stands beside."""
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return f"{before}{in_markdown(text)}{after if text.strip() else ''}"


def _part(part: blocks.Part) -> str:
    match part.look:
        case "bold":
            return f"**{in_markdown(part.text)}**"
        case "code":
            return code(part.text)
        case "tag":
            return f"({in_markdown(part.text)})"
        case _:
            return in_markdown(part.text)
