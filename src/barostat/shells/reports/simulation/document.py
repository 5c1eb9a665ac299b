"""A simulated run, and several beside each other, as documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from barostat.core.units import figure, many
from barostat.judge.experiments.service_level import stated
from barostat.judge.experiments.side_by_side import Compared, changes, differences_text
from barostat.shells.reports.sheet.blocks import (
    Block,
    Candidates,
    Document,
    Footer,
    Heading,
    Listing,
    Only,
    Paragraph,
    Section,
    Table,
    Tiles,
    Verdict,
    named,
)
from barostat.shells.reports.sheet.ranges import Candidate, Ranges
from barostat.shells.reports.sheet.scale import duration, percent, plain
from barostat.shells.reports.simulation.closing import closing
from barostat.shells.reports.simulation.data import came_in, format_seconds
from barostat.shells.reports.simulation.over_time import Run, one_over_time, runs_over_time
from barostat.shells.reports.simulation.side_by_side import Buckets, rows_of
from barostat.shells.reports.simulation.slo_verdict import (
    Outlooks,
    compared_outlooks,
    in_all,
    outlook_words,
    verdict_card,
)
from barostat.shells.reports.simulation.verdicts import run_verdict, runs_verdict
from barostat.twin.outcome import Outcome
from barostat.twin.settings import Settings, would_not_start
from barostat.twin.summary import Slo, Summary

_BARS = " ▁▂▃▄▅▆▇█"
_DRAWN = (
    ("good_per_s", "Good requests per second", plain), ("output_tokens_per_s", "Output tokens per second", plain),
    ("ttft_p99_s", "TTFT p99", duration), ("itl_p99_s", "ITL p99", duration), ("kv_usage_ratio", "KV usage", percent),
    ("preempted_per_s", "Preemptions per second", plain),
)  # fmt: skip


def run_document(
    title: str,
    settings: Settings,
    outcome: Outcome,
    summary: Summary,
    slo: Slo | None = None,
    *,
    engine: str = "",
    ends: Sequence[Summary] = (),
    usable_blocks: int | None = None,
    parts: Sequence[Block] = (),
    notes: Sequence[str] = (),
) -> Document:
    """One run. `slo`: without one nothing is called good; `engine`: the configuration that ran, in
    a line; `ends`: the same run with the fastest and the slowest steps that are possible;
    `usable_blocks`: of all engines; `parts`: of several engines, each apart.
    """
    asked = slo or Slo()
    rows: list[tuple[str, ...]] = [("", "mean", "p50", "p90", "p95", "p99", "max")]
    for name, spread in (
        ("TTFT", summary.ttft),
        ("ITL", summary.itl),
        ("end to end", summary.e2e),
        ("queue", summary.queue),
    ):
        values = (spread.mean, spread.p50, spread.p90, spread.p95, spread.p99, spread.highest)
        rows.append((name, *(format_seconds(value) for value in values)))
    blocks = settings.usable_blocks if usable_blocks is None else usable_blocks
    bar = _bar([one.usage_mean_ratio for one in summary.bins])
    refused = Counter(f"{one.status} {one.reason}" for one in outcome.rejections)
    rejected = [f"{count:,} with {reason}" for reason, count in sorted(refused.items())]
    clamped = f"{many(outcome.clamped_outputs, 'output')} cut to max_model_len"
    return Document(
        f"Barostat: {title}",
        (
            Heading("simulate", title, _about(summary, engine)),
            run_verdict(settings, outcome, summary, asked),
            Tiles(_tiles(outcome, summary, blocks, promised=stated(asked))),
            Only(("terminal",), [Paragraph(f"KV usage over time  {bar}")] if bar else []),
            Only(
                ("html",), [Section("Over time", one_over_time(settings, outcome, summary, asked))]
            ),
            Section("Latencies", [Table(rows), *_off(ends, promised=stated(asked))]),
            *parts,
            Listing("Rejected", rejected),
            *([Paragraph(f"Clamped: {clamped}.")] if outcome.clamped_outputs else []),
            Only(("terminal",), _last_words(settings, outcome, summary, asked)),
            Listing("Notes", notes),
            Footer("the same as data: barostat simulate -o json"),
        ),
    )


def _last_words(settings: Settings, outcome: Outcome, summary: Summary, slo: Slo) -> list[Block]:
    """The verdict in sentences, where a terminal is read from below."""
    stuck = [f"STUCK: {outcome.stuck}"] if outcome.stuck else []
    said = closing(settings, outcome, summary, slo).splitlines()
    return [Paragraph(line) for line in (*stuck, *said)]


def _tiles(
    outcome: Outcome, summary: Summary, usable_blocks: int, *, promised: bool
) -> list[tuple[str, str, str]]:
    of_all = figure(summary.requests_per_s, 4)
    a_step = outcome.request_steps / outcome.steps if outcome.steps else 0
    return [
        ("Good requests", f"{figure(summary.good_per_s, 4)}/s", f"of {of_all} that finished")
        if promised
        else ("Requests", f"{of_all}/s", "finished"),
        ("Output tokens", f"{summary.output_tokens_per_s:,.5g}/s", ""),
        (
            "TTFT p99",
            format_seconds(summary.ttft.p99),
            f"median {format_seconds(summary.ttft.p50)}",
        ),
        (
            "ITL p99",
            format_seconds(summary.itl.p99),
            f"median {format_seconds(summary.itl.p50)}",
        ),
        (
            "KV usage",
            percent(summary.usage_mean_ratio),
            f"{percent(summary.usage_max_ratio)} at most, of {many(usable_blocks, 'block')}",
        ),
        (
            "Preemptions",
            f"{outcome.preemptions:,}",
            f"{many(outcome.recomputed_tokens, 'token')} recomputed",
        ),
        (
            "Queue time",
            format_seconds(summary.queue.mean),
            f"on average, {format_seconds(summary.queue.highest)} at most",
        ),
        ("Prefix cache", f"{summary.hit_ratio:.1%}", "of prompt tokens cached"),
        ("Steps", f"{outcome.steps:,}", f"with {a_step:.1f} requests on average"),
    ]


def _bar(ratios: Sequence[float]) -> str:
    """Return a sign for each stretch, as high as the pool was used."""
    return "".join(_BARS[min(8, max(0, round(ratio * 8)))] for ratio in ratios)


def _off(ends: Sequence[Summary], *, promised: bool) -> list[Block]:
    if not ends:
        return []
    first, last = ends[0], ends[-1]
    return [
        Paragraph(
            f"If steps are off as they may be: TTFT p99 {format_seconds(first.ttft.p99)} to "
            f"{format_seconds(last.ttft.p99)}, ITL p99 {format_seconds(first.itl.p99)} to "
            f"{format_seconds(last.itl.p99)}, {figure(last.good_per_s, 4)} to "
            f"{figure(first.good_per_s, 4)}{' good' if promised else ''} requests/s.",
            "soft",
        )
    ]


def runs_document(
    title: str,
    shown: Sequence[Run],
    rows: Sequence[Sequence[str]],
    slo: Slo | None = None,
    other_load: Collection[str] = (),
    off: Sequence[Sequence[str]] = (),
    outlooks: Outlooks | None = None,
    notes: Sequence[str] = (),
    engine: str = "",
) -> Document:
    """Candidates on one and the same workload; the first is today.

    `rows`: the table, its heading first; `other_load`: the names of those that more or less comes
    to, which is no merit of theirs; `off`: what each may come to where steps are not as reckoned,
    likewise, or nothing.
    """
    asked = slo or Slo()
    card, best = runs_verdict(shown, asked, other_load, outlooks or {})
    latencies = [
        Ranges(
            name,
            [
                Candidate(run[0], value, value, value, run is best)
                for run in shown
                if (value := of(run[3])) is not None
            ],
            words,
        )
        for name, words, of in (
            (
                "Good requests per second" if stated(asked) else "Requests per second",
                plain,
                _good_per_s,
            ),
            ("TTFT p99", duration, _ttft_p99_s),
            ("ITL p99", duration, _itl_p99_s),
        )
    ]
    chosen = () if best is None else (shown.index(best),)
    blocks = (
        Heading("what-if", title, _about(shown[0][3], engine)),
        card,
        Candidates(latencies),
        Only(("html",), [Section("Over time", runs_over_time(shown, asked))]),
        Section(
            "Side by side", [Table(rows, chosen=chosen, shorter=list(zip(*rows, strict=True)))]
        ),
        Section("How far off it may be", [Table(off)] if off else []),
        Listing("Stuck, or would not start", _unfit(shown)),
        Listing("Service level", outlook_words(outlooks or {}, asked)),
        Listing("Notes", notes),
        Footer("the same as data: barostat what-if -o json"),
    )
    return Document(f"Barostat: {title}", blocks)


def _unfit(shown: Sequence[Run]) -> list[str]:
    stuck = [f"{name} is STUCK: {outcome.stuck}" for name, _, outcome, _ in shown if outcome.stuck]
    refused = [
        f"{name} WOULD NOT START: {why}"
        for name, settings, _, _ in shown
        if (why := would_not_start(settings))
    ]
    return stuck + refused


def compared_document(
    title: str,
    shown: Sequence[Compared],
    slo: Slo,
    measured: Mapping[str, float],
    notes: Sequence[str],
    within: Buckets | None = None,
    other_load: Collection[str] = (),
    engine: str = "",
) -> Document:
    """Candidates on the traffic of a running engine, each with what it may be; the first is today."""
    promised = stated(slo)
    said = [(one, differences_text(changes(shown[0], one), promised=promised)) for one in shown[1:]]
    stuck = next((one for one in shown if one.stuck), None)
    better = [
        one
        for one in shown[1:]
        if one.name not in other_load
        and any(
            change.significant and change.better and change.field == "good_per_s"
            for change in changes(shown[0], one)
        )
    ]
    best = max(better, key=lambda one: _mean(one, "good_per_s"), default=None)
    outlooks = compared_outlooks(shown, slo)
    if stuck is not None:
        card = Verdict("critical", "STUCK", stuck.name, stuck.stuck)
    elif outlooks:
        of_these = [one for one in shown[1:] or shown if outlooks[one.name] == in_all(outlooks)]
        shown_first = max(of_these, key=lambda one: _mean(one, "good_per_s"))
        sentence = next((text for one, text in said if one is shown_first), "")
        card = verdict_card(
            outlooks, slo, shown_first.name, f"{shown_first.name}: {sentence}" if sentence else ""
        )
    elif best is not None:
        card = Verdict("none", "BETTER", best.name, next(text for one, text in said if one is best))
    else:
        card = Verdict(
            "info",
            "NOTHING BETTER",
            f"no candidate brings more {'good ' if promised else ''}requests beyond chance",
            "",
        )
    listed = [] if len(said) == 1 and said[0][1] in card.sentence else said
    limits = {"ttft_p99_s": slo.ttft_s, "itl_p99_s": slo.itl_s}
    drawn = []
    for field, name, words in (
        _DRAWN if promised else (("good_per_s", "Requests per second", plain), *_DRAWN[1:])
    ):
        rows = [
            Candidate(one.name, found.mean, found.low, found.high, one is best)
            for one in shown
            if (found := one.range(field)) is not None
        ]
        level = limits.get(field)
        drawn.append(Ranges(name, rows, words, None if level is None else (level, duration(level))))
    blocks = (
        Heading("what-if", title, f"today: {engine}" if engine else ""),
        card,
        Listing("What changes", [named(one.name, text) for one, text in listed]),
        Only(("html",), [Paragraph("Dot: expected value; bar: range.", "soft")]),
        Candidates(drawn),
        Section("Side by side", [Table(rows_of(shown, slo, measured, within))]),
        Listing("Stuck", [f"{one.name}: {one.stuck}" for one in shown if one.stuck]),
        Listing("Service level", outlook_words(outlooks, slo)),
        Listing("Notes", notes),
        Footer("the same as data: barostat what-if -o json"),
    )
    return Document(f"Barostat: {title}", blocks)


def _about(summary: Summary, engine: str) -> str:
    return f"{came_in(summary)}; {engine}" if engine else came_in(summary)


def _good_per_s(summary: Summary) -> float | None:
    return summary.good_per_s


def _ttft_p99_s(summary: Summary) -> float | None:
    return summary.ttft.p99


def _itl_p99_s(summary: Summary) -> float | None:
    return summary.itl.p99


def _mean(one: Compared, field: str) -> float:
    found = one.range(field)
    return 0.0 if found is None else found.mean
