"""The post-mortem of a range that nobody kept a record of: what was seen, cause by cause, when it
began and ended, before and after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from barostat.judge.advice.change_text import as_written
from barostat.judge.history.steps import FIGURES, Step
from barostat.judge.history.story import Episode, Story
from barostat.shells.reports.api_version import API_VERSION
from barostat.shells.reports.review.words import clock, lasting, measured, part, span, when
from barostat.shells.reports.sheet.blocks import (
    Block,
    Charts,
    Document,
    Facts,
    Footer,
    Heading,
    Only,
    Paragraph,
    Section,
    Tiles,
    Verdict,
)
from barostat.shells.reports.sheet.charts import Band, Chart, Line, Span
from barostat.shells.reports.sheet.scale import duration, percent, plain

_TIMELINE: tuple[str, ...] = ("from", "to", "for", "replicas", "cause", "what was seen")
_KINDS = {"critical": "is-back", "warning": "is-change", "info": "is-calm", "none": "is-promote"}


@dataclass(frozen=True, slots=True)
class Past:
    """The reported period. `problems`: irregularities of the samples, as sentences. A report on
    logs alone has no duration: start and end are one instant, 0 where none is known.
    """

    target: str
    start: float
    end: float
    steps: Sequence[Step]
    story: Story
    problems: Sequence[str] = ()

    @property
    def lasts(self) -> bool:
        """True if it has a duration."""
        return self.end > self.start


def past_document(past: Past) -> Document:
    """Return the report."""
    story = past.story
    about, title = past.target, "What happened"
    if past.lasts:
        about += f" · {span(past.start, past.end)}"
        title += f" from {clock(past.start)} to {clock(past.end)}"
    elif past.end:
        about += f" · {when(past.end)}"
    episodes = story.episodes if past.lasts else ()
    timeline = [_TIMELINE, *map(_row, episodes)]
    shaded = f"Time goes on from {when(past.start)}; what is shaded was in trouble."
    drawn = Charts(_drawn(past.steps), _span(past))
    figures: list[Block] = [Paragraph(shaded), drawn] if past.steps else [drawn]
    blocks: list[Block] = [
        Heading("post-mortem", title, about),
        _verdict(past),
        Tiles(_tiles(story) if past.lasts else []),
        Facts(_known(past)),
        part("Timeline", rows=timeline, words=(4, 5)),
        Only(("html",), [Section("Figures", figures, apart=True)]),
        part("Before, during, after", rows=_compared(story)),
        part("What would have helped", steps=story.next, trials=story.trials),
        part("Notes", listed=past.problems),
        Footer("the same as data: barostat report -o json"),
    ]
    return Document(f"Barostat: {title}", blocks)


def _verdict(past: Past) -> Verdict:
    story, main = past.story, past.story.main
    if main is not None:
        return Verdict(main.severity, main.severity.upper(), main.cause, _summary(main))
    if past.steps and story.untold_s >= 0.5 * (past.end - past.start):
        unclear = "too little was measured to say what it was"
        return Verdict("info", "CANNOT TELL", unclear, story.episodes[0].summary)
    quiet = "No replica was diagnosed with more than being busy or idle."
    return Verdict("none", "OK", "nothing was in trouble", quiet)


def _tiles(story: Story) -> list[tuple[str, str, str]]:
    if story.main is None:
        return []
    harmful = sum(one.end - one.start for one in story.episodes if one.harmful)
    during = story.during
    return [
        (
            "In trouble for",
            lasting(harmful),
            f"{story.main.replicas} of {story.main.of} replicas at once",
        ),
        ("Preemptions/s", measured(during.get("preemptionsPerSecond")), "mean while it lasted"),
        ("Waiting", measured(during.get("waiting")), "mean while it lasted"),
        (
            "TTFT p99",
            measured(during.get("ttftP99Seconds"), "s"),
            f"before: {measured(story.before.get('ttftP99Seconds'), 's')}",
        ),
    ]


def _known(past: Past) -> list[tuple[str, str]]:
    story = past.story
    if story.main is None or not past.lasts:
        return []
    began = (
        f"between {clock(story.onset[0])} and {clock(story.onset[1])}"
        if story.onset
        else f"before {clock(past.start)}, or at it"
    )
    over = (
        f"between {clock(story.ended[0])} and {clock(story.ended[1])}"
        if story.ended
        else f"not before {clock(past.end)}"
    )
    trigger = (
        f"{story.trigger.kind}: {story.trigger.detail}"
        if story.trigger
        else "; ".join(story.changed)
    )
    found = [
        ("Began", began),
        ("Ended", over),
        ("Trigger", trigger or "cannot tell: nothing that was measured changed before it"),
    ]
    if story.trigger and story.changed:
        found.append(("Also changed", "; ".join(story.changed)))
    if story.untold_s:
        found.append(
            ("Not told", f"for {lasting(story.untold_s)} within the range too little was measured")
        )
    return found


def _row(one: Episode) -> tuple[str, ...]:
    share = f"{one.replicas} of {one.of}"
    return (
        clock(one.start),
        clock(one.end),
        lasting(one.end - one.start),
        share,
        one.cause,
        _summary(one),
    )


def _summary(one: Episode) -> str:
    """What was seen, with its time where that is not the whole episode."""
    if one.judged == (one.start, one.end):
        return one.summary
    return f"{one.summary} (From {clock(one.judged[0])} to {clock(one.judged[1])}.)"


def _compared(story: Story) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("", "before", "during", "after")]
    for figure in FIGURES:
        values = [side.get(figure.name) for side in (story.before, story.during, story.after)]
        if any(value is not None for value in values):
            rows.append((figure.title, *(measured(value, figure.unit) for value in values)))
    return rows if story.main is not None else []


def _span(past: Past) -> Span:
    bands = tuple(
        Band(one.start, one.end, one.cause, _KINDS[one.severity])
        for one in past.story.episodes
        if one.harmful
    )
    return Span(past.start, past.end, zero_s=past.start, bands=bands)


def _drawn(steps: Sequence[Step]) -> list[Chart]:
    def line(name: str, title: str = "", kind: str = "") -> Line:
        return Line(
            [(step.end, step.figures[name]) for step in steps if name in step.figures], title, kind
        )

    return [
        Chart(
            "KV usage",
            (line("kvUsageRatio", "mean"), line("kvUsageHighRatio", "highest", "second")),
            percent,
            1.0,
        ),
        Chart(
            "Requests",
            (line("running", "running"), line("waiting", "waiting", "second")),
            plain,
            counts=True,
        ),
        Chart("Preemptions per second", (line("preemptionsPerSecond"),), plain),
        Chart("Requests finished per second", (line("requestsPerSecond"),), plain),
        Chart(
            "Tokens per request",
            (line("promptTokensMean", "prompt"), line("outputTokensMean", "output", "second")),
            plain,
        ),
        Chart("Time to first token, p99", (line("ttftP99Seconds"),), duration),
    ]


def past_json(past: Past) -> dict[str, Any]:
    """`kind: PastReport` as plain data, keys in reading order."""
    story = past.story
    return {
        "apiVersion": API_VERSION,
        "kind": "PastReport",
        "target": past.target,
        "from": round(past.start, 3),
        "to": round(past.end, 3),
        "main": None if story.main is None else _episode(story.main),
        "onset": _stretch(story.onset),
        "ended": _stretch(story.ended),
        "trigger": None
        if story.trigger is None
        else {"kind": story.trigger.kind, "detail": story.trigger.detail},
        "changed": list(story.changed),
        "timeline": [_episode(one) for one in story.episodes],
        "before": _rounded(story.before),
        "during": _rounded(story.during),
        "after": _rounded(story.after),
        "steps": [
            {
                "from": round(step.start, 3),
                "to": round(step.end, 3),
                "cause": step.fleet.cause,
                "severity": step.fleet.severity,
                "replicas": {one.name: one.diagnosis.cause for one in step.replicas},
                "figures": _rounded(step.figures),
            }
            for step in past.steps
        ],
        "next": [
            {
                "lever": one.lever,
                "change": str(as_written(one.change)),
                "because": str(one.because),
                "restarts": one.restarts,
            }
            for one in story.next
        ],
        "problems": list(past.problems),
    }


def _episode(one: Episode) -> dict[str, Any]:
    return {
        "from": round(one.start, 3),
        "to": round(one.end, 3),
        "cause": one.cause,
        "severity": one.severity,
        "confidence": round(one.confidence, 2),
        "replicas": one.replicas,
        "ofReplicas": one.of,
        "summary": one.summary,
        "summaryFrom": round(one.judged[0], 3),
        "summaryTo": round(one.judged[1], 3),
    }


def _stretch(found: tuple[float, float] | None) -> dict[str, float] | None:
    return None if found is None else {"from": round(found[0], 3), "to": round(found[1], 3)}


def _rounded(figures: Any) -> dict[str, float]:
    return {name: round(value, 6) for name, value in figures.items()}
