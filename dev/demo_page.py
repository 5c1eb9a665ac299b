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
from barostat.shells.reports.diagnosis.page import replica_html
from barostat.shells.reports.sheet import charts
from barostat.shells.reports.sheet import page as sheet
from barostat.shells.reports.sheet.charts import Chart, Line, Span
from barostat.shells.reports.sheet.safe_text import escape
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
    happened = (
        f"The load is {story.shape.rate_per_s:g} requests/s, and {story.burst_factor:g} times that "
        f"for {story.burst_s:g} s. After the burst the engine does not recover: it "
        "spends its capacity recomputing preempted requests. "
        f"<code>{escape(story.chosen)}</code> ended it. {escape(story.lost)}"
    )
    good, then = story.before.numbers.good_per_s, story.after.numbers.good_per_s
    gain = f"{plain(good)} good answers a second before the change, {plain(then)} after it"
    body = (
        f"{sheet.heading('demo', 'A vLLM collapses under a burst, and comes back')}"
        f"{sheet.verdict('none', 'RECOVERED', story.chosen, gain)}"
        f"<p class='lead'>{happened}</p>{_timeline(story.answers, story.samples, story.marks)}"
        "<h2>Before and after the "
        f"change</h2>{_compared(('', 'before', 'after'), story.before.numbers, story.after.numbers)}"
        "<section><h2>First "
        f"diagnosis</h2>{replica_html(story.before.report, story.before.window)}</section>"
        "<section><h2>What was tried</h2><p>Today's configuration and what the diagnosis "
        "proposes, on the traffic that was seen "
        f"(barostat what-if --from URL):</p>{_tried(story)}</section>"
        "<section><h2>Second "
        f"diagnosis</h2>{replica_html(story.after.report, story.after.window)}</section>"
        "<section><h2>The same burst behind the "
        f"gateway</h2>{_behind(story)}</section>{sheet.footer()}"
    )
    return sheet.page("barostat demo", body)


def _behind(story: Story) -> str:
    act = story.second
    words = (
        f"The engine as it was at the beginning, the same {story.burst_factor:g} times as "
        f"many requests for {story.burst_s:g} seconds, and "
        f"<code>barostat gateway</code> in front with <code>{escape(act.limits)}</code>. "
        "It takes in what the KV pool will hold: "
        f"{act.preempted_words()}, and {escape(act.refused_words())}. "
        f"{escape(act.ttft_words())}."
    )
    table = _compared(
        ("from the burst on", "without", "behind the gateway"), act.without, act.behind
    )
    return f"<p>{words}</p>{table}{_timeline(act.answers, act.samples, act.marks, act.refusals)}"


def _timeline(
    answers: Sequence[Answer],
    samples: Sequence[Sample],
    marks: tuple[tuple[float, str], ...],
    refusals: Sequence[Refusal] = (),
) -> str:
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
    return charts.charts(drawn, Span(0.0, until_s, marks))


def _p99(by_second: dict[int, list[float]], seconds: Sequence[float]) -> list[tuple[float, float]]:
    return [
        (at, found)
        for at in seconds
        if (found := quantile(by_second.get(int(at), []), 0.99)) is not None
    ]


def _compared(heads: tuple[str, str, str], before: Numbers, after: Numbers) -> str:
    def row(name: str, one: float | None, other: float | None, words: Any) -> tuple[str, ...]:
        return name, *("-" if value is None else words(value) for value in (one, other))

    return sheet.table([
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


def _tried(story: Story) -> str:
    rows = [("", *(title for title, _, _ in TRIED))]
    rows += [
        (
            one["name"],
            *(words(found["mean"]) if (found := one[key]) else "-" for _, key, words in TRIED),
        )
        for one in story.tried
    ]
    return sheet.table(
        rows, chosen=[place for place, one in enumerate(story.tried) if one["name"] == story.chosen]
    )
