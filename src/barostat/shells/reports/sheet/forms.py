"""A document in the form that was asked for. A renderer is loaded when it is needed: templates cost
what a short command takes in all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barostat.shells.reports.sheet.blocks import Document

if TYPE_CHECKING:
    from rich.console import Console

_ANY_WIDTH = 100_000


def shown(document: Document, output: str) -> str:
    """Return the document as `-o` asks for it: `html`, `md`, `wide` (for a terminal, no line is
    wrapped), else for a terminal.
    """
    match output:
        case "html":
            return as_html(document)
        case "md":
            return as_markdown(document)
        case "wide":
            return as_text(document, _ANY_WIDTH)
        case _:
            return as_text(document)


def as_html(document: Document) -> str:
    """Return the document as one page that needs nothing else."""
    from barostat.shells.reports.sheet.html.page import page

    return page(document)


def as_markdown(document: Document) -> str:
    """Return the document for a ticket or a chat."""
    from barostat.shells.reports.sheet.markdown import markdown

    return markdown(document)


def as_text(document: Document, width: int | None = None) -> str:
    """Return the document for a terminal, without colours. `width`: columns; else the terminal's."""
    from barostat.shells.reports.sheet.terminal import text
    from barostat.shells.reports.wrapped import terminal_width

    return text(document, width or terminal_width())


def print_document(document: Document, console: Console) -> None:
    """Print the document as wide as the console is, in its colours."""
    from barostat.shells.reports.sheet.terminal import shown

    console.print(shown(document, console.width))
