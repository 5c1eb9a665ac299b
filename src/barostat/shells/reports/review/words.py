"""How instants, spans and figures of the past are written in both reports, and a document's parts
in both of its forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from barostat.core.diagnosis import NextStep, Severity
from barostat.judge.advice.change_text import as_written
from barostat.shells.reports.sheet import forms
from barostat.shells.reports.sheet.blocks import (
    BREAK,
    Block,
    Charts,
    Document,
    Facts,
    Footer,
    Heading,
    Items,
    Paragraph,
    Section,
    Table,
    Text,
    Tiles,
    Verdict,
    code,
    tag,
)
from barostat.shells.reports.sheet.charts import Chart, Span
from barostat.shells.reports.sheet.scale import duration, percent, plain

_FORMS = {"ratio": percent, "s": duration}


def when(at: float) -> str:
    """The instant in this machine's zone, which is named."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M %Z")


def clock(at: float) -> str:
    """The time of day in this machine's zone; seconds only where they are not 0."""
    return (
        datetime.fromtimestamp(at)
        .astimezone()
        .strftime("%H:%M" if round(at) % 60 == 0 else "%H:%M:%S")
    )


def lasting(span_s: float) -> str:
    """A stretch of time: 45 s, 12 min, 3.5 h, 12 d."""
    for size, unit in ((172_800.0, "d"), (7_200.0, "h"), (120.0, "min")):
        if span_s >= size:
            return f"{span_s / {'d': 86_400.0, 'h': 3_600.0, 'min': 60.0}[unit]:.3g} {unit}"
    return f"{span_s:.0f} s"


def told(value: float | None, unit: str = "") -> str:
    """A figure with the form of its unit; a dash where it was not measured."""
    return "-" if value is None else _FORMS.get(unit, plain)(value)


@dataclass(frozen=True, slots=True)
class Part:
    """A heading with what stands below it, in this order: a sentence, drawings, a table (first row:
    its heading), a list, steps.

    `lead_of_drawn`: the sentence says how to read the drawings, and goes where they go.
    """

    title: str
    lead: str = ""
    lead_of_drawn: bool = False
    drawn: Sequence[Chart] = ()
    span: Span | None = None
    rows: Sequence[Sequence[str]] = ()
    words: Sequence[int] = (0,)
    listed: Sequence[str] = ()
    steps: Sequence[NextStep] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """A report, in the order in which it is read."""

    kind: str
    title: str
    about: str
    severity: Severity
    badge: str
    headline: str
    sentence: str
    tiles: Sequence[tuple[str, str, str]] = ()
    known: Sequence[tuple[str, str]] = ()
    parts: Sequence[Part] = field(default_factory=tuple)
    again: str = ""


def as_html(told: Told) -> str:
    """The report as one page that needs nothing else."""
    blocks: list[Block] = [
        Heading(told.kind, told.title, told.about),
        Verdict(told.severity, told.badge, told.headline, told.sentence),
        Tiles(told.tiles),
        Facts(told.known),
        *(_section(part) for part in told.parts),
        Footer(told.again),
    ]
    return forms.as_html(Document(f"Barostat: {told.title}", blocks))


def _section(part: Part) -> Section:
    blocks: list[Block] = [Paragraph(part.lead)] if part.lead else []
    if part.span is not None:
        blocks.append(Charts(part.drawn, part.span))
    if len(part.rows) > 1:
        blocks.append(Table(part.rows, part.words))
    blocks += [Items(part.listed), Items([_step(one) for one in part.steps], numbered=True)]
    return Section(part.title, blocks, apart=True)


def _cost(step: NextStep) -> str:
    return "restarts the engine" if step.restarts else "live"


def _step(step: NextStep) -> Text:
    written = str(as_written(step.change))
    return (code(written), " ", tag(_cost(step)), BREAK, str(step.because))


def as_markdown(told: Told) -> str:
    """The report as Markdown, which reads as text too. Drawings are left out."""
    lines = [
        f"# {told.title}",
        "",
        told.about,
        "",
        f"**{told.badge}: {told.headline}** {told.sentence}".rstrip(),
        "",
    ]
    lines += [
        f"- {name}: {value}{f' ({note})' if note else ''}" for name, value, note in told.tiles
    ]
    lines += [f"- {name}: {text}" for name, text in told.known]
    for part in told.parts:
        body = [part.lead, ""] if part.lead and not (part.drawn and part.lead_of_drawn) else []
        if len(part.rows) > 1:
            body += [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in part.rows]
            body.insert(len(body) - len(part.rows) + 1, "|---" * len(part.rows[0]) + "|")
            body += [""] if part.listed else []
        body += [f"- {text}" for text in part.listed]
        body += [
            f"{place}. `{as_written(one.change)}` ({one.lever}, {_cost(one)}): {one.because}"
            for place, one in enumerate(part.steps, 1)
        ]
        while body and not body[-1]:
            body.pop()
        if body:
            lines += ["", f"## {part.title}", "", *body]
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
