"""A validation as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from barostat.core.diagnosis import Severity
from barostat.core.units import figure
from barostat.judge.load_test.knee import Knee, Tried
from barostat.shells.reports.load.page import latencies, over_time, tiles
from barostat.shells.reports.load.validation import WORDS, Validated, knee_sentence
from barostat.shells.reports.sheet.blocks import (
    Block,
    Document,
    Facts,
    Footer,
    Heading,
    Paragraph,
    Section,
    Table,
    Tiles,
    Verdict,
)
from barostat.shells.reports.sheet.forms import as_html
from barostat.shells.reports.simulation.text import format_seconds

_SEVERITY: Mapping[str, Severity] = {"pass": "none", "fail": "critical", "unknown": "warning"}


def validation_html(found: Validated) -> str:
    """The page."""
    proof = found.proof
    worst = [one for one in proof.checks if one.standing in ("fail", "unknown")]
    word = WORDS[proof.verdict] if proof.verdict != "unknown" else "CANNOT TELL"
    card = Verdict(
        _SEVERITY[proof.verdict],
        word,
        found.sentence,
        "; ".join(f"{one.phase}: {one.told}" for one in worst),
    )
    rows = [
        ("", "phase", "what", "measured"),
        *((WORDS[one.standing], one.phase, one.name, one.told) for one in proof.checks),
    ]
    blocks: list[Block] = [
        Heading("validate", found.target.named, f"{found.limits_file} · {found.at}"),
        card,
        Table(rows, words=(0, 1, 2, 3)),
    ]
    if proof.knee is not None:
        blocks.append(_knee(proof.knee))
    for phase in proof.phases:
        shown = (
            Paragraph(phase.traffic, "soft"),
            Tiles(tiles(phase.found, found.slo)),
            over_time(phase.found, found.slo),
            latencies(phase.found),
        )
        blocks.append(Section(phase.name, shown))
    flags = ", ".join(f"{name}={value}" for name, value in found.target.flags)
    tested = (("limits", found.digest), ("engine", flags or "its metrics show no settings"))
    blocks.append(Section("What was tested", [Facts(tested)]))
    blocks.append(Footer("the same as data: barostat validate -o json"))
    return as_html(Document(f"Barostat: {found.limits_file} on {found.target.model}", blocks))


def _knee(knee: Knee) -> Section:
    rows = [
        ("requests/s", "", "TTFT p99", "ITL p99"),
        *(
            (
                figure(one.per_s, 4),
                _found(one),
                format_seconds(one.found.ttft.p99),
                format_seconds(one.found.itl.p99),
            )
            for one in knee.tried
        ),
    ]
    return Section("The knee", [Paragraph(knee_sentence(knee)), Table(rows, words=(1,))])


def _found(tried: Tried) -> str:
    return f"{tried.lost or tried.unsure or 'holds'}{f', for {tried.times} times as long' if tried.times > 1 else ''}"
