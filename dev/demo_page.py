"""The demo's page: the whole story over time, both diagnoses, and what was tried in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from dev.demo_numbers import SLO_ITL_S, SLO_TTFT_S, Numbers, preemption_rate, quantile
from dev.demo_traffic import Answer, Sample, Shape

from barostat.core.diagnosis import ReplicaReport
from barostat.core.window import Window
from barostat.shells import charts
from barostat.shells.charts import Chart, Line, Span, duration, percent, plain
from barostat.shells.report_html import REPORT_STYLE, replica_html

_STYLE = "section{border-top:1px solid var(--rule);padding-top:.6rem}tr.chosen td{font-weight:700}.lead{max-width:46rem}"
_TRIED = (
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
    """All that happened. `marks`: what happened when. `tried`: what-if's candidates, the first is today. `lost`: what the change cost."""

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


def page(story: Story) -> str:
    """The page."""
    happened = (
        f"{story.shape.rate_per_s:g} requests a second came, for {story.burst_s:g} seconds {story.burst_factor:g} times as many. The rate "
        "went back and the engine did not: preempted requests are computed again, and what that costs is what the load would have needed. "
        f"<code>{escape(story.chosen)}</code> ended it. {escape(story.lost)}"
    )
    body = (
        f"<h1>A vLLM collapses under a burst, and comes back</h1><p class='lead'>{happened}</p>{_timeline(story)}"
        f"<h2>Before and after the change</h2>{_before_after(story.before.numbers, story.after.numbers)}"
        f"<section><h1>First diagnosis</h1>{replica_html(story.before.report, story.before.window)}</section>"
        "<section><h1>What was tried</h1><p>Today's configuration and what the diagnosis proposes, on the traffic that was seen "
        f"(barostat what-if --from URL):</p>{_tried(story)}</section>"
        f"<section><h1>Second diagnosis</h1>{replica_html(story.after.report, story.after.window)}</section>"
    )
    return charts.page("barostat demo", body, REPORT_STYLE + _STYLE)


def _timeline(story: Story) -> str:
    samples = story.samples
    until_s = max((sample.at_s for sample in samples), default=1.0)
    seconds = [index * _STEP_S for index in range(int(until_s / _STEP_S))]
    stalls: dict[int, list[float]] = {}
    waits: dict[int, list[float]] = {}
    good: dict[int, int] = {}
    asked: dict[int, int] = {}
    for one in story.answers:
        asked[int(one.sent_s)] = asked.get(int(one.sent_s), 0) + 1
        for at_s, gap in one.stalls:
            stalls.setdefault(int(at_s), []).append(gap)
        if one.first_s is not None:
            waits.setdefault(int(one.first_s), []).append(one.first_s - one.sent_s)
        if one.done_s is not None and one.is_good(SLO_TTFT_S, SLO_ITL_S):
            good[int(one.done_s)] = good.get(int(one.done_s), 0) + 1
    rates = [(samples[index].at_s, preemption_rate(samples[index - 2 : index + 1]) or 0.0) for index in range(2, len(samples))]
    drawn = (
        Chart("KV usage", (Line([(one.at_s, one.kv_usage_ratio) for one in samples]),), percent, 1.0, ((1.0, "full"),)),
        Chart(
            "Requests",
            (
                Line([(one.at_s, one.running) for one in samples], "running"),
                Line([(one.at_s, one.waiting) for one in samples], "waiting", "second"),
            ),
            plain,
        ),
        Chart("Preemptions per second", (Line(rates),), plain),
        Chart(
            "Requests per second",
            (
                Line([(at, good.get(int(at), 0)) for at in seconds], "good answers"),
                Line([(at, asked.get(int(at), 0)) for at in seconds], "asked", "pale"),
            ),
            plain,
        ),
        Chart("Time to first token", (Line(_p99(waits, seconds)),), duration, note="p99 of each second, as clients see it"),
        Chart("Time between tokens", (Line(_p99(stalls, seconds)),), duration, note="p99 of each second, as clients see it"),
    )  # fmt: skip
    return charts.charts(drawn, Span(0.0, until_s, story.marks))


def _p99(by_second: dict[int, list[float]], seconds: Sequence[float]) -> list[tuple[float, float]]:
    return [(at, found) for at in seconds if (found := quantile(by_second.get(int(at), []), 0.99)) is not None]


def _before_after(before: Numbers, after: Numbers) -> str:
    def row(name: str, one: float | None, other: float | None, words: Any) -> str:
        cells = "".join(f"<td>{'-' if value is None else words(value)}</td>" for value in (one, other))
        return f"<tr><td>{name}</td>{cells}</tr>"

    rows = (
        row("asked per second", before.offered_per_s, after.offered_per_s, plain)
        + row("good answers per second", before.good_per_s, after.good_per_s, plain)
        + row("preemptions per second", before.preemptions_per_s, after.preemptions_per_s, plain)
        + row("KV usage", before.kv_usage_ratio, after.kv_usage_ratio, percent)
        + row("running", before.running, after.running, plain)
        + row("waiting", before.waiting, after.waiting, plain)
        + row("TTFT p99", before.ttft_p99_s, after.ttft_p99_s, duration)
        + row("ITL p99", before.itl_p99_s, after.itl_p99_s, duration)
    )
    return f"<table><tr><th></th><th>before</th><th>after</th></tr>{rows}</table>"


def _tried(story: Story) -> str:
    head = "".join(f"<th>{title}</th>" for title, _, _ in _TRIED)
    rows = ""
    for one in story.tried:
        cells = "".join(f"<td>{words(found['mean']) if (found := one[key]) else '-'}</td>" for _, key, words in _TRIED)
        kind = " class='chosen'" if one["name"] == story.chosen else ""
        rows += f"<tr{kind}><td>{escape(one['name'])}</td>{cells}</tr>"
    return f"<table><tr><th></th>{head}</tr>{rows}</table>"
