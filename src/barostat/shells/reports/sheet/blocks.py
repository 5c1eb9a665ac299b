"""What a report is made of, in the order in which a reader needs it: what it is about, the verdict,
figures, drawings, tables, lists.

A block holds values and text, never markup: three renderers show the same document, `html/`,
`markdown.py` and `terminal.py`. Text within a block is a string, or parts of which some stand out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from barostat.core.diagnosis import Severity
from barostat.shells.reports.sheet.charts import Chart, Span
from barostat.shells.reports.sheet.drawing import Entry, Figure
from barostat.shells.reports.sheet.ranges import Ranges

Form = Literal["html", "markdown", "terminal"]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of text that stands out; `tag`: a word beside, as a label."""

    text: str
    look: Literal["bold", "code", "soft", "tag"]


@dataclass(frozen=True, slots=True)
class Badge:
    """A word on the colour of how bad it is."""

    word: str
    severity: Severity


BREAK = "\n"
"""As a part of text: what follows begins a line."""
Inline = str | Part | Badge | Entry
Text = str | tuple[Inline, ...]


def bold(text: str) -> Part:
    """Return text that stands out."""
    return Part(text, "bold")


def code(text: str) -> Part:
    """Return text to be typed as it stands."""
    return Part(text, "code")


def soft(text: str) -> Part:
    """Return text that steps back."""
    return Part(text, "soft")


def tag(text: str) -> Part:
    """Return a word beside, as a label."""
    return Part(text, "tag")


def named(name: str, text: str) -> Text:
    """Return a name that stands out and what is said of it."""
    return (bold(name), f": {text}")


@dataclass(frozen=True, slots=True)
class Heading:
    """Title of the report, its subject, and a line on time or place."""

    kind: str
    title: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer, before anything else. `word`: what the badge says; `aside`: how sure."""

    severity: Severity
    word: str
    headline: str
    sentence: str = ""
    aside: str = ""


@dataclass(frozen=True, slots=True)
class Tiles:
    """The numbers that matter as tiles: name, value, and a word beside (or empty)."""

    entries: Sequence[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class Facts:
    """Name and sentence, one under the other."""

    entries: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Table:
    """The first row is the heading. `words`: columns of words, the others are numbers; `chosen`:
    rows to stand out, counted without the heading; `mono`: columns of code.

    For a narrow terminal, `shorter`: the same rows with less in each cell, or turned; `first_to_go`:
    columns to leave out, in this order.
    """

    rows: Sequence[Sequence[Text]]
    words: Sequence[int] = (0,)
    chosen: Sequence[int] = ()
    mono: Sequence[int] = ()
    first_to_go: Sequence[int] = ()
    shorter: Sequence[Sequence[Text]] = ()


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text by itself. `soft`: what may be passed over; `lead`: what the report begins with."""

    text: Text
    look: Literal["", "soft", "lead"] = ""


@dataclass(frozen=True, slots=True)
class Item:
    """One of a list, with blocks below it."""

    text: Text
    below: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Items:
    """The bare list; `numbered`: their order counts."""

    items: Sequence[Text | Item]
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """A small heading and a list; nothing if there is nothing to list."""

    title: str
    items: Sequence[Text | Item]
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it; nothing if that shows nothing. `apart`: behind a rule;
    `small`: within another section.
    """

    title: str
    blocks: Sequence[Block]
    apart: bool = False
    small: bool = False


@dataclass(frozen=True, slots=True)
class Beside:
    """Two columns where there is room, else one below the other."""

    left: Sequence[Block]
    right: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Folded:
    """Collapsed content, expanded on click and in print."""

    summary: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Charts:
    """Drawings over time, side by side; one without any point is left out."""

    charts: Sequence[Chart]
    span: Span


@dataclass(frozen=True, slots=True)
class Candidates:
    """Drawings of candidates below each other, side by side; one without a row is left out."""

    ranges: Sequence[Ranges]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Figures that are drawn already; `frame`: how they stand on a page."""

    figures: Sequence[Figure]
    frame: Literal["", "charts", "phases"] = ""


@dataclass(frozen=True, slots=True)
class Only:
    """Blocks that these forms show, and the others leave out."""

    forms: Sequence[Form]
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Footer:
    """The command that prints the same report as data."""

    text: str = ""


Block = (
    Heading
    | Verdict
    | Tiles
    | Facts
    | Table
    | Paragraph
    | Items
    | Listing
    | Section
    | Beside
    | Folded
    | Charts
    | Candidates
    | Drawn
    | Only
    | Footer
)


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report. `title`: of the window or the file; `titles`: where a terminal shows those of
    lists and sections.
    """

    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)
    titles: Literal["above", "beside"] = "above"

    @property
    def verdict(self) -> Verdict | None:
        """The answer, if the report has one."""
        return next((block for block in self.blocks if isinstance(block, Verdict)), None)
