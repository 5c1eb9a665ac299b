"""The demo's page: the whole story over time, both diagnoses, and what was tried in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dev.demo_gateway import SecondAct
from dev.demo_numbers import SLO_ITL_S, SLO_TTFT_S, Numbers, preemption_rate, quantile
from dev.demo_traffic import Answer, Refusal, Sample, Shape

from barostat.core.diagnosis import ReplicaReport
from barostat.core.window import Window
from barostat.shells.reports.diagnosis.document import replica_blocks
from barostat.shells.reports.sheet.blocks import (
    Block,
    Charts,
    Document,
    Footer,
    Heading,
    Paragraph,
    Section,
    Table,
    Verdict,
    code,
)
from barostat.shells.reports.sheet.charts import Chart, Line, Span
from barostat.shells.reports.sheet.forms import as_html
from barostat.shells.reports.sheet.scale import duration, percent, plain

TRIED = (
    ("good answers/s", "goodRequestsPerSecond", plain), ("preemptions/s", "preemptionsPerSecond", plain),
    ("KV usage", "kvUsageRatio", percent), ("running", "running", plain), ("waiting", "waiting", plain),
    ("TTFT p99", "ttftP99Seconds", duration), ("ITL p99", "itlP99Seconds", duration),
)  # fmt: skip
_STEP_S = 1.0


@dataclass(frozen=True, slots=True)
class Look:
    """One diagnosis, what it rests on, the numbers of the same seconds, and when it was there."""

    report: ReplicaReport
    window: Window
    numbers: Numbers
    at_s: float


@dataclass(frozen=True, slots=True)
class Story:
    """All that happened. `marks`: what happened when. `tried`: what-if's candidates, the first is
    today. `lost`: what the change cost.

    `second`: the same burst, with the gateway in front.
    """

    shape: Shape
    burst_factor: float
    burst_s: float
    answers: Sequence[Answer]
    samples: Sequence[Sample]
    marks: tuple[tuple[float, str], ...]
    before: Look
    after: Look
    tried: Sequence[dict[str, Any]]
    chosen: str
    lost: str
    second: SecondAct


def page(story: Story) -> str:
    """The page."""
    shape = story.shape
    happened = (
        (
            f"The load is {shape.rate_per_s:g} requests/s, and {story.burst_factor:g} times that "
            f"for {story.burst_s:g} s. After the burst the engine does not recover: it "
            "spends its capacity recomputing preempted requests. "
        ),
        code(story.chosen),
        f" ended it. {story.lost}",
    )
    good, then = story.before.numbers.good_per_s, story.after.numbers.good_per_s
    gain = f"{plain(good)} good answers a second before the change, {plain(then)} after it"
    heads = ("", "before", "after")
    tried = (
        "Today's configuration and what the diagnosis proposes, on the traffic that was seen "
        "(barostat what-if --from URL):"
    )
    blocks: list[Block] = [
        Heading("demo", "A vLLM collapses under a burst, and comes back"),
        Verdict("none", "RECOVERED", story.chosen, gain),
        Paragraph(happened, "lead"),
        _timeline(story.answers, story.samples, story.marks),
        Section(
            "Before and after the change",
            [_compared(heads, story.before.numbers, story.after.numbers)],
        ),
        _diagnosed("First diagnosis", story.before),
        Section("What was tried", [Paragraph(tried), _tried(story)], apart=True),
        _diagnosed("Second diagnosis", story.after),
        Section("The same burst behind the gateway", _behind(story), apart=True),
        Footer(),
    ]
    return as_html(Document("barostat demo", blocks))


def _diagnosed(title: str, look: Look) -> Section:
    return Section(title, replica_blocks(look.report, look.window), apart=True)


def _behind(story: Story) -> list[Block]:
    act = story.second
    words = (
        (
            f"The engine as it was at the beginning, the same {story.burst_factor:g} times as "
            f"many requests for {story.burst_s:g} seconds, and "
        ),
        code("barostat gateway"),
        " in front with ",
        code(act.limits),
        (
            ". It takes in what the KV pool will hold: "
            f"{act.preempted_words()}, and {act.refused_words()}. {act.ttft_words()}."
        ),
    )
    heads = ("from the burst on", "without", "behind the gateway")
    return [
        Paragraph(words),
        _compared(heads, act.without, act.behind),
        _timeline(act.answers, act.samples, act.marks, act.refusals),
    ]


def _timeline(
    answers: Sequence[Answer],
    samples: Sequence[Sample],
    marks: tuple[tuple[float, str], ...],
    refusals: Sequence[Refusal] = (),
) -> Charts:
    until_s = max((sample.at_s for sample in samples), default=1.0)
    seconds = [index * _STEP_S for index in range(int(until_s / _STEP_S))]
    stalls: dict[int, list[float]] = {}
    waits: dict[int, list[float]] = {}
    good: dict[int, int] = {}
    asked: dict[int, int] = {}
    refused: dict[int, int] = {}
    for refusal in refusals:
        refused[int(refusal.at_s)] = refused.get(int(refusal.at_s), 0) + 1
    for one in answers:
        asked[int(one.sent_s)] = asked.get(int(one.sent_s), 0) + 1
        for at_s, gap in one.stalls:
            stalls.setdefault(int(at_s), []).append(gap)
        if one.first_s is not None:
            waits.setdefault(int(one.first_s), []).append(one.first_s - one.sent_s)
        if one.done_s is not None and one.is_good(SLO_TTFT_S, SLO_ITL_S):
            good[int(one.done_s)] = good.get(int(one.done_s), 0) + 1
    rates = [
        (samples[index].at_s, preemption_rate(samples[index - 2 : index + 1]) or 0.0)
        for index in range(2, len(samples))
    ]
    drawn = (
        Chart("KV usage", (Line([(one.at_s, one.kv_usage_ratio) for one in samples]),), percent, 1.0, ((1.0, "full"),)),
        Chart(
            "Requests",
            (
                Line([(one.at_s, one.running) for one in samples], "running"),
                Line([(one.at_s, one.waiting) for one in samples], "waiting", "second"),
            ),
            plain,
            counts=True,
        ),
        Chart("Preemptions per second", (Line(rates),), plain),
        Chart(
            "Requests per second",
            (
                Line([(at, good.get(int(at), 0)) for at in seconds], "good answers"),
                Line([(at, asked.get(int(at), 0)) for at in seconds], "asked", "pale"),
                *([Line([(at, refused.get(int(at), 0)) for at in seconds], "told to come later", "second")] if refusals else []),
            ),
            plain,
            counts=True,
        ),
        Chart("Time to first token", (Line(_p99(waits, seconds)),), duration, note="p99 of each second, as clients see it"),
        Chart("Time between tokens", (Line(_p99(stalls, seconds)),), duration, note="p99 of each second, as clients see it"),
    )  # fmt: skip
    return Charts(drawn, Span(0.0, until_s, marks))


def _p99(by_second: dict[int, list[float]], seconds: Sequence[float]) -> list[tuple[float, float]]:
    return [
        (at, found)
        for at in seconds
        if (found := quantile(by_second.get(int(at), []), 0.99)) is not None
    ]


def _compared(heads: tuple[str, str, str], before: Numbers, after: Numbers) -> Table:
    def row(name: str, one: float | None, other: float | None, words: Any) -> tuple[str, ...]:
        return name, *("-" if value is None else words(value) for value in (one, other))

    return Table([
        heads,
        row("asked per second", before.offered_per_s, after.offered_per_s, plain),
        row("good answers per second", before.good_per_s, after.good_per_s, plain),
        row("preemptions per second", before.preemptions_per_s, after.preemptions_per_s, plain),
        row("KV usage", before.kv_usage_ratio, after.kv_usage_ratio, percent),
        row("running", before.running, after.running, plain),
        row("waiting", before.waiting, after.waiting, plain),
        row("TTFT p99, accepted requests", before.accepted_ttft_p99_s, after.accepted_ttft_p99_s, duration),
        row("TTFT p99, from the first try", before.ttft_p99_s, after.ttft_p99_s, duration),
        row("ITL p99", before.itl_p99_s, after.itl_p99_s, duration),
    ])  # fmt: skip


def _tried(story: Story) -> Table:
    rows = [("", *(title for title, _, _ in TRIED))]
    rows += [
        (
            one["name"],
            *(words(found["mean"]) if (found := one[key]) else "-" for _, key, words in TRIED),
        )
        for one in story.tried
    ]
    return Table(
        rows, chosen=[place for place, one in enumerate(story.tried) if one["name"] == story.chosen]
    )
