"""How instants, spans and figures of the past are written in both reports, and what their sections
are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from barostat.core.diagnosis import NextStep, Trials
from barostat.judge.advice.change_text import as_written
from barostat.shells.reports.diagnosis.forecasts import effect_words, trials_words
from barostat.shells.reports.sheet.blocks import (
    BREAK,
    Block,
    Charts,
    Items,
    Paragraph,
    Section,
    Table,
    Text,
    code,
    tag,
)
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


def span(start: float, end: float) -> str:
    """The time between two instants in this machine's zone; the date of the end only where it is
    another one.
    """
    if when(start)[:10] != when(end)[:10]:
        return f"{when(start)} to {when(end)}"
    date, zone = when(start)[:10], when(end).rpartition(" ")[2]
    return f"{date} {clock(start)} to {clock(end)} {zone}"


def lasting(span_s: float) -> str:
    """A stretch of time: 45 s, 12 min, 3.5 h, 12 d."""
    for size, unit in ((172_800.0, "d"), (7_200.0, "h"), (120.0, "min")):
        if span_s >= size:
            return f"{span_s / {'d': 86_400.0, 'h': 3_600.0, 'min': 60.0}[unit]:.3g} {unit}"
    return f"{span_s:.0f} s"


def measured(value: float | None, unit: str = "") -> str:
    """A figure with the form of its unit; a dash where it was not measured."""
    return "-" if value is None else _FORMS.get(unit, plain)(value)


def part(
    title: str,
    lead: str = "",
    *,
    charts: Charts | None = None,
    rows: Sequence[Sequence[str]] = (),
    words: Sequence[int] = (0,),
    listed: Sequence[str] = (),
    steps: Sequence[NextStep] = (),
    trials: Trials | None = None,
) -> Section:
    """Return a section: a sentence, drawings, a table (first row: its heading), a list, steps and
    what they were tried on.
    """
    blocks: list[Block] = [Paragraph(lead)] if lead else []
    if charts is not None:
        blocks.append(charts)
    if len(rows) > 1:
        blocks.append(Table(rows, words))
    blocks += [Items(listed), Items([_step(one, trials) for one in steps], numbered=True)]
    blocks += [Paragraph(line, "soft") for line in trials_words(steps, trials)]
    return Section(title, blocks, apart=True)


def _cost(step: NextStep) -> str:
    return "restarts the engine" if step.restarts else "live"


def _step(step: NextStep, trials: Trials | None) -> Text:
    written = str(as_written(step.change))
    told = "; ".join(filter(None, (f"{step.lever}: {step.because}", effect_words(step, trials))))
    return (code(written), " ", tag(_cost(step)), BREAK, told)
