"""What tuning found: the best settings, what they bring, why, and what else was good."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from barostat.core.diagnosis import Severity
from barostat.judge.experiments.tuning import values_of
from barostat.judge.experiments.tuning_proof import summary_of
from barostat.shells.reports.sheet.blocks import (
    Block,
    Candidates,
    Document,
    Footer,
    Heading,
    Items,
    Listing,
    Paragraph,
    Section,
    Table,
    Tiles,
    Verdict,
)
from barostat.shells.reports.sheet.ranges import Candidate, Ranges
from barostat.shells.reports.sheet.scale import duration, plain
from barostat.shells.reports.tuning.tuned import (
    FRONT,
    Tuned,
    front_rows,
    headline,
    latency_of,
    table_title,
    why,
)

_DRAWN: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("good_per_s", "Good requests per second", plain), ("ttft_p99_s", "TTFT p99", duration), ("itl_p99_s", "ITL p99", duration),
)  # fmt: skip


def tune_document(title: str, tuned: Tuned) -> Document:
    """Return the document. `title`: on whose traffic it was searched."""
    first, second, *others = (*headline(tuned), "")
    severity, word = _told(tuned)
    chosen = tuple(place for place, point in enumerate(tuned.shown) if point == tuned.best)
    rows = [
        (settings, holds, *figures) for *figures, holds, settings in (FRONT, *front_rows(tuned))
    ]
    blocks: list[Block] = [
        Heading("tune", title, f"{tuned.results.spent:,} runs of the twin"),
        Verdict(severity, word, first, second),
        Tiles(_tiles(tuned)),
        Items([line for line in others if line]),
        Listing("Why", why(tuned)),
        Section(
            "Settings side by side",
            [
                Paragraph(f"{table_title(tuned)}.", "soft"),
                Candidates(_drawings(tuned)),
                Table(rows, chosen=chosen),
            ],
        ),
        Listing("Notes", tuned.notes),
        Footer("the same as data: barostat tune -o json"),
    ]
    return Document(f"Barostat: tune {title}", blocks)


def _told(tuned: Tuned) -> tuple[Severity, str]:
    if tuned.holds is False:
        return "critical", "SLO MISSED"
    if tuned.proof is None:
        return "info", "NOT CONFIRMED"
    if not tuned.changed or not (
        tuned.reached or (tuned.proof.significant and tuned.proof.gain_per_s > 0)
    ):
        return "info", "NOTHING BETTER"
    return ("none", "BETTER") if tuned.proof.agreed or tuned.reached else ("warning", "NOT SURE")


def _tiles(tuned: Tuned) -> list[tuple[str, str, str]]:
    """Then, beside today, on requests that the search has not seen; empty if it was stopped
    before.
    """
    if tuned.proof is None:
        return []
    today, then = tuned.proof.today, tuned.proof.best
    level = {"ttft_p99_s": tuned.slo.ttft_s, "itl_p99_s": tuned.slo.itl_s}

    def tile(field: str, name: str, words: Callable[[float], str]) -> tuple[str, str, str]:
        limit = level.get(field)
        beside = f"{latency_of(today, field, words)} today"
        return (
            name,
            latency_of(then, field, words),
            beside if limit is None else f"{beside}, at most {words(limit)}",
        )

    return [
        *(tile(*one) for one in _DRAWN),
        ("Held-out runs", str(len(today)), "on requests not used in the search"),
    ]


def _drawings(tuned: Tuned) -> list[Ranges]:
    results = tuned.results
    level = {"ttft_p99_s": tuned.slo.ttft_s, "itl_p99_s": tuned.slo.itl_s}
    drawn = []
    for field, name, words in _DRAWN:
        rows = [
            _candidate(summary_of(results.space.changed(point)), values, point == tuned.best)
            for point, runs in tuned.shown.items()
            if (values := values_of(runs, field))
        ]
        if not rows:
            continue
        limit = level.get(field)
        drawn.append(Ranges(name, rows, words, None if limit is None else (limit, duration(limit))))
    return drawn


def _candidate(name: str, values: Sequence[float], chosen: bool) -> Candidate:
    return Candidate(name, sum(values) / len(values), min(values), max(values), chosen)
